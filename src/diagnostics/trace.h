/* SPDX-License-Identifier: MIT
 * trace.h: the draws of one parameter, laid out for the diagnostics: chains split in halves,
 * sorted, rank-normalised. One workspace serves every parameter of a run in turn.
 */
#pragma once

#include <stdbool.h>

#include "diagnostics/autocorr.h"
#include "sink/draws.h"

typedef struct sgfsi_ranked {
    uint64_t key; /* orders as the double it was made from */
    int64_t at;   /* place in split, or -1 for the middle draw of an odd chain */
} sgfsi_ranked;

typedef struct sgfsi_trace {
    int64_t chains, draws;        /* draws: kept draws per chain */
    int64_t m, half, count;       /* m = 2 chains half-chains of half draws; count = m half */
    bool finite;                  /* every draw is a number */
    double mean, sd;              /* of all kept draws, divisor one less than their number */
    double q5, q50, q95;          /* linear between order statistics, as numpy's default */
    double *split;                /* m x half */
    double *middle;               /* chains: the draws left over when draws is odd */
    double *z;                    /* m x half: the same, rank-normalised */
    double *scratch;              /* m x half: for whoever transforms the draws next */
    sgfsi_ranked *sorted, *spare; /* chains x draws; after loading the first count of sorted hold */
    double *normal_score;         /* count: quantile of rank i + 1 */
    double *rho, *half_mean;      /* half, m: for ess.c */
    int64_t *bucket;              /* counters of the sort */
    sgfsi_autocorr autocorr;
} sgfsi_trace;

/* NULL when memory ran out. */
sgfsi_trace *sgfsi_trace_new(sgfsi_arena *arena, int64_t chains, int64_t draws);
/* Draw t of chain c is chain[c][t * stride]. */
void sgfsi_trace_load(sgfsi_trace *t, const double *const *chain, int64_t stride);
/* Each parameter's draws in turn, on so many threads where they are many, each with a workspace
 * of its own: a number depends on one parameter alone. False when memory ran out. */
bool sgfsi_trace_each(const sgfs_draws *d, const sgfsi_used *used, int64_t threads,
                      void (*take)(void *user, int64_t i, sgfsi_trace *t), void *user);
/* Every draw in order into out, chains x draws; NaN where not all of them are finite. */
void sgfsi_trace_values(const sgfsi_trace *t, double *out);
/* The p quantile of n numbers in order (n > 0): linear between neighbours, as numpy's default. */
double sgfsi_quantile(int64_t n, const double *sorted, double p);
/* Rank-normalised |x - median| of the split draws into out, m x half. */
void sgfsi_trace_fold(sgfsi_trace *t, double *out);
