/* SPDX-License-Identifier: MIT
 * spread.c: two looks at a block while it is in cache: the mean, then the squares around it.
 *
 *     mean <- mean + gap m/(n + m),   ss <- ss + ss' + gap^2 n m/(n + m),   gap = mean' - mean
 *
 * Within a block each column is summed from its first row to its last. Columns are taken GROUP at a
 * time side by side, so that the sums stay in registers or close by and the loops over columns become
 * vectors; the order in which one column's numbers are added does not depend on that.
 */
#include "data/spread.h"

#include <math.h>

enum { GROUP = 16, MOST_CELLS = 1 << 20 };

sgfsi_spread sgfsi_spread_empty(void) {
    return (sgfsi_spread){.min = INFINITY, .max = -INFINITY};
}

void sgfsi_spread_widen(sgfsi_spread *s, double v) {
    s->min = v < s->min ? v : s->min;
    s->max = v > s->max ? v : s->max;
}

void sgfsi_spread_merge(sgfsi_spread *s, double count, double rows, double mean, double ss) {
    double total = s->count + count, gap = mean - s->mean;
    s->ss += ss + gap * gap * s->count * count / total;
    s->mean += gap * count / total;
    s->count = total;
    s->rows += rows;
}

int64_t sgfsi_spread_rows(int64_t cols) {
    int64_t fit = MOST_CELLS / (cols > 0 ? cols : 1);
    return fit < 1 ? 1 : fit < SGFSI_SPREAD_BLOCK ? fit : SGFSI_SPREAD_BLOCK;
}

/* At most GROUP columns. */
static void add_group(sgfsi_spread *s, int64_t n, int64_t cols, int64_t stride, const double *x) {
    double sum[GROUP] = {0}, ss[GROUP] = {0}, min[GROUP], max[GROUP];
    for (int64_t j = 0; j < cols; j++) {
        min[j] = s[j].min;
        max[j] = s[j].max;
    }
    for (int64_t i = 0; i < n; i++) {
        const double *row = x + i * stride;
        for (int64_t j = 0; j < cols; j++) {
            sum[j] += row[j];
            min[j] = row[j] < min[j] ? row[j] : min[j];
            max[j] = row[j] > max[j] ? row[j] : max[j];
        }
    }
    for (int64_t j = 0; j < cols; j++) sum[j] /= (double)n; /* means from here on */
    for (int64_t i = 0; i < n; i++) {
        const double *row = x + i * stride;
        for (int64_t j = 0; j < cols; j++) ss[j] += (row[j] - sum[j]) * (row[j] - sum[j]);
    }
    for (int64_t j = 0; j < cols; j++) {
        s[j].min = min[j];
        s[j].max = max[j];
        sgfsi_spread_merge(&s[j], (double)n, (double)n, sum[j], ss[j]);
    }
}

void sgfsi_spread_block(sgfsi_spread *s, int64_t n, int64_t cols, int64_t stride, const double *x) {
    for (int64_t j = 0; j < cols; j += GROUP) {
        add_group(s + j, n, cols - j < GROUP ? cols - j : GROUP, stride, x + j);
    }
}
