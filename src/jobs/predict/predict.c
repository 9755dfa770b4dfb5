/* SPDX-License-Identifier: MIT
 * predict.c: from a run and a file to predictions: blocks of rows are read one after another,
 * predicted side by side, and written and tallied in the order of the file.
 *
 *     read slots ... | each thread: all draws on one slot's rows | write, tally | read ...
 *
 * What a row's prediction is depends on the row, the draws and the seed; blocks begin at fixed
 * rows, and the tally is kept in the order of rows: the number of threads changes nothing, nor does
 * that of processes, each of which reads all rows and predicts some of the slots. Memory:
 * the draws, a few blocks of rows for each thread, and for each thread what one block keeps of all
 * draws for its quantiles.
 */
#include "jobs/predict/predict.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/file.h"
#include "diagnostics/interval.h"
#include "jobs/reopen.h"
#include "model/user.h"
#include "posterior/far_predictor.h"

enum { SLOTS = 4 }; /* blocks for each thread between two looks at the file */

static const sgfs_option options[] = {
    {"predict.draws", "max-draws", SGFS_INTEGER, "auto", 1, 1e15, NULL,
     "use at most this many draws, evenly over the chains (auto: all)"},
    {"predict.key", "key", SGFS_TEXT, "", 1, 0, NULL,
     "a column of the new rows (CSV) whose cells stand first in each line of the output"},
    {"predict.new_groups", "new-groups", SGFS_CHOICE, "draw", 1, 0, "draw|zero|refuse",
     "effects of groups that the run has not seen: drawn by how much groups differ, 0, or refused"},
    {"predict.model", "model", SGFS_TEXT, "", 1, 0, NULL,
     "the shared object of a run made with a model of your own"},
    SGFSI_OPTIONS_END};

/* ---- opening --------------------------------------------------------------------------------- */

/* The word for it. --device auto: a GPU where there is one, and where the file is so long that it
 * pays: half a second of sixteen cores, which is what it takes to begin. */
static const char *choose_device(const sgfsi_predict *p) {
    const double worth = 5e10, bytes_of_number = 8;
    const char *name = sgfsi_config_text(p->job.cfg, "run.device");
    const sgfsi_log *log = sgfsi_config_log(p->job.cfg);
    const sgfs_device *gpu = NULL;
    struct stat is;
    sgfs_err err;
    if (strcmp(name, "auto") != 0) return name;
    if (p->path == NULL || stat(p->path, &is) != 0 ||
        (double)is.st_size / bytes_of_number * (double)p->draws < worth)
        return sgfsi_devices[0]->name;
    if (sgfsi_device_open(&gpu, &sgfs_device_cuda, 0, &err) != SGFS_OK) {
        sgfsi_say(log, SGFS_NOTE, "--device auto: the processor. %s", err.text);
        return sgfsi_devices[0]->name;
    }
    sgfsi_say(log, SGFS_NOTE, "--device auto: the GPU, %s.", gpu->ops->library(gpu));
    sgfsi_device_close(gpu);
    return sgfs_device_cuda.name;
}

/* The options of the model, as the run had them. */
static sgfs_config *recall_config(const sgfs_draws *draws, const char *device, sgfs_err *err) {
    sgfs_config *old = sgfs_config_new();
    sgfs_status status = old == NULL ? sgfsi_fail_memory(err, "the options") : SGFS_OK;
    if (status == SGFS_OK && !sgfsi_json_is_object(sgfsi_json_get(draws->header, "config")))
        status = sgfsi_fail(err, SGFS_ERUNFILE, "The run does not say what its options were.");
    if (status == SGFS_OK) status = sgfsi_reopen_choices(old, draws, "model.", err);
    if (status == SGFS_OK) status = sgfsi_reopen_choices(old, draws, "data.", err);
    if (status == SGFS_OK) status = sgfs_config_set(old, "run.device", device, err);
    if (status == SGFS_OK) return old;
    sgfs_config_free(old);
    return NULL;
}

static const sgfs_model_kind *find_kind(const sgfs_draws *draws, const sgfs_config *cfg,
                                        sgfs_err *err) {
    const char *name = sgfsi_reopen_model_name(draws, sgfsi_config_text(cfg, "predict.model"), err);
    return name != NULL ? sgfsi_find_model(name, err) : NULL;
}

