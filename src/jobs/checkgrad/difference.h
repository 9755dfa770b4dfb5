/* SPDX-License-Identifier: MIT
 * difference.h: the derivative of a density along a direction, twice: from its gradient, and from
 * finite differences that know how far off they may be.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

enum { SGFSI_DENSITIES = 2 }; /* compared side by side: the log posterior and its prior */

/* Both log densities at theta. One that is not finite is an answer, not an error. */
typedef sgfs_status (*sgfsi_densities_fn)(void *work, const double *theta, double *density,
                                          sgfs_err *err);

typedef struct sgfsi_slopes {
    sgfsi_densities_fn densities;
    void *work;
    int64_t D;
    const double *theta;                     /* D: where */
    const double *gradient[SGFSI_DENSITIES]; /* D each; NULL: that density is left out */
    double noise[SGFSI_DENSITIES];           /* of a density's value, from rounding */
    /* doubt at which no smaller step is tried; a difference ten times that is looked at twice */
    double enough[SGFSI_DENSITIES];
    double *up, *down; /* D each, for the moved theta */
} sgfsi_slopes;

typedef struct sgfsi_slope {
    double analytic, numeric; /* along v */
    double doubt;             /* what numeric may be off by; NaN: a density was not finite */
    double rounding;          /* of the densities: no difference below it can be seen */
    double h;                 /* the step that was taken */
} sgfsi_slope;

/* Find out s->noise, with steps along v that are too small for anything else to be seen. */
sgfs_status sgfsi_slopes_noise(sgfsi_slopes *s, const double *v, sgfs_err *err);
/* Compare along v (D). out: SGFSI_DENSITIES. */
sgfs_status sgfsi_slopes_along(const sgfsi_slopes *s, const double *v, sgfsi_slope *out,
                               sgfs_err *err);
