/* SPDX-License-Identifier: MIT
 * reference.c: reference moments from another run, or from JSON
 *     {"names": [D], "mean": [D], "cov": [[D] x D], "theta": [D], "ess": number}
 * where all but names and mean may be left out. "theta" are the values that generated the data,
 * "ess" the independent draws the moments were made of. Without "ess" they are taken as exact.
 *
 * Parameters are matched by name (names.c).
 */
#include "diagnostics/reference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "diagnostics/measures.h"
#include "diagnostics/moments.h"
#include "diagnostics/names.h"
#include "diagnostics/summary.h"

typedef sgfsi_naming job;

/* ---- JSON ------------------------------------------------------------------------------------ */

/* The covariance, whose variances must be positive and whose triangles must be equal, up to what
 * printing may have cut. */
static sgfs_status read_cov(const job *j, const sgfsi_json *json, const int64_t *order,
                            double *cov) {
    int64_t D = j->D;
    if (sgfsi_json_length(json) != D)
        return sgfsi_fail(j->err, SGFS_EDATA, "%s: \"cov\" must have %lld rows, one per parameter.",
                          j->path, (long long)D);
    for (int64_t i = 0; i < D; i++) {
        const sgfsi_json *row = sgfsi_json_at(json, order[i]);
        sgfs_status status = sgfsi_naming_numbers(j, "cov[...]", row, order, cov + i * D);
        if (status != SGFS_OK) return status;
    }
    for (int64_t i = 0; i < D; i++) {
        if (cov[i * D + i] > 0.0) continue;
        return sgfsi_fail(j->err, SGFS_EDATA,
                          "%s: the variance of \"%.60s\" in \"cov\" is not positive.", j->path,
                          j->names[i]);
    }
    for (int64_t i = 0; i < D; i++) {
        for (int64_t k = 0; k < i; k++) {
            double scale = sqrt(cov[i * D + i] * cov[k * D + k]);
            if (fabs(cov[i * D + k] - cov[k * D + i]) <= 1e-6 * scale) continue;
            return sgfsi_fail(j->err, SGFS_EDATA,
                              "%s: \"cov\" is not symmetric at \"%.60s\", \"%.60s\".", j->path,
                              j->names[k], j->names[i]);
        }
    }
    return SGFS_OK;
}

static sgfs_status take_json(const job *j, const sgfsi_json *json, sgfsi_reference *out) {
    int64_t *order = sgfsi_arena_alloc(j->arena, j->D, sizeof *order);
    if (order == NULL) return sgfsi_fail_memory(j->err, "the reference");
    sgfs_status status = sgfsi_naming_json(j, json, order);
    if (status != SGFS_OK) return status;
    const sgfsi_json *cov = sgfsi_json_get(json, "cov"), *theta = sgfsi_json_get(json, "theta");
    if (cov != NULL) out->cov = SGFSI_DOUBLES(j->arena, j->D * j->D);
    if (theta != NULL) out->theta = SGFSI_DOUBLES(j->arena, j->D);
    if ((cov && !out->cov) || (theta && !out->theta))
        return sgfsi_fail_memory(j->err, "the reference");
    if (theta != NULL && sgfsi_json_get(json, "mean") == NULL)
        return sgfsi_fail(
            j->err, SGFS_EDATA,
            "%s: holds the parameters that made the data (\"theta\") and no posterior "
            "moments to compare with: this posterior may have many modes. Compare "
            "with another run (--reference RUN).",
            j->path);
    status = sgfsi_naming_numbers(j, "mean", sgfsi_json_get(json, "mean"), order, out->mean);
    if (status == SGFS_OK && cov) status = read_cov(j, cov, order, out->cov);
    if (status == SGFS_OK && theta)
        status = sgfsi_naming_numbers(j, "theta", theta, order, out->theta);
    if (status != SGFS_OK) return status;
    /* how good they are */
    double ess = sgfsi_json_get_num(json, "ess", INFINITY);
    if (!(ess > 0.0))
        return sgfsi_fail(j->err, SGFS_EDATA, "%s: \"ess\" must be a positive number.", j->path);
    out->v = 1.0 / ess;
    for (int64_t i = 0; i < j->D && out->cov; i++)
        out->error[i] = sqrt(out->cov[i * j->D + i] * out->v);
    return SGFS_OK;
}

