/* SPDX-License-Identifier: MIT
 * stream.c: blocks of rows from a text file (csv.c), from a flow (libsvm.c, idx.c) or from a table
 * that is mapped (npy.c).
 *
 * Each source hands over the wanted columns in file order, n x kept; `from` says which of them
 * goes where. Text and flows have been checked cell by cell while they were read; numbers of a
 * table are checked here.
 */
#include "files/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "files/csv/csv.h"
#include "files/flow.h"
#include "files/transform/transform.h"
#include "rows/data.h"
#include "rows/pages.h"

struct sgfsi_incoming {
    sgfsi_arena arena;
    char *path;
    sgfsi_read_options options;
    sgfsi_wanted asked;
    sgfsi_found found;
    sgfsi_csv *csv;  /* or */
    sgfsi_flow flow; /* (self is NULL: none), or */
    sgfsi_pages visit;
    sgfs_data table; /* every column a feature */
    int64_t kept;    /* columns of a block of the source */
    int64_t *from;   /* features + 2: column of the block: features, target, exposure; -1 */
    char *target_name;
    sgfsi_recipe *recipe; /* asked.features are what it starts from; NULL: what the run has */
    int64_t *relabel;     /* the file's levels as the run's; NULL: they are the same, or none */
    int64_t done, first;  /* rows read; number of the first row of the last block */
    int64_t taken;        /* rows handed over */
    int64_t other_class;  /* rows left out for their class */
    bool told;            /* and that was said */
    int64_t room;         /* rows there is room for */
    int64_t *line;        /* room: of a text file */
    int64_t *at;          /* room: rows of the source's block that are handed over */
    double *cells;        /* room x kept: of a flow or a table */
    double *raw;          /* room x asked.features: what the recipe starts from */
};

/* ---- transforms ------------------------------------------------------------------------------ */

static sgfs_status refuse_recipe(const sgfsi_incoming *r, sgfs_err *err) {
    return sgfsi_fail(
        err, SGFS_EDATA,
        "%s: its columns were transformed, and not as those of the run: give the rows "
        "as they were before, or pack them with the transforms the run had.",
        r->path);
}

/* The features that come out must be those of the run. */
static sgfs_status check_outputs(const sgfsi_incoming *r, sgfs_err *err) {
    const char *const *name;
    bool same = sgfsi_recipe_outputs(r->recipe, &name) == r->asked.features;
    for (int64_t j = 0; same && j < r->asked.features; j++)
        same = strcmp(name[j], r->asked.feature[j]) == 0;
    return same ? SGFS_OK
                : sgfsi_fail(err, SGFS_ERUNFILE,
                             "The run's transforms do not make the columns that it has.");
}

/* What is still to be done to the file's columns, of which `done` was done already. From here on
 * the recipe's inputs are asked for. */
static sgfs_status take_recipe(sgfsi_incoming *r, const sgfsi_json *done, sgfs_err *err) {
    sgfsi_wanted *asked = &r->asked;
    int64_t skip = sgfsi_recipe_done(asked->recipe, done);
    if (skip < 0) return refuse_recipe(r, err);
    if (asked->recipe == NULL && asked->part != NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE, "--part %s: the run was made without --split.",
                          asked->part);
    }
    if (asked->recipe == NULL) return SGFS_OK;
    sgfs_status status = sgfsi_recipe_recall(&r->recipe, asked->recipe, skip, err);
    if (status == SGFS_OK) status = check_outputs(r, err);
    if (status == SGFS_OK && asked->zero_words) status = sgfsi_recipe_zero_words(r->recipe, err);
    if (status == SGFS_OK && asked->part != NULL)
        status = sgfsi_recipe_use_part(r->recipe, asked->part, err);
    if (status != SGFS_OK) return status;
    asked->features = sgfsi_recipe_inputs(r->recipe, &asked->feature);
    asked->named = sgfsi_recipe_named(r->recipe);
    return SGFS_OK;
}

