/* SPDX-License-Identifier: MIT
 * npy.h: NumPy array files: writing float64 in C order, and reading a header.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"

/* Head of an array of 2 or 3 dimensions. Errors show in ferror(f). */
void sgfsi_npy_head(FILE *f, int dims, const int64_t *shape);
void sgfsi_npy_numbers(FILE *f, const double *x, int64_t count);

/* What a header says. */
typedef struct sgfsi_npy {
    const char *path; /* set by the caller, for messages */
    char descr[64];   /* "<f8" */
    bool fortran;
    int dims; /* 1 or 2 */
    int64_t shape[2];
    size_t offset; /* of the numbers in the file */
} sgfsi_npy;

/* bytes: the file, or at least its head; count: how many there are. Refuses (SGFS_EDATA) what is
 * not .npy, structured arrays, and arrays that have neither one nor two dimensions. */
sgfs_status sgfsi_npy_parse(sgfsi_npy *a, const unsigned char *bytes, size_t count, sgfs_err *err);
/* Why the type cannot be read, and what to save instead. */
sgfs_status sgfsi_npy_refuse_type(const sgfsi_npy *a, sgfs_err *err);
