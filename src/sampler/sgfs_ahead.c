/* SPDX-License-Identifier: MIT
 * sgfs_ahead.c: an iteration of SGFS as plain data (context/device/walk.h): that of sgfs.c and
 * sgfs_matrix.c, with B = K, a matrix that is made anew each time, and no ridge.
 */
#include <math.h>

#include "sampler/ahead.h"
#include "sampler/sgfs_matrix.h"

/* One average learns: `which` of the step's. */
static void learn_ahead(sgfsi_average *a, int64_t n, bool warmup, int which,
                        sgfsi_walk_step *step) {
    double kappa = sgfsi_average_next(a, warmup);
    bool whole = a->divide_by_n || which == 1;
    step->learns |= which == 0 ? SGFSI_LEARNS_SCORES : SGFSI_LEARNS_MODEL;
    step->decay[which] = 1 - kappa;
    step->weight[which] = kappa / (double)(whole ? n : n - 1);
}

/* Averages learn, and the factor is made anew. */
static void renew(sgfsi_sgfs_matrix *k, const sgfs_sampler *sampler, const sgfs_iteration *now,
                  bool by_model, sgfsi_walk_step *step) {
    bool warmup = now->t <= now->warmup;
    if (!k->passing) learn_ahead(&k->scores, sampler->eval.n, warmup, 0, step);
    if (by_model) learn_ahead(&k->model, sampler->eval.n, warmup, 1, step);
    step->from = by_model ? 2 : 1;
    k->source = by_model ? SGFSI_FROM_MODEL : SGFSI_FROM_SCORES;
    k->ridge_now = k->ridge_full = 0;
    k->shrink = 1;
    sgfsi_sgfs_matrix_restore(k);
}

void sgfsi_sgfs_ahead_open(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler) {
    sampler->average[0] = &k->scores.I1;
    sampler->average[1] = k->by_model ? &k->model.I1 : NULL;
    sampler->factor = &k->L;
}

bool sgfsi_sgfs_ahead(sgfsi_sgfs_matrix *k, sgfs_sampler *sampler, const sgfs_iteration *now,
                      const sgfsi_alpha *at, sgfsi_walk_step *step, double *stats) {
    bool due = sgfsi_sgfs_matrix_due(k, now), by_model = now->t <= now->warmup && k->by_model;
    if (!k->B.is_fisher || k->fades || k->ridge > 0) return false;
    if (k->source == SGFSI_FROM_NOTHING) return false;
    if (!due && k->ridge_now > 0) return false;
    sgfsi_sgfs_matrix_pass_on(k, now);
    if (due) renew(k, sampler, now, by_model, step);
    if (due) k->alpha = at->alpha;
    step->share = k->prior != NULL ? k->share : 0;
    step->size = 2 / (1 + at->alpha * at->alpha);
    step->noise = at->explores ? 0 : at->alpha;
    step->prior = at->explores || k->prior == NULL ? 0 : sqrt(k->share - 1);
    stats[SGFSI_STEP_SIZE] = step->size / sampler->eval.gamma;
    stats[SGFSI_SGFS_RIDGES] = 0;
    stats[SGFSI_SGFS_ALPHA] = at->alpha;
    stats[SGFSI_SGFS_PHASE] = at->phase;
    sampler->exploring = at->explores;
    return true;
}
