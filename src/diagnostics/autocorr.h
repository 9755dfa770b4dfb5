/* SPDX-License-Identifier: MIT
 * autocorr.h: autocovariances of a set of series by the fast Fourier transform.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

typedef struct sgfsi_autocorr {
    int64_t n, size;       /* draws of a series; the power of two, at least 2 n, it is padded to */
    double *re, *im;       /* size: two series at a time, one in each part */
    double *power;         /* size: sum of the spectra, in bit-reversed order */
    double *cosine, *sine; /* size: the h roots of a transform of 2 h numbers lie at h .. 2 h - 1 */
} sgfsi_autocorr;

/* Room for series of n draws; false when memory ran out. */
bool sgfsi_autocorr_init(sgfsi_autocorr *w, sgfsi_arena *arena, int64_t n);

/* out[k] = mean over the m series of (1/n) sum_t (x_t - xbar)(x_{t+k} - xbar), k = 0 .. n-1, each
 * series about its own mean xbar. x: m x n, row-major; mean (m, may be NULL) receives the xbar. */
void sgfsi_autocov(sgfsi_autocorr *w, int64_t m, const double *x, double *mean, double *out);