/* Words of the columns of a text file, as the run numbers them: NULL where it has none. */
static sgfs_status known_words(sgfsi_incoming *r, int64_t cols, sgfsi_dictionary **known,
                               sgfs_err *err) {
    *known = NULL;
    for (int64_t j = 0; r->recipe != NULL && j < r->asked.features; j++) {
        const sgfsi_dictionary *words = sgfsi_recipe_words(r->recipe, j);
        if (words == NULL) continue;
        if (*known == NULL) *known = sgfsi_arena_alloc(&r->arena, cols, sizeof **known);
        if (*known == NULL) return sgfsi_fail_memory(err, "the words");
        (*known)[r->found.feature[j]] = *words;
    }
    return SGFS_OK;
}

static sgfs_status refuse_words(const sgfsi_incoming *r, sgfs_err *err) {
    for (int64_t j = 0; r->recipe != NULL && j < r->asked.features; j++) {
        if (sgfsi_recipe_words(r->recipe, j) == NULL) continue;
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: holds numbers only, and column \"%.60s\" of the run words; give the "
                          "rows as CSV, or packed as the run's were.",
                          r->path, r->asked.feature[j]);
    }
    return SGFS_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Roles of the file's columns, and from where in the reader's rows each number comes. An exposure
 * is read as a feature is: a number. */
static void lay_out(sgfsi_incoming *r, int64_t cols, unsigned char *role, int64_t *place) {
    int64_t features = r->asked.features;
    memset(role, SGFSI_ROLE_NONE, (size_t)cols);
    for (int64_t j = 0; j < features; j++) role[r->found.feature[j]] = SGFSI_ROLE_FEATURE;
    if (r->found.exposure >= 0) role[r->found.exposure] = SGFSI_ROLE_FEATURE;
    if (r->found.target >= 0) role[r->found.target] = SGFSI_ROLE_TARGET;
    for (int64_t i = 0; i < cols; i++) place[i] = role[i] != SGFSI_ROLE_NONE ? r->kept++ : -1;
    for (int64_t j = 0; j < features; j++) r->from[j] = place[r->found.feature[j]];
    r->from[features] = r->found.target >= 0 ? place[r->found.target] : -1;
    r->from[features + 1] = r->found.exposure >= 0 ? place[r->found.exposure] : -1;
}

static sgfs_status match(sgfsi_incoming *r, const sgfsi_named_columns *file, sgfs_err *err) {
    r->found.feature =
        sgfsi_arena_alloc(&r->arena, r->asked.features + 1, sizeof *r->found.feature);
    r->from = sgfsi_arena_alloc(&r->arena, r->asked.features + 2, sizeof *r->from);
    if (r->found.feature == NULL || r->from == NULL) return sgfsi_fail_memory(err, "the columns");
    sgfs_status status = sgfsi_match_columns(file, &r->asked, r->options.log, &r->found, err);
    if (status != SGFS_OK) return status;
    const char *name = r->found.target >= 0 ? file->names[r->found.target] : "";
    r->target_name = sgfsi_arena_text(&r->arena, name);
    return r->target_name != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
}

static sgfs_status open_text(sgfsi_incoming *r, sgfs_err *err) {
    sgfs_status status = sgfsi_csv_open(&r->csv, r->path, &r->options, err);
    if (status != SGFS_OK) return status;
    status = take_recipe(r, NULL, err);
    if (status != SGFS_OK) return status;
    const sgfsi_csv_format *format = sgfsi_csv_format_of(r->csv);
    const sgfsi_named_columns file = {r->path, format->cols, format->names, format->header};
    status = match(r, &file, err);
    if (status != SGFS_OK) return status;
    sgfsi_dictionary *known;
    status = known_words(r, file.cols, &known, err);
    if (status != SGFS_OK) return status;
    unsigned char *role = malloc((size_t)file.cols);
    int64_t *place = malloc((size_t)file.cols * sizeof *place);
    if (role != NULL && place != NULL) {
        lay_out(r, file.cols, role, place);
        status = sgfsi_csv_start(r->csv, role, r->asked.levels, r->asked.level, known, err);
    } else {
        status = sgfsi_fail_memory(err, "the columns");
    }
    free(role);
    free(place);
    return status;
}

