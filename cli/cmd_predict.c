/* SPDX-License-Identifier: MIT
 * cmd_predict.c: sgfs predict RUN --data FILE [--out P.csv]
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum { SHOWN_LABELS = 20 };

/* ---- the tables ------------------------------------------------------------------------------ */

static void print_value(const char *what, double x, double se, const char *unit) {
    if (!isfinite(x)) {
        printf("%-14s %s\n", what, isnan(x) ? "-" : "infinite");
        return;
    }
    printf("%-14s %-9.4g", what, x);
    if (isfinite(se)) printf(" +- %.2g", se);
    printf("%s\n", unit);
}

static void print_cell(double x, int width) {
    if (isfinite(x)) printf(" %*.4f", width, x);
    else printf(" %*s", width, "-");
}

static void print_labels(const sgfs_prediction *p) {
    int width = 8;
    int64_t shown = p->labels < SHOWN_LABELS ? p->labels : SHOWN_LABELS;
    for (int64_t k = 0; k < shown; k++) {
        int w = (int)strlen(p->label[k].name);
        width = w > width ? w : width;
    }
    width = width < 40 ? width : 40;
    printf("\n%-*s %10s %10s %10s %10s %10s\n", width, "label", "rows", "predicted", "right",
           "share", "mean p");
    for (int64_t k = 0; k < shown; k++) {
        const sgfs_predict_label *l = &p->label[k];
        printf("%-*.*s %10lld %10lld %10lld", width, width, l->name, (long long)l->rows,
               (long long)l->predicted, (long long)l->right);
        print_cell((double)l->rows / (double)p->rows, 10);
        print_cell(l->probability, 10);
        putchar('\n');
    }
    if (p->labels > shown) {
        printf("... and %lld more labels; --json has all\n", (long long)(p->labels - shown));
    }
}

static void print_bins(const sgfs_prediction *p) {
    if (p->bins[0] != '\0') printf("\npredicted probability of \"%s\"\n", p->bins);
    else printf("\nprobability of the predicted label\n");
    printf("%12s %10s %10s %10s\n", "", "rows", "predicted", "observed");
    for (int b = 0; b < 10; b++) {
        printf("%5.1f to %3.1f %10lld", p->bin[b].low, p->bin[b].high, (long long)p->bin[b].rows);
        print_cell(p->bin[b].predicted, 10);
        print_cell(p->bin[b].observed, 10);
        putchar('\n');
    }
}

static void print_classes(const sgfs_prediction *p) {
    print_value("error rate", p->error, p->error_se, "");
    print_value("log loss", p->log_loss, p->log_loss_se, " nats a row");
    print_value("Brier score", p->brier, NAN, "");
    print_value("calibration", p->ece, NAN, "(mean distance of the bins below)");
    print_labels(p);
    print_bins(p);
}

static void print_numbers(const sgfs_prediction *p) {
    print_value("rmse", p->rmse, NAN, "");
    print_value("mean abs error", p->mae, NAN, "");
    print_value("log loss", p->log_loss, p->log_loss_se, " nats a row");
    if (!p->intervals) return;
    print_value("90 % interval", p->coverage, p->coverage_se, " of the targets lie in it");
    printf("\ntargets below the quantile of   5 %%: %.4f   50 %%: %.4f   95 %%: %.4f\n",
           p->under[0], p->under[1], p->under[2]);
    printf("targets by tenths of the predictive distribution (even when it is right)\n ");
    for (int b = 0; b < 10; b++) printf(" %.4f", (double)p->pit[b] / (double)p->rows);
    putchar('\n');
}

static void print_result(const sgfs_predict *predict, const char *path, const cli_args *args) {
    const sgfs_prediction *p = sgfs_predict_result(predict);
    if (args->json) {
        char *text = sgfs_predict_json(predict);
        if (text != NULL) puts(text);
        sgfs_text_free(text);
        return;
    }
    char shown[256];
    cli_data_show(path, shown, sizeof shown);
    printf("%s, %lld rows of %s, %lld draws, %.3g s\n", p->model, (long long)p->rows, shown,
           (long long)p->draws, p->seconds);
    if (!p->scored) return;
    putchar('\n');
    if (p->labels > 0) print_classes(p);
    else print_numbers(p);
}

/* ---- the work -------------------------------------------------------------------------------- */

