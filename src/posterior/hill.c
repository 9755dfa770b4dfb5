/* SPDX-License-Identifier: MIT
 * hill.c: see hill.h.
 */
#include "posterior/hill.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/ticker.h"
#include "model/prior.h"
#include "posterior/mode.h"

enum { PAIRS = 64, TRIED = 3 };
/* The mean weight estimates the same integral around every centre. One for which it is lower by so
 * much (in logarithms) has left the hill: so far out all weights may be rounded to the same. */
static const double most_lost = 2;

void sgfsi_hill_directions(const sgfsi_hill *h, int64_t K, const double *Z, double *U) {
    sgfsi_gemm_nn(h->dev, K, h->D, h->D, 1.0, Z, h->spread, 0.0, U);
}

double sgfsi_hill_weight(double plus, double minus, double square) {
    double most = fmax(plus, minus), less = fmin(plus, minus);
    return most > -INFINITY ? most + log1p(exp(less - most)) - M_LN2 + 0.5 * square : -INFINITY;
}

/* What K proposals with these log weights are worth to an independent chain: acceptance,
 * autocorrelation time, and the log of the mean weight. A proposal that the chain is at, which
 * happens in proportion to its weight, is left with probability a_k, the mean of
 * min(1, e^(W_l - W_k)) over the others, and stays for 1/a_k iterations. */
typedef struct worth {
    double accept, tau, weight;
} worth;

static worth judge(int64_t K, const double *W) {
    double most = -INFINITY, sum = 0;
    worth w = {0};
    for (int64_t k = 0; k < K; k++) most = fmax(most, W[k]);
    for (int64_t k = 0; k < K; k++) {
        double a = 0, weight = exp(W[k] - most);
        if (!(weight > 0)) continue;
        for (int64_t l = 0; l < K; l++) a += l == k ? 0 : fmin(1, exp(W[l] - W[k]));
        a /= (double)(K - 1);
        sum += weight;
        w.accept += weight * a;
        w.tau += weight * (2 / a - 1);
    }
    w.accept = sum > 0 ? w.accept / sum : 0;
    w.tau = sum > 0 && isfinite(w.tau) ? w.tau / sum : INFINITY;
    w.weight = most + log(sum / (double)K);
    return w;
}

/* One trial: what the pairs around `centre` are worth, and (step: D) the next shift. */
typedef struct trial {
    sgfsi_arena own;
    int64_t threads;
    sgfsi_places places;
    double *Z, *U, *theta, *G, *lp, *W; /* W: log weights */
    double *step, *centre;
    double weight; /* log of an ordinary pair's; -INFINITY: log p(centre) */
} trial;

/* h, of which D, dev and L are set, around `centre`. */
static sgfs_status prepare(sgfsi_hill *h, trial *t, const sgfs_model *m, const double *centre,
                           sgfsi_arena *arena, sgfs_err *err) {
    int64_t D = h->D;
    bool made = SGFSI_ROOM(&t->own, PAIRS * D, &t->Z, &t->U) &&
                SGFSI_ROOM(&t->own, 2 * PAIRS * D, &t->theta, &t->G) &&
                SGFSI_ROOM(&t->own, 2 * PAIRS, &t->lp) && SGFSI_ROOM(&t->own, PAIRS, &t->W) &&
                SGFSI_ROOM(&t->own, D, &t->step, &t->centre) && SGFSI_ROOM(arena, D, &h->centre) &&
                SGFSI_ROOM(arena, D * D, &h->spread);
    if (!made) return sgfsi_fail_memory(err, "the proposals");
    memcpy(t->centre, centre, (size_t)D * sizeof *centre);
    memcpy(h->centre, centre, (size_t)D * sizeof *centre);
    sgfsi_invert_triangle(h->dev, D, h->L, h->spread);
    sgfsi_transpose(h->dev, D, h->spread);
    return sgfsi_places_open(&t->places, m, 2 * PAIRS, true, t->threads, &t->own, err);
}

