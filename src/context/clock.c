/* SPDX-License-Identifier: MIT
 * clock.c: how long a stretch is, and when time is up. A process that can no longer be told what
 * was decided goes by its own clock: its next pass fails with a sentence.
 */
#include "context/clock.h"

#include <math.h>

int64_t sgfsi_clock_stretch(const sgfsi_comm *comm, int64_t stretch, double took, double most) {
    const double aim = 0.1; /* seconds */
    double factor = took > 0 ? fmin(fmax(aim / took, 0.5), 2.0) : 2;
    double wanted = fmin((double)stretch * factor, most);
    int64_t next = wanted > 1 ? (int64_t)wanted : 1;
    (void)comm->ops->broadcast(comm, sizeof next, &next, NULL);
    return next;
}

bool sgfsi_clock_is_over(const sgfsi_comm *comm, double now, double limit) {
    bool over = now >= limit;
    (void)comm->ops->broadcast(comm, sizeof over, &over, NULL);
    return over;
}
