/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the sgfs authors
 *
 * drbm.c: the discriminative restricted Boltzmann machine (Larochelle and Bengio 2008): K classes,
 * H hidden units that are 0 or 1 and are summed out exactly.
 *
 *     a_jk = c_j + W_j x + U_jk                                  unit j, class k
 *     log p(k|x) = l_k - logsumexp(l),   l_k = d_k + sum_j softplus(a_jk)
 *
 * With P_k = p(k|x) and e_k = [k = y] - P_k, the score of one row is
 *
 *     dd_k = e_k,   dU_jk = e_k sigmoid(a_jk),   dc_j = sum_k e_k sigmoid(a_jk),   dW_j = dc_j x
 *
 *   theta = W: H x p, the leading column of x carrying c (a factored block: left = dc, right = x);
 *           U: H x K (dense);  d: K (dense).       D = H p + H K + K
 *
 * Without --intercept there are neither c nor d: no term that is free of the columns.
 *
 * t = exp(-|a|) lies in (0, 1], so nothing overflows, and serves both
 *     sigmoid(a) = (a >= 0 ? 1 : t)/(1 + t)   and   softplus(a) = max(a, 0) + log(1 + t).
 * With a_jk = s_j + U_jk it is a product, t = exp(-s) exp(-U) or exp(s) exp(U), whichever is at
 * most 1, of powers made once for each row and unit and once for each unit and class: n H + H K
 * calls of exp for a batch. Where U is too large for that (|U| > 600, or more than MOST_POWERS
 * numbers), one exp is taken for each row, unit and class: n H K.
 * The logarithms of one class are taken together, sum_j log(1 + t_j) = log(1 + q) with
 * 1 + q = prod_j (1 + t_j); q is carried, not 1 + q, so that units far below zero still count.
 * A row is worked through in tiles of at most 512 units (K >= 2), so q stays below 2^512.
 *
 * Start. All units alike would stay alike for ever: W and U begin at uniform numbers drawn from
 * --seed, W so that W_j x has standard deviation about 1 (uncorrelated columns), U so that
 * sum_j U_jk has; c and d at 0. Chains are spread around it by --init.
 *
 * What the data cannot tell: one number added to all of d; one number added to U_j. and taken from
 * c_j (1 + H directions in all, exactly flat: only the prior holds them); the order of the units;
 * and the mirror image (W_j, c_j, U_j., d) -> (-W_j, -c_j, -U_j., d + U_j.), by softplus(a) =
 * a + softplus(-a). Single weights mean nothing by themselves, predictions do.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/rng.h"
#include "model/glm.h"
#include "model/outcomes.h"
#include "model/prior.h"

enum { TILE = 1024, LANES = 8, MOST_POWERS = 4096, MOST_HIDDEN = 100000, MOST_AUTOMATIC = 100 };
static const double SAFE = 700; /* exp(-+SAFE) is an ordinary number */
_Static_assert((int)TILE >= (int)SGFSI_MOST_LABELS, "the classes of one unit must fit into a tile");

typedef struct drbm {
    int64_t H, K, p; /* units, classes, columns with the leading 1 */
    int64_t U, d;    /* where these blocks begin in theta; d = 0: none */
} drbm;

/* ---- opening --------------------------------------------------------------------------------- */

/* "U[3,smurf]", or "d[smurf]" and "c[3]" with one of the two left out (unit 0, of NULL). */
static void name(sgfs_model *m, int64_t i, const char *block, int64_t unit, const char *of) {
    size_t room = 32 + strlen(block) + (of != NULL ? strlen(of) : 0);
    char *text = sgfsi_arena_alloc(&m->arena, (int64_t)room, 1), number[24] = "";
    if (unit > 0) snprintf(number, sizeof number, "%lld", (long long)unit);
    if (text != NULL) {
        snprintf(text, room, "%s[%s%s%s]", block, number, unit > 0 && of != NULL ? "," : "",
                 of != NULL ? of : "");
    }
    m->param[i] = text;
}

