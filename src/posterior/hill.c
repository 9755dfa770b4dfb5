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

void sgfsi_hill_directions(const sgfsi_hill *h, int64_t K, const double *Z, double *U) {
    sgfsi_gemm_nn(h->dev, K, h->D, h->D, 1.0, Z, h->spread, 0.0, U);
}

double sgfsi_hill_weight(double plus, double minus, double square) {
    double most = fmax(plus, minus), less = fmin(plus, minus);
    return most > -INFINITY ? most + log1p(exp(less - most)) - M_LN2 + 0.5 * square : -INFINITY;
}

/* Acceptance and autocorrelation time of an independent chain on K proposals with these log
 * weights: a proposal that the chain is at, which happens in proportion to its weight, is left with
 * probability a_k, the mean of min(1, e^(W_l - W_k)) over the others, and stays for 1/a_k
 * iterations. */
static void judge(int64_t K, const double *W, double *accept, double *tau) {
    double most = -INFINITY, sum = 0;
    *accept = *tau = 0;
    for (int64_t k = 0; k < K; k++) most = fmax(most, W[k]);
    for (int64_t k = 0; k < K; k++) {
        double a = 0, weight = exp(W[k] - most);
        if (!(weight > 0)) continue;
        for (int64_t l = 0; l < K; l++) a += l == k ? 0 : fmin(1, exp(W[l] - W[k]));
        a /= (double)(K - 1);
        sum += weight;
        *accept += weight * a;
        *tau += weight * (2 / a - 1);
    }
    *accept = sum > 0 ? *accept / sum : 0;
    *tau = sum > 0 && isfinite(*tau) ? *tau / sum : INFINITY;
}

/* One trial: what the pairs around `centre` are worth, and (step: D) the next shift. */
typedef struct trial {
    sgfsi_places places;
    double *Z, *U, *theta, *G, *lp, *W; /* W: log weights */
    double *step;
} trial;

static sgfs_status try_centre(sgfsi_hill *h, trial *t, const double *centre, double *accept,
                              double *tau, sgfs_err *err) {
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
    judge(PAIRS, t->W, accept, tau);
    return SGFS_OK;
}

/* h->excess: pairs z = +-3 d, d the direction in which parameter j is furthest from the centre for
 * its probability, L^-1 e_j normalised; some of them in each call. */
static sgfs_status probe_tails(sgfsi_hill *h, trial *t, sgfs_err *err) {
    const double far = 3;
    int64_t D = h->D;
    double *plus = t->lp, *minus = t->lp + PAIRS;
    memset(t->U, 0, (size_t)D * sizeof *t->U); /* the centre itself */
    sgfs_status status = sgfsi_places_pairs(&t->places, h->centre, 1, t->U, plus, minus, err);
    double top = plus[0];
    h->passes++;
    for (int64_t first = 0; first < D && status == SGFS_OK; first += PAIRS) {
        int64_t n = D - first < PAIRS ? D - first : PAIRS;
        for (int64_t k = 0; k < n; k++) {
            double *z = t->Z + k * D;
            for (int64_t j = 0; j < D; j++) z[j] = h->spread[j * D + first + k];
            double length = sqrt(sgfsi_dot(h->dev, D, z, z));
            for (int64_t j = 0; j < D; j++) z[j] *= far / length;
        }
        sgfsi_hill_directions(h, n, t->Z, t->U);
        status = sgfsi_places_pairs(&t->places, h->centre, n, t->U, plus, minus, err);
        h->passes++;
        for (int64_t k = 0; k < n && status == SGFS_OK; k++)
            h->excess = fmax(h->excess, fmax(plus[k], minus[k]) + 0.5 * far * far - top);
    }
    return status;
}

