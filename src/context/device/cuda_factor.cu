/* SPDX-License-Identifier: MIT
 * cuda_factor.cu: Cholesky factors on a GPU, their updates, and what is done with them.
 *
 * cuBLAS sees a lower triangle of ours as an upper one (cuda_matrix.cu). Factors are made, and
 * solutions with them found, by cuda_cholesky.cu.
 */
#include "context/device/cuda_cholesky.cuh"

#include <cfloat>
#include <cmath>

static constexpr int PANEL = 32;

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* ---- factoring ------------------------------------------------------------------------------- */

int64_t cuda_potrf(const sgfs_device *dev, int64_t D, double *A) {
    lane *l = lane_of(dev);
    double none = 0, order = 0;
    if (D == 0) return 0;
    double *numbers = works(l) ? scratch_of(l, factor_numbers(D)) : nullptr;
    if (numbers == nullptr || !begin(l, 2)) return 1;
    double *failed = const_cast<double *>(up(l, 1, &none));
    begin_factor(l, D, A, factor_room_at(D, numbers), failed, nullptr);
    down(l, 1, failed, &order);
    settle(l);
    return works(l) ? static_cast<int64_t>(order) : 1;
}

/* ---- triangles ------------------------------------------------------------------------------- */

/* W = the lower triangle of L, with zeros above; L NULL: the identity. */
__global__ static void copy_triangle(int64_t D, const double *L, double *W) {
    int64_t t = item(), i = t / D, j = t % D;
    if (i >= D) return;
    double x = i == j ? 1 : 0;
    if (L != nullptr) x = j <= i ? L[t] : 0;
    W[t] = x;
}

/* Room for D x D numbers, with a copy of L's triangle; NULL: the device has failed. */
static double *triangle_of(lane *l, int64_t D, const double *L) {
    double *W = works(l) ? scratch_of(l, D * D) : nullptr;
    if (W != nullptr) EACH(l, copy_triangle, D * D, D, L, W);
    return W;
}

void cuda_unpotrf(const sgfs_device *dev, int64_t D, double *L) {
    const double one = 1, none = 0;
    lane *l = lane_of(dev);
    int d = static_cast<int>(D);
    double *W = triangle_of(l, D, L);
    if (W == nullptr || D == 0) return;
    (void)fine(
        l, cublasDsyrk(l->blas, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, d, d, &one, W, d, &none, L, d),
        "a product");
}

/* W = L^-1; NULL: the device has failed. */
static double *inverse_of(lane *l, int64_t D, const double *L) {
    const double one = 1;
    int d = static_cast<int>(D);
    double *W = triangle_of(l, D, nullptr);
    if (W == nullptr || D == 0) return nullptr;
    bool solved = fine(l,
                       cublasDtrsm(l->blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                                   CUBLAS_DIAG_NON_UNIT, d, d, &one, L, d, W, d),
                       "an inverse");
    return solved ? W : nullptr;
}

void cuda_potri(const sgfs_device *dev, int64_t D, double *L) {
    const double one = 1, none = 0;
    lane *l = lane_of(dev);
    int d = static_cast<int>(D);
    double *W = inverse_of(l, D, L);
    if (W == nullptr) return;
    (void)fine(
        l, cublasDsyrk(l->blas, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, d, d, &one, W, d, &none, L, d),
        "an inverse");
}

void cuda_invert_factor(const sgfs_device *dev, int64_t D, const double *L, double *A) {
    const double one = 1, none = 0;
    lane *l = lane_of(dev);
    int d = static_cast<int>(D);
    double *W = inverse_of(l, D, L);
    if (W == nullptr) return;
    (void)fine(
        l, cublasDgemm(l->blas, CUBLAS_OP_N, CUBLAS_OP_T, d, d, d, &one, W, d, W, d, &none, A, d),
        "an inverse");
}

/* x, a vector of the host's, goes there, is worked on, and comes back. */
static void solve(const sgfs_device *dev, int64_t D, const double *L, int halves, double a,
                  const double *z, double *x) {
    lane *l = lane_of(dev);
    if (D == 0) return;
    double *numbers = works(l) ? scratch_of(l, factor_numbers(D)) : nullptr;
    if (numbers == nullptr || !begin(l, 3 * D)) return lose(x, D);
    const factor_room room = factor_room_at(D, numbers);
    solution s = {};
    s.halves = halves;
    s.D = D;
    s.a = a;
    s.x = const_cast<double *>(up(l, D, x));
    s.z = z != nullptr ? up(l, D, z) : nullptr;
    begin_inverses(l, D, L, room, true, nullptr, nullptr);
    begin_solution(l, s, room);
    down(l, D, s.x, x);
    settle(l);
}

void cuda_trsv(const sgfs_device *dev, int64_t D, const double *L, bool transposed, double *x) {
    solve(dev, D, L, transposed ? 2 : 1, 0, nullptr, x);
}

