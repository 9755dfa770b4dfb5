/* SPDX-License-Identifier: MIT
 * cuda_random.cuh: the random numbers of base/rng.c, by any thread of a GPU at any place of any
 * stream: the same words, and normals of them up to rounding.
 */
#pragma once

#include <cmath>

#include "base/rng.h"

/* The stream of one iteration of one chain, for one purpose. */
struct stream_there {
    uint64_t seed;
    int64_t chain, t;
    uint32_t purpose;
};

/* Philox4x32-10 at a position of a stream. */
__device__ static inline void words_at(const stream_there &s, uint32_t position, uint64_t word[2]) {
    uint64_t time = static_cast<uint64_t>(s.t);
    uint32_t a = position, b = static_cast<uint32_t>(time), c = static_cast<uint32_t>(s.chain);
    uint32_t d = (s.purpose << 24) | static_cast<uint32_t>((time >> 32) & 0xFFFFFF);
    uint32_t key = static_cast<uint32_t>(s.seed), other = static_cast<uint32_t>(s.seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; round++) {
        uint64_t p = static_cast<uint64_t>(0xD2511F53u) * a;
        uint64_t q = static_cast<uint64_t>(0xCD9E8D57u) * c;
        a = static_cast<uint32_t>(q >> 32) ^ b ^ key;
        b = static_cast<uint32_t>(q);
        c = static_cast<uint32_t>(p >> 32) ^ d ^ other;
        d = static_cast<uint32_t>(p);
        key += 0x9E3779B9u;
        other += 0xBB67AE85u;
    }
    word[0] = static_cast<uint64_t>(b) << 32 | a;
    word[1] = static_cast<uint64_t>(d) << 32 | c;
}

__device__ static inline double to_unit(uint64_t word) {
    return (static_cast<double>(word >> 11) + 0.5) * 0x1p-53;
}

/* word N / 2^64, for N below 2^31. */
__device__ static inline int to_row(uint64_t word, uint64_t N) {
    return static_cast<int>(((word >> 32) * N + ((word & 0xFFFFFFFFu) * N >> 32)) >> 32);
}

/* Numbers 2 pair and 2 pair + 1 of the stream's normals. */
__device__ static inline void two_normals(const stream_there &s, int64_t pair, double *z) {
    const double two_pi = 6.283185307179586476925;
    uint64_t word[2];
    words_at(s, static_cast<uint32_t>(pair), word);
    double radius = sqrt(-2.0 * log(to_unit(word[0]))), angle = two_pi * to_unit(word[1]);
    z[0] = radius * cos(angle);
    z[1] = radius * sin(angle);
}

/* The uniform number i of the stream, where n normals come first. */
__device__ static inline double uniform_behind(const stream_there &s, int64_t n, int64_t i) {
    uint64_t word[2];
    words_at(s, static_cast<uint32_t>((n + 1) / 2 + i / 2), word);
    return to_unit(i % 2 != 0 ? word[1] : word[0]);
}

/* Count i of n of a Poisson law of mean mu, as poisson.c draws it of that uniform or of a normal:
 * probabilities are taken off from the mode outwards. */
__device__ static inline double count_of(const stream_there &s, int64_t n, int64_t i, double mu) {
    constexpr double most_searched = 1e6, table = 1024, none = 1e-25;
    constexpr double half_log_two_pi = 0.91893853320467274178;
    if (!(mu < most_searched)) {
        double pair[2], sd = sqrt(mu);
        two_normals(s, i / 2, pair);
        double z = i % 2 != 0 ? pair[1] : pair[0];
        return floor(mu + sd * z + (z * z - 1) / 6 - (z * z + 2) * z / (72 * sd) + 0.5);
    }
    double u = uniform_behind(s, n, i);
    double low = floor(mu), high = low, k = low, below, above;
    below = k == 0      ? -mu
            : k < table ? k * log(mu) - mu - lgamma(k + 1)
                        : k * log1p((mu - k) / k) - (mu - k) - 0.5 * log(k) - half_log_two_pi -
                              1 / (12 * k);
    above = below = exp(below);
    u -= below;
    if (u < 0) return low;
    do {
        above *= mu / ++high;
        u -= above;
        if (u < 0) return high;
        below *= low-- / mu;
        u -= below;
        if (u < 0) return low;
    } while (above + below > none);
    return high;
}
