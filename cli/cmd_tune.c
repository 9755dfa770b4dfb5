/* SPDX-License-Identifier: MIT
 * cmd_tune.c: sgfs tune MODEL --data FILE --sampler S --grid epsilon=1e-3,5e-4 ... --out best.json
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static void stop(void *work) {
    sgfs_tune_stop(work);
}

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

static void print_result(const sgfs_tune *tune, const cli_args *args) {
    const sgfs_tune_table *t = sgfs_tune_result(tune);
    if (t->rows == 0) return;
    if (!args->json) {
        print_table(t);
        return;
    }
    char *text = sgfs_tune_json(tune);
    if (text != NULL) puts(text);
    sgfs_text_free(text);
}

/* ---- the work -------------------------------------------------------------------------------- */

static sgfs_status add_grids(sgfs_tune *tune, const cli_args *args, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int i = 0; i < args->manys && status == SGFS_OK; i++) {
        char name[128];
        const char *equals = strchr(args->many[i], '=');
        size_t n = equals != NULL ? (size_t)(equals - args->many[i]) : sizeof name;
        if (n >= sizeof name) {
            return cli_fail(err, SGFS_EUSAGE,
                            "--grid %.100s: write it as OPTION=VALUE,VALUE, for example --grid "
                            "epsilon=1e-3,1e-4.",
                            args->many[i]);
        }
        memcpy(name, args->many[i], n);
        name[n] = '\0';
        status = sgfs_tune_grid(tune, name, equals + 1, err);
    }
    return status;
}

static sgfs_status with_tune(sgfs_tune *tune, const char *path, const cli_args *args,
                             sgfs_err *err) {
    double due = 2;
    sgfs_status status = add_grids(tune, args, err);
    if (status != SGFS_OK) return status;
    if (!args->quiet) sgfs_tune_on_progress(tune, cli_tune_progress, &due);
    cli_on_interrupt(stop, tune);
    status = sgfs_tune_all(tune, err);
    cli_on_interrupt(stop, NULL);
    cli_progress_end();
    print_result(tune, args);
    if (status != SGFS_OK) return status;
    status = sgfs_tune_save(tune, path, err);
    if (status == SGFS_OK && !args->quiet) {
        fflush(stdout);
        fprintf(stderr, "The winner is in %s: sgfs sample %s --data FILE --config %s\n", path,
                args->word[0], path);
    }
    return status;
}

static sgfs_status with_model(const sgfs_data *data, const char *path, const cli_args *args,
                              sgfs_err *err) {
    sgfs_model *model = sgfs_model_open(args->word[0], data, args->cfg, err);
    sgfs_tune *tune = model != NULL ? sgfs_tune_open(model, args->cfg, err) : NULL;
    sgfs_status status = tune != NULL ? with_tune(tune, path, args, err) : err->code;
    sgfs_tune_free(tune);
    sgfs_model_free(model);
    return status;
}

static const cli_flag flags[] = {
    {"data", "FILE...", CLI_DATA_HELP},
    {"grid", "OPTION=X,Y,...", "values to try; several --grid: every combination"},
    {"out", "FILE", "the winner, for --config (default: MODEL-SAMPLER.json, or MODEL-tuned.json)"},
    {NULL, NULL, NULL}};

static sgfs_status tune(cli_args *args, sgfs_err *err) {
    char made[256], word[128];
    const char *path = cli_given(&cmd_tune, args, "out");
    if (cli_check_model(&cmd_tune, args, err) != SGFS_OK) return err->code;
    if (path == NULL) {
        cli_short_model(args->word[0], word, sizeof word);
        const char *sampler = sgfs_config_get(args->cfg, "sampler.kind");
        snprintf(made, sizeof made, "%.100s-%.100s.json", word,
                 strcmp(sampler, "auto") == 0 ? "tuned" : sampler);
        path = made;
    }
    sgfs_data *data = cli_open_data(&cmd_tune, args, path, err);
    if (data == NULL) return err->code;
    sgfs_status status = with_model(data, path, args, err);
    sgfs_data_free(data);
    return status;
}

const cli_command cmd_tune = {
    .name = "tune",
    .brief = "try settings, by cross-validation or against a reference",
    .usage = "MODEL --data FILE [--grid OPTION=X,Y,...] [options] [--out FILE]",
    .examples =
        "  sgfs tune logistic --data data.npy --sampler sgld --grid epsilon=1e-4,5e-5,1e-5\n"
        "  sgfs tune logistic --data data.npy --sampler sgld --grid epsilon=1e-4,1e-5 \\\n"
        "       --grid batch=100,500 --holdout 0.2 --out best.json\n"
        "  sgfs tune logistic --data 'part-*.csv' --sampler sgld\n"
        "  sgfs tune logistic --data data.npy --sampler sgfs-d --by error --reference truth.json\n"
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
