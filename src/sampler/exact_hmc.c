/* SPDX-License-Identifier: MIT
 * exact_hmc.c: Hamiltonian Monte Carlo with all chains in lock-step (docs/samplers.md).
 *
 *     theta = m + C z,   C C' the metric: an estimate of the posterior's covariance
 *     r ~ N(0, I);  l leapfrog steps of size e in z;  accept with probability
 *     min(1, exp(H - H')),   H = |r|^2/2 - log posterior(m + C z)
 *
 * A leapfrog step needs the gradient at a place, and of one place a pass over all rows is bound by
 * memory. K chains that take their steps together share the pass: predictors and gradients of a
 * block of rows at K places are two products of matrices (posterior/places.h). So all chains have
 * the same metric, the same step and the same number of steps, and each its own place, momentum and
 * acceptance: given what is shared, which after warm-up is fixed, they are independent chains.
 *
 * Warm-up learns from all chains at once, and therefore fast:
 *     metric  begins as the inverse curvature at the mode and is renewed at 20, 40 and 70 % of
 *             warm-up. V is the covariance of z over all chains since the last renewal, of n draws:
 *                 C <- C chol( (n V + D diag V)/(n + D) )
 *             Shrinking happens in z, where little but scales should be left to learn.
 *     step    dual averaging of the mean acceptance (sampler/adapt.h).
 *     path    time T of a trajectory by ChEES (Hoffman, Radul, Sountsov 2021): stochastic ascent on
 *             the expected squared change of |z - mean|^2. Each iteration has T u, u in (0.5, 1.5)
 *             by the golden ratio's multiples, which no period of the posterior meets twice.
 *
 * A proposal without a density is rejected, whatever it was that failed there.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "posterior/mode.h"
#include "posterior/places.h"
#include "sampler/hamiltonian.h"

/* Statistics of a draw, as hmc has them. */
enum { LP, ACCEPTANCE, STEP_SIZE, STEPS, DIVERGING, ENERGY, STATS };

enum {
    CHAINS = 16,
    WARMUP = 100,
    DRAWS = 150,           /* 2,400 of all chains; as many again until the slowest has 400 */
    FEW = 100,             /* draws where rows and parameters are many */
    MOST_STEPS = 1000,     /* of one trajectory */
    FIRST_STEPS = 32,      /* the same before the first metric: nobody knows yet what is far */
    MOST_LOST = 30,        /* iterations in a row in which no chain could move */
    MOST_DIFFERENCES = 500 /* parameters up to which a curvature is made of differences */
};
static const double many = 1e7; /* numbers in the table */
static const double golden = 0.6180339887498949, quarter_turn = 1.5707963267948966;
static const double start_spread = 1.25; /* of the chains, in sd at the mode */

typedef struct settings {
    double target_accept, tolerance;
    bool dense; /* the metric; by the number of parameters */
} settings;

static const sgfsi_setting setting_list[] = {
    {"sampler.target_accept", offsetof(settings, target_accept), "target acceptance", false},
    {"sampler.anchor_tolerance", offsetof(settings, tolerance), NULL, false},
    SGFSI_SETTINGS_END};

/* Places of all chains, K x D, in z; G: gradient in z. */
typedef struct crowd {
    double *z, *G, *lp; /* lp: K; -infinity: no density there */
} crowd;

/* What the chains of a run share: in the first chain's arena. */
typedef struct lockstep {
    sgfs_sampler **member; /* K */
    sgfsi_places places;
    const sgfs_device *dev;
    int64_t K, D;
    bool dense;          /* C is D x D, else the D numbers of a diagonal */
    double *m, *C;       /* D; the metric's factor */
    crowd here, trial;   /* where the chains are; where their trajectories are */
    double *r;           /* K x D: momenta */
    double *theta, *G;   /* K x D: the trial's places on the chain's scale, gradient there */
    double *before;      /* K: energy where the trajectory began */
    double *acceptance;  /* K */
    double *mean, *room; /* D, of z in the window; 2 D */
    double *S, *next;    /* D x D (or D) sums of squares of z in the window; room for a factor */
    int64_t count;       /* draws in the window */
    double eps;          /* step */
    sgfsi_dual dual;
    double path;      /* log T */
    double path_mean; /* its average since the metric was renewed, what is kept in the end */
    double bend;      /* average of squares of the gradient of ChEES in log T */
    int64_t paths;    /* iterations in it */
    int64_t lost;     /* iterations in a row in which no chain could move */
    bool ready;       /* here and eps are set */
    sgfsi_pages visit;
} lockstep;

