/* SPDX-License-Identifier: MIT
 * test_transform.c: a recipe does the same to blocks of rows, to a table and to rows that come
 * later, and takes nothing on trust that a run file says. (What each operation should do is
 * compared with plain computations in tests/cli/test_transforms.py.)
 */
#include "tools/check.h"

#include <stdio.h>

#include "files/transform/transform.h"
#include "rows/rows.h"

enum { N = 197, FEATURES = 4, COLS = 6, ROOM = N * 16 };

static char *names[COLS] = {"a", "b", "weight", "c", "d", "y"};
static unsigned char roles[COLS] = {SGFSI_ROLE_FEATURE, SGFSI_ROLE_FEATURE, SGFSI_ROLE_WEIGHTS,
                                    SGFSI_ROLE_FEATURE, SGFSI_ROLE_FEATURE, SGFSI_ROLE_TARGET};

/* Positive features, weights 0 to 3, targets 0 to 2. */
static double *some_cells(void) {
    double *x = numbers(N * COLS, 2385);
    for (int64_t i = 0; i < N; i++) {
        for (int64_t j = 0; j < COLS; j++) x[i * COLS + j] = fabs(x[i * COLS + j]) * 7;
        x[i * COLS + 2] = (double)(i % 4);
        x[i * COLS + 5] = (double)(i % 3);
    }
    return x;
}

/* A table as a reader hands it over. */
static sgfsi_table some_table(void) {
    sgfsi_table t = {.rows = N, .cols = COLS, .row_stride = COLS, .named = true, .text_col = -1};
    t.cells = t.owned = some_cells();
    t.names = calloc(COLS, sizeof *t.names);
    t.role = malloc(COLS);
    assert_non_null(t.names);
    assert_non_null(t.role);
    for (int64_t j = 0; j < COLS; j++) t.names[j] = strdup(names[j]);
    memcpy(t.role, roles, COLS);
    return t;
}

static sgfs_config *config(const char *const (*set)[2]) {
    sgfs_config *cfg = sgfs_config_new();
    sgfs_err err;
    assert_non_null(cfg);
    for (; (*set)[0] != NULL; set++)
        assert_int_equal(sgfs_config_set(cfg, (*set)[0], (*set)[1], &err), SGFS_OK);
    return cfg;
}

static const char *const plans[][10][2] = {
    {{"data.limit", "31"}, {NULL, NULL}},
    {{"data.split", "0.6,0.4"}, {"data.part", "test"}, {NULL, NULL}},
    {{"data.drop", "b,4"}, {"data.keep_classes", "0,2"}, {NULL, NULL}},
    {{"data.log1p", "1-2"}, {"data.limit", "150"}, {"data.keep_classes", "1"}, {NULL, NULL}},
    {{"data.standardize", "true"}, {"data.split", "0.6,0.4"}, {"data.part", "all"}, {NULL, NULL}},
    {{"data.formula", "y ~ a*b + poly(c, 2) + bs(d, df=4):a + log(scale(a) + 9)"},
     {"data.limit", "150"},
     {"data.keep_classes", "0,1"},
     {NULL, NULL}},
    {{"data.formula", "y ~ (a + b + c)^2 - a + I(d^2/(a + 1))"},
     {"data.standardize", "true"},
     {"data.split", "0.5,0.5"},
     {"data.part", "test"},
     {NULL, NULL}},
    {{"data.log1p", "a"},
     {"data.standardize", "true"},
     {"data.limit", "160"},
     {"data.split", "0.5,0.3,0.2"},
     {"data.part", "validation"},
     {"data.project", "3"},
     {"data.drop", "p2"},
     {NULL, NULL}},
};
enum { PLANS = sizeof plans / sizeof plans[0] };

/* ---- the same in blocks, of a table, and again ---------------------------------------------- */

typedef struct result {
    int64_t rows, cols, features;
    double cells[ROOM];
} result;

