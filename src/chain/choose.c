/* SPDX-License-Identifier: MIT
 * choose.c: picks the sampler where the user names none, or asks for `exact`, and says in one line
 * what and why.
 *
 *     exact-linear   linear regression with a Gaussian prior: independent draws
 *     exact-rows     where a draw asks few of the rows
 *     exact-pairs    all rows in products of matrices, where whole proposals are accepted
 *     exact-hmc      all rows, chains in lock-step, where they are not
 *     nuts           where the posterior has no anchor, but may well have one mode; small networks
 *     sgfs-cv        approximate: where exact draws would take longer than ten minutes
 *     sgfs-f, -d     approximate: larger networks and models of the user's own; a regression only
 *                    where options are given that nothing else reads
 *
 * Of the exact ones the cheapest is taken, by the multiplications that an effective draw costs:
 *
 *     rows     tau (rows (3500 + 130 p) R + c)   tau and rows from a pilot (forecast.c)
 *     pairs    tau (N (D + 20 R) + c)            tau from a trial (posterior/hill.h)
 *     hmc      30 passes of two products         30: measured on tables that pairs fail on
 *
 * Neither rows nor pairs are taken where the posterior 5 sd out in some direction is far above the
 * Gaussian: a chain would stay in such a tail, and a run of few draws would not see it. Looking
 * costs a pass for 64 parameters and six of 16 places, next to an anchor that takes several with as
 * many products.
 *
 * Where counts or weights are so large (10^14 in all) that a sum over all rows is known to no tenth
 * of a nat, only rows are taken: their moves are decided by differences, row by row.
 *
 * R is the number of predictors a row has (classes of a softmax, else 1) and c = D^2 + 30,000. A
 * row that is drawn and asked by itself takes as long as a hundred that go through a product (0.2
 * to 0.5 us at p = 10 to 50, against 4 ns); 20 stands for its exponential, and 30,000 for the
 * microseconds that the rest of an iteration takes. 400 effective draws may take ten minutes at 20
 * GFLOP/s, a fixed rate: the same data and options give the same choice on any machine.
 *
 * What the user gave narrows the choice: a sampler that does not read --alpha is not chosen by
 * somebody who gave it. That is asked by trying: a candidate for which sgfsi_plan_fill makes no
 * plan is none.
 */
#include "chain/choose.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "chain/forecast.h"
#include "posterior/hill.h"

/* ---- numbers in sentences -------------------------------------------------------------------- */

/* "about 2,300", "less than 1": two digits, and no more than is known. */
static void roughly(double x, char *out, size_t room) {
    char number[SGFSI_NUM_CHARS];
    if (x < 0.95) {
        snprintf(out, room, "less than 1");
        return;
    }
    if (!(x < 1e15)) {
        snprintf(out, room, "far too many");
        return;
    }
    double unit = pow(10, fmax(0, floor(log10(x)) - 1));
    sgfsi_format_commas(number, round(x / unit) * unit);
    snprintf(out, room, "about %s", number);
}

/* ---- candidates ------------------------------------------------------------------------------ */

enum { LINEAR, ROWS, PAIRS, LOCKSTEP, TREES, CONTROL, SCORING, CANDIDATES };
enum { FIRST_APPROXIMATE = CONTROL };

static const double enough = 400;  /* effective draws */
#define MOST_WORK (600 * 20e9 / 2) /* multiplications in ten minutes */
/* With fewer of the trial accepted the weights have a tail that 64 pairs do not show. */
static const double least_accepted = 0.6;
/* Of the intercept's information, the sum of the rows' means or weights: an eta of 30 makes of it a
 * rounding of 0.3 in the log density. */
static const double most_rounding = 0.01;
static const double hmc_passes = 30, trees_passes = 300; /* for an effective draw */
/* A network's run is fitted into so much work (10 s); its least, 200 iterations of four chains with
 * 31 steps each, may be two minutes. */
static const double network_work = MOST_WORK / 60, network_least = 4 * 200 * 31;
static const double scoring_iterations = 8000; /* that make a full matrix, of all chains */

