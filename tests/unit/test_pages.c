/* SPDX-License-Identifier: MIT
 * test_pages.c: rows of a packed file before they are gathered: damage and a shorter file are told,
 * pages are counted and given back, and the rows that stand for all are spread over all.
 */
#define _GNU_SOURCE /* the type of getrusage's who */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "chain/plan.h"
#include "files/packed/packed.h"
#include "posterior/posterior.h"
#include "rows/batch.h"
#include "tools/check.h"
#include "tools/unit_prior.h"

enum { N = 20000, COLS = 9 };
static char path[64];

static void pack(void) {
    char *names[COLS] = {"x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "y"};
    unsigned char role[COLS] = {1, 1, 1, 1, 1, 1, 1, 1, SGFSI_ROLE_TARGET};
    const sgfsi_table head = {
        .cols = COLS, .names = names, .role = role, .named = true, .text_col = -1};
    const sgfsi_packer_plan plan = {
        .path = path, .overwrite = true, .head = &head, .type = SGFSI_F32, .shuffled = true};
    sgfsi_packer *p;
    sgfs_err err;
    double row[COLS];
    uint64_t seed = 385;
    if (sgfsi_packer_open(&p, &plan, &err) != SGFS_OK) fail_msg("%s", err.text);
    for (int64_t i = 0; i < N; i++) {
        for (int j = 0; j < COLS; j++) row[j] = (double)(float)next_number(&seed);
        row[COLS - 1] = row[0] > 0 ? 1 : 0;
        assert_int_equal(sgfsi_packer_add(p, 1, row, &err), SGFS_OK);
    }
    if (sgfsi_packer_commit(p, &err) != SGFS_OK) fail_msg("%s", err.text);
}

static sgfs_data *open_packed(void) {
    sgfs_err err;
    sgfs_config *cfg = unit_prior_config();
    sgfs_data *d = sgfs_data_open(path, cfg, &err);
    if (d == NULL) fail_msg("%s", err.text);
    sgfs_config_free(cfg);
    return d;
}

/* Another byte in the middle of row i. */
static void damage(const sgfs_data *d, int64_t i) {
    const sgfsi_part *p = &d->table.part[0];
    off_t at = SGFSI_PAGE + i / p->chunk_rows * p->chunk_bytes + i % p->chunk_rows * d->row_bytes;
    int fd = open(path, O_RDWR);
    unsigned char byte = 0;
    assert_true(fd >= 0 && pread(fd, &byte, 1, at + 5) == 1);
    byte ^= 0x10;
    assert_true(pwrite(fd, &byte, 1, at + 5) == 1);
    close(fd);
}

static void test_damage_is_told_once_it_is_reached(void **state) {
    (void)state;
    sgfs_err err;
    sgfsi_pages v = {0};
    pack();
    sgfs_data *d = open_packed();
    int64_t c = d->table.part[0].chunk_rows, good[] = {3 * c, 3 * c + 1, 17 * c}, bad = 5 * c + 2;
    damage(d, bad);
    assert_int_equal(sgfsi_pages_rows(&v, d, good, 3, &err), SGFS_OK);
    assert_int_equal(sgfsi_pages_rows(&v, d, &bad, 1, &err), SGFS_EDATA);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "checksum"));
    assert_int_equal(sgfsi_pages_range(&v, d, 0, 5 * c, &err), SGFS_OK);
    assert_int_equal(sgfsi_pages_range(&v, d, 5 * c, c, &err), SGFS_EDATA);
    sgfs_data_free(d);
}

/* Rows of a chunk that was found right do not speak for the others of their minibatch, wherever in
 * it the damage is: first, between, last, or more runs ahead than are looked at together. */
