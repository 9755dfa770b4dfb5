/* SPDX-License-Identifier: MIT
 * all_rows.c: what a device takes for all rows it keeps (ask_glm), of the clock: microseconds of a
 * pair of a logistic regression, and of one place with its gradient, with the bytes of rows a
 * second.
 *
 *     all_rows [--quick]
 *
 * The rows are floats, which lie on the device as doubles. Times are those of whole calls: places
 * go there and sums come back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ticker.h"
#include "context/context.h"
#include "report.h"

typedef struct size {
    int64_t N, p, K; /* rows, columns, pairs of a call */
} size;

/* Pairs as exact-pairs asks for them, and a single block of its. */
static const size sizes[] = {
    {10000, 51, 7680},    {10000, 51, 240},    {100000, 21, 7680},
    {100000, 21, 240},    {1000000, 21, 7680}, {1000000, 21, 240},
    {1000000, 100, 2640}, {1000000, 100, 240}, {10000000, 100, 240},
};

/* Numbers in (-1, 1), quickly. */
static float next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(*state >> 40) / 8388608 - 1);
}

static double *numbers(int64_t n, double scale, uint64_t seed) {
    double *x = need(n, sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = scale * (double)next(&seed);
    return x;
}

/* As a sampler has places that it hands over again and again. */
static double *lent(const sgfs_device *dev, int64_t n, const double *from, sgfsi_arena *arena) {
    double *x = sgfsi_device_lend(dev, n, arena);
    if (x == NULL) give_up("no memory");
    memcpy(x, from, (size_t)n * sizeof *x);
    return x;
}

/* The best of some, as others may use the machine. */
static double time_of(const sgfs_device *dev, const void *glm, const sgfsi_glm_places *at) {
    double best = 1e9;
    dev->ops->ask_glm(dev, glm, at);
    for (double begin = sgfsi_now(); sgfsi_now() - begin < 0.3;) {
        double before = sgfsi_now();
        dev->ops->ask_glm(dev, glm, at);
        double seconds = sgfsi_now() - before;
        best = seconds < best ? seconds : best;
    }
    return best;
}

static void measure(const sgfs_device *dev, size is) {
    int64_t cells = is.N * is.p;
    float *x = need(cells, sizeof *x);
    uint64_t seed = 5;
    for (int64_t i = 0; i < cells; i++) x[i] = next(&seed);
    double *y = numbers(is.N, 1, 6), *theta = numbers(is.K * is.p, 0.02, 7),
           *centre = numbers(is.p, 0.2, 8), *out = need(2 * is.K + is.p, sizeof *out);
    for (int64_t i = 0; i < is.N; i++) y[i] = y[i] > 0;
    const sgfsi_stored_part part = {0, is.N, (const char *)x};
    const sgfsi_column_span span = {0, is.p};
    const sgfsi_stored rows = {.type = SGFSI_F32,
                               .row_bytes = is.p * (int64_t)sizeof *x,
                               .rows = is.N,
                               .parts = 1,
                               .spans = 1,
                               .part = &part,
                               .span = &span,
                               .features = is.p};
    const sgfsi_glm model = {.link = SGFSI_LOGIT, .rows = is.N, .p = is.p, .y = y};
    void *kept = dev->ops->keep_rows(dev, &rows);
    void *glm = kept != NULL ? dev->ops->keep_glm(dev, kept, &model) : NULL;
    sgfsi_arena arena = {NULL};
    if (glm == NULL) {
        printf("%9lld x %3lld: no room\n", (long long)is.N, (long long)is.p);
    } else {
        const sgfsi_glm_places pairs = {.K = is.K,
                                        .stride = is.p,
                                        .theta = lent(dev, is.K * is.p, theta, &arena),
                                        .centre = centre,
                                        .loglik = out,
                                        .minus = out + is.K};
        const sgfsi_glm_places one = {
            .K = 1, .stride = is.p, .theta = centre, .loglik = out, .G = out + 1};
        double of_pairs = time_of(dev, glm, &pairs), of_one = time_of(dev, glm, &one);
        printf("%9lld x %3lld  pairs of a call %5lld  a pair %9.4f us  a gradient %10.1f us  %6.0f "
               "GB/s\n",
               (long long)is.N, (long long)is.p, (long long)is.K, 1e6 * of_pairs / (double)is.K,
               1e6 * of_one, 8e-9 * (double)cells / of_one);
        dev->ops->drop_glm(dev, glm);
    }
    if (kept != NULL) dev->ops->drop_rows(dev, kept);
    sgfsi_arena_free(&arena);
    free(x), free(y), free(theta), free(centre), free(out);
    fflush(stdout);
}

int main(int argc, char **argv) {
    const sgfs_device *dev;
    sgfs_err err;
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    if (sgfsi_device_open(&dev, &sgfs_device_cuda, 0, &err) != SGFS_OK) give_up(err.text);
    printf("%s\n", dev->ops->library(dev));
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        if (!quick || sizes[k].N <= 100000) measure(dev, sizes[k]);
    const char *why = dev->ops->trouble(dev);
    if (why != NULL) give_up(why);
    sgfsi_device_close(dev);
    return 0;
}
