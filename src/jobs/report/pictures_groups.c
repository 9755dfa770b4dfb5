/* SPDX-License-Identifier: MIT
 * pictures_groups.c: pictures of models with groups, one for each effect of each factor: the
 * effects of single groups, one above the other, and how far each is known by rows of its own.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnostics/summary_rows.h"
#include "jobs/report/pictures.h"

static const char none[] = "The run has no effects of groups.";

typedef struct line {
    double mean;
    int64_t at; /* the group */
} line;

static int by_size(const void *a, const void *b) {
    const line *x = a, *y = b;
    double first = fabs(x->mean), second = fabs(y->mean);
    return first != second ? (first > second ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

static int by_value(const void *a, const void *b) {
    const line *x = a, *y = b;
    return x->mean != y->mean ? (x->mean > y->mean ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

/* ---- single groups --------------------------------------------------------------------------- */

static const char *draw_groups(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    if (p->param < 0) return none;
    const sgfsi_effects_term *t = &r->groups.term[p->param];
    const sgfs_draws *d = r->run[0].draws;
    bool crowded = r->kind != NULL && strcmp(r->format, "text") != 0 &&
                   (r->groups.terms > 1 || t->q > 1); /* several in one picture */
    int64_t most = crowded ? 15 : 30, count = t->G < most ? t->G : most;
    line *list = calloc((size_t)t->G, sizeof *list);
    double *room = malloc((size_t)(d->effect_draws.count + 1) * sizeof *room);
    p->lacks_memory = list == NULL || room == NULL;
    for (int64_t g = 0; !p->lacks_memory && g < t->G; g++)
        list[g] = (line){t->mean[g * t->q + p->other], g};
    if (!p->lacks_memory) {
        qsort(list, (size_t)t->G, sizeof *list, by_size);
        qsort(list, (size_t)count, sizeof *list, by_value);
        sgfsi_plot_data(f, 0);
        for (int64_t k = 0; k < count; k++) {
            sgfsi_interval i = sgfsi_effect_interval(d, t, list[k].at * t->q + p->other, r->share,
                                                     r->interval_kind, false, room);
            sgfsi_plot_row(f, 4, (double[]){i.centre, (double)(count - k), i.low, i.high});
        }
        sgfsi_plot_end(f);
        fputs("set ytics (", f);
        for (int64_t k = 0; k < count; k++) {
            if (k > 0) fputs(", ", f);
            sgfsi_plot_text(f, t->level[list[k].at]);
            fprintf(f, " %lld", (long long)(count - k));
        }
        fprintf(f,
                ")\nunset grid\nset grid x lt 1 lw 0.6 lc rgb %s\nset yrange [0.4:%lld.6]\nset "
                "xlabel 'effect, with %s %% %ss'\nset arrow from 0, graph 0 to 0, graph 1 nohead "
                "lw 1 dt 2 lc rgb %s\nplot $d0 using 1:2:3:4 with xerrorbars pt 7 ps 0.6 lw 1.6 lc "
                "rgb %s notitle\n",
                SGFSI_PLOT_FAINT, (long long)count, SGFSI_DIGITS(100 * r->share, 4), r->interval,
                SGFSI_PLOT_INK, sgfsi_plot_colour(0));
        p->height = (int)(90 + 20 * count);
        snprintf(p->alt, sizeof p->alt,
                 "Effects of %lld of %lld groups of %.100s (%.100s) with %s %% %ss, from %s to %s.",
                 (long long)count, (long long)t->G, t->factor, t->effect[p->other],
                 SGFSI_DIGITS(100 * r->share, 4), r->interval,
                 SGFSI_DIGITS(list[count - 1].mean, 3), SGFSI_DIGITS(list[0].mean, 3));
    }
    free(list);
    free(room);
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_groups = {
    .name = "groups",
    .help = "effects of single groups with their intervals, the largest where there are many",
    .title = "Groups",
    .note = "What a group adds, with its interval, in order. The dashed line is the middle of all "
            "groups. Where there are many, these are the ones furthest from it.",
    .of = SGFSI_OF_TERM,
    .wide = true,
    .draw = draw_groups};

/* ---- shrinkage ------------------------------------------------------------------------------- */

/* The mean square of the standard deviation between groups; NaN: the run has none by that name. */
static double variance_between(const sgfsi_report *r, const sgfsi_effects_term *t, int64_t j) {
    const sgfs_summary *s = r->run[0].summary;
    char name[600];
    snprintf(name, sizeof name, "sd_%.250s[%.250s]", t->factor, t->effect[j]);
    for (int64_t i = 0; i < s->dim; i++)
        if (strcmp(s->row[i].name, name) == 0)
            return s->row[i].mean * s->row[i].mean + s->row[i].sd * s->row[i].sd;
    return NAN;
}

static const char *draw_shrinkage(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    if (p->param < 0) return none;
    const sgfsi_effects_term *t = &r->groups.term[p->param];
    double between = variance_between(r, t, p->other), sum = 0, low = INFINITY, high = 0;
    int64_t points = t->G < SGFSI_TRACE_POINTS ? t->G : SGFSI_TRACE_POINTS;
    if (!(between > 0)) return "How much groups differ is not known.";
    sgfsi_plot_data(f, 0);
    for (int64_t g = 0; g < t->G; g++) {
        double sd = t->sd[g * t->q + p->other];
        sum += fmax(0, 1 - sd * sd / between) / (double)t->G;
    }
    for (int64_t k = 0; k < points; k++) {
        int64_t g = sgfsi_place(k, points, t->G);
        double sd = t->sd[g * t->q + p->other], rows = fmax(1, t->rows[g]);
        low = fmin(low, rows);
        high = fmax(high, rows);
        sgfsi_plot_row(f, 2, (double[]){rows, fmax(0, 1 - sd * sd / between)});
    }
    sgfsi_plot_end(f);
    fprintf(f,
            "set xlabel 'rows of the group'\nset ylabel 'known by its own rows'\nset yrange "
            "[0:1]\nset xrange [%s:%s]\n%splot $d0 using 1:2 with points pt 7 ps 0.5 lc rgb %s "
            "notitle\n",
            SGFSI_DIGITS(low / 1.1, 6), SGFSI_DIGITS(high * 1.1, 6),
            high > 20 * low ? "set logscale x\n" : "", sgfsi_plot_colour(0));
    snprintf(
        p->alt, sizeof p->alt,
        "How far the effects of %lld groups of %.100s (%.100s) are known by rows of their own, "
        "against how many these are: %s on average.",
        (long long)t->G, t->factor, t->effect[p->other], SGFSI_DIGITS(sum, 2));
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_shrinkage = {
    .name = "shrinkage",
    .help = "how far each group is known by rows of its own, and how far by all groups",
    .title = "Shrinkage",
    .note = "One less the variance of a group's effect as a share of the variance between groups. "
            "At 0 the group's own rows say nothing, and its effect is drawn to the middle; at 1 "
            "they say all.",
    .of = SGFSI_OF_TERM,
    .draw = draw_shrinkage};
