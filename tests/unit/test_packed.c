/* SPDX-License-Identifier: MIT
 * test_packed.c: what was packed comes back, the statistics a file tells are those of its rows, and
 * no damage goes unnoticed: every byte of the first page and of the tail is flipped, the file is
 * cut at many lengths, lengths are forged together with their checksums.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <math.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "chain/plan.h"
#include "files/collect.h"
#include "files/packed/packed.h"
#include "rows/rows.h"
#include "tools/unit_prior.h"

static char path[64];
static const sgfsi_read_options silent = {.target = "",
                                          .features = "",
                                          .weights = "",
                                          .exposure = "",
                                          .delimiter = "auto",
                                          .header = "auto"};

/* ---- making files ---------------------------------------------------------------------------- */

static char *names[] = {"x1", "x2", "y", "w", "hours", "odd"};
static unsigned char roles[] = {SGFSI_ROLE_FEATURE, SGFSI_ROLE_FEATURE,  SGFSI_ROLE_TARGET,
                                SGFSI_ROLE_WEIGHTS, SGFSI_ROLE_EXPOSURE, SGFSI_ROLE_NONE};
static char *words[] = {"17", "ja", "nein"};
enum { COLS = 6, ROWS = 1501 };

static sgfsi_table head_of(int64_t cols) {
    return (sgfsi_table){
        .cols = cols, .names = names, .role = roles, .named = true, .text_col = -1};
}

static sgfs_status pack(const sgfsi_table *head, sgfsi_dtype type, int64_t rows,
                        const double *cells, sgfs_err *err) {
    sgfsi_packer *p;
    const sgfsi_packer_plan plan = {
        .path = path, .overwrite = true, .head = head, .type = type, .shuffled = true};
    sgfs_status status = sgfsi_packer_open(&p, &plan, err);
    if (status != SGFS_OK) return status;
    for (int64_t at = 0, n; at < rows && status == SGFS_OK; at += n) { /* uneven pieces */
        n = 1 + (at * 7) % 401;
        if (n > rows - at) n = rows - at;
        status = sgfsi_packer_add(p, n, cells + at * head->cols, err);
    }
    if (status != SGFS_OK) return sgfsi_packer_abandon(p), status;
    return sgfsi_packer_commit(p, err);
}

static void assert_packed(const sgfsi_table *head, sgfsi_dtype type, int64_t rows,
                          const double *cells) {
    sgfs_err err = {SGFS_OK, ""};
    if (pack(head, type, rows, cells, &err) != SGFS_OK) fail_msg("not packed: %s", err.text);
}

static sgfsi_table read_back(const sgfsi_read_options *options) {
    sgfsi_table t;
    sgfs_err err = {SGFS_OK, ""};
    if (sgfsi_table_read(path, options, &t, &err) != SGFS_OK) fail_msg("not read: %s", err.text);
    return t;
}

static void assert_refused(const char *part) {
    sgfsi_table t;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_status status = sgfsi_table_read(path, &silent, &t, &err);
    if (status != SGFS_EDATA) fail_msg("status %d, %s: %s", status, part, err.text);
    if (strstr(err.text, part) == NULL) fail_msg("\"%s\" is not in: %s", part, err.text);
    assert_null(t.part);
}

static void assert_not_packed(const sgfsi_table *head, sgfsi_dtype type, int64_t rows,
                              const double *cells, const char *part) {
    sgfs_err err = {SGFS_OK, ""};
    unlink(path);
    sgfs_status status = pack(head, type, rows, cells, &err);
    if (status != SGFS_EDATA) fail_msg("status %d: %s", status, err.text);
    if (strstr(err.text, part) == NULL) fail_msg("\"%s\" is not in: %s", part, err.text);
    assert_int_not_equal(access(path, F_OK), 0);
}

/* Small whole numbers, so that every type holds them; target 0, 1, 2, weight positive. */
static double *whole_numbers(int64_t rows) {
    double *x = malloc((size_t)(rows * COLS) * sizeof *x);
    uint64_t word[COLS];
    for (int64_t i = 0; i < rows; i++) {
        sgfsi_stream s = sgfsi_stream_at(2385, 0, i, SGFSI_FEATURES);
        sgfsi_words(&s, COLS, word);
        for (int j = 0; j < COLS; j++) x[i * COLS + j] = (double)(word[j] % 97);
        x[i * COLS + 2] = (double)(word[2] % 3);
        x[i * COLS + 3] += 1;
    }
    return x;
}

static double *normals(int64_t rows, int64_t cols) {
    double *x = malloc((size_t)(rows * cols) * sizeof *x);
    sgfsi_stream s = sgfsi_stream_at(17, 0, 3, SGFSI_FEATURES);
    sgfsi_normals(&s, rows * cols, x);
    return x;
}

