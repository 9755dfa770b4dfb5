/* SPDX-License-Identifier: MIT
 * summary_rows.c: the last step of a summary: which rows are reported, in what order and with which
 * interval. Everything that judges the run (trust.c, advice.c) has seen all rows before.
 */
#include "diagnostics/summary_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnostics/interval.h"

const sgfs_option sgfsi_summary_options[] = {
    {"summary.odds", "odds", SGFS_FLAG, "false", 1, 0, NULL,
     "odds ratios (logistic, softmax) or rate ratios (poisson) beside the coefficients"},
    {"summary.interval", "interval", SGFS_TEXT, "", 1, 0, NULL,
     "share of the draws in the interval: 0.95; hdi for the shortest such: 0.95,hdi (0.9)"},
    {"summary.params", "params", SGFS_TEXT, "", 1, 0, NULL,
     "only these parameters: names or patterns in quotes, 'age,city*'"},
    {"summary.sort", "sort", SGFS_CHOICE, "none", 1, 0, "none|effect|name|r_hat",
     "order of the rows: largest coefficient first, by name, or worst R-hat first"},
    {"summary.groups", "groups", SGFS_TEXT, "", 1, 0, NULL,
     "the effects of a factor's groups in place of the parameters, largest first: user"},
    {"summary.top", "top", SGFS_INTEGER, "20", 1, 1e9, NULL, "how many of them"},
    SGFSI_OPTIONS_END};

/* ---- which rows, in what order --------------------------------------------------------------- */

/* Does the name fit the pattern of `n` bytes? A star stands for any bytes, all else for itself:
 * names such as theta[1] are full of what a shell would take for a pattern. */
static bool fits(const char *pattern, size_t n, const char *name) {
    if (n == 0) return *name == '\0';
    if (*pattern != '*') return *pattern == *name && fits(pattern + 1, n - 1, name + 1);
    do {
        if (fits(pattern + 1, n - 1, name)) return true;
    } while (*name++ != '\0');
    return false;
}

bool sgfsi_summary_wants(const char *params, const char *name) {
    if (params[0] == '\0' || strcmp(params, name) == 0) return true; /* a name may hold commas */
    for (const char *p = params; *p != '\0';) {
        size_t n = strcspn(p, ",");
        if (fits(p, n, name)) return true;
        p += n + (p[n] == ',');
    }
    return false;
}

typedef struct entry {
    sgfs_summary_row row;
    sgfs_interval interval;
    int64_t at;
} entry;

static int by_place(const entry *a, const entry *b) {
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Larger first; what is not a number last. */
static int by_number(double a, double b) {
    if (isnan(a) || isnan(b)) return (int)isnan(a) - (int)isnan(b);
    return a > b ? -1 : a < b;
}

static int by_effect(const void *a, const void *b) {
    int order = by_number(fabs(((const entry *)a)->row.mean), fabs(((const entry *)b)->row.mean));
    return order != 0 ? order : by_place(a, b);
}

static int by_rhat(const void *a, const void *b) {
    int order = by_number(((const entry *)a)->row.r_hat, ((const entry *)b)->row.r_hat);
    return order != 0 ? order : by_place(a, b);
}

static int by_name(const void *a, const void *b) {
    int order = strcmp(((const entry *)a)->row.name, ((const entry *)b)->row.name);
    return order != 0 ? order : by_place(a, b);
}

static sgfs_status select_rows(const char *params, const char *sort, sgfs_summary *s,
                               sgfs_err *err) {
    entry *list = calloc((size_t)s->dim + 1, sizeof *list);
    int64_t kept = 0;
    if (list == NULL) return sgfsi_fail_memory(err, "the summary");
    for (int64_t i = 0; i < s->dim; i++) {
        if (!sgfsi_summary_wants(params, s->row[i].name)) continue;
        list[kept] = (entry){.row = s->row[i], .at = i};
        if (s->interval != NULL) list[kept].interval = s->interval[i];
        kept++;
    }
    if (strcmp(sort, "effect") == 0) qsort(list, (size_t)kept, sizeof *list, by_effect);
    if (strcmp(sort, "r_hat") == 0) qsort(list, (size_t)kept, sizeof *list, by_rhat);
    if (strcmp(sort, "name") == 0) qsort(list, (size_t)kept, sizeof *list, by_name);
    for (int64_t i = 0; i < kept; i++) {
        s->row[i] = list[i].row;
        if (s->interval != NULL) s->interval[i] = list[i].interval;
    }
    free(list);
    const char *first = s->dim > 0 ? s->row[0].name : "";
    if (kept == 0)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "summary.params: no parameter is called \"%.100s\"; the first one is "
                          "\"%.60s\". A star stands for any letters: 'city*'.",
                          params, first);
    s->dim = kept;
    return SGFS_OK;
}

/* ---- intervals ------------------------------------------------------------------------------- */

static void fill_interval(void *user, int64_t i, sgfsi_trace *t) {
    sgfs_summary *s = user;
    double *sorted = (double *)t->spare; /* room for more, and nothing in it is needed any more */
    sgfsi_trace_values(t, sorted);
    sgfsi_interval_kind kind = s->hdi ? SGFSI_HIGHEST_DENSITY : SGFSI_EQUAL_TAILED;
    const sgfsi_interval of =
        sgfsi_interval_of(t->chains * t->draws, sorted, s->share, kind, s->ratio != NULL);
    s->interval[i] = (sgfs_interval){of.low, of.centre, of.high};
}

sgfs_status sgfsi_summary_rows(const sgfs_draws *d, const sgfsi_used *used, int64_t threads,
                               const sgfs_config *cfg, sgfs_summary *s, sgfsi_arena *arena,
                               sgfs_err *err) {
    const char *interval = sgfsi_config_text(cfg, "summary.interval");
    bool odds = sgfsi_config_flag(cfg, "summary.odds");
    sgfsi_interval_kind kind;
    sgfs_status status = sgfsi_interval_read(interval, &s->share, &kind, err);
    s->hdi = kind == SGFSI_HIGHEST_DENSITY;
    if (status == SGFS_OK && odds && (s->ratio = sgfsi_ratio_name(d)) == NULL)
        status = sgfsi_fail(err, SGFS_EUSAGE,
                            "The exp of a coefficient is an odds ratio in logistic regression (and "
                            "in softmax with a class of reference), a rate ratio in poisson; this "
                            "run's model has neither: leave --odds out.");
    if (status == SGFS_OK && (odds || interval[0] != '\0')) {
        s->interval = sgfsi_arena_alloc(arena, s->dim, sizeof *s->interval);
        if (s->interval == NULL || !sgfsi_trace_each(d, used, threads, fill_interval, s))
            status = sgfsi_fail_memory(err, "the intervals");
    }
    if (status != SGFS_OK) return status;
    const char *factor = sgfsi_config_text(cfg, "summary.groups");
    if (factor[0] != '\0')
        return sgfsi_summary_effects(d, factor, sgfsi_config_int(cfg, "summary.top"), s, arena,
                                     err);
    return select_rows(sgfsi_config_text(cfg, "summary.params"),
                       sgfsi_config_text(cfg, "summary.sort"), s, err);
}
