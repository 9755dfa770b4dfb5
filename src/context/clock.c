/* SPDX-License-Identifier: MIT
 * clock.c: how long a stretch is, and when time is up.
 */
#include "context/clock.h"

#include <math.h>

sgfs_status sgfsi_clock_stretch(const sgfsi_comm *comm, int64_t *stretch, double took, double most,
                                sgfs_err *err) {
    const double aim = 0.1; /* seconds */
    double factor = took > 0 ? fmin(fmax(aim / took, 0.5), 2.0) : 2;
    double wanted = fmin((double)*stretch * factor, most);
    *stretch = wanted > 1 ? (int64_t)wanted : 1;
    return sgfsi_comm_broadcast(comm, SGFS_OK, sizeof *stretch, stretch, err);
}

sgfs_status sgfsi_clock_is_over(const sgfsi_comm *comm, double now, double limit, bool *over,
                                sgfs_err *err) {
    *over = now >= limit;
    return sgfsi_comm_broadcast(comm, SGFS_OK, sizeof *over, over, err);
}
