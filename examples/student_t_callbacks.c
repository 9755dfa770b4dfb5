/* SPDX-License-Identifier: MIT
 * student_t_callbacks.c: robust regression as callbacks of a program: 1 row in 20 is nonsense, and
 * the estimate does not mind. The degrees of freedom are the program's to choose.
 *
 *     log p(y|x) = C - log sigma - (nu + 1)/2 log(1 + z^2/nu),   z = (y - x'beta) / sigma
 *     cc student_t_callbacks.c -o student_t $(pkg-config --cflags --libs sgfs) -lm
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sgfs.h"

typedef struct student {
    double nu, constant; /* constant: C of the density, which depends on nu only */
} student;

static int64_t dim(int64_t cols, void *user) {
    return (void)user, cols + 1; /* beta, log sigma */
}

static int scores(const double *theta, const sgfs_rows *r, double *loglik, double *score,
                  void *user) {
    const student *s = user;
    int64_t p = r->cols, D = p + 1;
    double log_sigma = theta[p], inverse = exp(-log_sigma);
    for (int64_t i = 0; i < r->n; i++) {
        const double *x = r->x + i * p;
        double eta = 0;
        for (int64_t j = 0; j < p; j++) eta += x[j] * theta[j];
        double z = (r->y[i] - eta) * inverse, w = (s->nu + 1) / (s->nu + z * z);
        if (loglik != NULL)
            loglik[i] = s->constant - log_sigma - 0.5 * (s->nu + 1) * log1p(z * z / s->nu);
        for (int64_t j = 0; score != NULL && j < p; j++) score[i * D + j] = w * z * inverse * x[j];
        if (score != NULL) score[i * D + p] = w * z * z - 1;
    }
    return 0;
}

static double uniform(void) {
    return ((double)rand() + 0.5) / ((double)RAND_MAX + 1.0);
}

/* y = 0.7 - 1.2 x + 0.3 noise, but for some rows. */
enum { ROWS = 5000 };
static double x[ROWS], y[ROWS];
static void make_data(void) {
    for (int i = 0; i < ROWS; i++) {
        x[i] = 4 * uniform() - 2;
        double noise = sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
        y[i] = i % 20 == 0 ? 20 * x[i] : 0.7 - 1.2 * x[i] + 0.3 * noise;
    }
}

int main(void) {
    sgfs_err err = {SGFS_OK, ""};
    student s = {.nu = 4};
    s.constant = lgamma((s.nu + 1) / 2) - lgamma(s.nu / 2) - 0.5 * log(3.141592653589793 * s.nu);
    sgfs_user_model robust = {
        .size = sizeof robust, .name = "student_t", .dim = dim, .scores = scores, .user = &s};
    make_data();
    sgfs_config *cfg = sgfs_config_new();
    sgfs_arrays arrays = {.rows = ROWS, .cols = 1, .x = x, .y = y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *model = sgfs_model_user(&robust, data, cfg, &err);
    sgfs_run *run = sgfs_run_open(model, cfg, &err);
    sgfs_run_all(run, &err);
    sgfs_run_close(run, &err);
    sgfs_draws *draws = sgfs_run_draws(run, &err);
    sgfs_job *summary = sgfs_summary_open(draws, cfg, &err);
    sgfs_job_run(summary, &err);
    const sgfs_summary *sum = sgfs_job_result(summary);
    if (err.code != SGFS_OK) fprintf(stderr, "%s\n", err.text);
    for (int64_t i = 0; sum != NULL && i < sum->dim; i++)
        printf("%-10s %8.4f +- %.4f\n", sum->row[i].name, sum->row[i].mean, sum->row[i].sd);
    sgfs_job_free(summary), sgfs_draws_free(draws), sgfs_run_free(run);
    sgfs_model_free(model), sgfs_data_free(data), sgfs_config_free(cfg);
    return err.code != SGFS_OK;
}
