/* SPDX-License-Identifier: MIT
 * posterior.c: assembles gradients from batches, scores and prior. The only place that adds them
 * up.
 */
#include "posterior/posterior.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/ticker.h"
#include "model/prior.h"
#include "posterior/remembered.h"

/* ---- room for the scores of n rows ----------------------------------------------------------- */

static sgfs_status open_scores(sgfs_scores *s, const sgfs_model *m, int64_t n, sgfsi_arena *arena,
                               sgfs_err *err) {
    s->n = n;
    s->D = m->D;
    s->blocks = m->blocks;
    s->block = sgfsi_arena_alloc(arena, m->blocks, sizeof *s->block);
    if (s->block == NULL) return sgfsi_fail_memory(err, "the scores");
    for (int64_t b = 0; b < m->blocks; b++) {
        const sgfs_block *k = &m->block[b];
        sgfs_score_block *o = &s->block[b];
        bool dense = k->form == SGFS_SCORE_DENSE, own = k->form == SGFS_SCORE_OUTER;
        *o = (sgfs_score_block){.offset = k->offset, .rows = k->rows, .cols = k->cols};
        if (dense) o->dense = SGFSI_DOUBLES(arena, n * k->rows * k->cols);
        else o->left = SGFSI_DOUBLES(arena, n * k->rows);
        if (own) o->right = o->right_own = SGFSI_DOUBLES(arena, n * k->cols);
        if ((dense ? o->dense : o->left) == NULL || (own && o->right == NULL)) {
            return sgfsi_fail_memory(err, "the scores");
        }
    }
    return SGFS_OK;
}

/* Where right is the batch's own rows there is nothing to fill: point there. */
static void point_at_inputs(const sgfs_model *m, const sgfs_batch *b, sgfs_scores *s) {
    s->n = b->n;
    for (int64_t k = 0; k < m->blocks; k++) {
        if (m->block[k].form != SGFS_SCORE_INPUT) continue;
        s->block[k].right = b->x;
        s->block[k].right_sparse = b->sparse;
    }
}

/* out = a sum_i g_i + b out for one block whose right factors are sparse rows. */
static void sum_sparse(const sgfs_score_block *o, int64_t n, double a, double b, double *out) {
    const sgfs_csr *rows = o->right_sparse;
    for (int64_t j = 0; j < o->rows * o->cols; j++) out[j] = b != 0 ? b * out[j] : 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t r = 0; r < o->rows; r++) {
            double left = a * o->left[i * o->rows + r], *to = out + r * o->cols;
            for (int64_t k = rows->start[i]; k < rows->start[i + 1]; k++) {
                to[rows->col[k]] += left * rows->value[k];
            }
        }
    }
}

/* out = a sum_i g_i + b out, block by block, from the factors. */
static void sum_scores(const sgfs_device *dev, const sgfs_scores *s, double a, double b,
                       const double *ones, double *out) {
    for (int64_t k = 0; k < s->blocks; k++) {
        const sgfs_score_block *o = &s->block[k];
        double *to = out + o->offset;
        if (o->dense != NULL) sgfsi_gemv_t(dev, s->n, o->rows * o->cols, a, o->dense, ones, b, to);
        else if (o->right_sparse != NULL) sum_sparse(o, s->n, a, b, to);
        else if (o->rows == 1) sgfsi_gemv_t(dev, s->n, o->cols, a, o->right, o->left, b, to);
        else sgfsi_gemm_tn(dev, s->n, o->rows, o->cols, a, o->left, o->right, b, to);
    }
}

static double sum_of(int64_t n, const double *x) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

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

static double *make_ones(sgfsi_arena *arena, int64_t n) {
    double *ones = SGFSI_DOUBLES(arena, n);
    for (int64_t i = 0; ones != NULL && i < n; i++) ones[i] = 1;
    return ones;
}

/* ---- minibatches ----------------------------------------------------------------------------- */

