/* SPDX-License-Identifier: MIT
 * batchmeans.h: mean and variance of every parameter of some chains with their Monte Carlo errors,
 * from draws that are looked at once and not kept.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"

enum { SGFSI_BATCHES = 64 }; /* most batches of a chain; half of them at least, once it was full */

typedef struct sgfsi_batchmeans {
    int64_t D, chains;
    double *centre;  /* D: subtracted first; the first draw */
    bool centred;    /* there was one */
    int64_t *length; /* chains: draws of a batch */
    int64_t *filled; /* chains: whole batches */
    int64_t *count;  /* chains: draws in the batch at hand */
    double *sum;     /* chains x SGFSI_BATCHES x 2 x D: of x and of x^2 over each batch */
} sgfsi_batchmeans;

/* Of one parameter. */
typedef struct sgfsi_estimate {
    double mean, sd;
    double mean_error; /* standard error of mean */
    double sd_error;   /* of log sd */
} sgfsi_estimate;

/* NULL when memory is out. */
sgfsi_batchmeans *sgfsi_batchmeans_new(sgfsi_arena *arena, int64_t chains, int64_t D);
/* The next draws of a chain: count x D, row-major. */
void sgfsi_batchmeans_add(sgfsi_batchmeans *b, int64_t chain, int64_t count, const double *theta);
/* Whole batches of all chains. */
int64_t sgfsi_batchmeans_batches(const sgfsi_batchmeans *b);
/* Degrees of freedom of the errors, where the largest error of a mean is `reached` sd: of
 * batches that are long for the autocorrelation their number less 1, of shorter ones that of the
 * groups that enlarge them. 0: there are too few to know whether they are long. */
int64_t sgfsi_batchmeans_freedom(const sgfsi_batchmeans *b, double reached);
/* estimate: D. What is in unfinished batches is left out. NaN with fewer than 2 batches. */
void sgfsi_batchmeans_estimate(const sgfsi_batchmeans *b, sgfsi_estimate *estimate);
