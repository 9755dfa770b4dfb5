/* SPDX-License-Identifier: MIT
 * cmd_predict.c: sgfs predict RUN --data FILE [--out P.csv]
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum { SHOWN_LABELS = 20 };

/* ---- the tables ------------------------------------------------------------------------------ */

/* baseline: what the same prediction for every row would have; NaN: not known. */
static void print_beside(const char *what, double x, double se, const char *unit, double baseline) {
    printf("%-14s %-9.4g", what, x);
    if (isfinite(se)) printf(" +- %.2g", se);
    printf("%s", unit);
    if (isfinite(baseline)) printf("  (%.4g without the columns)", baseline);
    putchar('\n');
}

static void print_value(const char *what, double x, double se, const char *unit) {
    if (!isfinite(x)) {
        printf("%-14s %s\n", what, isnan(x) ? "-" : "infinite");
        return;
    }
    print_beside(what, x, se, unit, NAN);
}

static void print_cell(double x, int width) {
    if (isfinite(x)) printf(" %*.4f", width, x);
    else printf(" %*s", width, "-");
}

static void print_labels(const sgfs_prediction *p) {
    int64_t shown = p->labels < SHOWN_LABELS ? p->labels : SHOWN_LABELS;
    int width = cli_name_width(shown, p->label, sizeof *p->label, 55);
    printf("\n%-*s %10s %10s %10s %10s %10s\n", width, "label", "rows", "predicted", "right",
           "share", "mean p");
    for (int64_t k = 0; k < shown; k++) {
        const sgfs_predict_label *l = &p->label[k];
        cli_print_name(l->name, width);
        printf(" %10lld %10lld %10lld", (long long)l->rows, (long long)l->predicted,
               (long long)l->right);
        print_cell((double)l->rows / (double)(p->rows - p->unscored), 10);
        print_cell(l->probability, 10);
        putchar('\n');
    }
    if (p->labels > shown) {
        printf("... and %lld more labels; --json has all\n", (long long)(p->labels - shown));
    }
}

static void print_bins(const sgfs_predict_bin *bin, int digits) {
    printf("%*s %10s %10s %10s\n", 12 + digits, "", "rows", "predicted", "observed");
    for (int b = 0; b < 10; b++) {
        printf("%6.*f to %.*f %10lld", digits, bin[b].low, digits, bin[b].high,
               (long long)bin[b].rows);
        print_cell(bin[b].predicted, 10);
        print_cell(bin[b].observed, 10);
        putchar('\n');
    }
}

static void print_classes(const sgfs_prediction *p) {
    const sgfs_predict_baseline *without = &p->baseline;
    print_beside("error rate", p->error, p->error_se, "", without->error);
    if (isfinite(p->log_loss))
        print_beside("log loss", p->log_loss, p->log_loss_se, " nats a row", without->log_loss);
    else print_value("log loss", p->log_loss, NAN, "");
    print_beside("Brier score", p->brier, NAN, "", without->brier);
    if (p->labels == 2) print_value("AUC", p->auc, NAN, "  (0.5 is guessing)");
    print_value("calibration", p->ece, NAN, "(mean distance of the bins below)");
    print_labels(p);
    if (p->bins[0] != '\0') printf("\npredicted probability of \"%s\"\n", p->bins);
    else printf("\nprobability of the predicted label\n");
    print_bins(p->bin, 1);
    printf("\nthe same by tenths of the rows\n");
    print_bins(p->tenth, 4);
}

static void print_numbers(const sgfs_prediction *p) {
    print_beside("rmse", p->rmse, NAN, "", p->baseline.rmse);
    print_value("R squared", p->baseline.r2, NAN, "");
    print_value("mean abs error", p->mae, NAN, "");
    print_value("log loss", p->log_loss, p->log_loss_se, " nats a row");
    if (!p->intervals) return;
    char interval[32];
    double below = 50 * (1 - p->interval);
    snprintf(interval, sizeof interval, "%.4g %% interval", 100 * p->interval);
    print_value(interval, p->coverage, p->coverage_se, " of the targets lie in it");
    printf("\ntargets below the quantile of   %.4g %%: %.4f   50 %%: %.4f   %.4g %%: %.4f\n", below,
           p->under[0], p->under[1], 100 - below, p->under[2]);
    printf("targets by tenths of the predictive distribution (even when it is right)\n ");
    for (int b = 0; b < 10; b++)
        printf(" %.4f", (double)p->pit[b] / (double)(p->rows - p->unscored));
    putchar('\n');
}

/* written: the predictions are in a file. */
static void print_result(const sgfs_prediction *p, const char *path, bool written) {
    char shown[256];
    cli_data_show(path, shown, sizeof shown);
    int64_t used = p->rows - (p->scored ? p->unscored : p->unpredicted);
    printf("%s, %lld", p->model, (long long)used);
    if (used < p->rows) printf(" of %lld", (long long)p->rows);
    printf(" rows of %s, %lld draws, %.3g s\n", shown, (long long)p->draws, p->seconds);
    if (p->scored) putchar('\n');
    if (p->scored && p->labels > 0) print_classes(p);
    else if (p->scored) print_numbers(p);
    if (p->new_words > 0)
        printf("%srows with words that the run has not seen: %lld of %lld\n", p->scored ? "\n" : "",
               (long long)p->new_words, (long long)p->rows);
    if (p->new_groups > 0)
        printf("%srows in groups that the run has not seen: %lld of %lld\n", p->scored ? "\n" : "",
               (long long)p->new_groups, (long long)p->rows);
    if (p->labels == 0 && !p->intervals)
        printf("%sthe quantiles are quantiles of the mean, not of the target: the model cannot "
               "draw targets.\n",
               p->scored ? "\n" : "");
    if (!p->scored && !written)
        printf("Nothing to show: the file has no target to compare with. --out FILE writes the "
               "predictions.\n");
}

