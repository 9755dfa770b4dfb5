/* SPDX-License-Identifier: MIT
 * column_stats.c: one look at every cell before sampling: is it finite, what is the column's mean,
 * spread and range. Later, minibatches are taken on trust.
 *
 * A row counts by its weight w; rows of weight 0 must be readable, but are not there for the
 * statistics. Sparse columns cost two walks over their entries, zeros being put in afterwards:
 *     mean = sum w x / W,   ss = sum over entries w (x - mean)^2 + (W - sum over entries w) mean^2.
 */
#include <math.h>
#include <stdlib.h>

#include "base/ticker.h"
#include "rows/data.h"
#include "rows/pages.h"
#include "rows/spread.h"

enum { BLOCK = SGFSI_SPREAD_BLOCK };

static void add_weighted(sgfsi_spread *t, int64_t n, int64_t stride, const double *x,
                         const double *w) {
    double sum = 0, ss = 0, count = 0, rows = 0;
    for (int64_t i = 0; i < n; i++) {
        if (w[i] == 0) continue;
        sgfsi_spread_widen(t, x[i * stride]);
        rows++;
        count += w[i];
        sum += w[i] * x[i * stride];
    }
    if (rows == 0) return;
    double mean = sum / count;
    for (int64_t i = 0; i < n; i++) ss += w[i] * (x[i * stride] - mean) * (x[i * stride] - mean);
    sgfsi_spread_merge(t, count, rows, mean, ss);
}

/* A constant column is told by its range: the mean of many 0.1 is not 0.1, and the spread that
 * rounding leaves would be blown up to 1 by standardising. */
static void fill_column(const sgfsi_spread *t, sgfsi_column *c) {
    bool constant = t->min == t->max;
    double divisor = t->count == t->rows ? t->count - 1 : t->count * (t->rows - 1) / t->rows;
    c->mean = constant ? t->min : t->mean;
    c->sd = constant ? 0 : sqrt(t->ss / divisor);
    c->min = t->min;
    c->max = t->max;
}

static int64_t count_bad(int64_t n, const double *x) {
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) bad += !isfinite(x[i]);
    return bad;
}

/* Name the first cell of the block that is not finite. first: the block's first row; x may be NULL.
 */
static sgfs_status report_bad(const sgfs_data *d, int64_t first, int64_t n, const double *x,
                              const double *y, sgfs_err *err) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = x != NULL ? 0 : d->features; j <= d->features; j++) {
            bool is_target = j == d->features;
            if (isfinite(is_target ? y[i] : x[i * d->features + j])) continue;
            char where[320];
            int64_t row = d->subset != NULL ? d->subset[first + i] : first + i;
            return sgfsi_fail(
                err, SGFS_EDATA,
                "%s, column \"%s\" is not a finite number; remove such rows or fill them in "
                "first.",
                sgfsi_table_where(&d->table, d->path, row, where, sizeof where),
                is_target ? d->target.name : d->feature[j].name);
        }
    }
    return SGFS_OK;
}

static void add_columns(const sgfs_data *d, sgfsi_spread *t, int64_t n, int64_t cols,
                        const double *x, const double *weight) {
    if (d->weight == NULL) sgfsi_spread_block(t, n, cols, cols, x);
    for (int64_t j = 0; d->weight != NULL && j < cols; j++)
        add_weighted(&t[j], n, cols, x + j, weight);
}

static int64_t block_rows(const sgfs_data *d) {
    return d->table.type == SGFSI_CSR ? BLOCK : sgfsi_spread_rows(d->table.cols);
}

/* The intercept is left out while looking, so x is n x features; NULL: the target alone. */
static sgfs_status look_through(const sgfs_data *d, sgfsi_spread *t, double *x, double *y,
                                sgfsi_ticker *ticker, sgfs_err *err) {
    double weight[BLOCK];
    const int64_t block = block_rows(d);
    sgfsi_pages visit = {0};
    for (int64_t first = 0, blocks = 0; first < d->N; first += block, blocks++) {
        int64_t n = d->N - first < block ? d->N - first : block;
        sgfs_status status = sgfsi_pages_range(&visit, d, first, n, err);
        if (status != SGFS_OK) return status;
        sgfsi_data_rows_range(d, first, n, x, y);
        int64_t cells = x != NULL ? n * d->features : 0;
        if (count_bad(cells, x) + count_bad(n, y) > 0) return report_bad(d, first, n, x, y, err);
        if (d->weight != NULL) sgfsi_data_weights(d, first, n, weight);
        if (x != NULL) add_columns(d, t, n, d->features, x, weight);
        add_columns(d, &t[d->features], n, 1, y, weight);
        if (blocks % 256 == 255) sgfsi_tick(ticker, (double)first / (double)d->N);
    }
    return SGFS_OK;
}

