/* SPDX-License-Identifier: MIT
 * forecast.c: how many rows an exact draw would ask (posterior/row_bounds.h), predicted from a
 * pilot.
 *
 *     rows per draw = E[b] sum_i psi_i,   at independent proposals  E[b] <= E|z|^3 / 3,
 *     E|z|^3 = 2^(3/2) Gamma((D+3)/2) / Gamma(D/2)           (z ~ N(0, I), D dimensions)
 *
 * A pilot of m fair rows has a mode and an information there. All W rows (or copies of them) have
 * about W/m times that information at nearly the same place, so
 *
 *     A = (W/m) info + the prior's curvature = L L',   sum psi = (W/m) sum over the pilot's rows
 *
 * with psi_i made by A. Where the pilot is all there is, W/m = 1 and nothing is extrapolated.
 *
 * How many of the rows that are asked object is a matter of how loose the bound is. It allows every
 * row the direction in which it turns fastest; z points at random in D dimensions, so that a row's
 * part of it is about |z|/sqrt(D), and its third power D^(3/2) times smaller:
 *
 *     vetoes per draw = rows / (1.5 D^(3/2)),   accepted = exp(-vetoes),   tau = 2/accepted - 1
 *
 * The 1.5 is measured: simulated logistic rows, N = 10^3 .. 10^5, D = 11 .. 51, gave 1.2 to 1.8 by
 * the slowest parameter's tau. It is a forecast to choose by, not a promise: the sampler reports
 * what it needed, and its warm-up finds shorter moves where these are accepted too seldom.
 */
#include "chain/forecast.h"

#include <math.h>

#include "model/prior.h"
#include "posterior/row_bounds.h"

enum { MOST_ROWS = 20000 };

/* The pilot's anchor as if its rows were `times` as many: info and L. False: A is singular. */
static bool multiply(const sgfs_model *m, sgfsi_anchor *a, double times) {
    int64_t D = m->D;
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j < D; j++) {
            a->info[i * D + j] *= times;
            a->L[i * D + j] = a->info[i * D + j];
        }
    }
    sgfsi_prior_add_curvature(m, a->theta, a->L);
    return sgfsi_potrf(m->ctx.near, D, a->L) == 0;
}

/* small: m itself, or a pilot of it; times: as many rows has m. */
static sgfs_status fly(const sgfs_model *small, const sgfsi_anchor_search *how, double times,
                       sgfsi_arena *arena, sgfsi_forecast *out, sgfs_err *err) {
    sgfsi_arena own = {NULL};
    sgfsi_row_bounds psi;
    sgfsi_anchor *a = sgfsi_arena_alloc(arena, 1, sizeof *a);
    if (a == NULL) return sgfsi_fail_memory(err, "the anchor");
    sgfs_status status = sgfsi_anchor_find(a, small, how, arena, err);
    if (status == SGFS_OK && times == 1) out->anchor = a;
    if (times == 1) out->modes = a->modes;
    if (status == SGFS_OK && times != 1 && !multiply(small, a, times)) {
        status = sgfsi_fail(err, SGFS_ENUMERIC, "the information is singular at the mode");
    }
    if (status == SGFS_OK) {
        status = sgfsi_row_bounds_open(&psi, small, a, sgfsi_row_bounds_radius(small->D), MOST_ROWS,
                                       how->threads, &own, err);
    }
    if (status == SGFS_OK) {
        double asked = times * sgfsi_row_bounds_expected(&psi);
        double all = (double)(int64_t)(times * (double)psi.N);
        double accepted = exp(-asked / (1.5 * pow((double)small->D, 1.5)));
        out->rows = fmin(asked, all); /* more than all of them are never asked */
        out->tau = 2 / accepted - 1;  /* infinite where next to nothing would be accepted */
    }
    sgfsi_arena_free(&own);
    return status;
}

sgfs_status sgfsi_forecast_exact(const sgfs_model *m, const sgfsi_anchor_search *how,
                                 sgfsi_arena *arena, sgfsi_forecast *out, sgfs_err *err) {
    sgfs_data *data = NULL;
    sgfsi_anchor_search here = *how;
    *out = (sgfsi_forecast){.tau = 1, .pilot = 0};
    if (m->kind->whole != NULL) return SGFS_OK;
    out->pilot = m->data->N < MOST_ROWS ? m->data->N : MOST_ROWS;
    if (out->pilot == m->data->N) return fly(m, how, 1, arena, out, err);
    sgfs_model *small = sgfsi_model_smaller(m, out->pilot, &data);
    double *theta = SGFSI_DOUBLES(arena, m->D);
    /* the sampler's own pilot, where it has the same rows */
    if (small != NULL && theta != NULL && how->start == NULL &&
        sgfsi_anchor_pilot_rows(m) == out->pilot &&
        sgfsi_anchor_pilot(small, how->threads, theta, &out->start.rows)) {
        out->start.pilot = out->pilot;
        here.start = out->start.start = theta;
    }
    sgfs_status status =
        small != NULL ? fly(small, &here, m->data->total / data->total, arena, out, err)
                      : sgfsi_fail(err, SGFS_ENUMERIC, "some of the rows cannot be used alone");
    sgfs_model_free(small);
    sgfs_data_free(data);
    return status;
}
