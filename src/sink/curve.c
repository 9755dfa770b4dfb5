/* SPDX-License-Identifier: MIT
 * curve.c: how well each chain predicted the rows of --validate as it went along, one line per
 * point: the error and log loss of the prediction averaged over the draws so far, and of the draw
 * at hand alone. The curves of the paper's figure 3 are error against seconds.
 */
#include "base/file.h"
#include "sink/export.h"

static void write_points(FILE *f, const sgfs_draws *d) {
    fputs("chain", f);
    for (int k = 0; k < SGFSI_POINT; k++) fprintf(f, ",%s", sgfsi_point_names[k]);
    fputc('\n', f);
    for (int64_t c = 0; c < d->chains; c++) {
        const double *x = d->chain[c].curve;
        for (int64_t i = 0; i < d->chain[c].points && !ferror(f); i++) {
            fprintf(f, "%lld", (long long)c + 1);
            for (int k = 0; k < SGFSI_POINT; k++) {
                fputc(',', f);
                sgfsi_export_number(f, x[i * SGFSI_POINT + k]);
            }
            fputc('\n', f);
        }
    }
}

static sgfs_status write_curve(const sgfs_draws *d, const char *path, bool overwrite,
                               sgfs_err *err) {
    sgfsi_outfile out;
    int64_t points = 0;
    for (int64_t c = 0; c < d->chains; c++) points += d->chain[c].points;
    if (points == 0) {
        return sgfsi_fail(err, SGFS_EDATA,
                          "The run has no validation curve: sample with --validate FILE.");
    }
    sgfs_status status = sgfsi_outfile_open(&out, path, overwrite, true, err);
    if (status != SGFS_OK) return status;
    write_points(out.f, d);
    return sgfsi_outfile_commit(&out, err);
}

const sgfs_export_kind sgfs_export_curve = {
    "curve", ".curve.csv", "error and log loss along the run, of `sgfs sample --validate`",
    write_curve};
