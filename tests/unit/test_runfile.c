/* SPDX-License-Identifier: MIT
 * test_runfile.c: the run file keeps what it was given, bit for bit, and survives what happens to
 * files: cuts at every byte, flips of every byte, full disks, second writers, many threads.
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
#include <pthread.h>

#include "base/bytes.h"
#include "base/file.h"
#include "sink/runblock.h"
#include "tools/sample_run.h"

static char folder[64], path[128], other[128];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/sgfs-runfile-XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/fit.run", folder);
    snprintf(other, sizeof other, "%s/other.run", folder);
    return 0;
}

/* The folder must be empty by then: nothing is left behind under another name. */
static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    unlink(other);
    return rmdir(folder);
}

static sgfsi_runfile *create(bool overwrite, sgfs_err *err) {
    sgfsi_json *header = sample_header("dense_e");
    sgfsi_runfile *f = sgfsi_runfile_create(path, overwrite, header, err);
    sgfsi_json_free(header);
    return f;
}

/* Two chains of three, 5 + 4 and 6 draws; moments for chain 0; ended. */
static void write_small(void) {
    double mean[RUN_D], var[RUN_D], cov[RUN_D * RUN_D];
    for (int i = 0; i < RUN_D; i++) mean[i] = 2.385 * i, var[i] = 0.17 + i;
    for (int i = 0; i < RUN_D * RUN_D; i++) cov[i] = 1.0 / (3 + i);
    sgfsi_chain_info info = {.iterations = 100,
                             .rows_touched = 7215,
                             .interventions = 3,
                             .reanchors = 5,
                             .warmup_seconds = 0.25,
                             .sample_seconds = 1.75,
                             .mean = mean,
                             .cov = cov,
                             .var = var,
                             .curvature_sd = var,
                             .tau = mean},
                     bare = {.iterations = 99};
    sgfsi_runfile *f = create(true, NULL);
    assert_non_null(f);
    assert_int_equal(put_sample_draws(f, 0, 0, 5, NULL), SGFS_OK);
    assert_int_equal(put_sample_draws(f, 2, 0, 6, NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_info(f, 0, &bare, NULL), SGFS_OK);
    assert_int_equal(put_sample_draws(f, 0, 5, 4, NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_info(f, 0, &info, NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_end(f, "stopped early", NULL), SGFS_OK);
    assert_int_equal(sgfsi_runfile_close(f, NULL), SGFS_OK);
}

/* Every draw that is there is the right one. */
static void check_prefix(const sgfs_draws *d) {
    assert_int_equal(d->D, RUN_D);
    assert_int_equal(d->S, RUN_S);
    for (int64_t c = 0; c < d->chains; c++) {
        for (int64_t t = 0; t < d->chain[c].draws; t++) {
            double theta[RUN_D], stats[RUN_S];
            fill_sample(c, t, 1, theta, stats);
            assert_memory_equal(theta, d->chain[c].theta + t * RUN_D, sizeof theta);
            assert_memory_equal(stats, d->chain[c].stats + t * RUN_S, sizeof stats);
        }
    }
}

static void what_is_written_is_read_back(void **state) {
    (void)state;
    write_small();
    sgfs_err err = {SGFS_OK, ""};
    sgfs_draws *d = sgfs_draws_open(path, &err);
    assert_non_null(d);
    check_prefix(d);
    assert_int_equal(d->chain[0].draws, 9);
    assert_int_equal(d->chain[1].draws, 0);
    assert_int_equal(d->chain[2].draws, 6);
    assert_string_equal(d->state, "stopped early");
    assert_string_equal(d->param[0], run_params[0]);
    assert_string_equal(d->stat[3], "grad_norm");
    const sgfsi_chain_info *info = &d->chain[0].info;
    assert_int_equal(info->iterations, 100);
    assert_int_equal(info->rows_touched, 7215);
    assert_int_equal(info->interventions, 3);
    assert_int_equal(info->reanchors, 5);
    assert_true(info->warmup_seconds == 0.25 && info->sample_seconds == 1.75);
    assert_true(info->mean[4] == 2.385 * 4 && info->var[7] == 7.17 && info->cov[100] == 1.0 / 103);
    assert_true(info->curvature_sd[7] == 7.17 && info->tau[4] == 2.385 * 4);
    assert_null(d->chain[2].info.mean);
    assert_int_equal(sgfsi_json_get_int(d->header, "seed", 0), 7215);
    /* the public view skips the chain without draws */
    sgfs_draws_shape shape = sgfs_draws_size(d);
    assert_int_equal(shape.chains, 2);
    assert_int_equal(shape.draws, 6);
    assert_ptr_equal(sgfs_draws_chain(d, 1), d->chain[2].theta);
    assert_null(sgfs_draws_chain(d, 2));
    assert_null(sgfs_draws_param(d, RUN_D));
    sgfs_draws_free(d);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void write_bytes(const char *to, const char *bytes, size_t count) {
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, count, f), count);
    assert_int_equal(fclose(f), 0);
}

/* A damaged copy gives a prefix of the draws or SGFS_ERUNFILE; returns the draws, -1 on error. */
static int64_t read_damaged(sgfs_err *err) {
    sgfs_draws *d = sgfs_draws_open(other, err);
    if (d == NULL) {
        assert_int_equal(err->code, SGFS_ERUNFILE);
        return -1;
    }
    check_prefix(d);
    int64_t draws = d->chain[0].draws + d->chain[1].draws + d->chain[2].draws;
    sgfs_draws_free(d);
    return draws;
}

static void a_cut_at_any_byte_leaves_whole_draws(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    size_t length;
    write_small();
    char *bytes = sgfsi_file_read(path, 1 << 20, &length, &err);
    assert_non_null(bytes);
    int64_t before = -1;
    for (size_t n = 0; n <= length; n++) {
        write_bytes(other, bytes, n);
        int64_t draws = read_damaged(&err);
        assert_true(draws == -1 || draws == 0 || draws == 5 || draws == 11 || draws == 15);
        assert_true(draws >= before); /* a longer piece never shows less */
        before = draws;
    }
    assert_int_equal(before, 15);
    free(bytes);
}

static void a_flip_of_any_byte_is_noticed(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    size_t length, readable = 0;
    write_small();
    char *bytes = sgfsi_file_read(path, 1 << 20, &length, &err);
    assert_non_null(bytes);
    const size_t end = SGFSI_BLOCK_HEAD + sizeof "stopped early" - 1 + SGFSI_CRC_BYTES;
    for (size_t n = 0; n < length; n++) {
        bytes[n] = (char)(bytes[n] ^ (1 << (n % 8)));
        write_bytes(other, bytes, length);
        bytes[n] = (char)(bytes[n] ^ (1 << (n % 8)));
        int64_t draws = read_damaged(&err);
        /* only the very last block may fall silently; all before it is damage in the middle */
        if (n < length - end) assert_int_equal(draws, -1);
        else assert_int_equal(draws, 15);
        readable += draws >= 0;
    }
    assert_int_equal(readable, end);
    free(bytes);
}

static void a_damaged_middle_is_named_by_its_place(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    size_t length;
    write_small();
    char *bytes = sgfsi_file_read(path, 1 << 20, &length, &err);
    assert_non_null(bytes);
    bytes[length / 2] ^= 1;
    write_bytes(other, bytes, length);
    assert_int_equal(read_damaged(&err), -1);
    assert_non_null(strstr(err.text, "damaged at byte"));
    free(bytes);
}

static void other_files_are_no_run_files(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    write_bytes(other, "x,y\n1,2\n3,4\n5,6\n7,8\n", 20);
    assert_int_equal(read_damaged(&err), -1);
    assert_non_null(strstr(err.text, "not a run file"));
    assert_null(sgfs_draws_open(folder, &err));
    assert_int_equal(err.code, SGFS_ERUNFILE);
    assert_null(sgfs_draws_open("/tmp/sgfs/no/such/file", &err));
    assert_int_equal(err.code, SGFS_EIO);
    assert_null(sgfs_draws_open("/dev/null", &err));
    assert_int_equal(err.code, SGFS_ERUNFILE);
}

/* Headers that lie. Each must be refused with a sentence, by the reader as by the writer. */
static void hostile_headers_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "[]",
        "{}",
        "{\"format\":2,\"chains\":1,\"params\":[\"a\"],\"stats\":[\"lp\"]}",
        "{\"chains\":0,\"params\":[\"a\"],\"stats\":[\"lp\"]}",
        "{\"chains\":9223372036854775807,\"params\":[\"a\"],\"stats\":[\"lp\"]}",
        "{\"chains\":\"3\",\"params\":[\"a\"],\"stats\":[\"lp\"]}",
        "{\"chains\":1,\"dim\":1000000000,\"params\":[\"a\"],\"stats\":[\"lp\"]}",
        "{\"chains\":1,\"params\":[],\"stats\":[\"lp\"]}",
        "{\"chains\":1,\"params\":[1],\"stats\":[\"lp\"]}",
        "{\"chains\":1,\"params\":[\"\"],\"stats\":[\"lp\"]}",
        "{\"chains\":1,\"params\":[\"a\"],\"stats\":[\"energy\"]}",
        "{\"chains\":1,\"params\":[\"a\"],\"stats\":{}}",
        "{\"chains\":1,\"params\":[\"a\"],\"stats\":[\"lp\"],\"thin\":0}",
        "{\"chains\":1,\"params\":[\"a\"],\"stats\":[\"lp\"],\"blocks\":[]}",
        "{\"chains\":1,\"params\":[\"a\"],\"stats\":[\"lp\"],\"blocks\":[7]}",
        "{\"chains\":1,\"params\":[\"a\",\"b\"],\"stats\":[\"lp\"],"
        "\"blocks\":[{\"name\":\"x\",\"rows\":1,\"cols\":1}]}",
        "{\"chains\":1,\"params\":[\"a\",\"b\"],\"stats\":[\"lp\"],"
        "\"blocks\":[{\"name\":\"x\",\"rows\":4294967296,\"cols\":4294967296}]}",
        "{\"chains\":1,\"params\":[\"a\",\"b\"],\"stats\":[\"lp\"],"
        "\"blocks\":[{\"name\":\"x\",\"rows\":-1,\"cols\":-2}]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        sgfs_err err = {SGFS_OK, ""};
        sgfsi_json *header = sgfsi_json_parse(bad[i], strlen(bad[i]), "test", &err);
        assert_non_null(header);
        assert_null(sgfsi_runfile_create(path, false, header, &err));
        assert_int_equal(err.code, SGFS_ERUNFILE);
        assert_null(sgfsi_draws_new(header, &err));
    }
}

