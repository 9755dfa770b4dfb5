/* SPDX-License-Identifier: MIT
 * anneal.c: alpha of SGFS over the iterations: constant, annealed ("anytime", the paper's
 * conclusion) or in cycles.
 *
 *     annealed   alpha_t^2 = alpha_0^2 + (alpha_1^2 - alpha_0^2) u^delta,   u = t/T after warm-up
 *     cycles     1 + alpha_t^2 = (1 + alpha_0^2)/factor_t                   (h_t = h_0 factor_t)
 *
 * With alpha^2 = 4/eps, the step eps falls like t^-delta. Three phases, told apart by who makes the
 * noise: (1) warm-up at the largest steps, Fisher scoring; (2) alpha <= 1, the minibatch's own
 * noise is the larger part: draws of the Gaussian approximation; (3) alpha > 1, injected noise is
 * the larger part: preconditioned SGLD, ever closer to the exact posterior and ever slower.
 */
#include "sampler/anneal.h"

#include <math.h>
#include <string.h>

static const struct preset {
    const char *name;
    double delta;
} presets[] = {{"early", 0.5}, {"linear", 1}, {"late", 3}};

double sgfsi_anneal_delta(const char *name) {
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        if (strcmp(presets[i].name, name) == 0) return presets[i].delta;
    }
    return 0;
}

sgfsi_alpha sgfsi_anneal_at(const sgfsi_anneal *a, const sgfs_iteration *now) {
    int64_t after = now->t - now->warmup;
    if (after <= 0) return (sgfsi_alpha){.alpha = a->warmup, .phase = 1};
    sgfsi_alpha at = {.alpha = a->from};
    if (a->delta > 0) {
        double u = (double)after / (double)now->draws;
        at.alpha = sqrt(a->from * a->from + (a->to * a->to - a->from * a->from) * pow(u, a->delta));
    } else if (a->cycles > 0) {
        sgfsi_cycle c = sgfsi_cycle_at(a->cycles, a->explore, after, now->draws);
        at.alpha = sqrt((1 + a->from * a->from) / c.factor - 1);
        at.explores = c.explores;
    }
    at.phase = at.explores ? 1 : at.alpha <= 1 ? 2 : 3;
    return at;
}

/* Mean of 1 + alpha_t^2 over the draws: what the autocorrelation time is proportional to. */
double sgfsi_anneal_mean(const sgfsi_anneal *a) {
    double from = 1 + a->from * a->from, to = 1 + a->to * a->to;
    if (a->delta > 0) return from + (to - from) / (a->delta + 1);
    return a->cycles > 0 ? 4 * from : from; /* cycles: slow only in the tail of each */
}
