/* SPDX-License-Identifier: MIT
 * far.c: see far.h. The device is opened for the table and closed with it; a model on these rows
 * opens the same one for itself, and takes the cells by their addresses.
 *
 *     sgfs_arrays.device -> opened -> numbers by row: to the host
 *                                  -> rows: kept where they are (sgfsi_stored.there)
 *                                         -> measure: statistics, made there
 *                                         -> fetch: some rows, for whoever looks at them here
 */
#include "rows/far.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CELLS = 1 << 18 }; /* that come at once */

/* ---- opening --------------------------------------------------------------------------------- */

static const char *const type_names =
#define NAME(NAME, name, type) #name ", "
    SGFSI_CELL_TYPES(NAME);
#undef NAME

static bool read_type(const char *name, sgfsi_dtype *type) {
#define IS(NAME, name, type) {#name, SGFSI_##NAME},
    static const struct {
        const char *name;
        sgfsi_dtype type;
    } types[] = {SGFSI_CELL_TYPES(IS)};
#undef IS
    for (size_t k = 0; name != NULL && k < sizeof types / sizeof types[0]; k++) {
        *type = types[k].type;
        if (strcmp(types[k].name, name) == 0) return true;
    }
    return false;
}

static sgfs_status check(const sgfs_device_array *a, const char *what, int64_t cols,
                         sgfsi_dtype *type, sgfs_err *err) {
    if (!read_type(a->type, type))
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "sgfs_data_wrap: %s has the type \"%.40s\", and there are %.*s.", what,
                          a->type != NULL ? a->type : "", (int)strlen(type_names) - 2, type_names);
    if (a->stride != 0 && a->stride < cols)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "sgfs_data_wrap: %s has a stride of %lld, and its rows have %lld "
                          "numbers.",
                          what, (long long)a->stride, (long long)cols);
    return SGFS_OK;
}

/* Has the device failed? */
static sgfs_status look_after(const sgfs_device *dev, sgfs_err *err) {
    bool fine = dev->ops->trouble == NULL || dev->ops->trouble(dev) == NULL;
    return fine ? SGFS_OK : sgfsi_device_explain(dev, SGFS_EIO, err);
}

/* Rows that are there; NULL with a sentence. */
static void *keep(const sgfs_device *dev, sgfsi_stored stored, const char *what, sgfs_err *err) {
    void *kept = dev->ops->keep_rows(dev, &stored);
    if (kept == NULL && look_after(dev, err) == SGFS_OK)
        sgfsi_fail(err, SGFS_EUSAGE,
                   "%s lies at no address of the GPU %lld, or nothing of its memory is free.", what,
                   (long long)dev->number);
    return kept;
}

/* *to becomes the array as doubles of the host's, of the arena. */
static sgfs_status take_numbers(const sgfs_device *dev, const sgfs_device_array *a, int64_t rows,
                                const char *what, const double **to, sgfsi_arena *arena,
                                sgfs_err *err) {
    sgfsi_dtype type;
    if (a->cells == NULL) return SGFS_OK;
    if (*to != NULL)
        return sgfsi_fail(err, SGFS_EUSAGE, "sgfs_data_wrap: %s is there twice: say one of them.",
                          what);
    sgfs_status status = check(a, what, 1, &type, err);
    double *numbers = status == SGFS_OK ? SGFSI_DOUBLES(arena, rows) : NULL;
    if (status != SGFS_OK || numbers == NULL)
        return status != SGFS_OK ? status : sgfsi_fail_memory(err, "the targets");
    int64_t stride = a->stride != 0 ? a->stride : 1;
    const sgfsi_stored_part part = {.rows = rows, .cells = a->cells};
    const sgfsi_column_span one = {0, 1};
    void *kept = keep(dev,
                      (sgfsi_stored){.type = type,
                                     .row_bytes = stride * (int64_t)sgfsi_dtype_size(type),
                                     .rows = rows,
                                     .parts = 1,
                                     .part = &part,
                                     .spans = 1,
                                     .span = &one,
                                     .features = 1,
                                     .there = true},
                      what, err);
    if (kept == NULL) return sgfsi_why(err);
    for (int64_t first = 0, n; first < rows; first += n) {
        n = rows - first < MOST_CELLS ? rows - first : MOST_CELLS;
        dev->ops->fetch(dev, kept, NULL, first, n, numbers + first);
    }
    dev->ops->drop_rows(dev, kept);
    *to = numbers;
    return look_after(dev, err);
}

sgfs_status sgfsi_far_take(sgfs_data *d, sgfs_arrays *a, sgfs_err *err) {
    sgfsi_table *t = &d->table;
    int64_t number;
    const sgfs_device *kind = sgfsi_device_find(a->device, &number);
    if (kind == NULL || kind->ops->open == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "sgfs_data_wrap: the device of arrays is cuda or cuda:1 (the second "
                          "GPU), not \"%.100s\".",
                          a->device);
    sgfs_status status = sgfsi_device_open(&t->device, kind, number, err);
    if (status == SGFS_OK && (t->device->ops->fetch == NULL || t->device->ops->measure == NULL))
        status = sgfsi_fail(err, SGFS_EUSAGE, "--device %s takes no arrays of others.", a->device);
    if (status == SGFS_OK)
        status = take_numbers(t->device, &a->device_y, a->rows, "y", &a->y, &d->arena, err);
    if (status == SGFS_OK)
        status = take_numbers(t->device, &a->device_weights, a->rows, "weights", &a->weights,
                              &d->arena, err);
    if (status == SGFS_OK)
        status = take_numbers(t->device, &a->device_exposure, a->rows, "exposure", &a->exposure,
                              &d->arena, err);
    if (status == SGFS_OK && a->device_x.cells != NULL)
        return check(&a->device_x, "x", a->cols, &t->type, err);
    sgfsi_device_close(t->device);
    t->device = NULL;
    return status;
}

