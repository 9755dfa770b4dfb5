/* SPDX-License-Identifier: MIT
 * chain.c: one chain moving.  The step itself is the sampler's; here it is started, watched and
 * recorded.
 */
#include "chain/chain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/rng.h"
#include "base/ticker.h"
#include "chain/start.h"
#include "model/prior.h"
#include "model/user.h"
#include "sampler/ahead.h"

/* ---- opening --------------------------------------------------------------------------------- */

/* A chain further from its start than this many spreads (or prior deviations) has diverged. */
static const double absurd = 1e6;

/* theta = --start, one of two modes, or the model's own, + uniform(-radius, radius) x spread. */
static void place(sgfsi_chain *w, const sgfs_model *m, double radius) {
    sgfsi_stream stream = sgfsi_stream_at(w->sampler.seed, w->sampler.chain, 0, SGFSI_START);
    sgfsi_model_start(m, w->theta, w->limit);
    const double *from = w->plan->start;
    if (from == NULL && w->plan->modes != NULL) from = w->plan->modes + w->sampler.chain % 2 * w->D;
    if (from != NULL) memcpy(w->theta, from, (size_t)w->D * sizeof *w->theta);
    sgfsi_uniforms(&stream, w->D, w->start);
    for (int64_t j = 0; j < w->D; j++) {
        w->theta[j] += radius * (2 * w->start[j] - 1) * w->limit[j];
        w->start[j] = w->theta[j];
        w->limit[j] = absurd * fmax(w->limit[j], sgfsi_prior_length(m, j));
    }
}

/* Around an anchor the posterior's own width is known, however wide it is: collinear columns, or
 * columns far from 0. room: D. */
static void widen(sgfsi_chain *w, double *room) {
    const sgfsi_anchor *a = w->sampler.anchor;
    const sgfs_device *dev = w->sampler.model->ctx.near;
    if (a == NULL || a->L == NULL || w->D > 1000) return;
    for (int64_t j = 0; j < w->D; j++) {
        memset(room, 0, (size_t)w->D * sizeof *room);
        room[j] = 1;
        sgfsi_trsv(dev, w->D, a->L, false, room); /* its length is the sd of parameter j */
        w->start[j] = a->theta[j];
        w->limit[j] = fmax(w->limit[j], absurd * sqrt(sgfsi_dot(dev, w->D, room, room)));
    }
}

/* What the sampler sees of the posterior: minibatches, or all rows. */
static sgfs_status open_view(sgfsi_chain *w, sgfs_err *err) {
    sgfs_sampler *s = &w->sampler;
    const sgfs_model *m = s->model;
    int64_t first[SGFSI_MOST_BLOCKS];
    const sgfsi_kinds *kinds = &w->plan->kinds;
    int64_t size = kinds->fisher != NULL ? w->plan->fisher.block_size : -1;
    for (int64_t k = 0; k < m->blocks; k++) first[k] = m->block[k].offset;
    s->layout = sgfsi_layout_open(m->D, size > 0 ? size : 0, m->blocks, first, &w->arena);
    if (s->layout == NULL) return sgfsi_fail_memory(err, "a chain");
    if (kinds->sampler->step_together != NULL) return SGFS_OK; /* chains have one view in common */
    if (kinds->sampler->groups) return SGFS_OK;                /* it has views of its own */
    if (kinds->sampler->full_data) {
        sgfs_status status = sgfsi_full_open(&s->full, m, w->plan->inner, false, &w->arena, err);
        s->full.stop = w->plan->stop;
        return status;
    }
    sgfs_status status = sgfsi_eval_open(&s->eval, m, kinds->scheme, w->plan->n, &w->arena, err);
    if (status == SGFS_OK) sgfsi_eval_stream(&s->eval, s->seed, s->chain);
    return status;
}

