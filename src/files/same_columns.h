/* SPDX-License-Identifier: MIT
 * same_columns.h: are the columns of two files the same? For several files that are one data set.
 */
#pragma once

#include "rows/table.h"

/* The columns of a file that are wanted, in its order. */
typedef struct sgfsi_file_columns {
    const char *path;         /* for messages; borrowed, as is the table */
    const sgfsi_table *table; /* only what it says of columns */
    int64_t wanted;
    int64_t *col; /* wanted: column of the table; malloc'ed */
} sgfsi_file_columns;

sgfs_status sgfsi_file_columns_of(sgfsi_file_columns *shape, const char *path,
                                  const sgfsi_table *table, sgfs_err *err);
void sgfsi_file_columns_free(sgfsi_file_columns *shape); /* safe on a zeroed value */
const char *sgfsi_file_columns_name(const sgfsi_file_columns *shape, int64_t k);
sgfsi_role sgfsi_file_columns_role(const sgfsi_file_columns *shape, int64_t k);
/* The words so far; NULL: numbers. */
const sgfsi_dictionary *sgfsi_file_columns_words(const sgfsi_file_columns *shape, int64_t k);

/* from[k]: which of next's wanted columns is the first file's k-th. By name where both have names,
 * by place where neither has; SGFS_EDATA says how next differs. */
sgfs_status sgfsi_file_columns_match(const sgfsi_file_columns *first,
                                     const sgfsi_file_columns *next, int64_t *from, sgfs_err *err);
/* The targets of one file are numbers, and those of another texts, of which one is shown. */
sgfs_status sgfsi_fail_targets(const char *numbers, const char *texts, const char *text,
                               sgfs_err *err);
/* The transforms that made the files have to be the same. */
sgfs_status sgfsi_file_columns_match_recipe(const sgfsi_file_columns *first,
                                            const sgfsi_file_columns *next, sgfs_err *err);
