/* SPDX-License-Identifier: MIT
 * find_columns.h: the columns of a run in other files: which of their columns are read (readers ask
 * here where rows are new rows for a run), and where each of them goes (flow.c).
 */
#pragma once

#include "base/json.h"
#include "files/columns.h"
#include "files/same_columns.h"
#include "files/transform/transform.h"

/* What the run was made with. All borrowed; where the run's columns had no names those made up (x1,
 * x2, ...) stand for places in the file. */
typedef struct sgfsi_wanted {
    int64_t features;
    const char *const *feature; /* features, in the run's order */
    bool named;                 /* the run's file said what its columns are called */
    const char *target;         /* NULL: not wanted. A name, else a 1-based number */
    bool target_needed;         /* a file without it is an error; else it has no targets */
    const char *exposure;       /* NULL: none */
    int64_t groups;             /* columns that group rows (rows/groups.h), each once */
    const char *const *group;   /* groups */
    const bool *group_words;    /* groups: they hold words, which are numbered as they come */
    const char *weights;        /* a column that is known and not needed; NULL: none */
    int64_t levels;             /* texts of the target; 0: it is numbers */
    const char *const *level;   /* levels: cell level[k] is read as k */
    const sgfsi_json *recipe; /* how the features came about (transform.h); NULL: as in the file */
    sgfsi_na na;              /* of new rows; filling in is the recipe's business */
    bool zero_words;          /* a word the run does not know has 0 in all its columns */
    const char *part;         /* of the run's --split; NULL: all rows */
    int64_t limit;            /* rows at most; 0: all */
    const char *key;          /* a column whose cells go with the rows (key_column.h); NULL: none */
} sgfsi_wanted;

/* The same while files are read. */
typedef struct sgfsi_run_columns {
    sgfsi_wanted wanted;  /* its features are those the recipe starts from */
    sgfsi_recipe *recipe; /* what is still to be done to them; NULL: nothing */
    char *first_path;     /* the file that was looked at first; NULL: none yet */
    char *target_name;    /* there; NULL: it has none */
    bool chosen;          /* its columns are chosen */
    bool holes;           /* features that files lack are left out, and no error */
    bool lacks;           /* the file that was looked at last lacks some */
    /* Of the file that was looked at last: column of the file, from 0; -1: not there. */
    int64_t *feature; /* wanted.features */
    int64_t target, exposure;
    int64_t *group; /* wanted.groups */
    int64_t *place; /* features, target, exposure, groups: among the columns of the file that are
                     * read */
} sgfsi_run_columns;

/* For more files, to which more or less was done: they have the target if those of `first` have. */
sgfs_status sgfsi_run_columns_follow(sgfsi_run_columns *c, const sgfsi_run_columns *first,
                                     sgfs_err *err);
void sgfsi_run_columns_free(sgfsi_run_columns *c); /* safe on a zeroed value */

/* Fill role[cols]. SGFS_EDATA names the columns that are missing, with the nearest names there are;
 * columns the run does not know are a note. Either all files have the target or none has. */
sgfs_status sgfsi_run_columns_choose(sgfsi_run_columns *c, const sgfsi_columns *file,
                                     const sgfsi_log *log, unsigned char *role, sgfs_err *err);
/* Does the run have words in this column of the file? */
bool sgfsi_run_columns_words(const sgfsi_run_columns *c, int64_t col);
/* Does it have amounts there (text/amount.h)? */
bool sgfsi_run_columns_amounts(const sgfsi_run_columns *c, int64_t col);
/* Does it have dates there? */
bool sgfsi_run_columns_dates(const sgfsi_run_columns *c, int64_t col);
/* Columns x1, x2, ... of the run: the last place it knows; 0: its columns have names, or it says
 * what cannot be. path: of a file without transforms. */
sgfs_status sgfsi_run_columns_last_place(sgfsi_run_columns *c, const char *path, int64_t *last,
                                         sgfs_err *err);

/* What a flow of new rows has: the features in the run's order, the target and the exposure where
 * the files have them, and the columns that group rows, with the words the run knows (of a group
 * none but an empty one, which no cell has). */
sgfs_status sgfsi_run_columns_head(const sgfsi_run_columns *c, sgfsi_table *head, sgfs_err *err);
/* from[k]: which column of the file is the k-th of those; SGFS_EDATA where the run had words and
 * the file has numbers, or the other way round. */
sgfs_status sgfsi_run_columns_match(const sgfsi_run_columns *c, const sgfsi_file_columns *file,
                                    int64_t *from, sgfs_err *err);
