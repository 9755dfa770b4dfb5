/* SPDX-License-Identifier: MIT
 * density.h: the shape of one parameter's draws, and the spectrum of all of them, for pictures.
 */
#pragma once

#include <stdint.h>

enum { SGFSI_DENSITY_POINTS = 256 };

/* A density over an even grid. */
typedef struct sgfsi_density {
    double from, step; /* point k lies at from + k step */
    double y[SGFSI_DENSITY_POINTS];
} sgfsi_density;

/* Of n numbers in order (n > 1, finite, not all the same): by a Gaussian kernel whose width follows
 * Silverman's rule. The outermost thousandths lie outside the grid when they are far away. */
void sgfsi_density_of(int64_t n, const double *sorted, sgfsi_density *out);

/* Eigenvalues of a symmetric D x D matrix (both triangles, destroyed), rising; values: D, and D
 * numbers of scratch. */
void sgfsi_eigenvalues(int64_t D, double *A, double *values, double *scratch);
