/* SPDX-License-Identifier: MIT
 * kept.c: see kept.h.
 */
#include "model/kept.h"

#include <math.h>
#include <string.h>

#include "rows/carrier.h"

static void drop_glm(const void *user, void *glm) {
    const sgfs_device *dev = user;
    dev->ops->drop_glm(dev, glm);
}

bool sgfsi_kept_can(const sgfs_model *m) {
    const sgfs_data *d = m->data;
    return m->kind->glm != NULL && d->has_target && d->elsewhere == NULL && d->groups == NULL &&
           m->ctx.comm->size == 1 && m->ctx.device->ops->ask_glm != NULL;
}

/* As the link takes them. false: one of them cannot be, about which the host will complain. */
static bool take_targets(const sgfs_model *m, double *y, double *constant) {
    const sgfs_data *d = m->data;
    const sgfs_glm_kind *k = m->kind->glm;
    for (int64_t i = 0; i < d->N; i++) {
        if (m->kind->allows != NULL && !m->kind->allows(y[i])) return false;
        double w = d->weight != NULL ? d->weight[i] : 1;
        if (k->constant != NULL && w > 0) *constant += w * k->constant(m, y[i]);
        if (k->target != NULL) y[i] = k->target(m, y[i]);
    }
    return true;
}

/* Of a kind whose passes a device may make block by block. */
static sgfs_status open_far_rows(sgfs_model *m, sgfs_err *err) {
    const sgfs_data *d = m->data;
    const sgfs_device *dev = m->ctx.device;
    const int64_t N = d->N, vectors = d->weight != NULL ? 3 : 1;
    bool can = m->far_target != NULL && m->gatherer.kept != NULL && d->has_target &&
               d->elsewhere == NULL && d->groups == NULL && m->ctx.comm->size == 1 &&
               dev->ops->scale_rows != NULL;
    if (!can || 2.0 * 8 * (double)(N * vectors) > dev->ops->room(dev)) return SGFS_OK;
    sgfsi_arena own = {NULL};
    sgfsi_far_rows *rows = sgfsi_arena_alloc(&m->arena, 1, sizeof *rows);
    double *row = SGFSI_DOUBLES(&own, N), *there = sgfsi_device_room(dev, N * vectors, &m->arena);
    bool made = rows != NULL && row != NULL && there != NULL;
    sgfs_status status = SGFS_OK;
    if (made) {
        *rows = (sgfsi_far_rows){.target = there};
        status = sgfsi_data_targets(d, m->ctx.threads, row, err);
        for (int64_t i = 0; i < N; i++) row[i] = m->far_target(m, row[i]);
        sgfsi_put(dev, N, row, rows->target);
        m->far_rows = rows;
    }
    if (made && d->weight != NULL) {
        rows->weight = there + N;
        rows->root = there + 2 * N;
        sgfsi_put(dev, N, d->weight, rows->weight);
        for (int64_t i = 0; i < N; i++) row[i] = sqrt(d->weight[i]);
        sgfsi_put(dev, N, row, rows->root);
    }
    sgfsi_arena_free(&own);
    if (made) return status;
    return sgfsi_device_explain(dev, sgfsi_fail_memory(err, "the targets"), err);
}

