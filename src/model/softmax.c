/* SPDX-License-Identifier: MIT
 * softmax.c: multinomial logistic regression, P_ik = p(y_i = k | x_i) = exp(eta_ik) / sum_l
 * exp(eta_il), with one row of coefficients for each of the K classes.
 *
 *     eta = X B'                    n x K, B (block "beta") K x p
 *     log p(y|x) = eta_y - max_k eta_k - log sum_k exp(eta_k - max)
 *     score of B: e_i (x) x_i,      e_ik = [y_i = k] - P_ik
 *     information, class k with l:  X' diag(P_k ([k = l] - P_l)) X      p x p
 *
 * One number added to the coefficients of all classes changes nothing. So one class, the first or
 * that of --reference-class, has coefficients 0 and is left out: B is (K-1) x p, every coefficient
 * is a difference to that class, and with two classes the model is logistic regression. With
 * --reference-class none all classes are treated alike (B is K x p, as in networks): only the prior
 * says then where the coefficients are together, and single ones are as wide as the prior. Logs and
 * probabilities come from the row's largest predictor, with one exp for each row and class: nothing
 * overflows.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "model/glm.h"
#include "model/many.h"
#include "model/prior.h"
#include "model/taylor_remainder.h"

enum { ROOM = 4096, NAME = 1024 }; /* numbers on the stack; bytes of a name */

typedef struct softmax {
    int64_t rows;      /* classes that have coefficients: K or K - 1 */
    int64_t reference; /* the class that has none, or -1 */
} softmax;

/* The row of B that belongs to a class; -1: none does. */
static int64_t row_of(const softmax *s, int64_t class) {
    if (class < 0 || class == s->reference) return -1;
    return s->reference >= 0 && class > s->reference ? class - 1 : class;
}

static int64_t class_of(const softmax *s, int64_t row) {
    return s->reference >= 0 && row >= s->reference ? row + 1 : row;
}

/* Where a device makes passes: the row of B, `rows` where the class has none, -1. */
static double far_target(const sgfs_model *m, double y) {
    const softmax *s = m->state;
    int64_t class = sgfsi_labels_class(&m->labels, y), row = row_of(s, class);
    return (double)(class >= 0 && row < 0 ? s->rows : row);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The label called `name`: by its text, or as a number (1.0 finds 1). */
static int64_t find_label(const sgfsi_labels *l, const char *name) {
    double wanted, value;
    for (int64_t k = 0; k < l->count; k++) {
        if (strcmp(l->name[k], name) == 0) return k;
    }
    for (int64_t k = 0; sgfsi_text_num(name, &wanted) && k < l->count; k++) {
        if (sgfsi_text_num(l->name[k], &value) && value == wanted) return k;
    }
    return -1;
}

static sgfs_status take_reference(sgfs_model *m, softmax *s, sgfs_err *err) {
    const char *name = sgfsi_config_text(m->cfg, "model.reference_class");
    const sgfsi_labels *l = &m->labels;
    s->reference = sgfsi_config_auto(m->cfg, "model.reference_class") ? 0 : find_label(l, name);
    s->rows = l->count - (s->reference >= 0 ? 1 : 0);
    if (s->reference >= 0 || strcmp(name, "none") == 0) return SGFS_OK;
    enum { SHOWN = 6 };
    const char *near = sgfsi_nearest(name, l->count, l->name);
    char known[256] = "";
    for (int64_t k = 0; k < l->count && k < SHOWN; k++)
        sgfsi_append(known, sizeof known, "%s\"%.30s\"", k > 0 ? ", " : "", l->name[k]);
    if (l->count > SHOWN)
        sgfsi_append(known, sizeof known, " and %lld more", (long long)(l->count - SHOWN));
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "--reference-class %.60s: the target \"%.60s\" has no such label%s%.60s%s; it "
        "has %s (none: no label is the reference).",
        name, m->data->target.name, near != NULL ? " (did you mean \"" : "",
        near != NULL ? near : "", near != NULL ? "\"?)" : "", known);
}

