/* SPDX-License-Identifier: MIT
 * stop.c: when somebody asked, and how long ago that was.
 */
#include "base/stop.h"

#include "base/ticker.h"

static const double patience = 250; /* milliseconds for an iteration to come to its end */

void sgfsi_stop_ask(sgfsi_stop *s) {
    if (sgfsi_stop_asked(s)) return;
    atomic_store_explicit(&s->since, (long long)(1e3 * sgfsi_now()), memory_order_relaxed);
    atomic_store_explicit(&s->asked, 1, memory_order_release);
}

bool sgfsi_stop_overdue(const sgfsi_stop *s) {
    if (s == NULL || !sgfsi_stop_asked(s)) return false;
    long long since = atomic_load_explicit(&s->since, memory_order_relaxed);
    return 1e3 * sgfsi_now() - (double)since > patience;
}
