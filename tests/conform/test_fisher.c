/* SPDX-License-Identifier: MIT
 * test_fisher.c: every structure of sgfsi_fishers is an algebra of symmetric matrices, and the
 * running average of average.c is the average it says it is.
 *
 * A structure is looked at through mul alone: column j of A is A e_j. What it keeps of a dense
 * matrix V: `full` and `inverse` all of it, `block` the blocks of its layout, `diag` the diagonal.
 * `inverse` is no factor (factored = false): of it only the solution K^-1 x is asked.
 * Rounding: entries are sums of at most 20 products of numbers below 2 in size, so 1e-12 is
 * generous. Monte Carlo: 5 standard errors, 6e-7 for each comparison, fixed seeds.
 */
#include <stdio.h>

#include "api/options.h"
#include "base/rng.h"
#include "chain/plan.h"
#include "context/device/device.h"
#include "fisher/fisher.h"
#include "tools/check.h"

enum { MOST = 16, MOST_ROWS = 19, MOST_BLOCKS = 4 };

/* ---- scores of every form -------------------------------------------------------------------- */

typedef struct form {
    int64_t rows, cols;
    bool dense;
} form;

static const form forms[][MOST_BLOCKS] = {
    {{1, 5, false}},                                           /* a regression */
    {{3, 4, false}},                                           /* a layer */
    {{1, 7, true}},                                            /* nothing known */
    {{1, 5, false}, {1, 1, true}},                             /* linear.c: beta and log_sigma */
    {{1, 2, true}, {2, 3, false}, {1, 4, false}, {1, 1, true}} /* a little of everything */
};
enum { FORMS = 5 };

typedef struct batch {
    sgfs_scores s;
    sgfs_score_block block[MOST_BLOCKS];
    double *room[2 * MOST_BLOCKS];
    double g[MOST_ROWS * MOST]; /* n x D, multiplied out */
    double gbar[MOST];
} batch;

static void make_block(batch *b, int k, const form *f, int64_t n, uint64_t seed) {
    int64_t d = f->rows * f->cols, D = b->s.D;
    double *left = numbers(n * (f->dense ? d : f->rows), seed),
           *right = numbers(n * f->cols, ~seed);
    b->room[2 * k] = left;
    b->room[2 * k + 1] = right;
    b->block[k] = (sgfs_score_block){.offset = D, .rows = f->rows, .cols = f->cols};
    if (f->dense) b->block[k].dense = left;
    else b->block[k].left = left;
    if (!f->dense) b->block[k].right = right;
    for (int64_t i = 0; i < n; i++) left[i * (f->dense ? d : f->rows)] += 0.6; /* mean not 0 */
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < d; j++) {
            b->g[i * MOST + D + j] =
                f->dense ? left[i * d + j]
                         : left[i * f->rows + j / f->cols] * right[i * f->cols + j % f->cols];
        }
    }
    b->s.D += d;
}

static void make_batch(batch *b, int which, int64_t n, uint64_t seed) {
    *b = (batch){.s = {.n = n}};
    b->s.block = b->block;
    for (int k = 0; k < MOST_BLOCKS && forms[which][k].rows > 0; k++) {
        make_block(b, k, &forms[which][k], n, seed + 1000 * (uint64_t)k);
        b->s.blocks++;
    }
    for (int64_t j = 0; j < b->s.D; j++) {
        for (int64_t i = 0; i < n; i++) b->gbar[j] += b->g[i * MOST + j] / (double)n;
    }
}

static void free_batch(batch *b) {
    for (int k = 0; k < 2 * MOST_BLOCKS; k++) free(b->room[k]);
}

/* V += weight sum_i (g_i - centre)(g_i - centre)', the definition. */
static void add_dense(double *V, double weight, const batch *b, bool centred) {
    int64_t D = b->s.D;
    for (int64_t i = 0; i < b->s.n; i++) {
        for (int64_t r = 0; r < D; r++) {
            for (int64_t c = 0; c < D; c++) {
                double gr = b->g[i * MOST + r] - (centred ? b->gbar[r] : 0);
                double gc = b->g[i * MOST + c] - (centred ? b->gbar[c] : 0);
                V[r * D + c] += weight * gr * gc;
            }
        }
    }
}

/* ---- looking at a matrix --------------------------------------------------------------------- */

#define EACH_FISHER(f)                                                                             \
    for (const sgfs_fisher_kind *const *row = sgfsi_fishers, *f; (f = *row) != NULL; row++)

static bool same_block(const sgfs_layout *layout, int64_t r, int64_t c) {
    int64_t k = 0;
    while (layout->first[k + 1] <= r) k++;
    return c >= layout->first[k] && c < layout->first[k + 1];
}

static bool keeps(const sgfs_sym *A, int64_t r, int64_t c) {
    if (strcmp(A->kind->name, "block") == 0) return same_block(A->layout, r, c);
    return r == c || strcmp(A->kind->name, "diag") != 0;
}

/* A as a plain D x D array, column by column. */
static void unfold(const sgfs_sym *A, double *dense) {
    double e[MOST], column[MOST];
    for (int64_t c = 0; c < A->D; c++) {
        memset(e, 0, sizeof e);
        e[c] = 1;
        A->kind->mul(A, e, column);
        for (int64_t r = 0; r < A->D; r++) dense[r * A->D + c] = column[r];
    }
}

static void assert_is(const sgfs_sym *A, const double *V, const char *what) {
    double dense[MOST * MOST], d[MOST], trace = 0;
    char text[128];
    snprintf(text, sizeof text, "%s %s", A->kind->name, what);
    unfold(A, dense);
    A->kind->diag(A, d);
    for (int64_t r = 0; r < A->D; r++) {
        trace += V[r * A->D + r];
        assert_near(d[r], V[r * A->D + r], 1e-12, text);
        for (int64_t c = 0; c < A->D; c++) {
            double kept = keeps(A, r, c) ? V[r * A->D + c] : 0;
            assert_near(dense[r * A->D + c], kept, 1e-12, text);
        }
    }
    assert_near(A->kind->trace(A), trace, 1e-11, text);
}