typedef struct field {
    sgfsi_plan *plan; /* gets what is found on the way */
    const sgfs_model *model;
    const sgfs_config *cfg;
    bool exact; /* nothing else is wanted */
    const char *name[CANDIDATES];
    bool usable[CANDIDATES];               /* by the model and the options that were given */
    const sgfs_option *unread[CANDIDATES]; /* the first that is not read; NULL: all are */
    sgfs_err err[CANDIDATES];              /* why not */
    const char *no_anchor;                 /* NULL: the model has one */
    bool memory;                           /* there was none to try a candidate with */
    bool heavy;                            /* tails that independent proposals would not reach */
    double cost[CANDIDATES]; /* multiplications for an effective draw; INFINITY: not known */
} field;

/* SGFS of the structure the user asks for, or of the one that fits. A full matrix costs
 * n D^2/2 + D^3/6 each time it is made; where a network would take minutes for that, the diagonal
 * is there in seconds. */
static const char *scoring_name(const sgfs_model *m, const sgfs_config *cfg) {
    if (sgfsi_config_given(cfg, "fisher.kind")) return "sgfs";
    double D = (double)m->D, n = fmin(m->data->total / 4, fmax(2000, 2 * D));
    double work = scoring_iterations * D * D * (n / 2 + D / 6);
    bool slow = m->kind->redundant && work > MOST_WORK / 5;
    return m->D <= SGFSI_MOST_DENSE && !slow ? "sgfs-f" : "sgfs-d";
}

/* Would a run with it be refused? Nothing is opened, nothing said. */
static void try_candidate(field *f, int i) {
    static const sgfsi_log silent = {NULL};
    int64_t first = 0;
    sgfsi_plan plan = {.cfg = f->cfg, .log = &silent};
    sgfs_status status = sgfsi_choose_kinds(f->cfg, f->name[i], &plan.kinds, &f->err[i]);
    if (status == SGFS_OK) {
        f->unread[i] = sgfsi_next_unread(f->cfg, f->model, &plan.kinds, &first);
        status = f->unread[i] == NULL
                     ? sgfsi_plan_fill(&plan, f->model, &f->err[i])
                     : sgfsi_unread_fail(&plan, f->model, f->unread[i], &f->err[i]);
    }
    f->usable[i] = status == SGFS_OK;
    if (status == SGFS_ENOMEM && plan.kinds.sampler->settings != NULL && plan.settings == NULL)
        f->memory = true;
    sgfsi_plan_free(&plan);
}

/* Did the user give an option of some sampler? NUTS shares names with others, who are meant. */
static bool tunes(const sgfs_config *cfg) {
    const sgfs_option *row;
    for (int64_t i = 0; (row = sgfsi_config_at(cfg, i)) != NULL; i++) {
        if (strncmp(row->key, "sampler.", 8) == 0 && sgfsi_config_given(cfg, row->key)) return true;
    }
    return false;
}

/* Multiplications of one place in a product over all rows. */
static double pass_cost(const sgfs_model *m) {
    double N = (double)m->data->N, D = (double)m->D, R = (double)m->block[0].rows;
    return N * (D + 20 * R) + D * D + 30000;
}

/* Rows that a GPU has, and sums over, come here one call at a time: all of them there are faster
 * than few of them here, unless they are very many. */
static bool are_far(const sgfs_model *m) {
    bool sums = m->kept != NULL || m->far_rows != NULL;
    return sgfsi_data_is_far(m->data) && sums && enough * pass_cost(m) <= MOST_WORK;
}

static field look_around(sgfsi_plan *plan, const sgfs_model *m, bool exact) {
    const sgfs_config *cfg = plan->cfg;
    field f = {.plan = plan,
               .model = m,
               .cfg = cfg,
               .exact = exact,
               .name = {"exact-linear", "exact-rows", "exact-pairs", "exact-hmc", "nuts", "sgfs-cv",
                        scoring_name(m, cfg)},
               .no_anchor = sgfsi_anchor_refuses(m)};
    for (int i = 0; i < CANDIDATES; i++) {
        f.cost[i] = INFINITY;
        if (exact && i >= FIRST_APPROXIMATE) continue;
        if (f.no_anchor != NULL && (i == ROWS || i == CONTROL)) continue;
        /* networks: chains that begin at one mode would agree, whatever others there are */
        if (m->kind->redundant && i != TREES && i != SCORING) continue;
        if (i == TREES && !exact && tunes(cfg)) continue;
        if (i == ROWS && are_far(m)) continue;
        try_candidate(&f, i);
    }
    return f;
}

