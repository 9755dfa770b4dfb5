/* SPDX-License-Identifier: MIT
 * report.c: runs as a page, or as one picture: what is shown, and where it goes.
 *
 * The first run is the one that the page is about; others of the same parameters stand beside it.
 * Its table has every parameter (the first 5,000). Pictures of single parameters are made of a few:
 * half of them those that mixed worst, half those that are furthest from 0 in their own standard
 * deviations. A page without gnuplot has everything but pictures.
 */
#include "jobs/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/scratch.h"
#include "diagnostics/summary.h"
#include "diagnostics/summary_rows.h"
#include "jobs/report/pictures.h"

enum { MOST_RUNS = 32, MOST_PAIRS = 4 };

static const sgfs_option options[] = {
    {"report.pictures", "pictures", SGFS_INTEGER, "6", 0, 100, NULL,
     "how many parameters have pictures: half of them the worst mixed, half the largest effects"},
    {"report.data", "test-data", SGFS_TEXT, "", 1, 0, NULL,
     "rows with known targets that were kept aside: calibration and error of the predictions"},
    SGFSI_OPTIONS_END};

/* ---- opening --------------------------------------------------------------------------------- */

static const char *format_of(const char *out, bool page) {
    static const char *const suffixes[] = {".svg", ".png", ".pdf"};
    size_t length = out != NULL ? strlen(out) : 0;
    if (page) return "html";
    if (out == NULL) return "text";
    for (size_t k = 0; k < 3; k++)
        if (length > 4 && strcmp(out + length - 4, suffixes[k]) == 0) return suffixes[k] + 1;
    return NULL;
}

static const sgfsi_picture_kind *find_kind(const char *name) {
    for (const sgfsi_picture_kind *const *k = sgfsi_pictures; *k != NULL; k++)
        if (strcmp((*k)->name, name) == 0) return *k;
    return NULL;
}

static sgfs_status unknown_kind(const char *name, sgfs_err *err) {
    char text[400] = "";
    for (const sgfsi_picture_kind *const *k = sgfsi_pictures; *k != NULL; k++)
        sgfsi_append(text, sizeof text, "%s%s", k == sgfsi_pictures ? "" : ", ", (*k)->name);
    return sgfsi_fail(err, SGFS_EUSAGE, "There is no picture \"%.40s\"; there are %s.", name, text);
}

static sgfs_status check_names(const sgfs_draws *a, const sgfs_draws *b, sgfs_err *err) {
    bool same = a->D == b->D;
    for (int64_t i = 0; same && i < a->D; i++) same = strcmp(a->param[i], b->param[i]) == 0;
    if (same) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "The runs have other parameters (%lld and %lld, the first \"%.60s\" and "
                      "\"%.60s\"): a report compares runs of one model on the same columns.",
                      (long long)a->D, (long long)b->D, a->param[0], b->param[0]);
}

