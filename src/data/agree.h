/* SPDX-License-Identifier: MIT
 * agree.h: are the columns of two files the same? For several files that are one data set.
 */
#ifndef SGFSI_AGREE_H
#define SGFSI_AGREE_H

#include "data/table.h"

enum { SGFSI_Y = -1 }; /* in place of a column: the target is table->y */

/* The columns of a file that are wanted, in its order; y last where it is an array of its own. */
typedef struct sgfsi_shape {
    const char *path;         /* for messages; borrowed, as is the table */
    const sgfsi_table *table; /* only what it says of columns */
    int64_t wanted;
    int64_t *col; /* wanted: column of the table, or SGFSI_Y; malloc'ed */
} sgfsi_shape;

sgfs_status sgfsi_shape_of(sgfsi_shape *shape, const char *path, const sgfsi_table *table,
                           sgfs_err *err);
void sgfsi_shape_free(sgfsi_shape *shape); /* safe on a zeroed value */
const char *sgfsi_shape_name(const sgfsi_shape *shape, int64_t k);
sgfsi_role sgfsi_shape_role(const sgfsi_shape *shape, int64_t k);
/* The words so far; NULL: numbers. */
const sgfsi_dictionary *sgfsi_shape_words(const sgfsi_shape *shape, int64_t k);

/* from[k]: which of next's wanted columns is the first file's k-th. By name where both have names,
 * by place where neither has; SGFS_EDATA says how next differs. */
sgfs_status sgfsi_shape_match(const sgfsi_shape *first, const sgfsi_shape *next, int64_t *from,
                              sgfs_err *err);
/* Columns of words must be columns of words in both, */
sgfs_status sgfsi_shape_match_words(const sgfsi_shape *first, const sgfsi_shape *next,
                                    const int64_t *from, sgfs_err *err);
/* and the transforms that made the files the same. */
sgfs_status sgfsi_shape_match_recipe(const sgfsi_shape *first, const sgfsi_shape *next,
                                     sgfs_err *err);

#endif
