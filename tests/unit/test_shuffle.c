/* SPDX-License-Identifier: MIT
 * test_shuffle.c: the shuffle on disk: every order equally likely, no row lost, the same order
 * whatever the memory, nothing left behind, memory that does not grow.
 *
 * Monte Carlo: chi-square statistics with fixed seeds; bounds are exceeded by a fair shuffle once
 * in 10^6 (the 1 - 1e-6 quantiles of chi-square, from scipy).
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files/packed/shuffle.h"
#include "tools/check.h"

enum { MB = 1024 * 1024 };

/* ---- rows that come out ---------------------------------------------------------------------- */

typedef struct taken {
    char *rows;
    int64_t n, row_bytes, most;
    int64_t fail_at; /* rows; 0: never */
} taken;

static sgfs_status take(void *user, int64_t n, const void *rows, sgfs_err *err) {
    taken *t = user;
    if (t->fail_at > 0 && t->n >= t->fail_at) {
        err->code = SGFS_ESTOPPED;
        return SGFS_ESTOPPED;
    }
    assert_true(t->n + n <= t->most);
    if (n > 0) memcpy(t->rows + t->n * t->row_bytes, rows, (size_t)(n * t->row_bytes));
    t->n += n;
    return SGFS_OK;
}

/* Row i of a file: its number in the first bytes, then bytes that follow from it. */
static void make_row(int64_t i, int64_t row_bytes, char *row) {
    uint64_t state = (uint64_t)i;
    for (int64_t k = 0; k < row_bytes; k++)
        row[k] = (char)(k < 4 ? (uint64_t)i >> (8 * k) : next_bits(&state));
}

static int64_t number_of(const char *row, int64_t row_bytes) {
    int64_t i = 0;
    for (int64_t k = 0; k < row_bytes && k < 4; k++) i |= (int64_t)(unsigned char)row[k] << (8 * k);
    return i;
}

typedef struct setup {
    int64_t rows, row_bytes, memory, at_once;
    uint64_t seed;
    double expected;
} setup;

/* The rows of `u`, shuffled; the caller frees. *spilled: bytes that went to disk, for the
 * asking. */
static char *shuffled(const setup *u, double *spilled) {
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_shuffle *s;
    const sgfsi_shuffle_plan plan = {.row_bytes = u->row_bytes,
                                     .memory = u->memory > 0 ? u->memory : 64 * MB,
                                     .seed = u->seed,
                                     .at_once = u->at_once,
                                     .beside = "./x"};
    taken t = {.row_bytes = u->row_bytes, .most = u->rows};
    char *row = malloc((size_t)(17 * u->row_bytes));
    t.rows = malloc((size_t)(u->rows * u->row_bytes) + 1);
    assert_true(row != NULL && t.rows != NULL);
    assert_int_equal(sgfsi_shuffle_open(&s, &plan, &err), SGFS_OK);
    for (int64_t i = 0; i < u->rows; i += 17) { /* blocks that divide nothing */
        int64_t n = u->rows - i < 17 ? u->rows - i : 17;
        for (int64_t k = 0; k < n; k++) make_row(i + k, u->row_bytes, row + k * u->row_bytes);
        if (sgfsi_shuffle_add(s, n, row, u->expected, &err) != SGFS_OK) fail_msg("%s", err.text);
    }
    if (sgfsi_shuffle_drain(s, take, &t, &err) != SGFS_OK) fail_msg("%s", err.text);
    assert_int_equal(t.n, u->rows);
    if (spilled != NULL) *spilled = sgfsi_shuffle_spilled(s);
    sgfsi_shuffle_free(s);
    free(row);
    return t.rows;
}

/* ---- fair ------------------------------------------------------------------------------------ */

/* Four rows, one in memory at a time: every row is divided until it is alone. */
static void test_all_24_orders_are_equally_likely(void **state) {
    (void)state;
    enum { T = 24000 };
    double count[256] = {0}, chi2 = 0;
    int orders = 0;
    for (uint64_t seed = 0; seed < T; seed++) {
        const setup u = {.rows = 4, .row_bytes = 1, .at_once = 1, .seed = seed, .memory = MB};
        char *rows = shuffled(&u, NULL);
        count[rows[0] << 6 | rows[1] << 4 | rows[2] << 2 | rows[3]]++;
        free(rows);
    }
    for (int k = 0; k < 256; k++) {
        if (count[k] == 0) continue;
        orders++;
        chi2 += (count[k] - T / 24.0) * (count[k] - T / 24.0) / (T / 24.0);
    }
    assert_int_equal(orders, 24);
    if (!(chi2 < 70.55)) fail_msg("chi-square of 23 degrees of freedom: %.1f", chi2);
}

