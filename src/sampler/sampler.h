/* SPDX-License-Identifier: MIT
 * sampler.h: one chain's sampler: what every kind is handed, and the rows of the sampler table.
 *
 * A sampler sees the posterior (sgfsi_eval) and the algebra of symmetric matrices (sgfs_sym), never
 * rows.
 */
#pragma once

#include "base/fields.h"
#include "base/json.h"
#include "base/stop.h"
#include "fisher/fisher.h"
#include "posterior/hill.h"
#include "posterior/posterior.h"

/* The kinds of one run. Tests put their own in. */
typedef struct sgfsi_kinds {
    const sgfs_sampler_kind *sampler;
    const sgfs_fisher_kind *fisher; /* NULL where the sampler uses none */
    const sgfs_scheme_kind *scheme; /* NULL: chosen by sgfsi_plan_make */
    const char *name;               /* as the user knows it: "sgfs-f" */
} sgfsi_kinds;

/* How a run will be made: filled once (chain/plan.c), read by everybody. While it is being made,
 * NaN and -1 stand for what is still to be chosen. */
typedef struct sgfsi_plan {
    const sgfs_config *cfg; /* the user's, as it is: what was given */
    const sgfsi_log *log;
    const sgfsi_stop *stop; /* when to give an iteration up; NULL: never */
    sgfsi_kinds kinds;
    int64_t batch;      /* rows of a minibatch, as an option; -1 where every iteration sees all */
    const char *scheme; /* its name; "auto" there */
    int64_t warmup, draws, thin, chains, seed;
    int64_t cores;          /* threads of the whole run */
    double ess;             /* the run goes on until every parameter has it; 0: it does not */
    double init, max_time;  /* max_time: NaN without a limit */
    double checkpoint;      /* seconds between saved states; NaN: by what they cost */
    int64_t n, chunk;       /* rows of an iteration; rows of a minibatch that are drawn together */
    int64_t threads, inner; /* chains side by side; threads inside each, for passes over all rows */
    int64_t climb;          /* steps uphill before warm-up */
    double passes;     /* over all rows, of all chains, that a trajectory is cut for; 0: none */
    double gamma, tau; /* tau: predicted, 0 when not known */
    double *start;     /* D, of --start, on the chain's scale; NULL: not given */
    /* Found while the sampler was chosen, for the one that needs it, all in `found`: an anchor
     * of all rows (NULL: it was not looked for), or the mode of the pilot with which its search
     * begins. */
    sgfsi_arena found;
    const sgfsi_anchor *anchor;
    sgfsi_anchor_search pilot;
    const sgfsi_hill *hill;       /* with the anchor; NULL: it was not tried */
    const double *modes;          /* 2 x D: two of them, at which chains begin by turns; NULL */
    sgfsi_fisher_settings fisher; /* where kinds.fisher is not NULL */
    void *settings;               /* the sampler's own; NULL: it has none */
} sgfsi_plan;

struct sgfs_sampler {
    const sgfs_sampler_kind *kind;
    const sgfs_fisher_kind *fisher;
    const sgfsi_plan *plan;
    const void *settings; /* the kind's own, of the plan */
    const sgfsi_log *log;
    sgfsi_arena *arena; /* the chain's; used while opening only */
    const sgfs_model *model;
    const sgfs_layout *layout; /* of the Fisher matrix */
    int64_t D;
    sgfsi_eval eval;       /* minibatches; not open for kinds with full_data */
    sgfsi_full full;       /* all rows; open for kinds with full_data only */
    const double *start;   /* D, of --start: where a search for a mode begins; NULL: not given */
    double *theta, *stats; /* the chain's place and statistics, for kinds with step_together */
    uint64_t seed;
    uint32_t chain;
    /* The run's first chain, opened before this one: what all chains share (a mode, a matrix) can
     * be borrowed from it while opening. NULL for the first chain itself. */
    const struct sgfs_sampler *first;
    int64_t interventions; /* ridges added because a factorisation failed */
    int64_t reanchors;     /* anchors made after the first, because the chain had moved away */
    sgfsi_anchor *anchor;  /* NULL: the kind has none; set by open, shared with the first chain's
                            * until this one makes its own */
    sgfsi_anchor *own;     /* NULL: not made */
    /* Set by open: this sampler gains nothing here, and why (a sentence). The run then begins anew
     * with SGFS and shows it. */
    char fallback[400];
    sgfsi_json *report; /* the first chain's: what it found while opening; "sampler_info" of the
                            * run file. NULL for the others */
    const sgfsi_pages *visit; /* of rows read by neither eval nor full; NULL: there are none */
    struct sgfsi_ahead *ahead; /* iterations that a device makes ahead of the chain, or NULL */
    /* Set by open, of kinds that have `ahead` and a matrix: the averages that an iteration may
     * change (the second one: NULL), and the factor. */
    const sgfs_sym *average[2], *factor;
    bool exploring; /* set by step: theta is on its way, not a draw (cyclical schedules) */
    void *state;
};

