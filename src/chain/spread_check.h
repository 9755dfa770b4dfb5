/* SPDX-License-Identifier: MIT
 * spread_check.h: the spread that the curvature of the posterior predicts.
 */
#pragma once

#include "posterior/posterior.h"

/* Standard deviations, on the user's scale, of the Gaussian whose precision is the expected
 * information plus prior at theta (D, the chain's scale): one pass over the data. sd: D, out. False
 * where the model gives no curvature, N D^2 is too large to bother, or the matrix is singular: sd
 * is then not filled. Memory that ran out is told in why, which the caller makes empty. */
bool sgfsi_curvature_sd(const sgfs_model *m, const double *theta, double *sd, sgfs_err *why);

/* Covariance (D x D, out) on the user's scale of the Gaussian around theta with precision L L' (L
 * lower); the map to that scale is taken as linear there. False when memory is out. */
bool sgfsi_curvature_cov(const sgfs_model *m, const double *theta, const double *L, double *cov);
