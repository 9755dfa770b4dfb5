/* SPDX-License-Identifier: MIT
 * state.h: everything that a run must keep to go on later, listed, saved to memory and loaded.
 *
 * A run that is opened with the same rows and options finds again what depends on them alone: plan,
 * anchor, tables, settings. What its iterations have left is listed here, and random numbers have
 * no state (rng.h). So a run is taken up by opening it as always and loading what was saved. Times
 * are not listed, so that two states of the same iteration have the same bits.
 */
#pragma once

#include "base/fields.h"
#include "chain/run.h"

/* Which numbers come out of the same options, data and seed: it grows whenever the hashes of
 * tests/golden change, and a state of another arithmetic is not gone on from. */
enum { SGFSI_ARITHMETIC = 2 };

/* "run.", then "chain1.", "chain2.", ...: a chain's place, moments, sampler and validator. Kept
 * draws that have not been handed over are not listed (sgfsi_chain_flush hands them over). */
void sgfsi_run_fields(sgfs_run *run, sgfsi_fields *list);

/* Hands all draws over and saves; malloc'ed; NULL with err filled where that fails. */
void *sgfsi_state_save(sgfs_run *run, size_t *bytes, sgfs_err *err);
/* Into a run that was just opened as the saved one was. SGFS_ERUNFILE, with a sentence that
 * names the field, where the state belongs to another run; the chains are as before then. */
sgfs_status sgfsi_state_load(sgfs_run *run, const void *saved, size_t bytes, sgfs_err *err);
