/* SPDX-License-Identifier: MIT
 * bare.h: the floor of passes and iterations is what OpenBLAS takes, called as anybody would call
 * it: the library's own device has a product of its own for narrow matrices, which must not lower
 * its own floor.
 */
#pragma once

#include <cblas.h>
#include <stdint.h>

#include "context/context.h"

/* Lower triangle of C = a X'X + b C, X n x k. */
static inline void bare_syrk(int64_t n, int64_t k, double a, const double *X, double b, double *C) {
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, (int)k, (int)n, a, X, (int)k, b, C, (int)k);
}

/* From now on OpenBLAS has one thread, as inside a run. */
static inline void bare_begin(void) {
    (void)sgfsi_context_enter(
        &(sgfsi_context){.device = &sgfs_device_blas, .near = &sgfs_device_blas});
}
