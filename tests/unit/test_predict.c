/* SPDX-License-Identifier: MIT
 * test_predict.c: averages, quantiles and measures of predictions against plain slow arithmetic, a
 * draw at a time against all at once, and blocks and threads that change no bit.
 */
#include <float.h>
#include <stdio.h>
#include <unistd.h>

#include "base/io.h"
#include "base/rng.h"
#include "chain/run.h"
#include "jobs/predict/predict.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { N = 700, P = 3, D = P + 1, S = 41 };

static double X[N * P], Y[N], LABEL[N], COUNT[N], OFFSET[N]; /* OFFSET: log exposure */
static const char *const names[P] = {"dose", "age", "bmi"};

static int make_data(void **state) {
    (void)state;
    uint64_t s = 41385;
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < P; j++) X[i * P + j] = 0.3 * j + next_normal(&s);
        double eta = 0.417 + 1.31 * X[i * P] - 0.583 * X[i * P + 1];
        Y[i] = eta + 0.871 * next_normal(&s);
        LABEL[i] = 0.5 * (next_number(&s) + 1) < 1 / (1 + exp(-eta)) ? 7 : 3;
        OFFSET[i] = 1.7 * next_number(&s);
        COUNT[i] = floor(exp(0.4 * eta + OFFSET[i]));
    }
    return 0;
}

