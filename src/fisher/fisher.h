/* SPDX-License-Identifier: MIT
 * fisher.h: the rows of the Fisher table, and the running average that every sampler with a Fisher
 * matrix shares.
 */
#ifndef SGFSI_FISHER_H
#define SGFSI_FISHER_H

#include "base/arena.h"
#include "base/config.h"
#include "sgfs_plugin.h"

extern const sgfs_fisher_kind sgfs_fisher_full, sgfs_fisher_diag;
extern const sgfs_fisher_kind *const sgfsi_fishers[]; /* NULL-terminated */
const sgfs_fisher_kind *sgfsi_fisher_find(const char *name);

/* Blocks of `size` parameters each (the last may be smaller); size 0: the blocks that begin at
 * first[0..blocks), the model's own. NULL when memory is out. */
const sgfs_layout *sgfsi_layout_open(int64_t D, int64_t size, int64_t blocks, const int64_t *first,
                                     sgfsi_arena *arena);

/* A zero matrix of this kind, from the arena; the layout must outlive it. */
sgfs_status sgfsi_sym_open(sgfs_sym *A, const sgfs_fisher_kind *kind, const sgfs_backend *be,
                           const sgfs_layout *layout, sgfsi_arena *arena, sgfs_err *err);

/* ---- the running average I1hat (average.c) --------------------------------------------------- */

extern const sgfs_option sgfsi_average_options[];

typedef struct sgfsi_average {
    sgfs_sym I1; /* estimate of Cov(g), the information of one row */
    double *work;
    bool harmonic;    /* kappa = 1/t from the first update on (the paper's) */
    bool divide_by_n; /* V divided by n, not n - 1 (the paper's SGFS-d) */
    double window;
    int64_t updates; /* so far */
    int64_t settled; /* updates after warm-up */
    double base;     /* weight of what warm-up left, in batches */
} sgfsi_average;

sgfs_status sgfsi_average_open(sgfsi_average *a, const sgfs_fisher_kind *kind,
                               const sgfs_backend *be, const sgfs_layout *layout, int64_t n,
                               const sgfs_config *cfg, sgfsi_arena *arena, sgfs_err *err);
/* I1 <- (1 - kappa) I1 + kappa V, V the covariance of the batch's scores about their mean gbar. */
void sgfsi_average_restart(sgfsi_average *a); /* forget everything: the next batch counts whole */
void sgfsi_average_update(sgfsi_average *a, const sgfs_scores *s, const double *gbar, bool warmup);

#endif
