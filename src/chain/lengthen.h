/* SPDX-License-Identifier: MIT
 * lengthen.h: a run goes on until every parameter has the effective sample size of --ess.
 */
#pragma once

#include "chain/run.h"

enum { SGFSI_MOST_LENGTHS = 16 }; /* a run may become so many times as long as it was planned */

/* After the last iteration: plan more, where there are too few effective draws. */
sgfs_status sgfsi_run_lengthen(sgfs_run *run, sgfs_err *err);
