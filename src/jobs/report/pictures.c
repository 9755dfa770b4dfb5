/* SPDX-License-Identifier: MIT
 * pictures.c: pictures of one parameter each, and the table of all kinds.
 *
 * Draws are thinned for the eye alone, evenly and always to the same ones: 2,000 points of all
 * chains together are more than a screen has. Densities, ranks and autocorrelations are of all
 * draws.
 */
#include "jobs/report/pictures.h"

#include <math.h>
#include <string.h>

#include "diagnostics/density.h"

const sgfsi_picture_kind *const sgfsi_pictures[] = {
    &sgfsi_picture_error,      &sgfsi_picture_forest,      &sgfsi_picture_density,
    &sgfsi_picture_trace,      &sgfsi_picture_rank,        &sgfsi_picture_autocorrelation,
    &sgfsi_picture_mean,       &sgfsi_picture_pairs,       &sgfsi_picture_spectrum,
    &sgfsi_picture_validation, &sgfsi_picture_calibration, &sgfsi_picture_roc,
    &sgfsi_picture_time,       &sgfsi_picture_steps,       &sgfsi_picture_interventions,
    &sgfsi_picture_groups,     &sgfsi_picture_shrinkage,   NULL};

int64_t sgfsi_place(int64_t k, int64_t points, int64_t n) {
    return points < 2 ? 0 : (int64_t)((double)k * (double)(n - 1) / (double)(points - 1) + 0.5);
}

void sgfsi_plot_data(FILE *f, int64_t k) {
    fprintf(f, "$d%lld << E\n", (long long)k);
}

void sgfsi_plot_row(FILE *f, int64_t n, const double *x) {
    for (int64_t i = 0; i < n; i++) sgfsi_plot_num(f, x[i]);
    fputc('\n', f);
}

void sgfsi_plot_end(FILE *f) {
    fputs("E\n", f);
}

static const char *not_finite(const sgfsi_report *r) {
    if (!r->trace->finite) return "Some of its draws are not numbers.";
    if (r->trace->chains * r->trace->draws < 4) return "It has fewer than four draws.";
    return NULL;
}

static const sgfs_summary_row *row_of(const sgfsi_report *r, const sgfsi_picture *p) {
    return &r->run[0].summary->row[p->param];
}

static bool is_text(const sgfsi_report *r) {
    return strcmp(r->format, "text") == 0;
}

void sgfsi_plot_chains(const sgfsi_report *r, FILE *f, int64_t column, bool parameter,
                       const char *label) {
    const sgfs_draws *d = r->run[0].draws;
    const sgfsi_used *used = &r->run[0].used;
    int64_t points = SGFSI_TRACE_POINTS / used->chains, stride = parameter ? d->D : d->S;
    points = points < 20 ? 20 : points;
    points = points < used->draws ? points : used->draws;
    double thin = (double)(d->thin > 0 ? d->thin : 1);
    for (int64_t c = 0; c < used->chains; c++) {
        const sgfsi_chain_draws *chain = &d->chain[used->chain[c]];
        const double *x = (parameter ? chain->theta : chain->stats) + column;
        sgfsi_plot_data(f, c);
        for (int64_t k = 0; k < points; k++) {
            int64_t t = sgfsi_place(k, points, used->draws);
            sgfsi_plot_row(f, 2, (double[]){(double)(t + 1) * thin, x[t * stride]});
        }
        sgfsi_plot_end(f);
    }
    fputs("set xlabel 'iteration after warm-up'\nset xrange [0:*]\nset ylabel ", f);
    sgfsi_plot_text(f, label);
    fputs("\nplot ", f);
    for (int64_t c = 0; c < used->chains; c++)
        fprintf(f, "%s$d%lld using 1:2 with %s lw 0.7 lc rgb %s notitle", c > 0 ? ", " : "",
                (long long)c, is_text(r) ? "dots" : "lines", sgfsi_plot_colour(c));
    fputc('\n', f);
}

