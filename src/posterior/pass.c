/* SPDX-License-Identifier: MIT
 * pass.c: all rows at a place: log likelihood, its gradient and the information, with the prior or
 * without.
 *
 * Rows go through the model in blocks; blocks are shared out to a fixed number of parts, each with
 * sums of its own. Threads, and processes (context/comm/comm.h), do the parts they get; the sums of
 * all parts are then added up in order: the same bits for any number of either.
 */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/ticker.h"
#include "model/kept.h"
#include "model/prior.h"
#include "model/scales.h"
#include "posterior/far_pass.h"
#include "posterior/scores.h"
#include "posterior/sweep.h"
#include "rows/elsewhere.h"

enum { FULL_BLOCK = SGFSI_FULL_BLOCK, MOST_SUMS = 1 << 23 };

/* One thread's room. */
struct sgfsi_pass {
    sgfsi_rows rows;
    sgfsi_pages visit;
    double *ones, *scratch, *loglik, *eta;
    sgfs_scores scores;
};

static void scale_rows(int64_t n, int64_t cols, const double *weight, double *x) {
    for (int64_t i = 0; i < n; i++) {
        double *row = x + i * cols;
        if (weight[i] == 0) memset(row, 0, (size_t)cols * sizeof *row); /* whatever it was */
        for (int64_t j = 0; j < cols; j++) row[j] *= weight[i];
    }
}

/* A row of weight w counts as w rows. */
static void weigh(sgfs_scores *s, const double *weight) {
    for (int64_t k = 0; k < s->blocks; k++) {
        const sgfs_score_block *o = &s->block[k];
        if (o->dense != NULL) scale_rows(s->n, o->rows * o->cols, weight, o->dense);
        else scale_rows(s->n, o->rows, weight, o->left);
    }
    scale_rows(s->n, 1, weight, s->loglik);
}

static sgfs_status open_pass(struct sgfsi_pass *f, const sgfs_model *m, bool curvature,
                             sgfsi_arena *arena, sgfs_err *err) {
    const sgfsi_rows_plan plan = {
        .n = FULL_BLOCK, .sparse = m->kind->sparse, .gatherer = m->gatherer};
    sgfs_status status = sgfsi_rows_open(&f->rows, m->data, plan, arena, err);
    if (status != SGFS_OK) return status;
    int64_t scratch = m->scratch_per_row;
    if (curvature && m->curvature_scratch_per_row > scratch) scratch = m->curvature_scratch_per_row;
    f->scratch = SGFSI_DOUBLES(arena, FULL_BLOCK * scratch);
    f->loglik = f->scores.loglik = SGFSI_DOUBLES(arena, FULL_BLOCK);
    f->ones = sgfsi_ones(arena, FULL_BLOCK);
    f->eta = SGFSI_DOUBLES(arena, FULL_BLOCK + SGFSI_SWEEP_SPARE);
    if (f->eta == NULL || f->scratch == NULL || f->loglik == NULL || f->ones == NULL) {
        return sgfsi_fail_memory(err, "a pass over the data");
    }
    return sgfsi_scores_open(&f->scores, m, FULL_BLOCK, arena, err);
}

void sgfsi_full_limit(sgfsi_full *f, int64_t count) {
    while (f->parts > 1 && f->parts * count > MOST_SUMS) f->parts /= 2;
    if (f->threads > f->parts) f->threads = f->parts;
}

