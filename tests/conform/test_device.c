/* SPDX-License-Identifier: MIT
 * test_device.c: every device does the same arithmetic as `host`, on shapes that do not fill a
 * vector register or a cache block, and keeps to the triangle it was given. A device without the
 * operations that have a default, and one with memory of its own, do the same.
 *
 * `test_device cuda` does all of it with a GPU, behind a mirror (tools/mirror.h), and skips
 * without.
 *
 * Tolerance. Entries lie in (-1, 1), so a sum of k products is at most k and its rounding error,
 * in any order of summation, at most k (k + 1) eps / 2 for each of the two devices.
 */
#include <float.h>
#include <stdio.h>

#include "context/device/device.h"
#include "tools/check.h"
#include "tools/gpu.h"
#include "tools/mirror.h"

enum { SHAPES = 6, FACTORS = 3 };
static const int64_t shape[SHAPES] = {1, 2, 3, 7, 51, 129};
static const double factor[FACTORS] = {0, 1, -0.7};

static const sgfs_device *const host = &sgfs_device_host;

static double rounding(int64_t k) {
    return (double)((k + 2) * (k + 2)) * DBL_EPSILON;
}

/* Those that work in the host's memory, or the mirror of the one that was asked for. */
static const sgfs_device *tested[8];
#define EACH_DEVICE(dev)                                                                           \
    for (const sgfs_device *const *row = tested, *dev; (dev = *row) != NULL; row++)

static void assert_same(const char *device, const char *what, int64_t n, const double *got,
                        const double *wanted, double tolerance) {
    char text[128];
    for (int64_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%s %s [%lld]", device, what, (long long)i);
        assert_near(got[i], wanted[i], tolerance, text);
    }
}

/* What y holds before y = a X v + b y: with b = 0 it must not matter. */
static double *old_values(int64_t n, double b, uint64_t seed) {
    double *y = numbers(n, seed);
    for (int64_t i = 0; b == 0 && i < n; i++) y[i] = NAN;
    return y;
}

static double *copy_of(const double *x, int64_t n) {
    double *y = zeros(n);
    memcpy(y, x, (size_t)n * sizeof *y);
    return y;
}

/* ---- sums and products ----------------------------------------------------------------------- */

static void test_dot_and_axpy(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int k = 0; k < SHAPES; k++) {
            int64_t n = shape[k];
            double *x = numbers(n, 11), *y = numbers(n, 12), sum = 0;
            for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
            assert_near(sgfsi_dot(dev, n, x, y), sum, rounding(n), dev->name);
            for (int f = 0; f < FACTORS; f++) {
                double *got = copy_of(y, n), *wanted = copy_of(y, n);
                for (int64_t i = 0; i < n; i++) wanted[i] += factor[f] * x[i];
                sgfsi_axpy(dev, n, factor[f], x, got);
                assert_same(dev->name, "axpy", n, got, wanted, 2 * DBL_EPSILON);
                free(got);
                free(wanted);
            }
            free(x);
            free(y);
        }
        assert_true(sgfsi_dot(dev, 0, NULL, NULL) == 0);
    }
}

static void check_gemv(const sgfs_device *dev, int64_t m, int64_t k, double a, double b) {
    double *X = numbers(m * k, 21), *v = numbers(k, 22), *u = numbers(m, 23);
    double *got = old_values(m, b, 24), *wanted = copy_of(got, m);
    sgfsi_gemv(dev, m, k, a, X, v, b, got);
    for (int64_t i = 0; i < m; i++) {
        double sum = 0;
        for (int64_t j = 0; j < k; j++) sum += X[i * k + j] * v[j];
        wanted[i] = a * sum + (b == 0 ? 0 : b * wanted[i]);
    }
    assert_same(dev->name, "gemv", m, got, wanted, rounding(k));
    double *got_t = old_values(k, b, 25), *wanted_t = copy_of(got_t, k);
    sgfsi_gemv_t(dev, m, k, a, X, u, b, got_t);
    for (int64_t j = 0; j < k; j++) {
        double sum = 0;
        for (int64_t i = 0; i < m; i++) sum += X[i * k + j] * u[i];
        wanted_t[j] = a * sum + (b == 0 ? 0 : b * wanted_t[j]);
    }
    assert_same(dev->name, "gemv_t", k, got_t, wanted_t, rounding(m));
    free(X);
    free(v);
    free(u);
    free(got);
    free(wanted);
    free(got_t);
    free(wanted_t);
}

static void check_gemm_tn(const sgfs_device *dev, int64_t m, int64_t r, int64_t c, double a,
                          double b) {
    double *A = numbers(m * r, 31), *B = numbers(m * c, 32);
    double *got = old_values(r * c, b, 33), *wanted = copy_of(got, r * c);
    sgfsi_gemm_tn(dev, m, r, c, a, A, B, b, got);
    sgfsi_gemm_tn(host, m, r, c, a, A, B, b, wanted);
    assert_same(dev->name, "gemm_tn", r * c, got, wanted, rounding(m));
    double sum = 0; /* one entry by hand, so that host is checked too */
    for (int64_t i = 0; i < m; i++) sum += A[i * r + r - 1] * B[i * c];
    double *before = old_values(r * c, b, 33), old = before[(r - 1) * c];
    assert_near(got[(r - 1) * c], a * sum + (b == 0 ? 0 : b * old), rounding(m), dev->name);
    free(before);
    free(A);
    free(B);
    free(got);
    free(wanted);
}

static void check_gemm_nt(const sgfs_device *dev, int64_t m, int64_t r, int64_t k, double a,
                          double b) {
    double *A = numbers(m * k, 34), *B = numbers(r * k, 35);
    double *got = old_values(m * r, b, 36), *wanted = copy_of(got, m * r);
    for (int64_t i = 0; i < m * r; i++) {
        double sum = 0;
        for (int64_t j = 0; j < k; j++) sum += A[i / r * k + j] * B[i % r * k + j];
        wanted[i] = a * sum + (b == 0 ? 0 : b * wanted[i]);
    }
    sgfsi_gemm_nt(dev, m, r, k, a, A, B, b, got);
    assert_same(dev->name, "gemm_nt", m * r, got, wanted, rounding(k));
    free(A);
    free(B);
    free(got);
    free(wanted);
}

