/* SPDX-License-Identifier: MIT
 * test_tune.c: views of some of the rows, folds, held-out log loss, and tuning through the public
 * interface.
 *
 * Monte Carlo tolerances are five standard errors of what is compared (about 6e-7 a comparison),
 * with fixed seeds; where a standard error is bounded from above, the rate is smaller still.
 */
#include <stdio.h>
#include <unistd.h>

#include "chain/run.h"
#include "jobs/tune/tune.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { N = 600, P = 2, D = 3 };

static double X[N * P], Y[N], LABEL[N];
static const char *const names[P] = {"dose", "age"};

static int make_data(void **state) {
    (void)state;
    uint64_t s = 20385;
    for (int i = 0; i < N; i++) {
        double a = next_normal(&s), b = 0.7 * a + 0.714 * next_normal(&s);
        X[i * P] = 13.7 + 2.1 * a;
        X[i * P + 1] = -0.4 + 0.31 * b;
        Y[i] = 4.17 + 1.31 * a - 0.583 * b + 0.871 * next_normal(&s);
        LABEL[i] = 0.5 * (next_number(&s) + 1) < 1 / (1 + exp(1.9 - a)) ? 7 : 3;
    }
    return 0;
}

static sgfs_config *config(const char *const (*pairs)[2]) {
    sgfs_err err;
    sgfs_config *cfg = unit_prior_config();
    assert_non_null(cfg);
    for (; pairs != NULL && (*pairs)[0] != NULL; pairs++) {
        if (sgfs_config_set(cfg, (*pairs)[0], (*pairs)[1], &err) != SGFS_OK)
            fail_msg("%s", err.text);
    }
    return cfg;
}

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static sgfs_data *wrap(int64_t rows, const double *x, const double *y, const sgfs_config *cfg) {
    sgfs_err err;
    sgfs_arrays a = {.rows = rows, .cols = P, .x = x, .y = y, .names = names};
    sgfs_data *data = sgfs_data_wrap(&a, cfg, &err);
    if (data == NULL) fail_msg("%s", err.text);
    return data;
}

/* ---- views ----------------------------------------------------------------------------------- */

static void test_a_view_has_its_rows_in_its_order(void **state) {
    (void)state;
    const char *const plain[][2] = {{NULL, NULL}};
    const int64_t row[] = {417, 3, 599, 3, 0, 88};
    const int64_t again[] = {5, 0, 2};
    sgfs_config *cfg = config(plain);
    sgfs_data *whole = wrap(N, X, Y, cfg);
    sgfs_data *view = sgfsi_data_view(whole, row, 6, SGFSI_OWN_SCALE, NULL);
    sgfs_data *inner = sgfsi_data_view(view, again, 3, SGFSI_OWN_SCALE, NULL);
    assert_non_null(inner);
    assert_int_equal(sgfs_data_rows(view), 6);
    for (int64_t i = 0; i < 6; i++) {
        double x[D], y, other[D], other_y;
        sgfsi_data_rows_range(view, i, 1, x, &y);
        sgfsi_data_rows_pick(view, &i, 1, other, &other_y);
        assert_true(x[0] == 1 && x[1] == X[row[i] * P] && x[2] == X[row[i] * P + 1]);
        assert_true(y == Y[row[i]]);
        assert_memory_equal(x, other, sizeof x);
        assert_true(y == other_y);
        if (i >= 3) continue;
        sgfsi_data_rows_range(inner, i, 1, x, &y);
        assert_true(x[1] == X[row[again[i]] * P] && y == Y[row[again[i]]]);
    }
    sgfs_data_free(inner);
    sgfs_data_free(view);
    double x[D], y; /* the table is still there */
    sgfsi_data_rows_range(whole, 417, 1, x, &y);
    assert_true(y == Y[417]);
    sgfs_data_free(whole);
    sgfs_config_free(cfg);
}

/* More rows at once than the gathering takes in one stretch. */
static void test_a_long_pick_from_a_view(void **state) {
    (void)state;
    const char *const plain[][2] = {{NULL, NULL}};
    int64_t row[N], pick[N];
    double x[N * D], y[N];
    sgfs_config *cfg = config(plain);
    sgfs_data *whole = wrap(N, X, Y, cfg);
    for (int64_t i = 0; i < N; i++) {
        row[i] = (i * 7) % N;
        pick[i] = (i * 11 + 5) % N;
    }
    sgfs_data *view = sgfsi_data_view(whole, row, N, SGFSI_OWN_SCALE, NULL);
    sgfsi_data_rows_pick(view, pick, N, x, y);
    for (int64_t i = 0; i < N; i++) {
        assert_true(y[i] == Y[row[pick[i]]] && x[i * D + 2] == X[row[pick[i]] * P + 1]);
    }
    sgfs_data_free(view);
    sgfs_data_free(whole);
    sgfs_config_free(cfg);
}

/* No leakage: rows outside the view may be anything, and nothing that a model sees changes. */
static void test_statistics_of_a_view_are_those_of_its_rows(void **state) {
    (void)state;
    enum { TRAINING = 437 };
    const char *const scaled[][2] = {{"data.standardize", "true"}, {NULL, NULL}};
    double other_x[N * P], other_y[N], mean = 0, ss = 0;
    int64_t row[TRAINING];
    memcpy(other_x, X, sizeof X);
    memcpy(other_y, Y, sizeof Y);
    bool used[N] = {false};
    for (int64_t i = 0; i < TRAINING; i++) {
        row[i] = (i * 7 + 3) % N;
        used[row[i]] = true;
        mean += X[row[i] * P] / TRAINING;
    }
    for (int64_t i = 0; i < TRAINING; i++) ss += pow(X[row[i] * P] - mean, 2) / (TRAINING - 1);
    for (int64_t i = 0; i < N; i++) {
        if (used[i]) continue;
        other_x[i * P] = 1e9;
        other_x[i * P + 1] = -3e5;
        other_y[i] = 8e7;
    }
    sgfs_config *cfg = config(scaled);
    sgfs_data *whole = wrap(N, X, Y, cfg), *other = wrap(N, other_x, other_y, cfg);
    sgfs_data *view = sgfsi_data_view(whole, row, TRAINING, SGFSI_OWN_SCALE, NULL);
    sgfs_data *other_view = sgfsi_data_view(other, row, TRAINING, SGFSI_OWN_SCALE, NULL);
    assert_near(view->shift[0], mean, 1e-12 * mean, "mean of the training rows");
    assert_near(view->scale[0], 1 / sqrt(ss), 1e-12, "1 / sd of the training rows");
    assert_memory_equal(view->shift, other_view->shift, P * sizeof(double));
    assert_memory_equal(view->scale, other_view->scale, P * sizeof(double));
    assert_true(view->target.mean == other_view->target.mean);
    assert_true(view->target.sd == other_view->target.sd);
    double x[TRAINING * D], y[TRAINING], x_other[TRAINING * D], y_other[TRAINING];
    sgfsi_data_rows_range(view, 0, TRAINING, x, y);
    sgfsi_data_rows_range(other_view, 0, TRAINING, x_other, y_other);
    assert_memory_equal(x, x_other, sizeof x);
    assert_memory_equal(y, y_other, sizeof y);
    sgfs_data_free(view);
    sgfs_data_free(other_view);
    sgfs_data_free(whole);
    sgfs_data_free(other);
    sgfs_config_free(cfg);
}

