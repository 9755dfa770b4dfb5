/* SPDX-License-Identifier: MIT
 * make_run.c: write the sample run into a folder with all its exports, for tests/python:
 *     make_run FOLDER [METRIC [nuts]]  ->  fit.run fit.nc fit.csv fit.npy fit_1.stan.csv fit_2...
 * fit_3...
 */
#include <string.h>

#include "sink/export.h"
#include "tools/sample_run.h"

static int complain(const sgfs_err *err) {
    fprintf(stderr, "make_run: %s\n", err->text);
    return 1;
}

static sgfs_status put_nuts_draws(sgfsi_runfile *f, int64_t c, int64_t first, int64_t count,
                                  sgfs_err *err) {
    double theta[RUN_DRAWS * RUN_D], stats[RUN_DRAWS * NUTS_S];
    for (int64_t t = 0; t < count; t++) {
        for (int64_t i = 0; i < RUN_D; i++) theta[t * RUN_D + i] = sample_theta(c, first + t, i);
        for (int64_t s = 0; s < NUTS_S; s++) stats[t * NUTS_S + s] = nuts_stat(c, first + t, s);
    }
    return sgfsi_runfile_draws(f, c, first, count, theta, stats, err);
}

static sgfs_status write_run(const char *path, const char *metric, bool nuts, sgfs_err *err) {
    sgfsi_json *header = nuts ? nuts_header(metric) : sample_header(metric);
    sgfsi_runfile *f = sgfsi_runfile_create(path, false, header, err);
    sgfsi_json_free(header);
    if (f == NULL) return err->code;
    sgfs_status status = SGFS_OK;
    for (int64_t first = 0; first < RUN_DRAWS && status == SGFS_OK; first += 10) {
        for (int64_t c = 0; c < RUN_CHAINS && status == SGFS_OK; c++) {
            status = nuts ? put_nuts_draws(f, c, first, 10, err)
                          : put_sample_draws(f, c, first, 10, err);
        }
    }
    for (int64_t c = 0; c < RUN_CHAINS && status == SGFS_OK; c++) {
        sgfsi_chain_info info = {.iterations = 2 * RUN_DRAWS,
                                 .warmup_seconds = 0.0094,
                                 .sample_seconds = 1.5 + (double)c};
        status = sgfsi_runfile_info(f, c, &info, err);
        double curve[RUN_DRAWS * SGFSI_POINT];
        fill_curve(c, RUN_DRAWS, curve);
        if (status == SGFS_OK) status = sgfsi_runfile_points(f, c, 20, curve, err);
        if (status == SGFS_OK)
            status = sgfsi_runfile_points(f, c, RUN_DRAWS - 20, curve + 20 * SGFSI_POINT, err);
    }
    if (status == SGFS_OK) status = sgfsi_runfile_end(f, "complete", err);
    sgfs_status closed = sgfsi_runfile_close(f, status == SGFS_OK ? err : NULL);
    return status != SGFS_OK ? status : closed;
}

int main(int argc, char **argv) {
    sgfs_err err = {SGFS_OK, ""};
    char path[4096];
    if (argc < 2) return 2;
    snprintf(path, sizeof path, "%s/fit.run", argv[1]);
    bool nuts = argc > 3 && strcmp(argv[3], "nuts") == 0;
    const char *metric = argc > 2 ? argv[2] : "dense_e";
    if (write_run(path, metric, nuts, &err) != SGFS_OK) return complain(&err);
    sgfs_draws *draws = sgfs_draws_open(path, &err);
    if (draws == NULL) return complain(&err);
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; sgfsi_exports[i] != NULL && status == SGFS_OK; i++) {
        snprintf(path, sizeof path, "%s/fit%s", argv[1], sgfsi_exports[i]->suffix);
        status = sgfs_draws_export(draws, path, false, &err);
    }
    sgfs_draws_free(draws);
    return status == SGFS_OK ? 0 : complain(&err);
}