static void check_gemm_nn(const sgfs_device *dev, int64_t m, int64_t r, int64_t k, double a,
                          double b) {
    double *A = numbers(m * k, 37), *B = numbers(k * r, 38);
    double *got = old_values(m * r, b, 39), *wanted = copy_of(got, m * r);
    for (int64_t i = 0; i < m * r; i++) {
        double sum = 0;
        for (int64_t j = 0; j < k; j++) sum += A[i / r * k + j] * B[j * r + i % r];
        wanted[i] = a * sum + (b == 0 ? 0 : b * wanted[i]);
    }
    sgfsi_gemm_nn(dev, m, r, k, a, A, B, b, got);
    assert_same(dev->name, "gemm_nn", m * r, got, wanted, rounding(k));
    free(A);
    free(B);
    free(got);
    free(wanted);
}

/* Only the lower triangle may be written: the upper one holds 2.385 and keeps it. */
static void check_syrk_t(const sgfs_device *dev, int64_t m, int64_t k, double a, double b) {
    double *X = numbers(m * k, 41), *got = old_values(k * k, b, 42), *wanted = copy_of(got, k * k);
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j < k; j++) {
            double sum = 0;
            for (int64_t t = 0; t < m; t++) sum += X[t * k + i] * X[t * k + j];
            if (j <= i) wanted[i * k + j] = a * sum + (b == 0 ? 0 : b * wanted[i * k + j]);
            else wanted[i * k + j] = got[i * k + j] = 2.385;
        }
    }
    sgfsi_syrk_t(dev, m, k, a, X, b, got);
    assert_same(dev->name, "syrk_t", k * k, got, wanted, rounding(m));
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j <= i; j++) assert_true(!isnan(got[i * k + j]));
        for (int64_t j = i + 1; j < k; j++) assert_true(got[i * k + j] == 2.385);
    }
    free(X);
    free(got);
    free(wanted);
}

/* Every way in which the last tiles of a narrow product can overlap the others (syrk.c), and more
 * rows than a strip has. */
static void test_narrow_syrk_of_every_width(void **state) {
    (void)state;
    EACH_DEVICE(dev)
    for (int64_t k = 1; k < 70; k++)
        for (int64_t m = 8; m < 2000; m = 5 * m + 3) check_syrk_t(dev, m, k, 0.7, 1.5);
}

static void test_products_of_every_shape(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int i = 0; i < SHAPES * SHAPES * FACTORS * FACTORS; i++) {
            int64_t m = shape[i % SHAPES], k = shape[i / SHAPES % SHAPES];
            double a = factor[i / (SHAPES * SHAPES) % FACTORS];
            double b = factor[i / (SHAPES * SHAPES * FACTORS)];
            check_gemv(dev, m, k, a, b);
            check_gemm_tn(dev, m, k, shape[(i + 2) % SHAPES], a, b);
            check_gemm_nt(dev, m, k, shape[(i + 2) % SHAPES], a, b);
            check_gemm_nn(dev, m, k, shape[(i + 2) % SHAPES], a, b);
            check_syrk_t(dev, m, k, a, b);
        }
    }
}

/* ---- triangles ------------------------------------------------------------------------------- */

/* A = X'X/m + I/2: eigenvalues between 1/2 and about 2, so the condition number is small; NaN above
 * the diagonal. */
static double *make_definite(int64_t D) {
    int64_t m = 2 * D + 3;
    double *X = numbers(m * D, 51), *A = zeros(D * D);
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j < D; j++) {
            for (int64_t t = 0; t < m; t++) A[i * D + j] += X[t * D + i] * X[t * D + j] / (double)m;
            if (j > i) A[i * D + j] = NAN;
        }
        A[i * D + i] += 0.5;
    }
    free(X);
    return A;
}

/* The upper triangle belongs to nobody and keeps its NaN. */
static void assert_same_triangle(const char *device, const char *what, int64_t D, const double *got,
                                 const double *wanted, double tolerance) {
    for (int64_t i = 0; i < D; i++) {
        assert_same(device, what, i + 1, got + i * D, wanted + i * D, tolerance);
        for (int64_t j = i + 1; j < D; j++) assert_true(isnan(got[i * D + j]) != 0);
    }
}

static void test_factor_times_its_transpose_is_the_matrix(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int s = 0; s <= SHAPES; s++) {
            int64_t D = s < SHAPES ? shape[s] : 300; /* a large one goes by strips of columns */
            double *A = make_definite(D), *L = copy_of(A, D * D);
            assert_int_equal(sgfsi_potrf(dev, D, L), 0);
            for (int64_t i = 0; i < D; i++) {
                assert_true(L[i * D + i] > 0);
                for (int64_t j = 0; j <= i; j++) {
                    double sum = 0;
                    for (int64_t t = 0; t <= j; t++) sum += L[i * D + t] * L[j * D + t];
                    assert_near(sum, A[i * D + j], rounding(D), dev->name);
                }
                for (int64_t j = i + 1; j < D; j++) assert_true(isnan(L[i * D + j]) != 0);
            }
            sgfsi_unpotrf(dev, D, L);
            assert_same_triangle(dev->name, "unpotrf", D, L, A, rounding(D));
            for (int64_t i = 0; i < D; i++) {
                for (int64_t j = i + 1; j < D; j++) assert_true(isnan(L[i * D + j]) != 0);
            }
            free(A);
            free(L);
        }
    }
}

/* A matrix whose leading minors are positive up to order `bad` - 1 only. */
static void test_a_matrix_that_is_not_definite_is_located(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int s = 0; s < SHAPES; s++) {
            int64_t D = shape[s];
            for (int64_t bad = 1; bad <= D; bad += 1 + D / 5) {
                double *A = make_definite(D);
                A[(bad - 1) * D + bad - 1] = -0.37;
                assert_int_equal(sgfsi_potrf(dev, D, A), bad);
                free(A);
                A = make_definite(D); /* NaN is not positive: it may not pass as a factor */
                A[(bad - 1) * D + (bad - 1) / 2] = NAN;
                assert_int_equal(sgfsi_potrf(dev, D, A), bad);
                free(A);
            }
            double *A = zeros(D * D); /* singular is not definite either */
            assert_int_equal(sgfsi_potrf(dev, D, A), 1);
            free(A);
        }
    }
}

