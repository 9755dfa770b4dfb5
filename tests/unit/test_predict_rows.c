/* SPDX-License-Identifier: MIT
 * test_predict_rows.c: rows in memory have the predictions of a file with these rows, bit for bit,
 * also from several threads at once, with nothing but sgfs.h. Under ThreadSanitizer (make
 * test-tsan) it also says that the threads do not meet.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "sgfs.h"
#include "tools/check.h"

enum { N = 1300, COLS = 3, THREADS = 4, MOST = 3 };
static const char *const cities[] = {"Kiel", "Bonn", "Ulm"};

static double X[N * COLS], Y[N], EXPOSURE[N];
static const char *WORDS[N * COLS]; /* column 1 */

static int make_rows(void **state) {
    (void)state;
    uint64_t s = 4171;
    for (int i = 0; i < N; i++) {
        int city = (int)(3 * 0.4999 * (next_number(&s) + 1));
        X[i * COLS] = fabs(3 * next_normal(&s));
        X[i * COLS + 2] = next_normal(&s);
        WORDS[i * COLS + 1] = cities[city];
        EXPOSURE[i] = 1.5 + next_number(&s);
        Y[i] =
            0.6 * log1p(X[i * COLS]) - 0.4 * city + 0.3 * X[i * COLS + 2] + 0.8 * next_normal(&s);
    }
    return 0;
}

/* What model there is, and its target of row i. */
typedef struct kind {
    const char *model;
    bool labels, exposure;
} kind;
static const kind kinds[] = {
    {"linear", false, false}, {"logistic", true, false}, {"poisson", false, true}};

static void write_rows(const char *path, const kind *k) {
    FILE *f = fopen(path, "w");
    fprintf(f, "visits,city,age,years,y\n");
    for (int i = 0; i < N; i++) {
        fprintf(f, "%.17g,%s,%.17g,%.17g,", X[i * COLS], WORDS[i * COLS + 1], X[i * COLS + 2],
                EXPOSURE[i]);
        if (k->labels) fprintf(f, "%s\n", Y[i] > 0 ? "yes" : "no");
        else if (k->exposure) fprintf(f, "%.0f\n", floor(EXPOSURE[i] * exp(0.3 * Y[i])));
        else fprintf(f, "%.17g\n", Y[i]);
    }
    fclose(f);
}

static sgfs_config *options(const kind *k) {
    sgfs_config *cfg = sgfs_config_new();
    const char *const set[][2] = {
        {"data.log1p", "visits"}, {"data.standardize", "true"}, {"data.categorical", "city"},
        {"run.draws", "150"},     {"run.warmup", "100"},        {"run.chains", "2"},
        {"run.threads", "1"},     {"output.overwrite", "true"}, {"data.drop", "years"},
        {"run.seed", "11"},       {"summary.interval", "0.8"}};
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++) {
        bool years = k->exposure && strcmp(set[i][0], "data.drop") == 0;
        assert_int_equal(sgfs_config_set(cfg, years ? "data.exposure" : set[i][0], set[i][1], NULL),
                         SGFS_OK);
    }
    return cfg;
}

typedef struct fitted {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *model;
    sgfs_draws *draws;
} fitted;

static fitted fit(const kind *k) {
    sgfs_err err = {SGFS_OK, ""};
    fitted f = {.cfg = options(k)};
    write_rows("rows_of_memory.csv", k);
    f.data = sgfs_data_open("rows_of_memory.csv", f.cfg, &err);
    f.model = sgfs_model_open(k->model, f.data, f.cfg, &err);
    sgfs_run *run = sgfs_run_open(f.model, f.cfg, &err);
    sgfs_run_all(run, &err);
    sgfs_run_close(run, &err);
    f.draws = sgfs_run_draws(run, &err);
    if (err.code != SGFS_OK) fail_msg("%s", err.text);
    sgfs_run_free(run);
    return f;
}

static void free_fitted(fitted *f) {
    sgfs_draws_free(f->draws);
    sgfs_model_free(f->model);
    sgfs_data_free(f->data);
    sgfs_config_free(f->cfg);
    unlink("rows_of_memory.csv");
}

