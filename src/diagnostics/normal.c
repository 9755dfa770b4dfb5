/* SPDX-License-Identifier: MIT
 * normal.c: the inverses of the normal distribution function, to the last bits of a double, and of
 * the upper tail of Student's t, for whole degrees of freedom n.
 *
 * The normal: a start good to 4.5e-4 (Abramowitz and Stegun 1964, formula 26.2.23: six constants),
 * then two steps of Halley's method on Phi(x) - p = 0,
 *     u = (Phi(x) - p) / phi(x),    x <- x - u / (1 + x u / 2),
 * each of which cubes the error: 4.5e-4, 1e-10, rounding. A table such as Wichura's AS 241 would do
 * it without erf, but needs 46 constants; here the function is called once per rank, not per draw.
 * Near the middle the equation solved is erf(x / sqrt 2) / 2 = p - 1/2, which loses no digits
 * there.
 *
 * Student's t: with w = atan(t / sqrt n) the distribution is a finite sum (Abramowitz and Stegun
 * 1964, 26.7.3 and 26.7.4): P(|T| <= t) =
 *     n even:  sin w (1 + 1/2 cos^2 w + (1 3)/(2 4) cos^4 w + ... up to cos^(n-2) w)
 *     n odd:   2/pi (w + sin w (cos w + 2/3 cos^3 w + (2 4)/(3 5) cos^5 w + ... cos^(n-2) w))
 * The tail p is convex and falls, and the normal's quantile lies left of the root: Newton's steps
 * from there go right, never past it. Good to 1e-15/p of p.
 */
#include "diagnostics/normal.h"

#include <math.h>
#include <stdbool.h>

static const double SQRT_HALF = 0.70710678118654752440, INV_SQRT_2PI = 0.39894228040143267794;
static const double PI = 3.14159265358979323846;
enum { NORMAL_FROM = 10000, STEPS = 60 };

double sgfsi_normal_quantile(double p) {
    if (!(p >= 0.0 && p <= 1.0)) return NAN;
    if (p > 0.5) return -sgfsi_normal_quantile(1.0 - p);
    if (p == 0.0) return -INFINITY;
    if (p == 0.5) return 0.0;       /* exactly: a constant's scores must not vary by rounding */
    double t = sqrt(-2.0 * log(p)); /* p < 1/2: a negative x */
    double x = (2.515517 + t * (0.802853 + t * 0.010328)) /
                   (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
               t;
    for (int step = 0; step < 2; step++) {
        double off =
            p > 0.25 ? 0.5 * erf(x * SQRT_HALF) - (p - 0.5) : 0.5 * erfc(-x * SQRT_HALF) - p;
        double u = off / (INV_SQRT_2PI * exp(-0.5 * x * x));
        x -= u / (1.0 + 0.5 * x * u);
    }
    return x;
}

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
