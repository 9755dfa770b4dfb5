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
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "chain/choose.h"
#include "chain/start.h"
#include "model/scales.h"

/* ---- kinds ----------------------------------------------------------------------------------- */

static sgfs_status unknown_sampler(const char *name, sgfs_err *err) {
    sgfsi_guess g = {.word = name, .least = INT64_MAX};
    for (const sgfsi_sampler_name *s = sgfsi_sampler_names; s->name != NULL; s++)
        sgfsi_guess_try(&g, s->name);
    const char *near = sgfsi_guess_near(&g);
    if (near != NULL)
        return sgfsi_fail(err, SGFS_EUSAGE, "There is no sampler \"%s\". Did you mean \"%s\"?",
                          name, near);
    return sgfsi_fail(
        err, SGFS_EUSAGE,
        "There is no sampler \"%s\". There are exact, sgfs-cv, sgfs-f, nuts and others: `sgfs "
        "list samplers`.",
        name);
}

sgfs_status sgfsi_choose_kinds(const sgfs_config *cfg, const char *name, sgfsi_kinds *kinds,
                               sgfs_err *err) {
    if (name == NULL && sgfsi_config_auto(cfg, "sampler.kind")) name = "sgfs-f";
    if (name == NULL) name = sgfsi_config_text(cfg, "sampler.kind");
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
    if (strcmp(set->stage, "model") == 0) return set->rows == model->kind->options;
    if (strcmp(set->stage, "sampler") == 0) return strcmp(set->kind, kinds->sampler->name) == 0;
    if (set->need == SGFSI_MINIBATCH) return !kinds->sampler->full_data;
    return set->need == SGFSI_ANY || kinds->fisher != NULL;
}

/* Does anything in this run read the key? other: somebody who would. */
static bool is_read(const sgfs_config *cfg, const sgfs_model *model, const sgfsi_kinds *kinds,
                    const char *key, sgfsi_option_set *other) {
    sgfsi_option_set set;
    *other = (sgfsi_option_set){"", "", NULL, SGFSI_ANY};
    for (int64_t i = 0; sgfsi_config_sets(cfg, i, &set); i++) {
        if (!sgfsi_options_have(set.rows, key)) continue;
        *other = set;
        if (reads(model, kinds, &set)) return true;
    }
    return false;
}

const sgfs_option *sgfsi_next_unread(const sgfs_config *cfg, const sgfs_model *model,
                                     const sgfsi_kinds *kinds, int64_t *index) {
    sgfsi_option_set other;
    const sgfs_option *row;
    while ((row = sgfsi_config_at(cfg, (*index)++)) != NULL) {
        if (sgfsi_config_given(cfg, row->key) && !is_read(cfg, model, kinds, row->key, &other))
            return row;
    }
    return NULL;
}

/* The samplers with a matrix: all of them, or those whose matrix --fisher names. */
static size_t list_matrix_samplers(bool named_by_option, char *out, size_t room) {
    size_t used = 0;
    for (const sgfsi_sampler_name *s = sgfsi_sampler_names; s->name != NULL && used < room; s++) {
        if (!s->kind->uses_fisher || (named_by_option && s->fisher[0] != '\0')) continue;
        used += (size_t)snprintf(out + used, room - used, "%s%s", used > 0 ? ", " : "", s->name);
    }
    return used;
}

void sgfsi_list_readers(const sgfs_config *cfg, const char *key, char *out, size_t room) {
    sgfsi_option_set set;
    size_t used = 0;
    out[0] = '\0';
    for (int64_t i = 0; sgfsi_config_sets(cfg, i, &set) && used < room; i++) {
        if (!sgfsi_options_have(set.rows, key)) continue;
        if (used > 0) used += (size_t)snprintf(out + used, room - used, ", ");
        if (used >= room) return;
        const char *who = set.need == SGFSI_MATRIX      ? "samplers "
                          : set.need == SGFSI_MINIBATCH ? "samplers that use minibatches"
                                                        : set.kind;
        used += (size_t)snprintf(out + used, room - used, "%s", who);
        if (set.need == SGFSI_MATRIX && used < room)
            used += list_matrix_samplers(strcmp(set.stage, "run") == 0, out + used, room - used);
    }
}

