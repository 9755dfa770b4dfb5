/* SPDX-License-Identifier: MIT
 * stancsv.c: Stan CSV, as CmdStan writes it, for the many tools that read nothing else.
 *
 * One file per chain: fit.stan.csv for a run of one chain, fit_1.stan.csv, fit_2.stan.csv, ... for
 * more. The readers (CmdStan's stansummary, cmdstanpy, ArviZ, rstan) disagree on details, so the
 * layout below is the one that all of them take. What looks arbitrary is not:
 *   - save_warmup is 0 and not false; a metric line and max_depth must stand in the config;
 *   - the columns ending in __ are the standard ones, filled from the run's statistics where it has
 *     them; without a tree or an acceptance they stand there all the same (depth 0, one step,
 *     accepted), since readers insist. energy__ only where the run kept a true energy: from a
 *     made-up one Stan's diagnose would compute a meaningless E-BFMI. Other statistics go to
 *     netCDF;
 *   - the columns of a matrix run down its columns first, as cmdstanpy reshapes by position;
 *   - the seconds of the footer begin in column 17, and never with an exponent.
 * The "inverse mass matrix" of the adaptation block is the chain's posterior covariance (dense_e)
 * or variances (diag_e), the counterpart of SGFS's preconditioner. A dense matrix is written only
 * for D <= 1000 or where the run kept one; beyond that the metric is given as diag_e.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "sink/export.h"

enum { DENSE_MAX = 1000 };

typedef struct writer {
    const sgfs_draws *d;
    const sgfsi_chain_draws *c; /* the chain of this file */
    int64_t draws;              /* of it that are exported */
    sgfsi_export_block *blocks;
    int64_t block_count;
    int64_t *order; /* D: place in theta of each column, in the order of the columns */
    /* columns of the statistics, or -1 */
    int64_t lp, accept, step, depth, leapfrogs, diverging, energy;
    const char *metric;
    double *mean; /* D, over these draws */
} writer;

/* ---- names and order ------------------------------------------------------------------------- */

/* A Stan identifier: letters, digits and _, a letter first, no __ at the end. */
static void make_identifier(char *text) {
    size_t n = 0;
    for (const char *c = text; *c != '\0'; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        bool digit = *c >= '0' && *c <= '9';
        /* one _ for a whole run of other characters, none in front */
        if (letter || digit) text[n++] = *c;
        else if (n > 0 && text[n - 1] != '_') text[n++] = '_';
    }
    while (n > 0 && text[n - 1] == '_') n--;
    text[n] = '\0';
    if (n > 0 && !(text[0] >= '0' && text[0] <= '9')) return;
    memmove(text + 1, text, n + 1);
    text[0] = 'v';
}

/* The columns of a matrix run down its columns first; w->order keeps where each is in theta. */
static void write_columns(FILE *f, const writer *w) {
    int64_t column = 0;
    fputs("lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__", f);
    if (w->energy >= 0) fputs(",energy__", f);
    for (int64_t b = 0; b < w->block_count; b++) {
        const sgfsi_export_block *block = &w->blocks[b];
        int64_t size = block->rows * block->cols;
        bool matrix = block->rows > 1 && block->cols > 1;
        for (int64_t i = 0; i < size; i++) {
            long long r = i % block->rows + 1, c = i / block->rows + 1;
            fprintf(f, ",%s", block->name);
            if (matrix) fprintf(f, ".%lld.%lld", r, c);
            else if (size > 1) fprintf(f, ".%lld", (long long)i + 1);
            w->order[column++] = block->offset + (r - 1) * block->cols + c - 1;
        }
    }
    fputc('\n', f);
}

/* ---- config and footer ----------------------------------------------------------------------- */

/* One line of the config; the value is freed of what readers would trip over. */
static void write_text(FILE *f, const char *key, const char *value) {
    fprintf(f, "# %s = ", key);
    for (const char *c = value; *c != '\0'; c++) fputc(*c == '=' || (*c & 0xE0) == 0 ? '_' : *c, f);
    fputc('\n', f);
}

static void write_int(FILE *f, const char *key, int64_t value) {
    fprintf(f, "# %s = %lld\n", key, (long long)value);
}

