/* SPDX-License-Identifier: MIT
 * scores.h: room for the scores of some rows, and their sum.
 */
#pragma once

#include "base/arena.h"
#include "model/model.h"

/* Room for n rows. */
sgfs_status sgfsi_scores_open(sgfs_scores *s, const sgfs_model *m, int64_t n, sgfsi_arena *arena,
                              sgfs_err *err);
/* Where right factors are the batch's own rows there is nothing to fill: point there. */
void sgfsi_scores_point(const sgfs_model *m, const sgfs_batch *b, sgfs_scores *s);
/* out = a sum_i g_i + b out, block by block, from the factors; ones: n of them. */
void sgfsi_scores_sum(const sgfs_device *dev, const sgfs_scores *s, double a, double b,
                      const double *ones, double *out);

double sgfsi_loglik_sum(int64_t n, const double *x); /* in order */
double *sgfsi_ones(sgfsi_arena *arena, int64_t n);   /* NULL when memory is out */
/* SGFS_ENUMERIC where a number of it is not finite. */
sgfs_status sgfsi_gradient_check(const sgfs_model *m, const double *G, sgfs_err *err);