/* Of those that have the effects of all groups. */
static sgfsi_draw kept_draw_of(const sgfs_draws *draws, int64_t k) {
    const sgfs_kept_effects *kept = &draws->effect_draws;
    const sgfsi_chain_draws *chain = &draws->chain[kept->chain[k]];
    if (kept->draw[k] >= chain->draws) return (sgfsi_draw){NULL};
    return (sgfsi_draw){chain->theta + kept->draw[k] * draws->D, (uint32_t)kept->chain[k],
                        kept->draw[k], kept->u + k * kept->numbers};
}

static sgfs_status choose_draws(sgfsi_predict *p, const sgfs_draws *draws, sgfs_err *err) {
    bool groups = sgfsi_json_get(sgfsi_json_get(draws->header, "model_info"), "groups") != NULL;
    int64_t all = 0, want = sgfsi_config_int(p->job.cfg, "predict.draws"), c = 0, before = 0;
    for (int64_t k = 0; k < draws->chains; k++) all += draws->chain[k].draws;
    if (all == 0) return sgfsi_fail(err, SGFS_EDATA, "The run has no draws yet.");
    if (groups) all = draws->effect_draws.count;
    if (all == 0)
        return sgfsi_fail(err, SGFS_EDATA,
                          "The run kept no draws of the effects of its groups: it was made with "
                          "--keep-groups 0, or did not get as far as its end (--resume takes it "
                          "up).");
    p->draws = want < 1 || want > all ? all : want; /* auto is -1 */
    p->draw = sgfsi_arena_alloc(&p->job.arena, p->draws, sizeof *p->draw);
    if (p->draw == NULL) return sgfsi_fail_memory(err, "the list of draws");
    /* All draws of all chains in a row; of these so many, evenly. */
    for (int64_t k = 0; k < p->draws; k++) {
        int64_t at = (int64_t)(((double)k + 0.5) * (double)all / (double)p->draws);
        while (!groups && at - before >= draws->chain[c].draws) before += draws->chain[c++].draws;
        p->draw[k] = groups
                         ? kept_draw_of(draws, at)
                         : (sgfsi_draw){.theta = draws->chain[c].theta + (at - before) * draws->D,
                                        .chain = (uint32_t)c,
                                        .at = at - before};
        if (p->draw[k].theta == NULL)
            return sgfsi_fail(err, SGFS_ERUNFILE, "The run's draws of effects are damaged.");
    }
    return SGFS_OK;
}

/* Collective: has each process the same number of bytes with the same checksum? */
static sgfs_status compare_between(const sgfsi_predict *p, int64_t count, uint32_t crc,
                                   const char *what, const char *verb, sgfs_err *err) {
    const sgfsi_comm *comm = p->comm;
    const int64_t size = comm->size;
    if (size == 1) return SGFS_OK;
    int64_t(*said)[2] = calloc((size_t)size, sizeof *said), other = 0;
    sgfs_status status = said != NULL ? SGFS_OK : sgfsi_fail_memory(err, "a comparison");
    if (said != NULL) said[comm->rank][0] = count, said[comm->rank][1] = crc;
    status = sgfsi_comm_gather(comm, status, size, sizeof *said, sizeof *said, said, err);
    for (int64_t k = size - 1; status == SGFS_OK && k > 0; k--)
        if (memcmp(said[k], said[0], sizeof *said) != 0) other = k;
    free(said);
    if (status != SGFS_OK || other == 0) return status;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.300s: rank %lld of %lld has %s than rank 0: all machines need the same "
                      "files, to the byte.",
                      what, (long long)other, (long long)size, verb);
}

/* The draws that are used, so that an old copy of the run on one machine is found out. */
static sgfs_status compare_draws(const sgfsi_predict *p, int64_t D, sgfs_err *err) {
    uint32_t crc = 0;
    for (int64_t k = 0; p->comm->size > 1 && k < p->draws; k++)
        crc = sgfsi_crc32(crc, p->draw[k].theta, (size_t)D * sizeof(double));
    return compare_between(p, p->draws, crc, "The run", "read other draws", err);
}

/* The rows that were read just now, so that an old copy of theirs is. What a row lacks has any
 * bytes. */