static void test_solving_undoes_multiplying(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int s = 0; s < 2 * SHAPES; s++) {
            int64_t D = shape[s / 2];
            bool transposed = s % 2 == 1;
            double *L = make_definite(D), *x = numbers(D, 61);
            assert_int_equal(sgfsi_potrf(host, D, L), 0);
            double *got = copy_of(x, D), *product = zeros(D);
            sgfsi_trmv(dev, D, L, transposed, got);
            for (int64_t i = 0; i < D; i++) {
                for (int64_t j = 0; j <= i; j++) {
                    if (!transposed) product[i] += L[i * D + j] * x[j];
                    else product[j] += L[i * D + j] * x[i];
                }
            }
            assert_same(dev->name, "trmv", D, got, product, 2 * rounding(D));
            sgfsi_trsv(dev, D, L, transposed, got);
            /* condition number of L at most 2, so a small multiple of the sums' own rounding */
            assert_same(dev->name, "trsv after trmv", D, got, x, 8 * rounding(D));
            sgfsi_trsv(dev, D, L, transposed, got);
            sgfsi_trmv(dev, D, L, transposed, got);
            assert_same(dev->name, "trmv after trsv", D, got, x, 8 * rounding(D));
            /* L (L' y) - a L z, for y = L^-T (L^-1 x + a z), is x */
            double *z = transposed ? numbers(D, 62) : NULL;
            sgfsi_solve_noisy(dev, D, L, -0.7, z, got);
            sgfsi_trmv(host, D, L, true, got);
            if (transposed) sgfsi_axpy(host, D, 0.7, z, got);
            sgfsi_trmv(host, D, L, false, got);
            assert_same(dev->name, "solve_noisy", D, got, x, 32 * rounding(D));
            free(z);
            free(L);
            free(x);
            free(got);
            free(product);
        }
    }
}

static void test_symv_reads_the_lower_triangle(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int s = 0; s < SHAPES; s++) {
            int64_t D = shape[s];
            double *A = make_definite(D), *x = numbers(D, 71), *wanted = zeros(D);
            double *got = old_values(D, 0, 72);
            sgfsi_symv(dev, D, A, x, got);
            for (int64_t i = 0; i < D; i++) {
                for (int64_t j = 0; j < D; j++)
                    wanted[i] += A[i > j ? i * D + j : j * D + i] * x[j];
            }
            assert_same(dev->name, "symv", D, got, wanted, 2 * rounding(D));
            free(A);
            free(x);
            free(wanted);
            free(got);
        }
    }
}

/* ---- updates --------------------------------------------------------------------------------- */

static void copy_triangle(int64_t D, const double *from, double *to) {
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j <= i; j++) to[i * D + j] = from[i * D + j];
    }
}

/* A v_k = w_k v_k, V V' = I, w in order, also where A has several eigenvalues of 0. */
static void test_eigenvectors(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int s = 0; s < 2 * SHAPES; s++) {
            int64_t D = shape[s % SHAPES], n = s < SHAPES ? D + 3 : D / 2;
            double *X = numbers(n * D, 57), *A = zeros(D * D), *w = zeros(D);
            double *work = zeros(SGFS_EIGEN_WORK(D)), *y = zeros(D);
            sgfsi_syrk_t(host, n, D, 1, X, 0, A);
            double *V = copy_of(A, D * D), tolerance = 8 * (double)(n + 1) * rounding(D);
            assert_int_equal(sgfsi_eigen(dev, D, V, w, work), 0);
            for (int64_t k = 0; k < D; k++) {
                assert_true(k == 0 || w[k] >= w[k - 1]);
                assert_true(w[k] > -tolerance && (k >= D - n || fabs(w[k]) < tolerance));
                sgfsi_symv(host, D, A, V + k * D, y);
                sgfsi_axpy(host, D, -w[k], V + k * D, y);
                for (int64_t j = 0; j < D; j++) {
                    assert_near(y[j], 0, tolerance, dev->name);
                    assert_near(sgfsi_dot(host, D, V + k * D, V + j * D), k == j, rounding(D),
                                dev->name);
                }
            }
            free(X);
            free(A);
            free(V);
            free(w);
            free(work);
            free(y);
        }
    }
}

static void test_potri_inverts(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int s = 0; s < SHAPES; s++) {
            int64_t D = shape[s];
            double *A = make_definite(D), *P = copy_of(A, D * D), *x = numbers(D, 55);
            double *y = zeros(D), *z = zeros(D);
            assert_int_equal(sgfsi_potrf(dev, D, P), 0);
            sgfsi_potri(dev, D, P);
            sgfsi_symv(host, D, A, x, y);
            sgfsi_symv(host, D, P, y, z); /* A^-1 A x; condition number about 4 */
            assert_same(dev->name, "potri", D, z, x, 8 * rounding(D));
            for (int64_t i = 0; i < D; i++) {
                for (int64_t j = i + 1; j < D; j++) assert_true(isnan(P[i * D + j]) != 0);
            }
            free(A);
            free(P);
            free(x);
            free(y);
            free(z);
        }
    }
}

/* Both against refactorising A + X'X with host. Eigenvalues of the sum lie between 1/2 and 2 + n,
 * so errors of the inverse may be 4 (n + 2) times those of the sums. Room that the work area must
 * not pass holds 2.385. */
static void check_updates(const sgfs_device *dev, int64_t D, int64_t n) {
    int64_t size = SGFS_UPDATE_WORK(D, n);
    double *L = make_definite(D), *P = copy_of(L, D * D), *wanted = copy_of(L, D * D);
    double *X = numbers(n * D, 56), *Y = copy_of(X, n * D), *work = zeros(size + 8);
    double tolerance = rounding(D + n);
    for (int64_t i = 0; i < 8; i++) work[size + i] = 2.385;
    sgfsi_syrk_t(host, n, D, 1, X, 1, wanted);
    assert_int_equal(sgfsi_potrf(host, D, wanted), 0);
    assert_int_equal(sgfsi_potrf(dev, D, L), 0);
    copy_triangle(D, L, P);
    assert_int_equal(sgfsi_chol_update(dev, D, n, L, X, work), 0);
    assert_same_triangle(dev->name, "chol_update", D, L, wanted, 4 * tolerance);
    sgfsi_potri(host, D, wanted);
    sgfsi_potri(host, D, P);
    assert_int_equal(sgfsi_inv_update(dev, D, n, P, Y, work), 0);
    assert_same_triangle(dev->name, "inv_update", D, P, wanted, 4 * (double)(n + 2) * tolerance);
    for (int64_t i = 0; i < 8; i++) assert_true(work[size + i] == 2.385);
    free(L);
    free(P);
    free(wanted);
    free(X);
    free(Y);
    free(work);
}

