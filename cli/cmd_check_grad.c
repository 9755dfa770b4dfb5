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
    {"backend", "NAME", "arithmetic by blas or host (default blas)"},
    {NULL, NULL, NULL}};

/* Options of the run that make sense here as well; and --tolerance, which is the search's own flag
 * elsewhere. */
static sgfs_status borrow(cli_args *args, sgfs_err *err) {
    static const char *const lent[][2] = {{"tolerance", "check.tolerance"},
                                          {"init", "run.init"},
                                          {"seed", "run.seed"},
                                          {"threads", "run.threads"},
                                          {"backend", "run.backend"}};
    for (size_t i = 0; i < sizeof lent / sizeof lent[0]; i++) {
        const char *value = cli_given(&cmd_check_grad, args, lent[i][0]);
        if (value == NULL) continue;
        if (sgfs_config_set(args->cfg, lent[i][1], value, err) != SGFS_OK) return err->code;
    }
    return SGFS_OK;
}

static sgfs_status show(const sgfs_check_grad *check, const cli_args *args, sgfs_err *err) {
    if (args->json) {
        char *text = sgfs_check_grad_json(check);
        if (text == NULL) return cli_fail(err, SGFS_ENOMEM, "Out of memory for the result.");
        puts(text);
        sgfs_text_free(text);
    } else {
        cli_print_check_grad(check);
    }
    if (check->passed) return SGFS_OK;
    return cli_fail(err, SGFS_ENUMERIC, "%.500s", check->verdict);
}

static sgfs_status with_data(const sgfs_data *data, const cli_args *args, sgfs_err *err) {
    sgfs_model *model = sgfs_model_open(args->word[0], data, args->cfg, err);
    sgfs_check_grad *check = sgfs_check_grad_new(model, args->cfg, err);
    sgfs_status status = check != NULL ? show(check, args, err) : err->code;
    sgfs_check_grad_free(check);
    sgfs_model_free(model);
    return status;
}

static sgfs_status check_grad(cli_args *args, sgfs_err *err) {
    if (cli_check_model(&cmd_check_grad, args, err) != SGFS_OK) return err->code;
    if (borrow(args, err) != SGFS_OK) return err->code;
    sgfs_data *data = cli_open_data(&cmd_check_grad, args, NULL, err);
    if (data == NULL) return err->code;
    sgfs_status status = with_data(data, args, err);
    sgfs_data_free(data);
    return status;
}

const cli_command cmd_check_grad = {
    .name = "check-grad",
    .brief = "compare a model's gradient with finite differences",
    .usage = "MODEL --data FILE [options]",
    .examples = "  sgfs check-grad logistic --data data.npy\n"
                "  sgfs check-grad linear --data house.csv --target price --standardize --points "
                "10\n"
                "  sgfs check-grad logistic --data 'part-*.csv'\n"
                "  sgfs check-grad logistic --data data.npy --json\n\n"
                "For whoever writes a model: which parameter's derivative is worst, and what the\n"
                "mistake looks like. Exit code 0: all agree to --tolerance; 4: not.\n",
    .stages = "check data prior model",
    .flags = flags,
    .words = 1,
    .run = check_grad,
};
