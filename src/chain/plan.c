/* SPDX-License-Identifier: MIT
 * plan.c: chooses what was left to the program and refuses what cannot work, before any work is
 * done.
 *
 * The automatic lengths rest on the theory of the quadratic posterior (docs/math.md): the chain
 * forgets its start by a factor e every gamma/2 iterations at alpha 0, and its autocorrelation time
 * is tau = gamma (1 + alpha^2) - 1.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/threads.h"
#include "chain/plan.h"

/* ---- kinds ----------------------------------------------------------------------------------- */

static sgfs_status unknown_sampler(const char *name, sgfs_err *err) {
    const char *best = sgfsi_sampler_names[0].name;
    for (const sgfsi_sampler_name *s = sgfsi_sampler_names; s->name != NULL; s++) {
        if (sgfsi_distance(name, s->name) < sgfsi_distance(name, best)) best = s->name;
    }
    if (sgfsi_is_near(name, sgfsi_distance(name, best))) {
        return sgfsi_fail(err, SGFS_EUSAGE, "There is no sampler \"%s\". Did you mean \"%s\"?",
                          name, best);
    }
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "There is no sampler \"%s\". There are exact, sgfs-cv, sgfs-f, nuts and others: `sgfs "
        "list samplers`.",
        name);
}

sgfs_status sgfsi_choose_kinds(const sgfs_config *cfg, sgfsi_kinds *kinds, sgfs_err *err) {
    const char *name =
        sgfsi_config_auto(cfg, "sampler.kind") ? "sgfs-f" : sgfsi_config_text(cfg, "sampler.kind");
    const sgfsi_sampler_name *s = sgfsi_sampler_find(name);
    if (s == NULL) return unknown_sampler(name, err);
    const char *fisher = sgfsi_config_text(cfg, "fisher.kind");
    if (s->fisher[0] != '\0' && sgfsi_config_given(cfg, "fisher.kind") &&
        strcmp(s->fisher, fisher) != 0) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--sampler %s already means --fisher %s; use --sampler sgfs to "
                          "choose another.",
                          name, s->fisher);
    }
    kinds->name = s->name;
    kinds->sampler = s->kind;
    kinds->fisher =
        s->kind->uses_fisher ? sgfsi_fisher_find(s->fisher[0] != '\0' ? s->fisher : fisher) : NULL;
    kinds->scheme = sgfsi_scheme_find(sgfsi_config_text(cfg, "run.batch_scheme")); /* NULL: auto */
    return SGFS_OK;
}

/* ---- options that belong to somebody else ---------------------------------------------------- */

/* Does this run read the options of the set? */
static bool reads(const sgfs_model *model, const sgfsi_kinds *kinds, const sgfsi_option_set *set) {
    if (strcmp(set->stage, "model") == 0) return strcmp(set->kind, model->kind->name) == 0;
    if (strcmp(set->stage, "sampler") == 0) return strcmp(set->kind, kinds->sampler->name) == 0;
    if (set->need == SGFSI_MINIBATCH) return !kinds->sampler->full_data;
    return set->need == SGFSI_ANY || kinds->fisher != NULL;
}

/* Does anything in this run read the key? other: somebody who would. */
static bool is_read(const sgfs_model *model, const sgfsi_kinds *kinds, const char *key,
                    sgfsi_option_set *other) {
    sgfsi_option_set set;
    for (int64_t i = 0; sgfsi_option_sets(i, &set); i++) {
        if (!sgfsi_options_have(set.rows, key)) continue;
        *other = set;
        if (reads(model, kinds, &set)) return true;
    }
    return false;
}

/* other: somebody who would read it. */
static const sgfs_option *find_unread(const sgfs_config *cfg, const sgfs_model *model,
                                      const sgfsi_kinds *kinds, sgfsi_option_set *other) {
    const sgfs_option *row;
    for (int64_t i = 0; (row = sgfsi_config_at(cfg, i)) != NULL; i++) {
        *other = (sgfsi_option_set){"", "", NULL, SGFSI_ANY};
        if (sgfsi_config_given(cfg, row->key) && !is_read(model, kinds, row->key, other))
            return row;
    }
    return NULL;
}

const sgfs_option *sgfsi_first_unread(const sgfs_config *cfg, const sgfs_model *model,
                                      const sgfsi_kinds *kinds) {
    sgfsi_option_set other;
    return find_unread(cfg, model, kinds, &other);
}

void sgfsi_list_readers(const char *key, char *out, size_t room) {
    static const char *const who[] = {
        [SGFSI_MINIBATCH] = "samplers that use minibatches",
        [SGFSI_MATRIX] = "samplers with a Fisher matrix (sgfs-f, sgfs-d, sgfs-b, sgfs-cv)"};
    sgfsi_option_set set;
    out[0] = '\0';
    for (int64_t i = 0; sgfsi_option_sets(i, &set); i++) {
        size_t used = strlen(out);
        if (!sgfsi_options_have(set.rows, key)) continue;
        snprintf(out + used, room - used, "%s%s", used > 0 ? ", " : "",
                 set.need != SGFSI_ANY ? who[set.need] : set.kind);
    }
}

