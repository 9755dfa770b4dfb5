/* SPDX-License-Identifier: MIT
 * student.c: the inverse of the upper tail of Student's t, for whole degrees of freedom n.
 *
 * With w = atan(t / sqrt n) the distribution is a finite sum (Abramowitz and Stegun 1964, 26.7.3
 * and 26.7.4): P(|T| <= t) =
 *     n even:  sin w (1 + 1/2 cos^2 w + (1 3)/(2 4) cos^4 w + ... up to cos^(n-2) w)
 *     n odd:   2/pi (w + sin w (cos w + 2/3 cos^3 w + (2 4)/(3 5) cos^5 w + ... cos^(n-2) w))
 * The tail p is convex and falls, and the normal's quantile lies left of the root: Newton's steps
 * from there go right, never past it. Good to 1e-15/p of p.
 */
#include "diagnostics/student.h"

#include <math.h>
#include <stdbool.h>

#include "diagnostics/normal.h"

static const double PI = 3.14159265358979323846;
enum { NORMAL_FROM = 10000, STEPS = 60 };

static double tail(double t, int64_t n) {
    double w = atan(t / sqrt((double)n)), c = cos(w), sum = 0;
    bool odd = n % 2 == 1;
    double term = odd ? c : 1;
    for (int64_t k = odd ? 1 : 0; k <= n - 2; k += 2) {
        sum += term;
        term *= (double)(k + 1) / (double)(k + 2) * c * c;
    }
    double inside = odd ? 2 / PI * (w + sin(w) * sum) : sin(w) * sum;
    return (1 - inside) / 2;
}

double sgfsi_student_beyond(double p, int64_t freedom) {
    if (!(p > 0 && p < 0.5) || freedom < 1) return NAN;
    double t = -sgfsi_normal_quantile(p), n = (double)freedom;
    if (freedom > NORMAL_FROM) return t;
    for (int step = 0; step < STEPS; step++) {
        double log_density = lgamma((n + 1) / 2) - lgamma(n / 2) - (n + 1) / 2 * log1p(t * t / n);
        double move = (tail(t, freedom) - p) / (exp(log_density) / sqrt(n * PI));
        t += move;
        if (!(fabs(move) > 1e-12 * t)) break;
    }
    return t;
}