static sgfs_status compare_rows(const sgfsi_predict *p, int64_t used, sgfs_err *err) {
    const int64_t terms = p->rows.groups.terms;
    uint32_t crc = 0;
    int64_t rows = 0;
    for (int64_t k = 0; p->comm->size > 1 && k < used; k++) {
        const sgfsi_newrows_block *in = &p->slot[k].in;
        const sgfs_batch *b = &in->batch;
        for (int64_t i = 0; i < b->n; i++) {
            crc = sgfsi_crc32(crc, &in->lacks[i], 1);
            if (in->lacks[i] == SGFSI_LACKS_VALUES) continue;
            crc = sgfsi_crc32(crc, b->x + i * b->p, (size_t)b->p * sizeof *b->x);
            if (b->offset != NULL) crc = sgfsi_crc32(crc, b->offset + i, sizeof *b->offset);
            if (terms > 0) crc = sgfsi_crc32(crc, in->code + i * terms, (size_t)terms * 8);
            if (in->lacks[i] == SGFSI_LACKS_NOTHING && b->y != NULL)
                crc = sgfsi_crc32(crc, b->y + i, sizeof *b->y);
        }
        if (p->rows.wanted.key != NULL) crc = sgfsi_crc32(crc, in->keys.bytes, in->keys.used);
        rows += b->n;
    }
    return compare_between(p, rows, crc, sgfsi_newdata_shown(p->rows.rows), "read other rows", err);
}

static int64_t count_effects(const sgfsi_groups *groups) {
    int64_t sum = 0;
    for (int64_t k = 0; k < groups->terms; k++)
        sum += groups->term[k].factor->levels * groups->term[k].q;
    return sum;
}

static sgfs_status open_all(sgfsi_predict *p, const sgfs_draws *draws, sgfs_err *err) {
    if (sgfsi_comm_open(&p->comm, p->job.cfg, err) != SGFS_OK) return sgfsi_why(err);
    if (choose_draws(p, draws, err) != SGFS_OK) return sgfsi_why(err);
    if (p->kind == NULL) p->kind = find_kind(draws, p->job.cfg, err);
    const sgfs_model_kind *kind = p->kind;
    sgfs_config *old = kind != NULL ? recall_config(draws, choose_device(p), err) : NULL;
    if (old == NULL) return sgfsi_why(err);
    const sgfsi_origin origin = {.kind = kind,
                                 .cfg = old,
                                 .data = sgfsi_json_get(draws->header, "data"),
                                 .info = sgfsi_json_get(draws->header, "model_info"),
                                 .effects = draws->effects};
    sgfs_status status = sgfsi_newrows_open(&p->rows, &origin, p->path, p->job.cfg, err);
    sgfs_config_free(old);
    if (status != SGFS_OK) return status;
    const sgfs_model *m = p->rows.model;
    if (m->D != draws->D)
        return sgfsi_fail(err, SGFS_ERUNFILE,
                          "The run has draws of %lld parameters, and its model %lld.",
                          (long long)draws->D, (long long)m->D);
    const sgfsi_groups *groups = p->rows.groups.groups;
    if (groups != NULL && count_effects(groups) != draws->effect_draws.numbers)
        return sgfsi_fail(err, SGFS_ERUNFILE, "The run's draws of effects are damaged.");
    if (kind->predict == NULL && (kind->resample == NULL || m->labels.count > 0))
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "Model %s knows neither a mean nor how to draw a target (predict, "
                          "resample): there is nothing to predict with.",
                          kind->name);
    int64_t threads = p->job.threads; /* of rank 0 */
    status = sgfsi_comm_broadcast(p->comm, SGFS_OK, (int64_t)sizeof threads, &threads, err);
    if (status != SGFS_OK) return status;
    status = compare_draws(p, draws->D, err);
    if (status != SGFS_OK) return status;
    p->slots = SLOTS * threads * p->comm->size;
    p->width = kind->predict != NULL ? m->outputs : 1;
    /* A device keeps what all draws say, of which an array wants every number. */
    bool alone = p->comm->size == 1 && !p->array;
    p->most = alone ? sgfsi_far_predictor_rows(m, p->draws, p->job.threads) : 0;
    p->model = p->most > 0 ? m : sgfsi_model_near(m, &p->job.arena);
    if (p->model == NULL) return sgfsi_fail_memory(err, "predictions");
    if (p->most == 0) p->most = sgfsi_predict_rows(m, p->width, p->draws);
    p->seed = (uint64_t)sgfsi_config_int(p->job.cfg, "run.seed");
    sgfsi_interval_kind tails;
    status = sgfsi_interval_read(sgfsi_config_text(p->job.cfg, "summary.interval"),
                                 &p->result.interval, &tails, err);
    if (status != SGFS_OK) return status;
    if (tails == SGFSI_HIGHEST_DENSITY)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--interval hdi is for parameters; a prediction's interval lies between "
                          "two quantiles: give its share alone.");
    for (int k = 0; k < SGFSI_QUANTILES; k++) /* of 0.9 exactly 0.05 and 0.95 */
        p->at[k] = (100 + (k - 1) * (100 * p->result.interval)) / 200;
    status = sgfsi_predict_introduce(p, err);
    if (status != SGFS_OK) return status;
    return sgfsi_tally_open(&p->tally, &m->labels, &p->job.arena, err);
}

