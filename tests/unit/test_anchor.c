/* SPDX-License-Identifier: MIT
 * test_anchor.c: the anchor against a search of another tolerance and against passes at its place;
 * how many passes it takes; pilots that know nothing of some parameter; the same bits for any
 * number of threads; and what is built on it: differences of scores, made again or looked up, and
 * the scores of all rows.
 *
 * Distances are in posterior standard deviations: |L'(theta - mode)|, A = L L'.
 */
#include <stdio.h>
#include <unistd.h>

#include "model/prior.h"
#include "posterior/anchor.h"
#include "posterior/mode.h"
#include "posterior/remembered.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

/* ---- rows and models ------------------------------------------------------------------------- */

enum { P = 4 };

typedef struct setup {
    const char *kind;
    bool weights, exposure, sparse;
    const char *key[3], *value[3]; /* options; NULL: none */
} setup;

typedef struct bench {
    int64_t N;
    double *x, *y, *weight, *exposure, *value;
    int64_t *start;
    int32_t *col;
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
} bench;

static double eta_of(const double *x) {
    return -0.417 + 0.731 * x[0] - 0.583 * x[1] + 0.291 * x[P - 1];
}

static double target_of(const char *kind, double eta, uint64_t *seed) {
    double u = 0.5 * (next_number(seed) + 1), sum;
    if (strcmp(kind, "linear") == 0) return eta + 0.871 * next_normal(seed);
    if (strcmp(kind, "logistic") == 0) return u < 1 / (1 + exp(-eta)) ? 1 : 0;
    if (strcmp(kind, "softmax") == 0) {
        sum = exp(eta) + exp(0.3 - eta) + 1;
        return u < exp(eta) / sum ? 7 : u < (exp(eta) + 1) / sum ? 2 : 5;
    }
    sum = 0; /* Poisson, by inversion */
    for (double k = 0, p = exp(-exp(eta));; k++, p *= exp(eta) / k) {
        sum += p;
        if (u < sum || k > 60) return k;
    }
}

static bench rows_of(const char *kind, int64_t N, uint64_t seed) {
    bench b = {.N = N, .x = zeros(N * P), .y = zeros(N), .weight = zeros(N), .exposure = zeros(N)};
    b.cfg = unit_prior_config();
    for (int64_t i = 0; i < N; i++) {
        double *x = b.x + i * P;
        for (int64_t j = 0; j < P; j++) x[j] = next_normal(&seed);
        x[1] = 0.6 * x[0] + 0.8 * x[1];
        x[2] = fabs(x[2]) < 0.8 ? 0 : x[2];
        b.exposure[i] = exp(0.4 * next_number(&seed));
        b.weight[i] = (double)(next_bits(&seed) % 4) * 0.75;
        b.y[i] = target_of(kind, eta_of(x), &seed);
    }
    return b;
}

static void make_sparse(bench *b) {
    int64_t k = 0;
    b->start = calloc((size_t)b->N + 1, sizeof *b->start);
    b->col = calloc((size_t)(b->N * P), sizeof *b->col);
    b->value = zeros(b->N * P);
    for (int64_t i = 0; i < b->N; i++) {
        for (int32_t j = 0; j < P; j++) {
            if (b->x[i * P + j] == 0) continue;
            b->col[k] = j;
            b->value[k++] = b->x[i * P + j];
        }
        b->start[i + 1] = k;
    }
}

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static void open_model(bench *b, const setup *is) {
    sgfs_err err;
    sgfs_arrays a = {.rows = b->N, .cols = P, .x = b->x, .y = b->y};
    for (int k = 0; k < 3; k++) {
        if (is->key[k] != NULL) set(b->cfg, is->key[k], is->value[k]);
    }
    if (is->sparse) {
        make_sparse(b);
        a.x = NULL;
        a.csr_start = b->start;
        a.csr_col = b->col;
        a.csr_value = b->value;
    }
    if (is->weights) a.weights = b->weight;
    if (is->exposure) a.exposure = b->exposure;
    b->data = sgfs_data_wrap(&a, b->cfg, &err);
    if (b->data == NULL) fail_msg("%s", err.text);
    b->m = sgfs_model_open(is->kind, b->data, b->cfg, &err);
    if (b->m == NULL) fail_msg("%s", err.text);
}

