/* SPDX-License-Identifier: MIT
 * test_weights.c: a row of weight w is w copies of that row: in sums over the data for every model,
 * in statistics of columns, in the law of minibatches, in held-out losses. And an exposure is an
 * offset of its logarithm.
 *
 * Sums of W terms of order 1 are compared to 1e-12 of W: rounding of either side is far below.
 * Monte Carlo: five standard errors, about 6e-7 for each comparison; seeds are fixed.
 */
#include <stdio.h>

#include "chain/run.h"
#include "jobs/tune/heldout_loss.h"
#include "posterior/mode.h"
#include "posterior/posterior.h"
#include "tools/places.h"
#include "tools/unit_prior.h"

enum { N = 1301, P = 3, MOST_WEIGHT = 4 }; /* more rows than one block of a full pass (1024) */

/* The weighted rows, and the same rows written out as often as they count. */
typedef struct twins {
    double x[N * P], y[N], w[N];
    double *copies_x, *copies_y;
    int64_t W, positive;
    sgfs_config *cfg;
    sgfs_data *weighted, *copies;
} twins;

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

/* Targets 0 and 1: classes, counts and numbers at once, so that every model can use them. */
static void make_rows(twins *t) {
    uint64_t s = 20120627;
    for (int64_t i = 0; i < N; i++) {
        double eta = 0.3;
        for (int64_t j = 0; j < P; j++) {
            double z = next_normal(&s);
            t->x[i * P + j] = 0.4 * (double)j + (1 + 0.3 * (double)j) * z;
            eta += (0.7 - 0.5 * (double)j) * z;
        }
        t->y[i] = 0.5 * (next_number(&s) + 1) < 1 / (1 + exp(-eta));
        t->w[i] = (double)(next_bits(&s) % (MOST_WEIGHT + 1));
        /* weight goes with the row, or leaving it out would change little */
        if (t->x[i * P] > 0.8) t->w[i] = MOST_WEIGHT;
    }
}

static void write_out(twins *t) {
    t->copies_x = zeros(N * MOST_WEIGHT * P);
    t->copies_y = zeros(N * MOST_WEIGHT);
    for (int64_t i = 0; i < N; i++) {
        t->positive += t->w[i] > 0;
        for (int k = 0; k < (int)t->w[i]; k++, t->W++) {
            memcpy(t->copies_x + t->W * P, t->x + i * P, P * sizeof *t->x);
            t->copies_y[t->W] = t->y[i];
        }
    }
}

static sgfs_data *wrap(const sgfs_arrays *a, const sgfs_config *cfg) {
    sgfs_err err;
    sgfs_data *d = sgfs_data_wrap(a, cfg, &err);
    if (d == NULL) fail_msg("%s", err.text);
    return d;
}

static sgfs_model *open_model(const sgfs_model_kind *kind, const sgfs_data *d,
                              const sgfs_config *cfg) {
    sgfs_err err;
    sgfs_model *m = sgfsi_model_create(kind, d, cfg, NULL, &err);
    if (m == NULL) fail_msg("%s: %s", kind->name, err.text);
    return m;
}

static void open_twins(twins *t, bool standardize) {
    memset(t, 0, sizeof *t);
    make_rows(t);
    write_out(t);
    t->cfg = unit_prior_config();
    set(t->cfg, "data.standardize", standardize ? "true" : "false");
    set(t->cfg, "prior.precision", "0.371");
    const sgfs_arrays rows = {.rows = N, .cols = P, .x = t->x, .y = t->y, .weights = t->w};
    const sgfs_arrays copies = {.rows = t->W, .cols = P, .x = t->copies_x, .y = t->copies_y};
    t->weighted = wrap(&rows, t->cfg);
    t->copies = wrap(&copies, t->cfg);
}

static void close_twins(twins *t) {
    sgfs_data_free(t->weighted);
    sgfs_data_free(t->copies);
    sgfs_config_free(t->cfg);
    free(t->copies_x);
    free(t->copies_y);
}

/* ---- sums over the data ---------------------------------------------------------------------- */

