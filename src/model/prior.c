/* SPDX-License-Identifier: MIT
 * prior.c: the prior of a model: which kind (prior_kinds.c), with which precisions (precisions.c),
 * and everything that is asked of it. A precision is meant on the scale the chain lives on (with
 * --standardize, or the default prior of a regression or a network: the standardised one) and for
 * every parameter, the intercept included, unless its own is given.
 *
 * A model opened again on other rows has the prior it had: precisions that differ are in the info
 * it brings along, and no file is read twice.
 */
#include "model/prior.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "model/linear.h"
#include "model/separation.h"

const sgfs_option sgfsi_prior_options[] = {
    {"prior.kind", "prior", SGFS_CHOICE, "auto", 1, 0, sgfsi_prior_choices,
     "prior of every parameter, of scale 1/sqrt(precision); auto: made for the columns"},
    {"prior.precision", "prior-precision", SGFS_TEXT, "auto", 1, 0, NULL,
     "lambda of the prior; also by block or parameter: 1,log_sigma=0.1,intercept=0"},
    {"prior.df", "prior-df", SGFS_NUMBER, "4", 1, 1e6, NULL,
     "degrees of freedom of --prior student-t"},
    {"prior.file", "prior-file", SGFS_FILE, "", 1, 0, NULL,
     "one precision per parameter from a file (.npy or text)"},
    SGFSI_OPTIONS_END};

bool sgfsi_prior_is_flat(const sgfs_config *cfg) {
    double lambda;
    bool plain = sgfsi_config_auto(cfg, "prior.file") &&
                 sgfsi_text_num(sgfsi_config_text(cfg, "prior.precision"), &lambda);
    return strcmp(sgfsi_config_text(cfg, "prior.kind"), "flat") == 0 || (plain && lambda == 0);
}

static const double layers_df = 2; /* of the scales of layers */

static int64_t beta_size(const sgfs_model *m) {
    return m->block[0].rows * m->block[0].cols;
}

/* ---- made for the columns -------------------------------------------------------------------- */

/* Are the options silent about the prior? */
static bool is_auto(const sgfs_config *cfg) {
    return strcmp(sgfsi_config_text(cfg, "prior.kind"), "auto") == 0 &&
           strcmp(sgfsi_config_text(cfg, "prior.precision"), "auto") == 0 &&
           sgfsi_config_auto(cfg, "prior.file");
}

bool sgfsi_prior_is_fitted(const sgfs_model *m) {
    bool some = m->kind->regression &&
                strcmp(sgfsi_config_text(m->cfg, "prior.kind"), "auto") == 0 &&
                sgfsi_config_auto(m->cfg, "prior.file") &&
                sgfsi_precisions_name_some(sgfsi_config_text(m->cfg, "prior.precision"));
    return some || ((m->kind->regression || m->kind->redundant) && is_auto(m->cfg));
}

sgfs_status sgfsi_prior_fit_columns(sgfs_model *m, sgfs_err *err) {
    if (!sgfsi_prior_is_fitted(m) || m->restored != NULL || m->data->scale != NULL) return SGFS_OK;
    m->own_data = sgfsi_data_view(m->data, NULL, 0, SGFSI_SAME_SCALE, err);
    if (m->own_data == NULL) return sgfsi_why(err);
    m->data = m->own_data;
    m->own_data->scaled_for_prior = true;
    m->own_data->scales_binary = false;
    return sgfsi_data_standardize(m->own_data, NULL, NULL, err);
}

sgfs_status sgfsi_prior_to_user(const sgfs_model *m, const double *size, double *user,
                                sgfs_err *err) {
    int64_t p = m->data->p, beta = m->block[0].rows * p;
    double *at = malloc((size_t)m->D * 3 * sizeof *at), *from = at + m->D, *to = from + m->D;
    if (at == NULL) return sgfsi_fail_memory(err, "the prior");
    memset(at, 0, (size_t)m->D * sizeof *at);
    m->kind->to_user(m, at, from);
    for (int intercepts = 0; intercepts < 2; intercepts++) {
        for (int64_t j = 0; j < m->D; j++) {
            bool mine = (m->data->intercept && j < beta && j % p == 0) == intercepts;
            at[j] = mine ? size[j] : 0;
        }
        m->kind->to_user(m, at, to);
        for (int64_t j = 0; j < m->D; j++)
            if (at[j] > 0) user[j] = to[j] - from[j];
    }
    free(at);
    return SGFS_OK;
}

