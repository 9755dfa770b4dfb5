/* SPDX-License-Identifier: MIT
 * difference.c: finite differences beside a gradient.
 *
 *     d(h)  = (f(theta + h v) - f(theta - h v)) / 2h  -  G'v          what G'v is short of
 *     d     = (4 d(h/2) - d(h)) / 3                                   Richardson: error O(h^4)
 *     doubt = |d(h) - d(h/2)| / 3
 *     rounding = 8 sigma / h,  sigma the noise of f's value: four standard errors of d
 *
 * The doubt is the error of d(h/2), far more than that of d where f is smooth, and the jump itself
 * where a kink (relu) lies within the step. Steps are h = 1e-3, 1e-4, ... 1e-7 of v until the doubt
 * is small enough, or no more than rounding; else the one with the least of both counts: a small
 * step dodges kinks, a large one rounding. What then looks like a disagreement is looked at again
 * with another step: noise would change, a mistake does not, and the change is added to the doubt.
 *
 * sigma comes from third differences of f at eight places 1e-9 v apart, where a smooth f is a
 * straight line to far below rounding (Hamming; More and Wild 2011): their variance is 20 sigma^2.
 *
 * G'v uses the distance that the rounded theta has really moved, so that a parameter of 1e6 with a
 * spread of 1 is no reason for a difference.
 */
#include "jobs/checkgrad/difference.h"

#include <float.h>
#include <math.h>

static const double largest_step = 1e-3, smallest_step = 0.9e-7, tiny_step = 1e-9;

/* d(h) and G'v of each density. */
static sgfs_status shortfall(const sgfsi_slopes *s, const double *v, double h, double *d,
                             double *along, sgfs_err *err) {
    double above[SGFSI_DENSITIES] = {0}, below[SGFSI_DENSITIES] = {0};
    for (int64_t j = 0; j < s->D; j++) {
        s->up[j] = s->theta[j] + h * v[j];
        s->down[j] = s->theta[j] - h * v[j];
    }
    sgfs_status status = s->densities(s->work, s->up, above, err);
    if (status == SGFS_OK) status = s->densities(s->work, s->down, below, err);
    for (int k = 0; k < SGFSI_DENSITIES && status == SGFS_OK; k++) {
        along[k] = 0;
        for (int64_t j = 0; s->gradient[k] != NULL && j < s->D; j++)
            if (v[j] != 0) along[k] += s->gradient[k][j] * ((s->up[j] - s->down[j]) / (2 * h));
        d[k] = (above[k] - below[k]) / (2 * h) - along[k];
    }
    return status;
}

static sgfs_status at_step(const sgfsi_slopes *s, const double *v, double h, sgfsi_slope *out,
                           sgfs_err *err) {
    double wide[SGFSI_DENSITIES], narrow[SGFSI_DENSITIES], along[SGFSI_DENSITIES];
    sgfs_status status = shortfall(s, v, h, wide, along, err);
    if (status == SGFS_OK) status = shortfall(s, v, h / 2, narrow, along, err);
    for (int k = 0; k < SGFSI_DENSITIES && status == SGFS_OK; k++)
        out[k] = (sgfsi_slope){.analytic = along[k],
                               .numeric = along[k] + (4 * narrow[k] - wide[k]) / 3,
                               .doubt = fabs(wide[k] - narrow[k]) / 3,
                               .rounding = 8 * s->noise[k] / h,
                               .h = h};
    return status;
}

static double roughness(const sgfsi_slope *s) {
    return s->doubt + s->rounding;
}

sgfs_status sgfsi_slopes_noise(sgfsi_slopes *s, const double *v, sgfs_err *err) {
    enum { PLACES = 8 };
    double f[PLACES][SGFSI_DENSITIES] = {{0}};
    for (int i = 0; i < PLACES; i++) {
        for (int64_t j = 0; j < s->D; j++) s->up[j] = s->theta[j] + tiny_step * (i - 3) * v[j];
        sgfs_status status = s->densities(s->work, s->up, f[i], err);
        if (status != SGFS_OK) return status;
    }
    for (int k = 0; k < SGFSI_DENSITIES; k++) {
        double sum = 0;
        for (int i = 3; i < PLACES; i++) {
            double third = f[i][k] - 3 * f[i - 1][k] + 3 * f[i - 2][k] - f[i - 3][k];
            sum += third * third;
        }
        double least = DBL_EPSILON * fabs(f[3][k]); /* differences may happen to vanish */
        s->noise[k] = fmax(sqrt(sum / ((PLACES - 3) * 20.0)), least);
    }
    return SGFS_OK;
}

sgfs_status sgfsi_slopes_along(const sgfsi_slopes *s, const double *v, sgfsi_slope *out,
                               sgfs_err *err) {
    sgfs_status status = at_step(s, v, largest_step, out, err);
    for (double h = largest_step / 10; h > smallest_step && status == SGFS_OK; h /= 10) {
        sgfsi_slope other[SGFSI_DENSITIES];
        bool good = true;
        for (int k = 0; k < SGFSI_DENSITIES; k++)
            good = good &&
                   (s->gradient[k] == NULL || out[k].doubt <= fmax(s->enough[k], out[k].rounding));
        if (good) break;
        status = at_step(s, v, h, other, err);
        for (int k = 0; k < SGFSI_DENSITIES && status == SGFS_OK; k++)
            if (!(roughness(&out[k]) <= roughness(&other[k]))) out[k] = other[k];
    }
    /* A difference that another step does not show is not believed. */
    for (int k = 0; k < SGFSI_DENSITIES && status == SGFS_OK; k++) {
        sgfsi_slope other[SGFSI_DENSITIES];
        double gap = fabs(out[k].analytic - out[k].numeric);
        if (s->gradient[k] == NULL || !(gap > 10 * s->enough[k] && gap > out[k].rounding)) continue;
        status = at_step(s, v, 0.37 * out[k].h, other, err);
        if (status == SGFS_OK) out[k].doubt += fabs(out[k].numeric - other[k].numeric);
    }
    return status;
}
