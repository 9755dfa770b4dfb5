/* SPDX-License-Identifier: MIT
 * csv.c: MB of text read in a second: the CSV reader with one thread and with two, beside `wc -l`
 * on the same file, in turns in one run; best of several rounds. Two shapes of numbers: six digits,
 * as people write them, and the seventeen of a double written in full. The files are in the page
 * cache. What a core does at most is the line of CPU time: one thread, other programs on the
 * machine not counted.
 *
 *     csv [FOLDER]       files are made and kept there, for other readers (/tmp, and removed)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/ticker.h"
#include "files/collect.h"
#include "report.h"

enum { ROUNDS = 7, COLUMNS = 20, DIFFERENT_ROWS = 20000 };
static const double BYTES = 64e6;

/* About BYTES of rows of normal numbers. */
static double write_file(const char *path, int digits) {
    size_t room = (size_t)DIFFERENT_ROWS * COLUMNS * 26, used = 0;
    char *text = need((int64_t)room, 1);
    double x[COLUMNS];
    FILE *f = fopen(path, "w");
    if (f == NULL) give_up("cannot write a file to read");
    sgfsi_stream s = sgfsi_stream_at(2385, 0, 0, 0);
    for (int i = 0; i < DIFFERENT_ROWS; i++) {
        sgfsi_normals(&s, COLUMNS, x);
        for (int j = 0; j < COLUMNS; j++) {
            used += (size_t)snprintf(text + used, room - used, "%.*g%c", digits, x[j],
                                     j + 1 < COLUMNS ? ',' : '\n');
        }
    }
    double written = 0;
    for (; written < BYTES; written += (double)used) {
        if (fwrite(text, 1, used, f) != used) give_up("cannot write a file to read");
    }
    if (fclose(f) != 0) give_up("cannot write a file to read");
    free(text);
    return written;
}

static double time_read(const char *path, int64_t threads, double (*now)(void)) {
    const sgfsi_read_options options = {
        .target = "", .features = "", .delimiter = "auto", .header = "auto", .threads = threads};
    sgfsi_table table;
    sgfs_err err;
    double before = now();
    if (sgfsi_table_read(path, &options, &table, &err) != SGFS_OK) give_up(err.text);
    double seconds = now() - before;
    sgfsi_table_free(&table);
    return seconds;
}

static double time_wc(const char *path) {
    char command[600];
    snprintf(command, sizeof command, "wc -l %.500s > /dev/null", path);
    double before = sgfsi_now();
    if (system(command) != 0) return 1e30;
    return sgfsi_now() - before;
}

static void compare(const char *path, const char *workload, int digits) {
    static const char *const what[] = {"wc -l", "1 thread", "2 threads", "1 thread, CPU time"};
    double megabytes = write_file(path, digits) / 1e6, best[4] = {1e30, 1e30, 1e30, 1e30};
    for (int round = 0; round < ROUNDS; round++) {
        keep_least(&best[0], time_wc(path));
        keep_least(&best[1], time_read(path, 1, sgfsi_now));
        keep_least(&best[2], time_read(path, 2, sgfsi_now));
        keep_least(&best[3], time_read(path, 1, cpu_now));
    }
    printf("%s: %.0f MB\n", workload, megabytes);
    for (int k = 0; k < 4; k++)
        report(workload, what[k], megabytes / best[k], "MB/s", megabytes / best[0]);
}

int main(int argc, char **argv) {
    char path[512];
    const char *folder = argc > 1 ? argv[1] : "/tmp";
    snprintf(path, sizeof path, "%.480s/bench-6.csv", folder);
    compare(path, "CSV, 6 digits", 6);
    if (argc < 2) unlink(path);
    snprintf(path, sizeof path, "%.480s/bench-17.csv", folder);
    compare(path, "CSV, 17 digits", 17);
    if (argc < 2) unlink(path);
    return 0;
}
