/* SPDX-License-Identifier: MIT
 * cuda_glm.cu: generalised linear models on all rows that a GPU keeps (sgfsi_glm of device.h).
 *
 *   one place    a warp takes eight rows at a time into registers: predictors, residuals and the
 *                gradient come from one look at them
 *   K places     predictors E of a tile of rows, n x K, by cuBLAS, small enough to stay in the
 *   second
 *                cache; then a thread for each place and strip of a tile's rows
 *   pairs        the same with the identities of model/many.h: one exp serves centre + u and
 *                centre - u, and the logarithm of a product is taken once for a strip, whose
 *                factors keep their exponents apart as whole numbers; of a logistic model without
 *                weights in one kernel with the predictors (cuda_pairs.cu)
 *
 * Rows lie there a second time, as doubles of the design, if there is room; else they are gathered
 * a stretch at a time, from what lies there or comes there for it (cuda_stream.cu). Sums of strips,
 * and of stretches, are added up in order.
 */
#include "context/device/cuda_glm.cuh"
#include "context/device/cuda_rows.cuh"

#include <cmath>
#include <initializer_list>
#include <new>

static constexpr int ROW = 5; /* numbers that pairs need of a row at their centre */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* ---- sums in order --------------------------------------------------------------------------- */

static constexpr int COLUMNS = 32, LOTS = 8;

__global__ static void add_strips(int64_t strips, int64_t count, const double *part, bool more,
                                  double *out) {
    __shared__ double lot_sum[LOTS][COLUMNS];
    int c = threadIdx.x % COLUMNS, lot = threadIdx.x / COLUMNS;
    int64_t j = static_cast<int64_t>(blockIdx.x) * COLUMNS + c;
    double sum = 0;
#pragma unroll 8
    for (int64_t s = lot; j < count && s < strips; s += LOTS) sum += part[s * count + j];
    lot_sum[lot][c] = sum;
    __syncthreads();
    if (lot > 0 || j >= count) return;
    for (int other = 1; other < LOTS; other++) sum += lot_sum[other][c];
    out[j] = more ? out[j] + sum : sum;
}

void add_up(lane *l, int64_t strips, int64_t count, const double *part, double *out, bool more) {
    TOGETHER(l, add_strips, pieces(count, COLUMNS), COLUMNS * LOTS, strips, count, part, more, out);
}

/* ---- stretches of rows ----------------------------------------------------------------------- */

/* What `say` says of all rows, those of X or stretch after stretch; more: its sums come on top of
 * those before. at: what may end it; or NULL. false: it has not seen all rows. Where there is no X,
 * for one thread at a time, until it has settled (cuda_rows.cuh). */
template <typename F>
static bool each_stretch(lane *l, const kept_glm *g, const sgfsi_glm_places *at, F say) {
    if (g->X != nullptr) {
        say(*g, false);
        return true;
    }
    const kept_rows *k = static_cast<const kept_rows *>(g->kept);
    bool going = works(l);
    for (int64_t first = 0; first < g->rows && going; first += k->way->rows) {
        kept_glm part = *g;
        part.rows = least(k->way->rows, g->rows - first);
        part.X = g->room;
        part.y += first;
        if (g->weight != nullptr) part.weight += first;
        if (g->offset != nullptr) part.offset += first;
        double done = static_cast<double>(first) / static_cast<double>(g->rows);
        going = (at == nullptr || at->go_on == nullptr || at->go_on(at->user, done)) &&
                next_stretch(l, k, first, part.rows, g->pitch, g->room);
        if (!going) break;
        say(part, first > 0);
        end_stretch(l, k);
    }
    return going;
}

/* ---- tiles of rows --------------------------------------------------------------------------- */

/* n rows at a time, in strips of so many; a strip leaves `width` sums. */
typedef struct tiles {
    int64_t n, strips, strip_rows;
} tiles;

static tiles tiles_of(const kept_glm *g, int64_t K) {
    constexpr int64_t THREADS_ENOUGH = 1 << 17, MOST_STRIPS = 1024, SHORTEST = 32;
    tiles t;
    t.n = least(most(g->tile / K, 4 * SHORTEST), g->rows);
    int64_t strips = least(most(THREADS_ENOUGH / K, SHORTEST), MOST_STRIPS);
    t.strip_rows = most(pieces(pieces(t.n, strips), 4) * 4, SHORTEST);
    t.strips = pieces(t.n, t.strip_rows);
    return t;
}

