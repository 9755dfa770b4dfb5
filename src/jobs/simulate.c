/* SPDX-License-Identifier: MIT
 * simulate.c: data with a known truth, streamed to a .npy, .csv or packed file, any number of rows.
 *
 * The model is opened on rows that have no target yet, theta is drawn, and `resample`, the hook
 * that every model draws targets with, does the rest. In each block of parameters
 * the first column meets the leading 1 of its input (a bias): N(0, 1/4). The others are N(0,
 * 1.5^2/(columns - 1)), so that predictors have about the same spread however many columns there
 * are. A block "log_sigma" is the log of --noise.
 *
 * The truth file holds these generating values ("theta") and, for models whose posterior has one
 * mode, found by Fisher scoring on the data just written, that mode's mean and inverse curvature
 * ("mean", "cov"): with many rows the posterior is Gaussian to high accuracy, and this is what
 * draws are to be compared with. The search starts at theta, which is about sqrt(D) standard
 * deviations away; a step leaves an error of about D/sqrt(N) of them, so that past `huge` rows two
 * passes find the mode to a thousandth of a standard deviation, and that is enough there.
 *
 *     x_j = rho x_(j-1) + sqrt(1 - rho^2) e_j,  e ~ N(0, 1);   y ~ model(theta, x)
 *
 * Row i has random streams of its own, so it does not matter who draws it. There are two banks of
 * blocks: while one is drawn, the other is written, in order, by the first thread that is free. The
 * room of a block is n x (1 + dim) with the model's intercepts in front; when the targets are
 * there, each takes the place of the intercept of the row after it:
 *
 *     1 x x x 1 x x x 1 x x x .   ->   1 [x x x y][x x x y][x x x y]
 *
 * and what is in brackets is what a file wants.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/npy.h"
#include "base/rng.h"
#include "base/ticker.h"
#include "chain/run.h"
#include "chain/spread_check.h"
#include "files/columns.h"
#include "files/packed/packed.h"
#include "jobs/job.h"
#include "model/prior.h"
#include "model/user.h"
#include "posterior/mode.h"
#include "sink/export.h"

static const sgfs_option options[] = {
    {"simulate.rows", "rows", SGFS_INTEGER, "10000", 2, 1e12, NULL, "rows to make"},
    {"simulate.dim", "dim", SGFS_INTEGER, "10", 1, 1e5, NULL, "feature columns x1, x2, ..."},
    {"simulate.correlation", "correlation", SGFS_NUMBER, "0.5", -0.999, 0.999, NULL,
     "correlation of neighbouring columns"},
    {"simulate.noise", "noise", SGFS_NUMBER, "1", 1e-12, 1e12, NULL,
     "noise standard deviation of models that have one"},
    {"simulate.classes", "classes", SGFS_INTEGER, "3", 2, SGFSI_MOST_LABELS, NULL,
     "labels 0, 1, ... of models that take more than two"},
    SGFSI_OPTIONS_END};

static const int64_t huge = 20000000; /* rows */

typedef struct simulation {
    const sgfs_job *job;
    const sgfs_model_kind *kind;
    int64_t rows, dim;
    double rho, noise;
    uint64_t seed;
    const sgfsi_log *log;
    sgfsi_dtype type; /* of the cells of a packed file */
    sgfs_config *cfg; /* rows as they are, with an intercept */
    sgfsi_json *info; /* how many labels there are to be */
    sgfs_data *data;  /* two rows of no importance: */
    sgfs_model *m;    /* the model that makes the targets */
    double *theta;    /* m->D */
} simulation;

enum { MOST_ROWS = 4096, MOST_CELLS = 1 << 22, MOST_BLOCKS = 64 }; /* of a block; of a bank */

/* Rows first .. first+n-1, and how it went. */
typedef struct block {
    int64_t first, n;             /* n 0: none */
    double *x;                    /* n x (1 + dim), and one more */
    double *y, *normal, *uniform; /* n each */
    sgfs_err err;
} block;

/* ---- drawing --------------------------------------------------------------------------------- */

