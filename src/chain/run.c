/* SPDX-License-Identifier: MIT
 * run.c: the loop that drives the stages. No arithmetic happens here.
 *
 * Chains are the unit of parallel work. sgfs_run_all advances all of them in short stretches, so
 * that progress, stopping and what is in the file stay even between chains; a chain's numbers
 * depend on nothing but its own state, so neither threads nor the length of the stretches change a
 * bit of them.
 */
#include "chain/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ticker.h"
#include "chain/go_ahead.h"
#include "chain/lengthen.h"
#include "chain/rehearse.h"
#include "chain/resume.h"
#include "context/clock.h"
#include "sampler/ahead.h"

/* ---- opening and closing --------------------------------------------------------------------- */

static void close_chains(sgfs_run *run) {
    for (int64_t c = 0; run->chain != NULL && c < run->plan.chains; c++)
        sgfsi_chain_close(&run->chain[c]);
    free(run->chain);
    run->chain = NULL;
    sgfsi_run_close_ahead(run);
}

/* A first chain that says that its sampler is of no use here is the last. */
static sgfs_status open_chains(sgfs_run *run, sgfs_err *err) {
    run->chain = calloc((size_t)run->plan.chains, sizeof *run->chain);
    if (run->chain == NULL) return sgfsi_fail_memory(err, "the chains");
    double used = 0;
    sgfs_status status = sgfsi_rehearse_room(run, 0, &used, err);
    for (int64_t c = 0; c < run->plan.chains && status == SGFS_OK; c++) {
        run->chain[c].index = c;
        run->chain[c].sampler.first = c > 0 ? &run->chain[0].sampler : NULL;
        status = sgfsi_chain_open(&run->chain[c], run->model, &run->plan, err);
        status = sgfsi_arena_explain(&run->chain[c].arena, status, err);
        status = sgfsi_model_explain(run->model, status, err);
        if (run->chain[0].sampler.fallback[0] != '\0') break;
        if (status == SGFS_OK) status = sgfsi_rehearse_room(run, c + 1, &used, err);
    }
    sgfsi_device_wait(run->model->ctx.device);
    return status == SGFS_OK ? sgfsi_run_open_ahead(run, err) : status;
}

/* Is it to begin anew with SGFS, and why? A sampler the user named may be of no use, but where it
 * cannot work that is an error; one that was chosen for the user can be given up, unless it is an
 * option of the user's that is in its way. */
static bool is_of_no_use(const sgfs_run *run, sgfs_status status, const sgfs_err *err,
                         sgfsi_setback *why) {
    if (run->chain == NULL || run->choice.fallbacks > 0) return false;
    const sgfs_sampler *first = &run->chain[0].sampler;
    const char *text = status == SGFS_OK ? first->fallback : err->text;
    bool found = first->anchor != NULL && first->anchor->theta != NULL;
    bool failed = status == SGFS_ENUMERIC || (status == SGFS_EUSAGE && !found);
    why->no_mode = failed && !found;
    snprintf(why->text, sizeof why->text, "%.470s", text);
    if (status == SGFS_OK) return text[0] != '\0';
    return run->choice.automatic && run->plan.kinds.sampler->anchored && failed;
}

/* A device that the sampler has no use for would be waited for in vain. */
static void say_device(const sgfs_run *run) {
    const sgfsi_context *ctx = &run->model->ctx;
    const sgfs_sampler_kind *sampler = run->plan.kinds.sampler;
    const sgfsi_log *log = sgfsi_config_log(run->cfg);
    bool passes = run->model->kept != NULL || run->model->far_rows != NULL;
    if (ctx->device == ctx->near || !sampler->full_data || (passes && !sampler->few_rows)) return;
    if (passes)
        sgfsi_say(
            log, SGFS_NOTE,
            "Sampler %.60s: --device %s makes the passes over all rows, and the processor the "
            "draws (docs/gpu.md).",
            run->plan.kinds.name, ctx->device->name);
    else
        sgfsi_say(log, SGFS_NOTE,
                  "Sampler %.60s looks at rows beyond minibatches, which the processor does: "
                  "--device %s can do nothing for it (docs/gpu.md).",
                  run->plan.kinds.name, ctx->device->name);
}

