/* SPDX-License-Identifier: MIT
 * scales.c: how much effects vary between groups: parameters, their names and their prior.
 *
 * Canonical partial correlations (Lewandowski, Kurowicka, Joe 2009): with r_ij = tanh(shape), row i
 * of the correlations' Cholesky factor is r_i1, r_i2 sqrt(1 - r_i1^2), ... A uniform correlation
 * matrix has independent r_ij with density prop. to (1 - r^2)^(b - 1), b = 1 + (q - 1 - j)/2, j
 * from 1; dr/dshape = 1 - r^2 makes the power b.
 */
#include "model/scales.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/linear.h"

static const double student_df = 3;

static sgfs_status name_parameters(sgfs_model *m, int64_t before, sgfs_err *err) {
    char **names = sgfsi_arena_alloc(&m->arena, m->D, sizeof *names);
    if (names == NULL) return sgfsi_fail_memory(err, "the parameter names");
    memcpy(names, m->param, (size_t)before * sizeof *names);
    m->param = names;
    for (int64_t k = 0; k < m->scales->groups->terms; k++) {
        const sgfsi_term_scales *t = &m->scales->term[k];
        const sgfsi_term *term = t->term;
        char text[400];
        int64_t at = t->at;
        for (int64_t i = 0; i < t->q; i++) {
            snprintf(text, sizeof text, "sd_%s[%s]", term->factor->name, term->effect[i]);
            sgfsi_model_name(m, at++, text);
        }
        for (int64_t i = 1; term->correlated && i < t->q; i++)
            for (int64_t j = 0; j < i; j++) {
                snprintf(text, sizeof text, "cor_%s[%s,%s]", term->factor->name, term->effect[j],
                         term->effect[i]);
                sgfsi_model_name(m, at++, text);
            }
        if (m->scales->icc < 0) continue;
        snprintf(text, sizeof text, "icc_%s", term->factor->name);
        sgfsi_model_name(m, m->scales->icc + k, text);
    }
    return sgfsi_arena_failed(&m->arena) ? sgfsi_fail_memory(err, "the parameter names") : SGFS_OK;
}

/* Does an intraclass correlation mean something, whatever the row? */
static bool has_icc(const sgfs_model *m) {
    bool plain = sgfsi_is_linear(m) || strcmp(m->kind->name, sgfs_model_logistic.name) == 0;
    for (int64_t k = 0; k < m->scales->groups->terms; k++)
        plain = plain && m->scales->term[k].q == 1 && m->scales->term[k].term->intercept;
    return plain;
}

sgfs_status sgfsi_scales_open(sgfs_model *m, sgfs_err *err) {
    const sgfs_data *d = m->data;
    m->base = m->D;
    if (d->groups == NULL) return SGFS_OK;
    bool fits = m->kind->by_predictor && m->kind->curvature != NULL && m->kind->user == NULL;
    if (!fits)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "Model %s knows no effects of groups; models linear, logistic and "
                          "poisson do.",
                          m->kind->name);
    if (sgfsi_data_is_sparse(d))
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: effects of groups need rows with all their numbers; these are "
                          "sparse (--dense).",
                          d->path);
    sgfsi_scales *s = sgfsi_arena_alloc(&m->arena, 1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the groups");
    bool linear = sgfsi_is_linear(m), own = !sgfsi_config_auto(m->cfg, "sampler.group_scale");
    double unit = linear ? sgfsi_linear_unit(m) : 1;
    double size = linear && d->target.sd > 0 ? 2.5 * d->target.sd / unit : 2.5;
    m->scales = s;
    s->groups = d->groups;
    s->unit = unit;
    s->student = strcmp(sgfsi_config_text(m->cfg, "sampler.group_prior"), "half-t") == 0;
    for (int64_t k = 0; k < s->groups->terms; k++) {
        sgfsi_term_scales *t = &s->term[k];
        t->term = &s->groups->term[k];
        t->q = t->term->q;
        t->count = t->q + (t->term->correlated ? t->q * (t->q - 1) / 2 : 0);
        char name[300];
        snprintf(name, sizeof name, "groups_%s", t->term->factor->name);
        const char *kept = sgfsi_arena_text(&m->arena, name);
        sgfs_block *b = sgfsi_model_add_block(m, kept, t->count, 1, SGFS_SCORE_DENSE);
        if (b == NULL || kept == NULL) return sgfsi_fail_memory(err, "the groups");
        t->at = b->offset;
        for (int64_t i = 0; i < t->q; i++) {
            int64_t j = i - t->term->intercept;
            double sd = j >= 0 ? d->feature[t->term->slope[j]].sd : 1;
            t->scale[i] = own ? sgfsi_config_num(m->cfg, "sampler.group_scale") / unit
                              : size / (sd > 0 ? sd : 1);
        }
    }
    s->blocks = s->groups->terms;
    s->icc = -1;
    if (has_icc(m)) {
        const sgfs_block *b =
            sgfsi_model_add_block(m, "icc", s->groups->terms, 1, SGFS_SCORE_DENSE);
        if (b == NULL) return sgfsi_fail_memory(err, "the groups");
        s->icc = b->offset;
        s->blocks++;
    }
    if (m->restored == NULL)
        sgfsi_say(sgfsi_config_log(m->cfg), SGFS_NOTE,
                  "Prior of standard deviations between groups: half-%s of scale %s%s%s "
                  "(--group-scale, --group-prior); correlations are uniform.",
                  s->student ? "t with 3 degrees of freedom" : "normal",
                  own ? SGFSI_DIGITS(sgfsi_config_num(m->cfg, "sampler.group_scale"), 4) : "2.5",
                  own || !linear ? "" : " sd(y)", own ? "" : ", of a slope over sd(x)");
    sgfsi_groups_describe(s->groups, sgfsi_json_array_in(m->saved, "groups"));
    return name_parameters(m, m->base, err);
}

