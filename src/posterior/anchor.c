/* SPDX-License-Identifier: MIT
 * anchor.c: finds the anchor (anchor.h).
 *
 * The pilot has m = max(20,000, 100 D, N/100) rows, a million at most: its mode is about
 * sqrt(D N/m) posterior standard deviations from that of all rows, and a Newton step from there
 * leaves about (D N/m)/sqrt(N) of one, a further one nothing. Three passes are enough at any N; a
 * warm-up by SGFS would take about ten to come as close (docs/beyond.md).
 *
 * Where events are rare it is they that count: the pilot then has so many rows that 500 of them,
 * and 10 for each parameter, are expected of the rarest label, a tenth of all rows at most. A pilot
 * that would be more than a quarter of the rows is none, and one whose rows have no mode (a level
 * they do not hold, classes they separate) is forgotten: the search then begins where the model
 * begins.
 *
 * A log posterior that is not concave may have a second mode. Where the prior is no parabola, as
 * the Student-t is not, what the rows want far out and what the prior holds near 0 may both be one;
 * the search finds the one on whose side it began and knows nothing of the other. So it climbs
 * again, from 0, and from the mode under a Gaussian prior of next to no precision,
 *
 *     P_j = min(Lambda_j, 1e-4 info_jj)
 *
 * and where it comes out elsewhere, by more than a posterior standard deviation of either end,
 * there is no anchor: draws would stay at the end they began at. Modes that lie between those two,
 * and that neither climb ends at, are not seen. A Gaussian prior needs no such climb.
 */
#include "posterior/anchor.h"

#include <math.h>
#include <string.h>

#include "base/ticker.h"
#include "model/prior.h"
#include "posterior/mode.h"
#include "posterior/remembered.h"
#include "rows/elsewhere.h"

double sgfsi_anchor_tolerance(const sgfs_config *cfg) {
    return sgfsi_config_num(cfg, "sampler.anchor_tolerance");
}

const char *sgfsi_anchor_refuses(const sgfs_model *m) {
    if (m->kind->curvature == NULL) return "the model cannot say its information matrix";
    if (!m->kind->one_mode) return "the posterior may have many modes";
    if (!sgfsi_prior_is_smooth(m)) return "the prior has a kink where the mode may lie";
    if (m->D > SGFSI_MOST_DENSE) return "there are too many parameters for a full matrix";
    return NULL;
}

/* ---- the pilot ------------------------------------------------------------------------------- */

int64_t sgfsi_anchor_pilot_rows(const sgfs_model *m) {
    double N = (double)m->data->N, D = (double)m->D, share = m->events / m->data->total;
    if (m->data->elsewhere != NULL) return 0;
    double rows = fmin(fmax(fmax(20000, 100 * D), N / 100), 1e6);
    double enough = fmax(500, 10 * D) / share; /* to hold the rarest label so often */
    if (enough > rows) rows = fmax(rows, fmin(enough, fmax(1e6, N / 10)));
    return N > 4 * rows ? (int64_t)rows : 0;
}

/* On the scale that all rows have: the chain's scale is the same. */
sgfs_model *sgfsi_model_smaller(const sgfs_model *m, int64_t n, sgfs_data **data) {
    *data = sgfsi_data_view_fair(m->data, n, SGFSI_SAME_SCALE, NULL);
    if (*data == NULL) return NULL;
    return sgfsi_model_within(&m->ctx, m->kind, *data, m->cfg, m->saved, NULL);
}

bool sgfsi_anchor_pilot(const sgfs_model *small, int64_t threads, double *theta, int64_t *rows) {
    sgfsi_arena arena = {NULL};
    sgfsi_mode mode = {.rows = 0};
    const sgfsi_mode_plan plan = {.method = "fisher", .tolerance = 0.1, .threads = threads};
    bool found = sgfsi_mode_search(small, &plan, &arena, &mode, NULL) == SGFS_OK;
    if (found) memcpy(theta, mode.theta, (size_t)small->D * sizeof *theta);
    *rows += mode.rows;
    sgfsi_arena_free(&arena);
    return found;
}

/* ---- the search ------------------------------------------------------------------------------ */

/* info = L L' less the prior's curvature, both triangles. */
static void unfold(const sgfs_model *m, sgfsi_anchor *a) {
    int64_t D = m->D;
    memset(a->info, 0, (size_t)(D * D) * sizeof *a->info);
    sgfsi_prior_add_curvature(m, a->theta, a->info);
    for (int64_t i = 0; i < D; i++) {
        double prior = a->info[i * D + i];
        for (int64_t j = 0; j <= i; j++) {
            a->info[i * D + j] = a->info[j * D + i] =
                sgfsi_dot(m->ctx.near, j + 1, a->L + i * D, a->L + j * D);
        }
        a->info[i * D + i] -= prior;
    }
}

