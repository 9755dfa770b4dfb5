/* SPDX-License-Identifier: MIT
 * transform.h: what happens to rows between the file and the model.
 *
 *     columns of the file -> operations, in the order given -> columns of the data
 *
 * An operation keeps some rows (--na, --keep-classes, --limit, --split) or changes the features
 * (--amount, --date, --categorical, --na, --drop, --log1p, --project, --standardize). Target,
 * weights and exposure pass through. Some operations have to look at rows before they can work:
 * standardising needs means, a column of words all its words. Each of them is one pass over the
 * rows, in order, and sees what the operations before it make of rows of the training part,
 * whichever part is read.
 *
 *     new; for k < looks: {rewind; look(k, block)...; looked(k)}; rewind; {run(block)}...; finish
 *
 * The same operations on a table in memory: sgfsi_recipe_table. On new rows for an old run, column
 * operations only: sgfsi_recipe_columns.
 */
#pragma once

#include "base/json.h"
#include "files/reader.h"

typedef struct sgfsi_recipe sgfsi_recipe;

/* What cfg asks for, on rows with the columns of head (names, roles, dictionaries, levels;
 * borrowed, dictionaries may grow until the last look). keep_last: a --standardize that comes
 * last is part of the recipe; else it is left to the design, which undoes it in the draws.
 * SGFS_EUSAGE for columns that are not there, shares that make no sense. */
sgfs_status sgfsi_recipe_new(sgfsi_recipe **r, const sgfs_config *cfg, const sgfsi_table *head,
                             bool keep_last, sgfs_err *err);
void sgfsi_recipe_free(sgfsi_recipe *r); /* takes NULL */
bool sgfsi_recipe_is_empty(const sgfsi_recipe *r);
bool sgfsi_recipe_selects(const sgfsi_recipe *r); /* cells stay as they are, where they stay */

/* ---- in blocks: rows in file order, n x head->cols ------------------------------------------- */

int64_t sgfsi_recipe_looks(const sgfsi_recipe *r); /* passes needed before run */
void sgfsi_recipe_rewind(sgfsi_recipe *r);         /* the next block starts with the first row */
sgfs_status sgfsi_recipe_look(sgfsi_recipe *r, int64_t k, int64_t n, const double *cells,
                              sgfs_err *err);
sgfs_status sgfsi_recipe_looked(sgfsi_recipe *r, int64_t k, sgfs_err *err);
/* The columns that come out: names, roles, named, levels; after the last look. Borrowed. */
const sgfsi_table *sgfsi_recipe_head(const sgfsi_recipe *r);
/* Rows that stay, changed: *kept x (columns that come out), in out (room for n rows). *done: no
 * later row will stay (--limit). */
sgfs_status sgfsi_recipe_run(sgfsi_recipe *r, int64_t n, const double *cells, double *out,
                             int64_t *kept, bool *done, sgfs_err *err);

/* After the last block: SGFS_EDATA where a class of --keep-classes has no rows. */
sgfs_status sgfsi_recipe_finish(const sgfsi_recipe *r, sgfs_err *err);

/* Errors name the row and the column; the caller knows the file, and puts it in front. */

/* ---- on a table ------------------------------------------------------------------------------ */

/* By row of the table, what is no column of it; NULL: it is, or there is none. */
typedef struct sgfsi_beside {
    const double *y, *weights, *exposure;
} sgfsi_beside;

typedef struct sgfsi_transformed {
    int64_t *row; /* rows that stay, malloc'ed; NULL: all do */
    int64_t rows;
    bool copied; /* the table has these rows only now; else it has its old rows */
    /* Columns of the table that its rows, sparse now, have no room for; by row of the table,
     * malloc'ed. The names live as long as the recipe. */
    double *weights, *exposure;
    const char *weights_name, *exposure_name;
} sgfsi_transformed;

/* The table (the head it was made with) with all of the above done. Where rows only are left out,
 * or columns dropped, or the table is sparse and stays so, it keeps its rows and *done lists those
 * that are used. Else it is replaced by one in memory (f64, or f32 where single); SGFS_ENOMEM with
 * a sentence about `sgfs pack` where there is not enough of it. Sparse tables stay sparse but for
 * --project and centring; tables with columns of many words become sparse. */
