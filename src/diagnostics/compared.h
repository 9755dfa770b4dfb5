/* SPDX-License-Identifier: MIT
 * compared.h: what coefficients mean: what those of words and labels are differences from, and in
 * which units all of them are.
 */
#pragma once

#include "base/arena.h"
#include "sink/draws.h"

/* "city is compared with Hamburg, device with phone."; "" where no parameter is such a difference.
 * NULL: memory ran out. */
const char *sgfsi_compared_with(const sgfs_draws *d, sgfsi_arena *arena);
/* What a coefficient of a regression says, and in which units: "A coefficient is what one unit of
 * its column, as it was given, adds to the log odds of yes."; "" for other models. */
const char *sgfsi_units_of(const sgfs_draws *d, sgfsi_arena *arena);
