/* SPDX-License-Identifier: MIT
 * transform_whole_table.c: a recipe on a table that is there as a whole (transform.h), with as
 * little copying as it allows:
 *
 *     rows left out only            a list of those that stay; the table is not touched
 *     columns dropped only          their role is taken from them
 *     sparse, and it can stay so    entries changed in place (or in a copy of borrowed ones)
 *     columns of many words         sparse rows in memory (transform_sparse.c)
 *     else                          a new table in memory, row block by row block
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/ticker.h"
#include "files/columns.h"
#include "files/transform/transform_kind.h"
#include "rows/data.h"
#include "rows/pages.h"

enum { BLOCK_CELLS = 1 << 17, LIST = 4096 };

typedef struct work {
    sgfsi_recipe *r;
    sgfsi_table *table;
    sgfs_data data; /* the table's rows; what is beside it, too. Borrowed */
    sgfsi_column_span all;
    sgfsi_ticker ticker;
    sgfsi_pages pages;
    bool none; /* no rows are left */
} work;

/* A list of rows; NULL: the first n. */
typedef struct rows {
    int64_t *row, n;
} rows;

/* ---- which rows ------------------------------------------------------------------------------ */

/* Rows that stay by the row steps before `place`; list->row is NULL where none is left out. */
static sgfs_status choose_rows(work *w, int64_t place, bool learning, rows *list, sgfs_err *err) {
    int64_t N = w->table->rows, cols = w->table->cols, room = 0;
    const sgfs_csr *csr = w->table->type == SGFSI_CSR ? &w->table->csr : NULL;
    bool target = sgfsi_recipe_chooses_classes(w->r), cells = w->r->gaps && csr == NULL;
    int64_t most = cells && cols > BLOCK_CELLS / LIST ? BLOCK_CELLS / cols + 1 : LIST;
    double y[LIST], *x = cells ? malloc((size_t)(most * cols + 1) * sizeof *x) : NULL;
    sgfs_status status = cells && x == NULL ? sgfsi_fail_memory(err, "a block of rows") : SGFS_OK;
    *list = (rows){NULL, 0};
    sgfsi_recipe_rewind(w->r);
    for (int64_t first = 0; first < N && status == SGFS_OK; first += most) {
        int64_t n = N - first < most ? N - first : most;
        if (target || cells) status = sgfsi_pages_range(&w->pages, &w->data, first, n, err);
        if (status != SGFS_OK) break;
        if (target || cells) sgfsi_data_rows_range(&w->data, first, n, x, target ? y : NULL);
        for (int64_t i = 0; i < n && status == SGFS_OK; i++) {
            sgfsi_row row = {.number = first + i, .y = target ? y[i] : NAN, .learning = learning};
            row.lacks = w->r->gaps && sgfsi_beside_lacks(&w->r->beside, first + i);
            if (cells) row.x = x + i * cols;
            if (w->r->gaps && csr != NULL) {
                row.x = csr->value + csr->start[first + i];
                row.col = csr->col + csr->start[first + i];
                row.entries = csr->start[first + i + 1] - csr->start[first + i];
            }
            if (!sgfsi_recipe_keep(w->r, &row, place)) continue;
            if (sgfsi_grow(&list->row, &room, list->n + 1, sizeof *list->row))
                list->row[list->n++] = first + i;
            else
                status =
                    sgfsi_fail(err, SGFS_ENOMEM,
                               "There is no memory for a list of the rows that are used: `sgfs "
                               "pack` writes them to a file of their own.");
        }
        if (!learning && sgfsi_recipe_full(w->r, INT64_MAX)) break;
        if (status == SGFS_OK) status = sgfsi_tick(&w->ticker, (double)first / (double)N, err);
    }
    free(x);
    w->none = status == SGFS_OK && list->n == 0 && N > 0;
    if (w->none)
        status = sgfsi_fail(err, SGFS_EDATA, "no rows are left%s.",
                            learning ? " to learn from in the training part" : "");
    if (status != SGFS_OK || list->n == N) {
        free(list->row);
        list->row = NULL;
    }
    return status;
}

/* ---- blocks of rows -------------------------------------------------------------------------- */

