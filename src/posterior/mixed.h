/* SPDX-License-Identifier: MIT
 * mixed.h: rows with groups: the log likelihood where the predictor has effects that vary between
 * groups, and its quadratic approximation around an anchor, from which proposals are made.
 *
 *     eta_i = offset_i + x_i'beta + sum over terms k of z_ik' u_k,g(i),
 *     u_g = C v_g,  v_g ~ N(0, I)
 *
 * Rows are kept by slot: an order in which the groups of the term with the most groups stand
 * together. By slot there are the target, the weight and, from the anchor's predictor eta*,
 * residual r, information w and l''' of each row:
 *
 *     l_i(eta) ~ l_i* + (eta - eta*) r_i - w_i (eta - eta*)^2/2 = const + k_i eta - w_i eta^2/2
 *     k_i = r_i + w_i eta*_i
 *
 * and from these for each group of a term
 *     H_g = sum w z z'    B_g = sum w z x'    T_g = sum l''' z (x) z (x) z
 *
 * In a linear model both sides are divided by sigma^2: a = sigma*^2/sigma^2 follows sigma.
 */
#pragma once

#include "model/scales.h"
#include "posterior/posterior.h"

enum { SGFSI_MIXED_CHUNK = 512 }; /* rows whose densities are computed at once */

typedef struct sgfsi_mixed_term {
    const sgfsi_term_scales *scales;
    int64_t q, G;
    const int32_t *group; /* N, by slot */
    const int64_t *first; /* G + 1: the rows of group g are row[first[g]] .. */
    const int32_t *row;   /* N slots; NULL: slots are in this order */
    const double *z;      /* N x q, by slot; NULL: ones */
    double *H, *T, *B;    /* G x q x q, G x q x q x q, G x q x p */
    int64_t parts, *part; /* parts + 1 groups: what a thread does at a time */
    int64_t most;         /* rows of the largest part */
} sgfsi_mixed_term;

/* What all chains share. */
typedef struct sgfsi_mixed {
    sgfs_model fixed; /* the model without its groups */
    const sgfsi_scales *scales;
    int64_t N, p, base; /* base: parameters of the kind: beta and, in a linear model, log_sigma */
    bool sigma;         /* the last of them is log_sigma */
    int32_t *slot;      /* N: of a row of the data */
    double *y, *weight, *offset;     /* N; NULL: there are none (weight, offset) */
    double *k, *w;                   /* N, at the anchor */
    double *XWX;                     /* p x p */
    double *prior, *pull;            /* p x p: the prior's curvature there; p: its gradient */
    double *theta;                   /* base: the anchor's */
    double *shape[SGFSI_MOST_TERMS]; /* the anchor's scales */
    int64_t terms;
    sgfsi_mixed_term term[SGFSI_MOST_TERMS];
    int64_t passes, rounds; /* over all rows; of Newton */
} sgfsi_mixed;

/* One thread's room. */
typedef struct sgfsi_mixed_room {
    sgfs_scores scores;
    double *loglik, *scratch, *A, *eta, *y, *rest;
} sgfsi_mixed_room;

/* A chain's place, and room for its moves. */
typedef struct sgfsi_mixed_effects {
    double *shape, *C;     /* scales->count; q x q */
    double *v, *c, *m, *K; /* G x q, G x q, G x q, G x q x q (below) */
    double *one, *two;     /* G x q: room for moves */
} sgfsi_mixed_effects;

typedef struct sgfsi_mixed_place {
    const sgfsi_mixed *mixed;
    sgfsi_full full; /* passes over x */
    int64_t threads;
    sgfsi_mixed_room *room; /* threads */
    double *theta;          /* base */
    double *eta;            /* N by slot */
    double *e, *f;          /* N by slot: room for moves */
    double *sums;           /* room for sums of parts */
    sgfsi_mixed_effects term[SGFSI_MOST_TERMS];
    double loglik; /* of all rows */
} sgfsi_mixed_place;

/* Is the approximation the log likelihood itself, and the prior of the coefficients Gaussian? */
bool sgfsi_mixed_is_gaussian(const sgfs_model *m);
/* Rows and groups by slot, without an anchor. */
sgfs_status sgfsi_mixed_open(sgfsi_mixed *m, const sgfs_model *model, sgfsi_arena *arena,
                             sgfs_err *err);
sgfs_status sgfsi_mixed_place_open(sgfsi_mixed_place *at, const sgfsi_mixed *m, int64_t threads,
                                   sgfsi_arena *arena, sgfs_err *err);
/* The anchor: beta and effects by Newton's method with the arrow-shaped matrix, scales by EM. The
 * place is left there. */
