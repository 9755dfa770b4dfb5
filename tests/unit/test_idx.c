/* SPDX-License-Identifier: MIT
 * test_idx.c: IDX arrays of every type and number of dimensions, alone and with labels, as a table
 * and in blocks; and a sentence for every header and length that is not right. Files are made byte
 * by byte.
 */
#include <math.h>
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

enum { U8 = 0x08, I8 = 0x09, I16 = 0x0B, I32 = 0x0C, F32 = 0x0D, F64 = 0x0E };

static char images[64], labels[64];

static sgfsi_read_options options_for(bool labelled) {
    return (sgfsi_read_options){.target = "",
                                .features = "",
                                .delimiter = "auto",
                                .header = "auto",
                                .columns = -1,
                                .labels = labelled ? labels : ""};
}

/* ---- files ----------------------------------------------------------------------------------- */

typedef struct file {
    unsigned char byte[4096];
    size_t count;
} file;

static void put(file *f, uint64_t value, size_t bytes) {
    while (bytes > 0) f->byte[f->count++] = (unsigned char)(value >> (8 * --bytes));
}

static file start(unsigned type, int dims, ...) {
    file f = {.count = 0};
    va_list sizes;
    va_start(sizes, dims);
    put(&f, type << 8 | (unsigned)dims, 4);
    for (int k = 0; k < dims; k++) put(&f, va_arg(sizes, unsigned), 4);
    va_end(sizes);
    return f;
}

static void put_number(file *f, unsigned type, double x) {
    uint64_t wide;
    uint32_t narrow;
    float single = (float)x;
    memcpy(&wide, &x, 8);
    memcpy(&narrow, &single, 4);
    if (type == F64) put(f, wide, 8);
    else if (type == F32) put(f, narrow, 4);
    else put(f, (uint64_t)(int64_t)x, type == I32 ? 4 : type == I16 ? 2 : 1);
}

static void save(const file *f, char path[64], bool compressed) {
    snprintf(path, 64, "idx-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    if (compressed) {
        gzFile gz = gzdopen(fd, "wb");
        assert_int_equal(gzwrite(gz, f->byte, (unsigned)f->count), (int)f->count);
        gzclose(gz);
    } else {
        assert_int_equal(write(fd, f->byte, f->count), (ssize_t)f->count);
        close(fd);
    }
}

static void remove_both(void) {
    unlink(images);
    if (labels[0] != '\0') unlink(labels);
    labels[0] = '\0';
}

static sgfsi_table read_saved(const sgfsi_read_options *options) {
    sgfsi_table t;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_status status = sgfsi_table_read(images, options, &t, &err);
    remove_both();
    if (status != SGFS_OK) fail_msg("not read: %s", err.text);
    return t;
}

