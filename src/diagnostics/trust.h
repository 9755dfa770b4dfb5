/* SPDX-License-Identifier: MIT
 * trust.h: one word on a run: can its summary be trusted?
 */
#pragma once

#include "diagnostics/moments.h"

/* Effective draws, of all chains together, that are enough; R-hat up to which chains may be read
 * with care, and beyond which they live in different places. */
#define SGFSI_ESS_ENOUGH 400
#define SGFSI_RHAT_CARE  1.05
#define SGFSI_RHAT_APART 1.2

/* R-hat up to which chains agree: 1.01, or for more than four of them what 400 effective draws of
 * chains that agree perfectly are expected to have. */
double sgfsi_rhat_agrees(int64_t chains);

/* Fill grade, trust, verdict and next of a summary from its other fields; strings live in arena. */
sgfs_status sgfsi_trust(const sgfs_draws *d, const sgfsi_used *used, sgfs_summary *summary,
                        sgfsi_arena *arena, sgfs_err *err);

/* R-hat of how well the draws fit the rows: of the log likelihood, or else the log density lp; NaN
 * where it is not known, or the arena has failed. */
double sgfsi_fit_rhat(const sgfs_draws *d, const sgfsi_used *used, sgfsi_arena *work);
/* Is the model one whose parameters can change places, so that none has a meaning of its own? */
bool sgfsi_exchangeable(const sgfs_draws *d);
/* log(sd / sd_curvature) where that is more than Monte Carlo error explains, and 0 otherwise. */
double sgfsi_spread_gap(const sgfs_summary_row *row);
/* Iterations of a chain so far: what --draws counts, thinned away or not. */
int64_t sgfsi_draws_now(const sgfs_draws *d, const sgfs_summary *s);
/* --draws that would bring an ESS of `ess` to SGFSI_ESS_ENOUGH, rounded up to two digits. */
int64_t sgfsi_draws_needed(const sgfs_draws *d, const sgfs_summary *s, double ess);
