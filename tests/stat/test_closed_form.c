/* SPDX-License-Identifier: MIT
 * Variances against closed forms: SGFS-f is exact on a Gaussian posterior, for every alpha and both
 * ways of drawing rows, and its autocorrelation time is the one theory gives.
 */
#include "stat/closed.h"
#include "tools/tier.h"

typedef struct grid_case {
    int64_t N, D;
    const char *batch, *every;
} grid_case;

static const char *text_of(double x, char room[32]) {
    snprintf(room, 32, "%.17g", x);
    return room;
}

/* Iterations per chain (of 4) so that 1 % is `sigmas` standard deviations of trR. */
static int64_t iterations_for(int64_t D, double tau2, double sigmas) {
    double T = 2 * tau2 / (double)D * (sigmas / 0.01) * (sigmas / 0.01);
    return (int64_t)ceil(T / 4 / 1000) * 1000;
}

static void check_case(const grid_case *g, const char *scheme, double alpha) {
    char room[4][32];
    problem q = regression(g->N, g->D, 1.0, g->D, 11);
    double n = atof(g->batch);
    double gamma = strcmp(scheme, "with") == 0 ? ((double)g->N + n) / n : (double)g->N / n;
    int64_t draws = iterations_for(g->D, tau2_of(gamma, alpha), 3.2);
    const setting settings[] = {{"data.intercept", "false"},
                                {"model.sigma", "1"},
                                {"sampler.alpha", text_of(alpha, room[0])},
                                {"run.batch", g->batch},
                                {"run.batch_scheme", scheme},
                                {"fisher.every", g->every},
                                {"run.draws", text_of((double)draws, room[1])},
                                {"run.thin", text_of((double)draws, room[2])},
                                {"run.seed", "5"},
                                {NULL, NULL}};
    outcome o;
    assert_int_equal(run_on(&q, &sgfs_model_linear, settings, NULL, NULL, &o), SGFS_OK);
    double tau2 = tau2_of(gamma, alpha);
    print_message("N %5lld D %2lld %7s alpha %g: trR %.4f +- %.4f  E2 %.4f (noise %.4f)  E1 %.5f\n",
                  (long long)g->N, (long long)g->D, scheme, alpha, o.trR,
                  trR_noise(&q, tau2, (double)o.T), o.E2_mean, E2_noise(&q, tau2, o.T_mean), o.E1);
    assert_true(is_right(&q, &o, gamma, alpha));
    outcome_free(&o);
    problem_free(&q);
}

static void check_grid(const char *scheme) {
    static const grid_case grid[] = {{2000, 20, "200", "1"},
                                     {10000, 5, "1000", "10"},
                                     {10000, 20, "1000", "10"},
                                     {2000, 5, "200", "1"}};
    for (int alpha = 0; alpha <= 2; alpha++) check_case(&grid[0], scheme, alpha);
    check_case(&grid[1], scheme, 0);
    if (!in_longer_tier()) return;
    for (int alpha = 1; alpha <= 2; alpha++) check_case(&grid[1], scheme, alpha);
    for (size_t i = 2; i < sizeof grid / sizeof grid[0]; i++) {
        for (int alpha = 0; alpha <= 2; alpha++) check_case(&grid[i], scheme, alpha);
    }
}

static void test_exact_with_replacement(void **state) {
    (void)state;
    check_grid("with");
}

static void test_exact_without_replacement(void **state) {
    (void)state;
    check_grid("without");
}

/* A strong prior: left out of the matrix it would cost E2 = 0.05. */
static void test_strong_prior_stays_exact(void **state) {
    (void)state;
    problem q = regression(10000, 20, 100.0, 20, 12);
    const setting settings[] = {{"data.intercept", "false"}, {"model.sigma", "1"},
                                {"sampler.alpha", "0"},      {"run.batch", "1000"},
                                {"fisher.every", "10"},      {"run.draws", "60000"},
                                {"run.thin", "60000"},       {NULL, NULL}};
    outcome o;
    assert_int_equal(run_on(&q, &sgfs_model_linear, settings, NULL, NULL, &o), SGFS_OK);
    print_message("lambda 100: trR %.4f E2 %.4f\n", o.trR, o.E2);
    assert_true(is_right(&q, &o, 11, 0));
    outcome_free(&o);
    problem_free(&q);
}

/* Columns of zeros: each such coordinate is an independent prior draw at alpha 0. */
static void test_zero_columns_are_prior_draws(void **state) {
    (void)state;
    problem q = regression(2000, 7, 1.0, 5, 13);
    const setting settings[] = {{"data.intercept", "false"},
                                {"model.sigma", "1"},
                                {"sampler.alpha", "0"},
                                {"run.batch", "200"},
                                {"run.draws", "100000"},
                                {"run.thin", "100000"},
                                {NULL, NULL}};
    outcome o;
    assert_int_equal(run_on(&q, &sgfs_model_linear, settings, NULL, NULL, &o), SGFS_OK);
    print_message("zero columns: trR %.4f, variances %.4f %.4f\n", o.trR, o.cov[5 * 7 + 5],
                  o.cov[6 * 7 + 6]);
    assert_true(fabs(o.trR - 1) <= 0.01);
    /* 4e5 independent draws: sd of the variance 0.0022, of the mean 0.0016 */
    for (int64_t j = 5; j < 7; j++) {
        assert_true(fabs(o.cov[j * 7 + j] - 1) < 4 * 0.0022);
        assert_true(fabs(o.mean[j]) < 4 * 0.0016);
    }
    outcome_free(&o);
    problem_free(&q);
}

