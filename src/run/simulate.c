/* SPDX-License-Identifier: MIT
 * simulate.c: data with a known truth, streamed to a .npy or .csv file, any number of rows.
 *
 *     x_j = rho x_(j-1) + sqrt(1 - rho^2) e_j,  e ~ N(0, 1);   eta = intercept + x'beta;   y ~
 * model(eta)
 *
 * beta_j ~ N(0, (1.5^2)/dim), intercept ~ N(0, 0.25). The truth file holds these generating values
 * ("theta") and, found by Fisher scoring on the data just written, the posterior's mode and inverse
 * curvature
 * ("mean", "cov"): with many rows the posterior is Gaussian to high accuracy, and this is what
 * draws are to be compared with.
 */
#include "run/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/number.h"
#include "base/rng.h"
#include "base/ticker.h"
#include "model/mode.h"
#include "model/prior.h"

const sgfs_option sgfsi_simulate_options[] = {
    {"simulate.rows", "rows", SGFS_INTEGER, "10000", 2, 1e12, NULL, "rows to make"},
    {"simulate.dim", "dim", SGFS_INTEGER, "10", 1, 1e5, NULL, "feature columns x1, x2, ..."},
    {"simulate.correlation", "correlation", SGFS_NUMBER, "0.5", -0.999, 0.999, NULL,
     "correlation of neighbouring columns"},
    {"simulate.noise", "noise", SGFS_NUMBER, "1", 1e-12, 1e12, NULL,
     "noise standard deviation of the linear model"},
    SGFSI_OPTIONS_END};

enum { BLOCK = 4096 };

typedef struct simulation {
    const sgfs_model_kind *kind;
    int64_t rows, dim;
    double rho, noise;
    uint64_t seed;
    const sgfsi_log *log;
    double *theta;     /* 1 + dim: intercept first */
    double *rows_room; /* BLOCK x (dim + 1) */
    bool csv;
} simulation;

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void draw_truth(simulation *s) {
    sgfsi_stream stream = sgfsi_stream_at(s->seed, 0, 0, SGFSI_TRUTH);
    sgfsi_normals(&stream, s->dim + 1, s->theta);
    s->theta[0] *= 0.5;
    for (int64_t j = 1; j <= s->dim; j++) s->theta[j] *= 1.5 / sqrt((double)s->dim);
}

