/* SPDX-License-Identifier: MIT
 * run.h: the run's insides, for run.c, api.c and the tests.
 */
#pragma once

#include "chain/chain.h"
#include "chain/choose.h"
#include "rows/fingerprint.h"

struct sgfs_run {
    const sgfs_model *model;
    sgfs_config *cfg;           /* a copy of the user's */
    sgfsi_json *config, *given; /* for the header: options in force, those the user gave */
    sgfsi_plan plan;
    sgfsi_choice choice;
    int64_t planned; /* draws at first; plan.draws grows where the run is lengthened */
    sgfsi_output out;
    sgfsi_chain *chain;               /* plan.chains */
    sgfs_sampler **ahead;     /* plan.chains: those whose iterations a device makes ahead of them */
    struct sgfsi_walk *walks; /* plan.chains. Both NULL: it makes none (go_ahead.h) */
    sgfsi_validation_rows validation; /* zeroed without --validate */
    char *describe;
    char *path;      /* of the file attached, or NULL */
    sgfsi_stop stop; /* asked to; wider: of all that its config is used for */
    bool ended;      /* all processes know that it stopped or failed */
    bool undecided; /* it stopped with all its draws, before it was known whether they are enough */
    sgfsi_watch watch;            /* over the files of the data */
    double seconds;               /* wall clock inside sgfs_run_step */
    int64_t before;               /* iterations of all chains when the run was taken up */
    double next_save, next_costs; /* when a state is due, and what it cost so far */
    double save_cost;             /* seconds that the last state took */
    bool closed, filed;           /* a file was attached */
    sgfs_err spoiled;             /* why what is left since the last state is not to be kept */
};

/* Somebody wants the run to stop. */
static inline bool sgfsi_run_to_stop(const sgfs_run *run) {
    return sgfsi_stop_asked(&run->stop);
}

/* And it does: at once, or where several processes have to stop at the same iteration, when all
 * know. */
bool sgfsi_run_is_stopping(const sgfs_run *run);

/* As sgfs_run_open, but for --validate, with kinds of the caller's own (NULL: chosen). cfg is
 * copied. */
sgfs_run *sgfsi_run_open(const sgfs_model *model, const sgfs_config *cfg, const sgfsi_kinds *kinds,
                         sgfs_err *err);
/* Give the draws that a run without a file has kept since the last call to `take`, chain by chain,
 * draws x D, and keep them no longer. */
void sgfsi_run_take_draws(sgfs_run *run,
                          void (*take)(void *user, int64_t chain, int64_t draws,
                                       const double *theta),
                          void *user);
/* Before the first step: follow how well these rows are predicted. The run frees them. */
sgfs_status sgfsi_run_validate(sgfs_run *run, sgfsi_validation_rows validation, sgfs_err *err);
/* Hand all buffered draws over. */
sgfs_status sgfsi_run_flush(sgfs_run *run, sgfs_err *err);
/* The run file's header (docs/formats.md); the caller's to free. NULL: err says why. */
sgfsi_json *sgfsi_run_header(const sgfs_run *run, sgfs_err *err);
/* Every option with its value in force, and those that were given; the caller's to free. */
sgfsi_json *sgfsi_run_config(const sgfs_run *run);
sgfsi_json *sgfsi_run_given(const sgfs_run *run);
char *sgfsi_run_describe(const sgfs_run *run); /* malloc'ed */
