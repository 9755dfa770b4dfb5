/* SPDX-License-Identifier: MIT
 * outcomes.c: the expected information as a sum over outcomes,
 *
 *     E_y[g g'] = sum_k p_k g(y_k) g(y_k)',
 *
 * exact for labels (k runs over the classes) and, with the three points of Gauss and Hermite, for
 * Gaussian targets, where g is of degree two in y. It costs one scores call and one syrk of the
 * n x D scores for each outcome; a model with a formula (glm.c) does better.
 */
#include "model/outcomes.h"

#include <math.h>
#include <string.h>

const double sgfsi_normal_outcome[] = {-1.7320508075688772935, 0, 1.7320508075688772935};
const double sgfsi_normal_probability[] = {1.0 / 6, 2.0 / 3, 1.0 / 6};

/* y and probability, the factors of the scores and the n x D scores themselves. */
int64_t sgfsi_outcomes_scratch(const sgfs_model *m) {
    int64_t numbers = m->scratch_per_row + 2 + m->outputs + m->D;
    for (int64_t b = 0; b < m->blocks; b++) {
        const sgfs_block *k = &m->block[b];
        bool dense = k->form == SGFS_SCORE_DENSE, own = k->form == SGFS_SCORE_OUTER;
        numbers += dense ? k->rows * k->cols : k->rows + (own ? k->cols : 0);
    }
    return numbers;
}

/* Blocks of scores for n rows, laid out from `room` on; returns what lies behind them. */
static double *lay_out(const sgfs_model *m, const sgfs_batch *b, sgfs_score_block *block,
                       double *room) {
    for (int64_t k = 0; k < m->blocks; k++) {
        const sgfs_block *from = &m->block[k];
        sgfs_score_block *o = &block[k];
        bool dense = from->form == SGFS_SCORE_DENSE, own = from->form == SGFS_SCORE_OUTER;
        *o = (sgfs_score_block){.offset = from->offset, .rows = from->rows, .cols = from->cols};
        if (dense) o->dense = room;
        else o->left = room;
        room += b->n * from->rows * (dense ? from->cols : 1);
        o->right = own ? room : b->x;
        o->right_own = own ? room : NULL;
        room += own ? b->n * from->cols : 0;
    }
    return room;
}

/* Row i of the scores times root. g: D. */
static void form_row(const sgfs_scores *s, int64_t i, double root, double *g) {
    for (int64_t k = 0; k < s->blocks; k++) {
        const sgfs_score_block *o = &s->block[k];
        double *to = g + o->offset;
        for (int64_t r = 0; r < o->rows; r++) {
            double left = root * (o->dense != NULL ? 1 : o->left[i * o->rows + r]);
            const double *right =
                o->dense != NULL ? o->dense + (i * o->rows + r) * o->cols : o->right + i * o->cols;
            for (int64_t c = 0; c < o->cols; c++) to[r * o->cols + c] = left * right[c];
        }
    }
}

void sgfsi_outcomes_curvature(const sgfs_model *m, const double *theta, const sgfs_batch *b,
                              int64_t outcomes, sgfsi_outcome_fn outcome, double *A,
                              double *scratch) {
    sgfs_score_block block[SGFSI_MOST_BLOCKS];
    double *own = scratch, *y = own + b->n * m->scratch_per_row, *probability = y + b->n;
    double *g = lay_out(m, b, block, probability + b->n + b->n * m->outputs);
    sgfs_scores s = {.n = b->n, .D = m->D, .blocks = m->blocks, .block = block};
    sgfs_batch drawn = *b;
    drawn.y = y;
    for (int64_t k = 0; k < outcomes; k++) {
        outcome(m, theta, b, k, y, probability, own);
        if (m->kind->scores(m, theta, &drawn, &s, own, NULL) != SGFS_OK) continue;
        for (int64_t i = 0; i < b->n; i++) {
            double weight = b->weight != NULL ? b->weight[i] : 1;
            if (weight == 0) memset(g + i * m->D, 0, (size_t)m->D * sizeof *g);
            else form_row(&s, i, sqrt(weight * probability[i]), g + i * m->D);
        }
        sgfsi_syrk_t(m->ctx.device, b->n, m->D, 1.0, g, 1.0, A);
    }
}

/* The probabilities of all labels lie behind `probability`: made once, for the first label. */
static void label_outcome(const sgfs_model *m, const double *theta, const sgfs_batch *b, int64_t k,
                          double *y, double *probability, double *scratch) {
    double *all = probability + b->n;
    if (k == 0) m->kind->predict(m, theta, b, all, scratch);
    for (int64_t i = 0; i < b->n; i++) {
        y[i] = m->labels.value[k];
        probability[i] = all[i * m->outputs + k];
    }
}

void sgfsi_label_curvature(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *A,
                           double *scratch) {
    sgfsi_outcomes_curvature(m, theta, b, m->labels.count, label_outcome, A, scratch);
}
