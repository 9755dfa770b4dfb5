/* SPDX-License-Identifier: MIT
 * cuda_predict.cu: what draws say together of rows on a GPU: sums of probabilities, densities, and
 * numbers of a rank among all draws of a row.
 */
#include "context/device/cuda_lane.cuh"

#include <cmath>
#include <cstring>

/* ---- draws are added up ---------------------------------------------------------------------- */

/* A number's density joins the running log-sum-exp. */
__device__ static void join(double loglik, double *top, double *sum) {
    if (loglik == -INFINITY) return;
    double gap = exp(-fabs(loglik - *top)); /* 0 at the first: top is -infinity */
    if (loglik <= *top) {
        *sum += gap;
    } else {
        *sum = *sum * gap + 1;
        *top = loglik;
    }
}

/* A thread for each number of a row goes from draw to draw. */
__global__ static void collect(sgfsi_collected c) {
    int64_t t = item(), i = t / c.K, k = t % c.K;
    if (i >= c.n) return;
    double total = c.total[t];
    const double *P = c.P + i * c.draws * c.K + k;
    for (int64_t d = 0; d < c.draws; d++) {
        double p = P[d * c.K];
        total += p;
        c.kept[t * c.room + c.first + d] = p;
    }
    c.total[t] = total;
    if (k > 0 || c.loglik == nullptr) return;
    double top = c.top[i], sum = c.sum[i];
    for (int64_t d = 0; d < c.draws; d++) join(c.loglik[i * c.draws + d], &top, &sum);
    c.top[i] = top;
    c.sum[i] = sum;
}

/* The same of predictors eta of the second of two labels: 1/(1 + exp(-eta)), 1/(1 + exp(eta)). */
__global__ static void collect_two(sgfsi_collected c) {
    int64_t i = item();
    if (i >= c.n) return;
    double first = c.total[2 * i], second = c.total[2 * i + 1], top = c.top[i], sum = c.sum[i];
    double own = c.own != nullptr ? c.own[i] : -1;
    for (int64_t d = 0; d < c.draws; d++) {
        double eta = c.P[i * c.draws + d], e = exp(-fabs(eta));
        double likely = 1 / (1 + e), unlikely = e * likely;
        first += eta >= 0 ? unlikely : likely;
        second += eta >= 0 ? likely : unlikely;
        c.kept[i * c.room + c.first + d] = eta;
        double against = own > 0 ? -eta : eta;
        if (own >= 0) join(-(fmax(against, 0.0) + log1p(e)), &top, &sum);
    }
    c.total[2 * i] = first;
    c.total[2 * i + 1] = second;
    c.top[i] = top;
    c.sum[i] = sum;
}

void cuda_collect(const sgfs_device *dev, const sgfsi_collected *c) {
    lane *l = lane_of(dev);
    if (!works(l)) return;
    if (c->K == 1) EACH(l, collect_two, c->n, *c);
    else EACH(l, collect, c->n * c->K, *c);
}

/* ---- numbers of a rank ----------------------------------------------------------------------- */

static constexpr int RANKS = SGFSI_MOST_RANKS, GROUPS = 16;

/* Whole numbers in the order of the doubles, and back. */
__device__ static uint64_t key_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | uint64_t(1) << 63;
}
__device__ static double number_of(uint64_t key) {
    uint64_t bits = key >> 63 ? key & ~(uint64_t(1) << 63) : ~key;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

struct ranks {
    int64_t at[RANKS];
};

/* A block for each row finds the keys of all ranks bit by bit, from the highest: a bit is set where
 * no more than `rank` numbers are below the key that has it. Counts are whole numbers: their order
 * changes nothing. */
__global__ static void pick(int64_t room, int64_t n, const double *A, int64_t count, ranks rank,
                            double *out) {
    __shared__ int64_t below[THREADS][RANKS], group[GROUPS][RANKS];
    __shared__ uint64_t found[RANKS];
    const int me = static_cast<int>(threadIdx.x);
    const double *x = A + static_cast<int64_t>(blockIdx.x) * room;
    if (me < RANKS) found[me] = 0;
    for (int bit = 63; bit >= 0; bit--) {
        uint64_t guess[RANKS];
        int64_t own[RANKS] = {0};
        __syncthreads();
        for (int j = 0; j < RANKS; j++) guess[j] = found[j] | uint64_t(1) << bit;
        for (int64_t i = me; i < n; i += THREADS) {
            uint64_t key = key_of(x[i]);
            for (int j = 0; j < RANKS; j++) own[j] += key < guess[j];
        }
        for (int j = 0; j < RANKS; j++) below[me][j] = own[j];
        __syncthreads();
        if (me < GROUPS * RANKS) {
            int64_t sum = 0;
            for (int t = me / RANKS; t < THREADS; t += GROUPS) sum += below[t][me % RANKS];
            group[me / RANKS][me % RANKS] = sum;
        }
        __syncthreads();
        if (me < count) {
            int64_t sum = 0;
            for (int g = 0; g < GROUPS; g++) sum += group[g][me];
            if (sum <= rank.at[me]) found[me] = guess[me];
        }
    }
    if (me < count) out[static_cast<int64_t>(blockIdx.x) * count + me] = number_of(found[me]);
}

void cuda_pick(const sgfs_device *dev, int64_t rows, int64_t room, int64_t n, const double *A,
               int64_t count, const int64_t *rank, double *out) {
    lane *l = lane_of(dev);
    ranks these = {{0}};
    for (int64_t j = 0; j < count; j++) these.at[j] = rank[j];
    if (rows > 0 && works(l)) TOGETHER(l, pick, rows, THREADS, room, n, A, count, these, out);
}
