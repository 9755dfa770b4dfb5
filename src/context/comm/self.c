/* SPDX-License-Identifier: MIT
 * self.c: a process alone: all parts are its own, and it decides.
 */
#include "context/comm/comm.h"

static sgfs_status gather(const sgfsi_comm *c, int64_t parts, int64_t bytes, int64_t stride,
                          void *data, sgfs_err *err) {
    (void)c, (void)parts, (void)bytes, (void)stride, (void)data, (void)err;
    return SGFS_OK;
}

static sgfs_status broadcast(const sgfsi_comm *c, int64_t bytes, void *data, sgfs_err *err) {
    (void)c, (void)bytes, (void)data, (void)err;
    return SGFS_OK;
}

static const sgfsi_comm_ops ops = {.gather = gather, .broadcast = broadcast};

const sgfsi_comm sgfs_comm_self = {
    .name = "self", .help = "one process alone", .ops = &ops, .rank = 0, .size = 1};