sgfs_status sgfsi_unread_fail(const sgfsi_plan *plan, const sgfs_model *model,
                              const sgfs_option *row, sgfs_err *err) {
    sgfsi_option_set other;
    char readers[200];
    sgfsi_list_readers(plan->cfg, row->key, readers, sizeof readers);
    (void)is_read(plan->cfg, model, &plan->kinds, row->key, &other);
    bool kinded = other.kind[0] != '\0';
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "--%s has no meaning for model %s with sampler %s; it is read by %s%s%s.",
                      row->flag, model->kind->name, plan->kinds.name, kinded ? other.stage : "",
                      kinded ? " " : "", readers);
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* Ten rows a parameter. Where the matrix costs more than the scores, beyond 2,000 rows, two: an
 * iteration then costs n D^2 + D^3/3, and tau falls as 1/n: more rows gain little for the draws,
 * and warm-up, which has a thousand iterations at least, pays for them. */
static int64_t automatic_batch(int64_t W, int64_t D) {
    int64_t n = 10 * D, most = W / 4 > 2 ? W / 4 : 2;
    if (n > 2000) n = 2 * D > 2000 ? 2 * D : 2000;
    if (n < 500) n = 500;
    return n < most ? n : most;
}

/* Chunks where the rows were shuffled and are many enough; else single rows, and why. */
static void choose_scheme(sgfsi_plan *plan, const sgfs_model *m) {
    const sgfs_data *d = m->data;
    bool chunks =
        sgfsi_data_is_shuffled(d) && d->weight == NULL && sgfsi_chunk_rows(d, plan->n, m->D) > 1;
    if (plan->kinds.scheme == NULL)
        plan->kinds.scheme = chunks ? &sgfs_scheme_chunks : &sgfs_scheme_with;
    plan->scheme = plan->kinds.scheme->name;
    if (!sgfsi_data_is_shuffled(d) || chunks) return;
    if (d->weight != NULL) {
        sgfsi_say(plan->log, SGFS_NOTE,
                  "Rows that have weights are drawn one by one, not in chunks.");
    } else if (sgfsi_data_is_mapped(d)) {
        sgfsi_say(plan->log, SGFS_NOTE,
                  "Rows are drawn one by one: %lld are too few for chunks of several with %lld "
                  "parameters (docs/math.md).",
                  (long long)d->N, (long long)m->D);
    }
}

static sgfs_status plan_batch(sgfsi_plan *plan, const sgfs_model *m, sgfs_err *err) {
    int64_t N = m->data->N, W = (int64_t)fmin(m->data->total, 1e15);
    const sgfs_sampler_kind *kind = plan->kinds.sampler;
    plan->gamma = 1;
    plan->n = N;
    if (kind->full_data) return SGFS_OK;
    if (W > N) N = W; /* so many copies of rows there are to draw from */
    if (plan->batch < 0) {
        bool theirs = kind->batch != NULL && m->kind->one_mode;
        plan->batch = theirs ? kind->batch(W, m->D) : automatic_batch(W, m->D);
    }
    plan->n = plan->batch;
    if (plan->n > N) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--batch %lld is more than the %lld rows of %s; it must lie "
                          "between 2 and %lld.",
                          (long long)plan->n, (long long)N, m->data->path, (long long)N);
    }
    choose_scheme(plan, m);
    sgfsi_arena arena = {NULL};
    sgfs_urn urn;
    const sgfsi_rows_plan rows = {.n = plan->n, .parameters = m->D};
    sgfs_status status = sgfsi_urn_open(&urn, m->data, plan->kinds.scheme, &rows, &arena, err);
    if (status == SGFS_OK) {
        plan->gamma = plan->kinds.scheme->gamma(&urn);
        plan->chunk = urn.chunk;
    }
    sgfsi_arena_free(&arena);
    if (status != SGFS_OK) return status;
    if (m->gatherer.dealt != NULL)
        sgfsi_say(plan->log, SGFS_NOTE,
                  "Each of %lld processes reads its own rows of a minibatch, and sends them to the "
                  "others (--deal).",
                  (long long)m->gatherer.dealt->size);
    /* minibatches pay for every copy of a row, all rows together only once */
    if (m->data->weight != NULL && m->data->total >= 50 * (double)m->data->N) {
        sgfsi_say(plan->log, SGFS_NOTE,
                  "The weights make %.3g rows of %lld: minibatches need as many iterations as for "
                  "so many rows. --sampler nuts reads the rows as they are and will be faster.",
                  m->data->total, (long long)m->data->N);
    }
    return SGFS_OK;
}