static sgfs_status check_unread(const sgfs_config *cfg, const sgfs_model *model,
                                const sgfsi_kinds *kinds, sgfs_err *err) {
    sgfsi_option_set other;
    char readers[200];
    const sgfs_option *row = find_unread(cfg, model, kinds, &other);
    if (row == NULL) return SGFS_OK;
    sgfsi_list_readers(row->key, readers, sizeof readers);
    bool kinded = other.kind[0] != '\0';
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--%s has no meaning for model %s with sampler %s; it is read by %s%s%s.",
                      row->flag, model->kind->name, kinds->name, kinded ? other.stage : "",
                      kinded ? " " : "", readers);
}

/* ---- the paper's own settings ---------------------------------------------------------------- */

static sgfs_status apply_preset(sgfs_config *cfg, const sgfsi_kinds *kinds, sgfs_err *err) {
    static const char *const paper[][2] = {{"sampler.prior_in_matrix", "false"},
                                           {"fisher.kappa", "harmonic"},
                                           {"fisher.fill", "0"},
                                           {"fisher.every", "1"},
                                           {"fisher.ridge", "0"},
                                           {"sampler.warmup_by", "scores"}};
    bool wanted = strcmp(sgfsi_config_text(cfg, "run.preset"), "paper") == 0;
    if (!wanted || kinds->fisher == NULL) return SGFS_OK;
    sgfs_status status = SGFS_OK;
    for (size_t i = 0; i < sizeof paper / sizeof paper[0] && status == SGFS_OK; i++) {
        if (sgfsi_config_given(cfg, paper[i][0])) continue;
        status = sgfsi_config_resolve(cfg, paper[i][0], paper[i][1], err);
    }
    bool is_diag = strcmp(kinds->fisher->name, "diag") == 0;
    if (status == SGFS_OK && is_diag && !sgfsi_config_given(cfg, "fisher.divisor")) {
        status = sgfsi_config_resolve(cfg, "fisher.divisor", "n", err);
    }
    if (status == SGFS_OK && !sgfsi_config_given(cfg, "sampler.warmup_alpha")) {
        status = sgfsi_config_resolve(cfg, "sampler.warmup_alpha",
                                      sgfsi_config_text(cfg, "sampler.alpha"), err);
    }
    return status;
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* Ten rows a parameter. Where the matrix costs more than the scores, beyond 2,000 rows, two: an
 * iteration then costs n D^2 + D^3/3, and tau falls as 1/n: more rows gain little for the draws, and
 * warm-up, which has a thousand iterations at least, pays for them. */
static int64_t automatic_batch(int64_t W, int64_t D) {
    int64_t n = 10 * D, most = W / 4 > 2 ? W / 4 : 2;
    if (n > 2000) n = 2 * D > 2000 ? 2 * D : 2000;
    if (n < 500) n = 500;
    return n < most ? n : most;
}

/* Minibatches pay for every copy of a row, all rows together only once. */
static void tell_weights(const sgfs_model *m, const sgfs_config *cfg) {
    if (m->data->weight == NULL || m->data->total < 50 * (double)m->data->N) return;
    sgfsi_say(
        sgfsi_config_log(cfg), SGFS_NOTE,
        "The weights make %.3g rows of %lld: minibatches need as many iterations as for so many "
        "rows. --sampler nuts reads the rows as they are and will be faster.",
        m->data->total, (long long)m->data->N);
}

/* Chunks where the rows were shuffled and are many enough; else single rows, and why. */
static void choose_scheme(const sgfs_config *cfg, const sgfs_model *m, int64_t n,
                          sgfsi_kinds *kinds) {
    const sgfs_data *d = m->data;
    bool chunks =
        sgfsi_data_is_shuffled(d) && d->weight == NULL && sgfsi_chunk_rows(d, n, m->D) > 1;
    if (kinds->scheme == NULL) kinds->scheme = chunks ? &sgfs_scheme_chunks : &sgfs_scheme_with;
    if (!sgfsi_data_is_shuffled(d) || chunks) return;
    if (d->weight != NULL) {
        sgfsi_say(sgfsi_config_log(cfg), SGFS_NOTE,
                  "Rows that have weights are drawn one by one, not in chunks.");
    } else if (sgfsi_data_is_mapped(d)) {
        sgfsi_say(sgfsi_config_log(cfg), SGFS_NOTE,
                  "Rows are drawn one by one: %lld are too few for chunks of several with %lld "
                  "parameters (docs/math.md).",
                  (long long)d->N, (long long)m->D);
    }
}

static sgfs_status plan_gamma(const sgfs_model *m, const sgfsi_kinds *kinds, sgfsi_plan *plan,
                              sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfs_urn urn;
    const sgfsi_rows_plan rows = {.n = plan->n, .parameters = m->D};
    sgfs_status status = sgfsi_urn_open(&urn, m->data, kinds->scheme, &rows, &arena, err);
    if (status == SGFS_OK) {
        plan->gamma = kinds->scheme->gamma(&urn);
        plan->chunk = urn.chunk;
    }
    sgfsi_arena_free(&arena);
    return status;
}

static sgfs_status plan_batch(sgfs_config *cfg, const sgfs_model *m, sgfsi_kinds *kinds,
                              sgfsi_plan *plan, sgfs_err *err) {
    int64_t N = m->data->N, W = (int64_t)fmin(m->data->total, 1e15);
    plan->gamma = 1;
    plan->n = N;
    if (kinds->sampler->full_data) return SGFS_OK;
    if (W > N) N = W; /* so many copies of rows there are to draw from */
    plan->n = sgfsi_config_int(cfg, "run.batch");
    if (sgfsi_config_auto(cfg, "run.batch")) {
        int64_t (*own)(int64_t W, int64_t D) = kinds->sampler->batch;
        bool theirs = own != NULL && m->kind->one_mode;
        plan->n = theirs ? own(W, m->D) : automatic_batch(W, m->D);
    }
    if (plan->n > N) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--batch %lld is more than the %lld rows of %s; it must lie "
                          "between 2 and %lld.",
                          (long long)plan->n, (long long)N, m->data->path, (long long)N);
    }
    choose_scheme(cfg, m, plan->n, kinds);
    sgfs_status status = plan_gamma(m, kinds, plan, err);
    if (status != SGFS_OK) return status;
    tell_weights(m, cfg);
    return sgfsi_config_resolve(cfg, "run.batch_scheme", kinds->scheme->name, err);
}