/* n x (dim + 1) at x + 1. */
static sgfs_status draw_block(const simulation *s, block *k) {
    const int64_t p = s->dim + 1, n = k->n;
    const sgfs_batch b = {
        .n = n, .p = p, .x = k->x, .y = k->y, .total = (double)s->rows, .gamma = 1};
    const double keep = sqrt(1 - s->rho * s->rho);
    for (int64_t i = 0; i < n; i++) {
        double *x = k->x + i * p; /* 1 + dim */
        sgfsi_stream features = sgfsi_stream_at(s->seed, 0, k->first + i, SGFSI_FEATURES);
        sgfsi_stream target = sgfsi_stream_at(s->seed, 0, k->first + i, SGFSI_TARGET);
        sgfsi_normals(&features, s->dim, x + 1);
        sgfsi_normals(&target, 1, &k->normal[i]);
        sgfsi_uniforms(&target, 1, &k->uniform[i]);
        x[0] = 1;
        for (int64_t j = 2; j <= s->dim; j++) x[j] = s->rho * x[j - 1] + keep * x[j];
    }
    /* targets, each into the place of the next row's intercept */
    s->kind->resample(s->m, s->theta, &b, k->normal, k->uniform, k->y);
    for (int64_t i = 0; i < n; i++) {
        k->x[(i + 1) * p] = k->y[i];
        if (isfinite(k->y[i])) continue;
        return sgfsi_fail(&k->err, SGFS_ENUMERIC, "Row %lld has a target that is not finite.",
                          (long long)(k->first + i + 1));
    }
    return SGFS_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* How a text or an array begins, and n x (dim + 1) rows of it; packed files have neither. */
typedef struct format {
    const char *suffix;
    void (*head)(const simulation *s, FILE *f);
    void (*rows)(const simulation *s, int64_t n, const double *rows, FILE *f);
} format;

typedef struct writer {
    const simulation *s;
    const format *format;
    sgfsi_outfile out;
    sgfsi_table head; /* of a packed file */
    sgfsi_packer *packer;
} writer;

static void npy_head(const simulation *s, FILE *f) {
    const int64_t shape[] = {s->rows, s->dim + 1};
    sgfsi_npy_head(f, 2, shape);
}

static void npy_rows(const simulation *s, int64_t n, const double *rows, FILE *f) {
    sgfsi_npy_numbers(f, rows, n * (s->dim + 1));
}

static void csv_head(const simulation *s, FILE *f) {
    for (int64_t j = 0; j < s->dim; j++) fprintf(f, "x%lld,", (long long)(j + 1));
    fputs("y\n", f);
}

static void csv_rows(const simulation *s, int64_t n, const double *rows, FILE *f) {
    int64_t cols = s->dim + 1;
    for (int64_t i = 0; i < n * cols; i++) {
        sgfsi_export_number(f, rows[i]);
        fputc(i % cols == cols - 1 ? '\n' : ',', f);
    }
}

static const format formats[] = {
    {".npy", npy_head, npy_rows}, {".csv", csv_head, csv_rows}, {".sgd", NULL, NULL}};

/* Rows are independent of each other: their order is as good as one drawn at random. */
static sgfs_status open_packed(writer *w, const char *path, bool overwrite, sgfs_err *err) {
    sgfsi_table *h = &w->head;
    h->cols = w->s->dim + 1;
    h->named = true;
    h->text_col = -1;
    h->names = sgfsi_names_made_up(h->cols);
    h->role = malloc((size_t)h->cols);
    if (h->names == NULL || h->role == NULL) return sgfsi_fail_memory(err, "the columns");
    memcpy(h->names[h->cols - 1], "y", 2);
    memset(h->role, SGFSI_ROLE_FEATURE, (size_t)h->cols);
    h->role[h->cols - 1] = SGFSI_ROLE_TARGET;
    const sgfsi_packer_plan plan = {.path = path,
                                    .overwrite = overwrite,
                                    .head = h,
                                    .type = w->s->type,
                                    .shuffled = true,
                                    .log = w->s->log};
    return sgfsi_packer_open(&w->packer, &plan, err);
}

static sgfs_status open_file(writer *w, const char *path, bool overwrite, sgfs_err *err) {
    if (w->format->head == NULL) return open_packed(w, path, overwrite, err);
    sgfs_status status = sgfsi_outfile_open(&w->out, path, overwrite, true, err);
    if (status == SGFS_OK) w->format->head(w->s, w->out.f);
    return status;
}

static sgfs_status add_rows(writer *w, int64_t n, const double *rows, sgfs_err *err) {
    if (w->format->rows == NULL) return sgfsi_packer_add(w->packer, n, rows, err);
    w->format->rows(w->s, n, rows, w->out.f);
    /* What could not be written is reported at the end, but no time is lost till then. */
    return ferror(w->out.f) ? sgfsi_outfile_commit(&w->out, err) : SGFS_OK;
}

/* Not good: nothing is left. */
static sgfs_status close_file(writer *w, bool good, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    bool stream = w->format->head != NULL;
    if (good)
        status = stream ? sgfsi_outfile_commit(&w->out, err) : sgfsi_packer_commit(w->packer, err);
    else if (stream) sgfsi_outfile_abandon(&w->out);
    else sgfsi_packer_abandon(w->packer);
    sgfsi_table_free(&w->head);
    return status;
}

static const format *find_format(const char *path) {
    size_t n = strlen(path);
    for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++)
        if (n >= 4 && strcmp(path + n - 4, formats[k].suffix) == 0) return &formats[k];
    return NULL;
}