/* A plan and its chains; a sampler of no use is given up once. */
static sgfs_status set_up(sgfs_run *run, sgfs_err *err) {
    sgfs_err own;
    sgfsi_setback why;
    sgfsi_plan *plan = &run->plan;
    if (err == NULL) err = &own;
    sgfs_status status = sgfsi_plan_make(plan, run->model, run->cfg, NULL, &run->choice, err);
    if (status == SGFS_OK) status = open_chains(run, err);
    if (is_of_no_use(run, status, err, &why)) {
        close_chains(run);
        status = sgfsi_plan_make(plan, run->model, run->cfg, &why, &run->choice, err);
        if (status == SGFS_OK) status = open_chains(run, err);
    }
    if (status != SGFS_OK) return status;
    say_device(run);
    run->config = sgfsi_run_config(run);
    run->given = sgfsi_run_given(run);
    /* A step that is found while opening says how long its chain remembers: 100 times that, in each
     * of the chains, is where draws of our own choice begin. */
    double wanted = 100 * sgfsi_json_get_num(run->chain[0].sampler.report, "tau_predicted", 0);
    if (sgfsi_config_auto(run->cfg, "run.draws") && wanted > (double)plan->draws)
        plan->draws = (int64_t)ceil(fmin(wanted, 1e12) / (double)plan->thin) * plan->thin;
    run->planned = plan->draws;
    run->describe = sgfsi_run_describe(run);
    sgfsi_json *header = sgfsi_run_header(run, err);
    run->out.memory = header != NULL ? sgfsi_draws_new(header, err) : NULL;
    if (run->describe == NULL) return sgfsi_fail_memory(err, "the run");
    return run->out.memory != NULL ? SGFS_OK : sgfsi_why(err);
}

sgfs_run *sgfsi_run_open(const sgfs_model *model, const sgfs_config *cfg, const sgfsi_kinds *kinds,
                         sgfs_err *err) {
    sgfs_run *run = calloc(1, sizeof *run);
    if (run != NULL) run->cfg = sgfsi_config_copy(cfg);
    if (run == NULL || run->cfg == NULL) {
        sgfs_run_free(run);
        sgfsi_fail_memory(err, "the run");
        return NULL;
    }
    run->model = model;
    run->stop.wider = &sgfsi_config_log(run->cfg)->watcher->stop;
    run->plan.stop = &run->stop;
    if (kinds != NULL) run->plan.kinds = *kinds;
    sgfsi_scope scope = sgfsi_context_enter(&model->ctx);
    sgfs_status status = set_up(run, err);
    sgfsi_context_leave(scope);
    if (status == SGFS_OK) return run;
    sgfs_run_free(run);
    return NULL;
}

sgfs_status sgfsi_run_validate(sgfs_run *run, sgfsi_validation_rows validation, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    run->validation = validation;
    for (int64_t c = 0; c < run->plan.chains && status == SGFS_OK; c++)
        status = sgfsi_chain_validate(&run->chain[c], &run->validation, err);
    return status;
}

sgfs_status sgfs_run_attach(sgfs_run *run, const char *path, sgfs_err *err) {
    if (run == NULL) return sgfsi_fail_handle(err, "sgfs_run_attach");
    if (path == NULL || run->closed || run->out.file != NULL || run->chain[0].t > 0) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "sgfs_run_attach: attach one file, before the first step.");
    }
    sgfs_err own = {SGFS_OK, ""};
    if (err == NULL) err = &own;
    if (run->model->ctx.comm->rank == 0) {
        bool overwrite = sgfsi_config_flag(run->cfg, "output.overwrite");
        sgfsi_json *header = sgfsi_run_header(run, err);
        if (header != NULL) run->out.file = sgfsi_runfile_create(path, overwrite, header, err);
        sgfsi_json_free(header);
        run->filed = run->out.file != NULL;
        run->path = run->filed ? strdup(path) : NULL;
        if (run->filed && run->path == NULL) sgfsi_fail_memory(err, "the run's name");
    }
    bool failed = run->model->ctx.comm->rank == 0 && run->path == NULL;
    return sgfsi_comm_agree(run->model->ctx.comm, failed ? sgfsi_why(err) : SGFS_OK, err);
}

void sgfs_run_free(sgfs_run *run) {
    if (run == NULL) return;
    if (run->out.file != NULL) (void)sgfsi_runfile_close(run->out.file, NULL);
    close_chains(run);
    free(run->path);
    free(run->watch.seen);
    sgfsi_plan_free(&run->plan);
    if (run->validation.free != NULL) run->validation.free(run->validation.owner);
    free(run->describe);
    sgfsi_json_free(run->config);
    sgfsi_json_free(run->given);
    sgfs_draws_free(run->out.memory);
    sgfs_config_free(run->cfg);
    free(run);
}

/* ---- moving ---------------------------------------------------------------------------------- */

static int64_t total_of(const sgfs_run *run) {
    return run->plan.warmup + run->plan.draws;
}

bool sgfsi_run_is_stopping(const sgfs_run *run) {
    return run->ended || (sgfsi_run_to_stop(run) && run->model->ctx.comm->size == 1);
}

