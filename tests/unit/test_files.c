/* SPDX-License-Identifier: MIT
 * test_files.c: several files are one table and one flow, with the same numbers in the same order
 * as the file they were cut from; names, patterns and pipes find their files, and every way in
 * which files do not fit has its sentence.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <math.h>

#include "base/json.h"
#include "base/words.h"
#include "chain/plan.h"
#include "files/collect.h"
#include "files/files.h"
#include "files/flow.h"
#include "files/packed/packed.h"
#include "rows/rows.h"

static char said[1200];

static void keep_note(sgfs_level level, const char *text, void *user) {
    (void)user;
    snprintf(said, sizeof said, "%d %s", (int)level, text);
}

static const sgfsi_log log_here = {.fn = keep_note};
static const sgfsi_read_options usual = {.target = "",
                                         .features = "",
                                         .weights = "",
                                         .exposure = "",
                                         .delimiter = "auto",
                                         .header = "auto",
                                         .categorical = "",
                                         .labels = "",
                                         .columns = -1,
                                         .log = &log_here};

/* ---- a folder of its own --------------------------------------------------------------------- */

static char folder[64], before[512];

static int enter(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "files-XXXXXX");
    said[0] = '\0';
    if (getcwd(before, sizeof before) == NULL || mkdtemp(folder) == NULL) return 1;
    return chdir(folder);
}

static int leave(void **state) {
    char command[128];
    (void)state;
    if (chdir(before) != 0) return 1;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command); /* NOLINT: a name of our own */
}

static void save(const char *name, const char *text) {
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

/* A NumPy file of rows x cols numbers. */
static void save_npy(const char *name, const char *descr, int64_t rows, int64_t cols,
                     const void *cells, size_t size) {
    char head[128] = "\x93NUMPY\x01\x00\x76\x00";
    int n = snprintf(head + 10, sizeof head - 10,
                     "{'descr': '%s', 'fortran_order': False, 'shape': (%lld, %lld), }", descr,
                     (long long)rows, (long long)cols);
    memset(head + 10 + n, ' ', sizeof head - 10 - (size_t)n);
    head[127] = '\n';
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(head, 1, 128, f), 128);
    assert_int_equal(fwrite(cells, size, (size_t)(rows * cols), f), (size_t)(rows * cols));
    assert_int_equal(fclose(f), 0);
}

static void save_packed_as(const char *name, bool shuffled, char **names, int64_t rows,
                           const double *cells, int64_t levels, char **level,
                           const sgfsi_json *recipe) {
    static unsigned char role[] = {SGFSI_ROLE_FEATURE, SGFSI_ROLE_FEATURE, SGFSI_ROLE_TARGET};
    sgfs_err err = {SGFS_OK, ""};
    const sgfsi_table head = {.cols = 3,
                              .names = names,
                              .role = role,
                              .named = true,
                              .text_col = levels > 0 ? 2 : -1,
                              .levels = levels,
                              .level = level};
    const sgfsi_packer_plan plan = {
        .path = name, .head = &head, .type = SGFSI_F32, .shuffled = shuffled, .recipe = recipe};
    sgfsi_packer *p;
    if (sgfsi_packer_open(&p, &plan, &err) != SGFS_OK ||
        sgfsi_packer_add(p, rows, cells, &err) != SGFS_OK ||
        sgfsi_packer_commit(p, &err) != SGFS_OK)
        fail_msg("not packed: %s", err.text);
}

static void save_packed(const char *name, char **names, int64_t rows, const double *cells,
                        int64_t levels, char **level, const sgfsi_json *recipe) {
    save_packed_as(name, true, names, rows, cells, levels, level, recipe);
}

/* ---- names ----------------------------------------------------------------------------------- */

static sgfsi_files found(const char *name) {
    sgfsi_files f;
    sgfs_err err = {SGFS_OK, ""};
    if (sgfsi_files_open(&f, name, &log_here, &err) != SGFS_OK) fail_msg("%s", err.text);
    return f;
}

static void assert_found(const char *name, const char *shown, int64_t count,
                         const char *const *expected) {
    sgfsi_files f = found(name);
    assert_int_equal(f.count, count);
    for (int64_t i = 0; i < count; i++) assert_string_equal(f.path[i], expected[i]);
    assert_string_equal(f.shown, shown);
    sgfsi_files_close(&f);
}

static void assert_not_found(const char *name, sgfs_status code, const char *part) {
    sgfsi_files f;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_status status = sgfsi_files_open(&f, name, NULL, &err);
    if (status != code || err.code != code) fail_msg("status %d, text: %s", status, err.text);
    if (strstr(err.text, part) == NULL) fail_msg("\"%s\" is not in: %s", part, err.text);
    assert_int_equal(f.count, 0);
    assert_int_equal(sgfsi_files_open(&f, name, NULL, NULL), code);
}

