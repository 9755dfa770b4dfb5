/* SPDX-License-Identifier: MIT
 * model.c: opening a model: the kind declares blocks, offsets and names are laid out, the prior is
 * read.
 */
#include "model/model.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/kept.h"
#include "model/prior.h"
#include "model/scales.h"
#include "model/user.h"
#include "rows/elsewhere.h"
#include "rows/fingerprint.h"

sgfs_block *sgfsi_model_add_block(sgfs_model *m, const char *name, int64_t rows, int64_t cols,
                                  sgfs_score_form form) {
    if (m->block == NULL)
        m->block = sgfsi_arena_alloc(&m->arena, SGFSI_MOST_BLOCKS, sizeof *m->block);
    if (m->block == NULL || m->blocks == SGFSI_MOST_BLOCKS) return NULL;
    sgfs_block *b = &m->block[m->blocks++];
    *b = (sgfs_block){.name = name, .rows = rows, .cols = cols, .form = form, .offset = m->D};
    m->D += rows * cols;
    return b;
}

void sgfsi_model_name(sgfs_model *m, int64_t i, const char *name) {
    m->param[i] = sgfsi_arena_text(&m->arena, name);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static sgfs_status set_up(sgfs_model *m, sgfs_err *err) {
    if (m->data->offset != NULL && !m->kind->exposure) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--exposure is for model poisson: model %s has no use for it.",
                          m->kind->name);
    }
    if (m->restored == NULL &&
        m->data->N < 2) { /* before a model wonders at its one target value */
        return sgfsi_fail(err, SGFS_EDATA, "%s: has one row; at least two are needed.",
                          m->data->path);
    }
    if (m->restored == NULL && !m->data->has_target) {
        return sgfsi_fail(
            err, SGFS_EDATA,
            "Model %.150s needs a target column (that of an IDX file is in another: --labels).",
            m->kind->name);
    }
    sgfs_status status = m->kind->open(m, err);
    if (status != SGFS_OK) return status;
    if (sgfsi_arena_failed(&m->arena) || !sgfsi_json_whole(m->saved))
        return sgfsi_fail_memory(err, "the model");
    if (m->D < 1 || m->param == NULL) {
        return sgfsi_fail(err, SGFS_EINTERNAL, "Model %s declared no parameters.", m->kind->name);
    }
    status = sgfsi_device_fits(m->ctx.device, m->D, "parameters", err);
    if (status != SGFS_OK) return status;
    /* Names for what the kind left unnamed: beta[3] or W[2,5], or the name of a block of one. */
    for (int64_t b = 0; b < m->blocks; b++) {
        const sgfs_block *k = &m->block[b];
        for (int64_t i = 0; i < k->rows * k->cols; i++) {
            char text[256];
            long long r = (long long)(i / k->cols + 1), c = (long long)(i % k->cols + 1);
            if (m->param[k->offset + i] != NULL) continue;
            if (k->rows * k->cols == 1) snprintf(text, sizeof text, "%s", k->name);
            else if (k->rows == 1) snprintf(text, sizeof text, "%s[%lld]", k->name, c);
            else snprintf(text, sizeof text, "%s[%lld,%lld]", k->name, r, c);
            sgfsi_model_name(m, k->offset + i, text);
        }
    }
    /* Two parameters of one name could not be told apart in any output. */
    char **sorted = malloc((size_t)m->D * sizeof *sorted);
    if (sorted == NULL || sgfsi_arena_failed(&m->arena)) {
        free(sorted);
        return sgfsi_fail_memory(err, "the parameter names");
    }
    memcpy(sorted, m->param, (size_t)m->D * sizeof *sorted);
    qsort(sorted, (size_t)m->D, sizeof *sorted, by_name);
    if (m->D > 0 && sorted[0][0] == '\0')
        status = sgfsi_fail(err, SGFS_EDATA, "%s: a parameter has an empty name: name its column.",
                            m->data->path);
    for (int64_t i = 1; i < m->D && status == SGFS_OK; i++) {
        if (strcmp(sorted[i - 1], sorted[i]) != 0) continue;
        status = sgfsi_fail(
            err, SGFS_EDATA,
            "%s: two parameters would be called \"%s\"; rename a column in the data or leave "
            "one out with --features.",
            m->data->path, sorted[i]);
    }
    free(sorted);
    if (status == SGFS_OK) status = sgfsi_prior_open(m, err);
    return status == SGFS_OK ? sgfsi_scales_open(m, err) : status;
}

/* Where the arithmetic of this model is done. What the options say of a sampler is no more than a
 * forecast: the matrix of sgfs-f is what pays on a GPU, four of D^2 numbers in each of some chains.
 */