static sgfs_config *config(const char *key, const char *value) {
    sgfs_err err;
    sgfs_config *cfg = unit_prior_config();
    assert_non_null(cfg);
    if (key != NULL && sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
    return cfg;
}

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

/* ---- quantiles ------------------------------------------------------------------------------- */

static const double shares[] = {0.05, 0.5, 0.95};

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void slow_quantiles(int64_t n, const double *x, double q[3]) {
    double *sorted = zeros(n);
    memcpy(sorted, x, (size_t)n * sizeof *x);
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    for (int k = 0; k < 3; k++) {
        double h = shares[k] * (double)(n - 1);
        int64_t i = (int64_t)h, next = i + 1 < n ? i + 1 : i;
        q[k] = sorted[i] + (h - (double)i) * (sorted[next] - sorted[i]);
    }
    free(sorted);
}

/* kind 0: all different; 1: a handful of values; 2: sorted; 3: all the same; 4: heavy tails; 5: two
 * clusters far apart; 6: neighbouring doubles; 7: nearly all the same; 8: of both signs of zero */
static void check_quantiles(int64_t n, int kind, uint64_t seed) {
    double *x = numbers(n, seed), wanted[3], got[3];
    for (int64_t i = 0; i < n; i++) {
        if (kind == 1) x[i] = floor(2.5 * x[i]);
        if (kind == 2) x[i] = (double)i * 0.37;
        if (kind == 3) x[i] = 0.1;
        if (kind == 4) x[i] = sinh(9 * x[i]);
        if (kind == 5) x[i] = (i % 3 == 0 ? 1e9 : -1e9) + x[i];
        if (kind == 6) x[i] = 1 + floor(40 * x[i]) * DBL_EPSILON;
        if (kind == 7) x[i] = i % 90 == 0 ? 1e300 * x[i] : 2;
        if (kind == 8) x[i] = x[i] > 0.5 ? 1 : x[i] > 0 ? 0.0 : -0.0;
    }
    slow_quantiles(n, x, wanted);
    sgfsi_quantiles(n, x, shares, got);
    for (int k = 0; k < 3; k++) assert_near(got[k], wanted[k], 4e-16 * (1 + fabs(wanted[k])), "q");
    free(x);
}

static void test_quantiles_are_those_of_the_sorted_numbers(void **state) {
    (void)state;
    for (int kind = 0; kind < 9; kind++) {
        for (int64_t n = 1; n < 150; n++) check_quantiles(n, kind, 7 * (uint64_t)n + 1);
        for (uint64_t seed = 0; seed < 50; seed++) check_quantiles(500, kind, 100 + seed);
        check_quantiles(1000, kind, 99);
        check_quantiles(4096, kind, 98);
    }
}

static void test_infinite_numbers_have_quantiles(void **state) {
    (void)state;
    double x[40], q[3];
    for (int i = 0; i < 40; i++) x[i] = i < 4 ? -INFINITY : i > 35 ? INFINITY : (double)i;
    sgfsi_quantiles(40, x, shares, q);
    assert_true(q[0] == -INFINITY && q[1] == 19.5 && q[2] == INFINITY);
}

/* ---- the predictor --------------------------------------------------------------------------- */

typedef struct setting {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    double *x, *y;        /* N x D with the intercept; N */
    const double *offset; /* N, or NULL */
    double *theta;        /* S draws */
    int64_t dim;
    sgfsi_draw draw[S];
} setting;

static setting open_setting(const char *model, const double *target, const char *backend) {
    setting t = {.cfg = config("run.device", backend)};
    sgfs_err err;
    sgfs_arrays a = {.rows = N, .cols = P, .x = X, .y = target, .names = names};
    t.data = sgfs_data_wrap(&a, t.cfg, &err);
    if (t.data == NULL) fail_msg("%s", err.text);
    t.m = sgfs_model_open(model, t.data, t.cfg, &err);
    if (t.m == NULL) fail_msg("%s", err.text);
    t.x = zeros(N * D);
    t.y = zeros(N);
    sgfsi_data_rows_range(t.data, 0, N, t.x, t.y);
    t.dim = sgfs_model_dim(t.m);
    t.theta = numbers(S * t.dim, 3851);
    for (int64_t s = 0; s < S; s++) {
        t.theta[s * t.dim + 1] += 1.2;
        if (t.dim > D) t.theta[s * t.dim + D] *= 0.2; /* log_sigma */
        t.draw[s] = (sgfsi_draw){t.theta + s * t.dim, (uint32_t)(s / 21), s % 21, NULL};
    }
    return t;
}

static void close_setting(setting *t) {
    free(t->x);
    free(t->y);
    free(t->theta);
    sgfs_model_free(t->m);
    sgfs_data_free(t->data);
    sgfs_config_free(t->cfg);
}

static sgfs_batch rows_of(const setting *t, int64_t first, int64_t n) {
    return (sgfs_batch){.n = n,
                        .p = D,
                        .x = t->x + first * D,
                        .y = t->y + first,
                        .offset = t->offset != NULL ? t->offset + first : NULL,
                        .gamma = 1};
}

static double eta_of(const setting *t, int64_t i, int64_t s) {
    const double *b = t->theta + s * t->dim;
    return b[0] + b[1] * X[i * P] + b[2] * X[i * P + 1] + b[3] * X[i * P + 2];
}

/* Predict all rows in blocks; out gets, row by row, mean, density, quantiles and pit. */
enum { WIDTH = 10 };
static double *predict_in_blocks(const setting *t, int64_t block, int64_t keep) {
    sgfs_err err;
    sgfsi_arena arena = {NULL};
    sgfsi_predictor p;
    double *out = zeros(N * WIDTH);
    assert_int_equal(sgfsi_predictor_open(&p, t->m, block, keep, &arena, &err), SGFS_OK);
    p.seed = 7;
    for (int64_t first = 0; first < N; first += block) {
        int64_t n = N - first < block ? N - first : block;
        sgfs_batch b = rows_of(t, first, n);
        sgfsi_predictor_begin(&p, &b, first);
        assert_int_equal(sgfsi_predictor_add(&p, S, t->draw, &err), SGFS_OK);
        for (int64_t i = 0; i < n; i++) {
            double *row = out + (first + i) * WIDTH;
            sgfsi_predictor_mean(&p, i, row);
            row[2] = sgfsi_predictor_log_density(&p, i);
            if (keep > 0) row[3] = p.drawn ? sgfsi_predictor_pit(&p, i) : 0;
            if (keep > 0) sgfsi_predictor_quantiles(&p, i, row + 4);
        }
    }
    sgfsi_arena_free(&arena);
    return out;
}

static void test_labels_by_plain_arithmetic(void **state) {
    (void)state;
    setting t = open_setting("logistic", LABEL, "blas");
    double *got = predict_in_blocks(&t, 512, S);
    for (int64_t i = 0; i < N; i++) {
        double one[S], zero[S], mean = 0, q[6];
        for (int64_t s = 0; s < S; s++) {
            one[s] = 1 / (1 + exp(-eta_of(&t, i, s)));
            zero[s] = 1 / (1 + exp(eta_of(&t, i, s)));
            mean += one[s] / S;
        }
        slow_quantiles(S, zero, q);
        slow_quantiles(S, one, q + 3);
        const double *row = got + i * WIDTH;
        assert_near(row[0], 1 - mean, 1e-14, "first label");
        assert_near(row[1], mean, 1e-14, "second label");
        assert_near(row[2], log(LABEL[i] == 7 ? mean : 1 - mean), 1e-13, "log density");
        for (int k = 0; k < 6; k++) assert_near(row[4 + k], q[k], 1e-14, "quantile");
    }
    free(got);
    close_setting(&t);
}

/* Draw s of row i takes normal number i of the stream named by the seed and the draw's place. */
static double *predictive_draws(const setting *t) {
    double *y = zeros(N * S), *normal = zeros(N);
    for (int64_t s = 0; s < S; s++) {
        sgfsi_stream at = sgfsi_stream_at(7, t->draw[s].chain, t->draw[s].at, SGFSI_PREDICT_NORMAL);
        sgfsi_normals(&at, N, normal);
        double sigma = exp(t->theta[s * t->dim + D]);
        for (int64_t i = 0; i < N; i++) y[i * S + s] = eta_of(t, i, s) + sigma * normal[i];
    }
    free(normal);
    return y;
}

/* Number i of the stream of ties fills the room of row i. */
static double *tie_numbers(void) {
    double *tie = zeros(N);
    sgfsi_stream at = sgfsi_stream_at(7, 0, 0, SGFSI_PREDICT_TIE);
    sgfsi_uniforms(&at, N, tie);
    return tie;
}

static void test_numbers_by_plain_arithmetic(void **state) {
    (void)state;
    setting t = open_setting("linear", Y, "blas");
    double *got = predict_in_blocks(&t, 64, S), *drawn = predictive_draws(&t), *tie = tie_numbers();
    for (int64_t i = 0; i < N; i++) {
        double mean = 0, density = 0, q[3], *row = got + i * WIDTH;
        int64_t less = 0;
        for (int64_t s = 0; s < S; s++) {
            double sigma = exp(t.theta[s * t.dim + D]), z = (Y[i] - eta_of(&t, i, s)) / sigma;
            mean += eta_of(&t, i, s) / S;
            density += exp(-0.5 * z * z) / (sigma * sqrt(2 * M_PI)) / S;
            less += drawn[i * S + s] < Y[i];
        }
        slow_quantiles(S, drawn + i * S, q);
        assert_near(row[0], mean, 1e-14 * (1 + fabs(mean)), "mean");
        assert_near(row[2], log(density), 1e-12, "log density");
        for (int k = 0; k < 3; k++) assert_near(row[4 + k], q[k], 1e-13, "quantile");
        assert_near(row[3], ((double)less + tie[i]) / (S + 1), 1e-14, "pit");
    }
    free(tie);
    free(drawn);
    free(got);
    close_setting(&t);
}

/* The targets of every draw, of all rows at once. */
static double *drawn_counts(const setting *t) {
    double *y = zeros(N * S), *normal = zeros(N), *uniform = zeros(N), *one = zeros(N);
    sgfs_batch all = rows_of(t, 0, N);
    for (int64_t s = 0; s < S; s++) {
        const sgfsi_draw *d = &t->draw[s];
        sgfsi_stream normals = sgfsi_stream_at(7, d->chain, d->at, SGFSI_PREDICT_NORMAL);
        sgfsi_stream uniforms = sgfsi_stream_at(7, d->chain, d->at, SGFSI_PREDICT_UNIFORM);
        sgfsi_normals(&normals, N, normal);
        sgfsi_uniforms(&uniforms, N, uniform);
        t->m->kind->resample(t->m, d->theta, &all, normal, uniform, one);
        for (int64_t i = 0; i < N; i++) y[i * S + s] = one[i];
    }
    free(normal);
    free(uniform);
    free(one);
    return y;
}

/* More rows than the model is handed at a time, each with an exposure of its own. */
static void test_counts_with_exposures_by_plain_arithmetic(void **state) {
    (void)state;
    setting t = open_setting("poisson", COUNT, "blas");
    t.offset = OFFSET;
    double *got = predict_in_blocks(&t, N, S), *drawn = drawn_counts(&t), *tie = tie_numbers();
    for (int64_t i = 0; i < N; i++) {
        double mean = 0, density = 0, q[3], *row = got + i * WIDTH;
        int64_t less = 0, ties = 0;
        for (int64_t s = 0; s < S; s++) {
            double eta = eta_of(&t, i, s) + OFFSET[i];
            mean += exp(eta) / S;
            density += exp(COUNT[i] * eta - exp(eta) - lgamma(COUNT[i] + 1)) / S;
            less += drawn[i * S + s] < COUNT[i];
            ties += drawn[i * S + s] == COUNT[i];
        }
        slow_quantiles(S, drawn + i * S, q);
        assert_near(row[0], mean, 1e-13 * mean, "mean");
        assert_near(row[2], log(density), 1e-11, "log density");
        for (int k = 0; k < 3; k++) assert_near(row[4 + k], q[k], 1e-12 * (1 + q[k]), "quantile");
        double pit = ((double)less + tie[i] * (double)(ties + 1)) / (S + 1);
        assert_near(row[3], pit, 1e-14, "pit");
    }
    free(tie);
    free(drawn);
    free(got);
    close_setting(&t);
}

/* A draw with a noise of e^-400 gives every target the density 0; it is one of the S all the same,
 * and only of all draws together would that be the answer. */
static void test_draws_that_exclude_a_target_add_nothing(void **state) {
    (void)state;
    const int64_t excluding[] = {0, 17, S - 1};
    setting t = open_setting("linear", Y, "blas");
    for (int k = 0; k < 3; k++) t.theta[excluding[k] * t.dim + D] = -400;
    double *got = predict_in_blocks(&t, 512, 0);
    for (int64_t i = 0; i < N; i++) {
        double density = 0;
        for (int64_t s = 0; s < S; s++) {
            double sigma = exp(t.theta[s * t.dim + D]), z = (Y[i] - eta_of(&t, i, s)) / sigma;
            density += exp(-0.5 * z * z) / (sigma * sqrt(2 * M_PI)) / S;
        }
        assert_near(got[i * WIDTH + 2], log(density), 1e-12, "log density");
    }
    for (int64_t s = 0; s < S; s++) t.theta[s * t.dim + D] = -400;
    double *none = predict_in_blocks(&t, 512, 0);
    for (int64_t i = 0; i < N; i++) assert_true(none[i * WIDTH + 2] == -INFINITY);
    free(none);
    free(got);
    close_setting(&t);
}

/* Averages of the first k draws are told after k draws, and all of them are those of one go. */
static void test_a_draw_at_a_time(void **state) {
    (void)state;
    sgfs_err err;
    setting t = open_setting("logistic", LABEL, "blas");
    sgfsi_arena arena = {NULL};
    sgfsi_predictor p;
    assert_int_equal(sgfsi_predictor_open(&p, t.m, N, 0, &arena, &err), SGFS_OK);
    sgfs_batch b = rows_of(&t, 0, N);
    sgfsi_predictor_begin(&p, &b, 0);
    double loss_at_last = 0;
    for (int64_t s = 0; s < S; s++) {
        sgfsi_tally tally;
        double loss = 0, wrong = 0;
        assert_int_equal(sgfsi_predictor_add(&p, 1, &t.draw[s], &err), SGFS_OK);
        assert_int_equal(sgfsi_tally_open(&tally, &t.m->labels, &arena, &err), SGFS_OK);
        sgfsi_predictor_tally(&p, &tally);
        for (int64_t i = 0; i < N; i++) {
            double mean = 0;
            for (int64_t k = 0; k <= s; k++)
                mean += 1 / (1 + exp(-eta_of(&t, i, k))) / (double)(s + 1);
            loss -= log(LABEL[i] == 7 ? mean : 1 - mean) / N;
            wrong += LABEL[i] == 7 ? mean < 0.5 : mean > 0.5;
        }
        assert_near(sgfsi_mean_se_mean(&tally.loss), loss, 1e-12, "log loss so far");
        assert_near(sgfsi_mean_se_mean(&tally.wrong), wrong / N, 1e-12, "error so far");
        loss_at_last = sgfsi_mean_se_mean(&tally.loss);
    }
    double *once = predict_in_blocks(&t, N, 0);
    sgfsi_mean_se all = {0};
    for (int64_t i = 0; i < N; i++) sgfsi_mean_se_add(&all, 1, -once[i * WIDTH + 2]);
    assert_true(sgfsi_mean_se_mean(&all) == loss_at_last); /* asking in between changed nothing */
    free(once);
    sgfsi_arena_free(&arena);
    close_setting(&t);
}

/* With the plain backend, whose arithmetic of a row does not know of its neighbours; random numbers
 * included. */
static void test_blocks_do_not_change_a_bit(void **state) {
    (void)state;
    const char *const models[] = {"linear", "logistic"};
    const double *const targets[] = {Y, LABEL};
    for (int k = 0; k < 2; k++) {
        setting t = open_setting(models[k], targets[k], "host");
        double *whole = predict_in_blocks(&t, N, S);
        const int64_t sizes[] = {2, 34, 512};
        for (int j = 0; j < 3; j++) {
            double *blocks = predict_in_blocks(&t, sizes[j], S);
            assert_memory_equal(blocks, whole, sizeof(double) * N * WIDTH);
            free(blocks);
        }
        free(whole);
        close_setting(&t);
    }
}

/* The model is asked without a target, and does not look for one. */
static void test_targets_need_not_be_known(void **state) {
    (void)state;
    sgfs_err err;
    setting t = open_setting("linear", Y, "blas");
    sgfsi_arena arena = {NULL};
    sgfsi_predictor p;
    double *known = predict_in_blocks(&t, N, S), mean, q[3];
    assert_int_equal(sgfsi_predictor_open(&p, t.m, N, S, &arena, &err), SGFS_OK);
    p.seed = 7;
    sgfs_batch b = rows_of(&t, 0, N);
    b.y = NULL;
    sgfsi_predictor_begin(&p, &b, 0);
    for (int64_t s = 0; s < S; s++)
        assert_int_equal(sgfsi_predictor_add(&p, 1, &t.draw[s], &err), SGFS_OK);
    for (int64_t i = 0; i < N; i++) {
        sgfsi_predictor_mean(&p, i, &mean);
        sgfsi_predictor_quantiles(&p, i, q);
        assert_true(mean == known[i * WIDTH]);
        assert_memory_equal(q, known + i * WIDTH + 4, sizeof q);
    }
    free(known);
    sgfsi_arena_free(&arena);
    close_setting(&t);
}

/* Rows of mostly zeros, and draws so far out that a target's density is a number of 1e-4000 at all
 * of them: row 0 is predicted as what it is not. */
static void test_zeros_are_left_out_and_faint_targets_are_known(void **state) {
    enum { ROWS = 100, COLS = 40, EACH = 3 };
    (void)state;
    sgfs_err err;
    sgfsi_arena arena = {NULL};
    sgfsi_predictor p;
    double *x = zeros(ROWS * COLS), *y = zeros(ROWS), *some = numbers(ROWS * EACH, 77);
    for (int i = 0; i < ROWS; i++) {
        for (int e = 0; e < EACH; e++) x[i * COLS + (7 * i + 11 * e) % COLS] = some[i * EACH + e];
        y[i] = i % 3 == 0;
    }
    for (int e = 0; e < EACH; e++) x[11 * e % COLS] = e == 0 ? -9000 : 0;
    sgfs_config *cfg = config("data.intercept", "false");
    sgfs_arrays a = {.rows = ROWS, .cols = COLS, .x = x, .y = y};
    sgfs_data *data = sgfs_data_wrap(&a, cfg, &err);
    sgfs_model *m = data != NULL ? sgfs_model_open("logistic", data, cfg, &err) : NULL;
    if (m == NULL) fail_msg("%s", err.text);
    double *theta = numbers(S * COLS, 4711);
    sgfsi_draw draw[S];
    for (int s = 0; s < S; s++) {
        draw[s] = (sgfsi_draw){theta + s * COLS, 0, s, NULL};
        theta[s * COLS] = 1 + 0.01 * s;
    }
    sgfs_batch b = {.n = ROWS, .p = COLS, .x = x, .y = y, .gamma = 1};
    assert_int_equal(sgfsi_predictor_open(&p, m, ROWS, S, &arena, &err), SGFS_OK);
    sgfsi_predictor_begin(&p, &b, 0);
    assert_non_null(p.batch.sparse);
    assert_int_equal(sgfsi_predictor_add(&p, S, draw, &err), SGFS_OK);
    for (int i = 0; i < ROWS; i++) {
        double one[S], mean[2], q[6], wanted[3], right = 0, top = -INFINITY, density = 0, loglik[S];
        for (int s = 0; s < S; s++) {
            double eta = 0, sign = y[i] > 0 ? 1 : -1;
            for (int j = 0; j < COLS; j++) eta += x[i * COLS + j] * theta[s * COLS + j];
            one[s] = 1 / (1 + exp(-eta));
            right += one[s] / S;
            loglik[s] = sign * eta < -30 ? sign * eta : -log1p(exp(-sign * eta));
            top = fmax(top, loglik[s]);
        }
        for (int s = 0; s < S; s++) density += exp(loglik[s] - top) / S;
        sgfsi_predictor_mean(&p, i, mean);
        assert_near(mean[1], right, 1e-14, "second label");
        int64_t n;
        assert_near(sgfsi_predictor_kept(&p, i, 1, S - 1, &n)[0], one[S - 1], 1e-14, "draw");
        assert_int_equal(n, 1);
        sgfsi_predictor_quantiles(&p, i, q);
        slow_quantiles(S, one, wanted);
        for (int k = 0; k < 3; k++) assert_near(q[3 + k], wanted[k], 1e-14, "quantile");
        double log_density = sgfsi_predictor_log_density(&p, i), by_hand = top + log(density);
        assert_near(log_density, by_hand, 1e-12 * (1 + fabs(by_hand)), "log density");
        if (i == 0) assert_true(log_density < -8000);
    }
    sgfsi_arena_free(&arena);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    free(x), free(y), free(some), free(theta);
}

/* ---- the tally ------------------------------------------------------------------------------- */

static void test_measures_of_three_labels(void **state) {
    (void)state;
    enum { ROWS = 500, K = 3 };
    const char *name[K] = {"a", "b", "c"};
    double value[K] = {0, 1, 2}, loss = 0, loss2 = 0, wrong = 0, brier = 0, ece = 0;
    double predicted[10] = {0}, observed[10] = {0}, rows[10] = {0};
    const sgfsi_labels labels = {.count = K, .name = name, .value = value};
    uint64_t seed = 95;
    sgfsi_tally t;
    sgfsi_arena arena = {NULL};
    assert_int_equal(sgfsi_tally_open(&t, &labels, &arena, NULL), SGFS_OK);
    int64_t count[K] = {0}, best_count[K] = {0};
    for (int i = 0; i < ROWS; i++) {
        double p[K], sum = 0;
        for (int k = 0; k < K; k++) sum += p[k] = 1.01 + next_number(&seed);
        for (int k = 0; k < K; k++) p[k] /= sum;
        int y = (int)(next_bits(&seed) % K), best = 0;
        for (int k = 1; k < K; k++) best = p[k] > p[best] ? k : best;
        double l = -log(p[y]);
        loss += l / ROWS;
        loss2 += l * l / ROWS;
        wrong += best != y;
        for (int k = 0; k < K; k++) brier += (p[k] - (k == y)) * (p[k] - (k == y)) / ROWS;
        int bin = (int)(10 * p[best]);
        rows[bin]++;
        predicted[bin] += p[best];
        observed[bin] += best == y;
        count[y]++;
        best_count[best]++;
        sgfsi_tally_add(&t, &(sgfsi_scored_row){.weight = 1, .y = y, .log_density = -l, .mean = p});
    }
    for (int b = 0; b < 10; b++) {
        ece += fabs(observed[b] - predicted[b]) / ROWS;
        assert_true((double)t.bin[b].rows == rows[b] && t.bin[b].observed == observed[b]);
        assert_near(t.bin[b].predicted, predicted[b], 1e-11, "bin");
    }
    for (int k = 0; k < K; k++) {
        assert_int_equal(t.label[k].rows, count[k]);
        assert_int_equal(t.label[k].predicted, best_count[k]);
    }
    assert_near(sgfsi_mean_se_mean(&t.loss), loss, 1e-13, "log loss");
    assert_near(sgfsi_mean_se_se(&t.loss), sqrt((loss2 - loss * loss) / (ROWS - 1)), 1e-12, "se");
    assert_near(sgfsi_mean_se_mean(&t.wrong), wrong / ROWS, 1e-14, "error");
    assert_near(sgfsi_mean_se_se(&t.wrong), sqrt(wrong / ROWS * (1 - wrong / ROWS) / (ROWS - 1)),
                1e-14, "se of the error");
    assert_near(sgfsi_mean_se_mean(&t.brier), brier, 1e-13, "Brier");
    assert_near(sgfsi_tally_ece(&t), ece, 1e-13, "ECE");
    sgfsi_arena_free(&arena);
}

/* Two labels: the bins and the Brier score are those of the second; an even row is half wrong; a
 * target that was impossible makes the loss infinite, and nothing else. */
static void test_measures_of_two_labels(void **state) {
    (void)state;
    const char *name[2] = {"no", "yes"};
    double value[2] = {3, 7};
    const sgfsi_labels labels = {.count = 2, .name = name, .value = value};
    const double rows[][2] = {{3, 0.5}, {7, 0.25}, {7, 0.85}, {3, 1.0}};
    sgfsi_tally t;
    sgfsi_arena arena = {NULL};
    assert_int_equal(sgfsi_tally_open(&t, &labels, &arena, NULL), SGFS_OK);
    for (int i = 0; i < 4; i++) {
        double p[2] = {1 - rows[i][1], rows[i][1]}, of = rows[i][0] == 7 ? p[1] : p[0];
        sgfsi_tally_add(&t, &(sgfsi_scored_row){
                                .weight = 1, .y = rows[i][0], .log_density = log(of), .mean = p});
    }
    assert_near(sgfsi_mean_se_mean(&t.wrong), 2.5 / 4, 1e-15, "error");
    assert_near(sgfsi_mean_se_mean(&t.brier), (0.25 + 0.5625 + 0.0225 + 1) / 4, 1e-15, "Brier");
    assert_true(sgfsi_mean_se_mean(&t.loss) == INFINITY && isnan(sgfsi_mean_se_se(&t.loss)));
    assert_true(t.bin[5].rows == 1 && t.bin[2].rows == 1 && t.bin[8].rows == 1 &&
                t.bin[9].rows == 1);
    assert_true(t.bin[2].observed == 1 && t.bin[9].observed == 0);
    sgfsi_arena_free(&arena);
}

static void test_measures_of_numbers(void **state) {
    (void)state;
    const sgfsi_labels none = {0};
    const double rows[][3] = {
        {1.5, 1.0, 0.31}, {-2.0, 0.5, 0.02}, {4.0, 1.2, 0.99}, {0.5, 0.5, 0.5}};
    sgfsi_tally t;
    sgfsi_arena arena = {NULL};
    assert_int_equal(sgfsi_tally_open(&t, &none, &arena, NULL), SGFS_OK);
    for (int i = 0; i < 4; i++) {
        double q[3] = {-1, 0.5, 2};
        sgfsi_tally_add(&t, &(sgfsi_scored_row){.weight = 1,
                                                .y = rows[i][0],
                                                .log_density = -1.25,
                                                .mean = &rows[i][1],
                                                .q = q,
                                                .pit = rows[i][2]});
    }
    assert_near(sgfsi_mean_se_mean(&t.square), (0.25 + 6.25 + 7.84) / 4, 1e-14, "mse");
    assert_near(sgfsi_mean_se_mean(&t.absolute), (0.5 + 2.5 + 2.8) / 4, 1e-14, "mae");
    assert_near(sgfsi_mean_se_mean(&t.inside), 0.5, 1e-15, "coverage");
    assert_near(sgfsi_mean_se_mean(&t.under[0]), 0.25, 1e-15, "under 5 %");
    assert_near(sgfsi_mean_se_mean(&t.under[1]), 1.5 / 4, 1e-15, "under 50 %, a tie for a half");
    assert_near(sgfsi_mean_se_mean(&t.under[2]), 0.75, 1e-15, "under 95 %");
    assert_true(t.pit[3] == 1 && t.pit[0] == 1 && t.pit[9] == 1 && t.pit[5] == 1);
    sgfsi_arena_free(&arena);
}

/* An interval holds its ends: counts lie on them often. */
static void test_a_target_on_a_quantile_is_inside(void **state) {
    (void)state;
    const sgfsi_labels none = {0};
    const double q[3] = {2, 5, 9}, y[5] = {2, 9, 5, 1, 10}, mean = 5.385;
    sgfsi_tally t;
    sgfsi_arena arena = {NULL};
    assert_int_equal(sgfsi_tally_open(&t, &none, &arena, NULL), SGFS_OK);
    const double inside[5] = {1, 1, 1, 0.75, 0.6}; /* of the rows so far */
    for (int i = 0; i < 5; i++) {
        sgfsi_tally_add(
            &t, &(sgfsi_scored_row){.weight = 1, .y = y[i], .mean = &mean, .q = q, .pit = 0.385});
        assert_near(sgfsi_mean_se_mean(&t.inside), inside[i], 1e-15, "coverage");
    }
    assert_near(sgfsi_mean_se_mean(&t.under[0]), 1.5 / 5, 1e-15, "under 5 %, a tie for a half");
    assert_near(sgfsi_mean_se_mean(&t.under[2]), 3.5 / 5, 1e-15, "under 95 %");
    sgfsi_arena_free(&arena);
}

/* ---- a file, through the public interface ---------------------------------------------------- */

static void write_file(const char *path, const double *target) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "bmi,y,dose,age\n");
    for (int i = 0; i < N; i++) {
        fprintf(f, "%.17g,%.17g,%.17g,%.17g\n", X[i * P + 2], target[i], X[i * P], X[i * P + 1]);
    }
    fclose(f);
}

