/* SPDX-License-Identifier: MIT
 * score.c: the log loss of the posterior predictive density on held-out rows,
 *
 *     -1/H sum_i log( 1/S sum_s p(y_i | x_i, theta_s) ),
 *
 * (with weights: -1/W sum_i w_i log(...), W the sum of the held-out rows' weights), the inner mean over all S kept draws of all chains, by a running log-sum-exp: for each row the
 * largest log density so far (top) and the sum of exp(log density - top).
 *
 * Draws are on the user's scale. So the model is opened once more on the same training rows as they
 * stand in the table: its theta is the user's, its density that of the target in the data's own
 * units (losses of folds that were standardised differently can be compared), and what
 * --standardize learned from the training rows is already in the draws. It is the training rows
 * that tell it the labels: the rows to be scored may lack one.
 *
 * With two labels the mean density of a row is the probability given to its label: below one half
 * the row is misclassified.
 */
#include "run/score.h"

#include <math.h>
#include <omp.h>

#include "backend/backend.h"
#include "data/rows.h"

enum { BLOCK = 512 };

/* One thread's room, BLOCK rows. */
typedef struct room {
    sgfsi_rows rows;
    double *loglik, *gap, *top, *sum, *scratch;
} room;

typedef struct scorer {
    const sgfs_model *m; /* on the user's scale */
    const sgfs_draws *draws;
    const int64_t *row;
    int64_t n, groups, total; /* rows; groups of them; draws of all chains */
    atomic_int *stop;
    room *room;
    double wrong[SGFSI_SCORE_GROUPS], loss[SGFSI_SCORE_GROUPS],
        weight[SGFSI_SCORE_GROUPS]; /* sums */
} scorer;

static bool is_stopping(const scorer *s) {
    return s->stop != NULL && atomic_load_explicit(s->stop, memory_order_relaxed) != 0;
}

/* ---- one block of rows ----------------------------------------------------------------------- */

static void add_draw(const room *r, const sgfs_backend *be, int64_t n) {
    for (int64_t i = 0; i < n; i++) r->gap[i] = -fabs(r->loglik[i] - r->top[i]);
    be->exp(n, r->gap, r->gap);
    for (int64_t i = 0; i < n; i++) {
        if (r->loglik[i] == -INFINITY) continue; /* adds 0, and gap is not a number */
        if (r->loglik[i] <= r->top[i]) {
            r->sum[i] += r->gap[i];
        } else {
            r->sum[i] = r->sum[i] * r->gap[i] + 1;
            r->top[i] = r->loglik[i];
        }
    }
}

static void score_block(scorer *s, room *r, int64_t first, int64_t n, int64_t group) {
    sgfs_scores out = {.n = n, .D = s->m->D, .loglik = r->loglik}; /* no scores */
    sgfs_batch b = sgfsi_rows_table(&r->rows, s->row + first, n);
    for (int64_t i = 0; i < n; i++) {
        r->top[i] = -INFINITY;
        r->sum[i] = 0;
    }
    for (int64_t c = 0; c < s->draws->chains; c++) {
        const sgfsi_chain *chain = &s->draws->chain[c];
        for (int64_t t = 0; t < chain->draws; t++) {
            (void)s->m->kind->scores(s->m, chain->theta + t * s->m->D, &b, &out, r->scratch, NULL);
            add_draw(r, s->m->be, n);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        double log_mean = r->top[i] + log(r->sum[i] / (double)s->total);
        double w = b.weight != NULL ? b.weight[i] : 1;
        if (w == 0) continue; /* also where its density is 0 */
        s->weight[group] += w;
        s->loss[group] -= w * log_mean;
        s->wrong[group] += w * (log_mean < -M_LN2 ? 1 : log_mean == -M_LN2 ? 0.5 : 0);
    }
}

static void score_group(scorer *s, int64_t group) {
    room *r = &s->room[omp_get_thread_num()];
    int64_t from = group * s->n / s->groups, end = (group + 1) * s->n / s->groups;
    for (int64_t first = from; first < end && !is_stopping(s); first += BLOCK) {
        score_block(s, r, first, end - first < BLOCK ? end - first : BLOCK, group);
    }
}

/* ---- all of them ----------------------------------------------------------------------------- */

static sgfs_status make_room(scorer *s, int64_t threads, sgfsi_arena *arena, sgfs_err *err) {
    const sgfsi_rows_plan plan = {.n = BLOCK, .sparse = s->m->kind->sparse};
    s->room = sgfsi_arena_alloc(arena, threads, sizeof *s->room);
    for (int64_t k = 0; s->room != NULL && k < threads; k++) {
        double *all = SGFSI_DOUBLES(arena, BLOCK * (4 + s->m->scratch_per_row));
        if (all == NULL) return sgfsi_fail_memory(err, "the scores of held-out rows");
        s->room[k] = (room){.loglik = all,
                            .gap = all + BLOCK,
                            .top = all + 2 * BLOCK,
                            .sum = all + 3 * BLOCK,
                            .scratch = all + 4 * BLOCK};
        sgfs_status status = sgfsi_rows_open(&s->room[k].rows, s->m->data, plan, arena, err);
        if (status != SGFS_OK) return status;
    }
    return s->room != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the scores of held-out rows");
}

/* A group whose rows all have weight 0 says nothing and is left out. */
static sgfs_status collect(const scorer *s, sgfsi_score *out, sgfs_err *err) {
    bool two_labels = s->m->labels.count == 2;
    double loss = 0, wrong = 0, weight = 0;
    *out = (sgfsi_score){.groups = 0};
    for (int64_t g = 0; g < s->groups; g++) {
        if (s->weight[g] > 0) out->group[out->groups++] = s->loss[g] / s->weight[g];
        loss += s->loss[g];
        wrong += s->wrong[g];
        weight += s->weight[g];
    }
    if (weight == 0) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "The %lld rows that are held out all have weight 0: nothing can be "
                          "judged by them. Use fewer --folds, or another --seed.",
                          (long long)s->n);
    }
    out->loss = loss / weight;
    out->error = two_labels ? wrong / weight : NAN;
    return SGFS_OK;
}

