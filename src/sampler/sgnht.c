/* SPDX-License-Identifier: MIT
 * sgnht.c: the stochastic gradient Nose-Hoover thermostat (Ding et al. 2014, Algorithm 2, in the
 * variables of a step): SGHMC whose friction x is not given but regulated,
 *
 *     v     <- (1 - x) v + eta G + N(0, 2 a eta),   eta = eps/2
 *     theta <- theta + v
 *     x     <- x + (v'v/D - eta)/mu
 *
 *   a    noise injected, in units of friction (--friction); x begins there
 *   mu   mass of the thermostat; Ding et al. have mu = 1
 *
 * x rises until the mean kinetic energy v'v/D is eta, what it is at temperature 1, and so takes
 * away minibatch noise of unknown size, on average over the parameters: exact for small steps
 * where that noise is the same in every direction, S = s I. Otherwise the temperature in direction
 * j is (a + eta S_j/2)/x and only its mean is right.
 *
 * The mass. x fluctuates about its mean with variance eta/(mu D) and follows with a delay of about
 * x mu/eta iterations. On the scale of a posterior of N rows eta is of order 1/N, and mu = 1 would
 * take N iterations to react; the automatic mu = 5 eps/a^2 reacts in 10/a iterations and keeps the
 * fluctuation of x at 0.3 a/sqrt(D). While warm-up takes larger steps (schedule.c), and while a
 * cyclical schedule explores, x stands still.
 */
#include <math.h>

#include "base/rng.h"
#include "sampler/sampler.h"

/* Statistics of a draw beside those of every stochastic gradient. */
enum { TEMPERATURE = SGFSI_OWN_STATS, THERMOSTAT, STATS };

typedef struct settings {
    sgfsi_momentum_settings m; /* first: schedule.c has hooks that look at it */
    double mass;               /* mu, NaN: 5 eps/a^2 */
} settings;

static const sgfsi_setting setting_list[] = {
    SGFSI_MOMENTUM_SETTINGS,
    {"sampler.thermostat_mass", offsetof(settings, mass), NULL, false},
    SGFSI_SETTINGS_END};

typedef struct sgnht {
    double friction;   /* x */
    double eta;        /* of the last iteration */
    double *G, *z, *v; /* D each */
} sgnht;

static const sgfs_option options[] = {SGFSI_EPSILON_ROWS,
                                      SGFSI_CYCLE_ROWS,
                                      SGFSI_FRICTION_ROW,
                                      {"sampler.thermostat_mass", "thermostat-mass", SGFS_NUMBER,
                                       "auto", 1e-300, 1e300, NULL,
                                       "inertia of SGNHT's friction (auto: 5 epsilon/friction^2)"},
                                      SGFSI_OPTIONS_END};

static sgfs_status open_sgnht(sgfs_sampler *sampler, sgfs_err *err) {
    sgnht *s = sampler->state = sgfsi_arena_alloc(sampler->arena, 1, sizeof *s);
    if (s == NULL || !SGFSI_ROOM(sampler->arena, sampler->D, &s->G, &s->z, &s->v))
        return sgfsi_fail_memory(err, "the sampler");
    s->friction = ((const settings *)sampler->settings)->m.friction;
    sampler->eval.gradient_only = true;
    return sgfsi_schedule_check(sampler, err);
}

static sgfs_status step(sgfs_sampler *sampler, const sgfs_iteration *now, double *theta,
                        double *stats, sgfs_err *err) {
    sgnht *s = sampler->state;
    const settings *set = sampler->settings;
    const double noise = set->m.friction; /* a */
    sgfsi_eval *e = &sampler->eval;
    const sgfs_device *dev = e->model->ctx.device;
    bool large = set->m.schedule.warmup_factor > 1 && 2 * now->t <= now->warmup;
    sgfsi_pace pace;
    sgfs_status status = sgfsi_schedule_gradient(sampler, now, theta, s->G, stats, &pace, err);
    if (status != SGFS_OK) return status;
    double eta = pace.eps / 2, root = pace.explores ? 0 : sqrt(2 * noise * eta);
    sgfsi_momentum_rescale(e->D, s->v, &s->eta, eta);
    sgfsi_sampler_normals(sampler, now->t, SGFSI_NOISE, s->z);
    for (int64_t j = 0; j < e->D; j++) {
        s->v[j] = (1 - s->friction) * s->v[j] + eta * s->G[j] + root * s->z[j];
        theta[j] += s->v[j];
    }
    stats[TEMPERATURE] =
        (1 - s->friction / 2) * sgfsi_dot(dev, e->D, s->v, s->v) / ((double)e->D * eta);
    stats[THERMOSTAT] = s->friction;
    if (large || pace.explores) return SGFS_OK;
    double mass = isnan(set->mass) ? 10 * eta / (noise * noise) : set->mass;
    s->friction += (stats[TEMPERATURE] - 1) * eta / mass;
    if (fabs(s->friction) < 2) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ENUMERIC, "the thermostat has run away");
}

static void fields(const sgfs_sampler *sampler, sgfsi_fields *list) {
    sgnht *s = sampler->state;
    SGFSI_FIELD_ARRAY(list, s, v, sampler->D);
    SGFSI_FIELD_ONE(list, s, eta);
    SGFSI_FIELD_ONE(list, s, friction);
}

static const char *const stats[] = {SGFSI_GRADIENT_STATS, [TEMPERATURE] = "temperature",
                                    [THERMOSTAT] = "thermostat", [STATS] = NULL};

const sgfs_sampler_kind sgfs_sampler_sgnht = {
    .name = "sgnht",
    .help = "stochastic gradient Nose-Hoover thermostat (Ding et al. 2014)",
    .options = options,
    .settings = setting_list,
    .settings_size = sizeof(settings),
    .stats = stats,
    .plan = sgfsi_momentum_plan,
    SGFSI_SCHEDULE_HOOKS,
    .open = open_sgnht,
    .step = step,
    .fields = fields,
    .caution =
        "SGNHT is approximate: its thermostat takes the gradient noise away on average, so that "
        "directions with more noise than others come out too wide and the rest too narrow, and "
        "steps of finite size widen all. Compare with sgfs-f, or with half the step.",
};
