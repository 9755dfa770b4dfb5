/* SPDX-License-Identifier: MIT
 * many.h: generalised linear models at many places at once (sgfs_places of stages.h).
 *
 * The linear predictors of a block of rows at K places are one product of matrices, E = X Theta',
 * and for pairs around a centre with predictor a they are a + E and a - E. One exp serves both,
 *
 *     exp(a + e) = exp(a) exp(e),   exp(a - e) = exp(a) / exp(e),
 *
 * and a sum of logarithms is the logarithm of a product, taken once for many rows:
 *
 *     logit     (y - 1/2) eta - log(2 cosh(eta/2)),   2 cosh(eta/2) = exp(eta/2) + exp(-eta/2)
 *     log       y eta - exp(eta)
 *     softmax   eta_y - log sum_r exp(eta_r)
 *
 * What is linear in eta needs no element of E: sum_i w_i y_i x_i is one vector for all places. A
 * product that leaves the range of numbers is made again, factor by factor.
 */
#pragma once

#include "model/model.h"

int64_t sgfsi_many_scratch(const sgfs_model *m, int64_t count, int64_t n);
/* One predictor for each row; the log densities without what depends on y alone. */
void sgfsi_many_link(const sgfs_model *m, sgfsi_link link, const sgfs_batch *b,
                     const sgfs_places *at);
/* As many predictors as beta has rows; own[i]: the row of beta that is row i's class, or -1: it is
 * the further class, whose predictor is 0 (where there is one: `further`). */
void sgfsi_many_softmax(const sgfs_model *m, bool further, const sgfs_batch *b, const double *own,
                        const sgfs_places *at);

/* The predictors alone, offsets left out: E (count x n) of the rows of b at theta[0..count), where
 * there is one for each row. count: SGFSI_MANY at most. scratch: p x SGFSI_MANY. */
enum { SGFSI_MANY = 32 };
void sgfsi_many_predictors(const sgfs_model *m, const sgfs_batch *b, int64_t count,
                           const double *const *theta, double *E, double *scratch);
