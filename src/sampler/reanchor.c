/* SPDX-License-Identifier: MIT
 * reanchor.c: anchors that follow a chain (reanchor.h).
 *
 * How often: a pass costs N (2 s + a) operations and an iteration about n (2 s + a/k), s being those
 * of one score, a those of its square in the matrix's structure, k = --fisher-every. Where the two
 * together are spent half on passes and half on iterations, neither is far from what it should be.
 *
 * Every pass draws new targets: the error of one A, a part sqrt(2/N) of it, is not that of the next,
 * and the law of the draws, which is linear in it to first order, averages over them.
 *
 * Squares are added up in at most PARTS sums, whatever the number of threads, and these in order:
 * the same bits.
 */
#include "sampler/reanchor.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/rng.h"
#include "sampler/sgfs_matrix.h"

enum { PARTS = 4, MOST_KEPT = 2048, FIRST_ROUNDS = 40, LATER_ROUNDS = 10 };
/* Numbers of all sums, and of the scores that are kept. */
static const double most_sums = 0x1p24, most_some = 0x1p22;

bool sgfsi_reanchor_needed(const sgfs_model *m) {
    return sgfsi_anchor_refuses(m) != NULL;
}

/* ---- choices --------------------------------------------------------------------------------- */

/* The options of SGFS as --sampler sgfs would choose them, without a word; the caller frees. */
static sgfs_config *options_of_sgfs(const sgfs_config *cfg, const sgfs_problem *now,
                                    sgfs_err *err) {
    sgfs_config *own = sgfsi_config_copy(cfg);
    if (own == NULL) return sgfsi_fail_memory(err, "the warm-up"), NULL;
    sgfs_config_on_message(own, NULL, NULL);
    if (sgfs_sampler_sgfs.resolve(own, now, err) == SGFS_OK) return own;
    sgfs_config_free(own);
    return NULL;
}

sgfs_status sgfsi_reanchor_resolve(sgfs_config *cfg, const sgfs_problem *now, sgfs_err *err) {
    bool exact_noise = strcmp(sgfsi_config_text(cfg, "sampler.noise_matrix"), "full") == 0;
    double ridge = now->model->kind->redundant && exact_noise ? 1e-3 : 0; /* as for SGFS */
    sgfs_status status = sgfsi_config_choose(cfg, "fisher.ridge", ridge, err);
    sgfs_config *own = status == SGFS_OK ? options_of_sgfs(cfg, now, err) : NULL;
    if (own == NULL) return status != SGFS_OK ? status : err != NULL ? err->code : SGFS_ENOMEM;
    double alpha = sgfsi_config_num(own, "sampler.warmup_alpha");
    double warmup = fmax(1000, ceil(10 * now->gamma * (1 + alpha * alpha)));
    sgfs_config_free(own);
    status = sgfsi_config_choose(cfg, "run.warmup", warmup, err);
    if (status == SGFS_OK && sgfsi_config_auto(cfg, "run.draws"))
        status = sgfsi_config_choose(cfg, "run.thin", 10, err);
    return status == SGFS_OK ? sgfsi_config_choose(cfg, "run.draws", 10000, err) : status;
}

static int64_t largest_block(const sgfs_model *m) {
    int64_t most = 0;
    for (int64_t k = 0; k < m->blocks; k++) {
        int64_t size = m->block[k].rows * m->block[k].cols;
        most = size > most ? size : most;
    }
    return most;
}

