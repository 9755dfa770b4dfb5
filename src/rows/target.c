/* SPDX-License-Identifier: MIT
 * target.c: what the target holds: numbers, or words, whose numbers 0, 1, ... are in the table; and
 * which values there are.
 */
#include <string.h>

#include "rows/rows.h"

bool sgfsi_data_target_is_text(const sgfs_data *d) {
    return d->target_col >= 0 ? d->target_col == d->table.text_col : d->table.text_y;
}

const char *sgfsi_data_target_word(const sgfs_data *d, double number) {
    bool word = sgfsi_data_target_is_text(d) && number >= 0 && number < (double)d->table.levels;
    return word ? d->table.level[(int64_t)number] : NULL;
}

int64_t sgfsi_data_target_words(const sgfs_data *d) {
    return sgfsi_data_target_is_text(d) ? d->table.levels : 0;
}

sgfs_status sgfsi_data_refuse_text(const sgfs_data *d, const char *needs, sgfs_err *err) {
    const sgfsi_table *t = &d->table;
    if (!sgfsi_data_target_is_text(d)) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA, "%s:%lld: the target \"%s\" holds text (\"%.60s\"); %s.",
                      t->text_path != NULL ? t->text_path : d->path, (long long)t->text_line,
                      d->target.name, t->level[t->text_level], needs);
}

int64_t sgfsi_data_target_list(const sgfs_data *d, const double **value, const double **rows) {
    if (d->subset != NULL) return 0;
    *value = d->table.value;
    *rows = d->table.value_rows;
    return d->table.values;
}

int64_t sgfsi_data_target_values(const sgfs_data *d, int64_t most, double *value) {
    const double *listed, *rows;
    int64_t count = sgfsi_data_target_list(d, &listed, &rows);
    if (count == 0 && d->elsewhere != NULL) { /* too many to be listed */
        memset(value, 0, (size_t)most * sizeof *value);
        return most + 1;
    }
    if (count > 0) { /* as good as a look */
        memcpy(value, listed, (size_t)(count <= most ? count : most) * sizeof *value);
        return count <= most ? count : most + 1;
    }
    double block[256];
    for (int64_t i = 0; i < d->N; i++) {
        if (i % 256 == 0) sgfsi_data_rows_range(d, i, d->N - i < 256 ? d->N - i : 256, NULL, block);
        double y = block[i % 256];
        int64_t at = 0;
        while (at < count && value[at] < y) at++;
        if (at < count && value[at] == y) continue;
        if (count == most) return most + 1;
        memmove(value + at + 1, value + at, (size_t)(count - at) * sizeof *value);
        value[at] = y;
        count++;
    }
    return count;
}
