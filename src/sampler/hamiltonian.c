/* SPDX-License-Identifier: MIT
 * hamiltonian.c: the dynamics under HMC and NUTS, on the full data.
 *
 *     H(q, p) = -log density(q) + p'W p/2,     p ~ N(0, W^-1)
 *     leapfrog:  p += eps/2 G(q),   q += eps W p,   p += eps/2 G(q)
 *
 *   q   D      position: theta           G  D      gradient of the log density
 *   p   D      momentum                  W  D x D  inverse mass; W = C C', so p = C^-T z
 *
 * W is best when it is the posterior's covariance: then all directions turn at the same pace. It is
 * a value of the sgfs_sym algebra, so this file does not know which structure it has:
 *
 *     identity  W = 1                         diag, dense  from the draws of warm-up, by window:
 *     fisher    (information + prior)^-1                   W = n/(n+5) V + 5/(n+5) diag(V)
 *               at the posterior's mode                   V = S/(n-1)
 *
 * Stan has 1e-3 I in place of diag(V), which has units: with a million rows standard deviations are
 * 0.001 and it would be all there is. Shrinking towards the window's own variances has none, and
 * holds a matrix of more parameters than draws, too. "fisher" takes the mode, found before the
 * first iteration, and not a point that the chain came by: the metric is then the same for all
 * chains, known before any randomness, and the one the paper's HMC has. Of several modes it is the
 * one that a climb from --start (or the model's own start) comes to. Chains still start where
 * --start and --init put them.
 *
 * All of this adapts in warm-up only: the draws come from a Markov chain with a fixed kernel.
 */
#include "sampler/hamiltonian.h"

#include <math.h>
#include <string.h>

#include "sampler/precondition.h"

enum { MOST_LOST = 30 }; /* iterations in a row whose trajectories led nowhere */

/* ---- options --------------------------------------------------------------------------------- */

/* Chains that have so many passes together: first the trajectories are cut, to no less than 31
 * steps, then the lengths. A draw of a network is a prediction, and a few hundred of them average
 * as well as thousands. */
static void plan_within(sgfsi_plan *plan, sgfsi_hamiltonian_settings *set) {
    const double warmup = 300, draws = 250, least = 100;
    double each = plan->passes / (double)plan->chains, share = each / (31 * (warmup + draws));
    share = fmin(share, 1);
    sgfsi_plan_lengths(plan, fmax(warmup * share, least), fmax(draws * share, least), NAN);
    double steps = each / (double)(plan->warmup + plan->draws);
    set->max_depth = steps >= 255 ? 8 : steps >= 127 ? 7 : steps >= 63 ? 6 : 5;
    set->metric = "diag"; /* of so few draws, from one of many hills, a full one would be noise */
    set->target_accept = 0.9;
}

sgfs_status sgfsi_hamiltonian_plan(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    sgfsi_hamiltonian_settings *set = plan->settings;
    if (plan->passes > 0) plan_within(plan, set);
    sgfsi_plan_lengths(plan, 1000, 1000, NAN);
    if (!isnan(set->epsilon) && sgfsi_config_given(plan->cfg, "sampler.target_accept")) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--epsilon fixes the step size and --target-accept adapts it: give one "
                          "of them.");
    }
    if (strcmp(set->metric, "auto") == 0)
        set->metric = now->D <= SGFSI_MOST_AUTO_DENSE ? "dense" : "diag";
    return SGFS_OK;
}

static bool metric_adapts(const sgfsi_hamiltonian_settings *set) {
    return strcmp(set->metric, "diag") == 0 || strcmp(set->metric, "dense") == 0;
}

const char *sgfsi_hamiltonian_caution(const sgfsi_plan *plan, const char *fisher) {
    (void)fisher;
    if (!metric_adapts(plan->settings) || plan->warmup >= 20) return NULL;
    return "A --warmup below 20 is too short to adapt the metric: the draws are exact, but may be "
           "slow to mix.";
}

int sgfsi_hamiltonian_advise(const sgfsi_plan *plan, const char *advice[2]) {
    const sgfsi_hamiltonian_settings *set = plan->settings;
    bool given = !isnan(set->epsilon);
    advice[0] = given ? "a smaller --epsilon" : "a longer --warmup";
    advice[1] = "a larger --target-accept";
    return given ? 1 : 2;
}

const char *sgfsi_hamiltonian_stan_metric(const sgfsi_plan *plan) {
    const sgfsi_hamiltonian_settings *set = plan->settings;
    if (strcmp(set->metric, "identity") == 0) return "unit_e";
    return strcmp(set->metric, "diag") == 0 ? "diag_e" : "dense_e";
}

