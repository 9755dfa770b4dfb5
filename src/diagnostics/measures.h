/* SPDX-License-Identifier: MIT
 * measures.h: how far moments are from reference moments. Arrays: mean D, cov D x D full.
 */
#pragma once

#include "base/arena.h"

double sgfsi_measure_E1(int64_t D, const double *mean, const double *ref);
double sgfsi_measure_E2(int64_t D, const double *cov, const double *ref);
/* tr(ref^-1 cov) / D; NaN when ref is not positive definite. scratch: D (D + 1). */
double sgfsi_measure_trR(int64_t D, const double *cov, const double *ref, double *scratch);

/* tau of the chain's squares from tau of the chain itself, were it AR(1). */
double sgfsi_measure_tau2(double tau);
/* Expected E1 when mean i is off by a normal error of standard deviation error[i]. */
double sgfsi_noise_E1(int64_t D, const double *error, const double *ref);
/* Expected E2 when covariances come from 1/v independent draws. */
double sgfsi_noise_E2(int64_t D, const double *ref, double v);
/* Standard deviation of trR, likewise. */
double sgfsi_noise_trR(int64_t D, double v);

/* Two Gaussians: a mean and a covariance each, in D dimensions. */
typedef struct sgfsi_gaussians {
    int64_t D;
    const double *mean, *cov, *ref_mean, *ref_cov;
} sgfsi_gaussians;
/* Symmetrised Kullback-Leibler divergence of their marginals (i, j); NaN where one is degenerate.
 */
double sgfsi_pair_divergence(const sgfsi_gaussians *g, int64_t i, int64_t j);
/* The pairs with the smallest and the largest; -1, -1 when there is none. */
void sgfsi_pair_extremes(const sgfsi_gaussians *g, int64_t best[2], int64_t worst[2]);