static double cell(const sgfsi_table *t, int64_t i, int64_t j) {
    int64_t size = (int64_t)sgfsi_dtype_size(t->type);
    const void *at = sgfsi_table_row(t, i, t->row_stride * size) + j * size;
    switch (t->type) {
    case SGFSI_F64: return *(const double *)at;
    case SGFSI_F32: return (double)*(const float *)at;
    case SGFSI_I64: return (double)*(const int64_t *)at;
    case SGFSI_I32: return *(const int32_t *)at;
    case SGFSI_I16: return *(const int16_t *)at;
    case SGFSI_I8: return *(const int8_t *)at;
    case SGFSI_U8: return *(const uint8_t *)at;
    case SGFSI_U16: return *(const uint16_t *)at;
    case SGFSI_U32: return *(const uint32_t *)at;
    case SGFSI_CSR: break;
    }
    return NAN;
}

/* ---- there and back -------------------------------------------------------------------------- */

static void test_every_type(void **state) {
    (void)state;
    double *x = whole_numbers(ROWS);
    sgfsi_table head = head_of(COLS);
    sgfs_err err;
    for (int type = SGFSI_F64; type <= SGFSI_U32; type++) {
        assert_packed(&head, (sgfsi_dtype)type, ROWS, x);
        sgfsi_table t = read_back(&silent);
        assert_int_equal(t.rows, ROWS);
        assert_int_equal(t.cols, COLS);
        assert_int_equal(t.type, type);
        assert_true(t.shuffled && t.named);
        assert_null(t.cells);
        assert_int_equal(t.parts, 1);
        assert_int_equal((uintptr_t)t.part[0].cells % SGFSI_PAGE, 0);
        assert_int_equal(t.part[0].chunk_bytes % SGFSI_PAGE, 0);
        for (int64_t i = 0; i < ROWS; i++) {
            for (int64_t j = 0; j < COLS; j++) assert_true(cell(&t, i, j) == x[i * COLS + j]);
        }
        for (int64_t j = 0; j < COLS; j++) {
            assert_string_equal(t.names[j], names[j]);
            assert_int_equal(t.role[j], roles[j]);
        }
        assert_int_equal(sgfsi_packed_verify(&t, 2, NULL, &err), SGFS_OK);
        sgfsi_table_free(&t);
    }
    unlink(path);
    free(x);
}

/* Cells that are in the file's type already give the same file. */
static void test_raw_rows(void **state) {
    (void)state;
    double *x = normals(700, 4);
    float raw[700 * 4];
    sgfsi_table head = head_of(4);
    sgfs_err err;
    sgfsi_packer *p;
    const sgfsi_packer_plan plan = {
        .path = path, .overwrite = true, .head = &head, .type = SGFSI_F32};
    for (int i = 0; i < 700 * 4; i++) {
        if (i % 4 >= 2) x[i] = floor(x[i] * 8); /* target and weight: exact */
        raw[i] = (float)x[i];
    }
    assert_packed(&head, SGFSI_F32, 700, x);
    sgfsi_table one = read_back(&silent);
    assert_int_equal(sgfsi_packer_open(&p, &plan, &err), SGFS_OK);
    for (int at = 0; at < 700; at += 35)
        assert_int_equal(sgfsi_packer_add_raw(p, 35, raw + at * 4, &err), SGFS_OK);
    assert_int_equal(sgfsi_packer_commit(p, &err), SGFS_OK);
    sgfsi_table two = read_back(&silent);
    assert_false(two.shuffled);
    assert_memory_equal(one.part[0].cells, two.part[0].cells,
                        (size_t)(one.part[0].packed->chunks * one.part[0].chunk_bytes));
    assert_memory_equal(one.stats, two.stats, 4 * sizeof *one.stats);
    sgfsi_table_free(&one);
    sgfsi_table_free(&two);
    unlink(path);
    free(x);
}

static void test_words_and_recipe(void **state) {
    (void)state;
    double *x = whole_numbers(300);
    sgfsi_table head = head_of(COLS);
    sgfs_err err;
    sgfsi_packer *p;
    head.text_col = 2;
    head.level = words;
    head.levels = 3;
    const char *recipe_text = "[{\"op\":\"log1p\",\"columns\":[\"x1\"]}]";
    sgfsi_json *recipe = sgfsi_json_parse(recipe_text, strlen(recipe_text), "here", &err);
    const sgfsi_packer_plan plan = {
        .path = path, .overwrite = true, .head = &head, .type = SGFSI_U8, .recipe = recipe};
    assert_int_equal(sgfsi_packer_open(&p, &plan, &err), SGFS_OK);
    sgfsi_json_free(recipe);
    assert_int_equal(sgfsi_packer_add(p, 300, x, &err), SGFS_OK);
    assert_int_equal(sgfsi_packer_commit(p, &err), SGFS_OK);
    sgfsi_table t = read_back(&silent);
    assert_int_equal(t.text_col, 2);
    assert_int_equal(t.levels, 3);
    for (int k = 0; k < 3; k++) assert_string_equal(t.level[k], words[k]);
    assert_int_equal(t.text_level, 1); /* "17" could be a number */
    char *back = sgfsi_json_dump(t.recipe, false);
    assert_string_equal(back, recipe_text);
    free(back);
    sgfsi_table_free(&t);
    unlink(path);
    free(x);
}