/* All rows in blocks of n. */
static sgfs_status in_blocks(sgfsi_recipe *r, const double *cells, int64_t n, result *out,
                             sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    bool done = false;
    out->rows = 0;
    for (int64_t k = 0; k <= sgfsi_recipe_looks(r) && status == SGFS_OK; k++) {
        bool last = k == sgfsi_recipe_looks(r);
        sgfsi_recipe_rewind(r);
        for (int64_t i = 0; i < N && status == SGFS_OK && !done; i += n) {
            int64_t count = N - i < n ? N - i : n, kept = 0;
            if (!last) {
                status = sgfsi_recipe_look(r, k, count, cells + i * COLS, err);
                continue;
            }
            out->cols = sgfsi_recipe_head(r)->cols;
            status = sgfsi_recipe_run(r, count, cells + i * COLS,
                                      out->cells + out->rows * out->cols, &kept, &done, err);
            out->rows += kept;
        }
        if (!last && status == SGFS_OK) status = sgfsi_recipe_looked(r, k, err);
    }
    return status == SGFS_OK ? sgfsi_recipe_finish(r, err) : status;
}

/* One cell of a table of doubles. */
static double cell_of(const sgfsi_table *t, int64_t row, int64_t col) {
    return ((const double *)t->cells)[row * t->row_stride + col];
}

/* Features in order, then the others, as blocks have them. */
static void of_table(const sgfsi_table *t, const sgfsi_transformed *done, result *out) {
    out->rows = done->rows;
    out->cols = 0;
    for (int64_t i = 0; i < done->rows; i++) {
        int64_t row = done->row != NULL && !done->copied ? done->row[i] : i;
        double *to = out->cells + i * out->cols;
        int64_t cols = 0;
        for (int turn = 0; turn < 2; turn++) {
            for (int64_t j = 0; j < t->cols; j++) {
                bool feature = t->role[j] == SGFSI_ROLE_FEATURE;
                if (t->role[j] != SGFSI_ROLE_NONE && feature == (turn == 0))
                    to[cols++] = cell_of(t, row, j);
            }
            if (turn == 0) out->features = cols;
        }
        out->cols = cols;
    }
}

static void test_blocks_and_tables(void **state) {
    (void)state;
    static result a, b;
    double *cells = some_cells();
    for (int p = 0; p < PLANS; p++) {
        sgfs_config *cfg = config(plans[p]);
        sgfs_err err = {SGFS_OK, ""};
        sgfsi_table head = some_table(), t = some_table();
        sgfsi_recipe *of_blocks, *of_t;
        sgfsi_transformed done;
        const sgfsi_beside beside = {NULL, NULL, NULL};
        for (int64_t n = 1; n <= N; n = 3 * n + 1) {
            assert_int_equal(sgfsi_recipe_new(&of_blocks, cfg, &head, true, &err), SGFS_OK);
            if (in_blocks(of_blocks, cells, n, &a, &err) != SGFS_OK) fail_msg("%s", err.text);
            assert_int_equal(sgfsi_recipe_new(&of_t, cfg, &t, true, &err), SGFS_OK);
            assert_int_equal(sgfsi_recipe_table(of_t, &t, &beside, false, &done, &err), SGFS_OK);
            of_table(&t, &done, &b);
            assert_int_equal(a.rows, b.rows);
            assert_int_equal(a.cols, b.cols);
            assert_memory_equal(a.cells, b.cells, (size_t)(a.rows * a.cols) * sizeof(double));
            sgfsi_recipe_free(of_blocks);
            sgfsi_recipe_free(of_t);
            free(done.row);
            sgfsi_table_free(&t);
            t = some_table();
        }
        sgfsi_table_free(&head);
        sgfsi_table_free(&t);
        sgfs_config_free(cfg);
    }
    free(cells);
}