/* Blocks with right checksums and wrong contents: a forger can do that, a disk cannot. */
static void forged_blocks_are_refused(void **state) {
    (void)state;
    static const sgfsi_block bad[] = {
        {SGFSI_BLOCK_DRAWS, RUN_CHAINS, 0, 0, 1, 8 * (RUN_D + RUN_S)}, /* no such chain */
        {SGFSI_BLOCK_DRAWS, 0xFFFFFFFF, 0, 0, 1, 8 * (RUN_D + RUN_S)},
        {SGFSI_BLOCK_DRAWS, 1, 0, 1, 1, 8 * (RUN_D + RUN_S)}, /* a gap before it */
        {SGFSI_BLOCK_DRAWS, 1, 0, -1, 1, 8 * (RUN_D + RUN_S)},
        {SGFSI_BLOCK_DRAWS, 1, 0, 0, 0, 0},
        {SGFSI_BLOCK_DRAWS, 1, 0, 0, -1, 8},
        {SGFSI_BLOCK_DRAWS, 1, 0, 0, INT64_MAX / 4, 8}, /* the product overflows */
        {SGFSI_BLOCK_DRAWS, 1, 0, 0, 2, 8 * (RUN_D + RUN_S)},
        {SGFSI_BLOCK_INFO, 0, 0, 0, 0, 8},
        {SGFSI_BLOCK_INFO, 0, 4, 0, 0, SGFSI_INFO_BYTES}, /* a covariance that is not there */
        {SGFSI_BLOCK_INFO, 0, 0, 0, 0, SGFSI_INFO_BYTES}, /* its counts are below zero */
        {SGFSI_BLOCK_END, 0, 0, 0, 0, SGFSI_STATE_MAX + 1},
        {99, 0, 0, 0, 0, 0},
    };
    sgfs_err err = {SGFS_OK, ""};
    size_t length;
    sgfsi_runfile *f = create(false, &err);
    assert_int_equal(sgfsi_runfile_close(f, &err), SGFS_OK);
    char *head = sgfsi_file_read(path, 1 << 20, &length, &err);
    assert_non_null(head);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        unsigned char bytes[8192];
        memset(bytes, 0xFF, sizeof bytes);
        memcpy(bytes, head, length);
        unsigned char *block = bytes + length;
        size_t whole = sgfsi_block_seal(block, &bad[i]);
        write_bytes(other, (char *)bytes, length + whole);
        assert_int_equal(read_damaged(&err), -1);
        assert_non_null(strstr(err.text, "damaged at byte"));
    }
    free(head);
}

