/* SPDX-License-Identifier: MIT
 * shares.h: how the rows of data are cut: into blocks, and these into a number of parts that neither
 * threads nor processes change (posterior/pass.c). Processes (context/comm/comm.h) share the parts
 * of a pass, so that the rows of its parts are a process's own: in a pass it touches no others, and
 * where rows are dealt (batch.h) no others of a minibatch.
 */
#pragma once

#include "context/comm/comm.h"

enum {
    SGFSI_FULL_BLOCK = 1024, /* rows of a block; the last may have fewer */
    SGFSI_FULL_PARTS = 64    /* at most */
};

static inline int64_t sgfsi_blocks_of(int64_t N) {
    return (N + SGFSI_FULL_BLOCK - 1) / SGFSI_FULL_BLOCK;
}

static inline int64_t sgfsi_parts_of(int64_t N) {
    int64_t blocks = sgfsi_blocks_of(N);
    return blocks < SGFSI_FULL_PARTS ? blocks : SGFSI_FULL_PARTS;
}

/* The first row of part k of `parts`; of part `parts`: N. */
static inline int64_t sgfsi_part_first(int64_t N, int64_t parts, int64_t k) {
    int64_t first = k * sgfsi_blocks_of(N) / parts * SGFSI_FULL_BLOCK;
    return first < N ? first : N;
}

/* Which of `size` processes the row belongs to, where no part had to be made longer. */
static inline int64_t sgfsi_owner_of(int64_t N, int64_t size, int64_t row) {
    int64_t blocks = sgfsi_blocks_of(N), parts = sgfsi_parts_of(N);
    int64_t part = ((row / SGFSI_FULL_BLOCK + 1) * parts - 1) / blocks;
    return ((part + 1) * size - 1) / parts;
}
