/* SPDX-License-Identifier: MIT
 * audit.c: how far a run's sampler is from the posterior: which chains are run, and how long.
 *
 *     sgfs-cv at step h   chains at h, h/2 and h/4 and, where the model allows it, exact ones
 *     other samplers      the run's own draws against exact ones, or against sgfs-cv at h -> 0
 *     exact, nuts, hmc    nothing to measure (unless "audit.against_reference")
 *
 * Notation: f(h) the mean or the log sd of a parameter under the law in which the chain with step h
 * ends up, f(0) the posterior's. The step of sgfs-cv is exact on a Gaussian for every h, and the
 * rest of its error has an expansion in h (it is a weak scheme of order 1):
 *
 *     f(h) = f(0) + c1 h + c2 h^2 + ...
 *     f(0) = 2 f(h/4) - f(h/2) + c2 h^2/8 + ...                   (extrapolated: audit_report.c)
 *     c2 h^2/8 = (2 f(h/4) - 3 f(h/2) + f(h))/3 + ...              (what that leaves: its doubt)
 *
 * Lengths: with tau(h) = (2 - h)/h iterations per independent draw, an estimate sum c_i f_i with
 * error p costs least when chain i has ESS (c_i / sqrt tau_i) (sum_k c_k sqrt tau_k) / p^2. An
 * extrapolation costs 16 times what a comparison with exact draws does, and is made half as good.
 *
 * --max-time: each kind of chains begins with its part of the time that is left: half of that is
 * dealt out evenly (each looks for its anchor and warms up), half by iterations, an exact one of
 * which counts three times (it may ask many rows). What exact chains cannot do in their part,
 * they do not do at all, and the rest of the time is the extrapolation's. Where there would be
 * nothing but exact chains, they have EXACT_PART of the time for that reason.
 */
#include "jobs/audit/audit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/ticker.h"
#include "context/clock.h"
#include "diagnostics/ess.h"
#include "diagnostics/moments.h"
#include "diagnostics/summary.h"
#include "sink/runblock.h"

static const sgfs_option options[] = {
    {"audit.precision", "precision", SGFS_NUMBER, "0.03", 1e-4, 0.2, NULL,
     "Monte Carlo error of a mean's bias in sd (twice that where it is extrapolated)"},
    {"audit.exact", "exact", SGFS_FLAG, "true", 1, 0, NULL,
     "compare with exact draws where the model allows them"},
    {"audit.against_reference", "against-reference", SGFS_FLAG, "false", 1, 0, NULL,
     "compare runs of exact, nuts and hmc with a reference as well"},
    {"predict.model", "model", SGFS_TEXT, "", 1, 0, NULL,
     "the shared object of a run made with a model of your own"},
    SGFSI_OPTIONS_END};

/* ---- opening --------------------------------------------------------------------------------- */

/* The step of a run whose bias vanishes with it: as given, or as its draws remember it. */
static double step_of_run(const sgfs_draws *d, const char *key) {
    double h = sgfsi_draws_option(d, key, NAN);
    for (int64_t s = 0; s < d->S && !isfinite(h); s++) {
        if (strcmp(d->stat[s], SGFSI_STAT_STEP_SIZE) != 0) continue;
        for (int64_t c = 0; c < d->chains; c++) {
            const sgfsi_chain_draws *chain = &d->chain[c];
            if (chain->draws > 0) h = chain->stats[(chain->draws - 1) * d->S + s];
        }
    }
    return h;
}

static sgfs_status choose_comparison(sgfsi_audit *a, sgfs_err *err) {
    const sgfsi_sampler_name *s =
        sgfsi_sampler_find(a->sampler = sgfsi_json_get_text(a->run->header, "sampler", ""));
    bool against = sgfsi_config_flag(a->job.cfg, "audit.against_reference");
    a->way = SGFSI_AUDIT_DRAWS;
    if (s != NULL && s->kind->exact && !against) a->way = SGFSI_AUDIT_NOTHING;
    if (s == NULL || s->kind->vanishing == NULL) return SGFS_OK;
    a->way = SGFSI_AUDIT_STEP;
    a->h = step_of_run(a->run, s->kind->vanishing);
    if (a->h > 0 && a->h < 2) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ERUNFILE, "%.200s: does not say with which step it was made.",
                      a->path);
}