static void caution(sgfs_model *m, const drbm *s) {
    const sgfsi_log *log = sgfsi_config_log(m->cfg);
    sgfsi_warn(m->warnings, log,
               "Hidden units can be exchanged or mirrored without changing any prediction, and "
               "chains may do so differently: single weights have no meaning of their own, and "
               "their R-hat may stay large. Look at predictions.");
    if (s->d > 0 && sgfsi_prior_is_flat(m->cfg)) {
        sgfsi_warn(m->warnings, log,
                   "Without a prior, %lld directions of the weights have no limits (one number "
                   "added to all of d, or moved from c to U of a unit, changes no prediction): "
                   "there is no posterior to draw from, and chains run away along them. Use "
                   "--prior-precision above 0.",
                   (long long)s->H + 1);
    }
    sgfsi_glm_judge_prior(m, 1.0, 0.0);
}

static void name_parameters(sgfs_model *m, const drbm *s) {
    const sgfs_data *data = m->data;
    int64_t first = s->p - data->features;
    for (int64_t j = 0; j < s->H; j++) {
        if (data->intercept) name(m, j * s->p, "c", j + 1, NULL);
        for (int64_t i = 0; i < data->features; i++) {
            name(m, j * s->p + first + i, "W", j + 1, data->feature[i].name);
        }
        for (int64_t k = 0; k < s->K; k++) {
            name(m, s->U + j * s->K + k, "U", j + 1, m->labels.name[k]);
        }
    }
    for (int64_t k = 0; s->d > 0 && k < s->K; k++) name(m, s->d + k, "d", 0, m->labels.name[k]);
}

static sgfs_status open_drbm(sgfs_model *m, sgfs_err *err) {
    drbm *s = sgfsi_arena_alloc(&m->arena, 1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the model");
    m->state = s;
    /* One more than the columns, as in the paper (41 for 40), but not more than MOST_AUTOMATIC. A
     * model that is opened again has as many as it had. */
    const sgfs_data *data = m->data;
    const char *text = sgfsi_config_text(m->cfg, "model.hidden");
    s->H = data->features < MOST_AUTOMATIC ? data->features + 1 : MOST_AUTOMATIC;
    if (m->restored != NULL) s->H = sgfsi_json_get_int(m->restored, "hidden", s->H);
    else if (!sgfsi_config_auto(m->cfg, "model.hidden") &&
             (!sgfsi_text_int(text, &s->H) || s->H < 1 || s->H > MOST_HIDDEN)) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--hidden %.60s: model drbm has one layer of hidden units and takes one "
                          "whole number from 1 to %d, for example --hidden 41.",
                          text, MOST_HIDDEN);
    }
    sgfs_status status = sgfsi_labels_open(m, SGFSI_MOST_LABELS, err);
    if (status != SGFS_OK) return status;
    s->p = data->p;
    s->K = m->outputs = m->labels.count;
    /* The blocks W, U and, with an intercept, d. */
    const sgfs_block *W = sgfsi_model_add_block(m, "W", s->H, s->p, SGFS_SCORE_INPUT);
    const sgfs_block *U = sgfsi_model_add_block(m, "U", s->H, s->K, SGFS_SCORE_DENSE);
    if (W == NULL || U == NULL) return sgfsi_fail_memory(err, "the model");
    s->U = U->offset;
    const sgfs_block *d = W;
    if (data->intercept) d = sgfsi_model_add_block(m, "d", 1, s->K, SGFS_SCORE_DENSE);
    if (d == NULL) return sgfsi_fail_memory(err, "the model");
    s->d = d->offset; /* that of W, the first block, is 0 */
    status = sgfsi_model_room_for_names(m, err);
    m->default_sd = SGFSI_DOUBLES(&m->arena, m->D);
    m->layer = sgfsi_arena_alloc(&m->arena, m->D, sizeof *m->layer);
    if (m->default_sd == NULL || m->layer == NULL) status = sgfsi_fail_memory(err, "the prior");
    if (status != SGFS_OK) return status;
    for (int64_t i = 0; i < m->D; i++) {
        double weight = i < s->U ? SGFSI_PRIOR_SUMS / sqrt(sgfsi_glm_fan_in(data))
                                 : SGFSI_PRIOR_LABELS / sqrt((double)s->H);
        bool c = data->intercept && i < s->U && i % s->p == 0, d_k = s->d > 0 && i >= s->d;
        m->layer[i] = c || d_k ? 0 : i < s->U ? 1 : 2;
        m->default_sd[i] = c ? SGFSI_PRIOR_SUMS : d_k ? SGFSI_PRIOR_COLUMNS : weight;
    }
    name_parameters(m, s);
    m->scratch_per_row = s->H;
    m->curvature_scratch_per_row = sgfsi_outcomes_scratch(m);
    m->outcomes = s->K;
    sgfsi_json_int(m->saved, "hidden", s->H);
    sgfsi_json_flag(m->saved, "exchangeable", true); /* diagnostics/advice.c */
    if (m->restored == NULL) caution(m, s);
    return SGFS_OK;
}

