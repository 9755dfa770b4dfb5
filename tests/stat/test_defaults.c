/* SPDX-License-Identifier: MIT
 * Defaults for everything, on data as users have them: prices in the 100,000s with unknown noise;
 * a dozen positives among thousands of rows. Far from the mode the covariance of the data's scores
 * is no curvature: with it in warm-up, chains freeze at a sigma that is wrong by orders of
 * magnitude. With few events, steps that suit the number of rows throw the chain into saturation.
 * Each run here must agree with the mode and curvature found by Fisher scoring on the full data:
 * those of the sampler that is chosen, which is exact for all of these, and those of sgfs-f, which
 * is chosen where there is no anchor.
 */
#include "diagnostics/summary.h"
#include "stat/closed.h"

#include "posterior/mode.h"

enum { COLS = 3 };

static void make_house(int64_t N, uint64_t seed, double *x, double *y) {
    for (int64_t i = 0; i < N; i++) {
        double z[COLS + 1];
        sgfsi_stream s = sgfsi_stream_at(seed, 0, i, SGFSI_FEATURES);
        sgfsi_normals(&s, COLS + 1, z);
        x[i * COLS] = 150 + 50 * z[0];                   /* area */
        x[i * COLS + 1] = x[i * COLS] / 28 + 0.9 * z[1]; /* rooms, correlated */
        x[i * COLS + 2] = 1960 + 35 * z[2];              /* year */
        y[i] = 50000 + 2100 * x[i * COLS] + 9000 * x[i * COLS + 1] + 1200 * z[2] + 60000 * z[3];
    }
}

/* Mode and covariance on the user's scale: the map is affine. */
static void reference(const sgfs_model *m, double *mean, double *sd) {
    double mode[COLS + 2], cov[(COLS + 2) * (COLS + 2)], basis[COLS + 2][COLS + 2],
        zero[COLS + 2] = {0};
    double origin[COLS + 2];
    sgfs_err err;
    int64_t D = m->D;
    if (sgfsi_mode_find(m, NULL, 0, mode, cov, NULL, &err) != SGFS_OK) fail_msg("%s", err.text);
    m->kind->to_user(m, mode, mean);
    m->kind->to_user(m, zero, origin);
    for (int64_t j = 0; j < D; j++) {
        zero[j] = 1;
        m->kind->to_user(m, zero, basis[j]);
        zero[j] = 0;
        for (int64_t i = 0; i < D; i++) basis[j][i] -= origin[i];
    }
    for (int64_t i = 0; i < D; i++) {
        double v = 0;
        for (int64_t j = 0; j < D; j++) {
            for (int64_t k = 0; k < D; k++) v += basis[j][i] * cov[j * D + k] * basis[k][i];
        }
        sd[i] = sqrt(v);
    }
    /* integrating over the D - 1 coefficients, and the skew of its own, move log_sigma by D/(2N) */
    mean[D - 1] += (double)D / (2 * (double)m->data->N);
}

/* The one that is wanted, or an exact one that was chosen. */
static void assert_sampler(const char *name, const char *wanted) {
    if (strcmp(wanted, "auto") == 0) assert_non_null(strstr(name, "exact-"));
    else assert_string_equal(name, wanted);
}

