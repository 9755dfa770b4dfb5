/* SPDX-License-Identifier: MIT
 * test_mlp.c: a network without a hidden layer is a regression: softmax against a log density
 * written out here and against the model softmax, one logistic unit against the model logistic, a
 * Gaussian output against the model linear. The same log density and gradient at any theta make
 * the same posterior; NUTS on both says so once more, by way of the whole program.
 *
 * Tolerances: two orders of summation over 300 rows: 1e-12 of the sum of magnitudes. Means and
 * second moments of two runs: |z| < 5, z in joint Monte Carlo errors, fixed seeds; about 40
 * comparisons, a false alarm in one of 40,000 choices of seeds. And a network with a hidden layer
 * learns what no regression can (exclusive or) by the default sampler.
 */
#include "diagnostics/summary.h"
#include "posterior/mode.h"
#include "posterior/posterior.h"
#include "stat/sampled.h"
#include "tools/check.h"

enum { N = 300, P = 2, K = 3, MOST = 16 };

static double X[N * P], LABEL[N], TWO[N], Y[N];

static int make_data(void **state) {
    (void)state;
    uint64_t s = 20120626;
    for (int i = 0; i < N; i++) {
        double a = next_normal(&s), b = 0.6 * a + 0.8 * next_normal(&s), u = next_number(&s);
        X[i * P] = 2.385 + 1.31 * a;
        X[i * P + 1] = -0.417 + 0.59 * b;
        LABEL[i] = u < -0.4 + 0.3 * a ? 3 : u < 0.3 - 0.2 * b ? 5 : 8;
        TWO[i] = u < 0.4 * a + 0.3 * b ? -1 : 1;
        Y[i] = 3.7 + 0.83 * a - 1.19 * b + 0.71 * next_normal(&s);
    }
    return 0;
}

static const sgfs_model_kind *kind_of(const char *name) {
    const sgfs_model_kind *const *k = sgfsi_models;
    while (*k != NULL && strcmp((*k)->name, name) != 0) k++;
    return *k;
}

/* ---- log densities --------------------------------------------------------------------------- */

typedef struct opened {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
} opened;

static opened open_model(const sgfs_model_kind *kind, const double *y, const setting *settings) {
    sgfs_err err;
    opened o = {.cfg = config_of(settings)};
    sgfs_arrays a = {.rows = N, .cols = P, .x = X, .y = y};
    o.data = sgfs_data_wrap(&a, o.cfg, &err);
    if (o.data == NULL) fail_msg("%s", err.text);
    o.m = sgfsi_model_create(kind, o.data, o.cfg, NULL, &err);
    if (o.m == NULL) fail_msg("%s", err.text);
    return o;
}

static void close_model(opened *o) {
    sgfs_model_free(o->m);
    sgfs_data_free(o->data);
    sgfs_config_free(o->cfg);
}

static double density(const sgfs_model *m, const double *theta, double *G) {
    double lp;
    sgfs_err err;
    if (sgfsi_posterior_full(m, theta, &lp, G, NULL, &err) != SGFS_OK) fail_msg("%s", err.text);
    return lp;
}

/* sum_i log p(y_i | x_i) - lambda/2 |theta|^2, theta K x (P+1), and its gradient. */
static double softmax_by_hand(const double *theta, double lambda, double *G) {
    static const double label[K] = {3, 5, 8};
    double lp = 0;
    for (int j = 0; j < K * (P + 1); j++) {
        lp -= 0.5 * lambda * theta[j] * theta[j];
        G[j] = -lambda * theta[j];
    }
    for (int i = 0; i < N; i++) {
        double x[P + 1] = {1, X[i * P], X[i * P + 1]}, e[K], sum = 0;
        for (int k = 0; k < K; k++) {
            double eta = 0;
            for (int j = 0; j <= P; j++) eta += theta[k * (P + 1) + j] * x[j];
            e[k] = exp(eta);
            sum += e[k];
        }
        for (int k = 0; k < K; k++) {
            bool is = LABEL[i] == label[k];
            if (is) lp += log(e[k] / sum);
            for (int j = 0; j <= P; j++) G[k * (P + 1) + j] += (is - e[k] / sum) * x[j];
        }
    }
    return lp;
}