static bench opened(const setup *is, int64_t N, uint64_t seed) {
    bench b = rows_of(is->kind, N, seed);
    open_model(&b, is);
    return b;
}

static void close_bench(bench *b) {
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
    free(b->x), free(b->y), free(b->weight), free(b->exposure);
    free(b->start), free(b->col), free(b->value);
}

static sgfsi_anchor found(const bench *b, int64_t threads, sgfsi_arena *arena) {
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_anchor a;
    if (sgfsi_anchor_find(&a, b->m, &(sgfsi_anchor_search){.tolerance = 0.01, .threads = threads},
                          arena, &err) != SGFS_OK)
        fail_msg("%s: %s", b->m->kind->name, err.text);
    return a;
}

static double apart(int64_t D, const double *L, const double *a, const double *b) {
    double sum = 0;
    for (int64_t j = 0; j < D; j++) {
        double r = 0;
        for (int64_t i = j; i < D; i++) r += L[i * D + j] * (a[i] - b[i]);
        sum += r * r;
    }
    return sqrt(sum);
}

/* ---- what an anchor says --------------------------------------------------------------------- */

static const setup setups[] = {
    {.kind = "linear", .weights = true},
    {.kind = "linear", .sparse = true, .key = {"model.sigma"}, .value = {"0.9"}},
    {.kind = "logistic",
     .sparse = true,
     .key = {"prior.kind", "prior.precision"},
     .value = {"student-t", "3.5"}},
    {.kind = "logistic",
     .weights = true,
     .key = {"data.standardize", "prior.precision"},
     .value = {"true", "0"}},
    {.kind = "softmax", .weights = true},
    {.kind = "softmax", .sparse = true, .key = {"model.reference_class"}, .value = {"5"}},
    {.kind = "poisson", .exposure = true, .weights = true},
    {.kind = "poisson", .sparse = true, .exposure = true, .key = {"prior.kind"}, .value = {"flat"}},
};
enum { SETUPS = sizeof setups / sizeof setups[0] };

/* A search to 1e-8 stands for the mode. Where the anchor says it is 0.01 away at most, third
 * derivatives change the length of the step by a part in a hundred. */
static void is_near_the_mode(const bench *b, const sgfsi_anchor *a) {
    int64_t D = b->m->D;
    double *mode = zeros(D), *cov = zeros(D * D);
    assert_int_equal(sgfsi_mode_find(b->m, NULL, 0, mode, cov, NULL, NULL), SGFS_OK);
    double away = apart(D, a->L, a->theta, mode);
    assert_true(a->distance < 0.01);
    assert_near(away, a->distance, 0.02 * a->distance + 1e-7, "the distance it says");
    free(mode), free(cov);
}

/* Sums of N rows in double: their rounding is far below 1e-10 of the sum of sizes, which N bounds
 * to a factor. */
static void agrees_with_passes(const bench *b, const sgfsi_anchor *a) {
    int64_t D = b->m->D;
    double lp, *G = zeros(D), *A = zeros(D * D), tiny = 1e-10 * (double)b->N;
    assert_int_equal(sgfsi_posterior_full(b->m, a->theta, &lp, G, A, NULL), SGFS_OK);
    assert_near(a->lp, lp, tiny, "lp");
    for (int64_t i = 0; i < D; i++) {
        assert_near(a->G_post[i], G[i], tiny, "G_post");
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0;
            for (int64_t k = 0; k <= j; k++) sum += a->L[i * D + k] * a->L[j * D + k];
            assert_near(sum, A[i * D + j], tiny, "L L'");
        }
    }
    free(G), free(A);
}

