/* SPDX-License-Identifier: MIT
 * threads.c: the number of threads. Control groups limit the processor time of a container without
 * hiding its machine's cores: cpu.max (version 2) or cpu.cfs_quota_us and cpu.cfs_period_us
 * (version 1).
 */
#include "base/threads.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cgroup.h"

/* Processors' worth of time that the group in this folder has; INFINITY: no limit. */
static double quota_of(const char *folder) {
    char line[64];
    double quota = -1, period = 0;
    if (sgfsi_cgroup_line(folder, "cpu.max", line)) {
        if (sscanf(line, "%lf %lf", &quota, &period) != 2) return INFINITY; /* "max 100000" */
    } else if (sgfsi_cgroup_line(folder, "cpu.cfs_quota_us", line)) {
        quota = strtod(line, NULL); /* -1: none */
        if (sgfsi_cgroup_line(folder, "cpu.cfs_period_us", line)) period = strtod(line, NULL);
    }
    return quota > 0 && period > 0 ? quota / period : INFINITY;
}

enum { MOST_THREADS = 4096 }; /* the bound of --threads */

int64_t sgfsi_threads_rule(const char *environment, int64_t cores, double share, const char *root) {
    long named = environment != NULL ? strtol(environment, NULL, 10) : 0; /* the first of "4,2" */
    if (named > 0) return named < MOST_THREADS ? named : MOST_THREADS;
    double threads = fmin((double)cores, ceil(sgfsi_cgroup_least(root, "cpu", quota_of)));
    threads = floor(threads * share + 1e-6);
    return threads > 1 ? (int64_t)threads : 1;
}

/* omp_get_num_procs counts the cores of the affinity, and those of all places where OMP_PROC_BIND
 * has already bound the calling thread to one. */
int64_t sgfsi_threads(int64_t wanted, double share) {
    const char *environment = getenv("OMP_NUM_THREADS");
    return wanted > 0 ? wanted : sgfsi_threads_rule(environment, omp_get_num_procs(), share, "");
}
