/* SPDX-License-Identifier: MIT
 * test_hostile.c: every reader of files over the seeds of the fuzz targets (fuzz/corpus), as they
 * are, cut off everywhere and with bytes changed. Needs no clang: this is what keeps a fuzzer's
 * findings found.
 *
 * What must hold is in fuzz/feed.h, which the fuzz targets share: the rows, or SGFS_EDATA or
 * SGFS_EIO with a sentence. Memory is limited, so that a file of a few bytes that asks for
 * gigabytes ends in SGFS_ENOMEM, which is not one of these; so is time, by a signal that nobody
 * catches.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <omp.h>
#include <sys/resource.h>

#include "tools/check.h"

#define FEED_FAIL(...) fail_msg(__VA_ARGS__)
#include "../fuzz/feed.h"

#include "base/bytes.h"
#include "base/little.h"

enum { LONGEST = 1 << 20, SMALL = 120, SECONDS = 60 };

/* A sanitizer reserves more room than any limit, and is told its own. */
#if defined(__SANITIZE_ADDRESS__)
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1:max_allocation_size_mb=1024";
}
static void limit_memory(void) {
}
#else
/* A gigabyte more than there is now, which on machines of many cores is a lot already. */
static void limit_memory(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f == NULL || fscanf(f, "%ld", &pages) != 1) fail_msg("/proc/self/statm");
    fclose(f);
    rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)1 << 30);
    assert_int_equal(setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}), 0);
}
#endif

/* ---- seeds ----------------------------------------------------------------------------------- */

typedef struct seed {
    char path[600];
    unsigned char *bytes; /* and one more */
    size_t size;
    size_t apart; /* every so many of its bytes are changed */
} seed;

static seed load(const char *folder, const char *name) {
    seed s = {.bytes = malloc(LONGEST), .apart = 5};
    snprintf(s.path, sizeof s.path, "%.300s/%.200s", folder, name);
    FILE *f = fopen(s.path, "rbe");
    if (f == NULL || s.bytes == NULL) fail_msg("%s", s.path);
    s.size = fread(s.bytes, 1, LONGEST - 1, f);
    fclose(f);
    return s;
}

typedef void (*seed_fn)(const char *name, const seed *s);

/* fn on every seed of the format; there must be some. What goes on with a run is shown runs as they
 * are made here, too. */
static void each_seed(const char *name, seed_fn fn) {
    char folder[400];
    int count = 0;
    bool further = strcmp(name, "predict") == 0 || strcmp(name, "resume") == 0;
    snprintf(folder, sizeof folder, "%s/fuzz/corpus/%s", SGFS_SOURCE_DIR, further ? "run" : name);
    for (int which = 0; further && which < 2 * FEED_SAMPLERS; which++) {
        seed s = {.path = "a good run", .bytes = malloc(LONGEST), .apart = 331};
        const unsigned char *good = feed_good_run(which, &s.size);
        assert_non_null(s.bytes);
        memcpy(s.bytes, good, s.size);
        alarm(SECONDS);
        fn(name, &s);
        free(s.bytes);
    }
    for (int which = 0; strcmp(name, "sketch") == 0 && which < FEED_SKETCHES; which++) {
        seed s = {.path = "a good sketch", .bytes = malloc(LONGEST), .apart = 61};
        const unsigned char *good = feed_good_sketch(which, &s.size);
        assert_non_null(s.bytes);
        memcpy(s.bytes, good, s.size);
        alarm(SECONDS);
        fn(name, &s);
        free(s.bytes);
    }
    DIR *d = opendir(folder);
    if (d == NULL) fail_msg("no seeds in %s", folder);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        seed s = load(folder, e->d_name);
        alarm(SECONDS);
        fn(name, &s);
        free(s.bytes);
        count++;
    }
    alarm(0);
    closedir(d);
    assert_true(count >= 5);
}

/* ---- what is done to them -------------------------------------------------------------------- */

static void read_all_ways(const char *name, const seed *s) {
    const feed_format *format = feed_format_find(name);
    feed_any(name, s->bytes, s->size);
    const char *path = feed_put(0, s->bytes, s->size);
    for (size_t k = 0; format != NULL && k < feed_options(format); k++)
        feed_read(format, k, path, true);
}

