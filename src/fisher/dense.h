/* SPDX-License-Identifier: MIT
 * dense.h: one dense diagonal block of a symmetric matrix: parameters first .. first + d - 1,
 * stored as d x d, row-major, lower triangle. `full` is one of them, `block` several, `inverse`
 * one whose factored form is the inverse.
 */
#pragma once

#include "stages.h"

typedef struct sgfsi_dense {
    const sgfs_device *device;
    int64_t first, d;
    double *a; /* d x d */
} sgfsi_dense;

/* A -> decay A + weight sum_i (g_i - gbar)(g_i - gbar)' */
typedef struct sgfsi_change {
    double decay, weight;
    const sgfs_scores *s;
    const double *gbar; /* D, all of them; NULL: do not centre */
} sgfsi_change;

/* Numbers of workspace that any of the functions below needs for a block of d and batches of n. */
int64_t sgfsi_dense_work(int64_t d, int64_t n);

void sgfsi_dense_add(sgfsi_dense b, const sgfsi_change *c, double *work);

/* chol_update or inv_update of the device */
typedef int64_t (*sgfsi_rank_update)(SGFSI_HERE, int64_t D, int64_t n, double *L, double *X,
                                     double *work);

/* The rows of the change, centred and weighted, go through `by`, at most d at a time. The decay is
 * the caller's. 0, or -1, and then b.a holds nothing of use. */
int64_t sgfsi_dense_rows(sgfsi_dense b, const sgfsi_change *c, sgfsi_rank_update by, double *work);
/* The factor of the changed matrix from the factor of the old one. */
int64_t sgfsi_dense_update(sgfsi_dense b, const sgfsi_change *c, double *work);
/* Lower triangle times a number. */
void sgfsi_dense_scale(sgfsi_dense b, double factor);
