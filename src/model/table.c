/* SPDX-License-Identifier: MIT
 * table.c: the models. One file and one row here is all that a new one needs.
 */
#include "model/model.h"

const sgfs_model_kind *const sgfsi_models[] = {
    &sgfs_model_linear,
    &sgfs_model_logistic,
    &sgfs_model_softmax,
    &sgfs_model_poisson,
    &sgfs_model_mlp,
    &sgfs_model_drbm,
    NULL,
};
