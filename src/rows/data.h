/* SPDX-License-Identifier: MIT
 * data.h: the design: which columns of a table are features, which one is the target, and how a row
 * becomes numbers for the model. What the engine asks of data is in rows.h.
 *
 *     file -> reader (table.h) -> design (here) -> gather, rows (rows.h) -> sgfs_batch
 *
 * Storage keeps the file's own type (f64, f32, integers, sparse doubles); gathering converts,
 * standardises and puts the intercept in front, so that every model sees one kind of row: double,
 * row-major, n x p (or, where it asks for them, the sparse rows).
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "rows/alias.h"
#include "rows/table.h"

typedef struct sgfsi_column {
    char *name;
    /* Over all rows, each counting by its weight; sd^2 = sum w (x - mean)^2 / W  N'/(N' - 1), N'
     * the rows of positive weight: without weights the usual divisor N - 1. */
    double mean, sd, min, max;
    bool binary; /* a column of zeros and ones */
    bool full;   /* every row has its number: centring fills up nothing */
} sgfsi_column;

struct sgfs_data {
    sgfsi_arena arena;
    sgfs_config *cfg;     /* as it was when the data were opened */
    sgfsi_json *warnings; /* sentences for the summary */
    char *path;           /* "a.csv", "part-*.csv (3 files)", "standard input" or "(arrays)" */
    int64_t files;        /* 0: arrays */
    char **file;          /* files: what they are called */
    struct sgfsi_fingerprint *print; /* files: what they were when they were read; NULL: arrays */
    uint32_t arrays_crc; /* of arrays: what they were when they were handed over (fingerprint.c) */
    int64_t N, p, features; /* p = features + intercept */
    double total;           /* N, or the sum of the rows' weights */
    bool intercept;
    sgfsi_column *feature; /* features */
    double *shift, *scale; /* features; NULL: rows are taken as they are */
    bool scales_binary;    /* where scaled: columns of zeros and ones are so, too */
    bool target_guessed;   /* nobody named it: it is the last column */
    bool scaled_for_prior; /* nobody asked for the scale: a model made it for its default prior */
    bool has_target;
    sgfsi_column target;
    const char *weight_name, *exposure_name;
    sgfsi_json *recipe; /* how the columns came about (transform.h); NULL: as in the file */
    const char *brief;  /* the same in a few words, of what was done here; NULL: nothing */
    /* Where the rows are. Nobody but src/rows and src/files looks at what follows. */
    sgfsi_table table;
    int64_t row_bytes; /* from one row of the table to the next */
    sgfsi_column_span *span;
    int64_t spans;
    int64_t target_col;    /* table column, or -1: y is an array of its own */
    const double *y;       /* N, borrowed, when target_col is -1 */
    const int64_t *subset; /* N rows of the table that are the data; NULL: all of them, in order */
    int64_t *kept;         /* the same, malloc'ed, where transforms left rows out */
    const double *weight;  /* by row of the table: how often it counts; NULL: once */
    const double *offset;  /* by row of the table: log exposure; NULL: 0 */
    const struct sgfsi_groups *groups; /* that rows belong to (groups.h); NULL: none */
    sgfsi_alias alias; /* with weights: draws from the N rows in proportion to them */
    bool view;         /* the table, kept and recipe belong to another */
    /* The rows are not here (elsewhere.h): there is nothing to gather. NULL: they are. */
    const struct sgfsi_elsewhere *elsewhere;
};

extern const sgfs_option sgfsi_data_options[];

/* ---- for those who make data, src/files ------------------------------------------------------ */

/* All rows of a table, without features, column `target` being the target (-1: none). It borrows
 * the table, and is not freed. */
sgfs_data sgfsi_data_over(const sgfsi_table *table, int64_t target);
/* The next feature is that column of the table. d->span has room for it. */
void sgfsi_data_add_feature(sgfs_data *d, int64_t col);
/* Column j of the table as doubles, of all its rows. */
sgfs_status sgfsi_data_read_column(const sgfs_data *d, int64_t j, double *out, sgfs_err *err);
/* The weights and exposure (arrays by row, or NULL) or the columns that hold them; */
sgfs_status sgfsi_data_extras(sgfs_data *d, const double *weights, const double *exposure,
                              sgfs_err *err);
/* d->total and d->alias of the rows d has; and a note where the total is not their number. */
sgfs_status sgfsi_data_weigh(sgfs_data *d, sgfs_err *err);
void sgfsi_data_tell_weights(const sgfs_data *d, const sgfsi_log *log);
/* Fill in the statistics of every column; refuses cells that are not finite. */
sgfs_status sgfsi_data_measure(sgfs_data *d, const sgfsi_log *log, sgfs_err *err);
/* Warn of numbers such as -999 that seem to stand for missing values (codes.c). */
sgfs_status sgfsi_data_warn_codes(sgfs_data *d, const sgfsi_log *log, sgfs_err *err);
/* Warn of columns that follow from others (dependence.c). Before the next one. */
sgfs_status sgfsi_data_warn_dependence(sgfs_data *d, const sgfsi_log *log, sgfs_err *err);
/* Centre and scale the columns; by shift and scale, where those of other rows are to be used,
 * else by their own statistics (NULL). Columns of zeros and ones are scaled if d->scales_binary
 * says so. */
sgfs_status sgfsi_data_standardize(sgfs_data *d, const double *shift, const double *scale,
                                   sgfs_err *err);
/* Data from what a header says of them (sgfsi_data_describe), without rows and without a target;
 * scaled: standardised where they were, else not. SGFS_ERUNFILE where something needed is not
 * said. */
sgfs_data *sgfsi_data_recall(const sgfsi_json *said, bool scaled, const sgfs_config *cfg,
                             sgfs_err *err);
/* Say that rows to come have a target: text, if it has levels, of which level[k] is read as k. */
sgfs_status sgfsi_data_recall_target(sgfs_data *d, int64_t levels, const char *const *level,
                                     sgfs_err *err);