/* ---- as from a file, from several threads ---------------------------------------------------- */

typedef struct caller {
    pthread_t thread;
    sgfs_job *job;
    bool exposure;
    double mean[N * MOST], quantile[N * MOST * 3];
    sgfs_err err;
} caller;

static void *call(void *user) {
    caller *c = user;
    sgfs_new_rows rows = {.size = sizeof rows,
                          .rows = N,
                          .x = X,
                          .words = WORDS,
                          .exposure = c->exposure ? EXPOSURE : NULL};
    sgfs_predicted out = {.size = sizeof out, .mean = c->mean, .quantile = c->quantile};
    for (int again = 0; again < 3; again++)
        if (sgfs_predict_rows(c->job, &rows, &out, &c->err) != SGFS_OK) break;
    return NULL;
}

/* The numbers of a line: of labels a word, then mean and quantiles of each; else mean and
 * quantiles. */
static void compare_with_file(const caller *c, int64_t outputs, bool labels) {
    char line[600];
    FILE *f = fopen("rows_predicted.csv", "r");
    assert_non_null(fgets(line, sizeof line, f));
    for (int i = 0; i < N; i++) {
        assert_non_null(fgets(line, sizeof line, f));
        char *at = labels ? strchr(line, ',') + 1 : line;
        for (int64_t k = 0; k < outputs; k++) {
            assert_true(strtod(at, &at) == c->mean[i * outputs + k]);
            for (int j = 0; j < 3; j++)
                assert_true(strtod(at + 1, &at) == c->quantile[(i * outputs + k) * 3 + j]);
            at++;
        }
    }
    fclose(f);
    unlink("rows_predicted.csv");
}

static void test_memory_predicts_as_a_file_does(void **state) {
    (void)state;
    static caller c[THREADS];
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        sgfs_err err = {SGFS_OK, ""};
        fitted f = fit(&kinds[k]);
        sgfs_job *job = sgfs_predict_open(f.draws, NULL, NULL, NULL, f.cfg, &err);
        if (job == NULL) fail_msg("%s", err.text);
        const sgfs_prediction *p = sgfs_job_result(job);
        assert_int_equal(p->columns, COLS);
        assert_string_equal(p->column[0].name, "visits");
        assert_string_equal(p->column[1].name, "city");
        assert_int_equal(p->column[1].words, 3);
        assert_int_equal(p->column[2].words, 0);
        assert_int_equal(p->outputs, kinds[k].labels ? 2 : 1);
        if (kinds[k].labels) assert_string_equal(p->label[1].name, "yes");
        assert_int_equal(p->exposure, kinds[k].exposure);
        memset(c, 0, sizeof c);
        for (int t = 0; t < THREADS; t++) {
            c[t].job = job;
            c[t].exposure = kinds[k].exposure;
            assert_int_equal(pthread_create(&c[t].thread, NULL, call, &c[t]), 0);
        }
        for (int t = 0; t < THREADS; t++) {
            pthread_join(c[t].thread, NULL);
            if (c[t].err.code != SGFS_OK) fail_msg("%s", c[t].err.text);
            assert_memory_equal(c[t].mean, c[0].mean, sizeof c[t].mean);
            assert_memory_equal(c[t].quantile, c[0].quantile, sizeof c[t].quantile);
        }
        sgfs_job *file = sgfs_predict_open(f.draws, NULL, "rows_of_memory.csv",
                                           "rows_predicted.csv", f.cfg, &err);
        if (sgfs_job_run(file, &err) != SGFS_OK) fail_msg("%s", err.text);
        compare_with_file(&c[0], p->outputs, kinds[k].labels);
        assert_int_equal(sgfs_job_run(job, &err), SGFS_EUSAGE); /* there is no file */
        sgfs_job_free(file);
        sgfs_job_free(job);
        free_fitted(&f);
    }
}

/* ---- one row --------------------------------------------------------------------------------- */

