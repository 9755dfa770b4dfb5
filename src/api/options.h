/* SPDX-License-Identifier: MIT
 * options.h: all options of the program. A config is made with this list and hands it on, so that
 * nothing below needs to know it.
 */
#pragma once

#include "chain/plan.h"

/* All option sets: the stages' own, then each model's and each sampler's. */
bool sgfsi_option_sets(int64_t index, sgfsi_option_set *set);