static sgfs_status take(sgfsi_anchor *a, const sgfs_model *m, const sgfsi_mode *mode,
                        sgfsi_arena *arena, sgfs_err *err) {
    int64_t D = m->D;
    a->theta = mode->theta;
    a->G_post = mode->G;
    a->L = mode->L;
    a->lp = mode->lp;
    a->distance = mode->distance;
    a->G = SGFSI_DOUBLES(arena, D);
    a->info = SGFSI_DOUBLES(arena, D * D);
    if (a->G == NULL || a->info == NULL) return sgfsi_fail_memory(err, "the anchor");
    double prior = 0; /* G holds the prior's gradient for a moment */
    sgfs_status status = sgfsi_prior_add(m, a->theta, &prior, a->G, err);
    for (int64_t j = 0; j < D; j++) a->G[j] = a->G_post[j] - a->G[j];
    a->loglik = a->lp - prior;
    unfold(m, a);
    return status;
}

/* From the pilot's place, and where that leads nowhere, from the model's own. */
static sgfs_status climb(sgfsi_anchor *a, const sgfs_model *m, sgfsi_mode_plan plan,
                         sgfsi_arena *arena, sgfs_err *err) {
    sgfsi_mode mode = {.passes = 0};
    sgfs_status status = sgfsi_mode_search(m, &plan, arena, &mode, err);
    a->passes += mode.passes;
    a->rows += mode.rows;
    if (status == SGFS_OK) return take(a, m, &mode, arena, err);
    if (status != SGFS_ENUMERIC || plan.start == NULL) return status;
    a->pilot = 0;
    plan.start = NULL;
    return climb(a, m, plan, arena, err);
}

/* ---- a second mode --------------------------------------------------------------------------- */

/* |L'(x - y)|; gap: D, of its own. */
static double apart(const sgfs_model *m, const double *L, const double *x, const double *y,
                    double *gap) {
    for (int64_t j = 0; j < m->D; j++) gap[j] = x[j] - y[j];
    sgfsi_trmv(m->ctx.near, m->D, L, true, gap);
    return sqrt(sgfsi_dot(m->ctx.near, m->D, gap, gap));
}

/* No longer than a sentence that goes into another one may be. */
static sgfs_status two_modes(const sgfs_model *m, const double *one, const double *other,
                             sgfs_err *err) {
    int64_t most = 0;
    for (int64_t j = 1; j < m->D; j++) {
        if (fabs(one[j] - other[j]) > fabs(one[most] - other[most])) most = j;
    }
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "The posterior has more than one mode, because of the %s prior: \"%.60s\" is "
                      "near %.3g in one and near %.3g in another%s. Use --prior gaussian, another "
                      "--prior-precision, or --sampler nuts with chains that begin at several "
                      "places (--init).",
                      m->prior != NULL ? m->prior->kind->name : "model's own", m->param[most],
                      one[most], other[most], m->data->shift != NULL ? " (standardised)" : "");
}

/* One more climb, whose passes are the anchor's. *found: there was a mode; that there is none is
 * not an error here. */
static sgfs_status search(sgfsi_anchor *a, const sgfs_model *m, const sgfsi_mode_plan *plan,
                          sgfsi_arena *own, sgfsi_mode *mode, bool *found, sgfs_err *err) {
    sgfs_err none;
    sgfs_status status = sgfsi_mode_search(m, plan, own, mode, &none);
    a->passes += mode->passes;
    a->rows += mode->rows;
    *found = status == SGFS_OK;
    if (*found || status == SGFS_ENUMERIC) return SGFS_OK;
    return sgfsi_fail(err, status, "%s", none.text);
}

/* The mode of next to nothing but the likelihood. The model is lent another prior, the first
 * of the table: the Gaussian. */
