/* SPDX-License-Identifier: MIT
 * precisions.c: one precision for each parameter, from --prior-precision or --prior-file.
 *
 *     auto                            1; in a prior made for the columns (prior.h) 1/2.5^2 for
 *                                     beta, and less where there is no intercept; by layer for
 *                                     networks
 *     0.5                             all of them
 *     log_sigma=0.01,age=4            by block or parameter; in a regression the rest keeps the
 *                                     prior made for the columns, elsewhere it has 1
 *     beta=1                          all coefficients: nothing is made for the columns then
 *     0.1,beta=1,intercept=0          a number without a name is the rest; a parameter's own number
 *                                     goes before that of its block, in whatever order they stand
 *
 * Names of parameters come from data and may hold commas and equals signs ("W[2,5]"). So a name
 * ends at the first '=' behind which there is a number and then a comma or the end.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/nearest.h"
#include "base/number.h"
#include "model/prior.h"

static const double rest_by_default = 1, most = 1e300;
/* of the prior made for columns */
static const double precision_of_columns = 1 / (SGFSI_PRIOR_COLUMNS * SGFSI_PRIOR_COLUMNS),
                    precision_of_noise = 1 / (SGFSI_PRIOR_NOISE * SGFSI_PRIOR_NOISE);

/* ---- one item of the list -------------------------------------------------------------------- */

typedef struct item {
    const char *name; /* not ended by 0 */
    int length;       /* of the name; 0: a number without one */
    double value;
    const char *next; /* behind the comma, or the end */
} item;

static const char *skip_blanks(const char *s, const char *end) {
    while (s < end && (*s == ' ' || *s == '\t')) s++;
    return s;
}

/* Is there a number at s, and nothing else up to a comma or the end? */
static bool take_number(const char *s, const char *end, item *out) {
    const char *stop = sgfsi_parse_num(skip_blanks(s, end), end, &out->value);
    if (stop == NULL) return false;
    stop = skip_blanks(stop, end);
    if (stop < end && *stop != ',') return false;
    out->next = stop < end ? stop + 1 : end;
    return true;
}

/* Up to the first comma that is not inside brackets. */
static int length_of_piece(const char *s, const char *end) {
    const char *at = s;
    for (int depth = 0; at < end && (depth > 0 || *at != ','); at++)
        depth += (*at == '[') - (*at == ']');
    return at - s < 80 ? (int)(at - s) : 80;
}

static sgfs_status no_number(const char *s, const char *end, sgfs_err *err) {
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "--prior-precision takes a number, or a list like 1,log_sigma=0.1,intercept=0 "
        "with names of blocks or parameters; \"%.*s\" is neither.",
        length_of_piece(s, end), s);
}

static sgfs_status next_item(const char *s, const char *end, item *out, sgfs_err *err) {
    s = skip_blanks(s, end);
    *out = (item){.name = s};
    bool found = take_number(s, end, out);
    for (const char *at = s; !found && at < end; at++) {
        if (*at != '=' || at == s || !take_number(at + 1, end, out)) continue;
        found = true;
        while (at > s && (at[-1] == ' ' || at[-1] == '\t')) at--;
        out->length = (int)(at - s);
    }
    if (!found) return no_number(s, end, err);
    if (out->value >= 0 && out->value <= most) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--prior-precision must be a finite number of at least 0, not \"%.*s\".",
                      length_of_piece(s, end), s);
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_called(const item *i, const char *name) {
    return strlen(name) == (size_t)i->length && memcmp(i->name, name, (size_t)i->length) == 0;
}

