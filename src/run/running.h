/* SPDX-License-Identifier: MIT
 * running.h: mean and covariance of every iteration, thinned away or not, and a running estimate of
 * the effective sample size for the progress line.
 */
#ifndef SGFSI_RUNNING_H
#define SGFSI_RUNNING_H

#include "base/arena.h"
#include "sgfs_plugin.h"

enum { SGFSI_RUNNING_ROWS = 32, SGFSI_RUNNING_SLOTS = 64 };

typedef struct sgfsi_running {
    const sgfs_backend *be;
    int64_t D, count;                      /* iterations merged */
    int64_t waiting;                       /* rows in the buffer */
    double *buffer;                        /* (ROWS + 1) x D */
    double *mean;                          /* D */
    double *ss;                            /* D x D lower, or NULL when only variances are kept */
    double *var;                           /* D, sums of squares */
    double *block_mean;                    /* D */
    double *slot;                          /* SLOTS x D, means of equal stretches of the chain */
    int64_t slots, slot_blocks, slot_fill; /* full slots; blocks per slot; blocks in the open one */
} sgfsi_running;

bool sgfsi_running_open(sgfsi_running *m, const sgfs_backend *be, int64_t D, bool full,
                        sgfsi_arena *arena);
void sgfsi_running_add(sgfsi_running *m, const double *theta);
void sgfsi_running_flush(sgfsi_running *m); /* before reading mean, ss, var */
/* Autocorrelation time of parameter j by batch means, in iterations; NaN while the stretches are
 * too few, or shorter than five of it (they would make it look short). */
double sgfsi_running_tau(const sgfsi_running *m, int64_t j);
/* Smallest effective sample size over the parameters, by batch means; 0 while not known. */
double sgfsi_running_ess(const sgfsi_running *m);

#endif