static sgfs_draws *sample(const setting *t, sgfs_config *cfg) {
    sgfs_err err;
    set(cfg, "run.warmup", "60");
    set(cfg, "run.draws", "100");
    set(cfg, "run.chains", "3");
    sgfs_run *run = sgfs_run_open(t->m, cfg, &err);
    if (run == NULL) fail_msg("%s", err.text);
    assert_int_equal(sgfs_run_all(run, &err), SGFS_OK);
    sgfs_draws *draws = sgfs_run_draws(run, &err);
    assert_non_null(draws);
    sgfs_run_free(run);
    return draws;
}

static char *slurp(const char *path, size_t *length) {
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    *length = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    return text;
}

static sgfs_prediction predict_file(const sgfs_draws *draws, sgfs_config *cfg, const char *out) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_job *p = sgfs_predict_open(draws, NULL, "predict_rows.csv", out, cfg, &err);
    if (sgfs_job_run(p, &err) != SGFS_OK) fail_msg("%s", err.text);
    sgfs_prediction result = *(const sgfs_prediction *)sgfs_job_result(p);
    assert_int_equal(sgfs_job_run(p, &err), SGFS_EUSAGE); /* once */
    sgfs_job_free(p);
    result.label = NULL;
    result.model = result.target = result.bins = NULL;
    result.seconds = 0;
    return result;
}

