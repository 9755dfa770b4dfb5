/* SPDX-License-Identifier: MIT
 * spread.c: two looks at a block while it is in cache: the mean, then the squares around it.
 *
 *     mean <- mean + gap m/(n + m),   ss <- ss + ss' + gap^2 n m/(n + m),   gap = mean' - mean
 *
 * Within a block each column is summed from its first row to its last. Columns are taken GROUP at a
 * time side by side, so that the sums stay in registers or close by and the loops over columns become
 * vectors; the order in which one column's numbers are added does not depend on that.
 */
#include "rows/spread.h"

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

typedef struct group {
    double sum[GROUP], ss[GROUP], min[GROUP], max[GROUP];
} group;

/* Called with a constant number of columns wherever that many numbers are there to be read. */
static inline void first_look(group *g, int64_t n, int64_t cols, int64_t stride, const double *x) {
    for (int64_t i = 0; i < n; i++, x += stride) {
        for (int64_t j = 0; j < cols; j++) {
            g->sum[j] += x[j];
            g->min[j] = x[j] < g->min[j] ? x[j] : g->min[j];
            g->max[j] = x[j] > g->max[j] ? x[j] : g->max[j];
        }
    }
}

static inline void second_look(group *g, int64_t n, int64_t cols, int64_t stride, const double *x,
                               const double *mean) {
    for (int64_t i = 0; i < n; i++, x += stride) {
        for (int64_t j = 0; j < cols; j++) g->ss[j] += (x[j] - mean[j]) * (x[j] - mean[j]);
    }
}

/* At most GROUP columns, of `left` numbers. Of narrow rows, GROUP numbers are read all the same, and
 * what the next row's come to is not used: loops of a fixed length are that much faster. Not of the
 * last rows, behind which nothing is left to read. */
static void add_group(sgfsi_spread *s, int64_t n, int64_t cols, int64_t stride, int64_t left,
                      const double *x) {
    group g = {{0}, {0}, {0}, {0}};
    double mean[GROUP] = {0};
    int64_t safe = left >= GROUP ? (left - GROUP) / stride + 1 : 0;
    if (safe > n) safe = n;
    for (int64_t j = 0; j < cols; j++) {
        g.min[j] = s[j].min;
        g.max[j] = s[j].max;
    }
    first_look(&g, safe, GROUP, stride, x);
    first_look(&g, n - safe, cols, stride, x + safe * stride);
    for (int64_t j = 0; j < cols; j++) mean[j] = g.sum[j] / (double)n;
    second_look(&g, safe, GROUP, stride, x, mean);
    second_look(&g, n - safe, cols, stride, x + safe * stride, mean);
    for (int64_t j = 0; j < cols; j++) {
        s[j].min = g.min[j];
        s[j].max = g.max[j];
        sgfsi_spread_merge(&s[j], (double)n, (double)n, mean[j], g.ss[j]);
    }
}

void sgfsi_spread_block(sgfsi_spread *s, int64_t n, int64_t cols, int64_t stride, const double *x) {
    for (int64_t j = 0; j < cols; j += GROUP) {
        int64_t left = (n - 1) * stride + cols - j;
        add_group(s + j, n, cols - j < GROUP ? cols - j : GROUP, stride, left, x + j);
    }
}