extern const sgfs_sampler_kind sgfs_sampler_sgfs, sgfs_sampler_sgfs_cv;

/* A name a user may type: "sgfs-f" is sampler sgfs with the full matrix. */
typedef struct sgfsi_sampler_name {
    const char *name;
    const sgfs_sampler_kind *kind;
    const char *fisher; /* "" : as the option fisher.kind says */
    const char *help;
} sgfsi_sampler_name;
extern const sgfsi_sampler_name sgfsi_sampler_names[];          /* ends with a NULL name */
const sgfsi_sampler_name *sgfsi_sampler_find(const char *name); /* NULL: there is none */
const sgfs_sampler_kind *sgfsi_sampler_at(int64_t index); /* kinds, each once; NULL past the last */

/* While opening: set s->anchor (anchored.c). remembers: keep each row's scores there. SGFS_EUSAGE
 * where the model has none, SGFS_ENUMERIC where there is no mode. */
sgfs_status sgfsi_sampler_anchor(sgfs_sampler *s, double tolerance, bool remembers, sgfs_err *err);
/* That the prior decides some coefficient (posterior/prior_pull.h), for the user and the run file;
 * "": it does not. */
void sgfsi_sampler_tell_prior(const sgfs_sampler *s, const char *text);
/* Room for an anchor of this chain's own, s->own. */
sgfs_status sgfsi_sampler_own_anchor(sgfs_sampler *s, sgfs_err *err);
/* While walking: that anchor at theta, by one pass over all rows on the chain's own thread; counted
 * in s->reanchors. */
sgfs_status sgfsi_sampler_reanchor(sgfs_sampler *s, const double *theta, sgfs_err *err);

/* ---- state (sampler.c) ----------------------------------------------------------------------- */

/* What every sampler has, and what its kind lists. */
void sgfsi_sampler_fields(sgfs_sampler *s, sgfsi_fields *list);
/* For kinds that keep nothing from one iteration to the next. */
void sgfsi_no_fields(const sgfs_sampler *s, sgfsi_fields *list);
/* While opening a chain that is not the first: the kind's fields whose names begin with `prefix`
 * ("": all) become those of the first chain. */
sgfs_status sgfsi_sampler_borrow(sgfs_sampler *s, const char *prefix, sgfs_err *err);

/* D normal numbers of the chain, of this iteration and purpose. */
void sgfsi_sampler_normals(const sgfs_sampler *s, int64_t t, uint32_t purpose, double *z);

/* After a factorisation failed: the next larger ridge to try beside the one asked for, a part of
 * the mean diagonal, from 1e-10 up to 1e-2. Each is an intervention, and counted; false: none is
 * left. *more: 0 at first. */
bool sgfsi_sampler_ridge(sgfs_sampler *s, double *more);

/* For kinds whose chains have a beginning of their own: refuse --init, --climb and, unless it
 * seeds the search for an anchor, --start, the sentence ending in `because`. */