/* Do all chains move in lock-step? */
static bool is_together(const sgfs_run *run) {
    return run->plan.kinds.sampler->step_together != NULL;
}

static void take_time(sgfsi_chain *w, bool warmup) {
    double now = sgfsi_now();
    *(warmup ? &w->warmup_seconds : &w->sample_seconds) += now - w->since - w->validating;
    w->since = now;
    w->validating = 0;
}

/* A stretch of one chain, on one thread, or of `count` chains that walk together: to the goal, or
 * as far as the device has gone ahead. */
static void move_chains(sgfs_run *run, sgfsi_chain *w, int64_t count) {
    int64_t end = sgfsi_chain_reach(w);
    bool warmup = w->t < run->plan.warmup, fine = true;
    double faults = sgfsi_pages_faults();
    for (int64_t c = 0; c < count; c++) {
        w[c].since = sgfsi_now();
        w[c].validating = 0;
        fine = fine && w[c].status == SGFS_OK;
    }
    while (w->t < end && fine && (sgfsi_ahead_waits(&w->sampler) || !sgfsi_run_is_stopping(run))) {
        fine = sgfsi_chain_step(w, count, &run->out);
        if (!warmup || w->t < run->plan.warmup) continue;
        for (int64_t c = 0; c < count; c++) take_time(&w[c], true);
        warmup = false;
    }
    for (int64_t c = 0; c < count; c++) {
        take_time(&w[c], warmup);
        if (w[c].status == SGFS_OK) w[c].status = sgfsi_chain_flush(&w[c], &run->out, &w[c].err);
    }
    sgfsi_device_wait(run->model->ctx.device); /* another thread may go on with them */
    w->faults += sgfsi_pages_faults() - faults;
}

sgfs_status sgfs_run_step(sgfs_run *run, int64_t iterations, sgfs_err *err) {
    if (run == NULL) return sgfsi_fail_handle(err, "sgfs_run_step");
    if (run->closed) return sgfsi_fail(err, SGFS_EUSAGE, "The run is closed: no further steps.");
    int64_t chains = run->plan.chains, side = is_together(run) ? chains : 1;
    double before = sgfsi_now();
    sgfsi_run_set_goals(run, iterations);
    sgfsi_scope scope = sgfsi_context_enter(&run->model->ctx);
    do {
        sgfsi_run_go_ahead(run);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)run->plan.threads)
        for (int64_t c = 0; c < chains; c += side) move_chains(run, &run->chain[c], side);
    } while (sgfsi_run_is_ahead(run) && !sgfsi_run_is_stopping(run));
    sgfsi_context_leave(scope);
    run->seconds += sgfsi_now() - before;
    for (int64_t c = 0; c < chains; c++) {
        if (run->chain[c].status == SGFS_OK) continue;
        if (err != NULL) *err = run->chain[c].err;
        return run->chain[c].status;
    }
    return SGFS_OK;
}

bool sgfs_run_done(const sgfs_run *run) {
    if (run == NULL) return true;
    for (int64_t c = 0; c < run->plan.chains; c++) {
        if (run->chain[c].t < total_of(run)) return false;
    }
    return !run->undecided;
}

sgfs_status sgfsi_run_flush(sgfs_run *run, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int64_t c = 0; c < run->plan.chains && status == SGFS_OK; c++) {
        status = sgfsi_chain_flush(&run->chain[c], &run->out, err);
    }
    return status;
}

void sgfsi_run_take_draws(sgfs_run *run,
                          void (*take)(void *user, int64_t chain, int64_t draws,
                                       const double *theta),
                          void *user) {
    for (int64_t c = 0; c < run->plan.chains; c++) {
        sgfsi_chain_draws *kept = &run->out.memory->chain[c];
        take(user, c, kept->draws, kept->theta);
        kept->draws = 0;
    }
}

/* ---- the whole run --------------------------------------------------------------------------- */

