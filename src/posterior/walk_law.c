/* SPDX-License-Identifier: MIT
 * walk_law.c: is a posterior one that walk.h can say, and the rows for it.
 *
 * Rows lie on the device twice then: as they are stored, for gathering, and as numbers, so that an
 * iteration takes a cell with one look. That is made once for all chains, and only where it is
 * small beside the memory there is.
 */
#include "posterior/walk_law.h"

#include <string.h>

#include "model/prior.h"
#include "rows/pages.h"

static const double most_room = 0.125; /* of the free memory */

/* What the formulas of walk.h do not know. */
static bool is_plain(const sgfsi_eval *e) {
    const sgfs_model *m = e->model;
    const sgfsi_batcher *b = &e->batcher;
    bool drawn = b->scheme == &sgfs_scheme_with && b->urn.alias == NULL && b->exchange == NULL;
    bool small = e->D <= SGFSI_WALK_PARAMETERS && e->n <= SGFSI_WALK_ROWS && b->urn.N < INT32_MAX;
    return drawn && small && m->kind->linked && m->D == m->data->p && b->rows.offset == NULL &&
           e->control == NULL && sgfsi_prior_gaussian(m) != NULL;
}

static bool has_room(const sgfs_device *dev, double numbers) {
    double bytes = numbers * (double)sizeof(double);
    return dev->ops->room != NULL && bytes < most_room * dev->ops->room(dev);
}

/* Targets of all rows to y; *allowed: there is none that the model does not allow. */
static sgfs_status put_targets(const sgfs_model *m, double *y, bool *allowed, sgfs_err *err) {
    enum { BLOCK = 512 };
    double some[BLOCK];
    sgfsi_pages visit = {.wait = 0};
    const sgfs_data *d = m->data;
    *allowed = true;
    for (int64_t first = 0; first < d->N; first += BLOCK) {
        int64_t n = d->N - first < BLOCK ? d->N - first : BLOCK;
        sgfs_status status = sgfsi_pages_range(&visit, d, first, n, err);
        if (status != SGFS_OK) return status;
        sgfsi_data_rows_range(d, first, n, NULL, some);
        for (int64_t i = 0; i < n && m->kind->allows != NULL; i++)
            *allowed = *allowed && m->kind->allows(some[i]);
        sgfsi_put(m->ctx.device, n, some, y + first);
    }
    return SGFS_OK;
}

/* All rows as numbers to X, some at a time. */
static sgfs_status put_rows(const sgfsi_eval *e, int64_t stride, double *X, sgfsi_arena *arena,
                            sgfs_err *err) {
    enum { BLOCK = 4096 };
    const sgfs_data *d = e->model->data;
    const sgfs_device *dev = e->model->ctx.device;
    const sgfsi_gatherer *g = &e->batcher.rows.gatherer;
    double *some = sgfsi_device_room(dev, BLOCK * e->D, arena);
    if (some == NULL) return sgfsi_fail_memory(err, "the rows of iterations");
    for (int64_t first = 0; first < d->N; first += BLOCK) {
        int64_t n = d->N - first < BLOCK ? d->N - first : BLOCK;
        const sgfsi_outer o = {.n = n, .rows = 1, .cols = e->D, .right = some, .end = e->D};
        sgfsi_gatherer_range(g, d, first, n, some);
        sgfsi_outer_of(dev, &o, X + first * stride, stride);
    }
    sgfsi_device_wait(dev);
    return SGFS_OK;
}

sgfs_status sgfsi_walk_law_of(const sgfsi_eval *e, sgfsi_walk_law *law, sgfsi_arena *arena,
                              sgfs_err *err) {
    const sgfs_model *m = e->model;
    const sgfs_device *dev = m->ctx.device;
    const sgfsi_gatherer *g = &e->batcher.rows.gatherer;
    int64_t N = e->batcher.urn.N;
    int64_t stride = (e->D + SGFSI_WALK_LINE - 1) / SGFSI_WALK_LINE * SGFSI_WALK_LINE;
    bool classes = m->kind->link == SGFSI_LOGIT;
    *law = (sgfsi_walk_law){.link = m->kind->link,
                            .one = classes && m->kind->linked ? m->labels.value[1] : 0,
                            .N = N,
                            .n = e->n,
                            .D = e->D,
                            .stride = stride,
                            .total = e->total,
                            .gain = e->gamma * e->total};
    if (dev->ops->walk == NULL || g->kept == NULL || !is_plain(e)) return SGFS_OK;
    if (!has_room(dev, (double)N * (double)(stride + 1))) return SGFS_OK;
    double *X = sgfsi_device_room(dev, N * stride, arena), *y = sgfsi_device_room(dev, N, arena);
    if (X == NULL || y == NULL) return sgfsi_fail_memory(err, "the rows of iterations");
    bool allowed;
    sgfs_status status = put_targets(m, y, &allowed, err);
    if (status != SGFS_OK || !allowed) return status;
    status = put_rows(e, stride, X, arena, err);
    if (status != SGFS_OK) return status;
    law->precision = sgfsi_prior_gaussian(m);
    law->X = X;
    law->y = y;
    return SGFS_OK;
}
