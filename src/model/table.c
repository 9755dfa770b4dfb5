/* SPDX-License-Identifier: MIT
 * table.c: the models. One file and one row here is all that a new one needs.
 */
#include "model/model.h"

/* clang-format off */
#define MODELS(ROW)               \
    ROW(sgfs_model_linear)        \
    ROW(sgfs_model_logistic)      \
    ROW(sgfs_model_softmax)       \
    ROW(sgfs_model_poisson)       \
    ROW(sgfs_model_mlp)           \
    ROW(sgfs_model_drbm)
/* clang-format on */

#define DECLARE(kind) extern const sgfs_model_kind kind;
#define ENTER(kind)   &kind,
MODELS(DECLARE)
const sgfs_model_kind *const sgfsi_models[] = {MODELS(ENTER) NULL};
