/* SPDX-License-Identifier: MIT
 * exact_linear.c: independent draws from the posterior of a linear regression with a Gaussian
 * prior. There is no chain: an iteration is
 *
 *     log sigma  from its own law, the coefficients integrated out      posterior/sigma_law.h
 *     beta       from its Gaussian given sigma                          posterior/least_squares.h
 *
 * and neither depends on the iteration before, so that tau is 1 and there is nothing to warm up.
 * The law of log sigma is known up to a number, in one dimension, and is drawn from by rejection,
 * without an approximation. All rows are read while the first chain opens, and the others share
 * what was found; a draw costs q^2 + q (or, with more columns than rows, 2 N p). Where --sigma
 * gives the noise the first step falls away.
 *
 * With a = sigma0^2/sigma^2, coordinate k given sigma is Gaussian, with precision a d_k + nu_k and
 * mean (a gamma_k - kappa_k)/(a d_k + nu_k).
 */

#include <math.h>

#include "base/rng.h"
#include "posterior/least_squares.h"
#include "sampler/sampler.h"

typedef struct exact_linear {
    const sgfsi_least_squares *fit; /* the first chain's */
    sgfsi_least_squares own;
    double *c, *z, *work; /* q, D, 2 q */
} exact_linear;

static sgfs_status plan_exact_linear(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    sgfs_status status = sgfsi_plan_refuse(plan, now, sgfsi_least_squares_refuses(now->model), err);
    if (status != SGFS_OK) return status;
    sgfsi_plan_lengths(plan, 0, 1000, NAN);
    return sgfsi_plan_refuse_start(plan, true, "every draw is independent", err);
}

/* What was found, for the run file. */
static void report(const sgfs_sampler *s, const sgfsi_least_squares *fit) {
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_int(o, "coordinates", fit->q);
    sgfsi_json_num(o, "log_sigma0", fit->log_sigma0);
    sgfsi_json_int(o, "pieces", fit->law.pieces);
    sgfsi_json_int(o, "unseen_rows", fit->unseen);
    sgfsi_json_put(s->report, "exact_linear", o);
}

static sgfs_status open_exact_linear(sgfs_sampler *s, sgfs_err *err) {
    exact_linear *e = sgfsi_arena_alloc(s->arena, 1, sizeof *e);
    sgfs_status status = SGFS_OK;
    if (e == NULL) return sgfsi_fail_memory(err, "the sampler");
    s->state = e;
    if (s->first != NULL) {
        e->fit = ((const exact_linear *)s->first->state)->fit;
    } else {
        status = sgfsi_least_squares_open(&e->own, s->model, s->plan->cores, s->arena, err);
        if (status == SGFS_OK && !e->own.known)
            status = sgfsi_sigma_law_open(&e->own.law, s->arena, err);
        if (status != SGFS_OK) return status;
        s->full.rows_touched += e->own.rows;
        e->fit = &e->own;
        report(s, e->fit);
        sgfsi_sampler_tell_prior(s, e->fit->prior);
    }
    bool room = SGFSI_ROOM(s->arena, e->fit->q, &e->c) && SGFSI_ROOM(s->arena, s->D, &e->z) &&
                SGFSI_ROOM(s->arena, 2 * e->fit->q, &e->work);
    return room ? SGFS_OK : sgfsi_fail_memory(err, "the sampler");
}

static sgfs_status step(sgfs_sampler *s, const sgfs_iteration *now, double *theta, double *stats,
                        sgfs_err *err) {
    const exact_linear *e = s->state;
    const sgfsi_least_squares *fit = e->fit;
    sgfsi_stream noise = sgfsi_stream_at(s->seed, s->chain, now->t, SGFSI_NOISE);
    sgfsi_stream accept = sgfsi_stream_at(s->seed, s->chain, now->t, SGFSI_ACCEPT);
    double v = fit->known ? 0 : sgfsi_sigma_law_draw(&fit->law, &accept, NULL), a = exp(v);
    sgfsi_normals(&noise, fit->q, e->c);
    for (int64_t k = 0; k < fit->q; k++) {
        double precision = a * fit->d[k] + fit->nu[k];
        e->c[k] = (a * fit->gamma[k] - fit->kappa[k]) / precision + e->c[k] / sqrt(precision);
    }
    if (fit->q < fit->p) sgfsi_sampler_normals(s, now->t, SGFSI_PRIOR, e->z);
    sgfsi_least_squares_place(fit, e->c, e->z, e->work, theta);
    if (!fit->known) theta[fit->p] = fit->log_sigma0 - v / 2;
    return sgfsi_least_squares_lp(fit, e->c, theta, &stats[0], err);
}

static const char *const stats[] = {SGFSI_STAT_LP, NULL};
static const sgfs_option options[] = {SGFSI_OPTIONS_END};

const sgfs_sampler_kind sgfs_sampler_exact_linear = {
    .name = "exact-linear",
    .help = "independent exact draws: linear regression with a Gaussian prior",
    .options = options,
    .exact = true,
    .anchored = true,
    .full_data = true,
    .from_curvature = true,
    .independent = true,
    .stats = stats,
    .plan = plan_exact_linear,
    .open = open_exact_linear,
    .step = step,
    .fields = sgfsi_no_fields,
};
