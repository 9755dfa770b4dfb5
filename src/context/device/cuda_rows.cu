/* SPDX-License-Identifier: MIT
 * cuda_rows.cu: rows that stay on a GPU, batches of them, and what is done row by row.
 *
 * Rows lie there as they are stored in the file, one after another, so that bytes stay bytes; the
 * kernel that gathers a batch makes doubles of them, chooses the columns, and standardises.
 */
#include "context/device/cuda_rows.cuh"

#include <cmath>
#include <new>

/* ---- rows that stay -------------------------------------------------------------------------- */

static int64_t bytes_of(sgfsi_dtype type) {
    switch (type) {
    case SGFSI_F64:
    case SGFSI_I64: return 8;
    case SGFSI_F32:
    case SGFSI_I32:
    case SGFSI_U32: return 4;
    case SGFSI_I16:
    case SGFSI_U16: return 2;
    case SGFSI_I8:
    case SGFSI_U8: return 1;
    case SGFSI_CSR: break;
    }
    return 0;
}

/* Bytes of a row up to the end of the last column that is used: the last row may end there. */
static int64_t used_bytes(const sgfsi_stored *s) {
    int64_t columns = 0;
    for (int64_t k = 0; k < s->spans; k++) {
        int64_t end = s->span[k].first + s->span[k].count;
        columns = end > columns ? end : columns;
    }
    return columns * bytes_of(s->type);
}

void cuda_drop_rows(const sgfs_device *dev, void *kept) {
    kept_rows *k = static_cast<kept_rows *>(kept);
    (void)lane_of(dev);
    if (!k->lent) (void)cudaFree(k->cells);
    (void)cudaFree(k->column);
    (void)cudaFree(k->shift);
    (void)cudaFree(k->scale);
    close_stretches(k->way);
    delete k;
}

static bool copy(void *to, const void *from, int64_t bytes) {
    return cudaMemcpy(to, from, static_cast<size_t>(bytes), cudaMemcpyHostToDevice) == cudaSuccess;
}

/* A copy of `count` numbers; true where there are none to copy. */
template <typename T> static bool copy_all(T **to, const T *from, int64_t count) {
    size_t bytes = static_cast<size_t>(count) * sizeof **to;
    *to = nullptr;
    if (from == nullptr || count == 0) return true;
    return cudaMalloc(reinterpret_cast<void **>(to), bytes) == cudaSuccess &&
           copy(*to, from, static_cast<int64_t>(bytes));
}

static bool copy_columns(kept_rows *k, const sgfsi_stored *s) {
    int64_t *column = new (std::nothrow) int64_t[static_cast<size_t>(s->features) + 1], at = 0;
    if (column == nullptr) return false;
    for (int64_t i = 0; i < s->spans; i++)
        for (int64_t c = 0; c < s->span[i].count; c++) column[at++] = s->span[i].first + c;
    bool fits = copy_all(&k->column, column, s->features);
    delete[] column;
    return fits && copy_all(&k->shift, s->scale != nullptr ? s->shift : nullptr, s->features) &&
           copy_all(&k->scale, s->scale, s->features);
}

/* Cells that are on this GPU stay where they are, when whoever made them has done so. */
static bool adopt_cells(const sgfs_device *dev, kept_rows *k, const sgfsi_stored *s) {
    cudaPointerAttributes is;
    k->lent = true;
    k->cells = const_cast<char *>(s->part[0].cells);
    if (cudaPointerGetAttributes(&is, k->cells) != cudaSuccess) return false;
    bool far = is.type == cudaMemoryTypeDevice || is.type == cudaMemoryTypeManaged;
    return far && is.device == dev->number && cudaDeviceSynchronize() == cudaSuccess;
}

