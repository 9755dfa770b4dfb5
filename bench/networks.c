/* SPDX-License-Identifier: MIT
 * networks.c: milliseconds per iteration of SGFS-f for the two networks of the paper, beside the
 * bare syrk + potrf of the same sizes in the same run:
 *
 *     drbm   40 columns, 41 units, 23 classes   D 2647, n 500    (Table 1)
 *     mlp    20 columns, 30 units, 10 classes   D 940,  n 2000   (Figure 3, right)
 *
 * on made-up rows. Processor time of one thread, best of several rounds taken in turn, so that a
 * busy machine slows all of them alike; the numbers to read are the ratios. Warm-up by the model
 * learns one average in its first half and two in its second.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "base/rng.h"
#include "chain/run.h"
#include "report.h"

enum { N = 20000, ROUNDS = 4, STEPS = 3, HALF = ROUNDS * STEPS + 1 };

typedef struct network {
    const char *model, *hidden, *batch;
    int64_t columns, classes, D, n;
} network;

typedef struct contender {
    const char *name;
    const char *every, *update, *by; /* fisher.every, fisher.update, sampler.warmup_by */
    int before;                      /* iterations that are not timed */
    int steps;                       /* of a round */
    bool warm;                       /* in warm-up */
    sgfs_config *cfg;
    sgfs_model *model;
    sgfs_run *run;
    double best; /* milliseconds */
} contender;

/* Labels by the largest of as many random linear forms. */
static void make_data(const network *of, double *x, double *y) {
    int64_t p = of->columns, K = of->classes;
    double *form = need(K * p, sizeof *form);
    sgfsi_stream s = sgfsi_stream_at(1, 0, 0, SGFSI_TRUTH);
    sgfsi_normals(&s, K * p, form);
    s = sgfsi_stream_at(1, 0, 0, SGFSI_FEATURES);
    sgfsi_normals(&s, N * p, x);
    for (int64_t i = 0; i < N; i++) {
        double most = -INFINITY;
        for (int64_t k = 0; k < K; k++) {
            double eta = sgfsi_dot(&sgfs_device_blas, p, form + k * p, x + i * p);
            if (eta > most) y[i] = (double)k;
            most = fmax(most, eta);
        }
    }
    free(form);
}

static void set(sgfs_config *cfg, const char *key, const char *value) {
    sgfs_err err;
    if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) give_up(err.text);
}

static void step(contender *c, int steps) {
    sgfs_err err;
    if (sgfs_run_step(c->run, steps, &err) != SGFS_OK) give_up(err.text);
}

static void open_contender(contender *c, const network *of, const sgfs_data *data) {
    sgfs_err err;
    char warmup[16];
    snprintf(warmup, sizeof warmup, "%d", c->warm ? 2 * HALF : 1);
    c->cfg = sgfs_config_new();
    set(c->cfg, "run.chains", "1");
    set(c->cfg, "run.threads", "1");
    set(c->cfg, "run.batch", of->batch);
    set(c->cfg, "run.warmup", warmup);
    set(c->cfg, "run.draws", "100000000");
    set(c->cfg, "run.thin", "100000000");
    set(c->cfg, "model.hidden", of->hidden);
    set(c->cfg, "prior.precision", "10");
    set(c->cfg, "sampler.kind", "sgfs-f");
    set(c->cfg, "sampler.alpha", "9");
    set(c->cfg, "fisher.every", c->every);
    set(c->cfg, "fisher.update", c->update);
    set(c->cfg, "fisher.fill", "0");
    set(c->cfg, "sampler.warmup_by", c->by);
    c->model = sgfs_model_open(of->model, data, c->cfg, &err);
    c->run = c->model != NULL ? sgfs_run_open(c->model, c->cfg, &err) : NULL;
    if (c->run == NULL) give_up(err.text);
    if (c->model->D != of->D) give_up("another size than the paper's");
    step(c, c->before);
    c->best = 1e30;
}

static void close_contender(contender *c) {
    sgfs_run_free(c->run);
    sgfs_model_free(c->model);
    sgfs_config_free(c->cfg);
}

