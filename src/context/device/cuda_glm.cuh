/* SPDX-License-Identifier: MIT
 * cuda_glm.cuh: what cuda_glm.cu and cuda_pairs.cu share.
 */
#pragma once

#include <cstring>

#include "context/device/cuda_lane.cuh"

struct centres; /* cuda_pairs.cu */

struct kept_glm {
    sgfsi_link link;
    int64_t rows, p, pitch; /* pitch: numbers from one row of X to the next, zeros behind p */
    const void *kept;
    double *X;    /* rows x pitch; NULL: there was no room */
    double *room; /* a stretch of them, where there is no X */
    int64_t tile; /* numbers of a tile of predictors */
    double *y, *weight, *offset;
    double *linear, *even; /* p: sums of w y x, and of w x */
    centres *known;        /* factors at centres that are asked around again and again */
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

/* The sums of pairs on the GPU, whatever the link: plus and minus (at->K each). Of `at` K and
 * stride count; theta and centre are the GPU's. */
void ask_pairs(lane *l, const kept_glm *g, const sgfsi_glm_places *at, const double *theta,
               const double *centre, double *plus, double *minus);

/* cuda_pairs.cu: of a logistic model without weights as products of its factors, in one kernel with
 * the predictors. */
bool makes_products(const kept_glm *g, int64_t K); /* is it one, and do K places fit? */
/* centre: the GPU's, or NULL where `factor` is known already. A place at which some predictor of
 * theta_k is too large for one exp, or no number, has the sum NaN: ask_pairs can say. */
void ask_products(lane *l, const kept_glm *g, int64_t K, int64_t stride, const double *theta,
                  const double *centre, const double *factor, double *plus, double *minus);
/* The factors at a centre (p, the host's) that somebody keeps, or NULL; until it is returned. */
const double *borrow_centre(const kept_glm *g, const double *centre);
void return_centre(const kept_glm *g, const double *factor);
bool any_nan(int64_t n, const double *x);
centres *new_centres(void);
void free_centres(centres *c);
