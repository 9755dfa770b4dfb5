/* SPDX-License-Identifier: MIT
 * places.h: all rows at many places at once, at the speed of matrix multiplication.
 *
 * A pass over the rows for one place is bound by memory; for K places the rows are read once, and
 * the linear predictors of a block of rows at all of them are one product of matrices. Models say
 * how (`many` of sgfs_model_kind); one that does not is asked place by place.
 *
 * The parts of a pass are those of posterior.h, added up in order: the same bits for any number of
 * threads or processes. A device that keeps all rows is asked in their place (model/kept.h).
 */
#pragma once

#include "posterior/posterior.h"

typedef struct sgfsi_places {
    sgfsi_full full;
    int64_t D, most; /* most: places of one call */
    double *sums;    /* parts x most (1 + D), or parts x 2 most */
    double *scratch; /* of each thread */
    int64_t room;    /* and its size */
    double *theta;   /* 2 most x D: pairs that are looked at one by one; D: one of them, where a
                      * device has the rows; NULL: not needed */
    int64_t nans;    /* of the last call */
} sgfsi_places;

/* Room for at most `most` places or pairs a call. gradient: G may be wanted. threads: 0: the
 * context's. */
sgfs_status sgfsi_places_open(sgfsi_places *p, const sgfs_model *m, int64_t most, bool gradient,
                              int64_t threads, sgfsi_arena *arena, sgfs_err *err);
/* Log density at each of K places (theta: K x D), with the prior, up to its constant: lp (K); and
 * its gradient, G (K x D; NULL: not wanted). A density that is no number, or that the model refuses
 * to say, is -INFINITY, with whatever gradient: no error, but the former are counted in p->nans. No
 * allocation. */
sgfs_status sgfsi_places_eval(sgfsi_places *p, int64_t K, const double *theta, double *lp,
                              double *G, sgfs_err *err);
/* Log density at centre + U_k and at centre - U_k, for K directions (U: K x D): plus (K) and minus
 * (K), otherwise as above. */
sgfs_status sgfsi_places_pairs(sgfsi_places *p, const double *centre, int64_t K, const double *U,
                               double *plus, double *minus, sgfs_err *err);
/* The sums of a device that has all rows (kept.h) at pairs become such log densities. */
sgfs_status sgfsi_places_finish(sgfsi_places *p, const double *centre, int64_t K, const double *U,
                                double *plus, double *minus, sgfs_err *err);
/* How many calls for `usual` pairs are better made as one: 1, unless a device that has all rows
 * would be waited for longer than it works. */
int64_t sgfsi_places_at_once(const sgfs_model *m, int64_t usual);
/* A (D x D lower) = minus the derivative of the gradient at theta, by central differences, for
 * models that cannot say their information. Needs room for gradients. */
sgfs_status sgfsi_places_curvature(sgfsi_places *p, const double *theta, double *A, sgfs_err *err);
