/* SPDX-License-Identifier: MIT
 * stop.c: when somebody asked, and how long ago that was.
 */
#include "base/stop.h"

#include "base/ticker.h"

static const double patience = 250; /* milliseconds for an iteration to come to its end */

void sgfsi_stop_ask(sgfsi_stop *s) {
    if (atomic_load_explicit(&s->asked, memory_order_acquire) != 0) return;
    atomic_store_explicit(&s->since, (long long)(1e3 * sgfsi_now()), memory_order_relaxed);
    atomic_store_explicit(&s->asked, 1, memory_order_release);
}

bool sgfsi_stop_overdue(const sgfsi_stop *s) {
    for (; s != NULL; s = s->wider) {
        if (atomic_load_explicit(&s->asked, memory_order_acquire) == 0) continue;
        long long since = atomic_load_explicit(&s->since, memory_order_relaxed);
        if (1e3 * sgfsi_now() - (double)since > patience) return true;
    }
    return false;
}
