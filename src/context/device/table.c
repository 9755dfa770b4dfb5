/* SPDX-License-Identifier: MIT
 * table.c: the devices.
 */
#include <stdlib.h>
#include <string.h>

#include "context/device/device.h"

const sgfs_device *const sgfsi_devices[] = {&sgfs_device_blas, &sgfs_device_host, &sgfs_device_cuda,
                                            NULL};

/* What is behind a colon: a number of at most six figures, which no machine reaches. */
static bool read_number(const char *text, int64_t *number) {
    size_t length = strspn(text, "0123456789");
    *number = strtol(text, NULL, 10);
    return length > 0 && length <= 6 && text[length] == '\0';
}

const sgfs_device *sgfsi_device_find(const char *name, int64_t *number) {
    size_t length = strcspn(name, ":");
    *number = 0;
    for (const sgfs_device *const *b = sgfsi_devices; *b != NULL; b++) {
        if (strncmp((*b)->name, name, length) != 0 || (*b)->name[length] != '\0') continue;
        if (name[length] == '\0') return *b;
        if ((*b)->ops->open != NULL && read_number(name + length + 1, number)) return *b;
    }
    return NULL;
}
