/* SPDX-License-Identifier: MIT
 * newdata.c: new rows for a run: the flow of their files, and the run's transforms.
 *
 * The flow hands over the run's features, then the target and the exposure where the files have
 * them; words of the run have its numbers, and words it does not know come behind them. A block of
 * the flow is of one file; blocks here go on with the next file where one ends.
 *
 * Some files may be packed with transforms of the run, and others hold rows as they were before:
 * neighbours to whose columns the same is still to be done have a flow of their own.
 */
#include "files/newdata.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "files/files.h"
#include "files/flow.h"
#include "files/key_column.h"
#include "files/packed/packed.h"
#include "rows/fingerprint.h"

/* Where a row came from. */
typedef struct origin {
    int64_t line; /* of a text, or the number of the row */
    int64_t file;
    bool text;
} origin;

/* Neighbouring files that have had the same of the run's transforms. */
typedef struct group {
    int64_t first, count; /* files */
    int64_t done;         /* elements of the run's recipe that they have had */
    int64_t idx;          /* IDX files among them */
    sgfsi_run_columns columns;
    sgfsi_flow flow;
    int64_t target, exposure; /* columns of the flow; -1: none */
    int64_t grouped;          /* the first of those that group rows */
    int64_t *unseen; /* features: rows with a word that the run does not know; NULL: none */
} group;

struct sgfsi_newdata {
    sgfsi_arena arena;
    sgfsi_files files;
    const sgfsi_log *log;
    sgfsi_wanted wanted;
    int64_t groups;
    group *group, *now;     /* as many as there are files, at most; the one at hand */
    int64_t cols, inputs;   /* the most columns a flow has; the most a recipe starts from */
    int64_t file;           /* that of the rows read last */
    int64_t read, taken;    /* rows of the files; rows handed over */
    int64_t with_new_words; /* of those, rows with words that the run does not know */
    int64_t other_class;    /* rows of the file at hand left out for their class */
    int64_t room;           /* rows there is room for */
    origin *origin;         /* room: of the block handed over */
    int64_t *line;          /* room */
    int64_t *at;            /* room: rows of the flow's block that are handed over */
    double *cells;          /* room x cols */
    double *raw;            /* room x inputs */
    sgfsi_read_options options;
    sgfsi_key_column key; /* no name: none is wanted */
};

/* ---- words that the run does not know -------------------------------------------------------- */

typedef struct new_words {
    int64_t columns;       /* that hold some */
    char text[400];        /* which, and the first word of each */
    int64_t row;           /* the first column's first */
    const char *reference; /* there: the word that has no column; NULL: none */
    const char *empty;     /* a column that is empty in that row, and never was; NULL: none */
} new_words;

/* In n rows of the group's features, those of them that its files have. */
static void find_words(const group *g, int64_t n, const double *cells, int64_t stride,
                       const int64_t *line, new_words *out) {
    enum { NAMED = 4 };
    const sgfsi_run_columns *c = &g->columns;
    *out = (new_words){.columns = 0};
    for (int64_t j = 0, k = -1; j < c->wanted.features; j++) {
        const sgfsi_dictionary *words = sgfsi_recipe_words(c->recipe, j), *all;
        int64_t seen = -1, last = -1; /* the first row with a new word; the number of the last */
        k += c->feature[j] >= 0;
        if (c->feature[j] < 0 || words == NULL) continue;
        all = &g->flow.head.dictionary[k];
        for (int64_t i = 0; i < n; i++) {
            double word = cells[i * stride + k];
            if (!(word >= (double)words->count)) continue;
            if (strcmp(all->word[(int64_t)word], "NA") == 0) {
                *out = (new_words){.columns = 1, .row = i, .empty = c->wanted.feature[j]};
                return;
            }
            if (seen < 0) seen = i;
            last = (int64_t)word > last ? (int64_t)word : last;
        }
        if (seen < 0 || out->columns++ >= NAMED) continue;
        int64_t others = last - words->count;
        if (out->columns == 1) {
            out->row = seen;
            out->reference = sgfsi_recipe_reference(c->recipe, j);
        }
        sgfsi_append(out->text, sizeof out->text, "%scolumn \"%.40s\" holds \"%.40s\"",
                     out->columns > 1 ? ", " : "", c->wanted.feature[j],
                     all->word[(int64_t)cells[seen * stride + k]]);
        if (out->columns > 1) /* the first one's is in front of the sentence */
            sgfsi_append(out->text, sizeof out->text, " (line %lld)", (long long)line[seen]);
        if (others > 0)
            sgfsi_append(out->text, sizeof out->text, " and %lld more new word%s",
                         (long long)others, others == 1 ? "" : "s");
    }
    if (out->columns > NAMED)
        sgfsi_append(out->text, sizeof out->text, ", and %lld more columns",
                     (long long)(out->columns - NAMED));
}

