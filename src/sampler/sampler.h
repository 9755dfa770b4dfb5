/* SPDX-License-Identifier: MIT
 * sampler.h: one chain's sampler: what every kind is handed, and the rows of the sampler table.
 *
 * A sampler sees the posterior (sgfsi_eval) and the algebra of symmetric matrices (sgfs_sym), never
 * rows.
 */
#ifndef SGFSI_SAMPLER_H
#define SGFSI_SAMPLER_H

#include "fisher/fisher.h"
#include "model/posterior.h"

struct sgfs_sampler {
    const sgfs_sampler_kind *kind;
    const sgfs_fisher_kind *fisher;
    const sgfs_config *cfg;
    sgfsi_arena *arena;               /* the chain's; used while opening only */
    const struct sgfs_sampler *first; /* of the first chain, opened before the others */
    const sgfs_model *model;
    const sgfs_layout *layout; /* of the Fisher matrix */
    int64_t D;
    sgfsi_eval eval; /* minibatches; not open for kinds with full_data */
    sgfsi_full full; /* all rows; open for kinds with full_data only */
    uint64_t seed;
    uint32_t chain;
    int64_t interventions; /* ridges added because a factorisation failed */
    bool exploring;        /* set by step: theta is on its way, not a draw (cyclical schedules) */
    void *state;
};

extern const sgfs_sampler_kind sgfs_sampler_sgfs, sgfs_sampler_sgld, sgfs_sampler_sgd;
extern const sgfs_sampler_kind sgfs_sampler_laplace;
extern const sgfs_sampler_kind *const sgfsi_samplers[]; /* NULL-terminated */

/* A name a user may type: "sgfs-f" is sampler sgfs with the full matrix. */
typedef struct sgfsi_sampler_name {
    const char *name;
    const sgfs_sampler_kind *kind;
    const char *fisher; /* "" : as the option fisher.kind says */
    const char *help;
} sgfsi_sampler_name;
extern const sgfsi_sampler_name sgfsi_sampler_names[]; /* ends with a NULL name */

/* ---- step size schedules of the plain gradient samplers (schedule.c) ------------------------- */

extern const sgfs_option sgfsi_schedule_options[];

typedef struct sgfsi_schedule {
    double constant;    /* used when a is not given */
    double a, b, delta; /* eps_t = a (b + t)^-delta */
} sgfsi_schedule;

sgfs_status sgfsi_schedule_resolve(sgfs_config *cfg, const sgfs_situation *now, sgfs_err *err);
sgfsi_schedule sgfsi_schedule_open(const sgfs_config *cfg);
double sgfsi_schedule_at(const sgfsi_schedule *s, int64_t t);

#endif