static void check_threads(const char *model, const double *target) {
    setting t = open_setting(model, target, "blas");
    sgfs_draws *draws = sample(&t, t.cfg);
    const char *const threads[] = {"1", "2", "5"};
    char *first = NULL;
    size_t length = 0, again;
    sgfs_prediction one = {0};
    write_file("predict_rows.csv", target);
    set(t.cfg, "output.overwrite", "true");
    for (int k = 0; k < 3; k++) {
        set(t.cfg, "run.threads", threads[k]);
        sgfs_prediction r = predict_file(draws, t.cfg, "predict_out.csv");
        char *text = slurp("predict_out.csv", &again);
        if (k == 0) {
            one = r;
            first = text;
            length = again;
            continue;
        }
        assert_true(r.log_loss == one.log_loss && r.rows == N && r.draws == 300);
        assert_memory_equal(r.bin, one.bin, sizeof r.bin);
        assert_int_equal(again, length);
        assert_memory_equal(text, first, length);
        free(text);
    }
    free(first);
    unlink("predict_out.csv");
    unlink("predict_rows.csv");
    sgfs_draws_free(draws);
    close_setting(&t);
}

static void test_threads_do_not_change_a_bit(void **state) {
    (void)state;
    check_threads("linear", Y);
    check_threads("logistic", LABEL);
}

