/* SPDX-License-Identifier: MIT
 * tune.c: one run for every setting and fold, and what is learned from it.
 *
 *   log-loss  for each fold: for each setting: sample on the other rows, score the fold
 *             (heldout_loss.c)
 *   error     for each setting: sample on all rows, compare with the reference (sgfs_compare)
 *
 * Folds are the outer loop: whoever stops early has every setting judged by the same folds, one
 * fold's list of rows exists at a time, and a setting that diverged is not tried again. Seeds are
 * the same everywhere. grid.c makes the settings, ranking.c the table.
 */
#include "jobs/tune/tune.h"

#include <math.h>
#include <string.h>

#include "chain/run.h"
#include "diagnostics/reference.h"
#include "diagnostics/summary.h"
#include "model/scales.h"

static const sgfs_option options[] = {
    {"tune.by", "by", SGFS_CHOICE, "log-loss", 1, 0, "log-loss|error",
     "judge by rows held out, or by E2 against --reference"},
    {"tune.folds", "folds", SGFS_INTEGER, "5", 2, SGFSI_MOST_FOLDS, NULL,
     "parts of the rows, each held out once"},
    {"tune.holdout", "holdout", SGFS_NUMBER, "auto", 1e-6, 0.9, NULL,
     "hold out this share of the rows once, instead of folds"},
    {"tune.reference", "reference", SGFS_TEXT, "", 1, 0, NULL,
     "run or moments (as for sgfs compare), for --by error"},
    SGFSI_OPTIONS_END};

/* ---- opening --------------------------------------------------------------------------------- */

static sgfs_status check_options(sgfsi_tune *t, sgfs_err *err) {
    const sgfs_config *cfg = t->job.cfg;
    const char *path = sgfsi_config_text(cfg, "tune.reference");
    bool folds = sgfsi_config_given(cfg, "tune.folds");
    if (sgfsi_config_text(cfg, "run.validate")[0] != '\0')
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--validate belongs to a single run; tune holds rows out by itself.");
    if (!t->by_error && sgfsi_config_given(cfg, "tune.reference"))
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--reference is what --by error compares with; --by log-loss has no use "
                          "for it.");
    if (!t->by_error && t->share > 0 && folds)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--folds and --holdout are two ways to hold rows out: give one of them.");
    if (!t->by_error && t->folds > t->model->data->N)
        return sgfsi_fail(err, SGFS_EUSAGE, "--folds %lld is more than the %lld rows of %s.",
                          (long long)t->folds, (long long)t->model->data->N, t->model->data->path);
    if (!t->by_error) return SGFS_OK;
    if (path[0] == '\0')
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--by error: compared with what? Add --reference RUN or MOMENTS.json.");
    if (folds || t->share > 0)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--by error holds no rows out: leave --folds and --holdout away.");
    /* Names and a covariance: what would only be missed after the first run otherwise. */
    sgfsi_reference reference = {.threads = t->job.threads};
    sgfs_status status =
        sgfsi_reference_read(path, t->model->D, t->model->param, &t->job.arena, &reference, err);
    if (status != SGFS_OK || reference.cov != NULL) return status;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: has no covariance, and --by error judges the spread by it.", path);
}

