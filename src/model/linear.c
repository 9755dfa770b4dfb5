/* SPDX-License-Identifier: MIT
 * linear.c: linear regression, y = x'beta + sigma e, e ~ N(0, 1).
 *
 *     log p(y|x) = -log sigma - r^2/(2 sigma^2) - log(2 pi)/2,  r = y - x'beta
 *     g_beta = (r/sigma^2) x,   g_log_sigma = r^2/sigma^2 - 1
 *
 * sigma is the parameter log_sigma unless --sigma fixes it. beta is a factored block, log_sigma a
 * dense one beside it. With --standardize the target is standardised too, y~ = (y - m)/s, because a
 * prior of unit scale is meant for numbers of unit scale; draws go back to the user's scale by
 *     beta = s beta~ (as in glm.c),  intercept += m,  log_sigma = log_sigma~ + log s.
 */
#include <math.h>
#include <string.h>

#include "model/glm.h"
#include "model/linear.h"
#include "model/taylor_remainder.h"

typedef struct linear {
    bool known;          /* sigma is given */
    double log_sigma;    /* when known, on the chain's scale */
    double y_mean, y_sd; /* (0, 1) unless standardised */
} linear;

static sgfs_status open_linear(sgfs_model *m, sgfs_err *err) {
    linear *s = sgfsi_arena_alloc(&m->arena, 1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the model");
    m->state = s;
    m->scratch_per_row = 1;
    m->curvature_scratch_per_row = 2 + sgfsi_glm_scratch(m); /* a column more: log_sigma */
    sgfs_status status = sgfsi_glm_check_numbers(m, "linear regression needs numbers", err);
    if (status == SGFS_OK) status = sgfsi_glm_open(m, 1, err);
    if (status != SGFS_OK) return status;
    const sgfsi_column *y = &m->data->target;
    bool standardized = m->data->scale != NULL;
    s->y_mean = standardized && m->data->intercept ? y->mean : 0;
    s->y_sd = standardized && y->sd > 0 ? y->sd : 1;
    sgfsi_glm_judge_prior(m, y->sd, y->mean);
    s->known = !sgfsi_config_auto(m->cfg, "model.sigma");
    if (s->known) {
        s->log_sigma = log(sgfsi_config_num(m->cfg, "model.sigma") / s->y_sd);
    } else if (sgfsi_model_add_block(m, "log_sigma", 1, 1, SGFS_SCORE_DENSE) == NULL) {
        return sgfsi_fail_memory(err, "the model");
    }
    sgfsi_json_num(m->saved, "y_mean", s->y_mean);
    sgfsi_json_num(m->saved, "y_sd", s->y_sd);
    return sgfsi_glm_name(m, err);
}

bool sgfsi_is_linear(const sgfs_model *m) {
    return m->kind->user == NULL && strcmp(m->kind->name, sgfs_model_linear.name) == 0;
}

double sgfsi_linear_known_log_sigma(const sgfs_model *m) {
    const linear *s = m->state;
    return s->known ? s->log_sigma : NAN;
}

double sgfsi_linear_unit(const sgfs_model *m) {
    return ((const linear *)m->state)->y_sd;
}

static double log_sigma_of(const sgfs_model *m, const double *theta) {
    const linear *s = m->state;
    return s->known ? s->log_sigma : theta[m->D - 1];
}

static sgfs_status scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          sgfs_scores *s, double *scratch, sgfs_err *err) {
    (void)err;
    const linear *state = m->state;
    double *left = s->block != NULL ? s->block[0].left : scratch,
           log_sigma = log_sigma_of(m, theta);
    double *dense = s->block != NULL && !state->known ? s->block[1].dense : NULL,
           *spread = dense != NULL && b->room != NULL ? scratch : dense;
    double weight = exp(-2 * log_sigma), inverse = 1 / state->y_sd;
    double constant = log_sigma + SGFSI_HALF_LOG_TWO_PI;
    sgfsi_glm_predictor(m, theta, b, left);
    for (int64_t i = 0; i < b->n; i++) {
        double r = (b->y[i] - state->y_mean) * inverse - left[i];
        left[i] = weight * r;
        if (spread != NULL) spread[i] = weight * r * r - 1;
        if (s->loglik != NULL) s->loglik[i] = -0.5 * weight * r * r - constant;
    }
    if (spread != dense) sgfsi_put(m->ctx.device, b->n, spread, dense);
    return SGFS_OK;
}

static void predict(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *out,
                    double *scratch) {
    const linear *s = m->state;
    (void)scratch;
    sgfsi_glm_predictor(m, theta, b, out);
    for (int64_t i = 0; i < b->n; i++) out[i] = s->y_mean + s->y_sd * out[i];
}

/* E[g g']: X'X / sigma^2 for beta, 2 for each row for log_sigma, nothing between them. */
static void curvature(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *A,
                      double *scratch) {
    const linear *s = m->state;
    double weight = exp(-2 * log_sigma_of(m, theta));
    double rows = 0;
    for (int64_t i = 0; i < b->n; i++) {
        scratch[i] = weight;
        rows += b->weight != NULL ? b->weight[i] : 1;
    }
    sgfsi_glm_curvature(m, b, scratch, A, scratch + b->n);
    if (!s->known) A[m->D * m->D - 1] += 2 * rows;
}

/* ---- all rows on a device -------------------------------------------------------------------- */