/* A place that is nobody's mode. */
static void stand_somewhere(const sgfs_model *m, double *theta) {
    double *spread = zeros(m->D);
    uint64_t s = 7;
    m->kind->start(m, theta, spread);
    for (int64_t j = 0; j < m->D; j++) theta[j] += 0.4 * next_number(&s);
    free(spread);
}

static void check_posterior(const twins *t, const sgfs_model_kind *kind) {
    sgfs_model *a = open_model(kind, t->weighted, t->cfg), *b = open_model(kind, t->copies, t->cfg);
    int64_t D = a->D;
    assert_int_equal(D, b->D);
    bool curvature = kind->curvature != NULL && D <= 500;
    double lp[2], *theta = zeros(D), *G = zeros(2 * D), *A = zeros(curvature ? 2 * D * D : 1);
    double W = (double)t->W;
    stand_somewhere(a, theta);
    sgfs_err err = {SGFS_OK, ""};
    if (sgfsi_posterior_full(a, theta, &lp[0], G, curvature ? A : NULL, &err) != SGFS_OK ||
        sgfsi_posterior_full(b, theta, &lp[1], G + D, curvature ? A + D * D : NULL, &err) !=
            SGFS_OK) {
        fail_msg("%s: %s", kind->name, err.text);
    }
    assert_near(lp[0], lp[1], 1e-12 * (W + fabs(lp[1])), kind->name);
    for (int64_t j = 0; j < D; j++) {
        assert_near(G[j], G[D + j], 1e-12 * (W + fabs(G[D + j])), a->param[j]);
        for (int64_t k = 0; curvature && k <= j; k++) {
            double want = A[D * D + j * D + k];
            assert_near(A[j * D + k], want, 1e-12 * (W + fabs(want)), "information");
        }
    }
    assert_near(a->events, b->events, 1e-9, "rows that carry the information");
    assert_places(a, theta, NULL, kind->name);
    free(theta);
    free(G);
    free(A);
    sgfs_model_free(a);
    sgfs_model_free(b);
}

static void test_the_posterior_is_that_of_the_copies(void **state) {
    (void)state;
    twins *t = malloc(sizeof *t);
    open_twins(t, false);
    assert_true(t->weighted->total == (double)t->W && t->W > 2 * N);
    for (const sgfs_model_kind *const *k = sgfsi_models; *k != NULL; k++) check_posterior(t, *k);
    close_twins(t);
    free(t);
}

/* Both methods stop below 1e-8 standard deviations, which are below 0.1 here. */
static void check_mode(const twins *t, const sgfs_model_kind *kind, const char *method) {
    sgfs_model *m[2] = {open_model(kind, t->weighted, t->cfg), open_model(kind, t->copies, t->cfg)};
    const sgfsi_mode_plan plan = {.method = method, .tolerance = 1e-8, .threads = 1};
    sgfsi_arena arena = {NULL};
    sgfsi_mode mode[2];
    sgfs_err err;
    for (int k = 0; k < 2; k++) {
        if (sgfsi_mode_search(m[k], &plan, &arena, &mode[k], &err) != SGFS_OK)
            fail_msg("%s", err.text);
    }
    for (int64_t j = 0; j < m[0]->D; j++) {
        assert_near(mode[0].theta[j], mode[1].theta[j], 1e-8, m[0]->param[j]);
    }
    sgfsi_arena_free(&arena);
    sgfs_model_free(m[0]);
    sgfs_model_free(m[1]);
}

static void test_the_mode_is_that_of_the_copies(void **state) {
    (void)state;
    twins *t = malloc(sizeof *t);
    open_twins(t, false);
    check_mode(t, &sgfs_model_linear, "fisher");
    check_mode(t, &sgfs_model_logistic, "fisher");
    check_mode(t, &sgfs_model_linear, "lbfgs");
    check_mode(t, &sgfs_model_logistic, "lbfgs");
    close_twins(t);
    free(t);
}

/* ---- statistics of columns ------------------------------------------------------------------- */

static void check_column(const sgfsi_column *a, const sgfsi_column *b, double ratio) {
    assert_near(a->mean, b->mean, 1e-13 * (1 + fabs(b->mean)), "mean");
    assert_near(a->sd, b->sd * ratio, 1e-13 * b->sd, "sd");
    assert_true(a->min == b->min && a->max == b->max);
}