/* Blocks of 4: what `block` keeps. */
static const sgfs_layout *layout_of(int64_t D, sgfsi_arena *arena) {
    const sgfs_layout *layout = sgfsi_layout_open(D, 4, 0, NULL, arena);
    assert_non_null(layout);
    return layout;
}

static sgfs_sym open_sym(sgfsi_arena *arena, const sgfs_fisher_kind *f, int64_t D) {
    sgfs_sym A;
    assert_int_equal(sgfsi_sym_open(&A, f, &sgfs_device_blas, layout_of(D, arena), arena, NULL),
                     SGFS_OK);
    return A;
}

/* ---- the covariance of scores ---------------------------------------------------------------- */

static void check_cov(const sgfs_fisher_kind *f, int which, int64_t n) {
    sgfsi_arena arena = {NULL};
    batch one, two;
    make_batch(&one, which, n, 17);
    make_batch(&two, which, n, 18);
    int64_t D = one.s.D;
    double V[MOST * MOST] = {0}, *work = SGFSI_DOUBLES(&arena, f->work(layout_of(D, &arena), n));
    sgfs_sym A = open_sym(&arena, f, D);
    assert_is(&A, V, "opened");
    f->add_cov(&A, 1, 0.731, &one.s, one.gbar, work);
    add_dense(V, 0.731, &one, true);
    assert_is(&A, V, "covariance");
    f->add_cov(&A, 0.62, 1.9, &two.s, NULL, work); /* decay, and no centring */
    for (int64_t i = 0; i < D * D; i++) V[i] *= 0.62;
    add_dense(V, 1.9, &two, false);
    assert_is(&A, V, "decayed and added to");
    f->add_cov(&A, 0, 1, &one.s, one.gbar, work);
    memset(V, 0, sizeof V);
    add_dense(V, 1, &one, true);
    assert_is(&A, V, "started again");
    f->zero(&A);
    memset(V, 0, sizeof V);
    assert_is(&A, V, "zeroed");
    free_batch(&one);
    free_batch(&two);
    sgfsi_arena_free(&arena);
}

static void test_covariance_of_scores_in_every_form(void **state) {
    (void)state;
    EACH_FISHER(f) {
        for (int which = 0; which < FORMS; which++) {
            check_cov(f, which, 2);
            check_cov(f, which, MOST_ROWS);
        }
    }
}

/* Scores that are all alike have no covariance, and rounding must not make it negative. */
static void test_equal_scores_have_no_covariance(void **state) {
    (void)state;
    EACH_FISHER(f) {
        sgfsi_arena arena = {NULL};
        batch b;
        make_batch(&b, 0, 7, 5);
        double d[MOST], *work = SGFSI_DOUBLES(&arena, f->work(layout_of(b.s.D, &arena), 7));
        for (int64_t i = 1; i < 7; i++) {
            b.block[0].left[i] = b.block[0].left[0];
            memcpy(b.room[1] + i * 5, b.room[1], 5 * sizeof(double));
        }
        for (int64_t j = 0; j < 5; j++) b.gbar[j] = b.block[0].left[0] * b.room[1][j];
        sgfs_sym A = open_sym(&arena, f, b.s.D);
        f->add_cov(&A, 0, 1, &b.s, b.gbar, work);
        f->diag(&A, d);
        for (int64_t j = 0; j < 5; j++) assert_true(d[j] >= 0 && d[j] < 1e-15);
        free_batch(&b);
        sgfsi_arena_free(&arena);
    }
}

/* ---- the algebra ----------------------------------------------------------------------------- */

/* A positive definite matrix of D = 13: a covariance of 19 scores, and something on the diagonal.
 */
static sgfs_sym make_definite(sgfsi_arena *arena, const sgfs_fisher_kind *f, uint64_t seed) {
    batch b;
    make_batch(&b, 4, MOST_ROWS, seed);
    sgfs_sym A = open_sym(arena, f, b.s.D);
    f->add_cov(&A, 0, 0.1, &b.s, b.gbar, SGFSI_DOUBLES(arena, f->work(A.layout, MOST_ROWS)));
    f->add_diag(&A, 0.2, NULL);
    free_batch(&b);
    return A;
}

static void test_combinations_and_diagonals(void **state) {
    (void)state;
    EACH_FISHER(f) {
        sgfsi_arena arena = {NULL};
        sgfs_sym B = make_definite(&arena, f, 21), C = make_definite(&arena, f, 22);
        int64_t D = B.D;
        sgfs_sym A = open_sym(&arena, f, D);
        double b[MOST * MOST], c[MOST * MOST], a[MOST * MOST], *d = numbers(D, 23);
        unfold(&B, b);
        unfold(&C, c);
        f->combine(&A, 1.37, &B, -0.58, &C);
        for (int64_t i = 0; i < D * D; i++) a[i] = 1.37 * b[i] - 0.58 * c[i];
        assert_is(&A, a, "bB + cC");
        f->combine(&A, 2.385, &B, 9, NULL);
        for (int64_t i = 0; i < D * D; i++) a[i] = 2.385 * b[i];
        assert_is(&A, a, "bB");
        f->add_diag(&A, -0.7, d);
        f->add_diag(&A, 0.31, NULL);
        for (int64_t i = 0; i < D; i++) a[i * D + i] += -0.7 * d[i] + 0.31;
        assert_is(&A, a, "with a diagonal");
        unfold(&B, a); /* the operands have not changed */
        assert_memory_equal(a, b, (size_t)(D * D) * sizeof *a);
        for (int64_t r = 0; r < D; r++) { /* symmetric */
            for (int64_t k = 0; k < r; k++) assert_near(b[r * D + k], b[k * D + r], 1e-15, f->name);
        }
        free(d);
        sgfsi_arena_free(&arena);
    }
}

