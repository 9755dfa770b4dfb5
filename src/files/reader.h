/* SPDX-License-Identifier: MIT
 * reader.h: the kinds of files there are, and what the options say to those who read them.
 *
 * A kind knows its files by their first bytes, and hands out their rows (flow.h).
 */
#pragma once

#include "files/text/text.h"
#include "rows/table.h"

enum { SGFSI_HEAD_BYTES = 4096 }; /* a reader is asked about the first bytes of a file */

/* More words in a target are refused, and in a column that nobody named in --categorical: they are
 * probably names or texts. Of a column that was named there may be more. */
enum { SGFSI_MAX_LEVELS = 1000, SGFSI_MAX_WORDS = 100000 };
static inline int64_t sgfsi_most_words(unsigned char role) {
    return role == SGFSI_ROLE_TARGET  ? SGFSI_MAX_LEVELS
           : role == SGFSI_ROLE_GROUP ? INT32_MAX
                                      : SGFSI_MAX_WORDS;
}

/* What becomes of cells without a value (--na): they are refused; or they are NaN in what readers
 * hand out, and a recipe leaves their rows out or fills them in (transform_missing.c). */
typedef enum sgfsi_na { SGFSI_NA_ERROR, SGFSI_NA_DROP, SGFSI_NA_MEAN } sgfsi_na;
sgfsi_na sgfsi_na_of(const sgfs_config *cfg);

/* The first cell of a target that is no number, as a reader met it. */
typedef struct sgfsi_first_text {
    int64_t row;  /* of the file, from 0; -1: none so far */
    int64_t line; /* from 1 */
    char text[SGFSI_SHOWN_ROOM];
} sgfsi_first_text;

/* What a reader needs to know of the options. */
typedef struct sgfsi_read_options {
    const char *target;    /* name or 1-based number; "" : last column */
    const char *features;  /* "a,b,3-7"; "" : all that are nothing else */
    const char *weights;   /* name or 1-based number; "" : none */
    const char *exposure;  /* the same */
    const char *groups;    /* terms of formula.h, whose factors are columns; "": none */
    const char *delimiter; /* one character, "tab", or "auto" */
    const char *header;    /* "auto", "yes", "no" */
    sgfsi_na na;
    bool single; /* numbers will be stored as float: larger ones are refused */
    bool whole;  /* all rows will be kept in memory: blocks may be large, sparse rows come
                              sparse, and single numbers as floats */
    struct sgfsi_run_columns *run; /* these are new rows for a run, which chooses the columns in
                                      place of the four above (find_columns.h); NULL: they are
                                      not */
    const struct sgfsi_table
        *known; /* CSV, --categorical auto: columns whose words are known by now
                                        hold words from the first row on; NULL: none */
    const struct sgfsi_joint *joint; /* packed files with other words each (join_words.h); NULL */
    bool words; /* CSV: the target holds words, even where they look like numbers */
    const sgfsi_first_text *first_text; /* with words: where that was found; NULL: elsewhere */
    const char *categorical;            /* columns of words, as in features; "" : none */
    const char *amount;                 /* columns of amounts, as in features; "" : none */
    const char *date;                   /* columns of dates, as in features; "" : none */
    const char *drop;   /* CSV: columns that may hold anything, they will be dropped; "" : none */
    const char *labels; /* IDX: the file with the labels; "" : none */
    int64_t columns;    /* libsvm: features there are; 0 or less: as many as are seen */
    int64_t known_columns; /* libsvm: the features a run knows, others being left out; 0: all */
    bool zero_based;       /* libsvm: the first feature is 0 */
    bool dense;            /* libsvm: with its zeros */
    int64_t threads;       /* that may work at the same time; 0: one */
    int64_t idx_before, idx_behind; /* other IDX files that --labels has files for, and in order */
    double most_bytes;              /* of rows in memory; 0 or less: no limit */
    const sgfsi_log *log;
} sgfsi_read_options;

/* What --max-bytes allows. */
double sgfsi_most_bytes(const sgfs_config *cfg);
/* Refuses rows of a file that take more; a compressed file may hold a thousand times its size. */
sgfs_status sgfsi_check_bytes(const char *path, double bytes, double most, sgfs_err *err);

struct sgfsi_flow;

/* A kind of file has a flow or a map. */
typedef struct sgfs_reader_kind {
    const char *name, *help;
    const char *const *flags; /* that are for files of this kind alone; NULL-terminated, or NULL */
    /* Does this file look like mine? head: its first bytes (after gunzip). */
    bool (*probe)(const char *path, const unsigned char *head, size_t bytes);
    bool text;     /* what its columns are shows only while its rows are read */
    bool labels;   /* its targets are in files of their own */
    bool numbered; /* its features have numbers and no names */
    bool packed;   /* it knows its columns, and what was made of them before */
    bool sparse;   /* its rows have no zeros */
    /* Its rows one block after another, in memory that does not grow with the file (flow.h). On
     * failure nothing is held. */
    sgfs_status (*flow)(struct sgfsi_flow *flow, const char *path,
                        const sgfsi_read_options *options, sgfs_err *err);
    /* Its rows as they lie in the file, mapped: a table over them costs no memory, and a flow walks
     * from the first to the last. The table is filled on success only, and holds nothing otherwise.
     */
    sgfs_status (*map)(const char *path, const sgfsi_read_options *options, sgfsi_table *table,
                       sgfs_err *err);
} sgfs_reader_kind;

/* What the options say to readers. */
sgfsi_read_options sgfsi_read_options_of(const sgfs_config *cfg);

/* The reader whose file this is; NULL with err filled when there is none or the path cannot be
 * read. */
const sgfs_reader_kind *sgfsi_table_reader(const char *path, sgfs_err *err);
/* --labels, --columns, --zero-based and --dense belong to one kind of file each: SGFS_EUSAGE where
 * this is another. */
sgfs_status sgfsi_reader_check(const sgfs_reader_kind *reader, const char *path,
                               const sgfsi_read_options *options, sgfs_err *err);
extern const sgfs_reader_kind sgfs_reader_csv, sgfs_reader_npy, sgfs_reader_libsvm, sgfs_reader_idx,
    sgfs_reader_arrow;
extern const sgfs_reader_kind *const sgfsi_readers[]; /* NULL-terminated, in probing order */