static int64_t find_level(const sgfsi_wanted *asked, const char *text) {
    int64_t k = 0;
    while (k < asked->levels && strcmp(asked->level[k], text) != 0) k++;
    return k;
}

/* The target's texts, where the file numbers them its own way. */
static sgfs_status relate_levels(sgfsi_incoming *r, const sgfsi_table *head, sgfs_err *err) {
    bool text = r->found.target >= 0 && head->text_col == r->found.target;
    if (r->found.target < 0 || text == (r->asked.levels > 0)) {
        if (!text) return SGFS_OK;
        r->relabel = sgfsi_arena_alloc(&r->arena, head->levels + 1, sizeof *r->relabel);
        if (r->relabel == NULL) return sgfsi_fail_memory(err, "the labels");
        for (int64_t k = 0; k < head->levels; k++) {
            int64_t of = find_level(&r->asked, head->level[k]);
            r->relabel[k] = of < r->asked.levels ? of : r->asked.levels + k;
        }
        return SGFS_OK;
    }
    if (text) {
        return sgfsi_fail(
            err, SGFS_EDATA,
            "%s: the target holds words (\"%.40s\", ...), and that of the run numbers; "
            "say --target none for predictions alone.",
            r->path, head->levels > 0 ? head->level[0] : "");
    }
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: holds numbers only, and the run's target is text (\"%.40s\", ...); "
                      "leave the target out for predictions alone.",
                      r->path, r->asked.level[0]);
}

/* Every column of head in file order; which of them are wanted is all in `from`. */
static sgfs_status take_all(sgfsi_incoming *r, const sgfsi_table *head, sgfs_err *err) {
    const sgfsi_named_columns file = {r->path, head->cols, head->names, head->named};
    sgfs_status status = match(r, &file, err);
    if (status == SGFS_OK) status = refuse_words(r, err);
    if (status == SGFS_OK) status = relate_levels(r, head, err);
    if (status != SGFS_OK) return status;
    r->kept = head->cols;
    memcpy(r->from, r->found.feature, (size_t)r->asked.features * sizeof *r->from);
    r->from[r->asked.features] = r->found.target;
    r->from[r->asked.features + 1] = r->found.exposure;
    return SGFS_OK;
}

static sgfs_status open_table(sgfsi_incoming *r, const sgfs_reader_kind *reader, sgfs_err *err) {
    sgfs_data *d = &r->table;
    sgfs_status status = reader->read(r->path, &r->options, &d->table, err);
    if (status == SGFS_OK) status = take_recipe(r, d->table.recipe, err);
    if (status == SGFS_OK) status = take_all(r, &d->table, err);
    if (status != SGFS_OK) return status;
    d->span = sgfsi_arena_alloc(&r->arena, 1, sizeof *d->span);
    if (d->span == NULL) return sgfsi_fail_memory(err, "the columns");
    d->span[0] = (sgfsi_column_span){0, r->kept};
    d->spans = 1;
    d->N = d->table.rows;
    d->p = d->features = r->kept;
    d->target_col = -1;
    d->row_bytes = d->table.row_stride * (int64_t)sgfsi_dtype_size(d->table.type);
    return SGFS_OK;
}

/* Columns x1, x2, ... of the run: the last place it knows; 0: its columns have names, or it says
 * what cannot be. */
static int64_t last_place(const sgfsi_wanted *asked) {
    int64_t last = 0, number;
    for (int64_t j = 0; !asked->named && j < asked->features; j++) {
        const char *name = asked->feature[j];
        if (name[0] == 'x' && sgfsi_text_int(name + 1, &number) && number > last) last = number;
    }
    return last <= SGFSI_MAX_COLS ? last : 0;
}

