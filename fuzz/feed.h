/* SPDX-License-Identifier: MIT
 * feed.h: the bytes of one hostile file through everything that reads such a file.
 *
 *     bytes -> a file in memory -> reader: probe, read, look at every cell, free
 *                               -> sgfs_data_open: design, statistics, a few rows gathered
 *                               -> the rows again, as predict reads them: they must be the same
 *
 * Any refusal is fine as long as it is one: SGFS_EDATA or SGFS_EIO and a sentence of one line. What
 * is not fine ends in FEED_FAIL: abort() under libFuzzer, fail_msg() in tests/unit/test_hostile.c,
 * which runs the same code over the seeds. Reads beyond a block of memory are the sanitizers'
 * business; those beyond a mapped file are made visible by map.c.
 */
#pragma once

#ifndef _GNU_SOURCE
#error "define _GNU_SOURCE before the first header: memfd_create is not POSIX"
#endif

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diagnostics/summary.h"
#include "files/collect.h"
#include "files/flow.h"
#include "files/newdata.h"
#include "files/packed/packed.h"
#include "rows/rows.h"
#include "sink/export.h"

#ifndef FEED_FAIL
#define FEED_FAIL(...) (fprintf(stderr, "fuzz: " __VA_ARGS__), fputc('\n', stderr), abort())
#endif

enum { FEED_FILES = 4, FEED_ROWS = 16, FEED_CELLS = 1 << 16, FEED_OPTIONS = 16 };

/* ---- files in memory ------------------------------------------------------------------------- */

typedef struct feed_file {
    int fd; /* 0: not made yet */
    char path[64];
} feed_file;

/* The file of a slot: 0 is the one under test. */
static inline feed_file *feed_slot(int slot) {
    static feed_file files[FEED_FILES];
    feed_file *f = &files[slot];
    if (f->fd != 0) return f;
    f->fd = memfd_create("sgfs-fuzz", MFD_CLOEXEC);
    if (f->fd < 0) FEED_FAIL("no file in memory");
    snprintf(f->path, sizeof f->path, "/proc/self/fd/%d", f->fd);
    return f;
}

/* The bytes as the file of a slot, written anew each time; its path. */
static inline const char *feed_put(int slot, const void *bytes, size_t size) {
    const feed_file *f = feed_slot(slot);
    bool ok = ftruncate(f->fd, 0) == 0;
    for (size_t done = 0; ok && done < size;) {
        ssize_t n = pwrite(f->fd, (const char *)bytes + done, size - done, (off_t)done);
        ok = n > 0;
        if (ok) done += (size_t)n;
    }
    if (!ok) FEED_FAIL("the file in memory cannot be written");
    return f->path;
}

/* The file under test once more, in a slot of its own. */
static inline const char *feed_copy(const char *path) {
    struct stat st;
    int from = feed_slot(0)->fd;
    char *bytes = NULL;
    if (strcmp(path, feed_slot(0)->path) != 0 || fstat(from, &st) != 0) FEED_FAIL("no copy");
    bytes = malloc((size_t)st.st_size + 1);
    if (bytes == NULL || pread(from, bytes, (size_t)st.st_size, 0) != st.st_size)
        FEED_FAIL("no copy");
    const char *copy = feed_put(3, bytes, (size_t)st.st_size);
    free(bytes);
    return copy;
}

/* Good files to go with a hostile one: three labels, and three images of 2 x 2. */
static const unsigned char feed_labels[] = {0, 0, 8, 1, 0, 0, 0, 3, 7, 9, 7};
static const unsigned char feed_images[] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0,   0,
                                            0, 2, 5, 1, 0, 3, 2, 2, 9, 1, 0, 0, 255, 4};

/* ---- options --------------------------------------------------------------------------------- */

/* "header=yes target=2": the options "data.header" and "data.target". @labels is a file of good
 * labels, @file the one under test. */
static inline sgfs_config *feed_config(const char *options) {
    sgfs_config *cfg = sgfs_config_new();
    char words[512], *next = words;
    snprintf(words, sizeof words, "%s", options);
    for (char *word; cfg != NULL && (word = strsep(&next, " ")) != NULL;) {
        char key[64], *value = strchr(word, '=');
        sgfs_err err = {SGFS_OK, ""};
        if (value == NULL) continue;
        *value++ = '\0';
        snprintf(key, sizeof key, "data.%s", word);
        if (strcmp(value, "@file") == 0) value = feed_slot(0)->path;
        if (strcmp(value, "@labels") == 0)
            feed_put(1, feed_labels, sizeof feed_labels), value = feed_slot(1)->path;
        if (sgfs_config_set(cfg, key, value, &err) != SGFS_OK) FEED_FAIL("%s", err.text);
    }
    if (cfg == NULL) FEED_FAIL("no config");
    return cfg;
}

/* ---- what may come back ---------------------------------------------------------------------- */

/* A refusal is a code that fits the file, and a sentence fit for a terminal. Options may ask for
 * columns a mutated file does not have: then SGFS_EUSAGE is right, too. */
