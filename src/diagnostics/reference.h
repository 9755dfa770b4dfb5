/* SPDX-License-Identifier: MIT
 * reference.h: what a run is compared with, in the run's own order of parameters.
 */
#pragma once

#include "base/arena.h"
#include "sink/draws.h"

typedef struct sgfsi_reference {
    int64_t threads; /* that may work on it, set before it is read */
    int64_t D;
    double *mean;  /* D */
    double *cov;   /* D x D full, or NULL */
    double *error; /* D: Monte Carlo standard error of mean; 0 when it is taken as exact */
    double *theta; /* D: generating values, or NULL */
    const char *state,
        *verdict; /* of a run, as in sgfs_summary; verdict: that of one that is not to
                                  * be trusted; "": there is none */
    double v;     /* noise of cov as 1 / independent draws; 0 when it is taken as exact */
} sgfsi_reference;

/* From a run file or JSON, told apart by content. `names`: D names that must be matched one to one.
 */
sgfs_status sgfsi_reference_read(const char *path, int64_t D, char *const *names,
                                 sgfsi_arena *arena, sgfsi_reference *out, sgfs_err *err);
/* tau2 / T of the moments of a run: what its covariance is worth, by its median tau. count: thetas
 * in the moments; step: iterations between them. */
double sgfsi_reference_noise(const sgfs_summary *summary, int64_t count, int64_t step,
                             sgfsi_arena *work);
