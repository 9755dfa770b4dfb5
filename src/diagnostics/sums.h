/* SPDX-License-Identifier: MIT
 * sums.h: sums of many numbers, in four running parts: the additions of one part need not wait for
 * those of another, and the rounding error grows a quarter as fast.
 */
#pragma once

#include <stdint.h>

/* Sum of x - shift over n numbers. */
double sgfsi_sum(int64_t n, const double *x, double shift);
/* Sum of (x - shift)^2. */
double sgfsi_sum_squares(int64_t n, const double *x, double shift);
/* Mean and variance (divisor n - 1), the mean corrected for what rounding left in it. */
double sgfsi_mean(int64_t n, const double *x);
double sgfsi_variance(int64_t n, const double *x, double mean);
