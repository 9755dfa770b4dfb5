/* SPDX-License-Identifier: MIT
 * simulate.c: data with a known truth, streamed to a .npy, .csv or packed file, any number of rows.
 *
 * The model is opened on rows that have no target yet, theta is drawn, and `resample`, the hook
 * that every model draws targets with, does the rest (simulate_rows.c). In each block of parameters
 * the first column meets the leading 1 of its input (a bias): N(0, 1/4). The others are N(0,
 * 1.5^2/(columns - 1)), so that predictors have about the same spread however many columns there
 * are. A block "log_sigma" is the log of --noise.
 *
 * The truth file holds these generating values ("theta") and, for models whose posterior has one
 * mode, found by Fisher scoring on the data just written, that mode's mean and inverse curvature
 * ("mean", "cov"): with many rows the posterior is Gaussian to high accuracy, and this is what
 * draws are to be compared with. The search starts at theta, which is about sqrt(D) standard
 * deviations away; a step leaves an error of about D/sqrt(N) of them, so that past `huge` rows two
 * passes find the mode to a thousandth of a standard deviation, and that is enough there.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/rng.h"
#include "chain/run.h"
#include "jobs/job.h"
#include "jobs/simulate/simulation.h"
#include "model/prior.h"
#include "model/user.h"
#include "posterior/mode.h"

static const sgfs_option options[] = {
    {"simulate.rows", "rows", SGFS_INTEGER, "10000", 2, 1e12, NULL, "rows to make"},
    {"simulate.dim", "dim", SGFS_INTEGER, "10", 1, 1e5, NULL, "feature columns x1, x2, ..."},
    {"simulate.correlation", "correlation", SGFS_NUMBER, "0.5", -0.999, 0.999, NULL,
     "correlation of neighbouring columns"},
    {"simulate.noise", "noise", SGFS_NUMBER, "1", 1e-12, 1e12, NULL,
     "noise standard deviation of models that have one"},
    {"simulate.classes", "classes", SGFS_INTEGER, "3", 2, SGFSI_MOST_LABELS, NULL,
     "labels 0, 1, ... of models that take more than two"},
    SGFSI_OPTIONS_END};

static const int64_t huge = 20000000; /* rows */

/* ---- the model ------------------------------------------------------------------------------- */

/* The model on two rows of zeros, as they are and with an intercept: enough for its parameters. */
static sgfs_status open_model(sgfsi_simulation *s, const sgfs_config *cfg, sgfsi_arena *arena,
                              sgfs_err *err) {
    const double *zeros = SGFSI_DOUBLES(arena, 2 * s->dim);
    s->cfg = sgfsi_config_copy(cfg);
    if (zeros == NULL || s->cfg == NULL) return sgfsi_fail_memory(err, "the simulation");
    sgfs_config_on_message(s->cfg, NULL, NULL); /* two rows of zeros are not worth a warning */
    sgfs_status status = sgfs_config_set(s->cfg, "data.standardize", "false", err);
    if (status == SGFS_OK) status = sgfs_config_set(s->cfg, "data.intercept", "true", err);
    if (status != SGFS_OK) return status;
    s->info = sgfsi_json_object();
    sgfsi_json_int(s->info, "classes", sgfsi_config_int(cfg, "simulate.classes"));
    sgfs_err cause = {.code = SGFS_EINTERNAL};
    const sgfs_arrays arrays = {.rows = 2, .cols = s->dim, .x = zeros};
    s->data = sgfs_data_wrap(&arrays, s->cfg, &cause);
    if (s->data != NULL) s->m = sgfsi_model_create(s->kind, s->data, s->cfg, s->info, &cause);
    if (s->m == NULL) return sgfsi_fail(err, cause.code, "%s", cause.text);
    s->theta = SGFSI_DOUBLES(arena, s->m->D);
    return s->theta != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the simulation");
}

/* ---- the truth ------------------------------------------------------------------------------- */

