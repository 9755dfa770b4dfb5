/* SPDX-License-Identifier: MIT
 * rows.c: the part of check-grad that looks at single rows.
 *
 * A sampler needs more than the gradient's sum: the spread of the rows' scores is its noise. So
 * some rows of a random batch are taken one by one, each score against differences of the row's own
 * log density along a random direction; and every log density must be the same number with scores,
 * without them, and as a batch of one.
 *
 * The scores of the batch also tell how large a gradient is by chance, which is what differences
 * are measured by.
 */
#include <math.h>
#include <string.h>

#include "jobs/checkgrad/checkgrad.h"

enum { SINGLE = 24 };             /* rows of the sample that are compared one by one */
static const double same = 1e-11; /* of log densities that should be the same numbers */

/* ---- rows as batches ------------------------------------------------------------------------- */

static sgfs_status logliks(sgfsi_check *c, const sgfs_batch *b, const double *theta, double *loglik,
                           sgfs_err *err) {
    sgfs_scores alone = {.n = b->n, .D = c->part.D, .blocks = c->part.blocks, .loglik = loglik};
    return c->part.kind->scores(&c->part, theta, b, &alone, c->eval.scratch, err);
}

/* The log density of one row of the sample, as a batch of its own and without scores. */
static sgfs_status row_at(void *work, const double *theta, double *density, sgfs_err *err) {
    sgfsi_check *c = work;
    sgfs_csr csr;
    const sgfs_batch *b = &c->eval.batcher.rows.batch;
    sgfs_batch one = *b;
    one.n = 1;
    one.y = b->y + c->now;
    if (b->x != NULL) one.x = b->x + c->now * b->p;
    if (b->weight != NULL) one.weight = b->weight + c->now;
    if (b->offset != NULL) one.offset = b->offset + c->now;
    if (b->sparse != NULL) {
        csr = *b->sparse;
        csr.start += c->now;
        one.sparse = &csr;
    }
    density[1] = 0;
    return logliks(c, &one, theta, &density[0], err);
}

/* ---- scores of the sample -------------------------------------------------------------------- */

/* g (D) = score of row i of the sample. */
static void score_of(const sgfsi_check *c, int64_t i, double *g) {
    const sgfs_batch *b = &c->eval.batcher.rows.batch;
    const sgfs_scores *s = &c->eval.scores;
    memset(g, 0, (size_t)s->D * sizeof *g);
    for (int64_t k = 0; k < s->blocks; k++) {
        const sgfs_score_block *o = &s->block[k];
        int64_t size = o->rows * o->cols;
        double *to = g + o->offset;
        if (o->dense != NULL) {
            memcpy(to, o->dense + i * size, (size_t)size * sizeof *to);
            continue;
        }
        for (int64_t r = 0; r < o->rows; r++) {
            double left = o->left[i * o->rows + r], *line = to + r * o->cols;
            for (int64_t j = 0; o->right != NULL && j < o->cols; j++)
                line[j] = left * o->right[i * o->cols + j];
            if (o->right != NULL) continue;
            for (int64_t e = b->sparse->start[i]; e < b->sparse->start[i + 1]; e++)
                line[b->sparse->col[e]] = left * b->sparse->value[e];
        }
    }
}

/* The number a row of the sample has in the data, from 1. */
static int64_t number_of(const sgfsi_check *c, int64_t i) {
    return 1 + sgfsi_data_table_row(c->model->data, c->eval.batcher.row[i]);
}

/* The same numbers with scores, without, and row by row. */
static sgfs_status check_logliks(sgfsi_check *c, sgfs_err *err) {
    const sgfs_batch *b = &c->eval.batcher.rows.batch;
    sgfs_status status = logliks(c, b, c->spot, c->loglik, err);
    for (int64_t i = 0; i < c->sample && status == SGFS_OK; i++) {
        double with = c->eval.loglik[i], alone[SGFSI_DENSITIES];
        c->now = i;
        status = row_at(c, c->spot, alone, err);
        double off = fmax(fabs(c->loglik[i] - with), fabs(alone[0] - with)) / (1 + fabs(with));
        bool finite = isfinite(with) && isfinite(c->loglik[i]) && isfinite(alone[0]);
        sgfsi_agreement is = !finite ? SGFSI_NOT_FINITE : off <= same ? SGFSI_AGREES : SGFSI_WRONG;
        sgfsi_note(&c->found.loglik, is, finite ? off : NAN, c->point, number_of(c, i));
    }
    return status;
}