/* Fewer rows in a batch than parameters: the matrix is filled before the first move. */
static void test_batch_smaller_than_dimension(void **state) {
    (void)state;
    problem q = regression(2000, 20, 1.0, 20, 14);
    const setting settings[] = {
        {"data.intercept", "false"}, {"model.sigma", "1"},   {"sampler.alpha", "0"},
        {"run.batch", "15"},         {"run.warmup", "5000"}, {"run.draws", "400000"},
        {"run.thin", "400000"},      {"fisher.every", "5"},  {NULL, NULL}};
    outcome o;
    assert_int_equal(run_on(&q, &sgfs_model_linear, settings, NULL, NULL, &o), SGFS_OK);
    print_message("n 15 < D 20: trR %.4f E2 %.4f\n", o.trR, o.E2);
    assert_true(is_right(&q, &o, (2000.0 + 15) / 15, 0));
    outcome_free(&o);
    problem_free(&q);
}

/* Scores m times as spread as the curvature says (noise of size 1.5, sigma = 1: m = 2.25): the
 * variance is off by (gamma - 1)/(gamma - 1/m), no more: the noise itself carries the covariance of
 * the scores. */
static void test_misspecified_noise(void **state) {
    (void)state;
    problem q = noisy_regression(2000, 5, 1.0, 5, 1.5, 16);
    const setting settings[] = {{"data.intercept", "false"},
                                {"model.sigma", "1"},
                                {"sampler.alpha", "0"},
                                {"run.batch", "1000"},
                                {"run.draws", "50000"},
                                {"run.thin", "50000"},
                                {NULL, NULL}};
    outcome o;
    assert_int_equal(run_on(&q, &sgfs_model_linear, settings, NULL, NULL, &o), SGFS_OK);
    double expected = (3.0 - 1) / (3.0 - 1 / 2.25);
    print_message("scores 2.25 times too spread, gamma 3: trR %.4f, theory %.4f\n", o.trR,
                  expected);
    assert_true(fabs(o.trR / expected - 1) < 0.01); /* sd 0.002 */
    outcome_free(&o);
    problem_free(&q);
}

/* ---- autocorrelation time -------------------------------------------------------------------- */

/* Lag-1 autocorrelation over all chains and parameters, deviations from the closed-form mean. */
static double lag1(const sgfs_draws *d, const problem *q) {
    double top = 0, bottom = 0;
    for (int64_t c = 0; c < d->chains; c++) {
        const sgfsi_chain_draws *k = &d->chain[c];
        for (int64_t t = 0; t + 1 < k->draws; t++) {
            for (int64_t j = 0; j < q->D; j++) {
                double a = k->theta[t * q->D + j] - q->mu[j],
                       b = k->theta[(t + 1) * q->D + j] - q->mu[j];
                top += a * b / q->C[j * q->D + j];
                bottom += a * a / q->C[j * q->D + j];
            }
        }
    }
    return top / bottom;
}

static void check_tau(const problem *q, double alpha) {
    char room[32];
    sgfs_err err;
    const setting settings[] = {{"data.intercept", "false"},
                                {"model.sigma", "1"},
                                {"sampler.alpha", text_of(alpha, room)},
                                {"run.batch", "200"},
                                {"run.draws", "100000"},
                                {"run.thin", "1"},
                                {NULL, NULL}};
    sgfs_config *cfg = config_of(settings);
    sgfs_arrays arrays = {.rows = q->N, .cols = q->D, .x = q->x, .y = q->y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = sgfs_model_open("linear", data, cfg, &err);
    sgfs_run *run = sgfs_run_open(m, cfg, &err);
    assert_non_null(run);
    assert_int_equal(sgfs_run_all(run, &err), SGFS_OK);
    assert_int_equal(sgfs_run_close(run, &err), SGFS_OK);
    double rho = lag1(run->out.memory, q), tau = (1 + rho) / (1 - rho);
    double theory = 11 * (1 + alpha * alpha) - 1;
    print_message("alpha %g: tau %.2f, theory %.2f\n", alpha, tau, theory);
    assert_true(fabs(tau / theory - 1) < 0.05); /* Monte Carlo error below 1 % at these lengths */
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

static void test_autocorrelation_time(void **state) {
    (void)state;
    problem q = regression(2000, 5, 1.0, 5, 15);
    for (int alpha = 0; alpha <= 2; alpha++) check_tau(&q, alpha);
    problem_free(&q);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_with_replacement),
        cmocka_unit_test(test_exact_without_replacement),
        cmocka_unit_test(test_strong_prior_stays_exact),
        cmocka_unit_test(test_zero_columns_are_prior_draws),
        cmocka_unit_test(test_batch_smaller_than_dimension),
        cmocka_unit_test(test_misspecified_noise),
        cmocka_unit_test(test_autocorrelation_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
