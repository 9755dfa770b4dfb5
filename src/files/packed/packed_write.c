/* SPDX-License-Identifier: MIT
 * packed_write.c: rows into a packed file (packed.h), all or nothing.
 *
 *     rows -> block (up to 256 x cols doubles): do they fit? statistics -> chunks -> file
 *
 * The file grows beside its final name. Chunks are filled in a buffer of about 1 MiB, their
 * checksums are taken while they are in cache, and the buffer is written in one call. At the end
 * come the checksums, the JSON text and, last of all, page 0; then fsync and rename (base/file.c).
 * Whatever goes wrong before leaves nothing.
 *
 * Statistics are of the numbers as stored, in the blocks in which column_stats.c would look at
 * them, so that it need not. The distinct values of the target are counted as long as there are at
 * most MOST_VALUES.
 *
 * In f32, features are rounded. Weights, exposures and words (their numbers) must not become
 * others, and neither must labels: a target that had to be rounded is refused unless it turns out
 * to have more than MOST_VALUES values, so that it is no label but a measurement.
 *
 * Memory: buffer and block, and 4 bytes for each chunk (1 MiB for each GiB of file).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/io.h"
#include "base/little.h"
#include "files/packed/packed_cells.h"
#include "files/packed/packed_layout.h"
#include "rows/column_stats.h"

enum {
    MOST_VALUES = 1000,
    BUFFER_BYTES = 1 << 20,
    ENOUGH_ROWS = 16, /* of a chunk, */
    MOST_PAGES = 16,  /* where they fit into so many pages, */
    MOST_WASTE = 16,  /* and at most the 16th part of it empty */
    MOST_EXACT = 3
};

const char *const sgfsi_packed_roles[5] = {"none", "feature", "target", "weights", "exposure"};

/* Distinct values of the target and how many rows have each. */
typedef struct values {
    int64_t count;
    bool given_up;
    double value[MOST_VALUES], rows[MOST_VALUES]; /* increasing */
} values;

struct sgfsi_packer {
    sgfsi_outfile out;
    const sgfsi_table *head;
    sgfsi_dtype type;
    bool shuffled, broken;
    sgfsi_json *recipe;
    int64_t rows, cols, chunk_rows, chunk_bytes;
    int64_t target;            /* column */
    int64_t exact[MOST_EXACT]; /* columns that f32 must not change, target apart */
    int exacts;
    bool rounded; /* a target was: */
    double rounded_from;
    sgfsi_column_stats *stats; /* cols */
    values values;
    double *block;               /* block_rows x cols */
    int64_t block_rows, waiting; /* room; rows there are */
    char *buffer;                /* buffer_chunks of them */
    int64_t buffer_chunks;
    int64_t full, row; /* chunks that are complete in it; rows of the one after them */
    int64_t written;   /* bytes of chunks that are in the file */
    uint32_t *crc;     /* of chunks that are complete */
    int64_t chunks, crc_room;
};

/* ---- the file -------------------------------------------------------------------------------- */

static sgfs_status write_at(sgfsi_packer *p, const void *bytes, size_t count, int64_t at,
                            sgfs_err *err) {
    int error = sgfsi_io_write(p->out.fd, bytes, count, at);
    if (error == 0) return SGFS_OK;
    p->broken = true;
    return sgfsi_fail_io(err, p->out.path, "write", error);
}

static sgfs_status write_buffer(sgfsi_packer *p, sgfs_err *err) {
    int64_t bytes = p->full * p->chunk_bytes;
    sgfs_status status = write_at(p, p->buffer, (size_t)bytes, SGFSI_PAGE + p->written, err);
    p->written += bytes;
    p->full = 0;
    return status;
}

static sgfs_status complete_chunk(sgfsi_packer *p, sgfs_err *err) {
    p->broken = !sgfsi_grow(&p->crc, &p->crc_room, p->chunks + 1, sizeof *p->crc);
    if (p->broken) return sgfsi_fail_memory(err, "the checksums");
    const char *chunk = p->buffer + p->full * p->chunk_bytes;
    p->crc[p->chunks++] = sgfsi_crc32(0, chunk, (size_t)p->chunk_bytes);
    p->full++;
    p->row = 0;
    return p->full == p->buffer_chunks ? write_buffer(p, err) : SGFS_OK;
}