static void test_no_hidden_layer_is_softmax_regression(void **state) {
    (void)state;
    const setting settings[] = {
        {"model.hidden", "none"}, {"prior.precision", "0.371"}, {NULL, NULL}};
    opened net = open_model(&sgfs_model_mlp, LABEL, settings);
    assert_int_equal(net.m->D, K * (P + 1));
    uint64_t s = 17;
    for (int trial = 0; trial < 7; trial++) {
        double theta[MOST], G[MOST], wanted[MOST];
        for (int j = 0; j < net.m->D; j++) theta[j] = 1.5 * next_normal(&s);
        double lp = density(net.m, theta, G), hand = softmax_by_hand(theta, 0.371, wanted);
        assert_near(lp, hand, 1e-12 * fabs(hand), "log density");
        for (int j = 0; j < net.m->D; j++) assert_near(G[j], wanted[j], 1e-12 * 10 * N, "gradient");
    }
    close_model(&net);
}

/* Networks have no class whose weights are 0. */
static const setting all_alike = {"model.reference_class", "none"};

/* The same log density and gradient at several theta, whatever is standardised. */
static void compare(const char *name, const char *output, const double *y, const char *sigma) {
    for (int i = 0; i < 4; i++) {
        setting settings[8] = {{"prior.precision", "0.371"},
                               {"data.standardize", i & 1 ? "true" : "false"},
                               {"data.intercept", i & 2 ? "false" : "true"}};
        int used = 3;
        if (sigma != NULL) settings[used++] = (setting){"model.sigma", sigma};
        if (strcmp(name, "softmax") == 0) settings[used] = all_alike;
        opened one = open_model(kind_of(name), y, settings);
        settings[used++] = (setting){"model.hidden", "none"};
        settings[used++] = (setting){"model.output", output};
        opened net = open_model(&sgfs_model_mlp, y, settings);
        uint64_t s = 29;
        assert_int_equal(net.m->D, one.m->D);
        for (int trial = 0; trial < 5; trial++) {
            double theta[MOST], G[MOST], wanted[MOST], user[MOST], other[MOST];
            for (int j = 0; j < net.m->D; j++) theta[j] = next_number(&s);
            double lp = density(net.m, theta, G), truth = density(one.m, theta, wanted);
            assert_near(lp, truth, 1e-12 * fabs(truth), name);
            for (int j = 0; j < net.m->D; j++)
                assert_near(G[j], wanted[j], 1e-12 * (fabs(truth) + fabs(wanted[j])) * 10, name);
            net.m->kind->to_user(net.m, theta, user);
            one.m->kind->to_user(one.m, theta, other);
            for (int j = 0; j < net.m->D; j++)
                assert_near(user[j], other[j], 1e-13 * (1 + fabs(other[j])), "the user's scale");
        }
        close_model(&one);
        close_model(&net);
    }
}

static void test_no_hidden_layer_is_linear_and_logistic_regression(void **state) {
    (void)state;
    compare("linear", "gaussian", Y, NULL);
    compare("linear", "gaussian", Y, "0.83");
    compare("logistic", "logistic", TWO, NULL);
    if (kind_of("softmax") != NULL) compare("softmax", "softmax", LABEL, NULL);
}

/* ---- posteriors ------------------------------------------------------------------------------ */

typedef struct moment {
    int64_t parameter;
    int power;
    double centre;
} moment;

static double moment_of(const double *theta, const double *stats, const void *about) {
    const moment *m = about;
    (void)stats;
    double away = theta[m->parameter] - m->centre;
    return m->power == 1 ? away : away * away;
}

