/* SPDX-License-Identifier: MIT
 * simulate_rows.c: rows are drawn by all threads and written in order.
 *
 *     x_j = rho x_(j-1) + sqrt(1 - rho^2) e_j,  e ~ N(0, 1);   y ~ model(theta, x)
 *
 * Row i has random streams of its own, so it does not matter who draws it. There are two banks of
 * blocks: while one is drawn, the other is written, in order, by the first thread that is free. The
 * room of a block is n x (1 + dim) with the model's intercepts in front; when the targets are
 * there, each takes the place of the intercept of the row after it:
 *
 *     1 x x x 1 x x x 1 x x x .   ->   1 [x x x y][x x x y][x x x y]
 *
 * and what is in brackets is what a file wants.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/number.h"
#include "base/rng.h"
#include "base/ticker.h"
#include "files/columns.h"
#include "files/packed/packed.h"
#include "jobs/job.h"
#include "jobs/simulate/simulation.h"

enum { MOST_ROWS = 4096, MOST_CELLS = 1 << 22, MOST_BLOCKS = 64 }; /* of a block; of a bank */

/* Rows first .. first+n-1, and how it went. */
typedef struct block {
    int64_t first, n;             /* n 0: none */
    double *x;                    /* n x (1 + dim), and one more */
    double *y, *normal, *uniform; /* n each */
    sgfs_err err;
} block;

/* ---- drawing --------------------------------------------------------------------------------- */

