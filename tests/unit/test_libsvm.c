/* SPDX-License-Identifier: MIT
 * test_libsvm.c: libsvm text as sparse rows, as dense rows and in blocks; what is taken for it and
 * what is not; and a sentence with line and column for everything that is not quite it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "files/collect.h"
#include "files/flow.h"

static char path[64];
static char said[1024];

static void keep_note(sgfs_level level, const char *text, void *user) {
    (void)level, (void)user;
    snprintf(said, sizeof said, "%s", text);
}

static const sgfsi_log log_here = {.fn = keep_note};
static const sgfsi_read_options usual = {.target = "",
                                         .features = "",
                                         .delimiter = "auto",
                                         .header = "auto",
                                         .columns = -1,
                                         .log = &log_here};

static void save_bytes(const char *text, size_t bytes) {
    snprintf(path, sizeof path, "svm-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), (ssize_t)bytes);
    close(fd);
    said[0] = '\0';
}

static void save(const char *text) {
    save_bytes(text, strlen(text));
}

/* As save, under a name that says what it is. */
static void save_named(const char *text) {
    save(text);
    char named[80];
    snprintf(named, sizeof named, "%s.svm", path);
    assert_int_equal(rename(path, named), 0);
    memcpy(path, named, strlen(named) + 1);
}

static sgfsi_table read_saved(const sgfsi_read_options *options) {
    sgfsi_table t;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_status status = sgfsi_table_read(path, options, &t, &err);
    unlink(path);
    if (status != SGFS_OK) fail_msg("not read: %s", err.text);
    return t;
}

/* place: ":line:column: ", or "". */
static void assert_fails(const sgfsi_read_options *options, sgfs_status code, const char *place,
                         const char *part) {
    sgfsi_table t;
    sgfs_err err = {SGFS_OK, ""};
    char where[128];
    snprintf(where, sizeof where, "%s%s", path, place);
    sgfs_status status = sgfsi_table_read(path, options, &t, &err);
    unlink(path);
    if (status != code || err.code != code) fail_msg("status %d, text: %s", status, err.text);
    if (strncmp(err.text, where, strlen(where)) != 0) fail_msg("not at %s: %s", where, err.text);
    if (strstr(err.text, part) == NULL) fail_msg("\"%s\" is not in: %s", part, err.text);
    assert_true(t.cells == NULL && t.csr.start == NULL && t.y == NULL && t.names == NULL);
}

static void refuses(const char *text, const char *place, const char *part) {
    save(text);
    assert_fails(&usual, SGFS_EDATA, place, part);
}

