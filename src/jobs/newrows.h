/* SPDX-License-Identifier: MIT
 * newrows.h: new rows for a model that has been sampled: its columns found in another file, its
 * labels and scales applied, a block of rows at a time, ready for predictor.h.
 */
#pragma once

#include "chain/validate.h"
#include "files/newdata.h"
#include "model/model.h"

/* Where the draws come from, as a run's header tells it; all borrowed. */
typedef struct sgfsi_origin {
    const sgfs_model_kind *kind;
    const sgfs_config *cfg;   /* its options "model.*" and "run.backend" */
    const sgfsi_json *data;   /* what sgfsi_data_describe said */
    const sgfsi_json *info;   /* what the model saved ("model_info") */
    const sgfsi_context *ctx; /* what the run opened, where it is at hand: shared; or NULL */
} sgfsi_origin;

typedef struct sgfsi_newrows {
    sgfsi_arena arena;
    sgfs_data *data;   /* columns and scales; no rows */
    sgfs_model *model; /* on the draws' scale */
    sgfsi_newdata *rows;
    sgfsi_wanted wanted;
    bool known; /* the file has the target */
} sgfsi_newrows;

/* cfg: "data.target" (where it is not the run's), "data.delimiter" and "data.header" of this file;
 * messages go to it. */
sgfs_status sgfsi_newrows_open(sgfsi_newrows *r, const sgfsi_origin *origin, const char *path,
                               const sgfs_config *cfg, sgfs_err *err);

/* Room for one block of `most` rows. */
typedef struct sgfsi_newrows_block {
    unsigned char *lacks; /* rows: as in newdata.h */
    double *x;            /* most x p */
    double *y;            /* most */
    double *offset;       /* most: log exposure */
    sgfs_batch batch;     /* the rows read; y and offset NULL where the file has none */
} sgfsi_newrows_block;
sgfs_status sgfsi_newrows_room(const sgfsi_newrows *r, int64_t most, sgfsi_newrows_block *block,
                               sgfsi_arena *arena, sgfs_err *err);
/* The next rows; block->batch.n is 0 at the end. Targets are among the labels, exposures
 * positive. */
sgfs_status sgfsi_newrows_next(sgfsi_newrows *r, int64_t most, sgfsi_newrows_block *block,
                               sgfs_err *err);
void sgfsi_newrows_close(sgfsi_newrows *r);

/* Rows kept aside, for the engine to predict while it samples (--validate): those of `path`, read
 * whole, on the scale of the draws; they must have the model's columns and its target. cfg: as for
 * sgfsi_newrows_open. What comes back is handed to sgfsi_run_validate, or freed by its `free`. */
sgfs_status sgfsi_validation_rows_open(sgfsi_validation_rows *out, const char *path,
                                       const sgfs_model *model, const sgfs_config *cfg,
                                       sgfs_err *err);
