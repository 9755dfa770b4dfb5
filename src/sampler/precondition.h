/* SPDX-License-Identifier: MIT
 * precondition.h: a constant symmetric positive definite matrix C = R R' that shapes the steps of
 * SGLD, SGD and the Gaussian chain: the identity, one from a file, or the inverse curvature.
 */
#pragma once

#include "sampler/sampler.h"

typedef enum sgfsi_precond_form { SGFSI_IDENTITY, SGFSI_DIAGONAL, SGFSI_DENSE } sgfsi_precond_form;

typedef struct sgfsi_precondition {
    const sgfs_device *device;
    sgfsi_precond_form shape;
    int64_t D;
    double *R;      /* D x D lower, or the D roots of a diagonal; NULL for the identity */
    int64_t passes; /* over the data, that finding it took */
} sgfsi_precondition;

/* clang-format off */
#define SGFSI_PRECONDITION_ROWS                                                                    \
    {"sampler.precondition", "precondition", SGFS_CHOICE, "none", 1, 0, "none|file|curvature",     \
     "shape of the steps: plain, from a file, or the inverse curvature"},                          \
    {"sampler.precondition_file", "precondition-file", SGFS_FILE, "", 1, 0, NULL,                  \
     "D x D or D numbers, .npy or text (implies --precondition file)"}
/* clang-format on */

/* The `precondition` of a kind's own settings. */
typedef struct sgfsi_precondition_settings {
    const char *kind, *file; /* "none", "file" or "curvature" */
} sgfsi_precondition_settings;

#define SGFSI_PRECONDITION_SETTINGS(type)                                                          \
    {"sampler.precondition", offsetof(type, precondition.kind), "preconditioned by", false}, {     \
        "sampler.precondition_file", offsetof(type, precondition.file), NULL, false                \
    }

/* Settle which of the three it is; refuse contradictions. */
sgfs_status sgfsi_precondition_plan(sgfsi_precondition_settings *set, const sgfs_config *cfg,
                                    sgfs_err *err);
/* shared: that of the run's first chain, or NULL. */
sgfs_status sgfsi_precondition_open(sgfsi_precondition *c, const sgfs_sampler *sampler,
                                    const sgfsi_precondition_settings *set,
                                    const sgfsi_precondition *shared, sgfs_err *err);
/* x = R x or R' x */
void sgfsi_precondition_apply(const sgfsi_precondition *c, bool transposed, double *x);

/* Mode (D) and inverse curvature there (D x D full) of the sampler's own posterior, the mode
 * that is found from --start where that is given, with a sentence where the model or its size
 * does not allow it. what: "--precondition curvature". */
sgfs_status sgfsi_curvature_at_mode(const sgfs_sampler *sampler, const char *what, double *mode,
                                    double *cov, int64_t *passes, sgfs_err *err);
