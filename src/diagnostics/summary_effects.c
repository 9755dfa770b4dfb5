/* SPDX-License-Identifier: MIT
 * summary_effects.c: the effects of a factor's groups as rows of a summary, in place of those of the
 * parameters: --effects user. The run file has their means and standard deviations, no draws, so
 * nothing else is known of them. It may come from anywhere: what lacks is damage.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnostics/summary_rows.h"

typedef struct effect {
    double mean, sd;
    int64_t at;
} effect;

/* The largest first, of equal ones the first. */
static int by_size(const void *a, const void *b) {
    const effect *x = a, *y = b;
    double first = fabs(x->mean), second = fabs(y->mean);
    if (first != second) return first > second ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static const sgfsi_json *find_term(const sgfsi_json *terms, const char *factor, char *known,
                                   size_t room) {
    for (int64_t k = 0; k < sgfsi_json_length(terms); k++) {
        const sgfsi_json *term = sgfsi_json_at(terms, k);
        const char *name = sgfsi_json_get_text(term, "factor", "");
        if (strcmp(name, factor) == 0) return term;
        sgfsi_append(known, room, "%s\"%.60s\"", k > 0 ? ", " : "", name);
    }
    return NULL;
}

static sgfs_status fill(const sgfsi_json *term, int64_t top, sgfs_summary *s, sgfsi_arena *arena,
                        sgfs_err *err) {
    const sgfsi_json *levels = sgfsi_json_get(term, "levels"), *mean = sgfsi_json_get(term, "mean"),
                     *sd = sgfsi_json_get(term, "sd"), *names = sgfsi_json_get(term, "effects");
    int64_t q = sgfsi_json_length(names), n = sgfsi_json_length(mean);
    if (q < 1 || n != q * sgfsi_json_length(levels) || sgfsi_json_length(sd) != n)
        return sgfsi_fail(err, SGFS_ERUNFILE, "The run's effects of groups are damaged.");
    effect *all = sgfsi_arena_alloc(arena, n, sizeof *all);
    if (all == NULL) return sgfsi_fail_memory(err, "the effects of groups");
    for (int64_t i = 0; i < n; i++) {
        all[i].at = i;
        if (!sgfsi_json_as_num(sgfsi_json_at(mean, i), &all[i].mean)) all[i].mean = NAN;
        if (!sgfsi_json_as_num(sgfsi_json_at(sd, i), &all[i].sd)) all[i].sd = NAN;
    }
    qsort(all, (size_t)n, sizeof *all, by_size);
    s->dim = n < top ? n : top;
    s->row = sgfsi_arena_alloc(arena, s->dim, sizeof *s->row);
    if (s->row == NULL) return sgfsi_fail_memory(err, "the effects of groups");
    for (int64_t i = 0; i < s->dim; i++) {
        char name[400];
        const char *level = sgfsi_json_as_text(sgfsi_json_at(levels, all[i].at / q)),
                   *what = sgfsi_json_as_text(sgfsi_json_at(names, all[i].at % q));
        snprintf(name, sizeof name, "%.200s[%.150s]", level != NULL ? level : "?",
                 what != NULL ? what : "?");
        s->row[i] = (sgfs_summary_row){.name = sgfsi_arena_text(arena, name),
                                       .mean = all[i].mean,
                                       .sd = all[i].sd,
                                       .mcse = NAN,
                                       .q5 = NAN,
                                       .q50 = NAN,
                                       .q95 = NAN,
                                       .ess_bulk = NAN,
                                       .ess_tail = NAN,
                                       .r_hat = NAN,
                                       .sd_curvature = NAN,
                                       .tau = NAN};
    }
    return sgfsi_arena_failed(arena) ? sgfsi_fail_memory(err, "the effects of groups") : SGFS_OK;
}

sgfs_status sgfsi_summary_effects(const sgfs_draws *d, const char *factor, int64_t top,
                                  sgfs_summary *s, sgfsi_arena *arena, sgfs_err *err) {
    char known[400] = "";
    if (d->effects == NULL)
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "--effects %.60s: the run has no effects of groups, or did not get as far "
            "as a draw.",
            factor);
    sgfsi_json *found = sgfsi_json_parse(d->effects, strlen(d->effects), "effects", err);
    if (found == NULL) return sgfsi_why(err);
    const sgfsi_json *term = find_term(sgfsi_json_get(found, "terms"), factor, known, sizeof known);
    sgfs_status status =
        term != NULL
            ? fill(term, top, s, arena, err)
            : sgfsi_fail(err, SGFS_EUSAGE, "--effects %.60s: the run's groups are those of %s.",
                         factor, known);
    s->interval = NULL;
    sgfsi_json_free(found);
    return status;
}
