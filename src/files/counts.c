/* SPDX-License-Identifier: MIT
 * counts.c: binomial counts as rows with weights (counts.h).
 *
 *     dose  dead  alive          dose  y  weight
 *      1.5     3     17    ->     1.5  1     3
 *                                 1.5  0    17
 *
 * s successes and f failures have the likelihood of s + f rows, but for a factor that no parameter
 * is in: a row of weight w is w copies of it (weights.c). Both rows stand beside each other, so
 * that what else goes by rows keeps their order.
 */
#include "files/counts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files/reader.h"
#include "rows/data.h"
#include "rows/pages.h"

enum { BLOCK = 256 };

/* The target is called what the formula calls it: a column of new rows that only counts successes
 * is no target. */
static sgfs_status rename_columns(sgfsi_table *t, int64_t y, int64_t w, sgfs_err *err) {
    size_t room = strlen(t->names[y]) + strlen(t->names[w]) + sizeof "cbind(, )";
    char *target = malloc(room), *weights = malloc(room);
    if (target == NULL || weights == NULL) {
        free(target);
        free(weights);
        return sgfsi_fail_memory(err, "the columns");
    }
    snprintf(target, room, "cbind(%s, %s)", t->names[y], t->names[w]);
    snprintf(weights, room, "%s, %s", t->names[y], t->names[w]);
    free(t->names[y]);
    free(t->names[w]);
    t->names[y] = target;
    t->names[w] = weights;
    return SGFS_OK;
}

static sgfs_status fail_count(const sgfsi_table *t, const char *path, int64_t row, int64_t col,
                              sgfs_err *err) {
    char where[320];
    return sgfsi_fail(err, SGFS_EDATA,
                      "%s, column \"%.60s\" holds no count: cbind() takes numbers of 0 and more.",
                      sgfsi_table_where(t, path, row, where, sizeof where), t->names[col]);
}

sgfs_status sgfsi_counts_to_rows(sgfsi_table *t, const char *path, double most, sgfs_err *err) {
    int64_t y = 0, w = 0;
    while (t->role != NULL && y < t->cols && t->role[y] != SGFSI_ROLE_TARGET) y++;
    while (t->role != NULL && w < t->cols && t->role[w] != SGFSI_ROLE_WEIGHTS) w++;
    if (t->role == NULL || t->type == SGFSI_CSR || y == t->cols || w == t->cols || y == t->text_col)
        return sgfsi_fail(err, SGFS_EUSAGE, "%s: cbind() takes two columns of numbers.", path);
    sgfs_data data = sgfsi_data_over(t, -1);
    sgfsi_column_span span = {0, t->cols};
    sgfsi_pages pages = {0};
    data.span = &span;
    data.spans = 1;
    data.p = data.features = t->cols;
    double bytes = 16 * (double)t->rows * (double)t->cols, *in = NULL, *cells = NULL;
    sgfs_status status = sgfsi_check_bytes(path, bytes, most, err);
    if (status != SGFS_OK) return status;
    in = malloc((size_t)(BLOCK * t->cols) * sizeof *in);
    cells = malloc((size_t)bytes + 1);
    if (in == NULL || cells == NULL) status = sgfsi_fail_memory(err, "rows of counts");
    for (int64_t first = 0; first < t->rows && status == SGFS_OK; first += BLOCK) {
        int64_t n = t->rows - first < BLOCK ? t->rows - first : BLOCK;
        status = sgfsi_pages_range(&pages, &data, first, n, err);
        if (status == SGFS_OK) sgfsi_data_rows_range(&data, first, n, in, NULL);
        for (int64_t i = 0; i < n && status == SGFS_OK; i++) {
            const double *row = in + i * t->cols;
            double *to = cells + 2 * (first + i) * t->cols, *next = to + t->cols;
            /* missing values stay what they are */
            bool gap = isnan(row[y]) || isnan(row[w]);
            if (!gap && !(row[y] >= 0 && isfinite(row[y])))
                status = fail_count(t, path, first + i, y, err);
            else if (!gap && !(row[w] >= 0 && isfinite(row[w])))
                status = fail_count(t, path, first + i, w, err);
            memcpy(to, row, (size_t)t->cols * sizeof *to);
            memcpy(next, row, (size_t)t->cols * sizeof *to);
            to[y] = 1;
            next[y] = 0;
            to[w] = gap ? NAN : row[y];
            next[w] = gap ? NAN : row[w];
        }
    }
    free(in);
    if (status == SGFS_OK) status = rename_columns(t, y, w, err);
    if (status != SGFS_OK) return free(cells), status;
    const sgfsi_table was = *t; /* the columns are the same */
    t->dictionary = NULL;
    t->names = NULL;
    t->role = NULL;
    sgfsi_table_forget_cells(t);
    sgfsi_table_forget_values(t);
    t->dictionary = was.dictionary;
    t->names = was.names;
    t->role = was.role;
    t->rows *= 2;
    t->row_stride = t->cols;
    t->type = SGFSI_F64;
    t->cells = t->owned = cells;
    return SGFS_OK;
}
