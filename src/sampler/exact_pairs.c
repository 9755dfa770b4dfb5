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

typedef struct pairs {
    sgfsi_hill own;
    const sgfsi_hill *hill; /* the first chain's */
    sgfsi_places places;
    double *z, *u; /* D: the pair that the chain is at */
    pair at;
    bool begun;
    int64_t made;         /* the block whose pairs are known; -1: none */
    int64_t held;         /* the block whose Z and U are in memory; -1: none */
    double *Z, *U;        /* ALL x D: proposals, then places for local moves */
    double *plus, *minus; /* ALL */
    /* Where a device is far, the proposals of several blocks are made together; local moves, which
     * begin at the chain's place, are asked for when it is there. */
    int64_t blocks, first; /* how many; the first of those that are known, or -1 */
    double *later_Z, *later_U, *later_plus, *later_minus; /* blocks x PROPOSALS; or NULL */
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

static sgfs_status open_pairs(sgfs_sampler *s, sgfs_err *err) {
    const settings *set = s->settings;
    int64_t D = s->D;
    pairs *e = s->state = sgfsi_arena_alloc(s->arena, 1, sizeof *e);
    if (e == NULL || !SGFSI_ROOM(s->arena, D, &e->z, &e->u) ||
        !SGFSI_ROOM(s->arena, ALL * D, &e->Z, &e->U) ||
        !SGFSI_ROOM(s->arena, ALL, &e->plus, &e->minus))
        return sgfsi_fail_memory(err, "the sampler");
    e->made = e->held = e->first = -1;
    e->blocks = sgfsi_places_at_once(s->model, PROPOSALS);
    int64_t count = e->blocks * PROPOSALS;
    if (e->blocks > 1) {
        e->later_U = sgfsi_device_lend(s->model->ctx.device, count * D, s->arena);
        if (e->later_U == NULL || !SGFSI_ROOM(s->arena, count * D, &e->later_Z) ||
            !SGFSI_ROOM(s->arena, count, &e->later_plus, &e->later_minus))
            return sgfsi_fail_memory(err, "the sampler");
    }
    sgfs_status status = SGFS_OK;
    if (sgfsi_anchor_refuses(s->model) == NULL)
        status = sgfsi_sampler_anchor(s, set->tolerance, false, err);
    if (status == SGFS_OK && s->first == NULL) status = open_hill(s, e, err);
    if (s->first != NULL) e->hill = ((const pairs *)s->first->state)->hill;
    if (status == SGFS_OK)
        status = sgfsi_places_open(&e->places, s->model, count > ALL ? count : ALL, false,
                                   s->plan->inner, s->arena, err);
    e->places.full.stop = s->plan->stop;
    return status;
}

/* ---- a block of proposals -------------------------------------------------------------------- */

static bool is_known(const pairs *e, int64_t block) {
    return e->first >= 0 && block >= e->first && block < e->first + e->blocks;
}

/* Log densities at pairs, all of which have to be numbers. */
static sgfs_status ask(sgfs_sampler *s, pairs *e, int64_t K, const double *U, double *plus,
                       double *minus, sgfs_err *err) {
    sgfs_status status = sgfsi_places_pairs(&e->places, e->hill->centre, K, U, plus, minus, err);
    if (status != SGFS_OK) return status;
    if (e->places.nans > 0)
        return sgfsi_fail(err, SGFS_ENUMERIC,
                          "the log density is not a number at %lld of %lld places",
                          (long long)e->places.nans, (long long)(2 * K));
    s->full.rows_touched += s->model->data->N;
    return SGFS_OK;
}

/* The proposals of this block and of those after it. */
static sgfs_status look_ahead(sgfs_sampler *s, pairs *e, int64_t block, sgfs_err *err) {
    int64_t D = s->D, count = e->blocks * PROPOSALS, first = block * PROPOSALS + 1;
    for (int64_t k = 0; k < count; k++)
        sgfsi_sampler_normals(s, first + k, SGFSI_NOISE, e->later_Z + k * D);
    sgfsi_hill_directions(e->hill, count, e->later_Z, e->later_U);
    e->first = -1;
    sgfs_status status = ask(s, e, count, e->later_U, e->later_plus, e->later_minus, err);
    if (status == SGFS_OK) e->first = block;
    return status;
}

/* Z and U of a block; local moves begin at the chain's own place, so that theirs are right only
 * when a block is made. */
static void lay_out(const sgfs_sampler *s, pairs *e, int64_t block) {
    int64_t D = s->D, first = block * PROPOSALS + 1;
    bool known = is_known(e, block);
    for (int64_t k = 0; k < PROPOSALS && !known; k++)
        sgfsi_sampler_normals(s, first + k, SGFSI_NOISE, e->Z + k * D);
    double rho = 1 - shorter[block % SHORTER], r = sqrt(1 - rho * rho);
    double *y = e->U, *local = e->Z + PROPOSALS * D; /* U is filled below */
    sgfsi_stream stream = sgfsi_stream_at(s->seed, s->chain, first, SGFSI_TREE);
    sgfsi_normals(&stream, D, y);
    sgfsi_normals(&stream, LOCAL * D, local);
    for (int64_t j = 0; j < D; j++) y[j] = rho * e->z[j] + r * y[j];
    for (int64_t i = 0; i < LOCAL * D; i++) local[i] = rho * y[i % D] + r * local[i];
    e->held = block;
    if (!known) {
        sgfsi_hill_directions(e->hill, ALL, e->Z, e->U);
        return;
    }
    int64_t from = (block - e->first) * PROPOSALS;
    memcpy(e->Z, e->later_Z + from * D, (size_t)(PROPOSALS * D) * sizeof *e->Z);
    memcpy(e->U, e->later_U + from * D, (size_t)(PROPOSALS * D) * sizeof *e->U);
    sgfsi_hill_directions(e->hill, LOCAL, local, e->U + PROPOSALS * D);
}

/* The log densities of the block that is laid out. */
static sgfs_status make(sgfs_sampler *s, pairs *e, int64_t block, sgfs_err *err) {
    if (!is_known(e, block)) return ask(s, e, ALL, e->U, e->plus, e->minus, err);
    int64_t from = (block - e->first) * PROPOSALS;
    memcpy(e->plus, e->later_plus + from, PROPOSALS * sizeof *e->plus);
    memcpy(e->minus, e->later_minus + from, PROPOSALS * sizeof *e->minus);
    return ask(s, e, LOCAL, e->U + PROPOSALS * s->D, e->plus + PROPOSALS, e->minus + PROPOSALS,
               err);
}

static pair pair_at(const sgfs_sampler *s, const pairs *e, int64_t k) {
    const double *z = e->Z + k * s->D;
    double square = sgfsi_dot(s->model->ctx.near, s->D, z, z);
    return (pair){e->plus[k], e->minus[k], sgfsi_hill_weight(e->plus[k], e->minus[k], square)};
}

static void go(const sgfs_sampler *s, pairs *e, int64_t k, pair to) {
    memcpy(e->z, e->Z + k * s->D, (size_t)s->D * sizeof *e->z);
    memcpy(e->u, e->U + k * s->D, (size_t)s->D * sizeof *e->u);
    e->at = to;
}

/* A chain begins at the first pair that has a density; false: none has. */
static bool begin(const sgfs_sampler *s, pairs *e) {
    for (int64_t k = 0; k < PROPOSALS && !e->begun; k++) {
        pair first = pair_at(s, e, k);
        e->begun = first.weight > -INFINITY;
        if (e->begun) go(s, e, k, first);
    }
    return e->begun;
}

/* One of the places near z, or z, in proportion to their weights. */
static void move_locally(const sgfs_sampler *s, pairs *e, double uniform) {
    pair near[LOCAL];
    double most = e->at.weight, sum = 0;
    for (int64_t k = 0; k < LOCAL; k++) {
        near[k] = pair_at(s, e, PROPOSALS + k);
        most = fmax(most, near[k].weight);
    }
    for (int64_t k = 0; k < LOCAL; k++) sum += exp(near[k].weight - most);
    double left = uniform * (sum + exp(e->at.weight - most));
    for (int64_t k = 0; k < LOCAL; k++) {
        left -= exp(near[k].weight - most);
        if (left >= 0) continue;
        go(s, e, PROPOSALS + k, near[k]);
        return;
    }
}

/* ---- one iteration --------------------------------------------------------------------------- */

static sgfs_status step(sgfs_sampler *s, const sgfs_iteration *now, double *theta, double *stats,
                        sgfs_err *err) {
    pairs *e = s->state;
    int64_t block = (now->t - 1) / PROPOSALS, k = (now->t - 1) % PROPOSALS;
    double u[4];
    sgfsi_stream stream = sgfsi_stream_at(s->seed, s->chain, now->t, SGFSI_ACCEPT);
    sgfsi_uniforms(&stream, 3, u);
    sgfs_status status = SGFS_OK;
    if (e->made != block && e->blocks > 1 && !is_known(e, block))
        status = look_ahead(s, e, block, err);
    if (status == SGFS_OK && (e->held != block || e->made != block)) lay_out(s, e, block);
    if (status == SGFS_OK && e->made != block) {
        status = make(s, e, block, err);
        if (status != SGFS_OK) return status;
        e->made = block;
        if (e->begun) move_locally(s, e, u[2]);
        else if (!begin(s, e))
            return sgfsi_fail(err, SGFS_ENUMERIC, "no proposal has a density (diverged)");
    }
    if (status != SGFS_OK) return status;
    pair next = pair_at(s, e, k);
    bool accepted = log(u[0]) < next.weight - e->at.weight;
    if (accepted) go(s, e, k, next);
    bool up = u[1] * (1 + exp(e->at.minus - e->at.plus)) < 1;
    for (int64_t j = 0; j < s->D; j++) theta[j] = e->hill->centre[j] + (up ? e->u[j] : -e->u[j]);
    stats[LP] = up ? e->at.plus : e->at.minus;
    stats[ACCEPT] = accepted;
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
