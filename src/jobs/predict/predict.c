/* SPDX-License-Identifier: MIT
 * predict.c: from a run and a file to predictions: blocks of rows are read one after another,
 * predicted side by side, and written and tallied in the order of the file.
 *
 *     read slots ... | each thread: all draws on one slot's rows | write, tally | read ...
 *
 * What a row's prediction is depends on the row, the draws and the seed; blocks begin at fixed
 * rows, and the tally is kept in the order of rows: the number of threads changes nothing. Memory:
 * the draws, a few blocks of rows for each thread, and for each thread what one block keeps of all
 * draws for its quantiles.
 */
#include "jobs/predict/predict.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/threads.h"
#include "base/ticker.h"
#include "chain/run.h"
#include "model/user.h"

enum { SLOTS = 4 }; /* blocks for each thread between two looks at the file */

const sgfs_option sgfsi_predict_options[] = {
    {"predict.draws", "max-draws", SGFS_INTEGER, "auto", 1, 1e15, NULL,
     "use at most this many draws, evenly over the chains (auto: all)"},
    {"predict.model", "model", SGFS_TEXT, "", 1, 0, NULL,
     "the shared object of a run made with a model of your own"},
    SGFSI_OPTIONS_END};

/* ---- opening --------------------------------------------------------------------------------- */

/* The options of the model, as the run had them. */
static sgfs_config *recall_config(const sgfs_draws *draws, const sgfs_config *cfg, sgfs_err *err) {
    const sgfsi_json *told = sgfsi_json_get(draws->header, "config"), *v;
    sgfs_config *old = sgfs_config_new();
    const char *key;
    void *at = NULL;
    if (!sgfsi_json_is_object(told)) {
        sgfs_config_free(old);
        return sgfsi_fail(err, SGFS_ERUNFILE, "The run does not say what its options were."), NULL;
    }
    sgfs_status status = old == NULL ? sgfsi_fail_memory(err, "the options") : SGFS_OK;
    while (status == SGFS_OK && (v = sgfsi_json_next(told, &at, &key)) != NULL) {
        bool wanted = strncmp(key, "model.", 6) == 0 || strncmp(key, "data.", 5) == 0;
        if (!wanted || sgfsi_json_as_text(v) == NULL || sgfsi_config_row(old, key) == NULL)
            continue;
        status = sgfs_config_set(old, key, sgfsi_json_as_text(v), err);
    }
    if (status == SGFS_OK)
        status = sgfs_config_set(old, "run.backend", sgfsi_config_text(cfg, "run.backend"), err);
    if (status == SGFS_OK) return old;
    sgfs_config_free(old);
    return NULL;
}

/* A file that a run names is code: it is loaded when the user names it, too. */
static const sgfs_model_kind *find_kind(const sgfs_draws *draws, const sgfs_config *cfg,
                                        sgfs_err *err) {
    const char *name = sgfsi_json_get_text(draws->header, "model", "");
    const char *given = sgfsi_config_text(cfg, "predict.model");
    bool own = sgfsi_user_is_file(name);
    if (own && given[0] == '\0') {
        sgfsi_fail(err, SGFS_EUSAGE,
                   "The run was made with the model in %.200s, which is not loaded unasked: add "
                   "--model FILE.",
                   name);
        return NULL;
    }
    if (!own && given[0] != '\0') {
        sgfsi_fail(err, SGFS_EUSAGE, "--model: the run was made with the built-in model %.100s.",
                   name);
        return NULL;
    }
    return sgfsi_find_model(own ? given : name, err);
}

static sgfs_status open_rows(sgfs_predict *p, const sgfs_draws *draws, sgfs_err *err) {
    const sgfs_model_kind *kind = p->kind = find_kind(draws, p->cfg, err);
    sgfs_config *old = kind != NULL ? recall_config(draws, p->cfg, err) : NULL;
    if (old == NULL) return err->code;
    const sgfsi_origin origin = {.kind = kind,
                                 .cfg = old,
                                 .data = sgfsi_json_get(draws->header, "data"),
                                 .info = sgfsi_json_get(draws->header, "model_info")};
    sgfs_status status = sgfsi_newrows_open(&p->rows, &origin, p->path, p->cfg, err);
    sgfs_config_free(old);
    if (status != SGFS_OK) return status;
    if (p->rows.model->D != draws->D) {
        return sgfsi_fail(err, SGFS_ERUNFILE,
                          "The run has draws of %lld parameters, and its model %lld.",
                          (long long)draws->D, (long long)p->rows.model->D);
    }
    bool able =
        kind->predict != NULL || (kind->resample != NULL && p->rows.model->labels.count == 0);
    return able ? SGFS_OK
                : sgfsi_fail(err, SGFS_EUSAGE,
                             "Model %s knows neither a mean nor how to draw a target (predict, "
                             "resample): there is nothing to predict with.",
                             kind->name);
}

