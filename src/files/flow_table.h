/* SPDX-License-Identifier: MIT
 * flow_table.h: flows of tables that stay in their files (flow.c).
 */
#ifndef SGFSI_FLOW_TABLE_H
#define SGFSI_FLOW_TABLE_H

#include "files/flow.h"
#include "files/same_columns.h"

/* The wanted columns of a table that `reader` leaves in its file. path is borrowed. */
sgfs_status sgfsi_flow_table(sgfsi_flow *flow, const sgfs_reader_kind *reader, const char *path,
                             const sgfsi_read_options *options, sgfs_err *err);
/* A head with the wanted columns of shape; what it holds is its own. On failure it holds what there
 * was memory for. */
sgfs_status sgfsi_flow_head(const sgfsi_file_columns *shape, sgfsi_table *head, sgfs_err *err);

#endif
