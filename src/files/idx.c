/* SPDX-License-Identifier: MIT
 * idx.c: arrays in the format of MNIST, IDX, plain or gzip.
 *
 *     0 0 type dims | dims sizes, 32 bits | the numbers, last dimension fastest;  all big-endian
 *
 * The first dimension counts rows, the others together the features of a row: x1, x2, ... The label
 * of a row stands in a second file (--labels) with as many rows of one number; it becomes the last
 * column, "label". Cells keep the files' type where both have the same one (bytes, in MNIST), else
 * they become single or double precision, whichever holds both exactly. Without labels there is no
 * target: enough to predict with.
 *
 * A plain file must have exactly the bytes its header asks for; how long a compressed one is shows
 * only while it is read. Either way a header alone asks for no memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "files/columns.h"
#include "files/flow.h"
#include "files/packed/packed_cells.h"

enum { MOST_DIMS = 4, BLOCK_BYTES = SGFSI_BLOCK_BYTES / 4 };

typedef struct idx {
    const char *path;
    sgfsi_bytes *bytes;
    sgfsi_dtype type;
    int dims;
    int64_t size[MOST_DIMS];
    int64_t rows, cols; /* cols: numbers of a row */
    int64_t taken;      /* rows */
    int64_t block;      /* rows there is room for in raw */
    unsigned char *raw; /* block x cols numbers */
} idx;

/* ---- the header ------------------------------------------------------------------------------ */

/* "60000 x 28 x 28" */
static const char *show_size(const idx *a, char out[64]) {
    int used = 0;
    for (int k = 0; k < a->dims; k++)
        used += snprintf(out + used, 64 - (size_t)used, "%s%lld", k > 0 ? " x " : "",
                         (long long)a->size[k]);
    return out;
}

/* No empty array, no row that is too long, no more bytes than can be. */
static sgfs_status check_size(idx *a, sgfs_err *err) {
    char size[64];
    int64_t bytes, header = 4 + 4 * a->dims, have = sgfsi_bytes_count(a->bytes);
    a->rows = a->size[0];
    a->cols = 1;
    bool huge = false; /* four sizes of 32 bits, the last three among them */
    for (int k = 1; k < a->dims; k++)
        huge = huge || __builtin_mul_overflow(a->cols, a->size[k], &a->cols);
    if (a->rows == 0 || (!huge && a->cols == 0)) {
        return sgfsi_fail(err, SGFS_EDATA, "%s: the array is empty: %s.", a->path,
                          show_size(a, size));
    }
    if (huge || a->cols > SGFSI_MAX_COLS) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: the array is %s: its rows have more than the %d numbers allowed; is "
                          "the header damaged?",
                          a->path, show_size(a, size), SGFSI_MAX_COLS);
    }
    bytes = a->rows * a->cols * (int64_t)sgfsi_dtype_size(a->type); /* < 2^32 10^6 8 */
    if (have < 0 || have == header + bytes) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: an array of %s takes %lld bytes with its header, and the file has %lld: "
                      "it is %s.",
                      a->path, show_size(a, size), (long long)(header + bytes), (long long)have,
                      have < header + bytes ? "cut off" : "damaged, or has something behind it");
}

