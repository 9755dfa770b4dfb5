/* SPDX-License-Identifier: MIT
 * hmc.c: Hamiltonian Monte Carlo on the full data (Duane et al. 1987; Neal 2011): a fresh momentum,
 * s leapfrog steps, and Metropolis' test of the energy at the end:
 *
 *     accept (q', p') with probability min(1, exp(H(q, p) - H(q', p')))
 *
 * Exact at any step size. A Gaussian turns at a fixed pace, and a trajectory of exactly one turn
 * comes back to where it started, for ever: so each iteration's step is eps (1 + jitter u), u
 * uniform on (-1, 1), the same for all its leapfrogs. With jitter j a trajectory of one turn keeps
 * a correlation of sin(2 pi j)/(2 pi j): 1 without jitter, 0.94 (tau 30) at 0.1, 0.76 (tau 7) at
 * 0.2.
 */
#include <math.h>
#include <string.h>

#include "sampler/hamiltonian.h"

/* Statistics of a draw. */
enum { LP, ACCEPTANCE, STEP_SIZE, STEPS, DIVERGING, ENERGY, STATS };

typedef struct settings {
    sgfsi_hamiltonian_settings h; /* first: hamiltonian.c looks at it */
    int64_t leapfrog;
    double jitter;
} settings;

static const sgfsi_setting setting_list[] = {
    {"sampler.epsilon", offsetof(settings, h.epsilon), "epsilon", true},
    {"sampler.leapfrog", offsetof(settings, leapfrog), "leapfrog", true},
    SGFSI_HAMILTONIAN_SETTINGS(settings),
    {"sampler.jitter", offsetof(settings, jitter), NULL, false},
    SGFSI_SETTINGS_END};

typedef struct hmc {
    sgfsi_hamiltonian h; /* first: hamiltonian.c looks at it */
    int64_t leapfrog;
    double jitter;
} hmc;

static const sgfs_option options[] = {
    {"sampler.leapfrog", "leapfrog", SGFS_INTEGER, "10", 1, 1e9, NULL,
     "leapfrog steps of a trajectory: one pass over the data each"},
    SGFSI_HAMILTONIAN_OPTIONS,
    {"sampler.jitter", "jitter", SGFS_NUMBER, "0.2", 0, 1, NULL,
     "each trajectory's step is uniform within this fraction of the step size"},
    SGFSI_OPTIONS_END};

static sgfs_status open_hmc(sgfs_sampler *sampler, sgfs_err *err) {
    const settings *set = sampler->settings;
    hmc *s = sgfsi_arena_alloc(sampler->arena, 1, sizeof *s);
    if (s == NULL) return sgfsi_fail_memory(err, "the sampler");
    sampler->state = s;
    s->leapfrog = set->leapfrog;
    s->jitter = set->jitter;
    return sgfsi_hamiltonian_open(&s->h, sampler, err);
}

static sgfs_status step(sgfs_sampler *sampler, const sgfs_iteration *now, double *theta,
                        double *stats, sgfs_err *err) {
    hmc *s = sampler->state;
    sgfsi_hamiltonian *h = &s->h;
    double before, uniform[2];
    int64_t steps = 0;
    sgfs_status status = sgfsi_hamiltonian_begin(h, now, theta, &before, err);
    if (status != SGFS_OK) return status;
    sgfsi_stream stream = sgfsi_stream_at(sampler->seed, sampler->chain, now->t, SGFSI_ACCEPT);
    sgfsi_uniforms(&stream, 2, uniform);
    double eps = h->eps * (1 + s->jitter * (2 * uniform[0] - 1));

    sgfsi_point_copy(&h->trial, &h->here, sampler->D);
    while (steps < s->leapfrog && isfinite(h->trial.lp)) { /* fewer where the density ends */
        status = sgfsi_leapfrog(h, &h->trial, eps, err);
        if (status != SGFS_OK) return status;
        steps++;
    }
    double after = sgfsi_hamiltonian_energy(h, &h->trial);
    double acceptance = fmin(1, exp(before - after));
    bool accepted = uniform[1] < acceptance;
    if (accepted) {
        sgfsi_point reached = h->trial;
        h->trial = h->here;
        h->here = reached;
        memcpy(theta, h->here.q, (size_t)sampler->D * sizeof *theta);
    }
    stats[LP] = h->here.lp;
    stats[ACCEPTANCE] = acceptance;
    stats[STEP_SIZE] = eps;
    stats[STEPS] = (double)steps;
    stats[DIVERGING] = after - before > sgfsi_most_error;
    stats[ENERGY] = accepted ? after : before;
    return sgfsi_hamiltonian_end(h, now, acceptance, err);
}

static const char *const stats[] = {SGFSI_TRAJECTORY_STATS, [STATS] = NULL};

static const char *const tuned[] = {"sampler.epsilon", NULL};

const sgfs_sampler_kind sgfs_sampler_hmc = {
    .name = "hmc",
    .help = "Hamiltonian Monte Carlo on the full data: exact, trajectories of fixed length",
    .options = options,
    .settings = setting_list,
    .settings_size = sizeof(settings),
    .stats = stats,
    .tuned = tuned,
    SGFSI_HAMILTONIAN_HOOKS,
    .open = open_hmc,
    .step = step,
};
