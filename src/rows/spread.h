/* SPDX-License-Identifier: MIT
 * spread.h: mean, spread and range of columns, block by block. One piece of code for measure.c and
 * for packed files: what a packed file tells of its columns is to the last bit what a look at its
 * rows would have found.
 */
#ifndef SGFSI_SPREAD_H
#define SGFSI_SPREAD_H

#include <stdint.h>

/* Of one column, merged block by block (Chan, Golub, LeVeque 1979). */
typedef struct sgfsi_spread {
    double count, rows; /* sum of the weights; rows of positive weight */
    double mean, ss, min, max;
} sgfsi_spread;

sgfsi_spread sgfsi_spread_empty(void);
void sgfsi_spread_widen(sgfsi_spread *s, double v);
/* Put in `rows` rows of weight `count` in all, with their mean and sum of squares around it. */
void sgfsi_spread_merge(sgfsi_spread *s, double count, double rows, double mean, double ss);

/* Rows of a block: the same for all who look at tables of so many columns, or bits differ. At most
 * SGFSI_SPREAD_BLOCK, and fewer of very wide rows. */
enum { SGFSI_SPREAD_BLOCK = 256 };
int64_t sgfsi_spread_rows(int64_t cols);
/* A block of n rows of weight 1, x: n x cols, one row every `stride` numbers; s: cols. */
void sgfsi_spread_block(sgfsi_spread *s, int64_t n, int64_t cols, int64_t stride, const double *x);

#endif
