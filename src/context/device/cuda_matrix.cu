/* SPDX-License-Identifier: MIT
 * cuda_matrix.cu: products and sums of matrices on a GPU.
 *
 * Our matrices are row-major with a lower triangle, those of cuBLAS column-major: the same bytes
 * are the transposed matrix, with an upper one. Every call here says it that way. cuBLAS adds in an
 * order of its own, which is the same each time, as long as its atomics are not allowed, which is
 * how a handle begins.
 */
#include "context/device/cuda_lane.cuh"

/* ---- vectors, which are the host's ----------------------------------------------------------- */

double cuda_dot(const sgfs_device *, int64_t n, const double *x, const double *y) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

void cuda_axpy(const sgfs_device *, int64_t n, double a, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] += a * x[i];
}

/* ---- products -------------------------------------------------------------------------------- */

/* y = a op(X') v + b y in cuBLAS's view of X, m x k: `rows` numbers of y from `cols` of v. */
static void multiply(const sgfs_device *dev, cublasOperation_t op, int64_t m, int64_t k, double a,
                     const double *X, const double *v, double b, double *y) {
    int64_t rows = op == CUBLAS_OP_T ? m : k, cols = op == CUBLAS_OP_T ? k : m;
    lane *l = lane_of(dev);
    if (rows == 0) return;
    if (cols == 0) {
        for (int64_t i = 0; i < rows; i++) y[i] = b == 0 ? 0 : b * y[i];
        return;
    }
    if (!begin(l, cols + 2 * rows)) return lose(y, rows);
    const double *from = up(l, cols, v);
    double *to = b == 0 ? take(l, rows) : const_cast<double *>(up(l, rows, y));
    (void)fine(l,
               cublasDgemv(l->blas, op, at_least_one(k), static_cast<int>(m), &a, X,
                           at_least_one(k), from, 1, &b, to, 1),
               "a product");
    down(l, rows, to, y);
    settle(l);
}

void cuda_gemv(const sgfs_device *dev, int64_t m, int64_t k, double a, const double *X,
               const double *v, double b, double *y) {
    multiply(dev, CUBLAS_OP_T, m, k, a, X, v, b, y);
}

void cuda_gemv_t(const sgfs_device *dev, int64_t m, int64_t k, double a, const double *X,
                 const double *v, double b, double *y) {
    multiply(dev, CUBLAS_OP_N, m, k, a, X, v, b, y);
}

/* An argument of a product that may be a parameter of a model, in the host's memory. */
static int64_t to_carry(const double *A, int64_t n) {
    return n > 0 && !is_far(A) ? n : 0;
}

/* C = a op(A) op(B) + b C in our view, C rows x cols, `inner` the length of the sums. */
static void gemm(const sgfs_device *dev, bool turn_a, bool turn_b, int64_t rows, int64_t cols,
                 int64_t inner, double a, const double *A, const double *B, double b, double *C) {
    lane *l = lane_of(dev);
    int64_t all = rows * cols, left = to_carry(A, rows * inner), right = to_carry(B, inner * cols),
            out = to_carry(C, all);
    if (all == 0) return;
    if (!begin(l, left + right + 2 * out)) return lose(C, out);
    if (left > 0) A = up(l, left, A);
    if (right > 0) B = up(l, right, B);
    double *to = out == 0 ? C : b == 0 ? take(l, out) : const_cast<double *>(up(l, out, C));
    (void)fine(l,
               cublasDgemm(l->blas, turn_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                           turn_a ? CUBLAS_OP_T : CUBLAS_OP_N, static_cast<int>(cols),
                           static_cast<int>(rows), static_cast<int>(inner), &a, B,
                           at_least_one(turn_b ? inner : cols), A,
                           at_least_one(turn_a ? rows : inner), &b, to, at_least_one(cols)),
               "a product");
    if (out == 0) return;
    down(l, out, to, C);
    settle(l);
}

void cuda_gemm_tn(const sgfs_device *dev, int64_t m, int64_t r, int64_t c, double a,
                  const double *A, const double *B, double b, double *C) {
    gemm(dev, true, false, r, c, m, a, A, B, b, C);
}

void cuda_gemm_nt(const sgfs_device *dev, int64_t m, int64_t r, int64_t k, double a,
                  const double *A, const double *B, double b, double *C) {
    gemm(dev, false, true, m, r, k, a, A, B, b, C);
}

void cuda_gemm_nn(const sgfs_device *dev, int64_t m, int64_t r, int64_t k, double a,
                  const double *A, const double *B, double b, double *C) {
    gemm(dev, false, false, m, r, k, a, A, B, b, C);
}

/* lower triangle of C = b C + the sum of all parts, D x D each. */
__global__ static void add_squares(int64_t D, int64_t parts, const double *part, double b,
                                   double *C) {
    int64_t t = item(), i = divide(t, D);
    if (i >= D || t - i * D > i) return;
    double sum = b == 0 ? 0 : b * C[t];
    for (int64_t k = 0; k < parts; k++) sum += part[k * D * D + t];
    C[t] = sum;
}

/* A small square of many rows would leave most of the GPU idle: the rows are cut into parts, whose
 * squares are made side by side, both triangles of them. False: not worth it, or no room. */
