/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the sgfs authors
 *
 * stages.h: the values that flow between the stages, and the table each kind fills in.
 *
 *     data  ->  model  ->  fisher  ->  sampler  ->  sink
 *     batch     scores     symmetric    theta        draw
 *
 * Adding a kind is one file that ends with its table, and one row in that stage's table.c.
 * docs/extending.md walks through a model in 60 lines.
 *
 * Letters, as in the paper (Ahn, Korattikara, Welling 2012)
 *   N rows in the data, n rows in a minibatch, p columns of the design (intercept included),
 *   D parameters, theta the parameters, g_i the score of row i, gamma the noise factor of the
 *   way rows are drawn, K = L L' the preconditioner.
 */
#pragma once

#include "base/config.h"
#include "context/device/device.h"

/* ---- values that cross a stage border -------------------------------------------------------- */

/* Rows without their zeros: row i has value[k] in column col[k], k = start[i] .. start[i+1)-1. */
typedef struct sgfs_csr {
    const int64_t *start; /* n + 1 */
    const int32_t *col;
    const double *value;
} sgfs_csr;

/* Rows of one minibatch (or of one block of a full pass), always double, whatever the storage. */
typedef struct sgfs_batch {
    int64_t n, p;
    const double *x;        /* n x p, row-major, intercept first where there is one */
    const sgfs_csr *sparse; /* the same rows, x being NULL: only for kinds that say they take it */
    const double *y;        /* n */
    const double *eta;      /* n: x theta, x not being looked at: kinds that say `by_predictor` */
    double *square;         /* n, with eta: room for what each x_i x_i' counts in `curvature` */
    double
        *room; /* in the memory of a device that has its own: D + n room_per_row numbers (model.h)
                   * for kinds that are `far`; else NULL */
    const double *weight; /* n, how often each row counts; NULL: once. (Rows of a minibatch come in
                             * proportion to their weights: there it is always NULL.) */
    const double *offset; /* n, part of the linear predictor: log exposure; NULL: 0 */
    const struct sgfs_afar *afar; /* of a pass that a device makes; NULL: vectors are the host's */
    int64_t row; /* number of the first row in the data, from 1, where the others follow it; 0: they
                  * do not */
    double total; /* rows of the data, or the sum of their weights: N of the formulas */
    double gamma; /* Cov(N gbar) = (gamma - 1) N Cov(g): belongs to the way the rows were drawn */
} sgfs_batch;

/* A batch of a pass or of predictions that a device makes (posterior/far_pass.h): its weights and
 * all other vectors that go with it lie in the device's memory, y excepted, which is not looked
 * at. */
typedef struct sgfs_afar {
    const double *theta;  /* D, or K x D */
    const double *target; /* n: what the model makes of each y (far_target of model.h); NULL: they
                           * are not known, for `predict` */
    double *loglik;       /* n: log density of the targets, which `predict` fills in here as well;
                           * or NULL */
} sgfs_afar;

/* How the scores of one parameter block are handed over. */
typedef enum sgfs_score_form {
    SGFS_SCORE_DENSE, /* `dense` n x (rows*cols) holds them */
    SGFS_SCORE_OUTER, /* score of row i = left_i (x) right_i; the model fills both */
    SGFS_SCORE_INPUT  /* the same with right = the batch's x: nothing to copy */
} sgfs_score_form;

/* A named block of parameters, theta[offset .. offset + rows*cols), row-major. */
typedef struct sgfs_block {
    const char *name;
    int64_t rows, cols;
    sgfs_score_form form;
    int64_t offset; /* filled in by sgfsi_model_create */
} sgfs_block;

typedef struct sgfs_score_block {
    int64_t offset, rows, cols;
    double *left;                 /* n x rows, or NULL when dense */
    double *right_own;            /* n x cols to fill, SGFS_SCORE_OUTER only */
    const double *right;          /* n x cols: right_own, or the batch's x */
    const sgfs_csr *right_sparse; /* the same rows of a sparse batch, right being NULL; else NULL */
    double *dense;                /* n x (rows*cols), or NULL when factored */
} sgfs_score_block;

/* The same as a device takes it: dense scores are one row of factors 1. Not for sparse rows. */
static inline sgfsi_outer sgfs_score_outer(const sgfs_score_block *b, int64_t n) {
    bool dense = b->dense != NULL;
    return (sgfsi_outer){.n = n,
                         .rows = dense ? 1 : b->rows,
                         .cols = dense ? b->rows * b->cols : b->cols,
                         .left = b->left,
                         .right = dense ? b->dense : b->right};
}

