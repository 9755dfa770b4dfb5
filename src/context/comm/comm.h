/* SPDX-License-Identifier: MIT
 * comm.h: the processes that work on one run, each with all the rows at hand and all the chains in
 * mind. They share the parts of a pass (posterior/pass.c), decide by one clock (clock.h) and end
 * together; everything else each of them does by itself, with the same bits. Process 0 writes the
 * run file; the others keep their draws in memory.
 *
 * A communicator is a table of operations with a state of its own, and another one is another file
 * like self.c and a row in table.c. Nobody but comm.c calls its operations. All others meet:
 *
 *     every process  -> what it came for, and how it goes there  -> all of them know both
 *
 * before anything else is sent, 24 bytes each. So whoever fails alone, wherever that is, says it
 * where the others meet next (sgfsi_comm_part), and they end with its sentence; and processes that
 * went different ways fail in place of waiting for each other.
 *
 * Meetings are collective: every process has to come to them in the same order, so never from
 * several chains at once. That is decided in one place, sgfsi_context_split (context.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"

typedef struct sgfsi_comm sgfsi_comm;

typedef struct sgfsi_comm_ops {
    /* Is this process one of several, by what it was asked for? The first row of the table that
     * says so is taken. NULL: yes */
    bool (*is_used)(const sgfs_config *cfg);
    /* Meet the others: fill in rank, size, cores and state. NULL: the row is as good as open; a row
     * with `open` has `close`. Who is waited for in vain is told of where cfg's messages go now. */
    sgfs_status (*open)(sgfsi_comm *c, const sgfs_config *cfg, sgfs_err *err);
    void (*close)(sgfsi_comm *c);
    /* Every process has filled its share of `parts` pieces of `bytes` bytes, which lie `stride`
     * bytes apart from each other in `data`; afterwards every process has all of them. */
    sgfs_status (*gather)(const sgfsi_comm *c, int64_t parts, int64_t bytes, int64_t stride,
                          void *data, sgfs_err *err);
    /* The bytes of process 0 to all of them. */
    sgfs_status (*broadcast)(const sgfsi_comm *c, int64_t bytes, void *data, sgfs_err *err);
} sgfsi_comm_ops;

/* What this process has sent so far: its own pieces, each once, whatever way they took. */
typedef struct sgfsi_traffic {
    int64_t meetings, bytes;
} sgfsi_traffic;

struct sgfsi_comm {
    const char *name, *help;
    const sgfsi_comm_ops *ops;
    int64_t rank, size; /* which process this is, of how many */
    void *state;
    double cores; /* the share of the cores it sees that is its own; 0: all of them */
    struct sgfsi_comm_room *room; /* to meet in (comm.c); not needed by one alone */
};

extern const sgfsi_comm sgfs_comm_self, sgfs_comm_mpi;
extern const sgfsi_comm *const sgfsi_comms[]; /* NULL-terminated; the last is always there */
/* The communicator of this config and all its copies, opened where it was not. It is closed with
 * the last of them. */
sgfs_status sgfsi_comm_open(const sgfsi_comm **comm, const sgfs_config *cfg, sgfs_err *err);
/* The same, if it is open already; NULL: it is not. */
const sgfsi_comm *sgfsi_comm_of(const sgfs_config *cfg);

/* Room to meet in, once rank and size are known: made beforehand, since who cannot make it later
 * would leave the others waiting. Whoever has no `open` calls it. */
sgfs_status sgfsi_comm_make_room(sgfsi_comm *c, sgfs_err *err);
void sgfsi_comm_free_room(sgfsi_comm *c);

/* Parts first .. end - 1 of `parts` are this process's share. */
typedef struct sgfsi_share {
    int64_t first, end;
} sgfsi_share;
sgfsi_share sgfsi_comm_share(const sgfsi_comm *c, int64_t parts);

/* Collective: as the operations of these names. status, with its sentence in err: how it went here;
 * where it failed in any process, nothing is sent, and every process gets the first failure of any
 * of them, else the first stop (SGFS_ESTOPPED). err may be NULL. */
sgfs_status sgfsi_comm_gather(const sgfsi_comm *c, sgfs_status status, int64_t parts, int64_t bytes,
                              int64_t stride, void *data, sgfs_err *err);
sgfs_status sgfsi_comm_broadcast(const sgfsi_comm *c, sgfs_status status, int64_t bytes, void *data,
                                 sgfs_err *err);
/* The same, with nothing to send. */
sgfs_status sgfsi_comm_agree(const sgfsi_comm *c, sgfs_status status, sgfs_err *err);
/* The same, where all have to have come to this number. */
sgfs_status sgfsi_comm_agree_on(const sgfsi_comm *c, sgfs_status status, uint64_t number,
                                sgfs_err *err);

/* The same, for whoever is done, or gives up wherever the others are: these fail with it, with its
 * sentence and its rank, and nobody meets any more. */
sgfs_status sgfsi_comm_part(const sgfsi_comm *c, sgfs_status status, sgfs_err *err);

sgfsi_traffic sgfsi_comm_traffic(const sgfsi_comm *c);
