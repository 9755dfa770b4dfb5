/* SPDX-License-Identifier: MIT
 * key_column.c: the cells of one column, found by the lines of their rows.
 *
 * Readers make numbers of cells, in parts that are read side by side, and a key is wanted as it
 * stands. So the file is gone through once more, a record at a time, beside the reader that has
 * told which lines are wanted.
 */
#include "files/key_column.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/nearest.h"
#include "files/csv/csv.h"

static sgfs_status open_file(sgfsi_key_column *key, const char *path,
                             const sgfsi_read_options *options, sgfs_err *err) {
    sgfsi_csv_format format = {0};
    sgfsi_lines_close(&key->lines);
    key->path = NULL;
    const sgfs_reader_kind *kind = sgfsi_table_reader(path, err);
    if (kind == NULL) return sgfsi_why(err);
    if (kind != &sgfs_reader_csv)
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "%.200s: --key takes the name of a column of a CSV file, and this is "
                          "none: the predictions are in the order of its rows.",
                          path);
    sgfs_status status = sgfsi_csv_sniff(path, options, &format, err);
    if (status != SGFS_OK) return status;
    key->col = -1;
    for (int64_t j = 0; format.header && j < format.cols; j++)
        if (strcmp(format.names[j], key->name) == 0) key->col = j;
    if (key->col < 0) {
        const char *const *names = (const char *const *)format.names;
        const char *near =
            format.header ? sgfsi_nearest_name(key->name, format.cols, names, NULL) : NULL;
        status = sgfsi_fail(err, SGFS_EDATA, "%.200s: has no column \"%.60s\" (--key)%s%.60s%s.",
                            path, key->name, near != NULL ? "; the nearest name is \"" : "",
                            near != NULL ? near : "", near != NULL ? "\"" : "");
    }
    sgfsi_names_free(format.names, format.cols);
    if (status == SGFS_OK) status = sgfsi_lines_open(&key->lines, path, err);
    if (status != SGFS_OK) return status;
    key->lines.delimiter = format.delimiter;
    key->path = path;
    return SGFS_OK;
}

sgfs_status sgfsi_key_column_take(sgfsi_key_column *key, const char *path, int64_t line,
                                  const sgfsi_read_options *options, sgfsi_buffer *to,
                                  sgfs_err *err) {
    const char *begin = NULL, *end = NULL;
    sgfs_status status = SGFS_OK;
    if (key->path != path) status = open_file(key, path, options, err);
    do {
        if (status == SGFS_OK) status = sgfsi_lines_next(&key->lines, &begin, &end, err);
        if (status != SGFS_OK) return status;
    } while (begin != NULL && key->lines.record_line < line);
    sgfsi_cell cell = {begin, begin, false};
    const char delimiter = key->lines.delimiter;
    const char *at = begin;
    for (int64_t j = 0; at != NULL && j <= key->col; j++) {
        const char *stop = sgfsi_cell_scan(delimiter, at, end, &cell);
        at = stop != NULL ? sgfsi_cell_next(delimiter, stop, end) : NULL;
        if (at == NULL && j < key->col) begin = NULL;
    }
    if (begin == NULL || key->lines.record_line != line)
        return sgfsi_fail(err, SGFS_EDATA, "%.200s:%lld: the row has no key; was the file changed?",
                          path, (long long)line);
    size_t length = sgfsi_cell_text(&cell, NULL, 0);
    if (!sgfsi_grow(&to->bytes, &to->room, (int64_t)(to->used + length + 1), 1))
        return sgfsi_fail_memory(err, "the keys");
    (void)sgfsi_cell_text(&cell, to->bytes + to->used, length + 1);
    to->used += length + 1;
    return SGFS_OK;
}

void sgfsi_key_column_close(sgfsi_key_column *key) {
    sgfsi_lines_close(&key->lines);
    free(key->name);
    *key = (sgfsi_key_column){NULL};
}