static void test_names_and_patterns(void **state) {
    (void)state;
    const char *const files[] = {"a-10.csv", "a-2.csv", "a-B.csv", "a-b.csv", "b.csv"};
    for (int i = 4; i >= 0; i--) save(files[i], "x,y\n1,2\n");
    save(".a-hidden.csv", "x\n");
    assert_found("a-2.csv", "a-2.csv", 1, files + 1);
    assert_found("a-*.csv", "a-*.csv (4 files)", 4, files);
    assert_found("a-?.csv", "a-?.csv (3 files)", 3, files + 1);
    assert_found("a-[0-9]*.csv", "a-[0-9]*.csv (2 files)", 2, files);
    assert_found("*.csv", "*.csv (5 files)", 5, files);
    assert_found("b*", "b.csv", 1, files + 4); /* one file is shown by its own name */
    const char *const given[] = {"b.csv", "a-10.csv", "a-2.csv", "a-B.csv", "a-b.csv"};
    assert_found("b.csv\na-*.csv", "b.csv and 4 more", 5, given); /* in the order given */
    assert_found("\nb.csv\n\na-10.csv\n", "b.csv and 1 more", 2, given);
}

static void test_odd_names_are_names(void **state) {
    (void)state;
    const char *const odd[] = {"what[1]*.csv", "two\nlines.csv"};
    save("what[1]*.csv", "x,y\n1,2\n");
    save("what1.csv", "x,y\n1,2\n");
    save("two\nlines.csv", "x,y\n1,2\n");
    assert_found(odd[0], odd[0], 1, odd);
    assert_found(odd[1], odd[1], 1, odd + 1);
}

static void test_names_that_will_not_do(void **state) {
    (void)state;
    save("part-1.csv", "x,y\n1,2\n");
    assert_int_equal(link("part-1.csv", "again.csv"), 0);
    assert_int_equal(symlink("part-1.csv", "alias.csv"), 0);
    assert_int_equal(mkdir("parts", 0700), 0);
    assert_not_found("", SGFS_EUSAGE, "empty");
    assert_not_found("none.csv", SGFS_EIO, "none.csv: cannot open it: No such file");
    assert_not_found("part-1.csv\nnone.csv", SGFS_EIO, "none.csv: cannot open it");
    assert_not_found("parts", SGFS_EIO,
                     "parts: is a directory; give the name of a file, or a "
                     "pattern in quotes: 'parts/*.csv'");
    assert_not_found("parts//", SGFS_EIO, "'parts/*.csv'");
    assert_not_found("part*", SGFS_EIO, "parts: is a directory");
    assert_not_found("Parts-*.csv", SGFS_EIO, "no file fits this pattern; did you mean \"part-1");
    assert_not_found("parts/*.csv", SGFS_EIO, "parts/*.csv: no file fits this pattern.");
    assert_not_found("nowhere/*.csv", SGFS_EIO, "cannot open nowhere/: No such file");
    assert_not_found("part-1.csv\npart-1.csv", SGFS_EUSAGE, "part-1.csv: is named twice");
    assert_not_found("part-1.csv\nagain.csv", SGFS_EUSAGE, "part-1.csv and again.csv are the same");
    assert_not_found("*.csv", SGFS_EUSAGE, "are the same file: its rows would count twice");
    assert_not_found("alias.csv\nagain.csv", SGFS_EUSAGE, "alias.csv and again.csv");
    assert_not_found("/dev/null", SGFS_EIO, "/dev/null: is not a regular file, and no pipe");
}

/* ---- pipes ----------------------------------------------------------------------------------- */