/* ---- options --------------------------------------------------------------------------------- */

static sgfs_status plan_exact_hmc(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    bool brief = (double)now->model->data->N * (double)now->D > many;
    ((settings *)plan->settings)->dense = now->D <= SGFSI_MOST_DENSE;
    if (!sgfsi_config_given(plan->cfg, "run.chains")) plan->chains = CHAINS;
    sgfsi_plan_lengths(plan, WARMUP, brief ? FEW : DRAWS, 1);
    return sgfsi_plan_refuse_start(plan, true, "chains begin around the mode", err);
}

static int advise(const sgfsi_plan *plan, const char *advice[2]) {
    (void)plan;
    advice[0] = "a longer --warmup";
    advice[1] = "a larger --target-accept";
    return 2;
}

static const char *stan_metric(const sgfsi_plan *plan) {
    const settings *set = plan->settings;
    return set->dense ? "dense_e" : "diag_e";
}

/* ---- opening --------------------------------------------------------------------------------- */

/* What is known of the curvature at m: the model's own information, or differences of gradients;
 * where these are not definite, the scale on which the model spreads its chains. */
static sgfs_status rough_metric(lockstep *a, sgfs_err *err) {
    sgfs_sampler *s = a->member[0];
    const sgfs_model *model = s->model;
    int64_t D = a->D;
    double *A = a->S, lp;
    sgfs_status status = SGFS_OK;
    bool says = a->dense && model->kind->curvature != NULL;
    if (says) status = sgfsi_posterior_full(model, a->m, &lp, a->room, A, err);
    else if (a->dense && D <= MOST_DIFFERENCES)
        status = sgfsi_places_curvature(&a->places, a->m, A, err);
    if (status != SGFS_OK) return status;
    if (a->dense && sgfsi_potrf(a->dev, D, A) == 0) {
        sgfsi_invert_triangle(a->dev, D, A, a->C);
    } else {
        model->kind->start(model, a->room + D, a->room);
        for (int64_t j = 0; j < D; j++) a->C[a->dense ? j * D + j : j] = a->room[j];
    }
    memset(A, 0, (size_t)(a->dense ? D * D : D) * sizeof *A);
    s->full.rows_touched += model->data->N;
    return SGFS_OK;
}

/* The mode, and the metric there. Where a mode is not to be had (a prior with a kink, a search that
 * got stuck), the chains begin where the model says, and warm-up has the longer way. */
static sgfs_status open_metric(lockstep *a, sgfs_err *err) {
    sgfs_sampler *s = a->member[0];
    const settings *set = s->settings;
    if (sgfsi_anchor_refuses(s->model) == NULL) {
        sgfs_status status = sgfsi_sampler_anchor(s, set->tolerance, false, err);
        if (status != SGFS_OK) return status;
        memcpy(a->m, s->anchor->theta, (size_t)a->D * sizeof *a->m);
        sgfsi_invert_triangle(a->dev, a->D, s->anchor->L, a->C);
        return SGFS_OK;
    }
    const sgfsi_mode_plan how = {
        .method = "auto", .tolerance = set->tolerance, .threads = s->plan->cores};
    sgfsi_mode mode = {.rows = 0};
    sgfs_err why;
    sgfs_status status = sgfsi_mode_search(s->model, &how, s->arena, &mode, &why);
    s->full.rows_touched += mode.rows;
    if (status == SGFS_OK) memcpy(a->m, mode.theta, (size_t)a->D * sizeof *a->m);
    else s->model->kind->start(s->model, a->m, a->room);
    return rough_metric(a, err);
}

