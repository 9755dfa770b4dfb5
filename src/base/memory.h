/* SPDX-License-Identifier: MIT
 * memory.h: how much memory there is for this process; the one rule for the whole library: the
 * machine's, but no more than the limit of its container (cgroup). What others use of it is not
 * looked at: a table that is larger than this can never be made.
 */
#ifndef SGFSI_MEMORY_H
#define SGFSI_MEMORY_H

double sgfsi_memory(void); /* bytes; INFINITY: not known */

/* The rule for given circumstances. machine: its bytes, 0 or less: not known; root: as for
 * sgfsi_cgroup_least. */
double sgfsi_memory_rule(double machine, const char *root);

#endif
