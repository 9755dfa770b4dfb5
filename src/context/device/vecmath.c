/* SPDX-License-Identifier: MIT
 * vecmath.c: exp and log1p over arrays.
 *
 * Compiled with -ffast-math, alone in the project: only under that flag does glibc declare its
 * vector functions (libmvec, at most 4 units in the last place off). Where it has none, these are
 * plain loops. Nothing else belongs in this file, and callers pass finite numbers.
 */
#include <math.h>

#include "context/device/device.h"

void sgfsi_vec_exp(SGFSI_HERE, int64_t n, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = exp(x[i]);
}

void sgfsi_vec_log1p(SGFSI_HERE, int64_t n, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] = log1p(x[i]);
}