/* Where each of 50 rows goes. Sum (O - E)^2 / E (N - 1)/N has (N - 1)^2 degrees of freedom. */
static void test_every_place_is_equally_likely(void **state) {
    (void)state;
    enum { N = 50, T = 5000 };
    const int64_t at_once[] = {0, 7};
    for (int way = 0; way < 2; way++) {
        static double count[N][N];
        double chi2 = 0, E = (double)T / N;
        memset(count, 0, sizeof count);
        for (uint64_t seed = 1; seed <= T; seed++) {
            const setup u = {.rows = N,
                             .row_bytes = 5,
                             .at_once = at_once[way],
                             .seed = seed * 7919,
                             .memory = MB};
            char *rows = shuffled(&u, NULL);
            for (int i = 0; i < N; i++) count[number_of(rows + i * 5, 5)][i]++;
            free(rows);
        }
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) chi2 += (count[i][j] - E) * (count[i][j] - E) / E;
        chi2 *= (double)(N - 1) / N;
        if (!(chi2 < 2744.9)) fail_msg("way %d: chi-square of 2401 d.o.f.: %.1f", way, chi2);
    }
}

/* Pairs out of order: mean N(N-1)/4, variance N(N-1)(2N+5)/72; 5 standard deviations (6e-7). */
static void test_half_of_all_pairs_change_order(void **state) {
    (void)state;
    enum { N = 4000 };
    const setup u = {.rows = N, .row_bytes = 8, .at_once = 300, .seed = 385, .memory = MB};
    char *rows = shuffled(&u, NULL);
    double pairs = 0, n = N;
    for (int i = 0; i < N; i++)
        for (int j = i + 1; j < N; j++)
            pairs += number_of(rows + (int64_t)i * 8, 8) > number_of(rows + (int64_t)j * 8, 8);
    assert_near(pairs, n * (n - 1) / 4, 5 * sqrt(n * (n - 1) * (2 * n + 5) / 72), "inversions");
    free(rows);
}

/* How far apart neighbours were before. That two are d apart is Poisson of mean below 2 for each d,
 * so that 16 of some d are seen in 2 of 10^6 shuffles; in all of them, if keys came again. */
static void test_no_distance_is_preferred(void **state) {
    (void)state;
    enum { N = 4000 };
    const setup u = {.rows = N, .row_bytes = 8, .seed = 386};
    int count[N] = {0};
    char *rows = shuffled(&u, NULL);
    for (int64_t i = 1; i < N; i++) {
        int64_t d = number_of(rows + i * 8, 8) - number_of(rows + (i - 1) * 8, 8);
        assert_true(++count[d < 0 ? -d : d] < 16);
    }
    free(rows);
}

/* ---- complete -------------------------------------------------------------------------------- */

static void check_complete(const setup *u) {
    char *rows = shuffled(u, NULL), *wanted = malloc((size_t)u->row_bytes);
    char *seen = calloc((size_t)u->rows + 1, 1);
    for (int64_t i = 0; i < u->rows; i++) {
        const char *row = rows + i * u->row_bytes;
        int64_t k = number_of(row, u->row_bytes);
        assert_true(k < u->rows && !seen[k]);
        seen[k] = 1;
        make_row(k, u->row_bytes, wanted);
        assert_memory_equal(row, wanted, (size_t)u->row_bytes);
    }
    free(rows);
    free(wanted);
    free(seen);
}

static void test_no_row_is_lost_or_doubled(void **state) {
    (void)state;
    const int64_t rows[] = {0, 1, 2, 99, 100, 101, 1023, 1025, 5000};
    for (int k = 0; k < 9; k++) {
        setup u = {.rows = rows[k], .row_bytes = 12, .at_once = 100, .seed = 9, .memory = MB};
        check_complete(&u);
        u.expected = 1e6; /* wrong by far, either way */
        check_complete(&u);
    }
    for (int64_t bytes = 1; bytes < 5; bytes++) {
        const setup u = {.rows = 200, .row_bytes = bytes, .at_once = 31, .seed = 3, .memory = MB};
        check_complete(&u);
    }
    const setup wide = {
        .rows = 150, .row_bytes = 100003, .seed = 3, .memory = sgfsi_shuffle_least(100003)};
    check_complete(&wide);
}