static void test_bad_cells_are_named(void **state) {
    (void)state;
    static result a;
    double *cells = some_cells();
    cells[11 * COLS] = -1;
    const char *const plan[][2] = {{"data.log1p", "a"}, {NULL, NULL}};
    sgfs_config *cfg = config(plan);
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_table head = some_table();
    sgfsi_recipe *r;
    assert_int_equal(sgfsi_recipe_new(&r, cfg, &head, true, &err), SGFS_OK);
    assert_int_equal(in_blocks(r, cells, 5, &a, &err), SGFS_EDATA);
    assert_non_null(strstr(err.text, "row 12"));
    assert_non_null(strstr(err.text, "\"a\""));
    sgfsi_recipe_free(r);
    sgfsi_table_free(&head);
    sgfs_config_free(cfg);
    free(cells);
}

/* Rows that come later have the columns of the recalled recipe, by name, and no others. */
static void test_recalled(void **state) {
    (void)state;
    static result a;
    static double in[ROOM], out[ROOM];
    double *cells = some_cells();
    for (int p = 0; p < PLANS; p++) {
        sgfs_config *cfg = config(plans[p]);
        sgfs_err err = {SGFS_OK, ""};
        sgfsi_table head = some_table();
        sgfsi_recipe *r, *again;
        const char *const *name;
        int64_t bad;
        /* every row, so that they can be told apart */
        for (const char *const *key =
                 (const char *const[]){"data.split", "data.limit", "data.keep_classes", NULL};
             *key != NULL; key++) {
            const char *none = strcmp(*key, "data.limit") == 0 ? "auto" : "";
            assert_int_equal(sgfs_config_set(cfg, *key, none, &err), SGFS_OK);
        }
        assert_int_equal(sgfs_config_set(cfg, "data.part", "train", &err), SGFS_OK);
        assert_int_equal(sgfsi_recipe_new(&r, cfg, &head, true, &err), SGFS_OK);
        assert_int_equal(in_blocks(r, cells, 50, &a, &err), SGFS_OK);
        sgfsi_json *told = sgfsi_recipe_describe(r, NULL);
        char *text = sgfsi_json_dump(told, false);
        sgfsi_json_free(told);
        told = sgfsi_json_parse(text, strlen(text), "a recipe", &err);
        if (sgfsi_recipe_recall(&again, told, 0, &err) != SGFS_OK) fail_msg("%s", err.text);
        int64_t inputs = sgfsi_recipe_inputs(again, &name), features;
        for (int64_t k = 0; k < inputs; k++) {
            int64_t j = 0;
            while (strcmp(names[j], name[k]) != 0) j++;
            for (int64_t i = 0; i < N; i++) in[i * inputs + k] = cells[i * COLS + j];
        }
        features = sgfsi_recipe_outputs(again, &name);
        assert_int_equal(features, a.cols - 2);
        assert_int_equal(sgfsi_recipe_columns(again, N, in, out, features, &bad, &err), SGFS_OK);
        for (int64_t i = 0; i < N; i++)
            assert_memory_equal(out + i * features, a.cells + i * a.cols,
                                (size_t)features * sizeof(double));
        if (strcmp(plans[p][0][0], "data.drop") == 0) assert_int_equal(inputs, 2);
        free(text);
        sgfsi_json_free(told);
        sgfsi_recipe_free(r);
        sgfsi_recipe_free(again);
        sgfsi_table_free(&head);
        sgfs_config_free(cfg);
    }
    free(cells);
}

/* ---- run files ------------------------------------------------------------------------------- */

static sgfsi_json *json(const char *text) {
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_json *v = sgfsi_json_parse(text, strlen(text), "a test", &err);
    if (v == NULL) fail_msg("%s", err.text);
    return v;
}

#define COLUMNS "{\"op\":\"columns\",\"named\":true,\"names\":[\"a\",\"b\"]}"

#define TWO "{\"of\":[1,2],\"left_out\":0}"
#define FORMULA(text, values, learnt, combinations)                                                \
    "[" COLUMNS ",{\"op\":\"formula\",\"formula\":\"" text "\",\"values\":[" values                \
    "],\"learnt\":[" learnt "],\"combinations\":[" combinations "]}]"

