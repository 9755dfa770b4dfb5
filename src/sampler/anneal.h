/* SPDX-License-Identifier: MIT
 * anneal.h: alpha of SGFS at every iteration.
 */
#pragma once

#include "sampler/sampler.h"

typedef struct sgfsi_anneal {
    const char *name;        /* "off", or one that says delta */
    double warmup, from, to; /* alpha in warm-up, at the first draw, at the last */
    double delta;            /* 0: constant */
    double explore;          /* fraction of a cycle that explores */
    int64_t cycles;          /* 0: none */
} sgfsi_anneal;

typedef struct sgfsi_alpha {
    double alpha;
    int phase;     /* 1 Fisher scoring, 2 Gaussian approximation, 3 preconditioned Langevin */
    bool explores; /* no noise, not a draw */
} sgfsi_alpha;

double sgfsi_anneal_delta(const char *name); /* 0: "off" */
sgfsi_alpha sgfsi_anneal_at(const sgfsi_anneal *a, const sgfs_iteration *now);
double sgfsi_anneal_mean(const sgfsi_anneal *a);
