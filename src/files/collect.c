/* SPDX-License-Identifier: MIT
 * collect.c: a table over one file or several.
 *
 *     every file can be mapped, and all lie alike    parts of one table, where they are
 *     else                                           their flow (flow.h), kept in memory
 *
 * Files lie alike where their cells have one type and each wanted column one place. Where they do
 * not (formats mixed, columns in another order), all rows are copied; as doubles where types
 * differ: exactly what gathering would make of them.
 *
 * The cells of a table in memory grow once to what the file as a whole should need, going by its
 * first rows, or are doubled where its length is unknown. They are trimmed at the end: only what
 * has been written takes memory.
 */
#include "files/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/moments.h"
#include "base/scratch.h"
#include "base/ticker.h"
#include "base/words.h"
#include "files/columns.h"
#include "files/flow.h"
#include "files/packed/packed.h"
#include "files/same_columns.h"
#include "files/sources.h"

enum { LEAST_BYTES = 1 << 20, LEAST_ENTRIES = 1024, MOST_UNLOOKED = 1 << 24 };

/* ---- mapped ---------------------------------------------------------------------------------- */

typedef struct maps {
    int64_t count;
    sgfsi_sources sources;
    sgfsi_table *table;          /* count */
    sgfsi_file_columns *columns; /* count */
    bool alike;
    bool renumbered; /* some know more words than the first */
} maps;

/* The levels of all, where numbers of the first mean the same in every file. */
static sgfs_status join_levels(maps *m, sgfs_err *err) {
    sgfsi_table *a = &m->table[0];
    sgfsi_word_list all = {0};
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < m->count && status == SGFS_OK; i++) {
        const sgfsi_table *t = &m->table[i];
        if ((t->levels > 0) != (a->levels > 0)) {
            int64_t text = a->levels > 0 ? 0 : i, other = a->levels > 0 ? i : 0;
            status = sgfsi_fail_targets(m->sources.path[other], m->sources.path[text],
                                        m->table[text].level[0], err);
        }
        for (int64_t k = 0; k < t->levels && status == SGFS_OK; k++) {
            int64_t number = sgfsi_words_add(&all, t->level[k], strlen(t->level[k]));
            if (number < 0) status = sgfsi_fail_memory(err, "the words");
            if (number < 0 || number == k) continue;
            status =
                sgfsi_fail(err, SGFS_EDATA,
                           "%.150s: its words (\"%.40s\", ...) are numbered otherwise than in "
                           "%.150s; put the files into one: sgfs pack %.60s ... --out all.sgd",
                           m->sources.path[i], t->level[0], m->sources.path[0], m->sources.path[0]);
        }
        m->renumbered = m->renumbered || all.count > a->levels;
    }
    if (status == SGFS_OK && all.count > a->levels) {
        sgfsi_names_free(a->level, a->levels);
        a->level = all.text;
        a->levels = all.count;
        all.text = NULL;
        all.count = 0;
    }
    sgfsi_words_free(&all);
    return status;
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
    sgfsi_table_forget_values(a);
    a->value = value;
    a->value_rows = rows;
    a->values = n;
    return SGFS_OK;
}

static void join_stats(sgfsi_column_stats *a, const sgfsi_column_stats *b) {
    sgfsi_moments_merge(a->count, &a->mean, &a->ss, b->count, b->mean, b->ss);
    a->min = b->min < a->min ? b->min : a->min;
    a->max = b->max > a->max ? b->max : a->max;
    a->rows += b->rows;
    a->count += b->count;
}

