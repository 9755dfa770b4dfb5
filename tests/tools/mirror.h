/* SPDX-License-Identifier: MIT
 * mirror.h: a device with memory of its own as one that takes arrays of the host's: each operation
 * makes room there, puts them, and gets them back. So tests of devices need not know the
 * difference.
 */
#pragma once

#include <assert.h>
#include <stdlib.h>

#include "context/device/device.h"

/* The device behind the mirror, which is in its `state`. */
static const sgfs_device *behind(const sgfs_device *dev) {
    return dev->state;
}

static double *mirror_put(const sgfs_device *dev, int64_t n, const double *host) {
    double *A = behind(dev)->ops->alloc(behind(dev), n);
    assert(A != NULL);
    if (n > 0) sgfsi_put(behind(dev), n, host, A);
    return A;
}

static void mirror_drop(const sgfs_device *dev, double *A) {
    behind(dev)->ops->free(behind(dev), A);
}

static void mirror_get(const sgfs_device *dev, int64_t n, double *A, double *host) {
    if (n > 0) sgfsi_get(behind(dev), n, A, host);
    mirror_drop(dev, A);
}

static double mirror_dot(SGFSI_HERE, int64_t n, const double *x, const double *y) {
    return sgfsi_dot(behind(dev), n, x, y);
}

static void mirror_axpy(SGFSI_HERE, int64_t n, double a, const double *x, double *y) {
    sgfsi_axpy(behind(dev), n, a, x, y);
}

static void mirror_gemv(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X,
                        const double *v, double b, double *y) {
    double *there = mirror_put(dev, m * k, X);
    sgfsi_gemv(behind(dev), m, k, a, there, v, b, y);
    mirror_drop(dev, there);
}

static void mirror_gemv_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X,
                          const double *v, double b, double *y) {
    double *there = mirror_put(dev, m * k, X);
    sgfsi_gemv_t(behind(dev), m, k, a, there, v, b, y);
    mirror_drop(dev, there);
}

typedef void (*mirrored_gemm)(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a,
                              const double *A, const double *B, double b, double *C);

/* sizes: of A, B and C */
static void mirror_gemm(const sgfs_device *dev, mirrored_gemm call, const int64_t shape[3],
                        const int64_t sizes[3], double a, const double *A, const double *B,
                        double b, double *C) {
    double *there_a = mirror_put(dev, sizes[0], A), *there_b = mirror_put(dev, sizes[1], B),
           *there_c = mirror_put(dev, sizes[2], C);
    call(behind(dev), shape[0], shape[1], shape[2], a, there_a, there_b, b, there_c);
    mirror_drop(dev, there_a);
    mirror_drop(dev, there_b);
    mirror_get(dev, sizes[2], there_c, C);
}

static void mirror_gemm_tn(SGFSI_HERE, int64_t m, int64_t r, int64_t c, double a, const double *A,
                           const double *B, double b, double *C) {
    mirror_gemm(dev, sgfsi_gemm_tn, (int64_t[]){m, r, c}, (int64_t[]){m * r, m * c, r * c}, a, A, B,
                b, C);
}

static void mirror_gemm_nt(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a, const double *A,
                           const double *B, double b, double *C) {
    mirror_gemm(dev, sgfsi_gemm_nt, (int64_t[]){m, r, k}, (int64_t[]){m * k, r * k, m * r}, a, A, B,
                b, C);
}

static void mirror_gemm_nn(SGFSI_HERE, int64_t m, int64_t r, int64_t k, double a, const double *A,
                           const double *B, double b, double *C) {
    mirror_gemm(dev, sgfsi_gemm_nn, (int64_t[]){m, r, k}, (int64_t[]){m * k, k * r, m * r}, a, A, B,
                b, C);
}

static void mirror_syrk_t(SGFSI_HERE, int64_t m, int64_t k, double a, const double *X, double b,
                          double *C) {
    double *there_x = mirror_put(dev, m * k, X), *there_c = mirror_put(dev, k * k, C);
    sgfsi_syrk_t(behind(dev), m, k, a, there_x, b, there_c);
    mirror_drop(dev, there_x);
    mirror_get(dev, k * k, there_c, C);
}

static int64_t mirror_potrf(SGFSI_HERE, int64_t D, double *A) {
    double *there = mirror_put(dev, D * D, A);
    int64_t failed = sgfsi_potrf(behind(dev), D, there);
    mirror_get(dev, D * D, there, A);
    return failed;
}

static void mirror_unpotrf(SGFSI_HERE, int64_t D, double *L) {
    double *there = mirror_put(dev, D * D, L);
    sgfsi_unpotrf(behind(dev), D, there);
    mirror_get(dev, D * D, there, L);
}