/* The group's first file lacks columns, as err says; what the run does not know in the first rows
 * of the others is said with it, so that both can be mended at once. */
static void tell_words(const sgfsi_newdata *d, const group *g, sgfsi_read_options options,
                       sgfs_err *err) {
    enum { ROWS = 4096 };
    group others = {.first = g->first, .count = 1, .columns.wanted = d->wanted};
    const char *const *path = (const char *const *)d->files.path + g->first;
    new_words found = {0};
    int64_t n = 0;
    options.run = &others.columns;
    options.log = NULL;
    others.columns.holes = true;
    sgfs_status status = sgfsi_flow_open(&others.flow, 1, path, &options, NULL);
    int64_t cols = others.flow.head.cols;
    double *cells = malloc((size_t)(ROWS * cols + 1) * sizeof *cells);
    int64_t *line = malloc(ROWS * sizeof *line);
    if (status == SGFS_OK && cells != NULL && line != NULL)
        status = sgfsi_flow_next(&others.flow, ROWS, cells, line, &n, NULL);
    if (status == SGFS_OK && others.columns.lacks && others.columns.recipe != NULL)
        find_words(&others, n, cells, cols, line, &found);
    if (found.columns > 0 && found.empty == NULL) {
        const sgfs_err was = *err;
        (void)sgfsi_fail(err, was.code,
                         "%.*s; and %s, which the run has not seen (--new-words zero takes such "
                         "words).",
                         (int)strlen(was.text) - 1, was.text, found.text);
    }
    free(cells);
    free(line);
    sgfsi_flow_close(&others.flow);
    sgfsi_run_columns_free(&others.columns);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Neighbouring files that have had the same elements of the run's recipe. */
static sgfs_status find_groups(sgfsi_newdata *d, sgfs_err *err) {
    const sgfsi_read_options all = {.target = "", .features = ""};
    d->now = d->group = calloc((size_t)d->files.count, sizeof *d->group);
    if (d->group == NULL) return sgfsi_fail_memory(err, "a reader");
    for (int64_t i = 0; i < d->files.count; i++) {
        const char *path = d->files.path[i];
        bool several = d->files.count > 1 && d->wanted.recipe != NULL;
        const sgfs_reader_kind *reader = several ? sgfsi_table_reader(path, err) : NULL;
        int64_t done = 0;
        if (several && reader == NULL) return sgfsi_why(err);
        if (reader != NULL && reader->packed) {
            sgfsi_table table;
            sgfs_status status = reader->map(path, &all, &table, err);
            if (status != SGFS_OK) return status;
            done = sgfsi_recipe_done(d->wanted.recipe, table.recipe); /* -1: others were done */
            sgfsi_table_free(&table);
        }
        if (i == 0 || done != d->group[d->groups - 1].done)
            d->group[d->groups++] = (group){.first = i, .done = done};
        d->group[d->groups - 1].count++;
        d->group[d->groups - 1].idx += reader != NULL && reader->labels;
    }
    return SGFS_OK;
}

static sgfs_status open_group(sgfsi_newdata *d, group *g, sgfsi_read_options options,
                              sgfs_err *err) {
    const char *const *path = (const char *const *)d->files.path + g->first;
    options.run = &g->columns;
    for (int64_t i = 0; i < d->groups; i++) {
        if (d->group + i < g) options.idx_before += d->group[i].idx;
        if (d->group + i > g) options.idx_behind += d->group[i].idx;
    }
    if (g->idx == 0 && options.idx_before + options.idx_behind > 0) options.labels = "";
    g->columns.wanted = d->wanted;
    sgfs_status status = SGFS_OK;
    if (g > d->group) /* what the first file has the others have */
        status = sgfsi_run_columns_follow(&g->columns, &d->group->columns, err);
    if (status == SGFS_OK) status = sgfsi_flow_open(&g->flow, g->count, path, &options, err);
    if (status == SGFS_EDATA && g->columns.lacks && !d->wanted.zero_words)
        tell_words(d, g, options, err);
    if (status != SGFS_OK) return status;
    const sgfsi_table *head = &g->flow.head;
    int64_t inputs = g->columns.wanted.features;
    g->target = g->exposure = -1;
    g->grouped = head->cols - g->columns.wanted.groups;
    for (int64_t k = inputs; k < g->grouped; k++)
        *(head->role[k] == SGFSI_ROLE_TARGET ? &g->target : &g->exposure) = k;
    if (head->cols > d->cols) d->cols = head->cols;
    if (inputs > d->inputs) d->inputs = inputs;
    return SGFS_OK;
}

sgfs_status sgfsi_newdata_open(sgfsi_newdata **out, const char *name, const sgfsi_wanted *wanted,
                               const sgfsi_read_options *options, sgfs_err *err) {
    sgfs_err own_err;
    if (err == NULL) err = &own_err;
    sgfsi_newdata *d = *out = calloc(1, sizeof *d);
    if (d == NULL) return sgfsi_fail_memory(err, "a reader");
    d->wanted = *wanted;
    sgfs_status status = sgfsi_files_open(&d->files, name, options->log, err);
    if (status != SGFS_OK) return status;
    d->log = sgfsi_files_log(&d->files, options->log);
    sgfsi_read_options own = {.target = "",
                              .features = "",
                              .delimiter = options->delimiter,
                              .header = options->header,
                              .labels = options->labels,
                              .zero_based = options->zero_based,
                              .na = wanted->na,
                              .threads = options->threads,
                              .log = d->log};
    /* Files are opened long after the caller's options may be gone. */
    sgfsi_wanted *w = &d->wanted;
    const char **text[] = {&own.delimiter, &own.header, &own.labels, &w->target,
                           &w->exposure,   &w->weights, &w->part};
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        if (*text[i] == NULL) continue;
        *text[i] = sgfsi_arena_text(&d->arena, *text[i]);
        if (*text[i] == NULL) return sgfsi_fail_memory(err, "a reader");
    }
    d->options = own;
    if (wanted->key != NULL) d->key.name = strdup(wanted->key);
    if (wanted->key != NULL && d->key.name == NULL) return sgfsi_fail_memory(err, "a reader");
    status = find_groups(d, err);
    for (int64_t i = 0; i < d->groups && status == SGFS_OK; i++)
        status = open_group(d, &d->group[i], own, err);
    if (status != SGFS_OK) sgfsi_files_tidy(&d->files, err);
    return status;
}

