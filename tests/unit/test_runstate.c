/* SPDX-License-Identifier: MIT
 * test_runstate.c: states in a run file survive what happens to files. A file with states is cut at
 * every thirteenth byte, and every thirteenth byte is changed: going on from it finds a state that
 * was saved, with exactly the draws that were there at that time, or says that the file is damaged.
 * And a file that was put in order has the same bytes, however its blocks came.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/sample_run.h"

enum { CHAINS = 3, SAVED = 5, MOST_BYTES = 1 << 16 };

static char folder[64], path[128], temp[160];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/sgfs-runstate-XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/fit.run", folder);
    snprintf(temp, sizeof temp, "%s/fit.run.tmp", folder);
    return 0;
}

/* Nothing is left behind under another name. */
static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder);
}

/* What stands for a run's state: the draws of each chain, and some bytes. */
typedef struct sample_state {
    int64_t draws[CHAINS];
    char bytes[64];
} sample_state;

static void save(sgfsi_runfile *f, size_t more) {
    char room[sizeof(sample_state) + 512] = {0};
    sample_state s;
    for (int c = 0; c < CHAINS; c++) s.draws[c] = sgfsi_runfile_count(f, c);
    memset(s.bytes, (int)(s.draws[0] % 251), sizeof s.bytes);
    memcpy(room, &s, sizeof s);
    assert_int_equal(sgfsi_runfile_save(f, room, sizeof s + more, NULL), SGFS_OK);
}

/* Draws of all chains between one state and the next; the fourth state needs more room. */
static void write_log(void) {
    sgfsi_json *header = sample_header("dense_e");
    sgfsi_runfile *f = sgfsi_runfile_create(path, true, header, NULL);
    sgfsi_json_free(header);
    assert_non_null(f);
    for (int k = 0; k < SAVED; k++) {
        for (int c = 0; c < CHAINS; c++)
            assert_int_equal(
                put_sample_draws(f, c, sgfsi_runfile_count(f, c), 1 + (c + k) % 3, NULL), SGFS_OK);
        save(f, k < 3 ? 0 : 400);
    }
    assert_int_equal(put_sample_draws(f, 1, sgfsi_runfile_count(f, 1), 2, NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_close(f, NULL), SGFS_OK);
}

static size_t read_file(char *bytes) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, MOST_BYTES, f);
    assert_true(n < MOST_BYTES);
    fclose(f);
    return n;
}

