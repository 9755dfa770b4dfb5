/* SPDX-License-Identifier: MIT
 * remembered.h: the scores and log densities of all rows at an anchor, kept, so that a minibatch
 * with control variates computes one set of scores and looks the other up (--anchor-cache).
 *
 *     row i:  left factors or dense scores of each block, one after the other; its log density
 *
 * Numbers of a row lie together: one look costs one line of memory. For scores whose right factor
 * is the row itself or that are dense; factors that depend on theta on both sides, as in networks,
 * would be as large as the data many times over, and are never kept.
 */
#pragma once

#include "posterior/posterior.h"

typedef struct sgfsi_remembered {
    int64_t N, width; /* numbers of a row */
    double *a;        /* N x width */
} sgfsi_remembered;

/* Is looking up faster, as bench/remember.c measured it? */
bool sgfsi_remembered_pays(const sgfs_model *m);
/* One pass over all rows at theta; room from the arena. threads: 0: all cores. */
sgfs_status sgfsi_remembered_fill(sgfsi_remembered *r, const sgfs_model *m, const double *theta,
                                  int64_t threads, sgfsi_arena *arena, sgfs_err *err);
/* The scores of rows row[0..n) of the data, into the room of s (its loglik too, if not NULL). */
void sgfsi_remembered_pick(const sgfsi_remembered *r, const int64_t *row, int64_t n,
                           sgfs_scores *s);
