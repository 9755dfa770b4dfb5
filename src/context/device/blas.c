/* SPDX-License-Identifier: MIT
 * blas.c: OpenBLAS and LAPACKE; the only file that sees their headers. Where one of their functions
 * is slow for the shapes of this house, another file has a better one (syrk.c).
 *
 * Our matrices are row-major with a lower triangle. LAPACKE's row-major calls transpose into a
 * copy, so potrf, potri and tpqrt are called column-major with an upper triangle: the same bytes,
 * no copy. Only LAPACKE's _work functions are used: the others allocate.
 */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cblas.h>
#include <lapacke.h>

#include "context/device/device.h"

/* OpenBLAS counts in int. Larger matrices were refused when they were opened (sgfsi_device_fits);
 * vectors may be as long as D^2, and go in several calls. Those are kept apart: with few parameters
 * it shows when the usual vector is anything more than one call. */
#define APART static __attribute__((noinline, cold))

static int dim(int64_t n) {
    assert(n >= 0 && n <= INT_MAX);
    return (int)n;
}

APART double long_dot(int64_t n, const double *x, const double *y) {
    double sum = 0;
    for (; n > INT_MAX; n -= INT_MAX, x += INT_MAX, y += INT_MAX)
        sum += cblas_ddot(INT_MAX, x, 1, y, 1);
    return sum + cblas_ddot((int)n, x, 1, y, 1);
}

static double dot(SGFSI_HERE, int64_t n, const double *x, const double *y) {
    return n <= INT_MAX ? cblas_ddot((int)n, x, 1, y, 1) : long_dot(n, x, y);
}

APART void long_axpy(int64_t n, double a, const double *x, double *y) {
    for (; n > INT_MAX; n -= INT_MAX, x += INT_MAX, y += INT_MAX)
        cblas_daxpy(INT_MAX, a, x, 1, y, 1);
    cblas_daxpy((int)n, a, x, 1, y, 1);
}

static void axpy(SGFSI_HERE, int64_t n, double a, const double *x, double *y) {
    if (n <= INT_MAX) cblas_daxpy((int)n, a, x, 1, y, 1);
    else long_axpy(n, a, x, y);
}

static void gemv(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, const double *v,
                 double b, double *y) {
    cblas_dgemv(CblasRowMajor, CblasNoTrans, dim(m), dim(k), a, X, dim(k), v, 1, b, y, 1);
}

static void gemv_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, const double *v,
                   double b, double *y) {
    cblas_dgemv(CblasRowMajor, CblasTrans, dim(m), dim(k), a, X, dim(k), v, 1, b, y, 1);
}

static void gemm_tn(SGFSI_HERE, int64_t m, int64_t r, int64_t c, double a, const double *A,
                    const double *B, double b, double *C) {
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim(r), dim(c), dim(m), a, A, dim(r), B,
                dim(c), b, C, dim(c));
}

static void gemm_nt(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a, const double *A,
                    const double *B, double b, double *C) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, dim(m), dim(r), dim(k), a, A, dim(k), B,
                dim(k), b, C, dim(r));
}

static void gemm_nn(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a, const double *A,
                    const double *B, double b, double *C) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, dim(m), dim(r), dim(k), a, A, dim(k), B,
                dim(r), b, C, dim(r));
}

static void syrk_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, double b,
                   double *C) {
    if (sgfsi_narrow_syrk_fits(m, k)) sgfsi_narrow_syrk(m, k, a, X, b, C);
    else
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, dim(k), dim(m), a, X, dim(k), b, C,
                    dim(k));
}

/* OpenBLAS asks whether a pivot is <= 0, which NaN is not: look for it on the diagonal. */
static int64_t potrf(SGFSI_HERE, int64_t D, double *A) {
    int64_t failed = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', dim(D), A, dim(D));
    for (int64_t i = 0; i < D && failed == 0; i++) {
        if (!(A[i * D + i] > 0)) failed = i + 1;
    }
    return failed;
}

/* n rows and columns of a matrix with rows of length D:
 *     [A 0; B C] [A' B'; 0 C'] = [A A'  .; B A'  B B' + C C'],
 * halves of halves down to SMALL, where rows are multiplied one by one, from the last up. */
