/* SPDX-License-Identifier: MIT
 * early.c: see early.h.
 */
#include "posterior/early.h"

#include <math.h>

#include "model/kept.h"
#include "model/prior.h"

static void close_pairs(const void *user, void *pairs) {
    const sgfs_device *dev = user;
    dev->ops->close_pairs(dev, pairs);
}

sgfs_status sgfsi_early_open(sgfsi_early *e, sgfsi_places *places, const sgfsi_pairs_law *law,
                             sgfsi_arena *arena, sgfs_err *err) {
    const sgfsi_kept *kept = places->full.model->kept;
    *e = (sgfsi_early){.places = places, .centre = law->centre};
    if (kept == NULL || kept->device->ops->open_pairs == NULL) return SGFS_OK;
    e->device = kept->device;
    sgfsi_pairs_law all = *law;
    const sgfs_model *m = places->full.model;
    if (law->spread != NULL && m->kind->glm->finish == NULL)
        all.precision = sgfsi_prior_gaussian(m);
    e->whole = all.precision != NULL;
    e->pairs = e->device->ops->open_pairs(e->device, kept->glm, &all);
    if (e->pairs == NULL || sgfsi_arena_keep(arena, close_pairs, e->device, e->pairs))
        return SGFS_OK;
    e->device->ops->close_pairs(e->device, e->pairs);
    e->pairs = NULL;
    return sgfsi_fail_memory(err, "the proposals");
}

void sgfsi_early_begin(sgfsi_early *e, const sgfsi_pairs *now) {
    if (e->waiting) e->device->ops->await_pairs(e->device, e->pairs);
    e->now = *now;
    e->waiting = true;
    e->device->ops->begin_pairs(e->device, e->pairs, &e->now);
}

/* The constant is added; what is no number is -INFINITY (places.h). */
static void finish(sgfsi_places *p, int64_t K, double *lp) {
    for (int64_t k = 0; k < K; k++) {
        lp[k] += p->full.model->kept->constant;
        p->nans += isnan(lp[k]);
        if (!isfinite(lp[k])) lp[k] = -INFINITY;
    }
}

sgfs_status sgfsi_early_take(sgfsi_early *e, sgfs_err *err) {
    const sgfsi_pairs *now = &e->now;
    sgfs_status status = sgfsi_full_given_up(&e->places->full, err);
    if (status != SGFS_OK) return status;
    e->device->ops->await_pairs(e->device, e->pairs);
    e->waiting = false;
    if (e->device->ops->trouble != NULL && e->device->ops->trouble(e->device) != NULL)
        return sgfsi_device_explain(e->device, SGFS_ENUMERIC, err);
    if (e->whole) {
        e->places->full.rows_touched += e->places->full.N;
        e->places->nans = 0;
        finish(e->places, now->K, now->plus);
        finish(e->places, now->K, now->minus);
        return SGFS_OK;
    }
    return sgfsi_places_finish(e->places, e->centre, now->K, now->U, now->plus, now->minus, err);
}
