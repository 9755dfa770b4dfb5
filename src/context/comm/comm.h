/* SPDX-License-Identifier: MIT
 * comm.h: the processes that work on one run, each with all the rows at hand and all the chains in
 * mind. They share the parts of a pass (posterior/pass.c), decide by one clock (clock.h) and end
 * together (sgfsi_comm_agree); everything else each of them does by itself, with the same bits.
 * Process 0 writes the run file; the others keep their draws in memory.
 *
 * A communicator is a table of operations with a state of its own. Gather and broadcast are
 * collective: every process must call them in the same order, so never from several chains at once.
 * That is decided in one place, sgfsi_context_split (context.h). Another communicator is another
 * file like self.c and a row in table.c. Results of jobs are not shared out yet: a program with
 * several processes saves them in process 0.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sgfs.h"

typedef struct sgfsi_comm sgfsi_comm;

typedef struct sgfsi_comm_ops {
    /* Is this process one of several? The first row of the table that says so is taken. NULL:
     * yes */
    bool (*is_used)(void);
    /* Meet the others: fill in rank, size and state. NULL: the row is as good as open; a row with
     * `open` has `close`. */
    sgfs_status (*open)(sgfsi_comm *c, sgfs_err *err);
    void (*close)(sgfsi_comm *c);
    /* Every process has filled its share of `parts` pieces of `bytes` bytes, which lie `stride`
     * bytes apart from each other in `data`; afterwards every process has all of them. */
    sgfs_status (*gather)(const sgfsi_comm *c, int64_t parts, int64_t bytes, int64_t stride,
                          void *data, sgfs_err *err);
    /* The bytes of process 0 to all of them. */
    sgfs_status (*broadcast)(const sgfsi_comm *c, int64_t bytes, void *data, sgfs_err *err);
} sgfsi_comm_ops;

struct sgfsi_comm {
    const char *name, *help;
    const sgfsi_comm_ops *ops;
    int64_t rank, size; /* which process this is, of how many */
    void *state;
    sgfs_err *said; /* size: room to agree in. Made while opening, since who cannot make it later
                     * would leave the others waiting. */
};

extern const sgfsi_comm sgfs_comm_self;
extern const sgfsi_comm *const sgfsi_comms[]; /* NULL-terminated; the last is always there */
/* The communicator of this process, opened. */
sgfs_status sgfsi_comm_open(const sgfsi_comm **comm, sgfs_err *err);
void sgfsi_comm_close(const sgfsi_comm *c); /* takes NULL */

/* Parts first .. end - 1 of `parts` are this process's share. */
typedef struct sgfsi_share {
    int64_t first, end;
} sgfsi_share;
sgfsi_share sgfsi_comm_share(const sgfsi_comm *c, int64_t parts);

/* How it went here, or that it is to stop here (SGFS_ESTOPPED), to all: collective. Every process
 * gets the first failure of any of them, else the first stop, with its sentence, else SGFS_OK. err
 * may be NULL. */
sgfs_status sgfsi_comm_agree(const sgfsi_comm *c, sgfs_status status, sgfs_err *err);
