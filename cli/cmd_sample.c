/* SPDX-License-Identifier: MIT
 * cmd_sample.c: sgfs sample MODEL --data FILE ... --out RUN
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"
#include "cli.h"

/* The command to paste, malloc'ed; NULL when memory is out. Rows that came through a pipe have to
 * be given once more, and so have those that this command took from elsewhere than the run did; a
 * model of the user's own is never opened because a file says so. */
static char *command_to_go_on(const cli_args *args, const char *path) {
    enum { WORD = 1024 };
    const char *own = args->words > 0 && !cli_is_model(args->word[0]) ? args->word[0] : NULL;
    const char *data = cli_given(&cmd_sample, args, "data");
    bool piped = data != NULL && strcmp(data, "-") == 0;
    bool moved = data != NULL && cli_given(&cmd_sample, args, "resume") != NULL;
    char here[WORD], model[WORD] = "MODEL.so", run[WORD] = "RUN", rows[WORD] = "DATA";
    char *text = malloc(4 * WORD);
    snprintf(here, sizeof here, "%s%s", path[0] == '-' ? "./" : "", path);
    if (own != NULL) (void)sgfsi_shell_word(own, model, sizeof model);
    if (data != NULL && !piped) (void)sgfsi_shell_word(data, rows, sizeof rows);
    (void)sgfsi_shell_word(here, run, sizeof run);
    char launch[40] = "";
    if (args->ranks > 1) snprintf(launch, sizeof launch, "mpirun -n %lld ", (long long)args->ranks);
    if (text != NULL)
        snprintf(text, 4 * WORD, "%ssgfs sample %s%s--resume %s%s%s%s", launch,
                 own != NULL ? model : "", own != NULL ? " " : "", run,
                 args->ranks > 1 ? " --mpi" : "", piped || moved ? " --data " : "",
                 piped   ? "-   # with the same rows"
                 : moved ? rows
                         : "");
    return text;
}

/* Sample, close the file whatever happened, and report the first thing that went wrong. */
static sgfs_status walk(sgfs_run *run, const char *path, cli_args *args, sgfs_err *err) {
    /* seconds until the first line of progress */
    double due = args->quiet ? INFINITY : cli_is_terminal() ? 0 : 2;
    if (!args->quiet) {
        char to[300];
        snprintf(to, sizeof to, " -> %.290s", path);
        cli_print_wrapped(stderr, sgfs_run_describe(run), to);
    }
    cli_watch(args->cfg, &due);
    char *command = command_to_go_on(args, path);
    cli_on_lost_file(path, command != NULL ? command : "sgfs sample --resume");
    sgfs_status status = sgfs_run_all(run, err);
    cli_limit_time(NAN);
    cli_progress_end();
    sgfs_err closing;
    sgfs_status closed = sgfs_run_close(run, &closing);
    cli_watch(args->cfg, NULL);
    bool worse = closed != SGFS_OK && (status == SGFS_OK || status == SGFS_ESTOPPED);
    if (worse) {
        *err = closing;
        status = closed;
    }
    if (status == SGFS_ESTOPPED && strstr(err->text, "before the first draw") == NULL) {
        const sgfs_err stopped = *err;
        cli_fail(err, status, "%.200s The run is in %.250s (`sgfs summary`).", stopped.text, path);
    }
    args->command = status == SGFS_ESTOPPED || status == SGFS_EIO ? command : NULL;
    args->with_old_data = strstr(err->text, "rows are no longer those") != NULL;
    if (args->command == NULL) free(command);
    return status;
}

/* ---- --dry-run ------------------------------------------------------------------------------- */

static void keep_last(const sgfs_progress *p, void *user) {
    *(sgfs_progress *)user = *p;
}