/* Only the lower triangle of the dense matrix is read. */
static void test_what_is_kept_of_a_dense_matrix(void **state) {
    (void)state;
    EACH_FISHER(f) {
        sgfsi_arena arena = {NULL};
        sgfs_sym A = open_sym(&arena, f, 13);
        double *V = numbers(13 * 13, 25), lower[13 * 13];
        for (int64_t r = 0; r < 13; r++) {
            for (int64_t c = 0; c < 13; c++) {
                lower[r * 13 + c] = c <= r ? V[r * 13 + c] : NAN;
                if (c > r) V[r * 13 + c] = V[c * 13 + r];
            }
        }
        f->from_dense(&A, lower);
        assert_is(&A, V, "from a dense matrix");
        free(V);
        sgfsi_arena_free(&arena);
    }
}

/* x = K^-1 x */
static void solve_both(const sgfs_sym *L, double *x) {
    L->kind->solve(L, false, x);
    L->kind->solve(L, true, x);
}

static void test_factor_and_solve_invert(void **state) {
    (void)state;
    EACH_FISHER(f) {
        sgfsi_arena arena = {NULL};
        sgfs_sym A = make_definite(&arena, f, 31), L = open_sym(&arena, f, A.D);
        double *x = numbers(A.D, 32), y[MOST], z[MOST];
        f->combine(&L, 1, &A, 0, NULL);
        assert_int_equal(f->factor(&L), 0);
        f->mul(&A, x, y); /* y = A x, so L^-T L^-1 y = x; condition number below 100 */
        memcpy(z, y, sizeof z);
        solve_both(&L, z);
        for (int64_t j = 0; j < A.D; j++) assert_near(z[j], x[j], 1e-12, f->name);
        if (!f->factored) { /* it may not pass for a factor */
            f->mul_factor(&L, false, z);
            for (int64_t j = 0; j < A.D; j++) assert_true(isnan(z[j]) != 0);
        }
        memcpy(z, x, (size_t)A.D * sizeof *z); /* L L' x = A x */
        if (f->factored) {
            f->mul_factor(&L, true, z);
            f->mul_factor(&L, false, z);
            for (int64_t j = 0; j < A.D; j++) assert_near(z[j], y[j], 1e-12, f->name);
        }
        for (int transposed = 0; f->factored && transposed < 2; transposed++) {
            memcpy(z, x, (size_t)A.D * sizeof *z);
            f->mul_factor(&L, transposed == 1, z);
            f->solve(&L, transposed == 1, z);
            for (int64_t j = 0; j < A.D; j++) assert_near(z[j], x[j], 1e-12, f->name);
        }
        for (int noisy = 0; noisy < (f->factored ? 2 : 1); noisy++) { /* both solves in one */
            memcpy(z, y, sizeof z);
            sgfsi_sym_solve(&L, 0.6, noisy == 1 ? x : NULL, z);
            if (noisy == 1) { /* z = x + 0.6 L^-T x */
                double more[MOST];
                memcpy(more, x, (size_t)A.D * sizeof *more);
                f->solve(&L, true, more);
                for (int64_t j = 0; j < A.D; j++) z[j] -= 0.6 * more[j];
            }
            for (int64_t j = 0; j < A.D; j++) assert_near(z[j], x[j], 1e-11, f->name);
        }
        free(x);
        sgfsi_arena_free(&arena);
    }
}

static void test_a_matrix_that_is_not_definite_is_located(void **state) {
    (void)state;
    EACH_FISHER(f) {
        for (int64_t bad = 1; bad <= 13; bad += 4) {
            sgfsi_arena arena = {NULL};
            sgfs_sym A = make_definite(&arena, f, 41);
            double d[MOST] = {0};
            d[bad - 1] = -50;
            f->add_diag(&A, 1, d);
            assert_int_equal(f->factor(&A), bad);
            sgfsi_arena_free(&arena);
        }
    }
}

