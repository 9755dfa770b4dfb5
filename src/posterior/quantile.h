/* SPDX-License-Identifier: MIT
 * quantile.h: the ends of an interval and the median of a few thousand numbers, without sorting.
 */
#pragma once

#include <stdint.h>

enum { SGFSI_QUANTILES = 3 };

/* Quantiles of x[0..n), n >= 1, at rising shares, between neighbours on a line (R's type 7, NumPy's
 * default, the summary's). x comes back in another order. */
void sgfsi_quantiles(int64_t n, double *x, const double at[SGFSI_QUANTILES],
                     double q[SGFSI_QUANTILES]);

/* The numbers that each of them lies between, and how far it is from the lower one. */
typedef struct sgfsi_neighbours {
    double low[SGFSI_QUANTILES], high[SGFSI_QUANTILES], part[SGFSI_QUANTILES];
} sgfsi_neighbours;
/* Of n numbers in order: which of them, from 0, and how far. */
void sgfsi_quantile_ranks(int64_t n, const double at[SGFSI_QUANTILES],
                          int64_t rank[SGFSI_QUANTILES], double part[SGFSI_QUANTILES]);
void sgfsi_quantile_neighbours(int64_t n, double *x, const double at[SGFSI_QUANTILES],
                               sgfsi_neighbours *out);
double sgfsi_quantile_between(double low, double high, double part);
