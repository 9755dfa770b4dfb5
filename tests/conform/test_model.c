/* SPDX-License-Identifier: MIT
 * test_model.c: what every model promises, for every row of sgfsi_models, on columns of very
 * different place and scale, standardised or not, with and without intercept, and with every
 * "auto" option of the model left alone or given.
 *
 * Finite differences. Central, h_j = cbrt(eps) s_j with s_j the scale of parameter j: truncation
 * and rounding are both near 1e-10 of the terms, so 1e-6 of the sum of their magnitudes is far from
 * either, and far below any mistake.
 * Monte Carlo. |mean - truth| < 5 standard errors: about 6e-7 for each comparison; seeds are fixed.
 */
#include <float.h>
#include <stdio.h>

#include "model/posterior.h"
#include "tools/check.h"

enum { ROWS = 1301, COLS = 3, MOST = 16 }; /* more rows than one block of a full pass (1024) */

static const char *const names[COLS] = {"height", "x 2", "\xC3\xA9tage"};
static const double place[COLS] = {2.385, -0.713, 13.79}, scale[COLS] = {1.913, 0.0437, 5.21};
static const double truth[COLS + 1] = {0.417, 0.83, -1.31, 0.593}; /* intercept, unit columns */

/* ---- one model on its data ------------------------------------------------------------------- */

typedef struct setup {
    const sgfs_model_kind *kind;
    bool standardize, intercept;
    const sgfs_option *option; /* an "auto" option of the kind to give, or NULL */
    const char *backend;
} setup;

typedef struct bench {
    setup is;
    double *x, *y; /* ROWS x COLS, ROWS */
    float *x32;    /* x rounded */
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    int64_t D;
    double theta[MOST], unit[MOST]; /* a place to stand, and the scale of each parameter */
    char label[96];
} bench;

/* Rows in order from t on: a batch of all of them, or of any single one. */
static double gamma_in_order(double N, int64_t n) {
    return N / (double)n;
}

static int64_t no_state(int64_t N, int64_t n) {
    (void)N;
    (void)n;
    return 0;
}

static void draw_in_order(int64_t N, int64_t n, int64_t t, uint64_t seed, uint32_t chain,
                          uint32_t purpose, int64_t *state, int64_t *row) {
    (void)seed;
    (void)chain;
    (void)purpose;
    (void)state;
    for (int64_t i = 0; i < n; i++) row[i] = (t + i) % N;
}

static const sgfs_scheme_kind in_order = {
    .name = "in order", .gamma = gamma_in_order, .state = no_state, .draw = draw_in_order};

/* y from the model itself: its rows of coefficients are multiples of `truth`, for unit columns. */
static void draw_targets(bench *b, uint64_t *s) {
    double *x = zeros(ROWS * (COLS + 1)), *normal = zeros(ROWS), *uniform = zeros(ROWS);
    double theta[MOST];
    sgfs_config *cfg = sgfs_config_new();
    sgfs_arrays arrays = {.rows = ROWS, .cols = COLS, .x = x};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
    sgfsi_json *info = sgfsi_json_object();
    sgfsi_json_int(info, "classes", 3);
    sgfs_model *m = sgfsi_model_reopen(b->is.kind, data, cfg, info, NULL);
    assert_non_null(m);
    for (int64_t i = 0; i < m->D; i++) {
        bool beta = i < m->block[0].rows * (COLS + 1);
        theta[i] = beta ? truth[i % (COLS + 1)] * (1 - 0.7 * (double)(i / (COLS + 1))) : log(0.871);
    }
    for (int64_t i = 0; i < ROWS; i++) {
        x[i * (COLS + 1)] = 1;
        for (int64_t j = 0; j < COLS; j++)
            x[i * (COLS + 1) + j + 1] = (b->x[i * COLS + j] - place[j]) / scale[j];
        normal[i] = next_normal(s);
        uniform[i] = 0.5 * (next_number(s) + 1);
    }
    sgfs_batch batch = {.n = ROWS, .p = COLS + 1, .x = x, .total = ROWS, .gamma = 1};
    b->is.kind->resample(m, theta, &batch, normal, uniform, b->y);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    sgfsi_json_free(info);
    free(x);
    free(normal);
    free(uniform);
}

