/* SPDX-License-Identifier: MIT
 * test_resume.c: a run that a program takes up again, with rows that it hands over as arrays: they
 * have to be those that the run was made with. How often states are saved where that is slow. And
 * runs that are stopped at their last draw.
 * What a user sees of going on is in tests/cli/test_resume.py.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/ticker.h"
#include "chain/resume.h"
#include "tools/check.h"

enum { ROWS = 400, COLS = 3, WIDE = 1000 };

static char path[64];

/* ---- a disk that is slow --------------------------------------------------------------------- */

static double slowness; /* seconds of each fsync */

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
    struct timespec nap = {0, (long)(1e9 * slowness)};
    if (slowness > 0) nanosleep(&nap, NULL);
    return __real_fsync(fd);
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct rows {
    int64_t n, cols;
    double *x, *y, *weights;
    float *x32;
    int64_t start[ROWS + 1];
    int32_t col[ROWS];
    double value[ROWS];
    int kind; /* 0: x, 1: x32, 2: sparse */
} rows;

static rows make_rows(int64_t n, int64_t cols, int kind) {
    uint64_t seed = 2385;
    rows r = {.n = n, .cols = cols, .kind = kind};
    r.x = calloc((size_t)(n * cols), sizeof *r.x);
    r.x32 = calloc((size_t)(n * cols), sizeof *r.x32);
    r.y = calloc((size_t)n, sizeof *r.y);
    r.weights = calloc((size_t)n, sizeof *r.weights);
    assert_true(r.x != NULL && r.x32 != NULL && r.y != NULL && r.weights != NULL);
    for (int64_t i = 0; i < n * cols; i++) r.x32[i] = (float)(r.x[i] = next_number(&seed));
    for (int64_t i = 0; i < n; i++) {
        r.y[i] = next_number(&seed) + r.x[i * cols] > 0;
        r.weights[i] = 1 + (double)(i % 3);
        if (kind != 2) continue;
        r.start[i + 1] = i + 1;
        r.col[i] = (int32_t)(i % cols);
        r.value[i] = r.x[i];
    }
    return r;
}

static void free_rows(rows *r) {
    free(r->x);
    free(r->x32);
    free(r->y);
    free(r->weights);
}

static sgfs_config *options(void) {
    sgfs_config *cfg = sgfs_config_new();
    const char *const set[][2] = {{"sampler.kind", "sgld"}, {"sampler.epsilon", "1e-5"},
                                  {"run.chains", "1"},      {"run.threads", "1"},
                                  {"run.warmup", "5"},      {"run.draws", "40"},
                                  {"run.thin", "1"},        {"output.overwrite", "true"}};
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        assert_int_equal(sgfs_config_set(cfg, set[i][0], set[i][1], NULL), SGFS_OK);
    return cfg;
}

/* Begin a run, or go on with it, for ten iterations; what comes of it. */
static sgfs_status walk(const rows *r, bool resume, sgfs_err *err) {
    sgfs_config *cfg = options();
    sgfs_arrays arrays = {.rows = r->n, .cols = r->cols, .y = r->y, .weights = r->weights};
    if (r->kind == 0) arrays.x = r->x;
    if (r->kind == 1) arrays.x32 = r->x32;
    if (r->kind == 2) {
        arrays.csr_start = r->start;
        arrays.csr_col = r->col;
        arrays.csr_value = r->value;
    }
    *err = (sgfs_err){SGFS_OK, ""};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, err);
    sgfs_model *model = sgfs_model_open("logistic", data, cfg, err);
    sgfs_run *run =
        resume ? sgfs_run_resume(model, path, cfg, err) : sgfs_run_open(model, cfg, err);
    sgfs_status status = run != NULL ? SGFS_OK : err->code;
    if (status == SGFS_OK && !resume) status = sgfs_run_attach(run, path, err);
    if (status == SGFS_OK) status = sgfs_run_step(run, 10, err);
    if (status == SGFS_OK) status = sgfs_run_close(run, err);
    sgfs_run_free(run);
    sgfs_model_free(model);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    return status;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void exchange(double *a, double *b) {
    double kept = *a;
    *a = *b;
    *b = kept;
}

