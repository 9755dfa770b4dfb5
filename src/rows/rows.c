/* SPDX-License-Identifier: MIT
 * rows.c: a batch from rows of the table.
 *
 * Sparse rows stay sparse for models that take them: the entries are copied with their columns
 * moved up by one behind the intercept (an entry 1 in column 0) and scaled by --standardize, which
 * centres a column only where every row has an entry: it would fill others.
 *
 * Room is made once. Rows of a minibatch may repeat, so that all of them could be the longest one;
 * rows that come once have no more entries than the table.
 */
#include "rows/exchange.h"

static bool open_sparse(sgfsi_rows *r, const sgfs_data *d, const sgfsi_rows_plan *plan,
                        sgfsi_arena *arena) {
    const int64_t *start = d->table.csr.start;
    int64_t longest = 0, rows = d->table.rows;
    for (int64_t i = 0; i < rows; i++) {
        if (start[i + 1] - start[i] > longest) longest = start[i + 1] - start[i];
    }
    int64_t entries = plan->n * longest; /* of the largest batch, */
    if (!plan->repeats && entries > start[rows]) entries = start[rows];
    entries += plan->n; /* intercepts included */
    r->start = sgfsi_arena_alloc(arena, plan->n + 1, sizeof *r->start);
    r->col = sgfsi_arena_alloc(arena, entries, sizeof *r->col);
    r->value = SGFSI_DOUBLES(arena, entries);
    r->csr = (sgfs_csr){.start = r->start, .col = r->col, .value = r->value};
    return r->start != NULL && r->col != NULL && r->value != NULL;
}

sgfs_status sgfsi_rows_open(sgfsi_rows *r, const sgfs_data *d, sgfsi_rows_plan plan,
                            sgfsi_arena *arena, sgfs_err *err) {
    const sgfs_device *dev = plan.gatherer.device;
    if (d->elsewhere != NULL)
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "%s: is a sketch, and the rows are elsewhere: `sgfs sample` can draw from "
            "it, and nothing else.",
            d->path);
    bool staged = dev != NULL && dev->ops->put != NULL && plan.gatherer.kept == NULL;
    *r = (sgfsi_rows){.data = d, .gatherer = plan.gatherer, .y = SGFSI_DOUBLES(arena, plan.n)};
    bool sparse = plan.sparse && d->table.type == SGFSI_CSR;
    bool weights = d->weight != NULL && !plan.repeats, offsets = d->offset != NULL;
    if (weights) r->weight = SGFSI_DOUBLES(arena, plan.n);
    if (offsets) r->offset = SGFSI_DOUBLES(arena, plan.n);
    if (!sparse && dev == NULL) r->x = SGFSI_DOUBLES(arena, plan.n * d->p);
    if (!sparse && dev != NULL) r->x = sgfsi_device_room(dev, plan.n * d->p, arena);
    if (!sparse && staged) r->staged = SGFSI_DOUBLES(arena, plan.n * d->p);
    bool room = sparse ? open_sparse(r, d, &plan, arena) : r->x != NULL;
    if (!sparse && staged && r->staged == NULL) room = false;
    if (plan.gatherer.kept != NULL) {
        r->at = sgfsi_arena_alloc(arena, plan.n, sizeof *r->at);
        if (r->at == NULL) room = false;
    }
    if (weights && r->weight == NULL) room = false;
    if (offsets && r->offset == NULL) room = false;
    r->batch = (sgfs_batch){.n = plan.n,
                            .p = d->p,
                            .x = r->x,
                            .y = r->y,
                            .weight = r->weight,
                            .offset = r->offset,
                            .total = d->total,
                            .gamma = 1};
    return room && r->y != NULL ? SGFS_OK : sgfsi_fail_memory(err, "rows of the data");
}

/* ---- rows of the table ----------------------------------------------------------------------- */

