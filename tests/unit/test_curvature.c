/* SPDX-License-Identifier: MIT
 * test_curvature.c: the spread that the curvature predicts, where it is known in closed form: a
 * linear model of known sigma whose only column is +-1 has precision N/sigma^2 + lambda, whichever
 * rows are looked at.
 */
#include "chain/spread_check.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

/* sd of the one parameter of N rows, under a prior of precision lambda. */
static double predicted_sd(int64_t N, const char *lambda) {
    static const char *const settings[][2] = {
        {"data.intercept", "false"}, {"model.sigma", "0.5"}, {"prior.precision", NULL}};
    double *x = zeros(N), *y = zeros(N), sd = 0;
    const double theta = 0.25;
    uint64_t seed = 385;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = unit_prior_config();
    for (int k = 0; k < 3; k++) {
        const char *value = settings[k][1] != NULL ? settings[k][1] : lambda;
        if (sgfs_config_set(cfg, settings[k][0], value, &err) != SGFS_OK) fail_msg("%s", err.text);
    }
    for (int64_t i = 0; i < N; i++) {
        x[i] = next_bits(&seed) >> 63 ? 1 : -1;
        y[i] = theta * x[i] + 0.5 * next_number(&seed);
    }
    const sgfs_arrays arrays = {.rows = N, .cols = 1, .x = x, .y = y};
    sgfs_data *d = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = d != NULL ? sgfs_model_open("linear", d, cfg, &err) : NULL;
    if (m == NULL) fail_msg("%s", err.text);
    assert_int_equal(m->D, 1);
    assert_true(sgfsi_curvature_sd(m, &theta, &sd, NULL));
    sgfs_model_free(m);
    sgfs_data_free(d);
    sgfs_config_free(cfg);
    free(x);
    free(y);
    return sd;
}

/* All of 1000 rows, and 2^18 of 2,000,001: the rows count N/n times, the prior once. It is as large
 * as the data here, or flat. Sums of ones and of their multiples by 4 are exact; the rest is a few
 * roundings. */
static void test_the_prior_counts_once(void **state) {
    (void)state;
    static const int64_t rows[] = {1000, 2000001};
    static const char *const lambda[] = {"0", "4000", "8e6"};
    for (int k = 0; k < 2; k++) {
        for (int j = 0; j < 3; j++) {
            double sd = 1 / sqrt(4 * (double)rows[k] + strtod(lambda[j], NULL));
            assert_near(predicted_sd(rows[k], lambda[j]), sd, 1e-12 * sd, "sd");
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_prior_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