static void mirror_potri(SGFSI_HERE, int64_t D, double *L) {
    double *there = mirror_put(dev, D * D, L);
    sgfsi_potri(behind(dev), D, there);
    mirror_get(dev, D * D, there, L);
}

typedef int64_t (*mirrored_update)(SGFSI_HERE, int64_t D, int64_t n, double *A, double *X,
                                   double *work);

static int64_t mirror_update(const sgfs_device *dev, mirrored_update call, int64_t D, int64_t n,
                             double *A, double *X, double *work) {
    double *there_a = mirror_put(dev, D * D, A), *there_x = mirror_put(dev, n * D, X),
           *there_work = mirror_put(dev, SGFS_UPDATE_WORK(D, n), work);
    int64_t failed = call(behind(dev), D, n, there_a, there_x, there_work);
    mirror_drop(dev, there_x);
    mirror_drop(dev, there_work);
    mirror_get(dev, D * D, there_a, A);
    return failed;
}

static int64_t mirror_chol_update(SGFSI_HERE, int64_t D, int64_t n, double *L, double *X,
                                  double *work) {
    return mirror_update(dev, sgfsi_chol_update, D, n, L, X, work);
}

static int64_t mirror_inv_update(SGFSI_HERE, int64_t D, int64_t n, double *P, double *X,
                                 double *work) {
    return mirror_update(dev, sgfsi_inv_update, D, n, P, X, work);
}

static void mirror_trsv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    double *there = mirror_put(dev, D * D, L);
    sgfsi_trsv(behind(dev), D, there, transposed, x);
    mirror_drop(dev, there);
}

static void mirror_trmv(SGFSI_HERE, int64_t D, const double *L, bool transposed, double *x) {
    double *there = mirror_put(dev, D * D, L);
    sgfsi_trmv(behind(dev), D, there, transposed, x);
    mirror_drop(dev, there);
}

static void mirror_symv(SGFSI_HERE, int64_t D, const double *A, const double *x, double *y) {
    double *there = mirror_put(dev, D * D, A);
    sgfsi_symv(behind(dev), D, there, x, y);
    mirror_drop(dev, there);
}

static void mirror_exp(SGFSI_HERE, int64_t n, const double *x, double *y) {
    double *there = mirror_put(dev, n, x);
    sgfsi_exp(behind(dev), n, there, there);
    mirror_get(dev, n, there, y);
}

static void mirror_log1p(SGFSI_HERE, int64_t n, const double *x, double *y) {
    double *there = mirror_put(dev, n, x);
    sgfsi_log1p(behind(dev), n, there, there);
    mirror_get(dev, n, there, y);
}

static void mirror_zero(SGFSI_HERE, int64_t n, double *A) {
    double *there = mirror_put(dev, n, A);
    sgfsi_zero(behind(dev), n, there);
    mirror_get(dev, n, there, A);
}

static void mirror_times(SGFSI_HERE, int64_t n, double a, double *A) {
    double *there = mirror_put(dev, n, A);
    sgfsi_times(behind(dev), n, a, there);
    mirror_get(dev, n, there, A);
}

/* The other arrays of it are vectors. */
static void mirror_softmax(SGFSI_HERE, const sgfsi_softmax *s) {
    sgfsi_softmax there = *s;
    there.P = mirror_put(dev, s->n * s->rows, s->P);
    sgfsi_softmax_of(behind(dev), &there);
    mirror_get(dev, s->n * s->rows, there.P, s->P);
}

static void mirror_unit_less(SGFSI_HERE, int64_t n, int64_t k, const double *at, double *P) {
    double *there = mirror_put(dev, n * k, P);
    sgfsi_unit_less(behind(dev), n, k, at, there);
    mirror_get(dev, n * k, there, P);
}

static void mirror_squares(SGFSI_HERE, int64_t n, int64_t k, const double *v, const double *X,
                           double *ss) {
    double *there = mirror_put(dev, n * k, X);
    sgfsi_squares(behind(dev), n, k, v, there, ss);
    mirror_drop(dev, there);
}

static void mirror_minus(SGFSI_HERE, int64_t n, const double *A, const double *B, double *C) {
    double *there_a = mirror_put(dev, n, A), *there_b = mirror_put(dev, n, B),
           *there_c = mirror_put(dev, n, C);
    sgfsi_minus(behind(dev), n, there_a, there_b, there_c);
    mirror_drop(dev, there_a);
    mirror_drop(dev, there_b);
    mirror_get(dev, n, there_c, C);
}

