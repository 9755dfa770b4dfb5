/* SPDX-License-Identifier: MIT
 * plan.h: how a run will be made (sgfsi_plan, sampler/sampler.h): chosen, checked and filled in
 * once, before any chain is opened.
 */
#pragma once

#include "rows/batch.h"
#include "sampler/sampler.h"

/* Why a sampler was given up. */
typedef struct sgfsi_setback {
    bool no_mode;   /* no anchor was found */
    char text[480]; /* a sentence */
} sgfsi_setback;

/* How the sampler was chosen. */
typedef struct sgfsi_choice {
    bool automatic;     /* the sampler was not named */
    bool no_mode;       /* there may be no posterior: no number of draws will be enough */
    char text[400];     /* what was chosen and why, in a sentence; "": nothing was */
    char fallback[700]; /* why the run began anew with SGFS, in sentences; "": it did not */
    char why[400];      /* the reason alone */
    int64_t fallbacks;  /* how often: 0 or 1 */
} sgfsi_choice;

/* Choose the kinds, put a number in place of every "auto", and refuse what cannot work. cfg is not
 * changed and must outlive the plan. A caller with kinds of its own puts them into plan->kinds, all
 * else of *plan is zero; a plan that was of no use, with why not, is made anew for SGFS. Free the
 * plan in any case. */
sgfs_status sgfsi_plan_make(sgfsi_plan *plan, const sgfs_model *model, const sgfs_config *cfg,
                            const sgfsi_setback *why, sgfsi_choice *choice, sgfs_err *err);
void sgfsi_plan_free(sgfsi_plan *plan);

/* The value in force of any option of the run, as text; room is for numbers that were chosen. */
const char *sgfsi_plan_text(const sgfsi_plan *plan, const char *key, char room[SGFSI_NUM_CHARS]);
double sgfsi_plan_num(const sgfsi_plan *plan, const char *key); /* NaN: none */

/* ---- for choose.c ---------------------------------------------------------------------------- */

/* Sampler, Fisher kind and batch scheme by cfg; name: the sampler's, NULL: as cfg says, "auto"
 * being read as sgfs-f, which every model takes. */
sgfs_status sgfsi_choose_kinds(const sgfs_config *cfg, const char *name, sgfsi_kinds *kinds,
                               sgfs_err *err);
/* The next option from index on that the user gave and that nothing in a run of these kinds reads,
 * index becoming the one after it; NULL: all are read. */
const sgfs_option *sgfsi_next_unread(const sgfs_config *cfg, const sgfs_model *model,
                                     const sgfsi_kinds *kinds, int64_t *index);
/* The sentence that refuses it. */
sgfs_status sgfsi_unread_fail(const sgfsi_plan *plan, const sgfs_model *model,
                              const sgfs_option *row, sgfs_err *err);
/* "sghmc, sgnht": everybody who reads the key. */
void sgfsi_list_readers(const sgfs_config *cfg, const char *key, char *out, size_t room);
/* All of the plan but the choice of plan->kinds and --start; plan->cfg and plan->log are set. */
sgfs_status sgfsi_plan_fill(sgfsi_plan *plan, const sgfs_model *model, sgfs_err *err);
