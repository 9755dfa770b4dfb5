/* SPDX-License-Identifier: MIT
 * columns.h: which columns of a file are the target and the features, from what the user wrote.
 */
#pragma once

#include "files/reader.h"

typedef struct sgfsi_columns {
    const char *path; /* in front of sentences; NULL: nothing is */
    int64_t cols;
    char *const *names;              /* cols */
    bool named;                      /* by the file; else by their place, whatever names says */
    const struct sgfsi_json *recipe; /* transforms that made the file; NULL: none */
    char *const *first; /* cols: the cells of a first line that was taken for data; NULL: none */
} sgfsi_columns;

/* Fill role[cols] from what options says of target, features, weights and exposure; SGFS_EUSAGE
 * with the nearest names when a column is unknown or named twice in the file, and where it should
 * be two things at once. stored: cols roles of a file that says what its columns are for, which
 * stand where options are silent (a target, weights or exposure replaced by another column is
 * nothing then); NULL: it does not say. */
sgfs_status sgfsi_columns_select(const sgfsi_columns *columns, const unsigned char *stored,
                                 const sgfsi_read_options *options, unsigned char *role,
                                 sgfs_err *err);
/* The column that the user named by --flag: by its name, else by its number; or, where `to` is not
 * NULL, by a range of numbers, all from *from to *to. text is written to and put back. */
sgfs_status sgfsi_columns_find(const sgfsi_columns *c, const char *flag, char *text, int64_t *from,
                               int64_t *to, sgfs_err *err);
/* Set mark[i] to 1 for every column i of a list like "a,b,3-7", which the user gave as --flag.
 * flag NULL: what is no column of the file is somebody else's business. */
sgfs_status sgfsi_columns_mark(const sgfsi_columns *columns, const char *flag, const char *list,
                               unsigned char *mark, sgfs_err *err);

/* What follows "auto," or "auto" in a value of --categorical, which sets *automatic; else all of
 * it. "" for NULL. */
const char *sgfsi_words_named(const char *list, bool *automatic);
/* The next text of a list with commas between them, without blanks around it; *rest, which is
 * written to, moves behind it. NULL: there is none. */
char *sgfsi_list_next(char **rest);
/* The column of that name, or one of these. */
enum { SGFSI_NAME_ABSENT = -1, SGFSI_NAME_TWICE = -2 };
int64_t sgfsi_names_find(int64_t cols, const char *const *names, const char *name);

/* cols names x1, x2, ...; NULL when memory is out. Free with sgfsi_names_free. */
char **sgfsi_names_made_up(int64_t cols);
char **sgfsi_names_copy(char *const *names, int64_t count); /* the same of names that are there */

/* Names for a message: "a", "b" (did you mean "c"?), ...; past the first few they are counted. */
typedef struct sgfsi_name_list {
    int64_t shown; /* at most */
    int64_t count;
    char text[400];
    size_t used;
} sgfsi_name_list;
void sgfsi_name_list_add(sgfsi_name_list *l, const char *name, const char *near); /* near or NULL */