static sgfs_status score(scorer *s, int64_t threads, sgfsi_score *out, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfs_status status = make_room(s, threads, &arena, err);
    if (status == SGFS_OK) {
        int blas_threads = sgfsi_blas_threads(1);
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)threads)
        for (int64_t g = 0; g < s->groups; g++) score_group(s, g);
        (void)sgfsi_blas_threads(blas_threads);
        status = is_stopping(s) ? sgfsi_fail(err, SGFS_ESTOPPED, "Stopped early.")
                                : collect(s, out, err);
    }
    sgfsi_arena_free(&arena);
    return status;
}

/* The model's own parameters must be what the draws hold. */
static sgfs_status check_scale(const sgfs_model *m, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    bool same = true;
    if (m->kind->to_user == NULL) return SGFS_OK;
    double *theta = SGFSI_DOUBLES(&arena, m->D), *user = SGFSI_DOUBLES(&arena, m->D);
    bool made = theta != NULL && user != NULL;
    for (int64_t j = 0; made && j < m->D; j++) theta[j] = 0.385 + 0.01 * (double)(j % 100);
    if (made) m->kind->to_user(m, theta, user);
    for (int64_t j = 0; made && j < m->D; j++) same = same && fabs(user[j] - theta[j]) < 1e-12;
    sgfsi_arena_free(&arena);
    if (!made) return sgfsi_fail_memory(err, "the parameters");
    return same ? SGFS_OK
                : sgfsi_fail(err, SGFS_EUSAGE,
                             "Model %s reports parameters on another scale than it computes with: "
                             "its draws cannot be scored.",
                             m->kind->name);
}

static sgfs_model *open_unscaled(const sgfs_model *m, const sgfs_data *plain, sgfs_err *err) {
    sgfs_config *silent = sgfsi_config_copy(m->cfg);
    if (silent == NULL) return sgfsi_fail_memory(err, "the model"), NULL;
    sgfs_config_on_message(silent, NULL, NULL);
    sgfs_model *user = sgfsi_model_reopen(m->kind, plain, silent, m->extra, err);
    sgfs_config_free(silent);
    return user;
}

sgfs_status sgfsi_score_rows(const sgfs_model *m, const sgfs_draws *draws, const int64_t *row,
                             int64_t n, int64_t threads, atomic_int *stop, sgfsi_score *out,
                             sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    sgfs_data plain = sgfsi_data_unscaled(m->data);
    sgfs_model *user = open_unscaled(m, &plain, err);
    if (user == NULL) return err->code;
    scorer s = {.m = user,
                .draws = draws,
                .row = row,
                .n = n,
                .groups = n < SGFSI_SCORE_GROUPS ? n : SGFSI_SCORE_GROUPS,
                .stop = stop};
    for (int64_t c = 0; c < draws->chains; c++) s.total += draws->chain[c].draws;
    sgfs_status status = check_scale(user, err);
    if (status == SGFS_OK) status = score(&s, threads, out, err);
    sgfs_model_free(user);
    return status;
}
