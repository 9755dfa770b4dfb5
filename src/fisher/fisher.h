/* SPDX-License-Identifier: MIT
 * fisher.h: the rows of the Fisher table, and the running average that every sampler with a Fisher
 * matrix shares.
 */
#pragma once

#include "base/arena.h"
#include "base/config.h"
#include "base/fields.h"
#include "stages.h"

extern const sgfs_fisher_kind sgfs_fisher_full, sgfs_fisher_diag, sgfs_fisher_block,
    sgfs_fisher_inverse;
extern const sgfs_fisher_kind *const sgfsi_fishers[]; /* NULL-terminated */
extern const char sgfsi_fisher_choices[];             /* "|full|diag...": their names */
const sgfs_fisher_kind *sgfsi_fisher_find(const char *name);

/* For the table row of a structure whose functions are called like the fields they fill: what it
 * does as a sum, and as a factor. */
#define SGFSI_FISHER_SUMS                                                                          \
    .zero = zero, .add_cov = add_cov, .combine = combine, .add_diag = add_diag,                    \
    .from_dense = from_dense, .mul = mul, .trace = trace, .diag = diag
#define SGFSI_FISHER_FACTOR                                                                        \
    .factor = factor, .unfactor = unfactor, .update = update, .solve = solve,                      \
    .mul_factor = mul_factor

/* Blocks of `size` parameters each (the last may be smaller); size 0: the blocks that begin at
 * first[0..blocks), the model's own. NULL when memory is out. */
const sgfs_layout *sgfsi_layout_open(int64_t D, int64_t size, int64_t blocks, const int64_t *first,
                                     sgfsi_arena *arena);

/* A zero matrix of this kind, from the arena; the layout must outlive it. */
sgfs_status sgfsi_sym_open(sgfs_sym *A, const sgfs_fisher_kind *kind, const sgfs_device *dev,
                           const sgfs_layout *layout, sgfsi_arena *arena, sgfs_err *err);

/* x = L^-T (L^-1 x + a z), z (D) being NULL: without it; only without where the kind is not
 * `factored`. */
void sgfsi_sym_solve(const sgfs_sym *L, double a, const double *z, double *x);
/* Two matrices of the same kind and layout change places; nothing is copied. */
void sgfsi_sym_swap(sgfs_sym *A, sgfs_sym *B);
/* The numbers it holds, under this name. */
void sgfsi_sym_fields(const sgfs_sym *A, sgfsi_fields *list, const char *name);

/* The cheapest way to renew the factor of a full D x D matrix after a batch of n rows (update.c):
 * "refactor", "cholesky" (sgfs_fisher_full.update) or, for alpha 0 only, "woodbury"
 * (sgfs_fisher_inverse.update). */
const char *sgfsi_update_best(int64_t D, int64_t n, double alpha);

/* ---- which iterations learn (average.c) ------------------------------------------------------ */

/* Every k-th, in warm-up with a k of its own, until the matrix is frozen. */
typedef struct sgfsi_turns {
    int64_t every, warmup_every;
    int64_t freeze; /* iterations after warm-up without a further one; -1: never */
} sgfsi_turns;
bool sgfsi_turns_due(const sgfsi_turns *turns, const sgfs_iteration *now);

/* Their values, of a run that has a Fisher matrix. */
typedef struct sgfsi_fisher_settings {
    sgfsi_turns turns;  /* which iterations learn */
    int64_t block_size; /* -1: the model's own blocks */
    const char *kappa, *divisor, *update;
    double kappa_value, kappa_a, kappa_b, kappa_delta, window, ridge, fill;
    bool fade;
} sgfsi_fisher_settings;
extern const sgfsi_setting sgfsi_fisher_setting_list[];
/* For sentences: what holds steps back where the matrix knows too little. */
#define SGFSI_FISHER_HOLDS_BACK "--fisher-ridge 0.1"

/* ---- the running average I1hat (average.c) --------------------------------------------------- */

extern const sgfs_option sgfsi_average_options[];

typedef struct sgfsi_average sgfsi_average;

/* kappa of update a->updates (kappa.c). */
typedef double (*sgfsi_kappa)(sgfsi_average *a, bool warmup);
sgfsi_kappa sgfsi_kappa_find(const char *name); /* NULL: no such schedule */

struct sgfsi_average {
    sgfs_sym I1; /* estimate of Cov(g), the information of one row */
    double *work;
    sgfsi_kappa schedule;
    double kappa;       /* of the last update */
    double value;       /* c of the schedules floor, constant, forget */
    double a, b, delta; /* of the schedule power */
    bool divide_by_n;   /* V divided by n, not n - 1 (the paper's SGFS-d) */
    double window;
    int64_t updates; /* so far */
    int64_t settled; /* updates after warm-up */
    double base;     /* weight of what warm-up left, in batches */
};

sgfs_status sgfsi_average_open(sgfsi_average *a, const sgfs_fisher_kind *kind,
                               const sgfs_device *dev, const sgfs_layout *layout, int64_t n,
                               const sgfsi_fisher_settings *set, sgfsi_arena *arena, sgfs_err *err);
void sgfsi_average_fields(sgfsi_average *a, sgfsi_fields *list, const char *name);
void sgfsi_average_restart(sgfsi_average *a); /* forget everything: the next batch counts whole */
/* I1 <- (1 - kappa) I1 + kappa V, V the covariance of the batch's scores about their mean gbar. */
void sgfsi_average_update(sgfsi_average *a, const sgfs_scores *s, const double *gbar, bool warmup);
/* Its parts, for a caller who applies the same change to a factor:
 *     kappa = next(a, warmup), weight = weight(a, s, gbar, kappa),
 *     add_cov or update with decay 1 - kappa and this weight. */
double sgfsi_average_next(sgfsi_average *a, bool warmup); /* count one update; its kappa */
double sgfsi_average_weight(const sgfsi_average *a, const sgfs_scores *s, const double *gbar,
                            double kappa); /* of each row's (g - gbar)(g - gbar)' */