/* All draws of all chains in a row; of these `want`, evenly. */
static sgfs_status choose_draws(sgfs_predict *p, const sgfs_draws *draws, sgfs_err *err) {
    int64_t all = 0, want = sgfsi_config_int(p->cfg, "predict.draws"), before = 0;
    for (int64_t c = 0; c < draws->chains; c++) all += draws->chain[c].draws;
    if (all == 0) return sgfsi_fail(err, SGFS_EDATA, "The run has no draws yet.");
    p->draws = want < 1 || want > all ? all : want; /* auto is -1 */
    p->draw = sgfsi_arena_alloc(&p->arena, p->draws, sizeof *p->draw);
    if (p->draw == NULL) return sgfsi_fail_memory(err, "the list of draws");
    for (int64_t c = 0, k = 0; c < draws->chains; before += draws->chain[c++].draws) {
        for (; k < p->draws; k++) {
            int64_t at = (int64_t)(((double)k + 0.5) * (double)all / (double)p->draws) - before;
            if (at >= draws->chain[c].draws) break;
            p->draw[k] = (sgfsi_draw){draws->chain[c].theta + at * draws->D, (uint32_t)c, at};
        }
    }
    return SGFS_OK;
}

static sgfs_status open_all(sgfs_predict *p, const sgfs_draws *draws, sgfs_err *err) {
    sgfs_status status = choose_draws(p, draws, err);
    if (status == SGFS_OK) status = open_rows(p, draws, err);
    if (status != SGFS_OK) return status;
    const sgfs_model *m = p->rows.model;
    p->threads = sgfsi_threads(sgfsi_config_int(p->cfg, "run.threads"));
    p->slots = SLOTS * p->threads;
    p->width = m->kind->predict != NULL ? m->outputs : 1;
    p->most = sgfsi_predict_rows(m, p->width, p->draws);
    return sgfsi_tally_open(&p->tally, &m->labels, &p->arena, err);
}

/* An interval between quantiles of S draws covers (S - 1)/(S + 1) of what it says; where that costs
 * more than a point it should be known. */
static void tell_roughness(const sgfs_predict *p) {
    const sgfs_model *m = p->rows.model;
    double S = (double)p->draws;
    if (m->labels.count > 0 || m->kind->resample == NULL || 0.9 * (S - 1) / (S + 1) > 0.89) return;
    sgfsi_say(
        sgfsi_config_log(p->cfg), SGFS_WARNING,
        "A 90 %% interval from %lld predictive draws covers %.0f %% where the model is right: "
        "200 draws or more make that 89 %% and better.",
        (long long)p->draws, 90 * (S - 1) / (S + 1));
}

static void tell_state(sgfs_predict *p, const sgfs_draws *draws) {
    const char *state = draws->state != NULL ? draws->state : "unfinished";
    p->result.state = sgfsi_arena_text(&p->arena, state);
    if (strcmp(state, "complete") == 0) return;
    sgfsi_say(sgfsi_config_log(p->cfg), SGFS_WARNING,
              "The run is not complete (%.200s): predictions are of the draws it has.", state);
}

sgfs_predict *sgfs_predict_open(const sgfs_draws *draws, const char *path, const sgfs_config *cfg,
                                sgfs_err *err) {
    sgfs_err own = {SGFS_OK, ""};
    if (err == NULL) err = &own;
    if (draws == NULL && err->code != SGFS_OK) return NULL; /* says why already */
    if (draws == NULL || path == NULL || cfg == NULL) {
        sgfsi_fail(err, SGFS_EUSAGE, "sgfs_predict_open: draws, a path and a config are needed.");
        return NULL;
    }
    sgfs_predict *p = calloc(1, sizeof *p);
    if (p != NULL) p->cfg = sgfsi_config_copy(cfg);
    if (p != NULL) p->path = sgfsi_arena_text(&p->arena, path);
    sgfs_status status = p == NULL || p->cfg == NULL || p->path == NULL
                             ? sgfsi_fail_memory(err, "predictions")
                             : open_all(p, draws, err);
    if (status == SGFS_OK) tell_roughness(p);
    if (status == SGFS_OK) tell_state(p, draws);
    if (status == SGFS_OK) return p;
    sgfs_predict_free(p);
    return NULL;
}

void sgfs_predict_on_progress(sgfs_predict *predict, sgfs_predict_progress_fn on_progress,
                              void *user) {
    predict->on_progress = on_progress;
    predict->user = user;
}

void sgfs_predict_stop(sgfs_predict *predict) {
    atomic_store(&predict->stop, 1);
}