/* ---- which numbers fit ----------------------------------------------------------------------- */

/* Name the first number of the block that does not fit. */
static sgfs_status refuse(sgfsi_packer *p, const double *cells, int64_t n, sgfs_err *err) {
    p->broken = true;
    for (int64_t i = 0; i < n * p->cols; i++) {
        double held;
        sgfsi_cells_round(p->type, 1, &cells[i], &held);
        if (sgfsi_cells_unfit(p->type, 1, &held) == 0) continue;
        const char *name = p->head->names[i % p->cols];
        if (!isfinite(cells[i])) {
            return sgfsi_fail_finite(err, "%s: column \"%.60s\" has a cell that", p->out.path,
                                     name);
        }
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: column \"%.60s\" has %.17g, which does not fit into %s; use "
                          "--storage f64.",
                          p->out.path, name, cells[i], sgfsi_dtype_name(p->type));
    }
    return sgfsi_fail(err, SGFS_EINTERNAL, "%s: a number that did not fit fits.", p->out.path);
}

static sgfs_status refuse_rounding(sgfsi_packer *p, int64_t col, double x, sgfs_err *err) {
    static const char *const text[] = {"a number", "a number", "a target", "a weight",
                                       "an exposure"};
    bool word = col == p->head->text_col;
    p->broken = true;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: column \"%.60s\" has %s %.17g, which f32 would change to %.17g; use "
                      "--storage f64.",
                      p->out.path, p->head->names[col],
                      word ? "the number of a word" : text[p->head->role[col]], x,
                      (double)(float)x);
}

/* Before rounding. */
static sgfs_status check_exact(sgfsi_packer *p, int64_t n, const double *cells, sgfs_err *err) {
    for (int k = 0; k < p->exacts; k++) {
        const double *x = cells + p->exact[k];
        for (int64_t i = 0; i < n; i++, x += p->cols) {
            if (isfinite(*x) && (double)(float)*x != *x)
                return refuse_rounding(p, p->exact[k], *x, err);
        }
    }
    if (p->rounded || p->values.given_up) return SGFS_OK;
    for (int64_t i = 0; i < n && !p->rounded; i++) {
        double x = cells[i * p->cols + p->target];
        p->rounded = (double)(float)x != x;
        p->rounded_from = x;
    }
    return SGFS_OK;
}

static void count_value(values *v, double x) {
    int64_t at = 0, end = v->count;
    x += 0.0; /* -0 is 0 */
    while (at < end) {
        int64_t middle = (at + end) / 2;
        if (v->value[middle] < x) at = middle + 1;
        else end = middle;
    }
    if (at == v->count || v->value[at] != x) {
        v->given_up = v->count == MOST_VALUES;
        if (v->given_up) return;
        size_t behind = (size_t)(v->count++ - at) * sizeof x;
        memmove(v->value + at + 1, v->value + at, behind);
        memmove(v->rows + at + 1, v->rows + at, behind);
        v->value[at] = x;
        v->rows[at] = 0;
    }
    v->rows[at]++;
}

/* ---- a block --------------------------------------------------------------------------------- */