static void mirror_activate(SGFSI_HERE, sgfsi_unit unit, int64_t n, int64_t h, double *A,
                            double *V) {
    double *there_a = mirror_put(dev, n * h, A), *there_v = mirror_put(dev, n * (h + 1), V);
    sgfsi_activate(behind(dev), unit, n, h, there_a, there_v);
    mirror_drop(dev, there_a);
    mirror_get(dev, n * (h + 1), there_v, V);
}

static void mirror_slope(SGFSI_HERE, sgfsi_unit unit, int64_t n, int64_t h, const double *V,
                         const double *B, double *C) {
    double *there_v = mirror_put(dev, n * (h + 1), V), *there_b = mirror_put(dev, n * (h + 1), B),
           *there_c = mirror_put(dev, n * h, C);
    sgfsi_slope_of(behind(dev), unit, n, h, there_v, there_b, there_c);
    mirror_drop(dev, there_v);
    mirror_drop(dev, there_b);
    mirror_get(dev, n * h, there_c, C);
}

static void mirror_classes(SGFSI_HERE, const sgfsi_classes *c) {
    sgfsi_classes there = *c;
    there.E = mirror_put(dev, c->n * c->K, c->E);
    sgfsi_classes_of(behind(dev), &there);
    mirror_get(dev, c->n * c->K, there.E, c->E);
}

/* What is not NULL of arrays that are filled. */
static double *mirror_room(const sgfs_device *dev, int64_t n, const double *host) {
    return host != NULL ? mirror_put(dev, n, host) : NULL;
}

static void mirror_fetch(const sgfs_device *dev, int64_t n, double *A, double *host) {
    if (host != NULL) mirror_get(dev, n, A, host);
}

static void mirror_boltzmann(SGFSI_HERE, const sgfsi_boltzmann *b) {
    int64_t n = b->n, H = b->H, K = b->K;
    double *S = mirror_put(dev, n * H, b->S), *U = mirror_put(dev, H * K, b->U),
           *B = mirror_room(dev, K, b->B);
    sgfsi_boltzmann there = *b;
    there.S = S;
    there.U = U;
    there.B = B;
    there.P = mirror_room(dev, n * K, b->P);
    there.E = mirror_room(dev, n * K, b->E);
    there.EU = mirror_room(dev, n * H * K, b->EU);
    there.ES = mirror_room(dev, n * H, b->ES);
    sgfsi_boltzmann_of(behind(dev), &there);
    mirror_drop(dev, S);
    mirror_drop(dev, U);
    if (B != NULL) mirror_drop(dev, B);
    mirror_fetch(dev, n * K, there.P, b->P);
    mirror_fetch(dev, n * K, there.E, b->E);
    mirror_fetch(dev, n * H * K, there.EU, b->EU);
    mirror_fetch(dev, n * H, there.ES, b->ES);
}

enum { MIRRORED = 8 }; /* outer products at a time */

/* Their factors there; left factors of one row are vectors of the host's. */
static void mirror_factors(const sgfs_device *dev, int64_t count, const sgfsi_outer *o,
                           sgfsi_outer *there) {
    assert(count <= MIRRORED);
    for (int64_t k = 0; k < count; k++) {
        there[k] = o[k];
        if (o[k].rows > 1) there[k].left = mirror_put(dev, o[k].n * o[k].rows, o[k].left);
        there[k].right = mirror_put(dev, o[k].n * o[k].cols, o[k].right);
    }
}

static void mirror_drop_factors(const sgfs_device *dev, int64_t count, const sgfsi_outer *there) {
    for (int64_t k = 0; k < count; k++) {
        if (there[k].rows > 1) mirror_drop(dev, (double *)(uintptr_t)there[k].left);
        mirror_drop(dev, (double *)(uintptr_t)there[k].right);
    }
}

static void mirror_outer(SGFSI_HERE, const sgfsi_outer *o, double *B, int64_t stride) {
    double *there = mirror_put(dev, o->n * stride, B);
    sgfsi_outer moved;
    mirror_factors(dev, 1, o, &moved);
    sgfsi_outer_of(behind(dev), &moved, there, stride);
    mirror_drop_factors(dev, 1, &moved);
    mirror_get(dev, o->n * stride, there, B);
}

static void mirror_outer_sums(SGFSI_HERE, int64_t count, const sgfsi_outer *o, double a, double b,
                              const double *ones, double *y) {
    sgfsi_outer there[MIRRORED];
    mirror_factors(dev, count, o, there);
    sgfsi_outer_sums(behind(dev), count, there, a, b, ones, y);
    mirror_drop_factors(dev, count, there);
}

