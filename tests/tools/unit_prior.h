/* SPDX-License-Identifier: MIT
 * unit_prior.h: options for tests and benchmarks that know what N(0, 1) on every parameter gives:
 * it is the prior as long as they do not name another. What happens without any option of the prior
 * is a matter of its own (cli/test_default_prior.py).
 */
#pragma once

#include "base/config.h"
#include "sgfs.h"

static inline sgfs_config *unit_prior_config(void) {
    sgfs_config *cfg = sgfs_config_new();
    if (cfg == NULL || sgfsi_config_default(cfg, "prior.kind", "gaussian", NULL) == SGFS_OK)
        return cfg;
    sgfs_config_free(cfg);
    return NULL;
}
