/* SPDX-License-Identifier: MIT
 * threads.h: how many threads may work at the same time; the one rule for the whole library.
 *
 *     the option --threads, else OMP_NUM_THREADS, else the cores this process may run on
 *     (affinity: taskset, Slurm), but no more than the quota of its container (cgroup), rounded up
 */
#pragma once

#include <stdint.h>

/* wanted: what the user said; 0 or less: nothing. share: of the cores and of the quota, 1 where no
 * other process works on the same. At least 1. */
int64_t sgfsi_threads(int64_t wanted, double share);

/* The rule for given circumstances. environment: OMP_NUM_THREADS, or NULL; cores: of the affinity;
 * root: the folder in which proc/self/cgroup and sys/fs/cgroup are looked for. */
int64_t sgfsi_threads_rule(const char *environment, int64_t cores, double share, const char *root);
