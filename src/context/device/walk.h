/* SPDX-License-Identifier: MIT
 * walk.h: iterations of several chains as plain data, for a device that makes many of them one
 * after another without the host in between (`walk` in device.h). What it is told is a generalised
 * linear model on rows that it has, a Gaussian prior, and for each iteration of each chain
 *
 *     rows   n of N, drawn with replacement                           stream (t, SGFSI_ROWS)
 *     G      = total/n sum_i r_i x_i - P theta                        r, x: residual and row
 *     I_k    = decay_k I_k + weight_k sum_i (g_i - gbar)(g_i - gbar)' of the averages that learn
 *     K      = gain I_from + share Lambda,  factored: L L'            where `from` says so
 *     x      = G + prior Lambda^1/2 z2                                stream (t, SGFSI_PRIOR)
 *     theta += size L^-T (L^-1 x + noise z1)                          stream (t, SGFSI_NOISE)
 *              size x + noise z1, without a matrix
 *
 * so that the same numbers are drawn as by the host, and chains are the same up to rounding. The
 * second average is the model's own: of the scores of targets drawn from the model at theta (stream
 * (place, SGFSI_MODEL): n normals that are left out, then n uniforms), not centred. A sampler
 * writes this (sampler/ahead.h) and knows no device; a device does it and knows no sampler.
 */
#pragma once

#include "context/device/device.h"

enum {
    SGFSI_WALK_LINE = 16,            /* numbers of a line of memory */
    SGFSI_WALK_PARAMETERS = 1 << 13, /* D at most */
    SGFSI_WALK_ROWS = 1 << 16        /* n at most; N is less than 2^31 */
};

typedef enum sgfsi_walk_matrix {
    SGFSI_WALK_PLAIN, /* there is none */
    SGFSI_WALK_DIAGONAL,
    SGFSI_WALK_FULL
} sgfsi_walk_matrix;

/* What all iterations of all chains have in common. */
typedef struct sgfsi_walk_law {
    sgfsi_link link;
    double one;      /* of SGFSI_LOGIT: the target that counts as 1 */
    int64_t N, n, D; /* rows, rows of a batch, parameters */
    int64_t stride;  /* from one row of X to the next: D rounded up to a line of memory */
    double total;    /* N, as a number */
    const double *X, *y;      /* N x stride, zeros behind D, and N: both in the device's memory */
    const double *precision;  /* D: P */
    const double *counted;    /* D: Lambda; NULL: 0 */
    sgfsi_walk_matrix matrix;
    double gain; /* gamma N */
} sgfsi_walk_law;

enum { SGFSI_LEARNS_SCORES = 1, SGFSI_LEARNS_MODEL = 2 };

/* One iteration. */
typedef struct sgfsi_walk_step {
    int64_t t, want_lp;
    int64_t learns;             /* which averages: bits */
    int64_t from;               /* 0: the factor stays; 1, 2: it is made from this average */
    double decay[2], weight[2]; /* of the averages that learn */
    double share, prior, size, noise;
} sgfsi_walk_step;

/* One chain. */
typedef struct sgfsi_walk {
    uint64_t seed;
    uint32_t chain;
    int64_t count;               /* iterations wanted */
    const sgfsi_walk_step *step; /* count */
    const double *theta;         /* D: where it stands */
    /* Of a full matrix D x D each, lower triangles in the device's memory; of a diagonal one D of
     * the host's each. Changed. average[1]: NULL where no step learns it. */
    double *average[2], *L;
    /* Filled: how many iterations went well. A gradient that is not finite or a matrix without a
     * factor ends the walk before its iteration, and the averages are as if it had not begun; L is
     * then of no use where that iteration was to make it. Nothing went well where the device has
     * failed. */
    int64_t done;
    double *path;  /* count x D: theta after each */
    double *about; /* count x 2: length of G, and where it is wanted log posterior density before */
} sgfsi_walk;