/* SGFS_EUSAGE where the name ends in nothing that can be written, or f32 is asked for where there
 * is none. */
static sgfs_status check_format(const simulation *s, const char *path, sgfs_err *err) {
    const format *f = find_format(path);
    if (f == NULL)
        return sgfsi_fail(err, SGFS_EUSAGE, "%s: the name must end in .npy, .csv or .sgd.", path);
    if (s->type == SGFSI_F64 || f->head == NULL) return SGFS_OK;
    return sgfsi_fail(err, SGFS_EUSAGE,
                      "%s: --storage f32 is for packed files, whose names end in .sgd.", path);
}

/* ---- all rows -------------------------------------------------------------------------------- */

typedef struct work {
    writer *w;
    int64_t rows, blocks; /* of a block, of a bank */
    int threads;
    block *bank[2]; /* blocks each */
} work;

/* How many rows a block has and how many blocks a bank, and room for both banks. */
static sgfs_status open_work(work *k, sgfsi_arena *arena, sgfs_err *err) {
    const int64_t cols = k->w->s->dim + 1, all = k->w->s->rows;
    int64_t rows = MOST_CELLS / cols < MOST_ROWS ? MOST_CELLS / cols : MOST_ROWS;
    int64_t blocks = MOST_CELLS / (rows * cols), needed = (all + rows - 1) / rows;
    k->threads = (int)k->w->s->m->ctx.threads;
    if (blocks > MOST_BLOCKS) blocks = MOST_BLOCKS;
    if (blocks < k->threads) blocks = k->threads;
    k->blocks = blocks < needed ? blocks : needed;
    k->rows = rows < all ? rows : all;
    block *b = k->bank[0] = sgfsi_arena_alloc(arena, 2 * k->blocks, sizeof *b);
    if (b == NULL) return sgfsi_fail_memory(err, "the simulation");
    k->bank[1] = b + k->blocks;
    for (int64_t i = 0; i < 2 * k->blocks; i++) {
        if (!SGFSI_ROOM(arena, k->rows * cols + 1, &b[i].x) ||
            !SGFSI_ROOM(arena, k->rows, &b[i].y, &b[i].normal, &b[i].uniform))
            return sgfsi_fail_memory(err, "the simulation");
    }
    return SGFS_OK;
}

/* Of several things that went wrong the first in the order of rows is reported. */
static sgfs_status write_bank(const work *k, const block *bank, sgfs_err *err) {
    sgfs_status status = SGFS_OK;
    for (int64_t i = 0; i < k->blocks && status == SGFS_OK && bank[i].n > 0; i++) {
        status = bank[i].err.code;
        if (status == SGFS_OK) status = add_rows(k->w, bank[i].n, bank[i].x + 1, err);
        else if (err != NULL) *err = bank[i].err;
    }
    return status;
}

/* Draw rows from `first` on into one bank and write the other. */
static sgfs_status turn(const work *k, int64_t first, block *draw, const block *write,
                        sgfs_err *err) {
    const simulation *s = k->w->s;
    sgfs_status status = SGFS_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(k->threads)
    for (int64_t i = -1; i < k->blocks; i++) {
        if (i < 0) {
            status = write_bank(k, write, err);
            continue;
        }
        int64_t from = first + i * k->rows, left = from < s->rows ? s->rows - from : 0;
        draw[i].first = from;
        draw[i].n = left < k->rows ? left : k->rows;
        draw[i].err.code = draw[i].n > 0 ? draw_block(s, &draw[i]) : SGFS_OK;
    }
    return status;
}

