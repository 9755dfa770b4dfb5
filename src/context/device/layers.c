/* SPDX-License-Identifier: MIT
 * layers.c: the loops over host memory for the layers of a network: hidden units, and the errors of
 * classes.
 *
 * exp may overflow to infinity for sums beyond 709, and 1/(1 + inf) = 0 is then the right answer.
 */
#include <math.h>

#include "context/device/device.h"

enum { TILE = 64 }; /* rows whose classes are looked at together */

/* ---- hidden units ---------------------------------------------------------------------------- */

double sgfsi_unit_factor(sgfsi_unit unit) {
    return unit == SGFSI_UNIT_LOGISTIC ? -1 : unit == SGFSI_UNIT_TANH ? 2 : 1;
}

void sgfsi_activate(SGFSI_HERE, sgfsi_unit unit, int64_t n, int64_t h, double *A, double *V) {
    if (dev->ops->activate != NULL) {
        dev->ops->activate(dev, unit, n, h, A, V);
        return;
    }
    if (unit != SGFSI_UNIT_RELU) sgfsi_exp(dev, n * h, A, A);
    for (int64_t i = 0; i < n; i++, A += h, V += h + 1) {
        V[0] = 1;
        if (unit == SGFSI_UNIT_LOGISTIC) {
            for (int64_t j = 0; j < h; j++) V[j + 1] = 1 / (1 + A[j]);
        } else if (unit == SGFSI_UNIT_TANH) {
            for (int64_t j = 0; j < h; j++) V[j + 1] = 1 - 2 / (1 + A[j]);
        } else {
            for (int64_t j = 0; j < h; j++) V[j + 1] = A[j] > 0 ? A[j] : 0;
        }
    }
}

/* The derivatives are functions of the values: f (1 - f), 1 - f^2, and whether f is positive. */
void sgfsi_slope_of(SGFSI_HERE, sgfsi_unit unit, int64_t n, int64_t h, const double *V,
                    const double *B, double *C) {
    if (dev->ops->slope != NULL) {
        dev->ops->slope(dev, unit, n, h, V, B, C);
        return;
    }
    for (int64_t i = 0; i < n; i++, V += h + 1, B += h + 1, C += h) {
        if (unit == SGFSI_UNIT_LOGISTIC) {
            for (int64_t j = 0; j < h; j++) C[j] = B[j + 1] * V[j + 1] * (1 - V[j + 1]);
        } else if (unit == SGFSI_UNIT_TANH) {
            for (int64_t j = 0; j < h; j++) C[j] = B[j + 1] * (1 - V[j + 1] * V[j + 1]);
        } else {
            for (int64_t j = 0; j < h; j++) C[j] = V[j + 1] > 0 ? B[j + 1] : 0;
        }
    }
}

/* ---- classes --------------------------------------------------------------------------------- */

static void lower(int64_t K, double by, double *x) {
    for (int64_t k = 0; k < K; k++) x[k] -= by;
}

static double largest(int64_t K, bool further, const double *x) {
    double most = further ? 0 : x[0];
    for (int64_t k = 0; k < K; k++) most = x[k] > most ? x[k] : most;
    return most;
}

/* Rows first .. first + n - 1. One exp for each class, of numbers that are not positive: nothing
 * overflows. */
static void look_at(const sgfs_device *dev, const sgfsi_classes *c, int64_t first, int64_t n) {
    const int64_t K = c->K, each = c->each > 0 ? c->each : 1;
    double level[TILE], rest[TILE], *E = c->E + first * K;
    for (int64_t i = 0; i < n; i++) {
        double *e = E + i * K, most = largest(K, c->further, e);
        const int64_t own = c->own != NULL ? (int64_t)c->own[(first + i) / each] : -1;
        lower(K, most, e);
        level[i] = own < 0 ? -INFINITY : own < K ? e[own] : -most;
        rest[i] = -most;
    }
    sgfsi_exp(dev, n * K, E, E);
    for (int64_t i = 0; i < n; i++) {
        const int64_t own = c->plain || c->own == NULL ? -1 : (int64_t)c->own[(first + i) / each];
        double *e = E + i * K, sum = c->further ? exp(rest[i]) : 0;
        for (int64_t k = 0; k < K; k++) sum += e[k];
        double scale = (c->plain ? 1 : -1) / sum;
        for (int64_t k = 0; k < K; k++) e[k] *= scale;
        if (own >= 0 && own < K) e[own] += 1;
        if (c->loglik != NULL) c->loglik[first + i] = level[i] - log(sum);
    }
}

void sgfsi_classes_of(SGFSI_HERE, const sgfsi_classes *c) {
    if (dev->ops->classes != NULL) {
        dev->ops->classes(dev, c);
        return;
    }
    for (int64_t first = 0; first < c->n; first += TILE)
        look_at(dev, c, first, c->n - first < TILE ? c->n - first : TILE);
}