static sgfs_status open_flow(sgfsi_incoming *r, const sgfs_reader_kind *reader, sgfs_err *err) {
    sgfs_status status = take_recipe(r, NULL, err);
    if (status != SGFS_OK) return status;
    r->options.known_columns = last_place(&r->asked);
    status = reader->flow(&r->flow, r->path, &r->options, err);
    return status == SGFS_OK ? take_all(r, &r->flow.head, err) : status;
}

static sgfs_status open_source(sgfsi_incoming *r, sgfs_err *err) {
    const sgfs_reader_kind *reader = sgfsi_table_reader(r->path, err);
    if (reader == NULL) return err->code;
    if (reader != &sgfs_reader_libsvm) r->options.zero_based = false; /* the run's file was one */
    sgfs_status status = sgfsi_reader_check(reader, r->path, &r->options, err);
    if (status != SGFS_OK) return status;
    if (reader == &sgfs_reader_csv) return open_text(r, err);
    return reader->flow != NULL ? open_flow(r, reader, err) : open_table(r, reader, err);
}

sgfs_status sgfsi_incoming_open(sgfsi_incoming **out, const char *path, const sgfsi_wanted *asked,
                                const sgfsi_read_options *options, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    sgfsi_incoming *r = *out = calloc(1, sizeof *r);
    if (r == NULL) return sgfsi_fail_memory(err, "a reader");
    r->path = sgfsi_arena_text(&r->arena, path);
    if (r->path == NULL) return sgfsi_fail_memory(err, "a reader");
    r->asked = *asked;
    r->options = (sgfsi_read_options){.target = "",
                                      .features = "",
                                      .delimiter = options->delimiter,
                                      .header = options->header,
                                      .labels = options->labels,
                                      .zero_based = options->zero_based,
                                      .threads = options->threads,
                                      .log = options->log};
    return open_source(r, err);
}

bool sgfsi_incoming_have_target(const sgfsi_incoming *rows) {
    return rows->found.target >= 0;
}

const char *sgfsi_incoming_target_name(const sgfsi_incoming *rows) {
    return rows->target_name;
}

void sgfsi_incoming_close(sgfsi_incoming *rows) {
    if (rows == NULL) return;
    sgfsi_csv_close(rows->csv);
    if (rows->flow.self != NULL) rows->flow.close(&rows->flow);
    sgfsi_table_free(&rows->flow.head);
    sgfsi_table_free(&rows->table.table);
    sgfsi_recipe_free(rows->recipe);
    free(rows->line);
    free(rows->at);
    free(rows->raw);
    free(rows->cells);
    sgfsi_arena_free(&rows->arena);
    free(rows);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

int64_t sgfsi_incoming_line(const sgfsi_incoming *rows, int64_t i) {
    return rows->csv != NULL ? rows->line[rows->at[i]] : rows->first + rows->at[i] + 1;
}

static const char *where(const sgfsi_incoming *r, int64_t i, char out[SGFSI_WHERE]) {
    snprintf(out, SGFSI_WHERE, r->csv != NULL ? "%.250s:%lld" : "%.250s: row %lld", r->path,
             (long long)sgfsi_incoming_line(r, i));
    return out;
}

/* A line number for each row of a text file, cells for other sources, room for the recipe. */
static sgfs_status make_room(sgfsi_incoming *r, int64_t most, sgfs_err *err) {
    if (most <= r->room) return SGFS_OK;
    size_t n = (size_t)most, cells = r->csv == NULL ? n * (size_t)r->kept : 0,
           raw = r->recipe != NULL ? n * (size_t)r->asked.features : 0;
    free(r->at);
    free(r->line);
    free(r->cells);
    free(r->raw);
    r->at = malloc(n * sizeof *r->at);
    r->line = malloc(n * sizeof *r->line);
    r->cells = malloc((cells + 1) * sizeof *r->cells);
    r->raw = malloc((raw + 1) * sizeof *r->raw);
    bool made = r->at != NULL && r->line != NULL && r->cells != NULL && r->raw != NULL;
    if (!made) return sgfsi_fail_memory(err, "rows");
    r->room = most;
    return SGFS_OK;
}

static sgfs_status check_finite(const sgfsi_incoming *r, int64_t n, sgfs_err *err) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < r->asked.features + 2; j++) {
            int64_t from = r->from[j];
            if (from < 0 || isfinite(r->cells[i * r->kept + from])) continue;
            return sgfsi_fail(err, SGFS_EDATA,
                              "%s: row %lld, column \"%s\" is not a finite number; remove such "
                              "rows or fill them in first.",
                              r->path, (long long)(r->first + i + 1), r->table.table.names[from]);
        }
    }
    return SGFS_OK;
}

