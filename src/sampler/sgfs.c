/* SPDX-License-Identifier: MIT
 * sgfs.c: stochastic gradient Fisher scoring (Ahn, Korattikara, Welling 2012, Algorithm 1) with
 * B = gamma N I1hat and the prior counted in the matrix (docs/math.md section 2):
 *
 *     K = L L' = gamma N I1hat + 2 Lambda
 *     theta += 2/(1 + alpha^2) L^-T ( L^-1 (G + Lambda^1/2 z2) + alpha z1 ),   z1, z2 ~ N(0, I)
 *
 *   G        stochastic gradient of the log posterior   D
 *   I1hat    running average of Cov(g)                  D x D, of any structure
 *   Lambda   prior precision                            D (diagonal)
 *   alpha    2/sqrt(eps); 0 is the largest step and injects no noise
 *
 * Where the log posterior is quadratic the stationary law is exact for every alpha with the full
 * matrix. Before the first move the matrix is filled with batches at the starting point; in warm-up
 * steps are as large as they safely can be, so that the chain reaches the mode as Fisher scoring does.
 *
 * Warm-up steps use the model's own Fisher information (scores of targets drawn from the model)
 * where the model can draw: far from the mode the covariance of the data's scores says nothing
 * about the curvature (a sigma too small by e^5 makes it too large by e^20: steps of size zero).
 * I1hat is averaged beside it, from the middle of warm-up on, and takes over for the draws.
 *
 * Any structure of sgfs_sym works: this file does not know which it has.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sampler/sampler.h"

typedef struct sgfs {
    sgfsi_average average; /* I1hat */
    sgfsi_average model;   /* the model's own information, for warm-up */
    sgfs_sym L;            /* factor of K */
    double *G, *z;         /* D each */
    double *root_prior;    /* D, Lambda^1/2; NULL when the prior stays outside the matrix */
    double alpha, warmup_alpha;
    double ridge; /* relative, asked for by option */
    double
        ridge_now; /* what stands on the diagonal of K because of it, or of a failed factorisation */
    int64_t every, fill;
    bool filled, factored;
    bool by_model; /* warm-up steps use the model's information */
} sgfs;

static const sgfs_option options[] = {
    {"sampler.alpha", "alpha", SGFS_NUMBER, "auto", 0, 1e6, NULL,
     "0: largest step, fastest; larger: closer to the exact posterior (auto: 0 for many rows)"},
    {"sampler.epsilon", "epsilon", SGFS_NUMBER, "auto", 1e-300, 1e300, NULL,
     "step size; for SGFS the same as --alpha 2/sqrt(epsilon)"},
    {"sampler.warmup_alpha", "warmup-alpha", SGFS_NUMBER, "auto", 0, 1e6, NULL,
     "alpha during warm-up (auto: 0 for many rows)"},
    {"sampler.prior_in_matrix", "prior-in-matrix", SGFS_FLAG, "true", 1, 0, NULL,
     "count the prior in the matrix, as exactness needs (the paper does not)"},
    {"sampler.warmup_by", "warmup-by", SGFS_CHOICE, "model", 1, 0, "model|scores",
     "warm-up steps by the model's information or the scores' covariance"},
    SGFSI_OPTIONS_END};

/* The largest step that is still a small part of a Newton step, h = 2/(gamma (1 + alpha^2)) <= 0.1: with
 * many rows that is alpha 0; where the batch is a good part of few rows, the posterior's own curvature changes
 * over a larger step, and the draws would spread too far. Few events among many rows are few rows: 0.1 of
 * events/25. The diagonal needs more care: at least 2. */
static double automatic_alpha(bool full, double gamma, double events) {
    double most = 0.1 * fmin(1, events / 25);
    double alpha = sqrt(fmax(0, 2 / (most * gamma) - 1));
    return full ? alpha : fmax(alpha, 2);
}

