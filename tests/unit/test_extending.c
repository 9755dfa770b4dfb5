/* SPDX-License-Identifier: MIT
 * The model of docs/extending.md, compiled from that page, samples: its posterior mean lies where
 * the simulated truth is, and its gradient is right.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "chain/run.h"
#include "diagnostics/summary.h"
#include "posterior/mode.h"

#include "extending_model.c" /* made by tests/CMakeLists.txt from the page */

enum { N = 4000, P = 2 };
static double x[N * P], y[N];
static const double truth[] = {0.42, -0.61, 0.37};

static void make_rows(void) {
    for (int64_t i = 0; i < N; i++) {
        double u;
        sgfsi_stream s = sgfsi_stream_at(31, 0, i, SGFSI_FEATURES);
        sgfsi_normals(&s, P, x + i * P);
        sgfsi_uniforms(&s, 1, &u);
        y[i] = -log(u) * exp(truth[0] + truth[1] * x[i * P] + truth[2] * x[i * P + 1]);
    }
}

static void test_the_page_compiles_and_samples(void **state) {
    (void)state;
    sgfs_err err;
    make_rows();
    sgfs_config *cfg = sgfs_config_new();
    sgfs_arrays arrays = {.rows = N, .cols = P, .x = x, .y = y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = sgfsi_model_create(&sgfs_model_exponential, data, cfg, NULL, &err);
    assert_non_null(m);
    sgfs_run *run = sgfs_run_open(m, cfg, &err);
    assert_non_null(run);
    assert_int_equal(sgfs_run_all(run, &err), SGFS_OK);
    assert_int_equal(sgfs_run_close(run, &err), SGFS_OK);
    sgfs_draws *draws = sgfs_run_draws(run, &err);
    sgfs_summary *s = sgfsi_summary_new(draws, 2, &err);
    assert_non_null(s);
    double mode[3], cov[9];
    assert_int_equal(sgfsi_mode_find(m, NULL, 0, mode, cov, NULL, &err), SGFS_OK);
    for (int64_t j = 0; j < 3; j++) {
        assert_true(fabs(s->row[j].mean - mode[j]) < 5 * s->row[j].mcse + 0.1 * s->row[j].sd);
        assert_true(fabs(s->row[j].mean - truth[j]) < 4 * s->row[j].sd);
        assert_true(fabs(s->row[j].sd / sqrt(cov[j * 3 + j]) - 1) < 0.1);
    }
    assert_string_equal(s->row[0].name, "intercept");
    sgfsi_summary_free(s);
    sgfs_draws_free(draws);
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_page_compiles_and_samples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
