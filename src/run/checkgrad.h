/* SPDX-License-Identifier: MIT
 * checkgrad.h: what checkgrad.c finds out and diagnose.c puts into words.
 */
#ifndef SGFSI_CHECKGRAD_H
#define SGFSI_CHECKGRAD_H

#include "model/posterior.h"
#include "run/slope.h"

extern const sgfs_option sgfsi_check_grad_options[];

/* In order of badness. */
typedef enum sgfsi_agreement {
    SGFSI_UNCHECKED,
    SGFSI_AGREES,
    SGFSI_UNSURE,    /* the differences are too rough to tell */
    SGFSI_WRONG,     /* they are not, and they disagree */
    SGFSI_NOT_FINITE /* NaN or infinite */
} sgfsi_agreement;

/* One parameter over all points. */
typedef struct sgfsi_checked {
    sgfsi_agreement is, prior; /* the worst of all points; of the prior alone */
    int64_t point;             /* where */
    double analytic, numeric, error, doubt;
    /* analytic over numeric wherever they disagree, of the part that is to blame (the prior, or
     * what is left of the posterior without it): a mistake that is a factor shows as one number */
    double least_ratio, most_ratio;
} sgfsi_checked;

/* What else was compared: the worst of it. */
typedef struct sgfsi_compared {
    sgfsi_agreement is;
    double error;
    int64_t point, row; /* row: of the data, from 1; 0: not one row's business */
} sgfsi_compared;

typedef struct sgfsi_check_findings {
    const sgfs_model *model;
    const sgfsi_checked *param;                              /* D */
    sgfsi_compared direction, prior, score, loglik, density; /* density: finite at the points */
    sgfs_check_grad *shown;
} sgfsi_check_findings;

enum { SGFSI_VERDICT_CHARS = 1024 };
/* Fill `verdict` with sentences: what agrees, or what does not and what it looks like. */
void sgfsi_diagnose(const sgfsi_check_findings *f, char verdict[SGFSI_VERDICT_CHARS]);

#endif
