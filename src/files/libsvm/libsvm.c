/* SPDX-License-Identifier: MIT
 * libsvm.c: tables and flows of libsvm (svmlight) text; a line is read in libsvm_rows.c.
 *
 *     sparse (the default): table.csr with N rows, table.y the labels; every column a feature
 *     --dense:              N x (cols + 1) cells with all zeros, the label last, called y
 *     flow:                 blocks of the same dense rows
 *
 * Columns are called x1, x2, ... by index (of --zero-based files too), and there are as many as the
 * largest index, or --columns. Sparse rows are read in one pass. Dense rows and flows have to know
 * the number of columns before the first row, so the file is gone through once before (unless
 * --columns tells it to a flow): memory is then asked for once, and what is asked for is known.
 *
 * Sparse tables have no columns beside the features: --features, --weights, --exposure and another
 * --target need --dense.
 */
#include "files/libsvm/libsvm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/ticker.h"
#include "files/columns.h"
#include "files/flow.h"

enum { ROWS = 1024, TICK_ROWS = 8192 };

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

/* All rows, none of them kept. */
static sgfs_status count(const char *path, const sgfsi_read_options *options, int64_t *rows,
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
        if (s.rows % TICK_ROWS == 0) sgfsi_tick(&ticker, sgfsi_libsvm_fraction(&s));
    }
    *rows = s.rows;
    *cols = columns_of(&s);
    if (status == SGFS_OK) status = check_some(&s, *rows, *cols, err);
    sgfsi_libsvm_close(&s);
    return status;
}

/* ---- sparse ---------------------------------------------------------------------------------- */

/* Labels and row starts, while rows come. */
typedef struct heads {
    double *y;
    int64_t *start, room;
} heads;

static bool make_room(heads *h, int64_t rows) {
    if (rows + 1 < h->room) return true;
    int64_t room = h->room > 0 ? 2 * h->room : ROWS;
    double *y = realloc(h->y, (size_t)room * sizeof *y);
    if (y != NULL) h->y = y;
    int64_t *start = realloc(h->start, (size_t)room * sizeof *start);
    if (start != NULL) h->start = start;
    h->room = room;
    return y != NULL && start != NULL;
}

static sgfs_status read_rows(sgfsi_libsvm *s, heads *h, sgfs_err *err) {
    char what[256];
    bool got = true;
    snprintf(what, sizeof what, "Reading %.200s", s->path);
    sgfsi_ticker ticker = sgfsi_ticker_start(s->log, what);
    for (;;) {
        if (!make_room(h, s->rows)) return sgfsi_fail_memory(err, "the rows");
        h->start[s->rows] = s->used;
        sgfs_status status = sgfsi_libsvm_next(s, &got, err);
        if (status != SGFS_OK || !got) return status;
        h->y[s->rows - 1] = s->label;
        if (s->rows % TICK_ROWS == 0) sgfsi_tick(&ticker, sgfsi_libsvm_fraction(s));
    }
}

/* Give back what growing left over. The smaller one may be had nowhere: then it stays. */
static void *trim(void *array, int64_t count, size_t size) {
    void *smaller = realloc(array, (size_t)(count > 0 ? count : 1) * size);
    return smaller != NULL ? smaller : array;
}

static sgfs_status hand_over(sgfsi_libsvm *s, heads *h, sgfsi_table *table, sgfs_err *err) {
    int64_t cols = columns_of(s);
    *table = (sgfsi_table){.rows = s->rows,
                           .cols = cols,
                           .row_stride = cols,
                           .type = SGFSI_CSR,
                           .owned_csr = true,
                           .target_name = strdup("y"),
                           .names = sgfsi_names_made_up(cols),
                           .text_col = -1};
    if (table->names == NULL || table->target_name == NULL) {
        sgfsi_table_free(table);
        return sgfsi_fail_memory(err, "the table");
    }
    table->y = trim(h->y, s->rows, sizeof *h->y);
    table->csr = (sgfs_csr){.start = trim(h->start, s->rows + 1, sizeof *h->start),
                            .col = trim(s->col, s->used, sizeof *s->col),
                            .value = trim(s->value, s->used, sizeof *s->value)};
    *h = (heads){NULL, NULL, 0};
    s->col = NULL;
    s->value = NULL;
    return SGFS_OK;
}

/* Only the target y, and every feature: nothing else can be chosen from sparse rows. */
static sgfs_status check_choice(const char *path, const sgfsi_read_options *o, sgfs_err *err) {
    const char *target = strcmp(o->target, "y") == 0 ? "" : o->target;
    const char *const given[][2] = {{"target", target},
                                    {"features", o->features},
                                    {"weights", o->weights},
                                    {"exposure", o->exposure}};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        if (given[i][1] == NULL || given[i][1][0] == '\0') continue;
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%s: --%s chooses a column, and sparse rows have none but features (the "
                          "label is the target, y); say --dense for columns x1, x2, ..., y.",
                          path, given[i][0]);
    }
    return SGFS_OK;
}

