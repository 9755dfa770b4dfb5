/* SPDX-License-Identifier: MIT
 * cuda_glm.cuh: what cuda_glm.cu and cuda_pairs.cu share.
 */
#pragma once

#include <cstring>

#include "context/device/cuda_lane.cuh"

struct kept_glm {
    sgfsi_link link;
    int64_t rows, p, pitch; /* pitch: numbers from one row of X to the next, zeros behind p */
    const void *kept;
    double *X;    /* rows x pitch; NULL: there was no room */
    double *room; /* a stretch of them, where there is no X */
    int64_t tile; /* numbers of a tile of predictors */
    double *y, *weight, *offset;
    double *linear, *even; /* p: sums of w y x, and of w x */
};

/* A product of positive numbers, x 2^power, 1 <= x < 2. */
struct product {
    double x;
    int power;
};
__device__ static inline void carry(product *p) {
    int64_t bits;
    memcpy(&bits, &p->x, sizeof bits);
    p->power += static_cast<int>(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffff) | 0x3ff0000000000000;
    memcpy(&p->x, &bits, sizeof bits);
}
__device__ static inline double log_of(const product &p) {
    return log(p.x) + 0.69314718055994530942 * p.power;
}

/* out = the sums of the `count` columns of part, strips x count; more: out += them. */
void add_up(lane *l, int64_t strips, int64_t count, const double *part, double *out, bool more);

/* So that rows in memory that a block shares begin at other banks: 4 modulo 8, at least p. */
static inline int64_t pitch_of(int64_t p) {
    return (p + 3) / 8 * 8 + 4;
}

/* cuda_pairs.cu: products of logistic factors in one kernel with the predictors. */
/* How many chunks of rows there are, and what a block of threads wants to share: 0: it does not
 * fit. */
int64_t pair_chunks(int64_t rows);
int64_t pair_bytes(const kept_glm *g, int64_t K);
/* part (chunks x 2 K): minus the logarithms of the products at centre + theta_k and centre -
 * theta_k; factor: two numbers for each row (A and B of cuda_glm.cu); *wild becomes 1 where a
 * predictor of theta_k is too large for one exp. */
void multiply_pairs(lane *l, const kept_glm *g, int64_t K, int64_t stride, const double *theta,
                    const double *factor, double *part, double *wild);
