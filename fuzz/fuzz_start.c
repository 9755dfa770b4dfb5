/* SPDX-License-Identifier: MIT
 * fuzz_start.c: where chains start (--start).
 */
#define _GNU_SOURCE
#include "feed.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("start", bytes, size);
    return 0;
}
