/* SPDX-License-Identifier: MIT
 * test_optimize.c: the search for the mode against closed forms and against the gradient, both
 * methods against each other, posteriors that have no mode, and draws from the Gaussian there.
 *
 * Distances are in posterior standard deviations: |L'(theta - theta*)|, A = L L'. Two answers
 * within their tolerance may be that far apart and, by rounding (a sum of N rows in double,
 * standard deviations of the gradient of sqrt(N)), about 1e-10 more.
 */
#include <stdio.h>

#include "chain/run.h"
#include "posterior/mode.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

/* ---- data and models ------------------------------------------------------------------------- */

typedef struct bench {
    int64_t N, P;
    double *x, *y;
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
} bench;

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

/* Columns with correlation 0.6 between neighbours, column j in units of scale^j. */
static bench rows_of(int64_t N, int64_t P, double scale, uint64_t seed) {
    bench b = {.N = N, .P = P, .x = zeros(N * P), .y = zeros(N), .cfg = unit_prior_config()};
    assert_non_null(b.cfg);
    for (int64_t i = 0; i < N; i++) {
        double *x = b.x + i * P, unit = 1;
        for (int64_t j = 0; j < P; j++) x[j] = next_normal(&seed);
        for (int64_t j = 1; j < P; j++) x[j] = 0.6 * x[j - 1] + 0.8 * x[j];
        b.y[i] = 0.417 + 1.31 * x[0] - 0.583 * x[P - 1] + 0.871 * next_normal(&seed);
        for (int64_t j = 0; j < P; j++, unit *= scale) x[j] *= unit;
    }
    return b;
}

static void make_binary(bench *b, uint64_t seed) {
    for (int64_t i = 0; i < b->N; i++) {
        double u = 0.5 * (next_number(&seed) + 1);
        b->y[i] = u < 1 / (1 + exp(-b->y[i])) ? 1 : 0;
    }
}

static void open_model(bench *b, const sgfs_model_kind *kind, const char *lambda) {
    sgfs_err err;
    sgfs_arrays arrays = {.rows = b->N, .cols = b->P, .x = b->x, .y = b->y};
    set(b->cfg, "prior.precision", lambda);
    b->data = sgfs_data_wrap(&arrays, b->cfg, &err);
    if (b->data == NULL) fail_msg("%s", err.text);
    b->m = sgfsi_model_create(kind, b->data, b->cfg, NULL, &err);
    if (b->m == NULL) fail_msg("%s", err.text);
}

static void close_bench(bench *b) {
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
    free(b->x);
    free(b->y);
}

static sgfs_status search(const bench *b, const char *method, double tolerance, sgfsi_arena *arena,
                          sgfsi_mode *out, sgfs_err *err) {
    const sgfsi_mode_plan plan = {.method = method, .tolerance = tolerance};
    return sgfsi_mode_search(b->m, &plan, arena, out, err);
}

static sgfsi_mode found(const bench *b, const char *method, double tolerance, sgfsi_arena *arena) {
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_mode mode;
    if (search(b, method, tolerance, arena, &mode, &err) != SGFS_OK) fail_msg("%s", err.text);
    return mode;
}

/* |L'(a - b)| */
static double apart(int64_t D, const double *L, const double *a, const double *b) {
    double sum = 0;
    for (int64_t j = 0; j < D; j++) {
        double r = 0;
        for (int64_t i = j; i < D; i++) r += L[i * D + j] * (a[i] - b[i]);
        sum += r * r;
    }
    return sqrt(sum);
}

/* |L^-1 G| at theta, by a pass that is not the search's own. */
static double step_left(const sgfs_model *m, const double *theta) {
    double lp, *G = zeros(m->D), *A = zeros(m->D * m->D);
    assert_int_equal(sgfsi_posterior_full(m, theta, &lp, G, A, NULL), SGFS_OK);
    assert_int_equal(sgfsi_potrf(&sgfs_device_host, m->D, A), 0);
    sgfsi_trsv(&sgfs_device_host, m->D, A, false, G);
    double sum = 0;
    for (int64_t j = 0; j < m->D; j++) sum += G[j] * G[j];
    free(G);
    free(A);
    return sqrt(sum);
}

