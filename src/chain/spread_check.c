/* SPDX-License-Identifier: MIT
 * spread_check.c: a check that R-hat and ESS cannot make. SGFS is exact where the posterior is
 * Gaussian; then the spread of its draws equals what the curvature at their mean says,
 *
 *     sd_i = | L^-1 T_i |,   L L' = A(mean),   T the derivative of the map to the user's scale
 * (row T_i).
 *
 * Where the two differ, the posterior is not close to Gaussian or the step is too large for it; the
 * summary then says so (diagnostics/advice.c). Only what is on disk is compared: nothing here
 * changes a draw.
 */
#include "chain/spread_check.h"

#include <math.h>
#include <string.h>

#include "model/prior.h"

/* Rows that are all looked at; of more, so many are enough. */
enum { MOST_PARAMETERS = 1000, MOST_ROWS = 2000000, ENOUGH_ROWS = 1 << 18 };
static const double most_work = 1e11; /* multiplications: a few seconds */

/* Row j of U: how the user's numbers change with parameter j, by central differences over a
 * hundredth of its standard deviation given the others. room: 2 D. */
static void map_to_user(const sgfs_model *m, const double *theta, const double *L, double *room,
                        double *U) {
    int64_t D = m->D;
    double *place = room, *below = room + D;
    memcpy(place, theta, (size_t)D * sizeof *place);
    for (int64_t j = 0; j < D; j++) {
        double *row = U + j * D,
               step = 0.01 / sqrt(sgfsi_dot(m->ctx.near, j + 1, L + j * D, L + j * D));
        if (m->kind->to_user == NULL) {
            row[j] = 1;
            continue;
        }
        double high = theta[j] + step, low = theta[j] - step;
        place[j] = low;
        m->kind->to_user(m, place, below);
        place[j] = high;
        m->kind->to_user(m, place, row);
        place[j] = theta[j];
        for (int64_t i = 0; i < D; i++) row[i] = (row[i] - below[i]) / (high - low);
    }
}

/* Row i of W: w_i = L^-1 T_i, so that the user's covariances are w_i'w_k. */
static double *whiten(const sgfs_model *m, const double *theta, const double *L,
                      sgfsi_arena *arena) {
    int64_t D = m->D;
    double *W = SGFSI_DOUBLES(arena, D * D), *room = SGFSI_DOUBLES(arena, 2 * D);
    if (W == NULL || room == NULL) return NULL;
    map_to_user(m, theta, L, room, W);
    sgfsi_transpose(m->ctx.near, D, W);
    for (int64_t i = 0; i < D; i++) sgfsi_trsv(m->ctx.near, D, L, false, W + i * D);
    return W;
}

bool sgfsi_curvature_cov(const sgfs_model *m, const double *theta, const double *L, double *cov) {
    sgfsi_arena arena = {NULL};
    int64_t D = m->D;
    double *W = whiten(m, theta, L, &arena);
    bool room = W != NULL;
    if (room) {
        sgfsi_transpose(m->ctx.near, D, W);
        sgfsi_syrk_t(m->ctx.near, D, D, 1.0, W, 0.0, cov);
        for (int64_t i = 0; i < D; i++) {
            for (int64_t j = 0; j < i; j++) cov[j * D + i] = cov[i * D + j];
        }
    }
    sgfsi_arena_free(&arena);
    return room;
}

/* Would all rows be too many for a check? Weights are by row of the table: there all are read. */
static bool is_large(const sgfs_data *d) {
    return d->N > MOST_ROWS && d->weight == NULL;
}

/* A of all rows from ENOUGH_ROWS of them: A = P + N/n (A_n - P), P the prior's share. */
static bool curvature_of_some(const sgfs_model *m, const double *theta, double *G, double *A,
                              sgfsi_arena *arena, sgfs_err *why) {
    int64_t D = m->D;
    double lp, *P = SGFSI_DOUBLES(arena, D * D), ratio = m->data->total / ENOUGH_ROWS;
    sgfs_data *some = sgfsi_data_view_fair(m->data, ENOUGH_ROWS, SGFSI_SAME_SCALE, why);
    if (some == NULL || P == NULL) return sgfs_data_free(some), false;
    const sgfs_model part = sgfsi_model_on(m, some);
    sgfs_status status = sgfsi_posterior_full(&part, theta, &lp, G, A, why);
    sgfs_data_free(some);
    if (status != SGFS_OK) return false;
    sgfsi_prior_add_curvature(m, theta, P);
    for (int64_t i = 0; i < D * D; i++) A[i] = P[i] + ratio * (A[i] - P[i]);
    sgfsi_say(sgfsi_config_log(m->cfg), SGFS_NOTE,
              "The spread of the draws is compared with the curvature of %d of the %lld rows.",
              (int)ENOUGH_ROWS, (long long)m->data->N);
    return true;
}

static bool fill(const sgfs_model *m, const double *theta, double *sd, sgfsi_arena *arena,
                 sgfs_err *why) {
    int64_t D = m->D;
    double lp, *A = SGFSI_DOUBLES(arena, D * D), *G = SGFSI_DOUBLES(arena, D);
    if (A == NULL || G == NULL) return false;
    bool known = is_large(m->data) ? curvature_of_some(m, theta, G, A, arena, why)
                                   : sgfsi_posterior_full(m, theta, &lp, G, A, why) == SGFS_OK;
    if (!known || sgfsi_potrf(m->ctx.near, D, A) != 0) return false;
    const double *W = whiten(m, theta, A, arena);
    for (int64_t i = 0; W != NULL && i < D; i++) {
        sd[i] = sqrt(sgfsi_dot(m->ctx.near, D, W + i * D, W + i * D));
    }
    return W != NULL;
}

bool sgfsi_curvature_sd(const sgfs_model *m, const double *theta, double *sd, sgfs_err *why) {
    sgfsi_arena arena = {NULL};
    double rows = is_large(m->data) ? ENOUGH_ROWS : (double)m->data->N;
    double D = (double)m->D, work = rows * D * D;
    if (m->outcomes > 1) work *= (double)m->outcomes;
    if (m->kind->curvature == NULL || m->D > MOST_PARAMETERS || work > most_work) return false;
    if (!sgfsi_prior_is_smooth(m)) return false; /* what a kink does to the spread is not in A */
    bool filled = fill(m, theta, sd, &arena, why);
    if (sgfsi_arena_failed(&arena)) sgfsi_fail_memory(why, "the curvature");
    sgfsi_arena_free(&arena);
    return filled;
}
