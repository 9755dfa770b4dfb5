/* SPDX-License-Identifier: MIT
 * full.c: a full symmetric D x D matrix, row-major, of which the lower triangle is kept. The work
 * with scores (their covariance, and the factor changed by a batch) is that of dense.c.
 */
#include <string.h>

#include "fisher/dense.h"
#include "fisher/fisher.h"

static int64_t size(const sgfs_layout *layout) {
    return layout->D * layout->D;
}

static int64_t work(const sgfs_layout *layout, int64_t n) {
    return sgfsi_dense_work(layout->D, n);
}

static void zero(sgfs_sym *A) {
    memset(A->a, 0, (size_t)(A->D * A->D) * sizeof *A->a);
}

static sgfsi_dense whole(const sgfs_sym *A) {
    return (sgfsi_dense){.device = A->device, .first = 0, .d = A->D, .a = A->a};
}

static void add_cov(sgfs_sym *A, double decay, double weight, const sgfs_scores *s,
                    const double *gbar, double *room) {
    const sgfsi_change c = {decay, weight, s, gbar};
    sgfsi_dense_add(whole(A), &c, room);
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
    memcpy(A->a, dense, (size_t)(A->D * A->D) * sizeof *dense);
}

static int64_t factor(sgfs_sym *A) {
    return sgfsi_potrf(A->device, A->D, A->a);
}

static void unfactor(sgfs_sym *L) {
    sgfsi_unpotrf(L->device, L->D, L->a);
}

static int64_t update(sgfs_sym *L, double decay, double weight, const sgfs_scores *s,
                      const double *gbar, double *room) {
    const sgfsi_change c = {decay, weight, s, gbar};
    return sgfsi_dense_update(whole(L), &c, room);
}

static void solve(const sgfs_sym *L, bool transposed, double *x) {
    sgfsi_trsv(L->device, L->D, L->a, transposed, x);
}

static void mul_factor(const sgfs_sym *L, bool transposed, double *x) {
    sgfsi_trmv(L->device, L->D, L->a, transposed, x);
}

static void mul(const sgfs_sym *A, const double *x, double *y) {
    sgfsi_symv(A->device, A->D, A->a, x, y);
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
    .unfactor = unfactor,
    .update = update,
    .solve = solve,
    .mul_factor = mul_factor,
    .mul = mul,
    .trace = trace,
    .diag = diag,
};
