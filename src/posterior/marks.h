/* SPDX-License-Identifier: MIT
 * marks.h: the rows that the moves of a run can ask, found before it begins, in one scan.
 *
 * Thinning (thinning.h) asks row i of a move at rate b psi_i, b = b(z, z') known only once the move
 * is. Let b' be a number fixed beforehand, and let every move with b > b' be refused: b is
 * symmetric in z and z', so that detailed balance stays as it is. A row then gets marks at rate b'
 * psi_i for each move, whatever the move turns out to be; one of them objects to it with
 * probability
 *
 *     max(0, -w_i R_i)/(b' psi_i)
 *
 * which is what thinning at rate b' is. For T moves row i has Poisson(T b' psi_i) marks, each for a
 * move drawn uniformly. So one pass over the rows, in their order, leaves about T b' sum psi of
 * them from which the chains run without the data, to the posterior itself.
 *
 * Marks are a Poisson process along the rows, a row being as long as its psi: gaps are exponential.
 * Every block of rows, of every part of the rows, has a stream of random numbers of its own; parts
 * of the rows that are marked by different processes need different numbers.
 */
#pragma once

#include "posterior/anchor.h"
#include "posterior/row_bounds.h"
#include "rows/elsewhere.h"

typedef struct sgfsi_marks_plan {
    uint64_t seed; /* names the streams, with */
    uint32_t part; /* the part of the rows that m has */
    int64_t threads;
} sgfsi_marks_plan;

/* Are the rows better met once, in their order, than one by one: more than memory holds? Process 0
 * decides. */
sgfs_status sgfsi_marks_pay(const sgfs_model *m, bool *pay, sgfs_err *err);
/* b such that this share of independent moves in D dimensions is not above it. */
sgfs_status sgfsi_marks_bound(int64_t D, double share, double *b, sgfs_err *err);
/* One pass over the rows of m, for the moves and the b' of out: p, radius, growth, count and the
 * marks themselves, from the arena. Processes mark their own rows, and all of them get all marks:
 * the same bits for any number of threads and processes. */
sgfs_status sgfsi_marks_make(sgfsi_marks *out, const sgfs_model *m, const sgfsi_anchor *a,
                             const sgfsi_marks_plan *plan, sgfsi_arena *arena, sgfs_err *err);

/* Marks by slot, for chains to ask. There may be many more slots than marks. */
typedef struct sgfsi_mark_at {
    int64_t slot, place; /* place: in marks->number */
} sgfsi_mark_at;
typedef struct sgfsi_marks_index {
    const sgfsi_marks *marks;
    const sgfsi_mark_at *at; /* marks->count, in order of slots */
    int64_t entries;         /* of a sparse row, at most; 0: rows are dense */
} sgfsi_marks_index;
sgfs_status sgfsi_marks_open(sgfsi_marks_index *index, const sgfsi_marks *marks, sgfsi_arena *arena,
                             sgfs_err *err);
/* How many marks a slot has; *first: the first of them. */
int64_t sgfsi_marks_of(const sgfsi_marks_index *index, int64_t slot, const sgfsi_mark_at **first);
