/* SPDX-License-Identifier: MIT
 * cuda_walk.cu: iterations of several chains on a GPU without the host in between (walk.h).
 *
 * The rows of a batch are PORTIONS portions, which are looked at in chunks of 64. The rows of a
 * chunk are fetched while the one before is looked at, as their numbers follow from nothing but the
 * iteration's; each warp makes the residuals of eight of them, and then columns of the gradient and
 * tiles of the matrix from all. A chain alone is a cluster of PORTIONS blocks of threads, one for
 * each portion, which tell each other their sums; the first of them factors the matrix and moves.
 * Of many chains each is one block that takes the portions one after another. Sums are made in the
 * same order either way, so that a chain has the same bits whatever is beside it.
 *
 * A thread (i, j) of a warp has of tiles of eight columns place i of row j: that is how a fragment
 * of a product of 8 x 4 numbers lies (add_product).
 */
#include "context/device/cuda_cluster.cuh"
#include "context/device/cuda_random.cuh"
#include "context/device/cuda_small.cuh"
#include "context/device/cuda_wide.cuh"

#include <cmath>
#include <cstring>

static constexpr int AVERAGES = 2, PORTIONS = 8, PIECE = 16; /* bytes that are fetched at once */
static constexpr int CHUNK = 64, OF_WARP = CHUNK / WARPS, GROUPS = OF_WARP / DEEP;
static constexpr int MOST_PARAMETERS = 64, MOST_ROWS = 2048; /* more are others' (cuda_wide.cuh) */
static constexpr int STEPS = 4; /* at hand: of this iteration and the next ones */
static constexpr int STEP_PIECES = static_cast<int>(sizeof(sgfsi_walk_step) / PIECE);
static_assert(sizeof(sgfsi_walk_step) % PIECE == 0, "a step is fetched in pieces");

struct law_there {
    sgfsi_link link;
    int n, D;
    int64_t N, stride;
    double one, total, gain;
    const double *X, *y, *precision, *counted;
};

struct alignas(PIECE) walk_there {
    uint64_t seed;
    int64_t chain, count;
    const sgfsi_walk_step *step;
    const double *theta;
    double *average[AVERAGES], *before[AVERAGES]; /* as they were, to be taken back */
    double *L, *path, *about, *done;
};

/* What a block shares. */
template <int T, int MATRIX, bool ALONE> struct room_of {
    static constexpr bool FULL = MATRIX == SGFSI_WALK_FULL;
    static constexpr int SIDE = small<T>::SIDE, OWN = small<T>::OWN;
    static constexpr int TURNS = ALONE ? 1 : 2; /* who is behind may still read those before */
    double X[2][CHUNK][SIDE + DEEP], y[2][CHUNK], residual[2][CHUNK];
    double K[FULL ? SIDE * small<T>::PITCH : 2]; /* the factor, or tiles of what becomes it */
    double from_portion[TURNS][FULL && !ALONE ? PORTIONS : 1][OWN][2 * WARP]; /* tiles */
    double gradient[TURNS][PORTIONS][SIDE], square[TURNS][PORTIONS][SIDE];
    double density[TURNS][PORTIONS * WARPS];
    double average[AVERAGES][SIDE], before[AVERAGES][SIDE], root[SIDE]; /* of a diagonal */
    double theta[SIDE], x[SIDE], half[SIDE], gbar[SIDE], z[2][2][SIDE], about[2];
    alignas(PIECE) sgfsi_walk_step step[STEPS];
    int fine;
};