static void test_pipes_are_copied(void **state) {
    (void)state;
    int ends[2];
    char name[64], line[8];
    const char text[] = "x,y\n1,2\n3,5\n";
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, sizeof text - 1), sizeof text - 1);
    close(ends[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    sgfsi_files f = found(name);
    close(ends[0]);
    snprintf(name, sizeof name, "pipe %d", ends[0]);
    assert_string_equal(f.name[0], name);
    assert_string_equal(f.shown, name);
    assert_int_equal(f.spools, 1);
    for (int k = 0; k < 2; k++) { /* from the front, as often as one likes */
        FILE *again = fopen(f.path[0], "r");
        assert_non_null(again);
        assert_non_null(fgets(line, sizeof line, again));
        assert_string_equal(line, "x,y\n");
        fclose(again);
    }
    sgfsi_table t;
    sgfs_err err = {SGFS_OK, ""};
    assert_int_equal(sgfsi_files_read(&f, &usual, &t, &err), SGFS_OK);
    sgfsi_files_close(&f);
    assert_int_equal(t.rows, 2); /* the table outlives the copy */
    assert_true(((const double *)t.cells)[3] == 5);
    sgfsi_table_free(&t);
}

static void test_sentences_name_the_pipe(void **state) {
    (void)state;
    char *path[] = {"/proc/self/fd/7", "rows.csv"}, *name[] = {"standard input", "rows.csv"};
    sgfsi_files f = {.count = 2, .path = path, .name = name};
    sgfs_err err = {SGFS_EDATA, "/proc/self/fd/7:3: not /proc/self/fd/71, /proc/self/fd/7."};
    sgfsi_files_tidy(&f, &err);
    assert_string_equal(err.text, "standard input:3: not /proc/self/fd/71, standard input.");
    sgfsi_files_tidy(&f, NULL);
    const sgfsi_log *log = sgfsi_files_log(&f, &log_here);
    sgfsi_say(log, SGFS_WARNING, "%s: odd.", path[0]);
    assert_string_equal(said, "1 standard input: odd.");
    assert_null(sgfsi_files_log(&f, NULL));
    /* a name that does not fit leaves the sentence whole */
    char *long_name[] = {NULL, "rows.csv"};
    char filler[600];
    memset(filler, 'n', sizeof filler - 1);
    filler[sizeof filler - 1] = '\0';
    long_name[0] = filler;
    f.name = long_name;
    snprintf(err.text, sizeof err.text, "/proc/self/fd/7: odd.");
    sgfsi_files_tidy(&f, &err);
    assert_string_equal(err.text, "/proc/self/fd/7: odd.");
}

/* ---- tables ---------------------------------------------------------------------------------- */

static sgfs_status read_as(const char *name, const sgfsi_read_options *options, sgfsi_table *t,
                           sgfs_err *err) {
    sgfsi_files f;
    sgfs_status status = sgfsi_files_open(&f, name, options->log, err);
    if (status != SGFS_OK) return status;
    status = sgfsi_files_read(&f, options, t, err);
    sgfsi_files_close(&f);
    return status;
}

static sgfsi_table table_of(const char *name, const sgfsi_read_options *options) {
    sgfsi_table t;
    sgfs_err err = {SGFS_OK, ""};
    if (read_as(name, options, &t, &err) != SGFS_OK) fail_msg("%s: %s", name, err.text);
    return t;
}

static void assert_refused(const char *name, const sgfsi_read_options *options, const char *part) {
    sgfsi_table t;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_status status = read_as(name, options, &t, &err);
    if (status != SGFS_EDATA) fail_msg("status %d, text: %s", status, err.text);
    if (strstr(err.text, part) == NULL) fail_msg("\"%s\" is not in: %s", part, err.text);
    assert_null(t.cells);
    assert_null(t.part);
}

static double cell(const sgfsi_table *t, int64_t row, int64_t col) {
    int64_t bytes = t->row_stride * (int64_t)sgfsi_dtype_size(t->type);
    return sgfsi_table_cell(t->type, sgfsi_table_row(t, row, bytes), col);
}

static void assert_rows(const sgfsi_table *t, int64_t rows, int64_t cols, const double *expected) {
    assert_int_equal(t->rows, rows);
    assert_int_equal(t->cols, cols);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            double x = cell(t, i, j);
            if (x != expected[i * cols + j])
                fail_msg("row %lld, column %lld: %g", (long long)i, (long long)j, x);
        }
    }
}

static const double whole[] = {2.5, -17.25, 0, 0.5, 3,  1, 7.125, -2, 0,
                               1.5, 4,      1, -6,  12, 0, 0.25,  9,  1}; /* 6 x 3 */

static void test_arrays_become_parts(void **state) {
    (void)state;
    save_npy("1.npy", "<f8", 1, 3, whole, 8);
    save_npy("2.npy", "<f8", 3, 3, whole + 3, 8);
    save_npy("3.npy", "<f8", 2, 3, whole + 12, 8);
    sgfsi_table t = table_of("?.npy", &usual);
    assert_rows(&t, 6, 3, whole);
    assert_int_equal(t.parts, 3);
    for (int k = 0; k < 3; k++) {
        assert_non_null(t.part[k].map); /* nothing was copied */
        assert_null(t.part[k].owned);
    }
    assert_int_equal(t.part[2].first, 4);
    char where[64];
    assert_string_equal(sgfsi_table_where(&t, "all", 5, where, sizeof where), "3.npy: row 2");
    assert_string_equal(sgfsi_table_where(&t, "all", 0, where, sizeof where), "1.npy: row 1");
    assert_string_equal(t.names[2], "y");
    sgfsi_table_free(&t);
}

static void test_types_and_formats_mix(void **state) {
    (void)state;
    const float narrow[] = {0.5F, 3, 1, 7.125F, -2, 0};
    const int32_t small[] = {-6, 12, 0};
    save_npy("1.npy", "<f8", 1, 3, whole, 8);
    save_npy("2.npy", "<f4", 2, 3, narrow, 4);
    save("3.csv", "x1,x2,y\n1.5,4,1\n");
    save_npy("4.npy", "<i4", 1, 3, small, 4);
    save("5.csv", "y,x2,x1\n1,9,0.25\n"); /* in another order: found by name */
    sgfsi_read_options named = usual;
    named.target = "y";
    sgfsi_table t = table_of("1.npy\n2.npy\n3.csv\n4.npy", &usual);
    assert_rows(&t, 5, 3, whole);
    assert_int_equal(t.type, SGFSI_F64);
    sgfsi_table_free(&t);
    t = table_of("2.npy\n4.npy", &usual); /* without the doubles */
    assert_int_equal(t.type, SGFSI_F64);
    assert_true(cell(&t, 2, 0) == -6 && cell(&t, 1, 0) == 7.125);
    sgfsi_table_free(&t);
    t = table_of("3.csv\n5.csv", &named);
    assert_true(cell(&t, 1, 0) == 0.25 && cell(&t, 1, 1) == 9 && cell(&t, 1, 2) == 1);
    assert_string_equal(said, "0 5.csv: its columns stand in another order than those of 3.csv; "
                              "they are found by name.");
    sgfsi_table_free(&t);
    named.features = "x2"; /* an array keeps all columns, a text the wanted ones */
    t = table_of("1.npy\n3.csv", &named);
    const double chosen[] = {-17.25, 0, 4, 1};
    assert_rows(&t, 2, 2, chosen);
    sgfsi_table_free(&t);
}

