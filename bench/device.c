/* SPDX-License-Identifier: MIT
 * device.c: microseconds of each operation that an iteration of SGFS asks of a device, of the
 * clock.
 *
 *     device [cuda|blas|host]
 *
 * Operations that hand nothing back are started many times and waited for once, as an iteration
 * does that goes on to the next one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/ticker.h"
#include "context/context.h"
#include "report.h"

enum { SIZES = 3 };
static const int64_t sizes[SIZES][2] = {{51, 500}, {940, 2000}, {2647, 500}}; /* D, n */

typedef struct bench {
    const sgfs_device *dev;
    int64_t D, n;
    double *X, *B, *A, *K, *L; /* n x D twice, D x D three times, on the device */
    double *v, *u, *e;         /* D, D, n */
    void *kept;
    int64_t *row; /* n */
} bench;

static void gather(bench *b) {
    if (b->kept != NULL) b->dev->ops->gather(b->dev, b->kept, b->row, 0, b->n, b->X);
}
static void gemv(bench *b) {
    sgfsi_gemv(b->dev, b->n, b->D, 1, b->X, b->v, 0, b->e);
}
static void gemv_t(bench *b) {
    sgfsi_gemv_t(b->dev, b->n, b->D, 1, b->X, b->e, 0, b->u);
}
static void outer(bench *b) {
    const sgfsi_outer o = {b->n, 1, b->D, b->e, b->X, 0, b->D, b->u};
    sgfsi_outer_of(b->dev, &o, b->B, b->D);
}
static void syrk(bench *b) {
    sgfsi_syrk_t(b->dev, b->n, b->D, 0.02, b->B, 0.98, b->A);
}
static void combine(bench *b) {
    sgfsi_combine(b->dev, b->D, 1, b->K, 0, NULL, b->L);
}
static void add_diag(bench *b) {
    sgfsi_add_diag(b->dev, b->D, 1e-3, b->v, b->L);
}
static void trace(bench *b) {
    b->u[0] = sgfsi_trace_of(b->dev, b->D, b->L);
}
static void potrf(bench *b) {
    combine(b);
    if (sgfsi_potrf(b->dev, b->D, b->L) != 0) printf("not positive definite\n");
}
static void trsv(bench *b) {
    sgfsi_trsv(b->dev, b->D, b->L, false, b->u);
}
static void trsv_t(bench *b) {
    sgfsi_trsv(b->dev, b->D, b->L, true, b->u);
}
static void potri(bench *b) {
    combine(b);
    sgfsi_potri(b->dev, b->D, b->L);
}

static const struct {
    const char *name;
    void (*call)(bench *b);
} operations[] = {{"gather", gather},
                  {"gemv", gemv},
                  {"gemv_t", gemv_t},
                  {"outer", outer},
                  {"syrk_t", syrk},
                  {"combine", combine},
                  {"add_diag", add_diag},
                  {"trace", trace},
                  {"combine and potrf", potrf},
                  {"trsv", trsv},
                  {"trsv transposed", trsv_t},
                  {"combine and potri", potri}};

/* n numbers in (-1, 1), the same for the same seed. */
static double *numbers(int64_t n, uint64_t seed) {
    double *x = need(n, sizeof *x);
    sgfsi_stream s = sgfsi_stream_at(seed, 0, 0, SGFSI_FEATURES);
    sgfsi_uniforms(&s, n, x);
    for (int64_t i = 0; i < n; i++) x[i] = 2 * x[i] - 1;
    return x;
}

static double *there(bench *b, int64_t n, const double *host) {
    double *A =
        b->dev->ops->alloc != NULL ? b->dev->ops->alloc(b->dev, n) : need(n, sizeof(double));
    if (A == NULL) give_up("no memory on the device");
    sgfsi_put(b->dev, n, host, A);
    return A;
}

static void open_bench(bench *b, const sgfs_device *dev, int64_t D, int64_t n) {
    *b = (bench){.dev = dev, .D = D, .n = n};
    double *X = numbers(n * D, 3), *S = need(D * D, sizeof *S);
    for (int64_t i = 0; i < D; i++)
        for (int64_t j = 0; j <= i; j++) S[i * D + j] = i == j ? 3 : 0.5 / (double)D;
    b->X = there(b, n * D, X);
    b->B = there(b, n * D, X);
    b->A = there(b, D * D, S);
    b->K = there(b, D * D, S);
    b->L = there(b, D * D, S);
    b->v = numbers(D, 5);
    b->u = numbers(D, 6);
    b->e = numbers(n, 7);
    b->row = malloc((size_t)n * sizeof *b->row);
    for (int64_t i = 0; i < n; i++) b->row[i] = (7919 * i) % n;
    const sgfsi_stored_part part = {0, n, (const char *)X};
    const sgfsi_column_span span = {0, D};
    const sgfsi_stored rows = {.type = SGFSI_F64,
                               .row_bytes = D * (int64_t)sizeof *X,
                               .rows = n,
                               .parts = 1,
                               .spans = 1,
                               .part = &part,
                               .span = &span,
                               .features = D};
    if (dev->ops->keep_rows != NULL) b->kept = dev->ops->keep_rows(dev, &rows);
    free(S); /* X stays: a device on the host may keep no copy */
}

/* Of one call; rounds so many that a tenth of a second goes by. */
static double time_of(bench *b, void (*call)(bench *b)) {
    int64_t rounds = 1;
    for (double seconds = 0;; rounds *= 4) {
        call(b);
        sgfsi_device_wait(b->dev);
        double before = sgfsi_now();
        for (int64_t k = 0; k < rounds; k++) call(b);
        sgfsi_device_wait(b->dev);
        seconds = sgfsi_now() - before;
        if (seconds > 0.1 || rounds > 4000) return 1e6 * seconds / (double)rounds;
    }
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "cuda";
    const sgfs_device *dev;
    int64_t number;
    sgfs_err err;
    const sgfs_device *kind = sgfsi_device_find(name, &number);
    if (kind == NULL) give_up("device [cuda|blas|host]");
    if (sgfsi_device_open(&dev, kind, number, &err) != SGFS_OK) give_up(err.text);
    if (dev->ops->library != NULL) printf("%s\n", dev->ops->library(dev));
    for (int s = 0; s < SIZES; s++) {
        bench b;
        open_bench(&b, dev, sizes[s][0], sizes[s][1]);
        for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++)
            printf("D %5lld  n %5lld  %-18s %10.1f us\n", (long long)b.D, (long long)b.n,
                   operations[k].name, time_of(&b, operations[k].call));
    }
    const char *why = dev->ops->trouble != NULL ? dev->ops->trouble(dev) : NULL;
    if (why != NULL) give_up(why);
    return 0;
}
