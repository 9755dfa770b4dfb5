/* SPDX-License-Identifier: MIT
 * context.h: with what a run or a job works: how many threads, which device, with whom, and where
 * its notes go. Opened once from the options, then handed on; a copy of the value is as good.
 *
 * Chains, parts of a pass and blocks of rows are the units of parallel work, each on one thread,
 * so the arithmetic below them must not make threads of its own. Whoever starts such work (a run's
 * opening, steps and end; a job; a pass) does it between sgfsi_context_enter and
 * sgfsi_context_leave. Scopes may lie inside each other and side by side in several threads.
 */
#pragma once

#include "base/config.h"
#include "context/comm/comm.h"
#include "context/device/device.h"

typedef struct sgfsi_context {
    int64_t threads;           /* that may work at the same time (base/threads.h) */
    const sgfs_device *device; /* what does the arithmetic */
    const sgfs_device *near;   /* the same for matrices in the host's memory: the device itself,
                                  unless its memory is another */
    const sgfsi_comm *comm;    /* the processes that share the work */
    const sgfsi_log *log;      /* where notes and warnings go */
    bool shared;               /* another one opened the device and met the processes */
} sgfsi_context;

/* How many threads the options allow: the one place that asks the rule (base/threads.h). For what
 * works before a context is opened, such as reading a file, or needs none. */
int64_t sgfsi_context_threads(const sgfs_config *cfg);

/* The config must outlive it: its log is the config's. */
sgfs_status sgfsi_context_open(sgfsi_context *ctx, const sgfs_config *cfg, sgfs_err *err);
/* What a run, a job or a model works with inside of another one, which must outlive it: all that
 * was opened is the other's, and closing it does nothing. */
sgfsi_context sgfsi_context_share(const sgfsi_context *opened);
/* Once, after all memory of the device is back. Takes a zeroed one. */
void sgfsi_context_close(sgfsi_context *ctx);

/* From now on the device is `near`. */
void sgfsi_context_stay_near(sgfsi_context *ctx);

/* What an iteration of a run does, as far as it is known before a model is open. */
typedef struct sgfsi_workload {
    double products; /* of two numbers */
    double bytes;    /* of arrays on the device */
} sgfsi_workload;
/* --device auto: from now on the device is a GPU where there is one, with memory for it, and its
 * work would be long enough to pay; else it stays. A note says which. Other words: nothing. */
void sgfsi_context_weigh(sgfsi_context *ctx, const sgfs_config *cfg, const sgfsi_workload *work);

/* How threads are shared out: `chains` of them at the same time, each with `inside` threads for its
 * passes over all rows. Passes talk to other processes where there are some, and have to do so in
 * the same order everywhere: then chains that make passes while they move (meets) go one after
 * another, with all threads inside. */
typedef struct sgfsi_split {
    int64_t chains, inside;
} sgfsi_split;
sgfsi_split sgfsi_context_split(const sgfsi_context *ctx, int64_t threads, int64_t chains,
                                bool passes, bool meets);

typedef struct sgfsi_scope {
    const sgfs_device *near;
    int levels; /* of parallel regions inside each other, as they were outside */
} sgfsi_scope;
sgfsi_scope sgfsi_context_enter(const sgfsi_context *ctx);
void sgfsi_context_leave(sgfsi_scope scope);