static void multiply_back(SGFSI_HERE, int64_t n, int64_t D, double *L) {
    enum { SMALL = 64 };
    if (n <= SMALL) {
        for (int64_t i = n - 1; i >= 0; i--) {
            double *row = L + i * D;
            row[i] = dot(dev, i + 1, row, row);
            for (int64_t j = i - 1; j >= 0; j--) row[j] = dot(dev, j + 1, L + j * D, row);
        }
        return;
    }
    int64_t half = n / 2, rest = n - half;
    double *B = L + half * D, *C = B + half;
    multiply_back(dev, rest, D, C);
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, dim(rest), dim(half), 1, B, dim(D), 1, C,
                dim(D));
    cblas_dtrmm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, dim(rest),
                dim(half), 1, L, dim(D), B, dim(D));
    multiply_back(dev, half, D, L);
}

static void unpotrf(SGFSI_HERE, int64_t D, double *L) {
    multiply_back(dev, D, D, L);
}

static void potri(SGFSI_HERE, int64_t D, double *L) {
    (void)LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'U', dim(D), L, dim(D));
}

/* Y (k x m) = X' (m x k), by tiles that fit the cache. */
static void transpose(int64_t m, int64_t k, const double *X, double *Y) {
    enum { TILE = 16 };
    for (int64_t r = 0; r < m; r += TILE) {
        for (int64_t c = 0; c < k; c += TILE) {
            for (int64_t j = c; j < c + TILE && j < k; j++) {
                for (int64_t i = r; i < r + TILE && i < m; i++) Y[j * m + i] = X[i * k + j];
            }
        }
    }
}

/* Reflections leave a diagonal of either sign; the Cholesky factor's is positive. 0, or -1 when
 * some number of it is zero or not finite. */
static int64_t make_positive(int64_t D, double *L, double *sign) {
    for (int64_t j = 0; j < D; j++) {
        double d = L[j * D + j];
        if (!(fabs(d) > 0 && isfinite(d))) return -1;
        sign[j] = d > 0 ? 1 : -1;
    }
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j <= i; j++) L[i * D + j] *= sign[j];
    }
    return 0;
}

/* The QR factorisation of R = L' with the rows of X under it: [R; X] = Q [R'; 0], so R''R' = L L' +
 * X'X. LAPACK's dtpqrt knows that R is triangular and leaves it so: 2 n D^2 operations, by
 * reflections, in panels of `panel` columns (measured: 8 are best below D = 300, 32 above).
 *   work: X column by column (n D), the reflections' factors T and room of one panel (panel D
 * each) */
static int64_t chol_update(SGFSI_HERE, int64_t D, int64_t n, double *L, double *X, double *work) {
    enum { NARROW = 8, WIDE = 32 }; /* SGFS_UPDATE_WORK has room for two of 32 */
    const int64_t panel = D < NARROW ? D : D < 300 ? NARROW : WIDE;
    double *columns = work, *T = columns + n * D, *room = T + panel * D;
    if (n == 0 || D == 0) return 0;
    transpose(n, D, X, columns);
    (void)LAPACKE_dtpqrt_work(LAPACK_COL_MAJOR, dim(n), dim(D), 0, dim(panel), L, dim(D), columns,
                              dim(n), T, dim(panel), room);
    return make_positive(D, L, T);
}

/* Woodbury: with Y = X P and C C' = I + X P X',  P -= Y' C^-T C^-1 Y.
 *   work: Y (n x D), C (n x n) */
static int64_t inv_update(SGFSI_HERE, int64_t D, int64_t n, double *P, double *X, double *work) {
    int d = dim(D), m = dim(n);
    double *Y = work, *C = Y + n * D;
    cblas_dsymm(CblasRowMajor, CblasRight, CblasLower, m, d, 1, P, d, X, d, 0, Y, d);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, m, d, 1, X, d, Y, d, 0, C, m);
    for (int64_t i = 0; i < n; i++) C[i * n + i] += 1;
    if (potrf(dev, n, C) != 0) return -1;
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, m, d, 1, C, m, Y,
                d);
    syrk_t(dev, n, D, -1, Y, 1, P);
    for (int64_t j = 0; j < D; j++) {
        if (!(P[j * D + j] > 0)) return -1;
    }
    return 0;
}

