/* SPDX-License-Identifier: MIT
 * newdata.c: new rows for a run: the flow of their files, and the run's transforms.
 *
 * The flow hands over the run's features, then the target and the exposure where the files have
 * them; words of the run have its numbers, and words it does not know come behind them. A block of
 * the flow is of one file; blocks here go on with the next file where one ends.
 */
#include "files/newdata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "files/files.h"
#include "files/flow.h"

/* Where a row came from. */
typedef struct origin {
    int64_t line; /* of a text, or the number of the row */
    int64_t file;
    bool text;
} origin;

struct sgfsi_newdata {
    sgfsi_arena arena;
    sgfsi_files files;
    const sgfsi_log *log;
    sgfsi_run_columns columns;
    sgfsi_flow flow;
    int64_t target, exposure; /* columns of the flow; -1: none */
    int64_t read, taken;      /* rows of the files; rows handed over */
    int64_t other_class;      /* rows of the file at hand left out for their class */
    int64_t room;             /* rows there is room for */
    origin *origin;           /* room: of the block handed over */
    int64_t *line;            /* room */
    int64_t *at;              /* room: rows of the flow's block that are handed over */
    double *cells;            /* room x columns of the flow */
    double *raw;              /* room x wanted.features: what the recipe starts from */
};

/* ---- opening --------------------------------------------------------------------------------- */

static sgfs_status open_flow(sgfsi_newdata *d, const char *name, const sgfsi_read_options *options,
                             sgfs_err *err) {
    sgfs_status status = sgfsi_files_open(&d->files, name, options->log, err);
    if (status != SGFS_OK) return status;
    d->log = sgfsi_files_log(&d->files, options->log);
    sgfsi_read_options own = {.target = "",
                              .features = "",
                              .delimiter = options->delimiter,
                              .header = options->header,
                              .labels = options->labels,
                              .zero_based = options->zero_based,
                              .threads = options->threads,
                              .log = d->log,
                              .run = &d->columns};
    /* Files are opened long after the caller's options may be gone. */
    sgfsi_wanted *w = &d->columns.wanted;
    const char **text[] = {&own.delimiter, &own.header, &own.labels, &w->target,
                           &w->exposure,   &w->weights, &w->part};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        if (*text[i] == NULL) continue;
        *text[i] = sgfsi_arena_text(&d->arena, *text[i]);
        if (*text[i] == NULL) return sgfsi_fail_memory(err, "a reader");
    }
    status =
        sgfsi_flow_open(&d->flow, d->files.count, (const char *const *)d->files.path, &own, err);
    if (status != SGFS_OK) return status;
    d->target = d->exposure = -1;
    for (int64_t k = w->features; k < d->flow.head.cols; k++) {
        if (d->flow.head.role[k] == SGFSI_ROLE_TARGET) d->target = k;
        else d->exposure = k;
    }
    return SGFS_OK;
}

sgfs_status sgfsi_newdata_open(sgfsi_newdata **out, const char *name, const sgfsi_wanted *wanted,
                               const sgfsi_read_options *options, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    sgfsi_newdata *d = *out = calloc(1, sizeof *d);
    if (d == NULL) return sgfsi_fail_memory(err, "a reader");
    d->columns.wanted = *wanted;
    sgfs_status status = open_flow(d, name, options, err);
    if (status != SGFS_OK) sgfsi_files_tidy(&d->files, err);
    return status;
}

void sgfsi_newdata_close(sgfsi_newdata *d) {
    if (d == NULL) return;
    sgfsi_flow_close(&d->flow);
    sgfsi_run_columns_free(&d->columns);
    sgfsi_files_close(&d->files);
    free(d->origin);
    free(d->line);
    free(d->at);
    free(d->cells);
    free(d->raw);
    sgfsi_arena_free(&d->arena);
    free(d);
}

const char *sgfsi_newdata_shown(const sgfsi_newdata *d) {
    return d->files.shown;
}

bool sgfsi_newdata_have_target(const sgfsi_newdata *d) {
    return d->target >= 0;
}

const char *sgfsi_newdata_target(const sgfsi_newdata *d) {
    return d->target >= 0 ? d->flow.head.names[d->target] : "";
}

double sgfsi_newdata_fraction(const sgfsi_newdata *d) {
    return d->flow.fraction(&d->flow);
}

/* ---- rows that count, and what becomes of them ----------------------------------------------- */

static sgfs_status make_room(sgfsi_newdata *d, int64_t most, sgfs_err *err) {
    if (most <= d->room) return SGFS_OK;
    size_t n = (size_t)most, cells = n * (size_t)d->flow.head.cols,
           raw = d->columns.recipe != NULL ? n * (size_t)d->columns.wanted.features : 0;
    free(d->origin);
    free(d->line);
    free(d->at);
    free(d->cells);
    free(d->raw);
    d->origin = malloc(n * sizeof *d->origin);
    d->line = malloc(n * sizeof *d->line);
    d->at = malloc(n * sizeof *d->at);
    d->cells = malloc((cells + 1) * sizeof *d->cells);
    d->raw = malloc((raw + 1) * sizeof *d->raw);
    bool made =
        d->origin != NULL && d->line != NULL && d->at != NULL && d->cells != NULL && d->raw != NULL;
    d->room = made ? most : 0;
    return made ? SGFS_OK : sgfsi_fail_memory(err, "rows");
}