static sgfs_status read_sparse(const char *path, const sgfsi_read_options *options,
                               sgfsi_table *table, sgfs_err *err) {
    heads h = {NULL, NULL, 0};
    sgfsi_libsvm s = {.path = path};
    sgfs_status status = check_choice(path, options, err);
    if (status == SGFS_OK) status = sgfsi_libsvm_open(&s, path, options, err);
    if (status == SGFS_OK) status = read_rows(&s, &h, err);
    if (status == SGFS_OK) status = check_some(&s, s.rows, columns_of(&s), err);
    if (status == SGFS_OK) status = hand_over(&s, &h, table, err);
    free(h.y);
    free(h.start);
    sgfsi_libsvm_close(&s);
    if (status == SGFS_OK && options->single) {
        sgfsi_say(options->log, SGFS_NOTE,
                  "%s: --storage f32 is for tables with all their zeros (--dense): sparse values "
                  "are kept as doubles.",
                  path);
    }
    return status;
}

/* ---- dense ----------------------------------------------------------------------------------- */

/* x1, x2, ..., y and their roles; cols counts y. */
static sgfs_status name_columns(const char *path, const sgfsi_read_options *options, sgfsi_table *t,
                                sgfs_err *err) {
    t->names = sgfsi_names_made_up(t->cols);
    t->role = malloc((size_t)t->cols);
    if (t->names == NULL || t->role == NULL) return sgfsi_fail_memory(err, "the columns");
    memcpy(t->names[t->cols - 1], "y", 2);
    const sgfsi_columns columns = {path, t->cols, t->names};
    return sgfsi_columns_select(&columns, options, t->role, err);
}

static sgfs_status make_cells(const char *path, sgfsi_table *t, sgfs_err *err) {
    size_t bytes, size = sgfsi_dtype_size(t->type);
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE),
           wanted = (double)t->rows * (double)t->cols * (double)size;
    bool huge = __builtin_mul_overflow((size_t)t->rows, (size_t)t->cols * size, &bytes);
    t->cells = t->owned = huge || wanted > memory ? NULL : calloc(bytes, 1);
    if (t->cells != NULL) return SGFS_OK;
    return sgfsi_fail(err, SGFS_ENOMEM,
                      "%s: %lld rows of %lld numbers take %.3g GB with their zeros, and this "
                      "machine has %.3g GB of memory: leave --dense out, or pack the file first "
                      "(sgfs pack).",
                      path, (long long)t->rows, (long long)t->cols, 1e-9 * wanted, 1e-9 * memory);
}

/* Row i, whose cells are 0 so far. */
static sgfs_status put_row(const sgfsi_libsvm *s, sgfsi_table *t, int64_t i, sgfs_err *err) {
    double *wide = (double *)t->owned + i * t->cols;
    float *narrow = (float *)t->owned + i * t->cols;
    bool single = t->type == SGFSI_F32;
    for (int64_t k = 0; k <= s->used; k++) {
        double v = k < s->used ? s->value[k] : s->label;
        int64_t col = k < s->used ? s->col[k] : t->cols - 1;
        if (!single) wide[col] = v;
        else narrow[col] = (float)v;
        if (single && !isfinite(narrow[col])) {
            return sgfsi_fail(err, SGFS_EDATA,
                              "%s:%lld: %s holds %g, too large for single precision; leave "
                              "--storage f32 out.",
                              s->path, (long long)s->line - 1, t->names[col], v);
        }
    }
    return SGFS_OK;
}

static sgfs_status fill_cells(const char *path, const sgfsi_read_options *options, sgfsi_table *t,
                              sgfs_err *err) {
    char what[256];
    sgfsi_libsvm s;
    snprintf(what, sizeof what, "Reading %.200s", path);
    sgfsi_ticker ticker = sgfsi_ticker_start(options->log, what);
    sgfs_status status = sgfsi_libsvm_open(&s, path, options, err);
    if (!s.leave) s.cols = t->cols - 1; /* as they were counted, should the file be another now */
    for (int64_t i = 0; status == SGFS_OK && i < t->rows; i++) {
        bool got;
        s.used = 0;
        status = sgfsi_libsvm_next(&s, &got, err);
        if (status == SGFS_OK && !got) {
            status = sgfsi_fail(err, SGFS_EIO, "%s: became shorter while it was read.", path);
        }
        if (status == SGFS_OK) status = put_row(&s, t, i, err);
        if (i % TICK_ROWS == 0) sgfsi_tick(&ticker, sgfsi_libsvm_fraction(&s));
    }
    sgfsi_libsvm_close(&s);
    return status;
}

