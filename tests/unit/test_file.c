/* SPDX-License-Identifier: MIT
 * test_file.c: files that appear complete or not at all, several writers of one name, and what a
 * killed process left.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/io.h"
#include "tools/check.h"

static void check_text(const char *path, const char *text) {
    char found[64] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(found, sizeof found, f));
    fclose(f);
    assert_string_equal(found, text);
}

/* Both began before either was there: the first to be complete has the name, the other is told. */
static void of_two_writers_one_wins_and_one_is_told(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_outfile a, b;
    unlink("file_two.txt");
    assert_int_equal(sgfsi_outfile_open(&a, "file_two.txt", false, true, &err), SGFS_OK);
    assert_int_equal(sgfsi_outfile_open(&b, "file_two.txt", false, true, &err), SGFS_OK);
    fputs("first\n", a.f);
    fputs("second\n", b.f);
    assert_int_equal(sgfsi_outfile_commit(&b, &err), SGFS_OK);
    assert_int_equal(sgfsi_outfile_commit(&a, &err), SGFS_EUSAGE);
    assert_non_null(strstr(err.text, "file_two.txt: exists already"));
    check_text("file_two.txt", "second\n");
    unlink("file_two.txt");
}

/* The same for files that a library opens by their name. */
static void of_two_names_one_wins_and_one_is_told(void **state) {
    (void)state;
    sgfs_err err = {SGFS_OK, ""};
    sgfsi_outfile a, b;
    unlink("file_named.txt");
    assert_int_equal(sgfsi_outfile_open(&a, "file_named.txt", false, false, &err), SGFS_OK);
    assert_int_equal(sgfsi_outfile_open(&b, "file_named.txt", false, false, &err), SGFS_OK);
    assert_string_not_equal(a.temp, b.temp);
    assert_int_equal(sgfsi_outfile_commit(&a, &err), SGFS_OK);
    assert_int_equal(sgfsi_outfile_commit(&b, &err), SGFS_EUSAGE);
    unlink("file_named.txt");
}

/* With --overwrite, too, whether there was a file before or not: what is replaced is the file that
 * stood there when the work began. Afterwards the loser may try again. */
static void of_two_that_overwrite_one_wins_and_one_is_told(void **state) {
    (void)state;
    unlink("file_over.txt");
    for (int k = 0; k < 4; k++) {
        sgfs_err err = {SGFS_OK, ""};
        sgfsi_outfile a, b;
        bool stream = k < 2;
        assert_int_equal(sgfsi_outfile_open(&a, "file_over.txt", true, stream, &err), SGFS_OK);
        assert_int_equal(sgfsi_outfile_open(&b, "file_over.txt", true, stream, &err), SGFS_OK);
        if (stream) fputs("first\n", a.f), fputs("second\n", b.f);
        assert_int_equal(sgfsi_outfile_commit(&a, &err), SGFS_OK);
        assert_int_equal(sgfsi_outfile_commit(&b, &err), SGFS_EUSAGE);
        assert_non_null(strstr(err.text, "file_over.txt: another file was put there meanwhile"));
        if (stream) check_text("file_over.txt", "first\n");
        assert_int_equal(sgfsi_outfile_text("file_over.txt", true, "again", &err), SGFS_OK);
        check_text("file_over.txt", "again\n");
    }
    unlink("file_over.txt");
}

/* A process that is gone, one that is alive, another host's, and files that are not ours. */
static void what_dead_processes_left_is_removed_and_nothing_else(void **state) {
    (void)state;
    char dead[128], ours[128], ending[SGFSI_IO_ENDING];
    const char *host, *foreign = "file_x.csv.tmp.1-00000000", *plain = "file_x.csv.tmp.123";
    pid_t child = fork();
    if (child == 0) _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    sgfsi_io_ending(0, ending);
    host = strchr(ending, '-');
    snprintf(ours, sizeof ours, "file_x.csv%s", ending);
    snprintf(dead, sizeof dead, "file_x.csv.tmp.%ld%s", (long)child, host);
    const char *const all[] = {dead, ours, foreign, plain};
    for (int i = 0; i < 4; i++) {
        FILE *f = fopen(all[i], "w");
        assert_non_null(f);
        fclose(f);
    }
    sgfs_err err = {SGFS_OK, ""};
    assert_int_equal(sgfsi_outfile_text("file_other.txt", true, "text", &err), SGFS_OK);
    assert_true(access(dead, F_OK) != 0);
    for (int i = 1; i < 4; i++) assert_int_equal(unlink(all[i]), 0);
    unlink("file_other.txt");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_writers_one_wins_and_one_is_told),
        cmocka_unit_test(of_two_names_one_wins_and_one_is_told),
        cmocka_unit_test(of_two_that_overwrite_one_wins_and_one_is_told),
        cmocka_unit_test(what_dead_processes_left_is_removed_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
