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
 * One exp for each row, unit and class: t = exp(-|a|) lies in (0, 1], so nothing overflows, and
 *     sigmoid(a) = (a >= 0 ? 1 : t)/(1 + t),   softplus(a) = max(a, 0) + log(1 + t).
 * The logarithms of one class are taken together, sum_j log(1 + t_j) = log(1 + q) with
 * 1 + q = prod_j (1 + t_j); q is carried, not 1 + q, so that units far below zero still count.
 * A row is worked through in tiles of whole units that stay in the nearest cache; a tile has at most
 * 512 units (K >= 2), so q stays below 2^512.
 *
 * Start. All units alike would stay alike for ever: W and U begin at uniform numbers drawn from
 * --seed, W so that W_j x has standard deviation about 1 (uncorrelated columns), U so that
 * sum_j U_jk has; c and d at 0. Chains are spread around it by --init.
 *
 * What the data cannot tell: one number added to all of d; one number added to U_j. and taken from
 * c_j (1 + H directions in all, exactly flat: only the prior holds them); the order of the units; and
 * the mirror image (W_j, c_j, U_j., d) -> (-W_j, -c_j, -U_j., d + U_j.), by softplus(a) =
 * a + softplus(-a). Single weights mean nothing by themselves, predictions do.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/rng.h"
#include "model/glm.h"
#include "model/outcomes.h"

enum { TILE = 1024, MOST_HIDDEN = 100000, MOST_AUTOMATIC = 100 };
_Static_assert((int)TILE >= (int)SGFSI_MOST_LABELS, "the classes of one unit must fit into a tile");

typedef struct drbm {
    int64_t H, K, p; /* units, classes, columns with the leading 1 */
    int64_t U, d;    /* where these blocks begin in theta; d = 0: none */
} drbm;

/* ---- opening --------------------------------------------------------------------------------- */

/* One more than the columns, as in the paper (41 for 40), but not more than MOST_AUTOMATIC. A model
 * that is opened again has as many as it had. */
static sgfs_status count_units(const sgfs_model *m, int64_t *H, sgfs_err *err) {
    const char *text = sgfsi_config_text(m->cfg, "model.hidden");
    int64_t columns = m->data->features;
    int64_t units;
    *H = columns < MOST_AUTOMATIC ? columns + 1 : MOST_AUTOMATIC;
    if (m->info != NULL) *H = sgfsi_json_get_int(m->info, "hidden", *H);
    if (m->info != NULL || sgfsi_config_auto(m->cfg, "model.hidden")) return SGFS_OK;
    if (!sgfsi_text_int(text, &units) || units < 1 || units > MOST_HIDDEN) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--hidden %.60s: model drbm has one layer of hidden units and takes one "
                          "whole number from 1 to %d, for example --hidden 41.",
                          text, MOST_HIDDEN);
    }
    *H = units;
    return SGFS_OK;
}

static sgfs_status declare(sgfs_model *m, drbm *s, sgfs_err *err) {
    const sgfs_block *W = sgfsi_model_add_block(m, "W", s->H, s->p, SGFS_SCORE_INPUT);
    const sgfs_block *U = sgfsi_model_add_block(m, "U", s->H, s->K, SGFS_SCORE_DENSE);
    if (W == NULL || U == NULL) return sgfsi_fail_memory(err, "the model");
    s->U = U->offset;
    if (!m->data->intercept) return SGFS_OK;
    const sgfs_block *d = sgfsi_model_add_block(m, "d", 1, s->K, SGFS_SCORE_DENSE);
    if (d == NULL) return sgfsi_fail_memory(err, "the model");
    s->d = d->offset;
    return SGFS_OK;
}

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

static sgfs_status name_all(sgfs_model *m, const drbm *s, sgfs_err *err) {
    const sgfs_data *data = m->data;
    int64_t first = s->p - data->features;
    sgfs_status status = sgfsi_model_room_for_names(m, err);
    if (status != SGFS_OK) return status;
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
    return SGFS_OK;
}

static void caution(sgfs_model *m) {
    const sgfsi_log *log = sgfsi_config_log(m->cfg);
    if (m->info != NULL) return;
    sgfsi_caution(m->cautions, log,
                  "Hidden units can be exchanged or mirrored without changing any prediction, and "
                  "chains may do so differently: single weights have no meaning of their own, and "
                  "their R-hat may stay large. Look at predictions.");
    sgfsi_glm_judge_prior(m, 1.0, 0.0);
}

