/* SPDX-License-Identifier: MIT
 * moments.h: mean and covariance over all chains.
 */
#pragma once

#include "base/arena.h"
#include "sink/draws.h"

/* SGFS_EDATA when no chain has a draw. */
sgfs_status sgfsi_used_of(const sgfs_draws *d, sgfsi_arena *arena, sgfsi_used *used, sgfs_err *err);

typedef struct sgfsi_moments {
    int64_t D, count;     /* count: how many thetas went in */
    bool every_iteration; /* from running moments; else from the kept draws */
    double *mean, *var;   /* D; var with divisor count - 1 */
    double *cov;          /* D x D full, or NULL when not asked for */
} sgfsi_moments;

sgfs_status sgfsi_moments_of(const sgfs_draws *d, const sgfsi_used *used, bool want_cov,
                             sgfsi_arena *arena, sgfsi_moments *out, sgfs_err *err);
