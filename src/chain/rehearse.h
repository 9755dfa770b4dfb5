/* SPDX-License-Identifier: MIT
 * rehearse.h: what a run will need, told before it is made (--dry-run), and the refusal of one that
 * memory cannot hold.
 */
#pragma once

#include "chain/run.h"

/* Before a chain is opened: SGFS_ENOMEM where its largest matrices alone are more than there is;
 * and after the second one, which is like all that follow, where these will not fit. chain: how
 * many are open. used: memory in use before the last of them was opened; becomes what is in use
 * now. */
sgfs_status sgfsi_rehearse_room(const sgfs_run *run, int64_t chain, double *used, sgfs_err *err);
/* In place of the run: a few iterations of it, and all that it does at its end; it is closed then.
 * The last progress that is reported has bytes_needed, and how long the run would take. SGFS_ENOMEM
 * where it does not fit. */
sgfs_status sgfsi_run_rehearse(sgfs_run *run, sgfs_err *err);
