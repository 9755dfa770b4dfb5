/* SPDX-License-Identifier: MIT
 * predictor.h: what draws say together of a fixed set of rows.
 *
 * Draws are added one at a time, in any number; after each the averages can be read:
 *
 *     sgfsi_predictor_open(&p, model, rows, keep, &arena, &err);
 *     sgfsi_predictor_begin(&p, &batch, 0);
 *     for each draw: sgfsi_predictor_add(&p, 1, &draw, &err); or several of them at once
 *     sgfsi_predictor_tally(&p, &tally);              error, log loss, ... of all rows so far
 *
 * The model must be bound to the scale the draws are on (sgfsi_predictor_check): the user's, or,
 * for kinds without to_user, that of the chain.
 */
#pragma once

#include "base/arena.h"
#include "base/fields.h"
#include "model/model.h"
#include "posterior/quantile.h"
#include "posterior/tally.h"

/* One draw, and its place in the run: random numbers are a function of it. */
typedef struct sgfsi_draw {
    const double *theta; /* D */
    uint32_t chain;
    int64_t at;           /* among the kept draws of its chain */
    const float *effects; /* of groups, as sgfs_kept_effects has them; NULL: the model has none */
} sgfsi_draw;

typedef struct sgfsi_predictor {
    const sgfs_model *m;               /* without its groups, */
    const struct sgfsi_scales *scales; /* which are these; NULL: it has none */
    bool zero;                         /* the effects of groups that the run has not seen are 0 */
    const int64_t *code; /* rows x terms: of the rows at hand. The number of the group; below 0: the
                          * run has not seen it, and equal numbers are the same group */
    const double *x;     /* of these rows, for slopes */
    uint64_t seed;       /* of predictive draws; set it before the first add */
    int64_t most;        /* rows there is room for */
    double
        at[SGFSI_QUANTILES]; /* shares of quantiles: 0.05, 0.5, 0.95, unless set. The last mirrors
                                 * the first */
    int64_t keep;            /* draws there is room for; 0: averages only */
    int64_t width;    /* numbers averaged for each row: labels, or 1; 0: the model has neither
                       * predict nor resample, and only densities are known */
    bool drawn;       /* what is kept are targets drawn from the model, not its outputs */
    bool rises;       /* what is kept are predictors, with which the second of two labels becomes
                       * more probable: quantiles of the one are those of the other */
    sgfs_batch batch; /* the rows at hand */
    int64_t first;    /* number of the first of them; even */
    bool known;       /* they have targets */
    int64_t draws;    /* added so far */
    /* for each row: log density of this draw, largest so far, sum of exp(log density - largest) */
    double *loglik, *gap, *top, *sum; /* most each */
    double *out, *total;              /* most x width: of this draw, and summed */
    double *kept;                     /* most x width x stride, draws side by side; if it rises
                                       * most x stride */
    int64_t stride;
    double *normal, *uniform, *drawing; /* most each: predictive draws */
    struct sgfsi_far_predictor *far;    /* a device does it (far_predictor.h); NULL: the host */
    double *scratch;
    double *eta, *coefficients; /* most x SGFSI_MANY, p x SGFSI_MANY; NULL: a draw at a time */
    /* Rows of mostly zeros are taken sparse: room for a quarter of their numbers, or NULL. */
    int64_t *start;
    int32_t *col;
    double *value;
    sgfs_csr csr;
} sgfsi_predictor;

/* Are the model's own parameters what draws hold? SGFS_EUSAGE when not. */
sgfs_status sgfsi_predictor_check(const sgfs_model *m, sgfs_err *err);

/* Room for `most` rows, and for the numbers of `keep` draws where quantiles are wanted. The device
 * of m does the work where it can (far_predictor.h): then sgfsi_predictor_finish comes before
 * anything is read, and sgfsi_predictor_kept cannot. */
sgfs_status sgfsi_predictor_open(sgfsi_predictor *p, const sgfs_model *m, int64_t most,
                                 int64_t keep, sgfsi_arena *arena, sgfs_err *err);
/* Start anew with these rows (at most p->most; borrowed until the next begin). y NULL: targets are
 * not known. first: the number of the first row among all, which must be even. */
void sgfsi_predictor_begin(sgfsi_predictor *p, const sgfs_batch *rows, int64_t first);
/* The groups of these rows, of a model that has groups; borrowed likewise. */
void sgfsi_predictor_groups(sgfsi_predictor *p, const int64_t *code, bool zero);
/* So many more draws. An error is the model's. */
sgfs_status sgfsi_predictor_add(sgfsi_predictor *p, int64_t count, const sgfsi_draw *draw,
                                sgfs_err *err);

/* After the last draw. */
sgfs_status sgfsi_predictor_finish(sgfsi_predictor *p, sgfs_err *err);

/* What was added so far, without the draws that are kept for quantiles. */
void sgfsi_predictor_fields(sgfsi_predictor *p, sgfsi_fields *list);

/* ---- of row i, after at least one draw ------------------------------------------------------- */

/* log of the mean density of the row's target. */
double sgfsi_predictor_log_density(const sgfsi_predictor *p, int64_t i);
/* The width means: probability of each label, or the mean of the target. */
void sgfsi_predictor_mean(const sgfsi_predictor *p, int64_t i, double *mean);
/* Quantiles over draws of the width numbers (q: width x SGFSI_QUANTILES); the kept draws come back
 * in another order. */
void sgfsi_predictor_quantiles(sgfsi_predictor *p, int64_t i, double *q);
/* Number k of the kept draws from `first` on, *n of them; good until the next call. */
const double *sgfsi_predictor_kept(sgfsi_predictor *p, int64_t i, int64_t k, int64_t first,
                                   int64_t *n);
/* Where the target falls among the S kept predictive draws, as a number in (0, 1): its rank, ties
 * and the room of 1/(S + 1) filled at random. Uniform where the model is right. */
double sgfsi_predictor_pit(const sgfsi_predictor *p, int64_t i);

/* Add every row to the tally, without quantiles. The rows must have targets, each of them one of
 * the model's labels where it has any. */
void sgfsi_predictor_tally(sgfsi_predictor *p, sgfsi_tally *tally);
