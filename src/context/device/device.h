/* SPDX-License-Identifier: MIT
 * device.h: arithmetic on row-major arrays. A device is a table of operations, each of which gets
 * the opened device as its first argument, so that one with handles, streams or memory of its own
 * keeps them in `state`. Callers use the functions of the same name below.
 */
#ifndef SGFSI_DEVICE_H
#define SGFSI_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#define SGFS_UPDATE_WORK(D, n) ((n) * ((D) + (n)) + 64 * (D))

typedef struct sgfs_device sgfs_device;
/* The first argument, for an operation that may have no use for it. */
#define SGFSI_HERE __attribute__((unused)) const sgfs_device *dev

/* Triangular matrices are lower, row-major, with row length D. */
typedef struct sgfsi_device_ops {
    /* No threads of its own until as many `leave`s: counted, for the whole process, by however many
     * threads. NULL: it never has any. */
    void (*enter)(SGFSI_HERE);
    void (*leave)(SGFSI_HERE);
    double (*dot)(SGFSI_HERE, int64_t n, const double *x, const double *y);
    void (*axpy)(SGFSI_HERE, int64_t n, double a, const double *x, double *y); /* y += a x */
    /* y = a X v + b y, X m x k */
    void (*gemv)(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, const double *v,
                 double b, double *y);
    /* y = a X' v + b y, X m x k */
    void (*gemv_t)(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, const double *v,
                   double b, double *y);
    /* C = a A' B + b C, A m x r, B m x c, C r x c */
    void (*gemm_tn)(SGFSI_HERE, int64_t m, int64_t r, int64_t c, double a, const double *A,
                    const double *B, double b, double *C);
    /* C = a A B' + b C, A m x k, B r x k, C m x r */
    void (*gemm_nt)(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a, const double *A,
                    const double *B, double b, double *C);
    /* C = a A B + b C, A m x k, B k x r, C m x r */
    void (*gemm_nn)(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a, const double *A,
                    const double *B, double b, double *C);
    /* lower triangle of C = a X' X + b C, X m x k, C k x k */
    void (*syrk_t)(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, double b,
                   double *C);
    /* lower triangle of A -> L with A = L L'; returns 0, or the order of the minor that failed */
    int64_t (*potrf)(SGFSI_HERE, int64_t D, double *A);
    void (*unpotrf)(SGFSI_HERE, int64_t D, double *L); /* and back: L -> lower triangle of L L' */
    /* lower triangle of L -> lower triangle of (L L')^-1 */
    void (*potri)(SGFSI_HERE, int64_t D, double *L);
    /* L -> the Cholesky factor of L L' + X'X, X n x D (destroyed); work:
     * SGFS_UPDATE_WORK(D, n) numbers. 0, or -1 when the result is not a factor. */
    int64_t (*chol_update)(SGFSI_HERE, int64_t D, int64_t n, double *L, double *X, double *work);
    /* P -> (P^-1 + X'X)^-1, lower triangles; otherwise as chol_update */
    int64_t (*inv_update)(SGFSI_HERE, int64_t D, int64_t n, double *P, double *X, double *work);
    /* x = L^-1 x or L^-T x */
    void (*trsv)(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x);
    /* x = L x or L' x */
    void (*trmv)(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x);
    /* y = A x, lower triangle */
    void (*symv)(SGFSI_HERE, int64_t D, const double *A, const double *x, double *y);
    void (*exp)(SGFSI_HERE, int64_t n, const double *x, double *y);   /* y = exp(x) */
    void (*log1p)(SGFSI_HERE, int64_t n, const double *x, double *y); /* y = log(1 + x) */
} sgfsi_device_ops;

struct sgfs_device {
    const char *name, *help;
    const sgfsi_device_ops *ops;
    void *state;
};

extern const sgfs_device sgfs_device_host, sgfs_device_blas;
extern const sgfs_device *const sgfsi_devices[]; /* NULL-terminated; the first is the default */
extern const char sgfsi_device_choices[];        /* "|blas|host": their names */
const sgfs_device *sgfsi_device_find(const char *name);

