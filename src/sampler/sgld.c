/* SPDX-License-Identifier: MIT
 * sgld.c: stochastic gradient Langevin dynamics (Welling and Teh 2011; eq. 1 of the paper, C = I),
 * and the same without noise, stochastic gradient ascent:
 *
 *     theta += (eps_t/2) G + sqrt(eps_t) z,   z ~ N(0, I)       (SGD: no z)
 *
 * SGLD has no correction for the minibatch noise: right in the limit of small eps only. SGD is an
 * optimiser, its iterates are not draws.
 */
#include <math.h>

#include "base/rng.h"
#include "sampler/sampler.h"

typedef struct sgld {
    sgfsi_schedule schedule;
    double *G, *z; /* D each */
} sgld;

static sgfs_status open_sgld(sgfs_sampler *sampler, sgfs_err *err) {
    int64_t D = sampler->eval.D;
    sgld *s = sgfsi_arena_alloc(sampler->arena, 1, sizeof *s);
    double *room = SGFSI_DOUBLES(sampler->arena, 2 * D);
    if (s == NULL || room == NULL) return sgfsi_fail_memory(err, "the sampler");
    *s = (sgld){.schedule = sgfsi_schedule_open(sampler->cfg), .G = room, .z = room + D};
    sampler->state = s;
    return SGFS_OK;
}

/* The half that SGD has too. */
static sgfs_status ascend(sgfs_sampler *sampler, const sgfs_step *now, double *theta, double *stats,
                          sgfs_err *err) {
    sgld *s = sampler->state;
    sgfsi_eval *e = &sampler->eval;
    double eps = sgfsi_schedule_at(&s->schedule, now->t);
    sgfs_status status = sgfsi_eval_gradient(e, now->t, SGFSI_ROWS, theta, s->G,
                                             now->want_lp ? &stats[0] : NULL, err);
    if (status != SGFS_OK) return status;
    stats[1] = eps;
    stats[2] = sqrt(e->model->be->dot(e->D, s->G, s->G));
    e->model->be->axpy(e->D, eps / 2, s->G, theta);
    return SGFS_OK;
}

static sgfs_status step(sgfs_sampler *sampler, const sgfs_step *now, double *theta, double *stats,
                        sgfs_err *err) {
    sgld *s = sampler->state;
    sgfs_status status = ascend(sampler, now, theta, stats, err);
    if (status != SGFS_OK) return status;
    sgfsi_stream stream = sgfsi_stream_at(sampler->seed, sampler->chain, now->t, SGFSI_NOISE);
    sgfsi_normals(&stream, sampler->eval.D, s->z);
    sampler->eval.model->be->axpy(sampler->eval.D, sqrt(stats[1]), s->z, theta);
    return SGFS_OK;
}

static const char *caution_sgld(const sgfs_config *cfg, const char *fisher) {
    (void)cfg;
    (void)fisher;
    return "SGLD is approximate: at a large --epsilon the gradient noise inflates the variances, "
           "at a small one "
           "the chain hardly moves, and R-hat and ESS see neither. Compare with sgfs-f, or with "
           "half the step.";
}

static const char *caution_sgd(const sgfs_config *cfg, const char *fisher) {
    (void)cfg;
    (void)fisher;
    return "SGD is an optimiser: its iterates are not draws from the posterior, and their spread "
           "is not an "
           "uncertainty.";
}

static const char *const stats[] = {"lp", "step_size", "grad_norm", NULL};

const sgfs_sampler_kind sgfs_sampler_sgld = {
    .name = "sgld",
    .help = "stochastic gradient Langevin dynamics, constant or decaying step",
    .options = sgfsi_schedule_options,
    .stats = stats,
    .resolve = sgfsi_schedule_resolve,
    .open = open_sgld,
    .step = step,
    .caution = caution_sgld,
};

const sgfs_sampler_kind sgfs_sampler_sgd = {
    .name = "sgd",
    .help = "stochastic gradient ascent: an optimiser, for comparison",
    .options = sgfsi_schedule_options,
    .stats = stats,
    .resolve = sgfsi_schedule_resolve,
    .open = open_sgld,
    .step = ascend,
    .caution = caution_sgd,
};
