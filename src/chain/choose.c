/* SPDX-License-Identifier: MIT
 * choose.c: picks the sampler where the user names none, and says in one line what and why.
 *
 *     exact     where its draws ask few rows: no bias, and nothing to set
 *     sgfs-cv   otherwise, where there is an anchor
 *     sgfs-f    otherwise; sgfs-d where a full matrix would be too large
 *
 * "Few" is a matter of what an effective draw costs, rows x tau by the forecast (forecast.c):
 *
 *     exact  when  rows x tau <= max(5000, 15 D),  or N <= 1000 and D <= 10
 *
 * Up to 5,000 rows for an effective draw, the 400 of a usual run take about a second on one core
 * (0.2 to 0.5 us a row at D = 10 to 50): where that is so, speed is no reason to accept a bias.
 * Beyond that exact draws may cost a few times as much as those of sgfs-cv, whose minibatch has
 * about 5 D rows, each scored twice, for one effective draw; a row that is asked by itself costs
 * about three that are scored together, so that 15 D rows are four or five minibatches. No clock is
 * looked at: the same data and options give the same choice on any machine.
 *
 * What the user gave narrows the choice: a sampler that does not read --alpha is not chosen by
 * somebody who gave it. That is asked by trying: a candidate for which sgfsi_plan_fill makes no
 * plan is none.
 */
#include "chain/choose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "chain/forecast.h"
#include "posterior/row_bounds.h"

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

enum { EXACT, CONTROL, SCORING, CANDIDATES };

typedef struct field {
    sgfsi_plan *plan; /* gets what is found on the way */
    const sgfs_model *model;
    const sgfs_config *cfg;
    const char *name[CANDIDATES];
    bool usable[CANDIDATES];               /* by the options that were given */
    const sgfs_option *unread[CANDIDATES]; /* the first that is not read; NULL: all are */
    sgfs_err err[CANDIDATES];              /* why not */
    const char *no_anchor;                 /* NULL: the model has one */
} field;

/* SGFS of the structure the user asks for, or of the one that fits. */
static const char *scoring_name(const sgfs_model *m, const sgfs_config *cfg) {
    if (sgfsi_config_given(cfg, "fisher.kind")) return "sgfs";
    return m->D <= SGFSI_MOST_DENSE ? "sgfs-f" : "sgfs-d";
}

/* Would a run with it be refused? Nothing is opened, nothing said. */
static void try_candidate(field *f, int i) {
    static const sgfsi_log silent = {NULL, NULL};
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
    sgfsi_plan_free(&plan);
}

static field look_around(sgfsi_plan *plan, const sgfs_model *m) {
    const sgfs_config *cfg = plan->cfg;
    field f = {.plan = plan,
               .model = m,
               .cfg = cfg,
               .name = {"exact", "sgfs-cv", scoring_name(m, cfg)},
               .no_anchor = sgfsi_anchor_refuses(m)};
    for (int i = 0; i < CANDIDATES; i++) {
        if (i == EXACT && sgfsi_row_bounds_refuses(m) != NULL) continue;
        if (i != SCORING && f.no_anchor != NULL) continue;
        try_candidate(&f, i);
    }
    return f;
}

/* Nobody takes what was given: an option that no candidate reads, or else what the last of them,
 * which takes every model, has against it. */
static sgfs_status refuse(const field *f, sgfs_err *err) {
    const sgfs_option *row = f->unread[SCORING];
    char readers[200];
    if (row != NULL && strncmp(row->key, "sampler.", 8) != 0) row = NULL; /* no sampler's */
    for (int i = 0; i < CANDIDATES && row != NULL; i++) {
        const sgfsi_sampler_name *s = sgfsi_sampler_find(f->name[i]);
        if (sgfsi_options_have(s->kind->options, row->key))
            row = NULL; /* it is its other options that are in the way */
    }
    if (row == NULL) {
        *err = f->err[SCORING];
        return err->code;
    }
    sgfsi_list_readers(f->cfg, row->key, readers, sizeof readers);
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "--%s is read by sampler %s only, which is not chosen by itself: name it with "
        "--sampler.",
        row->flag, readers);
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Where there are few rows and few parameters the forecast's tau, made for many of both, is far too
 * long; asking all of them costs next to nothing, and a Gaussian at the mode is worth least. */
static bool is_cheap(const sgfsi_forecast *f, const sgfs_model *m) {
    if (m->data->N <= 1000 && m->D <= 10) return true;
    return f->rows * f->tau <= fmax(5000, 15 * (double)m->D);
}

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

