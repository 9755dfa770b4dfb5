/* SPDX-License-Identifier: MIT
 * trust.c: the first line of a summary: "Trust", "Trust, with care", "Do not trust as draws" or "Do
 * not trust", why, and what to type next. docs/trust.md has the rules with their reasons.
 *
 * Each check looks at one thing that can be wrong and reports a grade with a sentence. The worst
 * grade is the summary's. Of reasons for care all are said, of reasons not to trust the first: the
 * checks come in the order in which a reader should hear of them, a spread that exploded before an
 * R-hat that noticed it a little. A parameter with few effective draws is judged like any other,
 * by bounds that are as much wider: the one that exploded has few.
 *
 * Warnings in full sentences, with everything that is known, are advice.c's.
 */
#include "diagnostics/trust.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/printable.h"
#include "diagnostics/advice.h"
#include "diagnostics/ess.h"
#include "sink/export.h"

enum { TEXT = 480, PASTED = 600, NAME = 60, LEAST_DRAWS = 20 };
static const double ESS_LEAST = 100;
static const double SPREAD_CARE = 1.1, SPREAD_MOST = 1.3, SPREAD_WILD = 3;
static const double TAIL_MOST = 4;       /* sd over the sd of the middle 90 % */
static const double RANGE_LEAST = 0.05;  /* of a chain, over the median of the others' */
static const double PRIOR_MOST = 0.7071; /* sd over the prior's: it knows as much as the rows */
static const double FIT_MOST = 0.05;     /* nats a row between the fits of two chains */
static const double FIT_WORSE = 0.1;     /* nats a row below one that knows no columns */
static const double DIVERGENT_MOST = 0.01, BFMI_LEAST = 0.3, MEAN_MOST = 0.3;

/* What may help. */
typedef enum remedy { NOTHING, AUDIT, LONGER, WARM_UP, SMALLER_STEP, OTHER_SAMPLER } remedy;

typedef struct judge {
    const sgfs_draws *d;
    const sgfsi_used *used;
    sgfs_summary *s;
    bool exact, independent; /* draws of no chain that could run away, or stand still */
    sgfs_grade grade;
    remedy remedy;
    double ess_min, rhat_max; /* over all parameters; bulk and tail */
    int64_t ess_at, rhat_at;
    char why[TEXT];
} judge;

SGFSI_PRINTF(4, 5)
static void find(judge *j, sgfs_grade grade, remedy help, const char *format, ...) {
    bool worse = grade > j->grade, also = grade == j->grade && grade == SGFS_GRADE_CARE;
    if (!worse && !also) return;
    size_t at = also ? strlen(j->why) : 0;
    if (also) at += (size_t)snprintf(j->why + at, sizeof j->why - at, "; ");
    if (at >= sizeof j->why) return;
    va_list args;
    va_start(args, format);
    vsnprintf(j->why + at, sizeof j->why - at, format, args);
    va_end(args);
    j->grade = grade;
    if (worse || help > j->remedy) j->remedy = help;
}

/* ---- what other files ask, too --------------------------------------------------------------- */

/* Half chains of m effective draws each have R-hat^2 = 1 + 1/m on average. */
double sgfsi_rhat_agrees(int64_t chains) {
    double expected = 1 + (double)chains / SGFSI_ESS_ENOUGH;
    return fmin(fmax(1.01, expected), SGFSI_RHAT_CARE);
}

/* A cyclical schedule keeps fewer draws than it makes; a complete run has made what its header
 * says. */
int64_t sgfsi_draws_now(const sgfs_draws *d, const sgfs_summary *s) {
    double kept = (double)s->draws * (double)d->thin;
    bool complete = strcmp(s->state, "complete") == 0;
    double planned = complete ? sgfsi_json_get_num(d->header, "draws", 0) : 0;
    return (int64_t)fmin(fmax(kept, planned), 1e18);
}

int64_t sgfsi_draws_needed(const sgfs_draws *d, const sgfs_summary *s, double ess) {
    double need = ceil((double)sgfsi_draws_now(d, s) * SGFSI_ESS_ENOUGH / ess);
    if (!(need < 1e18)) return INT64_MAX;
    double unit = pow(10.0, fmax(0.0, floor(log10(need)) - 1.0));
    return (int64_t)(ceil(need / unit) * unit);
}

bool sgfsi_exchangeable(const sgfs_draws *d) {
    return sgfsi_json_get_flag(sgfsi_json_get(d->header, "model_info"), "exchangeable");
}