/* The step h = 2/(gamma (1 + alpha^2)) must stay below 2 or the chain only mirrors itself. */
static sgfs_status check_noise(const sgfs_config *cfg, const sgfsi_kinds *kinds,
                               const sgfsi_plan *plan, sgfs_err *err) {
    if (!sgfsi_options_have(kinds->sampler->options, "sampler.warmup_alpha")) return SGFS_OK;
    double alpha =
        fmin(sgfsi_config_num(cfg, "sampler.alpha"), sgfsi_config_num(cfg, "sampler.warmup_alpha"));
    bool file = strcmp(sgfsi_config_text(cfg, "sampler.b"), "file") == 0;
    if (file || !sgfsi_config_auto(cfg, "sampler.b_scale")) alpha = 0; /* B may be tiny */
    if (2 / (plan->gamma * (1 + alpha * alpha)) <= 1.9) return SGFS_OK;
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "--batch %lld leaves (almost) no gradient noise to sample with, and the step would mirror "
        "the chain: use a smaller --batch%s.",
        (long long)plan->n, kinds->scheme == &sgfs_scheme_with ? "" : ", or --batch-scheme with");
}

static int64_t at_least(double x, int64_t least) {
    const double most = 1e15; /* the bound of --draws */
    return x > most ? (int64_t)most : x > (double)least ? (int64_t)ceil(x) : least;
}

static void plan_lengths(const sgfs_config *cfg, const sgfsi_kinds *kinds, sgfsi_plan *plan) {
    double slow = 1;
    plan->tau = kinds->sampler->tau != NULL ? kinds->sampler->tau(cfg, plan->gamma) : 0;
    if (sgfsi_options_have(kinds->sampler->options, "sampler.warmup_alpha")) {
        double a = sgfsi_config_num(cfg, "sampler.warmup_alpha");
        slow = 1 + a * a;
    }
    plan->warmup = sgfsi_config_int(cfg, "run.warmup");
    if (sgfsi_config_auto(cfg, "run.warmup"))
        plan->warmup = at_least(10 * plan->gamma * slow, 1000);
    bool draws_auto = sgfsi_config_auto(cfg, "run.draws"),
         thin_auto = sgfsi_config_auto(cfg, "run.thin");
    plan->draws = sgfsi_config_int(cfg, "run.draws");
    plan->thin = sgfsi_config_int(cfg, "run.thin");
    if (draws_auto) plan->draws = plan->tau > 0 ? at_least(400 * plan->tau, 1000) : 10000;
    if (thin_auto) plan->thin = draws_auto ? (plan->draws + 999) / 1000 : 1;
    if (draws_auto) plan->draws = (plan->draws + plan->thin - 1) / plan->thin * plan->thin;
}

