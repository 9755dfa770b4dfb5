/* SPDX-License-Identifier: MIT
 * optimize.c: the posterior's mode as a result of its own: on the user's scale, with the Gaussian
 * there, as a table and as a reference for comparisons. The search is posterior/mode.c.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain/spread_check.h"
#include "chain/start.h"
#include "jobs/job.h"
#include "model/prior.h"
#include "posterior/mode.h"

static const sgfs_option options[] = {
    {"optimize.method", "method", SGFS_CHOICE, "auto", 1, 0, "auto|fisher|lbfgs",
     "Fisher scoring, or L-BFGS where a D x D matrix is too large"},
    SGFSI_OPTIONS_END};

typedef struct optimize {
    sgfs_job job;
    const sgfs_model *model;
    sgfsi_mode found;
    sgfsi_json *prior; /* what sgfsi_prior_describe says */
    sgfs_mode shown;
} optimize;

sgfs_job *sgfs_optimize_open(const sgfs_model *model, const sgfs_config *cfg, sgfs_err *err) {
    optimize *o = sgfsi_job_new(&sgfsi_job_optimize, sizeof *o, model != NULL ? cfg : NULL,
                                "sgfs_optimize_open: a model and a config are needed.", err);
    if (o == NULL) return NULL;
    o->model = model;
    return &o->job;
}

/* The result on the user's scale; false when memory ran out. */
static bool fill_rows(optimize *o) {
    const sgfs_model *m = o->model;
    sgfs_mode *out = &o->shown;
    sgfsi_arena *arena = &o->job.arena;
    bool gaussian = o->found.L != NULL;
    double *user = SGFSI_DOUBLES(arena, m->D);
    out->row = sgfsi_arena_alloc(arena, m->D, sizeof *out->row);
    if (gaussian) out->cov = SGFSI_DOUBLES(arena, m->D * m->D);
    if (user == NULL || out->row == NULL || (gaussian && out->cov == NULL)) return false;
    if (m->kind->to_user != NULL) m->kind->to_user(m, o->found.theta, user);
    else memcpy(user, o->found.theta, (size_t)m->D * sizeof *user);
    if (gaussian && !sgfsi_curvature_cov(m, o->found.theta, o->found.L, out->cov)) return false;
    for (int64_t j = 0; j < m->D; j++) {
        char *name = sgfsi_arena_text(arena, m->param[j]);
        if (name == NULL) return false;
        double sd = gaussian ? sqrt(out->cov[j * m->D + j]) : NAN;
        out->row[j] = (sgfs_mode_row){.name = name, .mode = user[j], .sd = sd};
    }
    return true;
}

static sgfs_status run(sgfs_job *job, sgfs_err *err) {
    optimize *o = (optimize *)job;
    const sgfs_model *m = o->model;
    const sgfs_config *cfg = job->cfg;
    sgfsi_mode_plan plan = sgfsi_mode_plan_of(cfg);
    plan.method = sgfsi_config_text(cfg, "optimize.method");
    plan.threads = job->threads;
    double *start = NULL;
    sgfs_status status = sgfsi_check_model_options(cfg, m->kind, err);
    if (status == SGFS_OK) status = sgfsi_start_read(m, cfg, &start, err);
    plan.start = start;
    plan.stop = sgfsi_job_stop(job);
    sgfsi_scope scope = sgfsi_context_enter(&m->ctx);
    if (status == SGFS_OK) status = sgfsi_mode_search(m, &plan, &job->arena, &o->found, err);
    if (status == SGFS_OK && !fill_rows(o)) status = sgfsi_fail_memory(err, "the mode");
    sgfsi_context_leave(scope);
    free(start);
    if (status != SGFS_OK) return status;
    char title[160];
    snprintf(title, sizeof title, "%s, %lld rows, %lld parameters", m->kind->name,
             (long long)m->data->N, (long long)m->D);
    o->prior = sgfsi_json_object();
    sgfsi_prior_describe(m, o->prior);
    o->shown.dim = m->D;
    o->shown.log_density = o->found.lp;
    o->shown.distance = o->found.distance;
    o->shown.iterations = o->found.iterations;
    o->shown.passes = o->found.passes;
    o->shown.method = o->found.method;
    o->shown.title = sgfsi_arena_text(&job->arena, title);
    if (o->shown.title == NULL || !sgfsi_json_whole(o->prior))
        return sgfsi_fail_memory(err, "the mode");
    o->shown.seconds = sgfsi_job_seconds(job);
    job->result = &o->shown;
    return SGFS_OK;
}

static sgfsi_json *to_json(const sgfs_job *job) {
    const optimize *s = (const optimize *)job;
    const sgfs_mode *m = &s->shown;
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_text(o, "what",
                    m->cov != NULL
                        ? "posterior mode (as \"mean\") and the covariance of the Gaussian with "
                          "the curvature there (Laplace): not the posterior's mean and covariance"
                        : "posterior mode (as \"mean\"): not the posterior's mean");
    sgfsi_json_text(o, "title", m->title);
    const sgfsi_json *v;
    const char *key;
    void *at = NULL;
    while ((v = sgfsi_json_next(s->prior, &at, &key)) != NULL)
        sgfsi_json_put(o, key, sgfsi_json_copy(v));
    SGFSI_JSON(o, m, method, log_density, distance, iterations, passes, seconds);
    sgfsi_json *names = sgfsi_json_array_in(o, "names"), *mean = sgfsi_json_array_in(o, "mean"),
               *cov = m->cov != NULL ? sgfsi_json_array_in(o, "cov") : NULL;
    for (int64_t j = 0; j < m->dim; j++) {
        sgfsi_json_text(names, NULL, m->row[j].name);
        sgfsi_json_num(mean, NULL, m->row[j].mode);
        if (m->cov != NULL) sgfsi_json_nums(cov, NULL, m->dim, m->cov + j * m->dim);
    }
    return o;
}

static void close_optimize(sgfs_job *job) {
    sgfsi_json_free(((optimize *)job)->prior);
}

const sgfsi_job_kind sgfsi_job_optimize = {.stage = "optimize",
                                           .options = options,
                                           .doing = "searching",
                                           .run = run,
                                           .json = to_json,
                                           .close = close_optimize};
