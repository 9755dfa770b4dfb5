/* SPDX-License-Identifier: MIT
 * test_far_pass.c: what a device that makes the passes of models of classes (posterior/far_pass.h)
 * says of all rows is what the processor says: log density, gradient and information, at one place
 * and at many, with weights and without.
 *
 * `test_far_pass cuda` asks a GPU, real or pretended, and skips without.
 *
 * Tolerance. Both add the same terms in other orders: a sum of N terms is off by N eps times the
 * sum of their sizes at most, and far less in fact. The size of a log density is itself, as all of
 * its terms have one sign; that of a number of the gradient, or of the information, is at most the
 * sum over rows, each of a score of some units. 1e-11 times N is five hundred times what N eps is.
 */
#include <stdio.h>
#include <unistd.h>

#include "model/model.h"
#include "posterior/far_pass.h"
#include "posterior/places.h"
#include "tools/check.h"
#include "tools/gpu.h"
#include "tools/unit_prior.h"

enum { ROWS = 700 };
static char rows_file[] = "/tmp/sgfs_pass_XXXXXX.csv";
static bool on_gpu;

static void write_rows(void) {
    int fd = mkstemps(rows_file, 4);
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    uint64_t seed = 37;
    assert_non_null(f);
    fprintf(f, "a,y,b,three,c,five,size,w\n");
    for (int64_t i = 0; i < ROWS; i++) {
        double a = next_normal(&seed), b = 0.5 * a + next_normal(&seed), c = next_normal(&seed);
        double eta = 0.8 * a - 0.5 * c + next_normal(&seed);
        int five = (int)(2.5 + eta);
        fprintf(f, "%.6f,%d,%.6f,%s,%.6f,%d,%.6f,%d\n", a, eta > 0.2, b,
                eta < -0.4  ? "low"
                : eta < 0.5 ? "middle"
                            : "high",
                c,
                five < 0   ? 0
                : five > 4 ? 4
                           : five,
                3 + eta, (int)(i % 4));
    }
    fclose(f);
}

typedef struct shape {
    const char *model, *target;
    const char *option[4][2];
} shape;

static const shape shapes[] = {
    {"softmax", "five", {{NULL}}},
    {"softmax", "three", {{"model.reference_class", "middle"}, {"data.standardize", "true"}}},
    {"softmax", "five", {{"model.reference_class", "none"}, {"data.weights", "w"}}},
    {"softmax", "y", {{"data.intercept", "false"}}},
    {"mlp", "five", {{"model.hidden", "6"}}},
    {"mlp", "three", {{"model.hidden", "5,1,3"}, {"model.activation", "tanh"}}},
    {"mlp", "three", {{"model.hidden", "none"}, {"data.weights", "w"}}},
    {"mlp", "y", {{"model.hidden", "1"}, {"model.activation", "relu"}}},
    {"drbm", "five", {{"model.hidden", "7"}}},
    {"drbm", "three", {{"model.hidden", "1"}, {"data.weights", "w"}}},
    {"drbm", "y", {{"model.hidden", "4"}, {"data.intercept", "false"}}},
};
/* Vectors of their single unit are the host's: so are their passes. */
static const shape near[] = {{"mlp", "size", {{"model.hidden", "3"}}},
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
    bool weighted = false;
    for (int k = 0; is->option[k][0] != NULL; k++) {
        give(of.cfg, is->option[k][0], is->option[k][1]);
        weighted = weighted || strcmp(is->option[k][0], "data.weights") == 0;
    }
    give(of.cfg, "data.features", "a,b,c");
    give(of.cfg, "data.target", is->target);
    give(of.cfg, "run.threads", "2");
    give(of.cfg, "run.device", device);
    of.data = sgfs_data_open(rows_file, of.cfg, &err);
    of.model = of.data != NULL ? sgfs_model_open(is->model, of.data, of.cfg, &err) : NULL;
    if (of.model == NULL) fail_msg("%s: %s", is->model, err.text);
    assert_true((of.data->weight != NULL) == weighted);
    return of;
}