static void check_columns(const sgfs_data *a, const sgfs_data *b, double positive) {
    /* N'/(N' - 1) / W against 1/(W - 1) */
    double ratio = sqrt(positive / (positive - 1) * (a->total - 1) / a->total);
    assert_true(ratio > 1);
    for (int64_t j = 0; j < P; j++) check_column(&a->feature[j], &b->feature[j], ratio);
    check_column(&a->target, &b->target, ratio);
}

static void test_column_statistics_are_weighted(void **state) {
    (void)state;
    twins *t = malloc(sizeof *t);
    open_twins(t, true);
    check_columns(t->weighted, t->copies, (double)t->positive);
    for (int64_t j = 0; j < P; j++) {
        assert_near(t->weighted->shift[j], t->copies->shift[j], 1e-12, "shift");
        assert_near(t->weighted->scale[j] * t->weighted->feature[j].sd, 1, 1e-14, "scale");
    }
    close_twins(t);
    free(t);
}

/* Of rows of weight 0 nothing is seen, not even in the range. */
static void test_rows_of_weight_zero_are_not_there(void **state) {
    (void)state;
    const double x[] = {1.25, 7.5, -3, 2.75, 1.25}, y[] = {0, 1, 0, 1, 1}, w[] = {1, 0, 0, 2, 1};
    const sgfs_arrays a = {.rows = 5, .cols = 1, .x = x, .y = y, .weights = w};
    sgfs_config *cfg = unit_prior_config();
    sgfs_data *d = wrap(&a, cfg);
    assert_true(d->feature[0].min == 1.25 && d->feature[0].max == 2.75);
    assert_near(d->feature[0].mean, 2.0, 1e-15, "mean");
    assert_near(d->feature[0].sd, sqrt(0.5625 * 3 / 2), 1e-15, "sd"); /* sum w d^2 / W = 0.5625 */
    assert_true(d->total == 4);
    sgfs_data_free(d);
    sgfs_config_free(cfg);
}

static void test_views_carry_their_weights(void **state) {
    (void)state;
    twins *t = malloc(sizeof *t);
    open_twins(t, true);
    int64_t row[400], copy[400 * MOST_WEIGHT], n = 0, positive = 0;
    for (int64_t i = 0, at = 0; i < N; at += (int64_t)t->w[i++]) {
        if (i % 3 != 1 || i / 3 >= 400) continue;
        row[i / 3] = i;
        positive += t->w[i] > 0;
        for (int k = 0; k < (int)t->w[i]; k++) copy[n++] = at + k;
    }
    sgfs_data *a = sgfsi_data_view(t->weighted, row, 400, SGFSI_OWN_SCALE, NULL),
              *b = sgfsi_data_view(t->copies, copy, n, SGFSI_OWN_SCALE, NULL);
    assert_true(a->total == (double)n);
    check_columns(a, b, (double)positive);
    double w[400];
    sgfsi_data_weights(a, 0, 400, w);
    for (int64_t i = 0; i < 400; i++) assert_true(w[i] == t->w[row[i]]);
    int64_t zero[2] = {0, 0};
    for (int64_t i = 0, k = 0; k < 2; i++) {
        if (t->w[i] == 0) zero[k++] = i;
    }
    sgfs_err err;
    assert_null(sgfsi_data_view(t->weighted, zero, 2, SGFSI_OWN_SCALE, &err));
    assert_non_null(strstr(err.text, "all 0"));
    sgfs_data_free(a);
    sgfs_data_free(b);
    close_twins(t);
    free(t);
}

/* ---- the alias table ------------------------------------------------------------------------- */

