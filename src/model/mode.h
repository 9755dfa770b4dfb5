/* SPDX-License-Identifier: MIT
 * mode.h: the posterior's mode on the full data.
 */
#ifndef SGFSI_MODE_H
#define SGFSI_MODE_H

#include "model/posterior.h"

/* Fisher scoring from the model's own start until a step is below 1e-8 posterior standard
 * deviations. theta: D, out. cov: D x D full, out: inverse of the expected information plus prior
 * there (Laplace). passes (may be NULL): passes over the data. */
sgfs_status sgfsi_mode_find(const sgfs_model *m, double *theta, double *cov, int64_t *passes,
                            sgfs_err *err);

/* Posterior mean to the next order, from the change of the curvature around the mode:
 *     mean = mode - 1/2 A^-1 grad log det A
 * (2 D passes; exact in that order where A is the Hessian, as for canonical links). mode, cov: as found above. */
sgfs_status sgfsi_mode_mean(const sgfs_model *m, const double *mode, const double *cov,
                            double *mean, sgfs_err *err);

#endif
