/* SPDX-License-Identifier: MIT
 * page.c: the page of a report, from its verdict to its pictures.
 *
 * One file: styles, pictures and the little program that sorts and filters are in it, and a policy
 * in its head forbids the browser to fetch anything. Everything that comes from a file goes through
 * sgfsi_put_html. The page is complete without its program, and can be printed.
 */
#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "base/scratch.h"
#include "jobs/report/pictures.h"

enum { MOST_ROWS = 5000, PASTED = 4000 };

static void put(FILE *f, const char *text) {
    sgfsi_put_html(f, text);
}

static void put_number(FILE *f, double x, int digits) {
    if (isnan(x)) fputs("-", f);
    else if (isinf(x)) fputs(x > 0 ? "infinite" : "-infinite", f);
    else fputs(SGFSI_DIGITS(x, digits), f);
}

static void put_cell(FILE *f, double x, int digits) {
    fputs("<td>", f);
    put_number(f, x, digits);
}

static void put_fact(FILE *f, const char *name, const char *text) {
    if (text == NULL || text[0] == '\0') return;
    fprintf(f, "<dt>%s</dt><dd>", name);
    put(f, text);
    fputs("</dd>\n", f);
}

/* ---- what to type ---------------------------------------------------------------------------- */

/* Append " word"; false where it is no word for a shell, or there is no room. */
static bool add_word(char *out, const char *word) {
    char quoted[PASTED];
    size_t used = strlen(out);
    if (!sgfsi_shell_word(word, quoted, sizeof quoted)) return false;
    int n = snprintf(out + used, PASTED - used, " %s", quoted);
    return n > 0 && (size_t)n < PASTED - used;
}

static bool add_option(char *out, const char *flag, const char *value) {
    size_t used = strlen(out);
    bool off = strcmp(value, "false") == 0, on = strcmp(value, "true") == 0;
    int n = snprintf(out + used, PASTED - used, " --%s%s", off ? "no-" : "", flag);
    if (n <= 0 || (size_t)n >= PASTED - used) return false;
    return on || off || add_word(out, value);
}

/* The command that makes the run once more; "" where its data were in memory or cannot be named. */
static void write_command(const sgfsi_report *r, const sgfs_draws *d, char out[PASTED]) {
    const sgfsi_json *data = sgfsi_json_get(d->header, "data"), *value,
                     *files = sgfsi_json_get(data, "files"),
                     *given = sgfsi_json_get(d->header, "given");
    const char *path = sgfsi_json_get_text(data, "path", ""), *key;
    void *at = NULL;
    bool seed = false;
    strcpy(out, "sgfs sample");
    bool good = path[0] != '\0' && add_word(out, sgfsi_json_get_text(d->header, "model", ""));
    good = good && add_option(out, "data", files == NULL ? path : "");
    for (int64_t i = 0; good && i < sgfsi_json_length(files); i++) {
        const char *file = sgfsi_json_as_text(sgfsi_json_at(files, i));
        good = file != NULL && add_word(out, file);
    }
    while (good && given != NULL && (value = sgfsi_json_next(given, &at, &key)) != NULL) {
        const sgfs_option *row = sgfsi_config_row(r->job.cfg, key);
        const char *text = sgfsi_json_as_text(value);
        good = row != NULL && text != NULL && add_option(out, row->flag, text);
        seed = seed || strcmp(key, "run.seed") == 0;
    }
    char text[SGFSI_NUM_CHARS];
    snprintf(text, sizeof text, "%lld", (long long)sgfsi_json_get_int(d->header, "seed", 1));
    good = good && (seed || add_option(out, "seed", text));
    if (!good || !add_option(out, "out", "again.run")) out[0] = '\0';
}

/* A sentence of advice in which RUN stands for the file. */
static void put_next(const sgfsi_report_run *run, FILE *f) {
    char name[PASTED] = "RUN";
    const char *next = run->summary->next, *at = strstr(next, "RUN");
    if (run->draws->path != NULL) (void)sgfsi_shell_word(run->draws->path, name, sizeof name);
    fputs("<p>What to do next: <code>", f);
    if (at == NULL) {
        put(f, next);
    } else {
        char before[PASTED];
        snprintf(before, sizeof before, "%.*s", (int)(at - next), next);
        put(f, before);
        put(f, name);
        put(f, at + 3);
    }
    fputs("</code></p>\n", f);
}