static sgfs_status open_run(sgfsi_audit *a, const sgfs_model *model, const char *data,
                            sgfs_err *err) {
    a->run = sgfs_draws_open(a->path, err);
    if (a->run == NULL) return sgfsi_why(err);
    sgfs_status status = choose_comparison(a, err);
    if (status != SGFS_OK || a->way == SGFSI_AUDIT_NOTHING) return status;
    if (model == NULL)
        status =
            sgfsi_reopen_open(&a->reopened, a->run, sgfsi_config_text(a->job.cfg, "predict.model"),
                              data, a->job.cfg, err);
    else status = sgfsi_reopen_check(a->run, model, err);
    if (status != SGFS_OK) return status;
    a->model = model != NULL ? model : a->reopened.model;
    const char *why = sgfsi_anchor_refuses(a->model);
    if (why == NULL || a->model->kind->user != NULL) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "Model %.60s has no anchor (%.200s), and an audit needs one. Instead: sample "
                      "with --sampler nuts, then sgfs compare RUN --reference NUTS_RUN.",
                      a->model->kind->name, why);
}

sgfs_job *sgfs_audit_open(const char *run, const sgfs_model *model, const char *data,
                          const sgfs_config *cfg, sgfs_err *err) {
    sgfs_err own = {SGFS_OK, ""};
    if (err == NULL) err = &own;
    sgfsi_audit *a = sgfsi_job_new(&sgfsi_job_audit, sizeof *a, run != NULL ? cfg : NULL,
                                   "sgfs_audit_open: a run and a config are needed.", err);
    if (a == NULL) return NULL;
    a->h = NAN;
    a->limit = sgfsi_config_num(cfg, "run.max_time");
    a->path = sgfsi_arena_text(&a->job.arena, run);
    return sgfsi_job_opened(&a->job, a->path == NULL
                                         ? sgfsi_fail_memory(err, "the audit")
                                         : open_run(a, model, data != NULL ? data : "", err));
}

static void close_audit(sgfs_job *job) {
    sgfsi_audit *a = (sgfsi_audit *)job;
    sgfsi_reopen_close(&a->reopened);
    sgfs_draws_free(a->run);
}

/* ---- lengths --------------------------------------------------------------------------------- */

static double tau_of(double h) {
    return (2 - h) / h;
}

/* Errors that make the wanted difference known to p for the least work. */
static void share_error(sgfsi_audit *a, double p) {
    const double c[] = {a->way == SGFSI_AUDIT_STEP ? 1 : 0.5, 1, 2};
    double h = isfinite(a->h) ? a->h : 1, sum = 0;
    for (int i = 0; i < 3; i++) sum += c[i] * sqrt(tau_of(h / (1 << i)));
    for (int i = 0; i < 3; i++)
        a->reference[i].error = p * sqrt(sqrt(tau_of(h / (1 << i))) / (c[i] * sum));
}

/* Which reference chains there will be, for what, and how good: of the first sampler that is exact
 * and of the first one whose bias vanishes with its step, both from an anchor. */
static void plan(sgfsi_audit *a, bool exact) {
    const char *exactly = NULL, *by_step = NULL;
    for (const sgfsi_sampler_name *s = sgfsi_sampler_names; s->name != NULL; s++) {
        if (exactly == NULL && s->kind->exact && s->kind->anchored) exactly = s->name;
        if (by_step == NULL && s->kind->vanishing != NULL) by_step = s->name;
    }
    if (sgfsi_anchor_refuses(a->model) != NULL) exactly = "exact-pairs"; /* which needs none */
    double p = sgfsi_config_num(a->job.cfg, "audit.precision"), h = a->h;
    bool steps = a->way == SGFSI_AUDIT_STEP;
    share_error(a, 2 * p);
    for (int i = 0; i < 3; i++) {
        sgfsi_reference_chain *chain = &a->reference[i];
        chain->sampler = by_step;
        chain->h = h / (1 << i);
        if (exact) chain->error = i == 0 ? p / sqrt(2) : p;
    }
    a->reference[SGFSI_REFERENCE_EXACT] =
        (sgfsi_reference_chain){.sampler = exactly,
                                .h = NAN,
                                .error = steps ? p / sqrt(2) : p,
                                .rows = a->reference[SGFSI_REFERENCE_EXACT].rows};
    a->total = a->done;
    a->told = false;
    for (int i = 0; i < SGFSI_REFERENCES; i++) {
        bool used = i == SGFSI_REFERENCE_EXACT ? exact : steps || !exact;
        sgfsi_reference_chain fixed = a->reference[i];
        if (i < 3 && !isfinite(h)) fixed.h = 1.0 / (1 << i);
        a->reference[i].work = used ? sgfsi_reference_plan(&fixed) : 0;
        a->total += a->reference[i].work;
    }
}

