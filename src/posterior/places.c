/* SPDX-License-Identifier: MIT
 * places.c: see places.h.
 */
#include "posterior/places.h"

#include <math.h>
#include <string.h>

#include "model/kept.h"
#include "model/prior.h"
#include "posterior/far_pass.h"

sgfs_status sgfsi_places_open(sgfsi_places *p, const sgfs_model *m, int64_t most, bool gradient,
                              int64_t threads, sgfsi_arena *arena, sgfs_err *err) {
    *p = (sgfsi_places){.D = m->D, .most = most};
    sgfs_status status = sgfsi_full_open(&p->full, m, threads, false, arena, err);
    if (status != SGFS_OK) return status;
    sgfsi_full *f = &p->full;
    if (m->kept != NULL)
        return SGFSI_ROOM(arena, m->D, &p->theta) ? SGFS_OK
                                                  : sgfsi_fail_memory(err, "a pass over the data");
    if (f->far != NULL) status = sgfsi_far_pass_open(&f->far, m, 2 * most, false, arena, err);
    if (status != SGFS_OK) return status;
    if (f->far != NULL)
        return SGFSI_ROOM(arena, 2 * most * m->D, &p->theta) &&
                       SGFSI_ROOM(arena, 2 * most, &p->sums)
                   ? SGFS_OK
                   : sgfsi_fail_memory(err, "a pass over the data");
    bool singly = m->kind->many == NULL;
    int64_t count = singly ? 2 * most * (1 + m->D) : most * (gradient ? 1 + m->D : 2);
    if (count < 2 * most) count = 2 * most;
    sgfsi_full_limit(f, count);
    if (!singly) p->room = m->kind->many_scratch(m, most, SGFSI_FULL_BLOCK);
    bool made = SGFSI_ROOM(arena, f->parts * count, &p->sums) &&
                SGFSI_ROOM(arena, f->threads * p->room, &p->scratch) &&
                (!singly || SGFSI_ROOM(arena, 2 * most * m->D, &p->theta));
    return made ? SGFS_OK : sgfsi_fail_memory(err, "a pass over the data");
}

/* ---- one block of rows ----------------------------------------------------------------------- */

typedef struct errand {
    sgfsi_places *p;
    int64_t K;
    const double *theta, *centre;
    bool gradient;
} errand;

/* The sums: K log densities; K more of pairs; K x D of gradients. */
static sgfs_status add_block(void *user, const sgfsi_block_at *at, const sgfs_batch *b,
                             sgfs_err *err) {
    const errand *e = user;
    const sgfs_model *m = e->p->full.model;
    const sgfs_places places = {.count = e->K,
                                .theta = e->theta,
                                .centre = e->centre,
                                .loglik = at->sums,
                                .minus = e->centre != NULL ? at->sums + e->K : NULL,
                                .G = e->gradient ? at->sums + e->K : NULL,
                                .scratch = e->p->scratch + at->thread * e->p->room};
    (void)err;
    m->kind->many(m, b, &places);
    return SGFS_OK;
}

/* The sums: for each place its log density and its gradient. A model may refuse a place that is
 * far out (a network that overflows): it has no density there. */
