/* SPDX-License-Identifier: MIT
 * exact_fit.h: linear regressions whose columns determine the target, as net, tax and shipping do a
 * total. What is left there is rounding, and no noise to estimate.
 */
#pragma once

#include "posterior/posterior.h"

/* SGFS_EDATA, naming the columns and their coefficients, if a noise of this size is rounding of the
 * numbers in the rows, or `surely`. theta: D, on the chain's scale: the coefficients of the best
 * fit, and as log_sigma the size of the noise. */
sgfs_status sgfsi_refuse_exact_fit(const sgfs_model *m, const double *theta, bool surely,
                                   sgfs_err *err);