static sgfs_status open_resample(sgfsi_eval *e, sgfsi_arena *arena, sgfs_err *err) {
    e->model_y = SGFSI_DOUBLES(arena, e->n);
    e->model_random = SGFSI_DOUBLES(arena, 2 * e->n);
    if (e->model_y == NULL || e->model_random == NULL)
        return sgfsi_fail_memory(err, "the gradient");
    return open_scores(&e->model_scores, e->model, e->n, arena, err);
}

sgfs_status sgfsi_eval_open(sgfsi_eval *e, const sgfs_model *model, const sgfs_scheme_kind *scheme,
                            int64_t n, sgfsi_arena *arena, sgfs_err *err) {
    e->model = model;
    e->n = n;
    e->total = model->data->total;
    e->D = model->D;
    const sgfsi_rows_plan plan = {.n = n, .sparse = model->kind->sparse, .parameters = model->D};
    sgfs_status status = sgfsi_batcher_open(&e->batcher, model->data, scheme, plan, arena, err);
    if (status == SGFS_OK) status = open_scores(&e->scores, model, n, arena, err);
    if (status != SGFS_OK) return status;
    e->gamma = e->batcher.batch.gamma;
    e->gbar = SGFSI_DOUBLES(arena, model->D);
    e->scratch = SGFSI_DOUBLES(arena, n * model->scratch_per_row);
    e->loglik = SGFSI_DOUBLES(arena, n);
    e->ones = make_ones(arena, n);
    if (e->gbar == NULL || e->scratch == NULL || e->loglik == NULL || e->ones == NULL) {
        return sgfsi_fail_memory(err, "the gradient");
    }
    return model->kind->resample != NULL ? open_resample(e, arena, err) : SGFS_OK;
}

void sgfsi_eval_stream(sgfsi_eval *e, uint64_t seed, uint32_t chain) {
    e->batcher.seed = seed;
    e->batcher.chain = chain;
}

static sgfs_status check_finite(const sgfs_model *m, const double *G, sgfs_err *err) {
    for (int64_t j = 0; j < m->D; j++) {
        if (isfinite(G[j])) continue;
        return sgfsi_fail(err, SGFS_ENUMERIC, "the gradient of parameter \"%s\" is not finite",
                          m->param[j]);
    }
    return SGFS_OK;
}

/* ---- control variates ------------------------------------------------------------------------ */

/* Scores at theta and at the anchor, as the model fills them; e->scores holds their differences. */
struct sgfsi_pair {
    sgfs_scores here, anchor;
    double *loglik; /* n, at the anchor */
};

/* Where the right factor changes with theta as well, a difference of outer products is none: it is
 * written out. */
static sgfs_status open_differences(sgfsi_eval *e, sgfsi_arena *arena, sgfs_err *err) {
    const sgfs_model *m = e->model;
    for (int64_t k = 0; k < m->blocks; k++) {
        sgfs_score_block *o = &e->scores.block[k];
        if (m->block[k].form != SGFS_SCORE_OUTER) continue;
        *o = (sgfs_score_block){.offset = o->offset, .rows = o->rows, .cols = o->cols};
        o->dense = SGFSI_DOUBLES(arena, e->n * o->rows * o->cols);
        if (o->dense == NULL) return sgfsi_fail_memory(err, "differences of scores");
    }
    return SGFS_OK;
}

sgfs_status sgfsi_eval_open_control(sgfsi_eval *e, sgfsi_arena *arena, sgfs_err *err) {
    e->pair = sgfsi_arena_alloc(arena, 1, sizeof *e->pair);
    if (e->pair != NULL) e->pair->loglik = SGFSI_DOUBLES(arena, e->n);
    if (e->pair == NULL || e->pair->loglik == NULL)
        return sgfsi_fail_memory(err, "differences of scores");
    sgfs_status status = open_scores(&e->pair->here, e->model, e->n, arena, err);
    if (status == SGFS_OK) status = open_scores(&e->pair->anchor, e->model, e->n, arena, err);
    return status == SGFS_OK ? open_differences(e, arena, err) : status;
}

static void subtract(int64_t n, const double *a, const double *b, double *out) {
    for (int64_t i = 0; i < n; i++) out[i] = a[i] - b[i];
}

