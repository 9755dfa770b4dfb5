/* SPDX-License-Identifier: MIT
 * test_model_says.c: what every model promises to say of targets, for every row of sgfsi_models and
 * every setting of model_bench.h: the expected information, predictions, draws, the user's scale,
 * and being opened again on other rows.
 *
 * Monte Carlo. Seeds are fixed. Sums of R draws are compared with what they should be within 6
 * standard errors (2e-9 for each comparison of a normal variable; about 3e4 comparisons).
 */
#include "conform/model_bench.h"

enum { SOME = 120, REPEATS = 400 }; /* rows and draws of the Monte Carlo statements */

/* Room for scores, predictions and curvature of one batch of any size up to n. */
static double *make_scratch(const sgfs_model *m, int64_t n) {
    int64_t most = m->scratch_per_row;
    if (m->curvature_scratch_per_row > most) most = m->curvature_scratch_per_row;
    return zeros(n * most);
}

static sgfs_batch row_of(const sgfs_batch *b, int64_t i) {
    sgfs_batch one = *b;
    one.n = 1;
    one.x = b->x + i * b->p;
    if (b->y != NULL) one.y = b->y + i;
    if (b->weight != NULL) one.weight = b->weight + i;
    return one;
}

static double *nans(int64_t n) {
    double *x = zeros(n);
    for (int64_t i = 0; i < n; i++) x[i] = NAN;
    return x;
}

/* ---- curvature ------------------------------------------------------------------------------- */

/* How many leading parameters have the expected information as their Hessian at any data: those of
 * a canonical link. */
static int64_t hessian_dim(const bench *b) {
    if (is_kind(b, "linear")) return b->m->data->p;
    bool canonical = is_kind(b, "logistic") || is_kind(b, "softmax") || is_kind(b, "poisson");
    return canonical ? b->D : 0;
}

static void check_hessian(bench *b) {
    int64_t D = b->D, same = hessian_dim(b);
    if (b->is.kind->curvature == NULL) return;
    double *A = zeros(D * D), *G = zeros(D), *above = zeros(D), *below = zeros(D);
    full(b, b->theta, G, A);
    for (int64_t j = 0; j < same; j++) {
        double here = b->theta[j], h = cbrt(DBL_EPSILON) * b->unit[j];
        double up = here + h, down = here - h;
        b->theta[j] = up;
        full(b, b->theta, above, NULL);
        b->theta[j] = down;
        full(b, b->theta, below, NULL);
        b->theta[j] = here;
        for (int64_t i = j; i < same; i++) {
            double slope = -(above[i] - below[i]) / (up - down);
            double size = sqrt(A[i * D + i] * A[j * D + j]);
            assert_near(A[i * D + j], slope, 1e-6 * size, b->label);
        }
    }
    if (is_kind(b, "linear") && same < D) { /* E[g g']: 2 a row for log_sigma, 0 beside beta */
        assert_near(A[D * D - 1], 2.0 * ROWS + 0.371, 1e-9, b->label);
        for (int64_t j = 0; j < same; j++) assert_true(A[(D - 1) * D + j] == 0);
    }
    assert_int_equal(sgfsi_potrf(b->m->ctx.device, D, A),
                     0); /* with the prior: positive definite */
    free(A);
    free(G);
    free(above);
    free(below);
}

/* A row of weight w counts w times; and nothing but the sum of the rows is added. */
static void check_weights(bench *b) {
    int64_t D = b->D;
    if (b->is.kind->curvature == NULL) return;
    sgfs_batch batch = whole(b->data, b->y);
    double *weight = numbers(SOME, 99), *A = zeros(D * D), *sum = zeros(D * D), *one = zeros(D * D);
    double *scratch = make_scratch(b->m, SOME);
    batch.n = SOME;
    batch.weight = weight;
    for (int64_t i = 0; i < SOME; i++) weight[i] = i % 7 == 0 ? 0 : 3 * fabs(weight[i]);
    for (int64_t k = 0; k < D * D; k++) A[k] = 0.5;
    b->is.kind->curvature(b->m, b->theta, &batch, A, scratch);
    for (int64_t i = 0; i < SOME; i++) {
        sgfs_batch row = row_of(&batch, i);
        row.weight = NULL;
        memset(one, 0, (size_t)(D * D) * sizeof *one);
        b->is.kind->curvature(b->m, b->theta, &row, one, scratch);
        for (int64_t k = 0; k < D * D; k++) sum[k] += weight[i] * one[k];
    }
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double size = sqrt(sum[i * D + i] * sum[j * D + j]);
            assert_near(A[i * D + j] - 0.5, sum[i * D + j], 1e-11 * (size + 1), b->label);
        }
    }
    free((void *)batch.x);
    free(weight);
    free(A);
    free(sum);
    free(one);
    free(scratch);
}

