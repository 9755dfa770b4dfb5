/* SPDX-License-Identifier: MIT
 * test_fisher.c: every structure of sgfsi_fishers is an algebra of symmetric matrices, and the
 * running average of average.c is the average it says it is.
 *
 * A structure is looked at through mul alone: column j of A is A e_j. What it keeps of a dense
 * matrix V is known for `full` (all of it) and `diag` (the diagonal); of any other structure only
 * the diagonal, the trace and the algebra are asked.
 * Rounding: entries are sums of at most 20 products of numbers below 2 in size, so 1e-12 is
 * generous. Monte Carlo: 5 standard errors, 6e-7 for each comparison, fixed seeds.
 */
#include <stdio.h>

#include "backend/backend.h"
#include "base/rng.h"
#include "fisher/fisher.h"
#include "run/options.h"
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

static bool keeps(const sgfs_fisher_kind *f, int64_t r, int64_t c) {
    return r == c || strcmp(f->name, "full") == 0;
}

static bool is_known(const sgfs_fisher_kind *f) {
    return strcmp(f->name, "full") == 0 || strcmp(f->name, "diag") == 0;
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
            if (!is_known(A->kind) && r != c) continue;
            double kept = keeps(A->kind, r, c) ? V[r * A->D + c] : 0;
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
    assert_int_equal(sgfsi_sym_open(&A, f, &sgfs_backend_blas, layout_of(D, arena), arena, NULL),
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
        f->solve(&L, false, z);
        f->solve(&L, true, z);
        for (int64_t j = 0; j < A.D; j++) assert_near(z[j], x[j], 1e-12, f->name);
        memcpy(z, x, (size_t)A.D * sizeof *z); /* L L' x = A x */
        f->mul_factor(&L, true, z);
        f->mul_factor(&L, false, z);
        for (int64_t j = 0; j < A.D; j++) assert_near(z[j], y[j], 1e-12, f->name);
        for (int transposed = 0; transposed < 2; transposed++) {
            memcpy(z, x, (size_t)A.D * sizeof *z);
            f->mul_factor(&L, transposed == 1, z);
            f->solve(&L, transposed == 1, z);
            for (int64_t j = 0; j < A.D; j++) assert_near(z[j], x[j], 1e-12, f->name);
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

/* ---- the running average --------------------------------------------------------------------- */

static sgfs_config *config(const char *kappa, const char *window, const char *divisor) {
    sgfs_config *cfg = sgfsi_config_new(sgfsi_option_sets);
    assert_non_null(cfg);
    assert_int_equal(sgfs_config_set(cfg, "fisher.kappa", kappa, NULL), SGFS_OK);
    assert_int_equal(sgfs_config_set(cfg, "fisher.window", window, NULL), SGFS_OK);
    assert_int_equal(sgfs_config_set(cfg, "fisher.divisor", divisor, NULL), SGFS_OK);
    return cfg;
}

/* Batches of two rows leave rank 1 each; 1,000 of them, with and without forgetting, are definite
 * in any structure, and stay so. */
static void test_definite_after_1000_updates(void **state) {
    (void)state;
    static const char *const kappas[] = {"window", "harmonic"};
    EACH_FISHER(f) {
        for (int k = 0; k < 2; k++) {
            sgfsi_arena arena = {NULL};
            sgfs_config *cfg = config(kappas[k], "50", "n-1");
            sgfsi_average a = {.updates = 0};
            assert_int_equal(sgfsi_average_open(&a, f, &sgfs_backend_blas, layout_of(13, &arena), 2,
                                                cfg, &arena, NULL),
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
} plan;

/* Run the plan; after each update say(t, I1hat). */
static void run_average(const plan *p, void (*say)(const plan *p, int64_t t, double I1)) {
    EACH_FISHER(f) {
        sgfsi_arena arena = {NULL};
        sgfs_config *cfg = config(p->kappa, p->window, p->divisor);
        sgfsi_average a = {.updates = 0};
        assert_int_equal(sgfsi_average_open(&a, f, &sgfs_backend_blas, layout_of(1, &arena), 2, cfg,
                                            &arena, NULL),
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
    const plan p = {"harmonic", "5", "n-1", 4, 60}, by_n = {"harmonic", "5", "n", 4, 60};
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
    const plan longer = {"window", "6", "n-1", 40, 90}, equal = {"window", "6", "n-1", 6, 50};
    run_average(&longer, is_windowed);
    run_average(&equal, is_windowed);
}

/* A warm-up shorter than the window forgets nothing: all batches weigh the same. */
static void test_a_warmup_shorter_than_the_window_is_a_plain_mean(void **state) {
    (void)state;
    for (int64_t warmup = 0; warmup <= 6; warmup++) {
        const plan p = {"window", "6", "n-1", warmup, 40};
        run_average(&p, is_windowed);
        run_average(&p, is_the_plain_mean);
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
        cmocka_unit_test(test_factor_and_solve_invert),
        cmocka_unit_test(test_a_matrix_that_is_not_definite_is_located),
        cmocka_unit_test(test_noise_has_the_matrix_as_covariance),
        cmocka_unit_test(test_definite_after_1000_updates),
        cmocka_unit_test(test_harmonic_weights_give_the_plain_mean),
        cmocka_unit_test(test_window_forgets_in_warmup_and_averages_after_it),
        cmocka_unit_test(test_a_warmup_shorter_than_the_window_is_a_plain_mean),
        cmocka_unit_test(test_every_structure_is_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