/* E (n x K) = X Theta', rows of Theta being `stride` numbers apart. */
static void predict(lane *l, const kept_glm *g, int64_t n, int64_t K, const double *X,
                    const double *theta, int64_t stride, double *E) {
    const double one = 1, none = 0;
    if (K == 1) {
        (void)fine(l,
                   cublasDgemv(l->blas, CUBLAS_OP_T, static_cast<int>(g->p), static_cast<int>(n),
                               &one, X, static_cast<int>(g->pitch), theta, 1, &none, E, 1),
                   "a product");
        return;
    }
    (void)fine(l,
               cublasDgemm(l->blas, CUBLAS_OP_T, CUBLAS_OP_N, static_cast<int>(K),
                           static_cast<int>(n), static_cast<int>(g->p), &one, theta,
                           static_cast<int>(stride), X, static_cast<int>(g->pitch), &none, E,
                           static_cast<int>(K)),
               "a product");
}

/* G (K x p) = R' X + b G, R n x K */
static void sum_rows(lane *l, const kept_glm *g, int64_t n, int64_t K, const double *X,
                     const double *R, double b, double *G) {
    const double one = 1;
    (void)fine(l,
               cublasDgemm(l->blas, CUBLAS_OP_N, CUBLAS_OP_T, static_cast<int>(g->p),
                           static_cast<int>(K), static_cast<int>(n), &one, X,
                           static_cast<int>(g->pitch), R, static_cast<int>(K), &b, G,
                           static_cast<int>(g->p)),
               "a product");
}

/* ---- what a row says ------------------------------------------------------------------------- */

/* log(1 + exp(x)) */
__device__ static inline double softplus(double x) {
    return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}

__device__ static inline double weight_of(const kept_glm &g, int64_t i) {
    return g.weight != nullptr ? g.weight[i] : 1;
}

__device__ static inline double predictor(const kept_glm &g, int64_t i, double x) {
    return g.offset != nullptr ? x + g.offset[i] : x;
}

/* Row i at the predictor eta, times its weight; a row without weight says nothing, whatever it
 * is. */
__device__ static inline void says(const kept_glm &g, int64_t i, double eta, double *residual,
                                   double *loglik) {
    double y = g.y[i], w = weight_of(g, i);
    *residual = *loglik = 0;
    if (w == 0) return;
    if (g.link == SGFSI_LOGIT) {
        double e = exp(-fabs(eta));
        *residual = w * (y - (eta >= 0 ? 1 : e) / (1 + e));
        *loglik = w * (y * eta - (fmax(eta, 0.0) + log1p(e)));
    } else if (g.link == SGFSI_LOG) {
        double mean = exp(eta);
        *residual = w * (y - mean);
        *loglik = w * (y * eta - mean);
    } else {
        *residual = w * (y - eta);
        *loglik = -0.5 * w * (y - eta) * (y - eta);
    }
}

/* ---- one place ------------------------------------------------------------------------------- */

static constexpr int WARP = 32, WARPS = 8, EIGHT = 8, WIDEST = 8;
static constexpr int64_t MOST_BLOCKS = 528; /* four for each part of a large GPU */

/* Sums over a warp of eight numbers, of which each thread gets that with the number lane / 4:
 * halves of them are handed over three times. */
__device__ static inline double sum_eight(int me, double v[EIGHT]) {
#pragma unroll
    for (int half = EIGHT / 2, bit = WARP / 2; half > 0; half /= 2, bit /= 2) {
#pragma unroll
        for (int q = 0; q < half; q++) {
            double keep = (me & bit) != 0 ? v[half + q] : v[q];
            double give = (me & bit) != 0 ? v[q] : v[half + q];
            v[q] = keep + __shfl_sync(~0u, give, me ^ bit);
        }
    }
    v[0] += __shfl_sync(~0u, v[0], me ^ 2);
    return v[0] + __shfl_sync(~0u, v[0], me ^ 1);
}

/* A warp goes through `rows` of the rows; part (blocks x (1 + p)): the log density and the gradient
 * of a block's rows. C: numbers of a row in each thread. */
