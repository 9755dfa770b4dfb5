/* SPDX-License-Identifier: MIT
 * gather.c: rows of the table, converted to double, standardised, with the intercept in front.
 *
 * This is the loop that touches main memory: rows of a minibatch lie anywhere in the table, so the
 * row a few places ahead is prefetched while this one is copied. A view (data->subset) is a list of
 * row numbers in front of these loops; without one they run as they always did.
 */
#include "rows/far.h"

#include <string.h>

enum { AHEAD = 8, FIRST = 32, BLOCK = 256 }; /* rows */
enum { LINE = 64, MOST = 8 * LINE, BYTES_AHEAD = 4096 };

/* How many of n rows of the table lie one behind the other from `first` on. */
static int64_t beside_each_other(const sgfsi_table *t, int64_t first, int64_t n) {
    if (t->cells != NULL) return n;
    const sgfsi_part *p = sgfsi_table_part(t, first);
    int64_t left = p->chunk_rows - (first - p->first) % p->chunk_rows;
    if (left > p->first + p->rows - first) left = p->first + p->rows - first;
    return left < n ? left : n;
}

/* One set of loops per storage type: x (n x p) and y (n) of the rows row[0..n), or of n rows from
 * `first` on where row is NULL. Either output may be NULL. */
#define GATHER(NAME, name, type)                                                                   \
    static void gather_##name(const sgfs_data *d, const int64_t *row, int64_t first, int64_t n,    \
                              double *x, double *y) {                                              \
        const type *cell = NULL;                                                                   \
        for (int64_t i = 0, end = 0; i < n; i++) {                                                 \
            if (i < end) {                                                                         \
                cell += d->table.row_stride;                                                       \
            } else {                                                                               \
                int64_t at = row != NULL ? row[i] : first + i;                                     \
                cell = (const void *)sgfsi_table_row(&d->table, at, d->row_bytes);                 \
                if (row == NULL) end = i + beside_each_other(&d->table, at, n - i);                \
            }                                                                                      \
            if (row == NULL) __builtin_prefetch((const char *)cell + BYTES_AHEAD);                 \
            else if (i + AHEAD < n) prefetch_row(d, row[i + AHEAD]);                               \
            if (y != NULL && d->target_col >= 0) y[i] = (double)cell[d->target_col];               \
            if (x == NULL) continue;                                                               \
            double *restrict out = x + i * d->p;                                                   \
            if (d->intercept) *out++ = 1.0;                                                        \
            for (int64_t r = 0; r < d->spans; r++) {                                               \
                const type *restrict from = cell + d->span[r].first;                               \
                int64_t count = d->span[r].count;                                                  \
                for (int64_t j = 0; j < count; j++) out[j] = (double)from[j];                      \
                out += count;                                                                      \
            }                                                                                      \
        }                                                                                          \
    }

static void prefetch_row(const sgfs_data *d, int64_t row) {
    const char *cells = sgfsi_table_row(&d->table, row, d->row_bytes);
    for (int64_t b = 0; b < d->row_bytes && b < MOST; b += LINE) __builtin_prefetch(cells + b);
    __builtin_prefetch(cells + d->row_bytes - 1); /* the line in which it ends */
}

SGFSI_CELL_TYPES(GATHER)

/* Sparse rows filled up with their zeros. Every column is a feature, and y is an array of its own.
 */
static void gather_csr(const sgfs_data *d, const int64_t *row, int64_t first, int64_t n, double *x,
                       double *y) {
    const sgfs_csr *from = &d->table.csr;
    (void)y;
    if (x == NULL) return;
    memset(x, 0, (size_t)(n * d->p) * sizeof *x);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = row != NULL ? row[i] : first + i;
        double *out = x + i * d->p;
        if (d->intercept) *out++ = 1.0;
        for (int64_t k = from->start[at]; k < from->start[at + 1]; k++) {
            out[from->col[k]] = from->value[k];
        }
    }
}

typedef void (*gather_fn)(const sgfs_data *d, const int64_t *row, int64_t first, int64_t n,
                          double *x, double *y);

#define ENTER(NAME, name, type) [SGFSI_##NAME] = gather_##name,
static const gather_fn gather_of[] = {SGFSI_CELL_TYPES(ENTER)[SGFSI_CSR] = gather_csr};