/* A chunk holds 16 rows where 64 KiB allow it, and little of it is empty. */
static void test_chunks_are_full(void **state) {
    (void)state;
    static const int64_t widths[] = {1, 9, 100, 785, 1024, 1025, 3000, 5000, 20000};
    char **many = malloc(20000 * sizeof *many);
    unsigned char *role = malloc(20000);
    double *x = calloc(20000, sizeof *x);
    for (int64_t j = 0; j < 20000; j++) {
        many[j] = names[0];
        role[j] = SGFSI_ROLE_FEATURE;
    }
    role[0] = SGFSI_ROLE_TARGET;
    for (int k = 0; k < 9; k++) {
        sgfsi_table head = {.cols = widths[k], .names = many, .role = role, .text_col = -1};
        int64_t row = 4 * widths[k];
        assert_packed(&head, SGFSI_F32, 1, x);
        sgfsi_table t = read_back(&silent);
        int64_t rows = t.part[0].chunk_rows, bytes = t.part[0].chunk_bytes;
        if (16 * row <= 65536) assert_true(rows >= 16 && bytes <= 65536);
        if (16 * row <= 4096) assert_int_equal(bytes, 4096);
        assert_true(rows * row <= bytes);
        assert_true((double)(rows * row) >= (row <= 4096 ? 0.93 : 0.75) * (double)bytes);
        sgfsi_table_free(&t);
    }
    unlink(path);
    free(many);
    free(role);
    free(x);
}

/* ---- statistics ------------------------------------------------------------------------------ */

/* The file is larger than the writer's buffer, so that rows of an earlier round could be left. */
static void assert_zeros_behind_rows(const sgfsi_table *t) {
    const sgfsi_part *k = &t->part[0];
    int64_t last = (k->packed->chunks - 1) * k->chunk_bytes;
    int64_t row_bytes = t->cols * (int64_t)sgfsi_dtype_size(t->type);
    int64_t used = (k->rows - (k->packed->chunks - 1) * k->chunk_rows) * row_bytes;
    assert_true(last > 1 << 20 && used < k->chunk_bytes);
    for (int64_t i = used; i < k->chunk_bytes; i++) assert_int_equal(k->cells[last + i], 0);
}

/* Against sums in long double: n additions of relative error 1e-16 each, and no cancellation. */
static void test_statistics(void **state) {
    (void)state;
    enum { N = 40011, P = 4 };
    double *x = normals(N, P);
    for (int64_t i = 0; i < N; i++) {
        x[i * P] = 1e6 + x[i * P]; /* far from 0 */
        x[i * P + 2] = floor(3 * x[i * P + 2]);
        x[i * P + 3] = 0.1;
    }
    sgfsi_table head = head_of(P);
    assert_packed(&head, SGFSI_F64, N, x);
    sgfsi_table t = read_back(&silent);
    for (int64_t j = 0; j < P; j++) {
        long double sum = 0, ss = 0;
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < N; i++) {
            sum += x[i * P + j];
            low = fmin(low, x[i * P + j]);
            high = fmax(high, x[i * P + j]);
        }
        for (int64_t i = 0; i < N; i++) ss += (x[i * P + j] - sum / N) * (x[i * P + j] - sum / N);
        assert_true(t.stats[j].rows == N);
        assert_true(fabsl(t.stats[j].mean - sum / N) <= 1e-14L * fabsl(sum / N) + 1e-16L);
        /* A block's mean is wrong by at most 256 u (|mean| + sd), u = 2^-53; it lies within sd/4 of
         * the mean so far (4 of its standard errors), so n gap^2 is wrong by n sd/2 times that. */
        long double sd = sqrtl(ss / N), wrong = 256 * 0x1p-53L * (fabsl(sum / N) + sd);
        assert_true(fabsl(t.stats[j].ss - ss) <= N * sd / 2 * wrong + N * wrong * wrong);
        assert_true(t.stats[j].min == low && t.stats[j].max == high);
    }
    assert_zeros_behind_rows(&t);
    double all = 0;
    assert_in_range(t.values, 10, 40);
    for (int64_t k = 0; k < t.values; k++) {
        double rows = 0;
        for (int64_t i = 0; i < N; i++) rows += x[i * P + 2] == t.value[k];
        assert_true(rows == t.value_rows[k]);
        assert_true(k == 0 || t.value[k] > t.value[k - 1]);
        all += rows;
    }
    assert_true(all == N);
    sgfsi_table_free(&t);
    unlink(path);
    free(x);
}

