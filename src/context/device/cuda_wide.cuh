/* SPDX-License-Identifier: MIT
 * cuda_wide.cuh: iterations without the host in between for more columns or rows than a block of
 * threads has room for (cuda_walk.cu).
 */
#pragma once

#include "context/device/cuda_lane.cuh"
#include "context/device/walk.h"

void walk_wide(lane *l, const sgfsi_walk_law *law, int64_t chains, sgfsi_walk *walks);
