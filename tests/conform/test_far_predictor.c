/* SPDX-License-Identifier: MIT
 * test_far_predictor.c: what a device says of rows at many draws (posterior/far_predictor.h) is
 * what the processor says: means, quantiles and densities, of every model of labels; and numbers of
 * a rank are those of a sorted list.
 *
 * `test_far_predictor cuda` asks a GPU, real or pretended, and skips without.
 *
 * Tolerance. A probability is off by p eps times the sum of the sizes of the terms of its predictor
 * at most, which are a few units here; 1e-11 is a thousand times that.
 */
#include <stdio.h>
#include <unistd.h>

#include "model/model.h"
#include "posterior/predictor.h"
#include "tools/check.h"
#include "tools/gpu.h"
#include "tools/unit_prior.h"

enum { ROWS = 60, DRAWS = 141, NEW = 8 };
static char rows_file[] = "/tmp/sgfs_new_XXXXXX.csv";
static const sgfs_device *gpu;

static void write_rows(void) {
    int fd = mkstemps(rows_file, 4);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    uint64_t seed = 37;
    assert_non_null(f);
    fprintf(f, "a,y,b,five,size\n");
    for (int64_t i = 0; i < ROWS; i++) {
        double a = next_normal(&seed), b = next_normal(&seed);
        fprintf(f, "%.6f,%d,%.6f,%d,%.6f\n", a, i % 3 == 0, b, (int)(i % 5), a + b);
    }
    fclose(f);
}

typedef struct shape {
    const char *model, *target;
    const char *option[3][2];
} shape;

static const shape shapes[] = {
    {"logistic", "y", {{NULL}}},
    {"softmax", "five", {{"model.reference_class", "2"}}},
    {"softmax", "five", {{"model.reference_class", "none"}, {"data.intercept", "false"}}},
    {"softmax", "y", {{NULL}}},
    {"mlp", "five", {{"model.hidden", "4,1"}}},
    {"mlp", "y", {{"model.hidden", "none"}}},
    {"drbm", "five", {{"model.hidden", "3"}}},
    {"drbm", "y", {{"model.hidden", "1"}, {"data.intercept", "false"}}},
};
/* Predictive draws of numbers are made by the host, and so are predictions by a single unit. */
static const shape near[] = {{"linear", "size", {{NULL}}},
                             {"poisson", "five", {{NULL}}},
                             {"mlp", "size", {{NULL}}},
                             {"mlp", "y", {{"model.output", "logistic"}}}};

typedef struct fit {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *model;
} fit;