/* Row i has a stream of its own, so the data do not depend on how they are written. */
static void draw_row(const simulation *s, int64_t i, double *row) {
    double normal, uniform, eta = s->theta[0], keep = sqrt(1 - s->rho * s->rho);
    sgfsi_stream features = sgfsi_stream_at(s->seed, 0, i, SGFSI_FEATURES);
    sgfsi_stream target = sgfsi_stream_at(s->seed, 0, i, SGFSI_TARGET);
    sgfsi_normals(&features, s->dim, row);
    sgfsi_normals(&target, 1, &normal);
    sgfsi_uniforms(&target, 1, &uniform);
    for (int64_t j = 0; j < s->dim; j++) {
        if (j > 0) row[j] = s->rho * row[j - 1] + keep * row[j];
        eta += s->theta[j + 1] * row[j];
    }
    row[s->dim] = s->kind->simulate(eta, s->noise, normal, uniform);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void write_head(const simulation *s, FILE *f) {
    const int64_t shape[] = {s->rows, s->dim + 1};
    if (!s->csv) {
        sgfsi_npy_head(f, 2, shape);
        return;
    }
    for (int64_t j = 0; j < s->dim; j++) fprintf(f, "x%lld,", (long long)(j + 1));
    fputs("y\n", f);
}

static void write_rows(const simulation *s, int64_t n, FILE *f) {
    int64_t width = s->dim + 1;
    if (!s->csv) {
        sgfsi_npy_numbers(f, s->rows_room, n * width);
        return;
    }
    for (int64_t i = 0; i < n * width; i++) {
        char text[SGFSI_NUM_CHARS];
        sgfsi_format_num(text, s->rows_room[i]);
        fputs(text, f);
        fputc((i + 1) % width == 0 ? '\n' : ',', f);
    }
}

static sgfs_status write_data(const simulation *s, const char *path, bool overwrite,
                              sgfs_err *err) {
    sgfsi_outfile out;
    sgfs_status status = sgfsi_outfile_open(&out, path, overwrite, true, err);
    if (status != SGFS_OK) return status;
    sgfsi_ticker ticker = sgfsi_ticker_start(s->log, "Simulating");
    write_head(s, out.f);
    for (int64_t first = 0; first < s->rows && !ferror(out.f); first += BLOCK) {
        int64_t n = s->rows - first < BLOCK ? s->rows - first : BLOCK;
        for (int64_t i = 0; i < n; i++) draw_row(s, first + i, s->rows_room + i * (s->dim + 1));
        write_rows(s, n, out.f);
        sgfsi_tick(&ticker, (double)first / (double)s->rows);
    }
    return sgfsi_outfile_commit(&out, err);
}

/* ---- the truth ------------------------------------------------------------------------------- */

static sgfsi_json *truth_json(const simulation *s, const sgfs_model *m, const double *mean,
                              const double *cov) {
    sgfsi_json *o = sgfsi_json_object(), *names = sgfsi_json_array(), *rows = sgfsi_json_array();
    sgfsi_json *theta = sgfsi_json_array();
    for (int64_t j = 0; j < m->D; j++) {
        sgfsi_json_text(names, NULL, m->param[j]);
        sgfsi_json_num(theta, NULL,
                       j <= s->dim ? s->theta[j] : log(s->noise)); /* log_sigma is last */
        sgfsi_json_nums(rows, NULL, m->D, cov + j * m->D);
    }
    sgfsi_json_text(
        o, "what",
        "posterior mean (mode and first correction) and inverse curvature on the full data; "
        "theta generated it");
    sgfsi_prior_describe(m, o);
    sgfsi_json_put(o, "names", names);
    sgfsi_json_nums(o, "mean", m->D, mean);
    sgfsi_json_put(o, "theta", theta);
    sgfsi_json_put(o, "cov", rows);
    return o;
}

static sgfs_status write_json(sgfsi_json *v, const char *path, bool overwrite, sgfs_err *err) {
    char *text = sgfsi_json_dump(v, true);
    if (text == NULL) return sgfsi_fail_memory(err, path);
    sgfs_status status = sgfsi_outfile_text(path, overwrite, text, err);
    free(text);
    return status;
}

static sgfs_status find_truth(const simulation *s, const sgfs_model *m, const char *truth,
                              bool overwrite, sgfs_err *err) {
    double *mode = malloc((size_t)m->D * sizeof *mode);
    double *cov = malloc((size_t)(m->D * m->D) * sizeof *cov);
    double *mean = malloc((size_t)m->D * sizeof *mean);
    sgfs_status status = mode != NULL && cov != NULL && mean != NULL
                             ? sgfsi_mode_find(m, 0, mode, cov, NULL, err)
                             : sgfsi_fail_memory(err, "the truth");
    /* past a million rows mean and mode are the same to any run, and 2 D passes are long */
    if (status == SGFS_OK && s->rows <= 1000000) status = sgfsi_mode_mean(m, mode, cov, mean, err);
    else if (status == SGFS_OK) memcpy(mean, mode, (size_t)m->D * sizeof *mean);
    if (status == SGFS_OK) {
        sgfsi_json *v = truth_json(s, m, mean, cov);
        status = write_json(v, truth, overwrite, err);
        sgfsi_json_free(v);
    }
    free(mode);
    free(mean);
    free(cov);
    return status;
}

static sgfs_status write_truth(const simulation *s, const sgfs_config *cfg, const char *path,
                               const char *truth, sgfs_err *err) {
    sgfs_data *data = sgfs_data_open(path, cfg, err);
    sgfs_model *m = data != NULL ? sgfsi_model_open(s->kind, data, cfg, err) : NULL;
    sgfs_status status =
        m != NULL     ? find_truth(s, m, truth, sgfsi_config_flag(cfg, "output.overwrite"), err)
        : err != NULL ? err->code
                      : SGFS_EINTERNAL;
    sgfs_model_free(m);
    sgfs_data_free(data);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

sgfs_status sgfsi_simulate(const sgfs_model_kind *kind, const sgfs_config *cfg, const char *path,
                           const char *truth, sgfs_err *err) {
    simulation s = {.kind = kind,
                    .rows = sgfsi_config_int(cfg, "simulate.rows"),
                    .dim = sgfsi_config_int(cfg, "simulate.dim"),
                    .rho = sgfsi_config_num(cfg, "simulate.correlation"),
                    .noise = sgfsi_config_num(cfg, "simulate.noise"),
                    .seed = (uint64_t)sgfsi_config_int(cfg, "run.seed"),
                    .log = sgfsi_config_log(cfg),
                    .csv = ends_with(path, ".csv")};
    sgfsi_arena arena = {NULL};
    bool overwrite = sgfsi_config_flag(cfg, "output.overwrite");
    if (!s.csv && !ends_with(path, ".npy")) {
        return sgfsi_fail(err, SGFS_EUSAGE, "%s: the name must end in .npy or .csv.", path);
    }
    sgfs_status prior = sgfsi_precisions_check(sgfsi_config_text(cfg, "prior.precision"), err);
    if (prior != SGFS_OK) return prior;
    if (truth != NULL) { /* refuse before an hour of writing, not after */
        sgfsi_outfile probe;
        sgfs_status refused = sgfsi_outfile_open(&probe, truth, overwrite, false, err);
        if (refused != SGFS_OK) return refused;
        sgfsi_outfile_abandon(&probe);
    }
    s.theta = SGFSI_DOUBLES(&arena, s.dim + 1);
    s.rows_room = SGFSI_DOUBLES(&arena, BLOCK * (s.dim + 1));
    sgfs_status status = SGFS_OK;
    if (s.theta == NULL || s.rows_room == NULL) status = sgfsi_fail_memory(err, "the simulation");
    if (status == SGFS_OK) {
        draw_truth(&s);
        status = write_data(&s, path, overwrite, err);
    }
    if (status == SGFS_OK && truth != NULL) status = write_truth(&s, cfg, path, truth, err);
    sgfsi_arena_free(&arena);
    return status;
}