static bool square_parts(lane *l, int64_t m, int64_t k, double a, const double *X, double b,
                         double *C) {
    constexpr int64_t PARTS = 16, MANY_ROWS = 1 << 14, SMALL = 640;
    const int64_t each = m / PARTS, left_over = m - each * PARTS;
    const int width = at_least_one(k);
    const double none = 0;
    if (m < MANY_ROWS || k > SMALL) return false;
    double *part = scratch_of(l, (PARTS + 1) * k * k);
    if (part == nullptr) return false;
    (void)fine(l,
               cublasDgemmStridedBatched(l->blas, CUBLAS_OP_N, CUBLAS_OP_T, width, width,
                                         static_cast<int>(each), &a, X, width, each * k, X, width,
                                         each * k, &none, part, width, k * k,
                                         static_cast<int>(PARTS)),
               "products");
    if (left_over > 0)
        (void)fine(l,
                   cublasDgemm(l->blas, CUBLAS_OP_N, CUBLAS_OP_T, width, width,
                               static_cast<int>(left_over), &a, X + PARTS * each * k, width,
                               X + PARTS * each * k, width, &none, part + PARTS * k * k, width),
                   "a product");
    EACH(l, add_squares, k * k, k, PARTS + (left_over > 0), part, b, C);
    return true;
}

void cuda_syrk_t(const sgfs_device *dev, int64_t m, int64_t k, double a, const double *X, double b,
                 double *C) {
    lane *l = lane_of(dev);
    if (k == 0 || !works(l) || square_parts(l, m, k, a, X, b, C)) return;
    (void)fine(l,
               cublasDsyrk(l->blas, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, static_cast<int>(k),
                           static_cast<int>(m), &a, X, at_least_one(k), &b, C, at_least_one(k)),
               "a product");
}

void cuda_symv(const sgfs_device *dev, int64_t D, const double *A, const double *x, double *y) {
    const double one = 1, none = 0;
    lane *l = lane_of(dev);
    if (D == 0) return;
    if (!begin(l, 3 * D)) return lose(y, D);
    const double *from = up(l, D, x);
    double *to = take(l, D);
    (void)fine(l,
               cublasDsymv(l->blas, CUBLAS_FILL_MODE_UPPER, static_cast<int>(D), &one, A,
                           static_cast<int>(D), from, 1, &none, to, 1),
               "a product");
    down(l, D, to, y);
    settle(l);
}

/* ---- numbers of a matrix one by one ---------------------------------------------------------- */

__global__ static void times(int64_t n, double a, double *A) {
    int64_t i = item();
    if (i < n) A[i] *= a;
}

void cuda_times(const sgfs_device *dev, int64_t n, double a, double *A) {
    lane *l = lane_of(dev);
    if (works(l)) EACH(l, times, n, n, a, A);
}

__global__ static void minus(int64_t n, const double *A, const double *B, double *C) {
    int64_t i = item();
    if (i < n) C[i] = A[i] - B[i];
}

void cuda_minus(const sgfs_device *dev, int64_t n, const double *A, const double *B, double *C) {
    lane *l = lane_of(dev);
    if (works(l)) EACH(l, minus, n, n, A, B, C);
}

__global__ static void combine(int64_t D, double b, const double *B, double c, const double *C,
                               double *A) {
    int64_t t = item();
    if (t >= D * D || t % D > t / D) return;
    A[t] = C != nullptr ? b * B[t] + c * C[t] : b * B[t];
}

void cuda_combine(const sgfs_device *dev, int64_t D, double b, const double *B, double c,
                  const double *C, double *A) {
    lane *l = lane_of(dev);
    if (works(l)) EACH(l, combine, D * D, D, b, B, c, C, A);
}

__global__ static void add_diag(int64_t D, double c, const double *d, double *A) {
    int64_t i = item();
    if (i < D) A[i * D + i] += c * (d != nullptr ? d[i] : 1.0);
}

void cuda_add_diag(const sgfs_device *dev, int64_t D, double c, const double *d, double *A) {
    lane *l = lane_of(dev);
    if (!begin(l, D)) return;
    const double *there = d != nullptr ? up(l, D, d) : nullptr;
    EACH(l, add_diag, D, D, c, there, A);
}

__global__ static void get_diag(int64_t D, const double *A, double *d) {
    int64_t i = item();
    if (i < D) d[i] = A[i * D + i];
}

void cuda_get_diag(const sgfs_device *dev, int64_t D, const double *A, double *d) {
    lane *l = lane_of(dev);
    if (!begin(l, 2 * D)) return lose(d, D);
    double *there = take(l, D);
    EACH(l, get_diag, D, D, A, there);
    down(l, D, there, d);
    settle(l);
}

/* One block: each thread adds every 256th number, and halves are added to halves. */
__global__ static void trace(int64_t D, const double *A, double *sum) {
    __shared__ double part[THREADS];
    int me = static_cast<int>(threadIdx.x);
    double own = 0;
    for (int64_t i = me; i < D; i += THREADS) own += A[i * D + i];
    part[me] = own;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (me < half) part[me] += part[me + half];
    }
    if (me == 0) *sum = part[0];
}

double cuda_trace(const sgfs_device *dev, int64_t D, const double *A) {
    lane *l = lane_of(dev);
    double sum = 0;
    if (!begin(l, 2)) return lose(&sum, 1), sum;
    double *there = take(l, 1);
    TOGETHER(l, trace, 1, THREADS, D, A, there);
    down(l, 1, there, &sum);
    settle(l);
    return sum;
}

__global__ static void transpose(int64_t D, double *A) {
    int64_t t = item(), i = t / D, j = t % D;
    if (i >= D || j >= i) return;
    double kept = A[i * D + j];
    A[i * D + j] = A[j * D + i];
    A[j * D + i] = kept;
}

void cuda_transpose(const sgfs_device *dev, int64_t D, double *A) {
    lane *l = lane_of(dev);
    if (works(l)) EACH(l, transpose, D * D, D, A);
}