/* To the last bit what a look at the rows finds: the same numbers wrapped as arrays are looked
 * at. */
static void test_told_is_measured(void **state) {
    (void)state;
    enum { N = 3001 };
    double *x = normals(N, 3), *y = malloc(N * sizeof *y), *features = malloc(2 * N * sizeof *y);
    sgfsi_table head = head_of(3);
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = unit_prior_config();
    for (int type = SGFSI_F64; type <= SGFSI_F32; type++) {
        for (int64_t i = 0; i < N; i++) {
            for (int j = 0; j < 3 && type == SGFSI_F32; j++)
                x[i * 3 + j] = (double)(float)x[i * 3 + j];
            features[2 * i] = x[i * 3];
            features[2 * i + 1] = x[i * 3 + 1];
            y[i] = x[i * 3 + 2];
        }
        assert_packed(&head, (sgfsi_dtype)type, N, x);
        const sgfs_arrays arrays = {.rows = N, .cols = 2, .x = features, .y = y};
        sgfs_data *packed = sgfs_data_open(path, cfg, &err);
        sgfs_data *looked = sgfs_data_wrap(&arrays, cfg, &err);
        if (packed == NULL || looked == NULL) fail_msg("%s", err.text);
        assert_non_null(packed->table.stats);
        for (int j = 0; j < 3; j++) {
            const sgfsi_column *a = j < 2 ? &packed->feature[j] : &packed->target;
            const sgfsi_column *b = j < 2 ? &looked->feature[j] : &looked->target;
            assert_true(a->mean == b->mean && a->sd == b->sd);
            assert_true(a->min == b->min && a->max == b->max);
        }
        sgfs_data_free(packed);
        sgfs_data_free(looked);
    }
    sgfs_config_free(cfg);
    unlink(path);
    free(x);
    free(y);
    free(features);
}

/* The columns of d against two passes over rows row[0..n) of x; weights: of column 3, or 1. */
static void assert_measured(const sgfs_data *d, int64_t cols, const double *x, int64_t n,
                            const int64_t *row) {
    for (int j = 0; j < 3; j++) {
        const sgfsi_column *c = j < 2 ? &d->feature[j] : &d->target;
        double W = 0, mean = 0, ss = 0, min = INFINITY, max = -INFINITY;
        for (int64_t i = 0; i < n; i++) {
            const double *r = x + row[i] * cols;
            double w = cols > 3 ? r[3] : 1;
            W += w;
            mean += w * r[j];
            min = fmin(min, r[j]);
            max = fmax(max, r[j]);
        }
        mean /= W;
        for (int64_t i = 0; i < n; i++) {
            const double *r = x + row[i] * cols;
            double w = cols > 3 ? r[3] : 1;
            ss += w * (r[j] - mean) * (r[j] - mean);
        }
        /* sums of n terms, each rounded: n ulp of the sum of their sizes at most */
        double sd = sqrt(ss / W * (double)n / (double)(n - 1)), ulp = 1e-16 * (double)n;
        assert_true(c->min == min && c->max == max);
        assert_true(fabs(c->mean - mean) <= ulp * (fabs(min) + fabs(max)));
        assert_true(fabs(c->sd - sd) <= ulp * sd);
    }
}

/* What the file says is of all its rows, each once: of a view, and of rows with weights, it is not
 * believed. */
static void test_told_is_of_all_rows_once(void **state) {
    (void)state;
    enum { SOME = ROWS / 3 };
    double *all = whole_numbers(ROWS), value[3];
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = unit_prior_config();
    int64_t every[ROWS], row[SOME], n = 0;
    for (int64_t cols = 3; cols <= 4; cols++) { /* without and with weights */
        sgfsi_table head = head_of(cols);
        double *x = malloc((size_t)(ROWS * cols) * sizeof *x);
        n = 0;
        for (int64_t i = 0; i < ROWS; i++) {
            memcpy(x + i * cols, all + i * COLS, (size_t)cols * sizeof *x);
            bool wanted = all[i * COLS] < 60 && all[i * COLS + 2] != 1 && n < SOME;
            if (wanted) row[n++] = i;
            every[i] = i;
        }
        assert_packed(&head, SGFSI_F32, ROWS, x);
        sgfs_data *d = sgfs_data_open(path, cfg, &err);
        if (d == NULL) fail_msg("%s", err.text);
        assert_non_null(d->table.stats);
        assert_true((d->weight != NULL) == (cols > 3));
        assert_measured(d, cols, x, ROWS, every);
        assert_int_equal(sgfsi_data_target_values(d, 3, value), 3);
        sgfs_data *view = sgfsi_data_view(d, row, n, SGFSI_OWN_SCALE, &err);
        if (view == NULL) fail_msg("%s", err.text);
        assert_measured(view, cols, x, n, row);
        assert_int_equal(sgfsi_data_target_values(view, 3, value), 2);
        assert_true(value[0] == 0 && value[1] == 2);
        sgfs_data_free(view);
        sgfs_data_free(d);
        free(x);
    }
    sgfs_config_free(cfg);
    unlink(path);
    free(all);
}