static void agrees_with_the_likelihood(const bench *b, const sgfsi_anchor *a) {
    int64_t D = b->m->D;
    sgfsi_arena arena = {NULL};
    sgfsi_full full;
    double loglik, *G = zeros(D), *A = zeros(D * D), tiny = 1e-10 * (double)b->N;
    assert_int_equal(sgfsi_full_open(&full, b->m, 1, true, &arena, NULL), SGFS_OK);
    assert_int_equal(sgfsi_full_likelihood(&full, a->theta, &loglik, G, A, NULL), SGFS_OK);
    assert_near(a->loglik, loglik, tiny, "loglik");
    for (int64_t i = 0; i < D; i++) {
        assert_near(a->G[i], G[i], tiny, "G");
        for (int64_t j = 0; j <= i; j++) {
            assert_near(a->info[i * D + j], A[i * D + j], tiny, "info");
            assert_true(a->info[i * D + j] == a->info[j * D + i]);
        }
    }
    sgfsi_arena_free(&arena);
    free(G), free(A);
}

/* G is the slope of the log likelihood; half a step of 1e-3 posterior deviations errs by the third
 * derivative, 1e-6 relative, and by rounding, 1e-13 N over the step. */
static void is_the_slope(const bench *b, const sgfsi_anchor *a) {
    int64_t D = b->m->D;
    sgfsi_arena arena = {NULL};
    sgfsi_full full;
    double *theta = zeros(D), *G = zeros(D), high, low;
    assert_int_equal(sgfsi_full_open(&full, b->m, 1, false, &arena, NULL), SGFS_OK);
    for (int64_t j = 0; j < D; j++) {
        double step = 0.1 / sqrt(a->info[j * D + j]);
        memcpy(theta, a->theta, (size_t)D * sizeof *theta);
        theta[j] += step;
        assert_int_equal(sgfsi_full_likelihood(&full, theta, &high, G, NULL, NULL), SGFS_OK);
        theta[j] -= 2 * step;
        assert_int_equal(sgfsi_full_likelihood(&full, theta, &low, G, NULL, NULL), SGFS_OK);
        assert_near((high - low) / (2 * step) * step, a->G[j] * step, 1e-4, "slope");
        assert_near(a->loglik - 0.5 * (high + low), 0.005, 1e-4, "bend");
    }
    sgfsi_arena_free(&arena);
    free(theta), free(G);
}

static void test_an_anchor_says_what_passes_say(void **state) {
    (void)state;
    for (int k = 0; k < SETUPS; k++) {
        sgfsi_arena arena = {NULL};
        bench b = opened(&setups[k], 3001, 385 + (uint64_t)k);
        sgfsi_anchor a = found(&b, 1, &arena);
        assert_int_equal(a.pilot, 0);
        assert_true(a.rows == a.passes * b.N);
        is_near_the_mode(&b, &a);
        agrees_with_passes(&b, &a);
        agrees_with_the_likelihood(&b, &a);
        is_the_slope(&b, &a);
        sgfsi_anchor again; /* the same place, told by a pass of its own */
        assert_int_equal(sgfsi_anchor_open(&again, b.m->D, &arena, NULL), SGFS_OK);
        assert_int_equal(sgfsi_anchor_at(&again, b.m, a.theta, 2, NULL), SGFS_OK);
        agrees_with_passes(&b, &again);
        agrees_with_the_likelihood(&b, &again);
        assert_near(again.distance, a.distance, 1e-10, "distance");
        sgfsi_arena_free(&arena);
        close_bench(&b);
    }
}

/* ---- passes ---------------------------------------------------------------------------------- */

static void test_three_passes_are_enough(void **state) {
    (void)state;
    for (int k = 0; k < SETUPS; k++) {
        sgfsi_arena arena = {NULL};
        bench b = opened(&setups[k], 100003, 713 + (uint64_t)k);
        sgfsi_anchor a = found(&b, 0, &arena);
        assert_int_equal(a.pilot, 20000);
        bool gaussian = sgfsi_prior_is_quadratic(b.m);
        assert_in_range(a.passes, 1, gaussian ? 3 : 14); /* others look for a second mode */
        is_near_the_mode(&b, &a);
        sgfsi_arena_free(&arena);
        close_bench(&b);
    }
}

/* The pilot lives on the scale of all rows: half a percent more or less in the target's own, as a
 * sample's would be, is a hundred times the noise here. */
