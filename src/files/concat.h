/* SPDX-License-Identifier: MIT
 * concat.h: tables of several files on their way to being one (concat.c, concat_words.c,
 * concat_told.c).
 */
#ifndef SGFSI_CONCAT_H
#define SGFSI_CONCAT_H

#include "files/same_columns.h"
#include "files/sources.h"

typedef struct sgfsi_joining {
    sgfsi_files *files;
    sgfsi_sources sources;
    int64_t count;
    sgfsi_table *table;        /* count */
    sgfsi_file_columns *shape; /* count */
    int64_t *from;             /* count x wanted: which of its columns is the first's k-th */
    int64_t wanted;
    bool renumbered; /* targets are other numbers than their files say */
} sgfsi_joining;

static inline bool sgfsi_joining_has_text(const sgfsi_table *t) {
    return t->text_col >= 0 && t->levels > 0;
}

/* Column of table i that is the first's k-th wanted one, or SGFSI_Y. */
static inline int64_t sgfsi_joining_place(const sgfsi_joining *j, int64_t i, int64_t k) {
    return j->shape[i].col[j->from[i * j->wanted + k]];
}

/* Number the words of all tables through; their list is then the first table's. All tables have one
 * layout. */
sgfs_status sgfsi_joining_words(sgfsi_joining *j, sgfs_err *err);
/* What all files say of their columns, in the first table; nothing where one of them is silent. */
sgfs_status sgfsi_joining_stats(sgfsi_joining *j, sgfs_err *err);

#endif
