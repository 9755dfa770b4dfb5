/* SPDX-License-Identifier: MIT
 * summary.c: the table a run is read by: one row per parameter, and what the run cost.
 *
 * Quantiles, ESS and R-hat come from the kept draws, the first so many that every chain used has;
 * they agree with ArviZ on the exported draws. Mean and sd come from the running moments of every
 * iteration where the run has them: better when it was thinned (see moments.c).
 *     tau        thin x chains x draws / ESS of the mean (no ranks): iterations per independent
 *                draw; by batch means over every iteration where thinning hides it
 *     mcse       sd / sqrt(ESS of the mean), or sd sqrt(tau / iterations) in that case
 *     ess_per_s  smallest bulk ESS / wall clock of sampling
 *     inv_atuc   1 / (largest tau x seconds per iteration of one chain); Ahn et al. (2012), 5.1
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "diagnostics/advice.h"
#include "diagnostics/compared.h"
#include "diagnostics/energy.h"
#include "diagnostics/ess.h"
#include "diagnostics/moments.h"
#include "diagnostics/summary.h"
#include "diagnostics/summary_rows.h"
#include "diagnostics/trust.h"

/* The public struct comes first, so that its pointer is also ours. */
typedef struct summary {
    sgfs_summary shown;
    sgfsi_arena arena;
} summary;

typedef struct table {
    sgfs_summary_row *row;
    double thin;
} table;

static void fill_row(void *user, int64_t i, sgfsi_trace *t) {
    const table *to = user;
    sgfs_summary_row *row = &to->row[i];
    double ess_mean = sgfsi_ess_mean(t), all = (double)(t->chains * t->draws);
    row->q5 = t->q5;
    row->q50 = t->q50;
    row->q95 = t->q95;
    row->mcse = t->sd / sqrt(ess_mean);
    row->ess_bulk = sgfsi_ess_bulk(t);
    row->ess_tail = sgfsi_ess_tail(t);
    row->r_hat = sgfsi_rhat(t);
    row->tau = to->thin * all / ess_mean;
}

static sgfs_status fill_rows(const sgfs_draws *d, const sgfsi_used *used, int64_t threads,
                             summary *s, sgfs_err *err) {
    sgfsi_moments moments;
    sgfs_status status = sgfsi_moments_of(d, used, false, &s->arena, &moments, err);
    if (status != SGFS_OK) return status;
    table rows = {s->shown.row, (double)(d->thin > 0 ? d->thin : 1)};
    if (!sgfsi_trace_each(d, used, threads, fill_row, &rows))
        return sgfsi_fail_memory(err, "sorting the draws");
    /* What does not come from a sorted column: moments, curvature, names. */
    const double *curvature = d->chain[used->chain[0]].info.curvature_sd;
    for (int64_t i = 0; i < d->D; i++) {
        sgfs_summary_row *row = &s->shown.row[i];
        row->mean = moments.mean[i];
        row->sd = sqrt(moments.var[i]);
        row->sd_curvature = curvature != NULL ? curvature[i] : NAN;
        /* Kept draws further apart than tau are independent and cannot tell how much shorter it is;
         * what every iteration says can, and the mean (over every iteration) is as much better
         * known. By batch means, averaged over the chains that know it, if that is at least half
         * of them. */
        bool thinned = moments.every_iteration && d->thin > 1 && row->tau < 3 * (double)d->thin;
        double sum = 0, known = 0;
        for (int64_t c = 0; thinned && c < used->chains; c++) {
            const double *of_chain = d->chain[used->chain[c]].info.tau;
            if (of_chain == NULL || isnan(of_chain[i])) continue;
            sum += of_chain[i];
            known++;
        }
        if (thinned && 2 * known >= (double)used->chains && sum / known < row->tau) {
            row->tau = sum / known;
            row->mcse = row->sd * sqrt(row->tau / (double)moments.count);
        }
        row->name = sgfsi_arena_text(&s->arena, d->param[i]);
        if (row->name == NULL) return sgfsi_fail_memory(err, "the names of the parameters");
    }
    return SGFS_OK;
}

