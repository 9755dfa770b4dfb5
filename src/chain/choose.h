/* SPDX-License-Identifier: MIT
 * choose.h: the sampler, where the user names none.
 */
#ifndef SGFSI_CHOOSE_H
#define SGFSI_CHOOSE_H

#include "chain/plan.h"

typedef struct sgfsi_choice {
    bool automatic;     /* the sampler was not named */
    char text[400];     /* what was chosen and why, in a sentence; "": nothing was */
    char fallback[700]; /* why the run began anew with SGFS, in sentences; "": it did not */
    char why[400];      /* the reason alone */
    int64_t fallbacks;  /* how often: 0 or 1 */
} sgfsi_choice;

/* Put the name of a sampler in place of "auto" in cfg (a private copy), where there is one, say
 * why, and read the kinds. What the user gave restricts the choice to samplers that read it. */
sgfs_status sgfsi_choose(sgfs_config *cfg, const sgfs_model *model, sgfsi_kinds *kinds,
                         sgfsi_choice *choice, sgfs_err *err);

/* Why a sampler was given up. */
typedef struct sgfsi_setback {
    bool no_mode;   /* no anchor was found */
    char text[480]; /* a sentence */
} sgfsi_setback;

/* The sampler in cfg (a fresh copy of the user's) turned out to be of no use, and why: the same
 * with SGFS. Options that only the other one reads are forgotten, which is said. */
sgfs_status sgfsi_choose_again(sgfs_config *cfg, const sgfs_model *model, const sgfsi_setback *why,
                               sgfsi_kinds *kinds, sgfsi_choice *choice, sgfs_err *err);

#endif