sgfs_status sgfsi_plan_refuse_start(const sgfsi_plan *plan, bool seeds, const char *because,
                                    sgfs_err *err);
/* For exact kinds: why: NULL, or what is in the way of drawing from this posterior. */
sgfs_status sgfsi_plan_refuse(const sgfsi_plan *plan, const sgfs_problem *now, const char *why,
                              sgfs_err *err);

/* Lengths of the kind's own choice, where the user left them free (NaN: no choice). Thinning is
 * chosen only together with the draws. */
static inline void sgfsi_plan_lengths(sgfsi_plan *plan, double warmup, double draws, double thin) {
    bool free_draws = plan->draws < 0;
    if (plan->warmup < 0 && warmup >= 0) plan->warmup = (int64_t)warmup;
    if (plan->thin < 0 && free_draws && thin >= 0) plan->thin = (int64_t)thin;
    if (free_draws && draws >= 0) plan->draws = (int64_t)draws;
}

/* ---- statistics ------------------------------------------------------------------------------ */

/* The first of the samplers that step by stochastic gradients; their own begin at
 * SGFSI_OWN_STATS. */
enum { SGFSI_LP, SGFSI_STEP_SIZE, SGFSI_GRAD_NORM, SGFSI_OWN_STATS };
#define SGFSI_GRADIENT_STATS                                                                       \
    [SGFSI_LP] = SGFSI_STAT_LP, [SGFSI_STEP_SIZE] = SGFSI_STAT_STEP_SIZE,                          \
    [SGFSI_GRAD_NORM] = "grad_norm"

/* ---- step sizes of the stochastic samplers (schedule.c) -------------------------------------- */

/* clang-format off */
/* Rows for a kind's own table. */
#define SGFSI_EPSILON_ROWS                                                                         \
    {"sampler.epsilon", "epsilon", SGFS_NUMBER, "auto", 1e-300, 1e300, NULL,                       \
     "step size (auto: the gradient noise adds a tenth to the variance)"},                         \
    {"sampler.step_a", "step-a", SGFS_NUMBER, "auto", 1e-300, 1e300, NULL,                         \
     "a of the decaying step size a (b + t)^-delta"},                                              \
    {"sampler.step_b", "step-b", SGFS_NUMBER, "1", 0, 1e300, NULL, "b of the decaying step size"}, \
    {"sampler.step_delta", "step-delta", SGFS_NUMBER, "0.55", 0, 10, NULL,                         \
     "delta of the decaying step size"},                                                           \
    {"sampler.warmup_factor", "warmup-factor", SGFS_NUMBER, "auto", 1, 1e300, NULL,                \
     "warm-up begins with larger steps (auto: by N/n; 1 for a given step)"}

#define SGFSI_CYCLE_ROWS                                                                           \
    {"sampler.cycles", "cycles", SGFS_INTEGER, "0", 0, 1e9, NULL,                                  \
     "let the step fall from its full size to almost 0 so many times (0: never)"},                 \
    {"sampler.cycle_explore", "cycle-explore", SGFS_NUMBER, "0.5", 0, 0.99, NULL,                  \
     "first part of a cycle, in which no noise is injected and nothing kept"}

#define SGFSI_FRICTION_ROW                                                                         \
    {"sampler.friction", "friction", SGFS_NUMBER, "0.1", 1e-6, 1, NULL,                            \
     "part of the momentum lost at each iteration (1: no momentum, as SGLD)"}
/* clang-format on */

/* Cyclical schedule: the factor of the step in (0, 1], and whether the iteration explores: no
 * injected noise, theta no draw. t_after counts from 1 after warm-up (less: warm-up), draws are the
 * iterations planned; cycles 0: factor 1. */
typedef struct sgfsi_cycle {
    double factor;
    bool explores;
} sgfsi_cycle;
sgfsi_cycle sgfsi_cycle_at(int64_t cycles, double explore, int64_t t_after, int64_t draws);
/* When the plan is complete: some iteration must be kept. */
sgfs_status sgfsi_cycle_check(int64_t cycles, double explore, const sgfsi_plan *plan,
                              sgfs_err *err);

