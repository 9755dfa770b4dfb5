/* SPDX-License-Identifier: MIT
 * npy.c: the draws as one NumPy array, float64, chains x draws x D, C order. Names and statistics
 * have no place in it; .csv and .nc have them.
 */
#include "base/npy.h"
#include "base/file.h"
#include "sink/export.h"

static sgfs_status write_npy(const sgfs_draws *d, const char *path, bool overwrite, sgfs_err *err) {
    sgfsi_export_view view;
    sgfs_status status = sgfsi_export_view_open(&view, d, err);
    if (status != SGFS_OK) return status;
    sgfsi_outfile out;
    status = sgfsi_outfile_open(&out, path, overwrite, true, err);
    if (status == SGFS_OK) {
        const int64_t shape[] = {view.chains, view.draws, d->D};
        sgfsi_npy_head(out.f, 3, shape);
        for (int64_t k = 0; k < view.chains; k++) {
            sgfsi_npy_numbers(out.f, d->chain[view.used[k]].theta, view.draws * d->D);
        }
        status = sgfsi_outfile_commit(&out, err);
    }
    sgfsi_export_view_close(&view);
    return status;
}

const sgfs_export_kind sgfs_export_npy = {"npy", ".npy", "NumPy array, chains x draws x parameters",
                                          write_npy};
