/* SPDX-License-Identifier: MIT
 * chain.h: one chain: its sampler, its place, its moments, and draws waiting to be written. A chain
 * touches nothing that another chain touches, except the sink, which locks.
 */
#pragma once

#include "chain/chain_moments.h"
#include "chain/plan.h"
#include "chain/validate.h"
#include "sink/runfile.h"

/* Where kept draws go: a file, or memory. */
typedef struct sgfsi_output {
    sgfsi_runfile *file; /* NULL: memory */
    sgfs_draws *memory;
} sgfsi_output;

typedef struct sgfsi_chain {
    sgfsi_arena arena;
    sgfs_sampler sampler;
    sgfsi_chain_moments moments;
    const sgfsi_plan *plan;
    int64_t index, t; /* which chain; iterations done, warm-up included */
    int64_t D, S;
    int64_t climbed;       /* rows looked at on the way to the start */
    int64_t meant;         /* iterations in the mean: after warm-up, explorations left out */
    double *mean;          /* D: mean of theta over them, on the chain's scale */
    double *theta, *user;  /* D each: the chain's scale and the user's */
    double *start, *limit; /* D each: a distance from the start that no posterior explains */
    double *stats;         /* S of the last iteration */
    int64_t waiting, room, written; /* kept draws in the buffer, its size, draws handed over */
    double *draws_buffer, *stats_buffer;
    double warmup_seconds, sample_seconds;
    double faults;                /* major page faults while moving */
    double disk_wait, disk_bytes; /* before the run was taken up again */
    int64_t goal;                 /* of the stretch at hand: its last iteration */
    double since;                 /* when the stretch at hand began */
    sgfsi_validator *validator;   /* NULL without --validate */
    float *effects;               /* of groups, as they are now: what the validator looks at */
    double validating;            /* seconds of the stretch that are not the chain's */
    sgfs_status status;
    sgfs_err err;
    bool abandoned; /* an iteration was given up in its middle: the sampler has no state to keep */
} sgfsi_chain;

sgfs_status sgfsi_chain_open(sgfsi_chain *w, const sgfs_model *model, const sgfsi_plan *plan,
                             sgfs_err *err);
/* Follow how well it predicts the rows kept aside. */
sgfs_status sgfsi_chain_validate(sgfsi_chain *w, const sgfsi_validation_rows *validation,
                                 sgfs_err *err);
/* Its next iteration. */
sgfs_iteration sgfsi_chain_next(const sgfsi_chain *w);
/* One iteration of `count` chains that walk together, or of one; keeps the draw when it is due.
 * False: it failed, and how is left in w->status and w->err of each; or it was given up. */
bool sgfsi_chain_step(sgfsi_chain *w, int64_t count, const sgfsi_output *out);
/* Hand buffered draws over. */
sgfs_status sgfsi_chain_flush(sgfsi_chain *w, const sgfsi_output *out, sgfs_err *err);
/* What was found where the draws have their mean. */
typedef struct sgfsi_at_mean {
    double *curvature_sd; /* D, or NULL */
    double dispersion;    /* draws.h */
} sgfsi_at_mean;
/* Costs of the chain so far; with what was found at the end (NULL: it goes on) also its moments. */
sgfs_status sgfsi_chain_report(sgfsi_chain *w, const sgfsi_output *out, const sgfsi_at_mean *found,
                               sgfs_err *err);
void sgfsi_chain_close(sgfsi_chain *w);
