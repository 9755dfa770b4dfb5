/* SPDX-License-Identifier: MIT
 * clock.h: decisions that depend on what time it is. Clocks of several processes differ, and with
 * them what each would do next: process 0 decides, and the others hear of it. Numbers of a chain
 * never depend on these decisions, only how far it has come.
 */
#pragma once

#include "context/comm/comm.h"

/* How many iterations to go before the next look at progress and limits, about a tenth of a second
 * later, when the last *stretch took so many seconds; at most `most` (INFINITY: no limit). */
sgfs_status sgfsi_clock_stretch(const sgfsi_comm *comm, int64_t *stretch, double took, double most,
                                sgfs_err *err);

/* Has the limit been reached? Never without one: NaN. */
sgfs_status sgfsi_clock_is_over(const sgfsi_comm *comm, double now, double limit, bool *over,
                                sgfs_err *err);
