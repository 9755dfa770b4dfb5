/* SPDX-License-Identifier: MIT
 * fuzz_formula.c: the text of --formula, and of --groups.
 */
#define _GNU_SOURCE
#include "feed.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("formula", bytes, size);
    return 0;
}