/* E[g g'] over targets that the model draws is the curvature: element by element within 6 standard
 * errors of REPEATS sums over the rows. */
static void check_information(bench *b) {
    int64_t D = b->D, n = 40;
    if (b->is.kind->curvature == NULL) return;
    probe p;
    uint64_t s = 1789;
    double *A = zeros(D * D), *sum = zeros(D * D), *squares = zeros(D * D), *once = zeros(D * D);
    double *g = zeros(D), *random = zeros(2 * n), *y = zeros(n), *scratch = make_scratch(b->m, n);
    open_probe(&p, b, &in_order, n);
    look(&p, 0, b->theta);
    sgfs_batch batch = p.eval.batcher.rows.batch;
    b->is.kind->curvature(b->m, b->theta, &batch, A, scratch);
    for (int64_t r = 0; r < REPEATS; r++) {
        make_random(&s, n, random, random + n);
        b->is.kind->resample(b->m, b->theta, &batch, random, random + n, y);
        batch.y = y;
        assert_int_equal(
            b->is.kind->scores(b->m, b->theta, &batch, &p.eval.scores, p.eval.scratch, NULL),
            SGFS_OK);
        memset(once, 0, (size_t)(D * D) * sizeof *once);
        for (int64_t i = 0; i < n; i++) {
            expand(&p.eval.scores, i, g);
            for (int64_t j = 0; j < D; j++) {
                for (int64_t k = 0; k <= j; k++) once[j * D + k] += g[j] * g[k];
            }
        }
        for (int64_t k = 0; k < D * D; k++) {
            sum[k] += once[k] / REPEATS;
            squares[k] += once[k] * once[k] / REPEATS;
        }
    }
    for (int64_t j = 0; j < D; j++) {
        for (int64_t k = 0; k <= j; k++) {
            int64_t at = j * D + k;
            double var = fmax(squares[at] - sum[at] * sum[at], 0);
            double rounding = 1e-9 * sqrt(A[j * D + j] * A[k * D + k]);
            assert_near(sum[at], A[at], 6 * sqrt(var / REPEATS) + rounding, b->label);
        }
    }
    double *of[] = {A, sum, squares, once, g, random, y, scratch};
    for (int i = 0; i < 8; i++) free(of[i]);
    sgfsi_arena_free(&p.arena);
}

static void test_curvature_is_the_hessian_of_canonical_links(void **state) {
    (void)state;
    for_each(check_hessian);
}

static void test_curvature_honours_weights(void **state) {
    (void)state;
    for_each(check_weights);
}

static void test_curvature_is_the_expected_information(void **state) {
    (void)state;
    for_each(check_information);
}

/* ---- predictions ----------------------------------------------------------------------------- */

/* Predictions of all rows, n x outputs; the caller frees. */
static double *predict_all(const sgfs_model *m, const double *theta, const sgfs_batch *batch) {
    double *out = nans(batch->n * m->outputs), *scratch = make_scratch(m, batch->n);
    assert_non_null(m->kind->predict);
    m->kind->predict(m, theta, batch, out, scratch);
    free(scratch);
    return out;
}

/* Probabilities of labels: they add up to 1, and that of the row's own label is its density. */
static void check_probabilities(const bench *b, const sgfs_batch *batch, const double *P) {
    int64_t K = b->m->outputs;
    double *loglik = zeros(ROWS), *scratch = make_scratch(b->m, ROWS);
    sgfs_scores alone = {.n = ROWS, .D = b->D, .blocks = b->m->blocks, .loglik = loglik};
    assert_int_equal(b->is.kind->scores(b->m, b->theta, batch, &alone, scratch, NULL), SGFS_OK);
    assert_int_equal(K, b->m->labels.count);
    for (int64_t i = 0; i < ROWS; i++) {
        double sum = 0;
        int64_t own = sgfsi_labels_class(&b->m->labels, b->y[i]);
        for (int64_t k = 0; k < K; k++) {
            assert_true(P[i * K + k] >= 0);
            sum += P[i * K + k];
        }
        assert_near(sum, 1, 1e-13 * (double)K, b->label);
        assert_true(own >= 0);
        assert_near(exp(loglik[i]), P[i * K + own], 1e-12, b->label);
    }
    free(loglik);
    free(scratch);
}