static sgfs_status open_idx(idx *a, const char *path, sgfs_err *err) {
    static const struct {
        unsigned code;
        sgfsi_dtype type;
    } types[] = {{0x08, SGFSI_U8},  {0x09, SGFSI_I8},  {0x0B, SGFSI_I16},
                 {0x0C, SGFSI_I32}, {0x0D, SGFSI_F32}, {0x0E, SGFSI_F64}};
    enum { TYPES = sizeof types / sizeof types[0] };
    unsigned char head[4 + 4 * MOST_DIMS] = {0};
    size_t got = 0, k = 0;
    *a = (idx){.path = path};
    sgfs_status status = sgfsi_bytes_open(&a->bytes, path, err);
    if (status == SGFS_OK) status = sgfsi_bytes_read(a->bytes, head, 4, &got, err);
    if (status != SGFS_OK) return status;
    if (got < 4 || head[0] != 0 || head[1] != 0) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: is no IDX file (the format of MNIST): those start with two bytes 0 "
                          "and have a header of at least 8.",
                          path);
    }
    while (k < TYPES && types[k].code != head[2]) k++;
    if (k == TYPES) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: its third byte is 0x%02x, which is no type of an IDX file (08, 09, "
                          "0B to 0E).",
                          path, head[2]);
    }
    a->type = types[k].type;
    a->dims = head[3];
    if (a->dims < 1 || a->dims > MOST_DIMS) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: is an IDX file of %d dimensions; those with 1 to %d are read.", path,
                          a->dims, MOST_DIMS);
    }
    status = sgfsi_bytes_read(a->bytes, head + 4, 4 * (size_t)a->dims, &got, err);
    if (status != SGFS_OK) return status;
    if (got < 4 * (size_t)a->dims)
        return sgfsi_fail(err, SGFS_EDATA, "%s: the file is cut off inside its header.", path);
    for (int d = 0; d < a->dims; d++) {
        const unsigned char *b = head + 4 + 4 * d;
        a->size[d] = (int64_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
    }
    status = check_size(a, err);
    if (status != SGFS_OK) return status;
    int64_t row_bytes = a->cols * (int64_t)sgfsi_dtype_size(a->type);
    a->block = row_bytes < BLOCK_BYTES ? BLOCK_BYTES / row_bytes : 1;
    a->raw = malloc((size_t)(a->block * row_bytes));
    return a->raw != NULL ? SGFS_OK : sgfsi_fail_memory(err, "a block of rows");
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* At most block rows into raw, in this machine's order. Behind the last row the file must end. */
static sgfs_status take_rows(idx *a, int64_t most, int64_t *n, sgfs_err *err) {
    const size_t item = sgfsi_dtype_size(a->type), row_bytes = (size_t)a->cols * item;
    const uint16_t one = 1;
    const bool turned = *(const unsigned char *)&one == 1;
    char size[64];
    unsigned char more;
    size_t got = 0;
    int64_t left = a->rows - a->taken;
    *n = most < left ? most : left;
    *n = *n < a->block ? *n : a->block;
    sgfs_status status = sgfsi_bytes_read(a->bytes, a->raw, (size_t)*n * row_bytes, &got, err);
    if (status != SGFS_OK) return status;
    if (got < (size_t)*n * row_bytes) {
        return sgfsi_fail(err, SGFS_EDATA, "%s: the file is cut off: of %s it has %lld whole rows.",
                          a->path, show_size(a, size),
                          (long long)(a->taken + (int64_t)(got / row_bytes)));
    }
    for (unsigned char *x = a->raw; turned && item > 1 && x < a->raw + got; x += item) {
        for (size_t b = 0; b < item / 2; b++) {
            unsigned char byte = x[b];
            x[b] = x[item - 1 - b];
            x[item - 1 - b] = byte;
        }
    }
    a->taken += *n;
    if (*n == 0 || a->taken < a->rows) return SGFS_OK;
    status = sgfsi_bytes_read(a->bytes, &more, 1, &got, err);
    if (status != SGFS_OK || got == 0) return status;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: goes on behind the %s numbers of its header: it is damaged, or has "
                      "something behind it.",
                      a->path, show_size(a, size));
}

/* Row i of raw as cells of type `to`: the file's own, F32 or F64. */
static void put_row(const idx *a, int64_t i, sgfsi_dtype to, void *out) {
    const size_t size = sgfsi_dtype_size(a->type);
    const char *row = (const char *)a->raw + (size_t)(i * a->cols) * size;
    if (to == a->type) memcpy(out, row, (size_t)a->cols * size);
    else if (to == SGFSI_F64) sgfsi_cells_to(a->type, a->cols, row, out);
    else
        for (int64_t j = 0; j < a->cols; j++)
            ((float *)out)[j] = (float)sgfsi_table_cell(a->type, row, j);
}

/* ---- images and labels ----------------------------------------------------------------------- */

typedef struct pair {
    idx data, labels;
    bool labelled;
    int64_t cols; /* of the table: labels included */
} pair;

static sgfs_status check_pair(const pair *p, sgfs_err *err) {
    const idx *a = &p->data, *b = &p->labels;
    char size[64];
    if (!p->labelled && a->dims == 1 && a->type != SGFSI_F32 && a->type != SGFSI_F64) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "%s: holds one whole number a row: these are labels; name them with "
                          "--labels, and the features with --data.",
                          a->path);
    }
    if (!p->labelled) return SGFS_OK;
    if (b->cols > 1) {
        return sgfsi_fail(
            err, SGFS_EDATA, "%s: is an array of %s, and --labels needs one number a row; %s",
            b->path, show_size(b, size),
            a->cols == 1 ? "are --data and --labels swapped?" : "are these features?");
    }
    if (a->rows == b->rows) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: has %lld rows, and %s has %lld labels: they do not belong together.",
                      a->path, (long long)a->rows, b->path, (long long)b->rows);
}

/* Names and roles. Without labels the target is a column that is not there, unless --target names
 * one that is. */
