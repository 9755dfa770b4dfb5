/* SPDX-License-Identifier: MIT
 * blocks.c: a symmetric matrix of dense blocks on the diagonal, row-major, lower triangles, one
 * after the other. `full` has one block, all of the matrix. `block` (section 4 of the paper) has
 * those of the layout: parameters of one block may be correlated, those of two are taken as
 * independent, and k blocks of d parameters cost O(n D d + k d^3) instead of O(n D^2 + D^3). Blocks
 * of one parameter are `diag`.
 *
 * The work with scores (their covariance, and the factor changed by a batch) is that of dense.c.
 *
 * `inverse` is the matrix of `full`, but what `factor` leaves is the inverse P = K^-1 itself.
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
 * Behind its D x D numbers are D more, the room of a solution in the host's memory: one thread at a
 * time may solve with one matrix.
 */
#include <math.h>
#include <string.h>

#include "fisher/dense.h"
#include "fisher/fisher.h"

typedef struct part {
    int64_t k;     /* which block */
    sgfsi_dense M; /* it */
} part;

static int64_t parts_of(const sgfs_sym *A) {
    return A->kind == &sgfs_fisher_block ? A->layout->blocks : 1;
}

static part part_at(const sgfs_sym *A, int64_t k, double *a) {
    const int64_t *first = A->layout->first;
    part p = {k, {.device = A->device, .d = A->D, .a = a}};
    if (k == parts_of(A) || A->kind != &sgfs_fisher_block) return p;
    p.M.first = first[k];
    p.M.d = first[k + 1] - first[k];
    return p;
}

#define EACH_PART(A, p)                                                                            \
    for (part p = part_at((A), 0, (A)->store); p.k < parts_of(A);                                  \
         p = part_at((A), p.k + 1, p.M.a + p.M.d * p.M.d))

static void zero(sgfs_sym *A) {
    EACH_PART(A, p) sgfsi_zero(A->device, p.M.d * p.M.d, p.M.a);
}

static void add_cov(sgfs_sym *A, double decay, double weight, const sgfs_scores *s,
                    const double *gbar, double *room) {
    const sgfsi_change c = {decay, weight, s, gbar};
    EACH_PART(A, p) sgfsi_dense_add(p.M, &c, room);
}

static void combine(sgfs_sym *A, double b, const sgfs_sym *B, double c, const sgfs_sym *C) {
    EACH_PART(A, p) {
        int64_t at = p.M.a - A->store;
        sgfsi_combine(A->device, p.M.d, b, B->store + at, c, C != NULL ? C->store + at : NULL,
                      p.M.a);
    }
}

static void add_diag(sgfs_sym *A, double c, const double *d) {
    EACH_PART(A, p)
    sgfsi_add_diag(A->device, p.M.d, c, d != NULL ? d + p.M.first : NULL, p.M.a);
}

static void from_dense(sgfs_sym *A, const double *dense) {
    EACH_PART(A, p) {
        const double *corner = dense + p.M.first * A->D + p.M.first;
        for (int64_t i = 0; i < p.M.d; i++)
            sgfsi_put(A->device, i + 1, corner + i * A->D, p.M.a + i * p.M.d);
    }
}

static int64_t factor(sgfs_sym *A) {
    EACH_PART(A, p) {
        int64_t failed = sgfsi_potrf(A->device, p.M.d, p.M.a);
        if (failed != 0) return p.M.first + failed;
    }
    return 0;
}

static void unfactor(sgfs_sym *L) {
    EACH_PART(L, p) sgfsi_unpotrf(L->device, p.M.d, p.M.a);
}

static int64_t update(sgfs_sym *L, double decay, double weight, const sgfs_scores *s,
                      const double *gbar, double *room) {
    const sgfsi_change c = {decay, weight, s, gbar};
    EACH_PART(L, p) {
        if (sgfsi_dense_update(p.M, &c, room) != 0) return -1;
    }
    return 0;
}

static void solve(const sgfs_sym *L, bool transposed, double *x) {
    EACH_PART(L, p) sgfsi_trsv(L->device, p.M.d, p.M.a, transposed, x + p.M.first);
}

static void solve_noisy(const sgfs_sym *L, double a, const double *z, double *x) {
    EACH_PART(L, p)
    sgfsi_solve_noisy(L->device, p.M.d, p.M.a, a, z != NULL ? z + p.M.first : NULL, x + p.M.first);
}

