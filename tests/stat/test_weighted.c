/* SPDX-License-Identifier: MIT
 * test_weighted.c: with weights the closed form is
 *     A = X' diag(w) X / sigma^2 + lambda I,   mu = A^-1 X' diag(w) y / sigma^2,
 * and SGFS-f has to draw from N(mu, A^-1): with N in place of W anywhere, or rows drawn evenly,
 * variances would be off by the mean weight or by its spread.
 */
#include "stat/closed.h"

/* Draws so that 1 % is 3.2 standard deviations of trR, as in test_closed_form. */
static void check_alpha(double alpha, const char *alpha_text) {
    enum { D = 10 };
    double W, batch = 250;
    char draws[32];
    problem q = weighted_regression(2000, D, 1.0, 21, &W);
    double gamma = (W + batch) / batch, tau2 = tau2_of(gamma, alpha);
    double T = 2 * tau2 / D * 320 * 320;
    snprintf(draws, sizeof draws, "%lld", (long long)ceil(T / 4 / 1000) * 1000);
    const setting settings[] = {
        {"data.intercept", "false"}, {"model.sigma", "1"},  {"sampler.alpha", alpha_text},
        {"run.batch", "250"},        {"fisher.every", "4"}, {"run.draws", draws},
        {"run.thin", draws},         {"run.seed", "5"},     {NULL, NULL}};
    outcome o;
    assert_int_equal(run_on(&q, &sgfs_model_linear, settings, NULL, NULL, &o), SGFS_OK);
    print_message(
        "W %.0f of 2000 rows, alpha %g: trR %.4f +- %.4f  E2 %.4f (noise %.4f)  E1 %.5f\n", W,
        alpha, o.trR, trR_noise(&q, tau2, (double)o.T), o.E2_mean, E2_noise(&q, tau2, o.T_mean),
        o.E1);
    assert_true(W > 2.5 * 2000); /* or N in its place would do less harm */
    assert_true(is_right(&q, &o, gamma, alpha));
    /* the mean, in standard deviations of the posterior: tau = gamma (1 + alpha^2) - 1 */
    double error = sqrt((gamma * (1 + alpha * alpha) - 1) / (double)o.T);
    for (int64_t j = 0; j < D; j++) {
        assert_true(fabs(o.mean[j] - q.mu[j]) < 5 * error * sqrt(q.C[j * D + j]));
    }
    outcome_free(&o);
    problem_free(&q);
}

static void test_weighted_regression_is_exact(void **state) {
    (void)state;
    check_alpha(0, "0");
    check_alpha(1, "1");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_weighted_regression_is_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
