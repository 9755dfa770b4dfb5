/* SPDX-License-Identifier: MIT
 * fisher.c: what one update of the Fisher matrix costs, for D parameters and n rows, and from which
 * D/n on it is cheaper to change the factor than to make it anew.
 *
 *   refactor   K = decay K + weight X'X (syrk), a copy, its Cholesky factor     n D^2 + D^3/3
 *   cholesky   the factor by reflections of the n rows (dtpqrt)                 2 n D^2
 *   woodbury   the inverse by an n x n system, and its products                 3 n D^2 + 2 n^2 D
 *
 * (multiplications and additions each, in order of size). All three start from scores in factored
 * form, as a model hands them over. One thread's own time, best of several short rounds taken in
 * turn, so that a busy machine slows all of them alike; the numbers to read are the ratios.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "base/rng.h"
#include "context/context.h"
#include "context/device/device.h"
#include "fisher/fisher.h"
#include "report.h"

enum { ROUNDS = 15, WAYS = 3 };
static const char *const way_name[WAYS] = {"refactor", "cholesky", "woodbury"};

typedef struct bench {
    sgfsi_arena arena;
    sgfs_score_block block;
    sgfs_scores s;
    double *gbar, *work;
    sgfs_sym K, R, L, P; /* the matrix, its factor anew, its factor updated, its inverse updated */
} bench;

static sgfs_sym open_sym(bench *b, const sgfs_fisher_kind *f, const sgfs_layout *layout) {
    sgfs_sym A;
    if (sgfsi_sym_open(&A, f, &sgfs_device_blas, layout, &b->arena, NULL) != SGFS_OK)
        give_up("out of memory");
    return A;
}

/* One regression's worth of scores, and a definite matrix to start from. */
static void open_bench(bench *b, int64_t D, int64_t n) {
    *b = (bench){.s = {.n = n, .D = D, .blocks = 1}};
    const sgfs_layout *layout = sgfsi_layout_open(D, D, 0, NULL, &b->arena);
    double *left = SGFSI_DOUBLES(&b->arena, n), *right = SGFSI_DOUBLES(&b->arena, n * D);
    b->gbar = SGFSI_DOUBLES(&b->arena, D);
    if (layout == NULL || left == NULL || right == NULL || b->gbar == NULL)
        give_up("out of memory");
    b->work = SGFSI_DOUBLES(&b->arena, sgfs_fisher_full.work(layout, n));
    sgfsi_stream s = sgfsi_stream_at(3, 0, D, SGFSI_FEATURES);
    sgfsi_normals(&s, n, left);
    sgfsi_normals(&s, n * D, right);
    b->block = (sgfs_score_block){.rows = 1, .cols = D, .left = left, .right = right};
    b->s.block = &b->block;
    b->K = open_sym(b, &sgfs_fisher_full, layout);
    b->R = open_sym(b, &sgfs_fisher_full, layout);
    b->L = open_sym(b, &sgfs_fisher_full, layout);
    b->P = open_sym(b, &sgfs_fisher_inverse, layout);
    sgfs_fisher_full.add_diag(&b->K, 1, NULL);
    sgfs_fisher_full.add_diag(&b->L, 1, NULL);
    sgfs_fisher_full.add_diag(&b->P, 1, NULL);
    if (b->work == NULL || b->P.kind->factor(&b->P) != 0) give_up("no start");
}

/* One update; decay 1 and a small weight keep the condition number where it is. */
static void update(bench *b, int way) {
    const double weight = 1e-6;
    int64_t failed = 0;
    if (way == 0) {
        b->K.kind->add_cov(&b->K, 1, weight, &b->s, b->gbar, b->work);
        b->K.kind->combine(&b->R, 1, &b->K, 0, NULL);
        failed = b->R.kind->factor(&b->R);
    }
    if (way == 1) failed = b->L.kind->update(&b->L, 1, weight, &b->s, b->gbar, b->work);
    if (way == 2) failed = b->P.kind->update(&b->P, 1, weight, &b->s, b->gbar, b->work);
    if (failed != 0) give_up("an update failed");
}

