/* SPDX-License-Identifier: MIT
 * pictures.h: what the kinds of pictures share.
 */
#pragma once

#include "jobs/report/report.h"

extern const sgfsi_picture_kind sgfsi_picture_density, sgfsi_picture_trace, sgfsi_picture_rank,
    sgfsi_picture_autocorrelation, sgfsi_picture_mean, sgfsi_picture_forest, sgfsi_picture_pairs,
    sgfsi_picture_spectrum, sgfsi_picture_time, sgfsi_picture_steps, sgfsi_picture_interventions,
    sgfsi_picture_validation, sgfsi_picture_calibration, sgfsi_picture_roc, sgfsi_picture_error,
    sgfsi_picture_groups, sgfsi_picture_shrinkage;

enum { SGFSI_TRACE_POINTS = 2000, SGFSI_FEW_CHAINS = 8 };

/* The k-th of `points` places that are spread evenly over n, the first and the last included. */
int64_t sgfsi_place(int64_t k, int64_t points, int64_t n);
/* "$dK << E": numbers follow, a line each, up to "E". */
void sgfsi_plot_data(FILE *f, int64_t k);
void sgfsi_plot_row(FILE *f, int64_t n, const double *x);
void sgfsi_plot_end(FILE *f);
/* Along the first run's iterations, chain by chain: a parameter, or a statistic of the sampler. */
void sgfsi_plot_chains(const sgfsi_report *r, FILE *f, int64_t column, bool parameter,
                       const char *label);