/* ---- folds ----------------------------------------------------------------------------------- */

static void check_partition(const sgfs_data *data, int64_t folds, double share, bool labels) {
    sgfsi_arena arena = {NULL};
    sgfsi_folds f;
    int held[N] = {0};
    double rare_held = 0, rare = 0;
    for (int i = 0; i < N; i++) rare += LABEL[i] == 7;
    assert_int_equal(sgfsi_folds_open(&f, data, folds, share, 717, &arena, NULL), SGFS_OK);
    for (int64_t k = 0; k < folds; k++) {
        int seen[N] = {0};
        double rare_here = 0;
        sgfsi_folds_pick(&f, k);
        assert_int_equal(f.training + f.hidden, N);
        if (share == 0) assert_true(llabs(f.hidden * folds - N) < folds);
        else assert_true(fabs((double)f.hidden - share * N) <= 1);
        for (int64_t i = 0; i < N; i++) seen[f.row[i]]++;
        for (int64_t i = 0; i < N; i++) assert_int_equal(seen[i], 1);
        for (int64_t i = f.training; i < N; i++) {
            held[f.row[i]]++;
            rare_here += LABEL[f.row[i]] == 7;
        }
        double expected = rare * (double)f.hidden / N;
        if (labels) assert_true(fabs(rare_here - expected) <= 1);
        rare_held += rare_here;
    }
    for (int64_t i = 0; i < N && share == 0; i++) assert_int_equal(held[i], 1);
    if (share == 0) assert_true(rare_held == rare);
    sgfsi_arena_free(&arena);
}

static void test_folds_partition_the_rows(void **state) {
    (void)state;
    const char *const plain[][2] = {{NULL, NULL}};
    sgfs_config *cfg = config(plain);
    sgfs_data *numbers_data = wrap(N, X, Y, cfg), *labels = wrap(N, X, LABEL, cfg);
    const int64_t folds[] = {2, 5, 7, 100};
    for (int i = 0; i < 4; i++) {
        check_partition(numbers_data, folds[i], 0, false);
        check_partition(labels, folds[i], 0, true);
    }
    check_partition(numbers_data, 1, 0.2, false);
    check_partition(labels, 1, 0.37, true);
    sgfs_data_free(numbers_data);
    sgfs_data_free(labels);
    sgfs_config_free(cfg);
}

/* Two rows of a class are never held out together: the training rows always have both labels. */
static void test_a_rare_class_stays_in_the_training_rows(void **state) {
    (void)state;
    const char *const plain[][2] = {{NULL, NULL}};
    double label[N] = {0};
    label[17] = label[18] = 1;
    sgfs_config *cfg = config(plain);
    sgfs_data *data = wrap(N, X, label, cfg);
    for (uint64_t seed = 0; seed < 50; seed++) {
        sgfsi_arena arena = {NULL};
        sgfsi_folds f;
        assert_int_equal(sgfsi_folds_open(&f, data, 2, 0, seed, &arena, NULL), SGFS_OK);
        assert_true(f.of[17] != f.of[18]);
        sgfsi_arena_free(&arena);
    }
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

/* Every row is held out with the same chance: 400 seeds, binomial with p = 0.2, sd of a row's share
 * 0.02; five of them. And the same seed deals the same folds. */
static void test_folds_are_random_and_repeatable(void **state) {
    (void)state;
    enum { SEEDS = 400 };
    const char *const plain[][2] = {{NULL, NULL}};
    sgfs_config *cfg = config(plain);
    sgfs_data *data = wrap(N, X, Y, cfg);
    double count[N] = {0}, together = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        sgfsi_arena arena = {NULL};
        sgfsi_folds f, same;
        assert_int_equal(sgfsi_folds_open(&f, data, 5, 0, seed, &arena, NULL), SGFS_OK);
        assert_int_equal(sgfsi_folds_open(&same, data, 5, 0, seed, &arena, NULL), SGFS_OK);
        assert_memory_equal(f.of, same.of, N);
        for (int i = 0; i < N; i++) count[i] += f.of[i] == 0;
        together += f.of[100] == f.of[101];
        sgfsi_arena_free(&arena);
    }
    for (int i = 0; i < N; i++) assert_near(count[i] / SEEDS, 0.2, 0.1, "share held out");
    assert_near(together / SEEDS, 0.2, 0.1, "neighbours are dealt apart");
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

/* ---- log loss -------------------------------------------------------------------------------- */

/* Draws of the test's own making: chains x count x D, on the user's scale. */
static sgfs_draws *draws_of(int64_t chains, int64_t count, const double *theta) {
    sgfs_err err;
    sgfsi_json *h = sgfsi_json_object(), *params = sgfsi_json_array(), *stats = sgfsi_json_array();
    for (int64_t j = 0; j < D; j++) {
        char name[8];
        snprintf(name, sizeof name, "b%d", (int)j);
        sgfsi_json_text(params, NULL, name);
    }
    sgfsi_json_text(stats, NULL, "lp");
    sgfsi_json_int(h, "chains", chains);
    sgfsi_json_put(h, "params", params);
    sgfsi_json_put(h, "stats", stats);
    sgfs_draws *d = sgfsi_draws_new(h, &err);
    if (d == NULL) fail_msg("%s", err.text);
    double *lp = zeros(count);
    for (int64_t c = 0; c < chains; c++) {
        const double *from = theta + c * count * D;
        assert_int_equal(sgfsi_draws_append(d, c, count, from, lp, &err), SGFS_OK);
    }
    free(lp);
    return d;
}

/* C = A^-1, by Gauss-Jordan. */
static void invert(double A[D][D], double C[D][D]) {
    double M[D][2 * D];
    for (int r = 0; r < D; r++) {
        for (int c = 0; c < D; c++) {
            M[r][c] = A[r][c];
            M[r][D + c] = r == c;
        }
    }
    for (int k = 0; k < D; k++) {
        double pivot = M[k][k];
        for (int c = 0; c < 2 * D; c++) M[k][c] /= pivot;
        for (int r = 0; r < D; r++) {
            double times = M[r][k];
            for (int c = 0; r != k && c < 2 * D; c++) M[r][c] -= times * M[k][c];
        }
    }
    for (int r = 0; r < D; r++) memcpy(C[r], M[r] + D, sizeof C[r]);
}

static void cholesky(double C[D][D], double L[D][D]) {
    memset(L, 0, sizeof(double[D][D]));
    for (int i = 0; i < D; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = C[i][j];
            for (int k = 0; k < j; k++) sum -= L[i][k] * L[j][k];
            L[i][j] = i == j ? sqrt(sum) : sum / L[j][j];
        }
    }
}