static void test_damage_beside_good_rows_is_told(void **state) {
    (void)state;
    enum { n = 100 };
    static const int64_t place[] = {0, 1, n / 2, n - 1};
    sgfs_err err;
    sgfsi_pages v = {0};
    int64_t row[n];
    pack();
    sgfs_data *d = open_packed();
    int64_t c = d->table.part[0].chunk_rows, bad = 5 * c + 2;
    damage(d, bad);
    for (int64_t i = 0; i < n; i++) row[i] = (20 + i) * c;
    for (int k = 0; k < 4; k++) {
        int64_t keep = row[place[k]];
        assert_int_equal(sgfsi_pages_rows(&v, d, row, n, &err), SGFS_OK);
        row[place[k]] = bad;
        assert_int_equal(sgfsi_pages_rows(&v, d, row, n, &err), SGFS_EDATA);
        row[place[k]] = keep;
    }
    sgfs_data_free(d);
}

/* A minibatch and a pass over all rows end with that sentence, not with numbers. */
static void test_damage_ends_minibatches_and_passes(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_arena arena = {NULL};
    sgfsi_eval e = {.n = 0};
    double G[COLS], theta[COLS] = {0}, lp;
    pack();
    sgfs_data *d = open_packed();
    sgfs_config *cfg = unit_prior_config();
    sgfs_model *m = sgfs_model_open("logistic", d, cfg, &err);
    if (m == NULL) fail_msg("%s", err.text);
    for (int64_t i = 0; i < N; i += d->table.part[0].chunk_rows) damage(d, i);
    assert_int_equal(sgfsi_eval_open(&e, m, &sgfs_scheme_chunks, 100, &arena, &err), SGFS_OK);
    assert_int_equal(sgfsi_eval_gradient(&e, 1, SGFSI_ROWS, theta, G, NULL, &err), SGFS_EDATA);
    assert_int_equal(sgfsi_eval_gradient(&e, 1, SGFSI_ROWS, theta, G, NULL, NULL), SGFS_EDATA);
    err.text[0] = '\0';
    assert_int_equal(sgfsi_posterior_full(m, theta, &lp, G, NULL, &err), SGFS_EDATA);
    assert_non_null(strstr(err.text, "checksum"));
    sgfsi_arena_free(&arena);
    sgfs_model_free(m);
    sgfs_config_free(cfg);
    sgfs_data_free(d);
}

static void test_a_shorter_file_is_told(void **state) {
    (void)state;
    sgfs_err err;
    sgfsi_pages v = {0};
    int64_t row = 0;
    pack();
    sgfs_data *d = open_packed();
    assert_int_equal(sgfsi_pages_rows(&v, d, &row, 1, &err), SGFS_OK);
    assert_int_equal(truncate(path, 2 * SGFSI_PAGE), 0);
    assert_int_equal(sgfsi_pages_rows(&v, d, &row, 1, &err), SGFS_EIO);
    assert_non_null(strstr(err.text, "shorter"));
    sgfs_data_free(d);
}

/* Neighbours share pages: a minibatch in one run touches n row_bytes, one row by row up to n
 * pages. */
static void test_pages_are_counted(void **state) {
    (void)state;
    enum { n = 400 };
    sgfsi_pages together = {0}, apart = {0};
    int64_t row[n];
    pack();
    sgfs_data *d = open_packed();
    for (int64_t i = 0; i < n; i++) row[i] = 1000 + i;
    assert_int_equal(sgfsi_pages_rows(&together, d, row, n, NULL), SGFS_OK);
    assert_true(together.bytes >= n * 36 && together.bytes <= n * 36 + 6 * SGFSI_PAGE);
    for (int64_t i = 0; i < n; i++) row[i] = (i * 7919) % N;
    assert_int_equal(sgfsi_pages_rows(&apart, d, row, n, NULL), SGFS_OK);
    assert_true(apart.bytes >= (n - 20) * SGFSI_PAGE);
    sgfs_data_free(d);
}

/* ---- looking ahead --------------------------------------------------------------------------- */

/* Linked with --wrap=madvise,--wrap=getrusage: which pages of the map are asked for is noted, and a
 * disk is as slow as the test says. */
enum { PAGES = 256 };
static const char *watched; /* a map; NULL: none */
static bool asked[PAGES], slow_disk;
static long major_faults;

