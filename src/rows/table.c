/* SPDX-License-Identifier: MIT
 * table.c: the table that readers fill: its cells, its parts, and what it frees.
 */
#include "rows/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"

size_t sgfsi_dtype_size(sgfsi_dtype type) {
#define SIZE(NAME, name, type) [SGFSI_##NAME] = sizeof(type),
    static const size_t size[] = {SGFSI_CELL_TYPES(SIZE)[SGFSI_CSR] = sizeof(double)};
#undef SIZE
    return size[type];
}

double sgfsi_table_cell(sgfsi_dtype type, const char *row, int64_t col) {
    const void *cells = row;
    switch (type) {
#define CELL(NAME, name, type)                                                                     \
    case SGFSI_##NAME: return (double)((const type *)cells)[col];
        SGFSI_CELL_TYPES(CELL)
#undef CELL
    case SGFSI_CSR: break; /* has none */
    }
    return 0;
}

void sgfsi_names_free(char **names, int64_t cols) {
    for (int64_t i = 0; names != NULL && i < cols; i++) free(names[i]);
    free(names);
}

void sgfsi_table_forget_cells(sgfsi_table *table) {
    for (int64_t j = 0; table->dictionary != NULL && j < table->cols; j++)
        sgfsi_names_free(table->dictionary[j].word, table->dictionary[j].count);
    free(table->dictionary);
    sgfsi_names_free(table->names, table->cols);
    for (int64_t i = 0; i < table->parts; i++) {
        sgfsi_part *p = &table->part[i];
        free(p->path);
        free(p->owned);
        if (p->packed != NULL && p->packed->fd >= 0) close(p->packed->fd);
        if (p->packed != NULL) free((void *)p->packed->seen);
        free(p->packed);
        if (p->map != NULL) munmap(p->map, p->map_bytes);
    }
    free(table->part);
    if (table->owned_csr) {
        free((void *)table->csr.start);
        free((void *)table->csr.col);
        free((void *)table->csr.value);
    }
    if (table->kept != NULL) table->device->ops->drop_rows(table->device, table->kept);
    sgfsi_device_close(table->device);
    table->kept = NULL;
    table->device = NULL;
    free(table->role);
    free(table->stats);
    free(table->owned);
    if (table->map != NULL) munmap(table->map, table->map_bytes);
    table->dictionary = NULL;
    table->names = NULL;
    table->role = NULL;
    table->stats = NULL;
    table->part = NULL;
    table->parts = 0;
    table->csr = (sgfs_csr){NULL, NULL, NULL};
    table->owned_csr = false;
    table->cells = NULL;
    table->owned = table->map = NULL;
}

void sgfsi_table_forget_values(sgfsi_table *table) {
    free(table->value);
    free(table->value_rows);
    table->value = table->value_rows = NULL;
    table->values = 0;
}

void sgfsi_table_free(sgfsi_table *table) {
    if (table == NULL) return;
    sgfsi_table_forget_cells(table);
    sgfsi_names_free(table->level, table->levels);
    free(table->y);
    free(table->target_name);
    free(table->text_path);
    sgfsi_table_forget_values(table);
    sgfsi_json_free(table->recipe);
    memset(table, 0, sizeof *table);
}

/* Parts are often about as long as one another: then the first guess is right. */
const sgfsi_part *sgfsi_table_part(const sgfsi_table *table, int64_t row) {
    int64_t lo = 0, hi = table->parts,
            guess = (int64_t)((double)row / (double)table->rows * (double)hi);
    const sgfsi_part *likely = &table->part[guess < hi ? guess : hi - 1];
    if (row >= likely->first && row - likely->first < likely->rows) return likely;
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (table->part[mid].first <= row) lo = mid;
        else hi = mid;
    }
    return &table->part[lo];
}

const char *sgfsi_table_where(const sgfsi_table *table, const char *path, int64_t row, char *out,
                              size_t room) {
    const sgfsi_part *p = table->parts > 1 ? sgfsi_table_part(table, row) : NULL;
    snprintf(out, room, "%.250s: row %lld", p != NULL && p->path != NULL ? p->path : path,
             (long long)(row - (p != NULL ? p->first : 0) + 1));
    return out;
}