enum { MOST_LAYERS = 256 };

/* The draw's log prior density of the weights in layers, less a constant. x: D, on the user's
 * scale, like the standard deviations. */
static double prior_of(double df, const double *layer, const double *sd, int64_t D,
                       const double *x) {
    double n[MOST_LAYERS] = {0}, q[MOST_LAYERS] = {0}, sum = 0;
    for (int64_t i = 0; i < D; i++) {
        int64_t l = (int64_t)layer[i];
        n[l]++;
        q[l] += x[i] * x[i] / (sd[i] * sd[i]);
    }
    for (int64_t l = 1; l < MOST_LAYERS; l++)
        sum -= 0.5 * (n[l] + (df + n[l]) * log((df + q[l]) / (df + n[l])));
    return sum;
}

/* lp of each draw, chains x draws; of a network with a prior by layer without what that says of its
 * weights, whose sizes say nothing of the fit: the log likelihood, nearly. *free: parameters in no
 * layer. NULL: there is no lp, or no memory. */
static double *fits_of(const sgfs_draws *d, const sgfsi_used *used, sgfsi_arena *work,
                       int64_t *free) {
    const sgfsi_json *info = sgfsi_json_get(d->header, "model_info");
    const sgfsi_json *of = sgfsi_json_get(info, "prior_layers"),
                     *sds = sgfsi_json_get(info, "prior_sds");
    double df = sgfsi_json_get_num(info, "prior_layers_df", 0);
    bool known = of != NULL && sds != NULL && df > 0;
    double *fit = d->S > 0 ? SGFSI_DOUBLES(work, used->chains * used->draws) : NULL;
    double *layer = SGFSI_DOUBLES(work, d->D), *sd = SGFSI_DOUBLES(work, d->D);
    if (fit == NULL || layer == NULL || sd == NULL) return NULL;
    *free = 0;
    for (int64_t i = 0; i < d->D && known; i++) {
        known = sgfsi_json_as_num(sgfsi_json_at(of, i), &layer[i]) && layer[i] >= 0 &&
                layer[i] < MOST_LAYERS && sgfsi_json_as_num(sgfsi_json_at(sds, i), &sd[i]);
        *free += layer[i] == 0;
    }
    if (!known) *free = d->D;
    for (int64_t c = 0; c < used->chains; c++) {
        const sgfsi_chain_draws *chain = &d->chain[used->chain[c]];
        for (int64_t t = 0; t < used->draws; t++)
            fit[c * used->draws + t] =
                chain->stats[t * d->S] -
                (known ? prior_of(df, layer, sd, d->D, chain->theta + t * d->D) : 0);
    }
    return fit;
}

double sgfsi_fit_rhat(const sgfs_draws *d, const sgfsi_used *used, sgfsi_arena *work) {
    int64_t free;
    const double *fit = fits_of(d, used, work, &free);
    sgfsi_trace *t = fit != NULL ? sgfsi_trace_new(work, used->chains, used->draws) : NULL;
    const double **column = sgfsi_arena_alloc(work, used->chains, sizeof *column);
    if (t == NULL || column == NULL) return NAN;
    for (int64_t c = 0; c < used->chains; c++) column[c] = fit + c * used->draws;
    sgfsi_trace_load(t, column, 1);
    return sgfsi_rhat(t);
}

static double ess_of(const sgfs_summary_row *row) {
    return fmin(row->ess_bulk, row->ess_tail); /* passes over a NaN */
}

/* The log of an sd from so many effective draws has a standard error of 1 / sqrt(2 ESS); four of
 * them are allowed. Fewer than 4 effective draws are never counted. */
double sgfsi_spread_gap(const sgfs_summary_row *row) {
    double gap = log(row->sd / row->sd_curvature), ess = fmax(ess_of(row), 4);
    return fabs(gap) > 4 / sqrt(2 * ess) ? gap : 0;
}

/* ---- the checks ------------------------------------------------------------------------------ */

/* Of samplers whose bias no R-hat can see. An exact one owes the curvature nothing. */
static void check_spread(judge *j) {
    const sgfs_summary_row *worst = NULL;
    double most = 0;
    for (const sgfs_summary_row *row = j->s->row; row < j->s->row + j->s->dim; row++) {
        double gap = sgfsi_spread_gap(row);
        if (!(fabs(gap) > fabs(most))) continue;
        most = gap;
        worst = row;
    }
    if (j->exact || !(fabs(most) > log(SPREAD_CARE))) return;
    sgfs_grade grade = fabs(most) > log(SPREAD_WILD)   ? SGFS_GRADE_WRONG
                       : fabs(most) > log(SPREAD_MOST) ? SGFS_GRADE_SHORT
                                                       : SGFS_GRADE_CARE;
    find(j, grade, OTHER_SAMPLER,
         "the standard deviation of %.*s is %s times what the curvature of the posterior predicts",
         (int)NAME, worst->name, SGFSI_DIGITS(exp(most), 3));
}

