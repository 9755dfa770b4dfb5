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
 *
 * Words (levels of a text target, --categorical) are numbers within a file, in order of first
 * appearance there. Those of later files are renumbered to go on where the earlier ones stopped, so
 * that the result is that of one long file. Labels "1" in one file and "a" in another are texts in
 * both: the first file is then read again as text.
 *
 * What files say of their columns is put together by the rule of Chan, Golub and LeVeque (1979):
 *     delta = mean_b - mean_a,  n = n_a + n_b
 *     mean = mean_a + delta n_b / n,   ss = ss_a + ss_b + delta^2 n_a n_b / n
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "data/agree.h"
#include "data/columns.h"
#include "data/glossary.h"
#include "data/levels.h"
#include "data/packed.h"
#include "data/sources.h"

typedef struct joining {
    sgfsi_files *files;
    sgfsi_sources sources;
    int64_t count;
    sgfsi_table *table; /* count */
    sgfsi_shape *shape; /* count */
    int64_t *from;      /* count x wanted: which of its columns is the first's k-th */
    int64_t wanted;
    bool renumbered; /* targets are other numbers than their files say */
} joining;

/* ---- reading --------------------------------------------------------------------------------- */

static sgfs_status read_one(joining *j, int64_t i, sgfs_err *err) {
    const sgfsi_read_options options = sgfsi_sources_options(&j->sources, i);
    sgfsi_table_free(&j->table[i]);
    return j->sources.reader[i]->read(j->files->path[i], &options, &j->table[i], err);
}

static bool has_text(const sgfsi_table *t) {
    return t->text_col >= 0 && t->levels > 0;
}

static sgfs_status fail_numbers(const joining *j, int64_t i, int64_t text, sgfs_err *err) {
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: its targets are numbers, and those of %.150s are texts (\"%.40s\", "
                      "...).",
                      j->files->name[i], j->files->name[text], j->table[text].level[0]);
}

/* Once a target has been text it is text in all files: in later ones at once, and earlier ones are
 * read again. */
static sgfs_status read_all(joining *j, sgfs_err *err) {
    int64_t text = -1;
    for (int64_t i = 0; i < j->count; i++) {
        sgfs_status status = read_one(j, i, err);
        if (status != SGFS_OK) return status;
        if (text < 0 && has_text(&j->table[i])) text = i;
        j->sources.options.words = text >= 0;
    }
    for (int64_t i = 0; text >= 0 && i < j->count; i++) {
        if (has_text(&j->table[i])) continue;
        bool csv = j->sources.reader[i] == &sgfs_reader_csv;
        sgfs_status status = csv ? read_one(j, i, err) : SGFS_OK;
        if (status != SGFS_OK) return status;
        if (!has_text(&j->table[i])) return fail_numbers(j, i, text, err);
    }
    return SGFS_OK;
}

