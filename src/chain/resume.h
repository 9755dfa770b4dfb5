/* SPDX-License-Identifier: MIT
 * resume.h: what a run keeps on the disk to be taken up later, and taking it up.
 */
#pragma once

#include "chain/run.h"

/* Between two stretches: SGFS_EIO where the data have changed; then costs so far once a second, and
 * a state when it is due. */
sgfs_status sgfsi_run_keep(sgfs_run *run, sgfs_err *err);
/* Have the data changed? SGFS_EIO, and what was drawn since the last state is not to be kept. Looks
 * now and then, or at once (now). */
sgfs_status sgfsi_run_look(sgfs_run *run, bool now, sgfs_err *err);
/* False where a chain has failed or was left in the middle of an iteration: the last state that was
 * saved is the last one there will be. */
bool sgfsi_run_has_state(const sgfs_run *run);
/* Can a complete run be given more draws? Not where its steps follow its length. */
bool sgfsi_run_lengthens(const sgfs_run *run);
/* A state now, if there is one. */
sgfs_status sgfsi_run_save(sgfs_run *run, sgfs_err *err);

/* Options that a run in `header` has and that would be chosen otherwise for more draws, into cfg,
 * before the run is opened. */
sgfs_status sgfsi_resume_options(sgfs_config *cfg, const sgfsi_json *header, sgfs_err *err);
/* What process 0 has read of the file (status: how that went), to all of them: header, state and
 * what is said of it; without draws and costs, which only that one needs. The others' is made
 * here. */
sgfs_status sgfsi_resume_share(const sgfsi_comm *comm, sgfs_status status, sgfsi_resumption *from,
                               sgfs_err *err);
void sgfsi_resumption_free(sgfsi_resumption *from);
/* A run that was just opened goes on where the file (taken over on success) has come to.
 * SGFS_EUSAGE, with the name of each, where options are others; SGFS_ERUNFILE where data, model or
 * arithmetic are. Of a complete run that is to have no more draws nothing is left to do: it is
 * closed then. file NULL: another process has it. */
sgfs_status sgfsi_run_take_up(sgfs_run *run, const char *path, sgfsi_runfile *file,
                              const sgfsi_resumption *from, sgfs_err *err);