static void give(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static fit open_fit(const shape *is, const char *device) {
    sgfs_err err;
    fit of = {.cfg = unit_prior_config()};
    for (int k = 0; is->option[k][0] != NULL; k++) give(of.cfg, is->option[k][0], is->option[k][1]);
    give(of.cfg, "data.features", "a,b");
    give(of.cfg, "data.target", is->target);
    give(of.cfg, "run.threads", "1");
    give(of.cfg, "run.device", device);
    of.data = sgfs_data_open(rows_file, of.cfg, &err);
    of.model = of.data != NULL ? sgfs_model_open(is->model, of.data, of.cfg, &err) : NULL;
    if (of.model == NULL) fail_msg("%s: %s", is->model, err.text);
    return of;
}

static void close_fit(fit *of) {
    sgfs_model_free(of->model);
    sgfs_data_free(of->data);
    sgfs_config_free(of->cfg);
}

/* What is said of a row: of each label a mean and three quantiles; a log density. */
enum { SAID = 5 * 4 + 1 };

/* spread: of the parameters; some rows are of no label that the model knows. */
static double *predict(const shape *is, const char *device, double spread, bool known) {
    sgfs_err err;
    fit of = open_fit(is, device);
    const sgfs_model *m = of.model;
    const int64_t p = m->data->p;
    double *x = numbers(NEW * p, 51), *theta = numbers(DRAWS * m->D, 52), y[NEW],
           *said = zeros(NEW * SAID);
    sgfsi_draw draw[DRAWS];
    sgfsi_arena arena = {NULL};
    sgfsi_predictor f;
    for (int i = 0; i < NEW; i++) y[i] = i % 7 == 6 ? 99 : i % 2;
    for (int64_t i = 0; i < DRAWS * m->D; i++) theta[i] *= spread;
    for (int k = 0; k < DRAWS; k++) draw[k] = (sgfsi_draw){.theta = theta + k * m->D, .at = k};
    assert_int_equal(sgfsi_predictor_open(&f, m, NEW + 3, DRAWS, &arena, &err), SGFS_OK);
    assert_true((f.far != NULL) == (strcmp(device, "cuda") == 0));
    const sgfs_batch b = {.n = NEW, .p = p, .x = x, .y = known ? y : NULL, .gamma = 1};
    for (int twice = 0; twice < 2; twice++) { /* nothing of the first time is left */
        sgfsi_predictor_begin(&f, &b, 0);
        assert_int_equal(sgfsi_predictor_add(&f, 130, draw, &err), SGFS_OK);
        assert_int_equal(sgfsi_predictor_add(&f, DRAWS - 130, draw + 130, &err), SGFS_OK);
        assert_int_equal(sgfsi_predictor_finish(&f, &err), SGFS_OK);
    }
    for (int64_t i = 0; i < NEW; i++) {
        double *to = said + i * SAID;
        sgfsi_predictor_mean(&f, i, to);
        sgfsi_predictor_quantiles(&f, i, to + 5);
        if (known) to[SAID - 1] = sgfsi_predictor_log_density(&f, i);
    }
    sgfsi_arena_free(&arena);
    free(x), free(theta);
    close_fit(&of);
    return said;
}

static void check_predictions(const shape *is, double spread, bool known) {
    double *here = predict(is, "blas", spread, known), *there = predict(is, "cuda", spread, known);
    for (int64_t i = 0; i < NEW * SAID; i++) {
        double least = i % SAID == SAID - 1 ? 1e-13 : 1e-300; /* the log of 1 and a rounding */
        double tolerance = 1e-11 * (1 + spread) * fabs(here[i]) + least;
        if (here[i] == there[i] || fabs(here[i] - there[i]) <= tolerance) continue;
        fail_msg("%s of %s, spread %g, row %lld, number %lld: %.17g is not %.17g", is->model,
                 is->target, spread, (long long)(i / SAID), (long long)(i % SAID), there[i],
                 here[i]);
    }
    free(here), free(there);
}

/* With predictors of thousands, whose probabilities are 0: densities are not. */
static void test_predictions(void **state) {
    (void)state;
    for (size_t k = 0; gpu != NULL && k < sizeof shapes / sizeof *shapes; k++) {
        check_predictions(&shapes[k], 2, true);
        check_predictions(&shapes[k], 2, false);
        check_predictions(&shapes[k], 1000, true);
    }
}

static void test_what_the_device_cannot_the_host_does(void **state) {
    (void)state;
    for (size_t k = 0; gpu != NULL && k < sizeof near / sizeof *near; k++) {
        sgfs_err err;
        sgfsi_arena arena = {NULL};
        sgfsi_predictor f;
        fit of = open_fit(&near[k], "cuda");
        assert_int_equal(sgfsi_predictor_open(&f, of.model, NEW, DRAWS, &arena, &err), SGFS_OK);
        assert_null(f.far);
        sgfsi_arena_free(&arena);
        close_fit(&of);
    }
}

/* ---- numbers of a rank ----------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rows of n numbers, some of which are the same, and some no ordinary ones. */
static void check_ranks(int64_t n) {
    enum { LINES = 5, COUNT = SGFSI_MOST_RANKS };
    const int64_t room = n + 3, rank[COUNT] = {0, n / 20, n / 2, n - 1, n / 2, n - 1 - n / 20};
    double *A = numbers(LINES * room, 61), got[LINES * COUNT], *row = zeros(n);
    for (int64_t i = 0; i < LINES * room; i++) {
        if (i % 3 == 0) A[i] = floor(4 * A[i]);
        if (i % 11 == 5) A[i] *= 1e-310;
        if (i % 29 == 7) A[i] = i % 2 == 0 ? INFINITY : -INFINITY;
    }
    double *there = gpu->ops->alloc(gpu, LINES * room), *out = gpu->ops->alloc(gpu, LINES * COUNT);
    sgfsi_put(gpu, LINES * room, A, there);
    gpu->ops->pick(gpu, LINES, room, n, there, COUNT, rank, out);
    sgfsi_get(gpu, LINES * COUNT, out, got);
    for (int64_t r = 0; r < LINES; r++) {
        memcpy(row, A + r * room, (size_t)n * sizeof *row);
        qsort(row, (size_t)n, sizeof *row, by_size);
        for (int k = 0; k < COUNT; k++)
            if (got[r * COUNT + k] != row[rank[k]])
                fail_msg("rank %lld of %lld: %g is not %g", (long long)rank[k], (long long)n,
                         got[r * COUNT + k], row[rank[k]]);
    }
    gpu->ops->free(gpu, there);
    gpu->ops->free(gpu, out);
    free(A), free(row);
}

static void test_numbers_of_a_rank(void **state) {
    (void)state;
    for (int64_t n = 1; gpu != NULL && n < 3000; n = 3 * n + 1) check_ranks(n);
}

static int setup(void **state) {
    (void)state;
    write_rows();
    return 0;
}

static int teardown(void **state) {
    (void)state;
    return unlink(rows_file);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "cuda") == 0 && !open_gpu(&gpu)) return SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predictions),
        cmocka_unit_test(test_what_the_device_cannot_the_host_does),
        cmocka_unit_test(test_numbers_of_a_rank),
    };
    int failed = cmocka_run_group_tests(tests, setup, teardown);
    sgfsi_device_close(gpu);
    return failed;
}
