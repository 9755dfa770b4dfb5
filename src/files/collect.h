/* SPDX-License-Identifier: MIT
 * collect.h: a table over one file or several: a flow that was collected, or a map of the files.
 */
#pragma once

#include "files/files.h"
#include "files/reader.h"

/* All files, by names that people know, as one table. Files that are mapped and alike become its
 * parts, and nothing is copied; the rows of any others are kept in memory. SGFS_EDATA says which
 * file differs from the first, and how. The table is filled on success only and holds nothing
 * otherwise. */
sgfs_status sgfsi_files_read(sgfsi_files *files, const sgfsi_read_options *options,
                             sgfsi_table *table, sgfs_err *err);
/* The same for one path. */
sgfs_status sgfsi_table_read(const char *path, const sgfsi_read_options *options,
                             sgfsi_table *table, sgfs_err *err);