static void test_updates_of_every_shape(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int i = 0; i < SHAPES * SHAPES; i++)
            check_updates(dev, shape[i % SHAPES], shape[i / SHAPES]);
    }
}

/* Rows of zeros change nothing, not even a sign. */
static void test_an_update_by_nothing(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        double *L = make_definite(7), *X = zeros(21), *work = zeros(SGFS_UPDATE_WORK(7, 3));
        assert_int_equal(sgfsi_potrf(dev, 7, L), 0);
        double *before = copy_of(L, 49);
        assert_int_equal(sgfsi_chol_update(dev, 7, 3, L, X, work), 0);
        assert_same_triangle(dev->name, "nothing", 7, L, before, 0);
        free(L);
        free(X);
        free(work);
        free(before);
    }
}

static void test_a_spoilt_update_is_reported(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int64_t bad = 0; bad < 21; bad += 4) {
            double *L = make_definite(7), *P = copy_of(L, 49),
                   *work = zeros(SGFS_UPDATE_WORK(7, 3));
            double *X = numbers(21, 57), *Y = copy_of(X, 21);
            X[bad] = Y[bad] = bad % 8 == 0 ? NAN : INFINITY;
            assert_int_equal(sgfsi_potrf(dev, 7, L), 0);
            assert_int_equal(sgfsi_chol_update(dev, 7, 3, L, X, work), -1);
            assert_int_equal(sgfsi_inv_update(dev, 7, 3, P, Y, work), -1);
            free(L);
            free(P);
            free(X);
            free(Y);
            free(work);
        }
    }
}

/* ---- exp and log ----------------------------------------------------------------------------- */

/* libmvec promises 4 units in the last place; below the normal range a unit is 2^-1074. */
static void check_function(const char *name, int64_t n, const double *x, const double *y,
                           double (*f)(double)) {
    char text[128];
    for (int64_t i = 0; i < n; i++) {
        double wanted = f(x[i]);
        snprintf(text, sizeof text, "%s at %.17g", name, x[i]);
        assert_near(y[i], wanted, 4 * DBL_EPSILON * fabs(wanted) + 4 * 0x1p-1074, text);
    }
}

static void test_exp_and_log1p_over_their_whole_range(void **state) {
    (void)state;
    enum { N = 20011 };
    double *x = zeros(N), *y = zeros(N);
    EACH_DEVICE(dev) {
        for (int64_t i = 0; i < N; i++) x[i] = -745 + (745.0 + 709.0) * (double)i / (N - 1);
        sgfsi_exp(dev, N, x, y);
        check_function("exp", N, x, y, exp);
        assert_true(y[0] > 0 && isfinite(y[N - 1])); /* e^-745 is the smallest double there is */
        uint64_t s = 81;
        for (int64_t i = 0; i < N; i++) x[i] = -fabs(next_number(&s)) * 40;
        memcpy(y, x, N * sizeof *y);
        sgfsi_exp(dev, N, y, y); /* in place, as logistic.c does */
        check_function("exp in place", N, x, y, exp);
        for (int64_t i = 0; i < N; i++) x[i] = i % 2 == 0 ? (double)i / (N - 1) : y[i];
        sgfsi_log1p(dev, N, x, y);
        check_function("log1p", N, x, y, log1p);
        for (int64_t n = 1; n <= 9; n++) { /* what is left over after whole vectors */
            y[n] = 2.385;
            sgfsi_exp(dev, n, x, y);
            check_function("short exp", n, x, y, exp);
            assert_true(y[n] == 2.385);
        }
    }
    free(x);
    free(y);
}

/* ---- operations with a default --------------------------------------------------------------- */

static void test_memory_goes_there_and_back(void **state) {
    sgfsi_arena arena = {NULL};
    double *x = numbers(51, 91), *y = zeros(51);
    (void)state;
    EACH_DEVICE(dev) {
        double *A = sgfsi_device_room(dev, 51, &arena);
        sgfsi_get(dev, 51, A, y);
        for (int i = 0; i < 51; i++) assert_true(y[i] == 0);
        sgfsi_put(dev, 50, x, A + 1);
        sgfsi_times(dev, 51, -0.7, A);
        sgfsi_get(dev, 51, A, y);
        assert_true(y[0] == 0);
        for (int i = 0; i < 50; i++) assert_true(y[i + 1] == -0.7 * x[i]);
        sgfsi_zero(dev, 50, A);
        sgfsi_get(dev, 51, A, y);
        assert_true(y[49] == 0 && y[50] == -0.7 * x[49]);
        sgfsi_put(dev, 51, x, A);
        sgfsi_times(dev, 51, 0.3, A);
        sgfsi_minus(dev, 51, A, A, A);
        sgfsi_get(dev, 51, A, y);
        for (int i = 0; i < 51; i++) assert_true(y[i] == 0);
    }
    sgfsi_arena_free(&arena);
    free(x);
    free(y);
}

static void test_links(void **state) {
    enum { n = 51 };
    double *eta = numbers(n, 92), *y = zeros(n), residual[n], loglik[n], work[n];
    (void)state;
    for (int i = 0; i < n; i++) eta[i] *= 30, y[i] = i % 3;
    EACH_DEVICE(dev) {
        sgfsi_pointwise p = {n, eta, y, 2, residual, loglik, work};
        sgfsi_link_of(dev, SGFSI_LOGIT, &p);
        for (int i = 0; i < n; i++) {
            double one = y[i] == 2, p1 = 1 / (1 + exp(-eta[i]));
            assert_near(residual[i], one - p1, 4 * DBL_EPSILON, dev->name);
            double wanted = -log1p(exp(one == 1 ? -eta[i] : eta[i]));
            assert_near(loglik[i], wanted, 8 * DBL_EPSILON * (1 + fabs(eta[i])), dev->name);
        }
        sgfsi_link_of(dev, SGFSI_LOG, &p);
        for (int i = 0; i < n; i++) {
            double size = 8 * DBL_EPSILON * (1 + fabs(eta[i])) * (1 + exp(eta[i]));
            assert_near(residual[i], y[i] - exp(eta[i]), size, dev->name);
            assert_near(loglik[i], y[i] * eta[i] - exp(eta[i]), 4 * size, dev->name);
        }
        p.residual = p.loglik = NULL; /* nothing to fill */
        sgfsi_link_of(dev, SGFSI_LOGIT, &p);
        sgfsi_link_of(dev, SGFSI_LOG, &p);
    }
    free(eta);
    free(y);
}

