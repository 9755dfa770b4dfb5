/* SPDX-License-Identifier: MIT
 * gpu.h: tests that also run on a GPU: the first one, or a sentence that says why there is none.
 */
#pragma once

#include "context/device/device.h"
#include "tools/check.h"

enum { SKIPPED = 77 }; /* the exit code of a test that cannot be made here */

static inline bool open_gpu(const sgfs_device **gpu) {
    sgfs_err err;
    bool there = sgfsi_device_open(gpu, &sgfs_device_cuda, 0, &err) == SGFS_OK;
    if (!there) print_message("Skipped: %s\n", err.text);
    return there;
}
