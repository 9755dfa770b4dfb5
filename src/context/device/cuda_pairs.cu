/* SPDX-License-Identifier: MIT
 * cuda_pairs.cu: pairs of a logistic model (cuda_glm.cu), with no predictor in memory; and pairs of
 * any model that are made while the host does something else.
 *
 * A block of threads has some places and goes through a chunk of rows, a few at a time. Both lie in
 * memory that it shares, the next rows being fetched meanwhile; the product of the two is made by
 * the units for products of matrices, a warp's part of which, 32 x 16, is in its registers. What
 * exp makes of it is multiplied into products for each place, which stay there until the chunk is
 * done.
 *
 * Places arrive multiplied by 16/log(2), so that exp(e) is 2^(E/16), and E a whole number and a
 * fraction without an error: the root of 2 is taken from a table of sixteen, the fraction's
 * polynomial has degree 6 and is off by 2e-17. What that factor rounds is a rounding of a
 * predictor's terms more.
 */
#include "base/rng.h"
#include "context/device/cuda_glm.cuh"
#include "context/device/cuda_random.cuh"

#include <atomic>
#include <cmath>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

static constexpr int WARP = 32, DEEP = 4, ROOTS = 16;
static constexpr int TALL = 32, ACROSS = 2; /* of a warp's part: 2 x ACROSS pieces of 16 x 8 */
static constexpr int OWN = TALL / 8;        /* rows of a thread */

/* The rows that a block looks at together, its threads, and how many blocks a multiprocessor should
 * have room for; UNROLLED: columns, by four. */
template <int HIGH_, int TEAM_, int SIDE_, int UNROLLED_> struct shape {
    static constexpr int HIGH = HIGH_, TEAM = TEAM_, SIDE = SIDE_, UNROLLED = UNROLLED_;
    static constexpr int LEVELS = HIGH / TALL;                     /* warps with the same places */
    static constexpr int WIDE = TEAM / WARP / LEVELS * 8 * ACROSS; /* places */
    static int64_t bytes(int64_t pitch) {
        return (ROOTS + (WIDE + 2 * HIGH) * pitch + 2 * 2 * HIGH) *
               static_cast<int64_t>(sizeof(double));
    }
};
typedef shape<32, 256, 2, 2> narrow_rows; /* two blocks overlap products and exp */
typedef shape<64, 512, 1, 4> wide_rows;
typedef shape<64, 64, 2, 2> few_places;
static constexpr int64_t FEW = 64; /* places, for which most of the work would be in vain */

/* ---- the kernel ------------------------------------------------------------------------------ */

__device__ static const double root_of_2[ROOTS] = {
    1.0,
    1.0442737824274138,
    1.0905077326652577,
    1.1387886347566916,
    1.189207115002721,
    1.241857812073484,
    1.2968395546510096,
    1.3542555469368927,
    1.4142135623730951,
    1.4768261459394993,
    1.5422108254079407,
    1.6104903319492543,
    1.681792830507429,
    1.7562521603732995,
    1.8340080864093424,
    1.9152065613971474,
};
static constexpr double PER_LOG = 23.083120654223414; /* 16/log(2) */

/* 2^(x/16), |x| at most some thousands; the polynomial interpolates (2^(f/16) - 1)/f. */
__device__ static inline double power_of_2(double x, const double *root) {
    constexpr double shift = 6755399441055744.0; /* 1.5 2^52: rounds to a whole number */
    double k = x + shift, f = x - (k - shift), q, r;
    uint64_t bits, whole;
    q = fma(f, 9.181334960907254e-12, 1.2716085030349987e-09);
    q = fma(f, q, 1.4676100321837672e-07);
    q = fma(f, q, 1.355080777749983e-05);
    q = fma(f, q, 0.0009383847928089873);
    q = fma(f, q, 0.04332169878499661);
    q *= f;
    memcpy(&whole, &k, sizeof whole);
    r = root[whole % ROOTS];
    memcpy(&bits, &r, sizeof bits);
    bits += whole / ROOTS << 52;
    memcpy(&r, &bits, sizeof r);
    return fma(r, q, r);
}

