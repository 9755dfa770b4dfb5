/* SPDX-License-Identifier: MIT
 * start.h: --start FILE, the point where chains, or a climb to the mode, begin; and --climb, the
 * way from there before warm-up.
 */
#pragma once

#include "model/model.h"

/* *theta: D numbers on the chain's scale, malloc'ed; NULL where run.start is not given. Another
 * model's point is SGFS_EDATA. */
sgfs_status sgfsi_start_read(const sgfs_model *m, const sgfs_config *cfg, double **theta,
                             sgfs_err *err);

/* theta (D) moves up to `steps` steps uphill, by L-BFGS, on all rows, or on a fair sample of many.
 * A network's warm-up then begins at one of its hills, and not where units are saturated. *rows:
 * how many were looked at. */
sgfs_status sgfsi_start_climb(const sgfs_model *m, int64_t steps, int64_t threads, double *theta,
                              int64_t *rows, sgfs_err *err);