__device__ static int least(int a, int b) {
    return a < b ? a : b;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows of the batch, CHUNK of them or up to `end`. */
struct span {
    int first, end;
};

/* A chunk of the rows of iteration t is on its way. A warp fetches those that it will look at. */
template <int PITCH>
__device__ static void fetch(const law_there &law, const walk_there &w, int64_t t,
                             const span &chunk, double (&X)[CHUNK][PITCH], double (&y)[CHUNK]) {
    const seat is = seat_of();
    int base = OF_WARP * is.warp, at = chunk.first + base + is.thread % OF_WARP, number;
    uint64_t word[2];
    if (chunk.first + base >= chunk.end) return;
    words_at({w.seed, w.chain, t, SGFSI_ROWS}, static_cast<uint32_t>(at / 2), word);
    number = to_row(at % 2 != 0 ? word[1] : word[0], static_cast<uint64_t>(law.N));
    if (is.thread < OF_WARP && at < chunk.end) copy_one_ahead(&y[base + is.thread], law.y + number);
#pragma unroll
    for (int k = 0; k < OF_WARP; k++) {
        int64_t row = static_cast<int64_t>(__shfl_sync(~0u, number, k));
        if (chunk.first + base + k < chunk.end && 2 * is.thread < law.D)
            copy_ahead(&X[base + k][2 * is.thread], law.X + row * law.stride + 2 * is.thread);
    }
}

/* The residual of a row; own: of a target drawn from the model. wanted: its log density, too. */
__device__ static double residual_of(const law_there &law, const walk_there &w, int64_t t, int at,
                                     bool own, bool wanted, double eta, double y, double *density) {
    const stream_there model = {w.seed, w.chain, t, SGFSI_MODEL};
    *density = 0;
    if (law.link == SGFSI_LOG) {
        double mean = exp(eta);
        if (wanted) *density = y * eta - mean - lgamma(y + 1);
        return (own ? count_of(model, law.n, at, mean) : y) - mean;
    }
    double e = exp(-fabs(eta)), p = (eta >= 0 ? 1 : e) / (1 + e);
    bool is_one = own ? uniform_behind(model, law.n, at) < 1 / (1 + exp(-eta)) : y == law.one;
    if (wanted) *density = (is_one ? eta : 0) - ((eta > 0 ? eta : 0) + log1p(e));
    return (is_one ? 1 : 0) - p;
}

/* A warp: the residuals of its rows of a chunk; of each thread: its part of their log densities. */
template <int T, int PITCH>
__device__ static double make_residuals(const law_there &law, const walk_there &w,
                                        const sgfsi_walk_step *s, bool own, const span &chunk,
                                        const double (&X)[CHUNK][PITCH], const double (&y)[CHUNK],
                                        const double *theta, double (&residual)[CHUNK]) {
    const seat is = seat_of();
    int base = OF_WARP * is.warp, mine = base + DEEP * (is.i % GROUPS) + is.j;
    int at = chunk.first + mine;
    bool holds = is.i < GROUPS, there = holds && at < chunk.end;
    double eta = 0, density = 0, r = 0;
    if (chunk.first + base < chunk.end) {
#pragma unroll
        for (int g = 0; g < GROUPS; g++) {
            double of_row = 0;
#pragma unroll
            for (int t = 0; t < T; t++)
                of_row =
                    fma(X[base + DEEP * g + is.j][TILE * t + is.i], theta[TILE * t + is.i], of_row);
#pragma unroll
            for (int far = DEEP; far < WARP; far *= 2)
                of_row += __shfl_sync(~0u, of_row, is.thread ^ far);
            if (is.i % GROUPS == g) eta = of_row;
        }
        r = residual_of(law, w, s->t, at, own, s->want_lp && !own, eta, y[mine], &density);
    }
    if (holds) residual[mine] = there ? r : 0;
    return there ? density : 0;
}

/* What a thread has of the sums over rows: of column 8 `warp` + i the gradient and its squares, and
 * of the warp's tiles two numbers of each. */
template <int T> struct sums { double gradient, square, tile[small<T>::OWN][2]; };

template <int T, int MATRIX, int PITCH>
__device__ static void add_rows(const seat &is, const tile_place *at, bool learns, int rows,
                                const double (&X)[CHUNK][PITCH], const double *residual,
                                sums<T> &sum) {
    constexpr int OWN = small<T>::OWN;
    int column = is.warp < T ? TILE * is.warp + is.i : 0;
#pragma unroll 4
    for (int first = 0; first < rows; first += DEEP) { /* behind the last row residuals are 0 */
        int k = first + is.j;
        double r = residual[k], square = r * r, x = X[k][column];
        sum.gradient = fma(x, r, sum.gradient);
        if (MATRIX == SGFSI_WALK_DIAGONAL && learns) sum.square = fma(x * x, square, sum.square);
#pragma unroll
        for (int h = 0; h < OWN && MATRIX == SGFSI_WALK_FULL && learns; h += 4) {
            if (!at[h].there) continue;
            const double top[2] = {X[k][at[h].row + is.i] * square,
                                   X[k][at[h + 1].row + is.i] * square};
            add_product_16(&sum.tile[h][0], top, X[k][at[h].column + is.i]);
            add_product_16(&sum.tile[h + 2][0], top, X[k][at[h + 2].column + is.i]);
        }
    }
}

/* ---- a chain --------------------------------------------------------------------------------- */

/* A warp: the sum of x over its threads, in each. */
__device__ static double sum_of_warp(double x) {
    int thread = static_cast<int>(threadIdx.x) % WARP;
#pragma unroll
    for (int far = 1; far < WARP; far *= 2) x += __shfl_sync(~0u, x, thread ^ far);
    return x;
}

/* To every block of a chain. */
template <bool ALONE> __device__ static void tell(double *mine, double x, int first, int apart) {
    if (ALONE && first == 0) *mine = x;
    for (int to = first; !ALONE && to < PORTIONS; to += apart) *in_block(mine, to) = x;
}

template <bool ALONE> __device__ static void meet() {
    if (ALONE) __syncthreads();
    else {
        arrive();
        await();
    }
}

/* The noises of an iteration, by the last two warps. */
__device__ static void draw(const law_there &law, const walk_there &w, const sgfsi_walk_step *s,
                            double *z1, double *z2) {
    int pair = static_cast<int>(threadIdx.x) % WARP, warp = static_cast<int>(threadIdx.x) / WARP;
    if (2 * pair >= law.D) return;
    if (warp == WARPS - 1 && s->noise != 0)
        two_normals({w.seed, w.chain, s->t, SGFSI_NOISE}, pair, z1 + 2 * pair);
    if (warp == WARPS - 2 && s->prior != 0)
        two_normals({w.seed, w.chain, s->t, SGFSI_PRIOR}, pair, z2 + 2 * pair);
}

/* An average learns v. */
__device__ static double average_of(const sgfsi_walk_step *s, int which, double before, double v) {
    double decay = s->decay[which], after = decay != 0 ? decay * before : 0;
    return fma(s->weight[which], v, after);
}

/* Where two numbers of a tile lie in an average, and whether they do. */
struct two_places {
    int64_t at;
    bool there[2];
};
__device__ static two_places places_of(const law_there &law, const tile_place &tile,
                                       const seat &is) {
    int row = tile.row + is.i, column = tile.column + 2 * is.j;
    bool inside = tile.there && row < law.D;
    return {static_cast<int64_t>(row) * law.D + column,
            {inside && column <= row, inside && column + 1 <= row}};
}

/* Two numbers of a tile, v: an average, which was `before`, learns them; they become those of K. */
__device__ static void learn(const law_there &law, const walk_there &w, const sgfsi_walk_step *s,
                             int which, const tile_place &tile, const seat &is, const double *gbar,
                             const double *before, double *v) {
    two_places to = places_of(law, tile, is);
    int row = tile.row + is.i, column = tile.column + 2 * is.j;
#pragma unroll
    for (int h = 0; h < 2; h++, column++) {
        bool inside = row < law.D && column < law.D;
        double centred = which == 0 && inside ? fma(-law.n * gbar[row], gbar[column], v[h]) : v[h];
        double after = average_of(s, which, before[h], centred);
        if (to.there[h]) {
            w.before[which][to.at + h] = before[h];
            w.average[which][to.at + h] = after;
        }
        v[h] = law.gain * after;
        if (row == column) v[h] = inside ? v[h] + s->share * law.counted[row] : 1;
        else if (!inside) v[h] = 0;
    }
}

/* A chain as one of its threads sees it. */
template <int T, int MATRIX, bool ALONE> struct chain {
    static constexpr int TILES = ALONE ? small<T>::OWN : 1; /* that a warp learns */
    const law_there &law;
    const walk_there &w;
    room_of<T, MATRIX, ALONE> &r;
    const seat is;
    const int rank, rows, chunks; /* which block; rows of a portion, and chunks */
    tile_place at[small<T>::OWN], learned[TILES];
    int round, turn; /* looks and passes so far, of which two take turns with places in r */
    /* Of the chunks of this block. */
    __device__ int portion_of(int chunk) const {
        return ALONE ? chunk / chunks : rank;
    }
    __device__ span span_of(int chunk) const {
        int from = rows * portion_of(chunk);
        return {from + CHUNK * (chunk % chunks), least(from + rows, law.n)};
    }
    /* With a full matrix the first block moves, and tells the others where to. */
    __device__ bool moves() const {
        return MATRIX != SGFSI_WALK_FULL || rank == 0;
    }
};

/* What is there before the first iteration. */
template <int T, int MATRIX, bool ALONE>
__device__ static void prepare(chain<T, MATRIX, ALONE> &c) {
    constexpr int SIDE = small<T>::SIDE, PITCH = small<T>::PITCH, OWN = small<T>::OWN;
    auto &r = c.r;
    const walk_there &w = c.w;
    int me = c.is.me, D = c.law.D;
#pragma unroll
    for (int h = 0; h < OWN; h++) c.at[h] = tile_at<T>(c.is.warp, h);
#pragma unroll
    for (int h = 0; h < c.TILES; h++) {
        c.learned[h] = ALONE ? c.at[h] : tile_at<T>(c.rank, c.is.warp);
        if (!ALONE && c.is.warp >= OWN) c.learned[h].there = false;
    }
    for (int k = me; k < 2 * CHUNK * (SIDE + DEEP); k += TEAM) {
        int row = k / (SIDE + DEEP);
        r.X[row / CHUNK][row % CHUNK][k % (SIDE + DEEP)] = 0;
    }
    for (int k = me; MATRIX == SGFSI_WALK_FULL && k < SIDE * SIDE; k += TEAM) {
        int row = k / SIDE, column = k % SIDE;
        if (column > row) continue;
        double number = row < D ? w.L[row * D + column] : row == column ? 1 : 0;
        r.K[row * PITCH + column] = number;
    }
    if (me < SIDE) {
        bool there = me < D;
        r.theta[me] = there ? w.theta[me] : 0;
        for (int k = 0; k < 4; k++) r.z[k / 2][k % 2][me] = 0;
        for (int k = 0; MATRIX == SGFSI_WALK_DIAGONAL && k < AVERAGES; k++)
            r.average[k][me] = there && w.average[k] != nullptr ? w.average[k][me] : 0;
        if (MATRIX == SGFSI_WALK_DIAGONAL) r.root[me] = there ? w.L[me] : 1;
    }
    if (me < 2 && me < w.count) r.step[me] = w.step[me];
    meet<ALONE>();
    if (MATRIX == SGFSI_WALK_FULL && c.rank == 0) invert<T>(r.K);
    fetch(c.law, w, r.step[0].t, c.span_of(0), r.X[0], r.y[0]);
    end_lot();
    draw(c.law, w, &r.step[0], r.z[0][0], r.z[0][1]);
}

/* Sums of a portion go to all blocks, tiles of them to those that learn them. */
template <int T, int MATRIX, bool ALONE>
__device__ static void tell_sums(chain<T, MATRIX, ALONE> &c, int portion, bool own, bool learns,
                                 bool wanted, const sums<T> &sum, double density) {
    auto &r = c.r;
    int column = TILE * c.is.warp + c.is.i;
    double g = sum.gradient, v = sum.square;
    if (c.is.warp < T && !own) {
        g += __shfl_sync(~0u, g, c.is.thread ^ 1);
        g += __shfl_sync(~0u, g, c.is.thread ^ 2);
        tell<ALONE>(&r.gradient[c.turn][portion][column], g, c.is.j, DEEP);
    }
    if (MATRIX == SGFSI_WALK_DIAGONAL && c.is.warp < T && learns) {
        v += __shfl_sync(~0u, v, c.is.thread ^ 1);
        v += __shfl_sync(~0u, v, c.is.thread ^ 2);
        tell<ALONE>(&r.square[c.turn][portion][column], v, c.is.j, DEEP);
    }
    if (wanted) {
        density = sum_of_warp(density);
        tell<ALONE>(&r.density[c.turn][WARPS * portion + c.is.warp], density, c.is.thread, WARP);
    }
    if (MATRIX == SGFSI_WALK_FULL && !ALONE && learns) {
#pragma unroll
        for (int h = 0; h < small<T>::OWN; h++) {
            double *to = in_block(&r.from_portion[c.turn][portion][h][2 * c.is.thread], c.is.warp);
            to[0] = sum.tile[h][0];
            to[1] = sum.tile[h][1];
        }
    }
}

/* Once all portions are there: gbar, and where the block moves x = G, with the noise of the prior;
 * by the first warp. False: it is not finite. */
template <int T, int MATRIX, bool ALONE>
__device__ static bool gradient_of(chain<T, MATRIX, ALONE> &c, const sgfsi_walk_step *s,
                                   const double *noise) {
    auto &r = c.r;
    double length = 0, prior = 0, lp = 0;
#pragma unroll
    for (int k = c.is.thread; k < small<T>::SIDE; k += WARP) {
        double g = 0, P = k < c.law.D ? c.law.precision[k] : 0;
#pragma unroll
        for (int p = 0; p < PORTIONS; p++) g += r.gradient[c.turn][p][k];
        r.gbar[k] = g / c.law.n;
        if (!c.moves()) continue;
        double x = fma(c.law.total, g / c.law.n, -P * r.theta[k]);
        length = fma(x, x, length);
        prior = fma(P * r.theta[k], r.theta[k], prior);
        if (MATRIX != SGFSI_WALK_PLAIN && s->prior != 0 && k < c.law.D)
            x = fma(s->prior * sqrt(c.law.counted[k]), noise[k], x);
        r.x[k] = x;
    }
    if (!c.moves()) return true;
    length = sum_of_warp(length);
    if (s->want_lp) {
        const double *density = r.density[c.turn];
        prior = sum_of_warp(prior);
        lp = sum_of_warp(density[c.is.thread] + density[c.is.thread + WARP]);
    }
    if (c.is.thread == 0) {
        r.about[0] = sqrt(length);
        r.about[1] = c.law.total / c.law.n * lp - 0.5 * prior;
    }
    return length - length == 0;
}

/* The first warp: a diagonal learns squares, and becomes the matrix where it is one. */
template <int T, bool ALONE>
__device__ static bool learn_diagonal(chain<T, SGFSI_WALK_DIAGONAL, ALONE> &c,
                                      const sgfsi_walk_step *s, int which) {
    auto &r = c.r;
    double bad = 0;
#pragma unroll
    for (int k = c.is.thread; k < small<T>::SIDE; k += WARP) {
        double v = 0, g = r.gbar[k];
#pragma unroll
        for (int p = 0; p < PORTIONS; p++) v += r.square[c.turn][p][k];
        if (which == 0) v = fma(-c.law.n * g, g, v);
        r.before[which][k] = r.average[which][k];
        r.average[which][k] = average_of(s, which, r.average[which][k], v < 0 ? 0 : v);
        if (s->from != which + 1 || k >= c.law.D) continue;
        double K = fma(c.law.gain, r.average[which][k], s->share * c.law.counted[k]);
        if (!(K > 0)) bad = 1;
        r.root[k] = sqrt(K);
    }
    return sum_of_warp(bad) == 0;
}

/* The tiles that this warp learns, of `which` average; those of K go to the block that factors. */
template <int T, bool ALONE>
__device__ static void learn_tiles(chain<T, SGFSI_WALK_FULL, ALONE> &c, const sgfsi_walk_step *s,
                                   int which, double (&before)[small<T>::OWN][2],
                                   double (&tile)[small<T>::OWN][2]) {
    auto &r = c.r;
#pragma unroll
    for (int h = 0; h < c.TILES; h++) {
        if (!c.learned[h].there) continue;
        if (!ALONE) {
            tile[0][0] = tile[0][1] = 0;
#pragma unroll
            for (int p = 0; p < PORTIONS; p++) {
                const double *from = &r.from_portion[c.turn][p][c.is.warp][2 * c.is.thread];
                tile[0][0] += from[0];
                tile[0][1] += from[1];
            }
        }
        learn(c.law, c.w, s, which, c.learned[h], c.is, r.gbar, before[h], tile[h]);
        if (ALONE || s->from != which + 1) continue;
        double *to = in_block(r.K + 2 * WARP * c.learned[h].number + 2 * c.is.thread, 0);
        to[0] = tile[0][0];
        to[1] = tile[0][1];
    }
}

/* The averages are what they were before this iteration. */
template <int T, int MATRIX, bool ALONE>
__device__ static void take_back(chain<T, MATRIX, ALONE> &c, const sgfsi_walk_step *s) {
    for (int which = 0; which < AVERAGES; which++) {
        if ((s->learns >> which & 1) == 0) continue;
        if (MATRIX == SGFSI_WALK_DIAGONAL && c.is.warp == 0)
            for (int k = c.is.thread; k < small<T>::SIDE; k += WARP)
                c.r.average[which][k] = c.r.before[which][k];
        for (int h = 0; MATRIX == SGFSI_WALK_FULL && h < c.TILES; h++) {
            two_places to = places_of(c.law, c.learned[h], c.is);
            for (int e = 0; e < 2; e++)
                if (to.there[e]) c.w.average[which][to.at + e] = c.w.before[which][to.at + e];
        }
    }
}

/* Number h of theta has made a step, which is told to blocks first, first + apart, ... */
template <int T, int MATRIX, bool ALONE>
__device__ static void move_to(chain<T, MATRIX, ALONE> &c, int64_t k, int h, double theta,
                               int first, int apart) {
    if (MATRIX == SGFSI_WALK_FULL) tell<ALONE>(&c.r.theta[h], theta, first, apart);
    else c.r.theta[h] = theta;
    if (c.rank != 0 || first != 0) return;
    if (h < c.law.D) c.w.path[k * c.law.D + h] = theta;
    if (h < 2) c.w.about[2 * k + h] = c.r.about[h];
}

/* The first warp, without a full matrix. */
template <int T, int MATRIX, bool ALONE>
__device__ static void move(chain<T, MATRIX, ALONE> &c, int64_t k, const double *noise) {
    auto &r = c.r;
    const sgfsi_walk_step *s = &r.step[k % STEPS];
    __syncwarp();
#pragma unroll
    for (int h = c.is.thread; h < small<T>::SIDE; h += WARP) {
        double z1 = s->noise != 0 ? s->noise * noise[h] : 0, step = r.x[h];
        if (MATRIX == SGFSI_WALK_DIAGONAL) step = (step / r.root[h] + z1) / r.root[h];
        step = fma(s->size, step, MATRIX == SGFSI_WALK_PLAIN ? z1 : 0);
        move_to(c, k, h, r.theta[h] + step, 0, 1);
    }
}

/* All warps of the first block, with a full one: W'(W x + noise z). */
template <int T, bool ALONE>
__device__ static void move_by_factor(chain<T, SGFSI_WALK_FULL, ALONE> &c, int64_t k,
                                      const double *noise) {
    auto &r = c.r;
    const sgfsi_walk_step *s = &r.step[k % STEPS];
    int mine = c.is.me / DEEP;
    bool there = mine < small<T>::SIDE;
    double half = inverse_times<T, false>(r.K, r.x), theta = there ? r.theta[mine] : 0;
    if (there && c.is.j == 0)
        r.half[mine] = s->noise != 0 ? fma(s->noise, noise[mine], half) : half;
    __syncthreads();
    double step = inverse_times<T, true>(r.K, r.half);
    if (there) move_to(c, k, mine, fma(s->size, step, theta), c.is.j, DEEP);
}

/* All rows of iteration k: its gradient, and what the averages learn of it; false: it cannot be
 * made. Where x is to be multiplied by a full matrix, `tile` is what the warp has of it. */
template <int T, int MATRIX, bool ALONE>
__device__ static void pass_rows(chain<T, MATRIX, ALONE> &c, int64_t k, int which, bool last,
                                 double (&tile)[small<T>::OWN][2]) {
    constexpr bool FULL = MATRIX == SGFSI_WALK_FULL;
    auto &r = c.r;
    const sgfsi_walk_step *s = &r.step[k % STEPS];
    bool learns = MATRIX != SGFSI_WALK_PLAIN && (s->learns >> which & 1) != 0;
    double before[small<T>::OWN][2] = {};
    const double *noise = r.z[k % 2][0], *of_prior = r.z[k % 2][1];
    c.turn = ALONE ? 0 : 1 - c.turn;
#pragma unroll
    for (int h = 0; h < small<T>::OWN; h++) tile[h][0] = tile[h][1] = 0;
    sums<T> sum = {};
    double density = 0;
    int chunks = ALONE ? PORTIONS * c.chunks : c.chunks;
#pragma unroll 1
    for (int chunk = 0; chunk < chunks; chunk++, c.round++) {
        int odd = c.round % 2;
        bool more = chunk + 1 < chunks;
        int64_t then = more || !last ? k : k + 1;
        const span now = c.span_of(chunk);
        await_lots<0>();
        __syncthreads(); /* nobody looks at those before */
        if (then < c.w.count)
            fetch(c.law, c.w, r.step[then % STEPS].t, c.span_of(more ? chunk + 1 : 0), r.X[1 - odd],
                  r.y[1 - odd]);
        if (then > k && k + 2 < c.w.count && c.is.me < STEP_PIECES)
            copy_ahead(reinterpret_cast<double *>(&r.step[(k + 2) % STEPS]) + 2 * c.is.me,
                       reinterpret_cast<const double *>(&c.w.step[k + 2]) + 2 * c.is.me);
        end_lot();
        density += make_residuals<T>(c.law, c.w, s, which > 0, now, r.X[odd], r.y[odd], r.theta,
                                     r.residual[odd]);
        __syncthreads();
        add_rows<T, MATRIX>(c.is, c.at, learns, least(now.end - now.first, CHUNK), r.X[odd],
                            r.residual[odd], sum);
        if ((chunk + 1) % c.chunks != 0) continue;
        tell_sums(c, c.portion_of(chunk), which > 0, learns, which == 0 && s->want_lp != 0, sum,
                  density);
#pragma unroll
        for (int h = 0; h < small<T>::OWN && ALONE && FULL; h++) {
            tile[h][0] += sum.tile[h][0];
            tile[h][1] += sum.tile[h][1];
        }
        sum = {};
        density = 0;
    }
    for (int h = 0; h < c.TILES && FULL && learns; h++) { /* on their way */
        two_places from = places_of(c.law, c.learned[h], c.is);
        for (int e = 0; e < 2; e++)
            if (from.there[e]) before[h][e] = c.w.average[which][from.at + e];
    }
    if constexpr (!ALONE) arrive();
    if (which == 0 && k + 1 < c.w.count)
        draw(c.law, c.w, &r.step[(k + 1) % STEPS], r.z[(k + 1) % 2][0], r.z[(k + 1) % 2][1]);
    if constexpr (ALONE) __syncthreads();
    else await();
    if (c.is.warp == 0) {
        bool fine = which == 0 ? gradient_of(c, s, of_prior) : r.fine != 0;
        if constexpr (MATRIX == SGFSI_WALK_DIAGONAL)
            if (learns && fine) fine = learn_diagonal(c, s, which);
        if constexpr (!FULL)
            if (last && fine) move(c, k, noise);
        if (c.is.thread == 0 && c.moves()) r.fine = fine;
    }
    __syncthreads();
    if constexpr (FULL)
        if (learns) learn_tiles(c, s, which, before, tile);
}

template <int T, int MATRIX, bool ALONE>
__global__ static void __launch_bounds__(TEAM, 1) walk(law_there law, const walk_there *walks) {
    using room = room_of<T, MATRIX, ALONE>;
    constexpr int OWN = small<T>::OWN, PITCH = small<T>::PITCH;
    constexpr bool FULL = MATRIX == SGFSI_WALK_FULL, DIAGONAL = MATRIX == SGFSI_WALK_DIAGONAL;
    POOL(shared);
    room &r = *reinterpret_cast<room *>(shared);
    const walk_there w = walks[ALONE ? blockIdx.x : blockIdx.x / PORTIONS];
    const int rank = ALONE ? 0 : rank_in_cluster();
    const int rows = (law.n + PORTIONS * DEEP - 1) / (PORTIONS * DEEP) * DEEP;
    chain<T, MATRIX, ALONE> c = {law, w,  r, seat_of(), rank, rows, (rows + CHUNK - 1) / CHUNK,
                                 {},  {}, 0, 0};
    const int me = c.is.me, D = law.D;
    bool renewed = false;
    int64_t k = 0;
    prepare(c);
    for (; k < w.count; k++) {
        const sgfsi_walk_step *s = &r.step[k % STEPS];
        bool by_model = MATRIX != SGFSI_WALK_PLAIN && (s->learns & SGFSI_LEARNS_MODEL) != 0;
        double tile[OWN][2];
#pragma unroll 1
        for (int which = 0; which <= (by_model ? 1 : 0); which++)
            pass_rows(c, k, which, which == 1 || !by_model, tile);
        if constexpr (FULL) {
            if (!ALONE && s->from != 0) meet<ALONE>(); /* K's tiles are there */
            if (c.rank == 0) {
                bool fine = r.fine != 0;
                if (s->from != 0 && fine) {
#pragma unroll
                    for (int h = 0; h < OWN && !ALONE; h++) {
                        const double *from = r.K + 2 * WARP * c.at[h].number + 2 * c.is.thread;
                        tile[h][0] = c.at[h].there ? from[0] : 0;
                        tile[h][1] = c.at[h].there ? from[1] : 0;
                    }
                    fine = factor<T>(tile, r.K, &r.fine);
                    if (fine) invert<T>(r.K);
                    renewed = fine;
                }
                if (fine) move_by_factor(c, k, r.z[k % 2][0]);
                for (int to = 1; to < PORTIONS && !ALONE && me == 0; to++)
                    *in_block(&r.fine, to) = fine;
            }
            meet<ALONE>();
        }
        if (r.fine == 0) {
            if (MATRIX != SGFSI_WALK_PLAIN) take_back(c, s);
            break;
        }
        if (DIAGONAL && s->from != 0) renewed = true;
    }
    __syncthreads();
    if (c.rank != 0) return;
    if (me == 0) *w.done = static_cast<double>(k);
    for (int at = me; FULL && renewed && at < D * D; at += TEAM)
        if (at % D <= at / D) w.L[at] = r.K[at / D * PITCH + at % D];
    if (!DIAGONAL || me >= D) return;
    if (renewed) w.L[me] = r.root[me];
    for (int which = 0; which < AVERAGES; which++)
        if (w.average[which] != nullptr) w.average[which][me] = r.average[which][me];
}

/* ---- all chains ------------------------------------------------------------------------------ */

template <int MATRIX> static size_t bytes_of_block(int64_t D) {
    return D <= 2 * TILE   ? sizeof(room_of<2, MATRIX, true>)
           : D <= 4 * TILE ? sizeof(room_of<4, MATRIX, true>)
           : D <= 7 * TILE ? sizeof(room_of<7, MATRIX, true>)
                           : sizeof(room_of<8, MATRIX, true>);
}

/* Has a block what it needs? Others have less than those of capability 8.0 and 9.0. */
static bool fits_block(const sgfsi_walk_law *law) {
    int number = 0, most = 0;
    size_t bytes = law->matrix == SGFSI_WALK_PLAIN ? bytes_of_block<SGFSI_WALK_PLAIN>(law->D)
                   : law->matrix == SGFSI_WALK_DIAGONAL
                       ? bytes_of_block<SGFSI_WALK_DIAGONAL>(law->D)
                       : bytes_of_block<SGFSI_WALK_FULL>(law->D);
    return law->D <= MOST_PARAMETERS && law->n <= MOST_ROWS &&
           cudaGetDevice(&number) == cudaSuccess &&
           cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, number) ==
               cudaSuccess &&
           bytes <= static_cast<size_t>(most);
}