/* mean, cov NULL: there is no one mode that they could be of. */
static sgfsi_json *truth_json(const sgfsi_simulation *s, const sgfs_model *m, const double *mean,
                              const double *cov) {
    sgfsi_json *o = sgfsi_json_object(), *names = sgfsi_json_array(), *rows = sgfsi_json_array();
    for (int64_t j = 0; j < m->D; j++) {
        sgfsi_json_text(names, NULL, m->param[j]);
        if (cov != NULL) sgfsi_json_nums(rows, NULL, m->D, cov + j * m->D);
    }
    sgfsi_json_text(o, "what",
                    mean == NULL
                        ? "theta generated the data; the posterior may have many modes"
                        : "posterior mean (mode and first correction) and inverse curvature on the "
                          "full data; theta generated it");
    sgfsi_prior_describe(m, o);
    sgfsi_json_put(o, "names", names);
    if (mean != NULL) sgfsi_json_nums(o, "mean", m->D, mean);
    sgfsi_json_nums(o, "theta", m->D, s->theta);
    if (cov != NULL) sgfsi_json_put(o, "cov", rows);
    else sgfsi_json_free(rows);
    return o;
}

/* mean: D; cov: D x D. */
static sgfs_status find_moments(const sgfsi_simulation *s, const sgfs_model *m, sgfsi_arena *arena,
                                double *mean, double *cov, sgfs_err *err) {
    sgfsi_mode mode;
    const sgfsi_mode_plan plan = {.method = "fisher",
                                  .tolerance = s->rows > huge ? 1e-3 : 1e-8,
                                  .start = m->data->scale == NULL ? s->theta : NULL,
                                  .stop = &s->job->stop};
    if (s->rows > huge) {
        sgfsi_say(s->log, SGFS_NOTE, "Looking for the mode: two or three passes over all rows.");
    }
    sgfsi_scope scope = sgfsi_context_enter(&m->ctx);
    sgfs_status status = sgfsi_mode_search(m, &plan, arena, &mode, err);
    sgfsi_context_leave(scope);
    if (status != SGFS_OK) return status;
    sgfsi_invert_factor(m->ctx.near, m->D, mode.L, cov);
    /* past a million rows mean and mode are the same to any run, and 2 D passes are long */
    if (s->rows <= 1000000) return sgfsi_mode_mean(m, mode.theta, cov, mean, err);
    memcpy(mean, mode.theta, (size_t)m->D * sizeof *mean);
    return SGFS_OK;
}

static sgfs_status find_truth(const sgfsi_simulation *s, const sgfs_model *m, const char *truth,
                              sgfs_err *err) {
    if (m->D != s->m->D) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "Only %lld of %lld classes appear in %lld rows: use more --rows or fewer "
                          "--classes.",
                          (long long)m->labels.count, (long long)s->m->labels.count,
                          (long long)s->rows);
    }
    sgfsi_arena arena = {NULL};
    bool moments = s->kind->one_mode;
    double *mean = SGFSI_DOUBLES(&arena, m->D);
    double *cov = moments ? SGFSI_DOUBLES(&arena, m->D * m->D) : NULL;
    sgfs_status status = SGFS_OK;
    if (mean == NULL || (moments && cov == NULL)) status = sgfsi_fail_memory(err, "the truth");
    if (status == SGFS_OK && moments) status = find_moments(s, m, &arena, mean, cov, err);
    if (status == SGFS_OK) {
        status = sgfsi_job_write(s->job, truth_json(s, m, moments ? mean : NULL, cov), truth, err);
    }
    sgfsi_arena_free(&arena);
    return status;
}

/* ---- the job --------------------------------------------------------------------------------- */

typedef struct simulate {
    sgfs_job job;
    const sgfs_model_kind *kind;
    char *out, *truth; /* truth: or NULL */
    sgfs_simulated shown;
} simulate;

static sgfs_status find_kind(simulate *s, const char *model, sgfs_err *err) {
    if (sgfsi_user_is_file(model)) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%.300s: data are simulated from built-in models only (`sgfs list "
                          "models`).",
                          model);
    }
    s->kind = sgfsi_find_model(model, err);
    if (s->kind == NULL) return SGFS_EUSAGE;
    if (s->kind->resample != NULL) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE, "Model %s cannot be simulated from yet.", model);
}