/* Rows of the part that was asked for, of the run's classes, up to the limit: listed in at[]. */
static int64_t choose_rows(sgfsi_newdata *d, int64_t n) {
    const sgfsi_recipe *recipe = d->columns.recipe;
    const int64_t limit = d->columns.wanted.limit;
    int64_t chosen = 0;
    for (int64_t i = 0; i < n && (limit == 0 || d->taken < limit); i++) {
        if (recipe != NULL && !sgfsi_recipe_in_part(recipe, d->read + i)) continue;
        if (recipe != NULL && d->target >= 0) {
            double y = d->cells[i * d->flow.head.cols + d->target];
            const char *text = d->columns.wanted.levels > 0 ? d->flow.head.level[(int64_t)y] : NULL;
            bool ours = sgfsi_recipe_keeps_class(recipe, y, text);
            d->other_class += !ours;
            if (!ours) continue;
        }
        d->at[chosen++] = i;
        d->taken++;
    }
    d->read += n;
    return chosen;
}

/* Words that the run does not know, in `n` rows behind those of the block. */
static sgfs_status check_words(const sgfsi_newdata *d, int64_t first, int64_t n, sgfs_err *err) {
    const int64_t features = d->columns.wanted.features;
    for (int64_t j = 0; j < features; j++) {
        const sgfsi_dictionary *words = sgfsi_recipe_words(d->columns.recipe, j);
        for (int64_t i = 0; words != NULL && i < n; i++) {
            double word = d->raw[i * features + j];
            char here[SGFSI_WHERE];
            if (word < (double)words->count) continue;
            return sgfsi_fail(
                err, SGFS_EDATA,
                "%s: column \"%.60s\" holds \"%.60s\", a word the run has not seen (it knows "
                "%lld); take such rows out; where words became columns of 0 and 1, --new-words "
                "zero leaves them all at 0.",
                sgfsi_newdata_where(d, first + i, here), d->columns.wanted.feature[j],
                d->flow.head.dictionary[j].word[(int64_t)word], (long long)words->count);
        }
    }
    return SGFS_OK;
}

/* The chosen rows behind those that the block has. */
static sgfs_status hand_over(sgfsi_newdata *d, int64_t n, sgfsi_newdata_block *block,
                             sgfs_err *err) {
    const sgfsi_recipe *recipe = d->columns.recipe;
    const int64_t features = d->columns.wanted.features, first = block->n;
    double *x = block->x + first * block->stride, *to = recipe != NULL ? d->raw : x;
    int64_t stride = recipe != NULL ? features : block->stride, bad = -1;
    for (int64_t i = 0; i < n; i++) {
        const double *cell = d->cells + d->at[i] * d->flow.head.cols;
        memcpy(to + i * stride, cell, (size_t)features * sizeof *to);
        if (d->target >= 0) block->y[first + i] = cell[d->target];
        if (d->exposure >= 0) block->exposure[first + i] = cell[d->exposure];
        d->origin[first + i] = (origin){d->line[d->at[i]], d->flow.file, d->flow.lines};
    }
    block->n += n;
    if (recipe == NULL) return SGFS_OK;
    sgfs_status status = d->columns.wanted.zero_words ? SGFS_OK : check_words(d, first, n, err);
    if (status != SGFS_OK) return status;
    status = sgfsi_recipe_columns(recipe, n, d->raw, x, block->stride, &bad, err);
    if (bad < 0) return status;
    char here[SGFSI_WHERE];
    const sgfs_err was = *err;
    return sgfsi_fail(err, was.code, "%s: %s", sgfsi_newdata_where(d, first + bad, here), was.text);
}

sgfs_status sgfsi_newdata_next(sgfsi_newdata *d, int64_t most, sgfsi_newdata_block *block,
                               sgfs_err *err) {
    const int64_t limit = d->columns.wanted.limit;
    int64_t n = 1;
    block->n = 0;
    sgfs_status status = make_room(d, most, err);
    while (status == SGFS_OK && block->n < most && n > 0) {
        int64_t file = d->flow.file;
        n = 0;
        if (limit == 0 || d->taken < limit)
            status = sgfsi_flow_next(&d->flow, most - block->n, d->cells, d->line, &n, err);
        if (status != SGFS_OK) break;
        if (n == 0 || d->flow.file != file) {
            /* Of the file whose rows came last. */
            if (d->other_class > 0)
                sgfsi_say(
                    d->log, SGFS_NOTE,
                    "%s: %lld row%s of other classes than the run kept (--keep-classes) left out.",
                    d->files.name[file], (long long)d->other_class, d->other_class == 1 ? "" : "s");
            d->other_class = 0;
        }
        if (n > 0) status = hand_over(d, choose_rows(d, n), block, err);
    }
    if (status != SGFS_OK) sgfsi_files_tidy(&d->files, err);
    return status;
}

const char *sgfsi_newdata_where(const sgfsi_newdata *d, int64_t i, char out[SGFSI_WHERE]) {
    const origin *o = &d->origin[i];
    snprintf(out, SGFSI_WHERE, o->text ? "%.250s:%lld" : "%.250s: row %lld", d->files.name[o->file],
             (long long)o->line);
    return out;
}

const char *sgfsi_newdata_level(const sgfsi_newdata *d, double y) {
    if (d->columns.wanted.levels == 0 || y < (double)d->columns.wanted.levels) return NULL;
    return d->flow.head.level[(int64_t)y];
}
