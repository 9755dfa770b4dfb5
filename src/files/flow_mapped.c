/* SPDX-License-Identifier: MIT
 * flow_mapped.c: a table that stays in its file, from its first row to its last, as a flow.
 *
 * Rows come as they are read from memory, so the kernel reads ahead, and pages that have been taken
 * are given back: a file larger than memory passes through little of it. Chunks of packed files are
 * checked before their rows are believed.
 */
#include "files/flow.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "files/columns.h"
#include "files/join_words.h"
#include "files/packed/packed.h"
#include "files/same_columns.h"

enum { DROP_BYTES = 1 << 26 }; /* of pages taken, between two times that they are given back */

typedef struct mapped {
    sgfsi_table table;
    sgfsi_file_columns shape; /* which columns are wanted */
    int64_t row;              /* the next one */
    const char *begin;        /* of pages that have not been given back; NULL: not mapped */
    sgfsi_joint_file *joint;  /* NULL: rows come as they are */
} mapped;

/* ---- the columns ----------------------------------------------------------------------------- */

sgfs_status sgfsi_flow_head(const sgfsi_file_columns *shape, sgfsi_table *head, sgfs_err *err) {
    const sgfsi_table *t = shape->table;
    *head = (sgfsi_table){.rows = t->rows,
                          .cols = shape->wanted,
                          .row_stride = shape->wanted,
                          .type = t->type,
                          .named = t->named,
                          .fewer = t->fewer,
                          .shuffled = t->shuffled,
                          .text_col = -1,
                          .text_line = t->text_line,
                          .text_level = t->text_level};
    head->names = calloc((size_t)shape->wanted + 1, sizeof *head->names);
    head->role = malloc((size_t)shape->wanted + 1);
    bool made = head->names != NULL && head->role != NULL;
    for (int64_t k = 0; made && k < shape->wanted; k++) {
        head->names[k] = strdup(sgfsi_file_columns_name(shape, k));
        head->role[k] = (unsigned char)sgfsi_file_columns_role(shape, k);
        made = head->names[k] != NULL;
        if (t->text_col >= 0 && shape->col[k] == t->text_col) head->text_col = k;
    }
    if (made && head->text_col >= 0) {
        head->levels = t->levels;
        head->level = sgfsi_names_copy(t->level, t->levels);
        made = head->level != NULL;
    }
    if (t->dictionary != NULL)
        head->dictionary = calloc((size_t)shape->wanted + 1, sizeof *head->dictionary);
    made = made && (t->dictionary == NULL || head->dictionary != NULL);
    for (int64_t k = 0; made && t->dictionary != NULL && k < shape->wanted; k++) {
        const sgfsi_dictionary *d = sgfsi_file_columns_words(shape, k);
        if (d == NULL) continue;
        head->dictionary[k] = (sgfsi_dictionary){d->count, sgfsi_names_copy(d->word, d->count)};
        made = head->dictionary[k].word != NULL;
    }
    if (t->stats != NULL) head->stats = malloc((size_t)(shape->wanted + 1) * sizeof *head->stats);
    made = made && (t->stats == NULL || head->stats != NULL);
    for (int64_t k = 0; made && t->stats != NULL && k < shape->wanted; k++)
        head->stats[k] = t->stats[shape->col[k]];
    if (t->recipe != NULL) head->recipe = sgfsi_json_copy(t->recipe);
    made = made && (t->recipe == NULL || head->recipe != NULL);
    return made ? SGFS_OK : sgfsi_fail_memory(err, "the columns");
}

/* ---- the rows -------------------------------------------------------------------------------- */

static sgfs_status next(sgfsi_flow *flow, int64_t most, sgfsi_flow_block *block, sgfs_err *err) {
    mapped *w = flow->self;
    const size_t size = sgfsi_dtype_size(w->table.type), out = (size_t)w->shape.wanted * size;
    const int64_t row_bytes = w->table.row_stride * (int64_t)size;
    const bool all = w->shape.wanted == w->table.cols;
    int64_t left = w->table.rows - w->row, n = left < most ? left : most;
    block->n = 0;
    for (int64_t i = 0; i < n; i++) {
        const sgfsi_part *p = w->table.parts > 0 ? sgfsi_table_part(&w->table, w->row + i) : NULL;
        int64_t at = p != NULL ? w->row + i - p->first : 0;
        bool starts = p != NULL && p->packed != NULL && at % p->chunk_rows == 0; /* a chunk */
        sgfs_status status = starts ? sgfsi_packed_check(p, at / p->chunk_rows, err) : SGFS_OK;
        if (status != SGFS_OK) return status;
        const char *row = sgfsi_table_row(&w->table, w->row + i, row_bytes);
        char *to = (char *)block->cells + (size_t)i * out;
        if (w->joint != NULL)
            sgfsi_joint_row(w->joint, row, (double *)block->cells + i * flow->head.cols);
        else if (all) memcpy(to, row, out);
        for (int64_t k = 0; k < w->shape.wanted && !all && w->joint == NULL; k++, to += size)
            memcpy(to, row + (size_t)w->shape.col[k] * size, size);
        if (block->line != NULL) block->line[i] = w->row + i + 1;
    }
    block->n = n;
    w->row += n;
    if (w->row == w->table.rows || w->begin == NULL) return SGFS_OK;
    /* Whole pages that lie before the next row are given back. */
    const char *row = sgfsi_table_row(&w->table, w->row, row_bytes);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)w->begin,
              to = (uintptr_t)row / page * page;
    if (to < from + DROP_BYTES) return SGFS_OK;
    (void)madvise((void *)from, to - from, MADV_DONTNEED);
    w->begin = (const char *)to;
    return SGFS_OK;
}

static double fraction(const sgfsi_flow *flow) {
    const mapped *w = flow->self;
    return (double)w->row / (double)w->table.rows;
}

static void close_mapped(sgfsi_flow *flow) {
    mapped *w = flow->self;
    if (w == NULL) return;
    sgfsi_file_columns_free(&w->shape);
    sgfsi_joint_file_free(w->joint);
    sgfsi_table_free(&w->table);
    free(w);
    flow->self = NULL;
}

sgfs_status sgfsi_flow_mapped(sgfsi_flow *flow, const sgfs_reader_kind *reader, const char *path,
                              const sgfsi_read_options *options, sgfs_err *err) {
    mapped *w = calloc(1, sizeof *w);
    *flow = (sgfsi_flow){.self = w, .next = next, .fraction = fraction, .close = close_mapped};
    if (w == NULL) return sgfsi_fail_memory(err, "a reader");
    sgfs_status status = reader->map(path, options, &w->table, err);
    if (status == SGFS_OK) status = sgfsi_file_columns_of(&w->shape, path, &w->table, err);
    if (status == SGFS_OK && options->joint != NULL)
        status = sgfsi_joint_file_open(&w->joint, options->joint, &w->table, &flow->head, err);
    else if (status == SGFS_OK) status = sgfsi_flow_head(&w->shape, &flow->head, err);
    if (status != SGFS_OK) return sgfsi_flow_close(flow), status;
    const sgfsi_table *t = &w->table;
    void *map = t->parts == 1 ? t->part[0].map : t->map; /* it begins on a page */
    size_t bytes = t->parts == 1 ? t->part[0].map_bytes : t->map_bytes;
    if (map != NULL) (void)madvise(map, bytes, MADV_SEQUENTIAL);
    w->begin = map;
    return SGFS_OK;
}