static void report(const sgfs_run *run) {
    const sgfsi_watcher *watcher = sgfsi_config_log(run->cfg)->watcher;
    if (watcher->on_progress == NULL) return;
    sgfs_progress p = {.what = "sampling",
                       .total = total_of(run) * run->plan.chains,
                       .seconds = run->seconds,
                       .eta = -1,
                       .error = run->validation.model != NULL ? 0 : NAN};
    double ess = 0;
    for (int64_t c = 0; c < run->plan.chains; c++) {
        p.done += run->chain[c].t;
        if (run->chain[c].t < run->plan.warmup) p.what = "warm-up";
        ess += sgfsi_chain_moments_ess(&run->chain[c].moments);
        if (run->validation.model != NULL) /* NaN as long as one chain has none */
            p.error += run->chain[c].validator->error / (double)run->plan.chains;
    }
    /* One clock: the wall's, of this process; what was done before a run was taken up again took
     * another one's. The first iterations may make what the next hundreds use. */
    int64_t sampled = p.done - run->plan.warmup * run->plan.chains;
    p.fraction = (double)p.done / (double)p.total;
    if (p.seconds > 0) p.iterations_per_s = (double)(p.done - run->before) / p.seconds;
    bool known = p.done - run->before >= run->plan.kinds.sampler->together * run->plan.chains;
    if (known && p.seconds > 0.5) p.eta = (double)(p.total - p.done) / p.iterations_per_s;
    if (sampled > 0) p.ess_per_s = ess / (double)sampled * p.iterations_per_s;
    char detail[200];
    int used = snprintf(detail, sizeof detail, "%lld/%lld iterations, %.3g/s", (long long)p.done,
                        (long long)p.total, p.iterations_per_s);
    size_t n = (size_t)used;
    if (p.ess_per_s > 0)
        n += (size_t)snprintf(detail + n, sizeof detail - n, ", %.3g ESS/s", p.ess_per_s);
    if (isfinite(p.error)) snprintf(detail + n, sizeof detail - n, ", error %.3g", p.error);
    p.detail = detail;
    watcher->on_progress(&p, watcher->user);
}

/* Where all chains stand, as a number: processes that compute otherwise are found out. */
static uint64_t place_of(const sgfs_run *run) {
    uint64_t number = 14695981039346656037u;
    for (int64_t c = 0; c < run->plan.chains; c++) {
        const sgfsi_chain *w = &run->chain[c];
        for (int64_t j = 0; j < w->D; j++) {
            uint64_t bits;
            memcpy(&bits, &w->theta[j], sizeof bits);
            number = (number ^ bits) * 1099511628211u;
            number ^= number >> 32;
        }
        number += (uint64_t)w->t;
    }
    return number | 1;
}

sgfs_status sgfs_run_all(sgfs_run *run, sgfs_err *err) {
    if (run == NULL) return sgfsi_fail_handle(err, "sgfs_run_all");
    if (sgfsi_config_flag(run->cfg, "run.dry_run")) return sgfsi_run_rehearse(run, err);
    const sgfsi_comm *comm = run->model->ctx.comm;
    int64_t stretch = 1; /* an iteration may be a microsecond or a minute */
    sgfs_status status = SGFS_OK;
    run->undecided = false;
    if (sgfs_run_done(run) && !run->closed) status = sgfsi_run_lengthen(run, err); /* taken up */
    while (!sgfs_run_done(run) && status == SGFS_OK) {
        double before = run->seconds;
        status = sgfs_run_step(run, stretch, err);
        if (status == SGFS_OK) status = sgfsi_run_keep(run, err);
        report(run);
        if (run->seconds >= run->plan.max_time && comm->rank == 0) sgfsi_stop_ask(&run->stop);
        bool wanted = sgfsi_run_to_stop(run);
        if (status == SGFS_OK && wanted && !sgfs_run_done(run)) {
            bool none = run->chain[0].written + run->chain[0].waiting == 0;
            status = sgfsi_fail(err, SGFS_ESTOPPED, "Stopped early at iteration %lld of %lld%s.",
                                (long long)run->chain[0].t, (long long)total_of(run),
                                none ? ", before the first draw" : "; every draw so far is kept");
        }
        bool fine = status == SGFS_OK;
        status = sgfsi_comm_agree_on(comm, status, place_of(run), err);
        /* another process cannot trust its rows, and nobody knows since when */
        if (fine && status == SGFS_EIO && err != NULL) run->spoiled = *err;
        run->ended = status != SGFS_OK;
        if (status == SGFS_OK)
            status = sgfsi_clock_stretch(comm, &stretch, run->seconds - before, INFINITY, err);
        if (status == SGFS_OK && sgfs_run_done(run)) status = sgfsi_run_lengthen(run, err);
    }
    return status;
}

sgfs_draws *sgfs_run_draws(const sgfs_run *run, sgfs_err *err) {
    if (run == NULL) return sgfsi_fail_handle(err, "sgfs_run_draws"), NULL;
    if (run->filed) {
        sgfsi_fail(err, SGFS_EUSAGE,
                   "The draws of this run are in its file: open that with "
                   "sgfs_draws_open.");
        return NULL;
    }
    return sgfsi_draws_copy(run->out.memory, err);
}

const double *sgfs_run_theta(const sgfs_run *run, int64_t chain) {
    return run != NULL && chain >= 0 && chain < run->plan.chains ? run->chain[chain].user : NULL;
}

const char *sgfs_run_describe(const sgfs_run *run) {
    return run != NULL ? run->describe : "";
}
