/* SPDX-License-Identifier: MIT
 * report.h: what every benchmark of this folder says and needs. A measurement is a line for people,
 * and, where the environment variable BENCH_JSON names a file, one JSON object at the end of it, on
 * one line, which bench.py reads:
 *
 *     {"workload": "logistic, N 10000, D 51, n 500", "what": "sgld", "value": 16.9,
 *      "unit": "us", "ratio": 0.29}
 *
 * The ratio is to the floor of the workload, which was measured in the same run. Not for the
 * library: it prints and exits.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline _Noreturn void give_up(const char *what) {
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

/* count elements of zeros. */
static inline void *need(int64_t count, size_t size) {
    void *p = calloc((size_t)count, size);
    if (p == NULL) give_up("out of memory");
    return p;
}

/* Seconds that this process has run: other programs' turns do not count. */
static inline double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void keep_least(double *best, double took) {
    if (took < *best) *best = took;
}

/* One measurement. floor: of the same unit; 0: there is none. Words hold no quotation marks. */
static inline void report(const char *workload, const char *what, double value, const char *unit,
                          double floor) {
    const char *path = getenv("BENCH_JSON");
    FILE *json = path != NULL && path[0] != '\0' ? fopen(path, "a") : NULL;
    printf("  %-34s %10.4g %-5s", what, value, unit);
    if (floor > 0) printf(" %6.2f", value / floor);
    printf("\n");
    fflush(stdout);
    if (json == NULL) return;
    fprintf(json, "{\"workload\": \"%s\", \"what\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"",
            workload, what, value, unit);
    if (floor > 0) fprintf(json, ", \"ratio\": %.6g", value / floor);
    fprintf(json, "}\n");
    fclose(json);
}