static void test_a_pilot_shares_the_scale_of_all_rows(void **state) {
    (void)state;
    const setup is = {.kind = "linear", .key = {"data.standardize"}, .value = {"true"}};
    sgfsi_arena arena = {NULL};
    uint64_t seed = 91;
    bench b = rows_of("linear", 100003, 17);
    for (int64_t i = 0; i < b.N; i++) b.y[i] = 5 * eta_of(b.x + i * P) + 2e-4 * next_normal(&seed);
    open_model(&b, &is);
    sgfsi_anchor a = found(&b, 0, &arena);
    assert_int_equal(a.pilot, 20000);
    assert_in_range(a.passes, 1, 3);
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

static void test_the_same_bits_for_any_threads(void **state) {
    (void)state;
    for (int k = 0; k < SETUPS; k += 3) {
        sgfsi_arena arena = {NULL};
        bench b = opened(&setups[k], 90001, 5 + (uint64_t)k);
        sgfsi_anchor one = found(&b, 1, &arena), two = found(&b, 2, &arena);
        size_t D = (size_t)b.m->D;
        assert_true(one.pilot > 0);
        assert_memory_equal(one.theta, two.theta, D * sizeof *one.theta);
        assert_memory_equal(one.G, two.G, D * sizeof *one.G);
        assert_memory_equal(one.info, two.info, D * D * sizeof *one.info);
        assert_memory_equal(one.L, two.L, D * D * sizeof *one.L);
        assert_true(one.loglik == two.loglik && one.distance == two.distance);
        sgfsi_arena_free(&arena);
        close_bench(&b);
    }
}

static void test_packed_rows(void **state) {
    (void)state;
    char path[64];
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_arena arena = {NULL};
    bench b = {.cfg = unit_prior_config()};
    snprintf(path, sizeof path, "anchor-%lld.sgd", (long long)getpid());
    set(b.cfg, "simulate.rows", "90001");
    set(b.cfg, "simulate.dim", "4");
    sgfs_job *job = sgfs_simulate_open("logistic", path, NULL, b.cfg, &err);
    if (sgfs_job_run(job, &err) != SGFS_OK) fail_msg("%s", err.text);
    sgfs_job_free(job);
    b.data = sgfs_data_open(path, b.cfg, &err);
    if (b.data == NULL) fail_msg("%s", err.text);
    b.m = sgfs_model_open("logistic", b.data, b.cfg, &err);
    if (b.m == NULL) fail_msg("%s", err.text);
    b.N = b.data->N;
    sgfsi_anchor a = found(&b, 2, &arena);
    assert_int_equal(a.pilot, 20000);
    assert_in_range(a.passes, 1, 3);
    is_near_the_mode(&b, &a);
    agrees_with_passes(&b, &a);
    sgfsi_arena_free(&arena);
    close_bench(&b);
    unlink(path);
}

/* ---- pilots that cannot know ----------------------------------------------------------------- */

static const setup proper = {.kind = "logistic"},
                   flat = {.kind = "logistic", .key = {"prior.kind"}, .value = {"flat"}};

/* 30 events among 200,003 rows: a pilot might hold three, or none. */
static void test_rare_events_have_no_pilot(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        sgfsi_arena arena = {NULL};
        bench b = rows_of("logistic", 200003, 23);
        for (int64_t i = 0; i < b.N; i++) b.y[i] = i % 6667 == 4000 ? 1 : 0;
        open_model(&b, k == 0 ? &proper : &flat);
        sgfsi_anchor a = found(&b, 0, &arena);
        assert_int_equal(a.pilot, 0);
        assert_in_range(a.passes, 1, 15);
        is_near_the_mode(&b, &a);
        sgfsi_arena_free(&arena);
        close_bench(&b);
    }
}

