/* SPDX-License-Identifier: MIT
 * energy.c: divergences, tree depths, acceptance and energy of samplers that follow trajectories;
 * acceptance and rows asked of sampler exact.
 *
 * Read from the statistics kept with each draw, each where the run has it, over the same rectangle
 * of draws that is exported. A run without energies and without the acceptance of trajectories has
 * none, and nothing is said of it: SGFS too has a step size, but another one.
 *
 * E-BFMI (Betancourt 2016, "Diagnosing suboptimal cotangent disintegrations"), for each chain:
 *     sum_t (E_t - E_{t-1})^2 / sum_t (E_t - mean E)^2
 * compares how far fresh momentum moves the energy with how far the energy ranges: near 1 for a
 * Gaussian, small where tails are reached only by a slow walk. Kept draws that lie thin iterations
 * apart make it larger than it is; the summary says so.
 *
 * Not here: what to make of the numbers (advice.c).
 */
#include "diagnostics/energy.h"

#include <math.h>

static const double DEFAULT_DEPTH = 10;

double sgfsi_bfmi(int64_t n, const double *energy, int64_t stride) {
    double sum = 0, moves = 0, spread = 0;
    for (int64_t t = 0; t < n; t++) sum += energy[t * stride];
    double mean = sum / (double)n;
    for (int64_t t = 0; t < n; t++) {
        double here = energy[t * stride], last = energy[(t > 0 ? t - 1 : 0) * stride];
        moves += (here - last) * (here - last);
        spread += (here - mean) * (here - mean);
    }
    return spread > 0 ? moves / spread : NAN;
}

/* The statistic as it is, or whether it reaches a level (level NaN: as it is); summed over all
 * draws used. NaN without such a statistic. */
static double sum_of(const sgfs_draws *d, const sgfsi_used *used, const char *name, double level) {
    int64_t column = sgfsi_draws_stat(d, name);
    double sum = 0;
    if (column < 0) return NAN;
    for (int64_t c = 0; c < used->chains; c++) {
        const double *stats = d->chain[used->chain[c]].stats;
        for (int64_t t = 0; t < used->draws; t++) {
            double x = stats[t * d->S + column];
            sum += isnan(level) ? x : (double)(x >= level);
        }
    }
    return sum;
}

double sgfsi_count_equal(const sgfs_draws *d, const sgfsi_used *used, const char *name,
                         double value) {
    double at_least = sum_of(d, used, name, value), above = sum_of(d, used, name, value + 0.5);
    return isnan(at_least) ? 0 : at_least - above;
}

sgfs_status sgfsi_trajectories_of(const sgfs_draws *d, const sgfsi_used *used, sgfsi_arena *arena,
                                  sgfs_trajectories *out, sgfs_err *err) {
    *out = (sgfs_trajectories){.known = false};
    int64_t energy = sgfsi_draws_stat(d, SGFSI_STAT_ENERGY);
    if (energy < 0 && sgfsi_draws_stat(d, SGFSI_STAT_ACCEPTANCE) < 0) return SGFS_OK;
    /* Counts, and means over all draws used; E-BFMI only where energies were kept. */
    double count = (double)used->chains * (double)used->draws;
    out->known = true;
    out->thin = d->thin > 0 ? d->thin : 1;
    out->max_depth = sgfsi_draws_option(d, "sampler.max_depth", DEFAULT_DEPTH);
    out->divergent = sum_of(d, used, SGFSI_STAT_DIVERGING, 0.5);
    out->at_max_depth = sum_of(d, used, SGFSI_STAT_TREE_DEPTH, out->max_depth);
    out->acceptance_rate = sum_of(d, used, SGFSI_STAT_ACCEPTANCE, NAN) / count;
    out->step_size = sum_of(d, used, SGFSI_STAT_STEP_SIZE, NAN) / count;
    out->n_steps = sum_of(d, used, SGFSI_STAT_N_STEPS, NAN) / count;
    if (energy < 0) return SGFS_OK;
    out->bfmi = SGFSI_DOUBLES(arena, used->chains);
    if (out->bfmi == NULL) return sgfsi_fail_memory(err, "the energies");
    for (int64_t c = 0; c < used->chains; c++) {
        const double *stats = d->chain[used->chain[c]].stats;
        out->bfmi[c] = sgfsi_bfmi(used->draws, stats + energy, d->S);
    }
    return SGFS_OK;
}

sgfs_exact_stats sgfsi_exact_stats_of(const sgfs_draws *d, const sgfsi_used *used) {
    double count = (double)used->chains * (double)used->draws;
    bool known =
        sgfsi_draws_stat(d, SGFSI_STAT_ACCEPT) >= 0 && sgfsi_draws_stat(d, SGFSI_STAT_ROWS) >= 0;
    if (!known || !(count > 0)) return (sgfs_exact_stats){.known = false};
    return (sgfs_exact_stats){.known = true,
                              .acceptance = sum_of(d, used, SGFSI_STAT_ACCEPT, NAN) / count,
                              .rows = sum_of(d, used, SGFSI_STAT_ROWS, NAN) / count,
                              .rho = sum_of(d, used, SGFSI_STAT_RHO, NAN) / count};
}

sgfs_group_stats sgfsi_group_stats_of(const sgfs_draws *d, const sgfsi_used *used) {
    double count = (double)used->chains * (double)used->draws;
    bool known = sgfsi_draws_stat(d, SGFSI_STAT_ACCEPT_GROUPS) >= 0;
    if (!known || !(count > 0)) return (sgfs_group_stats){.known = false};
    return (sgfs_group_stats){.known = true,
                              .beta = sum_of(d, used, SGFSI_STAT_ACCEPT, NAN) / count,
                              .groups = sum_of(d, used, SGFSI_STAT_ACCEPT_GROUPS, NAN) / count,
                              .scales = sum_of(d, used, SGFSI_STAT_ACCEPT_SCALES, NAN) / count,
                              .passes = NAN};
}