/* Rows first .. first + HIGH - 1 of X and their factors to `rows` and `factors`, those from `end`
 * on as rows that change no product. */
template <typename S>
__device__ static inline void fetch(int64_t first, int64_t end, int pitch, const double *X,
                                    const double *factor, double *rows, double *factors) {
    int me = static_cast<int>(threadIdx.x);
    int64_t left = end - first;
    int there = left < 0 ? 0 : left < S::HIGH ? static_cast<int>(left) : S::HIGH;
    for (int i = 2 * me; i < S::HIGH * pitch; i += 2 * S::TEAM) {
        if (i < there * pitch) copy_ahead(rows + i, X + first * pitch + i);
        else rows[i] = rows[i + 1] = 0;
    }
    if (me < there) copy_ahead(factors + 2 * me, factor + 2 * (first + me));
    else if (me < S::HIGH) {
        factors[2 * me] = 1;
        factors[2 * me + 1] = 0;
    }
    end_lot();
}

template <typename S>
__global__ static void __launch_bounds__(S::TEAM, S::SIDE)
    pair_tiles(int64_t n, int64_t K, int p, int pitch, int64_t stride, int64_t chunk,
               const double *X, const double *theta, const double *factor, double *part) {
    constexpr int HIGH = S::HIGH, WIDE = S::WIDE, LEVELS = S::LEVELS;
    POOL(pool);
    const int me = static_cast<int>(threadIdx.x);
    double *root = pool, *places = root + ROOTS, *rows = places + WIDE * pitch,
           *factors = rows + 2 * HIGH * pitch;
    const int64_t groups = (K + WIDE - 1) / WIDE, at = blockIdx.x % groups * WIDE;
    const int64_t which = blockIdx.x / groups, from = which * chunk;
    const int64_t end = from + chunk < n ? from + chunk : n;
    const int warp = me / WARP, g = me % WARP / DEEP, t = me % DEEP;
    const int level = warp % LEVELS, top = level * TALL, left = warp / LEVELS * 8 * ACROSS;
    product up[2 * ACROSS], down[2 * ACROSS];
    unsigned largest = 0;
#pragma unroll
    for (int c = 0; c < 2 * ACROSS; c++) up[c] = down[c] = {1, 0};
    fetch<S>(from, end, pitch, X, factor, rows, factors);
    if (me < ROOTS) root[me] = root_of_2[me];
    for (int i = me; i < WIDE * pitch; i += S::TEAM) {
        int place = i / pitch, col = i % pitch;
        places[i] = at + place < K && col < p ? PER_LOG * theta[(at + place) * stride + col] : 0;
    }
    int turn = 0;
    for (int64_t first = from; first < end; first += HIGH, turn ^= 1) {
        const double *f = factors + turn * 2 * HIGH + 2 * (top + g);
        await_lots<0>();
        __syncthreads(); /* all have these rows, and are done with those before */
        fetch<S>(first + HIGH, end, pitch, X, factor, rows + (turn ^ 1) * HIGH * pitch,
                 factors + (turn ^ 1) * 2 * HIGH);
        double sum[2][ACROSS][4] = {};
        const double *x_at = rows + (turn * HIGH + top + g) * pitch + t;
        const double *y_at = places + (left + g) * pitch + t;
#pragma unroll S::UNROLLED
        for (int k = 0; k < p; k += DEEP) {
            double x[OWN], y[ACROSS];
#pragma unroll
            for (int r = 0; r < OWN; r++) x[r] = x_at[8 * r * pitch + k];
#pragma unroll
            for (int a = 0; a < ACROSS; a++) y[a] = y_at[8 * a * pitch + k];
#pragma unroll
            for (int a = 0; a < 2 * ACROSS; a++)
                add_product_16(sum[a / ACROSS][a % ACROSS], x + a / ACROSS * 2, y[a % ACROSS]);
        }
        double A[OWN], B[OWN];
#pragma unroll
        for (int r = 0; r < OWN; r++) {
            A[r] = f[16 * r];
            B[r] = f[16 * r + 1];
        }
#pragma unroll
        for (int c = 0; c < 2 * ACROSS; c++) {
#pragma unroll
            for (int r = 0; r < OWN; r++) {
                double e = sum[r / 2][c / 2][r % 2 * 2 + c % 2], h = power_of_2(e, root);
                uint64_t bits;
                memcpy(&bits, &e, sizeof bits);
                unsigned size = static_cast<unsigned>(bits >> 32) & 0x7fffffff;
                largest = size > largest ? size : largest;
                up[c].x *= fma(B[r], h, A[r]);
                down[c].x *= fma(A[r], h, B[r]);
            }
            carry(&up[c]);
            carry(&down[c]);
        }
    }
    await_lots<0>();
    __syncthreads();
    /* The upper half of the bits of 150 16/log(2), almost, or of what is no number: beyond that a
     * product of four factors may leave the numbers there are. */
    const bool wild = largest >= 0x40ab0c00;
    /* Threads of a warp with other rows, then the other warps of the same places. */
    double *spare = rows; /* (LEVELS - 1) x 2 WIDE */
#pragma unroll
    for (int c = 0; c < 2 * ACROSS; c++) {
        double plus = wild ? NAN : log_of(up[c]), minus = wild ? NAN : log_of(down[c]);
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
}

/* ---- the centre ------------------------------------------------------------------------------ */

/* With A = min(1, exp(-a)) and B = min(1, exp(a)) (cuda_glm.cu), two factors of each row; and what
 * it says at the centre. A warp has a row. */
__global__ static void centre_factors(kept_glm g, const double *centre, double *factor,
                                      double *fixed) {
    int me = static_cast<int>(threadIdx.x) % WARP;
    int64_t i = item() / WARP;
    double a = 0;
    for (int64_t j = me; i < g.rows && j < g.p; j += WARP) a += g.X[i * g.pitch + j] * centre[j];
    for (int bit = 1; bit < WARP; bit *= 2) a += __shfl_sync(~0u, a, me ^ bit);
    if (me > 0 || i >= g.rows) return;
    if (g.offset != nullptr) a += g.offset[i];
    factor[2 * i] = exp(fmin(0.0, -a));
    factor[2 * i + 1] = exp(fmin(0.0, a));
    fixed[i] = g.y[i] * a - fmax(a, 0.0);
}

/* The sum of n numbers, a part of it by each block. */
__global__ static void add_rows(int64_t n, int64_t blocks, const double *x, double *part) {
    __shared__ double sum[THREADS];
    int me = static_cast<int>(threadIdx.x);
    double own = 0;
    for (int64_t i = blockIdx.x * THREADS + me; i < n; i += blocks * THREADS) own += x[i];
    sum[me] = own;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (me < half) sum[me] += sum[me + half];
    }
    if (me == 0) part[blockIdx.x] = sum[0];
}