/* ---- one row --------------------------------------------------------------------------------- */

/* Where a batch is looked at, with exp(U) and exp(-U). */
typedef struct place {
    const double *theta;
    bool known;                                /* the powers are in use */
    double up[MOST_POWERS], down[MOST_POWERS]; /* H x K */
} place;

/* Some units of one row. */
typedef struct tile {
    int64_t units, K;
    const double *s;             /* units: W_j x + c_j */
    const double *s_up, *s_down; /* units: exp(s), exp(-s) */
    const double *U;             /* units x K */
    const double *U_up, *U_down; /* units x K: exp(U), exp(-U) */
    const double *t;             /* units x K: exp(-|a|), where the four above are not known */
    double *sigmoid;             /* units x K to fill, or NULL */
} tile;

enum { PRODUCT = 1, SIGMOID = 2 }; /* what is asked of sum_lanes, known while compiling */

static int64_t whole_lanes(int64_t n) {
    return (n + LANES - 1) / LANES * LANES;
}

/* x = exp(x) in whole lanes, for which x has room: a few last numbers would cost as much as many.
 */
static void exp_lanes(const sgfs_device *dev, int64_t n, double *x) {
    for (int64_t i = n; i < whole_lanes(n); i++) x[i] = 0;
    sgfsi_exp(dev, whole_lanes(n), x, x);
}

/* up = exp(x), down = exp(-x) of n numbers, those beyond SAFE taken as SAFE: no infinities, none of
 * the slow roads of exp. */
static void both_powers(const sgfs_device *dev, int64_t n, const double *x, double *up,
                        double *down) {
    for (int64_t i = 0; i < n; i++) up[i] = fabs(x[i]) <= SAFE ? x[i] : copysign(SAFE, x[i]);
    exp_lanes(dev, n, up);
    for (int64_t i = 0; i < n; i++) down[i] = 1 / up[i];
}

/* Inputs s beyond SAFE then meet |U| <= SAFE - 100: |a| is more than 100, and a t of exp(-100) or
 * less is nothing beside 1, whatever its exact size. */
static void look_at(const sgfs_model *m, const double *theta, place *out) {
    const drbm *is = m->state;
    const double *U = theta + is->U;
    int64_t HK = is->H * is->K;
    out->theta = theta;
    out->known = HK <= MOST_POWERS;
    for (int64_t i = 0; out->known && i < HK; i++) out->known = fabs(U[i]) <= SAFE - 100;
    if (out->known) both_powers(m->ctx.device, HK, U, out->up, out->down);
}

