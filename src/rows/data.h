/* SPDX-License-Identifier: MIT
 * data.h: the design: which columns of a table are features, which one is the target, and how a row
 * becomes numbers for the model.
 *
 *     file -> reader (table.h) -> design (here) -> gather, rows (rows.h) -> sgfs_batch
 *
 * Storage keeps the file's own type (f64, f32, integers, sparse doubles); gathering converts,
 * standardises and puts the intercept in front, so that every model sees one kind of row: double,
 * row-major, n x p (or, where it asks for them, the sparse rows).
 */
#ifndef SGFSI_DATA_H
#define SGFSI_DATA_H

#include "base/arena.h"
#include "base/json.h"
#include "rows/alias.h"
#include "rows/table.h"

typedef struct sgfsi_column {
    char *name;
    /* Over all rows, each counting by its weight; sd^2 = sum w (x - mean)^2 / W  N'/(N' - 1), N'
     * the rows of positive weight: without weights the usual divisor N - 1. */
    double mean, sd, min, max;
} sgfsi_column;

/* Neighbouring table columns that are neighbouring features too. */
typedef struct sgfsi_column_span {
    int64_t first, count;
} sgfsi_column_span;

struct sgfs_data {
    sgfsi_arena arena;
    sgfs_config *cfg;     /* as it was when the data were opened */
    sgfsi_json *warnings; /* sentences for the summary */
    sgfsi_table table;
    char *path;             /* "a.csv", "part-*.csv (3 files)", "standard input" or "(arrays)" */
    int64_t files;          /* 0: arrays */
    char **file;            /* files: what they are called */
    int64_t N, p, features; /* p = features + intercept */
    double total;           /* N, or the sum of the rows' weights */
    const double *weight;   /* by row of the table: how often it counts; NULL: once */
    const double *offset;   /* by row of the table: log exposure; NULL: 0 */
    const char *weight_name, *exposure_name;
    sgfsi_alias alias; /* with weights: draws from the N rows in proportion to them */
    int64_t row_bytes; /* from one row of the table to the next */
    bool intercept;
    sgfsi_column *feature; /* features */
    sgfsi_column_span *span;
    int64_t spans;
    double *shift, *scale; /* features; NULL: rows are taken as they are */
    bool has_target;
    sgfsi_column target;
    int64_t target_col;    /* table column, or -1: y is an array of its own */
    const double *y;       /* N, borrowed, when target_col is -1 */
    const int64_t *subset; /* N rows of the table that are the data; NULL: all of them, in order */
    int64_t *kept;         /* the same, malloc'ed, where transforms left rows out */
    sgfsi_json *recipe;    /* how the columns came about (transform.h); NULL: as in the file */
    const char *brief;     /* the same in a few words, of what was done here; NULL: nothing */
    bool view;             /* the table, kept and recipe belong to another */
};

extern const sgfs_option sgfsi_data_options[];

/* Rows row[0..n) of `whole` (copied) as data of their own over the same table, which must outlive
 * them. Every statistic is of these rows alone, and with it the centring and scaling of
 * --standardize: nothing of the other rows leaks in. */
sgfs_data *sgfsi_data_view(const sgfs_data *whole, const int64_t *row, int64_t n, sgfs_err *err);
/* The same rows as they stand in the table, not standardised. Borrows all from d: not freed. */
sgfs_data sgfsi_data_unscaled(const sgfs_data *d);

/* The weights and exposure (arrays by row, or NULL) or the columns that hold them; */
sgfs_status sgfsi_data_extras(sgfs_data *d, const double *weights, const double *exposure,
                              sgfs_err *err);
/* d->total and d->alias of the rows d has; and a note where the total is not their number. */
sgfs_status sgfsi_data_weigh(sgfs_data *d, sgfs_err *err);
void sgfsi_data_tell_weights(const sgfs_data *d, const sgfsi_log *log);
/* Weights of rows first .. first+n-1; 1 without weights. */
void sgfsi_data_weights(const sgfs_data *d, int64_t first, int64_t n, double *weight);

/* Fill in the statistics of every column; refuses cells that are not finite. */
sgfs_status sgfsi_data_measure(sgfs_data *d, const sgfsi_log *log, sgfs_err *err);
/* Rows first .. first+n-1 in order: x n x p, y n (either may be NULL). */
void sgfsi_data_rows_range(const sgfs_data *d, int64_t first, int64_t n, double *x, double *y);
/* Rows row[0..n-1] in any order. */
void sgfsi_data_rows_pick(const sgfs_data *d, const int64_t *row, int64_t n, double *x, double *y);
/* Rows row[0..n-1] of the table, whatever rows d has, treated as rows of d are. */
void sgfsi_data_rows_table(const sgfs_data *d, const int64_t *row, int64_t n, double *x, double *y);
/* n rows of the data that stand for all of them: evenly spaced, and where the order is random,
 * neighbours together, so that few pages are read. n <= d->N. */
void sgfsi_data_fair(const sgfs_data *d, int64_t n, int64_t *row);
/* Up to `most` distinct target values in increasing order; returns how many (most + 1: more). */
int64_t sgfsi_data_target_values(const sgfs_data *d, int64_t most, double *value);
/* The file in whose line table.text_line the target holds text. */
const char *sgfsi_data_text_file(const sgfs_data *d);
/* What the run file's header says of the data. */
sgfsi_json *sgfsi_data_describe(const sgfs_data *d);
/* The same data again from that, without rows and without a target; scaled: standardised where they
 * were, else not. SGFS_ERUNFILE where something needed is not said. */
sgfs_data *sgfsi_data_recall(const sgfsi_json *told, bool scaled, const sgfs_config *cfg,
                             sgfs_err *err);
/* Say that rows to come have a target: text, if it has levels, of which level[k] is read as k. */
sgfs_status sgfsi_data_recall_target(sgfs_data *d, int64_t levels, const char *const *level,
                                     sgfs_err *err);

#endif
