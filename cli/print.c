/* SPDX-License-Identifier: MIT
 * print.c: tables to stdout; notes, warnings and the progress line to stderr.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/printable.h"
#include "cli.h"

/* ---- messages and progress ------------------------------------------------------------------- */

static bool line_open = false; /* a progress line stands on the terminal */

bool cli_is_terminal(void) {
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && (term == NULL || strcmp(term, "dumb") != 0);
}

void cli_progress_end(void) {
    if (line_open) cli_print_over("");
    line_open = false;
}

double cli_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How far the opening is, in the line where the progress of the draws will be; where stderr is no
 * terminal, a line every two seconds. */
static void show_tick(const char *text) {
    static double last = -INFINITY;
    double now = cli_now();
    line_open = cli_is_terminal();
    if (line_open) cli_print_over(text);
    else if (now >= last + 2) {
        fprintf(stderr, "%s\n", text);
        last = now;
    }
}

void cli_message(sgfs_level level, const char *text, void *user) {
    const cli_args *args = user;
    if (level == SGFS_TICK) cli_say_progress(text);
    if (level != SGFS_WARNING && args->quiet) return;
    if (level == SGFS_DETAIL && !args->verbose) return;
    if (level == SGFS_TICK) {
        show_tick(text);
        return;
    }
    cli_progress_end();
    cli_print_wrapped(stderr, level == SGFS_WARNING ? "warning: " : "", text);
}

static void format_time(double seconds, char out[32]) {
    if (seconds < 0) snprintf(out, 32, "?");
    else if (seconds < 100) snprintf(out, 32, "%.0f s", seconds);
    else if (seconds < 6000) snprintf(out, 32, "%.0f min", seconds / 60);
    else snprintf(out, 32, "%.1f h", seconds / 3600);
}

/* user: the second from which on a line is shown (INFINITY: never); a plain one (stderr is no
 * terminal) every ten. */
static void show_progress(const sgfs_progress *p, void *user) {
    double *due = user;
    if (p->detail[0] == '\0') return; /* the opening of something, of which a message tells */
    char eta[32], line[512];
    bool live = cli_is_terminal();
    format_time(p->eta, eta);
    snprintf(line, sizeof line, "%-8s %3.0f %%  %s, %s to go", p->what, 100 * p->fraction,
             p->detail, eta);
    cli_say_progress(line);
    if (p->seconds < *due) return;
    *due = p->seconds + (live ? 0.1 : 10);
    if (live) cli_print_over(line);
    else fprintf(stderr, "%s\n", line);
    line_open = live;
}

static void stop_work(void *cfg) {
    sgfs_config_stop(cfg);
}

void cli_watch(sgfs_config *cfg, double *due) {
    sgfs_config_on_progress(cfg, due != NULL ? show_progress : NULL, due);
    cli_on_interrupt(stop_work, due != NULL ? cfg : NULL);
}

sgfs_status cli_run_job(sgfs_job *job, const cli_args *args, sgfs_err *err) {
    double due = args->quiet ? INFINITY : 2;
    if (job == NULL) return err->code;
    cli_watch(args->cfg, &due);
    sgfs_status status = sgfs_job_run(job, err);
    cli_watch(args->cfg, NULL);
    cli_progress_end();
    return status;
}

void cli_print_quoted(const char *text) {
    putchar('"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        putchar((unsigned char)*text < ' ' ? ' ' : *text);
    }
    putchar('"');
}

sgfs_status cli_print_json(const sgfs_job *job, sgfs_err *err) {
    char *text = sgfs_job_json(job);
    if (text == NULL) return cli_fail(err, SGFS_ENOMEM, "Out of memory for the result.");
    /* What terminal.c would replace stands in strings, which have another way to say it. */
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        bool above = c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0; /* C1: U+0080 to U+009F */
        if (above || c[0] == 0x7F) printf("\\u%04x", *(c += above));
        else putchar(*c);
    }
    putchar('\n');
    sgfs_text_free(text);
    return SGFS_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