static bool copy_cells(kept_rows *k, const sgfsi_stored *s) {
    int64_t used = used_bytes(s);
    size_t bytes = static_cast<size_t>(k->there * s->row_bytes);
    if (k->there > 0 && cudaMalloc(reinterpret_cast<void **>(&k->cells), bytes) != cudaSuccess)
        return false;
    if (s->read != nullptr) return (k->there == k->rows || make_slots(k->way)) && copy_there(k);
    for (int64_t i = 0; i < s->parts; i++) {
        const sgfsi_stored_part *part = &s->part[i];
        if (part->rows == 0) continue;
        if (!copy(k->cells + part->first * s->row_bytes, part->cells,
                  (part->rows - 1) * s->row_bytes + used))
            return false;
    }
    return true;
}

/* How many rows are to lie there, all or some stretches; -1: they stay with the host. An eighth of
 * the memory stays free for what is computed with the rows. */
static int64_t rows_that_fit(const sgfsi_stored *s, int64_t stretch, double left, double all) {
    const double rows = static_cast<double>(s->rows), bytes = static_cast<double>(s->row_bytes);
    double room = left - all / 8;
    if (rows * bytes < room) return s->rows;
    if (s->beside == 0 || s->read == nullptr) return -1;
    room -= static_cast<double>(s->beside) * sizeof(double) * rows +
            static_cast<double>(stretch) *
                (SLOTS * bytes + sizeof(double) * static_cast<double>(s->features + 8));
    return rows_of_stretches(s->rows, stretch, room > 0 ? static_cast<int64_t>(room / bytes) : 0);
}

void *cuda_keep_rows(const sgfs_device *dev, const sgfsi_stored *s) {
    int64_t size = bytes_of(s->type);
    size_t left = 0, all = 0;
    lane *l = lane_of(dev);
    if (!works(l) || size == 0 || s->row_bytes % size != 0 ||
        cudaMemGetInfo(&left, &all) != cudaSuccess)
        return nullptr;
    const double memory = static_cast<double>(all);
    int64_t stretch = stretch_rows(s, memory);
    int64_t there =
        s->there ? s->rows : rows_that_fit(s, stretch, static_cast<double>(left), memory);
    kept_rows *k = there >= 0 ? new (std::nothrow) kept_rows() : nullptr;
    if (k == nullptr) return nullptr;
    k->type = s->type;
    k->rows = s->rows;
    k->there = there;
    k->row_bytes = s->row_bytes;
    k->features = s->features;
    k->intercept = s->intercept;
    k->way = open_stretches(s, stretch);
    bool cells = k->way != nullptr && (s->there ? adopt_cells(dev, k, s) : copy_cells(k, s));
    if (cells && copy_columns(k, s) && cudaDeviceSynchronize() == cudaSuccess)
        return k;             /* copies may go on after their call */
    (void)cudaGetLastError(); /* the host gathers */
    cuda_drop_rows(dev, k);
    return nullptr;
}

int64_t cuda_rows_there(const sgfs_device *, const void *kept) {
    return static_cast<const kept_rows *>(kept)->there;
}

/* ---- batches --------------------------------------------------------------------------------- */

template <typename T>
__global__ static void gather(int64_t n, kept_rows k, const int64_t *row, int64_t first,
                              int64_t stride, double *X) {
    int64_t at = item();
    if (at >= n * stride) return;
    int64_t i = divide(at, stride), j = at - i * stride - k.intercept;
    int64_t from = row != nullptr ? row[i] : first + i;
    double x = j < k.features ? 1 : 0;
    if (j >= 0 && j < k.features) {
        const T *cell = reinterpret_cast<const T *>(k.cells + from * k.row_bytes);
        x = static_cast<double>(cell[k.column[j]]);
        if (k.scale != nullptr) x = (x - k.shift[j]) * k.scale[j];
    }
    X[at] = x;
}