static sgfs_status name_columns(const pair *p, const sgfsi_read_options *options, sgfsi_table *t,
                                sgfs_err *err) {
    int64_t all = p->data.cols + 1;
    t->cols = all;
    t->names = sgfsi_names_made_up(all);
    t->role = malloc((size_t)all);
    if (t->names == NULL || t->role == NULL) return sgfsi_fail_memory(err, "the columns");
    memcpy(t->names[all - 1], "label", 6); /* there is room for it: columns.c */
    const bool label = p->labelled || options->run == NULL;
    const sgfsi_columns columns = {
        .path = p->data.path, .cols = label ? all : all - 1, .names = t->names};
    sgfs_status status = sgfsi_columns_select(&columns, NULL, options, t->role, err);
    if (p->labelled) return status;
    free(t->names[all - 1]);
    t->names[all - 1] = NULL;
    t->cols = all - 1;
    return status;
}

/* ---- flow ------------------------------------------------------------------------------------ */

/* Rows of both files, side by side. */
static sgfs_status flow_next(sgfsi_flow *flow, int64_t most, sgfsi_flow_block *block,
                             sgfs_err *err) {
    pair *p = flow->self;
    const sgfsi_dtype type = flow->head.type;
    const size_t size = sgfsi_dtype_size(type);
    char *to = block->cells;
    block->n = 0;
    for (int64_t n = 1; n > 0 && block->n < most; block->n += n) {
        int64_t same, some = most - block->n, first = p->data.taken;
        if (p->labelled && some > p->labels.block) some = p->labels.block;
        sgfs_status status = take_rows(&p->data, some, &n, err);
        if (status == SGFS_OK && p->labelled) status = take_rows(&p->labels, n, &same, err);
        if (status != SGFS_OK) return status;
        for (int64_t i = 0; i < n; i++, to += (size_t)p->cols * size) {
            put_row(&p->data, i, type, to);
            if (p->labelled) put_row(&p->labels, i, type, to + (size_t)p->data.cols * size);
            if (block->line != NULL) block->line[block->n + i] = first + i + 1;
        }
    }
    return SGFS_OK;
}

static double flow_fraction(const sgfsi_flow *flow) {
    const pair *p = flow->self;
    return (double)p->data.taken / (double)p->data.rows;
}

static void flow_close(sgfsi_flow *flow) {
    pair *p = flow->self;
    sgfsi_bytes_close(p->data.bytes);
    sgfsi_bytes_close(p->labels.bytes);
    free(p->data.raw);
    free(p->labels.raw);
    free(p);
    flow->self = NULL;
}

/* On failure nothing is held. */
static sgfs_status flow_idx(sgfsi_flow *flow, const char *path, const sgfsi_read_options *options,
                            sgfs_err *err) {
    pair *p = calloc(1, sizeof *p);
    *flow =
        (sgfsi_flow){.self = p, .next = flow_next, .fraction = flow_fraction, .close = flow_close};
    if (p == NULL) return sgfsi_fail_memory(err, "a reader");
    p->labelled = options->labels != NULL && options->labels[0] != '\0';
    flow->head.text_col = -1;
    sgfs_status status = open_idx(&p->data, path, err);
    if (status == SGFS_OK && p->labelled) status = open_idx(&p->labels, options->labels, err);
    if (status == SGFS_OK) status = check_pair(p, err);
    if (status == SGFS_OK) status = name_columns(p, options, &flow->head, err);
    if (status != SGFS_OK) return sgfsi_flow_close(flow), status;
    /* A type that holds both exactly; 24 bits hold all of 16. */
    sgfsi_dtype a = p->data.type, b = p->labelled ? p->labels.type : a;
    bool wide = a == SGFSI_F64 || b == SGFSI_F64 || a == SGFSI_I32 || b == SGFSI_I32;
    flow->head.type = a == b ? a : wide ? SGFSI_F64 : SGFSI_F32;
    flow->head.rows = p->data.rows;
    p->cols = p->data.cols + (p->labelled ? 1 : 0);
    return SGFS_OK;
}

/* Nothing else that is read starts with two bytes 0. */
static bool probe_idx(const char *path, const unsigned char *head, size_t bytes) {
    (void)path;
    return bytes >= 4 && head[0] == 0 && head[1] == 0;
}

const sgfs_reader_kind sgfs_reader_idx = {
    .name = "idx",
    .help = "the arrays of MNIST, the labels being in a file of their own (--labels); .gz too",
    .flags = (const char *const[]){"labels", NULL},
    .labels = true,
    .probe = probe_idx,
    .flow = flow_idx,
};
