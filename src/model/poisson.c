/* SPDX-License-Identifier: MIT
 * poisson.c: Poisson regression of counts, y ~ Poisson(mu), log mu = eta = x'beta + log exposure.
 *
 *     log p(y|x) = y eta - mu - log y!,   g = (y - mu) x,   weight = mu
 *
 * An eta past 709 makes mu infinite, and the gradient with it: the chain is stopped there, with
 * its sentence (scores.c), and nothing is clipped. log y! is read from a table, or from
 * Stirling's series past its end, and only where the density is wanted.
 *
 * Draws from the model find k by inverting the distribution function, from the mode outwards:
 * p(k+1)/p(k) = mu/(k+1). That is exact and takes about sqrt(mu) steps.
 */
#include <math.h>

#include "base/number.h"
#include "model/glm.h"
#include "model/many.h"
#include "model/taylor_remainder.h"

enum { TABLE = 1024 }; /* where the first term left out of Stirling's series is 1e-18 */

typedef struct poisson {
    double log_factorial[TABLE];
} poisson;

/* ---- opening --------------------------------------------------------------------------------- */

static sgfs_status refuse(const sgfs_model *m, int64_t row, double y, sgfs_err *err) {
    char number[SGFSI_NUM_CHARS], where[320];
    const sgfs_data *d = m->data;
    sgfsi_format_num(number, y);
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s of the target \"%s\" is %s; Poisson regression needs counts, 0, "
                      "1, 2, and so on.%s",
                      sgfsi_data_where(d, row, where, sizeof where), d->target.name, number,
                      y > 0 ? " Rates are counts with an --exposure." : "");
}

static bool is_count(double y) {
    return y >= 0 && y == floor(y);
}

/* A packed file lists its values where they are few. Where they are many and so are the rows, which
 * then stand in random order, the first of them and the smallest number have to do; scores() looks
 * at every row that is drawn. */
static sgfs_status check_counts(const sgfs_model *m, sgfs_err *err) {
    enum { BLOCK = 256, ENOUGH = 1 << 20 };
    double y[BLOCK];
    const sgfs_data *d = m->data;
    const double *value, *rows;
    int64_t listed = sgfsi_data_target_list(d, &value, &rows), counts = 0;
    while (counts < listed && is_count(value[counts])) counts++;
    if (listed > 0 && counts == listed) return SGFS_OK;
    bool some = sgfsi_data_is_shuffled(d) && d->N > ENOUGH && d->target.min >= 0;
    int64_t N = some ? ENOUGH : d->N;
    for (int64_t first = 0; d->has_target && d->elsewhere == NULL && first < N; first += BLOCK) {
        int64_t n = N - first < BLOCK ? N - first : BLOCK;
        sgfsi_data_rows_range(d, first, n, NULL, y);
        for (int64_t i = 0; i < n; i++) {
            if (!is_count(y[i])) return refuse(m, first + i, y[i], err);
        }
    }
    return SGFS_OK;
}