void cli_print_warnings(const sgfs_summary *s, FILE *to) {
    if (to == stderr && !s->trust) cli_print_wrapped(to, "warning: ", s->verdict); /* no table */
    for (int64_t i = 0; i < s->warnings; i++) cli_print_wrapped(to, "warning: ", s->warning[i]);
}

/* What is not shown to everybody: costs in the units of the paper, and what had to be mended. */
static void print_costs(const sgfs_summary *s) {
    printf("mean and sd are over every draw, thinned away or not; %.3g rows touched; sampling "
           "%.3g s\n",
           s->rows_touched, s->sample_seconds);
    printf("smallest ESS %.4g (%.3g per second), longest autocorrelation time %.4g iterations, "
           "1/ATUC %.3g per second, %g ridges added\n",
           s->ess_min, s->ess_per_s, s->tau_max, s->inv_atuc, s->interventions);
    if (s->fallbacks > 0) printf("%lld sampler given up while opening\n", (long long)s->fallbacks);
    if (s->planned > 0 && s->made > s->planned) {
        printf("lengthened from %lld to %lld draws a chain, for more effective ones (--ess)\n",
               (long long)s->planned, (long long)s->made);
    }
    if (s->reanchors > 0)
        printf("new anchors on the way: %g, each a pass over all rows\n", s->reanchors);
    if (s->disk_bytes > 0) {
        printf(
            "packed files: looked at %.3g GB of pages, waited %.3g s (%.0f %%) for the disk, %.3g "
            "major faults\n",
            s->disk_bytes / 1e9, s->disk_wait, s->seconds > 0 ? 100 * s->disk_wait / s->seconds : 0,
            s->disk_faults);
    }
}

/* One list entry: ", acceptance 0.87"; nothing where the run has no such statistic. */
static void print_mean(const char *what, double x, const char *after) {
    if (isfinite(x)) printf(", %s %.3g%s", what, x, after);
}

static void print_bfmi(const sgfs_summary *s) {
    enum { SHOWN = 8 };
    const sgfs_trajectories *t = &s->trajectories;
    double least = INFINITY;
    if (t->bfmi == NULL) return;
    for (int64_t c = 0; c < s->chains; c++) least = fmin(least, t->bfmi[c]);
    printf("E-BFMI");
    for (int64_t c = 0; c < s->chains && s->chains <= SHOWN; c++) cli_print_num(t->bfmi[c], 0, 4);
    if (s->chains > SHOWN) printf(" at least %.4g", least);
    printf(" (one per chain; under 0.3 the tails are hard to reach%s)\n",
           t->thin > 1 ? "; thinning makes it look better than it is" : "");
}

static void print_trajectories(const sgfs_summary *s) {
    const sgfs_trajectories *t = &s->trajectories;
    double total = (double)s->chains * (double)s->draws;
    if (!t->known) return;
    printf("of %.0f%s trajectories", total, t->thin > 1 ? " kept" : "");
    if (isfinite(t->divergent)) printf(" %.0f diverged", t->divergent);
    if (isfinite(t->at_max_depth)) {
        printf(", %.3g %% reached the maximum depth %.0f", 100 * t->at_max_depth / total,
               t->max_depth);
    }
    print_mean("acceptance", t->acceptance_rate, "");
    print_mean("step size", t->step_size, "");
    print_mean("leapfrog steps", t->n_steps, " each");
    putchar('\n');
    print_bfmi(s);
}

static void print_asked(const sgfs_summary *s) {
    if (!s->asked.known) return;
    printf(
        "exact, up to Monte Carlo error: %.3g of the proposals accepted, %.3g rows asked for each "
        "draw, rho %.3g\n",
        s->asked.acceptance, s->asked.rows, s->asked.rho);
}

static void print_grouped(const sgfs_summary *s) {
    const sgfs_group_stats *g = &s->grouped;
    if (!g->known) return;
    printf("accepted: %.3g of the groups' proposals, %.3g of the coefficients', %.3g of the "
           "scales'\n"
           "longest autocorrelation time %.3g iterations; %.3g passes over the rows for each "
           "effective draw\n",
           g->groups, g->beta, g->scales, s->tau_max, g->passes);
}

