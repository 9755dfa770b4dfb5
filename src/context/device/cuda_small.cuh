/* SPDX-License-Identifier: MIT
 * cuda_small.cuh: the factor of a matrix of up to 64 rows, and solves with it, by one block of
 * threads (cuda_walk.cu).
 *
 * The matrix has T tiles of eight rows in each direction, and is filled up by those of the identity.
 * While it is being factored its lower tiles are in the registers of the warps, as fragments of
 * products; its factor then lies in the memory that the block shares, rows PITCH numbers apart, with
 * the reciprocals of its diagonal behind them.
 */
#pragma once

#include "context/device/cuda_lane.cuh"

static constexpr int WARP = 32, WARPS = 8, TEAM = WARP * WARPS, TILE = 8, DEEP = 4;

template <int T> struct small {
    static constexpr int SIDE = TILE * T, PITCH = SIDE + 1, TILES = T * (T + 1) / 2;
    static constexpr int OWN = (TILES + WARPS - 1) / WARPS; /* of a warp: OWN w, OWN w + 1, ... */
};

/* This thread among those of its block and of its warp: of a fragment it has place (i, j). */
struct seat {
    int me, warp, thread, i, j;
};
__device__ static inline seat seat_of(void) {
    int me = static_cast<int>(threadIdx.x), thread = me % WARP;
    return {me, me / WARP, thread, thread / DEEP, thread % DEEP};
}

/* Where tile `number` stands; behind the last one: where that does. */
struct tile_place {
    int row, column; /* counted in numbers */
    bool there;
};
template <int T> __device__ static inline tile_place tile_at(int number) {
    int row = 0;
    bool there = number < small<T>::TILES;
    if (!there) number = small<T>::TILES - 1;
    while ((row + 1) * (row + 2) / 2 <= number) row++;
    return {TILE * row, TILE * (number - row * (row + 1) / 2), there};
}

/* Columns from..from + 7 of a row of K, `from` or below, or of x as one row more, are divided by the
 * factor of the first eight rows, which each thread makes for itself. False: there is none. */
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

/* tile, all tiles of a matrix -> K, its factor L, and x -> L^-1 x; false: it has none. x: SIDE
 * numbers. A panel of eight columns is made by three warps, a row by each thread, and then taken off
 * the tiles behind it by all. */
template <int T>
__device__ static bool factor(double (&tile)[small<T>::OWN][2], double *K, double *x, int *good) {
    constexpr int PITCH = small<T>::PITCH, SIDE = small<T>::SIDE, OWN = small<T>::OWN;
    const seat is = seat_of();
    tile_place at[OWN];
    bool fine = true;
#pragma unroll
    for (int h = 0; h < OWN; h++) at[h] = tile_at<T>(OWN * is.warp + h);
    __syncthreads();
#pragma unroll 1
    for (int from = 0; from < SIDE; from += TILE) {
        double *panel = K + from * PITCH + from;
        bool of_x = is.me == SIDE, has_row = of_x || is.me < SIDE - from;
        double *row = of_x ? x + from : panel + is.me * PITCH, a[TILE] = {};
#pragma unroll
        for (int h = 0; h < OWN; h++) {
            if (!at[h].there || at[h].column != from) continue;
            double *to = K + (at[h].row + is.i) * PITCH + from + 2 * is.j;
            to[0] = tile[h][0];
            to[1] = tile[h][1];
        }
        __syncthreads();
        if (is.warp <= SIDE / WARP) {
#pragma unroll
            for (int c = 0; c < TILE && has_row; c++) a[c] = row[c];
            bool went_well = factor_panel(panel, PITCH, a);
            fine = fine && went_well;
#pragma unroll
            for (int c = 0; c < TILE && has_row && is.me >= TILE; c++) row[c] = a[c];
        }
        __syncthreads(); /* all have seen the first eight rows */
#pragma unroll
        for (int c = 0; c < TILE && is.me < TILE; c++) row[c] = a[c];
#pragma unroll
        for (int h = 0; h < OWN; h++) {
            if (!at[h].there || at[h].column <= from) continue;
#pragma unroll
            for (int k = from; k < from + TILE; k += DEEP)
                add_product(tile[h], -K[(at[h].row + is.i) * PITCH + k + is.j],
                            K[(at[h].column + is.i) * PITCH + k + is.j]);
        }
        int left = TEAM - 1 - is.me; /* threads of the last warps: what is left of x */
        if (left >= from + TILE && left < SIDE) {
            double v = x[left];
#pragma unroll
            for (int c = from; c < from + TILE; c++) v = fma(-K[left * PITCH + c], x[c], v);
            x[left] = v;
        }
    }
    if (is.me == 0) *good = fine;
    __syncthreads();
    if (is.me < SIDE) K[is.me * PITCH + SIDE] = 1 / K[is.me * PITCH + is.me];
    __syncthreads();
    return *good != 0;
}

/* A warp: x -> L^-1 x, or L^-T x. Eight numbers at a time, which every thread makes. */
template <int T, bool TRANSPOSED> __device__ static void solve(const double *K, double *x) {
    constexpr int PITCH = small<T>::PITCH, SIDE = small<T>::SIDE;
    int thread = static_cast<int>(threadIdx.x) % WARP;
#pragma unroll 1
    for (int turn = 0; turn < T; turn++) {
        int from = TILE * (TRANSPOSED ? T - 1 - turn : turn);
        const double *D = K + from * PITCH + from;
        double v[TILE];
#pragma unroll
        for (int c = 0; c < TILE; c++) v[c] = x[from + c];
#pragma unroll
        for (int k = 0; k < TILE; k++) {
            int c = TRANSPOSED ? TILE - 1 - k : k;
            v[c] *= K[(from + c) * PITCH + SIDE];
#pragma unroll
            for (int m = k + 1; m < TILE; m++) {
                int q = TRANSPOSED ? TILE - 1 - m : m;
                v[q] = fma(-D[TRANSPOSED ? c * PITCH + q : q * PITCH + c], v[c], v[q]);
            }
        }
        __syncwarp();
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int row = thread + WARP * h;
            double left = row < SIDE ? x[row] : 0;
#pragma unroll
            for (int k = 0; k < TILE; k++) {
                int c = TRANSPOSED ? TILE - 1 - k : k;
                if (row == from + c) left = v[c];
                if (TRANSPOSED ? row < from : row >= from + TILE && row < SIDE)
                    left = fma(-(TRANSPOSED ? D[c * PITCH + row - from]
                                            : K[row * PITCH + from + c]),
                               v[c], left);
            }
            if (row < SIDE) x[row] = left;
        }
        __syncwarp();
    }
}
