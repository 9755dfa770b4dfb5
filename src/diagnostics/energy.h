/* SPDX-License-Identifier: MIT
 * energy.h: what the trajectories of hmc and nuts say of the draws.
 */
#pragma once

#include "diagnostics/moments.h"

/* sum_t (E_t - E_{t-1})^2 / sum_t (E_t - mean E)^2 of n numbers that lie `stride` apart; NaN where
 * the energy never changes or n < 2. */
double sgfsi_bfmi(int64_t n, const double *energy, int64_t stride);

/* Fill out from the statistics of the draws used; numbers live in arena. */
sgfs_status sgfsi_trajectories_of(const sgfs_draws *d, const sgfsi_used *used, sgfsi_arena *arena,
                                  sgfs_trajectories *out, sgfs_err *err);

/* The same of sampler exact. */
sgfs_exact_stats sgfsi_exact_stats_of(const sgfs_draws *d, const sgfsi_used *used);
/* The same of sampler groups; passes is left to the caller. */
sgfs_group_stats sgfsi_group_stats_of(const sgfs_draws *d, const sgfsi_used *used);

/* Draws used whose statistic `name` is `value`; 0 without such a statistic. */
double sgfsi_count_equal(const sgfs_draws *d, const sgfsi_used *used, const char *name,
                         double value);
