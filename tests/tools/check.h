/* SPDX-License-Identifier: MIT
 * check.h: what the numerical tests share: cmocka with its four headers, numbers of high entropy
 * that owe nothing to the library under test, and comparisons that print what they saw.
 */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* splitmix64 */
static inline uint64_t next_bits(uint64_t *state) {
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Uniform on (-1, 1). */
static inline double next_number(uint64_t *state) {
    return ((double)(next_bits(state) >> 11) + 0.5) * 0x1p-52 - 1;
}

/* Standard normal (Box-Muller, one of the pair). */
static inline double next_normal(uint64_t *state) {
    double u = 0.5 * (next_number(state) + 1), v = next_number(state);
    return sqrt(-2 * log(u)) * cos(3.14159265358979323846 * v);
}

/* n numbers in (-1, 1); the caller frees. */
static inline double *numbers(int64_t n, uint64_t seed) {
    double *x = malloc((size_t)(n > 0 ? n : 1) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) x[i] = next_number(&seed);
    return x;
}

/* NaN on either side fails. */
static inline void assert_near(double got, double wanted, double tolerance, const char *what) {
    if (fabs(got - wanted) <= tolerance) return;
    fail_msg("%s: got %.17g, wanted %.17g within %.3g (off by %.3g)", what, got, wanted, tolerance,
             got - wanted);
}

static inline double *zeros(int64_t n) {
    double *x = calloc((size_t)(n > 0 ? n : 1), sizeof *x);
    assert_non_null(x);
    return x;
}
