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
 * Any structure of sgfs_sym works: this file does not know which it has.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sampler/anneal.h"
#include "sampler/sgfs_matrix.h"

/* Statistics of a draw beside those of every stochastic gradient. */
enum { RIDGES = SGFSI_OWN_STATS, ALPHA, PHASE, STATS };

typedef struct sgfs {
    sgfsi_sgfs_matrix K;
    sgfsi_anneal anneal;
    double *G, *z;      /* D each */
    double *root_prior; /* D, Lambda^1/2 */
    bool filled;
} sgfs;

static const sgfs_option options[] = {
    {"sampler.alpha", "alpha", SGFS_NUMBER, "auto", 0, 1e6, NULL,
     "0: largest step, fastest; larger: closer to the exact posterior (auto: 0 for many rows)"},
    {"sampler.epsilon", "epsilon", SGFS_NUMBER, "auto", 1e-300, 1e300, NULL,
     "step size; for SGFS the same as --alpha 2/sqrt(epsilon)"},
    {"sampler.warmup_alpha", "warmup-alpha", SGFS_NUMBER, "auto", 0, 1e6, NULL,
     "alpha during warm-up (auto: 0 for many rows)"},
    {"sampler.anneal", "anneal", SGFS_CHOICE, "off", 1, 0, "off|early|linear|late",
     "anytime: alpha rises to --anneal-alpha over the draws, early, evenly or late"},
    {"sampler.anneal_alpha", "anneal-alpha", SGFS_NUMBER, "auto", 0, 1e6, NULL,
     "alpha of the last draw of --anneal (auto: a tenth of the first step)"},
    {"sampler.b", "b", SGFS_CHOICE, "fisher", 1, 0, "fisher|identity|diagonal|file",
     "B of the injected noise (eq. 11): the Fisher matrix itself, or another"},
    {"sampler.b_scale", "b-scale", SGFS_NUMBER, "auto", 1e-300, 1e300, NULL,
     "factor of B (auto: 1; with identity the mean diagonal of the Fisher matrix)"},
    {"sampler.b_file", "b-file", SGFS_TEXT, "", 1, 0, NULL,
     "B from a file (.npy or text): D x D, or D numbers for a diagonal"},
    {"sampler.prior_in_matrix", "prior-in-matrix", SGFS_FLAG, "true", 1, 0, NULL,
     "count the prior in the matrix, as exactness needs (the paper does not)"},
    {"sampler.warmup_by", "warmup-by", SGFS_CHOICE, "model", 1, 0, "model|scores",
     "warm-up steps by the model's information or the scores' covariance"},
    SGFSI_CYCLE_ROWS,
    {"run.preset", "preset", SGFS_CHOICE, "none", 1, 0, "none|paper",
     "paper: the literal settings of Ahn et al. 2012"},
    SGFSI_OPTIONS_END};

/* ---- choices --------------------------------------------------------------------------------- */

/* Parameters from which on a step by the full matrix is slow. */
static const int64_t large = 500;
/* With fewer rows of a label an average over minibatches may not have met one of them. */
static const double few_events = 25;

/* The largest step that is still a small part of a Newton step, h = 2/(gamma (1 + alpha^2)) <= 0.1:
 * with many rows that is alpha 0; where the batch is a good part of few rows, the posterior's own
 * curvature changes over a larger step, and the draws would spread too far. Few events among many
 * rows are few rows: 0.1 of events/25. Less than the full matrix needs more care: at least 2. */
static double automatic_alpha(bool full, double gamma, double events) {
    double most = 0.1 * fmin(1, events / few_events);
    double alpha = sqrt(fmax(0, 2 / (most * gamma) - 1));
    return full ? alpha : fmax(alpha, 2);
}

/* A B other than the Fisher matrix is asked for. */
static bool has_own_b(const sgfs_config *cfg) {
    return strcmp(sgfsi_config_text(cfg, "sampler.b"), "fisher") != 0 ||
           !sgfsi_config_auto(cfg, "sampler.b_file");
}

static sgfs_status resolve_alpha(sgfs_config *cfg, bool full, const sgfs_problem *now,
                                 sgfs_err *err) {
    bool eps_given = !sgfsi_config_auto(cfg, "sampler.epsilon");
    if (eps_given && !sgfsi_config_auto(cfg, "sampler.alpha")) {
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "--alpha and --epsilon say the same thing (alpha = 2/sqrt(epsilon)): give "
            "one of them.");
    }
    double alpha = automatic_alpha(full, now->gamma, now->events);
    if (has_own_b(cfg))
        alpha = fmax(alpha, 1); /* at 0 no noise is injected, and B would not matter */
    if (eps_given) alpha = 2 / sqrt(sgfsi_config_num(cfg, "sampler.epsilon"));
    else if (!sgfsi_config_auto(cfg, "sampler.alpha")) return SGFS_OK;
    return sgfsi_config_resolve_num(cfg, "sampler.alpha", alpha, err);
}