/* The table and the flow say the same. */
static void assert_fails(bool labelled, const char *part) {
    const sgfsi_read_options o = options_for(labelled);
    sgfsi_table t;
    sgfsi_flow f;
    sgfs_err err = {SGFS_OK, ""};
    double *cells = malloc(1000 * sizeof *cells);
    int64_t n = 1;
    sgfs_status status = sgfsi_table_read(images, &o, &t, &err);
    if (status != SGFS_EDATA) fail_msg("status %d, text: %s", status, err.text);
    if (strstr(err.text, "idx-") == NULL) fail_msg("no file is named: %s", err.text);
    if (strstr(err.text, part) == NULL) fail_msg("\"%s\" is not in: %s", part, err.text);
    assert_true(t.cells == NULL && t.names == NULL && t.role == NULL);
    err.text[0] = '\0';
    status = sgfs_reader_idx.flow(&f, images, &o, &err);
    bool opened = status == SGFS_OK;
    while (status == SGFS_OK && n > 0) status = sgfsi_flow_next(&f, 1, cells, NULL, &n, &err);
    if (status != SGFS_EDATA || strstr(err.text, part) == NULL)
        fail_msg("flow: status %d, text: %s", status, err.text);
    if (!opened) assert_null(f.self);
    sgfsi_flow_close(&f);
    free(cells);
    remove_both();
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void test_types(void **state) {
    (void)state;
    static const struct {
        unsigned code;
        sgfsi_dtype type;
        double low, high;
    } types[] = {{U8, SGFSI_U8, 0, 255},          {I8, SGFSI_I8, -128, 127},
                 {I16, SGFSI_I16, -32768, 32767}, {I32, SGFSI_I32, -2147483648.0, 2147483647},
                 {F32, SGFSI_F32, -2.375, 1e30f}, {F64, SGFSI_F64, -2.385, 1e300}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (int compressed = 0; compressed < 2; compressed++) {
            const double wanted[] = {types[i].low, 17, 0, types[i].high, 1, 99};
            const sgfsi_read_options o = options_for(false);
            double got[6];
            int64_t n;
            sgfs_err err;
            file f = start(types[i].code, 2, 3, 2);
            for (int k = 0; k < 6; k++) put_number(&f, types[i].code, wanted[k]);
            save(&f, images, compressed);
            sgfsi_flow flow;
            assert_int_equal(sgfs_reader_idx.flow(&flow, images, &o, &err), SGFS_OK);
            assert_true(flow.head.rows == 3 && flow.head.cols == 2);
            assert_int_equal(sgfsi_flow_next(&flow, 9, got, NULL, &n, &err), SGFS_OK);
            assert_int_equal(n, 3);
            assert_memory_equal(got, wanted, sizeof wanted);
            assert_int_equal(sgfsi_flow_next(&flow, 9, got, NULL, &n, &err), SGFS_OK);
            assert_true(n == 0 && flow.fraction(&flow) == 1);
            sgfsi_flow_close(&flow);
            sgfsi_table t = read_saved(&o);
            assert_true(t.rows == 3 && t.cols == 2 && t.row_stride == 2 && !t.named);
            assert_true(t.type == types[i].type && t.text_col == -1 && t.owned == t.cells);
            for (int k = 0; k < 6; k++) {
                const void *c = t.cells;
                double v = t.type == SGFSI_U8    ? ((const uint8_t *)c)[k]
                           : t.type == SGFSI_I8  ? ((const int8_t *)c)[k]
                           : t.type == SGFSI_I16 ? ((const int16_t *)c)[k]
                           : t.type == SGFSI_I32 ? ((const int32_t *)c)[k]
                           : t.type == SGFSI_F32 ? (double)((const float *)c)[k]
                                                 : ((const double *)c)[k];
                assert_true(v == wanted[k]);
            }
            sgfsi_table_free(&t);
            sgfsi_table_free(&t);
        }
    }
}

/* 3 images of 2 x 4 bytes, 10 i + j, and their labels 7, 9, 7. */
static void save_pair(unsigned type, unsigned label_type, bool compressed) {
    file f = start(type, 3, 3, 2, 4), g = start(label_type, 1, 3);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 8; j++) put_number(&f, type, 10 * i + j);
        put_number(&g, label_type, i == 1 ? 9 : 7);
    }
    save(&f, images, compressed);
    save(&g, labels, compressed);
}

static void test_labels_are_the_last_column(void **state) {
    (void)state;
    for (int compressed = 0; compressed < 2; compressed++) {
        const sgfsi_read_options o = options_for(true);
        save_pair(U8, U8, compressed);
        sgfsi_table t = read_saved(&o);
        const unsigned char *cell = t.cells;
        assert_true(t.rows == 3 && t.cols == 9 && t.row_stride == 9 && t.type == SGFSI_U8);
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 8; j++) assert_int_equal(cell[9 * i + j], 10 * i + j);
            assert_int_equal(cell[9 * i + 8], i == 1 ? 9 : 7);
        }
        assert_string_equal(t.names[0], "x1");
        assert_string_equal(t.names[7], "x8");
        assert_string_equal(t.names[8], "label");
        assert_true(t.role[7] == SGFSI_ROLE_FEATURE && t.role[8] == SGFSI_ROLE_TARGET);
        sgfsi_table_free(&t);
    }
}

