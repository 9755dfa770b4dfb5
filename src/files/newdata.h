/* SPDX-License-Identifier: MIT
 * newdata.h: new rows for a run that is there already, a block at a time.
 *
 *     files -> flow.c, with the columns of the run (find_columns.h) -> rows that count
 *           -> the run's transforms -> x, y, exposure
 *
 * Memory is that of a block, whatever the length of the files.
 */
#pragma once

#include "base/io.h"
#include "files/find_columns.h"

typedef struct sgfsi_newdata sgfsi_newdata;

/* name: as in files.h. Only delimiter, header, labels, zero_based (of libsvm files), threads and
 * log of the options are looked at. Either all files have the target or none has: SGFS_EDATA. On
 * failure *data is to be closed as well. */
sgfs_status sgfsi_newdata_open(sgfsi_newdata **data, const char *name, const sgfsi_wanted *wanted,
                               const sgfsi_read_options *options, sgfs_err *err);
/* Are these the files that a header's "data" tells of? SGFS_EDATA where they are not. */
sgfs_status sgfsi_newdata_same_files(const sgfsi_newdata *data, const struct sgfsi_json *said,
                                     sgfs_err *err);
void sgfsi_newdata_close(sgfsi_newdata *data); /* takes NULL */

const char *sgfsi_newdata_shown(const sgfsi_newdata *data); /* for people: the files */
bool sgfsi_newdata_have_target(const sgfsi_newdata *data);
/* The target's name in the first file; "" where there is no target. */
const char *sgfsi_newdata_target(const sgfsi_newdata *data);
double sgfsi_newdata_fraction(const sgfsi_newdata *data); /* of the files, read so far */

/* What a row lacks, where --na allows it. */
enum {
    SGFSI_LACKS_NOTHING,
    SGFSI_LACKS_TARGET, /* its y is NaN */
    SGFSI_LACKS_VALUES  /* that nothing was put in the place of: its x and exposure mean nothing */
};

/* Room for what the next rows hold. */
typedef struct sgfsi_newdata_block {
    int64_t n;            /* rows read */
    int64_t stride;       /* from one row of x to the next */
    double *x;            /* most x features, in rows of stride */
    double *y;            /* most; not touched where there is no target */
    double *exposure;     /* most; not touched where there is none */
    unsigned char *lacks; /* most */
    /* The cells of the columns that group rows: their texts, until the data are closed, or NULL and
     * a number. NaN: a value that lacks. */
    double *group;           /* most x groups */
    const char **group_text; /* most x groups */
} sgfsi_newdata_block;
/* The next rows, at most `most`; block->n is 0 at the end, and most before it. Every number is
 * finite, but for what a row lacks. Rows of classes that the run left out (--keep-classes) are left
 * out, and a note counts them. */
sgfs_status sgfsi_newdata_next(sgfsi_newdata *data, int64_t most, sgfsi_newdata_block *block,
                               sgfs_err *err);
/* The cells of the wanted key of the n rows of the block read last, each with a zero behind it;
 * none where no key is wanted. SGFS_EDATA where a file has no such column. */
sgfs_status sgfsi_newdata_keys(sgfsi_newdata *data, int64_t n, sgfsi_buffer *keys, sgfs_err *err);
/* Rows so far with a word that the run does not know, where such are allowed; columns: how many in
 * each, by name. */
int64_t sgfsi_newdata_new_words(const sgfsi_newdata *data, sgfsi_json *columns);
enum { SGFSI_WHERE = 320 };
/* Where row i of the block read last is, for messages: "test.csv:17", "test.npy: row 17". */
const char *sgfsi_newdata_where(const sgfsi_newdata *data, int64_t i, char out[SGFSI_WHERE]);
/* The text behind target y of row i of that block, where it is none of the run's; NULL: none. */
const char *sgfsi_newdata_level(const sgfsi_newdata *data, int64_t i, double y);
