/* SPDX-License-Identifier: MIT
 * logistic.c: logistic regression, p(y = 1 | x) = sigmoid(eta), eta = x'beta.
 *
 *     log p(y|x) = y eta - softplus(eta),   g = (y - sigmoid(eta)) x,   weight = p (1 - p)
 *
 * sigmoid and softplus share one exp of -|eta|, so nothing overflows. The target has two values of
 * any kind (0/1, -1/1, two texts); the second one, in the order of labels.h, counts as 1.
 */
#include <math.h>

#include "model/glm.h"
#include "model/many.h"
#include "model/taylor_remainder.h"

static sgfs_status open_logistic(sgfs_model *m, sgfs_err *err) {
    m->outputs = 2;
    m->ratio = "odds ratio";
    m->scratch_per_row = 2;
    m->curvature_scratch_per_row = 2 + sgfsi_glm_scratch(m);
    m->exact_scratch_per_row = 3 + sgfsi_glm_scratch(m);
    sgfs_status status = sgfsi_glm_open(m, 1, err);
    if (status == SGFS_OK) status = sgfsi_glm_name(m, err);
    if (status == SGFS_OK) status = sgfsi_labels_open(m, 2, err);
    if (status == SGFS_OK) sgfsi_glm_judge_prior(m, 1.0, sgfsi_labels_odds(m));
    return status;
}

/* ---- scores ---------------------------------------------------------------------------------- */

static sgfs_status scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          sgfs_scores *s, double *scratch, sgfs_err *err) {
    (void)err;
    double *eta = scratch; /* n, and as many of work */
    sgfsi_glm_predictor(m, theta, b, eta);
    const sgfsi_pointwise p = {.n = b->n,
                               .eta = eta,
                               .y = b->y,
                               .one = m->labels.value[1],
                               .residual = s->block != NULL ? s->block[0].left : NULL,
                               .loglik = s->loglik,
                               .work = scratch + b->n};
    sgfsi_link_of(m->ctx.device, SGFSI_LOGIT, &p);
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

static void many(const sgfs_model *m, const sgfs_batch *b, const sgfs_places *at) {
    sgfsi_many_link(m, SGFSI_LOGIT, b, at);
}

static double target(const sgfs_model *m, double y) {
    return y == m->labels.value[1];
}

static const sgfs_glm_kind glm = {.link = SGFSI_LOGIT, .target = target};

/* ---- exact draws ----------------------------------------------------------------------------- */

/* |l'''(eta)| = p (1 - p) |1 - 2p|, l the log density, is 0 at eta = 0, highest at +-peak, and
 * falls like exp(-|eta|) after it. The envelope E(eta) is the smallest function above it with
 * |E'| <= E: |l'''| itself from log 2 on, where the slope of its logarithm is 1, and
 * exp(|eta|)/27 before. */
static const double peak = 1.3169578969248167, highest = 0.096225044864937627; /* 1/(6 sqrt 3) */

static double envelope(double eta) {
    const double log_2 = 0.69314718055994531;
    double e = exp(-fabs(eta)), more = 1 + e;
    if (fabs(eta) < log_2) return 1 / (27 * e);
    return e * (1 - e) / (more * more * more);
}

/* The largest E within `reach` of eta. */
static double highest_near(double eta, double reach) {
    double low = fabs(eta) - reach, high = fabs(eta) + reach;
    if (high < peak) return envelope(high);
    return low > peak ? envelope(low) : highest;
}

/* At z the predictor is within s |z| of that at the anchor, s = sqrt(x'C x), and a third derivative
 * in any direction is |l'''| s^3 at most. As |E'| <= E, it grows like exp(s |z|) at most. */
static void bound_third(const sgfs_model *m, const double *anchor, const double *C, double radius,
                        const sgfs_batch *b, double *third, double *growth, double *scratch) {
    double *eta = scratch, *room = scratch + b->n;
    sgfsi_glm_predictor(m, anchor, b, eta);
    sgfsi_glm_leverage(m, b, C, third, room);
    for (int64_t i = 0; i < b->n; i++) {
        double s = sqrt(third[i]), most = highest_near(eta[i], s * radius);
        third[i] = most * s * s * s;
        if (most < highest) *growth = fmax(*growth, s);
    }
}

/* l = y eta - softplus(eta): the target's part is linear and cancels. */
static void remainders(const sgfs_model *m, const double *anchor, const double *from,
                       const double *to, const sgfs_batch *b, double *out, double *scratch) {
    double *eta = scratch, *one = eta + b->n, *two = one + b->n, *room = two + b->n;
    sgfsi_glm_predictor(m, anchor, b, eta);
    sgfsi_glm_changes(m, anchor, from, b, one, room);
    sgfsi_glm_changes(m, anchor, to, b, two, room);
    for (int64_t i = 0; i < b->n; i++)
        out[i] = sgfsi_coin_tail(eta[i], one[i]) - sgfsi_coin_tail(eta[i], two[i]);
}

static void resample(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                     const double *normal, const double *uniform, double *y) {
    const double *label = m->labels.value;
    (void)normal;
    sgfsi_glm_predictor(m, theta, b, y);
    for (int64_t i = 0; i < b->n; i++)
        y[i] = uniform[i] < 1 / (1 + exp(-y[i])) ? label[1] : label[0];
}

const sgfs_model_kind sgfs_model_logistic = {
    .name = "logistic",
    .help = "logistic regression, two classes of any name",
    .options = sgfsi_no_options,
    .regression = true,
    .one_mode = true,
    .far = true,
    .sparse = true,
    .by_predictor = true,
    .open = open_logistic,
    .scores = scores,
    .predict = predict,
    .curvature = curvature,
    .third = bound_third,
    .remainder = remainders,
    .resample = resample,
    .many = many,
    .many_scratch = sgfsi_many_scratch,
    .glm = &glm,
    .start = sgfsi_glm_start,
    .to_user = sgfsi_glm_to_user,
    .from_user = sgfsi_glm_from_user,
};
