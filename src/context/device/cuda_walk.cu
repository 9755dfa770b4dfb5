/* SPDX-License-Identifier: MIT
 * cuda_walk.cu: iterations of several chains on a GPU without the host in between (walk.h). A chain
 * is one block of threads, from its first iteration to its last: what changes from one to the next
 * lies in the memory that the block shares, and hundreds of chains fill the GPU.
 *
 * A warp looks at four rows at a time. Thread 4 i + j has of row j the numbers that stand at place
 * i of each tile of eight columns, T of them. That is how a fragment of a product of 8 x 4 numbers
 * lies, so that rows go from memory into their linear predictors, their part of the gradient and
 * their part of the matrix without being stored in between. Two tiles take turns with columns, so
 * that a thread fetches two numbers at once (column_of).
 */
#include "context/device/cuda_lane.cuh"
#include "context/device/cuda_random.cuh"
#include "context/device/cuda_wide.cuh"

#include <cmath>
#include <cstring>

static constexpr int WARP = 32, TILE = 8, DEEP = 4, AVERAGES = 2;
static constexpr int MOST_PARAMETERS = 64, MOST_ROWS = 2048; /* of a block's memory */

struct law_there {
    sgfsi_link link;
    int n, D;
    int64_t N, stride;
    double one, total, gain;
    const double *X, *y, *precision, *counted;
};

struct walk_there {
    uint64_t seed;
    int64_t chain, count;
    const sgfsi_walk_step *step;
    const double *theta;
    double *average[AVERAGES], *before[AVERAGES]; /* as they were, to be taken back */
    double *L, *path, *about, *done;
};