/* What the user should know of the draws before waiting for what they predict. */
static void caution(sgfsi_predict *p, const sgfs_draws *draws) {
    const sgfs_model *m = p->rows.model;
    const sgfsi_log *log = sgfsi_config_log(p->job.cfg);
    const char *state = draws->state != NULL ? draws->state : "unfinished";
    /* An interval between quantiles of S draws covers (S - 1)/(S + 1) of what it says; where that
     * costs more than a point it should be known. */
    double S = (double)p->draws, share = p->result.interval, covers = share * (S - 1) / (S + 1);
    if (m->labels.count == 0 && m->kind->resample != NULL && covers <= share - 0.01)
        sgfsi_say(log, SGFS_WARNING,
                  "A %.3g %% interval from %lld predictive draws covers %.0f %% where the model is "
                  "right: 200 draws or more come within a point of it.",
                  100 * share, (long long)p->draws, 100 * covers);
    p->result.state = sgfsi_arena_text(&p->job.arena, state);
    if (strcmp(state, "complete") != 0)
        sgfsi_say(log, SGFS_WARNING,
                  "The run is not complete (%.200s): predictions are of the draws it has.", state);
}

/* The kind of the caller's callbacks, if they are of the model that the run was made with. */
static sgfs_status take_calls(sgfsi_predict *p, const sgfs_draws *draws,
                              const sgfs_user_model *calls, sgfs_err *err) {
    const char *name = sgfsi_json_get_text(draws->header, "model", "");
    p->kind = sgfsi_user_kind(calls, "sgfs_predict_open", err);
    if (p->kind == NULL) return sgfsi_why(err);
    if (strcmp(p->kind->name, name) == 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "The run was made with the model %.100s, and not with %.100s.", name,
                      p->kind->name);
}

sgfs_job *sgfs_predict_open(const sgfs_draws *draws, const sgfs_user_model *user_model,
                            const char *data, const char *out, const sgfs_config *cfg,
                            sgfs_err *err) {
    sgfs_err own = {SGFS_OK, ""};
    if (err == NULL) err = &own;
    sgfsi_predict *p = sgfsi_job_new(&sgfsi_job_predict, sizeof *p, draws != NULL ? cfg : NULL,
                                     "sgfs_predict_open: draws and a config are needed.", err);
    if (p == NULL) return NULL;
    pthread_mutex_init(&p->lock, NULL);
    if (data != NULL) p->path = sgfsi_arena_text(&p->job.arena, data);
    if (out != NULL) p->out = sgfsi_arena_text(&p->job.arena, out);
    size_t length = out != NULL ? strlen(out) : 0;
    p->array = length >= 4 && strcmp(out + length - 4, ".npy") == 0;
    sgfs_status status = (data != NULL && p->path == NULL) || (out != NULL && p->out == NULL)
                             ? sgfsi_fail_memory(err, "predictions")
                             : SGFS_OK;
    if (status == SGFS_OK && (out == NULL || p->array) &&
        !sgfsi_config_auto(p->job.cfg, "predict.key"))
        status = sgfsi_fail(err, SGFS_EUSAGE,
                            "--key is for the lines of predictions: name a CSV file, --out FILE.");
    if (data == NULL && out != NULL)
        status = sgfsi_fail(err, SGFS_EUSAGE,
                            "sgfs_predict_open: predictions of rows in memory go to memory.");
    if (status == SGFS_OK && user_model != NULL) status = take_calls(p, draws, user_model, err);
    if (status == SGFS_OK) status = open_all(p, draws, err);
    if (status == SGFS_OK) caution(p, draws);
    if (status == SGFS_OK && p->result.state == NULL)
        status = sgfsi_fail_memory(err, "predictions");
    if (status == SGFS_OK && data == NULL) p->job.result = &p->result;
    return sgfsi_job_opened(&p->job, status);
}