static inline void feed_check(sgfs_status status, const sgfs_err *err, bool columns_asked) {
    if (status == SGFS_OK) return;
    bool fits =
        status == SGFS_EDATA || status == SGFS_EIO || (status == SGFS_EUSAGE && columns_asked);
    if (!fits) FEED_FAIL("status %d: %s", (int)status, err->text);
    if (err->code != status) FEED_FAIL("status %d, but %d: %s", status, err->code, err->text);
    if (strlen(err->text) < 10) FEED_FAIL("no sentence: \"%s\"", err->text);
    for (const char *s = err->text; *s != '\0'; s++) {
        if ((unsigned char)*s < 32 || *s == 127) FEED_FAIL("byte %d in: %s", *s, err->text);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

static inline void feed_check_csr(const sgfsi_table *t) {
    const sgfs_csr *m = &t->csr;
    if (m->start[0] != 0) FEED_FAIL("csr begins with %lld", (long long)m->start[0]);
    for (int64_t i = 0; i < t->rows; i++) {
        if (m->start[i] > m->start[i + 1]) FEED_FAIL("csr row %lld ends early", (long long)i);
        for (int64_t k = m->start[i], before = -1; k < m->start[i + 1]; before = m->col[k++]) {
            if (m->col[k] <= before || m->col[k] >= t->cols) FEED_FAIL("csr column %d", m->col[k]);
            if (!isfinite(m->value[k])) FEED_FAIL("csr value of row %lld", (long long)i);
        }
    }
}

/* Every byte of every row: a sanitizer looks over our shoulder. */
static inline unsigned feed_touch(const sgfsi_table *t) {
    int64_t row_bytes = t->row_stride * (int64_t)sgfsi_dtype_size(t->type);
    unsigned sum = 0;
    for (int64_t i = 0; i < t->rows; i++) {
        const char *row = sgfsi_table_row(t, i, row_bytes);
        for (int64_t b = 0; b < t->cols * (int64_t)sgfsi_dtype_size(t->type); b++)
            sum += (unsigned char)row[b];
    }
    return sum;
}

static inline void feed_check_table(const sgfsi_table *t) {
    int64_t targets = t->y != NULL ? 1 : 0;
    if (t->rows < 1 || t->cols < 0 || t->cols > SGFSI_MAX_COLS + 1) /* a label beside them */
        FEED_FAIL("a table of %lld x %lld", (long long)t->rows, (long long)t->cols);
    for (int64_t j = 0; j < t->cols; j++) {
        if (t->names[j] == NULL) FEED_FAIL("column %lld without a name", (long long)j);
        targets += t->role != NULL && t->role[j] == SGFSI_ROLE_TARGET;
    }
    if (targets > 1) FEED_FAIL("%lld targets", (long long)targets);
    for (int64_t k = 0; k < t->levels; k++)
        if (t->level[k] == NULL) FEED_FAIL("level %lld without a text", (long long)k);
    if (t->type == SGFSI_CSR) feed_check_csr(t);
    else (void)feed_touch(t);
    sgfs_err err = {SGFS_OK, ""};
    feed_check(sgfsi_packed_verify(t, 1, NULL, &err), &err, false);
}

/* Cell j of row i as a double; a target that is no column comes last. */
static inline double feed_cell(const sgfsi_table *t, int64_t i, int64_t j) {
    const sgfs_csr *m = &t->csr;
    if (j == t->cols) return t->y[i];
    if (t->type == SGFSI_CSR) {
        for (int64_t k = m->start[i]; k < m->start[i + 1]; k++)
            if (m->col[k] == j) return m->value[k];
        return 0;
    }
    const void *row = sgfsi_table_row(t, i, t->row_stride * (int64_t)sgfsi_dtype_size(t->type));
    switch (t->type) {
    case SGFSI_F32: return (double)((const float *)row)[j];
    case SGFSI_I64: return (double)((const int64_t *)row)[j];
    case SGFSI_I32: return (double)((const int32_t *)row)[j];
    case SGFSI_I16: return (double)((const int16_t *)row)[j];
    case SGFSI_I8: return (double)((const int8_t *)row)[j];
    case SGFSI_U8: return (double)((const uint8_t *)row)[j];
    case SGFSI_U16: return (double)((const uint16_t *)row)[j];
    case SGFSI_U32: return (double)((const uint32_t *)row)[j];
    default: return ((const double *)row)[j];
    }
}

/* ---- flows ----------------------------------------------------------------------------------- */

static inline bool feed_is_finite(const sgfsi_table *t, int64_t cols) {
    for (int64_t i = 0; i < t->rows; i++)
        for (int64_t j = 0; j < cols; j++)
            if (!isfinite(feed_cell(t, i, j))) return false;
    return true;
}

/* The flow's columns are those of the table, or those of them that are for something. */
static inline int64_t feed_columns(const sgfsi_table *t, const sgfsi_table *head, int64_t *from) {
    int64_t all = t->cols + (t->y != NULL), n = 0;
    for (int64_t j = 0; j < all; j++) {
        bool idle = t->role != NULL && j < t->cols && t->role[j] == SGFSI_ROLE_NONE;
        if (head->cols == all || !idle) from[n++] = j;
    }
    return n;
}

/* Are words where the table has them? Before text is found where numbers were expected, they are
 * not: those rows are void. */
static inline bool feed_same_words(const sgfsi_table *t, const sgfsi_table *head,
                                   const int64_t *from) {
    bool text = t->text_col >= 0 && (t->role == NULL || t->role[t->text_col] != SGFSI_ROLE_NONE);
    if (text != (head->text_col >= 0)) return false;
    for (int64_t j = 0; j < head->cols; j++) {
        bool a = t->dictionary != NULL && t->dictionary[from[j]].count > 0,
             b = head->dictionary != NULL && head->dictionary[j].count > 0;
        if (a != b) return false;
    }
    return true;
}

/* Rows seen .. seen + n - 1 of the flow. */
static inline void feed_match(const sgfsi_table *t, const int64_t *from, int64_t seen, int64_t n,
                              int64_t cols, const double *cells) {
    if (seen + n > t->rows) FEED_FAIL("the flow has more than %lld rows", (long long)t->rows);
    for (int64_t k = 0; k < n * cols; k++) {
        double wanted = feed_cell(t, seen + k / cols, from[k % cols]);
        if (cells[k] != wanted && !(isnan(cells[k]) && isnan(wanted)))
            FEED_FAIL("row %lld, column %lld: %g, but %g in the flow", (long long)(seen + k / cols),
                      (long long)(k % cols), wanted, cells[k]);
    }
}

/* All rows, a few at a time, against the table (NULL: there is none); how many there were. */
static inline int64_t feed_rows(sgfsi_flow *flow, const sgfsi_table *t, const int64_t *from,
                                sgfs_status *status, sgfs_err *err) {
    int64_t most = 5, n = 0, seen = 0;
    double *cells = malloc((size_t)(most * flow->head.cols + 1) * sizeof *cells);
    bool more, same = true;
    if (cells == NULL) FEED_FAIL("no memory");
    do {
        *status = sgfsi_flow_next(flow, most, cells, NULL, &n, err);
        if (*status != SGFS_OK) break;
        same = t == NULL || feed_same_words(t, &flow->head, from);
        if (t != NULL && same && !flow->restarted)
            feed_match(t, from, seen, n, flow->head.cols, cells);
        seen = flow->restarted ? 0 : seen + n;
        more = flow->restarted || n > 0;
        flow->restarted = false;
    } while (more);
    if (*status == SGFS_OK && !same) FEED_FAIL("words, but not in the flow");
    free(cells);
    return seen;
}

/* An open flow against the table, where there is one: the same rows. single: a table of floats, in
 * which not every number fits. */
static inline sgfs_status feed_flow_rows(sgfsi_flow *flow, const sgfsi_table *t, bool single,
                                         sgfs_err *err) {
    int64_t *from = t != NULL ? malloc((size_t)(t->cols + 1) * sizeof *from) : NULL;
    int64_t cols = from != NULL ? feed_columns(t, &flow->head, from) : 0;
    sgfs_status status = SGFS_OK;
    if (t != NULL && flow->head.cols != cols)
        FEED_FAIL("%lld columns, but %lld in the flow", (long long)cols,
                  (long long)flow->head.cols);
    int64_t rows = feed_rows(flow, single ? NULL : t, from, &status, err);
    free(from);
    if (status != SGFS_OK) return status;
    if (t == NULL && !single) FEED_FAIL("a flow of %lld rows, no table", (long long)rows);
    if (t != NULL && rows != t->rows)
        FEED_FAIL("%lld rows, but %lld in the flow", (long long)t->rows, (long long)rows);
    return SGFS_OK;
}

/* The flow of the file against its table; NULL: there should be none. */
static inline void feed_flow(const char *path, const sgfsi_read_options *options,
                             const sgfsi_table *t, bool columns_asked) {
    sgfsi_flow flow = {0};
    sgfs_err err = {SGFS_OK, ""};
    sgfs_status status = sgfsi_flow_open(&flow, 1, &path, options, &err);
    if (status == SGFS_OK) status = feed_flow_rows(&flow, t, options->single, &err);
    feed_check(status, &err, columns_asked);
    if (status != SGFS_OK && t != NULL && t->parts == 0 && feed_is_finite(t, t->cols))
        FEED_FAIL("a table, but no flow: %s", err.text);
    sgfsi_flow_close(&flow);
}

/* The reader alone, for a file that would be taken for another's. */
static inline bool feed_stranger(const sgfs_reader_kind *kind, const char *path,
                                 const sgfsi_read_options *options, bool columns_asked) {
    sgfsi_table table = {0};
    sgfsi_flow flow = {0};
    sgfs_err err = {SGFS_OK, ""};
    sgfs_status status = kind->map != NULL ? kind->map(path, options, &table, &err)
                                           : kind->flow(&flow, path, options, &err);
    if (status == SGFS_OK && kind->map != NULL) feed_check_table(&table);
    if (status == SGFS_OK && kind->flow != NULL) (void)feed_rows(&flow, NULL, NULL, &status, &err);
    feed_check(status, &err, columns_asked);
    sgfsi_table_free(&table);
    sgfsi_flow_close(&flow);
    return status == SGFS_OK;
}

/* The file twice, behind itself: as many rows again, words numbered through. */
static inline void feed_twice(const char *path, const char *copy, const sgfsi_read_options *options,
                              bool columns_asked) {
    const char *const files[] = {path, copy};
    sgfsi_flow flow = {0};
    sgfs_err err = {SGFS_OK, ""};
    sgfs_status status = sgfsi_flow_open(&flow, 2, files, options, &err);
    if (status == SGFS_OK) (void)feed_rows(&flow, NULL, NULL, &status, &err);
    feed_check(status, &err, columns_asked);
    sgfsi_flow_close(&flow);
}

/* ---- the reader ------------------------------------------------------------------------------ */

static inline bool feed_table(const sgfs_reader_kind *kind, const char *path,
                              const sgfsi_read_options *options, bool columns_asked) {
    sgfsi_table table = {0};
    sgfs_err err = {SGFS_OK, ""};
    if (sgfsi_table_reader(path, NULL) != kind)
        return feed_stranger(kind, path, options, columns_asked);
    sgfs_status status = sgfsi_table_read(path, options, &table, &err);
    feed_check(status, &err, columns_asked);
    if (status == SGFS_OK) feed_check_table(&table);
    feed_flow(path, options, status == SGFS_OK ? &table : NULL, columns_asked);
    if (status == SGFS_OK) sgfsi_table_free(&table);
    else if (table.names != NULL || table.map != NULL || table.owned != NULL || table.part != NULL)
        FEED_FAIL("a failed read left something behind");
    return status == SGFS_OK;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Rows from both ends, in order and picked, dense and (where they are) sparse. Every number of them
 * is finite, but for those of packed files, which are believed. */
static inline void feed_gather(const sgfs_data *d) {
    sgfsi_arena arena = {0};
    sgfsi_rows rows;
    sgfs_err err = {SGFS_OK, ""};
    int64_t n = d->N < FEED_ROWS ? d->N : FEED_ROWS, row[FEED_ROWS];
    bool finite = d->scale == NULL && d->table.stats == NULL;
    for (int sparse = 0; sparse < 2; sparse++) {
        if (sparse == 0 && n * d->p > FEED_CELLS) continue;
        sgfsi_rows_plan plan = {.n = n, .sparse = sparse == 1, .repeats = true};
        if (sgfsi_rows_open(&rows, d, plan, &arena, &err) != SGFS_OK) FEED_FAIL("%s", err.text);
        for (int64_t i = 0; i < n; i++) row[i] = d->N - 1 - i;
        const sgfs_batch *batch = sgfsi_rows_range(&rows, 0, n);
        for (int64_t i = 0; finite && d->has_target && i < n; i++)
            if (!isfinite(batch->y[i])) FEED_FAIL("target of row %lld", (long long)i);
        batch = sgfsi_rows_drawn(&rows, row, n);
        for (int64_t i = 0; finite && batch->x != NULL && i < n * d->p; i++)
            if (!isfinite(batch->x[i])) FEED_FAIL("cell %lld", (long long)i);
    }
    sgfsi_arena_free(&arena);
}

/* One block of new rows against the same rows of the data. */
static inline void feed_compare(const sgfs_data *d, const sgfsi_newdata_block *block,
                                int64_t first) {
    int64_t from = d->p - d->features;
    double *x = malloc((size_t)(block->n * d->p + 1) * sizeof *x);
    if (x == NULL || first + block->n > d->N) FEED_FAIL("rows beyond %lld", (long long)d->N);
    sgfsi_data_rows_range(d, first, block->n, x, NULL);
    for (int64_t i = 0; i < block->n; i++) {
        const double *a = x + i * d->p + from, *b = block->x + i * block->stride;
        if (d->features == 0 || memcmp(a, b, (size_t)d->features * sizeof *a) == 0) continue;
        for (int64_t j = 0; j < d->features; j++)
            if (a[j] != b[j]) FEED_FAIL("row %lld: %g, then %g", (long long)i, a[j], b[j]);
    }
    free(x);
}

/* Columns that were left out may hold what is not finite; predict looks at all of an IDX row. Of
 * packed files it looks at the checksums of rows, too. */
static inline bool feed_may_refuse(const sgfs_data *d, const sgfs_err *err) {
    bool idle = false;
    sgfs_err own;
    if (strstr(err->text, "checksum") != NULL)
        return sgfsi_packed_verify(&d->table, 1, NULL, &own) != SGFS_OK;
    for (int64_t j = 0; d->table.role != NULL && j < d->table.cols; j++)
        idle = idle || d->table.role[j] == SGFSI_ROLE_NONE;
    return idle && err->code == SGFS_EDATA && strstr(err->text, "finite") != NULL;
}

static inline void feed_walk(const sgfs_data *d, sgfsi_newdata *rows) {
    sgfsi_newdata_block block = {.stride = d->features};
    sgfs_err err = {SGFS_OK, ""};
    int64_t most = 7, seen = 0;
    block.x = malloc((size_t)(most * d->features + 1) * sizeof *block.x);
    block.y = malloc((size_t)most * sizeof *block.y);
    block.exposure = malloc((size_t)most * sizeof *block.exposure);
    block.lacks = malloc((size_t)most);
    if (!block.x || !block.y || !block.exposure || !block.lacks) FEED_FAIL("no memory");
    do {
        sgfs_status status = sgfsi_newdata_next(rows, most, &block, &err);
        if (status != SGFS_OK && feed_may_refuse(d, &err)) break;
        if (status != SGFS_OK) FEED_FAIL("read before, refused now: %s", err.text);
        feed_compare(d, &block, seen);
        seen += block.n;
    } while (block.n > 0);
    if (err.code == SGFS_OK && seen != d->N)
        FEED_FAIL("%lld rows, then %lld", (long long)d->N, (long long)seen);
    free(block.x);
    free(block.y);
    free(block.exposure);
    free(block.lacks);
}

/* The rows again, as predict reads them. Names a file has twice cannot be asked for. */
static inline void feed_again(const sgfs_data *d, const char *path,
                              const sgfsi_read_options *options) {
    const char **feature = malloc((size_t)(d->features + 1) * sizeof *feature);
    sgfsi_newdata *rows = NULL;
    sgfs_err err = {SGFS_OK, ""};
    if (feature == NULL) FEED_FAIL("no memory");
    for (int64_t j = 0; j < d->features; j++) feature[j] = d->feature[j].name;
    const sgfsi_wanted asked = {d->features, feature, .named = d->table.named};
    sgfs_status status = sgfsi_newdata_open(&rows, path, &asked, options, &err);
    feed_check(status, &err, false);
    if (status == SGFS_OK) feed_walk(d, rows);
    sgfsi_newdata_close(rows);
    free(feature);
}

static inline void feed_data(const char *path, const sgfs_config *cfg,
                             const sgfsi_read_options *options, bool columns_asked) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_data *d = sgfs_data_open(path, cfg, &err);
    feed_check(d != NULL ? SGFS_OK : err.code, &err, columns_asked);
    if (d == NULL) return;
    feed_gather(d);
    bool plain = d->scale == NULL && d->recipe == NULL && d->subset == NULL;
    if (!options->single && plain && d->features > 0 && d->features < FEED_CELLS)
        feed_again(d, path, options);
    sgfs_data_free(d);
}

/* Two files as one table. */
static inline void feed_data_twice(const char *path, const char *copy, const sgfs_config *cfg,
                                   bool columns_asked) {
    char both[160];
    sgfs_err err = {SGFS_OK, ""};
    snprintf(both, sizeof both, "%s\n%s", path, copy);
    sgfs_data *d = sgfs_data_open(both, cfg, &err);
    feed_check(d != NULL ? SGFS_OK : err.code, &err, columns_asked);
    if (d != NULL) feed_gather(d);
    sgfs_data_free(d);
}

/* ---- formats --------------------------------------------------------------------------------- */

/* A file's kind and the ways in which it is read: lines of options, the first of them empty. */
typedef struct feed_format {
    const char *name; /* of the target, and of the folder with its seeds */
    const sgfs_reader_kind *kind;
    const char *const *options; /* NULL-terminated */
} feed_format;

static const char *const feed_csv_options[] = {"",
                                               "header=yes",
                                               "header=no",
                                               "storage=f32",
                                               "delimiter=blank",
                                               "target=1",
                                               "standardize=true",
                                               "features=1-2 target=3",
                                               "weights=2",
                                               "target=y features=a",
                                               NULL};
static const char *const feed_npy_options[] = {"", "target=1 features=2-3", "weights=1",
                                               "standardize=true intercept=false", NULL};

static const char *const feed_libsvm_options[] = {"",
                                                  "dense=true",
                                                  "zero_based=true",
                                                  "columns=7",
                                                  "dense=true columns=9 storage=f32",
                                                  "dense=true target=1 weights=2",
                                                  "standardize=true",
                                                  NULL};
static const char *const feed_idx_options[] = {
    "", "labels=@labels", "labels=@file", "target=2", "labels=@labels features=1", NULL};

static const char *const feed_packed_options[] = {
    "", "target=1", "features=1-2", "standardize=true", "weights=1 target=2", NULL};

static const char *const feed_arrow_options[] = {"categorical=auto",
                                                 "",
                                                 "target=1",
                                                 "categorical=1 target=2",
                                                 "drop=1",
                                                 "na=mean categorical=auto",
                                                 "na=drop categorical=auto standardize=true",
                                                 NULL};

static const feed_format feed_formats[] = {{"arrow", &sgfs_reader_arrow, feed_arrow_options},
                                           {"csv", &sgfs_reader_csv, feed_csv_options},
                                           {"npy", &sgfs_reader_npy, feed_npy_options},
                                           {"libsvm", &sgfs_reader_libsvm, feed_libsvm_options},
                                           {"idx", &sgfs_reader_idx, feed_idx_options},
                                           {"packed", &sgfs_reader_packed, feed_packed_options}};
enum { FEED_FORMATS = sizeof feed_formats / sizeof feed_formats[0] };

static inline const feed_format *feed_format_find(const char *name) {
    for (int i = 0; i < FEED_FORMATS; i++)
        if (strcmp(feed_formats[i].name, name) == 0) return &feed_formats[i];
    return NULL;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Read as line k of the options says. The reader is asked even where its probe says no: a name may
 * have said yes. Two threads are dear where there are a few bytes, and so is a second file: both
 * only where `more` asks for them. */
static inline void feed_read(const feed_format *format, size_t k, const char *path, bool more) {
    static sgfs_config *kept[FEED_FORMATS][FEED_OPTIONS]; /* configs are dear: made once */
    sgfs_config **cfg = &kept[format - feed_formats][k];
    bool labels = strchr(format->options[k], '@') != NULL;
    if (*cfg == NULL) *cfg = feed_config(format->options[k]);
    if (strstr(format->options[k], "@file") != NULL) /* it is the labels, not the data */
        path = feed_put(2, feed_images, sizeof feed_images);
    sgfsi_read_options options = sgfsi_read_options_of(*cfg);
    options.threads = more ? 2 : 1;
    bool read = feed_table(format->kind, path, &options, k > 0);
    if (!read && sgfsi_table_reader(path, NULL) == format->kind) return;
    feed_data(path, *cfg, &options, k > 0);
    if (!more || labels) return;
    feed_twice(path, feed_copy(path), &options, k > 0);
    feed_data_twice(path, feed_copy(path), *cfg, k > 0);
}

static inline size_t feed_options(const feed_format *format) {
    size_t n = 0;
    while (format->options[n] != NULL) n++;
    return n;
}

/* Plainly, and sometimes with another line of options, which follows from the bytes: the same input
 * always means the same. */
static inline void feed_bytes(const feed_format *format, const unsigned char *bytes, size_t size) {
    const char *path = feed_put(0, bytes, size);
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < size; i++) h = (h ^ bytes[i]) * 16777619u;
    size_t k = (h >> 8) % (2 * feed_options(format));
    feed_read(format, 0, path, h % 8 == 0);
    if (k > 0 && k < feed_options(format)) feed_read(format, k, path, h % 8 == 1);
}

/* ---- files that hold no rows ----------------------------------------------------------------- */

static inline void feed_truth(const unsigned char *bytes, size_t size);

/* A run file: what summary, compare and export do with it. */
static inline void feed_run(const unsigned char *bytes, size_t size) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_draws *d = sgfs_draws_open(feed_put(0, bytes, size), &err);
    if (d == NULL && err.code != SGFS_ERUNFILE) feed_check(err.code, &err, false);
    if (d == NULL) return;
    sgfs_draws_shape shape = sgfs_draws_size(d);
    double sum = 0; /* every draw is looked at */
    for (int64_t c = 0; c < shape.chains; c++)
        for (int64_t k = 0; k < shape.draws * shape.dim; k++) sum += sgfs_draws_chain(d, c)[k];
    for (int64_t j = 0; j < shape.dim; j++) sum += (double)strlen(sgfs_draws_param(d, j));
    if (sum == 0.12345) FEED_FAIL("a sum that nobody expects");
    sgfsi_summary_free(sgfsi_summary_new(d, 2, &err));
    /* Exports to nowhere but netCDF, which has a process of its own; and as a reference. */
    int64_t *chain = calloc((size_t)d->chains, sizeof *chain);
    FILE *nowhere = fopen("/dev/null", "w");
    sgfsi_used used = sgfsi_draws_used(d, chain);
    for (int64_t k = 0; sgfsi_exports[k] != NULL && nowhere != NULL; k++) {
        bool apart = strcmp(sgfsi_exports[k]->name, "netcdf") == 0;
        if (apart || (sgfsi_exports[k]->of_draws && used.draws == 0)) continue;
        (void)sgfsi_exports[k]->print(d, &used, nowhere, &err);
    }
    if (nowhere != NULL) fclose(nowhere);
    free(chain);
    sgfs_draws_free(d);
    feed_truth(bytes, size);
}

/* Options from a JSON file (--config); those out of range are SGFS_EUSAGE. */
static inline void feed_json(const unsigned char *bytes, size_t size) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = sgfs_config_new();
    if (cfg == NULL) FEED_FAIL("no config");
    sgfs_status status = sgfs_config_load(cfg, feed_put(0, bytes, size), &err);
    if (status != SGFS_ERUNFILE) feed_check(status, &err, true); /* a run file is taken, too */
    sgfs_config_free(cfg);
}

