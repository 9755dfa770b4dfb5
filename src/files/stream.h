/* SPDX-License-Identifier: MIT
 * stream.h: rows of a new file for a run that is there already, a block at a time.
 *
 *     file -> csv.c, a flow or a mapped table -> match.c: the columns the run read, in its order
 *          -> rows that count -> the run's transforms -> x, y
 *
 * Text is never held whole: memory is one block of rows, whatever the file's length. Mapped arrays
 * stay in the file.
 */
#ifndef SGFSI_STREAM_H
#define SGFSI_STREAM_H

#include "base/json.h"
#include "files/reader.h"

/* What the run was made with. All borrowed; where the run's columns had no names those made up (x1,
 * x2, ...) stand for places in the file. */
typedef struct sgfsi_wanted {
    int64_t features;
    const char *const *feature; /* features, in the run's order */
    bool named;                 /* the run's file said what its columns are called */
    const char *target;         /* NULL: not wanted. A name, else a 1-based number */
    bool target_needed;         /* a file without it is an error; else it has no targets */
    const char *exposure;       /* NULL: none */
    const char *weights;        /* a column that is known and not needed; NULL: none */
    int64_t levels;             /* texts of the target; 0: it is numbers */
    const char *const *level;   /* levels: cell level[k] is read as k */
    const sgfsi_json *recipe; /* how the features came about (transform.h); NULL: as in the file */
    bool zero_words;          /* a word the run does not know has 0 in all its columns */
    const char *part;         /* of the run's --split; NULL: all rows */
    int64_t limit;            /* rows at most; 0: all */
    int64_t before;           /* rows of the files before this one, which --part counts too */
} sgfsi_wanted;

/* ---- match.c --------------------------------------------------------------------------------- */

/* The columns of a file. */
typedef struct sgfsi_named_columns {
    const char *path;
    int64_t cols;
    char *const *names;
    bool named; /* by a header; else by their place, whatever names says */
} sgfsi_named_columns;

/* Where each is found: column of the file, from 0; -1: not there (target, exposure). */
typedef struct sgfsi_found {
    int64_t *feature; /* asked->features; room of the caller's */
    int64_t target, exposure;
} sgfsi_found;

/* SGFS_EDATA names the columns that are missing, with the nearest names there are. Columns the run
 * does not know are a note. */
sgfs_status sgfsi_match_columns(const sgfsi_named_columns *file, const sgfsi_wanted *asked,
                                const sgfsi_log *log, sgfsi_found *found, sgfs_err *err);

/* ---- stream.c -------------------------------------------------------------------------------- */

typedef struct sgfsi_incoming sgfsi_incoming;

/* Only delimiter, header, labels, zero_based (of a libsvm file) and log of the options are looked
 * at. path is copied. */
sgfs_status sgfsi_incoming_open(sgfsi_incoming **rows, const char *path, const sgfsi_wanted *asked,
                                const sgfsi_read_options *options, sgfs_err *err);
bool sgfsi_incoming_have_target(const sgfsi_incoming *rows);
const char *
sgfsi_incoming_target_name(const sgfsi_incoming *rows); /* in the file; "" without one */

/* Room for what the next rows hold. */
typedef struct sgfsi_incoming_block {
    int64_t n;        /* rows read */
    int64_t stride;   /* from one row of x to the next */
    double *x;        /* most x features, in rows of stride */
    double *y;        /* most; not touched where there is no target */
    double *exposure; /* most; not touched where there is none */
} sgfsi_incoming_block;
/* The next rows, at most `most`; block->n is 0 at the end. Every number is finite. Rows of classes
 * that the run left out (--keep-classes) are left out, and a note counts them. */
sgfs_status sgfsi_incoming_next(sgfsi_incoming *rows, int64_t most, sgfsi_incoming_block *block,
                                sgfs_err *err);
enum { SGFSI_WHERE = 320 };
/* Where row i of the block read last is, for messages: "test.csv:17", "test.npy: row 17". The line
 * of a text, or else the number of the row. */
int64_t sgfsi_incoming_line(const sgfsi_incoming *rows, int64_t i);
/* Rows read so far; *taken: those of them that were handed over. */
int64_t sgfsi_incoming_rows(const sgfsi_incoming *rows, int64_t *taken);
bool sgfsi_incoming_is_text(const sgfsi_incoming *rows);
/* The text behind a target of `levels` or more, which is none of the run's; NULL: none. */
const char *sgfsi_incoming_level(const sgfsi_incoming *rows, double y);
double sgfsi_incoming_fraction(const sgfsi_incoming *rows); /* of the file, read so far */
void sgfsi_incoming_close(sgfsi_incoming *rows);            /* takes NULL */

#endif
