/* SPDX-License-Identifier: MIT
 * fuzz_libsvm.c: sparse text, plain or gzip.
 */
#define _GNU_SOURCE
#include "feed.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("libsvm", bytes, size);
    return 0;
}
