/* SPDX-License-Identifier: MIT
 * fuzz_npy.c: NumPy arrays: the header's literal, shapes and types.
 */
#define _GNU_SOURCE
#include "feed.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("npy", bytes, size);
    return 0;
}
