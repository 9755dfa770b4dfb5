/* SPDX-License-Identifier: MIT
 * column_stats.h: mean, spread and range of columns, block by block. One piece of code for the data
 * of a run and for packed files: what a packed file says of its columns is to the last bit what a
 * look at its rows would have found.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of one column. */
typedef struct sgfsi_column_stats {
    double rows, count; /* rows of positive weight, and the sum of their weights */
    double mean, ss;    /* ss: sum of squares around the mean */
    double min, max;
} sgfsi_column_stats;

sgfsi_column_stats sgfsi_column_stats_empty(void);
/* Zeros and ones, some of each, and nothing else? Of numbers from 0 to 1 these alone have x^2 = x,
 * so that ss = count mean (1 - mean): statistics tell, also those that a packed file has stored. */
bool sgfsi_column_stats_binary(const sgfsi_column_stats *s);

/* Rows of a block: the same for all who look at tables of so many columns, or bits differ. At most
 * SGFSI_STATS_BLOCK, and fewer of very wide rows. */
enum { SGFSI_STATS_BLOCK = 256 };
int64_t sgfsi_column_stats_rows(int64_t cols);
/* Add a block of n rows of weight 1, x: n x cols; s: cols. */
void sgfsi_column_stats_add(sgfsi_column_stats *s, int64_t n, int64_t cols, const double *x);
