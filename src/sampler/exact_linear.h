/* SPDX-License-Identifier: MIT
 * exact_linear.h: may a run draw with `exact-linear`?
 */
#ifndef SGFSI_EXACT_LINEAR_H
#define SGFSI_EXACT_LINEAR_H

#include "posterior/posterior.h"

/* Why not, as the end of a sentence; NULL: it may. */
const char *sgfsi_exact_linear_refuses(const sgfs_model *m);

#endif
