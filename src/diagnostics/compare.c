/* SPDX-License-Identifier: MIT
 * compare.c: a run against a reference: E1, E2 and trR of measures.c with what chance alone would
 * give, one z per parameter, and the pairs of parameters whose joint marginals agree best and
 * worst.
 *
 * Moments are over every iteration where the run has them (moments.c); Monte Carlo errors come from
 * the kept draws (summary.c):
 *     z    = (m - m*) / sqrt(mcse^2 + mcse*^2),   mcse* = 0 where the reference is taken as exact
 *     z_sd = log(sd/sd*) / sqrt((1/ESS + v)/2),   ESS the smaller of bulk and tail, v that of *
 * A pair's ellipse at two standard deviations needs its mean and 2 x 2 covariance: both are in the
 * JSON.
 */
#include <math.h>
#include <stdlib.h>

#include "diagnostics/measures.h"
#include "diagnostics/moments.h"
#include "diagnostics/reference.h"
#include "diagnostics/summary.h"

/* Mean and covariance (xx, xy, yy) of a pair, in the run and in the reference. */
typedef struct pair {
    double divergence, mean[2], ref_mean[2], cov[3], ref_cov[3];
} pair;

/* The public struct comes first, so that its pointer is also ours. */
typedef struct compare {
    sgfs_compare shown;
    sgfsi_arena arena;
    pair best, worst;
} compare;

/* Everything the rows and measures are made of. */
typedef struct sides {
    const sgfs_draws *draws;
    sgfsi_used used;
    sgfsi_moments run;
    sgfsi_reference ref;
    sgfs_summary *summary;
} sides;

static pair pair_of(const sgfsi_gaussians *g, const int64_t at[2]) {
    int64_t i = at[0], j = at[1], D = g->D;
    pair p = {.divergence = NAN};
    if (i < 0) return p;
    p.divergence = sgfsi_pair_divergence(g, i, j);
    for (int k = 0; k < 2; k++) {
        p.mean[k] = g->mean[at[k]];
        p.ref_mean[k] = g->ref_mean[at[k]];
    }
    for (int k = 0; k < 3; k++) {
        int64_t entry = k == 0 ? i * D + i : k == 1 ? i * D + j : j * D + j;
        p.cov[k] = g->cov[entry];
        p.ref_cov[k] = g->ref_cov[entry];
    }
    return p;
}

static sgfs_status fill(sides *s, sgfsi_arena *work, compare *out, sgfs_err *err) {
    sgfs_compare *shown = &out->shown;
    bool want_cov = s->ref.cov != NULL;
    int64_t D = s->draws->D;
    sgfs_status status = sgfsi_used_of(s->draws, work, &s->used, err);
    if (status == SGFS_OK)
        status = sgfsi_moments_of(s->draws, &s->used, want_cov, work, &s->run, err);
    if (status != SGFS_OK) return status;
    double *error = SGFSI_DOUBLES(work, D);
    double *scratch = SGFSI_DOUBLES(work, want_cov ? D * (D + 1) : 1);
    shown->row = sgfsi_arena_alloc(&out->arena, D, sizeof *shown->row);
    if (error == NULL || scratch == NULL || shown->row == NULL)
        return sgfsi_fail_memory(err, "the comparison");
    shown->state = sgfsi_arena_text(&out->arena, s->summary->state);
    shown->reference_state = sgfsi_arena_text(&out->arena, s->ref.state);
    shown->reference_verdict = sgfsi_arena_text(&out->arena, s->ref.verdict);
    if (sgfsi_arena_failed(&out->arena)) return sgfsi_fail_memory(err, "the comparison");
    shown->dim = D;
    shown->ess_min = s->summary->ess_min;
    shown->E2 = shown->trR = shown->E2_noise = shown->trR_noise = NAN;
    for (int k = 0; k < 2; k++) shown->best[k] = shown->worst[k] = -1;
    for (int64_t i = 0; i < D; i++) {
        sgfs_compare_row *row = &shown->row[i];
        const sgfs_summary_row *known = &s->summary->row[i];
        row->name = sgfsi_arena_text(&out->arena, known->name);
        if (row->name == NULL) return sgfsi_fail_memory(err, "the comparison");
        row->mean = s->run.mean[i];
        row->reference = s->ref.mean[i];
        row->sd = sqrt(s->run.var[i]);
        row->reference_sd = s->ref.cov != NULL ? sqrt(s->ref.cov[i * D + i]) : NAN;
        double ref_error = s->ref.error[i];
        if (s->ref.cov == NULL) ref_error = row->sd * sqrt(s->ref.v); /* "ess" without "cov" */
        error[i] = hypot(known->mcse, ref_error);
        row->z = (row->mean - row->reference) / error[i];
        double ess = fmin(known->ess_bulk, known->ess_tail);
        row->z_sd = log(row->sd / row->reference_sd) / sqrt(0.5 / ess + 0.5 * s->ref.v);
        if (s->ref.theta == NULL || isnan(known->q5)) continue;
        shown->true_total++;
        double truth = s->ref.theta[i];
        if (truth >= known->q5 && truth <= known->q95) shown->true_inside++;
    }
    shown->E1 = sgfsi_measure_E1(D, s->run.mean, s->ref.mean);
    shown->E1_noise = sgfsi_noise_E1(D, error, s->ref.mean);
    if (!want_cov) return SGFS_OK;
    /* covariances, and the noise of both of them */
    int64_t step = s->run.every_iteration || s->draws->thin < 1 ? 1 : s->draws->thin;
    double v = s->ref.v + sgfsi_reference_noise(s->summary, s->run.count, step, work);
    shown->E2 = sgfsi_measure_E2(D, s->run.cov, s->ref.cov);
    shown->E2_noise = sgfsi_noise_E2(D, s->ref.cov, v);
    /* The inverse of a covariance of n draws is too large, by n/(n - D - 1) on average. */
    double inverse = 1 - s->ref.v * (double)(D + 1);
    shown->trR =
        inverse > 0 ? inverse * sgfsi_measure_trR(D, s->run.cov, s->ref.cov, scratch) : NAN;
    shown->trR_noise = sgfsi_noise_trR(D, v);
    sgfsi_gaussians g = {D, s->run.mean, s->run.cov, s->ref.mean, s->ref.cov};
    sgfsi_pair_extremes(&g, shown->best, shown->worst);
    out->best = pair_of(&g, shown->best);
    out->worst = pair_of(&g, shown->worst);
    return SGFS_OK;
}

