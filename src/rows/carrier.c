/* SPDX-License-Identifier: MIT
 * carrier.c: see carrier.h.
 *
 * A processor core copies some 5 GB a second, and a GPU takes 50: so several threads copy, each its
 * own neighbouring blocks. Pages of packed files are visited as a pass does it (pages.h): a chunk's
 * checksum is looked at before its first number counts, and no more of a file stays resident.
 */
#include "rows/carrier.h"

#include <omp.h>
#include <string.h>

#include "base/ticker.h"
#include "rows/pages.h"

enum { MOST_THREADS = 16, BLOCK_BYTES = 1 << 20, TARGETS = 4096 };

struct sgfsi_carrier {
    const sgfs_data *data;
    int64_t threads, block; /* rows of a block */
    bool visits;            /* there are packed files */
    bool opening;
    sgfsi_ticker ticker;
    sgfsi_pages visit[MOST_THREADS];
    int64_t failed; /* the first row of the block that could not be had, the lowest one; or -1 */
    sgfs_err err;
};

sgfsi_carrier *sgfsi_carrier_open(const sgfs_data *d, const sgfsi_context *ctx,
                                  sgfsi_arena *arena) {
    sgfsi_carrier *c = sgfsi_arena_alloc(arena, 1, sizeof *c);
    if (c == NULL) return NULL;
    *c = (sgfsi_carrier){.data = d,
                         .threads = ctx->threads < MOST_THREADS ? ctx->threads : MOST_THREADS,
                         .block = BLOCK_BYTES / (d->row_bytes > 0 ? d->row_bytes : 1) + 1,
                         .opening = true,
                         .ticker = sgfsi_ticker_start(ctx->log, "Copying rows to the device"),
                         .failed = -1};
    for (int64_t k = 0; k < d->table.parts; k++)
        c->visits = c->visits || d->table.part[k].packed != NULL;
    return c;
}

/* How many rows from this one on lie one after another, and how many bytes of the last one. */
static int64_t run_of(const sgfs_data *d, int64_t row, int64_t *last) {
    const sgfsi_table *t = &d->table;
    *last = t->cols * (int64_t)sgfsi_dtype_size(t->type); /* a part may end there */
    if (t->cells != NULL) return t->rows - row;
    const sgfsi_part *p = t->parts == 1 ? t->part : sgfsi_table_part(t, row);
    int64_t at = row - p->first, end = (at / p->chunk_rows + 1) * p->chunk_rows;
    return (end < p->rows ? end : p->rows) - at;
}

static sgfs_status carry(sgfsi_carrier *c, int64_t first, int64_t n, char *to, sgfs_err *err) {
    const sgfs_data *d = c->data;
    sgfs_status status = SGFS_OK;
    if (c->visits) status = sgfsi_pages_range(&c->visit[omp_get_thread_num()], d, first, n, err);
    for (int64_t i = 0, last; i < n && status == SGFS_OK;) {
        int64_t rows = run_of(d, first + i, &last);
        if (rows > n - i) rows = n - i;
        memcpy(to + i * d->row_bytes, sgfsi_table_row(&d->table, first + i, d->row_bytes),
               (size_t)((rows - 1) * d->row_bytes + last));
        i += rows;
    }
    return status;
}

bool sgfsi_carrier_read(void *carrier, int64_t first, int64_t n, char *to) {
    sgfsi_carrier *c = carrier;
    int64_t blocks = (n + c->block - 1) / c->block;
    int64_t threads = c->threads < blocks ? c->threads : blocks;
    if (c->failed >= 0) return false;
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (int64_t b = 0; b < blocks; b++) {
        sgfs_err err;
        int64_t from = b * c->block, count = n - from < c->block ? n - from : c->block;
        if (carry(c, first + from, count, to + from * c->data->row_bytes, &err) == SGFS_OK)
            continue;
#pragma omp critical(sgfsi_carrier)
        if (c->failed < 0 || first + from < c->failed) {
            c->failed = first + from;
            c->err = err;
        }
    }
    double done = (double)(first + n) / (double)c->data->table.rows;
    if (c->failed < 0 && c->opening && sgfsi_tick(&c->ticker, done, &c->err) != SGFS_OK)
        c->failed = first;
    return c->failed < 0;
}

sgfs_status sgfsi_carrier_state(const sgfsi_carrier *c, sgfs_err *err) {
    if (c == NULL || c->failed < 0) return SGFS_OK;
    if (err != NULL) *err = c->err;
    return c->err.code;
}

void sgfsi_carrier_opened(sgfsi_carrier *c) {
    if (c != NULL) c->opening = false;
}

sgfs_status sgfsi_data_targets(const sgfs_data *d, int64_t threads, double *y, sgfs_err *err) {
    sgfsi_pages visit[MOST_THREADS] = {{.wait = 0}};
    int64_t blocks = (d->N + TARGETS - 1) / TARGETS, failed = blocks;
    sgfs_err first_err = {.code = SGFS_OK};
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    if (threads > blocks) threads = blocks;
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (int64_t b = 0; b < blocks; b++) {
        sgfs_err own;
        int64_t first = b * TARGETS, n = d->N - first < TARGETS ? d->N - first : TARGETS;
        if (sgfsi_pages_range(&visit[omp_get_thread_num()], d, first, n, &own) == SGFS_OK) {
            sgfsi_data_rows_range(d, first, n, NULL, y + first);
            continue;
        }
#pragma omp critical(sgfsi_carrier)
        if (b < failed) {
            failed = b;
            first_err = own;
        }
    }
    if (failed < blocks && err != NULL) *err = first_err;
    return first_err.code;
}