void gather_rows(lane *l, const void *kept, const int64_t *at, int64_t first, int64_t n,
                 int64_t stride, double *X) {
    const kept_rows *k = static_cast<const kept_rows *>(kept);
    int64_t count = n * stride;
    switch (k->type) {
    case SGFSI_F64: EACH(l, gather<double>, count, n, *k, at, first, stride, X); break;
    case SGFSI_F32: EACH(l, gather<float>, count, n, *k, at, first, stride, X); break;
    case SGFSI_I64: EACH(l, gather<int64_t>, count, n, *k, at, first, stride, X); break;
    case SGFSI_I32: EACH(l, gather<int32_t>, count, n, *k, at, first, stride, X); break;
    case SGFSI_I16: EACH(l, gather<int16_t>, count, n, *k, at, first, stride, X); break;
    case SGFSI_I8: EACH(l, gather<int8_t>, count, n, *k, at, first, stride, X); break;
    case SGFSI_U8: EACH(l, gather<uint8_t>, count, n, *k, at, first, stride, X); break;
    case SGFSI_U16: EACH(l, gather<uint16_t>, count, n, *k, at, first, stride, X); break;
    case SGFSI_U32: EACH(l, gather<uint32_t>, count, n, *k, at, first, stride, X); break;
    case SGFSI_CSR: break;
    }
}

void cuda_gather(const sgfs_device *dev, const void *kept, const int64_t *row, int64_t first,
                 int64_t n, double *X) {
    lane *l = lane_of(dev);
    if (!begin(l, row != nullptr ? n : 0)) return;
    const kept_rows *k = static_cast<const kept_rows *>(kept);
    gather_rows(l, kept, row != nullptr ? up(l, n, row) : nullptr, first, n,
                k->features + k->intercept, X);
}

/* Passes over all rows have threads of their own, which end with them. */
void cuda_fetch(const sgfs_device *dev, const void *kept, const int64_t *row, int64_t first,
                int64_t n, double *x) {
    lane *l = borrow_lane(dev);
    const kept_rows *k = static_cast<const kept_rows *>(kept);
    int64_t stride = k->features + k->intercept;
    if (begin(l, 2 * n * stride + (row != nullptr ? n : 0))) {
        const int64_t *at = row != nullptr ? up(l, n, row) : nullptr;
        double *X = take(l, n * stride);
        gather_rows(l, kept, at, first, n, stride, X);
        down(l, n * stride, X, x);
        settle(l);
    } else {
        lose(x, n * stride);
    }
    return_lane(l);
}

/* ---- row by row ------------------------------------------------------------------------------ */

/* One row: as device.c does it, in the same order. */
__global__ static void softmax(int64_t n, int64_t rows, int further, double *P, double *base,
                               const double *at, double *own, double *rest) {
    int64_t i = item(), place = further ? -1 : 0;
    if (i >= n) return;
    double *p = P + i * rows, largest = further ? 0 : p[0], sum = 0;
    for (int64_t k = 0; k < rows; k++) {
        if (p[k] > largest) largest = p[k], place = k;
    }
    double below = -largest;
    if (own != nullptr) {
        int64_t k = static_cast<int64_t>(at[i]);
        own[i] = k < 0 ? -INFINITY : k < rows ? p[k] - largest : below;
    }
    for (int64_t k = 0; k < rows; k++) {
        p[k] = exp(p[k] - largest);
        if (k != place) sum += p[k];
    }
    if (further) below = exp(below);
    if (further && place >= 0) sum += below;
    double scale = 1 / (1 + sum);
    for (int64_t k = 0; k < rows; k++) p[k] *= scale;
    base[i] = below * scale;
    rest[i] = sum;
}

void cuda_softmax(const sgfs_device *dev, const sgfsi_softmax *s) {
    lane *l = lane_of(dev);
    int64_t n = s->n;
    if (!begin(l, 7 * n)) {
        if (s->own != nullptr) lose(s->own, n);
        lose(s->base, n);
        lose(s->rest, n);
        return;
    }
    const double *at = s->own != nullptr ? up(l, n, s->own) : nullptr;
    double *own = s->own != nullptr ? take(l, n) : nullptr, *base = take(l, n), *rest = take(l, n);
    EACH(l, softmax, n, n, s->rows, s->further, s->P, base, at, own, rest);
    if (own != nullptr) down(l, n, own, s->own);
    down(l, n, base, s->base);
    down(l, n, rest, s->rest);
    settle(l);
}

