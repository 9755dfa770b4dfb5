/* SPDX-License-Identifier: MIT
 * lengthen.c: after the planned draws, looks whether there are enough effective ones, and if not
 * doubles their number; at most until the run is 16 times as long as planned.
 *
 * What is looked at is what `sgfs summary` will show: the smallest of the bulk and tail ESS of the
 * kept draws of all chains together (rank-normalised, split chains; diagnostics/ess.c), so that
 * chains which disagree count as few draws, and the largest R-hat, which also sees a chain that
 * alone has found a tail. Thinned draws have at most the ESS of all iterations: a
 * run may become a little longer than it must, never shorter. The estimate has a standard error of
 * its own, and stopping when it first reaches the target favours a lucky one: with doublings there
 * are at most five looks, the target is exceeded on average, and means and variances are not
 * selected by it to first order.
 *
 * Thinning stays: twice the iterations are twice the kept draws. The draws alone decide, so that
 * the length is the same for any number of threads.
 */
#include "chain/lengthen.h"

#include <math.h>
#include <stdio.h>

#include "diagnostics/ess.h"
#include "diagnostics/trust.h"

typedef struct measured {
    double ess, rhat;
} measured;

typedef struct look {
    const sgfs_run *run;
    measured *of; /* D */
} look;

static void measure(void *user, int64_t i, sgfsi_trace *t) {
    const look *l = user;
    l->of[i] = (measured){NAN, NAN};
    if (sgfsi_run_to_stop(l->run)) return; /* may take seconds, and would be of no use */
    double bulk = sgfsi_ess_bulk(t), tail = sgfsi_ess_tail(t);
    l->of[i] = (measured){fmin(bulk, tail), sgfsi_rhat(t)}; /* fmin passes over NaN */
}

/* NaN: no draws are kept, or parameters never move. */
static sgfs_status find_worst(const sgfs_run *run, measured *worst, sgfs_err *err) {
    sgfs_err why = {0};
    sgfs_draws *read = run->out.file != NULL ? sgfsi_runfile_read(run->path, &why) : NULL;
    const sgfs_draws *draws = run->out.file != NULL ? read : run->out.memory;
    if (draws == NULL) return sgfsi_fail_hard(&why, err);
    sgfsi_arena arena = {NULL};
    sgfsi_used used;
    measured *of = sgfsi_arena_alloc(&arena, draws->D, sizeof *of);
    sgfs_status status = of != NULL ? sgfsi_used_of(draws, &arena, &used, &why)
                                    : sgfsi_fail_memory(&why, "the length of the run");
    look all = {.run = run, .of = of};
    if (status == SGFS_OK &&
        !sgfsi_trace_each(draws, &used, run->model->ctx.threads, measure, &all))
        status = sgfsi_fail_memory(&why, "the length of the run");
    for (int64_t i = 0; status == SGFS_OK && i < draws->D; i++)
        *worst = (measured){fmin(worst->ess, of[i].ess), fmax(worst->rhat, of[i].rhat)};
    sgfsi_arena_free(&arena);
    sgfs_draws_free(read);
    return status == SGFS_EDATA ? SGFS_OK : status == SGFS_OK ? status : sgfsi_fail_hard(&why, err);
}

sgfs_status sgfsi_run_lengthen(sgfs_run *run, sgfs_err *err) {
    if (!(run->plan.ess > 0)) return SGFS_OK;
    sgfs_status status = sgfsi_run_flush(run, err);
    const sgfsi_comm *comm = run->model->ctx.comm;
    measured worst = {NAN, NAN};
    if (comm->rank == 0 && status == SGFS_OK && !sgfsi_run_to_stop(run))
        status = find_worst(run, &worst, err);
    if (sgfsi_run_to_stop(run) && status == SGFS_OK)
        status = sgfsi_fail(err, SGFS_ESTOPPED,
                            "Stopped after %lld draws a chain, before it was known whether they "
                            "are enough; all of them are kept.",
                            (long long)run->plan.draws);
    status = sgfsi_comm_broadcast(comm, status, sizeof worst, &worst, err);
    run->undecided = status == SGFS_ESTOPPED;
    run->ended |= run->undecided;
    /* who asked for fewer effective draws asked for chains that agree less */
    bool apart = run->plan.ess >= SGFSI_ESS_ENOUGH && worst.rhat > SGFSI_RHAT_CARE;
    if (status != SGFS_OK || !(worst.ess < run->plan.ess || apart)) return status;
    bool further = run->plan.draws < SGFSI_MOST_LENGTHS * run->planned;
    const sgfsi_log *log = sgfsi_config_log(run->cfg);
    long long draws = run->plan.draws;
    if (!further) {
        sgfsi_say(log, SGFS_NOTE,
                  "The smallest effective sample size is %.0f of %.4g, and the largest R-hat %.3f, "
                  "after %lld draws a chain, %d times what was planned: the run ends here. --draws "
                  "gives it more.",
                  worst.ess, run->plan.ess, worst.rhat, draws, SGFSI_MOST_LENGTHS);
        return SGFS_OK;
    }
    char rhat[40] = "";
    if (apart) snprintf(rhat, sizeof rhat, ", R-hat is %.3f", worst.rhat);
    sgfsi_say(
        log, SGFS_NOTE,
        "After %lld draws a chain the smallest effective sample size is %.0f of %.4g%s: going "
        "on to %lld.",
        draws, worst.ess, run->plan.ess, rhat, 2 * draws);
    run->plan.draws *= 2;
    return SGFS_OK;
}
