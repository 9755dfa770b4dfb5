/* SPDX-License-Identifier: MIT
 * mode.c: Fisher scoring with step halving,
 *     theta <- theta + s A^-1 G,   A = expected information + Lambda,
 * and the Gaussian at the mode (Laplace). It shares no code with the samplers beyond scores and
 * curvature.
 */
#include "model/mode.h"

#include <math.h>
#include <string.h>

#include "base/ticker.h"

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

static sgfs_status open_search(search *s, const sgfs_model *m, sgfsi_arena *arena, sgfs_err *err) {
    *s = (search){.G = SGFSI_DOUBLES(arena, m->D),
                  .A = SGFSI_DOUBLES(arena, m->D * m->D),
                  .step = SGFSI_DOUBLES(arena, m->D),
                  .trial = SGFSI_DOUBLES(arena, m->D)};
    bool room = s->G != NULL && s->A != NULL && s->step != NULL && s->trial != NULL;
    return room ? SGFS_OK : sgfsi_fail_memory(err, "the search for the mode");
}

sgfs_status sgfsi_mode_find(const sgfs_model *m, double *theta, double *cov, int64_t *passes,
                            sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    search s;
    sgfs_status status = open_search(&s, m, &arena, err);
    if (status == SGFS_OK) status = climb(m, theta, cov, &s, err);
    sgfsi_arena_free(&arena);
    if (passes != NULL) *passes = s.passes;
    return status;
}

/* log det A at theta; A: D x D workspace. */
static sgfs_status log_det(const sgfs_model *m, const double *theta, search *s, double *out,
                           sgfs_err *err) {
    sgfs_status status = evaluate(m, theta, s, err);
    if (status != SGFS_OK) return status;
    if (m->be->potrf(m->D, s->A) != 0) {
        return sgfsi_fail(err, SGFS_ENUMERIC, "The information matrix is singular near the mode.");
    }
    *out = 0;
    for (int64_t j = 0; j < m->D; j++) *out += 2 * log(s->A[j * m->D + j]);
    return SGFS_OK;
}

static sgfs_status shift_by_curvature(const sgfs_model *m, const double *mode, const double *cov,
                                      double *mean, search *s, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    memcpy(s->trial, mode, (size_t)m->D * sizeof *mode);
    sgfsi_ticker ticker = sgfsi_ticker_start(sgfsi_config_log(m->cfg), "Looking around the mode");
    for (int64_t k = 0; k < m->D && status == SGFS_OK; k++) {
        double high = 0, low = 0, step = 0.1 * sqrt(cov[k * m->D + k]);
        s->trial[k] = mode[k] + step;
        status = log_det(m, s->trial, s, &high, err);
        s->trial[k] = mode[k] - step;
        if (status == SGFS_OK) status = log_det(m, s->trial, s, &low, err);
        s->trial[k] = mode[k];
        sgfsi_tick(&ticker, (double)(k + 1) / (double)m->D);
        if (status == SGFS_OK) s->step[k] = -0.5 * (high - low) / (2 * step);
    }
    for (int64_t i = 0; i < m->D && status == SGFS_OK; i++) {
        mean[i] = mode[i] + m->be->dot(m->D, cov + i * m->D, s->step);
    }
    return status;
}

sgfs_status sgfsi_mode_mean(const sgfs_model *m, const double *mode, const double *cov,
                            double *mean, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    search s;
    sgfs_status status = open_search(&s, m, &arena, err);
    if (status == SGFS_OK) status = shift_by_curvature(m, mode, cov, mean, &s, err);
    sgfsi_arena_free(&arena);
    return status;
}