/* Every place of small files, and of heads; elsewhere some, and in pages full of zeros few. */
static bool worth_it(const seed *s, size_t i) {
    return s->size <= SMALL || i < 128 || (s->bytes[i] != 0 && i % s->apart == 0) ||
           i % (12 * s->apart + 1) == 0;
}

/* Blocks of exactly the size: a sanitizer sees one byte too many. */
static void feed_exactly(const char *name, const unsigned char *bytes, size_t size) {
    unsigned char *copy = malloc(size + 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    feed_any(name, copy, size);
    free(copy);
}

static void cut_everywhere(const char *name, const seed *s) {
    for (size_t size = 0; size < s->size; size++)
        if (worth_it(s, size)) feed_exactly(name, s->bytes, size);
}

static void change_everywhere(const char *name, const seed *s) {
    static const unsigned char flips[] = {0xFF, 0x01, 0x80, 0x10, 0x0B};
    for (size_t i = 0; i < s->size; i++) {
        if (!worth_it(s, i)) continue;
        unsigned char kept = s->bytes[i];
        s->bytes[i] ^= flips[i % sizeof flips];
        feed_any(name, s->bytes, s->size);
        s->bytes[i] = kept;
    }
}

static void test_seeds(void **state) {
    each_seed(*state, read_all_ways);
}

static void test_cut_off(void **state) {
    each_seed(*state, cut_everywhere);
}

static void test_changed(void **state) {
    each_seed(*state, change_everywhere);
}

/* Else the hostile ones among them would show nothing. */
static void test_good_runs_go_on(void **state) {
    (void)state;
    for (int which = 0; which < 2 * FEED_SAMPLERS; which++) {
        size_t size;
        const unsigned char *good = feed_good_run(which, &size);
        assert_int_equal(feed_predict(good, size), SGFS_OK);
        assert_int_equal(feed_resume(good, size), SGFS_OK);
    }
}

/* A place is one to be asked at; the others are for the next step. */
static void test_good_sketches_are_taken(void **state) {
    (void)state;
    for (int which = 0; which < FEED_SKETCHES; which++) {
        size_t size;
        const unsigned char *good = feed_good_sketch(which, &size);
        assert_int_equal(feed_sketch(good, size), which == 3 ? 2 : 1);
    }
}

/* With the right checksum, as somebody would write them who means harm. */
static void test_forged_sketches(void **state) {
    (void)state;
    for (int which = 0; which < FEED_SKETCHES; which++) {
        size_t size;
        const unsigned char *good = feed_good_sketch(which, &size);
        unsigned char *copy = malloc(size + 64);
        assert_non_null(copy);
        size_t text = sgfsi_get_u32(good + 12);
        for (size_t i = 16; i < size - 4; i += i < 16 + text ? 2 : 11) {
            static const char letters[] = "90-1]}\",xe{[:";
            memcpy(copy, good, size);
            if (i < 16 + text) memcpy(copy + i, letters + i % (sizeof letters - 1), 1);
            else copy[i] = (unsigned char)(copy[i] ^ 1u << i % 8);
            sgfsi_put_u32(copy + size - 4, sgfsi_crc32(0, copy, size - 4));
            alarm(SECONDS);
            feed_exactly("sketch", copy, size);
        }
        free(copy);
    }
    alarm(0);
}

#define READER(name)                                                                               \
    {name " seeds", test_seeds, NULL, NULL, name},                                                 \
        {name " cut off", test_cut_off, NULL, NULL, name}, {                                       \
        name " changed", test_changed, NULL, NULL, name                                            \
    }

int main(void) {
    const struct CMUnitTest tests[] = {READER("csv"),
                                       READER("libsvm"),
                                       READER("arrow"),
                                       READER("npy"),
                                       READER("idx"),
                                       READER("packed"),
                                       READER("run"),
                                       READER("config"),
                                       READER("truth"),
                                       READER("start"),
                                       READER("prior"),
                                       READER("matrix"),
                                       READER("predict"),
                                       READER("resume"),
                                       READER("sketch"),
                                       READER("formula"),
                                       cmocka_unit_test(test_good_runs_go_on),
                                       cmocka_unit_test(test_good_sketches_are_taken),
                                       cmocka_unit_test(test_forged_sketches)};
    limit_memory();
    omp_set_num_threads(1); /* thousands of files of a few bytes */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