static void test_words_are_numbered_through(void **state) {
    (void)state;
    save("1.csv", "x,y\n1,b\n2,a\n3,b\n");
    save("2.csv", "x,y\n4,c\n5,a\n6,b\n");
    save("3.csv", "x,y\n7,1\n8,02\n");
    sgfsi_table t = table_of("1.csv\n2.csv", &usual);
    const double expected[] = {1, 0, 2, 1, 3, 0, 4, 2, 5, 1, 6, 0};
    assert_rows(&t, 6, 2, expected);
    assert_int_equal(t.levels, 3);
    assert_string_equal(t.level[2], "c");
    sgfsi_table_free(&t);
    for (int first = 0; first < 2; first++) { /* numbers are texts where others are */
        t = table_of(first ? "3.csv\n1.csv" : "1.csv\n3.csv", &usual);
        assert_int_equal(t.levels, 4);
        assert_string_equal(t.level[first ? 1 : 3], "02");
        assert_string_equal(t.level[first ? 2 : 0], "b");
        assert_true(cell(&t, first ? 2 : 0, 1) == (first ? 2 : 0));
        assert_true(cell(&t, first ? 1 : 4, 1) == (first ? 1 : 3));
        assert_string_equal(t.text_path, "1.csv");
        assert_int_equal(t.text_line, 2);
        assert_string_equal(t.level[t.text_level], "b");
        sgfsi_table_free(&t);
    }
    sgfsi_read_options single = usual;
    single.single = true;
    t = table_of("1.csv\n2.csv", &single);
    assert_int_equal(t.type, SGFSI_F32);
    assert_rows(&t, 6, 2, expected);
    sgfsi_table_free(&t);
}

static void test_sparse_rows_are_appended(void **state) {
    (void)state;
    save("1.svm", "1 1:2 3:0.5\n0 2:7\n");
    save("2.svm", "0 5:4\n1\n0 1:3\n");
    sgfsi_table t = table_of("*.svm", &usual);
    const int64_t start[] = {0, 2, 3, 4, 4, 5};
    const int32_t col[] = {0, 2, 1, 4, 0};
    const double value[] = {2, 0.5, 7, 4, 3}, y[] = {1, 0, 0, 1, 0};
    assert_int_equal(t.type, SGFSI_CSR);
    assert_int_equal(t.rows, 5);
    assert_int_equal(t.cols, 5); /* of the widest */
    assert_memory_equal(t.csr.start, start, sizeof start);
    assert_memory_equal(t.csr.col, col, sizeof col);
    assert_memory_equal(t.csr.value, value, sizeof value);
    assert_memory_equal(t.y, y, sizeof y);
    sgfsi_table_free(&t);
    sgfsi_read_options dense = usual;
    dense.dense = true;
    t = table_of("1.svm\n2.svm", &dense);
    assert_int_equal(t.cols, 6);
    assert_true(cell(&t, 0, 2) == 0.5 && cell(&t, 2, 4) == 4 && cell(&t, 3, 5) == 1);
    sgfsi_table_free(&t);
    save("3.csv", "x1,x2,x3,x4,x5,y\n9,8,7,6,5,4\n");
    t = table_of("2.svm\n3.csv", &dense); /* --dense is for the first alone */
    assert_true(cell(&t, 3, 4) == 5 && cell(&t, 0, 4) == 4);
    sgfsi_table_free(&t);
    assert_refused("2.svm\n3.csv", &usual, "2.svm: is sparse, and 3.csv is not");
}

/* What packed files say of their columns, against the same rows in one file. */
static void test_told_statistics_are_merged(void **state) {
    (void)state;
    char *names[] = {"x1", "x2", "y"};
    double cells[300];
    for (int i = 0; i < 300; i++) cells[i] = i % 3 == 2 ? i % 5 : sin(0.37 * i) * 385 + 1e4;
    save_packed("all.sgd", names, 100, cells, 0, NULL, NULL);
    save_packed("p1.sgd", names, 17, cells, 0, NULL, NULL);
    save_packed("p2.sgd", names, 50, cells + 51, 0, NULL, NULL);
    save_packed("p3.sgd", names, 33, cells + 201, 0, NULL, NULL);
    sgfsi_table t = table_of("p?.sgd", &usual), one = table_of("all.sgd", &usual);
    assert_int_equal(t.parts, 3);
    assert_true(t.shuffled);
    assert_int_equal(t.rows, 100);
    for (int j = 0; j < 3; j++) {
        const sgfsi_column_stats *a = &t.stats[j], *b = &one.stats[j];
        /* rounding only: sums of 100 numbers, a few ulp of the largest term */
        assert_true(a->rows == b->rows && a->min == b->min && a->max == b->max);
        assert_true(fabs(a->mean - b->mean) <= 1e-13 * fabs(b->mean));
        assert_true(fabs(a->ss - b->ss) <= 1e-11 * b->ss);
        for (int i = 0; i < 100; i++) assert_true(cell(&t, i, j) == cell(&one, i, j));
    }
    assert_int_equal(t.values, one.values);
    for (int64_t k = 0; k < t.values; k++) {
        assert_true(t.value[k] == one.value[k]);
        assert_true(t.value_rows[k] == one.value_rows[k]);
    }
    sgfsi_table_free(&t);
    sgfsi_table_free(&one);
    save("x.csv", "x1,x2,y\n1,2,3\n");
    t = table_of("p1.sgd\nx.csv", &usual); /* nobody speaks for all rows */
    assert_null(t.stats);
    assert_int_equal(t.values, 0);
    assert_false(t.shuffled);
    assert_true(cell(&t, 16, 0) == (double)(float)cells[48] && cell(&t, 17, 2) == 3);
    sgfsi_table_free(&t);
}

