/* SPDX-License-Identifier: MIT
 * cmd_summary.c: sgfs summary RUN
 */
#include <stdio.h>

#include "cli.h"

static const cli_flag flags[] = {{NULL, NULL, NULL}};

static sgfs_status summary(cli_args *args, sgfs_err *err) {
    if (args->words != 1)
        return cli_fail(err, SGFS_EUSAGE, "Name one run file: sgfs summary fit.run");
    sgfs_draws *draws = sgfs_draws_open(args->word[0], err);
    if (draws == NULL) return err->code;
    sgfs_summary *s = sgfs_summary_new(draws, err);
    sgfs_status status = s != NULL ? SGFS_OK : err->code;
    if (s != NULL && args->json) {
        char *text = sgfs_summary_json(s);
        if (text != NULL) puts(text);
        sgfs_text_free(text);
    } else if (s != NULL) {
        cli_print_summary(s, INT64_MAX);
    }
    sgfs_summary_free(s);
    sgfs_draws_free(draws);
    return status;
}

const cli_command cmd_summary = {
    .name = "summary",
    .brief = "means, intervals, ESS, R-hat and cost of a run, with warnings",
    .usage = "RUN [--json]",
    .examples = "  sgfs summary fit.run\n"
                "  sgfs summary fit.run --json\n",
    .stages = "",
    .flags = flags,
    .run = summary,
};
