/* SPDX-License-Identifier: MIT
 * sgld.c: stochastic gradient Langevin dynamics (Welling and Teh 2011; eq. 1 of the paper) with a
 * constant preconditioner C = R R' (the identity unless asked for), and the same without noise,
 * stochastic gradient ascent:
 *
 *     theta += (eps_t/2) C G + sqrt(eps_t) R z,   z ~ N(0, I)       (SGD: no z)
 *
 * There is no correction for the minibatch noise: right in the limit of small eps only. On a
 * quadratic posterior with precision A and gradient noise S the stationary covariance X solves
 *     X = (I - eps/2 C A) X (I - eps/2 C A)' + eps C + eps^2/4 C S C,
 * with C = A^-1 and h = eps/2:  X = (1 + h (gamma-1)/2)/(1 - h/2) A^-1. SGD is an optimiser, its
 * iterates are not draws.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "context/device/walk.h"
#include "sampler/precondition.h"

typedef struct settings {
    sgfsi_schedule schedule; /* first: schedule.c has hooks that look at it */
    sgfsi_precondition_settings precondition;
} settings;

static const sgfsi_setting setting_list[] = {
    SGFSI_SCHEDULE_SETTINGS(settings), SGFSI_PRECONDITION_SETTINGS(settings), SGFSI_SETTINGS_END};

typedef struct sgld {
    sgfsi_precondition C;
    double *G, *z; /* D each */
} sgld;

static const sgfs_option options[] = {SGFSI_EPSILON_ROWS, SGFSI_CYCLE_ROWS, SGFSI_PRECONDITION_ROWS,
                                      SGFSI_OPTIONS_END};

/* A preconditioner is taken to be of the size of the posterior's covariance: eps of order 1. */
static sgfs_status plan_sgld(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    settings *set = plan->settings;
    sgfs_status status = sgfsi_precondition_plan(&set->precondition, plan->cfg, err);
    if (status != SGFS_OK) return status;
    bool shaped = strcmp(set->precondition.kind, "none") != 0;
    return sgfsi_schedule_plan(&set->schedule, plan, now, shaped ? 1 : 1 / now->N, shaped ? 0 : 1,
                               err);
}

static sgfs_status open_sgld(sgfs_sampler *sampler, sgfs_err *err) {
    const settings *set = sampler->settings;
    const sgld *first = sampler->first != NULL ? sampler->first->state : NULL;
    sgld *s = sampler->state = sgfsi_arena_alloc(sampler->arena, 1, sizeof *s);
    if (s == NULL || !SGFSI_ROOM(sampler->arena, sampler->D, &s->G, &s->z))
        return sgfsi_fail_memory(err, "the sampler");
    sampler->eval.gradient_only = true;
    sgfs_status status = sgfsi_schedule_check(sampler, err);
    if (status != SGFS_OK) return status;
    status = sgfsi_precondition_open(&s->C, sampler, &set->precondition,
                                     first != NULL ? &first->C : NULL, err);
    sampler->eval.rows_touched += s->C.passes * sampler->model->data->N;
    return status;
}

/* The half that SGD has too. */
static sgfs_status ascend(sgfs_sampler *sampler, const sgfs_iteration *now, double *theta,
                          double *stats, sgfsi_pace *pace, sgfs_err *err) {
    sgld *s = sampler->state;
    sgfsi_eval *e = &sampler->eval;
    sgfs_status status = sgfsi_schedule_gradient(sampler, now, theta, s->G, stats, pace, err);
    if (status != SGFS_OK) return status;
    sgfsi_precondition_apply(&s->C, true, s->G);
    sgfsi_precondition_apply(&s->C, false, s->G);
    sgfsi_axpy(e->model->ctx.device, e->D, pace->eps / 2, s->G, theta);
    return SGFS_OK;
}

static sgfs_status step(sgfs_sampler *sampler, const sgfs_iteration *now, double *theta,
                        double *stats, sgfs_err *err) {
    sgld *s = sampler->state;
    sgfsi_pace pace;
    sgfs_status status = ascend(sampler, now, theta, stats, &pace, err);
    if (status != SGFS_OK || pace.explores) return status;
    sgfsi_sampler_normals(sampler, now->t, SGFSI_NOISE, s->z);
    sgfsi_precondition_apply(&s->C, false, s->z);
    sgfsi_axpy(sampler->eval.model->ctx.device, sampler->eval.D, sqrt(pace.eps), s->z, theta);
    return SGFS_OK;
}

static sgfs_status step_sgd(sgfs_sampler *sampler, const sgfs_iteration *now, double *theta,
                            double *stats, sgfs_err *err) {
    sgfsi_pace pace;
    return ascend(sampler, now, theta, stats, &pace, err);
}

/* The same as data, without a preconditioner. */
static bool climb_ahead(sgfs_sampler *sampler, const sgfs_iteration *now, sgfsi_walk_step *step,
                        double *stats) {
    const sgld *s = sampler->state;
    sgfsi_pace pace = sgfsi_schedule_at(sampler->settings, now);
    if (s->C.shape != SGFSI_IDENTITY) return false;
    step->size = pace.eps / 2;
    stats[SGFSI_STEP_SIZE] = pace.eps;
    sampler->exploring = pace.explores;
    return true;
}

static bool ahead(sgfs_sampler *sampler, const sgfs_iteration *now, sgfsi_walk_step *step,
                  double *stats) {
    if (!climb_ahead(sampler, now, step, stats)) return false;
    step->noise = sampler->exploring ? 0 : sqrt(2 * step->size);
    return true;
}

static const char *const stats[] = {SGFSI_GRADIENT_STATS, [SGFSI_OWN_STATS] = NULL};

const sgfs_sampler_kind sgfs_sampler_sgld = {
    .name = "sgld",
    .help = "stochastic gradient Langevin dynamics, constant or decaying step",
    .options = options,
    .settings = setting_list,
    .settings_size = sizeof(settings),
    .stats = stats,
    .plan = plan_sgld,
    SGFSI_SCHEDULE_HOOKS,
    .open = open_sgld,
    .step = step,
    .ahead = ahead,
    .state_size = sizeof(sgld),
    .fields = sgfsi_no_fields,
    .caution = "SGLD is approximate: at a large --epsilon the gradient noise inflates the "
               "variances, at a small one the chain hardly moves, and R-hat and ESS see neither. "
               "Compare with sgfs-f, or with half the step.",
};

const sgfs_sampler_kind sgfs_sampler_sgd = {
    .name = "sgd",
    .help = "stochastic gradient ascent: an optimiser, for comparison",
    .options = options,
    .settings = setting_list,
    .settings_size = sizeof(settings),
    .optimiser = true,
    .stats = stats,
    .plan = plan_sgld,
    SGFSI_SCHEDULE_HOOKS,
    .open = open_sgld,
    .step = step_sgd,
    .ahead = climb_ahead,
    .state_size = sizeof(sgld),
    .fields = sgfsi_no_fields,
    .caution = "SGD is an optimiser: its iterates are not draws from the posterior, and their "
               "spread is not an uncertainty.",
};
