/* SPDX-License-Identifier: MIT
 * transform_sparse.c: a table with columns of words as sparse rows. A column of 150 words would be
 * 149 columns of zeros and ones; as an entry it is one number and where it stands.
 *
 *     Boston, 3.5, red  ->  (town=Boston, 1) (price, 3.5) (colour=red, 1)
 *
 * Columns of numbers have an entry in every row, zeros too, so that they can still be centred. The
 * target, weights and exposure become arrays beside the rows. Rows that are left out keep their
 * place, without entries: lists of rows stay what they are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/scratch.h"
#include "files/columns.h"
#include "files/transform/transform_kind.h"
#include "rows/data.h"
#include "rows/pages.h"

enum { LEAST_CELLS = 1 << 22, TIMES = 4, BLOCK = 256 };

static bool before_formula(const sgfsi_recipe *r, int64_t i) {
    while (i < r->steps && r->step[i].kind != &sgfsi_transform_formula) i++;
    return i < r->steps;
}

/* The step that makes columns of words, where every later one takes rows entry by entry; or -1.
 * Those before it take whole rows: amounts and dates are numbers, and what a formula is made of. */
static int64_t words_step(const sgfsi_recipe *r) {
    int64_t at = -1;
    for (int64_t i = 0; i < r->steps; i++) {
        const sgfsi_transform *s = &r->step[i];
        if (sgfsi_transform_rows(s)) continue;
        bool whole = s->kind->cell == NULL || s->kind->looks ||
                     (s->kind->fills != NULL && s->kind->fills(s));
        bool selects = s->kind->selects != NULL && s->kind->selects(s);
        if (s->kind->entries != NULL && !selects) at = i;
        else if (at >= 0 && whole) return -1;
        else if (at < 0 && s->kind != &sgfsi_transform_amount && s->kind != &sgfsi_transform_date &&
                 !before_formula(r, i))
            return -1;
    }
    return at;
}