static void mirror_outer_squares(SGFSI_HERE, int64_t count, const sgfsi_outer *o, double *room,
                                 int64_t size, double *ss) {
    sgfsi_outer there[MIRRORED];
    mirror_factors(dev, count, o, there);
    sgfsi_outer_squares(behind(dev), count, there, room, size, ss);
    mirror_drop_factors(dev, count, there);
}

static void mirror_solve_noisy(SGFSI_HERE, int64_t D, const double *L, double a, const double *z,
                               double *x) {
    double *there = mirror_put(dev, D * D, L);
    sgfsi_solve_noisy(behind(dev), D, there, a, z, x);
    mirror_drop(dev, there);
}

static void mirror_combine(SGFSI_HERE, int64_t D, double b, const double *B, double c,
                           const double *C, double *A) {
    double *there_b = mirror_put(dev, D * D, B), *there_a = mirror_put(dev, D * D, A),
           *there_c = C != NULL ? mirror_put(dev, D * D, C) : NULL;
    sgfsi_combine(behind(dev), D, b, there_b, c, there_c, there_a);
    mirror_drop(dev, there_b);
    if (C != NULL) mirror_drop(dev, there_c);
    mirror_get(dev, D * D, there_a, A);
}

static void mirror_add_diag(SGFSI_HERE, int64_t D, double c, const double *d, double *A) {
    double *there = mirror_put(dev, D * D, A);
    sgfsi_add_diag(behind(dev), D, c, d, there);
    mirror_get(dev, D * D, there, A);
}

static void mirror_get_diag(SGFSI_HERE, int64_t D, const double *A, double *d) {
    double *there = mirror_put(dev, D * D, A);
    sgfsi_get_diag(behind(dev), D, there, d);
    mirror_drop(dev, there);
}

static double mirror_trace(SGFSI_HERE, int64_t D, const double *A) {
    double *there = mirror_put(dev, D * D, A), trace = sgfsi_trace_of(behind(dev), D, there);
    mirror_drop(dev, there);
    return trace;
}

static void mirror_transpose(SGFSI_HERE, int64_t D, double *A) {
    double *there = mirror_put(dev, D * D, A);
    sgfsi_transpose(behind(dev), D, there);
    mirror_get(dev, D * D, there, A);
}

static void mirror_invert_factor(SGFSI_HERE, int64_t D, const double *L, double *A) {
    double *there_l = mirror_put(dev, D * D, L), *there_a = mirror_put(dev, D * D, A);
    sgfsi_invert_factor(behind(dev), D, there_l, there_a);
    mirror_drop(dev, there_l);
    mirror_get(dev, D * D, there_a, A);
}

static const sgfsi_device_ops mirror_ops = {
    .dot = mirror_dot,
    .axpy = mirror_axpy,
    .gemv = mirror_gemv,
    .gemv_t = mirror_gemv_t,
    .gemm_tn = mirror_gemm_tn,
    .gemm_nt = mirror_gemm_nt,
    .gemm_nn = mirror_gemm_nn,
    .syrk_t = mirror_syrk_t,
    .potrf = mirror_potrf,
    .unpotrf = mirror_unpotrf,
    .potri = mirror_potri,
    .chol_update = mirror_chol_update,
    .inv_update = mirror_inv_update,
    .trsv = mirror_trsv,
    .trmv = mirror_trmv,
    .symv = mirror_symv,
    .exp = mirror_exp,
    .log1p = mirror_log1p,
    .zero = mirror_zero,
    .times = mirror_times,
    .softmax = mirror_softmax,
    .unit_less = mirror_unit_less,
    .minus = mirror_minus,
    .activate = mirror_activate,
    .slope = mirror_slope,
    .classes = mirror_classes,
    .boltzmann = mirror_boltzmann,
    .outer = mirror_outer,
    .outer_sums = mirror_outer_sums,
    .outer_squares = mirror_outer_squares,
    .squares = mirror_squares,
    .combine = mirror_combine,
    .add_diag = mirror_add_diag,
    .get_diag = mirror_get_diag,
    .trace = mirror_trace,
    .transpose = mirror_transpose,
    .solve_noisy = mirror_solve_noisy,
    .invert_factor = mirror_invert_factor,
};

/* A mirror of an opened device, whose name it has. */
static sgfs_device mirror_of(const sgfs_device *dev) {
    return (sgfs_device){.name = dev->name,
                         .help = dev->help,
                         .ops = &mirror_ops,
                         .most = dev->most,
                         .state = (void *)(uintptr_t)dev};
}