/* The rows of an iteration, and its noises z1 and z2, by the threads me of `threads`. */
__device__ static void draw(const law_there &law, const walk_there &w, const sgfsi_walk_step *s,
                            int me, int threads, int *row, double *z1, double *z2) {
    int pairs = (law.D + 1) / 2, last = threads - 1 - me; /* who has least to do with rows begins */
    int64_t t = s->t;
    if (s->noise != 0 && last < pairs)
        two_normals({w.seed, w.chain, t, SGFSI_NOISE}, last, z1 + 2 * last);
    last -= WARP;
    if (s->prior != 0 && last >= 0 && last < pairs)
        two_normals({w.seed, w.chain, t, SGFSI_PRIOR}, last, z2 + 2 * last);
    for (int q = me; 2 * q < law.n; q += threads) {
        uint64_t word[2];
        words_at({w.seed, w.chain, t, SGFSI_ROWS}, static_cast<uint32_t>(q), word);
        row[2 * q] = to_row(word[0], static_cast<uint64_t>(law.N));
        if (2 * q + 1 < law.n) row[2 * q + 1] = to_row(word[1], static_cast<uint64_t>(law.N));
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* What a thread has of the sums over the rows of its warp: of the gradient, and of the matrix
 * either its diagonal or, tile by tile of its lower triangle, two numbers of each. */
template <int T, int MATRIX> struct sums {
    static constexpr int TILES = MATRIX == SGFSI_WALK_FULL       ? T * (T + 1) / 2
                                 : MATRIX == SGFSI_WALK_DIAGONAL ? T
                                                                 : 1;
    double gradient[T], square[TILES][2], density;
};

/* The column at place i of tile t. */
template <int T> __device__ static int column_of(int t, int i) {
    return T % 2 != 0 && t == T - 1 ? TILE * t + i : 2 * TILE * (t / 2) + 2 * i + t % 2;
}

/* This thread's columns of row i of the data; there: false stands for zeros. */
template <int T>
__device__ static void take_row(const law_there &law, int64_t i, bool there, double *x) {
    int place = static_cast<int>(threadIdx.x) % WARP / DEEP;
    const double *from = law.X + i * law.stride;
#pragma unroll
    for (int t = 0; t + 1 < T; t += 2) {
        double2 two = {0, 0};
        if (there && TILE * t < law.D)
            two = *reinterpret_cast<const double2 *>(from + TILE * t + 2 * place);
        x[t] = two.x;
        x[t + 1] = two.y;
    }
    if (T % 2 != 0) x[T - 1] = there && TILE * (T - 1) < law.D ? from[TILE * (T - 1) + place] : 0;
}

/* The residual of a row; own: of a target drawn from the model. wanted: its log density, too. */
__device__ static double residual_of(const law_there &law, const walk_there &w, int64_t t, int at,
                                     bool own, bool wanted, double eta, double y, double *density) {
    *density = 0;
    if (law.link == SGFSI_LOG) {
        double mean = exp(eta);
        if (wanted) *density = y * eta - mean - lgamma(y + 1);
        return y - mean;
    }
    double e = exp(-fabs(eta)), p = (eta >= 0 ? 1 : e) / (1 + e);
    bool is_one = y == law.one;
    if (own) {
        uint64_t word[2]; /* behind n normals */
        words_at({w.seed, w.chain, t, SGFSI_MODEL}, static_cast<uint32_t>((law.n + 1) / 2 + at / 2),
                 word);
        is_one = to_unit(at % 2 != 0 ? word[1] : word[0]) < 1 / (1 + exp(-eta));
    }
    if (wanted) *density = (is_one ? eta : 0) - ((eta > 0 ? eta : 0) + log1p(e));
    return (is_one ? 1 : 0) - p;
}

/* A warp: two tiles below each other, X Y' and Z Y' (add_product). */
__device__ static inline void add_two_products(double top[2], double low[2], double x, double z,
                                               double y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 /* at twice the pace */
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
        "{%0, %1, %2, %3};"
        : "+d"(top[0]), "+d"(top[1]), "+d"(low[0]), "+d"(low[1])
        : "d"(x), "d"(z), "d"(y));
#else
    add_product(top, x, y);
    add_product(low, z, y);
#endif
}

/* A warp takes some groups of four rows at a time, whose residuals are made side by side: a
 * thread's own row is row j of group i, counted round. */
template <int MATRIX> struct groups_of {
    static constexpr int COUNT = MATRIX == SGFSI_WALK_PLAIN ? 4 : 2; /* a matrix takes registers */
};

template <int T, int MATRIX>
__device__ static void add_rows(const law_there &law, const walk_there &w, const sgfsi_walk_step *s,
                                const int *row, const double *theta, bool own, bool learns,
                                sums<T, MATRIX> &sum) {
    constexpr int GROUPS = groups_of<MATRIX>::COUNT, ROWS = DEEP * GROUPS;
    int thread = static_cast<int>(threadIdx.x) % WARP, i = thread / DEEP, j = thread % DEEP;
    int step = static_cast<int>(blockDim.x) / WARP * ROWS;
    double place[T], x[GROUPS][T];
#pragma unroll
    for (int t = 0; t < T; t++) place[t] = theta[column_of<T>(t, i)];
    for (int first = static_cast<int>(threadIdx.x) / WARP * ROWS; first < law.n; first += step) {
        int at = first + DEEP * (i % GROUPS) + j;
        double y = at < law.n ? law.y[row[at]] : 0, eta = 0, density;
#pragma unroll
        for (int g = 0; g < GROUPS; g++) {
            int k = first + DEEP * g + j;
            take_row<T>(law, k < law.n ? row[k] : 0, k < law.n, x[g]);
        }
#pragma unroll
        for (int g = 0; g < GROUPS; g++) {
            double of_row = 0;
#pragma unroll
            for (int t = 0; t < T; t++) of_row += x[g][t] * place[t];
#pragma unroll
            for (int far = DEEP; far < WARP; far *= 2)
                of_row += __shfl_sync(~0u, of_row, thread ^ far);
            if (i % GROUPS == g) eta = of_row;
        }
        double residual = residual_of(law, w, s->t, at, own, s->want_lp && !own, eta, y, &density);
        if (at >= law.n) residual = 0;
        if (at < law.n && i < GROUPS) sum.density += density;
#pragma unroll
        for (int g = 0; g < GROUPS; g++) {
            double factor = __shfl_sync(~0u, residual, DEEP * g + j);
#pragma unroll
            for (int t = 0; t < T; t++) {
                x[g][t] *= factor;
                sum.gradient[t] += x[g][t];
            }
            if (MATRIX == SGFSI_WALK_DIAGONAL && learns) {
#pragma unroll
                for (int t = 0; t < T; t++)
                    sum.square[t < sum.TILES ? t : 0][0] += x[g][t] * x[g][t];
            }
            if (MATRIX == SGFSI_WALK_FULL && learns) {
#pragma unroll
                for (int u = 0; u < T; u++) {
#pragma unroll
                    for (int t = u; t < T; t += 2) {
                        constexpr int LAST = sums<T, MATRIX>::TILES - 1;
                        int tile = t * (t + 1) / 2 + u, below = tile + t + 1;
                        double *top = sum.square[tile < LAST ? tile : LAST];
                        double *low = sum.square[below < LAST ? below : LAST];
                        if (t + 1 < T)
                            add_two_products(top, low, x[g][t], x[g][t + 1 < T ? t + 1 : t],
                                             x[g][u]);
                        else add_product(top, x[g][t], x[g][u]);
                    }
                }
            }
        }
    }
}

/* ---- a block's matrix ------------------------------------------------------------------------ */

/* Rows of K are PITCH numbers apart: 8 T of them, and the reciprocal of the factor's diagonal. */
template <int T> struct square_of { static constexpr int SIDE = TILE * T, PITCH = SIDE + 1; };

/* Where number (r, c) of tile (t, u) lies in K's lower triangle, and where that of (c, r) does. */
template <int T> __device__ static int place_of(int t, int u, int r, int c) {
    constexpr int PITCH = square_of<T>::PITCH;
    int from = column_of<T>(t, 0), to = column_of<T>(u, 0); /* known when this is compiled */
    int wide = T % 2 != 0 && t == T - 1 ? 1 : 2, deep = T % 2 != 0 && u == T - 1 ? 1 : 2;
    if (t / 2 == u / 2 && t != u && r < c) return to * PITCH + from + (deep * c * PITCH + wide * r);
    return from * PITCH + to + (wide * r * PITCH + deep * c);
}

/* The tiles of all warps to K. In each round another warp adds to a tile. */
template <int T, int WARPS>
__device__ static void collect(const sums<T, SGFSI_WALK_FULL> &sum, double *K) {
    constexpr int TILES = sums<T, SGFSI_WALK_FULL>::TILES;
    int warp = static_cast<int>(threadIdx.x) / WARP;
    int i = static_cast<int>(threadIdx.x) % WARP / DEEP, j = static_cast<int>(threadIdx.x) % DEEP;
#pragma unroll 1
    for (int round = 0; round < WARPS; round++) {
        int turn = (warp + WARPS - round) % WARPS; /* tiles whose number ends so are this warp's */
        double all[(TILES + WARPS - 1) / WARPS][2] = {};
#pragma unroll
        for (int store = 0; store < 2; store++) { /* all are on their way before one is needed */
#pragma unroll
            for (int t = 0; t < T; t++) {
#pragma unroll
                for (int u = 0; u <= t; u++) {
                    int tile = t * (t + 1) / 2 + u;
                    if (tile % WARPS != turn) continue;
#pragma unroll
                    for (int h = 0; h < 2; h++) {
                        double *to = K + place_of<T>(t, u, i, 2 * j + h);
                        double *number = &all[tile / WARPS][h];
                        if (t == u && 2 * j + h > i) continue; /* that of (c, r) is stored */
                        if (store == 0) *number = (round > 0 ? *to : 0) + sum.square[tile][h];
                        else *to = *number;
                    }
                }
            }
        }
        __syncthreads();
    }
}

/* Threads stand in a square of 16 x 16, 16 rows and columns apart: numbers (i, j) of a thread are
 * those of row r + 16 i and column c + 16 j. */
static constexpr int GRID = 16;
template <int T> struct grid_of { static constexpr int SIDE = (TILE * T + GRID - 1) / GRID; };

/* Number `at` of an average, which was `before`, learns v. */
__device__ static double average_of(const walk_there &w, const sgfsi_walk_step *s, int which,
                                    int at, double before, double v) {
    double decay = s->decay[which], after = decay != 0 ? decay * before : 0;
    after += s->weight[which] * v;
    w.before[which][at] = before;
    w.average[which][at] = after;
    return after;
}

/* K, sums of squares: an average learns them, and is the matrix to be factored where it is one. */
template <int T>
__device__ static void learn(const law_there &law, const walk_there &w, const sgfsi_walk_step *s,
                             int which, const double *gbar, double *K) {
    constexpr int PITCH = square_of<T>::PITCH, N = grid_of<T>::SIDE;
    int me = static_cast<int>(threadIdx.x), r = me / GRID, c = me % GRID;
    double before[N][N];
#pragma unroll
    for (int i = 0; i < N; i++) { /* all of them are on their way before the first is needed */
#pragma unroll
        for (int j = 0; j <= i; j++) {
            int row = r + GRID * i, column = c + GRID * j;
            bool there = row < law.D && column <= row;
            before[i][j] = there ? w.average[which][row * law.D + column] : 0;
        }
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
#pragma unroll
        for (int j = 0; j <= i; j++) {
            int row = r + GRID * i, column = c + GRID * j;
            if (row >= law.D || column > row) continue;
            double v = K[row * PITCH + column];
            if (which == 0) v -= law.n * gbar[row] * gbar[column];
            double after = average_of(w, s, which, row * law.D + column, before[i][j], v);
            if (s->from != which + 1) continue;
            K[row * PITCH + column] =
                law.gain * after + (row == column ? s->share * law.counted[row] : 0);
        }
    }
}

/* K, lower triangle -> its factor L, and x -> L^-1 x; false: it has none. Each thread keeps its
 * numbers until their column is next, so that threads wait for each other but once for each column.
 * Columns are scaled when all are done. x goes along as one row more, a number of it in each of D
 * threads. */
template <int T> __device__ static bool factor(int D, double *K, double *x) {
    constexpr int PITCH = square_of<T>::PITCH, SIDE = square_of<T>::SIDE, N = grid_of<T>::SIDE;
    int me = static_cast<int>(threadIdx.x), r = me / GRID, c = me % GRID;
    double own[N][N], mine = me < D ? x[me] : 0;
#pragma unroll
    for (int i = 0; i < N; i++) {
#pragma unroll
        for (int j = 0; j <= i; j++) {
            int row = r + GRID * i, column = c + GRID * j;
            own[i][j] = row < D && column <= row ? K[row * PITCH + column] : 0;
        }
    }
    __syncthreads();
#pragma unroll
    for (int block = 0; block < N; block++) {
        for (int at = 0; at < GRID; at++) {
            int k = GRID * block + at;
            if (k >= D) break;
            if (c == at) {
#pragma unroll
                for (int i = block; i < N; i++)
                    if (r + GRID * i < D) K[(r + GRID * i) * PITCH + k] = own[i][block];
            }
            if (me == k) x[k] = mine;
            __syncthreads();
            double pivot = K[k * PITCH + k], part = 1 / pivot, left[N], right[N];
            if (!(pivot > 0)) return false;
#pragma unroll
            for (int i = block; i < N; i++) {
                left[i] = r + GRID * i < D ? K[(r + GRID * i) * PITCH + k] : 0;
                right[i] = c + GRID * i < D ? K[(c + GRID * i) * PITCH + k] : 0;
            }
#pragma unroll
            for (int i = block; i < N; i++) {
#pragma unroll
                for (int j = block; j <= i; j++) own[i][j] -= left[i] * right[j] * part;
            }
            if (me > k && me < D) mine -= K[me * PITCH + k] * x[k] * part;
        }
    }
    __syncthreads();
    if (me < D) { /* what a walk that begins with this factor finds, too */
        double root = sqrt(K[me * PITCH + me]);
        K[me * PITCH + me] = root;
        K[me * PITCH + SIDE] = 1 / root;
        x[me] = mine / root;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < N; i++) {
#pragma unroll
        for (int j = 0; j <= i; j++) {
            int row = r + GRID * i, column = c + GRID * j;
            if (row < D && column < row) K[row * PITCH + column] *= K[column * PITCH + SIDE];
        }
    }
    __syncthreads();
    return true;
}

/* A warp: v = L^-T (L^-1 v + noise z), of which each thread has the numbers `thread` and 32 +
 * thread; halved: v is L^-1 v already. */
template <int T>
__device__ static void solve(int D, const double *K, bool halved, double noise, const double *z,
                             double *v) {
    constexpr int PITCH = square_of<T>::PITCH, SIDE = square_of<T>::SIDE;
    int thread = static_cast<int>(threadIdx.x) % WARP, far = thread + WARP;
    for (int k = halved ? D : 0; k < D; k++) {
        double found = __shfl_sync(~0u, k < WARP ? v[0] : v[1], k % WARP) * K[k * PITCH + SIDE];
        if (thread == k) v[0] = found;
        if (far == k) v[1] = found;
        if (thread > k && thread < D) v[0] -= K[thread * PITCH + k] * found;
        if (far > k && far < D) v[1] -= K[far * PITCH + k] * found;
    }
    if (noise != 0 && thread < D) v[0] += noise * z[thread];
    if (noise != 0 && far < D) v[1] += noise * z[far];
    for (int k = D - 1; k >= 0; k--) {
        double found = __shfl_sync(~0u, k < WARP ? v[0] : v[1], k % WARP) * K[k * PITCH + SIDE];
        if (thread == k) v[0] = found;
        if (far == k) v[1] = found;
        if (thread < k) v[0] -= K[k * PITCH + thread] * found;
        if (far < k) v[1] -= K[k * PITCH + far] * found;
    }
}

/* ---- a chain --------------------------------------------------------------------------------- */

template <int MATRIX> struct block_of {
    static constexpr int WARPS = MATRIX == SGFSI_WALK_FULL ? 8 : 16; /* a matrix takes registers */
};

/* A warp: the sum of x over its threads, in each. */
__device__ static double sum_of_warp(double x) {
    int thread = static_cast<int>(threadIdx.x) % WARP;
#pragma unroll
    for (int far = 1; far < WARP; far *= 2) x += __shfl_sync(~0u, x, thread ^ far);
    return x;
}

template <int T, int MATRIX>
__global__ static void __launch_bounds__(WARP *block_of<MATRIX>::WARPS)
    walk(law_there law, const walk_there *walks) {
    constexpr int SIDE = square_of<T>::SIDE, PITCH = square_of<T>::PITCH;
    constexpr int WARPS = block_of<MATRIX>::WARPS, THREADS_OF_IT = WARP * WARPS;
    constexpr bool FULL = MATRIX == SGFSI_WALK_FULL, DIAGONAL = MATRIX == SGFSI_WALK_DIAGONAL,
                   LEARNS = FULL || DIAGONAL;
    constexpr int numbers_of_step = static_cast<int>(sizeof(sgfsi_walk_step) / sizeof(int64_t));
    constexpr int IDLE = 2; /* warps that are busy while the others draw the next rows */
    __shared__ double K[FULL ? SIDE * PITCH : SIDE]; /* the factor, or the roots of a diagonal */
    __shared__ double part[WARPS][SIDE];             /* sums of each warp; the first becomes gbar */
    __shared__ double square[DIAGONAL ? WARPS : 1][SIDE];
    __shared__ double theta[SIDE], x[SIDE], z[2][2][SIDE], density[WARPS], about[2];
    __shared__ int row[MOST_ROWS];
    __shared__ sgfsi_walk_step steps[2]; /* this one and the next */
    const walk_there w = walks[blockIdx.x];
    const int me = static_cast<int>(threadIdx.x), thread = me % WARP, warp = me / WARP, D = law.D;
    double *const gbar = part[0];
    bool fine = true, renewed = false;
    for (int at = me; FULL && at < D * D; at += THREADS_OF_IT)
        if (at % D <= at / D) K[at / D * PITCH + at % D] = w.L[at];
    for (int at = me; FULL && at < D; at += THREADS_OF_IT)
        K[at * PITCH + SIDE] = 1 / w.L[at * D + at];
    for (int at = me; DIAGONAL && at < D; at += THREADS_OF_IT) K[at] = w.L[at];
    for (int at = me; at < SIDE; at += THREADS_OF_IT) theta[at] = at < D ? w.theta[at] : 0;
    if (me == 0) steps[0] = w.step[0];
    draw(law, w, &w.step[0], me, THREADS_OF_IT, row, z[0][0], z[0][1]);
    __syncthreads();
    int64_t k = 0;
    for (; k < w.count && fine; k++) {
        const sgfsi_walk_step *s = &steps[k % 2], *then = &steps[(k + 1) % 2];
        if (me < numbers_of_step && k + 1 < w.count)
            reinterpret_cast<int64_t *>(&steps[(k + 1) % 2])[me] =
                reinterpret_cast<const int64_t *>(&w.step[k + 1])[me];
#pragma unroll 1
        for (int which = 0; which < AVERAGES && fine; which++) {
            bool learns = LEARNS && (s->learns >> which & 1) != 0;
            if (which > 0 && !learns) continue;
            sums<T, MATRIX> sum = {};
            add_rows<T, MATRIX>(law, w, s, row, theta, which > 0, learns, sum);
            if (which == 0) { /* the gradient */
#pragma unroll
                for (int t = 0; t < T; t++) {
                    double g = sum.gradient[t];
                    g += __shfl_sync(~0u, g, thread ^ 1);
                    g += __shfl_sync(~0u, g, thread ^ 2);
                    if (thread % DEEP == 0) part[warp][column_of<T>(t, thread / DEEP)] = g;
                }
                double d = sum_of_warp(sum.density);
                if (thread == 0) density[warp] = d;
                __syncthreads();
                if (!LEARNS && warp >= IDLE && k + 1 < w.count) /* nobody looks at the rows again */
                    draw(law, w, then, me - IDLE * WARP, THREADS_OF_IT - IDLE * WARP, row,
                         z[(k + 1) % 2][0], z[(k + 1) % 2][1]);
                if (me < SIDE) {
                    double g = 0;
                    for (int i = 0; i < WARPS; i++) g += part[i][me];
                    gbar[me] = g / law.n;
                    x[me] = me < D ? law.total * gbar[me] - law.precision[me] * theta[me] : 0;
                }
                __syncthreads();
                if (warp == 0) {
                    double near = thread < SIDE ? x[thread] : 0,
                           far = thread + WARP < SIDE ? x[thread + WARP] : 0, prior = 0;
                    for (int c = thread; c < D; c += WARP)
                        prior += law.precision[c] * theta[c] * theta[c];
                    double length = sum_of_warp(near * near + far * far), lp = 0;
                    prior = sum_of_warp(prior);
                    for (int i = 0; i < WARPS; i++) lp += density[i];
                    if (thread == 0) {
                        about[0] = sqrt(length);
                        about[1] = law.total / law.n * lp - 0.5 * prior;
                    }
                }
                __syncthreads();
                fine = about[0] - about[0] == 0; /* finite */
                if (LEARNS && s->prior != 0 && me < D)
                    x[me] += s->prior * sqrt(law.counted[me]) * z[k % 2][1][me];
                __syncthreads();
            }
            if (!learns || !fine) continue;
            if constexpr (FULL) collect<T, WARPS>(sum, K);
            if constexpr (DIAGONAL) {
#pragma unroll
                for (int t = 0; t < T; t++) {
                    double g = sum.square[t][0];
                    g += __shfl_sync(~0u, g, thread ^ 1);
                    g += __shfl_sync(~0u, g, thread ^ 2);
                    if (thread % DEEP == 0) square[warp][column_of<T>(t, thread / DEEP)] = g;
                }
                __syncthreads();
            }
            if constexpr (FULL) learn<T>(law, w, s, which, gbar, K);
            if (DIAGONAL && me < D) {
                double v = 0;
                for (int i = 0; i < WARPS; i++) v += square[DIAGONAL ? i : 0][me];
                if (which == 0) v -= law.n * gbar[me] * gbar[me];
                double after = average_of(w, s, which, me, w.average[which][me], v < 0 ? 0 : v);
                if (s->from == which + 1) K[me] = law.gain * after + s->share * law.counted[me];
            }
            __syncthreads();
        }
        if (fine && LEARNS && s->from != 0) {
            if constexpr (FULL) fine = factor<T>(D, K, x);
            if constexpr (DIAGONAL) {
                for (int c = 0; c < D; c++) fine = fine && K[c] > 0;
                __syncthreads();
                if (me < D) K[me] = sqrt(K[me]);
            }
            renewed = fine;
            for (int which = 0; which < AVERAGES && !fine; which++)
                for (int at = me; s->learns >> which & 1 && at < (FULL ? D * D : D);
                     at += THREADS_OF_IT)
                    if (DIAGONAL || at % D <= at / D) w.average[which][at] = w.before[which][at];
            __syncthreads();
        }
        if (!fine) break;
        const double *noise = z[k % 2][0];
        if (LEARNS && warp > 0 && k + 1 < w.count)
            draw(law, w, then, me - WARP, THREADS_OF_IT - WARP, row, z[(k + 1) % 2][0],
                 z[(k + 1) % 2][1]);
        if (warp == 0) {
            double v[2] = {0, 0};
            for (int h = 0, c = thread; c < D; h++, c += WARP) v[h] = x[c];
            if constexpr (FULL) solve<T>(D, K, s->from != 0, s->noise, noise, v);
            for (int h = 0, c = thread; c < D; h++, c += WARP) {
                double z1 = s->noise != 0 ? s->noise * noise[c] : 0, step = v[h];
                if (DIAGONAL) step = (step / K[c] + z1) / K[c];
                theta[c] += s->size * step + (LEARNS ? 0 : z1);
                w.path[k * D + c] = theta[c];
            }
            if (thread < 2) w.about[2 * k + thread] = about[thread];
        }
        __syncthreads();
    }
    if (me == 0) *w.done = static_cast<double>(k);
    if (!renewed) return;
    for (int at = me; FULL && at < D * D; at += THREADS_OF_IT)
        if (at % D <= at / D) w.L[at] = K[at / D * PITCH + at % D];
    for (int at = me; DIAGONAL && at < D; at += THREADS_OF_IT) w.L[at] = K[at];
}

/* ---- all chains ------------------------------------------------------------------------------ */

template <int MATRIX>
static void start([[maybe_unused]] lane *l, int64_t chains, const law_there &law,
                  const walk_there *walks) {
    auto narrow = walk<2, MATRIX>, middle = walk<4, MATRIX>, wide = walk<7, MATRIX>,
         widest = walk<8, MATRIX>;
    auto kernel = law.D <= 2 * TILE   ? narrow
                  : law.D <= 4 * TILE ? middle
                  : law.D <= 7 * TILE ? wide
                                      : widest;
    TOGETHER(l, kernel, chains, WARP * block_of<MATRIX>::WARPS, law, walks);
}

static constexpr int64_t numbers_in(size_t bytes) {
    return static_cast<int64_t>(bytes / sizeof(double));
}

/* Where what a chain is told and what it answers begin in the strip, counted in numbers. */
struct layout {
    int64_t head, step, vector, path, about, done, diagonal, end;
};

/* All that goes up lies in front of all that comes down; chains follow each other in each piece. */
static layout layout_of(int64_t chains, int64_t steps, int64_t D) {
    static_assert(sizeof(walk_there) % sizeof(double) == 0 &&
                      sizeof(sgfsi_walk_step) % sizeof(double) == 0,
                  "structs lie among numbers");
    layout is = {};
    is.step = is.head + chains * numbers_in(sizeof(walk_there));
    is.vector = is.step + steps * numbers_in(sizeof(sgfsi_walk_step));
    is.diagonal = is.vector + (2 + chains) * D; /* these go up and come down */
    is.path = is.diagonal + chains * (AVERAGES + 1) * D;
    is.about = is.path + steps * D;
    is.done = is.about + steps * 2;
    is.end = is.done + chains;
    return is;
}

/* What goes up, to `near`; on the GPU the same lies at `there`. Averages as they were have room
 * behind each other in `before`. */
static void write_down(const sgfsi_walk_law *law, int64_t chains, const sgfsi_walk *walks,
                       const layout &is, double *near, double *there, double *before) {
    int64_t D = law->D, steps = 0;
    bool diagonal = law->matrix == SGFSI_WALK_DIAGONAL;
    int64_t room = diagonal ? D : D * D;
    size_t vector = static_cast<size_t>(D) * sizeof(double);
    walk_there *head = reinterpret_cast<walk_there *>(near + is.head);
    std::memcpy(near + is.vector, law->precision, vector);
    if (law->counted != nullptr) std::memcpy(near + is.vector + D, law->counted, vector);
    for (int64_t c = 0; c < chains; steps += walks[c].count, c++) {
        const sgfsi_walk *w = &walks[c];
        int64_t step = is.step + steps * numbers_in(sizeof(sgfsi_walk_step));
        int64_t theta = is.vector + (2 + c) * D, own = is.diagonal + c * (AVERAGES + 1) * D;
        walk_there to = {};
        std::memcpy(near + step, w->step, static_cast<size_t>(w->count) * sizeof *w->step);
        std::memcpy(near + theta, w->theta, vector);
        to.seed = w->seed;
        to.chain = w->chain;
        to.count = w->count;
        to.step = reinterpret_cast<const sgfsi_walk_step *>(there + step);
        to.theta = there + theta;
        for (int k = 0; k < AVERAGES; k++) {
            to.average[k] = diagonal ? there + own + k * D : w->average[k];
            to.before[k] = before + (AVERAGES * c + k) * room;
            if (diagonal && w->average[k] != nullptr)
                std::memcpy(near + own + k * D, w->average[k], vector);
        }
        to.L = diagonal ? there + own + AVERAGES * D : w->L;
        if (diagonal) std::memcpy(near + own + AVERAGES * D, w->L, vector);
        to.path = there + is.path + steps * D;
        to.about = there + is.about + steps * 2;
        to.done = there + is.done + c;
        head[c] = to;
    }
}

static void read_back(const sgfsi_walk_law *law, int64_t chains, sgfsi_walk *walks,
                      const layout &is, const double *near) {
    int64_t D = law->D, steps = 0;
    size_t vector = static_cast<size_t>(D) * sizeof(double);
    for (int64_t c = 0; c < chains; steps += walks[c].count, c++) {
        sgfsi_walk *w = &walks[c];
        const double *own = near + is.diagonal + c * (AVERAGES + 1) * D;
        w->done = static_cast<int64_t>(near[is.done + c]);
        size_t done = static_cast<size_t>(w->done);
        std::memcpy(w->path, near + is.path + steps * D, done * vector);
        std::memcpy(w->about, near + is.about + steps * 2, done * 2 * sizeof(double));
        if (law->matrix != SGFSI_WALK_DIAGONAL) continue;
        for (int k = 0; k < AVERAGES; k++)
            if (w->average[k] != nullptr) std::memcpy(w->average[k], own + k * D, vector);
        std::memcpy(w->L, own + AVERAGES * D, vector);
    }
}

void cuda_walk(const sgfs_device *dev, const sgfsi_walk_law *law, int64_t chains,
               sgfsi_walk *walks) {
    lane *l = lane_of(dev);
    int64_t D = law->D, steps = 0;
    for (int64_t c = 0; c < chains; c++) {
        steps += walks[c].count;
        walks[c].done = 0;
    }
    if (D > MOST_PARAMETERS || law->n > MOST_ROWS) return walk_wide(l, law, chains, walks);
    const layout is = layout_of(chains, steps, D);
    bool matrix = law->matrix != SGFSI_WALK_PLAIN, full = law->matrix == SGFSI_WALK_FULL;
    double *before = matrix ? scratch_of(l, chains * AVERAGES * (full ? D * D : D)) : nullptr;
    if (!begin(l, is.end)) return;
    double *near = l->pinned + l->used, *there = take(l, is.end);
    write_down(law, chains, walks, is, near, there, before);
    (void)fine(l,
               cudaMemcpyAsync(there, near, static_cast<size_t>(is.path) * sizeof *near,
                               cudaMemcpyHostToDevice, l->stream),
               "a copy");
    law_there to = {};
    to.link = law->link;
    to.n = static_cast<int>(law->n);
    to.D = static_cast<int>(D);
    to.N = law->N;
    to.one = law->one;
    to.total = law->total;
    to.gain = law->gain;
    to.stride = law->stride;
    to.X = law->X;
    to.y = law->y;
    to.precision = there + is.vector;
    to.counted = there + is.vector + D;
    const walk_there *heads = reinterpret_cast<const walk_there *>(there + is.head);
    switch (law->matrix) {
    case SGFSI_WALK_PLAIN: start<SGFSI_WALK_PLAIN>(l, chains, to, heads); break;
    case SGFSI_WALK_DIAGONAL: start<SGFSI_WALK_DIAGONAL>(l, chains, to, heads); break;
    case SGFSI_WALK_FULL: start<SGFSI_WALK_FULL>(l, chains, to, heads); break;
    }
    (void)fine(l,
               cudaMemcpyAsync(near + is.diagonal, there + is.diagonal,
                               static_cast<size_t>(is.end - is.diagonal) * sizeof *near,
                               cudaMemcpyDeviceToHost, l->stream),
               "a copy");
    settle(l);
    if (works(l)) read_back(law, chains, walks, is, near);
}
