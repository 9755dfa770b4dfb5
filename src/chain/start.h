/* SPDX-License-Identifier: MIT
 * start.h: --start FILE, the point where chains, or a climb to the mode, begin.
 */
#ifndef SGFSI_START_H
#define SGFSI_START_H

#include "model/model.h"

/* *theta: D numbers on the chain's scale, malloc'ed; NULL where run.start is not given. Another
 * model's point is SGFS_EDATA. */
sgfs_status sgfsi_start_read(const sgfs_model *m, const sgfs_config *cfg, double **theta,
                             sgfs_err *err);

#endif
