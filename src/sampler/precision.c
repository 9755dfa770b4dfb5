/* SPDX-License-Identifier: MIT
 * precision.c: makes and factors the curvature of the general step (precision.h).
 */
#include "sampler/precision.h"

#include <math.h>

#include "base/rng.h"

enum { POWER_STEPS = 60 };

sgfs_status sgfsi_precision_open(sgfsi_precision *p, const sgfs_sampler *sampler, sgfs_err *err) {
    const sgfs_device *dev = sampler->model->ctx.device;
    p->stiff = 1;
    p->ridge = sampler->plan->fisher.ridge;
    sgfs_status status =
        sgfsi_sym_open(&p->A, sampler->fisher, dev, sampler->layout, sampler->arena, err);
    if (status != SGFS_OK) return status;
    return sgfsi_sym_open(&p->L, sampler->fisher, dev, sampler->layout, sampler->arena, err);
}

void sgfsi_precision_fields(sgfsi_precision *p, sgfsi_fields *list) {
    sgfsi_fields_enter(list, "P");
    sgfsi_sym_fields(&p->A, list, "A");
    sgfsi_sym_fields(&p->L, list, "L");
    SGFSI_FIELD_ONE(list, p, rho);
    SGFSI_FIELD_ONE(list, p, stiff);
    sgfsi_fields_leave(list);
}

static int64_t try_factor(sgfsi_precision *p, double ridge) {
    const sgfs_fisher_kind *f = p->A.kind;
    p->rho = ridge * f->trace(&p->A) / (double)p->A.D;
    f->combine(&p->L, 1, &p->A, 0, NULL);
    if (p->rho > 0) f->add_diag(&p->L, p->rho, NULL);
    return f->factor(&p->L);
}

/* L from A. A ridge beyond the one asked for is the last resort, and counted. */
static sgfs_status factor(sgfsi_precision *p, sgfs_sampler *sampler, sgfs_err *err) {
    int64_t failed = try_factor(p, p->ridge);
    for (double more = 0; failed != 0 && sgfsi_sampler_ridge(sampler, &more);)
        failed = try_factor(p, p->ridge + more);
    if (failed == 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "the curvature is not positive definite at parameter \"%s\" (a larger "
                      "--prior-precision or --fisher-ridge would help)",
                      sampler->model->param[failed - 1]);
}

/* By the power method, from a vector that no one chose; a tenth is added, for it comes from below.
 */
static double stiffness(const sgfsi_precision *p, const sgfs_sampler *sampler, double *x) {
    const sgfs_device *dev = sampler->model->ctx.near;
    int64_t D = p->A.D;
    sgfsi_stream stream = sgfsi_stream_at(sampler->seed, 0, SGFSI_PROBE_VECTOR, SGFSI_PROBE);
    double largest = 1;
    sgfsi_normals(&stream, D, x);
    for (int k = 0; k < POWER_STEPS; k++) {
        double size = sqrt(sgfsi_dot(dev, D, x, x));
        for (int64_t j = 0; j < D; j++) x[j] /= size;
        p->L.kind->solve(&p->L, true, x); /* x = L^-1 (Lfull Lfull') L^-T x */
        sgfsi_trmv(dev, D, sampler->anchor->L, true, x);
        sgfsi_trmv(dev, D, sampler->anchor->L, false, x);
        p->L.kind->solve(&p->L, false, x);
        largest = sqrt(sgfsi_dot(dev, D, x, x));
    }
    return largest < 1.001 ? 1 : 1.1 * largest;
}

sgfs_status sgfsi_precision_of_dense(sgfsi_precision *p, sgfs_sampler *sampler, const double *A,
                                     double *x, sgfs_err *err) {
    const sgfs_fisher_kind *f = p->A.kind;
    f->from_dense(&p->A, A);
    sgfs_status status = factor(p, sampler, err);
    if (status != SGFS_OK) return status;
    p->stiff = f->whole ? 1 : fmax(1, stiffness(p, sampler, x));
    return SGFS_OK;
}

sgfs_status sgfsi_precision_of_scores(sgfsi_precision *p, sgfs_sampler *sampler, const sgfs_sym *I1,
                                      sgfs_err *err) {
    p->A.kind->combine(&p->A, sampler->eval.total, I1, 0, NULL);
    p->A.kind->add_diag(&p->A, 1, sampler->model->precision);
    return factor(p, sampler, err);
}
