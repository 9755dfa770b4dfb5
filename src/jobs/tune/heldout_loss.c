/* SPDX-License-Identifier: MIT
 * heldout_loss.c: the log loss of the posterior predictive density on held-out rows,
 *
 *     -1/H sum_i log( 1/S sum_s p(y_i | x_i, theta_s) ),
 *
 * (with weights: -1/W sum_i w_i log(...), W the sum of the held-out rows' weights), the inner mean
 * over all S kept draws of all chains; predictor.c does the arithmetic.
 *
 * Draws are on the user's scale. So the model is opened once more on the same training rows as they
 * stand in the table: its theta is the user's, its density that of the target in the data's own
 * units (losses of folds that were standardised differently can be compared), and what
 * --standardize learned from the training rows is already in the draws. It is the training rows
 * that tell it the labels: the rows to be scored may lack one. Kinds without to_user have draws on
 * the chain's own scale, and see rows standardised as the training rows were.
 */
#include "jobs/tune/heldout_loss.h"

#include <omp.h>

#include "posterior/predictor.h"
#include "rows/rows.h"

enum { BLOCK = 512 };

/* One thread's room, BLOCK rows. */
typedef struct room {
    sgfsi_rows rows;
    sgfsi_predictor predictor;
} room;

typedef struct scorer {
    const sgfs_model *m; /* on the draws' scale */
    const sgfs_draws *draws;
    const int64_t *row;
    int64_t n, groups; /* rows; groups of them */
    const sgfsi_stop *stop;
    room *room;
    sgfsi_tally tally[SGFSI_HELDOUT_GROUPS];
    sgfs_status status[SGFSI_HELDOUT_GROUPS];
    sgfs_err err[SGFSI_HELDOUT_GROUPS];
} scorer;

static bool is_stopping(const scorer *s) {
    return s->stop != NULL && sgfsi_stop_asked(s->stop);
}

static void score_group(scorer *s, int64_t group) {
    room *r = &s->room[omp_get_thread_num()];
    int64_t from = group * s->n / s->groups, end = (group + 1) * s->n / s->groups;
    sgfs_status *status = &s->status[group];
    for (int64_t first = from; first < end && !is_stopping(s); first += BLOCK) {
        int64_t n = end - first < BLOCK ? end - first : BLOCK;
        const sgfs_batch *b = sgfsi_rows_table(&r->rows, s->row + first, n);
        sgfsi_predictor_begin(&r->predictor, b, 0);
        for (int64_t c = 0; c < s->draws->chains; c++) {
            const sgfsi_chain_draws *chain = &s->draws->chain[c];
            for (int64_t t = 0; t < chain->draws && *status == SGFS_OK; t++) {
                const sgfsi_draw draw = {chain->theta + t * s->m->D, (uint32_t)c, t, NULL};
                *status = sgfsi_predictor_add(&r->predictor, 1, &draw, &s->err[group]);
            }
        }
        if (*status != SGFS_OK) return;
        sgfsi_predictor_tally(&r->predictor, &s->tally[group]);
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* A group whose rows all have weight 0 says nothing and is left out. */
static sgfs_status collect(const scorer *s, sgfsi_heldout *out, sgfs_err *err) {
    double loss = 0, wrong = 0, total = 0;
    *out = (sgfsi_heldout){.groups = 0};
    for (int64_t g = 0; g < s->groups; g++) {
        double weight = s->tally[g].loss.weight;
        if (weight == 0) continue;
        double mean = sgfsi_mean_se_mean(&s->tally[g].loss);
        out->group[out->groups++] = mean;
        loss += mean * weight;
        wrong += sgfsi_mean_se_mean(&s->tally[g].wrong) * weight; /* NaN without labels */
        total += weight;
    }
    if (total == 0)
        return sgfsi_fail(err, SGFS_EDATA,
                          "The %lld rows that are held out all have weight 0: nothing can be "
                          "judged by them. Use fewer --folds, or another --seed.",
                          (long long)s->n);
    out->loss = loss / total;
    out->error = wrong / total;
    return SGFS_OK;
}

static sgfs_status score(scorer *s, int64_t threads, sgfsi_heldout *out, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    const sgfsi_rows_plan plan = {.n = BLOCK, .sparse = s->m->kind->sparse};
    sgfs_status status = SGFS_OK;
    s->room = sgfsi_arena_alloc(&arena, threads, sizeof *s->room);
    for (int64_t k = 0; s->room != NULL && k < threads && status == SGFS_OK; k++) {
        room *r = &s->room[k];
        status = sgfsi_rows_open(&r->rows, s->m->data, plan, &arena, err);
        if (status == SGFS_OK)
            status = sgfsi_predictor_open(&r->predictor, s->m, BLOCK, 0, &arena, err);
    }
    for (int64_t g = 0; g < s->groups && status == SGFS_OK; g++)
        status = sgfsi_tally_open(&s->tally[g], &s->m->labels, &arena, err);
    status = s->room != NULL ? status : sgfsi_fail_memory(err, "held-out rows");
    if (status == SGFS_OK) {
        sgfsi_scope scope = sgfsi_context_enter(&s->m->ctx);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)threads)
        for (int64_t g = 0; g < s->groups; g++) score_group(s, g);
        sgfsi_context_leave(scope);
        for (int64_t g = 0; g < s->groups && status == SGFS_OK; g++) {
            status = s->status[g];
            if (status != SGFS_OK)
                sgfsi_fail(err, status, "Held-out rows cannot be scored: %.400s.", s->err[g].text);
        }
        if (status == SGFS_OK && is_stopping(s))
            status = sgfsi_fail(err, SGFS_ESTOPPED, "Stopped early.");
        if (status == SGFS_OK) status = collect(s, out, err);
    }
    sgfsi_arena_free(&arena);
    return status;
}

sgfs_status sgfsi_heldout_score(const sgfs_model *m, const sgfs_draws *draws, const int64_t *row,
                                int64_t n, int64_t threads, const sgfsi_stop *stop,
                                sgfsi_heldout *out, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    sgfsi_view_scale scale = m->kind->to_user != NULL ? SGFSI_NO_SCALE : SGFSI_SAME_SCALE;
    sgfs_data *plain = sgfsi_data_view(m->data, NULL, 0, scale, err);
    sgfs_model *user =
        plain != NULL ? sgfsi_model_within(&m->ctx, m->kind, plain, m->cfg, m->saved, err) : NULL;
    if (user == NULL) return sgfs_data_free(plain), sgfsi_why(err);
    scorer s = {.m = user,
                .draws = draws,
                .row = row,
                .n = n,
                .groups = n < SGFSI_HELDOUT_GROUPS ? n : SGFSI_HELDOUT_GROUPS,
                .stop = stop};
    sgfs_status status = sgfsi_predictor_check(user, err);
    if (status == SGFS_OK) status = score(&s, threads, out, err);
    sgfs_model_free(user);
    sgfs_data_free(plain);
    return status;
}
