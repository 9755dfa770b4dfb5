/* SPDX-License-Identifier: MIT
 * thinning.h: the rows' part of an exact Metropolis step, asked of a few rows only
 * (docs/beyond.md).
 *
 *     theta = theta* + L^-T z,  A = L L' at the anchor theta*;  a move z -> z' that is reversible
 *     for N(0, I) is accepted with probability  prod_i min(1, exp(w_i R_i)),
 *     R_i = r_i(theta') - r_i(theta),  r_i = row i's log density less its second-order expansion
 *
 * Row i could object only at a rate below  b psi_i,  with
 *     psi_i = w_i third_i                      (row_bounds.h)
 *     b     = min( |z|^3 + |z'|^3, |z'-z| (|z|^2 + z.z' + |z'|^2) ) / 6
 *             x exp(growth max(0, max(|z|, |z'|) - radius))
 * so K ~ Poisson(b sum psi) rows, each drawn in proportion to psi, are asked, and each vetoes with
 * probability  max(0, -w_i R_i)/(b psi_i). No veto happens with exactly the probability above.
 *
 * Where more rows would be asked than there are, all of them are, once and in order: the same
 * probability. Rows that are elsewhere were marked before (marks.h): the marks of the move are
 * asked, and a move whose b is above theirs is refused.
 */
#pragma once

#include "posterior/row_bounds.h"

/* One chain's: room for the rows that are asked. */
typedef struct sgfsi_thinning {
    const sgfsi_row_bounds *psi;
    int64_t rows_touched; /* so far, */
    int64_t moves;        /* by so many moves */
    int64_t exceeded;     /* rows whose R was above its bound: must stay 0 */
    const sgfsi_pages *visit;
    struct sgfsi_thinning_room *room;
} sgfsi_thinning;

sgfs_status sgfsi_thinning_open(sgfsi_thinning *v, const sgfsi_row_bounds *psi, sgfsi_arena *arena,
                                sgfs_err *err);

/* A move, in both coordinates. */
typedef struct sgfsi_move {
    const double *from, *to; /* theta: D */
    const double *z, *z_to;  /* D */
    uint64_t seed;
    uint32_t chain;
    int64_t t; /* names the stream SGFSI_VETO; marks begin with move 2 */
} sgfsi_move;

/* b of a move: row i's |w_i R_i| is below b psi_i. And as far as no bound grows: z to z_to, D
 * numbers each. */
double sgfsi_thinning_rate(const sgfsi_row_bounds *psi, const sgfsi_move *move);
double sgfsi_thinning_length(int64_t D, const double *z, const double *z_to);
/* Does any row object? Rows are asked in blocks, until one does. SGFS_ENUMERIC: a row's R was
 * above its bound, so that the answer would be wrong. */
sgfs_status sgfsi_thinning_ask(sgfsi_thinning *v, const sgfsi_move *move, bool *vetoed,
                               sgfs_err *err);
/* The rows that moves to come will ask first follow from their random words alone: those of move
 * `next` are brought near, and the table's entries for those of move `later`, without waiting. The
 * answers do not depend on it. */
void sgfsi_thinning_fetch(sgfsi_thinning *v, const sgfsi_move *now, int64_t next, int64_t later);
