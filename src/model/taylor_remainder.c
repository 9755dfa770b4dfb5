/* SPDX-License-Identifier: MIT
 * taylor_remainder.c: remainders of exp, log and log-mean-exp.
 *
 * Let v have mean 0 and m = E[e^v - 1 - v] >= 0. Then log E e^v = log(1 + m), and
 *     log E e^v - Var/2  =  E exp_tail(v) + log1p_tail(m),    m = Var/2 + E exp_tail(v).
 * Both terms on the right are accurate, and where one of them is small beside Var/2 so is their
 * sum: nothing of the size of Var is ever subtracted from another. (They may cancel each other
 * where kappa_3 passes through 0; then the result is accurate to the size of E|exp_tail|.)
 */
#include "model/taylor_remainder.h"

#include <math.h>
#include <stddef.h>

/* Past this e^v may overflow, and logs are taken first. */
static const double large = 600;

/* v^3/3! + ... + v^last/last! */
static inline double exp_series(double v, int last) {
    double sum = 1;
    for (int k = last; k > 3; k--) sum = 1 + sum * (v * (1.0 / k));
    return sum * v * v * v * (1.0 / 6);
}

/* Near 0 by the series: what is left out is below 1e-18 of it. Past 1 the terms differ enough. */
double sgfsi_exp_tail(double v) {
    if (fabs(v) < 0.0625) return exp_series(v, 12);
    if (fabs(v) < 1) return exp_series(v, 20);
    return expm1(v) - v - 0.5 * v * v;
}

/* log(1 + m) = 2 artanh(s) = 2 (s + s^3/3 + s^5/5 + ...), s = m/(2 + m), and 2 s - m = -s m. For m
 * below 1/4 s^2 is below 1/81. */
double sgfsi_log1p_tail(double m) {
    enum { LAST = 17 };
    if (!(m < 0.25)) return log1p(m) - m;
    double s = m / (2 + m), square = s * s, sum = 1.0 / LAST;
    for (int k = LAST - 2; k >= 3; k -= 2) sum = 1.0 / k + square * sum;
    return 2 * s * square * sum - s * m;
}

/* From Var/2 and E exp_tail, as above; where m is large it is the log that matters. */
static double beyond(double half, double tail) {
    double m = half + tail;
    return m < 0.25 ? tail + sgfsi_log1p_tail(m) : log1p(m) - half;
}

/* log sum_k e^(log_p_k + v_k), whatever the size of v; NULL: v is 0. */
static double log_sum_exp(int64_t K, const double *log_p, const double *v) {
    double top = -INFINITY, sum = 0;
    for (int64_t k = 0; k < K; k++) top = fmax(top, log_p[k] + (v != NULL ? v[k] : 0));
    for (int64_t k = 0; k < K; k++) sum += exp(log_p[k] + (v != NULL ? v[k] : 0) - top);
    return top + log(sum);
}

double sgfsi_law_tail(int64_t K, const double *log_p, const double *p, double *v) {
    double mean = 0, most = 0, half = 0, tail = 0;
    for (int64_t k = 0; k < K; k++) mean += p[k] * v[k];
    for (int64_t k = 0; k < K; k++) {
        v[k] -= mean;
        most = fmax(most, v[k]);
        half += 0.5 * p[k] * v[k] * v[k];
    }
    if (!(most < large)) return log_sum_exp(K, log_p, v) - log_sum_exp(K, log_p, NULL) - half;
    for (int64_t k = 0; k < K; k++) tail += p[k] * sgfsi_exp_tail(v[k]);
    return beyond(half, tail);
}

double sgfsi_softplus(double eta) {
    return fmax(eta, 0) + log1p(exp(-fabs(eta)));
}

/* -u for -eta is the same coin with its sides named the other way round: only the linear part of u
 * feels it. So eta is never positive here. */
double sgfsi_coin_tail(double eta, double u) {
    double e = exp(-fabs(eta)), rare = e / (1 + e), often = 1 / (1 + e);
    if (eta > 0) u = -u;
    double half = 0.5 * rare * often * u * u;
    if (!(fmax(often * u, -rare * u) < large))
        return sgfsi_softplus(u - fabs(eta)) - log1p(e) - rare * u - half;
    double tail = rare * sgfsi_exp_tail(often * u) + often * sgfsi_exp_tail(-rare * u);
    return beyond(half, tail);
}
