/* SPDX-License-Identifier: MIT
 * reference.c: reference moments from another run, or from JSON
 *     {"names": [D], "mean": [D], "cov": [[D] x D], "theta": [D], "ess": number}
 * where all but names and mean may be left out. "theta" are the values that generated the data,
 * "ess" the independent draws the moments were made of. Without "ess" they are taken as exact.
 *
 * Parameters are matched by name, in any order; each side must have each name once. A reference for
 * another model is an error to report, not to work around.
 */
#include "diagnostics/reference.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "diagnostics/measures.h"
#include "diagnostics/moments.h"

enum { NAMED = 4, NAMES_TEXT = 200 };

/* What every step below is given. */
typedef struct job {
    const char *path;
    int64_t D;
    char *const *names; /* D: the run's */
    sgfsi_arena *arena;
    sgfs_err *err;
} job;

/* ---- matching names -------------------------------------------------------------------------- */

typedef struct name_at {
    const char *name;
    int64_t at;
} name_at;

static int by_name(const void *a, const void *b) {
    return strcmp(((const name_at *)a)->name, ((const name_at *)b)->name);
}

static name_at *sorted_names(sgfsi_arena *arena, int64_t D, const char *const *names) {
    name_at *out = sgfsi_arena_alloc(arena, D, sizeof *out);
    for (int64_t i = 0; out != NULL && i < D; i++) out[i] = (name_at){names[i], i};
    if (out != NULL && D > 0) qsort(out, (size_t)D, sizeof *out, by_name);
    return out;
}

/* Note a name in a list that stops after a few. */
static void note(char text[NAMES_TEXT], int64_t seen, const char *name) {
    size_t used = strlen(text);
    if (seen < NAMED) {
        snprintf(text + used, NAMES_TEXT - used, "%s\"%.40s\"", used > 0 ? ", " : "", name);
    } else if (seen == NAMED) {
        snprintf(text + used, NAMES_TEXT - used, ", ...");
    }
}

static sgfs_status refuse_names(const job *j, const char *missing, const char *extra) {
    bool both = missing[0] != '\0' && extra[0] != '\0';
    return sgfsi_fail(j->err, SGFS_EDATA,
                      "%s: not the same parameters: %s%s%s%s%s. Give the reference of this model.",
                      j->path, missing[0] != '\0' ? "the reference lacks " : "", missing,
                      both ? "; " : "", extra[0] != '\0' ? "the run lacks " : "", extra);
}

