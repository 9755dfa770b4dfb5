/* SPDX-License-Identifier: MIT
 * pictures_run.c: pictures of a run, or of all of them: effects, pairs, the spectrum, times, what
 * had to be repaired, predictions, errors.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "diagnostics/density.h"
#include "jobs/report/pictures.h"

/* ---- effects --------------------------------------------------------------------------------- */

static bool is_intercept(const char *name) {
    const char *colon = strrchr(name, ':');
    while (colon != NULL && *++colon == ' ') name = colon + 1;
    return strcmp(name, "intercept") == 0;
}

/* Which parameters have a line: all where they are few, else those with pictures; intercepts, which
 * are no effects, never. Returns how many. */
static int64_t list_effects(const sgfsi_report *r, int64_t most, int64_t *list) {
    const sgfs_summary *s = r->run[0].summary;
    int64_t count = 0, all = s->dim <= most && !r->named;
    for (int64_t k = 0; k < (all ? s->dim : r->show) && count < most; k++) {
        int64_t i = all ? k : r->shown[k];
        if (isfinite(r->effect[i].own.low) && !is_intercept(s->row[i].name)) list[count++] = i;
    }
    return count;
}

/* Ratios far apart have a logarithmic axis, on which 1, 2 and 5 of each power of ten are marked. */
static void put_ratio_axis(const sgfsi_report *r, int64_t count, const int64_t *list, FILE *f) {
    double low = 1, high = 1;
    for (int64_t k = 0; k < count; k++) {
        low = fmin(low, r->effect[list[k]].ratio.low);
        high = fmax(high, r->effect[list[k]].ratio.high);
    }
    if (!(low > 0 && high / low > 3 && isfinite(high))) return;
    double room = pow(high / low, 0.05);
    fprintf(f, "set logscale x\nset xrange [%s:%s]\nset xtics (", SGFSI_DIGITS(low / room, 6),
            SGFSI_DIGITS(high * room, 6));
    double power = floor(log10(low / room));
    int64_t each = log10(high / low) > 3 ? 1 : 3, marks = 0;
    for (; power <= log10(high * room); power++) {
        static const int digit[] = {1, 2, 5};
        for (int64_t k = 0; k < each; k++) {
            double x = digit[k] * pow(10, power);
            if (x < low / room || x > high * room) continue;
            fprintf(f, "%s%s", marks++ > 0 ? ", " : "", SGFSI_DIGITS(x, 3));
        }
    }
    fputs(")\n", f);
}