/* Twelve rows for models that are opened with a hostile file beside them. */
static inline sgfs_data *feed_beside(const sgfs_config *cfg, sgfs_err *err) {
    static double x[24], y[12];
    for (int i = 0; i < 24; i++) x[i] = (i * 7 % 11) / 4.0 - 1;
    for (int i = 0; i < 12; i++) y[i] = i * 5 % 3 == 0;
    const sgfs_arrays arrays = {.rows = 12, .cols = 2, .x = x, .y = y};
    return sgfs_data_wrap(&arrays, cfg, err);
}

/* The value of an option: where chains start, precisions of the prior, a matrix. */
static inline void feed_option(const char *key, const char *sampler, const unsigned char *bytes,
                               size_t size) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = sgfs_config_new();
    const char *const set[][2] = {{key, feed_put(0, bytes, size)},
                                  {"sampler.kind", sampler},
                                  {"run.chains", "1"},
                                  {"run.threads", "1"},
                                  {"run.draws", "4"},
                                  {"run.warmup", "4"}};
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        if (sgfs_config_set(cfg, set[i][0], set[i][1], &err) != SGFS_OK) FEED_FAIL("%s", err.text);
    sgfs_data *data = feed_beside(cfg, &err);
    sgfs_model *model = sgfs_model_open("logistic", data, cfg, &err);
    sgfs_run *run = sgfs_run_open(model, cfg, &err);
    sgfs_status status = run != NULL ? sgfs_run_step(run, 2, &err) : err.code;
    bool other = status == SGFS_ERUNFILE || status == SGFS_ENUMERIC;
    if (!other) feed_check(status, &err, true);
    sgfs_run_free(run);
    sgfs_model_free(model);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
}

