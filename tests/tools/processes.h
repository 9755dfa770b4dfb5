/* SPDX-License-Identifier: MIT
 * processes.h: processes that are threads of one, for tests of what several of them share: a
 * communicator (context/comm/comm.h) that copies from one to another between barriers.
 */
#pragma once

#include <pthread.h>
#include <string.h>

#include "context/comm/comm.h"
#include "tools/check.h"

enum { MOST_PROCESSES = 7 };

typedef struct meeting {
    pthread_barrier_t barrier;
    char *data[MOST_PROCESSES];
} meeting;

static inline sgfs_status gather(const sgfsi_comm *c, int64_t parts, int64_t bytes, int64_t stride,
                                 void *data, sgfs_err *err) {
    meeting *m = c->state;
    (void)err;
    m->data[c->rank] = data;
    pthread_barrier_wait(&m->barrier);
    for (int64_t rank = 0; rank < c->size; rank++) {
        sgfsi_comm other = *c;
        other.rank = rank;
        sgfsi_share theirs = sgfsi_comm_share(&other, parts);
        for (int64_t k = theirs.first; rank != c->rank && k < theirs.end; k++)
            memcpy((char *)data + k * stride, m->data[rank] + k * stride, (size_t)bytes);
    }
    pthread_barrier_wait(&m->barrier);
    return SGFS_OK;
}

static inline sgfs_status broadcast(const sgfsi_comm *c, int64_t bytes, void *data, sgfs_err *err) {
    meeting *m = c->state;
    (void)err;
    m->data[c->rank] = data;
    pthread_barrier_wait(&m->barrier);
    if (c->rank > 0) memcpy(data, m->data[0], (size_t)bytes);
    pthread_barrier_wait(&m->barrier);
    return SGFS_OK;
}

static const sgfsi_comm_ops ops = {.gather = gather, .broadcast = broadcast};

/* Process `rank` of those in a meeting. Free its room afterwards. */
static inline sgfsi_comm comm_at(int64_t rank, int64_t size, void *state) {
    sgfsi_comm c = {.name = "test", .help = "", .ops = &ops, rank, size, state, 0, NULL};
    assert_int_equal(sgfsi_comm_make_room(&c, NULL), SGFS_OK);
    return c;
}