/* Both halves of a solution on one way there and back. */
void cuda_solve_noisy(const sgfs_device *dev, int64_t D, const double *L, double a, const double *z,
                      double *x) {
    solve(dev, D, L, 3, a, z, x);
}

void cuda_trmv(const sgfs_device *dev, int64_t D, const double *L, bool transposed, double *x) {
    lane *l = lane_of(dev);
    int d = static_cast<int>(D);
    if (D == 0) return;
    if (!begin(l, 2 * D)) return lose(x, D);
    double *there = const_cast<double *>(up(l, D, x));
    (void)fine(l,
               cublasDtrmv(l->blas, CUBLAS_FILL_MODE_UPPER, transposed ? CUBLAS_OP_N : CUBLAS_OP_T,
                           CUBLAS_DIAG_NON_UNIT, d, L, d, there, 1),
               "a triangle");
    down(l, D, there, x);
    settle(l);
}

/* ---- updates --------------------------------------------------------------------------------- */

/* One panel of the QR factorisation of [L'; X]: reflections I - tau [1; v] [1; v]' that clear the
 * columns k .. k + width - 1 of X, of which the v stay, and their product I - V T V' (T upper,
 * 32 x 32). One block, 32 columns by 32 lots of rows; sums are made lot by lot. */
static constexpr int LOTS = 32;

__global__ static void reflect_panel(int64_t D, int64_t n, int64_t k, int width, double *L,
                                     double *X, double *T) {
    __shared__ double part[LOTS][PANEL], sum[PANEL], tau, scale;
    int c = static_cast<int>(threadIdx.x) % PANEL, lot = static_cast<int>(threadIdx.x) / PANEL;
    double *column = X + k + c, *corner = L + (k + c) * D + k; /* corner[j]: row j of L' */
    for (int j = 0; j < width; j++) {
        double own = 0;
        for (int64_t i = lot; c < width && i < n; i += LOTS)
            own += X[i * D + k + j] * column[i * D];
        part[lot][c] = own;
        __syncthreads();
        if (lot == 0) {
            double all = 0;
            for (int other = 0; other < LOTS; other++) all += part[other][c];
            sum[c] = all;
        }
        __syncthreads();
        if (lot == 0 && c == j) {
            double alpha = corner[j], norm = hypot(alpha, sqrt(sum[j]));
            bool nothing = sum[j] == 0;
            double beta = alpha > 0 ? -norm : norm;
            tau = nothing ? 0 : (beta - alpha) / beta;
            scale = nothing ? 0 : 1 / (alpha - beta);
            if (!nothing) corner[j] = beta;
        }
        __syncthreads();
        double along = c > j && c < width ? corner[j] + scale * sum[c] : 0; /* [1; v]' [R; X] */
        for (int64_t i = lot; c > j && c < width && i < n; i += LOTS)
            column[i * D] -= tau * along * (scale * X[i * D + k + j]);
        __syncthreads();
        for (int64_t i = lot; c == j && i < n; i += LOTS) column[i * D] *= scale;
        if (lot == 0 && c > j && c < width) corner[j] -= tau * along;
        /* T: its column j is -tau T (V' v) above the diagonal */
        if (lot == 0) {
            double above = 0;
            for (int m = c; m < j; m++) above += T[c * PANEL + m] * (scale * sum[m]);
            T[c * PANEL + j] = c < j ? -tau * above : c == j ? tau : 0;
        }
        __syncthreads();
    }
}

/* Columns of L' to the right of a panel, as rows of L below it: W (rest x width) = that part. */
__global__ static void copy_below(int64_t D, int64_t k, int64_t width, int64_t rest,
                                  const double *L, double *W) {
    int64_t t = item();
    if (t < rest * width) W[t] = L[(k + width + t / width) * D + k + t % width];
}

__global__ static void subtract_below(int64_t D, int64_t k, int64_t width, int64_t rest,
                                      const double *W, double *L) {
    int64_t t = item();
    if (t < rest * width) L[(k + width + t / width) * D + k + t % width] -= W[t];
}

/* Q' for the columns to the right: W = T' (R + V' X), R -= W, X -= V W. In cuBLAS's view W is
 * width x rest, X' is rest x n and V' width x n. work: two times width x rest */
