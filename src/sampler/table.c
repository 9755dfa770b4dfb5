/* SPDX-License-Identifier: MIT
 * table.c: the samplers by the names they have on the command line. A new one is a file and a row.
 */
#include "sampler/sampler.h"

#include <string.h>

/* clang-format off */
/* ROW(name, kind, structure of its matrix ("": as --fisher says, or none), help). Names of one kind
 * stand together. */
#define SAMPLERS(ROW)                                                                              \
    ROW("sgfs-f", sgfs_sampler_sgfs, "full", "SGFS with the full Fisher matrix")                   \
    ROW("sgfs-d", sgfs_sampler_sgfs, "diag", "SGFS with its diagonal: for many parameters")        \
    ROW("sgfs-b", sgfs_sampler_sgfs, "block", "SGFS with blocks of it (--block-size)")             \
    ROW("sgfs", sgfs_sampler_sgfs, "", "SGFS with the matrix that --fisher names")                 \
    ROW("exact", sgfs_sampler_exact_rows, "", "exact draws, in whichever way costs least")         \
    ROW("exact-rows", sgfs_sampler_exact_rows, "", "exact draws that ask a few rows each")         \
    ROW("exact-pairs", sgfs_sampler_exact_pairs, "",                                               \
        "exact draws by proposals that see all rows, hundreds in one pass")                        \
    ROW("exact-hmc", sgfs_sampler_exact_hmc, "",                                                   \
        "exact draws by chains in lock-step that share passes over all rows")                      \
    ROW("exact-linear", sgfs_sampler_exact_linear, "",                                             \
        "independent exact draws: linear regression, Gaussian prior")                              \
    ROW("groups", sgfs_sampler_groups, "",                                                         \
        "exact draws of effects that vary between groups, and of all else")                        \
    ROW("sgfs-cv", sgfs_sampler_sgfs_cv, "",                                                       \
        "SGFS with control variates: cost does not grow with rows")                                \
    ROW("nuts", sgfs_sampler_nuts, "", "no-U-turn sampler on all rows: exact, nothing to tune")    \
    ROW("hmc", sgfs_sampler_hmc, "", "Hamiltonian Monte Carlo on all rows: exact")                 \
    ROW("laplace", sgfs_sampler_laplace, "", "independent draws of the Gaussian at the mode")      \
    ROW("sgld", sgfs_sampler_sgld, "", "stochastic gradient Langevin dynamics")                    \
    ROW("psgld", sgfs_sampler_psgld, "", "SGLD with steps scaled by RMSprop")                      \
    ROW("sghmc", sgfs_sampler_sghmc, "", "stochastic gradient Hamiltonian Monte Carlo")            \
    ROW("sgnht", sgfs_sampler_sgnht, "", "stochastic gradient Nose-Hoover thermostat")             \
    ROW("sgd", sgfs_sampler_sgd, "", "stochastic gradient ascent: an optimiser, for comparison")   \
    ROW("gauss", sgfs_sampler_gauss, "",                                                           \
        "the Gaussian chain: exact for a Gaussian, no data needed")
/* clang-format on */

#define DECLARE(name, kind, fisher, help) extern const sgfs_sampler_kind kind;
#define ENTER(name, kind, fisher, help)   {name, &kind, fisher, help},
SAMPLERS(DECLARE)
const sgfsi_sampler_name sgfsi_sampler_names[] = {SAMPLERS(ENTER){NULL, NULL, NULL, NULL}};

const sgfsi_sampler_name *sgfsi_sampler_find(const char *name) {
    const sgfsi_sampler_name *s = sgfsi_sampler_names;
    while (s->name != NULL && strcmp(s->name, name) != 0) s++;
    return s->name != NULL ? s : NULL;
}

const sgfs_sampler_kind *sgfsi_sampler_at(int64_t index) {
    for (const sgfsi_sampler_name *s = sgfsi_sampler_names; s->name != NULL; s++) {
        bool new = s == sgfsi_sampler_names || s[-1].kind != s->kind;
        if (new &&index-- == 0) return s->kind;
    }
    return NULL;
}
