/* SPDX-License-Identifier: MIT
 * test_csv_blocks.c: files of several blocks give what a walk from line to line would give, however
 * many threads read them: rows, numbers of words, line numbers in sentences, the first fault. And
 * columns of words: --categorical, the words a run knows, and rows that come as a flow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "files/collect.h"
#include "files/find_columns.h"
#include "files/flow.h"

static char path[64];
static const sgfsi_read_options usual = {.target = "",
                                         .features = "",
                                         .weights = "",
                                         .exposure = "",
                                         .delimiter = "auto",
                                         .header = "auto",
                                         .categorical = ""};
static const int64_t threads[] = {1, 2, 3, 7};
enum { THREADS = sizeof threads / sizeof threads[0] };

static FILE *start(void) {
    snprintf(path, sizeof path, "blocks-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    return fdopen(fd, "w");
}

static void save(const char *text) {
    FILE *f = start();
    assert_true(fputs(text, f) >= 0);
    fclose(f);
}

static sgfsi_table must_read(const sgfsi_read_options *options) {
    sgfsi_table t;
    sgfs_err err = {SGFS_OK, ""};
    if (sgfsi_table_read(path, options, &t, &err) != SGFS_OK) fail_msg("not read: %s", err.text);
    return t;
}

/* Fails with every number of threads, each time with the same sentence, which holds the parts. */
static void assert_fails(const sgfsi_read_options *given, sgfs_status code, const char *part,
                         const char *other) {
    for (int k = 0; k < THREADS; k++) {
        sgfsi_read_options options = *given;
        sgfsi_table t;
        sgfs_err err = {SGFS_OK, ""};
        options.threads = threads[k];
        sgfs_status status = sgfsi_table_read(path, &options, &t, &err);
        if (status != code || strstr(err.text, part) == NULL || strstr(err.text, other) == NULL)
            fail_msg("%d threads: %d %s", (int)threads[k], status, err.text);
    }
    unlink(path);
}

static double cell(const sgfsi_table *t, int64_t row, int64_t col) {
    return ((const double *)t->cells)[row * t->cols + col];
}

static void assert_words(const sgfsi_dictionary *d, const char *const *word, int64_t count) {
    assert_int_equal(d->count, count);
    for (int64_t k = 0; k < count; k++) assert_string_equal(d->word[k], word[k]);
}

/* ---- large files ----------------------------------------------------------------------------- */

enum { ROWS = 120000 }; /* about 5 MB */

/* Which word stands in row i: a new one now and then, so that pieces meet words at the same
 * time. */
static int word_of(int64_t i) {
    int64_t known = 2 + i / 1500;
    return (int)(i * 7919 % known);
}

/* Text with all that makes cutting hard; returns the line after the last. With `plain` there are no
 * quotes. */
static int64_t write_rows(FILE *f, bool plain) {
    int64_t line = 2;
    fprintf(f, "a,kind,b,y\r\n");
    for (int64_t i = 0; i < ROWS; i++, line++) {
        const char *end = i % 3 ? "\n" : "\r\n";
        if (i % 1000 == 17) line += fprintf(f, "  \n") > 0;
        if (!plain && i % 500 == 3) {
            fprintf(f, "%.1f,\"w%d\",\" %.17g \",\"k\n,\"\"%lld\"%s", (double)i / 2, word_of(i),
                    (double)i / 7, (long long)(i % 2), end);
            line++;
        } else {
            fprintf(f, "%.1f,w%d,%.17g,%s%lld%s", (double)i / 2, word_of(i), (double)i / 7,
                    i % 5 ? "" : " ", (long long)(i % 2), end);
        }
    }
    return line;
}

