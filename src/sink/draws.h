/* SPDX-License-Identifier: MIT
 * draws.h: a run's draws in memory, as read back from a run file (or kept by a run without one).
 * Exports and diagnostics read this struct and nothing else.
 */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "stages.h"

/* Moments and costs of one chain over every iteration after warm-up, thinned away or not. */
typedef struct sgfsi_chain_info {
    int64_t iterations;    /* after warm-up */
    int64_t rows_touched;  /* warm-up included */
    int64_t interventions; /* ridges added or steps lowered, warm-up included */
    int64_t reanchors;     /* anchors made after the first */
    double warmup_seconds, sample_seconds;
    /* Of packed files: seconds of these spent waiting, bytes of pages looked at, major faults. */
    double disk_wait, disk_bytes, disk_faults;
    double dispersion;    /* of counts that vary too much for the model: how much; 0: they do not */
    double *mean;         /* D, or NULL */
    double *cov;          /* D x D full, divisor iterations - 1; NULL when not kept (large D) */
    double *tau;          /* D: autocorrelation time by batch means over every iteration; or NULL */
    double *curvature_sd; /* D: what the curvature at the posterior mean predicts for sd; or NULL */
    double *var;          /* D, same divisor */
} sgfsi_chain_info;

/* The arrays of it: the k-th, in the run file's order, and how many numbers it has for D. */
enum { SGFSI_INFO_ARRAYS = 5 }; /* mean, var, cov, curvature_sd, tau */
double **sgfsi_info_array(sgfsi_chain_info *info, int k, int64_t D, int64_t *count);

/* One point of the curve of --validate: how well the chain predicts rows kept aside. */
enum {
    SGFSI_POINT_ITERATION,
    SGFSI_POINT_SECONDS, /* of the chain, without the time spent on validating */
    SGFSI_POINT_DRAWS,   /* in the average; 0 during warm-up */
    SGFSI_POINT_ERROR,   /* of the averaged prediction: share of wrong labels, or rmse */
    SGFSI_POINT_LOSS,    /* -mean log of the averaged density */
    SGFSI_POINT_ERROR_NOW,
    SGFSI_POINT_LOSS_NOW, /* of this draw alone */
    SGFSI_POINT           /* numbers of a point */
};
extern const char *const sgfsi_point_names[SGFSI_POINT];

typedef struct sgfsi_chain_draws {
    int64_t draws, capacity;
    double *theta; /* draws x D, row-major, on the user's scale */
    double *stats; /* draws x S */
    sgfsi_chain_info info;
    int64_t points;
    double *curve; /* points x SGFSI_POINT, in time's order; NULL without --validate */
} sgfsi_chain_draws;

struct sgfs_draws {
    sgfsi_json *header; /* the run file's header, see docs/formats.md */
    int64_t chains, D, S;
    char **param;             /* D names, malloc'ed */
    char **stat;              /* S names, malloc'ed; stat[0] is "lp" */
    sgfsi_chain_draws *chain; /* chains */
    int64_t thin;
    char *state; /* "complete", "stopped early", "failed: ...", "unfinished"; malloc'ed */
    char *path;  /* the run file it was read from; NULL: none; malloc'ed */
    char *
        effects; /* of groups, as JSON text (SGFSI_NOTE_EFFECTS); NULL: there are none; malloc'ed */
    sgfs_kept_effects effect_draws; /* draws of them; malloc'ed */
    sgfsi_json *audit; /* what the last `sgfs audit` of it found; NULL: there was none */
};

/* An empty set of draws whose shape and names come from `header` (taken over, also on failure). */
sgfs_draws *sgfsi_draws_new(sgfsi_json *header, sgfs_err *err);
/* Append count draws: theta count x D, stats count x S. */
sgfs_status sgfsi_draws_append(sgfs_draws *d, int64_t chain, int64_t count, const double *theta,
                               const double *stats, sgfs_err *err);
/* Copy the numbers of info into the chain (mean, cov, var may be NULL). */
sgfs_status sgfsi_draws_set_info(sgfs_draws *d, int64_t chain, const sgfsi_chain_info *info,
                                 sgfs_err *err);
/* Append points to the chain's curve. */
sgfs_status sgfsi_draws_add_points(sgfs_draws *d, int64_t chain, int64_t count, const double *curve,
                                   sgfs_err *err);
/* A copy that shares nothing. */
sgfs_draws *sgfsi_draws_copy(const sgfs_draws *d, sgfs_err *err);
/* The rectangle that exports and diagnostics are of: the chains that have draws, up to the draw
 * they all have. */
typedef struct sgfsi_used {
    int64_t chains, draws;
    int64_t *chain; /* chains: indices */
} sgfsi_used;
/* chain (may be NULL): room for all chains. */
sgfsi_used sgfsi_draws_used(const sgfs_draws *d, int64_t *chain);
int64_t sgfsi_draws_stat(const sgfs_draws *d, const char *name); /* column of a statistic, or -1 */
/* Blocks of parameters from the header: name, rows, cols, offset of block b; false past the last.
 */
bool sgfsi_draws_block(const sgfs_draws *d, int64_t b, const char **name, int64_t *rows,
                       int64_t *cols, int64_t *offset);

void sgfsi_kept_effects_free(sgfs_kept_effects *kept);
/* An option of the run as a number, from the header's "config"; otherwise where it has none. */
double sgfsi_draws_option(const sgfs_draws *d, const char *key, double otherwise);