/* Bytes fit single precision, 32 bits need double. */
static void test_types_that_differ(void **state) {
    (void)state;
    static const struct {
        unsigned a, b;
        sgfsi_dtype both;
    } pairs[] = {{U8, I16, SGFSI_F32},  {F32, U8, SGFSI_F32},  {U8, I32, SGFSI_F64},
                 {F32, F64, SGFSI_F64}, {F64, I32, SGFSI_F64}, {I32, I32, SGFSI_I32}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const sgfsi_read_options o = options_for(true);
        save_pair(pairs[i].a, pairs[i].b, false);
        sgfsi_table t = read_saved(&o);
        assert_int_equal(t.type, pairs[i].both);
        for (int k = 0; k < 27; k++) {
            double v = t.type == SGFSI_F64   ? ((const double *)t.cells)[k]
                       : t.type == SGFSI_F32 ? (double)((const float *)t.cells)[k]
                                             : ((const int32_t *)t.cells)[k];
            assert_true(v == (k % 9 < 8 ? 10 * (k / 9) + k % 9 : k / 9 == 1 ? 9 : 7));
        }
        sgfsi_table_free(&t);
    }
}

static void test_blocks_with_labels(void **state) {
    (void)state;
    for (int64_t most = 1; most < 5; most++) {
        const sgfsi_read_options o = options_for(true);
        sgfsi_flow f;
        sgfs_err err;
        double cells[36];
        int64_t n, rows = 0;
        save_pair(U8, F64, true);
        assert_int_equal(sgfs_reader_idx.flow(&f, images, &o, &err), SGFS_OK);
        assert_true(f.head.cols == 9 && f.head.role[8] == SGFSI_ROLE_TARGET);
        for (;; rows += n) {
            assert_int_equal(sgfsi_flow_next(&f, most, cells, NULL, &n, &err), SGFS_OK);
            if (n == 0) break;
            for (int64_t k = 0; k < 9 * n; k++) {
                int64_t i = rows + k / 9;
                assert_true(cells[k] == (k % 9 < 8 ? 10.0 * (double)i + (double)(k % 9)
                                         : i == 1  ? 9
                                                   : 7));
            }
        }
        assert_int_equal(rows, 3);
        sgfsi_flow_close(&f);
        remove_both();
    }
}

/* More rows than one block of the file, so that memory has to grow where it is compressed. */
static void test_many_rows(void **state) {
    (void)state;
    enum { ROWS = 700001 };
    for (int compressed = 0; compressed < 2; compressed++) {
        const sgfsi_read_options o = options_for(true);
        unsigned char head[] = {0, 0, U8, 1, 0, ROWS >> 16, ROWS >> 8 & 255, ROWS & 255};
        unsigned char *bytes = malloc(ROWS + 8);
        memcpy(bytes, head, 8);
        for (int i = 0; i < ROWS; i++) bytes[8 + i] = (unsigned char)((unsigned)i * 7919u >> 3);
        snprintf(images, sizeof images, "idx-many");
        snprintf(labels, sizeof labels, "idx-many");
        gzFile gz = gzopen(images, compressed ? "wb" : "wbT");
        assert_int_equal(gzwrite(gz, bytes, ROWS + 8), ROWS + 8);
        gzclose(gz);
        sgfsi_table t = read_saved(&o); /* one feature, which is its own label */
        const unsigned char *cell = t.cells;
        assert_true(t.rows == ROWS && t.cols == 2);
        for (int i = 0; i < ROWS; i++)
            assert_true(cell[2 * i] == bytes[8 + i] && cell[2 * i + 1] == bytes[8 + i]);
        sgfsi_table_free(&t);
        free(bytes);
    }
}