/* A few draws, made once. */
static inline sgfs_draws *feed_draws(sgfs_config **cfg) {
    static sgfs_draws *draws;
    static sgfs_config *kept;
    sgfs_err err = {SGFS_OK, ""};
    if (draws == NULL) {
        kept = sgfs_config_new();
        const char *const set[][2] = {{"sampler.kind", "sgld"}, {"sampler.epsilon", "1e-3"},
                                      {"run.chains", "2"},      {"run.threads", "1"},
                                      {"run.draws", "8"},       {"run.warmup", "4"}};
        for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
            (void)sgfs_config_set(kept, set[i][0], set[i][1], &err);
        sgfs_data *data = feed_beside(kept, &err);
        sgfs_model *model = sgfs_model_open("logistic", data, kept, &err);
        sgfs_run *run = sgfs_run_open(model, kept, &err);
        if (sgfs_run_all(run, &err) == SGFS_OK) draws = sgfs_run_draws(run, &err);
        if (draws == NULL) FEED_FAIL("%s", err.text);
        sgfs_run_free(run);
        sgfs_model_free(model);
        sgfs_data_free(data);
    }
    *cfg = kept;
    return draws;
}

/* What draws are compared with: moments as JSON, or another run. */
static inline void feed_truth(const unsigned char *bytes, size_t size) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg;
    sgfs_draws *draws = feed_draws(&cfg);
    sgfs_job *job = sgfs_compare_open(draws, feed_put(0, bytes, size), cfg, &err);
    sgfs_status status = sgfs_job_run(job, &err);
    bool other = status == SGFS_ERUNFILE || status == SGFS_ENUMERIC;
    if (!other) feed_check(status, &err, true);
    if (status == SGFS_OK) sgfs_text_free(sgfs_job_json(job));
    sgfs_job_free(job);
}

