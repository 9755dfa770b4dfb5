/* SPDX-License-Identifier: MIT
 * exchange.h: the rows of a minibatch from several processes, each of which reads those of its own
 * parts (shares.h) and sends them to the others. All of them know which rows the batch has, and all
 * of them get it as one process alone would: the same bits.
 */
#pragma once

#include "rows/pages.h"
#include "rows/rows.h"

typedef struct sgfsi_exchange {
    const sgfs_data *data;
    const sgfsi_comm *comm;
    sgfsi_pages *visit;
    int64_t quota, stride; /* rows that a process sends at once; numbers it sends */
    double *piece;         /* size x stride: quota x p, then quota targets */
    int64_t *mine, *of;    /* quota: rows of this process; size: rows of each so far */
} sgfsi_exchange;

/* For batches of n rows at most; visit: whose pages they are. */
sgfs_status sgfsi_exchange_open(sgfsi_exchange *x, const sgfs_data *d, const sgfsi_comm *comm,
                                int64_t n, sgfsi_pages *visit, sgfsi_arena *arena, sgfs_err *err);
/* x: n x p, y: n. Collective. */
sgfs_status sgfsi_exchange_rows(sgfsi_exchange *x, const int64_t *row, int64_t n, double *to,
                                double *y, sgfs_err *err);
/* Those of n rows that are this process's, to `mine` (n); returns how many. */
int64_t sgfsi_exchange_mine(const sgfsi_exchange *x, const int64_t *row, int64_t n, int64_t *mine);
