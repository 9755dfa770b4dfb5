/* SPDX-License-Identifier: MIT
 * hill.h: the Gaussian from which whole places are proposed, for posteriors that are one hill.
 *
 *     theta = c +- L^-T z,   z ~ N(0, I),   A = L L' at the mode m,   c = m + shift
 *
 * The mean of a skewed posterior is beside its mode. To first order the shift is
 *
 *     1/2 A^-1 sum_i l'''_i (x_i' A^-1 x_i) x_i  =  A^-1 E[ grad log p(m + L^-T z) ]
 *
 * and the right side needs no third derivative: it is an average of gradients over pairs, in one
 * pass for all of them, prior included. The same average at c says what is still missing; whichever
 * of the three centres, m among them, has the most effective pairs in a trial is taken.
 *
 * Pairs say little of tails that they do not reach. One row of high leverage can leave a
 * coefficient with a tail that only the prior ends, and so can columns that together nearly
 * separate the labels, while 64 pairs see a Gaussian. So the density is also looked at five
 * posterior standard deviations out, along every parameter, 64 of them in a pass, and where it is
 * largest between them. Along a direction in which the posterior is s times as wide as the
 * Gaussian, a pair at distance r has a weight of e^(r^2 (1 - 1/s^2)/2); from s^2 = 2 on, r^2/4,
 * weights have no variance.
 *
 * How good proposals are is measured, not guessed: the trial's weights give the acceptance and the
 * autocorrelation time of an independent Metropolis chain on pairs (sampler/exact_pairs.c).
 */
#pragma once

#include "posterior/anchor.h"
#include "posterior/places.h"

typedef struct sgfsi_hill {
    int64_t D;
    const sgfs_device *dev;
    double *centre;     /* D */
    double *spread;     /* D x D, lower: L^-1 */
    double *L;          /* D x D, lower */
    double shift;       /* |L'(c - m)|: in posterior standard deviations */
    double excess;      /* the log of the largest weight that was found 5 sd out, beside that of an
                         * ordinary pair: what tails, which few pairs reach, make large */
    double accept, tau; /* of pairs, by the trial; tau: iterations for an effective draw */
    int64_t passes;
    double seconds;
} sgfsi_hill;

/* Are there tails that few pairs reach? */
bool sgfsi_hill_is_heavy(const sgfsi_hill *h);

/* Is there no hill to look for, and why? A sentence, or NULL. */
const char *sgfsi_hill_refuses(const sgfs_model *m);
/* The anchor's arrays are borrowed. The same bits for any number of threads. */
sgfs_status sgfsi_hill_open(sgfsi_hill *h, const sgfs_model *m, const sgfsi_anchor *a,
                            int64_t threads, sgfsi_arena *arena, sgfs_err *err);
/* No proposals: `excess` alone, around the mode. */
sgfs_status sgfsi_hill_probe(sgfsi_hill *h, const sgfs_model *m, const sgfsi_anchor *a,
                             int64_t threads, sgfsi_arena *arena, sgfs_err *err);
/* Proposals without an anchor (sgfsi_anchor_refuses), for models that cannot say their information
 * and priors with a kink: the mode by L-BFGS where need be, A by differences of gradients, both
 * under a Gaussian prior of the same variance where the prior has a kink. Only the proposals depend
 * on any of this: the densities that are compared are the model's own. */
sgfs_status sgfsi_hill_find(sgfsi_hill *h, const sgfs_model *m, int64_t threads, sgfsi_arena *arena,
                            sgfs_err *err);
/* U = L^-T z for K rows z of Z (K x D). */
void sgfsi_hill_directions(const sgfsi_hill *h, int64_t K, const double *Z, double *U);
/* log((e^w+ + e^w-)/2) of a pair, w = lp + |z|^2/2. */
double sgfsi_hill_weight(double plus, double minus, double square);