/* ---- reference chains ------------------------------------------------------------------------ */

static const double EXACT_PART = 0.6;

/* Of the time that is left, reference i's. */
static double part_of(const sgfsi_audit *a, int i) {
    double weight[SGFSI_REFERENCES], all = 0, kinds = 0;
    if (i == SGFSI_REFERENCE_EXACT && a->way == SGFSI_AUDIT_DRAWS) return EXACT_PART;
    for (int k = 0; k < SGFSI_REFERENCES; k++) {
        weight[k] = sgfsi_reference_weight(a, k);
        if (a->reference[k].over || !(weight[k] > 0)) continue;
        all += weight[k];
        kinds++;
    }
    return (1 / kinds + weight[i] / all) / 2;
}

static sgfs_status run_chains(sgfsi_audit *a, int i, sgfs_err *err) {
    sgfsi_reference_chain *p = &a->reference[i];
    char number[SGFSI_NUM_CHARS] = "auto";
    if (isfinite(p->h)) sgfsi_format_digits(number, p->h, 3);
    if (i == SGFSI_REFERENCE_EXACT) snprintf(p->what, sizeof p->what, "exact draws");
    else snprintf(p->what, sizeof p->what, "draws at h = %s", number);
    double left = a->job.start + a->limit - sgfsi_now(); /* NaN: no limit */
    bool over;
    sgfs_status status = sgfsi_clock_is_over(a->model->ctx.comm, -left, 0, &over, err);
    if (status == SGFS_OK)
        status = over ? sgfsi_reference_too_short(a, p, err)
                      : sgfsi_reference_chain_run(a, p, sgfsi_now() + left * part_of(a, i), err);
    a->done += p->work;
    p->over = true;
    if (status == SGFS_OK || status == SGFS_ESTOPPED) return status;
    const sgfs_err cause = *err;
    return sgfsi_fail(err, status, "%s: %.400s", p->what, cause.text);
}

/* Refusals and divergence are reasons, all else ends the audit. */
static sgfs_status try_exact(sgfsi_audit *a, sgfs_err *err) {
    sgfs_err why = {SGFS_OK, ""};
    sgfs_status status = run_chains(a, SGFSI_REFERENCE_EXACT, &why);
    a->exact = status == SGFS_OK;
    if (a->exact) return SGFS_OK;
    if (status != SGFS_EUSAGE && status != SGFS_ENUMERIC)
        return sgfsi_fail(err, status, "%s", why.text);
    snprintf(a->not_exact, sizeof a->not_exact, "%.399s", why.text);
    plan(a, false);
    return SGFS_OK;
}

static sgfs_status run_steps(sgfsi_audit *a, sgfs_err *err) {
    sgfs_status status = run_chains(a, SGFSI_REFERENCE_H, err);
    double h = a->reference[SGFSI_REFERENCE_H].h;
    for (int i = 1; i < 3 && status == SGFS_OK; i++) {
        a->reference[i].h = h / (1 << i);
        status = run_chains(a, i, err);
    }
    if (status != SGFS_EUSAGE && status != SGFS_ENUMERIC) return status;
    const sgfs_err cause = *err;
    return sgfsi_fail(err, status,
                      "There is no reference for this posterior: %.300s Instead: sample with "
                      "--sampler nuts, then sgfs compare RUN --reference NUTS_RUN.",
                      cause.text);
}

