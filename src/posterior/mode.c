/* SPDX-License-Identifier: MIT
 * mode.c: Fisher scoring with a line search (ascent.c),
 *     theta <- theta + t A^-1 G,   A = expected information + Lambda = L L',
 * until |L^-1 G|, the length of the step in posterior standard deviations, is below a tolerance;
 * the choice between it and L-BFGS (lbfgs.c); and the Gaussian N(mode, A^-1) there (Laplace). It
 * shares no code with the samplers beyond scores and curvature.
 *
 * Without a prior there may be nothing to find. Where columns separate two classes, each step moves
 * their predictors by about 1, for ever, while gradient and information die out together: the
 * length of the step falls below any tolerance, on the way to nowhere. So the step is measured by
 * the information at the start, too: |L0' step| stays large there, and at a mode it does not. A
 * step is short when it is so by both measures; where they disagree the search goes on, until one
 * of them has had its way.
 */
#include "posterior/mode.h"

#include <math.h>
#include <string.h>

#include "model/prior.h"
#include "posterior/ascent.h"

const sgfs_option sgfsi_mode_options[] = {
    {"optimize.tolerance", "tolerance", SGFS_NUMBER, "1e-8", 1e-14, 0.1, NULL,
     "stop when a step is shorter than this, in posterior standard deviations"},
    {"optimize.max_iterations", "max-iterations", SGFS_INTEGER, "auto", 1, 1e9, NULL,
     "steps to the mode at most (auto: 100, 1000 for networks, 5000 of L-BFGS)"},
    SGFSI_OPTIONS_END};

/* Multiplications N D^2 of one pass for A: up to where a dozen are worth it, and up to where one
 * is. */
static const double scoring_work = 1e12, laplace_work = 1e13;
/* A step of this length is short whatever the start's measure says of it: by now runs_away would
 * know a mode that does not exist. */
static const double least_tolerance = 1e-6;

sgfsi_mode_plan sgfsi_mode_plan_of(const sgfs_config *cfg) {
    bool given = !sgfsi_config_auto(cfg, "optimize.max_iterations");
    return (sgfsi_mode_plan){.method = "auto",
                             .tolerance = sgfsi_config_num(cfg, "optimize.tolerance"),
                             .most = given ? sgfsi_config_int(cfg, "optimize.max_iterations") : 0};
}

static bool can_be_dense(const sgfs_model *m, double most_work) {
    double work = (double)m->data->N * (double)m->D * (double)m->D;
    if (m->outcomes > 1) work *= (double)m->outcomes;
    return m->kind->curvature != NULL && m->D <= SGFSI_MOST_DENSE && work <= most_work;
}

/* ---- the factor of A ------------------------------------------------------------------------- */

/* A -> L. Where a pivot is nothing but rounding, that parameter follows from the ones before it.
 * climbed: it was definite where the climb began, so it is the climb that has lost it. */
static sgfs_status factor(const sgfsi_ascent *a, bool climbed, double *diagonal, sgfs_err *err) {
    int64_t D = a->m->D, bad = -1;
    double least = 64 * (double)D * 0x1p-52;
    for (int64_t j = 0; j < D; j++) diagonal[j] = a->A[j * D + j];
    int64_t failed = sgfsi_potrf(a->m->ctx.near, D, a->A);
    if (failed != 0) bad = failed - 1;
    for (int64_t j = 0; j < D && bad < 0; j++) {
        double pivot = a->A[j * D + j];
        if (!(pivot * pivot > least * diagonal[j])) bad = j;
    }
    if (bad < 0) return SGFS_OK;
    if (climbed && a->open) return sgfsi_ascent_no_mode(err);
    return sgfsi_fail(
        err, SGFS_ENUMERIC,
        "The information matrix is singular at \"%.100s\": the data say nothing about "
        "it, or nothing that other parameters do not say as well. Leave a column out, "
        "or use a prior (--prior-precision above 0).",
        a->m->param[bad]);
}