static void time_contender(contender *c) {
    double before = cpu_now();
    step(c, c->steps);
    c->best = fmin(c->best, 1e3 * (cpu_now() - before) / c->steps);
}

/* The floor: the scores' covariance and its Cholesky factor, nothing else. */
static double time_bare(const network *of, const double *g, const double *spd, double *A) {
    memcpy(A, spd, (size_t)(of->D * of->D) * sizeof *A);
    double before = cpu_now();
    bare_syrk(of->n, of->D, 1e-3, g, 0.9, A);
    if (sgfsi_potrf(&sgfs_device_blas, of->D, A) != 0) give_up("potrf failed");
    return 1e3 * (cpu_now() - before);
}

static double race(const network *of, contender *list, int count) {
    double *g = need(of->n * of->D, sizeof *g), bare = 1e30;
    double *spd = need(of->D * of->D, sizeof *spd), *A = need(of->D * of->D, sizeof *A);
    sgfsi_stream s = sgfsi_stream_at(2, 0, 0, SGFSI_FEATURES);
    sgfsi_normals(&s, of->n * of->D, g);
    for (int64_t j = 0; j < of->D; j++) spd[j * of->D + j] = 1 + (double)j;
    bare_begin();
    for (int r = 0; r < ROUNDS; r++) {
        bare = fmin(bare, time_bare(of, g, spd, A));
        for (int c = 0; c < count; c++) time_contender(&list[c]);
    }
    free(g), free(spd), free(A);
    return bare;
}

static void measure(const network *of) {
    contender list[] = {
        {.name = "each time, factored anew",
         .every = "1",
         .update = "refactor",
         .by = "model",
         .before = 2,
         .steps = STEPS},
        {.name = "each time, factor updated",
         .every = "1",
         .update = "cholesky",
         .by = "model",
         .before = 2,
         .steps = STEPS},
        {.name = "every 10th (default)",
         .every = "10",
         .update = "auto",
         .by = "model",
         .before = 10,
         .steps = 10},
        {.name = "never",
         .every = "1000000000",
         .update = "auto",
         .by = "model",
         .before = 2,
         .steps = 10},
        {.name = "warm-up by scores",
         .every = "1",
         .update = "auto",
         .by = "scores",
         .before = 1,
         .steps = STEPS,
         .warm = true},
        {.name = "warm-up by the model, 1st half",
         .every = "1",
         .update = "auto",
         .by = "model",
         .before = 1,
         .steps = STEPS,
         .warm = true},
        {.name = "warm-up by the model, 2nd half",
         .every = "1",
         .update = "auto",
         .by = "model",
         .before = HALF,
         .steps = STEPS,
         .warm = true},
    };
    enum { COUNT = sizeof list / sizeof list[0] };
    sgfs_err err;
    double *x = need(N * of->columns, sizeof *x), *y = need(N, sizeof *y);
    char workload[64];
    make_data(of, x, y);
    sgfs_config *cfg = sgfs_config_new();
    sgfs_arrays arrays = {.rows = N, .cols = of->columns, .x = x, .y = y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    if (data == NULL) give_up(err.text);
    for (int c = 0; c < COUNT; c++) open_contender(&list[c], of, data);
    double bare = race(of, list, COUNT);
    snprintf(workload, sizeof workload, "%s, D %lld, n %lld", of->model, (long long)of->D,
             (long long)of->n);
    printf("%s: an iteration of sgfs-f, the matrix updated\n", workload);
    report(workload, "bare syrk + potrf", bare, "ms", bare);
    for (int c = 0; c < COUNT; c++) {
        report(workload, list[c].name, list[c].best, "ms", bare);
        close_contender(&list[c]);
    }
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    free(x), free(y);
}

int main(void) {
    const network drbm = {"drbm", "41", "500", 40, 23, 2647, 500};
    const network mlp = {"mlp", "30", "2000", 20, 10, 940, 2000};
    printf("processor time of one thread, best of %d rounds (OpenBLAS %s)\n", ROUNDS,
           sgfs_device_blas.ops->kernel(&sgfs_device_blas));
    measure(&mlp);
    measure(&drbm);
    return 0;
}
