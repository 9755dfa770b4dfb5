/* SPDX-License-Identifier: MIT
 * reopen.c: a run's data and model once more.
 *
 * The header has every option and the paths of the files; transforms are applied in the order in
 * which they were given, which is the order of the recipe. Whether the files still hold the same
 * rows is judged by what the header has of them: how many, the names, means and spreads of their
 * columns, the sum of the weights, and the fingerprints of the files. Rows that were packed since
 * have other bytes, and are known by the former alone.
 *
 * A model of the user's own is code: it is loaded where the user names it.
 */
#include "jobs/reopen.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/transform/transform_kind.h"
#include "model/user.h"
#include "rows/fingerprint.h"

/* ---- options --------------------------------------------------------------------------------- */

/* NULL: the header does not say. */
static const char *value_of(const sgfs_draws *run, const char *key) {
    const sgfsi_json *config = sgfsi_json_get(run->header, "config");
    const char *value = sgfsi_json_get_text(config, key, NULL);
    if (value == NULL && strcmp(key, "run.device") == 0) /* its name in older runs */
        value = sgfsi_json_get_text(config, "run.backend", NULL);
    return value;
}

static sgfs_status take_option(sgfs_config *cfg, const sgfs_draws *run, const char *key,
                               sgfs_err *err) {
    const sgfs_option *row = sgfsi_config_row(cfg, key);
    const char *value = value_of(run, key);
    if (row == NULL || value == NULL || strcmp(row->value, value) == 0) return SGFS_OK;
    return sgfs_config_set(cfg, key, value, err);
}

/* Those of one stage that are not the default: what the header holds of the others nobody asked
 * for. */
static sgfs_status take_stage(sgfs_config *cfg, const sgfs_draws *run, const char *stage,
                              sgfs_err *err) {
    const sgfs_option *row;
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; status == SGFS_OK && (row = sgfsi_config_at(cfg, i)) != NULL; i++)
        if (strncmp(row->key, stage, strlen(stage)) == 0)
            status = take_option(cfg, run, row->key, err);
    return status;
}

/* By way of a config of their own, which checks them: a header may come from anywhere. */
sgfs_status sgfsi_reopen_choices(sgfs_config *cfg, const sgfs_draws *run, const char *stage,
                                 sgfs_err *err) {
    const sgfs_option *row;
    sgfs_config *checked = sgfs_config_new();
    if (checked == NULL) return sgfsi_fail_memory(err, "the options");
    sgfs_status status = take_stage(checked, run, stage, err);
    for (int64_t i = 0; status == SGFS_OK && (row = sgfsi_config_at(checked, i)) != NULL; i++) {
        if (!sgfsi_config_given(checked, row->key)) continue;
        status = sgfsi_config_default(cfg, row->key, sgfsi_config_text(checked, row->key), err);
    }
    sgfs_config_free(checked);
    return status;
}

static sgfs_status take_options(sgfs_config *cfg, const sgfs_draws *run, sgfs_err *err) {
    static const char *const stages[] = {"data.", "model.", "prior.", "run.device"};
    if (!sgfsi_json_is_object(sgfsi_json_get(run->header, "config")) ||
        !sgfsi_json_is_object(sgfsi_json_get(run->header, "data"))) {
        return sgfsi_fail(err, SGFS_ERUNFILE,
                          "The run does not say what its data and options were: it was made by an "
                          "older sgfs, or by another program.");
    }
    sgfs_status status = SGFS_OK;
    for (size_t i = 0; i < sizeof stages / sizeof stages[0] && status == SGFS_OK; i++)
        status = take_stage(cfg, run, stages[i], err);
    if (status != SGFS_OK) return status;
    /* What is set later is applied later. A --standardize behind all others is no step of the
     * recipe, and comes last here, too. */
    bool standardized = false;
    const sgfsi_json *recipe = sgfsi_json_get(sgfsi_json_get(run->header, "data"), "recipe");
    for (int64_t i = 0; i < sgfsi_json_length(recipe) && status == SGFS_OK; i++) {
        const char *op = sgfsi_json_get_text(sgfsi_json_at(recipe, i), "op", "");
        for (const sgfsi_transform_kind *const *k = sgfsi_transform_kinds; *k != NULL; k++) {
            if (strcmp((*k)->op, op) != 0 || (*k)->key == NULL || status != SGFS_OK) continue;
            status = take_option(cfg, run, (*k)->key, err);
            if (strcmp((*k)->key, "data.standardize") == 0) standardized = true;
        }
    }
    if (status == SGFS_OK && !standardized) status = take_option(cfg, run, "data.standardize", err);
    return status;
}

/* ---- where the rows are ---------------------------------------------------------------------- */