sgfs_status sgfsi_full_open(sgfsi_full *f, const sgfs_model *m, int64_t threads, bool curvature,
                            sgfsi_arena *arena, sgfs_err *err) {
    int64_t D = m->D, parts = sgfsi_parts_of(m->data->N);
    bool elsewhere = m->data->elsewhere != NULL;
    sgfs_status status = sgfsi_scales_refuse(m, err);
    if (status != SGFS_OK) return status;
    if (threads <= 0) threads = m->ctx.threads;
    sgfsi_far_pass *far;
    status = sgfsi_far_pass_open(&far, m, 1, curvature, arena, err);
    if (status != SGFS_OK) return status;
    m = sgfsi_model_near(m, arena);
    if (m == NULL) return sgfsi_fail_memory(err, "a pass over the data");
    *f = (sgfsi_full){.model = m,
                      .N = m->data->N,
                      .D = D,
                      .far = far,
                      .parts = elsewhere ? 1 : parts,
                      .threads = elsewhere ? 1 : threads,
                      .stride = 1 + D + (curvature ? D * D : 0)};
    while (f->parts > SGFSI_USUAL_PARTS && f->parts * f->stride > MOST_SUMS) f->parts /= 2;
    const sgfsi_watcher *watcher = sgfsi_config_log(m->cfg)->watcher;
    f->stop = &watcher->stop;
    parts = f->parts;
    sgfsi_full_limit(f, curvature ? D * D : 1);
    f->sums = SGFSI_DOUBLES(arena, parts * f->stride);
    f->pass = sgfsi_arena_alloc(arena, f->threads, sizeof *f->pass);
    f->err = sgfsi_arena_alloc(arena, parts, sizeof *f->err);
    if (f->sums == NULL || f->pass == NULL || f->err == NULL)
        return sgfsi_fail_memory(err, "a pass over the data");
    if (sgfsi_sweep_fits(m)) {
        f->sweep = sgfsi_arena_alloc(arena, 1, sizeof *f->sweep);
        status = f->sweep != NULL ? sgfsi_sweep_open(f->sweep, m, arena, err)
                                  : sgfsi_fail_memory(err, "a pass over the data");
    }
    for (int64_t k = 0; k < f->threads && status == SGFS_OK && !elsewhere; k++) {
        status = open_pass(&f->pass[k], m, curvature, arena, err);
    }
    return status;
}

sgfs_status sgfsi_full_given_up(const sgfsi_full *f, sgfs_err *err) {
    if (!sgfsi_stop_overdue(f->stop)) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ESTOPPED, "A pass over all rows was given up.");
}

/* ---- the work on a part ---------------------------------------------------------------------- */

/* What is done with every row. */
typedef struct errand {
    sgfsi_block_fn fn;
    void *user;
    int64_t count, stride;  /* numbers of a part's sums, and from one part's to the next */
    double *sums;           /* NULL: there are none */
    bool everywhere;        /* every process wants to see every row */
    bool in_place;          /* rows are not gathered (sweep.h) */
    const sgfsi_crop *crop; /* NULL: none */
} errand;

static sgfs_status do_part(sgfsi_full *f, const errand *e, int64_t part) {
    int64_t end = sgfsi_part_first(f->N, f->parts, part + 1);
    sgfsi_block_at at = {.thread = omp_get_thread_num(), .part = part};
    if (e->sums != NULL) at.sums = e->sums + part * e->stride;
    if (e->sums != NULL) memset(at.sums, 0, (size_t)e->count * sizeof *at.sums);
    struct sgfsi_pass *pass = &f->pass[at.thread];
    sgfs_status status = SGFS_OK;
    for (at.first = sgfsi_part_first(f->N, f->parts, part); at.first < end && status == SGFS_OK;
         at.first += FULL_BLOCK) {
        int64_t n = end - at.first < FULL_BLOCK ? end - at.first : FULL_BLOCK;
        status = sgfsi_full_given_up(f, &f->err[part]);
        if (status == SGFS_OK)
            status = sgfsi_pages_range(&pass->visit, f->model->data, at.first, n, &f->err[part]);
        if (status != SGFS_OK) return status;
        const sgfs_batch *b = e->in_place ? sgfsi_rows_beside(&pass->rows, at.first, n)
                                          : sgfsi_rows_range(&pass->rows, at.first, n);
        status = e->fn(e->user, &at, b, &f->err[part]);
    }
    return status;
}

/* ---- what they leave ------------------------------------------------------------------------- */

/* Numbers of neighbouring rows: parts differ in length, pieces of a gather do not. room: parts
 * times the longest. */
