/* SPDX-License-Identifier: MIT
 * lines.h: the records of delimited text, one after another, and the cells of a record.
 * A record is a line, or several when a quoted cell holds line ends.
 */
#pragma once

#include "files/text/text.h"

/* A walk over the records of text in memory. */
typedef struct sgfsi_records {
    char delimiter;            /* ' ' : runs of blanks and tabs */
    bool last;                 /* the file ends at stop, and with it a record without a line end */
    const char *at, *stop;     /* what is not taken yet; it starts with a record */
    const char *quote;         /* no '"' stands in [at, quote) */
    const char *open;          /* the quote for whose end nothing more was found; or NULL */
    int64_t line, record_line; /* lines before `at`, and before the record last taken */
} sgfsi_records;

sgfsi_records sgfsi_records_of(char delimiter, const char *at, const char *stop, bool last);
/* The next record that is not blank, without its line end, as [*begin, *end); false: no whole one
 * is left, and `at` is where the rest starts. */
bool sgfsi_records_next(sgfsi_records *r, const char **begin, const char **end);
/* Past whole records of at least so many bytes together, or as many as there are; returns `at`.
 * Lines are not counted. */
const char *sgfsi_records_skip(sgfsi_records *r, size_t bytes);
int64_t sgfsi_count_lines(const char *s, const char *end);

/* More text where `records` of all that is at hand found no whole record (NULL: of a text without
 * quotes); SGFS_EDATA where more would not help. */
sgfs_status sgfsi_text_more(sgfsi_text *text, const sgfsi_records *records, sgfs_err *err);
sgfs_status sgfsi_fail_nul(const char *path, int64_t line, sgfs_err *err);
sgfs_status sgfsi_text_check_nul(const sgfsi_text *text, sgfs_err *err); /* all that is at hand */

/* The records of a file, one after another. */
typedef struct sgfsi_lines {
    char delimiter; /* may be set before the first record is taken */
    sgfsi_text text;
    const char *quote;
    int64_t record_line; /* number of the line on which the record last taken starts */
} sgfsi_lines;

sgfs_status sgfsi_lines_open(sgfsi_lines *lines, const char *path, sgfs_err *err);
void sgfsi_lines_close(sgfsi_lines *lines); /* safe on a zeroed value */

/* As sgfsi_records_next; *begin is NULL at the end of the file. Valid until the next call. */
sgfs_status sgfsi_lines_next(sgfsi_lines *lines, const char **begin, const char **end,
                             sgfs_err *err);

/* One cell: the text inside quotes (doubled quotes still doubled), or between blanks. */
typedef struct sgfsi_cell {
    const char *begin, *end;
    bool quoted;
} sgfsi_cell;

/* The cell that starts at s. Returns where it stops: at a delimiter or at `end`; NULL when text
 * follows a closing quote. */
const char *sgfsi_cell_scan(char delimiter, const char *s, const char *end, sgfsi_cell *cell);
/* Where the next cell starts after one that stopped at `stop`; NULL when it was the last. */
const char *sgfsi_cell_next(char delimiter, const char *stop, const char *end);
int64_t sgfsi_cell_count(char delimiter, const char *s, const char *end);
/* Copy at most room - 1 bytes, halving doubled quotes; always terminated. Text that is not UTF-8 is
 * taken for Latin-1 and becomes UTF-8. Returns the full length. */
size_t sgfsi_cell_text(const sgfsi_cell *cell, char *out, size_t room);
/* The start of it, fit for a message: one line, whole UTF-8 characters. */
void sgfsi_cell_show(const sgfsi_cell *cell, char out[SGFSI_SHOWN_ROOM]);