static bool open_crowd(crowd *c, int64_t K, int64_t D, sgfsi_arena *arena) {
    return SGFSI_ROOM(arena, K * D, &c->z, &c->G) && SGFSI_ROOM(arena, K, &c->lp);
}

static sgfs_status open_exact_hmc(sgfs_sampler *s, sgfs_err *err) {
    if (s->first != NULL) {
        lockstep *shared = s->first->state;
        s->state = shared;
        s->anchor = s->first->anchor;
        shared->member[s->chain] = s;
        return SGFS_OK;
    }
    const settings *set = s->settings;
    lockstep *a = sgfsi_arena_alloc(s->arena, 1, sizeof *a);
    if (a == NULL) return sgfsi_fail_memory(err, "the sampler");
    int64_t K = s->plan->chains, D = s->D, rows = K > 2 ? K : 2;
    s->state = a;
    s->visit = &a->visit;
    *a = (lockstep){.dev = s->model->ctx.near, .K = K, .D = D, .dense = set->dense};
    int64_t size = a->dense ? D * D : D;
    a->member = sgfsi_arena_alloc(s->arena, K, sizeof *a->member);
    bool made = SGFSI_ROOM(s->arena, D, &a->m, &a->mean) && SGFSI_ROOM(s->arena, 2 * D, &a->room) &&
                SGFSI_ROOM(s->arena, size, &a->C, &a->S, &a->next) &&
                SGFSI_ROOM(s->arena, K * D, &a->r) && SGFSI_ROOM(s->arena, K, &a->acceptance) &&
                SGFSI_ROOM(s->arena, rows * D, &a->theta, &a->G) &&
                SGFSI_ROOM(s->arena, rows, &a->before) && open_crowd(&a->here, K, D, s->arena) &&
                open_crowd(&a->trial, K, D, s->arena);
    if (a->member == NULL || !made) return sgfsi_fail_memory(err, "the sampler");
    a->member[0] = s;
    a->dual.target = set->target_accept;
    sgfs_status status =
        sgfsi_places_open(&a->places, s->model, rows, true, s->plan->inner, s->arena, err);
    a->places.full.stop = s->plan->stop;
    return status == SGFS_OK ? open_metric(a, err) : status;
}

/* ---- dynamics -------------------------------------------------------------------------------- */

/* Density and gradient at the places c->z of all chains. */
static sgfs_status evaluate(lockstep *a, crowd *c, sgfs_err *err) {
    int64_t K = a->K, D = a->D;
    for (int64_t k = 0; k < K; k++) memcpy(a->theta + k * D, a->m, (size_t)D * sizeof *a->m);
    if (a->dense) sgfsi_gemm_nt(a->dev, K, D, D, 1, c->z, a->C, 1, a->theta);
    for (int64_t i = 0; !a->dense && i < K * D; i++) a->theta[i] += a->C[i % D] * c->z[i];
    sgfs_status status = sgfsi_places_eval(&a->places, K, a->theta, c->lp, a->G, err);
    if (status != SGFS_OK) return status;
    if (a->dense) sgfsi_gemm_nn(a->dev, K, D, D, 1, a->G, a->C, 0, c->G);
    for (int64_t i = 0; !a->dense && i < K * D; i++) c->G[i] = a->C[i % D] * a->G[i];
    for (int64_t k = 0; k < K; k++) a->member[k]->full.rows_touched += a->places.full.N;
    a->visit = sgfsi_full_pages(&a->places.full);
    return SGFS_OK;
}

/* -lp + |r|^2/2 of chain k at c; infinity where that is not a number. */
static double energy(const lockstep *a, const crowd *c, int64_t k) {
    const double *r = a->r + k * a->D;
    double H = 0.5 * sgfsi_dot(a->dev, a->D, r, r) - c->lp[k];
    return isnan(H) ? INFINITY : H;
}

/* From here, with fresh momenta of iteration t: `steps` leapfrog steps of size eps in a->trial.
 * a->acceptance: with which probability each chain may go there. A chain whose density has ended
 * stands still, with no density. */
