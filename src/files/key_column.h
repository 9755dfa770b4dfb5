/* SPDX-License-Identifier: MIT
 * key_column.h: a column of text files that is no part of the model, such as the number of a
 * customer: its cells, as they stand in the file, for rows that are known by their lines.
 */
#pragma once

#include "base/io.h"
#include "files/reader.h"
#include "files/text/lines.h"

typedef struct sgfsi_key_column {
    char *name;
    const char *path; /* of the file that is open; NULL: none is */
    int64_t col;
    sgfsi_lines lines;
} sgfsi_key_column;

/* The cell in the record that begins on this line of the file, and a zero, behind what `to` has.
 * Lines of a file come in order. SGFS_EDATA where the file has no such column. */
sgfs_status sgfsi_key_column_take(sgfsi_key_column *key, const char *path, int64_t line,
                                  const sgfsi_read_options *options, sgfsi_buffer *to,
                                  sgfs_err *err);
void sgfsi_key_column_close(sgfsi_key_column *key); /* safe on a zeroed value */