/* factor (2 n + 1): those of all rows, and the sum of what they say. room: n + BLOCKS. */
static constexpr int64_t BLOCKS = 128;
static void look_at_centre(lane *l, const kept_glm *g, const double *centre, double *factor,
                           double *room) {
    int64_t n = g->rows;
    TOGETHER(l, centre_factors, pieces(n * WARP, THREADS), THREADS, *g, centre, factor, room);
    TOGETHER(l, add_rows, BLOCKS, THREADS, n, BLOCKS, room, room + n);
    add_up(l, BLOCKS, 1, room + n, factor + 2 * n, false);
}

/* Centres that pairs are opened around, for all who ask around them. */
struct centre_there {
    std::vector<double> place;
    double *factor;
    int users;
};

struct centres {
    std::mutex lock;
    std::vector<centre_there> all;
};

centres *new_centres(void) {
    return new centres();
}

void free_centres(centres *c) {
    delete c;
}

const double *borrow_centre(const kept_glm *g, const double *centre) {
    std::lock_guard<std::mutex> guard(g->known->lock);
    for (centre_there &c : g->known->all) {
        if (std::memcmp(c.place.data(), centre, c.place.size() * sizeof *centre) != 0) continue;
        c.users++;
        return c.factor;
    }
    return nullptr;
}

