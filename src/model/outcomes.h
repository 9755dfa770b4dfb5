/* SPDX-License-Identifier: MIT
 * outcomes.h: expectations over a model's own targets, for models whose expected information has no
 * formula of its own.
 */
#pragma once

#include "model/model.h"

/* One outcome of every row, and its probability: n numbers each. scratch: what the kind asked for
 * in m->scratch_per_row. */
typedef void (*sgfsi_outcome_fn)(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                                 int64_t k, double *y, double *probability, double *scratch);

/* Numbers for each row that the functions below want as scratch: a kind that uses them sets
 * m->curvature_scratch_per_row to it after its last block. */
int64_t sgfsi_outcomes_scratch(const sgfs_model *m);
/* A += sum_i w_i sum_k p_ik g_i(y_ik) g_i(y_ik)', k = 0 .. outcomes-1. */
void sgfsi_outcomes_curvature(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                              int64_t outcomes, sgfsi_outcome_fn outcome, double *A,
                              double *scratch);
/* The same where the outcomes are the labels, with the probabilities that `predict` says: exact for
 * every classification. Fits as `curvature` of a model kind. */
void sgfsi_label_curvature(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *A,
                           double *scratch);
/* Outcomes of a Gaussian target of mean 0 and sd 1 and their probabilities, exact for polynomials
 * up to degree 5: enough for the information about a mean and a log sd. */
enum { SGFSI_NORMAL_OUTCOMES = 3 };
extern const double sgfsi_normal_outcome[SGFSI_NORMAL_OUTCOMES],
    sgfsi_normal_probability[SGFSI_NORMAL_OUTCOMES];
