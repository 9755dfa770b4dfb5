/* SPDX-License-Identifier: MIT
 * choose.h: the sampler, where the user names none; for plan.c.
 */
#pragma once

#include "chain/plan.h"

/* plan->kinds by plan->cfg; where that leaves the sampler free, say which it is and why. What the
 * user gave restricts the choice to samplers that read it. */
sgfs_status sgfsi_choose(sgfsi_plan *plan, const sgfs_model *model, sgfsi_choice *choice,
                         sgfs_err *err);

/* A sampler turned out to be of no use, and why: SGFS instead. Options that only the other one
 * reads are passed over, which is said. */
sgfs_status sgfsi_choose_fallback(sgfsi_plan *plan, const sgfs_model *model,
                                  const sgfsi_setback *why, sgfsi_choice *choice, sgfs_err *err);
