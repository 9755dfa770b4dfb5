/* SPDX-License-Identifier: MIT
 * csv.h: what the parts of the CSV reader share: csv_sniff.c finds out how a file is written,
 * csv_rows.c reads the cells of a part of it, csv.c cuts it into parts and puts their rows
 * together.
 */
#pragma once

#include "files/reader.h"
#include "files/text/lines.h"

typedef struct sgfsi_csv_format {
    char delimiter;     /* ' ' : runs of blanks and tabs */
    bool header;        /* the first record holds names */
    int64_t first_line; /* line number of the first record */
    bool numbered;      /* the first column has no name, and numbers the rows */
    bool decimal_comma; /* 1,5 is one and a half, and a point is in no number */
    int64_t cols;
    char **names; /* cols; from the header, or x1, x2, ...; free with sgfsi_names_free */
    char **first; /* cols: the cells of the first record, where that is no header; or NULL */
} sgfsi_csv_format;

sgfs_status sgfsi_csv_sniff(const char *path, const sgfsi_read_options *options,
                            sgfsi_csv_format *format, sgfs_err *err);

typedef enum sgfsi_cell_kind {
    SGFSI_CELL_NUMBER,   /* finite */
    SGFSI_CELL_MISSING,  /* empty, NA, N/A, NaN */
    SGFSI_CELL_INFINITE, /* a number, but beyond all that can be used */
    SGFSI_CELL_PERHAPS,  /* ?, null, #N/A, <NA>: missing among numbers, and among words where --na
                            asks for missing values; else a word */
    SGFSI_CELL_NONE,     /* none, ., -: missing among numbers, a word among words */
    SGFSI_CELL_COMMA,    /* 1,5; *x is what it would be with a point */
    SGFSI_CELL_TEXT
} sgfsi_cell_kind;
/* What a cell holds; *x is the number where it is one. */
sgfsi_cell_kind sgfsi_cell_classify(const sgfsi_cell *cell, double *x);
/* What to do about a comma in a number that cannot be read, or a point in a file of commas. */
const char *sgfsi_csv_comma_advice(const sgfsi_csv_format *format);
