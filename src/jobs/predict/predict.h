/* SPDX-License-Identifier: MIT
 * predict.h: the insides of a prediction, for predict.c (the loop over the file), predict_block.c
 * (a block of rows) and predict_result.c (the result).
 */
#pragma once

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "base/io.h"
#include "context/comm/comm.h"
#include "jobs/job.h"
#include "jobs/newrows.h"
#include "posterior/predictor.h"
#include "sink/draws.h"

/* A block of rows on its way: read, predicted, written and tallied. */
typedef struct sgfsi_predict_slot {
    sgfsi_newrows_block in;
    int64_t first;             /* number of its first row, from 0 */
    double *used;              /* bytes of its text */
    double *mean;              /* rows x width */
    double *q;                 /* rows x width x SGFSI_QUANTILES */
    double *log_density, *pit; /* rows */
    sgfsi_buffer text;         /* its lines of the output */
    sgfs_status status;
    sgfs_err err;
} sgfsi_predict_slot;

typedef struct sgfsi_workspace sgfsi_workspace;

/* Rows of about one predicted probability. */
typedef struct sgfsi_rank {
    int64_t rows, observed; /* observed: that have the label */
    double predicted;       /* sum of probabilities */
} sgfsi_rank;

typedef struct sgfsi_predict {
    sgfs_job job;
    char *path, *out; /* of the rows, NULL: they are in memory; of the output, or NULL */
    bool array;       /* the output is a .npy: all draws of each row */
    sgfsi_newrows rows;
    const sgfs_model_kind *kind; /* ours to free where it came from a file */
    sgfsi_draw *draw;            /* draws: those used */
    int64_t draws;
    const sgfs_model *model;    /* with the device that does the work */
    int64_t width, most, slots; /* most: rows of a block */
    sgfsi_arena there;          /* of the predictors: back before their device goes */
    sgfsi_predictor *predictor; /* one for each thread */
    sgfsi_predict_slot *slot;   /* slots */
    const sgfsi_comm *comm;     /* the processes that share the blocks */
    double *number;             /* slots x each: what a slot has from `used` to `pit` */
    int64_t each;
    uint64_t seed;
    double at[SGFSI_QUANTILES]; /* the interval's ends, and the middle */
    sgfsi_tally tally;
    sgfsi_rank *rank; /* SGFSI_RANKS: of rows, by the second's probability of two labels, or by the
                       * largest */
    int64_t done;     /* rows */
    sgfs_prediction result;
    pthread_mutex_t lock; /* around what follows */
    sgfsi_workspace *idle;
} sgfsi_predict;

/* ---- predict_block.c ------------------------------------------------------------------------- */

/* Rows of a block: a power of two, so that what is kept of all draws stays within a few MiB. */
int64_t sgfsi_predict_rows(const sgfs_model *m, int64_t width, int64_t draws);
sgfs_status sgfsi_predict_room(sgfsi_predict *p, sgfs_err *err);
/* Every process has predicted its share of the slots that are in use (status: how that went here);
 * afterwards all have all of them. Collective. */
sgfs_status sgfsi_predict_gather(sgfsi_predict *p, int64_t used, sgfs_status status, sgfs_err *err);
/* All draws on the rows of a slot, with this thread's predictor. */
void sgfsi_predict_block(sgfsi_predict *p, sgfsi_predictor *predictor, sgfsi_predict_slot *slot);
/* The first line of the output; of an array, its head, with the rows that are done. */
void sgfsi_predict_head(const sgfsi_predict *p, FILE *f);

/* ---- ranks: from the least probable to the most, by log odds in steps of 0.01 ---------------- */

enum { SGFSI_RANKS = 4096 };
static inline int64_t sgfsi_predict_rank(double probability) {
    double at = 100 * log(probability / (1 - probability)) + SGFSI_RANKS / 2;
    return at >= SGFSI_RANKS ? SGFSI_RANKS - 1 : at > 0 ? (int64_t)at : 0;
}

/* Names of what stands beside a prediction: "q5", "q50", "q95"; ends at the interval's. */
enum { SGFSI_QUANTILE_CHARS = 24 };
const char *sgfsi_predict_quantile(const sgfsi_predict *p, int k, char out[SGFSI_QUANTILE_CHARS]);

/* ---- predict_rows.c -------------------------------------------------------------------------- */

void sgfsi_workspaces_free(sgfsi_workspace *first);

/* The smallest probability of a rank. */
static inline double sgfsi_predict_rank_from(int64_t rank) {
    return 1 / (1 + exp(-0.01 * (double)(rank - SGFSI_RANKS / 2)));
}

/* ---- predict_result.c ------------------------------------------------------------------------ */

/* What is known of the rows before there are any: columns, labels. */
sgfs_status sgfsi_predict_introduce(sgfsi_predict *p, sgfs_err *err);
void sgfsi_predict_conclude(sgfsi_predict *p);
sgfsi_json *sgfsi_predict_json(const sgfs_job *job);
