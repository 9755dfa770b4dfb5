/* SPDX-License-Identifier: MIT
 * sghmc.c: stochastic gradient Hamiltonian Monte Carlo (Chen, Fox, Guestrin 2014, eq. 15),
 *
 *     v     <- (1 - a) v + eta G + N(0, 2 (a - bhat) eta),   eta = eps/2
 *     theta <- theta + v
 *
 *   a      friction (their alpha, "momentum decay"); eta their learning rate
 *   bhat   the part of the friction's noise that the minibatch brings already: 0, or with
 *          --noise-estimate scores  bhat_j = eta/2 (gamma - 1) N Var(g_j)
 *   v      D, on the scale of a step
 *
 * epsilon means what it means in SGLD: with a = 1 the two are the same chain. On a quadratic
 * posterior the variance in a direction of precision l with gradient noise S is
 *     (1/l) (1 + (eta S/2 - bhat)/a) / (1 - eta l/(2 (2 - a))),
 * and the chain forgets at the rate eta l/a per iteration: smaller steps and less friction trade
 * against each other as in SGLD, and momentum helps only where the gradient noise is small. So the
 * automatic step is a times that of SGLD for rows of unit information: eps = 0.4 a/(gamma N).
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sampler/sampler.h"

/* Statistics of a draw beside those of every stochastic gradient. */
enum { TEMPERATURE = SGFSI_OWN_STATS, STATS };

enum { WINDOW = 50 }; /* batches that the noise estimate remembers in warm-up */

typedef struct settings {
    sgfsi_momentum_settings m; /* first: schedule.c has hooks that look at it */
    const char *noise_estimate;
} settings;

static const sgfsi_setting setting_list[] = {
    SGFSI_MOMENTUM_SETTINGS,
    {"sampler.noise_estimate", offsetof(settings, noise_estimate), "noise estimate", false},
    SGFSI_SETTINGS_END};

typedef struct sghmc {
    double eta;        /* of the last iteration */
    double *G, *z, *v; /* D each */
    bool estimates;
    sgfs_sym noise; /* running average of Var(g_j); open when estimating */
    double *work;
    double weight; /* batches in it */
} sghmc;

static const sgfs_option options[] = {
    SGFSI_EPSILON_ROWS,
    SGFSI_CYCLE_ROWS,
    SGFSI_FRICTION_ROW,
    {"sampler.noise_estimate", "noise-estimate", SGFS_CHOICE, "none", 1, 0, "none|scores",
     "inject less noise by what the minibatch brings, estimated from its scores"},
    SGFSI_OPTIONS_END};

static sgfs_status open_sghmc(sgfs_sampler *sampler, sgfs_err *err) {
    const settings *set = sampler->settings;
    sghmc *s = sampler->state = sgfsi_arena_alloc(sampler->arena, 1, sizeof *s);
    if (s == NULL || !SGFSI_ROOM(sampler->arena, sampler->D, &s->G, &s->z, &s->v))
        return sgfsi_fail_memory(err, "the sampler");
    s->estimates = strcmp(set->noise_estimate, "none") != 0;
    sampler->eval.gradient_only = !s->estimates;
    sgfs_status status = sgfsi_schedule_check(sampler, err);
    if (status != SGFS_OK || !s->estimates) return status;
    const sgfs_fisher_kind *diag = &sgfs_fisher_diag;
    s->work = SGFSI_DOUBLES(sampler->arena, diag->work(sampler->layout, sampler->eval.n));
    if (s->work == NULL) return sgfsi_fail_memory(err, "the noise estimate");
    return sgfsi_sym_open(&s->noise, diag, sampler->model->ctx.device, sampler->layout,
                          sampler->arena, err);
}

