/* SPDX-License-Identifier: MIT
 * blas.c: OpenBLAS and LAPACKE; the only file that sees their headers.
 *
 * Our matrices are row-major with a lower triangle. LAPACKE's row-major calls transpose into a
 * copy, so potrf is called column-major with an upper triangle: the same bytes, no copy.
 */
#include <cblas.h>
#include <lapacke.h>

#include "backend/backend.h"

static double dot(int64_t n, const double *x, const double *y) {
    return cblas_ddot((int)n, x, 1, y, 1);
}

static void axpy(int64_t n, double a, const double *x, double *y) {
    cblas_daxpy((int)n, a, x, 1, y, 1);
}

static void gemv(int64_t m, int64_t k, double a, const double *X, const double *v, double b,
                 double *y) {
    cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)m, (int)k, a, X, (int)k, v, 1, b, y, 1);
}

static void gemv_t(int64_t m, int64_t k, double a, const double *X, const double *v, double b,
                   double *y) {
    cblas_dgemv(CblasRowMajor, CblasTrans, (int)m, (int)k, a, X, (int)k, v, 1, b, y, 1);
}

static void gemm_tn(int64_t m, int64_t r, int64_t c, double a, const double *A, const double *B,
                    double b, double *C) {
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)r, (int)c, (int)m, a, A, (int)r, B,
                (int)c, b, C, (int)c);
}

static void syrk_t(int64_t m, int64_t k, double a, const double *X, double b, double *C) {
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)k, (int)m, a, X, (int)k, b, C, (int)k);
}

/* OpenBLAS asks whether a pivot is <= 0, which NaN is not: look for it on the diagonal. */
static int64_t potrf(int64_t D, double *A) {
    int64_t failed = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (lapack_int)D, A, (lapack_int)D);
    for (int64_t i = 0; i < D && failed == 0; i++) {
        if (!(A[i * D + i] > 0)) failed = i + 1;
    }
    return failed;
}

static void trsv(int64_t D, const double *L, bool transposed, double *x) {
    cblas_dtrsv(CblasRowMajor, CblasLower, transposed ? CblasTrans : CblasNoTrans, CblasNonUnit,
                (int)D, L, (int)D, x, 1);
}

static void trmv(int64_t D, const double *L, bool transposed, double *x) {
    cblas_dtrmv(CblasRowMajor, CblasLower, transposed ? CblasTrans : CblasNoTrans, CblasNonUnit,
                (int)D, L, (int)D, x, 1);
}

static void symv(int64_t D, const double *A, const double *x, double *y) {
    cblas_dsymv(CblasRowMajor, CblasLower, (int)D, 1.0, A, (int)D, x, 1, 0.0, y, 1);
}

int sgfsi_blas_threads(int threads) {
    int before = openblas_get_num_threads();
    openblas_set_num_threads(threads);
    return before;
}

const char *sgfsi_blas_config(void) {
    return openblas_get_config();
}

const char *sgfsi_blas_core(void) {
    return openblas_get_corename();
}

const sgfs_backend sgfs_backend_blas = {
    .name = "blas",
    .help = "OpenBLAS and LAPACK, libmvec for exp",
    .dot = dot,
    .axpy = axpy,
    .gemv = gemv,
    .gemv_t = gemv_t,
    .gemm_tn = gemm_tn,
    .syrk_t = syrk_t,
    .potrf = potrf,
    .trsv = trsv,
    .trmv = trmv,
    .symv = symv,
    .exp = sgfsi_vec_exp,
    .log1p = sgfsi_vec_log1p,
};