static void check_rows(const sgfsi_table *t, bool plain) {
    char wanted[64];
    assert_int_equal(t->rows, ROWS);
    assert_int_equal(t->cols, 4);
    int64_t seen = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        snprintf(wanted, sizeof wanted, "w%d", word_of(i));
        int64_t k = (int64_t)cell(t, i, 1);
        assert_in_range(k, 0, seen); /* numbered in the order of the rows */
        seen += k == seen;
        assert_string_equal(t->dictionary[1].word[k], wanted);
        if (cell(t, i, 0) != (double)i / 2 || cell(t, i, 2) != (double)i / 7)
            fail_msg("row %lld: %g %g", (long long)i, cell(t, i, 0), cell(t, i, 2));
        if (plain) {
            assert_true(cell(t, i, 3) == (double)(i % 2));
            continue;
        }
        bool quoted = i % 500 == 3;
        snprintf(wanted, sizeof wanted, quoted ? "k\n,\"%d" : "%d", (int)(i % 2));
        assert_string_equal(t->level[(int64_t)cell(t, i, 3)], wanted);
    }
    assert_int_equal(t->dictionary[1].count, seen);
    assert_int_equal(t->text_col, plain ? -1 : 3);
}

static void test_any_number_of_threads(void **state) {
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        FILE *f = start();
        write_rows(f, plain);
        fclose(f);
        for (int k = 0; k < THREADS; k++) {
            sgfsi_read_options options = usual;
            options.categorical = "kind";
            options.threads = threads[k];
            sgfsi_table t = must_read(&options);
            check_rows(&t, plain);
            if (!plain) {
                assert_int_equal(t.text_line, 5);
                assert_string_equal(t.level[t.text_level], "k\n,\"1");
            }
            sgfsi_table_free(&t);
        }
        unlink(path);
    }
}

static void test_gzip_overlaps(void **state) {
    (void)state;
    char text[1 << 14];
    FILE *f = start();
    write_rows(f, true);
    fclose(f);
    char zipped[80];
    snprintf(zipped, sizeof zipped, "%s.gz", path);
    f = fopen(path, "r");
    gzFile z = gzopen(zipped, "wb1");
    for (size_t n; (n = fread(text, 1, sizeof text, f)) > 0;)
        assert_int_equal(gzwrite(z, text, (unsigned)n), (int)n);
    fclose(f);
    gzclose(z);
    unlink(path);
    snprintf(path, sizeof path, "%.60s", zipped);
    sgfsi_read_options options = usual;
    options.categorical = "2";
    options.threads = 3;
    sgfsi_table t = must_read(&options);
    unlink(path);
    check_rows(&t, true);
    sgfsi_table_free(&t);
}

/* Line numbers count quoted line ends, blank lines and everything in other pieces. */
static void test_first_fault_is_named(void **state) {
    (void)state;
    char where[128];
    sgfsi_read_options options = usual;
    options.categorical = "kind";
    FILE *f = start();
    int64_t line = write_rows(f, false);
    fprintf(f, "1.5,w1,2,3,4\n");
    for (int i = 0; i < 20000; i++) fprintf(f, "1,w1,2,0\n"); /* same block, other piece */
    fprintf(f, "1.5,w1,many,3\n");
    fclose(f);
    snprintf(where, sizeof where, "%s:%lld: ", path, (long long)line);
    assert_fails(&options, SGFS_EDATA, where, "this row has 5 fields");

    f = start();
    line = write_rows(f, false);
    fprintf(f, "1.5,w1,many,3\n");
    fclose(f);
    snprintf(where, sizeof where, "%s:%lld: ", path, (long long)line);
    assert_fails(&options, SGFS_EDATA, where, "\"many\"");

    f = start();
    line = write_rows(f, false);
    fprintf(f, "1.5,w1,2,3\n1.5,\"w1,2,3\n1,1,1,1\n");
    fclose(f);
    snprintf(where, sizeof where, "%s:%lld: ", path, (long long)line + 1);
    assert_fails(&options, SGFS_EDATA, where, "never closed");

    f = start();
    line = write_rows(f, true);
    fprintf(f, "1.5,w1,2,3\n1,w%c,1,1\n", '\0');
    fclose(f);
    snprintf(where, sizeof where, "%s:%lld: ", path, (long long)line + 1);
    assert_fails(&options, SGFS_EDATA, where, "NUL");
}

