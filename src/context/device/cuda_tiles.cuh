/* SPDX-License-Identifier: MIT
 * cuda_tiles.cuh: matrices cut into tiles of 64 x 64 numbers, and their products by a block of 256
 * threads: what the factor of a matrix (cuda_cholesky.cu) is made of.
 *
 * In memory that a block shares the rows of a tile are PITCH numbers apart, so that the fragments
 * of products lie in other banks whether a tile is read by rows or by columns. A warp makes 16 x 32
 * numbers of a product: ACROSS pieces of 16 x 8 (add_product_16 of cuda_lane.cuh).
 */
#pragma once

#include "context/device/cuda_lane.cuh"

static constexpr int SIDE = 64, AREA = SIDE * SIDE, PITCH = SIDE + 4, TILE_ROOM = SIDE * PITCH;
static constexpr int TEAM = 256, WARP = 32, ACROSS = 4, HALF = 32;

static inline int64_t tiles_along(int64_t D) {
    return pieces(D, SIDE);
}

/* What a thread has of a product. Number h of piece a is that of row_of(h), column_of(a, h). */
struct fragment {
    double piece[ACROSS][4];
};
__device__ static inline int row_of(int h) {
    int warp = static_cast<int>(threadIdx.x) / WARP, lane = static_cast<int>(threadIdx.x) % WARP;
    return 16 * (warp % 4) + lane / 4 + h / 2 * 8;
}
__device__ static inline int column_of(int a, int h) {
    int warp = static_cast<int>(threadIdx.x) / WARP, lane = static_cast<int>(threadIdx.x) % WARP;
    return HALF * (warp / 4) + 8 * a + 2 * (lane % 4) + h % 2;
}

/* A barrier of the threads that make products. */
static constexpr int ALL_OF_TEAM = 1;
__device__ static inline void meet_team(void) {
    meet(ALL_OF_TEAM, TEAM);
}

/* sum += X Y', or X Y where Y is turned, below whose diagonal there are zeros. Both lie in shared
 * memory. Numbers along which a sum goes take turns with two of them, as a product takes longer
 * than it keeps others waiting. */
template <bool TURNED>
__device__ static inline void add_tile(fragment *sum, const double *X, const double *Y) {
    const int warp = static_cast<int>(threadIdx.x) / WARP;
    const int r = static_cast<int>(threadIdx.x) % WARP / 4, c = static_cast<int>(threadIdx.x) % 4;
    const int top = 16 * (warp % 4) + r, right = HALF * (warp / 4), left = right + r;
    const int end = TURNED ? right + HALF : SIDE;
    fragment other = {};
#pragma unroll 2
    for (int first = 0; first < end; first += 8) {
#pragma unroll
        for (int turn = 0; turn < 2; turn++) {
            const int k = first + 4 * turn + c;
            const double x[2] = {X[top * PITCH + k], X[(top + 8) * PITCH + k]};
            double y[ACROSS];
#pragma unroll
            for (int a = 0; a < ACROSS; a++)
                y[a] = TURNED ? Y[k * PITCH + left + 8 * a] : Y[(left + 8 * a) * PITCH + k];
#pragma unroll
            for (int a = 0; a < ACROSS; a++)
                if (!TURNED || first < right + 8 * (a + 1))
                    add_product_16(turn == 0 ? sum->piece[a] : other.piece[a], x, y[a]);
        }
    }
#pragma unroll
    for (int a = 0; a < ACROSS; a++) {
#pragma unroll
        for (int h = 0; h < 4; h++) sum->piece[a][h] += other.piece[a][h];
    }
}

/* Two neighbouring numbers of shared memory, the first of them at an even place. */
__device__ static inline double2 two_at(const double *x) {
    return *reinterpret_cast<const double2 *>(x);
}

__device__ static inline void put_two(double *to, double x, double y) {
    *reinterpret_cast<double2 *>(to) = {x, y};
}

/* A tile that lies in one piece in the GPU's memory begins its way to shared memory, by thread `me`
 * of so many. */
__device__ static inline void fetch_tile(double *to, const double *from, int me, int threads) {
    for (int q = me; q < AREA / 2; q += threads)
        copy_ahead(to + q / (SIDE / 2) * PITCH + 2 * (q % (SIDE / 2)), from + 2 * q);
}
/* And back, at once. */
__device__ static inline void put_tile(double *to, const double *from, int me, int threads) {
#pragma unroll 4
    for (int q = me; q < AREA / 2; q += threads)
        __stcg(reinterpret_cast<double2 *>(to) + q,
               two_at(from + q / (SIDE / 2) * PITCH + 2 * (q % (SIDE / 2))));
}