/* The table's own probabilities are those of the weights, and a row of weight 0 has none. */
static void check_alias(int64_t n, const double *w) {
    sgfsi_arena arena = {NULL};
    sgfsi_alias a;
    double total = 0, *mass = zeros(n);
    for (int64_t i = 0; i < n; i++) total += w[i];
    assert_int_equal(sgfsi_alias_open(&a, n, w, total, &arena, NULL), SGFS_OK);
    for (int64_t i = 0; i < n; i++) {
        uint64_t word = sgfsi_alias_stay(&a.cell[i]);
        double stay = word == UINT64_MAX ? 1 : ldexp((double)word, -64);
        mass[i] += stay;
        mass[sgfsi_alias_other(&a.cell[i])] += 1 - stay;
    }
    for (int64_t i = 0; i < n; i++) {
        assert_near(mass[i] / (double)n, w[i] / total, 1e-14, "probability of a row");
        if (w[i] > 0) continue;
        assert_true(mass[i] == 0 && sgfsi_alias_stay(&a.cell[i]) == 0 &&
                    sgfsi_alias_other(&a.cell[i]) != i);
    }
    sgfsi_arena_free(&arena);
    free(mass);
}

static void test_alias_table_has_the_weights_probabilities(void **state) {
    (void)state;
    const double few[] = {0.5, 0, 3.25, 1e-3, 12, 0, 2}, one[] = {0, 0, 0.385, 0}, single[] = {2.5};
    const double wild[] = {1e300, 1e-300, 0, 3e299, 1e-5}, same[] = {0.1, 0.1, 0.1};
    check_alias(7, few);
    check_alias(4, one);
    check_alias(1, single);
    check_alias(5, wild);
    check_alias(3, same);
    double *w = numbers(5000, 3);
    for (int64_t i = 0; i < 5000; i++) w[i] = w[i] < 0 ? 0 : exp(9 * w[i]);
    check_alias(5000, w);
    free(w);
}

static void test_an_alias_cell_is_small_and_names_any_row(void **state) {
    (void)state;
    uint32_t low = 385;
    sgfsi_alias_cell cell = {.above = 255};
    memcpy(cell.other, &low, sizeof low);
    assert_true(sgfsi_alias_other(&cell) == ((int64_t)255 << 32) + 385);
    assert_int_equal(sizeof cell, 13);
}

/* The sum of a billion weights is off by a few of them: rows of weight 0 are safe even from a sum
 * that is off by a fifth, in either direction. */
static void test_rows_of_weight_zero_are_never_drawn(void **state) {
    (void)state;
    double *w = numbers(400, 31), total = 0;
    for (int64_t i = 0; i < 400; i++) total += w[i] = w[i] < -0.5 ? 0 : 1.2 + w[i];
    for (int k = 0; k < 3; k++) {
        sgfsi_arena arena = {NULL};
        sgfsi_alias a;
        assert_int_equal(sgfsi_alias_open(&a, 400, w, total * (0.8 + 0.2 * k), &arena, NULL),
                         SGFS_OK);
        for (int64_t i = 0; i < 400; i++) {
            if (w[i] == 0) assert_true(sgfsi_alias_stay(&a.cell[i]) == 0);
            if (sgfsi_alias_other(&a.cell[i]) != i)
                assert_true(w[sgfsi_alias_other(&a.cell[i])] > 0);
            else assert_true(w[i] > 0);
        }
        sgfsi_arena_free(&arena);
    }
    free(w);
}

/* Pearson's chi-square of T draws through the scheme; its sd is about sqrt(2 df). */
static void check_frequencies(int64_t n, const double *w, int64_t T, double limit) {
    enum { BATCH = 1000 };
    sgfsi_arena arena = {NULL};
    sgfsi_alias a;
    double total = 0, *count = zeros(n), chi = 0;
    int64_t row[BATCH];
    for (int64_t i = 0; i < n; i++) total += w[i];
    assert_int_equal(sgfsi_alias_open(&a, n, w, total, &arena, NULL), SGFS_OK);
    const sgfs_urn urn = {.N = n, .n = BATCH, .total = total, .parts = 1, .alias = &a};
    for (int64_t t = 0; t < T / BATCH; t++) {
        const sgfs_when when = {.seed = 385, .t = t, .chain = 2, .purpose = SGFSI_ROWS};
        sgfs_scheme_with.draw_weighted(&urn, &when, NULL, row);
        for (int64_t i = 0; i < BATCH; i++) count[row[i]]++;
    }
    for (int64_t i = 0; i < n; i++) {
        double expected = (double)T * w[i] / total;
        if (w[i] == 0) assert_true(count[i] == 0);
        else chi += (count[i] - expected) * (count[i] - expected) / expected;
    }
    print_message("%lld rows: chi-square %.1f, limit %.1f\n", (long long)n, chi, limit);
    assert_true(chi < limit);
    sgfsi_arena_free(&arena);
    free(count);
}

