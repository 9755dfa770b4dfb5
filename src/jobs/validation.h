/* SPDX-License-Identifier: MIT
 * validation.h: rows kept aside, for the engine to predict while it samples (--validate).
 */
#ifndef SGFSI_VALIDATION_H
#define SGFSI_VALIDATION_H

#include "chain/validate.h"

/* Read the rows of `path`, which must have the model's columns and its target. cfg: as for
 * sgfsi_newrows_open. What comes back is handed to sgfsi_run_validate, or freed by its `free`. */
sgfs_status sgfsi_validation_rows_open(sgfsi_validation_rows *out, const char *path,
                                       const sgfs_model *model, const sgfs_config *cfg,
                                       sgfs_err *err);

#endif