sgfs_status sgfsi_scales_refuse(const sgfs_model *m, sgfs_err *err) {
    if (m->scales == NULL) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "Effects that vary between groups (--effects, or brackets in --formula) are "
                      "known to `sgfs sample` with sampler groups alone.");
}

void sgfsi_scales_factor(const sgfsi_term_scales *t, const double *shape, double *C) {
    const double *r = shape + t->q;
    for (int64_t i = 0; i < t->q; i++) {
        double left = 1, sd = exp(shape[i]);
        for (int64_t j = 0; j < i; j++) {
            double cpc = t->term->correlated ? tanh(*r++) : 0;
            C[i * t->q + j] = sd * cpc * sqrt(left);
            left *= 1 - cpc * cpc;
        }
        C[i * t->q + i] = sd * sqrt(left);
        for (int64_t j = i + 1; j < t->q; j++) C[i * t->q + j] = 0;
    }
}

/* log(1 - tanh^2 x), without cancellation */
static double log_rest(double x) {
    double e = exp(-2 * fabs(x));
    return 2 * (0.69314718055994531 - fabs(x) - log1p(e));
}

double sgfsi_scales_prior(const sgfsi_scales *s, const sgfsi_term_scales *t, const double *shape) {
    const double *r = shape + t->q;
    double lp = 0;
    for (int64_t i = 0; i < t->q; i++) {
        double x = exp(shape[i]) / t->scale[i];
        lp += shape[i] -
              (s->student ? 0.5 * (student_df + 1) * log1p(x * x / student_df) : 0.5 * x * x);
    }
    for (int64_t i = 1; t->term->correlated && i < t->q; i++)
        for (int64_t j = 0; j < i; j++) lp += (1 + 0.5 * (double)(t->q - 2 - j)) * log_rest(*r++);
    return lp;
}

void sgfsi_scales_put(const sgfsi_term_scales *t, const double *shape, double *theta) {
    double C[SGFSI_MOST_EFFECTS * SGFSI_MOST_EFFECTS], *to = theta + t->at;
    int64_t q = t->q;
    sgfsi_scales_factor(t, shape, C);
    for (int64_t i = 0; i < q; i++) *to++ = exp(shape[i]);
    for (int64_t i = 1; t->term->correlated && i < q; i++)
        for (int64_t j = 0; j < i; j++) {
            double sum = 0;
            for (int64_t k = 0; k <= j; k++) sum += C[i * q + k] * C[j * q + k];
            *to++ = sum * exp(-shape[i] - shape[j]);
        }
}

void sgfsi_scales_to_user(const sgfs_model *m, const double *theta, double *user) {
    for (int64_t k = 0; m->scales != NULL && k < m->scales->groups->terms; k++) {
        const sgfsi_term_scales *t = &m->scales->term[k];
        for (int64_t i = 0; i < t->count; i++)
            user[t->at + i] = theta[t->at + i] * (i < t->q ? m->scales->unit : 1);
    }
    if (m->scales == NULL || m->scales->icc < 0) return;
    double variance = SGFSI_LATENT_VARIANCE;
    if (sgfsi_is_linear(m)) {
        double known = sgfsi_linear_known_log_sigma(m) + log(m->scales->unit);
        variance = exp(2 * (isnan(known) ? user[m->base - 1] : known));
    }
    for (int64_t k = 0; k < m->scales->groups->terms; k++) {
        double sd = user[m->scales->term[k].at];
        user[m->scales->icc + k] = sd * sd;
        variance += sd * sd;
    }
    for (int64_t k = 0; k < m->scales->groups->terms; k++) user[m->scales->icc + k] /= variance;
}