sgfs_status sgfsi_newdata_same_files(const sgfsi_newdata *d, const sgfsi_json *said,
                                     sgfs_err *err) {
    char what[256];
    const sgfsi_files *f = &d->files;
    const sgfsi_read_options plain = {.target = "", .features = "", .weights = "", .exposure = ""};
    sgfsi_fingerprint *print = calloc((size_t)f->count, sizeof *print);
    sgfs_status status = print != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the list of files");
    for (int64_t i = 0; i < f->count && status == SGFS_OK; i++) {
        sgfsi_table table = {0};
        const sgfs_reader_kind *kind = sgfsi_table_reader(f->path[i], err);
        if (kind != NULL && kind->packed) (void)kind->map(f->path[i], &plain, &table, NULL);
        sgfsi_fingerprint_begin(&print[i], f->path[i], &table);
        status = sgfsi_fingerprint_take(&print[i], f->path[i], err);
        sgfsi_table_free(&table);
    }
    if (status == SGFS_OK &&
        sgfsi_fingerprints_differ(f->count, print, f->name, said, what) != NULL)
        status = sgfsi_fail(err, SGFS_EDATA,
                            "%.150s: --part counts the rows of the files that the run was made "
                            "with, and these are others: %.200s. Give the old ones.",
                            f->shown, what);
    free(print);
    return status;
}

