/* SPDX-License-Identifier: MIT
 * table.c: the samplers, and the names they go by on the command line.
 */
#include "sampler/sampler.h"

const sgfs_sampler_kind *const sgfsi_samplers[] = {&sgfs_sampler_sgfs, &sgfs_sampler_sgld,
                                                   &sgfs_sampler_sgd, &sgfs_sampler_laplace, NULL};

const sgfsi_sampler_name sgfsi_sampler_names[] = {
    {"sgfs-f", &sgfs_sampler_sgfs, "full", "SGFS with the full Fisher matrix (the default)"},
    {"sgfs-d", &sgfs_sampler_sgfs, "diag", "SGFS with its diagonal: for many parameters"},
    {"sgfs", &sgfs_sampler_sgfs, "", "SGFS with the matrix that --fisher names"},
    {"sgld", &sgfs_sampler_sgld, "", "stochastic gradient Langevin dynamics"},
    {"sgd", &sgfs_sampler_sgd, "", "stochastic gradient ascent: an optimiser, for comparison"},
    {"laplace", &sgfs_sampler_laplace, "",
     "the Gaussian at the mode: a baseline, not the posterior"},
    {NULL, NULL, NULL, NULL}};