static void same_posterior(const char *name, const char *output, const double *y) {
    const setting settings[] = {{"sampler.kind", "nuts"},
                                {"run.chains", "2"},
                                {"run.draws", "1500"},
                                {"run.warmup", "500"},
                                {"model.hidden", "none"},
                                {"model.output", output},
                                {NULL, NULL}};
    const setting plain[] = {{"sampler.kind", "nuts"},
                             {"run.chains", "2"},
                             {"run.draws", "1500"},
                             {"run.warmup", "500"},
                             {"run.seed", "2"},
                             strcmp(name, "softmax") == 0 ? all_alike : (setting){NULL, NULL},
                             {NULL, NULL}};
    sgfs_err err;
    sampled net = sample_open(&sgfs_model_mlp, N, P, X, y, settings);
    sampled one = sample_open(kind_of(name), N, P, X, y, plain);
    assert_int_equal(sample_all(&net, &err), SGFS_OK);
    assert_int_equal(sample_all(&one, &err), SGFS_OK);
    for (int64_t j = 0; j < net.m->D; j++) {
        moment about = {j, 1, 0};
        about.centre = estimate_of(one.draws, moment_of, &about).mean;
        for (about.power = 1; about.power <= 2; about.power++) {
            estimate a = estimate_of(net.draws, moment_of, &about),
                     b = estimate_of(one.draws, moment_of, &about);
            double error = hypot(a.sd / sqrt(fmin(a.ess, 3000)), b.sd / sqrt(fmin(b.ess, 3000)));
            assert_near(a.mean, b.mean, 5 * error, net.m->param[j]);
        }
    }
    sample_free(&net);
    sample_free(&one);
}

static void test_no_hidden_layer_has_the_regressions_posterior(void **state) {
    (void)state;
    same_posterior("linear", "gaussian", Y);
    if (kind_of("softmax") != NULL) same_posterior("softmax", "softmax", LABEL);
}

/* ---- what a hidden layer is for -------------------------------------------------------------- */

/* Weights of different chains do not agree, and need not: nobody is sent for more draws. */
static void check_advice(const sgfs_draws *draws) {
    sgfs_err err;
    sgfs_summary *s = sgfsi_summary_new(draws, 2, &err);
    double worst = 0;
    int told = 0;
    if (s == NULL) fail_msg("%s", err.text);
    for (int64_t i = 0; i < s->dim; i++) worst = fmax(worst, s->row[i].r_hat);
    assert_true(worst > 1.2);
    for (int64_t i = 0; i < s->warnings; i++) {
        assert_null(strstr(s->warning[i], "come together"));
        assert_null(strstr(s->warning[i], "ESS is under"));
        told += strstr(s->warning[i], "Hidden units can change places") != NULL;
    }
    assert_int_equal(told, 1);
    sgfsi_summary_free(s);
}

/* Exclusive or of two signs, one label in 20 wrong: no regression does better than one half; a
 * network, averaged over its draws, is right nearly wherever the signs are clear. */
static void test_a_hidden_layer_learns_exclusive_or(void **state) {
    (void)state;
    enum { ROWS = 1000, TESTED = 200 };
    double *x = numbers(ROWS * P, 61), *y = zeros(ROWS), *test = numbers(TESTED * P, 62);
    uint64_t s = 63;
    sgfs_err err;
    for (int i = 0; i < ROWS; i++) {
        bool wrong = next_number(&s) > 0.9;
        y[i] = ((x[i * P] > 0) != (x[i * P + 1] > 0)) != wrong;
    }
    const setting settings[] = {{"model.hidden", "8"},      {"run.chains", "2"},
                                {"run.threads", "1"},       {"run.batch", "200"},
                                {"prior.precision", "0.1"}, {NULL, NULL}};
    sampled net = sample_open(&sgfs_model_mlp, ROWS, P, x, y, settings);
    if (sample_all(&net, &err) != SGFS_OK) fail_msg("%s", err.text);
    double *row = zeros(TESTED * (P + 1)), *out = zeros(TESTED * 2), *sum = zeros(TESTED),
           *scratch = zeros(TESTED * net.m->scratch_per_row);
    for (int i = 0; i < TESTED; i++) {
        row[i * 3] = 1;
        memcpy(row + i * 3 + 1, test + i * P, P * sizeof *row);
    }
    sgfs_batch b = {.n = TESTED, .p = P + 1, .x = row};
    for (int64_t c = 0; c < 2; c++) {
        for (int64_t t = 0; t < net.draws->chain[c].draws; t++) {
            net.m->kind->predict(net.m, net.draws->chain[c].theta + t * net.m->D, &b, out, scratch);
            for (int i = 0; i < TESTED; i++) sum[i] += out[2 * i + 1] - out[2 * i];
        }
    }
    int wrong = 0;
    for (int i = 0; i < TESTED; i++)
        wrong += (sum[i] > 0) != ((test[i * P] > 0) != (test[i * P + 1] > 0));
    check_advice(net.draws);
    assert_true(wrong <= TESTED / 10); /* rows at the borders; guessing would miss 100 +- 7 */
    sample_free(&net);
    free(x), free(y), free(test), free(row), free(out), free(sum), free(scratch);
}

