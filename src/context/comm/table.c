/* SPDX-License-Identifier: MIT
 * table.c: the communicators, the most particular first, and which of them a config has.
 */
#include <stdlib.h>

#include "base/err.h"
#include "base/stop.h"
#include "context/comm/comm.h"

const sgfsi_comm *const sgfsi_comms[] = {&sgfs_comm_mpi, &sgfs_comm_self, NULL};

static void close_comm(const sgfsi_comm *c) {
    c->ops->close((sgfsi_comm *)c);
    sgfsi_comm_free_room((sgfsi_comm *)c);
    free((sgfsi_comm *)c);
}

const sgfsi_comm *sgfsi_comm_of(const sgfs_config *cfg) {
    return sgfsi_config_log(cfg)->watcher->comm;
}

sgfs_status sgfsi_comm_open(const sgfsi_comm **comm, const sgfs_config *cfg, sgfs_err *err) {
    sgfsi_watcher *watcher = sgfsi_config_log(cfg)->watcher;
    const sgfsi_comm *const *row = sgfsi_comms;
    *comm = watcher->comm;
    if (*comm != NULL) return SGFS_OK;
    while ((*row)->ops->is_used != NULL && !(*row)->ops->is_used(cfg)) row++;
    if ((*row)->ops->open == NULL) return *comm = *row, SGFS_OK;
    sgfsi_comm *c = malloc(sizeof *c);
    if (c == NULL) return sgfsi_fail_memory(err, "the communicator");
    *c = **row;
    sgfs_status status = c->ops->open(c, cfg, err);
    if (status == SGFS_OK) {
        status = sgfsi_comm_make_room(c, err);
        if (status != SGFS_OK) c->ops->close(c);
    }
    if (status != SGFS_OK) return free(c), status;
    watcher->comm = *comm = c;
    watcher->close_comm = close_comm;
    return SGFS_OK;
}
