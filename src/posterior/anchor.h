/* SPDX-License-Identifier: MIT
 * anchor.h: a place near the posterior's mode and what all rows say there, found without the user:
 * the one thing that draws whose cost does not grow with the rows need a few passes for.
 *
 *     theta*             the place, less than --anchor-tolerance posterior sd from the mode
 *     G*                 gradient of the log likelihood of all rows there
 *     info               its information, A = info + the prior's curvature = L L'
 *
 * A pilot on some of the rows finds the neighbourhood, Fisher scoring on all of them the rest; the
 * last pass of the search is the one whose G* and info are kept, so that nothing is read for them
 * alone. A prior that may make a second mode costs a few passes more, to see that it does not. The
 * same bits for any number of threads.
 */
#pragma once

#include "posterior/posterior.h"

/* clang-format off */
/* Rows for the tables of samplers that have an anchor. */
#define SGFSI_ANCHOR_ROWS                                                                          \
    {"sampler.anchor_tolerance", "anchor-tolerance", SGFS_NUMBER, "0.01", 1e-10, 1, NULL,          \
     "how far the anchor may be from the mode, in posterior standard deviations"}
/* For those that compare scores with the anchor's (sgfsi_anchor_remember). */
#define SGFSI_ANCHOR_CACHE_ROW                                                                     \
    {"sampler.anchor_cache", "anchor-cache", SGFS_CHOICE, "auto", 1, 0, "auto|on|off",             \
     "keep the scores of all rows at the anchor, or make them again (auto: the faster)"}
/* clang-format on */
/* The first of them, for who looks for an anchor before there is a sampler. */
double sgfsi_anchor_tolerance(const sgfs_config *cfg);

typedef struct sgfsi_anchor {
    double *theta;   /* D, on the chain's scale */
    double *G;       /* D: gradient of the log likelihood, without the prior */
    double *G_post;  /* D: gradient of the log posterior; not quite 0 */
    double *info;    /* D x D, both triangles: information of all rows, without the prior */
    double *L;       /* D x D lower: A = L L' = info + the prior's curvature at theta */
    double loglik;   /* of all rows there */
    double lp;       /* with the prior, up to its constant */
    double distance; /* |L^-1 G_post|: how far the mode is, in posterior standard deviations */
    int64_t pilot;   /* rows of the pilot; 0: there was none */
    int64_t passes;  /* over all rows */
    int64_t rows;    /* read in all, those of the pilot included */
    double seconds;
    double *work;                        /* D, of sgfsi_anchor_at */
    double *modes;                       /* 2 x D, where there are two, and no anchor; else NULL */
    struct sgfsi_remembered *remembered; /* each row's scores there; NULL: not kept */
} sgfsi_anchor;

/* The same model, silent, on n rows that are a fair sample, on the scale of all of them; NULL:
 * cannot be had. Free both, the model first; m must outlive them. */
sgfs_model *sgfsi_model_smaller(const sgfs_model *m, int64_t n, sgfs_data **data);

/* Can the model have one at all? NULL, or a sentence that says why not. */
const char *sgfsi_anchor_refuses(const sgfs_model *m);
/* How it is looked for. */
typedef struct sgfsi_anchor_search {
    double tolerance;    /* how far the mode may be, in posterior standard deviations */
    int64_t threads;     /* 0: all cores */
    const double *start; /* D: where to begin; NULL: at the mode of a pilot of its own */
    int64_t pilot, rows; /* of the pilot that found `start`: its rows; rows read in all */
} sgfsi_anchor_search;

/* Everything comes from the arena. SGFS_ENUMERIC where there is no mode, or, with a prior whose
 * logarithm is no parabola, where there are two. */
sgfs_status sgfsi_anchor_find(sgfsi_anchor *a, const sgfs_model *m, const sgfsi_anchor_search *how,
                              sgfsi_arena *arena, sgfs_err *err);
/* For who has a use for the pilot itself: how many rows it has, 0: none is needed; and its mode
 * (theta: D), from a model of so many rows, *rows growing by those read. False: there is none. */
int64_t sgfsi_anchor_pilot_rows(const sgfs_model *m);
bool sgfsi_anchor_pilot(const sgfs_model *small, int64_t threads, double *theta, int64_t *rows);

/* Room for an anchor that is nobody's mode; and what all rows say at theta, in one pass.
 * SGFS_ENUMERIC where the information there is singular. */
sgfs_status sgfsi_anchor_open(sgfsi_anchor *a, int64_t D, sgfsi_arena *arena, sgfs_err *err);
sgfs_status sgfsi_anchor_at(sgfsi_anchor *a, const sgfs_model *m, const double *theta,
                            int64_t threads, sgfs_err *err);

/* After sgfsi_anchor_find: keep each row's scores, in one pass. */
sgfs_status sgfsi_anchor_remember(sgfsi_anchor *a, const sgfs_model *m, int64_t threads,
                                  sgfsi_arena *arena, sgfs_err *err);

/* Its views for a gradient with control variates and for a model's closed form. */
sgfsi_control sgfsi_anchor_control(const sgfsi_anchor *a);
sgfs_expansion sgfsi_anchor_expansion(const sgfsi_anchor *a);
