/* SPDX-License-Identifier: MIT
 * row_noise.c: one pass over all rows for the covariance of their scores (row_noise.h).
 *
 * Where all parameters belong to one block whose scores are left_i (x) x_i, as in generalised
 * linear models, the mean over places is taken of left_i left_i' alone, R x R numbers for a row,
 * and X' diag(these) X is made once for each pair of them. Other scores are written out, and each
 * place costs a product of its own.
 */
#include "posterior/row_noise.h"

#include <math.h>
#include <string.h>

#include "model/glm.h"
#include "model/prior.h"
#include "posterior/scores.h"

enum { BLOCK = SGFSI_FULL_BLOCK };

/* One thread's. */
typedef struct room {
    sgfs_scores here, anchor;
    double *root;    /* n: sqrt of the rows' weights */
    double *moments; /* pairs of factors x n; NULL: scores are written out */
    double *rows;    /* n x D: scores written out; or room for a product: 2 n p */
    double *scratch;
} room;

/* The sums of a part: D x D second moments; K x D sums of differences; D x D information. */
typedef struct job {
    const sgfsi_row_noise *asked;
    const sgfs_model *model;
    room *room; /* of each thread */
    double *ones;
    int64_t D, factors;
} job;

bool sgfsi_row_noise_is_factored(const sgfs_model *m) {
    return m->blocks == 1 && m->block[0].form == SGFS_SCORE_INPUT;
}

/* ---- the rows of a block --------------------------------------------------------------------- */

/* The numbers of a row that change from place to place: its left factor or its dense score. */
static double *own_numbers(const sgfs_score_block *o, int64_t *count) {
    *count = o->dense != NULL ? o->rows * o->cols : o->rows;
    return o->dense != NULL ? o->dense : o->left;
}

static void subtract(const sgfs_scores *from, sgfs_scores *s) {
    for (int64_t k = 0; k < s->blocks; k++) {
        int64_t count;
        double *x = own_numbers(&s->block[k], &count);
        const double *y = own_numbers(&from->block[k], &count);
        for (int64_t i = 0; i < s->n * count; i++) x[i] -= y[i];
    }
}

static void scale_rows(const double *factor, sgfs_scores *s) {
    for (int64_t k = 0; k < s->blocks; k++) {
        int64_t count;
        double *x = own_numbers(&s->block[k], &count);
        for (int64_t i = 0; i < s->n * count; i++) {
            double w = factor[i / count];
            x[i] =
                w == 0 ? 0 : w * x[i]; /* a row without weight counts for nothing, whatever it is */
        }
    }
}

/* All D numbers of each row. */
static void write_out(const sgfs_scores *s, double *rows) {
    memset(rows, 0, (size_t)(s->n * s->D) * sizeof *rows);
    for (int64_t k = 0; k < s->blocks; k++) {
        const sgfs_score_block *o = &s->block[k];
        const sgfs_csr *x = o->right_sparse;
        for (int64_t i = 0; i < s->n; i++) {
            double *to = rows + i * s->D + o->offset;
            if (o->dense != NULL)
                memcpy(to, o->dense + i * o->rows * o->cols,
                       (size_t)(o->rows * o->cols) * sizeof *to);
            for (int64_t r = 0; o->dense == NULL && r < o->rows; r++, to += o->cols) {
                double left = o->left[i * o->rows + r];
                if (x == NULL)
                    for (int64_t c = 0; c < o->cols; c++) to[c] = left * o->right[i * o->cols + c];
                else
                    for (int64_t e = x->start[i]; e < x->start[i + 1]; e++)
                        to[x->col[e]] = left * x->value[e];
            }
        }
    }
}

/* moments of each pair r >= c += left_r left_c */
static void add_moments(const sgfs_scores *s, double *moments) {
    const sgfs_score_block *o = &s->block[0];
    for (int64_t r = 0; r < o->rows; r++) {
        for (int64_t c = 0; c <= r; c++, moments += BLOCK)
            for (int64_t i = 0; i < s->n; i++)
                moments[i] += o->left[i * o->rows + r] * o->left[i * o->rows + c];
    }
}