void sgfsi_newdata_close(sgfsi_newdata *d) {
    if (d == NULL) return;
    for (int64_t i = 0; i < d->groups; i++) {
        sgfsi_flow_close(&d->group[i].flow);
        sgfsi_run_columns_free(&d->group[i].columns);
        free(d->group[i].unseen);
    }
    free(d->group);
    sgfsi_key_column_close(&d->key);
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
    return d->group->target >= 0;
}

const char *sgfsi_newdata_target(const sgfsi_newdata *d) {
    const group *first = d->group;
    return first->target >= 0 ? first->flow.head.names[first->target] : "";
}

double sgfsi_newdata_fraction(const sgfsi_newdata *d) {
    const group *g = d->now;
    double files = (double)g->first + (double)g->count * g->flow.fraction(&g->flow);
    return files / (double)d->files.count;
}

/* ---- rows that count, and what becomes of them ----------------------------------------------- */

/* Rows of the part that was asked for, of the run's classes, up to the limit: listed in at[]. */
static int64_t choose_rows(sgfsi_newdata *d, int64_t n) {
    const sgfsi_recipe *recipe = d->now->columns.recipe;
    const int64_t limit = d->wanted.limit;
    int64_t chosen = 0;
    for (int64_t i = 0; i < n && (limit == 0 || d->taken < limit); i++) {
        if (recipe != NULL && !sgfsi_recipe_in_part(recipe, d->read + i)) continue;
        if (recipe != NULL && d->now->target >= 0) {
            double y = d->cells[i * d->now->flow.head.cols + d->now->target];
            bool words = d->wanted.levels > 0 && !isnan(y);
            const char *text = words ? d->now->flow.head.level[(int64_t)y] : NULL;
            bool ours = isnan(y) || sgfsi_recipe_keeps_class(recipe, y, text);
            d->other_class += !ours;
            if (!ours) continue;
        }
        d->at[chosen++] = i;
        d->taken++;
    }
    d->read += n;
    return chosen;
}

/* Words that the run does not know, in `n` rows behind those of the block: all columns that have
 * some, in one sentence. */
static sgfs_status check_words(const sgfsi_newdata *d, int64_t first, int64_t n, sgfs_err *err) {
    char where[SGFSI_WHERE];
    new_words found;
    find_words(d->now, n, d->raw, d->now->columns.wanted.features, d->line, &found);
    if (found.columns == 0) return SGFS_OK;
    sgfsi_newdata_where(d, first + found.row, where);
    if (found.empty != NULL)
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: column \"%.60s\" is empty, which it was in no row that the run was "
                          "made with: fill it in, or say --na drop, which leaves the predictions "
                          "of such rows empty, or --new-words zero, which counts it as any new "
                          "word.",
                          where, found.empty);
    char as[120] = "none of the words";
    if (found.reference != NULL)
        snprintf(as, sizeof as, "the one that others are compared with (\"%.40s\")",
                 found.reference);
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: %s, which the run has not seen. Leave such rows out, or say --new-words "
                      "zero: then a new word counts as %s in that column.",
                      where, found.text, as);
}