static void check_predict(bench *b) {
    sgfs_batch batch = whole(b->data, b->y), blind = batch;
    double *none = nans(ROWS), *out = predict_all(b->m, b->theta, &batch);
    if (b->labels > 0) check_probabilities(b, &batch, out);
    else assert_int_equal(b->m->outputs, 1);
    blind.y = none; /* it does not look at the targets */
    double *again = predict_all(b->m, b->theta, &blind);
    assert_memory_equal(again, out, (size_t)(ROWS * b->m->outputs) * sizeof *out);
    for (int64_t i = 0; i < SOME; i++) { /* nor at other rows */
        sgfs_batch one = row_of(&blind, i);
        double *alone = predict_all(b->m, b->theta, &one);
        for (int64_t k = 0; k < b->m->outputs; k++) {
            double was = out[i * b->m->outputs + k];
            assert_near(alone[k], was, 1e-12 * (1 + fabs(was)), b->label);
        }
        free(alone);
    }
    free((void *)batch.x);
    free(none);
    free(out);
    free(again);
}

static void test_predictions_are_densities_and_do_not_look_at_targets(void **state) {
    (void)state;
    for_each(check_predict);
}

/* ---- draws ----------------------------------------------------------------------------------- */

/* What n x K counts (or sums) over REPEATS draws should be, in the mean and in the variance. */
typedef struct tally {
    int64_t n, K;
    double *sum, *mean, *var;
} tally;

/* Weighted over the rows by random numbers, and by ones: a draw for the wrong row shows as well. */
static void assert_tally(const bench *b, const tally *t) {
    for (uint64_t w = 0; w < 12; w++) {
        double *weight = numbers(t->n, 500 + w);
        for (int64_t k = 0; k < t->K; k++) {
            double off = 0, var = 0;
            for (int64_t i = 0; i < t->n; i++) {
                double by = w == 0 ? 1 : weight[i];
                off += by * (t->sum[i * t->K + k] - t->mean[i * t->K + k]);
                var += by * by * t->var[i * t->K + k];
            }
            assert_near(off, 0, 6 * sqrt(var) + 1e-9, b->label);
        }
        free(weight);
    }
}

/* Pearson's statistic over the rows in which every label is expected 5 times or more: its mean is
 * the degrees of freedom f, its standard deviation about sqrt(2 f); 6 of them above is an alarm of
 * 1e-6 or less for f over 20. */
static void assert_chi_square(const bench *b, const tally *t) {
    double chi = 0, freedom = 0;
    for (int64_t i = 0; i < t->n; i++) {
        double least = INFINITY, own = 0;
        for (int64_t k = 0; k < t->K; k++) {
            double mean = t->mean[i * t->K + k];
            least = fmin(least, mean);
            own += pow(t->sum[i * t->K + k] - mean, 2) / mean;
        }
        if (least < 5) continue;
        chi += own;
        freedom += (double)(t->K - 1);
    }
    assert_true(freedom >= 20);
    assert_near(chi, freedom, 6 * sqrt(2 * freedom), b->label);
}

/* Labels: counts against REPEATS P. Numbers: sums against REPEATS mean; the draws' own variance. */
static void check_draws(bench *b) {
    int64_t n = SOME, K = b->m->outputs;
    uint64_t s = 4242;
    sgfs_batch batch = whole(b->data, NULL);
    double *none = nans(n), *y = zeros(n), *again = zeros(n), *random = zeros(2 * n);
    double *squares = zeros(n);
    tally t = {n, K, zeros(n * K), zeros(n * K), zeros(n * K)};
    batch.n = n;
    batch.y = none; /* it does not look at the targets */
    double *P = predict_all(b->m, b->theta, &batch);
    for (int64_t r = 0; r < REPEATS; r++) {
        make_random(&s, n, random, random + n);
        b->is.kind->resample(b->m, b->theta, &batch, random, random + n, y);
        for (int64_t i = 0; i < n; i++) {
            int64_t class = b->labels > 0 ? sgfsi_labels_class(&b->m->labels, y[i]) : 0;
            assert_true(class >= 0 && isfinite(y[i]));
            t.sum[i * K + class] += b->labels > 0 ? 1 : y[i];
            squares[i] += y[i] * y[i];
        }
    }
    batch.y = b->y;
    b->is.kind->resample(b->m, b->theta, &batch, random, random + n, again);
    assert_memory_equal(again, y, (size_t)n * sizeof *y);
    for (int64_t i = 0; i < n * K; i++) {
        t.mean[i] = REPEATS * P[i];
        double mean = t.sum[i] / REPEATS;
        t.var[i] = b->labels > 0 ? REPEATS * P[i] * (1 - P[i]) : squares[i] - REPEATS * mean * mean;
    }
    assert_tally(b, &t);
    if (b->labels > 0) assert_chi_square(b, &t);
    free((void *)batch.x);
    double *of[] = {none, y, again, random, squares, t.sum, t.mean, t.var, P};
    for (int i = 0; i < 9; i++) free(of[i]);
}

