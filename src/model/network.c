/* SPDX-License-Identifier: MIT
 * network.c: the two passes through dense layers.
 *
 *     forward    a_l = [1, z_(l-1)] W_l'            n x out,  one gemm and one exp for each unit
 *     backward   delta_(l-1) = (delta_l W_l) x f'   n x in,   one gemm, without the bias column
 *
 * The score of row i for W_l is delta_l,i (x) [1, z_(l-1),i]: both factors are what the passes make
 * anyway, so they are made in place, in the score blocks, and nothing is copied:
 *
 *     block[l].left    first a_l, then (backward) delta_l
 *     block[l].right   [1, z_(l-1)]; for the first layer the batch's own rows
 *
 * The left side of a layer of one unit is a vector, the host's: it is made in scratch and fetched.
 */
#include "model/network.h"

#include <string.h>

static const sgfsi_activation kinds[] = {
    {"logistic", SGFSI_UNIT_LOGISTIC}, {"tanh", SGFSI_UNIT_TANH}, {"relu", SGFSI_UNIT_RELU}};

const sgfsi_activation *sgfsi_activation_find(const char *name) {
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (strcmp(kinds[k].name, name) == 0) return &kinds[k];
    }
    return NULL;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* Scratch: sums (n x widest), then [1, z] or deltas on their way back (n x (widest+1)). */
int64_t sgfsi_network_scratch(const sgfsi_network *net) {
    return 2 * net->widest + 1;
}

void sgfsi_network_forward(const sgfsi_network *net, const sgfs_device *dev, const double *theta,
                           const sgfs_batch *b, sgfs_score_block *keep, double *eta,
                           double *scratch) {
    const double *input = b->x;
    for (int64_t l = 0; l < net->layers; l++) {
        const sgfsi_layer *at = &net->layer[l];
        bool last = l == net->layers - 1;
        double *sums = last ? eta : keep != NULL && at->out > 1 ? keep[l].left : scratch;
        double factor = last ? 1 : sgfsi_unit_factor(net->activation->unit);
        sgfsi_gemm_nt(dev, b->n, at->out, at->in, factor, input, theta + at->offset, 0, sums);
        if (last) return;
        double *right = keep != NULL ? keep[l + 1].right_own : scratch + b->n * net->widest;
        sgfsi_activate(dev, net->activation->unit, b->n, at->out, sums, right);
        input = right;
    }
}

void sgfsi_network_backward(const sgfsi_network *net, const sgfs_device *dev, const double *theta,
                            int64_t n, const double *errors, sgfs_score_block *block,
                            double *scratch) {
    double *back = scratch + n * net->widest; /* n x in */
    for (int64_t l = net->layers - 1; l > 0; l--) {
        const sgfsi_layer *at = &net->layer[l];
        double *left = block[l - 1].left, *delta = at->in > 2 ? left : scratch;
        sgfsi_gemm_nn(dev, n, at->in, at->out, 1, errors, theta + at->offset, 0, back);
        sgfsi_slope_of(dev, net->activation->unit, n, at->in - 1, block[l].right, back, delta);
        if (delta != left) sgfsi_get(dev, n, delta, left);
        errors = delta;
    }
}
