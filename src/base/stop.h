/* SPDX-License-Identifier: MIT
 * stop.h: somebody's wish that work should end: the one place that says whether a run is to stop.
 *
 * Work looks here between two iterations, and ends there with everything kept. An iteration may
 * take an hour, though: so what it is made of, passes over all rows, looks here before each block
 * of rows, and gives the iteration up when the wish has waited for a quarter of a second. A run
 * goes on from its last state then, which is why this is not done at once.
 */
#pragma once

#include <stdatomic.h>

#include "base/err.h"

typedef struct sgfsi_stop {
    atomic_int asked;
    atomic_llong since;             /* milliseconds of the monotonic clock */
    const struct sgfsi_stop *wider; /* of all that goes on around it; NULL: nothing does */
} sgfsi_stop;

/* Who waits for work: hears how far it is, and may want it to end. A config and its copies have one
 * together, so that what is asked of a config is asked of everything that was opened with it. */
typedef struct sgfsi_watcher {
    sgfsi_stop stop;
    sgfs_progress_fn on_progress; /* or NULL */
    void *user;
    const struct sgfsi_comm
        *comm; /* with whom the work is shared (context/comm); NULL: not known */
    void (*close_comm)(const struct sgfsi_comm *comm); /* NULL: whoever opened it does */
    atomic_int holders;
} sgfsi_watcher;

/* Safe from a signal handler. */
void sgfsi_stop_ask(sgfsi_stop *s);

/* NULL: never. */
static inline bool sgfsi_stop_asked(const sgfsi_stop *s) {
    for (; s != NULL; s = s->wider)
        if (atomic_load_explicit(&s->asked, memory_order_acquire) != 0) return true;
    return false;
}

/* Is the iteration at hand to be given up? NULL: never. */
bool sgfsi_stop_overdue(const sgfsi_stop *s);