static sgfs_status travel(lockstep *a, int64_t t, double eps, int64_t steps, sgfs_err *err) {
    int64_t K = a->K, D = a->D;
    size_t bytes = (size_t)(K * D) * sizeof(double);
    memcpy(a->trial.z, a->here.z, bytes);
    memcpy(a->trial.G, a->here.G, bytes);
    memcpy(a->trial.lp, a->here.lp, (size_t)K * sizeof(double));
    for (int64_t k = 0; k < K; k++) {
        sgfsi_sampler_normals(a->member[k], t, SGFSI_MOMENTUM, a->r + k * D);
        a->before[k] = energy(a, &a->here, k);
        a->acceptance[k] = 1;
    }
    sgfs_status status = SGFS_OK;
    bool any = true;
    for (int64_t l = 0; l < steps && any && status == SGFS_OK; l++) {
        sgfsi_axpy(a->dev, K * D, eps / 2, a->trial.G, a->r);
        sgfsi_axpy(a->dev, K * D, eps, a->r, a->trial.z);
        status = evaluate(a, &a->trial, err);
        any = false;
        for (int64_t k = 0; k < K; k++) {
            if (!isfinite(a->trial.lp[k])) a->acceptance[k] = 0;
            any = any || a->acceptance[k] > 0;
            if (a->acceptance[k] > 0) continue;
            memcpy(a->trial.z + k * D, a->here.z + k * D, (size_t)D * sizeof(double));
            memset(a->trial.G + k * D, 0, (size_t)D * sizeof(double));
            memset(a->r + k * D, 0, (size_t)D * sizeof(double));
        }
        sgfsi_axpy(a->dev, K * D, eps / 2, a->trial.G, a->r);
    }
    for (int64_t k = 0; k < K; k++) {
        if (a->acceptance[k] == 0) a->trial.lp[k] = -INFINITY;
        a->acceptance[k] = fmin(1, exp(a->before[k] - energy(a, &a->trial, k)));
    }
    return status;
}

static bool diverged(const lockstep *a, int64_t k) {
    return energy(a, &a->trial, k) - a->before[k] > sgfsi_most_error;
}

static double mean_acceptance(const lockstep *a) {
    double sum = 0;
    for (int64_t k = 0; k < a->K; k++) sum += a->acceptance[k] / (double)a->K;
    return sum;
}

/* ---- warm-up --------------------------------------------------------------------------------- */

/* Double or halve the step until the mean acceptance of one leapfrog step crosses 0.8; begin to
 * learn step and path from there. */
static sgfs_status find_step(lockstep *a, int64_t t, sgfs_err *err) {
    const double edge = 0.8;
    sgfs_status status = travel(a, t, a->eps, 1, err);
    bool grow = mean_acceptance(a) > edge;
    while (status == SGFS_OK && (mean_acceptance(a) > edge) == grow) {
        a->eps *= grow ? 2 : 0.5;
        status = sgfsi_step_check(a->eps, "", err);
        if (status == SGFS_OK) status = travel(a, t, a->eps, 1, err);
    }
    a->dual = (sgfsi_dual){.target = a->dual.target, .mu = log(a->eps), .mean = log(a->eps)};
    a->path = a->path_mean = log(quarter_turn);
    a->bend = 0;
    a->paths = 0;
    return status;
}

/* All chains to draws of the Gaussian at the mode, a little wider; those for which the posterior is
 * much less there than the Gaussian says come closer until it is not. */
