/* SPDX-License-Identifier: MIT
 * sgfs_plan.c: what SGFS reads of the options, what it chooses where they say "auto", which of them
 * contradict each other, and how it describes itself. The step is in sgfs.c.
 */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "sampler/sgfs_matrix.h"

typedef sgfsi_sgfs_settings settings;
#define AT(field) offsetof(settings, field)
const sgfsi_setting sgfsi_sgfs_setting_list[] = {
    {"sampler.alpha", AT(anneal.from), "alpha", true},
    {"sampler.epsilon", AT(epsilon), NULL, false},
    {"sampler.warmup_alpha", AT(anneal.warmup), NULL, false},
    {"sampler.anneal", AT(anneal.name), NULL, false},
    {"sampler.anneal_alpha", AT(anneal.to), NULL, false},
    {"sampler.b", AT(b), "B", false},
    {"sampler.b_scale", AT(b_scale), "B scale", false},
    {"sampler.b_file", AT(b_file), NULL, false},
    {"sampler.prior_in_matrix", AT(prior_in_matrix), NULL, false},
    {"sampler.warmup_by", AT(warmup_by), NULL, false},
    {"sampler.cycles", AT(anneal.cycles), NULL, false},
    {"sampler.cycle_explore", AT(anneal.explore), NULL, false},
    {"run.preset", AT(preset), NULL, false},
    SGFSI_SETTINGS_END};

const sgfs_option sgfsi_sgfs_options[] = {
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
    {"sampler.b_file", "b-file", SGFS_FILE, "", 1, 0, NULL,
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
static double automatic_alpha(bool full, double gamma, double events, bool own_b) {
    double most = 0.1 * fmin(1, events / few_events);
    double alpha = sqrt(fmax(0, 2 / (most * gamma) - 1));
    if (!full) alpha = fmax(alpha, 2);
    return own_b ? fmax(alpha, 1) : alpha; /* at 0 no noise is injected, and B would not matter */
}

/* A B other than the Fisher matrix is asked for. */
static bool has_own_b(const settings *set) {
    return strcmp(set->b, "fisher") != 0 || set->b_file[0] != '\0';
}

/* Annealing by default to a tenth of the first step: 1 + alpha_1^2 = 10 (1 + alpha_0^2). */
static sgfs_status plan_alpha(sgfsi_plan *plan, bool full, const sgfs_problem *now, sgfs_err *err) {
    settings *set = plan->settings;
    sgfsi_anneal *a = &set->anneal;
    bool eps_given = !isnan(set->epsilon);
    if (eps_given && !isnan(a->from)) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--alpha and --epsilon say the same thing (alpha = 2/sqrt(epsilon)): "
                          "give one of them.");
    }
    if (isnan(a->from)) a->from = automatic_alpha(full, now->gamma, now->events, has_own_b(set));
    if (eps_given) a->from = 2 / sqrt(set->epsilon);
    a->delta = sgfsi_anneal_delta(a->name);
    bool anneals = a->delta > 0;
    if (anneals && a->cycles > 0)
        return sgfsi_fail(err, SGFS_EUSAGE, "--anneal and --cycles are two schedules: give one.");
    if (a->cycles == 0 && sgfsi_config_given(plan->cfg, "sampler.cycle_explore"))
        return sgfsi_fail(err, SGFS_EUSAGE, "--cycle-explore needs --cycles.");
    if (!anneals && sgfsi_config_given(plan->cfg, "sampler.anneal_alpha"))
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--anneal-alpha needs --anneal (early, linear or late).");
    if (anneals && a->to < a->from) { /* false for auto */
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--anneal-alpha must not be below --alpha: annealing makes steps "
                          "smaller.");
    }
    if (anneals && isnan(a->to)) a->to = sqrt(10 * (1 + a->from * a->from) - 1);
    if (!isnan(a->warmup)) return SGFS_OK;
    a->warmup = automatic_alpha(true, now->gamma, now->events, false);
    if (!full && now->model->kind->redundant) /* the first steps would saturate hidden units */
        a->warmup = fmax(a->warmup, fmin(a->from, 3));
    return SGFS_OK;
}

/* No draw has injected noise. */
static bool is_silent(const sgfsi_anneal *a) {
    return a->from == 0 && a->delta == 0 && a->cycles <= 0;
}