/* What the run would do and need, on stdout. opened: seconds that it took to read and to open. */
static sgfs_status rehearse(sgfs_run *run, const cli_args *args, double opened, sgfs_err *err) {
    sgfs_progress p = {.eta = -1};
    char path[512];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.400s/sgfs-dry-run-%ld",
             folder != NULL && folder[0] != '\0' ? folder : "/tmp", (long)getpid());
    /* A file that is gone as soon as it is there: what a run writes takes memory, too. */
    sgfs_status status = sgfs_run_attach(run, path, err);
    (void)unlink(path);
    if (status != SGFS_OK) return status;
    double never = INFINITY;
    cli_watch(args->cfg, &never);
    sgfs_config_on_progress(args->cfg, keep_last, &p);
    status = sgfs_run_all(run, err);
    cli_limit_time(NAN);
    cli_watch(args->cfg, NULL);
    if (status != SGFS_OK || args->rank > 0) return status;
    double seconds = opened + p.seconds + (p.eta > 0 ? p.eta : 0);
    if (args->json) {
        printf("{\n  \"run\": ");
        cli_print_quoted(sgfs_run_describe(run));
        printf(",\n  \"bytes_needed\": %.0f,\n  \"bytes_available\": %.0f,\n"
               "  \"seconds\": %.4g,\n  \"seconds_to_open\": %.4g,\n  \"iterations\": %lld,\n"
               "  \"iterations_per_s\": %.4g\n}\n",
               p.bytes_needed, p.bytes_available, seconds, opened, (long long)p.total,
               p.iterations_per_s);
        return SGFS_OK;
    }
    bool giga = p.bytes_needed >= 1e9;
    printf("%s\n", sgfs_run_describe(run));
    printf("memory   about %.3g %s of %.3g GB\n", p.bytes_needed / (giga ? 1e9 : 1e6),
           giga ? "GB" : "MB", p.bytes_available / 1e9);
    printf(
        "time     about %.3g s: %.3g s to open, then %lld iterations at %.3g/s (more where --ess "
        "asks for it)\n",
        seconds, opened, (long long)p.total, p.iterations_per_s);
    return SGFS_OK;
}

static bool is_dry(const cli_args *args) {
    return strcmp(sgfs_config_get(args->cfg, "run.dry_run"), "true") == 0;
}

static sgfs_status with_model(const sgfs_data *data, const char *name, const char *path,
                              cli_args *args, double begun, sgfs_err *err) {
    sgfs_model *model = sgfs_model_open(name, data, args->cfg, err);
    if (model == NULL) return err->code;
    bool resumed = cli_given(&cmd_sample, args, "resume") != NULL;
    sgfs_run *run = resumed ? sgfs_run_resume(model, path, args->cfg, err)
                            : sgfs_run_open(model, args->cfg, err);
    bool dry = is_dry(args);
    sgfs_status status = run == NULL      ? err->code
                         : resumed || dry ? SGFS_OK
                                          : sgfs_run_attach(run, path, err);
    if (status == SGFS_OK && dry) status = rehearse(run, args, cli_now() - begun, err);
    else if (status == SGFS_OK) status = walk(run, path, args, err);
    sgfs_run_free(run);
    sgfs_model_free(model);
    return status;
}

static const cli_flag flags[] = {
    {"data", "FILE...", CLI_DATA_HELP},
    {"out", "RUN", "the run file to write (default: MODEL.run, MODEL-2.run, ...)"},
    {"sketch", "FILES", "draw from a sketch in place of rows: `sgfs sketch`; a pattern in quotes"},
    {"resume", "RUN", "go on with a run that was interrupted, or make a complete one longer"},
    {"wide", NULL, CLI_WIDE_HELP},
    {"allow-unconverged", NULL, "exit code 0 (not 7) where the draws are not to be trusted"},
    {NULL, NULL, NULL}};

/* The model of the run; named again it has to be the same, and one of the user's own has to be. */
static sgfs_status resumed_model(const cli_args *args, const char *path, const char **name,
                                 sgfs_err *err) {
    const char *then = sgfs_config_get(args->cfg, "model.name"), *out;
    if ((out = cli_given(&cmd_sample, args, "out")) != NULL && strcmp(out, path) != 0)
        return cli_fail(err, SGFS_EUSAGE, "--resume appends to its own file: leave out --out.");
    if (strcmp(sgfs_config_get(args->cfg, "output.overwrite"), "true") == 0)
        return cli_fail(err, SGFS_EUSAGE, "--resume goes on with a file: leave out --overwrite.");
    if (args->words > 0 && cli_check_model(&cmd_sample, args, err) != SGFS_OK) return err->code;
    *name = args->words > 0 ? args->word[0] : then;
    if (cli_is_model(then) && strcmp(*name, then) != 0)
        return cli_fail(err, SGFS_EUSAGE, "The run is of model %.100s, not %.100s.", then, *name);
    if (!cli_is_model(then) && args->words == 0)
        return cli_fail(err, SGFS_EUSAGE,
                        "The run is of a model of your own, %.100s: sgfs sample FILE.so --resume "
                        "%.200s",
                        then, path);
    return SGFS_OK;
}