/* ---- opening --------------------------------------------------------------------------------- */

bool sgfsi_point_open(sgfsi_point *z, int64_t D, sgfsi_arena *arena) {
    return SGFSI_ROOM(arena, D, &z->q, &z->p, &z->v, &z->G);
}

void sgfsi_point_copy(sgfsi_point *to, const sgfsi_point *from, int64_t D) {
    size_t bytes = (size_t)D * sizeof(double);
    memcpy(to->q, from->q, bytes);
    memcpy(to->p, from->p, bytes);
    memcpy(to->G, from->G, bytes);
    to->lp = from->lp;
}

/* C from W. */
static sgfs_status factor_metric(sgfsi_hamiltonian *h, sgfs_err *err) {
    h->W.kind->combine(&h->C, 1, &h->W, 0, NULL);
    int64_t failed = h->W.kind->factor(&h->C);
    if (failed == 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "the metric is not positive definite at parameter \"%s\" (--metric diag may "
                      "help)",
                      h->sampler->model->param[failed - 1]);
}

/* W = inverse of the information plus prior at the mode. */
static sgfs_status metric_at_mode(sgfsi_hamiltonian *h, sgfs_err *err) {
    const sgfs_model *m = h->sampler->model;
    sgfsi_arena arena = {NULL};
    if (h->sampler->first != NULL) return sgfsi_sampler_borrow(h->sampler, "W", err);
    double *mode = SGFSI_DOUBLES(&arena, m->D), *cov = SGFSI_DOUBLES(&arena, m->D * m->D);
    sgfs_status status = mode != NULL && cov != NULL ? SGFS_OK : sgfsi_fail_memory(err, "a metric");
    int64_t passes = 0;
    if (status == SGFS_OK)
        status = sgfsi_curvature_at_mode(h->sampler, "--metric fisher", mode, cov, &passes, err);
    h->sampler->full.rows_touched += passes * h->sampler->full.N;
    if (status == SGFS_OK) h->W.kind->from_dense(&h->W, cov);
    sgfsi_arena_free(&arena);
    return status;
}

static sgfs_status open_metric(sgfsi_hamiltonian *h, sgfs_err *err) {
    sgfs_sampler *s = h->sampler;
    const sgfsi_hamiltonian_settings *set = s->settings;
    bool fisher = strcmp(set->metric, "fisher") == 0;
    bool dense = fisher || strcmp(set->metric, "dense") == 0;
    const sgfs_fisher_kind *kind = dense ? &sgfs_fisher_full : &sgfs_fisher_diag;
    const sgfs_device *dev = s->model->ctx.near;
    h->adapts = metric_adapts(set);
    sgfs_status status = sgfsi_sym_open(&h->W, kind, dev, s->layout, s->arena, err);
    if (status == SGFS_OK) status = sgfsi_sym_open(&h->C, kind, dev, s->layout, s->arena, err);
    if (status == SGFS_OK && h->adapts)
        status = sgfsi_sym_open(&h->S, kind, dev, s->layout, s->arena, err);
    if (status != SGFS_OK) return sgfsi_fail_memory(err, "the metric (try --metric diag)");
    h->work = SGFSI_DOUBLES(s->arena, kind->work(s->layout, 1));
    if (h->work == NULL) return sgfsi_fail_memory(err, "the metric (try --metric diag)");
    if (fisher) status = metric_at_mode(h, err);
    else kind->add_diag(&h->W, 1, NULL);
    return status == SGFS_OK ? factor_metric(h, err) : status;
}

sgfs_status sgfsi_hamiltonian_open(sgfsi_hamiltonian *h, sgfs_sampler *sampler, sgfs_err *err) {
    const sgfsi_hamiltonian_settings *set = sampler->settings;
    h->sampler = sampler;
    h->mean = SGFSI_DOUBLES(sampler->arena, sampler->D);
    if (h->mean == NULL || !sgfsi_point_open(&h->here, sampler->D, sampler->arena) ||
        !sgfsi_point_open(&h->trial, sampler->D, sampler->arena)) {
        return sgfsi_fail_memory(err, "the sampler");
    }
    h->given = set->epsilon;
    /* a step is meant for the metric it was found with: while that is learned, warm-up finds its
     * own */
    bool learns = metric_adapts(set) && sampler->plan->warmup > 0;
    h->fixed = !isnan(h->given) && !learns;
    h->eps = h->fixed ? h->given : 1;
    h->dual.target = set->target_accept;
    h->windows = sgfsi_windows_open(sampler->plan->warmup);
    return open_metric(h, err);
}

