/* SPDX-License-Identifier: MIT
 * gauss.c: the Gaussian chain (eq. 2 of the paper) for N(theta0, P^-1),
 *
 *     theta += -(eps/2) C P (theta - theta0) + omega,   omega ~ N(0, eps C - eps^2/4 C P C)
 *
 *   theta0   mean        D          P   precision (the paper's I_N)     D x D
 *   C = R R' preconditioner         M = R'P R                           D x D
 *
 * Its stationary law is exactly N(theta0, P^-1) at every step size that leaves the noise a
 * covariance, eps < 4/mu with mu the largest eigenvalue of M. mu is found by bisection on whether
 * 4/eps I - M has a Cholesky factor, so no eigenvalue routine is needed. The chain begins with an
 * independent draw from the law itself and needs no warm-up. One iteration is two products of a
 * D x D matrix with a vector: it sees no rows, and where theta0 and P are those of the posterior's
 * mode it is an oracle for the others and a slow way to draw from the Laplace approximation.
 */
#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "base/number.h"
#include "base/rng.h"
#include "posterior/mode.h"
#include "sampler/precondition.h"

typedef struct settings {
    double epsilon;               /* NaN: half the largest that is possible */
    const char *mean, *precision; /* files; "": the model's own */
    sgfsi_precondition_settings precondition;
} settings;

static const sgfsi_setting setting_list[] = {
    {"sampler.epsilon", offsetof(settings, epsilon), "epsilon", true},
    {"sampler.gauss_mean", offsetof(settings, mean), NULL, false},
    {"sampler.gauss_precision", offsetof(settings, precision), NULL, false},
    SGFSI_PRECONDITION_SETTINGS(settings),
    SGFSI_SETTINGS_END};

typedef struct gauss {
    sgfsi_precondition C;
    double eps;
    double *mean;    /* D */
    double *P;       /* D x D, full */
    double *L;       /* D x D lower, P = L L' */
    double *drift;   /* D x D: (eps/2) C P */
    double *F;       /* D x D lower: factor of the noise's covariance */
    double *gap, *z; /* D each */
} gauss;

static const sgfs_option options[] = {
    {"sampler.epsilon", "epsilon", SGFS_NUMBER, "auto", 1e-300, 1e300, NULL,
     "step size (auto: half the largest that is possible)"},
    {"sampler.gauss_mean", "gauss-mean", SGFS_FILE, "", 1, 0, NULL,
     "D numbers, .npy or text: the mean (default: the mode)"},
    {"sampler.gauss_precision", "gauss-precision", SGFS_FILE, "", 1, 0, NULL,
     "D x D or D numbers: the precision (default: curvature at the mode)"},
    SGFSI_PRECONDITION_ROWS,
    SGFSI_OPTIONS_END};

static sgfs_status plan_gauss(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    settings *set = plan->settings;
    (void)now;
    sgfsi_plan_lengths(plan, 0, NAN, NAN);
    return sgfsi_precondition_plan(&set->precondition, plan->cfg, err);
}

/* ---- the law --------------------------------------------------------------------------------- */

/* theta0 and P from files, the model's own for what is not given. */
static sgfs_status find_law(gauss *s, sgfs_sampler *sampler, sgfs_err *err) {
    const settings *set = sampler->settings;
    const char *mean = set->mean, *precision = set->precision;
    const sgfs_device *dev = sampler->model->ctx.near;
    int64_t D = sampler->D, passes = 0;
    sgfs_status status = SGFS_OK;
    if (mean[0] == '\0' || precision[0] == '\0') {
        status = sgfsi_curvature_at_mode(sampler, "--sampler gauss", s->mean, s->F, &passes, err);
        if (status == SGFS_OK && sgfsi_potrf(dev, D, s->F) != 0) {
            status = sgfsi_fail(err, SGFS_ENUMERIC,
                                "--sampler gauss: the curvature at the mode is singular to working "
                                "precision; a stronger prior or --standardize would help.");
        }
        if (status == SGFS_OK) sgfsi_invert_factor(dev, D, s->F, s->P);
    }
    sampler->full.rows_touched += passes * sampler->full.N;
    if (status == SGFS_OK && mean[0] != '\0') {
        status = sgfsi_vector_read(s->mean, mean, D, err);
    }
    if (status == SGFS_OK && precision[0] != '\0') {
        sgfsi_matrix m;
        status = sgfsi_matrix_read(&m, precision, D, sampler->arena, err);
        if (status != SGFS_OK) return status;
        memset(s->P, 0, (size_t)(D * D) * sizeof *s->P);
        if (!m.diagonal) memcpy(s->P, m.a, (size_t)(D * D) * sizeof *s->P);
        for (int64_t j = 0; m.diagonal && j < D; j++) s->P[j * D + j] = m.a[j];
    }
    if (status != SGFS_OK) return status;
    memcpy(s->L, s->P, (size_t)(D * D) * sizeof *s->L);
    int64_t failed = sgfsi_potrf(dev, D, s->L);
    if (failed == 0) return SGFS_OK;
    return sgfsi_fail(
        err, SGFS_EDATA,
        "%s: the precision is not positive definite (it fails at row %lld, parameter \"%s\").",
        precision[0] != '\0' ? precision : "--sampler gauss", (long long)failed,
        sampler->model->param[failed - 1]);
}