static int64_t longest_part(const sgfsi_full *f, const sgfsi_crop *crop) {
    int64_t blocks = (sgfsi_blocks_of(f->N) + f->parts - 1) / f->parts;
    return blocks * (FULL_BLOCK / crop->rows) * crop->width;
}

static void copy_part(const sgfsi_full *f, const sgfsi_crop *crop, int64_t part, double *piece,
                      bool in) {
    int64_t from = sgfsi_part_first(f->N, f->parts, part) / crop->rows,
            to = (sgfsi_part_first(f->N, f->parts, part + 1) + crop->rows - 1) / crop->rows;
    double *numbers = crop->number + from * crop->width;
    size_t size = (size_t)((to - from) * crop->width) * sizeof *piece;
    if (in) memcpy(piece, numbers, size);
    else memcpy(numbers, piece, size);
}

/* status: how the pass went here. */
static sgfs_status gather_crop(const sgfsi_full *f, const sgfsi_crop *crop, double *room,
                               sgfs_status status, sgfs_err *err) {
    const sgfsi_comm *comm = f->model->ctx.comm;
    const int64_t each = crop->rows > 0 ? longest_part(f, crop) : crop->width;
    const int64_t bytes = each * (int64_t)sizeof(double);
    double *pieces = crop->rows > 0 ? room : crop->number;
    sgfsi_share mine = sgfsi_comm_share(comm, f->parts);
    for (int64_t k = mine.first; crop->rows > 0 && k < mine.end && status == SGFS_OK; k++)
        copy_part(f, crop, k, room + k * each, true);
    status = sgfsi_comm_gather(comm, status, f->parts, bytes, bytes, pieces, err);
    for (int64_t k = 0; crop->rows > 0 && k < f->parts && status == SGFS_OK; k++)
        if (k < mine.first || k >= mine.end) copy_part(f, crop, k, room + k * each, false);
    return status;
}

/* ---- all parts ------------------------------------------------------------------------------- */

/* Parts on threads, and where only sums are wanted shared between processes. What the first part
 * that failed says. */
static sgfs_status do_parts(sgfsi_full *f, const errand *e, sgfs_err *err) {
    const sgfsi_comm *comm = f->model->ctx.comm;
    const sgfs_data *d = f->model->data;
    bool shared = !e->everywhere;
    const sgfsi_crop *crop =
        comm->size > 1 && shared && e->crop != NULL && e->crop->number != NULL ? e->crop : NULL;
    double *room = NULL;
    if (d->elsewhere != NULL)
        return sgfsi_fail(err, SGFS_EUSAGE, "%s: is a sketch, and the rows are elsewhere.",
                          d->path);
    if (crop != NULL && crop->rows > 0) {
        room = malloc((size_t)(f->parts * longest_part(f, crop)) * sizeof *room);
        if (room == NULL) return sgfsi_fail_memory(err, "what a pass over the data leaves");
    }
    sgfsi_share mine = shared ? sgfsi_comm_share(comm, f->parts) : (sgfsi_share){0, f->parts};
    sgfsi_scope scope = sgfsi_context_enter(&f->model->ctx);
    sgfsi_ticker ticker = sgfsi_ticker_start(f->log, "A pass over all rows");
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)f->threads)
    for (int64_t part = mine.first; part < mine.end; part++) {
        f->err[part].code = SGFS_OK;
        f->err[part].code = do_part(f, e, part);
        bool caller = omp_get_thread_num() == 0; /* parts are handed out in order */
        double done = (double)(part + 1 - mine.first) / (double)(mine.end - mine.first);
        if (caller && f->log != NULL) (void)sgfsi_tick(&ticker, done, NULL); /* do_part stops */
    }
    sgfsi_context_leave(scope);
    f->rows_touched += f->N;
    sgfs_status status = SGFS_OK;
    const int64_t number = sizeof *e->sums;
    sgfs_err own;
    if (err == NULL) err = &own;
    for (int64_t part = mine.first; part < mine.end && status == SGFS_OK; part++) {
        status = f->err[part].code;
        if (status != SGFS_OK) *err = f->err[part];
    }
    if (shared && crop != NULL) status = gather_crop(f, crop, room, status, err);
    free(room);
    if (!shared || (crop != NULL && status != SGFS_OK)) return status;
    if (e->sums == NULL) return sgfsi_comm_agree(comm, status, err);
    return sgfsi_comm_gather(comm, status, f->parts, e->count * number, e->stride * number, e->sums,
                             err);
}

