/* SPDX-License-Identifier: MIT
 * host.c: plain readable C. The reference every other device is compared with, for ever; also what
 * runs where no BLAS is wanted. Matrices are row-major; triangles are lower.
 */
#include <math.h>

#include "base/matrix.h"
#include "context/device/device.h"

static double dot(SGFSI_HERE, int64_t n, const double *x, const double *y) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

static void axpy(SGFSI_HERE, int64_t n, double a, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] += a * x[i];
}

/* b = 0 overwrites: y may hold anything, NaN included. */
static void scale(int64_t n, double b, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = b == 0 ? 0 : b * y[i];
}

static void gemv(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, const double *v,
                 double b, double *y) {
    scale(m, b, y);
    for (int64_t i = 0; i < m; i++) y[i] += a * dot(dev, k, X + i * k, v);
}

static void gemv_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, const double *v,
                   double b, double *y) {
    scale(k, b, y);
    for (int64_t i = 0; i < m; i++) axpy(dev, k, a * v[i], X + i * k, y);
}

static void gemm_tn(SGFSI_HERE, int64_t m, int64_t r, int64_t c, double a, const double *A,
                    const double *B, double b, double *C) {
    scale(r * c, b, C);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < r; j++) axpy(dev, c, a * A[i * r + j], B + i * c, C + j * c);
    }
}

static void gemm_nt(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a, const double *A,
                    const double *B, double b, double *C) {
    scale(m * r, b, C);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < r; j++) C[i * r + j] += a * dot(dev, k, A + i * k, B + j * k);
    }
}

static void gemm_nn(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a, const double *A,
                    const double *B, double b, double *C) {
    scale(m * r, b, C);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < k; j++) axpy(dev, r, a * A[i * k + j], B + j * r, C + i * r);
    }
}

static void syrk_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, double b,
                   double *C) {
    for (int64_t j = 0; j < k; j++) scale(j + 1, b, C + j * k);
    for (int64_t i = 0; i < m; i++) {
        const double *x = X + i * k;
        for (int64_t j = 0; j < k; j++) axpy(dev, j + 1, a * x[j], x, C + j * k);
    }
}

static void symv(SGFSI_HERE, int64_t D, const double *A, const double *x, double *y) {
    for (int64_t i = 0; i < D; i++) {
        y[i] = dot(dev, i + 1, A + i * D, x);
        axpy(dev, i, x[i], A + i * D, y);
    }
}

static int64_t potrf(SGFSI_HERE, int64_t D, double *A) {
    return sgfsi_cholesky(D, A);
}

/* Row i of L L' is the product of the leading i x i part of L with row i of L: from the last row
 * up, nothing is needed that is already overwritten. */
static void unpotrf(SGFSI_HERE, int64_t D, double *L) {
    for (int64_t i = D - 1; i >= 0; i--) {
        double *row = L + i * D;
        row[i] = dot(dev, i + 1, row, row);
        for (int64_t j = i - 1; j >= 0; j--) row[j] = dot(dev, j + 1, L + j * D, row);
    }
}

/* L -> L^-1 -> P = L^-T L^-1, both in place. */
static void potri(SGFSI_HERE, int64_t D, double *L) {
    for (int64_t i = 0; i < D; i++) { /* row i of L^-1; those above are done */
        double *row = L + i * D, pivot = row[i];
        for (int64_t j = 0; j < i; j++) {
            double sum = 0;
            for (int64_t k = j; k < i; k++) sum += row[k] * L[k * D + j];
            row[j] = -sum / pivot;
        }
        row[i] = 1 / pivot;
    }
    for (int64_t i = 0; i < D; i++) { /* P_ij = sum over k >= i of (L^-1)_ki (L^-1)_kj */
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0;
            for (int64_t k = i; k < D; k++) sum += L[k * D + i] * L[k * D + j];
            L[i * D + j] = sum;
        }
    }
}

/* One row x of X at a time: a plane rotation of each column of L with x makes x_j zero, and leaves
 * L L' + x x' as it was. No subtraction of squares anywhere. */
static int64_t chol_update(SGFSI_HERE, int64_t D, int64_t n, double *L, double *X, double *work) {
    (void)work;
    for (double *x = X; x < X + n * D; x += D) {
        for (int64_t j = 0; j < D; j++) {
            double r = hypot(L[j * D + j], x[j]);
            if (r == 0) return -1;
            double c = L[j * D + j] / r, s = x[j] / r;
            L[j * D + j] = r;
            for (int64_t i = j + 1; i < D; i++) {
                double l = L[i * D + j];
                L[i * D + j] = c * l + s * x[i];
                x[i] = c * x[i] - s * l;
            }
        }
    }
    for (int64_t j = 0; j < D; j++) {
        if (!(L[j * D + j] > 0 && isfinite(L[j * D + j]))) return -1;
    }
    return 0;
}

/* Sherman and Morrison, row by row: P -= (P x)(P x)' / (1 + x' P x). */
static int64_t inv_update(SGFSI_HERE, int64_t D, int64_t n, double *P, double *X, double *work) {
    double *v = work; /* D */
    for (const double *x = X; x < X + n * D; x += D) {
        symv(dev, D, P, x, v);
        double scale = 1 + dot(dev, D, x, v);
        if (!(scale >= 1 && isfinite(scale))) return -1;
        for (int64_t i = 0; i < D; i++) axpy(dev, i + 1, -v[i] / scale, v, P + i * D);
    }
    for (int64_t j = 0; j < D; j++) {
        if (!(P[j * D + j] > 0)) return -1;
    }
    return 0;
}

static void trsv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    if (!transposed) {
        for (int64_t i = 0; i < D; i++) x[i] = (x[i] - dot(dev, i, L + i * D, x)) / L[i * D + i];
        return;
    }
    for (int64_t i = D - 1; i >= 0; i--) {
        x[i] /= L[i * D + i];
        axpy(dev, i, -x[i], L + i * D, x);
    }
}

static void trmv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    if (!transposed) {
        for (int64_t i = D - 1; i >= 0; i--) x[i] = dot(dev, i + 1, L + i * D, x);
        return;
    }
    for (int64_t i = 0; i < D; i++) {
        axpy(dev, i, x[i], L + i * D, x);
        x[i] *= L[i * D + i];
    }
}

static void vec_exp(SGFSI_HERE, int64_t n, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = exp(x[i]);
}

static void vec_log1p(SGFSI_HERE, int64_t n, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = log1p(x[i]);
}

static const sgfsi_device_ops ops = {
    .dot = dot,
    .axpy = axpy,
    .gemv = gemv,
    .gemv_t = gemv_t,
    .gemm_tn = gemm_tn,
    .gemm_nt = gemm_nt,
    .gemm_nn = gemm_nn,
    .syrk_t = syrk_t,
    .potrf = potrf,
    .unpotrf = unpotrf,
    .potri = potri,
    .chol_update = chol_update,
    .inv_update = inv_update,
    .trsv = trsv,
    .trmv = trmv,
    .symv = symv,
    .exp = vec_exp,
    .log1p = vec_log1p,
};

const sgfs_device sgfs_device_host = {
    .name = "host", .help = "plain C, the reference", .ops = &ops, .most = INT64_MAX};