static sgfs_status open_softmax(sgfs_model *m, sgfs_err *err) {
    softmax *s = sgfsi_arena_alloc(&m->arena, 1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the model");
    m->state = s;
    sgfs_status status = sgfsi_labels_open(m, SGFSI_MOST_LABELS, err);
    if (status == SGFS_OK) status = take_reference(m, s, err);
    if (status == SGFS_OK) status = sgfsi_glm_open(m, s->rows, err);
    if (status != SGFS_OK) return status;
    /* "setosa: intercept", "setosa: petal width" */
    const sgfs_data *d = m->data;
    status = sgfsi_model_room_for_names(m, err);
    for (int64_t i = 0; status == SGFS_OK && i < m->D; i++) {
        char text[NAME];
        int64_t j = i % d->p - (d->p - d->features);
        snprintf(text, sizeof text, "%s: %s", m->labels.name[class_of(s, i / d->p)],
                 j < 0 ? "intercept" : d->feature[j].name);
        sgfsi_model_name(m, i, text);
    }
    if (status != SGFS_OK) return status;
    m->outputs = m->labels.count;
    m->far_target = far_target;
    m->ratio = s->reference >= 0 ? "odds ratio" : NULL;
    m->scratch_per_row = s->rows + 3;
    m->room_per_row = s->rows;
    m->curvature_scratch_per_row = s->rows + 4 + 2 * sgfsi_glm_scratch(m);
    m->exact_scratch_per_row = 3 + 3 * s->rows + s->rows * sgfsi_glm_scratch(m);
    sgfsi_glm_judge_prior(m, 1.0, sgfsi_labels_odds(m));
    if (m->restored != NULL) return SGFS_OK;
    if (s->reference >= 0) {
        sgfsi_say(sgfsi_config_log(m->cfg), SGFS_NOTE,
                  "Coefficients are differences to label \"%.60s\" (--reference-class names "
                  "another, or none).",
                  m->labels.name[s->reference]);
    } else if (sgfsi_prior_is_flat(m->cfg)) {
        sgfsi_warn(m->warnings, sgfsi_config_log(m->cfg),
                   "Without a prior the coefficients have no place of their own: one number added "
                   "to those of every class changes nothing, and the posterior cannot be "
                   "normalised. Use --reference-class %.60s, or a prior.",
                   m->labels.name[0]);
    }
    return SGFS_OK;
}

/* ---- probabilities --------------------------------------------------------------------------- */

static sgfsi_softmax lay_out(const softmax *s, int64_t n, double *P, double *scratch) {
    return (sgfsi_softmax){.n = n,
                           .rows = s->rows,
                           .further = s->reference >= 0,
                           .P = P,
                           .base = scratch,
                           .own = scratch + n,
                           .rest = scratch + 2 * n};
}

/* Probabilities of rows first .. first + o->n - 1 of b. A label the model does not know has
 * probability 0. Without y nothing is said of own classes. */
static void look(const sgfs_model *m, const double *theta, const sgfs_batch *b, int64_t first,
                 const double *y, const sgfsi_softmax *o) {
    const softmax *s = m->state;
    sgfsi_softmax known = *o;
    double *behind = NULL; /* P lies there already */
    sgfsi_glm_predictors(m, sgfsi_model_there(m, theta, b, &behind), b, first, o->n, o->P);
    if (y == NULL) known.own = NULL;
    for (int64_t i = 0; y != NULL && i < o->n; i++) {
        int64_t class = sgfsi_labels_class(&m->labels, y[i]), row = row_of(s, class);
        o->own[i] = (double)(class >= 0 && row < 0 ? s->rows : row);
    }
    sgfsi_softmax_of(m->ctx.device, &known);
}

static void errors(const sgfs_model *m, const sgfs_batch *b, int64_t K, bool brief, double *E,
                   double *loglik) {
    const softmax *s = m->state;
    const sgfsi_classes c = {.n = b->n * K,
                             .K = s->rows,
                             .E = E,
                             .own = b->afar->target,
                             .loglik = loglik,
                             .further = s->reference >= 0,
                             .each = K,
                             .brief = brief};
    sgfsi_gemm_nt(m->ctx.device, b->n, K * s->rows, b->p, 1.0, b->x, b->afar->theta, 0.0, E);
    sgfsi_classes_of(m->ctx.device, &c);
}

/* ---- the hooks ------------------------------------------------------------------------------- */

/* The left factors of a single row of B are a vector, the host's. */
static sgfs_status scores(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          sgfs_scores *out, double *scratch, sgfs_err *err) {
    const softmax *s = m->state;
    (void)err;
    bool wanted = out->block != NULL, in_place = wanted && (s->rows > 1 || b->room == NULL);
    double *own = b->room != NULL ? b->room + m->D : scratch + 3 * b->n;
    const sgfsi_softmax o = lay_out(s, b->n, in_place ? out->block[0].left : own, scratch);
    look(m, theta, b, 0, out->loglik != NULL ? b->y : NULL, &o);
    for (int64_t i = 0; out->loglik != NULL && i < b->n; i++) out->loglik[i] = o.own[i];
    if (out->loglik != NULL) sgfsi_log1p(m->ctx.device, b->n, o.rest, o.rest);
    for (int64_t i = 0; out->loglik != NULL && i < b->n; i++) out->loglik[i] -= o.rest[i];
    if (!wanted) return SGFS_OK;
    for (int64_t i = 0; i < b->n; i++)
        o.own[i] = (double)row_of(s, sgfsi_labels_class(&m->labels, b->y[i]));
    sgfsi_unit_less(m->ctx.device, b->n, s->rows, o.own, o.P);
    if (!in_place) sgfsi_get(m->ctx.device, b->n, o.P, out->block[0].left);
    return SGFS_OK;
}

static void predict(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *out,
                    double *scratch) {
    const softmax *s = m->state;
    int64_t K = m->labels.count;
    const sgfsi_softmax o = lay_out(s, b->n, scratch + 3 * b->n, scratch);
    look(m, theta, b, 0, NULL, &o);
    for (int64_t i = 0; i < b->n; i++) {
        for (int64_t k = 0; k < s->rows; k++) out[i * K + class_of(s, k)] = o.P[i * s->rows + k];
        if (s->reference >= 0) out[i * K + s->reference] = o.base[i];
    }
}

static void curvature(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *A,
                      double *scratch) {
    const softmax *s = m->state;
    const sgfsi_softmax o = lay_out(s, b->n, scratch + 3 * b->n, scratch);
    double *weight = o.P + b->n * s->rows, *room = weight + b->n;
    look(m, theta, b, 0, NULL, &o);
    for (int64_t k = 0; k < s->rows; k++) {
        for (int64_t l = 0; l <= k; l++) {
            for (int64_t i = 0; i < b->n; i++) {
                const double *P = o.P + i * s->rows;
                double often = b->weight != NULL ? b->weight[i] : 1;
                weight[i] = often * P[k] * ((k == l ? 1 : 0) - P[l]);
            }
            sgfsi_glm_curvature_pair(m, b, weight, k, l, A, room);
        }
    }
}

/* The rows' classes lie behind what the places need. */
static int64_t many_scratch(const sgfs_model *m, int64_t count, int64_t n) {
    return sgfsi_many_scratch(m, count, n) + n;
}

static void many(const sgfs_model *m, const sgfs_batch *b, const sgfs_places *at) {
    const softmax *s = m->state;
    double *own = at->scratch + sgfsi_many_scratch(m, at->count, b->n);
    for (int64_t i = 0; i < b->n; i++)
        own[i] = (double)row_of(s, sgfsi_labels_class(&m->labels, b->y[i]));
    sgfsi_many_softmax(m, s->reference >= 0, b, own, at);
}

/* ---- exact draws ----------------------------------------------------------------------------- */

/* Along a direction v the predictors of row i change by u_k = v_k'x (0: the class without
 * coefficients), and the third derivative of its log density is minus the third central moment of u
 * under the probabilities P at that place. With R the largest u_k - u_l, it is at most
 *     R^3/(6 sqrt 3)      for every P, or, where that is less,
 *     R Var(u),           and Var grows by the factor exp(R t) at most on a way of length t.
 * For all v with v'A v = 1, with M_kl = x'C_kl x of that row, C_kl the p x p blocks of C = A^-1:
 *     R^2     <=  max over k, l of  M_kk + M_ll - 2 M_kl
 *     Var(u)  <=  largest eigenvalue of  M (diag P - P P')
 *             <=  its trace,  and  max over k of  sum_l P_l |M_kl - sum_j P_j M_kj|.
 * The proofs are in docs/beyond.md. M is made and used row by row. */
typedef struct widths {
    double *range; /* n: R^2 so far */
    double *trace; /* n: that of M (diag P - P P') so far */
    double *sum;   /* n: the largest sum along a row of it so far */
    double *own;   /* n x rows: M_kk */
    double *row;   /* rows: M_k. of one row of the data */
} widths;

/* Row k of M for the i-th row of the batch. What is left of differences is not less than their
 * rounding: a row that is sure of its class has a variance near 0. */
static void note_row(const softmax *s, int64_t i, int64_t k, const double *P, const widths *w) {
    double *own = w->own + i * s->rows, range = w->range[i], mean = 0, sum = 0;
    double rounding = 1e-13 * w->row[k];
    own[k] = w->row[k];
    if (s->reference >= 0) range = fmax(range, own[k]);
    for (int64_t l = 0; l < k; l++) range = fmax(range, own[k] + own[l] - 2 * w->row[l]);
    for (int64_t l = 0; l < s->rows; l++) mean += P[l] * w->row[l];
    for (int64_t l = 0; l < s->rows; l++) sum += P[l] * fabs(w->row[l] - mean);
    w->range[i] = range;
    w->trace[i] += P[k] * (own[k] - mean) + rounding;
    w->sum[i] = fmax(w->sum[i], sum + rounding);
}

static void bound_third(const sgfs_model *m, const double *anchor, const double *C, double radius,
                        const sgfs_batch *b, double *third, double *growth, double *scratch) {
    const softmax *s = m->state;
    const double highest = 0.096225044864937627; /* 1/(6 sqrt 3) */
    const sgfsi_softmax o = lay_out(s, b->n, scratch + 3 * b->n, scratch);
    double *own = o.P + b->n * s->rows, *row = own + b->n * s->rows, *room = row + b->n * s->rows;
    widths w = {.range = third, .trace = o.own, .sum = o.rest, .own = own, .row = row};
    look(m, anchor, b, 0, NULL, &o);
    /* R^2 and the two bounds of Var(u) of every row; room: n x D for rows that are not sparse. */
    int64_t p = b->p, D = m->D;
    for (int64_t i = 0; i < b->n; i++) w.range[i] = w.trace[i] = w.sum[i] = 0;
    for (int64_t k = 0; k < s->rows; k++) {
        const double *strip = C + k * p * D; /* p x D: the blocks C_k1, C_k2, ... side by side */
        if (b->sparse == NULL)
            sgfsi_gemm_nn(m->ctx.device, b->n, D, p, 1.0, b->x, strip, 0.0, room);
        for (int64_t i = 0; i < b->n; i++) {
            for (int64_t l = 0; l < s->rows; l++) {
                w.row[l] = b->sparse != NULL
                               ? sgfsi_glm_sparse_square(b->sparse, i, strip + l * p, D)
                               : sgfsi_dot(m->ctx.device, p, b->x + i * p, room + i * D + l * p);
            }
            note_row(s, i, k, o.P + i * s->rows, &w);
        }
    }
    for (int64_t i = 0; i < b->n; i++) {
        double R = sqrt(third[i]), anywhere = highest * R * R * R;
        double near = R * fmin(w.trace[i], w.sum[i]) * exp(R * radius);
        third[i] = fmin(anywhere, near);
        if (near < anywhere) *growth = fmax(*growth, R);
    }
}

/* What the log of the sum of exponentials has beyond its second order, for one row. */
static double tail_of(const softmax *s, const double *eta, const double *u) {
    double log_p[SGFSI_MOST_LABELS + 1], p[SGFSI_MOST_LABELS + 1], v[SGFSI_MOST_LABELS + 1];
    int64_t K = s->rows;
    double top = s->reference >= 0 ? 0 : eta[0], sum = 0;
    for (int64_t k = 0; k < s->rows; k++) top = fmax(top, eta[k]);
    for (int64_t k = 0; k < s->rows; k++) {
        log_p[k] = eta[k] - top;
        v[k] = u[k];
    }
    if (s->reference >= 0) {
        log_p[K] = -top;
        v[K++] = 0;
    }
    for (int64_t k = 0; k < K; k++) sum += p[k] = exp(log_p[k]);
    for (int64_t k = 0; k < K; k++) p[k] /= sum;
    return sgfsi_law_tail(K, log_p, p, v);
}

/* The target's part is linear and cancels. */
static void remainders(const sgfs_model *m, const double *anchor, const double *from,
                       const double *to, const sgfs_batch *b, double *out, double *scratch) {
    const softmax *s = m->state;
    double *eta = scratch, *u = eta + b->n * s->rows, *room = u + b->n * s->rows;
    sgfsi_glm_predictors(m, anchor, b, 0, b->n, eta);
    sgfsi_glm_changes(m, anchor, from, b, u, room);
    for (int64_t i = 0; i < b->n; i++) out[i] = tail_of(s, eta + i * s->rows, u + i * s->rows);
    sgfsi_glm_changes(m, anchor, to, b, u, room);
    for (int64_t i = 0; i < b->n; i++) out[i] -= tail_of(s, eta + i * s->rows, u + i * s->rows);
}

/* ---- draws ----------------------------------------------------------------------------------- */

/* The class where the sum of the probabilities passes u. */
static int64_t pick(const softmax *s, const double *P, double base, double u) {
    int64_t class = -1;
    double sum = 0;
    for (int64_t k = 0; k < s->rows + (s->reference >= 0 ? 1 : 0); k++) {
        double more = k == s->reference ? base : P[row_of(s, k)];
        if (more > 0) class = k; /* rounding may leave the sum below u: the last one then */
        sum += more;
        if (u < sum) return k;
    }
    return class;
}

/* In blocks of as many rows as fit on the stack. */
static void resample(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                     const double *normal, const double *uniform, double *y) {
    const softmax *s = m->state;
    double room[ROOM + SGFSI_MOST_LABELS + 3];
    int64_t most = 1 + ROOM / (s->rows + 3);
    (void)normal;
    for (int64_t first = 0; first < b->n; first += most) {
        int64_t n = b->n - first < most ? b->n - first : most;
        double *P = room + 3 * n, *there = b->room != NULL ? b->room + m->D : P;
        const sgfsi_softmax o = lay_out(s, n, there, room);
        look(m, theta, b, first, NULL, &o);
        if (there != P) sgfsi_get(m->ctx.device, n * s->rows, there, P);
        for (int64_t i = 0; i < n; i++) {
            int64_t class = pick(s, P + i * s->rows, o.base[i], uniform[first + i]);
            y[first + i] = class >= 0 ? m->labels.value[class] : NAN;
        }
    }
}

static const sgfs_option options[] = {
    {"model.reference_class", "reference-class", SGFS_TEXT, "auto", 1, 0, NULL,
     "label whose coefficients are 0 (auto: the first; none: all classes alike)"},
    SGFSI_OPTIONS_END};

const sgfs_model_kind sgfs_model_softmax = {
    .name = "softmax",
    .help = "multinomial logistic regression, any number of classes of any name",
    .options = options,
    .sparse = true,
    .far = true,
    .regression = true,
    .one_mode = true,
    .open = open_softmax,
    .scores = scores,
    .predict = predict,
    .curvature = curvature,
    .third = bound_third,
    .remainder = remainders,
    .resample = resample,
    .many = many,
    .many_scratch = many_scratch,
    .errors = errors,
    .start = sgfsi_glm_start,
    .to_user = sgfsi_glm_to_user,
    .from_user = sgfsi_glm_from_user,
};
