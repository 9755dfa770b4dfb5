/* SPDX-License-Identifier: MIT
 * fuzz_prior.c: precisions of the prior (--prior-file).
 */
#define _GNU_SOURCE
#include "feed.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("prior", bytes, size);
    return 0;
}
