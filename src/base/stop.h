/* SPDX-License-Identifier: MIT
 * stop.h: somebody's wish that work should end: the one place that says whether a run is to stop.
 *
 * Work looks here between two iterations, and ends there with everything kept. An iteration may
 * take an hour, though: so what it is made of, passes over all rows, looks here before each block
 * of rows, and gives the iteration up when the wish has waited for a quarter of a second. A run goes
 * on from its last state then, which is why this is not done at once.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

typedef struct sgfsi_stop {
    atomic_int asked;
    atomic_llong since; /* milliseconds of the monotonic clock */
} sgfsi_stop;

/* Safe from a signal handler. */
void sgfsi_stop_ask(sgfsi_stop *s);

static inline bool sgfsi_stop_asked(const sgfsi_stop *s) {
    return atomic_load_explicit(&s->asked, memory_order_acquire) != 0;
}

/* Is the iteration at hand to be given up? NULL: never. */
bool sgfsi_stop_overdue(const sgfsi_stop *s);
