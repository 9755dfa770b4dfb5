/* SPDX-License-Identifier: MIT
 * memory.c: the memory of the machine, and of a control group: memory.max (version 2, "max": no
 * limit) or memory.limit_in_bytes (version 1, a huge number: no limit).
 */
#include "base/memory.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/io.h"

static double limit_of(const char *folder) {
    char line[64];
    bool found = sgfsi_cgroup_line(folder, "memory.max", line) ||
                 sgfsi_cgroup_line(folder, "memory.limit_in_bytes", line);
    double bytes = found ? strtod(line, NULL) : 0;
    return bytes > 0 ? bytes : INFINITY;
}

double sgfsi_memory_rule(double machine, const char *root) {
    return fmin(machine > 0 ? machine : INFINITY, sgfsi_cgroup_least(root, "memory", limit_of));
}

double sgfsi_memory(void) {
    double machine = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double bytes = sgfsi_memory_rule(machine, "");
    const int which[] = {RLIMIT_AS, RLIMIT_DATA};
    for (int k = 0; k < 2; k++) {
        struct rlimit limit;
        bool there = getrlimit(which[k], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
        if (there) bytes = fmin(bytes, (double)limit.rlim_cur);
    }
    return bytes;
}

/* Pages that are resident, and those of them that belong to files. */
static void read_statm(double *resident, double *shared) {
    long long pages[3] = {0};
    char text[128], *at = text;
    (void)sgfsi_io_small("/proc/self/statm", text, sizeof text);
    for (int k = 0; k < 3; k++) pages[k] = strtoll(at, &at, 10);
    double page = (double)sysconf(_SC_PAGESIZE);
    *resident = page * (double)pages[1];
    *shared = page * (double)pages[2];
}

double sgfsi_memory_used(void) {
    double resident, shared;
    read_statm(&resident, &shared);
    return resident - shared;
}

double sgfsi_memory_mapped(void) {
    double resident, shared;
    read_statm(&resident, &shared);
    return shared;
}

/* The kernel keeps it of this program; what getrusage says may be that of its parent, if that had
 * more. */
double sgfsi_memory_peak(void) {
    char text[4096];
    struct rusage used = {0};
    (void)sgfsi_io_small("/proc/self/status", text, sizeof text);
    const char *line = strstr(text, "VmHWM:");
    if (line == NULL) (void)getrusage(RUSAGE_SELF, &used);
    return 1024 * (line != NULL ? strtod(line + strlen("VmHWM:"), NULL) : (double)used.ru_maxrss);
}

void sgfsi_memory_large_pages(void *at, size_t bytes) {
    const size_t least = (size_t)8 << 20, page = 4096;
    if (at == NULL || bytes < least) return;
    uintptr_t from = ((uintptr_t)at + page - 1) / page * page, to = (uintptr_t)at + bytes;
#ifdef MADV_HUGEPAGE
    (void)madvise((void *)from, (to - from) / page * page, MADV_HUGEPAGE); /* advice only */
#endif
}