/* A libsvm file has as many features as are seen in it: all have those of the widest. */
static sgfs_status widen_all(joining *j, sgfs_err *err) {
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

static sgfs_status match_all(joining *j, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < j->count && status == SGFS_OK; i++)
        status = sgfsi_shape_of(&j->shape[i], j->files->name[i], &j->table[i], err);
    if (status != SGFS_OK) return status;
    j->wanted = j->shape[0].wanted;
    j->from = calloc((size_t)(j->count * (j->wanted + 1)), sizeof *j->from);
    if (j->from == NULL) return sgfsi_fail_memory(err, "the columns");
    for (int64_t i = 0; i < j->count && status == SGFS_OK; i++) {
        const sgfsi_shape *first = &j->shape[0], *next = &j->shape[i];
        int64_t *from = j->from + i * j->wanted;
        status = sgfsi_shape_match(first, next, from, err);
        if (status == SGFS_OK) status = sgfsi_shape_match_words(first, next, from, err);
        if (status == SGFS_OK) status = sgfsi_shape_match_recipe(first, next, err);
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

/* Column of table i that is the first's k-th wanted one, or SGFSI_Y. */
static int64_t place(const joining *j, int64_t i, int64_t k) {
    return j->shape[i].col[j->from[i * j->wanted + k]];
}

/* ---- one layout ------------------------------------------------------------------------------ */

static bool same_layout(const joining *j, int64_t i) {
    const sgfsi_table *a = &j->table[0], *b = &j->table[i];
    if (a->type != b->type || a->cols != b->cols || a->row_stride != b->row_stride) return false;
    for (int64_t k = 0; k < j->wanted; k++) {
        if (place(j, 0, k) != place(j, i, k)) return false;
    }
    return true;
}

/* The wanted columns alone, the target among them. */
static bool is_plain(const joining *j, int64_t i, sgfsi_dtype type) {
    const sgfsi_table *t = &j->table[i];
    if (t->type != type || t->cols != j->wanted || t->row_stride != j->wanted) return false;
    for (int64_t k = 0; k < j->wanted; k++) {
        if (place(j, i, k) != k) return false;
    }
    return true;
}

static void copy_rows(const joining *j, int64_t i, sgfsi_dtype type, char *out) {
    const sgfsi_table *t = &j->table[i];
    const size_t size = sgfsi_dtype_size(type);
    const int64_t row_bytes = t->row_stride * (int64_t)sgfsi_dtype_size(t->type);
    for (int64_t r = 0; r < t->rows; r++) {
        const char *row = sgfsi_table_row(t, r, row_bytes);
        for (int64_t k = 0; k < j->wanted; k++, out += size) {
            int64_t col = place(j, i, k);
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
static sgfs_status dress(const joining *j, int64_t i, sgfsi_table *t, sgfs_err *err) {
    const sgfsi_shape *s = &j->shape[i];
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
        t->names[k] = strdup(sgfsi_shape_name(s, at));
        t->role[k] = (unsigned char)sgfsi_shape_role(s, at);
        if (t->names[k] == NULL) return sgfsi_fail_memory(err, "the columns");
        if (col != SGFSI_Y && col == s->table->text_col) t->text_col = k;
        if (t->dictionary == NULL || col == SGFSI_Y) continue;
        t->dictionary[k] = s->table->dictionary[col]; /* moved */
        s->table->dictionary[col] = (sgfsi_dictionary){0};
    }
    return SGFS_OK;
}

/* Table i written anew: its wanted columns in the first file's order. */
static sgfs_status rewrite(joining *j, int64_t i, sgfsi_dtype type, sgfs_err *err) {
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

static sgfs_status lay_out_alike(joining *j, sgfs_err *err) {
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

/* ---- words ----------------------------------------------------------------------------------- */

/* map[code]: number of the word among all; *changed: some number is another one. */
static sgfs_status number_words(sgfsi_glossary *all, int64_t count, char *const *word, int64_t *map,
                                bool *changed, sgfs_err *err) {
    *changed = false;
    for (int64_t c = 0; c < count; c++) {
        map[c] = sgfsi_glossary_add(all, word[c]);
        if (map[c] < 0) return sgfsi_fail_memory(err, "the words");
        *changed = *changed || map[c] != c;
    }
    return SGFS_OK;
}

/* In place: what a reader has made of text is doubles or floats in memory. */
static void renumber(const sgfsi_table *t, int64_t col, const int64_t *map) {
    double *wide = t->type == SGFSI_F64 ? t->owned : NULL;
    float *narrow = t->type == SGFSI_F32 ? t->owned : NULL;
    for (int64_t r = 0; r < t->rows; r++) {
        int64_t at = r * t->row_stride + col;
        if (wide != NULL) wide[at] = (double)map[(int64_t)wide[at]];
        else narrow[at] = (float)map[(int64_t)narrow[at]];
    }
}

static bool can_be_changed(const sgfsi_table *t) {
    return t->owned != NULL && (t->type == SGFSI_F64 || t->type == SGFSI_F32);
}

typedef struct column_words {
    int64_t count;
    char **word;
    int64_t col;
} column_words;

/* The words of table i, of the k-th wanted column; k < 0: its target's levels. */
static column_words words_of(const joining *j, int64_t i, int64_t k) {
    const sgfsi_table *t = &j->table[i];
    if (k < 0) return (column_words){t->levels, t->level, t->text_col};
    int64_t col = place(j, i, k);
    return (column_words){t->dictionary[col].count, t->dictionary[col].word, col};
}

static sgfs_status renumber_all(joining *j, int64_t k, sgfsi_glossary *all, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < j->count && status == SGFS_OK; i++) {
        column_words w = words_of(j, i, k);
        int64_t *map = malloc((size_t)(w.count + 1) * sizeof *map);
        bool changed = false;
        status = map != NULL ? number_words(all, w.count, w.word, map, &changed, err)
                             : sgfsi_fail_memory(err, "the words");
        if (status == SGFS_OK && changed && !can_be_changed(&j->table[i])) {
            status = sgfsi_fail(err, SGFS_EDATA,
                                "%.150s: its words (\"%.40s\", ...) are numbered otherwise than in "
                                "%.150s; put the files into one: sgfs pack --data ... --out "
                                "all.sgd",
                                j->files->name[i], w.word[0], j->files->name[0]);
        } else if (status == SGFS_OK && changed) {
            renumber(&j->table[i], w.col, map);
            j->renumbered = j->renumbered || k < 0;
        }
        if (status == SGFS_OK && k < 0 && i > 0 && j->table[0].text_path == NULL &&
            j->table[0].text_line == 0 && j->table[i].text_line > 0) {
            /* the first file was read as text because of this one */
            j->table[0].text_line = j->table[i].text_line;
            j->table[0].text_level = map[j->table[i].text_level];
            j->table[0].text_path = strdup(j->files->name[i]);
        }
        free(map);
    }
    return status;
}

static sgfs_status check_levels(const joining *j, const sgfsi_glossary *all, sgfs_err *err) {
    if (all->count <= SGFSI_MAX_LEVELS) return SGFS_OK;
    const sgfsi_table *t = &j->table[0];
    return sgfsi_fail(err, SGFS_EDATA,
                      "%.150s: the target \"%.40s\" holds text (\"%.40s\", ...) with more than %d "
                      "different values in all files; is --target the right column?",
                      j->files->shown, t->names[t->text_col], all->text[0], SGFSI_MAX_LEVELS);
}

/* The list of all words takes the place of the first table's. */
static void hand_over(sgfsi_glossary *all, char ***word, int64_t *count) {
    sgfsi_names_free(*word, *count);
    *word = all->text;
    *count = all->count;
    all->text = NULL;
    all->count = 0;
}

static sgfs_status join_words(joining *j, sgfs_err *err) {
    sgfsi_table *t = &j->table[0];
    sgfs_status status = SGFS_OK;
    for (int64_t k = -1; k < j->wanted && status == SGFS_OK; k++) {
        bool any = k < 0 ? has_text(t)
                         : t->dictionary != NULL && place(j, 0, k) != SGFSI_Y &&
                               t->dictionary[place(j, 0, k)].count > 0;
        sgfsi_glossary all = {0};
        if (!any) continue;
        status = renumber_all(j, k, &all, err);
        if (status == SGFS_OK && k < 0) status = check_levels(j, &all, err);
        if (status == SGFS_OK && k < 0) {
            if (t->text_path == NULL) t->text_path = strdup(j->files->name[0]);
            hand_over(&all, &t->level, &t->levels);
        } else if (status == SGFS_OK) {
            sgfsi_dictionary *d = &t->dictionary[place(j, 0, k)];
            hand_over(&all, &d->word, &d->count);
        }
        sgfsi_glossary_free(&all);
    }
    return status;
}

/* ---- what files say of their columns --------------------------------------------------------- */

static void join_column(sgfsi_column_told *a, const sgfsi_column_told *b) {
    double n = a->rows + b->rows, delta = b->mean - a->mean;
    if (b->rows == 0) return;
    if (a->rows == 0) {
        *a = *b;
        return;
    }
    a->mean += delta * (b->rows / n);
    a->ss += b->ss + delta * delta * (a->rows * (b->rows / n));
    a->min = b->min < a->min ? b->min : a->min;
    a->max = b->max > a->max ? b->max : a->max;
    a->rows = n;
}

static void forget_values(sgfsi_table *t) {
    free(t->value);
    free(t->value_rows);
    t->value = t->value_rows = NULL;
    t->values = 0;
}

/* The values of b among those of a; both increase. */
static sgfs_status join_values(sgfsi_table *a, const sgfsi_table *b, sgfs_err *err) {
    int64_t most = a->values + b->values, n = 0, i = 0, k = 0;
    double *value = malloc((size_t)most * sizeof *value),
           *rows = malloc((size_t)most * sizeof *rows);
    if (value == NULL || rows == NULL) {
        free(value);
        free(rows);
        return sgfsi_fail_memory(err, "the values of the target");
    }
    while (i < a->values || k < b->values) {
        bool left = k == b->values || (i < a->values && a->value[i] <= b->value[k]);
        bool right = i == a->values || (k < b->values && b->value[k] <= a->value[i]);
        value[n] = left ? a->value[i] : b->value[k];
        rows[n++] = (left ? a->value_rows[i] : 0) + (right ? b->value_rows[k] : 0);
        i += left;
        k += right;
    }
    forget_values(a);
    a->value = value;
    a->value_rows = rows;
    a->values = n;
    return SGFS_OK;
}

static sgfs_status join_told(joining *j, sgfs_err *err) {
    sgfsi_table *a = &j->table[0];
    bool told = !j->renumbered, values = !j->renumbered;
    for (int64_t i = 0; i < j->count; i++) {
        told = told && j->table[i].told != NULL;
        values = values && j->table[i].values > 0;
        a->shuffled = a->shuffled && j->table[i].shuffled;
    }
    if (!told) {
        free(a->told);
        a->told = NULL;
    }
    if (!values) forget_values(a);
    sgfs_status status = SGFS_OK;
    for (int64_t i = 1; i < j->count && status == SGFS_OK; i++) {
        for (int64_t col = 0; told && col < a->cols; col++)
            join_column(&a->told[col], &j->table[i].told[col]);
        if (values) status = join_values(a, &j->table[i], err);
    }
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Targets that are arrays of their own, one after another. */
static sgfs_status append_y(joining *j, int64_t rows, sgfs_err *err) {
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

static sgfs_status append_csr(joining *j, int64_t rows, sgfs_err *err) {
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
static sgfs_status move_rows(joining *j, int64_t i, int64_t first, sgfsi_part *part, int64_t *to,
                             sgfs_err *err) {
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

static sgfs_status append_parts(joining *j, sgfs_err *err) {
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

static sgfs_status count_rows(const joining *j, int64_t *rows, sgfs_err *err) {
    *rows = 0;
    for (int64_t i = 0; i < j->count; i++) {
        if (__builtin_add_overflow(*rows, j->table[i].rows, rows) || *rows > INT64_MAX / 16)
            return sgfsi_fail(err, SGFS_EDATA, "%.150s: have too many rows.", j->files->shown);
    }
    return SGFS_OK;
}

static sgfs_status append_all(joining *j, sgfs_err *err) {
    int64_t rows;
    bool sparse = j->table[0].type == SGFSI_CSR;
    sgfs_status status = count_rows(j, &rows, err);
    if (status == SGFS_OK) status = join_told(j, err);
    if (status == SGFS_OK) status = append_y(j, rows, err);
    if (status == SGFS_OK) status = sparse ? append_csr(j, rows, err) : append_parts(j, err);
    if (status == SGFS_OK) j->table[0].rows = rows;
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static sgfs_status refuse_mixed(const joining *j, sgfs_err *err) {
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

static sgfs_status join(joining *j, sgfs_err *err) {
    sgfs_status status = read_all(j, err);
    if (status != SGFS_OK || j->count == 1) return status;
    status = refuse_mixed(j, err);
    if (status == SGFS_OK) status = widen_all(j, err);
    if (status == SGFS_OK) status = match_all(j, err);
    if (status == SGFS_OK && j->table[0].type != SGFSI_CSR) status = lay_out_alike(j, err);
    if (status == SGFS_OK) status = join_words(j, err);
    return status == SGFS_OK ? append_all(j, err) : status;
}

static sgfs_status read_several(sgfsi_files *files, const sgfsi_read_options *options,
                                sgfsi_table *table, sgfs_err *err) {
    size_t count = (size_t)files->count;
    joining j = {.files = files, .count = files->count};
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
        if (j.shape != NULL) sgfsi_shape_free(&j.shape[i]);
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
