/* SPDX-License-Identifier: MIT
 * formula.h: what a formula says, in the options that it stands for.
 *
 *     late ~ distance + log1p(delay) + C(hour) + (1 | dest) + (1 + distance || plane)
 *
 *     --target late --features distance,delay,hour --log1p delay --categorical auto,hour
 *     --effects "(1 | dest) + (1 + distance || plane)"
 *
 * A formula of columns alone is nothing but these options. Where there is more to it, such as
 * products or functions, the columns that it names are read, and the formula itself stays as an
 * operation on them (transform_formula.c).
 */
#pragma once

#include "base/arena.h"
#include "base/config.h"
#include "base/err.h"
#include "rows/groups.h"

/* A config in which --formula has become the options it stands for, but for the operation that is
 * left; a plain copy where there is none. SGFS_EUSAGE with the place where it is not understood, or
 * where options say the same thing again. NULL on failure. */
sgfs_config *sgfsi_formula_expand(const sgfs_config *cfg, sgfs_err *err);

/* Is the target of --formula cbind(successes, failures)? Not where it is not understood. Fails for
 * want of memory alone. */
sgfs_status sgfsi_formula_counts(const sgfs_config *cfg, bool *counts, sgfs_err *err);
/* The terms of --effects, their names from the arena. */
sgfs_status sgfsi_formula_groups(const char *text, sgfsi_arena *arena, sgfsi_group_spec *spec,
                                 sgfs_err *err);
/* Set mark[i] of every column that is named behind a bar. */
sgfs_status sgfsi_formula_mark(const char *text, int64_t cols, char *const *names, const char *path,
                               unsigned char *mark, sgfs_err *err);
