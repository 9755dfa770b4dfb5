/* SPDX-License-Identifier: MIT
 * cuda_pairs.cu: pairs of a logistic model (cuda_glm.cu), with no predictor in memory.
 *
 * A block of threads has 128 places and goes through a chunk of rows, 64 at a time. Both lie in
 * memory that it shares, the next rows being fetched meanwhile; the product of the two is made by
 * the units for products of matrices, a warp's part of which, 32 x 32, is in its registers. What
 * exp makes of it is multiplied into products for each place, which stay there until the chunk is
 * done.
 */
#include "context/device/cuda_glm.cuh"

#include <cmath>

static constexpr int HIGH = 64, WIDE = 128, TEAM = 512, WARP = 32, DEEP = 4;
static constexpr int TALL = 16, ACROSS = 4; /* of a warp: ACROSS pieces of 16 x 8 */
static constexpr int LEVELS = HIGH / TALL;  /* warps with the same places */

int64_t pair_chunks(int64_t rows) {
    constexpr int64_t LEAST = 640, MOST = 128; /* rows; chunks */
    int64_t chunks = rows / LEAST;
    return chunks < 1 ? 1 : chunks < MOST ? chunks : MOST;
}

int64_t pair_bytes(const kept_glm *g, int64_t K) {
    constexpr int64_t FEW = 64; /* places, for which most of the work would be in vain */
    int number = 0, room = 0;
    int64_t bytes =
        ((WIDE + 2 * HIGH) * g->pitch + 2 * 2 * HIGH) * static_cast<int64_t>(sizeof(double));
    if (g->link != SGFSI_LOGIT || g->weight != nullptr || g->X == nullptr || K < FEW) return 0;
    if (cudaGetDevice(&number) != cudaSuccess ||
        cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, number) !=
            cudaSuccess)
        return 0;
    return bytes <= room ? bytes : 0;
}

/* exp(x), |x| at most a few hundred: 2^k exp(r), |r| <= log(2)/2, by Taylor's series. */
__device__ static inline double exp_of(double x) {
    constexpr double shift = 6755399441055744.0; /* 1.5 2^52: rounds to a whole number */
    double k = fma(x, 1.4426950408889634, shift), n = k - shift;
    double r = fma(n, -6.93147180369123816490e-01, x), e;
    uint64_t bits, power;
    r = fma(n, -1.90821492927058770002e-10, r);
    e = fma(r, 1 / 479001600.0, 1 / 39916800.0);
    e = fma(r, e, 1 / 3628800.0);
    e = fma(r, e, 1 / 362880.0);
    e = fma(r, e, 1 / 40320.0);
    e = fma(r, e, 1 / 5040.0);
    e = fma(r, e, 1 / 720.0);
    e = fma(r, e, 1 / 120.0);
    e = fma(r, e, 1 / 24.0);
    e = fma(r, e, 1 / 6.0);
    e = fma(r, e, 0.5);
    e = fma(r, e, 1.0);
    e = fma(r, e, 1.0);
    memcpy(&power, &k, sizeof power);
    memcpy(&bits, &e, sizeof bits);
    bits += power << 52;
    memcpy(&e, &bits, sizeof e);
    return e;
}

/* Rows first .. first + HIGH - 1 of X and their factors to `rows` and `factors`, those from `end`
 * on as rows that change no product. */
__device__ static inline void fetch(int64_t first, int64_t end, int pitch, const double *X,
                                    const double *factor, double *rows, double *factors) {
    int me = static_cast<int>(threadIdx.x);
    int64_t left = end - first;
    int there = left < 0 ? 0 : left < HIGH ? static_cast<int>(left) : HIGH;
    for (int i = 2 * me; i < HIGH * pitch; i += 2 * TEAM) {
        if (i < there * pitch) copy_ahead(rows + i, X + first * pitch + i);
        else rows[i] = rows[i + 1] = 0;
    }
    if (me < there) copy_ahead(factors + 2 * me, factor + 2 * (first + me));
    else if (me < HIGH) {
        factors[2 * me] = 1;
        factors[2 * me + 1] = 0;
    }
    end_lot();
}