/* ---- dynamics -------------------------------------------------------------------------------- */

/* Density and gradient at z->q; *why: what is wrong where they are not finite. */
static sgfs_status evaluate(sgfsi_hamiltonian *h, sgfsi_point *z, sgfs_err *why) {
    sgfs_status status = sgfsi_full_eval(&h->sampler->full, z->q, &z->lp, z->G, NULL, why);
    if (status == SGFS_OK && !isfinite(z->lp)) {
        status = sgfsi_fail(why, SGFS_ENUMERIC, "the log density is not finite");
    }
    if (status != SGFS_OK) z->lp = -INFINITY;
    return status;
}

sgfs_status sgfsi_leapfrog(sgfsi_hamiltonian *h, sgfsi_point *z, double eps, sgfs_err *err) {
    const sgfs_device *dev = h->W.device;
    int64_t D = h->W.D;
    sgfs_err why;
    sgfsi_axpy(dev, D, eps / 2, z->G, z->p);
    h->W.kind->mul(&h->W, z->p, z->v);
    sgfsi_axpy(dev, D, eps, z->v, z->q);
    sgfs_status status = evaluate(h, z, &why);
    sgfsi_axpy(dev, D, eps / 2, z->G, z->p);
    if (status == SGFS_ENUMERIC) h->why = why;
    if (status == SGFS_OK || status == SGFS_ENUMERIC) return SGFS_OK;
    if (err != NULL) *err = why;
    return status;
}

double sgfsi_hamiltonian_energy(const sgfsi_hamiltonian *h, sgfsi_point *z) {
    h->W.kind->mul(&h->W, z->p, z->v);
    double H = 0.5 * sgfsi_dot(h->W.device, h->W.D, z->p, z->v) - z->lp;
    return isnan(H) ? INFINITY : H;
}

static void draw_momentum(sgfsi_hamiltonian *h, sgfsi_point *z) {
    sgfsi_normals(&h->momentum, h->W.D, z->p);
    h->W.kind->solve(&h->C, true, z->p);
}

/* ---- warm-up --------------------------------------------------------------------------------- */

/* Energy lost by one leapfrog step from here with a fresh momentum. */
static sgfs_status try_step(sgfsi_hamiltonian *h, double *lost, sgfs_err *err) {
    sgfsi_point_copy(&h->trial, &h->here, h->W.D);
    draw_momentum(h, &h->trial);
    double before = sgfsi_hamiltonian_energy(h, &h->trial);
    sgfs_status status = sgfsi_leapfrog(h, &h->trial, h->eps, err);
    *lost = before - sgfsi_hamiltonian_energy(h, &h->trial);
    return status;
}

/* Double or halve the step until the acceptance of one leapfrog step crosses 0.8 (as Stan does). */
static sgfs_status find_step(sgfsi_hamiltonian *h, sgfs_err *err) {
    const double edge = log(0.8);
    double lost;
    sgfs_status status = try_step(h, &lost, err);
    bool grow = lost > edge;
    while (status == SGFS_OK && (lost > edge) == grow) {
        h->eps *= grow ? 2 : 0.5;
        status = sgfsi_step_check(h->eps, h->why.text, err);
        if (status == SGFS_OK) status = try_step(h, &lost, err);
    }
    if (status == SGFS_OK) sgfsi_dual_start(&h->dual, h->eps);
    return status;
}

/* Add h->here to the window's mean and sums of squares. */
static void learn_metric(sgfsi_hamiltonian *h) {
    double n = (double)++h->count, *delta = h->trial.v;
    int64_t D = h->W.D;
    for (int64_t j = 0; j < D; j++) {
        delta[j] = h->here.q[j] - h->mean[j];
        h->mean[j] += delta[j] / n;
    }
    sgfs_score_block row = {.rows = 1, .cols = D, .dense = delta};
    sgfs_scores one = {.n = 1, .D = D, .blocks = 1, .block = &row};
    h->S.kind->add_cov(&h->S, 1, (n - 1) / n, &one, NULL, h->work);
}

/* W from the window, which is then forgotten. A chain that stood still has nothing to tell. */
static sgfs_status renew_metric(sgfsi_hamiltonian *h, sgfs_err *err) {
    double n = (double)h->count, *squares = h->trial.v;
    bool moved = h->count > 1; /* did every parameter? */
    h->S.kind->diag(&h->S, squares);
    for (int64_t j = 0; j < h->W.D && moved; j++) moved = squares[j] > 0;
    if (moved) {
        h->W.kind->combine(&h->W, n / (n + 5) / (n - 1), &h->S, 0, NULL);
        h->W.kind->add_diag(&h->W, 5 / (n + 5) / (n - 1), squares);
    }
    h->S.kind->zero(&h->S);
    memset(h->mean, 0, (size_t)h->W.D * sizeof *h->mean);
    h->count = 0;
    return factor_metric(h, err);
}