static sgfs_status plan_b(settings *set, const sgfs_config *cfg, sgfs_err *err) {
    bool file = set->b_file[0] != '\0';
    if (file && sgfsi_config_given(cfg, "sampler.b") && strcmp(set->b, "file") != 0) {
        return sgfsi_fail(err, SGFS_EUSAGE, "--b-file is read with --b file, not with --b %s.",
                          set->b);
    }
    if (!file && strcmp(set->b, "file") == 0)
        return sgfsi_fail(err, SGFS_EUSAGE, "--b file needs --b-file FILE.");
    if (strcmp(set->b, "fisher") == 0 && !file && !isnan(set->b_scale)) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--b-scale has no meaning with --b fisher: there --alpha is the scale.");
    }
    if (has_own_b(set) && is_silent(&set->anneal))
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "At --alpha 0 no noise is injected and --b has no effect: give a larger "
                          "--alpha.");
    if (file) set->b = "file";
    return SGFS_OK;
}

/* The whole matrix, by its factor or by its inverse. */
static bool is_whole(const sgfs_problem *now) {
    return strcmp(now->fisher, "full") == 0 || strcmp(now->fisher, "inverse") == 0;
}

/* fisher.update, where it is left free: whichever takes least time (bench/fisher.c). throughout: no
 * step injects noise, not in warm-up either: what the inverse alone can do. */
static sgfs_status plan_update(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    const settings *set = plan->settings;
    const char **update = &plan->fisher.update;
    bool throughout = is_silent(&set->anneal) && set->anneal.warmup == 0;
    bool inverse = strcmp(now->fisher, "inverse") == 0, fisher = strcmp(set->b, "fisher") == 0;
    int64_t own = plan->fisher.block_size, block = own <= 0 ? now->block : own;
    bool blocks = strcmp(now->fisher, "block") == 0;
    int64_t size = blocks && block < now->D ? block : now->D;
    if (strcmp(*update, "auto") == 0) {
        bool diag = strcmp(now->fisher, "diag") == 0;
        bool far = now->model->ctx.device->ops->alloc != NULL; /* many small steps are slow there */
        *update = inverse ? "woodbury"
                  : diag || !fisher || far
                      ? "refactor"
                      : sgfsi_update_best(size, now->n, throughout && !blocks ? 0 : 1);
    }
    bool woodbury = strcmp(*update, "woodbury") == 0;
    if (inverse && !woodbury)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--fisher inverse means --fisher-update woodbury, not %s.", *update);
    if (strcmp(*update, "refactor") == 0) return SGFS_OK;
    if (!fisher) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--fisher-update %s needs --b fisher: another B is added to the matrix "
                          "anew each time (--fisher-update refactor).",
                          *update);
    }
    if (!woodbury || (is_whole(now) && throughout)) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--fisher-update woodbury keeps the inverse of the full matrix and can "
                      "inject no noise: it needs --sampler sgfs-f --alpha 0 --warmup-alpha 0 "
                      "(--fisher-update cholesky has no such limits).");
}

/* The literal settings of the paper, where the user gave no others. */
static void apply_preset(sgfsi_plan *plan, const char *fisher) {
    settings *set = plan->settings;
    sgfsi_fisher_settings *f = &plan->fisher;
    const sgfs_config *cfg = plan->cfg;
    if (strcmp(set->preset, "paper") != 0) return;
    if (!sgfsi_config_given(cfg, "sampler.prior_in_matrix")) set->prior_in_matrix = false;
    if (!sgfsi_config_given(cfg, "fisher.kappa")) f->kappa = "harmonic";
    if (!sgfsi_config_given(cfg, "fisher.fill")) f->fill = 0;
    if (!sgfsi_config_given(cfg, "fisher.every")) f->turns.every = 1;
    if (!sgfsi_config_given(cfg, "fisher.ridge")) f->ridge = 0;
    if (!sgfsi_config_given(cfg, "sampler.warmup_by")) set->warmup_by = "scores";
    if (strcmp(fisher, "diag") == 0 && !sgfsi_config_given(cfg, "fisher.divisor")) f->divisor = "n";
    if (!sgfsi_config_given(cfg, "sampler.warmup_alpha")) set->anneal.warmup = set->anneal.from;
}

/* ridge: Combinations of parameters that the data hardly know have hardly any information, and a
 * step by its inverse throws them away: without a ridge networks saturate in their first steps, and
 * the coefficients of a label of few rows run far away. The ridge is matched by noise, and as
 * exact. every: Once settled, I1hat is an average over thousands of batches: leaving out nine
 * updates of ten changes no measure that the tests know, and a full one costs more than all the
 * rest of a step. warm-up: the chain forgets its start by a factor e every gamma/2 iterations at
 * alpha 0. */