/* out = l (x) r - l* (x) r* for each row. */
static void subtract_outer(int64_t n, const sgfs_score_block *a, const sgfs_score_block *b,
                           double *out) {
    int64_t rows = a->rows, cols = a->cols;
    for (int64_t i = 0; i < n; i++) {
        const double *ra = a->right + i * cols, *rb = b->right + i * cols;
        for (int64_t r = 0; r < rows; r++) {
            double la = a->left[i * rows + r], lb = b->left[i * rows + r];
            double *to = out + (i * rows + r) * cols;
            for (int64_t c = 0; c < cols; c++) to[c] = la * ra[c] - lb * rb[c];
        }
    }
}

static void take_differences(sgfsi_eval *e, const sgfs_batch *b) {
    const sgfs_model *m = e->model;
    point_at_inputs(m, b, &e->scores);
    for (int64_t k = 0; k < m->blocks; k++) {
        const sgfs_score_block *x = &e->pair->here.block[k], *y = &e->pair->anchor.block[k];
        sgfs_score_block *o = &e->scores.block[k];
        sgfs_score_form form = m->block[k].form;
        if (form == SGFS_SCORE_OUTER) subtract_outer(b->n, x, y, o->dense);
        else if (form == SGFS_SCORE_DENSE)
            subtract(b->n * x->rows * x->cols, x->dense, y->dense, o->dense);
        else subtract(b->n * x->rows, x->left, y->left, o->left);
    }
}

/* Scores and densities at theta less those at the anchor. */
static sgfs_status score_differences(sgfsi_eval *e, const sgfs_batch *b, const double *theta,
                                     bool want_lp, sgfs_err *err) {
    const sgfs_model *m = e->model;
    struct sgfsi_pair *pair = e->pair;
    pair->here.loglik = want_lp ? e->loglik : NULL;
    pair->anchor.loglik = want_lp ? pair->loglik : NULL;
    point_at_inputs(m, b, &pair->here);
    point_at_inputs(m, b, &pair->anchor);
    sgfs_status status = m->kind->scores(m, theta, b, &pair->here, e->scratch, err);
    if (status == SGFS_OK && e->control->rows != NULL)
        sgfsi_remembered_pick(e->control->rows, e->batcher.row, b->n, &pair->anchor);
    else if (status == SGFS_OK)
        status = m->kind->scores(m, e->control->theta, b, &pair->anchor, e->scratch, err);
    if (status != SGFS_OK) return status;
    take_differences(e, b);
    if (want_lp) subtract(b->n, e->loglik, pair->loglik, e->loglik);
    return SGFS_OK;
}

static sgfs_status score_batch(sgfsi_eval *e, const sgfs_batch *b, const double *theta,
                               bool want_lp, sgfs_err *err) {
    if (e->control != NULL) return score_differences(e, b, theta, want_lp, err);
    e->scores.loglik = want_lp ? e->loglik : NULL;
    point_at_inputs(e->model, b, &e->scores);
    return e->model->kind->scores(e->model, theta, b, &e->scores, e->scratch, err);
}

/* ---- the gradient ---------------------------------------------------------------------------- */

sgfs_status sgfsi_eval_gradient(sgfsi_eval *e, int64_t t, uint32_t purpose, const double *theta,
                                double *G, double *lp, sgfs_err *err) {
    const sgfs_model *m = e->model;
    sgfs_err own;
    if (err == NULL) err = &own;
    const sgfs_batch *b = sgfsi_batcher_next(&e->batcher, t, purpose, err);
    if (b == NULL) return err->code;
    e->rows_touched += b->n;
    sgfs_status status = score_batch(e, b, theta, lp != NULL, err);
    if (status != SGFS_OK) return status;
    sum_scores(m->ctx.device, &e->scores, 1.0 / (double)b->n, 0.0, e->ones, e->gbar);
    for (int64_t j = 0; j < m->D; j++) G[j] = b->total * e->gbar[j];
    if (lp != NULL) *lp = b->total / (double)b->n * sum_of(b->n, e->loglik);
    if (e->control != NULL) sgfsi_axpy(m->ctx.device, m->D, 1.0, e->control->G, G);
    if (e->control != NULL && lp != NULL) *lp += e->control->loglik;
    status = sgfsi_prior_add(m, theta, lp, G, err);
    return status == SGFS_OK ? check_finite(m, G, err) : status;
}

