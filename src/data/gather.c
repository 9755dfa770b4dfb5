/* SPDX-License-Identifier: MIT
 * gather.c: rows of the table, converted to double, standardised, with the intercept in front.
 *
 * This is the loop that touches main memory: rows of a minibatch lie anywhere in the table, so the
 * row a few places ahead is prefetched while this one is copied.
 */
#include "data/data.h"

#include <string.h>

enum { AHEAD = 6, LINE = 64 };

/* out[0..n) = cells of one storage type. */
#define CONVERT(name, type)                                                                        \
    static void name(const void *cells, int64_t n, double *out) {                                  \
        const type *cell = cells;                                                                  \
        for (int64_t j = 0; j < n; j++) out[j] = (double)cell[j];                                  \
    }
CONVERT(convert_f64, double)
CONVERT(convert_f32, float)
CONVERT(convert_i64, int64_t)
CONVERT(convert_i32, int32_t)
CONVERT(convert_i16, int16_t)
CONVERT(convert_i8, int8_t)
CONVERT(convert_u8, uint8_t)
CONVERT(convert_u16, uint16_t)
CONVERT(convert_u32, uint32_t)

typedef void (*convert_fn)(const void *cells, int64_t n, double *out);

static convert_fn converter(sgfsi_dtype type) {
    static const convert_fn of[] = {
        [SGFSI_F64] = convert_f64, [SGFSI_F32] = convert_f32, [SGFSI_I64] = convert_i64,
        [SGFSI_I32] = convert_i32, [SGFSI_I16] = convert_i16, [SGFSI_I8] = convert_i8,
        [SGFSI_U8] = convert_u8,   [SGFSI_U16] = convert_u16, [SGFSI_U32] = convert_u32};
    return of[type];
}

static const char *row_start(const sgfs_data *d, int64_t row) {
    size_t size = sgfsi_dtype_size(d->table.type);
    return (const char *)d->table.cells + (size_t)(row * d->table.row_stride) * size;
}

static void one_row(const sgfs_data *d, convert_fn convert, int64_t row, double *x) {
    const char *cells = row_start(d, row);
    size_t size = sgfsi_dtype_size(d->table.type);
    if (d->intercept) *x++ = 1.0;
    double *out = x;
    for (int64_t r = 0; r < d->runs; r++) {
        convert(cells + (size_t)d->run[r].first * size, d->run[r].count, out);
        out += d->run[r].count;
    }
    if (d->scale == NULL) return;
    for (int64_t j = 0; j < d->features; j++) x[j] = (x[j] - d->shift[j]) * d->scale[j];
}

static double one_target(const sgfs_data *d, convert_fn convert, int64_t row) {
    double y;
    if (d->target_col < 0) return d->y[row];
    convert(row_start(d, row) + (size_t)d->target_col * sgfsi_dtype_size(d->table.type), 1, &y);
    return y;
}

static void prefetch_row(const sgfs_data *d, int64_t row) {
    const char *cells = row_start(d, row);
    int64_t bytes = d->table.cols * (int64_t)sgfsi_dtype_size(d->table.type);
    for (int64_t b = 0; b < bytes && b < 8 * LINE; b += LINE) __builtin_prefetch(cells + b);
}

void sgfsi_data_rows_range(const sgfs_data *d, int64_t first, int64_t n, double *x, double *y) {
    convert_fn convert = converter(d->table.type);
    for (int64_t i = 0; i < n; i++) {
        if (x != NULL) one_row(d, convert, first + i, x + i * d->p);
        if (y != NULL) y[i] = d->has_target ? one_target(d, convert, first + i) : 0.0;
    }
}

void sgfsi_data_rows_pick(const sgfs_data *d, const int64_t *row, int64_t n, double *x, double *y) {
    convert_fn convert = converter(d->table.type);
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n) prefetch_row(d, row[i + AHEAD]);
        one_row(d, convert, row[i], x + i * d->p);
        y[i] = d->has_target ? one_target(d, convert, row[i]) : 0.0;
    }
}

int64_t sgfsi_data_target_values(const sgfs_data *d, int64_t most, double *value) {
    int64_t count = 0;
    convert_fn convert = converter(d->table.type);
    for (int64_t i = 0; i < d->N; i++) {
        double y = one_target(d, convert, i);
        int64_t at = 0;
        while (at < count && value[at] < y) at++;
        if (at < count && value[at] == y) continue;
        if (count == most) return most + 1;
        memmove(value + at + 1, value + at, (size_t)(count - at) * sizeof *value);
        value[at] = y;
        count++;
    }
    return count;
}
