/* SPDX-License-Identifier: MIT
 * carrier.h: rows as they are stored, on their way to a device that keeps them, or has them come in
 * each pass (sgfsi_stored in context/device/device.h).
 */
#pragma once

#include "context/context.h"
#include "rows/rows.h"

typedef struct sgfsi_carrier sgfsi_carrier;

/* For the table of these data; NULL: memory is out. It goes with the arena. */
sgfsi_carrier *sgfsi_carrier_open(const sgfs_data *d, const sgfsi_context *ctx, sgfsi_arena *arena);
/* Rows first .. first + n - 1 of the table to `to`, by several threads; false: a page is damaged or
 * cannot be read, or the opening is to stop. Takes a sgfsi_carrier, and one thread at a time. */
bool sgfsi_carrier_read(void *carrier, int64_t first, int64_t n, char *to);
/* What it said when it could not; SGFS_OK: it could. NULL: there is none. */
sgfs_status sgfsi_carrier_state(const sgfsi_carrier *c, sgfs_err *err);
/* All is open: from now on passes say how far they are, and when they end. */
void sgfsi_carrier_opened(sgfsi_carrier *c);

/* The targets of all rows to y (N), by several threads. */
sgfs_status sgfsi_data_targets(const sgfs_data *d, int64_t threads, double *y, sgfs_err *err);