/* A few draws far from all the rest, which make the mean and the sd what they are. */
static void check_tails(judge *j) {
    const sgfsi_json *info = sgfsi_json_get(j->d->header, "sampler_info");
    if (sgfsi_json_get_flag(sgfsi_json_get(info, "pairs"), "heavy"))
        find(j, SGFS_GRADE_CARE, NOTHING,
             "the posterior has tails that exact-pairs may not have reached, so that standard "
             "deviations may be too small: compare with --sampler exact-hmc");
    const sgfs_summary_row *worst = NULL;
    double most = TAIL_MOST;
    for (const sgfs_summary_row *row = j->s->row; row < j->s->row + j->s->dim; row++) {
        double ratio = row->sd / ((row->q95 - row->q5) / 3.29);
        if (!(ratio > most)) continue;
        most = ratio;
        worst = row;
    }
    if (worst == NULL) return;
    if (j->independent && isfinite(most))
        find(j, SGFS_GRADE_CARE, NOTHING,
             "the posterior of %.*s has long tails, so that its standard deviation, %s times that "
             "of the middle 90 %% of the draws, says little: read its quantiles",
             (int)NAME, worst->name, SGFSI_DIGITS(most, 3));
    else
        find(j, SGFS_GRADE_WRONG, OTHER_SAMPLER,
             "a few draws of %.*s lie far away from all others: its standard deviation is %s times "
             "that of the middle 90 %% of them",
             (int)NAME, worst->name, isfinite(most) ? SGFSI_DIGITS(most, 3) : "very many");
}

typedef struct range {
    double low, high;
} range;

static double width_of(range r) {
    return r.high - r.low;
}

/* Of one parameter: the median width of the others' ranges, and whether chain c meets any of them.
 * of: chains x D. */
static double width_of_others(const judge *j, const range *of, int64_t c, double *room,
                              bool *meets) {
    int64_t count = 0;
    const range own = of[c * j->d->D];
    *meets = false;
    for (int64_t k = 0; k < j->used->chains; k++) {
        const range other = of[k * j->d->D];
        if (k == c) continue;
        *meets = *meets || (other.low <= own.high && own.low <= other.high);
        int64_t at = count++;
        for (; at > 0 && room[at - 1] > width_of(other); at--) room[at] = room[at - 1];
        room[at] = width_of(other);
    }
    return room[count / 2];
}

/* A chain that never is where any other was, and one that hardly moved while the others did. */
static sgfs_status check_ranges(judge *j, sgfsi_arena *work, sgfs_err *err) {
    const int64_t chains = j->used->chains, D = j->d->D;
    if (chains < 2 || j->used->draws < LEAST_DRAWS || j->independent) return SGFS_OK;
    range *of = sgfsi_arena_alloc(work, chains * D, sizeof *of); /* chains x D */
    double *room = SGFSI_DOUBLES(work, chains), least = RANGE_LEAST;
    if (of == NULL || room == NULL) return sgfsi_fail_memory(err, "the ranges of the chains");
    for (int64_t c = 0; c < chains; c++) {
        const double *x = j->d->chain[j->used->chain[c]].theta;
        range *own = of + c * D;
        for (int64_t i = 0; i < D; i++) own[i] = (range){x[i], x[i]};
        for (int64_t t = 1; t < j->used->draws; t++) {
            x += D;
            for (int64_t i = 0; i < D; i++) {
                own[i].low = fmin(own[i].low, x[i]);
                own[i].high = fmax(own[i].high, x[i]);
            }
        }
    }
    int64_t apart = -1, apart_at = 0, frozen = -1, frozen_at = 0;
    for (int64_t k = 0; k < D * chains; k++) {
        bool meets;
        int64_t i = k / chains, c = k % chains;
        double others = width_of_others(j, of + i, c, room, &meets);
        double share = others > 0 ? width_of(of[c * D + i]) / others : 1;
        if (!meets && apart < 0) apart = c, apart_at = i;
        if (share < least) least = share, frozen = c, frozen_at = i;
    }
    if (frozen >= 0)
        find(j, SGFS_GRADE_WRONG, OTHER_SAMPLER,
             "chain %lld hardly moves: it covers %s %% of the range of %.*s that the others cover",
             (long long)j->used->chain[frozen] + 1, SGFSI_DIGITS(100 * least, 2), (int)NAME,
             j->s->row[frozen_at].name);
    if (apart >= 0)
        find(j, SGFS_GRADE_WRONG, OTHER_SAMPLER,
             "chain %lld never visits the values of %.*s where the others are",
             (long long)j->used->chain[apart] + 1, (int)NAME, j->s->row[apart_at].name);
    return SGFS_OK;
}