static sgfs_status open_poisson(sgfs_model *m, sgfs_err *err) {
    poisson *s = sgfsi_arena_alloc(&m->arena, 1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the model");
    m->state = s;
    m->ratio = "rate ratio";
    m->scratch_per_row = 2;
    m->curvature_scratch_per_row = 1 + sgfsi_glm_scratch(m);
    m->exact_scratch_per_row = 3 + sgfsi_glm_scratch(m);
    long double sum = 0;
    for (int64_t k = 1; k < TABLE; k++) s->log_factorial[k] = (double)(sum += logl((long double)k));
    sgfs_status status = sgfsi_data_refuse_text(m->data, "Poisson regression needs counts", err);
    if (status == SGFS_OK) status = check_counts(m, err);
    if (status == SGFS_OK) status = sgfsi_glm_open(m, 1, err);
    if (status == SGFS_OK) status = sgfsi_glm_name(m, err);
    if (status != SGFS_OK) return status;
    double rate = m->data->target.mean / sgfsi_data_mean_exposure(m->data);
    sgfsi_glm_judge_prior(m, 1.0, rate > 0 ? log(rate) : 0);
    return SGFS_OK;
}

/* ---- scores ---------------------------------------------------------------------------------- */

static double log_factorial(const poisson *s, double y) {
    if (y < TABLE) return s->log_factorial[(int64_t)y];
    double r = 1 / y;
    return y * log(y) - y + 0.5 * log(y) + SGFSI_HALF_LOG_TWO_PI + r * (1.0 / 12 - r * r / 360);
}

static sgfs_status scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          sgfs_scores *s, double *scratch, sgfs_err *err) {
    double *eta = scratch, *mu = scratch + b->n; /* n each */
    int64_t bad = 0, i = 0;
    for (int64_t k = 0; k < b->n; k++) bad += !is_count(b->y[k]);
    if (bad > 0) {
        char number[SGFSI_NUM_CHARS];
        while (is_count(b->y[i])) i++;
        sgfsi_format_num(number, b->y[i]);
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: a row's target \"%s\" is %s; Poisson regression needs counts, 0, 1, "
                          "2, and so on.",
                          m->data->path, m->data->target.name, number);
    }
    sgfsi_glm_predictor(m, theta, b, eta);
    const sgfsi_pointwise p = {.n = b->n,
                               .eta = eta,
                               .y = b->y,
                               .residual = s->block != NULL ? s->block[0].left : NULL,
                               .loglik = s->loglik,
                               .work = mu};
    sgfsi_link_of(m->ctx.device, SGFSI_LOG, &p);
    for (i = 0; s->loglik != NULL && i < b->n; i++)
        s->loglik[i] -= log_factorial(m->state, b->y[i]);
    return SGFS_OK;
}

static void predict(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *out,
                    double *scratch) {
    (void)scratch;
    sgfsi_glm_predictor(m, theta, b, out);
    sgfsi_exp(m->ctx.device, b->n, out, out);
}

static void curvature(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *A,
                      double *scratch) {
    sgfsi_glm_predictor(m, theta, b, scratch);
    sgfsi_exp(m->ctx.device, b->n, scratch, scratch);
    sgfsi_glm_curvature(m, b, scratch, A, scratch + b->n);
}

static void many(const sgfs_model *m, const sgfs_batch *b, const sgfs_places *at) {
    double constant = 0;
    sgfsi_many_link(m, SGFSI_LOG, b, at);
    for (int64_t i = 0; i < b->n; i++)
        constant += (b->weight != NULL ? b->weight[i] : 1) * log_factorial(m->state, b->y[i]);
    for (int64_t k = 0; k < at->count; k++) at->loglik[k] -= constant;
    for (int64_t k = 0; at->centre != NULL && k < at->count; k++) at->minus[k] -= constant;
}

static double constant(const sgfs_model *m, double y) {
    return -log_factorial(m->state, y);
}

static const sgfs_glm_kind glm = {.link = SGFSI_LOG, .constant = constant};

/* ---- exact draws ----------------------------------------------------------------------------- */

/* l''' = -mu: exp(s |z|) times that at the anchor at most, s = sqrt(x'C x), without an end. */
static void bound_third(const sgfs_model *m, const double *anchor, const double *C, double radius,
                        const sgfs_batch *b, double *third, double *growth, double *scratch) {
    double *eta = scratch, *room = scratch + b->n;
    sgfsi_glm_predictor(m, anchor, b, eta);
    sgfsi_glm_leverage(m, b, C, third, room);
    for (int64_t i = 0; i < b->n; i++) {
        double s = sqrt(third[i]);
        third[i] = s > 0 ? exp(eta[i] + s * radius) * s * s * s : 0;
        *growth = fmax(*growth, s);
    }
}

/* -mu (e^u - 1 - u - u^2/2). A mean too large for a number: -infinity, a density of 0. */
static double remainder_at(double eta, double u) {
    double mean = exp(eta + u);
    if (isinf(mean)) return -INFINITY;
    if (fabs(u) < 1) return -exp(eta) * sgfsi_exp_tail(u);
    return exp(eta) * (1 + u + 0.5 * u * u) - mean;
}