static void test_draws_follow_the_weights(void **state) {
    (void)state;
    const double few[] = {0.5, 0, 3.25, 1e-2, 12, 0, 2};
    check_frequencies(7, few, 1000000, 33.4); /* 1 in 10^6 for 4 degrees of freedom */
    double *w = numbers(1000, 9);
    for (int64_t i = 0; i < 1000; i++) w[i] = 1.1 + w[i];
    check_frequencies(1000, w, 1000000, 999 + 5 * sqrt(2.0 * 999));
    free(w);
}

/* ---- minibatches ----------------------------------------------------------------------------- */

/* Logistic scores of every row in plain C, their weighted mean and covariance. */
static void exact_moments(const double *x, const double *y, const double *w, const double *theta,
                          double *mean, double *cov) {
    double W = 0;
    memset(mean, 0, (P + 1) * sizeof *mean);
    memset(cov, 0, (P + 1) * (P + 1) * sizeof *cov);
    for (int64_t i = 0; i < N; i++) {
        double g[P + 1], eta = theta[0];
        for (int64_t j = 0; j < P; j++) eta += theta[j + 1] * x[i * P + j];
        double r = y[i] - 1 / (1 + exp(-eta));
        g[0] = r;
        for (int64_t j = 0; j < P; j++) g[j + 1] = r * x[i * P + j];
        W += w[i];
        for (int64_t j = 0; j <= P; j++) {
            mean[j] += w[i] * g[j];
            for (int64_t k = 0; k <= P; k++) cov[j * (P + 1) + k] += w[i] * g[j] * g[k];
        }
    }
    for (int64_t j = 0; j <= P; j++) mean[j] /= W;
    for (int64_t j = 0; j <= P; j++) {
        for (int64_t k = 0; k <= P; k++)
            cov[j * (P + 1) + k] = cov[j * (P + 1) + k] / W - mean[j] * mean[k];
    }
}

/* Sums of n = 50 scores are near enough to Gaussian that the variance of a sample covariance is
 * (C_jj C_kk + C_jk^2)/T up to an excess of 1/n times the scores' own, below a tenth here. */
static void compare_moments(int64_t T, const double *sum, const double *products,
                            const double *mean, const double *cov, double unit) {
    enum { D = P + 1 };
    for (int64_t j = 0; j < D; j++) {
        double sd = sqrt(cov[j * D + j] * unit / (double)T);
        assert_near(sum[j] / (double)T, mean[j], 5 * sd, "mean of the gradient");
        for (int64_t k = 0; k < D; k++) {
            double c = cov[j * D + k] * unit;
            double size = sqrt((cov[j * D + j] * cov[k * D + k] * unit * unit + c * c) / (double)T);
            double got = products[j * D + k] / (double)T -
                         (sum[j] / (double)T - mean[j]) * (sum[k] / (double)T - mean[k]);
            assert_near(got, c, 5 * 1.05 * size, "covariance of the gradient");
        }
    }
}