/* Per-row scores of a batch, factored where the model allows, and what each row's target says. */
typedef struct sgfs_scores {
    int64_t n, D, blocks;
    sgfs_score_block *block; /* NULL: scores are not wanted */
    double *loglik;          /* n: log density of each row's target; NULL: not wanted */
} sgfs_scores;

/* Blocks that a device takes together, and how many there are of them from block k on; 0: its rows
 * are sparse. */
enum { SGFS_BLOCKS_TOGETHER = 8 };
static inline int64_t sgfs_scores_together(const sgfs_scores *s, int64_t k, sgfsi_outer *o) {
    int64_t count = 0;
    for (; count < SGFS_BLOCKS_TOGETHER && k + count < s->blocks; count++) {
        const sgfs_score_block *b = &s->block[k + count];
        if (b->dense == NULL && b->right_sparse != NULL) break;
        o[count] = sgfs_score_outer(b, s->n);
    }
    return count;
}

/* ---- model ----------------------------------------------------------------------------------- */

/* The log likelihood of all rows to second order around a place. */
typedef struct sgfs_expansion {
    const double *theta; /* D: the place */
    const double *G;     /* D: gradient of the log likelihood there, without the prior */
    const double *info;  /* D x D, both triangles: information there (`curvature`), without it */
} sgfs_expansion;

/* Several places at once: theta_k, or with a centre the pairs centre + theta_k, centre -
 * theta_k. */
typedef struct sgfs_places {
    int64_t count;        /* K */
    const double *theta;  /* K x D */
    const double *centre; /* D, or NULL */
    /* K each: what the rows say there, times their weights, is added */
    double *loglik; /* at theta_k, or at centre + theta_k */
    double *minus;  /* at centre - theta_k; only with a centre */
    double *G;      /* K x D: the gradients, likewise; NULL: not wanted; never with a centre */
    double *scratch;
} sgfs_places;

/* What a device that keeps all rows needs to know of a model to make their sums by itself
 * (model/kept.h): one predictor for each row, x'theta and its offset, and a link. */
typedef struct sgfs_glm_kind {
    sgfsi_link link;
    double (*target)(const sgfs_model *m, double y);   /* as the link takes it; NULL: y */
    double (*constant)(const sgfs_model *m, double y); /* the log density has besides; NULL: 0 */
    /* The link's sums over rows whose weights add up to `rows` become log density, gradient (D) and
     * information (D x D lower); each may be NULL. NULL: they are. */
    void (*finish)(const sgfs_model *m, const double *theta, double rows, double *loglik, double *G,
                   double *info);
} sgfs_glm_kind;

