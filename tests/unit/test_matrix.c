/* SPDX-License-Identifier: MIT
 * test_matrix.c: symmetric matrices and vectors from files (base/matrix.h): every form that is
 * read, and every way to be refused, with its sentence.
 */
#include <locale.h>
#include <stdio.h>
#include <unistd.h>

#include "base/matrix.h"
#include "tools/check.h"

static char path[] = "/tmp/sgfs_matrix_XXXXXX";
static sgfsi_arena arena;
static sgfs_err err;

static int set_up(void **state) {
    (void)state;
    strcpy(path, "/tmp/sgfs_matrix_XXXXXX");
    int fd = mkstemp(path);
    if (fd >= 0) close(fd);
    return fd < 0;
}

static int tear_down(void **state) {
    (void)state;
    sgfsi_arena_free(&arena);
    arena.head = NULL;
    return unlink(path);
}

static void write_bytes(const void *bytes, size_t count) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, count, f), count);
    assert_int_equal(fclose(f), 0);
}

/* head of `text`, then the numbers */
static void write_npy(const char *text, const void *x, size_t bytes) {
    unsigned char file[4096] = "\x93NUMPY\x01";
    size_t length = strlen(text);
    file[7] = 0;
    file[8] = (unsigned char)length;
    file[9] = 0;
    memcpy(file + 10, text, length);
    memcpy(file + 10 + length, x, bytes);
    write_bytes(file, 10 + length + bytes);
}

static sgfsi_matrix read_good(int64_t D) {
    sgfsi_matrix m;
    if (sgfsi_matrix_read(&m, path, D, &arena, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_int_equal(m.D, D);
    return m;
}

static void refused(const char *text, int64_t D, const char *why) {
    sgfsi_matrix m;
    write_bytes(text, strlen(text));
    assert_int_equal(sgfsi_matrix_read(&m, path, D, &arena, &err), SGFS_EDATA);
    if (strstr(err.text, why) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    assert_int_equal(sgfsi_matrix_read(&m, path, D, &arena, NULL), SGFS_EDATA);
}

static void text_with_blanks_commas_and_comments(void **state) {
    (void)state;
    const char *text = "# a covariance\n 2.385, -0.5\t1e-3 # first\r\n\n-0.5 3.25 ,0.125\r\n"
                       "0.001 0.125 4.5";
    const double wanted[] = {2.385, -0.5, 1e-3, -0.5, 3.25, 0.125, 1e-3, 0.125, 4.5};
    write_bytes(text, strlen(text));
    sgfsi_matrix m = read_good(3);
    assert_false(m.diagonal);
    assert_memory_equal(m.a, wanted, sizeof wanted);
}

static void a_diagonal_lying_or_standing(void **state) {
    (void)state;
    const double wanted[] = {2.385, 0.5, 7.25};
    const char *text[] = {"2.385 0.5 7.25\n", "2.385\n0.5\n7.25"};
    for (int k = 0; k < 2; k++) {
        double v[3];
        write_bytes(text[k], strlen(text[k]));
        sgfsi_matrix m = read_good(3);
        assert_true(m.diagonal);
        assert_memory_equal(m.a, wanted, sizeof wanted);
        assert_int_equal(sgfsi_vector_read(v, path, 3, &err), SGFS_OK);
        assert_memory_equal(v, wanted, sizeof wanted);
    }
    assert_int_equal(sgfsi_vector_read((double[4]){0}, path, 4, &err), SGFS_EDATA);
    assert_non_null(
        strstr(err.text, "has 3 x 1 numbers; the model has 4 parameters: 4 are needed"));
}

static void a_locale_with_commas_changes_nothing(void **state) {
    (void)state;
    const double wanted[] = {2.5, 0.25};
    bool german = setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
    write_bytes("2.5,0.25\n", 9);
    sgfsi_matrix m = read_good(2);
    setlocale(LC_ALL, "C");
    assert_memory_equal(m.a, wanted, sizeof wanted);
    if (!german) print_message("(de_DE is not installed: read in C)\n");
}

static void numpy_double_and_float_in_either_order(void **state) {
    (void)state;
    const double a[] = {2.385, -0.5, -0.5, 3.25};
    const float f[] = {2.5f, -0.5f, -0.5f, 3.25f};
    write_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n", a, sizeof a);
    assert_memory_equal(read_good(2).a, a, sizeof a);
    write_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }\n", f, sizeof f);
    sgfsi_matrix m = read_good(2);
    for (int k = 0; k < 4; k++) assert_near(m.a[k], (double)f[k], 0, "float");
    write_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", a, 16);
    assert_true(read_good(2).diagonal);
    /* a Fortran matrix of 1 x 2 is the same two numbers; 2 x 2 that is not symmetric tells its
     * order in the message */
    const double skew[] = {1, 2, 3, 4};
    sgfsi_matrix ignored;
    write_npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }\n", skew, sizeof skew);
    assert_int_equal(sgfsi_matrix_read(&ignored, path, 2, &arena, &err), SGFS_EDATA);
    assert_non_null(strstr(err.text, "row 2, column 1 is 2, and row 1, column 2 is 3"));
}

static void numpy_that_lies(void **state) {
    (void)state;
    sgfsi_matrix m;
    const double a[] = {2.385, -0.5, -0.5, 3.25};
    static const struct {
        const char *head, *why;
    } bad[] = {
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (3, 3), }\n", "cut off"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 8), }\n",
         "cut off"},
        {"{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }\n", "type '<i8'"},
        {"{'descr': '>f8', 'fortran_order': False, 'shape': (2, 2), }\n", "type '>f8'"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2, 1), }\n", "3 dimensions"},
        {"{'descr': '<f8', 'shape': (2, 2), }\n", "damaged"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        write_npy(bad[k].head, a, sizeof a);
        assert_int_equal(sgfsi_matrix_read(&m, path, 3, &arena, &err), SGFS_EDATA);
        if (strstr(err.text, bad[k].why) == NULL) fail_msg("%zu: %s", k, err.text);
    }
}

