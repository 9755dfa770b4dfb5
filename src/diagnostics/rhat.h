/* SPDX-License-Identifier: MIT
 * rhat.h: do the chains, and the halves of each, agree?
 */
#ifndef SGFSI_RHAT_H
#define SGFSI_RHAT_H

#include "diagnostics/trace.h"

/* Rank-normalised split R-hat; overwrites t->scratch. NaN with fewer than 4 draws per chain, when a
 * draw is not finite, or for a parameter that never moves. */
double sgfsi_rhat(sgfsi_trace *t);

#endif