/* The rows of all tables as parts of the first; they are theirs no longer. */
static sgfs_status join_rows(maps *m, sgfs_err *err) {
    sgfsi_table *a = &m->table[0];
    int64_t parts = 0, first = 0, to = 0;
    bool named = true;
    for (int64_t i = 0; i < m->count; i++) parts += m->table[i].parts > 0 ? m->table[i].parts : 1;
    sgfsi_part *part = calloc((size_t)parts, sizeof *part);
    if (part == NULL) return sgfsi_fail_memory(err, "the list of files");
    for (int64_t i = 0; i < m->count; i++) {
        sgfsi_table *t = &m->table[i];
        for (int64_t k = 0; k < t->parts; k++) {
            part[to] = t->part[k];
            part[to++].first += first;
        }
        if (t->parts == 0) {
            part[to++] = (sgfsi_part){.path = strdup(m->sources.path[i]),
                                      .first = first,
                                      .rows = t->rows,
                                      .cells = t->cells,
                                      .chunk_rows = t->rows,
                                      .owned = t->owned,
                                      .map = t->map,
                                      .map_bytes = t->map_bytes};
        }
        named = named && part[to - 1].path != NULL;
        free(t->part);
        t->part = NULL;
        t->parts = 0;
        t->cells = t->owned = t->map = NULL;
        first += t->rows;
    }
    a->part = part;
    a->parts = to;
    a->rows = first;
    if (a->levels > 0) a->text_path = strdup(m->sources.path[0]);
    return named ? SGFS_OK : sgfsi_fail_memory(err, "the list of files");
}

/* Each wanted column of file i, in the order of the first, is where it is there. */
static bool lies_alike(const maps *m, int64_t i, const int64_t *from) {
    const sgfsi_table *a = &m->table[0], *b = &m->table[i];
    if (a->type != b->type || a->cols != b->cols || a->row_stride != b->row_stride) return false;
    if (b->dictionary != NULL) return false; /* words are numbered by the flow */
    for (int64_t k = 0; k < m->columns[0].wanted; k++) {
        if (m->columns[0].col[k] != m->columns[i].col[from[k]]) return false;
    }
    return true;
}

static sgfs_status map_files(maps *m, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    int64_t *from = NULL;
    m->alike = m->sources.joint == NULL;
    if (!m->alike) return SGFS_OK; /* a flow joins them */
    for (int64_t i = 0; i < m->count && status == SGFS_OK; i++) {
        const sgfsi_read_options options = sgfsi_sources_options(&m->sources, i);
        status = m->sources.reader[i]->map(m->sources.path[i], &options, &m->table[i], err);
        if (status != SGFS_OK || m->count == 1) return status;
        status = sgfsi_file_columns_of(&m->columns[i], m->sources.path[i], &m->table[i], err);
    }
    if (status == SGFS_OK) from = malloc((size_t)(m->columns[0].wanted + 1) * sizeof *from);
    if (status == SGFS_OK && from == NULL) status = sgfsi_fail_memory(err, "the columns");
    for (int64_t i = 0; i < m->count && status == SGFS_OK; i++) {
        status = sgfsi_file_columns_match(&m->columns[0], &m->columns[i], from, err);
        if (status == SGFS_OK)
            status = sgfsi_file_columns_match_recipe(&m->columns[0], &m->columns[i], err);
        if (status == SGFS_OK) m->alike = m->alike && lies_alike(m, i, from);
    }
    free(from);
    if (status != SGFS_OK || !m->alike) return status;
    status = join_levels(m, err);
    if (status != SGFS_OK) return status;
    /* What all files say of their columns, in the first table; nothing where one of them is
     * silent. */
    sgfsi_table *a = &m->table[0];
    bool stats = !m->renumbered, values = !m->renumbered;
    for (int64_t i = 0; i < m->count; i++) {
        stats = stats && m->table[i].stats != NULL;
        values = values && m->table[i].values > 0;
        a->shuffled = a->shuffled && m->table[i].shuffled;
    }
    if (!stats) {
        free(a->stats);
        a->stats = NULL;
    }
    if (!values) sgfsi_table_forget_values(a);
    for (int64_t i = 1; i < m->count && status == SGFS_OK; i++) {
        for (int64_t col = 0; stats && col < a->cols; col++)
            join_stats(&a->stats[col], &m->table[i].stats[col]);
        if (values) status = join_values(a, &m->table[i], err);
    }
    if (status != SGFS_OK) return status;
    return join_rows(m, err);
}