/* The same where they are allowed: how many rows have some, and in which columns. */
static sgfs_status count_words(sgfsi_newdata *d, int64_t n, sgfs_err *err) {
    group *g = d->now;
    const int64_t features = g->columns.wanted.features;
    if (g->unseen == NULL) g->unseen = calloc((size_t)features + 1, sizeof *g->unseen);
    if (g->unseen == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t i = 0; i < n; i++) {
        bool some = false;
        for (int64_t j = 0; j < features; j++) {
            const sgfsi_dictionary *words = sgfsi_recipe_words(g->columns.recipe, j);
            bool unseen = words != NULL && d->raw[i * features + j] >= (double)words->count;
            g->unseen[j] += unseen;
            some = some || unseen;
        }
        d->with_new_words += some;
    }
    return SGFS_OK;
}

int64_t sgfsi_newdata_new_words(const sgfsi_newdata *d, sgfsi_json *columns) {
    for (int64_t k = 0; k < d->groups; k++) {
        const group *g = &d->group[k];
        for (int64_t j = 0; g->unseen != NULL && j < g->columns.wanted.features; j++) {
            const char *name = g->columns.wanted.feature[j];
            int64_t before = sgfsi_json_get_int(columns, name, 0);
            if (g->unseen[j] > 0) sgfsi_json_int(columns, name, before + g->unseen[j]);
        }
    }
    return d->with_new_words;
}

/* What says which groups a row is in, of its cells. */
static void take_groups(const group *g, const double *cell, double *number, const char **text,
                        unsigned char *lacks) {
    const sgfsi_table *head = &g->flow.head;
    for (int64_t k = 0; k < g->columns.wanted.groups; k++) {
        double x = number[k] = cell[g->grouped + k];
        bool word = g->columns.wanted.group_words[k] && isfinite(x);
        text[k] = word ? head->dictionary[g->grouped + k].word[(int64_t)x] : NULL;
        if (!isfinite(x)) *lacks = SGFSI_LACKS_VALUES;
    }
}

/* The chosen rows behind those that the block has. */
static sgfs_status hand_over(sgfsi_newdata *d, int64_t n, sgfsi_newdata_block *block,
                             sgfs_err *err) {
    const sgfsi_recipe *recipe = d->now->columns.recipe;
    const int64_t features = d->now->columns.wanted.features, first = block->n;
    double *x = block->x + first * block->stride, *to = recipe != NULL ? d->raw : x;
    int64_t stride = recipe != NULL ? features : block->stride, bad = -1;
    for (int64_t i = 0; i < n; i++) {
        const double *cell = d->cells + d->at[i] * d->now->flow.head.cols;
        unsigned char *lacks = &block->lacks[first + i];
        memcpy(to + i * stride, cell, (size_t)features * sizeof *to);
        if (d->now->target >= 0) block->y[first + i] = cell[d->now->target];
        if (d->now->exposure >= 0) block->exposure[first + i] = cell[d->now->exposure];
        bool target = d->now->target >= 0 && isnan(block->y[first + i]),
             exposure = d->now->exposure >= 0 && isnan(block->exposure[first + i]);
        *lacks = target ? SGFSI_LACKS_TARGET : SGFSI_LACKS_NOTHING;
        if (exposure) *lacks = SGFSI_LACKS_VALUES, block->exposure[first + i] = 1;
        for (int64_t j = 0; d->wanted.na == SGFSI_NA_DROP && j < features; j++) {
            if (!isnan(to[i * stride + j])) continue;
            to[i * stride + j] = 0; /* which every operation takes */
            *lacks = SGFSI_LACKS_VALUES;
        }
        const int64_t groups = d->wanted.groups;
        if (groups > 0)
            take_groups(d->now, cell, block->group + (first + i) * groups,
                        block->group_text + (first + i) * groups, lacks);
        d->line[i] = d->line[d->at[i]]; /* at[i] is not less than i */
        d->origin[first + i] = (origin){d->line[i], d->file, d->now->flow.lines};
    }
    block->n += n;
    if (recipe == NULL) return SGFS_OK;
    sgfs_status status =
        d->wanted.zero_words ? count_words(d, n, err) : check_words(d, first, n, err);
    if (status != SGFS_OK) return status;
    status = sgfsi_recipe_columns(recipe, n, d->raw, x, block->stride, &bad, err);
    const char *const *name;
    const int64_t cols = sgfsi_recipe_outputs(recipe, &name);
    for (int64_t i = 0; i < n && status == SGFS_OK && bad < 0; i++) {
        for (int64_t j = 0; j < cols; j++) {
            double *cell = &x[i * block->stride + j];
            if (block->lacks[first + i] == SGFSI_LACKS_VALUES) *cell = 0;
            if (isfinite(*cell)) continue;
            bad = i;
            status = sgfsi_fail(err, SGFS_EDATA, "\"%.60s\" is no finite number.", name[j]);
            break;
        }
    }
    if (bad < 0) return status;
    char here[SGFSI_WHERE];
    const sgfs_err was = *err;
    return sgfsi_fail(err, was.code, "%s: %s", sgfsi_newdata_where(d, first + bad, here), was.text);
}

