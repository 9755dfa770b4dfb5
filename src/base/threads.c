/* SPDX-License-Identifier: MIT
 * threads.c: the number of threads. Control groups limit the processor time of a container without
 * hiding its machine's cores: cpu.max (version 2) or cpu.cfs_quota_us and cpu.cfs_period_us
 * (version 1), in the group of this process or in any group above it.
 */
#include "base/threads.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_PATH = 4096 };

/* The first words of a small file; false where there is none. */
static bool read_line(const char *folder, const char *name, char line[64]) {
    char path[LONGEST_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    bool found = file != NULL && fgets(line, 64, file) != NULL;
    if (file != NULL) fclose(file);
    return found;
}

/* Processors' worth of time that the group in this folder has; INFINITY: no limit. */
static double quota_of(const char *folder) {
    char line[64];
    double quota = -1, period = 0;
    if (read_line(folder, "cpu.max", line)) {
        if (sscanf(line, "%lf %lf", &quota, &period) != 2) return INFINITY; /* "max 100000" */
    } else if (read_line(folder, "cpu.cfs_quota_us", line)) {
        quota = strtod(line, NULL); /* -1: none */
        if (read_line(folder, "cpu.cfs_period_us", line)) period = strtod(line, NULL);
    }
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

/* The least quota of a group and of those above it. A container may see its own group as the
 * topmost one while it is called by its long name: folders that do not exist have no limit. */
static double quota_upwards(const char *root, const char *hierarchy, const char *group) {
    char folder[LONGEST_PATH];
    int top = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", root, hierarchy);
    if (top < 0 || snprintf(folder + top, sizeof folder - (size_t)top, "%s", group) < 0)
        return INFINITY;
    double least = quota_of(folder);
    for (char *end = strrchr(folder + top, '/'); end != NULL; end = strrchr(folder + top, '/')) {
        *end = '\0';
        least = fmin(least, quota_of(folder));
    }
    return least;
}

static double quota(const char *root) {
    char path[LONGEST_PATH], line[LONGEST_PATH];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "r");
    double least = INFINITY;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) { /* "4:cpu,cpuacct:/a/b" */
        line[strcspn(line, "\n")] = '\0';
        char *kinds = strchr(line, ':'), *group = kinds != NULL ? strchr(kinds + 1, ':') : NULL;
        if (group == NULL) continue;
        *group++ = '\0';
        if (kinds[1] == '\0') least = fmin(least, quota_upwards(root, "", group));
        else if (strncmp(kinds + 1, "cpu", 3) == 0 && (kinds[4] == ',' || kinds[4] == '\0'))
            least = fmin(least, quota_upwards(root, "/cpu", group));
    }
    if (file != NULL) fclose(file);
    return least;
}

enum { MOST_THREADS = 4096 }; /* the bound of --threads */

int64_t sgfsi_threads_rule(const char *environment, int64_t cores, const char *root) {
    long named = environment != NULL ? strtol(environment, NULL, 10) : 0; /* the first of "4,2" */
    if (named > 0) return named < MOST_THREADS ? named : MOST_THREADS;
    double threads = fmin((double)cores, ceil(quota(root)));
    return threads > 1 ? (int64_t)threads : 1;
}

/* omp_get_num_procs counts the cores of the affinity, and those of all places where OMP_PROC_BIND
 * has already bound the calling thread to one. */
int64_t sgfsi_threads(int64_t wanted) {
    return wanted > 0 ? wanted
                      : sgfsi_threads_rule(getenv("OMP_NUM_THREADS"), omp_get_num_procs(), "");
}