/* ---- run files that go further: predict and resume ------------------------------------------- */

/* Samplers whose runs are taken up: their states are of different sorts. */
static const char *const feed_samplers[] = {"sgld", "sgfs-f",      "sgfs-cv",
                                            "nuts", "exact-pairs", "groups"};
enum { FEED_SAMPLERS = sizeof feed_samplers / sizeof feed_samplers[0] };

/* Where a run file can be replaced by another one: a folder of its own, removed with the
 * process. */
static char feed_folder[64];
static void feed_clear(void) {
    char path[96];
    snprintf(path, sizeof path, "%s/fit.run.tmp", feed_folder);
    unlink(path);
    path[strlen(path) - 4] = '\0';
    unlink(path);
    rmdir(feed_folder);
}
static inline const char *feed_run_path(void) {
    static char path[96];
    if (feed_folder[0] != '\0') return path;
    bool shared = access("/dev/shm", W_OK) == 0;
    snprintf(feed_folder, sizeof feed_folder, "%s/sgfs-fuzz-XXXXXX", shared ? "/dev/shm" : "/tmp");
    if (mkdtemp(feed_folder) == NULL) FEED_FAIL("no folder for run files");
    snprintf(path, sizeof path, "%s/fit.run", feed_folder);
    atexit(feed_clear);
    return path;
}

