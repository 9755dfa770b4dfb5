/* SPDX-License-Identifier: MIT
 * summary_effects.c: the effects of a factor's groups as rows of a summary, in place of those of
 * the parameters: --groups user. Means and standard deviations are over every iteration after
 * warm-up; quantiles are those of the draws that the run keeps, or, where these are too few to tell
 * tails, those of a normal distribution with that mean and standard deviation.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnostics/normal.h"
#include "diagnostics/summary_rows.h"

enum { ENOUGH = 100 }; /* draws, for quantiles */

typedef struct effect {
    double mean;
    int64_t at;
} effect;

/* The largest first, of equal ones the first. */
static int by_size(const void *a, const void *b) {
    const effect *x = a, *y = b;
    double first = fabs(x->mean), second = fabs(y->mean);
    if (first != second) return first > second ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

sgfsi_interval sgfsi_effect_interval(const sgfs_draws *d, const sgfsi_effects_term *t, int64_t i,
                                     double share, sgfsi_interval_kind kind, bool ratio,
                                     double *room) {
    const int64_t n = d->effect_draws.count;
    if (n >= ENOUGH) {
        sgfsi_effects_sorted(d, t, i, room);
        return sgfsi_interval_of(n, room, share, kind, ratio);
    }
    double mean = t->mean[i], away = -t->sd[i] * sgfsi_normal_quantile(0.5 - 0.5 * share);
    if (!ratio) return (sgfsi_interval){mean - away, mean, mean + away};
    return (sgfsi_interval){exp(mean - away), exp(mean), exp(mean + away)};
}

/* Quantiles of row i, and its interval where one is wanted. */
static void fill_quantiles(const sgfs_draws *d, const sgfsi_effects_term *t, int64_t at,
                           double *draws, sgfs_summary *s, int64_t i) {
    const sgfsi_interval_kind kind = s->hdi ? SGFSI_HIGHEST_DENSITY : SGFSI_EQUAL_TAILED;
    const sgfsi_interval usual =
        sgfsi_effect_interval(d, t, at, 0.9, SGFSI_EQUAL_TAILED, false, draws);
    s->row[i].q5 = usual.low;
    s->row[i].q50 = usual.centre;
    s->row[i].q95 = usual.high;
    if (s->interval == NULL) return;
    const sgfsi_interval own =
        sgfsi_effect_interval(d, t, at, s->share, kind, s->ratio != NULL, draws);
    s->interval[i] = (sgfs_interval){own.low, own.centre, own.high};
}

static sgfs_status fill(const sgfs_draws *d, const sgfsi_effects_term *t, int64_t top,
                        sgfs_summary *s, sgfsi_arena *arena, sgfs_err *err) {
    int64_t n = t->G * t->q;
    effect *all = sgfsi_arena_alloc(arena, n, sizeof *all);
    if (all == NULL) return sgfsi_fail_memory(err, "the effects of groups");
    for (int64_t i = 0; i < n; i++) all[i] = (effect){t->mean[i], i};
    qsort(all, (size_t)n, sizeof *all, by_size);
    s->dim = n < top ? n : top;
    s->row = sgfsi_arena_alloc(arena, s->dim, sizeof *s->row);
    double *draws = SGFSI_DOUBLES(arena, d->effect_draws.count + 1);
    if (s->interval != NULL) s->interval = sgfsi_arena_alloc(arena, s->dim, sizeof *s->interval);
    if (s->row == NULL || draws == NULL || sgfsi_arena_failed(arena))
        return sgfsi_fail_memory(err, "the effects of groups");
    for (int64_t i = 0; i < s->dim; i++) {
        int64_t at = all[i].at;
        char name[1600];
        snprintf(name, sizeof name, "%.1200s[%.350s]", t->level[at / t->q], t->effect[at % t->q]);
        s->row[i] = (sgfs_summary_row){.name = sgfsi_arena_text(arena, name),
                                       .mean = t->mean[at],
                                       .sd = t->sd[at],
                                       .mcse = NAN,
                                       .ess_bulk = NAN,
                                       .ess_tail = NAN,
                                       .r_hat = NAN,
                                       .sd_curvature = NAN,
                                       .tau = NAN};
        fill_quantiles(d, t, at, draws, s, i);
    }
    char units[300];
    snprintf(
        units, sizeof units,
        "An effect is what being in the group of \"%.60s\" adds to the coefficient; quantiles are "
        "those of %s.",
        t->factor,
        d->effect_draws.count < ENOUGH ? "a normal distribution" : "the draws that are kept");
    s->units = sgfsi_arena_text(arena, units);
    s->compared = "";
    return sgfsi_arena_failed(arena) ? sgfsi_fail_memory(err, "the effects of groups") : SGFS_OK;
}

sgfs_status sgfsi_summary_effects(const sgfs_draws *d, const char *factor, int64_t top,
                                  sgfs_summary *s, sgfsi_arena *arena, sgfs_err *err) {
    char known[400] = "";
    sgfsi_effects all;
    sgfs_status status = sgfsi_effects_read(d, &all, arena, err);
    if (status != SGFS_OK) return status;
    if (all.terms == 0)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--groups %.60s: the run has no effects of groups, or did not get as far "
                          "as a draw.",
                          factor);
    for (int64_t k = 0; k < all.terms; k++) {
        if (strcmp(all.term[k].factor, factor) == 0)
            return fill(d, &all.term[k], top, s, arena, err);
        sgfsi_append(known, sizeof known, "%s\"%.60s\"", k > 0 ? ", " : "", all.term[k].factor);
    }
    return sgfsi_fail(err, SGFS_EUSAGE, "--groups %.60s: the run's groups are those of %s.", factor,
                      known);
}
