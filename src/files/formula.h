/* SPDX-License-Identifier: MIT
 * formula.h: what a formula says, in the options that it stands for.
 *
 *     late ~ distance + log1p(delay) + C(hour) + (1 | dest) + (1 + distance || plane)
 *
 *     --target late --features distance,delay,hour --log1p delay --categorical hour
 *     --groups "(1 | dest) + (1 + distance || plane)"
 *
 * The part in brackets is read by the same parser wherever it comes from.
 */
#pragma once

#include "base/arena.h"
#include "base/config.h"
#include "base/err.h"
#include "rows/groups.h"

/* A config in which --formula has become the options it stands for; a plain copy where there is
 * none. SGFS_EUSAGE with the place where it is not understood, or where options say the same thing
 * again. NULL on failure. */
sgfs_config *sgfsi_formula_expand(const sgfs_config *cfg, sgfs_err *err);

/* The terms of --groups, their names from the arena. */
sgfs_status sgfsi_formula_groups(const char *text, sgfsi_arena *arena, sgfsi_group_spec *spec,
                                 sgfs_err *err);
/* Set mark[i] of every column that is named behind a bar. */
sgfs_status sgfsi_formula_mark(const char *text, int64_t cols, char *const *names, const char *path,
                               unsigned char *mark, sgfs_err *err);