static sgfs_status begin(lockstep *a, sgfs_err *err) {
    int64_t K = a->K, D = a->D;
    double top = -INFINITY;
    for (int64_t k = 0; k < K; k++) {
        double *z = a->here.z + k * D;
        sgfsi_sampler_normals(a->member[k], 0, SGFSI_NOISE, z);
        for (int64_t j = 0; j < D; j++) z[j] *= start_spread;
    }
    bool settled = false;
    memset(a->trial.z, 0, (size_t)(K * D) * sizeof(double));
    sgfs_status status = evaluate(a, &a->trial, err); /* at the mode */
    if (status == SGFS_OK && !isfinite(top = a->trial.lp[0]))
        status = sgfsi_fail(err, SGFS_ENUMERIC, "the log density is not finite at the mode");
    for (int tries = 0; !settled && tries < 100 && status == SGFS_OK; tries++) {
        status = evaluate(a, &a->here, err);
        settled = true;
        for (int64_t k = 0; k < K && status == SGFS_OK; k++) {
            bool near = top - a->here.lp[k] <= 2 * (double)D + 20; /* false for NaN */
            settled = settled && near;
            for (int64_t j = 0; !near && j < D; j++) a->here.z[k * D + j] *= 0.7;
        }
    }
    if (status == SGFS_OK && !settled)
        status = sgfsi_fail(err, SGFS_ENUMERIC, "the log density is not finite around the mode");
    for (int64_t k = 0; k < K && status == SGFS_OK; k++)
        memcpy(a->member[k]->theta, a->theta + k * D, (size_t)D * sizeof(double));
    a->eps = 1;
    if (status == SGFS_OK) status = find_step(a, 0, err);
    a->ready = status == SGFS_OK;
    return status;
}

/* Where a metric's window ends: 20, 40 and 70 % of warm-up; its first draws, 10 %, are for the way
 * to the bulk. */
static bool window_ends(int64_t t, int64_t warmup) {
    return warmup >= 20 && (t == warmup / 5 || t == 2 * warmup / 5 || t == 7 * warmup / 10);
}

/* Add all chains' places to the window's mean and sums of squares (about its own mean: Chan's
 * rule for joining two samples, the second being this iteration's K draws). */
static void learn_metric(lockstep *a) {
    int64_t K = a->K, D = a->D;
    double n = (double)a->count, *now = a->room, *gap = a->trial.z;
    memset(now, 0, (size_t)D * sizeof *now);
    for (int64_t k = 0; k < K; k++) sgfsi_axpy(a->dev, D, 1 / (double)K, a->here.z + k * D, now);
    for (int64_t i = 0; i < K * D; i++) gap[i] = a->here.z[i] - now[i % D];
    if (a->dense) sgfsi_syrk_t(a->dev, K, D, 1, gap, 1, a->S);
    for (int64_t i = 0; !a->dense && i < K * D; i++) a->S[i % D] += gap[i] * gap[i];
    double weight = n * (double)K / (n + (double)K);
    for (int64_t j = 0; j < D; j++) {
        gap[j] = now[j] - a->mean[j];
        a->mean[j] += gap[j] * (double)K / (n + (double)K);
    }
    if (a->dense) sgfsi_syrk_t(a->dev, 1, D, weight, gap, 1, a->S);
    for (int64_t j = 0; !a->dense && j < D; j++) a->S[j] += weight * gap[j] * gap[j];
    a->count += K;
}

/* C <- C R, R R' the shrunk covariance of z; z and its gradient follow. */
static sgfs_status renew_metric(lockstep *a, int64_t t, sgfs_err *err) {
    int64_t K = a->K, D = a->D;
    double n = (double)a->count, keep = n / (n + (double)D) / (n - 1);
    for (int64_t i = 0; i < D && a->dense; i++) {
        for (int64_t j = 0; j < i; j++) a->S[i * D + j] *= keep;
        for (int64_t j = i + 1; j < D; j++) a->S[i * D + j] = 0;
        a->S[i * D + i] /= n - 1;
    }
    for (int64_t j = 0; j < D && !a->dense; j++) a->S[j] = sqrt(a->S[j] / (n - 1));
    bool moved = a->count > 1 && (!a->dense || sgfsi_potrf(a->dev, D, a->S) == 0);
    for (int64_t j = 0; j < D && !a->dense; j++) moved = moved && a->S[j] > 0;
    if (moved && a->dense) {
        sgfsi_gemm_nn(a->dev, D, D, D, 1, a->C, a->S, 0, a->next);
        memcpy(a->C, a->next, (size_t)(D * D) * sizeof *a->C);
        for (int64_t k = 0; k < K; k++) {
            sgfsi_trsv(a->dev, D, a->S, false, a->here.z + k * D);
            sgfsi_trmv(a->dev, D, a->S, true, a->here.G + k * D);
        }
    }
    for (int64_t i = 0; moved && !a->dense && i < K * D; i++) {
        a->here.z[i] /= a->S[i % D];
        a->here.G[i] *= a->S[i % D];
        if (i < D) a->C[i] *= a->S[i];
    }
    memset(a->S, 0, (size_t)(a->dense ? D * D : D) * sizeof *a->S);
    memset(a->mean, 0, (size_t)D * sizeof *a->mean);
    a->count = 0;
    return find_step(a, t, err);
}