/* ---- the run's own draws --------------------------------------------------------------------- */

static sgfs_status estimate_draws(sgfsi_audit *a, sgfsi_arena *work, sgfs_err *err) {
    const sgfs_draws *d = a->run;
    sgfsi_used used;
    sgfs_status status = sgfsi_used_of(d, work, &used, err);
    if (status != SGFS_OK) return status;
    sgfsi_trace *t = sgfsi_trace_new(work, used.chains, used.draws);
    double **square = sgfsi_arena_alloc(work, used.chains, sizeof *square);
    double *room = SGFSI_DOUBLES(work, used.chains * used.draws);
    sgfs_summary *s = sgfsi_summary_new(d, a->job.threads, err);
    if (s == NULL) return sgfsi_why(err);
    a->drawn = sgfsi_arena_alloc(&a->job.arena, d->D, sizeof *a->drawn);
    bool made = t != NULL && square != NULL && room != NULL && a->drawn != NULL;
    for (int64_t c = 0; made && c < used.chains; c++) square[c] = room + c * used.draws;
    for (int64_t j = 0; made && j < d->D; j++) {
        const sgfs_summary_row *row = &s->row[j];
        /* Relative error of the sd from the squares' own autocorrelations. */
        for (int64_t c = 0; c < used.chains; c++) {
            const double *theta = d->chain[used.chain[c]].theta + j;
            for (int64_t i = 0; i < used.draws; i++) {
                double x = theta[i * d->D] - row->mean;
                square[c][i] = x * x;
            }
        }
        sgfsi_trace_load(t, (const double *const *)square, 1);
        a->drawn[j] = (sgfsi_estimate){.mean = row->mean,
                                       .sd = row->sd,
                                       .mean_error = row->mcse,
                                       .sd_error = t->sd / (2 * t->mean * sqrt(sgfsi_ess_mean(t)))};
    }
    sgfsi_summary_free(s);
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the audit");
}

/* ---- all of it ------------------------------------------------------------------------------- */

static sgfs_status run_audit(sgfs_job *job, sgfs_err *err) {
    sgfsi_audit *a = (sgfsi_audit *)job;
    sgfs_status status = SGFS_OK;
    if (a->way == SGFSI_AUDIT_NOTHING) {
        status = sgfsi_audit_report_nothing(a, err);
    } else {
        sgfsi_arena work = {NULL};
        if (a->way == SGFSI_AUDIT_DRAWS) status = estimate_draws(a, &work, err);
        sgfsi_arena_free(&work);
        bool wanted = sgfsi_config_flag(job->cfg, "audit.exact");
        plan(a, wanted);
        if (!wanted) snprintf(a->not_exact, sizeof a->not_exact, "not asked for (--no-exact).");
        if (status == SGFS_OK && wanted) status = try_exact(a, err);
        if (status == SGFS_OK && (a->way == SGFSI_AUDIT_STEP || !a->exact))
            status = run_steps(a, err);
        if (status == SGFS_OK) status = sgfsi_audit_report(a, err);
    }
    a->report.seconds = sgfsi_job_seconds(job);
    if (status == SGFS_OK) job->result = &a->report;
    return status;
}

/* Into the run file, or a file of its own. */
static sgfs_status save(const sgfs_job *job, const char *path, sgfs_err *err) {
    const sgfsi_audit *a = (const sgfsi_audit *)job;
    if (path != NULL) return sgfsi_job_write(job, sgfsi_audit_json(job), path, err);
    if (!a->report.needed)
        return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_job_save: there is no result to save.");
    char *text = sgfs_job_json(job);
    if (text == NULL) return sgfsi_fail_memory(err, "the audit");
    sgfs_status status = sgfsi_runfile_note(a->path, SGFSI_NOTE_AUDIT, text, err);
    free(text);
    return status;
}

const sgfsi_job_kind sgfsi_job_audit = {.stage = "audit",
                                        .options = options,
                                        .doing = "auditing",
                                        .run = run_audit,
                                        .json = sgfsi_audit_json,
                                        .save = save,
                                        .close = close_audit};
