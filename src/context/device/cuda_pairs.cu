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

static constexpr int HIGH = 64, WIDE = 128, TEAM = 256, WARP = 32, DEEP = 4;
static constexpr int UP = 2, ACROSS = 4; /* pieces of 16 x 8 of a warp: 32 x 32 */

static int64_t pitch_of(int64_t p) { /* rows begin at other banks: 4 modulo 8 */
    return (p + 3) / 8 * 8 + 4;
}

int64_t pair_chunks(int64_t rows) {
    constexpr int64_t LEAST = 640, MOST = 128; /* rows; chunks */
    int64_t chunks = rows / LEAST;
    return chunks < 1 ? 1 : chunks < MOST ? chunks : MOST;
}

int64_t pair_bytes(const kept_glm *g, int64_t K) {
    constexpr int64_t FEW = 64; /* places, for which most of the work would be in vain */
    int number = 0, room = 0;
    int64_t bytes =
        ((WIDE + 2 * HIGH) * pitch_of(g->p) + 2 * 2 * HIGH) * static_cast<int64_t>(sizeof(double));
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
__device__ static inline void fetch(int64_t first, int64_t end, int p, int pitch, const double *X,
                                    const double *factor, double *rows, double *factors) {
    int me = static_cast<int>(threadIdx.x), row = me / p, col = me % p;
    for (; row < HIGH; row += TEAM / p, col += TEAM % p) {
        if (col >= p) {
            col -= p;
            if (++row >= HIGH) break;
        }
        double *to = rows + row * pitch + col;
        if (first + row < end) copy_ahead(to, X + (first + row) * p + col);
        else *to = 0;
    }
    if (me < 2 * HIGH) {
        if (first + me / 2 < end) copy_ahead(factors + me, factor + 2 * first + me);
        else factors[me] = me % 2 == 0 ? 1 : 0;
    }
    end_lot();
}

__global__ static void __launch_bounds__(TEAM)
    pair_tiles(int64_t n, int64_t K, int p, int64_t stride, int64_t chunk, const double *X,
               const double *theta, const double *factor, double *part, double *wild) {
    POOL(pool);
    const int pitch = (p + 3) / 8 * 8 + 4, me = static_cast<int>(threadIdx.x);
    double *places = pool, *rows = places + WIDE * pitch, *factors = rows + 2 * HIGH * pitch;
    const int64_t groups = (K + WIDE - 1) / WIDE, at = blockIdx.x % groups * WIDE;
    const int64_t which = blockIdx.x / groups, from = which * chunk;
    const int64_t end = from + chunk < n ? from + chunk : n;
    const int warp = me / WARP, g = me % WARP / DEEP, t = me % DEEP;
    const int top = warp % 2 * 16 * UP, left = warp / 2 * 8 * ACROSS;
    product up[2 * ACROSS], down[2 * ACROSS];
    bool calm = true;
#pragma unroll
    for (int c = 0; c < 2 * ACROSS; c++) up[c] = down[c] = {1, 0};
    for (int i = me; i < (WIDE + 2 * HIGH) * pitch; i += TEAM) pool[i] = 0;
    __syncthreads();
    for (int i = me; i < WIDE * p; i += TEAM) {
        int place = i / p, col = i % p;
        if (at + place < K) places[place * pitch + col] = theta[(at + place) * stride + col];
    }
    fetch(from, end, p, pitch, X, factor, rows, factors);
    int turn = 0;
    for (int64_t first = from; first < end; first += HIGH, turn ^= 1) {
        const double *x_rows = rows + turn * HIGH * pitch, *f = factors + turn * 2 * HIGH;
        fetch(first + HIGH, end, p, pitch, X, factor, rows + (turn ^ 1) * HIGH * pitch,
              factors + (turn ^ 1) * 2 * HIGH);
        await_lots<1>();
        __syncthreads();
        double sum[UP][ACROSS][4] = {};
        const double *x_at = x_rows + (top + g) * pitch + t,
                     *y_at = places + (left + g) * pitch + t;
#pragma unroll 2
        for (int k = 0; k < p; k += DEEP) {
            double x[UP][2], y[ACROSS];
#pragma unroll
            for (int u = 0; u < UP; u++) {
                x[u][0] = x_at[16 * u * pitch + k];
                x[u][1] = x_at[(16 * u + 8) * pitch + k];
            }
#pragma unroll
            for (int a = 0; a < ACROSS; a++) y[a] = y_at[8 * a * pitch + k];
#pragma unroll
            for (int u = 0; u < UP; u++) {
#pragma unroll
                for (int a = 0; a < ACROSS; a++) add_product_16(sum[u][a], x[u], y[a]);
            }
        }
#pragma unroll
        for (int c = 0; c < 2 * ACROSS; c++) {
#pragma unroll
            for (int r = 0; r < 2 * UP; r++) {
                const double *of_row = f + 2 * (top + r / 2 * 16 + r % 2 * 8 + g);
                double e = sum[r / 2][c / 2][r % 2 * 2 + c % 2], A = of_row[0], B = of_row[1];
                double h = exp_of(e);
                calm = calm && fabs(e) < 150;
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
    /* Threads of a warp with other rows, then the other warp of the same places. */
    double *spare = rows; /* 2 x WIDE */
#pragma unroll
    for (int c = 0; c < 2 * ACROSS; c++) {
        double plus = log_of(up[c]), minus = log_of(down[c]);
        for (int bit = DEEP; bit < WARP; bit *= 2) {
            plus += __shfl_sync(~0u, plus, me % WARP ^ bit);
            minus += __shfl_sync(~0u, minus, me % WARP ^ bit);
        }
        int place = left + c / 2 * 8 + 2 * t + c % 2;
        if (g == 0 && top > 0) {
            spare[2 * place] = plus;
            spare[2 * place + 1] = minus;
        }
        up[c].x = plus;
        down[c].x = minus;
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < 2 * ACROSS; c++) {
        int place = left + c / 2 * 8 + 2 * t + c % 2;
        if (g > 0 || top > 0 || at + place >= K) continue;
        part[which * 2 * K + at + place] = -(up[c].x + spare[2 * place]);
        part[which * 2 * K + K + at + place] = -(down[c].x + spare[2 * place + 1]);
    }
    if (!calm) *wild = 1; /* whoever writes it */
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
                    static_cast<int>(g->p), stride, chunk, g->X, theta, factor, part, wild);
}