sgfs_status sgfsi_full_each(sgfsi_full *f, sgfsi_block_fn fn, void *user, const sgfsi_crop *crop,
                            sgfs_err *err) {
    const errand e = {.fn = fn, .user = user, .crop = crop, .everywhere = crop == NULL};
    return do_parts(f, &e, err);
}

sgfs_status sgfsi_full_sum(sgfsi_full *f, sgfsi_block_fn fn, void *user, int64_t count,
                           double *sums, sgfs_err *err) {
    const errand e = {.fn = fn, .user = user, .count = count, .stride = count, .sums = sums};
    sgfs_status status = do_parts(f, &e, err);
    for (int64_t part = 1; part < f->parts && status == SGFS_OK; part++) /* in order */
        sgfsi_axpy(f->model->ctx.near, count, 1.0, sums + part * count, sums);
    return status;
}

/* ---- the likelihood -------------------------------------------------------------------------- */

sgfs_status sgfsi_full_block(sgfsi_full *f, const sgfsi_block_at *at, const double *theta,
                             const sgfs_batch *b, const sgfsi_harvest *harvest, sgfs_err *err) {
    struct sgfsi_pass *pass = &f->pass[at->thread];
    const sgfs_model *m = f->model;
    sgfsi_scores_point(m, b, &pass->scores);
    sgfs_status status = m->kind->scores(m, theta, b, &pass->scores, pass->scratch, err);
    if (status != SGFS_OK) return status;
    if (harvest != NULL) harvest->take(harvest->user, at->part, at->first, &pass->scores);
    if (b->weight != NULL) weigh(&pass->scores, b->weight);
    sgfsi_scores_sum(m->ctx.device, &pass->scores, 1.0, 1.0, pass->ones, at->sums + 1);
    at->sums[0] += sgfsi_loglik_sum(b->n, pass->loglik);
    return SGFS_OK;
}

typedef struct likelihood {
    sgfsi_full *full;
    const double *theta;
    bool curvature; /* the information there, too */
    const sgfsi_harvest *harvest;
} likelihood;

/* Log likelihood, gradient and information of the rows of a block are added to the sums. */
static sgfs_status add_block(void *user, const sgfsi_block_at *at, const sgfs_batch *b,
                             sgfs_err *err) {
    const likelihood *l = user;
    const sgfs_model *m = l->full->model;
    sgfs_status status = sgfsi_full_block(l->full, at, l->theta, b, l->harvest, err);
    if (status == SGFS_OK && l->curvature)
        m->kind->curvature(m, l->theta, b, at->sums + 1 + m->D, l->full->pass[at->thread].scratch);
    return status;
}

