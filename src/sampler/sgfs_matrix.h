/* SPDX-License-Identifier: MIT
 * sgfs_matrix.h: the matrix that SGFS steps with, and how it is learned.
 *
 *     K = gamma N I1hat + e Lambda + rho I            (B = K, the recommended choice)
 *     M = K + alpha^2 B                               (any other B, eq. 11)
 *
 *   I1hat    running average of Cov(g)                   any structure of sgfs_sym
 *   Lambda   prior precision                             D
 *   e        the prior's share: K counts it once and the noise (e - 1) times (docs/math.md section
 * 2)
 *   rho      ridge; the same noise goes with it
 *
 * Exact for every e >= 1 and rho >= 0: what K has beyond gamma N I1hat + Lambda is injected as
 * noise. Refactorising sets e = 2 each time. Updating a factor multiplies all of K by 1 - kappa,
 * the prior's share and the ridge included: both fade, and are put back before e reaches 1.
 */
#pragma once

#include "sampler/anneal.h"

/* Settings of SGFS. */
typedef struct sgfsi_sgfs_settings {
    sgfsi_anneal anneal; /* alpha over the iterations */
    double epsilon;      /* NaN: alpha is what counts */
    const char *b, *b_file;
    double b_scale; /* NaN: 1, or with "identity" by K's diagonal */
    bool prior_in_matrix;
    const char *warmup_by, *preset;
} sgfsi_sgfs_settings;

/* Statistics of a draw beside those of every stochastic gradient. */
enum {
    SGFSI_SGFS_RIDGES = SGFSI_OWN_STATS,
    SGFSI_SGFS_ALPHA,
    SGFSI_SGFS_PHASE,
    SGFSI_SGFS_STATS
};

/* B of eq. 11 where it is not K itself. */
typedef struct sgfsi_injected {
    bool is_fisher, adapts; /* B = K; B follows K's diagonal */
    bool identity;
    double scale;
    double *diag, *root; /* D each: B's diagonal and its square root; NULL where B is full */
    sgfs_sym full, full_root;
} sgfsi_injected;

typedef enum sgfsi_matrix_source {
    SGFSI_FROM_NOTHING, /* not factored yet */
    SGFSI_FROM_SCORES,
    SGFSI_FROM_MODEL
} sgfsi_matrix_source;

typedef struct sgfsi_sgfs_matrix {
    sgfsi_average scores; /* I1hat: of the data's scores */
    sgfsi_average model;  /* the model's own information, for the steps of warm-up */
    int source;           /* sgfsi_matrix_source: what L is made of */
    sgfs_sym L;           /* the factor */
    sgfsi_injected B;
    const double *prior; /* Lambda; NULL: the prior stays outside the matrix */
    double share;        /* e */
    double left;         /* of the share and the ridge since they were put in */
    double ridge;        /* relative, asked for by option */
    double ridge_now;    /* rho */
    double ridge_full;   /* rho right after a factorisation; fading takes it from there */
    double shrink;       /* tr K / tr M: what B leaves of the step */
    double alpha;        /* that the factor was made with (matters where B is not K) */
    sgfsi_turns turns;
    int64_t fill;        /* batches before the first move */
    bool by_model;       /* warm-up steps use the model's information */
    bool passing;        /* the first half of warm-up: I1hat will be begun anew */
    bool fades, updates; /* e fades; L is updated, not made anew */
} sgfsi_sgfs_matrix;

/* Options of the running average that only another option reads are refused. */
sgfs_status sgfsi_sgfs_matrix_check(const sgfsi_plan *plan, const char *fisher, sgfs_err *err);

sgfs_status sgfsi_sgfs_matrix_open(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler, sgfs_err *err);

/* Batches at the starting point until rows >= fill x D; G: D numbers of room. */
sgfs_status sgfsi_sgfs_matrix_fill(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler, const double *theta,
                                   double *G, sgfs_err *err);

/* Will the scores of this iteration be learned from? */
bool sgfsi_sgfs_matrix_due(const sgfsi_sgfs_matrix *k, const sgfs_iteration *now);
/* After sgfsi_eval_gradient of this iteration: learn from its batch and factor, where it is due. */
sgfs_status sgfsi_sgfs_matrix_renew(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler,
                                    const sgfs_iteration *now, double alpha, const double *theta,
                                    sgfs_err *err);

/* Parts of it: where warm-up has passed, averages begin anew; the prior's whole share again. */
void sgfsi_sgfs_matrix_pass_on(sgfsi_sgfs_matrix *k, const sgfs_iteration *now);
void sgfsi_sgfs_matrix_restore(sgfsi_sgfs_matrix *k);
/* A step and its matrix without the arithmetic, which *step says (sgfs_ahead.c). False, and nothing
 * has changed: it is not one that can be said. */
bool sgfsi_sgfs_ahead(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler, const sgfs_iteration *now,
                      const sgfsi_alpha *at, struct sgfsi_walk_step *step, double *stats);
/* While opening: what of the matrix such steps change. */
void sgfsi_sgfs_ahead_open(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler);

void sgfsi_sgfs_matrix_fields(sgfsi_sgfs_matrix *k, sgfsi_fields *list);

/* ---- options and their plan (sgfs_plan.c), for the table of sgfs.c --------------------------- */

extern const sgfs_option sgfsi_sgfs_options[];
extern const sgfsi_setting sgfsi_sgfs_setting_list[];
sgfs_status sgfsi_sgfs_plan(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err);
const char *sgfsi_sgfs_fixed_length(const sgfsi_plan *plan);
int sgfsi_sgfs_advise(const sgfsi_plan *plan, const char *advice[2]);
void sgfsi_sgfs_describe(const sgfs_sampler *sampler, char *out, size_t room);
double sgfsi_sgfs_tau(const sgfsi_plan *plan);
const char *sgfsi_sgfs_caution(const sgfsi_plan *plan, const char *fisher);