/* The file in blocks of `most` rows (0: as many as it takes by itself); what it writes. */
static char *write_in_blocks(const sgfs_draws *draws, const sgfs_config *cfg, int64_t most,
                             size_t *length) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_job *job =
        sgfs_predict_open(draws, NULL, "predict_rows.csv", "predict_out.csv", cfg, &err);
    sgfsi_predict *p = (sgfsi_predict *)job;
    if (p == NULL) fail_msg("%s", err.text);
    assert_true(p->most < N); /* else there is one block */
    if (most > 0) p->most = most;
    if (sgfs_job_run(job, &err) != SGFS_OK) fail_msg("%s", err.text);
    sgfs_job_free(job);
    return slurp("predict_out.csv", length);
}

/* Blocks read together and blocks read one after another: rows go on being counted. */
static void test_blocks_of_a_file_do_not_change_a_bit(void **state) {
    (void)state;
    const int64_t sizes[] = {2, 34, N + 1};
    setting t = open_setting("linear", Y, "host");
    sgfs_draws *draws = sample(&t, t.cfg);
    size_t length, again;
    write_file("predict_rows.csv", Y);
    set(t.cfg, "output.overwrite", "true");
    set(t.cfg, "run.threads", "2");
    char *first = write_in_blocks(draws, t.cfg, 0, &length);
    for (int k = 0; k < 3; k++) {
        char *text = write_in_blocks(draws, t.cfg, sizes[k], &again);
        assert_int_equal(again, length);
        assert_memory_equal(text, first, length);
        free(text);
    }
    free(first);
    unlink("predict_out.csv");
    unlink("predict_rows.csv");
    sgfs_draws_free(draws);
    close_setting(&t);
}

