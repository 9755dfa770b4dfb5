/* SPDX-License-Identifier: MIT
 * context.c: the one place that decides about threads, of OpenMP and of the device.
 */
#include "context/context.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/scratch.h"
#include "base/threads.h"
#include "context/device/kernel.h"

/* A child that is forked has none of the threads of its parent, and the first parallel region would
 * wait for them for ever. With no level of regions allowed each has one thread, also in work that
 * the parent began, and the numbers are the same. */
static void stay_alone(void) {
    omp_set_max_active_levels(0);
}

static void watch_forks(void) {
    (void)pthread_atfork(NULL, NULL, stay_alone);
}

int64_t sgfsi_context_threads(const sgfs_config *cfg) {
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    (void)pthread_once(&watched, watch_forks);
    const sgfsi_comm *comm = sgfsi_comm_of(cfg);
    double share = comm != NULL && comm->cores > 0 ? comm->cores : 1;
    return sgfsi_threads(sgfsi_config_int(cfg, "run.threads"), share);
}

sgfs_status sgfsi_context_open(sgfsi_context *ctx, const sgfs_config *cfg, sgfs_err *err) {
    *ctx = (sgfsi_context){.log = sgfsi_config_log(cfg)};
    const char *name = sgfsi_config_text(cfg, "run.device");
    int64_t number = 0;
    bool is_auto = strcmp(name, "auto") == 0; /* near, until the work is known */
    const sgfs_device *kind = is_auto ? sgfsi_devices[0] : sgfsi_device_find(name, &number);
    if (kind == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--device is auto, blas, host, cuda or cuda:1 (the second GPU), not "
                          "\"%.100s\".",
                          name);
    sgfs_status status = sgfsi_comm_open(&ctx->comm, cfg, err);
    if (status == SGFS_OK) ctx->threads = sgfsi_context_threads(cfg);
    if (status == SGFS_OK) status = sgfsi_device_open(&ctx->device, kind, number, err);
    if (status == SGFS_OK)
        ctx->near = ctx->device->ops->alloc == NULL ? ctx->device : sgfsi_devices[0];
    if (status == SGFS_OK && ctx->near->ops->make_room != NULL)
        status = ctx->near->ops->make_room(ctx->near, ctx->threads, err);
    if (status != SGFS_OK || ctx->near->ops->kernel == NULL) return status;
    const char *now = ctx->near->ops->kernel(ctx->near),
               *better = sgfsi_kernel_for(now, sgfsi_vectors_here());
    if (better != NULL && getenv("OPENBLAS_CORETYPE") == NULL) /* who has set it knows better */
        sgfsi_say(ctx->log, SGFS_NOTE,
                  "OpenBLAS uses its kernels for %s, which are older than this processor: with "
                  "OPENBLAS_CORETYPE=%s in the environment, set before the program starts, it is "
                  "several times faster.",
                  now, better);
    return SGFS_OK;
}

sgfsi_context sgfsi_context_share(const sgfsi_context *opened) {
    sgfsi_context ctx = *opened;
    ctx.shared = true;
    return ctx;
}

void sgfsi_context_close(sgfsi_context *ctx) {
    if (!ctx->shared) sgfsi_device_close(ctx->device);
    ctx->device = NULL;
    ctx->comm = NULL;
}

void sgfsi_context_stay_near(sgfsi_context *ctx) {
    if (ctx->device == ctx->near) return;
    if (!ctx->shared) sgfsi_device_close(ctx->device);
    ctx->device = ctx->near;
}

/* An iteration on a GPU is some twenty pieces of work, each of which takes microseconds however
 * small it is: so many products a processor makes in that time, by the gigahertz of ten years. */
static const double WORTH_A_GPU = 2e7;

void sgfsi_context_weigh(sgfsi_context *ctx, const sgfs_config *cfg, const sgfsi_workload *work) {
    char there[24], needed[24];
    const sgfs_device *gpu = NULL;
    sgfs_err err;
    if (strcmp(sgfsi_config_text(cfg, "run.device"), "auto") != 0 || ctx->device != ctx->near)
        return;
    if (work->products < WORTH_A_GPU) {
        sgfsi_say(
            ctx->log, SGFS_NOTE,
            "--device auto: the processor, as an iteration makes about %.0f thousand products "
            "of two numbers and a GPU pays from %.0f thousand on.",
            work->products / 1000, WORTH_A_GPU / 1000);
        return;
    }
    if (sgfsi_device_open(&gpu, &sgfs_device_cuda, 0, &err) != SGFS_OK) {
        sgfsi_say(ctx->log, SGFS_NOTE, "--device auto: the processor. %s", err.text);
        return;
    }
    double room = gpu->ops->room(gpu);
    if (work->bytes > room) {
        sgfsi_say(
            ctx->log, SGFS_NOTE,
            "--device auto: the processor, as the GPU has %s free and the run needs %s there.",
            sgfsi_format_bytes(room, there), sgfsi_format_bytes(work->bytes, needed));
        sgfsi_device_close(gpu);
        return;
    }
    sgfsi_device_close(ctx->device);
    ctx->device = gpu;
    sgfsi_say(ctx->log, SGFS_NOTE, "--device auto: the GPU, %s.", gpu->ops->library(gpu));
}

sgfsi_split sgfsi_context_split(const sgfsi_context *ctx, int64_t threads, int64_t chains,
                                bool passes, bool meets) {
    if (meets && ctx->comm->size > 1) passes = true, chains = 1;
    int64_t side = threads < chains ? threads : chains;
    return (sgfsi_split){.chains = side, .inside = passes ? threads / side : 1};
}

/* Chains side by side, and the parts of a pass inside each of them. None at all is what a forked
 * child has. */
enum { LEVELS = 2 };

sgfsi_scope sgfsi_context_enter(const sgfsi_context *ctx) {
    sgfsi_scope scope = {.near = ctx->near, .levels = omp_get_max_active_levels()};
    if (scope.levels > 0 && scope.levels < LEVELS) omp_set_max_active_levels(LEVELS);
    if (ctx->near->ops->enter != NULL) ctx->near->ops->enter(ctx->near);
    return scope;
}

void sgfsi_context_leave(sgfsi_scope scope) {
    if (scope.near->ops->leave != NULL) scope.near->ops->leave(scope.near);
    if (scope.levels < LEVELS) omp_set_max_active_levels(scope.levels);
}