typedef struct sgfs_model_kind {
    const char *name, *help;
    const sgfs_option *options;
    /* Some combinations of parameters change (almost) nothing, as in networks: what the data say of
     * them is no guide to a first step (--fisher-ridge auto). */
    bool redundant;
    bool sparse;       /* takes b->sparse in place of b->x */
    bool by_predictor; /* takes b->eta: sees rows through sgfsi_glm_predictor in `scores`, `predict`
                          and `resample`, and sgfsi_glm_curvature besides in `curvature`, alone */
    bool exposure;     /* takes b->offset, the log of --exposure */
    bool
        far; /* touches rows and scores by operations of the device alone: a device may hold them
              * out
                 of the host's reach. Else the host does the arithmetic, whatever the device */
    bool linked;     /* D = p, and a row says what `link` makes of x_i theta, and no more but the
                        -log y! of SGFSI_LOG: for whoever makes it without the kind */
    sgfsi_link link;
    bool regression; /* linear in the columns: the default prior is scaled by them (prior.h) */
    bool one_mode;   /* the log posterior is concave, or as good: it has one mode to look for */
    /* Read m->data and the config; declare blocks and names; keep private state in m->state. */
    sgfs_status (*open)(sgfs_model *m, sgfs_err *err);
    void (*close)(sgfs_model *m); /* what the arena does not hold, also after an open that failed;
                                   * or NULL */
    /* Fill what s asks for of the rows of b at theta. Weights are none of its business
     * (posterior/pass.c applies them). Must not allocate. */
    sgfs_status (*scores)(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                          sgfs_scores *s, double *scratch, sgfs_err *err);
    /* What the model says of the rows' targets at theta, without looking at them: n x m->outputs
     * numbers, the probability of each label, or the mean of the target in the data's own units.
     * NULL: not available. */
    void (*predict)(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *out,
                    double *scratch);
    /* Add the expected Fisher information of the rows (times b->weight) to A (D x D, lower).
     * NULL: not available. */
    void (*curvature)(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *A,
                      double *scratch);
    /* Targets y (n) for the rows of b, drawn from the model at theta, as they would stand in the
     * data: predictive draws, and simulated data. The covariance of their scores is the model's own
     * Fisher information, which stays tame far from the mode where that of the data's scores does
     * not. normal, uniform: n random numbers each. NULL: not available. */
    void (*resample)(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                     const double *normal, const double *uniform, double *y);
    /* Can a target have this value? NULL: any number, or any of the labels. */
    bool (*allows)(double y);
    /* A sensible first theta, and the scale on which chains should be spread around it. */
    void (*start)(const sgfs_model *m, double *theta, double *spread);
    /* The log prior density at theta, up to a constant (lp, may be NULL), and its gradient, added
     * to G (may be NULL). NULL: --prior and its options say it. */
    sgfs_status (*log_prior)(const sgfs_model *m, const double *theta, double *lp, double *G,
                             sgfs_err *err);
    /* ---- exact draws from a few rows (docs/beyond.md): `third` and `remainder`, or `whole`, for
     * models whose `curvature` is minus the Hessian itself; NULL: not available. ---- */
    /* third[i] bounds the third derivative of row i's log density near the anchor, in every
     * direction: for all v, d with v'A v = d'A d = 1 and all |t| <= radius,
     *     |d^3/de^3 log p(y_i | anchor + t d + e v)| <= third[i]    at e = 0.
     * C = A^-1, D x D, both triangles. Further out the bound grows at most like
     * exp(growth (|t| - radius)): *growth is raised to what these rows need (0: it holds
     * everywhere). Weights are none of its business. scratch: m->exact_scratch_per_row. */
    void (*third)(const sgfs_model *m, const double *anchor, const double *C, double radius,
                  const sgfs_batch *b, double *third, double *growth, double *scratch);
    /* out[i] = r_i(to) - r_i(from), r_i(theta) being the log density of row i less its second-order
     * expansion at the anchor; accurate also where it is tiny. scratch: as above. */
    void (*remainder)(const sgfs_model *m, const double *anchor, const double *from,
                      const double *to, const sgfs_batch *b, double *out, double *scratch);
    /* The log likelihood of all rows at theta less that at the anchor, exactly, without a row:
     * where gradient and information there say all there is to know. */
    double (*whole)(const sgfs_model *m, const sgfs_expansion *at, const double *theta);
    /* ---- all rows at many places (posterior/places.h): NULL: they are looked at one by one --- */
    /* As sgfs_places says, for the rows of b. A log density that is no number may be anything but
     * finite. */
    void (*many)(const sgfs_model *m, const sgfs_batch *b, const sgfs_places *at);
    /* Doubles that it wants for K places and n rows. */
    int64_t (*many_scratch)(const sgfs_model *m, int64_t count, int64_t n);
    /* Of a batch that is afar, whose scores are errors times rows of x: errors E (n x (K rows of
     * the block)) and log densities loglik (n x K) at K places, both there; brief: E is room, and
     * may be anything. NULL: `scores` says them place by place. */
    void (*errors)(const sgfs_model *m, const sgfs_batch *b, int64_t K, bool brief, double *E,
                   double *loglik);
    const sgfs_glm_kind *glm; /* for a device that has all rows; NULL: the host makes these sums */
    /* From the scale the chain lives on to the user's; NULL: they are the same. */
    void (*to_user)(const sgfs_model *m, const double *theta, double *user);
    /* And back. Kinds with to_user have both. */
    void (*from_user)(const sgfs_model *m, const double *user, double *theta);
    void *user; /* kinds made at run time (model/user.c): what they are made of; NULL: of a table */
} sgfs_model_kind;

/* ---- effects of groups ----------------------------------------------------------------------- */

/* Some draws of the effects of all groups, chain by chain (docs/groups.md). A draw of them has one
 * number for each effect of each group of the first term, then of the second, ... on the user's
 * scale. */