/* Costs of every chain, with draws or not; rates of those that have draws. */
static void fill_costs(const sgfs_draws *d, const sgfsi_used *used, sgfs_summary *s) {
    for (int64_t c = 0; c < d->chains; c++) {
        const sgfsi_chain_info *info = &d->chain[c].info;
        s->seconds += info->warmup_seconds + info->sample_seconds;
        s->sample_seconds += info->sample_seconds;
        s->rows_touched += (double)info->rows_touched;
        s->disk_wait += info->disk_wait;
        s->disk_bytes += info->disk_bytes;
        s->disk_faults += info->disk_faults;
        s->interventions += (double)info->interventions;
        s->reanchors += (double)info->reanchors;
    }
    /* Rates: chains ran side by side, as far as there were threads for them. */
    double wall = 0.0, seconds = 0.0, iterations = 0.0;
    double threads = sgfsi_json_get_num(sgfsi_json_get(d->header, "machine"), "threads", 1e9);
    for (int64_t c = 0; c < used->chains; c++) {
        const sgfsi_chain_info *info = &d->chain[used->chain[c]].info;
        wall = fmax(wall, info->sample_seconds);
        seconds += info->sample_seconds;
        iterations += (double)info->iterations;
    }
    s->ess_min = INFINITY; /* fmin and fmax pass over NaN */
    s->tau_max = -INFINITY;
    for (int64_t i = 0; i < s->dim; i++) {
        s->ess_min = fmin(s->ess_min, s->row[i].ess_bulk);
        s->tau_max = fmax(s->tau_max, s->row[i].tau);
    }
    if (!isfinite(s->ess_min)) s->ess_min = NAN;
    if (!isfinite(s->tau_max)) s->tau_max = NAN;
    wall = fmax(wall, seconds / threads); /* more chains than threads take turns */
    s->ess_per_s = wall > 0.0 ? s->ess_min / wall : NAN;
    s->inv_atuc = seconds > 0.0 ? iterations / (s->tau_max * seconds) : NAN;
}

/* The header's own title, in which the draws that were planned become those that were made, or what
 * it says of model, sampler and data: "logistic, sgfs, flights.csv". */
static const char *title_of(const sgfs_draws *d, const sgfs_summary *s, sgfsi_arena *arena) {
    static const char *const part[] = {"model", "sampler", "data"};
    char text[1100] = "", planned[48];
    const char *title = sgfsi_json_get_text(d->header, "title", NULL);
    snprintf(planned, sizeof planned, " + %lld draws", (long long)s->planned);
    const char *at = title != NULL && s->made > s->planned ? strstr(title, planned) : NULL;
    if (at != NULL)
        snprintf(text, sizeof text, "%.*s + %lld draws%s", (int)(at - title), title,
                 (long long)s->made, at + strlen(planned));
    if (title != NULL) return sgfsi_arena_text(arena, at != NULL ? text : title);
    for (int i = 0; i < 3; i++) {
        const sgfsi_json *value = sgfsi_json_get(d->header, part[i]);
        const char *word = sgfsi_json_as_text(value);
        if (word == NULL) word = sgfsi_json_get_text(value, "name", NULL);
        if (word == NULL) continue;
        sgfsi_append(text, sizeof text, "%s%s", text[0] != '\0' ? ", " : "", word);
    }
    return sgfsi_arena_text(arena, text);
}

/* A count as the file has it; 0 where it is none. */
static int64_t whole(double x) {
    return x >= 0 && x < 0x1p63 ? (int64_t)x : 0;
}

