/* SPDX-License-Identifier: MIT
 * mode.h: the posterior's mode on the full data, and the Gaussian there.
 */
#pragma once

#include "base/stop.h"

#include "posterior/posterior.h"

extern const sgfs_option sgfsi_mode_options[]; /* optimize.tolerance and .max_iterations */

typedef struct sgfsi_mode_plan {
    const char *method;     /* "fisher", "lbfgs" or "auto" */
    double tolerance;       /* length of the last step in posterior standard deviations */
    int64_t most;           /* steps; 0: 100 of Fisher scoring, 5000 of L-BFGS */
    int64_t threads;        /* 0: all cores */
    const double *start;    /* D, on the chain's scale; NULL: the model's own */
    const sgfsi_stop *stop; /* asked: SGFS_ESTOPPED before the next pass; NULL: the model's */
} sgfsi_mode_plan;

/* tolerance and most as the options say. */
sgfsi_mode_plan sgfsi_mode_plan_of(const sgfs_config *cfg);

typedef struct sgfsi_mode {
    const char *method; /* "fisher" or "lbfgs" */
    double *theta;      /* D, on the chain's scale */
    double *G;          /* D: gradient of the log posterior there */
    double
        *L; /* D x D lower, A = L L' = expected information + prior there; NULL: too large, or the
                * model has no curvature */
    double lp;       /* log density there, up to the prior's constant */
    double distance; /* length of the step that was not taken any more, in standard deviations */
    int64_t iterations, passes, rows; /* rows read in all */
} sgfsi_mode;

/* Climb to the mode. theta, G and L come from the arena. A posterior without a mode, or
 * with a flat one, is SGFS_ENUMERIC; passes and rows are then still counted. The same bits for any
 * number of threads. */
sgfs_status sgfsi_mode_search(const sgfs_model *m, const sgfsi_mode_plan *plan, sgfsi_arena *arena,
                              sgfsi_mode *out, sgfs_err *err);

/* Fisher scoring from `start` (NULL: the model's own) until a step is below 1e-8 posterior standard
 * deviations. theta: D, out. cov: D x D full, out: inverse of the expected information plus prior
 * there (Laplace). threads: 0 or less: all cores. passes (may be NULL): passes over the data. */
sgfs_status sgfsi_mode_find(const sgfs_model *m, const double *start, int64_t threads,
                            double *theta, double *cov, int64_t *passes, sgfs_err *err);

/* Posterior mean to the next order, from the change of the curvature around the mode:
 *     mean = mode - 1/2 A^-1 grad log det A
 * (2 D passes; exact in that order where A is the Hessian, as for canonical links). mode, cov: as
 * found above. */
sgfs_status sgfsi_mode_mean(const sgfs_model *m, const double *mode, const double *cov,
                            double *mean, sgfs_err *err);

/* Largest and smallest eigenvalue of the information of one row (prior included) near the mode,
 * from at most 2,000 rows; 1 and 1 where it cannot be found (pilot.c). */
typedef struct sgfsi_pilot {
    double stiff, soft;
} sgfsi_pilot;
sgfs_status sgfsi_pilot_of(const sgfs_model *m, sgfsi_pilot *out, sgfs_err *err);