static void trsv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    cblas_dtrsv(CblasRowMajor, CblasLower, transposed ? CblasTrans : CblasNoTrans, CblasNonUnit,
                dim(D), L, dim(D), x, 1);
}

static void trmv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    cblas_dtrmv(CblasRowMajor, CblasLower, transposed ? CblasTrans : CblasNoTrans, CblasNonUnit,
                dim(D), L, dim(D), x, 1);
}

static void symv(SGFSI_HERE, int64_t D, const double *A, const double *x, double *y) {
    cblas_dsymv(CblasRowMajor, CblasLower, dim(D), 1.0, A, dim(D), x, 1, 0.0, y, 1);
}

/* Column by column LAPACK's eigenvectors are ours row by row. Its integers lie behind its
 * numbers. */
static int64_t eigen(SGFSI_HERE, int64_t D, double *A, double *w, double *work) {
    int64_t numbers = 1 + 6 * D + 2 * D * D;
    if (D == 0) return 0;
    return LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', dim(D), A, dim(D), w, work, dim(numbers),
                               (lapack_int *)(work + numbers), dim(3 + 5 * D));
}

/* OpenBLAS has one number of threads for the whole process, so what it was, and how many want it to
 * be one, is known once, too. */
static struct {
    pthread_mutex_t lock;
    int64_t inside;
    int threads;
    int64_t roomy; /* threads for whose buffers there was room once: they are kept */
} outside = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void enter(SGFSI_HERE) {
    pthread_mutex_lock(&outside.lock);
    if (outside.inside++ == 0) {
        outside.threads = openblas_get_num_threads();
        openblas_set_num_threads(1);
    }
    pthread_mutex_unlock(&outside.lock);
}

static void leave(SGFSI_HERE) {
    pthread_mutex_lock(&outside.lock);
    if (--outside.inside == 0) openblas_set_num_threads(outside.threads);
    pthread_mutex_unlock(&outside.lock);
}

/* OpenBLAS takes a buffer for each thread that calls it at the same time, keeps it, and where it
 * cannot have it tries again for ever. So it is asked of the system first, where memory may be
 * limited (ulimit -v) though the buffers are hardly used. */
static sgfs_status make_room(SGFSI_HERE, int64_t threads, sgfs_err *err) {
    const double buffer = 129.0 * (1 << 20); /* 32 MB to 128 MB, by version and machine */
    const double arena = 64.0 * (1 << 20);   /* what malloc sets aside for a thread */
    pthread_mutex_lock(&outside.lock);
    bool fits = threads <= outside.roomy;
    /* Its own threads, begun when it was loaded, may not have theirs yet. */
    int64_t own = outside.roomy == 0 ? openblas_get_num_threads() - 1 : 0;
    double bytes = (buffer + arena) * (double)(threads - outside.roomy) + buffer * (double)own;
    void *trial = fits ? MAP_FAILED
                       : mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (trial != MAP_FAILED) {
        munmap(trial, (size_t)bytes);
        outside.roomy = threads;
        fits = true;
    }
    pthread_mutex_unlock(&outside.lock);
    if (fits) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ENOMEM,
                      "OpenBLAS needs %.0f bytes of address space for %lld threads, and there are "
                      "not so many for this process (ulimit -v). Raise the limit, or use fewer "
                      "--threads or --device host.",
                      bytes, (long long)threads);
}

static const char *library(SGFSI_HERE) {
    return openblas_get_config();
}

static const char *kernel(SGFSI_HERE) {
    return openblas_get_corename();
}

static const sgfsi_device_ops ops = {
    .make_room = make_room,
    .enter = enter,
    .leave = leave,
    .library = library,
    .kernel = kernel,
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
    .eigen = eigen,
    .exp = sgfsi_vec_exp,
    .log1p = sgfsi_vec_log1p,
};

const sgfs_device sgfs_device_blas = {
    .name = "blas", .help = "OpenBLAS and LAPACK, libmvec for exp", .ops = &ops, .most = INT_MAX};
