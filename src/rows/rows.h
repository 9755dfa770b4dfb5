/* SPDX-License-Identifier: MIT
 * rows.h: rows of the data as a batch: room for them, and the one place that fills it, dense or
 * sparse, with weights and offsets where the data have them.
 */
#ifndef SGFSI_ROWS_H
#define SGFSI_ROWS_H

#include "rows/data.h"

typedef struct sgfsi_rows_plan {
    int64_t n;          /* rows at most */
    bool sparse;        /* whoever reads them takes b->sparse (model kinds say so) */
    bool repeats;       /* for sgfsi_rows_drawn: a row may come more than once in a batch */
    int64_t parameters; /* of the model, for minibatches: how large chunks may be */
} sgfsi_rows_plan;

typedef struct sgfsi_rows {
    const sgfs_data *data;
    double *x;               /* n x p; NULL: sparse */
    double *y;               /* n */
    double *weight, *offset; /* n; NULL where the data have none (weights: or rows are drawn) */
    int64_t *start;          /* n + 1, and so on: NULL unless sparse */
    int32_t *col;
    double *value;
    sgfs_csr csr; /* the three above */
} sgfsi_rows;

sgfs_status sgfsi_rows_open(sgfsi_rows *r, const sgfs_data *d, sgfsi_rows_plan plan,
                            sgfsi_arena *arena, sgfs_err *err);
/* Each fills the room and describes it, gamma being 1; valid until the next call, and r must not
 * move meanwhile. Rows first .. first + n - 1 of the data, with their weights; */
sgfs_batch sgfsi_rows_range(sgfsi_rows *r, int64_t first, int64_t n);
/* rows row[0..n) of the data, drawn in proportion to their weights: each counts once; */
sgfs_batch sgfsi_rows_drawn(sgfsi_rows *r, const int64_t *row, int64_t n);
/* rows row[0..n) of the table, whatever rows the data have, with their weights. */
sgfs_batch sgfsi_rows_table(sgfsi_rows *r, const int64_t *row, int64_t n);

#endif
