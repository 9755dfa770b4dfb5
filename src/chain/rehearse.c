/* SPDX-License-Identifier: MIT
 * rehearse.c: what a run will need: --dry-run.
 *
 * Nothing is predicted that can be measured. The rows are read and the chains opened as they will
 * be; chains move for two seconds; the curvature at the end is computed once, and the run closed
 * with all that it writes then, if a file is attached. The largest memory
 * that this took is what the run will take, since nothing is allocated inside its loop, and the
 * pace is the pace it will have. So there is no list of sizes beside the code that could fall
 * behind it. What is added are
 *
 *     pages of packed files that minibatches have not touched yet, as far as they stay resident
 *     all draws, which a summary reads when chains and rows are gone: it may need more than the run
 *
 * A run that cannot fit is refused where that shows: when a chain's matrices alone are too large,
 * before it is opened; and by the second chain, after which all others are known.
 */
#include "chain/rehearse.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/scratch.h"
#include "chain/spread_check.h"
#include "context/clock.h"
#include "rows/pages.h"

static const double enough = 2;     /* seconds of iterations */
static const double summary = 1.25; /* bytes of a summary for each byte of draws, by measurement */

static bool has_whole_matrix(const sgfsi_plan *p) {
    return p->kinds.fisher != NULL && p->kinds.fisher->whole;
}

static sgfs_status refuse(const sgfs_run *run, double needed, const char *at_least, sgfs_err *err) {
    char need[24], have[24];
    const sgfsi_plan *p = &run->plan;
    return sgfsi_fail(err, SGFS_ENOMEM,
                      "%s with %lld parameters and %lld chain%s needs %s %s of memory, and there "
                      "are %s: fewer --chains%s need less.",
                      p->kinds.name, (long long)run->model->D, (long long)p->chains,
                      p->chains == 1 ? "" : "s", at_least, sgfsi_format_bytes(needed, need),
                      sgfsi_format_bytes(sgfsi_memory(), have),
                      has_whole_matrix(p) ? ", or --sampler sgfs-d," : "");
}

sgfs_status sgfsi_rehearse_room(const sgfs_run *run, int64_t chain, double *used, sgfs_err *err) {
    const sgfsi_plan *p = &run->plan;
    const double D = (double)run->model->D, before = *used;
    *used = sgfsi_memory_used();
    /* The average, its sum, K and a factor; the scores of a batch. */
    bool known = has_whole_matrix(p) && p->kinds.fisher->factored;
    double least = known ? sizeof(double) * (4 * D * D + (double)p->n * D) : 0;
    double others = (double)(p->chains - chain);
    if (chain == 0 && least * others > sgfsi_memory())
        return refuse(run, least * others, "at least", err);
    double needed = *used + others * fmax(*used - before, 0);
    if (chain == 2 && needed > sgfsi_memory()) return refuse(run, needed, "about", err);
    return SGFS_OK;
}

/* What is resident when minibatches have touched as much of mapped files as stays so. */
static double with_pages(const sgfs_run *run, double iterations) {
    const sgfsi_plan *p = &run->plan;
    if (p->kinds.sampler->full_data) return 0;
    double rows = iterations * (double)p->n;
    return sgfsi_memory_used() + sgfsi_data_resident(run->model->data, rows);
}

sgfs_status sgfsi_run_rehearse(sgfs_run *run, sgfs_err *err) {
    const sgfsi_plan *p = &run->plan;
    const sgfs_sampler_kind *kind = p->kinds.sampler;
    int64_t stretch = 1;
    double pace = 0; /* seconds of an iteration of all chains, by the latest stretch, the longest */
    sgfs_status status = SGFS_OK;
    const sgfsi_comm *comm = run->model->ctx.comm;
    bool over = false;
    while (status == SGFS_OK && !sgfs_run_done(run) && !over) {
        double before = run->seconds;
        int64_t from = run->chain[0].t;
        if (kind->together > 0) stretch = kind->together - from % kind->together;
        status = sgfs_run_step(run, stretch, err);
        if (run->chain[0].t > from)
            pace = (run->seconds - before) / (double)(run->chain[0].t - from);
        if (status == SGFS_OK)
            status = sgfsi_clock_stretch(comm, &stretch, run->seconds - before,
                                         (double)(p->warmup + p->draws), err);
        if (status == SGFS_OK && sgfsi_run_to_stop(run))
            status = sgfsi_fail(err, SGFS_ESTOPPED, "Stopped early.");
        status = sgfsi_comm_agree(comm, status, err);
        if (status == SGFS_OK) status = sgfsi_clock_is_over(comm, run->seconds, enough, &over, err);
    }
    if (status != SGFS_OK) return status;
    double paged = with_pages(run, (double)p->chains * (double)(p->warmup + p->draws));
    double *sd = calloc((size_t)run->model->D, sizeof *sd);
    sgfs_err why = {SGFS_OK, ""};
    if (sd == NULL) return sgfsi_fail_memory(err, "the curvature");
    if (!kind->from_curvature && !kind->few_rows && !kind->groups)
        (void)sgfsi_curvature_sd(run->model, run->chain[0].theta, sd, &why);
    free(sd);
    if (why.code == SGFS_ENOMEM) return sgfsi_fail_hard(&why, err);
    status = sgfs_run_close(run, err); /* moments and the state of every chain go to the file */
    if (status != SGFS_OK) return status;
    double left = 0, done = 0;
    for (int64_t c = 0; c < p->chains; c++) {
        done += (double)run->chain[c].t;
        left += (double)(p->warmup + p->draws - run->chain[c].t);
    }
    double draws = (double)p->chains * (double)(p->draws / p->thin) *
                   (double)(run->chain[0].D + run->chain[0].S) * sizeof(double);
    double start = sgfsi_memory_mapped(); /* the program itself, when rows and chains are gone */
    sgfs_progress now = {.what = "dry run",
                         .detail = run->describe,
                         .fraction = done / fmax(1, done + left),
                         .done = (int64_t)done,
                         .total = (int64_t)(done + left),
                         .seconds = run->seconds,
                         .eta = done > 0 ? pace * left / (double)p->chains : -1,
                         .iterations_per_s = pace > 0 ? (double)p->chains / pace : 0,
                         .error = NAN,
                         .bytes_needed =
                             fmax(fmax(sgfsi_memory_peak(), paged), start + summary * draws),
                         .bytes_available = sgfsi_memory()};
    if (now.bytes_needed > now.bytes_available) return refuse(run, now.bytes_needed, "about", err);
    const sgfsi_watcher *watcher = sgfsi_config_log(run->cfg)->watcher;
    if (watcher->on_progress != NULL) watcher->on_progress(&now, watcher->user);
    return SGFS_OK;
}