sgfs_status sgfsi_eval_resample(sgfsi_eval *e, int64_t t, uint32_t purpose, const double *theta,
                                sgfs_err *err) {
    const sgfs_model *m = e->model;
    sgfs_batch b = e->batcher.batch;
    double *normal = e->model_random, *uniform = normal + b.n;
    /* filling and stepping count their batches separately: keep their streams apart */
    int64_t place = purpose == SGFSI_FILL ? ((int64_t)1 << 55) + t : t;
    sgfsi_stream stream = sgfsi_stream_at(e->batcher.seed, e->batcher.chain, place, SGFSI_MODEL);
    sgfsi_normals(&stream, b.n, normal);
    sgfsi_uniforms(&stream, b.n, uniform);
    m->kind->resample(m, theta, &b, normal, uniform, e->model_y);
    b.y = e->model_y;
    point_at_inputs(m, &b, &e->model_scores);
    return m->kind->scores(m, theta, &b, &e->model_scores, e->scratch, err);
}

/* ---- the full data --------------------------------------------------------------------------- */

/* Rows go through the model in blocks; blocks are shared out to a fixed number of parts, each with
 * sums of its own that are added up in order: the same bits for any number of threads. */
enum { FULL_BLOCK = SGFSI_FULL_BLOCK, FULL_PARTS = 64, MOST_SUMS = 1 << 23 };

/* One thread's room. */
struct sgfsi_pass {
    sgfsi_rows rows;
    sgfsi_pages visit;
    double *ones, *scratch, *loglik;
    sgfs_scores scores;
};

static sgfs_status open_pass(struct sgfsi_pass *f, const sgfs_model *m, bool curvature,
                             sgfsi_arena *arena, sgfs_err *err) {
    const sgfsi_rows_plan plan = {.n = FULL_BLOCK, .sparse = m->kind->sparse};
    sgfs_status status = sgfsi_rows_open(&f->rows, m->data, plan, arena, err);
    if (status != SGFS_OK) return status;
    int64_t scratch = m->scratch_per_row;
    if (curvature && m->curvature_scratch_per_row > scratch) scratch = m->curvature_scratch_per_row;
    f->scratch = SGFSI_DOUBLES(arena, FULL_BLOCK * scratch);
    f->loglik = f->scores.loglik = SGFSI_DOUBLES(arena, FULL_BLOCK);
    f->ones = make_ones(arena, FULL_BLOCK);
    if (f->scratch == NULL || f->loglik == NULL || f->ones == NULL) {
        return sgfsi_fail_memory(err, "a pass over the data");
    }
    return open_scores(&f->scores, m, FULL_BLOCK, arena, err);
}

sgfs_status sgfsi_full_open(sgfsi_full *f, const sgfs_model *m, int64_t threads, bool curvature,
                            sgfsi_arena *arena, sgfs_err *err) {
    int64_t D = m->D, blocks = (m->data->N + FULL_BLOCK - 1) / FULL_BLOCK;
    int64_t parts = blocks < FULL_PARTS ? blocks : FULL_PARTS;
    if (threads <= 0) threads = m->ctx.threads;
    while (curvature && parts > 1 && parts * D * D > MOST_SUMS) parts /= 2;
    *f = (sgfsi_full){.model = m,
                      .N = m->data->N,
                      .D = D,
                      .parts = parts,
                      .threads = threads < parts ? threads : parts,
                      .stride = 1 + D + (curvature ? D * D : 0)};
    f->sums = SGFSI_DOUBLES(arena, parts * f->stride);
    f->pass = sgfsi_arena_alloc(arena, f->threads, sizeof *f->pass);
    f->err = sgfsi_arena_alloc(arena, parts, sizeof *f->err);
    if (f->sums == NULL || f->pass == NULL || f->err == NULL)
        return sgfsi_fail_memory(err, "a pass over the data");
    sgfs_status status = SGFS_OK;
    for (int64_t k = 0; k < f->threads && status == SGFS_OK; k++) {
        status = open_pass(&f->pass[k], m, curvature, arena, err);
    }
    return status;
}

