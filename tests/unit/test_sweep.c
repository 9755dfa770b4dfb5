/* SPDX-License-Identifier: MIT
 * test_sweep.c: passes that take rows where they lie (posterior/sweep.h) against the same passes
 * over rows that are gathered, for which a list of all rows is enough: models, types of numbers,
 * numbers of columns, with and without an intercept, standardised, weighted; with the information
 * and without; packed in small chunks; and minibatches.
 */
#include "posterior/posterior.h"
#include "posterior/sweep.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { ROWS = 3001, MOST = 130 };

typedef struct setting {
    const char *model;
    int64_t cols;
    bool single, intercept, standardized, weighted;
} setting;

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) fail_msg("%s", err.text);
}

/* The same minibatches with and without their scores. */
static void compare_minibatches(const sgfs_model *m, const double *theta) {
    enum { BATCH = 101 };
    sgfsi_arena arena = {NULL};
    sgfsi_eval e = {0};
    sgfs_err err = {SGFS_OK, ""};
    double G[2][MOST + 2], lp[2], most = 0;
    if (sgfsi_eval_open(&e, m, &sgfs_scheme_with, BATCH, &arena, &err) != SGFS_OK)
        fail_msg("%s", err.text);
    assert_non_null(e.sweep);
    for (int64_t t = 1; t < 4; t++) {
        for (int k = 0; k < 2; k++) {
            e.gradient_only = k == 0;
            if (sgfsi_eval_gradient(&e, t, SGFSI_ROWS, theta, G[k], &lp[k], &err) != SGFS_OK)
                fail_msg("%s", err.text);
        }
        for (int64_t j = 0; j < m->D; j++) most = fmax(most, fabs(G[1][j]));
        assert_near(lp[0], lp[1], 1e-12 * fabs(lp[1]), m->kind->name);
        for (int64_t j = 0; j < m->D; j++) assert_near(G[0][j], G[1][j], 1e-11 * most, "gradient");
    }
    sgfsi_arena_free(&arena);
}

/* Both ways at one place. Sums of 3001 numbers in another order differ by a few dozen roundings of
 * their largest parts. */
static void compare(const setting *s) {
    static double x[ROWS * MOST], y[ROWS], w[ROWS], t[ROWS];
    static float x32[ROWS * MOST];
    static int64_t row[ROWS];
    uint64_t seed = 7;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = unit_prior_config();
    bool counts = strcmp(s->model, "poisson") == 0, coin = strcmp(s->model, "logistic") == 0;
    set(cfg, "data.intercept", s->intercept ? "true" : "false");
    set(cfg, "data.standardize", s->standardized ? "true" : "false");
    for (int64_t i = 0; i < ROWS * s->cols; i++) {
        x[i] = next_number(&seed) + (i % s->cols == 2 ? 30 : 0);
        x32[i] = (float)x[i];
    }
    for (int64_t i = 0; i < ROWS; i++) {
        row[i] = i;
        y[i] = coin     ? (double)(next_bits(&seed) >> 63)
               : counts ? (double)(next_bits(&seed) >> 62)
                        : next_number(&seed);
        w[i] = (double)(next_bits(&seed) >> 62);
        t[i] = 0.5 + (double)(next_bits(&seed) >> 63);
    }
    sgfs_arrays arrays = {.rows = ROWS, .cols = s->cols, .y = y};
    arrays.x = s->single ? NULL : x;
    arrays.x32 = s->single ? x32 : NULL;
    arrays.weights = s->weighted ? w : NULL;
    arrays.exposure = counts && s->weighted ? t : NULL;
    sgfs_data *d = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_data *listed = d != NULL ? sgfsi_data_view(d, row, ROWS, SGFSI_SAME_SCALE, &err) : NULL;
    sgfs_model *m = listed != NULL ? sgfs_model_open(s->model, d, cfg, &err) : NULL,
               *g = m != NULL ? sgfs_model_open(s->model, listed, cfg, &err) : NULL;
    if (g == NULL) fail_msg("%s", err.text);
    assert_true(sgfsi_sweep_fits(m) && !sgfsi_sweep_fits(g));
    static double A[2][(MOST + 2) * (MOST + 2)];
    double theta[MOST + 2], G[2][MOST + 2], lp[2], most = 0, largest = 0;
    for (int64_t j = 0; j < m->D; j++) theta[j] = 0.02 * next_number(&seed);
    for (int k = 0; k < 2; k++)
        if (sgfsi_posterior_full(k == 0 ? m : g, theta, &lp[k], G[k], NULL, &err) != SGFS_OK)
            fail_msg("%s", err.text);
    for (int64_t j = 0; j < m->D; j++) most = fmax(most, fabs(G[1][j]));
    assert_near(lp[0], lp[1], 1e-12 * fabs(lp[1]), s->model);
    for (int64_t j = 0; j < m->D; j++) assert_near(G[0][j], G[1][j], 1e-11 * most, s->model);
    for (int k = 0; k < 2; k++) /* and the information */
        if (sgfsi_posterior_full(k == 0 ? m : g, theta, &lp[k], G[k], A[k], &err) != SGFS_OK)
            fail_msg("%s", err.text);
    for (int64_t j = 0; j < m->D; j++) largest = fmax(largest, A[1][j * m->D + j]);
    assert_near(lp[0], lp[1], 1e-12 * fabs(lp[1]), s->model);
    for (int64_t j = 0; j < m->D; j++) {
        assert_near(G[0][j], G[1][j], 1e-11 * most, s->model);
        for (int64_t i = 0; i <= j; i++)
            assert_near(A[0][j * m->D + i], A[1][j * m->D + i], 1e-12 * largest, "information");
    }
    compare_minibatches(m, theta);
    sgfs_model_free(g);
    sgfs_model_free(m);
    sgfs_data_free(listed);
    sgfs_data_free(d);
    sgfs_config_free(cfg);
}

