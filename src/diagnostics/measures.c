/* SPDX-License-Identifier: MIT
 * measures.c: the paper's error measures, and what they would be by chance alone.
 *
 * Ahn, Korattikara, Welling (2012), eq. 14, star = reference:
 *     E1 = sum_i |m_i - m*_i| / sum_i |m*_i|,     E2 = sum_ij |C_ij - C*_ij| / sum_ij |C*_ij|
 * and, ours, trR = tr(C*^-1 C)/D: 1 is right, free of scale, less noisy, and it sees the stiff
 * directions that E2 hides (docs/math.md, sections 8 and 9).
 *
 * Even a perfect sampler has errors. With v = tau2/T (T iterations, tau2 the autocorrelation time
 * of products; a reference run adds its own v):
 *     E1    sqrt(2/pi) sum_i mcse_i / sum_i |m*_i|       (the mean of |N(0, s)| is sqrt(2/pi) s)
 *     E2    c2 sqrt(v),  c2 = sqrt(2/pi) sum_ij sqrt(C*_ii C*_jj + C*_ij^2) / sum_ij |C*_ij|
 *     trR   1 +- sqrt(2 v / D)
 * AR(1) with coefficient rho has tau = (1+rho)/(1-rho) and tau2 = (1+rho^2)/(1-rho^2), so that
 * tau2 = (tau + 1/tau)/2.
 */
#include "diagnostics/measures.h"

#include <math.h>
#include <string.h>

#include "base/matrix.h"

static const double SQRT_2_OVER_PI = 0.79788456080286535588;

double sgfsi_measure_E1(int64_t D, const double *mean, const double *ref) {
    double off = 0.0, size = 0.0;
    for (int64_t i = 0; i < D; i++) {
        off += fabs(mean[i] - ref[i]);
        size += fabs(ref[i]);
    }
    return off / size;
}

double sgfsi_measure_E2(int64_t D, const double *cov, const double *ref) {
    return sgfsi_measure_E1(D * D, cov, ref);
}

/* ref = L L', so tr(ref^-1 cov) = sum_r x_r cov x_r' over the rows x_r of L^-1. */
double sgfsi_measure_trR(int64_t D, const double *cov, const double *ref, double *scratch) {
    double *L = scratch, *x = scratch + D * D, trace = 0.0;
    memcpy(L, ref, (size_t)(D * D) * sizeof *L);
    if (sgfsi_cholesky(D, L) != 0) return NAN;
    for (int64_t r = 0; r < D; r++) {
        /* Row r of L^-1 into x (r + 1 numbers): x L = e_r', from the right, along rows of L. */
        for (int64_t i = 0; i <= r; i++) x[i] = i == r ? 1.0 : 0.0;
        for (int64_t k = r; k >= 0; k--) {
            x[k] /= L[k * D + k];
            for (int64_t i = 0; i < k; i++) x[i] -= x[k] * L[k * D + i];
        }
        for (int64_t i = 0; i <= r; i++) {
            double sum = 0.5 * cov[i * D + i] * x[i]; /* half, since the rest counts twice */
            for (int64_t k = 0; k < i; k++) sum += cov[i * D + k] * x[k];
            trace += 2.0 * x[i] * sum;
        }
    }
    return trace / (double)D;
}

double sgfsi_measure_tau2(double tau) {
    return 0.5 * (tau + 1.0 / tau);
}

double sgfsi_noise_E1(int64_t D, const double *error, const double *ref) {
    double sum = 0.0, size = 0.0;
    for (int64_t i = 0; i < D; i++) {
        sum += error[i];
        size += fabs(ref[i]);
    }
    return SQRT_2_OVER_PI * sum / size;
}

double sgfsi_noise_E2(int64_t D, const double *ref, double v) {
    double sum = 0.0, size = 0.0;
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j < D; j++) {
            double c = ref[i * D + j];
            sum += sqrt(ref[i * D + i] * ref[j * D + j] + c * c);
            size += fabs(c);
        }
    }
    return SQRT_2_OVER_PI * sum / size * sqrt(v);
}

double sgfsi_noise_trR(int64_t D, double v) {
    return sqrt(2.0 * v / (double)D);
}

/* tr(P^-1 Q) + d' P^-1 d for 2 x 2 P = [a b; b c], Q likewise; NaN when P is degenerate. */
static double one_way(const double P[3], const double Q[3], const double d[2]) {
    double det = P[0] * P[2] - P[1] * P[1];
    if (!(P[0] > 0.0 && det > 1e-14 * P[0] * P[2])) return NAN;
    double q0 = Q[0] + d[0] * d[0], q1 = Q[1] + d[0] * d[1], q2 = Q[2] + d[1] * d[1];
    return (P[2] * q0 - 2.0 * P[1] * q1 + P[0] * q2) / det;
}

double sgfsi_pair_divergence(const sgfsi_gaussians *g, int64_t i, int64_t j) {
    int64_t D = g->D, ii = i * D + i, ij = i * D + j, jj = j * D + j;
    double P[3] = {g->cov[ii], g->cov[ij], g->cov[jj]};
    double Q[3] = {g->ref_cov[ii], g->ref_cov[ij], g->ref_cov[jj]};
    double d[2] = {g->mean[i] - g->ref_mean[i], g->mean[j] - g->ref_mean[j]};
    return 0.5 * (one_way(P, Q, d) + one_way(Q, P, d)) - 2.0; /* the log determinants cancel */
}

void sgfsi_pair_extremes(const sgfsi_gaussians *g, int64_t best[2], int64_t worst[2]) {
    double least = INFINITY, most = -INFINITY;
    best[0] = best[1] = worst[0] = worst[1] = -1;
    for (int64_t i = 0; i < g->D; i++) {
        for (int64_t j = i + 1; j < g->D; j++) {
            double off = sgfsi_pair_divergence(g, i, j); /* NaN compares false: passed over */
            if (off < least) least = off, best[0] = i, best[1] = j;
            if (off > most) most = off, worst[0] = i, worst[1] = j;
        }
    }
}
