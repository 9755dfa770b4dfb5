/* SPDX-License-Identifier: MIT
 * context.c: the one place that decides about threads, of OpenMP and of the device.
 */
#include "context/context.h"

#include <omp.h>

#include "base/threads.h"

sgfs_status sgfsi_context_open(sgfsi_context *ctx, const sgfs_config *cfg, sgfs_err *err) {
    *ctx = (sgfsi_context){.threads = sgfsi_threads(sgfsi_config_int(cfg, "run.threads")),
                           .comm = sgfsi_comm_find(),
                           .log = sgfsi_config_log(cfg)};
    return sgfsi_device_open(&ctx->device, sgfsi_config_text(cfg, "run.backend"), err);
}

void sgfsi_context_close(sgfsi_context *ctx) {
    sgfsi_device_close(ctx->device);
    ctx->device = NULL;
}

sgfsi_split sgfsi_context_split(const sgfsi_context *ctx, int64_t threads, int64_t chains,
                                bool passes) {
    if (passes && ctx->comm->size > 1) chains = 1;
    int64_t side = threads < chains ? threads : chains;
    return (sgfsi_split){.chains = side, .inside = passes ? threads / side : 1};
}

/* Chains side by side, and the parts of a pass inside each of them. */
enum { LEVELS = 2 };

sgfsi_scope sgfsi_context_enter(const sgfsi_context *ctx) {
    sgfsi_scope scope = {.device = ctx->device, .levels = omp_get_max_active_levels()};
    if (scope.levels < LEVELS) omp_set_max_active_levels(LEVELS);
    if (ctx->device->ops->enter != NULL) ctx->device->ops->enter(ctx->device);
    return scope;
}

void sgfsi_context_leave(sgfsi_scope scope) {
    if (scope.device->ops->leave != NULL) scope.device->ops->leave(scope.device);
    if (scope.levels < LEVELS) omp_set_max_active_levels(scope.levels);
}