/* 1 + 2 + 1 + 3 missing cells, far from each other. */
static void test_missing_cells_of_all_pieces(void **state) {
    (void)state;
    char lines[120];
    sgfsi_read_options options = usual;
    options.categorical = "kind";
    FILE *f = start();
    fprintf(f, "a,kind,b,y\n");
    int64_t line[7], n = 0, at = 2;
    for (int64_t i = 0; i < 300000; i++, at++) {
        bool hole = i % 45000 == 44321;
        if (hole) line[n++] = at;
        fprintf(f, hole ? "NA,,3.25,1\n" : "2.5,x,3.25,1\n");
    }
    fclose(f);
    snprintf(lines, sizeof lines,
             "there are 12 such cells, on lines %lld, %lld, %lld, %lld, %lld, ...",
             (long long)line[0], (long long)line[1], (long long)line[2], (long long)line[3],
             (long long)line[4]);
    assert_fails(&options, SGFS_EDATA, lines, "column 1 (\"a\") holds \"NA\"");
}

static void test_late_text_in_the_target(void **state) {
    (void)state;
    for (int k = 0; k < THREADS; k++) {
        FILE *f = start();
        fprintf(f, "a,y\n");
        for (int i = 0; i < 400000; i++)
            fprintf(f, i == 399990 ? "%d,late\n" : "%d,%d\n", i % 10, i % 3);
        fclose(f);
        sgfsi_read_options options = usual;
        options.threads = threads[k];
        sgfsi_table t = must_read(&options);
        unlink(path);
        assert_int_equal(t.levels, 4);
        assert_string_equal(t.level[0], "0");
        assert_string_equal(t.level[3], "late");
        assert_int_equal(t.text_line, 399992);
        assert_int_equal(t.text_level, 3);
        assert_true(cell(&t, 399990, 1) == 3 && cell(&t, 399989, 1) == 399989 % 3);
        sgfsi_table_free(&t);
    }
}

/* ---- columns of words ------------------------------------------------------------------------ */

static void test_words_are_numbered(void **state) {
    (void)state;
    static const char *const colours[] = {"red", "dark blue", "?"}, *const codes[] = {"7", "07",
                                                                                      "x"};
    static const char *const lists[] = {"colour,code", "2-3", "3, colour"};
    for (int k = 0; k < 3; k++) {
        save("x,colour,code,y\n1,red,7,0\n2,\"dark blue\",07,1\n3, red ,7,0\n4,?,x,1\n");
        sgfsi_read_options options = usual;
        options.categorical = lists[k];
        sgfsi_table t = must_read(&options);
        unlink(path);
        assert_int_equal(t.cols, 4);
        assert_words(&t.dictionary[1], colours, 3);
        assert_words(&t.dictionary[2], codes, 3);
        assert_int_equal(t.dictionary[0].count, 0);
        assert_int_equal(t.dictionary[3].count, 0);
        static const double wanted[] = {1, 0, 0, 0, 2, 1, 1, 1, 3, 0, 0, 0, 4, 2, 2, 1};
        for (int64_t i = 0; i < 16; i++) assert_true(cell(&t, i / 4, i % 4) == wanted[i]);
        assert_int_equal(t.text_col, -1);
        sgfsi_table_free(&t);
    }
}

static void test_words_beside_a_text_target(void **state) {
    (void)state;
    static const char *const colours[] = {"red", "blue"};
    save("x,colour,skipped,y\n1,red,??,no\n2,blue,,yes\n3,red,z,yes\n");
    sgfsi_read_options options = usual;
    options.categorical = "colour,skipped"; /* one that is not read may be named */
    options.features = "x,colour";
    sgfsi_table t = must_read(&options);
    unlink(path);
    assert_int_equal(t.cols, 3);
    assert_words(&t.dictionary[1], colours, 2);
    assert_int_equal(t.text_col, 2);
    assert_int_equal(t.levels, 2);
    assert_string_equal(t.level[0], "no");
    assert_true(cell(&t, 2, 1) == 0 && cell(&t, 2, 2) == 1);
    sgfsi_table_free(&t);
}