static const cli_flag flags[] = {
    {"data", "FILE...",
     "the new rows, as for sgfs sample: also several files, a pattern ('new-*.csv'), -\n"
     "                               for standard input; the target may be missing"},
    {"labels", "FILE", "the labels, where the rows are an IDX file"},
    {"out", "FILE", "write the predictions, one line a row, as CSV"},
    {"target", "NAME", "the target's column (default: as the run called it)"},
    {"delimiter", "C", "character between CSV cells, or \"tab\" (default: found by itself)"},
    {"header", "auto|yes|no", "does the CSV file start with column names?"},
    {"zero-based", NULL, "features of a libsvm file count from 0 (default: as in the run)"},
    {"part", "NAME", "train, validation or test: only rows of this part of the run's --split"},
    {"limit", "K", "only the first rows"},
    {"new-words", "refuse|zero", "a word that the run has not seen: zero leaves its columns 0"},
    {"seed", "K", "same seed, same predictive draws"},
    {"threads", "K", "blocks of rows predicted side by side (default: all cores)"},
    {"overwrite", NULL, "replace an existing file"},
    {NULL, NULL, NULL}};

/* Options of other stages that make sense here as well. */
static sgfs_status borrow_all(cli_args *args, sgfs_err *err) {
    static const char *const borrowed[][2] = {
        {"target", "data.target"},      {"delimiter", "data.delimiter"},
        {"header", "data.header"},      {"seed", "run.seed"},
        {"threads", "run.threads"},     {"overwrite", "output.overwrite"},
        {"labels", "data.labels"},      {"zero-based", "data.zero_based"},
        {"part", "data.part"},          {"limit", "data.limit"},
        {"new-words", "data.new_words"}};
    sgfs_status status = SGFS_OK;
    for (size_t i = 0; i < sizeof borrowed / sizeof borrowed[0] && status == SGFS_OK; i++) {
        const char *value = cli_given(&cmd_predict, args, borrowed[i][0]);
        if (value == NULL) continue;
        status = sgfs_config_set(args->cfg, borrowed[i][1], value[0] == '\0' ? "true" : value, err);
    }
    return status;
}

static void stop(void *work) {
    sgfs_predict_stop(work);
}

static sgfs_status with_predict(sgfs_predict *predict, const char *data, const char *out,
                                const cli_args *args, sgfs_err *err) {
    double due = 2;
    if (!args->quiet) sgfs_predict_on_progress(predict, cli_predict_progress, &due);
    cli_on_interrupt(stop, predict);
    sgfs_status status = sgfs_predict_all(predict, out, err);
    cli_on_interrupt(stop, NULL);
    cli_progress_end();
    if (status != SGFS_OK) return status;
    print_result(predict, data, args);
    if (out != NULL && !args->quiet) {
        fflush(stdout);
        fprintf(stderr, "predictions -> %s\n", out);
    }
    return SGFS_OK;
}

static sgfs_status predict_run(cli_args *args, sgfs_err *err) {
    const char *data = cli_given(&cmd_predict, args, "data"),
               *out = cli_given(&cmd_predict, args, "out");
    if (args->words != 1 || data == NULL) {
        return cli_fail(err, SGFS_EUSAGE,
                        "Name a run and new rows: sgfs predict fit.run --data test.csv");
    }
    if (borrow_all(args, err) != SGFS_OK) return err->code;
    if (cli_check_out(args, out, data, err) != SGFS_OK) return err->code;
    if (out != NULL && cli_same_file(out, args->word[0]))
        return cli_fail(err, SGFS_EUSAGE, "%s: is the run; give --out another name.", out);
    sgfs_draws *draws = sgfs_draws_open(args->word[0], err);
    if (draws == NULL) return err->code;
    sgfs_predict *predict = sgfs_predict_open(draws, data, args->cfg, err);
    sgfs_status status = predict != NULL ? with_predict(predict, data, out, args, err) : err->code;
    sgfs_predict_free(predict);
    sgfs_draws_free(draws);
    return status;
}

const cli_command cmd_predict = {
    .name = "predict",
    .brief = "predict new rows, averaged over a run's draws",
    .usage = "RUN --data FILE [--out P.csv] [--max-draws K] [options]",
    .examples =
        "  sgfs predict fit.run --data test.csv\n"
        "  sgfs predict fit.run --data new.csv.gz --out predictions.csv\n"
        "  sgfs predict fit.run --data 'new-*.csv' --out predictions.csv     # in quotes\n"
        "  sgfs predict fit.run --data test.csv --max-draws 200 --json\n\n"
        "Columns are found by name, in any order; labels and scales come from the run. The output\n"
        "has the probability of every label, or the mean of the target, with the 5, 50 and 95 %\n"
        "quantiles: of the probability over draws, or of the target itself. Where the file has "
        "the\n"
        "target, the screen says how good the predictions are.\n",
    .stages = "predict",
    .flags = flags,
    .words = 1,
    .run = predict_run,
};
