/* SPDX-License-Identifier: MIT
 * optimize.c: the posterior's mode as a result of its own: on the user's scale, with the Gaussian
 * there, as a table and as a reference for sgfs_compare_new. The search is model/mode.c.
 */
#include "jobs/optimize.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/threads.h"
#include "base/ticker.h"
#include "chain/plan.h"
#include "chain/spread_check.h"
#include "chain/start.h"
#include "model/prior.h"

const sgfs_option sgfsi_optimize_options[] = {
    {"optimize.method", "method", SGFS_CHOICE, "auto", 1, 0, "auto|fisher|lbfgs",
     "Fisher scoring, or L-BFGS where a D x D matrix is too large"},
    SGFSI_OPTIONS_END};

typedef struct mode {
    sgfs_mode shown; /* first: the handle */
    sgfsi_arena arena;
    sgfsi_mode found;
    sgfsi_json *prior; /* what sgfsi_prior_describe says */
} mode;

/* ---- making ---------------------------------------------------------------------------------- */

static bool describe(const sgfs_model *m, mode *s) {
    char text[160];
    snprintf(text, sizeof text, "%s, %lld rows, %lld parameters", m->kind->name,
             (long long)m->data->N, (long long)m->D);
    s->shown.title = sgfsi_arena_text(&s->arena, text);
    s->prior = sgfsi_json_object();
    sgfsi_prior_describe(m, s->prior);
    s->shown.row = sgfsi_arena_alloc(&s->arena, m->D, sizeof *s->shown.row);
    return s->shown.title != NULL && s->shown.row != NULL;
}

/* To the user's scale. */
static bool fill_rows(const sgfs_model *m, mode *s) {
    sgfs_mode *out = &s->shown;
    double *user = SGFSI_DOUBLES(&s->arena, m->D);
    if (s->found.L != NULL) out->cov = SGFSI_DOUBLES(&s->arena, m->D * m->D);
    if (user == NULL || (s->found.L != NULL && out->cov == NULL)) return false;
    if (m->kind->to_user != NULL) m->kind->to_user(m, s->found.theta, user);
    else memcpy(user, s->found.theta, (size_t)m->D * sizeof *user);
    if (out->cov != NULL && !sgfsi_curvature_cov(m, s->found.theta, s->found.L, out->cov)) {
        return false;
    }
    for (int64_t j = 0; j < m->D; j++) {
        char *name = sgfsi_arena_text(&s->arena, m->param[j]);
        if (name == NULL) return false;
        double sd = out->cov != NULL ? sqrt(out->cov[j * m->D + j]) : NAN;
        out->row[j] = (sgfs_mode_row){.name = name, .mode = user[j], .sd = sd};
    }
    return true;
}

static sgfs_status fill(const sgfs_model *m, const sgfs_config *cfg, mode *s, sgfs_err *err) {
    double before = sgfsi_now();
    sgfsi_mode_plan plan = sgfsi_mode_plan_of(cfg);
    plan.method = sgfsi_config_text(cfg, "optimize.method");
    plan.threads = sgfsi_threads(sgfsi_config_int(cfg, "run.threads"));
    double *start = NULL;
    sgfs_status status = sgfsi_check_model_options(cfg, m->kind, err);
    if (status == SGFS_OK) status = sgfsi_start_read(m, cfg, &start, err);
    plan.start = start;
    if (status == SGFS_OK) status = sgfsi_mode_search(m, &plan, &s->arena, &s->found, err);
    free(start);
    if (status != SGFS_OK) return status;
    s->shown.dim = m->D;
    s->shown.log_density = s->found.lp;
    s->shown.distance = s->found.distance;
    s->shown.iterations = s->found.iterations;
    s->shown.passes = s->found.passes;
    s->shown.method = s->found.method;
    bool room = describe(m, s) && fill_rows(m, s);
    s->shown.seconds = sgfsi_now() - before;
    return room ? SGFS_OK : sgfsi_fail_memory(err, "the mode");
}

sgfs_mode *sgfs_mode_new(const sgfs_model *model, const sgfs_config *cfg, sgfs_err *err) {
    if (model == NULL) return NULL; /* err says why already */
    if (cfg == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_mode_new: a config is needed."), NULL;
    mode *s = calloc(1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the mode"), NULL;
    sgfsi_scope scope = sgfsi_context_enter(&model->ctx);
    sgfs_status status = fill(model, cfg, s, err);
    sgfsi_context_leave(scope);
    if (status == SGFS_OK) return &s->shown;
    sgfs_mode_free(&s->shown);
    return NULL;
}

void sgfs_mode_free(sgfs_mode *shown) {
    if (shown == NULL) return;
    mode *s = (mode *)shown;
    sgfsi_json_free(s->prior);
    sgfsi_arena_free(&s->arena);
    free(s);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void put_rows(sgfsi_json *o, const sgfs_mode *m) {
    sgfsi_json *names = sgfsi_json_array(), *mean = sgfsi_json_array(), *cov = sgfsi_json_array();
    for (int64_t j = 0; j < m->dim; j++) {
        sgfsi_json_text(names, NULL, m->row[j].name);
        sgfsi_json_num(mean, NULL, m->row[j].mode);
        if (m->cov != NULL) sgfsi_json_nums(cov, NULL, m->dim, m->cov + j * m->dim);
    }
    sgfsi_json_put(o, "names", names);
    sgfsi_json_put(o, "mean", mean);
    if (m->cov != NULL) sgfsi_json_put(o, "cov", cov);
    else sgfsi_json_free(cov);
}

static void put_prior(sgfsi_json *o, const sgfsi_json *prior) {
    const sgfsi_json *v;
    const char *key;
    void *at = NULL;
    while ((v = sgfsi_json_next(prior, &at, &key)) != NULL)
        sgfsi_json_put(o, key, sgfsi_json_copy(v));
}

char *sgfs_mode_json(const sgfs_mode *m) {
    if (m == NULL) return NULL;
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_text(o, "what",
                    m->cov != NULL
                        ? "posterior mode (as \"mean\") and the covariance of the Gaussian with "
                          "the curvature there (Laplace): not the posterior's mean and covariance"
                        : "posterior mode (as \"mean\"): not the posterior's mean");
    sgfsi_json_text(o, "title", m->title);
    put_prior(o, ((const mode *)m)->prior);
    sgfsi_json_text(o, "method", m->method);
    sgfsi_json_num(o, "log_density", m->log_density);
    sgfsi_json_num(o, "distance", m->distance);
    sgfsi_json_int(o, "iterations", m->iterations);
    sgfsi_json_int(o, "passes", m->passes);
    sgfsi_json_num(o, "seconds", m->seconds);
    put_rows(o, m);
    char *text = sgfsi_json_dump(o, true);
    sgfsi_json_free(o);
    return text;
}

sgfs_status sgfs_mode_write(const sgfs_mode *m, const char *path, bool overwrite, sgfs_err *err) {
    if (m == NULL || path == NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_mode_write: a mode and a path are needed.");
    }
    char *text = sgfs_mode_json(m);
    if (text == NULL) return sgfsi_fail_memory(err, path);
    sgfs_status status = sgfsi_outfile_text(path, overwrite, text, err);
    free(text);
    return status;
}