/* Means and spreads stay as they were: nothing but the checksum can tell. */
static void test_arrays_have_to_be_those_that_the_run_had(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        sgfs_err err;
        rows r = make_rows(ROWS, COLS, kind);
        int64_t one = 0, zero = 0;
        while (r.y[one] != 1) one++;
        while (r.y[zero] != 0 || r.weights[zero] != r.weights[one]) zero++;
        if (walk(&r, false, &err) != SGFS_OK) fail_msg("%s", err.text);
        exchange(&r.y[one], &r.y[zero]);
        assert_int_equal(walk(&r, true, &err), SGFS_ERUNFILE);
        assert_non_null(strstr(err.text, "data are not those"));
        exchange(&r.y[one], &r.y[zero]);
        if (walk(&r, true, &err) != SGFS_OK) fail_msg("%s", err.text);

        float kept = r.x32[4];
        exchange(&r.weights[0], &r.weights[1]);
        assert_int_equal(walk(&r, true, &err), SGFS_ERUNFILE);
        exchange(&r.weights[0], &r.weights[1]);
        exchange(&r.x[4], &r.x[7]); /* two rows of one column */
        exchange(&r.value[4], &r.value[7]);
        r.x32[4] = r.x32[7];
        r.x32[7] = kept;
        assert_int_equal(walk(&r, true, &err), SGFS_ERUNFILE);
        free_rows(&r);
    }
}

/* Of large arrays not every row is looked at, but every target. */
static void test_one_target_of_large_arrays(void **state) {
    (void)state;
    sgfs_err err;
    rows r = make_rows(6000, WIDE, 0); /* 48 MB */
    if (walk(&r, false, &err) != SGFS_OK) fail_msg("%s", err.text);
    if (walk(&r, true, &err) != SGFS_OK) fail_msg("%s", err.text);
    int64_t one = 4001, zero = 4001;
    while (r.y[one] != 1) one++;
    while (r.y[zero] != 0 || r.weights[zero] != r.weights[one]) zero++;
    exchange(&r.y[one], &r.y[zero]);
    assert_int_equal(walk(&r, true, &err), SGFS_ERUNFILE);
    free_rows(&r);
}

static void write_csv(const char *csv, const rows *r) {
    FILE *f = fopen(csv, "w");
    assert_non_null(f);
    fputs("a,b,y\n", f);
    for (int64_t i = 0; i < r->n; i++)
        fprintf(f, "%.3f,%.3f,%d\n", r->x[i * r->cols], r->x[i * r->cols + 1], (int)r->y[i]);
    assert_int_equal(fclose(f), 0);
}

/* Whoever owns the loop has nobody who looks at the files meanwhile. */
static void test_files_are_looked_at_before_the_last_state(void **state) {
    (void)state;
    char csv[80];
    sgfs_err err = {SGFS_OK, ""};
    rows r = make_rows(ROWS, COLS, 0);
    int64_t one = 0, zero = 0;
    while (r.y[one] != 1) one++;
    while (r.y[zero] != 0) zero++;
    snprintf(csv, sizeof csv, "%s.csv", path);
    write_csv(csv, &r);
    sgfs_config *cfg = options();
    sgfs_data *data = sgfs_data_open(csv, cfg, &err);
    sgfs_model *model = sgfs_model_open("logistic", data, cfg, &err);
    sgfs_run *run = sgfs_run_open(model, cfg, &err);
    assert_int_equal(sgfs_run_attach(run, path, &err), SGFS_OK);
    assert_int_equal(sgfs_run_step(run, 10, &err), SGFS_OK);
    exchange(&r.y[one], &r.y[zero]);
    write_csv(csv, &r);
    assert_int_equal(sgfs_run_close(run, &err), SGFS_EIO);
    assert_non_null(strstr(err.text, "changed"));
    sgfs_run_free(run);
    sgfs_draws *kept = sgfs_draws_open(path, &err); /* of which posterior would they be? */
    assert_non_null(kept);
    assert_int_equal(sgfs_draws_size(kept).draws, 0);
    sgfs_draws_free(kept);
    sgfs_model_free(model);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    free_rows(&r);
    unlink(csv);
}

/* At most a hundredth of the time, whatever a state costs; a disk that was busy once is
 * forgiven. */
