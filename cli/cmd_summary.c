/* SPDX-License-Identifier: MIT
 * cmd_summary.c: sgfs summary RUN
 */
#include <stdio.h>

#include "cli.h"

static const cli_flag flags[] = {{NULL, NULL, NULL}};

sgfs_status cli_show_run(const char *path, const cli_args *args, int64_t most, sgfs_err *err) {
    sgfs_draws *draws = sgfs_draws_open(path, err);
    sgfs_job *job = sgfs_summary_open(draws, args->cfg, err);
    sgfs_status status = sgfs_job_run(job, err);
    const sgfs_summary *s = sgfs_job_result(job);
    if (s != NULL && args->json) status = cli_print_json(job, err);
    else if (s != NULL && most < INT64_MAX && args->quiet) cli_print_warnings(s, stderr);
    else if (s != NULL) cli_print_summary(s, most);
    sgfs_job_free(job);
    sgfs_draws_free(draws);
    return status;
}

static sgfs_status summary(cli_args *args, sgfs_err *err) {
    if (args->words != 1)
        return cli_fail(err, SGFS_EUSAGE, "Name one run file: sgfs summary fit.run");
    return cli_show_run(args->word[0], args, INT64_MAX, err);
}

const cli_command cmd_summary = {
    .name = "summary",
    .brief = "means, intervals, ESS, R-hat and cost of a run, with warnings",
    .usage = "RUN [--json]",
    .examples =
        "  sgfs summary fit.run\n"
        "  sgfs summary fit.run --json\n\n"
        "What the columns mean:\n"
        "  mcse      Monte Carlo standard error of the mean\n"
        "  5% ...    quantiles of the kept draws\n"
        "  ess_bulk  effective number of independent draws, for the centre\n"
        "  ess_tail  the same for the 5 % and 95 % quantiles\n"
        "  r_hat     1 when the chains agree; trust nothing over 1.01\n"
        "  tau       iterations per independent draw (autocorrelation time)\n"
        "  1/ATUC    independent draws of the slowest parameter per second of one chain\n"
        "  ridges    times something had to be added to keep the matrix positive definite\n",
    .stages = "",
    .flags = flags,
    .run = summary,
};
