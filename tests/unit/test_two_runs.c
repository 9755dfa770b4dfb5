/* SPDX-License-Identifier: MIT
 * test_two_runs.c: two runs at the same time, in two threads of one process, as a program that uses
 * the library may make them: each has the bits it has alone, for every sampler; both may share one
 * model, write files, tell their progress and be stopped from elsewhere.
 *
 * `make test-tsan` runs this under ThreadSanitizer. Each run has one thread there, as here: libgomp
 * is not built for ThreadSanitizer, which takes its barriers for races.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "sgfs.h"
#include "tools/check.h"

enum { ROWS = 300, COLS = 3, DRAWS = 60 };

static double x[ROWS * COLS], y[ROWS];

static void make_rows(void) {
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS; j++) x[i * COLS + j] = ((i * 7 + j * 13) % 23) / 8.0 - 1.375;
        y[i] = (x[i * COLS] - x[i * COLS + 1] + ((i * 5) % 17) / 8.0 - 1) > 0;
    }
}

/* What one thread does. */
typedef struct work {
    const char *sampler;
    const sgfs_model *model; /* NULL: one of its own */
    const char *path;        /* of a run file; NULL: draws stay in memory */
    bool stopped;            /* by its own progress, after some iterations */
    pthread_barrier_t *together;
    sgfs_draws *draws;
    int64_t reports;
    sgfs_config *cfg;
    char said[600];
} work;

static void count(const sgfs_progress *progress, void *user) {
    work *w = user;
    w->reports++;
    if (w->stopped && progress->done > 0) sgfs_config_stop(w->cfg);
}

static sgfs_config *options(const char *sampler) {
    sgfs_config *cfg = sgfs_config_new();
    const char *const set[][2] = {{"sampler.kind", sampler},   {"run.chains", "2"},
                                  {"run.threads", "1"},        {"run.warmup", "20"},
                                  {"run.draws", "60"},         {"run.thin", "1"},
                                  {"output.overwrite", "true"}};
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        assert_int_equal(sgfs_config_set(cfg, set[i][0], set[i][1], NULL), SGFS_OK);
    return cfg;
}

static sgfs_data *rows(const sgfs_config *cfg) {
    const sgfs_arrays arrays = {.rows = ROWS, .cols = COLS, .x = x, .y = y};
    return sgfs_data_wrap(&arrays, cfg, NULL);
}

/* cmocka's assertions belong to one thread: here sentences are left behind. */
static void *sample(void *user) {
    work *w = user;
    sgfs_err err = {SGFS_OK, ""};
    if (w->together != NULL) pthread_barrier_wait(w->together);
    sgfs_config *cfg = w->cfg = options(w->sampler);
    sgfs_data *data = w->model == NULL ? rows(cfg) : NULL;
    sgfs_model *own = w->model == NULL ? sgfs_model_open("logistic", data, cfg, &err) : NULL;
    sgfs_run *run = sgfs_run_open(own != NULL ? own : w->model, cfg, &err);
    sgfs_status status = run != NULL ? SGFS_OK : err.code;
    if (status == SGFS_OK && w->path != NULL) status = sgfs_run_attach(run, w->path, &err);
    if (status == SGFS_OK) sgfs_config_on_progress(cfg, count, w);
    if (status == SGFS_OK) status = sgfs_run_all(run, &err);
    if (status == SGFS_ESTOPPED && w->stopped) status = SGFS_OK;
    if (status == SGFS_OK) status = sgfs_run_close(run, &err);
    if (status == SGFS_OK)
        w->draws = w->path != NULL ? sgfs_draws_open(w->path, &err) : sgfs_run_draws(run, &err);
    if (w->draws == NULL) snprintf(w->said, sizeof w->said, "%s: %s", w->sampler, err.text);
    sgfs_run_free(run);
    sgfs_model_free(own);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    return NULL;
}

