/* SPDX-License-Identifier: MIT
 * header.c: everything a run file says of how it came about (docs/formats.md), and the one line a
 * user sees.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "chain/resume.h"
#include "chain/state.h"
#include "context/device/kernel.h"
#include "model/prior.h"

static void put_parameters(sgfsi_json *o, const sgfs_model *m) {
    sgfsi_json_int(o, "dim", m->D);
    sgfsi_json *params = sgfsi_json_array_in(o, "params"),
               *blocks = sgfsi_json_array_in(o, "blocks");
    for (int64_t j = 0; j < m->D; j++) sgfsi_json_text(params, NULL, m->param[j]);
    for (const sgfs_block *b = m->block; b < m->block + m->blocks; b++) {
        sgfsi_json *block = sgfsi_json_object_in(blocks, NULL);
        SGFSI_JSON(block, b, name, rows, cols);
    }
}

/* What was in force where it was read: a config may have changed since the data or the model were
 * opened. */
static const sgfs_config *config_of(const sgfs_run *run, const sgfs_config *own, const char *key) {
    if (strncmp(key, "data.", 5) == 0) return run->model->data->cfg;
    if (strncmp(key, "model.", 6) == 0 || strncmp(key, "prior.", 6) == 0) return run->model->cfg;
    return own;
}

/* What only a sampler that was given up reads is not in force. */
sgfsi_json *sgfsi_run_config(const sgfs_run *run) {
    sgfsi_json *config = sgfsi_json_object();
    const sgfs_option *row, *unread;
    int64_t next = 0;
    for (int64_t i = 0; (row = sgfsi_config_at(run->cfg, i)) != NULL; i++) {
        char room[SGFSI_NUM_CHARS];
        const sgfs_config *cfg = config_of(run, run->cfg, row->key);
        sgfsi_json_text(config, row->key,
                        cfg == run->cfg ? sgfsi_plan_text(&run->plan, row->key, room)
                                        : sgfs_config_get(cfg, row->key));
    }
    while ((unread = sgfsi_next_unread(run->cfg, run->model, &run->plan.kinds, &next)) != NULL)
        sgfsi_json_text(config, unread->key, unread->value);
    return config;
}

/* The data's own in the order in which they came: it is that of the transforms. */
sgfsi_json *sgfsi_run_given(const sgfs_run *run) {
    const sgfs_config *user = run->cfg;
    const sgfs_config *data = run->model->data->cfg;
    sgfsi_json *given = sgfsi_json_object();
    const sgfs_option *row;
    int64_t last = 0;
    while ((row = sgfsi_config_next_given(data, &last)) != NULL) {
        if (strncmp(row->key, "data.", 5) == 0)
            sgfsi_json_text(given, row->key, sgfs_config_get(data, row->key));
    }
    for (int64_t i = 0; (row = sgfsi_config_at(user, i)) != NULL; i++) {
        const sgfs_config *cfg = config_of(run, user, row->key);
        bool other = strncmp(row->key, "output.", 7) == 0 || strcmp(row->key, "run.mpi") == 0;
        if (cfg == data || other || !sgfsi_config_given(cfg, row->key)) continue;
        sgfsi_json_text(given, row->key, sgfs_config_get(cfg, row->key));
    }
    return given;
}

static sgfs_status put_input(sgfsi_json *inputs, const char *key, const char *path, sgfs_err *err) {
    uint32_t crc;
    if (path[0] == '\0' || access(path, F_OK) != 0) return SGFS_OK; /* no file's name, after all */
    sgfs_status status = sgfsi_file_crc(path, &crc, err);
    if (status == SGFS_OK) sgfsi_json_int(inputs, key, crc);
    return status;
}

/* Checksums of the files that options name, beside the data, and of a model's shared object, which
 * is named by its path. */
static sgfs_status put_inputs(sgfsi_json *o, const sgfs_run *run, sgfs_err *err) {
    sgfsi_json *inputs = sgfsi_json_object_in(o, "inputs");
    const char *model = run->model->kind->name;
    const sgfs_option *row;
    sgfs_status status =
        strchr(model, '/') != NULL ? put_input(inputs, "model", model, err) : SGFS_OK;
    for (int64_t i = 0; status == SGFS_OK && (row = sgfsi_config_at(run->cfg, i)) != NULL; i++)
        if (row->type == SGFS_FILE)
            status =
                put_input(inputs, row->key, sgfsi_json_get_text(run->config, row->key, ""), err);
    return status;
}

static void add_all(sgfsi_json *to, const sgfsi_json *from) {
    if (!sgfsi_json_whole(from)) sgfsi_json_put(to, NULL, NULL); /* and so `to` is not whole */
    for (int64_t i = 0; i < sgfsi_json_length(from); i++)
        sgfsi_json_text(to, NULL, sgfsi_json_as_text(sgfsi_json_at(from, i)));
}

/* "a larger --alpha", or NULL. */
static const char *smaller_steps(const sgfsi_plan *plan) {
    const char *advice[2];
    const sgfs_sampler_kind *kind = plan->kinds.sampler;
    return kind->advise != NULL && kind->advise(plan, advice) > 0 ? advice[0] : NULL;
}