static sgfs_status read_dense(const char *path, const sgfsi_read_options *options,
                              sgfsi_table *table, sgfs_err *err) {
    sgfsi_table t = {.text_col = -1, .type = options->single ? SGFSI_F32 : SGFSI_F64};
    int64_t cols = 0;
    sgfs_status status = count(path, options, &t.rows, &cols, err);
    if (status != SGFS_OK) return status;
    t.cols = t.row_stride = cols + 1;
    status = name_columns(path, options, &t, err);
    if (status == SGFS_OK) status = make_cells(path, &t, err);
    if (status == SGFS_OK) status = fill_cells(path, options, &t, err);
    if (status == SGFS_OK) *table = t;
    else sgfsi_table_free(&t);
    return status;
}

static sgfs_status read_libsvm(const char *path, const sgfsi_read_options *options,
                               sgfsi_table *table, sgfs_err *err) {
    memset(table, 0, sizeof *table);
    return options->dense ? read_dense(path, options, table, err)
                          : read_sparse(path, options, table, err);
}

/* ---- flow ------------------------------------------------------------------------------------ */

static sgfs_status flow_next(sgfsi_flow *flow, int64_t most, double *cells, int64_t *n,
                             sgfs_err *err) {
    sgfsi_libsvm *s = flow->self;
    int64_t cols = flow->head.cols;
    for (*n = 0; *n < most; ++*n) {
        bool got;
        s->used = 0;
        sgfs_status status = sgfsi_libsvm_next(s, &got, err);
        if (status != SGFS_OK) return status;
        if (!got) break;
        double *row = cells + *n * cols;
        memset(row, 0, (size_t)cols * sizeof *row);
        for (int64_t k = 0; k < s->used; k++) row[s->col[k]] = s->value[k];
        row[cols - 1] = s->label;
    }
    return *n == 0 ? check_some(s, s->rows, cols - 1, err) : SGFS_OK;
}

static double flow_fraction(const sgfsi_flow *flow) {
    return sgfsi_libsvm_fraction(flow->self);
}

static void flow_close(sgfsi_flow *flow) {
    if (flow->self != NULL) sgfsi_libsvm_close(flow->self);
    free(flow->self);
    flow->self = NULL;
}

/* On failure nothing is held. */
static sgfs_status flow_libsvm(sgfsi_flow *flow, const char *path,
                               const sgfsi_read_options *options, sgfs_err *err) {
    int64_t rows = 0, cols = options->known_columns > 0 ? options->known_columns : options->columns;
    memset(flow, 0, sizeof *flow);
    sgfs_status status = cols > 0 ? SGFS_OK : count(path, options, &rows, &cols, err);
    if (status != SGFS_OK) return status;
    flow->head = (sgfsi_table){.rows = rows, .cols = cols + 1, .text_col = -1};
    sgfsi_libsvm *s = flow->self = calloc(1, sizeof *s);
    flow->next = flow_next;
    flow->fraction = flow_fraction;
    flow->close = flow_close;
    status = s == NULL ? sgfsi_fail_memory(err, "a reader")
                       : name_columns(path, options, &flow->head, err);
    if (status == SGFS_OK) status = sgfsi_libsvm_open(s, path, options, err);
    if (status == SGFS_OK) {
        s->cols = cols; /* as they were counted, should the file be another now */
        return SGFS_OK;
    }
    flow_close(flow);
    sgfsi_table_free(&flow->head);
    return status;
}

/* ---- the kind -------------------------------------------------------------------------------- */

/* Named so, with or without .gz behind it. */
static bool is_called(const char *path, const char *ending) {
    size_t n = strlen(path), m = strlen(ending);
    if (n > 3 && strcasecmp(path + n - 3, ".gz") == 0) n -= 3;
    return n > m && strncasecmp(path + n - m, ending, m) == 0;
}

static bool probe_libsvm(const char *path, const unsigned char *head, size_t bytes) {
    static const char *const endings[] = {".libsvm", ".svmlight", ".svm"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (is_called(path, endings[i])) return true;
    }
    return sgfsi_libsvm_looks((const char *)head, bytes);
}

const sgfs_reader_kind sgfs_reader_libsvm = {
    .name = "libsvm",
    .help = "sparse text, label index:value ... (svmlight too), kept sparse; .gz too",
    .probe = probe_libsvm,
    .read = read_libsvm,
    .flow = flow_libsvm,
};
