/* SPDX-License-Identifier: MIT
 * sgfs_cv.c: SGFS with control variates: the general step (corrected_step.h) with the posterior's
 * own curvature and a gradient whose noise is small,
 *
 *     theta += A^-1 (h G + R z),   R R' = h (2 - h) A - h^2 S
 *     G = G* + grad log prior(theta) + N mean_batch [g_i(theta) - g_i(theta*)]
 *
 *   theta*   the anchor, near the mode, with G* = gradient of all rows there (posterior/anchor.h)
 *   A        information + prior, at the anchor; with few rows a parameter its mean around it
 *   S        (gamma - 1) N Cov(g_i(theta) - g_i(theta*)): about (D/n) A where SGFS has (N/n) A
 *
 * so that with n of a few D the step h = 1 is allowed and every minibatch gives an almost
 * independent draw, whatever N is.
 *
 * While the first chain opens: anchor; S from all rows (posterior/row_noise.h) at places of the
 * Gaussian N(theta*, A^-1), which is the stationary law to first order; from that h, the largest
 * step <= 1 for which R exists with a margin, or the sentence that says that nothing is gained
 * (sampler->fallback). The other chains borrow all of it. A chain begins with a draw of that
 * Gaussian and goes on averaging S along its own way: the average over the stationary law is all
 * that matters (corrected_step.h). Should R cease to exist, h is lowered, which is counted
 * (sampler->interventions).
 *
 * Why a mean of A: where the curvature of the posterior is m A on average, the covariance at step h
 * is (2 - h)/(m (2 - h m)) A^-1 and not A^-1/m: with N of a few D draws would be too narrow.
 *
 * Re-anchoring: S grows like |theta - theta*|^2, and stays at its value around the anchor as long
 * as the chain does. When the measured noise tr(A^-1 S)/D, averaged over some dozens of batches, is
 * --reanchor-at (4) times that, the chain's centre should lie about sqrt(3 D) posterior standard
 * deviations from the anchor. If it does, the chain takes an anchor of its own at the mean of its
 * recent places, by one pass over all rows; if not, the noise is the posterior's own (few events,
 * rows far out), a new anchor would be no better than the mode, and none is taken.
 *
 * A posterior without one mode has no anchor, and this sampler refuses it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/rng.h"
#include "context/device/device.h"
#include "posterior/remembered.h"
#include "posterior/row_noise.h"
#include "sampler/corrected_step.h"
#include "sampler/sgfs_matrix.h"

/* Statistics of a draw beside those of every stochastic gradient. */
enum { RIDGES = SGFSI_OWN_STATS, NOISE, ANCHORS, STATS };

typedef struct settings {
    sgfsi_corrected_settings step; /* first: corrected_step.c looks at it */
    const char *curvature, *anchor, *anchor_cache;
    double reanchor_at, tolerance;
} settings;

#define AT(field) offsetof(settings, field)
static const sgfsi_setting setting_list[] = {
    {"sampler.step", AT(step.step), NULL, false},
    {"sampler.anchor", AT(anchor), "anchor", false},
    {"sampler.curvature", AT(curvature), "curvature of the", false},
    {"sampler.noise_matrix", AT(step.noise_matrix), "noise matrix", false},
    {"sampler.reanchor_at", AT(reanchor_at), NULL, false},
    {"sampler.anchor_tolerance", AT(tolerance), NULL, false},
    {"sampler.anchor_cache", AT(anchor_cache), NULL, false},
    SGFSI_SETTINGS_END};

typedef struct sgfs_cv {
    sgfsi_corrected step;
    sgfsi_control control;
    double *G, *mean; /* D each: gradient; mean of the chain's recent places */
    bool anchored;    /* --anchor on: differences of scores */
    bool from_scores; /* --curvature scores */
    bool begun;
    sgfsi_turns turns;
    double around; /* noise around the anchor, from all rows */
    double limit;  /* re-anchor when the noise is so many times that */
    int64_t seen;  /* batches measured since the last anchor */
} sgfs_cv;

