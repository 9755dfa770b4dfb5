/* SPDX-License-Identifier: MIT
 * least_squares.h: all that the rows and a Gaussian prior say of a linear regression, in
 * coordinates in which both are diagonal.
 *
 *     y = X beta + sigma e,   beta_j ~ N(mean_j, 1/P_j), P_j >= 0
 *
 * Coordinates c (q of them) stand for a vector b, b = centre + T'c, such that where sigma = sigma0
 *     log posterior(c) = const + sum_k gamma_k c_k - d_k c_k^2/2      the rows
 *                              - sum_k kappa_k c_k + nu_k c_k^2/2     the prior
 *     d_k + nu_k = 1
 * and for any other sigma the rows' part is multiplied by sigma0^2/sigma^2. With no more columns
 * than rows b is beta itself, q = p. With more, q is about N: b are those combinations of beta that
 * the rows see, and what they do not see has its prior (least_squares.c).
 *
 *   W, Q     rows or the sum of their weights; residual sum of squares at the centre / sigma0^2
 */
#pragma once

#include "posterior/posterior.h"
#include "posterior/prior_pull.h"
#include "posterior/sigma_law.h"

typedef struct sgfsi_least_squares {
    const sgfs_model *model;
    const sgfs_device *device;
    int64_t p, q;
    double W, Q;
    double log_sigma0;
    bool known;                     /* sigma is sigma0 */
    double *centre;                 /* q: b */
    double *T;                      /* q x q, row k: what coordinate k adds to b */
    double *d, *nu, *gamma, *kappa; /* q each */
    double *delta;                  /* q */
    sgfsi_sigma_law law;            /* of v = -2 (log sigma - log sigma0); not open */
    /* The first `single` numbers of b are coefficients; the others, q - single, are the parts along
     * the rows of `axes` of the vector of the other coefficients, (beta_j - mean_j) sqrt(P_j). */
    int64_t single;
    int64_t *column;      /* p: which coefficients, those first */
    double *mean, *scale; /* p - single each, of the others: mean_j, 1/sqrt(P_j) */
    double *axes;         /* (q - single) x (p - single), orthonormal rows */
    const double *means;  /* p, of the prior: b has the intercept at the columns' means; or NULL */
    int64_t unseen;       /* rows that, as far as rounding shows, repeat others */
    int64_t rows;         /* read in all */
    char prior[SGFSI_PRIOR_PULL]; /* the sentence, where the prior decides; with more columns than
                                   * rows that is plain, and not said here */
} sgfsi_least_squares;

/* Why a regression of this size, or this model, is not for this; NULL: it is. */
const char *sgfsi_least_squares_refuses(const sgfs_model *m);
/* A posterior that cannot be integrated is SGFS_ENUMERIC. The same bits for any number of
 * threads. */
sgfs_status sgfsi_least_squares_open(sgfsi_least_squares *s, const sgfs_model *m, int64_t threads,
                                     sgfsi_arena *arena, sgfs_err *err);
/* beta (p) from coordinates (q); z: p normal numbers for what the rows do not see (changed). work:
 * 2 q. */
void sgfsi_least_squares_place(const sgfsi_least_squares *s, const double *c, double *z,
                               double *work, double *beta);
/* The log density of the posterior, up to the prior's constant, at theta, which has coordinates
 * c. */
sgfs_status sgfsi_least_squares_lp(const sgfsi_least_squares *s, const double *c,
                                   const double *theta, double *lp, sgfs_err *err);
