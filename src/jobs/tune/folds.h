/* SPDX-License-Identifier: MIT
 * folds.h: which rows are held out.
 */
#pragma once

#include "rows/rows.h"

enum { SGFSI_MOST_FOLDS = 100 };

typedef struct sgfsi_folds {
    int64_t N, folds; /* folds to be held out one after the other; 1 for a hold-out set */
    uint64_t seed;
    uint8_t *of;              /* N: the fold of each row; `folds` where it is never held out */
    int64_t *row;             /* N: the rows of the fold at hand, training first */
    int64_t training, hidden; /* how many of each; hidden ones are row[training .. N) */
} sgfsi_folds;

/* Deal the rows out: `folds` of equal size, or (share > 0, folds 1) one set of that share of the
 * rows. A target with few values has them in every fold alike. Depends on seed and rows alone. */
sgfs_status sgfsi_folds_open(sgfsi_folds *f, const sgfs_data *data, int64_t folds, double share,
                             uint64_t seed, sgfsi_arena *arena, sgfs_err *err);
/* Lay out f->row for one fold: training rows in order, then the hidden ones shuffled. */
void sgfsi_folds_pick(sgfsi_folds *f, int64_t fold);