static void close_fit(fit *of) {
    sgfs_model_free(of->model);
    sgfs_data_free(of->data);
    sgfs_config_free(of->cfg);
}

static void compare(const shape *is, const char *what, int64_t n, const double *got,
                    const double *wanted) {
    for (int64_t i = 0; i < n; i++) {
        double tolerance = 1e-11 * (ROWS + fabs(wanted[i]));
        if (fabs(got[i] - wanted[i]) <= tolerance || got[i] == wanted[i]) continue;
        fail_msg("%s of %s, %s, number %lld: %.17g is not %.17g within %.3g", is->model, is->target,
                 what, (long long)i, got[i], wanted[i], tolerance);
    }
}

/* A few tenths around the place where chains begin. */
static double *places_of(const sgfs_model *m, int64_t K) {
    double *theta = numbers(K * m->D, 41), *start = zeros(2 * m->D);
    sgfsi_model_start(m, start, start + m->D);
    for (int64_t i = 0; i < K * m->D; i++) theta[i] = 0.6 * theta[i] + start[i % m->D];
    free(start);
    return theta;
}

/* ---- one place ------------------------------------------------------------------------------- */

static void check_pass(const shape *is) {
    sgfs_err err;
    fit here = open_fit(is, "blas"), there = open_fit(is, "cuda");
    const int64_t D = here.model->D;
    double *theta = places_of(here.model, 1), *G = zeros(2 * D), *A = zeros(2 * D * D), lp[4];
    double *again = zeros(D * D + D);
    sgfsi_arena arena = {NULL};
    sgfsi_full f, near_full;
    assert_int_equal(sgfsi_full_open(&near_full, here.model, 2, true, &arena, &err), SGFS_OK);
    assert_int_equal(sgfsi_full_open(&f, there.model, 2, true, &arena, &err), SGFS_OK);
    assert_true(f.far != NULL && sgfsi_far_pass_informs(f.far) && near_full.far == NULL);
    assert_int_equal(sgfsi_full_eval(&near_full, theta, &lp[0], G, A, &err), SGFS_OK);
    assert_int_equal(sgfsi_full_eval(&f, theta, &lp[1], G + D, A + D * D, &err), SGFS_OK);
    compare(is, "log density", 1, lp + 1, lp);
    compare(is, "gradient", D, G + D, G);
    for (int64_t i = 0; i < D * D; i++)
        if (i % D > i / D) A[i] = A[D * D + i] = 0;
    compare(is, "information", D * D, A + D * D, A);
    assert_int_equal(sgfsi_full_eval(&f, theta, &lp[2], again, again + D, &err), SGFS_OK);
    assert_true(lp[2] == lp[1]);
    assert_memory_equal(again, G + D, (size_t)D * sizeof *G);
    assert_int_equal(sgfsi_full_eval(&f, theta, &lp[3], again, NULL, &err), SGFS_OK);
    assert_memory_equal(again, G + D, (size_t)D * sizeof *G);
    sgfsi_arena_free(&arena);
    free(theta), free(G), free(A), free(again);
    close_fit(&here);
    close_fit(&there);
}

static void test_a_pass(void **state) {
    (void)state;
    for (size_t k = 0; on_gpu && k < sizeof shapes / sizeof *shapes; k++) check_pass(&shapes[k]);
}

/* ---- many places ----------------------------------------------------------------------------- */

