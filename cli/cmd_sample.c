/* SPDX-License-Identifier: MIT
 * cmd_sample.c: sgfs sample MODEL --data FILE ... --out RUN
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static void stop(void *work) {
    sgfs_run_stop(work);
}

/* Sample, close the file whatever happened, and report the first thing that went wrong. */
static sgfs_status walk(sgfs_run *run, const char *path, cli_args *args, sgfs_err *err) {
    /* seconds until the first line of progress */
    double due = args->quiet ? INFINITY : cli_is_terminal() ? 0 : 2;
    if (!args->quiet) fprintf(stderr, "%s -> %s\n", sgfs_run_describe(run), path);
    sgfs_run_on_progress(run, cli_progress, &due);
    cli_on_interrupt(stop, run);
    cli_on_lost_file(path);
    sgfs_status status = sgfs_run_all(run, err);
    cli_limit_time(NAN);
    cli_progress_end();
    sgfs_err closing;
    sgfs_status closed = sgfs_run_close(run, &closing);
    cli_on_interrupt(stop, NULL);
    if (closed != SGFS_OK && status == SGFS_OK) *err = closing;
    if (status == SGFS_ESTOPPED && strstr(err->text, "before the first draw") == NULL) {
        const sgfs_err stopped = *err;
        cli_fail(err, status, "%.200s The run is in %.250s (`sgfs summary`).", stopped.text, path);
    }
    return status != SGFS_OK ? status : closed;
}

static sgfs_status with_model(const sgfs_data *data, const char *path, cli_args *args,
                              sgfs_err *err) {
    sgfs_model *model = sgfs_model_open(args->word[0], data, args->cfg, err);
    if (model == NULL) return err->code;
    sgfs_run *run = sgfs_run_open(model, args->cfg, err);
    sgfs_status status = run != NULL ? sgfs_run_attach(run, path, err) : err->code;
    if (status == SGFS_OK) status = walk(run, path, args, err);
    sgfs_run_free(run);
    sgfs_model_free(model);
    return status;
}

static const cli_flag flags[] = {
    {"data", "FILE...", CLI_DATA_HELP},
    {"out", "RUN", "the run file to write (default: MODEL.run, MODEL-2.run, ...)"},
    {"verbose", NULL, CLI_VERBOSE_HELP},
    {"allow-unconverged", NULL, "exit code 0 (not 7) where the draws are not to be trusted"},
    {NULL, NULL, NULL}};

static sgfs_status sample(cli_args *args, sgfs_err *err) {
    char made[256], word[128];
    const char *path = cli_given(&cmd_sample, args, "out");
    if (cli_check_model(&cmd_sample, args, err) != SGFS_OK) return err->code;
    cli_short_model(args->word[0], word, sizeof word);
    if (path == NULL) path = cli_free_name(args, word, "run", made);
    const char *limit = sgfs_config_get(args->cfg, "run.max_time"); /* of all that follows */
    cli_limit_time(strcmp(limit, "auto") == 0 ? NAN : strtod(limit, NULL));
    sgfs_data *data = cli_open_data(&cmd_sample, args, path, err);
    if (data == NULL) return err->code;
    sgfs_status status = with_model(data, path, args, err);
    sgfs_data_free(data);
    return status == SGFS_OK ? cli_show_run(&cmd_sample, args, path, err) : status;
}

const cli_command cmd_sample = {
    .name = "sample",
    .brief = "draw from the posterior of a model given data",
    .usage = "MODEL --data FILE [options] [--out RUN]",
    .examples =
        "  sgfs sample logistic --data data.npy\n"
        "  sgfs sample linear --data house.csv.gz --target price --standardize --out fit.run\n"
        "  sgfs sample logistic --data 'part-*.sgd'       # several files as one; in quotes\n"
        "  zcat rows.csv.gz | sgfs sample logistic --data -\n"
        "  sgfs sample ./mymodel.so --data house.csv      # a model of your own\n"
        "  sgfs sample logistic --data data.npy --sampler sgfs-f --batch 500 --alpha 1 \\\n"
        "       --warmup 5000 --draws 200000 --thin 100 --chains 4 --seed 7 --out fit.run\n",
    .stages = "run data prior fisher model sampler",
    .flags = flags,
    .words = 1,
    .run = sample,
};
