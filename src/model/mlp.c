/* SPDX-License-Identifier: MIT
 * mlp.c: feed-forward networks: dense layers (network.c) under a target (readout.c).
 *
 *     --hidden 30        one hidden layer        W1 30 x (p+1),  W2 out x 31
 *     --hidden 100,50    two                     W1 100 x (p+1), W2 50 x 101, W3 out x 51
 *     --hidden none      none: a regression      W1 out x (p+1)
 *
 * theta is W1, W2, ... row by row, then log_sigma where a Gaussian target has one. 20 columns, 30
 * hidden units and 10 classes make D = 30 x 21 + 10 x 31 = 940, the paper's net. --no-intercept
 * takes the bias from the first layer (the rows then have no leading 1, or a column of their own);
 * the other layers keep theirs.
 *
 * Start. Weights uniform(-r, r), r = sqrt(6/(in + out)) (Glorot and Bengio 2010), in units of
 * 1/column for the first layer and of the target for the last one, biases 0 (that of a Gaussian
 * target: its mean): drawn from --seed, the same for all chains. All zeros would be a saddle point:
 * units that begin alike stay alike. Each chain then adds its own uniform(-2 r, 2 r) x --init to
 * every number.
 *
 * Standardised columns and targets. Only the first and the last layer see them: the first as in
 * glm.c, unit by unit; the last is linear, so W <- s W, bias <- s bias + m, log_sigma += log s.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/rng.h"
#include "model/glm.h"
#include "model/outcomes.h"
#include "model/prior.h"
#include "model/readout.h"

enum {
    MOST_AUTO_LABELS = 20, /* whole numbers with more values than this are numbers */
    MOST_HIDDEN = SGFSI_MOST_LAYERS - 1
};

static bool is_gaussian(const sgfsi_mlp *s) {
    return s->readout->most_labels == 0;
}

static const sgfsi_layer *last_layer(const sgfsi_mlp *s) {
    return &s->net.layer[s->net.layers - 1];
}

/* ---- the target ------------------------------------------------------------------------------ */

/* Text, or a few whole numbers. */
static bool looks_like_labels(const sgfs_data *d, int64_t *found) {
    double value[MOST_AUTO_LABELS + 1];
    *found = sgfsi_data_target_values(d, MOST_AUTO_LABELS, value);
    if (sgfsi_data_target_is_text(d)) return true;
    if (*found > MOST_AUTO_LABELS) return false;
    for (int64_t k = 0; k < *found; k++) {
        if (value[k] != floor(value[k])) return false;
    }
    return true;
}

static const sgfsi_readout *choose_readout(const sgfs_model *m) {
    const char *asked = sgfsi_config_text(m->cfg, "model.output");
    const char *before =
        m->restored != NULL ? sgfsi_json_get_text(m->restored, "output", NULL) : NULL;
    if (before != NULL) return sgfsi_readout_find(before);
    if (strcmp(asked, "auto") != 0) return sgfsi_readout_find(asked);
    int64_t found;
    bool labels = looks_like_labels(m->data, &found);
    sgfsi_say(sgfsi_config_log(m->cfg), SGFS_NOTE,
              labels ? "Target \"%s\" is taken for labels: --output softmax%s."
                     : "Target \"%s\" is taken for numbers: --output gaussian.",
              m->data->target.name,
              sgfsi_data_target_is_text(m->data) ? "" : " (gaussian: for numbers)");
    return labels ? &sgfsi_readout_softmax : &sgfsi_readout_gaussian;
}

/* As in glm.c, for the layer that has to reach the target. */
static void judge_target(sgfs_model *m) {
    const sgfsi_column *y = &m->data->target;
    double lambda, size = fabs(y->mean) + y->sd;
    const char *precision = sgfsi_config_text(m->cfg, "prior.precision");
    if (strcmp(precision, "auto") == 0) lambda = 1;
    else if (!sgfsi_text_num(precision, &lambda)) return; /* a list */
    if (m->data->scale != NULL || m->restored != NULL || !(size * sqrt(lambda) > 20)) return;
    sgfsi_warn(m->warnings, sgfsi_config_log(m->cfg),
               "The prior N(0, %s^2) is narrow for the target \"%s\" of size %s, which weights of "
               "that size would have to make. Use --standardize, or a smaller "
               "--prior-precision.",
               SGFSI_DIGITS(1 / sqrt(lambda), 3), y->name, SGFSI_DIGITS(size, 2));
}

