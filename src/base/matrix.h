/* SPDX-License-Identifier: MIT
 * matrix.h: symmetric matrices and vectors from files, for options that name one
 * (--precondition-file, --gauss-precision, ...). They are small: D parameters, not N rows.
 *
 * A file is .npy (float64 or float32, C or Fortran order) or text: numbers separated by blanks or
 * commas, one row a line, '#' begins a comment. The numbers belong to the scale the sampler works
 * on: with --standardize, or the default prior of a regression, that of the standardised columns,
 * not the user's.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

typedef struct sgfsi_matrix {
    int64_t D;
    bool diagonal;
    double *a; /* D x D row-major, both triangles, exactly symmetric; or the D of a diagonal */
} sgfsi_matrix;

/* D x D numbers, or D (also D x 1 and 1 x D) for a diagonal. Finite, symmetric to a relative 1e-8
 * of the larger of themselves and sqrt(a_ii a_jj) (then averaged), of the right shape: otherwise
 * SGFS_EDATA; a file that cannot be read is SGFS_EIO. Whether it is positive definite is the
 * caller's question. */
sgfs_status sgfsi_matrix_read(sgfsi_matrix *m, const char *path, int64_t D, sgfsi_arena *arena,
                              sgfs_err *err);
/* D numbers (also D x 1 and 1 x D), finite, into v. */
sgfs_status sgfsi_vector_read(double *v, const char *path, int64_t D, sgfs_err *err);

/* Lower triangle of A (D x D) -> L with A = L L'; 0, or the order of the minor that is not positive
 * definite. */
int64_t sgfsi_cholesky(int64_t D, double *A);

/* For qsort: the smaller of two doubles first. */
int sgfsi_by_size(const void *a, const void *b);
