/* SPDX-License-Identifier: MIT
 * test_model.c: what every model promises of its density, for every row of sgfsi_models and every
 * setting of model_bench.h: scores, gradients, minibatches, storage, names. What it says of targets
 * (curvature, predictions, draws, the user's scale) is in test_model_says.c.
 *
 * Finite differences. Central, h_j = cbrt(eps) s_j with s_j the scale of parameter j: truncation
 * and rounding are both near 1e-10 of the terms, so 1e-6 of the sum of their magnitudes is far from
 * either, and far below any mistake. Where a kink (relu) lies within the step the difference is
 * rightly off; a step 50 times smaller, whose rounding is 1e-8, then passes beside it. A wrong
 * score is wrong with both.
 *
 * Monte Carlo. |mean - truth| < 5 standard errors: about 6e-7 for each comparison; seeds are fixed.
 */
#include "conform/model_bench.h"
#include "tools/places.h"
#include "tools/unit_prior.h"

/* ---- scores ---------------------------------------------------------------------------------- */

/* The slope of f along parameter j at theta is `wanted`: f(b, work, theta). moved: D of room. */
static void assert_slope(bench *b, double (*f)(bench *b, void *work, const double *theta),
                         void *work, int64_t j, double wanted, double tolerance) {
    double step = cbrt(DBL_EPSILON) * b->unit[j], here = b->theta[j], slope = NAN;
    double *theta = b->theta;
    for (double h = step; h > 0.01 * step; h /= 50) {
        double up = here + h, down = here - h;
        theta[j] = up;
        double above = f(b, work, theta);
        theta[j] = down;
        slope = (above - f(b, work, theta)) / (up - down);
        theta[j] = here;
        if (fabs(slope - wanted) <= tolerance) return;
    }
    fail_msg("%s, %s: analytic %.17g, numeric %.17g, allowed %.3g", b->label, b->m->param[j],
             wanted, slope, tolerance);
}

typedef struct one_row {
    probe p;
    int64_t i;
} one_row;

static double loglik_of_row(bench *b, void *work, const double *theta) {
    one_row *w = work;
    (void)b;
    look(&w->p, w->i, theta);
    return w->p.eval.loglik[0];
}

static void check_scores(bench *b) {
    probe all;
    one_row one;
    double *g = zeros(b->D), *sum = zeros(b->D), *size = zeros(b->D), *alone = zeros(b->D);
    open_probe(&all, b, &in_order, ROWS);
    open_probe(&one.p, b, &in_order, 1);
    look(&all, 0, b->theta);
    for (int64_t i = 0; i < ROWS; i++) {
        expand(&all.eval.scores, i, g);
        for (int64_t j = 0; j < b->D; j++) {
            sum[j] += g[j];
            size[j] += fabs(g[j]);
        }
        if (i % 31 != 0) continue; /* single rows: 42 of them */
        look(&one.p, i, b->theta);
        expand(&one.p.eval.scores, 0, alone);
        for (int64_t j = 0; j < b->D; j++)
            assert_near(alone[j], g[j], 1e-12 * (fabs(g[j]) + 1 / b->unit[j]), b->label);
        one.i = i;
        for (int64_t j = 0; j < b->D; j++)
            assert_slope(b, loglik_of_row, &one, j, g[j], 1e-6 * (fabs(g[j]) + 1 / b->unit[j]));
    }
    for (int64_t j = 0; j < b->D; j++) {
        double prior = -0.371 * b->theta[j];
        assert_near(all.eval.gbar[j] * ROWS, sum[j], 1e-12 * size[j], b->label);
        assert_near(all.G[j], sum[j] + prior, 1e-12 * (size[j] + fabs(prior)), b->label);
    }
    free(g);
    free(sum);
    free(size);
    free(alone);
    sgfsi_arena_free(&all.arena);
    sgfsi_arena_free(&one.p.arena);
}

/* Rows one by one, without scores: each that of a batch of one, and their sum the batch's. */
static void check_row_loglik(bench *b) {
    probe all, one;
    open_probe(&all, b, &in_order, ROWS);
    open_probe(&one, b, &in_order, 1);
    look(&all, 0, b->theta);
    double *row = zeros(ROWS);
    sgfs_scores alone = {.n = ROWS, .D = b->D, .blocks = b->m->blocks, .loglik = row};
    assert_int_equal(b->is.kind->scores(b->m, b->theta, &all.eval.batcher.rows.batch, &alone,
                                        all.eval.scratch, NULL),
                     SGFS_OK);
    double sum = 0, prior = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        sum += row[i];
        assert_near(row[i], all.eval.loglik[i], 1e-12 * (1 + fabs(row[i])), b->label);
        if (i % 19 != 0) continue;
        look(&one, i, b->theta);
        assert_near(row[i], one.eval.loglik[0], 1e-12 * (1 + fabs(row[i])), b->label);
    }
    for (int64_t j = 0; j < b->D; j++) prior -= 0.5 * 0.371 * b->theta[j] * b->theta[j];
    assert_near(all.lp, sum + prior, 1e-12 * (fabs(sum) + fabs(prior)), b->label);
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