/* Of a run whose alpha changes. */
static void print_phases(const sgfs_summary *s) {
    if (!(s->gaussian_draws > 0 && s->langevin_draws > 0)) return;
    printf("phases: after warm-up (Fisher scoring) %.0f draws of the Gaussian approximation "
           "(alpha <= 1), %.0f of preconditioned Langevin steps (alpha > 1)\n",
           s->gaussian_draws, s->langevin_draws);
}

/* A text that comes from a file, as print_name. */
static void print_text(const char *before, const char *text, const char *after) {
    fputs(before, stdout);
    cli_print_name(text, 0);
    puts(after);
}

/* A command to paste: the run file takes the place of RUN, unless no shell would take its name. */
static void print_next(const char *next, const char *run) {
    char word[1024] = "RUN";
    const char *place = strstr(next, " RUN");
    if (next[0] == '\0') return;
    (void)sgfsi_shell_word(run, word, sizeof word);
    if (place == NULL) printf("What to type next: %s\n", next);
    else
        printf("What to type next: %.*s %s%s\n", (int)(place - next), next, word,
               place + strlen(" RUN"));
}

/* A ratio that is next to 1 because its unit is small: what more units do. */
static void print_small_ratio(const sgfs_summary *s) {
    for (int64_t i = 0; s->ratio != NULL && i < s->dim; i++) {
        const sgfs_interval *r = &s->interval[i];
        double effect = log(r->centre);
        bool excludes = r->low > 1 || r->high < 1;
        if (!excludes || !(fabs(effect) < 1e-3 && fabs(effect) > 1e-15)) continue;
        char text[300];
        double units = pow(10, floor(-log10(fabs(effect))));
        snprintf(text, sizeof text,
                 "%.100s: one unit more hardly shows; the %s of %.15g units more is %.4g.",
                 s->row[i].name, s->ratio, units, exp(effect * units));
        cli_print_wrapped(stdout, "", text);
    }
}

void cli_print_summary(const sgfs_summary *s, const cli_display *how) {
    cli_print_wrapped(stdout, "", s->verdict);
    print_next(s->next, how->run);
    if (how->titled) cli_print_wrapped(stdout, "\n", s->title);
    if (how->verbose || strcmp(s->state, "complete") != 0) printf("state: %s\n", s->state);
    if (how->verbose && s->chosen[0] != '\0') cli_print_wrapped(stdout, "", s->chosen);
    putchar('\n');
    cli_print_table(s, how);
    putchar('\n');
    if (s->compared[0] != '\0') cli_print_wrapped(stdout, "", s->compared);
    if (s->units[0] != '\0') cli_print_wrapped(stdout, "", s->units);
    print_small_ratio(s);
    printf("%lld chain%s x %lld kept draws, %.3g s%s\n", (long long)s->chains,
           s->chains == 1 ? "" : "s", (long long)s->draws, s->seconds,
           s->chains == 1 ? "" : " (sum over chains)");
    print_grouped(s);
    if (s->points > 0) {
        printf("rows kept aside: %s %.4g, log loss %.4g, predicted by each chain's draws and "
               "averaged over chains; `sgfs export RUN run.curve.csv` has the way there\n",
               s->error_name, s->error, s->log_loss);
    }
    if (how->verbose) {
        print_costs(s);
        print_trajectories(s);
        print_asked(s);
        print_phases(s);
    }
    if (s->audit.brief != NULL) print_text("Audit: ", s->audit.brief, ".");
    cli_print_warnings(s, stdout);
}

static void print_measure(const char *name, double x, double noise, const char *meaning) {
    if (!isfinite(x)) {
        printf("%-4s cannot be computed from this reference (no covariance, or a singular one; "
               "means of 0)\n",
               name);
        return;
    }
    printf("%-4s %-9.4g %s", name, x, meaning);
    if (isfinite(noise)) printf(" %.2g", noise);
    putchar('\n');
}

static void print_pair(const sgfs_compare *c, const char *what, const int64_t pair[2]) {
    if (pair[0] < 0) return;
    printf("2-d marginal that agrees %s: %s, %s\n", what, c->row[pair[0]].name,
           c->row[pair[1]].name);
}

