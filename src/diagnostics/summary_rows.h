/* SPDX-License-Identifier: MIT
 * summary_rows.h: a summary as people report it: intervals, odds and rate ratios, some parameters
 * in some order.
 */
#pragma once

#include "base/arena.h"
#include "base/config.h"
#include "diagnostics/interval.h"
#include "sink/effects.h"

extern const sgfs_option sgfsi_summary_options[]; /* "summary.*" */

/* Is the parameter one of those that summary.params names? All are, where it is "". */
bool sgfsi_summary_wants(const char *params, const char *name);

/* Fills interval, share, hdi and ratio of a summary of these draws, where the options ask for them,
 * and leaves the rows they ask for, in their order. SGFS_EUSAGE: no parameter has such a name, or
 * the model has no ratios. */
sgfs_status sgfsi_summary_rows(const sgfs_draws *d, const sgfsi_used *used, int64_t threads,
                               const sgfs_config *cfg, sgfs_summary *s, sgfsi_arena *arena,
                               sgfs_err *err);
/* Median and interval of number i of a term: of the draws that the run keeps, or of a normal
 * distribution where these are too few; ratio: of exp of it. room: for the draws. */
sgfsi_interval sgfsi_effect_interval(const sgfs_draws *d, const sgfsi_effects_term *t, int64_t i,
                                     double share, sgfsi_interval_kind kind, bool ratio,
                                     double *room);
/* The `top` largest effects of the groups of a factor in place of the rows (summary_effects.c).
 * SGFS_EUSAGE: the run has no such factor. */
sgfs_status sgfsi_summary_effects(const sgfs_draws *d, const char *factor, int64_t top,
                                  sgfs_summary *s, sgfsi_arena *arena, sgfs_err *err);
