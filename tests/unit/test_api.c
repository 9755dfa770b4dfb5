/* SPDX-License-Identifier: MIT
 * test_api.c: the public interface from C, with the caller's own arrays and nothing but sgfs.h.
 * Under AddressSanitizer it also says that nothing leaks, whatever fails.
 *
 * The posterior used here has a closed form: y = x'beta + e, e ~ N(0, sigma^2) known, beta ~
 * N(0, I/lambda), so beta | y ~ N(A^-1 X'y/sigma^2, A^-1), A = X'X/sigma^2 + lambda I. Means must
 * lie within 5 Monte Carlo standard errors (the summary's own), standard deviations within 10 %:
 * with an effective sample size of 1,000 or more, asserted, the error of an sd is 1/sqrt(2000) or
 * 2.3 %, so 10 % is more than 4 standard errors.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sgfs.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { N = 2000, P = 2, D = 3 }; /* two columns and the intercept */

static double X[N * P], Y[N];
static float X32[N * P];
static const char *const names[P] = {"dose", "age"};

static int make_data(void **state) {
    (void)state;
    uint64_t s = 31;
    for (int i = 0; i < N; i++) {
        double a = next_normal(&s), b = 0.7 * a + 0.714 * next_normal(&s);
        X[i * P] = a;
        X[i * P + 1] = b;
        X32[i * P] = (float)a;
        X32[i * P + 1] = (float)b;
        Y[i] = 0.417 + 1.31 * a - 0.583 * b + 0.871 * next_normal(&s);
    }
    return 0;
}

static sgfs_arrays arrays(void) {
    return (sgfs_arrays){.rows = N, .cols = P, .x = X, .y = Y, .names = names};
}

/* ---- a whole analysis ------------------------------------------------------------------------ */

typedef struct analysis {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *model;
    sgfs_run *run;
} analysis;

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static analysis open_analysis(const char *seed, const char *sampler) {
    sgfs_err err = {0};
    sgfs_arrays a = arrays();
    analysis k = {.cfg = unit_prior_config()};
    assert_non_null(k.cfg);
    set(k.cfg, "model.sigma", "0.871");
    set(k.cfg, "sampler.kind", sampler);
    set(k.cfg, "run.seed", seed);
    if (strncmp(sampler, "sgfs", 4) == 0) set(k.cfg, "sampler.alpha", "0");
    set(k.cfg, "run.batch", "200");
    set(k.cfg, "run.chains", "2");
    set(k.cfg, "run.threads", "1");
    set(k.cfg, "run.warmup", "300");
    set(k.cfg, "run.draws", "8000");
    set(k.cfg, "run.thin", "4");
    k.data = sgfs_data_wrap(&a, k.cfg, &err);
    if (k.data == NULL) fail_msg("%s", err.text);
    k.model = sgfs_model_open("linear", k.data, k.cfg, &err);
    if (k.model == NULL) fail_msg("%s", err.text);
    k.run = sgfs_run_open(k.model, k.cfg, &err);
    if (k.run == NULL) fail_msg("%s", err.text);
    return k;
}

static void close_analysis(analysis *k) {
    sgfs_run_free(k->run);
    sgfs_model_free(k->model);
    sgfs_data_free(k->data);
    sgfs_config_free(k->cfg);
}