static void write_config(FILE *f, const writer *w, int64_t chain) {
    const sgfsi_json *h = w->d->header;
    /* Readers expect ceil(num_samples / thin) rows, which an interrupted run does not have. */
    int64_t samples = sgfsi_json_get_int(h, "draws", 0), thin = w->d->thin;
    if (samples < 1 || (samples - 1) / thin + 1 != w->draws) samples = w->draws * thin;
    /* Trajectories go by Stan's own words; any other sampler by its name and its matrix. */
    const char *engine = sgfsi_json_get_text(h, "fisher", "");
    bool hmc = w->energy >= 0;
    double max_depth = w->depth >= 0 ? sgfsi_draws_option(w->d, "sampler.max_depth", 10) : 10;
    if (hmc) engine = w->depth >= 0 ? "nuts" : "static";
    fputs("# stan_version_major = 2\n# stan_version_minor = 36\n# stan_version_patch = 0\n", f);
    write_text(f, "model", sgfsi_json_get_text(h, "model", "sgfs"));
    write_text(f, "start_datetime", sgfsi_json_get_text(h, "created_at", ""));
    fputs("# method = sample\n#   sample\n", f);
    write_int(f, "    num_samples", samples);
    write_int(f, "    num_warmup", sgfsi_json_get_int(h, "warmup", 0));
    fputs("#     save_warmup = 0\n", f);
    write_int(f, "    thin", thin);
    fputs("#     adapt\n#       engaged = 1\n", f);
    write_text(f, "    algorithm", hmc ? "hmc" : sgfsi_json_get_text(h, "sampler", "sgfs"));
    write_text(f, "      engine", engine[0] != '\0' ? engine : "none");
    fprintf(f, "#         max_depth = %.0f\n", max_depth);
    write_text(f, "      metric", w->metric);
    write_int(f, "id", chain + 1);
    fputs("# random\n", f);
    write_int(f, "  seed", sgfsi_json_get_int(h, "seed", 0));
    fputs("# output\n", f);
    write_text(f, "  sgfs_version", sgfsi_json_get_text(h, "sgfs_version", ""));
    write_text(f, "  sgfs_state", w->d->state);
}