static sgfs_status search_without_prior(sgfsi_anchor *a, const sgfs_model *m, sgfsi_mode_plan plan,
                                        sgfsi_arena *own, sgfsi_mode *mode, bool *found,
                                        sgfs_err *err) {
    sgfsi_prior weak = {.kind = sgfsi_priors[0], .df = INFINITY};
    weak.precision = SGFSI_DOUBLES(own, m->D);
    if (weak.precision == NULL) return sgfsi_fail_memory(err, "the anchor");
    for (int64_t j = 0; j < m->D; j++) {
        double info = a->info[j * m->D + j];
        weak.precision[j] = info > 0 ? fmin(m->precision[j], 1e-4 * info) : m->precision[j];
    }
    const sgfs_model lent = sgfsi_model_under(m, &weak);
    plan.start = a->theta;
    return search(a, &lent, &plan, own, mode, found, err);
}

/* Does a climb from `start` come out elsewhere? Then a->modes has both places. */
static sgfs_status compare(sgfsi_anchor *a, const sgfs_model *m, sgfsi_mode_plan plan,
                           const double *start, sgfsi_arena *arena, sgfsi_arena *own,
                           sgfs_err *err) {
    sgfsi_mode end = {.passes = 0};
    bool found;
    double *gap = SGFSI_DOUBLES(own, m->D);
    if (gap == NULL) return sgfsi_fail_memory(err, "the anchor");
    plan.start = start;
    sgfs_status status = search(a, m, &plan, own, &end, &found, err);
    if (status != SGFS_OK || !found) return status;
    double distance =
        fmax(apart(m, a->L, a->theta, end.theta, gap), apart(m, end.L, a->theta, end.theta, gap));
    if (!(distance > 1)) return SGFS_OK;
    a->modes = SGFSI_DOUBLES(arena, 2 * m->D);
    if (a->modes == NULL) return sgfsi_fail_memory(err, "the anchor");
    memcpy(a->modes, a->theta, (size_t)m->D * sizeof *a->modes);
    memcpy(a->modes + m->D, end.theta, (size_t)m->D * sizeof *a->modes);
    return two_modes(m, a->theta, end.theta, err);
}

static sgfs_status find_second_mode(sgfsi_anchor *a, const sgfs_model *m, sgfsi_mode_plan plan,
                                    sgfsi_arena *arena, sgfs_err *err) {
    sgfsi_arena own = {NULL};
    sgfsi_mode far = {.passes = 0};
    bool found = false;
    double *zero = SGFSI_DOUBLES(&own, m->D);
    sgfs_status status = zero != NULL ? compare(a, m, plan, zero, arena, &own, err)
                                      : sgfsi_fail_memory(err, "the anchor");
    if (status == SGFS_OK) status = search_without_prior(a, m, plan, &own, &far, &found, err);
    if (status == SGFS_OK && found) status = compare(a, m, plan, far.theta, arena, &own, err);
    sgfsi_arena_free(&own);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Those who have the rows have looked for it, and the last place they were asked at is it. */
static sgfs_status take_last(sgfsi_anchor *a, const sgfs_model *m, sgfsi_arena *arena,
                             sgfs_err *err) {
    const sgfsi_elsewhere *e = m->data->elsewhere;
    if (e->D != m->D || e->places < 1)
        return sgfsi_fail(err, SGFS_ERUNFILE, "The sketch has numbers for other parameters.");
    sgfs_status status = sgfsi_anchor_open(a, m->D, arena, err);
    if (status == SGFS_OK)
        status = sgfsi_anchor_at(a, m, e->theta + (e->places - 1) * m->D, 1, err);
    a->passes = a->rows = 0;
    return status;
}

sgfs_status sgfsi_anchor_find(sgfsi_anchor *a, const sgfs_model *m, const sgfsi_anchor_search *how,
                              sgfsi_arena *arena, sgfs_err *err) {
    double before = sgfsi_now(), *start = SGFSI_DOUBLES(arena, m->D);
    const char *why = sgfsi_anchor_refuses(m);
    *a = (sgfsi_anchor){.pilot = how->pilot, .rows = how->rows};
    if (start == NULL) return sgfsi_fail_memory(err, "the anchor");
    if (why != NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "Model %s has no anchor here: %s. --sampler sgfs-f or sgfs-d need none.",
                          m->kind->name, why);
    }
    if (m->data->elsewhere != NULL && m->data->elsewhere->wanted == NULL)
        return take_last(a, m, arena, err);
    int64_t n = how->start == NULL ? sgfsi_anchor_pilot_rows(m) : 0;
    if (n > 0) {
        sgfs_data *data = NULL;
        sgfs_model *small = sgfsi_model_smaller(m, n, &data);
        if (small != NULL && sgfsi_anchor_pilot(small, how->threads, start, &a->rows)) a->pilot = n;
        sgfs_model_free(small);
        sgfs_data_free(data);
    }
    const sgfsi_mode_plan plan = {.method = "fisher",
                                  .tolerance = how->tolerance,
                                  .threads = how->threads,
                                  .start = how->start != NULL ? how->start
                                           : a->pilot > 0     ? start
                                                              : NULL};
    sgfs_status status = climb(a, m, plan, arena, err);
    if (status == SGFS_OK && !sgfsi_prior_is_quadratic(m))
        status = find_second_mode(a, m, plan, arena, err);
    if (status != SGFS_OK) a->theta = NULL; /* there is none */
    a->seconds = sgfsi_now() - before;
    return status;
}