static void make_data(bench *b) {
    uint64_t s = 20120626;
    b->x = zeros(ROWS * COLS);
    b->y = zeros(ROWS);
    b->x32 = malloc(sizeof *b->x32 * ROWS * COLS);
    assert_non_null(b->x32);
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < COLS; j++) {
            double z = next_normal(&s);
            if (j > 0) z = 0.6 * (b->x[i * COLS + j - 1] - place[j - 1]) / scale[j - 1] + 0.8 * z;
            b->x[i * COLS + j] = place[j] + scale[j] * z;
            b->x32[i * COLS + j] = (float)b->x[i * COLS + j];
        }
    }
    draw_targets(b, &s);
}

static void set(bench *b, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(b->cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static void open_model(bench *b, const float *x32, const double *x) {
    sgfs_err err = {0};
    sgfs_arrays arrays = {
        .rows = ROWS, .cols = COLS, .x = x, .x32 = x32, .y = b->y, .names = names};
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    b->data = sgfs_data_wrap(&arrays, b->cfg, &err);
    if (b->data == NULL) fail_msg("%s", err.text);
    b->m = sgfsi_model_open(b->is.kind, b->data, b->cfg, &err);
    if (b->m == NULL) fail_msg("%s", err.text);
    b->D = b->m->D;
    assert_true(b->D <= MOST);
}

static void open_bench(bench *b, const setup *is) {
    *b = (bench){.is = *is, .cfg = sgfs_config_new()};
    snprintf(b->label, sizeof b->label, "%s%s%s %s=%s %s", is->kind->name,
             is->standardize ? " standardised" : "", is->intercept ? "" : " without intercept",
             is->option != NULL ? is->option->key : "", is->option != NULL ? "0.83" : "",
             is->backend);
    make_data(b);
    set(b, "prior.precision", "0.371");
    set(b, "run.backend", is->backend);
    set(b, "data.standardize", is->standardize ? "true" : "false");
    set(b, "data.intercept", is->intercept ? "true" : "false");
    if (is->option != NULL) set(b, is->option->key, "0.83");
    open_model(b, NULL, b->x);
    /* near enough to the posterior for every row to matter, not at its mode */
    is->kind->start(b->m, b->theta, b->unit);
    uint64_t s = 7;
    for (int64_t j = 0; j < b->D; j++) b->theta[j] += 0.4 * next_number(&s) * b->unit[j];
}

static void close_bench(bench *b) {
    sgfs_model_free(b->m);
    sgfs_data_free(b->data);
    sgfs_config_free(b->cfg);
    free(b->x);
    free(b->y);
    free(b->x32);
}

/* Run a statement about one model for every model and every setting. */
static void for_each(void (*statement)(bench *b)) {
    for (const sgfs_model_kind *const *k = sgfsi_models; *k != NULL; k++) {
        if (strcmp((*k)->name, "mlp") == 0) continue; /* tests/unit/test_mlp.c */
        for (const sgfs_option *o = (*k)->options;; o++) {
            bool last = o->key == NULL;
            if (!last && strcmp(o->value, "auto") != 0) continue;
            for (int i = 0; i < 8; i++) {
                bench b;
                setup is = {*k, i & 1, i & 2, last ? NULL : o, i & 4 ? "host" : "blas"};
                open_bench(&b, &is);
                statement(&b);
                close_bench(&b);
            }
            if (last) break;
        }
    }
}

/* ---- scores ---------------------------------------------------------------------------------- */

typedef struct probe {
    sgfsi_arena arena;
    sgfsi_eval eval;
    double G[MOST], lp;
} probe;

static void open_probe(probe *p, const bench *b, const sgfs_scheme_kind *scheme, int64_t n) {
    *p = (probe){.lp = 0};
    assert_int_equal(sgfsi_eval_open(&p->eval, b->m, scheme, n, &p->arena, NULL), SGFS_OK);
}

static void look(probe *p, int64_t t, const double *theta) {
    sgfs_err err;
    if (sgfsi_eval_gradient(&p->eval, t, SGFSI_ROWS, theta, p->G, &p->lp, &err) != SGFS_OK)
        fail_msg("%s", err.text);
}

/* Score of row i of the batch: factors multiplied out. */
static void expand(const sgfs_scores *s, int64_t i, double *g) {
    for (int64_t k = 0; k < s->blocks; k++) {
        const sgfs_score_block *o = &s->block[k];
        for (int64_t r = 0; r < o->rows; r++) {
            for (int64_t c = 0; c < o->cols; c++) {
                int64_t d = o->rows * o->cols, at = r * o->cols + c;
                g[o->offset + at] = o->dense != NULL
                                        ? o->dense[i * d + at]
                                        : o->left[i * o->rows + r] * o->right[i * o->cols + c];
            }
        }
    }
}

static double step_of(const bench *b, int64_t j) {
    return cbrt(DBL_EPSILON) * b->unit[j];
}

static void check_scores(bench *b) {
    probe all, one;
    double g[MOST], sum[MOST] = {0}, size[MOST] = {0};
    open_probe(&all, b, &in_order, ROWS);
    open_probe(&one, b, &in_order, 1);
    look(&all, 0, b->theta);
    for (int64_t i = 0; i < ROWS; i++) {
        expand(&all.eval.scores, i, g);
        for (int64_t j = 0; j < b->D; j++) {
            sum[j] += g[j];
            size[j] += fabs(g[j]);
        }
        if (i % 19 != 0) continue; /* single rows: 69 of them */
        for (int64_t j = 0; j < b->D; j++) {
            double h = step_of(b, j), up[MOST], down[MOST];
            memcpy(up, b->theta, sizeof up);
            memcpy(down, b->theta, sizeof down);
            up[j] += h;
            down[j] -= h;
            look(&one, i, up);
            double above = one.eval.loglik[0];
            look(&one, i, down);
            double slope = (above - one.eval.loglik[0]) / (up[j] - down[j]);
            assert_near(g[j], slope, 1e-6 * (fabs(g[j]) + 1 / b->unit[j]), b->label);
        }
    }
    for (int64_t j = 0; j < b->D; j++) {
        double prior = -0.371 * b->theta[j];
        assert_near(all.eval.gbar[j] * ROWS, sum[j], 1e-12 * size[j], b->label);
        assert_near(all.G[j], sum[j] + prior, 1e-12 * (size[j] + fabs(prior)), b->label);
    }
    sgfsi_arena_free(&all.arena);
    sgfsi_arena_free(&one.arena);
}

/* Rows one by one, without scores: each that of a batch of one, and their sum the batch's. */
static void check_row_loglik(bench *b) {
    probe all, one;
    open_probe(&all, b, &in_order, ROWS);
    open_probe(&one, b, &in_order, 1);
    look(&all, 0, b->theta);
    double *row = zeros(ROWS);
    sgfs_scores alone = {.n = ROWS, .D = b->D, .loglik = row};
    assert_int_equal(
        b->is.kind->scores(b->m, b->theta, &all.eval.batcher.batch, &alone, all.eval.scratch, NULL),
        SGFS_OK);
    for (int64_t i = 0; i < ROWS; i++) {
        assert_near(row[i], all.eval.loglik[i], 1e-12 * (1 + fabs(row[i])), b->label);
        if (i % 19 != 0) continue;
        look(&one, i, b->theta);
        assert_near(row[i], one.eval.loglik[0], 1e-12 * (1 + fabs(row[i])), b->label);
    }
    free(row);
    sgfsi_arena_free(&all.arena);
    sgfsi_arena_free(&one.arena);
}

static void test_rows_add_up_to_the_log_likelihood(void **state) {
    (void)state;
    for_each(check_row_loglik);
}

static void test_scores_are_derivatives_of_the_log_likelihood(void **state) {
    (void)state;
    for_each(check_scores);
}

/* ---- the full posterior ---------------------------------------------------------------------- */

static double full(const bench *b, const double *theta, double *G, double *A) {
    double lp;
    sgfs_err err;
    if (sgfsi_posterior_full(b->m, theta, &lp, G, A, &err) != SGFS_OK) fail_msg("%s", err.text);
    return lp;
}

static void check_full(bench *b) {
    double G[MOST], other[MOST], lp = full(b, b->theta, G, NULL);
    for (int64_t j = 0; j < b->D; j++) {
        double up[MOST], down[MOST];
        memcpy(up, b->theta, sizeof up);
        memcpy(down, b->theta, sizeof down);
        up[j] += step_of(b, j);
        down[j] -= step_of(b, j);
        double slope = (full(b, up, other, NULL) - full(b, down, other, NULL)) / (up[j] - down[j]);
        assert_near(G[j], slope, 1e-6 * (fabs(G[j]) + ROWS / b->unit[j]), b->label);
    }
    probe all; /* one batch of all the rows says the same as the pass in blocks */
    open_probe(&all, b, &in_order, ROWS);
    look(&all, 0, b->theta);
    assert_near(all.lp, lp, 1e-12 * fabs(lp), b->label);
    for (int64_t j = 0; j < b->D; j++)
        assert_near(all.G[j], G[j], 1e-11 * (fabs(G[j]) + ROWS / b->unit[j]), b->label);
    double without[MOST]; /* nor do the scores depend on whether the density is wanted */
    assert_int_equal(sgfsi_eval_gradient(&all.eval, 0, SGFSI_ROWS, b->theta, without, NULL, NULL),
                     SGFS_OK);
    assert_memory_equal(without, all.G, (size_t)b->D * sizeof *without);
    sgfsi_arena_free(&all.arena);
}

static void test_full_gradient_is_the_derivative_of_the_log_posterior(void **state) {
    (void)state;
    for_each(check_full);
}

/* ---- curvature ------------------------------------------------------------------------------- */

/* How many leading parameters have the expected information as their Hessian at any data; 0: the
 * model is not known here and only symmetry and definiteness are asked of it. */
static int64_t hessian_dim(const bench *b) {
    if (strcmp(b->is.kind->name, "logistic") == 0) return b->D;
    if (strcmp(b->is.kind->name, "softmax") == 0) return b->D;
    if (strcmp(b->is.kind->name, "poisson") == 0) return b->D;
    if (strcmp(b->is.kind->name, "linear") == 0) return b->m->data->p;
    return 0;
}

static void check_curvature(bench *b) {
    int64_t D = b->D, same = hessian_dim(b);
    double A[MOST * MOST], G[MOST], up[MOST], down[MOST], above[MOST], below[MOST];
    if (b->is.kind->curvature == NULL) return;
    full(b, b->theta, G, A);
    for (int64_t j = 0; j < same; j++) {
        memcpy(up, b->theta, sizeof up);
        memcpy(down, b->theta, sizeof down);
        up[j] += step_of(b, j);
        down[j] -= step_of(b, j);
        full(b, up, above, NULL);
        full(b, down, below, NULL);
        for (int64_t i = j; i < same; i++) {
            double slope = -(above[i] - below[i]) / (up[j] - down[j]);
            double size = sqrt(A[i * D + i] * A[j * D + j]);
            assert_near(A[i * D + j], slope, 1e-6 * size, b->label);
        }
    }
    if (same > 0 && same < D) { /* linear: E[g g'] for log_sigma is 2 a row, 0 beside beta */
        assert_near(A[D * D - 1], 2.0 * ROWS + 0.371, 1e-9, b->label);
        for (int64_t j = 0; j < same; j++) assert_true(A[(D - 1) * D + j] == 0);
    }
    assert_int_equal(b->m->be->potrf(D, A), 0);
}

static void test_curvature_is_the_expected_information(void **state) {
    (void)state;
    for_each(check_curvature);
}

/* ---- the user's scale ------------------------------------------------------------------------ */

/* Log density of one row by the textbook, on the user's own scale. */
static double plain_linear(double y, double eta, double log_sigma) {
    double r = (y - eta) / exp(log_sigma);
    return -0.5 * r * r - log_sigma - 0.5 * log(6.283185307179586476925);
}

static double plain_logistic(double y, double eta, double unused) {
    (void)unused;
    return y == 1 ? -log(1 + exp(-eta)) : -log(1 + exp(eta));
}

static double predict_raw(const bench *b, const double *user, int64_t i) {
    double eta = b->is.intercept ? user[0] : 0;
    for (int64_t j = 0; j < COLS; j++)
        eta += user[j + (b->is.intercept ? 1 : 0)] * b->x[i * COLS + j];
    return eta;
}

/* The model's predictor for row i from the rows the chain sees, moved back to the user's target. */
static double predict_seen(const bench *b, int64_t i) {
    double x[MOST], eta = 0;
    sgfsi_data_rows_range(b->data, i, 1, x, NULL);
    for (int64_t j = 0; j < b->m->data->p; j++) eta += x[j] * b->theta[j];
    return sgfsi_json_get_num(b->m->extra, "y_mean", 0) +
           sgfsi_json_get_num(b->m->extra, "y_sd", 1) * eta;
}

static void check_user_scale(bench *b) {
    double user[MOST], G[MOST], plain = 0, y_sd = sgfsi_json_get_num(b->m->extra, "y_sd", 1);
    bool linear = strcmp(b->is.kind->name, "linear") == 0;
    if (!linear && strcmp(b->is.kind->name, "logistic") != 0) return; /* no textbook line here */
    b->is.kind->to_user(b->m, b->theta, user);
    for (int64_t i = 0; i < ROWS; i++) {
        double eta = predict_raw(b, user, i), log_sigma = b->is.option != NULL ? log(0.83) : 0;
        if (linear && b->is.option == NULL) log_sigma = user[b->D - 1];
        assert_near(eta, predict_seen(b, i), 1e-10 * (1 + fabs(eta)), b->label);
        plain += (linear ? plain_linear : plain_logistic)(b->y[i], eta, log_sigma);
    }
    /* a density of y/s is s times the density of y */
    plain += ROWS * log(y_sd);
    for (int64_t j = 0; j < b->D; j++) plain -= 0.5 * 0.371 * b->theta[j] * b->theta[j];
    assert_near(full(b, b->theta, G, NULL), plain, 1e-10 * fabs(plain), b->label);
    if (!b->is.standardize) assert_memory_equal(user, b->theta, (size_t)b->D * sizeof *user);
    else assert_true(fabs(user[1] - b->theta[1]) > 0.01 * fabs(b->theta[1]));
}

static void test_the_users_scale_predicts_the_same(void **state) {
    (void)state;
    for_each(check_user_scale);
}

/* ---- storage --------------------------------------------------------------------------------- */

static void check_storage(bench *b) {
    double G[MOST], rounded[MOST], single[MOST], *wide = zeros(ROWS * COLS);
    for (int64_t i = 0; i < ROWS * COLS; i++) wide[i] = (double)b->x32[i];
    double lp = full(b, b->theta, G, NULL);
    open_model(b, b->x32, NULL);
    double lp_single = full(b, b->theta, single, NULL);
    assert_near(lp_single, lp, 1e-5 * fabs(lp), b->label);
    for (int64_t j = 0; j < b->D; j++)
        assert_near(single[j], G[j], 1e-5 * (fabs(G[j]) + ROWS / b->unit[j]), b->label);
    open_model(b, NULL, wide); /* the same numbers stored as double: the same bits */
    assert_true(full(b, b->theta, rounded, NULL) == lp_single);
    assert_memory_equal(rounded, single, (size_t)b->D * sizeof *single);
    free(wide);
}

static void test_single_precision_storage(void **state) {
    (void)state;
    for_each(check_storage);
}

/* ---- minibatches ----------------------------------------------------------------------------- */

static void check_minibatches(bench *b) {
    enum { BATCHES = 3000, n = 37 };
    double truth_G[MOST], truth_lp = full(b, b->theta, truth_G, NULL);
    for (const sgfs_scheme_kind *const *s = sgfsi_schemes; *s != NULL; s++) {
        probe p;
        double sum[MOST + 1] = {0}, squares[MOST + 1] = {0};
        open_probe(&p, b, *s, n);
        sgfsi_eval_stream(&p.eval, 4711, 3);
        for (int64_t t = 1; t <= BATCHES; t++) {
            look(&p, t, b->theta);
            for (int64_t j = 0; j <= b->D; j++) {
                double off = j < b->D ? p.G[j] - truth_G[j] : p.lp - truth_lp;
                sum[j] += off;
                squares[j] += off * off;
            }
        }
        assert_int_equal(p.eval.rows_touched, BATCHES * n);
        for (int64_t j = 0; j <= b->D; j++) {
            double mean = sum[j] / BATCHES, var = squares[j] / BATCHES - mean * mean;
            assert_true(var > 0);
            assert_near(mean, 0, 5 * sqrt(var / BATCHES), b->label);
        }
        sgfsi_arena_free(&p.arena);
    }
}

static void test_the_stochastic_gradient_is_unbiased(void **state) {
    (void)state;
    for_each(check_minibatches);
}

/* ---- start and names ------------------------------------------------------------------------- */

static void check_start(bench *b) {
    double theta[MOST], spread[MOST], G[MOST];
    b->is.kind->start(b->m, theta, spread);
    for (int64_t j = 0; j < b->D; j++)
        assert_true(isfinite(theta[j]) && isfinite(spread[j]) && spread[j] > 0);
    assert_true(isfinite(full(b, theta, G, NULL)) != 0);
}

static void check_names(bench *b) {
    int64_t first = b->is.intercept ? 1 : 0;
    assert_int_equal(sgfs_model_dim(b->m), b->D);
    bool own = b->m->block[0].rows == 1; /* else a label stands in front */
    if (b->is.intercept && own) assert_string_equal(sgfs_model_param(b->m, 0), "intercept");
    for (int64_t j = 0; own && j < COLS; j++)
        assert_string_equal(sgfs_model_param(b->m, first + j), names[j]);
    if (strcmp(b->is.kind->name, "linear") == 0) {
        assert_int_equal(b->D, first + COLS + (b->is.option == NULL ? 1 : 0));
        if (b->is.option == NULL)
            assert_string_equal(sgfs_model_param(b->m, b->D - 1), "log_sigma");
    }
    assert_null(sgfs_model_param(b->m, -1));
    assert_null(sgfs_model_param(b->m, b->D));
    int64_t covered = 0; /* the blocks lie one after another and cover theta */
    for (int64_t k = 0; k < b->m->blocks; k++) {
        assert_int_equal(b->m->block[k].offset, covered);
        covered += b->m->block[k].rows * b->m->block[k].cols;
    }
    assert_int_equal(covered, b->D);
}

static void test_start_is_finite(void **state) {
    (void)state;
    for_each(check_start);
}

static void test_parameters_carry_the_columns_names(void **state) {
    (void)state;
    for_each(check_names);
}

static void test_a_name_that_would_appear_twice_is_refused(void **state) {
    (void)state;
    static const char *const twice[COLS] = {"height", "intercept", "weight"};
    for (const sgfs_model_kind *const *k = sgfsi_models; *k != NULL; k++) {
        if (strcmp((*k)->name, "mlp") == 0) continue;
        bench b;
        sgfs_err err = {0};
        setup is = {*k, false, true, NULL, "blas"};
        open_bench(&b, &is);
        sgfs_arrays arrays = {.rows = ROWS, .cols = COLS, .x = b.x, .y = b.y, .names = twice};
        sgfs_data *data = sgfs_data_wrap(&arrays, b.cfg, NULL);
        assert_non_null(data);
        assert_null(sgfsi_model_open(*k, data, b.cfg, &err));
        assert_int_equal(err.code, SGFS_EDATA);
        assert_non_null(strstr(err.text, "intercept"));
        sgfs_data_free(data);
        arrays.y = NULL; /* nor is there a regression without a target */
        data = sgfs_data_wrap(&arrays, b.cfg, NULL);
        assert_non_null(data);
        assert_null(sgfsi_model_open(*k, data, b.cfg, &err));
        assert_int_equal(err.code, SGFS_EDATA);
        sgfs_data_free(data);
        close_bench(&b);
    }
}

/* ---- what the columns say -------------------------------------------------------------------- */

/* 0.1 is not a sum of powers of two, so neither is the mean of many of them exact. */
static void test_a_constant_column_is_constant_whatever_its_value(void **state) {
    (void)state;
    enum { N = 700 };
    static const double value[] = {0.1, -1e-7 / 3, 12345.678, 0};
    double x[N], y[N], row[2];
    uint64_t s = 99;
    for (size_t k = 0; k < sizeof value / sizeof value[0]; k++) {
        sgfs_config *cfg = sgfs_config_new();
        assert_int_equal(sgfs_config_set(cfg, "data.standardize", "true", NULL), SGFS_OK);
        for (int i = 0; i < N; i++) {
            x[i] = value[k];
            y[i] = next_number(&s);
        }
        sgfs_arrays arrays = {.rows = N, .cols = 1, .x = x, .y = y};
        sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
        assert_non_null(data);
        assert_true(data->feature[0].sd == 0 && data->feature[0].mean == value[k]);
        sgfsi_data_rows_range(data, 0, 1, row, NULL);
        assert_true(row[0] == 1 && row[1] == 0);
        sgfs_data_free(data);
        sgfs_config_free(cfg);
    }
}

/* Standardised columns have mean 0 and variance 1 (divisor N - 1); without an intercept they are
 * scaled only. Tolerance: rounding of sums of 1301 numbers. */
static void check_columns(bench *b) {
    double *x = zeros(ROWS * MOST), tolerance = 1e-11;
    int64_t p = b->m->data->p, first = b->is.intercept ? 1 : 0;
    sgfsi_data_rows_range(b->data, 0, ROWS, x, NULL);
    for (int64_t j = 0; j < COLS; j++) {
        double mean = 0, raw = 0, ss = 0;
        for (int64_t i = 0; i < ROWS; i++) {
            mean += x[i * p + first + j] / ROWS;
            raw += b->x[i * COLS + j] / ROWS;
        }
        for (int64_t i = 0; i < ROWS; i++) ss += pow(x[i * p + first + j] - mean, 2) / (ROWS - 1);
        if (b->is.standardize) {
            assert_near(ss, 1, tolerance, b->label);
            assert_near(mean, b->is.intercept ? 0 : raw / b->data->feature[j].sd, tolerance * 100,
                        b->label);
        } else {
            assert_near(mean, raw, tolerance * 100, b->label);
            assert_near(sqrt(ss), b->data->feature[j].sd, tolerance, b->label);
        }
        if (b->is.intercept) assert_true(x[j * p] == 1);
    }
    free(x);
}

static void test_standardised_columns_have_mean_0_and_variance_1(void **state) {
    (void)state;
    for_each(check_columns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_add_up_to_the_log_likelihood),
        cmocka_unit_test(test_scores_are_derivatives_of_the_log_likelihood),
        cmocka_unit_test(test_full_gradient_is_the_derivative_of_the_log_posterior),
        cmocka_unit_test(test_curvature_is_the_expected_information),
        cmocka_unit_test(test_the_users_scale_predicts_the_same),
        cmocka_unit_test(test_single_precision_storage),
        cmocka_unit_test(test_the_stochastic_gradient_is_unbiased),
        cmocka_unit_test(test_start_is_finite),
        cmocka_unit_test(test_parameters_carry_the_columns_names),
        cmocka_unit_test(test_a_name_that_would_appear_twice_is_refused),
        cmocka_unit_test(test_a_constant_column_is_constant_whatever_its_value),
        cmocka_unit_test(test_standardised_columns_have_mean_0_and_variance_1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
