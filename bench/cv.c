/* SPDX-License-Identifier: MIT
 * cv.c: what an iteration of sgfs-cv costs, beside its floor, and which batch gives the most
 * effective draws per second. Logistic regression, one chain on one thread, best of several short
 * rounds taken in turn, so that a busy machine slows all of them alike.
 *
 * The floor of one iteration at batch n: the rows gathered, a product X theta for each of the two
 * places, one X'd for the gradient, and three triangular D x D operations. No log density, no
 * learning of S, no moments.
 *
 *     bench_cv [ROWS]        rows of the data, 100000 unless told
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "base/rng.h"
#include "chain/run.h"
#include "report.h"
#include "tools/unit_prior.h"

enum { ROUNDS = 5, SIZES = 4, BATCHES = 6 };

static void make_data(int64_t N, int64_t P, double *x, double *y) {
    for (int64_t i = 0; i < N; i++) {
        double eta = 0.3, uniform;
        sgfsi_stream row = sgfsi_stream_at(1, 0, i, SGFSI_FEATURES);
        sgfsi_normals(&row, P, x + i * P);
        sgfsi_uniforms(&row, 1, &uniform);
        for (int64_t j = 0; j < P && j < 8; j++) eta += (j % 2 == 0 ? 0.4 : -0.3) * x[i * P + j];
        y[i] = eta > 4 * (uniform - 0.5) ? 1 : 0;
    }
}

/* ---- the floor ------------------------------------------------------------------------------- */

typedef struct floor_room {
    int64_t N, D, n;
    const double *x; /* N x D */
    int64_t *rows;
    double *batch, *eta, *theta, *L;
} floor_room;

static double time_floor(floor_room *f, int64_t steps) {
    const sgfs_device *dev = &sgfs_device_blas;
    double before = cpu_now();
    for (int64_t t = 0; t < steps; t++) {
        sgfsi_stream s = sgfsi_stream_at(3, 0, t, SGFSI_ROWS);
        sgfsi_indices(&s, f->n, f->N, f->rows);
        for (int64_t i = 0; i < f->n; i++)
            memcpy(f->batch + i * f->D, f->x + f->rows[i] * f->D, (size_t)f->D * sizeof *f->x);
        sgfsi_gemv(dev, f->n, f->D, 1, f->batch, f->theta, 0, f->eta);
        sgfsi_gemv(dev, f->n, f->D, 1, f->batch, f->theta, 0.5, f->eta);
        sgfsi_gemv_t(dev, f->n, f->D, 1e-9, f->batch, f->eta, 0, f->theta);
        sgfsi_trmv(dev, f->D, f->L, false, f->theta);
        sgfsi_trsv(dev, f->D, f->L, false, f->theta);
        sgfsi_trsv(dev, f->D, f->L, true, f->theta);
    }
    return 1e6 * (cpu_now() - before) / (double)steps;
}

static floor_room open_floor(int64_t N, int64_t D, int64_t n, const double *x) {
    floor_room f = {.N = N, .D = D, .n = n, .x = x};
    f.rows = need(n, sizeof *f.rows);
    f.batch = need(n * D, sizeof *f.batch);
    f.eta = need(n, sizeof *f.eta);
    f.theta = need(D, sizeof *f.theta);
    f.L = need(D * D, sizeof *f.L);
    for (int64_t j = 0; j < D; j++) f.L[j * D + j] = 1 + 0.01 * (double)j;
    return f;
}

/* ---- the sampler ----------------------------------------------------------------------------- */

typedef struct measure {
    double us, floor, h, noise;
} measure;

static sgfs_run *open_run(const sgfs_data *data, int64_t n, sgfs_config **cfg, sgfs_model **m) {
    sgfs_err err;
    char batch[32];
    const char *settings[] = {"sampler.kind", "sgfs-cv",  "run.chains", "1",
                              "run.threads",  "1",        "run.draws",  "100000000",
                              "run.thin",     "100000000"};
    snprintf(batch, sizeof batch, "%lld", (long long)n);
    *cfg = unit_prior_config();
    for (int i = 0; i < 10; i += 2) sgfs_config_set(*cfg, settings[i], settings[i + 1], NULL);
    sgfs_config_set(*cfg, "run.batch", batch, NULL);
    *m = sgfs_model_open("logistic", data, *cfg, &err);
    sgfs_run *run = *m != NULL ? sgfs_run_open(*m, *cfg, &err) : NULL;
    if (run == NULL || sgfs_run_step(run, 500, &err) != SGFS_OK) give_up(err.text);
    return run;
}

static measure look(const sgfs_data *data, const double *rows, int64_t N, int64_t D, int64_t n) {
    sgfs_config *cfg;
    sgfs_model *m;
    sgfs_err err;
    sgfs_run *run = open_run(data, n, &cfg, &m);
    floor_room f = open_floor(N, D, n, rows);
    int64_t steps = 20000000 / (n * D) + 20;
    measure out = {.us = 1e30, .floor = 1e30};
    bare_begin();
    for (int r = 0; r < ROUNDS; r++) {
        double before = cpu_now();
        if (sgfs_run_step(run, steps, &err) != SGFS_OK) give_up(err.text);
        keep_least(&out.us, 1e6 * (cpu_now() - before) / (double)steps);
        keep_least(&out.floor, time_floor(&f, steps));
    }
    out.h = run->chain[0].stats[1];
    out.noise = run->chain[0].stats[4];
    free(f.rows), free(f.batch), free(f.eta), free(f.theta), free(f.L);
    sgfs_run_free(run);
    sgfs_model_free(m);
    sgfs_config_free(cfg);
    return out;
}

static void compare_batches(int64_t N, int64_t D) {
    static const double rows_a_parameter[BATCHES] = {1, 2, 3, 5, 10, 20};
    int64_t P = D - 1;
    double *x = need(N * P, sizeof *x), *y = need(N, sizeof *y), *rows = need(N * D, sizeof *rows);
    char workload[64];
    sgfs_err err;
    sgfs_config *cfg = unit_prior_config();
    sgfs_arrays arrays = {.rows = N, .cols = P, .x = x, .y = y};
    make_data(N, P, x, y);
    for (int64_t i = 0; i < N; i++) {
        rows[i * D] = 1;
        memcpy(rows + i * D + 1, x + i * P, (size_t)P * sizeof *x);
    }
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    if (data == NULL) give_up(err.text);
    for (int k = 0; k < BATCHES; k++) {
        int64_t n = (int64_t)(rows_a_parameter[k] * (double)D);
        measure v = look(data, rows, N, D, n);
        snprintf(workload, sizeof workload, "logistic, N %lld, D %lld, n %lld", (long long)N,
                 (long long)D, (long long)n);
        printf("%s: noise %.3f, h %.3f\n", workload, v.noise, v.h);
        report(workload, "rows and bare products", v.floor, "us", v.floor);
        report(workload, "sgfs-cv", v.us, "us", v.floor);
        report(workload, "sgfs-cv, an effective draw", v.us * (2 - v.h) / v.h, "us", 0);
    }
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    free(x), free(y), free(rows);
}

int main(int argc, char **argv) {
    static const int64_t sizes[SIZES] = {5, 21, 51, 200};
    int64_t N = argc > 1 ? atoll(argv[1]) : 100000;
    printf("logistic, sgfs-cv, one thread, best of %d rounds (OpenBLAS %s)\n", ROUNDS,
           sgfs_device_blas.ops->kernel(&sgfs_device_blas));
    for (int k = 0; k < SIZES; k++) compare_batches(N, sizes[k]);
    return 0;
}
