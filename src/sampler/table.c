/* SPDX-License-Identifier: MIT
 * table.c: the samplers, and the names they go by on the command line.
 */
#include "sampler/sampler.h"

const sgfs_sampler_kind *const sgfsi_samplers[] = {&sgfs_sampler_sgfs,
                                                   &sgfs_sampler_sgfs_cv,
                                                   &sgfs_sampler_exact,
                                                   &sgfs_sampler_sgld,
                                                   &sgfs_sampler_psgld,
                                                   &sgfs_sampler_sghmc,
                                                   &sgfs_sampler_sgnht,
                                                   &sgfs_sampler_sgd,
                                                   &sgfs_sampler_nuts,
                                                   &sgfs_sampler_hmc,
                                                   &sgfs_sampler_laplace,
                                                   &sgfs_sampler_gauss,
                                                   NULL};

const sgfsi_sampler_name sgfsi_sampler_names[] = {
    {"sgfs-f", &sgfs_sampler_sgfs, "full", "SGFS with the full Fisher matrix"},
    {"sgfs-d", &sgfs_sampler_sgfs, "diag", "SGFS with its diagonal: for many parameters"},
    {"sgfs-b", &sgfs_sampler_sgfs, "block", "SGFS with blocks of it (--block-size)"},
    {"sgfs", &sgfs_sampler_sgfs, "", "SGFS with the matrix that --fisher names"},
    {"exact", &sgfs_sampler_exact, "", "exact draws that ask a few rows each: for regressions"},
    {"sgfs-cv", &sgfs_sampler_sgfs_cv, "",
     "SGFS with control variates: cost does not grow with rows"},
    {"nuts", &sgfs_sampler_nuts, "", "no-U-turn sampler on all rows: exact, nothing to tune"},
    {"hmc", &sgfs_sampler_hmc, "", "Hamiltonian Monte Carlo on all rows: exact"},
    {"laplace", &sgfs_sampler_laplace, "", "independent draws of the Gaussian at the mode"},
    {"sgld", &sgfs_sampler_sgld, "", "stochastic gradient Langevin dynamics"},
    {"psgld", &sgfs_sampler_psgld, "", "SGLD with steps scaled by RMSprop"},
    {"sghmc", &sgfs_sampler_sghmc, "", "stochastic gradient Hamiltonian Monte Carlo"},
    {"sgnht", &sgfs_sampler_sgnht, "", "stochastic gradient Nose-Hoover thermostat"},
    {"sgd", &sgfs_sampler_sgd, "", "stochastic gradient ascent: an optimiser, for comparison"},
    {"gauss", &sgfs_sampler_gauss, "", "the Gaussian chain: exact for a Gaussian, no data needed"},
    {NULL, NULL, NULL, NULL}};
