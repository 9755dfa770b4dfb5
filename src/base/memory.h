/* SPDX-License-Identifier: MIT
 * memory.h: how much memory there is for this process; the one rule for the whole library: the
 * machine's, but no more than the limit of its container (cgroup) or of the process (ulimit). What
 * others use of it is not looked at: a table that is larger than this can never be made. And how
 * much of it this process has taken.
 */
#pragma once

#include <stddef.h>

double sgfsi_memory(void); /* bytes; INFINITY: not known */

/* The rule for given circumstances. machine: its bytes, 0 or less: not known; root: as for
 * sgfsi_cgroup_least. */
double sgfsi_memory_rule(double machine, const char *root);

/* Of this process, in bytes; 0: not known. used: resident now, its own; mapped: resident now, of
 * files; peak: the most that was resident. */
double sgfsi_memory_used(void);
double sgfsi_memory_mapped(void);
double sgfsi_memory_peak(void);

/* Rows that lie anywhere in a large piece of memory are found faster on large pages: ask for them,
 * where the piece is not small and the system has them. */
void sgfsi_memory_large_pages(void *at, size_t bytes);