/* The options of the runs; draws: more or fewer make another run of it. */
static inline sgfs_config *feed_run_options(const char *sampler) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = sgfs_config_new();
    const char *const set[][2] = {{"sampler.kind", sampler}, {"run.chains", "2"},
                                  {"run.threads", "1"},      {"run.batch", "4"},
                                  {"run.warmup", "6"},       {"run.draws", "8"},
                                  {"run.thin", "1"},         {"output.overwrite", "true"}};
    for (size_t i = 0; cfg != NULL && i < sizeof set / sizeof set[0]; i++)
        if (strcmp(set[i][0], "run.batch") != 0 || strncmp(sampler, "sg", 2) == 0)
            if (sgfs_config_set(cfg, set[i][0], set[i][1], &err) != SGFS_OK)
                FEED_FAIL("%s", err.text);
    if (cfg == NULL) FEED_FAIL("no config");
    if (strcmp(sampler, "sgld") == 0) (void)sgfs_config_set(cfg, "sampler.epsilon", "1e-3", &err);
    if (strcmp(sampler, "groups") == 0) (void)sgfs_config_set(cfg, "data.effects", "(1|x2)", &err);
    return cfg;
}

/* A run as this program writes it, complete or stopped: 2 k and 2 k + 1 are of sampler k. Made
 * once. */
