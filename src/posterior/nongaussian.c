/* SPDX-License-Identifier: MIT
 * nongaussian.c: see nongaussian.h.
 */
#include "posterior/nongaussian.h"

#include <string.h>

#include "model/prior.h"

sgfs_status sgfsi_nongaussian_open(sgfsi_nongaussian *r, const sgfs_model *m, const sgfsi_anchor *a,
                                   sgfsi_arena *arena, sgfs_err *err) {
    *r = (sgfsi_nongaussian){.model = m, .anchor = a, .at = sgfsi_anchor_expansion(a)};
    r->slope = SGFSI_DOUBLES(arena, m->D);
    if (r->slope == NULL) return sgfsi_fail_memory(err, "the posterior at the anchor");
    memcpy(r->slope, a->G_post, (size_t)m->D * sizeof *r->slope);
    sgfsi_trsv(m->ctx.near, m->D, a->L, false, r->slope);
    if (m->kind->whole == NULL && sgfsi_prior_is_quadratic(m)) return SGFS_OK;
    if (!SGFSI_ROOM(arena, m->D, &r->gradient, &r->curvature))
        return sgfsi_fail_memory(err, "the prior");
    for (int64_t j = 0; j < m->D; j++) r->curvature[j] = sgfsi_prior_curvature(m, a->theta, j);
    return sgfsi_prior_add(m, a->theta, &r->prior, r->gradient, err);
}

sgfs_status sgfsi_nongaussian_at(const sgfsi_nongaussian *r, const double *theta, const double *z,
                                 double *out, sgfs_err *err) {
    const sgfs_model *m = r->model;
    double prior = 0;
    *out = sgfsi_dot(m->ctx.near, m->D, r->slope, z);
    if (r->gradient == NULL) return SGFS_OK;
    sgfs_status status = sgfsi_prior_add(m, theta, &prior, NULL, err);
    if (m->kind->whole != NULL) {
        *out = 0.5 * sgfsi_dot(m->ctx.near, m->D, z, z) + m->kind->whole(m, &r->at, theta) + prior -
               r->prior;
        return status;
    }
    *out += prior - r->prior;
    for (int64_t j = 0; j < m->D; j++) {
        double gap = theta[j] - r->anchor->theta[j];
        *out += gap * (0.5 * r->curvature[j] * gap - r->gradient[j]);
    }
    return status;
}
