/* SPDX-License-Identifier: MIT
 * corrected_step.h: one step that contains SGFS and its cousins (docs/math.md section 1,
 * docs/beyond.md):
 *
 *     theta += (L L')^-1 (h G + R z),   R R' = h (2 - h) A - h^2 S + 2 h rho I,   z ~ N(0, I)
 *
 *   A    precision of the posterior (its curvature); L L' = A + rho I (precision.h)
 *   S    covariance of the noise in the stochastic gradient G: q I1hat, q = (gamma - 1) N
 *   h    step: 1 is a whole Newton step
 *
 * Where the log posterior is quadratic and A its curvature, the stationary law is N(mode, A^-1) for
 * every h that leaves R R' positive definite, h < 2/(1 + s), s the largest eigenvalue of
 * A^-1/2 S A^-1/2; the autocorrelation time is (2 - h)/h. With P = L L' any preconditioner, the
 * covariance C of the draws obeys
 *
 *     C = (I - h P^-1 A) C (I - h P^-1 A)' + P^-1 (h^2 S + R R') P^-1,
 *
 * which C = A^-1 solves exactly when h^2 S + R R' = 2 h P - h^2 A; with P = A + rho I that is the R
 * above. S may change from place to place (with control variates it grows with the square of the
 * distance from the anchor): z, G's noise and theta are independent, so that only the average of S
 * over the stationary law enters, and that is what a running average along the chain estimates. R
 * R' is linear in S: an estimate that is right on average leaves the covariance right on average.
 *
 * SGFS is the case A = N I1hat, S = (gamma - 1) N I1hat, h = 2/(gamma (1 + alpha^2)): then
 * R R' = 2 h alpha^2/(1 + alpha^2) A. At alpha = 0 that is 0, the boundary of what is possible: a
 * matrix of zeros has no Cholesky factor, and this step refuses it.
 *
 * --noise-matrix diag: of S only the diagonal is estimated, and S is taken for s A, s the mean of
 * S_jj/A_jj (about right with control variates, where S is near (D/n) A): R is a multiple of L and
 * nothing is ever factored again. The step is bounded by the largest of these ratios.
 */
#pragma once

#include "sampler/precision.h"

/* What the settings of a kind that takes such steps begin with. */
typedef struct sgfsi_corrected_settings {
    double step; /* h; NaN: to be found */
    const char *noise_matrix;
} sgfsi_corrected_settings;

typedef struct sgfsi_corrected {
    sgfsi_precision P;
    sgfsi_average I1;  /* of the scores that e->scores holds: with control variates, differences */
    sgfs_sym V;        /* the last batch's share of it */
    sgfs_sym R, next;  /* factor of the injected noise's covariance; not for `scaled` */
    bool scaled;       /* --noise-matrix diag: R = scale L */
    double scale;      /* of `scaled` */
    double mean, most; /* S_jj/A_jj of `scaled`: their mean, the largest */
    double h;          /* NaN: not chosen yet */
    double margin;     /* an h of our own choice leaves room for so much more noise */
    bool given;        /* h is the user's */
    int64_t missed;    /* times on end that there was no R for a given h */
    bool ready;        /* R is there */
    double noise;      /* tr((L L')^-1 S)/D, a running average over batches */
    int64_t measured;  /* batches in it */
    double *z, *x, *tmp; /* D each: noise of the step; the step; room */
} sgfsi_corrected;

sgfs_status sgfsi_corrected_open(sgfsi_corrected *g, sgfs_sampler *sampler, sgfs_err *err);

/* I1hat as all rows have it (cov: D x D lower), and the noise that belongs to it: what batches say
 * later is averaged with it, as if it were the mean of as many batches as the window has. */
void sgfsi_corrected_know(sgfsi_corrected *g, const sgfs_sampler *sampler, const double *cov);
/* Take the batch that was scored last into I1hat, and measure its noise, with the signs of g->z;
 * kappa_noise: weight of this batch in g->noise. */
void sgfsi_corrected_learn(sgfsi_corrected *g, const sgfsi_eval *e, bool warmup,
                           double kappa_noise);

/* So much more noise must leave a factor: then at most 1/(1 + margin) of the draws' variance is the
 * gradient's. S is known to a tenth or two only, and beyond this share the tails are heavy: noise
 * that grows with the distance from the anchor throws a chain that is far out further. */
static const double sgfsi_noise_margin = 0.5;

/* h and R from what is known of S: the step that was given must be possible, another is found.
 * code: what an impossible one is. */
sgfs_status sgfsi_corrected_settle(sgfsi_corrected *g, const sgfs_sampler *sampler,
                                   sgfs_status code, sgfs_err *err);
/* R anew after S has changed. A step of our own choice is lowered where it has become too large.
 * One that was given stays, with the last R that there was: the average of S wanders before it
 * settles, and may wander too far. Where it does not come back, the chain stops. */
sgfs_status sgfsi_corrected_renew(sgfsi_corrected *g, sgfs_sampler *sampler, sgfs_err *err);
/* R for g->h; false: there is none, and R stays as it was. */
bool sgfsi_corrected_factor(sgfsi_corrected *g, const sgfsi_eval *e);

/* theta moves, by G and z, which is used up. */
void sgfsi_corrected_move(sgfsi_corrected *g, const double *G, double *theta);

/* Everything that was estimated. */
void sgfsi_corrected_fields(sgfsi_corrected *g, sgfsi_fields *list);