/* A thousand values are listed, one more is not. */
static void test_many_values(void **state) {
    (void)state;
    sgfsi_table head = {
        .cols = 1, .names = names + 2, .role = roles + 2, .named = true, .text_col = -1};
    double x[1003];
    for (int extra = 0; extra < 2; extra++) {
        for (int i = 0; i < 1003; i++) x[i] = (i < 1000 + extra ? i : 3) - 0.5;
        assert_packed(&head, SGFSI_F32, 1003, x);
        sgfsi_table t = read_back(&silent);
        assert_int_equal(t.values, extra == 0 ? 1000 : 0);
        if (extra == 0) assert_true(t.value[999] == 998.5 && t.value_rows[3] == 4);
        sgfsi_table_free(&t);
    }
    unlink(path);
}

/* ---- roles by options ------------------------------------------------------------------------ */

static void test_roles_by_options(void **state) {
    (void)state;
    double *x = whole_numbers(40);
    sgfsi_table head = head_of(COLS);
    assert_packed(&head, SGFSI_F64, 40, x);
    sgfsi_read_options o = silent;
    o.target = "x2";
    sgfsi_table t = read_back(&o);
    const unsigned char other[] = {1, 2, 0, 3, 4, 0};
    assert_memory_equal(t.role, other, COLS);
    assert_int_equal(t.values, 0); /* those were of y */
    assert_non_null(t.stats);
    sgfsi_table_free(&t);
    o = silent;
    o.features = "x1,odd";
    o.weights = "hours";
    t = read_back(&o);
    const unsigned char chosen[] = {1, 0, 2, 0, 3, 1};
    assert_memory_equal(t.role, chosen, COLS);
    assert_true(t.values > 0);
    sgfsi_table_free(&t);
    o = silent;
    o.weights = "y";
    sgfs_err err;
    assert_int_equal(sgfsi_table_read(path, &o, &t, &err), SGFS_EUSAGE);
    o = silent;
    o.target = "nothing";
    assert_int_equal(sgfsi_table_read(path, &o, &t, &err), SGFS_EUSAGE);
    head.text_col = 2;
    head.level = words;
    head.levels = 3;
    assert_packed(&head, SGFSI_F64, 40, x);
    o = silent;
    o.target = "x1";
    o.features = "y";
    assert_int_equal(sgfsi_table_read(path, &o, &t, &err), SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "words"));
    unlink(path);
    free(x);
}

/* ---- numbers that do not fit ----------------------------------------------------------------- */

