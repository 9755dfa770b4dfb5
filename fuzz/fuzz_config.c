/* SPDX-License-Identifier: MIT
 * fuzz_config.c: options from a JSON file (--config).
 */
#define _GNU_SOURCE
#include "feed.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size) {
    feed_any("config", bytes, size);
    return 0;
}