/* Annealing to a tenth of the first step: 1 + alpha_1^2 = 10 (1 + alpha_0^2). */
static sgfs_status resolve_anneal(sgfs_config *cfg, sgfs_err *err) {
    bool anneals = strcmp(sgfsi_config_text(cfg, "sampler.anneal"), "off") != 0;
    double alpha = sgfsi_config_num(cfg, "sampler.alpha"),
           end = sgfsi_config_num(cfg, "sampler.anneal_alpha");
    if (anneals && sgfsi_config_int(cfg, "sampler.cycles") > 0) {
        return sgfsi_fail(err, SGFS_EUSAGE, "--anneal and --cycles are two schedules: give one.");
    }
    if (sgfsi_config_int(cfg, "sampler.cycles") == 0 &&
        sgfsi_config_given(cfg, "sampler.cycle_explore"))
        return sgfsi_fail(err, SGFS_EUSAGE, "--cycle-explore needs --cycles.");
    if (!anneals && sgfsi_config_given(cfg, "sampler.anneal_alpha")) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--anneal-alpha needs --anneal (early, linear or late).");
    }
    if (anneals && end < alpha) { /* false for auto */
        return sgfsi_fail(
            err, SGFS_EUSAGE,
            "--anneal-alpha must not be below --alpha: annealing makes steps smaller.");
    }
    if (!anneals || !isnan(end)) return SGFS_OK;
    return sgfsi_config_resolve_num(cfg, "sampler.anneal_alpha", sqrt(10 * (1 + alpha * alpha) - 1),
                                    err);
}

/* No draw has injected noise. */
static bool is_silent(const sgfs_config *cfg) {
    return sgfsi_config_num(cfg, "sampler.alpha") == 0 &&
           strcmp(sgfsi_config_text(cfg, "sampler.anneal"), "off") == 0 &&
           sgfsi_config_int(cfg, "sampler.cycles") <= 0;
}

/* Nor has any step of warm-up: what the inverse alone can do. */
static bool is_silent_throughout(const sgfs_config *cfg) {
    return is_silent(cfg) && sgfsi_config_num(cfg, "sampler.warmup_alpha") == 0;
}

static sgfs_status resolve_b(sgfs_config *cfg, sgfs_err *err) {
    bool file = !sgfsi_config_auto(cfg, "sampler.b_file");
    const char *kind = sgfsi_config_text(cfg, "sampler.b");
    if (file && sgfsi_config_given(cfg, "sampler.b") && strcmp(kind, "file") != 0) {
        return sgfsi_fail(err, SGFS_EUSAGE, "--b-file is read with --b file, not with --b %s.",
                          kind);
    }
    if (!file && strcmp(kind, "file") == 0)
        return sgfsi_fail(err, SGFS_EUSAGE, "--b file needs --b-file FILE.");
    if (strcmp(kind, "fisher") == 0 && !file && !sgfsi_config_auto(cfg, "sampler.b_scale")) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--b-scale has no meaning with --b fisher: there --alpha is the scale.");
    }
    if (has_own_b(cfg) && is_silent(cfg)) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "At --alpha 0 no noise is injected and --b has no effect: give a larger "
                          "--alpha.");
    }
    return file ? sgfsi_config_resolve(cfg, "sampler.b", "file", err) : SGFS_OK;
}

/* The whole matrix, by its factor or by its inverse. */
static bool is_whole(const sgfs_problem *now) {
    return strcmp(now->fisher, "full") == 0 || strcmp(now->fisher, "inverse") == 0;
}

static sgfs_status check_update(const sgfs_config *cfg, const sgfs_problem *now, sgfs_err *err) {
    const char *update = sgfsi_config_text(cfg, "fisher.update");
    bool inverse = strcmp(now->fisher, "inverse") == 0, woodbury = strcmp(update, "woodbury") == 0;
    if (inverse && !woodbury) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--fisher inverse means --fisher-update woodbury, not %s.", update);
    }
    if (strcmp(update, "refactor") == 0) return SGFS_OK;
    if (strcmp(sgfsi_config_text(cfg, "sampler.b"), "fisher") != 0) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--fisher-update %s needs --b fisher: another B is added to the matrix "
                          "anew each time (--fisher-update refactor).",
                          update);
    }
    if (!woodbury) return SGFS_OK;
    if (!is_whole(now) || !is_silent_throughout(cfg)) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--fisher-update woodbury keeps the inverse of the full matrix and can "
                          "inject no noise: it needs --sampler sgfs-f --alpha 0 --warmup-alpha 0 "
                          "(--fisher-update cholesky has no such limits).");
    }
    return SGFS_OK;
}

