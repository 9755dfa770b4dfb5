/* SPDX-License-Identifier: MIT
 * alias.c: Walker's alias table, built by Vose's algorithm (1991) in O(N).
 *
 * N cells of equal probability; cell i holds row i up to some height and one other row above it, so
 * that row i fills w_i N / W cells in all. A draw is a cell and a height in it, and both come from
 * one word: word x N is the cell in its high 64 bits and the height in its low ones (a height is
 * one of 2^64 / N values, far finer than any run could see).
 *
 * A row of weight 0 has height 0 and is nobody's other row: it is never drawn, whatever rounding
 * does.
 */
#include "rows/alias.h"

#include <math.h>
#include <string.h>

__extension__ typedef unsigned __int128 uint128;

/* A height in [0, 1] as a fraction of 2^64. */
static uint64_t to_word(double height) {
    if (!(height > 0)) return 0;
    return height >= 1 ? UINT64_MAX : (uint64_t)ldexp(height, 64);
}

static void put(sgfsi_alias *a, int64_t i, uint64_t stay, int64_t other) {
    sgfsi_alias_cell *cell = &a->cell[i];
    uint32_t low = (uint32_t)other;
    memcpy(cell->stay, &stay, sizeof stay);
    memcpy(cell->other, &low, sizeof low);
    cell->above = (unsigned char)(other >> 32);
}

/* While the table is made, a cell that waits for its partner is on one of two stacks, of those that
 * lack something and of those that have too much. Such a cell keeps its height where `stay` will be
 * and the next of its stack where `other` will be, so that nothing but the table takes memory. */
static const int64_t none = ((int64_t)1 << 40) - 1;

static void push(sgfsi_alias *a, int64_t *stack, int64_t i, double height) {
    uint64_t bits;
    memcpy(&bits, &height, sizeof bits);
    put(a, i, bits, *stack);
    *stack = i;
}

static int64_t pop(const sgfsi_alias *a, int64_t *stack, double *height) {
    int64_t i = *stack;
    memcpy(height, a->cell[i].stay, sizeof *height);
    *stack = sgfsi_alias_other(&a->cell[i]);
    return i;
}

static void pair_up(sgfsi_alias *a, const double *weight, double total) {
    double cells = (double)a->N, highest = -1, height, above;
    int64_t few = none, many = none, heaviest = 0;
    for (int64_t i = 0; i < a->N; i++) {
        height = weight[i] / total * cells;
        push(a, height < 1 ? &few : &many, i, height);
        if (height > highest) highest = height, heaviest = i;
    }
    while (few != none && many != none) {
        int64_t small = pop(a, &few, &height), large = pop(a, &many, &above);
        put(a, small, to_word(height), large);
        above -= 1 - height;
        push(a, above < 1 ? &few : &many, large, above);
    }
    /* What rounding leaves has height 1, but for rows of weight 0: of very many rows the sum may be
     * off by a cell or more, and then they are left, too. */
    while (many != none) {
        int64_t i = pop(a, &many, &height);
        put(a, i, UINT64_MAX, i);
    }
    while (few != none) {
        int64_t i = pop(a, &few, &height);
        bool never = to_word(weight[i] / total * cells) == 0;
        put(a, i, never ? 0 : UINT64_MAX, never ? heaviest : i);
    }
}

sgfs_status sgfsi_alias_open(sgfsi_alias *alias, int64_t N, const double *weight, double total,
                             sgfsi_arena *arena, sgfs_err *err) {
    *alias = (sgfsi_alias){.N = N, .cell = sgfsi_arena_alloc(arena, N, sizeof *alias->cell)};
    if (alias->cell == NULL) return sgfsi_fail_memory(err, "drawing rows by weight");
    pair_up(alias, weight, total);
    return SGFS_OK;
}

int64_t sgfsi_alias_row(const sgfsi_alias *alias, uint64_t word) {
    uint128 place = (uint128)word * (uint64_t)alias->N;
    int64_t at = (int64_t)(place >> 64);
    const sgfsi_alias_cell *cell = &alias->cell[at];
    return (uint64_t)place < sgfsi_alias_stay(cell) ? at : sgfsi_alias_other(cell);
}

void sgfsi_alias_fetch(const sgfsi_alias *alias, uint64_t word) {
    uint128 place = (uint128)word * (uint64_t)alias->N;
    const sgfsi_alias_cell *cell = &alias->cell[(int64_t)(place >> 64)];
    __builtin_prefetch(cell->stay);
    __builtin_prefetch(&cell->above); /* a cell may lie across two lines */
}
