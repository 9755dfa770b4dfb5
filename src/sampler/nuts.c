/* SPDX-License-Identifier: MIT
 * nuts.c: the no-U-turn sampler on the full data (Hoffman and Gelman 2014) in its multinomial form
 * (Betancourt 2017), as Stan runs it: the reference that other samplers are measured against.
 *
 * A trajectory grows by doubling, forwards or backwards in time with equal chance, until it turns
 * back on itself, meets the depth limit or diverges. A state of it is the draw with probability
 * proportional to exp(-H): inside a new half uniformly by weight, and between the old half and the
 * new one with a bias to the new, min(1, w_new/w_old), which keeps the law and moves further.
 *
 * U-turn, for a (sub)tree with ends a and b, v = W p and rho = the sum of p over its states:
 *     it goes on while   v_a . rho > 0  and  v_b . rho > 0
 * checked for each tree and, across the seam of its two halves, for each half with the neighbouring
 * state of the other (without those checks a tree of whole turns looks straight).
 *
 * A new half that turned or diverged inside is thrown away and ends the trajectory: no state of it
 * may be the draw, or the move would not be reversible.
 *
 * A tree is kept as its two ends, rho, weight and one proposal; halves are joined by swapping
 * pointers. Room for one tree per level is made in open; the recursion is max_depth deep.
 */
#include <math.h>
#include <string.h>

#include "sampler/hamiltonian.h"

/* Statistics of a draw. */
enum { LP, ACCEPTANCE, STEP_SIZE, DEPTH, STEPS, DIVERGING, ENERGY, STATS };

typedef struct settings {
    sgfsi_hamiltonian_settings h; /* first: hamiltonian.c looks at it */
} settings;

static const sgfsi_setting setting_list[] = {
    {"sampler.epsilon", offsetof(settings, h.epsilon), "epsilon", true},
    SGFSI_HAMILTONIAN_SETTINGS(settings),
    {"sampler.max_depth", offsetof(settings, h.max_depth), NULL, false},
    SGFSI_SETTINGS_END};

/* One end of a tree. */
typedef struct edge {
    double *p, *v; /* D each */
} edge;

/* A state that may become the draw. */
typedef struct proposal {
    double *q, *G; /* D each */
    double lp, energy;
} proposal;

typedef struct tree {
    edge begin, end; /* in the order in which it grew: `begin` touches what was there before */
    double *rho;     /* D */
    double log_weight;
    proposal chosen;
} tree;

typedef struct nuts {
    sgfsi_hamiltonian h; /* first: hamiltonian.c looks at it */
    int64_t max_depth;
    tree whole, fresh;      /* the trajectory; the half that is being added */
    tree *level;            /* max_depth: second halves, by depth */
    sgfsi_point head, tail; /* where the trajectory goes on; its other end */
    sgfsi_stream stream;
    double eps;        /* signed: the direction of growth */
    double start;      /* energy of the trajectory's first state */
    double acceptance; /* summed over the states visited */
    int64_t steps;
    bool diverging;
    sgfs_status status; /* of the leapfrog steps */
} nuts;

static const sgfs_option options[] = {SGFSI_HAMILTONIAN_OPTIONS,
                                      {"sampler.max_depth", "max-depth", SGFS_INTEGER, "10", 1, 24,
                                       NULL, "a trajectory has at most 2^k - 1 leapfrog steps"},
                                      SGFSI_OPTIONS_END};

/* ---- opening --------------------------------------------------------------------------------- */

static bool open_tree(tree *t, int64_t D, sgfsi_arena *arena) {
    return SGFSI_ROOM(arena, D, &t->begin.p, &t->begin.v, &t->end.p, &t->end.v, &t->rho,
                      &t->chosen.q, &t->chosen.G);
}