static void test_draws_are_distributed_as_predicted(void **state) {
    (void)state;
    for_each(check_draws);
}

/* ---- the user's scale ------------------------------------------------------------------------ */

/* The way back from the user's scale (--start) is the inverse of the way there, to rounding. */
static void check_back(bench *b) {
    double *user = zeros(b->D), *back = zeros(b->D);
    if (b->is.kind->to_user != NULL) {
        assert_non_null(b->is.kind->from_user);
        b->is.kind->to_user(b->m, b->theta, user);
        b->is.kind->from_user(b->m, user, back);
        for (int64_t j = 0; j < b->D; j++) {
            double size = fabs(b->theta[j]) + 30 * b->unit[j]; /* means are 14 sd from 0 */
            assert_near(back[j] / size, b->theta[j] / size, 1e-13, b->label);
        }
    }
    free(user);
    free(back);
}

static void test_the_users_scale_leads_back(void **state) {
    (void)state;
    for_each(check_back);
}

static void to_user(const bench *b, double *user) {
    if (b->is.kind->to_user != NULL) b->is.kind->to_user(b->m, b->theta, user);
    else memcpy(user, b->theta, (size_t)b->D * sizeof *user);
}

/* Opened again on the columns as they are, with the draws a user would see: the same predictions,
 * and the same draws from the same random numbers (a sigma is on the user's scale as well). */
