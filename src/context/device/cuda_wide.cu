/* SPDX-License-Identifier: MIT
 * cuda_wide.cu: iterations of wide regressions on a GPU without the host in between (walk.h), by
 * kernels that follow each other, each over the whole GPU:
 *
 *     draw_rows       rows and noises of all iterations at hand, once
 *     look_at_rows    a warp for each row: its predictor, its residual r_i, and that of a target
 *                     drawn from the model
 *     sum_columns     sums of r_i x_i, and of their squares for a diagonal matrix, in lots of rows
 *     finish          one block: the mean score, the gradient, and where there is no full matrix
 *                     the step
 *     learn           (r_i x_i - gbar) as rows, the square of all of them by cuBLAS; the average
 *                     learns it, and K is made of it
 *     begin_factor, begin_solution (cuda_cholesky.cu)
 *
 * An iteration that cannot be made leaves a note, and those behind it do nothing. So that averages
 * are then as they were, an iteration writes what it has learned beside them: two places take
 * turns. All sums are made in an order that the sizes alone decide.
 */
#include "context/device/cuda_wide.cuh"

#include <cmath>

#include "context/device/cuda_cholesky.cuh"
#include "context/device/cuda_random.cuh"

static constexpr int AVERAGES = 2, LOTS = 8, COLUMNS = 32, FINISHERS = 1024;

/* What the kernels know of a chain. Arrays are the GPU's. */
struct wide_chain {
    sgfsi_link link;
    int64_t N, n, D, stride, lots; /* lots of rows that sums are made in */
    double one, total, gain;
    const double *X, *y, *precision, *counted;
    uint64_t seed;
    int64_t chain;
    int *row;                   /* n of each iteration */
    double *z1, *z2;            /* 2 (D + 1)/2 of each */
    double *residual[AVERAGES]; /* n: of the data, and of targets drawn from the model */
    double *density;            /* n */
    double *part;               /* lots x D, and for a diagonal matrix twice that more */
    double *theta, *gbar, *x;   /* D */
    double *diagonal;           /* averages and the root of K, D numbers `apart` from each other */
    int64_t apart;
    double *path, *about;
    double *done, *stopped, *failed; /* how many are made; notes */
};

/* ---- what is drawn --------------------------------------------------------------------------- */