static void write_file(const char *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

/* Draws of the first chain that the state counts; 0: from the beginning; -1: refused. */
static int64_t resumed(bool *fell_back) {
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_resumption from;
    sgfsi_runfile *f = sgfsi_runfile_resume(path, &from, &err);
    if (f == NULL) {
        assert_int_equal(err.code, SGFS_ERUNFILE);
        return -1;
    }
    sample_state s = {{0}, ""};
    if (from.state != NULL) {
        assert_true(from.bytes >= sizeof s);
        memcpy(&s, from.state, sizeof s);
        for (size_t i = 0; i < sizeof s.bytes; i++)
            assert_int_equal((unsigned char)s.bytes[i], s.draws[0] % 251);
    }
    for (int c = 0; c < CHAINS; c++) assert_int_equal(sgfsi_runfile_count(f, c), s.draws[c]);
    *fell_back = from.fell_back;
    /* What follows can be written and read. */
    assert_int_equal(sgfsi_runfile_cut(f, NULL), SGFS_OK);
    assert_int_equal(put_sample_draws(f, 2, s.draws[2], 3, NULL), SGFS_OK);
    save(f, 400);
    assert_int_equal(sgfsi_runfile_close(f, NULL), SGFS_OK);
    sgfs_draws_free(from.run);
    free(from.state);
    sgfs_draws *d = sgfsi_runfile_read(path, &err);
    if (d == NULL) fail_msg("%s", err.text);
    assert_int_equal(d->chain[2].draws, s.draws[2] + 3);
    for (int64_t i = 0; i < d->chain[2].draws * RUN_D; i++)
        assert_true(d->chain[2].theta[i] == sample_theta(2, i / RUN_D, i % RUN_D));
    sgfs_draws_free(d);
    return s.draws[0];
}

static void test_the_newest_state_is_found(void **state) {
    (void)state;
    bool fell_back;
    write_log();
    assert_int_equal(resumed(&fell_back), 1 + 2 + 3 + 1 + 2);
    assert_false(fell_back);
    assert_int_equal(resumed(&fell_back), 1 + 2 + 3 + 1 + 2); /* and once more */
    assert_false(fell_back);
}

static void test_a_file_cut_anywhere(void **state) {
    (void)state;
    static char whole[MOST_BYTES];
    bool fell_back;
    write_log();
    size_t n = read_file(whole);
    int64_t last = -1, seen = 0;
    for (size_t cut = n % 13; cut <= n; cut += 13) {
        write_file(whole, cut);
        int64_t found = resumed(&fell_back);
        seen += found != last;
        last = found;
    }
    /* No header; the beginning; the states of the first two places, written over later, speak of
     * more than there is; the third one, which the fourth had to leave alone; the fourth; the
     * fifth. */
    assert_true(seen >= 5);
    assert_int_equal(last, 9);
}

static void test_bytes_changed_anywhere(void **state) {
    (void)state;
    static char whole[MOST_BYTES];
    bool fell_back;
    int64_t refused = 0, older = 0, newest = 0;
    write_log();
    size_t n = read_file(whole);
    for (size_t at = 0; at < n; at += 13) {
        whole[at] ^= 0x10;
        write_file(whole, n);
        whole[at] ^= 0x10;
        int64_t found = resumed(&fell_back);
        refused += found < 0;
        newest += found == 9;
        older += found >= 0 && found < 9;
        if (found >= 0 && found < 9) assert_true(fell_back);
    }
    assert_true(refused > 0 && older > 0 && newest > 0);
}

/* ---- in order -------------------------------------------------------------------------------- */

static size_t settle(bool one_by_one, char *bytes) {
    const double points[2 * SGFSI_POINT] = {1, 2, 3};
    sgfsi_json *header = sample_header("dense_e");
    sgfsi_runfile *f = sgfsi_runfile_create(path, true, header, NULL);
    sgfsi_json_free(header);
    for (int64_t i = 0; i < 12; i++) {
        int c = one_by_one ? (int)(i % CHAINS) : (int)(i / 4);
        int64_t have = sgfsi_runfile_count(f, c), many = one_by_one ? 1 : 4;
        if (have < 4) assert_int_equal(put_sample_draws(f, c, have, many, NULL), SGFS_OK);
        if (one_by_one && i == 5) save(f, 0);
        if (one_by_one && i < 2) sgfsi_runfile_points(f, 1, 1, points + i * SGFSI_POINT, NULL);
    }
    if (!one_by_one) sgfsi_runfile_points(f, 1, 2, points, NULL);
    assert_int_equal(sgfsi_runfile_settle(f, NULL, "state", 5, false, NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_end(f, "complete", NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_close(f, NULL), SGFS_OK);
    return read_file(bytes);
}

static void test_one_order_however_it_came(void **state) {
    (void)state;
    static char one[MOST_BYTES], other[MOST_BYTES];
    size_t n = settle(true, one);
    assert_int_equal(settle(false, other), n);
    assert_memory_equal(one, other, n);
    sgfsi_resumption from;
    sgfsi_runfile *f = sgfsi_runfile_resume(path, &from, NULL);
    assert_non_null(f);
    assert_true(from.complete && from.bytes == 5 && memcmp(from.state, "state", 5) == 0);
    assert_int_equal(sgfsi_runfile_count(f, 2), 4);
    sgfsi_runfile_close(f, NULL);
    sgfs_draws_free(from.run);
    free(from.state);
}

static void test_no_room_for_the_order(void **state) {
    (void)state;
    struct rlimit before, little;
    sgfs_err err = {SGFS_OK, ""};
    write_log();
    sgfsi_resumption from;
    sgfsi_runfile *f = sgfsi_runfile_resume(path, &from, NULL);
    assert_non_null(f);
    assert_int_equal(sgfsi_runfile_cut(f, NULL), SGFS_OK);
    getrlimit(RLIMIT_FSIZE, &before);
    little = before;
    little.rlim_cur = 1000;
    setrlimit(RLIMIT_FSIZE, &little);
    assert_int_equal(sgfsi_runfile_settle(f, NULL, from.state, from.bytes, false, &err), SGFS_EIO);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(access(temp, F_OK), -1);
    /* It goes on as it was. */
    assert_int_equal(put_sample_draws(f, 0, sgfsi_runfile_count(f, 0), 2, NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_end(f, "complete", NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_close(f, NULL), SGFS_OK);
    sgfs_draws *d = sgfsi_runfile_read(path, NULL);
    assert_non_null(d);
    assert_int_equal(d->chain[0].draws, 11);
    sgfs_draws_free(d);
    sgfs_draws_free(from.run);
    free(from.state);
}

/* A file of which somebody says that it has changed goes back to its last state. */
static void test_back_to_the_last_state(void **state) {
    (void)state;
    sgfsi_json *header = sample_header("dense_e");
    sgfsi_runfile *f = sgfsi_runfile_create(path, true, header, NULL);
    sgfsi_json_free(header);
    assert_int_equal(put_sample_draws(f, 0, 0, 5, NULL), SGFS_OK);
    save(f, 0);
    assert_int_equal(put_sample_draws(f, 0, 5, 5, NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_back(f, NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_end(f, "failed: other data", NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_close(f, NULL), SGFS_OK);
    sgfs_draws *d = sgfsi_runfile_read(path, NULL);
    assert_non_null(d);
    assert_int_equal(d->chain[0].draws, 5);
    assert_string_equal(d->state, "failed: other data");
    sgfs_draws_free(d);
}

int main(void) {
    signal(SIGXFSZ, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_newest_state_is_found),
        cmocka_unit_test(test_a_file_cut_anywhere),
        cmocka_unit_test(test_bytes_changed_anywhere),
        cmocka_unit_test(test_one_order_however_it_came),
        cmocka_unit_test(test_no_room_for_the_order),
        cmocka_unit_test(test_back_to_the_last_state),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
