/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 the sgfs authors
 *
 * scores_drbm.c: microseconds for the scores of a batch under the DRBM of the paper's table 1 (41
 * units, 40 columns and a bias, 23 classes, n = 500) beside the bare work of the same shapes: one
 * product X W' and one exp for each row, unit and class, these in runs of one row (943 numbers).
 * One thread, best of many short rounds taken in turn, so that a busy machine slows all alike.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/ticker.h"
#include "model/posterior.h"

enum { BATCH = 500, COLS = 40, P = 41, H = 41, K = 23, ROUNDS = 300, REPEATS = 2 };

typedef struct work {
    const sgfs_model *m;
    sgfsi_arena arena;
    sgfs_batch batch;
    sgfs_scores scores;
    double *theta, *scratch, *a, *t;
} work;

static void give_up(const char *what) {
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static double *room(work *w, int64_t count) {
    double *x = SGFSI_DOUBLES(&w->arena, count);
    if (x == NULL) give_up("no memory");
    return x;
}

static void open_work(work *w, const sgfs_model *m) {
    static sgfs_score_block block[3];
    double *x = room(w, BATCH * P), *y = room(w, BATCH), *spread = room(w, m->D);
    sgfsi_data_rows_range(m->data, 0, BATCH, x, y);
    w->m = m;
    w->batch = (sgfs_batch){.n = BATCH, .p = P, .x = x, .y = y, .total = BATCH, .gamma = 1};
    for (int k = 0; k < 3; k++) {
        const sgfs_block *from = &m->block[k];
        int64_t size = BATCH * from->rows * (k == 0 ? 1 : from->cols);
        block[k] = (sgfs_score_block){
            .offset = from->offset, .rows = from->rows, .cols = from->cols, .right = x};
        if (k == 0) block[k].left = room(w, size);
        else block[k].dense = room(w, size);
    }
    w->scores = (sgfs_scores){BATCH, m->D, 3, block, room(w, BATCH)};
    w->theta = room(w, m->D);
    w->scratch = room(w, BATCH * m->scratch_per_row);
    w->a = room(w, BATCH * H * K);
    w->t = room(w, H * K);
    m->kind->start(m, w->theta, spread);
    sgfsi_stream s = sgfsi_stream_at(1, 0, 0, SGFSI_NOISE);
    sgfsi_normals(&s, BATCH * H * K, w->a);
    for (int64_t i = 0; i < BATCH * H * K; i++) w->a[i] = w->a[i] > 0 ? -w->a[i] : w->a[i];
}

static void do_scores(work *w) {
    sgfs_err err;
    if (w->m->kind->scores(w->m, w->theta, &w->batch, &w->scores, w->scratch, &err) != SGFS_OK)
        give_up(err.text);
}

static void do_density(work *w) {
    sgfs_scores only = {BATCH, w->m->D, 3, NULL, w->scores.loglik};
    (void)w->m->kind->scores(w->m, w->theta, &w->batch, &only, w->scratch, NULL);
}

static void do_bare(work *w) {
    const sgfs_backend *be = w->m->be;
    be->gemm_nt(BATCH, H, P, 1.0, w->batch.x, w->theta, 0.0, w->scratch);
    for (int64_t i = 0; i < BATCH; i++) be->exp(H * K, w->a + i * H * K, w->t);
}

static sgfs_data *make_data(const sgfs_config *cfg, double *x, double *y) {
    enum { N = 2 * BATCH };
    sgfs_err err;
    sgfsi_stream s = sgfsi_stream_at(1, 0, 0, SGFSI_FEATURES);
    sgfsi_normals(&s, N * COLS, x);
    for (int64_t i = 0; i < N; i++) y[i] = (double)(i % K);
    sgfs_arrays arrays = {.rows = N, .cols = COLS, .x = x, .y = y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    if (data == NULL) give_up(err.text);
    return data;
}

int main(void) {
    static const struct {
        const char *name;
        void (*run)(work *w);
    } row[] = {{"bare gemm + exp", do_bare}, {"scores", do_scores}, {"density alone", do_density}};
    enum { ROWS = sizeof row / sizeof row[0] };
    static double x[2 * BATCH * COLS], y[2 * BATCH];
    double best[ROWS] = {1e30, 1e30, 1e30};
    work w = {.arena = {NULL}};
    sgfs_err err;
    sgfs_config *cfg = sgfs_config_new();
    (void)sgfsi_blas_threads(1);
    sgfs_data *data = make_data(cfg, x, y);
    sgfs_model *m = sgfs_model_open("drbm", data, cfg, &err);
    if (m == NULL) give_up(err.text);
    open_work(&w, m);
    for (int r = 0; r < ROUNDS; r++) {
        for (int k = 0; k < ROWS; k++) {
            double from = sgfsi_now();
            for (int i = 0; i < REPEATS; i++) row[k].run(&w);
            double us = (sgfsi_now() - from) * 1e6 / REPEATS;
            if (us < best[k]) best[k] = us;
        }
    }
    printf("DRBM, %d units, %d columns, %d classes (D = %lld), n = %d\n", H, COLS, K,
           (long long)m->D, BATCH);
    for (int k = 0; k < ROWS; k++)
        printf("%-16s %8.1f us  %5.2f\n", row[k].name, best[k], best[k] / best[0]);
    sgfsi_arena_free(&w.arena);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    return 0;
}