__global__ static void unit_less(int64_t n, int64_t k, const double *at, double *P) {
    int64_t t = item();
    if (t < n * k) P[t] = (static_cast<int64_t>(at[t / k]) == t % k ? 1 : 0) - P[t];
}

void cuda_unit_less(const sgfs_device *dev, int64_t n, int64_t k, const double *at, double *P) {
    lane *l = lane_of(dev);
    if (!begin(l, n)) return;
    const double *there = up(l, n, at);
    EACH(l, unit_less, n * k, n, k, there, P);
}

__global__ static void outer(sgfsi_outer o, double *B, int64_t stride) {
    int64_t width = o.end - o.from, t = item(), i = divide(t, width), j = t - i * width;
    if (i >= o.n) return;
    int64_t r = divide(o.from + j, o.cols), c = o.from + j - r * o.cols;
    double x = o.right[i * o.cols + c];
    if (o.left != nullptr) x *= o.left[i * o.rows + r];
    B[i * stride + j] = o.mean != nullptr ? x - o.mean[j] : x;
}

void cuda_outer(const sgfs_device *dev, const sgfsi_outer *o, double *B, int64_t stride) {
    lane *l = lane_of(dev);
    int64_t width = o->end - o->from;
    sgfsi_outer factors = *o;
    bool carry = o->rows == 1 && o->left != nullptr; /* a vector */
    if (!begin(l, width + (carry ? o->n * o->rows : 0))) return;
    if (carry) factors.left = there(l, o->n * o->rows, o->left);
    if (o->mean != nullptr) factors.mean = up(l, width, o->mean + o->from);
    EACH(l, outer, o->n * width, factors, B, stride);
}

__global__ static void scale_rows(int64_t n, int64_t k, const double *w, double *P) {
    int64_t t = item();
    if (t >= n * k) return;
    double by = w[divide(t, k)];
    P[t] = by == 0 ? 0 : by * P[t]; /* whatever it was */
}

void cuda_scale_rows(const sgfs_device *dev, int64_t n, int64_t k, const double *w, double *P) {
    lane *l = lane_of(dev);
    if (works(l)) EACH(l, scale_rows, n * k, n, k, w, P);
}

/* Left factors of one row are vectors, mostly of the host's: o with a copy of them, if there is
 * one. */
static sgfsi_outer with_left(lane *l, const sgfsi_outer *o) {
    sgfsi_outer factors = *o;
    if (o->rows == 1 && o->left != nullptr) factors.left = there(l, o->n, o->left);
    return factors;
}

/* How many numbers the sums of all have, and how many their vectors. */
static int64_t numbers_of(int64_t count, const sgfsi_outer *o, int64_t *vectors) {
    int64_t D = 0;
    *vectors = 0;
    for (int64_t k = 0; k < count; k++) {
        D += o[k].rows * o[k].cols;
        *vectors += rounded(o[k].n);
    }
    return D;
}

/* 32 columns by 8 lots of rows in a block, whose sums are added in order. */
static constexpr int COLUMNS = 32, LOTS = 8;

/* The block's sum over its lots, in threads of the first. */
__device__ static double add_lots(double own) {
    __shared__ double part[LOTS][COLUMNS];
    int c = static_cast<int>(threadIdx.x) % COLUMNS, lot = static_cast<int>(threadIdx.x) / COLUMNS;
    part[lot][c] = own;
    __syncthreads();
    for (int other = 1; lot == 0 && other < LOTS; other++) own += part[other][c];
    return own;
}

