/* SPDX-License-Identifier: MIT
 * transform.h: what happens to rows between the file and the model.
 *
 *     columns of the file -> operations, in the order in which they were given -> columns of the data
 *
 * An operation keeps some rows (--keep-classes, --limit, --split) or changes the features
 * (--categorical, --drop, --log1p, --project, --standardize). Target, weights and exposure pass
 * through. Some operations have to look at rows before they can work: standardising needs means,
 * a column of words all its words. Each of them is one pass over the rows, in order, and sees what
 * the operations before it make of rows of the training part, whichever part is read.
 *
 *     new; for k < looks: {rewind; look(k, block)...; looked(k)}; rewind; {run(block)}...
 *
 * The same operations on a table in memory: sgfsi_recipe_table. On new rows for an old run, column
 * operations only: sgfsi_recipe_columns.
 */
#ifndef SGFSI_TRANSFORM_H
#define SGFSI_TRANSFORM_H

#include "base/json.h"
#include "data/table.h"

typedef struct sgfsi_recipe sgfsi_recipe;

/* What cfg asks for, on rows with the columns of head (names, roles, dictionaries, levels; borrowed,
 * dictionaries may grow until the last look). keep_last: a --standardize that comes last is part of
 * the recipe; else it is left to the design, which undoes it in the draws.
 * SGFS_EUSAGE for columns that are not there, shares that make no sense. */
sgfs_status sgfsi_recipe_new(sgfsi_recipe **r, const sgfs_config *cfg, const sgfsi_table *head,
                             bool keep_last, sgfs_err *err);
void sgfsi_recipe_free(sgfsi_recipe *r); /* takes NULL */
bool sgfsi_recipe_is_empty(const sgfsi_recipe *r);

/* ---- in blocks: rows in file order, n x head->cols ------------------------------------------- */

int64_t sgfsi_recipe_looks(const sgfsi_recipe *r); /* passes needed before run */
void sgfsi_recipe_rewind(sgfsi_recipe *r);         /* the next block starts with the first row */
sgfs_status sgfsi_recipe_look(sgfsi_recipe *r, int64_t k, int64_t n, const double *cells,
                              sgfs_err *err);
sgfs_status sgfsi_recipe_looked(sgfsi_recipe *r, int64_t k, sgfs_err *err);
/* The columns that come out: names, roles, named, levels; after the last look. Borrowed. */
const sgfsi_table *sgfsi_recipe_head(const sgfsi_recipe *r);
/* Rows that stay, changed: *kept x (columns that come out), in out (room for n rows). *done: no later
 * row will stay (--limit). */
sgfs_status sgfsi_recipe_run(sgfsi_recipe *r, int64_t n, const double *cells, double *out,
                             int64_t *kept, bool *done, sgfs_err *err);

/* ---- on a table ------------------------------------------------------------------------------ */

/* The table with all of the above done. Where rows only are left out the table stays as it is and
 * *subset (malloc'ed, *rows of them) lists those that stay; *subset is NULL where all do. Where
 * columns change, the table is replaced by one in memory; SGFS_ENOMEM with a sentence about `sgfs
 * pack` where there is not enough of it. Sparse tables stay sparse but for --project and centring.
 */
sgfs_status sgfsi_recipe_table(sgfsi_recipe *r, sgfsi_table *table, int64_t **subset, int64_t *rows,
                               sgfs_err *err);

/* ---- for later ------------------------------------------------------------------------------- */

/* An array of operations with all that was learnt from rows: {"op": "log1p", "columns": [...]}. */
sgfsi_json *sgfsi_recipe_describe(const sgfsi_recipe *r);
/* The column operations of such an array again. *features, *feature: the columns it starts from
 * (borrowed from the recipe). SGFS_ERUNFILE where it makes no sense. */
sgfs_status sgfsi_recipe_recall(sgfsi_recipe **r, const sgfsi_json *told, sgfs_err *err);
int64_t sgfsi_recipe_inputs(const sgfsi_recipe *r, const char *const **name);
int64_t sgfsi_recipe_outputs(const sgfsi_recipe *r, const char *const **name);
/* n rows: in (n x inputs) to out (rows of `stride`). Words are numbers by the recipe's own
 * dictionaries: sgfsi_recipe_words says which they are for an input column (NULL: numbers). */
sgfs_status sgfsi_recipe_columns(const sgfsi_recipe *r, int64_t n, const double *in, double *out,
                                 int64_t stride, sgfs_err *err);
const sgfsi_dictionary *sgfsi_recipe_words(const sgfsi_recipe *r, int64_t input);

#endif
