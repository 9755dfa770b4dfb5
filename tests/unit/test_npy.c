/* SPDX-License-Identifier: MIT
 * test_npy.c: array files of every version, type and order that is read, and a sentence for every
 * one that is not. Files are made byte by byte, so that headers no NumPy would write can be tried.
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

static char path[64];
static char said[1024];

static void keep_note(sgfs_level level, const char *text, void *user) {
    (void)user;
    snprintf(said, sizeof said, "%d %s", (int)level, text);
}

static const sgfsi_log log_here = {.fn = keep_note};
static const sgfsi_read_options usual = {.target = "",
                                         .features = "",
                                         .delimiter = "auto",
                                         .header = "auto",
                                         .single = true,
                                         .log = &log_here};

/* align: what the numbers' offset is a multiple of (NumPy: 64); 0 leaves the header unpadded. */
static void save(int version, const char *literal, size_t align, const void *data, size_t bytes) {
    unsigned char file[4096] = "\x93NUMPY";
    size_t start = version == 1 ? 10 : 12, length = strlen(literal);
    assert_true(start + length + align + bytes < sizeof file);
    memcpy(file + start, literal, length);
    while (align != 0 && (start + length + 1) % align != 0) file[start + length++] = ' ';
    file[start + length++] = '\n';
    file[6] = (unsigned char)version;
    file[8] = (unsigned char)length;
    file[9] = (unsigned char)(length >> 8);
    if (bytes > 0) memcpy(file + start + length, data, bytes);
    snprintf(path, sizeof path, "npy-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, file, start + length + bytes), (ssize_t)(start + length + bytes));
    close(fd);
    said[0] = '\0';
}

static sgfsi_table read_saved(const sgfsi_read_options *options) {
    sgfsi_table t;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_status status = sgfsi_table_read(path, options, &t, &err);
    unlink(path);
    if (status != SGFS_OK) fail_msg("not read: %s", err.text);
    return t;
}

static void assert_fails(const sgfsi_read_options *options, sgfs_status code, const char *part) {
    sgfsi_table t;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_status status = sgfsi_table_read(path, options, &t, &err);
    if (status != code || err.code != code) fail_msg("status %d, text: %s", status, err.text);
    if (strstr(err.text, path) == NULL) fail_msg("file not named: %s", err.text);
    if (strstr(err.text, part) == NULL) fail_msg("\"%s\" is not in: %s", part, err.text);
    assert_null(t.cells);
    assert_null(t.map);
    unlink(path);
}

static const double table[] = {2.385, -17.25, 0.5, 1e-7, 381.125, 1}; /* 2 x 3 */

static void test_versions_and_spellings(void **state) {
    (void)state;
    static const char *const literals[] = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }",
        "{'shape': (2,3), 'descr': '<f8', 'fortran_order': False}",
        "{ \"fortran_order\" : False , \"descr\":\"<f8\",\"shape\":( 2 , 3 , ) }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 3L), }",
    };
    for (int version = 1; version <= 3; version++) {
        for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++) {
            save(version, literals[i], 64, table, sizeof table);
            sgfsi_table t = read_saved(&usual);
            assert_true(t.rows == 2 && t.cols == 3 && t.row_stride == 3);
            assert_int_equal(t.type, SGFSI_F64);
            assert_memory_equal(t.cells, table, sizeof table);
            assert_non_null(t.map); /* mapped, not copied */
            assert_null(t.owned);
            assert_false(t.named);
            assert_int_equal(t.text_col, -1);
            assert_string_equal(t.names[0], "x1");
            assert_string_equal(t.names[2], "y");
            assert_true(t.role[0] == SGFSI_ROLE_FEATURE && t.role[2] == SGFSI_ROLE_TARGET);
            sgfsi_table_free(&t);
            sgfsi_table_free(&t);
        }
    }
}