void sgfs_predict_free(sgfs_predict *predict) {
    if (predict == NULL) return;
    sgfsi_newrows_close(&predict->rows);
    sgfsi_user_free(predict->kind);
    sgfs_config_free(predict->cfg);
    free(predict->result.label);
    sgfsi_arena_free(&predict->arena);
    free(predict);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Fill slots from the file; *used is 0 at its end. */
static sgfs_status read_slots(sgfs_predict *p, int64_t *used, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    int64_t first = p->done;
    for (*used = 0; *used < p->slots; ++*used) {
        sgfsi_predict_slot *slot = &p->slot[*used];
        status = sgfsi_newrows_next(&p->rows, p->most, &slot->in, err);
        if (status != SGFS_OK || slot->in.batch.n == 0) return status;
        slot->first = first;
        first += slot->in.batch.n;
    }
    return status;
}

static void predict_slots(sgfs_predict *p, int64_t used) {
    sgfsi_scope scope = sgfsi_context_enter(&p->rows.model->ctx);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)p->threads)
    for (int64_t k = 0; k < used; k++)
        sgfsi_predict_block(p, &p->predictor[omp_get_thread_num()], &p->slot[k]);
    sgfsi_context_leave(scope);
}

static void tally_slot(sgfs_predict *p, const sgfsi_predict_slot *slot) {
    bool intervals = p->predictor[0].drawn;
    for (int64_t i = 0; p->rows.known && i < slot->in.batch.n; i++) {
        const sgfsi_scored_row told = {.weight = 1,
                                       .y = slot->in.y[i],
                                       .log_density = slot->log_density[i],
                                       .mean = slot->mean + i * p->width,
                                       .q = intervals ? slot->q + i * SGFSI_QUANTILES : NULL,
                                       .pit = slot->pit[i]};
        sgfsi_tally_add(&p->tally, &told);
    }
    p->done += slot->in.batch.n;
}

/* In the order of the file. */
static sgfs_status finish_slots(sgfs_predict *p, int64_t used, FILE *f, sgfs_err *err) {
    for (int64_t k = 0; k < used; k++) {
        const sgfsi_predict_slot *slot = &p->slot[k];
        if (slot->status != SGFS_OK) {
            *err = slot->err;
            return slot->status;
        }
        if (f != NULL && fwrite(slot->text, 1, slot->used, f) != slot->used)
            return SGFS_OK; /* committing the file will say why */
        tally_slot(p, slot);
    }
    return SGFS_OK;
}

static void tell_progress(const sgfs_predict *p, double start) {
    double seconds = sgfsi_now() - start, fraction = sgfsi_newdata_fraction(p->rows.rows);
    if (p->on_progress == NULL) return;
    double eta = fraction > 0 ? seconds * (1 - fraction) / fraction : -1;
    const sgfs_predict_progress now = {p->done, fraction, seconds, eta};
    p->on_progress(&now, p->user);
}

static sgfs_status predict_file(sgfs_predict *p, FILE *f, sgfs_err *err) {
    double start = sgfsi_now();
    int64_t used = p->slots;
    sgfs_status status = SGFS_OK;
    if (f != NULL) sgfsi_predict_head(p, f);
    while (status == SGFS_OK && used == p->slots && (f == NULL || !ferror(f))) {
        status = read_slots(p, &used, err);
        if (status != SGFS_OK) break;
        predict_slots(p, used);
        if (atomic_load(&p->stop) != 0)
            return sgfsi_fail(err, SGFS_ESTOPPED, "Stopped early: nothing was written.");
        status = finish_slots(p, used, f, err);
        tell_progress(p, start);
    }
    p->result.seconds = sgfsi_now() - start;
    return status;
}

sgfs_status sgfs_predict_all(sgfs_predict *p, const char *out, sgfs_err *err) {
    sgfs_err own = {SGFS_OK, ""};
    sgfsi_outfile file = {.f = NULL};
    if (err == NULL) err = &own;
    if (p == NULL && err->code != SGFS_OK) return err->code;
    if (p == NULL || p->slot != NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "sgfs_predict_all: a handle that has not been used is needed.");
    }
    p->writing = out != NULL;
    sgfs_status status = sgfsi_predict_room(p, err);
    if (status == SGFS_OK && out != NULL) {
        bool overwrite = sgfsi_config_flag(p->cfg, "output.overwrite");
        status = sgfsi_outfile_open(&file, out, overwrite, true, err);
    }
    if (status != SGFS_OK) return status;
    status = predict_file(p, file.f, err);
    if (status == SGFS_OK && out != NULL) status = sgfsi_outfile_commit(&file, err);
    else if (out != NULL) sgfsi_outfile_abandon(&file);
    return status == SGFS_OK ? sgfsi_predict_conclude(p, err) : status;
}
