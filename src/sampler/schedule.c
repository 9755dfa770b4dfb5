/* SPDX-License-Identifier: MIT
 * schedule.c: step sizes of the samplers that follow a stochastic gradient.
 *
 *     constant    eps
 *     decaying    eps_t = a (b + t)^-delta                                (Welling and Teh 2011)
 *     cyclical    eps_t = eps/2 (cos(pi r/l) + 1),  r = (k-1) mod l, l = ceil(T/M)
 *                                                                         (Zhang et al. 2020, eq.
 * 1) for k = 1 .. T iterations after warm-up in M cycles; the cosine may also be laid over a
 * decaying step. While r/l < b the chain explores: no noise is injected, and nothing is kept.
 *
 * The automatic step, in the stiffest direction (posterior/pilot.c finds it). A chain with gradient
 * noise S = (gamma - 1) N Cov(g) that takes the fraction h of a Newton step has the variance (1 +
 * h (gamma-1)/2)/(1 - h/2) where 1 is right, so about h gamma/2 too much, and forgets at the rate
 * h. With h = 0.2/gamma the variance is a tenth too large (the standard deviation a twentieth),
 * and independent draws are 10 gamma iterations apart. That is slow (SGFS, which counts the
 * gradient noise as noise, needs gamma), and it is what an uncorrected sampler costs. Warm-up
 * begins with steps gamma/4 times as large (h = 0.05), which fall to eps in its first half:
 * otherwise a start far away would take most of the run.
 */
#include <math.h>
#include <string.h>

#include "posterior/mode.h"
#include "sampler/sampler.h"

static const double excess = 0.1;       /* of the variance, by the automatic step */
static const double warmup_step = 0.05; /* h at the beginning of warm-up */
static const double most_slow = 30;     /* times longer than the stiffest direction needs */

/* ---- choosing -------------------------------------------------------------------------------- */

/* Lengths: ten times e in warm-up, a hundred independent draws of each chain, a thousand of them
 * kept: in the softest direction, as far as that is reasonable. */
sgfs_status sgfsi_schedule_plan(sgfsi_schedule *s, sgfsi_plan *plan, const sgfs_problem *now,
                                double unit, double power, sgfs_err *err) {
    bool decays = !isnan(s->a), given = decays || !isnan(s->constant);
    if (decays && !isnan(s->constant)) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--epsilon is a constant step and --step-a a decaying one: give "
                          "one of them.");
    }
    if (!decays && (sgfsi_config_given(plan->cfg, "sampler.step_b") ||
                    sgfsi_config_given(plan->cfg, "sampler.step_delta")))
        return sgfsi_fail(err, SGFS_EUSAGE, "--step-b and --step-delta need --step-a.");
    if (sgfsi_config_given(plan->cfg, "sampler.cycle_explore") && s->cycles == 0)
        return sgfsi_fail(err, SGFS_EUSAGE, "--cycle-explore needs --cycles.");
    if (given) {
        if (isnan(s->warmup_factor)) s->warmup_factor = 1;
        return SGFS_OK;
    }
    sgfsi_pilot pilot = {.stiff = 1, .soft = 1};
    sgfs_status status = power > 0 ? sgfsi_pilot_of(now->model, &pilot, err) : SGFS_OK;
    if (status != SGFS_OK) return status;
    double h = 2 * excess / now->gamma, slow = fmin(pilot.stiff / pilot.soft, most_slow);
    double draws = fmax(10000, ceil(100 * 2 / h * slow));
    sgfsi_plan_lengths(plan, fmax(1000, ceil(fmin(10 / h * slow, draws / 2))), draws,
                       ceil(draws / 1000));
    if (isnan(s->warmup_factor)) s->warmup_factor = fmax(1, warmup_step / h);
    s->constant = 2 * h * unit / pow(pilot.stiff, power);
    return SGFS_OK;
}

sgfs_status sgfsi_momentum_plan(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    sgfsi_momentum_settings *set = plan->settings;
    return sgfsi_schedule_plan(&set->schedule, plan, now, set->friction / now->N, 1, err);
}

const char *const sgfsi_schedule_tuned[] = {"sampler.epsilon", "sampler.step_a", NULL};

const char *sgfsi_schedule_fixed_length(const sgfsi_plan *plan) {
    return ((const sgfsi_schedule *)plan->settings)->cycles > 0 ? "--cycles" : NULL;
}

