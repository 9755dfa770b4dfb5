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
    sgfsi_unit unit;
} sgfsi_activation;

const sgfsi_activation *sgfsi_activation_find(const char *name); /* NULL: there is none */

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

/* theta, scratch, eta and errors lie in the device's memory, as matrices do. */

/* Doubles for each row that the passes want as scratch. */
int64_t sgfsi_network_scratch(const sgfsi_network *net);

/* eta: the sums of the last layer, n x out. keep (may be NULL): the model's score blocks, layer by
 * layer, whose right sides are filled on the way. */
void sgfsi_network_forward(const sgfsi_network *net, const sgfs_device *dev, const double *theta,
                           const sgfs_batch *b, sgfs_score_block *keep, double *eta,
                           double *scratch);
/* After a forward pass that kept its values, with errors = d log p/d eta, n x out: fill the left
 * sides of all blocks but the last. */
void sgfsi_network_backward(const sgfsi_network *net, const sgfs_device *dev, const double *theta,
                            int64_t n, const double *errors, sgfs_score_block *block,
                            double *scratch);