/* Labels may be wider than what they label: blocks of both files then end in different places. */
static void test_wide_labels(void **state) {
    (void)state;
    enum { ROWS = 40000 };
    const sgfsi_read_options o = options_for(true);
    static const unsigned char head[] = {0, 0, U8, 2, 0, 0, ROWS >> 8, ROWS & 255, 0, 0, 0, 1},
                               wide[] = {0, 0, F64, 1, 0, 0, ROWS >> 8, ROWS & 255};
    snprintf(images, sizeof images, "idx-bytes");
    snprintf(labels, sizeof labels, "idx-wide");
    FILE *f = fopen(images, "wb"), *g = fopen(labels, "wb");
    fwrite(head, 1, sizeof head, f);
    fwrite(wide, 1, sizeof wide, g);
    for (int i = 0; i < ROWS; i++) {
        file number = {.count = 0};
        put_number(&number, F64, i + 0.25);
        fputc(i % 251, f);
        fwrite(number.byte, 1, number.count, g);
    }
    fclose(f);
    fclose(g);
    sgfsi_table t = read_saved(&o);
    const double *cell = t.cells;
    assert_true(t.rows == ROWS && t.cols == 2 && t.type == SGFSI_F64);
    for (int i = 0; i < ROWS; i++)
        assert_true(cell[2 * i] == i % 251 && cell[2 * i + 1] == i + 0.25);
    sgfsi_table_free(&t);
}

static void test_dimensions(void **state) {
    (void)state;
    const sgfsi_read_options o = options_for(false);
    file f = start(F32, 1, 3), g = start(U8, 4, 2, 1, 3, 2);
    for (int k = 0; k < 3; k++) put_number(&f, F32, k);
    for (int k = 0; k < 12; k++) put(&g, (uint64_t)k, 1);
    save(&f, images, false);
    sgfsi_table t = read_saved(&o);
    assert_true(t.rows == 3 && t.cols == 1);
    sgfsi_table_free(&t);
    save(&g, images, false);
    t = read_saved(&o);
    assert_true(t.rows == 2 && t.cols == 6);
    sgfsi_table_free(&t);
}

/* Without labels every number is a feature and nothing the target, unless one is named. */
static void test_without_labels(void **state) {
    (void)state;
    sgfsi_read_options o = options_for(false);
    save_pair(U8, U8, false);
    sgfsi_table t = read_saved(&o);
    assert_int_equal(t.cols, 8);
    for (int j = 0; j < 8; j++) assert_int_equal(t.role[j], SGFSI_ROLE_FEATURE);
    sgfsi_table_free(&t);
    o.target = "x3";
    save_pair(U8, U8, false);
    t = read_saved(&o);
    assert_true(t.role[2] == SGFSI_ROLE_TARGET && t.role[7] == SGFSI_ROLE_FEATURE);
    sgfsi_table_free(&t);
}

