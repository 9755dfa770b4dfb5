/* SPDX-License-Identifier: MIT
 * prior.h: independent Gaussians, log p(theta) = -1/2 sum_j Lambda_j theta_j^2 + const.
 */
#ifndef SGFSI_PRIOR_H
#define SGFSI_PRIOR_H

#include "model/model.h"

sgfs_status sgfsi_prior_open(sgfs_model *m, sgfs_err *err); /* fills m->precision */
/* *lp (may be NULL) += log density, without its constant; G (may be NULL) += gradient. */
sgfs_status sgfsi_prior_add(const sgfs_model *m, const double *theta, double *lp, double *G,
                            sgfs_err *err);

#endif