/* Classes k .. k+lanes-1: l = sum_j max(a_j, 0), 1 + q = prod_j (1 + t_j), and the sigmoids. Units
 * come in pairs (a, t and b, u): one division serves both, 1/(1+t) = (1+u)/((1+t)(1+u)), and the
 * sums wait half as often for what was just added. The last of an odd number is paired with itself,
 * counted 0 times. max(a, 0) is (a + |a|)/2, exactly. */
static inline void sum_lanes(const tile *is, int64_t k, int lanes, int how, double *restrict l,
                             double *restrict q) {
    const double *U = is->U, *up = is->U_up, *down = is->U_down, *half = is->t;
    double sum[LANES] = {0}, more[LANES] = {0}, *sigmoid = is->sigmoid;
    bool product = how & PRODUCT;
    for (int64_t j = 0; j < is->units; j += 2) {
        int64_t i = j + 1 < is->units ? j + 1 : j, at = j * is->K + k, by = i * is->K + k;
        double s = is->s[j], s_up = product ? is->s_up[j] : 0, s_down = product ? is->s_down[j] : 0;
        double r = is->s[i], r_up = product ? is->s_up[i] : 0, r_down = product ? is->s_down[i] : 0;
        double count = i > j ? 1 : 0;
#pragma omp simd
        for (int c = 0; c < lanes; c++) {
            double a = s + U[at + c], b = r + U[by + c], t, u;
            if (product) {
                t = a >= 0 ? s_down * down[at + c] : s_up * up[at + c];
                u = b >= 0 ? r_down * down[by + c] : r_up * up[by + c];
            } else {
                t = half[at + c];
                u = half[by + c];
            }
            u *= count;
            double one = 1 + t, two = 1 + u, both = one * two;
            sum[c] += (a + fabs(a)) + count * (b + fabs(b));
            more[c] = more[c] * both + (t * two + u);
            if (how & SIGMOID) {
                double inverse = 1 / both;
                sigmoid[by + c] = (b >= 0 ? 1 : u) * (inverse * one);
                sigmoid[at + c] = (a >= 0 ? 1 : t) * (inverse * two);
            }
        }
    }
    for (int c = 0; c < lanes; c++) {
        l[k + c] = 0.5 * sum[c];
        q[k + c] = more[c];
    }
}

/* Classes go in steps of LANES, the last step drawn back so that it ends with the last class: what
 * two steps share is written twice, the same both times. */
static inline void sum_classes(const tile *is, int how, double *l, double *q) {
    int64_t K = is->K;
    if (K < LANES) sum_lanes(is, 0, (int)K, how, l, q);
    for (int64_t k = 0; K >= LANES && k < K; k += LANES) {
        sum_lanes(is, k + LANES <= K ? k : K - LANES, LANES, how, l, q);
    }
}

/* The classes' logits l (K) gain what the units of the tile add. */
static void add_tile(const sgfs_device *dev, tile *is, double *l) {
    double t[TILE], up[TILE], positive[TILE], q[TILE];
    int64_t K = is->K;
    bool product = is->U_up != NULL;
    if (product) both_powers(dev, is->units, is->s, up, t);
    for (int64_t j = 0; !product && j < is->units; j++) {
        for (int64_t k = 0; k < K; k++) t[j * K + k] = -fabs(is->s[j] + is->U[j * K + k]);
    }
    if (!product) exp_lanes(dev, is->units * K, t); /* t = exp(-|a|), units x K */
    is->s_up = up;
    is->s_down = is->t = t;
    if (product && is->sigmoid != NULL) sum_classes(is, PRODUCT | SIGMOID, positive, q);
    else if (product) sum_classes(is, PRODUCT, positive, q);
    else if (is->sigmoid != NULL) sum_classes(is, SIGMOID, positive, q);
    else sum_classes(is, 0, positive, q);
    for (int64_t k = K; k < whole_lanes(K); k++) q[k] = 0;
    sgfsi_log1p(dev, whole_lanes(K), q, q);
    for (int64_t k = 0; k < K; k++) l[k] += positive[k] + q[k];
}

