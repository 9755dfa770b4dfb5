/* SPDX-License-Identifier: MIT
 * csv_faults.h: cells of a delimited file that cannot be used, column by column. They are collected
 * before a sentence is made of them, so that a user hears of all columns at once.
 */
#pragma once

#include "base/words.h"
#include "files/csv/csv.h"

enum { SGFSI_SHOWN_LINES = 5 };

/* Of one column. Lines are counted as those of sgfsi_csv_faults. */
typedef struct sgfsi_csv_fault {
    int64_t missing, missing_line;        /* cells without a value; where the first of them is */
    int64_t infinite;                     /* of those, numbers that are not finite, or too large */
    int64_t text, text_line;              /* cells of text among numbers; the same */
    bool comma;                           /* the first text is a number with a comma */
    char missing_shown[SGFSI_SHOWN_ROOM]; /* the first of each */
    char text_shown[SGFSI_SHOWN_ROOM];
    bool sparse;           /* it lacks so much that it is better left out */
    bool too_large;        /* the first cell without a value is a number, but too large a one */
    sgfsi_word_list words; /* different texts, up to one more than a column may have */
} sgfsi_csv_fault;

/* Of a part of the file, with lines counted from 0 within it, or of the file as far as it was
 * read. */
typedef struct sgfsi_csv_faults {
    int64_t missing, lines;          /* cells without a value, and lines that have one */
    int64_t line[SGFSI_SHOWN_LINES]; /* the first few of them */
    int64_t last;                    /* of a part: the last of them */
    int64_t col;                     /* of the very first */
    int64_t cols;
    sgfsi_csv_fault *column; /* cols; NULL: there are no faults */
} sgfsi_csv_faults;

/* What sentences are about. */
typedef struct sgfsi_csv_asked {
    const char *path;
    const sgfsi_csv_format *format;
    const unsigned char *role; /* format->cols values of sgfsi_role */
    const sgfsi_read_options *options;
    bool partly; /* there are more rows, which nobody has looked at */
} sgfsi_csv_asked;

/* One more cell. false: there is no memory. */
bool sgfsi_csv_fault_missing(sgfsi_csv_faults *f, int64_t cols, int64_t col, int64_t line,
                             const sgfsi_cell *cell, sgfsi_cell_kind kind);
bool sgfsi_csv_fault_text(sgfsi_csv_faults *f, int64_t cols, int64_t col, int64_t line,
                          const sgfsi_cell *cell, bool comma);
/* Those of a part that starts behind `line` lines. */
bool sgfsi_csv_faults_join(sgfsi_csv_faults *f, const sgfsi_csv_faults *part, int64_t line);
void sgfsi_csv_faults_clear(sgfsi_csv_faults *f);      /* safe on a zeroed value */
bool sgfsi_csv_faults_text(const sgfsi_csv_faults *f); /* is there text among them? */
/* All of them in one sentence, with the options that would help. rows: that were read. */
sgfs_status sgfsi_csv_fail_faults(const sgfsi_csv_asked *asked, sgfsi_csv_faults *f, int64_t rows,
                                  sgfs_err *err);
