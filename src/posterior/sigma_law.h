/* SPDX-License-Identifier: MIT
 * sigma_law.h: the law of log sigma in a linear regression, the coefficients integrated out, and
 * exact draws from it.
 *
 * In the coordinates c of posterior/least_squares.h the rows have information d_k and the prior
 * nu_k, d_k + nu_k = 1, where sigma = sigma0. With v = -2 (log sigma - log sigma0), a = exp(v),
 *
 *     log density(v) = W v/2 - R (a - 1)/2 - sum_k delta_k s_k(v)/2 - sum_k log(a d_k + nu_k)/2
 *                      - precision (v - middle)^2/2 + const,        s_k(v) = a d_k/(a d_k + nu_k)
 *
 *   W      rows, or the sum of their weights
 *   R      the residual sum of squares of least squares, over sigma0^2
 *   delta  how far least squares and the prior's mean are apart, squared, in units of the prior
 *
 * The density may have several humps, where prior and rows contradict each other. So draws come by
 * rejection from an envelope of exponential pieces that is proved to lie above it (sigma_law.c).
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/rng.h"

/* The envelope from `at` on: its logarithm is height + slope (v - at). */
typedef struct sgfsi_sigma_piece {
    double at, width; /* width: INFINITY for the two tails, the first and the last piece */
    double height, slope;
    double mass; /* of this piece and those before it; that of the last is 1 */
} sgfsi_sigma_piece;

typedef struct sgfsi_sigma_law {
    int64_t q;
    const double *d, *nu, *delta; /* q each */
    double W, R;
    double precision, middle;
    /* The envelope, once it is open. */
    int64_t pieces;
    sgfsi_sigma_piece *piece;
    double top; /* the largest log density that was seen; heights are relative to it */
} sgfsi_sigma_law;

/* The logarithm of the density at v, up to a constant. */
double sgfsi_sigma_law_at(const sgfsi_sigma_law *law, double v);
/* A place where the density has a hump. SGFS_ENUMERIC where it cannot be integrated. */
sgfs_status sgfsi_sigma_law_mode(const sgfsi_sigma_law *law, double *mode, sgfs_err *err);
/* The envelope. */
sgfs_status sgfsi_sigma_law_open(sgfsi_sigma_law *law, sgfsi_arena *arena, sgfs_err *err);
/* v, independent of every other draw; the stream has as many numbers as it takes. tries (may be
 * NULL): += places that were looked at. */
double sgfsi_sigma_law_draw(const sgfsi_sigma_law *law, sgfsi_stream *stream, int64_t *tries);