int sgfsi_schedule_advise(const sgfsi_plan *plan, const char *advice[2]) {
    const sgfsi_schedule *s = plan->settings;
    advice[0] = isnan(s->a) ? "a smaller --epsilon" : "a smaller --step-a";
    return 1;
}

void sgfsi_schedule_describe(const sgfs_sampler *s, char *out, size_t room) {
    const sgfsi_schedule *set = s->settings;
    if (set->cycles > 0) sgfsi_append(out, room, " in %lld cycles", (long long)set->cycles);
}

/* ---- stepping -------------------------------------------------------------------------------- */

/* (cos(pi r/l) + 1)/2 = sin^2(pi/2 (l-r)/l), which rounding cannot make 0. */
sgfsi_cycle sgfsi_cycle_at(int64_t cycles, double explore, int64_t t_after, int64_t draws) {
    if (cycles < 1 || t_after < 1) return (sgfsi_cycle){1, false};
    int64_t length = draws / cycles + (draws % cycles != 0);
    int64_t r = length > 0 ? (t_after - 1) % length : 0;
    double root = sin(M_PI / 2 * (double)(length - r) / (double)length);
    return (sgfsi_cycle){root * root, (double)r < explore * (double)length};
}

sgfs_status sgfsi_cycle_check(int64_t cycles, double explore, const sgfsi_plan *plan,
                              sgfs_err *err) {
    int64_t draws = plan->draws, thin = plan->thin;
    if (cycles < 1) return SGFS_OK;
    /* kept iterations repeat their places after lcm(thin, length); a million looks are enough to
     * believe */
    int64_t looks = 0, t = thin;
    for (; t <= draws && looks < 1000000; t += thin, looks++) {
        if (!sgfsi_cycle_at(cycles, explore, t, draws).explores) return SGFS_OK;
    }
    if (t <= draws) return SGFS_OK; /* the last part of a long cycle does not explore */
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "--cycles %lld over --draws %lld would explore at every iteration that --thin "
        "%lld keeps: no draw is left. Use fewer cycles, more draws, or a smaller "
        "--cycle-explore.",
        (long long)cycles, (long long)draws, (long long)thin);
}

sgfs_status sgfsi_schedule_check(const sgfs_sampler *sampler, sgfs_err *err) {
    const sgfsi_schedule *s = sampler->settings;
    return sgfsi_cycle_check(s->cycles, s->explore, sampler->plan, err);
}

sgfsi_pace sgfsi_schedule_at(const sgfsi_schedule *s, const sgfs_iteration *now) {
    sgfsi_cycle c = sgfsi_cycle_at(s->cycles, s->explore, now->t - now->warmup, now->draws);
    double eps = isnan(s->a) ? s->constant : s->a * pow(s->b + (double)now->t, -s->delta);
    if (s->warmup_factor > 1 && now->t <= now->warmup) { /* larger steps in its first half */
        double left = 1 - 2 * (double)(now->t - 1) / (double)now->warmup;
        if (left > 0) eps *= pow(s->warmup_factor, left);
    }
    return (sgfsi_pace){eps * c.factor, c.explores};
}

sgfs_status sgfsi_schedule_gradient(sgfs_sampler *sampler, const sgfs_iteration *now,
                                    const double *theta, double *G, double *stats, sgfsi_pace *pace,
                                    sgfs_err *err) {
    *pace = sgfsi_schedule_at(sampler->settings, now);
    sgfs_status status = sgfsi_eval_gradient(&sampler->eval, now->t, SGFSI_ROWS, theta, G,
                                             now->want_lp ? &stats[SGFSI_LP] : NULL, err);
    if (status != SGFS_OK) return status;
    sampler->exploring = pace->explores;
    stats[SGFSI_STEP_SIZE] = pace->eps;
    stats[SGFSI_GRAD_NORM] = sqrt(sgfsi_dot(sampler->model->ctx.device, sampler->D, G, G));
    return SGFS_OK;
}

void sgfsi_momentum_rescale(int64_t D, double *v, double *before, double now) {
    double factor = *before > 0 && *before != now ? sqrt(now / *before) : 1;
    *before = now;
    if (factor == 1) return;
    for (int64_t j = 0; j < D; j++) v[j] *= factor;
}
