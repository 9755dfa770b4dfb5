/* SPDX-License-Identifier: MIT
 * export.h: what the export formats share: which chains and draws are written, safe names.
 */
#ifndef SGFSI_EXPORT_H
#define SGFSI_EXPORT_H

#include <stdio.h>

#include "sink/draws.h"

/* The rectangle that is exported: the chains that have draws, up to the draw they all have. */
typedef struct sgfsi_export_view {
    int64_t chains, draws;
    int64_t *used; /* chains: indices into d->chain */
} sgfsi_export_view;

/* SGFS_EDATA when there is nothing to export. */
sgfs_status sgfsi_export_view_open(sgfsi_export_view *view, const sgfs_draws *d, sgfs_err *err);
void sgfsi_export_view_close(sgfsi_export_view *view);

/* Spelled so that both R and pandas see a number: R does not know "nan" and "inf". */
void sgfsi_export_number(FILE *f, double x);
int64_t sgfsi_export_stat(const sgfs_draws *d, const char *name); /* column of a statistic, or -1 */

/* The blocks of d with names that `safe` made fit for the format, all different (a copy gets _2).
 * safe changes the text in place; it may cut it, never lengthen it by more than one byte. */
typedef struct sgfsi_export_block {
    char *name;
    int64_t rows, cols, offset;
} sgfsi_export_block;
sgfsi_export_block *sgfsi_export_blocks(const sgfs_draws *d, void (*safe)(char *text),
                                        int64_t *count, sgfs_err *err);
void sgfsi_export_blocks_free(sgfsi_export_block *blocks, int64_t count);

#endif