static void both(work w[2]) {
    pthread_t thread[2];
    pthread_barrier_t together;
    pthread_barrier_init(&together, NULL, 2);
    for (int k = 0; k < 2; k++) {
        w[k].together = &together;
        assert_int_equal(pthread_create(&thread[k], NULL, sample, &w[k]), 0);
    }
    for (int k = 0; k < 2; k++) pthread_join(thread[k], NULL);
    pthread_barrier_destroy(&together);
    for (int k = 0; k < 2; k++)
        if (w[k].draws == NULL) fail_msg("%s", w[k].said);
}

static void assert_same_draws(const sgfs_draws *a, const sgfs_draws *b) {
    sgfs_draws_shape shape = sgfs_draws_size(a), other = sgfs_draws_size(b);
    assert_int_equal(shape.chains, other.chains);
    assert_int_equal(shape.draws, other.draws);
    assert_int_equal(shape.draws, DRAWS);
    for (int64_t c = 0; c < shape.chains; c++)
        assert_memory_equal(sgfs_draws_chain(a, c), sgfs_draws_chain(b, c),
                            (size_t)(shape.draws * shape.dim) * sizeof(double));
}

static void test_two_runs_have_the_bits_of_each_alone(void **state) {
    (void)state;
    static const char *const pairs[][2] = {{"sgfs-f", "nuts"},     {"exact-pairs", "sgfs-cv"},
                                           {"sgld", "exact-rows"}, {"exact-hmc", "sgnht"},
                                           {"exact-pairs", "hmc"}, {"laplace", "sgfs-d"},
                                           {"sgfs-cv", "sgfs-cv"}};
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        work alone[2] = {{.sampler = pairs[p][0]}, {.sampler = pairs[p][1]}};
        work w[2] = {{.sampler = pairs[p][0]}, {.sampler = pairs[p][1]}};
        both(w);
        for (int k = 0; k < 2; k++) {
            sample(&alone[k]);
            if (alone[k].draws == NULL) fail_msg("%s", alone[k].said);
            assert_same_draws(alone[k].draws, w[k].draws);
            assert_true(w[k].reports > 0);
            sgfs_draws_free(alone[k].draws);
            sgfs_draws_free(w[k].draws);
        }
    }
}

static void test_two_runs_of_one_model_into_two_files(void **state) {
    (void)state;
    char path[2][64];
    sgfs_config *cfg = options("sgfs-f");
    sgfs_data *data = rows(cfg);
    sgfs_model *model = sgfs_model_open("logistic", data, cfg, NULL);
    assert_non_null(model);
    work alone = {.sampler = "sgfs-f"}, w[2];
    sample(&alone);
    assert_non_null(alone.draws);
    for (int k = 0; k < 2; k++) {
        snprintf(path[k], sizeof path[k], "two_runs_%ld_%d.run", (long)getpid(), k);
        w[k] = (work){.sampler = "sgfs-f", .model = model, .path = path[k]};
    }
    both(w);
    for (int k = 0; k < 2; k++) {
        assert_same_draws(alone.draws, w[k].draws);
        sgfs_draws_free(w[k].draws);
        unlink(path[k]);
    }
    sgfs_draws_free(alone.draws);
    sgfs_model_free(model);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

static void test_one_run_is_stopped_and_the_other_is_not(void **state) {
    (void)state;
    work alone = {.sampler = "nuts"},
         w[2] = {{.sampler = "nuts"}, {.sampler = "sgld", .stopped = true}};
    sample(&alone);
    assert_non_null(alone.draws);
    both(w);
    assert_same_draws(alone.draws, w[0].draws);
    assert_true(sgfs_draws_size(w[1].draws).draws < DRAWS);
    for (int k = 0; k < 2; k++) sgfs_draws_free(w[k].draws);
    sgfs_draws_free(alone.draws);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_runs_have_the_bits_of_each_alone),
        cmocka_unit_test(test_two_runs_of_one_model_into_two_files),
        cmocka_unit_test(test_one_run_is_stopped_and_the_other_is_not),
    };
    make_rows();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