/* All rows to a file, whose kind follows from the name's end. The same numbers for any number of
 * threads and any kind of file. */
static sgfs_status write_rows(const simulation *s, const char *path, bool overwrite,
                              sgfs_err *err) {
    writer w = {.s = s, .format = find_format(path)};
    sgfs_status status = open_file(&w, path, overwrite, err);
    sgfsi_arena arena = {NULL};
    work k = {.w = &w};
    if (status == SGFS_OK) status = open_work(&k, &arena, err);
    sgfsi_ticker ticker = sgfsi_ticker_start(s->log, "Simulating");
    sgfsi_scope scope = sgfsi_context_enter(&s->m->ctx);
    const int64_t step = k.blocks * k.rows;
    /* one turn more than there are banks to fill: the last is written then */
    for (int64_t first = 0; status == SGFS_OK && first < s->rows + step; first += step) {
        int which = (int)(first / step % 2);
        status = turn(&k, first, k.bank[which], k.bank[1 - which], err);
        if (status == SGFS_OK && sgfsi_job_stopping(s->job))
            status =
                sgfsi_fail(err, SGFS_ESTOPPED,
                           "Stopped early: nothing was written. The same command starts over.");
        if (first > 0 && status == SGFS_OK)
            status = sgfsi_tick(&ticker, fmin(1, (double)first / (double)s->rows), err);
    }
    sgfsi_context_leave(scope);
    sgfsi_arena_free(&arena);
    sgfs_status closed = close_file(&w, status == SGFS_OK, err);
    return status == SGFS_OK ? closed : status;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* The model on two rows of zeros, as they are and with an intercept: enough for its parameters. */
static sgfs_status open_model(simulation *s, const sgfs_config *cfg, sgfsi_arena *arena,
                              sgfs_err *err) {
    const double *zeros = SGFSI_DOUBLES(arena, 2 * s->dim);
    s->cfg = sgfsi_config_copy(cfg);
    if (zeros == NULL || s->cfg == NULL) return sgfsi_fail_memory(err, "the simulation");
    sgfs_config_on_message(s->cfg, NULL, NULL); /* two rows of zeros are not worth a warning */
    sgfs_status status = sgfs_config_set(s->cfg, "data.standardize", "false", err);
    if (status == SGFS_OK) status = sgfs_config_set(s->cfg, "data.intercept", "true", err);
    if (status != SGFS_OK) return status;
    s->info = sgfsi_json_object();
    sgfsi_json_int(s->info, "classes", sgfsi_config_int(cfg, "simulate.classes"));
    if (!sgfsi_json_whole(s->info)) return sgfsi_fail_memory(err, "the simulation");
    sgfs_err cause = {.code = SGFS_EINTERNAL};
    const sgfs_arrays arrays = {.rows = 2, .cols = s->dim, .x = zeros};
    s->data = sgfs_data_wrap(&arrays, s->cfg, &cause);
    if (s->data != NULL) s->m = sgfsi_model_create(s->kind, s->data, s->cfg, s->info, &cause);
    if (s->m == NULL) return sgfsi_fail(err, cause.code, "%s", cause.text);
    s->theta = SGFSI_DOUBLES(arena, s->m->D);
    return s->theta != NULL ? SGFS_OK : sgfsi_fail_memory(err, "the simulation");
}

/* ---- the truth ------------------------------------------------------------------------------- */

/* mean, cov NULL: there is no one mode that they could be of. */
static sgfsi_json *truth_json(const simulation *s, const sgfs_model *m, const double *mean,
                              const double *cov) {
    sgfsi_json *o = sgfsi_json_object();
    sgfsi_json_text(o, "what",
                    mean == NULL
                        ? "theta generated the data; the posterior may have many modes"
                        : "posterior mean (mode and first correction) and inverse curvature on the "
                          "full data; theta generated it");
    sgfsi_prior_describe(m, o);
    sgfsi_json *names = sgfsi_json_array_in(o, "names");
    for (int64_t j = 0; j < m->D; j++) sgfsi_json_text(names, NULL, m->param[j]);
    if (mean != NULL) sgfsi_json_nums(o, "mean", m->D, mean);
    sgfsi_json_nums(o, "theta", m->D, s->theta);
    if (cov == NULL) return o;
    sgfsi_json *rows = sgfsi_json_array_in(o, "cov");
    for (int64_t j = 0; j < m->D; j++) sgfsi_json_nums(rows, NULL, m->D, cov + j * m->D);
    return o;
}

/* mean: D; cov: D x D. */
static sgfs_status find_moments(const simulation *s, const sgfs_model *m, sgfsi_arena *arena,
                                double *mean, double *cov, sgfs_err *err) {
    sgfsi_mode mode;
    double *start = SGFSI_DOUBLES(arena, m->D);
    if (start == NULL) return sgfsi_fail_memory(err, "the truth");
    memcpy(start, s->theta, (size_t)m->D * sizeof *start);
    if (m->kind->from_user != NULL) m->kind->from_user(m, s->theta, start);
    const sgfsi_mode_plan plan = {.method = "fisher",
                                  .tolerance = s->rows > huge ? 1e-3 : 1e-8,
                                  .start = start,
                                  .stop = sgfsi_job_stop(s->job)};
    if (s->rows > huge)
        sgfsi_say(s->log, SGFS_NOTE, "Looking for the mode: two or three passes over all rows.");
    sgfsi_scope scope = sgfsi_context_enter(&m->ctx);
    sgfs_status status = sgfsi_mode_search(m, &plan, arena, &mode, err);
    sgfsi_context_leave(scope);
    if (status != SGFS_OK) return status;
    sgfsi_invert_factor(m->ctx.near, m->D, mode.L, cov);
    /* past a million rows mean and mode are the same to any run, and 2 D passes are long */
    if (s->rows <= 1000000) status = sgfsi_mode_mean(m, mode.theta, cov, mean, err);
    else memcpy(mean, mode.theta, (size_t)m->D * sizeof *mean);
    if (status != SGFS_OK || m->data->scale == NULL || m->kind->to_user == NULL) return status;
    memcpy(start, mean, (size_t)m->D * sizeof *start); /* to the scale of the file's columns */
    m->kind->to_user(m, start, mean);
    bool mapped = sgfsi_curvature_cov(m, mode.theta, mode.L, cov);
    return mapped ? SGFS_OK : sgfsi_fail_memory(err, "the truth");
}

static sgfs_status find_truth(const simulation *s, const sgfs_model *m, const char *truth,
                              sgfs_err *err) {
    if (m->D != s->m->D)
        return sgfsi_fail(err, SGFS_EDATA,
                          "Only %lld of %lld classes appear in %lld rows: use more --rows or fewer "
                          "--classes.",
                          (long long)m->labels.count, (long long)s->m->labels.count,
                          (long long)s->rows);
    sgfsi_arena arena = {NULL};
    bool moments = s->kind->one_mode;
    double *mean = SGFSI_DOUBLES(&arena, m->D);
    double *cov = moments ? SGFSI_DOUBLES(&arena, m->D * m->D) : NULL;
    sgfs_status status = SGFS_OK;
    if (mean == NULL || (moments && cov == NULL)) status = sgfsi_fail_memory(err, "the truth");
    if (status == SGFS_OK && moments) status = find_moments(s, m, &arena, mean, cov, err);
    if (status == SGFS_OK)
        status = sgfsi_job_write(s->job, truth_json(s, m, moments ? mean : NULL, cov), truth, err);
    sgfsi_arena_free(&arena);
    return status;
}

/* ---- the job --------------------------------------------------------------------------------- */

typedef struct simulate {
    sgfs_job job;
    const sgfs_model_kind *kind;
    char *out, *truth; /* truth: or NULL */
    sgfs_simulated shown;
} simulate;

sgfs_job *sgfs_simulate_open(const char *model, const char *out, const char *truth,
                             const sgfs_config *cfg, sgfs_err *err) {
    simulate *s =
        sgfsi_job_new(&sgfsi_job_simulate, sizeof *s, model != NULL && out != NULL ? cfg : NULL,
                      "sgfs_simulate_open: a model, a path and a config are needed.", err);
    if (s == NULL) return NULL;
    s->out = sgfsi_arena_text(&s->job.arena, out);
    if (truth != NULL) s->truth = sgfsi_arena_text(&s->job.arena, truth);
    sgfs_status status = SGFS_OK;
    if (s->out == NULL || (truth != NULL && s->truth == NULL))
        status = sgfsi_fail_memory(err, "the simulation");
    else if (sgfsi_user_is_file(model))
        status = sgfsi_fail(err, SGFS_EUSAGE,
                            "%.300s: data are simulated from built-in models only (`sgfs list "
                            "models`).",
                            model);
    else if ((s->kind = sgfsi_find_model(model, err)) == NULL) status = SGFS_EUSAGE;
    else if (s->kind->resample == NULL)
        status = sgfsi_fail(err, SGFS_EUSAGE, "Model %s cannot be simulated from yet.", model);
    return sgfsi_job_opened(&s->job, status);
}

static sgfs_status run(sgfs_job *job, sgfs_err *err) {
    simulate *o = (simulate *)job;
    const sgfs_config *cfg = job->cfg;
    bool single = strcmp(sgfsi_config_text(cfg, "data.storage"), "f32") == 0;
    bool overwrite = sgfsi_config_flag(cfg, "output.overwrite");
    simulation s = {.job = job,
                    .kind = o->kind,
                    .rows = sgfsi_config_int(cfg, "simulate.rows"),
                    .dim = sgfsi_config_int(cfg, "simulate.dim"),
                    .rho = sgfsi_config_num(cfg, "simulate.correlation"),
                    .noise = sgfsi_config_num(cfg, "simulate.noise"),
                    .seed = (uint64_t)sgfsi_config_int(cfg, "run.seed"),
                    .log = sgfsi_config_log(cfg),
                    .type = single ? SGFSI_F32 : SGFSI_F64};
    sgfs_status status = check_format(&s, o->out, err);
    if (status == SGFS_OK && sgfsi_config_given(cfg, "prior.precision"))
        status = sgfsi_precisions_check(sgfsi_config_text(cfg, "prior.precision"), err);
    if (status == SGFS_OK && o->truth != NULL) { /* refuse before an hour of writing, not after */
        sgfsi_outfile trial;
        status = sgfsi_outfile_open(&trial, o->truth, overwrite, false, err);
        if (status == SGFS_OK) sgfsi_outfile_abandon(&trial);
    }
    if (status == SGFS_OK) status = sgfsi_check_model_options(cfg, s.kind, err);
    if (status == SGFS_OK) status = open_model(&s, cfg, &job->arena, err);
    if (status == SGFS_OK) {
        sgfsi_stream stream = sgfsi_stream_at(s.seed, 0, 0, SGFSI_TRUTH);
        sgfsi_normals(&stream, s.m->D, s.theta);
        for (const sgfs_block *b = s.m->block; b < s.m->block + s.m->blocks; b++) {
            bool noise = strcmp(b->name, "log_sigma") == 0;
            for (int64_t i = 0; i < b->rows * b->cols; i++) {
                double *value = &s.theta[b->offset + i];
                *value *= i % b->cols == 0 ? 0.5 : 1.5 / sqrt((double)(b->cols - 1));
                if (noise) *value = log(s.noise);
            }
        }
        status = write_rows(&s, o->out, overwrite, err);
    }
    if (status == SGFS_OK && o->truth != NULL) {
        sgfs_data *data = sgfs_data_open(o->out, cfg, err);
        sgfs_model *m =
            data != NULL ? sgfsi_model_within(&s.m->ctx, s.kind, data, cfg, NULL, err) : NULL;
        status = m != NULL ? find_truth(&s, m, o->truth, err) : sgfsi_why(err);
        sgfs_model_free(m);
        sgfs_data_free(data);
    }
    sgfs_model_free(s.m);
    sgfs_data_free(s.data);
    sgfsi_json_free(s.info);
    sgfs_config_free(s.cfg);
    o->shown = (sgfs_simulated){s.rows, s.dim, sgfsi_job_seconds(job)};
    if (status == SGFS_OK) job->result = &o->shown;
    return status;
}

static sgfsi_json *to_json(const sgfs_job *job) {
    const sgfs_simulated *shown = &((const simulate *)job)->shown;
    sgfsi_json *o = sgfsi_json_object();
    SGFSI_JSON(o, shown, rows, features, seconds);
    return o;
}

const sgfsi_job_kind sgfsi_job_simulate = {
    .stage = "simulate", .options = options, .doing = "simulating", .run = run, .json = to_json};