static inline const unsigned char *feed_good_run(int which, size_t *size) {
    static unsigned char *kept[2 * FEED_SAMPLERS];
    static size_t length[2 * FEED_SAMPLERS];
    if (kept[which] == NULL) {
        sgfs_err err = {SGFS_OK, ""};
        sgfs_config *cfg = feed_run_options(feed_samplers[which / 2]);
        sgfs_data *data = feed_beside(cfg, &err);
        sgfs_model *model = sgfs_model_open("logistic", data, cfg, &err);
        sgfs_run *run = sgfs_run_open(model, cfg, &err);
        if (run == NULL || sgfs_run_attach(run, feed_run_path(), &err) != SGFS_OK)
            FEED_FAIL("%s: %s", feed_samplers[which / 2], err.text);
        sgfs_status status = which % 2 == 1 ? sgfs_run_step(run, 9, &err) : sgfs_run_all(run, &err);
        if (status != SGFS_OK) FEED_FAIL("%s", err.text);
        if (sgfs_run_close(run, &err) != SGFS_OK) FEED_FAIL("%s", err.text);
        FILE *f = fopen(feed_run_path(), "rb");
        kept[which] = malloc(1 << 20);
        if (f != NULL && kept[which] != NULL) length[which] = fread(kept[which], 1, 1 << 20, f);
        if (length[which] == 0) FEED_FAIL("the run cannot be read");
        fclose(f);
        sgfs_run_free(run);
        sgfs_model_free(model);
        sgfs_data_free(data);
        sgfs_config_free(cfg);
    }
    *size = length[which];
    return kept[which];
}

/* Predictions for three rows of the columns that feed_beside has. */
static inline sgfs_status feed_predict(const unsigned char *bytes, size_t size) {
    static const char rows[] = "x1,x2,y\n0.5,-1,1\n0.25,2,0\n-1.5,0.75,1\n";
    static sgfs_config *cfg;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_draws *draws = sgfs_draws_open(feed_put(0, bytes, size), &err);
    if (draws == NULL) return err.code; /* "run" looks at why */
    if (cfg == NULL) cfg = sgfs_config_new();
    (void)sgfs_config_set(cfg, "run.threads", "1", &err);
    const char *path = feed_put(1, rows, sizeof rows - 1);
    sgfs_job *job = sgfs_predict_open(draws, NULL, path, NULL, cfg, &err);
    sgfs_status status = job != NULL ? sgfs_job_run(job, &err) : err.code;
    bool other = status == SGFS_ERUNFILE || status == SGFS_ENUMERIC;
    if (!other) feed_check(status, &err, true);
    if (status == SGFS_OK) sgfs_text_free(sgfs_job_json(job));
    sgfs_job_free(job);
    sgfs_draws_free(draws);
    return status;
}

/* The run goes on for two iterations, by the options that a good one of its sampler had. */
static inline sgfs_status feed_resume(const unsigned char *bytes, size_t size) {
    static sgfs_config *kept[FEED_SAMPLERS];
    static sgfs_data *data[FEED_SAMPLERS];
    static sgfs_model *model[FEED_SAMPLERS];
    sgfs_err err = {SGFS_OK, ""};
    int k = 0;
    for (int i = 1; i < FEED_SAMPLERS; i++) {
        char said[64];
        snprintf(said, sizeof said, "\"sampler.kind\":\"%s\"", feed_samplers[i]);
        if (memmem(bytes, size, said, strlen(said)) != NULL) k = i;
    }
    if (kept[k] == NULL) {
        kept[k] = feed_run_options(feed_samplers[k]);
        data[k] = feed_beside(kept[k], &err);
        model[k] = sgfs_model_open("logistic", data[k], kept[k], &err);
    }
    FILE *f = fopen(feed_run_path(), "wb");
    if (f == NULL || fwrite(bytes, 1, size, f) != size || fclose(f) != 0)
        FEED_FAIL("the run file cannot be written");
    sgfs_run *run = sgfs_run_resume(model[k], feed_run_path(), kept[k], &err);
    bool idle = run != NULL && sgfs_run_done(run);
    sgfs_status status = run == NULL ? err.code : idle ? SGFS_OK : sgfs_run_step(run, 2, &err);
    sgfs_status closed = run != NULL ? sgfs_run_close(run, status == SGFS_OK ? &err : NULL) : 0;
    if (status == SGFS_OK) status = closed;
    bool other = status == SGFS_ERUNFILE || status == SGFS_ENUMERIC;
    if (!other) feed_check(status, &err, true);
    sgfs_run_free(run);
    return status;
}

/* ---- sketches -------------------------------------------------------------------------------- */

/* A file of every step: columns, the first place, a pass at it, marks. */
enum { FEED_SKETCHES = 4 };

/* at: the place, or NULL. */
static inline sgfs_config *feed_sketch_options(const char *at) {
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = sgfs_config_new();
    const char *const set[][2] = {
        {"run.chains", "1"}, {"run.threads", "1"},         {"run.warmup", "2"}, {"run.draws", "4"},
        {"run.thin", "1"},   {"output.overwrite", "true"}, {"sketch.at", at}};
    for (size_t i = 0; cfg != NULL && i < sizeof set / sizeof set[0]; i++)
        if (set[i][1] != NULL && sgfs_config_set(cfg, set[i][0], set[i][1], &err) != SGFS_OK)
            FEED_FAIL("%s", err.text);
    if (cfg == NULL) FEED_FAIL("no config");
    return cfg;
}

static inline const char *feed_sketch_rows(void) {
    static const char rows[] =
        "x1,x2,y\n0.5,-1,1\n0.25,2,0\n-1.5,0.75,1\n2,1,1\n-0.5,0,0\n1,-2,0\n";
    return feed_put(1, rows, sizeof rows - 1);
}

/* One step; what it writes is where run files are. */
static inline sgfs_status feed_step(const char *model, const char *rows, const char *parts,
                                    const sgfs_config *cfg, sgfs_err *err) {
    sgfs_job *job = sgfs_sketch_open(model, rows, parts, feed_run_path(), cfg, err);
    sgfs_status status = job != NULL ? sgfs_job_run(job, err) : err->code;
    if (status == SGFS_OK) sgfs_text_free(sgfs_job_json(job));
    sgfs_job_free(job);
    return status;
}

