/* SPDX-License-Identifier: MIT
 * memory.c: the memory of the machine, and of a control group: memory.max (version 2, "max": no
 * limit) or memory.limit_in_bytes (version 1, a huge number: no limit).
 */
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cgroup.h"

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
    return sgfsi_memory_rule(machine, "");
}
