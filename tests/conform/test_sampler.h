/* SPDX-License-Identifier: MIT
 * test_sampler.h: the covariance that theory predicts for each sampler on a Gaussian posterior.
 *
 * Linear regression with known sigma = 1: G = -A (theta - mu) + noise, Cov(noise) = S. Every
 * sampler whose step is linear in theta and in the noise has a stationary covariance that solves a
 * discrete Lyapunov equation X = F X F' + Q, here by doubling. S depends a little on where the
 * chain is (scores are residuals times x), so that X and S(X) are found together:
 *     S(X) = (gamma - 1) ( sum_i (r_i^2 + x_i'X x_i) x_i x_i' - N E[gbar gbar'] ),
 * with r_i the residuals at mu and N gbar = b - X'X delta, b = Lambda mu.
 */
#pragma once

#include "stat/closed.h"

/* ---- small dense matrices, m x m, row-major -------------------------------------------------- */

/* C = A B, or A B' */
static void product(int64_t m, const double *A, const double *B, bool transposed, double *C) {
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < m; j++) {
            double sum = 0;
            for (int64_t k = 0; k < m; k++)
                sum += A[i * m + k] * (transposed ? B[j * m + k] : B[k * m + j]);
            C[i * m + j] = sum;
        }
    }
}

/* X = F X F' + Q by doubling: X <- X + F X F', F <- F F. F is overwritten. */
static void lyapunov(int64_t m, double *F, const double *Q, double *X) {
    double *room = need((size_t)(2 * m * m), sizeof *room), *other = room + m * m;
    memcpy(X, Q, (size_t)(m * m) * sizeof *X);
    for (int k = 0; k < 60; k++) {
        product(m, F, X, false, room);
        product(m, room, F, true, other);
        for (int64_t i = 0; i < m * m; i++) X[i] += other[i];
        product(m, F, F, false, room);
        memcpy(F, room, (size_t)(m * m) * sizeof *F);
    }
    free(room);
}

/* X = A^-1 for symmetric positive definite A. */
static void inverse(int64_t m, const double *A, double *X) {
    double *L = need((size_t)(m * m), sizeof *L);
    memcpy(L, A, (size_t)(m * m) * sizeof *L);
    assert_int_equal(sgfsi_potrf(&sgfs_device_host, m, L), 0);
    memset(X, 0, (size_t)(m * m) * sizeof *X);
    for (int64_t j = 0; j < m; j++) {
        X[j * m + j] = 1;
        sgfsi_trsv(&sgfs_device_host, m, L, false, X + j * m);
        sgfsi_trsv(&sgfs_device_host, m, L, true, X + j * m);
    }
    free(L);
}

/* ---- gradient noise -------------------------------------------------------------------------- */

/* What a prediction starts from. X: where the chain is, D x D; S: gradient noise there. */
typedef struct theory {
    const problem *q;
    double gamma, n;
    double *S, *X;
    const sgfsi_plan *plan;
} theory;

static void gradient_noise(const problem *q, double gamma, const double *X, double *S) {
    int64_t D = q->D;
    double *H = need((size_t)(3 * D * D), sizeof *H), *HX = H + D * D, *HXH = H + 2 * D * D;
    memset(S, 0, (size_t)(D * D) * sizeof *S);
    for (int64_t i = 0; i < q->N; i++) {
        const double *x = q->x + i * D;
        double r = q->y[i], spread = 0;
        for (int64_t j = 0; j < D; j++) {
            r -= x[j] * q->mu[j];
            for (int64_t k = 0; k < D; k++) spread += x[j] * X[j * D + k] * x[k];
        }
        for (int64_t j = 0; j < D * D; j++) S[j] += (r * r + spread) * x[j / D] * x[j % D];
    }
    memcpy(H, q->A, (size_t)(D * D) * sizeof *H);
    for (int64_t j = 0; j < D; j++) H[j * D + j] -= q->lambda;
    product(D, H, X, false, HX);
    product(D, HX, H, false, HXH);
    for (int64_t j = 0; j < D * D; j++) {
        double b = q->lambda * q->lambda * q->mu[j / D] * q->mu[j % D];
        S[j] = (gamma - 1) * (S[j] - (HXH[j] + b) / (double)q->N);
    }
    free(H);
}

/* ---- one step of each kind: X and S in t->X, t->S -> the next X ------------------------------ */

/* theta' = theta + M (G + N(0, W)) + N(0, Q0), M = P any matrix: F = I - M A,
 * Q = M (S + W) M' + Q0. */
static void linear_step(theory *t, const double *M, const double *W, const double *Q0) {
    int64_t D = t->q->D;
    double *F = need((size_t)(4 * D * D), sizeof *F), *Q = F + D * D, *room = F + 2 * D * D,
           *noise = F + 3 * D * D;
    product(D, M, t->q->A, false, F);
    for (int64_t i = 0; i < D * D; i++) {
        F[i] = (i / D == i % D) - F[i];
        noise[i] = t->S[i] + (W != NULL ? W[i] : 0);
    }
    product(D, M, noise, false, room);
    product(D, room, M, true, Q);
    for (int64_t i = 0; i < D * D; i++) Q[i] += Q0[i];
    lyapunov(D, F, Q, t->X);
    free(F);
}

/* SGLD (noise 1) and SGD (noise 0) with preconditioner C, D x D. */
static void langevin(theory *t, const double *C, double eps, double noise) {
    int64_t D = t->q->D;
    double *M = need((size_t)(2 * D * D), sizeof *M), *Q = M + D * D;
    for (int64_t i = 0; i < D * D; i++) {
        M[i] = eps / 2 * C[i];
        Q[i] = noise * eps * C[i];
    }
    linear_step(t, M, NULL, Q);
    free(M);
}

/* (theta, v) of SGHMC: v' = (1-x) v + eta G + N(0, Q), theta' = theta + v'. X2: 2D x 2D out. */
static void momentum(const theory *t, double x, double eta, const double *inject, double *X2) {
    int64_t D = t->q->D, m = 2 * D;
    double *F = need((size_t)(2 * m * m), sizeof *F), *Q = F + m * m;
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j < D; j++) {
            double same = i == j, pull = eta * t->q->A[i * D + j];
            double noise = eta * eta * t->S[i * D + j] + same * inject[i];
            F[i * m + j] = same - pull;
            F[i * m + D + j] = F[(D + i) * m + D + j] = same * (1 - x);
            F[(D + i) * m + j] = -pull;
            Q[i * m + j] = Q[i * m + D + j] = Q[(D + i) * m + j] = Q[(D + i) * m + D + j] = noise;
        }
    }
    lyapunov(m, F, Q, X2);
    free(F);
}

static void keep_theta(theory *t, const double *X2) {
    int64_t D = t->q->D;
    for (int64_t i = 0; i < D; i++) memcpy(t->X + i * D, X2 + i * 2 * D, (size_t)D * sizeof *X2);
}