sgfs_status sgfsi_chain_open(sgfsi_chain *w, const sgfs_model *model, const sgfsi_plan *plan,
                             sgfs_err *err) {
    const sgfsi_kinds *kinds = &plan->kinds;
    w->plan = plan;
    w->D = model->D;
    while (kinds->sampler->stats[w->S] != NULL) w->S++;
    w->sampler.kind = kinds->sampler;
    w->sampler.fisher = kinds->fisher;
    w->sampler.plan = plan;
    w->sampler.settings = plan->settings;
    w->sampler.log = plan->log;
    w->sampler.arena = &w->arena;
    w->sampler.start = plan->start;
    w->sampler.seed = (uint64_t)plan->seed;
    w->sampler.chain = (uint32_t)w->index;
    w->sampler.model = model;
    w->sampler.D = model->D;
    if (w->sampler.first == NULL) w->sampler.report = sgfsi_json_object();
    sgfs_status status = open_view(w, err);
    if (status != SGFS_OK) return status;
    /* room for draws to wait in, and for the chain's own vectors */
    int64_t D = w->D;
    bool full_moments = D <= 500 || (kinds->fisher != NULL && kinds->fisher->whole);
    w->room = 65536 / (8 * (D + w->S));
    if (w->room < 1) w->room = 1;
    if (!SGFSI_ROOM(&w->arena, D, &w->theta, &w->user, &w->start, &w->limit, &w->mean) ||
        !SGFSI_ROOM(&w->arena, w->S, &w->stats) ||
        !SGFSI_ROOM(&w->arena, w->room * D, &w->draws_buffer) ||
        !SGFSI_ROOM(&w->arena, w->room * w->S, &w->stats_buffer) ||
        !sgfsi_chain_moments_open(&w->moments, model->ctx.near, D, full_moments, &w->arena))
        return sgfsi_fail_memory(err, "a chain");
    w->sampler.theta = w->theta;
    w->sampler.stats = w->stats;
    double before = sgfsi_now();
    status = kinds->sampler->open(&w->sampler, err);
    if (status == SGFS_OK) status = sgfsi_ahead_open(&w->sampler, err);
    if (status != SGFS_OK) return status;
    place(w, model, plan->init);
    if (plan->climb > 0)
        status = sgfsi_start_climb(model, plan->climb, plan->cores, w->theta, &w->climbed, err);
    if (status != SGFS_OK) return status;
    w->warmup_seconds = sgfsi_now() - before; /* a search for the mode is no small thing */
    widen(w, w->mean);
    memset(w->mean, 0, (size_t)w->D * sizeof *w->mean);
    sgfsi_model_to_user(model, w->theta, w->user);
    return SGFS_OK;
}

void sgfsi_chain_close(sgfsi_chain *w) {
    sgfsi_json_free(w->sampler.report);
    sgfsi_arena_free(&w->arena);
}

/* ---- moving ---------------------------------------------------------------------------------- */

static sgfs_status check_place(const sgfsi_chain *w, sgfs_err *err) {
    int64_t near = 0; /* a loop without an exit is one of vectors */
    for (int64_t j = 0; j < w->D; j++) near += fabs(w->theta[j] - w->start[j]) <= w->limit[j];
    for (int64_t j = 0; j < w->D && near < w->D; j++) {
        char place[SGFSI_NUM_CHARS];
        if (fabs(w->theta[j] - w->start[j]) <= w->limit[j]) continue; /* false for NaN */
        sgfsi_format_digits(place, w->theta[j], 3);
        return sgfsi_fail(err, SGFS_ENUMERIC, "parameter \"%s\" has run away to %s (diverged)",
                          w->sampler.model->param[j], place);
    }
    return SGFS_OK;
}

/* What may help, of what this sampler understands: " Try a, b or c." Only where numbers ran out: no
 * step mends an error that a model returned. */
static void advise(const sgfsi_chain *w, char *out, size_t room) {
    const sgfs_sampler_kind *kind = w->sampler.kind;
    const char *advice[5];
    out[0] = '\0';
    if (w->status != SGFS_ENUMERIC) return;
    int count = kind->advise != NULL ? kind->advise(w->plan, advice) : 0;
    advice[count++] = kind->full_data ? "a stronger --prior-precision" : "a larger --batch";
    if (kind->full_data && w->sampler.anchor == NULL) advice[count++] = "a smaller --init";
    if (w->sampler.model->data->scale == NULL) advice[count++] = "--standardize";
    bool own = w->sampler.model->kind->user != NULL; /* its callbacks may be wrong, too */
    char names[160];
    int64_t uninformed = own ? sgfsi_user_uninformed(w->sampler.model, names, sizeof names) : 0;
    if (uninformed > 0 && kind->uses_fisher) {
        snprintf(out, room,
                 " No row informs %s: of %s the matrix knows what the prior says at the start, and "
                 "no more. " SGFSI_FISHER_HOLDS_BACK " holds the steps back, --sampler nuts has no "
                 "such matrix, and `prior_precision` of the model can say more.",
                 names, uninformed == 1 ? "it" : "them");
        return;
    }
    snprintf(out, room, " %s ", own ? "If the model is right there, try" : "Try");
    for (int i = 0; i < count; i++)
        sgfsi_append(out, room, "%s%s", advice[i],
                     i == count - 1   ? "."
                     : i == count - 2 ? " or "
                                      : ", ");
}