static sgfs_status resolve_alpha(sgfs_config *cfg, bool full, const sgfs_situation *now,
                                 sgfs_err *err) {
    bool eps_given = !sgfsi_config_auto(cfg, "sampler.epsilon");
    if (eps_given && !sgfsi_config_auto(cfg, "sampler.alpha")) {
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "--alpha and --epsilon say the same thing (alpha = 2/sqrt(epsilon)): give "
            "one of them.");
    }
    double alpha = automatic_alpha(full, now->gamma, now->events);
    if (eps_given) alpha = 2 / sqrt(sgfsi_config_num(cfg, "sampler.epsilon"));
    else if (!sgfsi_config_auto(cfg, "sampler.alpha")) return SGFS_OK;
    return sgfsi_config_resolve_num(cfg, "sampler.alpha", alpha, err);
}

/* Once settled, I1hat is an average over thousands of batches: leaving out nine updates of ten
 * changes no measure that the tests know, and a full one costs more than all the rest of a step. */
static sgfs_status resolve(sgfs_config *cfg, const sgfs_situation *now, sgfs_err *err) {
    bool full = strcmp(now->fisher, "full") == 0;
    sgfs_status status = resolve_alpha(cfg, full, now, err);
    if (status == SGFS_OK && sgfsi_config_auto(cfg, "sampler.warmup_alpha")) {
        double alpha = automatic_alpha(true, now->gamma, now->events);
        status = sgfsi_config_resolve_num(cfg, "sampler.warmup_alpha", alpha, err);
    }
    if (status != SGFS_OK || !sgfsi_config_auto(cfg, "fisher.every")) return status;
    return sgfsi_config_resolve_num(cfg, "fisher.every", full ? 10 : 1, err);
}

static void open_prior(sgfs *s, const sgfs_sampler *sampler, double *root) {
    const sgfs_model *m = sampler->eval.model;
    if (!sgfsi_config_flag(sampler->cfg, "sampler.prior_in_matrix")) return;
    for (int64_t j = 0; j < m->D; j++) root[j] = sqrt(m->precision[j]);
    s->root_prior = root;
}

static sgfs_status open_average(const sgfs_sampler *sampler, sgfsi_average *a, sgfs_err *err) {
    const sgfsi_eval *e = &sampler->eval;
    return sgfsi_average_open(a, sampler->fisher, e->model->be, sampler->layout, e->n, sampler->cfg,
                              sampler->arena, err);
}

