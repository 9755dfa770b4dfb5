/* SPDX-License-Identifier: MIT
 * exact_pairs.c: draws from the posterior itself, each looking at all rows, hundreds of them in one
 * product of matrices (docs/beyond.md).
 *
 *     theta = c +- u,   u = L^-T z,   z ~ N(0, I)                       (posterior/hill.h)
 *     w+- = log p(c +- u | y) + |z|^2/2,   W = log((e^w+ + e^w-)/2)
 *     a new pair is accepted with probability min(1, e^(W' - W));
 *     the sign is drawn with odds e^(w+ - w-), anew at every iteration.
 *
 * Why it is exact: (z, s) has the law p(c + s u | y). Given z the sign is drawn from its
 * conditional, and the marginal of z is proportional to e^W phi(z), for which independent proposals
 * from phi with weight e^W are the Metropolis rule. Odd terms of the log density, the cubic one
 * above all, cancel in W: that is why most proposals are accepted.
 *
 * Proposals do not depend on where the chain is, so those of many iterations are made together: the
 * rows are read once for all of them (posterior/places.h). A chain is the same up to rounding
 * however many are made together.
 *
 * local  Where the posterior's tails are heavier than the Gaussian's, a chain that got far out has
 *        a weight that no proposal beats. So each block begins with short moves as well, several
 *        at once, in the same pass: from a point y near z others are drawn near y,
 *            y = rho z + r xi,   z_k = rho y + r xi_k,   r^2 = 1 - rho^2,
 *        and one of them and z is taken in proportion to e^W. Given y all of these are exchangeable
 *        under phi, so that the choice is from their conditional law. 1 - rho is 0.5, 0.2, 0.1 and
 *        0.03 in turn.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "posterior/early.h"
#include "posterior/hill.h"
#include "sampler/sampler.h"

enum { LP, ACCEPT, STATS };
#ifndef SGFSI_PAIRS_OF_A_BLOCK
#define SGFSI_PAIRS_OF_A_BLOCK 240 /* a test has fewer, so that local moves are many */
#endif
enum { PROPOSALS = SGFSI_PAIRS_OF_A_BLOCK, LOCAL = 16, ALL = PROPOSALS + LOCAL, SHORTER = 4 };
static const double shorter[SHORTER] = {0.5, 0.2, 0.1, 0.03};

typedef struct settings {
    double tolerance;
} settings;

static const sgfsi_setting setting_list[] = {
    {"sampler.anchor_tolerance", offsetof(settings, tolerance), NULL, false}, SGFSI_SETTINGS_END};

/* A pair: its log densities and the log of its weight. */
typedef struct pair {
    double plus, minus, weight;
} pair;

/* What becomes of a proposal: whether the chain goes there; the uniform that decides the sign. */
typedef struct choice {
    double weight, sign;
    bool accepted;
} choice;

/* Proposals of several blocks, made together. */
typedef struct batch {
    int64_t first; /* block; -1: there is none */
    sgfsi_pairs of;
} batch;

typedef struct pairs {
    sgfsi_hill own;
    const sgfsi_hill *hill; /* the first chain's */
    sgfsi_places places;
    double *z, *u; /* D: the pair that the chain is at */
    pair at;
    bool begun;
    int64_t made;              /* the block whose pairs are known; -1: none */
    int64_t held;              /* the block whose proposals and choices are in memory; -1: none */
    double *Z, *U, *y;         /* ALL x D: proposals, then places for local moves; D */
    double *plus, *minus;      /* ALL */
    const double *at_Z, *at_U; /* PROPOSALS x D, of the block that is held: there, or in a batch */
    choice *next;              /* PROPOSALS */
    /* Where a device is far, the proposals of several blocks are made together, and those of the
     * blocks after them, where it can, while the chain takes these. Local moves begin at the
     * chain's place, which is known as soon as the choices of the block before are made. */
    int64_t blocks; /* of a batch */
    batch known, coming;
    sgfsi_early drawn, local;
    int64_t asked; /* the block whose local moves are under way; -1: none */
} pairs;

/* ---- opening --------------------------------------------------------------------------------- */

static sgfs_status plan_pairs(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    sgfs_status status = sgfsi_plan_refuse(plan, now, sgfsi_hill_refuses(now->model), err);
    if (status != SGFS_OK) return status;
    sgfsi_plan_lengths(plan, 200, 1000, NAN); /* five whole blocks */
    return sgfsi_plan_refuse_start(plan, true, "chains begin at draws of the Gaussian at the mode",
                                   err);
}

