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

/* e: row i, where it is. */
__device__ static void look_at(const sgfsi_classes &c, int64_t i, double *e, double *loglik) {
    int64_t own = c.own != nullptr ? static_cast<int64_t>(c.own[divide(i, c.each)]) : -1;
    double logp = normalise(c.K, c.further, own, e);
    for (int64_t k = 0; !c.plain && !c.brief && k < c.K; k++) e[k] = (k == own ? 1 : 0) - e[k];
    if (loglik != nullptr) loglik[i] = logp;
}

/* Rows that a block of threads has in shared memory, each of an odd length, so that they begin at
 * other banks, while numbers go there and back side by side; 0: they are too long. */
static int64_t row_room(int64_t K) {
    return K <= 22 ? K | 1 : 0;
}

__global__ static void classes(sgfsi_classes c, int64_t room, double *loglik) {
    POOL(pool);
    const int64_t first = static_cast<int64_t>(blockIdx.x) * THREADS, i = item();
    const int64_t numbers = (c.n - first < THREADS ? c.n - first : THREADS) * c.K;
    double *E = c.E + first * c.K, *e = room > 0 ? pool + threadIdx.x * room : c.E + i * c.K;
    for (int64_t t = threadIdx.x; room > 0 && t < numbers; t += THREADS) {
        int64_t row = divide(t, c.K);
        pool[row * room + t - row * c.K] = E[t];
    }
    __syncthreads();
    if (i < c.n) look_at(c, i, e, loglik);
    __syncthreads();
    for (int64_t t = threadIdx.x; room > 0 && !c.brief && t < numbers; t += THREADS) {
        int64_t row = divide(t, c.K);
        E[t] = pool[row * room + t - row * c.K];
    }
}

void cuda_classes(const sgfs_device *dev, const sgfsi_classes *c) {
    lane *l = lane_of(dev);
    sgfsi_classes with = *c;
    if (with.each == 0) with.each = 1;
    if (!begin(l, 3 * c->n)) return lose(c->loglik, c->loglik != nullptr ? c->n : 0);
    if (c->own != nullptr) with.own = there(l, c->n / with.each, c->own);
    double *loglik = c->loglik != nullptr ? there_or_room(l, c->n, c->loglik) : nullptr;
    const int64_t room = row_room(c->K);
    if (c->n > 0)
        TOGETHER_IN(l, classes, pieces(c->n, THREADS), THREADS, 8 * THREADS * room, with, room,
                    loglik);
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

/* The same for many rows, which leave no thread idle: a block has as many rows as it has threads
 * for their classes, and each thread goes from unit to unit. log(1 + q) = sum_j log(1 + t_j), as on
 * the host; a sum of 512 units lets 1 + q stay a number. */
static constexpr int UNITS = 512;

__global__ static void boltzmann_rows(sgfsi_boltzmann b, int rows, double *loglik) {
    __shared__ double e[SGFSI_MOST_CLASSES], top[THREADS], scale[THREADS];
    const int64_t H = b.H, K = b.K, first = static_cast<int64_t>(blockIdx.x) * rows;
    const int here = b.n - first < rows ? static_cast<int>(b.n - first) : rows;
    const int numbers = here * static_cast<int>(K), me = static_cast<int>(threadIdx.x);
    for (int t = me; t < numbers; t += THREADS) {
        const int64_t i = first + t / K, k = t % K;
        double sum = b.B != nullptr ? b.B[k] : 0, positive = 0, q = 0;
        for (int64_t j = 0; j < H; j++) {
            double a = b.S[i * H + j] + b.U[j * K + k], s = exp(-fabs(a));
            positive += fmax(a, 0.0);
            q += q * s + s;
            if ((j + 1) % UNITS == 0) sum += log1p(q), q = 0;
        }
        e[t] = sum + positive + log1p(q);
    }
    __syncthreads();
    for (int r = me; r < here; r += THREADS) {
        double most = e[r * K];
        for (int64_t k = 1; k < K; k++) most = fmax(most, e[r * K + k]);
        top[r] = most;
    }
    __syncthreads();
    for (int t = me; t < numbers; t += THREADS) e[t] -= top[t / K];
    __syncthreads();
    for (int r = me; r < here; r += THREADS) {
        int64_t own = b.own != nullptr ? static_cast<int64_t>(b.own[first + r]) : -1;
        top[r] = own >= 0 ? e[r * K + own] : -INFINITY;
    }
    __syncthreads();
    for (int t = me; t < numbers; t += THREADS) e[t] = exp(e[t]);
    __syncthreads();
    for (int r = me; r < here; r += THREADS) {
        double sum = 0;
        for (int64_t k = 0; k < K; k++) sum += e[r * K + k];
        scale[r] = sum;
        if (loglik != nullptr) loglik[first + r] = top[r] - log(sum);
    }
    __syncthreads();
    for (int t = me; t < numbers; t += THREADS) {
        const int64_t i = first + t / K, k = t % K;
        const int64_t own = b.own != nullptr ? static_cast<int64_t>(b.own[i]) : -1;
        const double P = e[t] / scale[t / K], error = (k == own ? 1 : 0) - P;
        if (b.P != nullptr) b.P[i * K + k] = P;
        if (b.E != nullptr) b.E[i * K + k] = error;
        for (int64_t j = 0; b.EU != nullptr && j < H; j++) {
            double a = b.S[i * H + j] + b.U[j * K + k], s = exp(-fabs(a));
            b.EU[(i * H + j) * K + k] = error * ((a >= 0 ? 1 : s) / (1 + s));
        }
    }
    __syncthreads();
    for (int64_t t = me; b.EU != nullptr && t < here * H; t += THREADS) {
        const double *from = b.EU + (first * H + t) * K;
        double sum = 0;
        for (int64_t k = 0; k < K; k++) sum += from[k];
        b.ES[first * H + t] = sum;
    }
}

/* So few that every multiprocessor has a block of `boltzmann` or two. */
static constexpr int64_t FEW_ROWS = 2048;

void cuda_boltzmann(const sgfs_device *dev, const sgfsi_boltzmann *b) {
    lane *l = lane_of(dev);
    sgfsi_boltzmann with = *b;
    if (!begin(l, 3 * b->n)) return lose(b->loglik, b->loglik != nullptr ? b->n : 0);
    if (b->own != nullptr) with.own = there(l, b->n, b->own);
    double *loglik = b->loglik != nullptr ? there_or_room(l, b->n, b->loglik) : nullptr;
    int rows = THREADS / static_cast<int>(b->K);
    if (rows == 0) rows = 1;
    if (b->n > FEW_ROWS)
        TOGETHER(l, boltzmann_rows, pieces(b->n, rows), THREADS, with, rows, loglik);
    else if (b->n > 0) TOGETHER(l, boltzmann, b->n, WARP * WARPS, with, loglik);
    if (loglik != nullptr) bring(l, b->n, loglik, b->loglik);
}