static sgfs_status try_centre(sgfsi_hill *h, trial *t, const double *centre, worth *out,
                              sgfs_err *err) {
    int64_t D = h->D;
    for (int64_t i = 0; i < PAIRS * D; i++) {
        t->theta[i] = centre[i % D] + t->U[i];
        t->theta[PAIRS * D + i] = centre[i % D] - t->U[i];
    }
    sgfs_status status = sgfsi_places_eval(&t->places, 2 * PAIRS, t->theta, t->lp, t->G, err);
    if (status != SGFS_OK) return status;
    h->passes++;
    int64_t counted = 0;
    memset(t->step, 0, (size_t)D * sizeof *t->step);
    for (int64_t k = 0; k < PAIRS; k++) {
        double square = sgfsi_dot(h->dev, D, t->Z + k * D, t->Z + k * D);
        t->W[k] = sgfsi_hill_weight(t->lp[k], t->lp[PAIRS + k], square);
        const double *up = t->G + k * D, *down = t->G + (PAIRS + k) * D;
        double sum = t->lp[k] + t->lp[PAIRS + k];
        for (int64_t j = 0; j < D && isfinite(sum); j++) sum += up[j] + down[j];
        if (!isfinite(sum)) continue;
        counted++;
        for (int64_t j = 0; j < D; j++) t->step[j] += 0.5 * (up[j] + down[j]);
    }
    for (int64_t j = 0; j < D && counted > 0; j++) t->step[j] /= (double)counted;
    sgfsi_trsv(h->dev, D, h->L, false, t->step);
    sgfsi_trsv(h->dev, D, h->L, true, t->step);
    *out = judge(PAIRS, t->W);
    return SGFS_OK;
}

/* ---- tails ----------------------------------------------------------------------------------- */

/* h->excess is looked for on the sphere |z| = 5, first along each parameter, then by places that
 * climb from the best of these. */
enum { CLIMBERS = 16, CLIMBS = 6 };
static const double far = 5;

typedef struct climbers {
    int64_t n;
    double *z, *theta;       /* CLIMBERS x D */
    double excess[CLIMBERS]; /* of z at the beginning */
} climbers;

/* Of the log weight of a pair 5 sd out. At 25/4 weights are just without variance, and a chain
 * stays there for hundreds of iterations; but what matters to a run of thousands of draws comes
 * earlier. A place with this excess has the posterior mass exp(-25/2 + 3.5), a ten thousandth: at
 * 4.9 (four events in 3,000 rows) sds were 1 to 2 % small in short runs, and 8 % large in a long
 * one. */
static const double most_excess = 3.5;

bool sgfsi_hill_is_heavy(const sgfsi_hill *h) {
    return h->excess >= most_excess;
}

/* Takes sign z among the best, or leaves it. */
static void offer(const sgfsi_hill *h, climbers *c, const double *z, double sign, double excess) {
    int64_t D = h->D, least = 0;
    for (int64_t i = 1; i < c->n; i++)
        if (c->excess[i] < c->excess[least]) least = i;
    if (c->n < CLIMBERS) least = c->n++;
    else if (!(excess > c->excess[least])) return;
    c->excess[least] = excess;
    for (int64_t j = 0; j < D; j++) c->z[least * D + j] = sign * z[j];
}

/* Pairs z = +-5 d, d the direction in which parameter j is furthest from the centre for its
 * probability, L^-1 e_j normalised; some of them in each call. */
