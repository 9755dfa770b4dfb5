/* SPDX-License-Identifier: MIT
 * ess.c: how many independent draws a set of chains is worth, and whether the chains agree.
 *
 * Vehtari et al. (2021), as in Stan and ArviZ, over the m = 2 chains half-chains of n draws each:
 *     W      mean of the half-chains' variances (divisor n - 1)
 *     var+   (n - 1)/n W + variance of the half-chains' means
 *     rho_t  1 - (W - acov_t) / var+,   acov_t: mean autocovariance at lag t, divisor n
 *     tau    -1 + 2 sum_{t <= K} rho_t + rho_{K+1},   ESS = m n / tau
 * K by Geyer's (1992) initial monotone sequence: the sums of neighbours rho_{2k} + rho_{2k+1} are
 * positive and falling for a reversible chain; cut where they stop being positive, and flatten
 * where they rise. The single last term (an even lag, where positive) lowers the variance for
 * antithetic chains. tau is kept above 1/log10(m n), so that such chains do not claim any number.
 * Bulk: of the normal scores. Tail: the smaller of the indicators of the 5 % and the 95 % quantile.
 *
 * One difference from ArviZ: it calls a series constant when its range is below 1e-15, whatever its
 * scale. Here the bound shrinks with the values, so that a parameter of size 1e-20 is measured too.
 *
 * R-hat, the potential scale reduction factor, of the same half-chains: B = n times the variance of
 * their means, R-hat = sqrt(((n - 1)/n W + B/n) / W). It is taken of the normal scores (location: a
 * chain sits elsewhere) and of the scores of |x - median| (scale: a chain is wider or narrower),
 * and the larger counts. ArviZ refuses a single chain; its two halves can still disagree, so here
 * it gets its split R-hat and the summary says what that cannot see.
 */
#include "diagnostics/ess.h"

#include <math.h>

#include "diagnostics/sums.h"

static bool is_constant(const double *x, int64_t count) {
    double low = x[0], high = x[0];
    for (int64_t i = 1; i < count; i++) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    double size = fmax(fabs(low), fabs(high));
    return high - low <= 1e-15 * fmin(1.0, size);
}

/* Geyer's sum over rho, n lags with rho[0] = 1. Changes rho. */
static double geyer_tau(double *rho, int64_t n) {
    double even = rho[0], odd = rho[1];
    int64_t t = 1;
    while (t < n - 3 && even + odd > 0.0) {
        even = rho[t + 1];
        odd = rho[t + 2];
        t += 2;
    }
    int64_t K = t - 2; /* -1 when there was no room for a second pair */
    double last = even > 0.0 || even + odd >= 0.0 ? even : 0.0;
    for (t = 1; t <= K - 2; t += 2)
        if (rho[t + 1] + rho[t + 2] > rho[t - 1] + rho[t])
            rho[t + 1] = rho[t + 2] = 0.5 * (rho[t - 1] + rho[t]);
    double sum = 0.0;
    for (t = 0; t <= K; t++) sum += rho[t];
    return -1.0 + 2.0 * sum + last;
}

/* ESS of the m x half numbers x. */
static double ess_of(sgfsi_trace *w, const double *x) {
    if (!w->finite || w->draws < 4) return NAN;
    double n = (double)w->half, all = (double)w->count;
    if (is_constant(x, w->count)) return all;
    sgfsi_autocov(&w->autocorr, w->m, x, w->half_mean, w->rho);
    double W = w->rho[0] * n / (n - 1.0);
    double var_plus =
        w->rho[0] + sgfsi_variance(w->m, w->half_mean, sgfsi_mean(w->m, w->half_mean));
    w->rho[0] = 1.0;
    for (int64_t t = 1; t < w->half; t++) w->rho[t] = 1.0 - (W - w->rho[t]) / var_plus;
    double tau = geyer_tau(w->rho, w->half), least = 1.0 / log10(all);
    return all / (tau < least ? least : tau);
}

double sgfsi_ess_mean(sgfsi_trace *t) {
    return ess_of(t, t->split);
}

double sgfsi_ess_bulk(sgfsi_trace *t) {
    return ess_of(t, t->z);
}

static double ess_below(sgfsi_trace *t, double bound) {
    for (int64_t i = 0; i < t->count; i++) t->scratch[i] = t->split[i] <= bound ? 1.0 : 0.0;
    return ess_of(t, t->scratch);
}

double sgfsi_ess_tail(sgfsi_trace *t) {
    double low = ess_below(t, t->q5), high = ess_below(t, t->q95);
    return high < low ? high : low;
}

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