/* The level logits l (K) of one row. s: its H inputs of the units, or NULL: they are made here from
 * the row x itself. sigmoid: H x K, or NULL. */
static void fill_logits(const sgfs_model *m, const place *at, const double *s, const double *x,
                        double *l, double *sigmoid) {
    const drbm *is = m->state;
    const double *theta = at->theta;
    int64_t K = is->K, most = TILE / K;
    double own[TILE];
    for (int64_t k = 0; k < K; k++) l[k] = is->d > 0 ? theta[is->d + k] : 0;
    for (int64_t j = 0; j < is->H; j += most) {
        tile now = {.units = is->H - j < most ? is->H - j : most, .K = K};
        if (s == NULL)
            sgfsi_gemv(m->ctx.device, now.units, is->p, 1.0, theta + j * is->p, x, 0.0, own);
        now.s = s != NULL ? s + j : own;
        now.U = theta + is->U + j * K;
        now.U_up = at->known ? at->up + j * K : NULL;
        now.U_down = at->known ? at->down + j * K : NULL;
        now.sigmoid = sigmoid != NULL ? sigmoid + j * K : NULL;
        add_tile(m->ctx.device, &now, l);
    }
    /* Logits are known up to a constant; here it makes the largest 0, so that differences of large
     * ones are exact. */
    double largest = l[0];
    for (int64_t k = 1; k < K; k++) largest = l[k] > largest ? l[k] : largest;
    for (int64_t k = 0; k < K; k++) l[k] -= largest;
}

/* Level l -> P, in place, l having room for whole lanes; returns logsumexp(l). */
static double normalise(const sgfs_device *dev, int64_t K, double *l) {
    double sum = 0;
    exp_lanes(dev, K, l);
    for (int64_t k = 0; k < K; k++) sum += l[k];
    for (int64_t k = 0; k < K; k++) l[k] /= sum;
    return log(sum);
}

/* dU = e_k sigmoid_jk, in place, and dc_j = sum_k dU_jk. */
static void spread_error(int64_t H, int64_t K, const double *restrict e, double *restrict dU,
                         double *restrict dc) {
    int64_t whole = K / LANES * LANES;
    for (int64_t j = 0; j < H; j++) {
        double *restrict u = dU + j * K, sum[LANES] = {0}, total = 0;
        for (int64_t k = 0; k < whole; k += LANES) {
#pragma omp simd
            for (int c = 0; c < LANES; c++) {
                u[k + c] *= e[k + c];
                sum[c] += u[k + c];
            }
        }
        for (int64_t k = whole; k < K; k++) {
            u[k] *= e[k];
            total += u[k];
        }
#pragma omp simd reduction(+ : total)
        for (int c = 0; c < LANES; c++) total += sum[c];
        dc[j] = total;
    }
}

/* ---- the hooks ------------------------------------------------------------------------------- */

static sgfs_status scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          sgfs_scores *s, double *scratch, sgfs_err *err) {
    const drbm *is = m->state;
    int64_t H = is->H, K = is->K;
    double *hidden = scratch, e[TILE]; /* n x H: c + W x */
    place at;
    (void)err;
    sgfsi_gemm_nt(m->ctx.device, b->n, H, is->p, 1.0, b->x, theta, 0.0, hidden);
    look_at(m, theta, &at);
    for (int64_t i = 0; i < b->n; i++) {
        double *dU = s->block != NULL ? s->block[1].dense + i * H * K : NULL;
        int64_t y = sgfsi_labels_class(&m->labels, b->y[i]);
        fill_logits(m, &at, hidden + i * H, NULL, e, dU);
        double own = y >= 0 ? e[y] : -INFINITY; /* a label the model does not know has no chance */
        double norm = normalise(m->ctx.device, K, e);
        if (s->loglik != NULL) s->loglik[i] = own - norm;
        if (dU == NULL) continue;
        for (int64_t k = 0; k < K; k++) e[k] = (k == y ? 1.0 : 0.0) - e[k];
        spread_error(H, K, e, dU, s->block[0].left + i * H);
        if (is->d > 0) memcpy(s->block[2].dense + i * K, e, (size_t)K * sizeof *e);
    }
    return SGFS_OK;
}

