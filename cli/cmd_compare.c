/* SPDX-License-Identifier: MIT
 * cmd_compare.c: sgfs compare RUN --reference RUN2|MOMENTS
 */
#include <stdio.h>

#include "cli.h"

static const cli_flag flags[] = {
    {"reference", "FILE",
     "another run, or JSON {\"names\": [...], \"mean\": [...], \"cov\": [[...]]}"},
    {NULL, NULL, NULL}};

/* A comparison is worth what the run is worth. */
static void warn_about_run(const sgfs_draws *draws) {
    sgfs_summary *s = sgfs_summary_new(draws, NULL);
    if (s == NULL) return;
    fflush(stdout);
    cli_print_warnings(s, stderr);
    sgfs_summary_free(s);
}

static sgfs_status compare(cli_args *args, sgfs_err *err) {
    const char *reference = cli_given(&cmd_compare, args, "reference");
    if (args->words != 1 || reference == NULL) {
        return cli_fail(err, SGFS_EUSAGE,
                        "Name a run and a reference: sgfs compare fit.run --reference truth.json");
    }
    sgfs_draws *draws = sgfs_draws_open(args->word[0], err);
    if (draws == NULL) return err->code;
    sgfs_compare *c = sgfs_compare_new(draws, reference, err);
    sgfs_status status = c != NULL ? SGFS_OK : err->code;
    if (c != NULL && args->json) {
        char *text = sgfs_compare_json(c);
        if (text != NULL) puts(text);
        sgfs_text_free(text);
    } else if (c != NULL) {
        cli_print_compare(c);
        warn_about_run(draws);
    }
    sgfs_compare_free(c);
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