/* One draw says infinity times 0 of row 601, which is in the second block. */
static void test_predictions_that_are_no_numbers_are_refused(void **state) {
    (void)state;
    sgfs_err err;
    setting t = open_setting("linear", Y, "blas");
    sgfs_draws *draws = sample(&t, t.cfg);
    double *theta = draws->chain[1].theta + 5 * draws->D;
    theta[1] = INFINITY;
    FILE *f = fopen("predict_rows.csv", "w"); /* no target: its density would tell, too */
    fputs("dose,age,bmi\n", f);
    for (int i = 0; i < N; i++) fputs(i == 600 ? "0,0.417,2\n" : "0.385,0.417,2\n", f);
    fclose(f);
    sgfs_job *p =
        sgfs_predict_open(draws, NULL, "predict_rows.csv", "predict_out.csv", t.cfg, &err);
    if (p == NULL) fail_msg("%s", err.text);
    assert_int_equal(sgfs_job_run(p, &err), SGFS_ENUMERIC);
    assert_null(sgfs_job_result(p));
    assert_non_null(strstr(err.text, "predict_rows.csv: row 601 of the data"));
    assert_true(access("predict_out.csv", F_OK) != 0);
    sgfs_job_free(p);
    unlink("predict_rows.csv");
    sgfs_draws_free(draws);
    close_setting(&t);
}