/* The climb to a mode begins where units differ, and arrives: the gradient there is 0, measured in
 * the standard deviations of the Gaussian at the mode. */
static void test_a_mode_is_reached_from_the_start(void **state) {
    (void)state;
    const setting settings[] = {{"model.hidden", "3"}, {NULL, NULL}};
    const sgfsi_mode_plan plan = {.method = "auto", .tolerance = 1e-8, .threads = 1};
    opened net = open_model(&sgfs_model_mlp, LABEL, settings);
    sgfsi_arena arena = {NULL};
    sgfsi_mode mode;
    sgfs_err err;
    double G[64];
    assert_true(net.m->D <= 64);
    if (sgfsi_mode_search(net.m, &plan, &arena, &mode, &err) != SGFS_OK) fail_msg("%s", err.text);
    density(net.m, mode.theta, G);
    sgfsi_trsv(net.m->ctx.device, net.m->D, mode.L, false, G);
    assert_true(sgfsi_dot(net.m->ctx.device, net.m->D, G, G) < 1e-14);
    sgfsi_arena_free(&arena);
    close_model(&net);
}

/* What is chosen for the paper's net: a ridge, and no more rows than the matrix is worth; the
 * literal settings of the paper have no ridge, nor have regressions. */
static void test_the_choices_for_the_papers_net(void **state) {
    (void)state;
    enum { ROWS = 10000, COLS = 20 };
    double *x = numbers(ROWS * COLS, 71), *y = zeros(ROWS);
    const setting plain[] = {{"run.chains", "1"}, {NULL, NULL}};
    const setting paper[] = {{"run.chains", "1"}, {"run.preset", "paper"}, {NULL, NULL}};
    for (int i = 0; i < ROWS; i++) y[i] = i % 10;
    sampled net = sample_open(&sgfs_model_mlp, ROWS, COLS, x, y, plain);
    assert_int_equal(net.m->D, 940);
    assert_int_equal((int64_t)sgfsi_plan_num(&net.run->plan, "run.batch"), 2000);
    assert_true(sgfsi_plan_num(&net.run->plan, "fisher.ridge") == 1e-3);
    sample_free(&net);
    net = sample_open(&sgfs_model_mlp, ROWS, COLS, x, y, paper);
    assert_true(sgfsi_plan_num(&net.run->plan, "fisher.ridge") == 0);
    sample_free(&net);
    net = sample_open(&sgfs_model_linear, ROWS, COLS, x, y, plain);
    assert_int_equal((int64_t)sgfsi_plan_num(&net.run->plan, "run.batch"), 500);
    assert_true(sgfsi_plan_num(&net.run->plan, "fisher.ridge") == 0);
    sample_free(&net);
    free(x), free(y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_hidden_layer_is_softmax_regression),
        cmocka_unit_test(test_no_hidden_layer_is_linear_and_logistic_regression),
        cmocka_unit_test(test_no_hidden_layer_has_the_regressions_posterior),
        cmocka_unit_test(test_a_hidden_layer_learns_exclusive_or),
        cmocka_unit_test(test_a_mode_is_reached_from_the_start),
        cmocka_unit_test(test_the_choices_for_the_papers_net),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
