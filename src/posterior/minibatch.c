/* SPDX-License-Identifier: MIT
 * minibatch.c: the gradient from a batch of rows: their scores, or with control variates the
 * differences to their scores at the anchor, and the prior's.
 */
#include "base/rng.h"
#include "model/prior.h"
#include "posterior/posterior.h"
#include "posterior/remembered.h"
#include "posterior/scores.h"
#include "posterior/sweep.h"

#include <string.h>

sgfs_status sgfsi_eval_open(sgfsi_eval *e, const sgfs_model *model, const sgfs_scheme_kind *scheme,
                            int64_t n, sgfsi_arena *arena, sgfs_err *err) {
    e->model = model;
    e->n = n;
    e->total = model->data->total;
    e->D = model->D;
    const sgfsi_rows_plan plan = {
        .n = n, .sparse = model->kind->sparse, .parameters = model->D, .gatherer = model->gatherer};
    sgfs_status status = sgfsi_device_fits(model->ctx.device, n, "rows of a minibatch", err);
    if (status != SGFS_OK) return status;
    status = sgfsi_batcher_open(&e->batcher, model->data, scheme, plan, arena, err);
    if (status == SGFS_OK) status = sgfsi_scores_open(&e->scores, model, n, arena, err);
    if (status != SGFS_OK) return status;
    e->gamma = e->batcher.rows.batch.gamma;
    if (model->ctx.device->ops->alloc != NULL && model->kind->far) {
        double **room = &e->batcher.rows.batch.room;
        *room = sgfsi_device_room(model->ctx.device, model->D + n * model->room_per_row, arena);
        if (*room == NULL) return sgfsi_fail_memory(err, "the gradient");
    }
    bool made = SGFSI_ROOM(arena, model->D, &e->gbar) && SGFSI_ROOM(arena, n, &e->loglik) &&
                SGFSI_ROOM(arena, n * model->scratch_per_row, &e->scratch);
    e->ones = sgfsi_ones(arena, n);
    if (!made || e->ones == NULL) return sgfsi_fail_memory(err, "the gradient");
    bool here = model->ctx.device->ops->put == NULL && model->gatherer.dealt == NULL;
    if (here && sgfsi_sweep_fits_drawn(model)) {
        e->sweep = sgfsi_arena_alloc(arena, 1, sizeof *e->sweep);
        e->eta = SGFSI_DOUBLES(arena, n + SGFSI_SWEEP_SPARE);
        if (e->sweep == NULL || e->eta == NULL) return sgfsi_fail_memory(err, "the gradient");
        status = sgfsi_sweep_open(e->sweep, model, arena, err);
    }
    if (status != SGFS_OK || model->kind->resample == NULL) return status;
    if (!SGFSI_ROOM(arena, e->n, &e->model_y) || !SGFSI_ROOM(arena, 2 * e->n, &e->model_random))
        return sgfsi_fail_memory(err, "the gradient");
    return sgfsi_scores_open(&e->model_scores, e->model, e->n, arena, err);
}

void sgfsi_eval_stream(sgfsi_eval *e, uint64_t seed, uint32_t chain) {
    e->batcher.seed = seed;
    e->batcher.chain = chain;
}

/* ---- control variates ------------------------------------------------------------------------ */

/* Scores at theta and at the anchor, as the model fills them; e->scores holds their differences. */
struct sgfsi_pair {
    sgfs_scores here, anchor;
    sgfs_scores staged; /* the anchor's in the host's memory, where its room is another; or none */
    double *loglik;     /* n, at the anchor */
};

