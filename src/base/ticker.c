/* SPDX-License-Identifier: MIT
 * ticker.c: progress of reading, measuring and simulating, through the message callback.
 */
#include "base/ticker.h"

#include <time.h>

static const double interval = 0.5; /* seconds */

double sgfsi_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

sgfsi_ticker sgfsi_ticker_start(const sgfsi_log *log, const char *what) {
    double now = sgfsi_now();
    return (sgfsi_ticker){.log = log, .what = what, .start = now, .next = now + interval};
}

void sgfsi_tick(sgfsi_ticker *t, double fraction) {
    double now = sgfsi_now();
    if (now < t->next) return;
    t->next = now + interval;
    double left = fraction > 0 ? (now - t->start) * (1 - fraction) / fraction : -1;
    if (left < 0) sgfsi_say(t->log, SGFS_TICK, "%s ...", t->what);
    else sgfsi_say(t->log, SGFS_TICK, "%s: %.0f %%, %.0f s to go", t->what, 100 * fraction, left);
}