/* *done: the files are the table. */
static sgfs_status map_all(int64_t files, const char *const *path,
                           const sgfsi_read_options *options, sgfsi_table *table, bool *done,
                           sgfs_err *err) {
    maps m = {.count = files, .alike = true};
    sgfs_status status = sgfsi_sources_open(&m.sources, files, path, options, err);
    if (status != SGFS_OK) return status;
    m.table = calloc((size_t)files, sizeof *m.table);
    m.columns = calloc((size_t)files, sizeof *m.columns);
    status = m.table != NULL && m.columns != NULL ? map_files(&m, err)
                                                  : sgfsi_fail_memory(err, "the list of files");
    *done = status == SGFS_OK && m.alike;
    if (*done) *table = m.table[0];
    for (int64_t i = 0; i < files; i++) {
        if (m.columns != NULL) sgfsi_file_columns_free(&m.columns[i]);
        if (m.table != NULL && (i > 0 || !*done)) sgfsi_table_free(&m.table[i]);
    }
    sgfsi_sources_close(&m.sources);
    free(m.table);
    free(m.columns);
    return status;
}

/* ---- collected ------------------------------------------------------------------------------- */

/* The rows of a table while it grows. */
typedef struct growing {
    void *cells;
    int64_t *start; /* sparse rows */
    int32_t *col;
    double *value, *y;
    int64_t rows, room, entries, entries_room;
} growing;

/* A sparse block behind the rows that are there. */
static bool append_sparse(growing *g, const sgfsi_flow_block *block) {
    int64_t more = block->csr.start[block->n];
    bool made = true;
    if (g->rows + block->n >= g->room) {
        g->room = 2 * (g->rows + block->n) + LEAST_ENTRIES;
        made = sgfsi_resize(&g->start, g->room + 1, sizeof *g->start) &&
               sgfsi_resize(&g->y, g->room, sizeof *g->y);
    }
    if (made && g->entries + more > g->entries_room) {
        g->entries_room = 2 * (g->entries + more) + LEAST_ENTRIES;
        made = sgfsi_resize(&g->col, g->entries_room, sizeof *g->col) &&
               sgfsi_resize(&g->value, g->entries_room, sizeof *g->value);
    }
    if (!made) return false;
    for (int64_t i = 0; i < block->n; i++) g->start[g->rows + i] = g->entries + block->csr.start[i];
    memcpy(g->y + g->rows, block->y, (size_t)block->n * sizeof *g->y);
    if (more > 0) memcpy(g->col + g->entries, block->csr.col, (size_t)more * sizeof *g->col);
    if (more > 0) memcpy(g->value + g->entries, block->csr.value, (size_t)more * sizeof *g->value);
    g->entries += more;
    return true;
}

/* Of the rows that have come so far. */
static double bytes_of(const growing *g, const sgfsi_table *head) {
    const double entry = sizeof *g->col + sizeof *g->value,
                 cell = (double)sgfsi_dtype_size(head->type);
    return head->type == SGFSI_CSR ? (double)g->entries * entry + 16 * (double)g->rows
                                   : (double)g->rows * (double)head->cols * cell;
}

/* How much memory all rows would need, going by those that have come so far. */
static sgfs_status fail_too_large(const sgfsi_flow *flow, const char *path, const growing *g,
                                  sgfs_err *err) {
    char need[24], have[24];
    double fraction = flow->fraction(flow);
    bool halves = flow->head.type == SGFSI_F64, guessed = fraction > 0;
    if (g->rows == 0) return sgfsi_fail_memory(err, path);
    if (!guessed) fraction = 1;
    return sgfsi_fail(
        err, SGFS_ENOMEM,
        "%.200s: its %s%.3g rows need %s%s of memory, up to twice that while they are read, and "
        "there "
        "are %s in all: `sgfs pack` writes them to a file, which is then read without any%s.",
        path, guessed ? "" : "first ", (double)g->rows / fraction, guessed ? "about " : "",
        sgfsi_format_bytes(bytes_of(g, &flow->head) / fraction, need),
        sgfsi_format_bytes(sgfsi_memory(), have), halves ? "; --storage f32 takes half of it" : "");
}