/* The rows of a sparse table as they would be in a dense one. */
static double at(const sgfsi_table *t, int64_t row, int64_t col) {
    for (int64_t k = t->csr.start[row]; k < t->csr.start[row + 1]; k++) {
        if (t->csr.col[k] == col) return t->csr.value[k];
    }
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const char three[] = "# made by hand\n"
                            "+1 1:2.385 3:-17.25e1 # the first\n"
                            "\n"
                            "-1\n"
                            "   2.5\t2:.5\t \t4:1  \r\n";

static void check_three(const sgfsi_table *t) {
    static const double label[] = {1, -1, 2.5};
    assert_true(t->rows == 3 && t->cols == 4 && t->type == SGFSI_CSR && t->owned_csr);
    assert_true(t->cells == NULL && t->role == NULL && !t->named && t->text_col == -1);
    assert_memory_equal(t->y, label, sizeof label);
    assert_string_equal(t->target_name, "y");
    assert_string_equal(t->names[0], "x1");
    assert_string_equal(t->names[3], "x4");
    assert_true(t->csr.start[0] == 0 && t->csr.start[1] == 2 && t->csr.start[2] == 2 &&
                t->csr.start[3] == 4);
    assert_true(at(t, 0, 0) == 2.385 && at(t, 0, 2) == -172.5 && at(t, 2, 1) == 0.5 &&
                at(t, 2, 3) == 1);
}

static void test_rows(void **state) {
    (void)state;
    save(three);
    sgfsi_table t = read_saved(&usual);
    check_three(&t);
    assert_string_equal(said, "");
    sgfsi_table_free(&t);
    sgfsi_table_free(&t);
}

static void test_other_bytes(void **state) {
    (void)state;
    char text[256];
    snprintf(text, sizeof text, "\xEF\xBB\xBF%s", three); /* a byte order mark */
    text[strlen(text) - 2] = '\0';                        /* and no last line end */
    save(text);
    sgfsi_table t = read_saved(&usual);
    check_three(&t);
    sgfsi_table_free(&t);
    snprintf(path, sizeof path, "svm-%ld.gz", (long)getpid());
    gzFile gz = gzopen(path, "wb");
    assert_int_equal(gzwrite(gz, three, strlen(three)), (int)strlen(three));
    gzclose(gz);
    t = read_saved(&usual);
    check_three(&t);
    sgfsi_table_free(&t);
}

static void test_zeros_are_dropped_and_counted(void **state) {
    (void)state;
    save("1 2:0 3:1 7:0.0\n0 1:-0\n");
    sgfsi_table t = read_saved(&usual);
    assert_true(t.cols == 7 && t.csr.start[2] == 1 && at(&t, 0, 2) == 1);
    sgfsi_table_free(&t);
}

/* Blocks of the file end anywhere: lines of every length around the size of one, and one that is
 * longer than several. */
static void test_long_files_and_lines(void **state) {
    (void)state;
    enum { LINES = 30000, WIDE = 400000 };
    char *text = malloc(16 << 20), *to = text;
    int64_t entries = 0;
    for (int i = 0; i < LINES; i++) {
        to += sprintf(to, "%d", i % 7);
        for (int j = 1; j <= i % 11; j++, entries++) to += sprintf(to, " %d:%d.25", 3 * j, i);
        to += sprintf(to, "\n");
    }
    to += sprintf(to, "8");
    for (int j = 1; j <= WIDE; j++) to += sprintf(to, " %d:1", j);
    save_bytes(text, (size_t)(to - text));
    free(text);
    sgfsi_table t = read_saved(&usual);
    assert_true(t.rows == LINES + 1 && t.cols == WIDE && t.csr.start[LINES] == entries);
    for (int i = 0; i < LINES; i++) {
        assert_true(t.y[i] == i % 7 && t.csr.start[i + 1] - t.csr.start[i] == i % 11);
        if (i % 11 > 0) assert_true(at(&t, i, 3 * (i % 11) - 1) == i + 0.25);
    }
    assert_true(t.y[LINES] == 8 && t.csr.start[LINES + 1] == entries + WIDE);
    sgfsi_table_free(&t);
}

static void test_zero_based(void **state) {
    (void)state;
    sgfsi_read_options o = usual;
    o.zero_based = true;
    save("1 0:5 2:7\n");
    sgfsi_table t = read_saved(&o);
    assert_true(t.cols == 3 && at(&t, 0, 0) == 5 && at(&t, 0, 2) == 7);
    assert_string_equal(t.names[0], "x1");
    sgfsi_table_free(&t);
}

static void test_columns(void **state) {
    (void)state;
    sgfsi_read_options o = usual;
    o.columns = 9;
    save("1 2:5\n0 9:1\n");
    sgfsi_table t = read_saved(&o);
    assert_int_equal(t.cols, 9);
    sgfsi_table_free(&t);
    save("1 2:5\n0 10:1\n");
    assert_fails(&o, SGFS_EDATA, ":2:3: ", "beyond the 9 features of --columns");
    save("1\n0\n");
    char named[80];
    snprintf(named, sizeof named, "%s.libsvm", path);
    rename(path, named);
    memcpy(path, named, sizeof path);
    t = read_saved(&o);
    assert_true(t.rows == 2 && t.cols == 9 && t.csr.start[2] == 0);
    sgfsi_table_free(&t);
}

static void test_queries_are_a_note(void **state) {
    (void)state;
    save("3 qid:1 1:0.5 4:2\n1 qid:1 2:1\n");
    sgfsi_table t = read_saved(&usual);
    assert_true(t.rows == 2 && t.cols == 4 && t.csr.start[2] == 3 && at(&t, 0, 3) == 2);
    assert_non_null(strstr(said, ":1: qid:"));
    sgfsi_table_free(&t);
    refuses("3 qid:1 1:0.5\n1 1:1 qid:2 2:1\n", ":2:7: ", "right behind the label");
    refuses("3 qid:1 1:0.5\n1 qid:x 2:1\n", ":2:3: ", "number of digits");
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void test_indices(void **state) {
    (void)state;
    refuses("1 1:1\n1 0:5 2:1\n", ":2:3: ", "say --zero-based");
    refuses("1 1:1\n1 3:5 2:1\n", ":2:7: ", "follows a larger one");
    refuses("1 1:1\n1 3:5 3:1\n", ":2:7: ", "a second time");
    refuses("1 1:1\n1 2147483647:5\n", ":2:3: ", "beyond the 1000000 features that are allowed");
    refuses("1 1:1\n1 2147483648:5\n", ":2:3: ", "beyond 2147483647");
    refuses("1 1:1\n1 9999999999:5\n", ":2:3: ", "beyond 2147483647");
    refuses("1 1:1\n1 1000001:5\n", ":2:3: ", "1000000 features");
    refuses("1 1:1\n1 18446744073709551617:5\n", ":2:3: ", "beyond 2147483647");
    refuses("1 1:1\n1 -3:5\n", ":2:3: ", "does not start with a whole number");
    refuses("1 1:1\n1 1.5:5\n", ":2:3: ", "does not start with a whole number");
    refuses("1 1:1\n1 a:5\n", ":2:3: ", "does not start with a whole number");
    refuses("1 1:1\n1 :5\n", ":2:3: ", "does not start with a whole number");
    sgfsi_read_options o = usual;
    o.zero_based = true;
    save("1 0:1\n1 0:5 0:1\n");
    assert_fails(&o, SGFS_EDATA, ":2:7: ", "a second time");
    save("1 0:1\n1 1000000:5\n");
    assert_fails(&o, SGFS_EDATA, ":2:3: ", "1000000 features");
    save("1 0:1\n1 999999:5\n");
    sgfsi_table t = read_saved(&o);
    assert_int_equal(t.cols, 1000000);
    sgfsi_table_free(&t);
}

static void test_values(void **state) {
    (void)state;
    static const char *const bad[] = {"nan", "inf", "-Infinity", "1e999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "1 1:1\n1  3:%s 5:1\n", bad[i]);
        refuses(text, ":2:4: ", "not a finite number");
    }
    refuses("1 1:1\n1 3: 4:1\n", ":2:3: ", "no value after the colon");
    refuses("1 1:1\n1 3:\n", ":2:3: ", "no value after the colon");
    refuses("1 1:1\n1 3:x\n", ":2:3: ", "not a number");
    refuses("1 1:1\n1 3:1.5.5\n", ":2:3: ", "not a number");
    refuses("1 1:1\n1 3:0x10\n", ":2:3: ", "not a number");
    refuses("1 1:1\n1 3:1,5\n", ":2:3: ", "not a number");
    refuses("1 1:1\n1 3:1 4 5:1\n", ":2:7: ", "no colon");
    refuses("1 1:1\n1 3:1 \"4:1\"\n", ":2:7: ", "does not start with");
    refuses("1 1:1\n1 3:1\v\n", ":2:3: ", "not a number");
}

static void test_labels(void **state) {
    (void)state;
    refuses("1 1:1\n1,3 2:1\n", ":2:1: ", "several labels");
    refuses("1,3 2:1\n1 1:1\n", ":1:1: ", "several labels");
    refuses("1 1:1\n 3:1 2:1\n", ":2:2: ", "not with a label");
    refuses("1 1:1\nspam 2:1\n", ":2:1: ", "number the labels");
    refuses("1 1:1\nnan 2:1\n", ":2:1: ", "not a finite number");
    refuses("1 1:1\n1.0x 2:1\n", ":2:1: ", "number the labels");
}

static void test_nothing_in_it(void **state) {
    (void)state;
    save_named("# a comment\n\n");
    assert_fails(&usual, SGFS_EDATA, ": ", "has no rows");
    save_named("1\n0\n");
    assert_fails(&usual, SGFS_EDATA, ": ", "not one index:value");
    save_named("");
    assert_fails(&usual, SGFS_EDATA, ": ", "has no rows");
    save_named("3:1 4:1\n");
    assert_fails(&usual, SGFS_EDATA, ":1:1: ", "not with a label");
}

static void test_bytes_that_are_no_text(void **state) {
    (void)state;
    const char nul[] = "1 1:1\n1 3:\0"
                       "1\n";
    save_bytes(nul, sizeof nul - 1);
    assert_fails(&usual, SGFS_EDATA, ":2:3: ", "not a number");
    refuses("1 1:1\n1 3:1 \x01\xff\xff\n", ":2:7: ", "no colon");
    save_named("1 1:1\r1 3:1\r"); /* CR alone ends no line */
    assert_fails(&usual, SGFS_EDATA, ":1:3: ", "not a number");
}

static void test_a_line_without_end(void **state) {
    (void)state;
    size_t n = (64u << 20) + (2u << 20);
    char *text = malloc(n);
    memset(text, ' ', n);
    memcpy(text, "1 1:1\n1 1:1", 11);
    save_bytes(text, n);
    free(text);
    assert_fails(&usual, SGFS_EDATA, ":2: ", "longer than 64 MiB");
}

static void test_choosing_columns(void **state) {
    (void)state;
    sgfsi_read_options o = usual;
    o.target = "y";
    save(three);
    sgfsi_table t = read_saved(&o);
    sgfsi_table_free(&t);
    const char **option[] = {&o.target, &o.features, &o.weights, &o.exposure};
    static const char *const flag[] = {"--target", "--features", "--weights", "--exposure"};
    for (int k = 0; k < 4; k++) {
        o = usual;
        *option[k] = "x2";
        save(three);
        assert_fails(&o, SGFS_EUSAGE, ": ", flag[k]);
    }
    o = usual;
    o.single = true;
    save(three);
    t = read_saved(&o);
    check_three(&t);
    assert_non_null(strstr(said, "--storage f32"));
    sgfsi_table_free(&t);
}

/* ---- dense and in blocks --------------------------------------------------------------------- */

static const double dense[] = {2.385, 0, -172.5, 0, 1, 0, 0, 0, 0, -1, 0, 0.5, 0, 1, 2.5};

static void test_dense(void **state) {
    (void)state;
    sgfsi_read_options o = usual;
    o.dense = true;
    save(three);
    sgfsi_table t = read_saved(&o);
    assert_true(t.rows == 3 && t.cols == 5 && t.row_stride == 5 && t.type == SGFSI_F64);
    assert_memory_equal(t.cells, dense, sizeof dense);
    assert_true(t.y == NULL && t.csr.start == NULL && !t.named && t.text_col == -1);
    assert_string_equal(t.names[4], "y");
    assert_true(t.role[0] == SGFSI_ROLE_FEATURE && t.role[4] == SGFSI_ROLE_TARGET);
    sgfsi_table_free(&t);
    o.single = true;
    o.weights = "x4";
    o.features = "1-2";
    save(three);
    t = read_saved(&o);
    assert_int_equal(t.type, SGFSI_F32);
    static const int wanted[] = {0, 1, 3, 4};
    for (int i = 0; i < 12; i++)
        assert_true(((const float *)t.cells)[i] == (float)dense[5 * (i / 4) + wanted[i % 4]]);
    static const unsigned char role[] = {SGFSI_ROLE_FEATURE, SGFSI_ROLE_FEATURE, SGFSI_ROLE_WEIGHTS,
                                         SGFSI_ROLE_TARGET};
    assert_memory_equal(t.role, role, sizeof role);
    sgfsi_table_free(&t);
    o = usual;
    o.dense = o.single = true;
    save("1 1:1\n1 2:1e39\n");
    assert_fails(&o, SGFS_EDATA, ":2: ", "single precision");
    save("1 1:1\n1 2:nan\n");
    assert_fails(&o, SGFS_EDATA, ":2:3: ", "not a finite number");
}

/* A million labels and a single entry far to the right: 8 TB. */
static void test_dense_needs_memory(void **state) {
    (void)state;
    enum { LINES = 1000000 };
    sgfsi_read_options o = usual;
    o.dense = true;
    char *text = malloc(2 * LINES + 32), *to = text + sprintf(text, "1 1000000:1\n");
    for (int i = 0; i < LINES; i++, to += 2) memcpy(to, "1\n", 2);
    save_bytes(text, (size_t)(to - text));
    free(text);
    assert_fails(&o, SGFS_ENOMEM, ": 1000001 rows of 1000001 numbers take ", "leave --dense out");
}

static sgfsi_flow flow_saved(const sgfsi_read_options *options) {
    sgfsi_flow f;
    sgfs_err err = {SGFS_OK, ""};
    if (sgfs_reader_libsvm.flow(&f, path, options, &err) != SGFS_OK) fail_msg("%s", err.text);
    return f;
}

static void close_flow(sgfsi_flow *f) {
    sgfsi_flow_close(f);
    unlink(path);
}

static void test_flow(void **state) {
    (void)state;
    for (int64_t most = 1; most <= 4; most++) {
        double cells[20];
        int64_t n, rows = 0;
        sgfs_err err;
        save(three);
        sgfsi_flow f = flow_saved(&usual);
        assert_true(f.head.rows == 3 && f.head.cols == 5 && f.head.cells == NULL);
        assert_string_equal(f.head.names[4], "y");
        assert_true(f.head.role[4] == SGFSI_ROLE_TARGET && f.head.text_col == -1);
        for (;;) {
            memset(cells, 0x55, sizeof cells);
            assert_int_equal(sgfsi_flow_next(&f, most, cells, NULL, &n, &err), SGFS_OK);
            if (n == 0) break;
            assert_memory_equal(cells, dense + 5 * rows, (size_t)(5 * n) * sizeof *cells);
            rows += n;
        }
        assert_int_equal(rows, 3);
        assert_true(f.fraction(&f) > 0.99 && f.fraction(&f) <= 1);
        close_flow(&f);
    }
}

static void test_flow_knows_its_columns(void **state) {
    (void)state;
    sgfsi_read_options o = usual;
    double cells[40];
    int64_t n;
    sgfs_err err;
    o.columns = 6; /* told: no look through the file first */
    save(three);
    sgfsi_flow f = flow_saved(&o);
    assert_true(f.head.rows == 0 && f.head.cols == 7);
    assert_int_equal(sgfsi_flow_next(&f, 5, cells, NULL, &n, &err), SGFS_OK);
    assert_true(n == 3 && cells[6] == 1 && cells[5] == 0 && cells[14 + 3] == 1);
    close_flow(&f);
    o.columns = 3;
    save(three);
    f = flow_saved(&o);
    assert_int_equal(sgfsi_flow_next(&f, 5, cells, NULL, &n, &err), SGFS_EDATA);
    assert_non_null(strstr(err.text, ":5:15: the index in \"4:1\" is beyond the 3 features"));
    close_flow(&f);
    o.columns = -1;
    o.known_columns = 3; /* of a run: what it does not know is left out */
    save(three);
    f = flow_saved(&o);
    assert_int_equal(f.head.cols, 4);
    assert_int_equal(sgfsi_flow_next(&f, 5, cells, NULL, &n, &err), SGFS_OK);
    assert_true(n == 3 && cells[8] == 0 && cells[9] == 0.5 && cells[10] == 0 && cells[11] == 2.5);
    assert_non_null(strstr(said, ":5: feature x4 is none of the 3"));
    close_flow(&f);
}

static void test_flow_refuses(void **state) {
    (void)state;
    sgfsi_flow f;
    sgfs_err err;
    save("1 1:1\n1 2:nan\n");
    assert_int_equal(sgfs_reader_libsvm.flow(&f, path, &usual, &err), SGFS_EDATA);
    assert_null(f.self);
    assert_null(f.head.names);
    unlink(path);
    sgfsi_read_options o = usual;
    o.columns = 4;
    save_named("# nothing\n");
    f = flow_saved(&o);
    double cells[5];
    int64_t n;
    assert_int_equal(sgfsi_flow_next(&f, 1, cells, NULL, &n, &err), SGFS_EDATA);
    assert_non_null(strstr(err.text, "has no rows"));
    close_flow(&f);
}

/* ---- what is taken for it -------------------------------------------------------------------- */

static const sgfs_reader_kind *reader_of(const char *text) {
    sgfs_err err;
    save(text);
    const sgfs_reader_kind *reader = sgfsi_table_reader(path, &err);
    unlink(path);
    return reader;
}

static void test_what_looks_like_it(void **state) {
    (void)state;
    static const char *const libsvm[] = {
        "1 1:2\n",
        "1 1:2",
        "-1.5e3\t17:0.25 18:nan\n",
        "# head\n#\n\n  +1 3:1 # end\n",
        "\xEF\xBB\xBF"
        "1 1:2\r\n",
        "1\n0\n-1\n2 5:1\n",
        "1 0:1\n",
        "1 5:1 3:1\n",
        "2 qid:7 1:1\n",
        "1,3 4:1\n",
        "1 99999999999:1\n",
    };
    static const char *const csv[] = {
        "",
        "1\n0\n",
        "a b c\n1 2 3\n",
        "1 2 3\n4 5 6\n",
        "1,12:30,4\n",
        "1, 12:30\n",
        "1;12:30;5\n",
        "1 12:30 5.5\n1 12:45 6\n",
        "1 12:30:05\n",
        "2024-05-01 12:30 5\n",
        "12:30 5 7\n",
        "y 1:2\n1 3\n",
        "# 1 2:3\n1 2 3\n",
        "1 x:2\n",
        "1 1: 2:3\n",
        "\"1\" 2:3\n",
    };
    for (size_t i = 0; i < sizeof libsvm / sizeof libsvm[0]; i++) {
        if (reader_of(libsvm[i]) != &sgfs_reader_libsvm) fail_msg("not taken: %s", libsvm[i]);
    }
    for (size_t i = 0; i < sizeof csv / sizeof csv[0]; i++) {
        if (reader_of(csv[i]) != &sgfs_reader_csv) fail_msg("taken: %s", csv[i]);
    }
}

/* Readers see the first bytes only, and those may end inside a token. */
static void test_the_head_may_end_anywhere(void **state) {
    (void)state;
    char text[2 * SGFSI_HEAD_BYTES];
    for (int shift = 0; shift < 16; shift++) {
        char *to = text + sprintf(text, "%.*s1", shift, "################");
        if (shift > 0) to = text + sprintf(text, "%.*s\n1", shift, "################");
        for (int j = 1; to - text < SGFSI_HEAD_BYTES + 100; j++)
            to += sprintf(to, " %d:12.5", 10 + j);
        if (reader_of(text) != &sgfs_reader_libsvm) fail_msg("not taken, shift %d", shift);
    }
}

static void test_options_of_other_files(void **state) {
    (void)state;
    static const char csv[] = "a,y\n1,2\n3,4\n";
    sgfsi_read_options o = usual;
    o.columns = 5;
    save(csv);
    assert_fails(&o, SGFS_EUSAGE, ": ", "--columns is for files of kind libsvm");
    o = usual;
    o.zero_based = true;
    save(csv);
    assert_fails(&o, SGFS_EUSAGE, ": ", "--zero-based");
    o = usual;
    o.dense = true;
    save(csv);
    assert_fails(&o, SGFS_EUSAGE, ": ", "--dense");
    o = usual;
    o.labels = "labels.gz";
    save(three);
    assert_fails(&o, SGFS_EUSAGE, ": ", "--labels is for files of kind idx");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_other_bytes),
        cmocka_unit_test(test_zeros_are_dropped_and_counted),
        cmocka_unit_test(test_long_files_and_lines),
        cmocka_unit_test(test_zero_based),
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_queries_are_a_note),
        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_nothing_in_it),
        cmocka_unit_test(test_bytes_that_are_no_text),
        cmocka_unit_test(test_a_line_without_end),
        cmocka_unit_test(test_choosing_columns),
        cmocka_unit_test(test_dense),
        cmocka_unit_test(test_dense_needs_memory),
        cmocka_unit_test(test_flow),
        cmocka_unit_test(test_flow_knows_its_columns),
        cmocka_unit_test(test_flow_refuses),
        cmocka_unit_test(test_what_looks_like_it),
        cmocka_unit_test(test_the_head_may_end_anywhere),
        cmocka_unit_test(test_options_of_other_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