sgfs_job *sgfs_simulate_open(const char *model, const char *out, const char *truth,
                             const sgfs_config *cfg, sgfs_err *err) {
    simulate *s =
        sgfsi_job_new(&sgfsi_job_simulate, sizeof *s, model != NULL && out != NULL ? cfg : NULL,
                      "sgfs_simulate_open: a model, a path and a config are needed.", err);
    if (s == NULL) return NULL;
    s->out = sgfsi_arena_text(&s->job.arena, out);
    if (truth != NULL) s->truth = sgfsi_arena_text(&s->job.arena, truth);
    sgfs_status status = s->out == NULL || (truth != NULL && s->truth == NULL)
                             ? sgfsi_fail_memory(err, "the simulation")
                             : find_kind(s, model, err);
    return sgfsi_job_opened(&s->job, status);
}

static sgfs_status run(sgfs_job *job, sgfs_err *err) {
    simulate *o = (simulate *)job;
    const sgfs_config *cfg = job->cfg;
    bool single = strcmp(sgfsi_config_text(cfg, "data.storage"), "f32") == 0;
    bool overwrite = sgfsi_config_flag(cfg, "output.overwrite");
    sgfsi_simulation s = {.job = job,
                          .kind = o->kind,
                          .rows = sgfsi_config_int(cfg, "simulate.rows"),
                          .dim = sgfsi_config_int(cfg, "simulate.dim"),
                          .rho = sgfsi_config_num(cfg, "simulate.correlation"),
                          .noise = sgfsi_config_num(cfg, "simulate.noise"),
                          .seed = (uint64_t)sgfsi_config_int(cfg, "run.seed"),
                          .log = sgfsi_config_log(cfg),
                          .type = single ? SGFSI_F32 : SGFSI_F64};
    sgfs_status status = sgfsi_simulation_check(&s, o->out, err);
    if (status == SGFS_OK)
        status = sgfsi_precisions_check(sgfsi_config_text(cfg, "prior.precision"), err);
    if (status == SGFS_OK && o->truth != NULL) { /* refuse before an hour of writing, not after */
        sgfsi_outfile trial;
        status = sgfsi_outfile_open(&trial, o->truth, overwrite, false, err);
        if (status == SGFS_OK) sgfsi_outfile_abandon(&trial);
    }
    if (status == SGFS_OK) status = sgfsi_check_model_options(cfg, s.kind, err);
    if (status == SGFS_OK) status = open_model(&s, cfg, &job->arena, err);
    if (status == SGFS_OK) {
        sgfsi_stream stream = sgfsi_stream_at(s.seed, 0, 0, SGFSI_TRUTH);
        sgfsi_normals(&stream, s.m->D, s.theta);
        for (const sgfs_block *b = s.m->block; b < s.m->block + s.m->blocks; b++) {
            bool noise = strcmp(b->name, "log_sigma") == 0;
            for (int64_t i = 0; i < b->rows * b->cols; i++) {
                double *value = &s.theta[b->offset + i];
                *value *= i % b->cols == 0 ? 0.5 : 1.5 / sqrt((double)(b->cols - 1));
                if (noise) *value = log(s.noise);
            }
        }
        status = sgfsi_simulation_write(&s, o->out, overwrite, err);
    }
    if (status == SGFS_OK && o->truth != NULL) {
        sgfs_data *data = sgfs_data_open(o->out, cfg, err);
        sgfs_model *m =
            data != NULL ? sgfsi_model_within(&s.m->ctx, s.kind, data, cfg, NULL, err) : NULL;
        status = m != NULL ? find_truth(&s, m, o->truth, err) : err->code;
        sgfs_model_free(m);
        sgfs_data_free(data);
    }
    sgfs_model_free(s.m);
    sgfs_data_free(s.data);
    sgfsi_json_free(s.info);
    sgfs_config_free(s.cfg);
    o->shown = (sgfs_simulated){s.rows, s.dim, sgfsi_job_seconds(job)};
    if (status == SGFS_OK) job->result = &o->shown;
    return status;
}

static sgfsi_json *to_json(const sgfs_job *job) {
    const sgfs_simulated *shown = &((const simulate *)job)->shown;
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_int(o, "rows", shown->rows);
    sgfsi_json_int(o, "features", shown->features);
    sgfsi_json_num(o, "seconds", shown->seconds);
    return o;
}

const sgfsi_job_kind sgfsi_job_simulate = {
    .stage = "simulate", .options = options, .doing = "simulating", .run = run, .json = to_json};
