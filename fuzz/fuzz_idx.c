/* SPDX-License-Identifier: MIT
 * fuzz_idx.c: the arrays of MNIST, as data and as labels.
 */
#define _GNU_SOURCE
#include "feed.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("idx", bytes, size);
    return 0;
}