/* most: so many that rows come in more than one block. */
static void check_places(const shape *is, int64_t most) {
    enum { K = 5 };
    sgfs_err err;
    fit here = open_fit(is, "blas"), there = open_fit(is, "cuda");
    const int64_t D = here.model->D;
    double *theta = places_of(here.model, K), *U = numbers(K * D, 43), *G = zeros(2 * K * D);
    double lp[2][K], plus[2][K], minus[2][K];
    sgfsi_arena arena = {NULL};
    for (int side = 0; side < 2; side++) {
        sgfsi_places p;
        const sgfs_model *m = side == 0 ? here.model : there.model;
        assert_int_equal(sgfsi_places_open(&p, m, side == 0 ? K : most, true, 2, &arena, &err),
                         SGFS_OK);
        assert_true((p.full.far != NULL) == (side == 1));
        assert_int_equal(sgfsi_places_eval(&p, K, theta, lp[side], G + side * K * D, &err),
                         SGFS_OK);
        assert_int_equal(sgfsi_places_pairs(&p, theta, K, U, plus[side], minus[side], &err),
                         SGFS_OK);
        double *alone = zeros(K);
        assert_int_equal(sgfsi_places_eval(&p, K, theta, alone, NULL, &err), SGFS_OK);
        compare(is, "log densities alone", K, alone, lp[side]);
        free(alone);
    }
    compare(is, "log densities", K, lp[1], lp[0]);
    compare(is, "gradients", K * D, G + K * D, G);
    compare(is, "centre + u", K, plus[1], plus[0]);
    compare(is, "centre - u", K, minus[1], minus[0]);
    sgfsi_arena_free(&arena);
    free(theta), free(U), free(G);
    close_fit(&here);
    close_fit(&there);
}

static void test_many_places(void **state) {
    (void)state;
    for (size_t k = 0; on_gpu && k < sizeof shapes / sizeof *shapes; k++) {
        check_places(&shapes[k], 5);
        if (k % 4 == 0) check_places(&shapes[k], 8000);
    }
}

/* ---- who makes them -------------------------------------------------------------------------- */

static void test_what_the_device_cannot_the_host_does(void **state) {
    (void)state;
    for (size_t k = 0; on_gpu && k < sizeof near / sizeof *near; k++) {
        sgfs_err err;
        sgfsi_full f;
        sgfsi_arena arena = {NULL};
        fit of = open_fit(&near[k], "cuda");
        assert_int_equal(sgfsi_full_open(&f, of.model, 2, true, &arena, &err), SGFS_OK);
        assert_null(f.far);
        sgfsi_arena_free(&arena);
        close_fit(&of);
    }
}

/* A pass on a device that is lost ends with its sentence, whatever it has summed up. */
static void test_a_lost_device(void **state) {
    (void)state;
    if (!on_gpu || getenv("SGFS_PRETENDED_LOSS") == NULL) return;
    sgfs_err err = {SGFS_OK, ""};
    double lp = 0;
    fit of = open_fit(&shapes[0], "cuda");
    double *theta = places_of(of.model, 1), *G = zeros(of.model->D);
    sgfsi_full f;
    sgfsi_arena arena = {NULL};
    assert_int_equal(sgfsi_full_open(&f, of.model, 2, false, &arena, &err), SGFS_OK);
    sgfs_status status = SGFS_OK;
    for (int pass = 0; pass < 1000 && status == SGFS_OK; pass++)
        status = sgfsi_full_eval(&f, theta, &lp, G, NULL, &err);
    assert_int_equal(status, SGFS_EIO);
    assert_non_null(strstr(err.text, "cannot go on"));
    sgfsi_arena_free(&arena);
    free(theta), free(G);
    close_fit(&of);
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
    const sgfs_device *gpu = NULL;
    on_gpu = argc > 1 && strcmp(argv[1], "cuda") == 0;
    if (on_gpu && !open_gpu(&gpu)) return SKIPPED;
    sgfsi_device_close(gpu);
    const struct CMUnitTest lost[] = {cmocka_unit_test(test_a_lost_device)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pass),
        cmocka_unit_test(test_many_places),
        cmocka_unit_test(test_what_the_device_cannot_the_host_does),
    };
    return getenv("SGFS_PRETENDED_LOSS") != NULL ? cmocka_run_group_tests(lost, setup, teardown)
                                                 : cmocka_run_group_tests(tests, setup, teardown);
}