static void finish(sgfs_run *run) {
    sgfs_err err;
    if (sgfs_run_all(run, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_true(sgfs_run_done(run));
    assert_int_equal(sgfs_run_close(run, NULL), SGFS_OK);
}

/* Mean and standard deviations by Gauss-Jordan on [A | X'y/sigma^2, I]. */
static void closed_form(double *mean, double *sd) {
    double M[D][2 * D + 1] = {{0}}, w = 1 / (0.871 * 0.871);
    for (int i = 0; i < N; i++) {
        double x[D] = {1, X[i * P], X[i * P + 1]};
        for (int r = 0; r < D; r++) {
            for (int c = 0; c < D; c++) M[r][c] += w * x[r] * x[c];
            M[r][D] += w * x[r] * Y[i];
        }
    }
    for (int r = 0; r < D; r++) {
        M[r][r] += 1;
        M[r][D + 1 + r] = 1;
    }
    for (int k = 0; k < D; k++) {
        double pivot = M[k][k];
        for (int c = 0; c <= 2 * D; c++) M[k][c] /= pivot;
        for (int r = 0; r < D; r++) {
            double times = M[r][k];
            for (int c = 0; r != k && c <= 2 * D; c++) M[r][c] -= times * M[k][c];
        }
    }
    for (int r = 0; r < D; r++) {
        mean[r] = M[r][D];
        sd[r] = sqrt(M[r][D + 1 + r]);
    }
}

static void test_arrays_in_posterior_out(void **state) {
    (void)state;
    double mean[D], sd[D];
    analysis k = open_analysis("7", "sgfs-f");
    assert_int_equal(sgfs_model_dim(k.model), D);
    assert_non_null(strstr(sgfs_run_describe(k.run), "sgfs-f"));
    assert_false(sgfs_run_done(k.run));
    finish(k.run);
    sgfs_draws *draws = sgfs_run_draws(k.run, NULL);
    assert_non_null(draws);
    close_analysis(&k); /* the draws are a copy and outlive all of it */
    sgfs_draws_shape shape = sgfs_draws_size(draws);
    assert_true(shape.chains == 2 && shape.draws == 2000 && shape.dim == D);
    assert_string_equal(sgfs_draws_param(draws, 0), "intercept");
    assert_string_equal(sgfs_draws_param(draws, 2), "age");
    assert_null(sgfs_draws_param(draws, D));
    assert_null(sgfs_draws_chain(draws, 2));
    assert_null(sgfs_draws_chain(draws, -1));
    sgfs_config *cfg = unit_prior_config();
    sgfs_job *job = sgfs_summary_open(draws, cfg, NULL);
    assert_null(sgfs_job_result(job)); /* not yet */
    assert_int_equal(sgfs_job_run(job, NULL), SGFS_OK);
    const sgfs_summary *s = sgfs_job_result(job);
    assert_non_null(s);
    assert_string_equal(s->state, "complete");
    assert_true(s->dim == D && s->chains == 2 && s->draws == 2000);
    assert_true(s->rows_touched >= 2.0 * 8300 * 200 && s->interventions == 0);
    closed_form(mean, sd);
    for (int j = 0; j < D; j++) {
        assert_true(s->row[j].ess_bulk > 1000 && s->row[j].r_hat < 1.02);
        assert_near(s->row[j].mean, mean[j], 5 * s->row[j].mcse, s->row[j].name);
        assert_near(s->row[j].sd / sd[j], 1, 0.1, s->row[j].name);
    }
    char *json = sgfs_job_json(job);
    assert_non_null(json);
    assert_non_null(strstr(json, "\"dose\""));
    sgfs_text_free(json);
    sgfs_job_free(job);
    sgfs_config_free(cfg);
    sgfs_draws_free(draws);
}

/* ---- the caller's loop ----------------------------------------------------------------------- */

static sgfs_draws *draws_of(const char *seed, const char *sampler) {
    analysis k = open_analysis(seed, sampler);
    finish(k.run);
    sgfs_draws *draws = sgfs_run_draws(k.run, NULL);
    assert_non_null(draws);
    close_analysis(&k);
    return draws;
}

static void assert_same_draws(const sgfs_draws *a, const sgfs_draws *b) {
    sgfs_draws_shape n = sgfs_draws_size(a), m = sgfs_draws_size(b);
    assert_true(n.chains == m.chains && n.draws == m.draws && n.dim == m.dim && n.draws > 0);
    for (int64_t c = 0; c < n.chains; c++) {
        assert_memory_equal(sgfs_draws_chain(a, c), sgfs_draws_chain(b, c),
                            (size_t)(n.draws * n.dim) * sizeof(double));
    }
}

static void test_the_callers_loop_gives_the_same_draws(void **state) {
    (void)state;
    static const int64_t stretch[] = {1, 299, 1, 7, 1000, 0, -5, INT64_MAX, INT64_MAX};
    sgfs_draws *whole = draws_of("11", "sgfs-f");
    analysis k = open_analysis("11", "sgfs-f");
    for (size_t i = 0; i < sizeof stretch / sizeof stretch[0]; i++)
        assert_int_equal(sgfs_run_step(k.run, stretch[i], NULL), SGFS_OK);
    assert_true(sgfs_run_done(k.run));
    assert_int_equal(sgfs_run_all(k.run, NULL), SGFS_OK); /* nothing is left to do */
    sgfs_draws *mine = sgfs_run_draws(k.run, NULL);
    assert_same_draws(whole, mine);
    /* the last draw kept is where the chain stands */
    for (int64_t c = 0; c < 2; c++)
        assert_memory_equal(sgfs_run_theta(k.run, c), sgfs_draws_chain(mine, c) + 1999 * D,
                            D * sizeof(double));
    sgfs_draws_free(mine);
    sgfs_draws_free(whole);
    close_analysis(&k);
}

static void test_theta_is_where_the_chain_stands_in_warmup_too(void **state) {
    (void)state;
    double before[D];
    analysis k = open_analysis("12", "sgfs-f");
    memcpy(before, sgfs_run_theta(k.run, 0), sizeof before);
    assert_true(memcmp(before, sgfs_run_theta(k.run, 1), sizeof before) != 0);
    for (int t = 0; t < 3; t++) { /* 300 iterations are warm-up */
        assert_int_equal(sgfs_run_step(k.run, 1, NULL), SGFS_OK);
        assert_true(memcmp(before, sgfs_run_theta(k.run, 0), sizeof before) != 0);
        memcpy(before, sgfs_run_theta(k.run, 0), sizeof before);
    }
    assert_null(sgfs_run_theta(k.run, 2));
    assert_null(sgfs_run_theta(k.run, -1));
    close_analysis(&k);
}

static void test_two_runs_side_by_side_do_not_disturb_each_other(void **state) {
    (void)state;
    sgfs_draws *alone_a = draws_of("21", "sgfs-f"), *alone_b = draws_of("22", "sgfs-d");
    analysis a = open_analysis("21", "sgfs-f"), b = open_analysis("22", "sgfs-d");
    while (!sgfs_run_done(a.run) || !sgfs_run_done(b.run)) {
        assert_int_equal(sgfs_run_step(a.run, 37, NULL), SGFS_OK);
        assert_int_equal(sgfs_run_step(b.run, 53, NULL), SGFS_OK);
    }
    sgfs_draws *beside_a = sgfs_run_draws(a.run, NULL), *beside_b = sgfs_run_draws(b.run, NULL);
    assert_same_draws(alone_a, beside_a);
    assert_same_draws(alone_b, beside_b);
    assert_true(memcmp(sgfs_draws_chain(beside_a, 0), sgfs_draws_chain(beside_a, 1), 64) != 0);
    assert_true(memcmp(sgfs_draws_chain(beside_a, 0), sgfs_draws_chain(beside_b, 0), 64) != 0);
    sgfs_draws_free(alone_a);
    sgfs_draws_free(alone_b);
    sgfs_draws_free(beside_a);
    sgfs_draws_free(beside_b);
    close_analysis(&a);
    close_analysis(&b);
}

static void test_threads_change_no_bit(void **state) {
    (void)state;
    sgfs_draws *one = draws_of("23", "sgfs-f");
    analysis k = open_analysis("23", "sgfs-f");
    set(k.cfg, "run.threads", "2");
    sgfs_run_free(k.run);
    k.run = sgfs_run_open(k.model, k.cfg, NULL);
    finish(k.run);
    sgfs_draws *two = sgfs_run_draws(k.run, NULL);
    assert_same_draws(one, two);
    sgfs_draws_free(one);
    sgfs_draws_free(two);
    close_analysis(&k);
}

/* ---- stopping and watching ------------------------------------------------------------------- */

/* Rows that come slowly through a pipe: the opening tells how far it is, and is stopped. */
typedef struct opening {
    sgfs_config *cfg;
    int reports;
    char what[200];
} opening;

static void stop_opening(const sgfs_progress *p, void *user) {
    opening *o = user;
    o->reports++;
    snprintf(o->what, sizeof o->what, "%s", p->what);
    assert_true(p->seconds > 0 && p->total == 0 && p->iterations_per_s == 0);
    sgfs_config_stop(o->cfg);
}

static int rows_written;

static void *write_slowly(void *path) {
    FILE *f = fopen(path, "w");
    for (int i = rows_written = 0; i < 60 && !ferror(f); i++) {
        const struct timespec pause = {.tv_nsec = 200000000};
        fprintf(f, "%s%d,%d\n", i == 0 ? "x,y\n" : "", i, 2 * i + i % 3);
        fflush(f);
        rows_written = i;
        nanosleep(&pause, NULL);
    }
    fclose(f);
    return NULL;
}

static void test_opening_is_watched_and_stopped(void **state) {
    (void)state;
    char path[] = "opening.fifo";
    sgfs_err err = {0};
    opening o = {.cfg = sgfs_config_new()};
    pthread_t writer;
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_slowly, path), 0);
    sgfs_config_on_progress(o.cfg, stop_opening, &o);
    (void)signal(SIGPIPE, SIG_IGN);
    assert_null(sgfs_data_open(path, o.cfg, &err));
    pthread_join(writer, NULL);
    assert_int_equal(err.code, SGFS_ESTOPPED);
    assert_int_equal(o.reports, 1);
    assert_true(rows_written < 59); /* nobody waited for the last one */
    assert_string_equal(o.what, "Reading opening.fifo: 0 MB");
    unlink(path);
    sgfs_config_free(o.cfg);
    /* A run looks for its mode while it is opened; what is stopped stays so. */
    analysis k = open_analysis("31", "sgld");
    set(k.cfg, "sampler.kind", "sgfs-cv");
    set(k.cfg, "run.warmup", "auto");
    sgfs_config_stop(k.cfg);
    assert_null(sgfs_run_open(k.model, k.cfg, &err));
    if (err.code != SGFS_ESTOPPED) fail_msg("%s", err.text);
    sgfs_job *job = sgfs_optimize_open(k.model, k.cfg, &err);
    assert_int_equal(sgfs_job_run(job, &err), SGFS_ESTOPPED);
    sgfs_job_free(job);
    close_analysis(&k);
}