static sgfs_status unknown_name(const sgfs_model *m, const item *i, const char *end,
                                sgfs_err *err) {
    char name[64] = "";
    sgfsi_guess g = {.word = name, .least = INT64_MAX};
    if (length_of_piece(i->name, end) < i->length) return no_number(i->name, end, err);
    memcpy(name, i->name, (size_t)(i->length < 63 ? i->length : 63));
    for (int64_t k = 0; k < m->blocks; k++) sgfsi_guess_try(&g, m->block[k].name);
    for (int64_t j = 0; j < m->D; j++) sgfsi_guess_try(&g, m->param[j]);
    const char *near = sgfsi_guess_near(&g);
    if (near != NULL)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--prior-precision: model %s has no block or parameter \"%s\". Did you "
                          "mean \"%s\"?",
                          m->kind->name, name, near);
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--prior-precision: model %s has no block or parameter \"%s\"; its first "
                      "block is \"%s\", its first parameter \"%s\".",
                      m->kind->name, name, m->block[0].name, m->param[0]);
}

/* ---- the list -------------------------------------------------------------------------------- */

enum { BY_REST, BY_BLOCK, BY_NAME };

typedef struct reading {
    const sgfs_model *m;
    double *precision;   /* D */
    unsigned char *from; /* D: what the precision was given by */
    bool block_seen[SGFSI_MOST_BLOCKS];
    double rest; /* NaN: not given */
} reading;

static sgfs_status given_twice(const item *i, sgfs_err *err) {
    int shown = i->length < 80 ? i->length : 80;
    return sgfsi_fail(err, SGFS_EUSAGE, "--prior-precision: \"%.*s\" is there twice.", shown,
                      i->name);
}

static sgfs_status take_block(reading *r, const item *i, int64_t b, sgfs_err *err) {
    const sgfs_block *k = &r->m->block[b];
    if (r->block_seen[b]) return given_twice(i, err);
    r->block_seen[b] = true;
    for (int64_t j = k->offset; j < k->offset + k->rows * k->cols; j++) {
        if (r->from[j] == BY_NAME) continue;
        r->precision[j] = i->value;
        r->from[j] = BY_BLOCK;
    }
    return SGFS_OK;
}

static sgfs_status take_item(reading *r, const item *i, const char *end, sgfs_err *err) {
    const sgfs_model *m = r->m;
    if (i->length == 0) {
        if (!isnan(r->rest)) {
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "--prior-precision has two numbers without a name: give each the "
                              "name of a block or parameter, or all of them in a --prior-file.");
        }
        r->rest = i->value;
        return SGFS_OK;
    }
    int64_t b = m->blocks - 1, j = m->D - 1;
    while (b >= 0 && !is_called(i, m->block[b].name)) b--;
    while (j >= 0 && !is_called(i, m->param[j])) j--;
    if (b < 0 && j < 0) return unknown_name(m, i, end, err);
    if (b >= 0 && j >= 0 && m->block[b].rows * m->block[b].cols > 1) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--prior-precision: \"%.*s\" is a block and also a parameter; use a "
                          "--prior-file.",
                          i->length, i->name);
    }
    if (b >= 0) return take_block(r, i, b, err);
    if (r->from[j] == BY_NAME) return given_twice(i, err);
    r->precision[j] = i->value;
    r->from[j] = BY_NAME;
    return SGFS_OK;
}

bool sgfsi_precisions_name_some(const char *text) {
    const char *end = text + strlen(text);
    item i = {.next = text};
    do {
        if (next_item(i.next, end, &i, NULL) != SGFS_OK || i.length == 0 || is_called(&i, "beta"))
            return false;
    } while (i.next < end || (end > text && end[-1] == ','));
    return true;
}