int __real_madvise(void *at, size_t bytes, int advice);
int __wrap_madvise(void *at, size_t bytes, int advice);
int __wrap_getrusage(__rusage_who_t who, struct rusage *use);

int __wrap_madvise(void *at, size_t bytes, int advice) {
    int64_t first = watched != NULL ? ((const char *)at - watched) / SGFSI_PAGE : 0;
    for (int64_t k = 0;
         watched != NULL && advice == MADV_WILLNEED && k * SGFSI_PAGE < (int64_t)bytes; k++) {
        assert_in_range(first + k, 0, PAGES - 1);
        asked[first + k] = true;
    }
    return __real_madvise(at, bytes, advice);
}

int __wrap_getrusage(__rusage_who_t who, struct rusage *use) {
    (void)who;
    if (slow_disk) major_faults++;
    *use = (struct rusage){.ru_majflt = major_faults};
    return 0;
}

/* The pages of iteration t's rows. */
static void add_pages(const sgfsi_batcher *b, int64_t t, bool *page) {
    const sgfsi_part *p = &b->data->table.part[0];
    const sgfs_when when = {.seed = b->seed, .t = t, .chain = b->chain, .purpose = SGFSI_ROWS};
    int64_t row[16], size = b->data->row_bytes;
    b->scheme->draw(&b->urn, &when, NULL, row);
    for (int64_t i = 0; i < b->urn.n; i++) {
        int64_t chunk = SGFSI_PAGE + row[i] / p->chunk_rows * p->chunk_bytes;
        int64_t at = chunk + row[i] % p->chunk_rows * size;
        page[at / SGFSI_PAGE] = page[(at + size - 1) / SGFSI_PAGE] = true;
    }
}

/* Iteration t asks for the pages of iterations t + from .. t + to, and of its own where it knows
 * the disk to be slow already. */
static void assert_asks(sgfsi_batcher *b, int64_t t, bool own, int64_t from, int64_t to) {
    bool wanted[PAGES] = {false};
    memset(asked, 0, sizeof asked);
    if (own) add_pages(b, t, wanted);
    for (int64_t k = from; k <= to; k++) add_pages(b, t + k, wanted);
    assert_non_null(sgfsi_batcher_next(b, t, SGFSI_ROWS, false, NULL));
    for (int k = 0; k < PAGES; k++) {
        if (asked[k] != wanted[k])
            fail_msg("iteration %d, page %d: asked for is %d", (int)t, k, asked[k]);
    }
}

/* Once the disk is found slow, the next eight minibatches at once, then the eighth from each;
 * nothing while all is in memory. */
static void test_later_minibatches_are_asked_for(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_arena arena = {NULL};
    sgfsi_batcher b = {.seed = 5, .chain = 2};
    const sgfsi_rows_plan plan = {.n = 3, .parameters = COLS};
    pack();
    sgfs_data *d = open_packed();
    assert_true(d->table.part[0].map_bytes <= (size_t)PAGES * SGFSI_PAGE);
    if (sgfsi_batcher_open(&b, d, &sgfs_scheme_with, plan, &arena, &err) != SGFS_OK)
        fail_msg("%s", err.text);
    watched = d->table.part[0].map;
    assert_asks(&b, 1, false, 1, 0);
    b.visit.suspect = slow_disk = true; /* as after a visit that took long */
    assert_asks(&b, 2, false, 1, 8);
    slow_disk = false;
    for (int64_t t = 3; t < 20; t++) assert_asks(&b, t, true, 8, 8);
    b.visit.cold = 0; /* long since */
    assert_asks(&b, 20, false, 1, 0);
    watched = NULL;
    sgfs_data_free(d);
    sgfsi_arena_free(&arena);
}

/* ---- resident pages -------------------------------------------------------------------------- */

static int64_t resident_pages(const sgfsi_part *p) {
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[256];
    unsigned long from, to;
    long kb = 0;
    bool mine = false;
    assert_non_null(f);
    while (fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            mine = from < (unsigned long)p->map + p->map_bytes && to > (unsigned long)p->map;
        long rss;
        if (mine && sscanf(line, "Rss: %ld", &rss) == 1) kb += rss;
    }
    fclose(f);
    return kb / 4;
}

