/* SPDX-License-Identifier: MIT
 * finish.c: the end of a run: what is still buffered, every chain's moments and costs, the check of
 * the spread, and the last block of its file.
 *
 * A complete run's file is put in order (sink/runstate.c). One that was stopped or that failed
 * stays a log with a state in it, to be taken up again.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/scratch.h"
#include "chain/dispersion.h"
#include "chain/resume.h"
#include "chain/spread_check.h"
#include "chain/state.h"
#include "sink/runblock.h"

static const char *state_of(sgfs_run *run, char room[600]) {
    if (run->spoiled.code != SGFS_OK) {
        snprintf(room, 600, "failed: %s", run->spoiled.text);
        return room;
    }
    for (int64_t c = 0; c < run->plan.chains; c++) {
        if (run->chain[c].status == SGFS_OK) continue;
        snprintf(room, 600, "failed: %s", run->chain[c].err.text);
        return room;
    }
    return sgfs_run_done(run) ? "complete" : "stopped early";
}

/* Samplers that are made of the curvature, or that touch few rows, would learn nothing from it. */
static bool is_spread_checked(const sgfs_run *run) {
    const sgfs_sampler_kind *kind = run->plan.kinds.sampler;
    return !kind->from_curvature && !kind->few_rows && !kind->groups;
}

/* What is looked at once more where the draws have their mean, over all chains, if there is one:
 * the spread that the curvature predicts (sd: room for D), and how counts vary. */
static sgfsi_at_mean look_at_mean(const sgfs_run *run, double *sd, sgfs_err *why) {
    int64_t D = run->model->D, chains = run->plan.chains;
    double *mean = calloc((size_t)D, sizeof *mean);
    if (mean == NULL) sgfsi_fail_memory(why, "the curvature");
    bool sampled = mean != NULL;
    for (int64_t c = 0; sampled && c < chains; c++) {
        const sgfsi_chain *w = &run->chain[c];
        sampled = w->status == SGFS_OK && w->meant > 0;
        for (int64_t j = 0; j < D; j++) mean[j] += w->mean[j] / (double)chains;
    }
    bool predicted =
        sampled && is_spread_checked(run) && sgfsi_curvature_sd(run->model, mean, sd, why);
    sgfsi_at_mean found = {predicted ? sd : NULL, 0};
    if (sampled && why->code == SGFS_OK)
        (void)sgfsi_dispersion_tell(run->model, mean, &found.dispersion, why);
    free(mean);
    return found;
}

/* What is still buffered; then every chain's moments and costs. Whoever stopped early wants an
 * end, not another pass over the data. */
static sgfs_status hand_over(sgfs_run *run, sgfs_err *err) {
    sgfs_status status = sgfsi_run_flush(run, err);
    double *sd = calloc((size_t)run->model->D, sizeof *sd);
    sgfs_err why = {SGFS_OK, ""};
    if (sd == NULL) sgfsi_fail_memory(&why, "the curvature");
    bool whole = status == SGFS_OK && sd != NULL && sgfs_run_done(run);
    sgfsi_at_mean found = {NULL, 0};
    if (whole) found = look_at_mean(run, sd, &why);
    if (status == SGFS_OK) status = sgfsi_fail_hard(&why, err);
    for (int64_t c = 0; c < run->plan.chains && status == SGFS_OK; c++) {
        status = sgfsi_chain_report(&run->chain[c], &run->out, &found, err);
    }
    free(sd);
    return status;
}

/* What a later process needs: of a complete run a file in order, with the state in it; where that
 * cannot be (unsettled says why), and for others, the state in the file as it is. */
static sgfs_status keep_state(sgfs_run *run, sgfs_err *unsettled, sgfs_err *err) {
    size_t bytes;
    sgfs_err why = {SGFS_OK, ""};
    if (!sgfsi_run_has_state(run)) return SGFS_OK;
    bool rehearsed = sgfsi_config_flag(run->cfg, "run.dry_run"); /* its file has no name */
    if (!sgfs_run_done(run) || rehearsed) return sgfsi_run_save(run, err);
    void *state = sgfsi_state_save(run, &bytes, err);
    if (state == NULL) return err != NULL ? err->code : SGFS_ENOMEM;
    sgfs_status status = sgfsi_runfile_settle(run->out.file, NULL, state, bytes, false, &why);
    free(state);
    if (status == SGFS_OK) return SGFS_OK;
    sgfsi_fail(unsettled, status, "%.300s The run is complete; --resume puts its file in order.",
               why.text);
    return sgfsi_run_save(run, err);
}

/* Draws of effects to where the run's draws are. */
static sgfs_status keep_draws(sgfs_run *run, const sgfs_sampler *const *chain, sgfs_err *err) {
    const sgfs_sampler_kind *kind = run->plan.kinds.sampler;
    sgfs_kept_effects kept = {0};
    bool made = kind->kept_effects == NULL || kind->kept_effects(chain, run->plan.chains, &kept);
    sgfs_status status = made ? SGFS_OK : sgfsi_fail_memory(err, "the effects of groups");
    if (made && run->out.file == NULL) {
        sgfsi_kept_effects_free(&run->out.memory->effect_draws);
        run->out.memory->effect_draws = kept;
        return SGFS_OK;
    }
    if (made && kept.count > 0) status = sgfsi_runfile_kept(run->out.file, &kept, err);
    sgfsi_kept_effects_free(&kept);
    return status;
}

