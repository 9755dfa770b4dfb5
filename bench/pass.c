/* SPDX-License-Identifier: MIT
 * pass.c: milliseconds for log density and gradient over all rows (what a leapfrog step of hmc and
 * nuts costs) beside the two matrix-vector products that no pass can do without, on the same rows
 * in the same run, and beside one read of the rows; and the same with the information matrix (what
 * a pass of the search for an anchor costs) beside those products and the bare symmetric product.
 * One thread, then all cores; best of several rounds.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/threads.h"
#include "base/ticker.h"
#include "posterior/posterior.h"
#include "tools/unit_prior.h"

enum { ROUNDS = 15, BLOCK = 1024 };

static void give_up(const char *what) {
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

/* The floor: x theta and x'r, block by block. */
static double time_bare(int64_t N, int64_t p, const double *x, const double *theta, double *r,
                        double *G) {
    double before = sgfsi_now();
    for (int64_t first = 0; first < N; first += BLOCK) {
        int64_t n = N - first < BLOCK ? N - first : BLOCK;
        sgfsi_gemv(&sgfs_device_blas, n, p, 1, x + first * p, theta, 0, r);
        sgfsi_gemv_t(&sgfs_device_blas, n, p, 1, x + first * p, r, 1, G);
    }
    return sgfsi_now() - before;
}

/* And x'x, block by block, for the passes that make the information as well. */
static double time_square(int64_t N, int64_t p, const double *x, double *A) {
    double before = sgfsi_now();
    for (int64_t first = 0; first < N; first += BLOCK) {
        int64_t n = N - first < BLOCK ? N - first : BLOCK;
        sgfsi_syrk_t(&sgfs_device_blas, n, p, 1, x + first * p, 1, A);
    }
    return sgfsi_now() - before;
}

static double time_read(int64_t count, const double *x, double *G) {
    double before = sgfsi_now(), sum[8] = {0};
    for (int64_t i = 0; i + 8 <= count; i += 8) {
        for (int k = 0; k < 8; k++) sum[k] += x[i + k];
    }
    G[0] += sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
    return sgfsi_now() - before;
}

/* A: NULL, or D x D: the information is made as well. */
static double time_pass(const sgfs_model *m, int64_t threads, const double *theta, double *G,
                        double *A) {
    sgfsi_arena arena = {NULL};
    sgfsi_full full;
    sgfs_err err;
    double lp, best = 1e30;
    if (sgfsi_full_open(&full, m, threads, A != NULL, &arena, &err) != SGFS_OK) give_up(err.text);
    for (int r = 0; r < ROUNDS; r++) {
        double before = sgfsi_now();
        if (sgfsi_full_eval(&full, theta, &lp, G, A, &err) != SGFS_OK) give_up(err.text);
        double took = sgfsi_now() - before;
        best = took < best ? took : best;
    }
    sgfsi_arena_free(&arena);
    return best;
}

static void bench(int64_t N, int64_t p) {
    sgfs_err err;
    sgfs_config *cfg = unit_prior_config();
    double *x = malloc(sizeof *x * (size_t)(N * p)), *y = malloc(sizeof *y * (size_t)N);
    double *theta = calloc((size_t)p + 1, sizeof *theta), *G = calloc((size_t)p + 1, sizeof *G);
    double *r = malloc(sizeof *r * BLOCK), bare = 1e30, read = 1e30, square = 1e30;
    double *A = calloc((size_t)((p + 1) * (p + 1)), sizeof *A);
    if (x == NULL || y == NULL || theta == NULL || G == NULL || r == NULL || A == NULL)
        give_up("out of memory");
    sgfsi_stream s = sgfsi_stream_at(1, 0, 0, SGFSI_FEATURES);
    sgfsi_normals(&s, N * p, x);
    sgfsi_normals(&s, p + 1, theta);
    for (int64_t i = 0; i < N; i++) y[i] = x[i * p] > 0.3 * x[i * p + 1] ? 1 : 0;
    sgfs_arrays arrays = {.rows = N, .cols = p, .x = x, .y = y};
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    sgfs_model *m = data != NULL ? sgfs_model_open("logistic", data, cfg, &err) : NULL;
    if (m == NULL) give_up(err.text);
    for (int k = 0; k < ROUNDS; k++) {
        double took = time_bare(N, p, x, theta, r, G), once = time_read(N * p, x, G);
        double squared = time_square(N, p, x, A);
        bare = took < bare ? took : bare;
        read = once < read ? once : read;
        square = squared < square ? squared : square;
    }
    int64_t cores = sgfsi_threads(0);
    double one = time_pass(m, 1, theta, G, NULL), all = time_pass(m, cores, theta, G, NULL);
    double one_A = time_pass(m, 1, theta, G, A), all_A = time_pass(m, cores, theta, G, A);
    printf("logistic, N %lld, D %lld\n", (long long)N, (long long)p + 1);
    printf("  %-28s %9.3f ms   1.00\n", "two bare products", 1e3 * bare);
    printf("  %-28s %9.3f ms  %5.2f\n", "one read of the rows", 1e3 * read, read / bare);
    printf("  %-28s %9.3f ms  %5.2f\n", "gradient and log density", 1e3 * one, one / bare);
    printf("  on %lld threads %15s %9.3f ms  %5.2f\n", (long long)cores, "", 1e3 * all, all / bare);
    bare += square;
    printf("  %-28s %9.3f ms   1.00\n", "and x'x", 1e3 * bare);
    printf("  %-28s %9.3f ms  %5.2f\n", "and the information", 1e3 * one_A, one_A / bare);
    printf("  on %lld threads %15s %9.3f ms  %5.2f\n", (long long)cores, "", 1e3 * all_A,
           all_A / bare);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    free(x), free(y), free(theta), free(G), free(r), free(A);
}

int main(void) {
    (void)sgfsi_context_enter(&(sgfsi_context){.device = &sgfs_device_blas});
    bench(10000, 50);
    bench(1000000, 20);
    return 0;
}
