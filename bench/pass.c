/* SPDX-License-Identifier: MIT
 * pass.c: milliseconds for log density and gradient over all rows (what a leapfrog step of hmc and
 * nuts costs) beside the two matrix-vector products that no pass can do without, on the same rows
 * in the same run, and beside one read of the rows; and the same with the information matrix (what
 * a pass of the search for an anchor costs) beside the bare symmetric product. The rows are doubles
 * in memory, and floats in memory and in a packed file; the products are always those of doubles.
 * One thread by its processor time, then all cores by the clock; best of several rounds, taken in
 * turns, so that a busy machine slows all of them alike.
 *
 *     pass [ROWS COLUMNS]       another size than the usual two
 */
#include <omp.h>
#include <string.h>
#include <unistd.h>

#include "bare.h"
#include "base/rng.h"
#include "base/threads.h"
#include "base/ticker.h"
#include "files/packed/packed.h"
#include "posterior/posterior.h"
#include "report.h"
#include "tools/unit_prior.h"

enum { ROUNDS = 15, BLOCK = 1024 };

/* ---- the floor ------------------------------------------------------------------------------- */

/* x theta and x'r, block by block. */
static double time_bare(int64_t N, int64_t p, const double *x, const double *theta, double *r,
                        double *G) {
    double before = cpu_now();
    for (int64_t first = 0; first < N; first += BLOCK) {
        int64_t n = N - first < BLOCK ? N - first : BLOCK;
        sgfsi_gemv(&sgfs_device_blas, n, p, 1, x + first * p, theta, 0, r);
        sgfsi_gemv_t(&sgfs_device_blas, n, p, 1, x + first * p, r, 1, G);
    }
    return 1e3 * (cpu_now() - before);
}

/* x'x, block by block, for the passes that make the information as well. */
static double time_square(int64_t N, int64_t p, const double *x, double *A) {
    double before = cpu_now();
    for (int64_t first = 0; first < N; first += BLOCK) {
        int64_t n = N - first < BLOCK ? N - first : BLOCK;
        bare_syrk(n, p, 1, x + first * p, 1, A);
    }
    return 1e3 * (cpu_now() - before);
}

static double time_read(int64_t count, const double *x, double *G) {
    double before = cpu_now(), sum[8] = {0};
    for (int64_t i = 0; i + 8 <= count; i += 8) {
        for (int k = 0; k < 8; k++) sum[k] += x[i + k];
    }
    G[0] += sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
    return 1e3 * (cpu_now() - before);
}

/* ---- the same rows, stored in three ways ----------------------------------------------------- */

typedef struct storage {
    const char *name;
    sgfs_data *data;
    sgfs_model *model;
    double gradient, gradient_all, information, information_all; /* milliseconds; all: cores */
} storage;

/* N x (p + 1) floats, the target behind, as a packed file. */
static void pack(const char *path, int64_t N, int64_t p, const float *cells) {
    char **names = need(p + 1, sizeof *names), *letters = need(p + 1, 24);
    unsigned char *role = need(p + 1, 1);
    for (int64_t j = 0; j <= p; j++) {
        names[j] = letters + 24 * j;
        snprintf(names[j], 24, "x%lld", (long long)j);
        role[j] = j < p ? SGFSI_ROLE_FEATURE : SGFSI_ROLE_TARGET;
    }
    const sgfsi_table head = {.cols = p + 1, .names = names, .role = role, .text_col = -1};
    const sgfsi_packer_plan plan = {
        .path = path, .overwrite = true, .head = &head, .type = SGFSI_F32, .shuffled = true};
    sgfsi_packer *packer;
    sgfs_err err;
    if (sgfsi_packer_open(&packer, &plan, &err) != SGFS_OK) give_up(err.text);
    for (int64_t first = 0; first < N; first += BLOCK) {
        int64_t n = N - first < BLOCK ? N - first : BLOCK;
        if (sgfsi_packer_add_raw(packer, n, cells + first * (p + 1), &err) != SGFS_OK)
            give_up(err.text);
    }
    if (sgfsi_packer_commit(packer, &err) != SGFS_OK) give_up(err.text);
    free(names), free(letters), free(role);
}

/* A: NULL, or D x D: the information is made as well. */
static double time_pass(const sgfs_model *m, int64_t threads, const double *theta, double *G,
                        double *A) {
    sgfsi_arena arena = {NULL};
    sgfsi_full full;
    sgfs_err err;
    double lp, best = 1e30, (*now)(void) = threads == 1 ? cpu_now : sgfsi_now;
    if (sgfsi_full_open(&full, m, threads, A != NULL, &arena, &err) != SGFS_OK) give_up(err.text);
    for (int r = 0; r < 2; r++) { /* the first one meets a cold cache */
        double before = now();
        if (sgfsi_full_eval(&full, theta, &lp, G, A, &err) != SGFS_OK) give_up(err.text);
        keep_least(&best, 1e3 * (now() - before));
    }
    sgfsi_arena_free(&arena);
    return best;
}