/* z_j becomes N(0, 2 (a - bhat_j) eta). In warm-up nothing is subtracted yet. */
static sgfs_status scale_noise(const sgfs_sampler *sampler, sghmc *s, double eta, bool warmup,
                               sgfs_err *err) {
    const sgfsi_eval *e = &sampler->eval;
    const settings *set = sampler->settings;
    double batch = eta / 2 * (e->gamma - 1) * e->total;
    bool less = s->estimates && !warmup;
    if (less) s->noise.kind->diag(&s->noise, s->work);
    for (int64_t j = 0; j < e->D; j++) {
        double left = set->m.friction;
        if (less) left -= batch * s->work[j];
        if (left < 0) {
            return sgfsi_fail(err, SGFS_ENUMERIC,
                              "the minibatch noise of parameter \"%s\" is more than the friction "
                              "can take away (a larger --friction would help)",
                              e->model->param[j]);
        }
        s->z[j] *= sqrt(2 * left * eta);
    }
    return SGFS_OK;
}

static sgfs_status step(sgfs_sampler *sampler, const sgfs_iteration *now, double *theta,
                        double *stats, sgfs_err *err) {
    sghmc *s = sampler->state;
    const double friction = ((const settings *)sampler->settings)->m.friction;
    sgfsi_eval *e = &sampler->eval;
    const sgfs_device *dev = e->model->ctx.device;
    bool warmup = now->t <= now->warmup;
    sgfsi_pace pace;
    sgfs_status status = sgfsi_schedule_gradient(sampler, now, theta, s->G, stats, &pace, err);
    if (status != SGFS_OK) return status;
    double eta = pace.eps / 2;
    sgfsi_momentum_rescale(e->D, s->v, &s->eta, eta);
    if (s->estimates) { /* a short memory in warm-up, an average of everything afterwards */
        if (!warmup || s->weight < WINDOW) s->weight++;
        double kappa = 1 / s->weight;
        s->noise.kind->add_cov(&s->noise, 1 - kappa, kappa / (double)(e->n - 1), &e->scores,
                               e->gbar, s->work);
    }
    sgfsi_sampler_normals(sampler, now->t, SGFSI_NOISE, s->z);
    if (!pace.explores) status = scale_noise(sampler, s, eta, warmup, err);
    if (status != SGFS_OK) return status;
    for (int64_t j = 0; j < e->D; j++) {
        s->v[j] = (1 - friction) * s->v[j] + eta * s->G[j] + (pace.explores ? 0 : s->z[j]);
        theta[j] += s->v[j];
    }
    stats[TEMPERATURE] =
        (1 - friction / 2) * sgfsi_dot(dev, e->D, s->v, s->v) / ((double)e->D * eta);
    return SGFS_OK;
}

static const char *caution(const sgfsi_plan *plan, const char *fisher) {
    const settings *set = plan->settings;
    (void)fisher;
    if (strcmp(set->noise_estimate, "none") != 0) {
        return "SGHMC is approximate: the gradient noise is taken away for each parameter alone; "
               "where columns are correlated some directions come out too narrow and others too "
               "wide, and R-hat and ESS do not see it. Compare with sgfs-f, or with half the step.";
    }
    return "SGHMC is approximate: without a --noise-estimate the gradient noise inflates the "
           "variances by about epsilon (N^2/n) Var(g)/(4 friction), and R-hat and ESS do not see "
           "it. Compare with sgfs-f, or with half the step.";
}

static void fields(const sgfs_sampler *sampler, sgfsi_fields *list) {
    sghmc *s = sampler->state;
    SGFSI_FIELD_ARRAY(list, s, v, sampler->D);
    SGFSI_FIELD_ONE(list, s, eta);
    if (!s->estimates) return;
    sgfsi_sym_fields(&s->noise, list, "noise");
    SGFSI_FIELD_ONE(list, s, weight);
}

static const char *const stats[] = {
    SGFSI_GRADIENT_STATS, [TEMPERATURE] = "temperature", [STATS] = NULL};

const sgfs_sampler_kind sgfs_sampler_sghmc = {
    .name = "sghmc",
    .help = "stochastic gradient Hamiltonian Monte Carlo (Chen et al. 2014)",
    .options = options,
    .settings = setting_list,
    .settings_size = sizeof(settings),
    .stats = stats,
    .plan = sgfsi_momentum_plan,
    SGFSI_SCHEDULE_HOOKS,
    .open = open_sghmc,
    .step = step,
    .fields = fields,
    .caution_at = caution,
};