/* The macros of the header are the version of the library. */
static void test_the_header_says_its_version(void **state) {
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", SGFS_VERSION_MAJOR, SGFS_VERSION_MINOR,
             SGFS_VERSION_PATCH);
    assert_string_equal(sgfs_version(), text);
}

static void stop_at_once(const sgfs_progress *p, void *user) {
    assert_true(p->total == 2 * 8300 && p->done <= p->total && p->seconds >= 0);
    assert_true(p->fraction == (double)p->done / (double)p->total);
    assert_string_equal(p->what, "sampling");
    assert_non_null(strstr(p->detail, "/16600 iterations, "));
    sgfs_config_stop(user);
}

static void test_a_stopped_run_keeps_its_draws(void **state) {
    (void)state;
    sgfs_err err = {0};
    analysis k = open_analysis("31", "sgld");
    assert_int_equal(sgfs_run_step(k.run, 340, NULL), SGFS_OK); /* 40 past the warm-up */
    sgfs_config_on_progress(k.cfg, stop_at_once, k.cfg);
    assert_int_equal(sgfs_run_all(k.run, &err), SGFS_ESTOPPED);
    assert_int_equal(err.code, SGFS_ESTOPPED);
    assert_int_equal(sgfs_run_all(k.run, NULL), SGFS_ESTOPPED);
    assert_false(sgfs_run_done(k.run));
    assert_int_equal(sgfs_run_close(k.run, NULL), SGFS_OK);
    assert_int_equal(sgfs_run_close(k.run, NULL), SGFS_OK);
    sgfs_draws *draws = sgfs_run_draws(k.run, NULL);
    assert_true(sgfs_draws_size(draws).draws >= 10);
    sgfs_job *job = sgfs_summary_open(draws, k.cfg, NULL);
    assert_int_equal(sgfs_job_run(job, NULL), SGFS_OK);
    const sgfs_summary *s = sgfs_job_result(job);
    assert_non_null(s);
    assert_string_equal(s->state, "stopped early");
    sgfs_job_free(job);
    sgfs_draws_free(draws);
    close_analysis(&k);
}