/* ---- the matrices of a step ------------------------------------------------------------------ */

/* X = X R or X R': every row of X, seen as a column, is multiplied by R' or R. */
static void times_factor(const sgfsi_precondition *c, bool transposed, double *X) {
    for (int64_t i = 0; i < c->D; i++) sgfsi_precondition_apply(c, !transposed, X + i * c->D);
}

/* An upper bound of M's largest eigenvalue, within a relative 1e-6. work: D x D */
static double largest_eigenvalue(const sgfs_device *dev, int64_t D, const double *M, double *work) {
    double low = 0, high = 0;
    for (int64_t i = 0; i < D; i++) {
        double row = 0;
        for (int64_t j = 0; j < D; j++) row += fabs(M[i * D + j]);
        low = fmax(low, M[i * D + i]);
        high = fmax(high, row);
    }
    high *= 1 + 1e-9; /* a diagonal M: low and high are the same number */
    while (high > low * (1 + 1e-6)) {
        double middle = low + (high - low) / 2;
        for (int64_t i = 0; i < D * D; i++) work[i] = -M[i];
        for (int64_t i = 0; i < D; i++) work[i * D + i] += middle;
        if (sgfsi_potrf(dev, D, work) == 0) high = middle; /* middle I - M has a factor */
        else low = middle;
    }
    return high;
}

/* M = R'P R -> the step; drift = eps/2 C P and F F' = eps I - eps^2/4 M. */
static sgfs_status build_step(gauss *s, const sgfs_sampler *sampler, double *M, sgfs_err *err) {
    const sgfs_device *dev = sampler->model->ctx.near;
    int64_t D = sampler->D;
    memcpy(s->drift, s->P, (size_t)(D * D) * sizeof *s->drift);
    times_factor(&s->C, false, s->drift); /* P R */
    memcpy(M, s->drift, (size_t)(D * D) * sizeof *M);
    sgfsi_transpose(dev, D, M); /* R'P */
    times_factor(&s->C, false, M);
    double most = 4 / largest_eigenvalue(dev, D, M, s->F);
    char chosen[SGFSI_NUM_CHARS], limit[SGFSI_NUM_CHARS];
    s->eps = ((const settings *)sampler->settings)->epsilon;
    sgfsi_format_digits(limit, most, 6);
    if (isnan(s->eps)) {
        s->eps = most / 2;
        sgfsi_format_digits(chosen, s->eps, 6);
        sgfsi_say(sampler->log, SGFS_NOTE,
                  "The Gaussian chain takes --epsilon %s, half the largest that is possible.",
                  chosen);
    }
    if (!(s->eps < most)) {
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "--epsilon is too large for the Gaussian chain: its noise would have no covariance. It "
            "must lie below %s with this precision and preconditioner.",
            limit);
    }
    times_factor(&s->C, true, s->drift); /* P R R' = P C */
    sgfsi_transpose(dev, D, s->drift);
    for (int64_t i = 0; i < D * D; i++) {
        s->drift[i] *= s->eps / 2;
        s->F[i] = -s->eps * s->eps / 4 * M[i];
    }
    for (int64_t i = 0; i < D; i++) s->F[i * D + i] += s->eps;
    if (sgfsi_potrf(dev, D, s->F) == 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--epsilon is so close to the largest possible that rounding decides; use a "
                      "slightly smaller one.");
}

