/* SPDX-License-Identifier: MIT
 * cuda_measure.cu: mean, spread and range of the columns of rows that a GPU keeps, where nobody
 * else has them (sgfsi_measured of device.h).
 *
 *     rows, a tile at a time -> gathered as doubles -> a thread for each block and column, which
 *     adds from row to row, twice -> a thread for each column, which merges the blocks in order
 *
 * That is the order of rows/column_stats.c, and no product is fused with a sum here: the numbers
 * have the bits that a processor would have found. A tile stays in the second cache.
 */
#include "context/device/cuda_lane.cuh"

#include <cmath>

static constexpr int64_t ELEMENTS = 1 << 22, ROWS = 1 << 18; /* of a tile, at most */

/* Numbers of a block's column, or of all blocks so far: arrays of them, side by side. */
enum { COUNT, MEAN, SQUARES, LEAST, MOST, BAD, FIRST, NUMBERS };

struct tile {
    int64_t first, n, block, blocks, features;
    const double *X;      /* n x features */
    const double *weight; /* n, or NULL */
    double *part;         /* NUMBERS x blocks x features */
    double *all;          /* NUMBERS x features */
};

__device__ static inline double product(double x, double y) {
    return __dmul_rn(x, y);
}

__device__ static inline double sum_of(double x, double y) {
    return __dadd_rn(x, y);
}

__global__ static void sum_blocks(tile t) {
    int64_t at = item(), b = at / t.features, j = at % t.features, size = t.blocks * t.features;
    if (b >= t.blocks) return;
    int64_t from = b * t.block, end = from + t.block < t.n ? from + t.block : t.n;
    const double *x = t.X + j;
    double count = 0, sum = 0, squares = 0, least = INFINITY, most = -INFINITY;
    double bad = 0, first = INFINITY;
    for (int64_t i = from; i < end; i++) {
        double v = x[i * t.features], w = t.weight != nullptr ? t.weight[i] : 1;
        if (!(fabs(v) < INFINITY) && bad++ == 0)
            first = static_cast<double>((t.first + i) * t.features + j);
        if (w == 0) continue;
        count = sum_of(count, w);
        sum = sum_of(sum, product(w, v));
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    double mean = sum / count;
    for (int64_t i = from; i < end; i++) {
        double w = t.weight != nullptr ? t.weight[i] : 1, gap = sum_of(x[i * t.features], -mean);
        if (w != 0) squares = sum_of(squares, product(product(w, gap), gap));
    }
    const double numbers[NUMBERS] = {count, mean, squares, least, most, bad, first};
    for (int k = 0; k < NUMBERS; k++) t.part[k * size + at] = numbers[k];
}

/* Chan, Golub and LeVeque's formulas, as base/moments.h has them. */
__global__ static void merge_blocks(tile t, int begins) {
    int64_t j = item(), size = t.blocks * t.features;
    if (j >= t.features) return;
    double a[NUMBERS] = {0, 0, 0, INFINITY, -INFINITY, 0, INFINITY};
    for (int k = 0; k < NUMBERS && !begins; k++) a[k] = t.all[k * t.features + j];
    for (int64_t b = 0; b < t.blocks; b++) {
        const double *p = t.part + b * t.features + j;
        a[BAD] += p[BAD * size];
        a[FIRST] = fmin(a[FIRST], p[FIRST * size]);
        double n = a[COUNT], m = p[COUNT * size];
        if (m == 0) continue;
        double total = sum_of(n, m), gap = sum_of(p[MEAN * size], -a[MEAN]);
        double between = product(product(product(gap, gap), n), m) / total;
        a[SQUARES] = sum_of(a[SQUARES], sum_of(p[SQUARES * size], between));
        a[MEAN] = sum_of(a[MEAN], product(gap, m) / total);
        a[COUNT] = total;
        a[LEAST] = p[LEAST * size] < a[LEAST] ? p[LEAST * size] : a[LEAST];
        a[MOST] = p[MOST * size] > a[MOST] ? p[MOST * size] : a[MOST];
    }
    for (int k = 0; k < NUMBERS; k++) t.all[k * t.features + j] = a[k];
}

static void take_numbers(lane *l, const double *all, sgfsi_measured *m) {
    int64_t p = m->features;
    double *numbers = new double[static_cast<size_t>(NUMBERS * p)];
    if (begin(l, NUMBERS * p)) {
        down(l, NUMBERS * p, all, numbers);
        settle(l);
    } else {
        lose(numbers, NUMBERS * p);
    }
    double first = INFINITY;
    for (int64_t j = 0; j < p; j++) {
        m->mean[j] = numbers[MEAN * p + j];
        m->ss[j] = numbers[SQUARES * p + j];
        m->min[j] = numbers[LEAST * p + j];
        m->max[j] = numbers[MOST * p + j];
        if (!works(l)) continue;
        m->bad += static_cast<int64_t>(numbers[BAD * p + j]);
        first = std::fmin(first, numbers[FIRST * p + j]);
    }
    if (m->bad > 0) m->first_bad = static_cast<int64_t>(first);
    delete[] numbers;
}

void cuda_measure(const sgfs_device *dev, const void *kept, sgfsi_measured *m) {
    lane *l = lane_of(dev);
    int64_t p = m->features, fit = (ELEMENTS / p < ROWS ? ELEMENTS / p : ROWS) / m->block;
    int64_t blocks = fit < 1 ? 1 : fit, rows = blocks * m->block;
    m->bad = m->first_bad = 0;
    double *room = scratch_of(l, rows * p + NUMBERS * p * (blocks + 1));
    tile t = {0, 0, m->block, 0, p, room, nullptr, nullptr, nullptr};
    if (room != nullptr) t.part = room + rows * p;
    if (room != nullptr) t.all = t.part + NUMBERS * blocks * p;
    for (; works(l) && t.first < m->n; t.first += rows) {
        t.n = m->n - t.first < rows ? m->n - t.first : rows;
        t.blocks = pieces(t.n, m->block);
        if (!begin(l, 2 * t.n)) break;
        const int64_t *at = m->row != nullptr ? up(l, t.n, m->row + t.first) : nullptr;
        if (m->weight != nullptr) t.weight = up(l, t.n, m->weight + t.first);
        gather_rows(l, kept, at, t.first, t.n, p, room);
        EACH(l, sum_blocks, t.blocks * p, t);
        EACH(l, merge_blocks, p, t, t.first == 0);
    }
    take_numbers(l, t.all, m);
}
