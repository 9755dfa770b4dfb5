/* SPDX-License-Identifier: MIT
 * table.c: the devices.
 */
#include <string.h>

#include "context/device/device.h"

#define DEVICES(ROW) ROW(blas) ROW(host)
#define ENTER(kind)  &sgfs_device_##kind,
#define NAME(kind)   "|" #kind
const sgfs_device *const sgfsi_devices[] = {DEVICES(ENTER) NULL};
const char sgfsi_device_choices[] = DEVICES(NAME);

const sgfs_device *sgfsi_device_find(const char *name) {
    for (const sgfs_device *const *b = sgfsi_devices; *b != NULL; b++) {
        if (strcmp((*b)->name, name) == 0) return *b;
    }
    return NULL;
}
