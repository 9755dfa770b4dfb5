/* SPDX-License-Identifier: MIT
 * table.c: the backends.
 */
#include <string.h>

#include "backend/backend.h"

const sgfs_backend *const sgfsi_backends[] = {&sgfs_backend_blas, &sgfs_backend_host, NULL};

const sgfs_backend *sgfsi_backend_find(const char *name) {
    for (const sgfs_backend *const *b = sgfsi_backends; *b != NULL; b++) {
        if (strcmp((*b)->name, name) == 0) return *b;
    }
    return NULL;
}