static sgfs_status read_table(sgfsi_incoming *r, int64_t most, int64_t *n, sgfs_err *err) {
    int64_t left = r->table.N - r->first;
    *n = left < most ? left : most;
    sgfs_status status = sgfsi_pages_range(&r->visit, &r->table, r->first, *n, err);
    if (status != SGFS_OK) return status;
    sgfsi_data_rows_range(&r->table, r->first, *n, r->cells, NULL);
    return check_finite(r, *n, err);
}

/* Cells of a source that has no cells of its own. */
static sgfs_status read_cells(sgfsi_incoming *r, int64_t most, int64_t *n, sgfs_err *err) {
    if (r->flow.self == NULL) return read_table(r, most, n, err);
    return r->flow.next(&r->flow, most, r->cells, n, err);
}

static sgfs_status read_block(sgfsi_incoming *r, int64_t most, int64_t *n, const double **cells,
                              sgfs_err *err) {
    *n = 0;
    r->first = r->done;
    sgfs_status status = make_room(r, most, err);
    if (status == SGFS_OK && r->csv != NULL)
        return sgfsi_csv_next(r->csv, most, n, cells, r->line, err);
    if (status == SGFS_OK) status = read_cells(r, most, n, err);
    *cells = r->cells;
    return status;
}

/* ---- rows that count, and what becomes of them ----------------------------------------------- */

static double target_of(const sgfsi_incoming *r, const double *cell) {
    double y = cell[r->from[r->asked.features]];
    return r->relabel != NULL ? (double)r->relabel[(int64_t)y] : y;
}

static bool has_class(const sgfsi_incoming *r, const double *cell) {
    if (r->recipe == NULL || r->found.target < 0) return true;
    double y = target_of(r, cell);
    const char *text = sgfsi_incoming_level(r, y);
    if (text == NULL && r->asked.levels > 0) text = r->asked.level[(int64_t)y];
    return sgfsi_recipe_keeps_class(r->recipe, y, text);
}

/* Rows of the part that was asked for, of the run's classes, up to the limit: listed in at[]. */
static int64_t choose_rows(sgfsi_incoming *r, int64_t n, const double *cells) {
    int64_t chosen = 0;
    for (int64_t i = 0; i < n; i++) {
        if (r->asked.limit > 0 && r->taken == r->asked.limit) break;
        if (r->recipe != NULL && !sgfsi_recipe_in_part(r->recipe, r->asked.before + r->first + i))
            continue;
        if (!has_class(r, cells + i * r->kept)) {
            r->other_class++;
            continue;
        }
        r->at[chosen++] = i;
        r->taken++;
    }
    return chosen;
}

static void spread_out(const sgfsi_incoming *r, const double *cells, sgfsi_incoming_block *block) {
    int64_t features = r->asked.features, target = r->from[features],
            exposure = r->from[features + 1];
    int64_t stride = r->recipe != NULL ? features : block->stride;
    double *to = r->recipe != NULL ? r->raw : block->x;
    for (int64_t i = 0; i < block->n; i++) {
        const double *cell = cells + r->at[i] * r->kept;
        double *x = to + i * stride;
        for (int64_t j = 0; j < features; j++) x[j] = cell[r->from[j]];
        if (target >= 0) block->y[i] = target_of(r, cell);
        if (exposure >= 0) block->exposure[i] = cell[exposure];
    }
}