static void test_choosing_columns(void **state) {
    (void)state;
    sgfsi_read_options o = options_for(true);
    o.features = "2-3";
    o.weights = "x8";
    save_pair(U8, U8, false);
    sgfsi_table t = read_saved(&o);
    static const unsigned char role[] = {1, 1, SGFSI_ROLE_WEIGHTS, SGFSI_ROLE_TARGET};
    assert_int_equal(t.cols, 4); /* those that are wanted */
    assert_memory_equal(t.role, role, sizeof role);
    assert_string_equal(t.names[1], "x3");
    sgfsi_table_free(&t);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void save_header(const char *bytes, size_t count, bool compressed) {
    file f = {.count = count};
    memcpy(f.byte, bytes, count);
    save(&f, images, compressed);
}

static void test_headers(void **state) {
    (void)state;
    save_header("\0\0\x07\1\0\0\0\1A", 9, false);
    assert_fails(false, "third byte is 0x07");
    save_header("\0\0\x08\0A", 5, false);
    assert_fails(false, "0 dimensions");
    save_header("\0\0\x08\5\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1A", 25, false);
    assert_fails(false, "5 dimensions");
    save_header("\0\0\x08\2\0\0\0\1\0\0", 10, false);
    assert_fails(false, "cut off inside its header");
    save_header("\0\0\x08\2\0\0\0\0\0\0\0\1", 12, false);
    assert_fails(false, "empty: 0 x 1");
    save_header("\0\0\x08\2\0\0\0\1\0\0\0\0", 12, false);
    assert_fails(false, "empty: 1 x 0");
    save_header("\0\0\x08\2\0\0\0\1\0\x0f\x42\x41zz", 14, false);
    assert_fails(false, "1 x 1000001: its rows have more than the 1000000");
}

/* Headers that ask for more than there is, or than there can be; memory is not asked for it. */
static void test_headers_are_not_believed(void **state) {
    (void)state;
    for (int compressed = 0; compressed < 2; compressed++) {
        const char *cut = compressed ? "it has 2 whole rows" : "it is cut off";
        save_header("\0\0\x08\2\xff\xff\xff\xff\0\0\0\2abcde", 17, compressed);
        assert_fails(false, cut);
        save_header("\0\0\x0e\2\xff\xff\xff\xff\0\x0f\x42\x40zz", 14, compressed);
        assert_fails(false, compressed ? "it has 0 whole rows" : "it is cut off");
        save_header("\0\0\x0e\4\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
                    20, compressed);
        assert_fails(false, "more than the 1000000");
    }
}

static void test_lengths(void **state) {
    (void)state;
    for (int compressed = 0; compressed < 2; compressed++) {
        save_header("\0\0\x08\2\0\0\0\2\0\0\0\2abcde", 17, compressed);
        assert_fails(false, "something behind it");
        save_header("\0\0\x08\2\0\0\0\3\0\0\0\2abcde", 17, compressed);
        assert_fails(false, "cut off");
        save_pair(U8, U8, compressed);
        file g = start(U8, 1, 3);
        put(&g, 7, 1);
        unlink(labels);
        save(&g, labels, compressed);
        assert_fails(true, "cut off");
    }
    save_pair(U8, U8, true); /* the gzip data themselves */
    assert_int_equal(truncate(images, 30), 0);
    assert_fails(true, "gzip data end too early");
}

static void test_pairs_that_do_not_fit(void **state) {
    (void)state;
    file two = start(U8, 1, 2);
    put(&two, 0x0709, 2);
    save_pair(U8, U8, false);
    unlink(labels);
    save(&two, labels, false);
    assert_fails(true, "has 3 rows, and idx-");
    save_pair(U8, U8, false);
    char swap[64];
    memcpy(swap, images, sizeof swap);
    memcpy(images, labels, sizeof images);
    memcpy(labels, swap, sizeof labels);
    assert_fails(true, "swapped?");
    save_pair(U8, U8, false);
    unlink(images);
    memcpy(images, labels, sizeof images);
    labels[0] = '\0';
    assert_fails(false, "these are labels");
    save_pair(U8, U8, false);
    unlink(labels);
    file text = {.count = 0};
    put(&text, 0x372C390A, 4); /* 7,9 */
    save(&text, labels, false);
    assert_fails(true, "is no IDX file");
    save_pair(U8, U8, false);
    unlink(labels);
    memcpy(labels, images, sizeof labels);
    assert_fails(true, "are these features?");
}

static void test_numbers_that_are_none(void **state) {
    (void)state;
    const sgfsi_read_options o = options_for(false);
    file f = start(F32, 2, 2, 2);
    for (int k = 0; k < 3; k++) put_number(&f, F32, k);
    put_number(&f, F32, NAN);
    save(&f, images, false);
    sgfsi_flow flow;
    sgfs_err err;
    double cells[4];
    int64_t n;
    const char *const path[] = {images};
    assert_int_equal(sgfsi_flow_open(&flow, 1, path, &o, &err), SGFS_OK);
    assert_int_equal(sgfsi_flow_next(&flow, 1, cells, NULL, &n, &err), SGFS_OK);
    assert_int_equal(sgfsi_flow_next(&flow, 1, cells, NULL, &n, &err), SGFS_EDATA);
    assert_non_null(strstr(err.text, "row 2, column \"x2\" is not a finite number"));
    sgfsi_flow_close(&flow);
    remove_both();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_labels_are_the_last_column),
        cmocka_unit_test(test_types_that_differ),
        cmocka_unit_test(test_blocks_with_labels),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_wide_labels),
        cmocka_unit_test(test_dimensions),
        cmocka_unit_test(test_without_labels),
        cmocka_unit_test(test_choosing_columns),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_headers_are_not_believed),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_pairs_that_do_not_fit),
        cmocka_unit_test(test_numbers_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