sgfs_status sgfsi_sgfs_plan(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err) {
    settings *set = plan->settings;
    bool full = is_whole(now), diag = strcmp(now->fisher, "diag") == 0;
    sgfs_status status = plan_alpha(plan, full, now, err);
    if (status == SGFS_OK) status = plan_b(set, plan->cfg, err);
    if (status == SGFS_OK) status = sgfsi_sgfs_matrix_check(plan, now->fisher, err);
    if (status == SGFS_OK) status = plan_update(plan, now, err);
    if (status != SGFS_OK) return status;
    bool redundant = now->model != NULL && now->model->kind->redundant;
    if (isnan(plan->fisher.ridge))
        plan->fisher.ridge = redundant || now->events < few_events ? 1e-3 : 0;
    if (full && now->D > large) {
        sgfsi_say(
            plan->log, SGFS_NOTE,
            "A full matrix of %lld parameters makes slow iterations: --sampler sgfs-d is much "
            "faster, and approximate.",
            (long long)now->D);
    }
    if (plan->fisher.turns.every < 0) plan->fisher.turns.every = diag ? 1 : 10;
    apply_preset(plan, now->fisher);
    double slow = 1 + set->anneal.warmup * set->anneal.warmup;
    sgfsi_plan_lengths(plan, fmin(fmax(ceil(10 * plan->gamma * slow), 1000), 1e15), NAN, NAN);
    /* The step h = 2/(gamma (1 + alpha^2)) must stay below 2 or the chain only mirrors itself. */
    double alpha = fmin(set->anneal.from, set->anneal.warmup);
    if (strcmp(set->b, "file") == 0 || !isnan(set->b_scale)) alpha = 0; /* B may be tiny */
    if (2 / (plan->gamma * (1 + alpha * alpha)) <= 1.9) return SGFS_OK;
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "--batch %lld leaves (almost) no gradient noise to sample with, and the step would mirror "
        "the chain: use a smaller --batch%s.",
        (long long)plan->n, strcmp(plan->scheme, "with") == 0 ? "" : ", or --batch-scheme with");
}

/* ---- how it describes itself ----------------------------------------------------------------- */

const char *sgfsi_sgfs_fixed_length(const sgfsi_plan *plan) {
    const settings *set = plan->settings;
    return set->anneal.delta > 0 ? "--anneal" : set->anneal.cycles > 0 ? "--cycles" : NULL;
}

int sgfsi_sgfs_advise(const sgfsi_plan *plan, const char *advice[2]) {
    advice[0] = isnan(((const settings *)plan->settings)->epsilon) ? "a larger --alpha"
                                                                   : "a smaller --epsilon";
    return 1;
}

void sgfsi_sgfs_describe(const sgfs_sampler *sampler, char *out, size_t room) {
    const settings *set = sampler->settings;
    const sgfsi_plan *plan = sampler->plan;
    if (set->anneal.delta > 0)
        sgfsi_append(out, room, " annealed to %s", SGFSI_DIGITS(set->anneal.to, 3));
    if (set->anneal.cycles > 0)
        sgfsi_append(out, room, " in %lld cycles", (long long)set->anneal.cycles);
    if (plan->fisher.turns.every > 1)
        sgfsi_append(out, room, ", Fisher update 1 in %lld", (long long)plan->fisher.turns.every);
    bool unnamed = strcmp(plan->kinds.name, "sgfs") == 0; /* the name does not say which matrix */
    if (unnamed) sgfsi_append(out, room, ", matrix %s", sampler->fisher->name);
}

double sgfsi_sgfs_tau(const sgfsi_plan *plan) {
    const settings *set = plan->settings;
    return strcmp(set->b, "fisher") == 0 ? plan->gamma * sgfsi_anneal_mean(&set->anneal) - 1 : 0;
}

const char *sgfsi_sgfs_caution(const sgfsi_plan *plan, const char *fisher) {
    if (strcmp(fisher, "full") != 0 && strcmp(fisher, "inverse") != 0) {
        return "SGFS with less than the full matrix is approximate where parameters are "
               "correlated: means are right, variances and correlations may not be, most of all at "
               "small alpha. Compare with sgfs-f, or with a larger --alpha.";
    }
    if (!((const settings *)plan->settings)->prior_in_matrix) {
        return "The prior is left out of the matrix, as in the paper: approximate where the prior "
               "matters.";
    }
    return NULL;
}