/* ---- another run ----------------------------------------------------------------------------- */

double sgfsi_reference_noise(const sgfs_summary *summary, int64_t count, int64_t step,
                             sgfsi_arena *work) {
    double *tau = SGFSI_DOUBLES(work, summary->dim);
    if (tau == NULL) return NAN;
    int64_t n = 0;
    for (int64_t i = 0; i < summary->dim; i++)
        if (isfinite(summary->row[i].tau)) tau[n++] = summary->row[i].tau / (double)step;
    if (n > 0) qsort(tau, (size_t)n, sizeof *tau, sgfsi_by_size);
    double median = n > 0 ? 0.5 * (tau[(n - 1) / 2] + tau[n / 2]) : NAN;
    return sgfsi_measure_tau2(median) / (double)count;
}

static sgfs_status take_run(const job *j, const sgfs_draws *d, sgfsi_reference *out) {
    int64_t D = j->D, *order = sgfsi_arena_alloc(j->arena, D, sizeof *order);
    sgfsi_used used;
    sgfsi_moments m;
    out->cov = SGFSI_DOUBLES(j->arena, D * D);
    if (order == NULL || out->cov == NULL) return sgfsi_fail_memory(j->err, "the reference");
    sgfs_status status = sgfsi_naming_match(j, d->D, (const char *const *)d->param, order);
    if (status == SGFS_OK) status = sgfsi_used_of(d, j->arena, &used, j->err);
    if (status == SGFS_OK) status = sgfsi_moments_of(d, &used, true, j->arena, &m, j->err);
    if (status != SGFS_OK) return status;
    /* Its Monte Carlo errors are those of its own summary. */
    sgfs_summary *summary = sgfsi_summary_new(d, out->threads, j->err);
    if (summary == NULL) return SGFS_EDATA;
    for (int64_t i = 0; i < D; i++) {
        out->mean[i] = m.mean[order[i]];
        out->error[i] = summary->row[order[i]].mcse;
        for (int64_t k = 0; k < D; k++) out->cov[i * D + k] = m.cov[order[i] * D + order[k]];
    }
    int64_t step = m.every_iteration || d->thin < 1 ? 1 : d->thin;
    out->v = sgfsi_reference_noise(summary, m.count, step, j->arena);
    out->state = sgfsi_arena_text(j->arena, summary->state);
    if (!summary->trust) out->verdict = sgfsi_arena_text(j->arena, summary->verdict);
    sgfsi_summary_free(summary);
    return out->state != NULL && out->verdict != NULL ? SGFS_OK
                                                      : sgfsi_fail_memory(j->err, "the reference");
}

sgfs_status sgfsi_reference_read(const char *path, int64_t D, char *const *names,
                                 sgfsi_arena *arena, sgfsi_reference *out, sgfs_err *err) {
    job j = {.path = path,
             .what = "reference",
             .whose = "run",
             .D = D,
             .names = names,
             .arena = arena,
             .err = err};
    *out = (sgfsi_reference){.threads = out->threads, .D = D, .state = "", .verdict = ""};
    out->mean = SGFSI_DOUBLES(arena, D);
    out->error = SGFSI_DOUBLES(arena, D);
    if (out->mean == NULL || out->error == NULL) return sgfsi_fail_memory(err, "the reference");
    int first = sgfsi_first_byte(path);
    if (first < 0) return sgfsi_fail_io(err, path, "open", errno);
    if (first == '{') {
        sgfsi_json *json = NULL;
        sgfs_status status = sgfsi_naming_file(&j, &json);
        if (status == SGFS_OK) status = take_json(&j, json, out);
        sgfsi_json_free(json);
        return status;
    }
    sgfs_draws *d = sgfs_draws_open(path, err);
    if (d == NULL) return sgfsi_why(err);
    sgfs_status status = take_run(&j, d, out);
    sgfs_draws_free(d);
    return status;
}
