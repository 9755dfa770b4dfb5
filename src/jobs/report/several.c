/* SPDX-License-Identifier: MIT
 * several.c: runs of the same parameters beside a reference, and their errors against time.
 *
 * The reference is what --reference names, a run or moments as for `sgfs compare`; or else, of
 * several runs, the one to be trusted with the most effective draws whose sampler is exact. Errors
 * against time are the paper's figure 2: E1 and E2 (diagnostics/measures.c) of the moments of all
 * draws up to a time, which is that of the chains, warm-up included.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnostics/measures.h"
#include "jobs/report/report.h"

/* Its index; -1: none. */
static int64_t best_run(const sgfsi_report *r) {
    int64_t best = -1;
    for (int64_t k = 0; k < r->runs; k++) {
        const sgfs_summary *s = r->run[k].summary;
        if (!s->trust || !sgfsi_json_get_flag(r->run[k].draws->header, "exact")) continue;
        if (best < 0 || s->ess_min > r->run[best].summary->ess_min) best = k;
    }
    return best;
}

sgfs_status sgfsi_report_compare(sgfsi_report *r, sgfs_err *err) {
    const char *named = sgfsi_config_text(r->job.cfg, "tune.reference");
    const sgfs_draws *first = r->run[0].draws;
    sgfsi_reference *ref = &r->reference;
    ref->threads = r->job.threads;
    int64_t D = first->D, best = named[0] == '\0' && r->runs > 1 ? best_run(r) : -1;
    for (int64_t k = 0; k < r->runs; k++) r->run[k].E1 = r->run[k].E2 = r->run[k].bias = NAN;
    if (named[0] != '\0') {
        sgfs_status status = sgfsi_reference_read(named, D, first->param, &r->job.arena, ref, err);
        if (status != SGFS_OK) return status;
        r->reference_name = named;
    } else if (best >= 0) {
        const sgfsi_moments *m = &r->run[best].moments;
        *ref =
            (sgfsi_reference){.D = D, .mean = m->mean, .cov = m->cov, .state = "", .verdict = ""};
        r->reference_name = r->run[best].label;
        r->run[best].is_reference = true;
    } else {
        return SGFS_OK;
    }
    r->has_reference = true;
    for (int64_t k = 0; k < r->runs; k++) {
        sgfsi_report_run *run = &r->run[k];
        run->E1 = sgfsi_measure_E1(D, run->moments.mean, ref->mean);
        if (run->moments.cov != NULL && ref->cov != NULL)
            run->E2 = sgfsi_measure_E2(D, run->moments.cov, ref->cov);
        for (int64_t i = 0; i < D; i++) {
            double off = (run->moments.mean[i] - ref->mean[i]) / run->summary->row[i].sd;
            if (!isfinite(off) || fabs(off) <= fabs(isnan(run->bias) ? 0 : run->bias)) continue;
            run->bias = off;
        }
    }
    return SGFS_OK;
}

/* ---- along the run --------------------------------------------------------------------------- */

int64_t sgfsi_report_errors(const sgfsi_report *r, const sgfsi_report_run *run, int64_t most,
                            double *points) {
    enum { FEW = 100 }; /* parameters up to which covariances are followed */
    const sgfs_draws *d = run->draws;
    const sgfsi_used *used = &run->used;
    int64_t D = d->D, count = 0, seen = 0;
    bool spread = D <= FEW && r->reference.cov != NULL;
    sgfsi_arena work = {0};
    double *mean = SGFSI_DOUBLES(&work, D), *gap = SGFSI_DOUBLES(&work, D),
           *products = SGFSI_DOUBLES(&work, spread ? 2 * D * D : 1), *cov = products + D * D;
    double warm = 0, sampling = 0, made = 0, due = 1;
    for (int64_t c = 0; c < used->chains; c++) {
        const sgfsi_chain_draws *chain = &d->chain[used->chain[c]];
        warm = fmax(warm, chain->info.warmup_seconds);
        sampling = fmax(sampling, chain->info.sample_seconds);
        made = fmax(made, (double)chain->draws);
    }
    bool ready = !sgfsi_arena_failed(&work) && sampling > 0;
    for (int64_t t = 0; ready && t < used->draws && count < most; t++) {
        for (int64_t c = 0; c < used->chains; c++) {
            const double *theta = d->chain[used->chain[c]].theta + t * D;
            double share = 1 / (double)++seen;
            for (int64_t i = 0; i < D; i++) gap[i] = theta[i] - mean[i];
            for (int64_t i = 0; i < D; i++) mean[i] += share * gap[i];
            for (int64_t i = 0; spread && i < D; i++)
                for (int64_t j = 0; j < D; j++)
                    products[i * D + j] += (1 - share) * gap[i] * gap[j];
        }
        /* the next point lies at the same distance on a logarithmic axis */
        if ((double)(t + 1) < due && t + 1 < used->draws) continue;
        due = fmax(due * pow((double)used->draws, 1 / (double)(most - 1)), (double)(t + 2));
        double E2 = NAN;
        if (spread && seen > 1) {
            for (int64_t i = 0; i < D * D; i++) cov[i] = products[i] / (double)(seen - 1);
            E2 = sgfsi_measure_E2(D, cov, r->reference.cov);
        }
        points[3 * count] = warm + sampling * (double)(t + 1) / made;
        points[3 * count + 1] = sgfsi_measure_E1(D, mean, r->reference.mean);
        points[3 * count + 2] = E2;
        count++;
    }
    bool lacked = sgfsi_arena_failed(&work);
    sgfsi_arena_free(&work);
    return lacked ? -1 : count;
}