__global__ static void __launch_bounds__(TEAM)
    pair_tiles(int64_t n, int64_t K, int p, int pitch, int64_t stride, int64_t chunk,
               const double *X, const double *theta, const double *factor, double *part,
               double *wild) {
    POOL(pool);
    const int me = static_cast<int>(threadIdx.x);
    double *places = pool, *rows = places + WIDE * pitch, *factors = rows + 2 * HIGH * pitch;
    const int64_t groups = (K + WIDE - 1) / WIDE, at = blockIdx.x % groups * WIDE;
    const int64_t which = blockIdx.x / groups, from = which * chunk;
    const int64_t end = from + chunk < n ? from + chunk : n;
    const int warp = me / WARP, g = me % WARP / DEEP, t = me % DEEP;
    const int level = warp % LEVELS, top = level * TALL, left = warp / LEVELS * 8 * ACROSS;
    product up[2 * ACROSS], down[2 * ACROSS];
    unsigned largest = 0;
#pragma unroll
    for (int c = 0; c < 2 * ACROSS; c++) up[c] = down[c] = {1, 0};
    for (int i = me; i < WIDE * pitch; i += TEAM) {
        int place = i / pitch, col = i % pitch;
        places[i] = at + place < K && col < p ? theta[(at + place) * stride + col] : 0;
    }
    fetch(from, end, pitch, X, factor, rows, factors);
    int turn = 0;
    for (int64_t first = from; first < end; first += HIGH, turn ^= 1) {
        const double *f = factors + turn * 2 * HIGH + 2 * (top + g);
        fetch(first + HIGH, end, pitch, X, factor, rows + (turn ^ 1) * HIGH * pitch,
              factors + (turn ^ 1) * 2 * HIGH);
        await_lots<1>();
        __syncthreads();
        double sum[ACROSS][4] = {};
        const double *x_at = rows + (turn * HIGH + top + g) * pitch + t;
        const double *y_at = places + (left + g) * pitch + t;
#pragma unroll 2
        for (int k = 0; k < p; k += DEEP) {
            const double x[2] = {x_at[k], x_at[8 * pitch + k]};
            double y[ACROSS];
#pragma unroll
            for (int a = 0; a < ACROSS; a++) y[a] = y_at[8 * a * pitch + k];
#pragma unroll
            for (int a = 0; a < ACROSS; a++) add_product_16(sum[a], x, y[a]);
        }
#pragma unroll
        for (int c = 0; c < 2 * ACROSS; c++) {
#pragma unroll
            for (int r = 0; r < 2; r++) {
                double e = sum[c / 2][r * 2 + c % 2], A = f[16 * r], B = f[16 * r + 1];
                double h = exp_of(e);
                uint64_t bits;
                memcpy(&bits, &e, sizeof bits);
                unsigned size = static_cast<unsigned>(bits >> 32) & 0x7fffffff;
                largest = size > largest ? size : largest;
                up[c].x *= fma(B, h, A);
                down[c].x *= fma(A, h, B);
            }
            carry(&up[c]);
            carry(&down[c]);
        }
        __syncthreads();
    }
    await_lots<0>();
    __syncthreads();
    /* Threads of a warp with other rows, then the other warps of the same places. */
    double *spare = rows; /* (LEVELS - 1) x 2 WIDE */
#pragma unroll
    for (int c = 0; c < 2 * ACROSS; c++) {
        double plus = log_of(up[c]), minus = log_of(down[c]);
        for (int bit = DEEP; bit < WARP; bit *= 2) {
            plus += __shfl_sync(~0u, plus, me % WARP ^ bit);
            minus += __shfl_sync(~0u, minus, me % WARP ^ bit);
        }
        int place = left + c / 2 * 8 + 2 * t + c % 2;
        if (g == 0 && level > 0) {
            spare[((level - 1) * WIDE + place) * 2] = plus;
            spare[((level - 1) * WIDE + place) * 2 + 1] = minus;
        }
        up[c].x = plus;
        down[c].x = minus;
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < 2 * ACROSS; c++) {
        int place = left + c / 2 * 8 + 2 * t + c % 2;
        if (g > 0 || level > 0 || at + place >= K) continue;
        double plus = up[c].x, minus = down[c].x;
        for (int other = 0; other + 1 < LEVELS; other++) {
            plus += spare[(other * WIDE + place) * 2];
            minus += spare[(other * WIDE + place) * 2 + 1];
        }
        part[which * 2 * K + at + place] = -plus;
        part[which * 2 * K + K + at + place] = -minus;
    }
    /* 150 or more, or no number: the upper half of its bits */
    if (largest >= 0x4062c000) *wild = 1; /* whoever writes it */
}

void multiply_pairs(lane *l, const kept_glm *g, int64_t K, int64_t stride, const double *theta,
                    const double *factor, double *part, double *wild) {
    int64_t chunks = pair_chunks(g->rows), bytes = pair_bytes(g, K);
    int64_t chunk = pieces(pieces(g->rows, chunks), HIGH) * HIGH;
    if (fine(l,
             cudaFuncSetAttribute(pair_tiles, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(bytes)),
             "memory of a block"))
        TOGETHER_IN(l, pair_tiles, pieces(K, WIDE) * chunks, TEAM, bytes, g->rows, K,
                    static_cast<int>(g->p), static_cast<int>(g->pitch), stride, chunk, g->X, theta,
                    factor, part, wild);
}
