/* SPDX-License-Identifier: MIT
 * logistic.c: the whole library in one page: your arrays in, posterior draws and their summary out.
 *
 *     cc logistic.c -o logistic $(pkg-config --cflags --libs sgfs) -lm
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sgfs.h"

/* 20,000 rows, two correlated columns, a logistic truth of (-0.5, 1.0, -0.8). */
enum { ROWS = 20000, COLS = 2 };
static double x[ROWS][COLS], y[ROWS];

static double uniform(void) {
    return ((double)rand() + 0.5) / ((double)RAND_MAX + 1.0);
}

static void make_data(void) {
    for (int i = 0; i < ROWS; i++) {
        x[i][0] = 4 * uniform() - 2;
        x[i][1] = x[i][0] + 2 * uniform() - 1;
        double eta = -0.5 + 1.0 * x[i][0] - 0.8 * x[i][1];
        y[i] = uniform() < 1 / (1 + exp(-eta)) ? 1 : 0;
    }
}

int main(void) {
    sgfs_err err = {SGFS_OK, ""};
    make_data();

    sgfs_config *cfg = sgfs_config_new();
    sgfs_arrays arrays = {.rows = ROWS, .cols = COLS, .x = &x[0][0], .y = y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *model = sgfs_model_open("logistic", data, cfg, &err);
    sgfs_run *run = sgfs_run_open(model, cfg, &err);
    sgfs_run_all(run, &err); /* a call that failed hands NULL on, and err keeps what it said */
    sgfs_run_close(run, &err);
    sgfs_draws *draws = sgfs_run_draws(run, &err);
    sgfs_job *summary = sgfs_summary_open(draws, cfg, &err);
    sgfs_job_run(summary, &err);
    const sgfs_summary *s = sgfs_job_result(summary);
    if (err.code != SGFS_OK) fprintf(stderr, "%s\n", err.text);
    for (int64_t i = 0; s != NULL && i < s->dim; i++) {
        printf("%-10s %8.4f +- %.4f  (R-hat %.3f)\n", s->row[i].name, s->row[i].mean, s->row[i].sd,
               s->row[i].r_hat);
    }
    int failed = err.code != SGFS_OK;
    sgfs_job_free(summary);
    sgfs_draws_free(draws);
    sgfs_run_free(run);
    sgfs_model_free(model);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    return failed;
}