/* Of 300 draws 12: four of each chain, evenly. */
static void test_fewer_draws_come_evenly_from_all_chains(void **state) {
    (void)state;
    sgfs_err err;
    setting t = open_setting("linear", Y, "blas");
    sgfs_draws *draws = sample(&t, t.cfg);
    write_file("predict_rows.csv", Y);
    set(t.cfg, "predict.draws", "12");
    sgfs_job *job = sgfs_predict_open(draws, NULL, "predict_rows.csv", NULL, t.cfg, &err);
    const sgfsi_predict *p = (const sgfsi_predict *)job;
    assert_non_null(p);
    assert_int_equal(p->draws, 12);
    for (int64_t k = 0; k < 12; k++) {
        assert_int_equal(p->draw[k].chain, k / 4);
        assert_int_equal(p->draw[k].at, 12 + 25 * (k % 4));
        assert_ptr_equal(p->draw[k].theta,
                         draws->chain[k / 4].theta + (12 + 25 * (k % 4)) * draws->D);
    }
    sgfs_job_free(job);
    unlink("predict_rows.csv");
    sgfs_draws_free(draws);
    close_setting(&t);
}

/* Stopped before it began: no file, and none left beside it. */
static void test_stopping_leaves_no_file(void **state) {
    (void)state;
    sgfs_err err;
    setting t = open_setting("linear", Y, "blas");
    sgfs_draws *draws = sample(&t, t.cfg);
    write_file("predict_rows.csv", Y);
    sgfs_job *p =
        sgfs_predict_open(draws, NULL, "predict_rows.csv", "predict_out.csv", t.cfg, &err);
    char temp[64];
    sgfs_config_stop(t.cfg);
    assert_int_equal(sgfs_job_run(p, &err), SGFS_ESTOPPED);
    char ending[SGFSI_IO_ENDING];
    sgfsi_io_ending(0, ending);
    snprintf(temp, sizeof temp, "predict_out.csv%.40s", ending);
    assert_true(access("predict_out.csv", F_OK) != 0 && access(temp, F_OK) != 0);
    sgfs_job_free(p);
    unlink("predict_rows.csv");
    sgfs_draws_free(draws);
    close_setting(&t);
}

/* A kind without to_user keeps draws on the chain's scale: its rows are standardised as the run's
 * were. */
