/* SPDX-License-Identifier: MIT
 * table.c: the backends.
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

void sgfsi_transpose(int64_t D, double *X) {
    for (int64_t i = 0; i < D; i++) {
        for (int64_t j = 0; j < i; j++) {
            double kept = X[i * D + j];
            X[i * D + j] = X[j * D + i];
            X[j * D + i] = kept;
        }
    }
}

/* Column by column; symmetric, so a row serves as a column. */
void sgfsi_invert_factor(const sgfs_device *dev, int64_t D, const double *L, double *X) {
    memset(X, 0, (size_t)(D * D) * sizeof *X);
    for (int64_t j = 0; j < D; j++) {
        X[j * D + j] = 1;
        sgfsi_trsv(dev, D, L, false, X + j * D);
        sgfsi_trsv(dev, D, L, true, X + j * D);
    }
}
