/* SPDX-License-Identifier: MIT
 * precision.h: A, the curvature that the general step is made of (corrected_step.h), and
 * its factor:
 *
 *     A = information + the prior's curvature,   L L' = A + rho I        any structure of sgfs_sym
 *
 * and where it comes from: the information around the anchor, or the scores' covariance.
 */
#pragma once

#include "sampler/sampler.h"

typedef struct sgfsi_precision {
    sgfs_sym A, L;
    double ridge; /* relative, asked for by option */
    double rho;   /* as large as it came out; matched by noise, and as exact */
    /* Largest eigenvalue of (L L')^-1 A_full: 1 for the whole matrix; what a structure leaves out
     * makes it larger, and a step h is stable only below 2 of it. */
    double stiff;
} sgfsi_precision;

sgfs_status sgfsi_precision_open(sgfsi_precision *p, const sgfs_sampler *sampler, sgfs_err *err);

/* A = what the structure keeps of a matrix (D x D lower), about the anchor's own; x: D numbers of
 * room. */
sgfs_status sgfsi_precision_of_dense(sgfsi_precision *p, sgfs_sampler *sampler, const double *A,
                                     double *x, sgfs_err *err);
/* A = N I1 + the prior's precision. */
sgfs_status sgfsi_precision_of_scores(sgfsi_precision *p, sgfs_sampler *sampler, const sgfs_sym *I1,
                                      sgfs_err *err);

/* A, its factor and what was measured of them. */
void sgfsi_precision_fields(sgfsi_precision *p, sgfsi_fields *list);
