/* SPDX-License-Identifier: MIT
 * sweep.h: predictors, gradient and information of a regression from rows where they lie, for
 * passes over all rows (pass.c) and for minibatches whose scores nobody wants (minibatch.c):
 * nothing is gathered, and each row comes from memory once.
 *
 *     eta_i = c + x_i'b      b = scale theta,  c = intercept - shift'b
 *     g     = sum_i r_i x_i,  r_0 = sum_i r_i      gradient: scale (g - shift r_0), r_0
 *
 * with the columns' shift and scale of the design: standardised rows are never made. That takes
 * the difference of two sums, which is no harm while a column's mean is not many thousand times its
 * spread; other data are gathered.
 */
#pragma once

#include "model/model.h"

enum {
    SGFSI_SWEEP_SPARE = 8, /* numbers of room behind eta */
    SGFSI_SWEEP_ROWS = 256
};

typedef struct sgfsi_sweep {
    const sgfs_model *model;
    double *beta; /* features: b at the place of this pass */
    double c;
} sgfsi_sweep;

/* Can the model's rows be taken where they lie? */
bool sgfsi_sweep_fits(const sgfs_model *m);
sgfs_status sgfsi_sweep_open(sgfsi_sweep *s, const sgfs_model *m, sgfsi_arena *arena,
                             sgfs_err *err);
void sgfsi_sweep_begin(sgfsi_sweep *s, const double *theta);
/* Rows of a block that should be done together: they stay in cache until both are. */
int64_t sgfsi_sweep_rows(const sgfsi_sweep *s);
/* eta (n, and room for SGFSI_SWEEP_SPARE more) of rows first .. first + n - 1 of the data. */
void sgfsi_sweep_predict(const sgfsi_sweep *s, int64_t first, int64_t n, double *eta);
/* g += those rows' part of the sums above (p numbers: r_0 first, where there is an intercept). */
void sgfsi_sweep_add(const sgfsi_sweep *s, int64_t first, int64_t n, const double *r, double *g);
/* A += sum_i weight_i x_i x_i' of those rows, standardised, in the first p of D rows and columns
 * (D x D, lower). scratch: SGFSI_SWEEP_ROWS rows of D numbers. */
void sgfsi_sweep_square(const sgfsi_sweep *s, int64_t first, int64_t n, const double *weight,
                        double *A, double *scratch);
/* The same for rows row[0..n) of the data, where all of them lie side by side. */
bool sgfsi_sweep_fits_drawn(const sgfs_model *m);
void sgfsi_sweep_predict_drawn(const sgfsi_sweep *s, const int64_t *row, int64_t n, double *eta);
void sgfsi_sweep_add_drawn(const sgfsi_sweep *s, const int64_t *row, int64_t n, const double *r,
                           double *g);
/* The sum of n numbers, eight at a time. */
double sgfsi_sweep_sum(int64_t n, const double *x);
/* The sums of all rows become the gradient. */
void sgfsi_sweep_finish(const sgfsi_sweep *s, double *g);