template <int C>
__global__ static void one_place(kept_glm g, const double *theta, int64_t rows, double *part) {
    __shared__ double sums[WARPS][C * WARP + 1];
    int me = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
    int64_t p = g.p, from = (static_cast<int64_t>(blockIdx.x) * WARPS + warp) * rows;
    int64_t end = from + rows < g.rows ? from + rows : g.rows;
    double beta[C], sum[C], loglik = 0;
#pragma unroll
    for (int c = 0; c < C; c++) {
        beta[c] = c * WARP + me < p ? theta[c * WARP + me] : 0;
        sum[c] = 0;
    }
    for (int64_t i = from; i < end; i += EIGHT) {
        double x[EIGHT][C], dot[EIGHT], residual, said;
#pragma unroll
        for (int r = 0; r < EIGHT; r++) {
#pragma unroll
            for (int c = 0; c < C; c++)
                x[r][c] =
                    i + r < end && c * WARP + me < p ? g.X[(i + r) * g.pitch + c * WARP + me] : 0;
        }
#pragma unroll
        for (int r = 0; r < EIGHT; r++) {
            dot[r] = 0;
#pragma unroll
            for (int c = 0; c < C; c++) dot[r] += x[r][c] * beta[c];
        }
        double eta = sum_eight(me, dot);
        int64_t own = i + me / 4;
        residual = said = 0;
        if (own < end) says(g, own, predictor(g, own, eta), &residual, &said);
        loglik += said;
#pragma unroll
        for (int r = 0; r < EIGHT; r++) {
            double of_row = __shfl_sync(~0u, residual, 4 * r);
#pragma unroll
            for (int c = 0; c < C; c++) sum[c] += of_row * x[r][c];
        }
    }
    for (int bit = WARP / 2; bit >= 4; bit /= 2) loglik += __shfl_sync(~0u, loglik, me ^ bit);
    if (me == 0) sums[warp][0] = loglik;
#pragma unroll
    for (int c = 0; c < C; c++) sums[warp][1 + c * WARP + me] = sum[c];
    __syncthreads();
    for (int64_t j = threadIdx.x; j < 1 + p; j += WARPS * WARP) {
        double all = sums[0][j];
        for (int w = 1; w < WARPS; w++) all += sums[w][j];
        part[blockIdx.x * (1 + p) + j] = all;
    }
}

/* Log density and gradient at theta, on the GPU, to sums (1 + p); p: WARP WIDEST at most. */
static void ask_one(lane *l, const kept_glm *g, const double *theta, double *sums, bool more) {
    int64_t n = g->rows, width = 1 + g->p, blocks = least(MOST_BLOCKS, pieces(n, WARPS * EIGHT));
    int64_t rows = pieces(pieces(n, blocks * WARPS), EIGHT) * EIGHT;
    double *part = scratch_of(l, blocks * width);
    if (part == nullptr) return;
    if (g->p <= WARP) TOGETHER(l, one_place<1>, blocks, WARPS * WARP, *g, theta, rows, part);
    else if (g->p <= 2 * WARP)
        TOGETHER(l, one_place<2>, blocks, WARPS * WARP, *g, theta, rows, part);
    else if (g->p <= 4 * WARP)
        TOGETHER(l, one_place<4>, blocks, WARPS * WARP, *g, theta, rows, part);
    else TOGETHER(l, one_place<8>, blocks, WARPS * WARP, *g, theta, rows, part);
    add_up(l, blocks, width, part, sums, more);
}

/* ---- K places -------------------------------------------------------------------------------- */

/* Predictors E become residuals, if they are wanted; part (strips x K) += log densities. */
__global__ static void look(kept_glm g, int64_t first, int64_t n, int64_t K, int64_t strip_rows,
                            bool residuals, double *E, double *part) {
    int64_t t = item(), k = t % K, from = t / K * strip_rows;
    int64_t end = from + strip_rows < n ? from + strip_rows : n;
    double sum = 0;
    if (from >= n) return;
    for (int64_t i = from; i < end; i++) {
        double residual, loglik;
        says(g, first + i, predictor(g, first + i, E[i * K + k]), &residual, &loglik);
        sum += loglik;
        if (residuals) E[i * K + k] = residual;
    }
    part[t] += sum;
}

