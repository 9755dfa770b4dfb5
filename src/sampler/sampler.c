/* SPDX-License-Identifier: MIT
 * sampler.c: the state that every sampler has, whatever its kind, and what a chain borrows from the
 * first one while it opens.
 */
#include "sampler/sampler.h"

#include "base/rng.h"

void sgfsi_no_fields(const sgfs_sampler *s, sgfsi_fields *list) {
    (void)s;
    (void)list;
}

void sgfsi_sampler_fields(sgfs_sampler *s, sgfsi_fields *list) {
    SGFSI_FIELD_ONE(list, s, reanchors);
    SGFSI_FIELD_ONE(list, s, interventions);
    SGFSI_FIELD(list, "eval.rows_touched", &s->eval.rows_touched, 1);
    SGFSI_FIELD(list, "full.rows_touched", &s->full.rows_touched, 1);
    sgfsi_anchor *a = s->own; /* the shared one is found again when a run is opened again */
    if (a != NULL) {
        sgfsi_fields_enter(list, "anchor");
        SGFSI_FIELD_ARRAY(list, a, theta, s->D);
        SGFSI_FIELD_ARRAY(list, a, G, s->D);
        SGFSI_FIELD_ARRAY(list, a, G_post, s->D);
        SGFSI_FIELD_ARRAY(list, a, info, s->D * s->D);
        SGFSI_FIELD_ARRAY(list, a, L, s->D * s->D);
        SGFSI_FIELD_ONE(list, a, loglik);
        SGFSI_FIELD_ONE(list, a, lp);
        SGFSI_FIELD_ONE(list, a, distance);
        sgfsi_fields_leave(list);
    }
    sgfsi_fields_enter(list, s->kind->name);
    s->kind->fields(s, list);
    sgfsi_fields_leave(list);
}

sgfs_status sgfsi_plan_refuse_start(const sgfsi_plan *plan, bool seeds, const char *because,
                                    sgfs_err *err) {
    const char *flag = sgfsi_config_given(plan->cfg, "run.init")              ? "--init"
                       : sgfsi_config_given(plan->cfg, "run.climb")           ? "--climb"
                       : !seeds && sgfsi_config_given(plan->cfg, "run.start") ? "--start"
                                                                              : NULL;
    if (flag == NULL) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE, "%s has no meaning for sampler %s: %s.", flag,
                      plan->kinds.sampler->name, because);
}

sgfs_status sgfsi_plan_refuse(const sgfsi_plan *plan, const sgfs_problem *now, const char *why,
                              sgfs_err *err) {
    if (why == NULL) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--sampler %s cannot draw from this posterior: %s (model %s). "
                      "--sampler nuts is exact, too, and needs no such thing.",
                      plan->kinds.sampler->name, why, now->model->kind->name);
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

void sgfsi_sampler_normals(const sgfs_sampler *s, int64_t t, uint32_t purpose, double *z) {
    sgfsi_stream stream = sgfsi_stream_at(s->seed, s->chain, t, purpose);
    sgfsi_normals(&stream, s->D, z);
}

bool sgfsi_sampler_ridge(sgfs_sampler *s, double *more) {
    *more = *more > 0 ? 100 * *more : 1e-10;
    if (*more >= 0.02) return false;
    s->interventions++;
    return true;
}