void return_centre(const kept_glm *g, const double *factor) {
    std::lock_guard<std::mutex> guard(g->known->lock);
    std::vector<centre_there> &all = g->known->all;
    for (size_t k = 0; k < all.size(); k++) {
        if (all[k].factor != factor || --all[k].users > 0) continue;
        (void)cudaFree(all[k].factor);
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
        return;
    }
}

/* NULL: there is no room. */
static const double *keep_centre(lane *l, const kept_glm *g, const double *centre) {
    const double *known = borrow_centre(g, centre);
    void *memory = nullptr;
    size_t p = static_cast<size_t>(g->p), n = static_cast<size_t>(g->rows);
    if (known != nullptr) return known;
    if (cudaMalloc(&memory, (3 * n + 1 + BLOCKS + p) * sizeof(double)) != cudaSuccess) {
        (void)cudaGetLastError();
        return nullptr;
    }
    double *factor = static_cast<double *>(memory), *room = factor + 2 * n + 1;
    double *there = room + n + BLOCKS;
    (void)fine(l, cudaMemcpy(there, centre, p * sizeof *centre, cudaMemcpyHostToDevice), "a copy");
    look_at_centre(l, g, there, factor, room);
    settle(l);
    std::lock_guard<std::mutex> guard(g->known->lock); /* of two equal ones each goes by itself */
    g->known->all.push_back({std::vector<double>(centre, centre + p), factor, 1});
    return factor;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static constexpr int COLUMNS = 32, LOTS = 8;

/* Chunks, and what is linear in theta, together. flag: NULL, or becomes `turn` when all is there,
 * in the host's memory; K: at most COLUMNS then. */
__global__ static void finish_products(int64_t K, int64_t p, int64_t stride, int64_t chunks,
                                       const double *theta, const double *linear,
                                       const double *even, const double *fixed, const double *part,
                                       double *plus, double *minus, double *flag, double turn) {
    __shared__ double of_lot[4][LOTS][COLUMNS];
    int c = static_cast<int>(threadIdx.x) % COLUMNS, lot = static_cast<int>(threadIdx.x) / COLUMNS;
    int64_t k = static_cast<int64_t>(blockIdx.x) * COLUMNS + c;
    double sum[4] = {};
    for (int64_t s = lot; k < K && s < chunks; s += LOTS) {
        sum[0] += part[s * 2 * K + k];
        sum[1] += part[s * 2 * K + K + k];
    }
    for (int64_t j = lot; k < K && j < p; j += LOTS) {
        sum[2] += theta[k * stride + j] * linear[j];
        sum[3] += theta[k * stride + j] * even[j];
    }
    for (int q = 0; q < 4; q++) of_lot[q][lot][c] = sum[q];
    __syncthreads();
    if (lot > 0 || k >= K) return;
    for (int q = 0; q < 4; q++)
        for (int other = 1; other < LOTS; other++) sum[q] += of_lot[q][other][c];
    plus[k] = sum[0] + (*fixed + sum[2]);
    minus[k] = sum[1] + (*fixed - sum[2]) + sum[3];
    if (flag == nullptr) return;
    __threadfence_system();
    __syncwarp();
    if (c == 0) *flag = turn;
}

/* Rows of a chunk: enough blocks of threads, and not too many sums. */
template <typename S> static int64_t chunk_of(int64_t rows, int64_t K) {
    int64_t least = K > FEW ? 640 : 256, most = K > FEW ? 128 : 512;
    int64_t chunks = rows / least;
    chunks = chunks < 1 ? 1 : chunks < most ? chunks : most;
    return pieces(pieces(rows, chunks), S::HIGH) * S::HIGH;
}

static int64_t shared_room(void) {
    int number = 0, room = 0;
    if (cudaGetDevice(&number) != cudaSuccess ||
        cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, number) !=
            cudaSuccess)
        return 0;
    return room;
}

bool makes_products(const kept_glm *g, int64_t K) {
    int64_t bytes = K > FEW ? narrow_rows::bytes(g->pitch) : few_places::bytes(g->pitch);
    if (g->link != SGFSI_LOGIT || g->weight != nullptr || g->X == nullptr) return false;
    return bytes <= shared_room();
}