static sgfs_status predict_one(sgfs_job *job, double visits, const char *city, double age,
                               sgfs_predicted *out, sgfs_err *err) {
    const double x[COLS] = {visits, NAN, age};
    const char *const words[COLS] = {NULL, city, NULL};
    const sgfs_new_rows row = {.size = sizeof row, .rows = 1, .x = x, .words = words};
    return sgfs_predict_rows(job, &row, out, err);
}

/* A word has a number, too; what cannot be used is named; what is allowed is counted. */
static void test_cells_that_are_odd(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    double mean, number, q[3];
    fitted f = fit(&kinds[0]);
    sgfs_predicted out = {.size = sizeof out, .mean = &mean, .quantile = q};
    sgfs_job *job = sgfs_predict_open(f.draws, NULL, NULL, NULL, f.cfg, &err);
    const sgfs_prediction *p = sgfs_job_result(job);
    assert_int_equal(predict_one(job, 2, "Ulm", 0.3, &out, &err), SGFS_OK);
    assert_true(q[0] < mean && mean < q[2] && out.new_words == 0 && out.missing == 0);
    for (int64_t k = 0; k < p->column[1].words; k++) {
        if (strcmp(p->column[1].word[k], "Ulm") != 0) continue;
        const double x[COLS] = {2, (double)k, 0.3};
        const sgfs_new_rows row = {.size = sizeof row, .rows = 1, .x = x};
        sgfs_predicted same = {.size = sizeof same, .mean = &number};
        assert_int_equal(sgfs_predict_rows(job, &row, &same, &err), SGFS_OK);
        assert_true(number == mean);
    }
    assert_int_equal(predict_one(job, 2, "Jena", 0.3, &out, &err), SGFS_EDATA);
    assert_non_null(strstr(err.text, "row 0: column \"city\" holds \"Jena\""));
    assert_int_equal(predict_one(job, 2, NULL, 0.3, &out, &err), SGFS_EDATA);
    assert_int_equal(predict_one(job, NAN, "Ulm", 0.3, &out, &err), SGFS_EDATA);
    assert_non_null(strstr(err.text, "column \"visits\" is not a finite number"));
    assert_int_equal(predict_one(job, -3, "Ulm", 0.3, &out, &err), SGFS_EDATA); /* log1p */
    assert_non_null(strstr(err.text, "sgfs_predict_rows: row 0:"));
    out.size = 8;
    assert_int_equal(predict_one(job, 2, "Ulm", 0.3, &out, &err), SGFS_EUSAGE);
    out.size = sizeof out;
    sgfs_job_free(job);
    assert_int_equal(sgfs_config_set(f.cfg, "data.new_words", "zero", &err), SGFS_OK);
    assert_int_equal(sgfs_config_set(f.cfg, "data.na", "drop", &err), SGFS_OK);
    job = sgfs_predict_open(f.draws, NULL, NULL, NULL, f.cfg, &err);
    if (job == NULL) fail_msg("%s", err.text);
    assert_int_equal(predict_one(job, 2, "Jena", 0.3, &out, &err), SGFS_OK);
    assert_true(out.new_words == 1 && out.missing == 0 && isfinite(mean));
    assert_int_equal(predict_one(job, NAN, "Ulm", 0.3, &out, &err), SGFS_OK);
    assert_true(out.new_words == 0 && out.missing == 1 && isnan(mean) && isnan(q[1]));
    sgfs_job_free(job);
    free_fitted(&f);
}

/* ---- groups ---------------------------------------------------------------------------------- */

enum { G_ROWS = 90 };

static void write_groups(const char *path) {
    FILE *f = fopen(path, "w");
    fprintf(f, "age,city,box,y\n");
    for (int i = 0; i < G_ROWS; i++)
        fprintf(f, "%.17g,%s,%d,%.17g\n", X[i * COLS + 2], WORDS[i * COLS + 1], 7 * (i % 4), Y[i]);
    fclose(f);
}

/* A row in memory is in the group that a file would put it in; what groups rows stands behind the
 * other columns. */
