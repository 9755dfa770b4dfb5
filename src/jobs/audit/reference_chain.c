/* SPDX-License-Identifier: MIT
 * reference_chain.c: chains of one sampler at one step, run until the mean of every parameter is
 * known to a given part of its sd. Draws are looked at once (diagnostics/batchmeans.h) and not
 * kept.
 *
 * How long that takes is first taken from theory (tau = (2 - h)/h iterations per independent draw)
 * and then from the errors measured so far. Nothing here depends on the clock but --max-time, so
 * the same seed gives the same numbers. Errors by batch means need batches that are longer than
 * tau: fewer than LEAST_ESS independent draws are never taken for enough.
 *
 * With --max-time a reference has its share, from before its anchor is looked for, and looks at the
 * clock between stretches of iterations, warm-up's as well. Fewer than SAY_ESS effective draws by
 * then (of the slowest parameter), or fewer than SAY_BATCHES batches, say nothing: errors are
 * guesses then.
 *
 * Exact chains may turn out to ask many rows and to forget slowly. What the table
 * of rows says is looked at first; then they begin with a few draws, and are given up when these
 * say so.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/ticker.h"
#include "context/clock.h"
#include "jobs/audit/audit.h"

enum { LEAST_ESS = 2048, ROUNDS = 12, MOST_FACTOR = 100 };
enum {
    SAY_ESS = 200,
    SAY_BATCHES = 20,
    LEAST_DRAWS = 64 /* of a chain, unless the time is over */
};
/* Rows for each parameter that an effective exact draw may ask. Extrapolation over h needs about 30
 * times as many draws, of some 10 rows a parameter: where exact ones ask for ten times that in all,
 * they are not worth waiting for. */
static const double most_rows = 3200;

/* ---- options of its run ---------------------------------------------------------------------- */

/* Seeds that are neither the run's own nor each other's: draws must be independent of those they
 * are compared with. */
static uint64_t seed_of(const sgfsi_audit *a, const sgfsi_reference_chain *p) {
    uint64_t seed = (uint64_t)sgfsi_config_int(a->job.cfg, "run.seed");
    return sgfsi_splitmix(seed * SGFSI_REFERENCES + (uint64_t)(p - a->reference)) >> 12;
}

static sgfs_status copy_option(const sgfsi_audit *a, sgfs_config *cfg, const char *key,
                               sgfs_err *err) {
    if (!sgfsi_config_given(a->job.cfg, key)) return SGFS_OK;
    return sgfs_config_set(cfg, key, sgfsi_config_text(a->job.cfg, key), err);
}