/* For the run file: the standard deviations on the user's scale. One of infinity is not written. */
static sgfs_status remember_sds(sgfs_model *m, sgfs_err *err) {
    double *sd = SGFSI_DOUBLES(&m->arena, 2 * m->D), *chain = sd + m->D;
    if (sd == NULL) return sgfsi_fail_memory(err, "the prior");
    for (int64_t j = 0; j < m->D; j++) chain[j] = 1 / sqrt(m->prior->precision[j]);
    sgfs_status status = sgfsi_prior_to_user(m, chain, sd, err);
    if (status != SGFS_OK) return status;
    sgfsi_json_nums(m->saved, "prior_sds", m->D, sd);
    if (m->prior->layer == NULL) return SGFS_OK;
    for (int64_t j = 0; j < m->D; j++) sd[j] = m->prior->layer[j];
    sgfsi_json_nums(m->saved, "prior_layers", m->D, sd);
    sgfsi_json_num(m->saved, "prior_layers_df", layers_df);
    return SGFS_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Options that contradict each other. */
static sgfs_status check_options(const sgfs_config *cfg, const sgfsi_prior_kind *kind,
                                 sgfs_err *err) {
    bool file = !sgfsi_config_auto(cfg, "prior.file"),
         precision = sgfsi_config_given(cfg, "prior.precision");
    if (kind->flat && (file || precision)) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--prior %s has no precision: leave --prior-%s out, or choose another "
                          "--prior.",
                          kind->name, file ? "file" : "precision");
    }
    if (file && precision) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--prior-precision and --prior-file say the same thing: give one of "
                          "them.");
    }
    if (!kind->has_df && sgfsi_config_given(cfg, "prior.df")) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--prior-df has no meaning with --prior %s: only student-t has degrees "
                          "of freedom.",
                          kind->name);
    }
    return SGFS_OK;
}

static bool are_same(int64_t n, const double *x) {
    int64_t j = 1;
    while (j < n && x[j] == x[0]) j++;
    return j >= n;
}

/* Where the intercept's prior is meant, if that is not where the chain's columns are 0. */
static sgfs_status find_means(sgfs_model *m, sgfs_err *err) {
    const sgfs_data *d = m->data;
    const sgfsi_json *list =
        m->restored != NULL ? sgfsi_json_get(m->restored, "prior_means") : NULL;
    bool again = list != NULL && sgfsi_json_length(list) == d->p, moved = false;
    if (!d->intercept || !m->kind->regression || !sgfsi_prior_is_fitted(m)) return SGFS_OK;
    if (m->restored != NULL ? !again : d->scale == NULL) return SGFS_OK;
    double *means = SGFSI_DOUBLES(&m->arena, d->p);
    if (means == NULL) return sgfsi_fail_memory(err, "the prior");
    for (int64_t j = 1; j < d->p; j++) {
        if (again) (void)sgfsi_json_as_num(sgfsi_json_at(list, j), &means[j]);
        else if (!d->feature[j - 1].full)
            means[j] = (d->feature[j - 1].mean - d->shift[j - 1]) * d->scale[j - 1];
        moved = moved || means[j] != 0;
    }
    if (!moved) return SGFS_OK;
    m->prior->means = means;
    sgfsi_json_nums(m->saved, "prior_means", d->p, means);
    return SGFS_OK;
}

/* What the run file shall say: one number as the option, others as a list. */
static sgfs_status remember(sgfs_model *m, sgfs_err *err) {
    const double *precision = m->prior->precision;
    double number;
    bool plain = sgfsi_text_num(sgfsi_config_text(m->cfg, "prior.precision"), &number);
    bool fitted = sgfsi_prior_is_fitted(m);
    if (fitted || !are_same(m->D, precision))
        sgfsi_json_nums(m->saved, "prior_precisions", m->D, precision);
    const bool normal =
        fitted || (m->kind->regression && m->prior->kind->quadratic && m->kind->to_user != NULL);
    sgfs_status status = normal && m->restored == NULL ? remember_sds(m, err) : SGFS_OK;
    if (fitted || status != SGFS_OK) return status;
    status = sgfsi_config_default(m->own_cfg, "prior.kind", m->prior->kind->name, err);
    if (status != SGFS_OK) return status;
    if (!are_same(m->D, precision)) {
        return sgfsi_config_auto(m->cfg, "prior.file")
                   ? SGFS_OK
                   : sgfsi_config_default(m->own_cfg, "prior.precision", "", err);
    }
    if (plain && number == precision[0]) return SGFS_OK;
    char text[SGFSI_NUM_CHARS];
    sgfsi_format_num(text, precision[0]);
    return sgfsi_config_default(m->own_cfg, "prior.precision", text, err);
}

