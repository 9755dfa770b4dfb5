/* SPDX-License-Identifier: MIT
 * reanchor.h: control variates where there is no one mode to anchor at (networks, or more parameters
 * than a full matrix holds), after the pattern of SVRG (Johnson and Zhang 2013; Dubey et al. 2016).
 *
 *     warm-up      SGFS, as --sampler sgfs would
 *     then         an anchor where the chain stands, and a new one every --anchor-every iterations
 *
 * An anchor is one pass over all rows: their gradient G*, and of whatever structure the matrix has
 *
 *     A = sum_i w_i s_i s_i' + Lambda,    s_i the score of a target that the model itself draws for
 *                                         row i (of the row's own target, where it cannot draw)
 *
 * What a structure leaves out makes some directions stiffer than it knows: by the largest eigenvalue
 * of (L L')^-1 A_full, for which A_full is made of some of the rows.
 */
#ifndef SGFSI_REANCHOR_H
#define SGFSI_REANCHOR_H

#include "sampler/precision.h"

typedef struct sgfsi_reanchor {
    sgfs_sampler warm; /* SGFS on a view of its own, for warm-up */
    sgfsi_full full;
    sgfsi_anchor anchor;
    uint64_t seed;
    uint32_t chain;
    bool drawn;            /* A by the model's own targets */
    sgfs_sym *sum;         /* full.parts: of squares of scores */
    double **work;         /* full.threads: for add_cov */
    int64_t stride, count; /* every stride-th row is kept, count in all, ... */
    double *some;          /* ... count x D: its scores, for A_full */
    double *stiffest, *x;  /* D: the eigenvector so far; count: room */
    int64_t every;         /* iterations between anchors */
    int64_t since;         /* the last one; -1: there is none yet */
    int64_t made;          /* anchors so far */
} sgfsi_reanchor;

/* clang-format off */
#define SGFSI_ANCHOR_EVERY_ROW                                                                     \
    {"sampler.anchor_every", "anchor-every", SGFS_INTEGER, "auto", 1, 1e15, NULL,                  \
     "networks: iterations from one anchor to the next (auto: they cost as much as its pass)"}
/* clang-format on */

/* Must anchors follow the chain for this model? */
bool sgfsi_reanchor_needed(const sgfs_model *m);
/* Put numbers in place of "auto": lengths, and what the warm-up by SGFS asks for. */
sgfs_status sgfsi_reanchor_resolve(sgfs_config *cfg, const sgfs_problem *now, sgfs_err *err);
/* threads: for a pass; the same bits for any number. */
sgfs_status sgfsi_reanchor_open(sgfsi_reanchor *r, sgfs_sampler *sampler, int64_t threads,
                                sgfs_err *err);
/* A step of warm-up; stats: {"lp", "step_size", "grad_norm", "ridges"}. */
sgfs_status sgfsi_reanchor_warm(sgfsi_reanchor *r, sgfs_sampler *sampler, const sgfs_iteration *now,
                                double *theta, double *stats, sgfs_err *err);
/* Before each iteration after warm-up: is it time for a new anchor? */
bool sgfsi_reanchor_due(sgfsi_reanchor *r);
/* sampler->anchor at theta, and A, its factor and how stiff it is, into P. */
sgfs_status sgfsi_reanchor_at(sgfsi_reanchor *r, sgfs_sampler *sampler, const double *theta,
                              sgfsi_precision *P, sgfs_err *err);

#endif
