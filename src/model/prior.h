/* SPDX-License-Identifier: MIT
 * prior.h: independent priors, one for each parameter, of one kind with one precision each.
 *
 *     log p(theta) = sum_j log f(theta_j / s_j) + const,   s_j = 1/sqrt(P_j)
 *
 *   P     precision, so that s is the Gaussian's standard deviation, the Laplace's b and the
 *         Student-t's scale; 0: flat for that parameter          D
 *   nu    degrees of freedom of the Student-t (--prior-df)
 *
 * What the rest of the program sees of it:
 *   gradient and log density            sgfsi_prior_add, the only place that adds them
 *   m->precision (Lambda of K)          the information J_j = E[(d log p/d theta_j)^2] of the prior
 *   the prior's part of the curvature   sgfsi_prior_add_curvature, at theta, never negative
 *
 * Why J: a step of SGFS keeps the variance of a posterior right if K = gamma N I1 + e Lambda with
 * Lambda = the mean of -d^2 log p over the posterior (docs/math.md). Where the data say nothing
 * that mean is J; where they decide, any Lambda does. J is P for the Gaussian and the Laplace,
 * P (nu + 1)/(nu + 3) for the Student-t.
 *
 * Without an option of the prior a regression gets one that is made for its columns, as rstanarm
 * and bambi do it. With s = 1 (linear: the sd of the target) its standard deviations are
 *     2.5 s / sd(x)     of the coefficient of a column of numbers
 *     2.5 s             of that of a column of zeros and ones, or of one that never changes
 *     2.5 s             of the intercept at the columns' means, around 0 (linear: the target's
 *                       mean)
 * and log_sigma is N(log s, 3^2): columns that explain nearly all of the target leave a sigma far
 * below s, which a narrower prior would widen. The intercept at the means is not a parameter of
 * columns as they are, so the chain lives on columns that are centred and scaled (zeros and ones:
 * centred only): there all of this is N(0, 2.5^2), independently. Sparse columns are not centred,
 * which would fill them up: the prior itself is moved there. With their means m it is one of
 *     theta_0 + m'beta   instead of theta_0
 * for every row of beta, a parabola with one direction across the coefficients. m->precision has
 * its diagonal.
 * Without an intercept nothing is centred, and s is the root mean square of the target (linear) or
 * of a predictor of spread 1 around the target's mean; log_sigma keeps the sd.
 *
 * A network gets one on the same columns, with standard deviations that fall with the number of
 * weights that meet in a unit, so that what they add up to does not depend on it:
 *     1/sqrt(columns)   of weights from columns; 1 of the biases of hidden units
 *     4/sqrt(units)     of weights from hidden units to other units, or to a number
 *     64/sqrt(units)    of weights from hidden units to labels; 2.5 of the biases there
 * Columns are counted by their sizes: one of zeros and a few ones is less than a column. The n
 * weights of a layer have a scale in common that the data decide (Neal 1996): it is integrated out,
 * a chi-square with nu = 2 degrees of freedom divided by nu as its precision, which leaves a
 * multivariate Student-t. With q = sum of P_j theta_j^2 over the layer,
 *     log p = -(nu + n)/2 log((nu + q)/(nu + n)) - n/2
 *     gradient = -(nu + n)/(nu + q) P_j theta_j
 */
#pragma once

#include "model/model.h"

#define SGFSI_PRIOR_COLUMNS 2.5
#define SGFSI_PRIOR_NOISE   3.0
#define SGFSI_PRIOR_SUMS    1.0
#define SGFSI_PRIOR_UNITS   4.0
#define SGFSI_PRIOR_LABELS  64.0

/* n parameters, or one where there is no array. df: INFINITY where the kind has none. */
typedef struct sgfsi_prior_kind {
    const char *name, *help;
    bool has_df;
    bool quadratic; /* log density: its curvature is the same everywhere */
    bool flat;      /* of any precision: none is asked for */
    /* Sum of the log densities, 0 at theta = 0. */
    double (*density)(int64_t n, const double *precision, double df, const double *theta);
    void (*add_gradient)(int64_t n, const double *precision, double df, const double *theta,
                         double *G);
    /* Of -log density at theta, or a number above it that is not negative. NULL: there is a kink,
     * and the curvature says nothing. */
    double (*curvature)(double precision, double df, double theta);
    double (*information)(double precision, double df); /* J */
} sgfsi_prior_kind;

