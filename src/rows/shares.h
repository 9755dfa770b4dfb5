/* SPDX-License-Identifier: MIT
 * shares.h: how the rows of data are cut: into blocks, and these into a number of parts that
 * neither threads nor processes change (posterior/pass.c). Processes (context/comm/comm.h) share
 * the parts of a pass, so that the rows of its parts are a process's own: in a pass it touches no
 * others, and where rows are dealt (batch.h) no others of a minibatch.
 */
#pragma once

#include "context/comm/comm.h"

enum {
    SGFSI_FULL_BLOCK = 1024,  /* rows of a block; the last may have fewer */
    SGFSI_USUAL_PARTS = 64,   /* at most, where rows are not very many */
    SGFSI_FULL_PARTS = 1024,  /* at most */
    SGFSI_PART_BLOCKS = 1024, /* at least, of each of more than the usual parts */
};

static inline int64_t sgfsi_blocks_of(int64_t N) {
    return (N + SGFSI_FULL_BLOCK - 1) / SGFSI_FULL_BLOCK;
}

/* A part is the least that a process or a thread can have of a pass, and its sums are sent to all
 * processes. So there are more of them, a power of 2, only where each has a million rows. */
static inline int64_t sgfsi_parts_of(int64_t N) {
    int64_t blocks = sgfsi_blocks_of(N), parts = SGFSI_USUAL_PARTS;
    while (parts < SGFSI_FULL_PARTS && 2 * parts * SGFSI_PART_BLOCKS <= blocks) parts *= 2;
    return blocks < parts ? blocks : parts;
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
