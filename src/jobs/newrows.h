/* SPDX-License-Identifier: MIT
 * newrows.h: new rows for a model that has been sampled: its columns found in another file, its
 * labels and scales applied, a block of rows at a time, ready for predictor.h.
 */
#pragma once

#include "base/words.h"
#include "chain/validate.h"
#include "files/newdata.h"
#include "model/model.h"
#include "rows/groups.h"

/* Where the draws come from, as a run's header tells it; all borrowed. */
typedef struct sgfsi_origin {
    const sgfs_model_kind *kind;
    const sgfs_config *cfg;   /* its options "model.*" and "run.device" */
    const sgfsi_json *data;   /* what sgfsi_data_describe said */
    const sgfsi_json *info;   /* what the model saved ("model_info") */
    const sgfsi_context *ctx; /* what the run opened, where it is at hand: shared; or NULL */
    /* Where rows belong to groups: what these are called, in the run's own data or in the note of
     * their effects; NULL: the other has it. */
    const sgfsi_groups *groups;
    const char *effects;
} sgfsi_origin;

/* The groups that new rows belong to (newrows_groups.c). */
typedef struct sgfsi_newgroups {
    int64_t terms; /* 0: the run has none */
    const sgfsi_groups *groups;
    int64_t columns; /* of the file, each once */
    const char *column[SGFSI_MOST_TERMS * SGFSI_MOST_NESTED];
    bool words[SGFSI_MOST_TERMS * SGFSI_MOST_NESTED];
    int64_t at[SGFSI_MOST_TERMS][SGFSI_MOST_NESTED]; /* of a term's columns among those */
    sgfsi_word_list level[SGFSI_MOST_TERMS];
    bool zero, refuse; /* what becomes of a group that the run has not seen; else it is drawn */
} sgfsi_newgroups;

typedef struct sgfsi_newrows {
    sgfsi_arena arena;
    sgfs_data *data;     /* columns and scales; no rows */
    sgfs_model *model;   /* on the draws' scale */
    sgfsi_newdata *rows; /* NULL: they come from memory */
    sgfsi_wanted wanted;
    bool known; /* the file has the target */
    sgfsi_newgroups groups;
    int64_t new_groups;                    /* rows so far with a group that the run has not seen, */
    int64_t new_in_term[SGFSI_MOST_TERMS]; /* and of each factor */
    /* Of rows from memory: the columns that they have, and how the model's are made of the first
     * `own` of these; the others group rows. */
    int64_t inputs, own;
    const char **input;            /* inputs */
    const sgfsi_word_list **words; /* inputs; without words: a column of numbers */
    sgfsi_word_list *own_words;    /* own */
    sgfsi_recipe *recipe;          /* NULL: they are the model's */
} sgfsi_newrows;

/* path NULL: rows come from memory. cfg: "data.target" (where it is not the run's),
 * "data.delimiter" and "data.header" of this file; messages go to it. */
sgfs_status sgfsi_newrows_open(sgfsi_newrows *r, const sgfsi_origin *origin, const char *path,
                               const sgfs_config *cfg, sgfs_err *err);

/* Room for one block of `most` rows. */
typedef struct sgfsi_newrows_block {
    unsigned char *lacks; /* rows: as in newdata.h */
    double *x;            /* most x p */
    double *y;            /* most */
    double *offset;       /* most: log exposure */
    double *raw;          /* most x inputs: of rows from memory */
    int64_t *code;        /* most x terms: each row's groups, as predictor.h wants them */
    double *group;        /* most x columns of groups, and their texts: as in newdata.h */
    const char **group_text;
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

/* newrows_groups.c: after r->data is there; which groups rows are in. */
sgfs_status sgfsi_newgroups_open(sgfsi_newrows *r, const sgfsi_origin *origin,
                                 const sgfs_config *cfg, sgfs_err *err);
void sgfsi_newgroups_close(sgfsi_newgroups *g);
/* Of a row's cells (as in newdata.h) the groups, a code for each term (predictor.h). Returns how
 * many are new; what: the first of them. */
int64_t sgfsi_newgroups_of(const sgfsi_newgroups *g, const double *number, const char *const *text,
                           int64_t *code, char what[SGFSI_LEVEL_ROOM]);

/* newrows_memory.c: the columns that rows in memory have; room for a block of them; and rows first
 * .. first + n - 1 into it, as from a file. Rows with a word or a group that the run does not know
 * are counted. */
sgfs_status sgfsi_newrows_columns(sgfsi_newrows *r, sgfs_err *err);
sgfs_status sgfsi_newrows_memory_room(const sgfsi_newrows *r, int64_t most,
                                      sgfsi_newrows_block *block, sgfsi_arena *arena,
                                      sgfs_err *err);
sgfs_status sgfsi_newrows_take(const sgfsi_newrows *r, const sgfs_new_rows *rows, int64_t first,
                               int64_t n, sgfsi_newrows_block *block, sgfs_predicted *counts,
                               sgfs_err *err);

/* Rows kept aside, for the engine to predict while it samples (--validate): those of `path`, read
 * whole, on the scale of the draws; they must have the model's columns and its target. cfg: as for
 * sgfsi_newrows_open. What comes back is handed to sgfsi_run_validate, or freed by its `free`. */
sgfs_status sgfsi_validation_rows_open(sgfsi_validation_rows *out, const char *path,
                                       const sgfs_model *model, const sgfs_config *cfg,
                                       sgfs_err *err);
