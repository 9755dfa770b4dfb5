/* SPDX-License-Identifier: MIT
 * network.c: the two passes through dense layers, and the activations.
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
 * exp may overflow to infinity for sums beyond 709, and 1/(1 + inf) = 0 is then the right answer.
 */
#include "model/network.h"

#include <string.h>

/* ---- activations ----------------------------------------------------------------------------- */

/* f = 1/(1 + exp(-a)), f' = f (1 - f) */
static void logistic(const sgfs_device *dev, int64_t n, int64_t h, double *sums, double *right) {
    sgfsi_exp(dev, n * h, sums, sums);
    for (int64_t i = 0; i < n; i++, sums += h, right += h + 1) {
        right[0] = 1;
        for (int64_t j = 0; j < h; j++) right[j + 1] = 1 / (1 + sums[j]);
    }
}

static void logistic_chain(int64_t n, int64_t h, const double *right, const double *back,
                           double *delta) {
    for (int64_t i = 0; i < n; i++, right += h + 1, back += h + 1, delta += h) {
        for (int64_t j = 0; j < h; j++) delta[j] = back[j + 1] * right[j + 1] * (1 - right[j + 1]);
    }
}

/* f = 1 - 2/(1 + exp(2 a)), f' = 1 - f^2 */
static void hyperbolic(const sgfs_device *dev, int64_t n, int64_t h, double *sums, double *right) {
    sgfsi_exp(dev, n * h, sums, sums);
    for (int64_t i = 0; i < n; i++, sums += h, right += h + 1) {
        right[0] = 1;
        for (int64_t j = 0; j < h; j++) right[j + 1] = 1 - 2 / (1 + sums[j]);
    }
}

static void hyperbolic_chain(int64_t n, int64_t h, const double *right, const double *back,
                             double *delta) {
    for (int64_t i = 0; i < n; i++, right += h + 1, back += h + 1, delta += h) {
        for (int64_t j = 0; j < h; j++) delta[j] = back[j + 1] * (1 - right[j + 1] * right[j + 1]);
    }
}

/* f = max(0, a), f' = 1 for a > 0, else 0: also at 0. */
static void rectified(const sgfs_device *dev, int64_t n, int64_t h, double *sums, double *right) {
    (void)dev;
    for (int64_t i = 0; i < n; i++, sums += h, right += h + 1) {
        right[0] = 1;
        for (int64_t j = 0; j < h; j++) right[j + 1] = sums[j] > 0 ? sums[j] : 0;
    }
}

static void rectified_chain(int64_t n, int64_t h, const double *right, const double *back,
                            double *delta) {
    for (int64_t i = 0; i < n; i++, right += h + 1, back += h + 1, delta += h) {
        for (int64_t j = 0; j < h; j++) delta[j] = right[j + 1] > 0 ? back[j + 1] : 0;
    }
}

static const sgfsi_activation kinds[] = {{"logistic", -1, logistic, logistic_chain},
                                         {"tanh", 2, hyperbolic, hyperbolic_chain},
                                         {"relu", 1, rectified, rectified_chain}};
const sgfsi_activation *const sgfsi_activations[] = {&kinds[0], &kinds[1], &kinds[2], NULL};

const sgfsi_activation *sgfsi_activation_find(const char *name) {
    const sgfsi_activation *const *k = sgfsi_activations;
    while (*k != NULL && strcmp((*k)->name, name) != 0) k++;
    return *k;
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
        double *sums = last ? eta : keep != NULL ? keep[l].left : scratch;
        sgfsi_gemm_nt(dev, b->n, at->out, at->in, last ? 1 : net->activation->factor, input,
                      theta + at->offset, 0, sums);
        if (last) return;
        double *right = keep != NULL ? keep[l + 1].right_own : scratch + b->n * net->widest;
        net->activation->apply(dev, b->n, at->out, sums, right);
        input = right;
    }
}

void sgfsi_network_backward(const sgfsi_network *net, const sgfs_device *dev, const double *theta,
                            int64_t n, sgfs_score_block *block, double *scratch) {
    double *back = scratch + n * net->widest; /* n x in */
    for (int64_t l = net->layers - 1; l > 0; l--) {
        const sgfsi_layer *at = &net->layer[l];
        sgfsi_gemm_nn(dev, n, at->in, at->out, 1, block[l].left, theta + at->offset, 0, back);
        net->activation->chain(n, at->in - 1, block[l].right, back, block[l - 1].left);
    }
}