/* ---- the work -------------------------------------------------------------------------------- */

static const cli_flag flags[] = {
    {"data", "FILE...",
     "the new rows, as for sgfs sample: also several files, a pattern ('new-*.csv'), -\n"
     "                               for standard input; the target may be missing"},
    {"labels", "FILE", "the labels, where the rows are an IDX file"},
    {"out", "FILE", "write the predictions, one line a row, as CSV; in .npy every draw of each"},
    {"target", "NAME", "the target's column (default: as the run called it)"},
    {"delimiter", "C", "character between CSV cells, or \"tab\" (default: found by itself)"},
    {"header", "auto|yes|no", "does the CSV file start with column names?"},
    {"zero-based", NULL, "features of a libsvm file count from 0 (default: as in the run)"},
    {"part", "NAME", "train, validation or test: only rows of this part of the run's --split"},
    {"limit", "K", "only the first rows"},
    {"na", "error|drop|mean",
     "rows that lack a value: refuse them, leave their lines empty, or fill in the run's\n"
     "                               means (default: as in the run)"},
    {"new-words", "refuse|zero", "a word that the run has not seen: zero leaves its columns 0"},
    {"interval", "SHARE",
     "quantiles at the ends of an interval with this share of the draws (0.9)"},
    {"seed", "K", "same seed, same predictive draws"},
    {"threads", "K", "blocks of rows predicted side by side (default: all cores)"},
    {"device", "NAME", "cuda: a GPU does it for models of labels; auto: where it pays (blas)"},
    {"mpi", NULL, "share the rows with the other processes of mpirun or srun"},
    {"overwrite", NULL, "replace an existing file"},
    {NULL, NULL, NULL}};

static cli_borrowed borrowed[] = {{"target", "data.target"},
                                  {"delimiter", "data.delimiter"},
                                  {"header", "data.header"},
                                  {"interval", "summary.interval"},
                                  {"seed", "run.seed"},
                                  {"threads", "run.threads"},
                                  {"device", "run.device"},
                                  {"mpi", "run.mpi"},
                                  {"overwrite", "output.overwrite"},
                                  {"labels", "data.labels"},
                                  {"zero-based", "data.zero_based"},
                                  {"part", "data.part"},
                                  {"limit", "data.limit"},
                                  {"new-words", "data.new_words"},
                                  {"na", "data.na"},
                                  {NULL, NULL}};

static sgfs_status predict_run(cli_args *args, sgfs_err *err) {
    const char *data = cli_given(&cmd_predict, args, "data"),
               *out = cli_given(&cmd_predict, args, "out");
    if (args->words != 1 || data == NULL) {
        return cli_fail(err, SGFS_EUSAGE,
                        "Name a run and new rows: sgfs predict fit.run --data test.csv");
    }
    if (cli_borrow(&cmd_predict, args, borrowed, err) != SGFS_OK) return err->code;
    if (args->ranks > 1 && strcmp(data, "-") == 0)
        return cli_fail(err, SGFS_EUSAGE,
                        "Standard input reaches one process only: with --mpi, --data is a file.");
    if (args->rank == 0 && cli_check_out(&cmd_predict, args, out, err) != SGFS_OK) return err->code;
    sgfs_draws *draws = sgfs_draws_open(args->word[0], err);
    if (draws == NULL) return err->code;
    sgfs_job *job = sgfs_predict_open(draws, NULL, data, out, args->cfg, err);
    sgfs_status status = cli_run_job(job, args, err);
    const bool speaks = status == SGFS_OK && args->rank == 0;
    if (speaks && args->json) status = cli_print_json(job, err);
    else if (speaks) print_result(sgfs_job_result(job), data, out != NULL);
    if (status == SGFS_OK && out != NULL && !args->quiet) {
        fflush(stdout);
        fprintf(stderr, "predictions -> %s\n", out);
    }
    sgfs_job_free(job);
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
        "  sgfs predict fit.run --data new.csv --key id --interval 0.95 --out p.csv\n"
        "  sgfs predict fit.run --data 'new-*.csv' --out predictions.csv     # in quotes\n"
        "  sgfs predict fit.run --data test.csv --max-draws 200 --json\n"
        "  sgfs predict fit.run --data new.csv --new-groups zero     # models of groups\n\n"
        "Columns are found by name, in any order; labels and scales come from the run. The output\n"
        "has the probability of every label, or the mean of the target, with the 5, 50 and 95 %\n"
        "quantiles (--interval): of the probability over draws, or of the target itself. Where "
        "the\n"
        "file has the target, the screen says how good the predictions are.\n",
    .stages = "predict",
    .flags = flags,
    .words = 1,
    .run = predict_run,
};
