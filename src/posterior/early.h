/* SPDX-License-Identifier: MIT
 * early.h: pairs of places that a device with all rows looks at while the host does something else
 * (places.h; open_pairs of device.h). Either the host gives their directions, or the device draws
 * them, the same ones up to rounding.
 *
 *     sgfsi_early_begin    which pairs, and where they are wanted
 *     ...                  these arrays are left alone
 *     sgfsi_early_take     their log densities are there
 */
#pragma once

#include "context/device/device.h"
#include "posterior/places.h"

typedef struct sgfsi_early {
    sgfsi_places *places;
    const sgfs_device *device;
    const double *centre;
    void *pairs;     /* the device's; NULL: it cannot */
    bool whole;      /* what it says is the log density, but for its constant */
    sgfsi_pairs now; /* those that were begun last */
    bool waiting;    /* have they still to be taken? */
} sgfsi_early;

/* For calls of law->most pairs, of which law need not say the prior; e->pairs stays NULL where no
 * device keeps the rows or has room. places: whose density it is, and where calls are counted. It
 * goes with the arena, before what was made there earlier: arrays of pairs are. */
sgfs_status sgfsi_early_open(sgfsi_early *e, sgfsi_places *places, const sgfsi_pairs_law *law,
                             sgfsi_arena *arena, sgfs_err *err);
/* What is still to be taken is given up. */
void sgfsi_early_begin(sgfsi_early *e, const sgfsi_pairs *now);
sgfs_status sgfsi_early_take(sgfsi_early *e, sgfs_err *err);
