/* SPDX-License-Identifier: MIT
 * ahead.h: iterations that a device has made ahead of the chain, which then takes them one by one
 * as if each had been made when its turn came. So whatever a chain does between two iterations
 * (keeping a draw, moments, validation) stays as it is.
 *
 *     sgfsi_ahead_plan   each chain says which iterations it would like to have ahead
 *     sgfsi_ahead_make   the device makes those of all chains
 *     sgfsi_ahead_step   takes them, one by one, and then makes steps of its own
 *
 * An iteration is made ahead or by `step`; which, follows from the settings and from where the
 * chain stands, so that the numbers of a chain do not depend on how many were asked for at a time.
 * A state may be saved only when all are taken: the sampler's matrix is ahead of the chain, too.
 */
#pragma once

#include "context/device/walk.h"
#include "sampler/sampler.h"

typedef struct sgfsi_ahead {
    const sgfsi_walk_law *law;
    sgfsi_walk_step *step; /* for `room` iterations, as all of these: */
    int64_t room;
    void *spare; /* of the size of the sampler's state */
    sgfsi_walk walk;
    int64_t taken;
    bool stuck; /* the iteration after those that are made has to be made by `step` */
} sgfsi_ahead;

/* After the kind's own open: s->ahead; NULL where the device, the posterior or the kind cannot. */
sgfs_status sgfsi_ahead_open(sgfs_sampler *s, sgfs_err *err);
/* At most `most` iterations from `first` on; thin says which of them are kept. */
void sgfsi_ahead_plan(sgfs_sampler *s, sgfs_iteration first, int64_t thin, int64_t most);
/* walks: room for as many. */
void sgfsi_ahead_make(sgfs_sampler *const *s, int64_t chains, sgfsi_walk *walks);
/* How far the chain may go now: iterations that are made, and one more where it is stuck. */
int64_t sgfsi_ahead_reach(const sgfs_sampler *s);
/* Is there one left to take? */
static inline bool sgfsi_ahead_waits(const sgfs_sampler *s) {
    return s->ahead != NULL && s->ahead->taken < s->ahead->walk.done;
}
/* Iteration `now`: the next one of those, or where none is left the kind's own step. */
sgfs_status sgfsi_ahead_step(sgfs_sampler *s, const sgfs_iteration *now, double *theta,
                             double *stats, sgfs_err *err);