static void choose_device(sgfs_model *m) {
    const sgfs_data *d = m->data;
    const char *what = !m->kind->far             ? "this model"
                       : sgfsi_data_is_sparse(d) ? "sparse rows"
                       : d->groups != NULL       ? "rows in groups"
                                                 : NULL;
    if (what != NULL) {
        if (m->ctx.device != m->ctx.near)
            sgfsi_say(m->ctx.log, SGFS_NOTE,
                      "Model %.150s: all is done by the processor, as --device %s can do nothing "
                      "for %s (docs/gpu.md).",
                      m->kind->name, m->ctx.device->name, what);
        sgfsi_context_stay_near(&m->ctx);
        return;
    }
    if (strcmp(sgfsi_config_text(m->cfg, "run.device"), "auto") != 0) return;
    const double usual_batch = 500, chains = 4, matrices = 4;
    bool full = strcmp(sgfsi_config_text(m->cfg, "sampler.kind"), "sgfs-f") == 0;
    double p = (double)d->p, batch = sgfsi_config_num(m->cfg, "run.batch");
    double n = fmin(isnan(batch) ? usual_batch : batch, (double)d->N), cols = full ? p : 1;
    const sgfsi_workload work = {.products = n * p * cols,
                                 .bytes = chains * 8 * (matrices * p * cols + 3 * n * p)};
    sgfsi_context_weigh(&m->ctx, m->cfg, &work);
}

/* The rows decide which GPU it is, where they lie on one. */
static sgfs_status follow_rows(sgfs_model *m, sgfs_err *err) {
    char there[24];
    const sgfs_device *home = sgfsi_data_home(m->data);
    const char *asked = sgfsi_config_text(m->cfg, "run.device");
    if (home == NULL) return SGFS_OK;
    snprintf(there, sizeof there, "%s:%lld", home->name, (long long)home->number);
    bool open = !sgfsi_config_given(m->cfg, "run.device") || strcmp(asked, "auto") == 0 ||
                strcmp(asked, home->name) == 0;
    if (!open && strcmp(asked, there) != 0)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--device %.60s: the rows lie on the GPU %lld. Leave --device out, or "
                          "hand over rows in the host's memory.",
                          asked, (long long)home->number);
    return sgfs_config_set(m->own_cfg, "run.device", there, err);
}

/* What they cannot do there. */
static sgfs_status judge_rows(const sgfs_model *m, sgfs_err *err) {
    if (!sgfsi_data_is_far(m->data)) return SGFS_OK;
    if (m->ctx.comm->size > 1)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "Rows on a GPU are those of one process: without --mpi, or with rows in "
                          "the host's memory.");
    if (m->kept == NULL && m->far_rows == NULL && !m->ctx.shared)
        sgfsi_say(m->ctx.log, SGFS_NOTE,
                  "Model %.150s: what the processor looks at comes from the GPU, some rows at a "
                  "time; a pass over all of them is several times faster where they are in the "
                  "host's memory, too (docs/gpu.md).",
                  m->kind->name);
    return SGFS_OK;
}

sgfs_model *sgfsi_model_within(const sgfsi_context *opened, const sgfs_model_kind *kind,
                               const sgfs_data *data, const sgfs_config *cfg,
                               const sgfsi_json *saved, sgfs_err *err) {
    const sgfsi_elsewhere *away = data->elsewhere;
    if (away != NULL && strcmp(away->model, kind->name) != 0)
        return sgfsi_fail(err, SGFS_EUSAGE, "%s: is a sketch for model %s, not %.100s.", data->path,
                          away->model, kind->name),
               NULL;
    sgfs_model *m = calloc(1, sizeof *m);
    if (m == NULL) return sgfsi_fail_memory(err, "the model"), NULL;
    m->kind = kind;
    m->data = data;
    m->cfg = m->own_cfg = sgfsi_config_copy(cfg);
    m->saved = sgfsi_json_object();
    m->warnings = sgfsi_json_array();
    m->events = data->total;
    m->restored = saved;
    m->outputs = 1;
    if (saved != NULL && m->own_cfg != NULL) sgfs_config_on_message(m->own_cfg, NULL, NULL);
    if (opened != NULL) m->ctx = sgfsi_context_share(opened);
    if (m->own_cfg == NULL) sgfsi_fail_memory(err, "the model");
    else if (opened == NULL && follow_rows(m, err) != SGFS_OK) (void)err; /* it says why */
    else if (sgfsi_prior_fit_columns(m, err) != SGFS_OK) (void)err;
    else if (m->ctx.shared || sgfsi_context_open(&m->ctx, m->cfg, err) == SGFS_OK) {
        choose_device(m);
        const char *deal = sgfsi_config_text(m->cfg, "run.deal");
        if ((m->ctx.shared || sgfsi_fingerprints_agree(m->data, m->ctx.comm, err) == SGFS_OK) &&
            sgfsi_gatherer_open(&m->gatherer, m->data, &m->ctx, sgfsi_kept_can(m), &m->arena,
                                err) == SGFS_OK &&
            sgfsi_gatherer_deal(&m->gatherer, m->data, deal, m->ctx.comm, err) == SGFS_OK &&
            set_up(m, err) == SGFS_OK && sgfsi_kept_open(m, err) == SGFS_OK &&
            judge_rows(m, err) == SGFS_OK)
            return m;
    }
    sgfs_model_free(m);
    if (data->target_guessed && err != NULL && strstr(err->text, data->target.name) != NULL)
        sgfsi_append(err->text, sizeof err->text,
                     " \"%.60s\" was taken as the target because it is the last column; --target "
                     "NAME takes another.",
                     data->target.name);
    return NULL;
}