static double target(const sgfs_model *m, double y) {
    const linear *s = m->state;
    return (y - s->y_mean) / s->y_sd;
}

/* The link's sums are those of sigma = 1: S = -RSS/2, X'r and X'X. */
static void finish(const sgfs_model *m, const double *theta, double rows, double *loglik, double *G,
                   double *info) {
    const linear *s = m->state;
    int64_t p = m->data->p, D = m->D;
    double log_sigma = log_sigma_of(m, theta), weight = exp(-2 * log_sigma), S = *loglik;
    *loglik = weight * S - rows * (log_sigma + SGFSI_HALF_LOG_TWO_PI);
    for (int64_t j = 0; G != NULL && j < p; j++) G[j] *= weight;
    for (int64_t i = 0; info != NULL && i < p * D; i++) info[i] *= weight;
    if (G != NULL && !s->known) G[p] = -2 * weight * S - rows;
    if (info != NULL && !s->known) info[D * D - 1] = 2 * rows;
}

static const sgfs_glm_kind glm = {.link = SGFSI_LINEAR, .target = target, .finish = finish};

/* ---- exact draws ----------------------------------------------------------------------------- */

/* With d the change of beta, delta that of log_sigma, a = exp(-2 delta), and r, sigma and RSS = r'r
 * those of the anchor: all rows together change by
 *     -N delta - (a Q - RSS)/(2 sigma^2),   Q = RSS - 2 d'X'r + d'X'X d
 *     =  a (G_beta'd - d'info d/2)  -  G_log_sigma (a - 1)/2  -  N (a - 1 + 2 delta)/2
 * because G_beta = X'r/sigma^2, G_log_sigma = RSS/sigma^2 - N, and info has X'X/sigma^2 and 2 N on
 * its diagonal. Weights are in all of them. */
static double whole(const sgfs_model *m, const sgfs_expansion *at, const double *theta) {
    const linear *s = m->state;
    int64_t p = m->data->p, D = m->D;
    double slope = 0, square = 0;
    for (int64_t j = 0; j < p; j++) {
        double d = theta[j] - at->theta[j], sum = 0;
        for (int64_t k = 0; k < p; k++) sum += at->info[j * D + k] * (theta[k] - at->theta[k]);
        slope += at->G[j] * d;
        square += sum * d;
    }
    if (s->known) return slope - 0.5 * square;
    double v = -2 * (theta[p] - at->theta[p]), a = exp(v), N = 0.5 * at->info[D * D - 1];
    if (isinf(a)) return -INFINITY; /* sigma is 0 */
    return a * (slope - 0.5 * square) - 0.5 * at->G[p] * expm1(v) -
           0.5 * N * (0.5 * v * v + sgfsi_exp_tail(v));
}

static void resample(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                     const double *normal, const double *uniform, double *y) {
    const linear *s = m->state;
    double sigma = exp(log_sigma_of(m, theta));
    (void)uniform;
    sgfsi_glm_predictor(m, theta, b, y);
    for (int64_t i = 0; i < b->n; i++) y[i] = s->y_mean + s->y_sd * (y[i] + sigma * normal[i]);
}

/* The mean and the spread of the target: from there a step of Fisher scoring is never wild,
 * whatever the target's units are. */
static void start(const sgfs_model *m, double *theta, double *spread) {
    const linear *s = m->state;
    const sgfsi_column *y = &m->data->target;
    double sd = y->sd > 0 ? y->sd / s->y_sd : 1;
    sgfsi_glm_start(m, theta, spread);
    for (int64_t j = 0; j < m->data->p; j++) spread[j] *= sd;
    if (m->data->intercept) theta[0] = (y->mean - s->y_mean) / s->y_sd;
    if (s->known) return;
    theta[m->D - 1] = log(sd);
    spread[m->D - 1] = 1;
}

static void to_user(const sgfs_model *m, const double *theta, double *user) {
    const linear *s = m->state;
    sgfsi_glm_to_user(m, theta, user);
    for (int64_t j = 0; j < m->data->p; j++) user[j] *= s->y_sd;
    if (m->data->intercept) user[0] += s->y_mean;
    if (!s->known) user[m->D - 1] = theta[m->D - 1] + log(s->y_sd);
}

static void from_user(const sgfs_model *m, const double *user, double *theta) {
    const linear *s = m->state;
    for (int64_t j = 0; j < m->data->p; j++) theta[j] = user[j] / s->y_sd;
    sgfsi_glm_from_user(m, theta, theta);
    if (m->data->intercept) theta[0] -= s->y_mean / s->y_sd;
    if (!s->known) theta[m->D - 1] = user[m->D - 1] - log(s->y_sd);
}

static const sgfs_option options[] = {
    {"model.sigma", "sigma", SGFS_NUMBER, "auto", 1e-300, 1e300, NULL,
     "known noise standard deviation (default: unknown, sampled as log_sigma)"},
    SGFSI_OPTIONS_END};

const sgfs_model_kind sgfs_model_linear = {
    .name = "linear",
    .help = "linear regression with Gaussian noise of unknown (or given) size",
    .options = options,
    .regression = true,
    .one_mode = true,
    .far = true,
    .sparse = true,
    .by_predictor = true,
    .open = open_linear,
    .scores = scores,
    .predict = predict,
    .curvature = curvature,
    .whole = whole,
    .resample = resample,
    .start = start,
    .glm = &glm,
    .to_user = to_user,
    .from_user = from_user,
};
