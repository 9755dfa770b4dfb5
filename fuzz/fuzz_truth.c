/* SPDX-License-Identifier: MIT
 * fuzz_truth.c: moments to compare draws with, as JSON (--reference).
 */
#define _GNU_SOURCE
#include "feed.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("truth", bytes, size);
    return 0;
}