static void check_user_scale(bench *b) {
    sgfs_err err = {0};
    double *user = zeros(b->D), *random = zeros(2 * ROWS), *drawn = zeros(ROWS), *raw = zeros(ROWS);
    uint64_t s = 31;
    sgfs_config *cfg = make_config(&b->is, false);
    sgfs_data *data = wrap(cfg, b->x, NULL, NULL); /* no target: new rows have none */
    sgfs_model *m = sgfsi_model_create(b->is.kind, data, cfg, b->m->saved, &err);
    if (m == NULL) fail_msg("%s: %s", b->label, err.text);
    assert_int_equal(m->D, b->D);
    sgfs_batch seen = whole(b->data, b->y), plain = whole(data, NULL);
    to_user(b, user);
    if (!b->is.standardize) assert_memory_equal(user, b->theta, (size_t)b->D * sizeof *user);
    make_random(&s, ROWS, random, random + ROWS);
    b->is.kind->resample(b->m, b->theta, &seen, random, random + ROWS, drawn);
    b->is.kind->resample(m, user, &plain, random, random + ROWS, raw);
    double *ours = predict_all(b->m, b->theta, &seen), *theirs = predict_all(m, user, &plain);
    assert_int_equal(m->outputs, b->m->outputs);
    for (int64_t i = 0; i < ROWS * m->outputs; i++)
        assert_near(theirs[i], ours[i], 1e-9 * (1 + fabs(ours[i])), b->label);
    for (int64_t i = 0; i < ROWS; i++)
        assert_near(raw[i], drawn[i], 1e-9 * (1 + fabs(drawn[i])), b->label);
    free((void *)seen.x);
    free((void *)plain.x);
    double *of[] = {user, random, drawn, raw, ours, theirs};
    for (int i = 0; i < 6; i++) free(of[i]);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

/* Log density of one row by the textbook, on the user's own scale. */
static double plain_linear(double y, double eta, double log_sigma) {
    double r = (y - eta) / exp(log_sigma);
    return -0.5 * r * r - log_sigma - 0.5 * log(6.283185307179586476925);
}

static double plain_logistic(double y, double eta, double unused) {
    (void)unused;
    return y == 1 ? -log(1 + exp(-eta)) : -log(1 + exp(eta));
}

/* The whole log posterior from the user's columns by the textbook. */
static void check_textbook(bench *b) {
    double y_sd = sgfsi_json_get_num(b->m->saved, "y_sd", 1), total = 0;
    bool linear = is_kind(b, "linear");
    if (!linear && !is_kind(b, "logistic")) return; /* no textbook line here */
    double *user = zeros(b->D), *G = zeros(b->D);
    int64_t first = b->is.intercept ? 1 : 0;
    to_user(b, user);
    double log_sigma = gives(b, "model.sigma") ? log(0.83) : linear ? user[b->D - 1] : 0;
    for (int64_t i = 0; i < ROWS; i++) {
        double eta = b->is.intercept ? user[0] : 0;
        for (int64_t j = 0; j < COLS; j++) eta += user[j + first] * b->x[i * COLS + j];
        total += (linear ? plain_linear : plain_logistic)(b->y[i], eta, log_sigma);
    }
    total += ROWS * log(y_sd); /* a density of y/s is s times the density of y */
    for (int64_t j = 0; j < b->D; j++) total -= 0.5 * 0.371 * b->theta[j] * b->theta[j];
    assert_near(full(b, b->theta, G, NULL), total, 1e-10 * fabs(total), b->label);
    if (b->is.standardize) assert_true(fabs(user[1] - b->theta[1]) > 0.01 * fabs(b->theta[1]));
    free(user);
    free(G);
}

static void test_the_users_scale_predicts_the_same(void **state) {
    (void)state;
    for_each(check_user_scale);
}

static void test_the_users_scale_is_that_of_the_textbook(void **state) {
    (void)state;
    for_each(check_textbook);
}

/* ---- other rows ------------------------------------------------------------------------------ */

/* Rows without a label, or above the mean: the model opened again on them is still the same one. */
static void check_other_rows(bench *b) {
    int64_t *row = malloc(sizeof *row * ROWS), n = 0, K = b->m->outputs;
    sgfs_err err = {0};
    assert_non_null(row);
    for (int64_t i = 0; i < ROWS; i++) {
        bool kept =
            b->labels > 0 ? b->y[i] != b->m->labels.value[0] : b->y[i] > b->data->target.mean;
        if (kept) row[n++] = i;
    }
    assert_true(n > 20 && n < ROWS);
    sgfs_data *some = sgfsi_data_view(b->data, row, n, SGFSI_OWN_SCALE, &err);
    assert_non_null(some);
    sgfs_model *m = sgfsi_model_create(b->is.kind, some, b->cfg, b->m->saved, &err);
    if (m == NULL) fail_msg("%s: %s", b->label, err.text);
    assert_int_equal(m->D, b->D);
    assert_int_equal(m->outputs, K);
    assert_int_equal(m->labels.count, b->labels);
    for (int64_t k = 0; k < b->labels; k++)
        assert_string_equal(m->labels.name[k], b->m->labels.name[k]);
    for (int64_t j = 0; j < b->D; j++) assert_string_equal(m->param[j], b->m->param[j]);
    if (!b->is.standardize) { /* else these rows are scaled by themselves */
        sgfs_batch all = whole(b->data, NULL), few = whole(some, NULL);
        double *before = predict_all(b->m, b->theta, &all), *now = predict_all(m, b->theta, &few);
        for (int64_t i = 0; i < n * K; i++) {
            double was = before[row[i / K] * K + i % K];
            assert_near(now[i], was, 1e-12 * (1 + fabs(was)), b->label);
        }
        free((void *)all.x);
        free((void *)few.x);
        free(before);
        free(now);
    }
    sgfs_model_free(m);
    sgfs_data_free(some);
    free(row);
}

static void test_a_model_opened_again_on_other_rows_is_the_same(void **state) {
    (void)state;
    for_each(check_other_rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_users_scale_leads_back),
        cmocka_unit_test(test_curvature_is_the_hessian_of_canonical_links),
        cmocka_unit_test(test_curvature_honours_weights),
        cmocka_unit_test(test_curvature_is_the_expected_information),
        cmocka_unit_test(test_predictions_are_densities_and_do_not_look_at_targets),
        cmocka_unit_test(test_draws_are_distributed_as_predicted),
        cmocka_unit_test(test_the_users_scale_predicts_the_same),
        cmocka_unit_test(test_the_users_scale_is_that_of_the_textbook),
        cmocka_unit_test(test_a_model_opened_again_on_other_rows_is_the_same),
    };
    return cmocka_run_group_tests(tests, find_setups, NULL);
}
