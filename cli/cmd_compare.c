/* SPDX-License-Identifier: MIT
 * cmd_compare.c: sgfs compare RUN --reference RUN2|MOMENTS
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const cli_flag flags[] = {
    {"reference", "FILE",
     "another run, or JSON {\"names\": [...], \"mean\": [...], \"cov\": [[...]]}"},
    {NULL, NULL, NULL}};

/* A comparison is worth what the run is worth, and its reference. */
static sgfs_status warn_about_run(const sgfs_draws *draws, const sgfs_config *cfg, sgfs_err *err) {
    sgfs_job *job = sgfs_summary_open(draws, cfg, err);
    sgfs_status status = sgfs_job_run(job, err);
    if (status == SGFS_OK) cli_print_warnings(sgfs_job_result(job), stderr);
    sgfs_job_free(job);
    return status;
}

static void warn_about_state(const char *what, const char *path, const char *state) {
    if (state[0] == '\0' || strcmp(state, "complete") == 0) return;
    fprintf(stderr, "warning: the %s %s is not complete (%s): it counts by the draws it has.\n",
            what, path, state);
}

static sgfs_status compare(cli_args *args, sgfs_err *err) {
    const char *reference = cli_given(&cmd_compare, args, "reference");
    if (args->words != 1 || reference == NULL) {
        return cli_fail(err, SGFS_EUSAGE,
                        "Name a run and a reference: sgfs compare fit.run --reference truth.json");
    }
    sgfs_draws *draws = sgfs_draws_open(args->word[0], err);
    if (draws == NULL) return err->code;
    sgfs_job *job = sgfs_compare_open(draws, reference, args->cfg, err);
    sgfs_status status = sgfs_job_run(job, err);
    if (status == SGFS_OK && args->json) status = cli_print_json(job, err);
    else if (status == SGFS_OK) {
        const sgfs_compare *c = sgfs_job_result(job);
        cli_print_compare(c);
        fflush(stdout);
        warn_about_state("run", args->word[0], c->state);
        warn_about_state("reference", reference, c->reference_state);
        if (c->reference_verdict[0] != '\0')
            fprintf(stderr, "warning: the reference %s: %s\n", reference, c->reference_verdict);
        status = warn_about_run(draws, args->cfg, err);
    }
    sgfs_job_free(job);
    sgfs_draws_free(draws);
    return status;
}

const cli_command cmd_compare = {
    .name = "compare",
    .brief = "how far a run is from a reference: E1, E2, trR, z",
    .usage = "RUN --reference RUN2|MOMENTS.json [--json]",
    .examples = "  sgfs compare fit.run --reference truth.json\n"
                "  sgfs compare fit.run --reference long.run --json\n\n"
                "What the measures mean:\n"
                "  z    (mean - reference) / Monte Carlo error; beyond 4 is no chance\n"
                "  E1   sum |mean - mean*| / sum |mean*|\n"
                "  E2   sum |C - C*| / sum |C*| over all covariances\n"
                "  trR  tr(C*^-1 C)/D: average variance relative to the reference, 1 is right\n",
    .stages = "",
    .flags = flags,
    .run = compare,
};