/* Where the sums go, and how the host is told (finish_products). */
struct sums_to {
    double *plus, *minus, *flag, turn;
};

template <typename S>
static void multiply(lane *l, const kept_glm *g, int64_t K, int64_t stride, const double *theta,
                     const double *centre, const double *factor, const sums_to *to) {
    int64_t n = g->rows, chunk = chunk_of<S>(n, K), chunks = pieces(n, chunk);
    int64_t around = factor == nullptr ? 3 * n + 1 + BLOCKS : 0, bytes = S::bytes(g->pitch);
    double *part = scratch_of(l, chunks * 2 * K + around);
    if (part == nullptr) return;
    if (factor == nullptr) {
        double *made = part + chunks * 2 * K;
        look_at_centre(l, g, centre, made, made + 2 * n + 1);
        factor = made;
    }
    if (!fine(l,
              cudaFuncSetAttribute(pair_tiles<S>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(bytes)),
              "memory of a block"))
        return;
    TOGETHER_IN(l, pair_tiles<S>, pieces(K, S::WIDE) * chunks, S::TEAM, bytes, n, K,
                static_cast<int>(g->p), static_cast<int>(g->pitch), stride, chunk, g->X, theta,
                factor, part);
    TOGETHER(l, finish_products, pieces(K, COLUMNS), COLUMNS * LOTS, K, g->p, stride, chunks, theta,
             g->linear, g->even, factor + 2 * n, part, to->plus, to->minus, to->flag, to->turn);
}

static void multiply_for(lane *l, const kept_glm *g, int64_t K, int64_t stride, const double *theta,
                         const double *centre, const double *factor, const sums_to *to) {
    int64_t room = shared_room();
    bool two = narrow_rows::SIDE * narrow_rows::bytes(g->pitch) <= room;
    if (K <= FEW) multiply<few_places>(l, g, K, stride, theta, centre, factor, to);
    else if (!two && wide_rows::bytes(g->pitch) <= room)
        multiply<wide_rows>(l, g, K, stride, theta, centre, factor, to);
    else multiply<narrow_rows>(l, g, K, stride, theta, centre, factor, to);
}

void ask_products(lane *l, const kept_glm *g, int64_t K, int64_t stride, const double *theta,
                  const double *centre, const double *factor, double *plus, double *minus) {
    const sums_to to = {plus, minus, nullptr, 0};
    multiply_for(l, g, K, stride, theta, centre, factor, &to);
}

bool any_nan(int64_t n, const double *x) {
    for (int64_t i = 0; i < n; i++)
        if (std::isnan(x[i])) return true;
    return false;
}

/* ---- pairs while the host does something else ------------------------------------------------ */

struct pairs_there {
    const kept_glm *g;
    lane *l;
    sgfsi_pairs_law law;
    const double *factor;                         /* NULL: no products are made */
    double *memory, *centre, *precision, *spread; /* precision: NULL where there is none */
    double *Z; /* of drawn ones, and behind it U, most x D each */
    /* Of a few given ones, in the host's memory: plus and minus, and the number of the last turn
     * whose sums are there. The host looks there, which takes less than to ask CUDA. */
    double *answers, turn;
    sgfsi_pairs now;
    bool begun;
};

/* Normals 2 q and 2 q + 1 of row k of Z, K x D. */
__global__ static void draw_normals(stream_there s, int64_t K, int64_t D, double *Z) {
    int64_t pairs = (D + 1) / 2, k = item() / pairs, q = item() % pairs;
    double z[2];
    if (k >= K) return;
    s.t += k;
    two_normals(s, q, z);
    Z[k * D + 2 * q] = z[0];
    if (2 * q + 1 < D) Z[k * D + 2 * q + 1] = z[1];
}

