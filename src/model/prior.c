/* SPDX-License-Identifier: MIT
 * prior.c: the prior of a model: which kind (prior_kinds.c), with which precisions (precisions.c),
 * and everything that is asked of it. A precision is meant on the scale the chain lives on (with
 * --standardize: the standardised one) and for every parameter, the intercept included, unless its
 * own is given.
 *
 * A model opened again on other rows has the prior it had: precisions that differ are in the info
 * it brings along, and no file is read twice.
 */
#include "model/prior.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

const sgfs_option sgfsi_prior_options[] = {
    {"prior.kind", "prior", SGFS_CHOICE, "gaussian", 1, 0, sgfsi_prior_choices + 1,
     "prior of every parameter: its scale is 1/sqrt(precision)"},
    {"prior.precision", "prior-precision", SGFS_TEXT, "1", 1, 0, NULL,
     "lambda of the prior; also by block or parameter: 1,log_sigma=0.1,intercept=0"},
    {"prior.df", "prior-df", SGFS_NUMBER, "4", 1, 1e6, NULL,
     "degrees of freedom of --prior student-t"},
    {"prior.file", "prior-file", SGFS_TEXT, "", 1, 0, NULL,
     "one precision per parameter from a file (.npy or text)"},
    SGFSI_OPTIONS_END};

bool sgfsi_prior_is_flat(const sgfs_config *cfg) {
    double lambda;
    bool plain = sgfsi_config_auto(cfg, "prior.file") &&
                 sgfsi_text_num(sgfsi_config_text(cfg, "prior.precision"), &lambda);
    return strcmp(sgfsi_config_text(cfg, "prior.kind"), "flat") == 0 || (plain && lambda == 0);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Options that contradict each other. */
static sgfs_status check_options(const sgfs_config *cfg, const sgfsi_prior_kind *kind,
                                 sgfs_err *err) {
    bool file = !sgfsi_config_auto(cfg, "prior.file"),
         precision = sgfsi_config_given(cfg, "prior.precision");
    if (strcmp(kind->name, "flat") == 0 && (file || precision)) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--prior flat has no precision: leave --prior-%s out, or choose another "
                          "--prior.",
                          file ? "file" : "precision");
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

/* What the run file shall say: one number as the option, others as a list. */
static sgfs_status remember(sgfs_model *m, sgfs_err *err) {
    const double *precision = m->prior->precision;
    double number;
    bool plain = sgfsi_text_num(sgfsi_config_text(m->cfg, "prior.precision"), &number);
    if (!are_same(m->D, precision)) {
        sgfsi_json_nums(m->saved, "prior_precisions", m->D, precision);
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
    int64_t count = m->likely != NULL ? m->block[0].rows * m->block[0].cols : 0;
    for (int64_t j = 0; j < count; j++) {
        double fall = -p->kind->density(1, &p->precision[j], p->df, &m->likely[j]);
        if (!(fall > most)) continue;
        most = fall;
        worst = j;
    }
    if (most < 200) return;
    char law[80];
    const char *scale = SGFSI_DIGITS(1 / sqrt(p->precision[worst]), 3);
    if (strcmp(p->kind->name, "gaussian") == 0) snprintf(law, sizeof law, "N(0, %s^2)", scale);
    else snprintf(law, sizeof law, "%s of scale %s", p->kind->name, scale);
    sgfsi_warn(m->warnings, sgfsi_config_log(m->cfg),
               "The prior %s is narrow for these units: \"%s\" may well be of size %s, and the "
               "prior, not the data, would decide the answer. Use --standardize, or a smaller "
               "--prior-precision.",
               law, m->param[worst], SGFSI_DIGITS(m->likely[worst], 2));
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
    const sgfsi_prior_kind *const *kind = sgfsi_priors;
    while (strcmp((*kind)->name, sgfsi_config_text(m->cfg, "prior.kind")) != 0) kind++;
    p->kind = *kind; /* the option takes no other */
    p->df = p->kind->has_df ? sgfsi_config_num(m->cfg, "prior.df") : INFINITY;
    m->prior = p;
    bool is_flat = strcmp(p->kind->name, "flat") == 0;
    sgfs_status status = m->restored == NULL ? check_options(m->cfg, p->kind, err) : SGFS_OK;
    if (status == SGFS_OK && !is_flat) status = sgfsi_precisions_read(m, p->precision, err);
    if (status == SGFS_OK) status = remember(m, err);
    if (status != SGFS_OK) return status;
    for (int64_t j = 0; j < m->D; j++) {
        m->precision[j] = p->kind->information(p->precision[j], p->df);
    }
    judge(m);
    return SGFS_OK;
}

sgfs_model sgfsi_prior_lend(const sgfs_model *m, sgfsi_prior *prior) {
    sgfs_model lent = *m;
    lent.prior = prior;
    lent.precision = prior->precision;
    return lent;
}

/* ---- at theta -------------------------------------------------------------------------------- */

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
    return SGFS_OK;
}

double sgfsi_prior_curvature(const sgfs_model *m, const double *theta, int64_t j) {
    const sgfsi_prior *p = m->prior;
    bool known = p != NULL && p->kind->curvature != NULL;
    return known ? p->kind->curvature(p->precision[j], p->df, theta[j]) : m->precision[j];
}

void sgfsi_prior_add_curvature(const sgfs_model *m, const double *theta, double *A) {
    for (int64_t j = 0; j < m->D; j++) A[j * m->D + j] += sgfsi_prior_curvature(m, theta, j);
}

/* ---- what others want to know ---------------------------------------------------------------- */

bool sgfsi_prior_is_smooth(const sgfs_model *m) {
    return m->prior == NULL || m->prior->kind->curvature != NULL;
}

bool sgfsi_prior_is_quadratic(const sgfs_model *m) {
    if (m->prior == NULL) return false;
    const char *name = m->prior->kind->name;
    return strcmp(name, "gaussian") == 0 || strcmp(name, "flat") == 0;
}

/* With few degrees of freedom a draw from the prior lies beyond x scales with probability of about
 * x^-nu: a million scales are common where nu is below 2. One draw in 1e12 may pass for lost. */
double sgfsi_prior_length(const sgfs_model *m, int64_t j) {
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
    if (m->prior == NULL || is_flat(m) || strcmp(m->prior->kind->name, "gaussian") == 0)
        return NULL;
    return "The prior is not Gaussian: SGFS is right about it where the data decide. Parameters "
           "that the data say little about lose the prior's tails (at alpha 0 and without data "
           "about a tenth of the sd, more with --prior-df below 4). Compare with --sampler nuts, "
           "or with a larger --alpha.";
}

void sgfsi_prior_describe(const sgfs_model *m, sgfsi_json *o) {
    const sgfsi_prior *p = m->prior;
    char text[SGFSI_NUM_CHARS];
    sgfsi_json_text(o, "prior", p != NULL ? p->kind->name : "model");
    if (p == NULL) return;
    if (p->kind->has_df) sgfsi_json_num(o, "prior_df", p->df);
    if (are_same(m->D, p->precision)) {
        sgfsi_format_num(text, p->precision[0]);
        sgfsi_json_text(o, "prior_precision", text);
    } else {
        sgfsi_json_nums(o, "prior_precisions", m->D, p->precision);
    }
}