/* The step follows the mean acceptance; a trajectory that diverged counts like ten that were
 * rejected, so that steps get shorter where a few chains meet a curvature that most do not. */
static void learn_step(lockstep *a) {
    double reward = mean_acceptance(a);
    for (int64_t k = 0; k < a->K; k++) reward -= 10 * diverged(a, k) / (double)a->K;
    a->eps = sgfsi_dual_learn(&a->dual, fmax(0, reward));
}

/* One step of Adam (without momentum) up the gradient of ChEES in log T,
 *     time x mean over chains of (|z' - m'|^2 - |z - m|^2) (z' - m')'r',
 * weighted by acceptance; m, m': means over the chains. */
static void learn_path(lockstep *a, double time) {
    const double rate = 0.05, memory = 0.95;
    int64_t K = a->K, D = a->D;
    double *from = a->room, *to = a->room + D, weight = (double)K * mean_acceptance(a), slope = 0;
    if (!(weight > 0)) return;
    memset(from, 0, 2 * (size_t)D * sizeof *from);
    for (int64_t k = 0; k < K; k++) {
        sgfsi_axpy(a->dev, D, 1 / (double)K, a->here.z + k * D, from);
        sgfsi_axpy(a->dev, D, a->acceptance[k] / weight, a->trial.z + k * D, to);
    }
    for (int64_t k = 0; k < K; k++) {
        double wider = 0, along = 0;
        for (int64_t j = 0, i = k * D; j < D; j++, i++) {
            double was = a->here.z[i] - from[j], is = a->trial.z[i] - to[j];
            wider += is * is - was * was;
            along += is * a->r[i];
        }
        if (a->acceptance[k] > 0) slope += a->acceptance[k] / weight * wider * along;
    }
    slope *= time;
    a->paths++;
    a->bend = memory * a->bend + (1 - memory) * slope * slope;
    double size = sqrt(a->bend / (1 - pow(memory, (double)a->paths)));
    if (size > 0) a->path += rate * slope / size;
    double recent = fmin(1, 2 / (double)a->paths + 0.05);
    a->path_mean += recent * (a->path - a->path_mean);
}

/* After iteration now->t of warm-up. */
static sgfs_status learn(lockstep *a, const sgfs_iteration *now, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    if (now->t > now->warmup / 10) learn_metric(a);
    if (window_ends(now->t, now->warmup)) status = renew_metric(a, now->t, err);
    if (now->t < now->warmup || a->dual.count == 0) return status;
    a->eps = exp(a->dual.mean);
    a->path = a->path_mean;
    return status;
}

/* ---- one iteration of all chains ------------------------------------------------------------- */

