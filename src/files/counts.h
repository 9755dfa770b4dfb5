/* SPDX-License-Identifier: MIT
 * counts.h: rows that count successes and failures, cbind(s, f) of a formula.
 */
#pragma once

#include "rows/table.h"

/* The table, whose target holds successes and whose weights hold failures, with two rows in place
 * of each: target 1 with the successes as weight, and 0 with the failures. Its cells are doubles in
 * memory then, at most `most` bytes of them (0: any). */
sgfs_status sgfsi_counts_to_rows(sgfsi_table *table, const char *path, double most, sgfs_err *err);