/* Root mean square of g_i'v over the sample. */
static double usual_slope(sgfsi_check *c) {
    double sum = 0;
    for (int64_t i = 0; i < c->sample; i++) {
        double along = 0;
        score_of(c, i, c->room);
        for (int64_t j = 0; j < c->part.D; j++) along += c->room[j] * c->v[j];
        sum += along * along;
    }
    return sqrt(sum / (double)c->sample);
}

/* The gradient of the sample is not finite: whose, and in which row? */
static void name_culprit(sgfsi_check *c) {
    for (int64_t i = 0; i < c->sample; i++) {
        bool bad = !isfinite(c->eval.loglik[i]);
        score_of(c, i, c->room);
        for (int64_t j = 0; j < c->part.D; j++) {
            if (isfinite(c->room[j])) continue;
            bad = true;
            c->param[j] = sgfsi_not_finite(c->point, c->room[j]);
        }
        if (!bad) continue;
        sgfsi_note(&c->found.density, SGFSI_NOT_FINITE, NAN, c->point, number_of(c, i));
        return;
    }
}

/* usable: false where the sample, drawn from all rows, has something that is not a number. */
sgfs_status sgfsi_check_sample(sgfsi_check *c, bool *usable, sgfs_err *err) {
    double lp;
    sgfs_status status =
        sgfsi_eval_gradient(&c->eval, c->point, SGFSI_ROWS, c->spot, c->room, &lp, err);
    if (status == SGFS_ENUMERIC) name_culprit(c);
    *usable = status == SGFS_OK;
    if (status != SGFS_OK) return c->found.density.is == SGFSI_NOT_FINITE ? SGFS_OK : status;
    /* size_j = sqrt(sum over the rows of g_ij^2), from those of the sample. */
    int64_t D = c->part.D;
    double share = c->part.data->total / (double)c->sample;
    memset(c->size, 0, (size_t)D * sizeof *c->size);
    for (int64_t i = 0; i < c->sample; i++) {
        score_of(c, i, c->room);
        for (int64_t j = 0; j < D; j++) c->size[j] += share * c->room[j] * c->room[j];
    }
    for (int64_t j = 0; j < D; j++) c->size[j] = sqrt(c->size[j]);
    status = check_logliks(c, err);
    if (status != SGFS_OK) return status;
    /* Each of some rows by itself: its score against differences of its own log density. A row that
     * says next to nothing (a label that is certain) is measured by what is usual. */
    int64_t step = c->sample / SINGLE > 0 ? c->sample / SINGLE : 1;
    sgfsi_slopes s = c->slopes;
    sgfsi_check_choose(c, 0, 0, c->part.D);
    double usual = usual_slope(c);
    s.densities = row_at;
    s.theta = c->spot;
    s.gradient[0] = c->room;
    s.gradient[1] = NULL;
    s.enough[0] = 0.1 * c->tolerance * usual;
    for (int64_t i = 0; i < c->sample; i += step) {
        sgfsi_slope along[SGFSI_DENSITIES];
        c->now = i;
        score_of(c, i, c->room);
        status = sgfsi_slopes_noise(&s, c->v, err);
        if (status == SGFS_OK) status = sgfsi_slopes_along(&s, c->v, along, err);
        if (status != SGFS_OK) return status;
        sgfsi_verdict seen = sgfsi_judge(&along[0], usual, c->tolerance);
        sgfsi_note(&c->found.score, seen.is, seen.error, c->point, number_of(c, i));
    }
    c->slopes.theta = c->spot; /* a kink is no noise */
    status = sgfsi_slopes_noise(&c->slopes, c->v, err);
    c->slopes.theta = c->theta;
    return status;
}