static double log_normal(double y, double mean, double var) {
    return -0.5 * (y - mean) * (y - mean) / var - 0.5 * log(6.283185307179586476925 * var);
}

typedef struct line {
    double m[P], s[P], y_m, y_s; /* what the training rows say of the columns */
    double mu[D], C[D][D];       /* the posterior on the chain's scale */
} line;

/* y = x'beta + 0.871 e, beta ~ N(0, I) on the chain's scale: textbook, by hand. */
static line solve(int64_t n, const int64_t *row, bool standardize) {
    line q = {.s = {1, 1}, .y_s = 1};
    for (int64_t i = 0; standardize && i < n; i++) {
        for (int j = 0; j < P; j++) q.m[j] += X[row[i] * P + j] / (double)n;
        q.y_m += Y[row[i]] / (double)n;
    }
    double ss[P] = {0}, ss_y = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int j = 0; j < P; j++) ss[j] += pow(X[row[i] * P + j] - q.m[j], 2) / (double)(n - 1);
        ss_y += pow(Y[row[i]] - q.y_m, 2) / (double)(n - 1);
    }
    for (int j = 0; standardize && j < P; j++) q.s[j] = sqrt(ss[j]);
    if (standardize) q.y_s = sqrt(ss_y);
    double A[D][D] = {{0}}, b[D] = {0}, w = q.y_s * q.y_s / (0.871 * 0.871);
    for (int64_t i = 0; i < n; i++) {
        double x[D] = {1, (X[row[i] * P] - q.m[0]) / q.s[0], (X[row[i] * P + 1] - q.m[1]) / q.s[1]};
        for (int r = 0; r < D; r++) {
            for (int c = 0; c < D; c++) A[r][c] += w * x[r] * x[c];
            b[r] += w * x[r] * (Y[row[i]] - q.y_m) / q.y_s;
        }
    }
    for (int r = 0; r < D; r++) A[r][r] += 1;
    invert(A, q.C);
    for (int r = 0; r < D; r++) {
        for (int c = 0; c < D; c++) q.mu[r] += q.C[r][c] * b[c];
    }
    return q;
}

/* Exact loss of the rows; mean_log: the mean of -log p over draws instead; error: a bound of the
 * Monte Carlo standard error with S draws. With eta ~ N(m, v) and p = N(y; eta, s^2):
 * E p = N(y; m, s^2 + v),  E p^2 = N(y; m, s^2/2 + v)/(2 s sqrt(pi)). */
static double exact_loss(const line *q, int64_t n, const int64_t *row, double S, double *mean_log,
                         double *error) {
    double loss = 0, s2 = 0.871 * 0.871;
    *mean_log = *error = 0;
    for (int64_t i = 0; i < n; i++) {
        double x[D] = {1, (X[row[i] * P] - q->m[0]) / q->s[0],
                       (X[row[i] * P + 1] - q->m[1]) / q->s[1]};
        double m = q->y_m, v = 0, y = Y[row[i]];
        for (int r = 0; r < D; r++) {
            m += q->y_s * x[r] * q->mu[r];
            for (int c = 0; c < D; c++) v += q->y_s * q->y_s * x[r] * q->C[r][c] * x[c];
        }
        double log_p = log_normal(y, m, s2 + v);
        double log_p2 = log_normal(y, m, s2 / 2 + v) - log(2 * sqrt(s2 * 3.14159265358979323846));
        loss -= log_p / (double)n;
        *mean_log -= (log_normal(y, m, s2) - 0.5 * v / s2) / (double)n;
        *error += sqrt((exp(log_p2 - 2 * log_p) - 1) / S) / (double)n;
    }
    return loss;
}

static double *draw_posterior(line *q, const sgfs_model *m, int64_t count) {
    double L[D][D], *theta = zeros(count * D);
    uint64_t s = 4711;
    cholesky(q->C, L);
    for (int64_t t = 0; t < count; t++) {
        double z[D], chain[D];
        for (int j = 0; j < D; j++) z[j] = next_normal(&s);
        for (int i = 0; i < D; i++) {
            chain[i] = q->mu[i];
            for (int j = 0; j <= i; j++) chain[i] += L[i][j] * z[j];
        }
        m->kind->to_user(m, chain, theta + t * D);
    }
    return theta;
}

