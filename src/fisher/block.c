/* SPDX-License-Identifier: MIT
 * block.c: a block-diagonal matrix (section 4 of the paper): parameters of one block may be
 * correlated, those of two blocks are taken as independent. k blocks of d parameters cost
 * O(n D d + k d^3) instead of O(n D^2 + D^3).
 *
 * Each block of the layout is a `full` matrix of its own, one after the other in A->a, and every
 * operation is that of full.c over the blocks. A layout of one block is `full`, blocks of one
 * parameter are `diag`.
 */
#include "fisher/dense.h"
#include "fisher/fisher.h"

typedef struct part {
    int64_t k, first; /* which block, its first parameter */
    sgfs_sym M;       /* the block as a full matrix; D is its own size */
} part;

static part part_at(const sgfs_sym *A, int64_t k, double *a) {
    const sgfs_layout *l = A->layout;
    part p = {.k = k, .M = {.kind = &sgfs_fisher_full, .device = A->device, .a = a}};
    if (k == l->blocks) return p;
    p.first = l->first[k];
    p.M.D = l->first[k + 1] - p.first;
    return p;
}

#define EACH_PART(A, p)                                                                            \
    for (part p = part_at((A), 0, (A)->a); p.k < (A)->layout->blocks;                              \
         p = part_at((A), p.k + 1, p.M.a + p.M.D * p.M.D))

/* The same block of another matrix of the same layout. */
static sgfs_sym same_part(const part *p, const sgfs_sym *A, const sgfs_sym *B) {
    sgfs_sym M = p->M;
    M.a = B->a + (p->M.a - A->a);
    return M;
}

static sgfsi_dense dense_of(const part *p) {
    return (sgfsi_dense){.device = p->M.device, .first = p->first, .d = p->M.D, .a = p->M.a};
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

static void zero(sgfs_sym *A) {
    EACH_PART(A, p) p.M.kind->zero(&p.M);
}

static void add_cov(sgfs_sym *A, double decay, double weight, const sgfs_scores *s,
                    const double *gbar, double *room) {
    const sgfsi_change c = {decay, weight, s, gbar};
    EACH_PART(A, p) sgfsi_dense_add(dense_of(&p), &c, room);
}

static void combine(sgfs_sym *A, double b, const sgfs_sym *B, double c, const sgfs_sym *C) {
    EACH_PART(A, p) {
        sgfs_sym one = same_part(&p, A, B), other = same_part(&p, A, C != NULL ? C : B);
        p.M.kind->combine(&p.M, b, &one, c, C != NULL ? &other : NULL);
    }
}

static void add_diag(sgfs_sym *A, double c, const double *d) {
    EACH_PART(A, p) p.M.kind->add_diag(&p.M, c, d != NULL ? d + p.first : NULL);
}

static void from_dense(sgfs_sym *A, const double *dense) {
    EACH_PART(A, p) {
        const double *corner = dense + p.first * A->D + p.first;
        for (int64_t i = 0; i < p.M.D; i++) {
            sgfsi_put(A->device, i + 1, corner + i * A->D, p.M.a + i * p.M.D);
        }
    }
}

static int64_t factor(sgfs_sym *A) {
    EACH_PART(A, p) {
        int64_t failed = p.M.kind->factor(&p.M);
        if (failed != 0) return p.first + failed;
    }
    return 0;
}

static void unfactor(sgfs_sym *L) {
    EACH_PART(L, p) p.M.kind->unfactor(&p.M);
}

static int64_t update(sgfs_sym *L, double decay, double weight, const sgfs_scores *s,
                      const double *gbar, double *room) {
    const sgfsi_change c = {decay, weight, s, gbar};
    EACH_PART(L, p) {
        if (sgfsi_dense_update(dense_of(&p), &c, room) != 0) return -1;
    }
    return 0;
}

static void solve(const sgfs_sym *L, bool transposed, double *x) {
    EACH_PART(L, p) p.M.kind->solve(&p.M, transposed, x + p.first);
}

static void mul_factor(const sgfs_sym *L, bool transposed, double *x) {
    EACH_PART(L, p) p.M.kind->mul_factor(&p.M, transposed, x + p.first);
}

static void mul(const sgfs_sym *A, const double *x, double *y) {
    EACH_PART(A, p) p.M.kind->mul(&p.M, x + p.first, y + p.first);
}

static double trace(const sgfs_sym *A) {
    double sum = 0;
    EACH_PART(A, p) sum += p.M.kind->trace(&p.M);
    return sum;
}

static void diag(const sgfs_sym *A, double *d) {
    EACH_PART(A, p) p.M.kind->diag(&p.M, d + p.first);
}

const sgfs_fisher_kind sgfs_fisher_block = {
    .name = "block",
    .help = "blocks on the diagonal (--block-size): O(n D d + D d^2), approximate between blocks",
    .stan_metric = "dense_e",
    .factored = true,
    SGFSI_FISHER_HOOKS,
};
