/* SPDX-License-Identifier: MIT
 * concat_stats.c: what several files say of their columns, put together.
 */
#include "files/concat.h"

#include <stdlib.h>
#include <string.h>

#include "base/moments.h"

static void join_column(sgfsi_column_stats *a, const sgfsi_column_stats *b) {
    if (b->rows == 0) return;
    if (a->rows == 0) {
        *a = *b;
        return;
    }
    sgfsi_moments_merge(a->count, &a->mean, &a->ss, b->count, b->mean, b->ss);
    a->min = b->min < a->min ? b->min : a->min;
    a->max = b->max > a->max ? b->max : a->max;
    a->rows += b->rows;
    a->count += b->count;
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

sgfs_status sgfsi_joining_stats(sgfsi_joining *j, sgfs_err *err) {
    sgfsi_table *a = &j->table[0];
    bool told = !j->renumbered, values = !j->renumbered;
    for (int64_t i = 0; i < j->count; i++) {
        told = told && j->table[i].stats != NULL;
        values = values && j->table[i].values > 0;
        a->shuffled = a->shuffled && j->table[i].shuffled;
    }
    if (!told) {
        free(a->stats);
        a->stats = NULL;
    }
    if (!values) forget_values(a);
    sgfs_status status = SGFS_OK;
    for (int64_t i = 1; i < j->count && status == SGFS_OK; i++) {
        for (int64_t col = 0; told && col < a->cols; col++)
            join_column(&a->stats[col], &j->table[i].stats[col]);
        if (values) status = join_values(a, &j->table[i], err);
    }
    return status;
}
