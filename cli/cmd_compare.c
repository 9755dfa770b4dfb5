/* SPDX-License-Identifier: MIT
 * cmd_compare.c: sgfs compare RUN --reference RUN2|MOMENTS, sgfs compare RUN1 RUN2 ...
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const cli_flag flags[] = {
    {"reference", "FILE",
     "another run, or JSON {\"names\": [...], \"mean\": [...], \"cov\": [[...]]}"},
    {NULL, NULL, NULL}};

/* A comparison is worth what the run is worth, and its reference. */
static sgfs_status warn_about_run(const sgfs_draws *draws, const sgfs_config *cfg, sgfs_err *err) {
    sgfs_job *job = sgfs_summary_open(draws, cfg, err);
    sgfs_status status = sgfs_job_run(job, err);
    if (status == SGFS_OK) cli_print_warnings(sgfs_job_result(job), stderr);
    sgfs_job_free(job);
    return status;
}

static void warn_about_state(const char *what, const char *path, const char *state) {
    if (state[0] == '\0' || strcmp(state, "complete") == 0) return;
    fprintf(stderr, "warning: the %s %s is not complete (%s): it counts by the draws it has.\n",
            what, path, state);
}

static sgfs_status compare_one(const char *path, const char *reference, const cli_args *args,
                               sgfs_err *err) {
    sgfs_draws *draws = sgfs_draws_open(path, err);
    if (draws == NULL) return err->code;
    sgfs_job *job = sgfs_compare_open(draws, reference, args->cfg, err);
    sgfs_status status = sgfs_job_run(job, err);
    if (status == SGFS_OK && args->json) status = cli_print_json(job, err);
    else if (status == SGFS_OK) {
        const sgfs_compare *c = sgfs_job_result(job);
        cli_print_compare(c);
        fflush(stdout);
        warn_about_state("run", path, c->state);
        warn_about_state("reference", reference, c->reference_state);
        if (c->reference_verdict[0] != '\0')
            fprintf(stderr, "warning: the reference %s: %s\n", reference, c->reference_verdict);
        status = warn_about_run(draws, args->cfg, err);
    }
    sgfs_job_free(job);
    sgfs_draws_free(draws);
    return status;
}

/* ---- several runs side by side --------------------------------------------------------------- */

/* One line of the table, or one object of the JSON. */
static void print_run(const char *path, const sgfs_summary *s, const sgfs_compare *c, int width,
                      bool json) {
    double worst = NAN;
    for (int64_t i = 0; c != NULL && i < c->dim; i++) worst = fmax(worst, fabs(c->row[i].z));
    const char *const name[] = {"ess_min", "sampling_seconds", "ess_per_s", "largest_z", "E1", "E2",
                                "trR"};
    const double value[] = {s->ess_min,
                            s->ess_min / s->ess_per_s,
                            s->ess_per_s,
                            worst,
                            c != NULL ? c->E1 : NAN,
                            c != NULL ? c->E2 : NAN,
                            c != NULL ? c->trR : NAN};
    if (json) {
        printf("{\"run\": ");
        cli_print_quoted(path);
        printf(", \"sampler\": ");
        cli_print_quoted(s->sampler);
        printf(", \"trust\": %s", s->trust ? "true" : "false");
        for (int k = 0; k < 7; k++) {
            printf(", \"%s\": ", name[k]);
            if (isfinite(value[k])) printf("%.10g", value[k]);
            else printf("null");
        }
        putchar('}');
        return;
    }
    cli_print_name(path, width);
    printf(" %-12s", s->sampler);
    for (int k = 0; k < 4; k++) cli_print_num(value[k], k == 3 ? 6 : 8, 3);
    cli_print_num(value[6], 6, 3);
    putchar('\n');
}

static sgfs_status compare_many(const char *reference, const cli_args *args, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    const char *const *const runs = args->word;
    if (reference == NULL) reference = runs[0];
    int width = cli_name_width(args->words, runs, sizeof *runs, 60);
    if (args->json)
        printf("{\"reference\": "), cli_print_quoted(reference), printf(", \"runs\": [");
    else {
        cli_print_name("run", width);
        printf(" %-12s %8s %8s %8s %6s %6s\n", "sampler", "ess", "seconds", "ess/s", "max|z|",
               "trR");
    }
    for (int i = 0; i < args->words && status == SGFS_OK; i++) {
        sgfs_draws *draws = sgfs_draws_open(runs[i], err);
        sgfs_job *summary = sgfs_summary_open(draws, args->cfg, err), *compare = NULL;
        status = sgfs_job_run(summary, err);
        bool itself = cli_same_file(runs[i], reference);
        if (status == SGFS_OK && !itself) {
            compare = sgfs_compare_open(draws, reference, args->cfg, err);
            status = sgfs_job_run(compare, err);
        }
        if (status == SGFS_OK) {
            if (args->json && i > 0) printf(", ");
            const sgfs_summary *s = sgfs_job_result(summary);
            print_run(runs[i], s, compare != NULL ? sgfs_job_result(compare) : NULL, width,
                      args->json);
            fflush(stdout);
            if (!s->trust) fprintf(stderr, "warning: %s: %s\n", runs[i], s->verdict);
        }
        if (status != SGFS_OK && strstr(err->text, runs[i]) == NULL) {
            const sgfs_err why = *err;
            cli_fail(err, status, "%.150s: %.350s", runs[i], why.text);
        }
        sgfs_job_free(compare);
        sgfs_job_free(summary);
        sgfs_draws_free(draws);
    }
    if (status == SGFS_OK && args->json) puts("]}");
    if (status != SGFS_OK || args->json) return status;
    printf("\ness: smallest of all parameters; seconds: of sampling, warm-up left out.\n"
           "max|z| and trR: against %s (max|z| over 4.5 is no chance; trR is 1 where\n"
           "variances agree). One run alone, with --reference, shows every parameter.\n",
           reference);
    return SGFS_OK;
}

static sgfs_status compare(cli_args *args, sgfs_err *err) {
    const char *reference = cli_given(&cmd_compare, args, "reference");
    if (args->words > 1) return compare_many(reference, args, err);
    if (args->words == 1 && reference != NULL)
        return compare_one(args->word[0], reference, args, err);
    return cli_fail(err, SGFS_EUSAGE,
                    "Name a run and a reference (sgfs compare fit.run --reference truth.json), or "
                    "several runs (sgfs compare a.run b.run).");
}

const cli_command cmd_compare = {
    .name = "compare",
    .brief = "how far a run is from a reference; speed of runs side by side",
    .usage = "RUN --reference RUN2|MOMENTS.json, or RUN1 RUN2 ... [--reference FILE] [--json]",
    .examples = "  sgfs compare fit.run --reference truth.json\n"
                "  sgfs compare fit.run --reference long.run --json\n"
                "  sgfs compare exact.run nuts.run sgld.run       # effective draws a second\n\n"
                "What the measures mean:\n"
                "  z    (mean - reference) / Monte Carlo error; beyond 4 is no chance\n"
                "  E1   sum |mean - mean*| / sum |mean*|\n"
                "  E2   sum |C - C*| / sum |C*| over all covariances\n"
                "  trR  tr(C*^-1 C)/D: average variance relative to the reference, 1 is right\n"
                "Several runs are compared with the reference, or with the first of them.\n",
    .stages = "",
    .flags = flags,
    .run = compare,
};