/* One file in the order of its source is enough: its neighbours may be alike. */
static void test_all_files_are_shuffled_or_none(void **state) {
    (void)state;
    char *names[] = {"x1", "x2", "y"};
    const double cells[] = {1, 2, 0, 3, 4, 1};
    save_packed_as("1.sgd", true, names, 2, cells, 0, NULL, NULL);
    save_packed_as("2.sgd", false, names, 2, cells, 0, NULL, NULL);
    save_packed_as("3.sgd", true, names, 2, cells, 0, NULL, NULL);
    static const struct {
        const char *name;
        bool shuffled;
    } c[] = {{"1.sgd", true},         {"2.sgd", false},        {"1.sgd\n3.sgd", true},
             {"1.sgd\n2.sgd", false}, {"2.sgd\n1.sgd", false}, {"1.sgd\n2.sgd\n3.sgd", false}};
    for (size_t k = 0; k < sizeof c / sizeof *c; k++) {
        sgfsi_table t = table_of(c[k].name, &usual);
        if (t.shuffled != c[k].shuffled) fail_msg("%s: shuffled is %d", c[k].name, t.shuffled);
        sgfsi_table_free(&t);
    }
}

static void test_packed_files_that_differ(void **state) {
    (void)state;
    char *names[] = {"x1", "x2", "y"}, *words[] = {"no", "yes"}, *turned[] = {"yes", "no"};
    double cells[] = {1, 2, 0, 3, 4, 1};
    sgfsi_json *recipe = sgfsi_json_parse("[{\"op\": \"log1p\"}]", 17, "recipe", NULL);
    assert_non_null(recipe);
    save_packed("1.sgd", names, 2, cells, 2, words, NULL);
    save_packed("2.sgd", names, 2, cells, 2, words, NULL);
    save_packed("3.sgd", names, 2, cells, 2, turned, NULL);
    save_packed("4.sgd", names, 2, cells, 2, words, recipe);
    sgfsi_json_free(recipe);
    sgfsi_table t = table_of("1.sgd\n2.sgd", &usual);
    assert_int_equal(t.levels, 2);
    assert_non_null(t.stats);
    sgfsi_table_free(&t);
    assert_refused("1.sgd\n3.sgd", &usual,
                   "3.sgd: its words (\"yes\", ...) are numbered otherwise than in 1.sgd");
    assert_refused("1.sgd\n4.sgd", &usual, "4.sgd: other transforms have made it than 1.sgd");
    save("5.csv", "x1,x2,y\n5,6,yes\n");
    t = table_of("5.csv\n1.sgd", &usual); /* of two types, so in memory: words can change there */
    assert_true(cell(&t, 0, 2) == 0 && cell(&t, 1, 2) == 1 && cell(&t, 2, 2) == 0);
    sgfsi_table_free(&t);
    sgfsi_read_options single = usual;
    single.single = true; /* the same where they are of one type */
    t = table_of("5.csv\n1.sgd", &single);
    assert_true(cell(&t, 0, 2) == 0 && cell(&t, 1, 2) == 1 && cell(&t, 2, 2) == 0);
    sgfsi_table_free(&t);
    save("6.csv", "x1,x2,y\n5,6,no\n7,8,maybe\n");
    t = table_of("1.sgd\n6.csv", &usual);
    assert_int_equal(t.levels, 3);
    assert_true(cell(&t, 2, 2) == 0 && cell(&t, 3, 2) == 2);
    sgfsi_table_free(&t);
}