static void mul_factor(const sgfs_sym *L, bool transposed, double *x) {
    EACH_PART(L, p) sgfsi_trmv(L->device, p.M.d, p.M.a, transposed, x + p.M.first);
}

static void mul(const sgfs_sym *A, const double *x, double *y) {
    EACH_PART(A, p) sgfsi_symv(A->device, p.M.d, p.M.a, x + p.M.first, y + p.M.first);
}

static double trace(const sgfs_sym *A) {
    double sum = 0;
    EACH_PART(A, p) sum += sgfsi_trace_of(A->device, p.M.d, p.M.a);
    return sum;
}

static void diag(const sgfs_sym *A, double *d) {
    EACH_PART(A, p) sgfsi_get_diag(A->device, p.M.d, p.M.a, d + p.M.first);
}

/* ---- the two layouts ------------------------------------------------------------------------- */

static int64_t whole_size(const sgfs_layout *l) {
    return l->D * l->D;
}

static int64_t whole_work(const sgfs_layout *l, int64_t n) {
    return sgfsi_dense_work(l->D, n);
}

static int64_t size(const sgfs_layout *l) {
    int64_t sum = 0;
    for (int64_t k = 0; k < l->blocks; k++) {
        int64_t d = l->first[k + 1] - l->first[k];
        sum += d * d;
    }
    return sum;
}

/* Blocks are worked on in turn: room for the largest. */
static int64_t work(const sgfs_layout *l, int64_t n) {
    int64_t largest = 0;
    for (int64_t k = 0; k < l->blocks; k++) {
        int64_t d = l->first[k + 1] - l->first[k];
        if (d > largest) largest = d;
    }
    return sgfsi_dense_work(largest, n);
}

const sgfs_fisher_kind
    sgfs_fisher_full =
        {
            .name = "full",
            .help = "the whole matrix: right for correlated posteriors, O(n D^2 + D^3) per update",
            .stan_metric = "dense_e",
            .factored = true,
            .whole = true,
            .size = whole_size,
            .work = whole_work,
            .solve_noisy = solve_noisy,
            SGFSI_FISHER_SUMS,
            SGFSI_FISHER_FACTOR,
},
    sgfs_fisher_block = {
        .name = "block",
        .help = "blocks on the diagonal (--block-size): O(n D d + D d^2), approximate between "
                "blocks",
        .stan_metric = "dense_e",
        .factored = true,
        .size = size,
        .work = work,
        .solve_noisy = solve_noisy,
        SGFSI_FISHER_SUMS,
        SGFSI_FISHER_FACTOR,
};

/* ---- by its inverse P ------------------------------------------------------------------------ */

static int64_t inverse_size(const sgfs_layout *l) {
    return l->D * l->D + l->D;
}

static int64_t inverse_factor(sgfs_sym *A) {
    int64_t failed = sgfsi_potrf(A->device, A->D, A->store);
    if (failed == 0) sgfsi_potri(A->device, A->D, A->store);
    return failed;
}

static void inverse_unfactor(sgfs_sym *P) {
    const double nothing = NAN; /* the inverse of the inverse; the next factor will tell */
    if (inverse_factor(P) != 0) sgfsi_put(P->device, 1, &nothing, P->store);
}

static int64_t inverse_update(sgfs_sym *P, double decay, double weight, const sgfs_scores *s,
                              const double *gbar, double *room) {
    const sgfsi_change c = {decay, weight, s, gbar};
    const sgfsi_dense b = {.device = P->device, .d = P->D, .a = P->store};
    if (!(decay > 0)) return -1; /* nothing is left of K, and a batch alone need not be definite */
    sgfsi_dense_scale(b, 1 / decay);
    return sgfsi_dense_rows(b, &c, sgfsi_inv_update, room);
}

static void inverse_solve(const sgfs_sym *P, bool transposed, double *x) {
    double *room = P->room != NULL ? P->room : P->store + P->D * P->D;
    if (!transposed) return;
    memcpy(room, x, (size_t)P->D * sizeof *x);
    sgfsi_symv(P->device, P->D, P->store, room, x);
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
    .whole = true,
    .size = inverse_size,
    .work = whole_work,
    .factor = inverse_factor,
    .unfactor = inverse_unfactor,
    .update = inverse_update,
    .solve = inverse_solve,
    .mul_factor = inverse_mul_factor,
    SGFSI_FISHER_SUMS,
};