sgfs_status sgfsi_recipe_table(sgfsi_recipe *r, sgfsi_table *table, const sgfsi_beside *beside,
                               bool single, sgfsi_transformed *done, sgfs_err *err);
/* Does --standardize scale columns of zeros and ones, too? */
bool sgfsi_standard_all(const sgfs_config *cfg);
/* Is a --standardize left to the design? shift, scale: by feature that comes out, where the rows in
 * use are not those of the training part; else NULL, and the design's own do. */
bool sgfsi_recipe_leaves(const sgfsi_recipe *r, const double **shift, const double **scale);

/* ---- for later ------------------------------------------------------------------------------- */

/* An array of operations with all that was learnt from rows: {"op": "log1p", "columns": [...]}. It
 * begins with the columns that went in, {"op": "columns", "named": true, "names": [...]}. Where the
 * table was made by transforms itself (before: its table.recipe, else NULL) the whole story is that
 * array, followed by this one: each begins with its columns. */
sgfsi_json *sgfsi_recipe_describe(const sgfsi_recipe *r, const sgfsi_json *before);
/* "keep-classes 7,9; limit 10000; project 50" */
void sgfsi_recipe_brief(const sgfsi_recipe *r, char *out, size_t room);
/* The operations of such an array again, but for the first `done` elements, whose work is done.
 * SGFS_ERUNFILE where it makes no sense. */
sgfs_status sgfsi_recipe_recall(sgfsi_recipe **r, const sgfsi_json *saved, int64_t done,
                                sgfs_err *err);
/* How many elements of saved (a run's; NULL: none) were done to the columns of a file already,
 * which tells its own: done (NULL: nothing). -1: something else was done to it. */
int64_t sgfsi_recipe_done(const sgfsi_json *saved, const sgfsi_json *done);

/* The --na that a saved array was made with; NULL: none. */
sgfsi_na sgfsi_recipe_na(const sgfsi_json *saved);

/* The columns a recalled recipe needs, and those it makes. Borrowed. */
int64_t sgfsi_recipe_inputs(const sgfsi_recipe *r, const char *const **name);
int64_t sgfsi_recipe_outputs(const sgfsi_recipe *r, const char *const **name);
bool sgfsi_recipe_named(const sgfsi_recipe *r); /* inputs are known by name, not by place */
/* n rows: in (n x inputs) to out (rows of `stride`). Words are numbers by the recipe's own
 * dictionaries: sgfsi_recipe_words says which they are for an input column (NULL: numbers).
 * *bad: the row of the block that is to blame. */
sgfs_status sgfsi_recipe_columns(const sgfsi_recipe *r, int64_t n, const double *in, double *out,
                                 int64_t stride, int64_t *bad, sgfs_err *err);
const sgfsi_dictionary *sgfsi_recipe_words(const sgfsi_recipe *r, int64_t input);
/* Were the cells of an input column amounts (text/amount.h)? */
bool sgfsi_recipe_amounts(const sgfsi_recipe *r, int64_t input);
/* Are the numbers of an input column dates, in hours (text/date.h)? */
bool sgfsi_recipe_dates(const sgfsi_recipe *r, int64_t input);
/* Of such a column: the word that its columns of 0 and 1 leave out; NULL: none. */
const char *sgfsi_recipe_reference(const sgfsi_recipe *r, int64_t input);
/* From now on a word that is none of them has 0 in all its columns; SGFS_EUSAGE with integers. */
sgfs_status sgfsi_recipe_zero_words(sgfsi_recipe *r, sgfs_err *err);

/* The choice of rows by a recalled recipe, of which new rows take part: --keep-classes always (by
 * the text of the target, or by its number where text is NULL), --split where the user asks for
 * one. */
bool sgfsi_recipe_keeps_class(const sgfsi_recipe *r, double y, const char *text);
bool sgfsi_recipe_chooses_classes(const sgfsi_recipe *r);
/* part: "train", "validation", "test". SGFS_EUSAGE where the run had no such part. */
sgfs_status sgfsi_recipe_use_part(sgfsi_recipe *r, const char *part, sgfs_err *err);
bool sgfsi_recipe_in_part(const sgfsi_recipe *r, int64_t row); /* of the file, from 0 */
