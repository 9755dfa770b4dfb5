/* SPDX-License-Identifier: MIT
 * curve.c: how well each chain predicted the rows of --validate as it went along, one line per
 * point: the error and log loss of the prediction averaged over the draws so far, and of the draw
 * at hand alone. The curves of the paper's figure 3 are error against seconds.
 */
#include "sink/export.h"

static sgfs_status print_curve(const sgfs_draws *d, const sgfsi_used *used, FILE *f,
                               sgfs_err *err) {
    int64_t points = 0;
    (void)used; /* warm-up has points, too */
    fputs("chain", f);
    for (int k = 0; k < SGFSI_POINT; k++) fprintf(f, ",%s", sgfsi_point_names[k]);
    fputc('\n', f);
    for (int64_t c = 0; c < d->chains; c++) {
        const double *x = d->chain[c].curve;
        points += d->chain[c].points;
        for (int64_t i = 0; i < d->chain[c].points && !ferror(f); i++) {
            fprintf(f, "%lld", (long long)c + 1);
            for (int k = 0; k < SGFSI_POINT; k++) {
                fputc(',', f);
                sgfsi_export_number(f, x[i * SGFSI_POINT + k]);
            }
            fputc('\n', f);
        }
    }
    if (points > 0) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EDATA,
                      "The run has no validation curve: sample with --validate FILE.");
}

const sgfs_export_kind sgfs_export_curve = {
    .name = "curve",
    .suffix = ".curve.csv",
    .help = "error and log loss along the run, of `sgfs sample --validate`",
    .print = print_curve,
};