static void gather(const sgfs_data *d, const int64_t *row, int64_t first, int64_t n, double *x,
                   double *y) {
    if (!sgfsi_data_is_far(d)) gather_of[d->table.type](d, row, first, n, x, y);
    else if (x != NULL) sgfsi_far_fetch(d, row, first, n, x);
    for (int64_t i = 0; x != NULL && d->scale != NULL && i < n; i++) {
        double *v = x + (i + 1) * d->p - d->features;
        for (int64_t j = 0; j < d->features; j++) v[j] = (v[j] - d->shift[j]) * d->scale[j];
    }
    if (y == NULL || d->target_col >= 0) return;
    for (int64_t i = 0; i < n; i++)
        y[i] = d->has_target ? d->y[row != NULL ? row[i] : first + i] : 0;
}

bool sgfsi_data_stored(const sgfs_data *d, int64_t first, int64_t n, sgfsi_side_by_side *rows) {
    const sgfsi_table *t = &d->table;
    bool single = t->type == SGFSI_F32;
    if ((!single && t->type != SGFSI_F64) || d->spans != 1 || d->subset != NULL) return false;
    if (sgfsi_data_is_far(d)) return false;
    const int64_t size = (int64_t)sgfsi_dtype_size(t->type);
    const char *cells = sgfsi_table_row(t, first, d->row_bytes);
    *rows = (sgfsi_side_by_side){.cells = cells + d->span[0].first * size,
                                 .single = single,
                                 .stride = t->row_stride,
                                 .n = n,
                                 .left = n};
    if (t->cells != NULL) return true;
    const sgfsi_part *p = sgfsi_table_part(t, first);
    int64_t end = p->first + p->rows - first;
    rows->n = end < n ? end : n;
    rows->left = beside_each_other(t, first, n);
    rows->chunk = p->chunk_rows;
    rows->gap = (p->chunk_bytes - p->chunk_rows * d->row_bytes) / size;
    return true;
}

void sgfsi_data_rows_range(const sgfs_data *d, int64_t first, int64_t n, double *x, double *y) {
    if (d->subset == NULL) gather(d, NULL, first, n, x, y);
    else gather(d, d->subset + first, 0, n, x, y);
}

void sgfsi_data_rows_pick(const sgfs_data *d, const int64_t *row, int64_t n, double *x, double *y) {
    if (d->subset == NULL) {
        gather(d, row, 0, n, x, y);
        return;
    }
    /* Through the list of a view: a block of row numbers at a time. */
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t at[BLOCK], count = n - first < BLOCK ? n - first : BLOCK;
        for (int64_t i = 0; i < count; i++) at[i] = d->subset[row[first + i]];
        gather(d, at, 0, count, x != NULL ? x + first * d->p : NULL, y != NULL ? y + first : NULL);
    }
}

void sgfsi_data_rows_fetch(const sgfs_data *d, const int64_t *row, int64_t n) {
    if (d->table.type == SGFSI_CSR || sgfsi_data_is_far(d)) return;
    for (int64_t i = 0; i < n && i < FIRST; i++) {
        int64_t at = d->subset != NULL ? d->subset[row[i]] : row[i];
        prefetch_row(d, at);
        if (d->target_col < 0 && d->has_target) __builtin_prefetch(d->y + at);
    }
}

void sgfsi_data_rows_table(const sgfs_data *d, const int64_t *row, int64_t n, double *x,
                           double *y) {
    gather(d, row, 0, n, x, y);
}

void sgfsi_data_fair(const sgfs_data *d, int64_t n, int64_t *row) {
    enum { TOGETHER = 256 };
    int64_t blocks = d->table.shuffled ? (n + TOGETHER - 1) / TOGETHER : n;
    if (blocks < 4 * d->table.parts) blocks = 4 * d->table.parts; /* some of each part */
    if (blocks > n) blocks = n;
    for (int64_t k = 0; k < blocks; k++) {
        int64_t from = k * n / blocks, to = (k + 1) * n / blocks;
        int64_t left_out = (int64_t)((double)k * (double)(d->N - n) / (double)blocks); /* before */
        for (int64_t i = from; i < to; i++) row[i] = left_out + i;
    }
}