static void test_numbers_that_do_not_fit(void **state) {
    (void)state;
    sgfsi_table head = head_of(4);
    double good[4] = {0.1, 2.385, 1, 0.5}, x[4];
    assert_packed(&head, SGFSI_F32, 1, good); /* a feature may be rounded */
    const struct {
        sgfsi_dtype type;
        int col;
        double value;
        const char *part;
    } cases[] = {
        {SGFSI_F64, 0, NAN, "\"x1\" has a cell that is not a finite"},
        {SGFSI_F64, 2, -INFINITY, "\"y\" has a cell that is not a finite"},
        {SGFSI_F32, 1, 1e39, "\"x2\" has 9.99"},
        {SGFSI_F32, 2, 0.1, "a target 0.1"},
        {SGFSI_F32, 3, 0.7, "a weight 0.69"},
        {SGFSI_F32, 3, 16777217, "--storage f64"},
        {SGFSI_U8, 1, 256, "\"x1\""},
        {SGFSI_U8, 0, -1, "does not fit into u8"},
        {SGFSI_I16, 0, 1.5, "does not fit into i16"},
        {SGFSI_I32, 0, 2147483648.0, "does not fit into i32"},
        {SGFSI_I64, 0, 0x1p53 + 2, "does not fit into i64"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        memcpy(x, good, sizeof x);
        if (cases[k].type > SGFSI_F32) x[0] = 1;
        if (cases[k].type == SGFSI_U8 && cases[k].col == 1) x[0] = 256; /* the first is named */
        x[cases[k].col] = cases[k].value;
        assert_not_packed(&head, cases[k].type, 1, x, cases[k].part);
    }
    int64_t raw[4] = {1, ((int64_t)1 << 53) + 1, 0, 1};
    sgfsi_packer *p;
    sgfs_err err;
    const sgfsi_packer_plan plan = {.path = path, .head = &head, .type = SGFSI_I64};
    assert_int_equal(sgfsi_packer_open(&p, &plan, &err), SGFS_OK);
    assert_int_equal(sgfsi_packer_add_raw(p, 1, raw, &err), SGFS_EDATA);
    sgfsi_packer_abandon(p);
    assert_not_packed(&head, SGFSI_F64, 0, x, "no rows");
    roles[2] = SGFSI_ROLE_NONE;
    assert_not_packed(&head, SGFSI_F64, 1, good, "none of the columns is the target");
    roles[2] = SGFSI_ROLE_TARGET;
}

/* A measurement has many values: it may be rounded; a label may not. */
static void test_rounded_targets(void **state) {
    (void)state;
    double *x = normals(2000, 3);
    sgfsi_table head = head_of(3), labels = head_of(3);
    assert_packed(&head, SGFSI_F32, 2000, x);
    for (int i = 0; i < 2000; i++) x[i * 3 + 2] = i % 7 == 0 ? 0.1 : 0.5;
    assert_not_packed(&labels, SGFSI_F32, 2000, x, "which f32 would change to 0.1000000014");
    labels.text_col = 2;
    labels.level = words;
    labels.levels = 3;
    for (int i = 0; i < 2000; i++) x[i * 3 + 2] = i % 3;
    assert_packed(&labels, SGFSI_F32, 2000, x);
    unlink(path);
    free(x);
}

/* ---- all or nothing -------------------------------------------------------------------------- */

static int files_like_it(void) {
    char command[128];
    snprintf(command, sizeof command, "ls %s* 2>/dev/null | wc -l", path);
    FILE *f = popen(command, "r");
    int n = -1;
    assert_int_equal(fscanf(f, "%d", &n), 1);
    pclose(f);
    return n;
}

static void test_all_or_nothing(void **state) {
    (void)state;
    double *x = normals(20000, 6);
    for (int i = 0; i < 20000; i++) x[i * 6 + 2] = i % 2;
    sgfsi_table head = head_of(6);
    sgfsi_packer *p;
    sgfs_err err = {SGFS_OK, ""};
    const sgfsi_packer_plan plan = {.path = path, .head = &head, .type = SGFSI_F64};
    unlink(path);
    assert_int_equal(sgfsi_packer_open(&p, &plan, &err), SGFS_OK);
    assert_int_equal(sgfsi_packer_add(p, 20000, x, &err), SGFS_OK);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_true(files_like_it() <= 1); /* none where files can do without a name */
    sgfsi_packer_abandon(p);
    assert_int_equal(files_like_it(), 0);
    sgfsi_packer_abandon(NULL);

    /* no room: as good as a full disk */
    struct rlimit before, little;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    little = (struct rlimit){.rlim_cur = 300000, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    sgfs_status status = pack(&head, SGFSI_F64, 20000, x, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, SGFS_EIO);
    assert_non_null(strstr(err.text, "cannot write"));
    assert_int_equal(files_like_it(), 0);

    assert_packed(&head, SGFSI_F64, 5, x);
    assert_int_equal(sgfsi_packer_open(&p, &plan, &err), SGFS_EUSAGE); /* exists */
    assert_null(p);
    unlink(path);
    free(x);
}

/* ---- damage ---------------------------------------------------------------------------------- */

typedef struct image {
    unsigned char *bytes;
    size_t count;
} image;

static image load(void) {
    FILE *f = fopen(path, "rb");
    struct stat st;
    assert_int_equal(fstat(fileno(f), &st), 0);
    image m = {malloc((size_t)st.st_size + 64), (size_t)st.st_size};
    assert_int_equal(fread(m.bytes, 1, m.count, f), m.count);
    fclose(f);
    return m;
}

static void store(const unsigned char *bytes, size_t count) {
    FILE *f = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, count, f), count);
    fclose(f);
}

static void poke(size_t at, unsigned byte) {
    FILE *f = fopen(path, "r+b");
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    assert_int_equal(fputc((int)byte, f), (int)byte);
    fclose(f);
}

static image sample(void) {
    double *x = whole_numbers(500);
    sgfsi_table head = head_of(COLS);
    head.text_col = 2;
    head.level = words;
    head.levels = 3;
    assert_packed(&head, SGFSI_F32, 500, x);
    free(x);
    return load();
}

static uint64_t get(const unsigned char *at, int bytes) {
    uint64_t x = 0;
    memcpy(&x, at, (size_t)bytes);
    return x;
}