/* ---- the seed, and nothing else -------------------------------------------------------------- */

static void test_the_order_follows_from_the_seed_alone(void **state) {
    (void)state;
    enum { N = 30000 };
    setup u = {.rows = N, .row_bytes = 12, .seed = 4};
    double spilled;
    char *whole = shuffled(&u, &spilled);
    assert_true(spilled == 0);
    const setup ways[] = {{N, 12, MB, 0, 4, 0}, {N, 12, MB, 0, 4, N},      {N, 12, 0, 1000, 4, N},
                          {N, 12, 0, 37, 4, 0}, {N, 12, MB, 5000, 4, 1e9}, {N, 12, 0, N - 1, 4, 7}};
    for (size_t k = 0; k < sizeof ways / sizeof ways[0]; k++) {
        char *rows = shuffled(&ways[k], &spilled);
        assert_true(spilled >= N * 20.0);
        assert_memory_equal(rows, whole, N * 12);
        free(rows);
    }
    u.seed = 5;
    char *other = shuffled(&u, NULL);
    assert_true(memcmp(other, whole, N * 12) != 0);
    free(other);
    free(whole);
}

/* The order is part of what a seed means: that of Philox4x32-10 at counters (k, 0, 0, 40 << 24),
 * two keys each, as a program of its own (in Python) computed it. */
static void test_the_order_is_pinned(void **state) {
    (void)state;
    static const char wanted[] = {2, 8, 9, 1, 0, 5, 3, 6, 4, 7};
    const setup u = {.rows = 10, .row_bytes = 1, .seed = 2};
    char *rows = shuffled(&u, NULL);
    assert_memory_equal(rows, wanted, 10);
    free(rows);
}

/* ---- what may happen ------------------------------------------------------------------------- */

/* A shuffle with some rows on disk. */
static sgfsi_shuffle *half_way(double expected, int64_t rows, sgfs_err *err) {
    sgfsi_shuffle *s;
    const sgfsi_shuffle_plan plan = {
        .row_bytes = 64, .memory = MB, .seed = 1, .at_once = 500, .beside = "empty/x"};
    char row[64];
    sgfs_status status = sgfsi_shuffle_open(&s, &plan, err);
    for (int64_t i = 0; i < rows && status == SGFS_OK; i++) {
        make_row(i, 64, row);
        status = sgfsi_shuffle_add(s, 1, row, expected, err);
    }
    err->code = status;
    return s;
}

static int names_in(const char *folder) {
    int count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        count += e->d_name[0] != '.' || strlen(e->d_name) > 2;
    closedir(d);
    return count;
}

static void test_the_file_has_no_name(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_shuffle *s = half_way(0, 20000, &err);
    assert_int_equal(err.code, SGFS_OK);
    assert_true(sgfsi_shuffle_spilled(s) > 5e5);
    assert_int_equal(names_in("empty"), 0);
    sgfsi_shuffle_free(s);
}

static void test_the_caller_may_stop(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_shuffle *s = half_way(0, 9000, &err);
    taken t = {.row_bytes = 64, .most = 9000, .fail_at = 3000};
    t.rows = malloc(9000 * 64);
    assert_int_equal(sgfsi_shuffle_drain(s, take, &t, &err), SGFS_ESTOPPED);
    assert_true(t.n >= 3000 && t.n < 9000);
    sgfsi_shuffle_free(s);
    free(t.rows);
}

static void test_a_disk_that_is_too_small_is_refused_early(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_shuffle *s = half_way(1e17, 501, &err);
    assert_int_equal(err.code, SGFS_EIO);
    assert_non_null(strstr(err.text, "needs about 7200 PB of temporary space in empty"));
    sgfsi_shuffle_free(s);
    s = half_way(0, 400, &err);
    sgfsi_shuffle_free(s);
    assert_int_equal(err.code, SGFS_OK);
}

