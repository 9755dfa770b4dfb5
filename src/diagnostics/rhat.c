/* SPDX-License-Identifier: MIT
 * rhat.c: the potential scale reduction factor.
 *
 * Vehtari et al. (2021): over m half-chains of n draws, B = n times the variance of
 * their means, W = mean of their variances, R-hat = sqrt(((n - 1)/n W + B/n) / W). It is taken of
 * the normal scores (location: a chain sits elsewhere) and of the scores of |x - median| (scale: a
 * chain is wider or narrower), and the larger counts.
 *
 * ArviZ refuses a single chain; its two halves can still disagree, so here it gets its split R-hat
 * and the summary says what that cannot see.
 */
#include "diagnostics/rhat.h"

#include <math.h>

/* Mean and variance (divisor n - 1) of n numbers. */
static void describe(const double *x, int64_t n, double *mean, double *variance) {
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *variance = squares / (double)(n - 1);
}

static double rhat_of(sgfsi_trace *t, const double *x) {
    double n = (double)t->half, W = 0.0, grand, between;
    for (int64_t i = 0; i < t->m; i++) {
        double variance;
        describe(x + i * t->half, t->half, &t->half_mean[i], &variance);
        W += variance / (double)t->m;
    }
    describe(t->half_mean, t->m, &grand, &between);
    return sqrt((n * between / W + n - 1.0) / n);
}

double sgfsi_rhat(sgfsi_trace *t) {
    if (!t->finite || t->draws < 4) return NAN;
    double bulk = rhat_of(t, t->z);
    sgfsi_trace_fold(t, t->scratch);
    double folded = rhat_of(t, t->scratch);
    return folded > bulk ? folded : bulk;
}