static sgfs_status open_hill(sgfs_sampler *s, pairs *e, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    int64_t threads = s->plan->cores;
    e->hill = s->plan->hill != NULL ? s->plan->hill : &e->own;
    if (s->plan->hill == NULL)
        status = s->anchor != NULL
                     ? sgfsi_hill_open(&e->own, s->model, s->anchor, threads, s->arena, err)
                     : sgfsi_hill_find(&e->own, s->model, threads, s->arena, err);
    if (status != SGFS_OK) return status;
    const sgfsi_hill *h = e->hill;
    s->full.rows_touched += h->passes * s->model->data->N;
    sgfsi_json *o = sgfsi_json_object();
    SGFSI_JSON(o, h, shift, accept, tau, excess, seconds);
    sgfsi_json_flag(o, "heavy", sgfsi_hill_is_heavy(h));
    sgfsi_json_put(s->report, "pairs", o);
    if (isfinite(h->tau)) sgfsi_json_num(s->report, "tau_predicted", h->tau);
    sgfsi_say(s->log, SGFS_DETAIL,
              "Exact draws, up to Monte Carlo error: %.0f %% of proposals are accepted around a "
              "centre %.2g posterior sd from the mode (tried in %lld passes, %.2g s).",
              100 * h->accept, h->shift, (long long)h->passes, h->seconds);
    return SGFS_OK;
}

/* Room for batches, and whoever makes them. */
static sgfs_status open_batches(sgfs_sampler *s, pairs *e, sgfs_err *err) {
    int64_t D = s->D, count = e->blocks * PROPOSALS;
    const sgfs_device *dev = s->model->ctx.device;
    sgfsi_pairs_law law = {.D = D,
                           .most = count,
                           .centre = e->hill->centre,
                           .spread = e->hill->spread,
                           .seed = s->seed,
                           .chain = s->chain};
    sgfsi_pairs *const of[] = {&e->known.of, &e->coming.of};
    for (int k = 0; k < 2; k++) {
        of[k]->K = count;
        of[k]->Z = sgfsi_device_lend(dev, count * D, s->arena);
        of[k]->U = sgfsi_device_lend(dev, count * D, s->arena);
        if (of[k]->Z == NULL || of[k]->U == NULL ||
            !SGFSI_ROOM(s->arena, count, &of[k]->plus, &of[k]->minus))
            return sgfsi_fail_memory(err, "the sampler");
    }
    sgfs_status status = sgfsi_early_open(&e->drawn, &e->places, &law, s->arena, err);
    law.most = LOCAL;
    law.spread = NULL;
    if (status == SGFS_OK) status = sgfsi_early_open(&e->local, &e->places, &law, s->arena, err);
    return status;
}

static sgfs_status open_pairs(sgfs_sampler *s, sgfs_err *err) {
    const settings *set = s->settings;
    int64_t D = s->D;
    pairs *e = s->state = sgfsi_arena_alloc(s->arena, 1, sizeof *e);
    if (e == NULL || !SGFSI_ROOM(s->arena, D, &e->z, &e->u, &e->y) ||
        !SGFSI_ROOM(s->arena, ALL * D, &e->Z, &e->U) ||
        !SGFSI_ROOM(s->arena, ALL, &e->plus, &e->minus))
        return sgfsi_fail_memory(err, "the sampler");
    e->next = sgfsi_arena_alloc(s->arena, PROPOSALS, sizeof *e->next);
    if (e->next == NULL) return sgfsi_fail_memory(err, "the sampler");
    e->made = e->held = e->asked = e->known.first = e->coming.first = -1;
    e->blocks = sgfsi_places_at_once(s->model, PROPOSALS);
    int64_t count = e->blocks * PROPOSALS;
    sgfs_status status = SGFS_OK;
    if (sgfsi_anchor_refuses(s->model) == NULL)
        status = sgfsi_sampler_anchor(s, set->tolerance, false, err);
    if (status == SGFS_OK && s->first == NULL) status = open_hill(s, e, err);
    if (s->first != NULL) e->hill = ((const pairs *)s->first->state)->hill;
    if (status == SGFS_OK)
        status = sgfsi_places_open(&e->places, s->model, count > ALL ? count : ALL, false,
                                   s->plan->inner, s->arena, err);
    e->places.full.stop = s->plan->stop;
    if (status == SGFS_OK && e->blocks > 1) status = open_batches(s, e, err);
    return status;
}