static sgfs_status open_target(sgfs_model *m, sgfsi_mlp *s, sgfs_err *err) {
    s->y_sd = 1;
    s->readout = choose_readout(m);
    if (s->readout == NULL) return sgfsi_fail(err, SGFS_EUSAGE, "The run has an unknown output.");
    sgfsi_json_text(m->saved, "output", s->readout->name);
    s->known = is_gaussian(s) && !sgfsi_config_auto(m->cfg, "model.sigma");
    if (is_gaussian(s)) return sgfsi_glm_check_numbers(m, "--output gaussian needs numbers", err);
    if (!sgfsi_config_auto(m->cfg, "model.sigma")) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--sigma is for targets that are numbers (--output gaussian); here the "
                          "output is %s.",
                          s->readout->name);
    }
    sgfs_status status = sgfsi_labels_open(m, s->readout->most_labels, err);
    m->outputs = m->labels.count;
    return status;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static sgfs_status refuse_hidden(const char *text, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--hidden %.60s: give the units of each hidden layer, from 1 to %d, with "
                      "commas between layers (at most %d), or none.",
                      text, SGFSI_MOST_UNITS, MOST_HIDDEN);
}

/* "100,50" -> 100, 50; the paper's networks have one layer of 30. */
static sgfs_status read_hidden(const char *text, int64_t *units, int64_t *count, sgfs_err *err) {
    *count = 0;
    if (strcmp(text, "none") == 0) return SGFS_OK;
    if (strcmp(text, "auto") == 0) text = "30";
    for (const char *at = text;; at++) {
        char number[SGFSI_NUM_CHARS];
        size_t length = strcspn(at, ",");
        if (length >= sizeof number || *count == MOST_HIDDEN) return refuse_hidden(text, err);
        memcpy(number, at, length);
        number[length] = '\0';
        int64_t *out = &units[(*count)++];
        if (!sgfsi_text_int(number, out) || *out < 1 || *out > SGFSI_MOST_UNITS)
            return refuse_hidden(text, err);
        at += length;
        if (*at == '\0') return SGFS_OK;
    }
}

static sgfs_status add_layers(sgfs_model *m, sgfsi_mlp *s, sgfs_err *err) {
    int64_t units[MOST_HIDDEN + 1], hidden, in = m->data->p;
    sgfs_status status =
        read_hidden(sgfsi_config_text(m->cfg, "model.hidden"), units, &hidden, err);
    if (status != SGFS_OK) return status;
    s->net.activation = sgfsi_activation_find(sgfsi_config_text(m->cfg, "model.activation"));
    units[hidden] = s->readout->units > 0 ? s->readout->units : m->labels.count;
    for (int64_t l = 0; l <= hidden; l++) {
        char name[24];
        snprintf(name, sizeof name, "W%lld", (long long)l + 1);
        const sgfs_block *block =
            sgfsi_model_add_block(m, sgfsi_arena_text(&m->arena, name), units[l], in,
                                  l == 0 ? SGFS_SCORE_INPUT : SGFS_SCORE_OUTER);
        if (block == NULL || block->name == NULL) return sgfsi_fail_memory(err, "the layers");
        s->net.layer[s->net.layers++] =
            (sgfsi_layer){in, units[l], l > 0 || m->data->intercept, block->offset};
        if (l < hidden && units[l] > s->net.widest) s->net.widest = units[l];
        in = units[l] + 1;
    }
    if (is_gaussian(s) && !s->known &&
        sgfsi_model_add_block(m, "log_sigma", 1, 1, SGFS_SCORE_DENSE) == NULL)
        return sgfsi_fail_memory(err, "the layers");
    return SGFS_OK;
}

/* ---- the default prior ----------------------------------------------------------------------- */

/* What reaches a unit has a standard deviation of about the same size in every layer, however many
 * weights it comes through (Neal 1996): prior.h has the numbers. */