static void write_seconds(FILE *f, const char *before, double seconds, const char *after) {
    bool sane = seconds >= 0 && seconds < 1e12;
    long long ms = sane ? llround(seconds * 1000) : 0;
    fprintf(f, "%s%lld.%03lld seconds (%s)\n", before, ms / 1000, ms % 1000, after);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void write_number(FILE *f, double x) {
    char text[SGFSI_NUM_CHARS] = "";
    size_t n = sgfsi_format_num(text, x);
    fwrite(text, 1, n, f);
}

/* Statistic `column` of draw t, or what stands in for one that the sampler does not have. */
static double stat_at(const writer *w, int64_t t, int64_t column, double otherwise) {
    return column < 0 ? otherwise : w->c->stats[t * w->d->S + column];
}

static double step_at(const writer *w, int64_t t) {
    return stat_at(w, t, w->step, sgfsi_json_get_num(w->d->header, "step_size", NAN));
}

static void write_draws(FILE *f, const writer *w) {
    for (int64_t t = 0; t < w->draws && !ferror(f); t++) {
        write_number(f, stat_at(w, t, w->lp, NAN));
        fputc(',', f);
        write_number(f, stat_at(w, t, w->accept, 1));
        fputc(',', f);
        write_number(f, step_at(w, t));
        fprintf(f, ",%.0f,%.0f,%d", stat_at(w, t, w->depth, 0), stat_at(w, t, w->leapfrogs, 1),
                stat_at(w, t, w->diverging, 0) != 0);
        if (w->energy >= 0) {
            fputc(',', f);
            write_number(f, stat_at(w, t, w->energy, NAN));
        }
        for (int64_t i = 0; i < w->d->D; i++) {
            fputc(',', f);
            write_number(f, w->c->theta[t * w->d->D + w->order[i]]);
        }
        fputc('\n', f);
    }
}

/* Covariance of parameters i and j: the run's own over all iterations, otherwise over the draws. */
static double cov_of(const writer *w, int64_t i, int64_t j) {
    int64_t D = w->d->D, n = w->draws;
    const sgfsi_chain_info *info = &w->c->info;
    if (info->cov != NULL) return info->cov[i * D + j];
    if (i == j && info->var != NULL) return info->var[i];
    const double *theta = w->c->theta, *mean = w->mean;
    double sum = 0;
    for (int64_t t = 0; t < n; t++)
        sum += (theta[t * D + i] - mean[i]) * (theta[t * D + j] - mean[j]);
    return n > 1 ? sum / (double)(n - 1) : 1;
}

static void write_metric(FILE *f, const writer *w) {
    int64_t D = w->d->D;
    bool dense = strcmp(w->metric, "dense_e") == 0, unit = strcmp(w->metric, "unit_e") == 0;
    for (int64_t i = 0; i < D; i++) {
        double sum = 0;
        for (int64_t t = 0; t < w->draws; t++) sum += w->c->theta[t * D + i];
        w->mean[i] = sum / (double)w->draws;
    }
    fputs(dense ? "# Elements of inverse mass matrix:\n"
                : "# Diagonal elements of inverse mass matrix:\n",
          f);
    for (int64_t row = 0; row < (dense ? D : 1) && !ferror(f); row++) {
        for (int64_t i = 0; i < D; i++) {
            fputs(i == 0 ? "# " : ", ", f);
            write_number(f, unit ? 1 : cov_of(w, w->order[dense ? row : i], w->order[i]));
        }
        fputc('\n', f);
    }
}

/* ---- one file -------------------------------------------------------------------------------- */

static sgfs_status print_stancsv(const sgfs_draws *d, const sgfsi_used *used, FILE *f,
                                 sgfs_err *err) {
    writer w = {.d = d,
                .c = &d->chain[used->chain[0]],
                .draws = used->draws,
                .lp = sgfsi_draws_stat(d, SGFSI_STAT_LP),
                .accept = sgfsi_draws_stat(d, SGFSI_STAT_ACCEPTANCE),
                .step = sgfsi_draws_stat(d, SGFSI_STAT_STEP_SIZE),
                .depth = sgfsi_draws_stat(d, SGFSI_STAT_TREE_DEPTH),
                .leapfrogs = sgfsi_draws_stat(d, SGFSI_STAT_N_STEPS),
                .diverging = sgfsi_draws_stat(d, SGFSI_STAT_DIVERGING),
                .energy = sgfsi_draws_stat(d, SGFSI_STAT_ENERGY)};
    /* The metric the run names, or diag_e where a dense one would be too large to write. */
    w.metric = sgfsi_json_get_text(d->header, "stan_metric", "dense_e");
    if (strcmp(w.metric, "diag_e") != 0 && strcmp(w.metric, "unit_e") != 0)
        w.metric = w.c->info.cov != NULL || d->D <= DENSE_MAX ? "dense_e" : "diag_e";
    w.blocks = sgfsi_export_blocks(d, make_identifier, &w.block_count, err);
    if (w.blocks == NULL) return SGFS_ENOMEM;
    w.order = calloc((size_t)d->D, sizeof *w.order);
    w.mean = calloc((size_t)d->D, sizeof *w.mean);
    sgfs_status status =
        w.order != NULL && w.mean != NULL ? SGFS_OK : sgfsi_fail_memory(err, "an export");
    if (status == SGFS_OK) {
        const sgfsi_chain_info *info = &w.c->info;
        write_config(f, &w, used->chain[0]);
        write_columns(f, &w);
        fputs("# Adaptation terminated\n# Step size = ", f);
        write_number(f, step_at(&w, w.draws - 1));
        fputc('\n', f);
        write_metric(f, &w);
        write_draws(f, &w);
        fputs("# \n", f);
        write_seconds(f, "#  Elapsed Time: ", info->warmup_seconds, "Warm-up");
        write_seconds(f, "#                ", info->sample_seconds, "Sampling");
        write_seconds(f, "#                ", info->warmup_seconds + info->sample_seconds, "Total");
        fputs("# \n", f);
    }
    sgfsi_export_blocks_free(w.blocks, w.block_count);
    free(w.order);
    free(w.mean);
    return status;
}

const sgfs_export_kind sgfs_export_stancsv = {
    .name = "stan-csv",
    .suffix = ".stan.csv",
    .help = "Stan CSV, one file per chain (cmdstanpy, rstan, ArviZ)",
    .of_draws = true,
    .per_chain = true,
    .print = print_stancsv,
};
