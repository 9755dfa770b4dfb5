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
    sgfsi_zero(A->device, A->D * A->D, A->a);
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
    sgfsi_combine(A->device, A->D, b, B->a, c, C != NULL ? C->a : NULL, A->a);
}

static void add_diag(sgfs_sym *A, double c, const double *d) {
    sgfsi_add_diag(A->device, A->D, c, d, A->a);
}

static void from_dense(sgfs_sym *A, const double *dense) {
    sgfsi_put(A->device, A->D * A->D, dense, A->a);
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
    return sgfsi_trace_of(A->device, A->D, A->a);
}

static void diag(const sgfs_sym *A, double *d) {
    sgfsi_get_diag(A->device, A->D, A->a, d);
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
