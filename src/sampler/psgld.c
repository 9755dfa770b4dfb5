/* SPDX-License-Identifier: MIT
 * psgld.c: preconditioned SGLD (Li, Chen, Carlson, Carin 2016, Algorithm 1): SGLD with the diagonal
 * preconditioner of RMSprop,
 *
 *     V     <- beta V + (1 - beta) gbar o gbar,   V = gbar o gbar at the first iteration
 *     C      = diag( 1 / (lambda + sqrt V) )
 *     theta += (eps_t/2) C G + sqrt(eps_t) C^1/2 z,   z ~ N(0, I)
 *
 *   gbar   mean score of the minibatch   D        V   D
 *
 * C depends on theta, so the exact diffusion has one more drift term, Gamma_i = sum_j
 * dC_ij/dtheta_j. It is left out here, as the paper's own experiments and every toolkit leave it
 * out: an error of order 1 - beta. The rest is SGLD's: the minibatch noise is not corrected for.
 * Near the mode gbar is mostly noise of standard deviation sqrt(Var(g)/n), so C is about
 * sqrt(n/Var(g)) and the automatic step (schedule.c) is eps = 0.4/(gamma N sqrt n).
 */
#include <math.h>

#include "base/rng.h"
#include "sampler/sampler.h"

typedef struct settings {
    sgfsi_schedule schedule; /* first: schedule.c has hooks that look at it */
    double beta, lambda;
} settings;

static const sgfsi_setting setting_list[] = {
    SGFSI_SCHEDULE_SETTINGS(settings),
    {"sampler.rms_beta", offsetof(settings, beta), NULL, false},
    {"sampler.rms_lambda", offsetof(settings, lambda), NULL, false},
    SGFSI_SETTINGS_END};

typedef struct psgld {
    double *G, *z, *V; /* D each */
    bool begun;
} psgld;

static const sgfs_option options[] = {
    SGFSI_EPSILON_ROWS,
    SGFSI_CYCLE_ROWS,
    {"sampler.rms_beta", "rms-beta", SGFS_NUMBER, "0.99", 0, 0.9999999, NULL,
     "part of its average of squared gradients that an iteration keeps"},
    {"sampler.rms_lambda", "rms-lambda", SGFS_NUMBER, "1e-5", 1e-300, 1e300, NULL,
     "added to the root of that average, so that no step is infinite"},
    SGFSI_OPTIONS_END};

static sgfs_status plan_psgld(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    double unit = 1 / (now->N * sqrt((double)now->n));
    return sgfsi_schedule_plan(plan->settings, plan, now, unit, 0.5, err);
}

static sgfs_status open_psgld(sgfs_sampler *sampler, sgfs_err *err) {
    psgld *s = sampler->state = sgfsi_arena_alloc(sampler->arena, 1, sizeof *s);
    if (s == NULL || !SGFSI_ROOM(sampler->arena, sampler->D, &s->G, &s->z, &s->V))
        return sgfsi_fail_memory(err, "the sampler");
    sampler->eval.gradient_only = true;
    return sgfsi_schedule_check(sampler, err);
}

static sgfs_status step(sgfs_sampler *sampler, const sgfs_iteration *now, double *theta,
                        double *stats, sgfs_err *err) {
    psgld *s = sampler->state;
    const settings *set = sampler->settings;
    sgfsi_eval *e = &sampler->eval;
    sgfsi_pace pace;
    sgfs_status status = sgfsi_schedule_gradient(sampler, now, theta, s->G, stats, &pace, err);
    if (status != SGFS_OK) return status;
    double keep = s->begun ? set->beta : 0;
    for (int64_t j = 0; j < e->D; j++)
        s->V[j] = keep * s->V[j] + (1 - keep) * e->gbar[j] * e->gbar[j];
    s->begun = true;
    sgfsi_sampler_normals(sampler, now->t, SGFSI_NOISE, s->z);
    for (int64_t j = 0; j < e->D; j++) {
        double C = 1 / (set->lambda + sqrt(s->V[j]));
        theta[j] += pace.eps / 2 * C * s->G[j];
        if (!pace.explores) theta[j] += sqrt(pace.eps * C) * s->z[j];
    }
    return SGFS_OK;
}

static void fields(const sgfs_sampler *sampler, sgfsi_fields *list) {
    psgld *s = sampler->state;
    SGFSI_FIELD_ARRAY(list, s, V, sampler->D);
    SGFSI_FIELD_ONE(list, s, begun);
}

static const char *const stats[] = {SGFSI_GRADIENT_STATS, [SGFSI_OWN_STATS] = NULL};

const sgfs_sampler_kind sgfs_sampler_psgld = {
    .name = "psgld",
    .help = "SGLD with steps scaled by RMSprop (Li et al. 2016)",
    .options = options,
    .settings = setting_list,
    .settings_size = sizeof(settings),
    .stats = stats,
    .plan = plan_psgld,
    SGFSI_SCHEDULE_HOOKS,
    .open = open_psgld,
    .step = step,
    .fields = fields,
    .caution = "pSGLD is approximate: as in SGLD the gradient noise inflates the variances at a "
               "large --epsilon, and the drift that goes with its changing preconditioner is left "
               "out. Compare with sgfs-f, or with half the step.",
};
