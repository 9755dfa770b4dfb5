/* SPDX-License-Identifier: MIT
 * chunks.c: microseconds per iteration of logistic regression, D = 9, n = 500, with the rows in
 * memory and in a packed file, drawn one by one and in chunks; all in one run, best of short rounds
 * taken in turn.
 *
 *     bench_chunks [ROWS [FOLDER]]      (4e6 rows; the file is made there, /tmp, and removed)
 *     bench_chunks 4e6 /tmp cold        the page cache is emptied before each round (needs root)
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bare.h"
#include "base/rng.h"
#include "base/ticker.h"
#include "chain/run.h"
#include "files/packed/packed.h"
#include "report.h"
#include "tools/unit_prior.h"

enum { P = 8, COLS = P + 1, BATCH = 500, ROUNDS = 12, STEPS = 1000, BLOCK = 1024 };

typedef struct contender {
    const char *name, *scheme;
    bool packed;
    sgfs_config *cfg;
    sgfs_model *model;
    sgfs_run *run;
    double best; /* microseconds */
} contender;

/* n rows from `first` on, as floats. */
static void make_rows(int64_t first, int64_t n, float *out) {
    double x[P], uniform;
    for (int64_t i = 0; i < n; i++) {
        sgfsi_stream s = sgfsi_stream_at(1, 0, first + i, SGFSI_FEATURES);
        double eta = -0.3;
        sgfsi_normals(&s, P, x);
        sgfsi_uniforms(&s, 1, &uniform);
        for (int j = 0; j < P; j++) {
            out[i * COLS + j] = (float)x[j];
            eta += 0.2 * (j % 2 == 0 ? 1 : -0.6) * x[j];
        }
        out[i * COLS + P] = eta > 4 * (uniform - 0.5) ? 1 : 0;
    }
}

static void pack(const char *path, int64_t rows, float *copy) {
    char *names[COLS] = {"x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "y"};
    unsigned char role[COLS] = {1, 1, 1, 1, 1, 1, 1, 1, SGFSI_ROLE_TARGET};
    const sgfsi_table head = {
        .cols = COLS, .names = names, .role = role, .named = true, .text_col = -1};
    const sgfsi_packer_plan plan = {
        .path = path, .overwrite = true, .head = &head, .type = SGFSI_F32, .shuffled = true};
    sgfsi_packer *p;
    sgfs_err err;
    float block[BLOCK * COLS];
    if (sgfsi_packer_open(&p, &plan, &err) != SGFS_OK) give_up(err.text);
    for (int64_t first = 0; first < rows; first += BLOCK) {
        int64_t n = rows - first < BLOCK ? rows - first : BLOCK;
        make_rows(first, n, block);
        if (copy != NULL) memcpy(copy + first * COLS, block, (size_t)(n * COLS) * sizeof *block);
        if (sgfsi_packer_add_raw(p, n, block, &err) != SGFS_OK) give_up(err.text);
    }
    if (sgfsi_packer_commit(p, &err) != SGFS_OK) give_up(err.text);
}

/* The same cells as a table in memory. */
static sgfs_data *in_memory(const sgfs_data *packed, float *cells) {
    sgfs_data *d = need(1, sizeof *d);
    *d = *packed;
    d->table.parts = 0;
    d->table.cells = cells;
    return d;
}

static void open_contender(contender *c, const sgfs_data *data) {
    sgfs_err err;
    c->cfg = unit_prior_config();
    sgfs_config_set(c->cfg, "run.chains", "1", NULL);
    sgfs_config_set(c->cfg, "run.threads", "1", NULL);
    sgfs_config_set(c->cfg, "run.batch", "500", NULL);
    sgfs_config_set(c->cfg, "run.batch_scheme", c->scheme, NULL);
    sgfs_config_set(c->cfg, "run.warmup", "1000", NULL);
    sgfs_config_set(c->cfg, "run.draws", "100000000", NULL);
    sgfs_config_set(c->cfg, "run.thin", "100000000", NULL);
    c->model = sgfs_model_open("logistic", data, c->cfg, &err);
    c->run = c->model != NULL ? sgfs_run_open(c->model, c->cfg, &err) : NULL;
    if (c->run == NULL || sgfs_run_step(c->run, 1500, &err) != SGFS_OK) give_up(err.text);
    c->best = 1e30;
}

static void empty_cache(const sgfs_data *d) {
    for (int64_t k = 0; k < d->table.parts; k++)
        madvise(d->table.part[k].map, d->table.part[k].map_bytes, MADV_DONTNEED);
    int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);
    if (fd < 0 || write(fd, "1", 1) != 1) give_up("the page cache cannot be emptied");
    close(fd);
}

static void time_contender(contender *c, bool cold) {
    sgfs_err err;
    if (cold) empty_cache(c->model->data);
    double (*now)(void) = cold ? sgfsi_now : cpu_now; /* waiting for the disk counts */
    double before = now();
    if (sgfs_run_step(c->run, STEPS, &err) != SGFS_OK) give_up(err.text);
    keep_least(&c->best, 1e6 * (now() - before) / STEPS);
}

int main(int argc, char **argv) {
    contender list[] = {{.name = "in memory, row by row", .scheme = "with"},
                        {.name = "packed, row by row", .scheme = "with", .packed = true},
                        {.name = "packed, chunks", .scheme = "chunks", .packed = true}};
    enum { COUNT = sizeof list / sizeof list[0] };
    int64_t rows = argc > 1 ? (int64_t)atof(argv[1]) : 4000000;
    bool cold = argc > 3;
    char path[256];
    sgfs_err err;
    snprintf(path, sizeof path, "%s/sgfs-bench-%d.sgd", argc > 2 ? argv[2] : "/tmp", (int)getpid());
    float *cells = need(rows * COLS, sizeof *cells);
    pack(path, rows, cells);
    sgfs_config *cfg = unit_prior_config();
    sgfs_data *packed = sgfs_data_open(path, cfg, &err);
    if (packed == NULL) give_up(err.text);
    sgfs_data *memory = in_memory(packed, cells);
    for (int c = 0; c < COUNT; c++) open_contender(&list[c], list[c].packed ? packed : memory);
    bare_begin();
    for (int r = 0; r < (cold ? 3 : ROUNDS); r++) {
        for (int c = 0; c < COUNT; c++) time_contender(&list[c], cold);
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    char workload[64];
    snprintf(workload, sizeof workload, "logistic, N %lld, D 9, n 500", (long long)rows);
    printf("%s, chunks of %lld rows, one thread, best of %d x %d iterations%s\n", workload,
           (long long)list[COUNT - 1].run->plan.chunk, cold ? 3 : ROUNDS, STEPS,
           cold ? ", page cache emptied before each" : "");
    for (int c = 0; c < COUNT; c++) {
        report(workload, list[c].name, list[c].best, "us", list[0].best);
        sgfs_run_free(list[c].run);
        sgfs_model_free(list[c].model);
        sgfs_config_free(list[c].cfg);
    }
    printf("  %ld major faults, %ld minor\n", use.ru_majflt, use.ru_minflt);
    free(memory);
    sgfs_data_free(packed);
    sgfs_config_free(cfg);
    free(cells);
    unlink(path);
    return 0;
}
