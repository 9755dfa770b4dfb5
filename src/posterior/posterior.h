/* SPDX-License-Identifier: MIT
 * posterior.h: data + model + prior as one object. Samplers see this and nothing behind it.
 *
 *     G = grad log prior(theta) + N gbar,   gbar the mean score of the minibatch
 *
 * An sgfsi_eval is one chain's view with its own buffers. After sgfsi_eval_gradient it also holds
 * the per-row scores and gbar, from which the Fisher stage estimates the noise. With control
 * variates (sgfsi_control) the same call hands over differences of scores, d_i = g_i(theta) -
 * g_i(anchor), in their place:
 *
 *     G = G* + grad log prior(theta) + N dbar,   G* the gradient of all rows' log likelihood
 */
#pragma once

#include "base/stop.h"
#include "base/ticker.h"
#include "model/kept.h"
#include "model/model.h"
#include "rows/batch.h"
#include "rows/shares.h"

/* The place that differences of scores are taken to, and what all rows say there. */
typedef struct sgfsi_control {
    const double *theta; /* D */
    const double *G;     /* D: gradient of the log likelihood of all rows, without the prior */
    double loglik;       /* and its value */
    const struct sgfsi_remembered *rows; /* each row's scores there (remembered.h); NULL: they are
                                          * made again for the rows of each batch */
} sgfsi_control;

typedef struct sgfsi_eval {
    const sgfs_model *model;
    sgfsi_batcher batcher;
    sgfs_scores scores;             /* of the last batch; with control variates: differences */
    const sgfsi_control *control;   /* NULL: none. May be set anew between two gradients */
    struct sgfsi_pair *pair;        /* room for control variates; NULL: not opened */
    sgfs_scores model_scores;       /* of the same rows with targets drawn from the model */
    double *model_y, *model_random; /* n and 2 n, for drawing them; NULL: the model cannot */
    double *gbar;                   /* D, mean of these scores */
    double *ones;                   /* n */
    double *scratch, *loglik;
    bool gradient_only; /* set by who wants gbar and no scores: rows may be taken where they lie */
    struct sgfsi_sweep *sweep; /* NULL: they cannot */
    double *eta;               /* n, and SGFSI_SWEEP_SPARE more */
    double gamma;              /* of the way the rows are drawn */
    double total; /* rows of the data, or the sum of their weights: N of the formulas */
    int64_t n, D;
    int64_t rows_touched;
} sgfsi_eval;

/* The seed and chain name the random streams. */
sgfs_status sgfsi_eval_open(sgfsi_eval *e, const sgfs_model *model, const sgfs_scheme_kind *scheme,
                            int64_t n, sgfsi_arena *arena, sgfs_err *err);
void sgfsi_eval_stream(sgfsi_eval *e, uint64_t seed, uint32_t chain);

/* Room for control variates: from now on e->control may be set. */
sgfs_status sgfsi_eval_open_control(sgfsi_eval *e, sgfsi_arena *arena, sgfs_err *err);

/* The stochastic gradient of the log posterior for iteration t. lp (may be NULL): an unbiased
 * estimate of the log posterior density, up to a constant. A gradient that is not finite is
 * SGFS_ENUMERIC. */
sgfs_status sgfsi_eval_gradient(sgfsi_eval *e, int64_t t, uint32_t purpose, const double *theta,
                                double *G, double *lp, sgfs_err *err);

/* After sgfsi_eval_gradient of iteration t: draw targets from the model at theta for the rows of
 * that batch and put their scores into e->model_scores. Only where e->model_y is not NULL. */
sgfs_status sgfsi_eval_resample(sgfsi_eval *e, int64_t t, uint32_t purpose, const double *theta,
                                sgfs_err *err);

/* ---- all rows -------------------------------------------------------------------------------- */

/* Room for passes over the full data, streamed in blocks of rows over `threads` threads. The sums
 * have the same bits for any number of them. */
typedef struct sgfsi_full {
    const sgfs_model *model;
    int64_t N, D, parts, threads, stride;
    struct sgfsi_pass *pass;   /* threads */
    struct sgfsi_sweep *sweep; /* rows are taken where they lie; NULL: they are gathered */
    struct sgfsi_far_pass *far; /* sums by the device (far_pass.h); NULL: by the host */
    double *sums;              /* parts x stride: log likelihood, gradient, information */
    sgfs_err *err;             /* parts */
    int64_t rows_touched;
    const sgfsi_log *log; /* for notes from a pass that takes long; NULL, unless set: none */
    /* What gives a pass up (SGFS_ESTOPPED): unless set otherwise the wish of who waits for the
     * model. NULL: a pass is made to its end; so are those that several processes share. */
    const sgfsi_stop *stop;
} sgfsi_full;