static sgfs_status open_all(sgfsi_report *r, const sgfs_draws *const *draws, const char *kind,
                            const char *out, sgfs_err *err) {
    sgfsi_arena *arena = &r->job.arena;
    r->kind = kind != NULL ? find_kind(kind) : NULL;
    r->format = format_of(out, kind == NULL);
    if (kind != NULL && r->kind == NULL) return unknown_kind(kind, err);
    if (r->format == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%.300s: a picture ends in .svg, .png or .pdf (a page: sgfs report).",
                          out);
    if (r->runs > MOST_RUNS)
        return sgfsi_fail(err, SGFS_EUSAGE, "A report is of at most %d runs.", MOST_RUNS);
    if (out != NULL) {
        bool overwrite = sgfsi_config_flag(r->job.cfg, "output.overwrite");
        sgfs_status status = sgfsi_outfile_check(out, overwrite, err);
        if (status != SGFS_OK) return status;
        r->out = sgfsi_arena_text(arena, out);
    }
    r->run = sgfsi_arena_alloc(arena, r->runs, sizeof *r->run);
    if (r->run == NULL) return sgfsi_fail_memory(err, "the report");
    for (int64_t k = 0; k < r->runs; k++) {
        if (draws[k] == NULL) return sgfsi_fail_handle(err, "sgfs_report_open");
        r->run[k].draws = draws[k];
        sgfs_status status = sgfsi_used_of(draws[k], arena, &r->run[k].used, err);
        if (status == SGFS_OK) status = check_names(draws[0], draws[k], err);
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

sgfs_job *sgfs_report_open(const sgfs_draws *const *draws, int64_t runs, const char *kind,
                           const char *out, const sgfs_config *cfg, sgfs_err *err) {
    sgfs_err own = {SGFS_OK, ""};
    if (err == NULL) err = &own;
    bool given = draws != NULL && runs > 0 && draws[0] != NULL && (kind != NULL || out != NULL);
    sgfsi_report *r = sgfsi_job_new(
        &sgfsi_job_page, sizeof *r, given ? cfg : NULL,
        "sgfs_report_open: draws and a config are needed, and a file for a page.", err);
    if (r == NULL) return NULL;
    r->runs = runs;
    r->without = "";
    return sgfsi_job_opened(&r->job, open_all(r, draws, kind, out, err));
}

static void close_report(sgfs_job *job) {
    sgfsi_report *r = (sgfsi_report *)job;
    for (int64_t k = 0; r->run != NULL && k < r->runs; k++) sgfsi_summary_free(r->run[k].summary);
    for (int64_t i = 0; i < r->pictures; i++) {
        free(r->picture[i].script.bytes);
        free(r->picture[i].svg);
    }
    free(r->picture);
    free(r->drawn.bytes);
    sgfs_job_free(r->prediction);
}

/* ---- what the runs say ----------------------------------------------------------------------- */

/* The sampler alone, or with the file where several runs have the same one. */
static void name_runs(sgfsi_report *r) {
    for (int64_t k = 0; k < r->runs; k++)
        r->run[k].sampler = sgfsi_json_get_text(r->run[k].draws->header, "sampler", "sampler");
    for (int64_t k = 0; k < r->runs; k++) {
        int64_t same = 0, before = 0;
        for (int64_t j = 0; j < r->runs; j++) {
            bool equal = strcmp(r->run[j].sampler, r->run[k].sampler) == 0;
            same += equal;
            before += equal && j < k;
        }
        char text[300];
        const char *path = r->run[k].draws->path, *slash = path != NULL ? strrchr(path, '/') : NULL;
        if (slash != NULL) path = slash + 1;
        if (same == 1) snprintf(text, sizeof text, "%.100s", r->run[k].sampler);
        else if (path != NULL)
            snprintf(text, sizeof text, "%.100s (%.150s)", r->run[k].sampler, path);
        else
            snprintf(text, sizeof text, "%.100s (run %lld)", r->run[k].sampler,
                     (long long)(before + 1));
        r->run[k].label = sgfsi_arena_text(&r->job.arena, text);
    }
}

typedef struct effects {
    sgfsi_report *r;
    sgfsi_interval_kind kind;
} effects;

static void take_effect(void *user, int64_t i, sgfsi_trace *t) {
    const effects *e = user;
    int64_t n = t->chains * t->draws, below = 0;
    double *sorted = (double *)t->spare; /* twice the room, and not in use any more */
    sgfsi_trace_values(t, sorted);
    sgfsi_effect *out = &e->r->effect[i];
    out->own = sgfsi_interval_of(n, sorted, e->r->share, e->kind, false);
    out->ratio = sgfsi_interval_of(n, sorted, e->r->share, e->kind, true);
    while (below < n && sorted[below] <= 0) below++;
    out->above = 1 - (double)below / (double)n;
}

static sgfs_status summarise(sgfsi_report *r, sgfs_err *err) {
    sgfsi_arena *arena = &r->job.arena;
    sgfs_status status = SGFS_OK;
    for (int64_t k = 0; k < r->runs && status == SGFS_OK; k++) {
        sgfsi_report_run *run = &r->run[k];
        if (sgfsi_job_stopping(&r->job))
            return sgfsi_fail(err, SGFS_ESTOPPED, "Stopped early: nothing was written.");
        sgfsi_job_report(&r->job, 0.5 * (double)k / (double)r->runs, k, r->runs, "run %lld of %lld",
                         (long long)(k + 1), (long long)r->runs);
        run->summary = sgfsi_summary_new(run->draws, r->job.threads, err);
        status = run->summary != NULL
                     ? sgfsi_moments_of(run->draws, &run->used, run->draws->D <= SGFSI_REPORT_MOST,
                                        arena, &run->moments, err)
                     : sgfsi_why(err);
    }
    if (status != SGFS_OK) return status;
    name_runs(r);
    const sgfs_draws *d = r->run[0].draws;
    const sgfsi_used *used = &r->run[0].used;
    effects e = {.r = r};
    status = sgfsi_interval_read(sgfsi_config_text(r->job.cfg, "summary.interval"), &r->share,
                                 &e.kind, err);
    if (status != SGFS_OK) return status;
    r->interval_kind = e.kind;
    status = sgfsi_effects_read(d, &r->groups, arena, err);
    if (status != SGFS_OK) return status;
    r->interval = e.kind == SGFSI_HIGHEST_DENSITY ? "shortest interval" : "interval";
    r->ratio = sgfsi_ratio_name(d);
    r->effect = sgfsi_arena_alloc(arena, d->D, sizeof *r->effect);
    r->trace = sgfsi_trace_new(arena, used->chains, used->draws);
    r->sorted = SGFSI_DOUBLES(arena, used->chains * used->draws);
    r->column = sgfsi_arena_alloc(arena, used->chains, sizeof *r->column);
    r->loaded = -1;
    if (sgfsi_arena_failed(arena) || !sgfsi_trace_each(d, used, r->job.threads, take_effect, &e))
        return sgfsi_fail_memory(err, "the report");
    return SGFS_OK;
}

void sgfsi_report_load(sgfsi_report *r, int64_t param) {
    const sgfsi_report_run *run = &r->run[0];
    if (r->loaded == param) return;
    r->loaded = param;
    for (int64_t c = 0; c < run->used.chains; c++)
        r->column[c] = run->draws->chain[run->used.chain[c]].theta + param;
    sgfsi_trace_load(r->trace, r->column, run->draws->D);
    sgfsi_trace_values(r->trace, r->sorted);
}

/* ---- which parameters have pictures ---------------------------------------------------------- */

typedef struct candidate {
    int64_t at;
    double mixing, size; /* smaller is worse; larger is of more interest */
} candidate;

static int by_mixing(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    int order = (x->mixing > y->mixing) - (x->mixing < y->mixing);
    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static int by_interest(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    int order = (x->size < y->size) - (x->size > y->size);
    return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

static int by_place(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static sgfs_status choose_parameters(sgfsi_report *r, sgfs_err *err) {
    const sgfs_summary *s = r->run[0].summary;
    const char *params = sgfsi_config_text(r->job.cfg, "summary.params");
    int64_t D = s->dim, most = sgfsi_config_int(r->job.cfg, "report.pictures"), count = 0;
    bool named = r->named = params[0] != '\0';
    if (r->kind != NULL && !named) most = r->kind->of == SGFSI_OF_RUN ? 40 : 1;
    if (r->kind != NULL && named) most = 40;
    candidate *list = calloc((size_t)D + 1, sizeof *list);
    r->shown = sgfsi_arena_alloc(&r->job.arena, D, sizeof *r->shown);
    if (list == NULL || r->shown == NULL) {
        free(list);
        return sgfsi_fail_memory(err, "the report");
    }
    for (int64_t i = 0; i < D; i++) {
        const sgfs_summary_row *row = &s->row[i];
        double ess = fmin(row->ess_bulk, row->ess_tail), size = fabs(row->mean) / row->sd;
        if (!sgfsi_summary_wants(params, row->name)) continue;
        list[count++] = (candidate){
            .at = i, .mixing = isfinite(ess) ? ess : INFINITY, .size = isfinite(size) ? size : -1};
    }
    if (count == 0) {
        free(list);
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "No parameter has the name \"%.100s\"; `sgfs summary RUN` lists them.",
                          params);
    }
    most = most < count ? most : count;
    /* all of them, or the worst, and then the largest of the others */
    int64_t worst = r->kind != NULL ? 0 : most / 2;
    if (most < count) {
        qsort(list, (size_t)count, sizeof *list, by_mixing);
        qsort(list + worst, (size_t)(count - worst), sizeof *list, by_interest);
    }
    for (; r->show < most; r->show++) r->shown[r->show] = list[r->show].at;
    qsort(r->shown, (size_t)r->show, sizeof *r->shown, by_place);
    free(list);
    return SGFS_OK;
}

/* ---- pictures -------------------------------------------------------------------------------- */

static sgfs_status add_picture(sgfsi_report *r, const sgfsi_picture_kind *kind, int64_t param,
                               int64_t other, sgfs_err *err) {
    if (!sgfsi_grow(&r->picture, &r->pictures_room, r->pictures + 1, sizeof *r->picture))
        return sgfsi_fail_memory(err, "the pictures");
    sgfsi_picture *p = &r->picture[r->pictures++];
    *p = (sgfsi_picture){.kind = kind, .param = param, .other = other};
    const char *const *name = (const char *const *)r->run[0].draws->param;
    if (kind->of == SGFSI_OF_PARAMETER)
        snprintf(p->title, sizeof p->title, "%s: %.200s", kind->title, name[param]);
    else if (kind->of == SGFSI_OF_TERM && param >= 0)
        snprintf(p->title, sizeof p->title, "%s: %.110s, %.110s", kind->title,
                 r->groups.term[param].factor, r->groups.term[param].effect[other]);
    else if (other >= 0)
        snprintf(p->title, sizeof p->title, "%.110s and %.110s", name[param], name[other]);
    else snprintf(p->title, sizeof p->title, "%s", kind->title);
    FILE *f = sgfsi_io_memory(&p->script);
    if (f == NULL) return sgfsi_fail_memory(err, "a picture");
    p->absent = kind->draw(r, p, f);
    bool whole = !ferror(f) && !p->lacks_memory;
    return fclose(f) == 0 && whole ? SGFS_OK : sgfsi_fail_memory(err, "a picture");
}

typedef struct pair {
    int64_t i, j;
    double size;
} pair;

/* The pairs with the largest correlations, among all parameters or those shown. */
static int64_t find_pairs(const sgfsi_report *r, pair best[MOST_PAIRS]) {
    const sgfsi_moments *m = &r->run[0].moments;
    int64_t count = 0;
    const char *params = sgfsi_config_text(r->job.cfg, "summary.params");
    bool all = m->cov != NULL && (params[0] == '\0');
    for (int64_t a = 0; m->cov != NULL && a < (all ? m->D : r->show); a++) {
        for (int64_t b = 0; b < a; b++) {
            int64_t i = all ? b : r->shown[b], j = all ? a : r->shown[a];
            double size = fabs(m->cov[i * m->D + j]) / sqrt(m->var[i] * m->var[j]);
            if (!isfinite(size)) continue;
            int64_t at = count < MOST_PAIRS ? count++ : MOST_PAIRS;
            for (; at > 0 && best[at - 1].size < size; at--)
                if (at < MOST_PAIRS) best[at] = best[at - 1];
            if (at < MOST_PAIRS) best[at] = (pair){i, j, size};
        }
    }
    return count;
}

static sgfs_status add_kind(sgfsi_report *r, const sgfsi_picture_kind *kind, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    if (kind->of == SGFSI_OF_RUN) return add_picture(r, kind, -1, -1, err);
    if (kind->of == SGFSI_OF_TERM && r->groups.terms == 0 && r->kind != NULL)
        return add_picture(r, kind, -1, -1, err);
    for (int64_t k = 0; kind->of == SGFSI_OF_TERM && k < r->groups.terms; k++)
        for (int64_t j = 0; j < r->groups.term[k].q && status == SGFS_OK; j++)
            status = add_picture(r, kind, k, j, err);
    if (kind->of == SGFSI_OF_TERM) return status;
    if (kind->of == SGFSI_OF_PARAMETER) {
        for (int64_t k = 0; k < r->show && status == SGFS_OK; k++)
            status = add_picture(r, kind, r->shown[k], -1, err);
        return status;
    }
    pair best[MOST_PAIRS] = {{0, 0, 0}};
    int64_t pairs = find_pairs(r, best);
    if (pairs == 0) return add_picture(r, kind, -1, -1, err);
    for (int64_t k = 0; k < pairs && status == SGFS_OK; k++)
        status = add_picture(r, kind, best[k].i, best[k].j, err);
    return status;
}

static sgfs_status make_pictures(sgfsi_report *r, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    if (r->kind != NULL) {
        int64_t drawn = 0;
        status = add_kind(r, r->kind, err);
        for (int64_t i = 0; i < r->pictures; i++) drawn += r->picture[i].absent == NULL;
        if (status == SGFS_OK && drawn == 0)
            status = sgfsi_fail(err, SGFS_EUSAGE, "There is no picture \"%s\" of this run. %s",
                                r->kind->name, r->picture[0].absent);
    }
    for (const sgfsi_picture_kind *const *k = sgfsi_pictures;
         r->kind == NULL && *k != NULL && status == SGFS_OK; k++)
        status = add_kind(r, *k, err);
    if (status != SGFS_OK) return status;
    sgfsi_job_report(&r->job, 0.7, 0, r->pictures, "%lld pictures", (long long)r->pictures);
    sgfs_err why = {SGFS_OK, ""};
    status = sgfsi_plot_all(r, &why);
    if (status == SGFS_EUSAGE)
        snprintf(why.text, sizeof why.text,
                 "Pictures are drawn by gnuplot, which is not installed (on Debian: apt install "
                 "gnuplot-nox).");
    /* A page can do without gnuplot; a picture cannot. */
    if (status == SGFS_OK) return SGFS_OK;
    bool without = status == SGFS_EUSAGE || status == SGFS_EDATA;
    if (r->kind != NULL || !without)
        return sgfsi_fail(err, without ? SGFS_EIO : status, "%s", why.text);
    sgfsi_say(sgfsi_config_log(r->job.cfg), SGFS_WARNING, "%s The page has none.", why.text);
    r->without = sgfsi_arena_text(&r->job.arena, why.text);
    return r->without != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the report");
}

/* ---- the work -------------------------------------------------------------------------------- */

static sgfs_status predict(sgfsi_report *r, sgfs_err *err) {
    r->data = sgfsi_config_text(r->job.cfg, "report.data");
    bool wanted =
        r->kind == NULL || r->kind == &sgfsi_picture_calibration || r->kind == &sgfsi_picture_roc;
    if (r->data[0] == '\0' || !wanted) return SGFS_OK;
    r->prediction = sgfs_predict_open(r->run[0].draws, NULL, r->data, NULL, r->job.cfg, err);
    return r->prediction != NULL ? sgfs_job_run(r->prediction, err) : sgfsi_why(err);
}

static sgfs_status run(sgfs_job *job, sgfs_err *err) {
    sgfsi_report *r = (sgfsi_report *)job;
    sgfs_status status = summarise(r, err);
    if (status == SGFS_OK) status = choose_parameters(r, err);
    if (status == SGFS_OK) status = sgfsi_report_compare(r, err);
    if (status == SGFS_OK) status = predict(r, err);
    if (status == SGFS_OK) status = make_pictures(r, err);
    if (status == SGFS_OK && r->kind == NULL) status = sgfsi_report_page(r, err);
    if (status == SGFS_OK && sgfsi_job_stopping(job))
        status = sgfsi_fail(err, SGFS_ESTOPPED, "Stopped early: nothing was written.");
    if (status == SGFS_OK && r->out != NULL) {
        sgfsi_outfile file;
        bool overwrite = sgfsi_config_flag(job->cfg, "output.overwrite");
        status = sgfsi_outfile_open(&file, r->out, overwrite, true, err);
        if (status != SGFS_OK) return status;
        fwrite(r->drawn.bytes, 1, r->drawn.used, file.f);
        status = sgfsi_outfile_commit(&file, err);
    }
    if (status != SGFS_OK) return status;
    int64_t pictures = 0;
    for (int64_t i = 0; i < r->pictures; i++)
        pictures += r->picture[i].absent == NULL && (r->kind != NULL || r->picture[i].svg != NULL);
    r->result = (sgfs_report){.path = r->out != NULL ? r->out : "",
                              .text = r->out == NULL ? r->drawn.bytes : "",
                              .without = r->without,
                              .verdict = r->run[0].summary->verdict,
                              .pictures = pictures,
                              .parameters = r->show,
                              .bytes = (int64_t)r->drawn.used,
                              .seconds = sgfsi_job_seconds(job)};
    job->result = &r->result;
    return SGFS_OK;
}

static sgfsi_json *to_json(const sgfs_job *job) {
    const sgfsi_report *r = (const sgfsi_report *)job;
    const sgfs_report *result = &r->result;
    sgfsi_json *o = sgfsi_json_object();
    SGFSI_JSON(o, result, path, verdict, pictures, parameters, bytes, seconds);
    if (result->without[0] != '\0') sgfsi_json_text(o, "without", result->without);
    if (result->text[0] != '\0') sgfsi_json_text(o, "text", result->text);
    sgfsi_json *all = sgfsi_json_array_in(o, "drawn");
    for (int64_t i = 0; i < r->pictures; i++) {
        const sgfsi_picture *p = &r->picture[i];
        sgfsi_json *one = sgfsi_json_object_in(all, NULL);
        sgfsi_json_text(one, "kind", p->kind->name);
        sgfsi_json_text(one, "title", p->title);
        sgfsi_json_text(one, p->absent != NULL ? "absent" : "alt",
                        p->absent != NULL ? p->absent : p->alt);
    }
    return o;
}

const sgfsi_job_kind sgfsi_job_page = {.stage = "report",
                                       .options = options,
                                       .doing = "reporting",
                                       .run = run,
                                       .json = to_json,
                                       .close = close_report};
