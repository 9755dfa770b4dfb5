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
 * made-up
 *     one Stan's diagnose would compute a meaningless E-BFMI. Other statistics go to netCDF;
 *   - the columns of a matrix run down its columns first, as cmdstanpy reshapes by position;
 *   - the seconds of the footer begin in column 17, and never with an exponent.
 * The "inverse mass matrix" of the adaptation block is the chain's posterior covariance (dense_e)
 * or variances (diag_e), the counterpart of SGFS's preconditioner. A dense matrix is written only
 * for D <= 1000 or where the run kept one; beyond that the metric is given as diag_e.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/number.h"
#include "sink/export.h"

enum { DENSE_MAX = 1000 };
static const char suffix[] = ".stan.csv";

typedef struct writer {
    const sgfs_draws *d;
    sgfsi_export_view view;
    sgfsi_export_block *blocks;
    int64_t block_count;
    int64_t *order; /* D: place in theta of each column, in the order of the columns */
    /* columns of the statistics, or -1 */
    int64_t lp, accept, step, depth, leapfrogs, diverging, energy;
    const char *metric;
    double *work; /* D: means of the chain at hand */
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

static void fill_order(const writer *w) {
    int64_t k = 0;
    for (int64_t b = 0; b < w->block_count; b++) {
        const sgfsi_export_block *block = &w->blocks[b];
        for (int64_t c = 0; c < block->cols; c++) {
            for (int64_t r = 0; r < block->rows; r++) {
                w->order[k++] = block->offset + r * block->cols + c;
            }
        }
    }
}

static void write_columns(FILE *f, const writer *w) {
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

/* Readers expect ceil(num_samples / thin) rows, which an interrupted run does not have. */
static int64_t samples_claimed(const writer *w) {
    int64_t asked = sgfsi_json_get_int(w->d->header, "draws", 0), thin = w->d->thin;
    bool fits = asked > 0 && (asked - 1) / thin + 1 == w->view.draws;
    return fits ? asked : w->view.draws * thin;
}

/* Trajectories go by Stan's own words; any other sampler by its name and its matrix. */
static void write_algorithm(FILE *f, const writer *w) {
    const sgfsi_json *h = w->d->header;
    const char *fisher = sgfsi_json_get_text(h, "fisher", "");
    bool hmc = w->energy >= 0;
    double max_depth = w->depth >= 0 ? sgfsi_draws_option(w->d, "sampler.max_depth", 10) : 10;
    if (hmc) fisher = w->depth >= 0 ? "nuts" : "static";
    write_text(f, "    algorithm", hmc ? "hmc" : sgfsi_json_get_text(h, "sampler", "sgfs"));
    write_text(f, "      engine", fisher[0] != '\0' ? fisher : "none");
    fprintf(f, "#         max_depth = %.0f\n", max_depth);
}

static void write_config(FILE *f, const writer *w, int64_t chain) {
    const sgfsi_json *h = w->d->header;
    fputs("# stan_version_major = 2\n# stan_version_minor = 36\n# stan_version_patch = 0\n", f);
    write_text(f, "model", sgfsi_json_get_text(h, "model", "sgfs"));
    write_text(f, "start_datetime", sgfsi_json_get_text(h, "created_at", ""));
    fputs("# method = sample\n#   sample\n", f);
    write_int(f, "    num_samples", samples_claimed(w));
    write_int(f, "    num_warmup", sgfsi_json_get_int(h, "warmup", 0));
    fputs("#     save_warmup = 0\n", f);
    write_int(f, "    thin", w->d->thin);
    fputs("#     adapt\n#       engaged = 1\n", f);
    write_algorithm(f, w);
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

static void write_footer(FILE *f, const sgfsi_chain_info *info) {
    fputs("# \n", f);
    write_seconds(f, "#  Elapsed Time: ", info->warmup_seconds, "Warm-up");
    write_seconds(f, "#                ", info->sample_seconds, "Sampling");
    write_seconds(f, "#                ", info->warmup_seconds + info->sample_seconds, "Total");
    fputs("# \n", f);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void write_number(FILE *f, double x) {
    char text[SGFSI_NUM_CHARS] = "";
    size_t n = sgfsi_format_num(text, x);
    fwrite(text, 1, n, f);
}

/* Statistic `column` of draw t, or what stands in for one that the sampler does not have. */
static double stat_at(const writer *w, const sgfsi_chain_draws *c, int64_t t, int64_t column,
                      double otherwise) {
    return column < 0 ? otherwise : c->stats[t * w->d->S + column];
}

static double step_at(const writer *w, const sgfsi_chain_draws *c, int64_t t) {
    return stat_at(w, c, t, w->step, sgfsi_json_get_num(w->d->header, "step_size", NAN));
}

static void write_draws(FILE *f, const writer *w, const sgfsi_chain_draws *c) {
    for (int64_t t = 0; t < w->view.draws && !ferror(f); t++) {
        write_number(f, stat_at(w, c, t, w->lp, NAN));
        fputc(',', f);
        write_number(f, stat_at(w, c, t, w->accept, 1));
        fputc(',', f);
        write_number(f, step_at(w, c, t));
        fprintf(f, ",%.0f,%.0f,%d", stat_at(w, c, t, w->depth, 0),
                stat_at(w, c, t, w->leapfrogs, 1), stat_at(w, c, t, w->diverging, 0) != 0);
        if (w->energy >= 0) {
            fputc(',', f);
            write_number(f, stat_at(w, c, t, w->energy, NAN));
        }
        for (int64_t i = 0; i < w->d->D; i++) {
            fputc(',', f);
            write_number(f, c->theta[t * w->d->D + w->order[i]]);
        }
        fputc('\n', f);
    }
}

/* Mean of parameter i over the draws that are exported. */
static double mean_of(const writer *w, const sgfsi_chain_draws *c, int64_t i) {
    double sum = 0;
    for (int64_t t = 0; t < w->view.draws; t++) sum += c->theta[t * w->d->D + i];
    return sum / (double)w->view.draws;
}

/* Covariance of parameters i and j: the run's own over all iterations, otherwise over the draws. */
static double cov_of(const writer *w, const sgfsi_chain_draws *c, int64_t i, int64_t j) {
    int64_t D = w->d->D, n = w->view.draws;
    if (c->info.cov != NULL) return c->info.cov[i * D + j];
    if (i == j && c->info.var != NULL) return c->info.var[i];
    double sum = 0, *mean = w->work;
    for (int64_t t = 0; t < n; t++) {
        sum += (c->theta[t * D + i] - mean[i]) * (c->theta[t * D + j] - mean[j]);
    }
    return n > 1 ? sum / (double)(n - 1) : 1;
}

static void write_metric(FILE *f, const writer *w, const sgfsi_chain_draws *c) {
    int64_t D = w->d->D;
    bool dense = strcmp(w->metric, "dense_e") == 0, unit = strcmp(w->metric, "unit_e") == 0;
    for (int64_t i = 0; i < D; i++) w->work[i] = mean_of(w, c, i);
    fputs(dense ? "# Elements of inverse mass matrix:\n"
                : "# Diagonal elements of inverse mass matrix:\n",
          f);
    for (int64_t row = 0; row < (dense ? D : 1) && !ferror(f); row++) {
        for (int64_t i = 0; i < D; i++) {
            fputs(i == 0 ? "# " : ", ", f);
            write_number(f, unit ? 1 : cov_of(w, c, w->order[dense ? row : i], w->order[i]));
        }
        fputc('\n', f);
    }
}

static void write_chain(FILE *f, const writer *w, int64_t chain) {
    const sgfsi_chain_draws *c = &w->d->chain[chain];
    write_config(f, w, chain);
    write_columns(f, w);
    fputs("# Adaptation terminated\n# Step size = ", f);
    write_number(f, step_at(w, c, w->view.draws - 1));
    fputc('\n', f);
    write_metric(f, w, c);
    write_draws(f, w, c);
    write_footer(f, &c->info);
}

/* ---- files: all of them or none -------------------------------------------------------------- */

/* fit.stan.csv -> fit_2.stan.csv for the second of several chains; malloc'ed. */
static char *chain_path(const char *path, int64_t chain, int64_t chains) {
    size_t length = strlen(path), tail = sizeof suffix - 1, room = length + tail + 32;
    if (length >= tail && strcmp(path + length - tail, suffix) == 0) length -= tail;
    char *name = malloc(room);
    if (name == NULL) return NULL;
    if (chains == 1) snprintf(name, room, "%.*s%s", (int)length, path, suffix);
    else snprintf(name, room, "%.*s_%lld%s", (int)length, path, (long long)chain + 1, suffix);
    return name;
}

static sgfs_status open_all(const writer *w, sgfsi_outfile *out, const char *path, bool overwrite,
                            sgfs_err *err) {
    for (int64_t k = 0; k < w->view.chains; k++) {
        char *name = chain_path(path, w->view.used[k], w->d->chains);
        if (name == NULL) return sgfsi_fail_memory(err, path);
        sgfs_status status = sgfsi_outfile_open(&out[k], name, overwrite, true, err);
        free(name);
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

/* Everything has left our buffers before the first file gets its name. What can still fail after
 * that is a sync or a rename; then the names given so far are taken back, unless they replaced
 * older files. */
static sgfs_status commit_all(const writer *w, sgfsi_outfile *out, const char *path, bool overwrite,
                              sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    int64_t done = 0;
    for (int64_t k = 0; k < w->view.chains; k++) {
        if (fflush(out[k].f) != 0 || ferror(out[k].f)) {
            return sgfsi_fail(err, SGFS_EIO, "%s: cannot write; is the disk full?", out[k].path);
        }
    }
    while (done < w->view.chains && status == SGFS_OK) {
        status = sgfsi_outfile_commit(&out[done], err);
        if (status == SGFS_OK) done++;
    }
    for (int64_t k = 0; status != SGFS_OK && !overwrite && k < done; k++) {
        char *name = chain_path(path, w->view.used[k], w->d->chains);
        if (name != NULL) remove(name);
        free(name);
    }
    return status;
}

static sgfs_status write_all(const writer *w, const char *path, bool overwrite, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfsi_outfile *out = sgfsi_arena_alloc(&arena, w->view.chains, sizeof *out);
    if (out == NULL) return sgfsi_fail_memory(err, path);
    sgfs_status status = open_all(w, out, path, overwrite, err);
    for (int64_t k = 0; k < w->view.chains && status == SGFS_OK; k++) {
        write_chain(out[k].f, w, w->view.used[k]);
    }
    if (status == SGFS_OK) status = commit_all(w, out, path, overwrite, err);
    for (int64_t k = 0; k < w->view.chains; k++) sgfsi_outfile_abandon(&out[k]);
    sgfsi_arena_free(&arena);
    return status;
}

/* The metric the run names, or diag_e where a dense one would be too large to write. */
static const char *choose_metric(const writer *w) {
    const char *named = sgfsi_json_get_text(w->d->header, "stan_metric", "dense_e");
    if (strcmp(named, "diag_e") == 0) return "diag_e";
    if (strcmp(named, "unit_e") == 0) return "unit_e";
    bool kept = true;
    for (int64_t k = 0; k < w->view.chains; k++) {
        kept = kept && w->d->chain[w->view.used[k]].info.cov != NULL;
    }
    return kept || w->d->D <= DENSE_MAX ? "dense_e" : "diag_e";
}

static sgfs_status prepare(writer *w, sgfs_err *err) {
    w->blocks = sgfsi_export_blocks(w->d, make_identifier, &w->block_count, err);
    if (w->blocks == NULL) return SGFS_ENOMEM;
    w->order = calloc((size_t)w->d->D, sizeof *w->order);
    w->work = calloc((size_t)w->d->D, sizeof *w->work);
    if (w->order == NULL || w->work == NULL) return sgfsi_fail_memory(err, "an export");
    fill_order(w);
    w->lp = sgfsi_export_stat(w->d, "lp");
    w->accept = sgfsi_export_stat(w->d, "acceptance_rate");
    w->step = sgfsi_export_stat(w->d, "step_size");
    w->depth = sgfsi_export_stat(w->d, "tree_depth");
    w->leapfrogs = sgfsi_export_stat(w->d, "n_steps");
    w->diverging = sgfsi_export_stat(w->d, "diverging");
    w->energy = sgfsi_export_stat(w->d, "energy");
    w->metric = choose_metric(w);
    return SGFS_OK;
}

static sgfs_status write_stancsv(const sgfs_draws *d, const char *path, bool overwrite,
                                 sgfs_err *err) {
    writer w = {.d = d};
    sgfs_status status = sgfsi_export_view_open(&w.view, d, err);
    if (status != SGFS_OK) return status;
    status = prepare(&w, err);
    if (status == SGFS_OK) status = write_all(&w, path, overwrite, err);
    sgfsi_export_blocks_free(w.blocks, w.block_count);
    free(w.order);
    free(w.work);
    sgfsi_export_view_close(&w.view);
    return status;
}

const sgfs_export_kind sgfs_export_stancsv = {
    "stan-csv", ".stan.csv", "Stan CSV, one file per chain (cmdstanpy, rstan, ArviZ)",
    write_stancsv};