/* The rows of one block. */
static sgfs_status read_block(struct sgfsi_pass *f, const sgfs_model *m, int64_t first,
                              sgfs_batch *b, sgfs_err *err) {
    int64_t N = m->data->N, n = N - first < FULL_BLOCK ? N - first : FULL_BLOCK;
    sgfs_status status = sgfsi_pages_range(&f->visit, m->data, first, n, err);
    if (status == SGFS_OK) *b = sgfsi_rows_range(&f->rows, first, n);
    return status;
}

/* The same, and their scores. */
static sgfs_status score_block(struct sgfsi_pass *f, const sgfs_model *m, int64_t first,
                               const double *theta, sgfs_batch *b, sgfs_err *err) {
    sgfs_status status = read_block(f, m, first, b, err);
    if (status != SGFS_OK) return status;
    point_at_inputs(m, b, &f->scores);
    return m->kind->scores(m, theta, b, &f->scores, f->scratch, err);
}

/* Log likelihood, its gradient and (A not NULL) the information of these rows are added. */
static void add_block(struct sgfsi_pass *f, const sgfs_model *m, const sgfs_batch *b,
                      const double *theta, double *sums, bool curvature) {
    if (b->weight != NULL) weigh(&f->scores, b->weight);
    sum_scores(m->ctx.device, &f->scores, 1.0, 1.0, f->ones, sums + 1);
    sums[0] += sum_of(b->n, f->loglik);
    if (curvature) m->kind->curvature(m, theta, b, sums + 1 + m->D, f->scratch);
}

static sgfs_status do_block(sgfsi_full *f, struct sgfsi_pass *pass, int64_t part, int64_t block,
                            const double *theta, bool curvature) {
    const sgfs_model *m = f->model;
    const sgfsi_harvest *h = f->harvest;
    sgfs_batch b;
    int64_t first = block * FULL_BLOCK;
    sgfs_status status = score_block(pass, m, first, theta, &b, &f->err[part]);
    if (status != SGFS_OK) return status;
    if (h != NULL) h->take(h->user, part, first, &pass->scores);
    add_block(pass, m, &b, theta, f->sums + part * f->stride, curvature);
    return SGFS_OK;
}

typedef struct place {
    const double *theta;
    bool curvature; /* the information there, too */
} place;

static sgfs_status add_part(sgfsi_full *f, int64_t part, const void *user) {
    const place *at = user;
    struct sgfsi_pass *pass = &f->pass[omp_get_thread_num()];
    double *sums = f->sums + part * f->stride;
    int64_t blocks = (f->N + FULL_BLOCK - 1) / FULL_BLOCK;
    int64_t from = part * blocks / f->parts, end = (part + 1) * blocks / f->parts;
    sgfs_status status = SGFS_OK;
    memset(sums, 0, (size_t)(1 + f->D + (at->curvature ? f->D * f->D : 0)) * sizeof *sums);
    for (int64_t b = from; b < end && status == SGFS_OK; b++)
        status = do_block(f, pass, part, b, at->theta, at->curvature);
    return status;
}

/* What the first part that failed says. */
static sgfs_status first_failure(const sgfsi_full *f, sgfs_err *err) {
    for (int64_t part = 0; part < f->parts; part++) {
        if (f->err[part].code == SGFS_OK) continue;
        if (err != NULL) *err = f->err[part];
        return f->err[part].code;
    }
    return SGFS_OK;
}