typedef struct heard {
    int notes, warnings;
    char last[512];
} heard;

static void hear(sgfs_level level, const char *text, void *user) {
    heard *h = user;
    *(level == SGFS_WARNING ? &h->warnings : &h->notes) += 1;
    snprintf(h->last, sizeof h->last, "%s", text);
}

static void test_messages_reach_the_caller(void **state) {
    (void)state;
    heard h = {0};
    double x[8] = {1, 3, 2, 3, 5, 3, 4, 3}, y[4] = {-1, 1, 1, -1};
    sgfs_arrays a = {.rows = 4, .cols = 2, .x = x, .y = y, .names = names};
    sgfs_config *cfg = unit_prior_config();
    sgfs_config_on_message(cfg, hear, &h);
    sgfs_data *data = sgfs_data_wrap(&a, cfg, NULL);
    assert_non_null(data);
    assert_int_equal(h.warnings, 1);
    assert_non_null(strstr(h.last, "\"age\" is constant"));
    sgfs_model *model = sgfs_model_open("logistic", data, cfg, NULL);
    assert_non_null(model);
    assert_int_equal(h.notes, 1);
    assert_non_null(strstr(h.last, "-1 counts as 0, 1 as 1"));
    sgfs_model_free(model);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

/* ---- arrays of every kind -------------------------------------------------------------------- */

static double first_number(const sgfs_arrays *a) {
    sgfs_config *cfg = unit_prior_config();
    set(cfg, "run.draws", "3");
    set(cfg, "run.warmup", "2");
    set(cfg, "run.chains", "1");
    set(cfg, "model.sigma", "0.871");
    sgfs_data *data = sgfs_data_wrap(a, cfg, NULL);
    assert_non_null(data);
    sgfs_model *model = sgfs_model_open("linear", data, cfg, NULL);
    assert_non_null(model);
    sgfs_run *run = sgfs_run_open(model, cfg, NULL);
    assert_non_null(run);
    finish(run);
    double x = sgfs_run_theta(run, 0)[0];
    sgfs_run_free(run);
    sgfs_model_free(model);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    return x;
}

static void test_strides_and_single_precision(void **state) {
    (void)state;
    double *wide = zeros(N * 5), *rounded = zeros(N * P);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < 5; j++) wide[i * 5 + j] = j < P ? X[i * P + j] : NAN;
        for (int j = 0; j < P; j++) rounded[i * P + j] = (double)X32[i * P + j];
    }
    sgfs_arrays plain = arrays(), strided = arrays(), single = arrays(), twin = arrays();
    strided.x = wide;
    strided.row_stride = 5;
    single.x = NULL;
    single.x32 = X32;
    twin.x = rounded;
    assert_true(first_number(&plain) == first_number(&strided));
    assert_true(first_number(&single) == first_number(&twin));
    sgfs_arrays nothing = arrays(); /* a mean is a regression on nothing */
    nothing.cols = 0;
    nothing.names = NULL;
    assert_true(isfinite(first_number(&nothing)) != 0);
    free(wide);
    free(rounded);
}