/* order[i] = place in the reference (R names) of the run's parameter i. */
static sgfs_status match(const job *j, int64_t R, const char *const *names, int64_t *order) {
    name_at *mine = sorted_names(j->arena, j->D, (const char *const *)j->names);
    name_at *theirs = sorted_names(j->arena, R, names);
    if (mine == NULL || theirs == NULL) return sgfsi_fail_memory(j->err, "the names");
    for (int64_t k = 1; k < R; k++) {
        if (strcmp(theirs[k - 1].name, theirs[k].name) != 0) continue;
        return sgfsi_fail(j->err, SGFS_EDATA, "%s: the parameter \"%.60s\" is there twice.",
                          j->path, theirs[k].name);
    }
    char missing[NAMES_TEXT] = "", extra[NAMES_TEXT] = "";
    int64_t lacks = 0, more = 0;
    for (int64_t i = 0, k = 0; i < j->D || k < R;) {
        int side = i == j->D ? 1 : k == R ? -1 : strcmp(mine[i].name, theirs[k].name);
        if (side < 0) note(missing, lacks++, mine[i++].name);
        else if (side > 0) note(extra, more++, theirs[k++].name);
        else order[mine[i++].at] = theirs[k++].at;
    }
    return lacks + more > 0 ? refuse_names(j, missing, extra) : SGFS_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* The D numbers of a JSON array, taken in `order`. */
static sgfs_status read_numbers(const job *j, const char *what, const sgfsi_json *array,
                                const int64_t *order, double *out) {
    if (sgfsi_json_length(array) != j->D) {
        return sgfsi_fail(j->err, SGFS_EDATA, "%s: \"%s\" must be an array of %lld numbers.",
                          j->path, what, (long long)j->D);
    }
    for (int64_t i = 0; i < j->D; i++) {
        if (sgfsi_json_as_num(sgfsi_json_at(array, order[i]), &out[i]) && isfinite(out[i]))
            continue;
        return sgfsi_fail(j->err, SGFS_EDATA, "%s: \"%s\"[%lld] is not a finite number.", j->path,
                          what, (long long)order[i]);
    }
    return SGFS_OK;
}

/* Variances positive, and the two triangles equal up to what printing may have cut. */
static sgfs_status check_cov(const job *j, const double *cov) {
    int64_t D = j->D;
    for (int64_t i = 0; i < D; i++) {
        if (cov[i * D + i] > 0.0) continue;
        return sgfsi_fail(j->err, SGFS_EDATA,
                          "%s: the variance of \"%.60s\" in \"cov\" is not positive.", j->path,
                          j->names[i]);
    }
    for (int64_t i = 0; i < D; i++) {
        for (int64_t k = 0; k < i; k++) {
            double scale = sqrt(cov[i * D + i] * cov[k * D + k]);
            if (fabs(cov[i * D + k] - cov[k * D + i]) <= 1e-6 * scale) continue;
            return sgfsi_fail(j->err, SGFS_EDATA,
                              "%s: \"cov\" is not symmetric at \"%.60s\", \"%.60s\".", j->path,
                              j->names[k], j->names[i]);
        }
    }
    return SGFS_OK;
}

static sgfs_status read_cov(const job *j, const sgfsi_json *cov, const int64_t *order,
                            double *out) {
    if (sgfsi_json_length(cov) != j->D) {
        return sgfsi_fail(j->err, SGFS_EDATA, "%s: \"cov\" must have %lld rows, one per parameter.",
                          j->path, (long long)j->D);
    }
    for (int64_t i = 0; i < j->D; i++) {
        const sgfsi_json *row = sgfsi_json_at(cov, order[i]);
        sgfs_status status = read_numbers(j, "cov[...]", row, order, out + i * j->D);
        if (status != SGFS_OK) return status;
    }
    return check_cov(j, out);
}

static sgfs_status read_names(const job *j, const sgfsi_json *json, const char ***names,
                              int64_t *count) {
    const sgfsi_json *array = sgfsi_json_get(json, "names");
    *count = sgfsi_json_length(array);
    if (*count < 1) {
        return sgfsi_fail(
            j->err, SGFS_EDATA,
            "%s: a reference needs \"names\", an array of parameter names, and \"mean\".", j->path);
    }
    *names = sgfsi_arena_alloc(j->arena, *count, sizeof **names);
    if (*names == NULL) return sgfsi_fail_memory(j->err, "the names");
    for (int64_t i = 0; i < *count; i++) {
        (*names)[i] = sgfsi_json_as_text(sgfsi_json_at(array, i));
        if ((*names)[i] != NULL) continue;
        return sgfsi_fail(j->err, SGFS_EDATA, "%s: \"names\"[%lld] is not text.", j->path,
                          (long long)i);
    }
    return SGFS_OK;
}

/* How good the moments are: "ess", or exact. */
static sgfs_status read_noise(const job *j, const sgfsi_json *json, sgfsi_reference *out) {
    double ess = sgfsi_json_get_num(json, "ess", INFINITY);
    if (!(ess > 0.0)) {
        return sgfsi_fail(j->err, SGFS_EDATA, "%s: \"ess\" must be a positive number.", j->path);
    }
    out->v = 1.0 / ess;
    for (int64_t i = 0; i < j->D && out->cov; i++) {
        out->error[i] = sqrt(out->cov[i * j->D + i] * out->v);
    }
    return SGFS_OK;
}

static sgfs_status take_json(const job *j, const sgfsi_json *json, sgfsi_reference *out) {
    int64_t R = 0, *order = sgfsi_arena_alloc(j->arena, j->D, sizeof *order);
    const char **names = NULL;
    if (order == NULL) return sgfsi_fail_memory(j->err, "the reference");
    sgfs_status status = read_names(j, json, &names, &R);
    if (status == SGFS_OK) status = match(j, R, names, order);
    if (status != SGFS_OK) return status;
    const sgfsi_json *cov = sgfsi_json_get(json, "cov"), *theta = sgfsi_json_get(json, "theta");
    if (cov != NULL) out->cov = SGFSI_DOUBLES(j->arena, j->D * j->D);
    if (theta != NULL) out->theta = SGFSI_DOUBLES(j->arena, j->D);
    if ((cov && !out->cov) || (theta && !out->theta))
        return sgfsi_fail_memory(j->err, "the reference");
    if (theta != NULL && sgfsi_json_get(json, "mean") == NULL) {
        return sgfsi_fail(
            j->err, SGFS_EDATA,
            "%s: holds the parameters that made the data (\"theta\") and no posterior "
            "moments to compare with: this posterior may have many modes. Compare "
            "with another run (--reference RUN).",
            j->path);
    }
    status = read_numbers(j, "mean", sgfsi_json_get(json, "mean"), order, out->mean);
    if (status == SGFS_OK && cov) status = read_cov(j, cov, order, out->cov);
    if (status == SGFS_OK && theta) status = read_numbers(j, "theta", theta, order, out->theta);
    return status == SGFS_OK ? read_noise(j, json, out) : status;
}

static sgfs_status read_json(const job *j, sgfsi_reference *out) {
    size_t length;
    char *text = sgfsi_file_read(j->path, (size_t)1 << 30, &length, j->err);
    if (text == NULL) return SGFS_EIO;
    sgfsi_json *json = sgfsi_json_parse(text, length, j->path, j->err);
    free(text);
    if (json == NULL) return SGFS_EDATA;
    sgfs_status status = take_json(j, json, out);
    sgfsi_json_free(json);
    return status;
}

/* ---- another run ----------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double sgfsi_reference_noise(const sgfs_summary *summary, int64_t count, int64_t step) {
    double *tau = malloc((size_t)summary->dim * sizeof *tau);
    if (tau == NULL) return NAN;
    int64_t n = 0;
    for (int64_t i = 0; i < summary->dim; i++) {
        if (isfinite(summary->row[i].tau)) tau[n++] = summary->row[i].tau / (double)step;
    }
    if (n > 0) qsort(tau, (size_t)n, sizeof *tau, by_size);
    double median = n > 0 ? 0.5 * (tau[(n - 1) / 2] + tau[n / 2]) : NAN;
    free(tau);
    return sgfsi_measure_tau2(median) / (double)count;
}

static sgfs_status take_run(const job *j, const sgfs_draws *d, sgfsi_reference *out) {
    int64_t D = j->D, *order = sgfsi_arena_alloc(j->arena, D, sizeof *order);
    sgfsi_used used;
    sgfsi_moments m;
    out->cov = SGFSI_DOUBLES(j->arena, D * D);
    if (order == NULL || out->cov == NULL) return sgfsi_fail_memory(j->err, "the reference");
    sgfs_status status = match(j, d->D, (const char *const *)d->param, order);
    if (status == SGFS_OK) status = sgfsi_used_of(d, j->arena, &used, j->err);
    if (status == SGFS_OK) status = sgfsi_moments_of(d, &used, true, j->arena, &m, j->err);
    if (status != SGFS_OK) return status;
    sgfs_summary *summary = sgfs_summary_new(d, j->err);
    if (summary == NULL) return SGFS_EDATA;
    for (int64_t i = 0; i < D; i++) {
        out->mean[i] = m.mean[order[i]];
        out->error[i] = summary->row[order[i]].mcse;
        for (int64_t k = 0; k < D; k++) out->cov[i * D + k] = m.cov[order[i] * D + order[k]];
    }
    out->v =
        sgfsi_reference_noise(summary, m.count, m.every_iteration || d->thin < 1 ? 1 : d->thin);
    sgfs_summary_free(summary);
    return SGFS_OK;
}

/* First byte that is not blank; 0 for an empty file, which the run file's reader refuses in its own
 * words; -1 when the file cannot be opened. */
static int first_byte(const char *path) {
    FILE *f = fopen(path, "rbe");
    if (f == NULL) return -1;
    int c;
    do {
        c = fgetc(f);
    } while (c == ' ' || c == '\t' || c == '\r' || c == '\n');
    fclose(f);
    return c == EOF ? 0 : c;
}

sgfs_status sgfsi_reference_read(const char *path, int64_t D, char *const *names,
                                 sgfsi_arena *arena, sgfsi_reference *out, sgfs_err *err) {
    job j = {path, D, names, arena, err};
    *out = (sgfsi_reference){.D = D};
    out->mean = SGFSI_DOUBLES(arena, D);
    out->error = SGFSI_DOUBLES(arena, D);
    if (out->mean == NULL || out->error == NULL) return sgfsi_fail_memory(err, "the reference");
    int first = first_byte(path);
    if (first < 0) return sgfsi_fail(err, SGFS_EIO, "%s: cannot open: %s.", path, strerror(errno));
    if (first == '{') return read_json(&j, out);
    sgfs_draws *d = sgfs_draws_open(path, err);
    if (d == NULL) return SGFS_ERUNFILE; /* err has the reader's own code and sentence */
    sgfs_status status = take_run(&j, d, out);
    sgfs_draws_free(d);
    return status;
}