/* ---- anywhere -------------------------------------------------------------------------------- */

sgfs_status sgfsi_anchor_open(sgfsi_anchor *a, int64_t D, sgfsi_arena *arena, sgfs_err *err) {
    *a = (sgfsi_anchor){.passes = 0};
    bool made = SGFSI_ROOM(arena, D, &a->theta, &a->G, &a->G_post, &a->work) &&
                SGFSI_ROOM(arena, D * D, &a->info, &a->L);
    return made ? SGFS_OK : sgfsi_fail_memory(err, "an anchor");
}

static sgfs_status ask_all(sgfsi_anchor *a, const sgfs_model *m, int64_t threads, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfsi_full f;
    sgfs_status status = sgfsi_full_open(&f, m, threads, true, &arena, err);
    if (status == SGFS_OK)
        status = sgfsi_full_likelihood(&f, a->theta, &a->loglik, a->G, a->info, err);
    sgfsi_arena_free(&arena);
    return status;
}

/* L, G_post, lp and distance from G and the lower triangle of info, which becomes both. */
static sgfs_status complete(sgfsi_anchor *a, const sgfs_model *m, sgfs_err *err) {
    int64_t D = m->D;
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j < i; j++) a->info[j * D + i] = a->info[i * D + j];
    }
    memcpy(a->L, a->info, (size_t)(D * D) * sizeof *a->L);
    sgfsi_prior_add_curvature(m, a->theta, a->L);
    int64_t failed = sgfsi_potrf(m->ctx.near, D, a->L);
    if (failed != 0) {
        return sgfsi_fail(err, SGFS_ENUMERIC,
                          "the information at a new anchor is singular at parameter \"%s\"",
                          m->param[failed - 1]);
    }
    memcpy(a->G_post, a->G, (size_t)D * sizeof *a->G);
    a->lp = a->loglik;
    sgfs_status status = sgfsi_prior_add(m, a->theta, &a->lp, a->G_post, err);
    memcpy(a->work, a->G_post, (size_t)D * sizeof *a->work);
    sgfsi_trsv(m->ctx.near, D, a->L, false, a->work);
    a->distance = sqrt(sgfsi_dot(m->ctx.near, D, a->work, a->work));
    return status;
}

sgfs_status sgfsi_anchor_at(sgfsi_anchor *a, const sgfs_model *m, const double *theta,
                            int64_t threads, sgfs_err *err) {
    double before = sgfsi_now();
    memcpy(a->theta, theta, (size_t)m->D * sizeof *theta);
    sgfs_status status = ask_all(a, m, threads, err);
    if (status == SGFS_OK) status = complete(a, m, err);
    a->passes = 1;
    a->rows = m->data->N;
    a->seconds = sgfsi_now() - before;
    return status;
}

/* ---- what is kept of each row ---------------------------------------------------------------- */

sgfs_status sgfsi_anchor_remember(sgfsi_anchor *a, const sgfs_model *m, int64_t threads,
                                  sgfsi_arena *arena, sgfs_err *err) {
    double before = sgfsi_now();
    sgfsi_remembered *r = sgfsi_arena_alloc(arena, 1, sizeof *r);
    if (r == NULL) return sgfsi_fail_memory(err, "the scores at the anchor");
    sgfs_status status = sgfsi_remembered_fill(r, m, a->theta, threads, arena, err);
    if (status != SGFS_OK) return status;
    a->remembered = r;
    a->passes++;
    a->rows += m->data->N;
    a->seconds += sgfsi_now() - before;
    return SGFS_OK;
}

sgfsi_control sgfsi_anchor_control(const sgfsi_anchor *a) {
    return (sgfsi_control){
        .theta = a->theta, .G = a->G, .loglik = a->loglik, .rows = a->remembered};
}

sgfs_expansion sgfsi_anchor_expansion(const sgfsi_anchor *a) {
    return (sgfs_expansion){.theta = a->theta, .G = a->G, .info = a->info};
}
