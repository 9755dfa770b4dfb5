/* SPDX-License-Identifier: MIT
 * table.c: the communicators, the most particular first.
 */
#include <stddef.h>

#include "context/comm/comm.h"

const sgfsi_comm *const sgfsi_comms[] = {&sgfs_comm_self, NULL};

const sgfsi_comm *sgfsi_comm_find(void) {
    const sgfsi_comm *const *row = sgfsi_comms;
    while (!(*row)->ops->is_used()) row++;
    return *row;
}

sgfsi_share sgfsi_comm_share(const sgfsi_comm *c, int64_t parts) {
    return (sgfsi_share){parts * c->rank / c->size, parts * (c->rank + 1) / c->size};
}