typedef struct sgfs_kept_effects {
    int64_t count, numbers; /* draws kept; numbers of each */
    int64_t *chain, *draw;  /* count: which draw of which chain, from 0 */
    float *u;               /* count x numbers */
} sgfs_kept_effects;

/* ---- fisher: an algebra of structured symmetric D x D matrices ------------------------------- */

typedef struct sgfs_fisher_kind sgfs_fisher_kind;

/* How D parameters are cut into blocks that may be correlated: block k is first[k] .. first[k+1)-1.
 * Structures that know no blocks look at D alone. */
typedef struct sgfs_layout {
    int64_t D, blocks;
    const int64_t *first; /* blocks + 1 */
} sgfs_layout;

/* The running average I1hat, the curvature A, the gradient noise S and the preconditioner K are all
 * values of this type. */
typedef struct sgfs_sym {
    const sgfs_fisher_kind *kind;
    const sgfs_device *device;
    const sgfs_layout *layout;
    int64_t D;
    double *store; /* kind->size(layout) numbers in the device's memory, for its kind alone */
    double *room;  /* D of the host's, on a device with memory of its own; else NULL */
} sgfs_sym;

struct sgfs_fisher_kind {
    const char *name, *help;
    const char *stan_metric; /* dense_e, diag_e or unit_e */
    /* solve and mul_factor are halves of one factor, so that noise may be added between two of
     * them. false: `factor` keeps something else (an inverse), of which only solve(false) followed
     * by solve(true) has a meaning, and mul_factor must not be called. */
    bool factored;
    bool whole;                                 /* keeps all of a D x D matrix */
    bool host;                                  /* D numbers or so: they lie in the host's memory */
    int64_t (*size)(const sgfs_layout *layout); /* numbers stored */
    int64_t (*work)(const sgfs_layout *layout, int64_t n); /* of workspace for add_cov and update */
    void (*zero)(sgfs_sym *A);
    /* A = decay A + weight sum_i (g_i - gbar)(g_i - gbar)'; gbar: D numbers, NULL: do not centre */
    void (*add_cov)(sgfs_sym *A, double decay, double weight, const sgfs_scores *s,
                    const double *gbar, double *work);
    void (*combine)(sgfs_sym *A, double b, const sgfs_sym *B, double c,
                    const sgfs_sym *C);                       /* A = bB + cC */
    void (*add_diag)(sgfs_sym *A, double c, const double *d); /* A += c diag(d); d NULL: identity */
    void (*from_dense)(sgfs_sym *A,
                       const double *dense); /* what it keeps of a D x D lower matrix */
    int64_t (*factor)(sgfs_sym *A);          /* A -> L, A = L L'; 0 or where it failed */
    void (*unfactor)(sgfs_sym *L);           /* and back: L -> L L' */
    /* L -> the factor of  decay L L' + weight sum_i (g_i - gbar)(g_i - gbar)'  without forming that
     * matrix; 0, or -1 when rounding spoilt it. NULL: only refactorising is known. */
    int64_t (*update)(sgfs_sym *L, double decay, double weight, const sgfs_scores *s,
                      const double *gbar, double *work);
    void (*solve)(const sgfs_sym *L, bool transposed, double *x); /* x = L^-1 x or L^-T x */
    /* x = L^-T (L^-1 x + a z), z NULL: without it; in one answer of a device, where there are two
     * of `solve`. NULL: those do. */
    void (*solve_noisy)(const sgfs_sym *L, double a, const double *z, double *x);
    void (*mul_factor)(const sgfs_sym *L, bool transposed, double *x); /* x = L x or L' x */
    void (*mul)(const sgfs_sym *A, const double *x, double *y);        /* y = A x (not factored) */
    double (*trace)(const sgfs_sym *A);
    void (*diag)(const sgfs_sym *A, double *d);
};

/* ---- scheme: how the rows of a minibatch are drawn ------------------------------------------- */

struct sgfsi_alias; /* rows/alias.h: draws rows in proportion to their weights */

/* What a minibatch is drawn from. */
typedef struct sgfs_urn {
    int64_t N, n;         /* rows there are; rows of a minibatch */
    double total;         /* N, or the sum of the rows' weights */
    int64_t chunk;        /* rows that are drawn together, by schemes that do so; else 1 */
    int64_t parts;        /* of the rows, each shuffled by itself; at least 1 */
    const int64_t *first; /* parts + 1: first row of each, and N; NULL: one part */
    const struct sgfsi_alias *alias; /* NULL: every row counts once */
} sgfs_urn;

