/* SPDX-License-Identifier: MIT
 * forecast.h: what exact draws would cost, before a pass over all rows is made for them.
 */
#pragma once

#include "posterior/anchor.h"

typedef struct sgfsi_forecast {
    double rows;   /* that a draw with independent proposals asks */
    double tau;    /* draws for an effective one, roughly */
    int64_t pilot; /* rows it was made from */
    /* What a sampler would look for again: the anchor, where these are all rows; else where the
     * search for it begins. */
    const sgfsi_anchor *anchor;
    sgfsi_anchor_search start;
    const double *modes; /* 2 x D, of all rows: two of them, and no anchor; else NULL */
} sgfsi_forecast;

/* From at most 20,000 of the rows; the same for any number of threads. m must have an anchor
 * (sgfsi_anchor_refuses). What is found comes from the arena. SGFS_ENUMERIC where these rows
 * have no mode. */
sgfs_status sgfsi_forecast_exact(const sgfs_model *m, const sgfsi_anchor_search *how,
                                 sgfsi_arena *arena, sgfsi_forecast *out, sgfs_err *err);
