/* SPDX-License-Identifier: MIT
 * student.h: quantiles of Student's t.
 */
#ifndef SGFSI_STUDENT_H
#define SGFSI_STUDENT_H

#include <stdint.h>

/* t with P(T > t) = p, 0 < p < 1/2, for `freedom` >= 1 degrees of freedom; beyond 10,000: the
 * normal's. NaN otherwise. */
double sgfsi_student_beyond(double p, int64_t freedom);

#endif
