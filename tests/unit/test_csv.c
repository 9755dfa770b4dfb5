/* SPDX-License-Identifier: MIT
 * test_csv.c: every way of writing a table that the CSV reader promises to take, and every fault it
 * promises to name. A fault's sentence must give the file, the line and the column.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "files/collect.h"

static char path[64];
static char said[1024]; /* the last note */

static void keep_note(sgfs_level level, const char *text, void *user) {
    (void)user;
    snprintf(said, sizeof said, "%d %s", (int)level, text);
}

static const sgfsi_log log_here = {.fn = keep_note};
static const sgfsi_read_options usual = {
    .target = "", .features = "", .delimiter = "auto", .header = "auto", .log = &log_here};

static void save_bytes(const char *text, size_t n) {
    snprintf(path, sizeof path, "csv-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), (ssize_t)n);
    close(fd);
    said[0] = '\0';
}

static void save(const char *text) {
    save_bytes(text, strlen(text));
}

static sgfsi_table read_saved(const sgfsi_read_options *options) {
    sgfsi_table t;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_status status = sgfsi_table_read(path, options, &t, &err);
    unlink(path);
    if (status != SGFS_OK) fail_msg("not read: %s", err.text);
    return t;
}

static sgfsi_table read_text(const char *text) {
    save(text);
    return read_saved(&usual);
}

/* Reading fails with this code, and the sentence holds each of the parts (up to a NULL). */
static void assert_saved_fails(const sgfsi_read_options *options, sgfs_status code, ...) {
    sgfsi_table t;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_status status = sgfsi_table_read(path, options, &t, &err);
    unlink(path);
    if (status != code || err.code != code) fail_msg("status %d, text: %s", status, err.text);
    if (strstr(err.text, path) == NULL) fail_msg("file not named: %s", err.text);
    assert_null(t.cells);
    va_list parts;
    va_start(parts, code);
    for (const char *part; (part = va_arg(parts, const char *)) != NULL;) {
        if (strstr(err.text, part) == NULL) fail_msg("\"%s\" is not in: %s", part, err.text);
    }
    va_end(parts);
}
#define assert_text_fails(text, ...)                                                               \
    (save(text), assert_saved_fails(&usual, SGFS_EDATA, __VA_ARGS__, (const char *)NULL))

static double cell(const sgfsi_table *t, int64_t row, int64_t col) {
    if (t->type == SGFSI_F32) return (double)((const float *)t->cells)[row * t->row_stride + col];
    assert_int_equal(t->type, SGFSI_F64);
    return ((const double *)t->cells)[row * t->row_stride + col];
}

static void assert_cells(const sgfsi_table *t, int64_t rows, int64_t cols, const double *wanted) {
    assert_int_equal(t->rows, rows);
    assert_int_equal(t->cols, cols);
    for (int64_t i = 0; i < rows * cols; i++) {
        double x = cell(t, i / cols, i % cols);
        if (x != wanted[i]) fail_msg("cell %lld is %.17g, not %.17g", (long long)i, x, wanted[i]);
    }
}

static const double square[] = {2.385, -17.25, 0.5, 1e-7, 381.125, 1};

/* ---- ways of writing ------------------------------------------------------------------------- */

static void test_the_same_table_written_in_many_ways(void **state) {
    (void)state;
    static const char *const texts[] = {
        "age,dose,y\n2.385,-17.25,0.5\n1e-7,381.125,1\n",
        "age,dose,y\n2.385,-17.25,0.5\n1e-7,381.125,1",
        "age,dose,y\r\n2.385,-17.25,0.5\r\n1e-7,381.125,1\r\n",
        "\xEF\xBB\xBF"
        "age,dose,y\n2.385,-17.25,0.5\n1e-7,381.125,1\n",
        "\n\nage,dose,y\n\n2.385,-17.25,0.5\n   \n1e-7,381.125,1\n\n\n",
        "age;dose;y\n2.385;-17.25;0.5\n1e-7;381.125;1\n",
        "age|dose|y\n2.385|-17.25|0.5\n1e-7|381.125|1\n",
        "age\tdose\ty\n2.385\t-17.25\t0.5\n1e-7\t381.125\t1\n",
        "age dose y\n2.385 -17.25 0.5\n1e-7 381.125 1\n",
        "  age   dose  y \n 2.385   -17.25 \t 0.5\n   1e-7 381.125 1  \r\n",
        "age , dose , y\n 2.385 , -17.25 ,0.5\n1e-7,  381.125  ,+1 \n",
        "\"age\",\"dose\",\"y\"\n\"2.385\",\"-17.25\",0.5\n1e-7, \"381.125\" ,\" 1 \"\n",
        "\"age\" \"dose\" \"y\"\n\"2.385\" -17.25 0.5\n1e-7 \"381.125\" 1\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        sgfsi_table t = read_text(texts[i]);
        assert_cells(&t, 2, 3, square);
        assert_true(t.named);
        assert_string_equal(t.names[0], "age");
        assert_string_equal(t.names[1], "dose");
        assert_string_equal(t.names[2], "y");
        assert_int_equal(t.text_col, -1);
        assert_true(t.role[0] == SGFSI_ROLE_FEATURE && t.role[1] == SGFSI_ROLE_FEATURE);
        assert_int_equal(t.role[2], SGFSI_ROLE_TARGET);
        sgfsi_table_free(&t);
    }
}

static void test_quotes_hold_anything(void **state) {
    (void)state;
    save("\"a, \"\"b\"\"\",\"two\nlines\",5\" "
         "pipe,y\n2.385,\"x\n\"\"\n,,\",7.5,1\n-17.25,z,8.5,\"0\"\n");
    sgfsi_read_options options = usual;
    options.features = "1,3";
    sgfsi_table t = read_saved(&options);
    const double wanted[] = {2.385, 7.5, 1, -17.25, 8.5, 0};
    assert_cells(&t, 2, 3, wanted);
    assert_string_equal(t.names[0], "a, \"b\"");
    assert_string_equal(t.names[1], "5\" pipe");
    sgfsi_table_free(&t);
    /* lines are counted through quoted line ends */
    save("a,b,y\n1.5,\"p\nq\n\",0\n2.5,r,0\n3.5,s,oops,7\n");
    options.features = "a";
    assert_saved_fails(&options, SGFS_EDATA, ":6:", "4 fields", "has 3", NULL);
}

static void test_header_is_found(void **state) {
    (void)state;
    static const struct {
        const char *text, *header;
        bool named;
        int64_t rows;
        const char *first_name;
    } cases[] = {
        {"2.5,3.25,yes\n4.75,5.5,no\n", "auto", false, 2, "x1"},
        {"2.5,3.25,yes\n", "auto", false, 1, "x1"},
        {"2.5,3.25\n", "auto", false, 1, "x1"},
        {"a,b,label\n2.5,3.25,yes\n4.75,5.5,no\n", "auto", true, 2, "a"},
        {",b,label\n2.5,3.25,yes\n", "auto", true, 1, "x1"},
        {"1990,1991,y\n2.5,3.25,0\n", "auto", true, 1, "1990"},
        {"1990,1991,1992\n2.5,3.25,0\n", "auto", true, 1, "1990"},
        {"1991,1990,k\n2.5,3.25,u\n", "auto", true, 1, "1991"},
        {"1990,1991,1992\n2.5,3.25,1500\n", "auto", false, 2, "x1"},
        {"1990,1991,1992\n2.5,3.25,0\n", "yes", true, 1, "1990"},
        {"\"7.5\",2.5,yes\n4.75,5.5,no\n", "auto", false, 2, "x1"},
        {"2.5,3.25,yes\n4.75,5.5,no\n", "yes", true, 1, "2.5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sgfsi_read_options options = usual;
        options.header = cases[i].header;
        save(cases[i].text);
        sgfsi_table t = read_saved(&options);
        if (t.named != cases[i].named || t.rows != cases[i].rows) fail_msg("case %zu", i);
        assert_string_equal(t.names[0], cases[i].first_name);
        bool mixed = cases[i].header[0] == 'a' && t.named && t.names[0][0] == '1';
        assert_true((strstr(said, "--header no") != NULL) == mixed);
        sgfsi_table_free(&t);
    }
    sgfsi_read_options options = usual;
    options.header = "no";
    save("a,b\n2.5,3.5\n");
    assert_saved_fails(&options, SGFS_EDATA, ":1:", "column 1", "\"a\"", NULL);
}

/* A first line of numbers above rows of noise: `form` is that of one cell. */
static sgfsi_table read_below(const char *first, int cells, const char *form, int rows) {
    char text[8192];
    size_t used = (size_t)snprintf(text, sizeof text, "%s\n", first);
    for (int i = 0; i < rows * cells; i++) {
        const double noise = (double)((i * 7919 + 13) % 101);
        used += (size_t)snprintf(text + used, sizeof text - used, form, noise);
        text[used++] = (i + 1) % cells == 0 ? '\n' : ',';
        text[used] = '\0';
    }
    return read_text(text);
}

/* Names are taken where they are certain; where they may be names, a warning says what was done. */
static void test_header_of_numbers(void **state) {
    (void)state;
    static const struct {
        const char *first;
        int cells;
        const char *form;
        int rows;
        bool named, doubtful;
    } cases[] = {
        {"2019,2020,2021", 3, "%.1f", 60, true, false},
        {"2021,2017", 2, "%.0f", 60, true, false},
        {"0,1,2,3", 4, "%.1f", 60, true, false},
        {"0,1,2,3", 4, "%.1f", 3, false, false},
        {"0,1,2,3", 4, "%.0f", 60, false, false}, /* ranks */
        {"0,1,2,3,4,5", 6, "%.0f", 60, false, true},
        {"500,900,2100", 3, "%.0f", 60, false, true},
        {"500,90,2100", 3, "%.0f", 60, false, false},
        {"500,90.0,21", 3, "%.0f", 60, false, false},
        {"7,20,60", 3, "%.0f", 60, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sgfsi_table t = read_below(cases[i].first, cases[i].cells, cases[i].form, cases[i].rows);
        bool warned = strstr(said, "--header yes") != NULL,
             noted = strstr(said, "--header no ") != NULL;
        if (t.named != cases[i].named || warned != cases[i].doubtful ||
            (!warned && noted != t.named) || t.rows != cases[i].rows + !t.named)
            fail_msg("case %zu: %s", i, said);
        sgfsi_table_free(&t);
    }
    sgfsi_read_options options = usual;
    options.target = "21";
    save("20,21,22\n1.5,2.5,3.5\n4.5,5.5,7\n");
    assert_saved_fails(&options, SGFS_EUSAGE, "\"21\"", "first line", "--header yes", NULL);
}

static void test_title_of_two_words_is_one_column(void **state) {
    (void)state;
    sgfsi_table t = read_text("waiting time\n2.385\n-17.25\n");
    const double wanted[] = {2.385, -17.25};
    assert_cells(&t, 2, 1, wanted);
    assert_string_equal(t.names[0], "waiting time");
    sgfsi_table_free(&t);
}

static void test_delimiter_can_be_given(void **state) {
    (void)state;
    sgfsi_read_options options = usual;
    options.delimiter = ":";
    save("a:y\n2.385:-17.25\n");
    sgfsi_table t = read_saved(&options);
    const double wanted[] = {2.385, -17.25};
    assert_cells(&t, 1, 2, wanted);
    sgfsi_table_free(&t);
    options.delimiter = "tab";
    options.features = "2";
    save("a,b\tc\ty\nleft, right\t2.385\t-17.25\n");
    t = read_saved(&options);
    assert_cells(&t, 1, 2, wanted);
    sgfsi_table_free(&t);
    options = usual;
    options.delimiter = "::";
    sgfs_err err;
    save("a\n1\n");
    assert_int_equal(sgfsi_table_read(path, &options, &t, &err), SGFS_EUSAGE);
    unlink(path);
}

static void test_single_precision(void **state) {
    (void)state;
    sgfsi_read_options options = usual;
    options.single = true;
    save("a,y\n2.385,-17.25\n1e-7,0\n");
    sgfsi_table t = read_saved(&options);
    assert_int_equal(t.type, SGFSI_F32);
    assert_true(cell(&t, 0, 0) == (double)2.385f && cell(&t, 1, 0) == (double)1e-7f);
    sgfsi_table_free(&t);
    save("a,y\n2.385,-17.25\n1e39,0\n");
    assert_saved_fails(&options, SGFS_EDATA, ":3:", "\"a\"", "1e39", "single", NULL);
}

/* A table that needs many blocks and doublings, with a long line and a quote across a border. */
static void test_large_file_across_blocks(void **state) {
    (void)state;
    const int64_t rows = 120000;
    char *text = malloc(8000000), *s = text;
    s += sprintf(s, "a,note,b,y\n");
    for (int64_t i = 0; i < rows; i++) {
        s += sprintf(s, "%.17g,", (double)(i * i) / 7.0);
        if (i == 60000) {
            *s++ = '"';
            for (int k = 0; k < 1500000; k++) *s++ = k % 10 == 0 ? '\n' : 'q';
            *s++ = '"';
        } else if (i % 3 == 0) {
            s += sprintf(s, "\"p\"\"%lld,\n\"", (long long)i);
        }
        s += sprintf(s, ",%lld,%.6g\n", (long long)(i * 37 % 1001), (double)i * 0.25);
    }
    save_bytes(text, (size_t)(s - text));
    free(text);
    sgfsi_read_options options = usual;
    options.features = "a,b";
    sgfsi_table t = read_saved(&options);
    assert_int_equal(t.rows, rows);
    for (int64_t i = 0; i < rows; i++) {
        if (cell(&t, i, 0) != (double)(i * i) / 7.0) fail_msg("row %lld", (long long)i);
        if (cell(&t, i, 1) != (double)(i * 37 % 1001)) fail_msg("row %lld", (long long)i);
    }
    sgfsi_table_free(&t);
}

static void test_gzip(void **state) {
    (void)state;
    const char *text = "age,dose,y\n2.385,-17.25,0.5\n1e-7,381.125,1\n";
    save("");
    gzFile gz = gzopen(path, "wb");
    assert_int_equal(gzwrite(gz, text, (unsigned)strlen(text)), (int)strlen(text));
    gzclose(gz);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    char kept[64];
    snprintf(kept, sizeof kept, "%s", path);
    unsigned char bytes[256];
    FILE *f = fopen(kept, "rb");
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_int_equal(n, st.st_size);
    sgfsi_table t = read_saved(&usual);
    assert_cells(&t, 2, 3, square);
    sgfsi_table_free(&t);
    for (size_t cut = 3; cut < n; cut++) { /* cut anywhere: never half a table */
        save_bytes((const char *)bytes, cut);
        assert_saved_fails(&usual, SGFS_EDATA, "cut off", NULL);
    }
    bytes[n - 6] ^= 0x41; /* the checksum */
    save_bytes((const char *)bytes, n);
    assert_saved_fails(&usual, SGFS_EDATA, "damaged", NULL);
}

/* A file of gzip files one after another, as `cat a.gz b.gz` makes it: whatever is changed or cut
 * in the second one is noticed, and so is what is put behind it, but for zeros. */
static void test_gzip_of_several_members(void **state) {
    (void)state;
    const char *const part[] = {"age,dose,y\n2.385,-17.25,0.5\n", "1e-7,381.125,1\n"};
    char bytes[400];
    size_t length[2], n = 0;
    for (int k = 0; k < 2; k++) {
        save("");
        gzFile gz = gzopen(path, "wb");
        assert_int_equal(gzwrite(gz, part[k], (unsigned)strlen(part[k])), (int)strlen(part[k]));
        gzclose(gz);
        FILE *f = fopen(path, "rb");
        length[k] = fread(bytes + n, 1, 100, f);
        n += length[k];
        fclose(f);
    }
    memset(bytes + n, 0, sizeof bytes - n);
    for (size_t zeros = 0; zeros < 300; zeros += 13) {
        save_bytes(bytes, n + zeros);
        sgfsi_table t = read_saved(&usual);
        assert_cells(&t, 2, 3, square);
        sgfsi_table_free(&t);
    }
    for (size_t cut = length[0] + 1; cut < n; cut++) {
        save_bytes(bytes, cut);
        assert_saved_fails(&usual, SGFS_EDATA, cut < length[0] + 2 ? "not gzip" : "cut off", NULL);
    }
    for (size_t at = length[0]; at < n; at++) {
        if (at >= length[0] + 4 && at < length[0] + 10) continue; /* time and system: no matter */
        bytes[at] ^= 0x41;
        save_bytes(bytes, n);
        assert_saved_fails(&usual, SGFS_EDATA, "gzip", NULL);
        bytes[at] ^= 0x41;
    }
    bytes[n + 20] = 'x';
    save_bytes(bytes, n + 30);
    assert_saved_fails(&usual, SGFS_EDATA, "not gzip", NULL);
}

/* ---- columns --------------------------------------------------------------------------------- */

static void test_columns_are_chosen(void **state) {
    (void)state;
    const char *text =
        "id,a,b,c,a,3,y\nred,1.5,2.5,3.5,4.5,5.5,0\n\"b, c\",6.5,7.5,8.5,9.5,10.5,1\n";
    static const struct {
        const char *features, *target;
        const char *names; /* joined */
        double first[5];
    } cases[] = {
        {"b,c", "", "b c y ", {2.5, 3.5, 0}},
        {"c , b", "2", "a b c ", {1.5, 2.5, 3.5}},
        {"2-4", "y", "a b c y ", {1.5, 2.5, 3.5, 0}},
        {"2,4-6", "7", "a c a 3 y ", {1.5, 3.5, 4.5, 5.5, 0}},
        {"3", "b", "b 3 ", {2.5, 5.5}}, /* a name beats a number */
        {"c", "3", "c 3 ", {3.5, 5.5}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sgfsi_read_options options = usual;
        options.features = cases[i].features;
        options.target = cases[i].target;
        save(text);
        sgfsi_table t = read_saved(&options);
        char joined[64] = "";
        int targets = 0;
        for (int64_t k = 0; k < t.cols; k++) {
            strcat(strcat(joined, t.names[k]), " ");
            assert_true(cell(&t, 0, k) == cases[i].first[k]);
            targets += t.role[k] == SGFSI_ROLE_TARGET;
        }
        assert_string_equal(joined, cases[i].names);
        assert_int_equal(targets, 1);
        sgfsi_table_free(&t);
    }
}

static void test_made_up_names_count_file_columns(void **state) {
    (void)state;
    sgfsi_read_options options = usual;
    options.features = "x2,4";
    options.target = "x3";
    save("1.5,2.5,3.5,4.5\n5.5,6.5,7.5,8.5\n");
    sgfsi_table t = read_saved(&options);
    const double wanted[] = {2.5, 3.5, 4.5, 6.5, 7.5, 8.5};
    assert_cells(&t, 2, 3, wanted);
    assert_string_equal(t.names[0], "x2");
    assert_string_equal(t.names[2], "x4");
    assert_int_equal(t.role[1], SGFSI_ROLE_TARGET);
    sgfsi_table_free(&t);
}

static void test_unknown_columns(void **state) {
    (void)state;
    static const struct {
        const char *features, *target, *part[3];
    } cases[] = {
        {"", "Weigth", {"--target", "\"weight\"", "4 columns"}},
        {"", "qqqqqq", {"--target", "qqqqqq", "4 columns"}},
        {"", "5", {"--target", "\"5\"", "4 columns"}},
        {"", "0", {"--target", "\"0\"", "4 columns"}},
        {"height,weihgt", "y", {"--features", "weihgt", "\"weight\""}},
        {"1-5", "y", {"--features", "\"1-5\"", "4 columns"}},
        {"height,", "y", {"--features", "\"\"", "4 columns"}},
        {"dup", "y", {"--features", "dup", ""}},
        {"height,y", "y", {"column 4", "\"y\"", "target"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sgfsi_read_options options = usual;
        options.features = cases[i].features;
        options.target = cases[i].target;
        save("height,weight,age,y\n1.5,2.5,3.5,0\n");
        const char *const *p = cases[i].part;
        assert_saved_fails(&options, SGFS_EUSAGE, p[0], p[1], p[2], NULL);
    }
    sgfsi_read_options options = usual;
    options.target = "dup";
    save("a,dup,dup\n1.5,2.5,3.5\n");
    assert_saved_fails(&options, SGFS_EUSAGE, "\"dup\"", "2 and 3", "number", NULL);
}

/* ---- the target as text ---------------------------------------------------------------------- */

static void test_text_target(void **state) {
    (void)state;
    sgfsi_table t = read_text("a,y\n2.385,yes\n-17.25,\"no, \"\"never\"\"\"\n0.5,yes\n");
    const double wanted[] = {2.385, 0, -17.25, 1, 0.5, 0};
    assert_cells(&t, 3, 2, wanted);
    assert_int_equal(t.text_col, 1);
    assert_int_equal(t.levels, 2);
    assert_string_equal(t.level[0], "yes");
    assert_string_equal(t.level[1], "no, \"never\"");
    sgfsi_table_free(&t);
}

static void test_mixed_target_is_text_throughout(void **state) {
    (void)state;
    sgfsi_read_options options = usual;
    options.target = "y";
    options.features = "a";
    save("y,a\n7,2.385\n12,-17.25\nnone,0.5\n7,381.125\n-,1\n");
    sgfsi_table t = read_saved(&options);
    const double wanted[] = {0, 2.385, 1, -17.25, 2, 0.5, 0, 381.125, 3, 1};
    assert_cells(&t, 5, 2, wanted);
    assert_int_equal(t.text_col, 0);
    assert_int_equal(t.levels, 4);
    assert_string_equal(t.level[0], "7");
    assert_string_equal(t.level[2], "none");
    assert_int_equal(t.text_line, 4);
    assert_int_equal(t.text_level, 2);
    sgfsi_table_free(&t);
    assert_text_fails("a,y\n2.5,yes\n3.5,\n4.5,NA\n", ":3:", "column 2", "\"y\"", "empty",
                      "2 such");
}

static void test_too_many_levels(void **state) {
    (void)state;
    char *text = malloc(40000), *s = text + sprintf(text, "a,city\n");
    for (int i = 0; i < 1000; i++) s += sprintf(s, "%d.5,town %d\n", i, i);
    save(text);
    sgfsi_table t = read_saved(&usual);
    assert_int_equal(t.levels, 1000);
    assert_string_equal(t.level[999], "town 999");
    assert_true(cell(&t, 731, 1) == 731);
    sgfsi_table_free(&t);
    sprintf(s, "1.5,one more\n");
    assert_text_fails(text, ":2:", "\"city\"", "\"town 0\"", "1000", "--target");
    s = text + sprintf(text, "a,y\n"); /* one slip among many numbers: its line is the news */
    for (int i = 0; i < 1200; i++) s += sprintf(s, i == 731 ? "2,1.5x\n" : "2,%d.5\n", i);
    assert_text_fails(text, ":733:", "\"y\"", "\"1.5x\"");
    free(text);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void test_text_among_the_features(void **state) {
    (void)state;
    assert_text_fails("a,colour,y\n2.5,3.5,0\n4.5,red,1\n", ":3:", "column 2", "\"colour\"",
                      "\"red\"", "--features");
    assert_text_fails("a,b,y\n2.5,x23456789012345678901234567890123456789\xC3\xA9 and so on,0\n",
                      ":2:", "x23456789012345678901234567890123456789...\"");
    assert_text_fails("a,b,y\n2.5,1.5x,0\n", ":2:", "\"b\"", "\"1.5x\"");
    assert_text_fails("a,b,y\n2.5,1 5,0\n", ":2:", "\"b\"", "\"1 5\"");
    assert_text_fails("a,b,y\n2.5,0x1F,0\n", ":2:", "\"b\"", "\"0x1F\"");
}

static void test_decimal_comma(void **state) {
    (void)state;
    /* Commas that could stand between thousands, or beside points, are not read. */
    assert_text_fails("a;b;y\n2;3,250;0\n4;5,500;1\n", ":2:", "column 2", "\"b\"", "3,250",
                      "decimal point");
    assert_text_fails("\"1,5\",2\n\"3,5\",4\n", ":1:", "column 1", "\"1,5\"", "decimal point");
    assert_text_fails("a;y\n2.5;-0,5\n", ":2:", "\"y\"", "-0,5", "decimal point");
}

static void test_missing_cells_are_counted(void **state) {
    (void)state;
    assert_text_fails("a,b,y\n2.5,3.5,0\n4.5,,1\n", ":3:", "column 2", "\"b\"", "empty",
                      "is 1 such cell,");
    assert_text_fails(
        "a,b,y\n1.5,NA,0\n,NaN,0\n1.5,2.5,inf\n-Inf,1.5,0\n?,1,1\n2.5,1e400,1\n.,2,2\n",
        ":2:", "column 2", "\"NA\"", "8 such cells", "lines 2, 3, 4, 5, 6, ...");
    assert_text_fails("a,b,y\n1.5,,0\n2.5,n/a,0\n2.5,7.5,1\n", "lines 2, 3:");
    assert_text_fails("a,b,y\n1.5,,0\n2.5,n/a,0\n", "column 2", "each of the 2 rows", "--drop b");
    assert_text_fails("1.5,,0\n2.5,7.5,0\n", ":1:", "column 2", "--header yes");
}

static void test_ragged_rows(void **state) {
    (void)state;
    assert_text_fails("a,b,y\n2.5,3.5,0\n\n4.5,1\n", ":4:", "2 fields", "header (line 1) has 3");
    assert_text_fails("2.5,3.5,0\n4.5,1,2,3\n", ":2:", "4 fields", "first row (line 1) has 3");
    assert_text_fails("a b y\n2.5 3.5 0\n4.5 1\n", ":3:", "2 fields", "has 3");
    assert_text_fails("a,b,y\nr1,2.5,3.5,0\n", ":2:", "4 fields", "has 3", "name");
}

static void test_quotes_gone_wrong(void **state) {
    (void)state;
    assert_text_fails("a,b,y\n2.5,3.5,0\n4.5,\"1,0\n5.5,2,1\n", ":3:", "never closed");
    assert_text_fails("a,y\n2.5,\"p\n\n\"\n4.5,\"1\"\"\n", ":5:", "never closed");
    assert_text_fails("a,b,y\n2.5,\"3.5\"7,0\n", ":2:", "column 2", "\"b\"", "quote");
    assert_text_fails("\"a\"b,y\n2.5,0\n", ":1:", "column 1", "quote");
}

static void test_not_our_text(void **state) {
    (void)state;
    assert_text_fails("", "empty");
    assert_text_fails("\n  \r\n\n", "empty");
    assert_text_fails("a,b,y\n", "no rows");
    assert_text_fails("a,b\r1.5,2.5\r", "CR");
    save_bytes("\xFF\xFE"
               "a\0,\0",
               6);
    assert_saved_fails(&usual, SGFS_EDATA, "UTF-16", NULL);
    save_bytes("\xFE\xFF"
               "\0a\0,",
               6);
    assert_saved_fails(&usual, SGFS_EDATA, "UTF-16", NULL);
    save_bytes("a,y\n1.5,2\n2.5,\0\n", 17);
    assert_saved_fails(&usual, SGFS_EDATA, ":3:", "NUL", NULL);
}

static void test_line_length_has_a_limit(void **state) {
    (void)state;
    const size_t n = ((size_t)1 << 26) + ((size_t)3 << 20);
    char *text = malloc(n);
    memset(text, '7', n);
    memcpy(text, "a,y\n1.5,2\n", 10);
    save_bytes(text, n);
    assert_saved_fails(&usual, SGFS_EDATA, ":3:", "64 MiB", NULL);
    text[10] = '"';
    save_bytes(text, n);
    assert_saved_fails(&usual, SGFS_EDATA, ":3:", "never closed", NULL);
    free(text);
}

static void test_files_of_other_kinds(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *part;
        size_t n;
    } cases[] = {{"PK\3\4....", "zip", 8},
                 {"PAR1\x15\0....", "Parquet", 10},
                 {"\x89HDF\r\n\x1a\n..", "HDF5", 10},
                 {"\x28\xB5\x2F\xFD...", "zstd", 7},
                 {"\xD0\xCF\x11\xE0...", "Excel", 7},
                 {"ARROW1\0\0", "Arrow", 8}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        save_bytes(cases[i].bytes, cases[i].n);
        assert_saved_fails(&usual, SGFS_EDATA, cases[i].part, NULL);
    }
    snprintf(path, sizeof path, "no-such-file.csv");
    assert_saved_fails(&usual, SGFS_EIO, "No such file", NULL);
    snprintf(path, sizeof path, ".");
    assert_saved_fails(&usual, SGFS_EIO, "directory", NULL);
    snprintf(path, sizeof path, "/dev/null");
    sgfsi_table t;
    assert_int_equal(sgfsi_table_read(path, &usual, &t, NULL), SGFS_EIO);
    if (geteuid() != 0) {
        save("a,y\n1,2\n");
        chmod(path, 0);
        assert_saved_fails(&usual, SGFS_EIO, "Permission", NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_table_written_in_many_ways),
        cmocka_unit_test(test_quotes_hold_anything),
        cmocka_unit_test(test_header_is_found),
        cmocka_unit_test(test_header_of_numbers),
        cmocka_unit_test(test_title_of_two_words_is_one_column),
        cmocka_unit_test(test_delimiter_can_be_given),
        cmocka_unit_test(test_single_precision),
        cmocka_unit_test(test_large_file_across_blocks),
        cmocka_unit_test(test_gzip),
        cmocka_unit_test(test_gzip_of_several_members),
        cmocka_unit_test(test_columns_are_chosen),
        cmocka_unit_test(test_made_up_names_count_file_columns),
        cmocka_unit_test(test_unknown_columns),
        cmocka_unit_test(test_text_target),
        cmocka_unit_test(test_mixed_target_is_text_throughout),
        cmocka_unit_test(test_too_many_levels),
        cmocka_unit_test(test_text_among_the_features),
        cmocka_unit_test(test_decimal_comma),
        cmocka_unit_test(test_missing_cells_are_counted),
        cmocka_unit_test(test_ragged_rows),
        cmocka_unit_test(test_quotes_gone_wrong),
        cmocka_unit_test(test_not_our_text),
        cmocka_unit_test(test_line_length_has_a_limit),
        cmocka_unit_test(test_files_of_other_kinds),
    };
    return cmocka_run_group_tests_name("csv", tests, NULL, NULL);
}