static sgfs_status open_sgfs(sgfs_sampler *sampler, sgfs_err *err) {
    const sgfsi_eval *e = &sampler->eval;
    const sgfs_config *cfg = sampler->cfg;
    sgfs *s = sgfsi_arena_alloc(sampler->arena, 1, sizeof *s);
    double *room = SGFSI_DOUBLES(sampler->arena, 3 * e->D);
    if (s == NULL || room == NULL) return sgfsi_fail_memory(err, "the sampler");
    sampler->state = s;
    s->G = room;
    s->z = room + e->D;
    open_prior(s, sampler, room + 2 * e->D);
    s->alpha = sgfsi_config_num(cfg, "sampler.alpha");
    s->warmup_alpha = sgfsi_config_num(cfg, "sampler.warmup_alpha");
    s->ridge = sgfsi_config_num(cfg, "fisher.ridge");
    s->every = sgfsi_config_int(cfg, "fisher.every");
    s->fill = (int64_t)ceil(sgfsi_config_num(cfg, "fisher.fill") * (double)e->D / (double)e->n);
    s->by_model =
        e->model_y != NULL && strcmp(sgfsi_config_text(cfg, "sampler.warmup_by"), "model") == 0;
    sgfs_status status = open_average(sampler, &s->average, err);
    if (status == SGFS_OK && s->by_model) status = open_average(sampler, &s->model, err);
    if (status != SGFS_OK) return status;
    return sgfsi_sym_open(&s->L, sampler->fisher, e->model->be, sampler->layout, sampler->arena,
                          err);
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* L L' = gamma N I + 2 Lambda + ridge mean(diag) I; 0, or where the factorisation failed. */
static int64_t build_factor(const sgfs_sampler *sampler, sgfs *s, const sgfs_sym *I, double ridge) {
    const sgfs_fisher_kind *f = sampler->fisher;
    const sgfsi_eval *e = &sampler->eval;
    f->combine(&s->L, e->gamma * (double)e->N, I, 0, NULL);
    if (s->root_prior != NULL) f->add_diag(&s->L, 2, e->model->precision);
    s->ridge_now = ridge * f->trace(&s->L) / (double)e->D;
    if (ridge > 0) f->add_diag(&s->L, s->ridge_now, NULL);
    return f->factor(&s->L);
}

/* A ridge is the last resort, from 1e-10 up to 1e-2 of the mean diagonal, and every one is counted.
 */
static sgfs_status refactor(sgfs_sampler *sampler, sgfs *s, const sgfs_sym *I, sgfs_err *err) {
    int64_t failed = build_factor(sampler, s, I, s->ridge);
    for (double ridge = 1e-10; failed != 0 && ridge < 0.02; ridge *= 100) {
        sampler->interventions++;
        failed = build_factor(sampler, s, I, s->ridge + ridge);
    }
    s->factored = failed == 0;
    if (s->factored) return SGFS_OK;
    return sgfsi_fail(
        err, SGFS_ENUMERIC,
        "the Fisher matrix is not positive definite at parameter \"%s\" (a larger --batch, "
        "--prior-precision or --fisher-ridge would help)",
        sampler->eval.model->param[failed - 1]);
}

/* The batch at hand goes into I1hat, and its rows with targets from the model into that average. */
static sgfs_status learn(sgfs_sampler *sampler, sgfs *s, int64_t t, uint32_t purpose, bool warmup,
                         const double *theta, sgfs_err *err) {
    sgfsi_eval *e = &sampler->eval;
    sgfsi_average_update(&s->average, &e->scores, e->gbar, warmup);
    if (!warmup || !s->by_model) return SGFS_OK;
    sgfs_status status = sgfsi_eval_resample(e, t, purpose, theta, err);
    if (status != SGFS_OK) return status;
    sgfsi_average_update(&s->model, &e->model_scores, NULL, true); /* their mean is 0 */
    return SGFS_OK;
}

/* Batches at the starting point until rows >= fill x D: a matrix of too low rank would throw the
 * chain. */
static sgfs_status fill(sgfs_sampler *sampler, sgfs *s, const double *theta, sgfs_err *err) {
    for (int64_t k = 0; k < s->fill; k++) {
        sgfs_status status =
            sgfsi_eval_gradient(&sampler->eval, k, SGFSI_FILL, theta, s->G, NULL, err);
        if (status == SGFS_OK) status = learn(sampler, s, k, SGFSI_FILL, true, theta, err);
        if (status != SGFS_OK) return status;
    }
    s->filled = true;
    return SGFS_OK;
}

static bool is_due(const sgfs *s, const sgfs_step *now) {
    int64_t after = now->t - now->warmup;
    return after <= 1 || !s->factored || after % s->every == 0;
}

/* Update and factor the matrix this iteration's step will use. */
static sgfs_status renew(sgfs_sampler *sampler, sgfs *s, const sgfs_step *now, const double *theta,
                         sgfs_err *err) {
    bool warmup = now->t <= now->warmup;
    /* what the way to the mode looked like is of no use there (unless warm-up is too short to fill
     * anew) */
    bool enough = now->warmup / 2 > s->fill;
    if (s->by_model && enough && now->t == now->warmup / 2) sgfsi_average_restart(&s->average);
    sgfs_status status = learn(sampler, s, now->t, SGFSI_ROWS, warmup, theta, err);
    if (status != SGFS_OK) return status;
    return refactor(sampler, s, warmup && s->by_model ? &s->model.I1 : &s->average.I1, err);
}

/* ---- the step -------------------------------------------------------------------------------- */

/* x += root z, with root a number for all or one for each. */
static void add_noise(const sgfs_sampler *sampler, sgfs *s, int64_t t, uint32_t purpose,
                      const double *each, double all, double *x) {
    sgfsi_stream stream = sgfsi_stream_at(sampler->seed, sampler->chain, t, purpose);
    sgfsi_normals(&stream, sampler->eval.D, s->z);
    for (int64_t j = 0; j < sampler->eval.D; j++) x[j] += (each != NULL ? each[j] : all) * s->z[j];
}

/* x = G  ->  L^-T ( L^-1 (x + Lambda^1/2 z2 + ridge^1/2 z3) + alpha z1 ). What was added to K as a ridge is
 * matched by noise, as the derivation in docs/math.md section 2 asks: slower, but as exact. */
static void solve_step(const sgfs_sampler *sampler, sgfs *s, int64_t t, double alpha, double *x) {
    if (s->root_prior != NULL) add_noise(sampler, s, t, SGFSI_PRIOR, s->root_prior, 0, x);
    if (s->ridge_now > 0) add_noise(sampler, s, t, SGFSI_RIDGE, NULL, sqrt(s->ridge_now), x);
    sampler->fisher->solve(&s->L, false, x);
    if (alpha > 0) add_noise(sampler, s, t, SGFSI_NOISE, NULL, alpha, x);
    sampler->fisher->solve(&s->L, true, x);
}

static sgfs_status step(sgfs_sampler *sampler, const sgfs_step *now, double *theta, double *stats,
                        sgfs_err *err) {
    sgfs *s = sampler->state;
    sgfsi_eval *e = &sampler->eval;
    bool warmup = now->t <= now->warmup;
    double alpha = warmup ? s->warmup_alpha : s->alpha, before = (double)sampler->interventions;

    sgfs_status status = s->filled ? SGFS_OK : fill(sampler, s, theta, err);
    if (status != SGFS_OK) return status;
    status = sgfsi_eval_gradient(e, now->t, SGFSI_ROWS, theta, s->G,
                                 now->want_lp ? &stats[0] : NULL, err);
    if (status != SGFS_OK) return status;
    if (is_due(s, now)) {
        status = renew(sampler, s, now, theta, err);
        if (status != SGFS_OK) return status;
    }
    stats[1] = 2 / (e->gamma * (1 + alpha * alpha)); /* h of docs/math.md, section 1 */
    stats[2] = sqrt(e->model->be->dot(e->D, s->G, s->G));
    solve_step(sampler, s, now->t, alpha, s->G);
    e->model->be->axpy(e->D, 2 / (1 + alpha * alpha), s->G, theta);
    stats[3] = (double)sampler->interventions - before;
    return SGFS_OK;
}

static double tau(const sgfs_config *cfg, double gamma) {
    double alpha = sgfsi_config_num(cfg, "sampler.alpha");
    return gamma * (1 + alpha * alpha) - 1;
}

static const char *caution(const sgfs_config *cfg, const char *fisher) {
    if (strcmp(fisher, "full") != 0) {
        return "SGFS with a diagonal matrix is approximate where parameters are correlated: means "
               "are right, variances and correlations may not be, most of all at small alpha. "
               "Compare with sgfs-f, or with a larger --alpha.";
    }
    if (!sgfsi_config_flag(cfg, "sampler.prior_in_matrix")) {
        return "The prior is left out of the matrix, as in the paper: approximate where the prior "
               "matters.";
    }
    return NULL;
}

static const char *const stats[] = {"lp", "step_size", "grad_norm", "ridges", NULL};

const sgfs_sampler_kind sgfs_sampler_sgfs = {
    .name = "sgfs",
    .help =
        "stochastic gradient Fisher scoring (needs --fisher; sgfs-f and sgfs-d are short for it)",
    .options = options,
    .uses_fisher = true,
    .stats = stats,
    .resolve = resolve,
    .open = open_sgfs,
    .step = step,
    .tau = tau,
    .caution = caution,
};