static void check_rhat(judge *j) {
    const char *name = j->s->row[j->rhat_at].name;
    if (j->rhat_max > SGFSI_RHAT_APART)
        find(
            j, SGFS_GRADE_WRONG, OTHER_SAMPLER,
            "the chains disagree: they are in different places (R-hat %s for %.*s; it should be 1)",
            SGFSI_DIGITS(j->rhat_max, 3), (int)NAME, name);
    else if (j->rhat_max > SGFSI_RHAT_CARE)
        find(j, SGFS_GRADE_SHORT, LONGER, "the chains do not agree yet (R-hat %s for %.*s)",
             SGFSI_DIGITS(j->rhat_max, 3), (int)NAME, name);
}

/* How well means are known, as a share of a standard deviation. */
static double precision_of(const sgfs_summary *s) {
    double most = 0;
    for (int64_t i = 0; i < s->dim; i++)
        if (s->row[i].sd > 0) most = fmax(most, s->row[i].mcse / s->row[i].sd);
    return most;
}

static void check_ess(judge *j) {
    const char *name = j->s->row[j->ess_at].name;
    if (j->ess_min < ESS_LEAST)
        find(j, SGFS_GRADE_SHORT, LONGER,
             "the run is too short: its draws of %.*s are worth %s independent ones", (int)NAME,
             name, SGFSI_DIGITS(j->ess_min, 2));
    else if (j->ess_min < SGFSI_ESS_ENOUGH)
        find(j, SGFS_GRADE_CARE, LONGER,
             "few draws: those of %.*s are worth %s independent ones, and means are known to "
             "%.0f %% of a standard deviation",
             (int)NAME, name, SGFSI_DIGITS(j->ess_min, 3), ceil(100 * precision_of(j->s)));
    else if (j->rhat_max > sgfsi_rhat_agrees(j->s->chains))
        find(j, SGFS_GRADE_CARE, LONGER, "the chains agree only roughly (R-hat %s for %.*s)",
             SGFSI_DIGITS(j->rhat_max, 4), (int)NAME, j->s->row[j->rhat_at].name);
}

static void check_trajectories(judge *j) {
    const sgfs_trajectories *t = &j->s->trajectories;
    double total = (double)j->s->chains * (double)j->s->draws;
    if (!t->known) return;
    if (t->divergent > DIVERGENT_MOST * total)
        find(j, SGFS_GRADE_SHORT, SMALLER_STEP,
             "%.0f of %.0f trajectories diverged, so that a part of the posterior may be missing",
             t->divergent, total);
    else if (t->divergent > 0)
        find(j, SGFS_GRADE_CARE, SMALLER_STEP, "%.0f of %.0f trajectories diverged", t->divergent,
             total);
    double least = INFINITY;
    for (int64_t c = 0; t->bfmi != NULL && c < j->s->chains; c++) least = fmin(least, t->bfmi[c]);
    if (least < BFMI_LEAST)
        find(j, SGFS_GRADE_CARE, LONGER, "the tails are hard to reach (E-BFMI %s)",
             SGFSI_DIGITS(least, 2));
}

/* Models that exact draws, and audits against them, are made for. */
static bool is_regression(const judge *j) {
    return sgfsi_json_get_flag(j->d->header, "regression");
}

