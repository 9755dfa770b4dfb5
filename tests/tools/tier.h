/* SPDX-License-Identifier: MIT
 * tier.h: whether a test runs in the longer tier (`make test-long`), which sets SGFS_LONG.
 *
 * A test program that includes this header runs twice: in `make test` with the cases that state
 * something of their own, and in the longer tier with their repetitions (more sizes, more seeds),
 * too. A statement that no other case makes belongs in `make test`.
 */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

static inline bool in_longer_tier(void) {
    return getenv("SGFS_LONG") != NULL;
}
