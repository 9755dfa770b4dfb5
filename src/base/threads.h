/* SPDX-License-Identifier: MIT
 * threads.h: how many threads may work at the same time; the one rule for the whole library.
 *
 *     the option --threads, else OMP_NUM_THREADS, else the cores this process may run on
 *     (affinity: taskset, Slurm), but no more than the quota of its container (cgroup), rounded up
 */
#pragma once

#include <stdint.h>

/* A thread that has to wait for others first spins, and sleeps after so many turns. libgomp reads
 * the number from the environment while it is loaded; its own 300,000 are some milliseconds, in
 * which, where other programs want the processor, the thread that is waited for may not run. 2,000
 * turns are 0.1 ms: longer than what lies between two passes over small data. */
#define SGFSI_SPINS      "GOMP_SPINCOUNT"
#define SGFSI_SPINS_BEST "2000"

/* wanted: what the user said; 0 or less: nothing. share: of the cores and of the quota, 1 where no
 * other process works on the same. At least 1. */
int64_t sgfsi_threads(int64_t wanted, double share);

/* The rule for given circumstances. environment: OMP_NUM_THREADS, or NULL; cores: of the affinity;
 * root: the folder in which proc/self/cgroup and sys/fs/cgroup are looked for. */
int64_t sgfsi_threads_rule(const char *environment, int64_t cores, double share, const char *root);