/* clang-format off */
static const sgfs_option options[] = {
    {"sampler.step", "step", SGFS_NUMBER, "auto", 1e-9, 1.999, NULL,
     "step h; 1: a Newton step; smaller: closer to the exact posterior (auto: largest <= 1)"},
    {"sampler.curvature", "curvature", SGFS_CHOICE, "model", 1, 0, "model|scores",
     "what steps are scaled by: the model's information, or the scores' covariance"},
    {"sampler.anchor", "anchor", SGFS_CHOICE, "on", 1, 0, "on|off",
     "off: plain gradients, without differences to those at the anchor"},
    {"sampler.noise_matrix", "noise-matrix", SGFS_CHOICE, "full", 1, 0, "full|diag",
     "gradient noise by its covariance, or its diagonal alone: cheaper, approximate"},
    {"sampler.reanchor_at", "reanchor-at", SGFS_NUMBER, "4", 0.01, 1e300, NULL,
     "a new anchor when gradient noise is so many times what it was around the old one"},
    SGFSI_ANCHOR_ROWS,
    SGFSI_ANCHOR_CACHE_ROW,
    SGFSI_OPTIONS_END};
/* clang-format on */

/* Places where all rows are scored while opening. */
enum { FEWEST_PLACES = 4, LEAST_PLACES = 16, MOST_PLACES = 64 };
/* Multiplications that products of matrices may take there. */
static const double noise_work = 2e10;
/* Rows for each parameter up to which the curvature is averaged over the places: its mean differs
 * from that at the mode by a part of the order of D/N. */
static const double averaged_up_to = 3000;
/* Where that mean differs by more than a twentieth, the posterior is no Gaussian, and the tails
 * that the gradient's noise makes find too little curvature to come back: at most a third of the
 * variance may be the noise's, in place of two thirds. */
static const double bent_margin = 2;
/* Batches in the running average of the noise: some dozens. */
static const double memory = 32;
/* Multiplications up to which warm-up learns from every batch. */
static const double cheap = 1 << 26;

/* ---- choices --------------------------------------------------------------------------------- */

/* An iteration costs about as much as two of SGFS with the same batch, and the noise falls as
 * 1/n: with 5 rows a parameter it is a fifth of the curvature, far from where it would limit the
 * step. (bench/cv.c: effective draws per second at several n.) */
static int64_t batch(int64_t W, int64_t D) {
    int64_t n = 5 * D > 64 ? 5 * D : 64, most = W / 4 > 2 ? W / 4 : 2;
    return n < most ? n : most;
}

static sgfs_status refuse_options(const sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    const settings *set = plan->settings;
    const char *const begins = "its chains begin with a draw of the Gaussian at the anchor",
                      *const matrix = "its matrix is the curvature at the anchor";
    const struct {
        const char *key, *flag, *why;
    } list[] = {
        {"fisher.update", "fisher-update", matrix},
        {"fisher.fade", "fisher-fade", matrix},
        {"fisher.fill", "fisher-fill", matrix},
        {"run.init", "init", begins},
        {"run.climb", "climb", begins},
    };
    const char *no_anchor = sgfsi_anchor_refuses(now->model);
    if (no_anchor != NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--sampler sgfs-cv cannot draw from this posterior: %s (model %s). "
                          "--sampler sgfs-f, or sgfs-d for many parameters, needs no anchor.",
                          no_anchor, now->model->kind->name);
    }
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        if (!sgfsi_config_given(plan->cfg, list[i].key)) continue;
        return sgfsi_fail(err, SGFS_EUSAGE, "--%s has no meaning for --sampler sgfs-cv: %s.",
                          list[i].flag, list[i].why);
    }
    if (strcmp(now->fisher, "inverse") == 0) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--sampler sgfs-cv injects noise by a factor of its matrix: --fisher "
                          "inverse has none (full, diag and block have).");
    }
    if (strcmp(set->step.noise_matrix, "diag") == 0 && plan->fisher.ridge > 0) {
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "--noise-matrix diag and --fisher-ridge do not go together: leave one out.");
    }
    return SGFS_OK;
}

/* Lengths: a chain that begins with a draw of the Gaussian has little to forget. What h will
 * come out as, roughly: the noise of Gaussian columns is (D + 1)/n of the curvature, that of
 * others more. */