static void test_rows_go_to_the_scale_of_the_draws(void **state) {
    (void)state;
    sgfs_err err;
    sgfs_model_kind own = sgfs_model_logistic;
    own.to_user = NULL;
    sgfs_config *cfg = config("data.standardize", "true");
    sgfs_arrays a = {.rows = N, .cols = P, .x = X, .y = LABEL, .names = names, .target_name = "y"};
    sgfs_data *data = sgfs_data_wrap(&a, cfg, &err);
    sgfs_model *m = sgfsi_model_create(&own, data, cfg, NULL, &err);
    sgfsi_json *told = sgfsi_data_describe(data);
    const sgfsi_origin origin = {&own, cfg, told, m->saved, NULL, NULL, NULL};
    double *x = zeros(N * D), *y = zeros(N);
    sgfsi_newrows r;
    sgfsi_newrows_block block;
    sgfsi_arena arena = {NULL};
    sgfsi_data_rows_range(data, 0, N, x, y);
    write_file("predict_rows.csv", LABEL);
    sgfs_config *plain = config(NULL, NULL);
    if (sgfsi_newrows_open(&r, &origin, "predict_rows.csv", plain, &err) != SGFS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(sgfsi_newrows_room(&r, N, &block, &arena, &err), SGFS_OK);
    assert_int_equal(sgfsi_newrows_next(&r, N, &block, &err), SGFS_OK);
    assert_int_equal(block.batch.n, N);
    for (int64_t i = 0; i < N * D; i++) assert_near(block.x[i], x[i], 1e-13, "row");
    assert_memory_equal(block.y, y, sizeof(double) * N);
    assert_int_equal(sgfsi_newrows_next(&r, N, &block, &err), SGFS_OK);
    assert_int_equal(block.batch.n, 0);
    sgfsi_newrows_close(&r);
    unlink("predict_rows.csv");
    sgfsi_arena_free(&arena);
    free(x);
    free(y);
    sgfsi_json_free(told);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(plain);
    sgfs_config_free(cfg);
}

/* A run with an exposure needs that column, takes its logarithm, and refuses what has none. */
static void test_exposures_become_offsets(void **state) {
    (void)state;
    sgfs_err err;
    sgfs_config *cfg = config(NULL, NULL);
    sgfs_arrays a = {
        .rows = N, .cols = 1, .x = X, .row_stride = P, .y = Y, .names = names, .target_name = "y"};
    sgfs_data *data = sgfs_data_wrap(&a, cfg, &err);
    sgfs_model *m = sgfs_model_open("linear", data, cfg, &err);
    sgfsi_json *told = sgfsi_data_describe(data);
    sgfsi_json_text(told, "exposure", "years");
    const sgfsi_origin origin = {&sgfs_model_linear, cfg, told, m->saved, &m->ctx, NULL, NULL};
    const char *const files[] = {"years,dose\n2.5,1.5\n40,-3\n", "years,dose\n2.5,1.5\n0,2\n",
                                 "year,dose\n2.5,1.5\n"};
    sgfsi_arena arena = {NULL};
    for (int k = 0; k < 3; k++) {
        FILE *f = fopen("predict_rows.csv", "w");
        fputs(files[k], f);
        fclose(f);
        sgfsi_newrows r;
        sgfsi_newrows_block block;
        sgfs_status status = sgfsi_newrows_open(&r, &origin, "predict_rows.csv", cfg, &err);
        if (k == 2) {
            assert_int_equal(status, SGFS_EDATA);
            assert_non_null(strstr(err.text, "\"years\" (did you mean \"year\"?)"));
            continue;
        }
        assert_int_equal(status, SGFS_OK);
        assert_int_equal(sgfsi_newrows_room(&r, 8, &block, &arena, &err), SGFS_OK);
        status = sgfsi_newrows_next(&r, 8, &block, &err);
        assert_int_equal(status, k == 0 ? SGFS_OK : SGFS_EDATA);
        if (k == 1) assert_non_null(strstr(err.text, "predict_rows.csv:3: the exposure \"years\""));
        if (k == 0) {
            assert_true(block.batch.offset[0] == log(2.5) && block.batch.offset[1] == log(40));
            assert_true(block.batch.y == NULL && block.x[1] == 1.5 && block.x[3] == -3);
        }
        sgfsi_newrows_close(&r);
    }
    unlink("predict_rows.csv");
    sgfsi_arena_free(&arena);
    sgfsi_json_free(told);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

/* A header that does not say what is needed is refused with a sentence. */
static void test_runs_that_do_not_say_what_they_were_made_with(void **state) {
    (void)state;
    sgfs_err err;
    setting t = open_setting("linear", Y, "blas");
    sgfs_draws *draws = sample(&t, t.cfg);
    write_file("predict_rows.csv", Y);
    const char *const lost[] = {"data", "model_info", "config"};
    for (int k = 0; k < 3; k++) {
        sgfs_draws *old = sgfsi_draws_copy(draws, &err);
        sgfsi_json_int(old->header, lost[k], 0);
        assert_null(sgfs_predict_open(old, NULL, "predict_rows.csv", NULL, t.cfg, &err));
        assert_int_equal(err.code, SGFS_ERUNFILE);
        sgfs_draws_free(old);
    }
    unlink("predict_rows.csv");
    sgfs_draws_free(draws);
    close_setting(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quantiles_are_those_of_the_sorted_numbers),
        cmocka_unit_test(test_infinite_numbers_have_quantiles),
        cmocka_unit_test(test_labels_by_plain_arithmetic),
        cmocka_unit_test(test_numbers_by_plain_arithmetic),
        cmocka_unit_test(test_counts_with_exposures_by_plain_arithmetic),
        cmocka_unit_test(test_draws_that_exclude_a_target_add_nothing),
        cmocka_unit_test(test_a_draw_at_a_time),
        cmocka_unit_test(test_blocks_do_not_change_a_bit),
        cmocka_unit_test(test_targets_need_not_be_known),
        cmocka_unit_test(test_zeros_are_left_out_and_faint_targets_are_known),
        cmocka_unit_test(test_measures_of_three_labels),
        cmocka_unit_test(test_measures_of_two_labels),
        cmocka_unit_test(test_measures_of_numbers),
        cmocka_unit_test(test_a_target_on_a_quantile_is_inside),
        cmocka_unit_test(test_threads_do_not_change_a_bit),
        cmocka_unit_test(test_blocks_of_a_file_do_not_change_a_bit),
        cmocka_unit_test(test_predictions_that_are_no_numbers_are_refused),
        cmocka_unit_test(test_fewer_draws_come_evenly_from_all_chains),
        cmocka_unit_test(test_stopping_leaves_no_file),
        cmocka_unit_test(test_rows_go_to_the_scale_of_the_draws),
        cmocka_unit_test(test_exposures_become_offsets),
        cmocka_unit_test(test_runs_that_do_not_say_what_they_were_made_with),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