extern const sgfsi_prior_kind *const sgfsi_priors[]; /* NULL-terminated (prior_kinds.c) */
extern const char sgfsi_prior_choices[];             /* "auto|gaussian|laplace..." */

typedef struct sgfsi_prior {
    const sgfsi_prior_kind *kind;
    double *precision; /* D: P */
    double df;
    const unsigned char *layer; /* D: 1, 2, ... of weights with a scale in common; NULL: none has */
    const double *means; /* p: of columns that are not centred, as the chain sees them; 0 of others
                          * and of the intercept, whose prior is meant there. NULL: all are 0 */
} sgfsi_prior;

/* Fills m->prior and m->precision, as the options say. A model that has log_prior keeps the
 * m->precision it made while opening (none: zeros) and has no m->prior; options of the prior are
 * refused. */
sgfs_status sgfsi_prior_open(sgfs_model *m, sgfs_err *err);
/* Has m the prior that is made for its columns? */
bool sgfsi_prior_is_fitted(const sgfs_model *m);
/* Before a model is opened: if it is to have that prior, m->data becomes a view with columns that
 * are centred and scaled, unless they are already, or the model is one opened again. */
sgfs_status sgfsi_prior_fit_columns(sgfs_model *m, sgfs_err *err);
/* Standard deviations, or other lengths above 0, of the chain's parameters as the user sees them.
 * The intercept is meant where the columns have their means: it is moved while the slopes stay
 * 0. */
sgfs_status sgfsi_prior_to_user(const sgfs_model *m, const double *size, double *user,
                                sgfs_err *err);
/* Do the options give no parameter any prior? */
bool sgfsi_prior_is_flat(const sgfs_config *cfg);
/* *lp (may be NULL) += log density, without its constant; G (may be NULL) += gradient. */
sgfs_status sgfsi_prior_add(const sgfs_model *m, const double *theta, double *lp, double *G,
                            sgfs_err *err);
/* What is counted as the prior's curvature of parameter j at theta: never negative. That across
 * coefficients, by `means`, is left out. */
double sgfsi_prior_curvature(const sgfs_model *m, const double *theta, int64_t j);
/* A (D x D, lower) += the same, and what there is across coefficients. */
void sgfsi_prior_add_curvature(const sgfs_model *m, const double *theta, double *A);
/* Can a mode be climbed to, and has the posterior a curvature there? */
bool sgfsi_prior_is_smooth(const sgfs_model *m);
/* Is its logarithm a parabola, so that an expansion at one place says all of it? */
bool sgfsi_prior_is_quadratic(const sgfs_model *m);
/* A million of these are further than parameter j ever gets under its prior; 0: there is none. */
double sgfsi_prior_length(const sgfs_model *m, int64_t j);
/* What is approximate about a prior that is counted in the matrix of SGFS, or NULL. */
const char *sgfsi_prior_caution(const sgfs_model *m);
/* "prior", "prior_df" and "prior_precision" (or "prior_precisions", where they differ) into o. */
void sgfsi_prior_describe(const sgfs_model *m, sgfsi_json *o);

/* ---- precisions.c ---------------------------------------------------------------------------- */

/* --prior-precision or --prior-file -> precision (D). */
sgfs_status sgfsi_precisions_read(const sgfs_model *m, double *precision, sgfs_err *err);
/* Does the text name some parameters, neither all coefficients (beta) nor the rest by a number? The
 * others keep the default then. */
bool sgfsi_precisions_name_some(const char *text);
/* Is this text, as far as can be said without a model, one that --prior-precision takes? */
sgfs_status sgfsi_precisions_check(const char *text, sgfs_err *err);