/* Titles of runs beside their curves, where there are several. */
static void put_label(const sgfsi_report *r, int64_t k, FILE *f) {
    if (r->runs == 1) {
        fputs(" notitle", f);
        return;
    }
    fputs(" title ", f);
    sgfsi_plot_text(f, r->run[k].label);
}

/* ---- density --------------------------------------------------------------------------------- */

/* The draws of parameter i of any run, in order; of the first, r->sorted. */
static const double *order(sgfsi_report *r, int64_t k, int64_t i, sgfsi_arena *work, int64_t *n) {
    const sgfsi_report_run *run = &r->run[k];
    *n = run->used.chains * run->used.draws;
    if (k == 0) return r->sorted;
    sgfsi_trace *t = sgfsi_trace_new(work, run->used.chains, run->used.draws);
    const double **column = sgfsi_arena_alloc(work, run->used.chains, sizeof *column);
    double *sorted = SGFSI_DOUBLES(work, *n);
    if (t == NULL || column == NULL || sorted == NULL) return NULL;
    for (int64_t c = 0; c < run->used.chains; c++)
        column[c] = run->draws->chain[run->used.chain[c]].theta + i;
    sgfsi_trace_load(t, column, run->draws->D);
    sgfsi_trace_values(t, sorted);
    return t->finite ? sorted : NULL;
}