static double log_posterior(bench *b, void *work, const double *theta) {
    return full(b, theta, work, NULL);
}

static void check_full(bench *b) {
    double *G = zeros(b->D), *other = zeros(b->D), lp = full(b, b->theta, G, NULL);
    for (int64_t j = 0; j < b->D; j++)
        assert_slope(b, log_posterior, other, j, G[j], 1e-6 * (fabs(G[j]) + ROWS / b->unit[j]));
    probe all; /* one batch of all the rows says the same as the pass in blocks */
    open_probe(&all, b, &in_order, ROWS);
    look(&all, 0, b->theta);
    assert_near(all.lp, lp, 1e-12 * fabs(lp), b->label);
    for (int64_t j = 0; j < b->D; j++)
        assert_near(all.G[j], G[j], 1e-11 * (fabs(G[j]) + ROWS / b->unit[j]), b->label);
    /* nor do the scores depend on whether the density is wanted */
    assert_int_equal(sgfsi_eval_gradient(&all.eval, 0, SGFSI_ROWS, b->theta, other, NULL, NULL),
                     SGFS_OK);
    assert_memory_equal(other, all.G, (size_t)b->D * sizeof *other);
    free(G);
    free(other);
    sgfsi_arena_free(&all.arena);
}

static void test_full_gradient_is_the_derivative_of_the_log_posterior(void **state) {
    (void)state;
    for_each(check_full);
}

static void check_places(bench *b) {
    assert_places(b->m, b->theta, b->unit, b->label);
}

static void test_many_places_at_once_are_as_one_by_one(void **state) {
    (void)state;
    for_each(check_places);
}

/* ---- storage --------------------------------------------------------------------------------- */

static void check_storage(bench *b) {
    double *G = zeros(b->D), *rounded = zeros(b->D), *single = zeros(b->D);
    double *wide = zeros(ROWS * COLS);
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
    free(G);
    free(rounded);
    free(single);
    free(wide);
}

static void test_single_precision_storage(void **state) {
    (void)state;
    for_each(check_storage);
}

/* ---- minibatches ----------------------------------------------------------------------------- */

