/* SPDX-License-Identifier: MIT
 * prior_pull.h: coefficients that the prior decides, against what the rows say.
 */
#pragma once

#include "posterior/anchor.h"

enum { SGFSI_PRIOR_PULL = 480 }; /* room for the sentence */

/* A sentence that names the worst few of them, what may be the reason and what to do; "": there are
 * none. pull: D, how far the prior moves each parameter, in posterior standard deviations (its sign
 * does not matter); inflation: D, the posterior variance over what it would be if all other
 * coefficients of its class, but for the intercept, were known. */
void sgfsi_prior_pull_tell(const sgfs_model *m, const double *pull, const double *inflation,
                           char *out, size_t room);
/* The same, by an anchor. SGFS_OK with "" where the prior is not Gaussian. */
sgfs_status sgfsi_prior_pull_at(const sgfs_model *m, const sgfsi_anchor *a, char *out, size_t room,
                                sgfs_err *err);