/* Blocks of all rows, in order, every column as a double: the k-th step that looks learns from
 * them, or (k < 0) those that stay are the *made rows of cells, as floats where single. */
static sgfs_status each_block(work *w, int64_t k, bool single, void *cells, int64_t *made,
                              sgfs_err *err) {
    sgfsi_recipe *r = w->r;
    int64_t N = w->table->rows, widest = w->table->cols, cols = k < 0 ? r->out->cols : 0;
    for (int64_t i = 0; i < r->steps && i < r->shaped; i++)
        widest = r->step[i].out.cols > widest ? r->step[i].out.cols : widest;
    int64_t most = widest > 0 ? BLOCK_CELLS / widest : LIST;
    most = most < 1 ? 1 : most < LIST ? most : LIST;
    double *in = malloc((size_t)(most * w->table->cols + 1) * sizeof *in),
           *out = malloc((size_t)(most * cols + 1) * sizeof *out);
    bool done = in == NULL || out == NULL;
    sgfs_status status = done ? sgfsi_fail_memory(err, "a block of rows") : SGFS_OK;
    sgfsi_recipe_rewind(r);
    w->pages = (sgfsi_pages){0};
    for (int64_t first = 0; first < N && !done && status == SGFS_OK; first += most) {
        int64_t n = N - first < most ? N - first : most, kept = 0;
        status = sgfsi_pages_range(&w->pages, &w->data, first, n, err);
        if (status != SGFS_OK) break;
        sgfsi_data_rows_range(&w->data, first, n, in, NULL);
        if (k >= 0) {
            done = sgfsi_recipe_full(r, sgfsi_recipe_looker(r, k)->place);
            if (!done) status = sgfsi_recipe_look(r, k, n, in, err);
        } else {
            double *to = single ? out : (double *)cells + *made * cols;
            status = sgfsi_recipe_run(r, n, in, to, &kept, &done, err);
            for (int64_t i = 0; status == SGFS_OK && single && i < kept * cols; i++)
                ((float *)cells)[*made * cols + i] = (float)out[i];
            *made += kept;
        }
        if (status == SGFS_OK) status = sgfsi_tick(&w->ticker, (double)first / (double)N, err);
    }
    free(in);
    free(out);
    return status;
}

/* Learn what the k-th step that looks wants to know, from the rows as they are in the table, or
 * from sparse ones that the steps before it have changed. */
static sgfs_status learn(work *w, int64_t k, bool sparse, sgfs_err *err) {
    sgfsi_transform *s = sgfsi_recipe_looker(w->r, k);
    const sgfs_csr *csr = &w->table->csr;
    rows list = {NULL, 0};
    sgfs_status status = SGFS_OK;
    if (s->kind->look != NULL && !sparse) {
        status = each_block(w, k, false, NULL, NULL, err);
        if (status == SGFS_OK && w->r->chosen == 0)
            status =
                sgfsi_fail(err, SGFS_EDATA, "no rows are left to learn from in the training part.");
    }
    if (s->kind->look != NULL && sparse) {
        status = choose_rows(w, s->place, true, &list, err);
        const sgfsi_seen seen = {list.n,     list.row,   w->r->beside.weights,
                                 csr->value, csr->start, csr->col};
        if (status == SGFS_OK) status = s->kind->look(s, &seen, err);
        free(list.row);
    }
    return status == SGFS_OK ? sgfsi_recipe_looked(w->r, k, err) : status;
}

/* Names and roles of what comes out, in place of the table's own, which has no others by column. */
static sgfs_status take_head(sgfsi_table *t, const sgfsi_table *head, sgfs_err *err) {
    char **names = sgfsi_names_copy(head->names, head->cols);
    unsigned char *role = malloc((size_t)head->cols + 1);
    if (names == NULL || role == NULL) {
        sgfsi_names_free(names, head->cols);
        free(role);
        return sgfsi_fail_memory(err, "the columns");
    }
    memcpy(role, head->role, (size_t)head->cols);
    sgfsi_names_free(t->names, t->cols);
    free(t->role);
    t->names = names;
    t->role = role;
    t->named = head->named;
    t->cols = t->row_stride = head->cols;
    return SGFS_OK;
}

