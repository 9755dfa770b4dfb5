/* SPDX-License-Identifier: MIT
 * report_rows.h: a summary as people report it: intervals, odds and rate ratios, some parameters in
 * some order.
 */
#ifndef SGFSI_REPORT_ROWS_H
#define SGFSI_REPORT_ROWS_H

#include "base/arena.h"
#include "base/config.h"
#include "diagnostics/trace.h"

extern const sgfs_option sgfsi_summary_options[]; /* "summary.*" */

/* Fills interval, share, hdi and ratio of a summary of these draws, where the options ask for them,
 * and leaves the rows they ask for, in their order. SGFS_EUSAGE: no parameter has such a name, or
 * the model has no ratios. */
sgfs_status sgfsi_report_rows(const sgfs_draws *d, const sgfsi_used *used, int64_t threads,
                              const sgfs_config *cfg, sgfs_summary *s, sgfsi_arena *arena,
                              sgfs_err *err);

#endif
