/* SPDX-License-Identifier: MIT
 * readout.c: softmax, logistic and Gaussian targets on top of a network.
 *
 *     softmax    log p = eta_y - max - log sum_k exp(eta_k - max),   delta_k = [k = y] - p_k
 *     logistic   log p = y eta - softplus(eta),                      delta = y - sigmoid(eta)
 *     gaussian   log p = -log sigma - r^2/(2 sigma^2) - log(2 pi)/2, delta = r/sigma^2,
 *                r = (y - y_mean)/y_sd - eta,   g_log_sigma = r^2/sigma^2 - 1
 *
 * One exp for each unit, of numbers that are not positive: nothing overflows. A label that the
 * model does not know has log p = -inf.
 */
#include "model/readout.h"

#include <math.h>
#include <string.h>

#include "model/glm.h"
#include "model/outcomes.h"

/* ---- softmax --------------------------------------------------------------------------------- */

/* Rows of x (n x K) minus their largest number. */
static void lower(int64_t n, int64_t K, double *x) {
    for (int64_t i = 0; i < n; i++, x += K) {
        double most = x[0];
        for (int64_t k = 1; k < K; k++) most = x[k] > most ? x[k] : most;
        for (int64_t k = 0; k < K; k++) x[k] -= most;
    }
}

static double sum_of(int64_t K, const double *x) {
    double sum = 0;
    for (int64_t k = 0; k < K; k++) sum += x[k];
    return sum;
}

static void softmax_score(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          double *eta, double *loglik, double *room) {
    (void)theta;
    for (int64_t i = 0; b->afar == NULL && i < b->n; i++)
        room[i] = (double)sgfsi_labels_class(&m->labels, b->y[i]);
    const sgfsi_classes c = {.n = b->n,
                             .K = m->labels.count,
                             .E = eta,
                             .own = b->afar != NULL ? b->afar->target : room,
                             .loglik = loglik};
    sgfsi_classes_of(m->ctx.device, &c);
}

static void softmax_predict(const sgfs_model *m, int64_t n, const double *eta, double *out) {
    int64_t K = m->labels.count;
    memcpy(out, eta, (size_t)(n * K) * sizeof *out);
    lower(n, K, out);
    sgfsi_exp(m->ctx.device, n * K, out, out);
    for (int64_t i = 0; i < n; i++, out += K) {
        double scale = 1 / sum_of(K, out);
        for (int64_t k = 0; k < K; k++) out[k] *= scale;
    }
}

/* The first label whose cumulated probability exceeds u. */
static void softmax_draw(const sgfs_model *m, const double *theta, int64_t n, double *eta,
                         const double *normal, const double *uniform, double *y) {
    int64_t K = m->labels.count;
    (void)theta;
    (void)normal;
    lower(n, K, eta);
    sgfsi_exp(m->ctx.device, n * K, eta, eta);
    for (int64_t i = 0; i < n; i++, eta += K) {
        double left = uniform[i] * sum_of(K, eta);
        int64_t k = 0;
        while (k < K - 1 && left >= eta[k]) left -= eta[k++];
        y[i] = m->labels.value[k];
    }
}

const sgfsi_readout sgfsi_readout_softmax = {
    "softmax",    SGFSI_MOST_LABELS,    0, softmax_score, softmax_predict,
    softmax_draw, sgfsi_label_curvature};

/* ---- two labels, one unit -------------------------------------------------------------------- */

static void logistic_score(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                           double *eta, double *loglik, double *room) {
    (void)theta;
    sgfsi_half_exp(m, b->n, eta, room);
    for (int64_t i = 0; i < b->n; i++) {
        int64_t class = sgfsi_labels_class(&m->labels, b->y[i]);
        double a = eta[i], e = room[i], y = class == 1 ? 1 : 0;
        eta[i] = y - (a >= 0 ? 1 : e) / (1 + e);
        if (loglik == NULL) continue;
        loglik[i] = class >= 0 ? y * a - ((a > 0 ? a : 0) + log1p(e)) : -INFINITY;
    }
}