sgfs_status sgfsi_eval_open_control(sgfsi_eval *e, sgfsi_arena *arena, sgfs_err *err) {
    e->pair = sgfsi_arena_alloc(arena, 1, sizeof *e->pair);
    if (e->pair != NULL) e->pair->loglik = SGFSI_DOUBLES(arena, e->n);
    if (e->pair == NULL || e->pair->loglik == NULL)
        return sgfsi_fail_memory(err, "differences of scores");
    sgfs_status status = sgfsi_scores_open(&e->pair->here, e->model, e->n, arena, err);
    if (status == SGFS_OK) status = sgfsi_scores_open(&e->pair->anchor, e->model, e->n, arena, err);
    const sgfs_model *near = sgfsi_model_near(e->model, arena);
    if (near == NULL) return sgfsi_fail_memory(err, "differences of scores");
    if (status == SGFS_OK && near != e->model)
        status = sgfsi_scores_open(&e->pair->staged, near, e->n, arena, err);
    if (status != SGFS_OK) return status;
    /* Where the right factor changes with theta as well, a difference of outer products is none:
     * it is written out. */
    const sgfs_model *m = e->model;
    for (int64_t k = 0; k < m->blocks; k++) {
        sgfs_score_block *o = &e->scores.block[k];
        if (m->block[k].form != SGFS_SCORE_OUTER) continue;
        *o = (sgfs_score_block){.offset = o->offset, .rows = o->rows, .cols = o->cols};
        o->dense = sgfsi_device_room(m->ctx.device, e->n * o->rows * o->cols, arena);
        if (o->dense == NULL) return sgfsi_fail_memory(err, "differences of scores");
    }
    return SGFS_OK;
}

static void subtract(int64_t n, const double *a, const double *b, double *out) {
    for (int64_t i = 0; i < n; i++) out[i] = a[i] - b[i];
}

/* out = l (x) r - l* (x) r* for each row, in the host's memory: networks have no anchor, and with
 * them goes all that could ask a device for it. */
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

/* The scores at the anchor that are remembered. */
static void look_up(const sgfsi_eval *e, int64_t n) {
    const sgfs_device *dev = e->model->ctx.device;
    sgfs_scores *anchor = &e->pair->anchor, *staged = &e->pair->staged;
    bool elsewhere = staged->block != NULL;
    staged->loglik = anchor->loglik;
    sgfsi_remembered_pick(e->control->rows, e->batcher.row, n, elsewhere ? staged : anchor);
    for (int64_t k = 0; elsewhere && k < e->model->blocks; k++) {
        const sgfs_score_block *from = &staged->block[k], *to = &anchor->block[k];
        if (to->dense != NULL) sgfsi_put(dev, n * to->rows * to->cols, from->dense, to->dense);
        else if (to->rows > 1) sgfsi_put(dev, n * to->rows, from->left, to->left);
        else memcpy(to->left, from->left, (size_t)n * sizeof *to->left);
    }
}

/* Scores and densities at theta less those at the anchor. */
static sgfs_status score_differences(sgfsi_eval *e, const sgfs_batch *b, const double *theta,
                                     bool want_lp, sgfs_err *err) {
    const sgfs_model *m = e->model;
    struct sgfsi_pair *pair = e->pair;
    pair->here.loglik = want_lp ? e->loglik : NULL;
    pair->anchor.loglik = want_lp ? pair->loglik : NULL;
    sgfsi_scores_point(m, b, &pair->here);
    sgfsi_scores_point(m, b, &pair->anchor);
    sgfs_status status = m->kind->scores(m, theta, b, &pair->here, e->scratch, err);
    if (status == SGFS_OK && e->control->rows != NULL) look_up(e, b->n);
    else if (status == SGFS_OK)
        status = m->kind->scores(m, e->control->theta, b, &pair->anchor, e->scratch, err);
    if (status != SGFS_OK) return status;
    sgfsi_scores_point(m, b, &e->scores);
    for (int64_t k = 0; k < m->blocks; k++) {
        const sgfs_score_block *x = &e->pair->here.block[k], *y = &e->pair->anchor.block[k];
        sgfs_score_block *o = &e->scores.block[k];
        sgfs_score_form form = m->block[k].form;
        if (form == SGFS_SCORE_OUTER) subtract_outer(b->n, x, y, o->dense);
        else if (form == SGFS_SCORE_DENSE)
            sgfsi_minus(m->ctx.device, b->n * x->rows * x->cols, x->dense, y->dense, o->dense);
        else if (x->rows > 1) sgfsi_minus(m->ctx.device, b->n * x->rows, x->left, y->left, o->left);
        else subtract(b->n, x->left, y->left, o->left);
    }
    if (want_lp) subtract(b->n, e->loglik, pair->loglik, e->loglik);
    return SGFS_OK;
}

