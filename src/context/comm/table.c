/* SPDX-License-Identifier: MIT
 * table.c: the communicators, the most particular first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "context/comm/comm.h"

const sgfsi_comm *const sgfsi_comms[] = {&sgfs_comm_self, NULL};

sgfs_status sgfsi_comm_open(const sgfsi_comm **comm, sgfs_err *err) {
    const sgfsi_comm *const *row = sgfsi_comms;
    while ((*row)->ops->is_used != NULL && !(*row)->ops->is_used()) row++;
    *comm = *row;
    if ((*row)->ops->open == NULL) return SGFS_OK;
    sgfsi_comm *c = malloc(sizeof *c);
    *comm = NULL;
    if (c == NULL) return sgfsi_fail_memory(err, "the communicator");
    *c = **row;
    sgfs_status status = c->ops->open(c, err);
    if (status == SGFS_OK) {
        c->said = calloc((size_t)c->size, sizeof *c->said);
        if (c->said != NULL) return *comm = c, SGFS_OK;
        c->ops->close(c);
        status = sgfsi_fail_memory(err, "the communicator");
    }
    free(c);
    return status;
}

void sgfsi_comm_close(const sgfsi_comm *c) {
    if (c == NULL || c->ops->close == NULL) return;
    c->ops->close((sgfsi_comm *)c);
    free(c->said);
    free((sgfsi_comm *)c);
}

sgfs_status sgfsi_comm_agree(const sgfsi_comm *c, sgfs_status status, sgfs_err *err) {
    sgfs_err own;
    if (c->size == 1) return status;
    if (err == NULL) err = memset(&own, 0, sizeof own);
    sgfs_err *all = c->said;
    memset(all, 0, (size_t)c->size * sizeof *all);
    if (status != SGFS_OK) all[c->rank] = *err;
    all[c->rank].code = status;
    int64_t bytes = (int64_t)sizeof *all, first = 0;
    status = c->ops->gather(c, c->size, bytes, bytes, all, err);
    for (int64_t k = 1; k < c->size; k++) {
        bool stops = all[k].code == SGFS_ESTOPPED, stopped = all[first].code == SGFS_ESTOPPED;
        if (all[k].code != SGFS_OK && (all[first].code == SGFS_OK || (stopped && !stops)))
            first = k;
    }
    if (status == SGFS_OK && all[first].code != SGFS_OK) *err = all[first], status = err->code;
    return status;
}

sgfsi_share sgfsi_comm_share(const sgfsi_comm *c, int64_t parts) {
    return (sgfsi_share){parts * c->rank / c->size, parts * (c->rank + 1) / c->size};
}