/* ---- creating -------------------------------------------------------------------------------- */

static void an_existing_file_is_refused(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    write_bytes(path, "precious", 8);
    assert_null(create(false, &err));
    assert_int_equal(err.code, SGFS_EUSAGE);
    size_t length;
    char *bytes = sgfsi_file_read(path, 100, &length, &err);
    assert_string_equal(bytes, "precious");
    free(bytes);
    unlink(path);
}

/* A header that cannot be written must not cost the old file. */
static void overwriting_keeps_the_old_file_until_the_header_stands(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    write_small();
    sgfsi_json *bad = sgfsi_json_object();
    assert_null(sgfsi_runfile_create(path, true, bad, &err));
    sgfsi_json_free(bad);
    struct rlimit old, none = {100, 100};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    none.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    sgfsi_runfile *f = create(true, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_null(f);
    assert_int_equal(err.code, SGFS_EIO);
    sgfs_draws *d = sgfs_draws_open(path, &err);
    assert_non_null(d);
    assert_int_equal(d->chain[0].draws, 9);
    sgfs_draws_free(d);
    f = create(true, &err);
    assert_non_null(f);
    assert_int_equal(sgfsi_runfile_close(f, &err), SGFS_OK);
    d = sgfs_draws_open(path, &err);
    assert_non_null(d);
    assert_int_equal(d->chain[0].draws, 0);
    assert_string_equal(d->state, "unfinished");
    sgfs_draws_free(d);
}

static void a_folder_that_is_not_there_is_an_io_error(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_json *header = sample_header("dense_e");
    assert_null(sgfsi_runfile_create("/tmp/sgfs/no/such/fit.run", false, header, &err));
    assert_int_equal(err.code, SGFS_EIO);
    assert_null(sgfsi_runfile_create("/proc/fit.run", true, header, &err));
    assert_int_equal(err.code, SGFS_EIO);
    assert_null(sgfsi_runfile_create(folder, true, header, &err));
    assert_int_equal(err.code, SGFS_EIO);
    assert_null(sgfsi_runfile_create("/dev/null", true, header, &err));
    assert_int_equal(err.code, SGFS_EIO);
    sgfsi_json_free(header);
}

static void a_second_writer_is_refused(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_runfile *f = create(false, &err);
    assert_non_null(f);
    assert_null(create(true, &err));
    assert_int_equal(err.code, SGFS_EIO);
    assert_non_null(strstr(err.text, "another process"));
    assert_int_equal(put_sample_draws(f, 1, 0, 7, &err),
                     SGFS_OK); /* the first goes on undisturbed */
    assert_int_equal(sgfsi_runfile_close(f, &err), SGFS_OK);
    f = create(true, &err);
    assert_non_null(f);
    assert_int_equal(sgfsi_runfile_close(f, &err), SGFS_OK);
}

/* ---- appending ------------------------------------------------------------------------------- */

static void draws_out_of_order_are_refused(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_runfile *f = create(false, &err);
    assert_int_equal(put_sample_draws(f, 0, 1, 4, &err), SGFS_EINTERNAL);
    assert_int_equal(put_sample_draws(f, RUN_CHAINS, 0, 4, &err), SGFS_EINTERNAL);
    assert_int_equal(sgfsi_runfile_close(f, &err), SGFS_OK);
}

/* A limit on file sizes stands in for a full disk: both leave a piece of a block behind. */
static void a_full_disk_leaves_whole_blocks(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_runfile *f = create(false, &err);
    assert_int_equal(put_sample_draws(f, 0, 0, 5, &err), SGFS_OK);
    struct stat before, after;
    assert_int_equal(stat(path, &before), 0);
    struct rlimit old, tight;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = (struct rlimit){(rlim_t)before.st_size + 333, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    sgfs_status status = put_sample_draws(f, 0, 5, 40, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, SGFS_EIO);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, "keeps 5 draws"));
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(put_sample_draws(f, 0, 5, 40, &err), SGFS_OK); /* there is room again */
    assert_int_equal(sgfsi_runfile_close(f, &err), SGFS_OK);
    sgfs_draws *d = sgfs_draws_open(path, &err);
    assert_non_null(d);
    check_prefix(d);
    assert_int_equal(d->chain[0].draws, 45);
    sgfs_draws_free(d);
}

