/* SPDX-License-Identifier: MIT
 * runwriter.h: the writer's insides, for runfile.c, which appends blocks, and runstate.c, which
 * saves states, goes on with a file, and puts a complete one in order.
 */
#pragma once

#include <pthread.h>

#include "sink/runblock.h"
#include "sink/runfile.h"

struct sgfsi_runfile {
    int fd;
    int log; /* the file under its name, while fd is one in order that will take its place; or -1 */
    bool failed; /* a block could not be written */
    char *path, *temp;
    pthread_mutex_t lock; /* over all below */
    int64_t size;         /* bytes up to the end of the last whole block */
    int64_t chains, D, S;
    int64_t kept;         /* the same when the last state was saved */
    int64_t *next;        /* 2 x chains: index of the next draw of each, and the same then */
    unsigned char *bytes; /* the block being put together */
    size_t room;
    int64_t slot[2], slot_bytes; /* where states go, in turn, and the room of each; 0: none yet */
    int64_t states;              /* the number of the last state */
};

sgfsi_runfile *sgfsi_runwriter_new(const char *path, sgfs_err *err); /* without a file */
void sgfsi_runwriter_forget(sgfsi_runfile *f);                       /* but for the descriptor */
/* An exclusive lock at once or not at all; busy: somebody else has it. */
sgfs_status sgfsi_runwriter_lock(int fd, const char *path, bool *busy, sgfs_err *err);
/* path.tmp, locked and empty, becomes f->fd; and its head. */
sgfs_status sgfsi_runwriter_temp(sgfsi_runfile *f, sgfs_err *err);
sgfs_status sgfsi_runwriter_head(sgfsi_runfile *f, const char *json, size_t length, sgfs_err *err);
/* path.tmp, which is whole, takes the place of the log. */
sgfs_status sgfsi_runwriter_commit(sgfsi_runfile *f, sgfs_err *err);