char *sgfsi_reopen_path(const sgfsi_json *header) {
    const sgfsi_json *data = sgfsi_json_get(header, "data"), *files = sgfsi_json_get(data, "files");
    const char *path = sgfsi_json_get_text(data, "path", "");
    /* All files, one a line; malloc'ed, NULL when memory is out. */
    if (files != NULL) {
        size_t room = 1;
        for (int64_t i = 0; i < sgfsi_json_length(files); i++) {
            const char *name = sgfsi_json_as_text(sgfsi_json_at(files, i));
            room += name != NULL ? strlen(name) + 1 : 0;
        }
        char *lines = calloc(room, 1);
        for (int64_t i = 0; lines != NULL && i < sgfsi_json_length(files); i++) {
            const char *name = sgfsi_json_as_text(sgfsi_json_at(files, i));
            if (name != NULL) sgfsi_append(lines, room, "%s%s", lines[0] ? "\n" : "", name);
        }
        return lines;
    }
    bool gone = strcmp(path, "standard input") == 0 || strcmp(path, "(arrays)") == 0;
    return strdup(gone ? "" : path);
}

/* The rows at `path`, or where the run's own were. */
static sgfs_status open_data(sgfsi_reopened *a, const sgfs_draws *run, const char *path,
                             const sgfs_config *cfg, sgfs_err *err) {
    bool given = path[0] != '\0';
    char *found = given ? NULL : sgfsi_reopen_path(run->header);
    if (!given && found == NULL) return sgfsi_fail_memory(err, "the data");
    if (!given && found[0] == '\0') {
        const char *old = sgfsi_json_get_text(sgfsi_json_get(run->header, "data"), "path", "");
        free(found);
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "The run was made with rows from %s, which are not there any more: say "
                          "where they are with --data FILE.",
                          old[0] != '\0' ? old : "nowhere that it says");
    }
    a->data = sgfs_data_open(given ? path : found, cfg, err);
    free(found);
    if (a->data != NULL) return SGFS_OK;
    if (given || err->code != SGFS_EIO) return err->code;
    const sgfs_err cause = *err;
    return sgfsi_fail(err, cause.code,
                      "%.300s The run's own data are needed: if they are elsewhere now, add --data "
                      "FILE.",
                      cause.text);
}

/* ---- are they the same? ---------------------------------------------------------------------- */

static sgfs_status fail_other(const sgfs_data *d, const char *what, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: these are not the rows the run was made with: %.200s. Give the old "
                      "ones (--data FILE), or sample again.",
                      d->path, what);
}

/* Sums in another order may differ in their last digits, and nothing else may. */
static bool is_near(double now, double then, double scale) {
    return fabs(now - then) <= 1e-9 * (fabs(then) + scale);
}

static sgfs_status check_column(const sgfs_data *d, const sgfsi_column *now, const char *name,
                                double mean, double sd, sgfs_err *err) {
    char what[256];
    if (strcmp(now->name != NULL ? now->name : "", name) != 0) {
        snprintf(what, sizeof what, "there is a column \"%.60s\" where \"%.60s\" was",
                 now->name != NULL ? now->name : "", name);
    } else if (!is_near(now->mean, mean, sd)) {
        snprintf(what, sizeof what, "the mean of \"%.60s\" is %.6g and was %.6g", name, now->mean,
                 mean);
    } else if (!is_near(now->sd, sd, 0)) {
        snprintf(what, sizeof what, "the sd of \"%.60s\" is %.6g and was %.6g", name, now->sd, sd);
    } else {
        return SGFS_OK;
    }
    return fail_other(d, what, err);
}

/* A rule for the scale that is another than today's: the prior would be another. */
static sgfs_status check_scale(const sgfs_data *d, int64_t j, const sgfsi_json *column,
                               sgfs_err *err) {
    double scale = sgfsi_json_get_num(column, "scale", NAN);
    if (d->scale == NULL || isnan(scale) || is_near(d->scale[j], scale, 0)) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: the run divided column \"%.60s\" by another number: older versions "
                      "took columns of 0 and 1 for numbers (now: --standardize all). Sample again.",
                      d->path, d->feature[j].name);
}

