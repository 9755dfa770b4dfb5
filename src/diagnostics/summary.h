/* SPDX-License-Identifier: MIT
 * summary.h: what draws say of the posterior and of their chains, and how far they are from a
 * reference. The structs are those of sgfs.h; the strings and arrays in them are the summary's own.
 */
#pragma once

#include "base/config.h"
#include "base/json.h"

/* NULL with err filled (or as it is, where draws is NULL). threads: that may work on it. */
sgfs_summary *sgfsi_summary_new(const sgfs_draws *draws, int64_t threads, sgfs_err *err);
/* What "summary.*" asks for (summary_rows.h), of a new summary of these draws. */
sgfs_status sgfsi_summary_apply(sgfs_summary *summary, const sgfs_draws *draws, int64_t threads,
                                const sgfs_config *cfg, sgfs_err *err);
sgfsi_json *sgfsi_summary_json(const sgfs_summary *summary);
void sgfsi_summary_free(sgfs_summary *summary);

/* reference: another run file, or JSON {"names": [...], "mean": [...], "cov": [[...]]}. */
sgfs_compare *sgfsi_compare_new(const sgfs_draws *draws, const char *reference, int64_t threads,
                                sgfs_err *err);
sgfsi_json *sgfsi_compare_json(const sgfs_compare *compare);
void sgfsi_compare_free(sgfs_compare *compare);