/* part (strips x cols): sums of left_i right_i. over strips of rows. */
__global__ static void sum_strips(sgfsi_outer o, int64_t strip_rows, double *part) {
    const int64_t across = (o.cols + COLUMNS - 1) / COLUMNS, strip = blockIdx.x / across;
    const int64_t c = blockIdx.x % across * COLUMNS + threadIdx.x % COLUMNS;
    const int64_t from = strip * strip_rows, to = from + strip_rows < o.n ? from + strip_rows : o.n;
    double sum = 0;
    for (int64_t i = from + threadIdx.x / COLUMNS; c < o.cols && i < to; i += LOTS)
        sum += o.left[i] * o.right[i * o.cols + c];
    sum = add_lots(sum);
    if (threadIdx.x < COLUMNS && c < o.cols) part[strip * o.cols + c] = sum;
}

/* y = b y + a times the sum of `strips` times y's count of numbers. */
__global__ static void add_strips(int64_t count, int64_t strips, const double *part, double a,
                                  double b, double *y) {
    const int64_t c = static_cast<int64_t>(blockIdx.x) * COLUMNS + threadIdx.x % COLUMNS;
    double sum = 0;
    for (int64_t k = threadIdx.x / COLUMNS; c < count && k < strips; k += LOTS)
        sum += part[k * count + c];
    sum = add_lots(sum);
    if (threadIdx.x < COLUMNS && c < count) y[c] = (b == 0 ? 0 : b * y[c]) + a * sum;
}

/* y = a left' right + b y on the GPU. A small matrix of many rows would leave most of it idle: the
 * rows are cut into strips, which are multiplied side by side. */
static constexpr int64_t STRIP = 256, MANY_ROWS = 4096, SMALL = 1 << 16;

static void add_outer(lane *l, const sgfsi_outer *o, double a, double b, double *y) {
    const int64_t count = o->rows * o->cols, whole = o->n / STRIP, left_over = o->n % STRIP,
                  strips = pieces(o->n, STRIP);
    const int rows = static_cast<int>(o->rows), cols = static_cast<int>(o->cols);
    const int ld_left = at_least_one(o->rows), ld_right = at_least_one(o->cols);
    const double one = 1, none = 0;
    if (o->n < MANY_ROWS || count > SMALL) {
        (void)fine(l,
                   cublasDgemm(l->blas, CUBLAS_OP_N, CUBLAS_OP_T, cols, rows,
                               static_cast<int>(o->n), &a, o->right, ld_right, o->left, ld_left, &b,
                               y, ld_right),
                   "a product");
        return;
    }
    double *part = scratch_of(l, strips * count);
    if (part == nullptr) return;
    if (rows == 1) {
        TOGETHER(l, sum_strips, strips * pieces(o->cols, COLUMNS), COLUMNS * LOTS, *o, STRIP, part);
    } else {
        (void)fine(l,
                   cublasDgemmStridedBatched(l->blas, CUBLAS_OP_N, CUBLAS_OP_T, cols, rows,
                                             static_cast<int>(STRIP), &one, o->right, ld_right,
                                             STRIP * o->cols, o->left, ld_left, STRIP * o->rows,
                                             &none, part, ld_right, count, static_cast<int>(whole)),
                   "products");
        if (left_over > 0)
            (void)fine(l,
                       cublasDgemm(l->blas, CUBLAS_OP_N, CUBLAS_OP_T, cols, rows,
                                   static_cast<int>(left_over), &one,
                                   o->right + whole * STRIP * o->cols, ld_right,
                                   o->left + whole * STRIP * o->rows, ld_left, &none,
                                   part + whole * count, ld_right),
                       "a product");
    }
    TOGETHER(l, add_strips, pieces(count, COLUMNS), COLUMNS * LOTS, count, strips, part, a, b, y);
}

void cuda_outer_sums(const sgfs_device *dev, int64_t count, const sgfsi_outer *o, double a,
                     double b, const double *ones, double *y) {
    int64_t vectors, D = numbers_of(count, o, &vectors);
    lane *l = lane_of(dev);
    if (D == 0) return;
    if (!begin(l, vectors + 2 * D)) return lose(y, D);
    double *to = b == 0 ? there_or_room(l, D, y) : const_cast<double *>(there(l, D, y)), *at = to;
    for (int64_t k = 0; k < count; at += o[k].rows * o[k].cols, k++) {
        sgfsi_outer factors = o[k];
        if (factors.left == nullptr) factors.left = ones;
        factors = with_left(l, &factors);
        add_outer(l, &factors, a, b, at);
    }
    bring(l, D, to, y);
}