/* K log densities and, unless G is NULL, K x p gradients. */
static void ask_many(lane *l, const kept_glm *g, const sgfsi_glm_places *at, const double *theta,
                     double *loglik, double *G, bool more) {
    const tiles t = tiles_of(g, at->K);
    int64_t K = at->K, sums = t.strips * K;
    double *part = scratch_of(l, sums + t.n * K);
    if (part == nullptr) return;
    double *E = part + sums;
    size_t bytes = static_cast<size_t>(sums) * sizeof *part;
    (void)fine(l, cudaMemsetAsync(part, 0, bytes, l->stream), "zeros");
    for (int64_t first = 0; first < g->rows; first += t.n) {
        int64_t n = least(t.n, g->rows - first);
        const double *X = g->X + first * g->pitch;
        predict(l, g, n, K, X, theta, at->stride, E);
        EACH(l, look, t.strips * K, *g, first, n, K, t.strip_rows, G != nullptr, E, part);
        if (G != nullptr) sum_rows(l, g, n, K, X, E, more || first > 0 ? 1 : 0, G);
    }
    add_up(l, t.strips, K, part, loglik, more);
}

/* ---- information ----------------------------------------------------------------------------- */

/* The root of what each of n rows from `first` on counts at its predictor, in place. */
__global__ static void count_rows(kept_glm g, int64_t first, int64_t n, double *eta) {
    int64_t i = item();
    if (i >= n) return;
    double w = weight_of(g, first + i), a = predictor(g, first + i, eta[i]), e = exp(-fabs(a));
    double square = g.link == SGFSI_LOGIT ? e / ((1 + e) * (1 + e))
                    : g.link == SGFSI_LOG ? exp(a)
                                          : 1;
    eta[i] = w > 0 ? sqrt(w * square) : 0;
}

__global__ static void scale_rows(int64_t n, int64_t p, int64_t pitch, const double *root,
                                  const double *X, double *out) {
    int64_t t = item();
    if (t < n * p) out[t] = root[t / p] * X[t / p * pitch + t % p];
}

