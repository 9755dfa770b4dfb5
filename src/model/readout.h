/* SPDX-License-Identifier: MIT
 * readout.h: what the sums of a network's last layer say about the target.
 */
#pragma once

#include "model/network.h"

/* One way to read them. eta: n x units, the sums of the last layer. */
typedef struct sgfsi_readout {
    const char *name;
    int64_t most_labels; /* 0: the target is a number */
    int64_t units;       /* of the last layer; 0: one for each label */
    /* eta -> d log p / d eta, in place, in the device's memory where there are several units;
     * loglik (n) where it is not NULL. room (n): the score of log_sigma is left there, if that is a
     * parameter. */
    void (*score)(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *eta,
                  double *loglik, double *room);
    void (*predict)(const sgfs_model *m, int64_t n, const double *eta, double *out);
    /* Targets drawn; eta is changed. */
    void (*draw)(const sgfs_model *m, const double *theta, int64_t n, double *eta,
                 const double *normal, const double *uniform, double *y);
    void (*curvature)(const sgfs_model *m, const double *theta, const sgfs_batch *b, double *A,
                      double *scratch);
} sgfsi_readout;

extern const sgfsi_readout sgfsi_readout_softmax, sgfsi_readout_logistic, sgfsi_readout_gaussian;
const sgfsi_readout *sgfsi_readout_find(const char *name);

/* The state of a network model: m->state. */
typedef struct sgfsi_mlp {
    sgfsi_network net;
    const sgfsi_readout *readout;
    bool known;          /* Gaussian: sigma is given */
    double log_sigma;    /* when known, on the chain's scale */
    double y_mean, y_sd; /* of a standardised target; (0, 1) otherwise */
} sgfsi_mlp;