static sgfs_status look_along_parameters(sgfsi_hill *h, trial *t, climbers *c, sgfs_err *err) {
    int64_t D = h->D;
    double *plus = t->lp, *minus = t->lp + PAIRS;
    sgfs_status status = SGFS_OK;
    for (int64_t at = -1; at < D && status == SGFS_OK; at += PAIRS) { /* -1: the centre itself */
        int64_t n = D - at < PAIRS ? D - at : PAIRS;
        memset(t->Z, 0, (size_t)(n * D) * sizeof *t->Z);
        for (int64_t k = at < 0; k < n; k++) {
            double *z = t->Z + k * D;
            for (int64_t j = 0; j < D; j++) z[j] = h->spread[j * D + at + k];
            double length = sqrt(sgfsi_dot(h->dev, D, z, z));
            for (int64_t j = 0; j < D; j++) z[j] *= far / length;
        }
        sgfsi_hill_directions(h, n, t->Z, t->U);
        status = sgfsi_places_pairs(&t->places, h->centre, n, t->U, plus, minus, err);
        h->passes++;
        if (at < 0 && !(t->weight > -INFINITY)) t->weight = plus[0];
        for (int64_t k = at < 0; k < n && status == SGFS_OK; k++)
            offer(h, c, t->Z + k * D, plus[k] > minus[k] ? 1 : -1,
                  sgfsi_hill_weight(plus[k], minus[k], far * far) - t->weight);
    }
    for (int64_t i = 0; i < c->n; i++) h->excess = fmax(h->excess, c->excess[i]);
    return status;
}

/* A tail may lie between parameters, as where several columns together separate the labels. So
 * the best places climb on the sphere: each goes to where the gradient of its log weight,
 * L^-1 grad log p + z, points, which is the power iteration for the largest excess. */
static sgfs_status probe_tails(sgfsi_hill *h, trial *t, sgfs_err *err) {
    int64_t D = h->D;
    climbers c = {.z = t->theta, .theta = t->theta + CLIMBERS * D};
    sgfs_status status = look_along_parameters(h, t, &c, err);
    for (int round = 0; round < CLIMBS && status == SGFS_OK; round++) {
        sgfsi_hill_directions(h, c.n, c.z, c.theta);
        for (int64_t i = 0; i < c.n * D; i++) c.theta[i] += h->centre[i % D];
        status = sgfsi_places_eval(&t->places, c.n, c.theta, t->lp, t->G, err);
        h->passes++;
        if (status != SGFS_OK) break;
        sgfsi_gemm_nt(h->dev, c.n, D, D, 1.0, t->G, h->spread, 1.0, c.z);
        for (int64_t i = 0; i < c.n; i++) {
            double *z = c.z + i * D, length = sqrt(sgfsi_dot(h->dev, D, z, z));
            double weight = sgfsi_hill_weight(t->lp[i], -INFINITY, far * far);
            h->excess = fmax(h->excess, weight - t->weight);
            for (int64_t j = 0; j < D; j++) z[j] = length > 0 ? z[j] * far / length : 0;
        }
    }
    return status;
}

sgfs_status sgfsi_hill_probe(sgfsi_hill *h, const sgfs_model *m, const sgfsi_anchor *a,
                             int64_t threads, sgfsi_arena *arena, sgfs_err *err) {
    trial t = {.threads = threads, .weight = -INFINITY};
    *h = (sgfsi_hill){.D = m->D, .dev = m->ctx.near, .L = a->L, .tau = INFINITY};
    sgfs_status status = prepare(h, &t, m, a->theta, arena, err);
    if (status == SGFS_OK) status = probe_tails(h, &t, err);
    sgfsi_arena_free(&t.own);
    return status;
}

