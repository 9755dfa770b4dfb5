/* SPDX-License-Identifier: MIT
 * cmd_check_grad.c: sgfs check-grad MODEL --data FILE
 */
#include <stdio.h>

#include "cli.h"

static const cli_flag flags[] = {
    {"data", "FILE...", CLI_DATA_HELP},
    {"tolerance", "X", "largest relative difference that counts as agreement (default 1e-6)"},
    {"init", "X", "radius of the random points, as for chains of sgfs sample (default 0.5)"},
    {"seed", "K", "same seed, same points (default 1)"},
    {"threads", "K", "threads of the passes over the rows (default: all cores)"},
    {"device", "NAME", "arithmetic by blas or host (default blas)"},
    {NULL, NULL, NULL}};

/* --tolerance is the search's own flag elsewhere. */
static cli_borrowed borrowed[] = {
    {"tolerance", "check.tolerance"}, {"init", "run.init"},     {"seed", "run.seed"},
    {"threads", "run.threads"},       {"device", "run.device"}, {NULL, NULL}};

static sgfs_status show(const sgfs_job *job, const cli_args *args, sgfs_err *err) {
    const sgfs_check_grad *check = sgfs_job_result(job);
    sgfs_status status = SGFS_OK;
    if (args->json) status = cli_print_json(job, err);
    else cli_print_check_grad(check);
    if (status != SGFS_OK || check->passed) return status;
    return cli_fail(err, SGFS_ENUMERIC, "%.500s", check->verdict);
}

static sgfs_status check_grad(cli_args *args, sgfs_err *err) {
    if (cli_check_model(&cmd_check_grad, args, err) != SGFS_OK) return err->code;
    if (cli_borrow(&cmd_check_grad, args, borrowed, err) != SGFS_OK) return err->code;
    sgfs_data *data = cli_open_data(&cmd_check_grad, args, NULL, err);
    if (data == NULL) return err->code;
    sgfs_model *model = sgfs_model_open(args->word[0], data, args->cfg, err);
    sgfs_job *check = sgfs_check_grad_open(model, args->cfg, err);
    sgfs_status status = cli_run_job(check, args, err);
    if (status == SGFS_OK) status = show(check, args, err);
    sgfs_job_free(check);
    sgfs_model_free(model);
    sgfs_data_free(data);
    return status;
}

const cli_command cmd_check_grad = {
    .name = "check-grad",
    .brief = "compare a model's gradient with finite differences",
    .usage = "MODEL --data FILE [options]",
    .examples = "  sgfs check-grad logistic --data data.npy\n"
                "  sgfs check-grad linear --data house.csv --target price --points 10\n"
                "  sgfs check-grad logistic --data 'part-*.csv'\n"
                "  sgfs check-grad logistic --data data.npy --json\n\n"
                "For whoever writes a model: which parameter's derivative is worst, and what the\n"
                "mistake looks like. Exit code 0: all agree to --tolerance; 4: not.\n",
    .stages = "check data prior model",
    .flags = flags,
    .words = 1,
    .run = check_grad,
};