static sgfs_status open_drbm(sgfs_model *m, sgfs_err *err) {
    drbm *s = sgfsi_arena_alloc(&m->arena, 1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the model");
    m->state = s;
    if (!m->data->has_target && m->info == NULL) {
        return sgfsi_fail(err, SGFS_EDATA, "Model %s needs a target column.", m->kind->name);
    }
    sgfs_status status = count_units(m, &s->H, err);
    if (status == SGFS_OK) status = sgfsi_labels_open(m, SGFSI_MOST_LABELS, err);
    if (status != SGFS_OK) return status;
    s->p = m->data->p;
    s->K = m->outputs = m->labels.count;
    status = declare(m, s, err);
    if (status == SGFS_OK) status = name_all(m, s, err);
    if (status != SGFS_OK) return status;
    m->scratch_per_row = s->H;
    m->curvature_scratch_per_row = sgfsi_outcomes_scratch(m);
    sgfsi_json_int(m->extra, "hidden", s->H);
    caution(m);
    return SGFS_OK;
}

/* ---- one row --------------------------------------------------------------------------------- */

/* Some units of one row: s_j = W_j x + c_j and U_jk of each; sigmoid(a_jk) is to be filled in, or
 * NULL. */
typedef struct tile {
    int64_t units, K;
    const double *s; /* units */
    const double *U; /* units x K */
    double *sigmoid; /* units x K */
} tile;

/* t = exp(-|a|), units x K */
static void half_exp(const sgfs_backend *be, const tile *is, double *restrict t) {
    const double *restrict U = is->U;
    for (int64_t j = 0; j < is->units; j++) {
        for (int64_t k = 0; k < is->K; k++) t[j * is->K + k] = -fabs(is->s[j] + U[j * is->K + k]);
    }
    be->exp(is->units * is->K, t, t);
}

/* l_k += sum_j max(a_jk, 0) and 1 + q_k = prod_j (1 + t_jk). */
static void add_softplus(const tile *is, const double *restrict t, double *restrict l,
                         double *restrict q) {
    const double *restrict U = is->U;
    int64_t K = is->K;
    for (int64_t k = 0; k < K; k++) q[k] = 0;
    for (int64_t j = 0; j < is->units; j++) {
        for (int64_t k = 0; k < K; k++) {
            double a = is->s[j] + U[j * K + k], e = t[j * K + k];
            l[k] += a > 0 ? a : 0;
            q[k] = q[k] * (1 + e) + e;
        }
    }
}

static void fill_sigmoid(const tile *is, const double *restrict t) {
    const double *restrict U = is->U;
    double *restrict out = is->sigmoid;
    int64_t K = is->K;
    for (int64_t j = 0; j < is->units; j++) {
        for (int64_t k = 0; k < K; k++) {
            double a = is->s[j] + U[j * K + k], e = t[j * K + k];
            out[j * K + k] = (a >= 0 ? 1 : e) / (1 + e);
        }
    }
}

/* The classes' logits l (K) gain what the units of the tile add. */
static void add_tile(const sgfs_backend *be, const tile *is, double *l) {
    double t[TILE], q[SGFSI_MOST_LABELS];
    half_exp(be, is, t);
    add_softplus(is, t, l, q);
    if (is->sigmoid != NULL) fill_sigmoid(is, t);
    be->log1p(is->K, q, q);
    for (int64_t k = 0; k < is->K; k++) l[k] += q[k];
}

/* Units j, j+1, ... of a row, as many as a tile holds. */
static tile tile_at(const drbm *is, const double *theta, int64_t j) {
    int64_t most = TILE / is->K, left = is->H - j;
    return (tile){.units = left < most ? left : most, .K = is->K, .U = theta + is->U + j * is->K};
}

static void start_logits(const drbm *is, const double *theta, double *l) {
    for (int64_t k = 0; k < is->K; k++) l[k] = is->d > 0 ? theta[is->d + k] : 0;
}

/* l = d + sum over the units; s: H; sigmoid: H x K, or NULL. */
static void fill_logits(const sgfs_model *m, const double *theta, const double *s, double *l,
                        double *sigmoid) {
    const drbm *is = m->state;
    tile now;
    start_logits(is, theta, l);
    for (int64_t j = 0; j < is->H; j += now.units) {
        now = tile_at(is, theta, j);
        now.s = s + j;
        now.sigmoid = sigmoid != NULL ? sigmoid + j * is->K : NULL;
        add_tile(m->be, &now, l);
    }
}

/* l -> P, in place; returns logsumexp(l). */
static double normalise(const sgfs_backend *be, int64_t K, double *l) {
    double largest = l[0], sum = 0;
    for (int64_t k = 1; k < K; k++) largest = l[k] > largest ? l[k] : largest;
    for (int64_t k = 0; k < K; k++) l[k] -= largest;
    be->exp(K, l, l);
    for (int64_t k = 0; k < K; k++) sum += l[k];
    for (int64_t k = 0; k < K; k++) l[k] /= sum;
    return largest + log(sum);
}

/* dU = e_k sigmoid_jk, in place, and dc_j = sum_k dU_jk. */
static void spread_error(int64_t H, int64_t K, const double *restrict e, double *restrict dU,
                         double *restrict dc) {
    for (int64_t j = 0; j < H; j++) {
        double sum = 0;
        for (int64_t k = 0; k < K; k++) {
            dU[j * K + k] *= e[k];
            sum += dU[j * K + k];
        }
        dc[j] = sum;
    }
}

/* ---- the hooks ------------------------------------------------------------------------------- */

static sgfs_status scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          sgfs_scores *s, double *scratch, sgfs_err *err) {
    const drbm *is = m->state;
    int64_t H = is->H, K = is->K;
    double *hidden = scratch, e[SGFSI_MOST_LABELS]; /* n x H: c + W x */
    (void)err;
    m->be->gemm_nt(b->n, H, is->p, 1.0, b->x, theta, 0.0, hidden);
    for (int64_t i = 0; i < b->n; i++) {
        double *dU = s->block != NULL ? s->block[1].dense + i * H * K : NULL;
        int64_t y = sgfsi_labels_class(&m->labels, b->y[i]);
        fill_logits(m, theta, hidden + i * H, e, dU);
        double own = y >= 0 ? e[y] : -INFINITY; /* a label the model does not know has no chance */
        double norm = normalise(m->be, K, e);
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
    m->be->gemm_nt(b->n, is->H, is->p, 1.0, b->x, theta, 0.0, scratch);
    for (int64_t i = 0; i < b->n; i++) {
        fill_logits(m, theta, scratch + i * is->H, out + i * is->K, NULL);
        normalise(m->be, is->K, out + i * is->K);
    }
}

/* The first class whose cumulated probability passes u. */
static int64_t choose(int64_t K, const double *P, double u) {
    int64_t k = 0;
    for (double sum = P[0]; k < K - 1 && u >= sum; sum += P[k]) k++;
    return k;
}

/* No scratch here: tile by tile, the units' inputs too. */
static void resample(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                     const double *normal, const double *uniform, double *y) {
    const drbm *is = m->state;
    double s[TILE], P[SGFSI_MOST_LABELS];
    tile now;
    (void)normal;
    for (int64_t i = 0; i < b->n; i++) {
        start_logits(is, theta, P);
        for (int64_t j = 0; j < is->H; j += now.units) {
            now = tile_at(is, theta, j);
            now.s = s;
            m->be->gemv(now.units, is->p, 1.0, theta + j * is->p, b->x + i * is->p, 0.0, s);
            add_tile(m->be, &now, P);
        }
        normalise(m->be, is->K, P);
        y[i] = m->labels.value[choose(is->K, P, uniform[i])];
    }
}

static void start(const sgfs_model *m, double *theta, double *spread) {
    const drbm *is = m->state;
    int64_t p = is->p, first = p - m->data->features, HK = is->H * is->K;
    double W_size = sqrt(3.0 / (double)p), U_size = sqrt(3.0 / (double)is->H);
    uint64_t seed = (uint64_t)sgfsi_config_int(m->cfg, "run.seed");
    /* no chain has this number: chains are spread by streams of their own */
    sgfsi_stream stream = sgfsi_stream_at(seed, UINT32_MAX, 0, SGFSI_START);
    sgfsi_uniforms(&stream, m->D, theta);
    for (int64_t i = 0; i < m->D; i++) {
        theta[i] = 2 * theta[i] - 1;
        spread[i] = 1;
    }
    for (int64_t j = 0; j < is->H; j++) {
        sgfsi_glm_spread(m, spread + j * p);
        for (int64_t i = 0; i < p; i++) {
            theta[j * p + i] *= i < first ? 0 : W_size * spread[j * p + i];
        }
    }
    for (int64_t i = 0; i < HK; i++) theta[is->U + i] *= U_size;
    for (int64_t k = 0; is->d > 0 && k < is->K; k++) theta[is->d + k] = 0;
}

static void to_user(const sgfs_model *m, const double *theta, double *user) {
    const drbm *is = m->state;
    for (int64_t j = 0; j < is->H; j++) {
        sgfsi_glm_to_user(m, theta + j * is->p, 1.0, user + j * is->p);
    }
    memcpy(user + is->U, theta + is->U, (size_t)(m->D - is->U) * sizeof *user);
}

static const sgfs_option options[] = {
    {"model.hidden", "hidden", SGFS_TEXT, "auto", 1, 0, NULL,
     "hidden units (drbm: one number; auto: one more than the columns, at most 100)"},
    SGFSI_OPTIONS_END};

const sgfs_model_kind sgfs_model_drbm = {
    .name = "drbm",
    .help = "discriminative restricted Boltzmann machine, classes of any name",
    .options = options,
    .open = open_drbm,
    .scores = scores,
    .predict = predict,
    .curvature = sgfsi_label_curvature,
    .resample = resample,
    .start = start,
    .to_user = to_user,
};
