/* SPDX-License-Identifier: MIT
 * cmd_sketch.c: sgfs sketch MODEL --data FILE --out SKETCH, and its steps on parts of the rows
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const cli_flag flags[] = {
    {"data", "FILE...", CLI_DATA_HELP},
    {"out", "FILE", "the file to write"},
    {"merge", NULL, "put the results of all parts together: the files named as words"},
    {"chains", "K", "chains that will be drawn from it (default: 4)"},
    {"warmup", "N", "iterations of each before its draws (default: 1000)"},
    {"draws", "N", "and draws (default: 1000)"},
    {"within", "X", "share of the moves that rows are marked for (default: 0.999)"},
    {"seed", "N", "which rows are marked: the same seed, the same file"},
    {"threads", "K", "threads (default: all cores)"},
    {"overwrite", NULL, "replace a file that was made from something else"},
    {NULL, NULL, NULL}};

static cli_borrowed borrowed[] = {{"chains", "run.chains"},
                                  {"warmup", "run.warmup"},
                                  {"draws", "run.draws"},
                                  {"within", "sampler.within"},
                                  {"seed", "run.seed"},
                                  {"threads", "run.threads"},
                                  {"overwrite", "output.overwrite"},
                                  {NULL, NULL}};

/* What there is now, and what comes next. */
static sgfs_status show(const sgfs_job *job, const char *out, const cli_args *args, sgfs_err *err) {
    const sgfs_sketch_info *info = sgfs_job_result(job);
    if (args->json) return cli_print_json(job, err);
    if (args->quiet) return SGFS_OK;
    bool marked = strcmp(info->step, "marks") == 0;
    fprintf(stderr, "%s -> %s: ", info->step, out);
    if (marked) fprintf(stderr, "%lld marks, ", (long long)info->marks);
    fprintf(stderr, "%lld rows", (long long)info->rows);
    if (info->parts > 1) fprintf(stderr, " in all %lld parts", (long long)info->parts);
    fprintf(stderr, ", %.3g MB, %.1f s\n", info->bytes / 1e6, info->seconds);
    cli_print_wrapped(stderr, "", info->advice);
    return SGFS_OK;
}

static sgfs_status run_job(const char *model, const char *data, const char *parts, const char *out,
                           const cli_args *args, sgfs_err *err) {
    sgfs_job *job = sgfs_sketch_open(model, data, parts, out, args->cfg, err);
    sgfs_status status = cli_run_job(job, args, err);
    if (status == SGFS_OK) status = show(job, out, args, err);
    sgfs_job_free(job);
    return status;
}

static sgfs_status sketch(cli_args *args, sgfs_err *err) {
    const char *out = cli_given(&cmd_sketch, args, "out"),
               *data = cli_given(&cmd_sketch, args, "data"),
               *at = sgfs_config_get(args->cfg, "sketch.at");
    bool there, merges = cli_given(&cmd_sketch, args, "merge") != NULL;
    if (out == NULL) return cli_fail(err, SGFS_EUSAGE, "Name the file to write: --out FILE.");
    if (cli_borrow(&cmd_sketch, args, borrowed, err) != SGFS_OK) return err->code;
    if (cli_check_place(&cmd_sketch, args, out, &there, err) != SGFS_OK) return err->code;
    if (merges) {
        if (data != NULL || args->words == 0)
            return cli_fail(err, SGFS_EUSAGE,
                            "--merge takes the results of all parts, and no rows: sgfs sketch "
                            "--merge 'parts/*' --out PLACE.");
        char *parts = cli_join_words(args);
        if (parts == NULL) return cli_fail(err, SGFS_ENOMEM, "Out of memory.");
        sgfs_status status = run_job(NULL, NULL, parts, out, args, err);
        free(parts);
        return status;
    }
    if (data == NULL) return cli_fail(err, SGFS_EUSAGE, "Where are the rows? Add --data FILE.");
    if (at[0] == '\0' && cli_check_model(&cmd_sketch, args, err) != SGFS_OK) return err->code;
    if (at[0] != '\0' && args->words > 0)
        return cli_fail(err, SGFS_EUSAGE, "--at says which model it is: leave out \"%.100s\".",
                        args->word[0]);
    return run_job(args->words > 0 ? args->word[0] : NULL, data, NULL, out, args, err);
}

const cli_command cmd_sketch = {
    .name = "sketch",
    .brief = "a small file to draw from, without the data",
    .usage = "MODEL --data FILE --out SKETCH",
    .examples =
        "  sgfs sketch logistic --data all.sgd --draws 5000 --out all.sketch\n"
        "  sgfs sample --sketch all.sketch --out fit.run    # anywhere, without the data\n\n"
        "Rows on several machines: each has a part of them, and all follow the same steps,\n"
        "whichever scheduler runs them (docs/cluster.md). Of part 1:\n\n"
        "  sgfs sketch logistic --data part-1.csv --columns-only --out columns-1\n"
        "  sgfs sketch --merge columns-* --out place-1\n"
        "  sgfs sketch --at place-1 --data part-1.csv --out pass-1-1\n"
        "  sgfs sketch --at place-1 --merge pass-1-* --out place-2   # until it is done\n"
        "  sgfs sketch --at place-6 --data part-1.csv --out marks-1\n"
        "  sgfs sample --sketch 'marks-*' --out fit.run\n",
    .stages = "sketch data prior model",
    .flags = flags,
    .words = 1,
    .run = sketch,
};
