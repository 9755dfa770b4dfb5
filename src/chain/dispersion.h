/* SPDX-License-Identifier: MIT
 * dispersion.h: do counts vary more than a Poisson regression says?
 */
#pragma once

#include "posterior/posterior.h"

/* A warning where they do, at theta (D, the chain's scale), and *found, how much; 0: they do not.
 * One pass over the data, of very many rows over some. Nothing for other models. Only memory that
 * runs out is an error. */
sgfs_status sgfsi_dispersion_tell(const sgfs_model *m, const double *theta, double *found,
                                  sgfs_err *err);
