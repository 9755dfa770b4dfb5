/* SPDX-License-Identifier: MIT
 * test_coverage.c: are posterior predictive statements true as often as they say?
 *
 * Parameters from the prior, a small training set from the parameters, new rows from the same
 * parameters: over that joint distribution a 90 % predictive interval holds the new target in 90 %
 * of cases and rows predicted with probability p are 1 in a share p of cases, exactly, whatever the
 * size of the training set. Twelve rows for four columns leave the parameters in doubt: intervals
 * that forget it (one draw, or the mean of the draws, in place of all) are found out; the test
 * makes sure of that.
 *
 * Monte Carlo: replicates are independent, rows of one are not, so standard errors are those of the
 * mean over replicates. The limit 4 has a false-alarm rate of 6e-5 a comparison; seeds are fixed.
 * Quantiles of S draws cover 0.9 (S - 1)/(S + 1): that, not 0.9, is expected.
 */
#include <stdio.h>
#include <unistd.h>

#include "jobs/predict/predict.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { REPLICATES = 300, TRAINING = 12, NEW = 60, P = 3, S = 600 };
static const double z_most = 4;

static const char *const names[P] = {"a", "b", "c"};

typedef struct truth {
    double beta[P + 1], sigma;
} truth;

/* From the prior: every parameter N(0, 1), log sigma too. */
static truth draw_truth(uint64_t *seed) {
    truth t;
    for (int j = 0; j <= P; j++) t.beta[j] = next_normal(seed);
    t.sigma = exp(next_normal(seed));
    return t;
}

static void draw_row(const truth *t, bool labels, uint64_t *seed, double *x, double *y) {
    double eta = t->beta[0];
    for (int j = 0; j < P; j++) {
        x[j] = next_normal(seed);
        eta += t->beta[j + 1] * x[j];
    }
    *y = labels ? (0.5 * (next_number(seed) + 1) < 1 / (1 + exp(-eta)) ? 1 : 0)
                : eta + t->sigma * next_normal(seed);
}

/* Training rows that a model can be fitted to: both labels among them. Leaving out the others is
 * no bias for the new rows given the training rows. */
static void draw_training(truth *t, bool labels, uint64_t *seed, double *x, double *y) {
    for (double ones = 0; labels ? ones < 1 || ones > TRAINING - 1 : ones < 1;) {
        *t = draw_truth(seed);
        ones = labels ? 0 : 1;
        for (int i = 0; i < TRAINING; i++) {
            draw_row(t, labels, seed, x + i * P, &y[i]);
            if (labels) ones += y[i];
        }
    }
}

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static sgfs_draws *sample(const char *model, const double *x, const double *y, sgfs_config *cfg) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_arrays a = {.rows = TRAINING, .cols = P, .x = x, .y = y, .names = names};
    sgfs_data *data = sgfs_data_wrap(&a, cfg, &err);
    sgfs_model *m = sgfs_model_open(model, data, cfg, &err);
    sgfs_run *run = m != NULL ? sgfs_run_open(m, cfg, &err) : NULL;
    if (run == NULL || sgfs_run_all(run, &err) != SGFS_OK) fail_msg("%s", err.text);
    sgfs_draws *draws = sgfs_run_draws(run, &err);
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(data);
    return draws;
}

static void write_rows(const truth *t, bool labels, uint64_t *seed) {
    FILE *f = fopen("coverage_rows.csv", "w");
    assert_non_null(f);
    fprintf(f, "a,b,c,y\n");
    for (int i = 0; i < NEW; i++) {
        double x[P], y;
        draw_row(t, labels, seed, x, &y);
        fprintf(f, "%.17g,%.17g,%.17g,%.17g\n", x[0], x[1], x[2], y);
    }
    fclose(f);
}

static sgfs_config *config(void) {
    sgfs_config *cfg = unit_prior_config();
    assert_non_null(cfg);
    set(cfg, "sampler.kind", "nuts");
    set(cfg, "run.chains", "1");
    set(cfg, "run.warmup", "300");
    set(cfg, "run.draws", "600");
    set(cfg, "run.threads", "1");
    return cfg;
}

/* Predict the new rows; draws: how many, "auto" is all. */
static sgfs_prediction predict(const sgfs_draws *draws, sgfs_config *cfg, const char *count) {
    sgfs_err err = {SGFS_OK, ""};
    set(cfg, "predict.draws", count);
    sgfs_job *p = sgfs_predict_open(draws, NULL, "coverage_rows.csv", NULL, cfg, &err);
    if (sgfs_job_run(p, &err) != SGFS_OK) fail_msg("%s", err.text);
    sgfs_prediction r = *(const sgfs_prediction *)sgfs_job_result(p);
    sgfs_job_free(p);
    return r;
}