/* With a share smaller than the file, pages go back; without one, they stay. */
static void test_pages_are_given_back(void **state) {
    (void)state;
    int64_t row[N], stay, bounded;
    pack();
    sgfs_data *d = open_packed();
    sgfsi_part *p = d->table.part;
    sgfsi_pages v = {0};
    for (int64_t i = 0; i < N; i++) row[i] = i;
    assert_int_equal(sgfsi_pages_rows(&v, d, row, N, NULL), SGFS_OK);
    stay = resident_pages(p);
    assert_true(stay >= p->packed->chunks * p->chunk_bytes / SGFSI_PAGE);
    atomic_store(&p->packed->share, 1 << 16);
    for (int64_t i = 0; i < N; i += 500) sgfsi_pages_rows(&v, d, row + i, 500, NULL);
    bounded = resident_pages(p);
    assert_true(bounded <= stay / 4); /* a window, page 0 and the checksums */
    for (int64_t i = 0; i < N; i += 500) sgfsi_pages_range(&v, d, i, 500, NULL);
    assert_true(resident_pages(p) <= stay / 2);
    sgfs_data_free(d);
}

/* n rows in order, no row twice, none beyond the last, and some of each quarter of them. */
static void test_fair_rows(void **state) {
    (void)state;
    static const int64_t size[][2] = {{1000, 1000}, {1000000000, 2000}, {257, 256}, {5, 2}};
    int64_t row[2000];
    for (int k = 0; k < 8; k++) {
        sgfsi_part part[3] = {{.first = 0}, {.first = 1}, {.first = 2}};
        sgfs_data d = {.N = size[k % 4][0]};
        int64_t n = size[k % 4][1], quarter[4] = {0};
        d.table = (sgfsi_table){.shuffled = k < 4, .parts = k < 4 ? 3 : 0, .part = part};
        sgfsi_data_fair(&d, n, row);
        for (int64_t i = 0; i < n; i++) {
            assert_in_range(row[i], i > 0 ? row[i - 1] + 1 : 0, d.N - 1);
            quarter[row[i] * 4 / d.N]++;
        }
        for (int q = 0; n > 100 && q < 4; q++) assert_true(quarter[q] > n / 5);
    }
}

/* Few rows of many shuffled files: some of each file. */
static void test_fair_rows_of_many_parts(void **state) {
    (void)state;
    enum { PARTS = 40, ROWS = 25000, n = 2000 };
    sgfsi_part part[PARTS];
    int64_t row[n], count[PARTS] = {0};
    sgfs_data d = {.N = (int64_t)PARTS * ROWS};
    for (int64_t k = 0; k < PARTS; k++) part[k] = (sgfsi_part){.first = k * ROWS, .rows = ROWS};
    d.table = (sgfsi_table){.shuffled = true, .parts = PARTS, .part = part};
    sgfsi_data_fair(&d, n, row);
    for (int64_t i = 0; i < n; i++) count[row[i] / ROWS]++;
    for (int64_t k = 0; k < PARTS; k++) assert_in_range(count[k], n / PARTS / 2, 2 * n / PARTS);
}

static int make_place(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/sgfs-visit-%d.sgd", (int)getpid());
    return 0;
}

static int remove_place(void **state) {
    (void)state;
    return unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damage_is_told_once_it_is_reached),
        cmocka_unit_test(test_damage_beside_good_rows_is_told),
        cmocka_unit_test(test_damage_ends_minibatches_and_passes),
        cmocka_unit_test(test_a_shorter_file_is_told),
        cmocka_unit_test(test_pages_are_counted),
        cmocka_unit_test(test_later_minibatches_are_asked_for),
        cmocka_unit_test(test_pages_are_given_back),
        cmocka_unit_test(test_fair_rows),
        cmocka_unit_test(test_fair_rows_of_many_parts),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