/* An approximate sampler has a bias that draws cannot show; an audit may have measured it. */
static void check_bias(judge *j) {
    const sgfs_audited *a = &j->s->audit;
    const char *sampler = sgfsi_json_get_text(j->d->header, "sampler", "");
    double mean = fabs(a->mean.mean), sd = fabs(a->sd.sd);
    if (j->exact || sampler[0] == '\0') return;
    if (a->brief == NULL) {
        find(j, SGFS_GRADE_CARE, is_regression(j) ? AUDIT : NOTHING,
             "%.*s is approximate, and how far off was not measured", (int)NAME, sampler);
    } else if (a->differs && (mean > MEAN_MOST || sd > log(SPREAD_MOST))) {
        bool wild = mean > 1 || sd > log(SPREAD_WILD);
        find(j, wild ? SGFS_GRADE_WRONG : SGFS_GRADE_SHORT, OTHER_SAMPLER,
             "the audit found means off by up to %s sd (%.*s) and standard deviations by up to "
             "%.0f %% (%.*s)",
             SGFSI_DIGITS(mean, 2), (int)NAME, a->mean_name, 100 * expm1(sd), (int)NAME,
             a->sd_name);
    } else if (a->differs) {
        find(j, SGFS_GRADE_CARE, NOTHING,
             "%.*s is approximate: the audit found means off by up to %s sd and standard "
             "deviations by up to %.0f %%",
             (int)NAME, sampler, SGFSI_DIGITS(mean, 2), 100 * expm1(sd));
    }
}

static bool is_intercept(const char *name) {
    const char *label = strstr(name, ": ");
    return strcmp(label != NULL ? label + 2 : name, "intercept") == 0;
}

/* Draws from a posterior that is hardly narrower than the prior are right, and say what the prior
 * says. (The prior of an intercept is at the means of the columns, and its draws are not.) */
static void check_prior(judge *j) {
    enum { SHOWN = 3 };
    const sgfsi_json *sds = sgfsi_json_get(sgfsi_json_get(j->d->header, "model_info"), "prior_sds"),
                     *data = sgfsi_json_get(j->d->header, "data");
    char names[SHOWN * (NAME + 4) + 32] = "";
    double most = 0, prior = NAN;
    int64_t found = 0;
    if (sgfsi_json_get_num(data, "target_sd", 1) == 0 && is_regression(j)) {
        find(j, SGFS_GRADE_CARE, NOTHING,
             "every target is %s, so that the data set limits on one side only, and the prior "
             "decides the rest",
             SGFSI_DIGITS(sgfsi_json_get_num(data, "target_mean", NAN), 4));
        return;
    }
    for (int64_t i = 0; sgfsi_json_length(sds) == j->s->dim && i < j->s->dim; i++) {
        const sgfs_summary_row *row = &j->s->row[i];
        bool known = sgfsi_json_as_num(sgfsi_json_at(sds, i), &prior) && prior > 0;
        if (!known || is_intercept(row->name) || !(row->sd > PRIOR_MOST * prior)) continue;
        most = fmax(most, row->sd / prior);
        if (found++ < SHOWN)
            sgfsi_append(names, sizeof names, "%s%.*s", found > 1 ? ", " : "", (int)NAME,
                         row->name);
    }
    if (found > SHOWN)
        sgfsi_append(names, sizeof names, " and %lld more", (long long)found - SHOWN);
    if (found > 0)
        find(j, SGFS_GRADE_CARE, NOTHING,
             "the data hardly inform %s, whose standard deviation%s %.0f %% of the prior's", names,
             found > 1 ? "s are up to" : " is", 100 * most);
}

/* Parameters that can change places have no meaning one by one, and more draws do not give them
 * one. What can be compared are fits: the chains' log likelihoods a row. */
static void check_fits(judge *j, sgfsi_arena *work) {
    double rows = sgfsi_json_get_num(j->d->header, "rows", NAN), best = -INFINITY, least = INFINITY;
    int64_t worst = 0, from = j->used->draws / 2, free = 0;
    const double *fits = fits_of(j->d, j->used, work, &free);
    for (int64_t c = 0; fits != NULL && c < j->used->chains; c++) {
        double sum = 0;
        for (int64_t t = from; t < j->used->draws; t++) sum += fits[c * j->used->draws + t];
        double fit = sum / (double)(j->used->draws - from) / rows;
        best = fmax(best, fit);
        if (!(fit < least)) continue;
        least = fit;
        worst = c;
    }
    /* What the labels' shares alone, or the target's mean and spread, make of the rows. A network
     * that knows no more, of weights from their prior, has lp about D/2 below it. */
    double constant =
        sgfsi_json_get_num(sgfsi_json_get(j->d->header, "model_info"), "constant_loglik", NAN);
    double allowed = constant - (double)free - FIT_WORSE * rows - 10;
    if (least * rows < allowed)
        find(j, SGFS_GRADE_WRONG, WARM_UP,
             "this run did not converge: the fit of chain %lld is %s, where a network that always "
             "says "
             "the same has about %s",
             (long long)j->used->chain[worst] + 1, SGFSI_DIGITS(least * rows, 3),
             SGFSI_DIGITS(constant, 3));
    double rhat = sgfsi_fit_rhat(j->d, j->used, work);
    if (rhat > SGFSI_RHAT_APART && best - least > FIT_MOST)
        find(j, SGFS_GRADE_SHORT, WARM_UP,
             "chain %lld fits the rows worse than the best one does, by %s nats a row, and so do "
             "its predictions",
             (long long)j->used->chain[worst] + 1, SGFSI_DIGITS(best - least, 2));
    find(j, SGFS_GRADE_CARE, NOTHING,
         "for predictions averaged over the draws only, since single weights of a network mean "
         "nothing");
}