sgfs_status sgfsi_precisions_check(const char *text, sgfs_err *err) {
    const char *end = text + strlen(text);
    item i = {.next = text};
    sgfs_status status = SGFS_OK;
    do {
        status = next_item(i.next, end, &i, err);
    } while (status == SGFS_OK && (i.next < end || end[-1] == ','));
    return status;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static sgfs_status read_file(const sgfs_model *m, const char *path, double *precision,
                             sgfs_err *err) {
    sgfs_status status = sgfsi_vector_read(precision, path, m->D, err);
    for (int64_t j = 0; status == SGFS_OK && j < m->D; j++) {
        char text[SGFSI_NUM_CHARS];
        if (precision[j] >= 0 && precision[j] <= most) continue;
        sgfsi_format_digits(text, precision[j], 6);
        status = sgfsi_fail(err, SGFS_EDATA,
                            "%s: number %lld, the prior precision of \"%s\", must be at least 0 "
                            "(and at most 1e300); it is %s.",
                            path, (long long)(j + 1), m->param[j], text);
    }
    return status;
}

/* As it was when the model was opened first. */
static bool recall(const sgfs_model *m, double *precision) {
    const sgfsi_json *list =
        m->restored != NULL ? sgfsi_json_get(m->restored, "prior_precisions") : NULL;
    if (list == NULL || sgfsi_json_length(list) != m->D) return false;
    for (int64_t j = 0; j < m->D; j++) {
        if (!sgfsi_json_as_num(sgfsi_json_at(list, j), &precision[j])) return false;
    }
    return true;
}

/* The prior made for the columns: 1/2.5^2, with one exception. Without an intercept the
 * coefficients have to reach the predictor's middle, and a column that never changes is what stands
 * for the intercept. */
static void fit(const sgfs_model *m, double *precision) {
    const sgfs_data *d = m->data;
    int64_t p = m->block[0].cols, beta = m->block[0].rows * p;
    for (int64_t i = 0; i < m->D; i++) {
        const sgfsi_column *c =
            i % p < p - d->features ? NULL : &d->feature[i % p - p + d->features];
        double reach = d->intercept ? 1 : fmax(1, m->reach);
        if (!d->intercept && c != NULL && c->sd == 0 && c->mean != 0) reach /= fabs(c->mean);
        precision[i] = i < beta ? precision_of_columns / (reach * reach) : precision_of_noise;
    }
}

static sgfs_status scale_named(const sgfs_model *m, const unsigned char *from, double *precision,
                               sgfs_err *err) {
    double *unit = malloc((size_t)m->D * 2 * sizeof *unit), *user = unit + m->D;
    if (unit == NULL) return sgfsi_fail_memory(err, "the prior");
    for (int64_t j = 0; j < m->D; j++) unit[j] = 1;
    sgfs_status status = sgfsi_prior_to_user(m, unit, user, err);
    for (int64_t j = 0; j < m->D && status == SGFS_OK; j++)
        if (from[j] != BY_REST) precision[j] *= user[j] * user[j];
    free(unit);
    return status;
}

sgfs_status sgfsi_precisions_read(const sgfs_model *m, double *precision, sgfs_err *err) {
    const char *path = sgfsi_config_text(m->cfg, "prior.file");
    if (recall(m, precision)) return SGFS_OK;
    if (path[0] != '\0' && m->restored == NULL) return read_file(m, path, precision, err);
    const char *text = sgfsi_config_text(m->cfg, "prior.precision");
    const bool fitted = sgfsi_prior_is_fitted(m);
    const double *sd = fitted ? m->default_sd : NULL;
    for (int64_t j = 0; j < m->D; j++)
        precision[j] = sd != NULL ? 1 / (sd[j] * sd[j]) : rest_by_default;
    if (fitted && sd == NULL) fit(m, precision);
    if (strcmp(text, "auto") == 0) return SGFS_OK;
    reading r = {.m = m, .precision = precision, .rest = NAN};
    const char *end = text + strlen(text);
    item i = {.next = text};
    r.from = calloc((size_t)m->D, sizeof *r.from);
    sgfs_status status = r.from != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the prior");
    do { /* a comma at the end wants something behind it */
        if (status == SGFS_OK) status = next_item(i.next, end, &i, err);
        if (status == SGFS_OK) status = take_item(&r, &i, end, err);
    } while (status == SGFS_OK && (i.next < end || end[-1] == ','));
    for (int64_t j = 0; status == SGFS_OK && j < m->D; j++)
        if (r.from[j] == BY_REST && !isnan(r.rest)) precision[j] = r.rest;
    /* what the user names is in the columns' units, and these are scaled for the rest */
    if (status == SGFS_OK && fitted && m->data->scaled_for_prior)
        status = scale_named(m, r.from, precision, err);
    free(r.from);
    return status;
}
