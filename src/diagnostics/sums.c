/* SPDX-License-Identifier: MIT
 * sums.c: means and variances in two passes, the second about the mean of the first:
 *     xbar = s/n + sum(x - s/n)/n,    var = sum (x - xbar)^2 / (n - 1).
 */
#include "diagnostics/sums.h"

double sgfsi_sum(int64_t n, const double *x, double shift) {
    double part[4] = {0.0, 0.0, 0.0, 0.0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) part[k] += x[i + k] - shift;
    for (; i < n; i++) part[0] += x[i] - shift;
    return (part[0] + part[1]) + (part[2] + part[3]);
}

double sgfsi_sum_squares(int64_t n, const double *x, double shift) {
    double part[4] = {0.0, 0.0, 0.0, 0.0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) part[k] += (x[i + k] - shift) * (x[i + k] - shift);
    for (; i < n; i++) part[0] += (x[i] - shift) * (x[i] - shift);
    return (part[0] + part[1]) + (part[2] + part[3]);
}

double sgfsi_mean(int64_t n, const double *x) {
    double first = sgfsi_sum(n, x, 0.0) / (double)n;
    return first + sgfsi_sum(n, x, first) / (double)n;
}

double sgfsi_variance(int64_t n, const double *x, double mean) {
    return sgfsi_sum_squares(n, x, mean) / (double)(n - 1);
}