/* ---- sparse columns -------------------------------------------------------------------------- */

typedef void (*entry_fn)(sgfsi_spread *t, double w, double v);

static void first_look(sgfsi_spread *t, double w, double v) {
    sgfsi_spread_widen(t, v);
    t->count += w;
    t->rows++;
    t->mean += w * v; /* their sum, for now */
}

static void second_look(sgfsi_spread *t, double w, double v) {
    t->ss += w * (v - t->mean) * (v - t->mean);
}

/* Every entry of every row that counts. */
static void walk(const sgfs_data *d, sgfsi_spread *t, entry_fn look) {
    const sgfs_csr *from = &d->table.csr;
    for (int64_t i = 0; i < d->N; i++) {
        int64_t row = d->subset != NULL ? d->subset[i] : i;
        double w = d->weight != NULL ? d->weight[row] : 1;
        if (w == 0) continue;
        for (int64_t k = from->start[row]; k < from->start[row + 1]; k++) {
            look(&t[from->col[k]], w, from->value[k]);
        }
    }
}

/* all: the target's tally, which has seen every row. */
static void walk_through(const sgfs_data *d, sgfsi_spread *t, const sgfsi_spread *all) {
    walk(d, t, first_look);
    for (int64_t j = 0; j < d->features; j++) {
        double zeros = t[j].rows < all->rows ? all->count - t[j].count : 0;
        if (t[j].rows < all->rows) sgfsi_spread_widen(&t[j], 0);
        t[j].mean /= all->count;
        t[j].ss = zeros * t[j].mean * t[j].mean;
        t[j].count = all->count;
        t[j].rows = all->rows;
    }
    walk(d, t, second_look);
}

/* ---- what the file says ---------------------------------------------------------------------- */

/* A packed file was looked through when it was written: every cell finite, these statistics. */
static bool is_told(const sgfs_data *d) {
    return d->table.told != NULL && d->subset == NULL && d->weight == NULL && d->target_col >= 0;
}

static void believe(const sgfsi_column_stats *told, sgfsi_column *c) {
    const sgfsi_spread s = {.count = told->rows,
                            .rows = told->rows,
                            .mean = told->mean,
                            .ss = told->ss,
                            .min = told->min,
                            .max = told->max};
    fill_column(&s, c);
}

static void believe_all(sgfs_data *d) {
    sgfsi_column *c = d->feature;
    for (int64_t r = 0; r < d->runs; r++) {
        for (int64_t j = 0; j < d->run[r].count; j++)
            believe(&d->table.told[d->run[r].first + j], c++);
    }
    believe(&d->table.told[d->target_col], &d->target);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static sgfs_status measure(sgfs_data *d, sgfsi_spread *t, double *x, double *y,
                           sgfsi_ticker *ticker, sgfs_err *err) {
    for (int64_t j = 0; j <= d->features; j++) t[j] = sgfsi_spread_empty();
    sgfs_status status = look_through(d, t, x, y, ticker, err);
    if (status != SGFS_OK) return status;
    if (d->table.type == SGFSI_CSR) walk_through(d, t, &t[d->features]);
    for (int64_t j = 0; j < d->features; j++) fill_column(&t[j], &d->feature[j]);
    fill_column(&t[d->features], &d->target);
    return SGFS_OK;
}

sgfs_status sgfsi_data_measure(sgfs_data *d, const sgfsi_log *log, sgfs_err *err) {
    if (is_told(d)) return believe_all(d), SGFS_OK;
    sgfsi_ticker ticker = sgfsi_ticker_start(log, "Looking through the columns");
    bool intercept = d->intercept, sparse = d->table.type == SGFSI_CSR;
    int64_t p = d->p, cells = sparse ? 0 : block_rows(d) * d->features;
    sgfsi_spread *t = malloc(((size_t)d->features + 1) * sizeof *t);
    double *room = malloc(sizeof *room * (size_t)(cells + BLOCK));
    sgfs_status status = SGFS_OK;
    if (t == NULL || room == NULL) {
        status = sgfsi_fail_memory(err, "the column statistics");
    } else {
        d->intercept = false;
        d->p = d->features;
        status = measure(d, t, sparse ? NULL : room, room + cells, &ticker, err);
        d->intercept = intercept;
        d->p = p;
    }
    free(t);
    free(room);
    return status;
}
