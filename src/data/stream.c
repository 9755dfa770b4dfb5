/* SPDX-License-Identifier: MIT
 * stream.c: blocks of rows from a text file (csv.c), from a flow (libsvm.c, idx.c) or from a table
 * that is mapped (npy.c).
 *
 * Each source hands over the wanted columns in file order, n x kept; `from` says which of them
 * goes where. Text and flows have been checked cell by cell while they were read; numbers of a table
 * are checked here.
 */
#include "data/stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/number.h"
#include "data/csv.h"
#include "data/data.h"
#include "data/flow.h"

struct sgfsi_incoming {
    sgfsi_arena arena;
    char *path;
    sgfsi_read_options options;
    sgfsi_asked asked;
    sgfsi_found found;
    sgfsi_csv *csv;  /* or */
    sgfsi_flow flow; /* (self is NULL: none), or */
    sgfs_data table; /* every column a feature */
    int64_t kept;    /* columns of a block of the source */
    int64_t *from;   /* features + 2: column of the block: features, target, exposure; -1 */
    char *target_name;
    int64_t done, first; /* rows read; number of the first row of the last block */
    int64_t room;        /* rows there is room for */
    int64_t *line;       /* room: of a text file */
    double *cells;       /* room x kept: of a flow or a table */
};

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

static sgfs_status match(sgfsi_incoming *r, const sgfsi_file_columns *file, sgfs_err *err) {
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
    const sgfsi_csv_format *format = sgfsi_csv_format_of(r->csv);
    const sgfsi_file_columns file = {r->path, format->cols, format->names, format->header};
    status = match(r, &file, err);
    if (status != SGFS_OK) return status;
    unsigned char *role = malloc((size_t)file.cols);
    int64_t *place = malloc((size_t)file.cols * sizeof *place);
    if (role != NULL && place != NULL) {
        lay_out(r, file.cols, role, place);
        status = sgfsi_csv_start(r->csv, role, r->asked.levels, r->asked.level, err);
    } else {
        status = sgfsi_fail_memory(err, "the columns");
    }
    free(role);
    free(place);
    return status;
}

/* Every column of head in file order; which of them are wanted is all in `from`. */
static sgfs_status take_all(sgfsi_incoming *r, const sgfsi_table *head, sgfs_err *err) {
    const sgfsi_file_columns file = {r->path, head->cols, head->names, head->named};
    sgfs_status status = match(r, &file, err);
    if (status != SGFS_OK) return status;
    if (r->asked.levels > 0 && r->found.target >= 0) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: holds numbers only, and the run's target is text (\"%.40s\", ...); "
                          "leave the target out for predictions alone.",
                          r->path, r->asked.level[0]);
    }
    r->kept = head->cols;
    memcpy(r->from, r->found.feature, (size_t)r->asked.features * sizeof *r->from);
    r->from[r->asked.features] = r->found.target;
    r->from[r->asked.features + 1] = r->found.exposure;
    return SGFS_OK;
}

static sgfs_status open_table(sgfsi_incoming *r, const sgfs_reader_kind *reader, sgfs_err *err) {
    sgfs_data *d = &r->table;
    sgfs_status status = reader->read(r->path, &r->options, &d->table, err);
    if (status == SGFS_OK) status = take_all(r, &d->table, err);
    if (status != SGFS_OK) return status;
    d->run = sgfsi_arena_alloc(&r->arena, 1, sizeof *d->run);
    if (d->run == NULL) return sgfsi_fail_memory(err, "the columns");
    d->run[0] = (sgfsi_columns_run){0, r->kept};
    d->runs = 1;
    d->N = d->table.rows;
    d->p = d->features = r->kept;
    d->target_col = -1;
    d->row_bytes = d->table.row_stride * (int64_t)sgfsi_dtype_size(d->table.type);
    return SGFS_OK;
}

