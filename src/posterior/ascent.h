/* SPDX-License-Identifier: MIT
 * ascent.h: climbing the log posterior on all rows: where the climb stands, and one line search for
 * both methods (mode.c: Fisher scoring, lbfgs.c: L-BFGS).
 */
#pragma once

#include "base/ticker.h"
#include "posterior/mode.h"

typedef struct sgfsi_ascent {
    sgfsi_full *full;
    const sgfs_model *m;
    double *theta, *G;         /* D each: the place, and the gradient there */
    double *old_theta, *old_G; /* D each: the place before, after a move */
    double *direction;         /* D: uphill, filled in before a move */
    double *A; /* D x D lower, or NULL: information plus prior, made together with the gradient */
    double *spread; /* D: the model's scale of each parameter */
    double lp,
        slope; /* log density here; G'direction, the gain to first order of a step of size 1 */
    double tolerance;
    const sgfsi_stop *stop; /* or NULL */
    int64_t most, iterations, passes;
    bool open; /* some parameter has no prior: there may be no mode */
    sgfsi_ticker ticker;
    char note[96];
} sgfsi_ascent;

/* Room, and the first evaluation at `from` (D; NULL: the model's own start). curvature: A is
 * wanted. */
sgfs_status sgfsi_ascent_open(sgfsi_ascent *a, sgfsi_full *full, const double *from, bool curvature,
                              sgfsi_arena *arena, sgfs_err *err);
/* Move along the direction until the density has risen enough for the slope. wolfe: also until the
 * slope has fallen enough, so that y's > 0 for the last step s and fall y of the gradient. */
sgfs_status sgfsi_ascent_move(sgfsi_ascent *a, bool wolfe, sgfs_err *err);
/* A fresh A at theta, in one pass. */
sgfs_status sgfsi_ascent_curvature(sgfsi_ascent *a, sgfs_err *err);
/* A note of how far it is, every two seconds. */
void sgfsi_ascent_report(sgfsi_ascent *a, double distance);

/* Sentences that both methods need. */
sgfs_status sgfsi_ascent_no_mode(sgfs_err *err);
sgfs_status sgfsi_ascent_too_long(const sgfsi_ascent *a, double distance, sgfs_err *err);

/* lbfgs.c: climb from where a stands; distance: the estimate of the last step's length. */
sgfs_status sgfsi_lbfgs(sgfsi_ascent *a, sgfsi_arena *arena, double *distance, sgfs_err *err);