static double sigmoid(double a) {
    double e = exp(-fabs(a));
    return (a >= 0 ? 1 : e) / (1 + e);
}

static void logistic_predict(const sgfs_model *m, int64_t n, const double *eta, double *out) {
    (void)m;
    for (int64_t i = 0; i < n; i++) {
        out[2 * i] = sigmoid(-eta[i]);
        out[2 * i + 1] = sigmoid(eta[i]);
    }
}

static void logistic_draw(const sgfs_model *m, const double *theta, int64_t n, double *eta,
                          const double *normal, const double *uniform, double *y) {
    (void)theta;
    (void)normal;
    for (int64_t i = 0; i < n; i++) {
        y[i] = m->labels.value[uniform[i] < sigmoid(eta[i]) ? 1 : 0];
    }
}

const sgfsi_readout sgfsi_readout_logistic = {
    "logistic", 2, 1, logistic_score, logistic_predict, logistic_draw, sgfsi_label_curvature};

/* ---- numbers --------------------------------------------------------------------------------- */

static double log_sigma_of(const sgfs_model *m, const double *theta) {
    const sgfsi_mlp *s = m->state;
    return s->known ? s->log_sigma : theta[m->D - 1];
}

static void gaussian_score(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                           double *eta, double *loglik, double *room) {
    const sgfsi_mlp *s = m->state;
    double log_sigma = log_sigma_of(m, theta), weight = exp(-2 * log_sigma);
    for (int64_t i = 0; i < b->n; i++) {
        double r = (b->y[i] - s->y_mean) / s->y_sd - eta[i];
        eta[i] = weight * r;
        room[i] = weight * r * r - 1;
        if (loglik != NULL) loglik[i] = -0.5 * weight * r * r - log_sigma - SGFSI_HALF_LOG_TWO_PI;
    }
}

static void gaussian_predict(const sgfs_model *m, int64_t n, const double *eta, double *out) {
    const sgfsi_mlp *s = m->state;
    for (int64_t i = 0; i < n; i++) out[i] = s->y_mean + s->y_sd * eta[i];
}

static void gaussian_draw(const sgfs_model *m, const double *theta, int64_t n, double *eta,
                          const double *normal, const double *uniform, double *y) {
    const sgfsi_mlp *s = m->state;
    double sigma = exp(log_sigma_of(m, theta));
    (void)uniform;
    for (int64_t i = 0; i < n; i++) y[i] = s->y_mean + s->y_sd * (eta[i] + sigma * normal[i]);
}

/* The mean goes behind `probability`, where there is room for m->outputs = 1 number a row. */
static void gaussian_outcome(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                             int64_t k, double *y, double *probability, double *scratch) {
    const sgfsi_mlp *s = m->state;
    double *mean = probability + b->n;
    double away = s->y_sd * exp(log_sigma_of(m, theta)) * sgfsi_normal_outcome[k];
    if (k == 0) m->kind->predict(m, theta, b, mean, scratch);
    for (int64_t i = 0; i < b->n; i++) {
        y[i] = mean[i] + away;
        probability[i] = sgfsi_normal_probability[k];
    }
}

static void gaussian_curvature(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                               double *A, double *scratch) {
    sgfsi_outcomes_curvature(m, theta, b, SGFSI_NORMAL_OUTCOMES, gaussian_outcome, A, scratch);
}

const sgfsi_readout sgfsi_readout_gaussian = {
    "gaussian", 0, 1, gaussian_score, gaussian_predict, gaussian_draw, gaussian_curvature};

const sgfsi_readout *sgfsi_readout_find(const char *name) {
    static const sgfsi_readout *const all[] = {&sgfsi_readout_softmax, &sgfsi_readout_logistic,
                                               &sgfsi_readout_gaussian};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        if (strcmp(all[k]->name, name) == 0) return all[k];
    }
    return NULL;
}
