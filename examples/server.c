/* SPDX-License-Identifier: MIT
 * server.c: a run, opened once, answers requests from several threads: rows in, means and
 * intervals out, and no file between.
 *
 *     cc server.c -o server $(pkg-config --cflags --libs sgfs) -lm -lpthread
 *     ./server fit.run < requests             a row a line, cells in the order that it prints
 *     ./server                                  fits rows of its own, and asks itself
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sgfs.h"

enum { WORKERS = 4, COLUMNS = 64, OUTPUTS = 64, LINE = 4096, ROWS = 4000, REQUESTS = 4000 };

typedef struct server {
    sgfs_job *job; /* of sgfs_predict_open without data: the one thing that workers share */
    const sgfs_prediction *what;
    FILE *in; /* NULL: requests are made up */
    pthread_mutex_t lock;
    long answered;
    double seconds; /* inside of sgfs_predict_rows, over all workers */
} server;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The next request; 0 at the end. */
static int next_line(server *s, char line[LINE]) {
    pthread_mutex_lock(&s->lock);
    int more = s->in != NULL ? fgets(line, LINE, s->in) != NULL : s->answered < REQUESTS;
    if (more && s->in == NULL)
        snprintf(line, LINE, "%ld,%.3f\n", s->answered % 7, 0.001 * (double)(s->answered % 997));
    s->answered += more;
    pthread_mutex_unlock(&s->lock);
    return more;
}

/* Cells become numbers or, in columns of words, stay texts; an empty one is missing. */
static void read_cells(const sgfs_prediction *what, char *line, double *x, const char **words) {
    line[strcspn(line, "\r\n")] = '\0';
    for (int64_t j = 0; j < what->columns; j++) {
        char *cell = line != NULL ? line : "", *end = strchr(cell, ',');
        if (end != NULL) *end = '\0';
        int missing = cell[0] == '\0', text = what->column[j].words > 0 || what->column[j].dates;
        words[j] = text && !missing ? cell : NULL;
        x[j] = text || missing ? NAN : strtod(cell, NULL);
        line = end != NULL ? end + 1 : NULL;
    }
}

static void *work(void *user) {
    server *s = user;
    char line[LINE];
    double x[COLUMNS], mean[OUTPUTS], quantile[OUTPUTS * 3];
    const char *words[COLUMNS];
    sgfs_err err = {SGFS_OK, ""};
    while (next_line(s, line)) {
        read_cells(s->what, line, x, words);
        const sgfs_new_rows row = {.size = sizeof row, .rows = 1, .x = x, .words = words};
        sgfs_predicted out = {.size = sizeof out, .mean = mean, .quantile = quantile};
        double before = now();
        sgfs_status status = sgfs_predict_rows(s->job, &row, &out, &err);
        double seconds = now() - before;
        pthread_mutex_lock(&s->lock); /* answers are whole lines */
        s->seconds += seconds;
        if (status != SGFS_OK) printf("error: %s\n", err.text);
        for (int64_t k = 0; status == SGFS_OK && s->in != NULL && k < s->what->outputs; k++)
            printf("%s%s%.6g [%.6g, %.6g]%s", s->what->labels > 0 ? s->what->label[k].name : "",
                   s->what->labels > 0 ? ": " : "", mean[k], quantile[3 * k], quantile[3 * k + 2],
                   k + 1 < s->what->outputs ? "; " : "\n");
        fflush(stdout);
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

/* Draws to serve: those of rows made up, 2 chains of 150. */
static sgfs_draws *fit(sgfs_config *cfg, sgfs_err *err) {
    static double x[ROWS * 2], y[ROWS];
    for (int i = 0; i < ROWS; i++) {
        x[2 * i] = i % 7;
        x[2 * i + 1] = sin(i);
        y[i] = 0.3 * x[2 * i] - x[2 * i + 1] + cos(3.7 * i);
    }
    sgfs_config_set(cfg, "run.chains", "2", err);
    sgfs_config_set(cfg, "run.draws", "150", err);
    const sgfs_arrays arrays = {.size = sizeof arrays, .rows = ROWS, .cols = 2, .x = x, .y = y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, err);
    sgfs_model *model = sgfs_model_open("linear", data, cfg, err);
    sgfs_run *run = sgfs_run_open(model, cfg, err);
    sgfs_run_all(run, err);
    sgfs_run_close(run, err);
    sgfs_draws *draws = sgfs_run_draws(run, err);
    sgfs_run_free(run);
    sgfs_model_free(model);
    sgfs_data_free(data);
    return draws;
}

int main(int argc, char **argv) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = sgfs_config_new();
    sgfs_draws *draws = argc > 1 ? sgfs_draws_open(argv[1], &err) : fit(cfg, &err);
    server s = {.in = argc > 1 ? stdin : NULL, .lock = PTHREAD_MUTEX_INITIALIZER};
    s.job = sgfs_predict_open(draws, NULL, NULL, NULL, cfg, &err);
    s.what = sgfs_job_result(s.job);
    if (s.what == NULL) fprintf(stderr, "%s\n", err.text);
    int fits = s.what != NULL && s.what->columns <= COLUMNS && s.what->outputs <= OUTPUTS;
    pthread_t worker[WORKERS];
    double begun = now();
    for (int64_t j = 0; fits && j < s.what->columns; j++)
        fprintf(stderr, "%s%s", s.what->column[j].name, j + 1 < s.what->columns ? "," : "\n");
    for (int k = 0; fits && k < WORKERS; k++) pthread_create(&worker[k], NULL, work, &s);
    for (int k = 0; fits && k < WORKERS; k++) pthread_join(worker[k], NULL);
    if (fits && s.answered > 0)
        fprintf(stderr,
                "%ld answers from %lld draws, %.3g us each; %.3g a second from %d threads\n",
                s.answered, (long long)s.what->draws, 1e6 * s.seconds / (double)s.answered,
                (double)s.answered / (now() - begun), WORKERS);
    sgfs_job_free(s.job);
    sgfs_draws_free(draws);
    sgfs_config_free(cfg);
    return fits ? 0 : 1;
}