/* One event in a hundred: the pilot is larger, so that it holds 500. */
static void test_few_events_have_a_larger_pilot(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    uint64_t seed = 29;
    bench b = rows_of("logistic", 300007, 23);
    for (int64_t i = 0; i < b.N; i++)
        b.y[i] = target_of("logistic", eta_of(b.x + i * P) - 4.6, &seed);
    open_model(&b, &proper);
    sgfsi_anchor a = found(&b, 0, &arena);
    assert_near((double)a.pilot * b.m->events / (double)b.N, 500, 1, "events of the pilot");
    assert_true(a.pilot > 20000);
    assert_in_range(a.passes, 1, 4);
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

/* A column that is 1 in three rows, none of which the pilot holds. With a prior it stays where that
 * wants it, and the pilot is as good as any; without one it has no mode and is forgotten. */
static void test_a_level_the_pilot_does_not_hold(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        sgfsi_arena arena = {NULL};
        bench b = rows_of("logistic", 100003, 41);
        for (int64_t i = 0; i < b.N; i++) b.x[i * P + 2] = 0;
        for (int64_t i = 0; i < 3; i++) { /* every fifth row is a pilot's: these are not */
            b.x[(5003 + 10000 * i) * P + 2] = 1;
            b.y[5003 + 10000 * i] = i == 1 ? 0 : 1;
        }
        open_model(&b, k == 0 ? &proper : &flat);
        sgfsi_anchor a = found(&b, 0, &arena);
        assert_int_equal(a.pilot, k == 0 ? 20000 : 0);
        assert_in_range(a.passes, 1, 12);
        is_near_the_mode(&b, &a);
        assert_true(k == 0 ? a.rows < 10 * b.N : a.rows > a.passes * b.N);
        sgfsi_arena_free(&arena);
        close_bench(&b);
    }
}

/* Rows that a column separates, but for a few that the pilot does not hold: there is a mode, and
 * the pilot has none. Without those few there is none at all, and at any tolerance that is said. */
static void test_separated_rows(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        sgfsi_arena arena = {NULL};
        sgfs_err err = {SGFS_OK, ""};
        sgfsi_anchor a;
        bench b = rows_of("logistic", k == 2 ? 507 : 100003, 59);
        int64_t *row = calloc(20000, sizeof *row);
        open_model(&b, &flat); /* for its rows only */
        if (k == 0) sgfsi_data_fair(b.data, 20000, row);
        sgfs_model_free(b.m);
        sgfs_data_free(b.data);
        for (int64_t i = 0; i < b.N; i++) b.y[i] = b.x[i * P] > 0.3 ? 1 : 0;
        for (int64_t i = 0, next = 0; k == 0 && i < b.N; i++) {
            if (next < 20000 && row[next] == i) next++;
            else if (i % 97 == 0) b.y[i] = 1 - b.y[i];
        }
        open_model(&b, &flat);
        sgfs_status status = sgfsi_anchor_find(
            &a, b.m, &(sgfsi_anchor_search){.tolerance = 0.01, .threads = 0}, &arena, &err);
        assert_int_equal(status, k == 0 ? SGFS_OK : SGFS_ENUMERIC);
        if (k == 0) assert_int_equal(a.pilot, 0);
        else assert_non_null(strstr(err.text, "does not exist"));
        free(row);
        sgfsi_arena_free(&arena);
        close_bench(&b);
    }
}

static void test_who_has_none(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_anchor a;
    const setup is = {.kind = "logistic", .key = {"prior.kind"}, .value = {"laplace"}};
    bench b = opened(&is, 507, 61);
    assert_int_equal(sgfsi_anchor_find(&a, b.m,
                                       &(sgfsi_anchor_search){.tolerance = 0.01, .threads = 1},
                                       &arena, &err),
                     SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "kink"));
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

/* ---- a second mode --------------------------------------------------------------------------- */

/* Three rows at about 4, and a prior of scale 1/1000 with heavy tails: a mode at 0 that the prior
 * holds, and one at 3.66, where (y - t) n/sigma^2 = 5/t, with 70 % of the mass. The level is a
 * column's (the model begins at 0) or the intercept (it begins at the mean, the other mode's
 * side). */
static bench three_rows(bool column, const char *prior, const char *precision, const char *sigma) {
    const setup is = {.kind = "linear",
                      .key = {"prior.kind", "prior.precision", "model.sigma"},
                      .value = {prior, precision, sigma}};
    bench b = rows_of("linear", 3, 1);
    memset(b.x, 0, 3 * P * sizeof *b.x);
    for (int64_t i = 0; i < 3; i++) {
        b.x[i * P] = column ? 1 : 0;
        b.y[i] = 4 + 0.2 * (double)(i - 1);
    }
    if (column) set(b.cfg, "data.intercept", "false");
    open_model(&b, &is);
    return b;
}