/* One sentence that says whether what is left over is more than noise; where noise could hide
 * anything, or the reference has nothing to compare with, it says that instead. */
static void print_verdict(const sgfs_compare *c) {
    double worst = -1;
    bool one_spread = false; /* some parameter's, by more than 4.5 errors and 1 % */
    for (int64_t i = 0; i < c->dim; i++) {
        const sgfs_compare_row *r = &c->row[i];
        if (isfinite(r->z)) worst = fmax(worst, fabs(r->z));
        one_spread =
            one_spread || (fabs(r->z_sd) > 4.5 && fabs(log(r->sd / r->reference_sd)) > 0.01);
    }
    bool known = isfinite(c->trR) && isfinite(c->trR_noise);
    bool spread_differs = known && (one_spread || fabs(c->trR - 1) > 4 * c->trR_noise + 0.01 ||
                                    c->E2 > 2 * c->E2_noise + 0.03);
    if (worst > 4.5 || spread_differs) {
        printf("The run differs from the reference by more than Monte Carlo error: %s%s%s.\n",
               worst > 4.5 ? "means (see z)" : "", worst > 4.5 && spread_differs ? " and " : "",
               spread_differs ? "spread (see z of sd, trR, E2)" : "");
    } else if (worst < 0 || !(c->ess_min >= 100) || (known && c->trR_noise > 0.1)) {
        puts("Too few effective draws to say whether the run agrees with the reference.");
    } else {
        printf("The run agrees with the reference within Monte Carlo error%s.\n",
               known ? "" : " (means only: no spread to compare with)");
    }
}

void cli_print_compare(const sgfs_compare *c) {
    int width = cli_name_width(c->dim, c->row, sizeof *c->row, 60);
    cli_print_name("parameter", width);
    printf(" %10s %10s %7s %10s %10s %7s\n", "mean", "reference", "z", "sd", "ref. sd", "z of sd");
    for (int64_t i = 0; i < c->dim; i++) {
        const sgfs_compare_row *r = &c->row[i];
        cli_print_name(r->name, width);
        cli_print_num(r->mean, 10, 4);
        cli_print_num(r->reference, 10, 4);
        cli_print_num(round(100 * r->z) / 100, 7, 4);
        cli_print_num(r->sd, 10, 4);
        cli_print_num(r->reference_sd, 10, 4);
        cli_print_num(round(100 * r->z_sd) / 100, 7, 4);
        putchar('\n');
    }
    putchar('\n');
    print_measure("E1", c->E1, c->E1_noise,
                  "relative error of the means; Monte Carlo noise alone gives about");
    print_measure("E2", c->E2, c->E2_noise,
                  "relative error of the covariances; Monte Carlo noise alone gives about");
    print_measure("trR", c->trR, c->trR_noise,
                  "tr(C*^-1 C)/D, 1 is right; Monte Carlo noise alone gives +-");
    print_pair(c, "best", c->best);
    print_pair(c, "worst", c->worst);
    if (c->true_total > 0) {
        printf("generating values inside their 90 %% intervals: %lld of %lld\n",
               (long long)c->true_inside, (long long)c->true_total);
    }
    print_verdict(c);
}

void cli_print_mode(const sgfs_mode *m) {
    int width = cli_name_width(m->dim, m->row, sizeof *m->row, 22);
    printf("%s: the mode, and the Gaussian with the curvature there (not the posterior)\n\n",
           m->title);
    cli_print_name("parameter", width);
    printf(" %10s %10s\n", "mode", "sd");
    for (int64_t i = 0; i < m->dim; i++) {
        cli_print_name(m->row[i].name, width);
        cli_print_num(m->row[i].mode, 10, 4);
        cli_print_num(m->row[i].sd, 10, 4);
        putchar('\n');
    }
    printf(
        "\nlog density %.10g; %s: %lld steps, %lld passes over the data, %.3g s; what is left is "
        "%.1g of a standard deviation\n",
        m->log_density, strcmp(m->method, "fisher") == 0 ? "Fisher scoring" : "L-BFGS",
        (long long)m->iterations, (long long)m->passes, m->seconds, m->distance);
    if (m->cov == NULL) {
        puts("No sd: the matrix of the curvature is too large, or the model does not have it.");
    }
}