static const char *draw_forest(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    enum { MOST = 40 };
    int64_t list[MOST], count = list_effects(r, MOST, list);
    const sgfs_summary *s = r->run[0].summary;
    bool ratio = r->ratio != NULL;
    if (count == 0) return "There is no effect with an interval.";
    sgfsi_plot_data(f, 0);
    for (int64_t k = 0; k < count; k++) {
        const sgfsi_effect *e = &r->effect[list[k]];
        const sgfsi_interval *i = ratio ? &e->ratio : &e->own;
        sgfsi_plot_row(f, 4, (double[]){i->centre, (double)(count - k), i->low, i->high});
    }
    sgfsi_plot_end(f);
    fputs("set ytics (", f);
    for (int64_t k = 0; k < count; k++) {
        if (k > 0) fputs(", ", f);
        sgfsi_plot_text(f, s->row[list[k]].name);
        fprintf(f, " %lld", (long long)(count - k));
    }
    fprintf(f,
            ")\nunset grid\nset grid x lt 1 lw 0.6 lc rgb %s\nset yrange [0.4:%lld.6]\nset xlabel "
            "'%s, with %s %% %ss'\n",
            SGFSI_PLOT_FAINT, (long long)count, ratio ? r->ratio : "coefficient",
            SGFSI_DIGITS(100 * r->share, 4), r->interval);
    if (ratio) put_ratio_axis(r, count, list, f);
    fprintf(f,
            "set arrow from %d, graph 0 to %d, graph 1 nohead lw 1 dt 2 lc rgb %s\nplot $d0 using "
            "1:2:3:4 with xerrorbars pt 7 ps 0.6 lw 1.6 lc rgb %s notitle\n",
            ratio, ratio, SGFSI_PLOT_INK, sgfsi_plot_colour(0));
    p->height = (int)(90 + 20 * count);
    snprintf(p->alt, sizeof p->alt, "%s of %lld parameters with %s %% %ss; the table has them.",
             ratio ? "Ratios" : "Coefficients", (long long)count, SGFSI_DIGITS(100 * r->share, 4),
             r->interval);
    for (int64_t k = 0; k < count && ratio; k++) { /* points that lie on the dashed line, nearly */
        const sgfsi_interval *i = &r->effect[list[k]].ratio;
        const double units = sgfsi_ratio_units(i->low, i->centre, i->high);
        if (units > 0 && strlen(p->title) < 80)
            sgfsi_append(p->title, sizeof p->title, "; of %.15g units of %.40s: %.4g", units,
                         s->row[list[k]].name, exp(log(i->centre) * units));
    }
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_forest = {
    .name = "forest",
    .help = "effects with their intervals, one above the other",
    .title = "Effects",
    .note = "A point is the median of the draws, the line through it the interval. The dashed line "
            "is where there is no effect.",
    .of = SGFSI_OF_RUN,
    .wide = true,
    .draw = draw_forest};

/* ---- pairs ----------------------------------------------------------------------------------- */

typedef struct plane {
    double mean[2], cov[3]; /* xx, xy, yy */
} plane;

static plane plane_of(const sgfsi_report_run *run, const int64_t at[2]) {
    const double *mean = run->moments.mean;
    plane out = {{mean[at[0]], mean[at[1]]}, {0, 0, 0}};
    const sgfsi_used *used = &run->used;
    double n = (double)(used->chains * used->draws);
    for (int64_t c = 0; c < used->chains; c++) {
        const double *theta = run->draws->chain[used->chain[c]].theta;
        for (int64_t t = 0; t < used->draws; t++, theta += run->draws->D) {
            double x = theta[at[0]] - out.mean[0], y = theta[at[1]] - out.mean[1];
            out.cov[0] += x * x / (n - 1);
            out.cov[1] += x * y / (n - 1);
            out.cov[2] += y * y / (n - 1);
        }
    }
    return out;
}

/* Points on the ellipse that a Gaussian of these moments has the share in. */
static void put_ellipse(FILE *f, const plane *a, double share) {
    double r = sqrt(-2 * log(1 - share)), l11 = sqrt(a->cov[0]), l21 = a->cov[1] / l11;
    double l22 = sqrt(fmax(0, a->cov[2] - l21 * l21));
    for (int k = 0; k <= 72; k++) {
        double x = r * cos(k * 0.08726646259971647), y = r * sin(k * 0.08726646259971647);
        sgfsi_plot_row(f, 2, (double[]){a->mean[0] + l11 * x, a->mean[1] + l21 * x + l22 * y});
    }
}

static const char *draw_pairs(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    enum { POINTS = 400 };
    const int64_t at[2] = {p->param, p->other};
    const sgfsi_report_run *run = &r->run[0];
    if (p->other < 0) return "There are no two parameters whose draws are correlated.";
    const char *name[2] = {run->draws->param[at[0]], run->draws->param[at[1]]};
    int64_t each = POINTS / run->used.chains, D = run->draws->D;
    each = each < 4 ? 4 : each;
    each = each < run->used.draws ? each : run->used.draws;
    sgfsi_plot_data(f, 90);
    for (int64_t c = 0; c < run->used.chains; c++) {
        const double *theta = run->draws->chain[run->used.chain[c]].theta;
        for (int64_t k = 0; k < each; k++) {
            const double *draw = theta + sgfsi_place(k, each, run->used.draws) * D;
            sgfsi_plot_row(f, 2, (double[]){draw[at[0]], draw[at[1]]});
        }
    }
    sgfsi_plot_end(f);
    double correlation = 0;
    for (int64_t k = 0; k < r->runs; k++) {
        plane a = plane_of(&r->run[k], at);
        if (k == 0) correlation = a.cov[1] / sqrt(a.cov[0] * a.cov[2]);
        sgfsi_plot_data(f, k);
        put_ellipse(f, &a, 0.5);
        fputc('\n', f);
        put_ellipse(f, &a, 0.9);
        sgfsi_plot_end(f);
    }
    for (int k = 0; k < 2; k++) {
        fprintf(f, "set %clabel ", "xy"[k]);
        sgfsi_plot_text(f, name[k]);
        fputc('\n', f);
    }
    if (r->runs > 1) fputs("set key top right\n", f);
    fputs("plot ", f);
    if (r->runs == 1)
        fprintf(f, "$d90 using 1:2 with points pt 7 ps 0.25 lc rgb %s notitle, ", SGFSI_PLOT_MID);
    for (int64_t k = 0; k < r->runs; k++) {
        fprintf(f, "%s$d%lld using 1:2 with lines lw 1.8 lc rgb %s", k > 0 ? ", " : "",
                (long long)k, sgfsi_plot_colour(k));
        if (r->runs > 1) {
            fputs(" title ", f);
            sgfsi_plot_text(f, r->run[k].label);
        } else {
            fputs(" notitle", f);
        }
    }
    fputc('\n', f);
    snprintf(
        p->alt, sizeof p->alt,
        "Draws of %.100s against %.100s with the ellipses of 50 %% and 90 %%: correlation %.2f.",
        name[0], name[1], correlation);
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_pairs = {
    .name = "pairs",
    .help = "two parameters against each other, with ellipses: those most correlated",
    .title = "Pair",
    .note =
        "The pairs of parameters whose draws are most correlated. The ellipses hold 50 % and 90 "
        "% of a Gaussian with the mean and the covariance of the draws: points that follow them "
        "are close to Gaussian.",
    .of = SGFSI_OF_PAIR,
    .draw = draw_pairs};

/* ---- spectrum -------------------------------------------------------------------------------- */

static const char *draw_spectrum(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    int64_t D = r->run[0].draws->D;
    const sgfsi_moments *m = &r->run[0].moments;
    if (D < 2) return "One parameter has no spectrum.";
    if (m->cov == NULL) return "It is made for up to 400 parameters.";
    if (m->count <= D) return "There are fewer draws than parameters.";
    sgfsi_arena work = {0};
    double *A = SGFSI_DOUBLES(&work, D * D), *value = SGFSI_DOUBLES(&work, 2 * D);
    for (int64_t i = 0; A != NULL && i < D; i++)
        for (int64_t j = 0; j < D; j++)
            A[i * D + j] = m->cov[i * D + j] / sqrt(m->var[i] * m->var[j]);
    bool finite = A != NULL && value != NULL;
    for (int64_t i = 0; finite && i < D * D; i++) finite = isfinite(A[i]);
    if (finite) sgfsi_eigenvalues(D, A, value, value + D);
    const char *absent =
        finite && value[0] > 0 ? NULL : "The covariance of the draws has no inverse.";
    double condition = NAN;
    if (absent == NULL) {
        condition = value[D - 1] / value[0];
        sgfsi_plot_data(f, 0);
        for (int64_t i = 0; i < D; i++)
            sgfsi_plot_row(f, 2, (double[]){(double)(i + 1), 1 / value[i]});
        sgfsi_plot_end(f);
        fprintf(
            f,
            "set logscale y\nset xlabel 'direction, stiffest first'\nset ylabel 'eigenvalue'\nset "
            "xrange [0.5:%lld.5]\nset arrow from graph 0, first 1 to graph 1, first 1 nohead lw "
            "1 lc rgb %s\nplot $d0 using 1:2 with %s lc rgb %s notitle\n",
            (long long)D, SGFSI_PLOT_MID, D > 60 ? "lines lw 1.8" : "points pt 7 ps 0.5",
            sgfsi_plot_colour(0));
        snprintf(p->alt, sizeof p->alt,
                 "Eigenvalues of the information about %lld parameters, each in units of its own "
                 "spread: the stiffest direction is known %s times as precisely as the loosest.",
                 (long long)D, SGFSI_DIGITS(sqrt(condition), 3));
    }
    p->lacks_memory = sgfsi_arena_failed(&work);
    sgfsi_arena_free(&work);
    return absent;
}

const sgfsi_picture_kind sgfsi_picture_spectrum = {
    .name = "spectrum",
    .help = "eigenvalues of the information (Fisher) matrix that the draws imply",
    .title = "Spectrum of the Fisher matrix",
    .note = "Eigenvalues of the inverse covariance of the draws, which is the Fisher matrix of all "
            "rows and the prior where the posterior is Gaussian. Each parameter is measured in its "
            "own standard deviation, so that 1 everywhere means no correlation; a steep curve is "
            "what makes simple samplers slow.",
    .of = SGFSI_OF_RUN,
    .draw = draw_spectrum};

/* ---- time ------------------------------------------------------------------------------------ */

static double opening_seconds(const sgfs_draws *d) {
    const sgfsi_json *info = sgfsi_json_get(d->header, "sampler_info");
    double seconds = sgfsi_json_get_num(sgfsi_json_get(info, "anchor"), "seconds", 0) +
                     sgfsi_json_get_num(sgfsi_json_get(info, "exact"), "seconds", 0);
    return seconds >= 0 ? seconds : 0;
}

/* Of the chain that took longest. */
static double longest_seconds(const sgfsi_report *r) {
    double longest = 0;
    for (int64_t k = 0; k < r->runs; k++) {
        const sgfs_draws *d = r->run[k].draws;
        for (int64_t c = 0; c < d->chains; c++) {
            const sgfsi_chain_info *info = &d->chain[c].info;
            longest =
                fmax(longest, opening_seconds(d) + info->warmup_seconds + info->sample_seconds);
        }
    }
    return longest;
}

static const char *draw_time(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    enum { MOST = 16 };
    const double unit = longest_seconds(r) < 1 ? 1000 : 1; /* milliseconds */
    double warm = 0, sampling = 0, opening = 0;
    int64_t bars = 0;
    sgfsi_plot_data(f, 0);
    for (int64_t k = 0; k < r->runs; k++) {
        const sgfs_draws *d = r->run[k].draws;
        for (int64_t c = 0; c < d->chains; c++) {
            const sgfsi_chain_info *info = &d->chain[c].info;
            if (k == 0) warm += info->warmup_seconds, sampling += info->sample_seconds;
            if (k == 0) opening = opening_seconds(d);
            if (bars == MOST || (r->runs > 1 && c > 0)) continue;
            double opened = unit * opening_seconds(d),
                   warmed = opened + unit * info->warmup_seconds;
            bars++;
            sgfsi_plot_row(
                f, 4,
                (double[]){-(double)bars, opened, warmed, warmed + unit * info->sample_seconds});
        }
    }
    sgfsi_plot_end(f);
    fputs("set ytics (", f);
    int64_t bar = 0;
    for (int64_t k = 0; k < r->runs; k++) {
        for (int64_t c = 0; c < r->run[k].draws->chains && bar < bars; c++) {
            if (r->runs > 1 && c > 0) continue;
            char text[200];
            snprintf(text, sizeof text, "chain %lld", (long long)(c + 1));
            if (bar++ > 0) fputs(", ", f);
            sgfsi_plot_text(f, r->runs > 1 ? r->run[k].label : text);
            fprintf(f, " -%lld", (long long)bar);
        }
    }
    fprintf(
        f,
        ")\nunset grid\nset grid x lt 1 lw 0.6 lc rgb %s\nset key outside top center horizontal\n"
        "set xlabel '%s'\nset yrange [-%lld.6:-0.4]\nset xrange [0:*]\nset style fill solid "
        "0.9 noborder\nplot $d0 using 2:1:(0):2:($1-0.32):($1+0.32) with boxxyerror lc rgb %s "
        "title 'opening', $d0 using 3:1:2:3:($1-0.32):($1+0.32) with boxxyerror lc rgb %s title "
        "'warm-up', $d0 using 4:1:3:4:($1-0.32):($1+0.32) with boxxyerror lc rgb %s title "
        "'sampling'\n",
        SGFSI_PLOT_FAINT, unit > 1 ? "milliseconds" : "seconds", (long long)bars, SGFSI_PLOT_MID,
        sgfsi_plot_colour(5), sgfsi_plot_colour(0));
    snprintf(
        p->alt, sizeof p->alt,
        "Time of the first run: %s s to open it, then %s s of warm-up and %s s of sampling over "
        "all chains.",
        SGFSI_DIGITS(opening, 3), SGFSI_DIGITS(warm, 3), SGFSI_DIGITS(sampling, 3));
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_time = {
    .name = "time",
    .help = "where the time went: opening, warm-up and sampling of each chain",
    .title = "Time",
    .note =
        "Opening is the search for the mode and the passes over all rows that some samplers begin "
        "with; warm-up ends before the first draw that is kept.",
    .of = SGFSI_OF_RUN,
    .draw = draw_time};

/* ---- statistics ------------------------------------------------------------------------------ */

/* The statistic that says most of how the sampler went. */
static int64_t statistic_of(const sgfs_draws *d) {
    static const char *const names[] = {SGFSI_STAT_STEP_SIZE, SGFSI_STAT_ROWS, SGFSI_STAT_LP};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        int64_t column = sgfsi_draws_stat(d, names[k]);
        double low = INFINITY, high = -INFINITY;
        for (int64_t c = 0; column >= 0 && c < d->chains; c++) {
            for (int64_t t = 0; t < d->chain[c].draws; t++) {
                double x = d->chain[c].stats[t * d->S + column];
                low = fmin(low, x);
                high = fmax(high, x);
            }
        }
        if (isfinite(low) && isfinite(high) && low < high) return column;
    }
    return -1;
}

static const char *draw_steps(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    const sgfs_draws *d = r->run[0].draws;
    int64_t column = statistic_of(d);
    if (column < 0) return "Nothing that the sampler says of its draws changes along the run.";
    bool lp = strcmp(d->stat[column], SGFSI_STAT_LP) == 0;
    sgfsi_plot_chains(r, f, column, false, lp ? "log posterior density" : d->stat[column]);
    snprintf(p->alt, sizeof p->alt, "The statistic %.60s of the sampler along the run, by chain.",
             d->stat[column]);
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_steps = {
    .name = "steps",
    .help = "what the sampler says of its draws: step sizes, or else the log density",
    .title = "Along the run",
    .note =
        "A statistic that the sampler keeps with each draw. After warm-up it should look the same "
        "from the beginning to the end, unless steps were annealed.",
    .of = SGFSI_OF_RUN,
    .draw = draw_steps};

/* ---- interventions --------------------------------------------------------------------------- */

static const char *draw_interventions(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    enum { MOST = 64 };
    const sgfs_draws *d = r->run[0].draws;
    int64_t diverging = sgfsi_draws_stat(d, SGFSI_STAT_DIVERGING), most = d->chains;
    double total = 0;
    most = most < MOST ? most : MOST;
    double count[MOST][3] = {{0}};
    for (int64_t c = 0; c < most; c++) {
        const sgfsi_chain_draws *chain = &d->chain[c];
        count[c][0] = (double)chain->info.interventions;
        count[c][1] = (double)chain->info.reanchors;
        for (int64_t t = 0; diverging >= 0 && t < chain->draws; t++)
            count[c][2] += chain->stats[t * d->S + diverging] > 0;
        for (int k = 0; k < 3; k++) total += count[c][k];
    }
    if (total == 0)
        return "Nothing had to be repaired: no ridge was added, no step lowered, no trajectory "
               "diverged.";
    sgfsi_plot_data(f, 0);
    for (int64_t c = 0; c < most; c++) {
        double x = (double)(c + 1);
        sgfsi_plot_row(f, 4, (double[]){x, count[c][0], count[c][1], count[c][2]});
    }
    sgfsi_plot_end(f);
    fprintf(
        f,
        "set xlabel 'chain'\nset xrange [0.4:%lld.6]\nset yrange [0:*]\nset key top right\nset "
        "style fill solid 0.8 noborder\nset boxwidth 0.25\nplot $d0 using ($1-0.25):2 with boxes "
        "lc rgb %s title 'ridges, lowered steps', $d0 using 1:3 with boxes lc rgb %s title 'new "
        "anchors', $d0 using ($1+0.25):4 with boxes lc rgb %s title 'divergences'\n",
        (long long)most, sgfsi_plot_colour(1), sgfsi_plot_colour(2), sgfsi_plot_colour(3));
    snprintf(p->alt, sizeof p->alt, "What had to be repaired, by chain: %s times in all.",
             SGFSI_DIGITS(total, 12));
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_interventions = {
    .name = "interventions",
    .help = "how often each chain had to be helped: ridges, lowered steps, divergences",
    .title = "Interventions",
    .note = "Nothing is repaired in silence: a ridge keeps a matrix positive definite, a step is "
            "lowered where it would leave the numbers.",
    .of = SGFSI_OF_RUN,
    .draw = draw_interventions};

/* ---- predictions ----------------------------------------------------------------------------- */

static const char *draw_validation(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    int64_t curves = 0;
    const sgfs_summary *s = r->run[0].summary;
    if (s->points == 0) return "The run kept no rows aside (sgfs sample --validate FILE).";
    fputs("set xlabel 'seconds of the chain'\nset ylabel ", f);
    sgfsi_plot_text(f, s->error_name);
    fputc('\n', f);
    for (int64_t k = 0; k < r->runs; k++) {
        const sgfs_summary *one = r->run[k].summary;
        for (int64_t i = 0; i < one->points; i++) {
            bool first = i == 0 || one->curve[i].chain != one->curve[i - 1].chain;
            if (first) sgfsi_plot_data(f, curves);
            bool warm = isnan(one->curve[i].error);
            sgfsi_plot_row(f, 2,
                           (double[]){one->curve[i].seconds,
                                      warm ? one->curve[i].error_now : one->curve[i].error});
            bool last = i + 1 == one->points || one->curve[i + 1].chain != one->curve[i].chain;
            if (last) sgfsi_plot_end(f), curves++;
        }
    }
    fputs("plot ", f);
    for (int64_t c = 0; c < curves; c++)
        fprintf(f, "%s$d%lld using 1:2 with lines lw 1.4 lc rgb %s notitle", c > 0 ? ", " : "",
                (long long)c, sgfsi_plot_colour(c));
    fputc('\n', f);
    snprintf(p->alt, sizeof p->alt,
             "The %.40s on rows kept aside along the run, by chain; %s at its end.", s->error_name,
             SGFSI_DIGITS(s->error, 4));
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_validation = {
    .name = "validation",
    .help = "the error on rows kept aside, along the run (--validate)",
    .title = "Error along the run",
    .note = "The error on the rows of --validate, predicted by the average over the draws so far; "
            "during warm-up by the latest one.",
    .of = SGFSI_OF_RUN,
    .draw = draw_validation};

static const char *draw_calibration(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    const sgfs_prediction *q = r->prediction != NULL ? sgfs_job_result(r->prediction) : NULL;
    if (q == NULL) return "It needs rows with known targets (--test-data FILE).";
    if (!q->scored) return "The rows of --test-data have no target.";
    if (q->labels == 0 && !q->intervals) return "The model cannot draw targets.";
    sgfsi_plot_data(f, 0);
    double used = (double)(q->rows - q->unscored);
    for (int b = 0; b < 10; b++) {
        const sgfs_predict_bin *bin = &q->bin[b];
        double spread = sqrt(bin->predicted * (1 - bin->predicted) / (double)bin->rows);
        if (q->labels > 0 && bin->rows > 0)
            sgfsi_plot_row(f, 3, (double[]){bin->predicted, bin->observed, 2 * spread});
        if (q->labels == 0)
            sgfsi_plot_row(f, 2, (double[]){10 * b + 5, 10 * (double)q->pit[b] / used});
    }
    sgfsi_plot_end(f);
    if (q->labels > 0) {
        fputs("set xlabel ", f);
        char text[160];
        snprintf(text, sizeof text, "predicted probability%s%.60s",
                 q->bins[0] != '\0' ? " of " : "", q->bins);
        sgfsi_plot_text(f, text);
        fprintf(
            f,
            "\nset ylabel 'observed share'\nset xrange [0:1]\nset yrange [0:1]\nset arrow from "
            "0,0 to 1,1 nohead lw 1 dt 2 lc rgb %s\nplot $d0 using 1:2:3 with yerrorbars pt 7 ps "
            "0.7 lw 1.4 lc rgb %s notitle\n",
            SGFSI_PLOT_INK, sgfsi_plot_colour(0));
        snprintf(p->alt, sizeof p->alt,
                 "Observed shares against predicted probabilities of %s rows; the mean distance is "
                 "%s.",
                 SGFSI_COMMAS(used), SGFSI_DIGITS(q->ece, 2));
    } else {
        fprintf(
            f,
            "set xlabel 'percentile of the predictive distribution'\nset ylabel 'targets, 1 is "
            "even'\nset xrange [0:100]\nset yrange [0:*]\nset boxwidth 9\nset style fill solid "
            "0.7 noborder\nset arrow from 0,1 to 100,1 nohead lw 1 dt 2 lc rgb %s front\nplot $d0 "
            "using 1:2 with boxes lc rgb %s notitle\n",
            SGFSI_PLOT_INK, sgfsi_plot_colour(0));
        snprintf(
            p->alt, sizeof p->alt,
            "Targets of %s rows by tenths of their predictive distribution; %s %% lie in the 90 "
            "%% interval.",
            SGFSI_COMMAS(used), SGFSI_DIGITS(100 * q->coverage, 3));
    }
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_calibration = {
    .name = "calibration",
    .help = "are probabilities what they say? (--test-data FILE)",
    .title = "Calibration",
    .note =
        "Points on the dashed line are right: of rows that are given 30 %, 30 % are so. The bars "
        "are what chance alone does (two standard deviations). For numbers: how targets fall "
        "among their predictive distributions, level where that is right.",
    .of = SGFSI_OF_RUN,
    .draw = draw_calibration};

static const char *draw_roc(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    const sgfs_prediction *q = r->prediction != NULL ? sgfs_job_result(r->prediction) : NULL;
    if (q == NULL) return "It needs rows with known labels (--test-data FILE).";
    if (isnan(q->auc)) return "It is made for rows with two labels, both of them.";
    sgfsi_plot_data(f, 0);
    sgfsi_plot_row(f, 2, (double[]){0, 0});
    for (int k = 0; k <= 100; k++) sgfsi_plot_row(f, 2, (double[]){0.01 * k, q->hits[k]});
    sgfsi_plot_end(f);
    fprintf(
        f,
        "set xlabel 'others taken for it'\nset ylabel 'rows found'\nset xrange [0:1]\nset yrange "
        "[0:1]\nset arrow from 0,0 to 1,1 nohead lw 1 dt 2 lc rgb %s\nplot $d0 using 1:2 with "
        "lines lw 2 lc rgb %s notitle\n",
        SGFSI_PLOT_INK, sgfsi_plot_colour(0));
    snprintf(
        p->alt, sizeof p->alt,
        "Rows with the label \"%.60s\" that are found against others that are taken for it; the "
        "area under the curve is %s.",
        q->bins, SGFSI_DIGITS(q->auc, 4));
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_roc = {
    .name = "roc",
    .help = "hits against false alarms, of two labels (--test-data FILE)",
    .title = "ROC",
    .note = "Share of the rows with the label that are found, against the share of the others that "
            "are taken for it, for every threshold. The dashed line is what guessing does.",
    .of = SGFSI_OF_RUN,
    .draw = draw_roc};

/* ---- error of the moments -------------------------------------------------------------------- */

static const char *draw_error(sgfsi_report *r, sgfsi_picture *p, FILE *f) {
    enum { POINTS = 40 };
    double points[3 * POINTS];
    int64_t curves = 0, of[64];
    if (!r->has_reference)
        return r->runs > 1 ? "None of the runs is exact enough to be the reference (--reference)."
                           : "It needs a reference: other runs, or --reference FILE.";
    bool spread = false;
    for (int64_t k = 0; k < r->runs && curves < 64; k++) {
        if (r->run[k].is_reference) continue;
        int64_t n = sgfsi_report_errors(r, &r->run[k], POINTS, points);
        p->lacks_memory = p->lacks_memory || n < 0;
        if (n < 2) continue;
        of[curves] = k;
        sgfsi_plot_data(f, curves++);
        for (int64_t i = 0; i < n; i++) {
            sgfsi_plot_row(f, 3, points + 3 * i);
            spread = spread || isfinite(points[3 * i + 2]);
        }
        sgfsi_plot_end(f);
    }
    if (curves == 0) return "There is no other run to compare with the reference.";
    fputs(
        "set logscale xy\nset xlabel 'seconds'\nset ylabel 'relative error'\nset key outside right "
        "top\nplot ",
        f);
    for (int64_t c = 0; c < curves; c++) {
        for (int m = 0; m < 1 + spread; m++) {
            char text[200];
            snprintf(text, sizeof text, "%.120s%s", r->run[of[c]].label,
                     m == 0 ? ": means" : ": covariances");
            fprintf(f, "%s$d%lld using 1:%d with lines lw 1.8 dt %d lc rgb %s title ",
                    c + m > 0 ? ", " : "", (long long)c, m + 2, m + 1, sgfsi_plot_colour(of[c]));
            sgfsi_plot_text(f, text);
        }
    }
    fputc('\n', f);
    snprintf(p->alt, sizeof p->alt,
             "Relative error of the means and covariances of the draws so far against seconds, for "
             "%lld run%s, on logarithmic axes; the reference is %.100s.",
             (long long)curves, curves == 1 ? "" : "s", r->reference_name);
    return NULL;
}

const sgfsi_picture_kind sgfsi_picture_error = {
    .name = "error",
    .help = "error of means and covariances against time, for each run",
    .title = "Error against time",
    .note =
        "How far the mean (solid) and the covariance (dashed) of the draws so far are from the "
        "reference, relative to its size: lower and further left is better. A curve that levels "
        "off has reached the bias of its sampler, or the noise of the reference.",
    .of = SGFSI_OF_RUN,
    .wide = true,
    .draw = draw_error};
