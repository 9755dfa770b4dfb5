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
#include <stdlib.h>

__extension__ typedef unsigned __int128 uint128;

/* A height in [0, 1] as a fraction of 2^64. */
static uint64_t to_word(double height) {
    if (!(height > 0)) return 0;
    return height >= 1 ? UINT64_MAX : (uint64_t)ldexp(height, 64);
}

/* list: N places; cells that lack something grow from its front, those with too much from its back.
 * height: N, w_i N / W. */
static void pair_up(sgfsi_alias *a, double *height, int64_t *list) {
    int64_t N = a->N, few = 0, many = N, heaviest = 0;
    for (int64_t i = 0; i < N; i++) {
        if (height[i] < 1) list[few++] = i;
        else list[--many] = i;
        a->cell[i].stay = to_word(height[i]);
        a->cell[i].other = i;
        if (height[i] > height[heaviest]) heaviest = i;
    }
    while (few > 0 && many < N) {
        int64_t small = list[--few], large = list[many];
        a->cell[small].stay = to_word(height[small]);
        a->cell[small].other = large;
        height[large] -= 1 - height[small];
        if (height[large] >= 1) continue;
        many++;
        list[few++] = large; /* the front has just become one shorter */
    }
    /* What rounding leaves has height 1, but for rows of weight 0: of very many rows the sum may be
     * off by a cell or more, and then they are left, too. */
    while (many < N) a->cell[list[many++]].stay = UINT64_MAX;
    while (few > 0) {
        int64_t i = list[--few];
        if (a->cell[i].stay == 0) a->cell[i].other = heaviest;
        else a->cell[i].stay = UINT64_MAX;
    }
}

sgfs_status sgfsi_alias_open(sgfsi_alias *alias, int64_t N, const double *weight, double total,
                             sgfsi_arena *arena, sgfs_err *err) {
    *alias = (sgfsi_alias){.N = N, .cell = sgfsi_arena_alloc(arena, N, sizeof *alias->cell)};
    double *height = malloc((size_t)N * sizeof *height);
    int64_t *list = malloc((size_t)N * sizeof *list);
    bool room = alias->cell != NULL && height != NULL && list != NULL;
    for (int64_t i = 0; room && i < N; i++) height[i] = weight[i] / total * (double)N;
    if (room) pair_up(alias, height, list);
    free(height);
    free(list);
    return room ? SGFS_OK : sgfsi_fail_memory(err, "drawing rows by weight");
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
