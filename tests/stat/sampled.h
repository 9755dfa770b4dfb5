/* SPDX-License-Identifier: MIT
 * sampled.h: a run kept open in memory, and expectations judged in units of their own Monte Carlo
 * error: z = (mean of f over the draws - truth) / (sd of f / sqrt(ESS of f)).
 */
#pragma once

#include "diagnostics/ess.h"
#include "stat/closed.h"

typedef struct sampled {
    sgfs_config *cfg;
    sgfs_data *data;
    sgfs_model *m;
    sgfs_run *run;
    const sgfs_draws *draws; /* after sample_all */
} sampled;

/* x: N x p without an intercept column; w: N weights, or NULL. */
static inline sampled sample_open_weighted(const sgfs_model_kind *kind, int64_t N, int64_t p,
                                           const double *x, const double *y, const double *w,
                                           const setting *settings) {
    sgfs_err err;
    sgfsi_kinds kinds;
    sampled s = {.cfg = config_of(settings)};
    sgfs_arrays arrays = {.rows = N, .cols = p, .x = x, .y = y, .weights = w};
    s.data = sgfs_data_wrap(&arrays, s.cfg, &err);
    if (s.data == NULL) fail_msg("%s", err.text);
    s.m = sgfsi_model_create(kind, s.data, s.cfg, NULL, &err);
    if (s.m == NULL) fail_msg("%s", err.text);
    if (sgfsi_choose_kinds(s.cfg, NULL, &kinds, &err) != SGFS_OK) fail_msg("%s", err.text);
    s.run = sgfsi_run_open(s.m, s.cfg, &kinds, &err);
    if (s.run == NULL) fail_msg("%s", err.text);
    return s;
}

static inline sampled sample_open(const sgfs_model_kind *kind, int64_t N, int64_t p,
                                  const double *x, const double *y, const setting *settings) {
    return sample_open_weighted(kind, N, p, x, y, NULL, settings);
}

/* To the end; failures are the caller's to judge. */
static inline sgfs_status sample_all(sampled *s, sgfs_err *err) {
    sgfs_status status = sgfs_run_all(s->run, err);
    assert_int_equal(sgfs_run_close(s->run, NULL), SGFS_OK);
    s->draws = s->run->out.memory;
    return status;
}

static inline void sample_free(sampled *s) {
    sgfs_run_free(s->run);
    sgfs_model_free(s->m);
    sgfs_data_free(s->data);
    sgfs_config_free(s->cfg);
}

/* Column of a statistic by its name. */
static inline int64_t stat_at(const sgfs_draws *d, const char *name) {
    for (int64_t k = 0; k < d->S; k++) {
        if (strcmp(d->stat[k], name) == 0) return k;
    }
    fail_msg("no statistic \"%s\"", name);
    return -1;
}

/* A function of one draw and its statistics. */
typedef double (*expectation)(const double *theta, const double *stats, const void *about);

typedef struct estimate {
    double mean, sd, ess;
} estimate;

static inline estimate estimate_of(const sgfs_draws *d, expectation f, const void *about) {
    int64_t T = d->chain[0].draws, C = d->chains;
    sgfsi_arena arena = {NULL};
    sgfsi_trace *trace = sgfsi_trace_new(&arena, C, T);
    double *value = need((size_t)(C * T), sizeof *value);
    const double *chain[64];
    assert_non_null(trace);
    for (int64_t c = 0; c < C; c++) {
        chain[c] = value + c * T;
        for (int64_t t = 0; t < T; t++)
            value[c * T + t] = f(d->chain[c].theta + t * d->D, d->chain[c].stats + t * d->S, about);
    }
    sgfsi_trace_load(trace, chain, 1);
    estimate e = {.mean = trace->mean, .sd = trace->sd, .ess = sgfsi_ess_mean(trace)};
    free(value);
    sgfsi_arena_free(&arena);
    return e;
}

/* Standard errors between the estimate and the truth. An ESS is itself an estimate: beyond the
 * number of draws it is not believed. */
static inline double off_by(const estimate *e, double truth, double draws) {
    return (e->mean - truth) / (e->sd / sqrt(fmin(e->ess, draws)));
}

static inline double z_of(const sgfs_draws *d, expectation f, const void *about, double truth) {
    estimate e = estimate_of(d, f, about);
    return off_by(&e, truth, (double)(d->chains * d->chain[0].draws));
}
