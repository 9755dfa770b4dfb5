/* SPDX-License-Identifier: MIT
 * newrows.h: new rows for a model that has been sampled: its columns found in another file, its
 * labels and scales applied, a block of rows at a time, ready for predictor.h.
 */
#pragma once

#include "base/words.h"
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
    sgfs_data *data;     /* columns and scales; no rows */
    sgfs_model *model;   /* on the draws' scale */
    sgfsi_newdata *rows; /* NULL: they come from memory */
    sgfsi_wanted wanted;
    bool known; /* the file has the target */
    /* Of rows from memory: the columns that they have, and how the model's are made of these. */
    int64_t inputs;
    const char *const *input; /* inputs */
    sgfsi_word_list *words;   /* inputs; without words: a column of numbers */
    sgfsi_recipe *recipe;     /* NULL: they are the model's */
} sgfsi_newrows;

/* path NULL: rows come from memory. cfg: "data.target" (where it is not the run's), "data.delimiter" and "data.header" of this file;
 * messages go to it. */
sgfs_status sgfsi_newrows_open(sgfsi_newrows *r, const sgfsi_origin *origin, const char *path,
                               const sgfs_config *cfg, sgfs_err *err);

/* Room for one block of `most` rows. */
typedef struct sgfsi_newrows_block {
    unsigned char *lacks; /* rows: as in newdata.h */
    double *x;            /* most x p */
    double *y;            /* most */
    double *offset;       /* most: log exposure */
    double *raw;          /* most x inputs: of rows from memory */
    sgfsi_buffer keys; /* texts, each with a zero behind it; where a key is wanted. To be freed */
    sgfs_batch batch;  /* the rows read; y and offset NULL where the file has none */
} sgfsi_newrows_block;
sgfs_status sgfsi_newrows_room(const sgfsi_newrows *r, int64_t most, sgfsi_newrows_block *block,
                               sgfsi_arena *arena, sgfs_err *err);
/* The next rows; block->batch.n is 0 at the end. Targets are among the labels, exposures
 * positive. */
sgfs_status sgfsi_newrows_next(sgfsi_newrows *r, int64_t most, sgfsi_newrows_block *block,
                               sgfs_err *err);
void sgfsi_newrows_close(sgfsi_newrows *r);
/* What is left to do to n rows of a block: the log of exposures, the intercept, the chain's scale.
 * The first row whose exposure is not positive, or -1. */
int64_t sgfsi_newrows_finish(const sgfsi_newrows *r, int64_t n, sgfsi_newrows_block *block);

/* newrows_memory.c: the columns that rows in memory have; room for a block of them; and rows first ..
 * first + n - 1 into it, as from a file. Rows with a word that the run does not know are counted. */
sgfs_status sgfsi_newrows_columns(sgfsi_newrows *r, sgfs_err *err);
sgfs_status sgfsi_newrows_memory_room(const sgfsi_newrows *r, int64_t most,
                                      sgfsi_newrows_block *block, sgfsi_arena *arena,
                                      sgfs_err *err);
sgfs_status sgfsi_newrows_take(const sgfsi_newrows *r, const sgfs_new_rows *rows, int64_t first,
                               int64_t n, sgfsi_newrows_block *block, int64_t *new_words,
                               sgfs_err *err);

/* Rows kept aside, for the engine to predict while it samples (--validate): those of `path`, read
 * whole, on the scale of the draws; they must have the model's columns and its target. cfg: as for
 * sgfsi_newrows_open. What comes back is handed to sgfsi_run_validate, or freed by its `free`. */
sgfs_status sgfsi_validation_rows_open(sgfsi_validation_rows *out, const char *path,
                                       const sgfs_model *model, const sgfs_config *cfg,
                                       sgfs_err *err);
