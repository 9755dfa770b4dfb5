/* SPDX-License-Identifier: MIT
 * scores.c: room for the scores of some rows, and their sum. What minibatches (minibatch.c) and
 * passes over all rows (pass.c) have in common.
 */
#include "posterior/scores.h"

#include <math.h>

sgfs_status sgfsi_scores_open(sgfs_scores *s, const sgfs_model *m, int64_t n, sgfsi_arena *arena,
                              sgfs_err *err) {
    const sgfs_device *dev = m->ctx.device;
    s->n = n;
    s->D = m->D;
    s->blocks = m->blocks;
    s->block = sgfsi_arena_alloc(arena, m->blocks, sizeof *s->block);
    if (s->block == NULL) return sgfsi_fail_memory(err, "the scores");
    for (int64_t b = 0; b < m->blocks; b++) {
        const sgfs_block *k = &m->block[b];
        sgfs_score_block *o = &s->block[b];
        bool dense = k->form == SGFS_SCORE_DENSE, own = k->form == SGFS_SCORE_OUTER;
        *o = (sgfs_score_block){.offset = k->offset, .rows = k->rows, .cols = k->cols};
        if (dense) o->dense = sgfsi_device_room(dev, n * k->rows * k->cols, arena);
        else if (k->rows == 1) o->left = SGFSI_DOUBLES(arena, n); /* a vector: the host's */
        else o->left = sgfsi_device_room(dev, n * k->rows, arena);
        if (own) o->right = o->right_own = sgfsi_device_room(dev, n * k->cols, arena);
        if ((dense ? o->dense : o->left) == NULL || (own && o->right == NULL)) {
            return sgfsi_fail_memory(err, "the scores");
        }
    }
    return SGFS_OK;
}

/* Where right is the batch's own rows there is nothing to fill: point there. */
void sgfsi_scores_point(const sgfs_model *m, const sgfs_batch *b, sgfs_scores *s) {
    s->n = b->n;
    for (int64_t k = 0; k < m->blocks; k++) {
        if (m->block[k].form != SGFS_SCORE_INPUT) continue;
        s->block[k].right = b->x;
        s->block[k].right_sparse = b->sparse;
    }
}

/* out = a sum_i g_i + b out for one block whose right factors are sparse rows. */
static void sum_sparse(const sgfs_score_block *o, int64_t n, double a, double b, double *out) {
    const sgfs_csr *rows = o->right_sparse;
    for (int64_t j = 0; j < o->rows * o->cols; j++) out[j] = b != 0 ? b * out[j] : 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t r = 0; r < o->rows; r++) {
            double left = a * o->left[i * o->rows + r], *to = out + r * o->cols;
            for (int64_t k = rows->start[i]; k < rows->start[i + 1]; k++) {
                to[rows->col[k]] += left * rows->value[k];
            }
        }
    }
}

/* out = a sum_i g_i + b out, block by block, from the factors. */
void sgfsi_scores_sum(const sgfs_device *dev, const sgfs_scores *s, double a, double b,
                      const double *ones, double *out) {
    sgfsi_outer o[SGFS_BLOCKS_TOGETHER];
    for (int64_t k = 0; k < s->blocks;) {
        int64_t count = sgfs_scores_together(s, k, o);
        double *to = out + s->block[k].offset;
        if (count > 0) sgfsi_outer_sums(dev, count, o, a, b, ones, to);
        else sum_sparse(&s->block[k], s->n, a, b, to);
        k += count > 0 ? count : 1;
    }
}

double sgfsi_loglik_sum(int64_t n, const double *x) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum;
}

double *sgfsi_ones(sgfsi_arena *arena, int64_t n) {
    double *ones = SGFSI_DOUBLES(arena, n);
    for (int64_t i = 0; ones != NULL && i < n; i++) ones[i] = 1;
    return ones;
}

sgfs_status sgfsi_gradient_check(const sgfs_model *m, const double *G, sgfs_err *err) {
    for (int64_t j = 0; j < m->D; j++) {
        if (isfinite(G[j])) continue;
        return sgfsi_fail(err, SGFS_ENUMERIC, "the gradient of parameter \"%s\" is not finite",
                          m->param[j]);
    }
    return SGFS_OK;
}
