/* SPDX-License-Identifier: MIT
 * few.c: the floor of an exact draw that asks a few rows (--sampler exact-rows): D normal numbers,
 * one product with a D x D matrix for the proposal, and as many rows as such a draw asks (ASKED),
 * each fetched from a random place among N rows of floats, with one product and one exp; AHEAD
 * draws at once, so that rows come while numbers are made. No table, no bounds, no decision.
 * Processor time of one thread, best of several rounds. bench.py puts the sampler beside it.
 *
 *     few [ROWS]       10^6 rows, then 10^7
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "context/device/device.h"
#include "report.h"

enum { D = 21, ASKED = 4, AHEAD = 64, ROUNDS = 9, BATCHES = 400 };

static double time_draws(int64_t N, const float *x, const double *L, double *theta) {
    int64_t row[AHEAD * ASKED];
    double z[AHEAD * D], sum = 0, before = cpu_now();
    for (int64_t t = 0; t < BATCHES; t++) {
        sgfsi_stream s = sgfsi_stream_at(1, 0, t, SGFSI_ROWS);
        sgfsi_indices(&s, AHEAD * ASKED, N, row);
        for (int k = 0; k < AHEAD * ASKED; k++) {
            __builtin_prefetch(x + row[k] * D);
            __builtin_prefetch(x + row[k] * D + D - 1);
        }
        sgfsi_normals(&s, AHEAD * D, z);
        sgfsi_gemm_nt(&sgfs_device_blas, AHEAD, D, D, 1, z, L, 0, theta);
        for (int k = 0; k < AHEAD * ASKED; k++) {
            const float *of = x + row[k] * D;
            const double *at = theta + k / ASKED * D;
            double eta[4] = {at[D - 1] * (double)of[D - 1], 0, 0, 0};
            for (int j = 0; j + 4 <= D; j += 4) {
                for (int i = 0; i < 4; i++) eta[i] += at[j + i] * (double)of[j + i];
            }
            sum += exp(-fabs(eta[0] + eta[1] + eta[2] + eta[3]));
        }
    }
    theta[0] = sum; /* it was needed */
    return 1e6 * (cpu_now() - before) / (BATCHES * AHEAD);
}

static void bench(int64_t N) {
    char workload[64];
    float *x = need(N * D, sizeof *x);
    double L[D * D] = {0}, theta[AHEAD * D], best = 1e30;
    for (int64_t i = 0; i < N * D; i++) x[i] = (float)(i % 17) * 0.1f;
    for (int j = 0; j < D; j++) L[j * D + j] = 0.1;
    for (int r = 0; r < ROUNDS; r++) keep_least(&best, time_draws(N, x, L, theta));
    snprintf(workload, sizeof workload, "few rows, N %lld, D %d", (long long)N, (int)D);
    printf("%s\n", workload);
    report(workload, "proposal, 4 rows and exps", best, "us", best);
    free(x);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        bench(atoll(argv[1]));
        return 0;
    }
    bench(1000000);
    bench(10000000);
    return 0;
}
