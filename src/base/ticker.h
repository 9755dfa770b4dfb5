/* SPDX-License-Identifier: MIT
 * ticker.h: a monotonic clock, and a note every two seconds from work that takes longer.
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
/* Say how far the work is (fraction of 1) when two seconds have passed since the last time. */
void sgfsi_tick(sgfsi_ticker *t, double fraction);