static void put_cautions(sgfsi_json *o, const sgfs_run *run) {
    sgfsi_json *cautions = sgfsi_json_array_in(o, "cautions");
    const sgfsi_kinds *k = &run->plan.kinds;
    const char *fisher = k->fisher != NULL ? k->fisher->name : "";
    if (k->fisher == &sgfs_fisher_block && run->chain[0].sampler.layout->blocks == 1)
        fisher = "full"; /* one block is the whole matrix */
    const char *text = k->sampler->caution;
    if (k->sampler->caution_at != NULL) text = k->sampler->caution_at(&run->plan, fisher);
    if (text != NULL) sgfsi_json_text(cautions, NULL, text);
    text = k->sampler->uses_fisher ? sgfsi_prior_caution(run->model) : NULL;
    if (text != NULL) {
        char line[600];
        const char *smaller = smaller_steps(&run->plan);
        snprintf(line, sizeof line, "%s Compare with --sampler nuts%s%s.", text,
                 smaller != NULL ? ", or with " : "", smaller != NULL ? smaller : "");
        sgfsi_json_text(cautions, NULL, line);
    }
    text = sgfsi_json_get_text(run->chain[0].sampler.report, "prior_decides", "");
    if (text[0] != '\0') sgfsi_json_text(cautions, NULL, text);
    if (run->choice.fallback[0] != '\0') sgfsi_json_text(cautions, NULL, run->choice.fallback);
    if (k->sampler->anchored && run->model->kind->redundant)
        sgfsi_json_text(cautions, NULL,
                        "All chains begin around one mode, of which a network has many: the draws "
                        "are exact for the surroundings of that one, and chains that agree say "
                        "nothing of the others. --sampler nuts begins each chain elsewhere.");
    add_all(cautions, run->model->data->warnings);
    add_all(cautions, run->model->warnings);
}

sgfsi_json *sgfsi_run_header(const sgfs_run *run, sgfs_err *err) {
    const sgfsi_json *report = run->chain[0].sampler.report;
    const sgfs_model *m = run->model;
    const sgfsi_kinds *k = &run->plan.kinds;
    const sgfs_device *dev = m->ctx.device;
    sgfsi_json *o = sgfsi_json_object(), *info = sgfsi_json_copy(report);
    char text[64];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", &utc);
    sgfsi_json_int(o, "format", 1);
    sgfsi_json_text(o, "sgfs_version", SGFS_VERSION_TEXT);
    sgfsi_json_int(o, "arithmetic", SGFSI_ARITHMETIC);
    sgfsi_json_text(o, "created_at", text);
    sgfsi_json_text(o, "title", run->describe);
    sgfsi_json_text(o, "model", m->kind->name);
    sgfsi_json_text(o, "sampler", k->name);
    SGFSI_JSON(o, k->sampler, optimiser, exact, independent);
    sgfsi_json_text(o, "instead", k->sampler->instead != NULL ? k->sampler->instead : "nuts");
    SGFSI_JSON(o, m->kind, regression);
    sgfsi_json_flag(o, "normal_prior", sgfsi_prior_is_quadratic(m));
    if (m->ratio != NULL) sgfsi_json_text(o, "ratio", m->ratio);
    const char *smaller = smaller_steps(&run->plan);
    if (smaller != NULL) sgfsi_json_text(o, "smaller_steps", smaller);
    sgfsi_json_text(o, "fisher", k->fisher != NULL ? k->fisher->name : "");
    /* Stan's word for the matrix in use: that of the Fisher matrix, or the sampler's own */
    sgfsi_json_text(o, "stan_metric",
                    k->fisher != NULL                 ? k->fisher->stan_metric
                    : k->sampler->stan_metric != NULL ? k->sampler->stan_metric(&run->plan)
                                                      : "unit_e");
    sgfsi_json_int(o, "rows", m->data->N);
    SGFSI_JSON(o, &run->plan, chains, warmup, draws, thin, seed);
    if (sgfsi_run_lengthens(run)) sgfsi_json_flag(o, "lengthens", true);
    sgfsi_json_int(o, "batch", run->plan.n);
    if (run->plan.chunk > 1) sgfsi_json_int(o, "chunk", run->plan.chunk);
    sgfsi_json_num(o, "gamma", run->plan.gamma);
    sgfsi_json_num(o, "tau_predicted", /* some samplers know it once they are open */
                   sgfsi_json_get_num(report, "tau_predicted", run->plan.tau));
    put_parameters(o, m);
    sgfsi_json *stats = sgfsi_json_array_in(o, "stats");
    for (const char *const *s = k->sampler->stats; *s != NULL; s++)
        sgfsi_json_text(stats, NULL, *s);
    sgfsi_json_put(o, "config", sgfsi_json_copy(run->config));
    sgfsi_json_put(o, "given", sgfsi_json_copy(run->given));
    sgfsi_json_put(o, "data", sgfsi_data_describe(m->data));
    sgfsi_json_put(o, "model_info", sgfsi_json_copy(m->saved));
    /* what the sampler found while opening, and whether another one had to make way for it */
    if (run->choice.fallbacks > 0) sgfsi_json_int(info, "fallbacks", run->choice.fallbacks);
    sgfsi_json_put(o, "sampler_info", info);
    if (run->choice.text[0] != '\0') sgfsi_json_text(o, "chosen", run->choice.text);
    put_cautions(o, run);
    /* the same bits need the same BLAS and kernels: say which they were */
    sgfsi_json *machine = sgfsi_json_object_in(o, "machine");
    sgfsi_json_text(machine, "device", dev->name);
    if (dev->ops->library != NULL) sgfsi_json_text(machine, "blas", dev->ops->library(dev));
    if (dev->ops->kernel != NULL) sgfsi_json_text(machine, "blas_core", dev->ops->kernel(dev));
    const char *own = getenv(SGFSI_KERNEL_WAS);
    if (dev->ops->kernel != NULL && own != NULL)
        sgfsi_json_text(machine, "blas_core_in_place_of", own);
    sgfsi_json_text(machine, "compiled_for", sgfsi_compiled_for());
    sgfsi_json_int(machine, "threads", run->plan.threads * run->plan.inner);
    sgfs_status status = put_inputs(o, run, err);
    if (status == SGFS_OK && sgfsi_json_whole(o)) return o;
    if (status == SGFS_OK) sgfsi_fail_memory(err, "the run's header");
    sgfsi_json_free(o);
    return NULL;
}