/* A cluster for each chain where all of them have room side by side, or else a block for each. */
template <int T, int MATRIX>
static void start_wide(lane *l, int64_t chains, const law_there &law, const walk_there *walks) {
    constexpr size_t alone = sizeof(room_of<T, MATRIX, true>),
                     each = sizeof(room_of<T, MATRIX, false>);
    auto by_block = walk<T, MATRIX, true>, by_cluster = walk<T, MATRIX, false>;
    if (chains <= clusters_at_once(l, by_cluster, PORTIONS, TEAM, each))
        CLUSTERS(l, by_cluster, chains, PORTIONS, TEAM, each, law, walks);
    else CLUSTERS(l, by_block, chains, 1, TEAM, alone, law, walks);
}

template <int MATRIX>
static void start(lane *l, int64_t chains, const law_there &law, const walk_there *walks) {
    if (law.D <= 2 * TILE) start_wide<2, MATRIX>(l, chains, law, walks);
    else if (law.D <= 4 * TILE) start_wide<4, MATRIX>(l, chains, law, walks);
    else if (law.D <= 7 * TILE) start_wide<7, MATRIX>(l, chains, law, walks);
    else start_wide<8, MATRIX>(l, chains, law, walks);
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
    if (!fits_block(law)) return walk_wide(l, law, chains, walks);
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