/* n x (dim + 1) at x + 1. */
static sgfs_status draw_block(const sgfsi_simulation *s, block *k) {
    const int64_t p = s->dim + 1, n = k->n;
    const sgfs_batch b = {
        .n = n, .p = p, .x = k->x, .y = k->y, .total = (double)s->rows, .gamma = 1};
    const double keep = sqrt(1 - s->rho * s->rho);
    for (int64_t i = 0; i < n; i++) {
        double *x = k->x + i * p; /* 1 + dim */
        sgfsi_stream features = sgfsi_stream_at(s->seed, 0, k->first + i, SGFSI_FEATURES);
        sgfsi_stream target = sgfsi_stream_at(s->seed, 0, k->first + i, SGFSI_TARGET);
        sgfsi_normals(&features, s->dim, x + 1);
        sgfsi_normals(&target, 1, &k->normal[i]);
        sgfsi_uniforms(&target, 1, &k->uniform[i]);
        x[0] = 1;
        for (int64_t j = 2; j <= s->dim; j++) x[j] = s->rho * x[j - 1] + keep * x[j];
    }
    /* targets, each into the place of the next row's intercept */
    s->kind->resample(s->m, s->theta, &b, k->normal, k->uniform, k->y);
    for (int64_t i = 0; i < n; i++) {
        k->x[(i + 1) * p] = k->y[i];
        if (isfinite(k->y[i])) continue;
        return sgfsi_fail(&k->err, SGFS_ENUMERIC, "Row %lld has a target that is not finite.",
                          (long long)(k->first + i + 1));
    }
    return SGFS_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

typedef struct writer {
    const sgfsi_simulation *s;
    const struct format *format;
    sgfsi_outfile out;
    sgfsi_table head; /* of a packed file */
    sgfsi_packer *packer;
} writer;

typedef struct format {
    const char *suffix;
    sgfs_status (*open)(writer *w, const char *path, bool overwrite, sgfs_err *err);
    sgfs_status (*add)(writer *w, int64_t n, const double *rows, sgfs_err *err); /* n x (dim+1) */
    sgfs_status (*close)(writer *w, bool good, sgfs_err *err); /* not good: nothing is left */
} format;

static sgfs_status open_stream(writer *w, const char *path, bool overwrite, sgfs_err *err) {
    return sgfsi_outfile_open(&w->out, path, overwrite, true, err);
}

/* What could not be written is reported at the end, but no time is lost till then. */
static sgfs_status check_stream(writer *w, sgfs_err *err) {
    return ferror(w->out.f) ? sgfsi_outfile_commit(&w->out, err) : SGFS_OK;
}

static sgfs_status close_stream(writer *w, bool good, sgfs_err *err) {
    if (good) return sgfsi_outfile_commit(&w->out, err);
    if (w->out.temp != NULL) sgfsi_outfile_abandon(&w->out);
    return SGFS_OK;
}

static sgfs_status open_npy(writer *w, const char *path, bool overwrite, sgfs_err *err) {
    const int64_t shape[] = {w->s->rows, w->s->dim + 1};
    sgfs_status status = open_stream(w, path, overwrite, err);
    if (status == SGFS_OK) sgfsi_npy_head(w->out.f, 2, shape);
    return status;
}

static sgfs_status add_npy(writer *w, int64_t n, const double *rows, sgfs_err *err) {
    sgfsi_npy_numbers(w->out.f, rows, n * (w->s->dim + 1));
    return check_stream(w, err);
}

static sgfs_status open_csv(writer *w, const char *path, bool overwrite, sgfs_err *err) {
    sgfs_status status = open_stream(w, path, overwrite, err);
    if (status != SGFS_OK) return status;
    for (int64_t j = 0; j < w->s->dim; j++) fprintf(w->out.f, "x%lld,", (long long)(j + 1));
    fputs("y\n", w->out.f);
    return SGFS_OK;
}

static sgfs_status add_csv(writer *w, int64_t n, const double *rows, sgfs_err *err) {
    char text[SGFSI_NUM_CHARS];
    int64_t cols = w->s->dim + 1;
    for (int64_t i = 0; i < n * cols; i++) {
        sgfsi_format_num(text, rows[i]);
        fputs(text, w->out.f);
        fputc(i % cols == cols - 1 ? '\n' : ',', w->out.f);
    }
    return check_stream(w, err);
}

/* Rows are independent of each other: their order is as good as one drawn at random. */
static sgfs_status open_packed(writer *w, const char *path, bool overwrite, sgfs_err *err) {
    sgfsi_table *h = &w->head;
    h->cols = w->s->dim + 1;
    h->named = true;
    h->text_col = -1;
    h->names = sgfsi_names_made_up(h->cols);
    h->role = malloc((size_t)h->cols);
    if (h->names == NULL || h->role == NULL) return sgfsi_fail_memory(err, "the columns");
    memcpy(h->names[h->cols - 1], "y", 2);
    memset(h->role, SGFSI_ROLE_FEATURE, (size_t)h->cols);
    h->role[h->cols - 1] = SGFSI_ROLE_TARGET;
    const sgfsi_packer_plan plan = {.path = path,
                                    .overwrite = overwrite,
                                    .head = h,
                                    .type = w->s->type,
                                    .shuffled = true,
                                    .log = w->s->log};
    return sgfsi_packer_open(&w->packer, &plan, err);
}

static sgfs_status add_packed(writer *w, int64_t n, const double *rows, sgfs_err *err) {
    return sgfsi_packer_add(w->packer, n, rows, err);
}

static sgfs_status close_packed(writer *w, bool good, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    if (good) status = sgfsi_packer_commit(w->packer, err);
    else sgfsi_packer_abandon(w->packer);
    sgfsi_table_free(&w->head);
    return status;
}

static const format formats[] = {{".npy", open_npy, add_npy, close_stream},
                                 {".csv", open_csv, add_csv, close_stream},
                                 {".sgd", open_packed, add_packed, close_packed}};

static const format *find_format(const char *path) {
    size_t n = strlen(path);
    for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++) {
        if (n >= 4 && strcmp(path + n - 4, formats[k].suffix) == 0) return &formats[k];
    }
    return NULL;
}

sgfs_status sgfsi_simulation_check(const sgfsi_simulation *s, const char *path, sgfs_err *err) {
    const format *f = find_format(path);
    if (f == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE, "%s: the name must end in .npy, .csv or .sgd.", path);
    if (s->type == SGFSI_F64 || f->open == open_packed) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "%s: --storage f32 is for packed files, whose names end in .sgd.", path);
}

/* ---- all rows -------------------------------------------------------------------------------- */

typedef struct work {
    writer *w;
    int64_t rows, blocks; /* of a block, of a bank */
    int threads;
    block *bank[2]; /* blocks each */
} work;