static sgfs_status plan_cv(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    settings *set = plan->settings;
    sgfsi_fisher_settings *f = &plan->fisher;
    sgfs_status status = refuse_options(plan, now, err);
    if (status == SGFS_OK) status = sgfsi_sgfs_matrix_check(plan, now->fisher, err);
    if (status != SGFS_OK) return status;
    if (strcmp(f->update, "auto") == 0) f->update = "refactor";
    if (f->turns.every < 0) f->turns.every = strcmp(now->fisher, "diag") == 0 ? 1 : 10;
    if (isnan(f->ridge)) f->ridge = 0;
    if (strcmp(set->anchor_cache, "auto") == 0)
        set->anchor_cache = sgfsi_remembered_pays(now->model) ? "on" : "off";
    bool plain = strcmp(set->anchor, "off") == 0;
    double s = plain ? now->gamma - 1 : 1.5 * (double)(now->D + 1) / (double)now->n;
    double h =
        isnan(set->step.step) ? fmin(1, 2 / (1 + (1 + sgfsi_noise_margin) * s)) : set->step.step;
    double tau = (2 - h) / h, draws = fmax(1000, ceil(400 * tau));
    sgfsi_plan_lengths(plan, ceil(200 + 5 * tau), NAN, ceil(draws / 1000));
    double kept = (double)plan->thin;
    sgfsi_plan_lengths(plan, NAN, ceil(draws / kept) * kept, NAN);
    return SGFS_OK;
}

/* ---- around the anchor ----------------------------------------------------------------------- */

/* Gradients are by differences to those at the anchor, wherever that is now. */
static void compare_with_anchor(sgfs_sampler *sampler, sgfs_cv *s) {
    s->control = sgfsi_anchor_control(sampler->anchor);
    sampler->eval.control = s->anchored ? &s->control : NULL;
}

/* A draw of the Gaussian there. */
static void draw_place(const sgfs_sampler *sampler, int64_t t, uint32_t purpose, double *theta) {
    const sgfs_device *dev = sampler->model->ctx.near;
    const sgfsi_anchor *a = sampler->anchor;
    sgfsi_sampler_normals(sampler, t, purpose, theta);
    sgfsi_trsv(dev, sampler->D, a->L, true, theta);
    sgfsi_axpy(dev, sampler->D, 1.0, a->theta, theta);
}

/* A Gaussian around the anchor and what all rows say at places of it. */
typedef struct around {
    int64_t K, threads;
    bool averages;       /* A and G, too, and places in pairs */
    double *centre, *G;  /* D each: its centre; mean gradient */
    double *A, *L, *cov; /* D x D lower: its precision, the factor; Cov(d_i) */
    double *place;       /* K x D */
} around;

/* As many places as parameters, so that a quadratic form has the right mean over them; more where
 * that is few, fewer where it is many or each costs a product of matrices. */
static sgfs_status open_around(const sgfs_sampler *sampler, const sgfs_cv *s, around *w,
                               sgfsi_arena *arena, sgfs_err *err) {
    const sgfsi_anchor *a = sampler->anchor;
    int64_t D = sampler->D;
    double N = (double)sampler->model->data->N, product = N * (double)D * (double)D;
    w->threads = sampler->reanchors > 0 ? 1 : sampler->plan->cores;
    for (w->K = D < MOST_PLACES ? D : MOST_PLACES; w->K < LEAST_PLACES; w->K += D) {
    }
    w->averages = !s->from_scores && N < averaged_up_to * (double)D &&
                  2 * (double)w->K * product < noise_work;
    if (w->averages) w->K *= 2;
    else if (!sgfsi_row_noise_is_factored(sampler->model) && (double)w->K * product > noise_work)
        w->K = (int64_t)fmax(FEWEST_PLACES, noise_work / product);
    if (!SGFSI_ROOM(arena, D, &w->centre, &w->G) || !SGFSI_ROOM(arena, w->K * D, &w->place) ||
        !SGFSI_ROOM(arena, D * D, &w->A, &w->L, &w->cov))
        return sgfsi_fail_memory(err, "the gradient's noise");
    memcpy(w->centre, a->theta, (size_t)D * sizeof *w->centre);
    memcpy(w->L, a->L, (size_t)(D * D) * sizeof *w->L);
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j <= i; j++)
            w->A[i * D + j] =
                sgfsi_dot(sampler->model->ctx.near, j + 1, a->L + i * D, a->L + j * D);
    }
    return SGFS_OK;
}

/* One pass: Cov(d_i), and with `averages` the mean gradient and curvature, at places of it. */
static sgfs_status score_all_rows(sgfs_sampler *sampler, bool plain, around *w, sgfs_err *err) {
    int64_t D = sampler->D, first = SGFSI_PROBE_PLACE + (sampler->reanchors << 24);
    const sgfsi_row_noise noise = {.anchor = sampler->anchor,
                                   .plain = plain,
                                   .K = w->K,
                                   .place = w->place,
                                   .cov = w->cov,
                                   .A = w->averages ? w->A : NULL,
                                   .G = w->G};
    for (int64_t k = 0; k < w->K; k++)
        sgfsi_sampler_normals(sampler, first + k, SGFSI_PROBE, w->place + k * D);
    sgfsi_row_noise_places(sampler->model->ctx.near, w->K, D, w->averages, w->centre, w->L,
                           w->place);
    sampler->full.rows_touched += sampler->model->data->N;
    return sgfsi_row_noise_find(&noise, sampler->model, w->threads, err);
}