/* ---- closed forms ---------------------------------------------------------------------------- */

/* beta = (X'X w + lambda I)^-1 X'y w, by Gauss-Jordan on [M | b]; M: D x (D + 1). */
static void normal_equations(const bench *b, double w, double lambda, double *beta) {
    int64_t D = b->P + 1, W = D + 1;
    double *M = zeros(D * W), *x = zeros(D);
    for (int64_t i = 0; i < b->N; i++) {
        x[0] = 1;
        memcpy(x + 1, b->x + i * b->P, (size_t)b->P * sizeof *x);
        for (int64_t r = 0; r < D; r++) {
            for (int64_t c = 0; c < D; c++) M[r * W + c] += w * x[r] * x[c];
            M[r * W + D] += w * x[r] * b->y[i];
        }
    }
    for (int64_t r = 0; r < D; r++) M[r * W + r] += lambda;
    for (int64_t k = 0; k < D; k++) {
        for (int64_t c = W - 1; c >= k; c--) M[k * W + c] /= M[k * W + k];
        for (int64_t r = 0; r < D; r++) {
            double times = M[r * W + k];
            for (int64_t c = k; r != k && c < W; c++) M[r * W + c] -= times * M[k * W + c];
        }
    }
    for (int64_t r = 0; r < D; r++) beta[r] = M[r * W + D];
    free(M);
    free(x);
}

static void test_known_sigma_is_the_normal_equations(void **state) {
    (void)state;
    const char *const methods[] = {"fisher", "lbfgs"};
    for (int k = 0; k < 2; k++) {
        sgfsi_arena arena = {NULL};
        bench b = rows_of(700, 4, 1, 385);
        double beta[5];
        set(b.cfg, "model.sigma", "0.871");
        open_model(&b, &sgfs_model_linear, "2.385");
        sgfsi_mode mode = found(&b, methods[k], 1e-10, &arena);
        normal_equations(&b, 1 / (0.871 * 0.871), 2.385, beta);
        assert_near(apart(5, mode.L, mode.theta, beta), 0, 1e-9, methods[k]);
        if (k == 0) assert_int_equal(mode.iterations, 1); /* quadratic: one step is the whole way */
        sgfsi_arena_free(&arena);
        close_bench(&b);
    }
}

