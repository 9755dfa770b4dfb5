/* SPDX-License-Identifier: MIT
 * far_predictor.h: what draws say together of a fixed set of rows, by a device with memory of its
 * own: for models of labels, whose predictions are probabilities. It is what predictor.c asks in
 * place of the host: rows go there once and draws some at a time, and of each row sums over all
 * draws come back, and the numbers around its quantiles. Numbers that are kept never do.
 *
 * Predictors of a regression are made for some draws at once, one product of matrices; networks
 * look at one draw after another.
 */
#pragma once

#include "posterior/predictor.h"

typedef struct sgfsi_far_predictor sgfsi_far_predictor;

/* How many rows a block should have where a device of m does the work, with as many as `threads`
 * predictors at the same time; 0: the host does it. */
int64_t sgfsi_far_predictor_rows(const sgfs_model *m, int64_t draws, int64_t threads);
/* *out NULL: the host does it. keep: of all draws. */
sgfs_status sgfsi_far_predictor_open(sgfsi_far_predictor **out, const sgfs_model *m, int64_t most,
                                     int64_t keep, sgfsi_arena *arena, sgfs_err *err);
void sgfsi_far_predictor_begin(sgfsi_far_predictor *f, const sgfs_batch *rows);
sgfs_status sgfsi_far_predictor_add(sgfsi_far_predictor *f, int64_t count, const sgfsi_draw *draw,
                                    sgfs_err *err);
/* Sums of probabilities (rows x labels), and of densities as sgfsi_predictor has them; from now on
 * there are neighbours of these quantiles. */
sgfs_status sgfsi_far_predictor_finish(sgfsi_far_predictor *f, const double at[SGFSI_QUANTILES],
                                       double *total, double *top, double *sum, sgfs_err *err);
void sgfsi_far_predictor_neighbours(const sgfsi_far_predictor *f, int64_t number,
                                    sgfsi_neighbours *at);