static void test_columns_that_do_not_agree(void **state) {
    (void)state;
    save("a.csv", "u,v,y\n1,2,3\n");
    save("lacks.csv", "u,y\n1,3\n");
    save("more.csv", "u,v,w,y\n1,2,5,3\n");
    save("other.csv", "u,z,y\n1,2,3\n");
    save("order.csv", "y,v,u\n1,2,3\n"); /* its last column is another */
    save("bare.csv", "1,2,3\n4,5,6\n");
    save("bare4.csv", "1,2,3,4\n4,5,6,7\n");
    save("twice.csv", "u,u,y\n1,2,3\n");
    save("text.csv", "1,2,many\n3,4,few\n");
    save_npy("a.npy", "<f8", 2, 3, whole, 8);
    assert_refused("a.csv\nlacks.csv", &usual,
                   "lacks.csv: its columns are not those of a.csv: it lacks \"v\".");
    assert_refused("a.csv\nmore.csv", &usual,
                   "more.csv: its columns are not those of a.csv: it has besides \"w\".");
    assert_refused("a.csv\nother.csv", &usual, "it lacks \"v\", and has besides \"z\".");
    assert_refused("a.csv\norder.csv", &usual,
                   "order.csv: its column \"u\" is the target, and in a.csv it is a feature; name");
    assert_refused("a.csv\nbare.csv", &usual,
                   "bare.csv: does not say what its columns are called, and a.csv calls them "
                   "\"u\", ...; give every file a header.");
    assert_refused("bare.csv\na.csv", &usual, "bare.csv: does not say");
    assert_refused("a.csv\na.npy", &usual, "a.npy: does not say");
    assert_refused("bare.csv\nbare4.csv", &usual, "bare4.csv: has 4 columns where bare.csv has 3.");
    assert_refused("a.csv\ntwice.csv", &usual, "two columns are called \"u\"");
    assert_refused("bare.csv\na.npy\ntext.csv", &usual, "a.npy: its targets are numbers");
    sgfsi_table t = table_of("bare.csv\na.npy", &usual); /* by place */
    assert_int_equal(t.rows, 4);
    assert_true(cell(&t, 2, 1) == -17.25);
    sgfsi_table_free(&t);
}

/* ---- data ------------------------------------------------------------------------------------ */

static void test_data_of_several_files(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    double bad[] = {1, 2, 3, 4, NAN, 6};
    save_npy("1.npy", "<f8", 2, 3, whole, 8);
    save_npy("2.npy", "<f8", 4, 3, whole + 6, 8);
    save_npy("3.npy", "<f8", 2, 3, bad, 8);
    save_npy("whole.npy", "<f8", 6, 3, whole, 8);
    sgfs_config *cfg = sgfs_config_new();
    sgfs_data *d = sgfs_data_open("1.npy\n2.npy", cfg, &err),
              *one = sgfs_data_open("whole.npy", cfg, &err);
    assert_non_null(d);
    const int64_t row[] = {5, 0, 2, 1, 4, 3, 5};
    double x[21], y[7], x1[21], y1[7];
    sgfsi_data_rows_pick(d, row, 7, x, y);
    sgfsi_data_rows_pick(one, row, 7, x1, y1);
    assert_memory_equal(x, x1, sizeof x);
    assert_memory_equal(y, y1, sizeof y);
    assert_memory_equal(&d->feature[1].mean, &one->feature[1].mean, 4 * sizeof(double));
    sgfsi_json *told = sgfsi_data_describe(d);
    assert_string_equal(sgfsi_json_get_text(told, "path", ""), "1.npy and 1 more");
    const sgfsi_json *files = sgfsi_json_get(told, "files");
    assert_int_equal(sgfsi_json_length(files), 2);
    assert_string_equal(sgfsi_json_as_text(sgfsi_json_at(files, 1)), "2.npy");
    sgfsi_json_free(told);
    sgfs_data_free(d);
    sgfs_data_free(one);
    assert_null(sgfs_data_open("?.npy", cfg, &err));
    if (strstr(err.text, "3.npy: row 2, column \"x2\" is not a finite number") == NULL)
        fail_msg("%s", err.text);
    sgfs_config_free(cfg);
}

/* ---- flows ----------------------------------------------------------------------------------- */

/* All rows of a flow, in blocks of `most`; starts anew where it is told to. */
static int64_t drain(sgfsi_flow *flow, int64_t most, double *out, int *again, sgfs_err *err) {
    int64_t rows = 0, n = 0;
    double last = 0;
    do {
        sgfs_status status =
            sgfsi_flow_next(flow, most, out + rows * flow->head.cols, NULL, &n, err);
        if (status != SGFS_OK) return -1;
        rows += n;
        double fraction = flow->fraction(flow);
        if (flow->restarted) {
            assert_int_equal(n, 0);
            flow->restarted = false;
            rows = 0;
            last = 0;
            ++*again;
            n = 1;
            continue;
        }
        assert_true(fraction >= last && fraction <= 1);
        last = fraction;
    } while (n > 0);
    return rows;
}

static void assert_flows(int64_t files, const char *const *path, const sgfsi_read_options *options,
                         int64_t rows, int64_t cols, const double *expected) {
    for (int64_t most = 1; most < 9; most += 3) {
        sgfsi_flow flow;
        sgfs_err err = {SGFS_OK, ""};
        double out[256];
        int again = 0;
        if (sgfsi_flow_open(&flow, files, path, options, &err) != SGFS_OK) fail_msg("%s", err.text);
        assert_int_equal(flow.head.cols, cols);
        assert_null(flow.head.cells);
        if (drain(&flow, most, out, &again, &err) != rows) fail_msg("rows: %s", err.text);
        assert_memory_equal(out, expected, (size_t)(rows * cols) * sizeof *out);
        sgfsi_flow_close(&flow);
    }
}

static void assert_no_flow(int64_t files, const char *const *path,
                           const sgfsi_read_options *options, const char *part) {
    sgfsi_flow flow;
    sgfs_err err = {SGFS_OK, ""};
    double out[256];
    int again = 0;
    sgfs_status status = sgfsi_flow_open(&flow, files, path, options, &err);
    if (status == SGFS_OK && drain(&flow, 2, out, &again, &err) >= 0) fail_msg("no mistake");
    if (strstr(err.text, part) == NULL) fail_msg("\"%s\" is not in: %s", part, err.text);
    sgfsi_flow_close(&flow);
}

