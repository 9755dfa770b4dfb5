/* SPDX-License-Identifier: MIT
 * normal.c: the inverse of the normal distribution function, to the last bits of a double.
 *
 * A start good to 4.5e-4 (Abramowitz and Stegun 1964, formula 26.2.23: six constants), then two
 * steps of Halley's method on Phi(x) - p = 0,
 *     u = (Phi(x) - p) / phi(x),    x <- x - u / (1 + x u / 2),
 * each of which cubes the error: 4.5e-4, 1e-10, rounding. A table such as Wichura's AS 241 would do
 * it without erf, but needs 46 constants; here the function is called once per rank, not per draw.
 * Near the middle the equation solved is erf(x / sqrt 2) / 2 = p - 1/2, which loses no digits
 * there.
 */
#include "diagnostics/normal.h"

#include <math.h>

static const double SQRT_HALF = 0.70710678118654752440, INV_SQRT_2PI = 0.39894228040143267794;

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