/* Is there a parameter that the data's units may well make so large that the prior forbids it? As
 * much as 20 standard deviations of a Gaussian, 200 in the log density. */
static void judge(sgfs_model *m) {
    const sgfsi_prior *p = m->prior;
    double most = 0;
    int64_t worst = -1;
    int64_t count = m->likely != NULL ? beta_size(m) : 0;
    for (int64_t j = 0; j < count; j++) {
        double fall = -p->kind->density(1, &p->precision[j], p->df, &m->likely[j]);
        if (!(fall > most)) continue;
        most = fall;
        worst = j;
    }
    if (most < 200) return;
    char law[80];
    const char *scale = SGFSI_DIGITS(1 / sqrt(p->precision[worst]), 3);
    if (p->kind->quadratic) snprintf(law, sizeof law, "N(0, %s^2)", scale);
    else snprintf(law, sizeof law, "%s of scale %s", p->kind->name, scale);
    sgfsi_warn(m->warnings, sgfsi_config_log(m->cfg),
               "The prior %s is narrow for these units: \"%s\" may well be of size %s, and the "
               "prior, not the data, would decide the answer. %s, or a smaller --prior-precision.",
               law, m->param[worst], SGFSI_DIGITS(m->likely[worst], 2),
               m->kind->regression ? "Use --prior auto" : "Use --standardize");
}

/* One prior for columns of any scale? Not where it is flat, or has a precision for each column. */
static void compare_columns(sgfs_model *m) {
    const sgfs_data *d = m->data;
    double least = INFINITY, most = 0;
    int64_t count = beta_size(m) > 0 ? beta_size(m) : m->D;
    if (m->prior->precision[0] == 0 || !are_same(count, m->prior->precision)) return;
    for (int64_t j = 0; d->scale == NULL && d->N > 1 && j < d->features; j++) {
        double sd = d->feature[j].sd;
        least = sd > 0 && sd < least ? sd : least;
        most = sd > most ? sd : most;
    }
    if (most > 1e4 * least)
        sgfsi_warn(m->warnings, sgfsi_config_log(m->cfg),
                   "The columns differ in scale by a factor of %.0e, and the prior treats them "
                   "alike: consider --standardize%s.",
                   most / least, m->kind->regression ? ", or --prior auto" : "");
}

/* Say which prior it is where nobody named one, and what may be wrong with one that was. */
static void tell(sgfs_model *m, bool automatic) {
    if (m->kind->regression && m->data->p > m->data->N && m->restored == NULL)
        sgfsi_warn(m->warnings, sgfsi_config_log(m->cfg),
                   "There are more coefficients (%lld) than rows (%lld): in the directions that "
                   "the rows do not see, the prior alone decides. Single coefficients say as much "
                   "of the prior as of the data; predictions are none the worse.",
                   (long long)m->data->p, (long long)m->data->N);
    if (!sgfsi_prior_is_fitted(m)) {
        judge(m);
        compare_columns(m);
        if (automatic)
            sgfsi_say(sgfsi_config_log(m->cfg), SGFS_NOTE,
                      "Prior: N(0, 1) for every parameter (--prior-precision and --prior-file have "
                      "other precisions).");
        return;
    }
    const sgfs_data *d = m->data;
    bool linear = sgfsi_is_linear(m);
    if (m->kind->redundant) {
        sgfsi_say(sgfsi_config_log(m->cfg), SGFS_NOTE,
                  "Prior: normal on standardised columns, its sd by layer, smaller where more "
                  "weights meet (docs/models.md; --prior-precision 1: N(0, 1) for every weight).");
        return;
    }
    const char *unit = !linear ? "" : d->intercept ? " sd(y)" : " rms(y)";
    const char *size = SGFSI_DIGITS(d->intercept || linear ? 2.5 : 2.5 * fmax(1, m->reach), 3);
    sgfsi_say(
        sgfsi_config_log(m->cfg), SGFS_NOTE,
        "Prior: %snormal with sd %s%s/sd(x) for columns of numbers, %s%s for columns of 0 and "
        "1%s%s (--prior-precision 1: N(0, 1) for every coefficient).",
        automatic ? "" : "besides what --prior-precision names, ", size, unit, size, unit,
        d->intercept ? " and the intercept at the columns' means" : "",
        !linear        ? ""
        : d->intercept ? ", around mean(y); 3 for log_sigma, around log sd(y)"
                       : "; 3 for log_sigma, around log sd(y)");
}