static void test_arrays_that_make_no_sense_are_refused(void **state) {
    (void)state;
    sgfs_config *cfg = unit_prior_config();
    sgfs_err err = {0};
    sgfs_arrays bad[6];
    for (int i = 0; i < 6; i++) bad[i] = arrays();
    bad[0].rows = 0;
    bad[1].x = NULL;
    bad[2].x32 = X32; /* both */
    bad[3].row_stride = 1;
    bad[4].cols = -1;
    bad[5].rows = -3;
    for (int i = 0; i < 6; i++) {
        assert_null(sgfs_data_wrap(&bad[i], cfg, &err));
        assert_int_equal(err.code, SGFS_EUSAGE);
        assert_null(sgfs_data_wrap(&bad[i], cfg, NULL));
    }
    double x[4] = {1, 2, INFINITY, 4}, y[4] = {1, 2, 3, NAN};
    sgfs_arrays cells = {.rows = 4, .cols = 1, .x = x, .y = y, .names = names};
    assert_null(sgfs_data_wrap(&cells, cfg, &err));
    assert_int_equal(err.code, SGFS_EDATA);
    assert_non_null(strstr(err.text, "row 3, column \"dose\""));
    x[2] = 3;
    assert_null(sgfs_data_wrap(&cells, cfg, &err));
    assert_non_null(strstr(err.text, "row 4, column \"y\""));
    assert_int_equal(sgfs_config_set(cfg, "data.intercept", "false", NULL), SGFS_OK);
    cells.cols = 0;
    assert_null(sgfs_data_wrap(&cells, cfg, &err)); /* nothing to explain anything with */
    assert_int_equal(err.code, SGFS_EDATA);
    sgfs_config_free(cfg);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void refuse_run(const char *key, const char *value, const char *says) {
    sgfs_err err = {0};
    analysis k = open_analysis("41", "sgfs-f");
    set(k.cfg, key, value);
    sgfs_run *run = sgfs_run_open(k.model, k.cfg, &err);
    if (run != NULL) fail_msg("%s = %s was accepted", key, value);
    assert_int_equal(err.code, SGFS_EUSAGE);
    if (strstr(err.text, says) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_null(sgfs_run_open(k.model, k.cfg, NULL));
    close_analysis(&k);
}

static void test_options_that_contradict_are_refused_before_any_work(void **state) {
    (void)state;
    refuse_run("run.batch", "2001", "more than the 2000 rows");
    refuse_run("run.thin", "8001", "no draw would be kept");
    refuse_run("sampler.kind", "sgfs-g", "Did you mean \"sgfs-f\"");
    refuse_run("fisher.kind", "diag", "already means --fisher full");
    refuse_run("sampler.step_a", "0.1", "no meaning");
}

static void test_unknown_names_are_refused_with_a_suggestion(void **state) {
    (void)state;
    sgfs_err err = {0};
    analysis k = open_analysis("42", "sgfs-f");
    assert_int_equal(sgfs_config_set(k.cfg, "sampler.aplha", "1", &err), SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "sampler.alpha"));
    assert_int_equal(sgfs_config_set(k.cfg, "sampler.aplha", "1", NULL), SGFS_EUSAGE);
    assert_int_equal(sgfs_config_set(k.cfg, "sampler.alpha", "-1", NULL), SGFS_EUSAGE);
    assert_null(sgfs_config_get(k.cfg, "sampler.aplha"));
    assert_null(sgfs_model_open("liner", k.data, k.cfg, &err));
    assert_non_null(strstr(err.text, "\"linear\""));
    assert_null(sgfs_model_open("liner", k.data, k.cfg, NULL));
    assert_null(sgfs_model_open("logistic", k.data, k.cfg, &err)); /* y has 2000 values */
    assert_int_equal(err.code, SGFS_EDATA);
    assert_null(sgfs_data_open("/no/such/file.csv", k.cfg, &err));
    assert_int_equal(err.code, SGFS_EIO);
    assert_null(sgfs_data_open("/no/such/file.csv", k.cfg, NULL));
    assert_null(sgfs_draws_open("/no/such/run.sgfs", NULL));
    assert_int_equal(sgfs_run_attach(k.run, "/no/such/folder/run.sgfs", &err), SGFS_EIO);
    assert_int_equal(sgfs_run_attach(k.run, "/no/such/folder/run.sgfs", NULL), SGFS_EIO);
    assert_null(sgfs_simulate_open("liner", "x.npy", NULL, k.cfg, NULL));
    sgfs_job *job = sgfs_simulate_open("linear", "x.txt", NULL, k.cfg, NULL);
    assert_int_equal(sgfs_job_run(job, NULL), SGFS_EUSAGE);
    assert_null(sgfs_job_json(job));
    assert_int_equal(sgfs_job_save(job, "x.json", NULL), SGFS_EUSAGE);
    sgfs_job_free(job);
    sgfs_config *other = sgfs_config_new();
    job = sgfs_simulate_open("linear", "stopped.npy", NULL, other, NULL);
    sgfs_config_stop(other);
    assert_int_equal(sgfs_job_run(job, NULL), SGFS_ESTOPPED);
    assert_null(sgfs_job_result(job));
    assert_null(fopen("stopped.npy", "r"));
    sgfs_job_free(job);
    sgfs_config_free(other);
    assert_int_equal(sgfs_run_step(k.run, 3, NULL), SGFS_OK); /* and it still works */
    assert_int_equal(sgfs_run_attach(k.run, "too-late.sgfs", NULL), SGFS_EUSAGE);
    close_analysis(&k);
}

/* A step a million times too large: the chain runs away, says which and when, and stays stopped. */
static void test_a_chain_that_diverges_is_reported(void **state) {
    (void)state;
    sgfs_err err = {0};
    analysis k = open_analysis("43", "sgld");
    set(k.cfg, "sampler.epsilon", "1");
    sgfs_run_free(k.run);
    k.run = sgfs_run_open(k.model, k.cfg, NULL);
    assert_non_null(k.run);
    assert_int_equal(sgfs_run_all(k.run, NULL), SGFS_ENUMERIC);
    assert_int_equal(sgfs_run_all(k.run, &err), SGFS_ENUMERIC);
    assert_int_equal(err.code, SGFS_ENUMERIC);
    assert_non_null(strstr(err.text, "Chain 1 stopped at iteration"));
    assert_non_null(strstr(err.text, "(warm-up)"));
    assert_int_equal(sgfs_run_close(k.run, NULL), SGFS_OK);
    sgfs_draws *draws = sgfs_run_draws(k.run, NULL);
    assert_non_null(draws);
    assert_int_equal(sgfs_draws_size(draws).draws, 0);
    sgfs_job *jobs[] = {sgfs_summary_open(draws, k.cfg, NULL),
                        sgfs_compare_open(draws, "/no/such/file", k.cfg, NULL)};
    for (int i = 0; i < 2; i++) {
        assert_true(sgfs_job_run(jobs[i], NULL) < 0);
        assert_null(sgfs_job_result(jobs[i]));
        sgfs_job_free(jobs[i]);
    }
    sgfs_draws_free(draws);
    close_analysis(&k);
}

static void test_every_free_takes_null(void **state) {
    (void)state;
    sgfs_text_free(NULL);
    sgfs_config_free(NULL);
    sgfs_data_free(NULL);
    sgfs_model_free(NULL);
    sgfs_run_free(NULL);
    sgfs_draws_free(NULL);
    sgfs_job_free(NULL);
}

static void test_what_there_is_can_be_listed(void **state) {
    (void)state;
    static const char *const stages[] = {"models",  "samplers", "fishers", "schemes",
                                         "readers", "exports",  "devices"};
    const char *name, *help;
    for (int s = 0; s < 7; s++) {
        int64_t rows = 0;
        for (; sgfs_list(stages[s], rows, &name, &help); rows++)
            assert_true(name[0] != '\0' && help[0] != '\0');
        assert_true(rows >= 2);
        assert_false(sgfs_list(stages[s], -1, &name, &help));
    }
    assert_false(sgfs_list("spoons", 0, &name, &help));
    assert_true(strlen(sgfs_version()) >= 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays_in_posterior_out),
        cmocka_unit_test(test_the_callers_loop_gives_the_same_draws),
        cmocka_unit_test(test_theta_is_where_the_chain_stands_in_warmup_too),
        cmocka_unit_test(test_two_runs_side_by_side_do_not_disturb_each_other),
        cmocka_unit_test(test_threads_change_no_bit),
        cmocka_unit_test(test_a_stopped_run_keeps_its_draws),
        cmocka_unit_test(test_messages_reach_the_caller),
        cmocka_unit_test(test_strides_and_single_precision),
        cmocka_unit_test(test_arrays_that_make_no_sense_are_refused),
        cmocka_unit_test(test_options_that_contradict_are_refused_before_any_work),
        cmocka_unit_test(test_unknown_names_are_refused_with_a_suggestion),
        cmocka_unit_test(test_opening_is_watched_and_stopped),
        cmocka_unit_test(test_the_header_says_its_version),
        cmocka_unit_test(test_a_chain_that_diverges_is_reported),
        cmocka_unit_test(test_every_free_takes_null),
        cmocka_unit_test(test_what_there_is_can_be_listed),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
