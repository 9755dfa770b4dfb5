/* SPDX-License-Identifier: MIT
 * npy.h: writing NumPy arrays of float64, C order, for exports and simulated data.
 */
#ifndef SGFSI_NPY_H
#define SGFSI_NPY_H

#include <stdint.h>
#include <stdio.h>

/* Head of an array of 2 or 3 dimensions. Errors show in ferror(f). */
void sgfsi_npy_head(FILE *f, int dims, const int64_t *shape);
void sgfsi_npy_numbers(FILE *f, const double *x, int64_t count);

#endif