__global__ static void draw_rows(wide_chain c, int64_t count, const sgfsi_walk_step *step) {
    const int64_t words = (c.n + 1) / 2, pairs = (c.D + 1) / 2, of_each = words + 2 * pairs;
    const int64_t k = item() / of_each, at = item() % of_each;
    if (k >= count) return;
    const sgfsi_walk_step &s = step[k];
    if (at < words) {
        uint64_t word[2];
        words_at({c.seed, c.chain, s.t, SGFSI_ROWS}, static_cast<uint32_t>(at), word);
        for (int64_t h = 0; h < 2 && 2 * at + h < c.n; h++)
            c.row[k * c.n + 2 * at + h] = to_row(word[h], static_cast<uint64_t>(c.N));
    } else if (at < words + pairs) {
        if (s.noise != 0)
            two_normals({c.seed, c.chain, s.t, SGFSI_NOISE}, at - words,
                        c.z1 + 2 * (k * pairs + at - words));
    } else if (s.prior != 0) {
        two_normals({c.seed, c.chain, s.t, SGFSI_PRIOR}, at - words - pairs,
                    c.z2 + 2 * (k * pairs + at - words - pairs));
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A warp for each row. */
__global__ static void look_at_rows(wide_chain c, int64_t k, int64_t t, bool by_model,
                                    bool want_density) {
    const int lane_of_warp = static_cast<int>(threadIdx.x) % WARP;
    const int64_t i = item() / WARP;
    if (i >= c.n || *c.stopped != 0) return; /* a whole warp */
    const int64_t row = c.row[k * c.n + i];
    const double *x = c.X + row * c.stride;
    double eta = 0;
    for (int64_t j = lane_of_warp; j < c.D; j += WARP) eta += x[j] * c.theta[j];
#pragma unroll
    for (int far = 1; far < WARP; far *= 2) eta += __shfl_sync(~0u, eta, lane_of_warp ^ far);
    if (lane_of_warp > 0) return;
    const double y = c.y[row];
    const stream_there model = {c.seed, c.chain, t, SGFSI_MODEL};
    if (c.link == SGFSI_LOG) {
        const double mean = exp(eta);
        c.residual[0][i] = y - mean;
        if (want_density) c.density[i] = y * eta - mean - lgamma(y + 1);
        if (by_model) c.residual[1][i] = count_of(model, c.n, i, mean) - mean;
        return;
    }
    const double e = exp(-fabs(eta)), p = (eta >= 0 ? 1 : e) / (1 + e);
    const bool is_one = y == c.one;
    c.residual[0][i] = (is_one ? 1 : 0) - p;
    if (want_density) c.density[i] = (is_one ? eta : 0) - (fmax(eta, 0.0) + log1p(e));
    if (by_model)
        c.residual[1][i] = (uniform_behind(model, c.n, i) < 1 / (1 + exp(-eta)) ? 1 : 0) - p;
}

/* A block adds 32 columns of a lot of rows: of r_i x_ij, and of the squares of both residuals'. */
__global__ static void sum_columns(wide_chain c, int64_t k, bool squares, bool by_model) {
    __shared__ double part[3][LOTS][COLUMNS];
    const int me = static_cast<int>(threadIdx.x), col = me % COLUMNS, own = me / COLUMNS;
    const int64_t across = (c.D + COLUMNS - 1) / COLUMNS;
    const int64_t j = blockIdx.x % across * COLUMNS + col, lot = blockIdx.x / across;
    double sum[3] = {0, 0, 0};
    if (*c.stopped != 0) return;
    for (int64_t i = lot * LOTS + own; j < c.D && i < c.n; i += c.lots * LOTS) {
        const double x = c.X[c.row[k * c.n + i] * c.stride + j], g = c.residual[0][i] * x;
        sum[0] += g;
        if (squares) sum[1] += g * g;
        if (by_model) sum[2] += c.residual[1][i] * x * (c.residual[1][i] * x);
    }
    for (int h = 0; h < 3; h++) part[h][own][col] = sum[h];
    __syncthreads();
    if (own > 0 || j >= c.D) return;
    for (int h = 0; h < (squares || by_model ? 3 : 1); h++) {
        double all = 0;
        for (int other = 0; other < LOTS; other++) all += part[h][other][col];
        c.part[(h * c.lots + lot) * c.D + j] = all;
    }
}

/* ---- the gradient ---------------------------------------------------------------------------- */

/* A block: the sum of x over its threads, in each: halves to halves. */
__device__ static double sum_of_block(double x, double *room) {
    const int me = static_cast<int>(threadIdx.x);
    __syncthreads();
    room[me] = x;
    for (int half_of = FINISHERS / 2; half_of > 0; half_of /= 2) {
        __syncthreads();
        if (me < half_of) room[me] += room[me + half_of];
    }
    __syncthreads();
    return room[0];
}

__device__ static inline double sum_of_lots(const wide_chain &c, int which, int64_t j) {
    double sum = 0;
    for (int64_t lot = 0; lot < c.lots; lot++) sum += c.part[(which * c.lots + lot) * c.D + j];
    return sum;
}

/* Number j of an average of squares, after this iteration. */
__device__ static inline double diagonal_of(const wide_chain &c, const sgfsi_walk_step &s,
                                            int which, int64_t j) {
    double v = sum_of_lots(c, 1 + which, j), decay = s.decay[which];
    if (which == 0) v -= static_cast<double>(c.n) * c.gbar[j] * c.gbar[j];
    return (decay != 0 ? decay * c.diagonal[which * c.apart + j] : 0) +
           s.weight[which] * (v < 0 ? 0 : v);
}

/* Averages of squares learn, and K is made of one of them; false: it is not positive, and they
 * have not. */
__device__ static bool learn_diagonal(const wide_chain &c, const sgfsi_walk_step &s, double *room) {
    double bad = 0;
    for (int64_t j = threadIdx.x; s.from != 0 && j < c.D; j += FINISHERS) {
        const double K =
            c.gain * diagonal_of(c, s, static_cast<int>(s.from) - 1, j) + s.share * c.counted[j];
        if (!(K > 0)) bad = 1;
    }
    if (sum_of_block(bad, room) != 0) return false;
    for (int64_t j = threadIdx.x; j < c.D; j += FINISHERS) {
        for (int which = 0; which < AVERAGES; which++) {
            if ((s.learns >> which & 1) == 0) continue;
            const double after = diagonal_of(c, s, which, j);
            c.diagonal[which * c.apart + j] = after;
            if (s.from == which + 1)
                c.diagonal[AVERAGES * c.apart + j] = sqrt(c.gain * after + s.share * c.counted[j]);
        }
    }
    return true;
}

/* One block. Without a full matrix the iteration ends here. */
__global__ static void __launch_bounds__(FINISHERS)
    finish(wide_chain c, int64_t k, sgfsi_walk_step s, int matrix) {
    __shared__ double room[FINISHERS];
    const int me = static_cast<int>(threadIdx.x);
    const int64_t pairs = (c.D + 1) / 2;
    const double *z1 = c.z1 + 2 * k * pairs, *z2 = c.z2 + 2 * k * pairs;
    const bool over = *c.stopped != 0 || *c.failed != 0;
    double length = 0, prior = 0, density = 0;
    __syncthreads();
    if (over) { /* an iteration before this one has not been made */
        if (me == 0) *c.stopped = 1;
        return;
    }
    for (int64_t j = me; j < c.D; j += FINISHERS) {
        const double gbar = sum_of_lots(c, 0, j) / static_cast<double>(c.n), theta = c.theta[j];
        const double G = c.total * gbar - c.precision[j] * theta;
        c.gbar[j] = gbar;
        c.x[j] = G;
        length += G * G;
        prior += c.precision[j] * theta * theta;
    }
    for (int64_t i = me; s.want_lp && i < c.n; i += FINISHERS) density += c.density[i];
    length = sqrt(sum_of_block(length, room));
    prior = sum_of_block(prior, room);
    density = sum_of_block(density, room);
    bool fine = length - length == 0; /* finite */
    if (fine && matrix == SGFSI_WALK_DIAGONAL) fine = learn_diagonal(c, s, room);
    if (me == 0) {
        c.about[2 * k] = length;
        c.about[2 * k + 1] = c.total / static_cast<double>(c.n) * density - 0.5 * prior;
        if (!fine) *c.stopped = 1;
        else if (matrix != SGFSI_WALK_FULL) *c.done = static_cast<double>(k + 1);
    }
    for (int64_t j = me; fine && j < c.D; j += FINISHERS) {
        double x = c.x[j], noise = s.noise != 0 ? s.noise * z1[j] : 0, step = x;
        if (s.prior != 0) c.x[j] = step = x + s.prior * sqrt(c.counted[j]) * z2[j];
        if (matrix == SGFSI_WALK_FULL) continue;
        if (matrix == SGFSI_WALK_DIAGONAL) {
            const double K = c.diagonal[AVERAGES * c.apart + j];
            step = (step / K + noise) / K;
        }
        c.theta[j] += s.size * step + (matrix == SGFSI_WALK_PLAIN ? noise : 0);
        c.path[k * c.D + j] = c.theta[j];
    }
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* S (n x stride): r_i x_i, less the mean where which is 0; a warp for each row. */
__global__ static void score_rows(wide_chain c, int64_t k, int which, double *S) {
    const int64_t i = item() / WARP, j = item() % WARP;
    if (i >= c.n || *c.stopped != 0) return;
    const double *x = c.X + c.row[k * c.n + i] * c.stride, r = c.residual[which][i];
    double *to = S + i * c.stride;
    for (int64_t at = j; at < c.D; at += WARP) to[at] = r * x[at] - (which == 0 ? c.gbar[at] : 0);
}

struct learning {
    double decay, weight;
    const double *V, *before; /* D x D, lower triangles */
    double *after;
    double gain, share; /* of K; made: is it wanted? */
    bool made;
    double *K;
};

/* after = decay before + weight V, and K of it. */
__global__ static void learn_numbers(wide_chain c, learning a) {
    const int64_t i = blockIdx.x;
    if (*c.stopped != 0) return;
    for (int64_t j = threadIdx.x; j <= i; j += THREADS) {
        const int64_t at = i * c.D + j;
        const double after = (a.decay != 0 ? a.decay * a.before[at] : 0) + a.weight * a.V[at];
        a.after[at] = after;
        if (a.made) a.K[at] = a.gain * after + (i == j ? a.share * c.counted[i] : 0);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* What full matrices take turns with. */
struct turns {
    double *place[AVERAGES][2];
    int64_t learned[AVERAGES]; /* how often */
    double *S, *V;             /* scores, and the sum of their squares */
};

static void learn(lane *l, const wide_chain &c, int64_t k, const sgfsi_walk_step &s, turns *of,
                  double *K) {
    const double one = 1, none = 0;
    const int D = static_cast<int>(c.D);
    for (int which = 0; which < AVERAGES; which++) {
        if ((s.learns >> which & 1) == 0) continue;
        const int64_t turn = of->learned[which]++ % 2;
        learning a = {};
        a.decay = s.decay[which];
        a.weight = s.weight[which];
        a.V = of->V;
        a.before = of->place[which][turn];
        a.after = of->place[which][1 - turn];
        a.gain = c.gain;
        a.share = s.share;
        a.made = s.from == which + 1;
        a.K = K;
        EACH(l, score_rows, c.n * WARP, c, k, which, of->S);
        (void)fine(l,
                   cublasDsyrk(l->blas, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, D,
                               static_cast<int>(c.n), &one, of->S, static_cast<int>(c.stride),
                               &none, of->V, D),
                   "a product");
        TOGETHER(l, learn_numbers, c.D, THREADS, c, a);
    }
}

/* Starts all iterations of a chain. */
static void begin_walk(lane *l, const sgfsi_walk_law *law, const sgfsi_walk *w, const wide_chain &c,
                       const sgfsi_walk_step *there, turns *of, const factor_room &room) {
    const int64_t of_each = (c.n + 1) / 2 + 2 * ((c.D + 1) / 2);
    const int64_t across = pieces(c.D, COLUMNS);
    EACH(l, draw_rows, w->count * of_each, c, w->count, there);
    for (int64_t k = 0; k < w->count; k++) {
        const sgfsi_walk_step &s = w->step[k];
        const bool by_model = (s.learns & SGFSI_LEARNS_MODEL) != 0;
        const bool squares = law->matrix == SGFSI_WALK_DIAGONAL && s.learns != 0;
        TOGETHER(l, look_at_rows, pieces(c.n * WARP, THREADS), THREADS, c, k, s.t, by_model,
                 s.want_lp != 0);
        TOGETHER(l, sum_columns, across * c.lots, COLUMNS * LOTS, c, k, squares,
                 squares && by_model);
        TOGETHER(l, finish, 1, FINISHERS, c, k, s, static_cast<int>(law->matrix));
        if (law->matrix != SGFSI_WALK_FULL) continue;
        learn(l, c, k, s, of, w->L);
        /* A step behind a new factor takes the inverses that were made with it, any other those
         * that are made of it, so that it has the same bits where a walk begins with it. */
        if (s.from != 0) begin_factor(l, c.D, w->L, room, c.failed, c.stopped);
        else if (k == 0 || w->step[k - 1].from != 0)
            begin_inverses(l, c.D, w->L, room, k == 0, c.failed, c.stopped);
        solution x = {};
        x.halves = 3;
        x.D = c.D;
        x.a = s.noise;
        x.z = s.noise != 0 ? c.z1 + 2 * k * ((c.D + 1) / 2) : nullptr;
        x.x = c.x;
        x.theta = c.theta;
        x.path = c.path + k * c.D;
        x.done = c.done;
        x.size = s.size;
        x.count = static_cast<double>(k + 1);
        x.stopped = c.stopped;
        x.failed = c.failed;
        begin_solution(l, x, room);
    }
}

/* Averages that stand at their second place after `done` iterations go back to their first. */
static void put_back(lane *l, int64_t D, const sgfsi_walk *w, const turns &of) {
    const size_t bytes = static_cast<size_t>(D * D) * sizeof(double);
    for (int which = 0; which < AVERAGES; which++) {
        int64_t learned = 0;
        for (int64_t k = 0; k < w->done; k++) learned += w->step[k].learns >> which & 1;
        if (learned % 2 != 0)
            (void)fine(l,
                       cudaMemcpyAsync(of.place[which][0], of.place[which][1], bytes,
                                       cudaMemcpyDeviceToDevice, l->stream),
                       "a copy");
    }
}

/* The next piece of a room, whose pieces begin at lines of memory. */
static double *next_of(double **room, int64_t numbers) {
    double *at = *room;
    *room += rounded(numbers);
    return at;
}

/* One chain. room: numbers for what only the GPU sees. */
static void walk_chain(lane *l, const sgfsi_walk_law *law, sgfsi_walk *w, double *room) {
    const int64_t D = law->D, n = law->n, count = w->count, pairs = 2 * ((D + 1) / 2);
    const bool full = law->matrix == SGFSI_WALK_FULL, diagonal = law->matrix == SGFSI_WALK_DIAGONAL;
    const int64_t words = count * static_cast<int64_t>(sizeof(sgfsi_walk_step) / sizeof(double));
    double state[3] = {0, 0, 0};
    turns of = {};
    wide_chain c = {};
    /* Each piece goes up or comes down, and lies once on the GPU and once in pinned memory. */
    if (!begin(l, rounded(words) + 10 * rounded(D) + 2 * rounded(count * D) +
                      2 * rounded(2 * count) + 2 * rounded(3)))
        return;
    const sgfsi_walk_step *there = reinterpret_cast<const sgfsi_walk_step *>(
        up(l, words, reinterpret_cast<const double *>(w->step)));
    c.link = law->link;
    c.N = law->N;
    c.n = n;
    c.D = D;
    c.stride = law->stride;
    c.lots = pieces(n, 16 * LOTS);
    c.one = law->one;
    c.total = law->total;
    c.gain = law->gain;
    c.X = law->X;
    c.y = law->y;
    c.seed = w->seed;
    c.chain = w->chain;
    c.precision = up(l, D, law->precision);
    c.counted = law->counted != nullptr ? up(l, D, law->counted) : nullptr;
    c.theta = const_cast<double *>(up(l, D, w->theta));
    for (int k = 0; diagonal && k <= AVERAGES; k++) {
        const double *from = k < AVERAGES ? w->average[k] : w->L;
        double *to = const_cast<double *>(up(l, D, from != nullptr ? from : w->L));
        if (k == 0) c.diagonal = to;
    }
    c.apart = rounded(D);
    c.done = const_cast<double *>(up(l, 3, state));
    c.stopped = c.done + 1;
    c.failed = c.done + 2;
    c.path = take(l, count * D);
    c.about = take(l, 2 * count);
    c.z1 = next_of(&room, count * pairs);
    c.z2 = next_of(&room, count * pairs);
    c.residual[0] = next_of(&room, n);
    c.residual[1] = next_of(&room, n);
    c.density = next_of(&room, n);
    c.part = next_of(&room, 3 * c.lots * D);
    c.gbar = next_of(&room, D);
    c.x = next_of(&room, D);
    c.row = reinterpret_cast<int *>(next_of(&room, pieces(count * n, 2)));
    of.V = full ? next_of(&room, D * D) : nullptr;
    of.S = full ? next_of(&room, n * law->stride) : nullptr;
    for (int k = 0; full && k < AVERAGES; k++) {
        of.place[k][0] = w->average[k];
        of.place[k][1] = next_of(&room, D * D);
    }
    begin_walk(l, law, w, c, there, &of,
               full ? factor_room_at(D, next_of(&room, factor_numbers(D))) : factor_room{});
    down(l, 3, c.done, state);
    down(l, count * D, c.path, w->path);
    down(l, 2 * count, c.about, w->about);
    for (int k = 0; diagonal && k <= AVERAGES; k++) {
        double *to = k < AVERAGES ? w->average[k] : w->L;
        if (to != nullptr) down(l, D, c.diagonal + k * rounded(D), to);
    }
    settle(l);
    if (!works(l)) return;
    w->done = static_cast<int64_t>(state[0]);
    if (full) put_back(l, D, w, of);
}

void walk_wide(lane *l, const sgfsi_walk_law *law, int64_t chains, sgfsi_walk *walks) {
    const int64_t D = law->D, n = law->n;
    int64_t most = 0;
    for (int64_t c = 0; c < chains; c++) most = walks[c].count > most ? walks[c].count : most;
    int64_t numbers = 2 * rounded(most * (D + 1)) + 3 * rounded(n) +
                      rounded(3 * pieces(n, 16 * LOTS) * D) + 2 * rounded(D) +
                      rounded(pieces(most * n, 2));
    if (law->matrix == SGFSI_WALK_FULL)
        numbers += (AVERAGES + 1) * rounded(D * D) + rounded(n * law->stride) + factor_numbers(D);
    double *room = works(l) ? scratch_of(l, numbers) : nullptr;
    for (int64_t c = 0; room != nullptr && c < chains; c++) walk_chain(l, law, &walks[c], room);
}
