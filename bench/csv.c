/* SPDX-License-Identifier: MIT
 * csv.c: MB of text read in a second: the CSV reader with one thread and with two, beside `wc -l` on
 * the same file and pandas' C reader, in turns in one run; best of several rounds. Two shapes of
 * numbers: six digits, as people write them, and the seventeen of a double written in full. The
 * files are in the page cache. What a core does at most is the line of CPU time: one thread, other
 * programs on the machine not counted.
 *
 * pandas is run by $PYTHON (default: python3), and left out where it is missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/ticker.h"
#include "files/collect.h"

enum { ROUNDS = 7, COLUMNS = 20, DIFFERENT_ROWS = 20000 };
static const double BYTES = 64e6;

static void give_up(const char *what) {
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

/* About BYTES of rows of normal numbers. */
static double write_file(const char *path, int digits) {
    size_t room = (size_t)DIFFERENT_ROWS * COLUMNS * 26, used = 0;
    char *text = malloc(room);
    double *x = malloc(COLUMNS * sizeof *x);
    FILE *f = fopen(path, "w");
    if (text == NULL || x == NULL || f == NULL) give_up("cannot write a file to read");
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
    free(x);
    return written;
}

static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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
    char command[256];
    snprintf(command, sizeof command, "wc -l %.200s > /dev/null", path);
    double before = sgfsi_now();
    if (system(command) != 0) return -1;
    return sgfsi_now() - before;
}

/* Timed inside Python, without its start; -1: not there. */
static double time_pandas(const char *path) {
    const char *python = getenv("PYTHON");
    char command[1024];
    snprintf(command, sizeof command,
             "%.200s -c \"import time, pandas; t = time.perf_counter(); "
             "pandas.read_csv('%.200s', header=None, engine='c', float_precision='high'); "
             "print(time.perf_counter() - t)\" 2> /dev/null",
             python != NULL ? python : "python3", path);
    double seconds = -1;
    FILE *p = popen(command, "r");
    if (p == NULL || fscanf(p, "%lf", &seconds) != 1) seconds = -1;
    if (p != NULL) pclose(p);
    return seconds;
}

static void keep_best(double *best, double seconds) {
    if (seconds > 0 && (*best <= 0 || seconds < *best)) *best = seconds;
}

static void compare(const char *path, const char *shape, int digits) {
    static const char *const what[] = {"wc -l", "pandas (C reader)", "sgfs, 1 thread",
                                       "sgfs, 2 threads", "sgfs, 1 thread, CPU time"};
    double megabytes = write_file(path, digits) / 1e6, best[5] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        keep_best(&best[0], time_wc(path));
        if (round < 3) keep_best(&best[1], time_pandas(path));
        keep_best(&best[2], time_read(path, 1, sgfsi_now));
        keep_best(&best[3], time_read(path, 2, sgfsi_now));
        keep_best(&best[4], time_read(path, 1, cpu_now));
    }
    printf("%s: %.0f MB\n", shape, megabytes);
    for (int k = 0; k < 5; k++) {
        if (best[k] <= 0) {
            printf("  %-26s not there\n", what[k]);
            continue;
        }
        printf("  %-26s %6.0f MB/s, %.2f of wc -l", what[k], megabytes / best[k],
               best[0] / best[k]);
        if (best[1] > 0 && k < 4) printf(", %.2f times pandas", best[1] / best[k]);
        printf("\n");
    }
}

int main(void) {
    char path[] = "/tmp/sgfs-csv-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) give_up("cannot write a file to read");
    close(fd);
    compare(path, "Six digits", 6);
    compare(path, "Seventeen digits", 17);
    unlink(path);
    return 0;
}
