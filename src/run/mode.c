/* SPDX-License-Identifier: MIT
 * mode.c: Fisher scoring with step halving,
 *     theta <- theta + s A^-1 G,   A = expected information + Lambda,
 * and the Gaussian at the mode (Laplace). It shares no code with the samplers beyond scores and
 * curvature.
 */
#include "run/mode.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 100, MOST_HALVINGS = 40 };

typedef struct search {
    double *G, *A, *step, *trial; /* D, D x D, D, D */
    double lp;
    int64_t passes;
} search;

static sgfs_status evaluate(const sgfs_model *m, const double *theta, search *s, sgfs_err *err) {
    s->passes++;
    return sgfsi_posterior_full(m, theta, &s->lp, s->G, s->A, err);
}

/* step = A^-1 G; returns its length in posterior standard deviations, |L^-1 G|, or -1. A becomes L.
 */
static double newton_step(const sgfs_model *m, search *s) {
    if (m->be->potrf(m->D, s->A) != 0) return -1;
    memcpy(s->step, s->G, (size_t)m->D * sizeof *s->step);
    m->be->trsv(m->D, s->A, false, s->step);
    double length = sqrt(m->be->dot(m->D, s->step, s->step));
    m->be->trsv(m->D, s->A, true, s->step);
    return length;
}

/* Move along the step, halving it until the density does not fall. */
static sgfs_status move(const sgfs_model *m, double *theta, search *s, sgfs_err *err) {
    double before = s->lp, size = 1;
    for (int64_t k = 0; k < MOST_HALVINGS; k++, size /= 2) {
        for (int64_t j = 0; j < m->D; j++) s->trial[j] = theta[j] + size * s->step[j];
        sgfs_status status = evaluate(m, s->trial, s, err);
        if (status != SGFS_OK && status != SGFS_ENUMERIC) return status;
        if (status == SGFS_ENUMERIC || s->lp < before - 1e-9 * fabs(before)) continue;
        memcpy(theta, s->trial, (size_t)m->D * sizeof *theta);
        return SGFS_OK;
    }
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "The mode could not be found: no step uphill improves the density.");
}

/* cov = (L L')^-1 from the factor, column by column. */
static void invert(const sgfs_model *m, const double *L, double *cov) {
    memset(cov, 0, (size_t)(m->D * m->D) * sizeof *cov);
    for (int64_t j = 0; j < m->D; j++) {
        double *column = cov + j * m->D; /* symmetric: a row serves as a column */
        column[j] = 1;
        m->be->trsv(m->D, L, false, column);
        m->be->trsv(m->D, L, true, column);
    }
}

static sgfs_status climb(const sgfs_model *m, double *theta, double *cov, search *s,
                         sgfs_err *err) {
    m->kind->start(m, theta, s->trial);
    sgfs_status status = evaluate(m, theta, s, err);
    for (int64_t k = 0; k < MOST_STEPS && status == SGFS_OK; k++) {
        double length = newton_step(m, s);
        if (length < 0) {
            return sgfsi_fail(err, SGFS_ENUMERIC,
                              "The information matrix is singular at the mode; a prior "
                              "(--prior-precision above 0) would make it proper.");
        }
        if (length < 1e-8) {
            invert(m, s->A, cov);
            return SGFS_OK;
        }
        status = move(m, theta, s, err);
    }
    return status != SGFS_OK ? status
                             : sgfsi_fail(err, SGFS_ENUMERIC,
                                          "The mode was not reached in %d steps.", (int)MOST_STEPS);
}

sgfs_status sgfsi_mode_find(const sgfs_model *m, double *theta, double *cov, int64_t *passes,
                            sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    search s = {.G = SGFSI_DOUBLES(&arena, m->D),
                .A = SGFSI_DOUBLES(&arena, m->D * m->D),
                .step = SGFSI_DOUBLES(&arena, m->D),
                .trial = SGFSI_DOUBLES(&arena, m->D)};
    sgfs_status status = s.G != NULL && s.A != NULL && s.step != NULL && s.trial != NULL
                             ? climb(m, theta, cov, &s, err)
                             : sgfsi_fail_memory(err, "the search for the mode");
    sgfsi_arena_free(&arena);
    if (passes != NULL) *passes = s.passes;
    return status;
}
