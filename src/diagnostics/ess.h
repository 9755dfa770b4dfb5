/* SPDX-License-Identifier: MIT
 * ess.h: effective sample sizes and R-hat of one parameter. NaN with fewer than 4 draws per chain
 * or when a draw is not finite; a parameter that never moves has all its draws, as in ArviZ.
 */
#pragma once

#include "diagnostics/trace.h"

double sgfsi_ess_mean(sgfsi_trace *t);
double sgfsi_ess_bulk(sgfsi_trace *t);
double sgfsi_ess_tail(sgfsi_trace *t); /* overwrites t->scratch */
/* Do the chains, and the halves of each, agree? Rank-normalised split R-hat; overwrites t->scratch.
 * NaN for a parameter that never moves. */
double sgfsi_rhat(sgfsi_trace *t);