bool sgfsi_recipe_is_sparse(const sgfsi_recipe *r, int64_t rows) {
    int64_t at = words_step(r);
    if (at < 0 || r->shaped < r->steps) return false;
    for (int64_t k = 0; k < r->passed; k++) /* there is no room for groups beside sparse rows */
        if (r->head->role[r->pass[k]] == SGFSI_ROLE_GROUP) return false;
    double in = (double)r->step[at].in.cols, out = (double)sgfsi_recipe_last(r)->cols;
    return TIMES * in <= out && (double)rows * out >= LEAST_CELLS;
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct thin {
    sgfsi_recipe *r;
    int64_t at; /* the step */
    int64_t *start, count;
    int32_t *col;
    double *value, *y, *weights, *exposure;
    double *x; /* a row's features, and what the steps before make of them */
    double *made;
    int32_t *hit; /* and the columns of its entries, and these */
    double *entry;
} thin;

static void free_thin(thin *t) {
    free(t->start);
    free(t->col);
    free(t->value);
    free(t->y);
    free(t->weights);
    free(t->exposure);
    free(t->x);
    free(t->made);
    free(t->hit);
    free(t->entry);
}

static sgfs_status open_thin(thin *t, int64_t rows, sgfs_err *err) {
    const sgfsi_recipe *r = t->r;
    const sgfsi_transform *s = &r->step[t->at];
    size_t inputs = (size_t)s->in.cols, n = (size_t)rows, most = inputs;
    if (s->kind->most_entries != NULL) most = (size_t)s->kind->most_entries(s);
    t->start = malloc((n + 1) * sizeof *t->start);
    t->col = malloc((n * most + 1) * sizeof *t->col);
    t->value = malloc((n * most + 1) * sizeof *t->value);
    t->x = malloc(((size_t)r->inputs.cols + 1) * sizeof *t->x);
    t->made = malloc((inputs + 1) * sizeof *t->made);
    t->hit = malloc((most + 1) * sizeof *t->hit);
    t->entry = malloc((most + 1) * sizeof *t->entry);
    bool made = t->entry != NULL && t->start != NULL && t->col != NULL && t->value != NULL &&
                t->x != NULL && t->made != NULL && t->hit != NULL;
    for (int64_t k = 0; made && k < r->passed; k++) {
        unsigned char role = r->head->role[r->pass[k]];
        double **array = role == SGFSI_ROLE_TARGET    ? &t->y
                         : role == SGFSI_ROLE_WEIGHTS ? &t->weights
                                                      : &t->exposure;
        *array = malloc((n + 1) * sizeof **array);
        made = *array != NULL;
    }
    if (made) return SGFS_OK;
    char needed[24];
    double entry = (double)most * (sizeof *t->col + sizeof *t->value);
    return sgfsi_fail(
        err, SGFS_ENOMEM,
        "%lld rows of %lld columns need %s of memory while they are made sparse, which "
        "the memory here does not hold: `sgfs pack` with the same transforms writes "
        "them to a file, which is then read without any.",
        (long long)rows, (long long)r->inputs.cols,
        sgfsi_format_bytes((double)n * entry + 8 * (double)n, needed));
}

/* One row of the head; used: it is one of those that stay. */
static sgfs_status add_row(thin *t, int64_t row, const double *cell, bool used, sgfs_err *err) {
    const sgfsi_recipe *r = t->r;
    const sgfsi_transform *words = &r->step[t->at];
    int64_t entries = 0, bad;
    for (int64_t j = 0; j < r->inputs.cols; j++) {
        t->x[j] = cell[r->input_col[j]];
        if (used && !isfinite(t->x[j]) && !(r->gaps && isnan(t->x[j])))
            return sgfsi_fail_finite(err, "row %lld, column \"%s\"", (long long)row + 1,
                                     r->inputs.name[j]);
    }
    for (int64_t k = 0; k < r->passed; k++) {
        unsigned char role = r->head->role[r->pass[k]];
        double x = cell[r->pass[k]];
        if (role == SGFSI_ROLE_TARGET) t->y[row] = x;
        else if (role == SGFSI_ROLE_WEIGHTS) t->weights[row] = x;
        else t->exposure[row] = x;
    }
    t->start[row] = t->count;
    sgfs_status status = SGFS_OK;
    if (used) status = sgfsi_recipe_apply(r, t->at, 1, t->x, t->made, &bad, err);
    if (used && status == SGFS_OK)
        status = words->kind->entries(words, t->made, t->hit, t->entry, &entries, err);
    for (int64_t e = 0; e < entries && status == SGFS_OK; e++) {
        int64_t col = t->hit[e];
        double x = t->entry[e];
        for (int64_t i = t->at + 1; i < r->steps && col >= 0 && status == SGFS_OK; i++) {
            const sgfsi_transform *s = &r->step[i];
            if (!sgfsi_transform_rows(s)) status = s->kind->cell(s, &col, &x, err);
        }
        if (col < 0 || status != SGFS_OK) continue;
        t->col[t->count] = (int32_t)col;
        t->value[t->count++] = x;
    }
    return status == SGFS_OK ? status : sgfsi_fail_row(err, row);
}

/* ---- the table ------------------------------------------------------------------------------- */

static sgfs_status hand_over(thin *t, sgfsi_table *table, sgfsi_transformed *done, sgfs_err *err) {
    const sgfsi_recipe *r = t->r;
    const sgfsi_table *head = sgfsi_recipe_head(r);
    int64_t cols = head->cols - r->passed;
    char **names = sgfsi_names_copy(head->names, cols), *target = NULL;
    if (r->target >= 0) target = strdup(r->base.name[r->target]);
    if (names == NULL || (r->target >= 0 && target == NULL)) {
        sgfsi_names_free(names, cols);
        free(target);
        return sgfsi_fail_memory(err, "the columns");
    }
    for (int64_t k = 0; k < r->passed; k++) {
        unsigned char role = head->role[cols + k];
        if (role == SGFSI_ROLE_WEIGHTS) done->weights_name = head->names[cols + k];
        if (role == SGFSI_ROLE_EXPOSURE) done->exposure_name = head->names[cols + k];
    }
    t->start[table->rows] = t->count;
    (void)sgfsi_resize(&t->col, t->count + 1, sizeof *t->col);
    (void)sgfsi_resize(&t->value, t->count + 1, sizeof *t->value);
    bool text = r->target >= 0 && r->target == table->text_col, named = head->named;
    sgfsi_table_forget_cells(table);
    table->type = SGFSI_CSR;
    table->csr = (sgfs_csr){t->start, t->col, t->value};
    table->owned_csr = true;
    table->cols = table->row_stride = cols;
    table->names = names;
    table->named = named;
    table->text_col = -1;
    table->text_y = text;
    if (r->target >= 0) {
        free(table->y);
        free(table->target_name);
        table->y = t->y;
        table->target_name = target;
        t->y = NULL;
    }
    done->weights = t->weights;
    done->exposure = t->exposure;
    t->start = NULL;
    t->col = NULL;
    t->value = t->weights = t->exposure = NULL;
    return SGFS_OK;
}

sgfs_status sgfsi_recipe_sparse(sgfsi_recipe *r, sgfsi_table *table, const sgfs_data *data,
                                sgfsi_transformed *done, sgfs_err *err) {
    thin t = {.r = r, .at = words_step(r)};
    sgfsi_pages pages = {0};
    double *cells = malloc((size_t)(BLOCK * table->cols + 1) * sizeof *cells);
    sgfs_status status = open_thin(&t, table->rows, err);
    if (status == SGFS_OK && cells == NULL) status = sgfsi_fail_memory(err, "a block of rows");
    const int64_t *next = done->row, *end = next + (next != NULL ? done->rows : 0);
    for (int64_t first = 0; first < table->rows && status == SGFS_OK; first += BLOCK) {
        int64_t n = table->rows - first < BLOCK ? table->rows - first : BLOCK;
        status = sgfsi_pages_range(&pages, data, first, n, err);
        if (status == SGFS_OK) sgfsi_data_rows_range(data, first, n, cells, NULL);
        for (int64_t i = 0; i < n && status == SGFS_OK; i++) {
            bool used = done->row == NULL || (next < end && *next == first + i);
            next += done->row != NULL && used;
            status = add_row(&t, first + i, cells + i * table->cols, used, err);
        }
    }
    if (status == SGFS_OK) status = hand_over(&t, table, done, err);
    free(cells);
    free_thin(&t);
    return status;
}