static sgfs_status score_batch(sgfsi_eval *e, const sgfs_batch *b, const double *theta,
                               bool want_lp, sgfs_err *err) {
    if (e->control != NULL) return score_differences(e, b, theta, want_lp, err);
    e->scores.loglik = want_lp ? e->loglik : NULL;
    sgfsi_scores_point(e->model, b, &e->scores);
    return e->model->kind->scores(e->model, theta, b, &e->scores, e->scratch, err);
}

/* gbar from rows where they lie: the first block's scores are their residuals times the rows. */
static sgfs_status sum_in_place(sgfsi_eval *e, const sgfs_batch *beside, const double *theta,
                                bool want_lp, sgfs_err *err) {
    sgfs_batch b = *beside;
    sgfsi_sweep_begin(e->sweep, theta);
    sgfsi_sweep_predict_drawn(e->sweep, e->batcher.row, b.n, e->eta);
    b.eta = e->eta;
    sgfs_status status = score_batch(e, &b, theta, want_lp, err);
    if (status != SGFS_OK) return status;
    memset(e->gbar, 0, (size_t)e->D * sizeof *e->gbar);
    sgfsi_sweep_add_drawn(e->sweep, e->batcher.row, b.n, e->scores.block[0].left, e->gbar);
    sgfsi_sweep_finish(e->sweep, e->gbar);
    const sgfs_scores rest = {
        .n = b.n, .D = e->D, .blocks = e->scores.blocks - 1, .block = e->scores.block + 1};
    sgfsi_scores_sum(e->model->ctx.device, &rest, 1.0, 1.0, e->ones, e->gbar);
    for (int64_t j = 0; j < e->D; j++) e->gbar[j] /= (double)b.n;
    return SGFS_OK;
}

/* ---- the gradient ---------------------------------------------------------------------------- */

sgfs_status sgfsi_eval_gradient(sgfsi_eval *e, int64_t t, uint32_t purpose, const double *theta,
                                double *G, double *lp, sgfs_err *err) {
    const sgfs_model *m = e->model;
    sgfs_err own;
    if (err == NULL) err = &own;
    bool in_place = e->sweep != NULL && e->gradient_only && e->control == NULL;
    const sgfs_batch *b = sgfsi_batcher_next(&e->batcher, t, purpose, in_place, err);
    if (b == NULL) return sgfsi_why(err);
    e->rows_touched += b->n;
    sgfs_status status = in_place ? sum_in_place(e, b, theta, lp != NULL, err)
                                  : score_batch(e, b, theta, lp != NULL, err);
    if (status != SGFS_OK) return status;
    if (!in_place)
        sgfsi_scores_sum(m->ctx.device, &e->scores, 1.0 / (double)b->n, 0.0, e->ones, e->gbar);
    for (int64_t j = 0; j < m->D; j++) G[j] = b->total * e->gbar[j];
    if (lp != NULL) *lp = b->total / (double)b->n * sgfsi_loglik_sum(b->n, e->loglik);
    if (e->control != NULL) sgfsi_axpy(m->ctx.device, m->D, 1.0, e->control->G, G);
    if (e->control != NULL && lp != NULL) *lp += e->control->loglik;
    status = sgfsi_prior_add(m, theta, lp, G, err);
    return status == SGFS_OK ? sgfsi_gradient_check(m, G, err) : status;
}

sgfs_status sgfsi_eval_resample(sgfsi_eval *e, int64_t t, uint32_t purpose, const double *theta,
                                sgfs_err *err) {
    const sgfs_model *m = e->model;
    sgfs_batch b = e->batcher.rows.batch;
    double *normal = e->model_random, *uniform = normal + b.n;
    int64_t place = purpose == SGFSI_FILL ? SGFSI_MODEL_FILL + t : t;
    sgfsi_stream stream = sgfsi_stream_at(e->batcher.seed, e->batcher.chain, place, SGFSI_MODEL);
    sgfsi_normals(&stream, b.n, normal);
    sgfsi_uniforms(&stream, b.n, uniform);
    m->kind->resample(m, theta, &b, normal, uniform, e->model_y);
    b.y = e->model_y;
    sgfsi_scores_point(m, &b, &e->model_scores);
    return m->kind->scores(m, theta, &b, &e->model_scores, e->scratch, err);
}