static void test_damaged(void **state) {
    (void)state;
    static const char *const damaged[] = {
        "[]",
        "{}",
        "[{}]",
        "[{\"op\":\"log1p\",\"columns\":[\"a\"]}]",
        "[{\"op\":\"columns\",\"named\":true}]",
        "[{\"op\":\"columns\",\"names\":[\"a\"]}]",
        "[{\"op\":\"columns\",\"named\":true,\"names\":[7]}]",
        "[" COLUMNS ",{\"op\":\"magic\"}]",
        "[" COLUMNS ",7]",
        "[" COLUMNS ",{\"op\":\"log1p\"}]",
        "[" COLUMNS ",{\"op\":\"log1p\",\"columns\":[\"c\"]}]",
        "[" COLUMNS ",{\"op\":\"drop\",\"columns\":[[]]}]",
        "[" COLUMNS ",{\"op\":\"columns\",\"named\":true,\"names\":[\"c\"]}]",
        "[" COLUMNS ",{\"op\":\"project\",\"columns\":0,\"seed\":1}]",
        "[" COLUMNS ",{\"op\":\"project\",\"columns\":9000000000,\"seed\":1}]",
        "[" COLUMNS ",{\"op\":\"project\",\"columns\":2}]",
        "[" COLUMNS ",{\"op\":\"standardize\",\"shift\":[1],\"scale\":[1,2]}]",
        "[" COLUMNS ",{\"op\":\"standardize\",\"shift\":[1,null],\"scale\":[1,2]}]",
        "[" COLUMNS
        ",{\"op\":\"categorical\",\"coding\":\"onehot\",\"columns\":[{\"name\":\"q\"}]}]",
        "[" COLUMNS ",{\"op\":\"categorical\",\"coding\":\"onehot\",\"columns\":[{\"name\":\"a\","
        "\"words\":[]}]}]",
        "[" COLUMNS ",{\"op\":\"split\",\"shares\":[0.5],\"seed\":1,\"part\":\"train\"}]",
        "[" COLUMNS ",{\"op\":\"split\",\"shares\":[0.5,-1],\"seed\":1,\"part\":\"train\"}]",
        "[" COLUMNS ",{\"op\":\"split\",\"shares\":[0.5,0.5],\"seed\":1,\"part\":\"none\"}]",
        "[" COLUMNS ",{\"op\":\"keep-classes\",\"classes\":[]}]",
        "[" COLUMNS ",{\"op\":\"limit\",\"rows\":-3}]",
        FORMULA("y ~ a*", "", "", ""),
        FORMULA("y ~ c", "", "", ""),
        FORMULA("y ~ poly(a, 2)", "", "", ""),
        FORMULA("y ~ poly(a, 2)", "", "{\"numbers\":[1,2,3,4]}", ""),
        FORMULA("y ~ poly(a, 2)", "", "{\"numbers\":[1,2,3,4,null]}", ""),
        FORMULA("y ~ C(a)", "", "", ""),
        FORMULA("y ~ C(a)", "{\"of\":[1,2],\"left_out\":2}", "", ""),
        FORMULA("y ~ C(a)", "{\"of\":[1,1],\"left_out\":0}", "", ""),
        FORMULA("y ~ C(a)*C(b)", TWO "," TWO, "", ""),
        FORMULA("y ~ C(a)*C(b)", TWO "," TWO, "", "{\"codes\":[0,0,0,2],\"left_out\":-1}"),
        FORMULA("y ~ C(a)*C(b)", TWO "," TWO, "", "{\"codes\":[0,0,0],\"left_out\":-1}"),
        FORMULA("y ~ C(a)*C(b)", TWO "," TWO, "", "{\"codes\":[0,1,0,1],\"left_out\":-1}"),
        FORMULA("y ~ C(a):C(b)", TWO "," TWO, "", "{\"codes\":[0,1],\"left_out\":1}"),
    };
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++) {
        sgfsi_json *told = json(damaged[i]);
        sgfs_err err = {SGFS_OK, ""};
        sgfsi_recipe *r = NULL;
        if (sgfsi_recipe_recall(&r, told, 0, &err) != SGFS_ERUNFILE) fail_msg("%s", damaged[i]);
        assert_null(r);
        sgfsi_json_free(told);
    }
}