/* Made once, from the one before. */
static inline const unsigned char *feed_good_sketch(int which, size_t *size) {
    static unsigned char *kept[FEED_SKETCHES];
    static size_t length[FEED_SKETCHES];
    sgfs_err err = {SGFS_OK, ""};
    if (kept[which] == NULL) {
        size_t before = 0;
        const unsigned char *from =
            which == 1 || which == 2 ? feed_good_sketch(which - 1, &before) : NULL;
        const char *path = from != NULL ? feed_put(2, from, before) : NULL,
                   *rows = feed_sketch_rows();
        sgfs_config *cfg = feed_sketch_options(which == 2 ? path : NULL);
        if (which == 0) (void)sgfs_config_set(cfg, "sketch.columns", "true", &err);
        sgfs_status status = which == 1   ? feed_step(NULL, NULL, path, cfg, &err)
                             : which == 2 ? feed_step(NULL, rows, NULL, cfg, &err)
                                          : feed_step("logistic", rows, NULL, cfg, &err);
        if (status != SGFS_OK) FEED_FAIL("step %d: %s", which, err.text);
        sgfs_config_free(cfg);
        FILE *f = fopen(feed_run_path(), "rb");
        kept[which] = malloc(1 << 20);
        if (f != NULL && kept[which] != NULL) length[which] = fread(kept[which], 1, 1 << 20, f);
        if (length[which] == 0) FEED_FAIL("the sketch cannot be read");
        fclose(f);
        unlink(feed_run_path());
    }
    *size = length[which];
    return kept[which];
}

static inline void feed_sketch_check(sgfs_status status, const sgfs_err *err) {
    bool other = status == SGFS_ERUNFILE || status == SGFS_ENUMERIC;
    if (!other) feed_check(status, err, true);
    unlink(feed_run_path());
}

/* Draws from it; or as the result of a part; or as the place where a part is asked. How many of the
 * three went well. */
static inline int feed_sketch(const unsigned char *bytes, size_t size) {
    const char *path = feed_put(0, bytes, size);
    int good = 0;
    sgfs_err err = {SGFS_OK, ""};
    sgfs_config *cfg = feed_sketch_options(NULL);
    sgfs_status status = sgfs_config_load(cfg, path, &err);
    sgfs_data *data = status == SGFS_OK ? sgfs_data_open(path, cfg, &err) : NULL;
    sgfs_model *model = data != NULL ? sgfs_model_open("logistic", data, cfg, &err) : NULL;
    sgfs_run *run = model != NULL ? sgfs_run_open(model, cfg, &err) : NULL;
    status = run != NULL ? sgfs_run_step(run, 3, &err) : err.code;
    sgfs_run_free(run);
    sgfs_model_free(model);
    sgfs_data_free(data);
    sgfs_config_free(cfg);
    good += status == SGFS_OK;
    feed_sketch_check(status, &err);

    static const char pass[] = "\"step\":\"pass\"";
    bool passes = memmem(bytes, size, pass, sizeof pass - 1) != NULL;
    size_t length = 0;
    const unsigned char *place = passes ? feed_good_sketch(1, &length) : NULL;
    cfg = feed_sketch_options(passes ? feed_put(2, place, length) : NULL);
    err = (sgfs_err){SGFS_OK, ""};
    status = feed_step(NULL, NULL, feed_put(0, bytes, size), cfg, &err);
    sgfs_config_free(cfg);
    good += status == SGFS_OK;
    feed_sketch_check(status, &err);

    cfg = feed_sketch_options(path);
    err = (sgfs_err){SGFS_OK, ""};
    status = feed_step(NULL, feed_sketch_rows(), NULL, cfg, &err);
    sgfs_config_free(cfg);
    good += status == SGFS_OK;
    feed_sketch_check(status, &err);
    return good;
}

/* ---- formulas -------------------------------------------------------------------------------- */

/* The text as a formula, and as groups. */
static inline void feed_formula(const unsigned char *bytes, size_t size) {
    static const char rows[] =
        "animal,a,b,y\nape,0.5,1,1\nbee,0.25,2,0\nape,-1.5,0.75,1\ncat,2,1,0\n";
    static const char *const keys[] = {"data.formula", "data.effects"};
    char text[4097] = "";
    memcpy(text, bytes, size < sizeof text ? size : sizeof text - 1);
    for (int k = 0; k < 2; k++) {
        sgfs_err err = {SGFS_OK, ""};
        sgfs_config *cfg = sgfs_config_new();
        sgfs_status status = sgfs_config_set(cfg, keys[k], text, &err);
        const char *path = feed_put(1, rows, sizeof rows - 1);
        sgfs_data *data = status == SGFS_OK ? sgfs_data_open(path, cfg, &err) : NULL;
        sgfs_model *model = data != NULL ? sgfs_model_open("logistic", data, cfg, &err) : NULL;
        for (char *c = err.text; (c = strchr(c, '\n')) != NULL;)
            *c = ' '; /* the place stands below */
        feed_check(model != NULL ? SGFS_OK : err.code, &err, true);
        sgfs_model_free(model);
        sgfs_data_free(data);
        sgfs_config_free(cfg);
    }
}

/* By the name of the target. */
static inline void feed_any(const char *name, const unsigned char *bytes, size_t size) {
    if (strcmp(name, "run") == 0) feed_run(bytes, size);
    else if (strcmp(name, "predict") == 0) (void)feed_predict(bytes, size);
    else if (strcmp(name, "resume") == 0) (void)feed_resume(bytes, size);
    else if (strcmp(name, "sketch") == 0) (void)feed_sketch(bytes, size);
    else if (strcmp(name, "formula") == 0) feed_formula(bytes, size);
    else if (strcmp(name, "config") == 0) feed_json(bytes, size);
    else if (strcmp(name, "truth") == 0) feed_truth(bytes, size);
    else if (strcmp(name, "start") == 0) feed_option("run.start", "nuts", bytes, size);
    else if (strcmp(name, "prior") == 0) feed_option("prior.file", "nuts", bytes, size);
    else if (strcmp(name, "matrix") == 0) feed_option("sampler.b_file", "sgfs-f", bytes, size);
    else feed_bytes(feed_format_find(name), bytes, size);
}
