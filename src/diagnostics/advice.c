/* SPDX-License-Identifier: MIT
 * advice.c: warnings in plain sentences, each with what to do.
 *
 * Thresholds are those of the verdict (trust.h), so that none is warned of what it is told to
 * trust. Where more draws would help, their number is given: ESS grows in proportion to the draws,
 * so draws needed = draws x 400 / ESS. Trajectories (hmc, nuts): any that diverged,
 * more than 1 % at the maximum tree depth, an E-BFMI under 0.3, as Stan has it. What the run
 * itself had to say (state, interventions, the header's "cautions") is passed on. Nothing here
 * changes a number.
 */
#include "diagnostics/advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "diagnostics/trust.h"
#include "sink/export.h"

enum { NAMED = 3, OWN_WARNINGS = 17, TEXT = 640, NAME = 60 };
static const double SPREAD_MOST = 1.10, SPREAD_APART = 3;
static const double DEEP_MOST = 0.01, BFMI_LEAST = 0.3;

typedef struct list {
    sgfs_summary *summary;
    const sgfs_draws *draws;
    const sgfsi_used *used;
    sgfsi_arena *arena;
    bool full; /* memory ran out */
} list;

SGFSI_PRINTF(2, 3) static void warn(list *out, const char *format, ...) {
    char text[TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = sgfsi_arena_text(out->arena, text);
    if (copy == NULL) out->full = true;
    else out->summary->warning[out->summary->warnings++] = copy;
}

typedef double (*badness_fn)(const sgfs_summary_row *row);

static double rhat_badness(const sgfs_summary_row *row) {
    return row->r_hat;
}

static double ess_badness(const sgfs_summary_row *row) {
    return -fmin(row->ess_bulk, row->ess_tail); /* fmin passes over a NaN */
}

/* Rows worse than bound, and the worst of them by name: "beta[3], beta[1] and 4 more". */
static int64_t name_worst(const sgfs_summary *s, badness_fn badness, double bound,
                          char text[TEXT]) {
    int64_t worst[NAMED], found = 0, over = 0;
    for (int64_t i = 0; i < s->dim; i++) {
        double bad = badness(&s->row[i]);
        if (!(bad > bound)) continue;
        over++;
        int64_t k = found < NAMED ? found++ : NAMED - 1;
        if (over > NAMED && !(bad > badness(&s->row[worst[k]]))) continue;
        for (; k > 0 && badness(&s->row[worst[k - 1]]) < bad; k--) worst[k] = worst[k - 1];
        worst[k] = i;
    }
    /* The worst few, then how many others there are. */
    text[0] = '\0';
    for (int64_t k = 0; k < found; k++)
        sgfsi_append(text, TEXT, "%s%.*s", k > 0 ? ", " : "", (int)NAME, s->row[worst[k]].name);
    if (over > found) sgfsi_append(text, TEXT, " and %lld more", (long long)(over - found));
    return over;
}

static int64_t draws_now(const list *out) {
    return sgfsi_draws_now(out->draws, out->summary);
}

static int64_t draws_needed(const list *out, double ess) {
    return sgfsi_draws_needed(out->draws, out->summary, ess);
}

static void judge_state(list *out, const sgfs_draws *d, const sgfsi_used *used) {
    const char *state = out->summary->state;
    if (strncmp(state, "failed", 6) == 0) {
        int length = (int)strlen(state); /* without the full stop it may bring along */
        if (state[length - 1] == '.') length--;
        warn(out, "The run %.*s. These numbers are of the draws made before that.", length, state);
    } else if (strcmp(state, "complete") != 0) {
        warn(out, "The run is %s: these numbers are of the draws made so far.", state);
    }
    if (used->chains < d->chains)
        warn(out, "%lld of %lld chains have no draws and are left out.",
             (long long)(d->chains - used->chains), (long long)d->chains);
    int64_t longest = 0;
    for (int64_t c = 0; c < used->chains; c++) {
        int64_t draws = d->chain[used->chain[c]].draws;
        longest = draws > longest ? draws : longest;
    }
    if (longest > used->draws)
        warn(out,
             "The chains differ in length (%lld to %lld draws): quantiles, ESS and R-hat use the "
             "first %lld draws of each.",
             (long long)used->draws, (long long)longest, (long long)used->draws);
}

static void judge_numbers(list *out) {
    const sgfs_summary *s = out->summary;
    int64_t broken = 0, first = -1;
    for (int64_t i = 0; i < s->dim; i++) {
        if (isfinite(s->row[i].q50)) continue;
        if (broken++ == 0) first = i;
    }
    if (broken > 0)
        warn(out,
             "%lld of %lld parameters have draws that are not finite numbers (first: %.*s): the "
             "chain diverged; lower the step (raise alpha) or strengthen the prior.",
             (long long)broken, (long long)s->dim, (int)NAME, s->row[first].name);
    if (s->draws < 4)
        warn(out,
             "With %lld draw%s per chain ESS and R-hat cannot be computed; at least 4 are needed, "
             "some hundreds make sense.",
             (long long)s->draws, s->draws == 1 ? "" : "s");
}

static double mean_of_chain(const list *out, int64_t k, int64_t i) {
    const sgfsi_chain_draws *c = &out->draws->chain[out->used->chain[k]];
    double sum = 0;
    for (int64_t t = 0; t < out->used->draws; t++) sum += c->theta[t * out->draws->D + i];
    return sum / (double)out->used->draws;
}

/* Chains that live in different places: more draws would not bring them together. */
static void warn_apart(list *out, int64_t worst) {
    const sgfs_summary *s = out->summary;
    /* which chain is furthest from the mean of the others */
    double total = 0, furthest = -1, here = 0, others = 0;
    int64_t odd = 0;
    for (int64_t k = 0; k < s->chains; k++) total += mean_of_chain(out, k, worst);
    for (int64_t k = 0; k < s->chains; k++) {
        double m = mean_of_chain(out, k, worst), rest = (total - m) / (double)(s->chains - 1);
        if (!(fabs(m - rest) > furthest)) continue;
        furthest = fabs(m - rest);
        odd = k;
        here = m;
        others = rest;
    }
    warn(out,
         "The chains have not come together (R-hat is up to %s for %.*s: chain %lld is "
         "around %s, the others around %s): these are not yet draws from one posterior. Use a "
         "longer --warmup and about --draws %lld (now %lld).",
         SGFSI_DIGITS(s->row[worst].r_hat, 3), (int)NAME, s->row[worst].name,
         (long long)out->used->chain[odd] + 1, SGFSI_DIGITS(here, 4), SGFSI_DIGITS(others, 4),
         (long long)draws_needed(out, s->ess_min), (long long)draws_now(out));
}

static void judge_rhat(list *out) {
    const sgfs_summary *s = out->summary;
    char names[TEXT];
    double agrees = sgfsi_rhat_agrees(s->chains);
    int64_t worst = 0, over = name_worst(s, rhat_badness, agrees, names);
    if (over == 0) return;
    for (int64_t i = 1; i < s->dim; i++)
        if (s->row[i].r_hat > s->row[worst].r_hat || isnan(s->row[worst].r_hat)) worst = i;
    if (s->row[worst].r_hat > SGFSI_RHAT_APART && s->chains > 1) {
        warn_apart(out, worst);
        return;
    }
    /* Twice the draws at least, more where ESS asks for more. */
    int64_t more = 2 * draws_now(out);
    if (s->ess_min > 0.0 && draws_needed(out, s->ess_min) > more)
        more = draws_needed(out, s->ess_min);
    warn(out,
         "R-hat is over %s for %lld of %lld parameters (up to %s; worst: %s): the chains %s. Use "
         "at least --draws %lld (now %lld), or a longer --warmup.",
         SGFSI_DIGITS(agrees, 4), (long long)over, (long long)s->dim,
         SGFSI_DIGITS(s->row[worst].r_hat, 4), names,
         s->row[worst].r_hat > SGFSI_RHAT_CARE ? "do not agree yet" : "agree only roughly",
         (long long)more, (long long)draws_now(out));
}

static void judge_ess(list *out) {
    const sgfs_summary *s = out->summary;
    char names[TEXT];
    double least = INFINITY;
    for (int64_t i = 0; i < s->dim; i++) least = fmin(least, -ess_badness(&s->row[i]));
    int64_t over = name_worst(s, ess_badness, -SGFSI_ESS_ENOUGH, names);
    if (over == 0) return;
    warn(out,
         "ESS is under %d for %lld of %lld parameters (down to %s; worst: %s). About --draws %lld "
         "would be enough (now %lld).",
         SGFSI_ESS_ENOUGH, (long long)over, (long long)s->dim, SGFSI_DIGITS(least, 3), names,
         (long long)draws_needed(out, least), (long long)draws_now(out));
}

/* ---- parameters that can change places ------------------------------------------------------- */

/* More draws bring no chain's hidden units into the order of another's: of these models only the
 * fit to the rows is judged, which does not change with their order. */
static void judge_density(list *out) {
    double rhat = sgfsi_fit_rhat(out->draws, out->used, out->arena);
    if (!(rhat > sgfsi_rhat_agrees(out->summary->chains))) return;
    warn(out,
         "R-hat of the fit to the rows is %s: some chains fit better than others, or have not "
         "settled. Use a longer --warmup, or more --draws (now %lld), and compare what the chains "
         "predict.",
         SGFSI_DIGITS(rhat, 3), (long long)draws_now(out));
}

/* ---- spread ---------------------------------------------------------------------------------- */

static double spread_badness(const sgfs_summary_row *row) {
    return fabs(sgfsi_spread_gap(row));
}

static void judge_spread(list *out) {
    const sgfs_summary *s = out->summary;
    char names[TEXT];
    double worst = 1;
    const sgfsi_json *header = out->draws->header;
    bool scored = sgfsi_json_get_text(header, "fisher", "")[0] != '\0';
    if (s->trajectories.known || sgfsi_json_get_flag(header, "exact"))
        return; /* accepted or rejected by the exact density: no bias to see */
    /* Chains that are apart have a wide spread in any case: that was said already. */
    double bound = SPREAD_MOST;
    for (int64_t i = 0; i < s->dim; i++)
        if (s->row[i].r_hat > SGFSI_RHAT_APART) bound = SPREAD_APART;
    int64_t over = name_worst(s, spread_badness, log(bound), names);
    if (over == 0 || sgfsi_json_get_flag(header, "optimiser"))
        return; /* an optimiser's caution says it all */
    for (int64_t i = 0; i < s->dim; i++) {
        double ratio = s->row[i].sd / s->row[i].sd_curvature;
        if (spread_badness(&s->row[i]) > fabs(log(worst))) worst = ratio;
    }
    warn(out,
         "The spread of %lld of %lld parameters is not what the curvature of the posterior at its "
         "mean predicts (%s times; worst: %s): the posterior is not close to Gaussian, or the step "
         "is too large for it%s. R-hat and ESS do not see that. Try %s; where the answer changes, "
         "believe the smaller steps (or --sampler nuts).",
         (long long)over, (long long)s->dim, SGFSI_DIGITS(worst, 3), names,
         scored ? ", or the data are noisier or quieter than the model says" : "",
         sgfsi_json_get_text(header, "smaller_steps", "smaller steps"));
}

const char *sgfsi_smaller_step(const sgfs_draws *d, double *now, double *next) {
    *now = sgfsi_draws_option(d, "sampler.epsilon", NAN);
    *next = *now / 2;
    if (!isnan(*now)) return "--epsilon";
    *now = sgfsi_draws_option(d, "sampler.target_accept", 0.8);
    *next = *now < 0.9 ? 0.95 : *now < 0.99 ? 0.99 : 0.999;
    return "--target-accept";
}

/* ---- trajectories ---------------------------------------------------------------------------- */

static void judge_trajectories(list *out) {
    const sgfs_summary *s = out->summary;
    const sgfs_trajectories *t = &s->trajectories;
    double total = (double)s->chains * (double)s->draws;
    if (!t->known) return;
    if (t->divergent > 0) {
        double now, next;
        const char *flag = sgfsi_smaller_step(out->draws, &now, &next);
        warn(out,
             "%.0f of %.0f draws come from trajectories that diverged: the step is too long for "
             "some part of the posterior, where draws may be missing. Smaller steps are made by "
             "%s %s (now %s); "
             "where divergences stay, --standardize or a stronger prior helps.",
             t->divergent, total, flag, SGFSI_DIGITS(next, 4), SGFSI_DIGITS(now, 4));
    }
    if (t->at_max_depth > DEEP_MOST * total)
        warn(out,
             "%.0f of %.0f draws have a tree of the maximum depth (%.0f): their trajectories were "
             "cut short, which biases nothing but makes slow draws. Use --max-depth %.0f, or help "
             "the metric: --metric dense, a longer --warmup, --standardize.",
             t->at_max_depth, total, t->max_depth, t->max_depth + 2);
    int64_t low = 0, worst = 0;
    for (int64_t c = 0; t->bfmi != NULL && c < s->chains; c++) {
        if (!(t->bfmi[c] < BFMI_LEAST)) continue;
        if (low++ == 0 || t->bfmi[c] < t->bfmi[worst]) worst = c;
    }
    if (low > 0)
        warn(out,
             "E-BFMI is under 0.3 in %lld of %lld chains (down to %s in chain %lld): the energy "
             "changes too little from draw to draw to reach the tails, so tail quantiles and sd "
             "may be off. Use more --draws and a longer --warmup; a posterior with such heavy "
             "tails wants --standardize or a stronger prior.",
             (long long)low, (long long)s->chains, SGFSI_DIGITS(t->bfmi[worst], 2),
             (long long)out->used->chain[worst] + 1);
}

void sgfsi_dispersion_say(double phi, char out[SGFSI_DISPERSION_TEXT]) {
    snprintf(out, SGFSI_DISPERSION_TEXT,
             "The counts vary %s times as much as Poisson counts (Pearson's statistic at the "
             "posterior mean): the draws are right for this model, but rows that scatter so say "
             "less than it believes, and honest standard deviations are about %s times as wide.",
             SGFSI_DIGITS(phi, 2), SGFSI_DIGITS(sqrt(phi), 2));
}

static void judge_counts(list *out) {
    char text[SGFSI_DISPERSION_TEXT];
    double phi = out->draws->chain[out->used->chain[0]].info.dispersion;
    if (!(phi > 0 && isfinite(phi))) return;
    sgfsi_dispersion_say(phi, text);
    warn(out, "%s", text);
}

static void judge_run(list *out) {
    const sgfs_summary *s = out->summary;
    if (s->chains < 2)
        warn(out, "There is only one chain: R-hat compares its two halves and cannot see whether "
                  "another start would end elsewhere. Run at least two chains, better four.");
    bool lowers =
        sgfsi_draws_stat(out->draws, SGFSI_STAT_NOISE) >= 0; /* its step follows the noise */
    if (s->interventions > 0.0 && lowers) {
        warn(out,
             "The step was lowered (or a ridge added) %.0f times, because the gradient's noise had "
             "grown. A larger batch or a smaller --step helps.",
             s->interventions);
    } else if (s->interventions > 0.0) {
        warn(out,
             "A ridge was added %.0f times to keep the matrix positive definite: the curvature is "
             "poorly known in some direction. A larger batch, a longer warm-up or a stronger prior "
             "helps.",
             s->interventions);
    }
}

sgfs_status sgfsi_advise(const sgfs_draws *d, const sgfsi_used *used, sgfs_summary *summary,
                         sgfsi_arena *arena, sgfs_err *err) {
    const sgfsi_json *cautions = sgfsi_json_get(d->header, "cautions");
    int64_t passed_on = sgfsi_json_length(cautions);
    passed_on = passed_on < 0 ? 0 : passed_on;
    list out = {.summary = summary, .draws = d, .used = used, .arena = arena};
    summary->warning = sgfsi_arena_alloc(arena, OWN_WARNINGS + passed_on, sizeof *summary->warning);
    if (summary->warning == NULL) return sgfsi_fail_memory(err, "the warnings");
    judge_state(&out, d, used);
    judge_numbers(&out);
    /* The model may say that its parameters have no meaning one by one (units of a network). */
    if (sgfsi_exchangeable(d)) {
        judge_density(&out);
    } else {
        judge_rhat(&out);
        judge_ess(&out);
        judge_spread(&out);
    }
    judge_trajectories(&out);
    judge_run(&out);
    judge_counts(&out);
    for (int64_t i = 0; i < passed_on; i++) {
        const char *text = sgfsi_json_as_text(sgfsi_json_at(cautions, i));
        if (text == NULL) continue;
        char *copy = sgfsi_arena_text(arena, text); /* as it is, however long */
        if (copy == NULL) out.full = true;
        else summary->warning[summary->warnings++] = copy;
    }
    return out.full || sgfsi_arena_failed(arena) ? sgfsi_fail_memory(err, "the warnings") : SGFS_OK;
}