/* threads: 0 or less: the context's. curvature: A may be asked for. */
sgfs_status sgfsi_full_open(sgfsi_full *f, const sgfs_model *m, int64_t threads, bool curvature,
                            sgfsi_arena *arena, sgfs_err *err);
/* Log likelihood of all rows, its gradient (D) and the expected Fisher information, all without the
 * prior; otherwise as sgfsi_full_eval. */
sgfs_status sgfsi_full_likelihood(sgfsi_full *f, const double *theta, double *loglik, double *G,
                                  double *info, sgfs_err *err);
/* Log density (up to the prior's constant), gradient (D) and expected Fisher information plus the
 * prior's curvature (A: D x D lower; may be NULL; only where the model has `curvature`). No
 * allocation. A gradient that is not finite is SGFS_ENUMERIC. */
sgfs_status sgfsi_full_eval(sgfsi_full *f, const double *theta, double *lp, double *G, double *A,
                            sgfs_err *err);

/* What a pass that processes share leaves beside sums, which all of them have afterwards: `width`
 * numbers of each part, or of each `rows` neighbouring rows (a power of 2, at most a block), one
 * after another. number NULL: nothing, each process has seen its own parts. */
typedef struct sgfsi_crop {
    double *number;
    int64_t width, rows; /* rows 0: of each part */
} sgfsi_crop;

/* Somebody who wants the scores of all rows at a place. */
typedef struct sgfsi_harvest {
    /* Rows first .. first + s->n - 1. Parts run side by side, each through its rows in order. */
    void (*take)(void *user, int64_t part, int64_t first, const sgfs_scores *s);
    void *user;
    const sgfsi_crop *crop; /* NULL: every process wants to see every row */
} sgfsi_harvest;

/* sgfsi_full_likelihood without information, handing over each row's scores on the way. */
sgfs_status sgfsi_full_harvest(sgfsi_full *f, const double *theta, const sgfsi_harvest *harvest,
                               double *loglik, double *G, sgfs_err *err);

/* Something done once with every block of rows. Blocks come in no order, those of a part one after
 * another. */
typedef struct sgfsi_block_at {
    int64_t thread;      /* 0 .. f->threads - 1 */
    int64_t part, first; /* the block's part and first row */
    double *sums;        /* of the part, 0 before its first block; NULL: there are none */
} sgfsi_block_at;
/* b: the block's rows with their weights. */
typedef sgfs_status (*sgfsi_block_fn)(void *user, const sgfsi_block_at *at, const sgfs_batch *b,
                                      sgfs_err *err);
/* Before sums of `count` numbers a part: fewer parts where these would take too much memory. */
void sgfsi_full_limit(sgfsi_full *f, int64_t count);
/* What is written must not depend on the order. crop: NULL: every process does all of it. */
sgfs_status sgfsi_full_each(sgfsi_full *f, sgfsi_block_fn fn, void *user, const sgfsi_crop *crop,
                            sgfs_err *err);
/* fn adds to `count` numbers of its part; the processes share the parts, whose sums (parts x count)
 * are added up in order into the first `count`. */
sgfs_status sgfsi_full_sum(sgfsi_full *f, sgfsi_block_fn fn, void *user, int64_t count,
                           double *sums, sgfs_err *err);
/* For such a function: log likelihood and gradient of the block at theta are added to at->sums
 * (1 + D numbers). harvest: may be NULL. */
sgfs_status sgfsi_full_block(sgfsi_full *f, const sgfsi_block_at *at, const double *theta,
                             const sgfs_batch *b, const sgfsi_harvest *harvest, sgfs_err *err);

/* SGFS_ESTOPPED with a sentence, where f->stop says that no pass should be made any more. */
sgfs_status sgfsi_full_given_up(const sgfsi_full *f, sgfs_err *err);
/* Who waits for a pass of the device's: w has to stay until that has ended, and then the line above
 * says whether it was. */
typedef struct sgfsi_full_wait {
    const sgfsi_full *full;
    sgfsi_ticker ticker;
} sgfsi_full_wait;
sgfsi_kept_watch sgfsi_full_watch(sgfsi_full_wait *w, const sgfsi_full *f);

/* What its threads waited and read, in all. */
sgfsi_pages sgfsi_full_pages(const sgfsi_full *f);

/* The same once, with room made and given back, on all cores. */
sgfs_status sgfsi_posterior_full(const sgfs_model *m, const double *theta, double *lp, double *G,
                                 double *A, sgfs_err *err);
