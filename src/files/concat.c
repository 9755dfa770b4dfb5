/* SPDX-License-Identifier: MIT
 * concat.c: several files as one table.
 *
 *     read each -> same columns? (agree.c) -> same layout? -> words numbered through -> parts
 *
 * Dense tables become parts of one: nothing is copied, and what is mapped stays in its file. All
 * parts need one type of cell and one place for each column; where files differ in that (formats
 * mixed, columns in another order), those that differ from the common layout are written anew in
 * memory, as doubles where their types differ: exactly what gathering would make of them. Sparse
 * tables are appended, arrays of targets too.
 */
#include "files/concat.h"

#include <stdlib.h>
#include <string.h>

#include "files/packed/packed.h"

/* ---- reading --------------------------------------------------------------------------------- */

static sgfs_status read_one(sgfsi_joining *j, int64_t i, sgfs_err *err) {
    const sgfsi_read_options options = sgfsi_sources_options(&j->sources, i);
    sgfsi_table_free(&j->table[i]);
    return j->sources.reader[i]->read(j->files->path[i], &options, &j->table[i], err);
}

static sgfs_status fail_numbers(const sgfsi_joining *j, int64_t i, int64_t text, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: its targets are numbers, and those of %.150s are texts (\"%.40s\", "
                      "...).",
                      j->files->name[i], j->files->name[text], j->table[text].level[0]);
}

/* Once a target has been text it is text in all files: in later ones at once, and earlier ones are
 * read again. */
static sgfs_status read_all(sgfsi_joining *j, sgfs_err *err) {
    int64_t text = -1;
    for (int64_t i = 0; i < j->count; i++) {
        sgfs_status status = read_one(j, i, err);
        if (status != SGFS_OK) return status;
        if (text < 0 && sgfsi_joining_has_text(&j->table[i])) text = i;
        j->sources.options.words = text >= 0;
    }
    for (int64_t i = 0; text >= 0 && i < j->count; i++) {
        if (sgfsi_joining_has_text(&j->table[i])) continue;
        bool csv = j->sources.reader[i] == &sgfs_reader_csv;
        sgfs_status status = csv ? read_one(j, i, err) : SGFS_OK;
        if (status != SGFS_OK) return status;
        if (!sgfsi_joining_has_text(&j->table[i])) return fail_numbers(j, i, text, err);
    }
    return SGFS_OK;
}

