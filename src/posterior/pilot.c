/* SPDX-License-Identifier: MIT
 * pilot.c: how stiff and how soft a posterior is, from a few thousand of its rows.
 *
 * Samplers whose steps are not shaped by a matrix need to know the largest curvature (their step
 * must not exceed it) and the smallest (their run must last long enough for it). Both are
 * eigenvalues of the information of one row at the mode: found here on at most 2,000 rows, evenly
 * spaced, so that the cost does not grow with the data. A rough number is enough; where there is
 * none (no curvature, too many parameters, rows that cannot be used alone), one unit of
 * information per row is assumed.
 */
#include <math.h>

#include "model/prior.h"
#include "posterior/mode.h"

enum { MOST_ROWS = 2000, MOST_PARAMETERS = 500, ROUNDS = 60 };

static double length_of(int64_t D, const double *x) {
    double sum = 0;
    for (int64_t j = 0; j < D; j++) sum += x[j] * x[j];
    return sqrt(sum);
}

/* Largest eigenvalue of L L' (or, inverse, of its inverse) by the power method. x: D. */
static double largest(const sgfs_device *dev, int64_t D, const double *L, bool inverse, double *x) {
    double size = 1;
    for (int64_t j = 0; j < D; j++) x[j] = 1 / sqrt((double)D) * (j % 2 == 0 ? 1 : 0.7);
    for (int k = 0; k < ROUNDS && size > 0; k++) {
        size = length_of(D, x);
        for (int64_t j = 0; j < D; j++) x[j] /= size;
        if (inverse) {
            sgfsi_trsv(dev, D, L, false, x);
            sgfsi_trsv(dev, D, L, true, x);
        } else {
            sgfsi_trmv(dev, D, L, true, x);
            sgfsi_trmv(dev, D, L, false, x);
        }
        size = length_of(D, x);
    }
    return size;
}

/* A mode that is not found leaves `out` as it is; only want of memory is an error. */
static sgfs_status measure(const sgfs_model *m, sgfsi_pilot *out, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfsi_mode mode;
    const sgfsi_mode_plan plan = {.method = "fisher", .tolerance = 1e-4, .threads = 1};
    double *x = SGFSI_DOUBLES(&arena, m->D), n = m->data->total;
    sgfs_status status = x != NULL ? sgfsi_mode_search(m, &plan, &arena, &mode, err)
                                   : sgfsi_fail_memory(err, "a pilot");
    if (status == SGFS_OK) {
        double stiff = largest(m->ctx.near, m->D, mode.L, false, x) / n,
               soft = 1 / (largest(m->ctx.near, m->D, mode.L, true, x) * n);
        if (isfinite(stiff) && stiff > 0 && soft > 0)
            *out = (sgfsi_pilot){.stiff = stiff, .soft = soft};
    }
    sgfsi_arena_free(&arena);
    return status;
}

sgfs_status sgfsi_pilot_of(const sgfs_model *m, sgfsi_pilot *out, sgfs_err *err) {
    sgfs_err why = {SGFS_OK, ""};
    *out = (sgfsi_pilot){.stiff = 1, .soft = 1};
    if (m == NULL || m->kind->curvature == NULL || m->D > MOST_PARAMETERS) return SGFS_OK;
    sgfs_config *own = sgfsi_config_copy(m->cfg);
    if (own == NULL) return sgfsi_fail_memory(err, "a pilot");
    bool smooth = sgfsi_prior_is_smooth(m); /* a mode is climbed to: a Gaussian of that precision */
    if (!smooth && sgfsi_config_default(own, "prior.kind", "gaussian", &why) != SGFS_OK) {
        sgfs_config_free(own);
        return sgfsi_fail_hard(&why, err);
    }
    int64_t n = m->data->N < MOST_ROWS ? m->data->N : MOST_ROWS;
    sgfs_data *data = sgfsi_data_view_fair(m->data, n, SGFSI_OWN_SCALE, &why);
    sgfs_model *small =
        data != NULL ? sgfsi_model_within(&m->ctx, m->kind, data, own, m->saved, &why) : NULL;
    if (small != NULL) (void)measure(small, out, &why);
    sgfs_model_free(small);
    sgfs_data_free(data);
    sgfs_config_free(own);
    return sgfsi_fail_hard(&why, err);
}
