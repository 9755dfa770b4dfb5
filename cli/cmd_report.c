/* SPDX-License-Identifier: MIT
 * cmd_report.c: sgfs report RUN... --out page.html, and sgfs plot RUN KIND
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"

static const cli_flag report_flags[] = {
    {"out", "FILE.html", "the page (default: the first run's name with .html)"},
    {"params", "NAMES", "the parameters with pictures: names or patterns, 'city*,age'"},
    {"interval", "SHARE", "share of the draws in the intervals; hdi: the shortest (0.9)"},
    {"reference", "FILE", "what errors are measured from: a run or moments, as for sgfs compare"},
    {"threads", "K", "parameters summarised side by side (default: all cores)"},
    {"overwrite", NULL, "replace an existing file"},
    {NULL, NULL, NULL}};

static const cli_flag plot_flags[] = {
    {"out", "FILE.{svg,png,pdf}", "the picture (default: in characters, on the screen)"},
    {"params", "NAMES", "the parameters shown: names or patterns, 'city*,age'"},
    {"interval", "SHARE", "share of the draws in the intervals; hdi: the shortest (0.9)"},
    {"reference", "FILE", "what errors are measured from: a run or moments, as for sgfs compare"},
    {"threads", "K", "parameters summarised side by side (default: all cores)"},
    {"overwrite", NULL, "replace an existing file"},
    {NULL, NULL, NULL}};

static cli_borrowed borrowed[] = {{"reference", "tune.reference"},   {"params", "summary.params"},
                                  {"interval", "summary.interval"},  {"threads", "run.threads"},
                                  {"overwrite", "output.overwrite"}, {NULL, NULL}};

/* Runs of the words, up to `runs`; NULL: one of them cannot be read. */
static const sgfs_draws **open_runs(const cli_args *args, int runs, sgfs_err *err) {
    const sgfs_draws **draws = calloc((size_t)runs + 1, sizeof *draws);
    if (draws == NULL) cli_fail(err, SGFS_ENOMEM, "Out of memory for the runs.");
    for (int k = 0; draws != NULL && k < runs; k++) {
        draws[k] = sgfs_draws_open(args->word[k], err);
        if (draws[k] != NULL) continue;
        while (k-- > 0) sgfs_draws_free((sgfs_draws *)(uintptr_t)draws[k]);
        free(draws);
        return NULL;
    }
    return draws;
}

static sgfs_status make(const cli_command *command, cli_args *args, int runs, const char *kind,
                        const char *out, sgfs_err *err) {
    if (cli_borrow(command, args, borrowed, err) != SGFS_OK) return err->code;
    if (cli_check_out(command, args, out, err) != SGFS_OK) return err->code;
    const sgfs_draws **draws = open_runs(args, runs, err);
    if (draws == NULL) return err->code;
    sgfs_job *job = sgfs_report_open(draws, runs, kind, out, args->cfg, err);
    sgfs_status status = cli_run_job(job, args, err);
    const sgfs_report *r = sgfs_job_result(job);
    if (status == SGFS_OK && args->json) status = cli_print_json(job, err);
    else if (status == SGFS_OK) fputs(r->text, stdout);
    if (status == SGFS_OK && out != NULL && !args->quiet) {
        fflush(stdout);
        if (kind == NULL)
            fprintf(stderr, "%s\n%lld pictures, %.0f kB -> %s\n", r->verdict,
                    (long long)r->pictures, (double)r->bytes / 1000, out);
        else fprintf(stderr, "%s -> %s\n", kind, out);
    }
    sgfs_job_free(job);
    for (int k = 0; k < runs; k++) sgfs_draws_free((sgfs_draws *)(uintptr_t)draws[k]);
    free(draws);
    return status;
}

static sgfs_status report_run(cli_args *args, sgfs_err *err) {
    const char *out = cli_given(&cmd_report, args, "out");
    char name[256], stem[200];
    if (args->words == 0)
        return cli_fail(err, SGFS_EUSAGE, "Name a run: sgfs report fit.run --out report.html");
    if (out == NULL) {
        cli_short_model(args->word[0], stem, sizeof stem);
        out = cli_free_name(args, stem, "html", name);
    }
    return make(&cmd_report, args, args->words, NULL, out, err);
}

static sgfs_status plot_run(cli_args *args, sgfs_err *err) {
    if (args->words < 2)
        return cli_fail(err, SGFS_EUSAGE,
                        "Name a run and a picture: sgfs plot fit.run density (`sgfs list pictures` "
                        "has all).");
    return make(&cmd_plot, args, args->words - 1, args->word[args->words - 1],
                cli_given(&cmd_plot, args, "out"), err);
}

const cli_command cmd_report = {
    .name = "report",
    .brief = "a page about a run, or several, that people can read",
    .usage = "RUN [RUN2 ...] [--out report.html] [options]",
    .examples =
        "  sgfs report fit.run --out report.html\n"
        "  sgfs report fit.run --params 'city*,age' --test-data test.csv --out a.html\n"
        "  sgfs report exact.run sgld.run nuts.run --out samplers.html     # side by side\n\n"
        "One HTML file that needs no other: verdict, effects with intervals, odds or rate ratios,\n"
        "pictures, and how it was made. Several runs of one model are compared with the best "
        "exact\n"
        "one, or with --reference. Pictures need gnuplot; without it the page has none, and a\n"
        "warning says so. Exit codes: 0, also without gnuplot; 2: a run of other parameters, an\n"
        "output that exists; 5: cannot be written; 6: not a run file; 75: interrupted, no file.\n",
    .stages = "report",
    .flags = report_flags,
    .run = report_run,
};

const cli_command cmd_plot = {
    .name = "plot",
    .brief = "one picture of a run, as a file or on the screen",
    .usage = "RUN [RUN2 ...] KIND [--out FILE.{svg,png,pdf}] [--params NAMES]",
    .examples =
        "  sgfs plot fit.run trace                                # on the screen\n"
        "  sgfs plot fit.run density --params 'age,city*' --out density.pdf\n"
        "  sgfs plot fit.run forest --out effects.svg\n"
        "  sgfs plot exact.run sgld.run error --out error.svg     # error against time\n\n"
        "`sgfs list pictures` has all kinds. Those of parameters are of the one furthest from 0\n"
        "where --params names none. Exit code 5: gnuplot is missing or failed.\n",
    .stages = "report",
    .flags = plot_flags,
    .run = plot_run,
};
