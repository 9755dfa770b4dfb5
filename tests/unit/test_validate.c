/* SPDX-License-Identifier: MIT
 * test_validate.c: the curve of --validate says what the draws of the run say: its points are
 * computed here again from the draws kept, row by row and by the textbook.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/ticker.h"
#include "chain/run.h"
#include "diagnostics/summary.h"
#include "jobs/newrows.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { N = 900, ASIDE = 211, P = 3, DRAWS = 300, CHAINS = 3 };
static const double slope[P] = {0.9, -0.6, 0.3};
static double x[(N + ASIDE) * P], label[N + ASIDE], number[N + ASIDE];
static char path[64];

/* The rows kept aside have their columns in another order, and one more. */
static int make_rows(void **state) {
    (void)state;
    uint64_t s = 1203;
    strcpy(path, "/tmp/sgfs-validate-XXXXXX");
    int fd = mkstemp(path);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f == NULL) return -1;
    fputs("y,z,x3,x1,x2\n", f);
    for (int64_t i = 0; i < N + ASIDE; i++) {
        double eta = 0.4;
        for (int64_t j = 0; j < P; j++) {
            x[i * P + j] = 3 + 2 * next_normal(&s);
            eta += slope[j] * (x[i * P + j] - 3);
        }
        number[i] = eta + 0.7 * next_normal(&s);
        label[i] = 0.5 * (next_number(&s) + 1) < 1 / (1 + exp(-eta)) ? 7 : -2;
    }
    for (int64_t i = N; i < N + ASIDE; i++) {
        const double *row = x + i * P;
        fprintf(f, "%.17g,0.5,%.17g,%.17g,%.17g\n", label[i], row[2], row[0], row[1]);
    }
    return fclose(f);
}

static int remove_rows(void **state) {
    (void)state;
    return unlink(path);
}

/* ---- a run ----------------------------------------------------------------------------------- */

typedef struct fit {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    sgfs_draws *draws;
} fit;

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static fit sample(const char *model, const double *y, const char *threads, const char *thin) {
    fit o = {.cfg = unit_prior_config()};
    sgfs_err err = {SGFS_OK, ""};
    sgfs_arrays arrays = {.rows = N, .cols = P, .x = x, .y = y};
    char draws[24];
    snprintf(draws, sizeof draws, "%d", DRAWS * atoi(thin));
    set(o.cfg, "data.standardize", "true");
    set(o.cfg, "run.chains", "3");
    set(o.cfg, "run.warmup", "150");
    set(o.cfg, "run.draws", draws);
    set(o.cfg, "run.thin", thin);
    set(o.cfg, "run.threads", threads);
    set(o.cfg, "run.validate", path);
    o.data = sgfs_data_wrap(&arrays, o.cfg, &err);
    o.m = sgfs_model_open(model, o.data, o.cfg, &err);
    sgfs_run *run = sgfs_run_open(o.m, o.cfg, &err);
    if (sgfs_run_all(run, &err) != SGFS_OK || sgfs_run_close(run, &err) != SGFS_OK)
        fail_msg("%s", err.text);
    o.draws = sgfs_run_draws(run, &err);
    assert_non_null(o.draws);
    sgfs_run_free(run);
    return o;
}

static void end(fit *o) {
    sgfs_draws_free(o->draws);
    sgfs_model_free(o->m);
    sgfs_data_free(o->data);
    sgfs_config_free(o->cfg);
}