static sgfs_status set_options(const sgfsi_audit *a, const sgfsi_reference_chain *p,
                               sgfs_config *cfg, sgfs_err *err) {
    sgfs_status status = sgfs_config_set(cfg, "sampler.kind", p->sampler, err);
    if (status != SGFS_OK) return status;
    /* What the run's sampler and this one have in common, as the run had it. */
    sgfsi_kinds kinds;
    status = sgfsi_choose_kinds(cfg, NULL, &kinds, err);
    if (status != SGFS_OK) return status;
    const char *step = kinds.sampler->vanishing != NULL ? kinds.sampler->vanishing : "";
    if (a->way == SGFSI_AUDIT_STEP) {
        bool same = strcmp(p->sampler, a->sampler) == 0;
        if (same) status = sgfsi_reopen_choices(cfg, a->run, "run.batch", err);
        if (same && status == SGFS_OK) status = sgfsi_reopen_choices(cfg, a->run, "fisher.", err);
        for (const sgfs_option *r = kinds.sampler->options; r->key != NULL; r++) {
            if (status != SGFS_OK || strcmp(r->key, step) == 0) continue;
            status = sgfsi_reopen_choices(cfg, a->run, r->key, err);
        }
        if (status != SGFS_OK) return status;
    }
    if (status == SGFS_OK && isfinite(p->h)) status = sgfsi_config_set_num(cfg, step, p->h, err);
    if (status == SGFS_OK) status = copy_option(a, cfg, "run.chains", err);
    if (status == SGFS_OK) status = copy_option(a, cfg, "run.threads", err);
    if (status == SGFS_OK)
        status = sgfsi_config_set_num(cfg, "run.seed", (double)seed_of(a, p), err);
    if (status == SGFS_OK) status = sgfs_config_set(cfg, "run.draws", "1000000000000", err);
    return status == SGFS_OK ? sgfs_config_set(cfg, "run.thin", "1", err) : status;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The draws of one chain since the last look go into the sums and are not kept. */
static void add_draws(void *sums, int64_t chain, int64_t draws, const double *theta) {
    sgfsi_batchmeans_add(sums, chain, draws, theta);
}

/* Up to iteration `end` of every chain. */
static sgfs_status run_to(sgfsi_audit *a, const sgfsi_reference_chain *p, sgfs_run *run,
                          sgfsi_batchmeans *b, int64_t end, double until, sgfs_err *err) {
    const sgfsi_comm *comm = run->model->ctx.comm;
    const double most = 1e6 / (double)(run->model->D * run->plan.chains); /* a few megabytes */
    int64_t stretch = 1;
    while (run->chain[0].t < end) {
        double before = sgfsi_now();
        int64_t left = end - run->chain[0].t;
        sgfs_status status = sgfs_run_step(run, stretch < left ? stretch : left, err);
        if (status != SGFS_OK) return status;
        sgfsi_run_take_draws(run, add_draws, b);
        double after =
            run->chain[0].t > run->plan.warmup ? (double)(run->chain[0].t - run->plan.warmup) : 0;
        double fraction =
            a->total > 0 ? (a->done + fmin(after * (double)run->plan.chains, p->work)) / a->total
                         : 0;
        sgfsi_job_report(&a->job, fraction, 0, 0, "%s", p->what);
        if (sgfsi_job_stopping(&a->job))
            status = sgfsi_fail(err, SGFS_ESTOPPED,
                                "Stopped early: no result. The same command starts over.");
        bool over = false;
        status = sgfsi_comm_agree(comm, status, err);
        if (status == SGFS_OK) status = sgfsi_clock_is_over(comm, sgfsi_now(), until, &over, err);
        if (status != SGFS_OK || over) return status;
        status = sgfsi_clock_stretch(comm, &stretch, sgfsi_now() - before, most, err);
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

bool sgfsi_reference_chain_estimate(sgfsi_reference_chain *p, const sgfsi_batchmeans *b) {
    sgfsi_batchmeans_estimate(b, p->estimate);
    p->reached = 0;
    for (const sgfsi_estimate *e = p->estimate; e < p->estimate + b->D; e++) {
        double error = e->mean_error / e->sd;
        if (!(error <= p->reached)) p->reached = error; /* NaN stays */
    }
    p->freedom = sgfsi_batchmeans_freedom(b, p->reached);
    bool many = sgfsi_batchmeans_batches(b) >= SAY_BATCHES && p->freedom > 0;
    return many && SAY_ESS * p->reached * p->reached <= 1;
}

double sgfsi_reference_weight(const sgfsi_audit *a, int64_t k) {
    const double exact = 3; /* iterations of the others, as a rule: it may ask many rows */
    return a->reference[k].work * (k == SGFSI_REFERENCE_EXACT ? exact : 1);
}

double sgfsi_reference_plan(const sgfsi_reference_chain *p) {
    double tau = isfinite(p->h) ? (2 - p->h) / p->h : 1.2;
    return tau * fmax(1 / (p->error * p->error), LEAST_ESS);
}

static bool is_exact(const sgfsi_reference_chain *p) {
    return sgfsi_sampler_find(p->sampler)->kind->exact;
}

static int64_t rows_so_far(const sgfs_run *run) {
    int64_t rows = 0;
    for (int64_t c = 0; c < run->plan.chains; c++)
        rows += run->chain[c].sampler.eval.rows_touched + run->chain[c].sampler.full.rows_touched;
    return rows;
}

/* What the chains of all references will cost, going by the first ones, which have been opened and
 * warmed up: said once for each plan. start: when they were open; rows: read by then. Iterations of
 * the run's own sampler read its batch. */
static void tell_cost(sgfsi_audit *a, const sgfsi_reference_chain *p, const sgfs_run *run,
                      double start, double rows) {
    const double chains = (double)run->plan.chains, iterations = chains * (double)run->chain[0].t,
                 N = (double)a->model->data->N;
    if (a->told || !(p->work > 0) || !(iterations > 0)) return;
    a->told = true;
    const double each = (sgfsi_now() - start) / iterations,
                 own = sgfsi_reference_weight(a, p - a->reference) / p->work,
                 batch = (double)sgfsi_json_get_int(a->run->header, "batch", 0);
    double seconds = 0, read = 0;
    for (int k = 0; k < SGFSI_REFERENCES; k++) {
        const sgfsi_reference_chain *of = &a->reference[k];
        if (of->over || !(of->work > 0)) continue;
        bool other = is_exact(p) && !is_exact(of) && batch > 0;
        seconds += start - a->opened + each * sgfsi_reference_weight(a, k) / own;
        read +=
            (rows + of->work * (other ? batch : ((double)rows_so_far(run) - rows) / iterations)) /
            N;
    }
    sgfsi_say(sgfsi_config_log(a->job.cfg), SGFS_NOTE,
              "The audit will take about %s s and %s passes over the rows; twice the --precision "
              "takes a quarter of the draws, and --max-time bounds the time.",
              SGFSI_DIGITS(fmax(seconds, 0.1), 2), SGFSI_DIGITS(fmax(read, 1), 2));
}

sgfs_status sgfsi_reference_too_short(const sgfsi_audit *a, const sgfsi_reference_chain *p,
                                      sgfs_err *err) {
    if (!isfinite(a->limit))
        return sgfsi_fail(err, SGFS_ENUMERIC, "still not %d effective draws after all these.",
                          SAY_ESS);
    if (is_exact(p))
        return sgfsi_fail(err, SGFS_EUSAGE, "not %d effective ones in their part of --max-time.",
                          SAY_ESS);
    return sgfsi_fail(err, SGFS_ESTOPPED,
                      "Too short to say: not %d effective %s in their part of %.4g s. Nothing is "
                      "stored. Use a longer --max-time.",
                      SAY_ESS, p->what, a->limit);
}

/* rows: touched since warm-up. ESS by what the errors are. */
static sgfs_status check_cost(const sgfsi_reference_chain *p, const sgfs_run *run, double rows,
                              sgfs_err *err) {
    double drawn = (double)((run->chain[0].t - run->plan.warmup) * run->plan.chains);
    double tau = drawn * p->reached * p->reached, each = rows / drawn;
    if (!is_exact(p) || !(tau * each > most_rows * (double)run->model->D)) return SGFS_OK;
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "they ask %.3g rows each and it takes %.3g of them to forget one: too slow to "
        "wait for",
        each, fmax(tau, 1));
}

/* Before the warm-up: rows per draw as the table of rows has it, and no draw forgotten at once. */
static sgfs_status check_table(const sgfsi_reference_chain *p, const sgfs_run *run, sgfs_err *err) {
    const sgfsi_json *found = run->chain[0].sampler.report;
    if (!is_exact(p) || found == NULL) return SGFS_OK;
    double each = sgfsi_json_get_num(sgfsi_json_get(found, "exact"), "rows_per_draw", 0);
    if (!(each > most_rows * (double)run->model->D)) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE, "they would ask %.3g rows each: too slow to wait for",
                      each);
}

static sgfs_status run_until_known(sgfsi_audit *a, sgfsi_reference_chain *p, sgfs_run *run,
                                   sgfsi_batchmeans *b, double until, sgfs_err *err) {
    double chains = (double)run->plan.chains, planned = sgfsi_reference_plan(p) / chains;
    double most = planned * MOST_FACTOR, before = (double)rows_so_far(run);
    if (is_exact(p)) planned = fmin(planned, LEAST_ESS / chains);
    planned = fmax(planned, LEAST_DRAWS);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t end = run->plan.warmup + (int64_t)ceil(planned);
        sgfs_status status = run_to(a, p, run, b, end, until, err);
        if (status != SGFS_OK) return status;
        p->enough = sgfsi_reference_chain_estimate(p, b);
        status = check_cost(p, run, (double)rows_so_far(run) - before, err);
        if (status != SGFS_OK) return status;
        double excess = p->reached / fmin(p->error, 1 / sqrt(LEAST_ESS));
        bool over;
        status = sgfsi_clock_is_over(run->model->ctx.comm, sgfsi_now(), until, &over, err);
        if (status != SGFS_OK) return status;
        if (excess <= 1.1 || planned >= most || over) return SGFS_OK;
        double factor = isfinite(excess) ? fmin(fmax(1.02 * excess * excess, 1.1), 16) : 4;
        planned = fmin(planned * factor, most);
    }
    return SGFS_OK;
}