static void test_what_was_done(void **state) {
    (void)state;
    static const struct {
        const char *told, *done;
        int64_t count;
    } cases[] = {
        {"[" COLUMNS ",{\"op\":\"project\",\"columns\":2,\"seed\":1}]", "[" COLUMNS "]", 0},
        {"[" COLUMNS ",{\"op\":\"project\",\"columns\":2,\"seed\":1}]",
         "[" COLUMNS ",{\"op\":\"project\",\"columns\":2,\"seed\":1}]", 2},
        {"[" COLUMNS
         ",{\"op\":\"limit\",\"rows\":5},{\"op\":\"project\",\"columns\":2,\"seed\":1},7]",
         "[" COLUMNS
         ",{\"op\":\"project\",\"columns\":2,\"seed\":1},{\"op\":\"limit\",\"rows\":9}]",
         3},
        {"[" COLUMNS ",{\"op\":\"project\",\"columns\":2,\"seed\":1}]",
         "[" COLUMNS ",{\"op\":\"project\",\"columns\":2,\"seed\":2}]", -1},
        {"[" COLUMNS "]", "[" COLUMNS ",{\"op\":\"project\",\"columns\":2,\"seed\":2}]", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sgfsi_json *told = json(cases[i].told), *done = json(cases[i].done);
        assert_int_equal(sgfsi_recipe_done(told, done), cases[i].count);
        assert_int_equal(sgfsi_recipe_done(told, NULL), 0);
        sgfsi_json_free(told);
        sgfsi_json_free(done);
    }
    sgfsi_json *done = json("[" COLUMNS ",{\"op\":\"drop\",\"columns\":[\"a\"]}]");
    assert_int_equal(sgfsi_recipe_done(NULL, done), -1);
    sgfsi_json_free(done);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Weights, exposure and target beside the caller's array follow the rows that stay. */
static void test_arrays(void **state) {
    (void)state;
    double *x = numbers(N * FEATURES, 5), *y = numbers(N, 6), *w = numbers(N, 7),
           *t = numbers(N, 8);
    double row[FEATURES + 1], target, weight;
    for (int64_t i = 0; i < N; i++) {
        y[i] = (double)(i % 3);
        w[i] = 1 + fabs(w[i]);
        t[i] = 1 + fabs(t[i]);
    }
    const sgfs_arrays arrays = {
        .rows = N, .cols = FEATURES, .x = x, .y = y, .weights = w, .exposure = t};
    for (int copies = 0; copies < 2; copies++) {
        const char *const plan[][2] = {
            {"data.keep_classes", "0,2"}, {copies ? "data.log1p" : "data.drop", "2"}, {NULL, NULL}};
        sgfs_config *cfg = config(plan);
        sgfs_err err = {SGFS_OK, ""};
        sgfs_data *d = sgfs_data_wrap(&arrays, cfg, &err);
        if (d == NULL) fail_msg("%s", err.text);
        assert_int_equal(d->N, N - N / 3 - (N % 3 > 1));
        assert_int_equal(d->subset == NULL, copies);
        int64_t at = 0;
        for (int64_t i = 0; i < N; i++) {
            if (y[i] == 1) continue;
            sgfsi_data_rows_range(d, at, 1, row, &target);
            sgfsi_data_weights(d, at, 1, &weight);
            int64_t own = d->subset != NULL ? d->subset[at] : at;
            double second = x[i * FEATURES + 1], third = x[i * FEATURES + 2];
            assert_true(target == y[i] && weight == w[i] && d->offset[own] == log(t[i]));
            assert_true(row[1] == x[i * FEATURES] && row[2] == (copies ? log1p(second) : third));
            at++;
        }
        assert_int_equal(at, d->N);
        sgfs_data_free(d);
        sgfs_config_free(cfg);
    }
    free(x);
    free(y);
    free(w);
    free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_and_tables), cmocka_unit_test(test_bad_cells_are_named),
        cmocka_unit_test(test_recalled),          cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_what_was_done),     cmocka_unit_test(test_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