/* ---- the head -------------------------------------------------------------------------------- */

static void put_head(const sgfsi_report *r, FILE *f) {
    const sgfs_draws *d = r->run[0].draws;
    const sgfsi_json *data = sgfsi_json_get(d->header, "data");
    const char *target = sgfsi_json_get_text(data, "target", ""),
               *model = sgfsi_json_get_text(d->header, "model", "");
    char title[400];
    snprintf(title, sizeof title, "%s%.150s%s%.100s", target[0] != '\0' ? "" : "A run of ",
             target[0] != '\0' ? target : model, target[0] != '\0' ? ": " : "",
             target[0] != '\0' ? model : "");
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n"
          "<meta name=\"generator\" content=\"sgfs " SGFS_VERSION_TEXT "\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          f);
    put(f, title);
    fputs("</title>\n<style>\n", f);
    for (const char *const *line = sgfsi_report_style; *line != NULL; line++) fputs(*line, f);
    for (const char *const *line = sgfsi_report_dark; *line != NULL; line++) fputs(*line, f);
    fputs("</style>\n</head>\n<body>\n<main>\n<header>\n<h1>", f);
    put(f, title);
    fputs("</h1>\n<p class=\"soft\">", f);
    put(f, r->run[0].summary->title);
    fputs("</p>\n</header>\n", f);
}

static const char *class_of(const sgfs_summary *s) {
    return s->grade == SGFS_GRADE_TRUST ? "good" : s->trust ? "care" : "bad";
}

static void put_tile(FILE *f, const char *name, double x, int digits, const char *unit) {
    fprintf(f, "<div><dt>%s</dt><dd>", name);
    if (digits == 0 || (fabs(x) >= 1000 && fabs(x) < 1e15))
        fputs(isfinite(x) ? SGFSI_COMMAS(rint(x)) : "-", f);
    else put_number(f, x, digits);
    fprintf(f, "%s</dd></div>\n", unit);
}

static void put_verdict(const sgfsi_report *r, FILE *f) {
    const sgfs_summary *s = r->run[0].summary;
    double r_hat = NAN, ess = NAN;
    for (int64_t i = 0; i < s->dim; i++) {
        r_hat = fmax(r_hat, s->row[i].r_hat);
        ess = fmin(ess, fmin(s->row[i].ess_bulk, s->row[i].ess_tail));
    }
    fprintf(f, "<section class=\"verdict %s\" id=\"verdict\">\n<p class=\"say\">", class_of(s));
    put(f, s->verdict);
    fputs("</p>\n", f);
    if (strcmp(s->state, "complete") != 0) {
        fputs("<p>The run is not complete (", f);
        put(f, s->state);
        fputs("): this page shows the draws it has.</p>\n", f);
    }
    if (s->audit.brief != NULL) {
        fputs("<p>An audit measured the sampler: ", f);
        put(f, s->audit.brief);
        fputs(".</p>\n", f);
    }
    if (s->next[0] != '\0') put_next(&r->run[0], f);
    fputs("</section>\n<dl class=\"tiles\">\n", f);
    put_tile(f, "Effective draws, at least", ess, 0, "");
    put_tile(f, "R-hat, at most", r_hat, 4, "");
    put_tile(f, "Draws kept", (double)(s->chains * s->draws), 0, "");
    put_tile(f, "Chain-seconds", s->seconds, 3, " s");
    put_tile(f, "Effective draws a second", s->ess_per_s, 3, "");
    fputs("</dl>\n<nav aria-label=\"Parts of this page\">", f);
    if (r->runs > 1) fputs("<a href=\"#samplers\">Samplers</a>", f);
    fputs("<a href=\"#effects-of\">Effects</a>", f);
    if (r->groups.terms > 0) fputs("<a href=\"#groups\">Groups</a>", f);
    fputs("<a href=\"#parameters\">Pictures</a>", f);
    if (r->prediction != NULL || s->points > 0)
        fputs("<a href=\"#predictions\">Predictions</a>", f);
    fputs("<a href=\"#sampling\">Sampling</a><a href=\"#run\">What was run</a></nav>\n", f);
    if (r->without[0] != '\0') {
        fputs("<p class=\"verdict care\">This page has no pictures. ", f);
        put(f, r->without);
        fputs("</p>\n", f);
    }
    if (s->warnings == 0) return;
    fprintf(f, "<details%s><summary>%lld remark%s on this run</summary>\n<ul>\n",
            s->warnings <= 4 ? " open" : "", (long long)s->warnings, s->warnings == 1 ? "" : "s");
    for (int64_t i = 0; i < s->warnings; i++) {
        fputs("<li>", f);
        put(f, s->warning[i]);
    }
    fputs("</ul>\n</details>\n", f);
}

