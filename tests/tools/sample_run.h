/* SPDX-License-Identifier: MIT
 * sample_run.h: a small run with awkward names, for the tests of run file and exports. Every number
 * is a function of its place, so that a test can say what must stand where.
 */
#pragma once

#include <math.h>
#include <stdio.h>

#include "sink/runfile.h"

enum { RUN_CHAINS = 3, RUN_DRAWS = 50, RUN_D = 11, RUN_S = 4 };

static const char *const run_params[RUN_D] = {
    "beta[h\xC3\xB6he]", "beta[a,b]",  "beta[\"q\"]", "beta[x4]",   "log_sigma", "W/out[1,1]",
    "W/out[1,2]",        "W/out[1,3]", "W/out[2,1]",  "W/out[2,2]", "W/out[2,3]"};
static const char *const run_stats[RUN_S] = {"lp", "step_size", "diverging", "grad_norm"};

static inline void put_sample_block(sgfsi_json *blocks, const char *name, int64_t rows,
                                    int64_t cols) {
    sgfsi_json *block = sgfsi_json_object();
    sgfsi_json_text(block, "name", name);
    sgfsi_json_int(block, "rows", rows);
    sgfsi_json_int(block, "cols", cols);
    sgfsi_json_put(blocks, NULL, block);
}

static inline sgfsi_json *sample_header(const char *metric) {
    sgfsi_json *h = sgfsi_json_object(), *params = sgfsi_json_array(), *stats = sgfsi_json_array();
    sgfsi_json *blocks = sgfsi_json_array();
    for (int i = 0; i < RUN_D; i++) sgfsi_json_text(params, NULL, run_params[i]);
    for (int i = 0; i < RUN_S; i++) sgfsi_json_text(stats, NULL, run_stats[i]);
    put_sample_block(blocks, "beta", 1, 4);
    put_sample_block(blocks, "log_sigma", 1, 1);
    put_sample_block(blocks, "W/out", 2, 3);
    sgfsi_json_int(h, "format", 1);
    sgfsi_json_text(h, "sgfs_version", "0.1.0");
    sgfsi_json_text(h, "created_at", "2026-11-15T08:00:00+00:00");
    sgfsi_json_text(h, "title", "linear regression, SGFS-f, 100000 rows");
    sgfsi_json_text(h, "model", "linear");
    sgfsi_json_text(h, "sampler", "sgfs");
    sgfsi_json_text(h, "fisher", "full");
    sgfsi_json_text(h, "stan_metric", metric);
    sgfsi_json_int(h, "chains", RUN_CHAINS);
    sgfsi_json_int(h, "dim", RUN_D);
    sgfsi_json_put(h, "params", params);
    sgfsi_json_put(h, "stats", stats);
    sgfsi_json_put(h, "blocks", blocks);
    sgfsi_json_int(h, "warmup", 200);
    sgfsi_json_int(h, "draws", 2 * RUN_DRAWS);
    sgfsi_json_int(h, "thin", 2);
    sgfsi_json_int(h, "seed", 7215);
    return h;
}

/* The same run as nuts would have made it: max_depth 6, which one draw in ten reaches. */
enum { NUTS_S = 7 };
static const char *const nuts_stats[NUTS_S] = {
    "lp", "acceptance_rate", "step_size", "tree_depth", "n_steps", "diverging", "energy"};

static inline sgfsi_json *nuts_header(const char *metric) {
    sgfsi_json *h = sample_header(metric), *stats = sgfsi_json_array();
    sgfsi_json *config = sgfsi_json_object();
    for (int i = 0; i < NUTS_S; i++) sgfsi_json_text(stats, NULL, nuts_stats[i]);
    sgfsi_json_text(config, "sampler.max_depth", "6");
    sgfsi_json_text(h, "sampler", "nuts");
    sgfsi_json_text(h, "fisher", "");
    sgfsi_json_put(h, "stats", stats);
    sgfsi_json_put(h, "config", config);
    return h;
}

static inline double nuts_stat(int64_t c, int64_t t, int64_t s) {
    int64_t depth = t % 10 == 7 ? 6 : 1 + t % 3;
    double lp = -1234.567 / (double)(t + 1);
    const double value[NUTS_S] = {lp,
                                  0.6 + 0.3 * sin((double)t),
                                  0.0371 / (double)(c + 1),
                                  (double)depth,
                                  (double)((1 << depth) - 1),
                                  t % 17 == 3,
                                  7.5 + 3 * sin(0.3 * (double)t + (double)c) +
                                      cos(5.1 * (double)t)};
    return value[s];
}

/* theta[i] and statistic s of draw t of chain c. */
static inline double sample_theta(int64_t c, int64_t t, int64_t i) {
    return sin(2.385 * (double)(t + 1) + 0.717 * (double)i + 1.9 * (double)c) / 3.0 + (double)i;
}

static inline double sample_stat(int64_t c, int64_t t, int64_t s) {
    if (s == 2) return t % 17 == 3;
    return s == 1 ? 0.0371 / (double)(c + 1) : -1234.567 / (double)(t + 1) - (double)s;
}

static inline void fill_sample(int64_t c, int64_t first, int64_t count, double *theta,
                               double *stats) {
    for (int64_t t = 0; t < count; t++) {
        for (int64_t i = 0; i < RUN_D; i++) theta[t * RUN_D + i] = sample_theta(c, first + t, i);
        for (int64_t s = 0; s < RUN_S; s++) stats[t * RUN_S + s] = sample_stat(c, first + t, s);
    }
}

/* The chain's validation curve: one point for each draw. */
static inline void fill_curve(int64_t c, int64_t count, double *curve) {
    for (int64_t i = 0; i < count * SGFSI_POINT; i++) {
        curve[i] = (double)(i / SGFSI_POINT + 1) / 3 + (double)(100 * c + i % SGFSI_POINT);
    }
    if (count > 0) curve[SGFSI_POINT_ERROR] = NAN; /* nothing averaged yet */
}

/* `count` draws of chain c, in one block. */
static inline sgfs_status put_sample_draws(sgfsi_runfile *f, int64_t c, int64_t first,
                                           int64_t count, sgfs_err *err) {
    double theta[RUN_DRAWS * RUN_D], stats[RUN_DRAWS * RUN_S];
    fill_sample(c, first, count, theta, stats);
    return sgfsi_runfile_draws(f, c, first, count, theta, stats, err);
}
