/* SPDX-License-Identifier: MIT
 * quantile.h: the ends of an interval and the median of a few thousand numbers, without sorting.
 */
#pragma once

#include <stdint.h>

enum { SGFSI_QUANTILES = 3 };

/* Quantiles of x[0..n), n >= 1, at these shares (the second is the middle), between neighbours on a line (R's type 7, NumPy's default, the
 * summary's). x comes back in another order. */
void sgfsi_quantiles(int64_t n, double *x, const double at[SGFSI_QUANTILES],
                     double q[SGFSI_QUANTILES]);