/* ---- what was run ---------------------------------------------------------------------------- */

static void put_run(const sgfsi_report *r, FILE *f) {
    const sgfs_draws *d = r->run[0].draws;
    const sgfs_summary *s = r->run[0].summary;
    const sgfsi_json *h = d->header, *data = sgfsi_json_get(h, "data"),
                     *config = sgfsi_json_get(h, "config"), *machine = sgfsi_json_get(h, "machine");
    const sgfsi_json *features = sgfsi_json_get(data, "features");
    char text[PASTED], command[PASTED];
    fputs("<section>\n<h2 id=\"run\">What was run</h2>\n<dl class=\"facts\">\n", f);
    const char *path = sgfsi_json_get_text(data, "path", "");
    snprintf(text, sizeof text, "%.2000s%s%s rows, %lld columns", path, path[0] != '\0' ? ", " : "",
             SGFSI_COMMAS((double)sgfsi_json_get_int(h, "rows", 0)),
             (long long)(features != NULL ? sgfsi_json_length(features) : 0));
    put_fact(f, "Data", text);
    put_fact(f, "Target", sgfsi_json_get_text(data, "target", ""));
    snprintf(text, sizeof text, "%.200s, %lld parameters", sgfsi_json_get_text(h, "model", "?"),
             (long long)d->D);
    put_fact(f, "Model", text);
    const char *prior = sgfsi_json_get_text(config, "prior.kind", "");
    put_fact(f, "Prior", prior);
    const char *chosen = s->chosen;
    snprintf(text, sizeof text, "%.100s%s%.600s", r->run[0].sampler, chosen[0] != '\0' ? ". " : "",
             chosen);
    put_fact(f, "Sampler", text);
    snprintf(text, sizeof text, "%lld of %s draws each after %s iterations of warm-up%s",
             (long long)s->chains, SGFSI_COMMAS((double)s->draws),
             SGFSI_COMMAS((double)sgfsi_json_get_int(h, "warmup", 0)),
             d->thin > 1 ? ", thinned" : "");
    put_fact(f, "Chains", text);
    snprintf(text, sizeof text, "%lld", (long long)sgfsi_json_get_int(h, "seed", 1));
    put_fact(f, "Seed", text);
    snprintf(text, sizeof text, "%.100s%s%.100s, %lld thread%s",
             sgfsi_json_get_text(machine, "device", "?"),
             sgfsi_json_get_text(machine, "blas_core", "")[0] != '\0' ? ", " : "",
             sgfsi_json_get_text(machine, "blas_core", ""),
             (long long)sgfsi_json_get_int(machine, "threads", 1),
             sgfsi_json_get_int(machine, "threads", 1) == 1 ? "" : "s");
    put_fact(f, "Machine", text);
    snprintf(text, sizeof text, "sgfs %.40s, %.40s", sgfsi_json_get_text(h, "sgfs_version", "?"),
             sgfsi_json_get_text(h, "created_at", "?"));
    put_fact(f, "Made by", text);
    put_fact(f, "Run file", d->path);
    fputs("</dl>\n", f);
    write_command(r, d, command);
    if (command[0] != '\0') {
        fputs("<p>The same draws again:</p>\n<pre>", f);
        put(f, command);
        fputs("</pre>\n", f);
    } else {
        fputs("<p>The rows were handed over by a program, so there is no command that repeats the "
              "run.</p>\n",
              f);
    }
    fputs("</section>\n", f);
}

