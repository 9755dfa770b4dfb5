/* SPDX-License-Identifier: MIT
 * column_stats.c: one look at every cell before sampling: is it finite, what is the column's mean,
 * spread and range. Later, minibatches are taken on trust.
 *
 * A block of rows is looked at twice while it is in cache: for the mean, then for the squares
 * around it; blocks are merged (base/moments.h). Within a block each column is summed from its
 * first row to its last. Columns are taken GROUP at a time side by side, so that the sums stay in
 * registers or close by and the loops over columns become vectors; the order in which one column's
 * numbers are added does not depend on that.
 *
 * A row counts by its weight w; rows of weight 0 must be readable, but are not there for the
 * statistics. Sparse columns cost two passes over their entries, zeros being put in afterwards:
 *     mean = sum w x / W,   ss = sum over entries w (x - mean)^2 + (W - sum over entries w) mean^2.
 */
#include "rows/column_stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/moments.h"
#include "base/number.h"
#include "base/ticker.h"
#include "rows/far.h"
#include "rows/pages.h"

enum { BLOCK = SGFSI_STATS_BLOCK, GROUP = 16, MOST_CELLS = 1 << 20 };

/* ---- blocks of rows -------------------------------------------------------------------------- */

sgfsi_column_stats sgfsi_column_stats_empty(void) {
    return (sgfsi_column_stats){.min = INFINITY, .max = -INFINITY};
}

bool sgfsi_column_stats_binary(const sgfsi_column_stats *s) {
    double expected = s->count * s->mean * (1 - s->mean);
    return s->min == 0 && s->max == 1 && fabs(s->ss - expected) <= 1e-9 * expected;
}

int64_t sgfsi_column_stats_rows(int64_t cols) {
    int64_t fit = MOST_CELLS / (cols > 0 ? cols : 1);
    return fit < 1 ? 1 : fit < BLOCK ? fit : BLOCK;
}

static void widen(sgfsi_column_stats *s, double v) {
    s->min = v < s->min ? v : s->min;
    s->max = v > s->max ? v : s->max;
}

/* Put in `rows` rows of weight `count` in all, with their mean and sum of squares around it. */
static void merge(sgfsi_column_stats *s, double count, double rows, double mean, double ss) {
    sgfsi_moments_merge(s->count, &s->mean, &s->ss, count, mean, ss);
    s->count += count;
    s->rows += rows;
}

typedef struct group {
    double sum[GROUP], ss[GROUP], min[GROUP], max[GROUP];
} group;

/* Called with a constant number of columns wherever that many numbers are there to be read. */
static inline void sum_group(group *g, int64_t n, int64_t cols, int64_t stride, const double *x) {
    for (int64_t i = 0; i < n; i++, x += stride) {
        for (int64_t j = 0; j < cols; j++) {
            g->sum[j] += x[j];
            g->min[j] = x[j] < g->min[j] ? x[j] : g->min[j];
            g->max[j] = x[j] > g->max[j] ? x[j] : g->max[j];
        }
    }
}

static inline void square_group(group *g, int64_t n, int64_t cols, int64_t stride, const double *x,
                                const double *mean) {
    for (int64_t i = 0; i < n; i++, x += stride) {
        for (int64_t j = 0; j < cols; j++) g->ss[j] += (x[j] - mean[j]) * (x[j] - mean[j]);
    }
}

/* GROUP columns after another, with `left` numbers to read. Of narrow rows, GROUP numbers are
 * read all the same, and what the next row's come to is not used: loops of a fixed length are
 * that much faster. Not of the last rows, behind which nothing is left to read. */
void sgfsi_column_stats_add(sgfsi_column_stats *s, int64_t n, int64_t cols, const double *x) {
    for (int64_t at = 0; at < cols; at += GROUP) {
        sgfsi_column_stats *to = s + at;
        const double *from = x + at;
        group g = {{0}, {0}, {0}, {0}};
        double mean[GROUP] = {0};
        int64_t left = n * cols - at, some = cols - at < GROUP ? cols - at : GROUP;
        int64_t safe = left >= GROUP ? (left - GROUP) / cols + 1 : 0;
        if (safe > n) safe = n;
        for (int64_t j = 0; j < some; j++) {
            g.min[j] = to[j].min;
            g.max[j] = to[j].max;
        }
        sum_group(&g, safe, GROUP, cols, from);
        sum_group(&g, n - safe, some, cols, from + safe * cols);
        for (int64_t j = 0; j < some; j++) mean[j] = g.sum[j] / (double)n;
        square_group(&g, safe, GROUP, cols, from, mean);
        square_group(&g, n - safe, some, cols, from + safe * cols, mean);
        for (int64_t j = 0; j < some; j++) {
            to[j].min = g.min[j];
            to[j].max = g.max[j];
            merge(&to[j], (double)n, (double)n, mean[j], g.ss[j]);
        }
    }
}