static void test_flows_of_arrays(void **state) {
    (void)state;
    const float narrow[] = {0.5F, 3, 1, 7.125F, -2, 0};
    save_npy("1.npy", "<f8", 1, 3, whole, 8);
    save_npy("2.npy", "<f4", 2, 3, narrow, 4);
    save_npy("3.npy", "<f8", 3, 3, whole + 9, 8);
    const char *const path[] = {"1.npy", "2.npy", "3.npy"}, *const one[] = {"3.npy"};
    assert_flows(3, path, &usual, 6, 3, whole);
    assert_flows(1, one, &usual, 3, 3, whole + 9);
    sgfsi_read_options chosen = usual;
    chosen.features = "2";
    chosen.target = "1";
    const double turned[] = {2.5, -17.25, 0.5, 3, 7.125, -2, 1.5, 4, -6, 12, 0.25, 9};
    assert_flows(3, path, &chosen, 6, 2, turned);
    double bad[] = {1, 2, 3, 4, INFINITY, 6};
    save_npy("4.npy", "<f8", 2, 3, bad, 8);
    save_npy("5.npy", "<f8", 3, 2, bad, 8);
    const char *const broken[] = {"1.npy", "4.npy"}, *const other[] = {"1.npy", "3.npy", "5.npy"};
    assert_no_flow(2, broken, &usual, "4.npy: row 2, column \"x2\" is not a finite number");
    assert_no_flow(3, other, &usual, "5.npy: has 2 columns where 1.npy has 3.");
    const char *const none[] = {"1.npy", "none.npy"};
    assert_no_flow(2, none, &usual, "none.npy: cannot open it");
}