/* The inverse of L, row by row of its transpose. */
static void invert(sgfsi_hill *h) {
    int64_t D = h->D;
    memset(h->spread, 0, (size_t)(D * D) * sizeof *h->spread);
    for (int64_t j = 0; j < D; j++) {
        h->spread[j * D + j] = 1;
        sgfsi_trsv(h->dev, D, h->L, false, h->spread + j * D);
    }
    sgfsi_transpose(h->dev, D, h->spread);
}

sgfs_status sgfsi_hill_open(sgfsi_hill *h, const sgfs_model *m, const sgfsi_anchor *a,
                            int64_t threads, sgfsi_arena *arena, sgfs_err *err) {
    int64_t D = m->D;
    double before = sgfsi_now();
    *h = (sgfsi_hill){.D = D, .dev = m->ctx.near, .L = a->L, .tau = INFINITY};
    sgfsi_arena own = {NULL};
    trial t = {.Z = SGFSI_DOUBLES(&own, PAIRS * D),
               .U = SGFSI_DOUBLES(&own, PAIRS * D),
               .theta = SGFSI_DOUBLES(&own, 2 * PAIRS * D),
               .G = SGFSI_DOUBLES(&own, 2 * PAIRS * D),
               .lp = SGFSI_DOUBLES(&own, 2 * PAIRS),
               .W = SGFSI_DOUBLES(&own, PAIRS),
               .step = SGFSI_DOUBLES(&own, D)};
    double *centre = SGFSI_DOUBLES(&own, D);
    h->centre = SGFSI_DOUBLES(arena, D);
    h->spread = SGFSI_DOUBLES(arena, D * D);
    sgfs_status status = SGFS_OK;
    if (t.Z == NULL || t.U == NULL || t.theta == NULL || t.G == NULL || t.lp == NULL ||
        t.W == NULL || t.step == NULL || centre == NULL || h->centre == NULL || h->spread == NULL)
        status = sgfsi_fail_memory(err, "the proposals");
    if (status == SGFS_OK)
        status = sgfsi_places_open(&t.places, m, 2 * PAIRS, true, threads, &own, err);
    if (status == SGFS_OK) {
        sgfsi_stream stream = sgfsi_stream_at(0, 0, SGFSI_PROBE_PLACE, SGFSI_PROBE);
        sgfsi_normals(&stream, PAIRS * D, t.Z);
        invert(h);
        sgfsi_hill_directions(h, PAIRS, t.Z, t.U);
        memcpy(centre, a->theta, (size_t)D * sizeof *centre);
        memcpy(h->centre, a->theta, (size_t)D * sizeof *centre);
    }
    for (int i = 0; i < TRIED && status == SGFS_OK; i++) {
        double accept, tau;
        status = try_centre(h, &t, centre, &accept, &tau, err);
        if (status != SGFS_OK || !(tau < h->tau)) break;
        memcpy(h->centre, centre, (size_t)D * sizeof *centre);
        h->accept = accept;
        h->tau = tau;
        sgfsi_axpy(h->dev, D, 1.0, t.step, centre);
    }
    if (status == SGFS_OK) status = probe_tails(h, &t, err);
    if (status == SGFS_OK) {
        for (int64_t j = 0; j < D; j++) t.step[j] = h->centre[j] - a->theta[j];
        sgfsi_trmv(h->dev, D, h->L, true, t.step);
        h->shift = sqrt(sgfsi_dot(h->dev, D, t.step, t.step));
    }
    sgfsi_arena_free(&own);
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
    sgfs_model lent = *m;
    if (!sgfsi_prior_is_smooth(m)) {
        smooth.precision = SGFSI_DOUBLES(arena, m->D);
        if (smooth.precision == NULL) return sgfsi_fail_memory(err, "the prior");
        for (int64_t j = 0; j < m->D; j++) smooth.precision[j] = 0.5 * m->prior->precision[j];
        lent = sgfsi_prior_lend(m, &smooth);
    }
    sgfs_status status = climb(&lent, threads, arena, &a, err);
    return status == SGFS_OK ? sgfsi_hill_open(h, m, &a, threads, arena, err) : status;
}
