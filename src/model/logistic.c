/* SPDX-License-Identifier: MIT
 * logistic.c: logistic regression, p(y = 1 | x) = sigmoid(eta), eta = x'beta.
 *
 *     log p(y|x) = y eta - softplus(eta),   g = (y - sigmoid(eta)) x,   weight = p (1 - p)
 *
 * sigmoid and softplus share one exp of -|eta|, so nothing overflows. The target has two values of
 * any kind (0/1, -1/1, two texts); the second one, in the order of labels.h, counts as 1.
 */
#include <math.h>
#include <string.h>

#include "model/glm.h"

static sgfs_status open_logistic(sgfs_model *m, sgfs_err *err) {
    m->outputs = 2;
    m->scratch_per_row = 2;
    m->curvature_scratch_per_row = 2 + sgfsi_glm_scratch(m);
    m->exact_scratch_per_row = 3 + sgfsi_glm_scratch(m);
    sgfs_status status = sgfsi_glm_open(m, err);
    if (status == SGFS_OK) status = sgfsi_glm_name(m, err);
    if (status == SGFS_OK) status = sgfsi_labels_open(m, 2, err);
    if (status == SGFS_OK) sgfsi_glm_judge_prior(m, 1.0, 0.0);
    return status;
}

/* ---- scores ---------------------------------------------------------------------------------- */

static sgfs_status scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          sgfs_scores *s, double *scratch, sgfs_err *err) {
    (void)err;
    const double *restrict target = b->y, one = m->labels.value[1];
    double *restrict residual = s->block != NULL ? s->block[0].left : NULL;
    double *eta = scratch, *e = scratch + b->n; /* n each */
    sgfsi_glm_predictor(m, theta, b, eta);
    sgfsi_half_exp(m, b->n, eta, e);
    for (int64_t i = 0; residual != NULL && i < b->n; i++) {
        double y = target[i] == one ? 1.0 : 0.0;
        residual[i] = y - (eta[i] >= 0 ? 1.0 : e[i]) / (1.0 + e[i]);
    }
    if (s->loglik == NULL) return SGFS_OK;
    m->be->log1p(b->n, e, e);
    for (int64_t i = 0; i < b->n; i++) {
        double y = target[i] == one ? 1.0 : 0.0; /* fmax would be a call */
        s->loglik[i] = y * eta[i] - ((eta[i] > 0 ? eta[i] : 0) + e[i]);
    }
    return SGFS_OK;
}

static void predict(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *out,
                    double *scratch) {
    double *eta = scratch, *e = scratch + b->n;
    sgfsi_glm_predictor(m, theta, b, eta);
    sgfsi_half_exp(m, b->n, eta, e);
    for (int64_t i = 0; i < b->n; i++) {
        double less = e[i] / (1 + e[i]), more = 1 / (1 + e[i]);
        out[2 * i] = eta[i] >= 0 ? less : more;
        out[2 * i + 1] = eta[i] >= 0 ? more : less;
    }
}

static void curvature(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *A,
                      double *scratch) {
    double *eta = scratch, *e = scratch + b->n, *rows = scratch + 2 * b->n;
    sgfsi_glm_predictor(m, theta, b, eta);
    sgfsi_half_exp(m, b->n, eta, e);
    for (int64_t i = 0; i < b->n; i++) eta[i] = e[i] / ((1 + e[i]) * (1 + e[i]));
    sgfsi_glm_curvature(m, b, eta, A, rows);
}

/* ---- exact draws ----------------------------------------------------------------------------- */

/* |d^3/deta^3 log p| = |p (1 - p) (1 - 2p)| <= 1/(6 sqrt 3), and eta moves by sqrt(x'C x) at most. */
static void third(const sgfs_model *m, const double *anchor, const double *C, double radius,
                  const sgfs_batch *b, double *third, double *growth, double *scratch) {
    const double most = 0.096225044864937627;
    (void)anchor, (void)radius, (void)growth;
    sgfsi_glm_leverage(m, b, C, third, scratch);
    for (int64_t i = 0; i < b->n; i++) third[i] = most * third[i] * sqrt(third[i]);
}

/* r = l(eta* + u) - l(eta*) - l'(eta*) u - l''(eta*) u^2/2: the target's part is linear and cancels;
 * what is left is minus that of softplus. Where u is small the differences would cancel: there
 *     r = -(u^3/2) integral_0^1 (1 - t)^2 s(eta* + t u) dt,   s the third derivative of
 * softplus, p (1 - p)(1 - 2p),
 * by three nodes of the Gauss rule for that weight. */
static double softplus(double eta) {
    return (eta > 0 ? eta : 0) + log1p(exp(-fabs(eta)));
}

static double softplus_third(double eta) {
    double e = exp(-fabs(eta)), w = e / ((1 + e) * (1 + e)), odd = (1 - e) / (1 + e);
    return eta > 0 ? -w * odd : w * odd;
}

static double remainder_at(double eta, double u) {
    /* nodes and weights of the Gauss-Jacobi rule of weight (1 - t)^2 on [0, 1] */
    static const double node[] = {0.072994024073149732, 0.347003766038351863, 0.705002209888498405};
    static const double weight[] = {0.157136361064886620, 0.146246269259866024,
                                    0.029950703008580689};
    if (fabs(u) > 0.05) {
        double e = exp(-fabs(eta)), w = e / ((1 + e) * (1 + e)), p = (eta >= 0 ? 1 : e) / (1 + e);
        return softplus(eta) + p * u + 0.5 * w * u * u - softplus(eta + u);
    }
    double sum = 0;
    for (int k = 0; k < 3; k++) sum += weight[k] * softplus_third(eta + node[k] * u);
    return -0.5 * u * u * u * sum;
}

static void remainder_(const sgfs_model *m, const double *anchor, const double *from,
                       const double *to, const sgfs_batch *b, double *out, double *scratch) {
    double *eta = scratch, *one = scratch + b->n, *two = scratch + 2 * b->n;
    sgfsi_glm_predictor(m, anchor, b, eta);
    sgfsi_glm_predictor(m, from, b, one);
    sgfsi_glm_predictor(m, to, b, two);
    for (int64_t i = 0; i < b->n; i++)
        out[i] = remainder_at(eta[i], two[i] - eta[i]) - remainder_at(eta[i], one[i] - eta[i]);
}

static void resample(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                     const double *normal, const double *uniform, double *y) {
    const double *label = m->labels.value;
    (void)normal;
    sgfsi_glm_predictor(m, theta, b, y);
    for (int64_t i = 0; i < b->n; i++)
        y[i] = uniform[i] < 1 / (1 + exp(-y[i])) ? label[1] : label[0];
}

static void start(const sgfs_model *m, double *theta, double *spread) {
    memset(theta, 0, (size_t)m->D * sizeof *theta);
    sgfsi_glm_spread(m, spread);
}

static void to_user(const sgfs_model *m, const double *theta, double *user) {
    sgfsi_glm_to_user(m, theta, 1.0, user);
}

const sgfs_model_kind sgfs_model_logistic = {
    .name = "logistic",
    .help = "logistic regression, two classes of any name",
    .options = sgfsi_no_options,
    .one_mode = true,
    .sparse = true,
    .open = open_logistic,
    .scores = scores,
    .predict = predict,
    .curvature = curvature,
    .third = third,
    .remainder = remainder_,
    .resample = resample,
    .start = start,
    .to_user = to_user,
};