static void seal(unsigned char *page) {
    uint32_t crc = sgfsi_crc32(0, page, 4092);
    memcpy(page + 4092, &crc, 4);
}

static void test_flipped_bytes(void **state) {
    (void)state;
    image m = sample();
    uint64_t tail = get(m.bytes + 72, 8);
    for (size_t i = 0; i < m.count; i++) {
        if (i >= SGFSI_PAGE && i < tail) continue;
        poke(i, m.bytes[i] ^ (1u << (i % 8)));
        assert_refused("is damaged");
        poke(i, m.bytes[i]);
    }
    sgfsi_table t = read_back(&silent);
    sgfsi_table_free(&t);
    unlink(path);
    free(m.bytes);
}

static void test_flipped_rows(void **state) {
    (void)state;
    image m = sample();
    size_t tail = (size_t)get(m.bytes + 72, 8), chunk_bytes = (size_t)get(m.bytes + 56, 8);
    assert_true(tail > SGFSI_PAGE + chunk_bytes); /* more than one chunk */
    sgfs_err err;
    for (size_t i = SGFSI_PAGE; i < tail; i += 61) {
        poke(i, m.bytes[i] ^ (1u << (i % 8)));
        sgfsi_table t = read_back(&silent);
        int64_t bad = (int64_t)((i - SGFSI_PAGE) / chunk_bytes);
        for (int64_t c = 0; c < t.part[0].packed->chunks; c++) {
            assert_true((sgfsi_packed_check(&t.part[0], c, &err) == SGFS_OK) == (c != bad));
            assert_true((sgfsi_packed_check(&t.part[0], c, &err) == SGFS_OK) == (c != bad));
        }
        char sentence[64];
        snprintf(sentence, sizeof sentence, "rows %lld to",
                 (long long)(bad * t.part[0].chunk_rows + 1));
        assert_int_equal(sgfsi_packed_verify(&t, 2, NULL, &err), SGFS_EDATA);
        assert_non_null(strstr(err.text, sentence));
        sgfsi_table_free(&t);
        poke(i, m.bytes[i]);
    }
    unlink(path);
    free(m.bytes);
}

static void test_wrong_lengths(void **state) {
    (void)state;
    image m = sample();
    for (size_t n = 0; n < m.count; n += n < 4100 || n + 300 > m.count ? 1 : 97) {
        store(m.bytes, n);
        assert_refused(n < SGFSI_PAGE ? "is damaged" : "is cut off");
        if (n > 16 && n < 4090) n += 120;
    }
    memset(m.bytes + m.count, ' ', 8);
    store(m.bytes, m.count + 1);
    assert_refused("is too long");
    unlink(path);
    free(m.bytes);
}

/* Every length of page 0 set to numbers that invite to read elsewhere, checksum and all. */
static void test_forged_lengths(void **state) {
    (void)state;
    static const uint64_t lies[] = {0,
                                    1,
                                    7,
                                    4095,
                                    4097,
                                    UINT64_C(1) << 31,
                                    UINT64_C(1) << 32,
                                    UINT64_C(1) << 52,
                                    UINT64_C(1) << 60,
                                    UINT64_C(1) << 61,
                                    UINT64_C(1) << 62,
                                    UINT64_C(1) << 63,
                                    UINT64_MAX - 4095,
                                    UINT64_MAX};
    static const int eight[] = {16, 24, 32, 48, 56, 64, 72, 80, 88}, four[] = {8, 12, 40, 44};
    image m = sample();
    unsigned char page[SGFSI_PAGE];
    memcpy(page, m.bytes, SGFSI_PAGE);
    for (size_t k = 0; k < sizeof lies / sizeof lies[0]; k++) {
        for (int f = 0; f < 13; f++) {
            int at = f < 9 ? eight[f] : four[f - 9], size = f < 9 ? 8 : 4;
            memcpy(m.bytes, page, SGFSI_PAGE);
            if (get(page + at, size) == (size == 8 ? lies[k] : (uint32_t)lies[k])) continue;
            if (at == 44 && (uint32_t)lies[k] <= 1) continue; /* shuffled or not */
            if (at == 40 && lies[k] == 7) continue;           /* bytes would fit */
            memcpy(m.bytes + at, &lies[k], (size_t)size);
            seal(m.bytes);
            store(m.bytes, m.count);
            assert_refused(at == 8 ? "version" : "");
        }
    }
    unlink(path);
    free(m.bytes);
}