/* Towards the Gaussian whose centre has mean gradient 0 and whose precision is the mean curvature:
 * a step of Newton's. The logarithm of its curvature over that at the anchor, mean over directions;
 * INFINITY: it is nowhere near. */
static double approach(const sgfs_sampler *sampler, around *w) {
    const sgfs_device *dev = sampler->model->ctx.near;
    int64_t D = sampler->D;
    double ratio = 0;
    sgfsi_trsv(dev, D, w->L, false, w->G);
    double shift = sgfsi_dot(dev, D, w->G, w->G);
    sgfsi_trsv(dev, D, w->L, true, w->G);
    sgfsi_axpy(dev, D, 1.0, w->G, w->centre);
    memcpy(w->L, w->A, (size_t)(D * D) * sizeof *w->L);
    if (!(shift < (double)D) || sgfsi_potrf(dev, D, w->L) != 0) return INFINITY;
    for (int64_t j = 0; j < D; j++)
        ratio += 2 * log(w->L[j * (D + 1)] / sampler->anchor->L[j * (D + 1)]) / (double)D;
    return fabs(ratio) < log(2) ? ratio : INFINITY;
}

/* A from the scores at the anchor: N Cov(g). */
static sgfs_status scores_at_anchor(sgfs_sampler *sampler, sgfs_cv *s, around *w, sgfs_err *err) {
    sgfsi_corrected *g = &s->step;
    sgfs_sym *I1 = &g->I1.I1;
    const sgfsi_row_noise noise = {.anchor = sampler->anchor,
                                   .plain = true,
                                   .K = 1,
                                   .place = sampler->anchor->theta,
                                   .cov = w->A};
    sampler->full.rows_touched += sampler->model->data->N;
    sgfs_status status = sgfsi_row_noise_find(&noise, sampler->model, w->threads, err);
    if (status != SGFS_OK) return status;
    I1->kind->from_dense(I1, w->A);
    return sgfsi_precision_of_scores(&g->P, sampler, I1, err);
}

