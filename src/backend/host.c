/* SPDX-License-Identifier: MIT
 * host.c: plain readable C. The reference every other backend is compared with, for ever; also what
 * runs where no BLAS is wanted. Matrices are row-major; triangles are lower.
 */
#include <math.h>

#include "backend/backend.h"

static double dot(int64_t n, const double *x, const double *y) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static void axpy(int64_t n, double a, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] += a * x[i];
}

/* b = 0 overwrites: y may hold anything, NaN included. */
static void scale(int64_t n, double b, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = b == 0 ? 0 : b * y[i];
}

static void gemv(int64_t m, int64_t k, double a, const double *X, const double *v, double b,
                 double *y) {
    scale(m, b, y);
    for (int64_t i = 0; i < m; i++) y[i] += a * dot(k, X + i * k, v);
}

static void gemv_t(int64_t m, int64_t k, double a, const double *X, const double *v, double b,
                   double *y) {
    scale(k, b, y);
    for (int64_t i = 0; i < m; i++) axpy(k, a * v[i], X + i * k, y);
}

static void gemm_tn(int64_t m, int64_t r, int64_t c, double a, const double *A, const double *B,
                    double b, double *C) {
    scale(r * c, b, C);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < r; j++) axpy(c, a * A[i * r + j], B + i * c, C + j * c);
    }
}

static void syrk_t(int64_t m, int64_t k, double a, const double *X, double b, double *C) {
    for (int64_t j = 0; j < k; j++) scale(j + 1, b, C + j * k);
    for (int64_t i = 0; i < m; i++) {
        const double *x = X + i * k;
        for (int64_t j = 0; j < k; j++) axpy(j + 1, a * x[j], x, C + j * k);
    }
}

static int64_t potrf(int64_t D, double *A) {
    for (int64_t i = 0; i < D; i++) {
        double *row = A + i * D;
        for (int64_t j = 0; j < i; j++) {
            row[j] = (row[j] - dot(j, row, A + j * D)) / A[j * D + j];
        }
        double pivot = row[i] - dot(i, row, row);
        if (!(pivot > 0)) return i + 1;
        row[i] = sqrt(pivot);
    }
    return 0;
}

static void trsv(int64_t D, const double *L, bool transposed, double *x) {
    if (!transposed) {
        for (int64_t i = 0; i < D; i++) x[i] = (x[i] - dot(i, L + i * D, x)) / L[i * D + i];
        return;
    }
    for (int64_t i = D - 1; i >= 0; i--) {
        x[i] /= L[i * D + i];
        axpy(i, -x[i], L + i * D, x);
    }
}

static void trmv(int64_t D, const double *L, bool transposed, double *x) {
    if (!transposed) {
        for (int64_t i = D - 1; i >= 0; i--) x[i] = dot(i + 1, L + i * D, x);
        return;
    }
    for (int64_t i = 0; i < D; i++) {
        axpy(i, x[i], L + i * D, x);
        x[i] *= L[i * D + i];
    }
}

static void symv(int64_t D, const double *A, const double *x, double *y) {
    for (int64_t i = 0; i < D; i++) {
        y[i] = dot(i + 1, A + i * D, x);
        axpy(i, x[i], A + i * D, y);
    }
}

static void vec_exp(int64_t n, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = exp(x[i]);
}

static void vec_log1p(int64_t n, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = log1p(x[i]);
}

const sgfs_backend sgfs_backend_host = {
    .name = "host",
    .help = "plain C, the reference",
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
    .exp = vec_exp,
    .log1p = vec_log1p,
};