sgfs_status sgfsi_kept_open(sgfs_model *m, sgfs_err *err) {
    const sgfs_data *d = m->data;
    const sgfs_device *dev = m->ctx.device;
    const sgfsi_gatherer *g = &m->gatherer;
    if (!sgfsi_kept_can(m) || (!g->whole && g->some == NULL)) return open_far_rows(m, err);
    sgfsi_arena own = {NULL};
    sgfsi_kept *kept = sgfsi_arena_alloc(&m->arena, 1, sizeof *kept);
    double *y = SGFSI_DOUBLES(&own, d->N), constant = 0;
    sgfs_status status =
        kept != NULL && y != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the targets");
    if (status == SGFS_OK) status = sgfsi_data_targets(d, m->ctx.threads, y, err);
    if (status == SGFS_OK && take_targets(m, y, &constant)) {
        const sgfsi_glm glm = {.link = m->kind->glm->link,
                               .rows = d->N,
                               .p = d->p,
                               .y = y,
                               .weight = d->weight,
                               .offset = d->offset};
        *kept = (sgfsi_kept){.device = dev, .constant = constant};
        kept->glm = dev->ops->keep_glm(dev, g->whole ? g->kept : g->some, &glm);
        if (kept->glm != NULL && !sgfsi_arena_keep(&m->arena, drop_glm, dev, kept->glm)) {
            dev->ops->drop_glm(dev, kept->glm);
            status = sgfsi_fail_memory(err, "the targets");
        } else if (kept->glm != NULL) {
            m->kept = kept;
            if (g->some != NULL) sgfsi_gatherer_say(g, d, m->ctx.log);
        }
    }
    sgfsi_arena_free(&own);
    sgfsi_carrier_opened(g->carrier);
    return status == SGFS_OK ? sgfsi_carrier_state(g->carrier, err) : status;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* `count` rows of p numbers become rows of D, with zeros behind, in place. */
static void widen(int64_t count, int64_t p, int64_t D, double *A) {
    for (int64_t k = count - 1; D > p && k >= 0; k--) {
        memmove(A + k * D, A + k * p, (size_t)p * sizeof *A);
        memset(A + k * D + p, 0, (size_t)(D - p) * sizeof *A);
    }
}

static sgfs_status ask(const sgfs_model *m, const sgfsi_glm_places *places,
                       const sgfsi_kept_watch *watch, sgfs_err *err) {
    const sgfs_device *dev = m->kept->device;
    sgfsi_glm_places at = *places;
    if (watch != NULL) {
        at.go_on = watch->go_on;
        at.user = watch->user;
    }
    dev->ops->ask_glm(dev, m->kept->glm, &at);
    sgfs_status status = sgfsi_carrier_state(m->gatherer.carrier, err);
    if (status != SGFS_OK) return status;
    if (dev->ops->trouble == NULL || dev->ops->trouble(dev) == NULL) return SGFS_OK;
    return sgfsi_device_explain(dev, SGFS_ENUMERIC, err);
}

sgfs_status sgfsi_kept_places(const sgfs_model *m, int64_t K, const double *theta, double *loglik,
                              double *G, double *info, const sgfsi_kept_watch *watch,
                              sgfs_err *err) {
    const sgfsi_glm_places at = {
        .K = K, .stride = m->D, .theta = theta, .loglik = loglik, .G = G, .info = info};
    int64_t p = m->data->p, D = m->D;
    sgfs_status status = ask(m, &at, watch, err);
    if (G != NULL) widen(K, p, D, G);
    if (info == NULL) return status;
    widen(p, p, D, info);
    memset(info + p * D, 0, (size_t)((D - p) * D) * sizeof *info);
    for (int64_t i = 0; i < p; i++)
        memset(info + i * D + i + 1, 0, (size_t)(D - 1 - i) * sizeof *info);
    return status;
}

sgfs_status sgfsi_kept_pairs(const sgfs_model *m, const double *centre, int64_t K, const double *U,
                             double *plus, double *minus, const sgfsi_kept_watch *watch,
                             sgfs_err *err) {
    const sgfsi_glm_places at = {
        .K = K, .stride = m->D, .theta = U, .centre = centre, .loglik = plus, .minus = minus};
    return ask(m, &at, watch, err);
}

void sgfsi_kept_finish(const sgfs_model *m, const double *theta, double *loglik, double *G,
                       double *info) {
    const sgfs_glm_kind *k = m->kind->glm;
    if (k->finish != NULL) k->finish(m, theta, m->data->total, loglik, G, info);
    *loglik += m->kept->constant;
}