static void test_weighted_gradients_are_unbiased_with_known_noise(void **state) {
    (void)state;
    enum { D = P + 1, BATCH = 50, T = 20000 };
    twins *t = malloc(sizeof *t);
    memset(t, 0, sizeof *t);
    make_rows(t);
    double W = 0, mean[D], cov[D * D], sum[D] = {0}, products[D * D] = {0}, G[D], lp, lp_sum = 0;
    for (int64_t i = 0; i < N; i++) W += t->w[i] *= 0.385; /* no whole numbers */
    const double theta[D] = {0.2, 0.5, -0.3, 0.1};
    const sgfs_arrays rows = {.rows = N, .cols = P, .x = t->x, .y = t->y, .weights = t->w};
    sgfs_config *cfg = unit_prior_config();
    set(cfg, "prior.precision", "2.5");
    sgfs_data *d = wrap(&rows, cfg);
    sgfs_model *m = open_model(&sgfs_model_logistic, d, cfg);
    sgfsi_arena arena = {NULL};
    sgfsi_eval e = {.n = 0};
    assert_int_equal(sgfsi_eval_open(&e, m, &sgfs_scheme_with, BATCH, &arena, NULL), SGFS_OK);
    assert_near(e.gamma, (W + BATCH) / BATCH, 1e-12 * e.gamma, "gamma");
    sgfsi_eval_stream(&e, 17, 1);
    exact_moments(t->x, t->y, t->w, theta, mean, cov);
    for (int64_t j = 0; j < D; j++) mean[j] = W * mean[j] - 2.5 * theta[j];
    for (int64_t step = 1; step <= T; step++) {
        assert_int_equal(sgfsi_eval_gradient(&e, step, SGFSI_ROWS, theta, G, &lp, NULL), SGFS_OK);
        lp_sum += lp;
        for (int64_t j = 0; j < D; j++) {
            sum[j] += G[j];
            for (int64_t k = 0; k < D; k++)
                products[j * D + k] += (G[j] - mean[j]) * (G[k] - mean[k]);
        }
    }
    compare_moments(T, sum, products, mean, cov, W * W / BATCH);
    double exact;
    assert_int_equal(sgfsi_posterior_full(m, theta, &exact, G, NULL, NULL), SGFS_OK);
    /* log densities of rows differ by about 0.5 */
    assert_near(lp_sum / T, exact, 5 * 0.6 * W / sqrt((double)BATCH * T), "log density");
    sgfsi_arena_free(&arena);
    sgfs_model_free(m);
    sgfs_data_free(d);
    sgfs_config_free(cfg);
    free(t);
}

/* Rows depend on seed, chain and iteration alone: the same bits for any number of threads. */
static void test_the_same_draws_for_any_number_of_threads(void **state) {
    (void)state;
    twins *t = malloc(sizeof *t);
    open_twins(t, false);
    sgfs_run *run[2];
    sgfs_err err;
    set(t->cfg, "sampler.kind", "sgfs-f");
    set(t->cfg, "run.chains", "3");
    set(t->cfg, "run.batch", "100");
    set(t->cfg, "run.warmup", "50");
    set(t->cfg, "run.draws", "100");
    sgfs_model *m = open_model(&sgfs_model_logistic, t->weighted, t->cfg);
    for (int k = 0; k < 2; k++) {
        set(t->cfg, "run.threads", k == 0 ? "1" : "3");
        run[k] = sgfs_run_open(m, t->cfg, &err);
        if (run[k] == NULL) fail_msg("%s", err.text);
        assert_int_equal(sgfs_run_all(run[k], &err), SGFS_OK);
        assert_int_equal(sgfs_run_close(run[k], NULL), SGFS_OK);
    }
    for (int c = 0; c < 3; c++) {
        const sgfs_draws *a = run[0]->out.memory, *b = run[1]->out.memory;
        assert_int_equal(a->chain[c].draws, 100);
        assert_memory_equal(a->chain[c].theta, b->chain[c].theta,
                            (size_t)(100 * m->D) * sizeof(double));
    }
    sgfs_run_free(run[0]);
    sgfs_run_free(run[1]);
    sgfs_model_free(m);
    close_twins(t);
    free(t);
}

/* N of the run's plan is the weights' sum; without replacement is refused. */
static void test_the_plan_counts_weights(void **state) {
    (void)state;
    twins *t = malloc(sizeof *t);
    open_twins(t, false);
    sgfs_err err;
    sgfs_model *m = open_model(&sgfs_model_logistic, t->weighted, t->cfg);
    set(t->cfg, "sampler.kind", "sgfs-f");
    set(t->cfg, "run.batch", "100");
    sgfs_run *run = sgfs_run_open(m, t->cfg, &err);
    if (run == NULL) fail_msg("%s", err.text);
    assert_near(run->plan.gamma, ((double)t->W + 100) / 100, 1e-12, "gamma");
    sgfs_run_free(run);
    set(t->cfg, "run.batch_scheme", "without");
    assert_null(sgfs_run_open(m, t->cfg, &err));
    assert_int_equal(err.code, SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "weights"));
    sgfs_model_free(m);
    close_twins(t);
    free(t);
}

