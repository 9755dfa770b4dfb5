/* SPDX-License-Identifier: MIT
 * cmd_optimize.c: sgfs optimize MODEL --data FILE [--out MODE.json]
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const cli_flag flags[] = {
    {"data", "FILE...", CLI_DATA_HELP},
    {"out", "FILE", "also write the mode as JSON, for sgfs compare --reference"},
    {"start", "FILE", "begin the climb here: JSON of sgfs optimize, a run, or D numbers"},
    {"threads", "K", "threads of the search (default: all cores)"},
    {"overwrite", NULL, "replace an existing file"},
    {NULL, NULL, NULL}};

/* Some options of the run make sense here as well. */
static sgfs_status borrow(cli_args *args, const char *flag, const char *key, sgfs_err *err) {
    const char *value = cli_given(&cmd_optimize, args, flag);
    if (value == NULL) return SGFS_OK;
    return sgfs_config_set(args->cfg, key, value[0] == '\0' ? "true" : value, err);
}

/* All or nothing: an interrupt waits until the file has its name. */
static sgfs_status write_mode(const sgfs_mode *mode, const char *path, const cli_args *args,
                              sgfs_err *err) {
    bool overwrite = strcmp(sgfs_config_get(args->cfg, "output.overwrite"), "true") == 0;
    sigset_t interrupts, before;
    sigemptyset(&interrupts);
    sigaddset(&interrupts, SIGINT);
    sigaddset(&interrupts, SIGTERM);
    sigprocmask(SIG_BLOCK, &interrupts, &before);
    sgfs_status status = sgfs_mode_write(mode, path, overwrite, err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

static sgfs_status show(const sgfs_mode *mode, const char *path, const cli_args *args,
                        sgfs_err *err) {
    if (args->json) {
        char *text = sgfs_mode_json(mode);
        if (text == NULL) return cli_fail(err, SGFS_ENOMEM, "Out of memory for the result.");
        puts(text);
        sgfs_text_free(text);
    } else {
        cli_print_mode(mode);
    }
    if (path == NULL) return SGFS_OK;
    sgfs_status status = write_mode(mode, path, args, err);
    if (status == SGFS_OK && !args->quiet) fprintf(stderr, "mode -> %s\n", path);
    return status;
}

static sgfs_status with_data(const sgfs_data *data, const char *path, const cli_args *args,
                             sgfs_err *err) {
    sgfs_model *model = sgfs_model_open(args->word[0], data, args->cfg, err);
    sgfs_mode *mode = sgfs_mode_new(model, args->cfg, err);
    sgfs_status status = mode != NULL ? show(mode, path, args, err) : err->code;
    sgfs_mode_free(mode);
    sgfs_model_free(model);
    return status;
}

static sgfs_status optimize(cli_args *args, sgfs_err *err) {
    const char *path = cli_given(&cmd_optimize, args, "out");
    if (cli_check_model(&cmd_optimize, args, err) != SGFS_OK) return err->code;
    if (borrow(args, "start", "run.start", err) != SGFS_OK) return err->code;
    if (borrow(args, "threads", "run.threads", err) != SGFS_OK) return err->code;
    if (borrow(args, "overwrite", "output.overwrite", err) != SGFS_OK) return err->code;
    sgfs_data *data = cli_open_data(&cmd_optimize, args, path, err);
    if (data == NULL) return err->code;
    sgfs_status status = with_data(data, path, args, err);
    sgfs_data_free(data);
    return status;
}

const cli_command cmd_optimize = {
    .name = "optimize",
    .brief = "find the posterior's mode and the Gaussian there",
    .usage = "MODEL --data FILE [options] [--out MODE.json]",
    .examples = "  sgfs optimize logistic --data data.npy\n"
                "  sgfs optimize linear --data house.csv.gz --target price --standardize --out "
                "mode.json\n"
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
