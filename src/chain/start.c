/* SPDX-License-Identifier: MIT
 * start.c: one point from a file, for all chains to begin at. Told apart by content:
 *
 *     JSON       {"names": [D], "mean": [D]}: of `sgfs optimize --out`, or moments; of a truth file
 *                without moments "theta"
 *     run file   the last draw of its first chain that has one
 *     else       D numbers in the model's own order: .npy or text (base/matrix.h)
 *
 * Of a run the last draw, and not the mean of all: chains in several modes have no mean that is a
 * place of any of them, and a single draw of a chain that has arrived is where the posterior is.
 * Not the draw of the largest log density either: where that is estimated from minibatches, the
 * largest is the luckiest.
 *
 * --climb: each chain goes some way uphill from its own start, so that of a network's many hills
 * chains find different ones.
 *
 * Numbers are on the scale that results are reported on; kind->from_user brings them to the
 * chain's.
 */
#include "chain/start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "diagnostics/names.h"
#include "posterior/ascent.h"
#include "sink/draws.h"
#include "sink/runfile.h"

static sgfs_status take_json(const sgfsi_naming *j, const sgfsi_json *json, int64_t *order,
                             double *user) {
    const char *key = sgfsi_json_get(json, "mean") != NULL ? "mean" : "theta";
    const sgfsi_json *numbers = sgfsi_json_get(json, key);
    if (numbers == NULL) {
        return sgfsi_fail(j->err, SGFS_EDATA,
                          "%s: a starting point needs \"mean\", a number for each parameter, and "
                          "their \"names\" (`sgfs optimize --out` writes both).",
                          j->path);
    }
    sgfs_status status = sgfsi_naming_json(j, json, order);
    return status == SGFS_OK ? sgfsi_naming_numbers(j, key, numbers, order, user) : status;
}

static sgfs_status take_run(const sgfsi_naming *j, const sgfs_draws *d, int64_t *order,
                            double *user) {
    int64_t c = 0;
    sgfs_status status = sgfsi_naming_match(j, d->D, (const char *const *)d->param, order);
    if (status != SGFS_OK) return status;
    while (c < d->chains && d->chain[c].draws == 0) c++;
    if (c == d->chains) {
        return sgfsi_fail(j->err, SGFS_EDATA, "%s: the run has no draw yet to start from.",
                          j->path);
    }
    const double *last = d->chain[c].theta + (d->chain[c].draws - 1) * d->D;
    for (int64_t i = 0; i < j->D; i++) user[i] = last[order[i]];
    return SGFS_OK;
}

static sgfs_status read_point(const sgfsi_naming *j, double *user) {
    int first = sgfsi_first_byte(j->path);
    if (first < 0) return sgfsi_fail_io(j->err, j->path, "open it (--start)", errno);
    bool json = first == '{', is_run = false;
    sgfs_status seen = sgfsi_runfile_is(j->path, &is_run, j->err);
    if (seen != SGFS_OK) return seen;
    if (!json && !is_run) return sgfsi_vector_read(user, j->path, j->D, j->err);
    /* numbers with names: in the order of the model's */
    int64_t *order = sgfsi_arena_alloc(j->arena, j->D, sizeof *order);
    if (order == NULL) return sgfsi_fail_memory(j->err, "the starting point");
    sgfsi_json *object = NULL;
    sgfs_draws *run = json ? NULL : sgfs_draws_open(j->path, j->err);
    if (!json && run == NULL) return sgfsi_why(j->err);
    sgfs_status status = json ? sgfsi_naming_file(j, &object) : take_run(j, run, order, user);
    if (json && status == SGFS_OK) status = take_json(j, object, order, user);
    sgfsi_json_free(object);
    sgfs_draws_free(run);
    return status;
}

sgfs_status sgfsi_start_read(const sgfs_model *m, const sgfs_config *cfg, double **theta,
                             sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfs_err own;
    const char *path = sgfsi_config_text(cfg, "run.start");
    *theta = NULL;
    if (path[0] == '\0') return SGFS_OK;
    if (m->kind->to_user != NULL && m->kind->from_user == NULL) {
        return sgfsi_fail(err, SGFS_EUSAGE,
                          "--start: model %s cannot say where a point of its results is.",
                          m->kind->name);
    }
    const sgfsi_naming j = {.path = path,
                            .what = "starting point",
                            .whose = "model",
                            .D = m->D,
                            .names = m->param,
                            .arena = &arena,
                            .err = err != NULL ? err : &own};
    double *user = SGFSI_DOUBLES(&arena, m->D), *out = malloc((size_t)m->D * sizeof *out);
    sgfs_status status =
        user != NULL && out != NULL ? read_point(&j, user) : sgfsi_fail_memory(j.err, "the start");
    if (status == SGFS_OK) {
        if (m->kind->from_user != NULL) m->kind->from_user(m, user, out);
        else memcpy(out, user, (size_t)m->D * sizeof *out);
        *theta = out;
    } else {
        free(out);
    }
    sgfsi_arena_free(&arena);
    return status;
}

/* ---- uphill ---------------------------------------------------------------------------------- */

enum { CLIMB_ROWS = 20000 }; /* of more, these: it is a start, not a result */

sgfs_status sgfsi_start_climb(const sgfs_model *m, int64_t steps, int64_t threads, double *theta,
                              int64_t *rows, sgfs_err *err) {
    sgfsi_arena arena = {NULL};
    sgfsi_full full = {.N = 0};
    sgfsi_ascent a = {.theta = NULL};
    double distance;
    bool many = m->data->N > CLIMB_ROWS && m->data->weight == NULL;
    sgfs_data *some =
        many ? sgfsi_data_view_fair(m->data, CLIMB_ROWS, SGFSI_SAME_SCALE, err) : NULL;
    if (many && some == NULL) return sgfsi_why(err);
    const sgfs_model part = sgfsi_model_on(m, many ? some : m->data);
    sgfs_status status = sgfsi_full_open(&full, many ? &part : m, threads, false, &arena, err);
    if (status == SGFS_OK) status = sgfsi_ascent_open(&a, &full, theta, false, &arena, err);
    a.most = steps;
    a.tolerance = 1e-2;
    if (status == SGFS_OK) status = sgfsi_lbfgs(&a, &arena, &distance, err);
    /* wherever it got to is higher than where it began */
    bool climbed = status == SGFS_OK || (status == SGFS_ENUMERIC && a.theta != NULL);
    if (climbed) memcpy(theta, a.theta, (size_t)m->D * sizeof *theta);
    *rows = a.passes * full.N;
    sgfsi_arena_free(&arena);
    sgfs_data_free(some);
    return status == SGFS_ENUMERIC ? SGFS_OK : status;
}
