/* SPDX-License-Identifier: MIT
 * moments.h: mean and sum of squares around it, one number or one block of numbers at a time.
 *
 * The sums are never formed as sum x^2 - n mean^2, which loses all digits of a small spread. The
 * order of the operations is part of the promise: statistics of columns feed chains whose bits are
 * kept.
 */
#pragma once

/* One number x of weight w joins; share: w over all weights with it (West 1979). */
static inline void sgfsi_moments_add(double w, double share, double x, double *mean, double *ss) {
    double gap = x - *mean;
    *mean += gap * share;
    *ss += w * gap * (x - *mean);
}

/* What is known of m numbers joins what is known of n (Chan, Golub, LeVeque 1979):
 *     mean <- mean + gap m/(n + m),   ss <- ss + ss' + gap^2 n m/(n + m),   gap = mean' - mean. */
static inline void sgfsi_moments_merge(double n, double *mean, double *ss, double m,
                                       double mean_too, double ss_too) {
    double total = n + m, gap = mean_too - *mean;
    *ss += ss_too + gap * gap * n * m / total;
    *mean += gap * m / total;
}