sgfs_model *sgfsi_model_create(const sgfs_model_kind *kind, const sgfs_data *data,
                               const sgfs_config *cfg, const sgfsi_json *saved, sgfs_err *err) {
    return sgfsi_model_within(NULL, kind, data, cfg, saved, err);
}

/* This is the only place where models are copied. */
static sgfs_model view_of(const sgfs_model *m) {
    sgfs_model view = *m;
    view.view = true;
    return view;
}

sgfs_model sgfsi_model_on(const sgfs_model *m, const sgfs_data *data) {
    sgfs_model other = view_of(m);
    other.data = data;
    other.gatherer.kept = other.gatherer.some = NULL; /* these may have another scale */
    other.gatherer.whole = false;
    other.kept = NULL;
    other.far_rows = NULL;
    return other;
}

sgfs_model sgfsi_model_under(const sgfs_model *m, sgfsi_prior *prior) {
    sgfs_model other = view_of(m);
    other.prior = prior;
    other.precision = prior->precision;
    return other;
}

sgfs_model sgfsi_model_fixed(const sgfs_model *m) {
    sgfs_model other = view_of(m);
    other.D = m->base;
    if (m->scales != NULL) other.blocks -= m->scales->blocks;
    other.scales = NULL;
    return other;
}

void sgfsi_model_start(const sgfs_model *m, double *theta, double *spread) {
    const sgfs_model fixed = sgfsi_model_fixed(m);
    m->kind->start(&fixed, theta, spread);
    for (int64_t j = m->base; j < m->D; j++) { /* of groups: the sampler places them */
        theta[j] = 1;
        spread[j] = m->scales->term[0].scale[0];
    }
}

void sgfsi_model_to_user(const sgfs_model *m, const double *theta, double *user) {
    if (m->kind->to_user == NULL) {
        memcpy(user, theta, (size_t)m->D * sizeof *theta);
    } else if (m->scales == NULL) { /* in every iteration: no copy of a model for that */
        m->kind->to_user(m, theta, user);
    } else {
        const sgfs_model fixed = sgfsi_model_fixed(m);
        m->kind->to_user(&fixed, theta, user);
    }
    sgfsi_scales_to_user(m, theta, user);
}

const sgfs_model *sgfsi_model_near(const sgfs_model *m, sgfsi_arena *arena) {
    if (m->ctx.near == m->ctx.device) return m;
    sgfs_model *other = sgfsi_arena_alloc(arena, 1, sizeof *other);
    if (other == NULL) return NULL;
    *other = view_of(m);
    other->ctx.device = m->ctx.near;
    other->gatherer = (sgfsi_gatherer){.device = m->ctx.near};
    other->far_rows = NULL;
    return other;
}

sgfs_status sgfsi_model_explain(const sgfs_model *m, sgfs_status status, sgfs_err *err) {
    const sgfs_device *home = sgfsi_data_home(m->data);
    if (home != NULL) status = sgfsi_device_explain(home, status, err);
    return sgfsi_device_explain(m->ctx.device, status, err);
}

const double *sgfsi_model_there(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                                double **workspace) {
    if (b->room == NULL) return theta;
    if (b->afar != NULL) return *workspace = b->room, b->afar->theta;
    sgfsi_put(m->ctx.device, m->D, theta, b->room);
    *workspace = b->room + m->D;
    return b->room;
}

sgfs_status sgfsi_model_room_for_names(sgfs_model *m, sgfs_err *err) {
    m->param = sgfsi_arena_alloc(&m->arena, m->D, sizeof *m->param);
    return m->param != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the parameter names");
}

int64_t sgfs_model_dim(const sgfs_model *model) {
    return model != NULL ? model->D : 0;
}

const char *sgfs_model_param(const sgfs_model *model, int64_t index) {
    return model != NULL && index >= 0 && index < model->D ? model->param[index] : NULL;
}

void sgfs_model_free(sgfs_model *model) {
    if (model == NULL) return;
    assert(!model->view);
    if (model->kind->close != NULL) model->kind->close(model);
    sgfsi_json_free(model->saved);
    sgfsi_json_free(model->warnings);
    sgfs_config_free(model->own_cfg);
    sgfsi_arena_free(&model->arena);
    sgfsi_context_close(&model->ctx);
    sgfs_data_free(model->own_data);
    sgfsi_user_free(model->own_kind);
    free(model);
}

sgfs_status sgfsi_check_model_options(const sgfs_config *cfg, const sgfs_model_kind *kind,
                                      sgfs_err *err) {
    sgfsi_option_set set;
    for (int64_t i = 0; sgfsi_config_sets(cfg, i, &set); i++) {
        if (strcmp(set.stage, "model") != 0) continue;
        for (const sgfs_option *r = set.rows; r->key != NULL; r++) {
            if (!sgfsi_config_given(cfg, r->key) || sgfsi_options_have(kind->options, r->key))
                continue;
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "--%s has no meaning for model %s; it is read by model %s.", r->flag,
                              kind->name, set.kind);
        }
    }
    return SGFS_OK;
}
