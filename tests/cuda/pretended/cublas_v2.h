/* SPDX-License-Identifier: MIT
 * cublas_v2.h: as much of cuBLAS as the plug-in uses, by OpenBLAS (cuda_runtime.h of this folder).
 */
#pragma once

#include <cblas.h>

#include "cuda_runtime.h"

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_EXECUTION_FAILED };
enum cublasOperation_t { CUBLAS_OP_N = CblasNoTrans, CUBLAS_OP_T = CblasTrans };
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER = CblasLower, CUBLAS_FILL_MODE_UPPER = CblasUpper };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT = CblasLeft, CUBLAS_SIDE_RIGHT = CblasRight };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT = CblasNonUnit };
typedef struct pretended_blas *cublasHandle_t;

inline const char *cublasGetStatusString(cublasStatus_t) {
    return "CUBLAS_STATUS_EXECUTION_FAILED";
}
inline cublasStatus_t pretended_product() {
    pretended_count();
    return pretended_lost ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasCreate(cublasHandle_t *) {
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t) {
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t s) {
    s->works = true;
    return CUBLAS_STATUS_SUCCESS;
}

#define TURN(op)   static_cast<CBLAS_TRANSPOSE>(op)
#define FILL(uplo) static_cast<CBLAS_UPLO>(uplo)

inline cublasStatus_t cublasDgemv(cublasHandle_t, cublasOperation_t op, int m, int n,
                                  const double *a, const double *A, int lda, const double *x,
                                  int incx, const double *b, double *y, int incy) {
    cblas_dgemv(CblasColMajor, TURN(op), m, n, *a, A, lda, x, incx, *b, y, incy);
    return pretended_product();
}
inline cublasStatus_t cublasDgemm(cublasHandle_t, cublasOperation_t ta, cublasOperation_t tb, int m,
                                  int n, int k, const double *a, const double *A, int lda,
                                  const double *B, int ldb, const double *b, double *C, int ldc) {
    cblas_dgemm(CblasColMajor, TURN(ta), TURN(tb), m, n, k, *a, A, lda, B, ldb, *b, C, ldc);
    return pretended_product();
}
inline cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t, cublasOperation_t ta,
                                                cublasOperation_t tb, int m, int n, int k,
                                                const double *a, const double *A, int lda,
                                                long long next_A, const double *B, int ldb,
                                                long long next_B, const double *b, double *C,
                                                int ldc, long long next_C, int count) {
    for (int i = 0; i < count; i++, A += next_A, B += next_B, C += next_C)
        cblas_dgemm(CblasColMajor, TURN(ta), TURN(tb), m, n, k, *a, A, lda, B, ldb, *b, C, ldc);
    return pretended_product();
}
inline cublasStatus_t cublasDsyrk(cublasHandle_t, cublasFillMode_t uplo, cublasOperation_t op,
                                  int n, int k, const double *a, const double *A, int lda,
                                  const double *b, double *C, int ldc) {
    cblas_dsyrk(CblasColMajor, FILL(uplo), TURN(op), n, k, *a, A, lda, *b, C, ldc);
    return pretended_product();
}
inline cublasStatus_t cublasDsymm(cublasHandle_t, cublasSideMode_t side, cublasFillMode_t uplo,
                                  int m, int n, const double *a, const double *A, int lda,
                                  const double *B, int ldb, const double *b, double *C, int ldc) {
    cblas_dsymm(CblasColMajor, static_cast<CBLAS_SIDE>(side), FILL(uplo), m, n, *a, A, lda, B, ldb,
                *b, C, ldc);
    return pretended_product();
}
inline cublasStatus_t cublasDtrsm(cublasHandle_t, cublasSideMode_t side, cublasFillMode_t uplo,
                                  cublasOperation_t op, cublasDiagType_t diag, int m, int n,
                                  const double *a, const double *A, int lda, double *B, int ldb) {
    cblas_dtrsm(CblasColMajor, static_cast<CBLAS_SIDE>(side), FILL(uplo), TURN(op),
                static_cast<CBLAS_DIAG>(diag), m, n, *a, A, lda, B, ldb);
    return pretended_product();
}
inline cublasStatus_t cublasDsymv(cublasHandle_t, cublasFillMode_t uplo, int n, const double *a,
                                  const double *A, int lda, const double *x, int incx,
                                  const double *b, double *y, int incy) {
    cblas_dsymv(CblasColMajor, FILL(uplo), n, *a, A, lda, x, incx, *b, y, incy);
    return pretended_product();
}
inline cublasStatus_t cublasDtrmv(cublasHandle_t, cublasFillMode_t uplo, cublasOperation_t op,
                                  cublasDiagType_t diag, int n, const double *A, int lda, double *x,
                                  int incx) {
    cblas_dtrmv(CblasColMajor, FILL(uplo), TURN(op), static_cast<CBLAS_DIAG>(diag), n, A, lda, x,
                incx);
    return pretended_product();
}
