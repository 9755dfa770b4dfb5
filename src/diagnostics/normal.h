/* SPDX-License-Identifier: MIT
 * normal.h: quantiles of the standard normal distribution.
 */
#ifndef SGFSI_NORMAL_H
#define SGFSI_NORMAL_H

/* x with P(Z <= x) = p. p at or outside 0 and 1: minus or plus infinity, or NaN. */
double sgfsi_normal_quantile(double p);

#endif
