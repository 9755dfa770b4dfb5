/* SPDX-License-Identifier: MIT
 * elsewhere.h: data whose rows are not here: what those who have them said of all of them. Such
 * data have columns, labels and a number of rows, and nothing to gather.
 */
#pragma once

#include "rows/data.h"

/* Rows that moves of chains can ask (posterior/marks.h), in the order in which they were found. */
typedef struct sgfsi_marks {
    int64_t chains, warmup, iterations; /* warm-up included, which may be cut otherwise */
    double most;                        /* b': moves of a larger b are refused */
    double radius, growth;              /* of the bounds (row_bounds.h) */
    int64_t p, count;                   /* columns of the design; marks */
    /* One mark after another: SGFSI_MARK_HEAD numbers, then those of the row. */
    int64_t numbers;
    double *number;
} sgfsi_marks;

/* A mark's numbers. The row: p numbers as the chain sees them; or, where it is sparse, pairs of a
 * column and its number, so many as SGFSI_MARK_NUMBERS says. */
enum {
    SGFSI_MARK_SLOT,  /* whose it is */
    SGFSI_MARK_LEVEL, /* uniform: it objects where that times b' psi is below the row's loss */
    SGFSI_MARK_PSI,
    SGFSI_MARK_Y,
    SGFSI_MARK_WEIGHT,
    SGFSI_MARK_OFFSET,
    SGFSI_MARK_NUMBERS, /* p, or minus twice the entries of a sparse row */
    SGFSI_MARK_HEAD
};

/* Moves of a chain, two an iteration: move k of chain c has slot c moves + k. */
static inline int64_t sgfsi_marks_moves(const sgfsi_marks *m) {
    return 2 * m->iterations;
}

typedef struct sgfsi_elsewhere {
    const char *model; /* the kind that they were made for */
    bool weighted, exposed;
    /* What all rows say at some places: log likelihood, gradient, information (1 + D + D x D). */
    int64_t D, places;
    const double *theta, *sums; /* places x D, places x (1 + D + D x D) */
    double *wanted; /* D, out: a place that was asked for and is none of these; NULL: never */
    const sgfsi_marks *marks; /* NULL: there are none yet */
} sgfsi_elsewhere;

/* What the columns and labels of d, or of a part of the rows that is in d, are like, and of all
 * parts together (name: what to call each); the caller's to free. SGFS_EDATA where they are no
 * parts of the same rows. */
sgfsi_json *sgfsi_columns_of(const sgfs_data *d, bool part, sgfs_err *err);
sgfsi_json *sgfsi_columns_merge(int64_t n, const sgfsi_json *const *part, const char *const *name,
                                sgfs_err *err);
/* d, a part of the rows, learns what all of them are like: statistics, scale, labels. */
sgfs_status sgfsi_columns_take(sgfs_data *d, const sgfsi_json *said, sgfs_err *err);
/* Data without rows. data: as sgfsi_data_describe said it of one part; elsewhere: borrowed. */
sgfs_data *sgfsi_data_elsewhere(const sgfsi_json *data, const sgfsi_json *columns,
                                const sgfsi_elsewhere *elsewhere, const sgfs_config *cfg,
                                sgfs_err *err);
