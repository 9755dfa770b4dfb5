/* SPDX-License-Identifier: MIT
 * cuda_small.cuh: the factor of a matrix of up to 64 rows, and solves with it, by one block of
 * threads (cuda_walk.cu).
 *
 * The matrix has T tiles of eight rows in each direction, and is filled up by those of the
 * identity. While it is being factored its lower tiles are in the registers of the warps, as
 * fragments of products; its factor L then lies in the memory that the block shares, rows PITCH
 * numbers apart, and L^-1 in the other half of it: a solve is a product, for which nobody waits for
 * anybody.
 */
#pragma once

#include "context/device/cuda_lane.cuh"

static constexpr int WARP = 32, WARPS = 8, TEAM = WARP * WARPS, TILE = 8, DEEP = 4;

/* Tiles are taken two by two, the fragments of one product (add_product_16). */
template <int T> struct small {
    static constexpr int SIDE = TILE * T, PITCH = SIDE + 1,
                         BLOCKS = (T + 1) / 2 * ((T + 3) / 2) / 2;
    static constexpr int OWN_BLOCKS = (BLOCKS + WARPS - 1) / WARPS, OWN = 4 * OWN_BLOCKS;
};

/* This thread among those of its block and of its warp: of a fragment it has place (i, j). */
struct seat {
    int me, warp, thread, i, j;
};
__device__ static inline seat seat_of(void) {
    int me = static_cast<int>(threadIdx.x), thread = me % WARP;
    return {me, me / WARP, thread, thread / DEEP, thread % DEEP};
}

/* Where tile h of those of a warp stands. It may be none of the lower triangle. */
struct tile_place {
    int row, column, number; /* of its first number; which of the lower tiles */
    bool there;
};
template <int T> __device__ static inline tile_place tile_at(int warp, int h) {
    int block = warp + WARPS * (h / 4), down = 0;
    bool there = block < small<T>::BLOCKS;
    if (!there) block = 0;
    while ((down + 1) * (down + 2) / 2 <= block) down++;
    int row = 2 * down + h % 2, column = 2 * (block - down * (down + 1) / 2) + h % 4 / 2;
    there = there && row < T && column <= row;
    if (row < column) row = column;
    if (row >= T) row = T - 1;
    if (column >= T) column = T - 1;
    return {TILE * row, TILE * column, row * (row + 1) / 2 + column, there};
}

/* Columns from..from + 7 of a row of K, `from` or below, are divided by the factor of the first
 * eight rows, which each thread makes for itself. False: there is none. */
__device__ static inline bool factor_panel(const double *K, int pitch, double (&a)[TILE]) {
    bool good = true;
    double d[TILE][TILE];
#pragma unroll
    for (int r = 0; r < TILE; r++) {
#pragma unroll
        for (int c = 0; c <= r; c++) d[r][c] = K[r * pitch + c];
    }
#pragma unroll
    for (int c = 0; c < TILE; c++) {
        double inverse = rsqrt(d[c][c]);
        good = good && d[c][c] > 0;
#pragma unroll
        for (int r = c + 1; r < TILE; r++) d[r][c] *= inverse;
        a[c] *= inverse;
#pragma unroll
        for (int q = c + 1; q < TILE; q++) {
#pragma unroll
            for (int r = q; r < TILE; r++) d[r][q] = fma(-d[r][c], d[q][c], d[r][q]);
            a[q] = fma(-a[c], d[q][c], a[q]);
        }
    }
    return good;
}

/* tile, all tiles of a matrix -> K, its factor L; false: it has none. A panel of eight columns is
 * made by two warps, a row by each thread, and then taken off the tiles behind it by all. */
template <int T>
__device__ static bool factor(double (&tile)[small<T>::OWN][2], double *K, int *good) {
    constexpr int PITCH = small<T>::PITCH, SIDE = small<T>::SIDE, OWN = small<T>::OWN;
    const seat is = seat_of();
    tile_place at[OWN];
    bool fine = true;
#pragma unroll
    for (int h = 0; h < OWN; h++) at[h] = tile_at<T>(is.warp, h);
    __syncthreads();
#pragma unroll 1
    for (int from = 0; from < SIDE; from += TILE) {
        double *row = K + (from + is.me) * PITCH + from, a[TILE] = {};
        bool has_row = is.me < SIDE - from;
#pragma unroll
        for (int h = 0; h < OWN; h++) {
            if (!at[h].there || at[h].column != from) continue;
            double *to = K + (at[h].row + is.i) * PITCH + from + 2 * is.j;
            to[0] = tile[h][0];
            to[1] = tile[h][1];
        }
        __syncthreads();
        if (is.warp < (SIDE + WARP - 1) / WARP) {
#pragma unroll
            for (int c = 0; c < TILE && has_row; c++) a[c] = row[c];
            bool went_well = factor_panel(K + from * PITCH + from, PITCH, a);
            fine = fine && went_well;
#pragma unroll
            for (int c = 0; c < TILE && has_row && is.me >= TILE; c++) row[c] = a[c];
        }
        __syncthreads(); /* all have seen the first eight rows */
#pragma unroll
        for (int c = 0; c < TILE && is.me < TILE; c++)
            if (c <= is.me) row[c] = a[c];
#pragma unroll
        for (int h = 0; h < OWN; h += 2) {
            if (at[h].column <= from || !(at[h].there || at[h + 1].there)) continue;
#pragma unroll
            for (int k = from + is.j; k < from + is.j + TILE; k += DEEP) {
                const double x[2] = {-K[(at[h].row + is.i) * PITCH + k],
                                     -K[(at[h + 1].row + is.i) * PITCH + k]};
                add_product_16(&tile[h][0], x, K[(at[h].column + is.i) * PITCH + k]);
            }
        }
    }
    if (is.me == 0) *good = fine;
    __syncthreads();
    return *good != 0;
}