/* Nobody takes what was given: an option that no candidate reads, or else what the last of them,
 * which takes every model, has against it. */
static sgfs_status refuse(const field *f, sgfs_err *err) {
    int last = f->exact ? TREES : SCORING;
    const sgfs_option *row = f->unread[last];
    char readers[200];
    if (row != NULL && strncmp(row->key, "sampler.", 8) != 0) row = NULL; /* no sampler's */
    for (int i = 0; i < CANDIDATES && row != NULL; i++) {
        const sgfsi_sampler_name *s = sgfsi_sampler_find(f->name[i]);
        if (s != NULL && sgfsi_options_have(s->kind->options, row->key))
            row = NULL; /* it is its other options that are in the way */
    }
    if (row == NULL) {
        *err = f->err[last];
        return err->code;
    }
    sgfsi_list_readers(f->cfg, row->key, readers, sizeof readers);
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "--%s is read by sampler %s only, which is not chosen by itself: name it with "
        "--sampler.",
        row->flag, readers);
}

/* ---- what they cost -------------------------------------------------------------------------- */

/* pass_cost of a network: a gradient, with an exponential for each unit and row. Scores that are no
 * product (drbm's) are made one by one, class by class. */
static double network_pass(const sgfs_model *m) {
    double N = (double)m->data->N, D = (double)m->D, units = 0, single = 0;
    for (int64_t k = 0; k < m->blocks; k++) {
        const sgfs_block *b = &m->block[k];
        if (b->form == SGFS_SCORE_DENSE) single += (double)(b->rows * b->cols);
        else units += (double)b->rows;
    }
    if (single > 1) single = 10 * single + 100 * (double)m->outputs;
    return 2 * (N * (D + 20 * units + single) + 20 * D + 15000);
}

/* Why there is no anchor, of all rows; SGFS_OK where it is in the plan. */
static sgfs_status find_anchor(const field *f, sgfsi_anchor_search how, sgfs_err *err) {
    sgfsi_plan *plan = f->plan;
    if (plan->anchor != NULL) return SGFS_OK;
    sgfsi_anchor *a = sgfsi_arena_alloc(&plan->found, 1, sizeof *a);
    if (a == NULL) return sgfsi_fail_memory(err, "the anchor");
    how.start = plan->pilot.start;
    how.pilot = plan->pilot.pilot;
    how.rows = plan->pilot.rows;
    sgfs_status status = sgfsi_anchor_find(a, f->model, &how, &plan->found, err);
    if (status == SGFS_OK) plan->anchor = a;
    plan->modes = a->modes;
    return status;
}

