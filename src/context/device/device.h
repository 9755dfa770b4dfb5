/* SPDX-License-Identifier: MIT
 * device.h: arithmetic on row-major arrays; a device is a table of these operations.
 */
#ifndef SGFSI_DEVICE_H
#define SGFSI_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#define SGFS_UPDATE_WORK(D, n) ((n) * ((D) + (n)) + 64 * (D))

/* Triangular matrices are lower, row-major, with row length D. */
typedef struct sgfs_device {
    const char *name, *help;
    double (*dot)(int64_t n, const double *x, const double *y);
    void (*axpy)(int64_t n, double a, const double *x, double *y); /* y += a x */
    /* y = a X v + b y, X m x k */
    void (*gemv)(int64_t m, int64_t k, double a, const double *X, const double *v, double b,
                 double *y);
    /* y = a X' v + b y, X m x k */
    void (*gemv_t)(int64_t m, int64_t k, double a, const double *X, const double *v, double b,
                   double *y);
    /* C = a A' B + b C, A m x r, B m x c, C r x c */
    void (*gemm_tn)(int64_t m, int64_t r, int64_t c, double a, const double *A, const double *B,
                    double b, double *C);
    /* C = a A B' + b C, A m x k, B r x k, C m x r */
    void (*gemm_nt)(int64_t m, int64_t r, int64_t k, double a, const double *A, const double *B,
                    double b, double *C);
    /* C = a A B + b C, A m x k, B k x r, C m x r */
    void (*gemm_nn)(int64_t m, int64_t r, int64_t k, double a, const double *A, const double *B,
                    double b, double *C);
    /* lower triangle of C = a X' X + b C, X m x k, C k x k */
    void (*syrk_t)(int64_t m, int64_t k, double a, const double *X, double b, double *C);
    /* lower triangle of A -> L with A = L L'; returns 0, or the order of the minor that failed */
    int64_t (*potrf)(int64_t D, double *A);
    void (*unpotrf)(int64_t D, double *L); /* and back: L -> lower triangle of L L' */
    /* lower triangle of L -> lower triangle of (L L')^-1 */
    void (*potri)(int64_t D, double *L);
    /* L -> the Cholesky factor of L L' + X'X, X n x D (destroyed); work:
     * SGFS_UPDATE_WORK(D, n) numbers. 0, or -1 when the result is not a factor. */
    int64_t (*chol_update)(int64_t D, int64_t n, double *L, double *X, double *work);
    /* P -> (P^-1 + X'X)^-1, lower triangles; otherwise as chol_update */
    int64_t (*inv_update)(int64_t D, int64_t n, double *P, double *X, double *work);
    void (*trsv)(int64_t D, const double *L, bool transposed, double *x); /* x = L^-1 x or L^-T x */
    void (*trmv)(int64_t D, const double *L, bool transposed, double *x); /* x = L x or L' x */
    void (*symv)(int64_t D, const double *A, const double *x,
                 double *y);                              /* y = A x, lower triangle */
    void (*exp)(int64_t n, const double *x, double *y);   /* y = exp(x) */
    void (*log1p)(int64_t n, const double *x, double *y); /* y = log(1 + x) */
} sgfs_device;

extern const sgfs_device sgfs_device_host, sgfs_device_blas;
extern const sgfs_device *const sgfsi_devices[]; /* NULL-terminated; the first is the default */
extern const char sgfsi_device_choices[];        /* "|blas|host": their names */
const sgfs_device *sgfsi_device_find(const char *name);

/* Chains are the unit of parallel work, so BLAS runs single-threaded inside them: returns the
 * number of threads it had, for the caller to put back. */
int sgfsi_blas_threads(int threads);
/* Name and kernel of the BLAS in use, for the run file's header. */
const char *sgfsi_blas_config(void);
const char *sgfsi_blas_core(void);

/* X' in place of X, D x D. */
void sgfsi_transpose(int64_t D, double *X);
/* X = (L L')^-1, D x D, both triangles. */
void sgfsi_invert_factor(const sgfs_device *be, int64_t D, const double *L, double *X);

/* Loops the compiler may vectorise through libmvec (vecmath.c). */
void sgfsi_vec_exp(int64_t n, const double *x, double *y);
void sgfsi_vec_log1p(int64_t n, const double *x, double *y);

#endif
