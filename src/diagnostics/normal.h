/* SPDX-License-Identifier: MIT
 * normal.h: quantiles of the standard normal distribution and of Student's t.
 */
#pragma once

#include <stdint.h>

/* x with P(Z <= x) = p. p at or outside 0 and 1: minus or plus infinity, or NaN. */
double sgfsi_normal_quantile(double p);
/* t with P(T > t) = p, 0 < p < 1/2, for `freedom` >= 1 degrees of freedom; beyond 10,000: the
 * normal's. NaN otherwise. */
double sgfsi_student_beyond(double p, int64_t freedom);
