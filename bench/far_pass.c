/* SPDX-License-Identifier: MIT
 * far_pass.c: milliseconds of a pass over all rows of models of classes, of the clock: log density
 * with gradient, the same with the information, and pairs of places as exact-pairs asks for them.
 *
 *     far_pass DEVICE [THREADS] [SCALE]        SCALE: a share of the rows
 *
 * The log density is shown, too: two devices have to agree about it.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/ticker.h"
#include "model/model.h"
#include "posterior/places.h"
#include "report.h"

enum { PAIRS = 32 };
static const struct {
    const char *model, *hidden;
    int64_t rows, columns, classes;
} problems[] = {{"softmax", NULL, 1000000, 50, 10},
                {"softmax", NULL, 10000, 50, 10},
                {"mlp", "30", 60000, 20, 10},
                {"drbm", "41", 444534, 40, 23}};

static void check(sgfs_status status, const sgfs_err *err) {
    if (status != SGFS_OK) give_up(err->text);
}

/* Of one call, the fastest of several in a fifth of a second. */
#define TIME(best, call)                                                                           \
    do {                                                                                           \
        double start = sgfsi_now();                                                                \
        best = INFINITY;                                                                           \
        for (int k = 0; k < 2 || sgfsi_now() - start < 0.2; k++) {                                 \
            double before = sgfsi_now();                                                           \
            check(call, &err);                                                                     \
            keep_least(&best, sgfsi_now() - before);                                               \
        }                                                                                          \
    } while (0)

static void measure(size_t which, const char *device, const char *threads, double scale) {
    sgfs_err err;
    const int64_t cols = problems[which].columns,
                  rows = (int64_t)(scale * (double)problems[which].rows);
    double *x = need(rows * cols, sizeof *x), *y = need(rows, sizeof *y);
    sgfsi_stream s = sgfsi_stream_at(5, 0, 0, SGFSI_FEATURES);
    sgfsi_normals(&s, rows * cols, x);
    for (int64_t i = 0; i < rows; i++)
        y[i] = floor(fabs(2.0 * x[i * cols] + x[i * cols + 1] + 4 * x[i * cols + 2]));
    for (int64_t i = 0; i < rows; i++) y[i] = fmin(y[i], (double)problems[which].classes - 1);
    for (int64_t i = 0; i < problems[which].classes; i++) y[i] = (double)i;
    const sgfs_arrays arrays = {.size = sizeof arrays, .rows = rows, .cols = cols, .x = x, .y = y};
    sgfs_config *cfg = sgfs_config_new();
    check(sgfs_config_set(cfg, "run.device", device, &err), &err);
    check(sgfs_config_set(cfg, "run.threads", threads, &err), &err);
    if (problems[which].hidden != NULL)
        check(sgfs_config_set(cfg, "model.hidden", problems[which].hidden, &err), &err);
    sgfs_data *data = sgfs_data_wrap(&arrays, cfg, &err);
    double begun = sgfsi_now();
    sgfs_model *m = data != NULL ? sgfs_model_open(problems[which].model, data, cfg, &err) : NULL;
    if (m == NULL) give_up(err.text);
    const int64_t D = m->D;
    double opened = sgfsi_now() - begun, lp = 0, seconds;
    double *theta = need(2 * D, sizeof *theta), *G = need(D, sizeof *G);
    double *U = need(PAIRS * D, sizeof *U), sums[2 * PAIRS];
    sgfsi_model_start(m, theta, theta + D);
    sgfsi_normals(&s, PAIRS * D, U);
    for (int64_t i = 0; i < D; i++) theta[i] += 0.05 * U[i];
    for (int64_t i = 0; i < PAIRS * D; i++) U[i] *= 0.01;
    printf("%s %lld x %lld, %lld classes, D %lld: %s, %s threads, opened in %.3g s\n",
           problems[which].model, (long long)rows, (long long)cols,
           (long long)problems[which].classes, (long long)D, device, threads, opened);
    sgfsi_arena arena = {NULL};
    sgfsi_full f;
    bool far = m->far_rows != NULL, small = D < 1000;
    sgfsi_scope scope = sgfsi_context_enter(&m->ctx);
    check(sgfsi_full_open(&f, m, 0, small || far, &arena, &err), &err);
    TIME(seconds, sgfsi_full_eval(&f, theta, &lp, G, NULL, &err));
    printf("    gradient     %10.4f ms    lp %.15g, G %.15g\n", 1e3 * seconds, lp, G[D / 2]);
    if (small || far) {
        double *A = need(D * D, sizeof *A);
        TIME(seconds, sgfsi_full_eval(&f, theta, &lp, G, A, &err));
        printf("    information  %10.4f ms    A %.15g\n", 1e3 * seconds, A[D / 2 * D + D / 3]);
        free(A);
    }
    if (strcmp(problems[which].model, "softmax") == 0) {
        sgfsi_places p;
        check(sgfsi_places_open(&p, m, PAIRS, false, 0, &arena, &err), &err);
        TIME(seconds, sgfsi_places_pairs(&p, theta, PAIRS, U, sums, sums + PAIRS, &err));
        printf("    a pair       %10.4f ms    lp %.15g\n", 1e3 * seconds / PAIRS, sums[PAIRS + 1]);
    }
    sgfsi_context_leave(scope);
    sgfsi_arena_free(&arena);
    sgfs_model_free(m);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    free(x), free(y), free(theta), free(G), free(U);
}

int main(int argc, char **argv) {
    if (argc < 2) give_up("far_pass DEVICE [THREADS] [SCALE]");
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t k = 0; k < sizeof problems / sizeof *problems; k++)
        measure(k, argv[1], argc > 2 ? argv[2] : "1", argc > 3 ? atof(argv[3]) : 1);
    return 0;
}