/* Name and kernel of the BLAS in use, for the run file's header. */
const char *sgfsi_blas_config(void);
const char *sgfsi_blas_core(void);

/* X' in place of X, D x D. */
void sgfsi_transpose(int64_t D, double *X);
/* X = (L L')^-1, D x D, both triangles. */
void sgfsi_invert_factor(const sgfs_device *dev, int64_t D, const double *L, double *X);

/* Loops the compiler may vectorise through libmvec (vecmath.c). */
void sgfsi_vec_exp(SGFSI_HERE, int64_t n, const double *x, double *y);
void sgfsi_vec_log1p(SGFSI_HERE, int64_t n, const double *x, double *y);

/* ---- the operations as functions ------------------------------------------------------------- */

static inline double sgfsi_dot(SGFSI_HERE, int64_t n, const double *x, const double *y) {
    return dev->ops->dot(dev, n, x, y);
}
static inline void sgfsi_axpy(SGFSI_HERE, int64_t n, double a, const double *x, double *y) {
    dev->ops->axpy(dev, n, a, x, y);
}
static inline void sgfsi_gemv(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X,
                              const double *v, double b, double *y) {
    dev->ops->gemv(dev, m, k, a, X, v, b, y);
}
static inline void sgfsi_gemv_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X,
                                const double *v, double b, double *y) {
    dev->ops->gemv_t(dev, m, k, a, X, v, b, y);
}
static inline void sgfsi_gemm_tn(SGFSI_HERE, int64_t m, int64_t r, int64_t c, double a,
                                 const double *A, const double *B, double b, double *C) {
    dev->ops->gemm_tn(dev, m, r, c, a, A, B, b, C);
}
static inline void sgfsi_gemm_nt(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a,
                                 const double *A, const double *B, double b, double *C) {
    dev->ops->gemm_nt(dev, m, r, k, a, A, B, b, C);
}
static inline void sgfsi_gemm_nn(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a,
                                 const double *A, const double *B, double b, double *C) {
    dev->ops->gemm_nn(dev, m, r, k, a, A, B, b, C);
}
static inline void sgfsi_syrk_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X,
                                double b, double *C) {
    dev->ops->syrk_t(dev, m, k, a, X, b, C);
}
static inline int64_t sgfsi_potrf(SGFSI_HERE, int64_t D, double *A) {
    return dev->ops->potrf(dev, D, A);
}
static inline void sgfsi_unpotrf(SGFSI_HERE, int64_t D, double *L) {
    dev->ops->unpotrf(dev, D, L);
}
static inline void sgfsi_potri(SGFSI_HERE, int64_t D, double *L) {
    dev->ops->potri(dev, D, L);
}
static inline int64_t sgfsi_chol_update(SGFSI_HERE, int64_t D, int64_t n, double *L, double *X,
                                        double *work) {
    return dev->ops->chol_update(dev, D, n, L, X, work);
}
static inline int64_t sgfsi_inv_update(SGFSI_HERE, int64_t D, int64_t n, double *P, double *X,
                                       double *work) {
    return dev->ops->inv_update(dev, D, n, P, X, work);
}
static inline void sgfsi_trsv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    dev->ops->trsv(dev, D, L, transposed, x);
}
static inline void sgfsi_trmv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    dev->ops->trmv(dev, D, L, transposed, x);
}
static inline void sgfsi_symv(SGFSI_HERE, int64_t D, const double *A, const double *x, double *y) {
    dev->ops->symv(dev, D, A, x, y);
}
static inline void sgfsi_exp(SGFSI_HERE, int64_t n, const double *x, double *y) {
    dev->ops->exp(dev, n, x, y);
}
static inline void sgfsi_log1p(SGFSI_HERE, int64_t n, const double *x, double *y) {
    dev->ops->log1p(dev, n, x, y);
}

#endif