sgfs_compare *sgfsi_compare_new(const sgfs_draws *draws, const char *reference, int64_t threads,
                                sgfs_err *err) {
    if (draws == NULL) return NULL;
    sgfsi_arena work = {0};
    sides s = {.draws = draws, .ref.threads = threads};
    compare *out = calloc(1, sizeof *out);
    if (out == NULL) return sgfsi_fail_memory(err, "the comparison"), NULL;
    /* The reference first: its names are what most often does not fit. */
    sgfs_status status =
        sgfsi_reference_read(reference, draws->D, draws->param, &work, &s.ref, err);
    if (status == SGFS_OK) {
        s.summary = sgfsi_summary_new(draws, threads, err);
        status = s.summary == NULL ? SGFS_EDATA : fill(&s, &work, out, err);
    }
    if (status == SGFS_OK && sgfsi_arena_failed(&work))
        status = sgfsi_fail_memory(err, "the comparison");
    sgfsi_summary_free(s.summary);
    sgfsi_arena_free(&work);
    if (status == SGFS_OK) return &out->shown;
    sgfsi_compare_free(&out->shown);
    return NULL;
}

void sgfsi_compare_free(sgfs_compare *shown) {
    if (shown == NULL) return;
    compare *c = (compare *)shown;
    sgfsi_arena_free(&c->arena);
    free(c);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_gaussian(sgfsi_json *in, const char *key, const double mean[2],
                         const double cov[3]) {
    sgfsi_json *out = sgfsi_json_object_in(in, key);
    sgfsi_json_nums(out, "mean", 2, mean);
    sgfsi_json *rows = sgfsi_json_array_in(out, "cov");
    sgfsi_json_nums(rows, NULL, 2, cov);
    sgfsi_json_nums(rows, NULL, 2, cov + 1);
}

/* Left out (null) when there is no such pair. */
static void put_pair(sgfsi_json *in, const char *key, const sgfs_compare *c, const int64_t at[2],
                     const pair *p) {
    if (at[0] < 0) {
        sgfsi_json_text(in, key, NULL);
        return;
    }
    sgfsi_json *out = sgfsi_json_object_in(in, key), *names = sgfsi_json_array_in(out, "names");
    for (int k = 0; k < 2; k++) sgfsi_json_text(names, NULL, c->row[at[k]].name);
    sgfsi_json_num(out, "divergence", p->divergence);
    put_gaussian(out, "run", p->mean, p->cov);
    put_gaussian(out, "reference", p->ref_mean, p->ref_cov);
}

sgfsi_json *sgfsi_compare_json(const sgfs_compare *shown) {
    const compare *c = (const compare *)shown;
    sgfsi_json *out = sgfsi_json_object();
    SGFSI_JSON(out, shown, dim, E1, E1_noise, E2, E2_noise, trR, trR_noise, true_inside, true_total,
               state, reference_state, reference_verdict);
    put_pair(out, "best", shown, shown->best, &c->best);
    put_pair(out, "worst", shown, shown->worst, &c->worst);
    sgfsi_json *params = sgfsi_json_array_in(out, "params");
    for (const sgfs_compare_row *row = shown->row; row < shown->row + shown->dim; row++) {
        sgfsi_json *param = sgfsi_json_object_in(params, NULL);
        SGFSI_JSON(param, row, name, mean, reference, sd, reference_sd, z, z_sd);
    }
    return out;
}