/* Which of all minibatches: names the stream of random numbers. */
typedef struct sgfs_when {
    uint64_t seed;
    int64_t t; /* iteration */
    uint32_t chain, purpose;
} sgfs_when;

typedef struct sgfs_scheme_kind {
    const char *name, *help;
    double (*gamma)(const sgfs_urn *urn);
    int64_t (*state)(const sgfs_urn *urn); /* int64 numbers of private state */
    void (*init)(const sgfs_urn *urn, int64_t *state);
    /* Fill rows[n]. */
    void (*draw)(const sgfs_urn *urn, const sgfs_when *when, int64_t *state, int64_t *rows);
    /* The same in proportion to the rows' weights; NULL: not with weights. */
    void (*draw_weighted)(const sgfs_urn *urn, const sgfs_when *when, int64_t *state,
                          int64_t *rows);
    bool shuffled; /* only right for rows that stand in an order drawn at random */
} sgfs_scheme_kind;

/* ---- sampler --------------------------------------------------------------------------------- */

typedef struct sgfs_sampler
    sgfs_sampler; /* sampler/sampler.h: posterior, matrices, streams of one chain */

typedef struct sgfs_iteration {
    int64_t t;      /* iteration, from 1, warm-up included */
    int64_t warmup; /* iterations of warm-up: t <= warmup is warming up */
    int64_t draws;  /* iterations after warm-up that are planned */
    bool want_lp;   /* this iteration's log density will be recorded */
} sgfs_iteration;

/* What automatic choices may depend on. */
typedef struct sgfs_problem {
    const sgfs_model *model;
    const char *fisher; /* structure of the matrix, "" without one */
    double N;           /* rows, or the sum of their weights */
    int64_t n, D;       /* rows of a minibatch, parameters */
    int64_t block;      /* parameters of the model's largest block */
    double events;      /* rows that carry the information: the smaller class, or N */
    double gamma;
} sgfs_problem;

struct sgfsi_walk_step; /* context/device/walk.h: an iteration as plain data */
struct sgfsi_plan;   /* sampler/sampler.h: how the run will be made */
struct sgfsi_fields; /* base/fields.h: a list of state */

/* Statistics that mean the same of every sampler that has them, by the names that ArviZ gives them:
 * diagnostics, exports and audits find them in a run by these. */
#define SGFSI_STAT_LP         "lp"
#define SGFSI_STAT_STEP_SIZE  "step_size"
#define SGFSI_STAT_ACCEPTANCE "acceptance_rate" /* of a trajectory */
#define SGFSI_STAT_TREE_DEPTH "tree_depth"
#define SGFSI_STAT_N_STEPS    "n_steps"
#define SGFSI_STAT_DIVERGING  "diverging"
#define SGFSI_STAT_ENERGY     "energy"
/* Those of one family, which have a line of their own in a summary. */
#define SGFSI_STAT_ACCEPT        "accept" /* exact draws: was the move accepted? */
#define SGFSI_STAT_ACCEPT_GROUPS "accept_groups"
#define SGFSI_STAT_ACCEPT_SCALES "accept_scales"
#define SGFSI_STAT_ROWS          "rows" /* that were asked */
#define SGFSI_STAT_RHO           "rho"
#define SGFSI_STAT_PHASE         "phase" /* SGFS: of annealing */
#define SGFSI_STAT_NOISE         "noise" /* control variates: what the step follows */