static double predictor(const double *theta, int64_t i) {
    double eta = theta[0];
    for (int64_t j = 0; j < P; j++) eta += theta[j + 1] * x[(N + i) * P + j];
    return eta;
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* Error and log loss of the mean over draws from .. end - 1. */
static void expect_labels(const sgfsi_chain_draws *c, int64_t D, int64_t from, int64_t stop,
                          double *error, double *loss) {
    *error = *loss = 0;
    for (int64_t i = 0; i < ASIDE; i++) {
        double p = 0;
        for (int64_t t = from; t < stop; t++)
            p += 1 / (1 + exp(-predictor(c->theta + t * D, i))) / (double)(stop - from);
        double right = label[N + i] == 7 ? p : 1 - p;
        *error += (right < 0.5) / (double)ASIDE;
        *loss -= log(right) / ASIDE;
    }
}

static void test_the_curve_is_that_of_the_draws(void **state) {
    (void)state;
    fit o = sample("logistic", label, "2", "4");
    for (int64_t k = 0; k < CHAINS; k++) {
        const sgfsi_chain_draws *c = &o.draws->chain[k];
        int64_t warm = 0, D = o.draws->D;
        double before = -1;
        assert_true(c->draws == DRAWS && c->points > 100 && c->points < 450);
        for (int64_t i = 0; i < c->points; i++) {
            const double *q = c->curve + i * SGFSI_POINT;
            int64_t draws = (int64_t)q[SGFSI_POINT_DRAWS];
            double error, loss;
            assert_true(q[SGFSI_POINT_SECONDS] >= before);
            before = q[SGFSI_POINT_SECONDS];
            warm += draws == 0;
            if (draws == 0) {
                assert_true(q[SGFSI_POINT_ITERATION] <= 150 && isnan(q[SGFSI_POINT_ERROR]));
                continue;
            }
            assert_true(q[SGFSI_POINT_ITERATION] == 150 + 4 * (double)draws);
            expect_labels(c, D, 0, draws, &error, &loss);
            assert_near(q[SGFSI_POINT_ERROR], error, 1e-12, "averaged error");
            assert_near(q[SGFSI_POINT_LOSS], loss, 1e-11, "averaged loss");
            expect_labels(c, D, draws - 1, draws, &error, &loss);
            assert_near(q[SGFSI_POINT_ERROR_NOW], error, 1e-12, "error now");
            assert_near(q[SGFSI_POINT_LOSS_NOW], loss, 1e-11, "loss now");
        }
        assert_true(warm > 20 && warm < 60);
        assert_true(c->curve[(c->points - 1) * SGFSI_POINT + SGFSI_POINT_DRAWS] == DRAWS);
    }
    end(&o);
}

static void test_threads_do_not_change_it(void **state) {
    (void)state;
    fit a = sample("logistic", label, "1", "1"), b = sample("logistic", label, "3", "1");
    for (int64_t k = 0; k < CHAINS; k++) {
        const sgfsi_chain_draws *p = &a.draws->chain[k], *q = &b.draws->chain[k];
        assert_int_equal(p->points, q->points);
        for (int64_t i = 0; i < p->points * SGFSI_POINT; i++) {
            if (i % SGFSI_POINT == SGFSI_POINT_SECONDS) continue;
            assert_true(p->curve[i] == q->curve[i] || (isnan(p->curve[i]) && isnan(q->curve[i])));
        }
    }
    end(&a);
    end(&b);
}

static void test_the_summary_shows_its_end(void **state) {
    (void)state;
    fit o = sample("logistic", label, "2", "1");
    sgfs_err err;
    sgfs_summary *s = sgfsi_summary_new(o.draws, 2, &err);
    assert_non_null(s);
    double error = 0, loss = 0;
    int64_t points = 0;
    for (int64_t k = 0; k < CHAINS; k++) {
        const sgfsi_chain_draws *c = &o.draws->chain[k];
        const double *last = c->curve + (c->points - 1) * SGFSI_POINT;
        error += last[SGFSI_POINT_ERROR] / CHAINS;
        loss += last[SGFSI_POINT_LOSS] / CHAINS;
        points += c->points;
    }
    assert_int_equal(s->points, points);
    assert_near(s->error, error, 1e-15, "error");
    assert_near(s->log_loss, loss, 1e-14, "loss");
    assert_true(s->curve[points - 1].chain == CHAINS - 1 && s->curve[points - 1].draws == DRAWS);
    char *json = sgfsi_json_finish(sgfsi_summary_json(s));
    assert_non_null(strstr(json, "\"validation\""));
    sgfs_text_free(json);
    sgfsi_summary_free(s);
    end(&o);
}

/* ---- many rows kept aside -------------------------------------------------------------------- */

/* Column j of row i, and its exposure; its target is 7 or the other one. */
static double cell(int64_t i, int64_t j) {
    return 0.385 + 0.25 * (double)(i % 97) - 0.5 * (double)((i + 13 * j) % 31);
}

static double exposure_of(int64_t i) {
    return 0.25 * (double)(1 + i % 43);
}

static void write_many(char *to, int64_t rows, int other) {
    strcpy(to, "/tmp/sgfs-validate-XXXXXX");
    int fd = mkstemp(to);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    assert_non_null(f);
    fputs("x1,x2,x3,exposure,y\n", f);
    for (int64_t i = 0; i < rows; i++) {
        fprintf(f, "%.17g,%.17g,%.17g,%.17g,%d\n", cell(i, 0), cell(i, 1), cell(i, 2),
                exposure_of(i), i % 7 == 3 ? 7 : other);
    }
    assert_int_equal(fclose(f), 0);
}

/* They are read in blocks of 4096. */
static void test_all_rows_kept_aside_are_there(void **state) {
    (void)state;
    enum { MANY = 2 * 4096 + 385 };
    char many[64];
    double count[N], years[N];
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = unit_prior_config();
    for (int64_t i = 0; i < N; i++) {
        count[i] = (double)(i % 5);
        years[i] = exposure_of(i);
    }
    sgfs_arrays arrays = {.rows = N, .cols = P, .x = x, .y = count, .exposure = years};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = sgfs_model_open("poisson", data, cfg, &err);
    sgfsi_validation_rows aside;
    write_many(many, MANY, 4);
    if (m == NULL || sgfsi_validation_rows_open(&aside, many, m, cfg, &err) != SGFS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(aside.rows.n, MANY);
    for (int64_t i = 0; i < MANY; i++) {
        const double *row = aside.rows.x + i * (P + 1);
        assert_true(row[0] == 1 && aside.rows.y[i] == (i % 7 == 3 ? 7 : 4));
        for (int64_t j = 0; j < P; j++) assert_true(row[1 + j] == cell(i, j));
        assert_true(aside.rows.offset[i] == log(exposure_of(i)));
    }
    aside.free(aside.owner);
    unlink(many);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

/* One chain in one stretch; returns its seconds as a share of those that passed. */
static double share_of_time(const char *many, const char *warmup, const char *draws) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = unit_prior_config();
    sgfs_arrays arrays = {.rows = N, .cols = P, .x = x, .y = label};
    set(cfg, "run.chains", "1");
    set(cfg, "run.threads", "1");
    set(cfg, "run.batch", "10");
    set(cfg, "run.warmup", warmup);
    set(cfg, "run.draws", draws);
    set(cfg, "run.validate", many);
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = sgfs_model_open("logistic", data, cfg, &err);
    sgfs_run *run = sgfs_run_open(m, cfg, &err);
    if (run == NULL) fail_msg("%s", err.text);
    double before = sgfsi_now();
    assert_int_equal(sgfs_run_step(run, 1 << 20, &err), SGFS_OK);
    double passed = sgfsi_now() - before;
    assert_true(sgfs_run_done(run));
    assert_int_equal(sgfs_run_close(run, &err), SGFS_OK);
    sgfs_draws *d = sgfs_run_draws(run, &err);
    assert_non_null(d);
    const sgfsi_chain_draws *c = &d->chain[0];
    double seconds = c->info.warmup_seconds + c->info.sample_seconds;
    assert_true(c->info.warmup_seconds > 0 && c->info.sample_seconds > 0);
    assert_true(c->curve[(c->points - 1) * SGFSI_POINT + SGFSI_POINT_SECONDS] <= seconds);
    sgfs_draws_free(d);
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    return seconds / passed;
}

/* A look at 20,000 rows takes far longer than an iteration on 10: first nearly all looks fall into
 * warm-up, then nearly all behind it. */
static void test_the_chain_is_not_charged_for_validating(void **state) {
    (void)state;
    char many[64];
    write_many(many, 20000, -2);
    double warming = share_of_time(many, "300", "2"), drawing = share_of_time(many, "2", "60");
    unlink(many);
    assert_true(warming < 0.5 && drawing < 0.5);
}

/* ---- numbers, and rows that cannot be used --------------------------------------------------- */

static void test_numbers_have_a_root_mean_square_error(void **state) {
    (void)state;
    fit o =
        sample("linear", number, "2", "1"); /* its rows kept aside hold 7 and -2: large errors */
    const sgfsi_chain_draws *c = &o.draws->chain[1];
    double sum = 0;
    for (int64_t i = 0; i < ASIDE; i++) {
        double mean = 0;
        for (int64_t t = 0; t < DRAWS; t++) mean += predictor(c->theta + t * o.draws->D, i) / DRAWS;
        sum += (label[N + i] - mean) * (label[N + i] - mean) / ASIDE;
    }
    assert_near(c->curve[(c->points - 1) * SGFSI_POINT + SGFSI_POINT_ERROR], sqrt(sum), 1e-10,
                "rmse");
    end(&o);
}

static void test_bad_rows_are_refused_before_the_run(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = unit_prior_config();
    sgfs_arrays arrays = {.rows = N, .cols = P, .x = x, .y = label};
    const char *const names[] = {"x1", "x2", "height"};
    set(cfg, "run.validate", path);
    arrays.names = names;
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = sgfs_model_open("logistic", data, cfg, &err);
    assert_null(sgfs_run_open(m, cfg, &err));
    assert_int_equal(err.code, SGFS_EDATA);
    assert_non_null(strstr(err.text, "height"));
    set(cfg, "run.validate", "/tmp/no such file");
    assert_null(sgfs_run_open(m, cfg, &err));
    assert_int_equal(err.code, SGFS_EIO);
    sgfs_model_free(m);
    sgfs_data_free(data);
    arrays.names = NULL;
    arrays.target_name = "outcome"; /* which the file does not have */
    set(cfg, "run.validate", path);
    data = sgfs_data_wrap(&arrays, cfg, &err);
    m = sgfs_model_open("logistic", data, cfg, &err);
    assert_null(sgfs_run_open(m, cfg, &err));
    assert_int_equal(err.code, SGFS_EDATA);
    assert_non_null(strstr(err.text, "outcome"));
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_curve_is_that_of_the_draws),
        cmocka_unit_test(test_threads_do_not_change_it),
        cmocka_unit_test(test_the_summary_shows_its_end),
        cmocka_unit_test(test_all_rows_kept_aside_are_there),
        cmocka_unit_test(test_the_chain_is_not_charged_for_validating),
        cmocka_unit_test(test_numbers_have_a_root_mean_square_error),
        cmocka_unit_test(test_bad_rows_are_refused_before_the_run),
    };
    return cmocka_run_group_tests(tests, make_rows, remove_rows);
}
