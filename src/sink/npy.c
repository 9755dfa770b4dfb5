/* SPDX-License-Identifier: MIT
 * npy.c: the draws as one NumPy array, float64, chains x draws x D, C order. Names and statistics
 * have no place in it; .csv and .nc have them.
 */
#include "base/npy.h"

#include "sink/export.h"

static sgfs_status print_npy(const sgfs_draws *d, const sgfsi_used *used, FILE *f, sgfs_err *err) {
    const int64_t shape[] = {used->chains, used->draws, d->D};
    (void)err;
    sgfsi_npy_head(f, 3, shape);
    for (int64_t k = 0; k < used->chains; k++)
        sgfsi_npy_numbers(f, d->chain[used->chain[k]].theta, used->draws * d->D);
    return SGFS_OK;
}

const sgfs_export_kind sgfs_export_npy = {
    .name = "npy",
    .suffix = ".npy",
    .help = "NumPy array, chains x draws x parameters",
    .of_draws = true,
    .print = print_npy,
};