static void check_parameters(judge *j) {
    j->ess_min = INFINITY;
    j->rhat_max = -INFINITY;
    for (int64_t i = 0; i < j->s->dim; i++) {
        const sgfs_summary_row *row = &j->s->row[i];
        if (row->r_hat > j->rhat_max) j->rhat_max = row->r_hat, j->rhat_at = i;
        if (ess_of(row) < j->ess_min) j->ess_min = ess_of(row), j->ess_at = i;
    }
    check_rhat(j);
    check_ess(j);
}

/* ---- what to type next ----------------------------------------------------------------------- */

/* Was an option given that begins so (and is not `but`)? */
static bool was_given(const judge *j, const char *with, const char *but) {
    const sgfsi_json *given = sgfsi_json_get(j->d->header, "given");
    const char *key;
    void *at = NULL;
    while (given != NULL && sgfsi_json_next(given, &at, &key) != NULL)
        if (strncmp(key, with, strlen(with)) == 0 && strcmp(key, but) != 0) return true;
    return false;
}

/* Another sampler, exact where the one at hand was not; or else what makes the posterior easier. */
static void other_sampler(const judge *j, char *out, size_t room) {
    const sgfsi_json *header = j->d->header;
    const char *sampler = sgfsi_json_get_text(header, "sampler", "");
    const char *instead = sgfsi_json_get_text(header, "instead", "nuts");
    bool normal = sgfsi_json_get_flag(header, "normal_prior");
    if (!j->exact && is_regression(j) && normal) snprintf(out, room, "--sampler exact");
    else if (strcmp(sampler, instead) != 0) snprintf(out, room, "--sampler %s", instead);
    else
        snprintf(out, room, "%s--warmup %lld",
                 was_given(j, "data.standardize", "") ? "" : "--standardize ",
                 (long long)(2 * sgfsi_json_get_int(header, "warmup", 1000)));
}

/* Append " --flag value"; false where there is no room, or the value is no word for a shell. */
static bool add_option(char *out, size_t room, const char *flag, const char *value) {
    char word[PASTED];
    bool on = strcmp(value, "true") == 0, off = strcmp(value, "false") == 0;
    if (on || off) value = "";
    else if (!sgfsi_shell_word(value, word, sizeof word)) return false;
    size_t used = strlen(out);
    int n = snprintf(out + used, room - used, "%s--%s%s%s%s", used > 0 ? " " : "", off ? "no-" : "",
                     flag, on || off ? "" : " ", on || off ? "" : word);
    return n > 0 && (size_t)n < room - used;
}

/* The flag of an option: keep-classes of data.keep_classes, prior-df of prior.df, prior of
 * prior.kind. False: not one of the data, the prior or the model. */
