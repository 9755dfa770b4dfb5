/* SPDX-License-Identifier: MIT
 * compared.h: what the coefficients of words and labels are differences from.
 */
#pragma once

#include "base/arena.h"
#include "sink/draws.h"

/* "city is compared with Hamburg, device with phone."; "" where no parameter is such a difference.
 * NULL: memory ran out. */
const char *sgfsi_compared_with(const sgfs_draws *d, sgfsi_arena *arena);
