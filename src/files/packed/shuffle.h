/* SPDX-License-Identifier: MIT
 * shuffle.h: rows in, the same rows out in an order drawn at random, in memory that does not grow
 * with their number.
 *
 *     open; add(rows)...; drain(take); free
 */
#pragma once

#include "base/err.h"

typedef struct sgfsi_shuffle sgfsi_shuffle;

typedef struct sgfsi_shuffle_plan {
    int64_t row_bytes;
    int64_t memory;  /* bytes to get along with; at least sgfsi_shuffle_least */
    uint64_t seed;   /* the order follows from it and the number of rows, and from nothing else */
    int64_t at_once; /* rows in memory at once, fewer than it has room for; 0: as many as fit */
    const char *beside; /* rows beyond memory go to a file without a name in this path's folder */
} sgfsi_shuffle_plan;

/* The least memory that rows of so many bytes can be shuffled in. */
int64_t sgfsi_shuffle_least(int64_t row_bytes);

sgfs_status sgfsi_shuffle_open(sgfsi_shuffle **s, const sgfsi_shuffle_plan *plan, sgfs_err *err);
/* expected: rows there will be in all, as far as anybody knows (0: nobody does). It says how finely
 * rows are divided, not how they come out. SGFS_EIO where the disk has not got so much room. */
sgfs_status sgfsi_shuffle_add(sgfsi_shuffle *s, int64_t n, const void *rows, double expected,
                              sgfs_err *err);
/* Hands every row over, once, after which s is empty. take also comes with n = 0 from time to time
 * while rows are only moved; a status of its own ends the work. */
typedef sgfs_status (*sgfsi_shuffle_take)(void *user, int64_t n, const void *rows, sgfs_err *err);
sgfs_status sgfsi_shuffle_drain(sgfsi_shuffle *s, sgfsi_shuffle_take take, void *user,
                                sgfs_err *err);
double sgfsi_shuffle_spilled(const sgfsi_shuffle *s); /* bytes written to disk so far */
void sgfsi_shuffle_free(sgfsi_shuffle *s);            /* takes NULL */