/* How many rows a block has and how many blocks a bank, and room for both banks. */
static sgfs_status open_work(work *k, sgfsi_arena *arena, sgfs_err *err) {
    const int64_t cols = k->w->s->dim + 1, all = k->w->s->rows;
    int64_t rows = MOST_CELLS / cols < MOST_ROWS ? MOST_CELLS / cols : MOST_ROWS;
    int64_t blocks = MOST_CELLS / (rows * cols), needed = (all + rows - 1) / rows;
    k->threads = (int)k->w->s->m->ctx.threads;
    if (blocks > MOST_BLOCKS) blocks = MOST_BLOCKS;
    if (blocks < k->threads) blocks = k->threads;
    k->blocks = blocks < needed ? blocks : needed;
    k->rows = rows < all ? rows : all;
    block *b = k->bank[0] = sgfsi_arena_alloc(arena, 2 * k->blocks, sizeof *b);
    if (b == NULL) return sgfsi_fail_memory(err, "the simulation");
    k->bank[1] = b + k->blocks;
    for (int64_t i = 0; i < 2 * k->blocks; i++) {
        b[i].x = SGFSI_DOUBLES(arena, k->rows * cols + 1);
        b[i].y = SGFSI_DOUBLES(arena, 3 * k->rows);
        if (b[i].x == NULL || b[i].y == NULL) return sgfsi_fail_memory(err, "the simulation");
        b[i].normal = b[i].y + k->rows;
        b[i].uniform = b[i].y + 2 * k->rows;
    }
    return SGFS_OK;
}

/* Of several things that went wrong the first in the order of rows is reported. */
static sgfs_status write_bank(const work *k, const block *bank, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < k->blocks && status == SGFS_OK && bank[i].n > 0; i++) {
        status = bank[i].err.code;
        if (status != SGFS_OK && err != NULL) *err = bank[i].err;
        if (status == SGFS_OK) status = k->w->format->add(k->w, bank[i].n, bank[i].x + 1, err);
    }
    return status;
}

/* Draw rows from `first` on into one bank and write the other. */
static sgfs_status turn(const work *k, int64_t first, block *draw, const block *write,
                        sgfs_err *err) {
    const sgfsi_simulation *s = k->w->s;
    sgfs_status status = SGFS_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(k->threads)
    for (int64_t i = -1; i < k->blocks; i++) {
        if (i < 0) {
            status = write_bank(k, write, err);
            continue;
        }
        int64_t from = first + i * k->rows, left = from < s->rows ? s->rows - from : 0;
        draw[i].first = from;
        draw[i].n = left < k->rows ? left : k->rows;
        draw[i].err.code = draw[i].n > 0 ? draw_block(s, &draw[i]) : SGFS_OK;
    }
    return status;
}

sgfs_status sgfsi_simulation_write(const sgfsi_simulation *s, const char *path, bool overwrite,
                                   sgfs_err *err) {
    writer w = {.s = s, .format = find_format(path)};
    sgfs_status status = w.format->open(&w, path, overwrite, err);
    sgfsi_arena arena = {NULL};
    work k = {.w = &w};
    if (status == SGFS_OK) status = open_work(&k, &arena, err);
    sgfsi_ticker ticker = sgfsi_ticker_start(s->log, "Simulating");
    sgfsi_scope scope = sgfsi_context_enter(&s->m->ctx);
    const int64_t step = k.blocks * k.rows;
    /* one turn more than there are banks to fill: the last is written then */
    for (int64_t first = 0; status == SGFS_OK && first < s->rows + step; first += step) {
        int which = (int)(first / step % 2);
        status = turn(&k, first, k.bank[which], k.bank[1 - which], err);
        if (first > 0) sgfsi_tick(&ticker, fmin(1, (double)first / (double)s->rows));
        if (status == SGFS_OK && sgfsi_job_stopping(s->job))
            status = sgfsi_fail(err, SGFS_ESTOPPED, "Stopped early: nothing was written.");
    }
    sgfsi_context_leave(scope);
    sgfsi_arena_free(&arena);
    sgfs_status closed = w.format->close(&w, status == SGFS_OK, err);
    return status == SGFS_OK ? closed : status;
}