/* A, S and h around the anchor at hand. */
static sgfs_status look_around(sgfs_sampler *sampler, sgfs_cv *s, sgfs_status code, sgfs_err *err) {
    sgfsi_corrected *g = &s->step;
    sgfsi_arena arena = {NULL};
    around w = {.K = 0};
    double bent = 0;
    sgfs_status status = open_around(sampler, s, &w, &arena, err);
    for (int pass = 0; pass < 2 && w.averages && status == SGFS_OK; pass++) {
        status = score_all_rows(sampler, !s->anchored, &w, err);
        if (status != SGFS_OK) break;
        g->margin = fabs(bent = approach(sampler, &w)) > 0.05 ? bent_margin : sgfsi_noise_margin;
        if (isfinite(bent)) continue;
        sgfsi_arena_free(&arena);
        status = open_around(sampler, s, &w, &arena, err);
        w.averages = false;
    }
    if (status == SGFS_OK && !w.averages) status = score_all_rows(sampler, !s->anchored, &w, err);
    if (status == SGFS_OK && s->from_scores) status = scores_at_anchor(sampler, s, &w, err);
    else if (status == SGFS_OK) status = sgfsi_precision_of_dense(&g->P, sampler, w.A, g->x, err);
    compare_with_anchor(sampler, s);
    if (status == SGFS_OK) sgfsi_corrected_know(g, sampler, w.cov);
    sgfsi_arena_free(&arena);
    s->around = g->noise;
    s->seen = 0;
    memcpy(s->mean, sampler->anchor->theta, (size_t)sampler->D * sizeof *s->mean);
    return status == SGFS_OK ? sgfsi_corrected_settle(g, sampler, code, err) : status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static sgfs_status open_cv(sgfs_sampler *sampler, sgfs_err *err) {
    const settings *set = sampler->settings;
    sgfs_cv *s = sampler->state = sgfsi_arena_alloc(sampler->arena, 1, sizeof *s);
    if (s == NULL || !SGFSI_ROOM(sampler->arena, sampler->D, &s->G, &s->mean))
        return sgfsi_fail_memory(err, "the sampler");
    s->anchored = strcmp(set->anchor, "on") == 0;
    s->from_scores = strcmp(set->curvature, "scores") == 0;
    s->turns = sampler->plan->fisher.turns;
    double work = (double)sampler->eval.n * (double)sampler->D * (double)sampler->D;
    if (work >= cheap && s->turns.warmup_every < s->turns.every)
        s->turns.warmup_every = s->turns.every;
    s->limit = set->reanchor_at;
    sgfs_status status = sgfsi_corrected_open(&s->step, sampler, err);
    if (status == SGFS_OK)
        status = sgfsi_sampler_anchor(sampler, set->tolerance, strcmp(set->anchor_cache, "on") == 0,
                                      err);
    if (status == SGFS_OK && s->anchored)
        status = sgfsi_eval_open_control(&sampler->eval, sampler->arena, err);
    if (status != SGFS_OK) return status;
    if (sampler->first != NULL) return sgfsi_sampler_borrow(sampler, "", err);
    status = look_around(sampler, s, SGFS_EUSAGE, err);
    if (status != SGFS_OK) return status;
    /* Rows that are scored for an effective draw: (2 - h)/h batches, twice each, against the
     * pass of SGFS (tau = N/n, or 19 where its step of a tenth is the shorter one). */
    double h = s->step.h, tau = (2 - h) / h, n = (double)sampler->eval.n,
           ours = 2 * n * (2 - h) / h;
    double sgfs = fmax((sampler->eval.gamma - 1) * n, 19 * n);
    bool gains = !s->anchored || s->step.given || ours < sgfs;
    if (!gains) {
        snprintf(sampler->fallback, sizeof sampler->fallback,
                 "Control variates gain nothing here: around the anchor the gradient's noise is "
                 "%.3g of the curvature, so that steps are at most h = %.2g and an effective draw "
                 "would score about %.3g rows, where SGFS scores %.3g.",
                 s->around, h, ours, sgfs);
    }
    sgfsi_json_num(sampler->report, "step", h);
    sgfsi_json_num(sampler->report, "tau_predicted", tau);
    sgfsi_json_num(sampler->report, "noise", s->around);
    if (s->step.given || !gains) return SGFS_OK;
    sgfsi_say(sampler->log, SGFS_DETAIL,
              "Gradient noise %.2g of the curvature: step %.3g, autocorrelation time %.3g.",
              s->around, h, tau);
    return SGFS_OK;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* Batches over which the noise is averaged: as many places that know nothing of each other. */
static double batches_of(const sgfs_cv *s) {
    double tau = (2 - s->step.h) / s->step.h;
    return memory * fmax(1, tau / (double)s->turns.every);
}

/* The chain has left the anchor: a new one where it has been of late. */
static sgfs_status follow(sgfs_sampler *sampler, sgfs_cv *s, const double *theta, sgfs_err *err) {
    double batches = batches_of(s);
    double kappa = 1 / fmin((double)++s->seen, batches);
    for (int64_t j = 0; j < sampler->D; j++) s->mean[j] += kappa * (theta[j] - s->mean[j]);
    if (!s->anchored || (double)s->seen < batches) return SGFS_OK;
    /* Noise alone may be large by chance, or because the posterior is wild: the chain's centre must
     * have moved as well. F times the noise belongs to a distance of (F - 1) D squared standard
     * deviations; half of it is beyond what a mean of so many places shows by chance (about
     * D/60). */
    sgfsi_corrected *g = &s->step;
    int64_t D = sampler->D;
    if (g->noise <= s->limit * s->around) return SGFS_OK;
    for (int64_t j = 0; j < D; j++) g->tmp[j] = s->mean[j] - sampler->anchor->theta[j];
    g->P.L.kind->mul_factor(&g->P.L, true, g->tmp);
    double distance = sgfsi_dot(g->P.L.device, D, g->tmp, g->tmp);
    if (!(distance > 0.5 * (s->limit - 1) * (double)D)) return SGFS_OK;
    sgfs_status status = sgfsi_sampler_reanchor(sampler, s->mean, err);
    return status == SGFS_OK ? look_around(sampler, s, SGFS_ENUMERIC, err) : status;
}

static sgfs_status step(sgfs_sampler *sampler, const sgfs_iteration *now, double *theta,
                        double *stats, sgfs_err *err) {
    sgfs_cv *s = sampler->state;
    sgfsi_corrected *g = &s->step;
    double before = (double)sampler->interventions;
    if (!s->begun) draw_place(sampler, 1, SGFSI_START, theta);
    s->begun = true;
    compare_with_anchor(sampler, s);
    sgfsi_sampler_normals(sampler, now->t, SGFSI_NOISE, g->z);
    sgfs_status status = sgfsi_eval_gradient(&sampler->eval, now->t, SGFSI_ROWS, theta, s->G,
                                             now->want_lp ? &stats[SGFSI_LP] : NULL, err);
    bool due = !g->ready || sgfsi_turns_due(&s->turns, now);
    if (status == SGFS_OK && due) {
        sgfsi_corrected_learn(g, &sampler->eval, now->t <= now->warmup, 1 / batches_of(s));
        status = sgfsi_corrected_renew(g, sampler, err);
    }
    if (status != SGFS_OK) return status;
    stats[SGFSI_STEP_SIZE] = g->h;
    stats[SGFSI_GRAD_NORM] = sqrt(sgfsi_dot(sampler->model->ctx.device, sampler->D, s->G, s->G));
    sgfsi_corrected_move(g, s->G, theta);
    if (due) status = follow(sampler, s, theta, err);
    stats[RIDGES] = (double)sampler->interventions - before;
    stats[NOISE] = g->noise;
    stats[ANCHORS] = (double)sampler->reanchors;
    return status;
}

static void fields(const sgfs_sampler *sampler, sgfsi_fields *list) {
    sgfs_cv *s = sampler->state;
    sgfsi_corrected_fields(&s->step, list);
    SGFSI_FIELD_ARRAY(list, s, mean, sampler->D);
    SGFSI_FIELD_ONE(list, s, begun);
    SGFSI_FIELD_ONE(list, s, around);
    SGFSI_FIELD_ONE(list, s, seen);
}

/* ---- what theory says ------------------------------------------------------------------------ */

static double tau(const sgfsi_plan *plan) {
    double h = ((const settings *)plan->settings)->step.step;
    return isnan(h) ? 0 : (2 - h) / h; /* 0: known when the first chain is open */
}

static const char *caution(const sgfsi_plan *plan, const char *fisher) {
    const settings *set = plan->settings;
    if (strcmp(fisher, "full") != 0) {
        return "sgfs-cv with less than the full matrix is approximate where parameters are "
               "correlated: means are right, variances are off by about --step. `sgfs audit RUN` "
               "measures it.";
    }
    if (strcmp(set->step.noise_matrix, "diag") == 0) {
        return "sgfs-cv --noise-matrix diag is approximate: the gradient's noise is taken for a "
               "multiple of the curvature. Compare with --noise-matrix full.";
    }
    if (strcmp(set->curvature, "scores") == 0) {
        return "sgfs-cv --curvature scores is approximate: variances are off where the covariance "
               "of the scores is not the curvature.";
    }
    return "sgfs-cv is approximate where the posterior is not Gaussian: its bias is of the order "
           "of --step and shrinks with it. `sgfs audit RUN` measures it.";
}

static void describe(const sgfs_sampler *s, char *out, size_t room) {
    double h = sgfsi_json_get_num(s->report, "step", 0); /* chosen while opening */
    if (h > 0) sgfsi_append(out, room, ", step %s", SGFSI_DIGITS(h, 3));
    if (s->fisher != &sgfs_fisher_full) sgfsi_append(out, room, ", matrix %s", s->fisher->name);
}

static const char *const stats[] = {
    SGFSI_GRADIENT_STATS, [RIDGES] = "ridges", [NOISE] = SGFSI_STAT_NOISE, [ANCHORS] = "anchors",
    [STATS] = NULL};

static int advise(const sgfsi_plan *plan, const char *advice[2]) {
    (void)plan;
    advice[0] = "a smaller --step";
    return 1;
}

/* A share of a Newton step, 1 being the largest that is usual. */
static const char *const tuned[] = {"sampler.step=0.1,0.3,1", NULL};

const sgfs_sampler_kind sgfs_sampler_sgfs_cv = {
    .name = "sgfs-cv",
    .help = "SGFS with control variates: an almost independent draw from each minibatch",
    .options = options,
    .settings = setting_list,
    .settings_size = sizeof(settings),
    .anchored = true,
    .vanishing = "sampler.step",
    .uses_fisher = true,
    .stats = stats,
    .tuned = tuned,
    .batch = batch,
    .plan = plan_cv,
    .advise = advise,
    .describe = describe,
    .open = open_cv,
    .step = step,
    .fields = fields,
    .tau = tau,
    .caution_at = caution,
};
