/* SPDX-License-Identifier: MIT
 * alias.h: rows drawn in proportion to their weights, at the cost of one random word each.
 */
#pragma once

#include <string.h>

#include "base/arena.h"
#include "base/err.h"

/* 13 bytes, without a gap: a table of millions of rows is most of what exact draws keep. */
typedef struct sgfsi_alias_cell {
    unsigned char stay[8];         /* the cell's row is taken for fractions below stay / 2^64, */
    unsigned char other[4], above; /* and other + 2^32 above for the others: one of 2^40 rows */
} sgfsi_alias_cell;

static inline uint64_t sgfsi_alias_stay(const sgfsi_alias_cell *cell) {
    uint64_t stay;
    memcpy(&stay, cell->stay, sizeof stay);
    return stay;
}

static inline int64_t sgfsi_alias_other(const sgfsi_alias_cell *cell) {
    uint32_t low;
    memcpy(&low, cell->other, sizeof low);
    return (int64_t)((uint64_t)cell->above << 32 | low);
}

typedef struct sgfsi_alias {
    int64_t N; /* 0: not opened */
    sgfsi_alias_cell *cell;
} sgfsi_alias;

/* N: below 2^40. weight: N numbers >= 0 whose sum is `total`, finite and above 0. */
sgfs_status sgfsi_alias_open(sgfsi_alias *alias, int64_t N, const double *weight, double total,
                             sgfsi_arena *arena, sgfs_err *err);
/* The row that 64 random bits stand for. */
int64_t sgfsi_alias_row(const sgfsi_alias *alias, uint64_t word);
/* What sgfsi_alias_row will look at is brought near, without waiting. */
void sgfsi_alias_fetch(const sgfsi_alias *alias, uint64_t word);