/* Add the parts up, in order. */
static sgfs_status collect(const sgfsi_full *f, double *lp, double *G, double *A, sgfs_err *err) {
    sgfs_status status = first_failure(f, err);
    if (status != SGFS_OK) return status;
    *lp = 0;
    memset(G, 0, (size_t)f->D * sizeof *G);
    if (A != NULL) memset(A, 0, (size_t)(f->D * f->D) * sizeof *A);
    for (int64_t part = 0; part < f->parts; part++) {
        const double *sums = f->sums + part * f->stride;
        *lp += sums[0];
        sgfsi_axpy(f->model->ctx.device, f->D, 1.0, sums + 1, G);
        if (A != NULL) sgfsi_axpy(f->model->ctx.device, f->D * f->D, 1.0, sums + 1 + f->D, A);
    }
    return SGFS_OK;
}

/* What is done with the rows of a part, on one thread; what it says goes to f->err[part]. */
typedef sgfs_status (*part_fn)(sgfsi_full *f, int64_t part, const void *user);

static void do_parts(sgfsi_full *f, part_fn fn, const void *user) {
    sgfsi_scope scope = sgfsi_context_enter(&f->model->ctx);
    sgfsi_ticker ticker = sgfsi_ticker_start(f->log, "A pass over all rows");
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)f->threads)
    for (int64_t part = 0; part < f->parts; part++) {
        f->err[part].code = SGFS_OK;
        f->err[part].code = fn(f, part, user);
        bool caller = omp_get_thread_num() == 0; /* parts are handed out in order */
        if (caller && f->log != NULL) sgfsi_tick(&ticker, (double)(part + 1) / (double)f->parts);
    }
    sgfsi_context_leave(scope);
    f->rows_touched += f->N;
}

sgfs_status sgfsi_full_likelihood(sgfsi_full *f, const double *theta, double *loglik, double *G,
                                  double *info, sgfs_err *err) {
    const place at = {theta, info != NULL};
    do_parts(f, add_part, &at);
    return collect(f, loglik, G, info, err);
}

sgfs_status sgfsi_full_harvest(sgfsi_full *f, const double *theta, const sgfsi_harvest *harvest,
                               double *loglik, double *G, sgfs_err *err) {
    f->harvest = harvest;
    sgfs_status status = sgfsi_full_likelihood(f, theta, loglik, G, NULL, err);
    f->harvest = NULL;
    return status;
}

/* ---- anything else done with all rows -------------------------------------------------------- */

struct errand {
    sgfsi_block_fn fn;
    void *user;
};

static sgfs_status each_of_part(sgfsi_full *f, int64_t part, const void *user) {
    const struct errand *is = user;
    int64_t thread = omp_get_thread_num(), blocks = (f->N + FULL_BLOCK - 1) / FULL_BLOCK;
    int64_t from = part * blocks / f->parts, end = (part + 1) * blocks / f->parts;
    sgfs_status status = SGFS_OK;
    for (int64_t k = from; k < end && status == SGFS_OK; k++) {
        sgfs_batch b;
        status = read_block(&f->pass[thread], f->model, k * FULL_BLOCK, &b, &f->err[part]);
        if (status == SGFS_OK) status = is->fn(is->user, thread, k * FULL_BLOCK, &b, &f->err[part]);
    }
    return status;
}

sgfs_status sgfsi_full_each(sgfsi_full *f, sgfsi_block_fn fn, void *user, sgfs_err *err) {
    const struct errand is = {fn, user};
    do_parts(f, each_of_part, &is);
    return first_failure(f, err);
}

/* ---- with the prior -------------------------------------------------------------------------- */

sgfs_status sgfsi_full_eval(sgfsi_full *f, const double *theta, double *lp, double *G, double *A,
                            sgfs_err *err) {
    const sgfs_model *m = f->model;
    sgfs_status status = sgfsi_full_likelihood(f, theta, lp, G, A, err);
    if (status == SGFS_OK) status = sgfsi_prior_add(m, theta, lp, G, err);
    if (status != SGFS_OK) return status;
    if (A != NULL) sgfsi_prior_add_curvature(m, theta, A);
    return check_finite(m, G, err);
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
    if (status == SGFS_OK) status = sgfsi_full_eval(&f, theta, lp, G, A, err);
    sgfsi_arena_free(&arena);
    return status;
}
