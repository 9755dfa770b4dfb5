/* SPDX-License-Identifier: MIT
 * diag.c: a diagonal matrix, D numbers. "Factor" is the square root, "solve" a division.
 *
 * For factored blocks the sum of squared scores is one of squared factors, so n x D is not formed
 * (nor are the zeros of sparse rows), and sum_i (g - gbar)^2 = sum_i g^2 - n gbar^2.
 */
#include <math.h>
#include <string.h>

#include "fisher/fisher.h"

static int64_t size(const sgfs_layout *layout) {
    return layout->D;
}

/* Squared factors of a block of several rows are made for some rows of the batch at a time: D + 1
 * numbers do for one (rows + cols <= rows*cols + 1 <= D + 1), and many more would not stay in
 * cache.
 */
enum { MOST_ROOM = 1 << 18 };

static int64_t room_for_squares(int64_t D, int64_t n) {
    int64_t all = n * (D + 1), most = D + 1 > MOST_ROOM ? D + 1 : MOST_ROOM;
    return all < most ? all : most;
}

/* D sums, then the squares. */
static int64_t work(const sgfs_layout *layout, int64_t n) {
    return layout->D + room_for_squares(layout->D, n);
}

static void zero(sgfs_sym *A) {
    memset(A->store, 0, (size_t)A->D * sizeof *A->store);
}

static void square(int64_t n, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] * x[i];
}

/* Sparse rows: O(rows*cols + entries). */
static void sum_sparse(const sgfs_score_block *b, int64_t n, double *ss) {
    const sgfs_csr *x = b->right_sparse;
    memset(ss, 0, (size_t)(b->rows * b->cols) * sizeof *ss);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t r = 0; r < b->rows; r++) {
            double left = b->left[i * b->rows + r], *to = ss + r * b->cols;
            left *= left;
            for (int64_t k = x->start[i]; k < x->start[i + 1]; k++) {
                to[x->col[k]] += left * (x->value[k] * x->value[k]);
            }
        }
    }
}

static void add_cov(sgfs_sym *A, double decay, double weight, const sgfs_scores *s,
                    const double *gbar, double *room) {
    double *ss = room, n = (double)s->n;
    sgfsi_outer o[SGFS_BLOCKS_TOGETHER];
    for (int64_t k = 0; k < s->blocks;) {
        int64_t count = sgfs_scores_together(s, k, o);
        double *to = ss + s->block[k].offset;
        if (count > 0)
            sgfsi_outer_squares(A->device, count, o, room + A->D, room_for_squares(A->D, s->n), to);
        else sum_sparse(&s->block[k], s->n, to);
        k += count > 0 ? count : 1;
    }
    for (int64_t j = 0; j < A->D; j++) {
        double centred = gbar != NULL ? ss[j] - n * gbar[j] * gbar[j] : ss[j];
        /* rounding may leave a tiny negative number where the true variance is 0; NaN stays NaN */
        A->store[j] = decay * A->store[j] + weight * (centred < 0 ? 0 : centred);
    }
}

static void combine(sgfs_sym *A, double b, const sgfs_sym *B, double c, const sgfs_sym *C) {
    for (int64_t j = 0; j < A->D; j++)
        A->store[j] = b * B->store[j] + (C != NULL ? c * C->store[j] : 0);
}

static void add_diag(sgfs_sym *A, double c, const double *d) {
    for (int64_t j = 0; j < A->D; j++) A->store[j] += c * (d != NULL ? d[j] : 1.0);
}

static void from_dense(sgfs_sym *A, const double *dense) {
    for (int64_t j = 0; j < A->D; j++) A->store[j] = dense[j * A->D + j];
}

static int64_t factor(sgfs_sym *A) {
    for (int64_t j = 0; j < A->D; j++) {
        if (!(A->store[j] > 0)) return j + 1;
        A->store[j] = sqrt(A->store[j]);
    }
    return 0;
}

/* There is nothing to save: back to the squares, and their roots again. */
static void unfactor(sgfs_sym *L) {
    square(L->D, L->store, L->store);
}

static int64_t update(sgfs_sym *L, double decay, double weight, const sgfs_scores *s,
                      const double *gbar, double *room) {
    unfactor(L);
    add_cov(L, decay, weight, s, gbar, room);
    return factor(L) == 0 ? 0 : -1;
}

static void solve(const sgfs_sym *L, bool transposed, double *x) {
    (void)transposed;
    for (int64_t j = 0; j < L->D; j++) x[j] /= L->store[j];
}

static void mul_factor(const sgfs_sym *L, bool transposed, double *x) {
    (void)transposed;
    for (int64_t j = 0; j < L->D; j++) x[j] *= L->store[j];
}

static void mul(const sgfs_sym *A, const double *x, double *y) {
    for (int64_t j = 0; j < A->D; j++) y[j] = A->store[j] * x[j];
}

static double trace(const sgfs_sym *A) {
    double sum = 0;
    for (int64_t j = 0; j < A->D; j++) sum += A->store[j];
    return sum;
}

static void diag(const sgfs_sym *A, double *d) {
    memcpy(d, A->store, (size_t)A->D * sizeof *d);
}

const sgfs_fisher_kind sgfs_fisher_diag = {
    .name = "diag",
    .help = "the diagonal: O(n D), approximate where parameters are correlated",
    .stan_metric = "diag_e",
    .factored = true,
    .host = true,
    .size = size,
    .work = work,
    SGFSI_FISHER_SUMS,
    SGFSI_FISHER_FACTOR,
};
