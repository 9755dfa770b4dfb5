/* SPDX-License-Identifier: MIT
 * glm.h: what generalised linear models share: the linear predictor, coefficients named after the
 * columns, scores residual (x) row, and the way back from standardised columns.
 */
#pragma once

#include "model/model.h"

/* While opening: a block "beta", rows x p, for as many predictors. */
sgfs_status sgfsi_glm_open(sgfs_model *m, int64_t rows, sgfs_err *err);
/* Refuse a target of texts (`needs`: "linear regression needs numbers"), or one that never changes
 * where its noise is to be estimated (--sigma). */
sgfs_status sgfsi_glm_check_numbers(const sgfs_model *m, const char *needs, sgfs_err *err);
/* Name them (after all blocks are declared): "intercept" and the columns' names. */
sgfs_status sgfsi_glm_name(sgfs_model *m, sgfs_err *err);
/* e = exp(-|eta|): what sigmoid and softplus of eta share, and cannot overflow. */
void sgfsi_half_exp(const sgfs_model *m, int64_t n, const double *eta, double *e);
/* eta = X beta + offset for the rows of b: n numbers. */
void sgfsi_glm_predictor(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                         double *eta);
/* eta = X B', n x rows of beta, for rows first .. first+n-1 of b; offsets are left out. */
void sgfsi_glm_predictors(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          int64_t first, int64_t n, double *eta);
/* A += X' diag(weight b->weight) X on the block beta; weight is changed; scratch: n times
 * sgfsi_glm_scratch numbers (a row of x; none where the batches are sparse), and one for each
 * parameter that is not of beta. A is D x D, lower. Where the rows of b are not there, the product
 * is left to whoever has them, and its weights go to b->square. */
int64_t sgfsi_glm_scratch(const sgfs_model *m);
void sgfsi_glm_curvature(const sgfs_model *m, const sgfs_batch *b, double *weight, double *A,
                         double *scratch);
/* The same where row r and row c <= r of beta meet; weight may be negative and is used as it is
 * (b->weight is the caller's business). scratch: 2 n p. */
void sgfsi_glm_curvature_pair(const sgfs_model *m, const sgfs_batch *b, const double *weight,
                              int64_t r, int64_t c, double *A, double *scratch);
/* u = X (to - from)', n x rows of beta: how the predictors change. From the difference of the
 * coefficients, so that small changes are as accurate as large ones. scratch: n times
 * sgfsi_glm_scratch numbers, for each row of beta. */
void sgfsi_glm_changes(const sgfs_model *m, const double *from, const double *to,
                       const sgfs_batch *b, double *u, double *scratch);
/* out[i] = x_i' C x_i for one predictor; C: D x D, both triangles, of which the block of beta is
 * used. scratch: n times sgfsi_glm_scratch numbers. */
void sgfsi_glm_leverage(const sgfs_model *m, const sgfs_batch *b, const double *C, double *out,
                        double *scratch);
/* x_i' C x_i for a sparse row; C: p x p, in rows of length D. */
double sgfsi_glm_sparse_square(const sgfs_csr *x, int64_t i, const double *C, int64_t D);
/* For the prior: m->reach, which the default one needs without an intercept, and m->likely, by
 * which one that was named is judged. unit, centre: spread and middle of the predictor. */
void sgfsi_glm_judge_prior(sgfs_model *m, double unit, double centre);
/* Coefficients of 0 for all rows of beta, and what moves a predictor by about 1: 1 / root mean
 * square of the column as the chain sees it (1 for a column of zeros). Not 1 / sd: a year of
 * 1990 to 2020 would start with predictors off by hundreds. */
void sgfsi_glm_start(const sgfs_model *m, double *theta, double *spread);
/* How many columns of size 1 the columns are worth, as the chain sees them: the variance of a sum
 * over them with independent weights of variance 1. At least 1. */
double sgfsi_glm_fan_in(const sgfs_data *d);
/* All rows of the first block (beta) for the user's columns. */
void sgfsi_glm_to_user(const sgfs_model *m, const double *theta, double *user);
/* And back; user and theta may be the same place. */
void sgfsi_glm_from_user(const sgfs_model *m, const double *user, double *theta);
