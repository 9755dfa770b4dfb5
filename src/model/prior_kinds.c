/* SPDX-License-Identifier: MIT
 * prior_kinds.c: the kinds of prior. With P the precision, s = 1/sqrt(P) and u = theta/s:
 *
 *                log density                gradient                      J
 *   gaussian     -u^2/2                     -P theta                      P
 *   laplace      -|u|                       -sign(theta)/s                P
 *   student-t    -(nu+1)/2 log(1 + u^2/nu)  -(nu+1) P theta/(nu + u^2)    P (nu+1)/(nu+3)
 *   flat         0                          0                             0
 *
 * The gradient of the Laplace is taken as 0 at its kink. The curvature of the Student-t is negative
 * in its tails; what stands here is (nu+1) P/(nu + u^2), the weight of iteratively reweighted least
 * squares: the curvature of the parabola that touches the log density at theta and lies below it
 * elsewhere, so that a step by it never overshoots. At 0 the two are the same.
 */
#include <math.h>

#include "model/prior.h"

/* ---- gaussian, and flat: all precisions are 0 ------------------------------------------------ */

static double gaussian_density(int64_t n, const double *precision, double df, const double *theta) {
    double sum = 0;
    (void)df;
    for (int64_t j = 0; j < n; j++) sum += precision[j] * theta[j] * theta[j];
    return -0.5 * sum;
}

static void gaussian_gradient(int64_t n, const double *precision, double df, const double *theta,
                              double *G) {
    (void)df;
    for (int64_t j = 0; j < n; j++) G[j] -= precision[j] * theta[j];
}

static double gaussian_curvature(double precision, double df, double theta) {
    (void)df;
    (void)theta;
    return precision;
}

static double precision_itself(double precision, double df) {
    (void)df;
    return precision;
}

/* ---- laplace --------------------------------------------------------------------------------- */

static double laplace_density(int64_t n, const double *precision, double df, const double *theta) {
    double sum = 0;
    (void)df;
    for (int64_t j = 0; j < n; j++) sum += sqrt(precision[j]) * fabs(theta[j]);
    return -sum;
}

static void laplace_gradient(int64_t n, const double *precision, double df, const double *theta,
                             double *G) {
    (void)df;
    for (int64_t j = 0; j < n; j++) {
        double sign = (theta[j] > 0 ? 1.0 : 0.0) - (theta[j] < 0 ? 1.0 : 0.0);
        G[j] -= sqrt(precision[j]) * sign;
    }
}

/* ---- student-t ------------------------------------------------------------------------------- */

static double student_density(int64_t n, const double *precision, double df, const double *theta) {
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += log1p(precision[j] * theta[j] * theta[j] / df);
    return -0.5 * (df + 1) * sum;
}

static double student_curvature(double precision, double df, double theta) {
    return (df + 1) * precision / (df + precision * theta * theta);
}

static void student_gradient(int64_t n, const double *precision, double df, const double *theta,
                             double *G) {
    for (int64_t j = 0; j < n; j++)
        G[j] -= student_curvature(precision[j], df, theta[j]) * theta[j];
}

static double student_information(double precision, double df) {
    return precision * (df + 1) / (df + 3);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const sgfsi_prior_kind gaussian = {.name = "gaussian",
                                          .help = "N(0, 1/precision)",
                                          .quadratic = true,
                                          .density = gaussian_density,
                                          .add_gradient = gaussian_gradient,
                                          .curvature = gaussian_curvature,
                                          .information = precision_itself};

static const sgfsi_prior_kind laplace = {.name = "laplace",
                                         .help = "exp(-|theta|/s), s = 1/sqrt(precision)",
                                         .density = laplace_density,
                                         .add_gradient = laplace_gradient,
                                         .information = precision_itself};

static const sgfsi_prior_kind student_t = {.name = "student-t",
                                           .help = "Student's t with scale 1/sqrt(precision)",
                                           .has_df = true,
                                           .density = student_density,
                                           .add_gradient = student_gradient,
                                           .curvature = student_curvature,
                                           .information = student_information};

static const sgfsi_prior_kind flat = {.name = "flat",
                                      .help = "no prior",
                                      .quadratic = true,
                                      .flat = true,
                                      .density = gaussian_density,
                                      .add_gradient = gaussian_gradient,
                                      .curvature = gaussian_curvature,
                                      .information = precision_itself};

#define PRIORS(ROW)                                                                                \
    ROW("gaussian", gaussian) ROW("laplace", laplace) ROW("student-t", student_t) ROW("flat", flat)
#define ENTER(name, kind) &kind,
#define NAME(name, kind)  "|" name
const sgfsi_prior_kind *const sgfsi_priors[] = {PRIORS(ENTER) NULL};
const char sgfsi_prior_choices[] = "auto" PRIORS(NAME);