static sgfs_status scale_prior(sgfs_model *m, const sgfsi_mlp *s, sgfs_err *err) {
    double *sd = m->default_sd = SGFSI_DOUBLES(&m->arena, m->D);
    bool plain = s->net.layers == 1; /* a regression */
    if (!plain) m->layer = sgfsi_arena_alloc(&m->arena, m->D, sizeof *m->layer);
    if (sd == NULL || (!plain && m->layer == NULL)) return sgfsi_fail_memory(err, "the prior");
    for (int64_t l = 0; l < s->net.layers; l++) {
        const sgfsi_layer *at = &s->net.layer[l];
        bool last = l == s->net.layers - 1;
        double wide = last && !is_gaussian(s) ? SGFSI_PRIOR_LABELS : SGFSI_PRIOR_UNITS;
        double weight = l > 0 ? wide / sqrt((double)(at->in - 1))
                              : SGFSI_PRIOR_SUMS / sqrt(sgfsi_glm_fan_in(m->data));
        if (plain) weight = SGFSI_PRIOR_COLUMNS;
        for (int64_t k = 0; k < at->out * at->in; k++) {
            bool bias = at->bias && k % at->in == 0;
            if (!plain && !bias) m->layer[at->offset + k] = (unsigned char)(l + 1);
            sd[at->offset + k] = !bias ? weight : last ? SGFSI_PRIOR_COLUMNS : SGFSI_PRIOR_SUMS;
        }
    }
    if (m->blocks > s->net.layers) sd[m->D - 1] = 1; /* log_sigma */
    return SGFS_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* What weight c of a unit in layer l comes from: a column, a unit of the layer before, a bias. */
static const char *source_name(const sgfs_model *m, const sgfsi_mlp *s, int64_t l, int64_t c,
                               char *room, size_t size) {
    bool bias = s->net.layer[l].bias;
    if (bias && c == 0) return "intercept";
    if (l == 0) return m->data->feature[c - bias].name;
    snprintf(room, size, "%lld", (long long)c);
    return room;
}

/* The unit: a label, or its number. */
static const char *unit_name(const sgfs_model *m, const sgfsi_mlp *s, int64_t l, int64_t r,
                             char *room, size_t size) {
    bool last = l == s->net.layers - 1;
    if (last && s->net.layer[l].out == m->labels.count) return m->labels.name[r];
    snprintf(room, size, "%lld", (long long)(r + 1));
    return room;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void finish(sgfs_model *m, sgfsi_mlp *s) {
    m->scratch_per_row = sgfsi_network_scratch(&s->net) + last_layer(s)->out + 1;
    m->room_per_row = sgfsi_network_scratch(&s->net) + last_layer(s)->out;
    m->curvature_scratch_per_row = sgfsi_outcomes_scratch(m);
    m->outcomes = is_gaussian(s) ? SGFSI_NORMAL_OUTCOMES : m->labels.count;
    if (s->readout == &sgfsi_readout_softmax) m->far_target = sgfsi_labels_far_target;
    bool plain = s->net.layers == 1;
    if (is_gaussian(s)) {
        const sgfsi_column *y = &m->data->target;
        bool standardized = m->data->scale != NULL && m->data->has_target;
        if (standardized && last_layer(s)->bias) s->y_mean = y->mean;
        if (standardized && y->sd > 0) s->y_sd = y->sd;
        if (s->known) s->log_sigma = log(sgfsi_config_num(m->cfg, "model.sigma") / s->y_sd);
        sgfsi_json_num(m->saved, "y_mean", s->y_mean);
        sgfsi_json_num(m->saved, "y_sd", s->y_sd);
        if (!plain) judge_target(m);
        if (y->sd > 0) /* what the target's mean and spread alone make of it */
            sgfsi_json_num(m->saved, "constant_loglik",
                           -m->data->total * (log(y->sd / s->y_sd) + 0.5 * log(2 * M_PI) + 0.5));
    }
    bool linear = plain && is_gaussian(s);
    sgfsi_glm_judge_prior(m, linear ? m->data->target.sd : 1, linear ? m->data->target.mean : 0);
    if (plain) return;
    sgfsi_json_flag(m->saved, "exchangeable", true); /* diagnostics/advice.c */
    sgfsi_json_text(m->warnings, NULL,
                    "Hidden units can change places, and signs and sizes move between layers, "
                    "without changing what the network says: a single weight means nothing by "
                    "itself, and its mean, ESS and R-hat over several chains mean nothing either. "
                    "Judge the network by its predictions, and by lp.");
}

static sgfs_status open_mlp(sgfs_model *m, sgfs_err *err) {
    sgfsi_mlp *s = sgfsi_arena_alloc(&m->arena, 1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the model");
    m->state = s;
    sgfs_status status = open_target(m, s, err);
    if (status == SGFS_OK) status = add_layers(m, s, err);
    if (status == SGFS_OK) status = scale_prior(m, s, err);
    if (status != SGFS_OK) return status;
    /* W1[3,height], W2[setosa,3], W2[setosa,intercept]; the only unit of a last layer needs no
     * number: W2[3]. */
    status = sgfsi_model_room_for_names(m, err);
    for (int64_t l = 0; status == SGFS_OK && l < s->net.layers; l++) {
        const sgfsi_layer *at = &s->net.layer[l];
        bool alone = l == s->net.layers - 1 && s->readout->units == 1;
        for (int64_t k = 0; k < at->out * at->in; k++) {
            char text[600], unit[24], from[24];
            const char *source = source_name(m, s, l, k % at->in, from, sizeof from);
            const char *name = unit_name(m, s, l, k / at->in, unit, sizeof unit);
            snprintf(text, sizeof text, "W%lld[%.250s%s%.250s]", (long long)(l + 1),
                     alone ? "" : name, alone ? "" : ",", source);
            sgfsi_model_name(m, at->offset + k, text);
        }
    }
    if (status == SGFS_OK) finish(m, s);
    return status;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Scratch: the passes' own, then eta (n x out) where it is not the left side of a block, then n for
 * the readout. Of one unit eta is a vector for the readout, the host's, and a matrix for the
 * passes.
 */
static sgfs_status scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          sgfs_scores *s, double *scratch, sgfs_err *err) {
    const sgfsi_mlp *state = m->state;
    const sgfs_device *dev = m->ctx.device;
    const sgfsi_network *net = &state->net;
    int64_t passes = b->n * sgfsi_network_scratch(net), out = last_layer(state)->out;
    double *matrices = scratch, *room = scratch + passes + b->n * out;
    const double *there = sgfsi_model_there(m, theta, b, &matrices);
    double *left = s->block != NULL ? s->block[net->layers - 1].left : NULL;
    double *sums = left != NULL && out > 1 ? left : matrices + passes;
    double *eta = out > 1 ? sums : left != NULL ? left : scratch + passes;
    bool spread = s->block != NULL && m->blocks > net->layers;
    (void)err;
    sgfsi_network_forward(net, dev, there, b, s->block, sums, matrices);
    if (eta != sums) sgfsi_get(dev, b->n, sums, eta);
    state->readout->score(m, theta, b, eta, s->loglik, room);
    if (spread) sgfsi_put(dev, b->n, room, s->block[net->layers].dense);
    if (s->block == NULL) return SGFS_OK;
    if (eta != sums) sgfsi_put(dev, b->n, eta, sums);
    sgfsi_network_backward(net, dev, there, b->n, sums, s->block, matrices);
    return SGFS_OK;
}

static void predict(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *out,
                    double *scratch) {
    const sgfsi_mlp *s = m->state;
    double *eta = b->afar != NULL ? out : scratch + b->n * sgfsi_network_scratch(&s->net);
    sgfsi_network_forward(&s->net, m->ctx.device, theta, b, NULL, eta, scratch);
    if (b->afar == NULL) {
        s->readout->predict(m, b->n, eta, out);
        return;
    }
    const sgfsi_classes c = {.n = b->n,
                             .K = last_layer(s)->out,
                             .E = out,
                             .own = b->afar->target,
                             .loglik = b->afar->loglik,
                             .plain = true};
    sgfsi_classes_of(m->ctx.device, &c);
}

static void curvature(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *A,
                      double *scratch) {
    const sgfsi_mlp *s = m->state;
    s->readout->curvature(m, theta, b, A, scratch);
}

/* A few rows at a time, in room that lies on the stack: SGFSI_MOST_UNITS and SGFSI_MOST_LABELS
 * leave space for one row at least. */
static void resample(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                     const double *normal, const double *uniform, double *y) {
    enum { ROOM = 1 << 14 };
    double room[ROOM], *matrices = room;
    const sgfsi_mlp *s = m->state;
    const double *there = sgfsi_model_there(m, theta, b, &matrices);
    int64_t rows = ROOM / m->scratch_per_row, out = last_layer(s)->out;
    for (int64_t first = 0; first < b->n; first += rows) {
        sgfs_batch some = *b;
        some.n = b->n - first < rows ? b->n - first : rows;
        some.x = b->x + first * b->p;
        double *sums = matrices + some.n * sgfsi_network_scratch(&s->net),
               *eta = b->room != NULL ? room : sums;
        sgfsi_network_forward(&s->net, m->ctx.device, there, &some, NULL, sums, matrices);
        if (eta != sums) sgfsi_get(m->ctx.device, some.n * out, sums, eta);
        s->readout->draw(m, theta, some.n, eta, normal + first, uniform + first, y + first);
    }
}

/* ---- start, and the user's scale ------------------------------------------------------------- */

static void start(const sgfs_model *m, double *theta, double *spread) {
    const sgfsi_mlp *s = m->state;
    const sgfsi_column *y = &m->data->target;
    double unit = is_gaussian(s) && y->sd > 0 ? y->sd / s->y_sd : 1; /* of the last layer's sums */
    uint64_t seed = (uint64_t)sgfsi_config_int(m->cfg, "run.seed");
    /* chains take iteration 0 of this purpose */
    sgfsi_stream stream = sgfsi_stream_at(seed, 0, 1, SGFSI_START);
    sgfsi_glm_start(m, theta, spread);
    sgfsi_uniforms(&stream, m->D, theta);
    for (int64_t l = 0; l < s->net.layers; l++) {
        const sgfsi_layer *at = &s->net.layer[l];
        double r = sqrt(6 / (double)(at->in - at->bias + at->out));
        if (l == s->net.layers - 1) r *= unit;
        for (int64_t k = 0; k < at->out * at->in; k++) {
            double column = l == 0 ? spread[k] : 1;
            bool bias = at->bias && k % at->in == 0;
            double *value = &theta[at->offset + k];
            *value = bias ? 0 : (2 * *value - 1) * r * column;
            spread[at->offset + k] = 2 * r * column;
        }
    }
    const sgfsi_layer *last = last_layer(s);
    if (!is_gaussian(s)) return;
    if (last->bias) theta[last->offset] = (y->mean - s->y_mean) / s->y_sd;
    if (s->known) return;
    theta[m->D - 1] = log(unit);
    spread[m->D - 1] = 1;
}

static void to_user(const sgfs_model *m, const double *theta, double *user) {
    const sgfsi_mlp *s = m->state;
    const sgfsi_layer *last = last_layer(s);
    memcpy(user, theta, (size_t)m->D * sizeof *user);
    sgfsi_glm_to_user(m, theta, user);
    if (!is_gaussian(s)) return;
    for (int64_t k = 0; k < last->in; k++) user[last->offset + k] *= s->y_sd;
    if (last->bias) user[last->offset] += s->y_mean;
    if (!s->known) user[m->D - 1] += log(s->y_sd);
}

/* Step by step backwards: without hidden layers the first layer is the last. */
static void from_user(const sgfs_model *m, const double *user, double *theta) {
    const sgfsi_mlp *s = m->state;
    const sgfsi_layer *last = last_layer(s);
    memcpy(theta, user, (size_t)m->D * sizeof *theta);
    if (is_gaussian(s)) {
        if (!s->known) theta[m->D - 1] -= log(s->y_sd);
        if (last->bias) theta[last->offset] -= s->y_mean;
        for (int64_t k = 0; k < last->in; k++) theta[last->offset + k] /= s->y_sd;
    }
    sgfsi_glm_from_user(m, theta, theta);
}

static const sgfs_option options[] = {
    {"model.hidden", "hidden", SGFS_TEXT, "auto", 1, 0, NULL,
     "units of the hidden layers: 30, or 100,50, or none (auto: 30; drbm: columns + 1)"},
    {"model.activation", "activation", SGFS_CHOICE, "logistic", 1, 0, "logistic|tanh|relu",
     "what a hidden unit makes of its sum"},
    {"model.output", "output", SGFS_CHOICE, "auto", 1, 0, "auto|softmax|logistic|gaussian",
     "what the target is: labels (softmax; logistic: two) or numbers (auto: by its values)"},
    {"model.sigma", "sigma", SGFS_NUMBER, "auto", 1e-300, 1e300, NULL,
     "known noise standard deviation (default: unknown, sampled as log_sigma)"},
    SGFSI_OPTIONS_END};

const sgfs_model_kind sgfs_model_mlp = {
    .name = "mlp",
    .help = "feed-forward network for labels or numbers",
    .options = options,
    .redundant = true,
    .far = true,
    .open = open_mlp,
    .scores = scores,
    .predict = predict,
    .curvature = curvature,
    .resample = resample,
    .start = start,
    .to_user = to_user,
    .from_user = from_user,
};