/* With a further class and without one, against the definition. */
static void test_softmax(void **state) {
    enum { n = 40, K = 3 };
    double base[n], own[n], rest[n], at[n];
    (void)state;
    EACH_DEVICE(dev) {
        for (int further = 0; further < 2; further++) {
            double *eta = numbers(n * K, 104), *P;
            for (int i = 0; i < n * K; i++) eta[i] *= i % 7 == 0 ? 300 : 3;
            for (int i = 0; i < n; i++) own[i] = at[i] = i % (K + 2) - 1; /* K: the further one */
            P = copy_of(eta, n * K);
            sgfsi_softmax s = {n, K, further != 0, P, base, own, rest};
            sgfsi_softmax_of(dev, &s);
            for (int i = 0; i < n; i++) {
                double top = further ? 0 : -INFINITY, sum = 0;
                for (int k = 0; k < K; k++) top = fmax(top, eta[i * K + k]);
                for (int k = 0; k < K; k++) sum += exp(eta[i * K + k] - top);
                if (further) sum += exp(-top);
                for (int k = 0; k < K; k++)
                    assert_near(P[i * K + k], exp(eta[i * K + k] - top) / sum, 1e-14, dev->name);
                if (further) assert_near(base[i], exp(-top) / sum, 1e-14, dev->name);
                assert_near(rest[i], sum - 1, 1e-14, dev->name);
                if (at[i] < 0) assert_true(own[i] == -INFINITY);
                else assert_true(own[i] == (at[i] < K ? eta[i * K + (int)at[i]] : 0) - top);
            }
            for (int i = 0; i < n; i++) at[i] = at[i] < K ? at[i] : -1;
            double *E = copy_of(P, n * K);
            sgfsi_unit_less(dev, n, K, at, E);
            for (int i = 0; i < n * K; i++)
                assert_true(E[i] == -P[i] + (at[i / K] == i % K ? 1 : 0));
            free(eta), free(P), free(E);
        }
    }
}

/* ---- networks -------------------------------------------------------------------------------- */

/* Values and derivatives of every kind of unit, at the sums' ends too. */
static void test_hidden_units(void **state) {
    enum { n = 5, h = 7 };
    (void)state;
    for (int unit = SGFSI_UNIT_LOGISTIC; unit <= SGFSI_UNIT_RELU; unit++) {
        EACH_DEVICE(dev) {
            double *a = numbers(n * h, 111), *A = zeros(n * h), V[n * (h + 1)], C[n * h];
            double *B = numbers(n * (h + 1), 112), times = sgfsi_unit_factor((sgfsi_unit)unit);
            a[3] = 0, a[4] = 1000, a[5] = -1000;
            for (int i = 0; i < n * h; i++) A[i] = times * a[i];
            sgfsi_activate(dev, (sgfsi_unit)unit, n, h, A, V);
            sgfsi_slope_of(dev, (sgfsi_unit)unit, n, h, V, B, C);
            for (int i = 0; i < n * h; i++) {
                double x = a[i], p = 1 / (1 + exp(-x)), t = tanh(x), value, slope;
                int at = i / h * (h + 1) + 1 + i % h;
                if (unit == SGFSI_UNIT_LOGISTIC) value = p, slope = p * (1 - p);
                else if (unit == SGFSI_UNIT_TANH) value = t, slope = 1 - t * t;
                else value = fmax(0, x), slope = x > 0;
                assert_near(V[at], value, 8 * DBL_EPSILON * (1 + fabs(value)), dev->name);
                assert_near(C[i], B[at] * slope, 8 * DBL_EPSILON, dev->name);
                assert_true(V[i / h * (h + 1)] == 1);
            }
            free(a), free(A), free(B);
        }
    }
}

/* log p_k of one row from its level eta; p may be eta. */
static void log_probabilities(int K, const double *eta, double *p) {
    double top = -INFINITY, sum = 0;
    for (int k = 0; k < K; k++) top = fmax(top, eta[k]);
    for (int k = 0; k < K; k++) sum += exp(eta[k] - top);
    for (int k = 0; k < K; k++) p[k] = eta[k] - top - log(sum);
}

static void test_errors_of_classes(void **state) {
    enum { n = 40, K = 5 };
    double own[n], loglik[n], p[K];
    (void)state;
    EACH_DEVICE(dev) {
        double *eta = numbers(n * K, 113), *E, *again;
        for (int i = 0; i < n * K; i++) eta[i] *= i % 7 == 0 ? 400 : 3;
        for (int i = 0; i < n; i++) own[i] = i % (K + 1) - 1;
        E = copy_of(eta, n * K), again = copy_of(eta, n * K);
        sgfsi_classes c = {.n = n, .K = K, .E = E, .own = own, .loglik = loglik};
        sgfsi_classes_of(dev, &c);
        for (int i = 0; i < n; i++) {
            log_probabilities(K, eta + i * K, p);
            for (int k = 0; k < K; k++)
                assert_near(E[i * K + k], (own[i] == k) - exp(p[k]), 1e-14, dev->name);
            if (own[i] < 0) assert_true(loglik[i] == -INFINITY);
            else assert_near(loglik[i], p[(int)own[i]], 1e-12, dev->name);
        }
        c.E = again, c.loglik = NULL;
        sgfsi_classes_of(dev, &c);
        assert_memory_equal(E, again, n * K * sizeof *E);
        free(eta), free(E), free(again);
    }
}

/* With a class more whose level is 0, rows that share their class, probabilities in place of
 * errors, and more classes than a GPU has in shared memory. */