/* Without a prior: beta by least squares, sigma^2 = RSS/N. */
static void test_unknown_sigma_without_a_prior_is_least_squares(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    bench b = rows_of(500, 3, 1, 31);
    double truth[5], rss = 0;
    open_model(&b, &sgfs_model_linear, "0");
    normal_equations(&b, 1, 0, truth);
    for (int64_t i = 0; i < b.N; i++) {
        double r = b.y[i] - truth[0];
        for (int64_t j = 0; j < b.P; j++) r -= truth[j + 1] * b.x[i * b.P + j];
        rss += r * r;
    }
    truth[4] = 0.5 * log(rss / (double)b.N);
    sgfsi_mode mode = found(&b, "fisher", 1e-10, &arena);
    assert_near(apart(5, mode.L, mode.theta, truth), 0, 1e-9, "fisher");
    sgfsi_mode other = found(&b, "lbfgs", 1e-10, &arena);
    assert_near(apart(5, mode.L, other.theta, truth), 0, 1e-8, "lbfgs");
    /* the information of log_sigma is 2 N */
    assert_near(mode.L[24] * mode.L[24], 2 * (double)b.N, 1e-6, "information of log_sigma");
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

/* ---- logistic regression --------------------------------------------------------------------- */

static void test_both_methods_find_a_place_without_gradient(void **state) {
    (void)state;
    const char *const lambdas[] = {"0", "1", "50"};
    for (int k = 0; k < 3; k++) {
        sgfsi_arena arena = {NULL};
        bench b = rows_of(3000, 6, 1, 717);
        make_binary(&b, 5);
        open_model(&b, &sgfs_model_logistic, lambdas[k]);
        sgfsi_mode scored = found(&b, "fisher", 1e-8, &arena);
        sgfsi_mode stepped = found(&b, "lbfgs", 1e-8, &arena);
        assert_string_equal(scored.method, "fisher");
        assert_string_equal(stepped.method, "lbfgs");
        assert_true(scored.distance < 1e-8 && stepped.distance < 1e-8);
        assert_true(step_left(b.m, scored.theta) < 1e-8);
        assert_true(step_left(b.m, stepped.theta) < 1e-6); /* its own measure is an estimate */
        assert_near(apart(7, scored.L, stepped.theta, scored.theta), 0, 1e-6, "one mode");
        assert_near(stepped.lp, scored.lp, 1e-9 * fabs(scored.lp), "log density");
        for (int64_t i = 0; i < 49; i++) assert_near(stepped.L[i], scored.L[i], 1e-5, "L");
        sgfsi_arena_free(&arena);
        close_bench(&b);
    }
}

/* Columns from 1e-4 to 1e4: neither the answer nor the number of steps may know. */
static void test_units_of_the_columns_do_not_matter(void **state) {
    (void)state;
    const char *const methods[] = {"fisher", "lbfgs"};
    for (int k = 0; k < 2; k++) {
        sgfsi_arena arena = {NULL};
        bench plain = rows_of(2000, 5, 1, 91), wild = rows_of(2000, 5, 10, 91);
        for (int64_t i = 0; i < wild.N * wild.P; i++) wild.x[i] *= 1e-4 * (i % 5 == 4 ? 1e4 : 1);
        make_binary(&plain, 6);
        memcpy(wild.y, plain.y, (size_t)plain.N * sizeof *plain.y);
        open_model(&plain, &sgfs_model_logistic, "0");
        open_model(&wild, &sgfs_model_logistic, "0");
        sgfsi_mode a = found(&plain, methods[k], 1e-8, &arena);
        sgfsi_mode b = found(&wild, methods[k], 1e-8, &arena);
        double unit = 1e-4;
        for (int64_t j = 1; j <= 5; j++, unit *= 10) b.theta[j] *= j == 5 ? 1e4 : unit;
        assert_near(apart(6, a.L, a.theta, b.theta), 0, 1e-6, methods[k]);
        assert_true(b.iterations <= a.iterations + (k == 0 ? 0 : 5));
        sgfsi_arena_free(&arena);
        close_bench(&plain);
        close_bench(&wild);
    }
}

static void test_any_number_of_threads_gives_the_same_bits(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    bench b = rows_of(20000, 3, 1, 12);
    make_binary(&b, 13);
    open_model(&b, &sgfs_model_logistic, "1");
    sgfsi_mode mode[2];
    for (int k = 0; k < 2; k++) {
        const sgfsi_mode_plan plan = {.method = "fisher", .tolerance = 1e-8, .threads = 1 + 2 * k};
        assert_int_equal(sgfsi_mode_search(b.m, &plan, &arena, &mode[k], NULL), SGFS_OK);
    }
    assert_memory_equal(mode[0].theta, mode[1].theta, 4 * sizeof(double));
    assert_memory_equal(mode[0].L, mode[1].L, 16 * sizeof(double));
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

/* ---- gradients alone ------------------------------------------------------------------------- */

static void test_a_model_without_curvature_is_climbed_by_gradients(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    sgfs_err err = {SGFS_OK, ""};
    sgfs_model_kind bare = sgfs_model_logistic;
    bare.curvature = NULL;
    bench b = rows_of(1500, 4, 3, 58);
    make_binary(&b, 59);
    open_model(&b, &bare, "1");
    sgfsi_mode mode = found(&b, "auto", 1e-8, &arena);
    assert_string_equal(mode.method, "lbfgs");
    assert_null(mode.L);
    double lp, G[5], size = 0;
    assert_int_equal(sgfsi_posterior_full(b.m, mode.theta, &lp, G, NULL, &err), SGFS_OK);
    for (int j = 0; j < 5; j++) size += G[j] * G[j];
    assert_true(sqrt(size) < 1e-5); /* A >= lambda = 1: at most this many standard deviations */
    sgfsi_mode none;
    assert_int_equal(search(&b, "fisher", 1e-8, &arena, &none, &err), SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "--method lbfgs"));
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

/* More parameters than any matrix is made for, and than rows. */
static void test_many_parameters_need_no_matrix(void **state) {
    (void)state;
    enum { P = SGFSI_MOST_DENSE + 500 };
    sgfsi_arena arena = {NULL};
    bench b = rows_of(120, P, 1, 77);
    make_binary(&b, 78);
    open_model(&b, &sgfs_model_logistic, "0.7");
    sgfsi_mode mode = found(&b, "auto", 1e-8, &arena);
    assert_string_equal(mode.method, "lbfgs");
    assert_null(mode.L);
    double lp, size = 0, *G = zeros(P + 1);
    assert_int_equal(sgfsi_posterior_full(b.m, mode.theta, &lp, G, NULL, NULL), SGFS_OK);
    for (int64_t j = 0; j <= P; j++) size += G[j] * G[j] / 0.7;
    assert_true(sqrt(size) < 1e-6);
    free(G);
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

/* ---- no mode to find ------------------------------------------------------------------------- */

static void expect_no_mode(bench *b, const char *method, double tolerance) {
    sgfsi_arena arena = {NULL};
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_mode mode;
    if (search(b, method, tolerance, &arena, &mode, &err) == SGFS_OK) {
        fail_msg("%s, %lld rows: found a mode where there is none (%.3g %.3g %.3g %.3g)", method,
                 (long long)b->N, mode.theta[0], mode.theta[1], mode.theta[2], mode.theta[3]);
    }
    assert_int_equal(err.code, SGFS_ENUMERIC);
    if (strstr(err.text, "The mode does not exist") == NULL) fail_msg("%s: %s", method, err.text);
    assert_non_null(strstr(err.text, "--prior-precision"));
    sgfsi_arena_free(&arena);
}

/* kind 0: one column separates all rows; 1: one level of a dummy, ties in every row of it, has one
 * class only; 2: the same behind a column it is correlated with. */
static bench separable(int64_t N, int kind) {
    bench b = rows_of(N, 3, 1, 404);
    make_binary(&b, 405);
    for (int64_t i = 0; i < N; i++) {
        double *x = b.x + i * b.P, dummy = i % 10 == 0 ? 1 : 0;
        if (kind == 0) b.y[i] = x[1] > 0.2 ? 1 : 0;
        if (kind == 0) continue;
        x[2] = kind == 1 ? dummy : x[1] + 3 * dummy;
        if (dummy > 0) b.y[i] = 1;
    }
    return b;
}

static void test_separable_data_need_a_prior(void **state) {
    (void)state;
    const int64_t rows[] = {60, 30000};
    for (int size = 0; size < 2; size++) {
        for (int kind = 0; kind < 3; kind++) {
            bench b = separable(rows[size], kind);
            open_model(&b, &sgfs_model_logistic, "0");
            expect_no_mode(&b, "fisher", 1e-8);
            expect_no_mode(&b, "fisher", 0.1); /* a coarse answer is no excuse */
            expect_no_mode(&b, "lbfgs", 1e-8);
            close_bench(&b);

            sgfsi_arena arena = {NULL};
            b = separable(rows[size], kind);
            open_model(&b, &sgfs_model_logistic, "1e-6");
            sgfsi_mode mode = found(&b, "fisher", 1e-8, &arena);
            assert_true(step_left(b.m, mode.theta) < 1e-8);
            sgfsi_mode other = found(&b, "lbfgs", 1e-8, &arena);
            assert_near(apart(4, mode.L, other.theta, mode.theta), 0, 1e-5, "with a prior");
            sgfsi_arena_free(&arena);
            close_bench(&b);
        }
    }
}

/* Rare is not never: 3 positives in 30,000 rows, no prior. */
static void test_rare_events_have_a_mode(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    bench b = rows_of(30000, 1, 1, 23);
    for (int64_t i = 0; i < b.N; i++) b.y[i] = i == 100 || i == 9000 || i == 20000 ? 1 : 0;
    open_model(&b, &sgfs_model_logistic, "0");
    sgfsi_mode mode = found(&b, "fisher", 1e-8, &arena);
    assert_true(step_left(b.m, mode.theta) < 1e-8);
    sgfsi_mode other = found(&b, "lbfgs", 1e-8, &arena);
    assert_near(apart(2, mode.L, other.theta, mode.theta), 0, 1e-5, "lbfgs");
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

static void test_a_column_that_says_nothing_new_is_named(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_mode mode;
    bench b = rows_of(400, 3, 1, 8);
    for (int64_t i = 0; i < b.N; i++) b.x[i * 3 + 2] = 0.3 * b.x[i * 3] - 1.7 * b.x[i * 3 + 1];
    make_binary(&b, 9);
    open_model(&b, &sgfs_model_logistic, "0");
    assert_int_equal(search(&b, "fisher", 1e-8, &arena, &mode, &err), SGFS_ENUMERIC);
    assert_non_null(strstr(err.text, "singular at \"x3\""));
    err.text[0] = '\0';
    assert_int_equal(search(&b, "lbfgs", 1e-8, &arena, &mode, &err), SGFS_ENUMERIC);
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

static void test_too_few_steps_say_so(void **state) {
    (void)state;
    const char *const methods[] = {"fisher", "lbfgs"};
    bench b = rows_of(800, 4, 1, 66);
    make_binary(&b, 67);
    open_model(&b, &sgfs_model_logistic, "1");
    for (int k = 0; k < 2; k++) {
        sgfsi_arena arena = {NULL};
        sgfs_err err = {SGFS_OK, ""};
        sgfsi_mode mode;
        const sgfsi_mode_plan plan = {.method = methods[k], .tolerance = 1e-8, .most = 2};
        assert_int_equal(sgfsi_mode_search(b.m, &plan, &arena, &mode, &err), SGFS_ENUMERIC);
        assert_non_null(strstr(err.text, "2 steps (--max-iterations)"));
        sgfsi_arena_free(&arena);
    }
    close_bench(&b);
}

/* A model whose matrix is 0.4 times the diagonal of the truth: full steps overshoot, some
 * directions by a factor of two and more, and would never settle; the line search has to shorten
 * them all the way down to the rounding. */
static void poor_curvature(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *A,
                           double *scratch) {
    double *part = zeros(m->D * m->D);
    sgfs_model_logistic.curvature(m, theta, b, part, scratch);
    for (int64_t j = 0; j < m->D; j++) A[j * m->D + j] += 0.4 * part[j * m->D + j];
    free(part);
}

static void test_a_poor_matrix_costs_steps_and_not_the_answer(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    sgfs_model_kind poor = sgfs_model_logistic;
    poor.curvature = poor_curvature;
    bench b = rows_of(2000, 4, 1, 21);
    make_binary(&b, 22);
    open_model(&b, &poor, "0");
    const sgfsi_mode_plan plan = {.method = "fisher", .tolerance = 1e-8, .most = 1000};
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_mode mode;
    if (sgfsi_mode_search(b.m, &plan, &arena, &mode, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_true(step_left(b.m, mode.theta) < 1e-8);
    assert_in_range(mode.iterations, 6, 200);
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

/* A job that is asked to stop makes no further pass and has no result. */
static void test_a_stopped_search_has_no_result(void **state) {
    (void)state;
    static const char *const method[] = {"fisher", "lbfgs"};
    for (int k = 0; k < 2; k++) {
        sgfs_err err = {SGFS_OK, ""};
        bench b = rows_of(900, 3, 7, 55);
        make_binary(&b, 22);
        set(b.cfg, "optimize.method", method[k]);
        open_model(&b, &sgfs_model_logistic, "1");
        sgfs_job *job = sgfs_optimize_open(b.m, b.cfg, &err);
        sgfs_config_stop(b.cfg);
        assert_int_equal(sgfs_job_run(job, &err), SGFS_ESTOPPED);
        assert_null(sgfs_job_result(job));
        sgfs_job_free(job);
        close_bench(&b);
    }
}

/* ---- the user's scale ------------------------------------------------------------------------ */

/* Standardised inside, or not: without a prior it is one posterior, with one Gaussian on the user's
 * scale. */
static void test_standardize_changes_nothing_without_a_prior(void **state) {
    (void)state;
    sgfs_job *job[2];
    const sgfs_mode *mode[2];
    for (int k = 0; k < 2; k++) {
        sgfs_err err = {SGFS_OK, ""};
        bench b = rows_of(900, 3, 7, 55);
        for (int64_t i = 0; i < b.N; i++) b.x[i * 3 + 1] += 40;
        set(b.cfg, "data.standardize", k == 0 ? "false" : "true");
        set(b.cfg, "optimize.tolerance", "1e-10");
        open_model(&b, &sgfs_model_linear, "0");
        job[k] = sgfs_optimize_open(b.m, b.cfg, &err);
        if (sgfs_job_run(job[k], &err) != SGFS_OK) fail_msg("%s", err.text);
        mode[k] = sgfs_job_result(job[k]);
        close_bench(&b); /* the mode stands by itself */
    }
    for (int64_t i = 0; i < 5; i++) {
        const sgfs_mode_row *a = &mode[0]->row[i], *b = &mode[1]->row[i];
        assert_string_equal(a->name, b->name);
        assert_near(b->mode, a->mode, 1e-7 * a->sd, a->name);
        for (int64_t j = 0; j < 5; j++) {
            double tolerance = 1e-7 * a->sd * mode[0]->row[j].sd;
            assert_near(mode[1]->cov[i * 5 + j], mode[0]->cov[i * 5 + j], tolerance, "cov");
        }
        assert_near(b->sd, sqrt(mode[1]->cov[i * 6]), 0, "sd");
    }
    sgfs_job_free(job[0]);
    sgfs_job_free(job[1]);
}

/* ---- laplace --------------------------------------------------------------------------------- */

enum { T = 20000, CHAINS = 2 };

static sgfs_draws *laplace_draws(bench *b, const char *seed) {
    sgfs_err err = {SGFS_OK, ""};
    set(b->cfg, "sampler.kind", "laplace");
    set(b->cfg, "run.chains", "2");
    set(b->cfg, "run.draws", "20000");
    set(b->cfg, "run.seed", seed);
    sgfs_run *run = sgfs_run_open(b->m, b->cfg, &err);
    if (run == NULL) fail_msg("%s", err.text);
    assert_int_equal(sgfs_run_all(run, &err), SGFS_OK);
    assert_int_equal(sgfs_run_close(run, &err), SGFS_OK);
    assert_int_equal(run->plan.warmup, 0);
    assert_int_equal(run->plan.thin, 1);
    sgfs_draws *draws = sgfs_run_draws(run, &err);
    assert_non_null(draws);
    sgfs_run_free(run);
    return draws;
}

/* Whitened by the closed form, u = L'(theta - mu): M = CHAINS T draws of D independent standard
 * normals. Means have a standard error of 1/sqrt(M), second moments sqrt(2/M) and sqrt(1/M), the
 * lag-1 products 1/sqrt(M). 4.5 of them in D + D(D+1)/2 + D = 25 numbers: a false alarm once in
 * 6,000 seeds. */
static void test_laplace_is_exact_on_a_gaussian_posterior(void **state) {
    (void)state;
    enum { D = 5 };
    sgfsi_arena arena = {NULL};
    bench b = rows_of(700, D - 1, 1, 385);
    double mu[D], mean[D] = {0}, second[D][D] = {{0}}, lagged[D] = {0}, M = CHAINS * T;
    set(b.cfg, "model.sigma", "0.871");
    open_model(&b, &sgfs_model_linear, "2.385");
    normal_equations(&b, 1 / (0.871 * 0.871), 2.385, mu);
    sgfsi_mode mode = found(&b, "fisher", 1e-10, &arena);
    sgfs_draws *draws = laplace_draws(&b, "7");
    for (int64_t c = 0; c < CHAINS; c++) {
        double before[D] = {0};
        const double *theta = sgfs_draws_chain(draws, c);
        for (int64_t t = 0; t < T; t++, theta += D) {
            double u[D];
            for (int64_t j = 0; j < D; j++) {
                u[j] = 0;
                for (int64_t i = j; i < D; i++) u[j] += mode.L[i * D + j] * (theta[i] - mu[i]);
            }
            for (int64_t j = 0; j < D; j++) {
                mean[j] += u[j] / M;
                lagged[j] += u[j] * before[j] / M;
                before[j] = u[j];
                for (int64_t i = 0; i <= j; i++) second[j][i] += u[j] * u[i] / M;
            }
        }
    }
    for (int64_t j = 0; j < D; j++) {
        assert_near(mean[j], 0, 4.5 / sqrt(M), "mean");
        assert_near(lagged[j], 0, 4.5 / sqrt(M), "autocorrelation");
        assert_near(second[j][j], 1, 4.5 * sqrt(2 / M), "variance");
        for (int64_t i = 0; i < j; i++) assert_near(second[j][i], 0, 4.5 / sqrt(M), "covariance");
    }
    sgfs_draws_free(draws);
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

/* lp is the posterior's own where the posterior is that Gaussian; both chains share one mode. */
static void test_laplace_lp_and_bits(void **state) {
    (void)state;
    bench b = rows_of(300, 2, 1, 3);
    set(b.cfg, "model.sigma", "0.871");
    open_model(&b, &sgfs_model_linear, "1");
    sgfs_draws *one = laplace_draws(&b, "11"), *two = laplace_draws(&b, "11");
    sgfs_draws *other = laplace_draws(&b, "12");
    for (int64_t c = 0; c < CHAINS; c++) {
        const double *theta = sgfs_draws_chain(one, c);
        assert_memory_equal(theta, sgfs_draws_chain(two, c), T * 3 * sizeof(double));
        assert_true(theta[0] != sgfs_draws_chain(other, c)[0]);
        for (int64_t t = 0; t < T; t += 4999) {
            double lp, G[3];
            assert_int_equal(sgfsi_posterior_full(b.m, theta + 3 * t, &lp, G, NULL, NULL), SGFS_OK);
            assert_near(one->chain[c].stats[t], lp, 1e-9 * fabs(lp), "lp");
        }
    }
    assert_true(sgfs_draws_chain(one, 0)[0] != sgfs_draws_chain(one, 1)[0]);
    sgfs_draws_free(one);
    sgfs_draws_free(two);
    sgfs_draws_free(other);
    close_bench(&b);
}

/* What it cannot do is refused before any work, in words. */
static void test_laplace_refuses(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_model_kind bare = sgfs_model_logistic;
    bare.curvature = NULL;
    bench b = rows_of(100, 2, 1, 3);
    make_binary(&b, 4);
    set(b.cfg, "sampler.kind", "laplace");
    open_model(&b, &bare, "1");
    assert_null(sgfs_run_open(b.m, b.cfg, &err));
    assert_int_equal(err.code, SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "information matrix"));
    close_bench(&b);
    b = rows_of(20, SGFSI_MOST_DENSE + 1, 1, 3);
    set(b.cfg, "sampler.kind", "laplace");
    open_model(&b, &sgfs_model_linear, "1");
    assert_null(sgfs_run_open(b.m, b.cfg, &err));
    assert_int_equal(err.code, SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "sgfs-d"));
    close_bench(&b);
    b = rows_of(100, 2, 1, 3);
    set(b.cfg, "sampler.kind", "laplace");
    set(b.cfg, "run.init", "2");
    open_model(&b, &sgfs_model_linear, "1");
    assert_null(sgfs_run_open(b.m, b.cfg, &err));
    assert_non_null(strstr(err.text, "--init"));
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_sigma_is_the_normal_equations),
        cmocka_unit_test(test_unknown_sigma_without_a_prior_is_least_squares),
        cmocka_unit_test(test_both_methods_find_a_place_without_gradient),
        cmocka_unit_test(test_units_of_the_columns_do_not_matter),
        cmocka_unit_test(test_any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(test_a_model_without_curvature_is_climbed_by_gradients),
        cmocka_unit_test(test_many_parameters_need_no_matrix),
        cmocka_unit_test(test_separable_data_need_a_prior),
        cmocka_unit_test(test_rare_events_have_a_mode),
        cmocka_unit_test(test_a_column_that_says_nothing_new_is_named),
        cmocka_unit_test(test_too_few_steps_say_so),
        cmocka_unit_test(test_a_poor_matrix_costs_steps_and_not_the_answer),
        cmocka_unit_test(test_a_stopped_search_has_no_result),
        cmocka_unit_test(test_standardize_changes_nothing_without_a_prior),
        cmocka_unit_test(test_laplace_is_exact_on_a_gaussian_posterior),
        cmocka_unit_test(test_laplace_lp_and_bits),
        cmocka_unit_test(test_laplace_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
