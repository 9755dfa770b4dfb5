/* SPDX-License-Identifier: MIT
 * csv.c: a plain table, one row per draw: .chain, .iteration, .draw, then every parameter.
 *
 * The three first names are those of R's `posterior` package (as_draws_df takes the table as it
 * is); pandas, polars and spreadsheets take it too: no comments, one header, numbers that read back
 * to the same bits. .chain counts from 1 and is the run's own number of the chain; .iteration
 * counts the kept draws of a chain from 1; .draw runs over all rows. Statistics are left to netCDF.
 */
#include "sink/export.h"

static sgfs_status print_csv(const sgfs_draws *d, const sgfsi_used *used, FILE *f, sgfs_err *err) {
    (void)err;
    /* The header, and then a line for each draw, chain after chain. */
    fputs(".chain,.iteration,.draw", f);
    for (int64_t i = 0; i < d->D; i++) {
        fputc(',', f);
        sgfsi_export_cell(f, "", d->param[i], "");
    }
    fputc('\n', f);
    for (int64_t k = 0; k < used->chains; k++) {
        const double *theta = d->chain[used->chain[k]].theta;
        for (int64_t t = 0; t < used->draws && !ferror(f); t++) {
            fprintf(f, "%lld,%lld,%lld", (long long)used->chain[k] + 1, (long long)t + 1,
                    (long long)(k * used->draws + t) + 1);
            for (int64_t i = 0; i < d->D; i++) {
                fputc(',', f);
                sgfsi_export_number(f, theta[t * d->D + i]);
            }
            fputc('\n', f);
        }
    }
    return SGFS_OK;
}

const sgfs_export_kind sgfs_export_csv = {
    .name = "csv",
    .suffix = ".csv",
    .help = "plain table, one row per draw (R posterior, pandas)",
    .of_draws = true,
    .print = print_csv,
};
