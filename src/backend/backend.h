/* SPDX-License-Identifier: MIT
 * backend.h: the rows of the backend table. The operations are described in sgfs_plugin.h.
 */
#ifndef SGFSI_BACKEND_H
#define SGFSI_BACKEND_H

#include "sgfs_plugin.h"

extern const sgfs_backend sgfs_backend_host, sgfs_backend_blas;
extern const sgfs_backend *const sgfsi_backends[]; /* NULL-terminated; the first is the default */
const sgfs_backend *sgfsi_backend_find(const char *name);

/* Chains are the unit of parallel work, so BLAS runs single-threaded inside them: returns the
 * number of threads it had, for the caller to put back. */
int sgfsi_blas_threads(int threads);
/* Name and kernel of the BLAS in use, for the run file's header. */
const char *sgfsi_blas_config(void);
const char *sgfsi_blas_core(void);

/* X' in place of X, D x D. */
void sgfsi_transpose(int64_t D, double *X);
/* X = (L L')^-1, D x D, both triangles. */
void sgfsi_invert_factor(const sgfs_backend *be, int64_t D, const double *L, double *X);

/* Loops the compiler may vectorise through libmvec (vecmath.c). */
void sgfsi_vec_exp(int64_t n, const double *x, double *y);
void sgfsi_vec_log1p(int64_t n, const double *x, double *y);

#endif