typedef struct sgfs_sampler_kind {
    const char *name, *help;
    const sgfs_option *options;
    const sgfsi_setting *settings; /* where their values are, in a struct of the kind's own */
    size_t settings_size;          /* of that struct: plan->settings */
    bool uses_fisher;
    bool exact;          /* draws from the posterior itself: there is no bias to measure */
    bool optimiser;      /* its iterates are no draws, and have no effective sample size */
    bool independent;    /* each draw is made without the one before: its tau is 1 */
    const char *instead; /* what to try where it fails on the posterior; NULL: "nuts" */
    /* The option that holds its step h, where its bias vanishes with h: an audit makes h smaller.
     * NULL: there is none. */
    const char *vanishing;
    /* What `sgfs tune` varies where it is given no grid: the first of these options that has a
     * value, "KEY=VALUES", or "KEY" for that value and half a decade up and down, twice; ended by
     * NULL. NULL: nothing. */
    const char *const *tuned;
    /* Needs the mode of all rows, or a factor of their curvature; chosen for the user, it is given
     * up where there is none. */
    bool anchored;
    bool groups;    /* for models whose data have groups, and for no others */
    bool full_data; /* every iteration sees all rows: sampler->full is open, sampler->eval is not */
    /* With full_data: reads all rows while opening and then only a few of them, however many there
     * are; sampler->full is used by nobody. */
    bool few_rows;
    int64_t together; /* iterations whose work the first of them does; 0: each does its own */
    /* Draws from a Gaussian by its curvature: rows are read while opening only, and the spread of
     * the draws needs no check against it. */
    bool from_curvature;
    /* Statistics of each draw, in order, ended by NULL; the first is SGFSI_STAT_LP. */
    const char *const *stats;
    /* Rows of a minibatch where --batch is auto; NULL: as SGFS. W: rows, or the sum of their
     * weights. */
    int64_t (*batch)(int64_t W, int64_t D);
    /* Put numbers in place of "auto" in its own settings, those of its matrix and the lengths, and
     * refuse options that contradict each other; may be NULL. */
    sgfs_status (*plan)(struct sgfsi_plan *plan, const sgfs_problem *now, sgfs_err *err);
    /* The option by which steps follow a schedule over the draws, so that more of them are another
     * schedule ("--cycles"), or NULL; may be NULL. */
    const char *(*fixed_length)(const struct sgfsi_plan *plan);
    sgfs_status (*open)(sgfs_sampler *s, sgfs_err *err);
    /* One iteration: theta moves; stats filled. */
    sgfs_status (*step)(sgfs_sampler *s, const sgfs_iteration *now, double *theta, double *stats,
                        sgfs_err *err);
    /* The same for all chains of the run at once, in place of `step`: each chain's theta and stats
     * are in its sampler. The first chain's sampler, opened before the others, knows them all.
     * NULL: chains walk by themselves. */
    sgfs_status (*step_together)(sgfs_sampler *first, const sgfs_iteration *now, sgfs_err *err);
    /* Iteration `now` as plain data to *step, for a device that makes many of them at once: all
     * that `step` does to the sampler's state but for the arithmetic is done, and stats are filled
     * except the first and the length of the gradient. False: that cannot be, and nothing is
     * changed. What it changes lies in the state itself, state_size bytes, not behind its pointers.
     * NULL: never. */
    bool (*ahead)(sgfs_sampler *s, const sgfs_iteration *now, struct sgfsi_walk_step *step,
                  double *stats);
    size_t state_size;
    /* *out: what the run's chains found besides draws, to be kept in its file (a note, runblock.h);
     * the caller's. NULL, or a hook that gives NULL: nothing. */
    sgfs_status (*effects)(const sgfs_sampler *const *chain, int64_t chains,
                           struct sgfsi_json **out, sgfs_err *err);
    /* Of its draws those that are kept, malloc'ed, to *out; false: memory is out. NULL: none. */
    bool (*kept_effects)(const sgfs_sampler *const *chain, int64_t chains, sgfs_kept_effects *out);
    /* The effects as they are now, to out (numbers of a draw, on the user's scale); returns how
     * many; out NULL: only that. NULL: there are none. */
    int64_t (*effects_now)(const sgfs_sampler *s, float *out);
    /* List what an iteration leaves for the next one to read (base/fields.h), so that a chain
     * can be saved and go on later. Required; a kind without such state says sgfsi_no_fields. */
    void (*fields)(const sgfs_sampler *s, struct sgfsi_fields *list);
    /* Autocorrelation time in iterations that theory predicts; 0: not known. */
    double (*tau)(const struct sgfsi_plan *plan);
    /* A sentence about what is approximate: always, or at these settings (NULL: nothing). */
    const char *caution;
    const char *(*caution_at)(const struct sgfsi_plan *plan, const char *fisher);
    /* What may help where numbers ran out ("a larger --alpha"): at most two; how many. NULL:
     * none. */
    int (*advise)(const struct sgfsi_plan *plan, const char *advice[2]);
    /* Append to the run's title what its settings' words do not say (", step 0.8"); may be NULL. */
    void (*describe)(const sgfs_sampler *s, char *out, size_t room);
    /* Stan's word for its mass matrix; NULL: that of the Fisher matrix, or none. */
    const char *(*stan_metric)(const struct sgfsi_plan *plan);
} sgfs_sampler_kind;
