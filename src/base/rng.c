/* SPDX-License-Identifier: MIT
 * rng.c: streams over Philox4x32-10.
 *
 * Counter layout: ctr[0] position in the stream, ctr[1] iteration (low 32 bits), ctr[2] chain,
 * ctr[3] purpose in the top 8 bits and iteration bits 32 to 55 below. Each position gives 128 bits:
 * two uniforms of 53 bits, two indices of 64 bits, or one Box-Muller pair.
 */
#include "base/rng.h"

#include <Random123/philox.h>
#include <math.h>

sgfsi_stream sgfsi_stream_at(uint64_t seed, uint32_t chain, int64_t iteration, uint32_t purpose) {
    uint64_t t = (uint64_t)iteration;
    sgfsi_stream s = {{(uint32_t)seed, (uint32_t)(seed >> 32)},
                      {0, (uint32_t)t, chain, (purpose << 24) | (uint32_t)((t >> 32) & 0xFFFFFF)}};
    return s;
}

void sgfsi_stream_skip(sgfsi_stream *s, int64_t pairs) {
    s->ctr[0] += (uint32_t)pairs;
}

/* The 128 bits at a position as two 64-bit words. */
static inline void words_at(const sgfsi_stream *s, uint32_t position, uint64_t word[2]) {
    philox4x32_ctr_t ctr = {{position, s->ctr[1], s->ctr[2], s->ctr[3]}};
    philox4x32_key_t key = {{s->key[0], s->key[1]}};
    philox4x32_ctr_t r = philox4x32(ctr, key);
    word[0] = (uint64_t)r.v[1] << 32 | r.v[0];
    word[1] = (uint64_t)r.v[3] << 32 | r.v[2];
}

enum { TOGETHER = 32 }; /* words made at once, an even number */

/* The next words for n numbers, at most TOGETHER, two of each position: the last one may be left
 * over. A loop of a fixed length is what compilers make vectors of, at four times the pace: only
 * a few words are made one by one. */
static int64_t next_words(sgfsi_stream *s, int64_t n, uint64_t *word) {
    enum { FEW = 4 };
    if (n > TOGETHER) n = TOGETHER;
    uint32_t from = s->ctr[0], positions = (uint32_t)(n + 1) / 2;
    if (positions > FEW)
        for (uint32_t k = 0; k < TOGETHER / 2; k++) words_at(s, from + k, word + 2 * k);
    else
        for (uint32_t k = 0; k < positions; k++) words_at(s, from + k, word + 2 * k);
    s->ctr[0] += positions;
    return n;
}

/* 53 bits in the middle of their cells: never 0, never 1. */
static double to_unit(uint64_t word) {
    return ((double)(word >> 11) + 0.5) * 0x1p-53;
}

void sgfsi_uniforms(sgfsi_stream *s, int64_t n, double *out) {
    uint64_t word[TOGETHER];
    for (int64_t from = 0, count; from < n; from += count) {
        count = next_words(s, n - from, word);
        for (int64_t i = 0; i < count; i++) out[from + i] = to_unit(word[i]);
    }
}

void sgfsi_normals(sgfsi_stream *s, int64_t n, double *out) {
    const double two_pi = 6.283185307179586476925;
    uint64_t word[TOGETHER];
    for (int64_t from = 0, count; from < n; from += count) {
        count = next_words(s, n - from, word);
        for (int64_t i = 0; i < count; i += 2) {
            double radius = sqrt(-2.0 * log(to_unit(word[i]))),
                   angle = two_pi * to_unit(word[i + 1]);
            out[from + i] = radius * cos(angle);
            if (i + 1 < count) out[from + i + 1] = radius * sin(angle);
        }
    }
}

__extension__ typedef unsigned __int128 uint128;

/* Multiply and shift: the bias of N/2^64 is below anything a run could see. */
int64_t sgfsi_word_index(uint64_t word, int64_t N) {
    return (int64_t)(((uint128)word * (uint64_t)N) >> 64);
}

void sgfsi_words(sgfsi_stream *s, int64_t n, uint64_t *out) {
    uint64_t word[TOGETHER];
    for (int64_t from = 0, count; from < n; from += count) {
        count = next_words(s, n - from, word);
        for (int64_t i = 0; i < count; i++) out[from + i] = word[i];
    }
}

void sgfsi_indices(sgfsi_stream *s, int64_t n, int64_t N, int64_t *out) {
    uint64_t word[TOGETHER];
    for (int64_t from = 0, count; from < n; from += count) {
        count = next_words(s, n - from, word);
        for (int64_t i = 0; i < count; i++) out[from + i] = sgfsi_word_index(word[i], N);
    }
}

uint64_t sgfsi_splitmix(uint64_t x) {
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}
