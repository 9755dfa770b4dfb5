/* SPDX-License-Identifier: MIT
 * libsvm.c: libsvm (svmlight) text as a flow of rows (flow.h); a line is read in libsvm_rows.c.
 *
 *     where all rows are kept:  sparse blocks, the labels beside them; every column a feature
 *     --dense, or any other:    cols + 1 cells a row with all zeros, the label last, called y
 *
 * Columns are called x1, x2, ... by index (of --zero-based files too), and there are as many as the
 * largest index, or --columns. Sparse rows are read in one pass. Rows with their zeros have to know
 * the number of columns before the first one, so the file is gone through once before, unless
 * --columns tells it.
 *
 * Sparse rows have no columns beside the features: --features, --weights, --exposure and another
 * --target need --dense.
 */
#include "files/libsvm/libsvm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/ticker.h"
#include "files/find_columns.h"
#include "files/flow.h"

enum { BLOCK_ROWS = 8192, BLOCK_ENTRIES = 1 << 17, TICK_ROWS = 8192 };

/* ---- what is there --------------------------------------------------------------------------- */

static sgfs_status check_some(const sgfsi_libsvm *s, int64_t rows, int64_t cols, sgfs_err *err) {
    if (rows == 0) return sgfsi_fail(err, SGFS_EDATA, "%s: has no rows.", s->path);
    if (cols > 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s: has labels and not one index:value; say --columns if all features are "
                      "0.",
                      s->path);
}

/* Columns of the table: what the options say, or what was seen. */
static int64_t columns_of(const sgfsi_libsvm *s) {
    return s->given || s->leave ? s->cols : s->largest;
}

sgfs_status sgfsi_libsvm_count(const char *path, const sgfsi_read_options *options, int64_t *rows,
                               int64_t *cols, sgfs_err *err) {
    char what[256];
    bool got = true;
    sgfsi_libsvm s;
    sgfsi_read_options silent = *options;
    silent.log = NULL;
    snprintf(what, sizeof what, "Counting the columns of %.180s", path);
    sgfsi_ticker ticker = sgfsi_ticker_start(options->log, what);
    sgfs_status status = sgfsi_libsvm_open(&s, path, &silent, err);
    while (status == SGFS_OK && got) {
        s.used = 0;
        status = sgfsi_libsvm_next(&s, &got, err);
        if (status == SGFS_OK && s.rows % TICK_ROWS == 0)
            status = sgfsi_tick(&ticker, sgfsi_libsvm_fraction(&s), err);
    }
    *rows = s.rows;
    *cols = columns_of(&s);
    if (status == SGFS_OK) status = check_some(&s, *rows, *cols, err);
    sgfsi_libsvm_close(&s);
    return status;
}

/* ---- sparse ---------------------------------------------------------------------------------- */

typedef struct reading {
    sgfsi_libsvm rows;
    double *y; /* of a sparse block */
    int64_t *start;
} reading;

/* At most `most` rows, as many as fit into a block. */
static sgfs_status next_sparse(sgfsi_flow *flow, int64_t most, sgfsi_flow_block *block,
                               sgfs_err *err) {
    reading *r = flow->self;
    sgfsi_libsvm *s = &r->rows;
    bool got = true;
    most = most < BLOCK_ROWS ? most : BLOCK_ROWS;
    s->used = 0;
    for (block->n = 0; block->n < most && s->used < BLOCK_ENTRIES; block->n++) {
        r->start[block->n] = s->used;
        sgfs_status status = sgfsi_libsvm_next(s, &got, err);
        if (status != SGFS_OK) return status;
        if (!got) break;
        r->y[block->n] = s->label;
    }
    r->start[block->n] = s->used;
    block->csr = (sgfs_csr){.start = r->start, .col = s->col, .value = s->value};
    block->y = r->y;
    flow->head.cols = columns_of(s);
    return got ? SGFS_OK : check_some(s, s->rows, flow->head.cols, err);
}

/* ---- dense ----------------------------------------------------------------------------------- */

/* Cell `col` of a row of zeros. */
static sgfs_status put(const sgfsi_libsvm *s, const sgfsi_table *head, void *row, int64_t col,
                       double v, sgfs_err *err) {
    float *narrow = (float *)row + col;
    if (head->type == SGFSI_F64) return ((double *)row)[col] = v, SGFS_OK;
    *narrow = (float)v;
    if (isfinite(*narrow) || isnan(v)) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s:%lld: %s holds %g, too large for single precision; leave --storage f32 "
                      "out.",
                      s->path, (long long)s->text.line - 1, head->names[col], v);
}

static sgfs_status next_dense(sgfsi_flow *flow, int64_t most, sgfsi_flow_block *block,
                              sgfs_err *err) {
    sgfsi_libsvm *s = &((reading *)flow->self)->rows;
    const sgfsi_table *head = &flow->head;
    const size_t row_bytes = (size_t)head->cols * sgfsi_dtype_size(head->type);
    for (block->n = 0; block->n < most; block->n++) {
        bool got;
        s->used = 0;
        sgfs_status status = sgfsi_libsvm_next(s, &got, err);
        if (status != SGFS_OK) return status;
        if (!got) break;
        char *row = (char *)block->cells + (size_t)block->n * row_bytes;
        memset(row, 0, row_bytes);
        for (int64_t k = 0; k < s->used && status == SGFS_OK; k++)
            status = put(s, head, row, s->col[k], s->value[k], err);
        if (status == SGFS_OK) status = put(s, head, row, head->cols - 1, s->label, err);
        if (status != SGFS_OK) return status;
        if (block->line != NULL) block->line[block->n] = s->rows;
    }
    return block->n == 0 ? check_some(s, s->rows, head->cols - 1, err) : SGFS_OK;
}