static void test_rows_in_place_say_what_gathered_rows_say(void **state) {
    static const char *const models[] = {"logistic", "poisson", "linear"};
    static const int64_t cols[] = {8, 9, 15, 31, 40, 41, 65, 130};
    (void)state;
    for (int k = 0; k < 3; k++)
        for (size_t c = 0; c < sizeof cols / sizeof *cols; c++)
            for (int bits = 0; bits < 16; bits++)
                compare(&(setting){models[k], cols[c], bits & 1, bits & 2, bits & 4, bits & 8});
}

/* Chunks of a few rows with something between them, as packed files have them: the same bits. */
static void test_chunks_change_nothing(void **state) {
    enum { COLS = 20, CHUNK = 37, GAP = 11, CHUNKS = (ROWS + CHUNK - 1) / CHUNK };
    static float x32[ROWS * COLS], chunks[CHUNKS * (CHUNK * COLS + GAP)];
    static double y[ROWS];
    const int64_t chunk = CHUNK * COLS + GAP;
    uint64_t seed = 11;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = unit_prior_config();
    (void)state;
    for (int64_t i = 0; i < CHUNKS * chunk; i++) chunks[i] = NAN;
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < COLS; j++) {
            x32[i * COLS + j] = (float)next_number(&seed);
            chunks[i / CHUNK * chunk + i % CHUNK * COLS + j] = x32[i * COLS + j];
        }
        y[i] = (double)(next_bits(&seed) >> 63);
    }
    const sgfs_arrays arrays = {.rows = ROWS, .cols = COLS, .x32 = x32, .y = y};
    sgfs_data *d = sgfs_data_wrap(&arrays, cfg, &err);
    if (d == NULL) fail_msg("%s", err.text);
    sgfs_data chunked = *d;
    sgfsi_part part = {.rows = ROWS,
                       .cells = (const char *)chunks,
                       .chunk_rows = CHUNK,
                       .chunk_bytes = chunk * (int64_t)sizeof *chunks};
    chunked.table.cells = NULL;
    chunked.table.part = &part;
    chunked.table.parts = 1;
    const sgfs_data *both[] = {d, &chunked};
    double theta[COLS + 1], G[2][COLS + 1], lp[2], A[2][(COLS + 1) * (COLS + 1)] = {{0}};
    for (int64_t j = 0; j <= COLS; j++) theta[j] = 0.1 * next_number(&seed);
    for (int k = 0; k < 2; k++) {
        sgfs_model *m = sgfs_model_open("logistic", both[k], cfg, &err);
        if (m == NULL || !sgfsi_sweep_fits(m)) fail_msg("%s", err.text);
        assert_true(sgfsi_sweep_fits_drawn(m) == (k == 0));
        if (sgfsi_posterior_full(m, theta, &lp[k], G[k], A[k], &err) != SGFS_OK)
            fail_msg("%s", err.text);
        sgfs_model_free(m);
    }
    assert_true(lp[0] == lp[1]);
    assert_memory_equal(G[0], G[1], sizeof G[0]);
    for (int64_t j = 0; j <= COLS; j++)
        assert_memory_equal(A[0] + j * (COLS + 1), A[1] + j * (COLS + 1),
                            sizeof **A * (size_t)(j + 1));
    sgfs_data_free(d);
    sgfs_config_free(cfg);
}

/* A mean of 10^5 sds would leave no digits of the difference of two sums. */
static void test_columns_far_from_zero_are_gathered(void **state) {
    double x[64 * 8], y[64];
    uint64_t seed = 3;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = unit_prior_config();
    (void)state;
    set(cfg, "data.standardize", "true");
    for (int i = 0; i < 64 * 8; i++) x[i] = next_number(&seed) + (i % 8 == 3 ? 3e5 : 0);
    for (int i = 0; i < 64; i++) y[i] = i % 2;
    const sgfs_arrays arrays = {.rows = 64, .cols = 8, .x = x, .y = y};
    sgfs_data *d = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = d != NULL ? sgfs_model_open("logistic", d, cfg, &err) : NULL;
    if (m == NULL) fail_msg("%s", err.text);
    assert_false(sgfsi_sweep_fits(m));
    sgfs_model_free(m);
    sgfs_data_free(d);
    sgfs_config_free(cfg);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_in_place_say_what_gathered_rows_say),
        cmocka_unit_test(test_chunks_change_nothing),
        cmocka_unit_test(test_columns_far_from_zero_are_gathered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