/* Words that the run does not know. */
static sgfs_status check_words(const sgfsi_incoming *r, int64_t n, sgfs_err *err) {
    int64_t features = r->asked.features;
    for (int64_t j = 0; j < features; j++) {
        const sgfsi_dictionary *words = sgfsi_recipe_words(r->recipe, j);
        for (int64_t i = 0; words != NULL && i < n; i++) {
            double word = r->raw[i * features + j];
            char here[SGFSI_WHERE];
            if (word < (double)words->count) continue;
            return sgfsi_fail(
                err, SGFS_EDATA,
                "%s: column \"%.60s\" holds \"%.60s\", a word the run has not seen (it knows "
                "%lld); "
                "take such rows out; where words became columns of 0 and 1, --new-words zero "
                "leaves "
                "them all at 0.",
                where(r, i, here), r->asked.feature[j],
                sgfsi_csv_word(r->csv, r->found.feature[j], (int64_t)word),
                (long long)words->count);
        }
    }
    return SGFS_OK;
}

static sgfs_status apply_recipe(const sgfsi_incoming *r, const sgfsi_incoming_block *block,
                                sgfs_err *err) {
    char here[SGFSI_WHERE];
    int64_t bad = -1;
    sgfs_status status = r->asked.zero_words ? SGFS_OK : check_words(r, block->n, err);
    if (status != SGFS_OK) return status;
    status = sgfsi_recipe_columns(r->recipe, block->n, r->raw, block->x, block->stride, &bad, err);
    if (bad < 0) return status;
    const sgfs_err was = *err;
    return sgfsi_fail(err, was.code, "%s: %s", where(r, bad, here), was.text);
}

static void tell_left_out(sgfsi_incoming *r) {
    if (r->other_class == 0 || r->told) return;
    r->told = true;
    sgfsi_say(r->options.log, SGFS_NOTE,
              "%s: %lld row%s of other classes than the run kept (--keep-classes) left out.",
              r->path, (long long)r->other_class, r->other_class == 1 ? "" : "s");
}

sgfs_status sgfsi_incoming_next(sgfsi_incoming *rows, int64_t most, sgfsi_incoming_block *block,
                                sgfs_err *err) {
    const double *cells = NULL;
    int64_t n = 0;
    do {
        bool enough = rows->asked.limit > 0 && rows->taken == rows->asked.limit;
        block->n = n = 0;
        sgfs_status status = enough ? SGFS_OK : read_block(rows, most, &n, &cells, err);
        if (status != SGFS_OK) return status;
        block->n = choose_rows(rows, n, cells);
        rows->done += n;
    } while (n > 0 && block->n == 0);
    if (block->n == 0) return tell_left_out(rows), SGFS_OK;
    spread_out(rows, cells, block);
    return rows->recipe != NULL ? apply_recipe(rows, block, err) : SGFS_OK;
}

int64_t sgfsi_incoming_rows(const sgfsi_incoming *rows, int64_t *taken) {
    *taken = rows->taken;
    return rows->done;
}

bool sgfsi_incoming_is_text(const sgfsi_incoming *rows) {
    return rows->csv != NULL;
}

const char *sgfsi_incoming_level(const sgfsi_incoming *rows, double y) {
    if (rows->asked.levels == 0 || y < (double)rows->asked.levels) return NULL;
    if (rows->csv != NULL) return sgfsi_csv_level(rows->csv, (int64_t)y);
    return rows->relabel != NULL ? rows->table.table.level[(int64_t)y - rows->asked.levels] : NULL;
}

double sgfsi_incoming_fraction(const sgfsi_incoming *rows) {
    if (rows->csv != NULL) return sgfsi_csv_fraction(rows->csv);
    if (rows->flow.self != NULL) return rows->flow.fraction(&rows->flow);
    return (double)rows->done / (double)rows->table.N;
}
