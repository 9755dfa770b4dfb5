/* SPDX-License-Identifier: MIT
 * far.h: rows that lie in the memory of a device, a GPU, and nowhere else: arrays that a program
 * made there. Batches are gathered there (gatherer.c), and so are the statistics of columns; the
 * host sees what it asks for, some rows at a time, and whoever asks for all of them, again and
 * again, had better ask the device.
 */
#pragma once

#include "rows/rows.h"

/* Opens a->device. Its x becomes the cells of d->table; its y, weights and exposure come to the
 * host, where a has them afterwards as if they had been there. */
sgfs_status sgfsi_far_take(sgfs_data *d, sgfs_arrays *a, sgfs_err *err);
/* Once the features are chosen: what all of the following needs. */
sgfs_status sgfsi_far_keep(sgfs_data *d, sgfs_err *err);

/* Rows row[0..n) of the table, or n of them from `first` on where row is NULL, as x, n x d->p, not
 * scaled yet. NaN where the device has failed. */
void sgfsi_far_fetch(const sgfs_data *d, const int64_t *row, int64_t first, int64_t n, double *x);
/* What column_stats.c says of the features, in blocks of so many rows; of the target it is known.
 * SGFS_EDATA names the first cell that is not finite. */
sgfs_status sgfsi_far_measure(const sgfs_data *d, int64_t block, const sgfsi_column_stats *target,
                              sgfsi_column_stats *stats, sgfs_err *err);
/* Least and largest cell of each feature, in rows row[0..n) of the data. */
sgfs_status sgfsi_far_ranges(const sgfs_data *d, const int64_t *row, int64_t n, double *least,
                             double *most, sgfs_err *err);