/* Forecast and trials, as far as they may matter. SGFS_ENUMERIC: there is no mode. */
static sgfs_status weigh(field *f, sgfsi_forecast *ahead, sgfs_err *err) {
    const sgfs_model *m = f->model;
    sgfsi_plan *plan = f->plan;
    double D = (double)m->D, p = (double)m->data->p, R = (double)m->block[0].rows;
    double one = pass_cost(m);
    const sgfsi_anchor_search how = {.tolerance = sgfsi_anchor_tolerance(f->cfg),
                                     .threads = sgfsi_context_threads(f->cfg),
                                     .start = plan->start};
    sgfs_status status = SGFS_OK;
    if (f->usable[ROWS]) {
        status = sgfsi_forecast_exact(m, &how, &plan->found, ahead, err);
        plan->anchor = ahead->anchor;
        plan->modes = ahead->modes;
        if (plan->start == NULL) plan->pilot = ahead->start;
        if (status == SGFS_OK)
            f->cost[ROWS] =
                fmin(ahead->tau, 1e30) * (ahead->rows * (3500 + 130 * p) * R + D * D + 30000);
        else if (status != SGFS_ENUMERIC || ahead->pilot == m->data->N) return status;
    }
    if (f->usable[LOCKSTEP]) f->cost[LOCKSTEP] = hmc_passes * 2 * one;
    if (f->usable[TREES]) f->cost[TREES] = trees_passes * 2 * one;
    if (f->usable[TREES] && m->kind->redundant) {
        f->cost[TREES] = 5 * network_least * network_pass(m) / enough;
        if (!f->exact) plan->passes = network_work / network_pass(m);
    }
    /* of many rows few will do; a trial would see them all */
    bool few = f->cost[ROWS] < one && plan->anchor == NULL;
    if (!few && (!f->usable[PAIRS] || enough * one > MOST_WORK)) return SGFS_OK;
    sgfsi_hill *h = sgfsi_arena_alloc(&plan->found, 1, sizeof *h);
    if (h == NULL) return sgfsi_fail_memory(err, "the proposals");
    if (f->no_anchor == NULL) status = find_anchor(f, how, err);
    if (status != SGFS_OK) return status;
    const sgfsi_anchor *a = plan->anchor;
    bool large = a != NULL && m->data->intercept && a->info[0] * DBL_EPSILON > most_rounding;
    if (large && isfinite(f->cost[ROWS])) {
        f->cost[LOCKSTEP] = f->cost[TREES] = INFINITY;
        return SGFS_OK;
    }
    if (few) status = sgfsi_hill_probe(h, m, plan->anchor, how.threads, &plan->found, err);
    else if (f->no_anchor == NULL)
        status = sgfsi_hill_open(h, m, plan->anchor, how.threads, &plan->found, err);
    else status = sgfsi_hill_find(h, m, how.threads, &plan->found, err);
    if (status == SGFS_ENUMERIC && f->no_anchor != NULL) return SGFS_OK; /* there are others */
    if (status != SGFS_OK) return status;
    f->heavy = sgfsi_hill_is_heavy(h);
    if (!few) plan->hill = h;
    if (h->accept >= least_accepted && !f->heavy) f->cost[PAIRS] = h->tau * one;
    /* its proposals are the same; still it is better than any approximation */
    if (f->heavy && enough * f->cost[LOCKSTEP] <= MOST_WORK) f->cost[ROWS] = INFINITY;
    return SGFS_OK;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Why not the sampler before it: an option it does not read. */
static bool tell_option(const field *f, int skipped, const char *name, sgfsi_choice *out) {
    if (f->usable[skipped] || f->err[skipped].code == SGFS_OK) return false;
    if (f->unread[skipped] != NULL) {
        snprintf(out->text, sizeof out->text, "Sampler %s, because %s does not read --%s.", name,
                 f->name[skipped], f->unread[skipped]->flag);
    } else {
        snprintf(out->text, sizeof out->text, "Sampler %s, because %.340s", name,
                 f->err[skipped].text); /* "--init has no meaning for ..." */
    }
    return true;
}

static void tell_exact(const field *f, int best, const sgfsi_forecast *ahead, sgfsi_choice *out) {
    char rows[80], all[SGFSI_NUM_CHARS];
    const char *name = f->name[best];
    const sgfsi_hill *h = f->plan->hill;
    sgfsi_format_commas(all, (double)f->model->data->N);
    if (best == ROWS) {
        roughly(ahead->rows, rows, sizeof rows);
        if (ahead->rows == 0) snprintf(rows, sizeof rows, "no");
        bool one = strcmp(rows, "less than 1") == 0 || strcmp(rows, "about 1") == 0;
        snprintf(out->text, sizeof out->text, "Sampler %s (%s row%s a draw of %s; no bias).%s",
                 name, rows, one ? "" : "s", all,
                 f->heavy ? " The posterior has heavy tails, which it may take long to reach: "
                            "compare with --sampler exact-hmc."
                          : "");
    } else if (best == PAIRS) {
        snprintf(out->text, sizeof out->text,
                 "Sampler %s (all %s rows, hundreds of proposals at once, %.0f %% accepted; no "
                 "bias).",
                 name, all, 100 * h->accept);
    } else if (f->heavy && (h == NULL || h->accept >= least_accepted)) {
        snprintf(out->text, sizeof out->text,
                 "Sampler %s (all %s rows; no bias), because the posterior has heavier tails than "
                 "independent proposals.",
                 name, all);
    } else if (h != NULL) {
        char share[32] = "less than 1";
        if (h->accept >= 0.01) snprintf(share, sizeof share, "about %.0f", 100 * h->accept);
        snprintf(out->text, sizeof out->text,
                 "Sampler %s (all %s rows; no bias), because %s %% of independent proposals would "
                 "be accepted.",
                 name, all, share);
    } else if (f->model->kind->redundant) {
        snprintf(out->text, sizeof out->text,
                 "Sampler %s (all %s rows; exact around the modes that its chains find, of which a "
                 "network has many).",
                 name, all);
    } else {
        snprintf(out->text, sizeof out->text, "Sampler %s (all %s rows; no bias).", name, all);
    }
}

/* "about 3 hours" */
static void tell_time(double work, char *out, size_t room) {
    double seconds = work / (MOST_WORK / 600);
    static const struct {
        double unit;
        const char *name;
    } units[] = {{86400 * 365.25, "years"}, {86400, "days"}, {3600, "hours"}, {60, "minutes"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (seconds < 2 * units[i].unit && i + 1 < sizeof units / sizeof units[0]) continue;
        char number[80];
        roughly(seconds / units[i].unit, number, sizeof number);
        snprintf(out, room, "%s %s", number, units[i].name);
        return;
    }
}

static sgfs_status pick(field *f, int *chosen, sgfsi_choice *out, sgfs_err *err) {
    sgfsi_forecast ahead = {.pilot = 0};
    int best = LINEAR;
    *chosen = LINEAR;
    if (f->usable[LINEAR]) {
        snprintf(out->text, sizeof out->text, "Sampler %s (independent draws; no bias).",
                 f->name[LINEAR]);
        return SGFS_OK;
    }
    sgfs_status status = weigh(f, &ahead, err);
    if (status != SGFS_OK && status != SGFS_ENUMERIC) return status;
    if (status == SGFS_ENUMERIC) { /* there is no mode */
        out->no_mode = true;
        snprintf(out->why, sizeof out->why, "%.399s", err->text);
        f->cost[ROWS] = f->cost[PAIRS] = INFINITY;
        if (f->usable[TREES]) f->cost[TREES] = fmin(f->cost[TREES], MOST_WORK / enough);
        f->usable[LOCKSTEP] = f->usable[CONTROL] = false;
        f->cost[LOCKSTEP] = INFINITY;
    }
    for (int i = 0; i < FIRST_APPROXIMATE; i++)
        if (f->cost[i] < f->cost[best] || (f->usable[i] && !f->usable[best])) best = i;
    *chosen = best;
    bool fits = enough * f->cost[best] <= MOST_WORK, any = f->usable[best];
    /* of a regression with thousands of parameters SGFS makes nothing in any time */
    bool scoring = f->usable[SCORING] && !(any && f->model->kind->regression);
    int other = f->usable[CONTROL] ? CONTROL : scoring ? SCORING : -1;
    if (any && (fits || other < 0)) {
        tell_exact(f, best, &ahead, out);
        char time[100];
        if (!fits && f->cost[best] < INFINITY) {
            tell_time(enough * f->cost[best], time, sizeof time);
            sgfsi_append(out->text, sizeof out->text,
                         " 400 effective draws may take %s; --max-time or --draws shorten it.",
                         time);
        }
        if (out->no_mode)
            snprintf(out->text, sizeof out->text, "Sampler %s: there is no anchor. %.340s",
                     f->name[best], out->why);
        if (f->plan->modes != NULL)
            sgfsi_append(out->text, sizeof out->text,
                         " Chains begin at one and the other by turns.");
        return SGFS_OK;
    }
    *chosen = other;
    if (other < 0) return refuse(f, err);
    const char *name = f->name[other];
    if (any) {
        char time[100];
        tell_time(enough * f->cost[best], time, sizeof time);
        snprintf(out->text, sizeof out->text,
                 "Sampler %s, which is approximate: 400 exact effective draws would take %s "
                 "(--sampler exact makes them).",
                 name, time);
    } else if (!tell_option(f, other == CONTROL ? PAIRS : CONTROL, name, out)) {
        if (f->no_anchor != NULL)
            snprintf(out->text, sizeof out->text, "Sampler %s: no anchor, because %s.", name,
                     f->no_anchor);
        else snprintf(out->text, sizeof out->text, "Sampler %s.", name);
    }
    return SGFS_OK;
}

/* Some parameter has no prior. Where the likelihood has no mode, or is flat in some direction,
 * there is then no posterior to draw from. */
static bool has_no_posterior(const sgfs_model *m) {
    for (int64_t j = 0; j < m->D; j++)
        if (m->precision[j] == 0) return true;
    return false;
}

static sgfs_status refuse_nothing(const char *why, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "There is nothing to draw from. %.400s (--sampler sgfs-f walks about all the "
                      "same.)",
                      why);
}

sgfs_status sgfsi_choose(sgfsi_plan *plan, const sgfs_model *model, sgfsi_choice *choice,
                         sgfs_err *err) {
    const sgfs_config *cfg = plan->cfg;
    sgfs_err own;
    const char *asked = sgfsi_config_text(cfg, "sampler.kind");
    bool exact = strcmp(asked, "exact") == 0;
    *choice = (sgfsi_choice){.automatic = exact || sgfsi_config_auto(cfg, "sampler.kind")};
    if (err == NULL) err = &own;
    if (model->data->elsewhere != NULL) { /* a sketch is made for one sampler */
        if (choice->automatic || strcmp(asked, "exact-rows") == 0)
            return sgfsi_choose_kinds(cfg, "exact-rows", &plan->kinds, err);
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: is a sketch, from which exact-rows can draw: leave out --sampler.",
                          model->data->path);
    }
    if (!choice->automatic) return sgfsi_choose_kinds(cfg, NULL, &plan->kinds, err);
    if (model->scales != NULL) {
        snprintf(choice->text, sizeof choice->text,
                 "Sampler groups (all rows; effects of groups are drawn with them; no bias).");
        sgfsi_say(plan->log, SGFS_NOTE, "%s", choice->text);
        return sgfsi_choose_kinds(cfg, "groups", &plan->kinds, err);
    }
    field f = look_around(plan, model, exact);
    if (f.memory) return sgfsi_fail_memory(err, "the plan");
    int chosen, usable = 0;
    for (int i = 0; i < CANDIDATES; i++) usable += f.usable[i];
    if (usable == 0) return refuse(&f, err);
    sgfs_status status = pick(&f, &chosen, choice, err);
    if (status != SGFS_OK) return status;
    if (choice->no_mode && has_no_posterior(model)) return refuse_nothing(choice->why, err);
    sgfsi_say(plan->log, SGFS_NOTE, "%s", choice->text);
    return sgfsi_choose_kinds(cfg, f.name[chosen], &plan->kinds, err);
}