static sgfs_status fill_curve(const sgfs_draws *d, const sgfsi_used *used, summary *s,
                              sgfs_err *err) {
    sgfs_summary *out = &s->shown;
    int64_t total = 0;
    const sgfsi_json *labels = sgfsi_json_get(sgfsi_json_get(d->header, "model_info"), "labels");
    out->error_name = labels != NULL ? "error rate" : "rmse";
    out->error = out->log_loss = NAN;
    for (int64_t c = 0; c < d->chains; c++) total += d->chain[c].points;
    if (total == 0) return SGFS_OK;
    out->curve = sgfsi_arena_alloc(&s->arena, total, sizeof *out->curve);
    if (out->curve == NULL) return sgfsi_fail_memory(err, "the validation curve");
    /* All points, chain after chain; the last of each chain makes the averages. */
    out->error = out->log_loss = 0;
    for (int64_t c = 0; c < used->chains; c++) {
        const sgfsi_chain_draws *chain = &d->chain[used->chain[c]];
        sgfs_curve_point last = {.error = NAN, .log_loss = NAN};
        const double *x = chain->curve;
        for (int64_t i = 0; i < chain->points; i++, x += SGFSI_POINT) {
            last = (sgfs_curve_point){.chain = used->chain[c],
                                      .iteration = whole(x[SGFSI_POINT_ITERATION]),
                                      .draws = whole(x[SGFSI_POINT_DRAWS]),
                                      .seconds = x[SGFSI_POINT_SECONDS],
                                      .error = x[SGFSI_POINT_ERROR],
                                      .log_loss = x[SGFSI_POINT_LOSS],
                                      .error_now = x[SGFSI_POINT_ERROR_NOW],
                                      .log_loss_now = x[SGFSI_POINT_LOSS_NOW]};
            out->curve[out->points++] = last;
        }
        out->error += last.error / (double)used->chains;
        out->log_loss += last.log_loss / (double)used->chains;
    }
    return SGFS_OK;
}

static sgfs_audit_change change_of(const sgfsi_json *found) {
    return (sgfs_audit_change){.mean = sgfsi_json_get_num(found, "mean", NAN),
                               .mean_error = sgfsi_json_get_num(found, "mean_error", NAN),
                               .sd = sgfsi_json_get_num(found, "sd", NAN),
                               .sd_error = sgfsi_json_get_num(found, "sd_error", NAN)};
}

/* The note of `sgfs audit` may come from anywhere: what it lacks is not known. */
static sgfs_status fill_audit(const sgfs_draws *d, summary *s, sgfs_err *err) {
    sgfs_audited *out = &s->shown.audit;
    const char *brief = sgfsi_json_get_text(d->audit, "brief", NULL);
    if (d->audit == NULL || brief == NULL) return SGFS_OK;
    const sgfsi_json *mean = sgfsi_json_get(d->audit, "largest_mean");
    const sgfsi_json *sd = sgfsi_json_get(d->audit, "largest_sd");
    out->exact = sgfsi_json_get_flag(d->audit, "exact");
    out->differs = sgfsi_json_get_flag(d->audit, "mean_differs") ||
                   sgfsi_json_get_flag(d->audit, "sd_differs");
    out->mean = change_of(mean);
    out->sd = change_of(sd);
    out->mean_name = sgfsi_arena_text(&s->arena, sgfsi_json_get_text(mean, "name", ""));
    out->sd_name = sgfsi_arena_text(&s->arena, sgfsi_json_get_text(sd, "name", ""));
    out->brief = sgfsi_arena_text(&s->arena, brief);
    bool made = out->mean_name != NULL && out->sd_name != NULL && out->brief != NULL;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the audit");
}

