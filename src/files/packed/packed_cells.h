/* SPDX-License-Identifier: MIT
 * packed_cells.h: doubles to cells of a type and back, with a look at what does not fit.
 */
#pragma once

#include "rows/table.h"

/* What cells of the type would hold in place of these numbers: in f32 they are rounded. */
void sgfsi_cells_round(sgfsi_dtype type, int64_t count, const double *x, double *out);
/* How many have no place in such a cell: not finite, beyond its range, a fraction among
 * integers. */
int64_t sgfsi_cells_unfit(sgfsi_dtype type, int64_t count, const double *x);

/* Numbers that fit, after rounding. */
void sgfsi_cells_from(sgfsi_dtype type, int64_t count, const double *x, void *cells);
void sgfsi_cells_to(sgfsi_dtype type, int64_t count, const void *cells, double *x);

const char *sgfsi_dtype_name(sgfsi_dtype type); /* "f32" */