static void check_linear_loss(bool standardize) {
    enum { TRAINING = 9, HIDDEN = 60, S = 200000 };
    const char *const pairs[][2] = {{"data.standardize", standardize ? "true" : "false"},
                                    {"model.sigma", "0.871"},
                                    {NULL, NULL}};
    sgfs_err err;
    int64_t row[TRAINING], hidden[HIDDEN];
    for (int64_t i = 0; i < TRAINING; i++) row[i] = (i * 7 + 3) % N;
    for (int64_t i = 0; i < HIDDEN; i++) hidden[i] = (i * 4 + 211) % N;
    sgfs_config *cfg = config(pairs);
    sgfs_data *whole = wrap(N, X, Y, cfg),
              *view = sgfsi_data_view(whole, row, TRAINING, SGFSI_OWN_SCALE, NULL);
    sgfs_model *m = sgfs_model_open("linear", view, cfg, &err);
    if (m == NULL) fail_msg("%s", err.text);
    line q = solve(TRAINING, row, standardize);
    double *theta = draw_posterior(&q, m, S), mean_log, error;
    sgfs_draws *draws = draws_of(4, S / 4, theta);
    sgfsi_heldout one, four;
    assert_int_equal(sgfsi_heldout_score(m, draws, hidden, HIDDEN, 1, NULL, &one, &err), SGFS_OK);
    assert_int_equal(sgfsi_heldout_score(m, draws, hidden, HIDDEN, 4, NULL, &four, &err), SGFS_OK);
    double loss = exact_loss(&q, HIDDEN, hidden, S, &mean_log, &error), mean = 0;
    assert_near(one.loss, loss, 5 * error, "log loss of the posterior predictive");
    assert_true(fabs(mean_log - loss) > 10 * error); /* or the test could not tell */
    assert_true(isnan(one.error));
    assert_true(one.loss == four.loss);
    assert_int_equal(one.groups, SGFSI_HELDOUT_GROUPS);
    for (int64_t g = 0; g < one.groups; g++) {
        double rows = (double)((g + 1) * HIDDEN / one.groups - g * HIDDEN / one.groups);
        mean += one.group[g] * rows / HIDDEN;
    }
    assert_near(mean, one.loss, 1e-12, "groups make up the whole");
    sgfs_draws_free(draws);
    free(theta);
    sgfs_model_free(m);
    sgfs_data_free(view);
    sgfs_data_free(whole);
    sgfs_config_free(cfg);
}

static void test_log_loss_is_that_of_the_gaussian_predictive(void **state) {
    (void)state;
    check_linear_loss(false);
    check_linear_loss(
        true); /* in the data's units all the same, by the training rows' statistics */
}

