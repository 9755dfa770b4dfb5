/* SPDX-License-Identifier: MIT
 * alias.h: rows drawn in proportion to their weights, at the cost of one random word each.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

typedef struct sgfsi_alias_cell {
    uint64_t stay; /* the cell's row is taken for fractions below stay / 2^64, */
    int64_t other; /* and this one for the others */
} sgfsi_alias_cell;

typedef struct sgfsi_alias {
    int64_t N; /* 0: not opened */
    sgfsi_alias_cell *cell;
} sgfsi_alias;

/* weight: N numbers >= 0 whose sum is `total`, finite and above 0. */
sgfs_status sgfsi_alias_open(sgfsi_alias *alias, int64_t N, const double *weight, double total,
                             sgfsi_arena *arena, sgfs_err *err);
/* The row that 64 random bits stand for. */
int64_t sgfsi_alias_row(const sgfsi_alias *alias, uint64_t word);
/* What sgfsi_alias_row will look at is brought near, without waiting. */
void sgfsi_alias_fetch(const sgfsi_alias *alias, uint64_t word);
