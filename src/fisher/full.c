/* SPDX-License-Identifier: MIT
 * full.c: a full symmetric D x D matrix, row-major, of which the lower triangle is kept.
 *
 * The covariance of scores is one syrk of the centred n x D score matrix. Centring first costs
 * nothing (it happens while the rows are formed from their factors) and avoids the cancellation of
 * G'G - n gbar gbar'. The decay of the running average rides along as syrk's beta, so A is passed
 * over once.
 */
#include <stdlib.h>
#include <string.h>

#include "fisher/fisher.h"

static int64_t size(const sgfs_layout *layout) {
    return layout->D * layout->D;
}

static int64_t work(const sgfs_layout *layout, int64_t n) {
    return n * layout->D;
}

static void zero(sgfs_sym *A) {
    memset(A->a, 0, (size_t)size(A->layout) * sizeof *A->a);
}

/* Columns of one block for row i: g (rows*cols numbers), minus the mean. */
static void form_row(const sgfs_score_block *b, int64_t i, const double *gbar, double *restrict g) {
    int64_t d = b->rows * b->cols;
    if (b->dense != NULL) {
        const double *restrict from = b->dense + i * d;
        for (int64_t j = 0; j < d; j++) g[j] = from[j] - (gbar != NULL ? gbar[j] : 0);
        return;
    }
    for (int64_t r = 0; r < b->rows; r++) {
        double left = b->left[i * b->rows + r];
        const double *restrict right = b->right + i * b->cols;
        const double *mean = gbar != NULL ? gbar + r * b->cols : NULL;
        double *restrict out = g + r * b->cols;
        if (mean == NULL) {
            for (int64_t c = 0; c < b->cols; c++) out[c] = left * right[c];
        } else {
            for (int64_t c = 0; c < b->cols; c++) out[c] = left * right[c] - mean[c];
        }
    }
}

static void add_cov(sgfs_sym *A, double decay, double weight, const sgfs_scores *s,
                    const double *gbar, double *g) {
    for (int64_t k = 0; k < s->blocks; k++) {
        const sgfs_score_block *b = &s->block[k];
        const double *mean = gbar != NULL ? gbar + b->offset : NULL;
        for (int64_t i = 0; i < s->n; i++) form_row(b, i, mean, g + i * A->D + b->offset);
    }
    A->be->syrk_t(s->n, A->D, weight, g, decay, A->a);
}

static void combine(sgfs_sym *A, double b, const sgfs_sym *B, double c, const sgfs_sym *C) {
    int64_t D = A->D;
    for (int64_t i = 0; i < D; i++) {
        double *to = A->a + i * D;
        const double *from = B->a + i * D, *other = C != NULL ? C->a + i * D : NULL;
        if (other == NULL) {
            for (int64_t j = 0; j <= i; j++) to[j] = b * from[j];
        } else {
            for (int64_t j = 0; j <= i; j++) to[j] = b * from[j] + c * other[j];
        }
    }
}

static void add_diag(sgfs_sym *A, double c, const double *d) {
    for (int64_t i = 0; i < A->D; i++) A->a[i * A->D + i] += c * (d != NULL ? d[i] : 1.0);
}

static void from_dense(sgfs_sym *A, const double *dense) {
    memcpy(A->a, dense, (size_t)size(A->layout) * sizeof *dense);
}

static int64_t factor(sgfs_sym *A) {
    return A->be->potrf(A->D, A->a);
}

static void solve(const sgfs_sym *L, bool transposed, double *x) {
    L->be->trsv(L->D, L->a, transposed, x);
}

static void mul_factor(const sgfs_sym *L, bool transposed, double *x) {
    L->be->trmv(L->D, L->a, transposed, x);
}

static void mul(const sgfs_sym *A, const double *x, double *y) {
    A->be->symv(A->D, A->a, x, y);
}

static double trace(const sgfs_sym *A) {
    double sum = 0;
    for (int64_t i = 0; i < A->D; i++) sum += A->a[i * A->D + i];
    return sum;
}

static void diag(const sgfs_sym *A, double *d) {
    for (int64_t i = 0; i < A->D; i++) d[i] = A->a[i * A->D + i];
}

const sgfs_fisher_kind sgfs_fisher_full = {
    .name = "full",
    .help = "the whole matrix: right for correlated posteriors, O(n D^2 + D^3) per update",
    .stan_metric = "dense_e",
    .factored = true,
    .size = size,
    .work = work,
    .zero = zero,
    .add_cov = add_cov,
    .combine = combine,
    .add_diag = add_diag,
    .from_dense = from_dense,
    .factor = factor,
    .solve = solve,
    .mul_factor = mul_factor,
    .mul = mul,
    .trace = trace,
    .diag = diag,
};