static void test_slow_states_are_saved_less_often(void **state) {
    (void)state;
    rows r = make_rows(ROWS, COLS, 0);
    sgfs_config *cfg = options();
    const sgfs_arrays arrays = {.rows = r.n, .cols = r.cols, .x = r.x, .y = r.y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
    sgfs_model *model = sgfs_model_open("logistic", data, cfg, NULL);
    sgfs_run *run = sgfs_run_open(model, cfg, NULL);
    assert_int_equal(sgfs_run_attach(run, path, NULL), SGFS_OK);
    slowness = 0.8;
    for (int k = 0; k < 2; k++) assert_int_equal(sgfsi_run_save(run, NULL), SGFS_OK);
    assert_true(run->next_save - sgfsi_now() > 75);
    slowness = 0;
    assert_int_equal(sgfsi_run_save(run, NULL), SGFS_OK);
    assert_true(run->next_save - sgfsi_now() < 70);
    slowness = 0.8;
    assert_int_equal(sgfsi_run_save(run, NULL), SGFS_OK);
    assert_true(run->next_save - sgfsi_now() < 70);
    slowness = 0;
    sgfs_run_free(run);
    sgfs_model_free(model);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    free_rows(&r);
}

/* ---- stopped at the very end ----------------------------------------------------------------- */

static void stop_at_the_end(const sgfs_progress *p, void *run) {
    if (p->fraction >= 1) sgfsi_stop_ask(&((sgfs_run *)run)->stop);
}

static void finish(const sgfs_model *m, const sgfs_config *cfg, bool resume, bool stops,
                   sgfs_status expected) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_run *run = resume ? sgfs_run_resume(m, path, cfg, &err) : sgfs_run_open(m, cfg, &err);
    if (run == NULL || (!resume && sgfs_run_attach(run, path, &err) != SGFS_OK))
        fail_msg("%s", err.text);
    sgfs_config_on_progress(run->cfg, stops ? stop_at_the_end : NULL, run); /* and cfg's */
    sgfs_status status = sgfs_run_all(run, &err), closed = sgfs_run_close(run, &err);
    if ((status != SGFS_OK ? status : closed) != expected)
        fail_msg("%d, %d: %s", status, closed, err.text);
    sgfs_run_free(run);
}

/* What the file says, without its times. */
static sgfs_draws *outcome(const sgfs_config *cfg, char **spread) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_draws *draws = sgfs_draws_open(path, &err);
    sgfs_job *job = sgfs_summary_open(draws, cfg, &err);
    if (job == NULL || sgfs_job_run(job, &err) != SGFS_OK) fail_msg("%s", err.text);
    char *json = sgfs_job_json(job), *at = json != NULL ? strstr(json, "\"sd_curvature\"") : NULL;
    assert_non_null(at);
    *spread = strndup(at, 40);
    sgfs_text_free(json);
    sgfs_job_free(job);
    return draws;
}

/* All planned draws are made, but whether they are enough is not known (--ess), or how wide they
 * should be (the check of the spread): that is no complete run, and going on makes it one. */
static void test_a_stop_at_the_last_draw_is_no_complete_run(void **state) {
    (void)state;
    const char *const set[][2] = {{"sgld", "3000"}, {"nuts", "0"}, {"nuts", "3000"}};
    rows r = make_rows(ROWS, COLS, 0);
    for (size_t k = 0; k < sizeof set / sizeof set[0]; k++) {
        sgfs_config *cfg = options();
        assert_int_equal(sgfs_config_set(cfg, "sampler.kind", set[k][0], NULL), SGFS_OK);
        assert_int_equal(sgfs_config_set(cfg, "run.ess", set[k][1], NULL), SGFS_OK);
        const sgfs_arrays arrays = {.rows = r.n, .cols = r.cols, .x = r.x, .y = r.y};
        sgfs_data *data = sgfs_data_wrap(&arrays, cfg, NULL);
        sgfs_model *model = sgfs_model_open("logistic", data, cfg, NULL);
        char *spread[2];
        finish(model, cfg, false, false, SGFS_OK);
        sgfs_draws *whole = outcome(cfg, &spread[0]);
        finish(model, cfg, false, true, SGFS_ESTOPPED);
        finish(model, cfg, true, false, SGFS_OK);
        sgfs_draws *taken_up = outcome(cfg, &spread[1]);
        sgfs_draws_shape size = sgfs_draws_size(whole);
        assert_int_equal(sgfs_draws_size(taken_up).draws, size.draws);
        assert_memory_equal(sgfs_draws_chain(taken_up, 0), sgfs_draws_chain(whole, 0),
                            (size_t)(size.draws * size.dim) * sizeof(double));
        assert_string_equal(spread[0], spread[1]);
        for (int i = 0; i < 2; i++) free(spread[i]);
        sgfs_draws_free(whole);
        sgfs_draws_free(taken_up);
        sgfs_model_free(model);
        sgfs_data_free(data);
        sgfs_config_free(cfg);
    }
    free_rows(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stop_at_the_last_draw_is_no_complete_run),
        cmocka_unit_test(test_arrays_have_to_be_those_that_the_run_had),
        cmocka_unit_test(test_one_target_of_large_arrays),
        cmocka_unit_test(test_files_are_looked_at_before_the_last_state),
        cmocka_unit_test(test_slow_states_are_saved_less_often),
    };
    snprintf(path, sizeof path, "test_resume_%ld.run", (long)getpid());
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
