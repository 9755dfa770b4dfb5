/* SPDX-License-Identifier: MIT
 * kernel.h: is OpenBLAS using kernels that are older than the processor?
 *
 * OpenBLAS knows processors by their model numbers. On one that it has never heard of, as new ones
 * under a virtual machine often are, it falls back to kernels of 2004, at a fifth of the speed. It
 * takes another name from the environment (OPENBLAS_CORETYPE), but only while it is loaded.
 */
#pragma once

/* What a processor can do that kernels may make use of, from little to much. */
typedef enum sgfsi_vectors {
    SGFSI_VECTORS_OLD,  /* none of the following */
    SGFSI_VECTORS_AVX2, /* with fused multiplications */
    SGFSI_VECTORS_AVX512
} sgfsi_vectors;

sgfsi_vectors sgfsi_vectors_here(void);
/* The kernel to ask for in place of `now`, with such vectors; NULL: it is as good as any. */
const char *sgfsi_kernel_for(const char *now, sgfsi_vectors vectors);
/* A variable of the environment: what OpenBLAS would have used, where another kernel was asked. */
#define SGFSI_KERNEL_WAS "SGFS_BLAS_CORE_WAS"
/* What this library was compiled for: "AVX-512", "AVX2", or "any processor". */
const char *sgfsi_compiled_for(void);
