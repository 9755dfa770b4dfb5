/* SPDX-License-Identifier: MIT
 * taylor_remainder.h: what is left of a function when the first terms of its series are taken away,
 * accurate to a few units in the last place also where nearly nothing is left. For `remainder` of
 * the models (stages.h): written as differences, these numbers would be rounding only.
 *
 *     exp_tail(v)    =  e^v - 1 - v - v^2/2          =  v^3/6 + v^4/24 + ...
 *     log1p_tail(m)  =  log(1 + m) - m               =  -m^2/2 + m^3/3 - ...     m >= 0
 *     law_tail       =  log E e^v - E v - Var(v)/2   =  kappa_3/6 + kappa_4/24 + ...
 * the last for a law p on K points, with values v there; kappa are its cumulants. With the law of
 * the classes at one place and v the changes of their predictors, it is what the log of the sum of
 * exponentials has beyond its second order.
 */
#pragma once

#include <stdint.h>

double sgfsi_softplus(double eta); /* log(1 + exp(eta)), whatever eta is */
double sgfsi_exp_tail(double v);
double sgfsi_log1p_tail(double m);
/* log_p: the logarithms of p, up to a number that is the same for all; v is changed. */
double sgfsi_law_tail(int64_t K, const double *log_p, const double *p, double *v);
/* The same for K = 2: v = u with probability sigmoid(eta), else 0. */
double sgfsi_coin_tail(double eta, double u);