/* Columns x1, x2, ... of the run: the last place it knows; 0: its columns have names. */
static int64_t last_place(const sgfsi_asked *asked) {
    int64_t last = 0, number;
    for (int64_t j = 0; !asked->named && j < asked->features; j++) {
        const char *name = asked->feature[j];
        if (name[0] == 'x' && sgfsi_text_int(name + 1, &number) && number > last) last = number;
    }
    return last;
}

static sgfs_status open_flow(sgfsi_incoming *r, const sgfs_reader_kind *reader, sgfs_err *err) {
    r->options.known_columns = last_place(&r->asked);
    sgfs_status status = reader->flow(&r->flow, r->path, &r->options, err);
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

sgfs_status sgfsi_incoming_open(sgfsi_incoming **out, const char *path, const sgfsi_asked *asked,
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
    free(rows->line);
    free(rows->cells);
    sgfsi_arena_free(&rows->arena);
    free(rows);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static sgfs_status make_room(sgfsi_incoming *r, int64_t most, sgfs_err *err) {
    if (most <= r->room) return SGFS_OK;
    bool text = r->csv != NULL;
    int64_t *line = text ? realloc(r->line, (size_t)most * sizeof *line) : NULL;
    double *cells = text ? NULL : realloc(r->cells, (size_t)(most * r->kept) * sizeof *cells);
    if (line == NULL && cells == NULL) return sgfsi_fail_memory(err, "rows");
    if (text) r->line = line;
    else r->cells = cells;
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
    sgfsi_data_rows_range(&r->table, r->first, *n, r->cells, NULL);
    return check_finite(r, *n, err);
}

/* Cells of a source that has no cells of its own. */
static sgfs_status read_cells(sgfsi_incoming *r, int64_t most, int64_t *n, sgfs_err *err) {
    if (r->flow.self == NULL) return read_table(r, most, n, err);
    return r->flow.next(&r->flow, most, r->cells, n, err);
}

static void spread_out(const sgfsi_incoming *r, const double *cells, sgfsi_incoming_block *block) {
    int64_t features = r->asked.features, target = r->from[features],
            exposure = r->from[features + 1];
    for (int64_t i = 0; i < block->n; i++) {
        const double *cell = cells + i * r->kept;
        double *x = block->x + i * block->stride;
        for (int64_t j = 0; j < features; j++) x[j] = cell[r->from[j]];
        if (target >= 0) block->y[i] = cell[target];
        if (exposure >= 0) block->exposure[i] = cell[exposure];
    }
}

sgfs_status sgfsi_incoming_next(sgfsi_incoming *rows, int64_t most, sgfsi_incoming_block *block,
                                sgfs_err *err) {
    const double *cells = NULL;
    block->n = 0;
    rows->first = rows->done;
    sgfs_status status = make_room(rows, most, err);
    if (status == SGFS_OK && rows->csv != NULL) {
        status = sgfsi_csv_next(rows->csv, most, &block->n, &cells, rows->line, err);
    } else if (status == SGFS_OK) {
        status = read_cells(rows, most, &block->n, err);
        cells = rows->cells;
    }
    if (status != SGFS_OK) return status;
    spread_out(rows, cells, block);
    rows->done += block->n;
    return SGFS_OK;
}

int64_t sgfsi_incoming_line(const sgfsi_incoming *rows, int64_t i) {
    return rows->csv != NULL ? rows->line[i] : rows->first + i + 1;
}

bool sgfsi_incoming_is_text(const sgfsi_incoming *rows) {
    return rows->csv != NULL;
}

const char *sgfsi_incoming_level(const sgfsi_incoming *rows, double y) {
    bool unknown = rows->csv != NULL && rows->asked.levels > 0 && y >= (double)rows->asked.levels;
    return unknown ? sgfsi_csv_level(rows->csv, (int64_t)y) : NULL;
}

double sgfsi_incoming_fraction(const sgfsi_incoming *rows) {
    if (rows->csv != NULL) return sgfsi_csv_fraction(rows->csv);
    if (rows->flow.self != NULL) return rows->flow.fraction(&rows->flow);
    return (double)rows->done / (double)rows->table.N;
}
