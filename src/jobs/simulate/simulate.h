/* SPDX-License-Identifier: MIT
 * simulate.h: data with a known truth.
 */
#ifndef SGFSI_SIMULATE_H
#define SGFSI_SIMULATE_H

#include "model/model.h"

extern const sgfs_option sgfsi_simulate_options[];

/* See sgfs_simulate in sgfs.h. */
sgfs_status sgfsi_simulate(const sgfs_model_kind *kind, const sgfs_config *cfg, const char *path,
                           const char *truth, sgfs_err *err);

#endif
