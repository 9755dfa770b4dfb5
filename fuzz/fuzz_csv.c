/* SPDX-License-Identifier: MIT
 * fuzz_csv.c: delimited text, plain or gzip. A seed that is gzip stays so for mutations that hit
 * its middle: zlib's own checks are part of the path.
 */
#define _GNU_SOURCE
#include "feed.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("csv", bytes, size);
    return 0;
}