/* ---- every row ------------------------------------------------------------------------------- */

static int64_t count_bad(int64_t n, const double *x) {
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) bad += !isfinite(x[i]);
    return bad;
}

/* The block that starts with row `first` has cells that are not finite: name the first of them, and
 * count them here and in all blocks behind. x, y: room for a block, which is filled; x may be NULL.
 */
static sgfs_status report_bad(const sgfs_data *d, int64_t first, int64_t block, double *x,
                              double *y, sgfs_err *err) {
    sgfsi_pages visit = {0};
    char where[320] = "", more[80] = "";
    const char *column = "";
    int64_t cells = 0, features = x != NULL ? d->features : 0;
    for (; first < d->N; first += block) {
        int64_t n = d->N - first < block ? d->N - first : block;
        if (sgfsi_pages_range(&visit, d, first, n, NULL) != SGFS_OK) break;
        sgfsi_data_rows_range(d, first, n, x, y);
        for (int64_t k = 0; k < n * (features + 1); k++) {
            int64_t i = k / (features + 1), j = k % (features + 1);
            bool is_target = j == features;
            if (isfinite(is_target ? y[i] : x[i * features + j]) || cells++ > 0) continue;
            sgfsi_data_where(d, first + i, where, sizeof where);
            column = is_target ? d->target.name : d->feature[j].name;
        }
    }
    if (cells > 1) snprintf(more, sizeof more, " (the first of %lld such cells)", (long long)cells);
    return sgfsi_fail_finite(err, "%s, column \"%s\"%s", where, column, more);
}

static void add_columns(const sgfs_data *d, sgfsi_column_stats *t, int64_t n, int64_t cols,
                        const double *x, const double *w) {
    if (d->weight == NULL) sgfsi_column_stats_add(t, n, cols, x);
    for (int64_t j = 0; d->weight != NULL && j < cols; j++) {
        double sum = 0, ss = 0, count = 0, rows = 0;
        for (int64_t i = 0; i < n; i++) {
            if (w[i] == 0) continue;
            widen(&t[j], x[i * cols + j]);
            rows++;
            count += w[i];
            sum += w[i] * x[i * cols + j];
        }
        double mean = sum / count;
        for (int64_t i = 0; rows > 0 && i < n; i++)
            ss += w[i] * (x[i * cols + j] - mean) * (x[i * cols + j] - mean);
        if (rows > 0) merge(&t[j], count, rows, mean, ss);
    }
}

static int64_t block_rows(const sgfs_data *d) {
    return d->table.type == SGFSI_CSR ? BLOCK : sgfsi_column_stats_rows(d->table.cols);
}