static void test_types(void **state) {
    (void)state;
    static const struct {
        const char *descr;
        sgfsi_dtype type;
        size_t size;
    } types[] = {{"<f8", SGFSI_F64, 8}, {"<f4", SGFSI_F32, 4}, {"<i8", SGFSI_I64, 8},
                 {"<i4", SGFSI_I32, 4}, {"<i2", SGFSI_I16, 2}, {"|i1", SGFSI_I8, 1},
                 {"|u1", SGFSI_U8, 1},  {"<u2", SGFSI_U16, 2}, {"<u4", SGFSI_U32, 4},
                 {"|b1", SGFSI_U8, 1}};
    unsigned char data[48];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 + 11);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char literal[128];
        snprintf(literal, sizeof literal,
                 "{'descr': '%s', 'fortran_order': False, 'shape': (3, 2), }", types[i].descr);
        save(1, literal, 64, data, 6 * types[i].size);
        sgfsi_table t = read_saved(&usual);
        assert_int_equal(t.type, types[i].type);
        assert_int_equal(sgfsi_dtype_size(t.type), types[i].size);
        assert_true(t.rows == 3 && t.cols == 2);
        assert_memory_equal(t.cells, data, 6 * types[i].size);
        sgfsi_table_free(&t);
    }
}

static void test_one_dimension_is_one_column(void **state) {
    (void)state;
    save(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (6,), }", 64, table, sizeof table);
    sgfsi_table t = read_saved(&usual);
    assert_true(t.rows == 6 && t.cols == 1);
    assert_memory_equal(t.cells, table, sizeof table);
    assert_string_equal(t.names[0], "y");
    sgfsi_table_free(&t);
}

static void test_fortran_order_is_turned_round(void **state) {
    (void)state;
    save(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), }", 64, table, sizeof table);
    sgfsi_table t = read_saved(&usual);
    const double wanted[] = {2.385, 1e-7, -17.25, 381.125, 0.5, 1};
    assert_memory_equal(t.cells, wanted, sizeof wanted);
    assert_non_null(t.owned);
    assert_null(t.map);
    assert_true(said[0] == '0' && strstr(said, "Fortran") != NULL);
    sgfsi_table_free(&t);
    unsigned char wide[75 * 7 * 2]; /* more than a tile */
    for (size_t i = 0; i < sizeof wide; i++) wide[i] = (unsigned char)(i * i + 5 * i);
    save(1, "{'descr': '<i2', 'fortran_order': True, 'shape': (7, 75), }", 64, wide, sizeof wide);
    t = read_saved(&usual);
    for (int r = 0; r < 7; r++) {
        for (int c = 0; c < 75; c++) {
            assert_memory_equal((const char *)t.cells + 2 * (r * 75 + c), wide + 2 * (c * 7 + r),
                                2);
        }
    }
    sgfsi_table_free(&t);
}

static void test_odd_offset_is_copied(void **state) {
    (void)state;
    const char *literal = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3) }";
    assert_true((10 + strlen(literal) + 1) % 8 != 0);
    save(1, literal, 0, table, sizeof table);
    sgfsi_table t = read_saved(&usual);
    assert_non_null(t.owned);
    assert_null(t.map);
    assert_memory_equal(t.cells, table, sizeof table);
    sgfsi_table_free(&t);
}

static void test_columns_are_chosen(void **state) {
    (void)state;
    const char *literal = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
    sgfsi_read_options options = usual;
    options.target = "1";
    options.features = "x3";
    save(1, literal, 64, table, sizeof table);
    sgfsi_table t = read_saved(&options);
    assert_int_equal(t.cols, 3); /* all of them stay, mapped */
    assert_string_equal(t.names[2], "x3");
    assert_true(t.role[0] == SGFSI_ROLE_TARGET && t.role[1] == SGFSI_ROLE_NONE &&
                t.role[2] == SGFSI_ROLE_FEATURE);
    sgfsi_table_free(&t);
    options.features = "";
    options.target = "y";
    save(1, literal, 64, table, sizeof table);
    t = read_saved(&options);
    assert_int_equal(t.role[2], SGFSI_ROLE_TARGET);
    sgfsi_table_free(&t);
    options.target = "x4";
    save(1, literal, 64, table, sizeof table);
    assert_fails(&options, SGFS_EUSAGE, "\"x3\"");
}