static void test_two_modes_have_no_anchor(void **state) {
    (void)state;
    for (int column = 0; column < 2; column++) {
        sgfsi_arena arena = {NULL};
        sgfs_err err = {SGFS_OK, ""};
        sgfsi_anchor a;
        bench b = three_rows(column, "student-t", "1e6", "0.86");
        assert_int_equal(sgfsi_anchor_find(&a, b.m,
                                           &(sgfsi_anchor_search){.tolerance = 0.01, .threads = 1},
                                           &arena, &err),
                         SGFS_ENUMERIC);
        assert_non_null(strstr(err.text, "more than one mode"));
        assert_non_null(strstr(err.text, b.m->param[0]));
        assert_non_null(strstr(err.text, "near 3.66"));
        assert_true(strlen(err.text) < 340); /* or the choice of a sampler would cut it */
        sgfsi_arena_free(&arena);
        close_bench(&b);
    }
}

/* The same prior where one side has its way: sigma 2 leaves the mode at 0 alone (5/t is above
 * 0.75 (4 - t) for all t, as 4 x 0.75 < 5), precision 1 the other. */
static void test_one_mode_has_one(void **state) {
    (void)state;
    const char *precision[] = {"1e6", "1"}, *sigma[] = {"2", "0.86"};
    const double level[] = {0, 3.66};
    for (int k = 0; k < 4; k++) {
        sgfsi_arena arena = {NULL};
        bench b = three_rows(k < 2, "student-t", precision[k % 2], sigma[k % 2]);
        const sgfsi_mode_plan plan = {.method = "fisher", .tolerance = 0.01, .threads = 1};
        sgfsi_anchor a = found(&b, 1, &arena);
        sgfsi_mode mode;
        assert_int_equal(sgfsi_mode_search(b.m, &plan, &arena, &mode, NULL), SGFS_OK);
        assert_memory_equal(a.theta, mode.theta, (size_t)b.m->D * sizeof *a.theta);
        assert_memory_equal(a.G_post, mode.G, (size_t)b.m->D * sizeof *a.G_post);
        assert_true(a.passes > mode.passes && a.rows == 3 * a.passes);
        assert_near(a.theta[0], level[k % 2], 0.2, "the level");
        sgfsi_arena_free(&arena);
        close_bench(&b);
    }
}

/* Classes that a column separates have no mode but by the prior: nothing to compare with, no
 * error. */
static void test_separated_rows_under_a_student(void **state) {
    (void)state;
    const setup is = {.kind = "logistic", .key = {"prior.kind"}, .value = {"student-t"}};
    sgfsi_arena arena = {NULL};
    bench b = rows_of("logistic", 507, 59);
    for (int64_t i = 0; i < b.N; i++) b.y[i] = b.x[i * P] > 0.3 ? 1 : 0;
    open_model(&b, &is);
    sgfsi_anchor a = found(&b, 1, &arena);
    assert_true(a.distance < 0.01);
    sgfsi_arena_free(&arena);
    close_bench(&b);
}

static void test_a_gaussian_prior_costs_no_second_look(void **state) {
    (void)state;
    const char *prior[] = {"gaussian", "flat"};
    for (int k = 0; k < 2; k++) {
        const setup is = {.kind = "logistic", .key = {"prior.kind"}, .value = {prior[k]}};
        const sgfsi_mode_plan plan = {.method = "fisher", .tolerance = 0.01, .threads = 1};
        sgfsi_arena arena = {NULL};
        bench b = opened(&is, 3001, 97);
        sgfsi_anchor a = found(&b, 1, &arena);
        sgfsi_mode mode;
        assert_int_equal(sgfsi_mode_search(b.m, &plan, &arena, &mode, NULL), SGFS_OK);
        assert_int_equal(a.passes, mode.passes);
        sgfsi_arena_free(&arena);
        close_bench(&b);
    }
}

/* ---- what is built on it --------------------------------------------------------------------- */

