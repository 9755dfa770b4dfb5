/* SPDX-License-Identifier: MIT
 * test_sink.c: what every export promises, for every row of sgfsi_exports: the file appears,
 * nothing else is left in the folder, an existing file is refused and survives, a failure leaves
 * nothing, nothing is printed, a run without draws has nothing to export.
 */
#include <dirent.h>
#include <fcntl.h>
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

#include "base/file.h"
#include "sink/export.h"
#include "tools/sample_run.h"

static char folder[64];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/sgfs-sink-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

/* Files in the folder; removes them too when asked. */
static int count_files(bool clean) {
    DIR *dir = opendir(folder);
    int count = 0;
    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        if (e->d_name[0] == '.') continue;
        count++;
        if (clean) assert_int_equal(unlinkat(dirfd(dir), e->d_name, 0), 0);
    }
    closedir(dir);
    return count;
}

static int remove_folder(void **state) {
    (void)state;
    count_files(true);
    return rmdir(folder);
}

/* The sample run in memory: chain c has draws[c] draws. */
static sgfs_draws *make_draws(const int64_t draws[RUN_CHAINS]) {
    sgfs_draws *d = sgfsi_draws_new(sample_header("dense_e"), NULL);
    assert_non_null(d);
    for (int64_t c = 0; c < RUN_CHAINS; c++) {
        double theta[RUN_DRAWS * RUN_D], stats[RUN_DRAWS * RUN_S];
        fill_sample(c, 0, draws[c], theta, stats);
        assert_int_equal(sgfsi_draws_append(d, c, draws[c], theta, stats, NULL), SGFS_OK);
        double curve[RUN_DRAWS * SGFSI_POINT];
        fill_curve(c, draws[c], curve);
        assert_int_equal(sgfsi_draws_add_points(d, c, draws[c], curve, NULL), SGFS_OK);
    }
    return d;
}

static const int64_t whole[RUN_CHAINS] = {RUN_DRAWS, RUN_DRAWS, RUN_DRAWS};
static const int64_t cut[RUN_CHAINS] = {12, 0, 17};
static const int64_t none[RUN_CHAINS] = {0, 0, 0};

/* Stan CSV is one file per chain; every other export one file. */
static int files_of(const sgfs_export_kind *kind, int chains) {
    return strcmp(kind->name, "stan-csv") == 0 ? chains : 1;
}

static void export_path(char *path, size_t room, const sgfs_export_kind *kind) {
    snprintf(path, room, "%s/fit%s", folder, kind->suffix);
}

static void every_export_appears_whole_and_alone(void **state) {
    (void)state;
    sgfs_draws *d = make_draws(whole), *part = make_draws(cut);
    for (int i = 0; sgfsi_exports[i] != NULL; i++) {
        char path[128];
        sgfs_err err = {SGFS_OK, ""};
        export_path(path, sizeof path, sgfsi_exports[i]);
        assert_int_equal(sgfs_draws_export(d, path, false, &err), SGFS_OK);
        assert_int_equal(count_files(false), files_of(sgfsi_exports[i], RUN_CHAINS));
        assert_int_equal(sgfs_draws_export(d, path, false, &err), SGFS_EUSAGE);
        assert_int_equal(sgfs_draws_export(d, path, true, &err), SGFS_OK);
        assert_int_equal(count_files(true), files_of(sgfsi_exports[i], RUN_CHAINS));
        assert_int_equal(sgfs_draws_export(part, path, false, &err), SGFS_OK);
        assert_int_equal(count_files(true), files_of(sgfsi_exports[i], 2));
    }
    sgfs_draws_free(d);
    sgfs_draws_free(part);
}

static void a_run_without_draws_has_nothing_to_export(void **state) {
    (void)state;
    sgfs_draws *d = make_draws(none);
    for (int i = 0; sgfsi_exports[i] != NULL; i++) {
        char path[128];
        sgfs_err err = {SGFS_OK, ""};
        export_path(path, sizeof path, sgfsi_exports[i]);
        assert_int_equal(sgfs_draws_export(d, path, false, &err), SGFS_EDATA);
        assert_int_equal(count_files(false), 0);
    }
    sgfs_draws_free(d);
}