static int64_t at_least(double x, int64_t least) {
    const double most = 1e15; /* the bound of --draws */
    return x > most ? (int64_t)most : x > (double)least ? (int64_t)ceil(x) : least;
}

/* What the sampler itself has left free. */
static sgfs_status plan_lengths(sgfsi_plan *plan, const sgfs_model *m, sgfs_err *err) {
    const double usual = 400; /* 100 for each of four chains (Vehtari et al. 2021) */
    const sgfs_sampler_kind *kind = plan->kinds.sampler;
    plan->tau = kind->independent ? 1 : kind->tau != NULL ? kind->tau(plan) : 0;
    if (plan->warmup < 0) plan->warmup = at_least(10 * plan->gamma, 1000);
    bool free_draws = plan->draws < 0;
    if (free_draws) plan->draws = plan->tau > 0 ? at_least(400 * plan->tau, 1000) : 10000;
    if (plan->thin < 0) plan->thin = free_draws ? (plan->draws + 999) / 1000 : 1;
    if (free_draws) plan->draws = (plan->draws + plan->thin - 1) / plan->thin * plan->thin;
    if (plan->thin > plan->draws) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--thin %lld is more than --draws %lld: no draw would be kept.",
                          (long long)plan->thin, (long long)plan->draws);
    }
    /* Of many modes, chains that never meet have no effective sample size to wait for; an optimiser
     * has none at all. */
    const char *schedule = kind->fixed_length != NULL ? kind->fixed_length(plan) : NULL;
    bool fits = m->kind->one_mode && schedule == NULL && !kind->optimiser;
    if (isnan(plan->ess)) plan->ess = sgfsi_config_auto(plan->cfg, "run.draws") && fits ? usual : 0;
    if (plan->ess > 0 && schedule != NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--ess cannot lengthen a run whose steps follow %s: give --draws.",
                          schedule);
    }
    return SGFS_OK;
}

/* ---- the whole plan -------------------------------------------------------------------------- */

static const int64_t usual_climb = 100; /* of a network: as far as its rows decide */

#define AT(field) offsetof(sgfsi_plan, field)
static const sgfsi_setting run_settings[] = {{"sampler.kind", AT(kinds.name), NULL, false},
                                             {"run.batch", AT(batch), NULL, false},
                                             {"run.batch_scheme", AT(scheme), NULL, false},
                                             {"run.chains", AT(chains), NULL, false},
                                             {"run.warmup", AT(warmup), NULL, false},
                                             {"run.draws", AT(draws), NULL, false},
                                             {"run.ess", AT(ess), NULL, false},
                                             {"run.thin", AT(thin), NULL, false},
                                             {"run.seed", AT(seed), NULL, false},
                                             {"run.init", AT(init), NULL, false},
                                             {"run.climb", AT(climb), NULL, false},
                                             {"run.threads", AT(cores), NULL, false},
                                             {"run.max_time", AT(max_time), NULL, false},
                                             {"run.checkpoint", AT(checkpoint), NULL, false},
                                             SGFSI_SETTINGS_END};