/* ---- a block of proposals -------------------------------------------------------------------- */

/* Log densities at pairs, all of which have to be numbers. */
static sgfs_status check(sgfs_sampler *s, const pairs *e, int64_t K, sgfs_err *err) {
    s->full.rows_touched += s->model->data->N;
    if (e->places.nans == 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ENUMERIC, "the log density is not a number at %lld of %lld places",
                      (long long)e->places.nans, (long long)(2 * K));
}

static sgfs_status ask(sgfs_sampler *s, pairs *e, int64_t K, const double *U, double *plus,
                       double *minus, sgfs_err *err) {
    sgfs_status status = sgfsi_places_pairs(&e->places, e->hill->centre, K, U, plus, minus, err);
    return status == SGFS_OK ? check(s, e, K, err) : status;
}

static sgfs_status take(sgfs_sampler *s, const pairs *e, sgfsi_early *early, sgfs_err *err) {
    sgfs_status status = sgfsi_early_take(early, err);
    return status == SGFS_OK ? check(s, e, early->now.K, err) : status;
}

static void begin_batch(pairs *e, int64_t first) {
    e->coming.first = first;
    e->coming.of.first = first * PROPOSALS + 1;
    sgfsi_early_begin(&e->drawn, &e->coming.of);
}

/* The batch with this block, and the next one is begun, if the run gets there. Batches begin at
 * the same blocks always: a run that is taken up again makes the same ones. */
static sgfs_status look_ahead(sgfs_sampler *s, pairs *e, const sgfs_iteration *now, int64_t block,
                              sgfs_err *err) {
    int64_t D = s->D, first = block - block % e->blocks, after = first + e->blocks;
    sgfsi_pairs *of = &e->known.of;
    sgfs_status status;
    e->known.first = -1;
    if (e->drawn.pairs != NULL) {
        if (e->coming.first != first) begin_batch(e, first);
        status = take(s, e, &e->drawn, err);
        batch taken = e->coming;
        e->coming = (batch){-1, e->known.of};
        e->known = (batch){-1, taken.of};
        if (after * PROPOSALS < now->warmup + now->draws) begin_batch(e, after);
    } else {
        for (int64_t k = 0; k < of->K; k++)
            sgfsi_sampler_normals(s, first * PROPOSALS + 1 + k, SGFSI_NOISE, of->Z + k * D);
        sgfsi_hill_directions(e->hill, of->K, of->Z, of->U);
        status = ask(s, e, of->K, of->U, of->plus, of->minus, err);
    }
    if (status == SGFS_OK) e->known.first = first;
    return status;
}

/* Z and U of a block's proposals. */
static sgfs_status lay_out(sgfs_sampler *s, pairs *e, const sgfs_iteration *now, int64_t block,
                           sgfs_err *err) {
    int64_t D = s->D, first = block * PROPOSALS + 1, from = block % e->blocks * PROPOSALS;
    e->at_Z = e->Z;
    e->at_U = e->U;
    if (e->blocks == 1) {
        for (int64_t k = 0; k < PROPOSALS; k++)
            sgfsi_sampler_normals(s, first + k, SGFSI_NOISE, e->Z + k * D);
        return SGFS_OK;
    }
    bool known = e->known.first >= 0 && e->known.first == block - block % e->blocks;
    sgfs_status status = known ? SGFS_OK : look_ahead(s, e, now, block, err);
    e->at_Z = e->known.of.Z + from * D;
    e->at_U = e->known.of.U + from * D;
    return status;
}

/* Places near z for the local moves of a block, behind the proposals. */
static void lay_near(const sgfs_sampler *s, pairs *e, int64_t block, const double *z) {
    int64_t D = s->D;
    double rho = 1 - shorter[block % SHORTER], r = sqrt(1 - rho * rho);
    double *y = e->y, *local = e->Z + PROPOSALS * D;
    sgfsi_stream stream = sgfsi_stream_at(s->seed, s->chain, block * PROPOSALS + 1, SGFSI_TREE);
    sgfsi_normals(&stream, D, y);
    sgfsi_normals(&stream, LOCAL * D, local);
    for (int64_t j = 0; j < D; j++) y[j] = rho * z[j] + r * y[j];
    for (int64_t k = 0; k < LOCAL; k++)
        for (int64_t j = 0; j < D; j++) local[k * D + j] = rho * y[j] + r * local[k * D + j];
}