/* ---- held-out rows --------------------------------------------------------------------------- */

static void test_held_out_losses_are_weighted(void **state) {
    (void)state;
    twins *t = malloc(sizeof *t);
    open_twins(t, false);
    enum { HELD = 60 };
    int64_t row[HELD], copy[HELD * MOST_WEIGHT], n = 0;
    double theta[2 * (P + 1)] = {0.3, 0.6, -0.2, 0.4, 0.1, 0.9, -0.5, 0.2};
    for (int64_t i = 0, at = 0; i < HELD; at += (int64_t)t->w[i++]) {
        row[i] = i;
        for (int k = 0; k < (int)t->w[i]; k++) copy[n++] = at + k;
    }
    sgfsi_chain_draws chain = {.draws = 2, .theta = theta};
    const sgfs_draws draws = {.chains = 1, .D = P + 1, .chain = &chain};
    sgfs_model *a = open_model(&sgfs_model_logistic, t->weighted, t->cfg),
               *b = open_model(&sgfs_model_logistic, t->copies, t->cfg);
    sgfsi_heldout score[2];
    sgfs_err err;
    if (sgfsi_heldout_score(a, &draws, row, HELD, 1, NULL, &score[0], &err) != SGFS_OK ||
        sgfsi_heldout_score(b, &draws, copy, n, 1, NULL, &score[1], &err) != SGFS_OK) {
        fail_msg("%s", err.text);
    }
    assert_near(score[0].loss, score[1].loss, 1e-13, "loss");
    assert_near(score[0].error, score[1].error, 1e-13, "error rate");
    int64_t none[3] = {0, 0, 0};
    for (int64_t i = 0, k = 0; k < 3; i++) {
        if (t->w[i] == 0) none[k++] = i;
    }
    assert_int_equal(sgfsi_heldout_score(a, &draws, none, 3, 1, NULL, &score[0], &err), SGFS_EDATA);
    assert_non_null(strstr(err.text, "weight 0"));
    sgfs_model_free(a);
    sgfs_model_free(b);
    close_twins(t);
    free(t);
}

/* ---- exposure -------------------------------------------------------------------------------- */

/* Logistic regression that takes an offset: eta + log t. Against the same with log t as a column
 * whose coefficient is 1. */