/* What all chains share is made by the first. */
static sgfs_status open_first(gauss *s, sgfs_sampler *sampler, sgfs_err *err) {
    int64_t D = sampler->D;
    if (D > SGFSI_MOST_DENSE) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--sampler gauss: at most %d parameters; this model has %lld.",
                          (int)SGFSI_MOST_DENSE, (long long)D);
    }
    double *work;
    if (!SGFSI_ROOM(sampler->arena, D * D, &s->P, &s->L, &s->drift, &s->F, &work) ||
        !SGFSI_ROOM(sampler->arena, D, &s->mean))
        return sgfsi_fail_memory(err, "the sampler");
    sgfs_status status = find_law(s, sampler, err);
    if (status == SGFS_OK)
        status = sgfsi_precondition_open(
            &s->C, sampler, &((const settings *)sampler->settings)->precondition, NULL, err);
    if (status != SGFS_OK) return status;
    sampler->full.rows_touched += s->C.passes * sampler->full.N;
    return build_step(s, sampler, work, err);
}

static sgfs_status open_gauss(sgfs_sampler *sampler, sgfs_err *err) {
    gauss *s = sampler->state = sgfsi_arena_alloc(sampler->arena, 1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the sampler");
    sgfs_status status = SGFS_OK;
    if (sampler->first != NULL) *s = *(const gauss *)sampler->first->state;
    else status = open_first(s, sampler, err);
    bool room = SGFSI_ROOM(sampler->arena, sampler->D, &s->gap, &s->z);
    return status != SGFS_OK || room ? status : sgfsi_fail_memory(err, "the sampler");
}

/* ---- stepping -------------------------------------------------------------------------------- */

static sgfs_status step(sgfs_sampler *sampler, const sgfs_iteration *now, double *theta,
                        double *stats, sgfs_err *err) {
    gauss *s = sampler->state;
    const sgfs_device *dev = sampler->model->ctx.near;
    int64_t D = sampler->D;
    (void)err;
    if (now->t == 1) { /* theta = theta0 + L^-T z */
        sgfsi_sampler_normals(sampler, 0, SGFSI_NOISE, s->z);
        sgfsi_trsv(dev, D, s->L, true, s->z);
        for (int64_t j = 0; j < D; j++) theta[j] = s->mean[j] + s->z[j];
    }
    for (int64_t j = 0; j < D; j++) s->gap[j] = theta[j] - s->mean[j];
    sgfsi_sampler_normals(sampler, now->t, SGFSI_NOISE, s->z);
    sgfsi_trmv(dev, D, s->F, false, s->z);
    sgfsi_precondition_apply(&s->C, false, s->z);
    sgfsi_gemv(dev, D, D, -1.0, s->drift, s->gap, 1.0, s->z); /* the whole increment */
    sgfsi_axpy(dev, D, 1.0, s->z, theta);
    stats[1] = s->eps;
    if (!now->want_lp) return SGFS_OK;
    sgfsi_axpy(dev, D, 1.0, s->z, s->gap);
    sgfsi_trmv(dev, D, s->L, true, s->gap);
    stats[0] = -0.5 * sgfsi_dot(dev, D, s->gap, s->gap);
    return SGFS_OK;
}

static int advise(const sgfsi_plan *plan, const char *advice[2]) {
    advice[0] = "a smaller --epsilon";
    return isnan(((const settings *)plan->settings)->epsilon) ? 0 : 1;
}

static const char *caution(const sgfsi_plan *plan, const char *fisher) {
    const settings *set = plan->settings;
    (void)fisher;
    bool own = set->mean[0] == '\0' && set->precision[0] == '\0';
    return own ? "The Gaussian chain draws from the Gaussian at the posterior's mode (Laplace), "
                 "not from the posterior itself."
               : "The Gaussian chain draws from the Gaussian it was given: the data are not looked "
                 "at for the draws.";
}

static const char *const stats[] = {SGFSI_STAT_LP, SGFSI_STAT_STEP_SIZE, NULL};

static const char *const tuned[] = {"sampler.epsilon", NULL};

const sgfs_sampler_kind sgfs_sampler_gauss = {
    .name = "gauss",
    .help = "the Gaussian chain of eq. 2: exact for a given Gaussian at every step size",
    .options = options,
    .settings = setting_list,
    .settings_size = sizeof(settings),
    .full_data = true,
    .from_curvature = true,
    .stats = stats,
    .tuned = tuned,
    .plan = plan_gauss,
    .advise = advise,
    .open = open_gauss,
    .step = step,
    .fields = sgfsi_no_fields,
    .caution_at = caution,
};