/* ---- beginning anew -------------------------------------------------------------------------- */

sgfs_status sgfsi_choose_fallback(sgfsi_plan *plan, const sgfs_model *model,
                                  const sgfsi_setback *why, sgfsi_choice *choice, sgfs_err *err) {
    bool trees = model->kind->one_mode && enough * trees_passes * 2 * pass_cost(model) <= MOST_WORK;
    const char *name = trees || (why->no_mode && model->kind->regression) ? "nuts"
                       : model->kind->regression                          ? "exact-hmc"
                                                 : scoring_name(model, plan->cfg);
    const sgfs_option *row;
    int64_t next = 0;
    if (why->no_mode && has_no_posterior(model)) return refuse_nothing(why->text, err);
    sgfs_status status = sgfsi_choose_kinds(plan->cfg, name, &plan->kinds, err);
    if (status != SGFS_OK) return status;
    choice->no_mode = why->no_mode;
    snprintf(choice->fallback, sizeof choice->fallback, "The run began anew with sampler %s%s %s",
             name, why->no_mode ? ", because there is no anchor." : ":", why->text);
    while ((row = sgfsi_next_unread(plan->cfg, model, &plan->kinds, &next)) != NULL)
        sgfsi_append(choice->fallback, sizeof choice->fallback, " It does not read --%s.",
                     row->flag);
    choice->fallbacks++;
    if (choice->automatic)
        snprintf(choice->text, sizeof choice->text, "Sampler %s%s %.340s", name,
                 why->no_mode ? ": there is no anchor." : ":", why->text);
    sgfsi_say(plan->log, SGFS_NOTE, "%s", choice->fallback);
    return SGFS_OK;
}
