/* SPDX-License-Identifier: MIT
 * streamed.c: all rows on a GPU that has no room for them: times of a pass with a gradient and of
 * pairs of places, with all rows there as doubles, all there as they are stored, 70 % there, and
 * none; beside the processor with all its threads, and beside what the bus allows. The rest of the
 * memory is taken before, so that the rows need not be larger than it.
 *
 *     streamed [GB [GB-PACKED [few]]]     of rows of 100 floats; 8 and 1; few: pairs in short
 *                                         calls alone
 */
#include <omp.h>
#include <string.h>
#include <unistd.h>

#include "base/ticker.h"
#include "files/packed/packed.h"
#include "posterior/places.h"
#include "report.h"
#include "rows/carrier.h"
#include "tools/unit_prior.h"

enum { COLS = 100, SOME = 1000, FEW_PAIRS = 240, MANY_PAIRS = 2640 };

/* Numbers in (-1, 1), quickly; the target is 0 or 1. */
static float *make_cells(int64_t N) {
    float *cells = malloc((size_t)(N * (COLS + 1)) * sizeof *cells);
    if (cells == NULL) give_up("out of memory");
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < N; i++) {
        uint64_t s = (uint64_t)i * 0x9E3779B97F4A7C15u + 1;
        for (int64_t j = 0; j <= COLS; j++) {
            s = s * 6364136223846793005u + 1442695040888963407u;
            float x = (float)((double)(s >> 40) / 8388608 - 1);
            cells[i * (COLS + 1) + j] = j < COLS ? x : x > 0.1F ? 1 : 0;
        }
    }
    return cells;
}

static void pack(const char *path, int64_t N, const float *cells) {
    char *names[COLS + 1], letters[COLS + 1][24];
    unsigned char role[COLS + 1];
    for (int j = 0; j <= COLS; j++) {
        names[j] = letters[j];
        snprintf(names[j], 24, "x%d", j);
        role[j] = j < COLS ? SGFSI_ROLE_FEATURE : SGFSI_ROLE_TARGET;
    }
    const sgfsi_table head = {.cols = COLS + 1, .names = names, .role = role, .text_col = -1};
    const sgfsi_packer_plan plan = {
        .path = path, .overwrite = true, .head = &head, .type = SGFSI_F32, .shuffled = true};
    sgfsi_packer *packer;
    sgfs_err err;
    if (sgfsi_packer_open(&packer, &plan, &err) != SGFS_OK) give_up(err.text);
    for (int64_t first = 0; first < N; first += SOME) {
        int64_t n = N - first < SOME ? N - first : SOME;
        if (sgfsi_packer_add_raw(packer, n, cells + first * (COLS + 1), &err) != SGFS_OK)
            give_up(err.text);
    }
    if (sgfsi_packer_commit(packer, &err) != SGFS_OK) give_up(err.text);
}

/* ---- times ----------------------------------------------------------------------------------- */

static void say_note(sgfs_level level, const char *text, void *user) {
    (void)user;
    if (level == SGFS_NOTE && strstr(text, "lie on") != NULL) printf("    (%s)\n", text);
}

/* left: bytes of the GPU's memory that are; 0: all. */
static void measure(const char *what, const sgfs_data *d, const char *device, double left,
                    bool many) {
    sgfs_err err;
    const sgfs_device *gpu = NULL;
    sgfsi_arena arena = {NULL};
    sgfs_config *cfg = unit_prior_config();
    sgfs_config_on_message(cfg, say_note, NULL);
    if (left > 0 && sgfsi_device_open(&gpu, &sgfs_device_cuda, 0, &err) != SGFS_OK)
        give_up(err.text);
    double *hog = NULL;
    if (left > 0) {
        double bytes = gpu->ops->room(gpu) - left;
        hog = gpu->ops->alloc(gpu, (int64_t)(bytes / 8));
        if (hog == NULL) give_up("no memory to take");
    }
    if (sgfs_config_set(cfg, "run.device", device, &err) != SGFS_OK) give_up(err.text);
    double begin = sgfsi_now();
    sgfs_model *m = sgfs_model_open("logistic", d, cfg, &err);
    if (m == NULL) give_up(err.text);
    double opened = sgfsi_now() - begin, bytes = (double)d->row_bytes * (double)d->N;
    sgfsi_places places;
    int64_t most = many ? MANY_PAIRS : FEW_PAIRS, D = m->D;
    if (sgfsi_places_open(&places, m, most, false, 0, &arena, &err) != SGFS_OK) give_up(err.text);
    double *theta = need(D, sizeof *theta), *G = need(D, sizeof *G), lp, pass = 1e9, pair[2];
    double *U = sgfsi_device_lend(m->ctx.device, most * D, &arena);
    double *plus = need(2 * most, sizeof *plus), *minus = plus + most;
    for (int64_t i = 0; i < most * D; i++) U[i] = 0.01 * ((double)(i % 17) - 8) / 8;
    for (int again = 0; again < 3; again++) {
        begin = sgfsi_now();
        if (sgfsi_full_eval(&places.full, theta, &lp, G, NULL, &err) != SGFS_OK) give_up(err.text);
        keep_least(&pass, sgfsi_now() - begin);
    }
    for (int k = 0; k < 1 + many; k++) {
        int64_t K = k == 0 ? FEW_PAIRS : MANY_PAIRS;
        pair[k] = 1e9;
        for (int again = 0; again < 2; again++) {
            begin = sgfsi_now();
            if (sgfsi_places_pairs(&places, theta, K, U, plus, minus, &err) != SGFS_OK)
                give_up(err.text);
            keep_least(&pair[k], sgfsi_now() - begin);
        }
    }
    printf("%-34s open %7.2f s  gradient %8.4f s (%6.1f GB/s)  %d pairs %8.4f s (%6.1f GB/s)", what,
           opened, pass, 1e-9 * bytes / pass, FEW_PAIRS, pair[0], 1e-9 * bytes / pair[0]);
    if (many)
        printf("  %d pairs %8.4f s (%6.1f GB/s)", MANY_PAIRS, pair[1], 1e-9 * bytes / pair[1]);
    printf("  lp %.17g\n", lp);
    fflush(stdout);
    sgfsi_arena_free(&arena);
    sgfs_model_free(m);
    if (hog != NULL) gpu->ops->free(gpu, hog);
    sgfsi_device_close(gpu);
    sgfs_config_free(cfg);
    free(theta), free(G), free(plus);
}

