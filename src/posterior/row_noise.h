/* SPDX-License-Identifier: MIT
 * row_noise.h: how much the scores of single rows differ from one another around an anchor, from
 * all rows: the noise of a minibatch's gradient, before any minibatch is drawn.
 *
 *     d_i(theta) = g_i(theta) - g_i(theta*)              or g_i(theta) itself, without differences
 *     cov = mean over places of [ sum_i w_i d_i d_i'/W - dbar dbar' ],   dbar = sum_i w_i d_i/W
 *
 * w_i is the weight of row i and W their sum: minibatches draw rows in proportion to them. A row
 * that is the only one to know a parameter is in it like all others, and minibatches would hardly
 * ever meet it. One pass over the rows, the scores of K places, and where the score is a factor
 * times the row one product of matrices; otherwise K of them. The same bits for any number of
 * threads.
 */
#pragma once

#include "posterior/anchor.h"

typedef struct sgfsi_row_noise {
    const sgfsi_anchor *anchor;
    bool plain;          /* the scores themselves, without differences to those at the anchor */
    int64_t K;           /* places */
    const double *place; /* K x D */
    double *cov;         /* D x D lower */
    double *A; /* D x D lower: information and the prior's curvature, mean over the places;
                          * NULL: not wanted */
    double *G; /* D, with A: gradient of the log posterior, mean over the places */
} sgfsi_row_noise;

/* threads: 0 or less: the context's. */
sgfs_status sgfsi_row_noise_find(const sgfsi_row_noise *s, const sgfs_model *m, int64_t threads,
                                 sgfs_err *err);
/* Is it one product of matrices, whatever K is? */
bool sgfsi_row_noise_is_factored(const sgfs_model *m);

/* K places centre + L^-T z for z at hand (K x D standard normal numbers, replaced by the places):
 * z is made orthogonal within each D of them and of length sqrt(D), so that the mean of z z' over
 * D places is the identity. pairs: the second half of the places mirrors the first. L: lower. */
void sgfsi_row_noise_places(const sgfs_device *dev, int64_t K, int64_t D, bool pairs,
                            const double *centre, const double *L, double *z);
