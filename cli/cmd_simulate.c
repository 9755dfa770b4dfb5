/* SPDX-License-Identifier: MIT
 * cmd_simulate.c: sgfs simulate MODEL --rows N --dim D --out FILE [--truth JSON]
 */
#include <stdio.h>

#include "cli.h"

static const cli_flag flags[] = {
    {"out", "FILE", "the data file to write: .npy, .csv or .sgd (packed)"},
    {"truth", "FILE", "also write the truth, for sgfs compare --reference"},
    {"storage", "TYPE", "numbers of a .sgd file: f64 or f32, half as large (default: f64)"},
    {"seed", "K", "same seed, same data"},
    {"prior-precision", "X", "lambda of the prior in the truth"},
    {"overwrite", NULL, "replace existing files"},
    {NULL, NULL, NULL}};

static cli_borrowed borrowed[] = {{"seed", "run.seed"},
                                  {"storage", "data.storage"},
                                  {"prior-precision", "prior.precision"},
                                  {"overwrite", "output.overwrite"},
                                  {NULL, NULL}};

static sgfs_status simulate(cli_args *args, sgfs_err *err) {
    const char *out = cli_given(&cmd_simulate, args, "out"),
               *truth = cli_given(&cmd_simulate, args, "truth");
    if (args->words != 1 || out == NULL) {
        return cli_fail(err, SGFS_EUSAGE,
                        "Name one model and a file: sgfs simulate logistic --out data.npy");
    }
    if (truth != NULL && cli_same_file(out, truth)) {
        return cli_fail(err, SGFS_EUSAGE, "%s: data and truth need two names.", out);
    }
    if (cli_borrow(&cmd_simulate, args, borrowed, err) != SGFS_OK) return err->code;
    if (cli_check_out(&cmd_simulate, args, out, err) != SGFS_OK) return err->code;
    if (cli_check_out(&cmd_simulate, args, truth, err) != SGFS_OK) return err->code;
    sgfs_job *job = sgfs_simulate_open(args->word[0], out, truth, args->cfg, err);
    sgfs_status status = cli_run_job(job, args, err);
    if (status == SGFS_OK && args->json) status = cli_print_json(job, err);
    else if (status == SGFS_OK && !args->quiet) {
        fprintf(stderr, "%s: %s rows, columns x1 to x%s and target y%s%s\n", out,
                sgfs_config_get(args->cfg, "simulate.rows"),
                sgfs_config_get(args->cfg, "simulate.dim"), truth != NULL ? "; truth in " : "",
                truth != NULL ? truth : "");
    }
    sgfs_job_free(job);
    return status;
}

const cli_command cmd_simulate = {
    .name = "simulate",
    .brief = "make data with a known truth",
    .usage = "MODEL --out FILE [--truth FILE] [options]",
    .examples = "  sgfs simulate logistic --rows 200000 --dim 20 --seed 1 --out data.npy \\\n"
                "       --truth truth.json\n"
                "  sgfs simulate linear --rows 5000 --dim 3 --noise 0.5 --out data.csv\n"
                "  sgfs simulate logistic --rows 1e9 --dim 8 --storage f32 --out big.sgd\n"
                "  sgfs simulate softmax --classes 4 --rows 10000 --dim 5 --out data.csv\n",
    .stages = "simulate model",
    .flags = flags,
    .run = simulate,
};
