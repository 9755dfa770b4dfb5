/* SPDX-License-Identifier: MIT
 * ascent.c: a line search that works down to the rounding of the log density.
 *
 * With slope = G'd at theta, a size t along d is accepted when the density rises in proportion
 * (Armijo),
 *
 *     lp(theta + t d) >= lp(theta) + t slope / 10,
 *
 * and, where asked (weak Wolfe), the slope there has fallen to at most 9/10 of what it was. Once
 * the gain t slope is below the rounding of lp, a sum over all rows, lp says nothing any more; the
 * slope still does, and the first condition becomes  slope(t) >= -8/10 slope : not far past the
 * top (Hager and Zhang 2005, the "approximate Wolfe conditions"). Without this no search can come
 * closer than about the square root of the rounding.
 *
 * The size is bracketed, low (may be longer) < t < high (too long), and chosen by a secant on the
 * slopes, kept away from the ends. A place where the density or gradient is not finite is too far.
 */
#include "posterior/ascent.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TRIALS = 60 };
static const double rise = 0.1, fall = 0.9;
static const double rounding =
    1e-12; /* of lp, relative to |lp| + N (or the sum of weights): sums of N terms of order 1 */

/* One place along the direction. */
typedef struct place {
    double size, lp, slope;
    bool finite;
} place;

static sgfs_status evaluate(sgfsi_ascent *a, const double *theta, double *lp, double *G, double *A,
                            sgfs_err *err) {
    sgfs_err cause;
    a->passes++;
    sgfs_status status = sgfsi_full_eval(a->full, theta, lp, G, A, &cause);
    if (status == SGFS_EDATA) { /* a model of the user's that gave up, or a damaged file */
        size_t length = strlen(cause.text); /* causes from files are whole sentences */
        if (length > 0 && cause.text[length - 1] == '.') cause.text[length - 1] = '\0';
        return sgfsi_fail(err, status, "The search for the mode stopped after %lld steps: %.400s.",
                          (long long)a->iterations, cause.text);
    }
    if (status != SGFS_OK && err != NULL) *err = cause;
    if (status == SGFS_OK && !isfinite(*lp)) {
        return sgfsi_fail(err, SGFS_ENUMERIC, "the log density is not finite");
    }
    return status;
}

sgfs_status sgfsi_ascent_curvature(sgfsi_ascent *a, sgfs_err *err) {
    return evaluate(a, a->theta, &a->lp, a->G, a->A, err);
}

sgfs_status sgfsi_ascent_open(sgfsi_ascent *a, sgfsi_full *full, const double *from, bool curvature,
                              sgfsi_arena *arena, sgfs_err *err) {
    const sgfs_model *m = full->model;
    *a = (sgfsi_ascent){.full = full, .m = m};
    bool made = SGFSI_ROOM(arena, m->D, &a->theta, &a->G, &a->old_theta, &a->old_G, &a->direction,
                           &a->spread);
    if (!made || (curvature && !SGFSI_ROOM(arena, m->D * m->D, &a->A)))
        return sgfsi_fail_memory(err, "the search for the mode");
    a->ticker = sgfsi_ticker_start(sgfsi_config_log(m->cfg), "Looking for the mode");
    sgfs_err cause;
    a->m->kind->start(a->m, a->theta, a->spread);
    if (from != NULL) memcpy(a->theta, from, (size_t)a->m->D * sizeof *from);
    for (int64_t j = 0; j < a->m->D; j++) {
        if (!(a->spread[j] > 0)) a->spread[j] = 1;
        if (a->m->precision[j] == 0) a->open = true;
    }
    sgfs_status status = sgfsi_ascent_curvature(a, &cause);
    if (status == SGFS_OK) return SGFS_OK;
    if (status == SGFS_ENUMERIC) {
        return sgfsi_fail(err, status,
                          "The search for the mode cannot begin: at its start %.200s. Columns of "
                          "extreme size? --standardize helps then.",
                          cause.text);
    }
    if (err != NULL) *err = cause;
    return status;
}

