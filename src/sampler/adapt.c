/* SPDX-License-Identifier: MIT
 * adapt.c: step size and windows of HMC and NUTS, with Stan's constants, so that its users find
 * what they know.
 *
 * Dual averaging (Hoffman and Gelman 2014, section 3.2), delta the target, a_m the acceptance:
 *     H_m  = (1 - 1/(m + t0)) H_{m-1} + (delta - a_m)/(m + t0)
 *     x_m  = mu - sqrt(m)/gamma H_m                              log step to try next
 *     xb_m = m^-kappa x_m + (1 - m^-kappa) xb_{m-1}              log step to keep
 * with gamma 0.05, t0 10, kappa 0.75, and mu = log(10 eps): larger steps are tried first, because
 * they are the cheap ones.
 *
 * Windows (Stan reference manual, "HMC algorithm parameters"): an initial buffer of 75 iterations
 * for the way to the bulk, windows of 25, 50, 100, ... from which the metric is estimated, a final
 * buffer of 50 for the step size alone. A window that would leave no room for one twice its size
 * takes what is left. A warm-up below 150 is shared out 15 % : 75 % : 10 %; one below 20 has no
 * windows at all.
 */
#include "sampler/adapt.h"

#include <math.h>

static const double gamma_dual = 0.05, t0 = 10, kappa = 0.75;

void sgfsi_dual_start(sgfsi_dual *d, double eps) {
    *d = (sgfsi_dual){.target = d->target, .mu = log(10 * eps)};
}

double sgfsi_dual_learn(sgfsi_dual *d, double acceptance) {
    double m = (double)++d->count, weight = 1 / (m + t0), keep = pow(m, -kappa);
    d->gap = (1 - weight) * d->gap + weight * (d->target - acceptance);
    double x = d->mu - sqrt(m) / gamma_dual * d->gap;
    d->mean = keep * x + (1 - keep) * d->mean;
    return exp(x);
}

/* Its first trials are ten times too large on purpose: after a few of them the average may still
 * be, and is then kept from exceeding the step it started from. */
double sgfsi_dual_result(const sgfsi_dual *d) {
    double start = exp(d->mu) / 10, mean = exp(d->mean);
    return d->count < 20 ? fmin(start, mean) : mean;
}

void sgfsi_dual_fields(sgfsi_dual *d, sgfsi_fields *list) {
    SGFSI_FIELD(list, "dual.mu", &d->mu, 1);
    SGFSI_FIELD(list, "dual.gap", &d->gap, 1);
    SGFSI_FIELD(list, "dual.mean", &d->mean, 1);
    SGFSI_FIELD(list, "dual.count", &d->count, 1);
}

sgfs_status sgfsi_step_check(double eps, const char *why, sgfs_err *err) {
    if (eps > 1e7)
        return sgfsi_fail(err, SGFS_ENUMERIC,
                          "no step is too large: the posterior has no bounds (a prior, "
                          "--prior-precision above 0, would make it proper)");
    if (eps >= 1e-200) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ENUMERIC,
                      "no step is small enough: gradient and density do not belong together, or "
                      "overflow%s%.170s",
                      why[0] != '\0' ? "; at last " : "", why);
}

/* ---- windows --------------------------------------------------------------------------------- */

enum { FIRST_BUFFER = 75, LAST_BUFFER = 50, FIRST_WINDOW = 25, LEAST_WARMUP = 20 };

sgfsi_windows sgfsi_windows_open(int64_t warmup) {
    int64_t before = FIRST_BUFFER, after = LAST_BUFFER, size = FIRST_WINDOW;
    if (warmup < LEAST_WARMUP) return (sgfsi_windows){0};
    if (before + size + after > warmup) {
        before = (int64_t)(0.15 * (double)warmup);
        after = (int64_t)(0.1 * (double)warmup);
        size = warmup - before - after;
    }
    return (sgfsi_windows){
        .first = before + 1, .last = warmup - after, .end = before + size, .size = size};
}

bool sgfsi_windows_learn(const sgfsi_windows *w, int64_t t) {
    return t >= w->first && t <= w->last;
}

bool sgfsi_windows_end(sgfsi_windows *w, int64_t t) {
    if (t != w->end || w->last == 0) return false;
    if (t == w->last) return true;
    w->size *= 2;
    w->end = t + w->size;
    if (w->end + 2 * w->size > w->last) w->end = w->last;
    return true;
}