/* What the bus takes from pinned memory, and what threads bring there. */
static void floors(const sgfs_data *d) {
    sgfs_err err;
    sgfsi_arena arena = {NULL};
    const sgfs_device *gpu;
    int64_t n = (int64_t)1 << 27, rows = n * 8 / d->row_bytes;
    if (rows > d->N) rows = d->N, n = rows * d->row_bytes / 8;
    if (sgfsi_device_open(&gpu, &sgfs_device_cuda, 0, &err) != SGFS_OK) give_up(err.text);
    double *pinned = sgfsi_device_lend(gpu, n, &arena), *there = gpu->ops->alloc(gpu, n);
    double best = 1e9;
    for (int again = 0; again < 3; again++) {
        double begin = sgfsi_now();
        sgfsi_put(gpu, n, pinned, there);
        keep_least(&best, sgfsi_now() - begin);
    }
    printf("%s\nthe bus: %.1f GB/s\n", gpu->ops->library(gpu), 8e-9 * (double)n / best);
    for (int64_t threads = 1; threads <= 16; threads *= 2) {
        sgfsi_context ctx = {.threads = threads};
        sgfsi_carrier *c = sgfsi_carrier_open(d, &ctx, &arena);
        double took = 1e9;
        for (int64_t first = 0; first + rows <= d->N; first += rows) {
            double begin = sgfsi_now();
            if (!sgfsi_carrier_read(c, first, rows, (char *)pinned)) give_up("a page");
            keep_least(&took, sgfsi_now() - begin);
        }
        printf("%d threads bring %.1f GB/s\n", (int)threads,
               1e-9 * (double)(rows * d->row_bytes) / took);
    }
    gpu->ops->free(gpu, there);
    sgfsi_arena_free(&arena);
    sgfsi_device_close(gpu);
}

int main(int argc, char **argv) {
    char path[64];
    sgfs_err err;
    double size = argc > 1 ? atof(argv[1]) : 8, packed = argc > 2 ? atof(argv[2]) : 1;
    int64_t N = (int64_t)(size * 1e9 / (4 * (COLS + 1)));
    int64_t few = (int64_t)(packed * 1e9 / (4 * (COLS + 1)));
    bool many = argc < 4;
    float *cells = make_cells(N);
    sgfs_config *cfg = unit_prior_config();
    snprintf(path, sizeof path, "/tmp/sgfs-bench-%d.sgd", (int)getpid());
    pack(path, few, cells);
    sgfs_data *d = sgfs_data_open(path, cfg, &err);
    if (d == NULL) give_up(err.text);
    sgfs_data all = *d; /* more of such rows, in memory */
    all.N = all.table.rows = N;
    all.total = (double)N;
    all.table.parts = 0;
    all.table.cells = cells;
    floors(&all);
    double bytes = (double)N * (double)d->row_bytes, most = size * 1e9;
    printf("%lld rows of %d floats, %.1f GB\n", (long long)N, COLS + 1, 1e-9 * bytes);
    const sgfs_device *gpu;
    if (sgfsi_device_open(&gpu, &sgfs_device_cuda, 0, &err) != SGFS_OK) give_up(err.text);
    double eighth = gpu->ops->room(gpu) / 8 * 1.01; /* what stays free beside rows */
    sgfsi_device_close(gpu);
    measure("all there, as doubles", &all, "cuda", 0, many);
    measure("all there, as stored", &all, "cuda", eighth + 1.4 * most, many);
    measure("70 % there", &all, "cuda", eighth + 0.75 * most, many);
    measure("none there", &all, "cuda", eighth, many);
    all.N = all.table.rows = N / 4;
    all.total = (double)all.N;
    measure("the processor, a quarter of them", &all, "blas", 0, false);
    floors(d);
    measure("packed, all there", d, "cuda", 0, many);
    measure("packed, none there", d, "cuda", eighth, many);
    measure("packed, the processor", d, "blas", 0, false);
    sgfs_data_free(d);
    sgfs_config_free(cfg);
    unlink(path);
    free(cells);
    return 0;
}
