/* SPDX-License-Identifier: MIT
 * moments.c: pooled mean and covariance.
 *
 * Each chain keeps running moments of every iteration after warm-up, thinned away or not. Where all
 * the chains used have them they are pooled (Chan, Golub, LeVeque 1983): with n_c iterations, mean
 * m_c and covariance C_c of chain c, n = sum n_c,
 *     m = sum n_c m_c / n,    (n - 1) C = sum (n_c - 1) C_c + n_c (m_c - m)(m_c - m)'.
 * They are better than the kept draws' when a run was thinned: dropped iterations carry information
 * too. Otherwise the kept draws are summed, shifted by the mean first so that nothing cancels.
 */
#include "diagnostics/moments.h"

#include <math.h>

sgfs_status sgfsi_used_of(const sgfs_draws *d, sgfsi_arena *arena, sgfsi_used *used,
                          sgfs_err *err) {
    int64_t *chain = sgfsi_arena_alloc(arena, d->chains, sizeof *chain);
    if (chain == NULL) return sgfsi_fail_memory(err, "the list of chains");
    *used = sgfsi_draws_used(d, chain);
    if (used->chains > 0 && used->draws > 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s%sThe run (%s) has no draws after warm-up, so there is nothing to "
                      "summarise; let it run longer.",
                      d->path != NULL ? d->path : "", d->path != NULL ? ": " : "",
                      d->state != NULL ? d->state : "unfinished");
}

/* Chain c's part of (n - 1) C, entry (i, j). */
static double pooled_entry(const sgfsi_chain_info *info, const sgfsi_moments *out, int64_t i,
                           int64_t j) {
    double n = (double)info->iterations, within = 0.0;
    if (n > 1.0) {
        bool diagonal_only = i == j && info->var != NULL;
        within = (n - 1.0) * (diagonal_only ? info->var[i] : info->cov[i * out->D + j]);
    }
    return within + n * (info->mean[i] - out->mean[i]) * (info->mean[j] - out->mean[j]);
}

static void pool_running(const sgfs_draws *d, const sgfsi_used *used, sgfsi_moments *out) {
    out->every_iteration = true;
    for (int64_t c = 0; c < used->chains; c++)
        out->count += d->chain[used->chain[c]].info.iterations;
    for (int64_t c = 0; c < used->chains; c++) {
        const sgfsi_chain_info *info = &d->chain[used->chain[c]].info;
        double weight = (double)info->iterations / (double)out->count;
        for (int64_t i = 0; i < out->D; i++) out->mean[i] += weight * info->mean[i];
    }
    for (int64_t c = 0; c < used->chains; c++) {
        const sgfsi_chain_info *info = &d->chain[used->chain[c]].info;
        for (int64_t i = 0; i < out->D; i++) {
            out->var[i] += pooled_entry(info, out, i, i);
            for (int64_t j = 0; out->cov != NULL && j <= i; j++)
                out->cov[i * out->D + j] += pooled_entry(info, out, i, j);
        }
    }
}

/* shifted: D numbers of scratch. */
static void pool_draws(const sgfs_draws *d, const sgfsi_used *used, double *shifted,
                       sgfsi_moments *out) {
    int64_t D = out->D;
    out->count = used->chains * used->draws;
    for (int64_t c = 0; c < used->chains; c++) {
        const double *theta = d->chain[used->chain[c]].theta; /* draws x D */
        for (int64_t t = 0; t < used->draws; t++)
            for (int64_t i = 0; i < D; i++) out->mean[i] += theta[t * D + i];
    }
    for (int64_t i = 0; i < D; i++) out->mean[i] /= (double)out->count;
    for (int64_t c = 0; c < used->chains; c++) {
        const double *theta = d->chain[used->chain[c]].theta;
        for (int64_t t = 0; t < used->draws; t++) {
            for (int64_t i = 0; i < D; i++) shifted[i] = theta[t * D + i] - out->mean[i];
            for (int64_t i = 0; i < D; i++) {
                out->var[i] += shifted[i] * shifted[i];
                double *row = out->cov != NULL ? out->cov + i * D : NULL;
                for (int64_t j = 0; row != NULL && j <= i; j++) row[j] += shifted[i] * shifted[j];
            }
        }
    }
}

sgfs_status sgfsi_moments_of(const sgfs_draws *d, const sgfsi_used *used, bool want_cov,
                             sgfsi_arena *arena, sgfsi_moments *out, sgfs_err *err) {
    int64_t D = d->D;
    *out = (sgfsi_moments){.D = D};
    out->mean = SGFSI_DOUBLES(arena, D);
    out->var = SGFSI_DOUBLES(arena, D);
    double *shifted = SGFSI_DOUBLES(arena, D);
    if (want_cov) out->cov = sgfsi_arena_alloc(arena, D, (size_t)D * sizeof(double));
    if (!out->mean || !out->var || !shifted || (want_cov && out->cov == NULL))
        return sgfsi_fail_memory(err, "the pooled moments");
    /* Has every chain used what is wanted, for every iteration? */
    bool running = true;
    for (int64_t c = 0; c < used->chains; c++) {
        const sgfsi_chain_info *info = &d->chain[used->chain[c]].info;
        bool spread = info->cov != NULL || (!want_cov && info->var != NULL);
        running = running && info->iterations > 0 && info->mean != NULL && spread;
    }
    if (running) pool_running(d, used, out);
    else pool_draws(d, used, shifted, out);
    /* divide, and fill the upper triangle */
    double scale = out->count > 1 ? 1.0 / (double)(out->count - 1) : NAN;
    for (int64_t i = 0; i < D; i++) {
        out->var[i] *= scale;
        for (int64_t j = 0; out->cov != NULL && j <= i; j++)
            out->cov[j * D + i] = out->cov[i * D + j] *= scale;
    }
    return SGFS_OK;
}