static void check_classes(const sgfs_device *dev, int K, int each, bool further) {
    enum { n = 300 };
    double *eta = numbers(n * K, 117), *E = copy_of(eta, n * K), *P = copy_of(eta, n * K);
    double *level = zeros(K + 1), own[n], loglik[n], again[n], brief[n];
    for (int i = 0; i < n; i++) own[i] = i % (K + 1 + further) - 1;
    sgfsi_classes c = {
        .n = n, .K = K, .E = E, .own = own, .loglik = loglik, .further = further, .each = each};
    sgfsi_classes_of(dev, &c);
    c.E = P, c.loglik = again, c.plain = true;
    sgfsi_classes_of(dev, &c);
    for (int i = 0; i < n; i++) {
        int of = (int)own[i / each], classes = K + further;
        for (int k = 0; k < K; k++) level[k] = eta[i * K + k];
        level[K] = 0;
        log_probabilities(classes, level, level);
        assert_true(of >= 0 || (loglik[i] == -INFINITY && again[i] == -INFINITY));
        if (of >= 0) assert_near(loglik[i], level[of], 1e-13, dev->name);
        if (of >= 0) assert_near(again[i], level[of], 1e-13, dev->name);
        for (int k = 0; k < K; k++) {
            assert_near(E[i * K + k], (of == k) - exp(level[k]), 1e-14, dev->name);
            assert_near(P[i * K + k], exp(level[k]), 1e-14, dev->name);
        }
    }
    c = (sgfsi_classes){.n = n, .K = K, .E = eta, .own = own, .loglik = brief, .brief = true};
    c.further = further, c.each = each;
    sgfsi_classes_of(dev, &c);
    assert_memory_equal(brief, loglik, sizeof brief);
    free(eta), free(E), free(P), free(level);
}

static void test_classes_of_every_kind(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int further = 0; further < 2; further++) {
            check_classes(dev, 1, 1, further);
            check_classes(dev, 4, 3, further);
            check_classes(dev, 9, 60, further);
            check_classes(dev, 30, 2, further);
        }
    }
}

/* A machine of these units and classes against its definition, with every output and with few. */
static void check_boltzmann(const sgfs_device *dev, int n, int H, int K, double largest) {
    double *S = numbers(n * H, 114), *U = numbers(H * K, 115), *bias = numbers(K, 116);
    double *own = zeros(n), *loglik = zeros(n), *other = zeros(n), *l = zeros(K);
    double *P = zeros(n * K), *Q = zeros(n * K);
    double *E = zeros(n * K), *EU = zeros(n * H * K), *ES = zeros(n * H);
    for (int i = 0; i < n * H; i++) S[i] *= 20;
    for (int i = 0; i < n; i++) own[i] = i % (K + 1) - 1;
    U[0] = largest;
    sgfsi_boltzmann b = {.n = n, .H = H, .K = K, .S = S, .U = U, .B = bias, .own = own};
    b.loglik = loglik, b.P = P, b.E = E, b.EU = EU, b.ES = ES;
    sgfsi_boltzmann_of(dev, &b);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < K; k++) {
            l[k] = bias[k];
            for (int j = 0; j < H; j++) {
                double a = S[i * H + j] + U[j * K + k];
                l[k] += fmax(a, 0) + log1p(exp(-fabs(a)));
            }
        }
        log_probabilities(K, l, l);
        double size = 1e-14 * H * (20 + largest);
        if (own[i] < 0) assert_true(loglik[i] == -INFINITY);
        else assert_near(loglik[i], l[(int)own[i]], size, dev->name);
        for (int k = 0; k < K; k++) {
            assert_near(P[i * K + k], exp(l[k]), size, dev->name);
            assert_near(E[i * K + k], (own[i] == k) - exp(l[k]), size, dev->name);
        }
        for (int j = 0; j < H; j++) {
            double sum = 0;
            for (int k = 0; k < K; k++) {
                double p = 1 / (1 + exp(-S[i * H + j] - U[j * K + k]));
                double wanted = ((own[i] == k) - exp(l[k])) * p;
                assert_near(EU[(i * H + j) * K + k], wanted, size, dev->name);
                sum += wanted;
            }
            assert_near(ES[i * H + j], sum, size * K, dev->name);
        }
    }
    sgfsi_boltzmann few = {.n = n, .H = H, .K = K, .S = S, .U = U, .B = bias, .P = Q};
    sgfsi_boltzmann_of(dev, &few);
    for (int i = 0; i < n * K; i++) assert_near(Q[i], P[i], 1e-13, dev->name);
    few.P = NULL, few.own = own, few.loglik = other;
    sgfsi_boltzmann_of(dev, &few);
    for (int i = 0; i < n; i++)
        assert_true(own[i] < 0 ? other[i] == -INFINITY : fabs(other[i] - loglik[i]) < 1e-11);
    free(S), free(U), free(bias), free(l), free(P), free(Q), free(E), free(EU), free(ES);
    free(own), free(loglik), free(other);
}

static void test_boltzmann_machines(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int k = 0; k < SHAPES; k++) {
            check_boltzmann(dev, 6, (int)shape[k], 2, 0.3);
            check_boltzmann(dev, 6, (int)shape[k], 23, 0.3);
        }
        check_boltzmann(dev, 6, 3, 700, 0.3);
        check_boltzmann(dev, 6, 41, 23, 650); /* beyond what a product of powers can hold */
        /* so many rows that a GPU takes them some at a time */
        check_boltzmann(dev, 2100, 3, 5, 0.3);
        check_boltzmann(dev, 2050, 1030, 2, 3);
        check_boltzmann(dev, 2050, 1, 300, 0.3);
    }
}

/* ---- outer products -------------------------------------------------------------------------- */

/* So many rows that a GPU cuts them into strips, and the last strip is shorter. */
static void test_sums_of_many_rows(void **state) {
    enum { n = 5003, R = 3, C = 41, D = C + R * C };
    double *v = numbers(n, 121), *left = numbers(n * R, 122), *right = numbers(n * C, 123);
    double *ones = zeros(n), *wanted = numbers(D, 124), *y;
    (void)state;
    y = copy_of(wanted, D);
    for (int64_t j = 0; j < D; j++) {
        long double sum = 0;
        int64_t r = j / C - 1, c = j % C;
        for (int64_t i = 0; i < n; i++)
            sum += (long double)(r < 0 ? v[i] : left[i * R + r]) * right[i * C + c];
        wanted[j] = -0.7 * wanted[j] + 0.3 * (double)sum;
    }
    const sgfsi_outer o[] = {{.n = n, .rows = 1, .cols = C, .left = v, .right = right},
                             {.n = n, .rows = R, .cols = C, .left = left, .right = right}};
    EACH_DEVICE(dev) {
        double *got = copy_of(y, D);
        sgfsi_outer_sums(dev, 2, o, 0.3, -0.7, ones, got);
        assert_same(dev->name, "sums of many rows", D, got, wanted, rounding(n));
        check_syrk_t(dev, 16391, 5, 0.7, 1.5);
        check_syrk_t(dev, 16391, 5, 0.7, 0);
        free(got);
    }
    free(v), free(left), free(right), free(ones), free(wanted), free(y);
}