/* The target's part is linear and cancels. `from` has a density: only `to` can be infinite. */
static void remainders(const sgfs_model *m, const double *anchor, const double *from,
                       const double *to, const sgfs_batch *b, double *out, double *scratch) {
    double *eta = scratch, *one = eta + b->n, *two = one + b->n, *room = two + b->n;
    sgfsi_glm_predictor(m, anchor, b, eta);
    sgfsi_glm_changes(m, anchor, from, b, one, room);
    sgfsi_glm_changes(m, anchor, to, b, two, room);
    for (int64_t i = 0; i < b->n; i++) {
        double there = remainder_at(eta[i], two[i]);
        out[i] = isinf(there) ? there : there - remainder_at(eta[i], one[i]);
    }
}

/* ---- draws ----------------------------------------------------------------------------------- */

/* p(k) at the mode, k = floor(mu). Past the table the large terms are taken together before they
 * are made: with d = mu - k < 1, log p = k log(1 + d/k) - d - log(2 pi k)/2 - 1/(12 k). */
static double at_mode(const poisson *s, double mu, double k) {
    double d = mu - k;
    if (k == 0) return exp(-mu);
    if (k < TABLE) return exp(k * log(mu) - mu - log_factorial(s, k));
    return exp(k * log1p(d / k) - d - 0.5 * log(k) - SGFSI_HALF_LOG_TWO_PI - 1 / (12 * k));
}

/* Quantiles of Cornish and Fisher to the order 1/sd, in whole numbers: skewness 1/sd, excess
 * 1/sd^2, and -z/(24 sd) because rounding adds 1/12 to the variance. The distribution function is
 * off by 8e-12 at mu = 1e6 and by 2e-13 at 1e7 (found with 30 digits): as exact as the search. */
static double draw_large(double mu, double z) {
    double sd = sqrt(mu);
    return floor(mu + sd * z + (z * z - 1) / 6 - (z * z + 2) * z / (72 * sd) + 0.5);
}

/* The probabilities are taken off u from the mode outwards until nothing is left of it. */
static double draw(const poisson *s, double mu, double z, double u) {
    const double most_searched = 1e6, none = 1e-25;
    if (!(mu < most_searched)) return draw_large(mu, z);
    double low = floor(mu), high = low, below = at_mode(s, mu, low), above = below;
    u -= below;
    if (u < 0) return low;
    do {
        above *= mu / ++high;
        u -= above;
        if (u < 0) return high;
        below *= low-- / mu;
        u -= below;
        if (u < 0) return low;
    } while (above + below > none);
    return high; /* rounding has left something of u: once in 1e12 draws */
}

static void resample(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                     const double *normal, const double *uniform, double *y) {
    sgfsi_glm_predictor(m, theta, b, y);
    sgfsi_exp(m->ctx.device, b->n, y, y);
    for (int64_t i = 0; i < b->n; i++) y[i] = draw(m->state, y[i], normal[i], uniform[i]);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The mean count, of one unit of exposure; chains are spread so that the predictors, like those of
 * a linear model, are off by about the noise of one row, 1/sqrt(mean) on the scale of logs. */
static void start(const sgfs_model *m, double *theta, double *spread) {
    double mean = fmax(m->data->target.mean, 0.5 / (double)m->data->N);
    sgfsi_glm_start(m, theta, spread);
    for (int64_t j = 0; j < m->D; j++) spread[j] /= sqrt(fmax(1, mean));
    if (m->data->intercept) theta[0] = log(mean / sgfsi_data_mean_exposure(m->data));
}

const sgfs_model_kind sgfs_model_poisson = {
    .name = "poisson",
    .help = "Poisson regression of counts, log link, with or without an exposure",
    .options = sgfsi_no_options,
    .sparse = true,
    .by_predictor = true,
    .exposure = true,
    .regression = true,
    .one_mode = true,
    .far = true,
    .open = open_poisson,
    .scores = scores,
    .predict = predict,
    .allows = is_count,
    .curvature = curvature,
    .third = bound_third,
    .remainder = remainders,
    .resample = resample,
    .many = many,
    .many_scratch = sgfsi_many_scratch,
    .glm = &glm,
    .start = start,
    .to_user = sgfsi_glm_to_user,
    .from_user = sgfsi_glm_from_user,
};
