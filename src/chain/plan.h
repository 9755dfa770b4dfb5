/* SPDX-License-Identifier: MIT
 * plan.h: every option set of the program, and the choice of kinds made from a config.
 */
#ifndef SGFSI_PLAN_H
#define SGFSI_PLAN_H

#include "rows/batch.h"
#include "sampler/sampler.h"

/* All option sets: the stages' own, then each model's and each sampler's. */
bool sgfsi_option_sets(int64_t index, sgfsi_option_set *set);

/* An option of another model is a mistake to name, not to pass over. */
sgfs_status sgfsi_check_model_options(const sgfs_config *cfg, const sgfs_model_kind *kind,
                                      sgfs_err *err);

/* The kinds of one run. Tests put their own in. */
typedef struct sgfsi_kinds {
    const sgfs_sampler_kind *sampler;
    const sgfs_fisher_kind *fisher; /* NULL where the sampler uses none */
    const sgfs_scheme_kind *scheme; /* NULL: chosen by sgfsi_plan_make */
    const char *name;               /* as the user knows it: "sgfs-f" */
} sgfsi_kinds;

/* Numbers that decide the length and cost of a run. */
typedef struct sgfsi_plan {
    int64_t n, warmup, draws, thin, chains, threads;
    uint64_t seed;
    int64_t chunk;       /* rows of a minibatch that are drawn together */
    int64_t inner;       /* threads inside each chain, for passes over all rows */
    double gamma, tau;   /* tau: predicted, 0 when not known */
    const double *start; /* D, of --start, on the chain's scale; NULL: not given */
    double ess;          /* the run goes on until every parameter has it; 0: it does not */
} sgfsi_plan;

/* Read sampler, Fisher kind and batch scheme from cfg. "auto" is read as sgfs-f, which every model
 * takes: whoever has a model asks sgfsi_choose first (choose.h). */
sgfs_status sgfsi_choose_kinds(const sgfs_config *cfg, sgfsi_kinds *kinds, sgfs_err *err);
/* The first option the user gave that nothing in a run of these kinds reads; NULL: all are read. */
const sgfs_option *sgfsi_first_unread(const sgfs_config *cfg, const sgfs_model *model,
                                      const sgfsi_kinds *kinds);
/* "sampler sghmc, sgnht": everybody who reads the key. */
void sgfsi_list_readers(const char *key, char *out, size_t room);
/* Replace every "auto" in cfg (a private copy) and in kinds, and refuse what cannot work. */
sgfs_status sgfsi_plan_make(sgfs_config *cfg, const sgfs_model *model, sgfsi_kinds *kinds,
                            sgfsi_plan *plan, sgfs_err *err);

#endif
