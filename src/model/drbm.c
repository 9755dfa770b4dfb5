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
 * The device makes all of it from the inputs s = c + W x of a batch, one product
 * (context/device/boltzmann.c).
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

enum { ROOM = 1 << 14, MOST_HIDDEN = 100000, MOST_AUTOMATIC = 100 };
_Static_assert((int)SGFSI_MOST_CLASSES >= (int)SGFSI_MOST_LABELS, "a device takes so many");

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
    m->scratch_per_row = s->H + 1;
    m->room_per_row = s->H + s->K;
    m->curvature_scratch_per_row = sgfsi_outcomes_scratch(m);
    m->outcomes = s->K;
    m->far_target = sgfsi_labels_far_target;
    sgfsi_json_int(m->saved, "hidden", s->H);
    sgfsi_json_flag(m->saved, "exchangeable", true); /* diagnostics/advice.c */
    if (m->restored == NULL) caution(m, s);
    return SGFS_OK;
}

/* ---- the hooks ------------------------------------------------------------------------------- */

/* The classes of n targets; -1: a label the model does not know has no chance. */
static void find_classes(const sgfs_model *m, int64_t n, const double *y, double *own) {
    for (int64_t i = 0; i < n; i++) own[i] = (double)sgfsi_labels_class(&m->labels, y[i]);
}

/* The machine at theta, which the device reaches at `there`, for the n rows whose inputs S are. */
static sgfsi_boltzmann machine_at(const drbm *is, const double *there, int64_t n, const double *S) {
    return (sgfsi_boltzmann){.n = n,
                             .H = is->H,
                             .K = is->K,
                             .S = S,
                             .U = there + is->U,
                             .B = is->d > 0 ? there + is->d : NULL};
}

/* Scratch: the inputs (n x H), then n classes. The left factors of a single unit are a vector, the
 * host's: they are made behind the inputs. */
static sgfs_status scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          sgfs_scores *s, double *scratch, sgfs_err *err) {
    const drbm *is = m->state;
    const sgfs_device *dev = m->ctx.device;
    double *own = scratch + b->n * is->H, *S = scratch;
    const double *there = sgfsi_model_there(m, theta, b, &S);
    (void)err;
    if (b->afar == NULL) find_classes(m, b->n, b->y, own);
    sgfsi_gemm_nt(dev, b->n, is->H, is->p, 1.0, b->x, there, 0.0, S);
    sgfsi_boltzmann machine = machine_at(is, there, b->n, S);
    machine.own = b->afar != NULL ? b->afar->target : own;
    machine.loglik = s->loglik;
    if (s->block != NULL) {
        bool vector = is->H == 1 && b->room != NULL;
        machine.EU = s->block[1].dense;
        machine.ES = vector ? S + b->n : s->block[0].left;
        if (is->d > 0) machine.E = s->block[2].dense;
    }
    sgfsi_boltzmann_of(dev, &machine);
    if (s->block != NULL && machine.ES != s->block[0].left)
        sgfsi_get(dev, b->n, machine.ES, s->block[0].left);
    return SGFS_OK;
}

static void predict(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *out,
                    double *scratch) {
    const drbm *is = m->state;
    sgfsi_gemm_nt(m->ctx.device, b->n, is->H, is->p, 1.0, b->x, theta, 0.0, scratch);
    sgfsi_boltzmann machine = machine_at(is, theta, b->n, scratch);
    machine.P = out;
    if (b->afar != NULL) machine.own = b->afar->target, machine.loglik = b->afar->loglik;
    sgfsi_boltzmann_of(m->ctx.device, &machine);
}

/* Some rows at a time, in room that lies on the stack. A device with memory of its own has made the
 * probabilities of all rows before; in the host's memory the inputs are made row by row. */
static void resample(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                     const double *normal, const double *uniform, double *y) {
    const drbm *is = m->state;
    const sgfs_device *dev = m->ctx.device;
    double room[ROOM], *S = NULL;
    const double *there = sgfsi_model_there(m, theta, b, &S);
    sgfsi_boltzmann machine = machine_at(is, there, b->n, S);
    int64_t rows = ROOM / is->K;
    (void)normal;
    machine.P = S != NULL ? S + b->n * is->H : room;
    machine.W = theta;
    machine.p = is->p;
    if (S != NULL) {
        sgfsi_gemm_nt(dev, b->n, is->H, is->p, 1.0, b->x, there, 0.0, S);
        sgfsi_boltzmann_of(dev, &machine);
    }
    for (int64_t first = 0; first < b->n; first += rows) {
        int64_t n = b->n - first < rows ? b->n - first : rows;
        machine.n = n;
        machine.X = b->x + first * is->p;
        if (S == NULL) sgfsi_boltzmann_of(dev, &machine);
        else sgfsi_get(dev, n * is->K, machine.P + first * is->K, room);
        for (int64_t i = 0; i < n; i++) {
            const double *P = room + i * is->K;
            int64_t k =
                0; /* the first class whose cumulated probability passes the uniform number */
            for (double sum = P[0]; k < is->K - 1 && uniform[first + i] >= sum; sum += P[k]) k++;
            y[first + i] = m->labels.value[k];
        }
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
    .far = true,
    .open = open_drbm,
    .scores = scores,
    .predict = predict,
    .curvature = sgfsi_label_curvature,
    .resample = resample,
    .start = start,
    .to_user = to_user,
    .from_user = from_user,
};