static const setup differing[] = {
    {.kind = "linear"},
    {.kind = "logistic", .sparse = true},
    {.kind = "softmax", .key = {"model.reference_class"}, .value = {"5"}},
    {.kind = "poisson", .exposure = true},
    {.kind = "mlp", .key = {"model.hidden"}, .value = {"3"}},
    {.kind = "drbm", .key = {"model.hidden"}, .value = {"2"}}};
enum { DIFFERING = sizeof differing / sizeof differing[0], KEEPABLE = 4 };

static bench two_places(const setup *is, int64_t N, double **place) {
    bool labels = strcmp(is->kind, "mlp") == 0 || strcmp(is->kind, "drbm") == 0;
    bench b = rows_of(labels ? "softmax" : is->kind, N, 67);
    open_model(&b, is);
    *place = numbers(2 * b.m->D, 71);
    for (int64_t j = 0; j < 2 * b.m->D; j++) (*place)[j] *= 0.4;
    return b;
}

/* Differences of scores to any anchor add up to the gradient of all rows: exactly, where the batch
 * is all of them. Blocks of every form; the noise of a smaller batch has mean 0 for that reason. */
static void test_differences_are_unbiased(void **state) {
    (void)state;
    for (int k = 0; k < DIFFERING; k++) {
        enum { N = 301 };
        sgfsi_arena arena = {NULL};
        double *theta, lp, lp_full, loglik;
        bench b = two_places(&differing[k], N, &theta);
        int64_t D = b.m->D;
        double *G = zeros(D), *G_full = zeros(D), *G_star = zeros(D);
        sgfsi_eval e = {NULL};
        sgfsi_full full;
        assert_int_equal(sgfsi_full_open(&full, b.m, 1, false, &arena, NULL), SGFS_OK);
        assert_int_equal(sgfsi_full_likelihood(&full, theta + D, &loglik, G_star, NULL, NULL),
                         SGFS_OK);
        assert_int_equal(sgfsi_full_eval(&full, theta, &lp_full, G_full, NULL, NULL), SGFS_OK);
        assert_int_equal(sgfsi_eval_open(&e, b.m, &sgfs_scheme_without, N, &arena, NULL), SGFS_OK);
        assert_int_equal(sgfsi_eval_open_control(&e, &arena, NULL), SGFS_OK);
        const sgfsi_control control = {.theta = theta + D, .G = G_star, .loglik = loglik};
        e.control = &control;
        assert_int_equal(sgfsi_eval_gradient(&e, 1, SGFSI_ROWS, theta, G, &lp, NULL), SGFS_OK);
        for (int64_t j = 0; j < D; j++) assert_near(G[j], G_full[j], 1e-10 * N, b.m->param[j]);
        assert_near(lp, lp_full, 1e-10 * N, "lp");
        sgfsi_arena_free(&arena);
        close_bench(&b);
        free(theta), free(G), free(G_full), free(G_star);
    }
}

/* Looking a row up gives what making it again gives, to rounding, for every row of a batch. */
static void test_kept_scores_are_those_made_again(void **state) {
    (void)state;
    for (int k = 0; k < KEEPABLE; k++) {
        sgfsi_arena arena = {NULL};
        double *theta, lp[2];
        bench b = two_places(&differing[k], 3001, &theta);
        int64_t D = b.m->D;
        double *G = zeros(2 * D), *none = zeros(D);
        sgfsi_eval e = {NULL};
        sgfsi_remembered rows;
        assert_int_equal(sgfsi_remembered_fill(&rows, b.m, theta + D, 2, &arena, NULL), SGFS_OK);
        assert_int_equal(sgfsi_eval_open(&e, b.m, &sgfs_scheme_with, 57, &arena, NULL), SGFS_OK);
        assert_int_equal(sgfsi_eval_open_control(&e, &arena, NULL), SGFS_OK);
        sgfsi_control control = {.theta = theta + D, .G = none};
        e.control = &control;
        for (int64_t t = 1; t < 60; t++) {
            for (int kept = 0; kept < 2; kept++) {
                control.rows = kept ? &rows : NULL;
                assert_int_equal(
                    sgfsi_eval_gradient(&e, t, SGFSI_ROWS, theta, G + kept * D, &lp[kept], NULL),
                    SGFS_OK);
            }
            for (int64_t j = 0; j < D; j++) assert_near(G[D + j], G[j], 1e-9, b.m->param[j]);
            assert_near(lp[1], lp[0], 1e-9, "lp");
        }
        sgfsi_arena_free(&arena);
        close_bench(&b);
        free(theta), free(G), free(none);
    }
}

