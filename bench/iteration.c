/* SPDX-License-Identifier: MIT
 * iteration.c: microseconds per iteration of logistic regression, D = 51, N = 10,000, n = 500,
 * beside the bare syrk + potrf of the same BLAS in the same run. Processor time of one thread, best
 * of several short rounds taken in turn, so that a busy machine slows all of them alike.
 *
 *     iteration [ROWS COLUMNS]       another size
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "base/rng.h"
#include "chain/run.h"
#include "report.h"
#include "tools/unit_prior.h"

enum { BATCH = 500, ROUNDS = 12 };
static int64_t N = 10000, P = 50, D = 51, STEPS = 400; /* rows, columns, parameters; of a round */

typedef struct contender {
    const char *name;
    const char *settings[8]; /* key, value, ..., NULL */
    sgfs_config *cfg;
    sgfs_model *model;
    sgfs_run *run;
    double best; /* microseconds */
} contender;

static void make_data(double *x, double *y) {
    double *theta = need(D, sizeof *theta), uniform;
    sgfsi_stream s = sgfsi_stream_at(1, 0, 0, SGFSI_TRUTH);
    sgfsi_normals(&s, D, theta);
    for (int64_t i = 0; i < N; i++) {
        double eta = theta[0];
        sgfsi_stream row = sgfsi_stream_at(1, 0, i, SGFSI_FEATURES);
        sgfsi_normals(&row, P, x + i * P);
        sgfsi_uniforms(&row, 1, &uniform);
        for (int64_t j = 0; j < P; j++) eta += 0.2 * theta[j + 1] * x[i * P + j];
        y[i] = eta > 4 * (uniform - 0.5) ? 1 : 0;
    }
    free(theta);
}

static void open_contender(contender *c, const sgfs_data *data) {
    sgfs_err err;
    c->cfg = unit_prior_config();
    sgfs_config_set(c->cfg, "run.chains", "1", NULL);
    sgfs_config_set(c->cfg, "run.threads", "1", NULL);
    sgfs_config_set(c->cfg, "run.batch", "500", NULL);
    sgfs_config_set(c->cfg, "run.warmup", "1000", NULL);
    sgfs_config_set(c->cfg, "run.draws", "100000000", NULL);
    sgfs_config_set(c->cfg, "run.thin", "100000000", NULL);
    for (int i = 0; c->settings[i] != NULL; i += 2) {
        if (sgfs_config_set(c->cfg, c->settings[i], c->settings[i + 1], &err) != SGFS_OK)
            give_up(err.text);
    }
    c->model = sgfs_model_open("logistic", data, c->cfg, &err);
    c->run = c->model != NULL ? sgfs_run_open(c->model, c->cfg, &err) : NULL;
    if (c->run == NULL || sgfs_run_step(c->run, 1500, &err) != SGFS_OK) give_up(err.text);
    c->best = 1e30;
}

static void time_contender(contender *c) {
    sgfs_err err;
    double before = cpu_now();
    if (sgfs_run_step(c->run, STEPS, &err) != SGFS_OK) give_up(err.text);
    double us = 1e6 * (cpu_now() - before) / (double)STEPS;
    keep_least(&c->best, us);
}

/* The floor: V and its Cholesky factor, nothing else. */
static double time_bare(const double *g, const double *spd, double *A) {
    double before = cpu_now();
    for (int64_t k = 0; k < STEPS; k++) {
        memcpy(A, spd, sizeof(double) * (size_t)(D * D));
        bare_syrk(BATCH, D, 1e-3, g, 0.9, A);
        if (sgfsi_potrf(&sgfs_device_blas, D, A) != 0) give_up("potrf failed");
    }
    return 1e6 * (cpu_now() - before) / (double)STEPS;
}

int main(int argc, char **argv) {
    char workload[64];
    if (argc > 2) {
        N = atoll(argv[1]), P = atoll(argv[2]), D = P + 1;
        STEPS = 1000000 / (D * D) + 20;
    }
    snprintf(workload, sizeof workload, "logistic, N %lld, D %lld, n %d", (long long)N,
             (long long)D, (int)BATCH);

    contender list[] = {
        {.name = "sgfs-f", .settings = {"sampler.alpha", "0", "fisher.every", "1", NULL}},
        {.name = "sgfs-f, alpha 1", .settings = {"sampler.alpha", "1", "fisher.every", "1", NULL}},
        {.name = "sgfs-f, every 10th (default)",
         .settings = {"sampler.alpha", "0", "fisher.every", "10", NULL}},
        {.name = "sgfs-d", .settings = {"sampler.kind", "sgfs-d", NULL}},
        {.name = "sgld", .settings = {"sampler.kind", "sgld", NULL}},
    };
    enum { COUNT = sizeof list / sizeof list[0] };
    double *x = need(N * P, sizeof *x), *y = need(N, sizeof *y), *g = need(BATCH * D, sizeof *g);
    double *A = need(D * D, sizeof *A), *spd = need(D * D, sizeof *spd);
    sgfsi_stream s = sgfsi_stream_at(2, 0, 0, SGFSI_FEATURES);
    sgfsi_normals(&s, BATCH * D, g);
    for (int64_t j = 0; j < D; j++) spd[j * D + j] = 1 + (double)j;
    make_data(x, y);

    sgfs_err err;
    sgfs_config *cfg = unit_prior_config();
    sgfs_arrays arrays = {.rows = N, .cols = P, .x = x, .y = y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    if (data == NULL) give_up(err.text);
    for (int c = 0; c < COUNT; c++) open_contender(&list[c], data);
    bare_begin();
    double bare = 1e30;
    for (int r = 0; r < ROUNDS; r++) {
        keep_least(&bare, time_bare(g, spd, A));
        for (int c = 0; c < COUNT; c++) time_contender(&list[c]);
    }
    printf("%s, one thread, best of %d x %lld iterations (OpenBLAS %s)\n", workload, (int)ROUNDS,
           (long long)STEPS, sgfs_device_blas.ops->kernel(&sgfs_device_blas));
    report(workload, "bare syrk + potrf", bare, "us", bare);
    for (int c = 0; c < COUNT; c++) {
        report(workload, list[c].name, list[c].best, "us", bare);
        sgfs_run_free(list[c].run);
        sgfs_model_free(list[c].model);
        sgfs_config_free(list[c].cfg);
    }
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    free(x), free(y), free(g), free(A), free(spd);
    return 0;
}
