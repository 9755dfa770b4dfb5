/* SPDX-License-Identifier: MIT
 * interval.h: a centre and an interval of one parameter's draws, on its own scale or as a ratio
 * (odds, rates): the numbers that people report.
 */
#pragma once

#include "diagnostics/trace.h"

typedef struct sgfsi_interval {
    double low, centre, high; /* centre: the median */
} sgfsi_interval;

typedef enum sgfsi_interval_kind {
    SGFSI_EQUAL_TAILED,   /* as many draws below as above */
    SGFSI_HIGHEST_DENSITY /* the shortest that has the share */
} sgfsi_interval_kind;

/* Of n numbers in order, as sgfsi_trace_values has them: the interval with this share of them
 * (0.95). ratio: of exp of the numbers. NaN where n is 0 or one of them is not finite. */
sgfsi_interval sgfsi_interval_of(int64_t n, const double *sorted, double share,
                                 sgfsi_interval_kind kind, bool ratio);

/* What summary.interval says: "0.95", "hdi", "0.95,hdi"; where it says nothing, 90 % of the draws
 * between equal tails. */
sgfs_status sgfsi_interval_read(const char *text, double *share, sgfsi_interval_kind *kind,
                                sgfs_err *err);

/* What exp of a coefficient is called: "odds ratio" or "rate ratio"; NULL where it has no such
 * name: for other models, and softmax without a class of reference. */
const char *sgfsi_ratio_name(const sgfs_draws *d);