/* direction = A^-1 G; returns |L^-1 G|. A is L. */
static double newton_step(sgfsi_ascent *a) {
    const sgfs_device *dev = a->m->ctx.near;
    int64_t D = a->m->D;
    memcpy(a->direction, a->G, (size_t)D * sizeof *a->G);
    sgfsi_trsv(dev, D, a->A, false, a->direction);
    a->slope = sgfsi_dot(dev, D, a->direction, a->direction);
    sgfsi_trsv(dev, D, a->A, true, a->direction);
    return sqrt(a->slope);
}

/* ---- Fisher scoring -------------------------------------------------------------------------- */

/* Length of the step in the start's standard deviations; without L0 there is no need to know. work:
 * D. */
static double length_before(const sgfsi_ascent *a, const double *L0, double *work) {
    const sgfs_device *dev = a->m->ctx.near;
    if (L0 == NULL) return 0;
    memcpy(work, a->direction, (size_t)a->m->D * sizeof *work);
    sgfsi_trmv(dev, a->m->D, L0, true, work);
    return sqrt(sgfsi_dot(dev, a->m->D, work, work));
}

/* The step still counts in the start's standard deviations, where the information along it has
 * fallen to 1e-10 of what it was then. */
static bool runs_away(double length, double before) {
    return before > 0.1 && before > 1e5 * length;
}

static bool is_short(const sgfsi_ascent *a, double length, double before) {
    return length < a->tolerance && (before < a->tolerance || length < least_tolerance);
}

static sgfs_status score(sgfsi_ascent *a, sgfsi_arena *arena, double *distance, sgfs_err *err) {
    size_t size = (size_t)(a->m->D * a->m->D) * sizeof *a->A;
    double *work = SGFSI_DOUBLES(arena, a->m->D);
    double *L0 = a->open ? SGFSI_DOUBLES(arena, a->m->D * a->m->D) : NULL;
    if (work == NULL || (a->open && L0 == NULL)) {
        return sgfsi_fail_memory(err, "the search for the mode");
    }
    sgfs_status status = factor(a, false, work, err);
    if (status == SGFS_OK && a->open) memcpy(L0, a->A, size);
    while (status == SGFS_OK) {
        *distance = newton_step(a);
        double before = length_before(a, L0, work);
        if (runs_away(*distance, before)) return sgfsi_ascent_no_mode(err);
        if (is_short(a, *distance, before)) return SGFS_OK;
        if (a->iterations == a->most) return sgfsi_ascent_too_long(a, *distance, err);
        sgfsi_ascent_report(a, *distance);
        status = sgfsi_ascent_move(a, false, err);
        if (status == SGFS_OK) status = factor(a, true, work, err);
    }
    return status;
}

/* ---- the search ------------------------------------------------------------------------------ */

/* L-BFGS has no matrix on its way; one at its end, where it can be had, gives the Gaussian. A view
 * of its own: room for sums of matrices would leave the gradients fewer threads. */
static sgfs_status add_gaussian(sgfsi_ascent *a, int64_t threads, sgfsi_arena *own, sgfs_err *err) {
    sgfsi_full *full = sgfsi_arena_alloc(own, 1, sizeof *full);
    a->A = SGFSI_DOUBLES(own, a->m->D * a->m->D);
    if (full == NULL || a->A == NULL) return sgfsi_fail_memory(err, "the Gaussian at the mode");
    sgfs_status status = sgfsi_full_open(full, a->m, threads, true, own, err);
    a->full = full;
    if (status == SGFS_OK) status = sgfsi_ascent_curvature(a, err);
    if (status == SGFS_OK) status = factor(a, false, a->direction, err);
    if (status != SGFS_ENUMERIC || !a->open) return status;
    a->m->kind->start(a->m, a->theta, a->spread); /* was it singular from the beginning? */
    status = sgfsi_ascent_curvature(a, err);
    if (status == SGFS_OK) status = factor(a, false, a->direction, err);
    return status == SGFS_OK ? sgfsi_ascent_no_mode(err) : status;
}