/* The statistics come first, because they say more about what differs than a checksum does. */
static sgfs_status check_data(const sgfs_data *d, const sgfsi_json *header, sgfs_err *err) {
    char what[256];
    int64_t rows = sgfsi_json_get_int(header, "rows", -1);
    double total = sgfsi_json_get_num(header, "total_weight", (double)rows);
    if (rows != d->N) {
        snprintf(what, sizeof what, "there are %lld, and there were %lld", (long long)d->N,
                 (long long)rows);
        return fail_other(d, what, err);
    }
    if (!is_near(d->total, total, 0)) {
        snprintf(what, sizeof what, "their weights are %.6g in all, and were %.6g", d->total,
                 total);
        return fail_other(d, what, err);
    }
    const sgfsi_json *features = sgfsi_json_get(header, "features");
    if (sgfsi_json_length(features) != d->features) {
        snprintf(what, sizeof what, "there are %lld columns, and there were %lld",
                 (long long)d->features, (long long)sgfsi_json_length(features));
        return fail_other(d, what, err);
    }
    sgfs_status status = SGFS_OK;
    for (int64_t j = 0; j < d->features && status == SGFS_OK; j++) {
        const sgfsi_json *c = sgfsi_json_at(features, j);
        status =
            check_column(d, &d->feature[j], sgfsi_json_get_text(c, "name", ""),
                         sgfsi_json_get_num(c, "mean", NAN), sgfsi_json_get_num(c, "sd", NAN), err);
        if (status == SGFS_OK) status = check_scale(d, j, c, err);
    }
    if (status == SGFS_OK && d->has_target)
        status = check_column(d, &d->target, sgfsi_json_get_text(header, "target", ""),
                              sgfsi_json_get_num(header, "target_mean", NAN),
                              sgfsi_json_get_num(header, "target_sd", NAN), err);
    if (status == SGFS_OK &&
        sgfsi_fingerprints_differ(d->files, d->print, d->file, header, what) != NULL)
        status = fail_other(d, what, err);
    return status;
}

const char *sgfsi_reopen_model_name(const sgfs_draws *run, const char *given, sgfs_err *err) {
    const char *name = sgfsi_json_get_text(run->header, "model", "");
    const bool own = sgfsi_user_is_file(name);
    if (own == (given[0] != '\0')) return own ? given : name;
    if (own)
        sgfsi_fail(err, SGFS_EUSAGE,
                   "The run was made with the model in %.200s, which is not loaded unasked: add "
                   "--model FILE.",
                   name);
    else
        sgfsi_fail(err, SGFS_EUSAGE, "--model: the run was made with the built-in model %.100s.",
                   name);
    return NULL;
}

sgfs_status sgfsi_reopen_check(const sgfs_draws *run, const sgfs_model *m, sgfs_err *err) {
    const char *name = sgfsi_json_get_text(run->header, "model", "");
    sgfs_status status = check_data(m->data, sgfsi_json_get(run->header, "data"), err);
    if (status != SGFS_OK) return status;
    bool moved = m->kind->user != NULL && sgfsi_user_is_file(name); /* the same code elsewhere */
    bool same = (moved || strcmp(name, m->kind->name) == 0) && m->D == run->D;
    for (int64_t j = 0; same && j < m->D; j++) same = strcmp(m->param[j], run->param[j]) == 0;
    if (same) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "The run is of model %.60s with %lld parameters; model %.60s with these data "
                      "has %lld, or others.",
                      name, (long long)run->D, m->kind->name, (long long)m->D);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* What was cautioned against when the run was made need not be said twice. */
static void pass_notes(sgfs_level level, const char *text, void *user) {
    const sgfsi_reopened *a = user;
    if (level != SGFS_WARNING) sgfsi_say(&a->log, level, "%s", text);
}

sgfs_status sgfsi_reopen_open(sgfsi_reopened *a, const sgfs_draws *run, const char *model,
                              const char *path, const sgfs_config *log, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    *a = (sgfsi_reopened){NULL, NULL, *sgfsi_config_log(log)};
    sgfs_config *cfg = sgfs_config_new();
    if (cfg == NULL) return sgfsi_fail_memory(err, "the options");
    sgfsi_config_share(cfg, &a->log);
    sgfs_config_on_message(cfg, pass_notes, a);
    const char *name = sgfsi_reopen_model_name(run, model, err);
    sgfs_status status = name != NULL ? take_options(cfg, run, err) : sgfsi_why(err);
    if (status == SGFS_OK) status = open_data(a, run, path, cfg, err);
    if (status == SGFS_OK) status = check_data(a->data, sgfsi_json_get(run->header, "data"), err);
    if (status == SGFS_OK) a->model = sgfs_model_open(name, a->data, cfg, err);
    if (status == SGFS_OK)
        status = a->model != NULL ? sgfsi_reopen_check(run, a->model, err) : sgfsi_why(err);
    sgfs_config_free(cfg);
    if (status != SGFS_OK) sgfsi_reopen_close(a);
    return status;
}

void sgfsi_reopen_close(sgfsi_reopened *a) {
    sgfs_model_free(a->model);
    sgfs_data_free(a->data);
    a->model = NULL;
    a->data = NULL;
}