/* ", friction 0.2": settings that have a word of their own, where they are not the default, or
 * (first: such that say how large the steps are) where they are numbers. */
static void describe_settings(const sgfs_run *run, const sgfsi_setting *list, bool first, char *out,
                              size_t room) {
    for (const sgfsi_setting *s = list; s != NULL && s->key != NULL; s++) {
        char own[SGFSI_NUM_CHARS];
        const sgfs_option *row = sgfsi_config_row(run->cfg, s->key);
        const char *value = sgfsi_plan_text(&run->plan, s->key, own);
        bool plain = s->always ? strcmp(value, "auto") == 0
                               : strcmp(value, row->value) == 0 || strcmp(value, "refactor") == 0;
        if (s->word == NULL || s->always != first || plain) continue;
        if (first && row->type == SGFS_NUMBER) {
            sgfsi_format_digits(own, sgfsi_plan_num(&run->plan, s->key), 4);
            value = own;
        }
        sgfsi_append(out, room, ", %s %s", s->word, value);
    }
}

static void describe_rows(const sgfs_run *run, char *out, size_t room) {
    const sgfs_sampler_kind *kind = run->plan.kinds.sampler;
    bool closed = kind->few_rows && run->model->kind->whole != NULL;
    if (kind->from_curvature || closed) snprintf(out, room, "rows read while opening only");
    else if (kind->few_rows) snprintf(out, room, "a few rows each draw");
    else if (kind->full_data) snprintf(out, room, "all rows each iteration");
    else if (run->plan.chunk > 1)
        snprintf(out, room, "batch %lld in chunks of %lld", (long long)run->plan.n,
                 (long long)run->plan.chunk);
    else
        snprintf(out, room, "batch %lld %s replacement", (long long)run->plan.n,
                 run->plan.kinds.scheme == &sgfs_scheme_without ? "without" : "with");
}

char *sgfsi_run_describe(const sgfs_run *run) {
    const sgfsi_plan *p = &run->plan;
    const size_t room = 1024;
    const sgfs_data *d = run->model->data;
    const char *slash = strrchr(d->path, '/'), *file = slash != NULL ? slash + 1 : d->path;
    const sgfs_sampler_kind *kind = p->kinds.sampler;
    char *text = malloc(room), step[256] = "", rows[96], thin[64] = "", what[160] = "",
         done[270] = "";
    if (text == NULL) return NULL;
    describe_settings(run, kind->settings, true, step, sizeof step);
    if (kind->describe != NULL) kind->describe(&run->chain[0].sampler, step, sizeof step);
    describe_settings(run, kind->settings, false, step, sizeof step);
    if (p->kinds.fisher != NULL)
        describe_settings(run, sgfsi_fisher_setting_list, false, step, sizeof step);
    describe_rows(run, rows, sizeof rows);
    if (p->thin > 1) snprintf(thin, sizeof thin, ", 1 in %lld kept", (long long)p->thin);
    if (d->has_target) snprintf(what, sizeof what, " of %.60s (%.60s)", d->target.name, file);
    if (d->brief != NULL && d->brief[0] != '\0') snprintf(done, sizeof done, " (%s)", d->brief);
    snprintf(text, room,
             "%.100s%s, %lld rows%s%s, %lld parameters: %s%s, %s, %lld chain%s x (%lld warm-up + "
             "%lld draws%s)",
             run->model->kind->name, what, (long long)d->N, done,
             d->scale != NULL && !d->scaled_for_prior ? " standardised" : "",
             (long long)run->model->D, p->kinds.name, step, rows, (long long)p->chains,
             p->chains == 1 ? "" : "s", (long long)p->warmup, (long long)p->draws, thin);
    return text;
}