static void predict(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *out,
                    double *scratch) {
    const drbm *is = m->state;
    double P[TILE];
    place at;
    sgfsi_gemm_nt(m->ctx.device, b->n, is->H, is->p, 1.0, b->x, theta, 0.0, scratch);
    look_at(m, theta, &at);
    for (int64_t i = 0; i < b->n; i++) {
        fill_logits(m, &at, scratch + i * is->H, NULL, P, NULL);
        normalise(m->ctx.device, is->K, P);
        memcpy(out + i * is->K, P, (size_t)is->K * sizeof *P);
    }
}

static void resample(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                     const double *normal, const double *uniform, double *y) {
    const drbm *is = m->state;
    double P[TILE];
    place at;
    (void)normal;
    look_at(m, theta, &at);
    for (int64_t i = 0; i < b->n; i++) {
        fill_logits(m, &at, NULL, b->x + i * is->p, P, NULL);
        normalise(m->ctx.device, is->K, P);
        int64_t k = 0; /* the first class whose cumulated probability passes the uniform number */
        for (double sum = P[0]; k < is->K - 1 && uniform[i] >= sum; sum += P[k]) k++;
        y[i] = m->labels.value[k];
    }
}

static void start(const sgfs_model *m, double *theta, double *spread) {
    const drbm *is = m->state;
    int64_t p = is->p, first = p - m->data->features, HK = is->H * is->K;
    double W_size = sqrt(3.0 / (double)p), U_size = sqrt(3.0 / (double)is->H);
    uint64_t seed = (uint64_t)sgfsi_config_int(m->cfg, "run.seed");
    /* no chain has this number: chains are spread by streams of their own */
    sgfsi_stream stream = sgfsi_stream_at(seed, UINT32_MAX, 0, SGFSI_START);
    for (int64_t i = 0; i < m->D; i++) spread[i] = 1;
    sgfsi_glm_start(m, theta, spread);
    sgfsi_uniforms(&stream, m->D, theta);
    for (int64_t i = 0; i < m->D; i++) theta[i] = 2 * theta[i] - 1;
    for (int64_t i = 0; i < is->H * p; i++) theta[i] *= i % p < first ? 0 : W_size * spread[i];
    for (int64_t i = 0; i < HK; i++) theta[is->U + i] *= U_size;
    for (int64_t k = 0; is->d > 0 && k < is->K; k++) theta[is->d + k] = 0;
}

static void to_user(const sgfs_model *m, const double *theta, double *user) {
    const drbm *is = m->state;
    sgfsi_glm_to_user(m, theta, user);
    memcpy(user + is->U, theta + is->U, (size_t)(m->D - is->U) * sizeof *user);
}

static void from_user(const sgfs_model *m, const double *user, double *theta) {
    const drbm *is = m->state;
    sgfsi_glm_from_user(m, user, theta);
    memcpy(theta + is->U, user + is->U, (size_t)(m->D - is->U) * sizeof *theta);
}

static const sgfs_option options[] = {
    {"model.hidden", "hidden", SGFS_TEXT, "auto", 1, 0, NULL,
     "units of the hidden layers: 30, or 100,50, or none (auto: 30; drbm: columns + 1)"},
    SGFSI_OPTIONS_END};

const sgfs_model_kind sgfs_model_drbm = {
    .name = "drbm",
    .help = "discriminative restricted Boltzmann machine, classes of any name",
    .options = options,
    .redundant = true,
    .open = open_drbm,
    .scores = scores,
    .predict = predict,
    .curvature = sgfsi_label_curvature,
    .resample = resample,
    .start = start,
    .to_user = to_user,
    .from_user = from_user,
};