/* x: room for a block of rows; NULL: the target alone. */
static sgfs_status look_through(const sgfs_data *d, sgfsi_column_stats *t, double *x, double *y,
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
        if (count_bad(cells, x) + count_bad(n, y) > 0)
            return report_bad(d, first, block, x, y, err);
        if (d->weight != NULL) sgfsi_data_weights(d, first, n, weight);
        if (x != NULL) add_columns(d, t, n, d->features, x, weight);
        add_columns(d, &t[d->features], n, 1, y, weight);
        status =
            blocks % 256 == 255 ? sgfsi_tick(ticker, (double)first / (double)d->N, err) : SGFS_OK;
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

/* ---- sparse columns -------------------------------------------------------------------------- */

/* Every entry of every row that counts: for the sums (which stand in `mean` until they are
 * divided), or for the squares around the mean. */
static void each_entry(const sgfs_data *d, sgfsi_column_stats *t, bool squares) {
    const sgfs_csr *from = &d->table.csr;
    for (int64_t i = 0; i < d->N; i++) {
        int64_t row = sgfsi_data_table_row(d, i);
        double w = d->weight != NULL ? d->weight[row] : 1;
        if (w == 0) continue;
        for (int64_t k = from->start[row]; k < from->start[row + 1]; k++) {
            sgfsi_column_stats *s = &t[from->col[k]];
            double v = from->value[k];
            if (squares) {
                s->ss += w * (v - s->mean) * (v - s->mean);
                continue;
            }
            widen(s, v);
            s->count += w;
            s->rows++;
            s->mean += w * v;
        }
    }
}

/* all: the target's, which has seen every row. */
static void add_sparse(const sgfs_data *d, sgfsi_column_stats *t, const sgfsi_column_stats *all) {
    each_entry(d, t, false);
    for (int64_t j = 0; j < d->features; j++) {
        d->feature[j].full = t[j].rows == all->rows;
        double zeros = t[j].rows < all->rows ? all->count - t[j].count : 0;
        if (t[j].rows < all->rows) widen(&t[j], 0);
        t[j].mean /= all->count;
        t[j].ss = zeros * t[j].mean * t[j].mean;
        t[j].count = all->count;
        t[j].rows = all->rows;
    }
    each_entry(d, t, true);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* A constant column is known by its range: the mean of many 0.1 is not 0.1, and the spread that
 * rounding leaves would be blown up to 1 by standardising. */
static void fill_column(const sgfsi_column_stats *t, sgfsi_column *c) {
    bool constant = t->min == t->max;
    double divisor = t->count == t->rows ? t->count - 1 : t->count * (t->rows - 1) / t->rows;
    c->mean = constant ? t->min : t->mean;
    c->sd = constant ? 0 : sqrt(t->ss / divisor);
    c->min = t->min;
    c->max = t->max;
    c->binary = sgfsi_column_stats_binary(t);
}

/* Spreads whose squares, summed over rows and multiplied with each other, are no numbers. */
static sgfs_status check_spread(const sgfs_data *d, const sgfsi_column *c, sgfs_err *err) {
    const double most = 1e100;
    if (c->min == c->max || (c->sd >= 1 / most && c->sd <= most)) return SGFS_OK;
    return sgfsi_fail(
        err, SGFS_EDATA,
        "%s: column \"%.100s\" reaches from %s to %s, too %s to calculate with squares: "
        "multiply it by a power of ten, or leave out what stands for missing values.",
        d->path, c->name, SGFSI_DIGITS(c->min, 4), SGFSI_DIGITS(c->max, 4),
        c->sd < 1 ? "little" : "far");
}

static sgfs_status check_spreads(const sgfs_data *d, sgfs_err *err) {
    sgfs_status status = d->has_target ? check_spread(d, &d->target, err) : SGFS_OK;
    for (int64_t j = 0; j < d->features && status == SGFS_OK; j++)
        status = check_spread(d, &d->feature[j], err);
    return status;
}

sgfs_status sgfsi_data_measure(sgfs_data *d, const sgfsi_log *log, sgfs_err *err) {
    bool said =
        d->table.stats != NULL && d->subset == NULL && d->weight == NULL && d->target_col >= 0;
    if (said) { /* a packed file was looked through when it was written: every cell finite */
        sgfsi_column *c = d->feature;
        for (int64_t r = 0; r < d->spans; r++) {
            const sgfsi_column_stats *stats = &d->table.stats[d->span[r].first];
            for (int64_t j = 0; j < d->span[r].count; j++, c++) {
                fill_column(&stats[j], c);
                c->full = true;
            }
        }
        fill_column(&d->table.stats[d->target_col], &d->target);
        return check_spreads(d, err);
    }
    sgfsi_ticker ticker = sgfsi_ticker_start(log, "Looking through the columns");
    bool intercept = d->intercept, sparse = d->table.type == SGFSI_CSR;
    bool here = !sparse && !sgfsi_data_is_far(d);
    int64_t p = d->p, cells = here ? block_rows(d) * d->features : 0;
    sgfsi_column_stats *t = malloc(((size_t)d->features + 1) * sizeof *t);
    double *room = malloc(sizeof *room * (size_t)(cells + BLOCK));
    sgfs_status status = SGFS_OK;
    if (t == NULL || room == NULL) {
        status = sgfsi_fail_memory(err, "the column statistics");
    } else {
        for (int64_t j = 0; j <= d->features; j++) t[j] = sgfsi_column_stats_empty();
        d->intercept = false; /* left out while looking, so that x is n x features */
        d->p = d->features;
        status = look_through(d, t, here ? room : NULL, room + cells, &ticker, err);
        d->intercept = intercept;
        d->p = p;
    }
    if (status == SGFS_OK && sgfsi_data_is_far(d))
        status = sgfsi_far_measure(d, block_rows(d), &t[d->features], t, err);
    if (status == SGFS_OK) {
        for (int64_t j = 0; j < d->features; j++) d->feature[j].full = true;
        if (sparse) add_sparse(d, t, &t[d->features]);
        for (int64_t j = 0; j < d->features; j++) fill_column(&t[j], &d->feature[j]);
        fill_column(&t[d->features], &d->target);
    }
    free(t);
    free(room);
    return status == SGFS_OK ? check_spreads(d, err) : status;
}