static void test_words_are_found(void **state) {
    (void)state;
    static const char *const first[] = {"1", "two", "3"}, *const second[] = {"u", "v"};
    sgfsi_read_options options = usual;
    options.categorical = "auto";
    save("a,b,c,y\n1,u,2.5,0\ntwo,v,?1,1\n3,u,4,0\n");
    sgfsi_table t = must_read(&options);
    unlink(path);
    assert_words(&t.dictionary[0], first, 3);
    assert_words(&t.dictionary[1], second, 2);
    assert_int_equal(t.dictionary[2].count, 3); /* "?1" is a word too */
    sgfsi_table_free(&t);
    save("a;b;y\n1.5;red;0\n2;1,5;1\n3;red;2,5\n"); /* a comma is a fault among numbers only */
    assert_fails(&options, SGFS_EDATA, ":4: column 3 (\"y\") holds \"2,5\"", "decimal point");
    for (int k = 0; k < THREADS; k++) { /* the words of c come when millions of bytes have passed */
        FILE *f = start();
        fprintf(f, "a,b,c,y\n");
        for (int i = 0; i < 300000; i++)
            fprintf(f, "%d,%s,%s,%s\n", i, i % 2 ? "v" : "u", i == 299999 ? "end" : "5",
                    i == 250000 ? "yes" : "0");
        fclose(f);
        options.threads = threads[k];
        t = must_read(&options);
        unlink(path);
        assert_int_equal(t.dictionary[0].count, 0);
        assert_words(&t.dictionary[1], second, 2);
        assert_int_equal(t.dictionary[2].count, 2);
        assert_true(cell(&t, 299999, 2) == 1 && cell(&t, 299998, 2) == 0);
        assert_true(cell(&t, 299999, 0) == 299999);
        assert_int_equal(t.text_line, 250002);
        assert_int_equal(t.text_level, 1);
        sgfsi_table_free(&t);
    }
}

static void test_faults_with_words(void **state) {
    (void)state;
    char where[128];
    sgfsi_read_options options = usual;
    save("x,colour,y\n1,red,0\n2,blue,1\n");
    assert_fails(&options, SGFS_EDATA, "column 2 (\"colour\") holds \"red\"", "--categorical");
    options.categorical = "colour,y";
    save("x,colour,y\n1,red,0\n2,blue,1\n");
    assert_fails(&options, SGFS_EUSAGE, "is the target", "--categorical");
    options.categorical = "colour";
    options.weights = "colour";
    save("x,colour,y\n1,2,0\n2,2,1\n");
    assert_fails(&options, SGFS_EUSAGE, "holds the weights", "--categorical");
    options.weights = "";
    options.categorical = "color";
    save("x,colour,y\n1,red,0\n2,blue,1\n");
    assert_fails(&options, SGFS_EUSAGE, "--categorical asks for \"color\"",
                 "did you mean \"colour\"");
    options.categorical = "colour";
    save("x,colour,y\n1,red,0\n2,NA,1\n3,,1\n");
    assert_fails(&options, SGFS_EDATA, ":3: column 2", "2 such cells, on lines 3, 4");
    for (int many = 100000; many <= 100001; many++) { /* 15 MB: several pieces */
        FILE *f = start();
        fprintf(f, "x,colour,y\n");
        for (int i = 0; i < 120000; i++)
            fprintf(f, "%*d,c%d,1\n", 120, i, i < many ? i : (i * 7) % many);
        fclose(f);
        if (many == 100000) {
            sgfsi_table t = must_read(&options);
            assert_int_equal(t.dictionary[1].count, 100000);
            sgfsi_table_free(&t);
            unlink(path);
        } else {
            snprintf(where, sizeof where, "%s:100002: column 2 (\"colour\")", path);
            assert_fails(&options, SGFS_EDATA, where, "(here \"c100000\"), more than 100000");
        }
    }
}

/* ---- rows for a run -------------------------------------------------------------------------- */

/* Words of the run have its numbers, in whatever order they come; others are numbered behind
 * them. */