/* ---- one reference --------------------------------------------------------------------------- */

/* h as the sampler chose it. */
static double step_of(const sgfs_run *run) {
    const char *const *names = run->plan.kinds.sampler->stats;
    for (int64_t s = 0; names[s] != NULL; s++)
        if (strcmp(names[s], SGFSI_STAT_STEP_SIZE) == 0) return run->chain[0].stats[s];
    return NAN;
}

/* Exact draws may come in any exact way. */
static sgfs_status check_kind(const sgfsi_reference_chain *p, const sgfs_run *run, sgfs_err *err) {
    const char *why = run->chain[0].sampler.fallback;
    bool right = is_exact(p) ? run->plan.kinds.sampler->exact
                             : strcmp(run->plan.kinds.name, p->sampler) == 0;
    if (right && why[0] == '\0') return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE, "--sampler %s gains nothing here%s%.300s", p->sampler,
                      why[0] != '\0' ? ": " : ".", why);
}

static sgfs_status with_run(sgfsi_audit *a, sgfsi_reference_chain *p, sgfs_run *run, double until,
                            sgfs_err *err) {
    sgfs_status status = check_kind(p, run, err);
    if (status != SGFS_OK) return status;
    int64_t D = a->model->D;
    double start = sgfsi_now(), rows = (double)rows_so_far(run);
    sgfsi_arena arena = {NULL};
    sgfsi_batchmeans *b = sgfsi_batchmeans_new(&arena, run->plan.chains, D);
    p->estimate = sgfsi_arena_alloc(&a->job.arena, D, sizeof *p->estimate);
    if (b == NULL || p->estimate == NULL) status = sgfsi_fail_memory(err, "the audit");
    if (status == SGFS_OK) status = check_table(p, run, err);
    if (status == SGFS_OK) status = run_to(a, p, run, b, run->plan.warmup + 1, until, err);
    if (status == SGFS_OK && run->chain[0].t <= run->plan.warmup)
        status = sgfsi_reference_too_short(a, p, err);
    if (status == SGFS_OK) tell_cost(a, p, run, start, rows);
    if (status == SGFS_OK && !isfinite(p->h)) p->h = step_of(run);
    if (status == SGFS_OK) status = run_until_known(a, p, run, b, until, err);
    if (status == SGFS_OK && !p->enough) status = sgfsi_reference_too_short(a, p, err);
    p->rows = rows_so_far(run);
    if (status != SGFS_OK) p->estimate = NULL;
    sgfsi_arena_free(&arena);
    return status;
}

/* Notes of the first reference are of use (the search for the anchor); repetitions are not. */
static void pass_first(sgfs_level level, const char *text, void *user) {
    const sgfsi_audit *a = user;
    if (level != SGFS_WARNING && a->done == 0)
        sgfsi_say(sgfsi_config_log(a->job.cfg), level, "%s", text);
}

sgfs_status sgfsi_reference_chain_run(sgfsi_audit *a, sgfsi_reference_chain *p, double until,
                                      sgfs_err *err) {
    sgfs_config *cfg = sgfs_config_new();
    if (cfg == NULL) return sgfsi_fail_memory(err, "the audit");
    sgfsi_config_share(cfg, sgfsi_config_log(a->job.cfg));
    sgfs_config_on_message(cfg, pass_first, a);
    a->opened = sgfsi_now();
    sgfs_status status = set_options(a, p, cfg, err);
    sgfs_run *run = status == SGFS_OK ? sgfs_run_open(a->model, cfg, err) : NULL;
    if (status == SGFS_OK) status = run != NULL ? with_run(a, p, run, until, err) : sgfsi_why(err);
    sgfs_run_free(run);
    sgfs_config_free(cfg);
    return status;
}