static sgfs_status fill(const sgfs_draws *d, int64_t threads, summary *s, sgfs_err *err) {
    sgfs_summary *out = &s->shown;
    sgfsi_used used;
    sgfs_status status = sgfsi_used_of(d, &s->arena, &used, err);
    if (status != SGFS_OK) return status;
    out->dim = d->D;
    out->chains = used.chains;
    out->draws = used.draws;
    /* how long the run was meant to be and is */
    out->planned = sgfsi_json_get_int(d->header, "draws", 0);
    for (int64_t c = 0; c < used.chains; c++) {
        int64_t made = d->chain[used.chain[c]].info.iterations;
        out->made = made > out->made ? made : out->made;
    }
    out->title = title_of(d, out, &s->arena);
    out->state = sgfsi_arena_text(&s->arena, d->state != NULL ? d->state : "unfinished");
    out->chosen = sgfsi_arena_text(&s->arena, sgfsi_json_get_text(d->header, "chosen", ""));
    out->row = sgfsi_arena_alloc(&s->arena, d->D, sizeof *out->row);
    out->sampler = sgfsi_arena_text(&s->arena, sgfsi_json_get_text(d->header, "sampler", ""));
    out->compared = sgfsi_compared_with(d, &s->arena);
    out->units = sgfsi_units_of(d, &s->arena);
    if (!out->title || !out->compared || !out->units || !out->state || !out->chosen ||
        !out->sampler || !out->row)
        return sgfsi_fail_memory(err, "the summary");
    status = fill_rows(d, &used, threads, s, err);
    if (status != SGFS_OK) return status;
    fill_costs(d, &used, out);
    out->asked = sgfsi_exact_stats_of(d, &used);
    out->grouped = sgfsi_group_stats_of(d, &used);
    if (out->grouped.known)
        out->grouped.passes =
            out->rows_touched / sgfsi_json_get_num(d->header, "rows", NAN) / out->ess_min;
    status = sgfsi_trajectories_of(d, &used, &s->arena, &out->trajectories, err);
    if (status == SGFS_OK) status = fill_curve(d, &used, s, err);
    if (status == SGFS_OK) status = fill_audit(d, s, err);
    if (status != SGFS_OK) return status;
    /* which ways its sampler took */
    out->fallbacks = sgfsi_json_get_int(sgfsi_json_get(d->header, "sampler_info"), "fallbacks", 0);
    out->gaussian_draws = sgfsi_count_equal(d, &used, SGFSI_STAT_PHASE, 2);
    out->langevin_draws = sgfsi_count_equal(d, &used, SGFSI_STAT_PHASE, 3);
    status = sgfsi_trust(d, &used, out, &s->arena, err);
    return status == SGFS_OK ? sgfsi_advise(d, &used, out, &s->arena, err) : status;
}