static void what_is_refused(void **state) {
    (void)state;
    refused("1 0\n0 1\n", 3,
            "has 2 x 2 numbers; the model has 3 parameters: 3 x 3 or 3 are needed");
    refused("1 0.5\n0.5001 1\n", 2, "not symmetric: row 2, column 1 is 0.5001");
    refused("1 0\n0 nan\n", 2, "row 2, column 2 is not finite");
    refused("1 inf\n", 2, "row 1, column 2 is not finite");
    refused("1 2\n3\n", 2, ":2: 1 numbers, where the lines before have 2");
    refused("1 two\n", 2, ":1: there is no number at \"two\"");
    refused("1.5x 2\n", 2, "there is no number at \"1.5x 2\"");
    refused("1,,2\n", 2, "there is no number at");
    refused("1,2,\n", 2, "there is no number at");
    refused("# nothing\n", 2, "has 0 x 0 numbers");
    refused("", 2, "has 0 x 0 numbers");
}

static void rounding_in_print_is_forgiven(void **state) {
    (void)state;
    const char *text = "1 0.123456789\n0.123456788 1\n";
    write_bytes(text, strlen(text));
    sgfsi_matrix m = read_good(2);
    assert_true(m.a[1] == m.a[2]);
    assert_near(m.a[1], 0.1234567885, 1e-12, "mean of the two");
}

static void files_that_are_not_there(void **state) {
    (void)state;
    sgfsi_matrix m;
    assert_int_equal(sgfsi_matrix_read(&m, "/tmp/no/such/file", 3, &arena, &err), SGFS_EIO);
    assert_non_null(strstr(err.text, "/tmp/no/such/file: cannot open"));
    assert_int_equal(sgfsi_matrix_read(&m, "/tmp", 3, &arena, &err), SGFS_EIO);
    assert_int_equal(sgfsi_matrix_read(&m, path, INT64_MAX / 2, &arena, &err), SGFS_EDATA);
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(text_with_blanks_commas_and_comments),
        CASE(a_diagonal_lying_or_standing),
        CASE(a_locale_with_commas_changes_nothing),
        CASE(numpy_double_and_float_in_either_order),
        CASE(numpy_that_lies),
        CASE(what_is_refused),
        CASE(rounding_in_print_is_forgiven),
        CASE(files_that_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