static void test_words_a_run_knows(void **state) {
    (void)state;
    static const char told[] =
        "[{\"op\": \"columns\", \"named\": true, \"names\": [\"x\", \"colour\"]},"
        " {\"op\": \"categorical\", \"coding\": \"integer\","
        "  \"columns\": [{\"name\": \"colour\", \"words\": [\"blue\", \"red\"]}]}]";
    const char *const level[] = {"no", "yes"}, *const feature[] = {"x", "colour"},
                      *const paths[] = {path};
    save("x,colour,z,y\n1,red,q,yes\n2,green,q,no\n3,blue,q,maybe\n4,5,q,no\n5,green,q,yes\n");
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_json *recipe = sgfsi_json_parse(told, sizeof told - 1, "recipe", &err);
    if (recipe == NULL) fail_msg("%s", err.text);
    sgfsi_run_columns run = {.wanted = {.features = 2,
                                        .feature = feature,
                                        .named = true,
                                        .target = "y",
                                        .levels = 2,
                                        .level = level,
                                        .recipe = recipe}};
    sgfsi_read_options options = usual;
    options.run = &run;
    sgfsi_flow flow;
    if (sgfsi_flow_open(&flow, 1, paths, &options, &err) != SGFS_OK) fail_msg("%s", err.text);
    static const double wanted[] = {1, 1, 1, 2, 2, 0, 3, 0, 2, 4, 3, 0, 5, 2, 1};
    int64_t row = 0, n, line[2];
    double cells[6];
    for (; sgfsi_flow_next(&flow, 2, cells, line, &n, &err) == SGFS_OK && n > 0; row += n) {
        for (int64_t i = 0; i < n; i++) {
            assert_int_equal(line[i], row + i + 2);
            for (int64_t j = 0; j < 3; j++)
                assert_true(cells[i * 3 + j] == wanted[(row + i) * 3 + j]);
        }
    }
    assert_int_equal(row, 5);
    const sgfsi_dictionary *words = flow.head.dictionary;
    assert_int_equal(words[0].count, 0);
    assert_int_equal(words[1].count, 4);
    assert_string_equal(words[1].word[0], "blue");
    assert_string_equal(words[1].word[2], "green");
    assert_string_equal(words[1].word[3], "5");
    assert_int_equal(flow.head.levels, 3);
    assert_string_equal(flow.head.level[2], "maybe");
    sgfsi_flow_close(&flow);
    sgfsi_run_columns_free(&run);
    sgfsi_json_free(recipe);
    unlink(path);
}

/* Rows in front of a fault are handed over, those of earlier calls and no others. */
static void test_rows_before_a_fault(void **state) {
    (void)state;
    const char *const feature[] = {"x1"}, *const paths[] = {path};
    static const char *const fault[] = {"7,8,9", "x,1", "1,text", ",1"};
    for (int k = 0; k < 4; k++) {
        FILE *f = start();
        for (int i = 0; i < 1000; i++) fprintf(f, "%d,1\n", i);
        fprintf(f, "%s\n", fault[k]);
        for (int i = 0; i < 1000; i++) fprintf(f, "%d,1\n", i);
        fclose(f);
        sgfsi_run_columns run = {.wanted = {.features = 1, .feature = feature, .target = "x2"}};
        sgfsi_read_options options = usual;
        options.run = &run;
        sgfsi_flow flow;
        sgfs_err err = {SGFS_OK, ""};
        assert_int_equal(sgfsi_flow_open(&flow, 1, paths, &options, &err), SGFS_OK);
        int64_t n = 0, line[100], calls = 0;
        double cells[200];
        while (sgfsi_flow_next(&flow, 100, cells, line, &n, &err) == SGFS_OK) calls++;
        assert_int_equal(calls, 10);
        if (strstr(err.text, ":1001: ") == NULL) fail_msg("%s", err.text);
        sgfsi_flow_close(&flow);
        sgfsi_run_columns_free(&run);
        unlink(path);
    }
}

/* ---- flow ------------------------------------------------------------------------------------ */