static void test_flows_of_sparse_and_packed_files(void **state) {
    (void)state;
    char *names[] = {"x1", "x2", "y"}, *words[] = {"no", "yes"}, *turned[] = {"yes", "no", "?"};
    save("1.svm", "1 1:2\n0 2:7\n");
    save("2.svm", "0 3:4\n1\n");
    const char *const sparse[] = {"1.svm", "2.svm"};
    const double filled[] = {2, 0, 0, 1, 0, 7, 0, 0, 0, 0, 4, 0, 0, 0, 0, 1};
    assert_flows(2, sparse, &usual, 4, 4, filled);
    const double cells[] = {1, 2, 0, 3, 4, 1, 5, 6, 2};
    save_packed("1.sgd", names, 2, cells, 2, words, NULL);
    save_packed("2.sgd", names, 3, cells, 3, turned, NULL);
    const char *const packed[] = {"1.sgd", "2.sgd"};
    const double numbered[] = {1, 2, 0, 3, 4, 1, 1, 2, 1, 3, 4, 0, 5, 6, 2};
    assert_flows(2, packed, &usual, 5, 3, numbered); /* by their words, not by their numbers */
    sgfsi_flow flow;
    sgfs_err err = {SGFS_OK, ""};
    double out[64];
    int again = 0;
    assert_int_equal(sgfsi_flow_open(&flow, 2, packed, &usual, &err), SGFS_OK);
    assert_int_equal(drain(&flow, 2, out, &again, &err), 5);
    assert_int_equal(flow.head.levels, 3);
    assert_string_equal(flow.head.level[2], "?");
    assert_int_equal(flow.head.text_col, 2);
    sgfsi_flow_close(&flow);
    save_packed("3.sgd", names, 3, cells, 0, NULL, NULL);
    const char *const numbers[] = {"1.sgd", "3.sgd"};
    assert_no_flow(2, numbers, &usual, "3.sgd: its targets are numbers");
    /* a flipped bit is seen before its rows are believed */
    FILE *f = fopen("2.sgd", "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, SGFSI_PAGE + 5, SEEK_SET), 0);
    fputc('!', f);
    fclose(f);
    assert_no_flow(2, packed, &usual, "2.sgd");
}

/* A flow of one file has its order; two orders drawn at random, one behind the other, are none: a
 * row of the second file never comes first. */
static void test_flows_of_shuffled_files(void **state) {
    (void)state;
    char *names[] = {"x1", "x2", "y"};
    const char *const path[] = {"1.sgd", "2.sgd"};
    const double cells[] = {1, 2, 0, 3, 4, 1};
    save_packed("1.sgd", names, 2, cells, 0, NULL, NULL);
    save_packed("2.sgd", names, 2, cells, 0, NULL, NULL);
    for (int64_t files = 1; files <= 2; files++) {
        sgfsi_flow flow;
        sgfs_err err = {SGFS_OK, ""};
        if (sgfsi_flow_open(&flow, files, path, &usual, &err) != SGFS_OK) fail_msg("%s", err.text);
        assert_int_equal(flow.head.shuffled, files == 1);
        sgfsi_flow_close(&flow);
    }
}

static void test_flows_of_words(void **state) {
    (void)state;
    save("1.csv", "x,c,y\n1,u,3\n2,v,5\n");
    save("2.csv", "x,c,y\n3,w,5\n4,u,b\n");
    save("3.csv", "x,c,y\n5,7,3\n");
    const char *const two[] = {"1.csv", "2.csv"}, *const auto_[] = {"1.csv", "2.csv", "3.csv"};
    sgfsi_read_options words = usual;
    words.categorical = "c";
    /* the target is text in the second file, so in the first: "3", "5", "b" */
    const double expected[] = {1, 0, 0, 2, 1, 1, 3, 2, 1, 4, 0, 2};
    assert_flows(2, two, &words, 4, 3, expected);
    words.categorical = "auto";
    assert_flows(2, two, &words, 4, 3, expected);
    assert_no_flow(3, auto_, &words, "column \"c\" holds words, and in 3.csv numbers only");
    assert_refused("1.csv\n2.csv\n3.csv", &words, "in 3.csv numbers only; say --categorical");
    words.categorical = "c";
    sgfsi_flow flow;
    sgfs_err err = {SGFS_OK, ""};
    double out[64];
    int again = 0;
    assert_int_equal(sgfsi_flow_open(&flow, 3, auto_, &words, &err), SGFS_OK);
    assert_int_equal(flow.head.text_col, 2); /* known before the first row */
    assert_int_equal(drain(&flow, 3, out, &again, &err), 5);
    assert_int_equal(again, 0);
    assert_int_equal(flow.head.dictionary[1].count, 4);
    assert_string_equal(flow.head.dictionary[1].word[3], "7");
    assert_true(out[13] == 3 && out[14] == 0);
    assert_string_equal(flow.head.level[2], "b");
    sgfsi_flow_close(&flow);
    sgfsi_table t = table_of("1.csv\n2.csv\n3.csv", &words); /* the table is the flow */
    assert_rows(&t, 5, 3, out);
    assert_int_equal(t.dictionary[1].count, 4);
    assert_string_equal(t.dictionary[1].word[2], "w");
    sgfsi_table_free(&t);
}

/* Text that comes to light when rows have been handed over: everything starts again. */
static void test_flows_start_again(void **state) {
    (void)state;
    enum { ROWS = 700000 };
    FILE *f = fopen("2.csv", "w");
    assert_non_null(f);
    fputs("x,y\n", f);
    for (int i = 0; i < ROWS; i++) fputs(i < ROWS - 1 ? "1.5,2\n" : "1.5,b\n", f);
    fclose(f);
    save("1.csv", "x,y\n7,2\n8,3\n");
    double *out = malloc((ROWS + 4) * 2 * sizeof *out);
    for (int first = 0; first < 2; first++) {
        const char *const path[] = {first ? "2.csv" : "1.csv", first ? "1.csv" : "2.csv"};
        sgfsi_flow flow;
        sgfs_err err = {SGFS_OK, ""};
        int again = 0;
        assert_int_equal(sgfsi_flow_open(&flow, 2, path, &usual, &err), SGFS_OK);
        assert_int_equal(flow.head.text_col, -1);
        int64_t rows = drain(&flow, 4096, out, &again, &err);
        if (rows != ROWS + 2) fail_msg("%lld rows: %s", (long long)rows, err.text);
        assert_int_equal(again, 1);
        assert_int_equal(flow.head.text_col, 1);
        assert_int_equal(flow.head.levels, 3);
        assert_string_equal(flow.head.level[0], "2");
        assert_string_equal(flow.head.level[2], first ? "3" : "b");
        const double *last = out + (first ? ROWS - 1 : ROWS + 1) * 2;
        assert_true(last[0] == 1.5 && last[1] == (first ? 1 : 2));
        sgfsi_flow_close(&flow);
    }
    free(out);
}

static void test_words(void **state) {
    (void)state;
    sgfsi_word_list g = {0};
    char word[32];
    assert_int_equal(sgfsi_words_find(&g, "none", 4), -1);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < 3000; i++) {
            snprintf(word, sizeof word, "w%d", i * 385);
            assert_int_equal(sgfsi_words_add(&g, word, strlen(word)), i);
        }
    }
    assert_int_equal(g.count, 3000);
    assert_int_equal(sgfsi_words_find(&g, "w770", 4), 2);
    assert_int_equal(sgfsi_words_find(&g, "w771!", 4), -1);
    sgfsi_words_free(&g);
    assert_int_equal(g.count, 0);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_names_and_patterns),
        IN_FOLDER(test_odd_names_are_names),
        IN_FOLDER(test_names_that_will_not_do),
        IN_FOLDER(test_pipes_are_copied),
        IN_FOLDER(test_sentences_name_the_pipe),
        IN_FOLDER(test_arrays_become_parts),
        IN_FOLDER(test_types_and_formats_mix),
        IN_FOLDER(test_words_are_numbered_through),
        IN_FOLDER(test_sparse_rows_are_appended),
        IN_FOLDER(test_told_statistics_are_merged),
        IN_FOLDER(test_all_files_are_shuffled_or_none),
        IN_FOLDER(test_packed_files_that_differ),
        IN_FOLDER(test_columns_that_do_not_agree),
        IN_FOLDER(test_data_of_several_files),
        IN_FOLDER(test_flows_of_arrays),
        IN_FOLDER(test_flows_of_sparse_and_packed_files),
        IN_FOLDER(test_flows_of_shuffled_files),
        IN_FOLDER(test_flows_of_words),
        IN_FOLDER(test_flows_start_again),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