static sgfs_status open_nuts(sgfs_sampler *sampler, sgfs_err *err) {
    int64_t D = sampler->D;
    nuts *s = sgfsi_arena_alloc(sampler->arena, 1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the sampler");
    sampler->state = s;
    s->max_depth = ((const settings *)sampler->settings)->h.max_depth;
    s->level = sgfsi_arena_alloc(sampler->arena, s->max_depth, sizeof *s->level);
    bool room = s->level != NULL && open_tree(&s->whole, D, sampler->arena) &&
                open_tree(&s->fresh, D, sampler->arena) &&
                sgfsi_point_open(&s->head, D, sampler->arena) &&
                sgfsi_point_open(&s->tail, D, sampler->arena);
    for (int64_t d = 0; room && d < s->max_depth; d++) {
        room = open_tree(&s->level[d], D, sampler->arena);
    }
    return room ? sgfsi_hamiltonian_open(&s->h, sampler, err)
                : sgfsi_fail_memory(err, "the sampler (a smaller --max-depth helps)");
}

/* ---- trees ----------------------------------------------------------------------------------- */

static double uniform(nuts *s) {
    double u;
    sgfsi_uniforms(&s->stream, 1, &u);
    return u;
}

static double log_sum(double a, double b) {
    double most = fmax(a, b);
    return most == -INFINITY ? most : most + log1p(exp(fmin(a, b) - most));
}

/* Do both ends still move along r1 + r2? */
static bool is_straight(const sgfs_device *dev, int64_t D, const double *va, const double *vb,
                        const double *r1, const double *r2) {
    return sgfsi_dot(dev, D, va, r1) + sgfsi_dot(dev, D, va, r2) > 0 &&
           sgfsi_dot(dev, D, vb, r1) + sgfsi_dot(dev, D, vb, r2) > 0;
}

/* The tree of one state. */
static void plant(tree *t, const sgfsi_point *z, double energy, double log_weight, int64_t D) {
    size_t bytes = (size_t)D * sizeof(double);
    memcpy(t->begin.p, z->p, bytes);
    memcpy(t->begin.v, z->v, bytes);
    memcpy(t->end.p, z->p, bytes);
    memcpy(t->end.v, z->v, bytes);
    memcpy(t->rho, z->p, bytes);
    memcpy(t->chosen.q, z->q, bytes);
    memcpy(t->chosen.G, z->G, bytes);
    t->chosen.lp = z->lp;
    t->chosen.energy = energy;
    t->log_weight = log_weight;
}

/* a and then b become a; b is left as room for another. biased: between the trajectory's halves.
 * False: the tree turned. */
static bool join(nuts *s, tree *a, tree *b, bool biased) {
    const sgfs_device *dev = s->h.W.device;
    int64_t D = s->h.W.D;
    double sum = log_sum(a->log_weight, b->log_weight);
    bool straight = is_straight(dev, D, a->begin.v, b->end.v, a->rho, b->rho) &&
                    is_straight(dev, D, a->begin.v, b->begin.v, a->rho, b->begin.p) &&
                    is_straight(dev, D, a->end.v, b->end.v, b->rho, a->end.p);
    if (uniform(s) < exp(b->log_weight - (biased ? a->log_weight : sum))) {
        proposal chosen = b->chosen;
        b->chosen = a->chosen;
        a->chosen = chosen;
    }
    edge end = b->end;
    b->end = a->end;
    a->end = end;
    sgfsi_axpy(dev, D, 1, b->rho, a->rho);
    a->log_weight = sum;
    return straight;
}

/* A tree of 2^depth states from the head on; false: it turned, diverged or failed. */
static bool grow(nuts *s, int64_t depth, tree *t, sgfs_err *err) {
    if (depth == 0) { /* one leapfrog step of the head */
        s->status = sgfsi_leapfrog(&s->h, &s->head, s->eps, err);
        s->steps++;
        if (s->status != SGFS_OK) return false;
        double energy = sgfsi_hamiltonian_energy(&s->h, &s->head), lost = s->start - energy;
        s->acceptance += fmin(1, exp(lost));
        s->diverging = -lost > sgfsi_most_error;
        if (!s->diverging) plant(t, &s->head, energy, lost, s->h.W.D);
        return !s->diverging;
    }
    tree *second = &s->level[depth - 1];
    return grow(s, depth - 1, t, err) && grow(s, depth - 1, second, err) &&
           join(s, t, second, false);
}

/* ---- the step -------------------------------------------------------------------------------- */

/* Double until something stops it; returns the depth reached. */
static int64_t grow_trajectory(nuts *s, sgfs_err *err) {
    int64_t depth = 0;
    bool straight = true;
    while (straight && depth < s->max_depth) {
        bool forwards = uniform(s) > 0.5;
        if (forwards != (s->eps > 0)) { /* go on at the other end */
            edge end = s->whole.end;
            sgfsi_point head = s->head;
            s->whole.end = s->whole.begin;
            s->whole.begin = end;
            s->head = s->tail;
            s->tail = head;
            s->eps = -s->eps;
        }
        if (!grow(s, depth, &s->fresh, err)) break;
        straight = join(s, &s->whole, &s->fresh, true);
        depth++;
    }
    return depth;
}

static sgfs_status step(sgfs_sampler *sampler, const sgfs_iteration *now, double *theta,
                        double *stats, sgfs_err *err) {
    nuts *s = sampler->state;
    sgfsi_hamiltonian *h = &s->h;
    size_t bytes = (size_t)sampler->D * sizeof *theta;
    double energy;
    sgfs_status status = sgfsi_hamiltonian_begin(h, now, theta, &energy, err);
    if (status != SGFS_OK) return status;
    s->stream = sgfsi_stream_at(sampler->seed, sampler->chain, now->t, SGFSI_TREE);
    s->eps = h->eps;
    s->start = energy;
    s->acceptance = 0;
    s->steps = 0;
    s->diverging = false;
    s->status = SGFS_OK;
    sgfsi_point_copy(&s->head, &h->here, sampler->D);
    sgfsi_point_copy(&s->tail, &h->here, sampler->D);
    plant(&s->whole, &h->here, energy, 0, sampler->D);
    int64_t depth = grow_trajectory(s, err);
    if (s->status != SGFS_OK) return s->status;

    const proposal *chosen = &s->whole.chosen;
    memcpy(theta, chosen->q, bytes);
    memcpy(h->here.q, chosen->q, bytes);
    memcpy(h->here.G, chosen->G, bytes);
    h->here.lp = chosen->lp;
    stats[LP] = chosen->lp;
    stats[ACCEPTANCE] = s->acceptance / (double)s->steps;
    stats[STEP_SIZE] = h->eps;
    stats[DEPTH] = (double)depth;
    stats[STEPS] = (double)s->steps;
    stats[DIVERGING] = s->diverging;
    stats[ENERGY] = chosen->energy;
    return sgfsi_hamiltonian_end(h, now, stats[ACCEPTANCE], err);
}

static const char *const stats[] = {
    SGFSI_TRAJECTORY_STATS, [DEPTH] = SGFSI_STAT_TREE_DEPTH, [STATS] = NULL};

static const char *const tuned[] = {"sampler.epsilon", NULL};

const sgfs_sampler_kind sgfs_sampler_nuts = {
    .name = "nuts",
    .help = "the no-U-turn sampler on the full data: exact, and nothing to tune",
    .options = options,
    .settings = setting_list,
    .settings_size = sizeof(settings),
    .stats = stats,
    .tuned = tuned,
    SGFSI_HAMILTONIAN_HOOKS,
    .open = open_nuts,
    .step = step,
};
