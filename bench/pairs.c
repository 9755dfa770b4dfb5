/* SPDX-License-Identifier: MIT
 * pairs.c: microseconds for a pair of proposals of --sampler exact-pairs, against the floor: the
 * bare product of matrices for the linear predictors of all rows, and one exp for each of its
 * elements. One thread, dense rows, the best of several rounds taken in turn.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "posterior/places.h"
#include "report.h"
#include "tools/unit_prior.h"

enum { ROUNDS = 7, PAIRS = 256, BLOCK = 128 };

/* N rows of p columns in blocks that stay in cache, as the sampler has them. */
static double floor_of(const sgfs_device *dev, int64_t N, int64_t p, const double *x,
                       const double *U, double *E) {
    double before = cpu_now();
    for (int64_t first = 0; first < N; first += BLOCK) {
        int64_t n = N - first < BLOCK ? N - first : BLOCK;
        sgfsi_gemm_nt(dev, n, PAIRS, p, 1.0, x + first * p, U, 0.0, E);
        sgfsi_exp(dev, n * PAIRS, E, E);
    }
    return 1e6 * (cpu_now() - before) / PAIRS;
}

static void compare(const char *name, int64_t N, int64_t D, int64_t classes) {
    sgfs_err err;
    int64_t p = D - 1, R = classes > 2 ? classes - 1 : 1;
    double *x = need(N * D, sizeof(double)), *y = need(N, sizeof(double)), best[2] = {1e30, 1e30};
    sgfsi_stream s = sgfsi_stream_at(3, 0, 0, SGFSI_FEATURES);
    sgfsi_normals(&s, N * p, x);
    for (int64_t i = 0; i < N; i++)
        y[i] = classes > 2 ? (double)(i % classes) : x[i * p] > (classes == 0 ? 1 : 0);
    sgfs_config *cfg = unit_prior_config();
    sgfs_arrays arrays = {.rows = N, .cols = p, .x = x, .y = y};
    sgfs_data *data = cfg != NULL ? sgfs_data_wrap(&arrays, cfg, &err) : NULL;
    if (cfg != NULL) (void)sgfs_config_set(cfg, "run.threads", "1", &err);
    sgfs_model *m = data != NULL ? sgfs_model_open(name, data, cfg, &err) : NULL;
    if (m == NULL) give_up(err.text);
    sgfsi_arena arena = {NULL};
    sgfsi_places places;
    double *U = need(PAIRS * m->D, sizeof(double)), *centre = need(m->D, sizeof(double)),
           *lp = need(2 * PAIRS, sizeof(double)), *E = need(BLOCK * PAIRS, sizeof(double));
    sgfsi_normals(&s, PAIRS * m->D, U);
    for (int64_t i = 0; i < PAIRS * m->D; i++) U[i] /= sqrt((double)N);
    if (sgfsi_places_open(&places, m, PAIRS, false, 1, &arena, &err) != SGFS_OK) give_up(err.text);
    sgfsi_scope scope = sgfsi_context_enter(&m->ctx);
    for (int round = 0; round < ROUNDS; round++) {
        double bare = 0, before = cpu_now();
        if (sgfsi_places_pairs(&places, centre, PAIRS, U, lp, lp + PAIRS, &err) != SGFS_OK)
            give_up(err.text);
        best[0] = fmin(best[0], 1e6 * (cpu_now() - before) / PAIRS);
        for (int64_t r = 0; r < R; r++) bare += floor_of(m->ctx.near, N, D, x, U, E);
        best[1] = fmin(best[1], bare);
    }
    sgfsi_context_leave(scope);
    char workload[64];
    snprintf(workload, sizeof workload, "%s, N %lld, D %lld", name, (long long)N, (long long)m->D);
    printf("%s\n", workload);
    report(workload, "product and exps", best[1], "us", best[1]);
    report(workload, "a pair of proposals", best[0], "us", best[1]);
    sgfsi_arena_free(&arena);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    free(x), free(y), free(U), free(centre), free(lp), free(E);
}

int main(void) {
    printf(
        "A pair of proposals over all rows, %d at once, and the product of matrices with one exp\n"
        "for each element\n",
        (int)PAIRS);
    compare("logistic", 1000, 21, 2);
    compare("logistic", 10000, 51, 2);
    compare("logistic", 100000, 200, 2);
    compare("poisson", 10000, 51, 0);
    compare("softmax", 2000, 65, 10);
    return 0;
}