typedef struct job {
    sgfsi_runfile *f;
    int64_t chain;
    sgfs_status status;
} job;

static void *append_chain(void *user) {
    job *j = user;
    for (int64_t t = 0; t < 300 && j->status == SGFS_OK; t += 3) {
        j->status = put_sample_draws(j->f, j->chain, t, 3, NULL);
    }
    return NULL;
}

static void threads_append_side_by_side(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_runfile *f = create(false, &err);
    pthread_t thread[RUN_CHAINS];
    job jobs[RUN_CHAINS];
    for (int c = 0; c < RUN_CHAINS; c++) {
        jobs[c] = (job){f, c, SGFS_OK};
        assert_int_equal(pthread_create(&thread[c], NULL, append_chain, &jobs[c]), 0);
    }
    for (int c = 0; c < RUN_CHAINS; c++) pthread_join(thread[c], NULL);
    for (int c = 0; c < RUN_CHAINS; c++) assert_int_equal(jobs[c].status, SGFS_OK);
    assert_int_equal(sgfsi_runfile_close(f, &err), SGFS_OK);
    sgfs_draws *d = sgfs_draws_open(path, &err);
    assert_non_null(d);
    check_prefix(d);
    for (int c = 0; c < RUN_CHAINS; c++) assert_int_equal(d->chain[c].draws, 300);
    assert_string_equal(d->state, "unfinished");
    sgfs_draws_free(d);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read_back),
        TEST(a_cut_at_any_byte_leaves_whole_draws),
        TEST(a_flip_of_any_byte_is_noticed),
        TEST(a_damaged_middle_is_named_by_its_place),
        TEST(other_files_are_no_run_files),
        TEST(hostile_headers_are_refused),
        TEST(forged_blocks_are_refused),
        TEST(an_existing_file_is_refused),
        TEST(overwriting_keeps_the_old_file_until_the_header_stands),
        TEST(a_folder_that_is_not_there_is_an_io_error),
        TEST(a_second_writer_is_refused),
        TEST(draws_out_of_order_are_refused),
        TEST(a_full_disk_leaves_whole_blocks),
        TEST(threads_append_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
