/* SPDX-License-Identifier: MIT
 * tune.h: the insides of a tuning job, for tune.c (the runs), grid.c (the settings) and ranking.c
 * (the table).
 */
#pragma once

#include "chain/plan.h"
#include "jobs/job.h"
#include "jobs/tune/folds.h"
#include "jobs/tune/heldout_loss.h"

enum { SGFSI_MOST_AXES = 16, SGFSI_MOST_TRIALS = 10000 };

/* One --grid: an option and its values. */
typedef struct sgfsi_axis {
    const sgfs_option *option;
    int64_t count;
    char **value; /* count */
} sgfsi_axis;

/* One setting. Losses come in units that can be compared between settings one by one: the folds, or
 * random groups of the rows of a hold-out set. */
typedef struct sgfsi_trial {
    sgfs_config *cfg; /* the caller's with the values of the grid, and silent */
    const char *setting;
    double work;                        /* iterations of one run, all chains */
    int64_t runs, units;                /* done; losses known */
    double *loss;                       /* units */
    double error, ess, spread, seconds; /* sums over runs */
    double E1, E2, trR, E2_noise;       /* by error */
    bool diverged, empty;               /* empty: stopped by --max-time before a draw */
    const char *note;
} sgfsi_trial;

typedef struct sgfsi_tune {
    sgfs_job job;
    const sgfs_model *model;
    bool by_error;
    int64_t folds, units; /* runs of each setting; losses of a setting that is complete */
    double share;         /* of a hold-out set; 0: folds */
    int64_t axes, trials;
    sgfsi_axis axis[SGFSI_MOST_AXES];
    sgfsi_trial *trial; /* trials */
    sgfs_tune_table table;
    double done, total;    /* work */
    int64_t run, finished; /* at hand, from 1; how many are done */
    const sgfsi_trial *at_hand;
} sgfsi_tune;

/* grid.c: values to try of one option, "1e-3,5e-4"; several calls: every combination. */
sgfs_status sgfsi_tune_grid(sgfsi_tune *t, const char *option, const char *values, sgfs_err *err);

/* grid.c: lay out every combination of the axes; without axes, a grid around the step that the
 * sampler would choose for `m`. Then have every setting checked as a run on m would be. */
sgfs_status sgfsi_tune_lay_out(sgfsi_tune *t, const sgfs_model *m, sgfs_err *err);

/* The progress of the run at hand is a part of the job's. */
void sgfsi_tune_on_run(const sgfs_progress *p, void *tune);

/* ranking.c: fill t->table from what the trials have so far. */
sgfs_status sgfsi_tune_rank(sgfsi_tune *t, sgfs_err *err);
sgfsi_json *sgfsi_tune_json(const sgfs_job *job);
/* The winner's options. */
sgfs_status sgfsi_tune_save(const sgfs_job *job, const char *path, sgfs_err *err);
