/* SPDX-License-Identifier: MIT
 * chain_moments.h: mean and covariance of every iteration, thinned away or not, and a running
 * estimate of the effective sample size for the progress line.
 */
#pragma once

#include "base/arena.h"
#include "base/fields.h"
#include "stages.h"

enum { SGFSI_RUNNING_ROWS = 32, SGFSI_RUNNING_SLOTS = 64 };

typedef struct sgfsi_chain_moments {
    const sgfs_device *device;
    int64_t D, count;                      /* iterations merged */
    int64_t waiting;                       /* rows in the buffer */
    double *buffer;                        /* (ROWS + 1) x D */
    double *mean;                          /* D */
    double *ss;                            /* D x D lower, or NULL when only variances are kept */
    double *var;                           /* D, sums of squares */
    double *block_mean;                    /* D */
    double *slot;                          /* SLOTS x D, means of equal stretches of the chain */
    int64_t slots, slot_blocks, slot_fill; /* full slots; blocks per slot; blocks in the open one */
} sgfsi_chain_moments;

bool sgfsi_chain_moments_open(sgfsi_chain_moments *m, const sgfs_device *dev, int64_t D, bool full,
                              sgfsi_arena *arena);
void sgfsi_chain_moments_add(sgfsi_chain_moments *m, const double *theta);
void sgfsi_chain_moments_flush(sgfsi_chain_moments *m); /* before reading mean, ss, var */
/* Autocorrelation time of parameter j by batch means, in iterations; NaN while the stretches are
 * too few, or shorter than five of it (they would make it look short). */
double sgfsi_chain_moments_tau(const sgfsi_chain_moments *m, int64_t j);
/* Smallest effective sample size over the parameters, by batch means; 0 while not known. */
double sgfsi_chain_moments_ess(const sgfsi_chain_moments *m);

void sgfsi_chain_moments_fields(sgfsi_chain_moments *m, sgfsi_fields *list);