/* ---- effects --------------------------------------------------------------------------------- */

static void put_interval(FILE *f, const sgfsi_interval *i, int digits) {
    fputs("<td>", f);
    put_number(f, i->low, digits);
    fputs(" &hellip; ", f);
    put_number(f, i->high, digits);
}

static void put_heads(FILE *f, int64_t n, const char *const *head) {
    fputs("<thead><tr>", f);
    for (int64_t k = 0; k < n; k++) {
        if (head[k][0] == '\0') continue;
        fputs("<th scope=\"col\"><button type=\"button\">", f);
        put(f, head[k]);
        fputs("</button></th>", f);
    }
    fputs("</tr></thead>\n<tbody>\n", f);
}

static void put_effects(const sgfsi_report *r, FILE *f) {
    const sgfs_summary *s = r->run[0].summary;
    int64_t shown = s->dim < MOST_ROWS ? s->dim : MOST_ROWS;
    char interval[64], of_ratio[80] = "", ratio[64] = "";
    snprintf(interval, sizeof interval, "%s %% %s", SGFSI_DIGITS(100 * r->share, 4), r->interval);
    if (r->ratio != NULL) {
        snprintf(ratio, sizeof ratio, "%s", r->ratio);
        snprintf(of_ratio, sizeof of_ratio, "its %s", interval);
    }
    fputs("<section>\n<h2 id=\"effects-of\">Effects</h2>\n<p class=\"soft\">On the scale of the "
          "columns as they were given to the model",
          f);
    if (r->ratio != NULL)
        fprintf(
            f,
            "; one unit more of a column multiplies the %s by the %s, whose median and interval "
            "stand beside the coefficient (on a narrow screen in its place)",
            strcmp(r->ratio, "rate ratio") == 0 ? "rate" : "odds", r->ratio);
    fputs(". Click on a head to sort.</p>\n<div class=\"find\"><label for=\"filter\">Show "
          "names with</label><input id=\"filter\" type=\"search\" autocomplete=\"off\" "
          "spellcheck=\"false\"><span id=\"count\" class=\"soft\" role=\"status\"></span></div>\n"
          "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Effects\">\n<table "
          "class=\"sorts",
          f);
    fprintf(f, "%s\" id=\"effects\">\n", r->ratio != NULL ? " ratios" : "");
    put_heads(f, 9,
              (const char *const[]){"parameter", "mean", "sd", interval, ratio, of_ratio, "above 0",
                                    "ESS", "R-hat"});
    for (int64_t i = 0; i < shown; i++) {
        const sgfs_summary_row *row = &s->row[i];
        const sgfsi_effect *e = &r->effect[i];
        fputs("<tr><th scope=\"row\"", f);
        if (strlen(row->name) > 24) fputs(" title=\"", f), put(f, row->name), fputc('"', f);
        fputc('>', f);
        put(f, row->name);
        put_cell(f, row->mean, 4);
        put_cell(f, row->sd, 3);
        put_interval(f, &e->own, 4);
        if (r->ratio != NULL) {
            int digits = sgfsi_ratio_digits(e->ratio.low, e->ratio.high, 4);
            put_cell(f, e->ratio.centre, digits);
            put_interval(f, &e->ratio, digits);
        }
        fputs("<td>", f);
        if (isfinite(e->above)) fprintf(f, "%s %%", SGFSI_DIGITS(100 * e->above, 3));
        put_cell(f, rint(fmin(row->ess_bulk, row->ess_tail)), 6);
        put_cell(f, row->r_hat, 4);
        fputc('\n', f);
    }
    fputs("</tbody></table>\n</div>\n", f);
    const char *const said[] = {s->compared, s->units};
    for (int k = 0; k < 2; k++)
        if (said[k][0] != '\0') fputs("<p class=\"soft\">", f), put(f, said[k]), fputs("</p>\n", f);
    char text[300];
    for (int64_t i = 0; i < shown && r->ratio != NULL; i++) {
        const sgfsi_interval *e = &r->effect[i].ratio;
        if (sgfsi_small_ratio(s->row[i].name, r->ratio, e->low, e->centre, e->high, text,
                              sizeof text))
            fputs("<p class=\"soft\">", f), put(f, text), fputs("</p>\n", f);
    }
    if (shown < s->dim)
        fprintf(f, "<p class=\"soft\">The first %s of %s parameters; sgfs summary lists all.</p>\n",
                SGFSI_COMMAS((double)shown), SGFSI_COMMAS((double)s->dim));
    fputs("</section>\n", f);
}