/* The same from rows where they lie, a few at a time. */
static sgfs_status add_in_place(void *user, const sgfsi_block_at *at, const sgfs_batch *b,
                                sgfs_err *err) {
    const likelihood *l = user;
    const sgfs_model *m = l->full->model;
    const sgfsi_sweep *sweep = l->full->sweep;
    struct sgfsi_pass *pass = &l->full->pass[at->thread];
    const int64_t some = sgfsi_sweep_rows(sweep);
    for (int64_t from = 0; from < b->n; from += some) {
        sgfs_batch few = *b;
        few.n = b->n - from < some ? b->n - from : some;
        few.eta = pass->eta;
        few.y += from;
        few.row += from;
        if (b->offset != NULL) few.offset += from;
        if (b->weight != NULL) few.weight += from;
        sgfsi_sweep_predict(sweep, at->first + from, few.n, pass->eta);
        sgfsi_scores_point(m, &few, &pass->scores);
        sgfs_status status = m->kind->scores(m, l->theta, &few, &pass->scores, pass->scratch, err);
        if (status != SGFS_OK) return status;
        if (few.weight != NULL) weigh(&pass->scores, few.weight);
        const sgfs_scores rest = {.n = few.n,
                                  .D = pass->scores.D,
                                  .blocks = pass->scores.blocks - 1,
                                  .block = pass->scores.block + 1};
        sgfsi_sweep_add(sweep, at->first + from, few.n, pass->scores.block[0].left, at->sums + 1);
        sgfsi_scores_sum(m->ctx.device, &rest, 1.0, 1.0, pass->ones, at->sums + 1);
        at->sums[0] += sgfsi_sweep_sum(few.n, pass->loglik);
        if (!l->curvature) continue;
        double *A = at->sums + 1 + m->D;
        few.square = pass->eta;
        m->kind->curvature(m, l->theta, &few, A, pass->scratch);
        sgfsi_sweep_square(sweep, at->first + from, few.n, pass->eta, A, pass->scratch);
    }
    return SGFS_OK;
}

/* What those who have the rows said at theta, or nearly there: another machine's rounding may have
 * moved the place since. */
static sgfs_status look_up(const sgfsi_full *f, const double *theta, double *loglik, double *G,
                           double *info, sgfs_err *err) {
    const sgfsi_elsewhere *e = f->model->data->elsewhere;
    int64_t D = f->D, stride = 1 + D + D * D;
    if (D != e->D)
        return sgfsi_fail(err, SGFS_ERUNFILE, "The sketch has numbers for other parameters.");
    for (int64_t k = 0; k < e->places; k++) {
        const double *at = e->theta + k * D, *sums = e->sums + k * stride;
        int64_t j = 0;
        while (j < D && fabs(theta[j] - at[j]) <= 1e-9 * (1 + fabs(at[j]))) j++;
        if (j < D) continue;
        *loglik = sums[0];
        memcpy(G, sums + 1, (size_t)D * sizeof *G);
        if (info != NULL) memcpy(info, sums + 1 + D, (size_t)(D * D) * sizeof *info);
        return SGFS_OK;
    }
    if (e->wanted == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE, "the rows are elsewhere, and were not asked there");
    memcpy(e->wanted, theta, (size_t)D * sizeof *theta);
    return sgfsi_fail(err, SGFS_ESTOPPED, "The rows have to be asked at a further place.");
}

/* A pass of the device's that takes long, as rows have to come there. */
static bool go_on(void *user, double done) {
    sgfsi_full_wait *w = user;
    if (w->ticker.log != NULL) (void)sgfsi_tick(&w->ticker, done, NULL);
    return !sgfsi_stop_overdue(w->full->stop);
}

sgfsi_kept_watch sgfsi_full_watch(sgfsi_full_wait *w, const sgfsi_full *f) {
    *w = (sgfsi_full_wait){f, sgfsi_ticker_start(f->log, "A pass over all rows")};
    return (sgfsi_kept_watch){go_on, w};
}

/* The device has all rows, or has them come to it: none comes here. */
static sgfs_status ask_device(sgfsi_full *f, const double *theta, double *loglik, double *G,
                              double *info, sgfs_err *err) {
    sgfsi_full_wait wait;
    const sgfsi_kept_watch watch = sgfsi_full_watch(&wait, f);
    sgfs_status status = sgfsi_full_given_up(f, err);
    if (status == SGFS_OK)
        status = sgfsi_kept_places(f->model, 1, theta, loglik, G, info, &watch, err);
    if (status == SGFS_OK) status = sgfsi_full_given_up(f, err);
    if (status == SGFS_OK) sgfsi_kept_finish(f->model, theta, loglik, G, info);
    f->rows_touched += f->N;
    return status;
}