/* Exact or not, and the sentence. Where the pilot has no mode all rows may still have one. */
static int weigh(const field *f, sgfsi_choice *out) {
    sgfsi_forecast ahead;
    sgfs_err err;
    char rows[80], all[SGFSI_NUM_CHARS];
    const sgfsi_anchor_search how = {.tolerance =
                                         sgfsi_config_num(f->cfg, "sampler.anchor_tolerance"),
                                     .threads = sgfsi_context_threads(f->cfg)};
    if (sgfsi_row_bounds_refuses(f->model) != NULL) {
        snprintf(out->text, sizeof out->text,
                 "Sampler sgfs-cv, because model %.60s has no bounds for exact draws.",
                 f->model->kind->name);
        return CONTROL;
    }
    if (tell_option(f, EXACT, f->name[CONTROL], out)) return CONTROL;
    sgfs_status status = sgfsi_forecast_exact(f->model, &how, &f->plan->found, &ahead, &err);
    f->plan->anchor = ahead.anchor;
    f->plan->pilot = ahead.start;
    if (status == SGFS_OK && is_cheap(&ahead, f->model)) {
        roughly(ahead.rows, rows, sizeof rows);
        sgfsi_format_commas(all, (double)f->model->data->N);
        if (ahead.rows == 0) snprintf(rows, sizeof rows, "no");
        snprintf(out->text, sizeof out->text, "Sampler exact (%s row%s a draw of %s; no bias).",
                 rows, strcmp(rows, "less than 1") == 0 || strcmp(rows, "about 1") == 0 ? "" : "s",
                 all);
        return EXACT;
    }
    if (status == SGFS_OK) {
        roughly(ahead.rows * ahead.tau, rows, sizeof rows);
        snprintf(out->text, sizeof out->text,
                 "Sampler sgfs-cv, because exact draws would ask %s rows for each effective one.",
                 rows);
        return CONTROL;
    }
    if (ahead.pilot < f->model->data->N) {
        snprintf(out->text, sizeof out->text,
                 "Sampler sgfs-cv: a pilot on %lld rows could not say what exact draws would cost.",
                 (long long)ahead.pilot);
        return CONTROL;
    }
    snprintf(out->text, sizeof out->text, "Sampler %s: there is no anchor. %.340s",
             f->name[SCORING], err.text);
    snprintf(out->fallback, sizeof out->fallback, "%s", out->text);
    snprintf(out->why, sizeof out->why, "%.399s", err.text);
    out->fallbacks++;
    return SCORING;
}

static int pick(const field *f, sgfsi_choice *out) {
    if (f->no_anchor != NULL) {
        snprintf(out->text, sizeof out->text, "Sampler %s: no anchor, because %s.",
                 f->name[SCORING], f->no_anchor);
        return SCORING;
    }
    if (!f->usable[CONTROL] && !f->usable[EXACT]) {
        if (!tell_option(f, CONTROL, f->name[SCORING], out))
            snprintf(out->text, sizeof out->text, "Sampler %s.", f->name[SCORING]);
        return SCORING;
    }
    int best = weigh(f, out);
    if (f->usable[best]) return best;
    /* what is best does not read what was given */
    out->fallbacks = 0;
    out->fallback[0] = '\0';
    int other = f->usable[EXACT] ? EXACT : f->usable[CONTROL] ? CONTROL : SCORING;
    tell_option(f, best, f->name[other], out);
    return other;
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
    *choice = (sgfsi_choice){.automatic = sgfsi_config_auto(cfg, "sampler.kind")};
    if (err == NULL) err = &own;
    if (!choice->automatic) return sgfsi_choose_kinds(cfg, NULL, &plan->kinds, err);
    const field f = look_around(plan, model);
    if (!f.usable[EXACT] && !f.usable[CONTROL] && !f.usable[SCORING]) return refuse(&f, err);
    int chosen = pick(&f, choice);
    choice->no_mode = choice->fallbacks > 0;
    if (choice->no_mode && has_no_posterior(model)) return refuse_nothing(choice->why, err);
    sgfsi_say(plan->log, SGFS_NOTE, "%s", choice->text);
    return sgfsi_choose_kinds(cfg, f.name[chosen], &plan->kinds, err);
}

/* ---- beginning anew -------------------------------------------------------------------------- */

sgfs_status sgfsi_choose_fallback(sgfsi_plan *plan, const sgfs_model *model,
                                  const sgfsi_setback *why, sgfsi_choice *choice, sgfs_err *err) {
    const char *name = scoring_name(model, plan->cfg);
    const sgfs_option *row;
    int64_t next = 0;
    if (why->no_mode && has_no_posterior(model)) return refuse_nothing(why->text, err);
    sgfs_status status = sgfsi_choose_kinds(plan->cfg, name, &plan->kinds, err);
    if (status != SGFS_OK) return status;
    choice->no_mode = why->no_mode;
    snprintf(choice->fallback, sizeof choice->fallback, "The run began anew with sampler %s%s %s",
             name, why->no_mode ? ", because there is no anchor." : ":", why->text);
    while ((row = sgfsi_next_unread(plan->cfg, model, &plan->kinds, &next)) != NULL) {
        size_t used = strlen(choice->fallback);
        snprintf(choice->fallback + used, sizeof choice->fallback - used, " It does not read --%s.",
                 row->flag);
    }
    choice->fallbacks++;
    if (choice->automatic)
        snprintf(choice->text, sizeof choice->text, "Sampler %s%s %.340s", name,
                 why->no_mode ? ": there is no anchor." : ":", why->text);
    sgfsi_say(plan->log, SGFS_NOTE, "%s", choice->fallback);
    return SGFS_OK;
}
