/* SPDX-License-Identifier: MIT
 * tally.h: how good predictions are, counted row by row.
 *
 * Rows are added one after another, so the numbers depend on their order alone.
 */
#pragma once

#include "base/arena.h"
#include "model/labels.h"
#include "posterior/quantile.h"

enum { SGFSI_BINS = 10 };

/* Mean and spread of something over rows. */
typedef struct sgfsi_mean_se {
    int64_t count;   /* rows */
    double weight;   /* of them all: how often they count */
    double mean, ss; /* ss: sum of squares around the mean */
    double odd;      /* the first number added that was not finite; 0: none */
} sgfsi_mean_se;
void sgfsi_mean_se_add(sgfsi_mean_se *m, double weight, double x);
double sgfsi_mean_se_mean(const sgfsi_mean_se *m); /* NaN without rows */
double sgfsi_mean_se_se(const sgfsi_mean_se *m);   /* of the mean; NaN with fewer than two rows */

/* Predicted and observed, of rows whose prediction fell between two bounds. */
typedef struct sgfsi_bin {
    int64_t rows;
    double predicted, observed; /* sums */
} sgfsi_bin;

typedef struct sgfsi_label_tally {
    int64_t rows;       /* that have this label */
    int64_t predicted;  /* for which it is the most probable */
    int64_t right;      /* both */
    double probability; /* summed over all rows */
} sgfsi_label_tally;

typedef struct sgfsi_tally {
    const sgfsi_labels *labels; /* count 0: the target is a number */
    int64_t rows;
    sgfsi_mean_se loss;                   /* -log mean density, nats */
    sgfsi_mean_se wrong, brier;           /* labels */
    sgfsi_mean_se square, absolute;       /* errors of the mean, numbers */
    sgfsi_mean_se target;                 /* numbers */
    sgfsi_mean_se inside;                 /* is the target in the 90 % interval? */
    sgfsi_mean_se under[SGFSI_QUANTILES]; /* is it below each quantile? a tie counts half */
    int64_t pit[SGFSI_BINS];
    sgfsi_bin bin[SGFSI_BINS]; /* by probability of the second label of two, or of the most
                                       * probable label */
    sgfsi_label_tally *label;  /* labels->count */
} sgfsi_tally;

/* What is known of one row. */
typedef struct sgfsi_scored_row {
    double weight;      /* how often it counts; a row of weight 0 is passed over. Bins and counts of
                         * labels are of rows */
    double y;           /* its target */
    double log_density; /* of the target, averaged over draws before the logarithm */
    const double *mean; /* probability of each label, or the mean; NULL: not known */
    const double *q;    /* SGFSI_QUANTILES of the predictive distribution of y; NULL: not known */
    double pit;         /* with q */
} sgfsi_scored_row;

sgfs_status sgfsi_tally_open(sgfsi_tally *t, const sgfsi_labels *labels, sgfsi_arena *arena,
                             sgfs_err *err);
/* The target must be one of the labels, where there are any. */
void sgfsi_tally_add(sgfsi_tally *t, const sgfsi_scored_row *row);
/* The most probable label; of several the first. */
int64_t sgfsi_tally_best(int64_t labels, const double *probability);
/* 1 where another label is more probable than `truth`; of those that share the first place with it,
 * the share that would be wrong. */
double sgfsi_tally_wrong(int64_t labels, const double *probability, int64_t truth);
/* Expected calibration error: sum over bins of rows/all |observed share - mean predicted|. */
double sgfsi_tally_ece(const sgfsi_tally *t);