static sgfs_status add_singly(void *user, const sgfsi_block_at *at, const sgfs_batch *b,
                              sgfs_err *err) {
    const errand *e = user;
    int64_t stride = 1 + e->p->D;
    for (int64_t k = 0; k < e->K; k++) {
        const sgfsi_block_at one = {at->thread, at->part, at->first, at->sums + k * stride};
        const double *theta = e->theta + k * e->p->D;
        sgfs_status status = sgfsi_full_block(&e->p->full, &one, theta, b, NULL, err);
        if (status == SGFS_ENUMERIC) one.sums[0] = -INFINITY;
        else if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* With the prior; what is no number is -INFINITY. */
static sgfs_status finish(sgfsi_places *p, const double *theta, double *lp, double *G,
                          sgfs_err *err) {
    if (p->full.model->kept != NULL) sgfsi_kept_finish(p->full.model, theta, lp, G, NULL);
    sgfs_status status = sgfsi_prior_add(p->full.model, theta, lp, G, err);
    if (status == SGFS_ENUMERIC) *lp = -INFINITY;
    else if (status != SGFS_OK) return status;
    p->nans += isnan(*lp);
    if (!isfinite(*lp)) *lp = -INFINITY;
    return SGFS_OK;
}

/* centre + sign U_k */
static void place(const double *centre, double sign, int64_t D, const double *U, double *theta) {
    for (int64_t j = 0; j < D; j++) theta[j] = centre[j] + sign * U[j];
}

/* Of a device that has all rows. */
static sgfs_status ask_places(sgfsi_places *p, int64_t K, const double *theta, double *lp,
                              double *G, sgfs_err *err) {
    sgfsi_full_wait wait;
    const sgfsi_kept_watch watch = sgfsi_full_watch(&wait, &p->full);
    sgfs_status status = sgfsi_full_given_up(&p->full, err);
    if (status == SGFS_OK && p->full.far != NULL)
        status = sgfsi_far_pass_sums(&p->full, K, theta, lp, G, NULL, err);
    else if (status == SGFS_OK)
        status = sgfsi_kept_places(p->full.model, K, theta, lp, G, NULL, &watch, err);
    if (status == SGFS_OK) status = sgfsi_full_given_up(&p->full, err);
    if (p->full.far == NULL) p->full.rows_touched += p->full.N;
    p->nans = 0;
    for (int64_t k = 0; k < K && status == SGFS_OK; k++)
        status = finish(p, theta + k * p->D, &lp[k], G != NULL ? G + k * p->D : NULL, err);
    return status;
}

sgfs_status sgfsi_places_finish(sgfsi_places *p, const double *centre, int64_t K, const double *U,
                                double *plus, double *minus, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    p->full.rows_touched += p->full.N;
    p->nans = 0;
    for (int64_t k = 0; k < 2 * K && status == SGFS_OK; k++) {
        place(centre, k < K ? 1 : -1, p->D, U + k % K * p->D, p->theta);
        status = finish(p, p->theta, k < K ? &plus[k] : &minus[k - K], NULL, err);
    }
    return status;
}

static sgfs_status ask_pairs(sgfsi_places *p, const double *centre, int64_t K, const double *U,
                             double *plus, double *minus, sgfs_err *err) {
    sgfsi_full_wait wait;
    const sgfsi_kept_watch watch = sgfsi_full_watch(&wait, &p->full);
    sgfs_status status = sgfsi_full_given_up(&p->full, err);
    if (status == SGFS_OK)
        status = sgfsi_kept_pairs(p->full.model, centre, K, U, plus, minus, &watch, err);
    if (status == SGFS_OK) status = sgfsi_full_given_up(&p->full, err);
    if (status != SGFS_OK) return status;
    return sgfsi_places_finish(p, centre, K, U, plus, minus, err);
}

sgfs_status sgfsi_places_eval(sgfsi_places *p, int64_t K, const double *theta, double *lp,
                              double *G, sgfs_err *err) {
    const sgfs_model *m = p->full.model;
    int64_t D = p->D;
    if (m->kept != NULL || p->full.far != NULL) return ask_places(p, K, theta, lp, G, err);
    bool singly = m->kind->many == NULL;
    errand e = {.p = p, .K = K, .theta = theta, .gradient = G != NULL};
    int64_t count = G != NULL || singly ? K * (1 + D) : K;
    sgfs_status status =
        sgfsi_full_sum(&p->full, singly ? add_singly : add_block, &e, count, p->sums, err);
    p->nans = 0;
    for (int64_t k = 0; k < K && status == SGFS_OK; k++) {
        const double *from = singly ? p->sums + k * (1 + D) + 1 : p->sums + K + k * D;
        lp[k] = singly ? from[-1] : p->sums[k];
        if (G != NULL) memcpy(G + k * D, from, (size_t)D * sizeof *G);
        status = finish(p, theta + k * D, &lp[k], G != NULL ? G + k * D : NULL, err);
    }
    return status;
}

sgfs_status sgfsi_places_pairs(sgfsi_places *p, const double *centre, int64_t K, const double *U,
                               double *plus, double *minus, sgfs_err *err) {
    const sgfs_model *m = p->full.model;
    int64_t D = p->D;
    if (m->kept != NULL) return ask_pairs(p, centre, K, U, plus, minus, err);
    if (m->kind->many == NULL || p->full.far != NULL) {
        for (int64_t k = 0; k < 2 * K; k++)
            place(centre, k < K ? 1 : -1, D, U + k % K * D, p->theta + k * D);
        sgfs_status status = sgfsi_places_eval(p, 2 * K, p->theta, p->sums, NULL, err);
        memcpy(plus, p->sums, (size_t)K * sizeof *plus);
        memcpy(minus, p->sums + K, (size_t)K * sizeof *minus);
        return status;
    }
    errand e = {.p = p, .K = K, .theta = U, .centre = centre};
    sgfs_status status = sgfsi_full_sum(&p->full, add_block, &e, 2 * K, p->sums, err);
    double *theta = p->scratch; /* it has served */
    p->nans = 0;
    for (int64_t k = 0; k < 2 * K && status == SGFS_OK; k++) {
        double *lp = k < K ? &plus[k] : &minus[k - K];
        *lp = p->sums[k];
        place(centre, k < K ? 1 : -1, D, U + k % K * D, theta);
        status = finish(p, theta, lp, NULL, err);
    }
    return status;
}

int64_t sgfsi_places_at_once(const sgfs_model *m, int64_t usual) {
    const double products = 0x1p38,
                 bytes = 0x1p25; /* of a call: at most 20 ms of a GPU; of places */
    const double most = 32, D = (double)m->D, N = (double)m->data->N, pairs = (double)usual;
    const double least = m->gatherer.some != NULL ? 4 : 1; /* so that the rows' way is worth it */
    if (m->kept == NULL && (m->far_rows == NULL || m->kind->errors == NULL)) return 1;
    return (int64_t)fmax(least,
                         fmin(most, fmin(products / (N * D * pairs), bytes / (8 * D * pairs))));
}

sgfs_status sgfsi_places_curvature(sgfsi_places *p, const double *theta, double *A, sgfs_err *err) {
    const sgfs_model *m = p->full.model;
    const double part = 1e-4; /* of a parameter's spread: the step */
    int64_t D = p->D, most = p->most / 2;
    sgfsi_arena own = {NULL};
    double *at = SGFSI_DOUBLES(&own, 2 * most * D), *G = SGFSI_DOUBLES(&own, 2 * most * D),
           *lp = SGFSI_DOUBLES(&own, 2 * most + 2 * D);
    sgfs_status status = SGFS_OK;
    if (at == NULL || G == NULL || lp == NULL) status = sgfsi_fail_memory(err, "the curvature");
    double *spread = lp + 2 * most;
    if (status == SGFS_OK) m->kind->start(m, spread + D, spread);
    if (status == SGFS_OK) memset(A, 0, (size_t)(D * D) * sizeof *A);
    for (int64_t first = 0; first < D && status == SGFS_OK; first += most) {
        int64_t n = D - first < most ? D - first : most;
        for (int64_t k = 0; k < 2 * n; k++) {
            memcpy(at + k * D, theta, (size_t)D * sizeof *at);
            at[k * D + first + k / 2] += (k % 2 == 0 ? part : -part) * spread[first + k / 2];
        }
        status = sgfsi_places_eval(p, 2 * n, at, lp, G, err);
        for (int64_t i = 0; i < n * D && status == SGFS_OK; i++) {
            int64_t j = first + i / D, l = i % D; /* both halves of the matrix, averaged */
            const double *up = G + 2 * (i / D) * D, *down = up + D;
            double slope = (down[l] - up[l]) / (2 * part * spread[j]);
            A[l > j ? l * D + j : j * D + l] += l == j ? slope : slope / 2;
        }
    }
    sgfsi_arena_free(&own);
    return status;
}
