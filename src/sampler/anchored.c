/* SPDX-License-Identifier: MIT
 * anchored.c: the anchor of a sampler: found by the first chain, on all threads, before any chain
 * walks; borrowed by the others. A chain that has moved away makes one of its own.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/config.h"
#include "base/number.h"
#include "base/ticker.h"
#include "model/prior.h"
#include "sampler/sampler.h"

/* What it cost goes to the user and to the run file. */
static void tell(const sgfs_sampler *s, const sgfsi_anchor *a) {
    char pilot[64] = "", rows[SGFSI_NUM_CHARS];
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_int(o, "passes", a->passes);
    sgfsi_json_int(o, "pilot_rows", a->pilot);
    sgfsi_json_num(o, "seconds", a->seconds);
    sgfsi_json_num(o, "distance", a->distance);
    sgfsi_json_flag(o, "cached", a->remembered != NULL);
    sgfsi_json_put(s->facts, "anchor", o);
    sgfsi_format_digits(rows, (double)s->model->data->N, 4);
    if (a->pilot > 0)
        snprintf(pilot, sizeof pilot, ", after a pilot on %lld rows", (long long)a->pilot);
    sgfsi_say(sgfsi_config_log(s->cfg), SGFS_NOTE,
              "Anchor found in %lld passes over %s rows and %.2g s%s: %.1g posterior sd from the "
              "mode.",
              (long long)a->passes, rows, a->seconds, pilot, a->distance);
}

sgfs_status sgfsi_sampler_anchor(sgfs_sampler *s, sgfs_err *err) {
    if (s->first != NULL) {
        s->anchor = s->first->anchor;
        return SGFS_OK;
    }
    s->anchor = sgfsi_arena_alloc(s->arena, 1, sizeof *s->anchor);
    if (s->anchor == NULL) return sgfsi_fail_memory(err, "the anchor");
    int64_t threads = sgfsi_config_int(s->cfg, "run.threads");
    sgfs_status status =
        sgfsi_anchor_find(s->anchor, s->model, s->cfg, threads > 0 ? threads : 0, s->arena, err);
    bool compares = sgfsi_options_have(s->kind->options, "sampler.anchor_cache");
    if (status == SGFS_OK && compares)
        status = sgfsi_anchor_remember(s->anchor, s->model, s->cfg, threads, s->arena, err);
    if (status != SGFS_OK) return status;
    s->full.rows_touched += s->anchor->rows; /* the chain's costs count them */
    tell(s, s->anchor);
    return SGFS_OK;
}

/* ---- a chain's own --------------------------------------------------------------------------- */

/* Room is made once, from the chain's own arena, and written anew each time. */
static sgfs_status own_room(sgfs_sampler *s, sgfs_err *err) {
    int64_t D = s->D;
    sgfsi_anchor *a = sgfsi_arena_alloc(s->arena, 1, sizeof *a);
    double *vectors = SGFSI_DOUBLES(s->arena, 3 * D),
           *matrices = SGFSI_DOUBLES(s->arena, 2 * D * D);
    if (a == NULL || vectors == NULL || matrices == NULL)
        return sgfsi_fail_memory(err, "an anchor");
    *a = (sgfsi_anchor){.theta = vectors,
                        .G = vectors + D,
                        .G_post = vectors + 2 * D,
                        .info = matrices,
                        .L = matrices + D * D};
    s->anchor = a;
    return SGFS_OK;
}

/* What all rows say at a->theta. */
static sgfs_status ask_all(sgfsi_anchor *a, const sgfs_model *m, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfsi_full f;
    sgfs_status status = sgfsi_full_open(&f, m, 1, true, &arena, err);
    if (status == SGFS_OK)
        status = sgfsi_full_likelihood(&f, a->theta, &a->loglik, a->G, a->info, err);
    sgfsi_arena_free(&arena);
    return status;
}

/* L, G_post, lp and distance from G and the lower triangle of info, which becomes both. */
static sgfs_status complete(sgfsi_anchor *a, const sgfs_model *m, double *x, sgfs_err *err) {
    int64_t D = m->D;
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j < i; j++) a->info[j * D + i] = a->info[i * D + j];
    }
    memcpy(a->L, a->info, (size_t)(D * D) * sizeof *a->L);
    sgfsi_prior_add_curvature(m, a->theta, a->L);
    int64_t failed = m->be->potrf(D, a->L);
    if (failed != 0) {
        return sgfsi_fail(err, SGFS_ENUMERIC,
                          "the information at a new anchor is singular at parameter \"%s\"",
                          m->param[failed - 1]);
    }
    memcpy(a->G_post, a->G, (size_t)D * sizeof *a->G);
    a->lp = a->loglik;
    sgfs_status status = sgfsi_prior_add(m, a->theta, &a->lp, a->G_post, err);
    memcpy(x, a->G_post, (size_t)D * sizeof *x);
    m->be->trsv(D, a->L, false, x);
    a->distance = sqrt(m->be->dot(D, x, x));
    return status;
}

sgfs_status sgfsi_sampler_reanchor(sgfs_sampler *s, const double *theta, sgfs_err *err) {
    double before = sgfsi_now();
    sgfs_status status = s->reanchors == 0 ? own_room(s, err) : SGFS_OK;
    if (status != SGFS_OK) return status;
    sgfsi_anchor *a = s->anchor;
    s->reanchors++;
    memcpy(a->theta, theta, (size_t)s->D * sizeof *theta);
    status = ask_all(a, s->model, err);
    if (status == SGFS_OK) status = complete(a, s->model, s->eval.gbar, err);
    s->full.rows_touched += s->model->data->N;
    a->passes = 1;
    a->rows = s->model->data->N;
    a->seconds = sgfsi_now() - before;
    return status;
}
