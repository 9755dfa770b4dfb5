/* SPDX-License-Identifier: MIT
 * packed_cells.h: doubles to cells of a type and back, with a look at what does not fit.
 */
#ifndef SGFSI_PACKED_CELLS_H
#define SGFSI_PACKED_CELLS_H

#include "data/table.h"

/* Make each number what a cell of the type would hold (f32: rounded). Returns how many have no place
 * in it: not finite, beyond its range, a fraction among integers. */
int64_t sgfsi_cells_settle(sgfsi_dtype type, int64_t count, double *x);
bool sgfsi_cells_fit(sgfsi_dtype type, double x); /* the same for one number */

/* Numbers that have been settled. */
void sgfsi_cells_from(sgfsi_dtype type, int64_t count, const double *x, void *cells);
void sgfsi_cells_to(sgfsi_dtype type, int64_t count, const void *cells, double *x);

const char *sgfsi_dtype_name(sgfsi_dtype type); /* "f32" */

#endif