/* Where the rows of a batch are: a list of rows of the data, or neighbours from `first` on. */
typedef struct place {
    const int64_t *row, *subset; /* either may be NULL */
    int64_t first;
} place;

static int64_t table_row(const place *p, int64_t i) {
    int64_t row = p->row != NULL ? p->row[i] : p->first + i;
    return p->subset != NULL ? p->subset[row] : row;
}

/* Rows that lie anywhere: where one begins is fetched FAR rows before it is copied, and its first
 * entries NEAR rows before. A call of nothing but prefetches would be dropped as one without
 * effect: hence always_inline. */
static inline __attribute__((always_inline)) void fetch_sparse(const sgfs_csr *from, const place *p,
                                                               int64_t i, int64_t n) {
    enum { NEAR = 16, FAR = 32, LINE = 8, MOST = 64 }; /* rows; entries */
    if (i + FAR < n) __builtin_prefetch(&from->start[table_row(p, i + FAR)]);
    if (i + NEAR >= n) return;
    int64_t row = table_row(p, i + NEAR), first = from->start[row], end = from->start[row + 1];
    for (int64_t k = first; k < end && k < first + MOST; k += LINE) {
        __builtin_prefetch(&from->col[k]);
        __builtin_prefetch(&from->value[k]);
    }
    if (end > first) __builtin_prefetch(&from->value[end - 1]);
}

/* Entries of one row, which are few: eight at a time, the last eight once more where their number
 * is no multiple of eight. */
static inline void copy_entries(const int32_t *restrict from_col, const double *restrict from_value,
                                int64_t count, int32_t shift, int32_t *restrict col,
                                double *restrict value) {
    enum { LANES = 8 };
    typedef int32_t columns
        __attribute__((vector_size(LANES * sizeof(int32_t)), aligned(4), may_alias));
    typedef double values
        __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));
    for (int64_t k = 0; count < LANES && k < count; k++) {
        col[k] = from_col[k] + shift;
        value[k] = from_value[k];
    }
    for (int64_t k = 0; count >= LANES && k < count; k += LANES) {
        int64_t at = k + LANES <= count ? k : count - LANES;
        *(columns *)(void *)(col + at) = *(const columns *)(const void *)(from_col + at) + shift;
        *(values *)(void *)(value + at) = *(const values *)(const void *)(from_value + at);
    }
}

enum { LINE = 8, AHEAD = 512 }; /* entries: rows that follow one another are fetched so far ahead */

static void copy_sparse(sgfsi_rows *r, const place *p, int64_t n) {
    const sgfs_data *d = r->data;
    const sgfs_csr *from = &d->table.csr;
    const int32_t shift = d->intercept ? 1 : 0;
    int32_t *restrict col = r->col;
    double *restrict value = r->value;
    int64_t *restrict start = r->start, to = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = table_row(p, i), first = from->start[row];
        int64_t count = from->start[row + 1] - first;
        if (p->row != NULL) fetch_sparse(from, p, i, n);
        for (int64_t k = first; p->row == NULL && k < first + count; k += LINE) {
            __builtin_prefetch(&from->value[k + AHEAD]);
            __builtin_prefetch(&from->col[k + AHEAD]);
        }
        start[i] = to;
        col[to] = 0; /* where there is an intercept; else the first entry takes its place */
        value[to] = 1;
        to += shift;
        copy_entries(from->col + first, from->value + first, count, shift, col + to, value + to);
        to += count;
    }
    start[n] = to;
    for (int64_t k = 0; d->scale != NULL && k < to; k++) {
        int32_t j = col[k] - shift;
        if (j >= 0) value[k] = (value[k] - d->shift[j]) * d->scale[j];
    }
}

/* Where the host gathers rows to; NULL: the device does, or they are sparse. */
static double *host_room(const sgfsi_rows *r) {
    if (r->gatherer.kept != NULL) return NULL;
    return r->staged != NULL ? r->staged : r->x;
}