/* What the chains found besides draws: notes in front of the end of the file, so that a file which
 * has an end has all of it. */
static sgfs_status keep_effects(sgfs_run *run, sgfs_err *err) {
    const sgfs_sampler_kind *kind = run->plan.kinds.sampler;
    if (kind->effects == NULL || run->model->ctx.comm->rank > 0) return SGFS_OK;
    const sgfs_sampler **chain = calloc((size_t)run->plan.chains, sizeof *chain);
    if (chain == NULL) return sgfsi_fail_memory(err, "the effects of groups");
    for (int64_t c = 0; c < run->plan.chains; c++) chain[c] = &run->chain[c].sampler;
    sgfsi_json *found = NULL;
    char *text = NULL;
    sgfs_status status = kind->effects(chain, run->plan.chains, &found, err);
    if (found != NULL && sgfsi_json_whole(found)) text = sgfsi_json_dump(found, false);
    if (found != NULL && text == NULL) status = sgfsi_fail_memory(err, "the effects of groups");
    sgfsi_json_free(found);
    if (text != NULL && run->out.file == NULL) {
        free(run->out.memory->effects);
        run->out.memory->effects = text;
    } else if (text != NULL) {
        status = sgfsi_runfile_effects(run->out.file, text, err);
        free(text);
    }
    if (status == SGFS_OK) status = keep_draws(run, chain, err);
    free(chain);
    return status;
}

/* Of several processes, what this one had to send. */
static void tell_traffic(const sgfs_run *run) {
    const sgfsi_comm *comm = run->model->ctx.comm;
    const sgfsi_traffic sent = sgfsi_comm_traffic(comm);
    char bytes[24];
    double kept = 0;
    for (int64_t c = 0; c < run->plan.chains; c++) kept += (double)run->chain[c].written;
    if (comm->size == 1) return;
    sgfsi_say(sgfsi_config_log(run->cfg), SGFS_DETAIL,
              "Rank %lld of %lld has sent %s in %s meetings: %.3g bytes for each of %s draws kept.",
              (long long)comm->rank, (long long)comm->size,
              sgfsi_format_bytes((double)sent.bytes, bytes), SGFSI_COMMAS((double)sent.meetings),
              (double)sent.bytes / fmax(kept, 1), SGFSI_COMMAS(kept));
}

sgfs_status sgfs_run_close(sgfs_run *run, sgfs_err *err) {
    char room[600];
    sgfs_err unsettled = {SGFS_OK, ""};
    if (run == NULL) return sgfsi_fail_handle(err, "sgfs_run_close");
    if (run->closed) return SGFS_OK;
    run->closed = true;
    /* All draws are there, but who stops now does not wait for the last pass over the rows: it is
     * for whoever takes the run up. */
    bool hurried = sgfsi_run_is_stopping(run) && sgfs_run_done(run) && is_spread_checked(run);
    run->undecided |= hurried;
    sgfs_status looked = SGFS_OK; /* the last look before the last state */
    if (run->out.file != NULL && run->spoiled.code == SGFS_OK)
        looked = sgfsi_run_look(run, true, err);
    bool spoiled = run->spoiled.code != SGFS_OK && run->out.file != NULL;
    sgfs_status status = spoiled                 ? sgfsi_runfile_back(run->out.file, err)
                         : run->out.file != NULL ? keep_state(run, &unsettled, err)
                                                 : SGFS_OK;
    sgfsi_scope scope = sgfsi_context_enter(&run->model->ctx);
    if (status == SGFS_OK && !spoiled) status = hand_over(run, err);
    sgfsi_context_leave(scope);
    tell_traffic(run);
    if (run->out.file == NULL && status == SGFS_OK) {
        char *state = strdup(state_of(run, room));
        if (state == NULL) return sgfsi_fail_memory(err, "the run");
        free(run->out.memory->state);
        run->out.memory->state = state;
    }
    if (status == SGFS_OK && looked == SGFS_OK && hurried)
        looked = sgfsi_fail(err, SGFS_ESTOPPED,
                            "Stopped before the spread of the draws was checked; all of them are "
                            "kept.");
    if (status == SGFS_OK) status = keep_effects(run, err);
    if (run->out.file == NULL) return status == SGFS_OK ? looked : status;
    if (status == SGFS_OK) status = sgfsi_runfile_end(run->out.file, state_of(run, room), err);
    sgfs_status closed = sgfsi_runfile_close(run->out.file, status == SGFS_OK ? err : NULL);
    run->out.file = NULL;
    if (status == SGFS_OK) status = closed;
    if (status == SGFS_OK && unsettled.code != SGFS_OK && err != NULL) *err = unsettled;
    if (status == SGFS_OK) status = unsettled.code;
    return status != SGFS_OK ? status : looked;
}