/* Export with file sizes limited to `bytes` and stderr caught: a stand-in for a full disk. */
static sgfs_status export_limited(const sgfs_draws *d, const char *path, rlim_t bytes,
                                  off_t *printed, sgfs_err *err) {
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    struct rlimit tight = {bytes, old.rlim_max};
    FILE *caught = tmpfile();
    assert_non_null(caught);
    fflush(stderr);
    int saved = dup(2);
    dup2(fileno(caught), 2);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &tight);
    sgfs_status status = sgfs_draws_export(d, path, true, err);
    setrlimit(RLIMIT_FSIZE, &old);
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    struct stat st;
    assert_int_equal(fstat(fileno(caught), &st), 0);
    *printed = st.st_size;
    fclose(caught);
    return status;
}

static void a_full_disk_leaves_the_old_file_and_no_other(void **state) {
    (void)state;
    sgfs_draws *d = make_draws(whole);
    for (int i = 0; sgfsi_exports[i] != NULL; i++) {
        char path[128];
        sgfs_err err = {SGFS_OK, ""};
        off_t printed;
        int files = files_of(sgfsi_exports[i], RUN_CHAINS);
        export_path(path, sizeof path, sgfsi_exports[i]);
        for (rlim_t bytes = 0; bytes < 6000; bytes += 1999) {
            assert_int_equal(export_limited(d, path, bytes, &printed, &err), SGFS_EIO);
            assert_int_equal(printed, 0);
            assert_int_equal(count_files(false), 0);
        }
        assert_int_equal(sgfs_draws_export(d, path, false, &err), SGFS_OK);
        assert_int_equal(export_limited(d, path, 3001, &printed, &err), SGFS_EIO);
        assert_int_equal(count_files(true), files);
    }
    sgfs_draws_free(d);
}

static void a_folder_that_is_not_there_is_an_io_error(void **state) {
    (void)state;
    sgfs_draws *d = make_draws(whole);
    for (int i = 0; sgfsi_exports[i] != NULL; i++) {
        char path[128];
        sgfs_err err = {SGFS_OK, ""};
        snprintf(path, sizeof path, "%s/no/such/fit%s", folder, sgfsi_exports[i]->suffix);
        assert_int_equal(sgfs_draws_export(d, path, false, &err), SGFS_EIO);
    }
    sgfs_draws_free(d);
}

static void an_unknown_ending_is_answered_with_the_list(void **state) {
    (void)state;
    sgfs_draws *d = make_draws(whole);
    sgfs_err err = {SGFS_OK, ""};
    assert_int_equal(sgfs_draws_export(d, "fit.parquet", false, &err), SGFS_EUSAGE);
    for (int i = 0; sgfsi_exports[i] != NULL; i++) {
        assert_non_null(strstr(err.text, sgfsi_exports[i]->suffix));
    }
    sgfs_draws_free(d);
}

/* One chain: no number in the name, and the longest suffix wins over .csv. */
static void the_longest_suffix_wins(void **state) {
    (void)state;
    sgfsi_json *header = sample_header("unit_e");
    sgfsi_json_int(header, "chains", 1);
    sgfs_draws *d = sgfsi_draws_new(header, NULL);
    double theta[RUN_DRAWS * RUN_D], stats[RUN_DRAWS * RUN_S];
    fill_sample(0, 0, RUN_DRAWS, theta, stats);
    assert_int_equal(sgfsi_draws_append(d, 0, RUN_DRAWS, theta, stats, NULL), SGFS_OK);
    char path[128];
    sgfs_err err = {SGFS_OK, ""};
    snprintf(path, sizeof path, "%s/one.stan.csv", folder);
    assert_int_equal(sgfs_draws_export(d, path, false, &err), SGFS_OK);
    size_t length;
    char *text = sgfsi_file_read(path, 1 << 20, &length, &err);
    assert_non_null(text);
    assert_memory_equal(text, "# stan_version_major", 20);
    free(text);
    sgfs_draws_free(d);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_export_appears_whole_and_alone),
        TEST(a_run_without_draws_has_nothing_to_export),
        TEST(a_full_disk_leaves_the_old_file_and_no_other),
        TEST(a_folder_that_is_not_there_is_an_io_error),
        TEST(an_unknown_ending_is_answered_with_the_list),
        TEST(the_longest_suffix_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
