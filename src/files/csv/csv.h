/* SPDX-License-Identifier: MIT
 * csv.h: what the parts of the CSV reader share: csv_sniff.c finds out how a file is written,
 * csv_rows.c reads the cells of a piece of it, csv.c cuts it into pieces and puts their rows
 * together.
 */
#ifndef SGFSI_CSV_H
#define SGFSI_CSV_H

#include "files/text/lines.h"
#include "files/reader.h"

typedef struct sgfsi_csv_format {
    char delimiter;     /* ' ' : runs of blanks and tabs */
    bool header;        /* the first record holds names */
    int64_t first_line; /* line number of the first record */
    int64_t cols;
    char **names; /* cols; from the header, or x1, x2, ...; free with sgfsi_names_free */
} sgfsi_csv_format;

sgfs_status sgfsi_csv_sniff(const char *path, const sgfsi_read_options *options,
                            sgfsi_csv_format *format, sgfs_err *err);

typedef enum sgfsi_cell_kind {
    SGFSI_CELL_NUMBER,  /* finite */
    SGFSI_CELL_MISSING, /* empty, NA, N/A, NaN, infinite */
    SGFSI_CELL_PERHAPS, /* none, null, ?, ., -, #N/A: missing among numbers, a word among words */
    SGFSI_CELL_COMMA,   /* 1,5 */
    SGFSI_CELL_TEXT
} sgfsi_cell_kind;
/* What a cell holds; *x is the number where it is one. */
sgfsi_cell_kind sgfsi_cell_classify(const sgfsi_cell *cell, double *x);

/* ---- a few rows at a time (stream.h) --------------------------------------------------------- */

typedef struct sgfsi_csv sgfsi_csv;

/* Find out how the file is written. path and options are borrowed. */
sgfs_status sgfsi_csv_open(sgfsi_csv **c, const char *path, const sgfsi_read_options *options,
                           sgfs_err *err);
const sgfsi_csv_format *sgfsi_csv_format_of(const sgfsi_csv *c);
/* Which columns are wanted: role[cols], values of sgfsi_role. levels > 0: the target is text, and
 * level[k] is read as k; a text that is none of them gets a number of its own, from `levels` on.
 * The same for features whose known[col] (one for each column of the file; NULL: all are numbers)
 * has words: known[col].word[k] is read as k, another word as a number from count on. */
sgfs_status sgfsi_csv_start(sgfsi_csv *c, const unsigned char *role, int64_t levels,
                            const char *const *level, const sgfsi_dictionary *known, sgfs_err *err);
/* Up to `most` rows: *cells is n x (columns wanted), in file order, valid until the next call;
 * line[n]: where each starts. *n is 0 at the end. Missing cells are SGFS_EDATA, after a look at all
 * the rest of the file, so that the sentence counts them. */
sgfs_status sgfsi_csv_next(sgfsi_csv *c, int64_t most, int64_t *n, const double **cells,
                           int64_t *line, sgfs_err *err);
/* The text behind a number of the target, or of column col of the file, where it holds words; NULL:
 * there is none. */
const char *sgfsi_csv_level(const sgfsi_csv *c, int64_t level);
const char *sgfsi_csv_word(const sgfsi_csv *c, int64_t col, int64_t number);
double sgfsi_csv_fraction(const sgfsi_csv *c); /* how much of the file has been taken */
void sgfsi_csv_close(sgfsi_csv *c);            /* takes NULL */

#endif
