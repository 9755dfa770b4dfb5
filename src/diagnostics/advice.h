/* SPDX-License-Identifier: MIT
 * advice.h: what a summary's numbers mean for the one who reads them.
 */
#pragma once

#include "diagnostics/moments.h"

/* Fill summary->warning from its other fields; strings live in arena. */
sgfs_status sgfsi_advise(const sgfs_draws *d, const sgfsi_used *used, sgfs_summary *summary,
                         sgfsi_arena *arena, sgfs_err *err);

/* The option that makes steps smaller (--epsilon, or --target-accept where warm-up chose the step),
 * its value now and the next one to try. */
const char *sgfsi_smaller_step(const sgfs_draws *d, double *now, double *next);

/* That counts vary phi times as much as the model says: said when it is found, and again in every
 * summary. */
enum { SGFSI_DISPERSION_TEXT = 400 };
void sgfsi_dispersion_say(double phi, char out[SGFSI_DISPERSION_TEXT]);