static void check(const char *sampler, int64_t N, uint64_t data_seed, const char *seed) {
    sgfs_err err;
    double *x = need((size_t)(N * COLS), sizeof *x), *y = need((size_t)N, sizeof *y);
    double mean[COLS + 2], sd[COLS + 2];
    make_house(N, data_seed, x, y);
    const setting settings[] = {
        {"data.standardize", "true"}, {"run.seed", seed}, {"sampler.kind", sampler}, {NULL, NULL}};
    sgfs_config *cfg = config_of(settings);
    sgfs_arrays arrays = {.rows = N, .cols = COLS, .x = x, .y = y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = sgfs_model_open("linear", data, cfg, &err);
    sgfs_run *run = sgfs_run_open(m, cfg, &err);
    if (run == NULL || sgfs_run_all(run, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_int_equal(sgfs_run_close(run, &err), SGFS_OK);
    assert_sampler(run->plan.kinds.name, sampler);
    sgfs_summary *s = sgfsi_summary_new(run->out.memory, 2, &err);
    assert_non_null(s);
    reference(m, mean, sd);
    for (int64_t j = 0; j < s->dim; j++) {
        const sgfs_summary_row *r = &s->row[j];
        /* R-hat: about 1000 effective draws in all. sd: its Monte Carlo error is 1/sqrt(2 ESS),
         * about 2.5 %; at N = 100 the posterior of log_sigma is a little wider than its curvature.
         */
        double z = (r->mean - mean[j]) / sd[j];
        if (r->r_hat > 1.03 || fabs(r->sd / sd[j] - 1) > 0.15 || fabs(z) > 0.25) {
            fail_msg("N %d, data %d, seed %s: %s has R-hat %.3f, sd %.3f of the right one, mean "
                     "off by %.2f sd",
                     (int)N, (int)data_seed, seed, r->name, r->r_hat, r->sd / sd[j], z);
        }
    }
    sgfsi_summary_free(s);
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    free(x);
    free(y);
}

static void test_no_chain_gets_stuck(void **state) {
    (void)state;
    const int64_t rows[] = {100, 500, 2000, 20000};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        for (uint64_t data_seed = 1; data_seed <= 3; data_seed++) {
            check("auto", rows[k], data_seed, "1");
            check("sgfs-f", rows[k], data_seed, "1");
            check("sgfs-f", rows[k], data_seed, "2");
        }
    }
}

/* About 12 positives among 5,000 rows, an intercept and two columns. The reference is the mode and
 * its curvature, not the exact posterior, which is skewed here: hence the wide bounds (15 % in sd,
 * 0.4 sd in the mean). They tell a right run from one that was thrown into saturation (6 times the
 * sd), not a 10 % error. */
static void check_rare(const char *sampler, const char *seed) {
    enum { N = 5000, P = 2 };
    static double x[N * P], y[N];
    sgfs_err err;
    double mode[P + 1], cov[(P + 1) * (P + 1)];
    for (int64_t i = 0; i < N; i++) {
        double u;
        sgfsi_stream s = sgfsi_stream_at(61, 0, i, SGFSI_FEATURES);
        sgfsi_normals(&s, P, x + i * P);
        sgfsi_uniforms(&s, 1, &u);
        y[i] = u < 1 / (1 + exp(6.3 - 0.7 * x[i * P])) ? 1 : 0;
    }
    const setting settings[] = {{"run.seed", seed}, {"sampler.kind", sampler}, {NULL, NULL}};
    sgfs_config *cfg = config_of(settings);
    sgfs_arrays arrays = {.rows = N, .cols = P, .x = x, .y = y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = sgfs_model_open("logistic", data, cfg, &err);
    assert_true(m->events >= 5 && m->events <= 25);
    sgfs_run *run = sgfs_run_open(m, cfg, &err);
    if (run == NULL || sgfs_run_all(run, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_int_equal(sgfs_run_close(run, &err), SGFS_OK);
    assert_sampler(run->plan.kinds.name, sampler);
    sgfs_summary *s = sgfsi_summary_new(run->out.memory, 2, &err);
    assert_int_equal(sgfsi_mode_find(m, NULL, 0, mode, cov, NULL, &err), SGFS_OK);
    for (int64_t j = 0; j < s->dim; j++) {
        double sd = sqrt(cov[j * m->D + j]), z = (s->row[j].mean - mode[j]) / sd;
        if (fabs(s->row[j].sd / sd - 1) > 0.15 || fabs(z) > 0.4 || s->row[j].r_hat > 1.03) {
            fail_msg("seed %s: %s has sd %.3f of the curvature's, mean off by %.2f sd, R-hat %.3f",
                     seed, s->row[j].name, s->row[j].sd / sd, z, s->row[j].r_hat);
        }
    }
    sgfsi_summary_free(s);
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

static void test_rare_events(void **state) {
    (void)state;
    check_rare("auto", "1");
    check_rare("sgfs-f", "1");
    check_rare("sgfs-f", "2");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_chain_gets_stuck),
                                       cmocka_unit_test(test_rare_events)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