static void test_a_folder_that_is_not_there(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_shuffle *s;
    const sgfsi_shuffle_plan plan = {
        .row_bytes = 64, .memory = MB, .seed = 1, .at_once = 1, .beside = "nowhere/x"};
    char row[128] = {0};
    assert_int_equal(sgfsi_shuffle_open(&s, &plan, &err), SGFS_OK);
    assert_int_equal(sgfsi_shuffle_add(s, 2, row, 0, &err), SGFS_EIO);
    assert_non_null(strstr(err.text, "nowhere: cannot write temporary data there"));
    sgfsi_shuffle_free(s);
}

/* In a process of its own: what a write that fails is told as, and peak memory. */
static int in_child(int (*work)(int64_t argument), int64_t argument, struct rusage *usage) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(work(argument));
    assert_true(child > 0);
    assert_int_equal(wait4(child, &status, 0, usage), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int write_too_much(int64_t limit) {
    sgfs_err err = {SGFS_OK, ""};
    const struct rlimit most = {(rlim_t)limit, (rlim_t)limit};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &most);
    sgfsi_shuffle *s = half_way(0, 20000, &err);
    sgfsi_shuffle_free(s);
    return err.code == SGFS_EIO && strstr(err.text, "empty: cannot write temporary data") != NULL;
}

static void test_a_write_that_fails_is_told(void **state) {
    (void)state;
    struct rusage usage;
    assert_int_equal(in_child(write_too_much, 300000, &usage), 1);
}

static sgfs_status drop(void *user, int64_t n, const void *rows, sgfs_err *err) {
    (void)rows, (void)err;
    *(int64_t *)user += n;
    return SGFS_OK;
}

/* 8 MB of memory, rows of 100 bytes. */
static int shuffle_many(int64_t rows) {
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_shuffle *s;
    const sgfsi_shuffle_plan plan = {
        .row_bytes = 100, .memory = 8 * MB, .seed = 1, .beside = "empty/x"};
    char row[100];
    int64_t n = 0;
    sgfs_status status = sgfsi_shuffle_open(&s, &plan, &err);
    make_row(1, 100, row);
    for (int64_t i = 0; i < rows && status == SGFS_OK; i++)
        status = sgfsi_shuffle_add(s, 1, row, (double)rows, &err);
    if (status == SGFS_OK) status = sgfsi_shuffle_drain(s, drop, &n, &err);
    sgfsi_shuffle_free(s);
    return status == SGFS_OK && n == rows;
}

static void test_memory_is_bounded_and_does_not_grow(void **state) {
    (void)state;
    struct rusage none, once, four;
    assert_int_equal(in_child(shuffle_many, 0, &none), 1);
    assert_int_equal(in_child(shuffle_many, 400000, &once), 1);
    assert_int_equal(in_child(shuffle_many, 1600000, &four), 1);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what was freed */
    /* kilobytes; 1 MB for the list of blocks, the C library and the kernel's counting */
    if (once.ru_maxrss - none.ru_maxrss > 9 * 1024) fail_msg("%ld kB", once.ru_maxrss);
    if (four.ru_maxrss - none.ru_maxrss > 9 * 1024) fail_msg("%ld kB", four.ru_maxrss);
    if (once.ru_maxrss - none.ru_maxrss < 5 * 1024) fail_msg("%ld kB?", once.ru_maxrss);
#endif
}

int main(void) {
    (void)mkdir("empty", 0777);
    const struct CMUnitTest tests[] = {
        /* first: a child inherits what its parent has ever had */
        cmocka_unit_test(test_memory_is_bounded_and_does_not_grow),
        cmocka_unit_test(test_all_24_orders_are_equally_likely),
        cmocka_unit_test(test_every_place_is_equally_likely),
        cmocka_unit_test(test_half_of_all_pairs_change_order),
        cmocka_unit_test(test_no_distance_is_preferred),
        cmocka_unit_test(test_no_row_is_lost_or_doubled),
        cmocka_unit_test(test_the_order_follows_from_the_seed_alone),
        cmocka_unit_test(test_the_order_is_pinned),
        cmocka_unit_test(test_the_file_has_no_name),
        cmocka_unit_test(test_the_caller_may_stop),
        cmocka_unit_test(test_a_disk_that_is_too_small_is_refused_early),
        cmocka_unit_test(test_a_folder_that_is_not_there),
        cmocka_unit_test(test_a_write_that_fails_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