static void reflect_rest(lane *l, int64_t D, int64_t n, int64_t k, int64_t width, double *L,
                         double *X, const double *T, double *work) {
    const double one = 1, none = 0, less = -1;
    int64_t rest = D - k - width;
    double *W = work, *turned = W + width * rest;
    int w = static_cast<int>(width), r = static_cast<int>(rest), rows = static_cast<int>(n),
        d = static_cast<int>(D);
    const double *V = X + k;
    double *right = X + k + width;
    EACH(l, copy_below, rest * width, D, k, width, rest, L, W);
    bool made = fine(l,
                     cublasDgemm(l->blas, CUBLAS_OP_N, CUBLAS_OP_T, w, r, rows, &one, V, d, right,
                                 d, &one, W, w),
                     "an update");
    /* T is row-major, and is to be transposed: as cuBLAS sees it */
    made = made && fine(l,
                        cublasDgemm(l->blas, CUBLAS_OP_N, CUBLAS_OP_N, w, r, w, &one, T, PANEL, W,
                                    w, &none, turned, w),
                        "an update");
    if (!made) return;
    EACH(l, subtract_below, rest * width, D, k, width, rest, turned, L);
    (void)fine(l,
               cublasDgemm(l->blas, CUBLAS_OP_T, CUBLAS_OP_N, r, rows, w, &less, turned, w, V, d,
                           &one, right, d),
               "an update");
}

/* sign: of the diagonal, D. bad: 1 where some number of it is zero or not finite. */
__global__ static void signs_of(int64_t D, const double *L, double *sign, double *bad) {
    int64_t j = item();
    if (j >= D) return;
    double d = L[j * D + j];
    sign[j] = d > 0 ? 1 : -1;
    if (!(fabs(d) > 0 && fabs(d) <= DBL_MAX)) *bad = 1;
}

__global__ static void turn_signs(int64_t D, const double *sign, double *L) {
    int64_t t = item(), i = t / D, j = t % D;
    if (i < D && j <= i) L[t] *= sign[j];
}

int64_t cuda_chol_update(const sgfs_device *dev, int64_t D, int64_t n, double *L, double *X,
                         double *work) {
    lane *l = lane_of(dev);
    double none = 0, spoilt = 0;
    if (n == 0 || D == 0) return 0;
    double *T = works(l) ? scratch_of(l, PANEL * PANEL) : nullptr;
    if (T == nullptr || !begin(l, D + 2)) return -1;
    double *bad = const_cast<double *>(up(l, 1, &none)), *sign = take(l, D);
    for (int64_t k = 0; k < D; k += PANEL) {
        int64_t width = least(PANEL, D - k);
        TOGETHER(l, reflect_panel, 1, PANEL * LOTS, D, n, k, static_cast<int>(width), L, X, T);
        if (k + width < D) reflect_rest(l, D, n, k, width, L, X, T, work);
    }
    EACH(l, signs_of, D, D, L, sign, bad);
    EACH(l, turn_signs, D * D, D, sign, L);
    down(l, 1, bad, &spoilt);
    settle(l);
    return spoilt == 0 ? 0 : -1;
}

__global__ static void look_positive(int64_t D, const double *P, double *bad) {
    int64_t j = item();
    if (j < D && !(P[j * D + j] > 0)) *bad = 1;
}

__global__ static void add_one(int64_t n, double *C) {
    int64_t i = item();
    if (i < n) C[i * n + i] += 1;
}

/* Woodbury: with Y = X P and C C' = I + X P X',  P -= Y' C^-T C^-1 Y.
 *   work: Y (n x D), C (n x n) */
int64_t cuda_inv_update(const sgfs_device *dev, int64_t D, int64_t n, double *P, double *X,
                        double *work) {
    const double one = 1, none = 0, less = -1;
    lane *l = lane_of(dev);
    double *Y = work, *C = Y + n * D, nothing = 0, failed[2] = {0, 0};
    int d = static_cast<int>(D), m = static_cast<int>(n);
    if (n == 0 || D == 0) return 0;
    double *numbers = works(l) ? scratch_of(l, factor_numbers(n)) : nullptr;
    if (numbers == nullptr || !begin(l, 4)) return -1;
    double *order = const_cast<double *>(up(l, 1, &nothing)),
           *bad = const_cast<double *>(up(l, 1, &nothing));
    bool made =
        fine(l,
             cublasDsymm(l->blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, d, m, &one, P, d, X, d,
                         &none, Y, d),
             "an update") &&
        fine(l,
             cublasDgemm(l->blas, CUBLAS_OP_T, CUBLAS_OP_N, m, m, d, &one, Y, d, X, d, &none, C, m),
             "an update");
    EACH(l, add_one, n, n, C);
    begin_factor(l, n, C, factor_room_at(n, numbers), order, nullptr);
    made = made &&
           fine(l,
                cublasDtrsm(l->blas, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                            CUBLAS_DIAG_NON_UNIT, d, m, &one, C, m, Y, d),
                "an update") &&
           fine(l,
                cublasDsyrk(l->blas, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, d, m, &less, Y, d, &one,
                            P, d),
                "an update");
    EACH(l, look_positive, D, D, P, bad);
    down(l, 1, order, &failed[0]);
    down(l, 1, bad, &failed[1]);
    settle(l);
    return made && failed[0] == 0 && failed[1] == 0 ? 0 : -1;
}