static void test_rows_in_memory_have_their_groups(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = sgfs_config_new();
    const char *const set[][2] = {{"data.formula", "y ~ age + (1 + age | city) + (1 | box)"},
                                  {"run.draws", "60"},
                                  {"run.warmup", "50"},
                                  {"run.chains", "2"},
                                  {"run.threads", "1"},
                                  {"output.overwrite", "true"}};
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        assert_int_equal(sgfs_config_set(cfg, set[i][0], set[i][1], &err), SGFS_OK);
    write_groups("rows_of_memory.csv");
    sgfs_data *data = sgfs_data_open("rows_of_memory.csv", cfg, &err);
    sgfs_model *model = sgfs_model_open("linear", data, cfg, &err);
    sgfs_run *run = sgfs_run_open(model, cfg, &err);
    sgfs_run_all(run, &err);
    sgfs_run_close(run, &err);
    sgfs_draws *draws = sgfs_run_draws(run, &err);
    sgfs_job *job = sgfs_predict_open(draws, NULL, NULL, NULL, cfg, &err);
    if (job == NULL) fail_msg("%s", err.text);
    const sgfs_prediction *p = sgfs_job_result(job);
    assert_int_equal(p->columns, 3);
    assert_string_equal(p->column[1].name, "city");
    assert_int_equal(p->column[1].words, 3);
    assert_string_equal(p->column[2].name, "box");
    static double x[G_ROWS * COLS], mean[G_ROWS];
    static const char *words[G_ROWS * COLS];
    for (int i = 0; i < G_ROWS; i++) {
        x[i * COLS] = X[i * COLS + 2];
        words[i * COLS + 1] = WORDS[i * COLS + 1];
    }
    static char box[4][8] = {"0", "7", "14", "21"}; /* from a CSV file, groups are words */
    assert_int_equal(p->column[2].words, 4);
    for (int i = 0; i < G_ROWS; i++) words[i * COLS + 2] = box[i % 4];
    sgfs_new_rows rows = {.size = sizeof rows, .rows = G_ROWS, .x = x, .words = words};
    sgfs_predicted out = {.size = sizeof out, .mean = mean};
    if (sgfs_predict_rows(job, &rows, &out, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_int_equal(out.new_groups, 0);
    sgfs_job *file =
        sgfs_predict_open(draws, NULL, "rows_of_memory.csv", "rows_predicted.csv", cfg, &err);
    if (sgfs_job_run(file, &err) != SGFS_OK) fail_msg("%s", err.text);
    FILE *f = fopen("rows_predicted.csv", "r");
    char line[600];
    assert_non_null(fgets(line, sizeof line, f));
    for (int i = 0; i < G_ROWS; i++) {
        assert_non_null(fgets(line, sizeof line, f));
        assert_true(strtod(line, NULL) == mean[i]);
    }
    fclose(f);
    sgfs_job_free(file);
    /* a group that is new, by its word or as none of the numbers */
    words[1] = "Jena";
    rows.rows = 2;
    assert_int_equal(sgfs_predict_rows(job, &rows, &out, &err), SGFS_OK);
    assert_true(out.new_groups == 1 && out.new_words == 0);
    sgfs_job_free(job);
    assert_int_equal(sgfs_config_set(cfg, "predict.new_groups", "refuse", &err), SGFS_OK);
    job = sgfs_predict_open(draws, NULL, NULL, NULL, cfg, &err);
    assert_int_equal(sgfs_predict_rows(job, &rows, &out, &err), SGFS_EDATA);
    assert_non_null(strstr(err.text, "row 0: group \"Jena\" of \"city\""));
    sgfs_job_free(job);
    sgfs_draws_free(draws);
    sgfs_run_free(run);
    sgfs_model_free(model);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    unlink("rows_of_memory.csv");
    unlink("rows_predicted.csv");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory_predicts_as_a_file_does),
                                       cmocka_unit_test(test_cells_that_are_odd),
                                       cmocka_unit_test(test_rows_in_memory_have_their_groups)};
    return cmocka_run_group_tests(tests, make_rows, NULL);
}