/* ---- flow ------------------------------------------------------------------------------------ */

static double flow_fraction(const sgfsi_flow *flow) {
    return sgfsi_libsvm_fraction(&((const reading *)flow->self)->rows);
}

static void flow_close(sgfsi_flow *flow) {
    reading *r = flow->self;
    sgfsi_libsvm_close(&r->rows);
    free(r->y);
    free(r->start);
    free(r);
    flow->self = NULL;
}

static sgfs_status open_sparse(reading *r, sgfsi_flow *flow, const char *path,
                               const sgfsi_read_options *options, sgfs_err *err) {
    /* Only the target y, and every feature: nothing else can be chosen from sparse rows. */
    const char *target = strcmp(options->target, "y") == 0 ? "" : options->target;
    const char *const given[][2] = {{"target", target},
                                    {"features", options->features},
                                    {"weights", options->weights},
                                    {"exposure", options->exposure}};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        if (given[i][1] == NULL || given[i][1][0] == '\0') continue;
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: --%s chooses a column, and sparse rows have none but features (the "
                          "label is the target, y); say --dense for columns x1, x2, ..., y.",
                          path, given[i][0]);
    }
    flow->head = (sgfsi_table){.type = SGFSI_CSR, .text_col = -1};
    flow->next = next_sparse;
    r->y = malloc(BLOCK_ROWS * sizeof *r->y);
    r->start = malloc((BLOCK_ROWS + 1) * sizeof *r->start);
    if (r->y == NULL || r->start == NULL) return sgfsi_fail_memory(err, "a block of rows");
    if (options->single) {
        sgfsi_say(options->log, SGFS_NOTE,
                  "%s: --storage f32 is for tables with all their zeros (--dense): sparse values "
                  "are kept as doubles.",
                  path);
    }
    return sgfsi_libsvm_open(&r->rows, path, options, err);
}

static sgfs_status open_dense(reading *r, sgfsi_flow *flow, const char *path,
                              const sgfsi_read_options *options, sgfs_err *err) {
    sgfsi_read_options own = *options;
    int64_t rows = 0, cols = options->columns;
    sgfs_status status = SGFS_OK;
    if (options->run != NULL)
        status = sgfsi_run_columns_last_place(options->run, path, &own.known_columns, err);
    if (status != SGFS_OK) return status;
    if (own.known_columns > 0) cols = own.known_columns;
    status = cols > 0 ? SGFS_OK : sgfsi_libsvm_count(path, options, &rows, &cols, err);
    if (status != SGFS_OK) return status;
    flow->head = (sgfsi_table){.rows = rows, .cols = cols + 1, .text_col = -1};
    if (options->whole && options->single) flow->head.type = SGFSI_F32;
    flow->next = next_dense;
    /* x1, x2, ..., y and their roles. */
    flow->head.names = sgfsi_names_made_up(cols + 1);
    flow->head.role = malloc((size_t)cols + 1);
    if (flow->head.names == NULL || flow->head.role == NULL)
        return sgfsi_fail_memory(err, "the columns");
    memcpy(flow->head.names[cols], "y", 2);
    const sgfsi_columns columns = {.path = path, .cols = cols + 1, .names = flow->head.names};
    status = sgfsi_columns_select(&columns, NULL, options, flow->head.role, err);
    if (status == SGFS_OK) status = sgfsi_libsvm_open(&r->rows, path, &own, err);
    r->rows.cols = cols; /* as they were counted, should the file be another now */
    return status;
}

static sgfs_status flow_libsvm(sgfsi_flow *flow, const char *path,
                               const sgfsi_read_options *options, sgfs_err *err) {
    reading *r = calloc(1, sizeof *r);
    *flow = (sgfsi_flow){.self = r, .fraction = flow_fraction, .close = flow_close};
    if (r == NULL) return sgfsi_fail_memory(err, "a reader");
    bool sparse = options->whole && !options->dense;
    sgfs_status status =
        sparse ? open_sparse(r, flow, path, options, err) : open_dense(r, flow, path, options, err);
    if (status != SGFS_OK) sgfsi_flow_close(flow);
    return status;
}

static bool probe_libsvm(const char *path, const unsigned char *head, size_t bytes) {
    static const char *const endings[] = {".libsvm", ".svmlight", ".svm"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        /* Named so, with or without .gz behind it. */
        size_t n = strlen(path), m = strlen(endings[i]);
        if (n > 3 && strcasecmp(path + n - 3, ".gz") == 0) n -= 3;
        if (n > m && strncasecmp(path + n - m, endings[i], m) == 0) return true;
    }
    return sgfsi_libsvm_looks((const char *)head, bytes);
}

const sgfs_reader_kind sgfs_reader_libsvm = {
    .name = "libsvm",
    .help = "sparse text, label index:value ... (svmlight too), kept sparse; .gz too",
    .flags = (const char *const[]){"columns", "zero-based", "dense", NULL},
    .numbered = true,
    .sparse = true,
    .probe = probe_libsvm,
    .text = true,
    .flow = flow_libsvm,
};