/* Every cut of the columns, with a mean and without one, and with a left factor of ones. */
static void test_outer_products(void **state) {
    enum { n = 5, R = 3, C = 4, STRIDE = 17 };
    double *left = numbers(n * R, 93), *right = numbers(n * C, 94), *mean = numbers(R * C, 95);
    (void)state;
    EACH_DEVICE(dev) {
        for (int cut = 0; cut < 2 * R * C * R * C; cut++) {
            int64_t from = cut / 2 % (R * C), end = cut / 2 / (R * C) + 1;
            const double *less = cut % 2 == 0 ? mean : NULL;
            if (from >= end) continue;
            double *B = numbers(n * STRIDE, 96), *before = copy_of(B, n * STRIDE);
            const sgfsi_outer o = {n, R, C, left, right, from, end, less};
            sgfsi_outer_of(dev, &o, B, STRIDE);
            for (int64_t i = 0; i < n; i++) {
                for (int64_t j = 0; j < end - from; j++) {
                    int64_t at = from + j;
                    double wanted = left[i * R + at / C] * right[i * C + at % C];
                    if (less != NULL) wanted -= mean[at];
                    assert_near(B[i * STRIDE + j], wanted, 2 * DBL_EPSILON, dev->name);
                }
                for (int64_t j = end - from; j < STRIDE; j++)
                    assert_true(B[i * STRIDE + j] == before[i * STRIDE + j]);
            }
            free(B);
            free(before);
        }
    }
    const sgfsi_outer ones = {.n = n, .rows = 1, .cols = C, .right = right, .from = 1, .end = 3};
    EACH_DEVICE(dev) {
        double B[n * 2];
        sgfsi_outer_of(dev, &ones, B, 2);
        for (int i = 0; i < n * 2; i++) assert_true(B[i] == right[i / 2 * C + 1 + i % 2]);
    }
    free(left);
    free(right);
    free(mean);
}

static void test_sums_of_outer_products(void **state) {
    enum { n = 51, R = 3, C = 7, D = R * C + 2 * C };
    double *left = numbers(n * R, 117), *right = numbers(n * C, 118), *v = numbers(n, 119);
    double ones[n], room[R + C];
    const sgfsi_outer o[] = {{.n = n, .rows = R, .cols = C, .left = left, .right = right},
                             {.n = n, .rows = 1, .cols = C, .left = v, .right = right},
                             {.n = n, .rows = 1, .cols = C, .right = right}};
    (void)state;
    for (int i = 0; i < n; i++) ones[i] = 1;
    EACH_DEVICE(dev) {
        double *y = numbers(D, 120), *before = copy_of(y, D), *ss = old_values(D, 0, 121);
        sgfsi_outer_sums(dev, 3, o, 0.3, -0.7, ones, y);
        sgfsi_outer_squares(dev, 3, o, room, R + C, ss);
        for (int64_t at = 0, k = 0, d = 0; at < D; at++, d++) {
            if (d == o[k].rows * C) k++, d = 0;
            double sum = 0, squares = 0;
            for (int64_t i = 0; i < n; i++) {
                double l = o[k].left != NULL ? o[k].left[i * o[k].rows + d / C] : 1;
                sum += l * right[i * C + d % C];
                squares += pow(l * right[i * C + d % C], 2);
            }
            assert_near(y[at], 0.3 * sum - 0.7 * before[at], rounding(n), dev->name);
            assert_near(ss[at], squares, rounding(n), dev->name);
        }
        free(y), free(before), free(ss);
    }
    free(left), free(right), free(v);
}

static void test_sums_of_squares(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int k = 0; k < SHAPES * SHAPES; k++) {
            int64_t n = shape[k % SHAPES], cols = shape[k / SHAPES];
            double *X = numbers(n * cols, 97), *v = numbers(n, 98), *ss = zeros(cols);
            for (int with = 0; with < 2; with++) {
                for (int64_t j = 0; j < cols; j++) ss[j] = NAN;
                sgfsi_squares(dev, n, cols, with ? v : NULL, X, ss);
                for (int64_t j = 0; j < cols; j++) {
                    double sum = 0;
                    for (int64_t i = 0; i < n; i++)
                        sum += pow((with ? v[i] : 1) * X[i * cols + j], 2);
                    assert_near(ss[j], sum, rounding(n), dev->name);
                }
            }
            free(X);
            free(v);
            free(ss);
        }
    }
}

static void check_triangles(const sgfs_device *dev, int64_t D) {
    double *B = numbers(D * D, 99), *C = numbers(D * D, 100), *A = numbers(D * D, 101);
    double *d = numbers(D, 102), *got = zeros(D), *before = copy_of(A, D * D), sum = 0;
    for (int with = 0; with < 2; with++) {
        sgfsi_combine(dev, D, 0.3, B, -1.7, with ? C : NULL, A);
        for (int64_t i = 0; i < D * D; i++) {
            double wanted = 0.3 * B[i] - (with ? 1.7 * C[i] : 0);
            if (i % D > i / D) assert_true(A[i] == before[i]);
            else assert_near(A[i], wanted, 4 * DBL_EPSILON, dev->name);
        }
    }
    sgfsi_add_diag(dev, D, 0.9, d, A);
    sgfsi_add_diag(dev, D, 0.1, NULL, A);
    sgfsi_get_diag(dev, D, A, got);
    for (int64_t i = 0; i < D; i++) {
        double wanted = 0.3 * B[i * D + i] - 1.7 * C[i * D + i] + 0.9 * d[i] + 0.1;
        assert_near(got[i], wanted, 8 * DBL_EPSILON, dev->name);
        sum += wanted;
    }
    assert_near(sgfsi_trace_of(dev, D, A), sum, 8 * rounding(D), dev->name);
    memcpy(A, before, (size_t)(D * D) * sizeof *A);
    sgfsi_transpose(dev, D, A);
    for (int64_t i = 0; i < D * D; i++) assert_true(A[i] == before[i % D * D + i / D]);
    free(B), free(C), free(A), free(d), free(got), free(before);
}