static bool flag_of(const char *key, char *out, size_t room) {
    const char *dot = strchr(key, '.');
    bool prior = strncmp(key, "prior.", 6) == 0;
    if (!prior && strncmp(key, "data.", 5) != 0 && strncmp(key, "model.", 6) != 0) return false;
    if (strspn(dot + 1, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(dot + 1)) return false;
    snprintf(out, room, "%s%s", prior ? "prior-" : "", dot + 1);
    if (strcmp(key, "prior.kind") == 0) snprintf(out, room, "prior");
    for (char *c = out; *c != '\0'; c++)
        if (*c == '_') *c = '-';
    return true;
}

/* Rows of the run, and what was said of them, of the model and of the prior: a command that does
 * without the run's other settings. */
static bool name_data(const judge *j, char *out, size_t room) {
    const sgfsi_json *data = sgfsi_json_get(j->d->header, "data"),
                     *files = sgfsi_json_get(data, "files"),
                     *given = sgfsi_json_get(j->d->header, "given"), *value;
    const char *key;
    char flag[64];
    void *at = NULL;
    bool good = true;
    out[0] = '\0';
    if (files == NULL) good = add_option(out, room, "data", sgfsi_json_get_text(data, "path", ""));
    for (int64_t i = 0; i < sgfsi_json_length(files) && good; i++) {
        const char *file = sgfsi_json_as_text(sgfsi_json_at(files, i));
        good = file != NULL && add_option(out, room, "data", file);
    }
    while (good && given != NULL && (value = sgfsi_json_next(given, &at, &key)) != NULL) {
        const char *text = sgfsi_json_as_text(value);
        if (flag_of(key, flag, sizeof flag))
            good = text != NULL && add_option(out, room, flag, text);
    }
    return good;
}

/* Go on with the run: its draws, its thinning and all that was set stay. A model of the user's own,
 * and rows that came through a pipe, have to be given once more. */
static void write_resume(const judge *j, const char *more, char *out, size_t room) {
    const char *name = sgfsi_json_get_text(j->d->header, "model", ""),
               *path = sgfsi_json_get_text(sgfsi_json_get(j->d->header, "data"), "path", "");
    char model[200] = "MODEL.so";
    bool own = strchr(name, '/') != NULL || strstr(name, ".so") != NULL;
    if (own) (void)sgfsi_shell_word(name, model, sizeof model);
    snprintf(out, room, "sgfs sample %s%s--resume RUN%s%s%s", own ? model : "", own ? " " : "",
             more[0] != '\0' ? " " : "", more, strcmp(path, "-") == 0 ? " --data -" : "");
}

/* The command; RUN stands for the run file. What was set for this sampler's steps would be refused
 * for another one: there everything else that was given is said anew. */
static void write_next(const judge *j, char *out, size_t room) {
    char more[128] = "";
    const sgfsi_json *header = j->d->header;
    enum { SOME_HUNDREDS = 400 };
    int64_t now = sgfsi_draws_now(j->d, j->s), draws = 2 * now;
    if (isfinite(j->ess_min) && j->ess_min > 0) {
        int64_t needed = sgfsi_draws_needed(j->d, j->s, j->ess_min);
        draws = needed > draws ? needed : draws;
    } else if (draws < SOME_HUNDREDS) { /* of which nothing can be known yet */
        draws = SOME_HUNDREDS;
    }
    remedy what = j->remedy;
    if (what == LONGER && !j->exact && draws / 20 > now) what = OTHER_SAMPLER;
    out[0] = '\0';
    if (what == AUDIT) snprintf(out, room, "sgfs audit RUN");
    if (what == NOTHING || what == AUDIT) return;
    bool begun =
        strcmp(j->s->state, "stopped early") == 0 || strcmp(j->s->state, "unfinished") == 0;
    if (begun) { /* what it has not done yet is the first thing it lacks */
        write_resume(j, "", out, room);
        return;
    }
    if (what == LONGER) snprintf(more, sizeof more, "--draws %lld", (long long)draws);
    if (what == LONGER && sgfsi_json_get_flag(header, "lengthens")) {
        write_resume(j, more, out, room);
        return;
    }
    if (what == WARM_UP)
        snprintf(more, sizeof more, "--warmup %lld",
                 (long long)(4 * sgfsi_json_get_int(header, "warmup", 1000)));
    else if (what == SMALLER_STEP) {
        double step, next;
        const char *flag = sgfsi_smaller_step(j->d, &step, &next);
        snprintf(more, sizeof more, "%s %s", flag, SGFSI_DIGITS(next, 4));
    } else if (what != LONGER) other_sampler(j, more, sizeof more);
    bool another = strstr(more, "--sampler") != NULL;
    bool steps = was_given(j, "sampler.", "sampler.kind") || was_given(j, "fisher.", "") ||
                 was_given(j, "run.batch", "");
    char model[200] = "MODEL", from[PASTED] = "--config RUN";
    (void)sgfsi_shell_word(sgfsi_json_get_text(header, "model", ""), model, sizeof model);
    if (another && steps && !name_data(j, from, sizeof from))
        snprintf(from, sizeof from, "--data FILE ...");
    snprintf(out, room, "sgfs sample %s %s %s%s%s", model, from, more,
             another && !steps && was_given(j, "run.draws", "") ? " --draws auto" : "",
             another && !steps && was_given(j, "run.warmup", "") ? " --warmup auto" : "");
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void write_verdict(const judge *j, char *out, size_t room) {
    static const char *const word[] = {[SGFS_GRADE_TRUST] = "Trust",
                                       [SGFS_GRADE_CARE] = "Trust, with care",
                                       [SGFS_GRADE_OPTIMISER] = "Do not trust as draws",
                                       [SGFS_GRADE_SHORT] = "Do not trust",
                                       [SGFS_GRADE_WRONG] = "Do not trust"};
    if (j->grade > SGFS_GRADE_TRUST) {
        bool patience =
            j->grade == SGFS_GRADE_SHORT && (j->remedy == LONGER || j->remedy == WARM_UP);
        snprintf(out, room, "%s%s: %s.", word[j->grade], patience ? " yet" : "", j->why);
        return;
    }
    snprintf(out, room,
             "%s: the chains agree%s, and means are known to %.0f %% of a standard "
             "deviation or better.",
             word[0], j->exact ? "" : ", the audit found no bias",
             fmax(ceil(100 * precision_of(j->s)), 1));
}

sgfs_status sgfsi_trust(const sgfs_draws *d, const sgfsi_used *used, sgfs_summary *summary,
                        sgfsi_arena *arena, sgfs_err *err) {
    char verdict[TEXT + 64], next[PASTED + TEXT];
    const sgfsi_json *exact = sgfsi_json_get(d->header, "exact");
    judge j = {.d = d, .used = used, .s = summary, .ess_min = NAN};
    /* a file that does not say so: by the statistics that only exact samplers have */
    j.exact = exact != NULL ? sgfsi_json_get_flag(d->header, "exact")
                            : summary->trajectories.known || summary->asked.known;
    j.independent = sgfsi_json_get_flag(d->header, "independent");
    bool finite = true;
    for (int64_t i = 0; i < summary->dim; i++) finite = finite && isfinite(summary->row[i].q50);
    if (sgfsi_json_get_flag(d->header, "optimiser"))
        find(&j, SGFS_GRADE_OPTIMISER, NOTHING,
             "%.*s looks for a mode, and its spread says nothing of the posterior's", (int)NAME,
             sgfsi_json_get_text(d->header, "sampler", "the sampler"));
    if (!finite)
        find(&j, SGFS_GRADE_WRONG, OTHER_SAMPLER,
             "a chain ran away, and some draws are no numbers any more");
    if (strncmp(summary->state, "failed", 6) == 0) {
        int length = (int)strcspn(summary->state, ".");
        find(&j, SGFS_GRADE_WRONG, OTHER_SAMPLER, "the run %.*s", length, summary->state);
    }
    if (strcmp(summary->state, "unfinished") == 0 || strcmp(summary->state, "stopped early") == 0)
        find(&j, SGFS_GRADE_CARE, LONGER, "the run is %s, after %lld draws a chain",
             summary->state[0] == 'u' ? "not finished" : "stopped early",
             (long long)summary->draws);
    if (summary->draws < 4)
        find(&j, SGFS_GRADE_SHORT, LONGER, "%lld draw%s a chain %s too few to say anything",
             (long long)summary->draws, summary->draws == 1 ? "" : "s",
             summary->draws == 1 ? "is" : "are");
    sgfsi_arena work = {0};
    sgfs_status status = SGFS_OK;
    if (j.grade < SGFS_GRADE_OPTIMISER && sgfsi_exchangeable(d)) {
        check_fits(&j, &work);
    } else if (j.grade < SGFS_GRADE_OPTIMISER) {
        check_spread(&j);
        check_tails(&j);
        status = check_ranges(&j, &work, err);
        check_parameters(&j);
        check_prior(&j);
    }
    check_trajectories(&j);
    if (j.grade < SGFS_GRADE_OPTIMISER) {
        check_bias(&j);
        if (used->chains < 2)
            find(&j, SGFS_GRADE_CARE, NOTHING,
                 "there is one chain only, and another might end elsewhere");
    }
    if (status == SGFS_OK && sgfsi_arena_failed(&work))
        status = sgfsi_fail_memory(err, "the verdict");
    sgfsi_arena_free(&work);
    if (status != SGFS_OK) return status;
    write_verdict(&j, verdict, sizeof verdict);
    write_next(&j, next, sizeof next);
    summary->grade = j.grade;
    summary->trust = j.grade <= SGFS_GRADE_CARE;
    summary->verdict = sgfsi_arena_text(arena, verdict);
    summary->next = sgfsi_arena_text(arena, next);
    return summary->verdict != NULL && summary->next != NULL
               ? SGFS_OK
               : sgfsi_fail_memory(err, "the verdict");
}
