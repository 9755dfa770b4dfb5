/* SPDX-License-Identifier: MIT
 * fuzz_matrix.c: the matrix B, as text or .npy (--b-file).
 */
#define _GNU_SOURCE
#include "feed.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("matrix", bytes, size);
    return 0;
}