/* Settings of these samplers: the `schedule` of their own struct. */
typedef struct sgfsi_schedule {
    double constant;      /* used when a is not given */
    double a, b, delta;   /* eps_t = a (b + t)^-delta */
    double warmup_factor; /* 1: warm-up has the same steps */
    int64_t cycles;
    double explore;
} sgfsi_schedule;

#define SGFSI_SCHEDULE_SETTINGS(type)                                                              \
    {"sampler.epsilon", offsetof(type, schedule.constant), "epsilon", true},                       \
        {"sampler.step_a", offsetof(type, schedule.a), "step a", true},                            \
        {"sampler.step_b", offsetof(type, schedule.b), NULL, false},                               \
        {"sampler.step_delta", offsetof(type, schedule.delta), NULL, false},                       \
        {"sampler.warmup_factor", offsetof(type, schedule.warmup_factor), NULL, false},            \
        {"sampler.cycles", offsetof(type, schedule.cycles), NULL, false}, {                        \
        "sampler.cycle_explore", offsetof(type, schedule.explore), NULL, false                     \
    }

/* What the settings of samplers with a momentum begin with. */
typedef struct sgfsi_momentum_settings {
    sgfsi_schedule schedule;
    double friction;
} sgfsi_momentum_settings;

#define SGFSI_MOMENTUM_SETTINGS                                                                    \
    SGFSI_SCHEDULE_SETTINGS(sgfsi_momentum_settings), {                                            \
        "sampler.friction", offsetof(sgfsi_momentum_settings, friction), "friction", false         \
    }

/* The step of one iteration. */
typedef struct sgfsi_pace {
    double eps;
    bool explores;
} sgfsi_pace;

/* Refuse steps given twice. The automatic step is the one for which the gradient noise adds a
 * tenth to the variance, with lengths to match. unit: half of the --epsilon that would be a whole
 * Newton step where a row has one unit of information; power: with which power of that information
 * it falls (0: not at all, the steps are shaped by a matrix). */
sgfs_status sgfsi_schedule_plan(sgfsi_schedule *s, sgfsi_plan *plan, const sgfs_problem *now,
                                double unit, double power, sgfs_err *err);
sgfs_status sgfsi_momentum_plan(sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err);
/* Hooks of kinds whose settings begin with their schedule. */
const char *sgfsi_schedule_fixed_length(const sgfsi_plan *plan);
int sgfsi_schedule_advise(const sgfsi_plan *plan, const char *advice[2]);
void sgfsi_schedule_describe(const sgfs_sampler *s, char *out, size_t room);
extern const char *const sgfsi_schedule_tuned[];
#define SGFSI_SCHEDULE_HOOKS                                                                       \
    .tuned = sgfsi_schedule_tuned, .fixed_length = sgfsi_schedule_fixed_length,                    \
    .advise = sgfsi_schedule_advise, .describe = sgfsi_schedule_describe
sgfsi_pace sgfsi_schedule_at(const sgfsi_schedule *s, const sgfs_iteration *now);

/* A momentum keeps its temperature v'v/eta when eta changes: v *= sqrt(now/before). before: the
 * eta of the last iteration, 0 at the first; becomes now. */
void sgfsi_momentum_rescale(int64_t D, double *v, double *before, double now);

/* How an iteration of these samplers begins: this step's pace, the gradient at theta, whether it is
 * exploring, and SGFSI_GRADIENT_STATS. */
sgfs_status sgfsi_schedule_gradient(sgfs_sampler *sampler, const sgfs_iteration *now,
                                    const double *theta, double *G, double *stats, sgfsi_pace *pace,
                                    sgfs_err *err);
/* While such a kind is opened: some iteration of its cycles must be kept. */
sgfs_status sgfsi_schedule_check(const sgfs_sampler *sampler, sgfs_err *err);
