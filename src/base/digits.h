/* SPDX-License-Identifier: MIT
 * digits.h: the numbers of which tables are full, -12.345678 and its like, read without a branch
 * that has to be guessed. All others are for number.c, which says why the rounding is right.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "base/number.h"

enum {
    SGFSI_USUAL_BYTES = 40, /* that have to be there, number or not */
    SGFSI_EXACT_POW10 = 22  /* 10^22 is a double without error */
};

static const double sgfsi_pow10[SGFSI_EXACT_POW10 + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Up to eight digits at s onto m; returns how many. Digits become 0 to 9, the first byte that is
 * none of these ends them, and what stands before it is moved up behind leading zeros. Then
 * neighbours are joined to pairs, to fours, to all. */
static inline int sgfsi_take_eight(const char *s, uint64_t *m) {
    static const uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t v;
    memcpy(&v, s, 8);
    v ^= 0x3030303030303030u;
    /* The top bit of each byte over 9; a carry comes from such a byte only, and goes up. */
    uint64_t others = ((v + 0x7676767676767676u) | v) & 0x8080808080808080u;
    int n = others == 0 ? 8 : __builtin_ctzll(others) / 8;
    v = n == 0 ? 0 : v << (64 - 8 * n);
    v = (v * 10 + (v >> 8)) & 0x00FF00FF00FF00FFu;
    v = (v * 100 + (v >> 16)) & 0x0000FFFF0000FFFFu;
    v = (v * 10000 + (v >> 32)) & 0xFFFFFFFFu;
    *m = *m * power[n] + v;
    return n;
}
#else
static inline int sgfsi_take_eight(const char *s, uint64_t *m) {
    int n = 0;
    for (; n < 8 && (unsigned char)(s[n] - '0') < 10; n++) *m = *m * 10 + (uint64_t)(s[n] - '0');
    return n;
}
#endif

/* One to seven digits, and up to 18 with those behind a point: as sgfsi_parse_num reads them. NULL:
 * it is written in another way. SGFSI_USUAL_BYTES from s on are looked at. */
static inline const char *sgfsi_parse_usual(const char *s, double *out) {
    uint64_t m = 0;
    bool negative = *s == '-';
    s += negative;
    int whole = sgfsi_take_eight(s, &m), part = 0;
    if (whole == 0 || whole == 8) return NULL;
    s += whole;
    if (*s == '.') {
        part = sgfsi_take_eight(s + 1, &m);
        if (part == 8) part += sgfsi_take_eight(s + 9, &m);
        if (part == 16) part += sgfsi_take_eight(s + 17, &m);
        s += 1 + part;
    }
    if (whole + part > 19 || *s == 'e' || *s == 'E') return NULL;
    double x = m <= (uint64_t)1 << 53 ? (double)m / sgfsi_pow10[part] : sgfsi_scale(m, -part);
    *out = copysign(x, negative ? -1.0 : 1.0);
    return s;
}