static double automatic_every(const sgfs_sampler *sampler, const sgfs_sym *A) {
    const double score = 6 * (double)sampler->D;
    double square = 2 * (double)A->kind->size(A->layout), n = (double)sampler->eval.n;
    double k = (double)sgfsi_config_int(sampler->cfg, "fisher.every");
    double pass = (double)sampler->model->data->N * (2 * score + square);
    return ceil(pass / (n * (2 * score + square / k)));
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Differences of scores need other room than scores do: warm-up has a view of its own. */
static sgfs_status open_warm(sgfsi_reanchor *r, sgfs_sampler *sampler, sgfs_err *err) {
    const sgfs_model *m = sampler->model;
    const sgfsi_eval *e = &sampler->eval;
    const sgfs_problem now = {.model = m,
                              .fisher = sampler->fisher->name,
                              .N = e->total,
                              .n = e->n,
                              .D = e->D,
                              .block = largest_block(m),
                              .events = m->events,
                              .gamma = e->gamma};
    r->warm = *sampler;
    r->warm.kind = &sgfs_sampler_sgfs;
    memset(&r->warm.eval, 0, sizeof r->warm.eval);
    sgfs_status status =
        sgfsi_eval_open(&r->warm.eval, m, e->batcher.scheme, e->n, sampler->arena, err);
    if (status != SGFS_OK) return status;
    sgfsi_eval_stream(&r->warm.eval, sampler->seed, sampler->chain);
    sgfs_config *own = options_of_sgfs(sampler->cfg, &now, err);
    if (own == NULL) return err != NULL ? err->code : SGFS_ENOMEM;
    r->warm.cfg = own;
    status = r->warm.kind->open(&r->warm, err);
    r->warm.cfg = sampler->cfg;
    sgfs_config_free(own);
    return status;
}

static sgfs_status open_sums(sgfsi_reanchor *r, const sgfs_sampler *sampler, sgfs_err *err) {
    const sgfs_fisher_kind *kind = sampler->fisher;
    sgfsi_full *f = &r->full;
    int64_t most = (int64_t)fmin(PARTS, most_sums / (double)kind->size(sampler->layout));
    most = most > 1 ? most : 1;
    f->parts = f->parts < most ? f->parts : most;
    f->threads = f->threads < f->parts ? f->threads : f->parts;
    r->sum = sgfsi_arena_alloc(sampler->arena, f->parts, sizeof *r->sum);
    r->work = sgfsi_arena_alloc(sampler->arena, f->threads, sizeof *r->work);
    if (r->sum == NULL || r->work == NULL) return sgfsi_fail_memory(err, "an anchor");
    sgfs_status status = SGFS_OK;
    for (int64_t k = 0; k < f->parts && status == SGFS_OK; k++)
        status = sgfsi_sym_open(&r->sum[k], kind, sampler->model->ctx.device, sampler->layout,
                                sampler->arena, err);
    for (int64_t k = 0; k < f->threads && status == SGFS_OK; k++) {
        r->work[k] = SGFSI_DOUBLES(sampler->arena, kind->work(sampler->layout, SGFSI_FULL_BLOCK));
        if (r->work[k] == NULL) status = sgfsi_fail_memory(err, "an anchor");
    }
    return status;
}

static sgfs_status open_some(sgfsi_reanchor *r, const sgfs_sampler *sampler, sgfs_err *err) {
    int64_t N = sampler->model->data->N, D = sampler->D;
    int64_t most = (int64_t)fmin(MOST_KEPT, fmax(64, most_some / (double)D));
    r->stride = (N + most - 1) / most;
    r->count = (N + r->stride - 1) / r->stride;
    r->some = SGFSI_DOUBLES(sampler->arena, r->count * D);
    r->stiffest = SGFSI_DOUBLES(sampler->arena, D);
    r->x = SGFSI_DOUBLES(sampler->arena, r->count + 2 * D);
    double *room = SGFSI_DOUBLES(sampler->arena, 2 * D);
    if (r->some == NULL || r->stiffest == NULL || r->x == NULL || room == NULL)
        return sgfsi_fail_memory(err, "an anchor");
    r->anchor = (sgfsi_anchor){.theta = room, .G = room + D, .passes = 1, .rows = N};
    sgfsi_stream stream =
        sgfsi_stream_at(sampler->seed, sampler->chain, (int64_t)1 << 51, SGFSI_PROBE);
    sgfsi_normals(&stream, D, r->stiffest);
    return SGFS_OK;
}

sgfs_status sgfsi_reanchor_open(sgfsi_reanchor *r, sgfs_sampler *sampler, int64_t threads,
                                sgfs_err *err) {
    const sgfs_config *cfg = sampler->cfg;
    r->seed = sampler->seed;
    r->chain = sampler->chain;
    r->drawn = strcmp(sgfsi_config_text(cfg, "sampler.curvature"), "model") == 0;
    r->since = -1;
    sgfs_status status = open_warm(r, sampler, err);
    if (status == SGFS_OK)
        status = sgfsi_full_open(&r->full, sampler->model, threads, false, sampler->arena, err);
    if (status == SGFS_OK) status = open_sums(r, sampler, err);
    if (status == SGFS_OK) status = open_some(r, sampler, err);
    if (status != SGFS_OK) return status;
    r->every = sgfsi_config_int(cfg, "sampler.anchor_every");
    if (sgfsi_config_auto(cfg, "sampler.anchor_every"))
        r->every = (int64_t)fmax(1, automatic_every(sampler, &r->sum[0]));
    return SGFS_OK;
}

/* ---- warm-up --------------------------------------------------------------------------------- */

sgfs_status sgfsi_reanchor_warm(sgfsi_reanchor *r, sgfs_sampler *sampler, const sgfs_iteration *now,
                                double *theta, double *stats, sgfs_err *err) {
    sgfs_sampler *warm = &r->warm;
    double all[8]; /* what SGFS tells: two more than we do */
    int64_t rows = warm->eval.rows_touched, ridges = warm->interventions;
    sgfs_status status = warm->kind->step(warm, now, theta, all, err);
    memcpy(stats, all, 4 * sizeof *stats);
    sampler->full.rows_touched += warm->eval.rows_touched - rows; /* the chain's costs */
    sampler->interventions += warm->interventions - ridges;
    return status;
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* out = the score of row i, written out. */
static void expand(const sgfs_scores *s, int64_t i, double *out) {
    for (int64_t k = 0; k < s->blocks; k++) {
        const sgfs_score_block *o = &s->block[k];
        const sgfs_csr *x = o->right_sparse;
        double *to = out + o->offset;
        int64_t size = o->rows * o->cols;
        if (o->dense != NULL) memcpy(to, o->dense + i * size, (size_t)size * sizeof *to);
        else memset(to, 0, (size_t)size * sizeof *to);
        for (int64_t r = 0; o->dense == NULL && r < o->rows; r++) {
            double left = o->left[i * o->rows + r], *row = to + r * o->cols;
            for (int64_t c = 0; x == NULL && c < o->cols; c++)
                row[c] = left * o->right[i * o->cols + c];
            for (int64_t j = x != NULL ? x->start[i] : 0; x != NULL && j < x->start[i + 1]; j++)
                row[x->col[j]] = left * x->value[j];
        }
    }
}

static void take(void *user, int64_t part, int64_t first, const sgfs_scores *s) {
    sgfsi_reanchor *r = user;
    sgfs_sym *sum = &r->sum[part];
    sum->kind->add_cov(sum, 1, 1, s, NULL, r->work[omp_get_thread_num()]);
    int64_t slot = (first + r->stride - 1) / r->stride;
    for (; slot * r->stride < first + s->n; slot++)
        expand(s, slot * r->stride - first, r->some + slot * s->D);
}

static sgfs_status pass(sgfsi_reanchor *r, const sgfs_model *m, sgfs_sym *A, sgfs_err *err) {
    const sgfsi_harvest harvest = {.take = take,
                                   .user = r,
                                   .information = true,
                                   .observed = !r->drawn,
                                   .seed = r->seed,
                                   .chain = r->chain,
                                   .number = r->made++};
    sgfsi_anchor *a = &r->anchor;
    for (int64_t k = 0; k < r->full.parts; k++) r->sum[k].kind->zero(&r->sum[k]);
    sgfs_status status = sgfsi_full_harvest(&r->full, a->theta, &harvest, &a->loglik, a->G, err);
    if (status != SGFS_OK) return status;
    A->kind->zero(A);
    for (int64_t k = 0; k < r->full.parts; k++) A->kind->combine(A, 1, A, 1, &r->sum[k]);
    A->kind->add_diag(A, 1, m->precision);
    return SGFS_OK;
}

/* ---- how stiff ------------------------------------------------------------------------------- */

/* x <- L^-1 (N/count sum_k s_k s_k' + Lambda) L^-T x */
static void apply(sgfsi_reanchor *r, const sgfs_model *m, const sgfs_sym *L, double *x) {
    double *along = r->x, *y = r->x + r->count, share = (double)r->full.N / (double)r->count;
    L->kind->solve(L, true, x);
    sgfsi_gemv(m->ctx.device, r->count, m->D, 1.0, r->some, x, 0.0, along);
    for (int64_t j = 0; j < m->D; j++) y[j] = m->precision[j] * x[j];
    sgfsi_gemv_t(m->ctx.device, r->count, m->D, share, r->some, along, 1.0, y);
    memcpy(x, y, (size_t)m->D * sizeof *x);
    L->kind->solve(L, false, x);
}

/* By the power method, from where it ended the last time; a tenth is added, for it comes from
 * below. */
static double stiffness(sgfsi_reanchor *r, const sgfs_model *m, const sgfs_sym *L) {
    double size = 1;
    int rounds = r->since < 0 ? FIRST_ROUNDS : LATER_ROUNDS;
    for (int k = 0; k < rounds; k++) {
        size = sqrt(sgfsi_dot(m->ctx.device, m->D, r->stiffest, r->stiffest));
        for (int64_t j = 0; j < m->D; j++) r->stiffest[j] /= size;
        apply(r, m, L, r->stiffest);
        size = sqrt(sgfsi_dot(m->ctx.device, m->D, r->stiffest, r->stiffest));
    }
    return fmax(1, 1.1 * size);
}

bool sgfsi_reanchor_due(sgfsi_reanchor *r) {
    return r->since < 0 || ++r->since >= r->every;
}

sgfs_status sgfsi_reanchor_at(sgfsi_reanchor *r, sgfs_sampler *sampler, const double *theta,
                              sgfsi_precision *P, sgfs_err *err) {
    const sgfs_model *m = sampler->model;
    memcpy(r->anchor.theta, theta, (size_t)m->D * sizeof *theta);
    sgfs_status status = pass(r, m, &P->A, err);
    if (status == SGFS_OK) status = sgfsi_precision_factor(P, sampler, err);
    if (status != SGFS_OK) return status;
    P->stiff = sampler->fisher == &sgfs_fisher_full ? 1 : stiffness(r, m, &P->L);
    if (r->since >= 0) sampler->reanchors++;
    r->since = 0;
    sampler->full.rows_touched += m->data->N;
    sampler->anchor = &r->anchor;
    return SGFS_OK;
}