/* Number (r, c) of W = L^-1: it lies above the diagonal of K, turned, and its diagonal behind. */
template <int T> __device__ static inline double inverse_at(const double *K, int r, int c) {
    constexpr int PITCH = small<T>::PITCH, SIDE = small<T>::SIDE;
    return r < c ? 0 : r == c ? K[r * PITCH + SIDE] : K[c * PITCH + r];
}

/* K, a factor L: its inverse W to the other half. First the tiles of the diagonal, a column of them
 * by each thread, and then each warp a column of tiles, from the diagonal downwards. */
template <int T> __device__ static void invert(double *K) {
    constexpr int PITCH = small<T>::PITCH, SIDE = small<T>::SIDE;
    const seat is = seat_of();
    int from = is.me / TILE * TILE, own = is.me % TILE;
    if (is.me < SIDE) K[is.me * PITCH + SIDE] = 1 / K[is.me * PITCH + is.me];
    __syncwarp();
    if (is.me < SIDE) {
        double v[TILE];
#pragma unroll
        for (int r = 0; r < TILE; r++) {
            v[r] = r == own ? 1 : 0;
#pragma unroll
            for (int q = 0; q < r; q++) v[r] = fma(-K[(from + r) * PITCH + from + q], v[q], v[r]);
            v[r] *= K[(from + r) * PITCH + SIDE];
            if (r > own) K[is.me * PITCH + from + r] = v[r];
        }
    }
    __syncthreads();
    int column = TILE * is.warp;
    for (int row = column + TILE; row < SIDE;
         row += TILE) { /* W_ij = -W_ii sum_k L_ik W_kj, turned */
        double sum[2] = {}, other[2] = {}, product[2] = {}, *to = K + (column + is.i) * PITCH + row;
#pragma unroll
        for (int k = column + is.j; k < column + is.j + TILE; k += DEEP)
            add_product(sum, inverse_at<T>(K, k, column + is.i), K[(row + is.i) * PITCH + k]);
#pragma unroll 2
        for (int k = column + TILE + is.j; k < row; k += TILE) {
            add_product(sum, K[(column + is.i) * PITCH + k], K[(row + is.i) * PITCH + k]);
            add_product(other, K[(column + is.i) * PITCH + k + DEEP],
                        K[(row + is.i) * PITCH + k + DEEP]);
        }
        to[2 * is.j] = sum[0] + other[0];
        to[2 * is.j + 1] = sum[1] + other[1];
        __syncwarp();
#pragma unroll
        for (int k = is.j; k < TILE; k += DEEP)
            add_product(product, -to[k], inverse_at<T>(K, row + is.i, row + k));
        __syncwarp();
        to[2 * is.j] = product[0];
        to[2 * is.j + 1] = product[1];
        __syncwarp();
    }
    __syncthreads();
}

/* Number me / 4 of W x, in four threads each, or of W' x. */
template <int T, bool TURNED>
__device__ static double inverse_times(const double *K, const double *x) {
    constexpr int SIDE = small<T>::SIDE;
    const seat is = seat_of();
    int mine = is.me / DEEP;
    double sum = 0;
    if (mine < SIDE && TURNED)
        for (int k = mine + is.j; k < SIDE; k += DEEP)
            sum = fma(inverse_at<T>(K, k, mine), x[k], sum);
    if (mine < SIDE && !TURNED)
        for (int k = is.j; k <= mine; k += DEEP) sum = fma(inverse_at<T>(K, mine, k), x[k], sum);
    sum += __shfl_sync(~0u, sum, is.thread ^ 1);
    sum += __shfl_sync(~0u, sum, is.thread ^ 2);
    return sum;
}