/* ---- roles and entries ----------------------------------------------------------------------- */

bool sgfsi_recipe_selects(const sgfsi_recipe *r) {
    for (int64_t i = 0; i < r->steps; i++) {
        const sgfsi_transform *s = &r->step[i];
        if (sgfsi_transform_rows(s)) continue;
        if (s->kind->selects == NULL || !s->kind->selects(s)) return false;
    }
    return true;
}

static bool all_sparse(const sgfsi_recipe *r) {
    for (int64_t i = 0; i < r->steps; i++) {
        const sgfsi_transform *s = &r->step[i];
        if (sgfsi_transform_rows(s)) continue;
        if (s->kind->cell == NULL || (s->kind->fills != NULL && s->kind->fills(s))) return false;
    }
    return true;
}

/* Entries that may be written to. */
static sgfs_status own_entries(sgfsi_table *t, sgfs_err *err) {
    if (t->owned_csr) return SGFS_OK;
    size_t count = (size_t)t->csr.start[t->rows], rows_there = (size_t)t->rows + 1;
    int64_t *start = malloc(rows_there * sizeof *start);
    int32_t *col = malloc((count + 1) * sizeof *col);
    double *value = malloc((count + 1) * sizeof *value);
    if (start == NULL || col == NULL || value == NULL) {
        free(start);
        free(col);
        free(value);
        return sgfsi_fail_memory(err, "the sparse rows");
    }
    memcpy(start, t->csr.start, rows_there * sizeof *start);
    if (count > 0) memcpy(col, t->csr.col, count * sizeof *col);
    if (count > 0) memcpy(value, t->csr.value, count * sizeof *value);
    t->csr = (sgfs_csr){start, col, value};
    t->owned_csr = true;
    return SGFS_OK;
}

/* Every entry of every row through one step; there are never more than before. */
static sgfs_status step_entries(const sgfsi_transform *s, const sgfsi_table *t, sgfs_err *err) {
    int64_t *start = (int64_t *)(uintptr_t)t->csr.start, k = 0, to = 0;
    int32_t *col = (int32_t *)(uintptr_t)t->csr.col;
    double *value = (double *)(uintptr_t)t->csr.value;
    for (int64_t row = 0; row < t->rows; row++) {
        for (; k < start[row + 1]; k++) { /* which is read before it is changed */
            int64_t now = col[k];
            value[to] = value[k];
            if (s->kind->cell(s, &now, &value[to], err) != SGFS_OK) return sgfsi_fail_row(err, row);
            col[to] = (int32_t)now;
            to += now >= 0;
        }
        start[row + 1] = to;
    }
    return SGFS_OK;
}