void cli_print_check_grad(const sgfs_check_grad *c) {
    enum { SHOWN = 10 };
    int64_t shown = c->checked < SHOWN ? c->checked : SHOWN;
    int width = cli_name_width(shown, c->row, sizeof *c->row, 59);
    printf("%s; %lld points, 1 is the model's start\n\n", c->title, (long long)c->points);
    cli_print_name("parameter", width);
    printf(" %5s %14s %14s %10s %10s\n", "point", "analytic", "numeric", "error", "doubt");
    for (int64_t i = 0; i < shown; i++) {
        const sgfs_check_grad_row *r = &c->row[i];
        cli_print_name(r->name, width);
        printf(" %5lld %14.7g %14.7g %10.2g %10.2g%s\n", (long long)r->point, r->analytic,
               r->numeric, r->error, r->doubt, r->agrees ? "" : "  <-");
    }
    if (shown < c->checked)
        printf("(the worst %lld of %lld compared one by one)\n", (long long)shown,
               (long long)c->checked);
    printf("\nlargest relative error: parameters %.2g, directions %.2g, prior alone %.2g, rows' "
           "scores %.2g, rows' log densities %.2g; %.3g s\n",
           c->error, c->direction_error, c->prior_error, c->score_error, c->loglik_error,
           c->seconds);
    printf("%s\n", c->verdict);
}

/* ---- audit ----------------------------------------------------------------------------------- */

/* "0.0042 +-0.0100": the error with two digits, the number to the same place. */
static void print_change(double x, double error) {
    int digits = error > 0 && error < 10 ? (int)ceil(-log10(error)) + 1 : 0;
    if (digits > 6) digits = 6;
    printf(" %8.*f +-%-7.*f", digits, x, digits, error);
}

/* In per cent, and so is its error. */
static void print_spread(const sgfs_audit_change *c) {
    print_change(100 * expm1(c->sd), 100 * exp(c->sd) * c->sd_error);
}

static void print_audit_head(const sgfs_audit_report *r, int width) {
    cli_print_name("parameter", width);
    printf(" %10s", "sd");
    for (int64_t k = 0; k < 2 * r->columns; k++) {
        char cell[32];
        snprintf(cell, sizeof cell, "%s: %s", k < r->columns ? "mean" : "sd %",
                 r->column[k % r->columns]);
        printf(" %17s ", cell);
    }
    putchar('\n');
}

static void print_audit_what(const sgfs_audit_report *r) {
    if (r->draws) printf("the run's own draws (%s)", r->sampler);
    else printf("%s with step h = %.4g", r->sampler, r->step);
    printf(" against %s\n",
           r->exact ? "exact draws" : "the same without steps (sgfs-cv extrapolated to h = 0)");
    if (!r->exact) printf("no exact draws here: %s\n", r->not_exact);
}

void cli_print_audit(const sgfs_audit_report *r) {
    if (!r->needed) {
        puts(r->verdict);
        return;
    }
    int width = cli_name_width(r->dim, r->row, sizeof *r->row, 11 + 38 * (int)r->columns);
    printf("%s\n", r->title);
    print_audit_what(r);
    printf(
        "difference from ... +- standard error: of means in posterior sd, of sds in per cent\n\n");
    print_audit_head(r, width);
    for (int64_t i = 0; i < r->dim; i++) {
        cli_print_name(r->row[i].name, width);
        cli_print_num(r->row[i].sd, 10, 4);
        for (int64_t k = 0; k < r->columns; k++)
            print_change(r->row[i].change[k].mean, r->row[i].change[k].mean_error);
        for (int64_t k = 0; k < r->columns; k++) print_spread(&r->row[i].change[k]);
        putchar('\n');
    }
    printf("\n%.3g s, %.3g rows touched\n%s\n", r->seconds, r->rows_touched, r->verdict);
}
