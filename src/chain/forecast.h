/* SPDX-License-Identifier: MIT
 * forecast.h: what exact draws would cost, before a pass over all rows is made for them.
 */
#ifndef SGFSI_FORECAST_H
#define SGFSI_FORECAST_H

#include "posterior/anchor.h"

typedef struct sgfsi_forecast {
    double rows;   /* that a draw with independent proposals asks */
    double tau;    /* draws for an effective one, roughly */
    int64_t pilot; /* rows it was made from */
} sgfsi_forecast;

/* From at most 20,000 of the rows; the same for any number of threads (0: all cores). m must have an
 * anchor (sgfsi_anchor_refuses). SGFS_ENUMERIC where these rows have no mode. */
sgfs_status sgfsi_forecast_exact(const sgfs_model *m, double tolerance, int64_t threads,
                                 sgfsi_forecast *out, sgfs_err *err);

#endif