static double z_of(const sgfsi_mean_se *m, double wanted) {
    return (sgfsi_mean_se_mean(m) - wanted) / sgfsi_mean_se_se(m);
}

static void test_linear_intervals_cover_what_they_say(void **state) {
    (void)state;
    uint64_t seed = 90385;
    sgfsi_mean_se inside = {0}, under[3] = {{0}}, pit[10] = {{0}}, plug_in = {0};
    sgfs_config *cfg = config();
    for (int r = 0; r < REPLICATES; r++) {
        truth t;
        double x[TRAINING * P], y[TRAINING];
        draw_training(&t, false, &seed, x, y);
        sgfs_draws *draws = sample("linear", x, y, cfg);
        write_rows(&t, false, &seed);
        sgfs_prediction p = predict(draws, cfg, "auto");
        sgfsi_mean_se_add(&inside, 1, p.coverage);
        for (int k = 0; k < 3; k++) sgfsi_mean_se_add(&under[k], 1, p.under[k]);
        for (int b = 0; b < 10; b++) sgfsi_mean_se_add(&pit[b], 1, (double)p.pit[b] / NEW);
        /* A plug-in: the mean of the draws, as many times over. */
        const double *theta = sgfs_draws_chain(draws, 0);
        for (int64_t s = 1; s < S; s++) {
            for (int j = 0; j < draws->D; j++)
                draws->chain[0].theta[j] += (theta[s * draws->D + j] - theta[j]) / (double)(s + 1);
        }
        for (int64_t s = 1; s < S; s++)
            memcpy(draws->chain[0].theta + s * draws->D, theta, (size_t)draws->D * sizeof *theta);
        sgfsi_mean_se_add(&plug_in, 1, predict(draws, cfg, "auto").coverage);
        sgfs_draws_free(draws);
    }
    double expected = 0.9 * (S - 1) / (S + 1);
    print_message("coverage %.4f +- %.4f (plug-in: %.4f)\n", inside.mean, sgfsi_mean_se_se(&inside),
                  plug_in.mean);
    assert_true(sgfsi_mean_se_se(&inside) < 0.02 / 3); /* so that 2 % would be seen */
    assert_true(fabs(inside.mean - 0.9) < 0.02);
    assert_true(fabs(z_of(&inside, expected)) < z_most);
    assert_true(fabs(z_of(&under[0], 0.05)) < z_most);
    assert_true(fabs(z_of(&under[1], 0.5)) < z_most);
    assert_true(fabs(z_of(&under[2], 0.95)) < z_most);
    for (int b = 0; b < 10; b++) assert_true(fabs(z_of(&pit[b], 0.1)) < z_most);
    assert_true(z_of(&plug_in, expected) < -z_most); /* or the test could not tell */
    unlink("coverage_rows.csv");
    sgfs_config_free(cfg);
}

/* In every bin observed less predicted is 0 but for chance. The mean of the draws' parameters, in
 * place of the mean of their probabilities, is too sure of itself. */
static void test_logistic_probabilities_come_true(void **state) {
    (void)state;
    uint64_t seed = 71385;
    sgfsi_mean_se gap[10] = {{0}}, sure = {0};
    sgfs_config *cfg = config();
    for (int r = 0; r < REPLICATES; r++) {
        truth t;
        double x[TRAINING * P], y[TRAINING];
        draw_training(&t, true, &seed, x, y);
        sgfs_draws *draws = sample("logistic", x, y, cfg);
        write_rows(&t, true, &seed);
        for (int one = 0; one < 2; one++) {
            sgfs_prediction p = predict(draws, cfg, one ? "1" : "auto");
            double all = 0;
            for (int b = 0; b < 10; b++) {
                double rows = (double)p.bin[b].rows;
                double d = rows > 0 ? rows * (p.bin[b].observed - p.bin[b].predicted) : 0;
                if (!one) sgfsi_mean_se_add(&gap[b], 1, d);
                all += b < 5 ? d : -d; /* one draw: too low below, too high above */
            }
            if (one) sgfsi_mean_se_add(&sure, 1, all);
        }
        sgfs_draws_free(draws);
    }
    for (int b = 0; b < 10; b++) {
        print_message("bin %d: %.3f rows too many, z %.2f\n", b, gap[b].mean, z_of(&gap[b], 0));
        assert_true(fabs(z_of(&gap[b], 0)) < z_most);
    }
    assert_true(z_of(&sure, 0) > z_most); /* or the test could not tell */
    unlink("coverage_rows.csv");
    sgfs_config_free(cfg);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_intervals_cover_what_they_say),
        cmocka_unit_test(test_logistic_probabilities_come_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
