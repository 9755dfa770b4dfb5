/* SPDX-License-Identifier: MIT
 * measure.c: one look at every cell before sampling: is it finite, what is the column's mean,
 * spread and range. Later, minibatches are taken on trust.
 */
#include <math.h>
#include <stdlib.h>

#include "base/ticker.h"
#include "data/data.h"

enum { BLOCK = 256 };

/* Mean, spread and range of one column, merged block by block (Chan, Golub, LeVeque 1979). */
typedef struct tally {
    double count, mean, ss, min, max;
} tally;

static void tally_block(tally *t, int64_t n, int64_t stride, const double *x) {
    double sum = 0, ss = 0, min = x[0], max = x[0];
    for (int64_t i = 0; i < n; i++) {
        double v = x[i * stride];
        sum += v;
        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) ss += (x[i * stride] - mean) * (x[i * stride] - mean);
    double total = t->count + (double)n, gap = mean - t->mean;
    if (t->count == 0 || min < t->min) t->min = min;
    if (t->count == 0 || max > t->max) t->max = max;
    t->ss += ss + gap * gap * t->count * (double)n / total;
    t->mean += gap * (double)n / total;
    t->count = total;
}

/* A constant column is told by its range: the mean of many 0.1 is not 0.1, and the spread that
 * rounding leaves would be blown up to 1 by standardising. */
static void tally_to_column(const tally *t, sgfsi_column *c) {
    bool constant = t->min == t->max;
    c->mean = constant ? t->min : t->mean;
    c->sd = constant ? 0 : sqrt(t->ss / (t->count - 1));
    c->min = t->min;
    c->max = t->max;
}

static int64_t count_bad(int64_t n, const double *x) {
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) bad += !isfinite(x[i]);
    return bad;
}

/* Name the first cell of the block that is not finite. first: the block's first row. */
static sgfs_status report_bad(const sgfs_data *d, int64_t first, int64_t n, const double *x,
                              const double *y, sgfs_err *err) {
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= d->features; j++) {
            bool is_target = j == d->features;
            if (isfinite(is_target ? y[i] : x[i * d->features + j])) continue;
            return sgfsi_fail(
                err, SGFS_EDATA,
                "%s: row %lld, column \"%s\" is not a finite number; remove such rows or "
                "fill them in first.",
                d->path, (long long)(first + i + 1),
                is_target ? d->target.name : d->feature[j].name);
        }
    }
    return SGFS_OK;
}

/* The intercept is left out while looking, so x is n x features. */
static sgfs_status look_through(sgfs_data *d, tally *t, double *x, double *y, sgfsi_ticker *ticker,
                                sgfs_err *err) {
    for (int64_t first = 0; first < d->N; first += BLOCK) {
        int64_t n = d->N - first < BLOCK ? d->N - first : BLOCK;
        sgfsi_data_rows_range(d, first, n, x, y);
        if (count_bad(n * d->features, x) + count_bad(n, y) > 0) {
            return report_bad(d, first, n, x, y, err);
        }
        for (int64_t j = 0; j < d->features; j++) tally_block(&t[j], n, d->features, x + j);
        tally_block(&t[d->features], n, 1, y);
        if (first / BLOCK % 256 == 255) sgfsi_tick(ticker, (double)first / (double)d->N);
    }
    for (int64_t j = 0; j < d->features; j++) tally_to_column(&t[j], &d->feature[j]);
    tally_to_column(&t[d->features], &d->target);
    return SGFS_OK;
}

sgfs_status sgfsi_data_measure(sgfs_data *d, const sgfsi_log *log, sgfs_err *err) {
    sgfsi_ticker ticker = sgfsi_ticker_start(log, "Looking through the columns");
    bool intercept = d->intercept;
    int64_t p = d->p;
    tally *t = calloc((size_t)d->features + 1, sizeof *t);
    double *x = malloc(sizeof *x * (size_t)(BLOCK * (d->features + 1)));
    sgfs_status status = SGFS_OK;
    if (t == NULL || x == NULL) {
        status = sgfsi_fail_memory(err, "the column statistics");
    } else {
        d->intercept = false;
        d->p = d->features;
        status = look_through(d, t, x, x + BLOCK * d->features, &ticker, err);
        d->intercept = intercept;
        d->p = p;
    }
    free(t);
    free(x);
    return status;
}