void sgfsi_ascent_report(sgfsi_ascent *a, double distance) {
    snprintf(a->note, sizeof a->note,
             "Looking for the mode: step %lld, about %.2g standard deviations to go",
             (long long)a->iterations, distance);
    a->ticker.what = a->note;
    (void)sgfsi_tick(&a->ticker, 0, NULL); /* the next move stops */
}

/* ---- the line search ------------------------------------------------------------------------- */

/* The trial lands in old_theta and old_G: after acceptance the pairs change names. */
static sgfs_status try_size(sgfsi_ascent *a, double size, double *A, place *at, sgfs_err *err) {
    const sgfs_device *dev = a->m->ctx.near;
    int64_t D = a->m->D;
    memcpy(a->old_theta, a->theta, (size_t)D * sizeof *a->theta);
    sgfsi_axpy(dev, D, size, a->direction, a->old_theta);
    sgfs_status status = evaluate(a, a->old_theta, &at->lp, a->old_G, A, err);
    at->size = size;
    at->finite = status == SGFS_OK;
    at->slope = at->finite ? sgfsi_dot(dev, D, a->old_G, a->direction) : NAN;
    return status == SGFS_ENUMERIC ? SGFS_OK : status;
}

static bool has_risen(const sgfsi_ascent *a, const place *at) {
    if (!at->finite) return false;
    double noise = rounding * (fabs(a->lp) + a->m->data->total), gain = at->size * a->slope;
    if (gain > noise) return at->lp >= a->lp + rise * gain;
    return at->lp >= a->lp - noise && at->slope >= (2 * rise - 1) * a->slope;
}

static double between(const place *low, const place *high) {
    double width = high->size - low->size, share = 0.5;
    if (!high->finite) return low->size + 0.1 * width;
    if (high->slope < 0) share = low->slope / (low->slope - high->slope);
    return low->size + fmin(fmax(share, 0.1), 0.9) * width;
}

sgfs_status sgfsi_ascent_move(sgfsi_ascent *a, bool wolfe, sgfs_err *err) {
    place low = {.lp = a->lp, .slope = a->slope, .finite = true}, high = {.size = INFINITY}, at;
    double size = 1;
    for (int64_t k = 0; k < MOST_TRIALS; k++) {
        if (a->stop != NULL && sgfsi_stop_asked(a->stop))
            return sgfsi_fail(err, SGFS_ESTOPPED,
                              "Stopped early: no result. The same command starts over.");
        bool first = k == 0; /* nearly always the last as well: A comes with it */
        sgfs_status status = try_size(a, size, first ? a->A : NULL, &at, err);
        if (status != SGFS_OK) return status;
        if (!has_risen(a, &at)) {
            high = at;
        } else if (wolfe && at.slope > fall * a->slope) {
            low = at;
        } else {
            double *theta = a->theta, *G = a->G;
            a->theta = a->old_theta;
            a->G = a->old_G;
            a->old_theta = theta;
            a->old_G = G;
            a->lp = at.lp;
            a->iterations++;
            return first || a->A == NULL ? SGFS_OK : sgfsi_ascent_curvature(a, err);
        }
        size = isinf(high.size) ? 2 * size : between(&low, &high);
    }
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "The search for the mode is stuck after %lld steps, about %.2g standard "
                      "deviations away: no step uphill improves the density. A larger --tolerance "
                      "accepts this; --standardize or a prior may help.",
                      (long long)a->iterations, sqrt(a->slope));
}

/* ---- sentences ------------------------------------------------------------------------------- */

sgfs_status sgfsi_ascent_no_mode(sgfs_err *err) {
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "The mode does not exist: the density rises for ever in some direction, as "
                      "when the columns separate the classes completely. Use a prior "
                      "(--prior-precision above 0).");
}

sgfs_status sgfsi_ascent_too_long(const sgfsi_ascent *a, double distance, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "The mode was not reached in %lld steps (--max-iterations): it is still "
                      "about %.2g standard deviations away.%s",
                      (long long)a->iterations, distance,
                      a->open ? " Without a prior it may not exist: try --prior-precision above 0."
                      : a->m->data->scale == NULL ? " --standardize may help, or another --method."
                                                  : " Another --method may help.");
}