/* Three draws and seven rows of one label only, by plain arithmetic. */
static void test_log_loss_and_error_of_two_classes(void **state) {
    (void)state;
    const char *const scaled[][2] = {{"data.standardize", "true"}, {NULL, NULL}};
    const double theta[] = {-3.1, 0.19, 0.4, -2.2, 0.11, -0.7, -4.3, 0.31, 0.9};
    sgfs_err err;
    int64_t hidden[7], rows = 0;
    sgfs_config *cfg = config(scaled);
    sgfs_data *data = wrap(N, X, LABEL, cfg);
    sgfs_model *m = sgfs_model_open("logistic", data, cfg, &err);
    if (m == NULL) fail_msg("%s", err.text);
    for (int64_t i = 0; rows < 7; i++) {
        if (LABEL[i] == 7) hidden[rows++] = i;
    }
    double loss = 0, wrong = 0;
    for (int i = 0; i < 7; i++) {
        double p = 0;
        for (int s = 0; s < 3; s++) {
            const double *b = theta + s * D, *x = X + hidden[i] * P;
            p += 1 / (1 + exp(-(b[0] + b[1] * x[0] + b[2] * x[1]))) / 3;
        }
        loss -= log(p) / 7;
        wrong += p < 0.5;
    }
    assert_true(wrong > 0 && wrong < 7);
    sgfs_draws *draws = draws_of(3, 1, theta);
    sgfsi_heldout score;
    assert_int_equal(sgfsi_heldout_score(m, draws, hidden, 7, 2, NULL, &score, &err), SGFS_OK);
    assert_near(score.loss, loss, 1e-12, "log loss");
    assert_near(score.error, wrong / 7, 1e-12, "classification error");
    sgfs_draws_free(draws);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

/* Densities far below the smallest number: the loss stays finite and right. */
static void test_log_loss_does_not_underflow(void **state) {
    (void)state;
    const char *const pairs[][2] = {{"model.sigma", "0.001"}, {NULL, NULL}};
    const double theta[] = {0, 0, 0, 1, 0, 0};
    sgfs_err err;
    const int64_t hidden[] = {5};
    sgfs_config *cfg = config(pairs);
    sgfs_data *data = wrap(N, X, Y, cfg);
    sgfs_model *m = sgfs_model_open("linear", data, cfg, &err);
    sgfs_draws *draws = draws_of(1, 2, theta);
    sgfsi_heldout score;
    assert_int_equal(sgfsi_heldout_score(m, draws, hidden, 1, 1, NULL, &score, &err), SGFS_OK);
    double a = log_normal(Y[5], 0, 1e-6), b = log_normal(Y[5], 1, 1e-6), top = fmax(a, b);
    double wanted = -(top + log((exp(a - top) + exp(b - top)) / 2));
    assert_true(wanted > 1e5);
    assert_near(score.loss, wanted, 1e-9 * wanted, "log loss");
    sgfs_draws_free(draws);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

/* ---- tuning ---------------------------------------------------------------------------------- */

typedef struct session {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *model;
    sgfs_job *tune;
} session;

static session open_session(const char *const (*pairs)[2]) {
    sgfs_err err;
    session k = {.cfg = config(pairs)};
    set(k.cfg, "model.sigma", "0.871");
    set(k.cfg, "data.standardize", "true");
    set(k.cfg, "run.batch", "100");
    set(k.cfg, "run.chains", "2");
    set(k.cfg, "run.threads", "1");
    set(k.cfg, "run.warmup", "300");
    set(k.cfg, "run.draws", "8000");
    set(k.cfg, "run.thin", "20");
    k.data = wrap(N, X, Y, k.cfg);
    k.model = sgfs_model_open("linear", k.data, k.cfg, &err);
    if (k.model == NULL) fail_msg("%s", err.text);
    k.tune = sgfs_tune_open(k.model, NULL, k.cfg, &err);
    if (k.tune == NULL) fail_msg("%s", err.text);
    return k;
}

static void close_session(session *k) {
    sgfs_job_free(k->tune);
    sgfs_model_free(k->model);
    sgfs_data_free(k->data);
    sgfs_config_free(k->cfg);
}

static const sgfs_tune_table *table_of(const session *k) {
    return sgfs_job_result(k->tune);
}

static void grid(const session *k, const char *option, const char *values) {
    sgfs_err err;
    if (sgfsi_tune_grid((sgfsi_tune *)k->tune, option, values, &err) != SGFS_OK)
        fail_msg("%s", err.text);
}

static const char *const sgld[][2] = {{"sampler.kind", "sgld"}, {NULL, NULL}};

/* 1e-9 does not move, 1 diverges. The loss of the good one is that of the Gaussian predictive,
 * averaged over the folds by hand (SGLD's wrong spread does not show in it). */
static void test_the_better_step_wins(void **state) {
    (void)state;
    sgfs_err err;
    session k = open_session(sgld);
    grid(&k, "epsilon", "1e-9, 3e-4,1");
    if (sgfs_job_run(k.tune, &err) != SGFS_OK) fail_msg("%s", err.text);
    const sgfs_tune_table *t = sgfs_job_result(k.tune);
    assert_int_equal(t->rows, 3);
    assert_int_equal(t->folds, 5);
    assert_int_equal(t->winner, 1);
    assert_string_equal(t->row[1].setting, "epsilon=3e-4");
    assert_string_equal(t->row[1].state, "ok");
    assert_string_equal(t->row[2].state, "diverged");
    assert_non_null(strstr(t->row[2].note, "diverged"));
    assert_true(isnan(t->row[2].loss));
    assert_true(t->row[0].gap > 2 * t->row[0].gap_se && !t->row[0].tied);
    assert_true(t->row[1].gap == 0 && t->row[1].tied);
    sgfsi_arena arena = {NULL};
    sgfsi_folds f;
    double wanted = 0, error = 0;
    assert_int_equal(sgfsi_folds_open(&f, k.data, 5, 0, 1, &arena, NULL), SGFS_OK);
    for (int64_t fold = 0; fold < 5; fold++) {
        double mean_log, one;
        sgfsi_folds_pick(&f, fold);
        line q = solve(f.training, f.row, true);
        wanted +=
            exact_loss(&q, f.hidden, f.row + f.training, t->row[1].ess_min, &mean_log, &one) / 5;
        error += one / 5;
    }
    sgfsi_arena_free(&arena);
    assert_true(t->row[1].ess_min > 50);
    assert_near(t->row[1].loss, wanted, 5 * error, "log loss over the folds");
    close_session(&k);
}

static void test_combinations_run_through_all_axes(void **state) {
    (void)state;
    sgfs_err err;
    session k = open_session(sgld);
    set(k.cfg, "tune.holdout", "0.25");
    set(k.cfg, "run.draws", "200");
    sgfs_job_free(k.tune);
    k.tune = sgfs_tune_open(k.model, NULL, k.cfg, &err);
    grid(&k, "sampler.epsilon", "1e-3,1e-4");
    grid(&k, "batch", "50,100,200");
    if (sgfs_job_run(k.tune, &err) != SGFS_OK) fail_msg("%s", err.text);
    const sgfs_tune_table *t = sgfs_job_result(k.tune);
    assert_int_equal(t->rows, 6);
    assert_int_equal(t->folds, 1);
    assert_string_equal(t->row[0].setting, "epsilon=1e-3, batch=50");
    assert_string_equal(t->row[5].setting, "epsilon=1e-4, batch=200");
    for (int i = 0; i < 6; i++) assert_true(isfinite(t->row[i].loss) && isfinite(t->row[i].gap_se));
    close_session(&k);
}

/* The closed form on the user's scale, as a reference. */
static void write_reference(const char *path, bool cov) {
    int64_t row[N];
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int64_t i = 0; i < N; i++) row[i] = i;
    line q = solve(N, row, true);
    double J[D][D] = {{q.y_s, -q.y_s * q.m[0] / q.s[0], -q.y_s * q.m[1] / q.s[1]},
                      {0, q.y_s / q.s[0], 0},
                      {0, 0, q.y_s / q.s[1]}};
    double mean[D] = {q.y_m, 0, 0}, C[D][D] = {{0}};
    for (int r = 0; r < D; r++) {
        for (int c = 0; c < D; c++) {
            mean[r] += J[r][c] * q.mu[c];
            for (int a = 0; a < D; a++) {
                for (int b = 0; b < D; b++) C[r][c] += J[r][a] * q.C[a][b] * J[c][b];
            }
        }
    }
    fprintf(f, "{\"names\": [\"intercept\", \"dose\", \"age\"], \"mean\": [%.17g, %.17g, %.17g]",
            mean[0], mean[1], mean[2]);
    for (int r = 0; cov && r < D; r++) {
        fprintf(f, "%s[%.17g, %.17g, %.17g]%s", r == 0 ? ", \"cov\": [" : ", ", C[r][0], C[r][1],
                C[r][2], r == D - 1 ? "]" : "");
    }
    fputs("}\n", f);
    fclose(f);
}

/* A step 30 times larger inflates the covariance, and E2 sees it. */
static void test_by_error_the_smaller_E2_wins(void **state) {
    (void)state;
    sgfs_err err;
    const char *const pairs[][2] = {{"sampler.kind", "sgld"},
                                    {"tune.by", "error"},
                                    {"tune.reference", "tune_reference.json"},
                                    {NULL, NULL}};
    write_reference("tune_reference.json", true);
    session k = open_session(pairs);
    grid(&k, "epsilon", "3e-5,1e-3,1");
    if (sgfs_job_run(k.tune, &err) != SGFS_OK) fail_msg("%s", err.text);
    const sgfs_tune_table *t = sgfs_job_result(k.tune);
    assert_true(t->by_error);
    assert_int_equal(t->winner, 0);
    assert_true(t->row[0].E2 < t->row[1].E2);
    assert_true(t->row[1].trR > 1.5 && t->row[1].spread > 1.2);
    assert_true(isnan(t->row[0].loss));
    assert_string_equal(t->row[2].state, "diverged");
    close_session(&k);
    /* a reference without a covariance cannot judge: refused before the first run */
    write_reference("tune_reference.json", false);
    sgfs_config *cfg = config(pairs);
    sgfs_data *data = wrap(N, X, Y, cfg);
    set(cfg, "model.sigma", "0.871");
    sgfs_model *m = sgfs_model_open("linear", data, cfg, &err);
    assert_null(sgfs_tune_open(m, NULL, cfg, &err));
    assert_int_equal(err.code, SGFS_EDATA);
    assert_non_null(strstr(err.text, "no covariance"));
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    unlink("tune_reference.json");
}

/* The same two settings by log loss: standard deviations a third too large cost less than a
 * thousandth of it and are not told apart, and the recommendation falls on the one whose spread is
 * right. */
static void test_log_loss_is_nearly_blind_to_the_spread(void **state) {
    (void)state;
    sgfs_err err;
    session k = open_session(sgld);
    grid(&k, "epsilon", "1e-3,3e-5");
    if (sgfs_job_run(k.tune, &err) != SGFS_OK) fail_msg("%s", err.text);
    const sgfs_tune_table *t = sgfs_job_result(k.tune);
    assert_true(t->row[0].spread > 1.25);
    assert_true(fabs(t->row[1].spread - 1) < 0.1);
    assert_true(fabs(t->row[0].gap - t->row[1].gap) < 0.001 * t->row[1].loss);
    assert_true(t->row[0].ess_min > t->row[1].ess_min);
    assert_true(t->row[0].tied && t->row[1].tied);
    assert_int_equal(t->winner, 1);
    close_session(&k);
}

static void test_all_diverged_is_an_error_with_a_table(void **state) {
    (void)state;
    sgfs_err err;
    session k = open_session(sgld);
    grid(&k, "epsilon", "1,2");
    assert_int_equal(sgfs_job_run(k.tune, &err), SGFS_ENUMERIC);
    assert_non_null(strstr(err.text, "smaller steps"));
    const sgfs_tune_table *t = sgfs_job_result(k.tune);
    assert_int_equal(t->rows, 2);
    assert_int_equal(t->winner, -1);
    assert_string_equal(t->row[1].state, "diverged");
    assert_int_equal(sgfs_job_save(k.tune, "nothing.json", &err), SGFS_EUSAGE);
    close_session(&k);
}

/* Stop in the fourth run of 2 settings x 5 folds: one fold is complete for both. */
static void stop_soon(const sgfs_progress *p, void *user) {
    if (p->done >= 3) sgfs_config_stop(user);
    assert_true(p->fraction >= 0 && p->fraction <= 1);
    assert_string_equal(p->what, "tuning");
    assert_non_null(strstr(p->detail, " of 10 (epsilon=1e-"));
    assert_int_equal(p->total, 10);
}

static void test_stopping_keeps_what_is_done(void **state) {
    (void)state;
    sgfs_err err;
    session k = open_session(sgld);
    grid(&k, "epsilon", "1e-3,1e-4");
    sgfs_config_on_progress(k.cfg, stop_soon, k.cfg);
    assert_int_equal(sgfs_job_run(k.tune, &err), SGFS_ESTOPPED);
    assert_non_null(strstr(err.text, "after 3 of 10 runs"));
    const sgfs_tune_table *t = sgfs_job_result(k.tune);
    assert_int_equal(t->folds, 1);
    assert_true(isfinite(t->row[0].loss) && isfinite(t->row[1].loss) && isnan(t->row[0].loss_se));
    close_session(&k);
    session early = open_session(sgld);
    grid(&early, "epsilon", "1e-3,1e-4");
    sgfs_config_stop(early.cfg);
    assert_int_equal(sgfs_job_run(early.tune, &err), SGFS_ESTOPPED);
    t = sgfs_job_result(early.tune);
    assert_string_equal(t->row[1].state, "not run");
    close_session(&early);
}

/* The winner's file holds what was asked for, and a config takes it. */
static void test_the_winner_is_a_config(void **state) {
    (void)state;
    sgfs_err err;
    const char *path = "tune_best.json";
    unlink(path);
    session k = open_session(sgld);
    set(k.cfg, "run.draws", "500");
    set(k.cfg, "tune.holdout", "0.2");
    sgfs_job_free(k.tune);
    k.tune = sgfs_tune_open(k.model, NULL, k.cfg, &err);
    grid(&k, "epsilon", "1e-9,5e-4");
    if (sgfs_job_run(k.tune, &err) != SGFS_OK) fail_msg("%s", err.text);
    if (sgfs_job_save(k.tune, path, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_int_equal(sgfs_job_save(k.tune, path, &err), SGFS_EUSAGE); /* there already */
    sgfs_config *cfg = config(NULL);
    if (sgfs_config_load(cfg, path, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_string_equal(sgfs_config_get(cfg, "sampler.kind"), "sgld");
    assert_string_equal(sgfs_config_get(cfg, "sampler.epsilon"), "5e-4");
    assert_string_equal(sgfs_config_get(cfg, "data.standardize"), "true");
    assert_string_equal(sgfs_config_get(cfg, "run.threads"), "auto"); /* this machine's business */
    assert_string_equal(sgfs_config_get(cfg, "tune.holdout"), "auto");
    char *json = sgfs_job_json(k.tune);
    assert_non_null(strstr(json, "\"winner\": \"epsilon=5e-4\""));
    sgfs_text_free(json);
    sgfs_config_free(cfg);
    close_session(&k);
    unlink(path);
}

/* Without a grid: alpha for SGFS; a tenth to ten times the sampler's own step for SGLD. */
static void test_default_grids(void **state) {
    (void)state;
    sgfs_err err;
    const char *const sgfs_f[][2] = {{"run.seed", "3"}, {NULL, NULL}};
    session k = open_session(sgfs_f);
    assert_int_equal(sgfs_job_run(k.tune, &err), SGFS_OK);
    assert_int_equal(table_of(&k)->rows, 4);
    assert_string_equal(table_of(&k)->row[2].setting, "alpha=2");
    close_session(&k);
    k = open_session(sgld);
    assert_int_equal(sgfs_job_run(k.tune, &err), SGFS_OK);
    assert_int_equal(table_of(&k)->rows, 5);
    double first = 0, last = 0;
    assert_int_equal(sscanf(table_of(&k)->row[0].setting, "epsilon=%lf", &first), 1);
    assert_int_equal(sscanf(table_of(&k)->row[4].setting, "epsilon=%lf", &last), 1);
    assert_true(first > 0 && fabs(last / first - 100) < 2);
    close_session(&k);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void refuse_grid(const char *option, const char *values, const char *sentence) {
    sgfs_err err = {SGFS_OK, ""};
    session k = open_session(sgld);
    grid(&k, "thin", "20");
    sgfs_status status = sgfsi_tune_grid((sgfsi_tune *)k.tune, option, values, &err);
    if (status == SGFS_OK) status = sgfs_job_run(k.tune, &err);
    assert_int_equal(status, SGFS_EUSAGE);
    if (strstr(err.text, sentence) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.text, sentence);
    close_session(&k);
}

static void test_grids_that_cannot_be_are_refused(void **state) {
    (void)state;
    refuse_grid("epsilom", "1", "there is no option \"epsilom\". Did you mean \"epsilon\"?");
    refuse_grid("zzzzzzzz", "1", "there is no option \"zzzzzzzz\"; `sgfs help tune`");
    refuse_grid("standardize", "true", "cannot be tuned");
    refuse_grid("overwrite", "true", "cannot be tuned");
    refuse_grid("epsilon", "1e-3,fast", "--epsilon takes a number, not \"fast\"");
    refuse_grid("epsilon", "-1", "--epsilon must");
    refuse_grid("epsilon", "1e-3,,1", "a value is missing");
    refuse_grid("epsilon", "", "a value is missing");
    refuse_grid("epsilon", "1e-3, 1e-3", "1e-3 is there twice");
    refuse_grid("thin", "1", "--grid thin is there twice");
    refuse_grid("alpha", "1,2", "alpha=1: --alpha has no meaning");
    refuse_grid("batch", "100,500", "batch=500: --batch 500 is more than the 480 rows");
}

/* One text, an option a line. */
static void test_a_grid_is_read_line_by_line(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    session k = open_session(sgld);
    sgfs_job_free(k.tune);
    k.tune = sgfs_tune_open(k.model, "epsilon=1e-3,1e-4\nrun.batch=50, 100,200", k.cfg, &err);
    if (k.tune == NULL) fail_msg("%s", err.text);
    const sgfsi_tune *t = (const sgfsi_tune *)k.tune;
    assert_int_equal(t->axes, 2);
    assert_int_equal(t->axis[0].count, 2);
    assert_string_equal(t->axis[1].value[1], "100");
    assert_null(sgfs_tune_open(k.model, "epsilon=1e-3\nthin", k.cfg, &err));
    assert_non_null(strstr(err.text, "--grid thin: write it as OPTION=VALUE,VALUE"));
    close_session(&k);
}

static void refuse_options(const char *const (*pairs)[2], const char *sentence) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = config(pairs);
    sgfs_data *data = wrap(N, X, Y, cfg);
    sgfs_model *m = sgfs_model_open("linear", data, cfg, &err);
    assert_null(sgfs_tune_open(m, NULL, cfg, &err));
    assert_int_equal(err.code, SGFS_EUSAGE);
    if (strstr(err.text, sentence) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.text, sentence);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

static void test_options_that_contradict_each_other_are_refused(void **state) {
    (void)state;
    const char *const both[][2] = {{"tune.folds", "3"}, {"tune.holdout", "0.1"}, {NULL, NULL}};
    const char *const none[][2] = {{"tune.by", "error"}, {NULL, NULL}};
    const char *const idle[][2] = {{"tune.reference", "x.json"}, {NULL, NULL}};
    const char *const folds[][2] = {
        {"tune.by", "error"}, {"tune.reference", "x"}, {"tune.folds", "3"}, {NULL, NULL}};
    refuse_options(both, "give one of them");
    refuse_options(none, "Add --reference");
    refuse_options(idle, "--by error");
    refuse_options(folds, "holds no rows out");
}

/* A single row of a class: the fold that holds it out still knows the label, and the
 * prior keeps its posterior proper. */
static void test_a_class_of_one_row(void **state) {
    (void)state;
    const char *const plain[][2] = {{NULL, NULL}};
    double label[N] = {0};
    label[17] = 1;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = config(plain);
    set(cfg, "run.draws", "100");
    sgfs_data *data = wrap(N, X, label, cfg);
    sgfs_model *m = sgfs_model_open("logistic", data, cfg, &err);
    sgfs_job *tune = sgfs_tune_open(m, NULL, cfg, &err);
    assert_non_null(tune);
    assert_int_equal(sgfs_job_run(tune, &err), SGFS_OK);
    sgfs_job_free(tune);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

/* A model whose parameters go through more than --standardize cannot be scored from its draws. */
static void doubled(const sgfs_model *m, const double *theta, double *user) {
    for (int64_t j = 0; j < m->D; j++) user[j] = 2 * theta[j];
}

static void test_another_scale_of_the_parameters_is_refused(void **state) {
    (void)state;
    const char *const plain[][2] = {{NULL, NULL}};
    const double theta[D] = {0};
    const int64_t hidden[] = {0, 1};
    sgfs_err err = {SGFS_OK, ""};
    sgfs_model_kind odd = sgfs_model_logistic;
    odd.to_user = doubled;
    sgfs_config *cfg = config(plain);
    sgfs_data *data = wrap(N, X, LABEL, cfg);
    sgfs_model *m = sgfsi_model_create(&odd, data, cfg, NULL, &err);
    sgfs_draws *draws = draws_of(1, 1, theta);
    sgfsi_heldout score;
    assert_int_equal(sgfsi_heldout_score(m, draws, hidden, 2, 1, NULL, &score, &err), SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "another scale"));
    sgfs_draws_free(draws);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

/* ---- config files ---------------------------------------------------------------------------- */

static sgfs_status load(sgfs_config *cfg, const char *text, sgfs_err *err) {
    FILE *f = fopen("tune_config.json", "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    sgfs_status status = sgfs_config_load(cfg, "tune_config.json", err);
    unlink("tune_config.json");
    return status;
}

static void test_values_of_a_config_file(void **state) {
    (void)state;
    sgfs_err err;
    sgfs_config *cfg = config(NULL);
    const char *text =
        "{\"sampler.kind\": \"sgld\", \"sampler.epsilon\": 5e-4, \"run.chains\": 3,\n"
        " \"data.standardize\": true, \"run.warmup\": \"auto\"}";
    if (load(cfg, text, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_string_equal(sgfs_config_get(cfg, "sampler.epsilon"), "0.0005");
    assert_string_equal(sgfs_config_get(cfg, "run.chains"), "3");
    assert_string_equal(sgfs_config_get(cfg, "data.standardize"), "true");
    assert_true(sgfsi_config_given(cfg, "run.warmup")); /* said, though it is the default */
    sgfs_config_free(cfg);
    /* a run's header: other members are not read, defaults and output options do not count */
    cfg = config(NULL);
    text = "{\"model\": \"linear\", \"dim\": 3, \"config\": {\"sampler.kind\": \"sgld\", "
           "\"sampler.alpha\": \"auto\", \"output.overwrite\": \"true\", \"run.seed\": \"9\"}}";
    if (load(cfg, text, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_string_equal(sgfs_config_get(cfg, "run.seed"), "9");
    assert_string_equal(sgfs_config_get(cfg, "output.overwrite"), "false");
    assert_false(sgfsi_config_given(cfg, "sampler.alpha"));
    sgfs_config_free(cfg);
}

/* What a run records is a config that makes the same run. */
static void test_the_header_of_a_run_is_a_config(void **state) {
    (void)state;
    sgfs_err err;
    session k = open_session(sgld);
    sgfs_run *run = sgfs_run_open(k.model, k.cfg, &err), *again;
    assert_non_null(run);
    sgfsi_json *header = sgfsi_run_header(run, NULL);
    char *text = sgfsi_json_dump(header, false);
    sgfs_config *cfg = config(NULL);
    if (load(cfg, text, &err) != SGFS_OK) fail_msg("%s", err.text);
    sgfs_model *m = sgfs_model_open("linear", k.data, cfg, &err);
    again = sgfs_run_open(m, cfg, &err);
    if (again == NULL) fail_msg("%s", err.text);
    assert_string_equal(sgfs_run_describe(again), sgfs_run_describe(run));
    sgfs_run_free(again);
    sgfs_model_free(m);
    sgfs_config_free(cfg);
    free(text);
    sgfsi_json_free(header);
    sgfs_run_free(run);
    close_session(&k);
}

static void refuse_config(const char *text, sgfs_status code, const char *sentence) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = config(NULL);
    assert_int_equal(load(cfg, text, &err), code);
    if (strstr(err.text, sentence) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.text, sentence);
    sgfs_config_free(cfg);
}

static void test_mistakes_in_a_config_file(void **state) {
    (void)state;
    refuse_config("{\"sampler.epsilonn\": 1}", SGFS_EUSAGE,
                  "tune_config.json: There is no option \"sampler.epsilonn\". Did you mean "
                  "\"sampler.epsilon\"?");
    refuse_config("{\"sampler.epsilon\": \"big\"}", SGFS_EUSAGE,
                  "tune_config.json: --epsilon takes a number, not \"big\".");
    refuse_config("{\"run.chains\": 0}", SGFS_EUSAGE,
                  "tune_config.json: --chains must lie between");
    refuse_config("{\"run.chains\": 2.5}", SGFS_EUSAGE, "--chains takes a whole number");
    refuse_config("{\"run.chains\": [2]}", SGFS_EUSAGE, "the value of \"run.chains\" must be");
    refuse_config("{\"run.chains\": null}", SGFS_EUSAGE, "the value of \"run.chains\" must be");
    refuse_config("{\"run.chains\": 2,\n \"run.seed\" 3}", SGFS_EDATA, "tune_config.json:2:");
    refuse_config("[1, 2]", SGFS_EDATA, "is not a config");
    refuse_config("", SGFS_EDATA, "tune_config.json:1:");
    sgfs_err err;
    sgfs_config *cfg = config(NULL);
    assert_int_equal(sgfs_config_load(cfg, "not/there.json", &err), SGFS_EIO);
    assert_int_equal(sgfs_config_load(NULL, "x", &err), SGFS_EUSAGE);
    sgfs_config_free(cfg);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_view_has_its_rows_in_its_order),
        cmocka_unit_test(test_a_long_pick_from_a_view),
        cmocka_unit_test(test_statistics_of_a_view_are_those_of_its_rows),
        cmocka_unit_test(test_folds_partition_the_rows),
        cmocka_unit_test(test_a_rare_class_stays_in_the_training_rows),
        cmocka_unit_test(test_folds_are_random_and_repeatable),
        cmocka_unit_test(test_log_loss_is_that_of_the_gaussian_predictive),
        cmocka_unit_test(test_log_loss_and_error_of_two_classes),
        cmocka_unit_test(test_log_loss_does_not_underflow),
        cmocka_unit_test(test_the_better_step_wins),
        cmocka_unit_test(test_combinations_run_through_all_axes),
        cmocka_unit_test(test_by_error_the_smaller_E2_wins),
        cmocka_unit_test(test_log_loss_is_nearly_blind_to_the_spread),
        cmocka_unit_test(test_all_diverged_is_an_error_with_a_table),
        cmocka_unit_test(test_stopping_keeps_what_is_done),
        cmocka_unit_test(test_the_winner_is_a_config),
        cmocka_unit_test(test_default_grids),
        cmocka_unit_test(test_grids_that_cannot_be_are_refused),
        cmocka_unit_test(test_a_grid_is_read_line_by_line),
        cmocka_unit_test(test_options_that_contradict_each_other_are_refused),
        cmocka_unit_test(test_a_class_of_one_row),
        cmocka_unit_test(test_another_scale_of_the_parameters_is_refused),
        cmocka_unit_test(test_values_of_a_config_file),
        cmocka_unit_test(test_the_header_of_a_run_is_a_config),
        cmocka_unit_test(test_mistakes_in_a_config_file),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