/* Whichever takes least time (bench/fisher.c). */
static const char *best_update(const sgfs_config *cfg, const sgfs_problem *now) {
    int64_t size = sgfsi_config_int(cfg, "fisher.block_size");
    if (strcmp(now->fisher, "inverse") == 0) return "woodbury";
    if (strcmp(now->fisher, "diag") == 0) return "refactor";
    if (strcmp(sgfsi_config_text(cfg, "sampler.b"), "fisher") != 0) return "refactor";
    if (strcmp(now->fisher, "block") == 0)
        return sgfsi_update_best(size <= 0 ? now->block : size < now->D ? size : now->D, now->n, 1);
    return sgfsi_update_best(now->D, now->n, is_silent_throughout(cfg) ? 0 : 1);
}

static sgfs_status resolve_update(sgfs_config *cfg, const sgfs_problem *now, sgfs_err *err) {
    if (sgfsi_config_auto(cfg, "fisher.update")) {
        sgfs_status status = sgfsi_config_resolve(cfg, "fisher.update", best_update(cfg, now), err);
        if (status != SGFS_OK) return status;
    }
    return check_update(cfg, now, err);
}

/* Combinations of parameters that the data hardly know have hardly any information, and a step by
 * its inverse throws them away: without a ridge networks saturate in their first steps, and the
 * coefficients of a label of few rows run far away. The ridge is matched by noise, and as exact. */
static sgfs_status resolve_ridge(sgfs_config *cfg, const sgfs_problem *now, sgfs_err *err) {
    bool redundant = now->model != NULL && now->model->kind->redundant;
    bool rare = now->events < few_events;
    return sgfsi_config_choose(cfg, "fisher.ridge", redundant || rare ? 1e-3 : 0, err);
}

/* Once settled, I1hat is an average over thousands of batches: leaving out nine updates of ten
 * changes no measure that the tests know, and a full one costs more than all the rest of a step. */
static sgfs_status resolve(sgfs_config *cfg, const sgfs_problem *now, sgfs_err *err) {
    bool full = is_whole(now), diag = strcmp(now->fisher, "diag") == 0;
    sgfs_status status = resolve_alpha(cfg, full, now, err);
    if (status == SGFS_OK) status = resolve_anneal(cfg, err);
    if (status == SGFS_OK) {
        double alpha = automatic_alpha(true, now->gamma, now->events);
        if (!full && now->model->kind->redundant) /* the first steps would saturate hidden units */
            alpha = fmax(alpha, fmin(sgfsi_config_num(cfg, "sampler.alpha"), 3));
        status = sgfsi_config_choose(cfg, "sampler.warmup_alpha", alpha, err);
    }
    if (status == SGFS_OK) status = resolve_b(cfg, err);
    if (status == SGFS_OK) status = sgfsi_sgfs_matrix_check(cfg, now->fisher, err);
    if (status == SGFS_OK) status = resolve_update(cfg, now, err);
    if (status == SGFS_OK) status = resolve_ridge(cfg, now, err);
    if (status == SGFS_OK && full && now->D > large) {
        sgfsi_say(
            sgfsi_config_log(cfg), SGFS_NOTE,
            "A full matrix of %lld parameters makes slow iterations: --sampler sgfs-d is much "
            "faster, and approximate.",
            (long long)now->D);
    }
    return status == SGFS_OK ? sgfsi_config_choose(cfg, "fisher.every", diag ? 1 : 10, err)
                             : status;
}

static sgfs_status open_sgfs(sgfs_sampler *sampler, sgfs_err *err) {
    int64_t D = sampler->D;
    sgfs *s = sgfsi_arena_alloc(sampler->arena, 1, sizeof *s);
    double *room = SGFSI_DOUBLES(sampler->arena, 3 * D);
    if (s == NULL || room == NULL) return sgfsi_fail_memory(err, "the sampler");
    sampler->state = s;
    s->G = room;
    s->z = room + D;
    s->root_prior = room + 2 * D;
    for (int64_t j = 0; j < D; j++) s->root_prior[j] = sqrt(sampler->model->precision[j]);
    s->anneal = sgfsi_anneal_open(sampler->cfg);
    sgfs_status status = sgfsi_cycle_check(sampler->cfg, err);
    return status == SGFS_OK ? sgfsi_sgfs_matrix_open(&s->K, sampler, err) : status;
}

/* ---- the step -------------------------------------------------------------------------------- */