sgfs_status sgfsi_newdata_next(sgfsi_newdata *d, int64_t most, sgfsi_newdata_block *block,
                               sgfs_err *err) {
    const int64_t limit = d->wanted.limit;
    const group *last = d->group + d->groups - 1;
    bool more = true;
    block->n = 0;
    sgfs_status status = SGFS_OK;
    if (most > d->room) {
        int64_t raw = d->wanted.recipe != NULL ? most * d->inputs : 0;
        bool made = sgfsi_resize(&d->origin, most, sizeof *d->origin) &&
                    sgfsi_resize(&d->line, most, sizeof *d->line) &&
                    sgfsi_resize(&d->at, most, sizeof *d->at) &&
                    sgfsi_resize(&d->cells, most * d->cols + 1, sizeof *d->cells) &&
                    sgfsi_resize(&d->raw, raw + 1, sizeof *d->raw);
        if (!made) status = sgfsi_fail_memory(err, "rows");
        else d->room = most;
    }
    while (status == SGFS_OK && block->n < most && more) {
        int64_t n = 0, before = d->file;
        more = limit == 0 || d->taken < limit;
        if (more)
            status = sgfsi_flow_next(&d->now->flow, most - block->n, d->cells, d->line, &n, err);
        if (status != SGFS_OK) break;
        if (n > 0) d->file = d->now->first + d->now->flow.file;
        if (n == 0 || d->file != before) {
            /* Of the file whose rows came last. */
            if (d->other_class > 0)
                sgfsi_say(
                    d->log, SGFS_NOTE,
                    "%s: %lld row%s of other classes than the run kept (--keep-classes) left out.",
                    d->files.name[before], (long long)d->other_class,
                    d->other_class == 1 ? "" : "s");
            d->other_class = 0;
        }
        if (n > 0) status = hand_over(d, choose_rows(d, n), block, err);
        else if (more && d->now < last) d->now++;
        else more = false;
    }
    if (status != SGFS_OK) sgfsi_files_tidy(&d->files, err);
    return status;
}

sgfs_status sgfsi_newdata_keys(sgfsi_newdata *d, int64_t n, sgfsi_buffer *keys, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    keys->used = 0;
    for (int64_t i = 0; i < n && d->key.name != NULL && status == SGFS_OK; i++)
        status = sgfsi_key_column_take(&d->key, d->files.path[d->origin[i].file], d->origin[i].line,
                                       &d->options, keys, err);
    if (status != SGFS_OK) sgfsi_files_tidy(&d->files, err);
    return status;
}

const char *sgfsi_newdata_where(const sgfsi_newdata *d, int64_t i, char out[SGFSI_WHERE]) {
    const origin *o = &d->origin[i];
    snprintf(out, SGFSI_WHERE, o->text ? "%.250s:%lld" : "%.250s: row %lld", d->files.name[o->file],
             (long long)o->line);
    return out;
}

const char *sgfsi_newdata_level(const sgfsi_newdata *d, int64_t i, double y) {
    const group *g = d->group + d->groups - 1;
    while (g->first > d->origin[i].file) g--;
    if (d->wanted.levels == 0 || y < (double)d->wanted.levels) return NULL;
    return g->flow.head.level[(int64_t)y];
}
