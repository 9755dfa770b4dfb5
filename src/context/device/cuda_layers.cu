/* SPDX-License-Identifier: MIT
 * cuda_layers.cu: the layers of networks on a GPU: hidden units, errors of classes, and Boltzmann
 * machines. Each kernel says in which order it adds.
 */
#include "context/device/cuda_lane.cuh"

#include <cmath>

/* ---- hidden units ---------------------------------------------------------------------------- */

__global__ static void activate(sgfsi_unit unit, int64_t n, int64_t h, const double *A, double *V) {
    int64_t t = item(), i = t / (h + 1), j = t % (h + 1) - 1;
    if (i >= n) return;
    double a = j < 0 ? 0 : A[i * h + j], value = 1;
    if (j >= 0 && unit == SGFSI_UNIT_LOGISTIC) value = 1 / (1 + exp(a));
    if (j >= 0 && unit == SGFSI_UNIT_TANH) value = 1 - 2 / (1 + exp(a));
    if (j >= 0 && unit == SGFSI_UNIT_RELU) value = a > 0 ? a : 0;
    V[t] = value;
}

void cuda_activate(const sgfs_device *dev, sgfsi_unit unit, int64_t n, int64_t h, double *A,
                   double *V) {
    lane *l = lane_of(dev);
    if (works(l)) EACH(l, activate, n * (h + 1), unit, n, h, A, V);
}

__global__ static void slope(sgfsi_unit unit, int64_t n, int64_t h, const double *V,
                             const double *B, double *C) {
    int64_t t = item(), i = t / h, at = t + i + 1; /* of rows with the bias's column */
    if (i >= n) return;
    double v = V[at], b = B[at];
    C[t] = unit == SGFSI_UNIT_LOGISTIC ? b * v * (1 - v)
           : unit == SGFSI_UNIT_TANH   ? b * (1 - v * v)
           : v > 0                     ? b
                                       : 0;
}

void cuda_slope(const sgfs_device *dev, sgfsi_unit unit, int64_t n, int64_t h, const double *V,
                const double *B, double *C) {
    lane *l = lane_of(dev);
    if (works(l)) EACH(l, slope, n * h, unit, n, h, V, B, C);
}

/* ---- classes --------------------------------------------------------------------------------- */

/* Levels e (K) of one row to probabilities; returns log p_own, -infinity where own is negative.
 * Adds from class to class, first the further one, whose level is 0. */
__device__ static double normalise(int64_t K, bool further, int64_t own, double *e) {
    double most = further ? 0 : e[0];
    for (int64_t k = 0; k < K; k++) most = e[k] > most ? e[k] : most;
    double sum = further ? exp(-most) : 0, level = own == K ? -most : -INFINITY;
    for (int64_t k = 0; k < K; k++) {
        double below = e[k] - most;
        if (k == own) level = below;
        e[k] = exp(below);
        sum += e[k];
    }
    for (int64_t k = 0; k < K; k++) e[k] /= sum;
    return level - log(sum);
}

__global__ static void classes(sgfsi_classes c, double *loglik) {
    int64_t i = item();
    if (i >= c.n) return;
    double *e = c.E + i * c.K;
    int64_t own = c.own != nullptr ? static_cast<int64_t>(c.own[i / c.each]) : -1;
    double logp = normalise(c.K, c.further, own, e);
    for (int64_t k = 0; !c.plain && k < c.K; k++) e[k] = (k == own ? 1 : 0) - e[k];
    if (loglik != nullptr) loglik[i] = logp;
}

void cuda_classes(const sgfs_device *dev, const sgfsi_classes *c) {
    lane *l = lane_of(dev);
    sgfsi_classes with = *c;
    if (with.each == 0) with.each = 1;
    if (!begin(l, 3 * c->n)) return lose(c->loglik, c->loglik != nullptr ? c->n : 0);
    if (c->own != nullptr) with.own = there(l, c->n / with.each, c->own);
    double *loglik = c->loglik != nullptr ? there_or_room(l, c->n, c->loglik) : nullptr;
    EACH(l, classes, c->n, with, loglik);
    if (loglik != nullptr) bring(l, c->n, loglik, c->loglik);
}

/* ---- Boltzmann machines ---------------------------------------------------------------------- */

static constexpr int WARP = 32, WARPS = 8;

/* The sum of x over a warp, in its first thread: halves to halves. */
__device__ static double sum_of_warp(double x) {
    int me = static_cast<int>(threadIdx.x) % WARP;
    for (int half = WARP / 2; half > 0; half /= 2) x += __shfl_sync(~0u, x, (me + half) % WARP);
    return x;
}

/* A block for each row. Its warps take classes in turn, the threads of a warp units: each adds
 * every 32nd. Then the first thread makes probabilities of them, and all threads errors of the
 * units. */
__global__ static void boltzmann(sgfsi_boltzmann b, double *loglik) {
    __shared__ double e[SGFSI_MOST_CLASSES];
    int64_t i = blockIdx.x, H = b.H, K = b.K;
    const double *S = b.S + i * H;
    int me = static_cast<int>(threadIdx.x), warp = me / WARP;
    for (int64_t k = warp; k < K; k += WARPS) {
        double sum = 0;
        for (int64_t j = me % WARP; j < H; j += WARP) {
            double a = S[j] + b.U[j * K + k];
            sum += fmax(a, 0.0) + log1p(exp(-fabs(a)));
        }
        sum = sum_of_warp(sum);
        if (me % WARP == 0) e[k] = sum + (b.B != nullptr ? b.B[k] : 0);
    }
    __syncthreads();
    int64_t own = b.own != nullptr ? static_cast<int64_t>(b.own[i]) : -1;
    if (me == 0) {
        double logp = normalise(K, false, own, e);
        if (loglik != nullptr) loglik[i] = logp;
    }
    __syncthreads();
    for (int64_t k = me; k < K; k += WARP * WARPS) {
        if (b.P != nullptr) b.P[i * K + k] = e[k];
        if (b.E != nullptr) b.E[i * K + k] = (k == own ? 1 : 0) - e[k];
    }
    for (int64_t j = me; b.EU != nullptr && j < H; j += WARP * WARPS) {
        double *to = b.EU + (i * H + j) * K, sum = 0;
        for (int64_t k = 0; k < K; k++) {
            double a = S[j] + b.U[j * K + k], t = exp(-fabs(a));
            to[k] = ((k == own ? 1 : 0) - e[k]) * ((a >= 0 ? 1 : t) / (1 + t));
            sum += to[k];
        }
        b.ES[i * H + j] = sum;
    }
}

void cuda_boltzmann(const sgfs_device *dev, const sgfsi_boltzmann *b) {
    lane *l = lane_of(dev);
    sgfsi_boltzmann with = *b;
    if (!begin(l, 3 * b->n)) return lose(b->loglik, b->loglik != nullptr ? b->n : 0);
    if (b->own != nullptr) with.own = there(l, b->n, b->own);
    double *loglik = b->loglik != nullptr ? there_or_room(l, b->n, b->loglik) : nullptr;
    if (b->n > 0) TOGETHER(l, boltzmann, b->n, WARP * WARPS, with, loglik);
    if (loglik != nullptr) bring(l, b->n, loglik, b->loglik);
}
