/* SPDX-License-Identifier: MIT
 * cmd_export.c: sgfs export RUN FILE.{nc,csv,stan.csv,npy}
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const cli_flag flags[] = {{"overwrite", NULL, "replace an existing file"},
                                 {NULL, NULL, NULL}};

/* Would the export have the run's name? Stan's has one file for each chain: fit_1.stan.csv. */
static bool replaces(const char *run, const char *out) {
    char each[4096];
    size_t length = strlen(out);
    size_t stem = length > 9 && strcmp(out + length - 9, ".stan.csv") == 0 ? length - 9 : length;
    snprintf(each, sizeof each, "%.*s_*%s", (int)stem, out, out + stem);
    return cli_same_file(run, out) || cli_same_file(run, each);
}

static sgfs_status export_run(cli_args *args, sgfs_err *err) {
    if (args->words != 2) {
        return cli_fail(err, SGFS_EUSAGE,
                        "Name a run and a file: sgfs export fit.run fit.nc (`sgfs list exports`)");
    }
    bool overwrite = cli_given(&cmd_export, args, "overwrite") != NULL;
    if (replaces(args->word[0], args->word[1])) {
        return cli_fail(err, SGFS_EUSAGE,
                        "%.300s: would replace the run itself; give the export "
                        "another name.",
                        args->word[1]);
    }
    sgfs_draws *draws = sgfs_draws_open(args->word[0], err);
    if (draws == NULL) return err->code;
    sgfs_status status = sgfs_draws_export(draws, args->word[1], overwrite, err);
    sgfs_draws_shape shape = sgfs_draws_size(draws);
    if (status == SGFS_OK && args->json) {
        printf("{\"chains\": %lld, \"draws\": %lld, \"dim\": %lld}\n", (long long)shape.chains,
               (long long)shape.draws, (long long)shape.dim);
    } else if (status == SGFS_OK && !args->quiet) {
        size_t length = strlen(args->word[1]);
        const char *end = length > 9 ? args->word[1] + length - 9 : "";
        const char *stan = strcmp(end, ".stan.csv") == 0 ? end : NULL;
        int stem = stan != NULL ? (int)(stan - args->word[1]) : 0;
        char name[512];
        if (stan != NULL && shape.chains > 1) {
            snprintf(name, sizeof name, "%.*s_1.stan.csv to %.*s_%lld.stan.csv", stem,
                     args->word[1], stem, args->word[1], (long long)shape.chains);
        } else {
            snprintf(name, sizeof name, "%s", args->word[1]);
        }
        if (strcmp(length > 10 ? args->word[1] + length - 10 : "", ".curve.csv") == 0)
            fprintf(stderr, "%s: the error along %lld chains\n", name, (long long)shape.chains);
        else
            fprintf(stderr, "%s: %lld chains x %lld draws x %lld parameters\n", name,
                    (long long)shape.chains, (long long)shape.draws, (long long)shape.dim);
    }
    sgfs_draws_free(draws);
    return status;
}

const cli_command cmd_export = {
    .name = "export",
    .brief = "write the draws for ArviZ, Stan's tools, R or NumPy",
    .usage = "RUN FILE.{nc,stan.csv,csv,npy,curve.csv} [--overwrite]",
    .examples = "  sgfs export fit.run fit.nc          # arviz.from_netcdf, xarray.open_datatree\n"
                "  sgfs export fit.run fit.stan.csv    # cmdstanpy.from_csv(\"./fit_*.stan.csv\")\n"
                "  sgfs export fit.run fit.csv         # posterior::as_draws_df, pandas\n"
                "  sgfs export fit.run fit.npy         # numpy.load: chains x draws x parameters\n"
                "  sgfs export fit.run fit.curve.csv   # the curve of sgfs sample --validate\n",
    .stages = "",
    .flags = flags,
    .run = export_run,
};
