/* SPDX-License-Identifier: MIT
 * sgfs.c: stochastic gradient Fisher scoring (Ahn, Korattikara, Welling 2012, Algorithm 1), with
 * the prior counted in the matrix (docs/math.md section 2). With the recommended B = K:
 *
 *     K = L L' = gamma N I1hat + e Lambda                                   (e = 2)
 *     theta += 2/(1 + alpha^2) L^-T ( L^-1 (G + ((e-1) Lambda)^1/2 z2) + alpha z1 )
 *
 * and with any other symmetric positive definite B (eq. 11, 4B/eps = alpha^2 B):
 *
 *     M = L L' = K + alpha^2 B
 *     theta += 2 M^-1 (G + ((e-1) Lambda)^1/2 z2 + alpha B^1/2 z1)
 *
 *   G        stochastic gradient of the log posterior   D
 *   I1hat    running average of Cov(g)                  D x D, of any structure (sgfs_matrix.c)
 *   Lambda   prior precision                            D (diagonal)
 *   alpha    2/sqrt(eps); 0 is the largest step and injects no noise (anneal.c: alpha over time)
 *   z1, z2   N(0, I)
 *
 * Where the log posterior is quadratic the stationary law is exact for every alpha and every B with
 * the full matrix. For large alpha the second form becomes SGLD preconditioned by B^-1.
 *
 * Any structure of sgfs_sym works: this file does not know which it has. What options mean and what
 * is chosen without them is sgfs_plan.c.
 */
#include <math.h>

#include "base/rng.h"
#include "sampler/sgfs_matrix.h"

typedef sgfsi_sgfs_settings settings;
typedef struct sgfs {
    sgfsi_sgfs_matrix K;
    sgfsi_anneal anneal;
    double *G, *z;      /* D each */
    double *root_prior; /* D, Lambda^1/2 */
    bool filled;
} sgfs;