/* ---- pictures -------------------------------------------------------------------------------- */

static void put_figure(const sgfsi_picture *p, const char *caption, FILE *f) {
    if (p->svg == NULL) return;
    fprintf(f, "<figure class=\"%s%s\"><figcaption><b>", p->kind->name,
            p->kind->wide ? " wide" : "");
    put(f, caption);
    fputs("</b></figcaption>", f);
    fputs(p->svg, f);
    fputs("</figure>\n", f);
}

static void put_notes(const sgfsi_report *r, sgfsi_picture_of of, FILE *f) {
    if (r->without[0] != '\0') return;
    fputs("<details><summary>How to read these pictures</summary>\n<ul>\n", f);
    for (const sgfsi_picture_kind *const *k = sgfsi_pictures; *k != NULL; k++) {
        if ((*k)->of != of) continue;
        fprintf(f, "<li><b>%s.</b> ", (*k)->title);
        put(f, (*k)->note);
    }
    fputs("</ul>\n</details>\n", f);
}

/* All pictures of one kind in a grid of their own. Returns how many there are. */
static int64_t put_kind(const sgfsi_report *r, const sgfsi_picture_kind *kind, FILE *f) {
    int64_t count = 0;
    for (int64_t i = 0; i < r->pictures; i++) {
        const sgfsi_picture *p = &r->picture[i];
        if (p->kind != kind) continue;
        if (p->svg != NULL) put_figure(p, p->title, f), count++;
        else if (p->absent != NULL) {
            fprintf(f, "<p class=\"soft\">%s: ", kind->title);
            put(f, p->absent);
            fputs("</p>\n", f);
        }
    }
    return count;
}

/* Has a parameter any picture? Those of a single draw are none. */
static bool is_drawn(const sgfsi_report *r, int64_t param) {
    bool any = false;
    for (int64_t i = 0; i < r->pictures; i++) {
        const sgfsi_picture *p = &r->picture[i];
        any = any || (p->kind->of == SGFSI_OF_PARAMETER && p->param == param && p->svg != NULL);
    }
    return any;
}

static void put_parameters(const sgfsi_report *r, FILE *f) {
    const sgfs_summary *s = r->run[0].summary;
    fputs("<section>\n<h2 id=\"parameters\">Pictures of parameters</h2>\n", f);
    if (r->without[0] == '\0' && r->show < s->dim)
        fprintf(
            f,
            "<p class=\"soft\">%lld of %s parameters: those that mixed worst, and those furthest "
            "from 0 in their own standard deviations (--pictures, --params show others).</p>\n",
            (long long)r->show, SGFSI_COMMAS((double)s->dim));
    fputs("<div class=\"grid\">\n", f);
    put_kind(r, &sgfsi_picture_forest, f);
    fputs("</div>\n", f);
    put_notes(r, SGFSI_OF_PARAMETER, f);
    for (int64_t k = 0; k < r->show && r->without[0] == '\0'; k++) {
        const sgfs_summary_row *row = &s->row[r->shown[k]];
        if (!is_drawn(r, r->shown[k])) continue;
        fputs("<section data-name=\"", f);
        put(f, row->name);
        fputs("\">\n<h3>", f);
        put(f, row->name);
        fputs("</h3>\n<div class=\"grid\">\n", f);
        for (int64_t i = 0; i < r->pictures; i++)
            if (r->picture[i].kind->of == SGFSI_OF_PARAMETER && r->picture[i].param == r->shown[k])
                put_figure(&r->picture[i], r->picture[i].kind->title, f);
        fputs("</div>\n</section>\n", f);
    }
    fputs("<h3>Pairs, and all parameters together</h3>\n<div class=\"grid\">\n", f);
    put_kind(r, &sgfsi_picture_pairs, f);
    put_kind(r, &sgfsi_picture_spectrum, f);
    fputs("</div>\n", f);
    put_notes(r, SGFSI_OF_PAIR, f);
    fputs("</section>\n", f);
}