sgfs_status sgfsi_hill_open(sgfsi_hill *h, const sgfs_model *m, const sgfsi_anchor *a,
                            int64_t threads, sgfsi_arena *arena, sgfs_err *err) {
    int64_t D = m->D;
    double before = sgfsi_now();
    trial t = {.threads = threads, .weight = -INFINITY};
    *h = (sgfsi_hill){.D = D, .dev = m->ctx.near, .L = a->L, .tau = INFINITY};
    sgfs_status status = prepare(h, &t, m, a->theta, arena, err);
    if (status == SGFS_OK) {
        sgfsi_stream stream = sgfsi_stream_at(0, 0, SGFSI_PROBE_PLACE, SGFSI_PROBE);
        sgfsi_normals(&stream, PAIRS * D, t.Z);
        sgfsi_hill_directions(h, PAIRS, t.Z, t.U);
    }
    for (int i = 0; i < TRIED && status == SGFS_OK; i++) {
        worth now;
        status = try_centre(h, &t, t.centre, &now, err);
        if (status != SGFS_OK || !(now.tau < h->tau) || now.weight < t.weight - most_lost) break;
        memcpy(h->centre, t.centre, (size_t)D * sizeof *t.centre);
        h->accept = now.accept;
        h->tau = now.tau;
        t.weight = now.weight;
        sgfsi_axpy(h->dev, D, 1.0, t.step, t.centre);
    }
    if (status == SGFS_OK) status = probe_tails(h, &t, err);
    if (status == SGFS_OK) {
        for (int64_t j = 0; j < D; j++) t.step[j] = h->centre[j] - a->theta[j];
        sgfsi_trmv(h->dev, D, h->L, true, t.step);
        h->shift = sqrt(sgfsi_dot(h->dev, D, t.step, t.step));
    }
    sgfsi_arena_free(&t.own);
    h->seconds = sgfsi_now() - before;
    return status;
}

/* ---- without an anchor ----------------------------------------------------------------------- */

enum { MOST_PARAMETERS = 2000 };

const char *sgfsi_hill_refuses(const sgfs_model *m) {
    if (m->kind->redundant) return "the posterior may have many modes";
    if (m->D > MOST_PARAMETERS) return "there are too many parameters for whole proposals";
    return NULL;
}

/* The mode of a model with a smooth prior, and the factor of its curvature there. */
static sgfs_status climb(const sgfs_model *m, int64_t threads, sgfsi_arena *arena, sgfsi_anchor *a,
                         sgfs_err *err) {
    sgfsi_mode mode = {.passes = 0};
    const sgfsi_mode_plan plan = {.method = m->kind->curvature != NULL ? "auto" : "lbfgs",
                                  .tolerance = 0.01,
                                  .threads = threads};
    sgfs_status status = sgfsi_mode_search(m, &plan, arena, &mode, err);
    if (status != SGFS_OK) return status;
    *a = (sgfsi_anchor){.theta = mode.theta, .L = mode.L};
    if (a->L != NULL) return SGFS_OK;
    a->L = SGFSI_DOUBLES(arena, m->D * m->D);
    if (a->L == NULL) return sgfsi_fail_memory(err, "the curvature");
    sgfsi_arena own = {NULL};
    sgfsi_places places;
    status = sgfsi_places_open(&places, m, PAIRS, true, threads, &own, err);
    if (status == SGFS_OK) status = sgfsi_places_curvature(&places, a->theta, a->L, err);
    sgfsi_arena_free(&own);
    if (status == SGFS_OK && sgfsi_potrf(m->ctx.near, m->D, a->L) != 0)
        return sgfsi_fail(err, SGFS_ENUMERIC, "The curvature at the mode is not that of a hill.");
    return status;
}

sgfs_status sgfsi_hill_find(sgfsi_hill *h, const sgfs_model *m, int64_t threads, sgfsi_arena *arena,
                            sgfs_err *err) {
    sgfsi_anchor a;
    sgfsi_prior smooth = {.kind = sgfsi_priors[0], .df = INFINITY}; /* the Gaussian */
    sgfs_model smoothed;
    const sgfs_model *climbed = m;
    if (!sgfsi_prior_is_smooth(m)) {
        smooth.precision = SGFSI_DOUBLES(arena, m->D);
        if (smooth.precision == NULL) return sgfsi_fail_memory(err, "the prior");
        for (int64_t j = 0; j < m->D; j++) smooth.precision[j] = 0.5 * m->prior->precision[j];
        smoothed = sgfsi_model_under(m, &smooth);
        climbed = &smoothed;
    }
    sgfs_status status = climb(climbed, threads, arena, &a, err);
    return status == SGFS_OK ? sgfsi_hill_open(h, m, &a, threads, arena, err) : status;
}