static void test_refused_arrays(void **state) {
    (void)state;
    static const struct {
        const char *descr, *shape, *part;
    } cases[] = {
        {"'|O'", "(2, 3)", "objects"},
        {"[('a', '<f8'), ('b', '<i4')]", "(2,)", "structured"},
        {"'>f8'", "(2, 3)", "big-endian"},
        {"'<c16'", "(1, 3)", "complex"},
        {"'<f2'", "(2, 3)", "half"},
        {"'<u8'", "(2, 3)", "unsigned"},
        {"'<U7'", "(2, 3)", "text"},
        {"'<f16'", "(1, 3)", "'<f16'"},
        {"'f8'", "(2, 3)", "'f8'"},
        {"'<f8'", "()", "0 dimensions"},
        {"'<f8'", "(1, 2, 3)", "3 dimensions"},
        {"'<f8'", "(0, 3)", "0 x 3"},
        {"'<f8'", "(2, 0)", "2 x 0"},
        {"'<f8'", "(2, 4)", "take 64 bytes, and it has 48"},
        {"'<f8'", "(65536, 65536)", "34359738368"},
        {"'<f8'", "(4294967296, 4294967296)", "more than any file"},
        {"'<f8'", "(2305843009213693952, 1)", "more than any file"},
        {"'<f8'", "(99999999999999999999, 1)", "damaged"},
        {"'<f8'", "(-2, 3)", "damaged"},
        {"'<f8'", "(6)", "damaged"},
        {"'<f8'", "(2 3)", "damaged"},
        {"'<f8'", "2, 3", "damaged"},
        {"'<f8'", "(2, 3", "damaged"},
        {"<f8", "(2, 3)", "damaged"},
        {"'<\\x668'", "(2, 3)", "damaged"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char literal[160];
        snprintf(literal, sizeof literal, "{'descr': %s, 'fortran_order': False, 'shape': %s, }",
                 cases[i].descr, cases[i].shape);
        save(1, literal, 64, table, sizeof table);
        assert_fails(&usual, SGFS_EDATA, cases[i].part);
    }
}

static void test_damaged_headers(void **state) {
    (void)state;
    static const char *const literals[] = {
        "",
        "{",
        "{}",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (2, 3), }",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), } + exit()",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), ",
        "{'descr: <f8, fortran_order: False, shape: (2, 3), }",
    };
    for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++) {
        save(2, literals[i], 64, table, sizeof table);
        assert_fails(&usual, SGFS_EDATA, "damaged");
    }
}

/* Any beginning of a good file is refused, whichever byte it ends at. */
static void test_truncated_anywhere(void **state) {
    (void)state;
    save(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 64, table, sizeof table);
    for (off_t size = 128 + (off_t)sizeof table - 1; size >= 6; size--) {
        sgfsi_table t;
        assert_int_equal(truncate(path, size), 0);
        assert_int_equal(sgfsi_table_read(path, &usual, &t, NULL), SGFS_EDATA);
    }
    unlink(path);
    save(4, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 64, table, sizeof table);
    assert_fails(&usual, SGFS_EDATA, "version 4.0");
}

static void test_longer_file_is_fine(void **state) {
    (void)state;
    save(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 3), }", 64, table, sizeof table);
    sgfsi_table t = read_saved(&usual);
    assert_memory_equal(t.cells, table, 3 * sizeof(double));
    sgfsi_table_free(&t);
}

static void test_other_files(void **state) {
    (void)state;
    unsigned char file[4096];
    save(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", 64, table, sizeof table);
    FILE *f = fopen(path, "rb");
    size_t n = fread(file, 1, sizeof file, f);
    fclose(f);
    gzFile gz = gzopen(path, "wb");
    assert_int_equal(gzwrite(gz, file, (unsigned)n), (int)n);
    gzclose(gz);
    assert_fails(&usual, SGFS_EDATA, "gunzip it first");
    snprintf(path, sizeof path, "text-%ld.npy", (long)getpid());
    f = fopen(path, "wb");
    fputs("a,y\n2.385,-17.25\n", f);
    fclose(f);
    assert_fails(&usual, SGFS_EDATA, "not a NumPy");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions_and_spellings),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_one_dimension_is_one_column),
        cmocka_unit_test(test_fortran_order_is_turned_round),
        cmocka_unit_test(test_odd_offset_is_copied),
        cmocka_unit_test(test_columns_are_chosen),
        cmocka_unit_test(test_refused_arrays),
        cmocka_unit_test(test_damaged_headers),
        cmocka_unit_test(test_truncated_anywhere),
        cmocka_unit_test(test_longer_file_is_fine),
        cmocka_unit_test(test_other_files),
    };
    return cmocka_run_group_tests_name("npy", tests, NULL, NULL);
}
