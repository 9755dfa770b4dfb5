/* SPDX-License-Identifier: MIT
 * far_pass.h: sums over all rows by a device that keeps them, block by block, for models of classes
 * (far_target of model.h). Rows, scores and log densities of a block are made there, and so are all
 * vectors that go with them: places go there, sums come back, and nobody waits in between.
 *
 * The information is a sum over the classes that a row may have been of (model/outcomes.h):
 *
 *     A = sum_i w_i sum_k p_ik g_i(k) g_i(k)' = sum_k B_k'B_k,   B_k = sqrt(w_i p_ik) g_i(k)
 *
 * or, of a regression with scores e (x) x, the blocks X' diag(w P_k) X of its classes less
 * sum_i w_i (P_i (x) x_i) (P_i (x) x_i)'.
 *
 * Blocks begin at rows that the sizes alone decide, and follow each other: two passes have the same
 * bits, whatever else goes on.
 */
#pragma once

#include "posterior/posterior.h"

typedef struct sgfsi_far_pass sgfsi_far_pass;

/* Room on the device for passes at as many as `most` places at once; curvature: the information may
 * be asked for. *out NULL: the host makes these passes. */
sgfs_status sgfsi_far_pass_open(sgfsi_far_pass **out, const sgfs_model *m, int64_t most,
                                bool curvature, sgfsi_arena *arena, sgfs_err *err);
/* With room for the information of the model, it can be asked for. */
bool sgfsi_far_pass_informs(const sgfsi_far_pass *f);
/* What all rows say at K places (theta: K x D), without the prior: loglik (K), G (K x D; NULL: not
 * wanted) and at the first of them info (D x D lower; NULL: not wanted). f->far is open. */
sgfs_status sgfsi_far_pass_sums(sgfsi_full *f, int64_t K, const double *theta, double *loglik,
                                double *G, double *info, sgfs_err *err);