sgfs_status sgfsi_far_keep(sgfs_data *d, sgfs_err *err) {
    sgfsi_table *t = &d->table;
    const sgfsi_stored_part part = {.rows = t->rows, .cells = t->cells};
    if (t->device == NULL) return SGFS_OK;
    t->kept = keep(t->device,
                   (sgfsi_stored){.type = t->type,
                                  .row_bytes = d->row_bytes,
                                  .rows = t->rows,
                                  .parts = 1,
                                  .part = &part,
                                  .spans = d->spans,
                                  .span = d->span,
                                  .features = d->features,
                                  .there = true},
                   "x", err);
    return t->kept != NULL ? SGFS_OK : sgfsi_why(err);
}

/* ---- some rows ------------------------------------------------------------------------------- */

/* Features come behind room for the intercepts, and then are moved to where they belong, from the
 * first row on: none is written to before it was read. */
void sgfsi_far_fetch(const sgfs_data *d, const int64_t *row, int64_t first, int64_t n, double *x) {
    const sgfs_device *dev = d->table.device;
    int64_t features = d->features, fit = MOST_CELLS / (features > 0 ? features : 1);
    double *from = x + n * (d->p - features);
    if (fit < 1) fit = 1;
    for (int64_t at = 0, some; at < n && features > 0; at += some) {
        some = n - at < fit ? n - at : fit;
        dev->ops->fetch(dev, d->table.kept, row != NULL ? row + at : NULL, first + at, some,
                        from + at * features);
    }
    for (int64_t i = 0; d->p > features && i < n; i++) {
        memmove(x + i * d->p + 1, from + i * features, (size_t)features * sizeof *x);
        x[i * d->p] = 1;
    }
}

/* ---- statistics ------------------------------------------------------------------------------ */

/* Room for what is said of the features, and of which rows: lists are NULL where all is as it lies.
 */
typedef struct look {
    sgfsi_measured m;
    double *numbers, *weight; /* 4 x features; n */
} look;

static sgfs_status take_look(const sgfs_data *d, look *l, sgfs_err *err) {
    const sgfs_device *dev = d->table.device;
    int64_t p = d->features;
    l->numbers = calloc((size_t)(4 * p + 1), sizeof *l->numbers);
    if (l->numbers == NULL) return sgfsi_fail_memory(err, "the column statistics");
    l->m.features = p;
    l->m.mean = l->numbers;
    l->m.ss = l->numbers + p;
    l->m.min = l->numbers + 2 * p;
    l->m.max = l->numbers + 3 * p;
    if (p > 0) dev->ops->measure(dev, d->table.kept, &l->m);
    return look_after(dev, err);
}

sgfs_status sgfsi_far_measure(const sgfs_data *d, int64_t block, const sgfsi_column_stats *target,
                              sgfsi_column_stats *stats, sgfs_err *err) {
    look l = {.m = {.row = d->subset, .n = d->N, .block = block}};
    char where[320] = "", more[80] = "";
    sgfs_status status = SGFS_OK;
    if (d->weight != NULL) {
        l.weight = malloc((size_t)d->N * sizeof *l.weight);
        if (l.weight == NULL) return sgfsi_fail_memory(err, "the column statistics");
        sgfsi_data_weights(d, 0, d->N, l.weight);
        l.m.weight = l.weight;
    }
    status = take_look(d, &l, err);
    for (int64_t j = 0; status == SGFS_OK && j < d->features; j++)
        stats[j] = (sgfsi_column_stats){target->rows, target->count, l.m.mean[j],
                                        l.m.ss[j],    l.m.min[j],    l.m.max[j]};
    if (status == SGFS_OK && l.m.bad > 0) {
        const char *column = d->feature[l.m.first_bad % d->features].name;
        sgfsi_data_where(d, l.m.first_bad / d->features, where, sizeof where);
        if (l.m.bad > 1)
            snprintf(more, sizeof more, " (the first of %lld such cells)", (long long)l.m.bad);
        status = sgfsi_fail_finite(err, "%s, column \"%s\"%s", where, column, more);
    }
    free(l.numbers);
    free(l.weight);
    return status;
}

sgfs_status sgfsi_far_ranges(const sgfs_data *d, const int64_t *row, int64_t n, double *least,
                             double *most, sgfs_err *err) {
    int64_t *at = malloc((size_t)(n + 1) * sizeof *at);
    if (at == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t i = 0; i < n; i++) at[i] = sgfsi_data_table_row(d, row[i]);
    look l = {.m = {.row = at, .n = n, .block = sgfsi_column_stats_rows(d->features)}};
    sgfs_status status = take_look(d, &l, err);
    for (int64_t j = 0; status == SGFS_OK && j < d->features; j++) {
        least[j] = l.m.min[j];
        most[j] = l.m.max[j];
    }
    free(l.numbers);
    free(at);
    return status;
}
