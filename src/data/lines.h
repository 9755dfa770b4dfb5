/* SPDX-License-Identifier: MIT
 * lines.h: the records of a delimited text file, one after another, and the cells of a record.
 * A record is a line, or several when a quoted cell holds line ends.
 */
#ifndef SGFSI_LINES_H
#define SGFSI_LINES_H

#include "base/bytes.h"

typedef struct sgfsi_lines {
    const char *path;
    char delimiter; /* ' ' : runs of blanks and tabs. May be set before the first record is taken */
    sgfsi_bytes *bytes;
    char *text;        /* the block at hand */
    char *at, *stop;   /* what of it is not taken yet */
    const char *quote; /* no '"' stands in [at, quote) */
    size_t room;
    int64_t line;        /* number of the line at `at`, from 1 */
    int64_t record_line; /* number of the line on which the record last taken starts */
    bool ended;          /* the file has no bytes after stop */
} sgfsi_lines;

sgfs_status sgfsi_lines_open(sgfsi_lines *lines, const char *path, sgfs_err *err);
void sgfsi_lines_close(sgfsi_lines *lines); /* safe on a zeroed value */

/* The next record that is not blank, without its line end, as [*begin, *end); *begin is NULL at the
 * end of the file. Valid until the next call. */
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
/* Copy at most room - 1 bytes, halving doubled quotes; always terminated. Returns the full length.
 */
size_t sgfsi_cell_text(const sgfsi_cell *cell, char *out, size_t room);

#endif