static sgfs_status step_together(sgfs_sampler *first, const sgfs_iteration *now, sgfs_err *err) {
    lockstep *a = first->state;
    int64_t K = a->K, D = a->D;
    bool warm = now->t <= now->warmup;
    sgfs_status status = a->ready ? SGFS_OK : begin(a, err);
    if (status != SGFS_OK) return status;
    double u = 0.5 + fmod(golden * (double)now->t, 1), time = u * exp(a->path);
    int64_t most = window_ends(now->warmup / 5, now->warmup) && now->t <= now->warmup / 5
                       ? FIRST_STEPS
                       : MOST_STEPS;
    int64_t steps = (int64_t)fmin(ceil(time / a->eps), (double)most);
    double eps = fmin(time / (double)steps, a->eps);
    time = eps * (double)steps;
    status = travel(a, now->t, eps, steps, err);
    if (status != SGFS_OK) return status;
    if (warm) {
        learn_step(a);
        learn_path(a, time);
    }
    bool any = false;
    for (int64_t k = 0; k < K; k++) {
        sgfs_sampler *s = a->member[k];
        double after = energy(a, &a->trial, k), uniform[2];
        sgfsi_stream stream = sgfsi_stream_at(s->seed, s->chain, now->t, SGFSI_ACCEPT);
        sgfsi_uniforms(&stream, 1, uniform);
        bool accepted = uniform[0] < a->acceptance[k];
        any = any || a->acceptance[k] > 0;
        if (accepted) {
            memcpy(a->here.z + k * D, a->trial.z + k * D, (size_t)D * sizeof(double));
            memcpy(a->here.G + k * D, a->trial.G + k * D, (size_t)D * sizeof(double));
            memcpy(s->theta, a->theta + k * D, (size_t)D * sizeof(double));
            a->here.lp[k] = a->trial.lp[k];
        }
        s->stats[LP] = a->here.lp[k];
        s->stats[ACCEPTANCE] = a->acceptance[k];
        s->stats[STEP_SIZE] = eps;
        s->stats[STEPS] = (double)steps;
        s->stats[DIVERGING] = diverged(a, k);
        s->stats[ENERGY] = accepted ? after : a->before[k];
    }
    a->lost = any ? 0 : a->lost + 1;
    if (a->lost >= MOST_LOST) {
        return sgfsi_fail(err, SGFS_ENUMERIC,
                          "%d trajectories in a row led nowhere: wherever they went the density "
                          "was not finite, or smaller by more than e^700",
                          (int)MOST_LOST);
    }
    return warm ? learn(a, now, err) : SGFS_OK;
}

static void fields(const sgfs_sampler *s, sgfsi_fields *list) {
    lockstep *a = s->state;
    int64_t D = a->D, k = s->chain, size = a->dense ? D * D : D;
    SGFSI_FIELD(list, "z", a->here.z + k * D, D);
    SGFSI_FIELD(list, "G", a->here.G + k * D, D);
    SGFSI_FIELD(list, "lp", a->here.lp + k, 1);
    if (s->first != NULL) return;
    SGFSI_FIELD_ARRAY(list, a, C, size);
    SGFSI_FIELD_ARRAY(list, a, S, size);
    SGFSI_FIELD_ARRAY(list, a, mean, D);
    SGFSI_FIELD_ONE(list, a, count);
    SGFSI_FIELD_ONE(list, a, eps);
    sgfsi_dual_fields(&a->dual, list);
    SGFSI_FIELD_ONE(list, a, path);
    SGFSI_FIELD_ONE(list, a, path_mean);
    SGFSI_FIELD_ONE(list, a, bend);
    SGFSI_FIELD_ONE(list, a, paths);
    SGFSI_FIELD_ONE(list, a, lost);
    SGFSI_FIELD_ONE(list, a, ready);
}

static const char *const stats[] = {SGFSI_TRAJECTORY_STATS, [STATS] = NULL};

static const sgfs_option options[] = {SGFSI_ANCHOR_ROWS, SGFSI_TARGET_ACCEPT_ROW,
                                      SGFSI_OPTIONS_END};

const sgfs_sampler_kind sgfs_sampler_exact_hmc = {
    .name = "exact-hmc",
    .help = "Hamiltonian Monte Carlo, chains in lock-step sharing passes over all rows: exact",
    .options = options,
    .settings = setting_list,
    .settings_size = sizeof(settings),
    .exact = true,
    .anchored = true,
    .full_data = true,
    .stats = stats,
    .plan = plan_exact_hmc,
    .advise = advise,
    .stan_metric = stan_metric,
    .open = open_exact_hmc,
    .step_together = step_together,
    .fields = fields,
};
