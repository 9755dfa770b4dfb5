/* SPDX-License-Identifier: MIT
 * kernel.c: see kernel.h. The names are those of OpenBLAS (openblas_get_corename) on x86-64; on
 * other processors it chooses by what they can do, and is left alone.
 */
#include "context/device/kernel.h"

#include <stddef.h>
#include <strings.h>

sgfsi_vectors sgfsi_vectors_here(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return SGFSI_VECTORS_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return SGFSI_VECTORS_AVX2;
#endif
    return SGFSI_VECTORS_OLD;
}

/* Kernels without the vectors of AVX2. */
static const char *const old[] = {
    "Prescott", "Core2",     "Penryn", "Dunnington",   "Nehalem",   "Atom",       "Sandybridge",
    "Opteron",  "Barcelona", "Bobcat", "Opteron_SSE3", "Bulldozer", "Piledriver", "Steamroller",
    "Nano",     "Banias",    "Katmai", "Coppermine",   "Northwood", "Athlon",     NULL};

const char *sgfsi_kernel_for(const char *now, sgfsi_vectors vectors) {
    if (now == NULL || vectors == SGFSI_VECTORS_OLD) return NULL;
    for (const char *const *o = old; *o != NULL; o++)
        if (strcasecmp(now, *o) == 0)
            return vectors == SGFSI_VECTORS_AVX512 ? "SkylakeX" : "Haswell";
    return NULL;
}

const char *sgfsi_compiled_for(void) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
    return "AVX-512";
#elif defined(__AVX2__) && defined(__FMA__)
    return "AVX2";
#else
    return "any processor";
#endif
}
