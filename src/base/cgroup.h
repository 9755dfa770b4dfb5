/* SPDX-License-Identifier: MIT
 * cgroup.h: limits of control groups. They limit what a container may use without hiding what its
 * machine has; a limit may stand in the group of this process or in any group above it.
 */
#pragma once

#include <stdbool.h>

/* The first words of a small file of a group; false where there is none. */
bool sgfsi_cgroup_line(const char *folder, const char *name, char line[64]);
/* The least of limit_of over all groups that count; INFINITY: none. controller: whose hierarchy of
 * version 1 is looked at ("cpu"); root: the folder of proc/self/cgroup and sys/fs/cgroup. */
double sgfsi_cgroup_least(const char *root, const char *controller,
                          double (*limit_of)(const char *folder));
