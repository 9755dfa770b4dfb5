/* SPDX-License-Identifier: MIT
 * sampler.c: the state that every sampler has, whatever its kind, and what a chain borrows from the
 * first one while it opens.
 */
#include "sampler/sampler.h"

void sgfsi_no_fields(const sgfs_sampler *s, sgfsi_fields *list) {
    (void)s;
    (void)list;
}

/* An anchor of the chain's own; the shared one is found again when a run is opened again. */
static void list_anchor(sgfsi_anchor *a, int64_t D, sgfsi_fields *list) {
    sgfsi_fields_enter(list, "anchor");
    SGFSI_FIELD_ARRAY(list, a, theta, D);
    SGFSI_FIELD_ARRAY(list, a, G, D);
    SGFSI_FIELD_ARRAY(list, a, G_post, D);
    SGFSI_FIELD_ARRAY(list, a, info, D * D);
    SGFSI_FIELD_ARRAY(list, a, L, D * D);
    SGFSI_FIELD_ONE(list, a, loglik);
    SGFSI_FIELD_ONE(list, a, lp);
    SGFSI_FIELD_ONE(list, a, distance);
    sgfsi_fields_leave(list);
}

void sgfsi_sampler_fields(sgfs_sampler *s, sgfsi_fields *list) {
    SGFSI_FIELD_ONE(list, s, reanchors);
    SGFSI_FIELD_ONE(list, s, interventions);
    SGFSI_FIELD(list, "eval.rows_touched", &s->eval.rows_touched, 1);
    SGFSI_FIELD(list, "full.rows_touched", &s->full.rows_touched, 1);
    SGFSI_FIELD(list, "disk_wait", &s->eval.batcher.visit.wait, 1);
    SGFSI_FIELD(list, "disk_bytes", &s->eval.batcher.visit.bytes, 1);
    if (s->own != NULL) list_anchor(s->own, s->D, list);
    sgfsi_fields_enter(list, s->kind->name);
    s->kind->fields(s, list);
    sgfsi_fields_leave(list);
}

sgfs_status sgfsi_sampler_borrow(sgfs_sampler *s, const char *prefix, sgfs_err *err) {
    sgfsi_fields to = {0}, from = {0};
    s->kind->fields(s->first, &from);
    s->kind->fields(s, &to);
    sgfs_status status = sgfsi_fields_copy(&to, &from, prefix, err);
    sgfsi_fields_free(&from);
    sgfsi_fields_free(&to);
    return status;
}

bool sgfsi_sampler_ridge(sgfs_sampler *s, double *more) {
    *more = *more > 0 ? 100 * *more : 1e-10;
    if (*more >= 0.02) return false;
    s->interventions++;
    return true;
}
