/* SPDX-License-Identifier: MIT
 * ticker.h: a monotonic clock, and word twice a second from work that takes longer.
 */
#pragma once

#include "base/err.h"

double sgfsi_now(void); /* seconds of a monotonic clock */

typedef struct sgfsi_ticker {
    const sgfsi_log *log;
    const char *what; /* "Reading data.csv" */
    double start, next;
} sgfsi_ticker;

sgfsi_ticker sgfsi_ticker_start(const sgfsi_log *log, const char *what);
/* Say how far the work is (fraction of 1; 0: not known) when half a second has passed since the
 * last time. SGFS_ESTOPPED, and the work is to be left, where whoever waits for it wants that. */
sgfs_status sgfsi_tick(sgfsi_ticker *t, double fraction, sgfs_err *err);
