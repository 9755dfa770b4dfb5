/* SPDX-License-Identifier: MIT
 * ticker.c: progress of reading, measuring and simulating, through the message callback.
 */
#include "base/ticker.h"

#include <math.h>
#include <time.h>

#include "base/stop.h"

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

sgfs_status sgfsi_tick(sgfsi_ticker *t, double fraction, sgfs_err *err) {
    double now = sgfsi_now();
    const sgfsi_watcher *watcher = t->log != NULL ? t->log->watcher : NULL;
    if (watcher != NULL && sgfsi_stop_asked(&watcher->stop))
        return sgfsi_fail(err, SGFS_ESTOPPED, "Stopped early: %.300s.", t->what);
    if (now < t->next) return SGFS_OK;
    t->next = now + interval;
    double left = fraction > 0 ? (now - t->start) * (1 - fraction) / fraction : -1;
    const sgfs_progress p = {.what = t->what,
                             .detail = "",
                             .fraction = fraction,
                             .seconds = now - t->start,
                             .eta = left,
                             .error = NAN};
    if (watcher != NULL && watcher->on_progress != NULL) watcher->on_progress(&p, watcher->user);
    if (left < 0) sgfsi_say(t->log, SGFS_TICK, "%s ...", t->what);
    else sgfsi_say(t->log, SGFS_TICK, "%s: %.0f %%, %.0f s to go", t->what, 100 * fraction, left);
    return SGFS_OK;
}
