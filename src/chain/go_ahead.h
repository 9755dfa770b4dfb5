/* SPDX-License-Identifier: MIT
 * go_ahead.h: a run whose device makes iterations ahead of all chains at once (sampler/ahead.h).
 */
#pragma once

#include "chain/run.h"

/* After its chains are open, and before they are closed. */
sgfs_status sgfsi_run_open_ahead(sgfs_run *run, sgfs_err *err);
void sgfsi_run_close_ahead(sgfs_run *run);
/* As much of each chain's stretch as the device makes at once; nothing where it makes none. Its
 * seconds are shared out among the chains. */
void sgfsi_run_go_ahead(sgfs_run *run);
/* Before a stretch of so many iterations: each chain's last one. */
void sgfsi_run_set_goals(sgfs_run *run, int64_t iterations);
/* The last iteration that a chain may make now: its goal, or as far as the device has gone. */
int64_t sgfsi_chain_reach(const sgfsi_chain *w);
/* Does the device go ahead, and has a chain more to do of its stretch? */
bool sgfsi_run_is_ahead(const sgfs_run *run);
