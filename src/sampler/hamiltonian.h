/* SPDX-License-Identifier: MIT
 * hamiltonian.h: what HMC and NUTS share: points of phase space, the metric, the leapfrog step, the
 * energy, and what warm-up does to metric and step size.
 */
#pragma once

#include "base/rng.h"
#include "sampler/adapt.h"
#include "sampler/sampler.h"

/* clang-format off */
#define SGFSI_TARGET_ACCEPT_ROW                                                                    \
    {"sampler.target_accept", "target-accept", SGFS_NUMBER, "0.8", 0.01, 0.999, NULL,              \
     "acceptance that the step size is adapted to in warm-up"}
/* Rows of the option tables of both kinds. */
#define SGFSI_HAMILTONIAN_OPTIONS                                                                  \
    {"sampler.epsilon", "epsilon", SGFS_NUMBER, "auto", 1e-300, 1e300, NULL,                       \
     "step size (auto: found and adapted in warm-up)"},                                            \
    SGFSI_TARGET_ACCEPT_ROW,                                                                       \
    {"sampler.metric", "metric", SGFS_CHOICE, "auto", 1, 0, "auto|identity|diag|dense|fisher",     \
     "mass matrix (auto: dense up to 200 parameters, else diag; fisher: at the mode)"}
/* clang-format on */

/* Statistics of a draw that a trajectory led to, by the kind's own enum. */
#define SGFSI_TRAJECTORY_STATS                                                                     \
    [LP] = SGFSI_STAT_LP, [ACCEPTANCE] = SGFSI_STAT_ACCEPTANCE,                                    \
    [STEP_SIZE] = SGFSI_STAT_STEP_SIZE, [STEPS] = SGFSI_STAT_N_STEPS,                              \
    [DIVERGING] = SGFSI_STAT_DIVERGING, [ENERGY] = SGFSI_STAT_ENERGY

enum { SGFSI_MOST_AUTO_DENSE = 200 };        /* parameters up to which "auto" is dense */
static const double sgfsi_most_error = 1000; /* energy error past which a trajectory diverges */

/* A place in phase space. G belongs to q; v to p, once sgfsi_hamiltonian_energy has seen it. */
typedef struct sgfsi_point {
    double *q, *p, *v, *G; /* D each: position, momentum, velocity W p, gradient of log density */
    double lp;             /* log density at q; -infinity: outside the support or not a number */
} sgfsi_point;

typedef struct sgfsi_hamiltonian {
    sgfs_sampler *sampler;
    sgfs_sym W;          /* inverse mass matrix: an estimate of the posterior's covariance */
    sgfs_sym C;          /* its factor, W = C C' */
    sgfs_sym S;          /* sums of squares about the mean of the window at hand */
    double *mean, *work; /* D: the window's mean; workspace of S */
    int64_t count;       /* iterations in the window so far */
    bool adapts;         /* the metric is renewed in warm-up */
    bool fixed;          /* the step size is the one given, from the first iteration on */
    double eps, given;   /* step size; the one given by option, NaN: none */
    sgfsi_dual dual;
    sgfsi_windows windows;
    int64_t lost; /* iterations in a row whose trajectories led nowhere */
    sgfs_err why; /* what was wrong at the last place that had no density */
    bool ready;   /* here and eps are set */
    sgfsi_stream momentum;
    sgfsi_point here, trial; /* the chain's place; where a trajectory is being tried */
} sgfsi_hamiltonian;

/* What the settings of both kinds begin with. */
typedef struct sgfsi_hamiltonian_settings {
    double epsilon, target_accept; /* epsilon: NaN: found and adapted */
    const char *metric;
    int64_t max_depth; /* of nuts */
} sgfsi_hamiltonian_settings;

#define SGFSI_HAMILTONIAN_SETTINGS(type)                                                           \
    {"sampler.metric", offsetof(type, h.metric), "metric", false}, {                               \
        "sampler.target_accept", offsetof(type, h.target_accept), "target acceptance", false       \
    }

/* Hooks of both kinds. Defaults as Stan's: warm-up 1000, draws 1000, and the metric that "auto"
 * stands for. */
sgfs_status sgfsi_hamiltonian_plan(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err);
const char *sgfsi_hamiltonian_caution(const sgfsi_plan *plan, const char *fisher);
int sgfsi_hamiltonian_advise(const sgfsi_plan *plan, const char *advice[2]);
const char *sgfsi_hamiltonian_stan_metric(const sgfsi_plan *plan);
#define SGFSI_HAMILTONIAN_HOOKS                                                                    \
    .exact = true, .full_data = true, .plan = sgfsi_hamiltonian_plan,                              \
    .advise = sgfsi_hamiltonian_advise, .stan_metric = sgfsi_hamiltonian_stan_metric,              \
    .fields = sgfsi_hamiltonian_fields, .caution_at = sgfsi_hamiltonian_caution
sgfs_status sgfsi_hamiltonian_open(sgfsi_hamiltonian *h, sgfs_sampler *sampler, sgfs_err *err);
bool sgfsi_point_open(sgfsi_point *z, int64_t D, sgfsi_arena *arena);       /* false: no memory */
void sgfsi_point_copy(sgfsi_point *to, const sgfsi_point *from, int64_t D); /* all but v */

/* Start iteration now->t at theta: h->here gets density, gradient and a fresh momentum; the first
 * time a step size is found. *energy: of h->here. */
sgfs_status sgfsi_hamiltonian_begin(sgfsi_hamiltonian *h, const sgfs_iteration *now,
                                    const double *theta, double *energy, sgfs_err *err);
/* Metric, step size and what they are learned from; the chain's place. The hook of kinds whose
 * state begins with their sgfsi_hamiltonian. */
void sgfsi_hamiltonian_fields(const sgfs_sampler *s, sgfsi_fields *list);

/* One leapfrog step of size eps (may be negative). Where the density or its gradient is not finite
 * z->lp becomes -infinity, which is no error. */
sgfs_status sgfsi_leapfrog(sgfsi_hamiltonian *h, sgfsi_point *z, double eps, sgfs_err *err);
/* -lp + p'W p/2, infinity where that is not a number; z->v = W p. */
double sgfsi_hamiltonian_energy(const sgfsi_hamiltonian *h, sgfsi_point *z);
/* End iteration now->t, whose acceptance was this, with h->here the draw: warm-up learns. */
sgfs_status sgfsi_hamiltonian_end(sgfsi_hamiltonian *h, const sgfs_iteration *now,
                                  double acceptance, sgfs_err *err);
