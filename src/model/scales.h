/* SPDX-License-Identifier: MIT
 * scales.h: the parameters that say how much effects vary between groups (rows/groups.h): for each
 * term the standard deviation of its q effects and, where it has them, their correlations. They
 * follow the parameters of the model's kind:
 *
 *     theta = beta, [log_sigma], then for each term  sd_1 .. sd_q, cor_21, cor_31, cor_32, ...
 *
 * and where all terms have an intercept alone, in linear and logistic models, what follows from
 * these: the share of each term in the variance of a row's target (the latent one of logistic: its
 * error has variance pi^2/3), the intraclass correlation
 *
 *     icc_user = sd_user^2 / (sum over terms sd^2 + sigma^2)
 *
 * which a chain does not move: to the user it is made of the others (sgfsi_scales_to_user).
 *
 * The effects themselves are no parameters: there may be millions of them. Only sampler groups
 * knows what to do with such a model; others refuse it.
 *
 * Prior: a standard deviation is half-normal, or half-t with 3 degrees of freedom, of scale
 * --group-scale; by default 2.5 s / sd(z), s = 1 (linear: sd of the target) and sd(z) = 1 for the
 * intercept. Correlation matrices are uniform (LKJ with eta = 1).
 */
#pragma once

#include <math.h>

#include "model/model.h"
#include "rows/groups.h"

#define SGFSI_LATENT_VARIANCE (M_PI * M_PI / 3) /* of a logistic model's error */

/* clang-format off */
/* Rows for the table of the sampler that draws them. */
#define SGFSI_SCALES_ROWS                                                                          \
    {"sampler.group_prior", "group-prior", SGFS_CHOICE, "half-normal", 1, 0, "half-normal|half-t", \
     "prior of standard deviations between groups (half-t: 3 degrees of freedom)"},                \
    {"sampler.group_scale", "group-scale", SGFS_NUMBER, "auto", 1e-300, 1e300, NULL,               \
     "its scale (auto: 2.5, or 2.5 sd(y) of a linear model; divided by sd(x) for slopes)"}
/* clang-format on */

enum { SGFSI_MOST_SHAPE = SGFSI_MOST_EFFECTS * (SGFSI_MOST_EFFECTS + 1) / 2 };

typedef struct sgfsi_term_scales {
    const sgfsi_term *term;
    int64_t q, count;                 /* effects; parameters of the term */
    int64_t at;                       /* of its first one, in theta */
    double scale[SGFSI_MOST_EFFECTS]; /* of the prior of each sd, on the chain's scale */
} sgfsi_term_scales;

typedef struct sgfsi_scales {
    const sgfsi_groups *groups;
    double unit; /* of the user, of one on the chain's scale: sd of a standardised target */
    bool student;
    sgfsi_term_scales term[SGFSI_MOST_TERMS];
    int64_t blocks; /* of parameters that they have */
    int64_t icc;    /* the first intraclass correlation, in theta; -1: there are none */
} sgfsi_scales;

/* After everything else is open: m->scales and its parameters, where the data have groups. */
sgfs_status sgfsi_scales_open(sgfs_model *m, sgfs_err *err);
/* Why the model cannot be used without sampler groups: SGFS_EUSAGE; or SGFS_OK. */
sgfs_status sgfsi_scales_refuse(const sgfs_model *m, sgfs_err *err);

/* A term's parameters as a chain moves them, without bounds: log sd_1 .. log sd_q and the inverse
 * hyperbolic tangents of canonical partial correlations. C: q x q lower, C C' the covariance. */
void sgfsi_scales_factor(const sgfsi_term_scales *t, const double *shape, double *C);
/* Their log prior density, with the Jacobian of that change. */
double sgfsi_scales_prior(const sgfsi_scales *s, const sgfsi_term_scales *t, const double *shape);
/* The parameters of the term in theta. */
void sgfsi_scales_put(const sgfsi_term_scales *t, const double *shape, double *theta);
/* From the chain's scale to the user's, after all other parameters. */
void sgfsi_scales_to_user(const sgfs_model *m, const double *theta, double *user);
