/* SPDX-License-Identifier: MIT
 * groups.h: what the files of sampler groups share: a chain's state, and the moves it is made of.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "posterior/mixed.h"
#include "sampler/sampler.h"

/* Iterations and terms that name the stream of a term's groups. */
enum { SGFSI_GROUP_STREAMS = 2 * SGFSI_MOST_TERMS };
/* Of random walks of a term: each of its scales, sd beside sigma or coefficients, log sigma. */
enum { SGFSI_RIDGE_STEP = SGFSI_MOST_SHAPE, SGFSI_SIGMA_STEP, SGFSI_GROUP_STEPS };

/* Draws of all effects that a chain keeps, evenly spaced: room for so many, and of the draws that
 * the chain hands over number every, 2 every, ... (from 1). When there is no room for a further
 * one, every second one goes. */
typedef struct sgfsi_groups_kept {
    int64_t numbers, room, count, every, seen;
    float *u; /* room x numbers */
} sgfsi_groups_kept;

typedef struct sgfsi_groups_chain {
    sgfsi_mixed own;
    const sgfsi_mixed *mixed; /* the first chain's */
    sgfsi_mixed_place at;
    bool begun;
    double *shift, *step; /* terms x p; terms x GROUP_STEPS: log of the random walks' steps */
    bool gaussian;        /* all terms move by sgfsi_groups_move_gaussian */
    bool singles[SGFSI_MOST_TERMS]; /* the term's coefficients move by sgfsi_groups_move_singles */
    double share;                   /* of this iteration in the shift that is learned */
    double learned;                 /* iterations whose shift was learned from */
    double *L, *centre, *d[2]; /* p x p + p; p: centre of beta; p: from there, before and after */
    double *sums;              /* p x p + p + 1 */
    double *mean[SGFSI_MOST_TERMS], *square[SGFSI_MOST_TERMS]; /* G x q: of effects after warm-up */
    double kept;                                               /* iterations in them */
    sgfsi_groups_kept draws;
    /* The move that is being made. */
    int64_t k, t;
    double a;
    const sgfs_sampler *sampler;
} sgfsi_groups_chain;

/* ---- small things ---------------------------------------------------------------------------- */

static inline void sgfsi_group_multiply(int64_t q, const double *C, const double *v, double *u) {
    for (int64_t i = 0; i < q; i++) {
        u[i] = 0;
        for (int64_t j = 0; j <= i; j++) u[i] += C[i * q + j] * v[j];
    }
}

/* x = L^-T x */
static inline void sgfsi_group_solve_up(int64_t q, const double *L, double *x) {
    for (int64_t i = q - 1; i >= 0; i--) {
        for (int64_t j = i + 1; j < q; j++) x[i] -= L[j * q + i] * x[j];
        x[i] /= L[i * q + i];
    }
}

/* out = L'x */
static inline void sgfsi_group_multiply_up(int64_t q, const double *L, const double *x,
                                           double *out) {
    for (int64_t j = 0; j < q; j++) {
        out[j] = 0;
        for (int64_t i = j; i < q; i++) out[j] += L[i * q + j] * x[i];
    }
}

static inline double sgfsi_group_square_of(int64_t n, const double *x) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

/* log((e^a + e^b)/2), also of -infinities */
static inline double sgfsi_group_pair_weight(double a, double b) {
    double most = fmax(a, b);
    return most == -INFINITY ? most : most + log(0.5 * (1 + exp(-fabs(a - b))));
}

static inline sgfsi_stream sgfsi_group_stream_of(const sgfsi_groups_chain *e, int64_t which,
                                                 uint32_t purpose) {
    return sgfsi_stream_at(e->sampler->seed, e->sampler->chain, e->t * SGFSI_GROUP_STREAMS + which,
                           purpose);
}

static inline double sgfsi_group_effect(const sgfsi_mixed_term *t, int64_t slot, const double *u) {
    double sum = 0;
    if (t->z == NULL) return u[0];
    for (int64_t j = 0; j < t->q; j++) sum += t->z[slot * t->q + j] * u[j];
    return sum;
}

/* A number that is not finite is no density. */
static inline double sgfsi_group_density(double x) {
    return isnan(x) || x == INFINITY ? -INFINITY : x;
}

/* The hook `effects` (groups_effects.c). */
sgfs_status sgfsi_groups_effects(const sgfs_sampler *const *chain, int64_t chains, sgfsi_json **out,
                                 sgfs_err *err);
/* Draws of effects (groups_kept.c): room for them; a draw has been handed over; their state;
 * hooks. */
sgfs_status sgfsi_groups_keep_open(sgfsi_groups_chain *e, sgfs_err *err);
void sgfsi_groups_keep(sgfsi_groups_chain *e);
void sgfsi_groups_keep_fields(sgfsi_groups_chain *e, sgfsi_fields *list);
bool sgfsi_groups_kept_effects(const sgfs_sampler *const *chain, int64_t chains,
                               sgfs_kept_effects *out);
int64_t sgfsi_groups_effects_now(const sgfs_sampler *s, float *out);

/* ---- moves (groups_moves.c, groups_scales.c), of term e->k in iteration e->t ----------------- */

/* All groups; *accepted: which share of them. */
void sgfsi_groups_move(sgfsi_groups_chain *e, double *accepted);
/* Coefficients, the effects of the term going along. */
sgfs_status sgfsi_groups_move_beta(sgfsi_groups_chain *e, bool warming, double *accepted,
                                   sgfs_err *err);
/* The step of Newton's method for the coefficients, after sgfsi_mixed_fixed. */
sgfs_status sgfsi_groups_newton(sgfsi_groups_chain *e, double *step, sgfs_err *err);
/* Where most groups of a logistic model's term have one row (groups_singles.c): is it one? Moves of
 * coefficients, and of these with the scale, after which the effects of such groups are drawn anew.
 * By how much coefficients are larger than those with the effects integrated out. */
bool sgfsi_groups_has_singles(const sgfsi_mixed *m, int64_t k);
sgfs_status sgfsi_groups_move_singles(sgfsi_groups_chain *e, bool warming, double *accepted,
                                      sgfs_err *err);
double sgfsi_groups_attenuation(double log_sd);
/* In place of the first three moves, in a linear model with a Gaussian prior (groups_linear.c):
 * scales, coefficients and effects, the last two from their law given the scales. */
sgfs_status sgfsi_groups_move_gaussian(sgfsi_groups_chain *e, bool warming, double *accepted,
                                       sgfs_err *err);
/* log sd - log sigma grows by so much, sd^2 + sigma^2 being as it is. */
void sgfsi_groups_along_ridge(double by, double *log_sd, double *log_sigma);
/* Two scales or correlations, in turn, and sd with sigma, while z stays; *accepted: which share of
 * them. */
void sgfsi_groups_move_scales(sgfsi_groups_chain *e, bool warming, double *accepted);
/* All of them while the effects stay; the sum of each effect with its coefficient, and log_sigma,
 * while the predictor stays. After them the frames of the term are no longer right. */
void sgfsi_groups_slice_scales(sgfsi_groups_chain *e);
void sgfsi_groups_slice_means(sgfsi_groups_chain *e);
void sgfsi_groups_slice_sigma(sgfsi_groups_chain *e);
