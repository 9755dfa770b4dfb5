/* SPDX-License-Identifier: MIT
 * dense.c: the covariance of scores in one dense block, and its factor kept up to date.
 *
 * The covariance is one syrk of the centred n x d scores. Centring first costs nothing (it happens
 * while the rows are formed from their factors) and avoids the cancellation of G'G - n gbar gbar'.
 * The decay of the running average rides along as syrk's beta, so A is passed over once.
 *
 * The block's columns need not be those of one block of the model: each block of scores is cut to
 * the columns it shares with ours, and only these are formed.
 *
 * An update is a rank-n change: X (n x d) the centred scores times sqrt(weight), and then
 *     decay L L' + X'X  =  (sqrt(decay) L)(sqrt(decay) L)' + X'X,
 * which the device does without forming the sum. A rank-n change is a rank-m change after another,
 * so rows go d at a time and the workspace stays below 3 d^2 + 64 d numbers, however large n is.
 */
#include "fisher/dense.h"

#include <math.h>

/* Rows row .. row + rows - 1 of the scores, columns first .. first + d - 1. */
typedef struct part {
    int64_t row, rows, first, d;
} part;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

int64_t sgfsi_dense_work(int64_t d, int64_t n) {
    int64_t m = least(n, d);
    return most(n * d, m * d + SGFS_UPDATE_WORK(d, m));
}

/* ---- the columns of the scores --------------------------------------------------------------- */

/* The first entry of row i at column `col` or behind it. */
static int64_t entry_from(const sgfs_csr *x, int64_t i, int64_t col) {
    int64_t low = x->start[i], high = x->start[i + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (x->col[middle] < col) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Columns from .. end - 1 of left (x) right for a sparse row i, minus the mean: the mean is
 * everywhere, the row here and there. */
static void form_sparse(const sgfs_score_block *b, int64_t i, int64_t from, int64_t end,
                        const double *gbar, double *g) {
    const sgfs_csr *x = b->right_sparse;
    for (int64_t j = from; j < end; j++) g[j - from] = gbar != NULL ? -gbar[j] : 0;
    for (int64_t r = from / b->cols; r * b->cols < end; r++) {
        int64_t begin = most(from, r * b->cols) - r * b->cols,
                stop = least(end, (r + 1) * b->cols) - r * b->cols;
        double left = b->left[i * b->rows + r], *out = g + r * b->cols - from;
        for (int64_t k = entry_from(x, i, begin); k < x->start[i + 1] && x->col[k] < stop; k++) {
            out[x->col[k]] += left * x->value[k];
        }
    }
}

/* g (rows x d) = this part of the scores, minus their mean. */
static void form(const sgfs_device *dev, const sgfs_scores *s, const double *gbar, part p,
                 double *g) {
    for (int64_t k = 0; k < s->blocks; k++) {
        const sgfs_score_block *b = &s->block[k];
        const double *mean = gbar != NULL ? gbar + b->offset : NULL;
        int64_t from = most(p.first - b->offset, 0);
        int64_t end = least(p.first + p.d - b->offset, b->rows * b->cols);
        if (from >= end) continue;
        double *to = g + (b->offset + from - p.first);
        if (b->dense == NULL && b->right_sparse != NULL) {
            for (int64_t i = 0; i < p.rows; i++, to += p.d)
                form_sparse(b, p.row + i, from, end, mean, to);
            continue;
        }
        sgfsi_outer o = sgfs_score_outer(b, p.rows);
        if (o.left != NULL) o.left += p.row * o.rows;
        o.right += p.row * o.cols;
        o.from = from;
        o.end = end;
        o.mean = mean;
        sgfsi_outer_of(dev, &o, to, p.d);
    }
}

/* ---- what is done with them ------------------------------------------------------------------ */

void sgfsi_dense_add(sgfsi_dense b, const sgfsi_change *c, double *work) {
    form(b.device, c->s, c->gbar, (part){0, c->s->n, b.first, b.d}, work);
    sgfsi_syrk_t(b.device, c->s->n, b.d, c->weight, work, c->decay, b.a);
}

void sgfsi_dense_scale(sgfsi_dense b, double factor) {
    sgfsi_combine(b.device, b.d, factor, b.a, 0, NULL, b.a);
}

int64_t sgfsi_dense_rows(sgfsi_dense b, const sgfsi_change *c, sgfsi_rank_update by, double *work) {
    double root = sqrt(c->weight), *X = work;
    for (int64_t row = 0; row < c->s->n; row += b.d) {
        int64_t rows = least(b.d, c->s->n - row);
        form(b.device, c->s, c->gbar, (part){row, rows, b.first, b.d}, X);
        sgfsi_times(b.device, rows * b.d, root, X);
        if (by(b.device, b.d, rows, b.a, X, X + rows * b.d) != 0) return -1;
    }
    return 0;
}

int64_t sgfsi_dense_update(sgfsi_dense b, const sgfsi_change *c, double *work) {
    sgfsi_dense_scale(b, sqrt(c->decay));
    return sgfsi_dense_rows(b, c, sgfsi_chol_update, work);
}