/* ---- an iteration ---------------------------------------------------------------------------- */

/* Density and gradient at theta, unless they are known from the last iteration. */
static sgfs_status arrive(sgfsi_hamiltonian *h, const double *theta, sgfs_err *err) {
    size_t bytes = (size_t)h->W.D * sizeof *theta;
    sgfs_err why;
    if (h->ready && memcmp(theta, h->here.q, bytes) == 0) return SGFS_OK;
    memcpy(h->here.q, theta, bytes);
    sgfs_status status = evaluate(h, &h->here, &why);
    if (status == SGFS_ENUMERIC) {
        return sgfsi_fail(err, status,
                          "at the starting point %s (a smaller --init starts closer to the "
                          "model's own guess)",
                          why.text);
    }
    if (status != SGFS_OK && err != NULL) *err = why;
    return status;
}

sgfs_status sgfsi_hamiltonian_begin(sgfsi_hamiltonian *h, const sgfs_iteration *now,
                                    const double *theta, double *energy, sgfs_err *err) {
    const sgfs_sampler *s = h->sampler;
    h->momentum = sgfsi_stream_at(s->seed, s->chain, now->t, SGFSI_MOMENTUM);
    sgfs_status status = arrive(h, theta, err);
    if (status == SGFS_OK && !h->ready && !h->fixed) status = find_step(h, err);
    if (status != SGFS_OK) return status;
    h->ready = true;
    draw_momentum(h, &h->here);
    *energy = sgfsi_hamiltonian_energy(h, &h->here);
    return SGFS_OK;
}

sgfs_status sgfsi_hamiltonian_end(sgfsi_hamiltonian *h, const sgfs_iteration *now,
                                  double acceptance, sgfs_err *err) {
    /* A trajectory may diverge or run out of the support; a chain that does nothing else is
     * lost. */
    h->lost = acceptance > 0 ? 0 : h->lost + 1;
    if (h->lost >= MOST_LOST) {
        return sgfsi_fail(
            err, SGFS_ENUMERIC,
            "%d trajectories in a row led nowhere: wherever they went the density was not "
            "finite, or smaller by more than e^700%s%.150s",
            (int)MOST_LOST, h->why.text[0] != '\0' ? "; at last " : "", h->why.text);
    }
    sgfs_status status = SGFS_OK;
    if (now->t > now->warmup) return status;
    if (!h->fixed) h->eps = sgfsi_dual_learn(&h->dual, acceptance);
    if (h->adapts && sgfsi_windows_learn(&h->windows, now->t)) learn_metric(h);
    if (h->adapts && sgfsi_windows_end(&h->windows, now->t)) {
        status = renew_metric(h, err);
        if (status == SGFS_OK && !h->fixed) status = find_step(h, err);
    }
    if (now->t == now->warmup && !h->fixed && h->dual.count > 0)
        h->eps = isnan(h->given) ? sgfsi_dual_result(&h->dual) : h->given;
    return status;
}

void sgfsi_hamiltonian_fields(const sgfs_sampler *s, sgfsi_fields *list) {
    sgfsi_hamiltonian *h = s->state;
    int64_t D = h->W.D;
    sgfsi_sym_fields(&h->W, list, "W");
    sgfsi_sym_fields(&h->C, list, "C");
    if (h->adapts) {
        sgfsi_sym_fields(&h->S, list, "S");
        SGFSI_FIELD_ARRAY(list, h, mean, D);
        SGFSI_FIELD_ONE(list, h, count);
        SGFSI_FIELD(list, "windows.end", &h->windows.end, 1);
        SGFSI_FIELD(list, "windows.size", &h->windows.size, 1);
    }
    SGFSI_FIELD_ONE(list, h, eps);
    sgfsi_dual_fields(&h->dual, list);
    SGFSI_FIELD_ONE(list, h, lost);
    SGFSI_FIELD(list, "why", h->why.text, (int64_t)sizeof h->why.text);
    SGFSI_FIELD_ONE(list, h, ready);
    SGFSI_FIELD(list, "here.q", h->here.q, D);
    SGFSI_FIELD(list, "here.G", h->here.G, D);
    SGFSI_FIELD(list, "here.lp", &h->here.lp, 1);
}