sgfs_summary *sgfsi_summary_new(const sgfs_draws *draws, int64_t threads, sgfs_err *err) {
    if (draws == NULL) return NULL;
    summary *s = calloc(1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the summary"), NULL;
    if (fill(draws, threads, s, err) == SGFS_OK) return &s->shown;
    sgfsi_summary_free(&s->shown);
    return NULL;
}

sgfs_status sgfsi_summary_apply(sgfs_summary *shown, const sgfs_draws *draws, int64_t threads,
                                const sgfs_config *cfg, sgfs_err *err) {
    summary *s = (summary *)shown;
    sgfsi_used used;
    sgfs_status status = sgfsi_used_of(draws, &s->arena, &used, err);
    if (status != SGFS_OK) return status;
    return sgfsi_summary_rows(draws, &used, threads, cfg, shown, &s->arena, err);
}

void sgfsi_summary_free(sgfs_summary *shown) {
    if (shown == NULL) return;
    summary *s = (summary *)shown;
    sgfsi_arena_free(&s->arena);
    free(s);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_audit(sgfsi_json *out, const sgfs_audited *a) {
    if (a->brief == NULL) return;
    sgfsi_json *audit = sgfsi_json_object_in(out, "audit");
    SGFSI_JSON(audit, a, brief, exact, differs);
    sgfsi_json *mean = sgfsi_json_object_in(audit, "mean"), *sd = sgfsi_json_object_in(audit, "sd");
    sgfsi_json_text(mean, "name", a->mean_name);
    sgfsi_json_num(mean, "bias", a->mean.mean);
    sgfsi_json_num(mean, "error", a->mean.mean_error);
    sgfsi_json_text(sd, "name", a->sd_name);
    sgfsi_json_num(sd, "bias", a->sd.sd);
    sgfsi_json_num(sd, "error", a->sd.sd_error);
}

static void put_curve(sgfsi_json *out, const sgfs_summary *s) {
    if (s->points == 0) return;
    sgfsi_json *validation = sgfsi_json_object_in(out, "validation");
    SGFSI_JSON(validation, s, error, log_loss);
    sgfsi_json *curve = sgfsi_json_array_in(validation, "curve");
    for (const sgfs_curve_point *p = s->curve; p < s->curve + s->points; p++) {
        sgfsi_json *point = sgfsi_json_object_in(curve, NULL);
        sgfsi_json_int(point, "chain", p->chain + 1);
        SGFSI_JSON(point, p, iteration, seconds, draws, error, log_loss, error_now, log_loss_now);
    }
}

sgfsi_json *sgfsi_summary_json(const sgfs_summary *s) {
    sgfsi_json *out = sgfsi_json_object();
    SGFSI_JSON(out, s, trust, verdict);
    if (s->next[0] != '\0') sgfsi_json_text(out, "next", s->next);
    SGFSI_JSON(out, s, title, state, chains, draws, dim, sampler);
    if (s->interval != NULL) SGFSI_JSON(out, s, share, hdi);
    if (s->chosen[0] != '\0') sgfsi_json_text(out, "chosen", s->chosen);
    if (s->planned > 0) sgfsi_json_int(out, "draws_planned", s->planned);
    if (s->made > 0) sgfsi_json_int(out, "draws_made", s->made);
    SGFSI_JSON(out, s, fallbacks, seconds, sample_seconds, rows_touched);
    if (s->disk_bytes > 0) {
        sgfsi_json_num(out, "disk_wait_seconds", s->disk_wait);
        sgfsi_json_num(out, "disk_bytes", s->disk_bytes);
        sgfsi_json_num(out, "major_faults", s->disk_faults);
    }
    SGFSI_JSON(out, s, ess_min, ess_per_s, tau_max, inv_atuc, interventions);
    if (s->reanchors > 0) sgfsi_json_num(out, "reanchors", s->reanchors);
    const sgfs_trajectories *t = &s->trajectories;
    if (t->known) {
        sgfsi_json *o = sgfsi_json_object_in(out, "trajectories");
        SGFSI_JSON(o, t, thin, divergent, at_max_depth, max_depth, acceptance_rate, step_size,
                   n_steps);
        if (t->bfmi != NULL) sgfsi_json_nums(o, "bfmi", s->chains, t->bfmi);
    }
    if (s->asked.known) {
        sgfsi_json *asked = sgfsi_json_object_in(out, "asked");
        sgfsi_json_num(asked, "acceptance", s->asked.acceptance);
        sgfsi_json_num(asked, "rows_per_draw", s->asked.rows);
        sgfsi_json_num(asked, "rho", s->asked.rho);
    }
    if (s->grouped.known) {
        sgfsi_json *grouped = sgfsi_json_object_in(out, "grouped");
        SGFSI_JSON(grouped, &s->grouped, beta, groups, scales, passes);
    }
    if (s->compared[0] != '\0') sgfsi_json_text(out, "compared", s->compared);
    if (s->units[0] != '\0') sgfsi_json_text(out, "units", s->units);
    put_curve(out, s);
    put_audit(out, &s->audit);
    if (s->gaussian_draws + s->langevin_draws > 0)
        SGFSI_JSON(out, s, gaussian_draws, langevin_draws);
    sgfsi_json *warnings = sgfsi_json_array_in(out, "warnings"),
               *params = sgfsi_json_array_in(out, "params");
    for (int64_t i = 0; i < s->warnings; i++) sgfsi_json_text(warnings, NULL, s->warning[i]);
    for (const sgfs_summary_row *row = s->row; row < s->row + s->dim; row++) {
        sgfsi_json *param = sgfsi_json_object_in(params, NULL);
        SGFSI_JSON(param, row, name, mean, sd, mcse, q5, q50, q95, ess_bulk, ess_tail, r_hat,
                   sd_curvature, tau);
        if (s->interval == NULL) continue;
        const sgfs_interval *interval = &s->interval[row - s->row];
        sgfsi_json *of = sgfsi_json_object_in(param, s->ratio != NULL ? "ratio" : "interval");
        SGFSI_JSON(of, interval, centre, low, high);
        if (s->ratio != NULL) sgfsi_json_text(of, "name", s->ratio);
    }
    return out;
}