static sgfs_status open_sgfs(sgfs_sampler *sampler, sgfs_err *err) {
    int64_t D = sampler->D;
    sgfs *s = sampler->state = sgfsi_arena_alloc(sampler->arena, 1, sizeof *s);
    if (s == NULL || !SGFSI_ROOM(sampler->arena, D, &s->G, &s->z, &s->root_prior))
        return sgfsi_fail_memory(err, "the sampler");
    for (int64_t j = 0; j < D; j++) s->root_prior[j] = sqrt(sampler->model->precision[j]);
    s->anneal = ((const settings *)sampler->settings)->anneal;
    sgfs_status status = sgfsi_cycle_check(s->anneal.cycles, s->anneal.explore, sampler->plan, err);
    if (status == SGFS_OK) status = sgfsi_sgfs_matrix_open(&s->K, sampler, err);
    sgfsi_sgfs_ahead_open(&s->K, sampler);
    return status;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* x += all each z, with each a number for every parameter (NULL: 1). */
static void add_noise(const sgfs_sampler *sampler, sgfs *s, int64_t t, uint32_t purpose, double all,
                      const double *each, double *x) {
    sgfsi_sampler_normals(sampler, t, purpose, s->z);
    for (int64_t j = 0; j < sampler->D; j++) x[j] += all * (each != NULL ? each[j] : 1) * s->z[j];
}

/* x = G  ->  the step. An exploring step is the same without noise. Returns the factor in front of
 * K^-1 G. */
static double solve_step(const sgfs_sampler *sampler, sgfs *s, int64_t t, double alpha,
                         bool explores, double *x) {
    const sgfsi_sgfs_matrix *K = &s->K;
    const sgfsi_injected *B = &K->B;
    const sgfs_sym *L = &K->L;
    bool ours = B->is_fisher, injects = alpha > 0 && !explores;
    /* What K has beyond gamma N I1hat + Lambda is matched by noise: slower, but as exact. */
    if (!explores && K->prior != NULL)
        add_noise(sampler, s, t, SGFSI_PRIOR, sqrt(K->share - 1), s->root_prior, x);
    if (!explores && K->ridge_now > 0)
        add_noise(sampler, s, t, SGFSI_RIDGE, sqrt(K->ridge_now), NULL, x);
    if (injects && !ours && B->root != NULL)
        add_noise(sampler, s, t, SGFSI_NOISE, alpha, B->root, x);
    if (injects && !ours && B->root == NULL) { /* alpha B^1/2 z1, for a whole matrix B */
        sgfsi_sampler_normals(sampler, t, SGFSI_NOISE, s->z);
        B->full.kind->mul_factor(&B->full_root, false, s->z);
        sgfsi_axpy(sampler->model->ctx.device, sampler->D, alpha, s->z, x);
    }
    bool between = injects && ours;
    if (between) sgfsi_sampler_normals(sampler, t, SGFSI_NOISE, s->z);
    sgfsi_sym_solve(L, alpha, between ? s->z : NULL, x);
    return ours ? 2 / (1 + alpha * alpha) : 2;
}

static sgfs_status step(sgfs_sampler *sampler, const sgfs_iteration *now, double *theta,
                        double *stats, sgfs_err *err) {
    sgfs *s = sampler->state;
    sgfsi_eval *e = &sampler->eval;
    const sgfs_device *dev = sampler->model->ctx.device;
    sgfsi_alpha at = sgfsi_anneal_at(&s->anneal, now);
    double before = (double)sampler->interventions;

    sgfs_status status =
        s->filled ? SGFS_OK : sgfsi_sgfs_matrix_fill(&s->K, sampler, theta, s->G, err);
    if (status != SGFS_OK) return status;
    s->filled = true;
    e->gradient_only = !sgfsi_sgfs_matrix_due(&s->K, now);
    status = sgfsi_eval_gradient(e, now->t, SGFSI_ROWS, theta, s->G,
                                 now->want_lp ? &stats[SGFSI_LP] : NULL, err);
    if (status == SGFS_OK)
        status = sgfsi_sgfs_matrix_renew(&s->K, sampler, now, at.alpha, theta, err);
    if (status != SGFS_OK) return status;
    double shrink = 1 / (1 + at.alpha * at.alpha);
    if (!s->K.B.is_fisher) { /* the alpha that is in the factor, and what its B makes of the step */
        at.alpha = s->K.alpha;
        shrink = s->K.shrink;
        if (at.phase > 1) at.phase = shrink >= 0.5 ? 2 : 3;
    }
    stats[SGFSI_STEP_SIZE] =
        2 / e->gamma * shrink; /* h of docs/math.md, section 1; for other B on average */
    stats[SGFSI_GRAD_NORM] = sqrt(sgfsi_dot(dev, e->D, s->G, s->G));
    double size = solve_step(sampler, s, now->t, at.alpha, at.explores, s->G);
    sgfsi_axpy(dev, e->D, size, s->G, theta);
    stats[SGFSI_SGFS_RIDGES] = (double)sampler->interventions - before;
    stats[SGFSI_SGFS_ALPHA] = at.alpha;
    stats[SGFSI_SGFS_PHASE] = at.phase;
    sampler->exploring = at.explores;
    return SGFS_OK;
}

/* The same as data (sgfs_ahead.c). */
static bool ahead(sgfs_sampler *sampler, const sgfs_iteration *now, struct sgfsi_walk_step *step,
                  double *stats) {
    sgfs *s = sampler->state;
    sgfsi_alpha at = sgfsi_anneal_at(&s->anneal, now);
    return s->filled && sgfsi_sgfs_ahead(&s->K, sampler, now, &at, step, stats);
}

static void fields(const sgfs_sampler *sampler, sgfsi_fields *list) {
    sgfs *s = sampler->state;
    SGFSI_FIELD_ONE(list, s, filled);
    sgfsi_fields_enter(list, "K");
    sgfsi_sgfs_matrix_fields(&s->K, list);
    sgfsi_fields_leave(list);
}

static const char *const stats[] = {
    SGFSI_GRADIENT_STATS, [SGFSI_SGFS_RIDGES] = "ridges", [SGFSI_SGFS_ALPHA] = "alpha",
    [SGFSI_SGFS_PHASE] = SGFSI_STAT_PHASE, [SGFSI_SGFS_STATS] = NULL};

static const char *const tuned[] = {"sampler.epsilon", "sampler.alpha=0,1,2,4", NULL};

const sgfs_sampler_kind sgfs_sampler_sgfs = {
    .name = "sgfs",
    .help = "stochastic gradient Fisher scoring (needs --fisher; sgfs-f, sgfs-d and sgfs-b are "
            "short for it)",
    .options = sgfsi_sgfs_options,
    .settings = sgfsi_sgfs_setting_list,
    .settings_size = sizeof(settings),
    .uses_fisher = true,
    .stats = stats,
    .tuned = tuned,
    .plan = sgfsi_sgfs_plan,
    .fixed_length = sgfsi_sgfs_fixed_length,
    .advise = sgfsi_sgfs_advise,
    .describe = sgfsi_sgfs_describe,
    .open = open_sgfs,
    .step = step,
    .ahead = ahead,
    .state_size = sizeof(sgfs),
    .fields = fields,
    .tau = sgfsi_sgfs_tau,
    .caution_at = sgfsi_sgfs_caution,
};