static void close_predict(sgfs_job *job) {
    sgfsi_predict *p = (sgfsi_predict *)job;
    for (int64_t k = 0; p->slot != NULL && k < p->slots; k++) {
        free(p->slot[k].text.bytes);
        free(p->slot[k].in.keys.bytes);
    }
    sgfsi_workspaces_free(p->idle);
    sgfsi_arena_free(&p->there);
    pthread_mutex_destroy(&p->lock);
    sgfsi_newrows_close(&p->rows);
    sgfsi_user_free(p->kind);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* "city" 12, "size" 3: rows whose words count as the first one of their column. */
static void say_new_words(sgfsi_predict *p) {
    char text[300] = "";
    const char *name;
    void *at = NULL;
    sgfsi_json *columns = sgfsi_json_object();
    int64_t rows = p->result.new_words = sgfsi_newdata_new_words(p->rows.rows, columns);
    for (const sgfsi_json *count; (count = sgfsi_json_next(columns, &at, &name)) != NULL;)
        sgfsi_append(text, sizeof text, "%s\"%.40s\" %lld", text[0] != '\0' ? ", " : "", name,
                     (long long)sgfsi_json_get_int(columns, name, 0));
    if (rows > 0)
        sgfsi_say(sgfsi_config_log(p->job.cfg), SGFS_NOTE,
                  "%lld of %lld rows hold words that the run has not seen, which say nothing there "
                  "(--new-words zero): %s.",
                  (long long)rows, (long long)p->done, text);
    sgfsi_json_free(columns);
}

/* "user" 12, "item" 3: rows with groups that the run has not seen. */
static void say_new_groups(sgfsi_predict *p) {
    const sgfsi_newgroups *g = &p->rows.groups;
    char text[300] = "";
    p->result.new_groups = p->rows.new_groups;
    for (int64_t k = 0; k < g->terms; k++)
        if (p->rows.new_in_term[k] > 0)
            sgfsi_append(text, sizeof text, "%s\"%.40s\" %lld", text[0] != '\0' ? ", " : "",
                         g->groups->term[k].factor->name, (long long)p->rows.new_in_term[k]);
    if (p->rows.new_groups > 0)
        sgfsi_say(
            sgfsi_config_log(p->job.cfg), SGFS_NOTE,
            "%lld of %lld rows are in groups that the run has not seen, whose effects are %s: "
            "%s.",
            (long long)p->rows.new_groups, (long long)p->done,
            g->zero ? "0 (--new-groups zero)" : "drawn by how much groups differ", text);
}

static sgfs_status predict_file(sgfsi_predict *p, FILE *f, sgfs_err *err) {
    int64_t used = p->slots;
    sgfs_status status = SGFS_OK;
    if (f != NULL) sgfsi_predict_head(p, f);
    while (status == SGFS_OK && used == p->slots && (f == NULL || !ferror(f))) {
        int64_t first = p->done;
        for (used = 0; used < p->slots; used++) {
            sgfsi_predict_slot *slot = &p->slot[used];
            status = sgfsi_newrows_next(&p->rows, p->most, &slot->in, err);
            if (status != SGFS_OK) return status;
            if (slot->in.batch.n == 0) break;
            slot->first = first;
            first += slot->in.batch.n;
        }
        status = compare_rows(p, used, err);
        if (status != SGFS_OK) return status;
        sgfsi_scope scope = sgfsi_context_enter(&p->rows.model->ctx);
        const sgfsi_share mine = sgfsi_comm_share(p->comm, used);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)p->job.threads)
        for (int64_t k = mine.first; k < mine.end; k++)
            sgfsi_predict_block(p, &p->predictor[omp_get_thread_num()], &p->slot[k]);
        sgfsi_context_leave(scope);
        if (sgfsi_job_stopping(&p->job))
            return sgfsi_fail(err, SGFS_ESTOPPED,
                              "Stopped early: nothing was written. The same command starts over.");
        for (int64_t k = mine.first; k < mine.end && status == SGFS_OK; k++) {
            status = p->slot[k].status;
            if (status != SGFS_OK) *err = p->slot[k].err;
        }
        if (p->comm->size > 1) status = sgfsi_predict_gather(p, used, status, err);
        if (status != SGFS_OK) return status;
        /* Written and tallied in the order of the file. */
        for (const sgfsi_predict_slot *slot = p->slot; slot < p->slot + used; slot++) {
            if (f != NULL && fwrite(slot->text.bytes, 1, slot->text.used, f) != slot->text.used)
                break; /* committing the file will say why */
            for (int64_t i = 0; i < slot->in.batch.n; i++) {
                p->result.unpredicted += slot->in.lacks[i] == SGFSI_LACKS_VALUES;
                p->result.unscored += slot->in.lacks[i] != SGFSI_LACKS_NOTHING;
                if (slot->in.lacks[i] != SGFSI_LACKS_NOTHING || !p->rows.known) continue;
                const double *q = p->predictor[0].drawn ? slot->q + i * SGFSI_QUANTILES : NULL;
                const sgfsi_scored_row row = {.weight = 1,
                                              .y = slot->in.y[i],
                                              .log_density = slot->log_density[i],
                                              .mean = slot->mean + i * p->width,
                                              .q = q,
                                              .pit = slot->pit[i]};
                sgfsi_tally_add(&p->tally, &row);
                const sgfsi_labels *labels = p->tally.labels;
                if (labels->count == 0) continue;
                int64_t shown = labels->count == 2 ? 1 : sgfsi_tally_best(labels->count, row.mean);
                sgfsi_rank *rank = &p->rank[sgfsi_predict_rank(row.mean[shown])];
                rank->rows++;
                rank->predicted += row.mean[shown];
                rank->observed += sgfsi_labels_class(labels, row.y) == shown;
            }
            p->done += slot->in.batch.n;
        }
        sgfsi_job_report(&p->job, sgfsi_newdata_fraction(p->rows.rows), p->done, 0,
                         "%lld rows, %.3g rows/s", (long long)p->done,
                         (double)p->done / sgfsi_job_seconds(&p->job));
    }
    p->result.seconds = sgfsi_job_seconds(&p->job);
    if (f != NULL && ferror(f)) return status; /* committing it will say why */
    if (p->result.unpredicted > 0)
        sgfsi_say(sgfsi_config_log(p->job.cfg), SGFS_WARNING,
                  "%lld of %lld rows lack a value and have no prediction%s.",
                  (long long)p->result.unpredicted, (long long)p->done,
                  p->out != NULL ? ": their lines are empty" : "");
    say_new_words(p);
    say_new_groups(p);
    if (p->rows.known && p->result.unscored > p->result.unpredicted)
        sgfsi_say(sgfsi_config_log(p->job.cfg), SGFS_NOTE,
                  "%lld rows have no target: they are predicted, and not scored.",
                  (long long)(p->result.unscored - p->result.unpredicted));
    return status;
}