static void put_groups(const sgfsi_report *r, FILE *f) {
    if (r->groups.terms == 0) return;
    fputs("<section>\n<h2 id=\"groups\">Groups</h2>\n<p class=\"soft\">", f);
    for (int64_t k = 0; k < r->groups.terms; k++) {
        const sgfsi_effects_term *t = &r->groups.term[k];
        fprintf(f, "%s%s groups of ", k > 0 ? ", " : "", SGFSI_COMMAS((double)t->G));
        put(f, t->factor);
    }
    fputs(". sgfs summary RUN --groups NAME lists them with their numbers.</p>\n<div "
          "class=\"grid\">\n",
          f);
    put_kind(r, &sgfsi_picture_groups, f);
    put_kind(r, &sgfsi_picture_shrinkage, f);
    fputs("</div>\n", f);
    put_notes(r, SGFSI_OF_TERM, f);
    fputs("</section>\n", f);
}

static void put_sampling(const sgfsi_report *r, FILE *f) {
    const sgfs_draws *d = r->run[0].draws;
    const sgfs_summary *s = r->run[0].summary;
    double warm = s->seconds - s->sample_seconds;
    fputs("<section>\n<h2 id=\"sampling\">How the sampling went</h2>\n<p>", f);
    fprintf(
        f,
        "Warm-up took %s iterations and %s s of all chains together, sampling %s s; %s rows were "
        "looked at.",
        SGFSI_COMMAS((double)sgfsi_json_get_int(d->header, "warmup", 0)), SGFSI_DIGITS(warm, 3),
        SGFSI_DIGITS(s->sample_seconds, 3),
        SGFSI_COMMAS(s->rows_touched < 1e18 ? floor(s->rows_touched) : 0));
    if (s->disk_bytes > 0) {
        char bytes[24];
        fprintf(f, " Of that %s s were spent waiting for %s of the file.",
                SGFSI_DIGITS(s->disk_wait, 3), sgfsi_format_bytes(s->disk_bytes, bytes));
    }
    fputs("</p>\n<div class=\"grid\">\n", f);
    put_kind(r, &sgfsi_picture_time, f);
    put_kind(r, &sgfsi_picture_steps, f);
    put_kind(r, &sgfsi_picture_interventions, f);
    fputs("</div>\n</section>\n", f);
}

/* ---- predictions ----------------------------------------------------------------------------- */

static void put_predictions(const sgfsi_report *r, FILE *f) {
    const sgfs_summary *s = r->run[0].summary;
    const sgfs_prediction *q = r->prediction != NULL ? sgfs_job_result(r->prediction) : NULL;
    if (q == NULL && s->points == 0) return;
    fputs("<section>\n<h2 id=\"predictions\">Predictions</h2>\n", f);
    if (q != NULL) {
        fputs("<p>Of ", f);
        put(f, r->data);
        fprintf(f, ": %s rows, averaged over %s draws.</p>\n", SGFSI_COMMAS((double)q->rows),
                SGFSI_COMMAS((double)q->draws));
    }
    if (q != NULL && q->scored) {
        fputs("<dl class=\"tiles\">\n", f);
        put_tile(f, "Log loss, nats a row", q->log_loss, 4, "");
        if (q->labels > 0) {
            put_tile(f, "Error rate", 100 * q->error, 3, " %");
            put_tile(f, "Brier score", q->brier, 4, "");
            if (isfinite(q->auc)) put_tile(f, "Area under the ROC", q->auc, 4, "");
            put_tile(f, "Calibration error", q->ece, 3, "");
        } else {
            put_tile(f, "Root mean square error", q->rmse, 4, "");
            if (q->intervals) put_tile(f, "In the 90 % interval", 100 * q->coverage, 3, " %");
        }
        fputs("</dl>\n", f);
    }
    fputs("<div class=\"grid\">\n", f);
    if (s->points > 0) put_kind(r, &sgfsi_picture_validation, f);
    if (q != NULL) put_kind(r, &sgfsi_picture_calibration, f);
    if (q != NULL) put_kind(r, &sgfsi_picture_roc, f);
    fputs("</div>\n</section>\n", f);
}