static sgfs_status collect_rows(sgfsi_flow *flow, const char *path, growing *g,
                                const sgfsi_read_options *options, sgfs_err *err) {
    const double most = options->most_bytes;
    const bool sparse = flow->head.type == SGFSI_CSR;
    const size_t row_bytes = (size_t)flow->head.cols * sgfsi_dtype_size(flow->head.type);
    sgfsi_flow_block block = {.n = 1};
    char what[256];
    snprintf(what, sizeof what, "Reading %.200s", path);
    sgfsi_ticker ticker = sgfsi_ticker_start(options->log, what);
    while (block.n > 0 || flow->restarted) {
        if (flow->restarted) g->rows = 0;
        flow->restarted = false;
        if (!sparse && g->rows == g->room) {
            int64_t least = row_bytes > 0 ? LEAST_BYTES / (int64_t)row_bytes : LEAST_BYTES;
            double whole = 1.02 * (double)g->rows / flow->fraction(flow); /* inf: nobody knows */
            g->room = g->room > 0 ? 2 * g->room : least + 1;
            if (whole > (double)g->room && whole * (double)row_bytes < sgfsi_memory() / 2)
                g->room = (int64_t)whole;                               /* and moved no more */
            if (most > 0 && (double)g->room * (double)row_bytes > most) /* one too many is seen */
                g->room = (int64_t)(most / (double)row_bytes) + 1;
            if (!sgfsi_resize(&g->cells, g->room, row_bytes))
                return fail_too_large(flow, path, g, err);
        }
        block.cells = sparse ? NULL : (char *)g->cells + (size_t)g->rows * row_bytes;
        sgfs_status status = flow->next(flow, sparse ? INT64_MAX : g->room - g->rows, &block, err);
        if (status != SGFS_OK) return status;
        if (sparse && block.n > 0 && !append_sparse(g, &block))
            return fail_too_large(flow, path, g, err);
        g->rows += block.n;
        double fraction = flow->fraction(flow);
        double bytes = bytes_of(g, &flow->head);
        status = sgfsi_tick(&ticker, fraction, err);
        if (status != SGFS_OK) return status;
        /* Going by what has come so far; a tenth more than there is, and not by little text. */
        if (fraction > 0 && bytes > MOST_UNLOOKED && bytes / fraction > 1.1 * sgfsi_memory())
            return fail_too_large(flow, path, g, err);
        status = sgfsi_check_bytes(path, bytes, most, err);
        if (status != SGFS_OK) return status;
    }
    if (sparse) g->start[g->rows] = g->entries;
    return SGFS_OK;
}

/* The rows become the table's; what growing left over is given back. Where the smaller array may be
 * had nowhere the larger one stays. */