/* The local moves of a block are asked for, while the chain takes the block before. */
static void ask_near(const sgfs_sampler *s, pairs *e, int64_t block, const double *z) {
    int64_t from = PROPOSALS * s->D;
    const sgfsi_pairs near = {
        .K = LOCAL, .U = e->U + from, .plus = e->plus + PROPOSALS, .minus = e->minus + PROPOSALS};
    lay_near(s, e, block, z);
    sgfsi_hill_directions(e->hill, LOCAL, e->Z + from, e->U + from);
    sgfsi_early_begin(&e->local, &near);
    e->asked = block;
}

/* The log densities of the block that is laid out. */
static sgfs_status make(sgfs_sampler *s, pairs *e, int64_t block, sgfs_err *err) {
    int64_t near = PROPOSALS * s->D;
    if (e->blocks == 1) {
        lay_near(s, e, block, e->z);
        sgfsi_hill_directions(e->hill, ALL, e->Z, e->U);
        return ask(s, e, ALL, e->U, e->plus, e->minus, err);
    }
    int64_t from = block % e->blocks * PROPOSALS;
    memcpy(e->plus, e->known.of.plus + from, PROPOSALS * sizeof *e->plus);
    memcpy(e->minus, e->known.of.minus + from, PROPOSALS * sizeof *e->minus);
    if (e->local.pairs != NULL) {
        if (e->asked != block) ask_near(s, e, block, e->z);
        e->asked = -1;
        return take(s, e, &e->local, err);
    }
    lay_near(s, e, block, e->z);
    sgfsi_hill_directions(e->hill, LOCAL, e->Z + near, e->U + near);
    return ask(s, e, LOCAL, e->U + near, e->plus + PROPOSALS, e->minus + PROPOSALS, err);
}

/* The pair whose z is given, number k of plus and minus. */
static pair pair_at(const sgfs_sampler *s, const pairs *e, int64_t k, const double *z) {
    double square = sgfsi_dot(s->model->ctx.near, s->D, z, z);
    return (pair){e->plus[k], e->minus[k], sgfsi_hill_weight(e->plus[k], e->minus[k], square)};
}

static void go(const sgfs_sampler *s, pairs *e, const double *z, const double *u, pair to) {
    memcpy(e->z, z, (size_t)s->D * sizeof *e->z);
    memcpy(e->u, u, (size_t)s->D * sizeof *e->u);
    e->at = to;
}

/* A chain begins at the first pair that has a density; false: none has. */
static bool begin(const sgfs_sampler *s, pairs *e) {
    for (int64_t k = 0; k < PROPOSALS && !e->begun; k++) {
        pair first = pair_at(s, e, k, e->at_Z + k * s->D);
        e->begun = first.weight > -INFINITY;
        if (e->begun) go(s, e, e->at_Z + k * s->D, e->at_U + k * s->D, first);
    }
    return e->begun;
}

/* One of the places near z, or z, in proportion to their weights. */
static void move_locally(const sgfs_sampler *s, pairs *e, double uniform) {
    int64_t D = s->D;
    pair near[LOCAL];
    double most = e->at.weight, sum = 0;
    for (int64_t k = 0; k < LOCAL; k++) {
        near[k] = pair_at(s, e, PROPOSALS + k, e->Z + (PROPOSALS + k) * D);
        most = fmax(most, near[k].weight);
    }
    for (int64_t k = 0; k < LOCAL; k++) sum += exp(near[k].weight - most);
    double left = uniform * (sum + exp(e->at.weight - most));
    for (int64_t k = 0; k < LOCAL; k++) {
        left -= exp(near[k].weight - most);
        if (left >= 0) continue;
        go(s, e, e->Z + (PROPOSALS + k) * D, e->U + (PROPOSALS + k) * D, near[k]);
        return;
    }
}

/* ---- one iteration --------------------------------------------------------------------------- */

static void three_uniforms(const sgfs_sampler *s, int64_t t, double u[4]) {
    sgfsi_stream stream = sgfsi_stream_at(s->seed, s->chain, t, SGFSI_ACCEPT);
    sgfsi_uniforms(&stream, 3, u);
}