/* Cov(L z) = A: entry (i, j) of the empirical second moment has variance (A_ii A_jj + A_ij^2)/T. */
static void test_noise_has_the_matrix_as_covariance(void **state) {
    (void)state;
    enum { T = 40000 };
    EACH_FISHER(f) {
        if (!f->factored) continue;
        sgfsi_arena arena = {NULL};
        sgfs_sym A = make_definite(&arena, f, 51), L = open_sym(&arena, f, A.D);
        int64_t D = A.D;
        double dense[MOST * MOST], second[MOST * MOST] = {0}, z[MOST];
        uint64_t s = 52;
        unfold(&A, dense);
        f->combine(&L, 1, &A, 0, NULL);
        assert_int_equal(f->factor(&L), 0);
        for (int t = 0; t < T; t++) {
            for (int64_t j = 0; j < D; j++) z[j] = next_normal(&s);
            f->mul_factor(&L, false, z);
            for (int64_t i = 0; i < D * D; i++) second[i] += z[i / D] * z[i % D] / T;
        }
        for (int64_t i = 0; i < D; i++) {
            for (int64_t j = 0; j <= i; j++) {
                double a = dense[i * D + j];
                double se = sqrt((dense[i * D + i] * dense[j * D + j] + a * a) / T);
                assert_near(second[i * D + j], a, 5 * se, f->name);
            }
        }
        sgfsi_arena_free(&arena);
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Every number that the algebra gives for A, in order, so that two structures can be compared. */
static int64_t describe(const sgfs_fisher_kind *f, const sgfs_layout *layout, double *out) {
    sgfsi_arena arena = {NULL};
    batch one, two;
    make_batch(&one, 4, MOST_ROWS, 61);
    make_batch(&two, 4, 3, 62);
    double *work = SGFSI_DOUBLES(&arena, f->work(layout, MOST_ROWS)), *x = numbers(13, 63);
    sgfs_sym A, L;
    assert_int_equal(sgfsi_sym_open(&A, f, &sgfs_device_blas, layout, &arena, NULL), SGFS_OK);
    assert_int_equal(sgfsi_sym_open(&L, f, &sgfs_device_blas, layout, &arena, NULL), SGFS_OK);
    f->add_cov(&A, 0, 0.1, &one.s, one.gbar, work);
    f->add_diag(&A, 0.2, NULL);
    unfold(&A, out);
    f->combine(&L, 1.7, &A, 0, NULL);
    assert_int_equal(f->factor(&L), 0);
    assert_int_equal(f->update(&L, 0.9, 0.3, &two.s, two.gbar, work), 0);
    double *y = out + 13 * 13;
    for (int k = 0; k < 4; k++) memcpy(y + 13 * k, x, 13 * sizeof *x);
    f->solve(&L, false, y);
    f->solve(&L, true, y + 13);
    f->mul_factor(&L, false, y + 26);
    f->mul_factor(&L, true, y + 39);
    free(x);
    free_batch(&one);
    free_batch(&two);
    sgfsi_arena_free(&arena);
    return 13 * 13 + 4 * 13;
}

static void test_one_block_is_full_and_blocks_of_one_are_diag(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    double got[MOST * MOST + 4 * MOST], wanted[MOST * MOST + 4 * MOST];
    const sgfs_layout *one = sgfsi_layout_open(13, 13, 0, NULL, &arena);
    const sgfs_layout *each = sgfsi_layout_open(13, 1, 0, NULL, &arena);
    int64_t count = describe(&sgfs_fisher_full, one, wanted);
    describe(&sgfs_fisher_block, one, got);
    for (int64_t i = 0; i < count; i++) assert_true(got[i] == wanted[i]); /* the same calls */
    describe(&sgfs_fisher_diag, each, wanted);
    describe(&sgfs_fisher_block, each, got);
    for (int64_t i = 0; i < count; i++) assert_near(got[i], wanted[i], 1e-12, "blocks of one");
    sgfsi_arena_free(&arena);
}

/* Blocks that cut the model's own blocks (2, 2 x 3, 4, 1) in every way, and are cut by them. */
static void test_blocks_may_cut_those_of_the_model(void **state) {
    (void)state;
    static const int64_t first[][6] = {{0, 2, 8, 12}, {0, 1, 5, 11}, {0, 3, 4, 6, 7, 10}, {0, 12}};
    static const int64_t blocks[] = {4, 4, 6, 2};
    const sgfs_fisher_kind *f = &sgfs_fisher_block;
    for (int k = 0; k < 4; k++) {
        sgfsi_arena arena = {NULL};
        batch b;
        make_batch(&b, 4, MOST_ROWS, 64);
        const sgfs_layout *layout = sgfsi_layout_open(13, 0, blocks[k], first[k], &arena);
        double V[MOST * MOST] = {0}, *work = SGFSI_DOUBLES(&arena, f->work(layout, MOST_ROWS));
        sgfs_sym A;
        assert_int_equal(sgfsi_sym_open(&A, f, &sgfs_device_blas, layout, &arena, NULL), SGFS_OK);
        f->add_cov(&A, 0, 0.31, &b.s, b.gbar, work);
        add_dense(V, 0.31, &b, true);
        assert_is(&A, V, "blocks that cut blocks");
        free_batch(&b);
        sgfsi_arena_free(&arena);
    }
}

/* ---- a factor that follows its matrix -------------------------------------------------------- */

/* The factor of the changed matrix, once by `update` and once anew. */
static void check_update(const sgfs_fisher_kind *f, int which, int64_t n, bool centred) {
    sgfsi_arena arena = {NULL};
    batch one, two;
    make_batch(&one, which, MOST_ROWS, 71);
    make_batch(&two, which, n, 72);
    int64_t D = one.s.D;
    sgfs_sym A = open_sym(&arena, f, D), L = open_sym(&arena, f, D);
    double *work = SGFSI_DOUBLES(&arena, f->work(A.layout, MOST_ROWS)), *x = numbers(D, 73);
    double y[MOST], z[MOST], *gbar = centred ? two.gbar : NULL;
    f->add_cov(&A, 0, 0.1, &one.s, one.gbar, work);
    f->add_diag(&A, 0.2, NULL);
    f->combine(&L, 1, &A, 0, NULL);
    assert_int_equal(f->factor(&L), 0);
    assert_int_equal(f->update(&L, 0.83, 0.37, &two.s, gbar, work), 0);
    f->add_cov(&A, 0.83, 0.37, &two.s, gbar, work);
    f->mul(&A, x, y);
    solve_both(&L, y);
    for (int64_t j = 0; j < D; j++) assert_near(y[j], x[j], 1e-12, f->name);
    assert_int_equal(f->factor(&A), 0); /* not some factor but the Cholesky factor */
    for (int k = 0; f->factored && k < 4; k++) {
        memcpy(y, x, (size_t)D * sizeof *y);
        memcpy(z, x, (size_t)D * sizeof *z);
        (k < 2 ? f->solve : f->mul_factor)(&L, k % 2 == 1, y);
        (k < 2 ? f->solve : f->mul_factor)(&A, k % 2 == 1, z);
        for (int64_t j = 0; j < D; j++) assert_near(y[j], z[j], 1e-12, f->name);
    }
    free(x);
    free_batch(&one);
    free_batch(&two);
    sgfsi_arena_free(&arena);
}

static void test_updating_is_refactorising(void **state) {
    (void)state;
    static const int64_t n[] = {2, 5, 13, 14, MOST_ROWS};
    EACH_FISHER(f) {
        assert_non_null(f->update);
        for (int which = 0; which < FORMS; which++) {
            for (int k = 0; k < 5; k++) check_update(f, which, n[k], k % 2 == 0);
        }
    }
}

/* Whatever is not finite comes back as a failure, never as a factor. */
static void test_a_spoilt_update_is_reported(void **state) {
    (void)state;
    EACH_FISHER(f) {
        sgfsi_arena arena = {NULL};
        batch b;
        make_batch(&b, 4, 3, 74);
        sgfs_sym L = make_definite(&arena, f, 75);
        double *work = SGFSI_DOUBLES(&arena, f->work(L.layout, 3));
        assert_int_equal(f->factor(&L), 0);
        for (int64_t j = 0; j < 2; j++) b.block[0].dense[j] = NAN;
        assert_int_equal(f->update(&L, 0.9, 0.1, &b.s, b.gbar, work), -1);
        free_batch(&b);
        sgfsi_arena_free(&arena);
    }
}

/* 1,000 updates by n = 6 rows at D = 40, against the same matrix kept and factored in extended
 * precision. Scores are z S Q, S a diagonal from 1 down to `smallest`, Q orthogonal: the condition
 * number of K is about smallest^-2. The error of K^-1 g must stay below 1e-8 throughout;
 * refactorising in double keeps eps x condition number = 2e-8 x (10^-4/smallest)^-2 at worst. */
enum { LONG_D = 40, LONG_N = 6, LONG_T = 1000, LONG_FILL = 160 };

typedef struct exact {
    long double K[LONG_D * LONG_D], L[LONG_D * LONG_D], x[LONG_D];
} exact;

static void reflect(double *x, const double *v) {
    double xv = 0, vv = 0;
    for (int64_t j = 0; j < LONG_D; j++) {
        xv += x[j] * v[j];
        vv += v[j] * v[j];
    }
    for (int64_t j = 0; j < LONG_D; j++) x[j] -= 2 * xv / vv * v[j];
}

static void make_scores(sgfs_scores *s, double *gbar, double smallest, const double *Q,
                        uint64_t *seed) {
    double *g = s->block->dense;
    for (int64_t j = 0; j < LONG_D; j++) gbar[j] = 0;
    for (int64_t i = 0; i < s->n; i++) {
        double *row = g + i * LONG_D;
        for (int64_t j = 0; j < LONG_D; j++)
            row[j] = next_normal(seed) * pow(smallest, (double)j / (LONG_D - 1));
        for (int64_t k = 0; k < 3; k++) reflect(row, Q + k * LONG_D);
        for (int64_t j = 0; j < LONG_D; j++) gbar[j] += row[j] / (double)s->n;
    }
}

static void add_exactly(exact *e, double decay, double weight, const sgfs_scores *s,
                        const double *gbar) {
    const double *g = s->block->dense;
    for (int64_t r = 0; r < LONG_D; r++) {
        for (int64_t c = 0; c <= r; c++) {
            long double sum = 0;
            for (int64_t i = 0; i < s->n; i++) {
                const double *row = g + i * LONG_D;
                sum += ((long double)row[r] - gbar[r]) * ((long double)row[c] - gbar[c]);
            }
            e->K[r * LONG_D + c] = decay * e->K[r * LONG_D + c] + weight * sum;
        }
    }
}

/* e->x = K^-1 g, of the entries of K that the structure keeps. */
static void solve_exactly(exact *e, const sgfs_sym *A, const double *g) {
    for (int64_t r = 0; r < LONG_D; r++) {
        for (int64_t c = 0; c <= r; c++) {
            long double sum = keeps(A, r, c) ? e->K[r * LONG_D + c] : 0;
            for (int64_t k = 0; k < c; k++) sum -= e->L[r * LONG_D + k] * e->L[c * LONG_D + k];
            e->L[r * LONG_D + c] = r == c ? sqrtl(sum) : sum / e->L[c * LONG_D + c];
        }
        e->x[r] = g[r];
        for (int64_t k = 0; k < r; k++) e->x[r] -= e->L[r * LONG_D + k] * e->x[k];
        e->x[r] /= e->L[r * LONG_D + r];
    }
    for (int64_t r = LONG_D - 1; r >= 0; r--) {
        for (int64_t k = r + 1; k < LONG_D; k++) e->x[r] -= e->L[k * LONG_D + r] * e->x[k];
        e->x[r] /= e->L[r * LONG_D + r];
    }
}

static double error_of(const sgfs_sym *L, const exact *e, const double *g) {
    double x[LONG_D], off = 0, norm = 0;
    memcpy(x, g, sizeof x);
    solve_both(L, x);
    for (int64_t j = 0; j < LONG_D; j++) {
        off += pow(x[j] - (double)e->x[j], 2);
        norm += pow((double)e->x[j], 2);
    }
    return sqrt(off / norm);
}

static void check_long(const sgfs_fisher_kind *f, const sgfs_device *dev, double smallest) {
    sgfsi_arena arena = {NULL};
    const sgfs_layout *layout = sgfsi_layout_open(LONG_D, 15, 0, NULL, &arena);
    exact *e = sgfsi_arena_alloc(&arena, 1, sizeof *e);
    double *g = SGFSI_DOUBLES(&arena, LONG_FILL * LONG_D), *Q = numbers(3 * LONG_D, 82),
           gbar[LONG_D];
    double *work = SGFSI_DOUBLES(&arena, f->work(layout, LONG_FILL)), worst = 0, last = 0, anew = 0;
    sgfs_score_block block = {.rows = 1, .cols = LONG_D, .dense = g};
    sgfs_scores s = {.n = LONG_FILL, .D = LONG_D, .blocks = 1, .block = &block};
    sgfs_sym K, L, R;
    uint64_t seed = 81;
    assert_int_equal(sgfsi_sym_open(&K, f, dev, layout, &arena, NULL), SGFS_OK);
    assert_int_equal(sgfsi_sym_open(&L, f, dev, layout, &arena, NULL), SGFS_OK);
    assert_int_equal(sgfsi_sym_open(&R, f, dev, layout, &arena, NULL), SGFS_OK);
    for (int t = 0; t <= LONG_T; t++) {
        double kappa = t == 0 ? 1 : t < 300 ? 0.02 : 1 / (t - 250.0);
        make_scores(&s, gbar, smallest, Q, &seed);
        double weight = kappa / (double)(s.n - 1);
        add_exactly(e, 1 - kappa, weight, &s, gbar);
        f->add_cov(&K, 1 - kappa, weight, &s, gbar, work);
        f->combine(&R, 1, &K, 0, NULL);
        assert_int_equal(f->factor(&R), 0);
        if (t == 0) memcpy(L.store, R.store, (size_t)f->size(layout) * sizeof *L.store);
        else assert_int_equal(f->update(&L, 1 - kappa, weight, &s, gbar, work), 0);
        s.n = LONG_N;
        if (t % 20 != 0) continue;
        solve_exactly(e, &L, g);
        last = error_of(&L, e, g);
        worst = fmax(worst, last);
        anew = fmax(anew, error_of(&R, e, g));
        assert_near(worst, 0, 1e-8, f->name);
        assert_near(anew, 0, 1e-8, f->name);
    }
    print_message("%-8s %s, condition %.0e: worst error %.1e, last %.1e; refactorised %.1e\n",
                  f->name, dev->name, pow(smallest, -2), worst, last, anew);
    free(Q);
    sgfsi_arena_free(&arena);
}

static void test_1000_updates_keep_the_solution(void **state) {
    (void)state;
    static const double smallest[] = {1, 1e-2, 1e-3, 1e-4};
    EACH_FISHER(f) {
        for (int k = 0; k < 4; k++) check_long(f, &sgfs_device_blas, smallest[k]);
        check_long(f, &sgfs_device_host, 1e-3);
    }
}

/* The rule may not offer what cannot be had: an inverse where noise is asked for, or a change of
 * the factor by more rows than would make it anew. */
static void test_the_rule_offers_what_can_be_had(void **state) {
    (void)state;
    for (int64_t D = 1; D <= 2000; D += 1 + D / 7) {
        for (int64_t n = 2; n <= 3000; n += 1 + n / 5) {
            const char *noisy = sgfsi_update_best(D, n, 0.7), *quiet = sgfsi_update_best(D, n, 0);
            assert_string_not_equal(noisy, "woodbury");
            if (3 * n >= D) assert_string_equal(noisy, "refactor");
            if (3 * n >= D) assert_string_equal(quiet, "refactor");
        }
    }
    assert_string_equal(sgfsi_update_best(800, 50, 0), "woodbury");
    assert_string_equal(sgfsi_update_best(800, 50, 2), "cholesky");
    assert_string_equal(sgfsi_update_best(800, 100, 0), "cholesky");
    assert_string_equal(sgfsi_update_best(51, 500, 0), "refactor");
}

/* ---- the running average --------------------------------------------------------------------- */

static sgfs_config *config(const char *kappa, const char *window, const char *divisor) {
    sgfs_config *cfg = sgfsi_config_new(sgfsi_option_sets);
    assert_non_null(cfg);
    assert_int_equal(sgfs_config_set(cfg, "fisher.kappa", kappa, NULL), SGFS_OK);
    assert_int_equal(sgfs_config_set(cfg, "fisher.window", window, NULL), SGFS_OK);
    assert_int_equal(sgfs_config_set(cfg, "fisher.divisor", divisor, NULL), SGFS_OK);
    return cfg;
}

static const sgfsi_fisher_settings *settings_of(const sgfs_config *cfg, sgfsi_arena *arena) {
    sgfsi_fisher_settings *set = sgfsi_arena_alloc(arena, 1, sizeof *set);
    assert_non_null(set);
    sgfsi_settings_read(set, sgfsi_fisher_setting_list, cfg);
    return set;
}

/* Batches of two rows leave rank 1 each; 1,000 of them, with and without forgetting, are definite
 * in any structure, and stay so. */
static void test_definite_after_1000_updates(void **state) {
    (void)state;
    static const char *const kappas[] = {"window",   "harmonic", "floor",
                                         "constant", "power",    "forget"};
    EACH_FISHER(f) {
        for (int k = 0; k < 6; k++) {
            sgfsi_arena arena = {NULL};
            sgfs_config *cfg = config(kappas[k], "50", "n-1");
            sgfsi_average a = {.updates = 0};
            assert_int_equal(sgfsi_average_open(&a, f, &sgfs_device_blas, layout_of(13, &arena), 2,
                                                settings_of(cfg, &arena), &arena, NULL),
                             SGFS_OK);
            for (uint64_t t = 0; t < 1000; t++) {
                batch b;
                make_batch(&b, 4, 2, 100 + t);
                sgfsi_average_update(&a, &b.s, b.gbar, t < 300);
                free_batch(&b);
            }
            assert_int_equal(a.updates, 1000);
            assert_int_equal(f->factor(&a.I1), 0);
            sgfsi_arena_free(&arena);
            sgfs_config_free(cfg);
        }
    }
}

/* One parameter, two rows at +-sqrt(v/2): the batch's covariance is v (divisor n - 1) or v/2. */
static void update_with(sgfsi_average *a, double v, bool warmup) {
    double g[2] = {sqrt(v / 2) + 3.1, -sqrt(v / 2) + 3.1}, gbar = 3.1;
    sgfs_score_block block = {.rows = 1, .cols = 1, .dense = g};
    sgfs_scores s = {.n = 2, .D = 1, .blocks = 1, .block = &block};
    sgfsi_average_update(a, &s, &gbar, warmup);
}

static double value_of(const sgfsi_average *a) {
    return a->I1.kind->trace(&a->I1);
}

static double variance_at(int64_t t) {
    return 1.7 + sin(1.3 * (double)t);
}

typedef struct plan {
    const char *kappa, *window, *divisor;
    int64_t warmup, total;
    const char *value, *a, *b, *delta; /* NULL: the default */
} plan;

static sgfs_config *config_of(const plan *p) {
    static const char *const keys[] = {"fisher.kappa_value", "fisher.kappa_a", "fisher.kappa_b",
                                       "fisher.kappa_delta"};
    const char *const values[] = {p->value, p->a, p->b, p->delta};
    sgfs_config *cfg = config(p->kappa, p->window, p->divisor);
    for (int k = 0; k < 4; k++) {
        if (values[k] == NULL) continue;
        assert_int_equal(sgfs_config_set(cfg, keys[k], values[k], NULL), SGFS_OK);
    }
    return cfg;
}

/* Run the plan; after each update say(t, I1hat). */
static void run_average(const plan *p, void (*say)(const plan *p, int64_t t, double I1)) {
    EACH_FISHER(f) {
        sgfsi_arena arena = {NULL};
        sgfs_config *cfg = config_of(p);
        sgfsi_average a = {.updates = 0};
        assert_int_equal(sgfsi_average_open(&a, f, &sgfs_device_blas, layout_of(1, &arena), 2,
                                            settings_of(cfg, &arena), &arena, NULL),
                         SGFS_OK);
        for (int64_t t = 1; t <= p->total; t++) {
            update_with(&a, variance_at(t), t <= p->warmup);
            say(p, t, value_of(&a));
        }
        sgfsi_arena_free(&arena);
        sgfs_config_free(cfg);
    }
}

static void is_the_plain_mean(const plan *p, int64_t t, double I1) {
    double sum = 0;
    for (int64_t s = 1; s <= t; s++) sum += variance_at(s);
    assert_near(I1, sum / (double)t * (p->divisor[1] == '\0' ? 0.5 : 1), 1e-12, "plain mean");
}

static void test_harmonic_weights_give_the_plain_mean(void **state) {
    (void)state;
    const plan p = {"harmonic", "5", "n-1", 4, .total = 60},
               by_n = {"harmonic", "5", "n", 4, .total = 60};
    run_average(&p, is_the_plain_mean);
    run_average(&by_n, is_the_plain_mean);
}

/* kappa = max(1/t, 1/window) in warm-up, 1/(window + t - t_warm) after it. */
static void is_windowed(const plan *p, int64_t t, double I1) {
    double window = atof(p->window), wanted = 0;
    for (int64_t s = 1; s <= t; s++) {
        double known = fmin((double)p->warmup, window), kappa;
        if (s <= p->warmup) kappa = fmax(1 / (double)s, 1 / window);
        else kappa = 1 / (known + (double)(s - p->warmup));
        wanted = (1 - kappa) * wanted + kappa * variance_at(s);
    }
    assert_near(I1, wanted, 1e-12, "window");
}

static void test_window_forgets_in_warmup_and_averages_after_it(void **state) {
    (void)state;
    const plan longer = {"window", "6", "n-1", 40, .total = 90},
               equal = {"window", "6", "n-1", 6, .total = 50};
    run_average(&longer, is_windowed);
    run_average(&equal, is_windowed);
}

/* A warm-up shorter than the window forgets nothing: all batches weigh the same. */
static void test_a_warmup_shorter_than_the_window_is_a_plain_mean(void **state) {
    (void)state;
    for (int64_t warmup = 0; warmup <= 6; warmup++) {
        const plan p = {"window", "6", "n-1", warmup, .total = 40};
        run_average(&p, is_windowed);
        run_average(&p, is_the_plain_mean);
    }
}

/* Weights of age t - s, s = 1 .. t, in closed form; they add up to 1. */
static void has_weights(int64_t t, double I1, const double *weight, const char *what) {
    double sum = 0, wanted = 0;
    for (int64_t s = 1; s <= t; s++) {
        sum += weight[s];
        wanted += weight[s] * variance_at(s);
    }
    assert_near(sum, 1, 1e-12, what);
    assert_near(I1, wanted, 1e-12, what);
}

enum { MOST_UPDATES = 200 };

static void is_constant(const plan *p, int64_t t, double I1) {
    double w[MOST_UPDATES + 1], c = atof(p->value);
    for (int64_t s = 1; s <= t; s++) w[s] = (s > 1 ? c : 1) * pow(1 - c, (double)(t - s));
    has_weights(t, I1, w, "constant");
}

static void forgets(const plan *p, int64_t t, double I1) {
    double w[MOST_UPDATES + 1], c = atof(p->value), sum = 0;
    for (int64_t s = 1; s <= t; s++) sum += w[s] = pow(1 - c, (double)(t - s));
    for (int64_t s = 1; s <= t; s++) w[s] /= sum;
    has_weights(t, I1, w, "forget");
}

/* The plain mean of the first m = floor(1/c), and from there on as constant. */
static void has_a_floor(const plan *p, int64_t t, double I1) {
    double w[MOST_UPDATES + 1], c = atof(p->value), m = fmin(floor(1 / c), (double)t);
    for (int64_t s = 1; s <= t; s++) {
        w[s] = (double)s <= m ? pow(1 - c, (double)t - m) / m : c * pow(1 - c, (double)(t - s));
    }
    has_weights(t, I1, w, "floor");
}

/* a = 2, b = 1, delta = 1: kappa = 2/(t + 1), and the weights grow linearly. */
static void is_linear(const plan *p, int64_t t, double I1) {
    double w[MOST_UPDATES + 1];
    (void)p;
    for (int64_t s = 1; s <= t; s++) w[s] = 2 * (double)s / ((double)t * (double)(t + 1));
    has_weights(t, I1, w, "power, delta 1");
}

/* weight of update s: kappa_s times what all later ones leave of it. */
static void is_a_power(const plan *p, int64_t t, double I1) {
    double w[MOST_UPDATES + 1], left = 1;
    for (int64_t s = t; s >= 1; s--) {
        double kappa = fmin(1, atof(p->a) * pow(atof(p->b) + (double)s, -atof(p->delta)));
        if (s == 1) kappa = 1;
        w[s] = left * kappa;
        left *= 1 - kappa;
    }
    has_weights(t, I1, w, "power");
}

/* The other schedules take no notice of warm-up. */
static void test_every_schedule_has_its_weights(void **state) {
    (void)state;
    for (int64_t warmup = 0; warmup <= 50; warmup += 25) {
        const plan constant = {"constant", "5", "n-1", warmup, MOST_UPDATES, .value = "0.13"};
        const plan whole = {"constant", "5", "n-1", warmup, 9, .value = "1"};
        const plan forget = {"forget", "5", "n-1", warmup, MOST_UPDATES, .value = "0.07"};
        const plan tiny = {"forget", "5", "n-1", warmup, MOST_UPDATES, .value = "1e-12"};
        const plan floor = {"floor", "5", "n-1", warmup, MOST_UPDATES, .value = "0.031"};
        const plan linear = {"power",      "5",      "n-1",    warmup,
                             MOST_UPDATES, .a = "2", .b = "1", .delta = "1"};
        const plan power = {"power",      "5",        "n-1",      warmup,
                            MOST_UPDATES, .a = "1.7", .b = "3.5", .delta = "0.8"};
        const plan small = {"power",      "5",        "n-1",    warmup,
                            MOST_UPDATES, .a = "0.4", .b = "0", .delta = "0.6"};
        const plan mean = {"power", "5", "n-1", warmup, MOST_UPDATES, .delta = "1"};
        run_average(&constant, is_constant);
        run_average(&whole, is_constant);
        run_average(&forget, forgets);
        run_average(&tiny, is_the_plain_mean);
        run_average(&floor, has_a_floor);
        run_average(&linear, is_linear);
        run_average(&power, is_a_power);
        run_average(&small, is_a_power);
        run_average(&mean, is_the_plain_mean);
    }
}

/* A factor that is updated with next() and weight() is the factor of the average. */
static void test_an_update_in_parts_is_the_update(void **state) {
    (void)state;
    EACH_FISHER(f) {
        sgfsi_arena arena = {NULL};
        sgfs_config *cfg = config("window", "6", "n-1");
        sgfsi_average a = {.updates = 0}, parts = {.updates = 0};
        assert_int_equal(sgfsi_average_open(&a, f, &sgfs_device_blas, layout_of(13, &arena),
                                            MOST_ROWS, settings_of(cfg, &arena), &arena, NULL),
                         SGFS_OK);
        assert_int_equal(sgfsi_average_open(&parts, f, &sgfs_device_blas, layout_of(13, &arena),
                                            MOST_ROWS, settings_of(cfg, &arena), &arena, NULL),
                         SGFS_OK);
        sgfs_sym L = open_sym(&arena, f, 13);
        double *x = numbers(13, 92), y[MOST];
        for (uint64_t t = 0; t < 30; t++) {
            batch b;
            make_batch(&b, 4, t == 0 ? MOST_ROWS : 4, 200 + t);
            const double *gbar = t % 3 == 0 ? NULL : b.gbar; /* divided by n, or by n - 1 */
            sgfsi_average_update(&a, &b.s, gbar, t < 12);
            double kappa = sgfsi_average_next(&parts, t < 12);
            double weight = sgfsi_average_weight(&parts, &b.s, gbar, kappa);
            assert_true(kappa == a.kappa && parts.kappa == kappa && parts.updates == a.updates);
            if (t == 0) {
                f->combine(&L, 1, &a.I1, 0, NULL);
                assert_int_equal(f->factor(&L), 0);
            } else {
                assert_int_equal(f->update(&L, 1 - kappa, weight, &b.s, gbar, parts.work), 0);
            }
            free_batch(&b);
        }
        f->mul(&a.I1, x, y);
        solve_both(&L, y);
        for (int64_t j = 0; j < 13; j++) assert_near(y[j], x[j], 1e-9, f->name);
        free(x);
        sgfsi_arena_free(&arena);
        sgfs_config_free(cfg);
    }
}

static void test_every_structure_is_found_by_name(void **state) {
    (void)state;
    EACH_FISHER(f) assert_ptr_equal(sgfsi_fisher_find(f->name), f);
    assert_null(sgfsi_fisher_find("fulll"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_covariance_of_scores_in_every_form),
        cmocka_unit_test(test_equal_scores_have_no_covariance),
        cmocka_unit_test(test_combinations_and_diagonals),
        cmocka_unit_test(test_what_is_kept_of_a_dense_matrix),
        cmocka_unit_test(test_factor_and_solve_invert),
        cmocka_unit_test(test_a_matrix_that_is_not_definite_is_located),
        cmocka_unit_test(test_noise_has_the_matrix_as_covariance),
        cmocka_unit_test(test_one_block_is_full_and_blocks_of_one_are_diag),
        cmocka_unit_test(test_blocks_may_cut_those_of_the_model),
        cmocka_unit_test(test_updating_is_refactorising),
        cmocka_unit_test(test_a_spoilt_update_is_reported),
        cmocka_unit_test(test_1000_updates_keep_the_solution),
        cmocka_unit_test(test_the_rule_offers_what_can_be_had),
        cmocka_unit_test(test_definite_after_1000_updates),
        cmocka_unit_test(test_harmonic_weights_give_the_plain_mean),
        cmocka_unit_test(test_window_forgets_in_warmup_and_averages_after_it),
        cmocka_unit_test(test_a_warmup_shorter_than_the_window_is_a_plain_mean),
        cmocka_unit_test(test_every_schedule_has_its_weights),
        cmocka_unit_test(test_an_update_in_parts_is_the_update),
        cmocka_unit_test(test_every_structure_is_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