static const sgfs_batch *fill(sgfsi_rows *r, const place *p, int64_t n) {
    const sgfs_data *d = r->data;
    const sgfsi_gatherer *g = &r->gatherer;
    if (r->x == NULL) copy_sparse(r, p, n);
    if (r->staged != NULL) sgfsi_put(g->device, n * d->p, r->staged, r->x);
    if (r->x != NULL && g->kept != NULL) { /* the device has all rows */
        for (int64_t i = 0; p->subset != NULL && i < n; i++) r->at[i] = table_row(p, i);
        g->device->ops->gather(g->device, g->kept, p->subset != NULL ? r->at : p->row, p->first, n,
                               r->x);
    }
    for (int64_t i = 0; r->weight != NULL && i < n; i++) r->weight[i] = d->weight[table_row(p, i)];
    for (int64_t i = 0; r->offset != NULL && i < n; i++) r->offset[i] = d->offset[table_row(p, i)];
    r->batch.n = n;
    r->batch.sparse = r->x == NULL ? &r->csr : NULL;
    r->batch.row = p->row == NULL && p->subset == NULL ? p->first + 1 : 0;
    return &r->batch;
}

const sgfs_batch *sgfsi_rows_range(sgfsi_rows *r, int64_t first, int64_t n) {
    const place p = {.subset = r->data->subset, .first = first};
    sgfsi_data_rows_range(r->data, first, n, host_room(r), r->y);
    return fill(r, &p, n);
}

/* What is beside n rows: y, unless it lies there as it is wanted, weights and offsets. */
static const sgfs_batch *beside(sgfsi_rows *r, const place *p, int64_t n, const double *y) {
    const sgfs_data *d = r->data;
    for (int64_t i = 0; r->weight != NULL && i < n; i++) r->weight[i] = d->weight[table_row(p, i)];
    for (int64_t i = 0; r->offset != NULL && i < n; i++) r->offset[i] = d->offset[table_row(p, i)];
    r->aside = r->batch;
    r->aside.n = n;
    r->aside.x = NULL;
    r->aside.sparse = NULL;
    r->aside.row = p->row == NULL ? p->first + 1 : 0;
    r->aside.y = y != NULL ? y : r->y;
    return &r->aside;
}

const sgfs_batch *sgfsi_rows_beside(sgfsi_rows *r, int64_t first, int64_t n) {
    const sgfs_data *d = r->data;
    const place p = {.subset = d->subset, .first = first};
    bool there = d->target_col < 0 && d->has_target && d->subset == NULL; /* as it is */
    if (!there) sgfsi_data_rows_range(d, first, n, NULL, r->y);
    return beside(r, &p, n, there ? d->y + first : NULL);
}

const sgfs_batch *sgfsi_rows_beside_drawn(sgfsi_rows *r, const int64_t *row, int64_t n) {
    const place p = {.row = row, .subset = r->data->subset};
    sgfsi_data_rows_pick(r->data, row, n, NULL, r->y);
    return beside(r, &p, n, NULL);
}

const sgfs_batch *sgfsi_rows_drawn(sgfsi_rows *r, const int64_t *row, int64_t n) {
    const place p = {.row = row, .subset = r->data->subset};
    sgfsi_data_rows_pick(r->data, row, n, host_room(r), r->y);
    return fill(r, &p, n);
}

const sgfs_batch *sgfsi_rows_dealt(sgfsi_rows *r, struct sgfsi_exchange *x, const int64_t *row,
                                   int64_t n, sgfs_err *err) {
    const place p = {.row = row, .subset = r->data->subset};
    if (sgfsi_exchange_rows(x, row, n, host_room(r), r->y, err) != SGFS_OK) return NULL;
    return fill(r, &p, n);
}

const sgfs_batch *sgfsi_rows_table(sgfsi_rows *r, const int64_t *row, int64_t n) {
    const place p = {.row = row};
    sgfsi_data_rows_table(r->data, row, n, host_room(r), r->y);
    return fill(r, &p, n);
}