sgfs_status sgfsi_mixed_anchor(sgfsi_mixed *m, sgfsi_mixed_place *at, sgfs_err *err);

/* ---- passes ---------------------------------------------------------------------------------- */

/* sigma*^2/sigma^2 */
double sgfsi_mixed_ratio(const sgfsi_mixed_place *at);
/* *lp += the log prior density of theta (base). */
sgfs_status sgfsi_mixed_prior(const sgfsi_mixed *m, const double *theta, double *lp, sgfs_err *err);
/* Of the scales of term k (model/scales.h): the factor C of their covariance, their log prior
 * density, and their parameters into theta of all of the model. */
void sgfsi_mixed_factor(const sgfsi_mixed *m, int64_t k, const double *shape, double *C);
double sgfsi_mixed_scales_prior(const sgfsi_mixed *m, int64_t k, const double *shape);
void sgfsi_mixed_put(const sgfsi_mixed *m, int64_t k, const double *shape, double *theta);
/* eta from theta and effects, and the log likelihood. */
sgfs_status sgfsi_mixed_refresh(sgfsi_mixed_place *at, sgfs_err *err);
/* out (N by slot) = X d, d of p numbers. */
sgfs_status sgfsi_mixed_times(sgfsi_mixed_place *at, const double *d, double *out, sgfs_err *err);
/* out (p) = X'v, v by slot. */
sgfs_status sgfsi_mixed_transposed(sgfsi_mixed_place *at, const double *v, double *out,
                                   sgfs_err *err);
/* The log likelihood of n rows from a slot on, each with its weight; loglik: n, may be NULL. */
double sgfsi_mixed_chunk(const sgfsi_mixed_place *at, sgfsi_mixed_room *room, const double *theta,
                         int64_t n, const double *y, const double *weight, const double *eta,
                         double *loglik);
/* The slope of each row's log likelihood by its predictor, times its weight: n from a slot on. */
void sgfsi_mixed_residuals(const sgfsi_mixed_place *at, sgfsi_mixed_room *room, int64_t first,
                           int64_t n, double *r);
/* Sum over all slots of what fn adds for n of them from `first` on, in parts of fixed size, added
 * up in order: `count` numbers. */
typedef void (*sgfsi_mixed_fn)(void *user, sgfsi_mixed_room *room, int64_t first, int64_t n,
                               double *sums);
void sgfsi_mixed_sum(sgfsi_mixed_place *at, sgfsi_mixed_fn fn, void *user, int64_t count,
                     double *sums);
/* The same over the parts of a term's groups. */
typedef void (*sgfsi_mixed_groups_fn)(void *user, sgfsi_mixed_room *room, int64_t from, int64_t to,
                                      double *sums);
void sgfsi_mixed_groups(sgfsi_mixed_place *at, int64_t k, sgfsi_mixed_groups_fn fn, void *user,
                        int64_t count, double *sums);

/* ---- the Gaussian of a group and of beta ----------------------------------------------------- */

/* c = sum z (k - w rest), rest being eta without term k, for all groups of it; then their
 * frames. */
void sgfsi_mixed_centres(sgfsi_mixed_place *at, int64_t k);
/* From c, C and a: of group g the factor K K' = I + a C'H C of its precision in v, and the centre
 * m = K^-T K^-1 C'(a c + third), third = a T : (C K^-T K^-1 C')/2, the mean's first correction;
 * plain: without it. */
void sgfsi_mixed_frame(const sgfsi_mixed_term *t, int64_t g, double a, const double *C,
                       const double *c, bool plain, double *K, double *m);
/* dv = -K^-T K^-1 a C'B_g d: how v moves with beta while z stays. */
void sgfsi_mixed_follow(const sgfsi_mixed_term *t, int64_t g, int64_t p, double a, const double *C,
                        const double *K, const double *d, double *dv);
/* After sgfsi_mixed_centres of term k: the factor L of S = a X'WX + prior - sum a^2 B'C M^-1 C'B
 * (p x p), and the mean of beta with the effects of that term integrated out. SGFS_ENUMERIC: S is
 * singular. */
sgfs_status sgfsi_mixed_fixed(sgfsi_mixed_place *at, int64_t k, double *L, double *mean,
                              sgfs_err *err);
/* After the same: out (p) = the gradient of the log posterior by beta, effects of term k following
 * so that z stays. Its mean over z given beta is the gradient with these effects integrated out,
 * and under the approximation it is the same for every z. room: base; what stands in f is lost. */
sgfs_status sgfsi_mixed_gradient(sgfsi_mixed_place *at, int64_t k, double *out, double *room,
                                 sgfs_err *err);