/* Every line of the grid, "epsilon=1e-3,5e-4", is an axis. */
static sgfs_status read_grid(sgfsi_tune *t, const char *grid, sgfs_err *err) {
    char *text = sgfsi_arena_text(&t->job.arena, grid), *end;
    if (text == NULL) return sgfsi_fail_memory(err, "the grid");
    for (sgfs_status status = SGFS_OK; text != NULL && text[0] != '\0'; text = end) {
        end = strchr(text, '\n');
        if (end != NULL) *end++ = '\0';
        char *equals = strchr(text, '=');
        if (equals == NULL)
            return sgfsi_fail(err, SGFS_EUSAGE,
                              "--grid %.100s: write it as OPTION=VALUE,VALUE, for example --grid "
                              "epsilon=1e-3,1e-4.",
                              text);
        *equals = '\0';
        status = sgfsi_tune_grid(t, text, equals + 1, err);
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

sgfs_job *sgfs_tune_open(const sgfs_model *model, const char *grid, const sgfs_config *cfg,
                         sgfs_err *err) {
    sgfsi_tune *t = sgfsi_job_new(&sgfsi_job_tune, sizeof *t, model != NULL ? cfg : NULL,
                                  "sgfs_tune_open: a model and a config are needed.", err);
    if (t == NULL) return NULL;
    t->model = model;
    t->by_error = strcmp(sgfsi_config_text(cfg, "tune.by"), "error") == 0;
    t->share = sgfsi_config_auto(cfg, "tune.holdout") ? 0 : sgfsi_config_num(cfg, "tune.holdout");
    t->folds = t->by_error || t->share > 0 ? 1 : sgfsi_config_int(cfg, "tune.folds");
    t->units = t->by_error ? 1 : t->share > 0 ? SGFSI_HELDOUT_GROUPS : t->folds;
    t->table = (sgfs_tune_table){
        .by_error = t->by_error, .best = -1, .winner = -1, .verdict = "Nothing was tried yet."};
    t->job.result = &t->table;
    sgfs_status status = check_options(t, err);
    if (status == SGFS_OK && grid != NULL) status = read_grid(t, grid, err);
    return sgfsi_job_opened(&t->job, status);
}

static void close_tune(sgfs_job *job) {
    sgfsi_tune *t = (sgfsi_tune *)job;
    for (int64_t i = 0; i < t->trials; i++) sgfs_config_free(t->trial[i].cfg);
}

/* ---- one run --------------------------------------------------------------------------------- */

/* A few times a second of a run. */
void sgfsi_tune_on_run(const sgfs_progress *p, void *user) {
    sgfsi_tune *t = user;
    double done = t->done + t->at_hand->work * p->fraction;
    int64_t runs = t->trials * t->folds;
    sgfsi_job_report(&t->job, t->total > 0 ? done / t->total : 0, t->run - 1, runs,
                     "run %lld of %lld (%.500s)", (long long)t->run, (long long)runs,
                     t->at_hand->setting);
}

static sgfs_status judge(sgfsi_tune *t, sgfsi_trial *trial, const sgfs_run *run,
                         const sgfsi_folds *f, sgfs_err *err) {
    trial->empty = sgfs_draws_size(run->out.memory).draws == 0;
    if (trial->empty) return SGFS_OK;
    const sgfs_draws *draws = run->out.memory;
    if (f == NULL) { /* by error */
        const char *reference = sgfsi_config_text(t->job.cfg, "tune.reference");
        sgfs_compare *c = sgfsi_compare_new(draws, reference, t->job.threads, err);
        if (c == NULL) return sgfsi_why(err);
        trial->E1 = c->E1;
        trial->E2 = c->E2;
        trial->trR = c->trR;
        trial->E2_noise = c->E2_noise;
        trial->units = 1;
        sgfsi_compare_free(c);
    } else {
        sgfsi_heldout h;
        sgfs_status status = sgfsi_heldout_score(run->model, draws, f->row + f->training, f->hidden,
                                                 t->job.threads, sgfsi_job_stop(&t->job), &h, err);
        if (status != SGFS_OK) return status;
        for (int64_t g = 0; t->share > 0 && g < h.groups; g++)
            trial->loss[trial->units++] = h.group[g];
        if (t->share == 0) trial->loss[trial->units++] = h.loss;
        trial->error += h.error;
    }
    sgfs_summary *s = sgfsi_summary_new(draws, t->job.threads, err);
    if (s == NULL) return sgfsi_why(err);
    /* Geometric mean over the parameters of sd / what the curvature predicts. */
    double sum = 0, count = 0;
    for (int64_t i = 0; i < s->dim; i++) {
        double ratio = s->row[i].sd / s->row[i].sd_curvature;
        if (!isfinite(ratio) || ratio <= 0) continue;
        sum += log(ratio);
        count++;
    }
    trial->spread += count > 0 ? exp(sum / count) : NAN;
    trial->ess += s->ess_min;
    trial->runs++;
    sgfsi_summary_free(s);
    return SGFS_OK;
}

/* A chain that left the numbers is a result; a stop by --max-time leaves fewer draws. */
static sgfs_status run_trial(sgfsi_tune *t, sgfsi_trial *trial, sgfs_run *run, const sgfsi_folds *f,
                             sgfs_err *err) {
    sgfs_status status = sgfs_run_all(run, err);
    trial->seconds += run->seconds;
    if (status == SGFS_ENUMERIC) {
        trial->diverged = true;
        trial->note = sgfsi_arena_text(&t->job.arena, err->text);
        return trial->note != NULL ? SGFS_OK : sgfsi_fail_memory(err, "tuning");
    }
    if (status == SGFS_ESTOPPED && !sgfsi_job_stopping(&t->job)) status = SGFS_OK;
    if (status == SGFS_OK) status = sgfs_run_close(run, err);
    return status == SGFS_OK ? judge(t, trial, run, f, err) : status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static sgfs_status try_all(sgfsi_tune *t, const sgfs_model *m, const sgfsi_folds *f,
                           sgfs_err *err) {
    sgfs_status status = t->trial == NULL ? sgfsi_tune_lay_out(t, m, err) : SGFS_OK;
    for (int64_t i = 0; i < t->trials && status == SGFS_OK; i++) {
        sgfsi_trial *trial = &t->trial[i];
        t->run++;
        t->at_hand = trial;
        if (!trial->diverged && !trial->empty) {
            sgfs_run *run = sgfs_run_open(m, trial->cfg, err);
            status = run != NULL ? run_trial(t, trial, run, f, err) : sgfsi_why(err);
            sgfs_run_free(run);
        }
        t->done += trial->work;
        t->finished += status == SGFS_OK;
        if (status != SGFS_OK && status != SGFS_ESTOPPED) {
            const sgfs_err cause = *err;
            return sgfsi_fail(err, status, "%.150s: %.340s", trial->setting, cause.text);
        }
        if (sgfsi_job_stopping(&t->job)) status = SGFS_ESTOPPED;
    }
    return status;
}

/* For each fold: the model on its training rows, and every setting on it. */
static sgfs_status try_folds(sgfsi_tune *t, sgfs_err *err) {
    sgfsi_folds f;
    const sgfs_model *whole = t->model;
    uint64_t seed = (uint64_t)sgfsi_config_int(t->job.cfg, "run.seed");
    sgfs_status status =
        sgfsi_folds_open(&f, whole->data, t->folds, t->share, seed, &t->job.arena, err);
    for (int64_t k = 0; k < t->folds && status == SGFS_OK; k++) {
        sgfs_err cause = {SGFS_OK, ""};
        sgfsi_folds_pick(&f, k);
        sgfs_data *data = sgfsi_data_view(whole->data, f.row, f.training, SGFSI_OWN_SCALE, &cause);
        sgfs_model *m = data != NULL ? sgfsi_model_within(&whole->ctx, whole->kind, data,
                                                          whole->cfg, whole->saved, &cause)
                                     : NULL;
        if (m != NULL) status = try_all(t, m, &f, err);
        else
            status = sgfsi_fail(
                err, cause.code,
                "With %s %lld of %lld held out the rows left cannot be used: %.350s",
                t->share > 0 ? "part" : "fold", (long long)k + 1, (long long)t->folds, cause.text);
        sgfs_model_free(m);
        sgfs_data_free(data);
    }
    return status;
}

static sgfs_status run(sgfs_job *job, sgfs_err *err) {
    sgfsi_tune *t = (sgfsi_tune *)job;
    sgfs_status refused = sgfsi_scales_refuse(t->model, err);
    if (refused != SGFS_OK) return refused;
    sgfs_status status = t->by_error ? try_all(t, t->model, NULL, err) : try_folds(t, err);
    if (status != SGFS_OK && status != SGFS_ESTOPPED) return status;
    sgfs_status ranked = sgfsi_tune_rank(t, err);
    if (ranked != SGFS_OK) return ranked;
    if (status == SGFS_ESTOPPED)
        return sgfsi_fail(err, SGFS_ESTOPPED,
                          "Stopped early, after %lld of %lld runs. The same command starts over.",
                          (long long)t->finished, (long long)(t->trials * t->folds));
    /* Nothing to recommend: because everything diverged, or because no run came as far as a
     * draw. */
    int64_t diverged = 0;
    for (int64_t i = 0; i < t->trials; i++) diverged += t->trial[i].diverged;
    if (t->table.winner >= 0) return SGFS_OK;
    if (diverged < t->trials)
        return sgfsi_fail(err, SGFS_ESTOPPED,
                          "No setting can be judged: --max-time ended the runs before their first "
                          "draw. Give them more time, or a shorter --warmup.");
    return sgfsi_fail(
        err, SGFS_ENUMERIC,
        "Every setting diverged (%lld of %lld). Try smaller steps: another decade down "
        "in --grid epsilon, larger values in --grid alpha%s.",
        (long long)diverged, (long long)t->trials,
        t->model->data->scale != NULL ? "" : ", or --standardize");
}

const sgfsi_job_kind sgfsi_job_tune = {.stage = "tune",
                                       .options = options,
                                       .doing = "tuning",
                                       .run = run,
                                       .json = sgfsi_tune_json,
                                       .save = sgfsi_tune_save,
                                       .close = close_tune};