static void explain_failure(sgfsi_chain *w) {
    sgfs_err cause = w->err;
    char advice[440];
    bool kept = w->written + w->waiting > 0;
    if (w->status == SGFS_EIO) return;  /* already says all there is to say */
    size_t length = strlen(cause.text); /* causes from files are whole sentences */
    if (length > 0 && cause.text[length - 1] == '.') cause.text[length - 1] = '\0';
    advise(w, advice, sizeof advice);
    w->status = sgfsi_fail(
        &w->err, cause.code, "Chain %lld stopped at iteration %lld%s: %.200s.%s%s",
        (long long)(w->index + 1), (long long)w->t, w->t <= w->plan->warmup ? " (warm-up)" : "",
        cause.text, kept ? " Draws before it are kept." : "", advice);
}

/* ---- rows kept aside ------------------------------------------------------------------------- */

sgfs_status sgfsi_chain_validate(sgfsi_chain *w, const sgfsi_validation_rows *validation,
                                 sgfs_err *err) {
    w->validator = sgfsi_arena_alloc(&w->arena, 1, sizeof *w->validator);
    const sgfs_sampler_kind *kind = w->sampler.kind;
    int64_t effects = kind->effects_now != NULL ? kind->effects_now(&w->sampler, NULL) : 0;
    w->effects = sgfsi_arena_alloc(&w->arena, effects + 1, sizeof *w->effects);
    if (w->validator == NULL || w->effects == NULL) return sgfsi_fail_memory(err, "the validation");
    return sgfsi_validator_open(w->validator, validation, &w->arena, err);
}

static sgfs_status hand_over_points(sgfsi_chain *w, const sgfsi_output *out, sgfs_err *err) {
    sgfsi_validator *v = w->validator;
    if (v == NULL || v->waiting == 0) return SGFS_OK;
    int64_t count = v->waiting;
    v->waiting = 0;
    return out->file != NULL ? sgfsi_runfile_points(out->file, w->index, count, v->points, err)
                             : sgfsi_draws_add_points(out->memory, w->index, count, v->points, err);
}

static sgfs_status validate(sgfsi_chain *w, bool kept, const sgfsi_output *out, sgfs_err *err) {
    if (w->validator == NULL) return SGFS_OK;
    double before = sgfsi_now(), past = w->warmup_seconds + w->sample_seconds;
    sgfsi_validation_point now = {
        .t = w->t,
        .seconds = past + before - w->since - w->validating,
        .kept = kept,
        .draw = {w->user, (uint32_t)w->index, w->written + w->waiting - 1, w->effects}};
    const sgfs_sampler_kind *kind = w->sampler.kind;
    if (kind->effects_now != NULL) (void)kind->effects_now(&w->sampler, w->effects);
    sgfs_status status = sgfsi_validator_look(w->validator, &now, err);
    if (status == SGFS_OK && w->validator->waiting == SGFSI_POINTS_ROOM)
        status = hand_over_points(w, out, err);
    w->validating += sgfsi_now() - before;
    return status;
}

/* What an iteration left: moments, and the draw when it is due. */
static void record(sgfsi_chain *w, const sgfs_iteration *now, const sgfsi_output *out) {
    bool after = now->t > now->warmup, counts = now->want_lp && !w->sampler.exploring;
    if (w->status == SGFS_OK) /* the NaN of a device that has failed may be seen here first */
        w->status = sgfsi_model_explain(w->sampler.model, check_place(w, &w->err), &w->err);
    if (w->status == SGFS_OK) /* in warm-up too: sgfs_run_theta shows it */
        sgfsi_model_to_user(w->sampler.model, w->theta, w->user);
    if (w->status == SGFS_OK && after && !w->sampler.exploring) {
        sgfsi_chain_moments_add(&w->moments, w->user);
        double part = 1 / (double)++w->meant;
        for (int64_t j = 0; j < w->D; j++) w->mean[j] += part * (w->theta[j] - w->mean[j]);
    }
    if (w->status == SGFS_OK && counts) {
        memcpy(w->draws_buffer + w->waiting * w->D, w->user, (size_t)w->D * sizeof *w->user);
        memcpy(w->stats_buffer + w->waiting * w->S, w->stats, (size_t)w->S * sizeof *w->stats);
        if (++w->waiting == w->room) w->status = sgfsi_chain_flush(w, out, &w->err);
    }
    if (w->status == SGFS_OK && (counts || !after)) w->status = validate(w, counts, out, &w->err);
    if (w->status != SGFS_OK) explain_failure(w);
}

