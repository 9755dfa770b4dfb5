/* SPDX-License-Identifier: MIT
 * full.c: a full symmetric D x D matrix, row-major, of which the lower triangle is kept. The work
 * with scores (their covariance, and the factor changed by a batch) is that of dense.c.
 *
 * `inverse` is the same matrix, but what `factor` leaves is the inverse P = K^-1 itself.
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
 * Behind its D x D numbers are D more, the room of a solution: one thread at a time may solve with
 * one matrix.
 */
#include <math.h>
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
    SGFSI_FISHER_HOOKS,
};

/* ---- by its inverse P ------------------------------------------------------------------------ */

static int64_t inverse_size(const sgfs_layout *layout) {
    return layout->D * layout->D + layout->D;
}

static int64_t inverse_factor(sgfs_sym *A) {
    int64_t failed = sgfsi_potrf(A->device, A->D, A->a);
    if (failed == 0) sgfsi_potri(A->device, A->D, A->a);
    return failed;
}

static void inverse_unfactor(sgfs_sym *P) {
    const double nothing = NAN; /* the inverse of the inverse; the next factor will tell */
    if (inverse_factor(P) != 0) sgfsi_put(P->device, 1, &nothing, P->a);
}

static int64_t inverse_update(sgfs_sym *P, double decay, double weight, const sgfs_scores *s,
                              const double *gbar, double *room) {
    const sgfsi_change c = {decay, weight, s, gbar};
    const sgfsi_dense b = {.device = P->device, .d = P->D, .a = P->a};
    if (!(decay > 0)) return -1; /* nothing is left of K, and a batch alone need not be definite */
    sgfsi_dense_scale(b, 1 / decay);
    return sgfsi_dense_rows(b, &c, sgfsi_inv_update, room);
}

static void inverse_solve(const sgfs_sym *P, bool transposed, double *x) {
    double *room = P->a + P->D * P->D;
    if (!transposed) return;
    memcpy(room, x, (size_t)P->D * sizeof *x);
    sgfsi_symv(P->device, P->D, P->a, room, x);
}

static void inverse_mul_factor(const sgfs_sym *P, bool transposed, double *x) {
    (void)transposed;
    for (int64_t j = 0; j < P->D; j++) x[j] = NAN;
}

const sgfs_fisher_kind sgfs_fisher_inverse = {
    .name = "inverse",
    .help = "the whole matrix by its inverse (Woodbury): O(n D^2) per update, --alpha 0 only",
    .stan_metric = "dense_e",
    .factored = false,
    .size = inverse_size,
    .work = work,
    .zero = zero,
    .add_cov = add_cov,
    .combine = combine,
    .add_diag = add_diag,
    .from_dense = from_dense,
    .factor = inverse_factor,
    .unfactor = inverse_unfactor,
    .update = inverse_update,
    .solve = inverse_solve,
    .mul_factor = inverse_mul_factor,
    .mul = mul,
    .trace = trace,
    .diag = diag,
};