/* Another JSON text, with everything else to match. */
static void forge(image *m, const char *json) {
    uint64_t at = get(m->bytes + 80, 8), length = strlen(json);
    unsigned char *bytes = malloc(at + length);
    uint64_t total = at + length;
    uint32_t crc = sgfsi_crc32(0, json, length);
    memcpy(bytes, m->bytes, at);
    memcpy(bytes + at, json, length);
    memcpy(bytes + 16, &total, 8);
    memcpy(bytes + 88, &length, 8);
    memcpy(bytes + 100, &crc, 4);
    seal(bytes);
    store(bytes, total);
    free(bytes);
}

/* Replace the first `from` in the text; the result is static. */
static const char *altered(const char *text, const char *from, const char *to) {
    static char out[8192];
    const char *at = strstr(text, from);
    if (at == NULL) fail_msg("%s is not in %s", from, text);
    snprintf(out, sizeof out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    return out;
}

static void test_forged_text(void **state) {
    (void)state;
    image m = sample();
    uint64_t at = get(m.bytes + 80, 8);
    char *json = strndup((const char *)m.bytes + at, m.count - at);
    static const char *const lies[][2] = {
        {"{", "["},
        {"\"name\":\"x1\"", "\"name\":7"},
        {"\"name\":\"x1\"", "\"nme\":\"x1\""},
        {"\"role\":\"feature\"", "\"role\":\"target\""},
        {"\"role\":\"feature\"", "\"role\":\"weights\""},
        {"\"role\":\"target\"", "\"role\":\"none\""},
        {"\"role\":\"feature\"", "\"role\":\"god\""},
        {"{\"name\":\"x1\"", "{},{\"name\":\"x1\""},
        {"\"nein\"", "\"nein\\u0000\""},
        {",\"nein\"]", "]"},
        {"[\"17\",\"ja\",\"nein\"]", "[]"},
        {"[\"17\",\"ja\",\"nein\"]", "3"},
        {"\"ja\"", "5"},
        {"\"values\":[0.0,1.0", "\"values\":[1.0,0.0"},
        {"\"values\":[0.0,1.0", "\"values\":[0.0,0.5"},
        {"\"values\":[0.0,1.0,2.0", "\"values\":[0.0,1.0,3.0"},
        {"\"values\":[0.0", "\"values\":[-1.0"},
        {"\"values\":[0.0", "\"values\":[null"},
        {"\"values\":[0.0,1.0", "\"values\":[0.0"},
        {"\"value_rows\":[", "\"value_rows\":[1.0,"},
        {"\"value_rows\":[1", "\"value_rows\":[2"},
        {"\"value_rows\"", "\"value_rws\""},
    };
    for (size_t k = 0; k < sizeof lies / sizeof lies[0]; k++) {
        forge(&m, altered(json, lies[k][0], lies[k][1]));
        assert_refused("is damaged");
    }
    forge(&m, "");
    assert_refused("is damaged");
    forge(&m, "null");
    assert_refused("is damaged");
    forge(&m, altered(json, "\"ss\"", "\"other\"")); /* not told: then it is measured */
    sgfsi_table t = read_back(&silent);
    assert_null(t.stats);
    sgfsi_table_free(&t);
    forge(&m, json);
    t = read_back(&silent);
    assert_non_null(t.stats);
    sgfsi_table_free(&t);
    unlink(path);
    free(json);
    free(m.bytes);
}

static void test_wrong_kinds(void **state) {
    (void)state;
    static const unsigned char gzip[5000] = {0x1F, 0x8B}, text[5000] = {0x89, 'S', 'G', 'D', '\n'};
    store(gzip, sizeof gzip);
    sgfsi_table t;
    sgfs_err err;
    assert_int_equal(sgfs_reader_packed.map(path, &silent, &t, &err), SGFS_EDATA);
    assert_non_null(strstr(err.text, "gunzip"));
    store(text, sizeof text);
    assert_refused("text mode");
    unlink(path);
    assert_int_equal(sgfs_reader_packed.map(path, &silent, &t, &err), SGFS_EIO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_raw_rows),
        cmocka_unit_test(test_words_and_recipe),
        cmocka_unit_test(test_chunks_are_full),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_told_is_measured),
        cmocka_unit_test(test_told_is_of_all_rows_once),
        cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_roles_by_options),
        cmocka_unit_test(test_numbers_that_do_not_fit),
        cmocka_unit_test(test_rounded_targets),
        cmocka_unit_test(test_all_or_nothing),
        cmocka_unit_test(test_flipped_bytes),
        cmocka_unit_test(test_flipped_rows),
        cmocka_unit_test(test_wrong_lengths),
        cmocka_unit_test(test_forged_lengths),
        cmocka_unit_test(test_forged_text),
        cmocka_unit_test(test_wrong_kinds),
    };
    snprintf(path, sizeof path, "packed-test-%ld.sgd", (long)getpid());
    return cmocka_run_group_tests(tests, NULL, NULL);
}