static sgfs_status change_entries(work *w, sgfs_err *err) {
    int64_t looked = 0;
    sgfs_status status = own_entries(w->table, err);
    for (int64_t i = 0; i < w->r->steps && status == SGFS_OK; i++) {
        const sgfsi_transform *s = &w->r->step[i];
        if (sgfsi_transform_rows(s)) continue;
        if (s->kind->looks) status = learn(w, looked++, true, err);
        if (status == SGFS_OK) status = step_entries(s, w->table, err);
    }
    return status == SGFS_OK ? take_head(w->table, sgfsi_recipe_head(w->r), err) : status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static sgfs_status change_columns(work *w, const rows *list, bool single, sgfsi_transformed *done,
                                  sgfs_err *err) {
    sgfsi_table *t = w->table;
    const sgfsi_recipe *r = w->r;
    bool sparse = t->type == SGFSI_CSR;
    if (sparse && all_sparse(r)) return change_entries(w, err);
    if (sparse)
        sgfsi_say(r->log, SGFS_NOTE,
                  "These transforms fill up sparse rows: they are kept with all their zeros.");
    sgfs_status status = SGFS_OK;
    for (int64_t k = 0; status == SGFS_OK && k < sgfsi_recipe_looks(r); k++)
        status = learn(w, k, false, err);
    if (status != SGFS_OK) return status;
    if (!sparse && sgfsi_recipe_selects(r)) { /* columns that do not come out are no features now */
        const sgfsi_feature_list *last = sgfsi_recipe_last(r);
        bool silent = t->role == NULL;
        if (silent) t->role = malloc((size_t)t->cols + 1);
        if (t->role == NULL) return sgfsi_fail_memory(err, "the columns");
        if (silent) memset(t->role, SGFSI_ROLE_FEATURE, (size_t)t->cols);
        for (int64_t j = 0; j < r->inputs.cols; j++) t->role[r->input_col[j]] = SGFSI_ROLE_NONE;
        for (int64_t j = 0; j < last->cols; j++) t->role[last->origin[j]] = SGFSI_ROLE_FEATURE;
        return SGFS_OK;
    }
    if (!sparse && sgfsi_recipe_is_sparse(r, list->n)) {
        done->row = list->row;
        done->rows = list->n;
        return sgfsi_recipe_sparse(w->r, t, &w->data, done, err);
    }
    const sgfsi_table *head = sgfsi_recipe_head(r);
    double bytes = (double)list->n * (double)head->cols * (single ? 4 : 8);
    void *cells = bytes < sgfsi_memory() ? malloc((size_t)bytes + 1) : NULL;
    if (cells == NULL) {
        return sgfsi_fail(
            err, SGFS_ENOMEM,
            "these transforms make %lld rows of %lld columns, %.3g GB, which the memory here "
            "does not hold: `sgfs pack` with the same transforms writes them to a file, which is "
            "then read without any%s.",
            (long long)list->n, (long long)head->cols, 1e-9 * bytes,
            single ? "" : "; --storage f32 takes half of it");
    }
    int64_t made = 0;
    status = each_block(w, -1, single, cells, &made, err);
    if (status != SGFS_OK) return free(cells), status;
    /* A target beside the table, of the rows that stay. */
    for (int64_t i = 0; t->y != NULL && list->row != NULL && i < list->n; i++)
        t->y[i] = t->y[list->row[i]];
    sgfsi_table_forget_cells(t);
    done->copied = true;
    t->rows = list->n;
    t->type = single ? SGFSI_F32 : SGFSI_F64;
    t->cells = t->owned = cells;
    t->text_col = head->text_col;
    return take_head(t, head, err);
}

static sgfs_status transform(work *w, bool single, sgfsi_transformed *done, sgfs_err *err) {
    rows list = {NULL, w->table->rows};
    sgfs_status status = SGFS_OK;
    if (sgfsi_recipe_chooses_classes(w->r) && !w->data.has_target)
        status = sgfsi_fail(err, SGFS_EUSAGE,
                            "--keep-classes chooses rows by their target, and there is none.");
    if (status == SGFS_OK && w->r->steps_rows) {
        status = choose_rows(w, INT64_MAX, false, &list, err);
        sgfs_status end = status == SGFS_OK || w->none ? sgfsi_recipe_finish(w->r, err) : status;
        if (end != SGFS_OK) status = end; /* a class that is not there says more */
    }
    if (status == SGFS_OK && w->r->steps_columns)
        status = change_columns(w, &list, single, done, err);
    if (status != SGFS_OK) return free(list.row), status;
    if (list.row != NULL || w->r->steps_columns) {
        /* What the file said of all its rows is not true of some of them. */
        free(w->table->stats);
        w->table->stats = NULL;
        sgfsi_table_forget_values(w->table);
    }
    done->row = list.row;
    done->rows = list.n;
    return SGFS_OK;
}

sgfs_status sgfsi_recipe_table(sgfsi_recipe *r, sgfsi_table *table, const sgfsi_beside *beside,
                               bool single, sgfsi_transformed *done, sgfs_err *err) {
    work w = {.r = r, .table = table, .all = {0, table->cols}};
    r->beside = *beside;
    r->unchecked = true;
    w.data = sgfsi_data_over(table, r->target);
    w.data.y = beside->y;
    w.data.has_target = r->target >= 0 || beside->y != NULL;
    w.data.span = &w.all;
    w.data.spans = 1;
    w.data.p = w.data.features = table->cols;
    *done = (sgfsi_transformed){.rows = table->rows};
    w.ticker = sgfsi_ticker_start(r->log, "Transforming the rows");
    return transform(&w, single, done, err);
}
