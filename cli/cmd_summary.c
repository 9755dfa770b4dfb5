/* SPDX-License-Identifier: MIT
 * cmd_summary.c: sgfs summary RUN
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { SHOWN = 30 }; /* rows of the table after sampling */

static const cli_flag flags[] = {{"wide", NULL, CLI_WIDE_HELP},
                                 {"csv", NULL, "the table alone, as CSV with every digit"},
                                 {NULL, NULL, NULL}};

/* Does a run end with an exit code of its own? Where the program chose the length, whenever its
 * draws are not to be trusted; where the user did, a run that is only too short is what was asked
 * for. */
static bool fails(const sgfs_summary *s, const cli_args *args) {
    bool chosen = strcmp(sgfs_config_get(args->cfg, "run.draws"), "auto") == 0 &&
                  strcmp(sgfs_config_get(args->cfg, "run.ess"), "auto") == 0;
    return s->grade == SGFS_GRADE_WRONG || (s->grade == SGFS_GRADE_SHORT && chosen);
}

sgfs_status cli_show_run(const cli_command *command, const cli_args *args, const char *path,
                         sgfs_err *err) {
    bool sampled = command == &cmd_sample;
    cli_display how = {.most = sampled ? SHOWN : INT64_MAX,
                       .wide = cli_given(command, args, "wide") != NULL,
                       .verbose = args->verbose,
                       /* said before sampling, on the same screen */
                       .titled = !sampled || !isatty(STDOUT_FILENO) || !cli_is_terminal(),
                       .run = path};
    sgfs_draws *draws = sgfs_draws_open(path, err);
    sgfs_job *job = sgfs_summary_open(draws, args->cfg, err);
    sgfs_status status = sgfs_job_run(job, err);
    const sgfs_summary *s = sgfs_job_result(job);
    /* Not all fit behind a run: of a regression those that matter are shown. */
    how.by_effect = sampled && s != NULL && !args->json && !args->quiet && s->dim > SHOWN &&
                    s->units[0] != '\0' &&
                    strcmp(sgfs_config_get(args->cfg, "summary.sort"), "none") == 0;
    if (how.by_effect) {
        sgfs_job_free(job);
        job = NULL;
        status = sgfs_config_set(args->cfg, "summary.sort", "effect", err);
        if (status == SGFS_OK) job = sgfs_summary_open(draws, args->cfg, err);
        if (status == SGFS_OK) status = sgfs_job_run(job, err);
        s = sgfs_job_result(job);
    }
    if (s != NULL && args->json) status = cli_print_json(job, err);
    else if (s != NULL && !sampled && cli_given(command, args, "csv") != NULL) {
        cli_print_csv(s);
        cli_print_warnings(s, stderr);
    } else if (s != NULL && sampled && args->quiet) cli_print_warnings(s, stderr);
    else if (s != NULL) cli_print_summary(s, &how);
    bool allowed = !sampled || cli_given(command, args, "allow-unconverged") != NULL;
    if (s != NULL && status == SGFS_OK && !allowed && fails(s, args))
        status = cli_fail(err, SGFS_EDOUBT,
                          "%.330s The draws are in %.100s. (--allow-unconverged: exit code 0.)",
                          s->verdict, path);
    sgfs_job_free(job);
    sgfs_draws_free(draws);
    return status;
}

static sgfs_status summary(cli_args *args, sgfs_err *err) {
    if (args->words != 1)
        return cli_fail(err, SGFS_EUSAGE, "Name one run file: sgfs summary fit.run");
    return cli_show_run(&cmd_summary, args, args->word[0], err);
}

const cli_command cmd_summary = {
    .name = "summary",
    .brief = "can a run be trusted? means, intervals, ESS, R-hat, warnings",
    .usage = "RUN [--odds] [--interval 0.95] [--params 'city*'] [--csv] [--json]",
    .examples =
        "  sgfs summary fit.run\n"
        "  sgfs summary fit.run --odds --interval 0.95    # odds ratios, 95 % intervals\n"
        "  sgfs summary fit.run --interval 0.95,hdi       # the shortest such intervals\n"
        "  sgfs summary fit.run --params 'age,city*' --sort effect\n"
        "  sgfs summary fit.run --odds --csv > odds.csv\n"
        "  sgfs summary fit.run --verbose\n\n"
        "The first line says whether the numbers can be trusted, and if not, what to type next\n"
        "(the rules: docs/trust.md). What the columns mean:\n"
        "  mean, sd  of the draws: estimate and its uncertainty\n"
        "  5%, 95%   the ends of an interval that holds 90 % of the draws\n"
        "  ess       effective number of independent draws, the smaller of the two below\n"
        "  r_hat     1 when the chains agree; over 1.01 they agree only roughly\n"
        "With --wide, or in a wide terminal:\n"
        "  mcse      Monte Carlo standard error of the mean\n"
        "  50%       the median\n"
        "  ess_bulk  effective number of independent draws, for the centre\n"
        "  ess_tail  the same for the 5 % and 95 % quantiles\n"
        "With --odds: exp of each coefficient, its median and interval. exp(intercept) is the\n"
        "odds (or rate) where every column is 0.\n"
        "With --verbose:\n"
        "  tau       iterations per independent draw (autocorrelation time)\n"
        "  1/ATUC    independent draws of the slowest parameter per second of one chain\n"
        "  ridges    times something had to be added to keep the matrix positive definite\n",
    .stages = "summary",
    .flags = flags,
    .run = summary,
};