static const char *draw_density(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    sgfsi_report_load(r, p->param);
    const char *absent = not_finite(r);
    if (absent != NULL) return absent;
    const sgfs_summary_row *row = row_of(r, p);
    const sgfsi_interval *own = &r->effect[p->param].own;
    const sgfsi_trace *t = r->trace;
    int64_t all = t->chains * t->draws, curves = 0;
    if (r->sorted[0] == r->sorted[all - 1]) return "All its draws are the same number.";
    sgfsi_density density;
    sgfsi_density_of(all, r->sorted, &density);
    double first = density.from, last = first + density.step * (SGFSI_DENSITY_POINTS - 1);
    /* a histogram of all draws stands behind */
    enum { BARS = 40 };
    double bar[BARS] = {0}, width = (last - first) / BARS, top = 0;
    for (int64_t i = 0; i < all; i++) {
        double at = floor((r->sorted[i] - first) / width);
        if (at >= 0 && at < BARS) bar[(int)at] += 1 / ((double)all * width);
    }
    sgfsi_plot_data(f, 90);
    for (int k = 0; k < BARS; k++)
        sgfsi_plot_row(f, 2, (double[]){first + (k + 0.5) * width, bar[k]});
    sgfsi_plot_end(f);
    for (int64_t k = 0; k < r->runs; k++) {
        sgfsi_arena work = {0};
        int64_t n;
        const double *sorted = order(r, k, p->param, &work, &n);
        if (sorted != NULL && n > 3 && sorted[0] < sorted[n - 1]) {
            if (k > 0) sgfsi_density_of(n, sorted, &density);
            sgfsi_plot_data(f, k);
            for (int j = 0; j < SGFSI_DENSITY_POINTS; j++) {
                double x = density.from + j * density.step;
                top = fmax(top, density.y[j]);
                if (x >= first && x <= last) sgfsi_plot_row(f, 2, (double[]){x, density.y[j]});
            }
            sgfsi_plot_end(f);
            curves |= (int64_t)1 << k;
        }
        p->lacks_memory = p->lacks_memory || sgfsi_arena_failed(&work);
        sgfsi_arena_free(&work);
    }
    /* the Gaussian that the curvature predicts */
    bool gauss = row->sd_curvature > 0;
    sgfsi_plot_data(f, 91);
    for (int j = 0; j <= 100 && gauss; j++) {
        double x = first + (last - first) * j / 100, z = (x - row->mean) / row->sd_curvature;
        sgfsi_plot_row(f, 2,
                       (double[]){x, 0.3989422804014327 / row->sd_curvature * exp(-0.5 * z * z)});
    }
    sgfsi_plot_end(f);
    sgfsi_plot_data(f, 92);
    sgfsi_plot_row(f, 2, (double[]){own->low, 0});
    sgfsi_plot_row(f, 2, (double[]){own->high, 0});
    sgfsi_plot_end(f);
    sgfsi_plot_data(f, 93);
    sgfsi_plot_row(f, 2, (double[]){own->centre, 0});
    sgfsi_plot_end(f);
    fprintf(f, "unset ytics\nunset grid\nset border 1\nset yrange [0:*]\nset xrange [%s:%s]\n",
            SGFSI_DIGITS(first, 8), SGFSI_DIGITS(last, 8));
    if (r->runs > 1) fputs("set key below horizontal samplen 1 font ',10'\n", f);
    if (is_text(r)) {
        fputs("plot $d0 using 1:2 with lines notitle\n", f);
    } else {
        fprintf(f, "plot $d90 using 1:2 with boxes fill solid 0.25 noborder lc rgb %s notitle",
                SGFSI_PLOT_MID);
        for (int64_t k = 0; k < r->runs; k++) {
            if (!(curves >> k & 1)) continue;
            fprintf(f, ", $d%lld using 1:2 with lines lw 1.8 lc rgb %s", (long long)k,
                    sgfsi_plot_colour(k));
            put_label(r, k, f);
        }
        if (gauss)
            fprintf(f, ", $d91 using 1:2 with lines dt 2 lw 1.2 lc rgb %s notitle", SGFSI_PLOT_INK);
        fprintf(f,
                ", $d92 using 1:2 with lines lw 5 lc rgb %s notitle, $d93 using 1:2 with points pt "
                "7 ps 0.8 lc rgb %s notitle\n",
                sgfsi_plot_colour(0), SGFSI_PLOT_INK);
    }
    snprintf(p->alt, sizeof p->alt,
             "Density of the draws of %.100s: median %s, %s %% between %s and %s.", row->name,
             SGFSI_DIGITS(own->centre, 4), SGFSI_DIGITS(100 * r->share, 4),
             SGFSI_DIGITS(own->low, 4), SGFSI_DIGITS(own->high, 4));
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_density = {
    .name = "density",
    .help = "the density of a parameter's draws, over their histogram",
    .title = "Density",
    .note = "The curve is the density of all draws, the bar under it the interval with the median. "
            "Dashed: the Gaussian that the curvature at the mean predicts.",
    .of = SGFSI_OF_PARAMETER,
    .draw = draw_density};

/* ---- trace ----------------------------------------------------------------------------------- */

static const char *draw_trace(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    sgfsi_report_load(r, p->param);
    const char *absent = not_finite(r);
    if (absent != NULL) return absent;
    const sgfsi_used *used = &r->run[0].used;
    sgfsi_plot_chains(r, f, p->param, true, "");
    snprintf(p->alt, sizeof p->alt,
             "Trace of %.100s: %lld chains of %lld draws, each %s; R-hat %s.", row_of(r, p)->name,
             (long long)used->chains, (long long)used->draws,
             used->draws > 20 && used->draws > SGFSI_TRACE_POINTS / used->chains
                 ? "thinned for the picture"
                 : "shown in full",
             SGFSI_DIGITS(row_of(r, p)->r_hat, 4));
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_trace = {
    .name = "trace",
    .help = "the draws of a parameter in their order, a line for each chain",
    .title = "Trace",
    .note = "Each line is a chain. They should lie over one another and show no trend.",
    .of = SGFSI_OF_PARAMETER,
    .draw = draw_trace};

/* ---- ranks ----------------------------------------------------------------------------------- */

static const char *draw_rank(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    enum { BINS = 20 };
    sgfsi_report_load(r, p->param);
    const char *absent = not_finite(r);
    if (absent != NULL) return absent;
    const sgfsi_trace *t = r->trace;
    if (t->chains == 1) return "Ranks compare chains, and the run has one.";
    if (t->count < 2 * BINS) return "It has too few draws for ranks.";
    double even = (double)t->count / (double)t->chains / BINS, worst = 0;
    for (int64_t c = 0; c < t->chains; c++) {
        double count[BINS] = {0};
        for (int64_t i = 0; i < t->count; i++)
            if (t->sorted[i].at / (2 * t->half) == c) count[i * BINS / t->count]++;
        sgfsi_plot_data(f, c);
        for (int b = 0; b < BINS; b++) {
            worst = fmax(worst, fabs(count[b] / even - 1));
            sgfsi_plot_row(f, 2, (double[]){100 * (b + 0.5) / BINS, count[b] / even});
        }
        sgfsi_plot_end(f);
    }
    fprintf(f,
            "set xlabel 'rank among the draws of all chains, %%'\nset xrange [0:100]\nset yrange "
            "[0:%s]\nset ytics 1\nset arrow from 0,1 to 100,1 nohead lw 1 lc rgb %s\nplot ",
            SGFSI_DIGITS(fmax(2, 1.05 * (1 + worst)), 4), SGFSI_PLOT_MID);
    for (int64_t c = 0; c < t->chains; c++)
        fprintf(f, "%s$d%lld using 1:2 with histeps lw 1.2 lc rgb %s notitle", c > 0 ? ", " : "",
                (long long)c, sgfsi_plot_colour(c));
    fputc('\n', f);
    snprintf(p->alt, sizeof p->alt,
             "Ranks of %.100s by chain, in %d bins: the share of a bin differs from an even one by "
             "at most %.0f %%.",
             row_of(r, p)->name, BINS, 100 * worst);
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_rank = {
    .name = "rank",
    .help = "where the draws of each chain stand among those of all",
    .title = "Ranks",
    .note = "Chains that agree have level lines around 1; a slope or a hump is a chain apart.",
    .of = SGFSI_OF_PARAMETER,
    .draw = draw_rank};

/* ---- autocorrelation ------------------------------------------------------------------------- */

static const char *draw_autocorrelation(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    enum { POINTS = 60 };
    sgfsi_report_load(r, p->param);
    const char *absent = not_finite(r);
    sgfsi_trace *t = r->trace;
    if (absent == NULL && t->half < 8) absent = "It has too few draws for autocorrelations.";
    if (absent != NULL) return absent;
    const sgfs_summary_row *row = row_of(r, p);
    double thin = (double)(r->run[0].draws->thin > 0 ? r->run[0].draws->thin : 1);
    double tau = row->tau / thin, lags = fmin((double)(t->half - 1), fmax(20, 4 * tau));
    int64_t last = (int64_t)lags, points = last + 1 < POINTS ? last + 1 : POINTS;
    int64_t curves = t->chains <= SGFSI_FEW_CHAINS ? t->chains : 0;
    double first = NAN;
    for (int64_t c = 0; c <= curves; c++) { /* the chains, then all of them */
        bool all = c == curves;
        sgfsi_autocov(&t->autocorr, all ? t->m : 2, t->split + (all ? 0 : 2 * c * t->half), NULL,
                      t->scratch);
        sgfsi_plot_data(f, c);
        for (int64_t k = 0; k < points; k++) {
            int64_t lag = sgfsi_place(k, points, last + 1);
            sgfsi_plot_row(f, 2, (double[]){thin * (double)lag, t->scratch[lag] / t->scratch[0]});
        }
        sgfsi_plot_end(f);
        first = t->scratch[1] / t->scratch[0];
    }
    fprintf(
        f,
        "set xlabel 'iterations apart'\nset xrange [0:%s]\nset yrange [*<-0.1:1]\nset arrow from "
        "0,0 to graph 1,first 0 nohead lw 1 lc rgb %s\nplot ",
        SGFSI_DIGITS(fmax(1, thin * (double)last), 6), SGFSI_PLOT_MID);
    for (int64_t c = 0; c < curves; c++)
        fprintf(f, "$d%lld using 1:2 with lines lw 0.8 lc rgb %s notitle, ", (long long)c,
                sgfsi_plot_colour(c));
    fprintf(f, "$d%lld using 1:2 with lines lw 2.2 lc rgb %s notitle\n", (long long)curves,
            SGFSI_PLOT_INK);
    snprintf(p->alt, sizeof p->alt,
             "Autocorrelation of %.100s: %s between neighbouring draws; an independent draw takes "
             "%s iterations.",
             row->name, SGFSI_DIGITS(first, 2), SGFSI_DIGITS(row->tau, 3));
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_autocorrelation = {
    .name = "autocorrelation",
    .help = "how alike draws are that lie so many iterations apart",
    .title = "Autocorrelation",
    .note = "How alike draws are that lie so many iterations apart. The sooner it falls to 0, the "
            "more a draw is worth. The thick line is that of all chains.",
    .of = SGFSI_OF_PARAMETER,
    .draw = draw_autocorrelation};

/* ---- running mean ---------------------------------------------------------------------------- */

static const char *draw_mean(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    enum { POINTS = 120 };
    sgfsi_report_load(r, p->param);
    const char *absent = not_finite(r);
    if (absent != NULL) return absent;
    const sgfs_summary_row *row = row_of(r, p);
    const sgfs_draws *d = r->run[0].draws;
    const sgfsi_used *used = &r->run[0].used;
    int64_t points = used->draws < POINTS ? used->draws : POINTS;
    bool timed = true;
    for (int64_t c = 0; c < used->chains; c++)
        timed = timed && d->chain[used->chain[c]].info.sample_seconds > 0;
    double thin = (double)(d->thin > 0 ? d->thin : 1), longest = 0, last = 0;
    for (int64_t c = 0; c < used->chains; c++) {
        const sgfsi_chain_info *info = &d->chain[used->chain[c]].info;
        last = fmax(last, info->warmup_seconds + info->sample_seconds);
    }
    double unit = timed && last < 1 ? 1000 : 1; /* milliseconds */
    for (int64_t c = 0; c < used->chains; c++) {
        const sgfsi_chain_draws *chain = &d->chain[used->chain[c]];
        double scale = timed ? unit * chain->info.sample_seconds / (double)chain->draws : thin;
        double from = timed ? unit * chain->info.warmup_seconds : 0, sum = 0;
        int64_t next = 0;
        sgfsi_plot_data(f, c);
        for (int64_t t = 0; t < used->draws; t++) {
            sum += chain->theta[t * d->D + p->param];
            /* the first tenth is all noise and would hide the rest */
            if (t != sgfsi_place(next, points, used->draws)) continue;
            next++;
            double x = from + scale * (double)(t + 1);
            longest = fmax(longest, x);
            if (10 * t >= used->draws) sgfsi_plot_row(f, 2, (double[]){x, sum / (double)(t + 1)});
        }
        sgfsi_plot_end(f);
    }
    fprintf(f, "set xlabel '%s'\nset xrange [0:%s]\n",
            !timed     ? "iteration after warm-up"
            : unit > 1 ? "milliseconds of the chain"
                       : "seconds of the chain",
            SGFSI_DIGITS(longest, 6));
    if (isfinite(row->mcse))
        fprintf(f,
                "set object 1 rectangle from graph 0, first %s to graph 1, first %s fillcolor rgb "
                "%s fillstyle solid 0.35 noborder behind\n",
                SGFSI_DIGITS(row->mean - 2 * row->mcse, 10),
                SGFSI_DIGITS(row->mean + 2 * row->mcse, 10), SGFSI_PLOT_MID);
    fputs("plot ", f);
    for (int64_t c = 0; c < used->chains; c++)
        fprintf(f, "%s$d%lld using 1:2 with lines lw 1.2 lc rgb %s notitle", c > 0 ? ", " : "",
                (long long)c, sgfsi_plot_colour(c));
    fputc('\n', f);
    snprintf(p->alt, sizeof p->alt,
             "Running means of the chains of %.100s; all draws together have the mean %s with a "
             "Monte Carlo error of %s.",
             row->name, SGFSI_DIGITS(row->mean, 5), SGFSI_DIGITS(row->mcse, 2));
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_mean = {
    .name = "mean",
    .help = "the mean of the draws so far, against time",
    .title = "Running mean",
    .note =
        "The mean of each chain's draws so far, from a tenth of the run on. The band is the final "
        "mean of all chains with two Monte Carlo errors on either side.",
    .of = SGFSI_OF_PARAMETER,
    .draw = draw_mean};
