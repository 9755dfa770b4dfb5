/* SPDX-License-Identifier: MIT
 * inverse.c: the full matrix once more, but what `factor` leaves is the inverse P = K^-1 itself.
 *
 * A batch of n rows changes it by Sherman, Morrison and Woodbury in O(n D^2), section 4 of the
 * paper: with X = sqrt(weight) (g - gbar), n x D, and P' = P/decay,
 *
 *     (decay K + X'X)^-1  =  P' - P' X' (I + X P' X')^-1 X P'
 *
 * and a solution costs one product with P. What it cannot do is make noise: eq. 11 with B = gamma N
 * I1hat adds noise between the two halves of a factor, and an inverse has no halves. So
 *     solve(false)  leaves x alone,   solve(true)  x = P x,   both in turn: x = K^-1 x;
 * factored = false says so, and mul_factor answers NaN, which no run survives unnoticed.
 *
 * Stability: the update subtracts, so its errors are of size eps cond(K), no better than those of
 * refactorising, where a factor that is updated by reflections knows only cond(K)^1/2. One
 * triangle is kept, so P stays symmetric, the lack of which is what makes such updates diverge.
 *
 * Not factored, it is `full`, and full.c does the work. Behind the D x D numbers are D more, the
 * room of a solution: one thread at a time may solve with one matrix.
 */
#include <math.h>
#include <string.h>

#include "fisher/dense.h"
#include "fisher/fisher.h"

static int64_t size(const sgfs_layout *layout) {
    return layout->D * layout->D + layout->D;
}

static int64_t work(const sgfs_layout *layout, int64_t n) {
    return sgfsi_dense_work(layout->D, n);
}

/* ---- not factored: full.c -------------------------------------------------------------------- */

static void zero(sgfs_sym *A) {
    sgfs_fisher_full.zero(A);
}

static void add_cov(sgfs_sym *A, double decay, double weight, const sgfs_scores *s,
                    const double *gbar, double *room) {
    sgfs_fisher_full.add_cov(A, decay, weight, s, gbar, room);
}

static void combine(sgfs_sym *A, double b, const sgfs_sym *B, double c, const sgfs_sym *C) {
    sgfs_fisher_full.combine(A, b, B, c, C);
}

static void add_diag(sgfs_sym *A, double c, const double *d) {
    sgfs_fisher_full.add_diag(A, c, d);
}

static void from_dense(sgfs_sym *A, const double *dense) {
    sgfs_fisher_full.from_dense(A, dense);
}

static void mul(const sgfs_sym *A, const double *x, double *y) {
    sgfs_fisher_full.mul(A, x, y);
}

static double trace(const sgfs_sym *A) {
    return sgfs_fisher_full.trace(A);
}

static void diag(const sgfs_sym *A, double *d) {
    sgfs_fisher_full.diag(A, d);
}

/* ---- factored: P ----------------------------------------------------------------------------- */

static int64_t factor(sgfs_sym *A) {
    int64_t failed = sgfsi_potrf(A->device, A->D, A->a);
    if (failed == 0) sgfsi_potri(A->device, A->D, A->a);
    return failed;
}

static void unfactor(sgfs_sym *P) {
    const double nothing = NAN; /* the inverse of the inverse; the next factor will tell */
    if (factor(P) != 0) sgfsi_put(P->device, 1, &nothing, P->a);
}

static int64_t update(sgfs_sym *P, double decay, double weight, const sgfs_scores *s,
                      const double *gbar, double *room) {
    const sgfsi_change c = {decay, weight, s, gbar};
    const sgfsi_dense b = {.device = P->device, .d = P->D, .a = P->a};
    if (!(decay > 0)) return -1; /* nothing is left of K, and a batch alone need not be definite */
    sgfsi_dense_scale(b, 1 / decay);
    return sgfsi_dense_rows(b, &c, sgfsi_inv_update, room);
}

static void solve(const sgfs_sym *P, bool transposed, double *x) {
    double *room = P->a + P->D * P->D;
    if (!transposed) return;
    memcpy(room, x, (size_t)P->D * sizeof *x);
    sgfsi_symv(P->device, P->D, P->a, room, x);
}

static void mul_factor(const sgfs_sym *P, bool transposed, double *x) {
    (void)transposed;
    for (int64_t j = 0; j < P->D; j++) x[j] = NAN;
}

const sgfs_fisher_kind sgfs_fisher_inverse = {
    .name = "inverse",
    .help = "the whole matrix by its inverse (Woodbury): O(n D^2) per update, --alpha 0 only",
    .stan_metric = "dense_e",
    .factored = false,
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