__global__ static void add_prior(int64_t K, int64_t D, const double *U, const double *centre,
                                 const double *precision, double *plus, double *minus) {
    int64_t k = item();
    double up = 0, down = 0;
    if (k >= K) return;
    for (int64_t j = 0; j < D; j++) {
        double u = U[k * D + j], a = centre[j] + u, b = centre[j] - u;
        up += precision[j] * a * a;
        down += precision[j] * b * b;
    }
    plus[k] -= 0.5 * up;
    minus[k] -= 0.5 * down;
}

void cuda_close_pairs(const sgfs_device *dev, void *pairs) {
    pairs_there *t = static_cast<pairs_there *>(pairs);
    (void)lane_of(dev);
    free_lane(t->l); /* waits for its work */
    if (t->factor != nullptr) return_centre(t->g, t->factor);
    (void)cudaFree(t->memory);
    (void)cudaFreeHost(t->answers);
    delete t;
}

/* n numbers of the host's, there. */
static double *copy_there(pairs_there *t, int64_t n, const double *from, double *to) {
    size_t bytes = static_cast<size_t>(n) * sizeof *to;
    if (from != nullptr)
        (void)fine(t->l, cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "a copy");
    return from != nullptr ? to : nullptr;
}

/* Memory for all of it; false: there is none. */
static bool fill_pairs(pairs_there *t) {
    const sgfsi_pairs_law *law = &t->law;
    int64_t D = law->D, K = law->most;
    bool drawn = law->spread != nullptr, products = makes_products(t->g, K);
    void *memory = nullptr, *answers = nullptr;
    size_t numbers = static_cast<size_t>(2 * D + (drawn ? D * D + 2 * K * D : 0));
    if (products) t->factor = keep_centre(t->l, t->g, law->centre);
    if (products && t->factor == nullptr) return false;
    if (cudaMalloc(&memory, numbers * sizeof(double)) != cudaSuccess) return false;
    t->memory = static_cast<double *>(memory);
    t->centre = copy_there(t, D, law->centre, t->memory);
    t->precision = copy_there(t, D, law->precision, t->memory + D);
    t->spread = copy_there(t, D * D, law->spread, t->memory + 2 * D);
    t->Z = t->memory + 2 * D + D * D;
    if (!products || drawn) return make_ready(t->l);
    if (K > COLUMNS) return true;
    size_t few = static_cast<size_t>(2 * K + 1) * sizeof(double);
    if (cudaMallocHost(&answers, few) != cudaSuccess) return false;
    t->answers = static_cast<double *>(answers);
    t->answers[2 * K] = 0;
    return true;
}

void *cuda_open_pairs(const sgfs_device *dev, void *glm, const sgfsi_pairs_law *law) {
    const kept_glm *g = static_cast<const kept_glm *>(glm);
    constexpr int64_t TILES = 1 << 23; /* numbers that ask_pairs may want for its tiles */
    int64_t D = law->D, drawn = law->spread != nullptr ? D * D + 2 * law->most * D : 0;
    size_t left = 0, all = 0;
    double needed = 8.0 * static_cast<double>(3 * g->rows + drawn + TILES);
    if (!works(lane_of(dev)) || g->X == nullptr || cudaMemGetInfo(&left, &all) != cudaSuccess ||
        needed > static_cast<double>(left) / 4)
        return nullptr;
    pairs_there *t = new (std::nothrow) pairs_there();
    if (t == nullptr) return nullptr;
    t->g = g;
    t->law = *law;
    t->l = new_lane_apart(dev, law->spread == nullptr);
    bool made = fill_pairs(t);
    (void)cudaGetLastError(); /* the host makes them */
    if (made && works(t->l)) return t;
    cuda_close_pairs(dev, t);
    return nullptr;
}

