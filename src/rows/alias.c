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

/* While the table is made, a cell that waits for its partner is on one of two stacks, of those that
 * lack something and of those that have too much. Such a cell keeps its height where `stay` will be
 * and the next of its stack where `other` will be, so that nothing but the table takes memory. */
enum { NONE = -1 };

static double height_of(const sgfsi_alias_cell *cell) {
    double height;
    memcpy(&height, &cell->stay, sizeof height);
    return height;
}

static void push(sgfsi_alias *a, int64_t *stack, int64_t i, double height) {
    memcpy(&a->cell[i].stay, &height, sizeof height);
    a->cell[i].other = *stack;
    *stack = i;
}

static int64_t pop(const sgfsi_alias *a, int64_t *stack) {
    int64_t i = *stack;
    *stack = a->cell[i].other;
    return i;
}

static void pair_up(sgfsi_alias *a, const double *weight, double total) {
    double cells = (double)a->N, highest = -1;
    int64_t few = NONE, many = NONE, heaviest = 0;
    for (int64_t i = 0; i < a->N; i++) {
        double height = weight[i] / total * cells;
        push(a, height < 1 ? &few : &many, i, height);
        if (height > highest) highest = height, heaviest = i;
    }
    while (few != NONE && many != NONE) {
        int64_t small = pop(a, &few), large = pop(a, &many);
        double height = height_of(&a->cell[small]);
        double left = height_of(&a->cell[large]) - (1 - height);
        a->cell[small] = (sgfsi_alias_cell){to_word(height), large};
        push(a, left < 1 ? &few : &many, large, left);
    }
    /* What rounding leaves has height 1, but for rows of weight 0: of very many rows the sum may be
     * off by a cell or more, and then they are left, too. */
    while (many != NONE) {
        int64_t i = pop(a, &many);
        a->cell[i] = (sgfsi_alias_cell){UINT64_MAX, i};
    }
    while (few != NONE) {
        int64_t i = pop(a, &few);
        bool never = to_word(weight[i] / total * cells) == 0;
        a->cell[i] = never ? (sgfsi_alias_cell){0, heaviest} : (sgfsi_alias_cell){UINT64_MAX, i};
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
    return (uint64_t)place < cell->stay ? at : cell->other;
}

void sgfsi_alias_fetch(const sgfsi_alias *alias, uint64_t word) {
    __builtin_prefetch(&alias->cell[(int64_t)(((uint128)word * (uint64_t)alias->N) >> 64)]);
}
