/* SPDX-License-Identifier: MIT
 * fuzz_arrow.c: streams and files of Arrow.
 */
#define _GNU_SOURCE
#include "feed.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("arrow", bytes, size);
    return 0;
}
