/* SPDX-License-Identifier: MIT
 * logistic.c: logistic regression, p(y = 1 | x) = sigmoid(eta), eta = x'beta.
 *
 *     log p(y|x) = y eta - softplus(eta),   g = (y - sigmoid(eta)) x,   weight = p (1 - p)
 *
 * sigmoid and softplus share one exp of -|eta|, so nothing overflows. The target has two values of
 * any kind (0/1, -1/1, two texts); the larger one, in the order of numbers or of the alphabet,
 * counts as 1.
 */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "model/glm.h"

typedef struct logistic {
    double zero, one; /* the target values that count as 0 and 1 */
} logistic;

/* ---- labels ---------------------------------------------------------------------------------- */

static const char *label_text(const sgfs_data *d, double value, char room[SGFSI_NUM_CHARS]) {
    bool is_text = d->target_col >= 0 && d->target_col == d->table.text_col;
    if (is_text) return d->table.level[(int64_t)value];
    sgfsi_format_num(room, value);
    return room;
}

/* The mean of the target, two values, tells how many rows have the rarer one. */
static void count_events(sgfs_model *m, const logistic *s) {
    double share = (m->data->target.mean - s->zero) / (s->one - s->zero);
    m->events = (double)m->data->N * fmin(share, 1 - share);
}

static sgfs_status find_labels(sgfs_model *m, logistic *s, sgfs_err *err) {
    const sgfs_data *d = m->data;
    double value[4];
    char room[3][SGFSI_NUM_CHARS];
    int64_t found = sgfsi_data_target_values(d, 3, value);
    if (found > 2) {
        return sgfsi_fail(
            err, SGFS_EDATA,
            "%s: the target \"%s\" has more than two values (%.40s, %.40s, %.40s%s); logistic "
            "regression needs two (is --target the right column?).",
            d->path, d->target.name, label_text(d, value[0], room[0]),
            label_text(d, value[1], room[1]), label_text(d, value[2], room[2]),
            found > 3 ? ", ..." : "");
    }
    const char *zero = label_text(d, value[0], room[0]);
    if (found == 1) {
        return sgfsi_fail(
            err, SGFS_EDATA,
            "%s: every row of the target \"%s\" is %s; logistic regression needs two classes.",
            d->path, d->target.name, zero);
    }
    const char *one = label_text(d, value[1], room[1]);
    bool is_text = d->target_col >= 0 && d->target_col == d->table.text_col;
    if (is_text && strcmp(zero, one) > 0) { /* levels are in order of appearance: sort them */
        const char *swap = zero;
        double swapped = value[0];
        zero = one;
        one = swap;
        value[0] = value[1];
        value[1] = swapped;
    }
    s->zero = value[0];
    s->one = value[1];
    count_events(m, s);
    sgfsi_json *labels = sgfsi_json_array();
    sgfsi_json_text(labels, NULL, zero);
    sgfsi_json_text(labels, NULL, one);
    sgfsi_json_put(m->extra, "labels", labels);
    if (strcmp(zero, "0") != 0 || strcmp(one, "1") != 0) {
        sgfsi_say(sgfsi_config_log(m->cfg), SGFS_NOTE, "Target \"%s\": %s counts as 0, %s as 1.",
                  d->target.name, zero, one);
    }
    return SGFS_OK;
}

static sgfs_status open_logistic(sgfs_model *m, sgfs_err *err) {
    logistic *s = sgfsi_arena_alloc(&m->arena, 1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the model");
    m->state = s;
    m->scratch_per_row = m->data->p + 2;
    sgfs_status status = sgfsi_glm_open(m, err);
    if (status == SGFS_OK) status = sgfsi_glm_name(m, err);
    if (status == SGFS_OK) status = find_labels(m, s, err);
    if (status == SGFS_OK) sgfsi_glm_judge_prior(m, 1.0, 0.0);
    return status;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* e = exp(-|eta|) */
static void half_exp(const sgfs_model *m, int64_t n, const double *eta, double *e) {
    for (int64_t i = 0; i < n; i++) e[i] = -fabs(eta[i]);
    m->be->exp(n, e, e);
}

static sgfs_status scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          sgfs_scores *s, double *scratch, sgfs_err *err) {
    (void)err;
    const logistic *state = m->state;
    double *residual = s->block[0].left, *eta = scratch, *e = scratch + b->n; /* n each */
    sgfsi_glm_predictor(m, theta, b, eta);
    half_exp(m, b->n, eta, e);
    for (int64_t i = 0; i < b->n; i++) {
        double y = b->y[i] == state->one ? 1.0 : 0.0;
        residual[i] = y - (eta[i] >= 0 ? 1.0 : e[i]) / (1.0 + e[i]);
    }
    if (!s->want_loglik) return SGFS_OK;
    double sum = 0;
    m->be->log1p(b->n, e, e);
    for (int64_t i = 0; i < b->n; i++) {
        double y = b->y[i] == state->one ? 1.0 : 0.0;
        sum += y * eta[i] - ((eta[i] > 0 ? eta[i] : 0) + e[i]); /* fmax would be a call */
    }
    s->loglik = sum;
    return SGFS_OK;
}

static void row_loglik(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *out,
                       double *scratch) {
    const logistic *state = m->state;
    double *eta = out, *e = scratch; /* n each */
    sgfsi_glm_predictor(m, theta, b, eta);
    half_exp(m, b->n, eta, e);
    m->be->log1p(b->n, e, e);
    for (int64_t i = 0; i < b->n; i++) {
        double y = b->y[i] == state->one ? 1.0 : 0.0;
        out[i] = y * eta[i] - (fmax(eta[i], 0) + e[i]);
    }
}

static void curvature(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *A,
                      double *scratch) {
    double *eta = scratch, *e = scratch + b->n, *rows = scratch + 2 * b->n;
    sgfsi_glm_predictor(m, theta, b, eta);
    half_exp(m, b->n, eta, e);
    for (int64_t i = 0; i < b->n; i++) eta[i] = e[i] / ((1 + e[i]) * (1 + e[i]));
    sgfsi_glm_curvature(m, b, eta, A, rows);
}

static void resample(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                     const double *normal, const double *uniform, double *y) {
    const logistic *s = m->state;
    (void)normal;
    sgfsi_glm_predictor(m, theta, b, y);
    for (int64_t i = 0; i < b->n; i++) y[i] = uniform[i] < 1 / (1 + exp(-y[i])) ? s->one : s->zero;
}

static void start(const sgfs_model *m, double *theta, double *spread) {
    memset(theta, 0, (size_t)m->D * sizeof *theta);
    sgfsi_glm_spread(m, spread);
}

static void to_user(const sgfs_model *m, const double *theta, double *user) {
    sgfsi_glm_to_user(m, theta, 1.0, user);
}

static double simulate(double eta, double noise, double normal, double uniform) {
    (void)noise;
    (void)normal;
    return uniform < 1 / (1 + exp(-eta)) ? 1.0 : 0.0;
}

const sgfs_model_kind sgfs_model_logistic = {
    .name = "logistic",
    .help = "logistic regression, two classes of any name",
    .options = sgfsi_no_options,
    .open = open_logistic,
    .scores = scores,
    .row_loglik = row_loglik,
    .curvature = curvature,
    .resample = resample,
    .start = start,
    .to_user = to_user,
    .simulate = simulate,
};
