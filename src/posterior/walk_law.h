/* SPDX-License-Identifier: MIT
 * walk_law.h: a posterior and its minibatches as plain data, for a device that makes iterations by
 * itself (context/device/walk.h).
 */
#pragma once

#include "context/device/walk.h"
#include "posterior/posterior.h"

/* Fills all of *law but its matrix. law->X is NULL where that cannot be: no such device, another
 * model, prior or way of drawing rows, rows that the device does not have, or that have weights, an
 * exposure or no room there as numbers. The rows as numbers, and the targets, go with the arena. */
sgfs_status sgfsi_walk_law_of(const sgfsi_eval *e, sgfsi_walk_law *law, sgfsi_arena *arena,
                              sgfs_err *err);
