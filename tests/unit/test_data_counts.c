/* SPDX-License-Identifier: MIT
 * test_data_counts.c: public data sets give the numbers that are known of them, read as a table and
 * in blocks. Needs a9a (LIBSVM) and MNIST: SGFS_DATA names the folder above a9a/ and mnist/, else
 * it is ../shared/data beside the repository; without them the tests are skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "files/collect.h"
#include "files/flow.h"

/* A file below the folder of the data, which may not be there. */
static const char *find(const char *name, char out[512]) {
    const char *folder = getenv("SGFS_DATA");
    snprintf(out, 512, "%s/%s", folder != NULL ? folder : SGFS_SOURCE_DIR "/../shared/data", name);
    if (access(out, R_OK) == 0) return out;
    print_message("skipped: %s is not there; SGFS_DATA names the folder with the data\n", out);
    skip();
    return NULL;
}

static sgfsi_read_options options_with(const char *labels) {
    return (sgfsi_read_options){.target = "",
                                .features = "",
                                .delimiter = "auto",
                                .header = "auto",
                                .columns = -1,
                                .labels = labels};
}

static sgfsi_table read_table(const char *path, const sgfsi_read_options *options) {
    sgfsi_table t;
    sgfs_err err;
    if (sgfsi_table_read(path, options, &t, &err) != SGFS_OK) fail_msg("%s", err.text);
    return t;
}

/* Every row of a flow through one function. */
static void flow_through(const char *path, const sgfsi_read_options *options,
                         void (*see)(int64_t cols, const double *row, void *what), void *what) {
    enum { MOST = 1000 };
    sgfs_err err;
    sgfsi_flow f;
    int64_t n = 1;
    const sgfs_reader_kind *reader = sgfsi_table_reader(path, &err);
    assert_non_null(reader);
    if (reader->flow(&f, path, options, &err) != SGFS_OK) fail_msg("%s", err.text);
    double *cells = malloc((size_t)(MOST * f.head.cols) * sizeof *cells);
    while (n > 0) {
        if (sgfsi_flow_next(&f, MOST, cells, NULL, &n, &err) != SGFS_OK) fail_msg("%s", err.text);
        for (int64_t i = 0; i < n; i++) see(f.head.cols, cells + i * f.head.cols, what);
    }
    free(cells);
    sgfsi_flow_close(&f);
}

/* ---- a9a ------------------------------------------------------------------------------------- */

typedef struct sparse_counts {
    int64_t rows, plus, minus, entries, largest;
} sparse_counts;

static void see_sparse(int64_t cols, const double *row, void *what) {
    sparse_counts *c = what;
    c->rows++;
    c->plus += row[cols - 1] == 1;
    c->minus += row[cols - 1] == -1;
    for (int64_t j = 0; j + 1 < cols; j++) {
        if (row[j] == 0) continue;
        assert_true(row[j] == 1);
        c->entries++;
        if (j + 1 > c->largest) c->largest = j + 1;
    }
}

static void check_a9a(const char *name, const sparse_counts *known) {
    char path[512];
    const sgfsi_read_options o = options_with("");
    find(name, path);
    sparse_counts seen = {.rows = 0};
    flow_through(path, &o, see_sparse, &seen);
    assert_memory_equal(&seen, known, sizeof seen);
    sgfsi_table t = read_table(path, &o);
    assert_true(t.type == SGFSI_CSR && t.rows == known->rows && t.cols == known->largest);
    assert_int_equal(t.csr.start[t.rows], known->entries);
    int64_t plus = 0;
    for (int64_t i = 0; i < t.rows; i++) plus += t.y[i] == 1;
    assert_int_equal(plus, known->plus);
    sgfsi_table_free(&t);
}

static void test_a9a(void **state) {
    (void)state;
    const sparse_counts known = {32561, 7841, 24720, 451592, 123};
    check_a9a("a9a/a9a.gz", &known);
}

static void test_a9a_t(void **state) {
    (void)state;
    const sparse_counts known = {16281, 3846, 12435, 225731, 122};
    check_a9a("a9a/a9a.t.gz", &known);
}

/* ---- MNIST ----------------------------------------------------------------------------------- */

typedef struct digits {
    int64_t rows, label[10];
    double sum; /* of all pixels */
} digits;

static void see_digit(int64_t cols, const double *row, void *what) {
    digits *d = what;
    d->rows++;
    assert_int_equal(cols, 785);
    d->label[(int)row[784]]++;
    for (int j = 0; j < 784; j++) d->sum += row[j];
}

static void check_mnist(const char *images, const char *labels, const digits *known,
                        int64_t sevens_and_nines) {
    char data[512], target[512];
    const sgfsi_read_options o = options_with(find(labels, target));
    find(images, data);
    digits seen = {.rows = 0}, whole = {.rows = 0};
    flow_through(data, &o, see_digit, &seen);
    assert_int_equal(seen.rows, known->rows);
    assert_memory_equal(seen.label, known->label, sizeof seen.label);
    assert_int_equal(seen.label[7] + seen.label[9], sevens_and_nines);
    sgfsi_table t = read_table(data, &o);
    assert_true(t.type == SGFSI_U8 && t.rows == known->rows && t.cols == 785);
    for (int64_t i = 0; i < t.rows; i++) {
        const unsigned char *cell = (const unsigned char *)t.cells + i * 785;
        whole.label[cell[784]]++;
        for (int j = 0; j < 784; j++) whole.sum += cell[j];
    }
    assert_memory_equal(whole.label, known->label, sizeof whole.label);
    assert_true(whole.sum == seen.sum);
    sgfsi_table_free(&t);
}

static void test_mnist_training(void **state) {
    (void)state;
    const digits known = {60000, {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}, 0};
    check_mnist("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz", &known,
                12214);
}

static void test_mnist_test(void **state) {
    (void)state;
    const digits known = {10000, {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}, 0};
    check_mnist("mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz", &known, 2037);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a9a),
        cmocka_unit_test(test_a9a_t),
        cmocka_unit_test(test_mnist_training),
        cmocka_unit_test(test_mnist_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