static void test_triangles(void **state) {
    (void)state;
    EACH_DEVICE(dev) {
        for (int k = 0; k < SHAPES; k++) check_triangles(dev, shape[k]);
    }
}

/* (L L')^-1 times L L' is the identity. */
static void test_a_factor_is_inverted_in_both_triangles(void **state) {
    enum { D = 23 };
    (void)state;
    EACH_DEVICE(dev) {
        double *L = numbers(D * D, 103), *A = zeros(D * D), *X = zeros(D * D);
        for (int i = 0; i < D; i++) {
            for (int j = 0; j < D; j++) L[i * D + j] = j > i ? 0 : i == j ? 2 : L[i * D + j] / D;
        }
        sgfsi_invert_factor(dev, D, L, X);
        for (int i = 0; i < D * D; i++)
            for (int k = 0; k < D; k++) A[i] += L[i / D * D + k] * L[i % D * D + k];
        for (int i = 0; i < D * D; i++) {
            double sum = 0;
            for (int k = 0; k < D; k++) sum += X[i / D * D + k] * A[k * D + i % D];
            assert_near(sum, i / D == i % D, rounding(D), dev->name);
        }
        free(L), free(A), free(X);
    }
}

/* Memory of its own, 7 numbers away from where the host would look for it. */
static int64_t given, moved;

static double *far_alloc(SGFSI_HERE, int64_t n) {
    double *A = calloc((size_t)n + 7, sizeof *A);
    given += A != NULL;
    return A != NULL ? A + 7 : NULL;
}

static void far_free(SGFSI_HERE, double *A) {
    given--;
    free(A - 7);
}

static void far_put(SGFSI_HERE, int64_t n, const double *from, double *A) {
    moved += n;
    memcpy(A, from, (size_t)n * sizeof *A);
}

static void test_memory_of_a_device_goes_back_with_the_arena(void **state) {
    sgfsi_device_ops ops = *sgfs_device_host.ops;
    sgfsi_arena arena = {NULL};
    double x[3] = {0.3, 0.1, 0.7}, y[3];
    (void)state;
    ops.alloc = far_alloc;
    ops.free = far_free;
    ops.put = far_put;
    const sgfs_device far = {.name = "far", .ops = &ops, .most = INT64_MAX};
    double *A = sgfsi_device_room(&far, 3, &arena), *B = sgfsi_device_room(&far, 40, &arena);
    assert_true(A != NULL && B != NULL && given == 2);
    sgfsi_put(&far, 3, x, A);
    sgfsi_get(&far, 3, A, y);
    assert_memory_equal(x, y, sizeof x);
    assert_int_equal(moved, 3);
    sgfsi_arena_free(&arena);
    assert_int_equal(given, 0);
}

static void test_what_is_too_large_is_refused(void **state) {
    sgfs_err err;
    (void)state;
    assert_int_equal(sgfsi_device_fits(&sgfs_device_blas, INT32_MAX, "parameters", &err), SGFS_OK);
    assert_int_equal(sgfsi_device_fits(&sgfs_device_blas, (int64_t)1 << 31, "parameters", &err),
                     SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "2147483648 parameters"));
    assert_int_equal(sgfsi_device_fits(host, (int64_t)1 << 40, "parameters", &err), SGFS_OK);
}

static void test_every_device_is_found_by_name(void **state) {
    (void)state;
    int64_t number;
    for (const sgfs_device *const *row = sgfsi_devices, *dev; (dev = *row) != NULL; row++) {
        assert_ptr_equal(sgfsi_device_find(dev->name, &number), dev);
        assert_true(dev->help != NULL && dev->help[0] != '\0');
        assert_int_equal(number, 0);
    }
    assert_ptr_equal(sgfsi_device_find("cuda:12", &number), &sgfs_device_cuda);
    assert_int_equal(number, 12);
    static const char *const none[] = {"abacus", "",        "b",      "blas:1",
                                       "cuda:",  "cuda:-1", "cuda:x", "cuda:1234567"};
    for (size_t k = 0; k < sizeof none / sizeof none[0]; k++)
        assert_null(sgfsi_device_find(none[k], &number));
}

static void choose_host(void) {
    int64_t count = 0;
    for (const sgfs_device *const *row = sgfsi_devices; *row != NULL; row++)
        if ((*row)->ops->open == NULL) tested[count++] = *row;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dot_and_axpy),
        cmocka_unit_test(test_products_of_every_shape),
        cmocka_unit_test(test_narrow_syrk_of_every_width),
        cmocka_unit_test(test_factor_times_its_transpose_is_the_matrix),
        cmocka_unit_test(test_a_matrix_that_is_not_definite_is_located),
        cmocka_unit_test(test_solving_undoes_multiplying),
        cmocka_unit_test(test_symv_reads_the_lower_triangle),
        cmocka_unit_test(test_potri_inverts),
        cmocka_unit_test(test_eigenvectors),
        cmocka_unit_test(test_updates_of_every_shape),
        cmocka_unit_test(test_an_update_by_nothing),
        cmocka_unit_test(test_a_spoilt_update_is_reported),
        cmocka_unit_test(test_exp_and_log1p_over_their_whole_range),
        cmocka_unit_test(test_memory_goes_there_and_back),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_hidden_units),
        cmocka_unit_test(test_errors_of_classes),
        cmocka_unit_test(test_classes_of_every_kind),
        cmocka_unit_test(test_boltzmann_machines),
        cmocka_unit_test(test_sums_of_many_rows),
        cmocka_unit_test(test_outer_products),
        cmocka_unit_test(test_sums_of_outer_products),
        cmocka_unit_test(test_sums_of_squares),
        cmocka_unit_test(test_triangles),
        cmocka_unit_test(test_a_factor_is_inverted_in_both_triangles),
        cmocka_unit_test(test_memory_of_a_device_goes_back_with_the_arena),
        cmocka_unit_test(test_what_is_too_large_is_refused),
        cmocka_unit_test(test_every_device_is_found_by_name),
    };
    const sgfs_device *opened = NULL;
    sgfs_device mirror;
    if (argc < 2) choose_host();
    else if (!open_gpu(&opened)) return SKIPPED;
    else {
        mirror = mirror_of(opened);
        tested[0] = &mirror;
        print_message("%s: %s\n", argv[1], opened->ops->library(opened));
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sgfsi_device_close(opened);
    return failed;
}
