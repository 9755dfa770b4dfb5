/* SPDX-License-Identifier: MIT
 * network.h: dense layers on top of each other: the sums that reach the last one, and the way back.
 *
 *     a_l = W_l [1, z_(l-1)],   z_l = f(a_l),   z_0 = the row as the data hand it over
 *
 * Layer l has weights W_l, out x in, row-major in theta; `in` counts the bias, whose column comes
 * first and meets a leading 1. The first layer has a bias where the rows have an intercept.
 */
#pragma once

#include "model/model.h"

enum { SGFSI_MOST_LAYERS = SGFSI_MOST_BLOCKS - 1, SGFSI_MOST_UNITS = 4096 };

/* f of the hidden units. Its derivative is a function of its value: the sums need not be kept. */
typedef struct sgfsi_activation {
    const char *name;
    double factor; /* the sums arrive multiplied by it: what the one exp wants */
    /* From sums (n x h, destroyed) to [1, f(a)] (n x (h+1)). */
    void (*apply)(const sgfs_device *dev, int64_t n, int64_t h, double *sums, double *right);
    /* delta (n x h) = back x f'(a), back and right n x (h+1) with the bias in front. */
    void (*chain)(int64_t n, int64_t h, const double *right, const double *back, double *delta);
} sgfsi_activation;

extern const sgfsi_activation *const sgfsi_activations[]; /* NULL-terminated */
const sgfsi_activation *sgfsi_activation_find(const char *name);

typedef struct sgfsi_layer {
    int64_t in, out; /* in: with the bias */
    bool bias;
    int64_t offset; /* of its weights in theta */
} sgfsi_layer;

typedef struct sgfsi_network {
    const sgfsi_activation *activation;
    int64_t layers;
    sgfsi_layer layer[SGFSI_MOST_LAYERS];
    int64_t widest; /* hidden units of the widest layer; 0 without one */
} sgfsi_network;

/* Doubles for each row that the passes want as scratch. */
int64_t sgfsi_network_scratch(const sgfsi_network *net);

/* eta: the sums of the last layer, n x out. keep (may be NULL): the model's score blocks, layer by
 * layer, whose right sides are filled on the way. */
void sgfsi_network_forward(const sgfsi_network *net, const sgfs_device *dev, const double *theta,
                           const sgfs_batch *b, sgfs_score_block *keep, double *eta,
                           double *scratch);
/* After a forward pass that kept its values, with d log p/d eta in the left side of the last
 * block: fill the left sides of all others. */
void sgfsi_network_backward(const sgfsi_network *net, const sgfs_device *dev, const double *theta,
                            int64_t n, sgfs_score_block *block, double *scratch);