static sgfs_status hand_over(sgfsi_flow *flow, growing *g, int64_t files, const char *path,
                             sgfsi_table *t, sgfs_err *err) {
    const sgfsi_table *head = &flow->head;
    sgfs_status status = SGFS_OK;
    if (head->type == SGFSI_CSR) {
        *t = (sgfsi_table){.cols = head->cols, .type = head->type, .text_col = -1};
        t->row_stride = t->cols;
        t->names = sgfsi_names_made_up(t->cols);
        t->target_name = strdup("y");
        if (t->names == NULL || t->target_name == NULL)
            status = sgfsi_fail_memory(err, "the table");
        int64_t entries = g->entries > 0 ? g->entries : 1;
        (void)sgfsi_resize(&g->start, g->rows + 1, sizeof *g->start);
        (void)sgfsi_resize(&g->y, g->rows, sizeof *g->y);
        (void)sgfsi_resize(&g->col, entries, sizeof *g->col);
        (void)sgfsi_resize(&g->value, entries, sizeof *g->value);
        t->csr = (sgfs_csr){.start = g->start, .col = g->col, .value = g->value};
        t->owned_csr = true;
        t->y = g->y;
    } else {
        sgfsi_file_columns columns;
        status = sgfsi_file_columns_of(&columns, path, head, err);
        if (status == SGFS_OK) status = sgfsi_flow_head(&columns, t, err);
        sgfsi_file_columns_free(&columns);
        free(t->stats); /* of cells that are as they were in the file */
        t->stats = NULL;
        if (head->text_path != NULL && files > 1) t->text_path = strdup(head->text_path);
        (void)sgfsi_resize(&g->cells, g->rows, (size_t)t->cols * sgfsi_dtype_size(t->type));
        t->cells = t->owned = g->cells;
    }
    t->rows = g->rows;
    memset(g, 0, sizeof *g);
    /* Columns of words in several files, of which each alone has not too many. */
    for (int64_t k = 0; files > 1 && t->dictionary != NULL && k < t->cols; k++) {
        if (status != SGFS_OK || t->dictionary[k].count <= sgfsi_most_words(t->role[k])) continue;
        status = sgfsi_fail(err, SGFS_EDATA,
                            "%.150s: column \"%.40s\" holds text (\"%.40s\", ...) with more than "
                            "%d different values in all files; leave it out with --drop.",
                            path, t->names[k], t->dictionary[k].word[0], SGFSI_MAX_WORDS);
    }
    if (status != SGFS_OK) sgfsi_table_free(t);
    return status;
}

static sgfs_status collect(int64_t files, const char *const *path,
                           const sgfsi_read_options *options, sgfsi_table *table, sgfs_err *err) {
    sgfs_err own;
    sgfsi_flow flow;
    growing g = {0};
    bool mapped = true, done = false;
    if (err == NULL) err = &own;
    memset(table, 0, sizeof *table);
    sgfsi_read_options whole = *options;
    whole.whole = true;
    for (int64_t i = 0; i < files && mapped; i++) {
        const sgfs_reader_kind *reader = sgfsi_table_reader(path[i], err);
        if (reader == NULL) return sgfsi_why(err);
        mapped = reader->map != NULL;
    }
    sgfs_status status = mapped ? map_all(files, path, &whole, table, &done, err) : SGFS_OK;
    if (status != SGFS_OK || done) return status;
    status = sgfsi_flow_open(&flow, files, path, &whole, err);
    if (status != SGFS_OK) return status;
    status = collect_rows(&flow, path[0], &g, options, err);
    if (status == SGFS_OK) status = hand_over(&flow, &g, files, path[0], table, err);
    free(g.cells);
    free(g.start);
    free(g.col);
    free(g.value);
    free(g.y);
    sgfsi_flow_close(&flow);
    return status;
}

/* ---- by name --------------------------------------------------------------------------------- */

sgfs_status sgfsi_files_read(sgfsi_files *files, const sgfsi_read_options *options,
                             sgfsi_table *table, sgfs_err *err) {
    sgfsi_read_options tidied = *options;
    tidied.log = sgfsi_files_log(files, options->log);
    sgfs_status status =
        collect(files->count, (const char *const *)files->path, &tidied, table, err);
    /* Paths in what the table says become the names that people know. */
    for (int64_t k = -1; status == SGFS_OK && k < table->parts; k++) {
        char **path = k < 0 ? &table->text_path : &table->part[k].path;
        for (int64_t i = 0; *path != NULL && i < files->count; i++) {
            if (strcmp(*path, files->path[i]) != 0) continue;
            free(*path);
            *path = strdup(files->name[i]);
            if (*path == NULL) status = sgfsi_fail_memory(err, "the list of files");
            break;
        }
    }
    if (status != SGFS_OK) sgfsi_files_tidy(files, err);
    return status;
}

sgfs_status sgfsi_table_read(const char *path, const sgfsi_read_options *options,
                             sgfsi_table *table, sgfs_err *err) {
    return collect(1, &path, options, table, err);
}