bool sgfsi_chain_step(sgfsi_chain *w, int64_t count, const sgfsi_output *out) {
    const sgfs_iteration now = sgfsi_chain_next(w);
    sgfs_status status = w->sampler.kind->step_together != NULL
                             ? w->sampler.kind->step_together(&w->sampler, &now, &w->err)
                             : sgfsi_ahead_step(&w->sampler, &now, w->theta, w->stats, &w->err);
    status = sgfsi_model_explain(w->sampler.model, status, &w->err);
    bool fine = status != SGFS_ESTOPPED;
    sgfs_err err; /* long: copied only where there is something in it */
    if (status != SGFS_OK) err = w->err;
    for (int64_t c = 0; c < count && !fine; c++) w[c].abandoned = true; /* it has not been */
    for (int64_t c = 0; c < count && status != SGFS_ESTOPPED; c++) {
        w[c].t = now.t;
        w[c].status = status;
        if (status != SGFS_OK) w[c].err = err;
        record(&w[c], &now, out);
        fine = fine && w[c].status == SGFS_OK;
    }
    return fine;
}

/* ---- handing over ---------------------------------------------------------------------------- */

sgfs_status sgfsi_chain_flush(sgfsi_chain *w, const sgfsi_output *out, sgfs_err *err) {
    sgfs_status status = hand_over_points(w, out, err);
    if (w->waiting == 0 || status != SGFS_OK) return status;
    status = out->file != NULL ? sgfsi_runfile_draws(out->file, w->index, w->written, w->waiting,
                                                     w->draws_buffer, w->stats_buffer, err)
                               : sgfsi_draws_append(out->memory, w->index, w->waiting,
                                                    w->draws_buffer, w->stats_buffer, err);
    if (status != SGFS_OK) return status;
    w->written += w->waiting;
    w->waiting = 0;
    return SGFS_OK;
}

/* Full covariance and variances from the sums of squares, into fresh pieces of the chain's arena.
 */
static sgfs_status finish_moments(sgfsi_chain *w, sgfsi_chain_info *info, sgfs_err *err) {
    sgfsi_chain_moments *m = &w->moments;
    int64_t D = w->D;
    double divisor = m->count > 1 ? (double)(m->count - 1) : 1;
    if (!SGFSI_ROOM(&w->arena, D, &info->var, &info->tau) ||
        (m->ss != NULL && !SGFSI_ROOM(&w->arena, D * D, &info->cov)))
        return sgfsi_fail_memory(err, "the moments");
    info->mean = m->mean;
    for (int64_t i = 0; i < D; i++) {
        info->var[i] = m->var[i] / divisor;
        info->tau[i] = sgfsi_chain_moments_tau(m, i);
        for (int64_t j = 0; info->cov != NULL && j <= i; j++) {
            info->cov[i * D + j] = info->cov[j * D + i] = m->ss[i * D + j] / divisor;
        }
    }
    return SGFS_OK;
}

sgfs_status sgfsi_chain_report(sgfsi_chain *w, const sgfsi_output *out, const sgfsi_at_mean *found,
                               sgfs_err *err) {
    if (found != NULL) sgfsi_chain_moments_flush(&w->moments);
    if (found != NULL && w->validator != NULL) {
        sgfsi_validator_finish(w->validator);
        sgfs_status status = hand_over_points(w, out, err);
        if (status != SGFS_OK) return status;
    }
    /* the time that chains spend together is the first one's */
    bool counted = w->sampler.kind->step_together == NULL || w->index == 0;
    sgfsi_chain_info info = {.iterations = w->t > w->plan->warmup ? w->t - w->plan->warmup : 0,
                             .rows_touched = w->sampler.eval.rows_touched +
                                             w->sampler.full.rows_touched + w->climbed,
                             .interventions = w->sampler.interventions,
                             .reanchors = w->sampler.reanchors,
                             .warmup_seconds = counted ? w->warmup_seconds : 0,
                             .sample_seconds = counted ? w->sample_seconds : 0,
                             .curvature_sd = found != NULL ? found->curvature_sd : NULL,
                             .dispersion = found != NULL ? found->dispersion : 0};
    const sgfsi_pages *mini = &w->sampler.eval.batcher.visit;
    const sgfsi_pages full = sgfsi_full_pages(&w->sampler.full);
    const sgfsi_pages none = {.wait = 0},
                      *own = w->sampler.visit != NULL ? w->sampler.visit : &none;
    info.disk_wait = w->disk_wait + mini->wait + full.wait + own->wait;
    info.disk_bytes = w->disk_bytes + mini->bytes + full.bytes + own->bytes;
    info.disk_faults = info.disk_bytes > 0 ? w->faults : 0;
    if (found != NULL && w->moments.count > 1) {
        sgfs_status status = finish_moments(w, &info, err);
        if (status != SGFS_OK) return status;
        info.iterations = w->moments.count;
    }
    return out->file != NULL ? sgfsi_runfile_info(out->file, w->index, &info, err)
                             : sgfsi_draws_set_info(out->memory, w->index, &info, err);
}
