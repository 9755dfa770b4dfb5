/* SPDX-License-Identifier: MIT
 * ahead.c: iterations ahead of the chain (ahead.h).
 *
 * A sampler that describes an iteration changes: it counts what it has learned. To describe many of
 * them it works on a copy of its state, and does the same again to the state itself when the chain
 * takes them, so that what the device could not make has left no trace.
 */
#include "sampler/ahead.h"

#include <string.h>

#include "posterior/walk_law.h"

enum {
    MOST_AHEAD = 256,      /* iterations: some milliseconds, in which nobody can stop the run */
    MOST_NUMBERS = 1 << 16 /* of a chain's path */
};

static sgfs_status open_law(const sgfs_sampler *s, sgfsi_walk_law *law, sgfs_err *err) {
    sgfs_status status = sgfsi_walk_law_of(&s->eval, law, s->arena, err);
    law->counted = s->model->precision;
    law->matrix = s->fisher == NULL                ? SGFSI_WALK_PLAIN
                  : s->fisher == &sgfs_fisher_diag ? SGFSI_WALK_DIAGONAL
                                                   : SGFSI_WALK_FULL;
    if (s->fisher != NULL && !s->fisher->host && s->fisher != &sgfs_fisher_full) law->X = NULL;
    return status;
}

sgfs_status sgfsi_ahead_open(sgfs_sampler *s, sgfs_err *err) {
    bool first = s->first == NULL;
    if (s->kind->ahead == NULL || s->model->ctx.device->ops->walk == NULL) return SGFS_OK;
    if (!first && s->first->ahead == NULL) return SGFS_OK;
    sgfsi_walk_law *law = first ? sgfsi_arena_alloc(s->arena, 1, sizeof *law) : NULL;
    if (first && law == NULL) return sgfsi_fail_memory(err, "the sampler");
    sgfs_status status = first ? open_law(s, law, err) : SGFS_OK;
    if (status != SGFS_OK || (first && law->X == NULL)) return status;
    int64_t room = MOST_NUMBERS / s->D < MOST_AHEAD ? MOST_NUMBERS / s->D : MOST_AHEAD;
    sgfsi_ahead *a = sgfsi_arena_alloc(s->arena, 1, sizeof *a);
    if (a == NULL) return sgfsi_fail_memory(err, "the sampler");
    a->law = first ? law : s->first->ahead->law;
    a->room = room;
    a->step = sgfsi_arena_alloc(s->arena, room, sizeof *a->step);
    a->spare = sgfsi_arena_alloc(s->arena, 1, s->kind->state_size);
    bool made = SGFSI_ROOM(s->arena, room * s->D, &a->walk.path) &&
                SGFSI_ROOM(s->arena, room * 2, &a->walk.about);
    if (!made || a->step == NULL || a->spare == NULL) return sgfsi_fail_memory(err, "the sampler");
    a->walk.seed = s->seed;
    a->walk.chain = s->chain;
    a->walk.step = a->step;
    a->walk.theta = s->theta;
    for (int k = 0; k < 2; k++) a->walk.average[k] = sgfsi_sym_numbers(s->average[k]);
    a->walk.L = sgfsi_sym_numbers(s->factor);
    s->ahead = a;
    return SGFS_OK;
}

/* Is the log density of iteration t recorded? */
static bool is_kept(const sgfs_iteration *now, int64_t thin) {
    return now->t > now->warmup && (now->t - now->warmup) % thin == 0;
}

void sgfsi_ahead_plan(sgfs_sampler *s, sgfs_iteration now, int64_t thin, int64_t most) {
    sgfsi_ahead *a = s->ahead;
    void *state = s->state;
    bool exploring = s->exploring, described = true;
    int64_t count = 0;
    /* times of warm-up and after it are told apart */
    int64_t left = now.t <= now.warmup ? now.warmup - now.t + 1 : most;
    if (left < most) most = left;
    if (a->room < most) most = a->room;
    memcpy(a->spare, state, s->kind->state_size);
    s->state = a->spare;
    for (; count < most && described; now.t++) {
        a->step[count] = (sgfsi_walk_step){.t = now.t};
        now.want_lp = is_kept(&now, thin);
        described = s->kind->ahead(s, &now, &a->step[count], s->stats);
        a->step[count].want_lp = now.want_lp;
        if (described) count++;
    }
    s->state = state;
    s->exploring = exploring;
    a->walk.count = count;
    a->walk.done = a->taken = 0;
    a->stuck = !described;
}

void sgfsi_ahead_make(sgfs_sampler *const *s, int64_t chains, sgfsi_walk *walks) {
    int64_t walking = 0;
    if (chains == 0) return;
    for (int64_t c = 0; c < chains; c++)
        if (s[c]->ahead->walk.count > 0) walks[walking++] = s[c]->ahead->walk;
    const sgfs_device *dev = s[0]->model->ctx.device;
    if (walking > 0) dev->ops->walk(dev, s[0]->ahead->law, walking, walks);
    for (int64_t c = 0, at = 0; c < chains; c++) {
        sgfsi_ahead *a = s[c]->ahead;
        if (a->walk.count == 0) continue;
        a->walk.done = walks[at++].done;
        a->stuck = a->stuck || a->walk.done < a->walk.count;
    }
}

int64_t sgfsi_ahead_reach(const sgfs_sampler *s) {
    return s->ahead->walk.done + (s->ahead->stuck ? 1 : 0);
}

sgfs_status sgfsi_ahead_step(sgfs_sampler *s, const sgfs_iteration *now, double *theta,
                             double *stats, sgfs_err *err) {
    sgfsi_ahead *a = s->ahead;
    if (!sgfsi_ahead_waits(s)) return s->kind->step(s, now, theta, stats, err);
    int64_t k = a->taken++;
    sgfsi_walk_step step;
    (void)s->kind->ahead(s, now, &step, stats);
    s->eval.rows_touched += s->eval.n;
    memcpy(theta, a->walk.path + k * s->D, (size_t)s->D * sizeof *theta);
    stats[SGFSI_GRAD_NORM] = a->walk.about[2 * k];
    if (now->want_lp) stats[SGFSI_LP] = a->walk.about[2 * k + 1];
    return SGFS_OK;
}