/* All rows of a flow; *agains: how often it began anew. Words are what the head says at the end. */
static double *take_all(sgfsi_flow *flow, int64_t most, int64_t *rows, int64_t *agains) {
    sgfs_err err = {SGFS_OK, ""};
    int64_t n, room = 0;
    double *all = NULL;
    *rows = *agains = 0;
    do {
        if (*rows + most > room) {
            room = 2 * (*rows + most);
            all = realloc(all, (size_t)(room * flow->head.cols) * sizeof *all);
        }
        sgfs_status status =
            sgfsi_flow_next(flow, most, all + *rows * flow->head.cols, NULL, &n, &err);
        if (status != SGFS_OK) fail_msg("%s", err.text);
        *rows = flow->restarted ? 0 : *rows + n;
        *agains += flow->restarted;
        if (!flow->restarted) assert_in_range((int64_t)(100 * flow->fraction(flow)), 0, 100);
    } while (n > 0 || flow->restarted ? (flow->restarted = false, true) : false);
    return all;
}

static void test_a_flow_has_the_rows_of_the_table(void **state) {
    (void)state;
    static const int64_t most[] = {1, 999, 1 << 20};
    for (int plain = 0; plain < 2; plain++) {
        FILE *f = start();
        write_rows(f, plain);
        fclose(f);
        sgfsi_read_options options = usual;
        options.categorical = "kind";
        sgfsi_table t = must_read(&options);
        for (int k = 0; k < 3; k++) {
            sgfsi_flow flow;
            sgfs_err err = {SGFS_OK, ""};
            int64_t rows, agains;
            options.threads = threads[k];
            assert_int_equal(sgfs_reader_csv.flow(&flow, path, &options, &err), SGFS_OK);
            assert_true(flow.head.dictionary[1].count >
                        0); /* known before the first row is taken */
            assert_int_equal(flow.head.text_col, plain ? -1 : 3);
            double *all = take_all(&flow, most[k], &rows, &agains);
            assert_int_equal(agains, 0);
            assert_int_equal(rows, t.rows);
            assert_memory_equal(all, t.cells, (size_t)(t.rows * t.cols) * sizeof *all);
            assert_words(&flow.head.dictionary[1], (const char *const *)t.dictionary[1].word,
                         t.dictionary[1].count);
            assert_int_equal(flow.head.levels, t.levels);
            for (int64_t j = 0; j < t.levels; j++)
                assert_string_equal(flow.head.level[j], t.level[j]);
            free(all);
            sgfsi_flow_close(&flow);
        }
        sgfsi_table_free(&t);
        unlink(path);
    }
}

static void test_a_flow_begins_again(void **state) {
    (void)state;
    FILE *f = start();
    fprintf(f, "a,b,y\n");
    for (int i = 0; i < 400000; i++)
        fprintf(f, "%d,%s,%s\n", i % 10, i == 399000 ? "late" : "1", i == 300000 ? "text" : "0");
    fclose(f);
    sgfsi_flow flow;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_read_options options = usual;
    options.categorical = "auto";
    options.threads = 1; /* the smallest blocks: neither word is in the first one */
    int64_t rows, agains;
    assert_int_equal(sgfs_reader_csv.flow(&flow, path, &options, &err), SGFS_OK);
    assert_int_equal(flow.head.text_col, -1);
    double *all = take_all(&flow, 5000, &rows, &agains);
    assert_int_equal(agains, 2); /* for the target, then for b */
    assert_int_equal(rows, 400000);
    assert_int_equal(flow.head.text_col, 2);
    assert_string_equal(flow.head.level[1], "text");
    assert_string_equal(flow.head.dictionary[1].word[1], "late");
    assert_true(all[300000 * 3 + 2] == 1 && all[399000 * 3 + 1] == 1 && all[399000 * 3] == 0);
    free(all);
    sgfsi_flow_close(&flow);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_number_of_threads),
        cmocka_unit_test(test_gzip_overlaps),
        cmocka_unit_test(test_first_fault_is_named),
        cmocka_unit_test(test_missing_cells_of_all_pieces),
        cmocka_unit_test(test_late_text_in_the_target),
        cmocka_unit_test(test_words_are_numbered),
        cmocka_unit_test(test_words_beside_a_text_target),
        cmocka_unit_test(test_words_are_found),
        cmocka_unit_test(test_faults_with_words),
        cmocka_unit_test(test_words_a_run_knows),
        cmocka_unit_test(test_rows_before_a_fault),
        cmocka_unit_test(test_a_flow_has_the_rows_of_the_table),
        cmocka_unit_test(test_a_flow_begins_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
