/* SPDX-License-Identifier: MIT
 * lbfgs.c: the mode from gradients alone, for models without `curvature` and for D too large for a
 * D x D matrix (Liu and Nocedal 1989; Nocedal and Wright, algorithm 7.4).
 *
 *     d = H G,   H ~ A^-1 from the last PAIRS steps s and falls of the gradient y (two-loop
 * recursion)
 *
 * The diagonal it starts from knows the scale of each parameter and its prior,
 *
 *     H0 = diag( 1 / (k / spread_j^2 + lambda_j) ),   k = |spread y_d|^2 / s'y_d,   y_d = y -
 * lambda s,
 *
 * spread the model's own scale (1 / size of the column), y_d the data's part of y: the usual
 * s'y/y'y in units of the spread, with the prior exact. So neither the columns' units nor a prior
 * that dominates costs iterations.
 *
 * When to stop: sqrt(G'H G) is the length of the next step in posterior standard deviations as far
 * as H knows A^-1: the number that Fisher scoring stops by, it has no units, and it costs nothing.
 * Directions the memory has not seen count with H0, whose k leans to the largest curvature: there
 * it may be too small by up to the square root of the condition number (in units of the spread).
 * With the default of 1e-8 even a condition number of 1e8 leaves 1e-4 standard deviations.
 */
#include <math.h>
#include <string.h>

#include "posterior/ascent.h"

enum { PAIRS = 20 };

typedef struct memory {
    double *s, *y;     /* PAIRS x D each, a ring */
    double rho[PAIRS]; /* 1 / s'y */
    int64_t count;     /* pairs ever stored */
    double k;
} memory;

static double *pair(double *ring, int64_t i, int64_t D) {
    return ring + i % PAIRS * D;
}

/* x = H0 x */
static void scale(const sgfsi_ascent *a, double k, double *x) {
    for (int64_t j = 0; j < a->m->D; j++) {
        double spread = a->spread[j];
        x[j] /= k / (spread * spread) + a->m->precision[j];
    }
}

/* direction = H G. Before the first pair: a step of one spread at most. */
static void choose_direction(sgfsi_ascent *a, memory *h) {
    const sgfs_device *dev = a->m->ctx.near;
    int64_t D = a->m->D, oldest = h->count > PAIRS ? h->count - PAIRS : 0;
    double *d = a->direction, alpha[PAIRS];
    memcpy(d, a->G, (size_t)D * sizeof *d);
    if (h->count == 0) {
        for (int64_t j = 0; j < D; j++) h->k = hypot(h->k, a->spread[j] * d[j]);
        if (h->k == 0) h->k = 1; /* already at the top */
    }
    for (int64_t i = h->count - 1; i >= oldest; i--) {
        alpha[i % PAIRS] = h->rho[i % PAIRS] * sgfsi_dot(dev, D, pair(h->s, i, D), d);
        sgfsi_axpy(dev, D, -alpha[i % PAIRS], pair(h->y, i, D), d);
    }
    scale(a, h->k, d);
    for (int64_t i = oldest; i < h->count; i++) {
        double beta = h->rho[i % PAIRS] * sgfsi_dot(dev, D, pair(h->y, i, D), d);
        sgfsi_axpy(dev, D, alpha[i % PAIRS] - beta, pair(h->s, i, D), d);
    }
    a->slope = sgfsi_dot(dev, D, a->G, d);
}

/* The line search has seen to s'y > 0; a pair that rounding spoilt is left out. */
static void remember(const sgfsi_ascent *a, memory *h) {
    int64_t D = a->m->D;
    double *s = pair(h->s, h->count, D), *y = pair(h->y, h->count, D);
    double sy = 0, data_sy = 0, data_yy = 0;
    for (int64_t j = 0; j < D; j++) {
        s[j] = a->theta[j] - a->old_theta[j];
        y[j] = a->old_G[j] - a->G[j];
        double data = y[j] - a->m->precision[j] * s[j], scaled = a->spread[j] * data;
        sy += s[j] * y[j];
        data_sy += s[j] * data;
        data_yy += scaled * scaled;
    }
    if (!(sy > 0)) return;
    if (data_sy > 0 && data_yy > 0) h->k = data_yy / data_sy;
    h->rho[h->count++ % PAIRS] = 1 / sy;
}

/* A step that would still move the predictors of some row, where the information has fallen to
 * 1e-10 of a row's in the beginning: there is no top. */
static bool runs_away(const sgfsi_ascent *a, const memory *h) {
    double length = 0;
    if (!a->open || h->count == 0) return false;
    for (int64_t j = 0; j < a->m->D; j++) length = hypot(length, a->direction[j] / a->spread[j]);
    length *= sqrt(a->m->data->total);
    return length > 0.1 && length > 1e5 * sqrt(a->slope);
}

sgfs_status sgfsi_lbfgs(sgfsi_ascent *a, sgfsi_arena *arena, double *distance, sgfs_err *err) {
    memory h = {.s = SGFSI_DOUBLES(arena, PAIRS * a->m->D),
                .y = SGFSI_DOUBLES(arena, PAIRS * a->m->D)};
    if (h.s == NULL || h.y == NULL) return sgfsi_fail_memory(err, "the search for the mode");
    sgfs_status status = SGFS_OK;
    while (status == SGFS_OK) {
        choose_direction(a, &h);
        *distance = sqrt(fmax(a->slope, 0));
        if (runs_away(a, &h)) return sgfsi_ascent_no_mode(err);
        if (*distance < a->tolerance) return SGFS_OK;
        if (a->iterations == a->most) return sgfsi_ascent_too_long(a, *distance, err);
        sgfsi_ascent_report(a, *distance);
        status = sgfsi_ascent_move(a, true, err);
        if (status == SGFS_OK) remember(a, &h);
    }
    return status;
}