/* Where alpha or the step follows a schedule over the draws, more of them are another schedule. */
static bool has_schedule(const sgfs_config *cfg, const sgfsi_kinds *kinds) {
    const sgfs_option *rows = kinds->sampler->options;
    return (sgfsi_options_have(rows, "sampler.anneal") &&
            strcmp(sgfsi_config_text(cfg, "sampler.anneal"), "off") != 0) ||
           (sgfsi_options_have(rows, "sampler.cycles") &&
            sgfsi_config_int(cfg, "sampler.cycles") > 0);
}

/* Of many modes, chains that never meet have no effective sample size to wait for; an optimiser has
 * none at all. */
static sgfs_status plan_ess(sgfs_config *cfg, const sgfs_model *m, const sgfsi_kinds *kinds,
                            bool draws_auto, sgfsi_plan *plan, sgfs_err *err) {
    const double usual = 400; /* 100 for each of four chains (Vehtari et al. 2021) */
    bool schedule = has_schedule(cfg, kinds);
    bool fits = m->kind->one_mode && !schedule && !kinds->sampler->optimiser;
    plan->ess = sgfsi_config_num(cfg, "run.ess");
    if (sgfsi_config_auto(cfg, "run.ess")) plan->ess = draws_auto && fits ? usual : 0;
    if (plan->ess > 0 && schedule) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--ess cannot lengthen a run whose steps follow --anneal or --cycles: "
                          "give --draws.");
    }
    return sgfsi_config_resolve_num(cfg, "run.ess", plan->ess, err);
}

/* What was chosen goes back into the config, and from there into the run file, whose config must be
 * one that the same run can be made with: no batch where none is drawn. */
static sgfs_status record(sgfs_config *cfg, const sgfsi_kinds *kinds, const sgfsi_plan *plan,
                          sgfs_err *err) {
    const struct {
        const char *key;
        int64_t value;
    } chosen[] = {{"run.batch", plan->n},
                  {"run.warmup", plan->warmup},
                  {"run.draws", plan->draws},
                  {"run.thin", plan->thin},
                  {"run.threads", plan->threads * plan->inner}};
    sgfs_status status = sgfsi_config_resolve(cfg, "sampler.kind", kinds->name, err);
    for (size_t i = 0; i < sizeof chosen / sizeof chosen[0] && status == SGFS_OK; i++) {
        if (i == 0 && kinds->sampler->full_data) continue;
        status = sgfsi_config_resolve_num(cfg, chosen[i].key, (double)chosen[i].value, err);
    }
    return status;
}

static int64_t largest_block(const sgfs_model *m) {
    int64_t most = 0;
    for (int64_t b = 0; b < m->blocks; b++) {
        int64_t size = m->block[b].rows * m->block[b].cols;
        if (size > most) most = size;
    }
    return most;
}

sgfs_status sgfsi_plan_make(sgfs_config *cfg, const sgfs_model *model, sgfsi_kinds *kinds,
                            sgfsi_plan *plan, sgfs_err *err) {
    const char *fisher = kinds->fisher != NULL ? kinds->fisher->name : "";
    bool draws_auto = sgfsi_config_auto(cfg, "run.draws"); /* a sampler may have its own number */
    sgfs_status status = check_unread(cfg, model, kinds, err);
    if (status == SGFS_OK) status = plan_batch(cfg, model, kinds, plan, err);
    if (status != SGFS_OK) return status;
    if (kinds->sampler->resolve != NULL) {
        sgfs_problem now = {.model = model,
                            .fisher = fisher,
                            .N = model->data->total,
                            .n = plan->n,
                            .D = model->D,
                            .block = largest_block(model),
                            .events = model->events,
                            .gamma = plan->gamma};
        status = kinds->sampler->resolve(cfg, &now, err);
    }
    if (status == SGFS_OK) status = apply_preset(cfg, kinds, err);
    if (status != SGFS_OK) return status;
    status = check_noise(cfg, kinds, plan, err);
    if (status != SGFS_OK) return status;
    plan_lengths(cfg, kinds, plan);
    status = plan_ess(cfg, model, kinds, draws_auto, plan, err);
    if (status != SGFS_OK) return status;
    plan->chains = sgfsi_config_int(cfg, "run.chains");
    plan->seed = (uint64_t)sgfsi_config_int(cfg, "run.seed");
    sgfsi_split split =
        sgfsi_context_split(&model->ctx, sgfsi_threads(sgfsi_config_int(cfg, "run.threads")),
                            plan->chains, kinds->sampler->full_data);
    plan->threads = split.chains;
    plan->inner = split.inside;
    if (plan->thin > plan->draws) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--thin %lld is more than --draws %lld: no draw would be kept.",
                          (long long)plan->thin, (long long)plan->draws);
    }
    return record(cfg, kinds, plan, err);
}