/* What becomes of the proposals of iteration t and of the others of its block, which nothing that
 * happens in between can change; and the local moves after them are asked for. */
static void choose(const sgfs_sampler *s, pairs *e, int64_t t) {
    int64_t block = (t - 1) / PROPOSALS, D = s->D;
    double weight = e->at.weight, u[4];
    const double *z = e->z;
    for (int64_t k = (t - 1) % PROPOSALS; k < PROPOSALS; k++) {
        three_uniforms(s, block * PROPOSALS + 1 + k, u);
        double its = pair_at(s, e, k, e->at_Z + k * D).weight;
        e->next[k] = (choice){its, u[1], log(u[0]) < its - weight};
        if (!e->next[k].accepted) continue;
        weight = its;
        z = e->at_Z + k * D;
    }
    if (e->local.pairs != NULL) ask_near(s, e, block + 1, z);
}

/* The block of iteration `now`: its proposals, a local move where it begins, and what becomes of
 * them. */
static sgfs_status hold(sgfs_sampler *s, pairs *e, const sgfs_iteration *now, sgfs_err *err) {
    int64_t block = (now->t - 1) / PROPOSALS;
    bool again = e->made == block; /* a run that is taken up */
    double u[4];
    sgfs_status status = lay_out(s, e, now, block, err);
    if (status == SGFS_OK && again && e->blocks == 1)
        sgfsi_hill_directions(e->hill, ALL, e->Z, e->U); /* as they were made */
    if (status == SGFS_OK && !again) status = make(s, e, block, err);
    if (status != SGFS_OK) return status;
    if (!again) {
        e->made = block;
        three_uniforms(s, now->t, u);
        if (e->begun) move_locally(s, e, u[2]);
        else if (!begin(s, e))
            return sgfsi_fail(err, SGFS_ENUMERIC, "no proposal has a density (diverged)");
    }
    choose(s, e, now->t);
    e->held = block;
    return SGFS_OK;
}

static sgfs_status step(sgfs_sampler *s, const sgfs_iteration *now, double *theta, double *stats,
                        sgfs_err *err) {
    pairs *e = s->state;
    int64_t block = (now->t - 1) / PROPOSALS, k = (now->t - 1) % PROPOSALS;
    sgfs_status status = e->held != block ? hold(s, e, now, err) : SGFS_OK;
    if (status != SGFS_OK) return status;
    const choice *c = &e->next[k];
    if (c->accepted)
        go(s, e, e->at_Z + k * s->D, e->at_U + k * s->D,
           (pair){e->plus[k], e->minus[k], c->weight});
    bool up = c->sign * (1 + exp(e->at.minus - e->at.plus)) < 1;
    for (int64_t j = 0; j < s->D; j++) theta[j] = e->hill->centre[j] + (up ? e->u[j] : -e->u[j]);
    stats[LP] = up ? e->at.plus : e->at.minus;
    stats[ACCEPT] = c->accepted;
    return SGFS_OK;
}

static void fields(const sgfs_sampler *s, sgfsi_fields *list) {
    pairs *e = s->state;
    SGFSI_FIELD_ARRAY(list, e, z, s->D);
    SGFSI_FIELD_ARRAY(list, e, u, s->D);
    SGFSI_FIELD_ARRAY(list, e, plus, ALL);
    SGFSI_FIELD_ARRAY(list, e, minus, ALL);
    SGFSI_FIELD(list, "at", &e->at.plus, 3);
    SGFSI_FIELD_ONE(list, e, begun);
    SGFSI_FIELD_ONE(list, e, made);
}

static const char *const stats[] = {
    [LP] = SGFSI_STAT_LP, [ACCEPT] = SGFSI_STAT_ACCEPT, [STATS] = NULL};

static const sgfs_option options[] = {SGFSI_ANCHOR_ROWS, SGFSI_OPTIONS_END};

const sgfs_sampler_kind sgfs_sampler_exact_pairs = {
    .name = "exact-pairs",
    .help = "exact draws by independent proposals, hundreds in one pass over all rows",
    .options = options,
    .settings = setting_list,
    .settings_size = sizeof(settings),
    .exact = true,
    .instead = "exact-hmc",
    .anchored = true,
    .together = PROPOSALS,
    .full_data = true,
    .stats = stats,
    .plan = plan_pairs,
    .open = open_pairs,
    .step = step,
    .fields = fields,
};
