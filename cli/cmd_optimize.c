/* SPDX-License-Identifier: MIT
 * cmd_optimize.c: sgfs optimize MODEL --data FILE [--out MODE.json]
 */
#include <stdio.h>

#include "cli.h"

static const cli_flag flags[] = {
    {"data", "FILE...", CLI_DATA_HELP},
    {"out", "FILE", "also write the mode as JSON, for sgfs compare --reference"},
    {"start", "FILE", "begin the climb here: JSON of sgfs optimize, a run, or D numbers"},
    {"threads", "K", "threads of the search (default: all cores)"},
    {"overwrite", NULL, "replace an existing file"},
    {NULL, NULL, NULL}};

static cli_borrowed borrowed[] = {{"start", "run.start"},
                                  {"threads", "run.threads"},
                                  {"overwrite", "output.overwrite"},
                                  {NULL, NULL}};

static sgfs_status show(const sgfs_job *job, const char *path, const cli_args *args,
                        sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    if (args->json) status = cli_print_json(job, err);
    else cli_print_mode(sgfs_job_result(job));
    if (path == NULL || status != SGFS_OK) return status;
    status = sgfs_job_save(job, path, err);
    if (status == SGFS_OK && !args->quiet) fprintf(stderr, "mode -> %s\n", path);
    return status;
}

static sgfs_status optimize(cli_args *args, sgfs_err *err) {
    const char *path = cli_given(&cmd_optimize, args, "out");
    if (cli_check_model(&cmd_optimize, args, err) != SGFS_OK) return err->code;
    if (cli_borrow(&cmd_optimize, args, borrowed, err) != SGFS_OK) return err->code;
    sgfs_data *data = cli_open_data(&cmd_optimize, args, path, err);
    if (data == NULL) return err->code;
    sgfs_model *model = sgfs_model_open(args->word[0], data, args->cfg, err);
    sgfs_job *job = sgfs_optimize_open(model, args->cfg, err);
    sgfs_status status = cli_run_job(job, args, err);
    if (status == SGFS_OK) status = show(job, path, args, err);
    sgfs_job_free(job);
    sgfs_model_free(model);
    sgfs_data_free(data);
    return status;
}

const cli_command cmd_optimize = {
    .name = "optimize",
    .brief = "find the posterior's mode and the Gaussian there",
    .usage = "MODEL --data FILE [options] [--out MODE.json]",
    .examples = "  sgfs optimize logistic --data data.npy\n"
                "  sgfs optimize linear --data house.csv.gz --target price --out mode.json\n"
                "  zcat rows.csv.gz | sgfs optimize logistic --data -\n"
                "  sgfs compare fit.run --reference mode.json\n\n"
                "The mode is one point and the Gaussian there an approximation: neither is the\n"
                "posterior. sd is what the curvature at the mode says. `sgfs sample --sampler\n"
                "laplace` draws from that Gaussian.\n",
    .stages = "optimize data prior model",
    .flags = flags,
    .words = 1,
    .run = optimize,
};
