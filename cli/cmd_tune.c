/* SPDX-License-Identifier: MIT
 * cmd_tune.c: sgfs tune MODEL --data FILE --sampler S --grid epsilon=1e-3,5e-4 ... --out best.json
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* ---- the table ------------------------------------------------------------------------------- */

static void print_cell(double x, int width) {
    if (isfinite(x)) printf(" %*.4g", width, x);
    else printf(" %*s", width, "-");
}

static int widest(const sgfs_tune_table *t) {
    int width = 7;
    for (int64_t i = 0; i < t->rows; i++) {
        int w = (int)strlen(t->row[i].setting);
        width = w > width ? w : width;
    }
    return width;
}

/* * the recommended one, ~ tied with the best */
static char mark_of(const sgfs_tune_table *t, int64_t i) {
    return i == t->winner ? '*' : t->row[i].tied ? '~' : ' ';
}

static void print_row(const sgfs_tune_table *t, int64_t i, int width) {
    const sgfs_tune_row *r = &t->row[i];
    const double loss[] = {r->loss, r->loss_se, r->gap, r->gap_se, r->error};
    const double error[] = {r->E1, r->E2, r->E2_noise, r->trR, NAN};
    printf("%c %-*s", mark_of(t, i), width, r->setting);
    if (strcmp(r->state, "ok") != 0) {
        printf("  %s\n", r->state);
        return;
    }
    for (int k = 0; k < (t->by_error ? 4 : 5); k++) print_cell((t->by_error ? error : loss)[k], 10);
    print_cell(r->spread, 8);
    print_cell(r->ess_min, 9);
    print_cell(r->seconds, 8);
    putchar('\n');
}

static void print_table(const sgfs_tune_table *t) {
    int width = widest(t);
    printf("  %-*s", width, "setting");
    if (t->by_error) printf(" %10s %10s %10s %10s", "E1", "E2", "E2 noise", "trR");
    else printf(" %10s %10s %10s %10s %10s", "log loss", "se", "vs best", "se", "error");
    printf(" %8s %9s %8s\n", "spread", "ESS min", "seconds");
    for (int64_t i = 0; i < t->rows; i++) print_row(t, i, width);
    putchar('\n');
    if (!t->by_error && t->winner >= 0) {
        printf("* recommended, ~ not told apart from the best (95 %%); %lld fold%s; log loss in "
               "nats "
               "a row\n",
               (long long)t->folds, t->folds == 1 ? "" : "s");
    }
    printf("%s\n", t->verdict);
}

/* ---- the work -------------------------------------------------------------------------------- */

/* Every --grid on a line of its own; the caller frees. */
static char *join_grids(const cli_args *args) {
    size_t room = 1;
    for (int i = 0; i < args->manys; i++) room += strlen(args->many[i]) + 1;
    char *all = malloc(room), *end = all;
    if (all == NULL) return NULL;
    *end = '\0';
    for (int i = 0; i < args->manys; i++)
        end += sprintf(end, "%s%s", i > 0 ? "\n" : "", args->many[i]);
    return all;
}

static sgfs_status with_model(const sgfs_model *model, const char *path, const cli_args *args,
                              sgfs_err *err) {
    char *grid = join_grids(args);
    if (grid == NULL) return cli_fail(err, SGFS_ENOMEM, "Out of memory for the arguments.");
    sgfs_job *job = sgfs_tune_open(model, grid, args->cfg, err);
    free(grid);
    if (job == NULL) return err->code;
    sgfs_status status = cli_run_job(job, args, err);
    const sgfs_tune_table *table = sgfs_job_result(job);
    if (table->rows > 0 && !args->json) print_table(table);
    else if (table->rows > 0 && cli_print_json(job, err) != SGFS_OK) status = err->code;
    if (status == SGFS_OK) status = sgfs_job_save(job, path, err);
    if (status == SGFS_OK && !args->quiet) {
        fflush(stdout);
        fprintf(stderr, "The winner is in %s: sgfs sample %s --data FILE --config %s\n", path,
                args->word[0], path);
    }
    sgfs_job_free(job);
    return status;
}

static const cli_flag flags[] = {
    {"data", "FILE...", CLI_DATA_HELP},
    {"grid", "OPTION=X,Y,...", "values to try; several --grid: every combination"},
    {"out", "FILE", "the winner, for --config (default: MODEL-SAMPLER.json, ...-2.json, ...)"},
    {NULL, NULL, NULL}};

static sgfs_status tune(cli_args *args, sgfs_err *err) {
    char made[256], word[128], stem[240];
    const char *path = cli_given(&cmd_tune, args, "out");
    if (cli_check_model(&cmd_tune, args, err) != SGFS_OK) return err->code;
    if (path == NULL) {
        cli_short_model(args->word[0], word, sizeof word);
        const char *sampler = sgfs_config_get(args->cfg, "sampler.kind");
        snprintf(stem, sizeof stem, "%.100s-%.100s", word,
                 strcmp(sampler, "auto") == 0 ? "tuned" : sampler);
        path = cli_free_name(args, stem, "json", made);
    }
    sgfs_data *data = cli_open_data(&cmd_tune, args, path, err);
    if (data == NULL) return err->code;
    sgfs_model *model = sgfs_model_open(args->word[0], data, args->cfg, err);
    sgfs_status status = model != NULL ? with_model(model, path, args, err) : err->code;
    sgfs_model_free(model);
    sgfs_data_free(data);
    return status;
}

const cli_command cmd_tune = {
    .name = "tune",
    .brief = "try settings, by cross-validation or against a reference",
    .usage = "MODEL --data FILE [--grid OPTION=X,Y,...] [options] [--out FILE]",
    .examples =
        "  sgfs tune logistic --data data.npy --sampler sgld --grid epsilon=1e-4,1e-5\n"
        "  sgfs tune logistic --data data.npy --sampler sgld --grid epsilon=1e-4,1e-5 \\\n"
        "       --grid batch=100,500 --holdout 0.2 --out best.json\n"
        "  sgfs tune logistic --data 'part-*.csv' --sampler sgld\n"
        "  sgfs tune logistic --data data.npy --grid sampler=exact,nuts   # which one?\n"
        "  sgfs tune logistic --data a.npy --sampler sgfs-d --by error --reference a.json\n"
        "  sgfs sample logistic --data data.npy --config best.json\n\n"
        "Without --grid: alpha 0, 1, 2, 4 for SGFS, else 0.1, 0.3, 1, 3, 10 times the sampler's "
        "own "
        "step.\n",
    .stages = "run data prior fisher model sampler tune",
    .flags = flags,
    .words = 1,
    .repeats = "grid",
    .run = tune,
};