/* The model of a sketch, which need not be named. */
static sgfs_status sketched_model(const cli_args *args, const char *path, const char **model,
                                  sgfs_err *err) {
    const char *then = sgfs_config_get(args->cfg, "model.name");
    if (cli_given(&cmd_sample, args, "data") != NULL)
        return cli_fail(err, SGFS_EUSAGE, "--sketch stands for the rows: leave out --data.");
    if (then == NULL)
        return cli_fail(err, SGFS_EUSAGE, "%.300s: is no sketch (`sgfs sketch` makes one).", path);
    if (args->words > 0 && strcmp(args->word[0], then) != 0)
        return cli_fail(err, SGFS_EUSAGE, "The sketch is of model %.100s, not %.100s.", then,
                        args->word[0]);
    *model = then;
    return SGFS_OK;
}

static sgfs_status sample(cli_args *args, sgfs_err *err) {
    char made[256], word[128];
    const char *path = cli_given(&cmd_sample, args, "resume"), *model = args->word[0],
               *sketch = cli_given(&cmd_sample, args, "sketch");
    bool resumed = path != NULL;
    if (resumed && is_dry(args))
        return cli_fail(err, SGFS_EUSAGE, "--dry-run is for a run that is yet to begin.");
    if (resumed) {
        if (resumed_model(args, path, &model, err) != SGFS_OK) return err->code;
    } else {
        path = cli_given(&cmd_sample, args, "out");
        if (sketch != NULL && sketched_model(args, sketch, &model, err) != SGFS_OK)
            return err->code;
        if (sketch == NULL && cli_check_model(&cmd_sample, args, err) != SGFS_OK) return err->code;
        cli_short_model(model, word, sizeof word);
        if (path == NULL) path = cli_free_name(args, word, "run", made);
    }
    char *command = resumed ? command_to_go_on(args, path) : NULL;
    if (command != NULL) cli_on_lost_file(path, command); /* whatever happens while it is opened */
    free(command);
    const char *limit = sgfs_config_get(args->cfg, "run.max_time"); /* of all that follows */
    cli_limit_time(strcmp(limit, "auto") == 0 ? NAN : strtod(limit, NULL));
    const double begun = cli_now();
    const char *rows = cli_given(&cmd_sample, args, "data");
    if (args->ranks > 1 && rows != NULL && strcmp(rows, "-") == 0)
        return cli_fail(err, SGFS_EUSAGE,
                        "Standard input reaches one process only: with --mpi, --data is a file.");
    bool writes = !resumed && args->rank == 0; /* the others need no file, which may exist by now */
    sgfs_data *data = cli_open_data(&cmd_sample, args, writes ? path : NULL, err);
    if (data == NULL) return err->code;
    sgfs_status status = with_model(data, model, path, args, begun, err);
    sgfs_data_free(data);
    if (status != SGFS_OK || is_dry(args) || args->rank > 0) return status;
    return cli_show_run(&cmd_sample, args, path, err);
}

const cli_command cmd_sample = {
    .name = "sample",
    .brief = "draw from the posterior of a model given data",
    .usage = "MODEL --data FILE [--out RUN], or --sketch FILES, or --resume RUN",
    .examples =
        "  sgfs sample logistic --data data.npy\n"
        "  sgfs sample linear --data house.csv.gz --target price --out fit.run\n"
        "  sgfs sample logistic --data 'part-*.sgd'       # several files, in quotes\n"
        "  zcat rows.csv.gz | sgfs sample logistic --data -\n"
        "  sgfs sample ./mymodel.so --data house.csv      # a model of your own\n"
        "  sgfs sample --resume fit.run                   # go on after an interruption\n"
        "  sgfs sample --sketch 'marks-*' --out fit.run   # without the data\n"
        "  sgfs sample logistic --data data.npy --sampler sgfs-f --batch 500 --alpha 1 \\\n"
        "       --warmup 5000 --draws 200000 --thin 100 --chains 4 --seed 7 --out fit.run\n",
    .usual = "Data: target features drop categorical date amount reference-level log1p standardize "
             "na weights exposure split validate\n"
             "Prior: prior prior-precision\n"
             "Sampling: sampler ess draws chains seed threads max-time dry-run overwrite\n",
    .stages = "run data prior fisher model sampler",
    .flags = flags,
    .words = 1,
    .run = sample,
};
