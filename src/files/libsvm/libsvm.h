/* SPDX-License-Identifier: MIT
 * libsvm.h: rows of libsvm (svmlight) text, one after another: libsvm_rows.c takes them from the
 * file, libsvm.c makes tables and flows of them.
 */
#pragma once

#include "files/reader.h"
#include "files/text/text.h"

typedef struct sgfsi_libsvm {
    const char *path;
    const sgfsi_log *log;
    int64_t first;   /* index of the first feature: 1, or 0 */
    int64_t cols;    /* features at most; an index beyond is refused, or left out */
    bool given;      /* cols is --columns */
    bool gaps;       /* a value or label may be NaN: missing */
    bool leave;      /* indices beyond cols are left out */
    sgfsi_text text; /* a block of the file */
    double taken;    /* bytes of lines taken */
    /* what came so far */
    int64_t rows, largest; /* largest: features that are needed, 1 + the last column */
    int64_t left_out;      /* entries beyond cols */
    bool queries;          /* qid: was seen */
    double label;          /* of the row taken last */
    int32_t *col;          /* used: columns from 0, and values other than 0. The caller may set */
    double *value;         /* used to 0 between rows */
    int64_t used, held;    /* entries; room for entries */
} sgfsi_libsvm;

/* path and options are borrowed. */
sgfs_status sgfsi_libsvm_open(sgfsi_libsvm *s, const char *path, const sgfsi_read_options *options,
                              sgfs_err *err);
void sgfsi_libsvm_close(sgfsi_libsvm *s); /* safe on a zeroed value */
/* The next row: its label, and its entries behind those there are. *got is false at the end. */
sgfs_status sgfsi_libsvm_next(sgfsi_libsvm *s, bool *got, sgfs_err *err);
double sgfsi_libsvm_fraction(const sgfsi_libsvm *s);

/* Rows and features of a file: all rows are read, none of them kept. */
sgfs_status sgfsi_libsvm_count(const char *path, const sgfsi_read_options *options, int64_t *rows,
                               int64_t *cols, sgfs_err *err);

/* Do these first bytes of a file look like libsvm text? */
bool sgfsi_libsvm_looks(const char *head, size_t bytes);