/* A thread for each number, which adds from row to row. */
__global__ static void outer_squares(sgfsi_outer o, double *ss) {
    int64_t t = item(), r = t / o.cols, c = t % o.cols;
    double sum = 0;
    if (r >= o.rows) return;
    for (int64_t i = 0; i < o.n; i++) {
        double x = o.right[i * o.cols + c], left = o.left != nullptr ? o.left[i * o.rows + r] : 1;
        sum += left * left * (x * x);
    }
    ss[t] = sum;
}

void cuda_outer_squares(const sgfs_device *dev, int64_t count, const sgfsi_outer *o, double *,
                        int64_t, double *ss) {
    int64_t vectors, D = numbers_of(count, o, &vectors);
    lane *l = lane_of(dev);
    if (!begin(l, vectors + 2 * D)) return lose(ss, D);
    double *to = take(l, D), *at = to;
    for (int64_t k = 0; k < count; at += o[k].rows * o[k].cols, k++) {
        const sgfsi_outer there = with_left(l, &o[k]);
        EACH(l, outer_squares, there.rows * there.cols, there, at);
    }
    down(l, D, to, ss);
    settle(l);
}

__global__ static void squares(int64_t n, int64_t k, const double *v, const double *X, double *ss) {
    int c = threadIdx.x % COLUMNS, lot = threadIdx.x / COLUMNS;
    int64_t j = static_cast<int64_t>(blockIdx.x) * COLUMNS + c;
    double sum = 0;
    for (int64_t i = lot; j < k && i < n; i += LOTS) {
        double x = X[i * k + j], w = v != nullptr ? v[i] : 1;
        sum += w * w * (x * x);
    }
    sum = add_lots(sum);
    if (lot == 0 && j < k) ss[j] = sum;
}

void cuda_squares(const sgfs_device *dev, int64_t n, int64_t k, const double *v, const double *X,
                  double *ss) {
    lane *l = lane_of(dev);
    if (!begin(l, n + 2 * k)) return lose(ss, k);
    const double *weights = v != nullptr ? up(l, n, v) : nullptr;
    double *sums = take(l, k);
    if (k > 0) TOGETHER(l, squares, pieces(k, COLUMNS), COLUMNS * LOTS, n, k, weights, X, sums);
    down(l, k, sums, ss);
    settle(l);
}

/* ---- functions of numbers -------------------------------------------------------------------- */

/* Results below the normal range are made in halves: CUDA's own ends a little early, with 0. */
__global__ static void exp_each(int64_t n, const double *x, double *y) {
    int64_t i = item();
    if (i >= n) return;
    double half = exp(x[i] / 2);
    y[i] = x[i] < -700 ? half * half : exp(x[i]);
}

__global__ static void log1p_each(int64_t n, const double *x, double *y) {
    int64_t i = item();
    if (i < n) y[i] = log1p(x[i]);
}

/* Vectors of the host's stay there: the way is longer than the work. */
void cuda_exp(const sgfs_device *dev, int64_t n, const double *x, double *y) {
    lane *l = lane_of(dev);
    if (n == 0 || !works(l)) return lose(y, is_far(y) ? 0 : n);
    if (is_far(x)) EACH(l, exp_each, n, n, x, y);
    else
        for (int64_t i = 0; i < n; i++) y[i] = std::exp(x[i]);
}

void cuda_log1p(const sgfs_device *dev, int64_t n, const double *x, double *y) {
    lane *l = lane_of(dev);
    if (n == 0 || !works(l)) return lose(y, is_far(y) ? 0 : n);
    if (is_far(x)) EACH(l, log1p_each, n, n, x, y);
    else
        for (int64_t i = 0; i < n; i++) y[i] = std::log1p(x[i]);
}