static void test_networks_keep_nothing(void **state) {
    (void)state;
    sgfsi_arena arena = {NULL};
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_remembered rows;
    double *theta;
    bench b = two_places(&differing[KEEPABLE], 301, &theta);
    assert_false(sgfsi_remembered_pays(b.m));
    assert_int_equal(sgfsi_remembered_fill(&rows, b.m, theta, 1, &arena, &err), SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "--anchor-cache off"));
    sgfsi_arena_free(&arena);
    close_bench(&b);
    free(theta);
}

/* ---- the scores of all rows ------------------------------------------------------------------ */

typedef struct squares {
    int64_t D, rows[64];
    double sum[64][25]; /* by part: D x D */
} squares;

static void add_squares(void *user, int64_t part, int64_t first, const sgfs_scores *s) {
    squares *q = user;
    (void)first;
    q->rows[part] += s->n;
    for (int64_t i = 0; i < s->n; i++) {
        const double *x = s->block[0].right + i * q->D, left = s->block[0].left[i];
        for (int64_t r = 0; r < q->D; r++)
            for (int64_t c = 0; c < q->D; c++)
                q->sum[part][r * q->D + c] += left * left * x[r] * x[c];
    }
}

/* Every row's scores come once, part by part with the same bits for any number of threads, and
 * leave the sums of the pass alone. */
static void test_a_pass_hands_over_every_score(void **state) {
    (void)state;
    const setup is = {.kind = "logistic", .weights = true};
    sgfsi_arena arena = {NULL};
    double *theta, loglik, again, G[5], G_again[5], rows = 0;
    squares one = {.D = 5}, two = {.D = 5};
    sgfsi_harvest harvest = {.take = add_squares, .user = &one};
    bench b = two_places(&is, 40003, &theta);
    sgfsi_full full;
    assert_int_equal(sgfsi_full_open(&full, b.m, 2, true, &arena, NULL), SGFS_OK);
    assert_int_equal(sgfsi_full_likelihood(&full, theta, &loglik, G, NULL, NULL), SGFS_OK);
    assert_int_equal(sgfsi_full_harvest(&full, theta, &harvest, &again, G_again, NULL), SGFS_OK);
    assert_true(again == loglik);
    assert_memory_equal(G, G_again, sizeof G);
    full.threads = 1;
    harvest.user = &two;
    assert_int_equal(sgfsi_full_harvest(&full, theta, &harvest, &again, G_again, NULL), SGFS_OK);
    assert_memory_equal(one.sum, two.sum, sizeof one.sum);
    for (int64_t part = 0; part < full.parts; part++) rows += (double)one.rows[part];
    assert_true(rows == 40003);
    sgfsi_arena_free(&arena);
    close_bench(&b);
    free(theta);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_anchor_says_what_passes_say),
        cmocka_unit_test(test_three_passes_are_enough),
        cmocka_unit_test(test_a_pilot_shares_the_scale_of_all_rows),
        cmocka_unit_test(test_the_same_bits_for_any_threads),
        cmocka_unit_test(test_packed_rows),
        cmocka_unit_test(test_rare_events_have_no_pilot),
        cmocka_unit_test(test_few_events_have_a_larger_pilot),
        cmocka_unit_test(test_a_level_the_pilot_does_not_hold),
        cmocka_unit_test(test_separated_rows),
        cmocka_unit_test(test_who_has_none),
        cmocka_unit_test(test_two_modes_have_no_anchor),
        cmocka_unit_test(test_one_mode_has_one),
        cmocka_unit_test(test_separated_rows_under_a_student),
        cmocka_unit_test(test_a_gaussian_prior_costs_no_second_look),
        cmocka_unit_test(test_differences_are_unbiased),
        cmocka_unit_test(test_kept_scores_are_those_made_again),
        cmocka_unit_test(test_networks_keep_nothing),
        cmocka_unit_test(test_a_pass_hands_over_every_score),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