/* A libsvm file has as many features as are seen in it: all have those of the widest. */
static sgfs_status widen_all(sgfsi_joining *j, sgfs_err *err) {
    int64_t widest = 0;
    if (j->sources.options.columns > 0) return SGFS_OK;
    for (int64_t i = 0; i < j->count; i++) {
        const sgfsi_table *t = &j->table[i];
        int64_t features = t->type == SGFSI_CSR ? t->cols : t->cols - 1;
        if (j->sources.reader[i] != &sgfs_reader_libsvm) return SGFS_OK;
        if (features > widest) widest = features;
    }
    j->sources.options.columns = widest;
    for (int64_t i = 0; i < j->count; i++) {
        if (j->table[i].cols == widest + (j->table[i].type != SGFSI_CSR)) continue;
        sgfs_status status = read_one(j, i, err);
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

static sgfs_status match_all(sgfsi_joining *j, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < j->count && status == SGFS_OK; i++)
        status = sgfsi_file_columns_of(&j->shape[i], j->files->name[i], &j->table[i], err);
    if (status != SGFS_OK) return status;
    j->wanted = j->shape[0].wanted;
    j->from = calloc((size_t)(j->count * (j->wanted + 1)), sizeof *j->from);
    if (j->from == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t i = 0; i < j->count && status == SGFS_OK; i++) {
        const sgfsi_file_columns *first = &j->shape[0], *next = &j->shape[i];
        int64_t *from = j->from + i * j->wanted;
        status = sgfsi_file_columns_match(first, next, from, err);
        if (status == SGFS_OK) status = sgfsi_file_columns_match_words(first, next, from, err);
        if (status == SGFS_OK) status = sgfsi_file_columns_match_recipe(first, next, err);
        bool moved = false;
        for (int64_t k = 0; status == SGFS_OK && k < j->wanted; k++) moved |= from[k] != k;
        if (moved && next->table->named) {
            sgfsi_say(j->sources.options.log, SGFS_NOTE,
                      "%s: its columns stand in another order than those of %s; they are found by "
                      "name.",
                      next->path, first->path);
        }
    }
    return status;
}

/* ---- one layout ------------------------------------------------------------------------------ */

static bool same_layout(const sgfsi_joining *j, int64_t i) {
    const sgfsi_table *a = &j->table[0], *b = &j->table[i];
    if (a->type != b->type || a->cols != b->cols || a->row_stride != b->row_stride) return false;
    for (int64_t k = 0; k < j->wanted; k++) {
        if (sgfsi_joining_place(j, 0, k) != sgfsi_joining_place(j, i, k)) return false;
    }
    return true;
}

/* The wanted columns alone, the target among them. */
static bool is_plain(const sgfsi_joining *j, int64_t i, sgfsi_dtype type) {
    const sgfsi_table *t = &j->table[i];
    if (t->type != type || t->cols != j->wanted || t->row_stride != j->wanted) return false;
    for (int64_t k = 0; k < j->wanted; k++) {
        if (sgfsi_joining_place(j, i, k) != k) return false;
    }
    return true;
}

static void copy_rows(const sgfsi_joining *j, int64_t i, sgfsi_dtype type, char *out) {
    const sgfsi_table *t = &j->table[i];
    const size_t size = sgfsi_dtype_size(type);
    const int64_t row_bytes = t->row_stride * (int64_t)sgfsi_dtype_size(t->type);
    for (int64_t r = 0; r < t->rows; r++) {
        const char *row = sgfsi_table_row(t, r, row_bytes);
        for (int64_t k = 0; k < j->wanted; k++, out += size) {
            int64_t col = sgfsi_joining_place(j, i, k);
            double x;
            if (col != SGFSI_Y && t->type == type) {
                memcpy(out, row + (size_t)col * size, size);
                continue;
            }
            x = col == SGFSI_Y ? t->y[r] : sgfsi_table_cell(t->type, row, col);
            memcpy(out, &x, sizeof x); /* type is double here */
        }
    }
}

/* Names, roles and words of the first file's wanted columns, for a table of its own. */
static sgfs_status dress(const sgfsi_joining *j, int64_t i, sgfsi_table *t, sgfs_err *err) {
    const sgfsi_file_columns *s = &j->shape[i];
    t->names = calloc((size_t)j->wanted + 1, sizeof *t->names);
    t->role = malloc((size_t)j->wanted + 1);
    t->dictionary =
        s->table->dictionary != NULL ? calloc((size_t)j->wanted, sizeof *t->dictionary) : NULL;
    if (t->names == NULL || t->role == NULL ||
        (s->table->dictionary != NULL && t->dictionary == NULL)) {
        return sgfsi_fail_memory(err, "the columns");
    }
    for (int64_t k = 0; k < j->wanted; k++) {
        int64_t at = j->from[i * j->wanted + k], col = s->col[at];
        t->names[k] = strdup(sgfsi_file_columns_name(s, at));
        t->role[k] = (unsigned char)sgfsi_file_columns_role(s, at);
        if (t->names[k] == NULL) return sgfsi_fail_memory(err, "the columns");
        if (col != SGFSI_Y && col == s->table->text_col) t->text_col = k;
        if (t->dictionary == NULL || col == SGFSI_Y) continue;
        t->dictionary[k] = s->table->dictionary[col]; /* moved */
        s->table->dictionary[col] = (sgfsi_dictionary){0};
    }
    return SGFS_OK;
}

/* Table i written anew: its wanted columns in the first file's order. */
static sgfs_status rewrite(sgfsi_joining *j, int64_t i, sgfsi_dtype type, sgfs_err *err) {
    sgfs_status status = sgfsi_packed_verify(&j->table[i], j->sources.options.log, err);
    if (status != SGFS_OK) return status;
    sgfsi_table *old = &j->table[i], t = {.rows = old->rows,
                                          .cols = j->wanted,
                                          .row_stride = j->wanted,
                                          .type = type,
                                          .named = old->named,
                                          .shuffled = old->shuffled,
                                          .text_col = -1,
                                          .text_line = old->text_line,
                                          .text_level = old->text_level};
    size_t cells, bytes;
    bool huge = __builtin_mul_overflow((size_t)t.rows, (size_t)t.cols, &cells) ||
                __builtin_mul_overflow(cells, sgfsi_dtype_size(type), &bytes);
    t.owned = huge ? NULL : malloc(bytes);
    t.cells = t.owned;
    status =
        t.owned != NULL ? dress(j, i, &t, err) : sgfsi_fail_memory(err, "a file in another layout");
    if (status != SGFS_OK) {
        sgfsi_table_free(&t);
        return status;
    }
    copy_rows(j, i, type, t.owned);
    t.level = old->level; /* moved */
    t.levels = old->levels;
    t.recipe = old->recipe;
    old->level = NULL;
    old->levels = 0;
    old->recipe = NULL;
    sgfsi_table_free(old);
    *old = t;
    for (int64_t k = 0; k < j->wanted; k++) j->from[i * j->wanted + k] = j->shape[i].col[k] = k;
    j->shape[i].wanted = j->wanted;
    return SGFS_OK;
}

static sgfs_status lay_out_alike(sgfsi_joining *j, sgfs_err *err) {
    bool alike = true, mixed = false;
    for (int64_t i = 1; i < j->count && alike; i++) alike = same_layout(j, i);
    if (alike) return SGFS_OK;
    for (int64_t i = 0; i < j->count; i++)
        mixed = mixed || j->table[i].type != j->table[0].type || j->table[i].y != NULL;
    sgfsi_dtype type = mixed ? SGFSI_F64 : j->table[0].type;
    for (int64_t i = 0; i < j->count; i++) {
        sgfs_status status = is_plain(j, i, type) ? SGFS_OK : rewrite(j, i, type, err);
        if (status != SGFS_OK) return status;
    }
    return SGFS_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Targets that are arrays of their own, one after another. */
static sgfs_status append_y(sgfsi_joining *j, int64_t rows, sgfs_err *err) {
    sgfsi_table *a = &j->table[0];
    if (a->y == NULL) return SGFS_OK;
    double *y = realloc(a->y, (size_t)rows * sizeof *y);
    if (y == NULL) return sgfsi_fail_memory(err, "the targets");
    a->y = y;
    y += a->rows;
    for (int64_t i = 1; i < j->count; i++) {
        memcpy(y, j->table[i].y, (size_t)j->table[i].rows * sizeof *y);
        y += j->table[i].rows;
    }
    return SGFS_OK;
}

static sgfs_status append_csr(sgfsi_joining *j, int64_t rows, sgfs_err *err) {
    sgfsi_table *a = &j->table[0];
    int64_t entries = 0;
    for (int64_t i = 0; i < j->count; i++) entries += j->table[i].csr.start[j->table[i].rows];
    int64_t *start = realloc((void *)a->csr.start, (size_t)(rows + 1) * sizeof *start);
    if (start != NULL) a->csr.start = start;
    int32_t *col = realloc((void *)a->csr.col, (size_t)(entries + 1) * sizeof *col);
    if (col != NULL) a->csr.col = col;
    double *value = realloc((void *)a->csr.value, (size_t)(entries + 1) * sizeof *value);
    if (value != NULL) a->csr.value = value;
    if (start == NULL || col == NULL || value == NULL)
        return sgfsi_fail_memory(err, "the rows of all files");
    int64_t row = a->rows, at = start[a->rows];
    for (int64_t i = 1; i < j->count; i++) {
        const sgfsi_table *b = &j->table[i];
        int64_t more = b->csr.start[b->rows];
        memcpy(col + at, b->csr.col, (size_t)more * sizeof *col);
        memcpy(value + at, b->csr.value, (size_t)more * sizeof *value);
        for (int64_t r = 1; r <= b->rows; r++) start[row + r] = at + b->csr.start[r];
        row += b->rows;
        at += more;
    }
    return SGFS_OK;
}

/* The rows of table i as parts from part[*to] on; they are its no longer. */
static sgfs_status move_rows(sgfsi_joining *j, int64_t i, int64_t first, sgfsi_part *part,
                             int64_t *to, sgfs_err *err) {
    sgfsi_table *t = &j->table[i];
    const int64_t begin = *to;
    for (int64_t k = 0; k < t->parts; k++) {
        part[*to] = t->part[k];
        part[*to].first += first;
        ++*to;
    }
    if (t->parts == 0) {
        part[(*to)++] = (sgfsi_part){.first = first,
                                     .rows = t->rows,
                                     .cells = t->cells,
                                     .chunk_rows = t->rows,
                                     .owned = t->owned,
                                     .map = t->map,
                                     .map_bytes = t->map_bytes};
    }
    free(t->part);
    t->part = NULL;
    t->parts = 0;
    t->cells = t->owned = t->map = NULL;
    for (int64_t k = begin; k < *to; k++) { /* by the name people know */
        char *name = strdup(j->files->name[i]);
        if (name == NULL) return sgfsi_fail_memory(err, "the list of files");
        free(part[k].path);
        part[k].path = name;
    }
    return SGFS_OK;
}

static sgfs_status append_parts(sgfsi_joining *j, sgfs_err *err) {
    sgfsi_table *a = &j->table[0];
    int64_t parts = 0, first = 0, to = 0;
    for (int64_t i = 0; i < j->count; i++) parts += j->table[i].parts > 0 ? j->table[i].parts : 1;
    sgfsi_part *part = calloc((size_t)parts, sizeof *part);
    if (part == NULL) return sgfsi_fail_memory(err, "the list of files");
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < j->count && status == SGFS_OK; i++) {
        status = move_rows(j, i, first, part, &to, err);
        first += j->table[i].rows;
    }
    a->part = part; /* those moved so far are freed with it */
    a->parts = to;
    return status;
}

static sgfs_status count_rows(const sgfsi_joining *j, int64_t *rows, sgfs_err *err) {
    *rows = 0;
    for (int64_t i = 0; i < j->count; i++) {
        if (__builtin_add_overflow(*rows, j->table[i].rows, rows) || *rows > INT64_MAX / 16)
            return sgfsi_fail(err, SGFS_EDATA, "%.150s: have too many rows.", j->files->shown);
    }
    return SGFS_OK;
}

static sgfs_status append_all(sgfsi_joining *j, sgfs_err *err) {
    int64_t rows;
    bool sparse = j->table[0].type == SGFSI_CSR;
    sgfs_status status = count_rows(j, &rows, err);
    if (status == SGFS_OK) status = sgfsi_joining_stats(j, err);
    if (status == SGFS_OK) status = append_y(j, rows, err);
    if (status == SGFS_OK) status = sparse ? append_csr(j, rows, err) : append_parts(j, err);
    if (status == SGFS_OK) j->table[0].rows = rows;
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static sgfs_status refuse_mixed(const sgfsi_joining *j, sgfs_err *err) {
    for (int64_t i = 1; i < j->count; i++) {
        bool a = j->table[0].type == SGFSI_CSR, b = j->table[i].type == SGFSI_CSR;
        if (a == b) continue;
        return sgfsi_fail(err, SGFS_EDATA,
                          "%.150s: is sparse, and %.150s is not; --dense fills it up with its "
                          "zeros.",
                          j->files->name[a ? 0 : i], j->files->name[a ? i : 0]);
    }
    return SGFS_OK;
}

static sgfs_status join(sgfsi_joining *j, sgfs_err *err) {
    sgfs_status status = read_all(j, err);
    if (status != SGFS_OK || j->count == 1) return status;
    status = refuse_mixed(j, err);
    if (status == SGFS_OK) status = widen_all(j, err);
    if (status == SGFS_OK) status = match_all(j, err);
    if (status == SGFS_OK && j->table[0].type != SGFSI_CSR) status = lay_out_alike(j, err);
    if (status == SGFS_OK) status = sgfsi_joining_words(j, err);
    return status == SGFS_OK ? append_all(j, err) : status;
}

static sgfs_status read_several(sgfsi_files *files, const sgfsi_read_options *options,
                                sgfsi_table *table, sgfs_err *err) {
    size_t count = (size_t)files->count;
    sgfsi_joining j = {.files = files, .count = files->count};
    sgfs_status status = sgfsi_sources_open(&j.sources, files->count,
                                            (const char *const *)files->path, options, err);
    if (status != SGFS_OK) return status;
    j.table = calloc(count, sizeof *j.table);
    j.shape = calloc(count, sizeof *j.shape);
    status = j.table != NULL && j.shape != NULL ? join(&j, err)
                                                : sgfsi_fail_memory(err, "the list of files");
    if (status != SGFS_OK) sgfsi_files_tidy(&j.sources.labels, err);
    for (int64_t i = 0; i < j.count; i++) {
        bool kept = i == 0 && status == SGFS_OK;
        if (j.shape != NULL) sgfsi_file_columns_free(&j.shape[i]);
        if (j.table == NULL) continue;
        if (kept) *table = j.table[0];
        else sgfsi_table_free(&j.table[i]);
    }
    sgfsi_sources_close(&j.sources);
    free(j.table);
    free(j.shape);
    free(j.from);
    return status;
}

sgfs_status sgfsi_files_read(sgfsi_files *files, const sgfsi_read_options *options,
                             sgfsi_table *table, sgfs_err *err) {
    sgfs_err own;
    if (err == NULL) err = &own;
    sgfsi_read_options tidied = *options;
    bool labels = options->labels != NULL && options->labels[0] != '\0'; /* may be a pipe, too */
    tidied.log = sgfsi_files_log(files, options->log);
    memset(table, 0, sizeof *table);
    sgfs_status status = files->count == 1 && !labels
                             ? sgfsi_table_read(files->path[0], &tidied, table, err)
                             : read_several(files, &tidied, table, err);
    if (status != SGFS_OK) sgfsi_files_tidy(files, err);
    return status;
}
