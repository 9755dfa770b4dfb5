/* SPDX-License-Identifier: MIT
 * test_fork.c: a process that has worked with threads forks, and its child goes on: with a run that
 * was begun before, and with one of its own. It used to wait for ever for the threads of its
 * parent.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sgfs.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { N = 400, P = 2, DIM = 3 };

static double X[N * P], Y[N];

typedef struct work {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *model;
    sgfs_run *run;
} work;

static work begin(const char *sampler) {
    sgfs_err err = {SGFS_OK, ""};
    const sgfs_arrays rows = {.rows = N, .cols = P, .x = X, .y = Y};
    work w = {.cfg = unit_prior_config()};
    const char *const option[][2] = {{"run.threads", "3"},  {"run.chains", "4"},
                                     {"run.warmup", "100"}, {"run.draws", "200"},
                                     {"run.thin", "1"},     {"sampler.kind", sampler}};
    for (size_t i = 0; i < sizeof option / sizeof option[0]; i++)
        assert_int_equal(sgfs_config_set(w.cfg, option[i][0], option[i][1], &err), SGFS_OK);
    w.data = sgfs_data_wrap(&rows, w.cfg, &err);
    w.model = sgfs_model_open("logistic", w.data, w.cfg, &err);
    w.run = sgfs_run_open(w.model, w.cfg, &err);
    if (w.run == NULL) fail_msg("%s", err.text);
    return w;
}

/* The sum of where all chains are: the same bits mean the same places. */
static double finish(work *w) {
    sgfs_err err = {SGFS_OK, ""};
    double sum = 0;
    if (sgfs_run_all(w->run, &err) != SGFS_OK) return -1;
    for (int64_t c = 0; c < 4; c++)
        for (int64_t j = 0; j < DIM; j++) sum += (double)(j + 1) * sgfs_run_theta(w->run, c)[j];
    sgfs_run_free(w->run);
    sgfs_model_free(w->model);
    sgfs_data_free(w->data);
    sgfs_config_free(w->cfg);
    return sum;
}

static void check_child(const char *sampler) {
    work plain = begin(sampler);
    double expected = finish(&plain); /* with three threads */
    work begun = begin(sampler);
    sgfs_err err = {SGFS_OK, ""};
    assert_int_equal(sgfs_run_step(begun.run, 50, &err), SGFS_OK);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        bool same = finish(&begun) == expected;
        work own = begin(sampler);
        same = same && finish(&own) == expected;
        _exit(same ? 0 : 1);
    }
    int status = -1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);             /* 14: still waiting for threads */
    assert_true(finish(&begun) == expected); /* and the parent has all of its own */
}

static void a_child_goes_on_with_chains_side_by_side(void **state) {
    (void)state;
    check_child("sgfs-d");
}

static void a_child_goes_on_with_passes_over_all_rows(void **state) {
    (void)state;
    check_child("nuts");
}

static int make_rows(void **state) {
    (void)state;
    uint64_t s = 77;
    for (int i = 0; i < N; i++) {
        X[i * P] = next_normal(&s);
        X[i * P + 1] = next_normal(&s);
        Y[i] = 0.7 * X[i * P] - 0.3 * X[i * P + 1] + next_normal(&s) > 0 ? 1 : 0;
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_goes_on_with_chains_side_by_side),
        cmocka_unit_test(a_child_goes_on_with_passes_over_all_rows),
    };
    return cmocka_run_group_tests(tests, make_rows, NULL);
}
