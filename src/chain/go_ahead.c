/* SPDX-License-Identifier: MIT
 * go_ahead.c: iterations ahead of all chains of a run (go_ahead.h).
 */
#include "chain/go_ahead.h"

#include <stdlib.h>

#include "base/ticker.h"
#include "sampler/ahead.h"

sgfs_status sgfsi_run_open_ahead(sgfs_run *run, sgfs_err *err) {
    if (run->chain[0].sampler.ahead == NULL) return SGFS_OK;
    run->ahead = calloc((size_t)run->plan.chains, sizeof(sgfs_sampler *));
    run->walks = calloc((size_t)run->plan.chains, sizeof *run->walks);
    bool made = run->ahead != NULL && run->walks != NULL;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the chains");
}

void sgfsi_run_close_ahead(sgfs_run *run) {
    free(run->ahead);
    free(run->walks);
    run->ahead = NULL;
    run->walks = NULL;
}

sgfs_iteration sgfsi_chain_next(const sgfsi_chain *w) {
    const sgfsi_plan *plan = w->plan;
    sgfs_iteration now = {.t = w->t + 1, .warmup = plan->warmup, .draws = plan->draws};
    now.want_lp = now.t > plan->warmup && (now.t - plan->warmup) % plan->thin == 0;
    return now;
}

void sgfsi_run_set_goals(sgfs_run *run, int64_t iterations) {
    for (int64_t c = 0; c < run->plan.chains; c++) {
        sgfsi_chain *w = &run->chain[c];
        int64_t left = run->plan.warmup + run->plan.draws - w->t;
        w->goal = w->t + (iterations < left ? iterations : left);
    }
}

int64_t sgfsi_chain_reach(const sgfsi_chain *w) {
    if (w->sampler.ahead == NULL) return w->goal;
    int64_t reach = w->t + sgfsi_ahead_reach(&w->sampler);
    return reach < w->goal ? reach : w->goal;
}

void sgfsi_run_go_ahead(sgfs_run *run) {
    if (run->ahead == NULL) return;
    double before = sgfsi_now();
    int64_t walking = 0;
    for (int64_t c = 0; c < run->plan.chains; c++) {
        sgfsi_chain *w = &run->chain[c];
        if (w->status != SGFS_OK || w->t >= w->goal) continue;
        sgfsi_ahead_plan(&w->sampler, sgfsi_chain_next(w), run->plan.thin, w->goal - w->t);
        run->ahead[walking++] = &w->sampler;
    }
    sgfsi_ahead_make(run->ahead, walking, run->walks);
    double each = (sgfsi_now() - before) / (double)(walking > 0 ? walking : 1);
    for (int64_t c = 0; c < run->plan.chains; c++) {
        sgfsi_chain *w = &run->chain[c];
        if (w->status != SGFS_OK || w->t >= w->goal) continue;
        *(w->t < run->plan.warmup ? &w->warmup_seconds : &w->sample_seconds) += each;
    }
}

bool sgfsi_run_is_ahead(const sgfs_run *run) {
    for (int64_t c = 0; run->ahead != NULL && c < run->plan.chains; c++)
        if (run->chain[c].status == SGFS_OK && run->chain[c].t < run->chain[c].goal) return true;
    return false;
}