static sgfs_status finish_block(sgfsi_packer *p, sgfs_err *err) {
    int64_t n = p->waiting;
    if (n == 0) return SGFS_OK;
    p->waiting = 0;
    p->rows += n;
    sgfsi_column_stats_add(p->stats, n, p->cols, p->block);
    const double *y = p->block + p->target;
    for (int64_t i = 0; i < n && !p->values.given_up; i++) count_value(&p->values, y[i * p->cols]);
    /* Rows of the block into chunks. */
    int64_t row_bytes = p->cols * (int64_t)sgfsi_dtype_size(p->type), left = n;
    const double *from = p->block;
    while (left > 0) {
        int64_t room = p->chunk_rows - p->row, k = left < room ? left : room;
        char *to = p->buffer + p->full * p->chunk_bytes + p->row * row_bytes;
        sgfsi_cells_from(p->type, k * p->cols, from, to);
        from += k * p->cols;
        left -= k;
        p->row += k;
        sgfs_status status = p->row == p->chunk_rows ? complete_chunk(p, err) : SGFS_OK;
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

/* Rows of doubles, or, where cells is NULL, of cells as the file has them. Those are looked at like
 * any others: a float may be infinite, a 64-bit integer too large. */
static sgfs_status add_rows(sgfsi_packer *p, int64_t n, const double *cells, const char *raw,
                            sgfs_err *err) {
    if (p->broken) return sgfsi_fail(err, SGFS_EIO, "%s: writing has failed.", p->out.path);
    while (n > 0) {
        int64_t room = p->block_rows - p->waiting, k = n < room ? n : room, count = k * p->cols;
        double *to = p->block + p->waiting * p->cols;
        sgfs_status status =
            cells != NULL && p->type == SGFSI_F32 ? check_exact(p, k, cells, err) : SGFS_OK;
        if (status != SGFS_OK) return status;
        if (cells != NULL) sgfsi_cells_round(p->type, count, cells, to);
        else sgfsi_cells_to(p->type, count, raw, to);
        if (sgfsi_cells_unfit(p->type, count, to) > 0)
            return refuse(p, cells != NULL ? cells : to, k, err);
        p->waiting += k;
        status = p->waiting == p->block_rows ? finish_block(p, err) : SGFS_OK;
        if (status != SGFS_OK) return status;
        if (cells != NULL) cells += count;
        else raw += count * (int64_t)sgfsi_dtype_size(p->type);
        n -= k;
    }
    return SGFS_OK;
}

sgfs_status sgfsi_packer_add(sgfsi_packer *p, int64_t n, const double *cells, sgfs_err *err) {
    return add_rows(p, n, cells, NULL, err);
}

sgfs_status sgfsi_packer_add_raw(sgfsi_packer *p, int64_t n, const void *cells, sgfs_err *err) {
    return add_rows(p, n, NULL, cells, err);
}

sgfs_status sgfsi_packer_cells(sgfsi_packer *p, int64_t n, const double *cells, void *raw,
                               sgfs_err *err) {
    enum { SOME = 512 };
    double some[SOME];
    char *to = raw;
    int64_t size = (int64_t)sgfsi_dtype_size(p->type), count = n * p->cols;
    sgfs_status status = p->type == SGFSI_F32 ? check_exact(p, n, cells, err) : SGFS_OK;
    for (int64_t at = 0; at < count && status == SGFS_OK; at += SOME) {
        int64_t k = count - at < SOME ? count - at : SOME;
        sgfsi_cells_round(p->type, k, cells + at, some);
        if (sgfsi_cells_unfit(p->type, k, some) > 0) return refuse(p, cells, n, err);
        sgfsi_cells_from(p->type, k, some, to + at * size);
    }
    return status;
}

/* ---- the tail -------------------------------------------------------------------------------- */

static char *describe(const sgfsi_packer *p) {
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_text(o, "format", "sgfs packed rows");
    sgfsi_json_text(o, "writer", "sgfs " SGFS_VERSION_TEXT);
    sgfsi_json_flag(o, "named", p->head->named);
    sgfsi_json *columns = sgfsi_json_array_in(o, "columns");
    for (int64_t j = 0; j < p->cols; j++) {
        const sgfsi_column_stats *s = &p->stats[j];
        sgfsi_json *c = sgfsi_json_object_in(columns, NULL);
        sgfsi_json_text(c, "name", p->head->names[j]);
        sgfsi_json_text(c, "role", sgfsi_packed_roles[p->head->role[j]]);
        /* Those of columns whose squares have no double are left out: who needs them looks. */
        if (isfinite(s->mean) && isfinite(s->ss)) SGFSI_JSON(c, s, mean, ss, min, max);
    }
    if (p->head->text_col >= 0) {
        sgfsi_json *levels = sgfsi_json_array_in(o, "levels"); /* of the target */
        for (int64_t k = 0; k < p->head->levels; k++)
            sgfsi_json_text(levels, NULL, p->head->level[k]);
    }
    if (!p->values.given_up) {
        sgfsi_json_nums(o, "values", p->values.count, p->values.value);
        sgfsi_json_nums(o, "value_rows", p->values.count, p->values.rows);
    }
    if (p->recipe != NULL) sgfsi_json_put(o, "recipe", sgfsi_json_copy(p->recipe));
    char *text = sgfsi_json_dump(o, false);
    sgfsi_json_free(o);
    return text;
}

/* Checksums and JSON text; then page 0. */
static sgfs_status write_tail(sgfsi_packer *p, const char *json, sgfs_err *err) {
    const size_t length = strlen(json), sums = (size_t)p->chunks * sizeof *p->crc;
    if (length > sgfsi_packed_most_json((uint64_t)p->cols)) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: names, words and transforms take %zu bytes, more than the format "
                          "allows.",
                          p->out.path, length);
    }
    int64_t crc_at = SGFSI_PAGE + p->written, json_at = crc_at + (int64_t)sums;
    sgfs_status status = write_at(p, p->crc, sums, crc_at, err);
    if (status == SGFS_OK) status = write_at(p, json, length, json_at, err);
    if (status != SGFS_OK) return status;
    const sgfsi_packed_head h = {.version = SGFSI_PACKED_VERSION,
                                 .page = SGFSI_PAGE,
                                 .file_bytes = (uint64_t)json_at + length,
                                 .rows = (uint64_t)p->rows,
                                 .cols = (uint64_t)p->cols,
                                 .type = (uint32_t)p->type + 1,
                                 .flags = p->shuffled ? SGFSI_PACKED_SHUFFLED : 0,
                                 .chunk_rows = (uint64_t)p->chunk_rows,
                                 .chunk_bytes = (uint64_t)p->chunk_bytes,
                                 .chunks = (uint64_t)p->chunks,
                                 .crc_at = (uint64_t)crc_at,
                                 .json_at = (uint64_t)json_at,
                                 .json_bytes = length,
                                 .crc_crc = sgfsi_crc32(0, p->crc, sums),
                                 .json_crc = sgfsi_crc32(0, json, length)};
    unsigned char page[SGFSI_PAGE] = SGFSI_PACKED_MAGIC;
#define PUT32(member, at) sgfsi_put_u32(page + (at), h.member);
#define PUT64(member, at) sgfsi_put_u64(page + (at), h.member);
    SGFSI_PACKED_U32(PUT32)
    SGFSI_PACKED_U64(PUT64)
#undef PUT32
#undef PUT64
    sgfsi_put_u32(page + SGFSI_PACKED_CRC_AT, sgfsi_crc32(0, page, SGFSI_PACKED_CRC_AT));
    return write_at(p, page, sizeof page, 0, err);
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* The fewest pages that hold ENOUGH_ROWS and waste little; where there are none, those that waste
 * least. Wider rows than MOST_PAGES have a chunk each. */
static void plan_chunks(sgfsi_packer *p) {
    int64_t row = p->cols * (int64_t)sgfsi_dtype_size(p->type);
    int64_t enough = ENOUGH_ROWS * row <= MOST_PAGES * SGFSI_PAGE ? ENOUGH_ROWS : 1;
    double least = 2;
    p->chunk_rows = 1;
    p->chunk_bytes = (row + SGFSI_PAGE - 1) / SGFSI_PAGE * SGFSI_PAGE;
    for (int64_t pages = 1; pages <= MOST_PAGES; pages++) {
        int64_t bytes = pages * SGFSI_PAGE, rows = bytes / row;
        double waste = 1 - (double)(rows * row) / (double)bytes;
        if (rows < enough || waste >= least) continue;
        p->chunk_rows = rows;
        p->chunk_bytes = bytes;
        least = waste;
        if (waste * MOST_WASTE <= 1) return;
    }
}

static void free_packer(sgfsi_packer *p) {
    sgfsi_json_free(p->recipe);
    free(p->stats);
    free(p->block);
    free(p->buffer);
    free(p->crc);
    free(p);
}

void sgfsi_packer_recipe(sgfsi_packer *p, sgfsi_json *recipe) {
    sgfsi_json_free(p->recipe);
    p->recipe = recipe;
}

sgfs_status sgfsi_packer_open(sgfsi_packer **out, const sgfsi_packer_plan *plan, sgfs_err *err) {
    *out = NULL;
    if (!sgfsi_packed_machine(plan->path, err)) return SGFS_EDATA;
    if (plan->head->cols < 1 || plan->head->cols > SGFSI_MAX_COLS) {
        return sgfsi_fail(err, SGFS_EDATA, "%s: has %lld columns; 1 to %d are possible.",
                          plan->path, (long long)plan->head->cols, SGFSI_MAX_COLS);
    }
    sgfsi_packer *p = calloc(1, sizeof *p);
    if (p == NULL) return sgfsi_fail_memory(err, "a packed file");
    p->head = plan->head;
    p->type = plan->type;
    p->cols = plan->head->cols;
    p->shuffled = plan->shuffled;
    p->target = -1;
    if (plan->recipe != NULL) p->recipe = sgfsi_json_copy(plan->recipe);
    for (int64_t j = 0; j < p->cols; j++) { /* which columns are which; f32 must not change some */
        int role = p->head->role[j];
        if (role == SGFSI_ROLE_TARGET) p->target = j;
        bool exact = role > SGFSI_ROLE_TARGET || j == p->head->text_col;
        if (exact && p->exacts < MOST_EXACT) p->exact[p->exacts++] = j;
    }
    plan_chunks(p);
    p->buffer_chunks = BUFFER_BYTES / p->chunk_bytes > 0 ? BUFFER_BYTES / p->chunk_bytes : 1;
    p->block_rows = sgfsi_column_stats_rows(p->cols);
    p->buffer = calloc((size_t)p->buffer_chunks, (size_t)p->chunk_bytes);
    p->block = malloc((size_t)(p->block_rows * p->cols) * sizeof *p->block);
    p->stats = malloc((size_t)p->cols * sizeof *p->stats);
    bool room = p->buffer != NULL && p->block != NULL && p->stats != NULL;
    for (int64_t j = 0; room && j < p->cols; j++) p->stats[j] = sgfsi_column_stats_empty();
    sgfs_status status = SGFS_OK;
    if (p->target < 0)
        status = sgfsi_fail(err, SGFS_EDATA, "%s: none of the columns is the target.", plan->path);
    else if (!room) status = sgfsi_fail_memory(err, "a packed file");
    else status = sgfsi_outfile_open(&p->out, plan->path, plan->overwrite, true, err);
    if (status != SGFS_OK) return free_packer(p), status;
    *out = p;
    return SGFS_OK;
}

sgfs_status sgfsi_packer_commit(sgfsi_packer *p, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    char *json = NULL;
    if (p->broken) status = sgfsi_fail(err, SGFS_EIO, "%s: writing has failed.", p->out.path);
    if (status == SGFS_OK) status = finish_block(p, err);
    if (status == SGFS_OK && p->row > 0) {
        /* The last chunk is filled up with zeros; the end of every other one was never touched. */
        int64_t used = p->row * p->cols * (int64_t)sgfsi_dtype_size(p->type);
        memset(p->buffer + p->full * p->chunk_bytes + used, 0, (size_t)(p->chunk_bytes - used));
        status = complete_chunk(p, err);
    }
    if (status == SGFS_OK) status = write_buffer(p, err);
    if (status == SGFS_OK && p->rows == 0)
        status = sgfsi_fail(err, SGFS_EDATA, "%s: there are no rows to write.", p->out.path);
    if (status == SGFS_OK && p->rounded && !p->values.given_up)
        status = refuse_rounding(p, p->target, p->rounded_from, err);
    if (status == SGFS_OK) {
        json = describe(p);
        status = json != NULL ? write_tail(p, json, err) : sgfsi_fail_memory(err, p->out.path);
    }
    free(json);
    if (status == SGFS_OK) status = sgfsi_outfile_commit(&p->out, err);
    else sgfsi_outfile_abandon(&p->out);
    free_packer(p);
    return status;
}

void sgfsi_packer_abandon(sgfsi_packer *p) {
    if (p == NULL) return;
    sgfsi_outfile_abandon(&p->out);
    free_packer(p);
}