static double time_way(bench *b, int way, int repeats) {
    double before = cpu_now();
    for (int k = 0; k < repeats; k++) update(b, way);
    return 1e6 * (cpu_now() - before) / repeats;
}

/* Microseconds of each way at (D, n); about 2 ms each round. */
static void measure(int64_t D, int64_t n, double best[WAYS]) {
    bench b;
    open_bench(&b, D, n);
    double once = time_way(&b, 0, 2);
    int repeats = (int)fmin(1000, fmax(1, 2000 / once));
    for (int way = 0; way < WAYS; way++) best[way] = 1e30;
    for (int r = 0; r < ROUNDS; r++) {
        for (int way = 0; way < WAYS; way++)
            best[way] = fmin(best[way], time_way(&b, way, repeats));
    }
    sgfsi_arena_free(&b.arena);
}

/* Where the ratio refactor/way passes 1, between two measured D/n, on logarithmic scales. */
static double crossing(int count, const double *ratio, const double *gain) {
    for (int k = 1; k < count; k++) {
        if (gain[k - 1] >= 1 || gain[k] < 1) continue;
        double part = -log(gain[k - 1]) / (log(gain[k]) - log(gain[k - 1]));
        return exp(log(ratio[k - 1]) + part * (log(ratio[k]) - log(ratio[k - 1])));
    }
    return gain[0] >= 1 ? ratio[0] : INFINITY;
}

/* Time of the way the rule takes over that of the best one allowed. */
static double regret(int64_t D, int64_t n, double alpha, const double us[WAYS]) {
    const char *choice = sgfsi_update_best(D, n, alpha);
    double best = fmin(us[0], us[1]), taken = 0;
    if (alpha == 0) best = fmin(best, us[2]);
    for (int way = 0; way < WAYS; way++) {
        if (strcmp(choice, way_name[way]) == 0) taken = us[way];
    }
    return taken / best;
}

static void print_crossing(const char *name, double at) {
    if (isinf(at)) printf("  %s nowhere", name);
    else printf("  %s from D/n = %.1f", name, at);
}

/* Other sizes D may be given. */
int main(int argc, char **argv) {
    static const int64_t usual[] = {50, 100, 200, 400, 800};
    static const double ratio[] = {0.25, 0.5, 1, 2, 4, 8, 16};
    enum { USUAL = sizeof usual / sizeof usual[0], RATIOS = sizeof ratio / sizeof ratio[0] };
    int count = argc > 1 ? argc - 1 : USUAL;
    double worst = 1;
    char workload[64];
    bare_begin();
    printf("one update of a full Fisher matrix, one thread, best of %d rounds (OpenBLAS %s)\n",
           ROUNDS, sgfs_device_blas.ops->kernel(&sgfs_device_blas));
    for (int d = 0; d < count; d++) {
        int64_t D = argc > 1 ? atoll(argv[d + 1]) : usual[d];
        if (D < 16) give_up("sizes are whole numbers from 16 on");
        double gain[WAYS][RATIOS];
        for (int k = 0; k < RATIOS; k++) {
            double us[WAYS];
            int64_t n = (int64_t)round((double)D / ratio[k]);
            measure(D, n, us);
            for (int way = 0; way < WAYS; way++) gain[way][k] = us[0] / us[way];
            worst = fmax(worst, regret(D, n, 1, us));
            worst = fmax(worst, regret(D, n, 0, us));
            snprintf(workload, sizeof workload, "full Fisher matrix, D %lld, n %lld", (long long)D,
                     (long long)n);
            printf("%s: the rule takes %s (alpha > 0), %s (alpha = 0)\n", workload,
                   sgfsi_update_best(D, n, 1), sgfsi_update_best(D, n, 0));
            for (int way = 0; way < WAYS; way++)
                report(workload, way_name[way], us[way], "us", us[0]);
        }
        printf("  D = %lld, cheaper than refactor:", (long long)D);
        for (int way = 1; way < WAYS; way++)
            print_crossing(way_name[way], crossing(RATIOS, ratio, gain[way]));
        printf("\n");
    }
    printf("  the rule's choice takes at most %.2f times the time of the best one\n", worst);
    return 0;
}