/* Z and U, there and on their way to the host. */
static const double *draw_pairs(pairs_there *t) {
    const double one = 1, none = 0;
    const sgfsi_pairs *now = &t->now;
    const stream_there s = {t->law.seed, t->law.chain, now->first, SGFSI_NOISE};
    int64_t D = t->law.D, K = now->K;
    double *U = t->Z + t->law.most * D;
    size_t bytes = static_cast<size_t>(K * D) * sizeof *U;
    EACH(t->l, draw_normals, K * ((D + 1) / 2), s, K, D, t->Z);
    (void)fine(t->l,
               cublasDgemm(t->l->blas, CUBLAS_OP_N, CUBLAS_OP_N, static_cast<int>(D),
                           static_cast<int>(K), static_cast<int>(D), &one, t->spread,
                           static_cast<int>(D), t->Z, static_cast<int>(D), &none, U,
                           static_cast<int>(D)),
               "a product");
    (void)fine(t->l, cudaMemcpyAsync(now->Z, t->Z, bytes, cudaMemcpyDeviceToHost, t->l->stream),
               "a copy");
    (void)fine(t->l, cudaMemcpyAsync(now->U, U, bytes, cudaMemcpyDeviceToHost, t->l->stream),
               "a copy");
    return U;
}

/* products: else as ask_pairs does, of directions that are drawn already if there are products. */
static void ask_now(pairs_there *t, bool products) {
    const sgfsi_pairs *now = &t->now;
    int64_t D = t->law.D, K = now->K;
    lane *l = t->l;
    t->begun = begin(l, K * D + 2 * (2 * K)); /* answers lie twice */
    if (!t->begun) return;
    sgfsi_glm_places at = {};
    at.K = K;
    at.stride = D;
    const double *U = t->law.spread == nullptr           ? up(l, K * D, now->U)
                      : t->factor == nullptr || products ? draw_pairs(t)
                                                         : t->Z + t->law.most * D;
    if (products && t->answers != nullptr) {
        const sums_to to = {t->answers, t->answers + K, t->answers + 2 * t->law.most, ++t->turn};
        multiply_for(l, t->g, K, D, U, nullptr, t->factor, &to);
        return;
    }
    double *plus = take(l, K), *minus = take(l, K);
    if (products) ask_products(l, t->g, K, D, U, nullptr, t->factor, plus, minus);
    else ask_pairs(l, t->g, &at, U, t->centre, plus, minus);
    if (t->precision != nullptr)
        EACH(l, add_prior, K, K, D, U, t->centre, t->precision, plus, minus);
    down(l, K, plus, now->plus);
    down(l, K, minus, now->minus);
}

void cuda_begin_pairs(const sgfs_device *dev, void *pairs, const sgfsi_pairs *now) {
    pairs_there *t = static_cast<pairs_there *>(pairs);
    (void)lane_of(dev);
    t->now = *now;
    ask_now(t, t->factor != nullptr);
    (void)fine(t->l, cudaGetLastError(), "a kernel");
}

/* The sums that a kernel writes to the host's memory. */
static void look_for_answers(pairs_there *t) {
    constexpr int MANY = 1 << 12;
    const volatile double *flag = t->answers + 2 * t->law.most;
    size_t bytes = static_cast<size_t>(t->now.K) * sizeof *t->answers;
    for (int tries = 1; *flag != t->turn; tries++) {
        if (tries % MANY != 0) continue;
        cudaError_t code = cudaStreamQuery(t->l->stream);
        if (code != cudaErrorNotReady && *flag != t->turn) { /* it will not come */
            (void)fine(t->l, code != cudaSuccess ? code : cudaErrorLaunchFailure, "the work");
            return;
        }
        std::this_thread::yield();
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    std::memcpy(t->now.plus, t->answers, bytes);
    std::memcpy(t->now.minus, t->answers + t->now.K, bytes);
    t->l->used = 0; /* whoever read the strip is done */
}

void cuda_await_pairs(const sgfs_device *dev, void *pairs) {
    pairs_there *t = static_cast<pairs_there *>(pairs);
    const sgfsi_pairs *now = &t->now;
    (void)lane_of(dev);
    if (t->begun && works(t->l)) {
        if (t->answers != nullptr) look_for_answers(t);
        else settle(t->l);
    }
    if (t->begun && works(t->l) && t->factor != nullptr && any_nan(now->K, now->plus) &&
        make_ready(t->l)) {
        ask_now(t, false); /* a predictor was too large for products */
        settle(t->l);
    }
    if (t->begun && works(t->l)) return;
    t->l->dues = 0;
    lose(now->plus, now->K);
    lose(now->minus, now->K);
}