/* ---- several runs ---------------------------------------------------------------------------- */

static void put_samplers(const sgfsi_report *r, FILE *f) {
    if (r->runs == 1 && !r->has_reference) return;
    fputs("<section>\n<h2 id=\"samplers\">Samplers</h2>\n<p class=\"soft\">", f);
    if (r->has_reference) {
        fputs("Errors are measured from ", f);
        put(f, r->reference_name);
        fputs(
            ": E1 is the relative error of all means, E2 that of all covariances, bias the largest "
            "difference of a mean in standard deviations. ",
            f);
    }
    fputs("What stands below this table is about the first run.</p>\n<div class=\"scroll\" "
          "tabindex=\"0\" role=\"region\" aria-label=\"Samplers\">\n<table class=\"sorts\">\n",
          f);
    put_heads(f, 10,
              (const char *const[]){"run", "ESS", "ESS a second", "R-hat", "warm-up, s",
                                    "sampling, s", "E1", "E2", "bias, sd", "trust"});
    for (int64_t k = 0; k < r->runs; k++) {
        const sgfsi_report_run *run = &r->run[k];
        double r_hat = NAN;
        for (int64_t i = 0; i < run->summary->dim; i++)
            r_hat = fmax(r_hat, run->summary->row[i].r_hat);
        fputs("<tr><th scope=\"row\">", f);
        put(f, run->label);
        put_cell(f, floor(run->summary->ess_min), 6);
        put_cell(f, run->summary->ess_per_s, 3);
        put_cell(f, r_hat, 4);
        put_cell(f, run->summary->seconds - run->summary->sample_seconds, 3);
        put_cell(f, run->summary->sample_seconds, 3);
        if (run->is_reference) {
            fputs("<td>reference<td>reference<td>reference", f);
        } else {
            put_cell(f, run->E1, 2);
            put_cell(f, run->E2, 2);
            put_cell(f, run->bias, 2);
        }
        fprintf(f, "<td>%s\n",
                run->summary->grade == SGFS_GRADE_TRUST ? "yes"
                : run->summary->trust                   ? "with care"
                                                        : "no");
    }
    fputs("</tbody></table>\n</div>\n<div class=\"grid\" style=\"margin-top:14px\">\n", f);
    put_kind(r, &sgfsi_picture_error, f);
    fputs("</div>\n</section>\n", f);
}

sgfs_status sgfsi_report_page(sgfsi_report *r, sgfs_err *err) {
    FILE *f = sgfsi_io_memory(&r->drawn);
    if (f == NULL) return sgfsi_fail_memory(err, "the page");
    put_head(r, f);
    put_verdict(r, f);
    put_samplers(r, f);
    put_effects(r, f);
    put_groups(r, f);
    put_parameters(r, f);
    put_predictions(r, f);
    put_sampling(r, f);
    put_run(r, f);
    fputs("<footer><p>Made by sgfs " SGFS_VERSION_TEXT
          " (sgfs report). Traces and points are thinned "
          "for the eye, always to the same ones; every number is of all draws.</p></footer>\n"
          "</main>\n<script>\n",
          f);
    for (const char *const *line = sgfsi_report_code; *line != NULL; line++) fputs(*line, f);
    fputs("</script>\n</body>\n</html>\n", f);
    bool whole = !ferror(f);
    return fclose(f) == 0 && whole ? SGFS_OK : sgfsi_fail_memory(err, "the page");
}