sgfs_status sgfsi_prior_open(sgfs_model *m, sgfs_err *err) {
    bool own = m->kind->log_prior != NULL;
    for (const sgfs_option *r = sgfsi_prior_options; own && r->key != NULL; r++) {
        if (m->restored != NULL || !sgfsi_config_given(m->cfg, r->key)) continue;
        return sgfsi_fail(err, SGFS_EUSAGE, "Model %.150s has a prior of its own: leave out --%s.",
                          m->kind->name, r->flag);
    }
    if (m->precision == NULL) m->precision = SGFSI_DOUBLES(&m->arena, m->D);
    if (own && m->precision != NULL) return SGFS_OK; /* zeros where the model does not know it */
    sgfsi_prior *p = sgfsi_arena_alloc(&m->arena, 1, sizeof *p);
    if (p != NULL) p->precision = SGFSI_DOUBLES(&m->arena, m->D);
    if (p == NULL || p->precision == NULL || m->precision == NULL)
        return sgfsi_fail_memory(err, "the prior");
    const sgfsi_prior_kind *const *kind = sgfsi_priors; /* the first, gaussian, where it is auto */
    bool named = !sgfsi_config_auto(m->cfg, "prior.kind"); /* the option takes no other */
    while (named && strcmp((*kind)->name, sgfsi_config_text(m->cfg, "prior.kind")) != 0) kind++;
    p->kind = *kind;
    p->df = p->kind->has_df ? sgfsi_config_num(m->cfg, "prior.df") : INFINITY;
    if (sgfsi_prior_is_fitted(m)) p->layer = m->layer;
    m->prior = p;
    sgfs_status status = m->restored == NULL ? check_options(m->cfg, p->kind, err) : SGFS_OK;
    if (status == SGFS_OK && !p->kind->flat) status = sgfsi_precisions_read(m, p->precision, err);
    if (status == SGFS_OK) status = find_means(m, err);
    bool automatic = is_auto(m->cfg); /* which remembering changes */
    if (status == SGFS_OK) status = remember(m, err);
    if (status != SGFS_OK) return status;
    for (int64_t j = 0; j < m->D; j++) {
        m->precision[j] = p->kind->information(p->precision[j], p->df);
    }
    for (int64_t j = 0; p->means != NULL && j < beta_size(m); j++) {
        double mean = p->means[j % m->data->p];
        m->precision[j] += p->precision[j - j % m->data->p] * mean * mean;
    }
    if (m->restored != NULL) return SGFS_OK;
    tell(m, automatic);
    return sgfsi_separation_tell(m, err);
}

/* ---- at theta -------------------------------------------------------------------------------- */

/* What the common scale of each layer changes of the Gaussian, which has been added. */
static void share_scales(const sgfsi_prior *p, int64_t D, const double *theta, double *lp,
                         double *G) {
    const double nu = layers_df;
    double n[SGFSI_MOST_BLOCKS + 1] = {0}, q[SGFSI_MOST_BLOCKS + 1] = {0};
    for (int64_t j = 0; j < D; j++) {
        n[p->layer[j]]++;
        q[p->layer[j]] += p->precision[j] * theta[j] * theta[j];
    }
    for (int64_t l = 1; l <= SGFSI_MOST_BLOCKS && lp != NULL; l++)
        *lp += 0.5 * (q[l] - n[l] - (nu + n[l]) * log((nu + q[l]) / (nu + n[l])));
    for (int64_t j = 0; j < D && G != NULL; j++) {
        int64_t l = p->layer[j];
        if (l > 0) G[j] += (1 - (nu + n[l]) / (nu + q[l])) * p->precision[j] * theta[j];
    }
}

/* The same for an intercept whose prior is meant at the columns' means: P_0 theta_0^2 becomes
 * P_0 (theta_0 + m'beta)^2. */
static void move_to_means(const sgfs_model *m, const double *theta, double *lp, double *G) {
    int64_t p = m->data->p;
    for (int64_t first = 0; first < beta_size(m); first += p) {
        double P = m->prior->precision[first];
        double away = sgfsi_dot(m->ctx.near, p, m->prior->means, theta + first);
        double there = theta[first] + away;
        if (lp != NULL) *lp -= 0.5 * P * away * (theta[first] + there);
        if (G == NULL) continue;
        G[first] -= P * away;
        sgfsi_axpy(m->ctx.near, p, -P * there, m->prior->means, G + first);
    }
}