/* How many rows an array has is known at its end: its head is written once more. */
static sgfs_status count_rows(const sgfsi_predict *p, sgfsi_outfile *file, sgfs_err *err) {
    sgfsi_buffer text = {NULL};
    FILE *f = sgfsi_io_memory(&text);
    if (f != NULL) sgfsi_predict_head(p, f);
    bool whole = f != NULL && !ferror(f);
    whole = f != NULL && fclose(f) == 0 && whole;
    int error = whole && fflush(file->f) == 0 ? sgfsi_io_write(file->fd, text.bytes, text.used, 0)
                                              : 0; /* what failed before is said by the commit */
    free(text.bytes);
    if (!whole) return sgfsi_fail_memory(err, "the head of the output");
    return error == 0 ? SGFS_OK : sgfsi_fail_io(err, p->out, "write it", error);
}

static sgfs_status run(sgfs_job *job, sgfs_err *err) {
    sgfsi_predict *p = (sgfsi_predict *)job;
    sgfsi_outfile file = {.f = NULL};
    if (p->path == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "sgfs_job_run: the job has no file of rows; sgfs_predict_rows hands it "
                          "some.");
    sgfs_status status = sgfsi_predict_room(p, err);
    const bool writes = p->out != NULL && p->comm->rank == 0;
    if (status == SGFS_OK && writes) {
        bool overwrite = sgfsi_config_flag(job->cfg, "output.overwrite");
        status = sgfsi_outfile_open(&file, p->out, overwrite, true, err);
    }
    if (status != SGFS_OK) return status;
    status = predict_file(p, file.f, err);
    if (status == SGFS_OK && p->array && writes) status = count_rows(p, &file, err);
    if (status == SGFS_OK && writes) status = sgfsi_outfile_commit(&file, err);
    else if (writes) sgfsi_outfile_abandon(&file);
    if (status != SGFS_OK) return status;
    sgfsi_predict_conclude(p);
    job->result = &p->result;
    return SGFS_OK;
}

const sgfsi_job_kind sgfsi_job_predict = {.stage = "predict",
                                          .options = options,
                                          .doing = "predicting",
                                          .run = run,
                                          .json = sgfsi_predict_json,
                                          .close = close_predict};