static void test_exposure_is_an_offset_of_its_logarithm(void **state) {
    (void)state;
    enum { BATCH = 70 };
    twins *t = malloc(sizeof *t);
    memset(t, 0, sizeof *t);
    make_rows(t);
    double *exposure = zeros(N), *wide = zeros(N * (P + 1)), lp[2], G[2][P + 2];
    uint64_t s = 5;
    for (int64_t i = 0; i < N; i++) {
        exposure[i] = exp(next_normal(&s));
        memcpy(wide + i * (P + 1), t->x + i * P, P * sizeof *wide);
        wide[i * (P + 1) + P] = log(exposure[i]);
    }
    const sgfs_arrays with = {
        .rows = N, .cols = P, .x = t->x, .y = t->y, .weights = t->w, .exposure = exposure};
    const sgfs_arrays column = {.rows = N, .cols = P + 1, .x = wide, .y = t->y, .weights = t->w};
    sgfs_config *cfg = unit_prior_config();
    set(cfg, "prior.precision", "0");
    sgfs_data *d[2] = {wrap(&with, cfg), wrap(&column, cfg)};
    sgfs_model_kind kind = sgfs_model_logistic;
    kind.exposure = true;
    sgfs_model *m[2] = {open_model(&kind, d[0], cfg), open_model(&kind, d[1], cfg)};
    const double theta[P + 2] = {0.2, 0.5, -0.3, 0.1, 1};
    for (int k = 0; k < 2; k++)
        assert_int_equal(sgfsi_posterior_full(m[k], theta, &lp[k], G[k], NULL, NULL), SGFS_OK);
    assert_near(lp[0], lp[1], 1e-9, "log density");
    for (int64_t j = 0; j <= P; j++) assert_near(G[0][j], G[1][j], 1e-9, "gradient");
    for (int k = 0; k < 2; k++) assert_places(m[k], theta, NULL, "with an exposure");
    for (int k = 0; k < 2; k++) {
        sgfsi_arena arena = {NULL};
        sgfsi_eval e = {.n = 0};
        assert_int_equal(sgfsi_eval_open(&e, m[k], &sgfs_scheme_with, BATCH, &arena, NULL),
                         SGFS_OK);
        sgfsi_eval_stream(&e, 3, 1);
        assert_int_equal(sgfsi_eval_gradient(&e, 4, SGFSI_ROWS, theta, G[k], &lp[k], NULL),
                         SGFS_OK);
        sgfsi_arena_free(&arena);
    }
    assert_near(lp[0], lp[1], 1e-9, "log density of a minibatch");
    for (int64_t j = 0; j <= P; j++) assert_near(G[0][j], G[1][j], 1e-9, "of a minibatch");
    sgfs_err err;
    assert_null(sgfsi_model_create(&sgfs_model_logistic, d[0], cfg, NULL, &err));
    assert_int_equal(err.code, SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "--exposure is for model poisson"));
    for (int k = 0; k < 2; k++) sgfs_model_free(m[k]);
    for (int k = 0; k < 2; k++) sgfs_data_free(d[k]);
    sgfs_config_free(cfg);
    free(exposure);
    free(wide);
    free(t);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void test_impossible_weights_and_exposures_are_refused(void **state) {
    (void)state;
    const double x[] = {1, 2, 3}, y[] = {0, 1, 1}, good[] = {1, 2, 0.5};
    const double negative[] = {1, -0.25, 1}, nan_row[] = {1, 1, NAN}, none[] = {0, 0, 0};
    const double huge[] = {1e308, 1e308, 1}, zero[] = {1, 0, 1};
    const struct {
        const double *weights, *exposure;
        const char *text;
    } cases[] = {{negative, NULL, "row 2, column \"weights\" holds -0.25"},
                 {nan_row, NULL, "row 3, column \"weights\" holds no finite number"},
                 {none, NULL, "are all 0"},
                 {huge, NULL, "more than a double"},
                 {good, zero, "row 2, column \"exposure\" holds 0: an exposure must be above 0"},
                 {NULL, nan_row, "row 3, column \"exposure\" holds no finite number"}};
    sgfs_config *cfg = unit_prior_config();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sgfs_err err = {SGFS_OK, ""};
        const sgfs_arrays a = {.rows = 3,
                               .cols = 1,
                               .x = x,
                               .y = y,
                               .weights = cases[i].weights,
                               .exposure = cases[i].exposure};
        assert_null(sgfs_data_wrap(&a, cfg, &err));
        assert_int_equal(err.code, SGFS_EDATA);
        if (strstr(err.text, cases[i].text) == NULL) fail_msg("%s", err.text);
    }
    sgfs_config_free(cfg);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_posterior_is_that_of_the_copies),
        cmocka_unit_test(test_the_mode_is_that_of_the_copies),
        cmocka_unit_test(test_column_statistics_are_weighted),
        cmocka_unit_test(test_rows_of_weight_zero_are_not_there),
        cmocka_unit_test(test_views_carry_their_weights),
        cmocka_unit_test(test_alias_table_has_the_weights_probabilities),
        cmocka_unit_test(test_an_alias_cell_is_small_and_names_any_row),
        cmocka_unit_test(test_rows_of_weight_zero_are_never_drawn),
        cmocka_unit_test(test_draws_follow_the_weights),
        cmocka_unit_test(test_weighted_gradients_are_unbiased_with_known_noise),
        cmocka_unit_test(test_the_same_draws_for_any_number_of_threads),
        cmocka_unit_test(test_the_plan_counts_weights),
        cmocka_unit_test(test_held_out_losses_are_weighted),
        cmocka_unit_test(test_exposure_is_an_offset_of_its_logarithm),
        cmocka_unit_test(test_impossible_weights_and_exposures_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