/* The lower triangle of info (p x p) at theta. */
static void ask_information(lane *l, const kept_glm *g, const double *theta, double *info,
                            bool more) {
    int64_t p = g->p, n = least(most(g->tile / p, 1), g->rows);
    double *eta = scratch_of(l, n + n * p);
    if (eta == nullptr) return;
    double *scaled = eta + n;
    for (int64_t first = 0; first < g->rows; first += n) {
        int64_t now = least(n, g->rows - first);
        const double one = 1, b = more || first > 0 ? 1 : 0;
        const double *X = g->X + first * g->pitch;
        predict(l, g, now, 1, X, theta, p, eta);
        EACH(l, count_rows, now, *g, first, now, eta);
        EACH(l, scale_rows, now * p, now, p, g->pitch, eta, X, scaled);
        (void)fine(l,
                   cublasDsyrk(l->blas, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, static_cast<int>(p),
                               static_cast<int>(now), &one, scaled, static_cast<int>(p), &b, info,
                               static_cast<int>(p)),
                   "a product");
    }
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* What pairs need of row i at their centre, whose predictor is eta: the numbers of `row` below, for
 * the identity with y - a in place of a, and what the row says there. */
enum { AT, LESS, MORE, WEIGHT, FIXED };
__global__ static void centre_rows(kept_glm g, int64_t first, int64_t n, const double *eta,
                                   double *row) {
    int64_t i = item();
    if (i >= n) return;
    double a = predictor(g, first + i, eta[i]), y = g.y[first + i], w = weight_of(g, first + i);
    double *r = row + i * ROW;
    r[WEIGHT] = w;
    r[AT] = g.link == SGFSI_LINEAR ? y - a : a;
    r[LESS] = g.link == SGFSI_LOG ? w * exp(a) : exp(fmin(0.0, -a));
    r[MORE] = exp(fmin(0.0, a));
    r[FIXED] = w == 0                  ? 0
               : g.link == SGFSI_LOGIT ? w * (y * a - fmax(a, 0.0))
               : g.link == SGFSI_LOG   ? w * y * a
                                       : -0.5 * w * (y - a) * (y - a);
}

/* With LESS A = min(1, exp(-a)), and MORE B = min(1, exp(a)):
 *     1 + exp(a + e) = (A + B exp(e)) / A      1 + exp(a - e) = (A exp(e) + B) / (A exp(e))
 * What e is at most in size for one exp: of a product of FOUR rows' factors; of a single factor. */
static constexpr int FOUR = 4;
static constexpr double TOGETHER_AT_MOST = 150, ALONE_AT_MOST = 600;

__device__ static inline void logit_row(const double *r, double e, double *plus, double *minus) {
    double w = r[WEIGHT];
    if (w == 0) return;
    if (fabs(e) < ALONE_AT_MOST) {
        double h = exp(e);
        *plus -= w * log(r[LESS] + r[MORE] * h);
        *minus -= w * log(r[LESS] * h + r[MORE]);
        return;
    }
    double base = fmax(r[AT], 0.0);
    *plus -= w * (softplus(r[AT] + e) - base);
    *minus -= w * (softplus(r[AT] - e) - base + e);
}

__device__ static inline void log_row(const double *r, double e, double *plus, double *minus) {
    double w = r[WEIGHT], mean = r[LESS];
    if (w == 0) return;
    if (fabs(e) < ALONE_AT_MOST && mean > 1e-300 && mean < 1e300) {
        double h = exp(e);
        *plus -= mean * h;
        *minus -= mean / h;
    } else { /* a factor may be 0 or infinite by itself */
        *plus -= w * exp(r[AT] + e);
        *minus -= w * exp(r[AT] - e);
    }
}

/* A strip's sums at centre + u_k and centre - u_k, E being u_k's predictors: what is linear in E is
 * left out, but for the identity. part (strips x (2 K + 1)): those, and what the rows say at the
 * centre. */
__global__ static void look_in_pairs(sgfsi_link link, bool weighted, int64_t n, int64_t K,
                                     int64_t strip_rows, const double *E, const double *row,
                                     double *part) {
    int64_t t = item(), strip = t / K, k = t % K, i = strip * strip_rows;
    int64_t end = i + strip_rows < n ? i + strip_rows : n;
    double plus = 0, minus = 0, *to = part + strip * (2 * K + 1);
    product up = {1, 0}, down = {1, 0};
    if (i >= n) return;
    if (k == 0) {
        double fixed = 0;
        for (int64_t j = i; j < end; j++) fixed += row[j * ROW + FIXED];
        to[2 * K] += fixed;
    }
    for (; link == SGFSI_LOGIT && !weighted && i + FOUR <= end; i += FOUR) {
        const double *r = row + i * ROW;
        double e[FOUR];
        bool calm = true;
#pragma unroll
        for (int q = 0; q < FOUR; q++) {
            e[q] = E[(i + q) * K + k];
            calm = calm && fabs(e[q]) < TOGETHER_AT_MOST;
        }
        if (!calm) {
            for (int q = 0; q < FOUR; q++) logit_row(r + q * ROW, e[q], &plus, &minus);
            continue;
        }
#pragma unroll
        for (int q = 0; q < FOUR; q++) {
            double h = exp(e[q]), A = r[q * ROW + LESS], B = r[q * ROW + MORE];
            up.x *= A + B * h;
            down.x *= A * h + B;
        }
        carry(&up);
        carry(&down);
    }
    for (; i < end; i++) {
        const double *r = row + i * ROW;
        double e = E[i * K + k];
        if (link == SGFSI_LOGIT) logit_row(r, e, &plus, &minus);
        else if (link == SGFSI_LOG) log_row(r, e, &plus, &minus);
        else if (r[WEIGHT] > 0) {
            plus += r[WEIGHT] * e * (r[AT] - 0.5 * e);
            minus += r[WEIGHT] * e * (-r[AT] - 0.5 * e);
        }
    }
    to[k] += plus - log_of(up);
    to[K + k] += minus - log_of(down);
}

/* Sums of all rows (2 K + 1) and what is linear in E to log densities, plus and minus in turn. */
__global__ static void finish_pairs(int64_t K, sgfsi_link link, const double *sums,
                                    const double *linear, const double *even, double *plus,
                                    double *minus) {
    int64_t k = item();
    if (k >= K) return;
    double add = link == SGFSI_LINEAR ? 0 : linear[k];
    plus[k] = sums[k] + (sums[2 * K] + add);
    minus[k] = sums[K + k] + (sums[2 * K] - add) + (link == SGFSI_LOGIT ? even[k] : 0);
}

/* The linear parts of K pairs, and all parts together. */
static void finish(lane *l, const kept_glm *g, const sgfsi_glm_places *at, const double *theta,
                   const double *sums, double *room, double *plus, double *minus) {
    const double one = 1, none = 0;
    int64_t K = at->K;
    for (int side = 0; side < 2; side++)
        (void)fine(l,
                   cublasDgemv(l->blas, CUBLAS_OP_T, static_cast<int>(g->p), static_cast<int>(K),
                               &one, theta, static_cast<int>(at->stride),
                               side == 0 ? g->linear : g->even, 1, &none, room + side * K, 1),
                   "a product");
    EACH(l, finish_pairs, K, K, g->link, sums, room, room + K, plus, minus);
}

void ask_pairs(lane *l, const kept_glm *g, const sgfsi_glm_places *at, const double *theta,
               const double *centre, double *plus, double *minus) {
    const tiles t = tiles_of(g, at->K);
    int64_t K = at->K, p = g->p, width = 2 * K + 1;
    double *part = scratch_of(l, (t.strips + 1) * width + 2 * K + t.n * (K + 1 + ROW));
    if (part == nullptr) return;
    double *sums = part + t.strips * width, *row = sums + width + 2 * K, *eta = row + t.n * ROW,
           *E = eta + t.n;
    size_t bytes = static_cast<size_t>(t.strips * width) * sizeof *part;
    (void)fine(l, cudaMemsetAsync(part, 0, bytes, l->stream), "zeros");
    for (int64_t first = 0; first < g->rows; first += t.n) {
        int64_t n = least(t.n, g->rows - first);
        const double *X = g->X + first * g->pitch;
        predict(l, g, n, 1, X, centre, p, eta);
        EACH(l, centre_rows, n, *g, first, n, eta, row);
        predict(l, g, n, K, X, theta, at->stride, E);
        EACH(l, look_in_pairs, t.strips * K, g->link, g->weight != nullptr, n, K, t.strip_rows, E,
             row, part);
    }
    add_up(l, t.strips, width, part, sums, false);
    finish(l, g, at, theta, sums, sums + width, plus, minus);
}

/* ---- memory of the host's that is lent ------------------------------------------------------- */

double *cuda_lend(const sgfs_device *dev, int64_t n) {
    lane *l = lane_of(dev);
    void *numbers = nullptr;
    size_t bytes = static_cast<size_t>(n) * sizeof(double);
    if (works(l) && cudaMallocHost(&numbers, bytes) == cudaSuccess)
        return static_cast<double *>(numbers);
    (void)cudaGetLastError(); /* others will do */
    return nullptr;
}

void cuda_take_back(const sgfs_device *dev, double *numbers) {
    (void)lane_of(dev);
    (void)cudaFreeHost(numbers);
}

/* As `up`, without the copy to pinned memory where numbers lie in such. */
static const double *up_directly(lane *l, int64_t n, const double *host) {
    constexpr int64_t MANY = 1 << 13;
    cudaPointerAttributes is;
    if (n < MANY || cudaPointerGetAttributes(&is, host) != cudaSuccess ||
        is.type != cudaMemoryTypeHost)
        return up(l, n, host);
    double *there = take(l, n);
    size_t bytes = static_cast<size_t>(n) * sizeof *there;
    (void)fine(l, cudaMemcpyAsync(there, host, bytes, cudaMemcpyHostToDevice, l->stream), "a copy");
    return there;
}

/* ---- the operations -------------------------------------------------------------------------- */

/* false: a predictor was too large for the products. */
static bool answer_pairs(lane *l, const kept_glm *g, const sgfsi_glm_places *at, bool products) {
    int64_t K = at->K, p = g->p;
    const bool comes = g->X == nullptr;
    const double *factor = products && !comes ? borrow_centre(g, at->centre) : nullptr;
    if (!begin(l, K * at->stride + 2 * p + 3 * (2 * K))) { /* answers lie twice */
        lose(at->loglik, K);
        lose(at->minus, K);
        return true;
    }
    const double *theta = up_directly(l, K * at->stride, at->theta);
    const double *centre = factor == nullptr ? up(l, p, at->centre) : nullptr;
    double *plus = take(l, 2 * K), *minus = plus + K, *some = take(l, 2 * K), *none = take(l, p);
    size_t bytes = static_cast<size_t>(p) * sizeof *none;
    (void)fine(l, cudaMemsetAsync(none, 0, bytes, l->stream), "zeros");
    bool all = each_stretch(l, g, at, [&](const kept_glm &rows, bool more) {
        kept_glm part = rows;
        double *to = comes ? some : plus;
        if (more) part.linear = part.even = none; /* those of all rows are in the first sums */
        if (products) ask_products(l, &part, K, at->stride, theta, centre, factor, to, to + K);
        else ask_pairs(l, &part, at, theta, centre, to, to + K);
        if (comes) add_up(l, 1, 2 * K, some, plus, more);
    });
    down(l, K, plus, at->loglik);
    down(l, K, minus, at->minus);
    settle(l);
    if (factor != nullptr) return_centre(g, factor);
    if (all) return !products || !works(l) || !any_nan(K, at->loglik);
    lose(at->loglik, K);
    lose(at->minus, K);
    return true;
}

static void lose_places(const kept_glm *g, const sgfsi_glm_places *at) {
    lose(at->loglik, at->K);
    if (at->G != nullptr) lose(at->G, at->K * g->p);
    if (at->info != nullptr) lose(at->info, g->p * g->p);
}

static void answer_places(lane *l, const kept_glm *g, const sgfsi_glm_places *at) {
    int64_t K = at->K, p = g->p;
    int64_t G = at->G != nullptr ? K * p : 0, info = at->info != nullptr ? p * p : 0;
    bool single = K == 1 && p <= WARP * WIDEST;
    if (!begin(l, K * at->stride + 2 * (K + 1 + p + G + info))) return lose_places(g, at);
    /* All is taken before more scratch is, which may give the strip free. */
    const double *theta = up(l, K * at->stride, at->theta);
    double *loglik = take(l, K), *sums = take(l, 1 + p + G), *to = take(l, info);
    bool all = each_stretch(l, g, at, [&](const kept_glm &part, bool more) {
        if (single) ask_one(l, &part, theta, sums, more);
        else ask_many(l, &part, at, theta, loglik, G > 0 ? sums : nullptr, more);
        if (info > 0) ask_information(l, &part, theta, to, more);
    });
    down(l, K, single ? sums : loglik, at->loglik);
    if (at->G != nullptr) down(l, G, single ? sums + 1 : sums, at->G);
    if (info > 0) down(l, info, to, at->info);
    settle(l);
    if (!all) lose_places(g, at);
}

void cuda_ask_glm(const sgfs_device *dev, const void *glm, const sgfsi_glm_places *at) {
    const kept_glm *g = static_cast<const kept_glm *>(glm);
    lane *l = lane_of(dev);
    std::unique_lock<std::mutex> alone;
    if (g->X == nullptr)
        alone = std::unique_lock<std::mutex>(static_cast<const kept_rows *>(g->kept)->way->lock);
    if (at->centre == nullptr) return answer_places(l, g, at);
    kept_glm stretch = *g;
    if (g->X == nullptr) stretch.X = g->room;
    if (!makes_products(&stretch, at->K) || !answer_pairs(l, g, at, true))
        (void)answer_pairs(l, g, at, false);
}

/* ---- keeping --------------------------------------------------------------------------------- */

/* What each of n rows from `first` on counts in sums of w y x, or of w x. */
__global__ static void count_targets(kept_glm g, int64_t first, int64_t n, bool y, double *out) {
    int64_t i = item();
    if (i < n) out[i] = weight_of(g, first + i) * (y ? g.y[first + i] : 1);
}

/* linear and even, by tiles. false: there are rows that could not be read. */
static bool sum_targets(lane *l, const kept_glm *g) {
    bool all = each_stretch(l, g, nullptr, [&](const kept_glm &part, bool more) {
        int64_t n = least(most(g->tile / g->p, 1), part.rows);
        double *counts = scratch_of(l, n);
        for (int64_t first = 0; counts != nullptr && first < part.rows; first += n) {
            int64_t now = least(n, part.rows - first);
            double b = more || first > 0 ? 1 : 0;
            for (int side = 0; side < 2; side++) {
                EACH(l, count_targets, now, part, first, now, side == 0, counts);
                sum_rows(l, g, now, 1, part.X + first * g->pitch, counts, b,
                         side == 0 ? g->linear : g->even);
            }
        }
    });
    settle(l);
    return all;
}

/* n numbers there; from NULL: whatever they are. */
static bool make(double **to, int64_t n, const double *from) {
    size_t bytes = static_cast<size_t>(n) * sizeof **to;
    if (cudaMalloc(reinterpret_cast<void **>(to), bytes) != cudaSuccess) {
        *to = nullptr;
        return false;
    }
    return from == nullptr || cudaMemcpy(*to, from, bytes, cudaMemcpyHostToDevice) == cudaSuccess;
}

void cuda_drop_glm(const sgfs_device *dev, void *glm) {
    kept_glm *g = static_cast<kept_glm *>(glm);
    (void)lane_of(dev);
    for (double *A : {g->X, g->room, g->y, g->weight, g->offset, g->linear, g->even})
        (void)cudaFree(A);
    free_centres(g->known);
    delete g;
}

/* Room for X, where rows are there, or else for a stretch of them. An eighth of the memory stays
 * free beside X; what answers need besides are tiles, and some numbers of each row. */
static bool make_room(kept_glm *g, const kept_rows *k, double left, double all) {
    const double numbers = static_cast<double>(g->pitch), size = sizeof(double);
    auto needed = [&](int64_t rows) {
        return size * (3 * static_cast<double>(g->tile) + 10 * static_cast<double>(rows));
    };
    double wanted = size * numbers * static_cast<double>(g->rows) + needed(g->rows);
    bool whole = k->there == g->rows && wanted < left - all / 8;
    if (whole && make(&g->X, g->rows * g->pitch, nullptr)) return true;
    (void)cudaGetLastError(); /* they are gathered in each call */
    int64_t stretch = k->way->rows;
    wanted = size * numbers * static_cast<double>(stretch) + needed(stretch);
    return wanted < left && make(&g->room, stretch * g->pitch, nullptr);
}

void *cuda_keep_glm(const sgfs_device *dev, const void *kept, const sgfsi_glm *s) {
    constexpr int64_t SOME = 1 << 20, LARGEST = 1 << 22; /* of a tile: 32 MiB of predictors */
    lane *l = lane_of(dev);
    const kept_rows *k = static_cast<const kept_rows *>(kept);
    size_t left = 0, all = 0;
    if (!works(l) || s->rows < 1 || s->p < 1 || cudaMemGetInfo(&left, &all) != cudaSuccess)
        return nullptr;
    kept_glm *g = new (std::nothrow) kept_glm();
    if (g == nullptr) return nullptr;
    g->link = s->link;
    g->rows = s->rows;
    g->p = s->p;
    g->pitch = pitch_of(s->p);
    g->kept = kept;
    g->tile = least(LARGEST, static_cast<int64_t>(all / 4096));
    g->known = new_centres();
    bool fits = make(&g->y, s->rows, s->y) &&
                (s->weight == nullptr || make(&g->weight, s->rows, s->weight)) &&
                (s->offset == nullptr || make(&g->offset, s->rows, s->offset)) &&
                make(&g->linear, s->p, nullptr) && make(&g->even, s->p, nullptr) &&
                cudaMemGetInfo(&left, &all) == cudaSuccess &&
                make_room(g, k, static_cast<double>(left), static_cast<double>(all)) &&
                cudaDeviceSynchronize() == cudaSuccess; /* copies may go on after their call */
    (void)cudaGetLastError();
    for (int64_t first = 0; fits && g->X != nullptr && first < s->rows; first += SOME)
        gather_rows(l, kept, nullptr, first, least(SOME, s->rows - first), g->pitch,
                    g->X + first * g->pitch);
    if (fits && sum_targets(l, g) && works(l)) return g;
    cuda_drop_glm(dev, g);
    return nullptr;
}
