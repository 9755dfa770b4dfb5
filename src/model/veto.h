/* SPDX-License-Identifier: MIT
 * veto.h: the rows' part of an exact Metropolis step, asked of a few rows only (docs/beyond.md).
 *
 *     theta = theta* + L^-T z,  A = L L' at the anchor theta*;  a move z -> z' that is reversible for
 *     N(0, I) is accepted with probability  prod_i min(1, exp(w_i R_i)),
 *     R_i = r_i(theta') - r_i(theta),  r_i = row i's log density less its second-order expansion
 *
 * Row i could object only at a rate below  b psi_i,  with
 *     psi_i = w_i third_i                      (the model's bound, sgfs_model_kind.third)
 *     b     = min( |z|^3 + |z'|^3, |z'-z| (|z|^2 + z'z' + |z'|^2) ) / 6  x  growth past the radius
 * so K ~ Poisson(b sum psi) rows, each drawn in proportion to psi, are asked, and each vetoes with
 * probability  max(0, -w_i R_i)/(b psi_i). No veto happens with exactly the probability above.
 *
 * psi is a table over rows, or over runs of neighbouring rows with the largest psi among them, where
 * a table over rows would be too large. It is made in one pass, and shared by all chains.
 */
#ifndef SGFSI_VETO_H
#define SGFSI_VETO_H

#include "model/anchor.h"

typedef struct sgfsi_psi sgfsi_psi; /* the table: one for all chains */

/* One pass over all rows; everything from the arena. radius: |z| up to which the bound is made
 * tight. most: numbers the table may have. */
sgfs_status sgfsi_psi_open(sgfsi_psi **psi, const sgfs_model *m, const sgfsi_anchor *a,
                           double radius, int64_t most, int64_t threads, sgfsi_arena *arena,
                           sgfs_err *err);
double sgfsi_psi_total(const sgfsi_psi *psi); /* sum of psi over the table, runs by their largest */

/* One chain's: room for the rows that are asked. */
typedef struct sgfsi_veto {
    const sgfsi_psi *psi;
    int64_t rows_touched; /* so far */
    int64_t exceeded;     /* rows whose R was above its bound: must stay 0 */
    void *room;
} sgfsi_veto;

sgfs_status sgfsi_veto_open(sgfsi_veto *v, const sgfsi_psi *psi, sgfsi_arena *arena, sgfs_err *err);

/* A move, in both coordinates. */
typedef struct sgfsi_move {
    const double *from, *to; /* theta: D */
    const double *z, *z_to;  /* D */
    uint64_t seed;
    uint32_t chain;
    int64_t t; /* names the stream SGFSI_VETO */
} sgfsi_move;

/* Does any row object? Rows are asked in portions, until one does. */
sgfs_status sgfsi_veto_ask(sgfsi_veto *v, const sgfsi_move *move, bool *vetoed, sgfs_err *err);

#endif