/* The plain settings on one backend: what an option changes, the scores above have told. */
static void check_minibatches(bench *b) {
    enum { BATCHES = 1500, n = 37 };
    if (!b->is.plain || strcmp(b->is.backend, "blas") != 0) return;
    double *truth = zeros(b->D), truth_lp = full(b, b->theta, truth, NULL);
    b->data->table.shuffled = true; /* so it says, for the scheme that asks */
    for (const sgfs_scheme_kind *const *s = sgfsi_schemes; *s != NULL; s++) {
        probe p;
        double *sum = zeros(b->D + 1), *squares = zeros(b->D + 1);
        open_probe(&p, b, *s, n);
        sgfsi_eval_stream(&p.eval, 4711, 3);
        for (int64_t t = 1; t <= BATCHES; t++) {
            look(&p, t, b->theta);
            for (int64_t j = 0; j <= b->D; j++) {
                double off = j < b->D ? p.G[j] - truth[j] : p.lp - truth_lp;
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
        free(sum);
        free(squares);
        sgfsi_arena_free(&p.arena);
    }
    free(truth);
}

static void test_the_stochastic_gradient_is_unbiased(void **state) {
    (void)state;
    for_each(check_minibatches);
}

/* ---- start and names ------------------------------------------------------------------------- */

static bool alike(int64_t n, const double *x, const double *y, double tolerance) {
    for (int64_t i = 0; i < n; i++) {
        if (fabs(x[i] - y[i]) > tolerance * (fabs(x[i]) + fabs(y[i]))) return false;
    }
    return true;
}

/* Units that begin alike and are pushed alike would stay alike for ever. */
static void assert_apart(const bench *b, const double *theta, const double *G) {
    for (int64_t k = 0; k < b->m->blocks; k++) {
        const sgfs_block *o = &b->m->block[k];
        for (int64_t r = 0; r < o->rows; r++) {
            for (int64_t q = r + 1; q < o->rows; q++) {
                int64_t at = o->offset + r * o->cols, other = o->offset + q * o->cols;
                if (alike(o->cols, theta + at, theta + other, 0) &&
                    alike(o->cols, G + at, G + other, 1e-9))
                    fail_msg("%s: %s and %s begin alike and stay alike", b->label, b->m->param[at],
                             b->m->param[other]);
            }
        }
    }
}

static void check_start(bench *b) {
    double *theta = zeros(b->D), *spread = zeros(b->D), *G = zeros(b->D), *again = zeros(b->D);
    b->is.kind->start(b->m, theta, spread);
    for (int64_t j = 0; j < b->D; j++)
        assert_true(isfinite(theta[j]) && isfinite(spread[j]) && spread[j] > 0);
    assert_true(isfinite(full(b, theta, G, NULL)) != 0);
    assert_apart(b, theta, G);
    open_model(b, NULL, b->x);
    b->is.kind->start(b->m, again, G);
    assert_memory_equal(again, theta, (size_t)b->D * sizeof *theta);
    assert_memory_equal(G, spread, (size_t)b->D * sizeof *theta);
    free(theta);
    free(spread);
    free(G);
    free(again);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void assert_unique_names(const sgfs_model *m) {
    char **sorted = malloc((size_t)m->D * sizeof *sorted);
    assert_non_null(sorted);
    memcpy(sorted, m->param, (size_t)m->D * sizeof *sorted);
    qsort(sorted, (size_t)m->D, sizeof *sorted, by_name);
    for (int64_t j = 1; j < m->D; j++) assert_string_not_equal(sorted[j - 1], sorted[j]);
    free(sorted);
}

static bool some_name_has(const sgfs_model *m, const char *text) {
    for (int64_t j = 0; j < m->D; j++) {
        if (strstr(m->param[j], text) != NULL) return true;
    }
    return false;
}

static void check_names(bench *b) {
    int64_t first = b->is.intercept ? 1 : 0, covered = 0;
    assert_int_equal(sgfs_model_dim(b->m), b->D);
    assert_unique_names(b->m);
    for (int64_t j = 0; j < COLS; j++) assert_true(some_name_has(b->m, names[j]));
    for (int64_t k = 0; k < b->m->labels.count && b->labels > 2; k++)
        assert_true(is_kind(b, "softmax") || some_name_has(b->m, b->m->labels.name[k]));
    if (is_kind(b, "linear") || is_kind(b, "logistic") || is_kind(b, "poisson")) {
        if (b->is.intercept) assert_string_equal(sgfs_model_param(b->m, 0), "intercept");
        for (int64_t j = 0; j < COLS; j++)
            assert_string_equal(sgfs_model_param(b->m, first + j), names[j]);
    }
    if (is_kind(b, "linear")) {
        assert_int_equal(b->D, first + COLS + (b->is.plain ? 1 : 0));
        if (b->is.plain) assert_string_equal(sgfs_model_param(b->m, b->D - 1), "log_sigma");
    }
    assert_null(sgfs_model_param(b->m, -1));
    assert_null(sgfs_model_param(b->m, b->D));
    for (int64_t k = 0; k < b->m->blocks; k++) { /* they lie one after another and cover theta */
        assert_int_equal(b->m->block[k].offset, covered);
        covered += b->m->block[k].rows * b->m->block[k].cols;
    }
    assert_int_equal(covered, b->D);
}

static void test_start_is_finite_and_tells_units_apart(void **state) {
    (void)state;
    for_each(check_start);
}

static void test_parameters_carry_the_columns_names(void **state) {
    (void)state;
    for_each(check_names);
}

/* A column called "intercept": refused where a parameter has that name, or named apart. */
static void check_refusals(bench *b) {
    static const char *const twice[COLS] = {"height", "intercept", "weight"};
    sgfs_err err = {0};
    if (!b->is.plain) return;
    sgfs_arrays arrays = {.rows = ROWS, .cols = COLS, .x = b->x, .y = b->y, .names = twice};
    sgfs_data *data = sgfs_data_wrap(&arrays, b->cfg, NULL);
    assert_non_null(data);
    sgfs_model *m = sgfsi_model_create(b->is.kind, data, b->cfg, NULL, &err);
    if (m != NULL) assert_unique_names(m);
    if (m == NULL) assert_true(err.code == SGFS_EDATA && strstr(err.text, "intercept") != NULL);
    bool linear = is_kind(b, "linear") || is_kind(b, "logistic");
    if (linear) assert_true((m == NULL) == b->is.intercept);
    sgfs_model_free(m);
    sgfs_data_free(data);
    arrays.y = NULL; /* nor is there a model without a target, unless it had one before */
    data = sgfs_data_wrap(&arrays, b->cfg, NULL);
    assert_non_null(data);
    assert_null(sgfsi_model_create(b->is.kind, data, b->cfg, NULL, &err));
    assert_int_equal(err.code, SGFS_EDATA);
    assert_non_null(strstr(err.text, "target"));
    sgfs_data_free(data);
}

static void test_a_name_that_would_appear_twice_is_refused(void **state) {
    (void)state;
    for_each(check_refusals);
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
        sgfs_config *cfg = unit_prior_config();
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
    if (!b->is.plain || b->is.kind != sgfsi_models[0]) return; /* no model has a say in it */
    double *x = zeros(ROWS * (COLS + 1)), tolerance = 1e-11;
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
        cmocka_unit_test(test_many_places_at_once_are_as_one_by_one),
        cmocka_unit_test(test_single_precision_storage),
        cmocka_unit_test(test_the_stochastic_gradient_is_unbiased),
        cmocka_unit_test(test_start_is_finite_and_tells_units_apart),
        cmocka_unit_test(test_parameters_carry_the_columns_names),
        cmocka_unit_test(test_a_name_that_would_appear_twice_is_refused),
        cmocka_unit_test(test_a_constant_column_is_constant_whatever_its_value),
        cmocka_unit_test(test_standardised_columns_have_mean_0_and_variance_1),
    };
    return cmocka_run_group_tests(tests, find_setups, NULL);
}