/* Where the expected information is not the Hessian's double at the mode, as in networks, Fisher
 * scoring nears it by a constant factor: some hundred steps. */
static int64_t automatic_steps(const sgfs_model *m, bool scoring) {
    if (!scoring) return 5000;
    return m->kind->redundant ? 1000 : 100;
}

static sgfs_status search(const sgfs_model *m, const sgfsi_mode_plan *plan, bool scoring,
                          sgfsi_arena *own, sgfsi_arena *arena, sgfsi_mode *out, sgfs_err *err) {
    sgfsi_full full;
    sgfsi_ascent a;
    double distance = 0;
    sgfs_status status = sgfsi_full_open(&full, m, plan->threads, scoring, own, err);
    full.log = sgfsi_config_log(m->cfg);
    if (plan->stop != NULL) full.stop = plan->stop;
    if (status == SGFS_OK) status = sgfsi_ascent_open(&a, &full, plan->start, scoring, own, err);
    if (status != SGFS_OK) return status;
    a.tolerance = a.open && !scoring ? fmin(plan->tolerance, least_tolerance) : plan->tolerance;
    a.stop = full.stop;
    a.most = plan->most > 0 ? plan->most : automatic_steps(m, scoring);
    status = scoring ? score(&a, own, &distance, err) : sgfsi_lbfgs(&a, own, &distance, err);
    if (status == SGFS_OK && !scoring && can_be_dense(m, laplace_work)) {
        status = add_gaussian(&a, plan->threads, own, err);
    }
    *out = (sgfsi_mode){.passes = a.passes, .rows = a.passes * full.N};
    if (status != SGFS_OK) return status;
    int64_t D = a.m->D;
    *out = (sgfsi_mode){.method = scoring ? "fisher" : "lbfgs",
                        .theta = SGFSI_DOUBLES(arena, D),
                        .G = SGFSI_DOUBLES(arena, D),
                        .L = a.A != NULL ? SGFSI_DOUBLES(arena, D * D) : NULL,
                        .lp = a.lp,
                        .distance = distance,
                        .iterations = a.iterations,
                        .passes = a.passes,
                        .rows = a.passes * a.full->N};
    if (out->theta == NULL || out->G == NULL || (a.A != NULL && out->L == NULL)) {
        return sgfsi_fail_memory(err, "the mode");
    }
    memcpy(out->theta, a.theta, (size_t)D * sizeof *a.theta);
    memcpy(out->G, a.G, (size_t)D * sizeof *a.G);
    if (a.A != NULL) memcpy(out->L, a.A, (size_t)(D * D) * sizeof *a.A);
    return SGFS_OK;
}

sgfs_status sgfsi_mode_search(const sgfs_model *m, const sgfsi_mode_plan *plan, sgfsi_arena *arena,
                              sgfsi_mode *out, sgfs_err *err) {
    sgfsi_arena own = {NULL};
    bool scoring = false;
    /* The top may be the kink itself, where no gradient is 0 and no Gaussian fits. */
    if (!sgfsi_prior_is_smooth(m)) {
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "There is no search for the mode with --prior %s: the density has a kink at "
            "0, where the mode may lie, and no curvature there. Use --prior student-t or "
            "gaussian, or draw with --sampler nuts (--metric dense or diag) or sgfs-f.",
            m->prior->kind->name);
    }
    bool automatic = strcmp(plan->method, "auto") == 0;
    /* where many parameters do the same, curvature is a poor guide, and L-BFGS is there sooner */
    bool good = !m->kind->redundant && can_be_dense(m, scoring_work);
    scoring = automatic ? good : strcmp(plan->method, "fisher") == 0;
    if (scoring && m->kind->curvature == NULL) {
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "Model %s cannot say its information matrix, which Fisher scoring needs: use "
            "--method lbfgs.",
            m->kind->name);
    }
    sgfs_status status = search(m, plan, scoring, &own, arena, out, err);
    sgfsi_arena_free(&own);
    return status;
}

