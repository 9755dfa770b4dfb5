/* SPDX-License-Identifier: MIT
 * precondition.c: where C comes from.
 *
 *     none        C = I
 *     file        C as given, on the scale the chain lives on (that of the standardised columns
 *                 with --standardize); D numbers are a diagonal
 *     curvature   C = (expected information + prior precision)^-1 at the posterior mode
 *
 * Only its factor R is kept, C = R R': a step needs C G = R (R'G) and noise R z. Chains of one run
 * share it.
 */
#include "sampler/precondition.h"

#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "posterior/mode.h"

sgfs_status sgfsi_precondition_plan(sgfsi_precondition_settings *set, const sgfs_config *cfg,
                                    sgfs_err *err) {
    bool has_file = set->file[0] != '\0', by_file = strcmp(set->kind, "file") == 0;
    if (by_file && !has_file) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--precondition file needs --precondition-file with its name.");
    }
    if (!has_file || by_file) return SGFS_OK;
    if (sgfsi_config_given(cfg, "sampler.precondition")) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--precondition %s and --precondition-file contradict each other: give "
                          "one of them.",
                          set->kind);
    }
    set->kind = "file";
    return SGFS_OK;
}

sgfs_status sgfsi_curvature_at_mode(const sgfs_sampler *sampler, const char *what, double *mode,
                                    double *cov, int64_t *passes, sgfs_err *err) {
    const sgfs_model *m = sampler->model;
    if (m->kind->curvature == NULL) {
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "%s: model %s does not know its curvature; give a matrix in a file (nuts, hmc: "
            "--metric dense).",
            what, m->kind->name);
    }
    if (m->D > SGFSI_MOST_DENSE) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: a matrix of %lld x %lld is too large to be made here (at most %d "
                          "parameters); give a diagonal in a file (nuts, hmc: --metric diag).",
                          what, (long long)m->D, (long long)m->D, (int)SGFSI_MOST_DENSE);
    }
    return sgfsi_mode_find(m, sampler->start, sampler->plan->cores, mode, cov, passes, err);
}

static sgfs_status not_definite(const sgfs_sampler *sampler, const char *path, int64_t minor,
                                sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: the matrix is not positive definite (it fails at row %lld, parameter "
                      "\"%s\"); a preconditioner must be.",
                      path, (long long)minor, sampler->model->param[minor - 1]);
}

static sgfs_status open_file(sgfsi_precondition *c, const sgfs_sampler *sampler, const char *path,
                             sgfs_err *err) {
    sgfsi_matrix m;
    sgfs_status status = sgfsi_matrix_read(&m, path, c->D, sampler->arena, err);
    if (status != SGFS_OK) return status;
    c->R = m.a;
    c->shape = m.diagonal ? SGFSI_DIAGONAL : SGFSI_DENSE;
    if (!m.diagonal) {
        int64_t failed = sgfsi_potrf(c->device, c->D, c->R);
        return failed == 0 ? SGFS_OK : not_definite(sampler, path, failed, err);
    }
    for (int64_t j = 0; j < c->D; j++) {
        if (!(m.a[j] > 0)) return not_definite(sampler, path, j + 1, err);
        c->R[j] = sqrt(m.a[j]);
    }
    return SGFS_OK;
}

sgfs_status sgfsi_precondition_open(sgfsi_precondition *c, const sgfs_sampler *sampler,
                                    const sgfsi_precondition_settings *set,
                                    const sgfsi_precondition *shared, sgfs_err *err) {
    if (shared != NULL) {
        *c = *shared;
        c->passes = 0;
        return SGFS_OK;
    }
    *c = (sgfsi_precondition){
        .device = sampler->model->ctx.near, .D = sampler->D, .shape = SGFSI_IDENTITY};
    if (strcmp(set->kind, "file") == 0) return open_file(c, sampler, set->file, err);
    if (strcmp(set->kind, "curvature") != 0) return SGFS_OK;
    double *mode = SGFSI_DOUBLES(sampler->arena, c->D);
    c->R = c->D <= SGFSI_MOST_DENSE ? SGFSI_DOUBLES(sampler->arena, c->D * c->D) : mode;
    if (mode == NULL || c->R == NULL) return sgfsi_fail_memory(err, "the preconditioner");
    c->shape = SGFSI_DENSE;
    sgfs_status status =
        sgfsi_curvature_at_mode(sampler, "--precondition curvature", mode, c->R, &c->passes, err);
    if (status != SGFS_OK || sgfsi_potrf(c->device, c->D, c->R) == 0) return status;
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "--precondition curvature: the curvature at the mode is singular to working "
                      "precision; a stronger prior or --standardize would help.");
}

void sgfsi_precondition_apply(const sgfsi_precondition *c, bool transposed, double *x) {
    if (c->shape == SGFSI_DENSE) sgfsi_trmv(c->device, c->D, c->R, transposed, x);
    if (c->shape != SGFSI_DIAGONAL) return;
    for (int64_t j = 0; j < c->D; j++) x[j] *= c->R[j];
}
