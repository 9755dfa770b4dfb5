/* SPDX-License-Identifier: MIT
 * pages.h: rows of packed files before they are gathered: are they there, are they what was
 * written, how long did the disk take, and how much of the files is resident.
 */
#pragma once

#include "rows/rows.h"

/* One reader's (a chain's, a thread's) visits. Zeroed: none so far. */
typedef struct sgfsi_pages {
    double wait;  /* seconds until the pages were there */
    double bytes; /* of the pages it looked at */
    int64_t cold; /* visits to come for which pages are asked for ahead; 0: the file is in memory */
    bool suspect; /* the last visit was slow: was it the disk, or another program's turn? */
    /* A walk: the row expected next, up to which row pages were asked for, from which on kept. */
    int64_t next, asked, kept;
} sgfsi_pages;

/* Rows row[0..n) of the data, to be gathered next. Nothing to do where no file is packed.
 * SGFS_EIO: a file has become shorter; SGFS_EDATA: a checksum is wrong. */
sgfs_status sgfsi_pages_rows(sgfsi_pages *v, const sgfs_data *d, const int64_t *row, int64_t n,
                             sgfs_err *err);
/* Rows first .. first+n-1, on a walk over neighbours: pages are asked for ahead and given back. */
sgfs_status sgfsi_pages_range(sgfsi_pages *v, const sgfs_data *d, int64_t first, int64_t n,
                              sgfs_err *err);
/* Bytes of mapped files that may be resident at one time, where so many rows are touched. */
double sgfsi_data_resident(const sgfs_data *d, double rows);
/* Major faults of this thread so far. */
double sgfsi_pages_faults(void);
/* Rows that will be wanted soon: ask for their pages, without waiting. */
void sgfsi_pages_ahead(const sgfs_data *d, const int64_t *row, int64_t n);
