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

#include "diagnostics/sums.h"

static double rhat_of(sgfsi_trace *t, const double *x) {
    double n = (double)t->half, W = 0.0;
    for (int64_t i = 0; i < t->m; i++) {
        const double *series = x + i * t->half;
        t->half_mean[i] = sgfsi_mean(t->half, series);
        W += sgfsi_variance(t->half, series, t->half_mean[i]) / (double)t->m;
    }
    double B = n * sgfsi_variance(t->m, t->half_mean, sgfsi_mean(t->m, t->half_mean));
    return sqrt((B / W + n - 1.0) / n);
}

double sgfsi_rhat(sgfsi_trace *t) {
    if (!t->finite || t->draws < 4) return NAN;
    double bulk = rhat_of(t, t->z);
    sgfsi_trace_fold(t, t->scratch);
    double folded = rhat_of(t, t->scratch);
    return folded > bulk ? folded : bulk;
}