static void say(const char *workload, const storage *s, double bare, double square) {
    char what[64];
    snprintf(what, sizeof what, "%s: gradient", s->name);
    report(workload, what, s->gradient, "ms", bare);
    snprintf(what, sizeof what, "%s: gradient, all cores", s->name);
    report(workload, what, s->gradient_all, "ms", bare);
    snprintf(what, sizeof what, "%s: information", s->name);
    report(workload, what, s->information, "ms", square);
    snprintf(what, sizeof what, "%s: information, all cores", s->name);
    report(workload, what, s->information_all, "ms", square);
}

static void bench(int64_t N, int64_t p) {
    sgfs_err err;
    char workload[64], path[64];
    sgfs_config *cfg = unit_prior_config();
    double *x = need(N * p, sizeof *x), *y = need(N, sizeof *y), *r = need(BLOCK, sizeof *r);
    double *theta = need(p + 1, sizeof *theta), *G = need(p + 1, sizeof *G);
    double *A = need((p + 1) * (p + 1), sizeof *A), bare = 1e30, read = 1e30, square = 1e30;
    float *cells = need(N * (p + 1), sizeof *cells);
    sgfsi_stream s = sgfsi_stream_at(1, 0, 0, SGFSI_FEATURES);
    sgfsi_normals(&s, N * p, x);
    sgfsi_normals(&s, p + 1, theta);
    for (int64_t i = 0; i < N; i++) {
        y[i] = x[i * p] > 0.3 * x[i * p + 1] ? 1 : 0;
        for (int64_t j = 0; j < p; j++) cells[i * (p + 1) + j] = (float)x[i * p + j];
        cells[i * (p + 1) + p] = (float)y[i];
    }
    snprintf(path, sizeof path, "/tmp/sgfs-bench-%d.sgd", (int)getpid());
    pack(path, N, p, cells);
    sgfs_arrays arrays = {.rows = N, .cols = p, .x = x, .y = y};
    storage list[] = {{.name = "f64", .data = sgfs_data_wrap(&arrays, cfg, &err)},
                      {.name = "f32", .data = need(1, sizeof(sgfs_data))},
                      {.name = "packed", .data = sgfs_data_open(path, cfg, &err)}};
    enum { COUNT = sizeof list / sizeof list[0] };
    if (list[0].data == NULL || list[2].data == NULL) give_up(err.text);
    *list[1].data = *list[2].data; /* the packed file's cells, in memory */
    list[1].data->table.parts = 0;
    list[1].data->table.cells = cells;
    for (int k = 0; k < COUNT; k++) {
        storage *of = &list[k];
        of->model = sgfs_model_open("logistic", of->data, cfg, &err);
        if (of->model == NULL) give_up(err.text);
        of->gradient = of->gradient_all = of->information = of->information_all = 1e30;
    }
    int64_t cores = sgfsi_threads(0, 1);
    for (int round = 0; round < ROUNDS; round++) {
        for (int again = 0; again < 2; again++) keep_least(&bare, time_bare(N, p, x, theta, r, G));
        for (int again = 0; again < 2; again++) keep_least(&read, time_read(N * p, x, G));
        for (int again = 0; again < 2; again++) keep_least(&square, time_square(N, p, x, A));
        for (int k = 0; k < COUNT; k++) {
            storage *of = &list[k];
            keep_least(&of->gradient, time_pass(of->model, 1, theta, G, NULL));
            keep_least(&of->gradient_all, time_pass(of->model, cores, theta, G, NULL));
            keep_least(&of->information, time_pass(of->model, 1, theta, G, A));
            keep_least(&of->information_all, time_pass(of->model, cores, theta, G, A));
        }
    }
    snprintf(workload, sizeof workload, "logistic, N %lld, D %lld", (long long)N, (long long)p + 1);
    printf("%s, a pass over all rows (%lld cores)\n", workload, (long long)cores);
    report(workload, "two bare products", bare, "ms", bare);
    report(workload, "one read of the rows", read, "ms", bare);
    report(workload, "bare syrk", square, "ms", square);
    for (int k = 0; k < COUNT; k++) {
        say(workload, &list[k], bare, square);
        sgfs_model_free(list[k].model);
    }
    sgfs_data_free(list[0].data);
    sgfs_data_free(list[2].data);
    free(list[1].data);
    sgfs_config_free(cfg);
    unlink(path);
    free(x), free(y), free(theta), free(G), free(r), free(A), free(cells);
}

int main(int argc, char **argv) {
    bare_begin();
    if (argc > 2) {
        bench(atoll(argv[1]), atoll(argv[2]));
        return 0;
    }
    bench(10000, 50);
    bench(1000000, 20);
    return 0;
}
