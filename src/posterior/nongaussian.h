/* SPDX-License-Identifier: MIT
 * nongaussian.h: the log posterior less the Gaussian at the anchor, as far as no row is needed for
 * it.
 *
 *     log p(theta | y) - log p(theta* | y) = -|z|^2/2 + sum_i w_i r_i(theta) + rest(theta),
 *     rest(theta) = (L^-1 G_post)'z                               the anchor is not quite the mode
 *                 + log prior(theta) less its expansion at theta*  0 for a Gaussian prior
 * and where the model knows the likelihood of all rows in closed form (sgfs_model_kind.whole), r_i
 * is in it, too:
 *     rest(theta) = |z|^2/2 + whole(theta) + log prior(theta) - log prior(theta*).
 *
 * The expansion of the prior has the curvature that A has (sgfsi_prior_curvature), whatever the
 * true one is.
 */
#pragma once

#include "posterior/anchor.h"

typedef struct sgfsi_nongaussian {
    const sgfs_model *model;
    const sgfsi_anchor *anchor;
    sgfs_expansion at;
    double *slope; /* D: L^-1 G_post */
    double *gradient,
        *curvature; /* D: of the log prior at the anchor; NULL: nothing is left of it */
    double prior;   /* log prior there */
} sgfsi_nongaussian;

/* a must stay where it is. */
sgfs_status sgfsi_nongaussian_open(sgfsi_nongaussian *r, const sgfs_model *m, const sgfsi_anchor *a,
                                   sgfsi_arena *arena, sgfs_err *err);
/* theta = theta* + L^-T z */
sgfs_status sgfsi_nongaussian_at(const sgfsi_nongaussian *r, const double *theta, const double *z,
                                 double *out, sgfs_err *err);
