/* SPDX-License-Identifier: MIT
 * checkgrad.h: what checkgrad.c finds out and verdict.c puts into words.
 */
#pragma once

#include "jobs/checkgrad/difference.h"
#include "jobs/job.h"
#include "posterior/posterior.h"

/* In order of badness. */
typedef enum sgfsi_agreement {
    SGFSI_UNCHECKED,
    SGFSI_AGREES,
    SGFSI_UNSURE,    /* the differences are too rough to tell */
    SGFSI_WRONG,     /* they are not, and they disagree */
    SGFSI_NOT_FINITE /* NaN or infinite */
} sgfsi_agreement;

/* One comparison. */
typedef struct sgfsi_verdict {
    sgfsi_agreement is;
    double error, doubt; /* relative */
    sgfsi_slope slope;
} sgfsi_verdict;

/* One parameter over all points. */
typedef struct sgfsi_checked {
    sgfsi_agreement is, prior; /* the worst of all points; of the prior alone */
    int64_t point;             /* where */
    double analytic, numeric, error, doubt;
    /* analytic over numeric wherever they disagree, of the part that is to blame (the prior, or
     * what is left of the posterior without it): a mistake that is a factor shows as one number */
    double least_ratio, most_ratio;
    double least_off, most_off; /* and analytic less numeric: a constant that is missing */
} sgfsi_checked;

/* What else was compared: the worst of it. */
typedef struct sgfsi_compared {
    sgfsi_agreement is;
    double error;
    int64_t point, row; /* row: of the data, from 1; 0: not one row's business */
} sgfsi_compared;

typedef struct sgfsi_check_findings {
    sgfsi_compared direction, prior, score, loglik, density; /* density: finite at the points */
} sgfsi_check_findings;

/* A place a little beside a point, where a kink at the point itself is not. */
enum { SGFSI_NEIGHBOURS = 3 };
typedef struct sgfsi_neighbour {
    int64_t at;                /* the point whose neighbour it is; 0: none yet */
    double *theta, *G, *prior; /* D each */
} sgfsi_neighbour;

/* All of a check. */
typedef struct sgfsi_check {
    sgfs_job job;
    sgfs_check_grad shown;
    const sgfs_model *model; /* as it was opened */
    sgfs_model part;         /* the same on `some` rows */
    sgfs_data *some;         /* NULL: all */
    sgfsi_full full;
    sgfsi_eval eval;       /* of the sample */
    int64_t sample, most;  /* rows; parameters */
    int64_t point, points; /* at hand, from 1; in all */
    double tolerance, radius;
    uint64_t seed;
    double *theta, *start, *spread, *G, *prior, *v, *size, *room; /* D each */
    double lp;
    sgfsi_neighbour beside[SGFSI_NEIGHBOURS];
    const double *spot; /* D: where single rows are looked at, a neighbour: at a start with zeros a
                         * row may lie on a kink exactly */
    double *loglik;     /* sample */
    int64_t *order;     /* D: parameters, those to check first */
    int64_t now;        /* row of the sample that is compared alone */
    sgfsi_slopes slopes;
    sgfsi_checked *param; /* D */
    sgfsi_check_findings found;
    double done, planned; /* comparisons */
} sgfsi_check;

/* size: of the terms, on the slopes' scale. */
sgfsi_verdict sgfsi_judge(const sgfsi_slope *s, double size, double tolerance);
/* What is known of a parameter whose gradient is no number. */
sgfsi_checked sgfsi_not_finite(int64_t point, double analytic);
/* Keep the worse of what c has and this. */
void sgfsi_note(sgfsi_compared *c, sgfsi_agreement is, double error, int64_t point, int64_t row);
/* c->v = +-s_j/sqrt(D) for the parameters c->order[from .. end), 0 elsewhere. */
void sgfsi_check_choose(sgfsi_check *c, int64_t which, int64_t from, int64_t end);
/* rows.c: single rows at c->spot; fills c->size and the slopes' noise. usable: false where
 * the sample, drawn from all rows, has something that is not a number, which is noted. */
sgfs_status sgfsi_check_sample(sgfsi_check *c, bool *usable, sgfs_err *err);

enum { SGFSI_VERDICT_CHARS = 1024 };
/* Sentences on what is in c->shown, param and found: what agrees, or what does not and what it
 * looks like. */
void sgfsi_diagnose(const sgfsi_check *c, char text[SGFSI_VERDICT_CHARS]);
/* All that is shown. */
sgfsi_json *sgfsi_check_json(const sgfs_job *job);