sgfs_status sgfsi_prior_add(const sgfs_model *m, const double *theta, double *lp, double *G,
                            sgfs_err *err) {
    const sgfsi_prior *p = m->prior;
    if (p == NULL) {
        double own = 0;
        sgfs_status status = m->kind->log_prior(m, theta, lp != NULL ? &own : NULL, G, err);
        if (lp != NULL) *lp += own;
        return status;
    }
    if (lp != NULL) *lp += p->kind->density(m->D, p->precision, p->df, theta);
    if (G != NULL) p->kind->add_gradient(m->D, p->precision, p->df, theta, G);
    if (p->layer != NULL) share_scales(p, m->D, theta, lp, G);
    if (p->means != NULL) move_to_means(m, theta, lp, G);
    return SGFS_OK;
}

double sgfsi_prior_curvature(const sgfs_model *m, const double *theta, int64_t j) {
    const sgfsi_prior *p = m->prior;
    bool known = p != NULL && p->kind->curvature != NULL;
    return known ? p->kind->curvature(p->precision[j], p->df, theta[j]) : m->precision[j];
}

void sgfsi_prior_add_curvature(const sgfs_model *m, const double *theta, double *A) {
    for (int64_t j = 0; j < m->D; j++) A[j * m->D + j] += sgfsi_prior_curvature(m, theta, j);
    const double *means = m->prior != NULL ? m->prior->means : NULL;
    int64_t p = m->data->p;
    for (int64_t i = 0; means != NULL && i < beta_size(m); i++) {
        int64_t first = i - i % p;
        double *row = A + i * m->D + first, P = m->prior->precision[first] * means[i - first];
        row[0] += P;
        for (int64_t j = 1; j <= i - first; j++) row[j] += P * means[j];
    }
}

/* ---- what others want to know ---------------------------------------------------------------- */

bool sgfsi_prior_is_smooth(const sgfs_model *m) {
    return m->prior == NULL || m->prior->kind->curvature != NULL;
}

bool sgfsi_prior_is_quadratic(const sgfs_model *m) {
    return m->prior != NULL && m->prior->kind->quadratic;
}

/* With few degrees of freedom a draw from the prior lies beyond x scales with probability of about
 * x^-nu: a million scales are common where nu is below 2. One draw in 1e12 may pass for lost. */
double sgfsi_prior_length(const sgfs_model *m, int64_t j) {
    if (j >= m->base) return 0; /* of groups */
    if (!(m->precision[j] > 0)) return 0;
    double tail = m->prior != NULL ? fmax(1, pow(10, 12 / m->prior->df - 6)) : 1;
    return tail / sqrt(m->precision[j]);
}

static bool is_flat(const sgfs_model *m) {
    int64_t j = 0;
    while (j < m->D && m->precision[j] == 0) j++;
    return j == m->D;
}

const char *sgfsi_prior_caution(const sgfs_model *m) {
    if (m->prior == NULL && is_flat(m)) {
        return "The model's own prior is not counted in the matrix of SGFS (its curvature is not "
               "known): approximate where the prior matters.";
    }
    if (m->prior == NULL || is_flat(m) || m->prior->kind->quadratic) return NULL;
    return "The prior is not Gaussian: SGFS is right about it where the data decide. Parameters "
           "that the data say little about lose the prior's tails (at alpha 0 and without data "
           "about a tenth of the sd, more with --prior-df below 4).";
}

void sgfsi_prior_describe(const sgfs_model *m, sgfsi_json *o) {
    const sgfsi_prior *p = m->prior;
    char text[SGFSI_NUM_CHARS];
    sgfsi_json_text(o, "prior", p != NULL ? p->kind->name : "model");
    if (p == NULL) return;
    if (p->kind->has_df) sgfsi_json_num(o, "prior_df", p->df);
    if (p->means != NULL) sgfsi_json_nums(o, "prior_means", m->data->p, p->means);
    if (are_same(m->D, p->precision)) {
        sgfsi_format_num(text, p->precision[0]);
        sgfsi_json_text(o, "prior_precision", text);
    } else {
        sgfsi_json_nums(o, "prior_precisions", m->D, p->precision);
    }
}
