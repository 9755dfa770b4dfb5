/* SPDX-License-Identifier: MIT
 * row_bounds.h: how far each row's log density may be from a parabola around the anchor: the table
 * psi, in proportion to which exact samplers draw the rows they ask (thinning.h).
 *
 *     psi_i = w_i third_i                      (the model's bound, sgfs_model_kind.third)
 *
 * It is a table over rows, or over blocks of neighbouring rows with the largest psi among them,
 * where a table over rows would be too large. It is made in one pass, and shared by all chains.
 */
#pragma once

#include "posterior/anchor.h"
#include "rows/alias.h"

/* The table: one for all chains. */
typedef struct sgfsi_row_bounds {
    const sgfs_model *model;
    const double *anchor; /* D: theta* */
    int64_t N;
    int64_t block, entries; /* rows of one entry (a power of 2; the last may have fewer) */
    double *largest;        /* entries: psi of the row, or the largest of the block's */
    sgfsi_alias alias;      /* draws entries in proportion to their rows times that */
    double total;           /* the sum of it */
    double radius, growth;
    double seconds; /* of the pass */
    /* The rows are elsewhere, and these are what moves can ask (marks.h): there is no table. */
    const struct sgfsi_marks_index *marks;
} sgfsi_row_bounds;

/* Rows of an entry. */
static inline int64_t sgfsi_row_bounds_rows(const sgfsi_row_bounds *psi, int64_t entry) {
    int64_t left = psi->N - entry * psi->block;
    return left < psi->block ? left : psi->block;
}

/* Does the model say what is needed? NULL, or a sentence that says what is missing. */
const char *sgfsi_row_bounds_refuses(const sgfs_model *m);
/* Few draws are further out than this |z|, and beyond it the bounds of some models grow. */
double sgfsi_row_bounds_radius(int64_t D);
/* psi of a block of rows (at, b: as in sgfsi_full_each), for somebody who wants them. */
typedef sgfs_status (*sgfsi_psi_fn)(void *user, const sgfsi_block_at *at, const sgfs_batch *b,
                                    const double *psi, sgfs_err *err);
/* One pass over all rows of m, which must be near (sgfsi_model_near), shared by the processes as
 * crop says. radius: |z| up to which psi is made tight; *growth is raised to what lies beyond
 * needs. */
sgfs_status sgfsi_row_bounds_scan(const sgfs_model *m, const sgfsi_anchor *a, double radius,
                                  int64_t threads, sgfsi_psi_fn take, void *user,
                                  const sgfsi_crop *crop, double *growth, sgfs_err *err);
/* One pass over all rows; everything from the arena. radius: |z| up to which the bound is made
 * tight. most: entries the table may have (more than that only where blocks would be too long). */
sgfs_status sgfsi_row_bounds_open(sgfsi_row_bounds *psi, const sgfs_model *m, const sgfsi_anchor *a,
                                  double radius, int64_t most, int64_t threads, sgfsi_arena *arena,
                                  sgfs_err *err);
/* Rows that an independent proposal (rho = 0) asks on average, were it never stopped early: a
 * number that is a little too large. */
double sgfsi_row_bounds_expected(const sgfsi_row_bounds *psi);
