/* SPDX-License-Identifier: MIT
 * kappa.c: how much a new batch weighs in the running average I1hat <- (1 - kappa) I1hat + kappa V.
 *
 * t counts updates since the last restart, from 1; t0 those of warm-up; w the window.
 *
 *   window    warm-up: max(1/t, 1/w), then 1/(min(t0, w) + t - t0)   forgets the way in
 *   harmonic  1/t                          the plain mean (the paper's)
 *   floor     max(1/t, c)                  a plain mean, and from t = 1/c on like constant
 *   constant  c                            weights c (1-c)^k at age k, the first one's without c
 *   power     min(1, a (b + t)^-delta)     delta 1: nearly a plain mean; less: forgets the start
 *   forget    c / (1 - (1-c)^t)            weights proportional to (1-c)^k, the first one's, too
 *
 * The first update counts whole in every schedule: what it would be averaged with is a matrix of
 * zeros, which is no estimate of anything.
 * Where kappa stays above c the average never settles: the variance of its entries stays at
 * c/(2 - c) of one batch's, and I1hat follows the chain from place to place, which a quadratic
 * posterior does not mind and others may. window, harmonic and power settle.
 */
#include <math.h>
#include <string.h>

#include "fisher/fisher.h"

static double window(sgfsi_average *a, bool warmup) {
    double t = (double)a->updates;
    if (warmup) return t < a->window ? 1 / t : 1 / a->window;
    double known = t - 1 < a->window ? t - 1 : a->window; /* a warm-up shorter than the window */
    if (a->settled == 0) a->base = known;
    return 1 / (a->base + (double)++a->settled);
}

static double harmonic(sgfsi_average *a, bool warmup) {
    (void)warmup;
    return 1 / (double)a->updates;
}

static double with_floor(sgfsi_average *a, bool warmup) {
    (void)warmup;
    return fmax(1 / (double)a->updates, a->value);
}

static double constant(sgfsi_average *a, bool warmup) {
    (void)warmup;
    return a->updates == 1 ? 1 : a->value;
}

static double power(sgfsi_average *a, bool warmup) {
    (void)warmup;
    return a->updates == 1 ? 1 : fmin(1, a->a * pow(a->b + (double)a->updates, -a->delta));
}

/* 1 - (1-c)^t without cancellation for small c; fmin: rounding at t = 1. */
static double forget(sgfsi_average *a, bool warmup) {
    (void)warmup;
    return fmin(1, a->value / -expm1((double)a->updates * log1p(-a->value)));
}

static const struct {
    const char *name;
    sgfsi_kappa kappa;
} schedules[] = {{"window", window},     {"harmonic", harmonic}, {"floor", with_floor},
                 {"constant", constant}, {"power", power},       {"forget", forget}};

sgfsi_kappa sgfsi_kappa_find(const char *name) {
    for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
        if (strcmp(schedules[i].name, name) == 0) return schedules[i].kappa;
    }
    return NULL;
}