static sgfs_status add_block(void *user, const sgfsi_block_at *at, const sgfs_batch *b,
                             sgfs_err *err) {
    const job *j = user;
    const sgfsi_row_noise *q = j->asked;
    const sgfs_model *m = j->model;
    room *r = &j->room[at->thread];
    int64_t D = j->D, pairs = j->factors * (j->factors + 1) / 2;
    double *sum = at->sums + D * D, *info = sum + q->K * D;
    sgfs_status status = SGFS_OK;
    sgfsi_scores_point(m, b, &r->here);
    sgfsi_scores_point(m, b, &r->anchor);
    if (!q->plain) status = m->kind->scores(m, q->anchor->theta, b, &r->anchor, r->scratch, err);
    for (int64_t i = 0; b->weight != NULL && i < b->n; i++) r->root[i] = sqrt(b->weight[i]);
    if (r->moments != NULL) memset(r->moments, 0, (size_t)(pairs * BLOCK) * sizeof *r->moments);
    for (int64_t k = 0; k < q->K && status == SGFS_OK; k++) {
        const double *theta = q->place + k * D;
        status = m->kind->scores(m, theta, b, &r->here, r->scratch, err);
        if (status != SGFS_OK) return status;
        if (!q->plain) subtract(&r->anchor, &r->here);
        if (b->weight != NULL) scale_rows(r->root, &r->here);
        if (r->moments != NULL) add_moments(&r->here, r->moments);
        else {
            write_out(&r->here, r->rows);
            sgfsi_syrk_t(m->ctx.device, b->n, D, 1.0, r->rows, 1.0, at->sums);
        }
        if (b->weight != NULL) scale_rows(r->root, &r->here);
        sgfsi_scores_sum(m->ctx.device, &r->here, 1.0, 1.0, j->ones, sum + k * D);
        if (q->A != NULL) m->kind->curvature(m, theta, b, info, r->scratch);
    }
    const double *weight = r->moments;
    for (int64_t k = 0; weight != NULL && k < j->factors; k++) {
        for (int64_t c = 0; c <= k; c++, weight += BLOCK)
            sgfsi_glm_curvature_pair(m, b, weight, k, c, at->sums, r->rows);
    }
    return status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static sgfs_status open_room(room *r, const job *j, sgfsi_arena *arena, sgfs_err *err) {
    const sgfs_model *m = j->model;
    bool factored = sgfsi_row_noise_is_factored(m);
    int64_t scratch = m->scratch_per_row, pairs = j->factors * (j->factors + 1) / 2;
    if (m->curvature_scratch_per_row > scratch) scratch = m->curvature_scratch_per_row;
    bool made = SGFSI_ROOM(arena, BLOCK, &r->root) &&
                SGFSI_ROOM(arena, BLOCK * (factored ? 2 * m->data->p : j->D), &r->rows) &&
                SGFSI_ROOM(arena, BLOCK * scratch, &r->scratch) &&
                (!factored || SGFSI_ROOM(arena, BLOCK * pairs, &r->moments));
    if (!made) return sgfsi_fail_memory(err, "the noise of the gradient");
    sgfs_status status = sgfsi_scores_open(&r->here, m, BLOCK, arena, err);
    return status == SGFS_OK ? sgfsi_scores_open(&r->anchor, m, BLOCK, arena, err) : status;
}

/* From the sums over all rows to what was asked for. */
static sgfs_status answer(const job *j, const double *sums, sgfs_err *err) {
    const sgfsi_row_noise *q = j->asked;
    const sgfs_model *m = j->model;
    int64_t D = j->D;
    const double *mean = sums + D * D, *info = mean + q->K * D;
    double W = m->data->total, K = (double)q->K;
    sgfs_status status = SGFS_OK;
    memset(q->cov, 0, (size_t)(D * D) * sizeof *q->cov);
    sgfsi_syrk_t(m->ctx.device, q->K, D, -1 / (K * W * W), mean, 0.0, q->cov);
    for (int64_t i = 0; i < D * D; i++) q->cov[i] += sums[i] / (K * W);
    if (q->A == NULL) return SGFS_OK;
    memset(q->A, 0, (size_t)(D * D) * sizeof *q->A);
    memset(q->G, 0, (size_t)D * sizeof *q->G);
    for (int64_t k = 0; k < q->K && status == SGFS_OK; k++) {
        sgfsi_prior_add_curvature(m, q->place + k * D, q->A);
        status = sgfsi_prior_add(m, q->place + k * D, NULL, q->G, err);
        sgfsi_axpy(m->ctx.device, D, 1.0, mean + k * D, q->G);
    }
    for (int64_t i = 0; i < D * D; i++) q->A[i] = (q->A[i] + info[i]) / K;
    for (int64_t i = 0; i < D; i++) q->G[i] = q->G[i] / K + (q->plain ? 0 : q->anchor->G[i]);
    return status;
}

sgfs_status sgfsi_row_noise_find(const sgfsi_row_noise *s, const sgfs_model *m, int64_t threads,
                                 sgfs_err *err) {
    int64_t D = m->D, count = D * D + s->K * D + (s->A != NULL ? D * D : 0);
    sgfsi_arena arena = {NULL};
    sgfsi_full full;
    sgfs_status status = sgfsi_full_open(&full, m, threads, true, &arena, err);
    job j = {.asked = s, .D = D, .factors = m->block[0].rows};
    double *sums = NULL;
    if (status == SGFS_OK) {
        j.model = full.model;
        j.room = sgfsi_arena_alloc(&arena, full.threads, sizeof *j.room);
        j.ones = sgfsi_ones(&arena, BLOCK);
        sums = SGFSI_DOUBLES(&arena, full.parts * count);
        if (j.room == NULL || j.ones == NULL || sums == NULL)
            status = sgfsi_fail_memory(err, "the noise of the gradient");
    }
    for (int64_t k = 0; status == SGFS_OK && k < full.threads; k++)
        status = open_room(&j.room[k], &j, &arena, err);
    if (status == SGFS_OK) status = sgfsi_full_sum(&full, add_block, &j, count, sums, err);
    if (status == SGFS_OK) status = answer(&j, sums, err);
    sgfsi_arena_free(&arena);
    return status;
}

/* ---- places ---------------------------------------------------------------------------------- */

void sgfsi_row_noise_places(const sgfs_device *dev, int64_t K, int64_t D, bool pairs,
                            const double *centre, const double *L, double *z) {
    int64_t own = pairs ? K / 2 : K;
    for (int64_t k = 0; k < own; k++) {
        double *a = z + k * D;
        for (int twice = 0; twice < 2; twice++) { /* Gram and Schmidt; rounding is made up for */
            for (int64_t i = k - k % D; i < k; i++) {
                const double *b = z + i * D;
                sgfsi_axpy(dev, D, -sgfsi_dot(dev, D, a, b) / (double)D, b, a);
            }
        }
        double length = sqrt(sgfsi_dot(dev, D, a, a));
        for (int64_t i = 0; i < D; i++) a[i] *= sqrt((double)D) / length;
    }
    for (int64_t k = 0; k < own; k++) {
        double *a = z + k * D, *mirror = a + own * D;
        sgfsi_trsv(dev, D, L, true, a);
        for (int64_t i = 0; pairs && i < D; i++) mirror[i] = centre[i] - a[i];
        sgfsi_axpy(dev, D, 1.0, centre, a);
    }
}
