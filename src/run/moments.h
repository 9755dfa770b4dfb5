/* SPDX-License-Identifier: MIT
 * moments.h: mean and covariance of every iteration, thinned away or not, and a running estimate of
 * the effective sample size for the progress line.
 */
#ifndef SGFSI_MOMENTS_H
#define SGFSI_MOMENTS_H

#include "base/arena.h"
#include "sgfs_plugin.h"

enum { SGFSI_MOMENTS_ROWS = 32, SGFSI_MOMENTS_SLOTS = 64 };

typedef struct sgfsi_moments {
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
} sgfsi_moments;

bool sgfsi_moments_open(sgfsi_moments *m, const sgfs_backend *be, int64_t D, bool full,
                        sgfsi_arena *arena);
void sgfsi_moments_add(sgfsi_moments *m, const double *theta);
void sgfsi_moments_flush(sgfsi_moments *m); /* before reading mean, ss, var */
/* Smallest effective sample size over the parameters, by batch means; 0 while not known. */
double sgfsi_moments_ess(const sgfsi_moments *m);

#endif