static void draw(const sgfs_sampler *sampler, sgfs *s, int64_t t, uint32_t purpose) {
    sgfsi_stream stream = sgfsi_stream_at(sampler->seed, sampler->chain, t, purpose);
    sgfsi_normals(&stream, sampler->D, s->z);
}

/* x += all each z, with each a number for every parameter (NULL: 1). */
static void add_noise(const sgfs_sampler *sampler, sgfs *s, int64_t t, uint32_t purpose, double all,
                      const double *each, double *x) {
    draw(sampler, s, t, purpose);
    for (int64_t j = 0; j < sampler->D; j++) x[j] += all * (each != NULL ? each[j] : 1) * s->z[j];
}

/* What K has beyond gamma N I1hat + Lambda is matched by noise: slower, but as exact. */
static void add_prior_noise(const sgfs_sampler *sampler, sgfs *s, int64_t t, double *x) {
    const sgfsi_sgfs_matrix *K = &s->K;
    if (K->prior != NULL)
        add_noise(sampler, s, t, SGFSI_PRIOR, sqrt(K->share - 1), s->root_prior, x);
    if (K->ridge_now > 0) add_noise(sampler, s, t, SGFSI_RIDGE, sqrt(K->ridge_now), NULL, x);
}

/* x += alpha B^1/2 z1, for a B that is not K. */
static void add_injected(const sgfs_sampler *sampler, sgfs *s, int64_t t, double alpha, double *x) {
    const sgfsi_injected *B = &s->K.B;
    if (B->root != NULL) {
        add_noise(sampler, s, t, SGFSI_NOISE, alpha, B->root, x);
        return;
    }
    draw(sampler, s, t, SGFSI_NOISE);
    B->full.kind->mul_factor(&B->full_root, false, s->z);
    sgfsi_axpy(sampler->model->ctx.device, sampler->D, alpha, s->z, x);
}

/* x = G  ->  the step. An exploring step is the same without noise. Returns the factor in front of
 * K^-1 G. */
static double solve_step(const sgfs_sampler *sampler, sgfs *s, int64_t t, double alpha,
                         bool explores, double *x) {
    const sgfs_sym *L = &s->K.L;
    bool ours = s->K.B.is_fisher;
    bool injects = alpha > 0 && !explores;
    if (!explores) add_prior_noise(sampler, s, t, x);
    if (injects && !ours) add_injected(sampler, s, t, alpha, x);
    L->kind->solve(L, false, x);
    if (injects && ours) add_noise(sampler, s, t, SGFSI_NOISE, alpha, NULL, x);
    L->kind->solve(L, true, x);
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
    stats[RIDGES] = (double)sampler->interventions - before;
    stats[ALPHA] = at.alpha;
    stats[PHASE] = at.phase;
    sampler->exploring = at.explores;
    return SGFS_OK;
}

static void fields(const sgfs_sampler *sampler, sgfsi_fields *list) {
    sgfs *s = sampler->state;
    SGFSI_FIELD_ONE(list, s, filled);
    sgfsi_fields_enter(list, "K");
    sgfsi_sgfs_matrix_fields(&s->K, list);
    sgfsi_fields_leave(list);
}

static double tau(const sgfs_config *cfg, double gamma) {
    if (strcmp(sgfsi_config_text(cfg, "sampler.b"), "fisher") != 0) return 0;
    sgfsi_anneal a = sgfsi_anneal_open(cfg);
    return gamma * sgfsi_anneal_mean(&a) - 1;
}

static const char *caution(const sgfs_config *cfg, const char *fisher) {
    if (strcmp(fisher, "full") != 0 && strcmp(fisher, "inverse") != 0) {
        return "SGFS with less than the full matrix is approximate where parameters are "
               "correlated: means are right, variances and correlations may not be, most of all at "
               "small alpha. Compare with sgfs-f, or with a larger --alpha.";
    }
    if (!sgfsi_config_flag(cfg, "sampler.prior_in_matrix")) {
        return "The prior is left out of the matrix, as in the paper: approximate where the prior "
               "matters.";
    }
    return NULL;
}

static const char *const stats[] = {SGFSI_GRADIENT_STATS, [RIDGES] = "ridges", [ALPHA] = "alpha",
                                    [PHASE] = "phase", [STATS] = NULL};

const sgfs_sampler_kind sgfs_sampler_sgfs = {
    .name = "sgfs",
    .help = "stochastic gradient Fisher scoring (needs --fisher; sgfs-f, sgfs-d and sgfs-b are "
            "short for it)",
    .options = options,
    .uses_fisher = true,
    .stats = stats,
    .resolve = resolve,
    .open = open_sgfs,
    .step = step,
    .fields = fields,
    .tau = tau,
    .caution = caution,
};
