/* SPDX-License-Identifier: MIT
 * little.h: numbers as little-endian bytes whatever the machine, for the files we write and read.
 * Compilers turn these shifts into plain copies where the machine is little-endian.
 */
#pragma once

#include <stdint.h>
#include <string.h>

static inline void sgfsi_put_u32(unsigned char *out, uint32_t x) {
    for (int k = 0; k < 4; k++) out[k] = (unsigned char)(x >> (8 * k));
}

static inline void sgfsi_put_u64(unsigned char *out, uint64_t x) {
    for (int k = 0; k < 8; k++) out[k] = (unsigned char)(x >> (8 * k));
}

static inline uint32_t sgfsi_get_u32(const unsigned char *in) {
    uint32_t x = 0;
    for (int k = 0; k < 4; k++) x |= (uint32_t)in[k] << (8 * k);
    return x;
}

static inline uint64_t sgfsi_get_u64(const unsigned char *in) {
    uint64_t x = 0;
    for (int k = 0; k < 8; k++) x |= (uint64_t)in[k] << (8 * k);
    return x;
}

/* count doubles; returns where the next byte goes */
static inline unsigned char *sgfsi_put_doubles(unsigned char *out, const double *x, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t word;
        memcpy(&word, &x[i], sizeof word);
        sgfsi_put_u64(out + 8 * i, word);
    }
    return out + 8 * count;
}

/* Turn count doubles into the machine's own in place; `bytes` must be aligned as malloc aligns. */
static inline double *sgfsi_get_doubles(unsigned char *bytes, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t word = sgfsi_get_u64(bytes + 8 * i);
        memcpy(bytes + 8 * i, &word, sizeof word);
    }
    return (double *)(void *)bytes;
}