static sgfs_status add_up(sgfsi_full *f, likelihood l, double *loglik, double *G, double *info,
                          sgfs_err *err) {
    if (f->model->data->elsewhere != NULL) return look_up(f, l.theta, loglik, G, info, err);
    if (f->model->kept != NULL && l.harvest == NULL)
        return ask_device(f, l.theta, loglik, G, info, err);
    if (f->far != NULL && l.harvest == NULL && (info == NULL || sgfsi_far_pass_informs(f->far)))
        return sgfsi_far_pass_sums(f, 1, l.theta, loglik, G, info, err);
    const sgfs_device *dev = f->model->ctx.device;
    bool in_place = f->sweep != NULL && l.harvest == NULL;
    const errand e = {.fn = in_place ? add_in_place : add_block,
                      .in_place = in_place,
                      .user = &l,
                      .count = 1 + f->D + (info != NULL ? f->D * f->D : 0),
                      .stride = f->stride,
                      .sums = f->sums,
                      .crop = l.harvest != NULL ? l.harvest->crop : NULL,
                      .everywhere = l.harvest != NULL && l.harvest->crop == NULL};
    if (in_place) sgfsi_sweep_begin(f->sweep, l.theta);
    sgfs_status status = do_parts(f, &e, err);
    if (status != SGFS_OK) return status;
    *loglik = 0;
    memset(G, 0, (size_t)f->D * sizeof *G);
    if (info != NULL) memset(info, 0, (size_t)(f->D * f->D) * sizeof *info);
    for (int64_t part = 0; part < f->parts; part++) { /* in order */
        const double *sums = f->sums + part * f->stride;
        *loglik += sums[0];
        sgfsi_axpy(dev, f->D, 1.0, sums + 1, G);
        if (info != NULL) sgfsi_axpy(dev, f->D * f->D, 1.0, sums + 1 + f->D, info);
    }
    if (in_place) sgfsi_sweep_finish(f->sweep, G);
    return SGFS_OK;
}

sgfs_status sgfsi_full_likelihood(sgfsi_full *f, const double *theta, double *loglik, double *G,
                                  double *info, sgfs_err *err) {
    const likelihood l = {.full = f, .theta = theta, .curvature = info != NULL};
    return add_up(f, l, loglik, G, info, err);
}

sgfs_status sgfsi_full_harvest(sgfsi_full *f, const double *theta, const sgfsi_harvest *harvest,
                               double *loglik, double *G, sgfs_err *err) {
    const likelihood l = {.full = f, .theta = theta, .harvest = harvest};
    return add_up(f, l, loglik, G, NULL, err);
}

/* ---- with the prior -------------------------------------------------------------------------- */

sgfs_status sgfsi_full_eval(sgfsi_full *f, const double *theta, double *lp, double *G, double *A,
                            sgfs_err *err) {
    const sgfs_model *m = f->model;
    sgfs_status status = sgfsi_full_likelihood(f, theta, lp, G, A, err);
    if (status == SGFS_OK) status = sgfsi_prior_add(m, theta, lp, G, err);
    if (status != SGFS_OK) return status;
    if (A != NULL) sgfsi_prior_add_curvature(m, theta, A);
    return sgfsi_gradient_check(m, G, err);
}

sgfsi_pages sgfsi_full_pages(const sgfsi_full *f) {
    sgfsi_pages sum = {.wait = 0};
    for (int64_t k = 0; k < f->threads; k++) {
        sum.wait += f->pass[k].visit.wait / (double)f->threads; /* they wait side by side */
        sum.bytes += f->pass[k].visit.bytes;
    }
    return sum;
}

sgfs_status sgfsi_posterior_full(const sgfs_model *m, const double *theta, double *lp, double *G,
                                 double *A, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfsi_full f;
    sgfs_status status = sgfsi_full_open(&f, m, 0, A != NULL, &arena, err);
    f.stop = NULL; /* the end of a run has a look at its mean, whoever stopped it */
    if (status == SGFS_OK) status = sgfsi_full_eval(&f, theta, lp, G, A, err);
    sgfsi_arena_free(&arena);
    return status;
}