sgfs_status sgfsi_mode_find(const sgfs_model *m, const double *start, int64_t threads,
                            double *theta, double *cov, int64_t *passes, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfsi_mode mode = {.passes = 0};
    const sgfsi_mode_plan plan = {
        .method = "fisher", .tolerance = 1e-8, .threads = threads, .start = start};
    sgfs_status status = sgfsi_mode_search(m, &plan, &arena, &mode, err);
    if (status == SGFS_OK) {
        memcpy(theta, mode.theta, (size_t)m->D * sizeof *theta);
        sgfsi_invert_factor(m->ctx.near, m->D, mode.L, cov);
    }
    if (passes != NULL) *passes = mode.passes;
    sgfsi_arena_free(&arena);
    return status;
}

/* ---- the mean to the next order -------------------------------------------------------------- */

typedef struct surroundings {
    sgfsi_full full;
    double *place, *change, *G, *A; /* D, D, D, D x D */
} surroundings;

/* log det A at s->place. */
static sgfs_status log_det(const sgfs_model *m, surroundings *s, double *out, sgfs_err *err) {
    double lp;
    sgfs_status status = sgfsi_full_eval(&s->full, s->place, &lp, s->G, s->A, err);
    if (status != SGFS_OK) return status;
    if (sgfsi_potrf(m->ctx.near, m->D, s->A) != 0) {
        return sgfsi_fail(err, SGFS_ENUMERIC, "The information matrix is singular near the mode.");
    }
    *out = 0;
    for (int64_t j = 0; j < m->D; j++) *out += 2 * log(s->A[j * m->D + j]);
    return SGFS_OK;
}

static sgfs_status shift_by_curvature(const sgfs_model *m, const double *mode, const double *cov,
                                      double *mean, surroundings *s, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    memcpy(s->place, mode, (size_t)m->D * sizeof *mode);
    sgfsi_ticker ticker = sgfsi_ticker_start(sgfsi_config_log(m->cfg), "Looking around the mode");
    for (int64_t k = 0; k < m->D && status == SGFS_OK; k++) {
        double high = 0, low = 0, step = 0.1 * sqrt(cov[k * m->D + k]);
        s->place[k] = mode[k] + step;
        status = log_det(m, s, &high, err);
        s->place[k] = mode[k] - step;
        if (status == SGFS_OK) status = log_det(m, s, &low, err);
        s->place[k] = mode[k];
        if (status == SGFS_OK) status = sgfsi_tick(&ticker, (double)(k + 1) / (double)m->D, err);
        if (status == SGFS_OK) s->change[k] = -0.5 * (high - low) / (2 * step);
    }
    for (int64_t i = 0; i < m->D && status == SGFS_OK; i++) {
        mean[i] = mode[i] + sgfsi_dot(m->ctx.near, m->D, cov + i * m->D, s->change);
    }
    return status;
}

sgfs_status sgfsi_mode_mean(const sgfs_model *m, const double *mode, const double *cov,
                            double *mean, sgfs_err *err) {
    sgfsi_arena own = {NULL};
    surroundings s = {.place = SGFSI_DOUBLES(&own, m->D),
                      .change = SGFSI_DOUBLES(&own, m->D),
                      .G = SGFSI_DOUBLES(&own, m->D),
                      .A = SGFSI_DOUBLES(&own, m->D * m->D)};
    bool room = s.place != NULL && s.change != NULL && s.G != NULL && s.A != NULL;
    sgfs_status status = room ? sgfsi_full_open(&s.full, m, 0, true, &own, err)
                              : sgfsi_fail_memory(err, "the surroundings of the mode");
    if (status == SGFS_OK) status = shift_by_curvature(m, mode, cov, mean, &s, err);
    sgfsi_arena_free(&own);
    return status;
}