sgfs_status sgfsi_plan_fill(sgfsi_plan *plan, const sgfs_model *model, sgfs_err *err) {
    const sgfs_sampler_kind *kind = plan->kinds.sampler;
    const char *name = plan->kinds.name; /* as it was chosen */
    sgfsi_settings_read(plan, run_settings, plan->cfg);
    plan->kinds.name = name;
    if (plan->kinds.fisher != NULL)
        sgfsi_settings_read(&plan->fisher, sgfsi_fisher_setting_list, plan->cfg);
    if (kind->settings != NULL) {
        plan->settings = calloc(1, kind->settings_size);
        if (plan->settings == NULL) return sgfsi_fail_memory(err, "the plan");
        sgfsi_settings_read(plan->settings, kind->settings, plan->cfg);
    }
    sgfs_status status = kind->groups ? SGFS_OK : sgfsi_scales_refuse(model, err);
    if (kind->groups && model->scales == NULL)
        status = sgfsi_fail(err, SGFS_EUSAGE,
                            "--sampler %s is for effects that vary between groups: name them with "
                            "--effects, or in brackets in --formula.",
                            plan->kinds.name);
    if (status == SGFS_OK) status = plan_batch(plan, model, err);
    if (status == SGFS_OK && kind->plan != NULL) {
        sgfs_problem now = {.model = model,
                            .fisher = plan->kinds.fisher != NULL ? plan->kinds.fisher->name : "",
                            .N = model->data->total,
                            .n = plan->n,
                            .D = model->D,
                            .events = model->events,
                            .gamma = plan->gamma};
        for (int64_t b = 0; b < model->blocks; b++) {
            int64_t size = model->block[b].rows * model->block[b].cols;
            if (size > now.block) now.block = size;
        }
        status = kind->plan(plan, &now, err);
    }
    if (status == SGFS_OK) status = plan_lengths(plan, model, err);
    if (status != SGFS_OK) return status;
    int64_t side = kind->step_together != NULL ? 1 : plan->chains;
    /* rows of a minibatch may be other processes', and one that finds itself far from its anchor
     * makes another one */
    bool dealt = model->gatherer.dealt != NULL,
         meets = dealt || (kind->full_data ? !kind->few_rows : kind->anchored);
    sgfsi_split split = sgfsi_context_split(&model->ctx, sgfsi_context_threads(plan->cfg), side,
                                            kind->full_data || dealt, meets);
    plan->threads = split.chains;
    plan->inner = split.inside;
    plan->cores = plan->threads * plan->inner;
    return SGFS_OK;
}

sgfs_status sgfsi_plan_make(sgfsi_plan *plan, const sgfs_model *model, const sgfs_config *cfg,
                            const sgfsi_setback *why, sgfsi_choice *choice, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    const sgfs_option *unread;
    int64_t first = 0;
    bool chosen = plan->kinds.sampler != NULL && why == NULL; /* by the caller */
    sgfsi_plan_free(plan);
    *plan = (sgfsi_plan){
        .cfg = cfg, .log = sgfsi_config_log(cfg), .stop = plan->stop, .kinds = plan->kinds};
    status = sgfsi_start_read(model, cfg, &plan->start, err);
    plan->pilot.start = plan->start; /* where the search for an anchor begins, too */
    if (status != SGFS_OK) return status;
    if (why != NULL) status = sgfsi_choose_fallback(plan, model, why, choice, err);
    else if (!chosen) status = sgfsi_choose(plan, model, choice, err);
    /* what only the sampler that was given up reads is not read, and that has been said */
    if (status == SGFS_OK && why == NULL &&
        (unread = sgfsi_next_unread(cfg, model, &plan->kinds, &first)) != NULL)
        status = sgfsi_unread_fail(plan, model, unread, err);
    if (status == SGFS_OK) status = sgfsi_plan_fill(plan, model, err);
    if (status == SGFS_OK && choice->no_mode && sgfsi_config_auto(cfg, "run.ess")) plan->ess = 0;
    /* at a point that was given chains begin exactly, unless --init says how far around it */
    if (plan->start != NULL && !sgfsi_config_given(cfg, "run.init")) plan->init = 0;
    bool free_start = model->kind->redundant && choice->automatic && plan->start == NULL;
    if (plan->climb < 0) plan->climb = free_start ? usual_climb : 0;
    return status;
}

void sgfsi_plan_free(sgfsi_plan *plan) {
    sgfsi_arena_free(&plan->found);
    free(plan->settings);
    free(plan->start);
    plan->settings = NULL;
    plan->start = NULL;
}

/* ---- what is in force ------------------------------------------------------------------------ */

const char *sgfsi_plan_text(const sgfsi_plan *plan, const char *key, char room[SGFSI_NUM_CHARS]) {
    const struct {
        const void *settings;
        const sgfsi_setting *list;
    } all[] = {{plan, run_settings},
               {&plan->fisher, plan->kinds.fisher != NULL ? sgfsi_fisher_setting_list : NULL},
               {plan->settings, plan->kinds.sampler->settings}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (const sgfsi_setting *s = all[i].list; s != NULL && s->key != NULL; s++) {
            if (strcmp(s->key, key) == 0)
                return sgfsi_setting_text(all[i].settings, s, plan->cfg, room);
        }
    }
    return sgfsi_config_text(plan->cfg, key);
}

double sgfsi_plan_num(const sgfsi_plan *plan, const char *key) {
    char room[SGFSI_NUM_CHARS];
    double x;
    return sgfsi_text_num(sgfsi_plan_text(plan, key, room), &x) ? x : NAN;
}
